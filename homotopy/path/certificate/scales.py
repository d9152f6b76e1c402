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

__all__ = ["TINY", "Known", "Scales"]

Array = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

EPS = float(np.finfo(np.float64).eps)
# Solving a system of m equations leaves some ROUNDINGS * eps * sqrt(m) of the terms of each.
ROUNDINGS = 16.0
# The tolerance at which a residual of that size just passes.
FINEST = 1e-8
# alpha of those on knots has the rounding of u divided by Q_ii, but no more of its room than this.
SOLVED = 1e-4


@attrs.frozen
class Known:
    """What is the same at every point of a path.

    `length` is ``|phi_i|``, `share` how much of b each response takes up (at most 1), `largest`
    the largest ``|alpha_i|`` of the path and `own` what it makes of the response of i itself.  b
    goes through larger values than it has at its end and keeps their rounding: `travelled` is what
    the largest ``|b|`` of the path adds to each response.
    """

    path: Path
    declared: Declaration
    border: Array
    length: Array
    share: Array
    largest: Array
    own: Array
    travelled: Array

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
        b = np.maximum(size(s.b_start).max(axis=0), size(s.b_stop).max(axis=0))
        return cls(
            path=path,
            declared=Declaration.of(path.model, diag.size, *path.traced),
            border=border,
            length=np.sqrt(diag),
            share=rows / max(float(rows.max()), TINY),
            largest=largest,
            own=diag * largest,
            travelled=np.abs(border) @ b,
        )


@attrs.frozen
class Scales:
    """The scales of u and alpha at k points, and what rounding makes of them: a residual of
    `u_noise`, `alpha_noise` or `border_noise` is as good as one of 0 on the scale of 1."""

    u: Array
    alpha: Array
    terms: Array
    rounded: Array
    alpha_noise: Array
    border: Array

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
        weight = np.abs(alpha) @ length + apiece.max(axis=1)
        terms = np.outer(weight, length) + known.travelled
        terms = np.maximum(terms, piece.corner_terms)
        if border.shape[1]:
            terms = np.maximum(terms, np.outer(_middle(terms, steep), known.share))
        near = np.maximum(np.abs(u), size(piece.place))
        scale = np.maximum(np.maximum(known.own, near), np.maximum(rounded * terms, TINY))
        balance = target + np.abs(alpha) @ border
        # The alpha that would take up all of the slope, of the response, or of the border sum.
        slope = lines.largest()
        room = np.where(slope > 0.0, slope, np.inf)
        diag = length * length
        whole = np.divide(scale, diag, where=diag > 0.0, out=np.full(scale.shape, np.inf))
        for k, column in enumerate(border.T):
            alone = (diag == 0.0) & (column > 0.0)
            part = np.divide(balance[:, k : k + 1], column, where=alone, out=np.array(whole))
            whole = np.minimum(whole, part)
        room = np.minimum(room, whole)
        room = np.maximum(np.where(np.isfinite(room), room, known.largest), TINY)
        noise = np.divide(terms, diag, where=steep & (diag > 0.0), out=np.zeros(terms.shape))
        noise = np.minimum(rounded * noise, SOLVED * np.maximum(room, known.largest))
        noise = np.maximum(noise, rounded * np.maximum(known.largest, np.minimum(room, slope)))
        return cls(scale, room, terms, rounded, noise, np.maximum(balance, noise @ border))


def _middle(terms: Array, steep: Bools) -> Array:
    """The terms that b is found from: those of the coordinates on knots, as a rule (the median);
    those of all where nobody is on one."""
    rows = [row[on] if on.any() else row for row, on in zip(terms, steep, strict=True)]
    return np.array([np.median(row) for row in rows])
