"""The scales of each coordinate, computed from alpha and the data.

For the response of coordinate i, next to a corner k,

    scale of u_i     = max(q_i A_i, |u_i| / 100, |k| / 100, rounded * terms_i)
    scale of alpha_i = max(|alpha_i|, |slope|, min(largest slope of i, scale of u_i / q_i))

with A_i the largest ``|alpha_i|`` of the path and q_i what is left of Q_ii without what b makes up
for (an offset that all rows share, say): what i itself adds to its response, and the alpha that
takes up all of its slopes or of its response.  ``terms_i = |phi_i| sum_j |phi_j||alpha_j| +
|B_i||b|`` bounds the terms that u_i is the sum of.  Rounding alone leaves some of it, however much
cancels: a system of m equations is solved to about ``16 eps sqrt(m)`` of the terms of each, and
`rounded` is that at a tolerance of 1e-8.  A corner or slope ``const + rate * t`` has the terms
``|const| + |rate * t|``.  Other coordinates enter through that rounding only: a bound of 1e12 that
never binds, or one target of 1e9, says nothing about the others.  Nor is u_i known so badly that
its own corners are one to it: its scale is at most 1e5 times their least distance, but for 16 eps
of the terms of u_i and of its corners, because no alpha of 16 digits comes nearer.  A border
equation may be off by the rounding of its terms on the whole span as well: what goes to 0 with t
came from larger numbers.  An alpha without a scale (no slope, and b makes up for all of its
response) has the rounding of the largest border equation and of its response.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np
import numpy.typing as npt

from homotopy.gram import Gram
from homotopy.path.certificate.lines import Declaration, fixed, size
from homotopy.path.certificate.tolerances import SMALLEST, CertificateTolerances

if TYPE_CHECKING:
    from homotopy.path import Path

__all__ = ["Known"]

Array = npt.NDArray[np.float64]


@attrs.frozen
class Known:
    """What is the same at every point of a path; the rows of `table` are these numbers.

    `length` is ``|phi_i|``, `inner` what is left of its square without what b makes up for, `share`
    how much of b, or of t, each response takes up or is compared with (at most 1): they are found
    from the equations of others; `largest` the largest ``|alpha_i|`` of the path and `own` what it
    makes of the response of i itself. b goes through larger values than it has at its end and keeps
    their rounding: `travelled` is what the largest ``|b|`` of the path adds to each response.
    `corner` is the smallest corner of a coordinate that is not 0, or of most where that is less:
    where w and b ought to be 0, their rounding is that of such numbers.  `spanned` is `largest`
    with the slopes that a coordinate visits taken on the whole span.  `strict` gives no credit for
    what the rounding of one equation may do to the others.
    """

    path: Path
    declared: Declaration
    border: Array
    table: Array
    tolerances: CertificateTolerances
    strict: bool = False

    @classmethod
    def of(cls, path: Path, tolerances: CertificateTolerances, strict: bool = False) -> Known:
        """From the alphas of the path and the slopes that it visits."""
        s, border = path.segments, path.problem.border
        diag = path.problem.gram.sizes
        inner = _beside(path.problem.gram, border)
        rows = np.abs(border).max(axis=1, initial=0.0)
        largest, spanned = _largest_alpha(path), _largest_alpha(path, path.span)
        b = np.maximum(size(s.b_start).max(axis=0), size(s.b_stop).max(axis=0))
        declared = Declaration.of(path.model, diag.size, path.traced, tolerances)
        share = np.maximum(rows / max(float(rows.max()), SMALLEST), declared.moving())
        corner = _smallest_corner(declared, np.array(path.traced))
        table = np.stack(
            [
                np.sqrt(diag),
                inner,
                share,
                largest,
                inner * largest,
                np.abs(border) @ b,
                corner,
                spanned,
            ]
        )
        return cls(path, declared, fixed(border), fixed(table), tolerances, strict)


def _largest_alpha(path: Path, span: tuple[float, float] | None = None) -> Array:
    """The largest ``|alpha_i|`` of the path: of those stored, and of slopes while visited (or on
    all of `span`)."""
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
    for t in (s.start[begun[visited]], s.stop[ended[visited]]) if span is None else span:
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
    sizes = size(declared.lines(ends)[1])
    least = np.where(sizes > 0.0, sizes, np.inf).min(axis=(0, 1))
    some = least[np.isfinite(least)]
    return np.minimum(least, np.median(some)) if some.size else np.zeros(least.size)
