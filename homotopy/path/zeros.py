"""Where a function of the solution is zero along a path.

Along a segment alpha, b and the response are affine in t.  So an affine function of them is affine
in t and a quadratic one is quadratic: three values on a segment determine it, and its zeros are the
roots of a polynomial.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from homotopy.errors import PathError
from homotopy.path.on_segments import OnSegments
from homotopy.path.responses import responses_on
from homotopy.path.tolerances import PATH_TOLERANCES

if TYPE_CHECKING:
    from homotopy.model import LossModel
    from homotopy.path.path import Path

__all__ = ["QUANTITIES", "Zero", "find_zeros", "jump_between", "values_on", "zeros_on"]

Function = Callable[[Any], Any]

# Where a function is sampled on a segment, and where the parabola through the samples is checked.
SAMPLED, CHECKED = (0.0, 0.5, 1.0), 0.25
# Weights of the three samples that give the parabola at the fourth point.
WEIGHTS = (0.375, 0.75, -0.125)
QUANTITIES = ("alpha", "response", "border", "solution")


@attrs.frozen
class Zero:
    """A zero of a function, or a change of its sign.

    Attributes
    ----------
    t : float
        Its position; the first t, if the function is zero on an interval.
    stop : float
        The last t of that interval; `t` itself for a single point.
    way : int
        +1 if the function rises through zero in the direction of travel, -1 if it falls, 0 if it
        touches zero or stays there.
    jump : bool
        Whether the sign changes by a jump of the path, without the value zero being taken.
    """

    t: float
    stop: float
    way: int
    jump: bool = False


def find_zeros(path: Path, f: Function, of: str) -> tuple[Zero, ...]:
    """Find the zeros of `f`; see `Path.zeros`."""
    if of not in QUANTITIES:
        raise PathError(f"zeros: of must be one of {', '.join(QUANTITIES)}, got {of!r}")
    found: list[Zero] = []
    last: float | None = None
    for k, (points, border) in enumerate(_points(path, of)):
        start, stop = float(path.segments.start[k]), float(path.segments.stop[k])
        values = values_on(path.model, f, of, (start, stop), points, border)
        jump = jump_between(last, start, values)
        if jump is not None:
            found.append(jump)
        found += zeros_on(start, stop, values)
        last = values[2]
    return tuple(_joined(found))


def jump_between(last: float | None, t: float, values: Sequence[float]) -> Zero | None:
    """Return the change of sign between two segments, if there is one beyond rounding."""
    if last is None or last * values[0] >= 0.0:
        return None
    size = max(abs(last), *(abs(v) for v in values))
    if abs(last - values[0]) <= PATH_TOLERANCES.jumped * size:
        return None
    return Zero(t, t, 1 if values[0] > 0.0 else -1, jump=True)


def values_on(
    model: LossModel, f: Function, of: str, ts: tuple[float, float], ends: Any, border: Any
) -> tuple[float, float, float]:
    """Return f at the beginning, in the middle and at the end of a segment; `ends` is alpha (or
    the response) at its two ends, `border` is b there."""
    parts = (*SAMPLED, CHECKED)
    x = [ends[0] + (ends[1] - ends[0]) * part for part in parts]
    b = [border[0] + (border[1] - border[0]) * part for part in parts]
    if of == "solution":
        places = [ts[0] + (ts[1] - ts[0]) * part for part in parts]
        x = [model.solution(t, a, c) for t, a, c in zip(places, x, b, strict=True)]
    first, middle, last, fourth = (_number(f(value)) for value in (b if of == "border" else x))
    _check((first, middle, last, fourth), ts[0], model.parameter)
    return first, middle, last


def _points(path: Path, of: str) -> Iterator[tuple[Any, Any]]:
    """Yield alpha (or the response) and b at both ends of each segment."""
    s = path.segments
    if of != "response":
        for k, ends in enumerate(OnSegments(path).sweep()):
            yield ends, (s.b_start[k], s.b_stop[k])
        return
    block = PATH_TOLERANCES.block
    for first in range(0, len(s), block):
        part = range(first, min(first + block, len(s)))
        starts, stops = responses_on(path, part)
        for k in part:
            yield (starts[k - first], stops[k - first]), (s.b_start[k], s.b_stop[k])


def _number(value: Any) -> float:
    if np.ndim(value) != 0:
        raise PathError(f"zeros: f must return one number, got shape {np.shape(value)}")
    number = float(value)
    if not math.isfinite(number):
        raise PathError(f"zeros: f returned {number}")
    return number


def _check(values: Sequence[float], t: float, name: str) -> None:
    """Refuse a function that is not quadratic: its zeros would be guesses."""
    first, middle, last, fourth = values
    expected = WEIGHTS[0] * first + WEIGHTS[1] * middle + WEIGHTS[2] * last
    size = max(abs(v) for v in values)
    if abs(fourth - expected) > PATH_TOLERANCES.missed * size:
        raise PathError(
            f"zeros: f is not an affine or quadratic function of the solution (on the segment that "
            f"begins at {name}={t:g} it misses the parabola by {abs(fourth - expected):.2g})"
        )


def zeros_on(start: float, stop: float, values: Sequence[float]) -> list[Zero]:
    """Return the zeros of a parabola from its values at the beginning, middle and end."""
    first, middle, last = values
    size = max(abs(v) for v in values)
    if size <= 0.0:
        return [Zero(start, stop, 0)]
    # first + slope x + bend x^2 for x in [0, 1].
    slope, bend = -3.0 * first + 4.0 * middle - last, 2.0 * (first - 2.0 * middle + last)
    if abs(bend) <= PATH_TOLERANCES.curved * size:
        slope, bend = last - first, 0.0
    roots = [x for x in _roots(bend, slope, first, size) if 0.0 <= x <= 1.0]
    found = []
    for x in sorted(set(roots)):
        rate = slope + 2.0 * bend * x
        way = 0 if abs(rate) <= PATH_TOLERANCES.touching * size else (1 if rate > 0.0 else -1)
        t = start + (stop - start) * x
        found.append(Zero(t, t, way))
    return found


def _roots(bend: float, slope: float, level: float, size: float) -> list[float]:
    """Return the real zeros of ``level + slope x + bend x^2``, without cancellation."""
    if bend == 0.0:
        return [] if slope == 0.0 else [-level / slope]
    square = slope * slope - 4.0 * bend * level
    if square < 0.0:
        # No real root: the parabola touches zero up to rounding, or misses it.
        touches = -square <= 4.0 * PATH_TOLERANCES.curved * size * abs(bend)
        return [-0.5 * slope / bend] if touches else []
    q = -0.5 * (slope + math.copysign(math.sqrt(square), slope))
    return [q / bend, level / q] if q else [0.0]


def _joined(zeros: list[Zero]) -> Iterator[Zero]:
    """Merge a zero that two segments share, and intervals that follow each other."""
    kept: Zero | None = None
    for zero in zeros:
        if kept is not None and not zero.jump and not kept.jump and _same(kept.stop, zero.t):
            whole = kept.t != kept.stop or zero.t != zero.stop
            kept = Zero(kept.t, zero.stop, 0 if whole else kept.way or zero.way)
            continue
        if kept is not None:
            yield kept
        kept = zero
    if kept is not None:
        yield kept


def _same(one: float, other: float) -> bool:
    return abs(one - other) <= PATH_TOLERANCES.same_t * max(abs(one), abs(other))
