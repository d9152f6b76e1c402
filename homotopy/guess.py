"""A guess of the convex start, good enough that making it exact is little work."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from homotopy.model import Problem
from homotopy.polyline import Snapshot
from homotopy.smo import solve_convex

__all__ = ["coordinate_descent", "estimate_border"]

Array = npt.NDArray[np.float64]

# How far a response may be off: pairs get dearer with every digit, Newton steps on features do not.
ENOUGH, ENOUGH_ON_FEATURES = 1e-4, 1e-6


def coordinate_descent(problem: Problem, snap: Snapshot, rho: float) -> tuple[Array, Array]:
    """Approximate ``(alpha, b)`` for the falling polylines `snap`; `rho` has no influence."""
    gram = problem.gram
    tol = ENOUGH if gram.features() is None else ENOUGH_ON_FEATURES
    target = problem.target(problem.start)
    found = solve_convex(gram, problem.border, target, snap, tol=tol)
    return found.alpha, found.b


def estimate_border(problem: Problem, snap: Snapshot, alpha: Array) -> Array:
    """b for a given alpha: least squares on the coordinates that look to be on a knot."""
    border = problem.border
    if border.shape[1] == 0:
        return np.zeros(0)
    u = problem.gram.matvec(alpha)
    rows, aims = [], []
    for j in range(snap.corner.shape[1]):
        high, low = snap.slope[:, j], snap.slope[:, j + 1]
        room = 1e-6 * np.where(np.isfinite(high - low), np.abs(high - low), 1.0)
        inside = np.flatnonzero((alpha < high - room) & (alpha > low + room))
        inside = inside[np.isfinite(snap.corner[inside, j])]
        rows.append(inside)
        aims.append(snap.corner[inside, j] - u[inside])
    index = np.concatenate(rows)
    if index.size == 0:
        return np.zeros(border.shape[1])
    found: Array = np.linalg.lstsq(border[index], np.concatenate(aims), rcond=None)[0]
    return found
