"""Slanted pieces and two border columns: what a step costs against flat pieces and one column.

    python benchmarks/pieces.py [--quick] [--json FILE]

Four losses on the same data (scaling.py's: two Gaussian classes, 15 % of the labels flipped, C = 1,
s = 0), all with a branch left of s whose weight theta goes from 1 to 0:

    flat     the hinge ramp, every piece flat
    narrow   the hinge rounded over the last tenth before the margin: slanted there
    wide     the same over the last half
    squared  the squared hinge, slanted from s to the margin, linear left of s

A coordinate on a slanted piece is active as one on a knot is, so that the wider the piece, the more
are active; `active` is their mean number along the path, and a step cannot cost the same with ten
times as many.  narrow has about as many as flat: there the price is that of the slant itself.  With
two border columns, f has an intercept for each half of the rows instead of one for all.

Each row is trace / (C- and D-steps), the start apart, over the row that it is compared with: the
flat one with as many border columns, and the same loss with one column.
"""

from __future__ import annotations

import itertools
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
    ratio,
    seconds,
    start_only,
    timed,
    timed_start,
    trace_seconds,
    write_json,
)
from scaling import FEATURES, C, generate

from homotopy import Homotopy, Jump, Knot, LossModel, Slope
from homotopy_plugins import HingeRamp

Array = npt.NDArray[np.float64]
Spec = Mapping[str, Any]

# Width of the slanted piece before the margin; None: up to s.
LOSSES = {"flat": 0.0, "narrow": 0.1, "wide": 0.5, "squared": None}
BORDERS = (1, 2)
SIZES = {"rbf": (500, 2000), "linear": (500, 2000)}
QUICK_SIZES = {"rbf": (500,), "linear": (500,)}
S = 0.0

# The target: the cost of a step over that of the row it is compared with, at most.
TIMES = 2.0

TABLE = Table(
    (
        ("kernel", "kernel", 6),
        ("n", "n", 5),
        ("loss", "loss", 7),
        ("borders", "borders", 7),
        ("c_steps", "C-steps", 7),
        ("d_steps", "D-steps", 7),
        ("jumps", "jumps", 5),
        ("active", "active", 6),
        ("start", "start s", 8),
        ("trace", "trace s", 8),
        ("us", "us/step", 8),
        ("over flat", "over flat", 9),
        ("over one", "over one", 8),
        ("worst", "worst", 7),
    ),
    left=3,
)


class RoundedRamp(LossModel):
    """The hinge ramp on the Q of `hinge`, its slope reached over `width` before the margin; where
    `width` is None the squared hinge down to s."""

    parameter, span = "theta", (1.0, 0.0)

    def __init__(self, hinge: HingeRamp, width: float | None) -> None:
        self.gram, self.border, self.width = hinge.gram, hinge.border, width

    def polyline(self, theta: Any) -> tuple[Slope | Knot | Jump, ...]:
        if self.width is None:
            return (
                Slope("O", theta * (C * (1.0 - S))),
                Jump(S),
                Slope("quadratic", C, curvature=C),
                Knot("E", 1.0),
                Slope("R", 0.0),
            )
        bend = C / self.width
        return (
            Slope("O", theta * C),
            Jump(S),
            Slope("L", C),
            Knot("begin", 1.0 - self.width),
            Slope("quadratic", bend, curvature=bend),
            Knot("E", 1.0),
            Slope("R", 0.0),
        )


def build(spec: Spec, X: Array, y: Array) -> LossModel:
    """The model of a row, new: kernel columns are paid for in every run."""
    model = HingeRamp(X, y, C=C, kernel=spec["kernel"], s=S, fit_intercept=True)
    if spec["borders"] == 2:
        half = np.arange(y.size) % 2 == 0
        model.border = np.column_stack([np.where(half, y, 0.0), np.where(half, 0.0, y)])
    width = LOSSES[spec["loss"]]
    return model if width == 0.0 else RoundedRamp(model, width)


def parts(spec: Spec) -> Mapping[str, Part]:
    """The whole path, then the start alone; compiled loops are loaded beforehand."""
    small = generate(60, FEATURES[spec["kernel"]])
    Homotopy(build(spec, *small)).trace().certify()
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
            "jumps": len(path.jumps),
            "active": float(np.diff(path.segments.offset).mean()),
            "counts": dict(path.counts),
            "worst": path.certify().worst,
        }

    def start(known: Mapping[str, Result]) -> Result:
        run, rest = timed_start(trace_start, trace_all, known)
        return {**run.result, "trace": rest}

    return {"path": whole, "start": start}


def measure_row(spec: Spec, limit: float) -> dict[str, Any]:
    """Measure one row in processes of its own, and derive its columns."""
    found = measure(parts, spec, limit=limit)
    traced = found.get("path", {})
    counts = traced.get("counts", {})
    trace = trace_seconds(found)
    steps = counts.get("c_steps", 0) + counts.get("d_steps", 0)
    known = trace is not None and not trace.mark and steps
    return {
        **spec,
        **{name: counts.get(name) for name in ("c_steps", "d_steps")},
        **{name: traced.get(name) for name in ("jumps", "active", "worst")},
        "start": seconds(found, "start"),
        "trace": trace,
        "us": Amount(1e6 * trace.value / steps) if known else None,
        "parts": found,
    }


def compare(row: dict[str, Any], rows: list[dict[str, Any]]) -> None:
    """Set a row beside the flat one and beside the one with one border column."""

    def other(**changed: Any) -> Amount | None:
        wanted = {**{key: row[key] for key in ("kernel", "n", "loss", "borders")}, **changed}
        same = [r for r in rows if all(r[key] == value for key, value in wanted.items())]
        return same[0]["us"] if same else None

    if row["loss"] != "flat":
        row["over flat"] = ratio(row["us"], other(loss="flat"))
    if row["borders"] != 1:
        row["over one"] = ratio(row["us"], other(borders=1))


def label(row: Mapping[str, Any]) -> str:
    return f"{row['kernel']} n={row['n']} {row['loss']}, {row['borders']} border columns"


def check_targets(rows: list[dict[str, Any]]) -> Targets:
    targets = Targets()
    for name, promise in (
        ("over flat", f"a step on slanted pieces within {TIMES:g} times one on flat pieces"),
        ("over one", f"a step with two border columns within {TIMES:g} times one with one"),
    ):
        targets.check(
            promise,
            [
                (label(row), times, times.at_most(TIMES) if times else None)
                for row in rows
                if name in row
                for times in [row[name]]
            ],
        )
    targets.check_certified((label(row), row["worst"]) for row in rows)
    return targets


def main() -> int:
    options = parser(__doc__, limit=120.0, quick_limit=30.0)
    options.add_argument("--kernel", nargs="+", choices=tuple(SIZES))
    options.add_argument("--sizes", nargs="+", type=int, help="these n only")
    chosen = parse(options)

    print_machine()
    print(f"limit {chosen.limit:g} s for each part of a row\n")
    TABLE.head()
    rows: list[dict[str, Any]] = []
    for kernel in chosen.kernel or SIZES:
        sizes = chosen.sizes or (QUICK_SIZES if chosen.quick else SIZES)[kernel]
        for n, loss, borders in itertools.product(sizes, LOSSES, BORDERS):
            spec = {"kernel": kernel, "n": n, "loss": loss, "borders": borders}
            row = measure_row(spec, chosen.limit)
            compare(row, rows)
            rows.append(row)
            TABLE.row(row)
            print_trouble(row["parts"])
            write_json(chosen.json, limit=chosen.limit, rows=rows)
    targets = check_targets(rows)
    targets.print()
    write_json(chosen.json, limit=chosen.limit, rows=rows, targets=targets.content)
    return 0


if __name__ == "__main__":
    sys.exit(main())
