"""What a page needs from a path: values at both ends of its segments, thinned to what shows.

Up to a limit, segments are kept as they are; beyond it, neighbours are joined into stretches, but
never across the largest jumps.  Every stretch k has two ends, numbered 2k and 2k + 1 in the order
of travel.  A curve is a list of ends with a value at each: it is linear between them, and breaks
where ends 2k - 1 and 2k (the same t) have two values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from homotopy.arrays import Array, Index
from homotopy.path.on_segments import OnSegments
from homotopy.progress import told
from homotopy.report.sizes import PAGE_SIZES, PageSizes

if TYPE_CHECKING:
    from homotopy.path import Path

__all__ = ["JumpSite", "Samples", "jump_sites", "stretches", "thinned"]


@attrs.frozen(eq=False)
class JumpSite:
    """All jumps at one t: the segments on both sides and the coordinates that flipped."""

    t: float
    before: int
    after: int
    flipped: Index
    objective_before: float
    objective_after: float
    moved: bool


def jump_sites(path: Path) -> list[JumpSite]:
    """Return the jumps of a path in the order of travel, one site per t."""
    on, records = OnSegments(path), dict[float, list[Any]]()
    for jump in path.jumps:
        records.setdefault(jump.t, []).append(jump)
    return [
        JumpSite(
            t=t,
            before=on.locate(t, "before")[0],
            after=on.locate(t, "after")[0],
            flipped=np.unique(np.concatenate([jump.flipped for jump in jumps])),
            objective_before=jumps[0].objective_before,
            objective_after=jumps[-1].objective_after,
            moved=any(jump.moved for jump in jumps),
        )
        for t, jumps in records.items()
    ]


def stretches(path: Path, sites: Sequence[JumpSite], most: int) -> tuple[Index, Index]:
    """Return the first and the last segment of every stretch: single segments if there are at most
    `most`.  A stretch begins at each of `sites`."""
    s = path.segments
    count = len(s)
    if count <= most:
        each = np.arange(count)
        return each, each
    forced = [site.after for site in sites]
    # Of the remaining cuts, place half evenly in t and half evenly among the break-points.
    left = (most - len(forced)) // 2
    by_count = np.linspace(0, count - 1, left).astype(np.int64)
    places = np.linspace(s.start[0], s.stop[-1], left)
    by_t = np.searchsorted(s.sign * s.start, s.sign * places, side="right") - 1
    first = np.unique(np.clip(np.concatenate([[0], forced, by_count, by_t]), 0, count - 1))
    return first.astype(np.int64), np.append(first[1:] - 1, count - 1).astype(np.int64)


@attrs.frozen(eq=False)
class Samples:
    """A path at both ends of its stretches."""

    path: Path
    # The jumps kept one by one.
    sites: list[JumpSite]
    # The first and the last segment of each stretch.
    first: Index
    last: Index
    sizes: PageSizes

    @classmethod
    def of(cls, path: Path, sizes: PageSizes = PAGE_SIZES) -> Samples:
        """Cut a path into stretches, and choose its largest jumps."""
        sites, most = jump_sites(path), sizes.room(path)
        many = min(sizes.jumps, most // 2)
        if len(sites) > many:
            falls = np.array([abs(j.objective_before - j.objective_after) for j in sites])
            falls = np.where(np.isfinite(falls), falls, 0.0)
            largest = np.sort(np.argsort(-falls, kind="stable")[:many])
            sites = [sites[i] for i in largest.tolist()]
        first, last = stretches(path, sites, most)
        return cls(path, sites, first, last, sizes)

    def __len__(self) -> int:
        return int(self.first.size)

    @property
    def whole(self) -> bool:
        """Whether every segment is its own stretch."""
        return len(self) == len(self.path.segments)

    @property
    def start(self) -> Array:
        """The t at which each stretch begins."""
        return np.asarray(self.path.segments.start[self.first])

    @property
    def stop(self) -> Array:
        """The t at which each stretch ends."""
        return np.asarray(self.path.segments.stop[self.last])

    @property
    def ends(self) -> Array:
        """t at ends 2k and 2k + 1 of every stretch k."""
        return np.stack([self.start, self.stop], axis=1).ravel()

    def stretch_of(self, segment: Any) -> Index:
        """Return the stretch that contains a segment."""
        return np.asarray(np.searchsorted(self.first, segment, side="right") - 1, dtype=np.int64)

    # ------------------------------------------------------------------ pieces

    def events(self) -> tuple[Index, Index, Index, Index]:
        """Return every change of piece in the order of travel: segment, coordinate, from, to."""
        s = self.path.segments
        order = np.argsort(s.changed, kind="stable")
        row, to = s.changed[order], s.changed_to[order]
        same = np.append(False, row[1:] == row[:-1])[: row.size]
        came = np.where(same, np.roll(to, 1), s.first_piece[row])
        before = np.empty_like(came)
        before[order] = came
        return s.changed_on(), np.asarray(s.changed), before, np.asarray(s.changed_to)

    def counts(self) -> Index:
        """Return the number of coordinates on each piece at the end of every stretch."""
        s = self.path.segments
        segment, _, before, to = self.events()
        kinds = len(self.path.problem.polylines.names)
        stretch = self.stretch_of(segment)
        change = np.zeros((len(self), kinds), dtype=np.int64)
        np.add.at(change, (stretch, to), 1)
        np.add.at(change, (stretch, before), -1)
        return np.asarray(np.bincount(s.first_piece, minlength=kinds) + np.cumsum(change, axis=0))

    # ------------------------------------------------------------------ values

    def blocks(self) -> Iterator[tuple[slice, Array, Array]]:
        """Yield alpha (2 k, n) and b (2 k, m) at both ends of a block of stretches."""
        n = int(self.path.segments.first_piece.size)
        size = max(1, self.sizes.block // (2 * n))
        for begin in range(0, len(self), size):
            part = slice(begin, min(begin + size, len(self)))
            alpha, b = self.at_ends(range(2 * part.start, 2 * part.stop))
            yield part, alpha, b

    def at_ends(self, ends: Sequence[int]) -> tuple[Array, Array]:
        """Return alpha (k, n) and b (k, m) at some ends."""
        on, alpha, b = OnSegments(self.path), [], []
        start, stop = self.start, self.stop
        for end in ends:
            k, late = divmod(end, 2)
            segment, t = (self.last[k], stop[k]) if late else (self.first[k], start[k])
            # The end itself is stored; a weight of exactly 1 returns it unchanged.
            alpha.append(on.alpha(int(segment), float(t)))
            b.append(on.b(int(segment), float(t)))
        return np.stack(alpha), np.stack(b)

    def travel(self) -> Array:
        """Return the total variation of each alpha along the path, jumps included."""
        n = int(self.path.segments.first_piece.size)
        total, previous = np.zeros(n), None
        for _, alpha, _ in self.blocks():
            joined = alpha if previous is None else np.vstack([previous, alpha])
            total += np.abs(np.diff(joined, axis=0)).sum(axis=0)
            previous = alpha[-1:]
        return total

    def watch(self, rows: Index, objective: bool) -> tuple[Array, Array, Array | None]:
        """Return alpha and response of `rows` at all ends, (2 K, rows) each, and the objective
        (K, 3) at the beginning, middle and end of every stretch."""
        path, problem, on = self.path, self.path.problem, OnSegments(self.path)
        alphas, responses = np.empty((2, 2 * len(self), rows.size))
        values = np.empty((len(self), 3)) if objective else None
        brief = self.sizes.brief * abs(path.traced[1] - path.traced[0])
        breaks = {jump.t for jump in path.jumps} if self.whole else set(self.start.tolist())
        for part, alpha, b in self.blocks():
            u = problem.response(alpha, b)
            ends = slice(2 * part.start, 2 * part.stop)
            alphas[ends], responses[ends] = alpha[:, rows], u[:, rows]
            if values is None:
                continue
            for k in range(part.start, part.stop):
                told(k, len(self))
                i = 2 * (k - part.start)
                t0, t1 = float(self.start[k]), float(self.stop[k])
                values[k, 2] = problem.objective(t1, alpha[i + 1], b[i + 1], u[i + 1])
                if k and t0 not in breaks:
                    values[k, 0] = values[k - 1, 2]
                else:
                    values[k, 0] = problem.objective(t0, alpha[i], b[i], u[i])
                middle = 0.5 * (t0 + t1)
                if abs(t1 - t0) <= brief:
                    # A parabola this short is a straight line to all digits shown.
                    values[k, 1] = 0.5 * (values[k, 0] + values[k, 2])
                elif self.first[k] == self.last[k]:
                    # alpha, b and u are linear on one segment, so their middle is a mean.
                    ends_of = (0.5 * (x[i] + x[i + 1]) for x in (alpha, b, u))
                    values[k, 1] = problem.objective(middle, *ends_of)
                else:
                    values[k, 1] = on.objective(*on.locate(middle, "after"))
        return alphas, responses, values


def thinned(t: Array, value: Array, tol: float) -> Index:
    """Drop ends greedily as long as `value` stays within `tol` of the straight lines left; return
    the ends that are kept.

    A step from end 2k - 1 to end 2k by more than `tol` is a break: both its ends stay, as do the
    first and the last end.
    """
    keep = np.zeros(t.size, dtype=bool)
    keep[[0, -1]] = True
    inner = np.arange(1, t.size - 1, 2)
    broken = inner[np.abs(value[inner + 1] - value[inner]) > tol]
    keep[broken], keep[broken + 1] = True, True
    runs = [pair for pair in pairwise(np.flatnonzero(keep).tolist()) if pair[1] - pair[0] > 1]
    while runs:
        low, high = runs.pop()
        length = t[high] - t[low]
        weight = (t[low + 1 : high] - t[low]) / (length if length else 1.0)
        line = value[low] + weight * (value[high] - value[low])
        off = np.abs(value[low + 1 : high] - line)
        worst = int(np.argmax(off))
        if off[worst] <= tol:
            continue
        middle = low + 1 + worst
        keep[middle] = True
        runs += [(a, z) for a, z in ((low, middle), (middle, high)) if z - a > 1]
    return np.flatnonzero(keep)
