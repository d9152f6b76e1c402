"""The scales of each coordinate, computed from alpha and the data.

For the response of coordinate i, next to a corner k,

    scale of u_i     = max(q_i A_i, |u_i| / 100, |k| / 100, rounded * terms_i)
    scale of alpha_i = max(|alpha_i|, |slope|, min(largest slope of i, scale of u_i / q_i))

A_i is the largest ``|alpha_i|`` of the path, and q_i is Q_ii without the part that b compensates
(an offset shared by all rows, say).  So q_i A_i is what i itself adds to its response, and the
scale of alpha_i is the alpha that would account for all of its slopes or of its response.
``terms_i = |phi_i| sum_j |phi_j||alpha_j| + |B_i||b|`` bounds the terms of the sum u_i.  Rounding
alone leaves a fraction of it, however much cancels: a system of m equations is solved to about
``16 eps sqrt(m)`` of the terms of each, and `rounded` is that fraction at a tolerance of 1e-8.  A
corner or slope ``const + rate * t`` has the terms ``|const| + |rate * t|``.

Other coordinates enter only through that rounding: a bound of 1e12 that never binds, or one target
of 1e9, says nothing about the others.  The scale of u_i is also at most 1e5 times the smallest
distance between its corners, so that they stay distinct; but at least 16 eps of the terms of u_i
and of its corners, because no alpha of 16 digits comes closer.  A border equation may also be off
by the rounding of its terms on the whole span: a quantity that goes to 0 with t was computed from
larger numbers.  An alpha without a scale (no slope, and b compensates all of its response) has the
rounding of the largest border equation and of its response.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np

from homotopy.arrays import Array
from homotopy.gram import Gram
from homotopy.path.certificate.lines import Declaration, fixed, size
from homotopy.path.certificate.tolerances import SMALLEST, CertificateTolerances

if TYPE_CHECKING:
    from homotopy.path import Path


@attrs.frozen
class PathScales:
    """What is the same at every point of a path; these numbers are the rows of `table`.

    `length` is ``|phi_i|``; `inner` is its square without the part that b compensates; `share` (at
    most 1) is how much of b enters each response, because b is computed from the equations of
    others (t is not: the other equations are solved at the t actually reached); `largest` is the
    largest ``|alpha_i|`` of the path and `own` what it adds to the response of i.  b may have been
    larger before and keeps that rounding: `travelled` is what the largest ``|b|`` of the path adds
    to each response.
    `corner` is the smallest nonzero corner of a coordinate, or the median of these if that is less:
    if w and b should be 0, they have the rounding of such numbers.  If a corner stays at 0, it is
    at most what the largest alphas add up to.  `spanned` is `largest` with the visited slopes taken
    over the whole span.  `rank_of_b` is how many equations b can satisfy.  `strict` makes no
    allowance for the rounding that one equation causes in the others.
    """

    path: Path
    declared: Declaration
    border: Array
    table: Array
    tolerances: CertificateTolerances
    rank_of_b: int
    strict: bool = False

    @classmethod
    def of(cls, path: Path, tolerances: CertificateTolerances, strict: bool = False) -> PathScales:
        """Compute them from the alphas of the path and the slopes that it visits."""
        s, border = path.segments, path.problem.border
        diag = path.problem.gram.sizes
        inner = _beside(path.problem.gram, border)
        rows = np.abs(border).max(axis=1, initial=0.0)
        largest, spanned = _largest_alphas(path)
        b = np.maximum(size(s.b_start).max(axis=0), size(s.b_stop).max(axis=0))
        declared = Declaration.of(path.model, diag.size, path.traced, tolerances)
        share = rows / max(float(rows.max()), SMALLEST)
        length = np.sqrt(diag)
        corner = _smallest_corner(declared, np.array(path.traced), length * (length @ largest))
        own, travelled = inner * largest, np.abs(border) @ b
        table = np.stack([length, inner, share, largest, own, travelled, corner, spanned])
        rank = (
            int(np.linalg.matrix_rank(border / np.where(rows > 0.0, rows, 1.0)[:, None]))
            if border.size
            else 0
        )
        return cls(path, declared, fixed(border), fixed(table), tolerances, rank, strict)


def _largest_alphas(path: Path) -> tuple[Array, Array]:
    """Return the largest ``|alpha_i|`` of the path: of the stored alphas, and of the slopes while
    they are visited; and the same with the visited slopes taken over the whole span."""
    s = path.segments
    i, piece, begun = s.visits()
    ended = np.append(np.where(i[1:] == i[:-1], begun[1:], len(s)), len(s)) - 1
    visited = ended >= begun
    i, piece, begun, ended = i[visited], piece[visited], begun[visited], ended[visited]
    # (0 on a slanted piece, whose alphas are among those stored.)
    level, rate = path.problem.polylines.flat(i, piece)
    stored = np.zeros(s.first_piece.size)
    for alpha in (s.alpha_start, s.alpha_stop):
        np.maximum.at(stored, s.active, size(alpha))
    largest, spanned = stored.copy(), stored
    for found, ends in (
        (largest, (s.start[begun], s.stop[ended])),
        (spanned, path.span),
    ):
        for t in ends:
            np.maximum.at(found, i, size(level + rate * t))
    return largest, spanned


def _beside(gram: Gram, border: Array) -> Array:
    """Return the diagonal of Q without the part that b compensates: of ``P Q P``, where P projects
    onto the orthogonal complement of the border columns."""
    if not border.shape[1]:
        return gram.sizes
    inverse = np.linalg.pinv(border)
    part = gram.matmat(np.ascontiguousarray(inverse.T))
    both = border * (border @ (inverse @ part) - 2.0 * part)
    return np.asarray(np.clip(gram.diag + both.sum(axis=1), 0.0, gram.sizes))


def _smallest_corner(declared: Declaration, ends: Array, most: Array) -> Array:
    """Return the smallest corners, at most `most` for coordinates with a corner that stays at 0."""
    corners = declared.slopes_and_corners(ends)[1]
    sizes = size(corners)
    least = np.where(sizes > 0.0, sizes, np.inf).min(axis=(0, 1))
    some = least[np.isfinite(least)]
    if not some.size:
        return np.zeros(least.size)
    least = np.minimum(least, np.median(some))
    at_zero = np.any(np.all(corners == 0.0, axis=0), axis=0) & (most > 0.0)
    return np.asarray(np.where(at_zero, np.minimum(least, most), least))
