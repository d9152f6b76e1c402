"""The loops of the certificate over all coordinates of each point.

Scales depend on sums over the coordinates (see `scales.py`), so each point takes three passes:
responses and sums, then terms, then everything else about each coordinate.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from homotopy.compilation import OUTER, PART, SHARED, by_reference, digest, protect
from homotopy.compilation.selection import smallest
from homotopy.path.certificate import polylines as on
from homotopy.path.certificate.polylines import INLINE, Line, Piece, more, size
from homotopy.path.certificate.tolerances import SMALLEST

# The source files that `examine` is compiled from.
SOURCE = digest([__file__, on.__file__, *SHARED])

# The rows of `known`, `spare` and `sums`, and the columns of the answers.
LENGTH, INNER_SQUARE, SHARE_OF_B, LARGEST, OWN, TRAVELLED, CORNER_SIZE, SPANNED = range(8)
TERMS, OTHER, ORIGIN, ROOM = range(4)
IN_BALANCE, WEIGHT, NOISE, ON_SPAN = range(4)
FAR, BORDER_OFF, GAP, VALUE, SIZE, SCALE, ON_JUMP, UNKNOWN = range(8)


class Given(NamedTuple):
    """Points, and what they are measured with.

    Of the model: the terms of its slopes and corners, bends, jumps.  Of the path: the table of
    `PathScales` and the border.  Of each point: slopes, corners, the travel of t, origins of
    losses, border target (with the size of its terms there and on the span), alpha, b, w, and
    whether the scale of the objective is `wanted`.  Of each place: the named pieces; `fresh` holds
    the first place of each point, up to the place `last`.
    """

    slope_terms: Any
    corner_terms: Any
    bends: Any
    jump: Any
    known: Any
    border: Any
    slopes: Any
    corners: Any
    travel: Any
    origin: Any
    target: Any
    alpha: Any
    b: Any
    w: Any
    wanted: Any
    named: Any
    fresh: Any
    last: int


class Found(NamedTuple):
    """The results: responses, their scales and their rounding errors, the answers for each point,
    how far off coordinates are that change piece at an unchanged point; and work space."""

    u: Any
    scale: Any
    noise: Any
    answers: Any
    off_on_new_piece: Any
    spare: Any
    sums: Any


class Point(NamedTuple):
    """One point: its data, its results, and the settings."""

    line: Any
    known: Any
    border: Any
    alpha: Any
    b: Any
    w: Any
    named: Any
    target: Any
    u: Any
    scale: Any
    noise: Any
    spare: Any
    sums: Any
    how: Any


# ---------------------------------------------------------------------- scales


@njit(**PART)
def _middle(values):  # type: ignore[no-untyped-def]
    """Return the median of `values`, which are reordered."""
    k = values.size // 2
    middle = smallest(values, k)
    if values.size % 2:
        return middle
    below = values[0]
    for i in range(1, k):
        below = max(below, values[i])
    return 0.5 * (below + middle)


@njit(**INLINE)
def _responses(point):  # type: ignore[no-untyped-def]
    """Compute u and the terms of the corners, and the sums of |alpha| |phi|, of B alpha and of
    their sizes.  Return the number on corners, whether anything is solved for, the sum of
    |alpha| |phi|, the largest corner terms per unit of |phi|, and whether all are finite."""
    line, known, border, named = point.line, point.known, point.border, point.named
    alpha, b, w, u, sums = point.alpha, point.b, point.w, point.u, point.sums
    corner, spread = point.spare[TERMS], point.spare[OTHER]
    count, found, weight, terms_per_length, numbers = 0, border.shape[1] > 0, 0.0, 0.0, True
    held = 0
    sums[:] = 0.0
    for i in range(alpha.size):
        total = w[i]
        for c in range(b.size):
            total += border[i, c] * b[c]
            sums[IN_BALANCE, c] += alpha[i] * border[i, c]
            sums[WEIGHT, c] += abs(alpha[i] * border[i, c])
            sums[ON_SPAN, c] += max(abs(alpha[i]), known[SPANNED, i]) * abs(border[i, c])
        u[i] = total
        numbers = numbers and abs(total) < np.inf and abs(alpha[i]) < np.inf
        weight += abs(alpha[i]) * known[LENGTH, i]
        p = named[i]
        j = p >> 1
        if p & 1:
            corner[i] = on.corner_terms(line, j, i)
            count += 1
            if known[LENGTH, i] > 0.0:
                ratio = corner[i] / known[LENGTH, i]
                if known[SHARE_OF_B, i] > 0.0:
                    spread[held] = ratio
                    held += 1
                else:
                    terms_per_length = max(terms_per_length, ratio)
        else:
            found = found or line.bends[j, i] > 0.0
            corner[i] = on.end_terms(line, j, i, total)
    # b can absorb the rounding of `rank_of_b` equations: skip that many of the largest ratios.
    last = held - 1 - np.int64(point.how.rank_of_b)
    if last >= 0:
        terms_per_length = max(terms_per_length, smallest(spread[:held], last))
    return count, found or count > 0, weight, terms_per_length, numbers


@njit(**INLINE)
def _all_terms(point, steep, found, weight):  # type: ignore[no-untyped-def]
    """Replace the terms of the corners by the terms of every response."""
    known, named, out, spare = point.known, point.named, point.spare[TERMS], point.spare[OTHER]
    kept, shared = 0, False
    for i in range(named.size):
        value = weight * known[LENGTH, i] + known[TRAVELLED, i]
        value = max(value, known[CORNER_SIZE, i] if found else 0.0)
        value = more(max(value, out[i]), known[OWN, i])
        out[i] = value
        shared = shared or known[SHARE_OF_B, i] > 0.0
        if steep == 0 or named[i] & 1:
            spare[kept] = value
            kept += 1
    if shared and point.how.strict == 0.0:
        # The usual size of the terms from which b is computed: the median over coordinates on
        # knots, or over all if there are none.
        middle = _middle(spare[:kept])
        for i in range(named.size):
            out[i] = max(out[i], middle * known[SHARE_OF_B, i])


@njit(**INLINE)
def _largest_slope(slope, i):  # type: ignore[no-untyped-def]
    top = 0.0
    for j in range(slope.shape[0]):
        top = max(top, size(slope[j, i]))
    return top


@njit(**INLINE)
def _scales(point, i, piece, rounded):  # type: ignore[no-untyped-def]
    """Return the scales of u and of alpha, and the rounding error of alpha."""
    known, border, sums = point.known, point.border, point.sums
    u, terms, how, steep = point.u[i], point.spare[TERMS, i], point.how, point.named[i] & 1
    slope = _largest_slope(point.line.slope, i)
    near = how.part_of * max(abs(u), size(piece.place))
    scale = more(max(known[OWN, i], near), max(rounded * terms, SMALLEST))
    # The alpha that would account for the whole slope, response, or border sum.
    inner, room = known[INNER_SQUARE, i], slope if slope > 0.0 else np.inf
    # Usually the slope is smaller, and the division can be skipped.
    whole = scale / inner if inner > 0.0 and not 0.0 < inner * slope < scale else np.inf
    alone, longest, largest = inner == 0.0 and slope == 0.0, 0.0, 0.0
    if alone:
        for c in range(border.shape[1]):
            column = abs(border[i, c])
            longest, largest = max(longest, column), max(largest, sums[WEIGHT, c])
            if column > 0.0:
                share = sums[WEIGHT, c] / column
                whole = share if whole == np.inf or share > whole else whole
    room = min(room, whole)
    room = max(room if room < np.inf else known[LARGEST, i], SMALLEST)
    noise = rounded * max(known[LARGEST, i], min(room, slope))
    if steep or piece.bend > 0.0:
        # Its alpha is solved for.
        noise = max(noise, how.solved * room)
    if alone and steep and border.shape[1] > 0:
        # It is determined by the border equations alone, which are solved together with those of
        # u: if it should be 0, it is the rounding error of the largest of them.
        joint = largest / longest if longest > 0.0 else 0.0
        length = known[LENGTH, i]
        joint = rounded * max(joint, terms / length**2 if length > 0.0 else 0.0)
        room, noise = max(room, joint), max(noise, joint)
    return scale, room, noise


# ---------------------------------------------------------------------- one point


@njit(**INLINE)
def _apart(point, i, scale):  # type: ignore[no-untyped-def]
    """Return a scale of u small enough to tell its corners apart, unless the rounding of a 16-digit
    alpha prevents it."""
    line, how = point.line, point.how
    limit = how.apart / how.finest * on.distance(line.corner, i)
    if not limit < scale:
        return scale
    rounding = point.spare[TERMS, i]
    for j in range(line.corner.shape[0]):
        rounding = max(rounding, on.corner_terms(line, j, i))
    return min(scale, max(limit, how.rounded * rounding))


@njit(**PART)
def _off_as(point, i, p, rounded):  # type: ignore[no-untyped-def]
    """Return how far a coordinate is from the piece p, which need not be the one of its scales."""
    line, u = point.line, point.u[i]
    piece = on.piece(line, p, u, i)
    near = max(point.how.part_of * size(piece.place), rounded * piece.corner_terms)
    scale = _apart(point, i, more(point.scale[i], near))
    room = max(point.spare[ROOM, i], rounded * piece.slope_terms)
    return on.off(piece, u, point.alpha[i], scale, room, line.flat)


@njit(**PART)
def _pass_seams(point, i, place, far, rounded):  # type: ignore[no-untyped-def]
    """Skip corners of zero height: a response beyond one may be on the next piece."""
    line, p = point.line, np.int64(point.named[i])
    to, corners = 1 if point.u[i] > place else -1, line.corner.shape[0]
    while 0 <= (p + to) // 2 < corners and p + to > 0 and on.level(line, (p + to) // 2, i):
        p += 2 * to
        far = min(far, _off_as(point, i, p, rounded))
    return far


@njit(**INLINE)
def _on_jump(point, i):  # type: ignore[no-untyped-def]
    """Whether a coordinate is on a jump corner: near it, and not beside it on the piece that it
    names by more than rounding."""
    line, u, near = point.line, point.u[i], point.how.on_jump
    p = np.int64(point.named[i])
    for j in range(line.jump.size):
        at = line.corner[j, i]
        if line.jump[j] and abs(u - at) <= near * max(point.scale[i], size(at)):
            inside = at - u if p <= 2 * j else u - at
            if p & 1 or inside <= point.noise[i]:
                return True
    return False


@njit(**PART)
def _trouble(point, i, piece, whole, noise, rounded):  # type: ignore[no-untyped-def]
    """Return how far off a coordinate is, the area of its gap, and how much of it may be rounding.
    The area is 0 on slopes; on a corner alpha may be out of range."""
    line, how, p = point.line, point.how, np.int64(point.named[i])
    u, alpha, terms = point.u[i], point.alpha[i], point.spare[TERMS, i]
    room = max(point.spare[ROOM, i], rounded * piece.slope_terms)
    away = on.off(piece, u, alpha, point.scale[i], room, line.flat)
    if away > how.on_jump and not p & 1:
        away = _pass_seams(point, i, piece.place, away, rounded)
    if away <= how.exact and not p & 1:
        return away, 0.0, 0.0
    # alpha is as uncertain as the terms of its slope, and on a slanted piece as u.
    noise = max(noise, rounded * max(piece.slope_terms, piece.bend * terms))
    slack = how.slack * point.scale[i]
    part, length, tallest = on.area(line, p, i, u, alpha, whole, slack)
    return away, part, rounded * tallest * terms + noise * length


@njit(**INLINE)
def _coordinates(point, rounded):  # type: ignore[no-untyped-def]
    """Measure each coordinate: the largest distance to a piece, the area of the gap and how much
    may be rounding, the losses and their sizes, whether any coordinate is on a jump corner, and
    whether a loss has no origin."""
    line, border, spare, sums = point.line, point.border, point.spare, point.sums
    far, gap, blur, losses, sizes, on_jump, unknown = 0.0, 0.0, 0.0, 0.0, 0.0, False, False
    declared = point.how.declared != 0.0
    for i in range(point.alpha.size):
        p, u, alpha = np.int64(point.named[i]), point.u[i], point.alpha[i]
        low, high = on.ends(line.corner, p >> 1, i)
        # Most are inside a flat slope and have its alpha to the last bit.
        easy = not p & 1 and line.bends[p >> 1, i] == 0.0 and low < u < high
        easy = easy and alpha == line.slope[p >> 1, i]
        piece = Piece(u, alpha, alpha, alpha, alpha, 0.0, 0.0, 0.0)
        if not easy:
            piece = on.piece(line, p, u, i)
        whole, spare[ROOM, i], noise = _scales(point, i, piece, rounded)
        point.scale[i] = _apart(point, i, whole)
        point.noise[i] = point.how.finest * rounded * spare[TERMS, i]
        for c in range(border.shape[1]):
            sums[NOISE, c] += noise * abs(border[i, c])
        if not easy:
            found = _trouble(point, i, piece, whole, noise, rounded)
            far, gap, blur = max(far, found[0]), gap + found[1], blur + found[2]
        if not declared:
            spare[ORIGIN, i], exists = on.least(line, i)
            unknown = unknown or not exists
        lost = on.loss(line, u, spare[ORIGIN, i], i)
        losses, sizes = losses + lost, sizes + abs(lost)
        on_jump = on_jump or _on_jump(point, i)
    return far, gap, blur, losses, sizes, on_jump, unknown


@njit(**INLINE)
def _blur(point, rounded):  # type: ignore[no-untyped-def]
    """Return how much the losses change if u, alpha and the corners move by their rounding."""
    line, u, spare, total = point.line, point.u, point.spare, 0.0
    for i in range(u.size):
        terms = rounded * spare[TERMS, i]
        steep = on.steepest(line, u[i], point.how.finest * terms, i)
        total += terms * max(steep, abs(point.alpha[i]))
        total += rounded * on.loss_terms(line, u[i], spare[ORIGIN, i], i)
    return total


@njit(**PART)
def _again(point, new, rounded):  # type: ignore[no-untyped-def]
    """Return how far off coordinates are that change piece at an unchanged point."""
    far = 0.0
    for i in range(new.size):
        if new[i] != point.named[i]:
            far = max(far, _off_as(point, i, np.int64(new[i]), rounded))
    return far


@njit(**INLINE)
def _sum_up(point, answer, rounded, half, found):  # type: ignore[no-untyped-def]
    """Compute the border equations, the gap and the objective of a point from the sums."""
    far, gap, blur, losses, sizes, on_jump, unknown = found
    b, target, sums, how = point.b, point.target, point.sums, point.how
    linear, extra, worst, pull = 0.0, 0.0, 0.0, 0.0
    for c in range(b.size):
        left = target[0, c] - sums[IN_BALANCE, c]
        noise = max(rounded * sums[WEIGHT, c], sums[NOISE, c]) + how.rounded * sums[ON_SPAN, c]
        worst = more(worst, abs(left) / more(max(how.balanced * sums[WEIGHT, c], noise), SMALLEST))
        pull += b[c] * left
        linear, extra = linear + target[0, c] * b[c], extra + abs(b[c]) * noise
    answer[FAR], answer[BORDER_OFF] = far, worst
    answer[VALUE] = half + losses + linear
    answer[SIZE] = abs(half) + sizes + abs(linear)
    answer[SCALE] = extra
    answer[GAP] = (gap + abs(pull)) / max(answer[SIZE] + blur + extra, SMALLEST)
    answer[ON_JUMP], answer[UNKNOWN] = on_jump, unknown


@njit(**PART)
def _one(point, given, found, k, end):  # type: ignore[no-untyped-def]
    """Examine point k, and its places up to `end`, which differ only in the named pieces."""
    how, sums, spare, fresh = point.how, point.sums, point.spare, given.fresh
    steep, solved, weight, terms_per_length, numbers = _responses(point)
    rounded = how.rounded * np.sqrt(1.0 + steep + point.b.size)
    for c in range(point.b.size):
        sums[WEIGHT, c] += point.target[1, c]
        sums[ON_SPAN, c] += point.target[2, c]
    # w and b solve the equations of the knots, so their rounding is in every u.
    weight += 0.0 if how.strict != 0.0 else terms_per_length
    if not (numbers and weight < np.inf):
        found.answers[k, :SCALE] = np.inf
        found.off_on_new_piece[fresh[k] : end] = np.inf
        return
    _all_terms(point, steep, solved, weight)
    half = 0.0
    for i in range(point.alpha.size):
        half += point.alpha[i] * point.w[i]
        if how.declared != 0.0:
            spare[ORIGIN, i] = given.origin[k, i]
    answer = found.answers[k]
    _sum_up(point, answer, rounded, 0.5 * half, _coordinates(point, rounded))
    if given.wanted[k]:
        answer[SCALE] += answer[SIZE] + _blur(point, rounded)
    for place in range(fresh[k] + 1, end):
        found.off_on_new_piece[place] = _again(point, given.named[place], rounded)


@njit(**OUTER)
def examine(given, found, settings):  # type: ignore[no-untyped-def]
    """Examine the points of the places `fresh`, and the places after each that differ only in the
    named pieces."""
    how, fresh = settings[0], given.fresh
    for k in range(given.alpha.shape[0]):
        line = Line(
            given.slopes[k],
            given.corners[k],
            given.slope_terms,
            given.corner_terms,
            given.bends,
            given.jump,
            given.travel[k],
            how.level,
        )
        point = Point(
            line,
            given.known,
            given.border,
            given.alpha[k],
            given.b[k],
            given.w[k],
            given.named[fresh[k]],
            given.target[k],
            found.u[k],
            found.scale[k],
            found.noise[k],
            found.spare,
            found.sums,
            how,
        )
        end = fresh[k + 1] if k + 1 < fresh.size else given.last
        _one(by_reference(point), given, found, k, end)


protect(globals())
