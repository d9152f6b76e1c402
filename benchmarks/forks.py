"""Forks: every row left out of a kernel SVR, and single moves, in fits of libsvm.

For each table (standardised, at most --rows of its rows) the machine with epsilon = 0.1, an
intercept and gamma = 1/d is traced to one point and forked there.  Processor time on one core:

    fit       one fit of scikit-learn's SVR on the same rows, default tolerance, mean of three
    fork      making the fork
    loo       all rows left out, and the same with the decision function at 50 rows (loo+at)
    push      one push to 0, from Python, and restore after it, mean of 100
    add       one row added and restore, mean of 50
    off       the largest difference from refits by libsvm at tol=1e-10, 20 rows
    certified 20 of the optima without a row, by the certificate

Set OMP_NUM_THREADS=1 (and that of your BLAS): processor time of idle threads counts too.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.svm import SVR

from homotopy import Homotopy
from homotopy import Path as Traced
from homotopy_plugins import EpsilonRamp

Array = npt.NDArray[np.float64]

NAMES = ("bodyfat", "mpg", "housing", "abalone", "winequality-red", "winequality-white", "cpusmall")
EPSILON = 0.1


def table(file: Path, rows: int) -> tuple[Array, Array]:
    """Standardised rows and targets, drawn with a fixed seed."""
    with np.load(file, allow_pickle=False) as data:
        X, y = data["X"].astype(float), data["y"].astype(float)
    some = np.random.default_rng(0).permutation(y.size)[:rows]
    X, y = X[some], y[some]
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0), (y - y.mean()) / y.std()


def timed(work: Callable[[], Any], times: int = 1) -> float:
    """Seconds of processor time, on average."""
    begun = time.process_time()
    for _ in range(times):
        work()
    return (time.process_time() - begun) / times


def traced(X: Array, y: Array, C: float) -> Traced:
    model = EpsilonRamp(
        X, y, C=C, epsilon=EPSILON, gamma=1 / X.shape[1], fit_intercept=True, path="eps",
        epsilon_start=EPSILON,
    )  # fmt: skip
    return Homotopy(model).trace()


def measured(X: Array, y: Array, C: float) -> dict[str, float]:
    """One row of the table."""
    machine: dict[str, Any] = {"C": C, "epsilon": EPSILON, "gamma": 1 / X.shape[1]}
    path = traced(X, y, C)
    fit = timed(lambda: SVR(**machine).fit(X, y), 3)
    make = timed(lambda: path.fork(EPSILON))
    fork = path.fork(EPSILON)
    fork.leave_one_out(range(min(3, y.size)))
    kept = [fork]
    loo = timed(lambda: kept.append(fork.leave_one_out()))
    left: Any = kept[-1]
    at = timed(lambda: fork.leave_one_out(at=X[:50]))
    rows = np.random.default_rng(1).permutation(y.size)[:100].tolist()

    def add() -> None:
        for row in rows[:50]:
            fork.add(X[row] + 0.01, float(y[row]) + 1.0)
            fork.restore()

    pushed = back = 0.0
    for row in rows:
        pushed += timed(lambda row=row: fork.remove(row)) / len(rows)
        back += timed(fork.restore) / len(rows)
    add()
    added = timed(add) / 50
    off, proven = 0.0, 0
    for row in rows[:20]:
        rest = np.arange(y.size) != row
        refit = SVR(**machine, tol=1e-10).fit(X[rest], y[rest])
        off = max(off, abs(float(refit.predict(X[[row]])[0]) - float(left.response[row])))
        proven += fork.remove(row).certify().ok
        fork.restore()
    optimum = fork.optimum()
    return {
        "n": y.size,
        "vectors": int(np.count_nonzero(optimum.alpha)),
        "active": int(np.sum([optimum.partition()[p].size for p in ("E+", "E-")])),
        "fit": fit,
        "fork": make,
        "loo": loo,
        "at": at,
        "push": pushed,
        "restore": back,
        "add": added,
        "off": off,
        "proven": proven,
    }


def main() -> int:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--data", type=Path, required=True, help="folder of .npz tables (X, y)")
    options.add_argument("--rows", type=int, default=1000)
    options.add_argument("--C", type=float, nargs="+", default=[1.0, 10.0])
    options.add_argument("--names", nargs="+", default=list(NAMES))
    given = options.parse_args()
    print(
        "| table | C | n | vectors | active | fit ms | fork ms | all left out | with 50 new rows | "
        "ms a row | push ms | restore ms | add + restore ms | off libsvm | certified |"
    )
    print("|---" * 15 + "|")
    for name in given.names:
        file = given.data / f"{name}.npz"
        if not file.exists():
            print(f"{name}: no such table in {given.data}", file=sys.stderr)
            continue
        X, y = table(file, given.rows)
        for C in given.C:
            r = measured(X, y, C)
            print(
                f"| {name} | {C:g} | {r['n']:.0f} | {r['vectors']:.0f} | {r['active']:.0f} | "
                f"{1e3 * r['fit']:.1f} | {1e3 * r['fork']:.1f} | {r['loo'] / r['fit']:.1f} fits | "
                f"{r['at'] / r['fit']:.1f} fits | {1e3 * r['loo'] / max(r['vectors'], 1):.2f} | "
                f"{1e3 * r['push']:.2f} | {1e3 * r['restore']:.2f} | {1e3 * r['add']:.2f} | "
                f"{r['off']:.0e} | {r['proven']:.0f}/20 |",
                flush=True,
            )  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
