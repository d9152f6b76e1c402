"""Places of a path, and everything recomputed there from alpha and the data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
import numpy.typing as npt

from homotopy.arrays import Array, Bools, Index
from homotopy.path.certificate import loops
from homotopy.path.certificate.along import Position, Recorded, Rows, enter
from homotopy.path.certificate.lines import finite, fixed, size
from homotopy.path.certificate.scales import PathScales
from homotopy.path.certificate.tolerances import SMALLEST, CertificateTolerances, settings

if TYPE_CHECKING:
    from homotopy.path import Path

Pieces = npt.NDArray[np.int16]
# Parts of a path that are examined on their own, as the first and the last segment of each.
Stretches = list[tuple[int, int]]


@attrs.frozen
class Places:
    """Where a path is examined, in the order of travel: `t` on the segment `segment`."""

    segment: Index
    t: Array

    def __len__(self) -> int:
        return int(self.segment.size)

    def part(self, rows: Any) -> Places:
        """Return some of the places."""
        return Places(self.segment[rows], self.t[rows])

    def travel(self, path: Path, tolerances: CertificateTolerances) -> Array:
        """Return the size of the numbers from which t was computed: the ends of the segment and
        the start of the previous one; or a fraction of the span, if t is 0 up to rounding (slopes
        and corners proportional to t may be 1e-30 at the end of a path while alpha is not)."""
        s, k, span = path.segments, self.segment, abs(path.span[1] - path.span[0])
        ends = np.maximum(np.abs(s.start), np.abs(s.stop))
        ends = np.maximum(ends[k], np.abs(s.start[np.maximum(k - 1, 0)]))
        known = np.maximum(ends, tolerances.spanned * span)
        return np.where(ends <= tolerances.zero * span, known, ends)

    def follow(self, path: Path) -> Bools:
        """Return which places are where the segment of the previous place has just ended."""
        s, k, t = path.segments, self.segment, self.t
        ended = (k[1:] == k[:-1] + 1) & (t[:-1] == s.stop[k[:-1]]) & (t[1:] == t[:-1])
        return np.concatenate([[False], ended & (t[1:] == s.start[k[1:]])])

    @classmethod
    def numbered(cls, path: Path, numbers: Index) -> Places:
        """Return some ends of segments: number 2 k is the start of segment k, 2 k + 1 its end.  A
        segment of length zero has one, its start."""
        s, k, ends = path.segments, numbers // 2, numbers % 2 == 1
        keep = ~ends | (s.start[k] != s.stop[k])
        return cls(k[keep], np.where(ends, s.stop[k], s.start[k])[keep])

    @classmethod
    def ends(cls, path: Path) -> Places:
        """Return both ends of every segment."""
        return cls.numbered(path, np.arange(2 * len(path.segments)))

    @classmethod
    def around(cls, path: Path, stretches: Stretches) -> Places:
        """Return both ends of the segments of each stretch, the end of the segment before and the
        start of the one after: so junctions and jumps at its ends are seen from both sides.

        Segments of length zero beside it (between jumps at one t) belong to it.  A stretch may
        reach beyond the end of the path.
        """
        s = path.segments
        empty, last_one = s.start == s.stop, len(s) - 1
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
        return cls.numbered(path, np.flatnonzero(wanted))

    def with_middles(self, path: Path) -> Places:
        """Return these and, if there are slanted pieces, the middle of each segment of which both
        ends are among them.

        Where a slanted piece meets its neighbour without a step, a point may be on either of them.
        Then the two ends of a segment may lie on different pieces, and its middle on neither.
        """
        if not path.problem.polylines.curvature.any():
            return self
        k, t = self.segment, self.t
        last = np.flatnonzero(k[1:] == k[:-1]) + 1
        middle = 0.5 * (t[last - 1] + t[last])
        inside = (middle != t[last - 1]) & (middle != t[last])
        last, middle = last[inside], middle[inside]
        return Places(np.insert(k, last, k[last]), np.insert(t, last, middle))


@attrs.frozen
class Stretch:
    """Consecutive places.  `follows`: the previous segment has just ended here; `equal`: and alpha
    and b are unchanged; `crossed`: and a coordinate changes branch; `base`: its row of `alpha` and
    `b`; `fresh`: the first place of each row; `before`: the pieces before the first place."""

    places: Places
    alpha: Array
    b: Array
    named: Pieces
    before: Pieces
    follows: Bools
    equal: Bools
    crossed: Bools
    fresh: Index
    base: Index


class Walk:
    """Walks along a path: alpha, b and the named pieces from place to place."""

    def __init__(self, path: Path) -> None:
        s, lines = path.segments, path.problem.polylines
        self.path, piece = path, s.first_piece.astype(np.int64)
        flat = np.stack(lines.flat(np.arange(piece.size), piece))
        done, alpha = np.zeros(1, np.int64), np.zeros(piece.size)
        self.position = Position(piece, flat, done, alpha, piece.astype(np.int16))
        self.b = np.full(s.b_start.shape[1], np.nan)
        values = (getattr(s, name, getattr(lines, name, None)) for name in Recorded._fields)
        self.recorded = Recorded(*map(fixed, values))

    def along(self, places: Places, follows: Bools) -> Stretch:
        """Return the next `places`, which must not precede earlier ones."""
        s, n, count = self.path.segments, self.position.piece.size, len(places)
        k, t = places.segment, places.t
        long = s.stop[k] - s.start[k]
        weight = np.divide(t - s.start[k], long, where=long != 0.0, out=np.zeros(k.size))
        b = (1.0 - weight[:, None]) * s.b_start[k] + weight[:, None] * s.b_stop[k]
        same = follows & np.all(b == np.concatenate([self.b[None], b[:-1]]), axis=1)
        out = Rows(
            alpha=np.empty((count, n)),
            named=np.empty((count, n), np.int16),
            base=np.empty(count, np.int64),
            equal=np.zeros(count, bool),
            crossed=np.zeros(count, bool),
        )
        last, before = self.position, self.position.named
        rows = enter(self.recorded, last, fixed(k), fixed(t), weight, same, out)
        fresh = np.searchsorted(out.base, np.arange(rows))
        self.position = last._replace(alpha=out.alpha[rows - 1].copy(), named=out.named[-1].copy())
        self.b = b[-1]
        return Stretch(
            places=places,
            alpha=out.alpha[:rows],
            b=b[fresh],
            named=out.named,
            before=before,
            follows=follows,
            equal=out.equal,
            crossed=out.crossed & follows,
            fresh=fresh,
            base=out.base,
        )


@attrs.frozen
class Points:
    """Places with everything recomputed: one row per place, one column per coordinate."""

    known: PathScales
    places: Places
    given: loops.Given
    found: loops.Found
    absolute: Bools

    @classmethod
    def of(cls, known: PathScales, stretch: Stretch, w: Array, rows: slice, target: Array,
           wanted: Bools, slack: float) -> Points:  # fmt: skip
        """Recompute everything from alpha, b and ``w = Q alpha`` of the rows `rows`; `target` is e
        and its sizes, `wanted` marks the rows that need the scale of the objective."""
        declared, n = known.declared, w.shape[1]
        fresh = stretch.fresh[rows]
        end = int([*stretch.fresh, len(stretch.places)][min(rows.stop, stretch.fresh.size)])
        places = stretch.places.part(fresh)
        slopes, corners = declared.slopes_and_corners(places.t)
        travel = places.travel(known.path, known.tolerances)
        origin = declared.origins(places.t)
        absolute = np.ones(fresh.size, bool)
        if origin is not None:
            absolute = np.all(np.isfinite(origin), axis=1)
        count, columns = fresh.size, known.border.shape[1]
        given = loops.Given(
            slope_terms=declared.slope_terms,
            corner_terms=declared.corner_terms,
            bends=declared.bends,
            jump=declared.jump,
            known=known.table,
            border=known.border,
            slopes=slopes,
            corners=corners,
            travel=travel,
            origin=np.empty((0, n)) if origin is None else finite(origin),
            target=target,
            alpha=stretch.alpha[rows],
            b=np.ascontiguousarray(stretch.b[rows]),
            w=w[rows],
            wanted=wanted,
            named=stretch.named,
            fresh=fresh,
            last=end,
        )
        found = loops.Found(
            u=np.empty((count, n)),
            scale=np.empty((count, n)),
            noise=np.full((count, n), np.inf),
            answers=np.zeros((count, 8)),
            off_on_new_piece=np.zeros(end),
            spare=np.empty((4, n)),
            sums=np.empty((4, columns)),
        )
        how = {"slack": slack, "strict": known.strict, "declared": origin is not None}
        how |= {"rank_of_b": known.rank_of_b}
        loops.examine(given, found, settings(known.tolerances, loops.SOURCE, **how))
        if origin is None and declared.model.unknown != "alpha":
            absolute = found.answers[:, loops.UNKNOWN] == 0.0
        return cls(known, places, given, found, absolute)

    def _on_jumps(self, row: int) -> tuple[Array, Array, Bools]:
        """Return the jump corners, one row each, the tolerance, and which coordinates are on them:
        within it, and not beside the corner on the piece that they name by more than rounding."""
        j, piece = np.flatnonzero(self.known.declared.jump), self.given.named[self.given.fresh[row]]
        at = self.given.corners[row, j]
        near = self.known.tolerances.on_jump * np.maximum(self.found.scale[row], size(at))
        beyond = self.found.u[row] - at
        inside = np.where(piece <= 2 * j[:, None], -beyond, beyond)
        beside = (piece % 2 == 0) & (inside > self.found.noise[row])
        return at, near, np.asarray((np.abs(beyond) <= near) & ~beside)

    def on_jump_since(self, row: int, other: Points, before: int) -> Bools:
        """Return which coordinates are on a jump with a height both here and at row `before` of
        `other`; none, if the corner has moved so little that the two are the same place."""
        (at, near, now), (start, wide, then) = self._on_jumps(row), other._on_jumps(before)
        far, both = np.abs(at - start), now & then
        both &= (far == 0.0) | (far > np.maximum(near, wide))
        i = np.flatnonzero(both.any(axis=0))
        if i.size:
            both[:, i] &= self.real(row, i) | other.real(before, i)
        return np.asarray(both)

    def real(self, row: int, i: Any = slice(None)) -> Bools:
        """Return which jumps of the coordinates `i` have a height; one row per jump."""
        declared, given = self.known.declared, self.given
        j = np.flatnonzero(declared.jump)
        corner = given.corners[row, j][:, i]
        at, terms = finite(corner), np.zeros(corner.shape)
        heights = []
        for slope in (j, j + 1):
            heights.append(given.slopes[row, slope][:, i] - declared.bends[slope][:, i] * at)
            fixed, moving = declared.slope_terms[:, slope][:, :, i]
            terms = np.maximum(terms, fixed + moving * given.travel[row])
        below, above = heights
        rounding = self.known.tolerances.level * np.maximum(
            np.maximum(size(below), size(above)), terms
        )
        return np.asarray((above - below > rounding) & np.isfinite(corner))


@attrs.frozen
class Place:
    """One point, kept for comparison with the next."""

    points: Points
    row: int
    segment: int
    named: Pieces
    objective: float
    size: float
    absolute: bool

    @classmethod
    def of(cls, points: Points, row: int, segment: int, named: Pieces) -> Place:
        """The objective is ``1/2 |w|^2 + sum_i L_i(u_i) + e^T b + constant``; all but the constant
        change sign if alpha is the unknown (the dual of the same value).  Differences of objectives
        are relative to `size`: the terms, plus the change when u, alpha, the corners and e move by
        their rounding errors."""
        model, answer = points.known.declared.model, points.found.answers[row]
        constant = float(model.objective_constant(float(points.places.t[row])))
        sign = -1.0 if model.unknown == "alpha" else 1.0
        return cls(
            points=points, row=row, segment=segment, named=named,
            objective=float(sign * answer[loops.VALUE] + constant),
            size=max(float(answer[loops.SCALE] + abs(constant)), SMALLEST),
            absolute=bool(points.absolute[row]),
        )  # fmt: skip

    @property
    def t(self) -> float:
        """The t of the point."""
        return float(self.points.places.t[self.row])

    def rows(self) -> tuple[Array, Array, Array, Array]:
        """Return alpha, w, u and the scale of u."""
        given, found, row = self.points.given, self.points.found, self.row
        return given.alpha[row], given.w[row], found.u[row], found.scale[row]
