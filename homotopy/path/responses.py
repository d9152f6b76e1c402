"""Responses at many places of a path, without a full product with alpha at each.

With alpha = level + rate t on flat slopes and alpha_A on the active pieces,

    u(t) = Q level + t Q rate + Q_:A alpha_A + B b

where level and rate change in a few entries from one segment to the next.  So visit the places in
the order of travel, and multiply only the changes between them, for many places at a time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from homotopy.path.tolerances import PATH_TOLERANCES

if TYPE_CHECKING:
    from homotopy.path.path import Path

__all__ = ["responses"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]


def responses(path: Path, segment: Index, t: Array) -> Array:
    """Return the response at the places t of the given segments, one row each."""
    problem, n = path.problem, path.problem.gram.size
    out = np.empty((t.size, n))
    order = np.argsort(segment, kind="stable")
    flat = _Flat(path)
    block = PATH_TOLERANCES.block
    for count, first in enumerate(range(0, t.size, block)):
        rows = order[first : first + block]
        if count % PATH_TOLERANCES.anew == 0:
            flat.forget()
        out[rows] = flat.block(segment[rows], t[rows])
    b = np.array([path._b_on(k, v) for k, v in zip(segment.tolist(), t.tolist(), strict=True)])
    return out + b.reshape(t.size, -1) @ problem.border.T


class _Flat:
    """``Q level`` and ``Q rate`` of the flat slopes, kept from one block to the next."""

    def __init__(self, path: Path) -> None:
        self.path, self.gram = path, path.problem.gram
        s = path.segments
        self.segment, self.piece = -1, s.first_piece.copy()
        self.now = np.stack(path._flat(np.arange(self.piece.size), self.piece))
        self.forget()

    def forget(self) -> None:
        """Recompute the products at the next block."""
        self.last: Array | None = None
        self.product = np.zeros_like(self.now)

    def _go_to(self, k: int) -> None:
        """Set `now` to the level and rate of every coordinate on segment k."""
        s = self.path.segments
        new = slice(s.event[self.segment + 1], s.event[k + 1])
        changed = s.changed[new]
        # Later events overwrite earlier ones: NumPy assigns in order.
        self.piece[changed] = s.changed_to[new]
        self.now[:, changed] = self.path._flat(changed, self.piece[changed])
        self.segment = k

    def block(self, segment: Index, t: Array) -> Array:
        """Return ``Q alpha`` at places given in the order of travel."""
        path, s, n = self.path, self.path.segments, self.piece.size
        flat, active = np.empty((2, t.size, n)), np.zeros((t.size, n))
        for row, (k, place) in enumerate(zip(segment.tolist(), t.tolist(), strict=True)):
            if k > self.segment:
                self._go_to(k)
            flat[:, row] = self.now
            part, weight = slice(s.offset[k], s.offset[k + 1]), path._weight(k, place)
            values = (1.0 - weight) * s.alpha_start[part] + weight * s.alpha_stop[part]
            active[row, s.active[part]] = values
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
