"""Places of a path, and everything recomputed there from alpha and the data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
import numpy.typing as npt

from homotopy.path.certificate.lines import LEVEL, TINY, Declaration, Lines, Part, Piece, size
from homotopy.path.certificate.scales import PART, Known, Scales

if TYPE_CHECKING:
    from homotopy.path import Path

__all__ = ["Places", "Points", "Value", "Walk"]

Array = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Index = npt.NDArray[np.integer[Any]]

# A point off its piece by no more than this has no area.
EXACT = 1e-15
# A response is beyond a wall, or the end of its branch, if it is by this fraction of its scale.
NEAR = 1e-8
# A response within this fraction of its scale is on a jump corner: no tighter than the engine's.
STANDING = 1e-11


@attrs.frozen
class Places:
    """Where a path is looked at, in the order of travel: t of segment `segment`."""

    segment: Index
    t: Array

    def __len__(self) -> int:
        return int(self.segment.size)

    def part(self, rows: slice) -> Places:
        """Some of them."""
        return Places(self.segment[rows], self.t[rows])

    def travel(self, path: Path) -> Array:
        """The size of the numbers that t comes from: the ends of the segment, and of the one before
        it where it begins."""
        s, k = path.segments, self.segment
        ends = np.maximum(np.abs(s.start), np.abs(s.stop))
        return np.maximum(ends[k], np.abs(s.start[np.maximum(k - 1, 0)]))

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


class Walk:
    """Goes along a path and gives alpha, b and the named pieces at one place after the other."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.piece = path.segments.first_piece.copy()
        self.level, self.rate = path._flat(np.arange(self.piece.size), self.piece)
        self.done = 0

    def to(self, places: Places) -> tuple[Array, Array, Index]:
        """alpha, b and the pieces at `places`, none before those asked for earlier."""
        s, n = self.path.segments, self.piece.size
        alpha, named = np.empty((len(places), n)), np.empty((len(places), n), np.int16)
        k, t = places.segment, places.t
        long = s.stop[k] - s.start[k]
        weight = np.divide(t - s.start[k], long, where=long != 0.0, out=np.zeros(k.size))
        for row, (segment, at, part) in enumerate(
            zip(k.tolist(), t.tolist(), weight.tolist(), strict=True)
        ):
            self._enter(segment)
            named[row] = self.piece
            np.multiply(self.rate, at, out=alpha[row])
            alpha[row] += self.level
            active = slice(s.offset[segment], s.offset[segment + 1])
            first, last = s.alpha_start[active], s.alpha_stop[active]
            alpha[row, s.active[active]] = (1.0 - part) * first + part * last
        b = (1.0 - weight[:, None]) * s.b_start[k] + weight[:, None] * s.b_stop[k]
        return alpha, b, named

    def _enter(self, segment: int) -> None:
        s = self.path.segments
        end = int(s.event[segment + 1])
        if end > self.done:
            changed = s.changed[self.done : end]
            # Later events overwrite earlier ones: NumPy assigns in order.
            self.piece[changed] = s.changed_to[self.done : end]
            self.level[changed], self.rate[changed] = self.path._flat(changed, self.piece[changed])
            self.done = end


@attrs.frozen
class Points:
    """k places with everything recomputed: one row per place, one column per coordinate."""

    places: Places
    named: Index
    alpha: Array
    b: Array
    w: Array
    u: Array
    lines: Lines
    piece: Piece
    scales: Scales

    @classmethod
    def of(cls, known: Known, places: Places, named: Index, alpha: Array, b: Array, w: Array,
           target: Array) -> Points:  # fmt: skip
        """Everything from alpha, b and ``w = Q alpha``; `target` is the size of e."""
        u = w + b @ known.border.T
        lines = known.declared.lines(places.t, places.travel(known.path))
        piece = lines.piece(named, u)
        scales = Scales.of(known, lines, piece, alpha, b, u, target)
        return cls(places, named, alpha, b, w, u, lines, piece, scales)

    def off(self) -> Array:
        """How far each (u_i, alpha_i) is from the piece named, relative to its own scales."""
        scales = self.scales
        tall = np.maximum(scales.alpha, scales.rounded * self.piece.slope_terms)
        off = _off(self.piece, self.u, self.alpha, scales.u, tall)
        if np.any(off > STANDING):
            self._pass_seams(off)
        return off

    def _pass_seams(self, off: Array) -> None:
        """A corner without a height is none: who is beyond it is on the next piece as well."""
        point, i = np.nonzero((off > STANDING) & ~self.piece.steep)
        lines, named = self.lines.at(point, i), self.named[point, i]
        to = np.where(self.u[point, i] > self.piece.place[point, i], 1, -1)
        for _ in self.lines.corners:
            level = np.zeros(named.shape, dtype=bool)
            for j in range(len(lines.corners)):
                level |= (named + to == 2 * j + 1) & lines.level(j)
            named = np.where(level, named + 2 * to, named)
            off[point, i] = np.minimum(off[point, i], self.off_as(point, i, named))

    def off_as(self, point: Index, i: Index, named: Index) -> Array:
        """How far some of them are from other pieces."""
        u, alpha = self.u[point, i], self.alpha[point, i]
        piece = self.lines.at(point, i).piece(named, u)
        rounded = self.scales.rounded[point, 0]
        scale = np.maximum(PART * size(piece.place), rounded * piece.corner_terms)
        tall = np.maximum(self.scales.alpha[point, i], rounded * piece.slope_terms)
        return _off(piece, u, alpha, np.maximum(self.scales.u[point, i], scale), tall)

    def standing(self, j: int) -> Bools:
        """Who stands on corner j."""
        at = self.lines.corners[j].value
        near = STANDING * np.maximum(self.scales.u, size(at))
        return np.asarray(np.abs(self.u - at) <= near)

    # ------------------------------------------------------------------ the duality gap

    def gap(self, off: Array, slack: float) -> tuple[Array, Array]:
        """``L_i(u_i) - L_i(v_i) + alpha_i (u_i - v_i)`` on the branch of each coordinate, summed,
        and what rounding of u_i and alpha_i makes of it.

        v_i is where the branch has height alpha_i, so that this is the area between alpha_i and the
        polyline from v_i to u_i, and never negative; 0 for those on their pieces, but on a corner
        alpha may be beside what it could be.
        """
        point, i = np.nonzero((off > EXACT) | self.piece.steep)
        lines, first, last = self.lines.at(point, i), *self._branch(point, i)
        u, alpha = self.u[point, i], self.alpha[point, i]
        scale, terms = self.scales.u[point, i], self.scales.terms[point, i]
        area = _Area.of(lines, first, last, u, alpha, scale, slack)
        noise = self.scales.alpha_noise[point, i]
        blur = self.scales.rounded[point, 0] * area.tallest * terms + noise * area.length
        rows = len(self.places)
        total, rounding = np.zeros(rows), np.zeros(rows)
        np.add.at(total, point, area.area)
        np.add.at(rounding, point, blur)
        return total, rounding

    def _branch(self, point: Index, i: Index) -> tuple[Index, Index]:
        return self.lines.at(point, i).branches(self.named[point, i])


def _off(piece: Piece, u: Array, alpha: Array, u_scale: Array, a_scale: Array) -> Array:
    across = np.abs(u - piece.place) / u_scale
    low, high = np.minimum(piece.bottom, piece.top), np.maximum(piece.bottom, piece.top)
    nearest = np.clip(alpha, low, high)
    tall = np.maximum(np.maximum(np.abs(alpha), size(nearest)), a_scale)
    # A slanted piece is as near as it is sideways, but no nearer than the heights that it has.
    inside = np.clip(alpha, piece.least, piece.most)
    sideways = np.abs(inside - nearest) / np.maximum(tall, piece.bend * u_scale)
    off = np.maximum(np.maximum(across, sideways), np.abs(alpha - inside) / tall)
    # No local optimum sits on a corner at which alpha rises.
    rises = piece.bottom - piece.top > LEVEL * np.maximum(size(low), piece.slope_terms)
    off = np.where(rises, np.inf, off)
    return np.where(np.isfinite(off), off, np.inf)


@attrs.frozen
class _Area:
    """The area between alpha and a branch, how far it is from v to u, and how high the highest part
    of it is."""

    area: Array
    length: Array
    tallest: Array

    @classmethod
    def of(cls, lines: Lines, first: Index, last: Index, u: Array, alpha: Array, scale: Array,
           slack: float) -> _Area:  # fmt: skip
        """Of flat lists of coordinates."""
        low, high = _domain(lines, first, last)
        inside = np.clip(u, low, high)
        # A branch that goes on for ever is followed as far as the scale of u: an alpha above all of
        # a branch is an infinite gap, but what it costs there tells rounding from a mistake.
        left, right = np.maximum(low, inside - 2.0 * scale), np.minimum(high, inside + 2.0 * scale)
        area, length, tallest, edge = (np.zeros(u.shape) for _ in range(4))
        for j, slope in enumerate(lines.slopes):
            part = (first <= j) & (j <= last) & np.isfinite(slope.value)
            start, stop = (np.clip(end, left, right) for end in lines.ends(j))
            for begin, end, sign in (
                (start, np.minimum(stop, inside), 1.0),
                (np.maximum(start, inside), stop, -1.0),
            ):
                height, wide = _above(slope, alpha, begin, end, sign)
                here = part & (wide > 0.0)
                height = np.where(here, height, 0.0)
                tallest = np.maximum(tallest, height)
                area += height * np.where(here, wide, 0.0)
                length += np.where(here, wide, 0.0)
            touches = part & (start <= inside) & (inside <= stop)
            beside = np.abs(alpha - slope.height(inside))
            edge = np.maximum(edge, np.where(touches, beside, 0.0))
        # Beyond a wall, or the end of the branch, by rounding: the same area mirrored in the wall.
        beyond = np.abs(u - inside)
        area, length = area + edge * beyond, length + beyond
        tallest = np.maximum(tallest, np.where(beyond > 0.0, edge, 0.0))
        return cls(np.where(beyond > slack * scale, np.inf, area), length, tallest)


def _domain(lines: Lines, first: Index, last: Index) -> tuple[Array, Array]:
    """Where the branch lies: it ends at its jumps and at walls."""
    low, high = np.full(first.shape, -np.inf), np.full(first.shape, np.inf)
    for j, corner in enumerate(lines.corners):
        at = corner.value
        low = np.where((first == j + 1) | (lines.slopes[j].value == np.inf), at, low)
        ends = (last == j) | (lines.slopes[j + 1].value == -np.inf)
        high = np.where(ends, np.minimum(at, high), high)
    return low, high


def _above(slope: Part, alpha: Array, first: Array, last: Array, sign: float
           ) -> tuple[Array, Array]:  # fmt: skip
    """The mean of ``sign * (alpha - slope)`` where that is positive between `first` and `last`, and
    the length of where it is."""
    width = np.maximum(last - first, 0.0)
    if slope.flat:
        height = sign * (alpha - slope.value)
        return height, np.where(height > 0.0, width, 0.0)
    start = sign * (alpha - slope.height(first))
    stop = sign * (alpha - slope.height(last))
    most, least = np.maximum(start, stop), np.minimum(start, stop)
    part = np.where(least >= 0.0, 1.0, most / np.maximum(most - least, TINY))
    return 0.5 * (most + np.maximum(least, 0.0)), np.where(most > 0.0, part * width, 0.0)


@attrs.frozen
class Value:
    """The objective at k points.

    ``primal = 1/2 |w|^2 + sum_i L_i(u_i) + e^T b + constant``, all but the constant with the other
    sign where alpha is the unknown (the dual of the same value); `size` is the sum of the absolute
    values of its terms; `absolute` tells whether the model says where each loss is zero.
    """

    primal: Array
    size: Array
    constant: Array
    origin: Array
    absolute: Bools

    @classmethod
    def of(cls, declared: Declaration, points: Points, target: Array) -> Value:
        """Of all points."""
        ts = points.places.t
        origin, absolute = declared.origins(ts, points.lines)
        losses = points.lines.losses(points.u, origin)
        half = 0.5 * np.einsum("ij,ij->i", points.alpha, points.w)
        linear = np.einsum("ij,ij->i", target, points.b)
        constant = np.array([float(declared.model.objective_constant(t)) for t in ts.tolist()])
        sign = -1.0 if declared.model.unknown == "alpha" else 1.0
        return cls(
            primal=sign * (half + losses.sum(axis=1) + linear) + constant,
            size=np.abs(half) + np.abs(losses).sum(axis=1) + np.abs(linear),
            constant=np.abs(constant),
            origin=origin,
            absolute=absolute,
        )

    def scale(self, points: Points, row: int) -> float:
        """What a difference of objectives is relative to: its terms, and what it changes by where
        u, alpha, the corners and e move by what rounding makes of them."""
        lines = points.lines.row(row)
        u, rounded = points.u[row], points.scales.rounded[row]
        terms = rounded * points.scales.terms[row]
        steep = lines.steepest(u, STANDING * terms)
        blur = terms * np.maximum(steep, np.abs(points.alpha[row]))
        blur += rounded * lines.loss_terms(u, self.origin[row])
        linear = np.abs(points.b[row]) @ points.scales.border_noise[row]
        return max(float(self.size[row] + self.constant[row] + blur.sum() + linear), TINY)
