"""Responses at many places of a path, without a full product with alpha at each.

With alpha = level + rate t on flat slopes and alpha_A on the active pieces,

    u(t) = Q level + t Q rate + Q_:A alpha_A + B b

where level and rate change in a few entries from one segment to the next.  So visit the places in
the order of travel, and multiply only the changes between them, for many places at a time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from homotopy.arrays import Array, Index
from homotopy.path.on_segments import FlatSlopes, OnSegments
from homotopy.path.tolerances import PATH_TOLERANCES

if TYPE_CHECKING:
    from homotopy.path.path import Path

__all__ = ["responses", "responses_on"]


def responses(path: Path, segment: Index, t: Array) -> Array:
    """Return the response at the places t of the given segments, one row each."""
    problem, n = path.problem, path.problem.gram.size
    out = np.empty((t.size, n))
    order = np.argsort(segment, kind="stable")
    flat, on = _Flat(path), OnSegments(path)
    block = PATH_TOLERANCES.block
    for count, first in enumerate(range(0, t.size, block)):
        rows = order[first : first + block]
        if count % PATH_TOLERANCES.anew == 0:
            flat.forget()
        out[rows] = flat.block(segment[rows], t[rows])
    b = np.array([on.b(k, v) for k, v in zip(segment.tolist(), t.tolist(), strict=True)])
    return out + b.reshape(t.size, -1) @ problem.border.T


def responses_on(path: Path, numbers: range) -> tuple[Array, Array]:
    """Return the response at the beginning and at the end of the segments of these numbers."""
    s, part = path.segments, np.array(numbers)
    if path.problem.gram.features() is None:
        t = np.stack([s.start[part], s.stop[part]], axis=1)
        u = responses(path, np.repeat(part, 2), t.ravel())
        return u[::2], u[1::2]
    on, response = OnSegments(path), path.problem.response
    alphas = [[on.alpha(k, float(t[k])) for k in numbers] for t in (s.start, s.stop)]
    first, last = (np.array(rows) for rows in alphas)
    return response(first, s.b_start[part]), response(last, s.b_stop[part])


class _Flat(FlatSlopes):
    """``Q level`` and ``Q rate`` of the flat slopes, kept from one block to the next."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.gram = path.problem.gram
        self.forget()

    def forget(self) -> None:
        """Recompute the products at the next block."""
        self.last: Array | None = None
        self.product = np.zeros_like(self.now)

    def block(self, segment: Index, t: Array) -> Array:
        """Return ``Q alpha`` at places given in the order of travel."""
        on, s, n = OnSegments(self.path), self.path.segments, self.piece.size
        flat, active = np.empty((2, t.size, n)), np.zeros((t.size, n))
        for row, (k, place) in enumerate(zip(segment.tolist(), t.tolist(), strict=True)):
            if k > self.segment:
                self.go_to(k)
            flat[:, row] = self.now
            active[row, s.actives(k)] = on.active_alpha(k, place)
        total = self._times(active)
        if self.last is None:
            self.last = flat[:, 0].copy()
            self.product = np.stack([self.gram.matvec(part) for part in self.last])
        for which in range(2):
            change = np.diff(flat[which], axis=0, prepend=self.last[which][None])
            products = np.cumsum(self._times(change), axis=0) + self.product[which]
            self.last[which], self.product[which] = flat[which, -1], products[-1]
            total += products if which == 0 else products * t[:, None]
        return total

    def _times(self, rows: Array) -> Array:
        """Return ``rows @ Q`` from the columns of `rows` that are not 0."""
        used = np.flatnonzero(np.any(rows, axis=0))
        if not used.size:
            return np.zeros_like(rows)
        stored = self.gram.rows()
        if stored is not None and np.all(stored[1][used] >= 0):
            return np.asarray(rows[:, used] @ stored[0][stored[1][used]])
        return np.asarray(rows[:, used] @ self.gram.block(used, np.arange(self.piece.size)))
