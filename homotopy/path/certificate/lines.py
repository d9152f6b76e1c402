"""The polylines of a model at many t at once, evaluated by the model itself.

Arrays have one row for each of k points and one column for each coordinate, or are flat lists of
some of these.
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from homotopy.model import LossModel
from homotopy.model.polyline import Knot, Slope

__all__ = ["Declaration", "Lines", "Part", "Piece", "finite", "size"]

Array = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Index = npt.NDArray[np.integer[Any]]

# A jump whose height is this fraction of the slopes beside it is none.
LEVEL = 1e-12
# t is found by a division and two sums with rounded numbers: so many more roundings than a corner.
TRAVEL = 4.0
TINY = np.finfo(float).tiny


def finite(values: Array) -> Array:
    """`values`, 0 where infinite."""
    return np.where(np.isfinite(values), values, 0.0)


def size(values: Array) -> Array:
    """``|values|``, 0 where infinite."""
    return np.abs(finite(values))


@attrs.frozen
class Part:
    """One slope (``value - bend * u``) or corner (``value``), with its rounding: `terms` is the
    size of ``|const| + |rate * t|``, 0 where infinite."""

    value: Array
    terms: Array
    bend: Array
    is_jump: bool = False

    @property
    def flat(self) -> bool:
        """Whether nothing of the slope is slanted."""
        return not self.bend.any()

    def height(self, u: Array) -> Array:
        """alpha of the slope at u."""
        if self.flat:
            return self.value
        return np.asarray(self.value - self.bend * np.where(self.bend > 0.0, u, 0.0))

    def at(self, point: Index, i: Index) -> Part:
        """The part of coordinates `i` at the points `point`, as flat lists."""
        bend = self.bend[i] if self.bend.ndim else self.bend
        return Part(self.value[point, i], self.terms[point, i], bend, self.is_jump)

    def row(self, point: int) -> Part:
        """The part of all coordinates at one point."""
        return Part(self.value[point], self.terms[point], self.bend, self.is_jump)


@attrs.frozen
class Declaration:
    """What a model declares, and how large the terms are that its corners and slopes sum up."""

    model: LossModel
    n: int
    const: list[Array]
    rate: list[Array]

    @classmethod
    def of(cls, model: LossModel, n: int, start: float, stop: float) -> Declaration:
        """From the polylines at both ends of the path: all is affine in t between them."""
        const, rate = [], []
        for piece, other in zip(model.polyline(start), model.polyline(stop), strict=True):
            first, last = (finite(np.asarray(_value(p), dtype=float)) for p in (piece, other))
            speed = (last - first) / (stop - start) if stop != start else np.zeros(first.shape)
            const.append(np.abs(first - speed * start))
            rate.append(np.abs(speed))
        return cls(model, n, const, rate)

    def moving(self) -> Array:
        """1 for each coordinate with a corner that moves with t, else 0."""
        corners = [np.broadcast_to(rate > 0.0, (self.n,)) for rate in self.rate[1::2]]
        return np.asarray(np.any(corners, axis=0), dtype=float)

    def lines(self, ts: Array, travel: Array) -> Lines:
        """The polylines at each of `ts`, which comes from numbers of the size `travel`."""
        shape = (ts.size, self.n)
        # Points come in pairs: where one segment ends and the next begins.
        known: dict[float, Any] = {}
        for t in ts.tolist():
            if t not in known:
                known[t] = self.model.polyline(t)
        columns = list(zip(*(known[t] for t in ts.tolist()), strict=True))
        parts = []
        for piece, const, rate in zip(columns, self.const, self.rate, strict=True):
            value = np.empty(shape)
            for row, at_t in zip(value, piece, strict=True):
                row[:] = _value(at_t)
            terms = np.broadcast_to(const + rate * TRAVEL * travel[:, None], shape)
            flat = not isinstance(piece[0], Slope)
            bend = np.asarray(0.0 if flat else piece[0].curvature, dtype=float)
            parts.append(Part(value, terms, bend, flat and not isinstance(piece[0], Knot)))
        return Lines(parts[::2], parts[1::2])

    def origins(self, ts: Array, lines: Lines) -> tuple[Array, Bools]:
        """Where each loss is zero (where the model says so, else where it is least), and whether
        that is known.

        No integral starts at an infinity; the loss is then known up to a constant, and 0 takes its
        place.
        """
        declared = [self.model.loss_origin(t) for t in ts.tolist()]
        if declared[0] is None:
            origin, exists = lines.least()
            # In alpha a loss that falls for ever is an interval of alpha without 0.
            known = exists | (self.model.unknown == "alpha")
            return origin, np.all(known, axis=1)
        origin = np.empty((ts.size, self.n))
        for row, value in zip(origin, declared, strict=True):
            row[:] = value
        known = np.isfinite(origin)
        return np.where(known, origin, 0.0), np.all(known, axis=1)


def _value(piece: Any) -> Any:
    return piece.value if isinstance(piece, Slope) else piece.position


@attrs.frozen
class Piece:
    """The piece named for each coordinate: ``low <= u <= high`` and alpha between the heights
    `bottom` and `top` of the slopes beside it (one and the same on a slope).

    `least` and `most` are the heights that it has anywhere (a slanted piece has others elsewhere),
    `place` is the point of it nearest to u, `slope_terms` and `corner_terms` what rounding of
    them is measured by; `steep` tells corners from slopes.
    """

    place: Array
    top: Array
    bottom: Array
    most: Array
    least: Array
    bend: Array
    slope_terms: Array
    corner_terms: Array
    steep: Bools


@attrs.frozen
class Lines:
    """The polylines of all coordinates: slope j lies between corners j - 1 and j."""

    slopes: list[Part]
    corners: list[Part]

    def at(self, point: Index, i: Index) -> Lines:
        """The polylines of coordinates `i` at the points `point`, as flat lists."""
        slopes, corners = ([part.at(point, i) for part in p] for p in (self.slopes, self.corners))
        return Lines(slopes, corners)

    def row(self, point: int) -> Lines:
        """The polylines of all coordinates at one point."""
        return Lines([p.row(point) for p in self.slopes], [p.row(point) for p in self.corners])

    def ends(self, j: int) -> tuple[Any, Any]:
        """The corners that bound slope j."""
        low = self.corners[j - 1].value if j else -np.inf
        return low, self.corners[j].value if j < len(self.corners) else np.inf

    def piece(self, named: Index, u: Array) -> Piece:
        """The piece that the path names for each coordinate."""
        shape = u.shape
        low, high = np.full(shape, -np.inf), np.full(shape, np.inf)
        top, bottom, bend = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        most, least = np.zeros(shape), np.zeros(shape)
        slope_terms, corner_terms = np.zeros(shape), np.zeros(shape)
        for p in range(2 * len(self.corners) + 1):
            here = named == p
            if not here.any():
                continue
            j, steep = p // 2, p % 2 == 1
            left, right = self.slopes[j], self.slopes[j + steep]
            if steep:
                corner = self.corners[j]
                at = finite(corner.value)
                np.copyto(low, corner.value, where=here)
                np.copyto(high, corner.value, where=here)
                np.copyto(corner_terms, corner.terms, where=here)
            else:
                first, last = self.ends(j)
                np.copyto(low, first, where=here)
                np.copyto(high, last, where=here)
                at = np.clip(u, first, last)
                if j:
                    np.copyto(corner_terms, self.corners[j - 1].terms, where=here & (u <= first))
                if j < len(self.corners):
                    np.copyto(corner_terms, self.corners[j].terms, where=here & (u >= last))
                if not left.flat:
                    np.copyto(bend, left.bend, where=here)
            np.copyto(top, left.height(at), where=here)
            np.copyto(bottom, right.height(at), where=here)
            if not (steep or left.flat):
                np.copyto(most, left.height(low), where=here)
                np.copyto(least, left.height(high), where=here)
            np.copyto(slope_terms, np.maximum(left.terms, right.terms), where=here)
        straight = bend == 0.0
        np.copyto(most, np.maximum(top, bottom), where=straight)
        np.copyto(least, np.minimum(top, bottom), where=straight)
        return Piece(
            place=np.clip(u, low, high),
            top=top, bottom=bottom, most=most, least=least,
            bend=bend, slope_terms=slope_terms, corner_terms=corner_terms, steep=named % 2 == 1,
        )  # fmt: skip

    def largest(self) -> Array:
        """The largest finite ``|value|`` of a slope of each coordinate."""
        return np.asarray(np.max([size(slope.value) for slope in self.slopes], axis=0))

    def rise(self, j: int) -> Bools:
        """Whether alpha rises at corner j, or only rounding makes it seem so."""
        height, rounding = self._height(j)
        return np.asarray((height > rounding) & np.isfinite(self.corners[j].value))

    def level(self, j: int) -> Bools:
        """Whether alpha is the same on both sides of corner j."""
        height, rounding = self._height(j)
        return np.asarray(np.abs(height) <= rounding)

    def _height(self, j: int) -> tuple[Array, Array]:
        """By how much alpha rises at corner j, and what of it may be rounding."""
        at = finite(self.corners[j].value)
        left, right = self.slopes[j], self.slopes[j + 1]
        below, above = left.height(at), right.height(at)
        terms = np.maximum(left.terms, right.terms)
        return above - below, LEVEL * np.maximum(np.maximum(size(below), size(above)), terms)

    def losses(self, u: Array, origin: Array) -> Array:
        """``L_i(u_i) = -integral of the polyline from origin_i to u_i``.

        Infinite slopes are walls: nothing is lost there, who passes one is told by the gap.
        """
        low, high = np.minimum(u, origin), np.maximum(u, origin)
        total = np.zeros(u.shape)
        left = low
        for j, slope in enumerate(self.slopes):
            end = self.corners[j].value if j < len(self.corners) else np.inf
            right = np.clip(end, low, high)
            mean = slope.height(0.5 * (left + right))
            total += (right - left) * np.where(np.isfinite(mean), mean, 0.0)
            left = right
        return np.where(u >= origin, -total, total)

    def least(self) -> tuple[Array, Bools]:
        """A place where each loss is least, and whether there is one; else the last corner on the
        side where it falls for ever."""
        shape = self.corners[0].value.shape
        real = [np.isfinite(corner.value) for corner in self.corners]
        anchor = np.zeros(shape)
        for corner, known in zip(self.corners[::-1], real[::-1], strict=True):
            anchor = np.where(known, corner.value, anchor)
        places = [
            np.where(known, c.value, anchor) for c, known in zip(self.corners, real, strict=True)
        ]
        for j, slope in enumerate(self.slopes):
            if not slope.flat:
                low, high = self.ends(j)
                with np.errstate(invalid="ignore", divide="ignore"):
                    bottom = slope.value / slope.bend
                    inside = (slope.bend > 0.0) & (low < bottom) & (bottom < high)
                places.append(np.where(inside, bottom, anchor))
        best, level = anchor, np.zeros(shape)
        for place in places:
            value = self.losses(place, anchor)
            best, level = np.where(value < level, place, best), np.minimum(value, level)
        exists = np.ones(shape, bool)
        for sign, order in ((1.0, range(len(self.slopes))), (-1.0, range(len(self.slopes))[::-1])):
            # The outermost slope that is not beyond a corner at infinity, and its corner.
            seen = np.zeros(shape, bool)
            for j in order:
                low, high = self.ends(j)
                here = ~seen & (low < high)
                slope, end = self.slopes[j], high if sign > 0 else low
                falls = here & (sign * slope.value < 0.0) & (slope.bend == 0.0)
                best = np.where(falls & np.isfinite(end), end, best)
                exists &= ~falls
                seen |= here
        return best, exists

    def loss_terms(self, u: Array, origin: Array) -> Array:
        """What the losses change by where the corners between u and the origin move by the terms
        that they are the sums of."""
        low, high = np.minimum(u, origin), np.maximum(u, origin)
        total = np.zeros(u.shape)
        for j, corner in enumerate(self.corners):
            between = (low <= corner.value) & (corner.value <= high)
            at = finite(corner.value)
            height = size(self.slopes[j].height(at)) + size(self.slopes[j + 1].height(at))
            total += np.where(between, height * corner.terms, 0.0)
        return total

    def steepest(self, u: Array, blur: Array) -> Array:
        """The largest finite ``|alpha|`` of a slope within `blur` of u: how fast the loss changes
        there at most."""
        top = np.zeros(u.shape)
        for j, slope in enumerate(self.slopes):
            low, high = self.ends(j)
            here = (u >= low - blur) & (u <= high + blur)
            top = np.maximum(top, np.where(here, size(slope.height(u)), 0.0))
        return top

    def branches(self, named: Index) -> tuple[Index, Index]:
        """First and last slope of the convex branch of the piece named: up to the next jumps, but
        those without a height."""
        last_slope = len(self.corners)
        first, last = np.zeros(named.shape, np.int64), np.full(named.shape, last_slope)
        for j, corner in enumerate(self.corners):
            if corner.is_jump:
                real = self.rise(j)
                right = named > 2 * j + 1
                first[real & right] = j + 1
                last[real & ~right & (last == last_slope)] = j
        return first, last
