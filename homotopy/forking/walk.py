"""The numbers of a walk (`homotopy.forking.walking`): what it begins with, and where it is."""

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
stop         real   where it goes
sign         real   in which direction
way          real   1 or -1: where `last` went
slow         real   speeds below this fraction of the largest are rounding, while b slides
small        real   a pivot below this fraction of its scale is doubtful
slack        real   how many times `near` a bound may be exceeded at the end
sum_off      real   what the sum over all equations may be off
sum_terms    real   and how much more, relative to its terms
border_off   real   what a border equation may be off, relative to its terms
row          whole  the row that moves
begun        whole  whether its way has begun
changed      whole  how many coordinates are in P
touched      whole  how many coordinates may differ from the base
loose        whole  whether the last of P has no pivot
last         whole  the coordinate that has left its knot then
want         whole  the column of H that is missing
count        whole  the steps of this row
most         whole  most steps of a row
left         whole  steps until the next pause
nodes        whole  how many nodes are recorded
""",
    f"source_{digest([*PARTS, *SHARED])}",
)


class Lines(NamedTuple):
    """What stays, by coordinate: polylines, border, tolerances."""

    slope: Any  # (n, K + 1)
    bend: Any
    corner: Any  # (n, K)
    kind: Any
    border: Any  # (n, m)
    weight: Any
    diagonal: Any  # 1 / bend at the base
    near_z: Any  # how much of z is rounding
    near_x: Any
    signs: Any  # 1, -1 or 0, and Q (then B^T) times them
    summed: Any


class Point(NamedTuple):
    """Where everything is, by coordinate."""

    z: Any  # and b
    x: Any
    low: Any  # the bounds of z; infinite where x has bounds
    high: Any
    piece: Any
    moves: Any  # whether alpha moves: on a knot, not dependent, or on a slanted piece

    def copied(self) -> Point:
        return Point(*(array.copy() for array in self))


class Swapped(NamedTuple):
    """P: the coordinates that have changed sides since the base."""

    place: Any  # by coordinate, its position in P; -1 outside
    inside: Any  # by position, as all that follows: the coordinate
    delta: Any
    low_x: Any
    high_x: Any
    rate: Any
    pivot: Any
    beside: Any  # what a 2 x 2 pivot has beside its diagonal; else 0
    lower: Any


class Nodes(NamedTuple):
    """The nodes of a way, as far as there is room for them."""

    t: Any
    z: Any
    x: Any
    piece: Any


class Walk(NamedTuple):
    """All of it.  ``columns[slot[k]]`` is column k of H, then the rates of b; the slot of a column
    that is not there is -1."""

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
    """Return room for nodes."""
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
