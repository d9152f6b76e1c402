"""Which rows are wrong?  `audit` against cleanlab, SVC margins, neighbours and a forest.

    python benchmarks/audit.py --data DIR [--seeds 2] [--jobs 1] [--only labels targets errors size]
    python benchmarks/audit.py --print          # the tables of results that are there

Everything is planted, so that the truth is known: rows of real sets (at most 1000, drawn by the
seed), some of whose labels are flipped.

labels : 5, 15 and 30 % of all labels flipped, and 20 % with class +1 three times as often as the
    other; 0 % for the number of wrong labels alone.  Rankings are judged by average precision, the
    rows named by F1.  cleanlab gets probabilities out of fold of logistic regression, gradient
    boosting (a random part of the features for each split) and a random forest (leaves of 5) in the
    same five folds; `get_label_quality_scores` ranks and `find_label_issues` names.  "SVC" are the
    margins of rbf machines out of fold, "10 neighbours" the share of them with the same label.
targets : 5 and 15 % of the targets replaced by those of other rows ("swap"), or moved by 0.5 to 2.5
    standard deviations ("noise").  cleanlab's own regression benchmark (targets with known errors)
    is not at hand; this is planted in its manner.
errors : error on clean rows after training on labels of which 15 or 30 % are wrong, of
    `RobustSVCCV` (theta and s) and of `GridSearchCV(SVC)`, same C, same folds.
size : a table of 2,000 rows and 60 columns.

Seconds are those of the processor (one process, one thread), so that a machine that has other
things to do measures the same.

Each trial is written to the JSON file as soon as it is done; trials that are there are not run
again, so that a run can be stopped and taken up.  Differences are over sets: the mean over trials
of each set first, then the mean over sets with its standard error.
"""

from __future__ import annotations

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import argparse  # noqa: E402
import json  # noqa: E402
import time  # noqa: E402
import warnings  # noqa: E402
from collections.abc import Callable, Iterable  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402
from _measure import print_machine  # noqa: E402
from _paper import CLASSIFICATION, REGRESSION  # noqa: E402
from joblib import Parallel, delayed  # noqa: E402
from sklearn.ensemble import (  # noqa: E402
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import HuberRegressor, LogisticRegression, RidgeCV  # noqa: E402
from sklearn.metrics import average_precision_score, f1_score  # noqa: E402
from sklearn.model_selection import (  # noqa: E402
    GridSearchCV,
    KFold,
    StratifiedKFold,
    cross_val_predict,
)
from sklearn.neighbors import NearestNeighbors  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402
from sklearn.svm import SVC  # noqa: E402
from speed import read  # noqa: E402

from homotopy_plugins import RobustSVCCV, audit  # noqa: E402

LABELS, TARGETS = tuple(CLASSIFICATION), tuple(REGRESSION)
ROWS = 1000
FLIPS = ("5%", "15%", "30%", "classes 20%", "0%")
MOVES = ("swap 5%", "swap 15%", "noise 5%", "noise 15%")
ERRORS = ("15%", "30%")
COSTS = (0.1, 1.0, 10.0)
RESULTS = Path(__file__).with_name("results") / "audit.json"
# The ranking that must be beaten is the best of these.
CLEANLAB = ("cleanlab, logistic", "cleanlab, boosting", "cleanlab, forest")

Array = np.ndarray
Result = dict[str, Any]


# ---------------------------------------------------------------------- what is planted


def drawn(folder: str, data: str, seed: int, rows: int = ROWS) -> tuple[Array, Array, Any]:
    X, y = read(folder, data)
    rng = np.random.default_rng([seed, sum(map(ord, data))])
    part = rng.permutation(y.size)[:rows]
    return X[part], y[part], rng


def share_of(noise: str) -> float:
    return float(noise.split()[-1].rstrip("%")) / 100.0


def flipped(truth: Array, noise: str, rng: Any) -> Array:
    """Labels of which some are wrong."""
    n, y = truth.size, truth.copy()
    if noise.startswith("classes"):
        often = np.where(truth > 0.0, 3.0, 1.0)
        wrong = rng.random(n) < often * share_of(noise) / often.mean()
    else:
        wrong = np.zeros(n, dtype=bool)
        wrong[rng.choice(n, round(share_of(noise) * n), replace=False)] = True
    y[wrong] *= -1.0
    return y


def moved(truth: Array, noise: str, rng: Any) -> Array:
    """Targets of which some are wrong."""
    y, n = truth.copy(), truth.size
    rows = rng.choice(n, round(share_of(noise) * n), replace=False)
    if noise.startswith("swap"):
        y[rows] = truth[rng.choice(n, rows.size)]
    else:
        size = rng.uniform(0.5, 2.5, rows.size) * truth.std()
        y[rows] += rng.choice([-1.0, 1.0], rows.size) * size
    return y


# ---------------------------------------------------------------------- trials


def labels_trial(folder: str, data: str, noise: str, seed: int) -> Result:
    from cleanlab.count import num_label_issues
    from cleanlab.filter import find_label_issues
    from cleanlab.rank import get_label_quality_scores

    X, truth, rng = drawn(folder, data, seed)
    y = flipped(truth, noise, rng)
    wrong, codes = y != truth, (y > 0.0).astype(int)
    folds = list(StratifiedKFold(5, shuffle=True, random_state=seed).split(X, y))
    out: Result = {"n": int(y.size), "wrong": int(wrong.sum())}

    def judge(name: str, quality: Array, named: Array | None, began: float) -> None:
        found: Result = {"processor_seconds": time.process_time() - began}
        if wrong.any():
            found["ap"] = float(average_precision_score(wrong, -quality))
        if named is not None:
            found["named"] = int(named.sum())
            if wrong.any():
                found["f1"] = float(f1_score(wrong, named))
        out[name] = found

    began = time.process_time()
    for name, model in (("audit", None), ("audit, paths alone", False)):
        report = audit(X, y, model=model, cv=folds, random_state=seed)
        order = report.columns["row"]
        quality, named = np.empty(y.size), np.empty(y.size, dtype=bool)
        # Ties are broken as the report does.
        quality[order] = np.arange(y.size)
        named[order] = report.columns["is_label_issue"]
        judge(name, quality, named, began)
        out[name] |= {"count": report.n_wrong, "interval": list(report.interval)}
        began = time.process_time()
    models = {
        "logistic": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
        "boosting": GradientBoostingClassifier(max_features="sqrt", random_state=seed),
        "forest": RandomForestClassifier(100, min_samples_leaf=5, random_state=seed),
    }
    for name, model in models.items():
        if noise == "0%" and name != "forest":
            continue
        began = time.process_time()
        chance = cross_val_predict(model, X, codes, cv=folds, method="predict_proba")
        quality = get_label_quality_scores(codes, chance)
        judge(f"cleanlab, {name}", quality, find_label_issues(codes, chance), began)
        out[f"cleanlab, {name}"]["count"] = int(num_label_issues(codes, chance))
    if noise == "0%":
        return out
    scaled = StandardScaler().fit_transform(X)
    began = time.process_time()
    margin = y * cross_val_predict(SVC(), scaled, y, cv=folds, method="decision_function")
    judge("SVC margins out of fold", margin, margin < 0.0, began)
    began = time.process_time()
    near = NearestNeighbors(n_neighbors=10).fit(scaled).kneighbors(return_distance=False)
    agree = np.mean(y[near] == y[:, None], axis=1)
    judge("10 neighbours", agree, agree < 0.5, began)
    return out


def targets_trial(folder: str, data: str, noise: str, seed: int) -> Result:
    from cleanlab.regression.rank import get_label_quality_scores

    X, truth, rng = drawn(folder, data, seed)
    y = moved(truth, noise, rng)
    wrong = y != truth
    folds = list(KFold(5, shuffle=True, random_state=seed).split(X, y))
    out: Result = {"n": int(y.size), "wrong": int(wrong.sum())}
    began = time.process_time()
    report = audit(X, y, cv=folds, task="regression", random_state=seed)
    quality, named = np.empty(y.size), np.empty(y.size, dtype=bool)
    quality[report.columns["row"]] = np.arange(y.size)
    named[report.columns["row"]] = report.columns["is_label_issue"]
    out["audit"] = {
        "ap": float(average_precision_score(wrong, -quality)),
        "f1": float(f1_score(wrong, named)),
        "count": report.n_wrong,
        "interval": list(report.interval),
        "processor_seconds": time.process_time() - began,
    }
    models = {
        "ridge": make_pipeline(StandardScaler(), RidgeCV(np.logspace(-3, 3, 7))),
        "boosting": GradientBoostingRegressor(max_features="sqrt", random_state=seed),
        "forest": RandomForestRegressor(100, min_samples_leaf=5, random_state=seed),
        "Huber": make_pipeline(StandardScaler(), HuberRegressor(max_iter=1000)),
    }
    # Out of fold in units of the spread: cleanlab's scores are not free of scale.
    unit = float(y.std())
    for name, model in models.items():
        began = time.process_time()
        guess = cross_val_predict(model, X, y / unit, cv=folds)
        took = time.process_time() - began
        plain = average_precision_score(wrong, np.abs(y / unit - guess))
        out[f"{name} out of fold"] = {"ap": float(plain), "processor_seconds": took}
        if name != "Huber":
            quality = get_label_quality_scores(y / unit, guess)
            ranked = average_precision_score(wrong, -quality)
            out[f"cleanlab, {name}"] = {"ap": float(ranked), "processor_seconds": took}
    return out


def errors_trial(folder: str, data: str, noise: str, seed: int) -> Result:
    X, truth, rng = drawn(folder, data, seed)
    half = truth.size // 2
    y = flipped(truth[:half], noise, rng)
    scaler = StandardScaler().fit(X[:half])
    train, test, clean = scaler.transform(X[:half]), scaler.transform(X[half:]), truth[half:]
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    out: Result = {"n": half}
    for kernel in ("rbf", "linear"):
        machines = {
            f"GridSearchCV(SVC), {kernel}": GridSearchCV(
                SVC(kernel=kernel), {"C": COSTS}, cv=folds
            ),
            f"RobustSVCCV, theta, {kernel}": RobustSVCCV(
                kernel=kernel, path="theta", Cs=COSTS, cv=folds
            ),
            f"RobustSVCCV, s, {kernel}": RobustSVCCV(kernel=kernel, path="s", Cs=COSTS, cv=folds),
        }
        for name, machine in machines.items():
            began = time.process_time()
            machine.fit(train, y)
            took = time.process_time() - began
            out[name] = {
                "error": 1.0 - float(machine.score(test, clean)),
                "processor_seconds": took,
            }
    return out


def size_trial(folder: str, data: str, noise: str, seed: int) -> Result:
    from sklearn.datasets import make_classification

    X, y = make_classification(
        2000, 60, n_informative=12, n_redundant=8, flip_y=0.1, random_state=seed
    )
    audit(X[:200], y[:200])  # compiled, and pages of the libraries read
    began = time.process_time()
    report = audit(X, y)
    took = time.process_time() - began
    return {"n": 2000, "audit": {"processor_seconds": took, "count": report.n_wrong}}


TRIALS: dict[str, tuple[Callable[..., Result], tuple[str, ...], tuple[str, ...]]] = {
    "labels": (labels_trial, LABELS, FLIPS),
    "targets": (targets_trial, TARGETS, MOVES),
    "errors": (errors_trial, LABELS, ERRORS),
    "size": (size_trial, ("2000 x 60",), ("-",)),
}


def run(part: str, folder: str, data: str, noise: str, seed: int) -> tuple[str, Result]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return key_of(part, data, noise, seed), TRIALS[part][0](folder, data, noise, seed)


def key_of(part: str, data: str, noise: str, seed: int) -> str:
    return " | ".join((part, data, noise, str(seed)))


# ---------------------------------------------------------------------- tables


class Trials:
    """Results of one part, by method: `of(method, what)` are those by (data, noise, seed)."""

    def __init__(self, results: dict[str, Result], part: str) -> None:
        self.found = {
            tuple(key.split(" | ")[1:]): result
            for key, result in results.items()
            if key.startswith(f"{part} | ")
        }

    def methods(self, what: str) -> list[str]:
        seen: dict[str, None] = {}
        for result in self.found.values():
            for name, value in result.items():
                if isinstance(value, dict) and what in value:
                    seen.setdefault(name)
        return list(seen)

    def of(self, method: str, what: str, noise: str | None = None) -> dict[Any, float]:
        return {
            key: result[method][what]
            for key, result in self.found.items()
            if what in result.get(method, {}) and noise in (None, key[1])
        }

    def by_set(self, method: str, what: str, noise: str | None = None) -> dict[str, float]:
        values = self.of(method, what, noise)
        return {
            data: float(np.mean([v for key, v in values.items() if key[0] == data]))
            for data in sorted({key[0] for key in values})
        }

    def mean(self, method: str, what: str, noise: str | None = None) -> float:
        """Over sets, each counted once."""
        return float(np.mean(list(self.by_set(method, what, noise).values())))

    def gap(self, one: str, other: str, what: str, noise: str | None = None) -> tuple[float, float]:
        """The difference over sets, and its standard error."""
        a, b = self.by_set(one, what, noise), self.by_set(other, what, noise)
        gaps = np.array([a[data] - b[data] for data in a])
        error = gaps.std(ddof=1) / np.sqrt(gaps.size) if gaps.size > 1 else np.nan
        return float(gaps.mean()), float(error)


def table_of(trials: Trials, what: str, noises: Iterable[str], against: str) -> None:
    noises = list(noises)
    print(
        f"{'':28s}{'mean':>7s}"
        + "".join(f"{noise:>13s}" for noise in noises)
        + f"   minus {against}"
    )
    methods = sorted(trials.methods(what), key=lambda m: -trials.mean(m, what))
    for method in methods:
        cells = "".join(f"{trials.mean(method, what, noise):13.3f}" for noise in noises)
        gap, error = trials.gap(method, against, what)
        told = "" if method == against else f"   {gap:+.3f} ± {error:.3f}"
        print(f"{method:28s}{trials.mean(method, what):7.3f}{cells}{told}")


def sets_of(trials: Trials, what: str, methods: Iterable[str]) -> None:
    methods = list(methods)
    names = list(trials.by_set(methods[0], what))
    print(f"{'':28s}" + "".join(f"{name[:12]:>13s}" for name in names))
    for method in methods:
        values = trials.by_set(method, what)
        print(f"{method:28s}" + "".join(f"{values[name]:13.3f}" for name in names))


def coverage(trials: Trials, noises: Iterable[str], method: str = "audit") -> None:
    print(f"{'planted':14s}{'trials':>7s}{'inside':>8s}{'planted':>9s}{'said':>7s}{'width':>7s}")
    for noise in noises:
        rows = [(r["wrong"], r["n"], r[method]) for k, r in trials.found.items() if k[1] == noise]
        if not rows:
            continue
        ends = [
            (min(a["interval"][0], a["count"]), max(a["interval"][1], a["count"]))
            for _, _, a in rows
        ]
        inside = np.mean([low <= r[0] <= high for r, (low, high) in zip(rows, ends, strict=True)])
        said = np.mean([a["count"] / n for _, n, a in rows])
        width = np.mean([(high - low) / r[1] for r, (low, high) in zip(rows, ends, strict=True)])
        planted = np.mean([w / n for w, n, _ in rows])
        print(f"{noise:14s}{len(rows):7d}{inside:8.2f}{planted:9.3f}{said:7.3f}{width:7.3f}")


def print_tables(results: dict[str, Result]) -> None:
    labels = Trials(results, "labels")
    if labels.found:
        seeds = sorted({int(key[2]) for key in labels.found})
        count = sum(key[1] != "0%" for key in labels.found)
        print(f"\nWrong labels: {count} trials, seeds {seeds}")
        best = max(CLEANLAB, key=lambda m: labels.mean(m, "ap"))
        print(f"\naverage precision; ± is a standard error over sets, cleanlab's best is {best}")
        table_of(labels, "ap", FLIPS[:4], best)
        print("\nby set")
        sets_of(labels, "ap", ["audit", best, "SVC margins out of fold"])
        best = max(CLEANLAB, key=lambda m: labels.mean(m, "f1"))
        print(f"\nF1 of the rows named; cleanlab's best is {best}")
        table_of(labels, "f1", FLIPS[:4], best)
        print(
            "\nthe number of wrong labels: how often the planted number lies in the 90 % interval"
        )
        coverage(labels, sorted(FLIPS, key=share_of))
        print("\nseconds of processor a trial")
        for method in labels.methods("processor_seconds"):
            print(f"{method:28s}{labels.mean(method, 'processor_seconds'):7.2f}")
    targets = Trials(results, "targets")
    if targets.found:
        seeds = sorted({int(key[2]) for key in targets.found})
        print(f"\nWrong targets: {len(targets.found)} trials, seeds {seeds}")
        peers = [m for m in targets.methods("ap") if not m.startswith("audit")]
        best = max(peers, key=lambda m: targets.mean(m, "ap"))
        print(f"\naverage precision; ± is a standard error over sets, the best other is {best}")
        table_of(targets, "ap", MOVES, best)
        print("\nby set")
        sets_of(targets, "ap", ["audit", best])
        if "count" in next(iter(targets.found.values()))["audit"]:
            print("\nthe number of wrong targets: how often it lies in the 90 % interval")
            coverage(targets, MOVES)
    errors = Trials(results, "errors")
    if errors.found:
        print(f"\nError on clean rows: {len(errors.found)} trials")
        for kernel in ("rbf", "linear"):
            plain = f"GridSearchCV(SVC), {kernel}"
            for noise in ERRORS:
                for method in (f"RobustSVCCV, {path}, {kernel}" for path in ("theta", "s")):
                    gap, error = errors.gap(method, plain, "error", noise)
                    print(
                        f"{noise:5s}{method:28s}{100 * errors.mean(method, 'error', noise):6.2f} % "
                        f"minus SVC {100 * gap:+.2f} ± {100 * error:.2f} points, "
                        f"{errors.mean(method, 'processor_seconds', noise):.2f} s; SVC "
                        f"{100 * errors.mean(plain, 'error', noise):.2f} %, "
                        f"{errors.mean(plain, 'processor_seconds', noise):.2f} s"
                    )
    size = Trials(results, "size")
    for result in size.found.values():
        found = result["audit"]
        print(
            "\n2,000 rows, 60 columns, one process: "
            f"{found['processor_seconds']:.1f} s of processor"
        )


# ---------------------------------------------------------------------- main


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    options.add_argument("--data", help="folder of NAME.npz")
    options.add_argument("--seeds", type=int, default=2, help="how many (2)")
    options.add_argument("--first", type=int, default=0, help="the first seed (0)")
    options.add_argument("--jobs", type=int, default=1, help="processes (1)")
    options.add_argument("--only", nargs="+", choices=list(TRIALS), default=list(TRIALS))
    options.add_argument("--noise", nargs="+", help="some of what is planted: '15%%' 'swap 5%%'")
    options.add_argument("--results", type=Path, default=RESULTS, help=f"JSON ({RESULTS.name})")
    options.add_argument("--print", action="store_true", help="tables of what is there, no trial")
    asked = options.parse_args()
    results: dict[str, Result] = (
        json.loads(asked.results.read_text()) if asked.results.exists() else {}
    )
    if not asked.print:
        if asked.data is None:
            options.error("--data DIR is needed, or --print")
        wanted = [
            (part, asked.data, data, noise, seed)
            for seed in range(asked.first, asked.first + asked.seeds)
            for part in asked.only
            for data in TRIALS[part][1]
            for noise in TRIALS[part][2]
            if asked.noise is None or noise in asked.noise
            if not (part == "size" and seed > asked.first)
        ]
        open_ = [one for one in wanted if key_of(one[0], *one[2:]) not in results]
        print_machine(f"{asked.jobs} processes")
        print(f"{len(wanted)} trials, {len(wanted) - len(open_)} of them there already", flush=True)
        asked.results.parent.mkdir(exist_ok=True)
        trials = Parallel(asked.jobs, return_as="generator_unordered")(
            delayed(run)(*one) for one in open_
        )
        for k, (key, result) in enumerate(trials):
            results[key] = result
            text = json.dumps(dict(sorted(results.items())), indent=1)
            scratch = asked.results.with_suffix(".part")
            scratch.write_text(text + "\n")
            scratch.replace(asked.results)
            print(f"{k + 1:4d} of {len(open_)}  {key}", flush=True)
    print_tables(results)


if __name__ == "__main__":
    main()
