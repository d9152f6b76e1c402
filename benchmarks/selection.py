"""Model selection: exact curves over a grid of C against libsvm on the same grid; what reuse gives.

    python benchmarks/selection.py --data DIR [--quick] [--json FILE]

The training rows of speed.py with what is planted there, at most 1500 of them; 5 values of C, 5
folds, one process.  First the whole search: `RobustSVCCV` or `RobustSVRCV` along theta and s, refit
included, over scikit-learn's `GridSearchCV` with `SVC` or `SVR` (epsilon 0), the same values of C
and the same folds.  Then the convex starts alone: along C, each from the one before over each on
its own; of a fold, from the solution on all rows with the others removed over each on its own
(kernel columns are there in both cases).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import _one_thread  # noqa: F401
import numpy as np
from _measure import parse, parser, print_machine, write_json
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.svm import SVC, SVR
from speed import REGRESSION, training_part

from homotopy import Homotopy
from homotopy_plugins import HingeRamp, LADRamp, RobustSVCCV, RobustSVRCV

COSTS = (0.1, 0.3, 1.0, 3.0, 10.0)
DATA = ("BreastCancerDiagnostic", "AustralianCredit", "spambase", "housing", "abalone")
ROWS, QUICK_ROWS = 1500, 300


def clock(work: Callable[..., Any], *given: Any, **options: Any) -> tuple[float, Any]:
    began = time.process_time()
    result = work(*given, **options)
    return time.process_time() - began, result


def starts(model: Any, guesses: dict[float, Any] | None, chained: bool) -> tuple[float, dict]:
    """Seconds for the convex starts at every C, and the alphas."""
    took, found, before = 0.0, {}, None
    for C in COSTS:
        guess = guesses[C] if guesses else before if chained else None
        tracer = Homotopy(model.varied(C=C), max_breakpoints=1)
        spent, path = clock(tracer.trace, start=guess)
        took += spent
        before, found[C] = path, path.alpha(path.traced[0], "before")
    return took, found


def reuse(kind: type, X: np.ndarray, y: np.ndarray, kernel: str, kept: np.ndarray) -> list[float]:
    """Starts along C: chained over cold; starts of a fold: removed over cold."""

    def ready(rows: np.ndarray) -> Any:
        model = kind(X[rows], y[rows], C=1.0, kernel=kernel, fit_intercept=True)
        starts(model, None, chained=False)  # columns of the kernel are there now
        return model

    whole, part = ready(np.arange(y.size)), ready(kept)
    cold, alphas = starts(whole, None, chained=False)
    chained, _ = starts(whole, None, chained=True)
    fold_cold, _ = starts(part, None, chained=False)
    removed, _ = starts(part, {C: alpha[kept] for C, alpha in alphas.items()}, chained=False)
    return [chained / cold, removed / fold_cold]


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--data", required=True, help="folder of NAME.npz")
    asked = parse(options)
    print_machine("all in one process, every time measured once")
    head = ("libsvm s", "theta s", "ratio", "s s", "ratio", "along C", "folds")
    print(f"{'data':24s}{'kernel':8s}{'n':>6s}" + "".join(f"{name:>10s}" for name in head))
    rows: list[dict[str, Any]] = []
    for name in DATA:
        spec = {"folder": asked.data, "data": name, "rows": QUICK_ROWS if asked.quick else ROWS}
        X, y = training_part(spec)
        regression = name in REGRESSION
        kind, search = (LADRamp, RobustSVRCV) if regression else (HingeRamp, RobustSVCCV)
        folds = (KFold if regression else StratifiedKFold)(5, shuffle=True, random_state=0)
        kept = next(folds.split(X, y))[0]
        for kernel in ("rbf", "linear"):
            options_ = {"kernel": kernel, "gamma": "auto"}
            peer = SVR(epsilon=0.0, **options_) if regression else SVC(**options_)
            scoring = "neg_mean_absolute_error" if regression else None
            grid = GridSearchCV(peer, {"C": COSTS}, cv=folds, scoring=scoring)
            libsvm, _ = clock(grid.fit, X, y)
            row = [libsvm]
            for path in ("theta", "s"):
                ours = search(Cs=COSTS, gammas=("auto",), kernel=kernel, path=path, cv=folds)
                took, _ = clock(ours.fit, X, y)
                row += [took, took / libsvm]
            row += reuse(kind, X, y, kernel, kept)
            names = ("libsvm", "theta", "theta_ratio", "s", "s_ratio", "along_C", "folds")
            about = {"data": name, "kernel": kernel, "n": y.size}
            rows.append(about | dict(zip(names, row, strict=True)))
            write_json(asked.json, rows=rows)
            cells = "".join(f"{value:10.3g}" for value in row)
            print(f"{name:24s}{kernel:8s}{y.size:6d}{cells}", flush=True)
    mean = np.exp(np.log([(r["theta_ratio"], r["s_ratio"]) for r in rows]).mean(axis=0))
    print(f"geometric means of the ratios: theta {mean[0]:.2f}, s {mean[1]:.2f}")


if __name__ == "__main__":
    main()
