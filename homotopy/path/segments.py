"""How a path is stored: segments, each linear in t, and the log of piece changes between them."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from homotopy.arrays import Array, Index
from homotopy.errors import PathError

__all__ = ["GROUPS", "Pickled", "Segments", "locate", "nodes", "offsets", "read_only"]

# The arrays of `Segments` except `first_piece`, grouped by length: one entry per segment, one more
# than that, one per active coordinate of a segment, one per change of piece.
GROUPS = (
    ("start", "stop", "b_start", "b_stop"),
    ("offset", "event"),
    ("active", "alpha_start", "alpha_stop"),
    ("changed", "changed_to"),
)


def read_only(value: Any) -> Any:
    """Return a read-only copy as an array."""
    array = np.array(value)
    array.setflags(write=False)
    return array


class Pickled:
    """Base of frozen attrs classes whose arrays are read-only again after unpickling."""

    __slots__ = ()

    def __reduce__(self) -> tuple[Any, ...]:
        fields = attrs.fields(type(self))  # type: ignore[arg-type]
        return type(self), tuple(getattr(self, field.name) for field in fields)


def nodes(start: Array, stop: Array) -> Array:
    """Return the ends of consecutive intervals, each t once."""
    points = np.concatenate([start, stop[-1:]])
    keep = np.concatenate([[True], points[1:] != points[:-1]])
    return read_only(points[keep])  # type: ignore[no-any-return]


def offsets(owner: Index, count: int) -> Index:
    """Return where the entries of each of `count` owners begin, and where the last ones end, if
    entries are sorted by `owner`."""
    return np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=count))])


def locate(start: Array, stop: Array, sign: float, t: Any, side: str) -> Index:
    """Return which of the consecutive intervals ``start[k]`` to ``stop[k]`` contains `t`.  `sign`
    is the direction of travel; where two meet, ``side`` chooses the later ("after") or earlier."""
    if side == "after":
        k = np.searchsorted(sign * start, sign * np.asarray(t), side="right") - 1
    elif side == "before":
        k = np.searchsorted(sign * stop, sign * np.asarray(t), side="left")
    else:
        raise PathError(f"side must be 'after' or 'before', got {side!r}")
    return np.clip(k, 0, start.size - 1)


@attrs.frozen(eq=False)
class Segments(Pickled):
    """The stored path: segment k runs from ``start[k]`` to ``stop[k]`` in the order of travel.

    ``active[offset[k]:offset[k+1]]`` are its active coordinates, ``alpha_start`` and
    ``alpha_stop`` their alpha at its two ends; ``changed[event[k]:event[k+1]]`` are the
    coordinates that change piece on entering segment k, ``changed_to`` their new pieces.  A segment
    of length zero holds one point (a start or an end on a jump).
    """

    start: Array = attrs.field(converter=read_only)
    stop: Array = attrs.field(converter=read_only)
    offset: Index = attrs.field(converter=read_only)
    active: Index = attrs.field(converter=read_only)
    alpha_start: Array = attrs.field(converter=read_only)
    alpha_stop: Array = attrs.field(converter=read_only)
    b_start: Array = attrs.field(converter=read_only)
    b_stop: Array = attrs.field(converter=read_only)
    event: Index = attrs.field(converter=read_only)
    changed: Index = attrs.field(converter=read_only)
    changed_to: Index = attrs.field(converter=read_only)
    first_piece: Index = attrs.field(converter=read_only)

    def __len__(self) -> int:
        return int(self.start.size)

    @property
    def sign(self) -> float:
        """1 if t grows along the path (or does not move), else -1."""
        return 1.0 if self.stop[-1] >= self.start[0] else -1.0

    def pieces(self, k: int) -> Index:
        """Return the piece of every coordinate on segment k."""
        piece: Index = self.first_piece.copy()
        end = self.event[k + 1]
        # Later events overwrite earlier ones: NumPy assigns in order.
        piece[self.changed[:end]] = self.changed_to[:end]
        return piece

    def changed_on(self) -> Index:
        """Return the segment that each change of piece leads to."""
        return np.searchsorted(self.event, np.arange(self.changed.size), side="right") - 1

    def visits(self) -> tuple[Index, Index, Index]:
        """Return coordinate, piece and first segment of every visit to a piece, which begins at the
        start or with a change: by coordinate, then in the order of travel."""
        n = self.first_piece.size
        row = np.concatenate([np.arange(n), self.changed])
        piece = np.concatenate([self.first_piece, self.changed_to])
        first = np.concatenate([np.zeros(n, np.int64), self.changed_on()])
        order = np.argsort(row, kind="stable")
        return row[order], piece[order], first[order]

    def actives(self, k: int) -> Index:
        """Return the active coordinates of segment k."""
        found: Index = self.active[self.offset[k] : self.offset[k + 1]]
        return found

    def first(self, count: int) -> Segments:
        """Return the first `count` segments."""
        lengths = count, count + 1, int(self.offset[count]), int(self.event[count])
        parts = {
            name: getattr(self, name)[:length]
            for names, length in zip(GROUPS, lengths, strict=True)
            for name in names
        }
        return attrs.evolve(self, **parts)

    @property
    def nbytes(self) -> int:
        """Memory used, in bytes."""
        return sum(int(getattr(self, a.name).nbytes) for a in attrs.fields(Segments))
