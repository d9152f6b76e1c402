"""The proof of a path, from alpha and the data alone.

Nothing here reads the engine's tracked state or its compiled tables: the response is recomputed
as ``Q alpha + B b``, the polylines are evaluated by calling the model with a plain number, the
distance of each point ``(u_i, alpha_i)`` to its polyline is measured without regard to the piece
the engine gave it, and losses are integrated along the polylines by the NumPy code below.

Points are handled in batches: every array of shape (k, n) has one row for each of k points and one
column for each coordinate.  A coordinate is measured on its own scale, so that a bound of 1e12 that
never binds, or one target of 1e9, says nothing about the others:

* ``reach_i = |phi_i||w| + |B_i||b|`` bounds ``|u_i|`` (Cauchy-Schwarz, ``|phi_i|^2 = Q_ii``);
* ``terms_i = sum_j |phi_i||phi_j||alpha_j| + |B_i||b|`` is the size of the terms that u_i is the
  sum of; some 1e-15 of it is what rounding does to u_i, however much of it cancels.  The same
  holds for a corner or slope ``const + rate * t``, whose terms are ``|const| + |rate * t|``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
import numpy.typing as npt

from homotopy.errors import PathError
from homotopy.model import LossModel, Problem
from homotopy.model.affine import Affine
from homotopy.model.polyline import Knot, Slope

if TYPE_CHECKING:
    from homotopy.path import Path

__all__ = ["Certificate", "Check", "certify"]

Array = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Index = npt.NDArray[np.int64]

# Points of one product with Q, and numbers of one array (half a megabyte stays in the cache).
BATCH = 64
CHUNK = 65536
SIDES = ("before", "after")
# The scale of a sum is at least this part of the sizes of its terms, which puts what rounding does
# to the solution of a system with such terms (up to some 1e-14 of them) just below a tolerance of
# 1e-8.
ROUNDED = 4e-6
# Solving the active system leaves this part of 1e-8 in an alpha that ought to be 0.
SOLVED = 1e-4
# A response within this part of its scale stands on a jump corner: no tighter than the engine's.
STANDING = 1e-11
# A response within this part of its scale may belong to either side of a jump, or to a wall.
NEAR = 1e-8
# A jump whose height is this part of the slopes beside it is none.
LEVEL = 1e-12
# A segment shorter than this part of the path is too brief to tell standing from leaving.
BRIEF = 1e-8
# A change v of alpha with v'Qv below this part of its terms is null to rounding.
NULL = 1e-12
# At how many points `Path.objective` is called; it takes a product of its own each time.
OBJECTIVES = 32
TINY = np.finfo(float).tiny


@attrs.frozen
class Check:
    """One kind of condition: its worst relative residual, where, and how many were checked."""

    name: str
    worst: float
    t: float
    count: int
    ok: bool


@attrs.frozen
class Certificate:
    """The outcome of `Path.certify`.

    Attributes
    ----------
    checks : tuple of Check
        With ``reach_i = |phi_i||w| + |B_i||b|`` and
        ``terms_i = sum_j |phi_i||phi_j||alpha_j| + |B_i||b|``, which only rounding needs,

        * polyline: distance of every (u_i, alpha_i) to its polyline, the u part relative to
          ``max(|u_i|, |corner|, reach_i, 4e-6 terms_i)``, the alpha part to the largest of
          ``|alpha_i|`` and the finite slopes of i beside the place compared with (where i has no
          slopes but 0 and walls: to ``|w| / |phi_i|``);
        * border: ``|B^T alpha - e|`` relative to the terms of the sum;
        * gap: the duality gap of the convex problem in which every coordinate keeps to its branch
          (the run of pieces between the jumps around u_i),
          ``sum_i [L_i(u_i) - L_i(v_i) + alpha_i (u_i - v_i)] + |b^T (e - B^T alpha)|``, where v_i
          is the place at which the branch has height alpha_i, relative to
          ``1/2 |w|^2 + sum_i |L_i| + |e^T b|`` and to 4e-6 of what u and alpha are the sums of;
          infinite where a response is beyond a wall;
        * objective: `Path.objective` against ``1/2 |w|^2 + sum_i L_i(u_i) + e^T b`` integrated
          along the polylines, relative to the same terms;
        * continuity: change of ``Q alpha`` (that is, of w) and of the objective between segments
          that meet without a jump (b need not be unique there, nor alpha along directions that
          are null to rounding: those count in the objective only);
        * jumps: by how much the objective falls short of the fall that the move of w demands,
          ``1/2 |dw|^2`` divided by the rounds taken (0 where it falls enough), how far the recorded
          objectives are from the recomputed ones, and that a recorded move is one;
        * corners: coordinates inside a segment that stand on a jump corner without being held
          there by those on knots.
    tol : float
    """

    checks: tuple[Check, ...]
    tol: float

    @property
    def ok(self) -> bool:
        """Whether every condition holds to `tol`."""
        return all(check.ok for check in self.checks)

    @property
    def worst(self) -> float:
        """The largest relative residual of all."""
        return max(check.worst for check in self.checks)

    def __str__(self) -> str:
        lines = [f"{'condition':<12}{'checked':>9}{'worst':>12}{'at':>14}"]
        for c in self.checks:
            at = f"{c.t:14.6g}" if np.isfinite(c.t) else f"{'-':>14}"
            mark = "" if c.ok else "   FAILS"
            lines.append(f"{c.name:<12}{c.count:>9}{c.worst:>12.2e}{at}{mark}")
        verdict = "certified" if self.ok else "NOT certified"
        lines.append(f"{verdict} to {self.tol:g} (worst {self.worst:.2e})")
        return "\n".join(lines)


@attrs.define
class _Tally:
    worst: float = 0.0
    t: float = np.nan
    count: int = 0

    def add(self, value: float, t: float, count: int = 1) -> None:
        self.count += count
        value = value if np.isfinite(value) else np.inf
        if value > self.worst or np.isnan(self.t):
            self.worst, self.t = value, t

    def check(self, name: str, tol: float) -> Check:
        return Check(name, self.worst, self.t, self.count, self.worst <= tol)


# ---------------------------------------------------------------------- the polylines


@attrs.frozen
class _Part:
    """One slope (``value - bend * u``) or corner (``value``) at k points, with its rounding.

    `terms` is the size of ``|const| + |rate * t|``, 0 where infinite.
    """

    value: Array
    terms: Array
    bend: Array
    is_jump: bool = False

    @property
    def flat(self) -> bool:
        """Whether nothing of the slope is slanted."""
        return not self.bend.any()

    def height(self, u: Array) -> Array:
        if self.flat:
            return self.value
        return np.asarray(self.value - self.bend * np.where(self.bend > 0.0, u, 0.0))

    def rows(self, keep: Bools) -> _Part:
        return _Part(self.value[keep], self.terms[keep], self.bend, self.is_jump)


@attrs.frozen
class _Declaration:
    """What a model declares, and how large the terms are that its corners and slopes sum up."""

    model: LossModel
    n: int
    const: list[Array]
    rate: list[Array]

    @classmethod
    def of(cls, model: LossModel, n: int, start: float, stop: float) -> _Declaration:
        """From the polylines at both ends of the path: all is affine in t between them."""
        const, rate = [], []
        for piece, other in zip(model.polyline(start), model.polyline(stop), strict=True):
            first, last = (_finite(np.asarray(_value(p), dtype=float)) for p in (piece, other))
            speed = (last - first) / (stop - start) if stop != start else np.zeros(first.shape)
            const.append(np.abs(first - speed * start))
            rate.append(np.abs(speed))
        return cls(model, n, const, rate)

    def lines(self, ts: Array) -> _Lines:
        """The polylines at each of `ts`, evaluated by the model itself."""
        shape = (ts.size, self.n)
        columns = list(zip(*(self.model.polyline(float(t)) for t in ts), strict=True))
        parts = []
        for piece, const, rate in zip(columns, self.const, self.rate, strict=True):
            value = np.empty(shape)
            for row, at_t in zip(value, piece, strict=True):
                row[:] = _value(at_t)
            terms = np.broadcast_to(const + rate * np.abs(ts)[:, None], shape)
            flat = not isinstance(piece[0], Slope)
            bend = np.asarray(0.0 if flat else piece[0].curvature, dtype=float)
            parts.append(_Part(value, terms, bend, flat and not isinstance(piece[0], Knot)))
        return _Lines(parts[::2], parts[1::2])

    def origins(self, ts: Array) -> tuple[Array, Bools]:
        """Where each loss is zero, and whether the model says so.

        No integral starts at an infinite origin (a first knot that stands at infinity); the loss is
        then known up to a constant and 0 takes its place.
        """
        origin = np.empty((ts.size, self.n))
        for row, t in zip(origin, ts, strict=True):
            row[:] = self.model.loss_origin(float(t))
        known = np.isfinite(origin)
        return np.where(known, origin, 0.0), np.all(known, axis=1)


def _value(piece: Any) -> Any:
    return piece.value if isinstance(piece, Slope) else piece.position


@attrs.frozen
class _Lines:
    """The polylines of all coordinates at k points: slope j lies between corners j - 1 and j."""

    slopes: list[_Part]
    corners: list[_Part]

    def rows(self, keep: Bools) -> _Lines:
        """The polylines at some of the points."""
        slopes, corners = ([part.rows(keep) for part in p] for p in (self.slopes, self.corners))
        return _Lines(slopes, corners)

    def ends(self, j: int) -> tuple[Any, Any]:
        """The corners that bound slope j."""
        low = self.corners[j - 1].value if j else -np.inf
        return low, self.corners[j].value if j < len(self.corners) else np.inf

    def nearest(self, u: Array) -> tuple[Array, Array]:
        """Position and terms of the corner nearest to u (0 where all are infinite)."""
        gap = np.full(u.shape, np.inf)
        at, terms = np.zeros(u.shape), np.zeros(u.shape)
        for corner in self.corners:
            away = np.abs(u - corner.value)
            closer = away < gap
            gap = np.where(closer, away, gap)
            at, terms = np.where(closer, corner.value, at), np.where(closer, corner.terms, terms)
        return at, terms

    def largest(self) -> Array:
        """The largest finite ``|value|`` of a slope of each coordinate."""
        return np.asarray(np.max([_size(slope.value) for slope in self.slopes], axis=0))

    def usual(self) -> Array:
        """The slope that most coordinates have: the median of their largest (k,); infinite where
        that is 0."""
        middle = np.median(self.largest(), axis=1)
        return np.where(middle > 0.0, middle, np.inf)

    def usual_corner(self) -> float:
        """The knot that most coordinates have, of those that are not at 0; a jump where no knot is.

        A jump far away or one huge target does not change it.
        """
        for jumps in (False, True):
            sizes = [_size(c.value) for c in self.corners if c.is_jump == jumps]
            if np.any(sizes):
                values = np.concatenate(sizes)
                return float(np.median(values[values > 0.0]))
        return 0.0

    def rise(self, j: int) -> tuple[Array, Array]:
        """By how much alpha rises at corner j, and the largest of what it is the difference of."""
        at = _finite(self.corners[j].value)
        left, right = self.slopes[j], self.slopes[j + 1]
        below, above = left.height(at), right.height(at)
        size = np.maximum(
            np.maximum(_size(below), _size(above)), np.maximum(left.terms, right.terms)
        )
        return above - below, size

    def losses(self, u: Array, origin: Array) -> Array:
        """``L_i(u_i) = -integral of the polyline from origin_i to u_i``.

        Infinite slopes are walls: nothing is lost there, who passes one is told by the gap.
        """
        low, high = np.minimum(u, origin), np.maximum(u, origin)
        total = np.zeros(u.shape)
        for j, slope in enumerate(self.slopes):
            left, right = (np.clip(end, low, high) for end in self.ends(j))
            mean = slope.height(0.5 * (left + right))
            total += (right - left) * np.where(np.isfinite(mean), mean, 0.0)
        return np.where(u >= origin, -total, total)

    def steepest(self, u: Array, blur: Array) -> Array:
        """The largest finite ``|alpha|`` of a slope within `blur` of u: how fast the loss changes
        there at most."""
        top = np.zeros(u.shape)
        for j, slope in enumerate(self.slopes):
            low, high = self.ends(j)
            here = (u >= low - blur) & (u <= high + blur)
            top = np.maximum(top, np.where(here, _size(slope.height(u)), 0.0))
        return top

    def branches(self, u: Array, reach: Array, side: float) -> tuple[Index, Index]:
        """First and last slope of the convex branch of each response.

        One within NEAR of a jump counts as left (`side` -1) or right (+1) of it, or (0) as left of
        it only where it is not beyond.
        """
        last_slope = len(self.corners)
        first, last = np.zeros(u.shape, np.int64), np.full(u.shape, last_slope)
        for j, corner in enumerate(self.corners):
            if not corner.is_jump:
                continue
            rise, size = self.rise(j)
            real = (rise > LEVEL * size) & np.isfinite(corner.value)
            slack = NEAR * np.maximum(reach, _size(corner.value))
            right = real & (u + side * slack > corner.value)
            first[right] = j + 1
            last[real & ~right & (last == last_slope)] = j
        return first, last


def _finite(values: Array) -> Array:
    return np.where(np.isfinite(values), values, 0.0)


def _size(values: Array) -> Array:
    """``|values|``, 0 where infinite."""
    return np.abs(_finite(values))


# ---------------------------------------------------------------------- the points of a path


@attrs.frozen
class _Known:
    """What is the same at every point of a path.

    `length` is ``|phi_i|``, `share` how much of b each response takes up (at most 1).  Along a path
    alpha goes through larger values than it has at its end, and keeps their rounding: `largest` is
    the largest ``|alpha_i|`` of the path, `heaviest` the largest ``|phi_i||alpha_i|``, `corner` the
    corner that most coordinates have, which says what is rounding where the corners are 0.
    """

    declared: _Declaration
    border: Array
    length: Array
    share: Array
    largest: float
    heaviest: float
    corner: float

    @classmethod
    def of(cls, path: Path) -> _Known:
        s, border = path.segments, path.problem.border
        length = np.sqrt(path.problem.gram.diag)
        ends = [path._alpha_on(0, path.traced[0]), path._alpha_on(len(s) - 1, path.traced[1])]
        alphas = _size(np.concatenate([*ends, s.alpha_start, s.alpha_stop]))
        lengths = np.concatenate([length, length, length[s.active], length[s.active]])
        rows = np.abs(border).max(axis=1, initial=0.0)
        declared = _Declaration.of(path.model, length.size, *path.traced)
        return cls(
            declared=declared,
            border=border,
            length=length,
            share=rows / max(float(rows.max()), TINY),
            largest=float(alphas.max()),
            heaviest=float((alphas * lengths).max()),
            corner=declared.lines(np.array(path.traced)).usual_corner(),
        )


@attrs.frozen
class _Points:
    """k points of the path with everything recomputed, on the scales told above.

    `nearby` is the corner nearest to each response, 0 where all are infinite; `usual` the size of
    alpha that rounding is measured by: the largest slope of the coordinate, or the largest alpha
    of the path if that is less.
    """

    t: Array
    alpha: Array
    b: Array
    w: Array
    u: Array
    norm: Array
    reach: Array
    terms: Array
    nearby: Array
    usual: Array
    lines: _Lines

    @classmethod
    def of(cls, known: _Known, t: Array, alpha: Array, b: Array, w: Array) -> _Points:
        """Everything about the points at `t` from alpha, b and ``w = Q alpha``."""
        border, length = known.border, known.length
        shift = np.abs(b) @ np.abs(border).T
        norm = np.sqrt(np.maximum(np.einsum("ij,ij->i", alpha, w), 0.0))
        u = w + b @ border.T
        lines = known.declared.lines(t)
        at, corner_terms = lines.nearest(u)
        reach = np.maximum(np.outer(norm, length) + shift, np.abs(u))
        slope = lines.largest()
        usual = np.minimum(np.where(slope > 0.0, slope, np.inf), known.largest)
        weight = np.maximum(np.abs(alpha) @ length, known.heaviest)[:, None]
        terms = length * np.maximum(weight, usual * length)
        # A response that has nothing but b has the rounding of what b was found from.
        common = np.outer(np.mean(terms, axis=1), known.share)
        terms = np.maximum(np.maximum(terms + shift, common), corner_terms)
        terms = np.maximum(terms, known.corner)
        # w and b solve the equations of those on knots: the rounding of these is in every u.
        size = np.maximum(reach, np.abs(at))
        solved = np.where(np.abs(u - at) <= NEAR * size, np.maximum(size, terms), 0.0)
        terms = np.maximum(terms, solved.max(axis=1, keepdims=True))
        reach = np.maximum(reach, ROUNDED * terms)
        return cls(t, alpha, b, w, u, norm, reach, terms, at, usual, lines)

    def u_scale(self, at: Array, terms: Any = 0.0) -> Array:
        """The scale of u against a corner at `at`."""
        scale = np.maximum(np.maximum(self.reach, _size(at)), ROUNDED * terms)
        return np.asarray(np.maximum(scale, TINY))

    def rows(self, keep: Bools) -> _Points:
        """Some of the points."""
        values = (getattr(self, field.name) for field in attrs.fields(_Points)[:-1])
        kept = [value[keep] for value in values]
        return _Points(*kept, self.lines.rows(keep))  # type: ignore[call-arg]

    # ------------------------------------------------------------------ on the polyline

    def distance(self, length: Array) -> Array:
        """How far each (u_i, alpha_i) is from its polyline, relative to its own scales."""
        # Where a coordinate has no slope but 0 and walls: the alpha that makes up all of w, or
        # where w is 0 the largest there is.
        idle = self.lines.largest() == 0.0
        reach = idle & (length > 0.0)
        weight = np.divide(self.norm[:, None], length, where=reach, out=np.zeros(self.u.shape))
        largest = np.abs(self.alpha).max(axis=1, initial=0.0)[:, None]
        weight = np.where(idle & (weight == 0.0), largest, weight)
        best = np.full(self.u.shape, np.inf)
        for j, slope in enumerate(self.lines.slopes):
            best = np.fmin(best, self._from_slope(j, slope, weight))
        for j, corner in enumerate(self.lines.corners):
            if not corner.is_jump:
                best = np.fmin(best, self._from_knot(j, corner, weight))
        return best

    def _from_slope(self, j: int, slope: _Part, weight: Array) -> Array:
        low, high = self.lines.ends(j)
        at = np.clip(self.u, low, high)
        height = slope.height(at)
        scale = self.u_scale(at)
        size = np.maximum(_size(height), ROUNDED * slope.terms)
        # A slanted piece is as near as it is sideways.
        vertical = np.maximum(_a_scale(self.alpha, size, weight), slope.bend * scale)
        off = np.maximum(np.abs(self.u - at) / scale, np.abs(self.alpha - height) / vertical)
        return np.where(np.isfinite(off), off, np.inf)

    def _from_knot(self, j: int, corner: _Part, weight: Array) -> Array:
        at = _finite(corner.value)
        left, right = self.lines.slopes[j], self.lines.slopes[j + 1]
        top, bottom = left.height(at), right.height(at)
        nearest = np.clip(self.alpha, np.minimum(bottom, top), np.maximum(bottom, top))
        size = np.maximum(_size(top), _size(bottom))
        size = np.maximum(size, ROUNDED * np.maximum(left.terms, right.terms))
        across = np.abs(self.u - corner.value) / self.u_scale(at, corner.terms)
        off = np.maximum(across, np.abs(self.alpha - nearest) / _a_scale(self.alpha, size, weight))
        return np.where(np.isfinite(off), off, np.inf)

    # ------------------------------------------------------------------ the duality gap

    def gap(self, slack: float) -> tuple[Array, Array]:
        """``L_i(u_i) - L_i(v_i) + alpha_i (u_i - v_i)`` on the branch of each coordinate, and what
        rounding of u_i and alpha_i makes of it.

        v_i is where the branch has height alpha_i, so that this is the area between alpha_i and the
        polyline from v_i to u_i, and never negative.  Where u_i may belong to the branches on
        both sides of a jump the smaller area counts.
        """
        # On a path where every alpha ought to be 0 the largest of them is rounding.
        slope = np.minimum(self.lines.largest(), _finite(self.lines.usual())[:, None])
        noise = np.maximum(SOLVED * self.usual, ROUNDED * np.maximum(np.abs(self.alpha), slope))
        branch = self.lines.branches(self.u, self.reach, 0.0)
        area, length, tallest = self._area(branch, slack)
        for side in (-1.0, 1.0):
            first, last = self.lines.branches(self.u, self.reach, side)
            either = np.any((first != branch[0]) | (last != branch[1]), axis=1)
            if np.any(either):
                others = self.rows(either)._area((first[either], last[either]), slack)
                smaller = others[0] < area[either]
                for kept, other in zip((area, length, tallest), others, strict=True):
                    kept[either] = np.where(smaller, other, kept[either])
        return area, ROUNDED * tallest * self.terms + noise * length

    def _area(self, branch: tuple[Index, Index], slack: float) -> tuple[Array, Array, Array]:
        """The area, how far it is from v to u, and how high the highest part of it is."""
        low, high, left, right = self._domain(*branch)
        u = np.clip(self.u, low, high)
        area, length, tallest, edge = (np.zeros(u.shape) for _ in range(4))
        for j, slope in enumerate(self.lines.slopes):
            inside = (branch[0] <= j) & (j <= branch[1]) & np.isfinite(slope.value)
            start, stop = (np.clip(end, left, right) for end in self.lines.ends(j))
            for first, last, sign in (
                (start, np.minimum(stop, u), 1.0),
                (np.maximum(start, u), stop, -1.0),
            ):
                height, wide = _above(slope, self.alpha, first, last, sign)
                here = inside & (wide > 0.0)
                height = np.where(here, height, 0.0)
                tallest = np.maximum(tallest, height)
                area += height * wide
                length += np.where(here, wide, 0.0)
            touches = inside & (start <= u) & (u <= stop)
            beside = np.abs(self.alpha - slope.height(u))
            edge = np.maximum(edge, np.where(touches, beside, 0.0))
        # Beyond a wall, or the end of the branch, by rounding: the same area mirrored in the wall.
        beyond = np.abs(self.u - u)
        area, length = area + edge * beyond, length + beyond
        tallest = np.maximum(tallest, np.where(beyond > 0.0, edge, 0.0))
        area = np.where(beyond > slack * self.u_scale(u), np.inf, area)
        return area, length, tallest

    def _domain(self, first: Index, last: Index) -> tuple[Array, Array, Array, Array]:
        """Where the branch of each coordinate lies, and how far its area is measured.

        A branch ends at its jumps and at walls.  One that goes on for ever is followed as far as
        w and b could take the response, or the nearest corner: an alpha above all of a branch is
        an infinite gap, but what it costs within reach tells rounding from a mistake.
        """
        low, high = np.full(self.u.shape, -np.inf), np.full(self.u.shape, np.inf)
        far = 2.0 * np.maximum(self.reach, np.abs(self.nearby))
        for j, corner in enumerate(self.lines.corners):
            at = corner.value
            low = np.where((first == j + 1) | (self.lines.slopes[j].value == np.inf), at, low)
            ends = (last == j) | (self.lines.slopes[j + 1].value == -np.inf)
            high = np.where(ends, np.minimum(at, high), high)
        return low, high, np.maximum(low, -far), np.minimum(high, far)


def _a_scale(alpha: Array, size: Array, weight: Array) -> Array:
    scale = np.maximum(np.abs(alpha), np.maximum(size, weight))
    return np.maximum(scale, TINY)


def _above(slope: _Part, alpha: Array, first: Array, last: Array, sign: float
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
class _Value:
    """The objective at k points.

    ``primal = 1/2 |w|^2 + sum_i L_i(u_i) + e^T b + constant``; `size` is the sum of the absolute
    values of its terms, `blur` what it changes by where u and alpha move by the terms they are the
    sums of; `absolute` tells whether the model says where each loss is zero.
    """

    primal: Array
    size: Array
    blur: Array
    constant: Array
    absolute: Bools

    @classmethod
    def of(cls, declared: _Declaration, points: _Points, target: Array) -> _Value:
        origin, absolute = declared.origins(points.t)
        losses = points.lines.losses(points.u, origin)
        half = 0.5 * np.einsum("ij,ij->i", points.alpha, points.w)
        linear = np.einsum("ij,ij->i", target, points.b)
        constant = np.array([float(declared.model.objective_constant(float(t))) for t in points.t])
        steep = points.lines.steepest(points.u, STANDING * ROUNDED * points.terms)
        blur = np.sum(points.terms * np.maximum(steep, np.abs(points.alpha)), axis=1)
        return cls(
            primal=half + losses.sum(axis=1) + linear + constant,
            size=np.abs(half) + np.abs(losses).sum(axis=1) + np.abs(linear),
            blur=blur,
            constant=np.abs(constant),
            absolute=absolute,
        )

    @property
    def scale(self) -> Array:
        """What differences of objectives are relative to."""
        return np.asarray(self.size + self.constant + ROUNDED * self.blur)


@attrs.frozen
class _Point:
    """What is kept of a point for the comparison with the next."""

    t: float
    alpha: Array
    w: Array
    u: Array
    reach: Array
    objective: float
    scale: float
    absolute: bool


Place = tuple[int, float, str]


def _places(path: Path) -> list[Place]:
    """(segment, t, where) at both ends and inside of every segment."""
    places = []
    for k in range(len(path.segments)):
        start, stop = float(path.segments.start[k]), float(path.segments.stop[k])
        places.append((k, start, "start"))
        if stop != start:
            places.append((k, 0.5 * (start + stop), "inside"))
            places.append((k, stop, "stop"))
    return places


class _Examination:
    """Goes through the points of a path in order and keeps the tallies."""

    CHECKS = ("polyline", "border", "gap", "objective", "continuity", "jumps", "corners")

    def __init__(self, path: Path, tol: float) -> None:
        self.path, self.problem, self.tol = path, path.problem, tol
        self.known = _Known.of(path)
        self.target = Affine.of(path.model.border_target)
        self.tallies = {name: _Tally() for name in self.CHECKS}
        self.jump_times = {jump.t for jump in path.jumps}
        self.sides: dict[tuple[float, str], _Point] = {}
        self.previous: _Point | None = None

    def run(self) -> None:
        """Every condition, on the whole path."""
        s = self.path.segments
        brief = BRIEF * abs(self.path.traced[1] - self.path.traced[0])
        measured = set(np.linspace(0, len(s) - 1, OBJECTIVES).astype(int).tolist())
        for batch, points, value in self._batches(_places(self.path)):
            long = [w == "inside" and abs(s.stop[k] - s.start[k]) > brief for k, _, w in batch]
            self._standing(points, np.array(long))
            for row, (k, _, where) in enumerate(batch):
                if where == "inside":
                    continue
                point = _point(points, value, row)
                self._remember(point)
                if where == "start":
                    self._junction(point)
                if (where == "start" and k in measured) or k == len(s) - 1:
                    self._objective(point, "after" if where == "start" else "before", k)
                self.previous = point
        self._falls()

    def look_at(self, values: Array) -> None:
        """The conditions that hold at a single t, at each of `values` and on both sides of it."""
        found = {self.path._locate(t, side): side for t in values.tolist() for side in SIDES}
        places = [(k, t, found[k, t]) for k, t in sorted(found)]
        for batch, points, value in self._batches(places):
            for row, (k, _, side) in enumerate(batch[:OBJECTIVES]):
                self._objective(_point(points, value, row), side, k)

    # ------------------------------------------------------------------ everything anew

    def _batches(self, places: list[Place]) -> Iterator[tuple[list[Place], _Points, _Value]]:
        """Recompute the points at `places` and check what holds at each of them alone."""
        path, problem = self.path, self.problem
        size = max(1, CHUNK // problem.gram.size)
        for first in range(0, len(places), BATCH):
            batch = places[first : first + BATCH]
            alpha = np.stack([path._alpha_on(k, t) for k, t, _ in batch])
            b = np.stack([path._b_on(k, t) for k, t, _ in batch])
            w = np.ascontiguousarray(problem.gram.matmat(np.ascontiguousarray(alpha.T)).T)
            ts = np.array([t for _, t, _ in batch])
            for start in range(0, len(batch), size):
                rows = slice(start, start + size)
                points = _Points.of(self.known, ts[rows], alpha[rows], b[rows], w[rows])
                yield batch[rows], points, self._conditions(points)

    def _conditions(self, points: _Points) -> _Value:
        """Every (u_i, alpha_i) on its polyline, the border equations, the duality gap."""
        border, e, largest = self.problem.border, self.target, self.known.largest
        rate = e.rate * points.t[:, None]
        target = np.broadcast_to(e.const + rate, points.b.shape)
        terms = np.broadcast_to(np.abs(e.const) + np.abs(rate), points.b.shape)
        terms = terms + np.abs(points.alpha) @ np.abs(border)
        # Where every alpha ought to be 0 the terms are what solving for them leaves.
        usual = points.lines.usual()
        noise = np.maximum(SOLVED * np.minimum(usual, largest), ROUNDED * _finite(usual))
        solved = np.outer(noise, np.abs(border).sum(axis=0))
        left = target - points.alpha @ border
        if border.shape[1]:
            off = np.abs(left) / np.maximum(np.maximum(terms, solved), TINY)
            self._add("border", off, points.t)
        value = _Value.of(self.known.declared, points, target)
        area, blur = points.gap(max(NEAR, self.tol))
        area = area.sum(axis=1) + np.abs(np.sum(points.b * left, axis=1))
        blur = blur.sum(axis=1) + np.sum(np.abs(points.b) * (ROUNDED * terms + solved), axis=1)
        self._add("gap", (area / np.maximum(value.size + blur, TINY))[:, None], points.t)
        self._add("polyline", points.distance(self.known.length), points.t)
        return value

    def _add(self, name: str, off: Array, t: Array) -> None:
        """Count residuals, one row a point."""
        for worst, at in zip(off.max(axis=1).tolist(), t.tolist(), strict=True):
            self.tallies[name].add(worst, at, off.shape[1])

    def _objective(self, p: _Point, side: str, k: int) -> None:
        """`Path.objective` is the integral."""
        if p.absolute and self.path._locate(p.t, side)[0] == k:
            off = abs(self.path.objective(p.t, side) - p.objective)
            self.tallies["objective"].add(off / p.scale, p.t)

    # ------------------------------------------------------------------ from point to point

    def _remember(self, point: _Point) -> None:
        if point.t in self.jump_times:
            self.sides.setdefault((point.t, "before"), point)
            self.sides[point.t, "after"] = point

    def _junction(self, p: _Point) -> None:
        """w and the objective go on from the segment before, unless a jump lies between."""
        last = self.previous
        if last is None or last.t != p.t or p.t in self.jump_times:
            return
        move = float((np.abs(p.w - last.w) / np.maximum(p.reach, last.reach)).max())
        change = p.alpha - last.alpha
        if abs(float(change @ (p.w - last.w))) <= NULL * float(change**2 @ self.problem.gram.diag):
            # A direction null to rounding: w is known to the root of that only.
            move = 0.0
        fall = abs(p.objective - last.objective) / max(p.scale, last.scale)
        self.tallies["continuity"].add(max(move, fall), p.t)

    def _standing(self, points: _Points, inside: Bools) -> None:
        """Nobody stands on a jump corner without being held there."""
        for j, corner in enumerate(points.lines.corners):
            if not corner.is_jump:
                continue
            rise, size = points.lines.rise(j)
            near = np.abs(points.u - corner.value) <= STANDING * points.u_scale(corner.value)
            near &= rise > LEVEL * size
            for row in np.flatnonzero(inside).tolist():
                loose = _loose(self.problem, points, row, np.flatnonzero(near[row]))
                self.tallies["corners"].add(float(loose), float(points.t[row]), near.shape[1])

    def _falls(self) -> None:
        """The objective falls across every jump, by no less than convexity asks for.

        Each round of a D-step goes to the optimum of a problem that is strongly convex in w, from
        a point feasible for it: the objective falls by at least half the square of the move.
        """
        for t in sorted(self.jump_times):
            if (t, "before") not in self.sides:
                # The path does not break where a jump is recorded.
                self.tallies["jumps"].add(np.inf, t)
                continue
            before, after = self.sides[t, "before"], self.sides[t, "after"]
            here = [jump for jump in self.path.jumps if jump.t == t]
            change = after.alpha - before.alpha
            rounds = max(sum(jump.rounds for jump in here), 1)
            owed = 0.5 * max(float(change @ (after.w - before.w)), 0.0) / rounds
            short = owed - (before.objective - after.objective)
            first = here[0].objective_before - before.objective
            last = here[-1].objective_after - after.objective
            # Objectives that are known up to a constant have a fall all the same.
            recorded = max(abs(first), abs(last)) if before.absolute else abs(first - last)
            off = max(short, recorded, 0.0) / max(before.scale, after.scale)
            claimed = any(jump.moved for jump in here)
            still = claimed and np.array_equal(after.u, before.u)
            self.tallies["jumps"].add(np.inf if still else off, t)

    def certificate(self) -> Certificate:
        checks = tuple(self.tallies[name].check(name, self.tol) for name in self.CHECKS)
        return Certificate(checks, self.tol)


def _point(points: _Points, value: _Value, row: int) -> _Point:
    scale = max(float(value.scale[row]), TINY)
    return _Point(
        t=float(points.t[row]),
        alpha=points.alpha[row],
        w=points.w[row],
        u=points.u[row],
        reach=np.maximum(np.maximum(points.reach[row], np.abs(points.nearby[row])), TINY),
        objective=float(value.primal[row]),
        scale=scale,
        absolute=bool(value.absolute[row]),
    )


def certify(path: Path, tol: float = 1e-8, at: npt.ArrayLike | None = None) -> Certificate:
    """Check `path` at every break-point, both sides of every jump, and inside every segment; or
    the optimality conditions at the values `at` alone."""
    if not tol > 0.0:
        raise PathError(f"certify: tol must be positive, got {tol!r}")
    # A path spoiled by infinite numbers is to fail, not to warn.
    with np.errstate(invalid="ignore", over="ignore"):
        examination = _Examination(path, tol)
        if at is None:
            examination.run()
        else:
            examination.look_at(_values(at))
    return examination.certificate()


def _values(at: npt.ArrayLike) -> Array:
    try:
        values = np.atleast_1d(np.asarray(at, dtype=float))
    except (TypeError, ValueError):
        raise PathError(f"certify: at must be a number or several, got {at!r}") from None
    if values.size == 0:
        raise PathError("certify: at holds no value; leave it out to check the whole path")
    return values


def _loose(problem: Problem, points: _Points, row: int, near: Index) -> int:
    """How many of `near` are not held in place by the coordinates standing on knots.

    i is held where phi_i (with its border row) lies in their span: then w and b cannot move u_i
    and leave all of them where they are.  Rows are taken at length 1, each on its own scale.
    """
    if near.size == 0:
        return 0
    u, border = points.u[row], problem.border
    on_knot = np.zeros(u.size, dtype=bool)
    for knot in points.lines.corners:
        if not knot.is_jump:
            on_knot |= np.abs(u - knot.value[row]) <= NEAR * points.u_scale(knot.value)[row]
    active = np.flatnonzero(on_knot)
    diag = problem.gram.diag
    weight = (float(diag.max()) or 1.0) / max(float((border**2).sum(axis=1).max(initial=0.0)), TINY)
    own = diag + weight * (border**2).sum(axis=1)
    length = np.sqrt(np.where(own > 0.0, own, 1.0))
    block = problem.gram.block(active, active) + weight * border[active] @ border[active].T
    rows = problem.gram.block(active, near) + weight * border[active] @ border[near].T
    block = block / np.outer(length[active], length[active])
    rows = rows / np.outer(length[active], length[near])
    inside = (rows * np.linalg.lstsq(block, rows, rcond=1e-12)[0]).sum(axis=0)
    return int(np.sum((own[near] > 0.0) & (1.0 - inside > 1e-8)))
