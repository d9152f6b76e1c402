"""The compiled loops: triangular factor, column sums, nearest corner.

Everything here works on contiguous arrays and allocates nothing.  The first call in a fresh
installation compiles (a few seconds); the result is cached on disk.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

__all__ = [
    "advance",
    "append_row",
    "back_substitute",
    "descend",
    "descend_features",
    "descend_sparse",
    "forward_substitute",
    "nearest_corner",
    "remove_row",
    "standing",
    "weighted_rows",
]


@njit(cache=True)
def forward_substitute(factor, size, x):  # type: ignore[no-untyped-def]
    """Solve ``L x = x`` in place; L is the leading `size` block of `factor`, row by row."""
    for i in range(size):
        total = x[i]
        for j in range(i):
            total -= factor[i, j] * x[j]
        x[i] = total / factor[i, i]


@njit(cache=True)
def back_substitute(factor, size, x):  # type: ignore[no-untyped-def]
    """Solve ``L^T x = x`` in place, reading L by rows."""
    for i in range(size - 1, -1, -1):
        x[i] /= factor[i, i]
        value = x[i]
        for j in range(i):
            x[j] -= factor[i, j] * value


@njit(cache=True)
def append_row(factor, size, row, diagonal):  # type: ignore[no-untyped-def]
    """Write the new row of L (``L row = row``) and return the squared pivot, which may be <= 0.

    The pivot itself is not written: the caller decides whether the column is independent.
    """
    for i in range(size):
        total = row[i]
        for j in range(i):
            total -= factor[i, j] * factor[size, j]
        factor[size, i] = total / factor[i, i]
    for j in range(size):
        diagonal -= factor[size, j] * factor[size, j]
    return diagonal


@njit(cache=True)
def remove_row(factor, size, position, cosine, sine):  # type: ignore[no-untyped-def]
    """Delete one row and column: a rank-one update of the trailing block by Givens rotations."""
    for i in range(position + 1, size):
        for j in range(position):
            factor[i - 1, j] = factor[i, j]
        spike = factor[i, position]
        for j in range(position, i - 1):
            old = factor[i, j + 1]
            factor[i - 1, j] = cosine[j] * old + sine[j] * spike
            spike = cosine[j] * spike - sine[j] * old
        old = factor[i, i]
        length = math.hypot(old, spike)
        cosine[i - 1] = old / length
        sine[i - 1] = spike / length
        factor[i - 1, i - 1] = length


@njit(cache=True)
def weighted_rows(matrix, rows, weights, out):  # type: ignore[no-untyped-def]
    """``out += sum_k weights[k] * matrix[rows[k]]``."""
    for k in range(rows.size):
        weight = weights[k]
        if weight != 0.0:
            row = matrix[rows[k]]
            for j in range(out.size):
                out[j] += weight * row[j]


@njit(cache=True)
def nearest_corner(u, du, low0, low1, high0, high1, tau, sign, still):  # type: ignore[no-untyped-def]
    """The length of step at which the first flat coordinate meets a corner it moves towards.

    A coordinate whose speed towards the corner is at most `still` does not move.  Gaps are
    clipped at zero.  Returns ``inf`` where nothing comes near.
    """
    best = np.inf
    for i in range(u.size):
        speed = sign * (du[i] - high1[i])
        if speed > still:
            step = max(high0[i] + high1[i] * tau - u[i], 0.0) / speed
            if step < best:
                best = step
        speed = sign * (low1[i] - du[i])
        if speed > still:
            step = max(u[i] - low0[i] - low1[i] * tau, 0.0) / speed
            if step < best:
                best = step
    return best


@njit(cache=True)
def advance(u, du, step):  # type: ignore[no-untyped-def]
    """``u += step * du``."""
    for i in range(u.size):
        u[i] += step * du[i]


@njit(cache=True)
def standing(u, low0, low1, high0, high1, tau, near, found):  # type: ignore[no-untyped-def]
    """Write the flat coordinates within `near` of a corner to `found`; return how many."""
    count = 0
    for i in range(u.size):
        at_high = high0[i] + high1[i] * tau - u[i] <= near
        at_low = u[i] - low0[i] - low1[i] * tau <= near
        if at_high or at_low:
            found[count] = i
            count += 1
    return count


@njit(cache=True)
def _meet(rest, diagonal, slope, corner, curvature):  # type: ignore[no-untyped-def]
    """Where the rising line ``u = rest + diagonal * alpha`` meets one falling polyline."""
    corners = corner.size
    for j in range(corners + 1):
        if math.isfinite(slope[j]):
            alpha = (slope[j] - curvature[j] * rest) / (1.0 + curvature[j] * diagonal)
            u = rest + diagonal * alpha
            if (j == corners or u <= corner[j]) and (j == 0 or u >= corner[j - 1]):
                return alpha
        if j < corners and diagonal > 0.0:
            alpha = (corner[j] - rest) / diagonal
            above = slope[j] - curvature[j] * corner[j]
            below = slope[j + 1] - curvature[j + 1] * corner[j]
            if below <= alpha <= above:
                return alpha
    return np.nan


@njit(cache=True)
def descend(matrix, border, rho, order, alpha, u, slope, corner, curvature):  # type: ignore[no-untyped-def]
    """One sweep of coordinate descent on ``matrix + rho border border^T``; u is kept up to date.

    Returns the largest change of a response brought about by a single coordinate.
    """
    largest = 0.0
    columns = border.shape[1]
    for k in range(order.size):
        i = order[k]
        diagonal = matrix[i, i]
        for c in range(columns):
            diagonal += rho * border[i, c] * border[i, c]
        new = _meet(u[i] - diagonal * alpha[i], diagonal, slope[i], corner[i], curvature[i])
        change = new - alpha[i]
        if change == change and change != 0.0:
            alpha[i] = new
            row = matrix[i]
            for j in range(u.size):
                u[j] += change * row[j]
            for c in range(columns):
                weight = change * rho * border[i, c]
                for j in range(u.size):
                    u[j] += weight * border[j, c]
            largest = max(largest, abs(change) * diagonal)
    return largest


@njit(cache=True)
def descend_features(phi, square, order, alpha, w, rest, slope, corner, curvature):  # type: ignore[no-untyped-def]
    """The same sweep on features: ``u = phi w + rest`` with ``w = phi^T alpha`` kept up to date."""
    largest = 0.0
    for k in range(order.size):
        i = order[k]
        row = phi[i]
        u = rest[i]
        for j in range(w.size):
            u += row[j] * w[j]
        new = _meet(u - square[i] * alpha[i], square[i], slope[i], corner[i], curvature[i])
        change = new - alpha[i]
        if change == change and change != 0.0:
            alpha[i] = new
            for j in range(w.size):
                w[j] += change * row[j]
            largest = max(largest, abs(change) * square[i])
    return largest


@njit(cache=True)
def descend_sparse(  # type: ignore[no-untyped-def]
    data, indices, indptr, square, order, alpha, w, rest, slope, corner, curvature
):
    """The same sweep on the rows of a CSR matrix."""
    largest = 0.0
    for k in range(order.size):
        i = order[k]
        u = rest[i]
        for p in range(indptr[i], indptr[i + 1]):
            u += data[p] * w[indices[p]]
        new = _meet(u - square[i] * alpha[i], square[i], slope[i], corner[i], curvature[i])
        change = new - alpha[i]
        if change == change and change != 0.0:
            alpha[i] = new
            for p in range(indptr[i], indptr[i + 1]):
                w[indices[p]] += change * data[p]
            largest = max(largest, abs(change) * square[i])
    return largest
