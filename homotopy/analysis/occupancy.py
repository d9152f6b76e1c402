"""The t at which each coordinate of a path is on given pieces of its polyline."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np

from homotopy.arrays import Array, Index
from homotopy.errors import PathError
from homotopy.path.segments import Pickled, read_only

if TYPE_CHECKING:
    from homotopy.path import Path

__all__ = ["Occupancy", "occupancy"]


@attrs.frozen(eq=False, repr=False)
class Occupancy(Pickled):
    """When, and for how much of the path, each coordinate is on given pieces of its polyline.

    Attributes
    ----------
    parameter : str
        The name of t.
    pieces : tuple of str
        The names of the pieces.
    traced : (float, float)
        The first and last t of the path, in the order of travel.
    first : array (n,)
        The t at which each coordinate first reaches one of the pieces; NaN if it never does.
    share : array (n,)
        The fraction of the path spent on the pieces, 0 to 1 (0 or 1 on a path of one point).
    row, start, stop : arrays
        Every stay on the pieces: its coordinate, its first t and its last t, sorted by coordinate
        and then in the order of travel.
    """

    parameter: str
    pieces: tuple[str, ...]
    traced: tuple[float, float]
    first: Array = attrs.field(converter=read_only)
    share: Array = attrs.field(converter=read_only)
    row: Index = attrs.field(converter=read_only)
    start: Array = attrs.field(converter=read_only)
    stop: Array = attrs.field(converter=read_only)

    def of(self, i: int) -> tuple[tuple[float, float], ...]:
        """Return the stays of coordinate i as pairs (start, stop), in the order of travel."""
        n = self.first.size
        if not -n <= i < n:
            raise PathError(f"row {i} is not among the {n} rows of the path")
        low, high = np.searchsorted(self.row, [i % n, i % n + 1])
        pairs = zip(self.start[low:high].tolist(), self.stop[low:high].tolist(), strict=True)
        return tuple(pairs)

    def __repr__(self) -> str:
        begin, end = self.traced
        ever = int(np.isfinite(self.first).sum())
        return (
            f"<Occupancy on {', '.join(self.pieces)}: {ever} of {self.first.size} rows, "
            f"{self.parameter} {begin:.6g} -> {end:.6g}>"
        )


def occupancy(path: Path, names: tuple[str, ...]) -> Occupancy:
    """Compute when each coordinate of `path` is on one of the pieces `names`."""
    known = path.problem.polylines.names
    for name in names:
        if name not in known or not name:
            have = ", ".join(k for k in known if k)
            raise PathError(f"no piece is called {name!r}; the pieces are {have}")
    if not names:
        raise PathError("occupancy: name at least one piece")
    wanted = np.array([k in names for k in known])
    s = path.segments
    n = s.first_piece.size
    begin, end = path.traced
    row, piece, segment = s.visits()
    t, on = s.start[segment], wanted[piece]
    # A stay begins where the coordinate was on another piece before, and lasts until it leaves the
    # pieces or the path ends.
    same = np.append(False, row[1:] == row[:-1])
    came = on & ~(same & np.append(False, on[:-1]))
    left = ~on & same & np.append(False, on[:-1])
    until_end = on & np.append(row[1:] != row[:-1], True)
    start, who = t[came], row[came]
    over = left | until_end
    departure = np.where(until_end, end, t)[over]
    # Entering and leaving at one t is not a stay; entering at the very end is.
    real = (start != departure) | until_end[over]
    start, departure, who = start[real], departure[real], who[real]
    first = np.full(n, np.nan)
    first[who[::-1]] = start[::-1]
    share = np.zeros(n)
    length = abs(end - begin)
    np.add.at(share, who, np.abs(departure - start) / length if length else 1.0)
    return Occupancy(
        parameter=path.model.parameter,
        pieces=tuple(names),
        traced=(begin, end),
        first=first,
        share=np.minimum(share, 1.0),
        row=who,
        start=start,
        stop=departure,
    )
