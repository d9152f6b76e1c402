"""The data of a walk (`homotopy.forking.walking`): its base, and its present point."""

from __future__ import annotations

from pathlib import Path as FilePath
from typing import Any, NamedTuple

import numpy as np

from homotopy.compilation import SHARED, digest
from homotopy.tracker.records import documented, records

__all__ = ["Lines", "Nodes", "Point", "Swapped", "Walk", "no_nodes", "no_steps", "no_swap"]

# What is compiled together; see `homotopy.compilation.options.digest`.
PARTS = [FilePath(__file__).with_name(name) for name in ("swapping.py", "walking.py")]
STEPS = documented(
    """
t            real   the alpha of the row that moves
stop         real   the alpha at which its move ends
sign         real   the direction of t
way          real   the direction of the response of `last`: up (1) or down (-1)
slow         real   speeds below this fraction of the largest are rounding, while b slides
small        real   a pivot below this fraction of its scale is doubtful
slack        real   how many times its tolerance a bound may be exceeded at the end
sum_off      real   the error allowed in the sum of all equations
sum_terms    real   the additional error allowed, relative to the terms of that sum
border_off   real   the error allowed in a border equation, relative to its terms
row          whole  the row that moves
begun        whole  whether its move has begun
changed      whole  how many coordinates are in P
touched      whole  how many coordinates may differ from the base
loose        whole  whether the last of P has no pivot
last         whole  the coordinate that left its knot when P became loose
want         whole  the column of H that is missing
count        whole  the steps of this row
most         whole  most steps of a row
left         whole  steps until the next pause
nodes        whole  how many nodes are recorded
""",
    f"source_{digest([*PARTS, *SHARED])}",
)


class Lines(NamedTuple):
    """What a walk does not change, one entry per coordinate: polylines, border, tolerances."""

    slope: Any  # (n, K + 1)
    bend: Any
    corner: Any  # (n, K)
    kind: Any
    border: Any  # (n, m)
    weight: Any
    diagonal: Any  # 1 / bend at the base
    near_z: Any  # the tolerance of z
    near_x: Any
    signs: Any  # 1, -1 or 0
    summed: Any  # Q signs, followed by B^T signs


class Point(NamedTuple):
    """A point of a walk, one entry per coordinate."""

    z: Any  # followed by b
    x: Any
    low: Any  # the bounds of z; infinite where x has bounds
    high: Any
    piece: Any
    moves: Any  # whether alpha moves: on a knot, not dependent, or on a slanted piece

    def copied(self) -> Point:
        return Point(*(array.copy() for array in self))


class Swapped(NamedTuple):
    """P: the coordinates that have changed sides since the base."""

    place: Any  # one entry per coordinate: its position in P, -1 outside
    inside: Any  # one entry per position in P, as below: the coordinate
    delta: Any
    low_x: Any
    high_x: Any
    rate: Any
    pivot: Any
    beside: Any  # the entry of a 2 x 2 pivot beside its diagonal; else 0
    lower: Any


class Nodes(NamedTuple):
    """The recorded nodes of a move."""

    t: Any
    z: Any
    x: Any
    piece: Any


class Walk(NamedTuple):
    """All data of a walk.  ``columns[slot[k]]`` is column k of H, followed by the rates of b; the
    slot of a column that is not stored is -1."""

    columns: Any
    slot: Any
    dz: Any
    touched: Any  # the coordinates that may differ from the base
    lines: Lines
    base: Point
    now: Point
    swapped: Swapped
    nodes: Nodes
    steps: Any


def no_nodes(n: int, m: int, most: int) -> Nodes:
    """Return space for `most` nodes."""
    piece = np.zeros((most, n), np.int64)
    return Nodes(np.zeros(most), np.zeros((most, n + m)), np.zeros((most, n)), piece)


def no_swap(n: int, most: int) -> Swapped:
    """Return an empty P with room for `most` coordinates."""
    delta, low_x, high_x, rate, pivot, beside = np.zeros((6, most))
    place, inside = np.full(n, -1), np.zeros(most, np.int64)
    lower = np.zeros((most, most))
    return Swapped(place, inside, delta, low_x, high_x, rate, pivot, beside, lower)


def no_steps() -> Any:
    """Return the single numbers, all 0."""
    return records(np.zeros(1, STEPS))
