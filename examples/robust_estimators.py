"""
Do the robust estimators pay?
=============================

Against SVC, SVR and HuberRegressor on data spoiled on purpose.

Classification: breast cancer, 15 % of the training labels flipped, the test labels clean.
Regression: diabetes, 5 % of the training targets moved by 5 to 10 standard deviations, either
scattered, up or down, or as a crowd (the rows with the largest bmi, all moved down); the test
targets are clean.  Every method chooses from the same grid on the same folds of the same spoiled
rows.  A difference is paired with the plain machine of the same kernel on the same split; in
regression that is SVR with epsilon = 0, where the robust paths begin.  The splits overlap, so that
the standard errors are a little too small.

Every number printed comes from this run, the bad ones too, and the words follow from the numbers.
The exit code is not zero if a path of the first split fails its certificate.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.linear_model import HuberRegressor
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import RobustScaler, StandardScaler
from sklearn.svm import SVC, SVR

from homotopy_plugins import RobustSVC, RobustSVCCV, RobustSVR, RobustSVRCV

COSTS = (0.01, 0.1, 1.0, 10.0, 100.0)
ALPHAS = (1e-4, 1e-2, 1.0, 100.0)
KERNELS = ("linear", "rbf")
# Errors closer than this print alike and count as a tie: libsvm stops at a tolerance.
TIE = 5e-3
MEAN, MEDIAN = "neg_mean_absolute_error", "neg_median_absolute_error"


class Outcome(NamedTuple):
    """One fit; `certified` is None where there is no path, or where it was not asked."""

    error: float
    seconds: float
    certified: bool | None = None


# What one split contributes to each table, by the title of the table.
Study = dict[str, dict[str, Outcome]]


class Trial(NamedTuple):
    """Training rows, how a fitted machine is judged, and whether its path is to be certified."""

    X: np.ndarray
    y: np.ndarray
    judge: Callable[[Any], float]
    certify: bool = False

    def run(self, machine: Any) -> Outcome:
        began = time.perf_counter()
        machine.fit(self.X, self.y)
        took = time.perf_counter() - began
        path = path_of(machine) if self.certify else None
        return Outcome(self.judge(machine), took, None if path is None else path.certify().ok)


def path_of(machine: Any) -> Any:
    """The path of a fitted machine inside its wrappers; None if it has none."""
    last = getattr(machine, "regressor_", machine)[-1]
    return getattr(getattr(last, "best_estimator_", last), "path_", None)


def warm_up() -> None:
    """Every process loads its compiled loops; keep that out of the times."""
    rows = np.arange(8.0)[:, None]
    RobustSVC(robustness=1.0).fit(rows, np.arange(8) % 2)
    RobustSVR(robustness=1.0).fit(rows, np.arange(8.0) % 3)


# ---------------------------------------------------------------------- classification


def classifiers(kernel: str, folds: Any) -> dict[str, Any]:
    """The plain machine and the robust ones, on scaled features."""
    found = {f"{kernel} SVC": GridSearchCV(SVC(kernel=kernel), {"C": COSTS}, cv=folds)}
    for path in ("theta", "s"):
        robust = RobustSVCCV(Cs=COSTS, kernel=kernel, path=path, cv=folds)
        found[f"{kernel} RobustSVCCV, path {path}"] = robust
    return {name: make_pipeline(StandardScaler(), machine) for name, machine in found.items()}


def classification_split(seed: int, share: float) -> Study:
    """All classifiers on one split."""
    warm_up()
    X, y = load_breast_cancer(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=0.3, stratify=y, random_state=seed
    )
    size = round(share * y_train.size)
    wrong = np.random.default_rng(seed).choice(y_train.size, size, replace=False)
    flipped = y_train.copy()
    flipped[wrong] = 1 - flipped[wrong]

    def judge(machine: Any) -> float:
        return 100.0 * float(np.mean(machine.predict(X_test) != y_test))

    spoiled = Trial(X_train, flipped, judge, certify=seed == 0)
    clean = Trial(X_train, y_train, judge)
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    found = {}
    for kernel in KERNELS:
        machines = classifiers(kernel, folds)
        found |= {name: spoiled.run(machine) for name, machine in machines.items()}
        plain = f"{kernel} SVC"
        found[f"{plain}, clean labels"] = clean.run(clone(machines[plain]))
    return {f"Breast cancer, {share:.0%} of the labels flipped: test error in %": found}


# ---------------------------------------------------------------------- regression


def scaled(machine: Any) -> Any:
    """Targets in units of their quartiles: C and epsilon mean the same whatever the unit is."""
    inner = make_pipeline(StandardScaler(), machine)
    return TransformedTargetRegressor(inner, transformer=RobustScaler())


def searched(machine: Any, folds: Any, refit: str) -> Any:
    """C from the grid, by the mean or the median absolute residual of the rows held out."""
    both = [MEAN, MEDIAN]
    return scaled(GridSearchCV(machine, {"C": COSTS}, cv=folds, scoring=both, refit=refit))


def regressors(kernel: str, folds: Any) -> dict[str, Any]:
    found = {
        f"{kernel} SVR, epsilon {epsilon:g}": searched(
            SVR(kernel=kernel, epsilon=epsilon), folds, MEAN
        )
        for epsilon in (0.0, 0.1)
    }
    for path in ("theta", "s"):
        robust = RobustSVRCV(Cs=COSTS, kernel=kernel, path=path, cv=folds)
        found[f"{kernel} RobustSVRCV, path {path}"] = scaled(robust)
    return found


def by_median(plain: Any, spoiled: Trial) -> Outcome:
    """SVR with the C that the median residual prefers, from the search that was done already.

    The robust searches score held-out rows by a loss that outliers cannot raise at will.  This
    plain machine, chosen by such a score too, tells what of their gain is the score's.
    """
    search = plain.regressor_[-1]
    best = int(np.argmax(search.cv_results_[f"mean_test_{MEDIAN}"]))
    return spoiled.run(scaled(clone(search.estimator).set_params(C=COSTS[best])))


def spoil(setting: str, bmi: np.ndarray, y: np.ndarray, share: float, seed: int) -> np.ndarray:
    """Move a share of the targets by 5 to 10 standard deviations."""
    rng = np.random.default_rng(seed)
    size = round(share * y.size)
    far = rng.uniform(5.0, 10.0, size) * y.std()
    moved = y.copy()
    if setting == "scattered":
        moved[rng.choice(y.size, size, replace=False)] += rng.choice([-1.0, 1.0], size) * far
    else:
        moved[np.argsort(-bmi, kind="stable")[:size]] -= far
    return moved


def compared(trial: Trial, folds: Any) -> dict[str, Outcome]:
    """All regressions on the same rows."""
    huber = GridSearchCV(HuberRegressor(max_iter=1000), {"alpha": ALPHAS}, cv=folds, scoring=MEAN)
    found = {"HuberRegressor": trial.run(scaled(huber))}
    for kernel in KERNELS:
        machines = regressors(kernel, folds)
        found |= {name: trial.run(machine) for name, machine in machines.items()}
        plain = f"{kernel} SVR, epsilon 0"
        chosen = by_median(machines[plain], trial)
        seconds = found[plain].seconds + chosen.seconds
        found[f"{plain}, C by median"] = chosen._replace(seconds=seconds)
    return found


def regression_split(seed: int, share: float) -> Study:
    """Both kinds of outliers on one split; the clean targets are the same for both."""
    warm_up()
    data = load_diabetes()
    X_train, X_test, y_train, y_test = train_test_split(
        data.data, data.target, test_size=0.3, random_state=seed
    )
    bmi = X_train[:, data.feature_names.index("bmi")]

    def judge(machine: Any) -> float:
        return float(np.mean(np.abs(machine.predict(X_test) - y_test)))

    folds = KFold(5, shuffle=True, random_state=seed)
    clean = Trial(X_train, y_train, judge)
    bound = {
        f"{kernel} SVR, epsilon 0, clean targets": clean.run(
            searched(SVR(kernel=kernel, epsilon=0.0), folds, MEAN)
        )
        for kernel in KERNELS
    }
    found = {}
    for setting in ("scattered", "crowd"):
        moved = spoil(setting, bmi, y_train, share, seed)
        spoiled = Trial(X_train, moved, judge, certify=seed == 0)
        title = f"Diabetes, {share:.0%} outliers, {setting}: mean absolute test error"
        found[title] = compared(spoiled, folds) | bound
    return found


# ---------------------------------------------------------------------- account


def spread(values: np.ndarray) -> float:
    """The standard error of a mean; nan for one value."""
    return float(values.std(ddof=1) / np.sqrt(values.size)) if values.size > 1 else np.nan


def plain_of(name: str) -> str:
    """The plain machine with which a method is compared: the one with its kernel."""
    kernel = "rbf" if name.startswith("rbf") else "linear"
    return f"{kernel} SVC" if "SVC" in name else f"{kernel} SVR, epsilon 0"


def verdict(gap: np.ndarray, plain: str) -> str:
    """What a paired difference says, with two standard errors as the noise."""
    mean, noise = gap.mean(), 2.0 * spread(gap)
    if not abs(mean) > noise:
        return f"no difference from {plain} beyond the noise"
    word = "better" if mean < 0.0 else "worse"
    return f"{word} than {plain} by {abs(mean):.2f}, more than two standard errors"


def report(splits: list[dict[str, Outcome]]) -> None:
    """The table, and one sentence for each robust method that follows from it."""
    errors = {name: np.array([split[name].error for split in splits]) for name in splits[0]}
    print(f"{'method':<40}{'error':>6}{'± se':>7}   {'minus plain':<15}{'w/t/l':>7}{'s/fit':>7}")
    for name, values in errors.items():
        gap, versus = values - errors[plain_of(name)], f"{'plain':<15}{'':>7}"
        if name != plain_of(name):
            won, lost = np.sum(gap < -TIE), np.sum(gap > TIE)
            tied = gap.size - won - lost
            versus = f"{f'{gap.mean():+5.2f} ± {spread(gap):.2f}':<15}{f'{won}/{tied}/{lost}':>7}"
        seconds = np.mean([split[name].seconds for split in splits])
        print(f"{name:<40}{values.mean():6.2f}{spread(values):7.2f}   {versus}{seconds:7.2f}")
    for name, values in errors.items():
        if "Robust" in name:
            plain = plain_of(name)
            print(f"{name}: {verdict(values - errors[plain], plain)}.")


def failures(first: dict[str, Outcome]) -> list[str]:
    """Methods whose path on the first split fails its certificate; says how many were checked."""
    checked = {name: o.certified for name, o in first.items() if o.certified is not None}
    print(f"Certificates on the first split: {sum(checked.values())} of {len(checked)} hold.")
    return [name for name, holds in checked.items() if not holds]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--splits", type=int, default=10, help="how many splits (10)")
    parser.add_argument("--flips", type=float, default=0.15, help="share of wrong labels (0.15)")
    parser.add_argument("--outliers", type=float, default=0.05, help="share of outliers (0.05)")
    asked = parser.parse_args()
    warm_up()
    failed = []
    for split, share in ((classification_split, asked.flips), (regression_split, asked.outliers)):
        began = time.perf_counter()
        splits = Parallel(n_jobs=2)(delayed(split)(seed, share) for seed in range(asked.splits))
        for title in splits[0]:
            print(f"\n{title}\n{'-' * len(title)}")
            results = [found[title] for found in splits]
            report(results)
            failed += [f"{title}: {name}" for name in failures(results[0])]
        print(f"{asked.splits} splits in {time.perf_counter() - began:.0f} s.")
    for what in failed:
        print(f"FAILED: certificate of {what}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
