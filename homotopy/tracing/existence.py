"""Whether a problem has an optimum at t, by linear programs: a second opinion on a trace that found
none."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog

from homotopy.arrays import Array
from homotopy.model import Problem
from homotopy.model.polyline import Snapshot

__all__ = ["has_optimum"]


def has_optimum(problem: Problem, t: float, most: int) -> bool:
    """Whether linear programs show that a convex problem has an optimum at t; False if they would
    need more than `most` numbers.

    It has one if some alpha within the slopes satisfies the border equations (the objective is
    bounded below), and some w and b take every response to where its loss is finite.
    """
    if not np.isfinite(t):
        return False
    snap, border = problem.polylines.at(t), problem.border
    if not (snap.convex and problem.gram.semidefinite) or border.size > most:
        return False
    alpha, u = _ranges(snap)
    if border.size and not _feasible(border.T, (problem.target(t),) * 2, alpha):
        return False
    walled = np.flatnonzero(np.any(np.isfinite(u), axis=0))
    phi = problem.gram.features()
    n = problem.gram.size
    if walled.size * ((n if phi is None else phi.shape[1]) + border.shape[1]) > most:
        return False
    if phi is None:
        rows = problem.gram.block(walled, np.arange(n))
    else:
        rows = phi[walled] if isinstance(phi, np.ndarray) else phi[walled].toarray()
    unknown = np.hstack([rows, border[walled]])
    return _feasible(unknown, u[:, walled], np.array([[-np.inf], [np.inf]]))


def _ranges(snap: Snapshot) -> tuple[Array, Array]:
    """Return the least and the largest alpha, and those u between which the loss is finite."""
    n, k = snap.corner.shape
    count = np.arange(n)
    left, right = (snap.corner == -np.inf).sum(axis=1), k - (snap.corner == np.inf).sum(axis=1)
    ends = snap.slope[count, right], snap.slope[count, left]
    bent = snap.curvature[count, right] > 0.0, snap.curvature[count, left] > 0.0
    alpha = np.where(bent[0], -np.inf, ends[0]), np.where(bent[1], np.inf, ends[1])
    first = snap.corner[count, np.minimum(left, k - 1)]
    last = snap.corner[count, np.maximum(right - 1, 0)]
    u = np.where(ends[1] == np.inf, first, -np.inf), np.where(ends[0] == -np.inf, last, np.inf)
    return np.stack(alpha), np.stack(u)


def _feasible(matrix: Array, sides: tuple[Array, Array] | Array, ranges: Array) -> bool:
    """Whether ``sides[0] <= matrix @ x <= sides[1]`` for an x within the ranges (low, high)."""
    row = np.abs(matrix).max(axis=1, initial=0.0)
    row = np.where(row > 0.0, row, 1.0)
    scaled = matrix / row[:, None]
    column = np.abs(scaled).max(axis=0, initial=0.0)
    column = np.where(column > 0.0, column, 1.0)
    scaled, low, high = scaled / column, sides[0] / row, sides[1] / row
    same = low == high
    above, below = np.isfinite(low) & ~same, np.isfinite(high) & ~same
    found = linprog(
        np.zeros(matrix.shape[1]),
        A_ub=np.vstack([-scaled[above], scaled[below]]),
        b_ub=np.append(-low[above], high[below]),
        A_eq=scaled[same],
        b_eq=low[same],
        bounds=np.broadcast_to((ranges * column).T, (matrix.shape[1], 2)),
    )
    return bool(found.status == 0)
