"""The convex problem by pairs of coordinates (SMO), or one at a time if there is no border.

The pair is chosen as in Fan, Chen and Lin (2005); its step is clipped at the next point of either
polyline.  Needs columns of Q, at most one border column, and no zero in it.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from homotopy.arrays import Array, Index
from homotopy.compilation import OUTER, PART, protect
from homotopy.gram import Gram
from homotopy.progress import told
from homotopy.start.iterate import Iterate
from homotopy.start.tolerances import StartTolerances

__all__ = ["Pairs", "Rows", "sweeps_left"]


# How a compiled run of pairs ended.
PAIRS_DONE, PAIRS_MISSING, PAIRS_LIMIT, PAIRS_STUCK, PAIRS_GOING = 0, 1, 2, 3, 4
# Larger than any gain, but can still be multiplied.
HUGE = 1e200
# The slowest pace assumed, as a logarithm.
SLOWEST = 1e-9
# The rows of `bounds`: the interval that polyline i allows for the border multiplier,
# ``low - v <= b <= high - v`` with ``v = (Q alpha)_i / B_i``; then, for ``B_i alpha_i`` going up
# and down, the curvature and the room.
LOW, HIGH, BEND_UP, BEND_DOWN, ROOM_UP, ROOM_DOWN = range(6)


class Coordinates(NamedTuple):
    """The coordinates, for compiled code.

    `inverse` is 1 / B_i (1 without a border), `code` their positions (see `Tables`), `flat` the
    threshold of that name.
    """

    diag: Any
    inverse: Any
    point: Any
    place: Any
    rate: Any
    alpha: Any
    code: Any
    bounds: Any
    flat: float


@njit(**PART)
def _move(i, way, length, state):  # type: ignore[no-untyped-def]
    """Move ``B_i alpha_i`` in the direction `way` (1 or -1) by `length` inside the piece there, or
    to its end; update its bounds.  Return by how much alpha_i moved."""
    diag, inverse, point, place, rate, alpha, code, bounds, _ = state
    weight, before = inverse[i], alpha[i]
    piece, rising = code[i] // 2, way * weight > 0.0
    if rising:
        piece += code[i] % 2
    if bounds[ROOM_UP if way > 0.0 else ROOM_DOWN, i] <= length:
        piece -= not rising
        alpha[i] = point[i, piece]
        code[i] = 2 * piece + 1
    elif length > 0.0:
        alpha[i] += length * way * weight
        code[i] = 2 * piece
    now, below = alpha[i], code[i] // 2
    above = below + code[i] % 2
    rise = point[i, above] - now if above < point.shape[1] else np.inf
    fall = now - point[i, below - 1] if below > 0 else np.inf
    if weight < 0.0:
        above, below = below, above
        rise, fall = fall, rise
    bounds[LOW, i] = (place[i, above] - rate[i, above] * now) * weight
    bounds[HIGH, i] = (place[i, below] - rate[i, below] * now) * weight
    bounds[BEND_UP, i] = (diag[i] + rate[i, above]) * weight * weight
    bounds[BEND_DOWN, i] = (diag[i] + rate[i, below]) * weight * weight
    bounds[ROOM_UP, i] = rise / abs(weight)
    bounds[ROOM_DOWN, i] = fall / abs(weight)
    return now - before


@njit(**PART, fastmath={"nnan", "nsz"})
def _extremes(v, bounds):  # type: ignore[no-untyped-def]
    """Return the largest ``low - v`` and the smallest ``high - v``."""
    top, bottom = -np.inf, np.inf
    for j in range(v.size):
        low, high = bounds[LOW, j] - v[j], bounds[HIGH, j] - v[j]
        top = low if low > top else top
        bottom = high if high < bottom else bottom
    return top, bottom


@njit(**PART)
def _choose_pair(store, slot, state, v, short):  # type: ignore[no-untyped-def]
    """Return ``(i, k, length, off)``: ``B_i alpha_i`` grows by `length`, ``B_k alpha_k`` falls.

    i has the largest lower bound on b, k the upper bound with the largest expected gain.  As long
    as the balance is `short` of its target, i or k moves alone.  k is -1 if its choice needs a
    missing row of i.
    """
    inverse, bounds, flat = state.inverse, state.bounds, state.flat
    top, bottom = _extremes(v, bounds)
    off = top - bottom if short == 0.0 else np.inf
    i = k = -1
    for j in range(v.size):
        if short >= 0.0 and bounds[LOW, j] - v[j] == top > -np.inf:
            i = j
            break
        if short < 0.0 and bounds[HIGH, j] - v[j] == bottom < np.inf:
            k = j
            break
    if short != 0.0 or i < 0 or slot[i] < 0:
        return i, k, abs(short) if i + k > -2 else np.inf, off
    row, up, w = store[slot[i]], bounds[BEND_UP, i], 2.0 * inverse[i]
    best, length = -1.0, np.inf
    for j in range(v.size):
        drop = top - bounds[HIGH, j] + v[j]
        if drop > 0.0:
            both = up + bounds[BEND_DOWN, j]
            eta = both - w * inverse[j] * row[j]
            eta = eta if eta > flat * both else flat * both
            if drop * drop > best * eta:
                best, length = HUGE, np.inf
                if eta > 0.0:
                    best, length = drop * drop / eta, drop / eta
                k = j
    return i, k, length, off


@njit(**PART)
def _choose_one(v, bounds):  # type: ignore[no-untyped-def]
    """Choose as `_choose_pair` without a border: the one coordinate with the largest gain."""
    best = worst = length = 0.0
    i = -1
    for j in range(v.size):
        rise, fall = bounds[LOW, j] - v[j], v[j] - bounds[HIGH, j]
        off = rise if rise > fall else fall
        if off > 0.0:
            worst = off if off > worst else worst
            # A lookup, because the branch cannot be predicted.
            eta = bounds[BEND_UP + (fall > rise), j]
            if off * off > best * eta:
                best, length = HUGE, np.inf
                if eta > 0.0:
                    best, length = off * off / eta, off / eta
                i = j
    if i >= 0 and v[i] > bounds[HIGH, i]:
        return -1, i, length, worst
    return i, -1, length, worst


@njit(**OUTER)
def _descend(store, slot, state, v, short, tol, limit, fresh):  # type: ignore[no-untyped-def]
    """Move pairs, or one coordinate at a time if `short` is empty, to the best length or to the
    next point of either polyline.

    Return how it ended, the next pair and the number of steps.  If `fresh`, the bounds are not
    known yet.
    """
    inverse, bounds = state.inverse, state.bounds
    if fresh:
        for j in range(v.size):
            _move(j, 1.0, 0.0, state)
    steps, status, i, k = 0, PAIRS_DONE, -1, -1
    while True:
        if short.size > 0:
            i, k, length, off = _choose_pair(store, slot, state, v, short[0])
        else:
            i, k, length, off = _choose_one(v, bounds)
        if i >= 0 and length > bounds[ROOM_UP, i]:
            length = bounds[ROOM_UP, i]
        if k >= 0 and length > bounds[ROOM_DOWN, k]:
            length = bounds[ROOM_DOWN, k]
        if off <= tol:
            status = PAIRS_DONE
        elif steps >= limit:
            status = PAIRS_LIMIT
        elif (i >= 0 and slot[i] < 0) or (k >= 0 and slot[k] < 0):
            status = PAIRS_MISSING
        elif length == np.inf:
            status = PAIRS_STUCK
        else:
            status = PAIRS_GOING
        if status != PAIRS_GOING:
            return status, i, k, steps
        first = second = 0
        more = less = 0.0
        if i >= 0:
            first, more = slot[i], _move(i, 1.0, length, state)
        if k >= 0:
            second, less = slot[k], _move(k, -1.0, length, state)
        if short.size > 0:
            if short[0] != 0.0:
                short[0] -= length if short[0] > 0.0 else -length
            row, other = store[first], store[second]
            for j in range(v.size):
                v[j] += (more * row[j] + less * other[j]) * inverse[j]
        else:
            row, change = store[first + second], more + less
            for j in range(v.size):
                v[j] += change * row[j]
        steps += 1


class Rows:
    """A store of columns for operators that have none."""

    def __init__(self, gram: Gram, tolerances: StartTolerances) -> None:
        self.gram = gram
        n = gram.size
        every, self._used = np.arange(n), 0
        if n <= tolerances.few:
            self._store, self._slot = np.ascontiguousarray(gram.block(every, every)), every
        else:
            self._store, self._slot = np.empty((tolerances.most, n)), np.full(n, -1)

    def rows(self) -> tuple[Array, Index]:
        """Return the store, and the place of each column in it (-1 if missing)."""
        return self._store, self._slot

    def fetch(self, index: Index, keep: Index | None = None) -> None:
        """Compute the columns `index`; none is ever evicted."""
        for i in index[self._slot[index] < 0]:
            if self._used == len(self._store):
                more = min(self.gram.size, 2 * self._used) - self._used
                self._store = np.vstack([self._store, np.empty((more, self.gram.size))])
            self._store[self._used] = self.gram.column(int(i))
            self._slot[i] = self._used
            self._used += 1


class Pairs:
    """Moves an iterate by pairs; `rows` is a Gram operator with a row cache, or `Rows`."""

    def __init__(self, at: Iterate, rows: Any) -> None:
        self.at, self.rows = at, rows
        n, m = at.border.shape
        inverse = 1.0 / at.border[:, 0] if m else np.ones(n)
        self.tol = at.tol * float(np.abs(inverse).min())
        self.v = at.product * inverse
        self.fetched = at.tolerances.fewest
        if n <= min(at.tolerances.few, len(rows.rows()[0])):
            rows.fetch(np.arange(n))
        self.state = Coordinates(
            at.gram.diag,
            inverse,
            *at.tables.arrays,
            at.alpha,
            at.tables.locate(at.alpha),
            np.full((6, n), np.inf),
            at.tolerances.flat,
        )

    def run(self, *, patient: bool) -> bool:
        """Move pairs, or single coordinates; return whether they converge.

        Unless `patient`, stop once they have cost as much as Newton steps would, or earlier if
        their pace is too slow.
        """
        at, short, fresh, off = self.at, self.at.short(), True, [np.inf]
        n, m = at.border.shape
        sweep = max(n, at.tolerances.least_sweep) if patient else n
        if at.limit <= n * at.tolerances.untried:
            # The limit comes before the pace can be measured.
            sweep = at.limit
        enough = at.tolerances.idle * at.tolerances.untried
        budget = min(sweep, at.limit - at.iterations)
        while True:
            at.pulse()
            store, slot = self.rows.rows()
            ended = _descend(store, slot, self.state, self.v, short, self.tol, budget, fresh)
            (status, i, k, steps), fresh = ended, False
            at.iterations += steps
            budget -= steps
            if status == PAIRS_MISSING:
                self._fetch(i, k)
            elif status == PAIRS_LIMIT and at.iterations < at.limit:
                off.append(self._off())
                if stalled(off, enough) if patient else self._slow(off):
                    break
                budget = min(sweep, at.limit - at.iterations)
            else:
                break
        at.product = self.v / self.state.inverse
        if m:
            at.b = np.array([_multiplier(*self._multipliers())])
        return bool(status in (PAIRS_DONE, PAIRS_STUCK)) or at.iterations >= at.limit

    def _multipliers(self) -> tuple[Array, Array]:
        """Return the interval that each coordinate allows for the border multiplier."""
        return self.state.bounds[LOW] - self.v, self.state.bounds[HIGH] - self.v

    def _off(self) -> float:
        """Return the violation of the worst pair or coordinate, relative to the tolerance."""
        lower, upper = self._multipliers()
        top, bottom = float(lower.max()), float(upper.min())
        return (top - bottom if self.at.border.shape[1] else max(top, -bottom)) / self.tol

    def _slow(self, off: list[float]) -> bool:
        """Whether Newton steps are the better choice, given `off` at the end of each sweep."""
        n, tolerances = self.at.gram.size, self.at.tolerances
        leaning = float(np.count_nonzero(self.state.code % 2 == 0))
        # The cost of Newton steps in pairs (measured).
        worth = 1.6 * (leaning**3 / (3.0 * n) + 20.0 * leaning + 300.0)
        hoped = n * sweeps_left(off, tolerances.untried)
        return self.at.iterations > worth or hoped > tolerances.hope * worth

    def _fetch(self, i: int, k: int) -> None:
        """Compute the missing row of i or k, with those that will be needed next."""
        tolerances, slot = self.at.tolerances, self.rows.rows()[1]
        most = min(max(tolerances.batch // self.at.gram.size, tolerances.fewest), tolerances.most)
        # The choice of k depends on the row of i.
        first, second = (i, k) if i >= 0 and slot[i] < 0 else (k, i)
        lower, upper = self._multipliers()
        if self.at.border.shape[1]:
            off = np.maximum(lower - upper.min(), lower.max() - upper)
        else:
            off = np.maximum(lower, -upper)
        off[slot >= 0] = -np.inf
        off[first] = np.inf
        # Fetch at most as many as there are already.
        batch = min(most, self.fetched)
        some = np.argpartition(-off, min(batch, off.size - 1))[:batch]
        some = some[off[some] > 0.0]
        self.rows.fetch(some, np.array([second]) if second >= 0 else None)
        self.fetched += some.size
        # Hardly more rows are needed than there are, and computing them takes most of the time.
        told(self.fetched, self.at.gram.size)


def sweeps_left(off: list[float], untried: int) -> float:
    """Return how many more sweeps (n steps each), at the pace of the later half, would bring `off`
    below 1; 0 after no more than `untried` sweeps."""
    now, before = off[-1], off[len(off) // 2]
    if len(off) <= untried or not (now > 1.0 and before < np.inf):
        return 0.0
    return 0.5 * len(off) * math.log(now) / max(math.log(before / now), SLOWEST)


def stalled(off: list[float], least: int) -> bool:
    """Whether the later half of at least this many sweeps has made no progress: only rounding is
    left.  Checked only if their number is a power of two."""
    count = len(off)
    if count < least or count & (count - 1):
        return False
    return min(off[count // 2 :]) >= min(off[: count // 2])


def _multiplier(lower: Array, upper: Array) -> float:
    """Return b between its bounds: the mean over coordinates inside a piece, else the middle."""
    inside = lower[lower == upper]
    if inside.size:
        return float(inside.mean())
    ends = [e for e in (float(lower.max()), float(upper.min())) if math.isfinite(e)]
    return sum(ends) / len(ends) if ends else 0.0


protect(globals())
