"""The loops of the certificate: all coordinates of one point after the other, in few passes.

Sums over the coordinates decide on the scales (`scales.py` says how), so that a point takes three:
responses and sums, terms, and then everything else about each coordinate at once.
"""

from __future__ import annotations

import hashlib
from pathlib import Path as FilePath
from typing import Any

import numpy as np
from numba import njit

from homotopy.compilation import protect
from homotopy.path.certificate import polylines as on
from homotopy.path.certificate.polylines import INLINE, TINY, more, size
from homotopy.tracker.compiling import PART

__all__ = ["BORDER", "FAR", "FINEST", "GAP", "NEAR", "SCALE", "SETTINGS", "SIZE", "STANDING",
           "STANDS", "UNKNOWN", "VALUE", "enter", "look"]  # fmt: skip

OPTIONS: dict[str, Any] = {"cache": True, "error_model": "numpy", "_nrt": False}

# A point off its piece by no more than this has no area.
EXACT = 1e-15
# A response is beyond a wall, or the end of its branch, if it is by this fraction of its scale.
NEAR = 1e-8
# A response within this fraction of its scale is on a jump corner: no tighter than the engine's.
STANDING = 1e-11
EPS = float(np.finfo(np.float64).eps)
# Solving a system of m equations leaves some ROUNDINGS * eps * sqrt(m) of the terms of each.
ROUNDINGS = 16.0
# The tolerance at which a residual of that size just passes.
FINEST = 1e-8
# Solving the active system leaves this fraction of FINEST in an alpha that ought to be 0: the
# rounding of alphas that were larger before, times the condition of the system.
SOLVED = 1e-4
# A border equation is relative to this fraction of its terms, so that one alpha in 1,000 shows.
BALANCED = 1e-2
# So is a response to this fraction of itself and of its corner, where it is the sum of many.
PART_OF = 1e-2
# No allowance for u is more than this fraction of the distance between corners.
APART = 1e-3

# The rows of `known`, of `spare` and of the answers.
LENGTH, INNER, SHARE, LARGEST, OWN, TRAVELLED, CORNER, SPANNED = range(8)
TERMS, OTHER, ORIGIN, TALL = range(4)
FAR, BORDER, GAP, VALUE, SIZE, SCALE, STANDS, UNKNOWN = range(8)


def _digest() -> str:
    """A name for the present source: Numba keeps `look` for as long as this file is unchanged, but
    it is made of two, so that this becomes a part of the types it is compiled for."""
    try:
        content = b"".join(FilePath(f).read_bytes() for f in (__file__, on.__file__))
    except OSError:
        content = b""
    return hashlib.sha256(content).hexdigest()[:12]


SETTINGS = np.dtype(
    [("slack", "f8"), ("strict", "?"), ("declared", "?"), (f"source_{_digest()}", "?")]
)


# ---------------------------------------------------------------------- along the path


@njit(**INLINE)
def _changes(new, piece, flat, slopes, bends):  # type: ignore[no-untyped-def]
    """Coordinates enter other pieces; `flat` is alpha on those that are flat, level and rate."""
    changed, changed_to = new
    for e in range(changed.size):
        i, p = changed[e], changed_to[e]
        piece[i] = p
        on_slope = p % 2 == 0 and bends[i, p // 2] == 0.0
        flat[0, i] = slopes[0][i, p // 2] if on_slope else 0.0
        flat[1, i] = slopes[1][i, p // 2] if on_slope else 0.0


@njit(**OPTIONS)
def enter(segment, t, weight, same, stored, events, slopes, bends, passed, state, last, out):  # type: ignore[no-untyped-def]
    """alpha and the pieces at one place after the other, as long as there is room.

    `same` are those where the segment before has just ended, with the same b.  Where alpha is the
    same there as well the row is not kept again: it is that of number ``base``.  `crossed` are
    those at which a coordinate changes branch.
    """
    offset, active, first, final = stored
    event, changed, changed_to = events
    piece, flat, done = state
    alpha, named, base, equal, crossed = out
    rows = 0
    for k in range(segment.size):
        s, here = segment[k], alpha[rows]
        begin, end = done[0], max(done[0], event[s + 1])
        before = named[k - 1] if k else last[1]
        _changes((changed[begin:end], changed_to[begin:end]), piece, flat, slopes, bends)
        done[0] = end
        for e in range(begin, end):
            i = changed[e]
            if passed[piece[i] // 2] != passed[before[i] // 2]:
                crossed[k] = True
        for i in range(piece.size):
            named[k, i] = piece[i]
            here[i] = flat[1, i] * t[k] + flat[0, i]
        for a in range(offset[s], offset[s + 1]):
            here[active[a]] = (1.0 - weight[k]) * first[a] + weight[k] * final[a]
        if same[k]:
            other, alike = alpha[rows - 1] if rows else last[0], True
            for i in range(piece.size):
                alike = alike and here[i] == other[i]
            equal[k] = alike
        rows += not (equal[k] and rows > 0)
        base[k] = rows - 1
    return rows


# ---------------------------------------------------------------------- what it is measured by


@njit(**PART)
def _middle(values):  # type: ignore[no-untyped-def]
    """The median of `values`, which are put in another order."""
    low, high, k = 0, values.size - 1, values.size // 2
    while low < high:
        pivot, a, z = values[(low + high) // 2], low, high
        while a <= z:
            while values[a] < pivot:
                a += 1
            while values[z] > pivot:
                z -= 1
            if a <= z:
                one, other = values[a], values[z]
                values[a], values[z] = other, one
                a, z = a + 1, z - 1
        if k <= z:
            high = z
        elif k >= a:
            low = a
        else:
            break
    if values.size % 2:
        return values[k]
    below = values[0]
    for i in range(1, k):
        below = max(below, values[i])
    return 0.5 * (below + values[k])


@njit(**INLINE)
def _responses(line, known, border, alpha, b, w, named, u, corner, sums):  # type: ignore[no-untyped-def]
    """u, and the terms of the corners; the sums of |alpha| |phi|, of B alpha and of their sizes;
    how many are on corners, whether anything is solved for, and how much one of those on corners
    makes of its rounding.  The last says whether all are numbers."""
    count, found, weight, apiece, numbers = 0, border.shape[1] > 0, 0.0, 0.0, True
    sums[:] = 0.0
    for i in range(alpha.size):
        total = w[i]
        for c in range(b.size):
            total += border[i, c] * b[c]
            sums[0, c] += alpha[i] * border[i, c]
            sums[1, c] += abs(alpha[i] * border[i, c])
            sums[3, c] += max(abs(alpha[i]), known[SPANNED, i]) * abs(border[i, c])
        u[i] = total
        numbers = numbers and abs(total) < np.inf and abs(alpha[i]) < np.inf
        weight += abs(alpha[i]) * known[LENGTH, i]
        p = named[i]
        j, corner[i] = p >> 1, 0.0
        if p & 1:
            corner[i] = on.terms(line[3], j, i, line[5])
            count += 1
            if known[LENGTH, i] > 0.0:
                apiece = max(apiece, corner[i] / known[LENGTH, i])
        else:
            found = found or line[4][j, i] > 0.0
            low, high = on.ends(line[1], j, i)
            if j < line[1].shape[0] and total >= high:
                corner[i] = on.terms(line[3], j, i, line[5])
            elif j > 0 and total <= low:
                corner[i] = on.terms(line[3], j - 1, i, line[5])
    return count, found or count > 0, weight, apiece, numbers


@njit(**INLINE)
def _all_terms(known, named, steep, found, weight, strict, out, spare):  # type: ignore[no-untyped-def]
    """The terms of every response; `out` holds those of the corners."""
    kept, shared = 0, False
    for i in range(named.size):
        value = weight * known[LENGTH, i] + known[TRAVELLED, i]
        value = max(value, known[CORNER, i] if found else 0.0)
        value = more(max(value, out[i]), known[OWN, i])
        out[i] = value
        shared = shared or known[SHARE, i] > 0.0
        if steep == 0 or named[i] & 1:
            spare[kept] = value
            kept += 1
    if shared and not strict:
        # The terms that b and t are found from, as a rule: of those on knots, or of all.
        middle = _middle(spare[:kept])
        for i in range(named.size):
            out[i] = max(out[i], middle * known[SHARE, i])


@njit(**INLINE)
def _scales(known, border, sums, i, place, u, slope, terms, rounded, loose, steep):  # type: ignore[no-untyped-def]
    """The scale of u and of alpha, and what rounding makes of alpha; `loose` is whether it is
    solved for."""
    near = PART_OF * max(abs(u), size(place))
    scale = more(max(known[OWN, i], near), max(rounded * terms, TINY))
    # The alpha that would take up all of the slope, of the response, or of the border sum.
    inner, room = known[INNER, i], slope if slope > 0.0 else np.inf
    # No division where the slope is less, as a rule.
    whole = scale / inner if inner > 0.0 and not 0.0 < inner * slope < scale else np.inf
    alone, longest, largest = inner == 0.0 and slope == 0.0, 0.0, 0.0
    if alone:
        for c in range(border.shape[1]):
            column = abs(border[i, c])
            longest, largest = max(longest, column), max(largest, sums[1, c])
            if column > 0.0:
                share = sums[1, c] / column
                whole = share if whole == np.inf or share > whole else whole
    room = min(room, whole)
    room = max(room if room < np.inf else known[LARGEST, i], TINY)
    noise = rounded * max(known[LARGEST, i], min(room, slope))
    if loose:
        noise = max(noise, SOLVED * room)
    if alone and steep and border.shape[1] > 0:
        # Found from the border equations alone, which are solved together with those of u: where
        # it ought to be 0, it is the rounding of the largest of them.
        joint = largest / longest if longest > 0.0 else 0.0
        length = known[LENGTH, i]
        joint = rounded * max(joint, terms / length**2 if length > 0.0 else 0.0)
        room, noise = max(room, joint), max(noise, joint)
    return scale, room, noise


# ---------------------------------------------------------------------- one point


@njit(**INLINE)
def _largest_slope(slope, i):  # type: ignore[no-untyped-def]
    top = 0.0
    for j in range(slope.shape[0]):
        top = max(top, size(slope[j, i]))
    return top


@njit(**INLINE)
def _apart(line, scale, terms, i):  # type: ignore[no-untyped-def]
    """The scale of u, where its corners are not one to it but for rounding that no alpha of 16
    digits can avoid."""
    limit = APART / FINEST * on.distance(line[1], i)
    if not limit < scale:
        return scale
    rounding = terms
    for j in range(line[1].shape[0]):
        rounding = max(rounding, on.terms(line[3], j, i, line[5]))
    return min(scale, max(limit, ROUNDINGS * EPS / FINEST * rounding))


@njit(**PART)
def _off_as(line, p, u, alpha, i, scale, room, terms, rounded):  # type: ignore[no-untyped-def]
    """How far a coordinate is from the piece p, which need not be that of its scales."""
    piece = on.piece(line, p, u, i)
    wide = more(scale, max(PART_OF * size(piece[0]), rounded * piece[7]))
    return on.off(piece, u, alpha, _apart(line, wide, terms, i), max(room, rounded * piece[6]))


@njit(**PART)
def _pass_seams(line, p, place, far, u, alpha, i, scale, room, terms, rounded):  # type: ignore[no-untyped-def]
    """A corner without a height is none: what is beyond it is on the next piece as well."""
    to = 1 if u > place else -1
    while 0 <= (p + to) // 2 < line[1].shape[0] and p + to > 0 and on.level(line, (p + to) // 2, i):
        p += 2 * to
        far = min(far, _off_as(line, p, u, alpha, i, scale, room, terms, rounded))
    return far


@njit(**INLINE)
def _stands(line, jump, u, scale, i):  # type: ignore[no-untyped-def]
    """Whether a coordinate is on a jump corner."""
    for j in range(jump.size):
        at = line[1][j, i]
        if jump[j] and abs(u - at) <= STANDING * max(scale, size(at)):
            return True
    return False


@njit(**PART)
def _trouble(line, jump, p, i, piece, u, alpha, scales, terms, rounded, slack):  # type: ignore[no-untyped-def]
    """How far a coordinate is off, the area of its gap and what may be rounding of that; the area
    is 0 for those on their pieces, but on a corner alpha may be beside what it could be."""
    whole, scale, room, noise = scales
    away = on.off(piece, u, alpha, scale, max(room, rounded * piece[6]))
    if away > STANDING and not p & 1:
        away = _pass_seams(line, p, piece[0], away, u, alpha, i, scale, room, terms, rounded)
    if away <= EXACT and not p & 1:
        return away, 0.0, 0.0
    # alpha is as uncertain as the terms of its slope, on a slanted piece as u.
    noise = max(noise, rounded * max(piece[6], piece[5] * terms))
    part, length, tallest = on.area(line, jump, p, i, u, alpha, whole, slack * scale)
    return away, part, rounded * tallest * terms + noise * length


@njit(**INLINE)
def _coordinates(line, jump, known, border, sums, alphas, named, us, scales, spare, rounded, how):  # type: ignore[no-untyped-def]
    """Everything about each coordinate: how far it is off at most, the area of the gap and what may
    be rounding of it, the losses and their sizes, who stands, whether a loss has no origin."""
    far, gap, blur, losses, sizes, stands, unknown = 0.0, 0.0, 0.0, 0.0, 0.0, False, False
    slope, corner, bends = line[0], line[1], line[4]
    for i in range(alphas.size):
        p, terms, u, alpha = np.int64(named[i]), spare[TERMS, i], us[i], alphas[i]
        low, high = on.ends(corner, p >> 1, i)
        # Most are on a flat slope, away from its ends and with its alpha to the last bit.
        easy = not p & 1 and bends[p >> 1, i] == 0.0 and low < u < high
        easy = easy and alpha == slope[p >> 1, i]
        piece = (u, alpha, alpha, alpha, alpha, 0.0, 0.0, 0.0)
        if not easy:
            piece = on.piece(line, p, u, i)
        loose, top = p & 1 or piece[5] > 0.0, _largest_slope(slope, i)
        whole, room, noise = _scales(
            known, border, sums, i, piece[0], u, top, terms, rounded, loose, p & 1
        )
        scale = _apart(line, whole, terms, i)
        scales[i], spare[TALL, i] = scale, room
        for c in range(border.shape[1]):
            sums[2, c] += noise * abs(border[i, c])
        if not easy:
            found = _trouble(line, jump, p, i, piece, u, alpha, (whole, scale, room, noise), terms,
                             rounded, how.slack)  # fmt: skip
            far, gap, blur = max(far, found[0]), gap + found[1], blur + found[2]
        if not how.declared:
            spare[ORIGIN, i], exists = on.least(line, i)
            unknown = unknown or not exists
        lost = on.loss(line, u, spare[ORIGIN, i], i)
        losses, sizes = losses + lost, sizes + abs(lost)
        stands = stands or _stands(line, jump, u, scale, i)
    return far, gap, blur, losses, sizes, stands, unknown


@njit(**INLINE)
def _blur(line, alpha, u, spare, rounded):  # type: ignore[no-untyped-def]
    """What the losses change by where u, alpha and the corners move by their rounding."""
    total = 0.0
    for i in range(alpha.size):
        terms = rounded * spare[TERMS, i]
        steep = on.steepest(line, u[i], STANDING * terms, i)
        total += terms * max(steep, abs(alpha[i]))
        total += rounded * on.loss_terms(line, u[i], spare[ORIGIN, i], i)
    return total


@njit(**PART)
def _again(line, old, new, alpha, u, scales, spare, rounded):  # type: ignore[no-untyped-def]
    """How far those are off who change their piece where nothing else changes."""
    far = 0.0
    for i in range(alpha.size):
        if new[i] != old[i]:
            p, room = np.int64(new[i]), spare[TALL, i]
            terms = spare[TERMS, i]
            far = max(far, _off_as(line, p, u[i], alpha[i], i, scales[i], room, terms, rounded))
    return far


@njit(**INLINE)
def _sum_up(answer, b, target, sums, rounded, half, found):  # type: ignore[no-untyped-def]
    """The border equations, the gap and the objective of one point, from the sums."""
    far, gap, blur, losses, sizes, stands, unknown = found
    linear, extra, worst, pull = 0.0, 0.0, 0.0, 0.0
    for c in range(b.size):
        left = target[0, c] - sums[0, c]
        noise = max(rounded * sums[1, c], sums[2, c]) + ROUNDINGS * EPS / FINEST * sums[3, c]
        worst = more(worst, abs(left) / more(max(BALANCED * sums[1, c], noise), TINY))
        pull += b[c] * left
        linear, extra = linear + target[0, c] * b[c], extra + abs(b[c]) * noise
    answer[FAR], answer[BORDER] = far, worst
    answer[VALUE] = half + losses + linear
    answer[SIZE] = abs(half) + sizes + abs(linear)
    answer[SCALE] = extra
    answer[GAP] = (gap + abs(pull)) / max(answer[SIZE] + blur + extra, TINY)
    answer[STANDS], answer[UNKNOWN] = stands, unknown


@njit(**OPTIONS)
def look(lines, tables, jump, known, target, point, places, wanted, settings, out, spare, sums):  # type: ignore[no-untyped-def]
    """Look at the points of the places `fresh`, and at the places after each that are the same
    but for the pieces named, up to the place `last`."""
    slopes, corners, travel, origin = lines
    (table, border), (named, fresh, last) = known, places
    alphas, bs, ws = point
    us, scales, answers, renamed = out
    how = settings[0]
    for k in range(alphas.shape[0]):
        line = (slopes[k], corners[k], tables[0], tables[1], tables[2], travel[k])
        alpha, b, w, u, name = alphas[k], bs[k], ws[k], us[k], named[fresh[k]]
        end = fresh[k + 1] if k + 1 < fresh.size else last
        steep, found, weight, apiece, numbers = _responses(
            line, table, border, alpha, b, w, name, u, spare[TERMS], sums
        )
        rounded = ROUNDINGS * EPS / FINEST * np.sqrt(1.0 + steep + b.size)
        for c in range(b.size):
            sums[1, c], sums[3, c] = sums[1, c] + target[k, 1, c], sums[3, c] + target[k, 2, c]
        # w and b solve the equations of those on knots: the rounding of these is in every u.
        weight += 0.0 if how.strict else apiece
        if not (numbers and weight < np.inf):
            answers[k, :SCALE] = np.inf
            renamed[fresh[k] : end] = np.inf
            continue
        _all_terms(table, name, steep, found, weight, how.strict, spare[TERMS], spare[OTHER])
        half = 0.0
        for i in range(alpha.size):
            half += alpha[i] * w[i]
            if how.declared:
                spare[ORIGIN, i] = origin[k, i]
        seen = _coordinates(
            line, jump, table, border, sums, alpha, name, u, scales[k], spare, rounded, how
        )
        _sum_up(answers[k], b, target[k], sums, rounded, 0.5 * half, seen)
        if wanted[k]:
            answers[k, SCALE] += answers[k, SIZE] + _blur(line, alpha, u, spare, rounded)
        for place in range(fresh[k] + 1, end):
            renamed[place] = _again(line, name, named[place], alpha, u, scales[k], spare, rounded)


protect(globals())
