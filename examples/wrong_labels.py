"""
Which rows are wrong?
=====================

Planted label flips, ranked by `RobustSVC.audit` and by simpler means.

5 % and 15 % of the labels are flipped, on breast cancer and on generated data like spambase (57
word frequencies, mostly zero, with heavy tails); with ``--data DIR``, a folder that holds
``spambase.npz`` with X and y, also on 1500 rows of spambase itself.  Each method ranks all rows,
worst first, and is judged by the area under its precision-recall curve (average precision: 1 is
perfect, chance is the share of flips).  `audit` ranks by the margin on average over the path; its
margins at the end of the path alone are shown too.

Every number printed comes from this run, the bad ones too, and the words follow from the numbers.
One picture goes to out/.  The exit code is not zero if a path of the first seed fails its
certificate.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path as File
from textwrap import fill
from typing import Any, NamedTuple

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from joblib import Parallel, delayed
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import average_precision_score, precision_recall_curve
from sklearn.model_selection import StratifiedKFold, cross_val_predict, cross_val_score
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from homotopy.plot import PALETTE
from homotopy_plugins import RobustSVC

OUT = File("out")
SHARES = (0.05, 0.15)
MACHINES = {
    "linear, C = 1": {"kernel": "linear", "C": 1.0},
    "linear, C = 0.1": {"kernel": "linear", "C": 0.1},
    "rbf, C = 1": {"kernel": "rbf", "C": 1.0},
}
SIMPLE = MARGIN, FOLDS, NEIGHBOURS = "SVC margin", "SVC margin out of fold", "10 neighbours"
AUDITS = {path: f"audit, path {path}" for path in ("theta", "s")}
ENDS = {path: f"end of path {path} alone" for path in ("theta", "s")}

# Rows, true labels and the labels that are given, all labels -1 or 1.
Problem = tuple[np.ndarray, np.ndarray, np.ndarray]
# Of every row how suspicious it is, by method.
Scores = dict[str, np.ndarray]


# ---------------------------------------------------------------------- data


def breast_cancer(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Always the same rows: a seed changes the flips only."""
    X, y = load_breast_cancer(return_X_y=True)
    return X, np.where(y == 1, 1, -1)


def like_spambase(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """1500 texts, 57 words; 20 of the words are used more often, and more, in one class."""
    rng = np.random.default_rng([57, seed])
    n, words, telling = 1500, 57, 20
    y = np.where(rng.random(n) < 0.4, 1, -1)
    usual = rng.uniform(0.05, 0.4, words)
    lift = np.zeros(words)
    lift[:telling] = rng.normal(0.0, 1.7, telling)
    tilt = y[:, None] * lift
    wordy = 0.7 * rng.standard_normal((n, 1))
    chance = 1.0 / (1.0 + np.exp(-np.log(usual / (1.0 - usual)) - 0.5 * tilt - wordy))
    used = rng.random((n, words)) < chance
    amount = np.exp(rng.normal(-0.5, 0.9, (n, words)) + 0.25 * tilt)
    return np.where(used, amount, 0.0), y


class FromFolder(NamedTuple):
    """1500 rows by chance of spambase.npz (X and y) in a folder."""

    folder: File

    def __call__(self, seed: int) -> tuple[np.ndarray, np.ndarray]:
        with np.load(self.folder / "spambase.npz", allow_pickle=False) as stored:
            X, y = stored["X"].astype(float), stored["y"]
        rows = np.random.default_rng([57, seed]).choice(y.size, 1500, replace=False)
        return X[rows], np.where(y[rows] > 0, 1, -1)


def planted(draw: Callable[[int], Any], share: float, seed: int) -> Problem:
    """Scaled rows, the truth, and labels of which a share is wrong."""
    X, truth = draw(seed)
    given = truth.copy()
    size = round(share * truth.size)
    wrong = np.random.default_rng(seed).choice(truth.size, size, replace=False)
    given[wrong] *= -1
    return StandardScaler().fit_transform(X), truth, given


# ---------------------------------------------------------------------- rankings


def disagreement(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The share of the 10 nearest other rows that have another label."""
    nearest = NearestNeighbors(n_neighbors=10).fit(X).kneighbors(return_distance=False)
    return np.mean(y[nearest] != y[:, None], axis=1)


def by_row(audit: Any, column: str) -> np.ndarray:
    """A column of the audit in the order of the training rows, turned so that large is bad."""
    scores = np.empty(len(audit["row"]))
    scores[audit["row"]] = -np.asarray(audit[column])
    return scores


def rankings(
    X: np.ndarray, y: np.ndarray, machine: dict[str, Any], seed: int
) -> tuple[Scores, Any]:
    """The scores of all methods, and the robust machines."""
    plain = SVC(**machine)
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    outside = cross_val_predict(plain, X, y, cv=folds, method="decision_function")
    scores = {
        MARGIN: -y * plain.fit(X, y).decision_function(X),
        FOLDS: -y * outside,
        NEIGHBOURS: disagreement(X, y),
    }
    fitted = {path: RobustSVC(**machine, path=path, robustness=0.0).fit(X, y) for path in AUDITS}
    for column, names in (("margin_mean", AUDITS), ("margin_end", ENDS)):
        for path, robust in fitted.items():
            scores[names[path]] = by_row(robust.audit(top=None), column)
    return scores, fitted


def trial(
    draw: Callable[[int], Any], share: float, machine: dict[str, Any], seed: int
) -> tuple[dict[str, float], bool]:
    """Average precision of every method, and whether the paths are certified."""
    X, truth, given = planted(draw, share, seed)
    scores, fitted = rankings(X, given, machine, seed)
    area = {
        name: float(average_precision_score(given != truth, values))
        for name, values in scores.items()
    }
    return area, seed > 0 or all(robust.path_.certify().ok for robust in fitted.values())


# ---------------------------------------------------------------------- account


def spread(values: np.ndarray) -> float:
    """The standard error of a mean; nan for one value."""
    return float(values.std(ddof=1) / np.sqrt(values.size)) if values.size > 1 else np.nan


class Tally:
    """How often an audit was better than another ranking, and how often it was worse.

    Better and worse are differences beyond two standard errors, paired by seed.
    """

    def __init__(self) -> None:
        self.settings = 0
        self.better: Counter[tuple[str, str]] = Counter()
        self.worse: Counter[tuple[str, str]] = Counter()

    def add(self, area: dict[str, np.ndarray]) -> None:
        self.settings += 1
        for path, audit in AUDITS.items():
            for other in (*SIMPLE, ENDS[path]):
                gap = area[audit] - area[other]
                beyond = abs(gap.mean()) > 2.0 * spread(gap)
                self.better[audit, other] += bool(beyond and gap.mean() > 0.0)
                self.worse[audit, other] += bool(beyond and gap.mean() < 0.0)

    def sentence(self, data: str) -> str:
        said = []
        for path, audit in AUDITS.items():
            counts = ", ".join(
                f"{other} in {self.better[audit, other]} (worse in {self.worse[audit, other]})"
                for other in (*SIMPLE, ENDS[path])
            )
            said.append(f"{audit}, is better than {counts}")
        text = f"{data}, {self.settings} settings, counted beyond two standard errors: "
        return fill(f"{text}{'; '.join(said)}.", 98)


def error_on_clean(draw: Callable[[int], Any], seed: int) -> float:
    """How hard the data are: the error of a linear SVC on rows held out, no label flipped."""
    X, truth, _ = planted(draw, 0.0, seed)
    return 1.0 - float(cross_val_score(SVC(kernel="linear"), X, truth, cv=5).mean())


def study(data: str, draw: Callable[[int], Any], seeds: int, failed: list[str]) -> None:
    """The tables of one data set and the sentence that follows from them."""
    n, d = draw(0)[0].shape
    error = np.mean([error_on_clean(draw, seed) for seed in range(seeds)])
    print(f"\n{data}: {n} rows, {d} features; on clean labels a linear SVC errs on {error:.1%}")
    tally = Tally()
    for share in SHARES:
        table = {}
        for name, machine in MACHINES.items():
            found = Parallel(n_jobs=2)(
                delayed(trial)(draw, share, machine, seed) for seed in range(seeds)
            )
            if not all(certified for _, certified in found):
                failed.append(f"{data}, {share:.0%}, {name}")
            table[name] = {key: np.array([area[key] for area, _ in found]) for key in found[0][0]}
            tally.add(table[name])
        print_table(share, table)
    print(f"\n{tally.sentence(data)}")


def print_table(share: float, table: dict[str, dict[str, np.ndarray]]) -> None:
    print(f"\n{f'{share:.0%} flipped':<24}" + "".join(f"{name:>18}" for name in table))
    for method in next(iter(table.values())):
        cells = (f"{a[method].mean():.3f} ± {spread(a[method]):.3f}" for a in table.values())
        print(f"{method:<24}" + "".join(f"{cell:>18}" for cell in cells))
    name, method = max(
        ((name, method) for name in table for method in table[name]),
        key=lambda cell: table[cell[0]][cell[1]].mean(),
    )
    print(f"The highest of all: {method}, {name}.")


def show_audit() -> None:
    """The audit as a user sees it, with a mark for the labels that were flipped."""
    X, truth, given = planted(breast_cancer, 0.15, 0)
    robust = RobustSVC(kernel="linear", C=1.0, robustness=0.0).fit(X, given)
    suspects = robust.audit(top=10)
    suspects["planted"] = np.where((given != truth)[suspects["row"]], "yes", "no")
    print(
        "\nRobustSVC(kernel='linear', C=1, robustness=0).audit(top=10), breast cancer, 15 % flipped"
    )
    print(suspects.round(3).to_string(index=False))


# ---------------------------------------------------------------------- picture


def draw_curves() -> None:
    """Precision-recall curves on breast cancer, 15 % flipped, linear kernel, one seed."""
    X, truth, given = planted(breast_cancer, 0.15, 0)
    scores, _ = rankings(X, given, MACHINES["linear, C = 1"], 0)
    wrong = given != truth
    looks = {
        AUDITS["s"]: (PALETTE[0], 2.6),
        AUDITS["theta"]: (PALETTE[5], 2.6),
        MARGIN: (PALETTE[1], 1.5),
        FOLDS: (PALETTE[4], 1.5),
        NEIGHBOURS: (PALETTE[2], 1.5),
    }
    area = {name: average_precision_score(wrong, scores[name]) for name in looks}
    figure, ax = plt.subplots(figsize=(8.0, 5.0), layout="constrained")
    for name in sorted(looks, key=lambda name: -area[name]):
        precision, recall, _ = precision_recall_curve(wrong, scores[name])
        color, width = looks[name]
        label = f"{area[name]:.3f}   {name}"
        ax.step(recall, precision, where="post", color=color, lw=width, label=label)
    ax.set(xlim=(0.0, 1.005), ylim=(0.4, 1.01))
    ax.set_xlabel("recall: share of the wrong labels that is found")
    ax.set_ylabel("precision: share of the rows named that is wrong")
    ax.set_title("Breast cancer, 15 % of the labels flipped; linear kernel, C = 1")
    heading = f"average precision (chance {wrong.mean():.3f})"
    legend = ax.legend(loc="lower left", bbox_to_anchor=(0.03, 0.06), frameon=False, title=heading)
    legend.set_alignment("left")
    ax.grid(color="#E6E6E6", lw=0.8)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "wrong_labels.png", dpi=130)
    plt.close(figure)
    print(f"\nPicture: {OUT}/wrong_labels.png")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=File, help="folder with spambase.npz")
    parser.add_argument("--seeds", type=int, default=5, help="how many seeds (5)")
    asked = parser.parse_args()
    began = time.perf_counter()
    sets: dict[str, Callable[[int], Any]] = {
        "Breast cancer": breast_cancer,
        "Like spambase": like_spambase,
    }
    if asked.data is not None:
        sets["Spambase"] = FromFolder(asked.data)
    failed: list[str] = []
    for data, draw in sets.items():
        study(data, draw, asked.seeds, failed)
    show_audit()
    draw_curves()
    print(f"{asked.seeds} seeds in {time.perf_counter() - began:.0f} s")
    for what in failed:
        print(f"FAILED: certificate of {what}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
