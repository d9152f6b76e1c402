"""The coordinates P that have changed sides since the base, and the factor of their part of H.

``H_PP + delta``, with the rows of P in A times -1, is ``L D L^T``, where D has pivots of size 1
and, where b was free, of size 2 (`homotopy.forking.walking`).
"""

from __future__ import annotations

import numpy as np
from numba import njit

from homotopy.compilation import PART
from homotopy.model.polyline import SEAM
from homotopy.tracker import state

__all__ = ["bounds", "free", "join", "next_piece", "solve", "switch", "touch"]


# ------------------------------------------------------------------ pieces


@njit(**PART)
def bounds(walk, k):  # type: ignore[no-untyped-def]
    """Return the bounds of what is free on the present piece: alpha, or u on a flat piece."""
    piece = walk.now.piece[k]
    j = piece // 2
    if piece % 2 == 1:
        at = walk.lines.corner[k, j]
        if not walk.now.moves[k]:
            return at, at
        bottom, top = walk.lines.slope[k, j + 1], walk.lines.slope[k, j]
        if walk.lines.bend[k, j + 1] > 0.0:
            bottom -= walk.lines.bend[k, j + 1] * at
        if walk.lines.bend[k, j] > 0.0:
            top -= walk.lines.bend[k, j] * at
        return bottom, top
    low, high = -np.inf, np.inf
    # (A low corner at +inf, or a high one at -inf, is no bound.)
    if j > 0 and walk.lines.corner[k, j - 1] < np.inf:
        low = walk.lines.corner[k, j - 1]
    if j < walk.lines.corner.shape[1] and walk.lines.corner[k, j] > -np.inf:
        high = walk.lines.corner[k, j]
    bend = walk.lines.bend[k, j]
    if bend > 0.0:
        return walk.lines.slope[k, j] - bend * high, walk.lines.slope[k, j] - bend * low
    return low, high


@njit(**PART)
def next_piece(walk, k, upper):  # type: ignore[no-untyped-def]
    """Return the piece beyond the upper or lower bound of what is free on the present one."""
    piece = walk.now.piece[k]
    j = piece // 2
    if piece % 2 == 1:
        if not walk.now.moves[k]:
            return piece
        return 2 * j if upper else 2 * j + 2
    # On a slanted piece alpha falls where u rises.
    right = upper != (walk.lines.bend[k, j] > 0.0)
    corner = j if right else j - 1
    if walk.lines.kind[k, corner] == SEAM:
        return 2 * j + 2 if right else 2 * j - 2
    return 2 * corner + 1


@njit(**PART)
def touch(walk, k):  # type: ignore[no-untyped-def]
    steps = walk.steps[0]
    walk.touched[steps.touched] = k
    steps.touched += 1


@njit(**PART)
def free(walk, k):  # type: ignore[no-untyped-def]
    """Remove the bounds of z_k."""
    walk.now.low[k], walk.now.high[k] = -np.inf, np.inf


# ------------------------------------------------------------------ the factor of H_PP


@njit(**PART)
def factored(walk, r, paired):  # type: ignore[no-untyped-def]
    """Compute row r of the factor, `paired` with the row before it or on its own; return whether
    the pivot is larger than rounding."""
    swapped, steps, weight = walk.swapped, walk.steps[0], walk.lines.weight
    inside, lower, pivot, beside = swapped.inside, swapped.lower, swapped.pivot, swapped.beside
    p = inside[r]
    based = walk.base.moves[p]
    sign = -1.0 if based else 1.0
    own = sign * (walk.columns[walk.slot[p], p] + swapped.delta[r])
    for c in range(r):
        value = sign * walk.columns[walk.slot[inside[c]], p]
        for d in range(c):
            value -= lower[c, d] * lower[r, d]
        lower[r, c] = value
    beside[r] = 0.0
    whole = r - 1 if paired else r
    c = 0
    while c < whole:
        value = lower[r, c]
        if beside[c] == 0.0:
            lower[r, c] = value / pivot[c]
            own -= value * lower[r, c]
            c += 1
            continue
        other = lower[r, c + 1]
        lower[r, c], lower[r, c + 1] = pair_solved(swapped, c, value, other)
        own -= value * lower[r, c] + other * lower[r, c + 1]
        c += 2
    pivot[r] = own
    scale = (1.0 / weight[p] if based else weight[p]) + abs(swapped.delta[r])
    if paired:
        # (One of the two pivots is 0, so the entry beside it must be larger than rounding.)
        value, lower[r, r - 1] = lower[r, r - 1], 0.0
        beside[r - 1] = value
        q = inside[r - 1]
        least = steps.small * scale * (1.0 / weight[q] if walk.base.moves[q] else weight[q])
        return abs(pivot[r - 1] * own - value * value) > steps.small * least and value != 0.0
    return abs(own) > steps.small * scale


@njit(**PART)
def pair_solved(swapped, c, first, second):  # type: ignore[no-untyped-def]
    """Solve with the 2 x 2 pivot at c."""
    one, two, off = swapped.pivot[c], swapped.pivot[c + 1], swapped.beside[c]
    size = one * two - off * off
    return (two * first - off * second) / size, (one * second - off * first) / size


@njit(**PART)
def to_end(walk, first):  # type: ignore[no-untyped-def]
    """Move the coordinate at position `first` of P to its end."""
    swapped, last = walk.swapped, walk.steps[0].changed - 1
    inside, delta, low_x, high_x = swapped.inside, swapped.delta, swapped.low_x, swapped.high_x
    p, own, low, high = inside[first], delta[first], low_x[first], high_x[first]
    for r in range(first, last):
        inside[r], delta[r] = inside[r + 1], delta[r + 1]
        low_x[r], high_x[r] = low_x[r + 1], high_x[r + 1]
        swapped.place[inside[r]] = r
    inside[last], delta[last], low_x[last], high_x[last] = p, own, low, high
    swapped.place[p] = last


@njit(**PART)
def refactor(walk, first):  # type: ignore[no-untyped-def]
    """Compute the factor from row `first` on.  Return GO; PAUSE if only the last row has no pivot,
    and waits for another to pair with; STUCK if several have none."""
    r, count, beside = first, walk.steps[0].changed, walk.swapped.beside
    if r > 0 and beside[r - 1] != 0.0:
        r -= 1
    later = 0
    while r < count:
        if factored(walk, r, False):
            r, later = r + 1, 0
        elif r + 1 == count:
            return state.PAUSE
        elif factored(walk, r + 1, True):
            r, later = r + 2, 0
        elif later < count - r:
            to_end(walk, r)
            later += 1
        else:
            return state.STUCK
    return state.GO


@njit(**PART)
def join(walk, p, delta, waits):  # type: ignore[no-untyped-def]
    """Add coordinate p to P; `waits` says whether the last row of P has no pivot yet.  Return what
    `refactor` returns."""
    steps, swapped = walk.steps[0], walk.swapped
    r = steps.changed
    if r == swapped.inside.size:
        return state.STUCK
    swapped.inside[r], swapped.delta[r], swapped.place[p] = p, delta, r
    swapped.low_x[r], swapped.high_x[r], swapped.rate[r] = -np.inf, np.inf, 0.0
    steps.changed = r + 1
    return refactor(walk, r - 1 if waits and r > 0 else r)


@njit(**PART)
def part(walk, p):  # type: ignore[no-untyped-def]
    """Remove coordinate p from P; return what `refactor` returns."""
    first = walk.swapped.place[p]
    to_end(walk, first)
    walk.swapped.place[p] = -1
    walk.steps[0].changed -= 1
    return refactor(walk, first)


@njit(**PART)
def switch(walk, k, piece):  # type: ignore[no-untyped-def]
    """Put coordinate k on a piece; return what `refactor` returns."""
    code, now, swapped = state.GO, walk.now, walk.swapped
    if swapped.place[k] >= 0:
        code = part(walk, k)
        if code == state.STUCK:
            return code
    waits = code == state.PAUSE or walk.steps[0].loose == 1
    now.piece[k] = piece
    bend = walk.lines.bend[k, piece // 2] if piece % 2 == 0 else 0.0
    moves, based = piece % 2 == 1 or bend > 0.0, walk.base.moves[k]
    now.moves[k] = moves
    low, high = bounds(walk, k)
    own = 1.0 / bend if bend > 0.0 else 0.0
    if moves == based:
        now.low[k], now.high[k] = low, high
        if not moves or own == walk.lines.diagonal[k]:
            return code
        return join(walk, k, 1.0 / (own - walk.lines.diagonal[k]), waits)
    free(walk, k)
    code = join(walk, k, own if moves else 0.0, waits)
    r = swapped.place[k]
    if r >= 0:
        shift = walk.lines.diagonal[k] * now.z[k] if based else 0.0
        swapped.low_x[r], swapped.high_x[r] = low + shift, high + shift
    return code


@njit(**PART)
def solve(walk, count):  # type: ignore[no-untyped-def]
    """Solve ``L D L^T x = rate`` in place, for the first `count` rows."""
    swapped = walk.swapped
    rate, lower, pivot, beside = swapped.rate, swapped.lower, swapped.pivot, swapped.beside
    for r in range(count):
        for c in range(r):
            rate[r] -= lower[r, c] * rate[c]
    r = 0
    while r < count:
        if r + 1 < count and beside[r] != 0.0:
            rate[r], rate[r + 1] = pair_solved(swapped, r, rate[r], rate[r + 1])
            r += 2
        else:
            rate[r] /= pivot[r]
            r += 1
    for r in range(count - 1, -1, -1):
        for c in range(r + 1, count):
            rate[r] -= lower[c, r] * rate[c]
