"""Which rows are wrong?  `audit` against cleanlab and its ensembles, SVC margins, neighbours.

    python benchmarks/audit.py --data DIR [--quick] [--seeds 3] [--jobs 1] [--only ...]
    python benchmarks/audit.py --print          # the tables of results that are there

Everything is planted, so that the truth is known: at most 400 rows of each set (drawn by the seed),
some of whose labels or targets are wrong.  None of the sets had a part in growing the trees of
`experience.json` (`audit_learn.py`).

labels : 5, 10, 20 and 30 % of all labels flipped, 20 % of one class, 15 % near the boundary between
    classes, 10 % in whole neighbourhoods; 0 % for the number of wrong labels alone.  Rankings are
    judged by average precision, the rows named by F1.  cleanlab gets probabilities out of fold in
    the same five folds: of logistic regression, gradient boosting, a random forest and an rbf SVC
    (calibrated), of their mean, and all four through `get_label_quality_ensemble_scores`;
    `find_label_issues` names.
targets : targets replaced by those of other rows ("swap"), moved by 0.5 to 2.5 standard deviations
    ("noise"), times ten, or moved in one region.
errors : error on clean rows after training on labels of which 15 or 30 % are wrong, of
    `RobustSVCCV` (theta and s) and of `GridSearchCV(SVC)`, same C, same folds.
size : tables of 2,000 x 60, 20,000 x 10 and 100,000 x 10.

Seconds are those of the processor (one process, one thread), so that a machine that has other
things to do measures the same.

Each trial is written to the JSON file as soon as it is done; trials that are there are not run
again, so that a run can be stopped and taken up.  Differences are paired: the mean over trials of
each set first, then the mean over sets with its standard error.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import _one_thread  # noqa: F401
import numpy as np
from _audit_sets import (
    ABOVE,
    AMOUNTS,
    FLIPS,
    LABELS,
    MOVES,
    SIGNED,
    TARGETS,
    drawn,
    flipped,
    moved,
)
from _audit_tables import print_tables
from _measure import machine, print_machine, this_run
from joblib import Parallel, delayed
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import HuberRegressor, LogisticRegression, RidgeCV
from sklearn.metrics import average_precision_score, f1_score
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    StratifiedKFold,
    cross_val_predict,
)
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from homotopy_plugins import RobustSVCCV, audit

ROWS = 400
ERRORS = ("15%", "30%")
# Sets of each kind with --quick.
QUICK_SETS = 3
COSTS = (0.1, 1.0, 10.0)
RESULTS = Path(__file__).with_name("results") / "audit.json"
SIZES = ("2000 x 60", "20000 x 10", "100000 x 10")

Array = np.ndarray
Result = dict[str, Any]


# ---------------------------------------------------------------------- trials


def judged(wrong: Array, quality: Array, named: Array | None, began: float) -> Result:
    """A ranking (small is wrong) and the rows named, against the truth."""
    found: Result = {"processor_seconds": time.process_time() - began}
    if wrong.any():
        found["ap"] = float(average_precision_score(wrong, -quality))
    if named is not None:
        found["named"] = int(named.sum())
        if wrong.any():
            found["f1"] = float(f1_score(wrong, named))
    return found


def audited(X: Array, y: Array, wrong: Array, **options: Any) -> Result:
    """The audit, judged."""
    began = time.process_time()
    report = audit(X, y, **options)
    order = report.columns["row"]
    quality, named = np.empty(y.size), np.empty(y.size, dtype=bool)
    # Ties are broken as the report does.
    quality[order] = np.arange(y.size)
    named[order] = report.columns["is_label_issue"]
    found = judged(wrong, quality, named, began)
    low, high = report.interval or (0, y.size)
    said = report.n_wrong is not None
    return found | {
        "count": report.n_wrong if said else 0,
        "interval": [low, high],
        "colour": report.verdict.colour,
    }


def calibrated(margin: Array, codes: Array, k: int) -> Array:
    """Probabilities from values of a decision function."""
    columns = np.column_stack([-margin, margin]) if margin.ndim == 1 else margin
    chance = np.column_stack(
        [
            LogisticRegression()
            .fit(columns[:, [c]], codes == c)
            .predict_proba(columns[:, [c]])[:, 1]
            for c in range(k)
        ]
    )
    return chance / chance.sum(axis=1, keepdims=True)


def labels_trial(folder: str, data: str, noise: str, seed: int) -> Result:
    from cleanlab.count import num_label_issues
    from cleanlab.filter import find_label_issues
    from cleanlab.rank import get_label_quality_ensemble_scores, get_label_quality_scores

    X, truth, rng = drawn(folder, data, seed, ROWS, False)
    y = flipped(X, truth, noise, rng)
    wrong, k = y != truth, int(truth.max()) + 1
    folds = list(StratifiedKFold(5, shuffle=True, random_state=seed).split(X, y))
    out: Result = {"n": int(y.size), "wrong": int(wrong.sum())}
    out["audit"] = audited(X, y, wrong, cv=folds, random_state=seed)
    if noise == "0%":
        return out
    models = {
        "logistic": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
        "boosting": GradientBoostingClassifier(max_features="sqrt", random_state=seed),
        "forest": RandomForestClassifier(100, min_samples_leaf=5, random_state=seed),
    }
    chances, margins = {}, {}
    for name, model in models.items():
        began = time.process_time()
        chances[name] = cross_val_predict(model, X, y, cv=folds, method="predict_proba")
        margins[name] = began
    scaled = StandardScaler().fit_transform(X)
    began = time.process_time()
    margin = cross_val_predict(SVC(), scaled, y, cv=folds, method="decision_function")
    chances["SVC"], margins["SVC"] = calibrated(margin, y, k), began
    chances["mean of four"] = np.mean(list(chances.values()), axis=0)
    margins["mean of four"] = time.process_time()
    for name, chance in chances.items():
        quality = get_label_quality_scores(y, chance)
        named = find_label_issues(y, chance, n_jobs=1)
        out[f"cleanlab, {name}"] = judged(wrong, quality, named, margins[name])
        out[f"cleanlab, {name}"]["count"] = int(num_label_issues(y, chance))
    four = [chances[name] for name in (*models, "SVC")]
    quality = get_label_quality_ensemble_scores(y, four, verbose=False)
    named = find_label_issues(y, chances["mean of four"], n_jobs=1)
    out["cleanlab, ensemble of four"] = judged(wrong, quality, named, time.process_time())
    rows = np.arange(y.size)
    rank = sum(np.argsort(np.argsort(chances[name][rows, y])) for name in ("forest", "SVC"))
    out["forest and SVC, mean rank"] = judged(wrong, rank, None, time.process_time())
    near = NearestNeighbors(n_neighbors=10).fit(scaled).kneighbors(return_distance=False)
    agree = np.mean(y[near] == y[:, None], axis=1)
    out["10 neighbours"] = judged(wrong, agree, agree < 0.5, time.process_time())
    return out


def targets_trial(folder: str, data: str, noise: str, seed: int) -> Result:
    from cleanlab.regression.rank import get_label_quality_scores

    X, truth, rng = drawn(folder, data, seed, ROWS, True)
    y = moved(X, truth, noise, rng)
    wrong = y != truth
    folds = list(KFold(5, shuffle=True, random_state=seed).split(X, y))
    out: Result = {"n": int(y.size), "wrong": int(wrong.sum())}
    out["audit"] = audited(X, y, wrong, cv=folds, task="regression", random_state=seed)
    if noise == "0%":
        return out
    models = {
        "ridge": make_pipeline(StandardScaler(), RidgeCV(np.logspace(-3, 3, 7))),
        "boosting": GradientBoostingRegressor(max_features="sqrt", random_state=seed),
        "forest": RandomForestRegressor(100, min_samples_leaf=5, random_state=seed),
        "Huber": make_pipeline(StandardScaler(), HuberRegressor(max_iter=1000)),
    }
    # Out of fold in units of the spread: cleanlab's scores are not free of scale.
    unit, off = float(y.std()), []
    for name, model in models.items():
        began = time.process_time()
        guess = cross_val_predict(model, X, y / unit, cv=folds)
        off.append(y / unit - guess)
        out[f"{name} out of fold"] = judged(wrong, -np.abs(off[-1]), None, began)
        if name != "Huber":
            quality = get_label_quality_scores(y / unit, guess)
            out[f"cleanlab, {name}"] = judged(wrong, quality, None, began)
    middle = np.abs(np.median(off, axis=0))
    out["median of the four"] = judged(wrong, -middle, None, time.process_time())
    return out


def errors_trial(folder: str, data: str, noise: str, seed: int) -> Result:
    X, codes, rng = drawn(folder, data, seed, 1000, False)
    truth = np.where(codes == 1, 1.0, -1.0)
    half = truth.size // 2
    y = np.where(flipped(X[:half], codes[:half], noise, rng) == 1, 1.0, -1.0)
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
        for name, fitted in machines.items():
            began = time.process_time()
            fitted.fit(train, y)
            took = time.process_time() - began
            out[name] = {
                "error": 1.0 - float(fitted.score(test, clean)),
                "processor_seconds": took,
            }
    return out


def size_trial(folder: str, data: str, noise: str, seed: int) -> Result:
    n, d = (int(part) for part in data.split(" x "))
    X, y = make_classification(
        n, d, n_informative=min(12, d // 2), n_redundant=0, flip_y=0.1, random_state=seed
    )
    audit(X[:200], y[:200])  # compiled, and pages of the libraries read
    began = time.process_time()
    report = audit(X, y)
    took = time.process_time() - began
    return {"n": n, "audit": {"processor_seconds": took, "count": report.n_wrong}}


TRIALS: dict[str, tuple[Callable[..., Result], tuple[str, ...], tuple[str, ...]]] = {
    "labels": (labels_trial, (*SIGNED, *ABOVE, *LABELS), FLIPS),
    "targets": (targets_trial, (*AMOUNTS, *TARGETS), MOVES),
    "errors": (errors_trial, SIGNED, ERRORS),
    "size": (size_trial, SIZES, ("-",)),
}


def run(part: str, folder: str, data: str, noise: str, seed: int) -> tuple[str, Result]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return key_of(part, data, noise, seed), TRIALS[part][0](folder, data, noise, seed)


def key_of(part: str, data: str, noise: str, seed: int) -> str:
    return " | ".join((part, data, noise, str(seed)))


# ---------------------------------------------------------------------- main


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    options.add_argument("--data", help="folder of NAME.npz")
    options.add_argument("--seeds", type=int, default=3, help="how many (3)")
    options.add_argument("--first", type=int, default=0, help="the first seed (0)")
    options.add_argument("--jobs", type=int, default=1, help="processes (1)")
    options.add_argument("--only", nargs="+", choices=list(TRIALS), default=list(TRIALS))
    options.add_argument("--noise", nargs="+", help="some of what is planted: '15%%' 'swap 5%%'")
    options.add_argument("--results", type=Path, default=RESULTS, help=f"JSON ({RESULTS.name})")
    options.add_argument("--print", action="store_true", help="tables of what is there, no trial")
    options.add_argument(
        "--quick", action="store_true", help="one seed, three sets, no large table"
    )
    asked = options.parse_args()
    results: dict[str, Result] = (
        json.loads(asked.results.read_text()) if asked.results.exists() else {}
    )
    if not asked.print:
        if asked.data is None:
            options.error("--data DIR is needed, or --print")
        wanted = [
            (part, asked.data, data, noise, seed)
            for seed in range(asked.first, asked.first + (1 if asked.quick else asked.seeds))
            for part in asked.only
            for data in TRIALS[part][1][: QUICK_SETS if asked.quick else None]
            for noise in TRIALS[part][2]
            if asked.noise is None or noise in asked.noise
            if not (part == "size" and (asked.quick or seed > asked.first))
        ]
        open_ = [one for one in wanted if key_of(one[0], *one[2:]) not in results]
        print_machine(f"{asked.jobs} processes")
        print(f"{len(wanted)} trials, {len(wanted) - len(open_)} of them there already", flush=True)
        asked.results.parent.mkdir(exist_ok=True)
        trials = Parallel(asked.jobs, return_as="generator_unordered")(
            delayed(run)(*one) for one in open_
        )
        for k, (key, result) in enumerate(trials):
            results |= {key: result, "machine": machine(), "run": this_run()}
            text = json.dumps(dict(sorted(results.items())), indent=1)
            scratch = asked.results.with_suffix(".part")
            scratch.write_text(text + "\n")
            scratch.replace(asked.results)
            print(f"{k + 1:4d} of {len(open_)}  {key}", flush=True)
    print_tables(results)


if __name__ == "__main__":
    main()
