"""Large n: the exact rbf path against a linear path on Nystroem features, as n grows.

Both trace the whole theta-path, from the plain machine (1) to the robust one (0), and are taken at
its end: exact is RobustSVR or RobustSVC with kernel="rbf", m = 100, 300, 1000 is
make_pipeline(Nystroem(n_components=m), RobustSVR or RobustSVC with kernel="linear"), libsvm is one
fit of scikit-learn's SVR(epsilon=0) or SVC with the exact kernel.  C = 1 and gamma = 1/d for all.

The data are cadata (California housing, 20,640 rows, d = 8) from --data, or a stand-in of that
shape.  A fifth of all rows, the same at every n, is the test set and stays clean; the training part
is 4/5 of n of the others, and standardises inputs and targets.  Regression: 5 % of the training
targets are moved by 5 to 10 standard deviations, up or down.  Classification: is the target above
its median; 15 % of the training labels are flipped.  Sizes grow, method by method, until one
exceeds the limit.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt
from _data import read
from _measure import (
    CERTIFIED,
    Amount,
    Part,
    Result,
    Table,
    Targets,
    measure,
    parse,
    parser,
    print_machine,
    print_trouble,
    ratio,
    seconds,
    timed,
    write_json,
)
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, SVR

from homotopy_plugins import RobustSVC, RobustSVR

Array = npt.NDArray[np.float64]
Spec = Mapping[str, Any]

NAME = "cadata"
ROWS, FEATURES = 20640, 8
SIZES = (1000, 2000, 4000, 8000, ROWS)
QUICK_LAST = 2000
COMPONENTS = (100, 300, 1000)
PROBLEMS = {
    "regression": "test error: mean absolute error, in standard deviations of the target",
    "classification": "test error: part of the labels that is wrong",
}
SEED = 0
TRAINING = 0.8
OUTLIERS, FAR = 0.05, (5.0, 10.0)
FLIPPED = 0.15
C = 1.0


TABLE = Table(
    (
        ("n", "n", 6),
        ("method", "method", 8),
        ("training", "training", 8),
        ("fit", "fit s", 8),
        ("ratio", "ours/svm", 8),
        ("breakpoints", "break-points", 12),
        ("jumps", "jumps", 6),
        ("outliers", "outliers", 8),
        ("plain", "plain error", 11),
        ("robust", "robust error", 12),
        ("peak", "peak MB", 8),
        ("worst", "worst", 8),
    ),
    left=2,
)


# ---------------------------------------------------------------------- data


@attrs.frozen
class Split:
    """Training rows with planted trouble, and clean test rows."""

    X: Array
    y: Array
    X_test: Array
    y_test: Array


def stand_in() -> tuple[Array, Array]:
    """As many rows and features as cadata: inputs correlated and heavy-tailed (Student, 4 degrees
    of freedom), a target that is not linear in them, and noise that grows with one of them."""
    rng = np.random.default_rng(SEED)
    mixed = rng.standard_normal((ROWS, FEATURES)) @ rng.standard_normal((FEATURES, FEATURES))
    X = mixed / np.sqrt(rng.chisquare(4.0, ROWS) / 4.0)[:, None]
    X /= X.std(axis=0)
    size = np.log1p(np.abs(X[:, 3]))
    y = np.sin(2.0 * X[:, 0]) + np.tanh(X[:, 1] * X[:, 2]) + size
    return X, y + (0.2 + 0.4 * size) * rng.standard_normal(ROWS)


def split(spec: Spec, n: int) -> Split:
    """The part of the data that `n` rows in all give, with the trouble of the problem planted."""
    X, y = stand_in() if spec["folder"] is None else read(spec["folder"], NAME)
    rng = np.random.default_rng(SEED)
    order = rng.permutation(y.size)
    last = round(TRAINING * y.size)
    train, test = order[:last][: round(TRAINING * n)], order[last:]
    centre, spread = X[train].mean(axis=0), X[train].std(axis=0)
    X = (X - centre) / np.where(spread > 0.0, spread, 1.0)
    if spec["problem"] == "regression":
        y = (y - y[train].mean()) / y[train].std()
        planted = rng.choice(train, round(OUTLIERS * train.size), replace=False)
        wrong = y.copy()
        sign = rng.choice((-1.0, 1.0), planted.size)
        wrong[planted] += sign * rng.uniform(*FAR, planted.size)
    else:
        y = np.where(y > np.median(y[train]), 1.0, -1.0)
        wrong = y.copy()
        wrong[rng.choice(train, round(FLIPPED * train.size), replace=False)] *= -1.0
    return Split(X[train], wrong[train], X[test], y[test])


def error(problem: str, y: Array, predicted: Array) -> float:
    if problem == "regression":
        return float(np.mean(np.abs(y - predicted)))
    return float(np.mean(y != predicted))


# ---------------------------------------------------------------------- the parts of a row


def build(spec: Spec, d: int) -> Any:
    """The machine of a row, new and not fitted."""
    regression = spec["problem"] == "regression"
    rbf = {"kernel": "rbf", "gamma": 1.0 / d}
    if spec["method"] == "libsvm":
        return SVR(C=C, epsilon=0.0, **rbf) if regression else SVC(C=C, **rbf)
    robust = RobustSVR if regression else RobustSVC
    options = {"C": C, "path": "theta", "robustness": 1.0}
    if spec["method"] == "exact":
        return robust(**rbf, **options)
    features = Nystroem(n_components=spec["components"], random_state=SEED, **rbf)
    return make_pipeline(features, robust(kernel="linear", **options))


def parts(spec: Spec) -> Mapping[str, Part]:
    """The fit, with what is asked of it afterwards; compiled loops are loaded beforehand."""
    small = split(spec, 400)
    build({**spec, "components": 20}, FEATURES).fit(small.X, small.y).predict(small.X)
    data = split(spec, spec["n"])
    problem = spec["problem"]

    def fit(known: Mapping[str, Result]) -> Result:
        run = timed(lambda: build(spec, data.X.shape[1]).fit(data.X, data.y))
        machine, X_test = run.answer, data.X_test
        about = {**run.result, "training": data.y.size}
        if spec["method"] == "libsvm":
            return about | {"plain": error(problem, data.y_test, machine.predict(X_test))}
        if spec["components"] is not None:
            features, machine = machine[0], machine[-1]
            X_test = features.transform(X_test)
        path = machine.path_
        return about | {
            "breakpoints": path.breakpoints.size,
            "jumps": len(path.jumps),
            "counts": dict(path.counts),
            "outliers": machine.outliers_.size,
            "worst": float(machine.certificate_.worst),
            "robust": error(problem, data.y_test, machine.predict(X_test)),
            # The start of the same path: what was gained, and a check against libsvm.
            "plain": error(problem, data.y_test, machine.at(1.0).predict(X_test)),
        }

    return {"fit": fit}


def measure_row(spec: Spec, limit: float, peer: Amount | None) -> dict[str, Any]:
    """Measure one method at one n in a process of its own; `peer` is the time of libsvm."""
    found = measure(parts, spec, limit=limit)
    fitted = found.get("fit", {})
    taken = seconds(found, "fit")
    names = ("breakpoints", "jumps", "outliers", "plain", "robust", "peak", "worst")
    return {
        **{key: value for key, value in spec.items() if key != "folder"},
        "training": round(TRAINING * spec["n"]),
        **{name: fitted.get(name) for name in names},
        "fit": taken,
        "ratio": None if spec["method"] == "libsvm" else ratio(taken, peer),
        "parts": found,
    }


def methods(n: int) -> dict[str, int | None]:
    """Names with their number of components, libsvm first; fewer components than training rows."""
    few = [m for m in COMPONENTS if m < TRAINING * n]
    return {"libsvm": None, "exact": None} | {f"m = {m}": m for m in few}


def main() -> int:
    options = parser(__doc__, limit=300.0, quick_limit=60.0)
    options.add_argument(
        "--data", type=Path, metavar="DIR", help=f"folder of {NAME}.npz (default: a stand-in)"
    )
    options.add_argument("--sizes", nargs="+", type=int, help="these n only")
    chosen = parse(options)
    if chosen.data is not None and not (chosen.data / f"{NAME}.npz").is_file():
        options.error(f"--data: there is no {NAME}.npz in {chosen.data}")
    sizes = sorted(chosen.sizes or SIZES)
    if chosen.quick and not chosen.sizes:
        sizes = [n for n in sizes if n <= QUICK_LAST]
    if not 500 <= sizes[0] <= sizes[-1] <= ROWS:
        options.error(f"--sizes must lie between 500 and {ROWS}")
    folder, source = (str(chosen.data), NAME) if chosen.data else (None, f"a stand-in for {NAME}")

    print_machine()
    print(f"data: {source}; C = {C:g}, gamma = 1/d; limit {chosen.limit:g} s for each fit")
    rows: list[dict[str, Any]] = []
    for problem, measured in PROBLEMS.items():
        print(f"\n{problem}; {measured}\n")
        TABLE.head()
        stopped: set[str] = set()
        for n in sizes:
            peer: Amount | None = None
            for method, components in methods(n).items():
                if method in stopped:
                    continue
                spec = {"problem": problem, "n": n, "method": method, "components": components}
                row = measure_row({**spec, "folder": folder}, chosen.limit, peer)
                if method == "libsvm":
                    peer = row["fit"]
                rows.append(row)
                TABLE.row(row)
                print_trouble(row["parts"])
                write_json(chosen.json, data=source, limit=chosen.limit, rows=rows)
                if row["fit"] is None or row["fit"].mark:
                    stopped.add(method)
                    print(f"  {method} stopped at n = {n}: no larger one was tried")
    targets = check_targets(rows)
    targets.print()
    content = {"rows": rows, "targets": targets.content}
    write_json(chosen.json, data=source, limit=chosen.limit, **content)
    return 0


def check_targets(rows: list[dict[str, Any]]) -> Targets:
    targets = Targets()
    targets.check_certified(
        (
            (f"{row['problem']}, n = {row['n']}, {row['method']}", row["worst"])
            for row in rows
            if row["method"] != "libsvm"
        ),
        f"certificate <= {CERTIFIED:g} at the fitted point",
    )
    return targets


if __name__ == "__main__":
    sys.exit(main())
