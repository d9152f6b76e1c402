"""
Which rows are wrong?
=====================

Planted label flips, found by `audit` and by simpler means.

5 % and 15 % of the labels are flipped, on breast cancer and on generated data like spambase (57
word frequencies, mostly zero, with heavy tails); with ``--data DIR``, a folder that holds
``spambase.npz`` with X and y, also on 1500 rows of spambase itself.  Each method ranks all rows,
worst first, and is judged by the area under its precision-recall curve (average precision: 1 is
perfect, chance is the share of flips).  `audit` blends robust SVM paths with a forest and logistic
regression out of fold; `RobustSVC.audit` ranks by the margin on average over one path.

Every number printed comes from this run, the bad ones too, and the words follow from the numbers.
A picture and a page for the browser go to out/.  The exit code is not zero if a path of the first
seed fails its certificate.
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
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import average_precision_score, precision_recall_curve
from sklearn.model_selection import StratifiedKFold, cross_val_predict, cross_val_score
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from homotopy.drawing import PALETTE
from homotopy_plugins import AuditReport, RobustSVC, audit

OUT = File("out")
SHARES = (0.05, 0.15)
AUDIT = "audit"
OWN = "RobustSVC.audit()"
OUTSIDE = "RobustSVC.audit(out_of_fold=True)"
SIMPLE = MARGIN, FOLDS, FOREST, NEIGHBOURS = (
    "SVC margin",
    "SVC margin out of fold",
    "forest out of fold",
    "10 neighbours",
)

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


def by_row(rows: Any) -> np.ndarray:
    """Rows in the order of suspicion as scores in the order of the table."""
    scores = np.empty(len(rows))
    scores[np.asarray(rows)] = -np.arange(len(rows))
    return scores


def rankings(X: np.ndarray, y: np.ndarray, seed: int) -> tuple[Scores, RobustSVC, AuditReport]:
    """The scores of all methods, the robust machine, and the whole answer of `audit`."""
    plain = SVC()
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    outside = cross_val_predict(plain, X, y, cv=folds, method="decision_function")
    forest = RandomForestClassifier(100, min_samples_leaf=5, random_state=seed)
    chance = cross_val_predict(forest, X, y, cv=folds, method="predict_proba")[:, 1]
    robust = RobustSVC(path="s", robustness=1.0).fit(X, y)
    report = audit(X, y, cv=folds, random_state=seed)
    scores = {
        AUDIT: by_row(report.columns["row"]),
        OWN: by_row(robust.audit(top=None)["row"]),
        OUTSIDE: by_row(robust.audit(top=None, out_of_fold=True, cv=folds)["row"]),
        MARGIN: -y * plain.fit(X, y).decision_function(X),
        FOLDS: -y * outside,
        FOREST: np.where(y > 0, 1.0 - chance, chance),
        NEIGHBOURS: disagreement(X, y),
    }
    return scores, robust, report


class Trial(NamedTuple):
    """Average precision of every method, what `audit` says of the number of wrong labels, and
    whether the path is certified."""

    area: dict[str, float]
    said: tuple[int, int, int]
    certified: bool


def trial(draw: Callable[[int], Any], share: float, seed: int) -> Trial:
    X, truth, given = planted(draw, share, seed)
    scores, robust, report = rankings(X, given, seed)
    wrong = given != truth
    area = {name: float(average_precision_score(wrong, score)) for name, score in scores.items()}
    # Where no number can be given, every number is possible.
    low, high = report.interval or (0, len(report))
    said = (report.n_wrong or 0, low, high)
    return Trial(area, said, seed > 0 or robust.path_.certify().ok)


# ---------------------------------------------------------------------- account


def spread(values: np.ndarray) -> float:
    """The standard error of a mean; nan for one value."""
    return float(values.std(ddof=1) / np.sqrt(values.size)) if values.size > 1 else np.nan


class Tally:
    """How often `audit` was better than another ranking, and how often it was worse.

    Better and worse are differences beyond two standard errors, paired by seed.
    """

    def __init__(self) -> None:
        self.settings = 0
        self.better: Counter[str] = Counter()
        self.worse: Counter[str] = Counter()

    def add(self, area: dict[str, np.ndarray]) -> None:
        self.settings += 1
        for other in SIMPLE:
            gap = area[AUDIT] - area[other]
            beyond = abs(gap.mean()) > 2.0 * spread(gap)
            self.better[other] += bool(beyond and gap.mean() > 0.0)
            self.worse[other] += bool(beyond and gap.mean() < 0.0)

    def sentence(self) -> str:
        counts = ", ".join(
            f"{other} in {self.better[other]} (worse in {self.worse[other]})" for other in SIMPLE
        )
        text = f"In {self.settings} settings, counted beyond two standard errors, audit is better"
        return fill(f"{text} than {counts}.", 98)


def error_on_clean(draw: Callable[[int], Any], seed: int) -> float:
    """How hard the data are: the error of a linear SVC on rows held out, no label flipped."""
    X, truth, _ = planted(draw, 0.0, seed)
    return 1.0 - float(cross_val_score(SVC(kernel="linear"), X, truth, cv=5).mean())


def study(data: str, draw: Callable[[int], Any], seeds: int, tally: Tally) -> list[str]:
    """The table of one data set; returns what was not certified."""
    n, d = draw(0)[0].shape
    error = error_on_clean(draw, 0)
    print(f"\n{data}: {n} rows, {d} features; on clean labels a linear SVC errs on {error:.1%}")
    tables, told, failed = {}, [], []
    for share in SHARES:
        found = Parallel(n_jobs=2)(delayed(trial)(draw, share, seed) for seed in range(seeds))
        if not all(one.certified for one in found):
            failed.append(f"{data}, {share:.0%}")
        tables[share] = {
            name: np.array([one.area[name] for one in found]) for name in found[0].area
        }
        tally.add(tables[share])
        counts = ", ".join(f"{n} ({low} to {high})" for n, low, high in (one.said for one in found))
        told.append(f"{round(share * n)} labels are wrong; audit says {counts}.")
    print(f"{'':36s}" + "".join(f"{f'{share:.0%} flipped':>16s}" for share in SHARES))
    for name in tables[SHARES[0]]:
        cells = (f"{a[name].mean():.3f} ± {spread(a[name]):.3f}" for a in tables.values())
        print(f"{name:36s}" + "".join(f"{cell:>16s}" for cell in cells))
    print("\n".join(fill(line, 98) for line in told))
    return failed


def show_audit() -> None:
    """The answer as a user sees it."""
    X, _, given = planted(breast_cancer, 0.15, 0)
    report = audit(X, np.where(given > 0, "benign", "malignant"))
    print("\naudit(X, y) on breast cancer, 15 % flipped")
    print(report.summary())
    OUT.mkdir(exist_ok=True)
    report.write_html(OUT / "wrong_labels.html")
    print(f"Page: {OUT}/wrong_labels.html")


# ---------------------------------------------------------------------- picture


def draw_curves() -> None:
    """Precision-recall curves on data like spambase, 15 % flipped, one seed."""
    X, truth, given = planted(like_spambase, 0.15, 0)
    scores, _, report = rankings(X, given, 0)
    wrong = given != truth
    looks = {
        AUDIT: (PALETTE[0], 2.6),
        OWN: (PALETTE[5], 2.0),
        FOREST: (PALETTE[3], 1.5),
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
    named = report.columns["row"][report.columns["is_label_issue"]]
    at = wrong[named].sum() / wrong.sum(), wrong[named].mean()
    ax.plot(*at, "o", ms=9, color=PALETTE[0], zorder=5)
    ax.annotate(
        f"{named.size} named, {wrong.sum()} wrong",
        at,
        xytext=(8, 8),
        textcoords="offset points",
    )
    ax.set(xlim=(0.0, 1.005), ylim=(0.0, 1.01))
    ax.set_xlabel("recall: share of the wrong labels that is found")
    ax.set_ylabel("precision: share of the rows named that is wrong")
    ax.set_title("Generated data like spambase, 15 % of the labels flipped")
    heading = f"average precision (chance {wrong.mean():.3f})"
    legend = ax.legend(loc="lower left", bbox_to_anchor=(0.03, 0.03), frameon=False, title=heading)
    legend.set_alignment("left")
    ax.grid(color="#E6E6E6", lw=0.8)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "wrong_labels.png", dpi=130)
    plt.close(figure)
    print(f"Picture: {OUT}/wrong_labels.png")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=File, help="folder with spambase.npz")
    parser.add_argument("--seeds", type=int, default=3, help="how many seeds (3)")
    asked = parser.parse_args()
    began = time.perf_counter()
    sets: dict[str, Callable[[int], Any]] = {
        "Breast cancer": breast_cancer,
        "Like spambase": like_spambase,
    }
    if asked.data is not None:
        sets["Spambase"] = FromFolder(asked.data)
    tally, failed = Tally(), []
    for data, draw in sets.items():
        failed += study(data, draw, asked.seeds, tally)
    print(f"\n{tally.sentence()}")
    show_audit()
    draw_curves()
    print(f"{asked.seeds} seeds in {time.perf_counter() - began:.0f} s")
    for what in failed:
        print(f"FAILED: certificate of {what}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
