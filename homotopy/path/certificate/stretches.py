"""Parts of a path that are examined on their own, given as segments ``first .. last``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from homotopy.path.certificate.points import Places

if TYPE_CHECKING:
    from homotopy.path import Path

__all__ = ["Stretches", "around"]

Stretches = list[tuple[int, int]]


def around(path: Path, stretches: Stretches) -> Places:
    """Return both ends of the segments of each stretch, the end of the segment before and the start
    of the one after: so junctions and jumps at its ends are seen from both sides.

    Segments of length zero beside it (between jumps at one t) belong to it.  A stretch may reach
    beyond the end of the path.
    """
    s = path.segments
    empty, last_one = s.start == s.stop, len(s) - 1
    # Place 2 k is the start of segment k, 2 k + 1 its end.
    wanted = np.zeros(2 * len(s), dtype=bool)
    for first, last in stretches:
        first, last = min(first, last_one), min(last, last_one)
        before, after = max(first - 1, 0), min(last + 1, last_one)
        while before > 0 and empty[before]:
            before -= 1
        while after < last_one and empty[after]:
            after += 1
        begin = 2 * before + (before < first and not empty[before])
        wanted[begin : 2 * after + (1 if after > last else 2)] = True
    wanted[1::2] &= ~empty
    place = np.flatnonzero(wanted)
    k = place // 2
    return Places(k, np.where(place % 2 == 0, s.start[k], s.stop[k]))
