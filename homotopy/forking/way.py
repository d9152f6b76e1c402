"""The way of a row that was moved: its nodes, and everything at each of them."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from homotopy.forking.frozen import Frozen
from homotopy.forking.tolerances import FORK_TOLERANCES
from homotopy.path import Path, Segments, Status

__all__ = ["Way"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]


@attrs.frozen(eq=False)
class Way:
    """Segments of a way, each linear in the alpha of the row that moves.

    Attributes
    ----------
    row : int
        The row that moves.
    t : array (q,)
        Its alpha at each node, in the order of travel.
    alpha, response : arrays (q, n)
    border_multipliers : array (q, m)
    first, last : int arrays (k,)
        The nodes at which each segment begins and ends.
    piece : int array (k, n)
        The pieces on each segment.
    """

    row: int
    t: Array
    alpha: Array
    response: Array
    border_multipliers: Array
    first: Index
    last: Index
    piece: Index

    @classmethod
    def of_nodes(cls, row: int, rows: int, nodes: tuple[Any, ...]) -> Way:
        """Return the way that ``Walker.walks_recorded`` has recorded, of the first `rows` rows."""
        t, alpha, u, b, piece = nodes
        first = np.flatnonzero(np.diff(t))
        if not first.size:
            # Nothing moved: one point.
            first = last = np.zeros(1, np.int64)
        else:
            last = first + 1
        return cls(row, t, alpha[:, :rows], u[:, :rows], b, first, last, piece[first, :rows])

    @classmethod
    def of_path(cls, row: int, path: Path) -> Way:
        """Return the way that is recorded as a path."""
        segments = path.segments
        count = len(segments)
        alpha = np.array([end for ends in path._sweep() for end in ends])
        u = np.stack(path._responses_on(range(count)), axis=1).reshape(alpha.shape)
        b = np.stack([segments.b_start, segments.b_stop], axis=1).reshape(2 * count, -1)
        t = np.stack([segments.start, segments.stop], axis=1).ravel()
        piece = np.array([segments.pieces(k) for k in range(count)])
        first = 2 * np.arange(count)
        return cls(row, t, alpha, u, b, first, first + 1, piece)

    def trail(self) -> tuple[Array, Array]:
        """Return the nodes of the function alpha_row -> u_row; see `Moved.trail`."""
        ends = np.stack([self.first, self.last], axis=1).ravel()
        places, own = self.t[ends], self.response[ends, self.row]
        # A segment usually begins at the point where the previous one ends.
        near = FORK_TOLERANCES.same * np.abs(own).max(initial=0.0)
        again = (np.diff(places) == 0.0) & (np.abs(np.diff(own)) <= near)
        kept = np.concatenate([[True], ~again])
        kept[-1] = True
        return places[kept], own[kept]

    def path(self, frozen: Frozen) -> Path:
        """Return the way as a path of the problem in which alpha_row is t."""
        bend = frozen.tables.curvature
        every = np.arange(self.piece.shape[1])
        moves = (self.piece % 2 == 1) | (bend[every, self.piece // 2] > 0.0)
        k, active = np.nonzero(moves)
        before = np.vstack([self.piece[:1], self.piece[:-1]])
        entered, changed = np.nonzero(self.piece != before)
        count = self.first.size
        segments = Segments(
            start=self.t[self.first],
            stop=self.t[self.last],
            offset=_ends(k, count),
            active=active,
            alpha_start=self.alpha[self.first[k], active],
            alpha_stop=self.alpha[self.last[k], active],
            b_start=self.border_multipliers[self.first],
            b_stop=self.border_multipliers[self.last],
            event=_ends(entered, count),
            changed=changed,
            changed_to=self.piece[entered, changed],
            first_piece=self.piece[0],
        )
        span = frozen.span
        return Path(frozen, segments, (), Status.COMPLETE, span, {}, problem=frozen.problem())


def _ends(owner: Index, count: int) -> Index:
    return np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=count))])
