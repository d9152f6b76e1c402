"""Downhill in alpha: from a point that is no local optimum any more to one that is.

For a fixed t, and a form Q that need not be semidefinite,

    min over alpha   1/2 alpha^T Q alpha + sum_i H_i(alpha_i),     B^T alpha = e

with ``-H_i'`` the polyline read from alpha: on a knot H is linear, on a slanted piece quadratic, on
a flat slope alpha is held at a kink (or a bound).  An active-set method: coordinates on knots and
slanted pieces move by Newton's step as long as their block is positive definite, along a direction
of negative curvature where it is not, until one of them comes to the end of its piece; when they
stand still, the kink that is violated most is let go.  The objective falls with every step.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.linalg

from homotopy.errors import TraceError
from homotopy.gram import Gram
from homotopy.model.polyline import Snapshot

__all__ = ["definite", "descend"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]

# A squared pivot below this fraction of its diagonal is not taken for positive.
DEFINITE = 1e-10
# Responses this far (as a fraction of their size) beyond the corner of a kink violate it.
VIOLATED = 1e-10
# Steps for each coordinate before it is given up.
PATIENCE = 50


def descend(
    gram: Gram,
    border: Array,
    snap: Snapshot,
    point: tuple[Array, Array, Index],
    first: int,
    way: float,
) -> tuple[Array, Array, Index]:
    """From `point` (alpha, b, pieces), where coordinate `first` leaves its slope with alpha rising
    (way > 0) or falling, to a local optimum: alpha, b, pieces."""
    walk = _Walk(gram, border, snap, *point)
    walk.let_go(first, way)
    newest = (first, way)
    for _ in range(PATIENCE * (gram.size + 10)):
        if walk.step(*newest):
            worst = walk.violated()
            if worst is None:
                return walk.alpha, walk.b, walk.piece
            walk.let_go(*worst)
            newest = worst
    raise TraceError("the way down from a ridge did not come to an end")


class _Walk:
    """A point on its way down."""

    def __init__(
        self, gram: Gram, border: Array, snap: Snapshot, alpha: Array, b: Array, piece: Index
    ) -> None:
        self.gram, self.border, self.snap = gram, border, snap
        self.alpha, self.b, self.piece = alpha.copy(), b.copy(), piece.copy()
        n, k = snap.corner.shape
        self.rows = np.arange(n)
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
        self.held: list[int] = []

    @property
    def active(self) -> Index:
        """Those on knots and slanted pieces."""
        bent = self.snap.curvature[self.rows, self.piece // 2] > 0.0
        return np.flatnonzero((self.piece % 2 == 1) | bent)

    def _is_kink(self, i: int, p: int) -> bool:
        """Whether piece p holds alpha of coordinate i still, over an interval of u."""
        if p % 2 == 1 or self.snap.curvature[i, p // 2] > 0.0:
            return False
        corner, j = self.snap.corner[i], p // 2
        left = corner[j - 1] if j else -np.inf
        right = corner[j] if j < corner.size else np.inf
        return bool(left < right)

    def let_go(self, i: int, way: float) -> None:
        """Coordinate i takes up the next piece on which its alpha can rise (way > 0) or fall."""
        step, p = (-1 if way > 0 else 1), int(self.piece[i])
        while 0 <= p + step < self.low.shape[1]:
            p += step
            if self.high[i, p] > self.low[i, p] or self._is_kink(i, p):
                self.piece[i] = p
                return
        raise TraceError(f"coordinate {i} has nowhere to go on the way down from a ridge")

    def _system(self, active: Index) -> tuple[Array, Array]:
        """The block of the active ones, and by how much each misses its piece."""
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

    def step(self, newest: int, way: float) -> bool:
        """Move the active ones until they stand still (True) or one comes to the end of its piece;
        `newest` is the one let go last, in the direction `way`."""
        active = np.setdiff1d(self.active, self.held)
        block, short = self._system(active)
        border = self.border[active]
        if active.size == 0:
            self.held = []
            return True
        if definite(block, border):
            move, shift = _newton(block, border, short)
            full = True
        else:
            full = False
            move, shift = _downhill(block, border, short, active, newest, way)
        length, who = self._room(active, move)
        if not full and not np.isfinite(length):
            raise TraceError(
                f"no optimum exists: the objective falls for ever as coordinate {newest} moves"
            )
        stop = full and length >= 1.0
        length = 1.0 if stop else length
        self.alpha[active] += length * move
        self.b = self.b + length * shift
        if stop and self.held:
            # All others stand still: those who wait have their turn.
            stop, self.held = False, []
        elif not stop:
            i, rising = int(active[who]), move[who] > 0.0
            p = int(self.piece[i])
            self.alpha[i] = self.high[i, p] if rising else self.low[i, p]
            self.let_go(i, 1.0 if rising else -1.0)
            # Where two pieces meet smoothly each may send it back to the other: it waits there
            # until the others have moved.
            self.held = [*self.held, i] if length == 0.0 else []
        self.u = self.gram.matvec(self.alpha) + self.border @ self.b
        return stop

    def _room(self, active: Index, move: Array) -> tuple[float, int]:
        """How far `move` can be followed, and who stops it."""
        p = self.piece[active]
        end = np.where(move > 0.0, self.high[active, p], self.low[active, p])
        with np.errstate(divide="ignore", invalid="ignore"):
            length = np.where(move != 0.0, (end - self.alpha[active]) / move, np.inf)
        length = np.where(np.isnan(length), np.inf, np.maximum(length, 0.0))
        who = int(np.argmin(length))
        return float(length[who]), who

    def violated(self) -> tuple[int, float] | None:
        """The kink that is violated most and the way its alpha wants to go."""
        corner, k = self.snap.corner, self.snap.corner.shape[1]
        j, flat = self.piece // 2, np.ones(self.piece.size, bool)
        flat[self.active] = False
        left = np.where(flat & (j > 0), corner[self.rows, np.maximum(j - 1, 0)], -np.inf)
        right = np.where(flat & (j < k), corner[self.rows, np.minimum(j, k - 1)], np.inf)
        size = np.abs(self.u) + np.sqrt(self.gram.sizes * float(self.gram.sizes @ self.alpha**2))
        with np.errstate(invalid="ignore"):
            beyond = np.maximum(left - self.u, self.u - right) / np.where(size > 0.0, size, 1.0)
        worst = int(np.argmax(beyond))
        if not beyond[worst] > VIOLATED:
            return None
        return worst, 1.0 if self.u[worst] < left[worst] else -1.0


def definite(block: Array, border: Array) -> bool:
    """Whether `block` is positive definite where the border equations leave alpha free."""
    if border.shape[1]:
        free = scipy.linalg.null_space(border.T)
        block = free.T @ block @ free
    if block.size == 0:
        return True
    scale = np.sqrt(np.maximum(np.abs(np.diagonal(block)), np.finfo(float).tiny))
    scaled = block / np.outer(scale, scale)
    factor, failed = scipy.linalg.lapack.dpotrf(scaled)
    return bool(failed == 0 and np.diagonal(factor).min() ** 2 > DEFINITE)


def _newton(block: Array, border: Array, short: Array) -> tuple[Array, Array]:
    """alpha and b move so that nothing is short and the border stays balanced."""
    m = border.shape[1]
    if m == 0:
        return scipy.linalg.solve(block, short, assume_a="pos"), np.zeros(0)
    whole = np.block([[block, border], [border.T, np.zeros((m, m))]])
    moved = np.linalg.lstsq(whole, np.concatenate([short, np.zeros(m)]), rcond=None)[0]
    return moved[:-m], moved[-m:]


def _downhill(
    block: Array, border: Array, short: Array, active: Index, newest: int, way: float
) -> tuple[Array, Array]:
    """A direction of curvature that is not positive along which the objective does not rise, with
    the one let go last in front where that one makes the block indefinite."""
    place = np.flatnonzero(active == newest)
    others = np.flatnonzero(active != newest)
    if place.size and definite(block[np.ix_(others, others)], border[others]):
        i = int(place[0])
        move, shift = _newton(
            block[np.ix_(others, others)], border[others], -way * block[others, i]
        ) if border.shape[1] == 0 else _led(block, border, others, i, way)  # fmt: skip
        direction = np.zeros(active.size)
        direction[i], direction[others] = way, move
        return direction, shift
    free = scipy.linalg.null_space(border.T) if border.shape[1] else np.eye(active.size)
    _, vectors = np.linalg.eigh(free.T @ block @ free)
    direction = free @ vectors[:, 0]
    ahead = float(short @ direction)
    if ahead == 0.0 and place.size:
        ahead = way * direction[place[0]]
    return (direction if ahead >= 0.0 else -direction), np.zeros(border.shape[1])


def _led(block: Array, border: Array, others: Index, i: int, way: float) -> tuple[Array, Array]:
    """How the others follow coordinate i with their responses unmoved and the border balanced."""
    m = border.shape[1]
    part = border[others]
    whole = np.block([[block[np.ix_(others, others)], part], [part.T, np.zeros((m, m))]])
    right = -way * np.concatenate([block[others, i], border[i]])
    moved = np.linalg.lstsq(whole, right, rcond=None)[0]
    return moved[:-m], moved[-m:]
