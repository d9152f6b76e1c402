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

Then classifiers (gamma = 1/d and 0.1, C = 1): how many of 300 predictions for new rows would be
another without a single training row, and how often these are wrong, over six splits.

    python benchmarks/forks.py --data DIR [--quick] [--json FILE]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import _one_thread  # noqa: F401
import numpy as np
import numpy.typing as npt
from _data import read, standardised
from _measure import Targets, parse, parser, print_machine, write_json
from sklearn.model_selection import train_test_split
from sklearn.svm import SVR

from homotopy import Homotopy
from homotopy import Path as Traced
from homotopy_plugins import EpsilonRamp, RobustSVC

Array = npt.NDArray[np.float64]

NAMES = ("bodyfat", "mpg", "housing", "abalone", "winequality-red", "winequality-white", "cpusmall")
EPSILON = 0.1
ROWS, COSTS = 1000, (1.0, 10.0, 100.0)
QUICK_ROWS, QUICK_COSTS, QUICK_NAMES = 300, (1.0,), NAMES[:3]
# For predictions that hang on one row: tables, most rows of them, new rows, splits.
CLASSES, CLASS_ROWS, NEW_ROWS, SPLITS = ("GermanNumer", "AustralianCredit", "a6a"), 1000, 300, 6
# The target: all rows left out, in fits of libsvm.
MOST_FITS = 15.0
CERTIFICATES = 20


def table(folder: Path, name: str, rows: int) -> tuple[Array, Array]:
    """Standardised rows and targets, drawn with a fixed seed."""
    X, y = read(folder, name)
    some = np.random.default_rng(0).permutation(y.size)[:rows]
    return standardised(X[some]), (y[some] - y[some].mean()) / y[some].std()


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
    for row in rows[:CERTIFICATES]:
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


def hanging(X: Array, y: Array, gamma: float, splits: int) -> dict[str, Any]:
    """Predictions that hang on one row, and the errors among them, among the others and of all."""
    found = []
    for seed in range(splits):
        old, new, labels, truth = train_test_split(X, y, test_size=NEW_ROWS, random_state=seed)
        machine = RobustSVC(robustness=0, C=1.0, gamma=gamma).fit(old, labels)
        wrong, hangs = machine.predict(new) != truth, machine.flips(new).hangs
        found.append((hangs.sum(), wrong[hangs].sum(), wrong.sum()))
    count, errors, wrong_all = np.array(found).T
    return {
        "rows": len(old),
        "new": NEW_ROWS,
        "splits": splits,
        "least": int(count.min()),
        "most": int(count.max()),
        "among": float(errors.sum() / max(count.sum(), 1)),
        "others": float((wrong_all - errors).sum() / (splits * NEW_ROWS - count.sum())),
        "all": float(wrong_all.mean() / NEW_ROWS),
    }


def check_targets(rows: list[dict[str, Any]]) -> Targets:
    targets = Targets()
    targets.check(
        f"all rows left out within {MOST_FITS:g} fits",
        [
            (f"{r['data']}, C = {r['C']:g}", r["loo"] / r["fit"], r["loo"] <= MOST_FITS * r["fit"])
            for r in rows
        ],
    )
    targets.check(
        f"{CERTIFICATES} of {CERTIFICATES} optima without a row certified",
        [(f"{r['data']}, C = {r['C']:g}", r["proven"], r["proven"] == CERTIFICATES) for r in rows],
    )
    return targets


def main() -> int:
    options = parser(__doc__)
    options.add_argument("--data", type=Path, required=True, help="folder of NAME.npz")
    options.add_argument("--rows", type=int, help=f"of each table, at most ({ROWS})")
    options.add_argument("--C", type=float, nargs="+", help="costs (1, 10 and 100)")
    options.add_argument("--names", nargs="+", help="these tables only")
    chosen = parse(options)
    names = chosen.names or (QUICK_NAMES if chosen.quick else NAMES)
    classes = () if chosen.names else CLASSES[:1] if chosen.quick else CLASSES
    for name in (*names, *classes):
        if not (chosen.data / f"{name}.npz").is_file():
            options.error(f"--data: there is no {name}.npz in {chosen.data}")
    print_machine("all in one process")
    rows: list[dict[str, Any]] = []
    for name in names:
        X, y = table(chosen.data, name, chosen.rows or (QUICK_ROWS if chosen.quick else ROWS))
        for C in chosen.C or (QUICK_COSTS if chosen.quick else COSTS):
            r: dict[str, Any] = {"data": name, "C": C} | measured(X, y, C)
            rows.append(r)
            write_json(chosen.json, rows=rows)
            print(
                f"{name:18} C {C:5g}  n {r['n']:5d}  active {r['active']:4d}  "
                f"fit {1e3 * r['fit']:7.1f} ms  all left out {r['loo'] / r['fit']:5.1f} fits  "
                f"push {1e3 * r['push']:.2f}  restore {1e3 * r['restore']:.2f}  "
                f"add {1e3 * r['add']:.2f} ms  off {r['off']:.0e}  certified {r['proven']}",
                flush=True,
            )
    flips: list[dict[str, Any]] = []
    for name in classes:
        X, y = read(chosen.data, name)
        some = np.random.default_rng(0).permutation(y.size)[:CLASS_ROWS]
        X, y = standardised(X[some]), y[some]
        for gamma in (1 / X.shape[1], 0.1):
            r = hanging(X, y, gamma, 1 if chosen.quick else SPLITS)
            flips.append({"data": name, "gamma": gamma} | r)
            print(
                f"{name:18} gamma {gamma:.3f}  {r['least']} to {r['most']} of {r['new']} "
                f"predictions hang on one row; wrong {r['among']:.2f} of them, "
                f"{r['others']:.2f} of the others",
                flush=True,
            )
    targets = check_targets(rows)
    targets.print()
    write_json(chosen.json, rows=rows, flips=flips, targets=targets.content)
    return 0


if __name__ == "__main__":
    sys.exit(main())
