"""Places of a path, and everything recomputed there from alpha and the data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
import numpy.typing as npt

from homotopy.path.certificate import loops
from homotopy.path.certificate.lines import TINY, finite, fixed, size
from homotopy.path.certificate.loops import NEAR, STANDING
from homotopy.path.certificate.polylines import LEVEL
from homotopy.path.certificate.scales import Known

if TYPE_CHECKING:
    from homotopy.path import Path

__all__ = ["NEAR", "Place", "Places", "Points", "Stretch", "Walk"]

Array = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Index = npt.NDArray[np.integer[Any]]


# A t so small a part of its span is 0 to rounding, and then known to the rounding of this part of
# it, times the roundings that t takes.
ZERO, SPANNED = 64.0 * float(np.finfo(float).eps), 1.0 / 16.0


@attrs.frozen
class Places:
    """Where a path is looked at, in the order of travel: t of segment `segment`."""

    segment: Index
    t: Array

    def __len__(self) -> int:
        return int(self.segment.size)

    def part(self, rows: Any) -> Places:
        """Some of them."""
        return Places(self.segment[rows], self.t[rows])

    def travel(self, path: Path) -> Array:
        """The size of the numbers that t comes from: the ends of the segment, and of the one before
        it where it begins; and a part of the span where t is 0 to the rounding of that (slopes and
        corners that go to 0 with t are 1e-30 at the end of a path, and alpha is not)."""
        s, k, span = path.segments, self.segment, abs(path.span[1] - path.span[0])
        ends = np.maximum(np.abs(s.start), np.abs(s.stop))
        ends = np.maximum(ends[k], np.abs(s.start[np.maximum(k - 1, 0)]))
        return np.where(ends <= ZERO * span, np.maximum(ends, SPANNED * span), ends)

    def follow(self, path: Path) -> Bools:
        """Which of them are where the segment of the place before has just ended."""
        s, k, t = path.segments, self.segment, self.t
        ended = (k[1:] == k[:-1] + 1) & (t[:-1] == s.stop[k[:-1]]) & (t[1:] == t[:-1])
        return np.concatenate([[False], ended & (t[1:] == s.start[k[1:]])])

    @classmethod
    def ends(cls, path: Path, segments: Index) -> Places:
        """Both ends of `segments`; one of length zero has one."""
        s = path.segments
        k = np.repeat(segments, 2)
        t = np.stack([s.start[segments], s.stop[segments]], axis=1).ravel()
        keep = np.ones(k.size, dtype=bool)
        keep[1::2] = t[1::2] != t[::2]
        return cls(k[keep], t[keep])


@attrs.frozen
class Stretch:
    """Places in a row.  `follows`: the place is where the segment before has just ended; `equal`:
    and alpha and b are the same there; `base`: the row of `alpha` and `b` that it has; `fresh`: the
    first place of each row; `crossed`: and a coordinate changes branch there, from `before` on."""

    places: Places
    alpha: Array
    b: Array
    named: Index
    before: Index
    follows: Bools
    equal: Bools
    crossed: Bools
    fresh: Index
    base: Index


class Walk:
    """Goes along a path and gives alpha, b and the named pieces at one place after the other."""

    def __init__(self, path: Path) -> None:
        s, lines = path.segments, path.problem.polylines
        self.path, self.piece = path, s.first_piece.astype(np.int64)
        every = np.arange(self.piece.size)
        self.flat = np.stack(path._flat(every, self.piece))
        self.done = np.zeros(1, np.int64)
        self.last = np.zeros(self.piece.size), self.piece.astype(np.int16)
        self.b = np.full(s.b_start.shape[1], np.nan)
        self.stored = (fixed(s.offset, np.int64), fixed(s.active, np.int64), fixed(s.alpha_start),
                       fixed(s.alpha_stop))  # fmt: skip
        self.events = tuple(fixed(part, np.int64) for part in (s.event, s.changed, s.changed_to))
        self.slopes = fixed(lines.slope0), fixed(lines.slope1)
        self.bends = fixed(lines.curvature)
        self.passed = fixed(np.concatenate([[0], np.cumsum(lines.jump)]), np.int64)

    def along(self, places: Places, follows: Bools) -> Stretch:
        """The next `places`, none before those asked for earlier."""
        s, n, count = self.path.segments, self.piece.size, len(places)
        k, t = places.segment, places.t
        long = s.stop[k] - s.start[k]
        weight = np.divide(t - s.start[k], long, where=long != 0.0, out=np.zeros(k.size))
        b = (1.0 - weight[:, None]) * s.b_start[k] + weight[:, None] * s.b_stop[k]
        same = follows & np.all(b == np.concatenate([self.b[None], b[:-1]]), axis=1)
        alpha, named = np.empty((count, n)), np.empty((count, n), np.int16)
        base, equal = np.empty(count, np.int64), np.zeros(count, bool)
        crossed, before = np.zeros(count, bool), self.last[1]
        rows = loops.enter(
            fixed(k, np.int64), fixed(t), weight, same, self.stored, self.events, self.slopes,
            self.bends, self.passed, (self.piece, self.flat, self.done), self.last,
            (alpha, named, base, equal, crossed),
        )  # fmt: skip
        fresh = np.searchsorted(base, np.arange(rows))
        self.last, self.b = (alpha[rows - 1].copy(), named[-1].copy()), b[-1]
        return Stretch(
            places, alpha[:rows], b[fresh], named, before, follows, equal, crossed & follows,
            fresh, base,
        )  # fmt: skip


@attrs.frozen
class Points:
    """Places with everything recomputed: one row per place, one column per coordinate."""

    known: Known
    places: Places
    alpha: Array
    b: Array
    w: Array
    u: Array
    scale: Array
    slopes: Array
    corners: Array
    travel: Array
    absolute: Bools
    answers: Array
    renamed: Array

    @classmethod
    def of(cls, known: Known, stretch: Stretch, w: Array, rows: slice, target: Array,
           wanted: Bools, slack: float) -> Points:  # fmt: skip
        """Everything from alpha, b and ``w = Q alpha`` of the rows `rows`; `target` is e and its
        size, `wanted` the rows at which the scale of the objective is asked for."""
        declared, n = known.declared, w.shape[1]
        fresh = stretch.fresh[rows]
        end = int([*stretch.fresh, len(stretch.places)][min(rows.stop, stretch.fresh.size)])
        places = stretch.places.part(fresh)
        slopes, corners = declared.lines(places.t)
        travel = places.travel(known.path)
        origin = declared.origins(places.t)
        absolute = np.ones(fresh.size, bool)
        if origin is not None:
            absolute = np.all(np.isfinite(origin), axis=1)
        count, columns = fresh.size, known.border.shape[1]
        u, scale, answers = np.empty((count, n)), np.empty((count, n)), np.zeros((count, 8))
        renamed = np.zeros(end)
        # (A record with attributes, interpreted too.)
        settings = np.array([(slack, known.strict, origin is not None, False)], loops.SETTINGS)
        settings = settings.view(np.recarray)
        point = stretch.alpha[rows], np.ascontiguousarray(stretch.b[rows]), w[rows]
        lines = slopes, corners, travel, np.empty((0, n)) if origin is None else finite(origin)
        loops.look(
            lines, (declared.slope_terms, declared.corner_terms, declared.bends), declared.jump,
            (known.table, known.border), target, point, (stretch.named, fresh, end), wanted,
            settings, (u, scale, answers, renamed), np.empty((4, n)), np.empty((4, columns)),
        )  # fmt: skip
        if origin is None and declared.model.unknown != "alpha":
            absolute = answers[:, loops.UNKNOWN] == 0.0
        return cls(
            known, places, *point, u, scale, slopes, corners, travel, absolute, answers, renamed
        )

    def _standing(self, row: int) -> tuple[Array, Array, Bools]:
        """The jump corners, one row for each; how near is on one of them, and which are."""
        at = self.corners[row, self.known.declared.jump]
        near = STANDING * np.maximum(self.scale[row], size(at))
        return at, near, np.asarray(np.abs(self.u[row] - at) <= near)

    def stays(self, row: int, other: Points, before: int) -> Bools:
        """What stands on a jump that has a height, here and at the row `before` of `other`; nobody
        does where the corner has moved by so little that the two are one place."""
        (at, near, here), (start, wide, there) = self._standing(row), other._standing(before)
        far = np.abs(at - start)
        apart = (far == 0.0) | (far > np.maximum(near, wide))
        return np.asarray(here & there & apart & (self.real(row) | other.real(before)))

    def real(self, row: int, i: Any = slice(None)) -> Bools:
        """Which jumps of coordinates `i` have a height; one row for each of them."""
        declared = self.known.declared
        j = np.flatnonzero(declared.jump)
        corner = self.corners[row, j][:, i]
        at, terms = finite(corner), np.zeros(corner.shape)
        heights = []
        for slope in (j, j + 1):
            heights.append(self.slopes[row, slope][:, i] - declared.bends[slope][:, i] * at)
            fixed, moving = declared.slope_terms[:, slope][:, :, i]
            terms = np.maximum(terms, fixed + moving * self.travel[row])
        below, above = heights
        rounding = LEVEL * np.maximum(np.maximum(size(below), size(above)), terms)
        return np.asarray((above - below > rounding) & np.isfinite(corner))


@attrs.frozen
class Place:
    """One of these points, as it is kept for the comparison with the next."""

    points: Points
    row: int
    segment: int
    named: Index
    objective: float
    size: float
    absolute: bool

    @classmethod
    def of(cls, points: Points, row: int, segment: int, named: Index) -> Place:
        """The objective is ``1/2 |w|^2 + sum_i L_i(u_i) + e^T b + constant``, all but the constant
        with the other sign where alpha is the unknown (the dual of the same value).  `size` is what
        a difference of objectives is relative to: its terms, and what it changes by where u, alpha,
        the corners and e move by what rounding makes of them."""
        model, answer = points.known.declared.model, points.answers[row]
        constant = float(model.objective_constant(float(points.places.t[row])))
        sign = -1.0 if model.unknown == "alpha" else 1.0
        return cls(
            points=points, row=row, segment=segment, named=named,
            objective=float(sign * answer[loops.VALUE] + constant),
            size=max(float(answer[loops.SCALE] + abs(constant)), TINY),
            absolute=bool(points.absolute[row]),
        )  # fmt: skip

    @property
    def t(self) -> float:
        """Where it is."""
        return float(self.points.places.t[self.row])

    def rows(self) -> tuple[Array, Array, Array, Array]:
        """alpha, w, u and the scale of u."""
        p, row = self.points, self.row
        return p.alpha[row], p.w[row], p.u[row], p.scale[row]
