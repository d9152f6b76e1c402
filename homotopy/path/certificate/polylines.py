"""One coordinate on its polyline: compiled, and sharing no arithmetic with the tracker.

NaN counts as a failure, so no comparison may lose it: `more` and `less` propagate it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from homotopy.compilation import PART
from homotopy.path.certificate.tolerances import SMALLEST

# Compiled as parts of a whole.  Only the compiler options are shared with the tracker (and, in
# `loops`, how the k-th smallest number is found).
INLINE = PART | {"forceinline": True}


class Line(NamedTuple):
    """The polylines at one t.

    Slopes and corners have one row each and one column per coordinate; their terms are a fixed part
    and a part proportional to the travel of t.  `jump` says which corners are jumps; a jump lower
    than the fraction `flat` has no height.
    """

    slope: Any
    corner: Any
    slope_terms: Any
    corner_terms: Any
    bends: Any
    jump: Any
    travel: float
    flat: float


class Piece(NamedTuple):
    """A piece as seen from a response.

    `place` is its point nearest to u; `top` and `bottom` are the heights of the slopes beside it
    there (equal on a slope); `most` and `lowest` are its extreme heights anywhere (a slanted piece
    has others elsewhere); then its bend, and the terms of its slope and corner.
    """

    place: float
    top: float
    bottom: float
    most: float
    lowest: float
    bend: float
    slope_terms: float
    corner_terms: float


@njit(**INLINE)
def more(a, b):  # type: ignore[no-untyped-def]
    """Return the larger number, NaN if either is."""
    return a if a > b or a != a else b


@njit(**INLINE)
def less(a, b):  # type: ignore[no-untyped-def]
    """Return the smaller number, NaN if either is."""
    return a if a < b or a != a else b


@njit(**INLINE)
def clip(x, low, high):  # type: ignore[no-untyped-def]
    """Return the number between `low` and `high` that is nearest to x."""
    return less(more(x, low), high)


@njit(**INLINE)
def size(x):  # type: ignore[no-untyped-def]
    """Return ``|x|``, 0 if infinite."""
    return abs(x) if abs(x) < np.inf else 0.0


@njit(**INLINE)
def height(value, bend, u):  # type: ignore[no-untyped-def]
    """Return alpha of a slope at u."""
    return value - bend * u if bend > 0.0 else value


@njit(**INLINE)
def terms(table, j, i, travel):  # type: ignore[no-untyped-def]
    """Return the terms to which the rounding of a slope or corner is relative."""
    return table[0, j, i] + table[1, j, i] * travel


@njit(**INLINE)
def corner_terms(line, j, i):  # type: ignore[no-untyped-def]
    """Return the terms of corner j."""
    return terms(line.corner_terms, j, i, line.travel)


@njit(**INLINE)
def slope_terms(line, j, i):  # type: ignore[no-untyped-def]
    """Return the terms of slope j."""
    return terms(line.slope_terms, j, i, line.travel)


@njit(**INLINE)
def beside(line, j, i):  # type: ignore[no-untyped-def]
    """Return the heights of the slopes left and right of corner j there, and their terms."""
    at = line.corner[j, i] if abs(line.corner[j, i]) < np.inf else 0.0
    left = height(line.slope[j, i], line.bends[j, i], at)
    right = height(line.slope[j + 1, i], line.bends[j + 1, i], at)
    return left, right, max(slope_terms(line, j, i), slope_terms(line, j + 1, i))


@njit(**INLINE)
def end_terms(line, j, i, u):  # type: ignore[no-untyped-def]
    """Return the terms of the end of slope j that u has reached; 0 if u is inside."""
    low, high = ends(line.corner, j, i)
    if j < line.corner.shape[0] and u >= high:
        return corner_terms(line, j, i)
    if j > 0 and u <= low:
        return corner_terms(line, j - 1, i)
    return 0.0


@njit(**INLINE)
def ends(corner, j, i):  # type: ignore[no-untyped-def]
    """Return the corners that bound slope j."""
    low = corner[j - 1, i] if j > 0 else -np.inf
    return low, corner[j, i] if j < corner.shape[0] else np.inf


@njit(**INLINE)
def piece(line, p, u, i):  # type: ignore[no-untyped-def]
    """Return the piece p as seen from u."""
    j = p >> 1
    if p & 1:
        at = line.corner[j, i]
        top, bottom, rounding = beside(line, j, i)
        # `clip` instead of `at`, so that a NaN in u stays.
        place, high, low = clip(u, at, at), more(top, bottom), less(top, bottom)
        return Piece(place, top, bottom, high, low, 0.0, rounding, corner_terms(line, j, i))
    low, high = ends(line.corner, j, i)
    place, bend, value = clip(u, low, high), line.bends[j, i], line.slope[j, i]
    top = height(value, bend, place)
    most, lowest = height(value, bend, low), height(value, bend, high)
    own = end_terms(line, j, i, u)
    return Piece(place, top, top, most, lowest, bend, slope_terms(line, j, i), own)


@njit(**INLINE)
def off(piece, u, alpha, u_scale, a_scale, flat):  # type: ignore[no-untyped-def]
    """Return how far (u, alpha) is from a piece, relative to these scales."""
    place, top, bottom, most, lowest, bend, rounding, _ = piece
    low, high = less(bottom, top), more(bottom, top)
    # No local optimum sits on a corner at which alpha rises.
    if bottom - top > flat * max(size(low), rounding):
        return np.inf
    nearest = clip(alpha, low, high)
    tall = more(max(abs(alpha), size(nearest)), a_scale)
    # The distance to a slanted piece may be measured sideways, but only up to its own heights.
    inside = clip(alpha, lowest, most)
    sideways = abs(inside - nearest) / more(tall, bend * u_scale)
    far = more(more(abs(u - place) / u_scale, sideways), abs(alpha - inside) / tall)
    return far if far < np.inf else np.inf


@njit(**PART)
def _rises(line, j, i):  # type: ignore[no-untyped-def]
    """Return by how much alpha rises at corner j, and how much of it may be rounding."""
    below, above, sizes = beside(line, j, i)
    return above - below, line.flat * max(max(size(below), size(above)), sizes)


@njit(**PART)
def rise(line, j, i):  # type: ignore[no-untyped-def]
    """Whether alpha rises at corner j by more than rounding."""
    by, rounding = _rises(line, j, i)
    return by > rounding and abs(line.corner[j, i]) < np.inf


@njit(**PART)
def level(line, j, i):  # type: ignore[no-untyped-def]
    """Whether alpha is the same on both sides of corner j."""
    by, rounding = _rises(line, j, i)
    return abs(by) <= rounding


@njit(**INLINE)
def distance(corner, i):  # type: ignore[no-untyped-def]
    """Return the smallest distance between neighbouring corners that do not coincide."""
    nearest = np.inf
    for j in range(1, corner.shape[0]):
        far = corner[j, i] - corner[j - 1, i]
        if 0.0 < far < nearest:
            nearest = far
    return nearest


@njit(**INLINE)
def loss(line, u, origin, i):  # type: ignore[no-untyped-def]
    """Return ``-integral of the polyline from origin to u``.

    Infinite slopes are walls and add no loss; the gap shows whether one was passed.
    """
    slope, corner, bends = line.slope, line.corner, line.bends
    low, high = less(u, origin), more(u, origin)
    total, left = 0.0, low
    for j in range(slope.shape[0]):
        right = clip(corner[j, i], low, high) if j < corner.shape[0] else high
        if right > left:
            mean = height(slope[j, i], bends[j, i], 0.5 * (left + right))
            if abs(mean) < np.inf:
                total += (right - left) * mean
        left = right
    return -total if u >= origin else total


@njit(**INLINE)
def least(line, i):  # type: ignore[no-untyped-def]
    """Return a place where the loss is smallest, and whether there is one; if not, the last corner
    on the side where the loss is unbounded below."""
    slope, corner, bends = line.slope, line.corner, line.bends
    corners = corner.shape[0]
    anchor = 0.0
    for j in range(corners - 1, -1, -1):
        if abs(corner[j, i]) < np.inf:
            anchor = corner[j, i]
    best, lowest, level = anchor, 0.0, 0.0
    # Walk along the slopes; `level` is the loss at the left corner (of the first: at the right).
    for j in range(corners + 1):
        low, high = ends(corner, j, i)
        value, bend = slope[j, i], bends[j, i]
        start = low if low > -np.inf else anchor
        if bend > 0.0 and low < value / bend < high:
            bottom = level - 0.5 * bend * (start - value / bend) ** 2
            if bottom < lowest:
                best, lowest = value / bend, bottom
        if abs(low) < np.inf and abs(high) < np.inf and abs(value) < np.inf:
            level -= (high - low) * height(value, bend, 0.5 * (low + high))
            if level < lowest:
                best, lowest = high, level
    exists = True
    for side in range(2):
        for at in range(corners + 1):
            # The outermost slope that is not beyond an infinite corner, and its corner.
            j = at if side == 0 else corners - at
            low, high = ends(corner, j, i)
            if low < high:
                value = slope[j, i] if side == 0 else -slope[j, i]
                if value < 0.0 and bends[j, i] == 0.0:
                    exists, end = False, high if side == 0 else low
                    best = end if abs(end) < np.inf else best
                break
    return best, exists


@njit(**PART)
def loss_terms(line, u, origin, i):  # type: ignore[no-untyped-def]
    """Return how much the loss changes if the corners between u and the origin move by their
    terms."""
    slope, corner, bends = line.slope, line.corner, line.bends
    low, high, total = min(u, origin), max(u, origin), 0.0
    for j in range(corner.shape[0]):
        at = corner[j, i]
        if low <= at <= high:
            tall = size(height(slope[j, i], bends[j, i], at))
            tall += size(height(slope[j + 1, i], bends[j + 1, i], at))
            total += tall * corner_terms(line, j, i)
    return total


@njit(**PART)
def steepest(line, u, blur, i):  # type: ignore[no-untyped-def]
    """Return the largest finite ``|alpha|`` of a slope within `blur` of u: a bound on the rate of
    the loss there."""
    slope, corner, bends = line.slope, line.corner, line.bends
    top = 0.0
    for j in range(slope.shape[0]):
        low, high = ends(corner, j, i)
        if low - blur <= u <= high + blur:
            top = max(top, size(height(slope[j, i], bends[j, i], u)) + bends[j, i] * blur)
    return top


@njit(**PART)
def _branch(line, p, i):  # type: ignore[no-untyped-def]
    """Return the first and last slope of the convex branch of piece p (up to the next jumps that
    have a height), and its interval, which ends at its jumps and at walls."""
    slope, corner = line.slope, line.corner
    corners = corner.shape[0]
    first, last = 0, corners
    for j in range(corners):
        if line.jump[j] and rise(line, j, i):
            if p > 2 * j + 1:
                first = j + 1
            elif last == corners:
                last = j
    low, high = -np.inf, np.inf
    for j in range(corners):
        if first == j + 1 or slope[j, i] == np.inf:
            low = corner[j, i]
        if last == j or slope[j + 1, i] == -np.inf:
            high = min(high, corner[j, i])
    return first, last, low, high


@njit(**PART)
def _above(value, bend, alpha, begin, end, sign):  # type: ignore[no-untyped-def]
    """Return the mean of ``sign * (alpha - slope)`` over the part of [begin, end] where it is
    positive, and the length of that part."""
    width = max(end - begin, 0.0)
    start = sign * (alpha - height(value, bend, begin))
    stop = sign * (alpha - height(value, bend, end))
    most, lowest = more(start, stop), less(start, stop)
    if not most > 0.0:
        return 0.0, 0.0
    part = 1.0 if lowest >= 0.0 else most / max(most - lowest, SMALLEST)
    return 0.5 * (most + max(lowest, 0.0)), part * width


@njit(**PART)
def area(line, p, i, u, alpha, scale, slack):  # type: ignore[no-untyped-def]
    """Return the area between alpha and the branch, from where the branch has height alpha to u,
    its length, and its greatest height; infinite if u is beyond the branch by more than `slack`."""
    slope, corner, bends = line.slope, line.corner, line.bends
    first, last, low, high = _branch(line, p, i)
    inside = clip(u, low, high)
    # Follow an unbounded branch as far as the scale of u: an alpha above all of it is an infinite
    # gap, but its cost up to there distinguishes rounding from an error.
    left, right = max(low, inside - 2.0 * scale), min(high, inside + 2.0 * scale)
    total, length, tallest, edge = 0.0, 0.0, 0.0, 0.0
    for j in range(first, last + 1):
        value, bend = slope[j, i], bends[j, i]
        if not abs(value) < np.inf:
            continue
        start, stop = ends(corner, j, i)
        start, stop = clip(start, left, right), clip(stop, left, right)
        tall, wide = _above(value, bend, alpha, start, min(stop, inside), 1.0)
        more_tall, more_wide = _above(value, bend, alpha, max(start, inside), stop, -1.0)
        total += tall * wide + more_tall * more_wide
        length += wide + more_wide
        tallest = max(tallest, tall if wide > 0.0 else 0.0)
        tallest = max(tallest, more_tall if more_wide > 0.0 else 0.0)
        if start <= inside <= stop:
            edge = max(edge, abs(alpha - height(value, bend, inside)))
    # Beyond a wall, or the end of the branch, by rounding: count the same area mirrored there.
    beyond = abs(u - inside)
    if not beyond <= slack:
        return np.inf, 0.0, 0.0
    return total + edge * beyond, length + beyond, max(tallest, edge if beyond > 0.0 else 0.0)
