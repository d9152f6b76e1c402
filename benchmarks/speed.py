"""Real data: the whole path against one fit of libsvm, and against CCCP over a grid.

    python benchmarks/speed.py --data DIR [--quick] [--only NAME ...] [--flips PART ...]
    python benchmarks/speed.py --data DIR --rows 400     # the share of Python at n about 400,
    python benchmarks/speed.py --data DIR --rows 1235    # and at 1235, on all sets as large as that

(The runs with --rows are for that share only: joined with the full table they would count in its
means.)

Each row traces a theta- or an s-path (homotopy.Homotopy) and times beside it scikit-learn's SVC or
SVR (libsvm, default tolerance, same C, kernel and gamma) and the concave-convex procedure,
warm-started over 5, 20 and 100 values spread evenly over the same span.

Classification: 40 % of the rows (seeded; 80 % of the small sets), inputs standardised, 15 % of the
labels flipped (on some sets 30 % and 5 % as well: `SETS`); theta from 1 to 0 at s = 0, and s up to
0 at theta = 0.  Regression, as in Suzumura et al. (2015): 40 % of the rows, inputs scaled to [-1,
1], targets standardised, then 5 % of the rows get noise U(-2, 2) on every input and N(0, 10^2) on
the target; theta from 1 to 0 with s the 0.9 quantile of the absolute residuals of the convex start
(the paper does not print its s), and s from the largest residual to 0.2 of it at theta = 0.  gamma
= 1/d throughout, and an intercept, since libsvm always has one.

The share of Python is the part of a trace, its start apart, that is not spent inside the compiled
entry of the tracker: 1 - (compiled in the whole run - compiled in the start alone) / trace.  Kernel
columns fetched on the way are outside of it, and count.
"""

from __future__ import annotations

import itertools
import statistics
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt
from _data import read, standardised
from _measure import (
    CERTIFIED,
    PAIRS,
    SHORT,
    Part,
    Result,
    Table,
    Targets,
    clock,
    geometric_mean,
    measure,
    parse,
    parser,
    print_machine,
    print_trouble,
    ratio,
    read_rows,
    seconds,
    start_only,
    timed,
    timed_start,
    trace_seconds,
    watch_core,
    write_json,
)
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC, SVR

from homotopy import Homotopy, LossModel
from homotopy_plugins import HingeRamp, LADRamp

try:
    from homotopy_plugins import cccp
except ImportError:
    cccp = None

Array = npt.NDArray[np.float64]
Spec = Mapping[str, Any]

SEED = 0
TRAINING, MOST_OF_IT = 0.4, 0.8
FLIPPED = 0.15
OUTLIERS = 0.05
QUANTILE = 0.9


@attrs.frozen
class Chosen:
    """How a data set is used: the part of its rows to train on (`rows` at most), the parts of the
    labels to flip, each a level of its own (None: regression), and the kernels."""

    training: float = TRAINING
    flips: tuple[float | None, ...] = (FLIPPED,)
    rows: int | None = None
    kernels: tuple[str, ...] = ("rbf", "linear")


REGRESSION = ("housing", "abalone", "cpusmall")
SETS = {
    "SVMGuide1": Chosen(flips=(0.15, 0.3)),
    "spambase": Chosen(flips=(0.15, 0.3)),
    "musk": Chosen(),
    "a6a": Chosen(),
    "AustralianCredit": Chosen(training=MOST_OF_IT, flips=(0.05, 0.15, 0.3)),
    "GermanNumer": Chosen(training=MOST_OF_IT, flips=(0.15, 0.3)),
    "BreastCancerDiagnostic": Chosen(training=MOST_OF_IT, flips=(0.15, 0.3)),
    **dict.fromkeys(REGRESSION, Chosen(flips=(None,))),
}
QUICK = {
    "SVMGuide1": Chosen(),
    "spambase": Chosen(),
    "GermanNumer": Chosen(training=MOST_OF_IT, flips=(0.3,), kernels=("linear",)),
    "housing": Chosen(flips=(None,)),
    "abalone": Chosen(flips=(None,), rows=600),
}
KERNELS = ("rbf", "linear")
COSTS = (0.1, 1.0, 10.0)
PATHS = ("theta", "s")
GRIDS = (5, 20, 100)
AMOUNTS = (
    *("total", "start", "trace", "libsvm", "ours/libsvm"),
    *(f"cccp{count}{per}" for count in GRIDS for per in ("", "/ours")),
)

# Targets.  The whole path in fits of libsvm, geometric mean over the rows of a path:
FITS = {"theta": 1.5, "s": 2.5}
# No row above this number of fits, and none unfinished.
MOST_FITS = 8.0
# The share of Python in a trace, at most, by the size of the problem (within `ABOUT`):
PYTHON = {400: 0.25, 1235: 0.15}
ABOUT = 0.2
# What CCCP costs at least, in theta-paths, by its number of values; on every row:
CCCP_COST = {5: 1.0, 100: 10.0}

TABLE = Table(
    (
        ("data", "data", 22),
        ("flips", "flips", 5),
        ("kernel", "kernel", 6),
        ("C", "C", 4),
        ("path", "path", 5),
        ("n", "n", 5),
        ("c_steps", "C-steps", 7),
        ("d_steps", "D-steps", 7),
        ("jumps", "jumps", 5),
        ("start", "start s", 8),
        ("trace", "trace s", 8),
        ("libsvm", "libsvm s", 8),
        ("cccp5", "cccp5 s", 8),
        ("cccp20", "cccp20 s", 8),
        ("cccp100", "cccp100 s", 9),
        ("ours/libsvm", "ours/svm", 8),
        ("cccp5/ours", "c5/ours", 8),
        ("cccp20/ours", "c20/ours", 8),
        ("cccp100/ours", "c100/ours", 9),
        ("us", "us/point", 8),
        ("python", "python", 6),
        ("peak", "peak MB", 7),
        ("worst", "worst", 7),
    ),
    left=5,
)


# ---------------------------------------------------------------------- data and models


def training_part(spec: Spec) -> tuple[Array, Array]:
    """The rows that are fitted, with wrong labels or outliers planted; `spec` may say which part of
    the rows ("training"), how many wrong labels ("flips") and which "seed"."""
    X, y = read(spec["folder"], spec["data"])
    rng = np.random.default_rng(spec.get("seed", SEED))
    part = rng.permutation(y.size)[: int(spec.get("training", TRAINING) * y.size)][: spec["rows"]]
    X, y = X[part], y[part]
    n, d = X.shape
    if spec["data"] in REGRESSION:
        low, width = X.min(axis=0), np.ptp(X, axis=0)
        X = np.where(width > 0.0, 2.0 * (X - low) / np.where(width > 0.0, width, 1.0) - 1.0, 0.0)
        y = (y - y.mean()) / y.std()
        planted = rng.choice(n, round(OUTLIERS * n), replace=False)
        X[planted] += rng.uniform(-2.0, 2.0, (planted.size, d))
        y[planted] += rng.normal(0.0, 10.0, planted.size)
        return X, y
    X = standardised(X)
    y[rng.choice(n, round(spec.get("flips", FLIPPED) * n), replace=False)] *= -1.0
    return X, y


def build(spec: Spec, X: Array, y: Array) -> LossModel:
    """The model of a row, new: what it caches must be paid for in every run."""
    options = {k: spec[k] for k in ("C", "kernel", "path")} | {"fit_intercept": True}
    if spec["data"] not in REGRESSION:
        return HingeRamp(X, y, **options)
    return LADRamp(X, y, **options, **({"s": spec["s"]} if spec["path"] == "theta" else {}))


def fit_libsvm(spec: Spec, X: Array, y: Array) -> SVC | SVR:
    options = {"C": spec["C"], "kernel": spec["kernel"], "gamma": 1.0 / X.shape[1]}
    if spec["data"] in REGRESSION:
        return SVR(epsilon=0.0, **options).fit(X, y)
    return SVC(**options).fit(X, y)


def convex_objective(spec: Spec, machine: SVC | SVR, X: Array, y: Array) -> tuple[float, float]:
    """Objective of libsvm's answer, and where a path in s would start from it."""
    weights = np.asarray(machine.dual_coef_).ravel()
    held = X[machine.support_]
    if spec["kernel"] == "linear":
        f = X @ (held.T @ weights) + machine.intercept_[0]
    else:
        f = rbf_kernel(X, held, gamma=1.0 / X.shape[1]) @ weights + machine.intercept_[0]
    norm = weights @ (f[machine.support_] - machine.intercept_[0])
    if spec["data"] in REGRESSION:
        residual = np.abs(y - f)
        return float(0.5 * norm + spec["C"] * residual.sum()), float(residual.max())
    margin = y * f
    hinge = np.maximum(0.0, 1.0 - margin)
    return float(0.5 * norm + spec["C"] * hinge.sum()), float(margin.min())


# ---------------------------------------------------------------------- the parts of a row


def warm_up(spec: Spec) -> None:
    """Load every compiled loop and library that the row needs."""
    rng = np.random.default_rng(SEED)
    X = rng.standard_normal((400, 10))
    y = np.sign(X[:, 0] + 0.5 * rng.standard_normal(400))
    if spec["data"] in REGRESSION:
        y = X[:, 0] + rng.standard_normal(400)
    small = {**spec, "s": 1.0, "C": 1.0}
    Homotopy(build(small, X, y)).trace().certify()
    Homotopy(start_only(build(small, X, y))).trace()
    fit_libsvm(small, X, y)
    if cccp is not None:
        cccp(build({**small, "path": "theta"}, X, y), np.array([1.0, 0.5]))


def parts(spec: Spec) -> Mapping[str, Part]:
    """The parts of a row by name, in the order in which they are run."""
    watch = watch_core()
    warm_up(spec)
    X, y = training_part(spec)
    traced: list[Any] = []

    def trace_all() -> Any:
        return Homotopy(build(spec, X, y)).trace()

    def trace_compiled() -> tuple[Any, float]:
        before = watch.seconds
        return trace_all(), watch.seconds - before

    def trace_start() -> Any:
        return Homotopy(start_only(build(spec, X, y))).trace()

    def whole(known: Mapping[str, Result]) -> Result:
        run = timed(trace_compiled)
        path, compiled = run.answer
        traced.append(path)
        start, stop = path.traced
        return {
            **run.result,
            "n": y.size,
            "compiled": compiled,
            "span": (start, stop),
            "breakpoints": path.breakpoints.size,
            "jumps": len(path.jumps),
            "counts": dict(path.counts),
            "complete": path.complete,
            "objectives": (path.objective(start, side="before"), path.objective(stop)),
        }

    def certificate(known: Mapping[str, Result]) -> Result:
        if not traced:
            return {}
        run = timed(lambda: traced[0].certify())
        return {"seconds": run.seconds, "worst": run.answer.worst, "ok": run.answer.ok}

    def start(known: Mapping[str, Result]) -> Result:
        traced.clear()
        run, rest = timed_start(trace_start, trace_all, known)
        return {**run.result, "n": y.size, "at": run.answer.traced[0], "trace": rest}

    def python(known: Mapping[str, Result]) -> Result:
        """(seconds, compiled seconds) of whole runs and of starts in pairs; the median share."""

        def split(work: Callable[[], Any]) -> tuple[float, float]:
            before = watch.seconds
            taken = clock(work)
            return taken, watch.seconds - before

        total = known["path"].get("seconds")
        if total is None:
            return {}
        if total >= SHORT:
            pairs = [((total, known["path"]["compiled"]), split(trace_start))]
        else:
            pairs = [(split(trace_all), split(trace_start)) for _ in range(PAIRS)]
        shares = [1.0 - (a[1] - b[1]) / (a[0] - b[0]) for a, b in pairs if a[0] > b[0]]
        return {"share": statistics.median(shares) if shares else None, "pairs": pairs}

    def libsvm(known: Mapping[str, Result]) -> Result:
        run = timed(lambda: fit_libsvm(spec, X, y))
        objective, at = convex_objective(spec, run.answer, X, y)
        return {**run.result, "objective": objective, "at": at}

    def over(count: int) -> Part:
        def grid(known: Mapping[str, Result]) -> Result:
            values = np.linspace(*span(spec, known), count)
            run = timed(lambda: cccp(build(spec, X, y), values))
            return {
                **run.result,
                "rounds": int(np.sum(run.answer.rounds)),
                "converged": bool(np.all(run.answer.converged)),
                "objective": float(run.answer.objectives[-1]),
            }

        return grid

    listed: dict[str, Part] = {"path": whole, "certificate": certificate}
    listed |= {"start": start, "python": python, "libsvm": libsvm}
    if cccp is not None:
        listed |= {f"cccp{count}": over(count) for count in spec["grids"]}
    return listed


def span(spec: Spec, known: Mapping[str, Result]) -> tuple[float, float]:
    """The span of a row, from whichever part knows it."""
    if "span" in known["path"]:
        return known["path"]["span"]
    if spec["path"] == "theta":
        return 1.0, 0.0
    at = known["start"].get("at", known["libsvm"].get("at"))
    if at is None:
        raise RuntimeError("neither the path nor a fit at its start has finished")
    return at, 0.2 * at if spec["data"] in REGRESSION else 0.0


def threshold(spec: Spec) -> Mapping[str, Part]:
    """The s of a theta-path for regression: a quantile of the residuals of the convex start."""

    def residuals(known: Mapping[str, Result]) -> Result:
        X, y = training_part(spec)
        path = Homotopy(start_only(build({**spec, "path": "s"}, X, y))).trace()
        return {"s": float(np.quantile(np.abs(y - path.response(path.traced[0])), QUANTILE))}

    return {"threshold": residuals}


# ---------------------------------------------------------------------- rows


def specs(chosen: Any) -> Iterator[dict[str, Any]]:
    """What is to be measured, row by row."""
    sets = QUICK if chosen.quick else SETS
    for name in chosen.only or sets:
        use = sets.get(name, SETS[name])
        least = [m for m in (chosen.rows, use.rows) if m is not None]
        levels = use.flips if name in REGRESSION else chosen.flips or use.flips
        for flips, kernel in itertools.product(levels, chosen.kernel or use.kernels):
            costs = chosen.C or ((1.0,) if chosen.quick else COSTS)
            for C, path in itertools.product(costs, chosen.path or PATHS):
                yield {
                    "folder": str(chosen.data),
                    "data": name,
                    "training": use.training,
                    "flips": flips,
                    "kernel": kernel,
                    "C": C,
                    "path": path,
                    "rows": min(least) if least else None,
                    "grids": () if chosen.no_cccp else GRIDS[:2] if chosen.quick else GRIDS,
                }


def measure_row(spec: dict[str, Any], limit: float) -> dict[str, Any]:
    """Measure one row in processes of its own, and derive its columns."""
    if spec["data"] in REGRESSION and spec["path"] == "theta":
        found = measure(threshold, spec, limit=limit)
        if "s" not in found.get("threshold", {}):
            return {**spec, "parts": found}
        spec = {**spec, "s": found["threshold"]["s"]}
    found = measure(parts, spec, limit=limit)
    traced = found.get("path", {})
    counts = traced.get("counts", {})
    total, trace = seconds(found, "path"), trace_seconds(found)
    steps = counts.get("c_steps", 0) + counts.get("d_steps", 0)
    row = {
        **spec,
        "n": traced.get("n", found.get("start", {}).get("n")),
        "c_steps": counts.get("c_steps"),
        "d_steps": counts.get("d_steps"),
        "jumps": traced.get("jumps"),
        "start": seconds(found, "start"),
        "trace": trace,
        "total": total,
        "us": 1e6 * trace.value / steps if trace is not None and steps else None,
        "python": found.get("python", {}).get("share"),
        "peak": traced.get("peak"),
        "worst": found.get("certificate", {}).get("worst"),
        "libsvm": seconds(found, "libsvm"),
        "ours/libsvm": ratio(total, seconds(found, "libsvm")),
        "parts": found,
    }
    for count in spec["grids"]:
        row[f"cccp{count}"] = seconds(found, f"cccp{count}")
        row[f"cccp{count}/ours"] = ratio(row[f"cccp{count}"], total)
    if "objectives" in traced and "objective" in found.get("libsvm", {}):
        ours = traced["objectives"][0]
        row["libsvm_above"] = (found["libsvm"]["objective"] - ours) / abs(ours)
    last = found.get(f"cccp{spec['grids'][-1]}", {}) if spec["grids"] else {}
    if "objectives" in traced and "objective" in last:
        ours = traced["objectives"][1]
        row["cccp_above"] = (last["objective"] - ours) / abs(ours)
    return row


def label(row: Mapping[str, Any]) -> str:
    flips = "" if row["flips"] is None else f" {row['flips']:.0%} flipped"
    return f"{row['data']}{flips} n={row.get('n')} {row['kernel']} C={row['C']:g} {row['path']}"


def print_agreement(rows: list[dict[str, Any]]) -> None:
    """Whether the peers solve the same problem as we do."""
    above = [(r["libsvm_above"], label(r)) for r in rows if "libsvm_above" in r]
    if above:
        (low, at_low), (high, at_high) = min(above), max(above)
        print(
            f"\nlibsvm's objective at the start lies above ours by {low:.1e} ({at_low}) to "
            f"{high:.1e} ({at_high}), relative"
        )
    above = [(r["cccp_above"], label(r)) for r in rows if "cccp_above" in r]
    for path in PATHS:
        ends = [a for a, where in above if where.endswith(f" {path}")]
        if ends:
            worse = sum(1 for a in ends if a > 1e-6)
            better = sum(1 for a in ends if a < -1e-6)
            print(
                f"CCCP's objective at the end of the {path}-path (finest grid): higher than ours "
                f"on {worse}, equal on {len(ends) - worse - better}, lower on {better} rows; "
                f"median difference {np.median(ends):.1e}"
            )


def print_means(rows: list[dict[str, Any]]) -> None:
    print("\ngeometric means (a mark > or < where rows over the limit make it a bound)")
    names = ["ours/libsvm", *(f"cccp{count}/ours" for count in GRIDS)]
    for path in PATHS:
        here = [row for row in rows if row["path"] == path]
        for kernels in (KERNELS, *((kernel,) for kernel in KERNELS)):
            chosen = [row for row in here if row["kernel"] in kernels]
            means = {name: geometric_mean(row.get(name) for row in chosen) for name in names}
            shown = ", ".join(f"{name} {mean}" for name, mean in means.items() if mean is not None)
            if chosen:
                print(f"  {path}-path, {' and '.join(kernels)}, {len(chosen)} rows: {shown}")
    for size in PYTHON:
        shares = [row["python"] for row in about(size, rows) if row["python"] is not None]
        if shares:
            middle, most = statistics.median(shares), max(shares)
            print(
                f"share of Python in a trace, n about {size}, {len(shares)} rows: median "
                f"{middle:.0%}, at most {most:.0%}"
            )


def about(size: int, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows whose n is near `size`."""
    return [row for row in rows if row.get("n") and abs(row["n"] - size) <= ABOUT * size]


def check_targets(rows: list[dict[str, Any]]) -> Targets:
    targets = Targets()
    for path, fits in FITS.items():
        here = [row for row in rows if row["path"] == path]
        mean = geometric_mean(row.get("ours/libsvm") for row in here)
        cases = [("geometric mean", mean, mean.at_most(fits))] if mean is not None else []
        targets.check(f"{path}-path / libsvm <= {fits:g}, geometric mean", cases)
        # A row with no ratio has lost us or libsvm: neither may vanish from the account.
        lost = [row for row in here if row.get("ours/libsvm") is None]
        targets.missed += [f"not in the mean: {label(row)}" for row in lost]
    targets.check(
        f"(start + trace) / libsvm <= {MOST_FITS:g}, every row",
        [
            (label(row), fits, fits.at_most(MOST_FITS) if fits else None)
            for row in rows
            for fits in [row.get("ours/libsvm")]
        ],
    )
    targets.check(
        "every path is traced to its end",
        [(label(row), ending(row), finished(row)) for row in rows],
    )
    for size, share in PYTHON.items():
        targets.check(
            f"share of Python in a trace <= {share:.0%} at n about {size}, every row",
            [
                (label(row), found, None if found is None else found <= share)
                for row in about(size, rows)
                for found in [row.get("python")]
            ],
        )
    theta = [row for row in rows if row["path"] == "theta"]
    for count, least in CCCP_COST.items():
        name = f"cccp{count}/ours"
        targets.check(
            f"CCCP over {count} values / theta-path >= {least:g}, every row",
            [
                (label(row), row.get(name), row[name].at_least(least) if row.get(name) else None)
                for row in theta
                if cccp is not None and count in row["grids"]
            ],
        )
    targets.check(
        f"certificate <= {CERTIFIED:g}, every row",
        [
            (label(row), row.get("worst"), None if row.get("worst") is None else _certified(row))
            for row in rows
        ],
    )
    return targets


def _certified(row: Mapping[str, Any]) -> bool:
    return bool(row["worst"] <= CERTIFIED and finished(row))


def finished(row: Mapping[str, Any]) -> bool:
    """Whether the path of a row goes to the end of its span."""
    return bool(row["parts"].get("path", {}).get("complete"))


def ending(row: Mapping[str, Any]) -> str:
    """How the path of a row ended, in a few words."""
    path = row["parts"].get("path", {})
    if "over" in path:
        return f"longer than {path['over']:g} s"
    return path.get("error", "to its end" if finished(row) else "stopped before")


def show(row: Mapping[str, Any]) -> None:
    flips, python = (
        None if value is None else f"{value:.0%}" for value in (row["flips"], row.get("python"))
    )
    TABLE.row({**row, "C": f"{row['C']:g}", "flips": flips, "python": python})
    print_trouble(row["parts"])


def report(rows: list[dict[str, Any]]) -> Targets:
    """What all rows say together."""
    print_agreement(rows)
    print_means(rows)
    targets = check_targets(rows)
    targets.print()
    return targets


def main() -> int:
    options = parser(__doc__, limit=120.0, quick_limit=15.0)
    source = options.add_mutually_exclusive_group(required=True)
    source.add_argument("--data", type=Path, help="folder of NAME.npz files")
    source.add_argument(
        "--join", nargs="+", type=Path, metavar="FILE", help="measure nothing, show these --json"
    )
    options.add_argument("--only", nargs="+", metavar="NAME", help="these data sets only")
    options.add_argument("--kernel", nargs="+", choices=KERNELS)
    options.add_argument("--C", nargs="+", type=float)
    options.add_argument("--path", nargs="+", choices=PATHS)
    options.add_argument("--no-cccp", action="store_true", help="against libsvm alone")
    options.add_argument("--rows", type=int, help="the largest number of training rows")
    options.add_argument(
        "--flips", nargs="+", type=float, metavar="PART", help="these levels of flipped labels only"
    )
    chosen = parse(options)
    if chosen.join:
        rows = read_rows(chosen.join, AMOUNTS)
        for row in rows:
            # Files from before there were levels.
            row.setdefault("flips", None if row["data"] in REGRESSION else FLIPPED)
        rows.sort(key=lambda row: (list(SETS).index(row["data"]), row["flips"] or 0.0))
        TABLE.head()
        for row in rows:
            show(row)
        report(rows)
        return 0
    unknown = sorted(set(chosen.only or ()) - set(SETS))
    if unknown:
        options.error(f"no rule for {unknown[0]!r}; known: {', '.join(SETS)}")
    for spec in specs(chosen):
        if not (chosen.data / f"{spec['data']}.npz").is_file():
            options.error(f"--data: there is no {spec['data']}.npz in {chosen.data}")

    print_machine()
    print(f"limit {chosen.limit:g} s for each part of a row")
    if cccp is None:
        print("cccp not available: its columns stay empty")
    print()
    TABLE.head()
    rows = []
    for spec in specs(chosen):
        row = measure_row(spec, chosen.limit)
        del row["folder"]
        rows.append(row)
        show(row)
        write_json(chosen.json, limit=chosen.limit, rows=rows)
    targets = report(rows)
    write_json(chosen.json, limit=chosen.limit, rows=rows, targets=targets.content)
    return 0


if __name__ == "__main__":
    sys.exit(main())
