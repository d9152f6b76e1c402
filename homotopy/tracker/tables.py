"""Polylines for the tracker: records, scales, and the losses as polynomials in t."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from homotopy.model import Problem
from homotopy.tracker.records import records
from homotopy.tracker.state import CORNER, SLOPE, Lines
from homotopy.tracker.tolerances import Tolerances

__all__ = ["border_weight", "empty_lines", "fill", "loss_terms", "scales"]

Array = npt.NDArray[np.float64]


def empty_lines(n: int, corners: int) -> Lines:
    slope = records(np.zeros((n, corners + 1), SLOPE))
    corner = records(np.zeros((n, corners), CORNER))
    return Lines(slope, corner, np.zeros((0, corners + 1, 3)))


def fill(polylines: Lines, slope: Any, corner: Any, curvature: Array, kind: Any) -> None:
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
    snaps = [polylines.at(t) for t in ends]
    corner = np.max([np.abs(snap.corner) for snap in snaps], axis=0)
    # A corner that should be 0 may be a rounding error.
    with np.errstate(invalid="ignore"):
        real = np.isfinite(corner) & (corner > tol.of_model * np.abs(polylines.corner0))
    scale = np.where(real, corner, np.inf).min(axis=1)
    slope = np.max([np.abs(snap.slope) for snap in snaps], axis=0)
    height = np.where(np.isfinite(slope), slope, 0.0).max(axis=1)
    return np.where(np.isfinite(scale), scale, 0.0), height


def border_weight(problem: Problem, tol: Tolerances) -> float:
    """Return rho: ``rho B B^T`` makes the active block definite whenever the bordered system is
    (see `homotopy.tracker.factor`).

    It has the weight of a usual row of Q: beside the heaviest, small rows would be lost.  Without Q
    (a linear program) no row can be lost, but alpha is computed from ``b - rho B^T alpha``, and its
    rounding is that of b / rho, while b keeps that of ``rho e``.  So these are made about equal,
    whatever the units of the rows: b is what takes ``B b`` to its corners.  (To a nearer one than
    usual, because bounds that are far away seldom bind.)
    """
    squares = (problem.border**2).sum(axis=1)
    heaviest = float(squares.max(initial=0.0))
    if not heaviest > 0.0:
        return 0.0
    own = problem.gram.sizes[problem.gram.sizes > 0.0]
    if own.size:
        return float(np.median(own)) / heaviest
    # (An infinite start has the knots and the e of every t.)
    ends = (problem.start if np.isfinite(problem.start) else problem.stop, problem.stop)
    corner, some = scales(problem, ends, tol)[0], squares > 0.0
    b = corner[some] / np.sqrt(squares[some])
    e = max(float(np.abs(problem.target(t)).max()) for t in ends)
    real = np.sort(b[b > 0.0])
    return float(real[(real.size - 1) // 4]) / e if real.size and e > 0.0 else 1.0 / heaviest


def loss_terms(problem: Problem, start: float, stop: float, tol: Tolerances) -> Array:
    """Return the coefficients of 1, t, t^2 in c_ij, shape (n, K+1, 3), where the loss on slope j is
    ``L_i(u) = c_ij(t) - a_ij(t) u + bend_ij u^2 / 2``.

    Empty if the origin of the loss is not affine in t or crosses a corner, and if there is no jump.
    """
    polylines, n, k = problem.polylines, problem.gram.size, problem.polylines.corner0.shape[1]
    nothing = np.zeros((0, k + 1, 3))
    if start == stop or (problem.gram.semidefinite and not polylines.jump.any()):
        # Objectives are only needed at jumps.
        return nothing
    times = (start, 0.5 * (start + stop), stop)
    origins = [problem.origin(t) for t in times]
    if not np.all(np.isfinite(origins)):
        return nothing
    bent = origins[0] + origins[2] - 2.0 * origins[1]
    if not np.all(np.abs(bent) <= tol.of_model * np.abs(origins).max(axis=0)):
        return nothing
    rate = (origins[2] - origins[0]) / (stop - start)
    const = origins[0] - rate * start
    rows = np.arange(n)
    for j in range(k):
        # If the origin is on a corner all the way, use that corner, to the last digit.
        pairs = zip(times, origins, strict=True)
        on_it = np.all([origin == polylines.at(t).corner[:, j] for t, origin in pairs], axis=0)
        const, rate = (
            np.where(on_it, table[:, j], own)
            for table, own in ((polylines.corner0, const), (polylines.corner1, rate))
        )
    # The slope that contains the origin must be the same at both ends of the span.
    homes = [
        (origin[:, None] >= polylines.at(t).corner).sum(axis=1)
        for t, origin in ((start, origins[0]), (stop, origins[2]))
    ]
    home = homes[0]
    if np.any(home != homes[1]):
        return nothing
    slope0 = np.where(np.isfinite(polylines.slope0), polylines.slope0, 0.0)
    slope1 = np.where(np.isfinite(polylines.slope0), polylines.slope1, 0.0)
    bend = polylines.curvature
    terms = np.zeros((n, k + 1, 3))
    for j in range(k):
        known = np.isfinite(polylines.corner0[:, j])
        corner = (
            np.where(known, polylines.corner0[:, j], 0.0),
            np.where(known, polylines.corner1[:, j], 0),
        )
        step = slope0[:, j + 1] - slope0[:, j], slope1[:, j + 1] - slope1[:, j]
        curve = 0.5 * (bend[:, j + 1] - bend[:, j])[:, None]
        terms[:, j + 1] = terms[:, j] + _product(step, corner) - curve * _product(corner, corner)
    base = _product((slope0[rows, home], slope1[rows, home]), (const, rate))
    base -= 0.5 * bend[rows, home][:, None] * _product((const, rate), (const, rate))
    return np.ascontiguousarray(terms + (base - terms[rows, home])[:, None, :])


def _product(p: tuple[Array, Array], q: tuple[Array, Array]) -> Array:
    """Return the coefficients of the product of two affine functions, shape (n, 3)."""
    return np.stack([p[0] * q[0], p[0] * q[1] + p[1] * q[0], p[1] * q[1]], axis=1)
