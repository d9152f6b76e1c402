"""How the engine sees a loss: as a polyline in the plane (u, alpha).

The optimality condition of one coordinate, ``alpha_i in -dL_i(u_i; t)``, says that the point
``(u_i, alpha_i)`` lies on the graph of ``-dL_i``.  For a piecewise linear or quadratic loss that
graph is a polyline.  Read from left to right (u grows), it alternates between

* `Slope`: a flat piece, ``alpha = value(t) - curvature * u`` with u free between its two corners;
* `Knot`: a steep piece, ``u = position(t)`` with alpha free between the two slopes (alpha falls);
* `Jump`: a concave corner, where alpha rises from left to right; no local optimum sits there.

With K corners the pieces are numbered ``0 .. 2K``: slope j is piece ``2j``, corner j is ``2j + 1``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from homotopy.arrays import Array, Bools, Index
from homotopy.errors import ModelError
from homotopy.model.affine import Affine
from homotopy.model.tolerances import MODEL_TOLERANCES

__all__ = ["JUMP", "KNOT", "SEAM", "Jump", "Knot", "Polylines", "Slope", "Snapshot", "is_free"]

Codes = npt.NDArray[np.int8]

KNOT, SEAM, JUMP = 0, 1, 2
# The curvature of most slopes.
FLAT = 0.0
# Most snapshots cached at a time.
KEPT = 4


@attrs.frozen(eq=False)
class Slope:
    """A flat piece: ``alpha = value - curvature * u``, with u free between its two corners.

    `value` and `curvature` are numbers, or arrays with one entry per coordinate; `value` may be
    affine in t, ``curvature >= 0`` may not move.  A `value` of ``+inf`` (leftmost slope) or
    ``-inf`` (rightmost slope) declares a wall that u cannot pass.
    """

    name: str
    value: Any
    curvature: Any = FLAT


@attrs.frozen(eq=False)
class Knot:
    """A steep piece at ``u = position``: alpha is free between the values of the slopes beside it.

    Alpha falls from left to right.  `position` is a number, an array with one entry per
    coordinate, or affine in t.
    """

    name: str
    position: Any


@attrs.frozen(eq=False)
class Jump:
    """A concave corner at ``u = position``, where alpha rises from left to right.

    No local optimum lies on it: a coordinate that reaches it changes side, and the path is
    discontinuous there.  `position` is a number, an array with one entry per coordinate, or affine
    in t; ``+-inf`` for a coordinate without this corner.
    """

    position: Any


@attrs.frozen(eq=False)
class Snapshot:
    """The polylines of all coordinates at one t: slope values (n, K+1), corner positions (n, K).

    `terms` (n, 1), if known, is the largest term of the heights of each coordinate: of slopes
    ``const + rate * t``, and of corners times the curvatures beside them.
    """

    slope: Array
    corner: Array
    curvature: Array
    kind: Codes
    terms: Array | None = None

    @property
    def convex(self) -> bool:
        """Whether no jump is at a finite position."""
        jump = self.kind == JUMP
        return not (jump.any() and (jump & np.isfinite(self.corner)).any())

    def slope_at(self, index: Any, j: Any, u: Any) -> Any:
        """Return ``alpha`` on slope `j` of the coordinates `index` at the response `u`."""
        value = self.slope[index, j]
        bend = self.curvature[index, j]
        return value - bend * np.where(bend > 0.0, u, 0.0)

    def loss(self, u: Array, origin: Any) -> float:
        """Return the sum of ``L_i(u_i) = -integral of alpha from origin_i to u_i`` over i.

        Infinite slopes are walls (the loss is 0 or infinite there) and contribute nothing; the
        certificate checks that no wall is passed.
        """
        n, k = self.corner.shape
        begin, total, low = np.full(n, origin, dtype=float), 0.0, np.full(n, -np.inf)
        for j in range(k + 1):
            high = self.corner[:, j] if j < k else np.full(n, np.inf)
            right, left = np.clip(u, low, high), np.clip(begin, low, high)
            with np.errstate(invalid="ignore"):
                width = right - left
                value = self.slope[:, j] - 0.5 * self.curvature[:, j] * (right + left)
            real = np.isfinite(width) & np.isfinite(value) & (width != 0.0)
            total -= float(width[real] @ value[real])
            low = high
        return total

    def lowest(self) -> tuple[Array, Bools]:
        """Return the first response that minimises each loss, and whether there is one.

        For a loss that decreases without bound the response is the last corner on that side.
        """
        n, k = self.corner.shape
        known = np.isfinite(self.corner)
        count = np.arange(n)
        left, right = (self.corner == -np.inf).sum(axis=1), k - (self.corner == np.inf).sum(axis=1)
        falls_left = (self.slope[count, left] < 0.0) & (self.curvature[count, left] == 0.0)
        falls_right = (self.slope[count, right] > 0.0) & (self.curvature[count, right] == 0.0)
        place, best = np.zeros(n), np.full(n, np.inf)
        level, terms = np.zeros(n), np.zeros(n)
        for j in range(k + 1):
            low = self.corner[:, j - 1] if j else np.full(n, -np.inf)
            high = self.corner[:, j] if j < k else np.full(n, np.inf)
            value, bend = self.slope[:, j], self.curvature[:, j]
            anchored, inside = np.isfinite(low), np.isfinite(low) & np.isfinite(high)
            with np.errstate(invalid="ignore", divide="ignore"):
                bottom = value / bend
                # A bottom that misses a corner by rounding is that corner.
                slack = MODEL_TOLERANCES.origin * np.abs(bottom)
                slanted = (bend > 0.0) & (bottom > low + slack) & (bottom < high - slack)
                anchor = np.where(anchored, low, np.where(np.isfinite(high), high, bottom))
                depth = np.where(slanted, 0.5 * bend * (anchor - bottom) ** 2, 0.0)
                step = (high - low) * (value - 0.5 * bend * (high + low))
            # Left of the first corner, `level` is the loss at that corner.
            better = slanted & (level - depth < best - MODEL_TOLERANCES.level * (terms + depth))
            place, best = np.where(better, bottom, place), np.where(better, level - depth, best)
            fall = np.where(inside & np.isfinite(step), step, 0.0)
            level, terms = level - fall, terms + np.abs(fall)
            if j < k:
                better = known[:, j] & (level < best - MODEL_TOLERANCES.level * terms)
                place, best = np.where(better, high, place), np.where(better, level, best)
        ends = (falls_left, np.minimum(left, k - 1)), (falls_right, np.maximum(right - 1, 0))
        for falls, corner in ends:
            place = np.where(falls & known[count, corner], self.corner[count, corner], place)
        return place, ~(falls_left | falls_right)

    def branches(self, u: Array) -> tuple[Index, Index]:
        """Return the first and last slope of the convex branch around each response; a response
        exactly on a jump counts as left of it."""
        return self.branches_beside(self.kind == JUMP, u[:, None] > self.corner)

    @staticmethod
    def branches_beside(jump: Bools, right: Bools) -> tuple[Index, Index]:
        """Return the same for the branches right of the jumps (n, K) at which `right` is true, and
        left of the others."""
        corner, k = np.arange(jump.shape[1]), jump.shape[1]
        first = np.where(jump & right, corner + 1, 0).max(axis=1, initial=0)
        last = np.where(jump & ~right, corner, k).min(axis=1, initial=k)
        return first, last


def is_free(curvature: Array, rows: Any, piece: Any) -> Bools:
    """Return which coordinates have a free alpha: those on knots and slanted slopes."""
    return np.asarray((piece % 2 == 1) | (curvature[rows, piece // 2] > 0.0))


def _per_coordinate(value: Any, n: int, what: str) -> tuple[Array, Array]:
    """Return the constants and the rates of a value, each a number or one for each coordinate."""
    affine = Affine.of(value)
    for part in (affine.const, affine.rate):
        if part.shape not in ((), (n,)):
            raise ModelError(
                f"polyline: {what} has shape {part.shape}; give a number or one value for each of "
                f"the {n} coordinates"
            )
    return affine.const, affine.rate


def _bend(slope: Slope, n: int) -> Array:
    """Return the curvature of a slope; refuse one that moves or is negative."""
    const, rate = _per_coordinate(slope.curvature, n, f"curvature of {slope.name!r}")
    if np.any(rate) or not np.all((const >= 0.0) & np.isfinite(const)):
        raise ModelError(f"polyline: curvature of slope {slope.name!r} must be a fixed number >= 0")
    return const


def _columns(values: list[tuple[Array, Array]], n: int, what: str) -> tuple[Array, Array]:
    """Return tables (n, K) of constants and rates; refuse what is not a number, or too large."""
    const, rate = np.empty((n, len(values))), np.empty((n, len(values)))
    for j, value in enumerate(values):
        const[:, j], rate[:, j] = value
    fine = np.abs(const) <= MODEL_TOLERANCES.largest
    if not (fine.all() and (np.abs(rate) <= MODEL_TOLERANCES.largest).all()):
        for j in range(len(values)):
            _check_numbers(const[:, j], rate[:, j], what)
    return const, rate


def _check_numbers(const: Array, rate: Array, what: str) -> None:
    """Refuse values that are not numbers, or too large."""
    wrong = np.isnan(const) | ~np.isfinite(rate)
    if np.any(wrong):
        i = int(np.argmax(wrong))
        raise ModelError(
            f"polyline: a {what} of coordinate {i} is not a number ({const[i]:g} + {rate[i]:g} t)"
        )
    size = np.where(np.isfinite(const), np.abs(const), 0.0)
    huge = np.flatnonzero(np.maximum(size, np.abs(rate)) > MODEL_TOLERANCES.largest)
    if huge.size:
        i = int(huge[0])
        raise ModelError(
            f"polyline: a {what} of coordinate {i} is {const[i]:g} + {rate[i]:g} t, so large that "
            "its square overflows; where there is no bound, write inf"
        )


@attrs.frozen(eq=False)
class Polylines:
    """The compiled declaration: all n polylines as tables affine in t.

    ``slope0 + slope1 * t`` has shape (n, K+1), ``corner0 + corner1 * t`` has shape (n, K).
    ``names[p]`` is the declared name of piece p (None for a jump); ``jump[j]`` says whether corner
    j was declared as a jump.
    """

    names: tuple[str | None, ...]
    jump: Bools
    slope0: Array
    slope1: Array
    corner0: Array
    corner1: Array
    curvature: Array
    # Recent snapshots by t: those at the ends of the span are used many times.
    _known: dict[float, Snapshot] = attrs.field(factory=dict, init=False, repr=False)

    @classmethod
    def compile(cls, pieces: Sequence[Slope | Knot | Jump], n: int) -> Polylines:
        """Check that `pieces` alternate slope, corner, ..., slope and lay them out as tables."""
        if not isinstance(pieces, Iterable):
            raise ModelError(
                f"polyline: expected a tuple of Slope, Knot or Jump, Slope, ..., got {pieces!r}"
            )
        pieces = tuple(pieces)
        if len(pieces) < 3 or len(pieces) % 2 == 0:
            count = "1 piece" if len(pieces) == 1 else f"{len(pieces)} pieces"
            raise ModelError(
                f"polyline: {count} given; a polyline alternates "
                "Slope, Knot or Jump, Slope, ... and begins and ends with a Slope"
            )
        names: list[str | None] = []
        slopes: list[tuple[Array, Array]] = []
        corners: list[tuple[Array, Array]] = []
        curvature = np.zeros((n, len(pieces) // 2 + 1))
        for p, piece in enumerate(pieces):
            if p % 2 == 0:
                if not isinstance(piece, Slope):
                    raise ModelError(f"polyline: piece {p} is {piece!r}; expected a Slope here")
                slopes.append(_per_coordinate(piece.value, n, f"slope {piece.name!r}"))
                if piece.curvature is not FLAT:
                    curvature[:, p // 2] = _bend(piece, n)
                names.append(piece.name)
            else:
                if not isinstance(piece, Knot | Jump):
                    raise ModelError(f"polyline: piece {p} is {piece!r}; expected a Knot or Jump")
                label = f"knot {piece.name!r}" if isinstance(piece, Knot) else f"jump {p // 2}"
                corners.append(_per_coordinate(piece.position, n, label))
                names.append(piece.name if isinstance(piece, Knot) else None)
        given = [name for name in names if name is not None]
        if len(set(given)) != len(given):
            raise ModelError(f"polyline: piece names must differ, got {', '.join(given)}")
        slope0, slope1 = _columns(slopes, n, "slope")
        corner0, corner1 = _columns(corners, n, "corner")
        return cls(
            names=tuple(names),
            jump=np.array([isinstance(p, Jump) for p in pieces[1::2]]),
            slope0=slope0,
            slope1=slope1,
            corner0=corner0,
            corner1=corner1,
            curvature=curvature,
        )

    @property
    def size(self) -> int:
        """The number of coordinates n."""
        return int(self.slope0.shape[0])

    @property
    def passed(self) -> Index:
        """The number of jumps left of each slope; it identifies the convex branch."""
        return np.concatenate([[0], np.cumsum(self.jump)])

    def flat(self, rows: Any, piece: Any) -> tuple[Array, Array]:
        """Return alpha on flat slopes as ``level + rate * t``; 0 for `rows` on other pieces."""
        j = piece // 2
        flat = (piece % 2 == 0) & (self.curvature[rows, j] == 0.0)
        return np.where(flat, self.slope0[rows, j], 0.0), np.where(flat, self.slope1[rows, j], 0.0)

    def at(self, t: float) -> Snapshot:
        """Return the polylines at `t`, which may be infinite if the values do not move."""
        known = self._known.get(t)
        if known is None:
            if len(self._known) >= KEPT:
                self._known.clear()
            known = self._known[t] = self._evaluate(t)
        return known

    def _evaluate(self, t: float) -> Snapshot:
        slope = _evaluate(self.slope0, self.slope1, t)
        corner = _evaluate(self.corner0, self.corner1, t)
        height = self.heights(slope, corner)
        # Compare with the terms const and rate * t, not with their sum: a sum near 0 is rounding.
        scale = self._terms(t)
        # (Beyond a wall, between two infinite slopes, the height is nan.)
        level = (np.abs(height) <= MODEL_TOLERANCES.seam * scale) | np.isnan(height)
        kind = np.where(level, SEAM, np.where(height > 0, KNOT, JUMP))
        return Snapshot(slope, corner, self.curvature, kind.astype(np.int8), scale)

    def _terms(self, t: float) -> Array:
        """Return the largest term of the heights of each coordinate at t, (n, 1)."""
        scale = _scale(_evaluate(np.abs(self.slope0), np.abs(self.slope1), abs(t)))
        if not self.curvature.any():
            return scale
        corner = _evaluate(np.abs(self.corner0), np.abs(self.corner1), abs(t))
        corner = np.where(np.isfinite(corner), corner, 0.0)
        bend = np.maximum(self.curvature[:, 1:], self.curvature[:, :-1])
        return np.maximum(scale, _scale(bend * corner))

    def cleared_at(self, t: float) -> Polylines:
        """Return these polylines, with flat slopes that are 0 at `t` up to the rounding of their
        terms exactly 0 there, if they are beside a corner without height.

        A pull ``rate * t - rate * 5`` that begins at t = 5 leaves a few digits of its terms.  They
        are all there is if corners and responses are 0, and no partition may depend on them.
        """
        snap = self.at(t)
        with np.errstate(invalid="ignore"):
            uneven = (snap.kind == SEAM) & (snap.slope[:, :-1] != snap.slope[:, 1:])
        if not uneven.any():
            return self
        beside = np.zeros(snap.slope.shape, dtype=bool)
        beside[:, :-1] = uneven
        beside[:, 1:] |= uneven
        moved = self.slope1 * t
        terms = np.abs(self.slope0) + np.abs(moved)
        lost = beside & (self.curvature == 0.0) & (snap.slope != 0.0) & np.isfinite(snap.slope)
        lost &= np.abs(snap.slope) <= MODEL_TOLERANCES.seam * terms
        return attrs.evolve(self, slope0=np.where(lost, -moved, self.slope0))

    def heights(self, slope: Array, corner: Array) -> Array:
        """Return by how much alpha falls at each corner, (n, K): > 0 at a knot, < 0 at a jump."""
        left, right = slope[:, :-1], slope[:, 1:]
        if not self.curvature.any():
            with np.errstate(invalid="ignore"):
                return np.asarray(left - right)
        # At an infinite corner the curvatures decide, if they differ.
        turn = self.curvature[:, 1:] - self.curvature[:, :-1]
        bent = turn * np.where(turn == 0.0, 0.0, corner)
        with np.errstate(invalid="ignore"):
            return np.where(np.isinf(bent), bent, left - right + bent)

    def kinds_between(self, start: float, stop: float) -> Codes:
        """Return the kind of each corner on the open interval (start, stop)."""
        first, last = self.at(start), self.at(stop)
        kind = np.where(first.kind == SEAM, last.kind, first.kind)
        return kind.astype(np.int8)

    def check(self, start: float, stop: float, called: str = "t") -> None:
        """Refuse polylines whose corners or slopes are out of order between `start` and `stop` of
        the parameter that is `called` so.

        Everything is affine in t, so checking both ends is enough.
        """
        other_kind = np.where(self.jump, KNOT, JUMP)
        for t in (start, stop):
            snap = self.at(t)
            if snap.corner.shape[1] > 1 and not _in_order(snap.corner):
                scale = np.maximum(_scale(self.at(start).corner), _scale(self.at(stop).corner))
                with np.errstate(invalid="ignore"):
                    gap = np.diff(snap.corner, axis=1)
                bad = np.argwhere(gap < -MODEL_TOLERANCES.crossed * scale)
                if bad.size:
                    i, j = bad[0]
                    raise ModelError(
                        f"polyline: at {called}={t:g} corner {j + 1} of coordinate {i} "
                        f"(u={snap.corner[i, j + 1]:g}) lies left of corner {j} "
                        f"(u={snap.corner[i, j]:g}); corners must not cross inside the span"
                    )
            if not (snap.kind == other_kind).any():
                continue
            for j, is_jump in enumerate(self.jump):
                wrong = np.flatnonzero(snap.kind[:, j] == other_kind[j])
                if wrong.size:
                    i = int(wrong[0])
                    left, right = self.names[2 * j], self.names[2 * j + 2]
                    declared = "Jump" if is_jump else f"Knot {self.names[2 * j + 1]!r}"
                    way, other = ("rise", "a Knot") if is_jump else ("fall", "a Jump")
                    heights = snap.slope[i, j], snap.slope[i, j + 1]
                    raise ModelError(
                        f"polyline: at {called}={t:g} slope {left!r} of coordinate {i} is "
                        f"{heights[0]:g} and slope {right!r} is {heights[1]:g}: alpha must {way} "
                        f"from left to right at {declared} between them.  If these are bounds of "
                        f"alpha, they cross there; if the loss bends the other way, the corner is "
                        f"{other}"
                    )


def _in_order(corner: Array) -> bool:
    """Whether corners are in order and none is NaN."""
    return bool((corner[:, 1:] >= corner[:, :-1]).all())


def _evaluate(const: Array, rate: Array, t: float) -> Array:
    # A value that does not move keeps its value even at an infinite t.
    return np.asarray(const + rate * (t if np.isfinite(t) else np.where(rate == 0.0, 0.0, t)))


def _scale(values: Array) -> Array:
    """Return the largest finite absolute value of each coordinate, (n, 1)."""
    finite = np.where(np.isfinite(values), np.abs(values), 0.0)
    return np.asarray(finite.max(axis=1, keepdims=True, initial=np.finfo(float).tiny))
