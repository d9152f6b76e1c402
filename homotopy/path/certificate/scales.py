"""What a coordinate is measured by: scales of its own, worked out from alpha and the data.

For the response of coordinate i, next to a corner k,

    scale of u_i     = max(q_i A_i, |u_i| / 100, |k| / 100, rounded * terms_i)
    scale of alpha_i = max(|alpha_i|, |slope|, min(largest slope of i, scale of u_i / q_i))

with A_i the largest ``|alpha_i|`` of the path and q_i what is left of Q_ii without what b makes up
for (an offset that all rows share, say): what i itself adds to its response, and the alpha that
takes up all of its slopes or of its response.  ``terms_i = |phi_i| sum_j |phi_j||alpha_j| +
|B_i||b|`` bounds the terms that u_i is the sum of.  Rounding alone leaves some of it, however much
cancels: a system of m equations is solved to about ``16 eps sqrt(m)`` of the terms of each, and
`rounded` is that at a tolerance of 1e-8.  A corner or slope ``const + rate * t`` has the terms
``|const| + |rate * t|``.  Nothing of the others enters but through that rounding: a bound
of 1e12 that never binds, or one target of 1e9, says nothing about the others.  An alpha that has no
scale of its own (no slope, and b makes up for all of its response) has the rounding of the largest
border equation and of its response.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np
import numpy.typing as npt

from homotopy.gram import Gram
from homotopy.path.certificate.lines import TINY, Declaration, Lines, Piece, size

if TYPE_CHECKING:
    from homotopy.path import Path

__all__ = ["TINY", "Known", "Scales"]

Array = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

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
PART = 1e-2


@attrs.frozen
class Known:
    """What is the same at every point of a path.

    `length` is ``|phi_i|``, `inner` what is left of its square without what b makes up for, `share`
    how much of b, or of t, each response takes up or is compared with (at most 1): they are found
    from the equations of others; `largest` the largest ``|alpha_i|`` of the path and `own` what it
    makes of the response of i itself. b goes through larger values than it has at its end and keeps
    their rounding: `travelled` is what the largest ``|b|`` of the path adds to each response.
    `corner` is the smallest corner of a coordinate that is not 0, or of most where that is less:
    where w and b ought to be 0, their rounding is that of such numbers.  `strict` gives no credit
    for what the rounding of one equation may do to the others.
    """

    path: Path
    declared: Declaration
    border: Array
    length: Array
    inner: Array
    share: Array
    largest: Array
    own: Array
    travelled: Array
    corner: Array
    strict: bool = False

    @classmethod
    def of(cls, path: Path, strict: bool = False) -> Known:
        """From the alphas of the path and the slopes that it visits."""
        s, border = path.segments, path.problem.border
        diag = path.problem.gram.sizes
        inner = _beside(path.problem.gram, border)
        rows = np.abs(border).max(axis=1, initial=0.0)
        largest = _largest_alpha(path)
        b = np.maximum(size(s.b_start).max(axis=0), size(s.b_stop).max(axis=0))
        declared = Declaration.of(path.model, diag.size, *path.traced)
        return cls(
            path=path,
            declared=declared,
            border=border,
            length=np.sqrt(diag),
            inner=inner,
            share=np.maximum(rows / max(float(rows.max()), TINY), declared.moving()),
            largest=largest,
            own=inner * largest,
            travelled=np.abs(border) @ b,
            corner=_smallest_corner(declared, np.array(path.traced)),
            strict=strict,
        )


@attrs.frozen
class Scales:
    """The scales of u, of alpha and of the border equations at k points, and what rounding makes of
    them.

    Rounding leaves a residual of ``FINEST * rounded * terms`` in u, of ``FINEST * alpha_noise`` in
    alpha and of ``FINEST * border_noise`` in the border equations.
    """

    u: Array
    alpha: Array
    terms: Array
    rounded: Array
    alpha_noise: Array
    border: Array
    border_noise: Array

    @classmethod
    def of(cls, known: Known, lines: Lines, piece: Piece, alpha: Array, b: Array, u: Array,
           target: Array) -> Scales:  # fmt: skip
        """At points with this alpha, b and u on these pieces; `target` is the size of e."""
        length, border, steep = known.length, np.abs(known.border), piece.steep
        equations = 1.0 + np.count_nonzero(steep, axis=1) + border.shape[1]
        rounded = ROUNDINGS * EPS / FINEST * np.sqrt(equations)[:, None]
        # w and b solve the equations of those on knots: the rounding of these is in every u.
        corner = np.where(steep, piece.corner_terms, 0.0)
        apiece = np.divide(corner, length, where=length > 0.0, out=np.zeros(corner.shape))
        weight = np.abs(alpha) @ length + (0.0 if known.strict else apiece.max(axis=1))
        terms = np.outer(weight, length) + known.travelled
        # Where nothing is solved for there is no rounding but that of alpha.
        found = np.any(steep | (piece.bend > 0.0), axis=1) | bool(border.shape[1])
        terms = np.maximum(terms, np.outer(found, known.corner))
        terms = np.maximum(np.maximum(terms, piece.corner_terms), known.own)
        if np.any(known.share) and not known.strict:
            terms = np.maximum(terms, np.outer(_middle(terms, steep), known.share))
        near = PART * np.maximum(np.abs(u), size(piece.place))
        scale = np.maximum(np.maximum(known.own, near), np.maximum(rounded * terms, TINY))
        balance = target + np.abs(alpha) @ border
        # The alpha that would take up all of the slope, of the response, or of the border sum.
        slope = lines.largest()
        room = np.where(slope > 0.0, slope, np.inf)
        diag = known.inner
        whole = np.divide(scale, diag, where=diag > 0.0, out=np.full(scale.shape, np.inf))
        alone = (diag == 0.0) & (slope == 0.0)
        for k, column in enumerate(border.T):
            met = alone & (column > 0.0)
            share = np.divide(balance[:, k : k + 1], column, where=met, out=np.zeros(u.shape))
            whole = np.where(met & (np.isinf(whole) | (share > whole)), share, whole)
        room = np.minimum(room, whole)
        room = np.maximum(np.where(np.isfinite(room), room, known.largest), TINY)
        solved = np.where(steep | (piece.bend > 0.0), SOLVED * room, 0.0)
        largest = np.maximum(known.largest, np.minimum(room, slope))
        noise = np.maximum(solved, rounded * largest)
        if border.shape[1]:
            # Found from the border equations alone, which are solved together with those of u:
            # where it ought to be 0, it is the rounding of the largest of them.
            joint = np.zeros(u.shape)
            row = border.max(axis=1)
            np.divide(balance.max(axis=1, keepdims=True), row, where=row > 0.0, out=joint)
            taken = np.divide(terms, length**2, where=length > 0.0, out=np.zeros(u.shape))
            joint = np.where(alone & steep, rounded * np.maximum(joint, taken), 0.0)
            room, noise = np.maximum(room, joint), np.maximum(noise, joint)
        border_noise = np.maximum(rounded * balance, noise @ border)
        balance = np.maximum(BALANCED * balance, border_noise)
        # On a slanted piece alpha is as uncertain as u.
        noise = np.maximum(noise, piece.bend * rounded * terms)
        return cls(scale, room, terms, rounded, noise, balance, border_noise)


def _largest_alpha(path: Path) -> Array:
    """The largest ``|alpha_i|`` of the path: of those stored, and of slopes while visited."""
    s = path.segments
    n, count = s.first_piece.size, s.changed.size
    i = np.concatenate([np.arange(n), s.changed])
    piece = np.concatenate([s.first_piece, s.changed_to])
    begun = np.searchsorted(s.event, np.arange(count), side="right") - 1
    begun = np.concatenate([np.zeros(n, np.int64), begun])
    order = np.argsort(i, kind="stable")
    ended = np.full(n + count, len(s) - 1)
    same = i[order][1:] == i[order][:-1]
    ended[order[:-1][same]] = begun[order[1:][same]] - 1
    visited = np.flatnonzero(ended >= begun)
    level, rate = path._flat(i[visited], piece[visited])
    # On a slanted piece alpha is not its height at u = 0 but among those stored.
    slanted = path.problem.polylines.curvature[i[visited], piece[visited] // 2] != 0.0
    slanted &= piece[visited] % 2 == 0
    level, rate = np.where(slanted, 0.0, level), np.where(slanted, 0.0, rate)
    largest = np.zeros(n)
    for t in (s.start[begun[visited]], s.stop[ended[visited]]):
        np.maximum.at(largest, i[visited], size(level + rate * t))
    for alpha in (s.alpha_start, s.alpha_stop):
        np.maximum.at(largest, s.active, size(alpha))
    return largest


def _beside(gram: Gram, border: Array) -> Array:
    """The diagonal of Q without what b makes up for: of ``P Q P`` with P the projection beside the
    border columns."""
    if not border.shape[1]:
        return gram.sizes
    inverse = np.linalg.pinv(border)
    part = gram.matmat(np.ascontiguousarray(inverse.T))
    both = border * (border @ (inverse @ part) - 2.0 * part)
    return np.asarray(np.clip(gram.diag + both.sum(axis=1), 0.0, gram.sizes))


def _smallest_corner(declared: Declaration, ends: Array) -> Array:
    sizes = [size(corner.value) for corner in declared.lines(ends, np.abs(ends)).corners]
    least = np.where(np.array(sizes) > 0.0, sizes, np.inf).min(axis=(0, 1))
    some = least[np.isfinite(least)]
    return np.minimum(least, np.median(some)) if some.size else np.zeros(least.size)


def _middle(terms: Array, steep: Bools) -> Array:
    """The terms that b and t are found from, as a rule: the median of those on knots, or of all
    where nobody is on one."""
    rows = [row[on] if on.any() else row for row, on in zip(terms, steep, strict=True)]
    return np.array([np.median(row) for row in rows])
