"""The active system: a triangular factor that grows and shrinks with the active set.

For active coordinates A, a segment solves (equation 3 of docs/theory.md)

    [ Q_AA + D_A   B_A ] [ alpha_A' ]   [ aim ]
    [ B_A^T        0   ] [ b'       ] = [ e'  ]          D_A = 1/bend on slanted pieces, else 0

Q_AA alone may be singular although the system is not (n >> d with an intercept), so the factor is
that of ``Q_AA + D_A + rho B_A B_A^T = R^T R``: because ``B^T alpha = e`` is known, adding
``rho B B^T`` to Q only shifts b.  That matrix is positive definite exactly if no null direction
``Q v = 0, B^T v = 0`` is supported on A.
"""

from __future__ import annotations

import math

from numba import njit

from homotopy.tracker.compiling import PART, SUM

__all__ = ["back_substitute", "eliminate_border", "forward_substitute", "remove_column"]

# Inner loops run over slices that begin at 0: only then can the compiler rule out negative indices
# and vectorise.


@njit(**SUM)
def forward_substitute(factor, size, x):  # type: ignore[no-untyped-def]
    """Solve ``R^T x = x`` in place; R is the leading `size` block of `factor`, upper triangular."""
    for i in range(size):
        value = x[i] / factor[i, i]
        x[i] = value
        row, rest = factor[i, i + 1 : size], x[i + 1 : size]
        for j in range(row.size):
            rest[j] -= row[j] * value


@njit(**SUM)
def back_substitute(factor, size, x):  # type: ignore[no-untyped-def]
    """Solve ``R x = x`` in place."""
    for i in range(size - 1, -1, -1):
        row, rest = factor[i, i + 1 : size], x[i + 1 : size]
        total = 0.0
        for j in range(row.size):
            total += row[j] * rest[j]
        x[i] = (x[i] - total) / factor[i, i]


@njit(**SUM)
def remove_column(factor, size, position, work):  # type: ignore[no-untyped-def]
    """Delete one coordinate: Givens rotations of neighbouring rows make R triangular again.

    The rotations remain in the first two rows of `work` (from `position` on), for `rotate`.
    """
    for i in range(position):
        row = factor[i, position:size]
        for j in range(row.size - 1):
            row[j] = row[j + 1]
    first, spike = factor[position, position:size], work[2]
    for j in range(first.size):
        spike[j] = first[j]
    for i in range(position, size - 1):
        gone = i + 1 - position
        old, other = factor[i + 1, i + 1], spike[gone]
        length = math.hypot(old, other)
        c, s = old / length, other / length
        work[0, i], work[1, i] = c, s
        factor[i, i] = length
        above, below = factor[i, i + 1 : size - 1], factor[i + 1, i + 2 : size]
        rest = spike[gone + 1 : size - position]
        for j in range(above.size):
            x, y = below[j], rest[j]
            above[j] = c * x + s * y
            rest[j] = c * y - s * x


@njit(**PART)
def rotate(half, row, size, position, work):  # type: ignore[no-untyped-def]
    """Update ``half[row] = R^{-T} right`` after `remove_column` has deleted a coordinate."""
    spike = half[row, position]
    for j in range(position, size - 1):
        old = half[row, j + 1]
        half[row, j] = work[0, j] * old + work[1, j] * spike
        spike = work[0, j] * spike - work[1, j] * old


@njit(**SUM)
def eliminate_border(schur, column):  # type: ignore[no-untyped-def]
    """Solve ``schur x = column.imbalance``, with x in ``column.rate``; return the rank.

    Eliminate the largest pivot first (``column.order``).  Columns with pivots up to
    ``column.support`` have none: their x is 0, and the remainder stays in ``column.imbalance``.
    """
    m = column.size
    for c in range(m):
        column[c].order = c
        column[c].rate = 0.0
    rank = 0
    while rank < m:
        best, most = -1, 0.0
        for q in range(rank, m):
            p = column[q].order
            if schur[p, p] > column[p].support and schur[p, p] > most:
                best, most = q, schur[p, p]
        if best < 0:
            break
        p = column[best].order
        column[best].order, column[rank].order = column[rank].order, p
        rank += 1
        for q in range(rank, m):
            r = column[q].order
            factor = schur[r, p] / schur[p, p]
            column[r].imbalance -= factor * column[p].imbalance
            # Update the whole row: entries of eliminated columns are not read again.
            row, pivots = schur[r, :m], schur[p, :m]
            for o in range(row.size):
                row[o] -= factor * pivots[o]
    for q in range(rank - 1, -1, -1):
        p = column[q].order
        value = column[p].imbalance
        for e in range(q + 1, rank):
            o = column[e].order
            value -= schur[p, o] * column[o].rate
        column[p].rate = value / schur[p, p]
    return rank


@njit(**PART)
def null_of_border(schur, column, rank, place):  # type: ignore[no-untyped-def]
    """Write to ``column.slide`` the direction of b along which column ``order[place]`` has no
    support: 1 there, and what keeps the supported columns unchanged."""
    m = column.size
    for c in range(m):
        column[c].slide = 0.0
    dead = column[place].order
    column[dead].slide = 1.0
    for q in range(rank - 1, -1, -1):
        p = column[q].order
        value = -schur[p, dead]
        for e in range(q + 1, rank):
            o = column[e].order
            value -= schur[p, o] * column[o].slide
        column[p].slide = value / schur[p, p]
