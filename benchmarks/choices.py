"""Which path and which rule: errors on clean rows after training on dirty ones.

    python benchmarks/choices.py --data DIR [--seeds 3] [--kept FILE] [--quick] [--json FILE]

At most 600 training rows of each set (400 where y is numeric), standardised, test rows clean.
Classification: 15 and 30 % of the training labels turned over.  Regression: 10 % of the targets
moved by 2 to 6 standard deviations, up or down (scattered), those of the largest first feature down
by 4 to 8 (a crowd), or none.  Each with an rbf and a linear kernel:

    plain            SVC or SVR (epsilon 0), C = 1
    theta, s, ...    RobustSVC or RobustSVR, "auto", C = 1
    cv plain, ...    C up to 10 by five folds: GridSearchCV, and RobustSVCCV or RobustSVRCV
    ... 1se          the same with rule="one-standard-error"

A difference is paired, averaged over everything of one set, and its standard error is over sets.
With --kept FILE rows are kept there as they come, and those that are there are not measured again.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import _one_thread  # noqa: F401
import numpy as np
from _data import read
from _measure import KEPT, parse, parser, print_machine, write_json
from _paper import CLASSIFICATION, REGRESSION
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from homotopy import TraceError
from homotopy_plugins import RobustSVC, RobustSVCCV, RobustSVR, RobustSVRCV

COSTS = {"labels": (0.01, 0.1, 1.0, 10.0), "targets": (0.1, 1.0, 10.0)}
LABELS, TARGETS = tuple(CLASSIFICATION), tuple(REGRESSION)
TROUBLE = {"labels": ("15 %", "30 %"), "targets": ("none", "scattered", "crowd")}
TRAINING, TRAINING_TARGETS, TEST = 600, 400, 2000
ONE = ("plain", "theta", "theta 1se", "s", "s 1se", "epsilon", "epsilon 1se")
NAMES = (*ONE, "cv plain", "cv theta", "cv theta 1se", "cv s", "cv s 1se")
Row = dict[str, Any]


def setting(folder: str, name: str, trouble: str, seed: int) -> tuple[Any, ...]:
    """Training rows, their spoiled y, test rows and their clean y."""
    letters, labels = sum(map(ord, name)), name in LABELS
    share = int(trouble.split()[0]) if labels else 10
    rng = np.random.default_rng(1000 * seed + share + letters if labels else [seed, share, letters])
    X, y = read(folder, name)
    order = rng.permutation(y.size)
    n = min(TRAINING if labels else TRAINING_TARGETS, int(0.6 * y.size))
    train, test = order[:n], order[n : n + TEST]
    scaler = StandardScaler().fit(X[train])
    X_train, X_test = scaler.transform(X[train]), scaler.transform(X[test])
    count = round(share / 100 * n)
    if labels:
        spoiled, clean = y[train].copy(), y[test]
        wrong = rng.choice(n, count, replace=False)
        spoiled[wrong] *= -1.0
        return X_train, spoiled, X_test, clean
    middle, scale = y[train].mean(), y[train].std()
    spoiled, clean = (y[train] - middle) / scale, (y[test] - middle) / scale
    if trouble == "scattered":
        wrong = rng.choice(n, count, replace=False)
        spoiled[wrong] += rng.choice([-1, 1], count) * rng.uniform(2, 6, count)
    elif trouble == "crowd":
        spoiled[np.argsort(-X_train[:, 0])[:count]] -= rng.uniform(4, 8, count)
    return X_train, spoiled, X_test, clean


def measure(folder: str, name: str, trouble: str, kernel: str, seed: int) -> Row:
    X, y, X_test, clean = setting(folder, name, trouble, seed)
    row: Row = {"data": name, "trouble": trouble, "kernel": kernel, "seed": seed}
    labels = name in LABELS
    loss: Callable[[Any], Any] = (lambda f: f != clean) if labels else (lambda f: abs(f - clean))

    def fit(called: str, machine: Any) -> Any:
        began = time.process_time()
        try:
            machine.fit(X, y)
        except TraceError as error:
            row[f"{called} failed"] = str(error)
            return None
        row[f"{called} s"] = time.process_time() - began
        row[called] = float(np.mean(loss(machine.predict(X_test))))
        return machine

    def simplest(called: str, machine: Any) -> None:
        """What the rule of one standard error would have taken."""
        if machine is None:
            return
        curve = machine.validation_curve_
        limit = curve.minimum + machine.standard_error_
        at = curve.latest(limit) if curve.parameter == "eps" else curve.earliest(limit)
        plain = at.t == curve.traced[0] and at.side == "before"
        other = machine.at(machine.path_.traced[0] if plain else at.t)
        row[f"{called} 1se"] = float(np.mean(loss(other.predict(X_test))))
        row[f"{called} outliers"] = int(machine.outliers_.size)

    costs = COSTS["labels" if labels else "targets"]
    machine, search = (RobustSVC, RobustSVCCV) if labels else (RobustSVR, RobustSVRCV)
    plain = SVC(kernel=kernel) if labels else SVR(kernel=kernel, epsilon=0.0)
    scoring = None if labels else "neg_mean_absolute_error"
    folds = (StratifiedKFold if labels else KFold)(5, shuffle=True, random_state=0)
    fit("plain", plain)
    for path in ("theta", "s") if labels else ("theta", "s", "epsilon"):
        simplest(path, fit(path, machine(kernel=kernel, path=path)))
    fit("cv plain", GridSearchCV(plain, {"C": costs}, cv=folds, scoring=scoring))
    for path in ("theta", "s"):
        called = f"cv {path}"
        simplest(called, fit(called, search(kernel=kernel, path=path, Cs=costs, cv=folds)))
    return row


def table(rows: list[Row], troubles: tuple[str, ...], unit: float) -> None:
    cells = [(trouble, kernel) for trouble in troubles for kernel in ("rbf", "linear")]
    names = [name for name in NAMES if any(name in row for row in rows)]
    head = "".join(f"{t[:9] + ' ' + k[:3]:>14s}" for t, k in cells)
    print(f"{'mean error':16s}{head}{'all':>8s}{'seconds':>9s}")
    for name in names:
        found = [[r[name] for r in rows if name in r and at(r) == cell] for cell in cells]
        means = "".join(f"{unit * np.mean(f) if f else np.nan:14.2f}" for f in found)
        every = unit * np.mean([r[name] for r in rows if name in r])
        spent = [r[f"{name} s"] for r in rows if f"{name} s" in r]
        print(f"{name:16s}{means}{every:8.2f}" + (f"{np.median(spent):9.2f}" if spent else ""))
    print()
    pairs = [("s", "theta"), ("theta", "plain"), ("s", "plain"), ("epsilon", "plain")]
    pairs += [(f"cv {a}", f"cv {b}") for a, b in pairs[:3]]
    pairs += [(f"{n} 1se", n) for n in ("theta", "s", "epsilon", "cv theta", "cv s")]
    for one, two in pairs:
        both = [r for r in rows if one in r and two in r]
        for kernel in ("rbf", "linear") if both else ():
            of = [r for r in both if r["kernel"] == kernel]
            print(f"{one + ' minus ' + two:28s}{kernel:8s}{difference(of, one, two, unit)}")
    for name in ("theta", "s", "cv theta", "cv s", "epsilon"):
        failed = sum(f"{name} failed" in r for r in rows)
        counts = [r[f"{name} outliers"] for r in rows if f"{name} outliers" in r]
        if counts or failed:
            none = sum(count == 0 for count in counts)
            print(f"{name}: {none} of {len(counts)} without an outlier, {failed} declined")


def at(row: Row) -> tuple[str, str]:
    return row["trouble"], row["kernel"]


def difference(rows: list[Row], one: str, two: str, unit: float) -> str:
    means = [
        unit * np.mean([r[one] - r[two] for r in rows if r["data"] == name])
        for name in dict.fromkeys(r["data"] for r in rows)
    ]
    error = np.std(means, ddof=1) / np.sqrt(len(means)) if len(means) > 1 else np.nan
    better = sum(m < 0.0 for m in means)
    return f"{np.mean(means):+7.2f} ± {error:.2f}, better on {better} of {len(means)} sets"


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--data", required=True, help="folder of NAME.npz")
    options.add_argument("--seeds", type=int, default=3, help="random splits of each set (3)")
    options.add_argument("--first", type=int, default=0, help="the first seed")
    options.add_argument("--kept", type=Path, help="where rows are kept, and read from")
    options.add_argument("--task", choices=["labels", "targets", "both"], default="both")
    asked = parse(options)
    warnings.simplefilter("ignore")
    print_machine("all in one process")
    tasks = ("labels", "targets") if asked.task == "both" else (asked.task,)
    sets = {"labels": LABELS, "targets": TARGETS}
    if asked.quick:
        asked.seeds, sets = 1, {task: names[:2] for task, names in sets.items()}

    def wanted() -> Iterator[tuple[str, str, str, int]]:
        for seed in range(asked.first, asked.first + asked.seeds):
            for task in tasks:
                for name in sets[task]:
                    for trouble in TROUBLE[task]:
                        yield from ((name, trouble, kernel, seed) for kernel in ("rbf", "linear"))

    rows: list[Row] = []
    for what in wanted():
        row = KEPT.find(what)
        if row is None:
            row = measure(asked.data, *what)
            KEPT.add(what, row)
            print(f"{len(rows) + 1:4d}  {' '.join(map(str, what))}", flush=True)
        rows.append(row)
        write_json(asked.json, rows=rows)
    for task in tasks:
        of = [r for r in rows if r["data"] in sets[task]]
        what = "% of clean test rows" if task == "labels" else "mean |r| in % of the spread of y"
        print(f"\n{task}: {what}, {len(of)} settings")
        table(of, TROUBLE[task], 100.0)


if __name__ == "__main__":
    main()
