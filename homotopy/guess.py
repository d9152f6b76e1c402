"""A cheap guess of the convex start: exact coordinate descent on the polylines.

For one coordinate the response is a rising line in alpha, ``u_i = rest + Q_ii alpha_i``; it meets
a falling polyline in one point.  A few sweeps of that give a guess; the border equations are kept
by an augmented Lagrangian.  The guess need not be good: settling makes it exact.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from homotopy import kernels
from homotopy.model import Problem
from homotopy.polyline import Snapshot

__all__ = ["coordinate_descent", "estimate_border"]

Array = npt.NDArray[np.float64]

SWEEPS = 40
ENOUGH = 1e-4


def coordinate_descent(problem: Problem, snap: Snapshot, rho: float) -> tuple[Array, Array]:
    """Approximate ``(alpha, b)`` for the convex polylines `snap`."""
    gram, border = problem.gram, problem.border
    n, m = border.shape
    alpha, b = np.zeros(n), np.zeros(m)
    finite = np.abs(snap.corner[np.isfinite(snap.corner)])
    scale = float(np.median(finite)) if finite.size else 1.0
    scale = scale if scale > 0.0 else 1.0
    target = problem.target(problem.start)
    u = -rho * (border @ target)
    order = np.random.default_rng(0).permutation(n)
    phi = gram.features()
    matrix = None
    if phi is None:
        gram.fetch(np.arange(n))
        store, slot = gram.rows()
        matrix = np.ascontiguousarray(store[slot])
    if phi is None and matrix is None:
        return alpha, b
    if sp.issparse(phi):
        columns = sp.csr_matrix(sp.hstack([phi, np.sqrt(rho) * border]))
    elif phi is not None:
        columns = np.ascontiguousarray(np.hstack([phi, np.sqrt(rho) * border]))
    square = gram.diag + rho * (border**2).sum(axis=1)
    for sweep in range(SWEEPS):
        tables = (snap.slope, snap.corner, snap.curvature)
        if matrix is not None:
            change = kernels.descend(matrix, border, rho, order, alpha, u, *tables)
        else:
            rest = border @ (b - rho * target)
            w = np.asarray(columns.T @ alpha)
            if sp.issparse(columns):
                parts = (columns.data, columns.indices, columns.indptr)
                change = kernels.descend_sparse(*parts, square, order, alpha, w, rest, *tables)
            else:
                change = kernels.descend_features(columns, square, order, alpha, w, rest, *tables)
        short = border.T @ alpha - target
        if m and sweep % 2:
            b += rho * short
            u += border @ (rho * short)
        if change <= ENOUGH * scale and np.all(np.abs(rho * short) <= ENOUGH * scale):
            break
    return alpha, b


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
