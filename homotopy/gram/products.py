"""Compiled sums of rows."""

from __future__ import annotations

from numba import njit

from homotopy.compilation import FAST, OUTER, protect

__all__ = ["weighted_rows"]


@njit(**OUTER, fastmath=FAST)
def weighted_rows(matrix, rows, weights, out):  # type: ignore[no-untyped-def]
    """Add ``sum_k weights[k] * matrix[rows[k]]`` to `out`, four rows at a time."""
    count, n = rows.size, out.size
    whole = count - count % 4
    for k in range(0, whole, 4):
        a, b, c, d = weights[k], weights[k + 1], weights[k + 2], weights[k + 3]
        p, q = matrix[rows[k]], matrix[rows[k + 1]]
        r, s = matrix[rows[k + 2]], matrix[rows[k + 3]]
        for j in range(n):
            out[j] += a * p[j] + b * q[j] + c * r[j] + d * s[j]
    for k in range(whole, count):
        a, p = weights[k], matrix[rows[k]]
        for j in range(n):
            out[j] += a * p[j]


protect(globals())
