"""Generated data: how time, memory and the number of break-points grow with n.

Two overlapping Gaussian classes (unit variance, means a distance of 2 apart), 15 % of the labels
flipped, C = 1 at every n, an intercept; rbf with d = 10 and gamma = 1/d, linear with d = 20.  The
theta-path (1 to 0 at s = 0), and with --s the s-path (up to 0 at theta = 0).  Sizes grow until one
exceeds the limit.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from _measure import (
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
    seconds,
    start_only,
    timed,
    timed_start,
    trace_seconds,
    write_json,
)

from homotopy import Homotopy
from homotopy_plugins import HingeRamp

Array = npt.NDArray[np.float64]
Spec = Mapping[str, Any]

SIZES = {
    "rbf": (250, 500, 1000, 2000, 4000, 8000, 16000),
    "linear": (1000, 2000, 5000, 10000, 20000, 50000, 100000, 200000),
}
QUICK_LAST = {"rbf": 2000, "linear": 20000}
FEATURES = {"rbf": 10, "linear": 20}
SEED = 0
FLIPPED = 0.15
APART = 2.0
C = 1.0

# Targets: time grows no faster than this power of n (upper half of the sizes, theta-path),
EXPONENT = {"rbf": 2.2, "linear": 1.3}
# and this many samples with a linear kernel stay within this memory.
LARGE, LARGE_MB = 200_000, 2048.0

TABLE = Table(
    (
        ("kernel", "kernel", 6),
        ("path", "path", 5),
        ("n", "n", 6),
        ("breakpoints", "break-points", 12),
        ("c_steps", "C-steps", 8),
        ("d_steps", "D-steps", 8),
        ("jumps", "jumps", 6),
        ("start", "start s", 9),
        ("trace", "trace s", 9),
        ("us", "us/point", 9),
        ("peak", "peak MB", 8),
    ),
    left=2,
)
FITTED = ("total", "start", "trace", "peak", "points")


def generate(n: int, d: int) -> tuple[Array, Array]:
    """Two overlapping classes with flipped labels."""
    rng = np.random.default_rng(SEED)
    y = np.where(rng.permutation(n) < n // 2, -1.0, 1.0)
    X = rng.standard_normal((n, d)) + y[:, None] * (0.5 * APART / np.sqrt(d))
    y[rng.choice(n, round(FLIPPED * n), replace=False)] *= -1.0
    return X, y


def build(spec: Spec, X: Array, y: Array) -> HingeRamp:
    return HingeRamp(X, y, C=C, kernel=spec["kernel"], path=spec["path"], fit_intercept=True)


def parts(spec: Spec) -> Mapping[str, Part]:
    """The whole path, then the start alone; compiled loops are loaded beforehand."""
    small = generate(60, FEATURES[spec["kernel"]])
    Homotopy(build(spec, *small)).trace()
    Homotopy(start_only(build(spec, *small))).trace()
    X, y = generate(spec["n"], FEATURES[spec["kernel"]])

    def trace_all() -> Any:
        return Homotopy(build(spec, X, y)).trace()

    def trace_start() -> Any:
        return Homotopy(start_only(build(spec, X, y))).trace()

    def whole(known: Mapping[str, Result]) -> Result:
        run = timed(trace_all)
        path = run.answer
        return {
            **run.result,
            "span": path.traced,
            "breakpoints": path.breakpoints.size,
            "jumps": len(path.jumps),
            "counts": dict(path.counts),
            "complete": path.complete,
        }

    def start(known: Mapping[str, Result]) -> Result:
        run, rest = timed_start(trace_start, trace_all, known)
        return {**run.result, "trace": rest}

    return {"path": whole, "start": start}


def measure_row(spec: Spec, limit: float) -> dict[str, Any]:
    """Measure one size in processes of its own, and derive its columns."""
    found = measure(parts, spec, limit=limit)
    traced = found.get("path", {})
    counts = traced.get("counts", {})
    trace = trace_seconds(found)
    points = counts.get("c_steps", 0) + counts.get("d_steps", 0)
    return {
        **spec,
        "breakpoints": traced.get("breakpoints"),
        "c_steps": counts.get("c_steps"),
        "d_steps": counts.get("d_steps"),
        "jumps": traced.get("jumps"),
        "points": points or None,
        "total": seconds(found, "path"),
        "start": seconds(found, "start"),
        "trace": trace,
        "us": 1e6 * trace.value / points if trace is not None and points else None,
        "peak": traced.get("peak"),
        "process_peak": traced.get("process_peak"),
        "parts": found,
    }


def value(row: Mapping[str, Any], name: str) -> float | None:
    """A positive number of a row that was measured, not a bound."""
    found = row.get(name)
    if isinstance(found, Amount):
        found = None if found.mark else found.value
    return float(found) if found else None


def exponent(rows: list[dict[str, Any]], name: str) -> float | None:
    """The power of n that fits `name` best, by least squares on logarithms."""
    pairs = [(row["n"], value(row, name)) for row in rows]
    known = [(n, v) for n, v in pairs if v is not None]
    if len(known) < 2:
        return None
    sizes, values = np.log(np.array(known, dtype=float)).T
    return float(np.polyfit(sizes, values, 1)[0])


def upper_half(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The larger half of the sizes that were measured, the middle one included."""
    done = [row for row in rows if value(row, "total") is not None]
    return done[(len(done) - 1) // 2 :]


def print_exponents(kernel: str, path: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The fitted powers of n, over the upper half and over all sizes."""
    fitted: dict[str, Any] = {"kernel": kernel, "path": path}
    for name, part in (("upper", upper_half(rows)), ("all", rows)):
        fitted[name] = {quantity: exponent(part, quantity) for quantity in FITTED}
        fitted[f"{name}_from"] = part[0]["n"] if part else None
        shown = ", ".join(f"{q} {e:.2f}" for q, e in fitted[name].items() if e is not None)
        where = f"from n = {part[0]['n']}" if part else ""
        print(f"  exponents of n, {name} sizes {where}: {shown or 'too few sizes'}")
    return fitted


def main() -> int:
    options = parser(__doc__, limit=600.0, quick_limit=60.0)
    options.add_argument("--s", action="store_true", help="trace the s-path as well")
    options.add_argument("--kernel", nargs="+", choices=tuple(SIZES))
    options.add_argument("--sizes", nargs="+", type=int, help="these n only")
    chosen = parse(options)

    print_machine()
    print(f"C = {C:g} at every n; limit {chosen.limit:g} s for the path and for the start\n")
    TABLE.head()
    rows: list[dict[str, Any]] = []
    fits: list[dict[str, Any]] = []
    for kernel in chosen.kernel or SIZES:
        sizes = sorted(chosen.sizes or SIZES[kernel])
        if chosen.quick and not chosen.sizes:
            sizes = [n for n in sizes if n <= QUICK_LAST[kernel]]
        for path in ("theta", "s") if chosen.s else ("theta",):
            here: list[dict[str, Any]] = []
            for n in sizes:
                row = measure_row({"kernel": kernel, "path": path, "n": n}, chosen.limit)
                here.append(row)
                TABLE.row(row)
                print_trouble(row["parts"])
                write = {"limit": chosen.limit, "rows": rows + here, "exponents": fits}
                write_json(chosen.json, **write)
                if value(row, "total") is None:
                    print(f"  stopped at n = {n}: no larger one was tried")
                    here += [{"kernel": kernel, "path": path, "n": m} for m in sizes if m > n]
                    break
            fits.append(print_exponents(kernel, path, here))
            rows += here
    targets = check_targets(rows, fits)
    targets.print()
    write = {"limit": chosen.limit, "rows": rows, "exponents": fits, "targets": targets.content}
    write_json(chosen.json, **write)
    return 0


def check_targets(rows: list[dict[str, Any]], fits: list[dict[str, Any]]) -> Targets:
    targets = Targets()
    for kernel, most in EXPONENT.items():
        found = [f["upper"]["total"] for f in fits if (f["kernel"], f["path"]) == (kernel, "theta")]
        targets.check(
            f"{kernel}, theta-path: time grows like n to the power of {most:g} at most",
            [("upper half of the sizes", e, None if e is None else e <= most) for e in found],
        )
    large = [r for r in rows if (r["kernel"], r["path"], r["n"]) == ("linear", "theta", LARGE)]
    targets.check(
        f"linear, theta-path, n = {LARGE}: the whole process within {LARGE_MB:g} MB",
        [
            ("high-water mark in MB", peak, None if peak is None else peak <= LARGE_MB)
            for peak in (row.get("process_peak") for row in large)
        ],
    )
    return targets


if __name__ == "__main__":
    sys.exit(main())
