"""Reading a path: its segments one by one, and the changes between them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import attrs
import numpy as np

from homotopy.arrays import Index
from homotopy.path.jump_record import JumpRecord
from homotopy.path.segments import read_only

if TYPE_CHECKING:
    from homotopy.path.path import Path


@attrs.frozen
class Change:
    """Coordinate `row` moves from the piece named `before` to the piece named `after`; `name` is
    what its model calls it (`LossModel.coordinate_name`)."""

    row: int
    before: str
    after: str
    name: str


@attrs.frozen(eq=False)
class Segment:
    """A part of a path on which no coordinate changes its piece and everything is linear in t.

    Attributes
    ----------
    number : int
        Its index on the path, from 0.
    start, stop : float
        Its ends, in the order of travel.
    active : int array
        The coordinates whose alpha is free.
    changes : tuple of Change
        The coordinates that change piece at its end; empty at the end of the path.
    jump : JumpRecord or None
        The jump at its end, if there is one; `changes` are then those of the jump.
    """

    number: int
    start: float
    stop: float
    active: Index = attrs.field(converter=read_only)
    changes: tuple[Change, ...]
    jump: JumpRecord | None

    @property
    def interval(self) -> tuple[float, float]:
        """The interval of t on which this active set is optimal, the smaller end first."""
        return min(self.start, self.stop), max(self.start, self.stop)

    def __contains__(self, t: float) -> bool:
        low, high = self.interval
        return low <= t <= high

    def __str__(self) -> str:
        low, high = self.interval
        then = ", ".join(f"{c.name}: {c.before} -> {c.after}" for c in self.changes[:3])
        more = f" and {len(self.changes) - 3} more" if len(self.changes) > 3 else ""
        what = f"jump, {then}" if self.jump is not None else then or "the end"
        return f"[{low:.6g}, {high:.6g}] {self.active.size} active; then {what}{more}"


def segments_of_path(path: Path) -> Iterator[Segment]:
    """Yield the segments in the order of travel."""
    piece = path.segments.pieces(0)
    jumps = {jump.t: jump for jump in path.jumps}
    for k in range(len(path.segments)):
        yield _segment(path, k, piece, jumps)


def segment_of(path: Path, k: int) -> Segment:
    """Return segment k."""
    jumps = {jump.t: jump for jump in path.jumps}
    return _segment(path, k, path.segments.pieces(k), jumps)


def _segment(path: Path, k: int, piece: Index, jumps: dict[float, JumpRecord]) -> Segment:
    """Return segment k with the pieces `piece`, and update `piece` to those of the next one."""
    s, changes = path.segments, []
    if k + 1 < len(s):
        new = slice(s.event[k + 1], s.event[k + 2])
        for row, after in zip(s.changed[new].tolist(), s.changed_to[new].tolist(), strict=True):
            if piece[row] != after:
                old, new_piece = _name(path, int(piece[row])), _name(path, after)
                changes.append(Change(row, old, new_piece, path.model.coordinate_name(row)))
                piece[row] = after
    stop = float(s.stop[k])
    return Segment(
        number=k,
        start=float(s.start[k]),
        stop=stop,
        active=np.sort(s.actives(k)),
        changes=tuple(changes),
        jump=jumps.get(stop),
    )


def _name(path: Path, piece: int) -> str:
    return path.problem.polylines.names[piece] or f"jump {piece // 2}"
