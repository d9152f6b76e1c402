"""What a coordinate is measured by: scales of its own, worked out from alpha and the data.

For the response of coordinate i, next to a corner k,

    scale of u_i     = max(Q_ii A_i, |u_i|, |k|, ROUNDED * terms_i)
    scale of alpha_i = max(|alpha_i|, |slope|, min(largest slope of i, scale of u_i / Q_ii))

with A_i the largest ``|alpha_i|`` of the path: what i itself adds to its response.  ``terms_i =
|phi_i| sum_j |phi_j||alpha_j| + |B_i||b|`` bounds the terms that u_i is the sum of; rounding alone
makes some 1e-15 of it, however much of it cancels.  The same holds for a corner or slope
``const + rate * t``, whose terms are ``|const| + |rate * t|``.  Nothing of the other coordinates
enters but through that rounding: a bound of 1e12 that never binds, or one target of 1e9, says
nothing about the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np
import numpy.typing as npt

from homotopy.path.certificate.lines import TINY, Declaration, Lines, Piece, size

if TYPE_CHECKING:
    from homotopy.path import Path

__all__ = ["ROUNDED", "TINY", "Known", "Scales"]

Array = npt.NDArray[np.float64]

# The scale of a sum is at least this part of the sizes of its terms, which at a tolerance of 1e-8
# is a few roundings of them.
ROUNDED = 1e-7


@attrs.frozen
class Known:
    """What is the same at every point of a path.

    `length` is ``|phi_i|``, `share` how much of b each response takes up (at most 1), `largest`
    the largest ``|alpha_i|`` of the path and `own` what it makes of the response of i itself.
    """

    declared: Declaration
    border: Array
    length: Array
    share: Array
    largest: Array
    own: Array

    @classmethod
    def of(cls, path: Path) -> Known:
        """From the alphas of the path and the slopes that it visits."""
        s, border = path.segments, path.problem.border
        diag = path.problem.gram.diag
        rows = np.abs(border).max(axis=1, initial=0.0)
        i = np.concatenate([np.arange(diag.size), s.changed])
        level, rate = path._flat(i, np.concatenate([s.first_piece, s.changed_to]))
        largest = np.zeros(diag.size)
        for t in path.traced:
            np.maximum.at(largest, i, size(level + rate * t))
        for alpha in (s.alpha_start, s.alpha_stop):
            np.maximum.at(largest, s.active, size(alpha))
        return cls(
            declared=Declaration.of(path.model, diag.size, *path.traced),
            border=border,
            length=np.sqrt(diag),
            share=rows / max(float(rows.max()), TINY),
            largest=largest,
            own=diag * largest,
        )


@attrs.frozen
class Scales:
    """The scales of u and alpha at k points, and the terms of u."""

    u: Array
    alpha: Array
    terms: Array

    @classmethod
    def of(cls, known: Known, lines: Lines, piece: Piece, alpha: Array, b: Array, u: Array
           ) -> Scales:  # fmt: skip
        """At points with this alpha, b and u on these pieces."""
        length = known.length
        terms = np.outer(np.abs(alpha) @ length, length) + np.abs(b) @ np.abs(known.border).T
        # w and b solve the equations of those on knots: the rounding of these is in every u.
        corner = np.where(piece.steep, piece.corner_terms, 0.0)
        apiece = np.divide(corner, length, where=length > 0.0, out=np.zeros(corner.shape))
        terms += np.outer(apiece.max(axis=1), length) + np.outer(corner.max(axis=1), known.share)
        terms = np.maximum(terms, piece.corner_terms)
        near = np.maximum(np.abs(u), size(piece.place))
        scale = np.maximum(np.maximum(known.own, near), np.maximum(ROUNDED * terms, TINY))
        slope = lines.largest()
        slope = np.where(slope > 0.0, slope, np.inf)
        diag = length * length
        room = np.divide(scale, diag, where=diag > 0.0, out=np.full(scale.shape, np.inf))
        room = np.minimum(slope, room)
        room = np.where(np.isfinite(room), room, known.largest)
        return cls(scale, np.maximum(room, TINY), terms)
