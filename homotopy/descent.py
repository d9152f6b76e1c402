"""Descent in alpha, from a point that is no longer a local optimum to one that is.

For a fixed t, and a form Q that need not be semidefinite,

    min over alpha   1/2 alpha^T Q alpha + sum_i H_i(alpha_i),     B^T alpha = e

where ``-H_i'`` is the polyline read from alpha: H is linear on a knot, quadratic on a slanted
piece, and on a flat slope alpha is held at a kink (or a bound).  This is an active-set method.
Coordinates on knots and slanted pieces move by a Newton step if their block is positive definite,
else along a direction of non-positive curvature, until one of them reaches the end of its piece
and continues on the next.  When all are stationary, the most violated kink is released.

The objective falls with every step of positive length.  During steps of zero length (several
coordinates at the ends of their pieces) no coordinate returns to a piece it has left: one that
would is held, as at a kink, until all others are stationary.
"""

from __future__ import annotations

import attrs
import numpy as np
import scipy.linalg

from homotopy.arrays import Array, Bools, Index
from homotopy.errors import TraceError
from homotopy.gram import Gram
from homotopy.model.polyline import Snapshot, is_free
from homotopy.tracker.outcomes import Failure, Kind

__all__ = ["descend", "leading"]


@attrs.frozen(kw_only=True)
class DescentTolerances:
    """What counts as zero during the descent."""

    # A direction whose Rayleigh quotient is below this is not positively curved.
    definite: float = 1e-10
    # A kink is violated if the response is beyond its corner by this fraction of its size.
    violated: float = 1e-10
    # A coordinate is stationary if it misses its piece by at most this fraction of its response.
    still: float = 1e-13
    # A coordinate is at the end of its piece if no more than this fraction of alpha is left.
    at_end: float = 1e-14
    # Most steps: `patience * (n + more)`, where `more` matters for small problems only.
    patience: int = 50
    more: int = 10


DESCENT_TOLERANCES = DescentTolerances()


def descend(
    gram: Gram,
    border: Array,
    snap: Snapshot,
    point: tuple[Array, Array, Index],
    ridge: tuple[int, float] | None,
    scale: Array,
) -> tuple[Array, Array, Index]:
    """Descend from `point` (alpha, b, pieces) to a local optimum; return alpha, b, pieces.

    At a `ridge` (i, way), coordinate i leaves its piece with alpha rising (way > 0) or falling;
    without one, the point is a guess.  `scale` is the size of each response, which decides what
    counts as zero.
    """
    walk = _Walk(gram, border, snap, scale, *point)
    if ridge is not None:
        walk.finish_piece(*ridge)
        walk.let_go(*ridge)
    steps = DESCENT_TOLERANCES.patience * (gram.size + DESCENT_TOLERANCES.more)
    for _ in range(steps):
        if walk.step():
            worst = walk.violated() or walk.unstable()
            if worst is None:
                return walk.alpha, walk.b, walk.piece
            walk.let_go(*worst)
    raise TraceError(f"the descent from a ridge did not reach a local optimum within {steps} steps")


class _Walk:
    """A point during the descent."""

    def __init__(
        self,
        gram: Gram,
        border: Array,
        snap: Snapshot,
        scale: Array,
        alpha: Array,
        b: Array,
        piece: Index,
    ) -> None:
        self.gram, self.border, self.snap, self.scale = gram, border, snap, scale
        self.alpha, self.b, self.piece = alpha.copy(), b.copy(), piece.copy()
        n, k = snap.corner.shape
        self.rows, self.sizes = np.arange(n), gram.sizes
        # The range of alpha on each piece: a knot lies between its two slopes.
        self.low, self.high = np.empty((n, 2 * k + 1)), np.empty((n, 2 * k + 1))
        for p in range(2 * k + 1):
            j = p // 2
            if p % 2 == 1:
                ends = (snap.slope_at(self.rows, j + 1, snap.corner[:, j]),
                        snap.slope_at(self.rows, j, snap.corner[:, j]))  # fmt: skip
            else:
                right = snap.corner[:, j] if j < k else np.full(n, np.inf)
                left = snap.corner[:, j - 1] if j else np.full(n, -np.inf)
                ends = snap.slope_at(self.rows, j, right), snap.slope_at(self.rows, j, left)
            self.low[:, p], self.high[:, p] = ends
        self.u = gram.matvec(self.alpha) + border @ self.b
        self.held: set[int] = set()
        # Since the last step of positive length: coordinates that changed piece, and coordinates
        # that were released although no force acts on them.
        self.passed: set[int] = set()
        self.probed: set[int] = set()
        # The coordinate released last, its direction, and whether nothing has moved since.
        self.newest, self.way, self.fresh = -1, 0.0, False

    # ------------------------------------------------------------------ pieces

    @property
    def moving(self) -> Bools:
        """Coordinates on knots and slanted pieces, except those held."""
        moving = is_free(self.snap.curvature, self.rows, self.piece)
        moving[list(self.held)] = False
        return moving

    def _is_kink(self, i: int, p: int) -> bool:
        """Whether piece p holds alpha of coordinate i fixed over an interval of u."""
        if p % 2 == 1 or self.snap.curvature[i, p // 2] > 0.0:
            return False
        corner, j = self.snap.corner[i], p // 2
        left = corner[j - 1] if j else -np.inf
        right = corner[j] if j < corner.size else np.inf
        return bool(left < right)

    def _next(self, i: int, way: float) -> int | None:
        """Return the next piece where alpha_i can rise (way > 0) or fall, or a kink."""
        step, p = (-1 if way > 0 else 1), int(self.piece[i])
        while 0 <= p + step < self.low.shape[1]:
            p += step
            if self.high[i, p] > self.low[i, p] or self._is_kink(i, p):
                return p
        return None

    def _left(self, i: Index | int, move: Array | float) -> Array:
        """Return how far alpha of coordinate i can move up or down on its piece."""
        alpha, p = self.alpha[i], self.piece[i]
        end = np.where(np.asarray(move) > 0.0, self.high[i, p], self.low[i, p])
        left = np.abs(end - alpha)
        inside = np.where(np.asarray(move) > 0.0, end > alpha, end < alpha)
        return np.where(inside & (left > DESCENT_TOLERANCES.at_end * np.abs(alpha)), left, 0.0)

    def finish_piece(self, i: int, way: float) -> None:
        """Put coordinate i, which is at the end of its piece up to rounding, exactly there."""
        end = (self.high if way > 0.0 else self.low)[i, self.piece[i]]
        self.alpha[i] = end if np.isfinite(end) else self.alpha[i]

    def let_go(self, i: int, way: float) -> None:
        """Release coordinate i with alpha rising (way > 0) or falling, onto the next piece if it is
        at the end of its own."""
        self.held.discard(i)
        self.newest, self.way, self.fresh = i, way, True
        if self._is_kink(i, int(self.piece[i])) or not self._left(i, way) > 0.0:
            p = self._next(i, way)
            if p is None:
                raise TraceError(f"coordinate {i} left its last piece on the descent from a ridge")
            self.piece[i] = p

    # ------------------------------------------------------------------ steps

    def _system(self, active: Index) -> tuple[Array, Array]:
        """Return the block of the active coordinates, and by how much each misses its piece."""
        j, steep = self.piece[active] // 2, self.piece[active] % 2 == 1
        bend = np.where(steep, 0.0, self.snap.curvature[active, j])
        block = self.gram.block(active, active).copy()
        block[np.diag_indices(active.size)] += np.divide(
            1.0, bend, out=np.zeros(bend.size), where=bend > 0.0
        )
        corner = self.snap.corner[active, np.minimum(j, self.snap.corner.shape[1] - 1)]
        value = self.snap.slope[active, j] - self.alpha[active]
        place = np.where(steep, corner, np.divide(value, bend, out=corner.copy(), where=bend > 0.0))
        return block, place - self.u[active]

    def step(self) -> bool:
        """Move the active coordinates until all are stationary (True) or one reaches the end of its
        piece."""
        active = np.flatnonzero(self.moving)
        if self.newest in active:
            # Put it last, so that it leads if it makes the block indefinite.
            active = np.append(active[active != self.newest], self.newest)
        if active.size == 0:
            return True
        block, short = self._system(active)
        size = self._size_of_u()
        move, definite = _newton(block, self.border[active], short, self.sizes[active])
        whole = 1.0
        if definite and np.all(np.abs(short) <= DESCENT_TOLERANCES.still * size[active]):
            return True
        if not definite:
            move, whole = self._downhill(active, block, short, move)
        length, who = self._room(active, move)
        stop = whole <= length
        length = min(length, whole)
        if not np.isfinite(length):
            raise Failure(
                f"no optimum exists: the objective falls without bound as coordinate {active[-1]} "
                "moves",
                Kind.NO_OPTIMUM,
            )
        self.alpha[active] += length * move
        if length > 0.0:
            self.fresh = False
            self.passed.clear()
            self.probed.clear()
        if not stop:
            self._pass_on(int(active[who]), 1.0 if move[who] > 0.0 else -1.0)
        self._respond(active, short - length * (block @ move))
        return bool(stop and definite)

    def _respond(self, active: Index, short: Array) -> None:
        """Update u after a move that leaves the active coordinates `short`; b absorbs as much of
        that as it can."""
        border = self.border[active]
        if border.shape[1]:
            self.b = self.b + np.linalg.lstsq(border, short, rcond=None)[0]
        self.u = self.gram.matvec(self.alpha) + self.border @ self.b

    def _downhill(
        self, active: Index, block: Array, short: Array, move: Array
    ) -> tuple[Array, float]:
        """Return `move` or its opposite, whichever does not go uphill, and how far to go."""
        slope, bend = float(short @ move), float(move @ block @ move)
        level = abs(slope) <= DESCENT_TOLERANCES.violated * float(
            self._size_of_u()[active] @ np.abs(move)
        )
        if active[-1] == self.newest and move[-1] != 0.0 and (level or self.fresh):
            # No force acts, or it was just released: keep the direction of its release.
            turn = self.way * move[-1] < 0.0
        else:
            turn = slope < 0.0
        move, slope = (-move, -slope) if turn else (move, slope)
        flat = bend > -DESCENT_TOLERANCES.definite * float(self.sizes[active] @ move**2)
        if level and flat and not np.isfinite(self._room(active, move)[0]):
            move = -move
        whole = slope / bend if bend > 0.0 and slope > 0.0 and not level else np.inf
        return move, whole

    def _room(self, active: Index, move: Array) -> tuple[float, int]:
        """Return how far `move` can be followed, and which coordinate stops it."""
        with np.errstate(divide="ignore", invalid="ignore"):
            length = np.where(move != 0.0, self._left(active, move) / np.abs(move), np.inf)
        who = int(np.argmin(length))
        return float(length[who]), who

    def _pass_on(self, i: int, way: float) -> None:
        """Move coordinate i, at the end of its piece, to the next; the second time at one point,
        hold it."""
        self.finish_piece(i, way)
        following = self._next(i, way)
        if following is None:
            raise TraceError(f"coordinate {i} left its last piece on the descent from a ridge")
        self.piece[i] = following
        if i in self.passed:
            self.held.add(i)
        self.passed.add(i)

    # ------------------------------------------------------------------ stationary points

    def _size_of_u(self) -> Array:
        terms = np.sqrt(self.sizes * float(self.sizes @ self.alpha**2))
        return np.asarray(np.maximum(self.scale, np.abs(self.u) + terms))

    def violated(self) -> tuple[int, float] | None:
        """Return the most violated kink and the direction in which its alpha should move."""
        corner, k = self.snap.corner, self.snap.corner.shape[1]
        j, still = self.piece // 2, ~self.moving
        left = np.where(still & (j > 0), corner[self.rows, np.maximum(j - 1, 0)], -np.inf)
        right = np.where(still & (j < k), corner[self.rows, np.minimum(j, k - 1)], np.inf)
        held = np.array(sorted(self.held), dtype=np.int64)
        if held.size:
            left[held] = right[held] = self.u[held] + self._system(held)[1]
        size = self._size_of_u()
        with np.errstate(invalid="ignore"):
            beyond = np.maximum(left - self.u, self.u - right) / np.where(size > 0.0, size, 1.0)
        worst = int(np.argmax(beyond))
        if not beyond[worst] > DESCENT_TOLERANCES.violated:
            return None
        return worst, 1.0 if self.u[worst] < left[worst] else -1.0

    def unstable(self) -> tuple[int, float] | None:
        """Return a held coordinate without force, and a direction in which the objective falls
        nevertheless; if it rises in both, the coordinate is no longer held."""
        for i in sorted(self.held - self.probed):
            self.probed.add(i)
            bends = {way: self._curvature(i, way) for way in (1.0, -1.0)}
            way = min(bends, key=bends.__getitem__)
            if bends[way] < -DESCENT_TOLERANCES.definite:
                self.passed.discard(i)
                return i, way
            if bends[way] > DESCENT_TOLERANCES.definite:
                self.held.discard(i)
        return None

    def _curvature(self, i: int, way: float) -> float:
        """Return the Rayleigh quotient as coordinate i moves that way and the others follow;
        infinite if it cannot move."""
        piece, others = int(self.piece[i]), np.flatnonzero(self.moving)
        if not self._left(i, way) > 0.0:
            p = self._next(i, way)
            if p is None or self._is_kink(i, p):
                return np.inf
            self.piece[i] = p
        active = np.append(others, i)
        block, _ = self._system(active)
        self.piece[i] = piece
        pull = np.eye(active.size)[-1]
        move, _ = _newton(block, self.border[active], pull, self.sizes[active])
        return float(move @ block @ move) / float(self.sizes[active] @ move**2)


def leading(block: Array, weights: Array) -> tuple[Array, Array | None]:
    """Return the triangular factor of `block`, and None if it is positive definite; else a
    direction of non-positive curvature, led by the first coordinate whose pivot fails.

    A pivot is the curvature along its direction, measured by the Rayleigh quotient with `weights`.
    """
    factor, failed = scipy.linalg.lapack.dpotrf(block)
    count = block.shape[0] if failed == 0 else failed - 1
    if count:
        inverse, _ = scipy.linalg.lapack.dtrtri(factor[:count, :count])
        # Pivot over mass: a column of the inverse is a direction over the root of its pivot.
        mass = weights[:count] @ np.triu(inverse) ** 2
        weak = np.flatnonzero(~(DESCENT_TOLERANCES.definite * mass < 1.0))
        if weak.size:
            count, failed = int(weak[0]), 1
    if failed == 0:
        return factor, None
    direction = np.zeros(block.shape[0])
    direction[count] = 1.0
    if count:
        direction[:count] = -scipy.linalg.cho_solve(
            (factor[:count, :count], False), block[:count, count]
        )
    return factor, direction


def _newton(block: Array, border: Array, short: Array, sizes: Array) -> tuple[Array, bool]:
    """Return the move that leaves no coordinate short, with the border balanced, and True; if the
    block is not positive definite, a direction of non-positive curvature, and False."""
    if border.shape[1] == 0:
        factor, direction = leading(block, sizes)
        if direction is not None:
            return direction, False
        return np.asarray(scipy.linalg.cho_solve((factor, False), short)), True
    free = scipy.linalg.null_space(border.T)
    if free.shape[1] == 0:
        return np.zeros(short.size), True
    factor, direction = leading(free.T @ block @ free, (free**2).T @ sizes)
    if direction is not None:
        return free @ direction, False
    return free @ scipy.linalg.cho_solve((factor, False), free.T @ short), True
