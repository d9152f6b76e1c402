"""Polylines for the tracker: records, scales, and the losses as polynomials in t."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from homotopy.model import Problem
from homotopy.tracker.records import records
from homotopy.tracker.state import CORNER, SLOPE, PolylineRecords
from homotopy.tracker.tolerances import Tolerances

__all__ = ["border_weight", "empty_polylines", "fill", "loss_terms", "middle", "scales"]

Array = npt.NDArray[np.float64]


def empty_polylines(n: int, corners: int) -> PolylineRecords:
    slope = records(np.zeros((n, corners + 1), SLOPE))
    corner = records(np.zeros((n, corners), CORNER))
    return PolylineRecords(slope, corner, np.zeros((0, corners + 1, 3)), np.zeros((0, 2)))


def middle(values: Array) -> float:
    """Return the median of the positive values, 0 if there are none (`np.median` takes ten times as
    long for a hundred)."""
    ordered = np.sort(values[values > 0.0])
    half = ordered.size // 2
    if ordered.size % 2:
        return float(ordered[half])
    return float(0.5 * (ordered[half - 1] + ordered[half])) if half else 0.0


def fill(polylines: PolylineRecords, slope: Any, corner: Any, curvature: Array, kind: Any) -> None:
    """Write slopes and corners, each as (value, rate)."""
    for table, (at, rate) in ((polylines.slope, slope), (polylines.corner, corner)):
        table.at[:] = at
        # An infinite value does not move.
        table.rate[:] = np.where(np.isfinite(at), rate, 0.0)
    polylines.slope.bend[:] = curvature
    polylines.corner.kind[:] = kind


def scales(problem: Problem, ends: tuple[float, ...], tol: Tolerances) -> tuple[Array, Array]:
    """Return, for each coordinate, its smallest corner and its largest slope, each at the end of
    the span where it is larger; 0 if there is none."""
    polylines = problem.polylines
    first, last = polylines.at(ends[0]), polylines.at(ends[-1])
    corner = np.maximum(np.abs(first.corner), np.abs(last.corner))
    # A corner that should be 0 may be a rounding error.
    with np.errstate(invalid="ignore"):
        real = (corner < np.inf) & (corner > tol.of_model * np.abs(polylines.corner0))
    corner[~real] = np.inf
    scale = corner.min(axis=1)
    scale[scale == np.inf] = 0.0
    slope = np.maximum(np.abs(first.slope), np.abs(last.slope))
    slope[~(slope < np.inf)] = 0.0
    return scale, slope.max(axis=1)


def border_weight(problem: Problem, tol: Tolerances) -> float:
    """Return rho: ``rho B B^T`` makes the active block definite whenever the bordered system is
    (see `homotopy.tracker.factor`).

    The border then weighs as much as a typical row of Q; if it weighed as much as the heaviest,
    small rows would be lost.  Without Q (a linear program) no row can be lost, but alpha is
    computed from ``b - rho B^T alpha``: alpha has the rounding of b / rho, and b that of rho e.
    With rho = b / e the two are about equal in any units.  The b used is the lower quartile of
    those that bring ``B b`` to a corner, because far bounds seldom bind.
    """
    squares = (problem.border**2).sum(axis=1)
    heaviest = float(squares.max(initial=0.0))
    if not heaviest > 0.0:
        return 0.0
    own = problem.gram.sizes[problem.gram.sizes > 0.0]
    if own.size:
        return middle(own) / heaviest
    # (If the start is infinite, knots and e do not move.)
    ends = (problem.start if np.isfinite(problem.start) else problem.stop, problem.stop)
    corner, some = scales(problem, ends, tol)[0], squares > 0.0
    b = corner[some] / np.sqrt(squares[some])
    e = max(float(np.abs(problem.target(t)).max()) for t in ends)
    real = np.sort(b[b > 0.0])
    return float(real[(real.size - 1) // 4]) / e if real.size and e > 0.0 else 1.0 / heaviest


def loss_terms(problem: Problem, start: float, stop: float, tol: Tolerances) -> tuple[Array, Array]:
    """Return `terms` and `origin` of `PolylineRecords`.

    Empty if the origin of the loss is not affine in t or crosses a corner, or without jumps.
    """
    polylines, n, k = problem.polylines, problem.gram.size, problem.polylines.corner0.shape[1]
    nothing = np.zeros((0, k + 1, 3)), np.zeros((0, 2))
    if start == stop or (problem.gram.semidefinite and not polylines.jump.any()):
        # Objectives are only needed at jumps.
        return nothing
    line = _origin_line(problem, (start, 0.5 * (start + stop), stop), tol)
    if line is None:
        return nothing
    const, rate, home = line
    rows, real, known = np.arange(n), np.isfinite(polylines.slope0), np.isfinite(polylines.corner0)
    slope = np.where(real, polylines.slope0, 0.0), np.where(real, polylines.slope1, 0.0)
    corner = np.where(known, polylines.corner0, 0.0), np.where(known, polylines.corner1, 0.0)
    bend, origin = polylines.curvature, (const[:, None], rate[:, None])
    if bend.any():
        # Relative to the origin: the squares of corners far from 0 would cancel.
        slope = slope[0] - bend * origin[0], slope[1] - bend * origin[1]
        corner = (
            np.where(known, corner[0] - origin[0], 0.0),
            np.where(known, corner[1] - origin[1], 0.0),
        )
    step = slope[0][:, 1:] - slope[0][:, :-1], slope[1][:, 1:] - slope[1][:, :-1]
    terms, change = np.zeros((n, k + 1, 3)), _product(step, corner)
    if bend.any():
        curve = 0.5 * (bend[:, 1:] - bend[:, :-1])[:, :, None]
        change -= curve * _product(corner, corner)
    np.cumsum(change, axis=1, out=terms[:, 1:])
    # (In place: with many coordinates this is the largest table of a trace.)
    if bend.any():
        terms -= terms[rows, home][:, None, :]
        terms += (bend == 0.0)[:, :, None] * _product(slope, origin)
    else:
        base = _product((slope[0][rows, home], slope[1][rows, home]), (const, rate))
        terms += (base - terms[rows, home])[:, None, :]
    return terms, np.stack((const, rate), axis=1)


def _origin_line(
    problem: Problem, times: tuple[float, float, float], tol: Tolerances
) -> tuple[Array, Array, Any] | None:
    """Return the origin of each loss as a value at 0 and a rate, and the slope that contains it;
    None if it is not affine in t or crosses a corner."""
    polylines = problem.polylines
    origins = np.array([problem.origin(t) for t in times])
    if not np.isfinite(origins).all():
        return None
    bent = origins[0] + origins[2] - 2.0 * origins[1]
    if not (np.abs(bent) <= tol.of_model * np.abs(origins).max(axis=0)).all():
        return None
    corners = np.array([polylines.at(t).corner for t in times])
    # The slope that contains the origin must be the same at both ends of the span.
    homes = (origins[::2, :, None] >= corners[::2]).sum(axis=2)
    home = homes[0]
    if (home != homes[1]).any():
        return None
    rate = (origins[2] - origins[0]) / (times[2] - times[0])
    const = origins[0] - rate * times[0]
    # If the origin is on a corner all along the span, use that corner, to the last digit.
    on_it = (origins[:, :, None] == corners).all(axis=0)
    for j in np.flatnonzero(on_it.any(axis=0)).tolist():
        const = np.where(on_it[:, j], polylines.corner0[:, j], const)
        rate = np.where(on_it[:, j], polylines.corner1[:, j], rate)
    return const, rate, home


def _product(p: tuple[Array, Array], q: tuple[Array, Array]) -> Array:
    """Return the coefficients of the product of two affine functions, shape (..., 3)."""
    out = np.empty((*p[0].shape, 3))
    out[..., 0], out[..., 1], out[..., 2] = p[0] * q[0], p[0] * q[1] + p[1] * q[0], p[1] * q[1]
    return out
