"""The convex start problem to a tolerance: find alpha and b with

    u = Q alpha + B b,      B^T alpha = e,      (u_i, alpha_i) on a falling polyline.

These are the optimality conditions of ``min 1/2 alpha^T Q alpha + sum_i phi_i(alpha_i)`` under
``B^T alpha = e`` where ``-phi_i'`` is the polyline read as u over alpha.  Everything here works on
that reading (`Tables`): for growing alpha a falling line ``u = place - rate * alpha``, broken at
points.  A knot is a piece of rate 0, a slanted piece has rate 1 / curvature, a flat slope is a
point at which u falls by a step.

Two methods:

* columns of Q, at most one border column: the usual pairwise method (SMO; Fan, Chen and Lin 2005
  for the choice of the pair), its steps clipped at the next point of either polyline.  Without a
  border one coordinate at a time, the one with the largest gain.
* features (``Q = phi phi^T``), several border columns, or pairs that come to no end: the proximal
  point method with Newton steps.  With the present alpha as anchor every knot leans,

      u_i = z_i + (alpha_i - anchor_i) / sigma,     z = Q c + B b,

  which makes alpha a function of z and leaves the piecewise linear equations c = alpha(z),
  B^T alpha(z) = e.  Newton steps solve them in as many unknowns as there are features or leaning
  coordinates, whichever is less; then the anchor moves to alpha and sigma grows.

Neither answer is exact; both are a start from which exact work has little to do.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt
import scipy.linalg
import scipy.sparse as sp
from numba import njit
from scipy.sparse.linalg import LinearOperator, cg

from homotopy.errors import ModelError
from homotopy.gram import Gram
from homotopy.model.polyline import Snapshot

__all__ = ["ConvexSolution", "solve_convex"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]

# Slopes that differ by no more than this fraction of the largest are one.
SAME = 1e-14
# What is lacking in the balance up to this part is rounding; before the last anchor more may be.
BALANCED, LOOSE = 1e-11, 1e-3
TINY = 1e-300
# A gain that no other passes, and yet can be multiplied.
HUGE = 1e200

# Curvature along a pair below this fraction of its two diagonals is rounding.
FLAT = 1e-12
# The first sweeps, this many, say nothing about the pace of pairs.  They go on while it promises an
# end within this many times what Newton steps cost.
UNTRIED, HOPE = 8, 2.0
# Columns computed at a time: no more than there are already, about this many numbers, and between
# these limits.
BATCH, FEWEST, MOST = 40_000, 4, 64

# The first sigma in parts of the range of alpha over the scale of u, and how much more at most
# after a good guess.
LEAN, TRUST = 0.2, 1000.0
# How sigma grows from one anchor to the next, how many there are and how many steps at each.
GROWTH, ANCHORS, NEWTONS = 4.0, 40, 100
# This many whole steps that change nothing mean that rounding is all that is left.
IDLE = 8
# Trials of a line search and its largest step.
TRIALS, FAR = 40, 64.0
# Responses this many times the scale of the corners mean that the balance cannot be had.
LOST = 1e12
# Systems up to this size are factored, larger ones left to conjugate gradients.
DIRECT = 2500
# With more coordinates than this, columns of Q are not computed where there are features.
WIDE = 4000
# Sparse features with more than this fraction of entries are treated as dense.
DENSE = 0.1

DONE, MISSING, LIMIT, STUCK, GOING, SPENT = 0, 1, 2, 3, 4, 5

# Nothing is allocated, so nothing need be counted; a division by zero is an infinity.
# Every wrapper, every min and max is one more thing to compile.
OPTIONS: dict[str, Any] = {
    "cache": True,
    "error_model": "numpy",
    "no_cfunc_wrapper": True,
    "_nrt": False,
}
# Called by no one but the functions here.
INNER = OPTIONS | {"no_cpython_wrapper": True}


@attrs.frozen(eq=False)
class ConvexSolution:
    """An approximate optimum: ``u = Q alpha + B b`` and how far it is from the polylines.

    `violation` is the largest distance of a ``u_i`` from what its polyline allows at ``alpha_i``;
    `iterations` counts pairs and Newton steps.
    """

    alpha: Array
    b: Array
    u: Array
    iterations: int
    violation: float
    converged: bool


def _nothing() -> None:
    """No listener."""


def solve_convex(
    gram: Gram,
    border: Array,
    target: Array,
    snap: Snapshot,
    *,
    alpha: Array | None = None,
    b: Array | None = None,
    product: Array | None = None,
    tol: float = 1e-3,
    max_iter: int | None = None,
    pulse: Callable[[], object] | None = None,
) -> ConvexSolution:
    """Solve the falling polylines `snap` until no response is off by more than `tol`.

    Parameters
    ----------
    gram, border, target
        Q, B of shape (n, m) and e of shape (m,).
    snap : Snapshot
        Corners at an infinity cut off what lies beyond them; a finite jump is refused.
    alpha, b : arrays (n,) and (m,), optional
        Where to begin; alpha is moved into the range of its polyline and into balance first.
    product : array (n,), optional
        ``Q alpha`` of the given alpha, where it is known already.
    tol : float
        In units of the median distance of the corners from 0.
    max_iter : int, optional
        Largest number of pairs and Newton steps; ``max(10^6, 100 n)`` by default.
    pulse : callable, optional
        Called now and then; may raise to stop.
    """
    n, m = border.shape
    tables = Tables.of(snap)
    given = np.zeros(n) if alpha is None else np.asarray(alpha, dtype=float)
    inside = tables.clip(given)
    if product is None:
        product = gram.matvec(inside)
    else:
        moved = np.flatnonzero(inside != given)
        product = product + gram.combine(moved, inside[moved] - given[moved])
    run = _Run(
        gram=gram,
        border=border,
        target=target,
        tables=tables,
        tol=tol * tables.scale(),
        limit=max(1_000_000, 100 * n) if max_iter is None else max_iter,
        alpha=inside,
        b=np.zeros(m) if b is None else np.array(b, dtype=float),
        product=product,
        pulse=pulse or _nothing,
    )
    run.solve()
    violation = run.violation()
    return ConvexSolution(
        alpha=run.alpha,
        b=run.b,
        u=run.product + border @ run.b,
        iterations=run.iterations,
        violation=violation,
        converged=violation <= run.tol * (1.0 + 1e-9) and not np.any(run.short()),
    )


# ---------------------------------------------------------------------------- the polylines


@attrs.frozen(eq=False)
class Tables:
    """Every polyline read as u over alpha.

    Between ``point[i, p - 1]`` and ``point[i, p]`` (rising; rows are filled up with +inf) the
    response is ``place[i, p] - rate[i, p] * alpha``.  An infinite place closes that side.  A
    position is coded ``2 p`` inside piece p and ``2 p + 1`` on point p.
    """

    point: Array
    place: Array
    rate: Array

    @classmethod
    def of(cls, snap: Snapshot) -> Tables:
        n, k = snap.corner.shape
        near = SAME * float(np.abs(snap.slope[np.isfinite(snap.slope)]).max(initial=0.0))
        point, place = np.empty((n, 2 * k + 2)), np.empty((n, 2 * k + 3))
        rate = np.zeros((n, 2 * k + 3))
        slope, corner = np.ascontiguousarray(snap.slope), np.ascontiguousarray(snap.corner)
        curvature = np.ascontiguousarray(snap.curvature)
        widest = _tabulate(slope, corner, curvature, near, point, place, rate)
        if widest < 0:
            raise ModelError(
                f"solve_convex: the polyline of coordinate {-1 - widest} rises; only falling "
                "polylines (knots, no jumps) make a convex problem"
            )
        return cls(
            np.ascontiguousarray(point[:, :widest]),
            np.ascontiguousarray(place[:, : widest + 1]),
            np.ascontiguousarray(rate[:, : widest + 1]),
        )

    @property
    def arrays(self) -> tuple[Array, Array, Array]:
        return self.point, self.place, self.rate

    def scale(self) -> float:
        """The median distance of corners from 0 (the largest where that is 0, 1 if all are)."""
        size = np.abs(self.place[np.isfinite(self.place)])
        if size.size == 0:
            return 1.0
        return float(np.median(size)) or float(size.max()) or 1.0

    def steepness(self, diag: Array) -> float:
        """A first sigma, such that most coordinates lean at alpha = u = 0."""
        if self.point.shape[1] > 1:
            last = np.where(np.isfinite(self.point), self.point, -np.inf).max(axis=1)
            span = (last - self.point[:, 0])[np.isfinite(last)]
            if np.any(span > 0.0):
                return LEAN * float(np.median(span[span > 0.0])) / self.scale()
        return 1.0 / float(np.median(diag[diag > 0.0])) if np.any(diag > 0.0) else 1.0

    def locate(self, alpha: Array) -> Index:
        """The code of each position."""
        below = (self.point < alpha[:, None]).sum(axis=1)
        on = np.any(self.point == alpha[:, None], axis=1)
        return np.asarray(2 * below + on, dtype=np.int64)

    def clip(self, alpha: Array) -> Array:
        """alpha moved into the range of its polyline, and onto a point that it only just misses."""
        n, width = self.point.shape
        if width == 0:
            return alpha.copy()
        every, count = np.arange(n), np.isfinite(self.point).sum(axis=1)
        last = self.point[every, np.maximum(count - 1, 0)]
        low = np.where(self.place[:, 0] == np.inf, self.point[:, 0], -np.inf)
        high = np.where((count > 0) & (self.place[every, count] == -np.inf), last, np.inf)
        inside = np.clip(alpha, low, high)
        for at in self.point.T:
            near = np.isfinite(at) & (np.abs(inside - at) <= 4.0 * SAME * np.abs(at))
            inside[near] = at[near]
        return inside

    def around(self, alpha: Array) -> tuple[Index, Index, Array, Array]:
        """The pieces below and above each position (one and the same inside a piece), and the
        least and the largest response allowed there."""
        code, every = self.locate(alpha), np.arange(alpha.size)
        below, above = code // 2, code // 2 + code % 2
        low = self.place[every, above] - self.rate[every, above] * alpha
        high = self.place[every, below] - self.rate[every, below] * alpha
        return below, above, low, high

    def violation(self, alpha: Array, u: Array) -> float:
        """The largest distance of a response from what its polyline allows at alpha."""
        _, _, low, high = self.around(alpha)
        return float(np.maximum(low - u, u - high).max(initial=0.0))

    def meet(self, z: Array, anchor: Array, sigma: float, alpha: Array, stiffness: Array) -> None:
        """Write alpha as a function of z where knots lean, and ``-d alpha / d z``."""
        lean = 1.0 / sigma
        _meet(z - lean * anchor, lean, *self.arrays, alpha, stiffness)

    def extend(self, z: Array, anchor: Array, sigma: float, alpha: Array, stiffness: Array) -> None:
        """As `meet`, but every coordinate stays on the piece of its anchor, beyond its ends if need
        be; from a point it goes where z, beyond what the point allows, drives it."""
        below, above, low, high = self.around(anchor)
        piece = np.where(z < low, above, below)
        stiffness[:] = 1.0 / (1.0 / sigma + self.rate[np.arange(z.size), piece])
        stiffness[(below < above) & (low <= z) & (z <= high)] = 0.0
        alpha[:] = anchor + stiffness * (np.clip(z, low, high) - z)


@njit(**OPTIONS)
def _tabulate(slope, corner, curvature, near, point, place, rate):  # type: ignore[no-untyped-def]
    """Fill the tables from the right end of each polyline; return the largest number of points,
    or -1 - i where polyline i rises.  Corners of height zero vanish."""
    n, corners = corner.shape
    widest = 0
    for i in range(n):
        first, last = 0, corners
        while first < corners and corner[i, first] == -np.inf:
            first += 1
        while last > first and corner[i, last - 1] == np.inf:
            last -= 1
        count = 0
        place[i, 0] = np.inf
        # Two ends of each slope; those of a flat one are the same point.
        for end in range(2 * last + 1, 2 * first - 1, -1):
            j, right = end // 2, end % 2
            bend, height = curvature[i, j], slope[i, j]
            if bend > 0.0:
                if right == 0:
                    place[i, count] = height / bend
                    rate[i, count] = 1.0 / bend
                at = corner[i, j - 1 + right] if first - right < j < last + 1 - right else np.inf
                height -= bend * at
            if abs(height) < np.inf:
                if count == 0 or height > point[i, count - 1] + near:
                    point[i, count] = height
                    count += 1
                elif height < point[i, count - 1] - near:
                    return -1 - i
                place[i, count] = -np.inf
                rate[i, count] = 0.0
            if right == 0 and j > first:
                place[i, count] = corner[i, j - 1]
                rate[i, count] = 0.0
        for p in range(count, point.shape[1]):
            point[i, p] = np.inf
            place[i, p + 1] = -np.inf
        if count > widest:
            widest = count
    return widest


@njit(**OPTIONS)
def _meet(rest, lean, point, place, rate, alpha, stiffness):  # type: ignore[no-untyped-def]
    """Where the rising lines ``u = rest + lean * alpha`` meet the polylines: alpha, and
    ``-d alpha / d rest``."""
    points = point.shape[1]
    for i in range(rest.size):
        p = 0
        bend = lean + rate[i, 0]
        x = (place[i, 0] - rest[i]) / bend
        while p < points and x >= point[i, p]:
            x = point[i, p]
            p += 1
            y = (place[i, p] - rest[i]) / (lean + rate[i, p])
            # On the point itself where the next piece is met before it begins.
            bend = np.inf
            if y <= x:
                break
            x = y
            bend = lean + rate[i, p]
        alpha[i] = x
        stiffness[i] = 1.0 / bend


# ---------------------------------------------------------------------------- pairs


@njit(**INNER)
def _move(i, way, length, state):  # type: ignore[no-untyped-def]
    """Move ``B_i alpha_i`` in the direction `way` (1 or -1) by `length` inside the piece that lies
    there, or to its end; return by how much alpha_i moved.

    Then note what polyline i allows the border multiplier to be, ``low - v <= b <= high - v`` with
    ``v = (Q alpha)_i / B_i``, and for ``B_i alpha_i`` going up or down the curvature and the room.
    """
    diag, inverse, point, place, rate, alpha, code, limits = state
    weight, before = inverse[i], alpha[i]
    piece, rising = code[i] // 2, way * weight > 0.0
    if rising:
        piece += code[i] % 2
    if limits[4 if way > 0.0 else 5, i] <= length:
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
    limits[0, i] = (place[i, above] - rate[i, above] * now) * weight
    limits[1, i] = (place[i, below] - rate[i, below] * now) * weight
    limits[2, i] = (diag[i] + rate[i, above]) * weight * weight
    limits[3, i] = (diag[i] + rate[i, below]) * weight * weight
    limits[4, i] = rise / abs(weight)
    limits[5, i] = fall / abs(weight)
    return now - before


@njit(**INNER, fastmath={"nnan", "nsz"})
def _extremes(v, limits):  # type: ignore[no-untyped-def]
    """The largest ``low - v`` and the smallest ``high - v``."""
    top, bottom = -np.inf, np.inf
    for j in range(v.size):
        low, high = limits[0, j] - v[j], limits[1, j] - v[j]
        top = low if low > top else top
        bottom = high if high < bottom else bottom
    return top, bottom


@njit(**INNER)
def _choose_pair(store, slot, inverse, v, limits, short):  # type: ignore[no-untyped-def]
    """``(i, k, length, off)``: ``B_i alpha_i`` is to grow by `length`, ``B_k alpha_k`` to fall.

    i has the largest lower bound on b, k the upper bound that promises the largest gain.  As long
    as the balance is `short` of its target, i or k moves alone.  k is -1 where it depends on a
    missing row of i.
    """
    top, bottom = _extremes(v, limits)
    off = top - bottom if short == 0.0 else np.inf
    i = k = -1
    for j in range(v.size):
        if short >= 0.0 and limits[0, j] - v[j] == top > -np.inf:
            i = j
            break
        if short < 0.0 and limits[1, j] - v[j] == bottom < np.inf:
            k = j
            break
    if short != 0.0 or i < 0 or slot[i] < 0:
        return i, k, abs(short) if i + k > -2 else np.inf, off
    row, up, w = store[slot[i]], limits[2, i], 2.0 * inverse[i]
    best, length = -1.0, np.inf
    for j in range(v.size):
        drop = top - limits[1, j] + v[j]
        if drop > 0.0:
            both = up + limits[3, j]
            eta = both - w * inverse[j] * row[j]
            eta = eta if eta > FLAT * both else FLAT * both
            if drop * drop > best * eta:
                best, length = HUGE, np.inf
                if eta > 0.0:
                    best, length = drop * drop / eta, drop / eta
                k = j
    return i, k, length, off


@njit(**INNER)
def _choose_one(v, limits):  # type: ignore[no-untyped-def]
    """As `_choose_pair` without a border: the one coordinate with the largest gain."""
    best = worst = length = 0.0
    i = -1
    for j in range(v.size):
        rise, fall = limits[0, j] - v[j], v[j] - limits[1, j]
        off = rise if rise > fall else fall
        if off > 0.0:
            worst = off if off > worst else worst
            # Looked up, because the branch cannot be foreseen.
            eta = limits[2 + (fall > rise), j]
            if off * off > best * eta:
                best, length = HUGE, np.inf
                if eta > 0.0:
                    best, length = off * off / eta, off / eta
                i = j
    if i >= 0 and v[i] > limits[1, i]:
        return -1, i, length, worst
    return i, -1, length, worst


@njit(**OPTIONS)
def _descend(store, slot, state, v, short, tol, limit, fresh):  # type: ignore[no-untyped-def]
    """Move pairs, or where `short` is empty one coordinate at a time, to the best length or to the
    next point of either polyline.

    Returns how it ended, the pair that was next and the number of steps.  `fresh` limits are not
    known yet.
    """
    inverse, limits = state[1], state[7]
    if fresh:
        for j in range(v.size):
            _move(j, 1.0, 0.0, state)
    steps, status, i, k = 0, DONE, -1, -1
    while True:
        if short.size > 0:
            i, k, length, off = _choose_pair(store, slot, inverse, v, limits, short[0])
        else:
            i, k, length, off = _choose_one(v, limits)
        if i >= 0 and length > limits[4, i]:
            length = limits[4, i]
        if k >= 0 and length > limits[5, k]:
            length = limits[5, k]
        if off <= tol:
            status = DONE
        elif steps >= limit:
            status = LIMIT
        elif (i >= 0 and slot[i] < 0) or (k >= 0 and slot[k] < 0):
            status = MISSING
        elif length == np.inf:
            status = STUCK
        else:
            status = GOING
        if status != GOING:
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


class _Rows:
    """A store of columns for operators that have none of their own."""

    def __init__(self, gram: Gram) -> None:
        self.gram = gram
        n = gram.size
        self._store, self._slot = np.empty((min(n, MOST), n)), np.full(n, -1, dtype=np.int64)
        self._used = 0

    def rows(self) -> tuple[Array, Index]:
        return self._store, self._slot

    def fetch(self, index: Index, keep: Index | None = None) -> None:
        for i in index[self._slot[index] < 0]:
            if self._used == len(self._store):
                more = min(self.gram.size, 2 * self._used) - self._used
                self._store = np.vstack([self._store, np.empty((more, self.gram.size))])
            self._store[self._used] = self.gram.column(int(i))
            self._slot[i] = self._used
            self._used += 1


def _next_columns(
    wanted: int, batch: int, lower: Array, upper: Array, slot: Index, pairs: bool
) -> Index:
    """The wanted coordinate and those that will be wanted next: the farthest off."""
    if pairs:
        off = np.maximum(lower - upper.min(), lower.max() - upper)
    else:
        off = np.maximum(lower, -upper)
    off[slot >= 0] = -np.inf
    off[wanted] = np.inf
    some = np.argpartition(-off, min(batch, off.size - 1))[:batch]
    return np.asarray(some[off[some] > 0.0])


def _sweeps_left(off: list[float]) -> float:
    """How many more sweeps (n steps each) at the pace of the later half would bring the last of
    `off` below 1."""
    now, before = off[-1], off[len(off) // 2]
    if len(off) <= UNTRIED or not (now > 1.0 and before < np.inf):
        return 0.0
    return 0.5 * len(off) * math.log(now) / max(math.log(before / now), 1e-9)


def _multiplier(lower: Array, upper: Array) -> float:
    """b between its bounds: the mean over the coordinates inside a piece, else the middle."""
    inside = lower[lower == upper]
    if inside.size:
        return float(inside.mean())
    ends = [e for e in (float(lower.max()), float(upper.min())) if math.isfinite(e)]
    return sum(ends) / len(ends) if ends else 0.0


# ---------------------------------------------------------------------------- Newton


class _Features:
    """``w = phi^T c`` where ``Q = phi phi^T``."""

    # From a cold start, which is all there is here, the first pieces foretell nothing.
    foresees = False

    def __init__(self, phi: Any) -> None:
        n, d = phi.shape
        self.phi = phi.toarray() if sp.issparse(phi) and phi.nnz > DENSE * n * d else phi

    def begin(self, alpha: Array) -> Array:
        """Set ``c = alpha``; return Q c."""
        self.w = np.asarray(self.phi.T @ alpha)
        return np.asarray(self.phi @ self.w)

    def pull(self, alpha: Array) -> Array:
        """``Q (alpha - c)``."""
        self.rest = np.asarray(self.phi.T @ alpha) - self.w
        return np.asarray(self.phi @ self.rest)

    def step(
        self, active: Index, stiffness: Array, pull: Array, edge: Array, short: Array, damp: Array
    ) -> tuple[Array, Array, float]:
        """The Newton step: Q dc, db and the square of dc in the metric of Q."""
        rows, d = self.phi[active], self.phi.shape[1]
        if min(d, active.size) > DIRECT:
            dw, db = self._conjugate(rows, stiffness, edge, short, damp)
        elif d < active.size:
            root = np.sqrt(stiffness)[:, None]
            scaled = rows.multiply(root).tocsr() if sp.issparse(rows) else rows * root
            through = np.asarray(scaled.T @ (edge * root))
            H = np.empty((d + damp.size, d + damp.size))
            inner = scaled.T @ scaled
            H[:d, :d] = inner.toarray() if sp.issparse(inner) else inner
            H[:d, d:], H[d:, :d] = through, through.T
            H[d:, d:] = edge.T @ (edge * root**2)
            H[np.diag_indices(d + damp.size)] += np.concatenate([np.ones(d), damp])
            both = _solve(H, np.concatenate([self.rest, -short]))
            dw, db = both[:d], both[d:]
        else:
            block = rows @ rows.T
            block = block.toarray() if sp.issparse(block) else block
            change, db = _bordered(block, stiffness, edge, -pull[active], short, damp)
            dw = self.rest + np.asarray(rows.T @ change)
        self.dw = dw
        return np.asarray(self.phi @ dw), db, float(dw @ dw)

    def _conjugate(
        self, rows: Any, stiffness: Array, edge: Array, short: Array, damp: Array
    ) -> tuple[Array, Array]:
        d = rows.shape[1]

        def product(x: Array) -> Array:
            y = stiffness * (np.asarray(rows @ x[:d]) + edge @ x[d:])
            return np.concatenate([x[:d] + np.asarray(rows.T @ y), edge.T @ y + damp * x[d:]])

        square = rows.multiply(rows).tocsr() if sp.issparse(rows) else rows * rows
        diagonal = np.concatenate(
            [1.0 + np.asarray(square.T @ stiffness), (edge**2).T @ stiffness + damp]
        )
        shape = (diagonal.size, diagonal.size)
        both, _ = cg(
            LinearOperator(shape, matvec=product, dtype=float),
            np.concatenate([self.rest, -short]),
            rtol=1e-4,
            maxiter=500,
            M=LinearOperator(shape, matvec=lambda x: x / diagonal, dtype=float),
        )
        return both[:d], both[d:]

    def advance(self, length: float) -> None:
        """``c += length * dc``."""
        self.w += length * self.dw


class _Columns:
    """c itself, where only columns of Q are known."""

    foresees = True

    def __init__(self, gram: Gram) -> None:
        self.gram = gram

    def begin(self, alpha: Array) -> Array:
        """Set ``c = alpha``; return Q c."""
        self.c = alpha.copy()
        return self.gram.matvec(self.c)

    def pull(self, alpha: Array) -> Array:
        """``Q (alpha - c)``."""
        self.rest = alpha - self.c
        self.lag = self.gram.matvec(self.rest)
        return self.lag

    def step(
        self, active: Index, stiffness: Array, pull: Array, edge: Array, short: Array, damp: Array
    ) -> tuple[Array, Array, float]:
        """The Newton step: Q dc, db and the square of dc in the metric of Q."""
        block = self.gram.block(active, active)
        change, db = _bordered(block, stiffness, edge, -pull[active], short, damp)
        self.dc = self.rest.copy()
        self.dc[active] += change
        moved = self.lag + self.gram.combine(active, change)
        return moved, db, float(self.dc @ moved)

    def advance(self, length: float) -> None:
        """``c += length * dc``."""
        self.c += length * self.dc


def _bordered(
    block: Array, stiffness: Array, edge: Array, right: Array, short: Array, damp: Array
) -> tuple[Array, Array]:
    """Solve ``[block + 1/stiffness, edge; edge^T, -damp] (x, y) = (right, short)``."""
    if right.size == 0:
        return right, -short / damp
    K = np.array(block)
    K[np.diag_indices(right.size)] += 1.0 / stiffness
    both = _solve(K, np.column_stack([right, edge]))
    plain, through = both[:, 0], both[:, 1:]
    y = _solve(edge.T @ through + np.diag(damp), edge.T @ plain - short)
    return plain - through @ y, y


def _balance(border: Array, alpha: Array) -> Array:
    """``B^T alpha``; without BLAS, whose threads cost more than they help on so few columns."""
    return np.asarray(np.einsum("ij,i->j", border, alpha))


def _solve(H: Array, right: Array) -> Array:
    """A positive definite system; least squares where rounding has made it something else."""
    try:
        factor = scipy.linalg.cho_factor(H, lower=True, check_finite=False)
    except scipy.linalg.LinAlgError:
        return np.asarray(np.linalg.lstsq(H, right, rcond=1e-14)[0])
    return np.asarray(scipy.linalg.cho_solve(factor, right, check_finite=False))


@attrs.frozen(eq=False)
class _Line:
    """The derivative of the leaning problem along a Newton step; it rises from `at_zero`."""

    tables: Tables
    z: Array
    dz: Array
    anchor: Array
    sigma: float
    before: Array
    at_zero: float
    square: float

    def derivative(self, length: float) -> float:
        alpha, lean = np.empty(self.z.size), 1.0 / self.sigma
        rest = self.z + length * self.dz - lean * self.anchor
        _meet(rest, lean, *self.tables.arrays, alpha, np.empty(alpha.size))
        # By differences: near the end everything else cancels.
        return self.at_zero + length * self.square - float((alpha - self.before) @ self.dz)

    def search(self) -> float:
        """A length at which the derivative is near 0, by false position."""
        low, below, high, above = 0.0, self.at_zero, np.inf, np.inf
        length = 1.0
        for _ in range(TRIALS):
            value = self.derivative(length)
            if abs(value) <= -0.1 * self.at_zero or (value < 0.0 and length >= FAR):
                break
            if value < 0.0:
                low, below, above = length, value, 0.5 * above
            else:
                high, above, below = length, value, 0.5 * below
            length = 4.0 * low if high == np.inf else low + (high - low) * below / (below - above)
        return length


# ---------------------------------------------------------------------------- both


@attrs.define(eq=False)
class _Run:
    """A solution under way: alpha, b and the product Q alpha."""

    gram: Gram
    border: Array
    target: Array
    tables: Tables
    tol: float
    limit: int
    alpha: Array
    b: Array
    product: Array
    pulse: Callable[[], object]
    iterations: int = 0

    def solve(self) -> None:
        """Choose the method."""
        phi, (n, m) = self.gram.features(), self.border.shape
        if phi is not None and (phi.shape[1] + m < n or n > WIDE):
            self.newton(_Features(phi))
            return
        rows = _Rows(self.gram) if self.gram.rows() is None else self.gram
        if m > 1 or np.any(self.border == 0.0):
            # Pairs under one of the equations, then all of them.
            whole = np.flatnonzero(np.all(self.border != 0.0, axis=0))[:1]
            part = attrs.evolve(
                self, border=self.border[:, whole], target=self.target[whole], b=self.b[whole]
            )
            part.pairs(rows, patient=False)
            self.alpha, self.product, self.iterations = part.alpha, part.product, part.iterations
            self.b[whole] = part.b
            self.newton(_Columns(self.gram))
        elif not self.pairs(rows, patient=False):
            self.newton(_Columns(self.gram))
            if self.violation() > self.tol or np.any(self.short()):
                self.pairs(rows, patient=True)

    def violation(self) -> float:
        """How far the responses are off."""
        return self.tables.violation(self.alpha, self.product + self.border @ self.b)

    def short(self) -> Array:
        """What ``B^T alpha`` lacks."""
        lack = self.target - _balance(self.border, self.alpha)
        return np.where(np.abs(lack) <= BALANCED * self.weight(self.alpha), 0.0, lack)

    def weight(self, alpha: Array) -> Array:
        """What the balance is made of; at least one alpha, where all of them have shrunk to 0."""
        point = self.tables.point
        one = float(np.abs(point[np.isfinite(point)]).max(initial=0.0))
        border = np.abs(self.border)
        total = _balance(border, np.abs(alpha)) + np.abs(self.target)
        return np.asarray(total + one * border.max(axis=0, initial=0.0))

    def pairs(self, rows: Any, *, patient: bool) -> bool:
        """Pairs, or single coordinates where there is no border; True if they come to an end.

        Without patience they give up once they have cost what Newton steps would, and sooner if
        their pace promises nothing else.
        """
        n, m = self.border.shape
        inverse = 1.0 / self.border[:, 0] if m else np.ones(n)
        tol = self.tol * float(np.abs(inverse).min())
        code, v = self.tables.locate(self.alpha), self.product * inverse
        limits = np.full((6, n), np.inf)
        state = (self.gram.diag, inverse, *self.tables.arrays, self.alpha, code, limits)
        short, fresh, off = self.short(), True, [np.inf]
        most, fetched = min(max(BATCH // n, FEWEST), MOST), FEWEST
        left = self.limit - self.iterations
        budget = min(n, left)
        while True:
            self.pulse()
            store, slot = rows.rows()
            ended = _descend(store, slot, state, v, short, tol, budget, fresh)
            (status, i, k, steps), fresh = ended, False
            self.iterations += steps
            budget -= steps
            if status == MISSING:
                batch, bounds = min(most, fetched), (limits[0] - v, limits[1] - v)
                # The row of k depends on that of i.
                first, second = (i, k) if i >= 0 and slot[i] < 0 else (k, i)
                index = _next_columns(first, batch, *bounds, slot, bool(m))
                rows.fetch(index, np.array([second]) if second >= 0 else None)
                fetched += index.size
            elif status == LIMIT and self.iterations < self.limit:
                leaning = float(np.count_nonzero(code % 2 == 0))
                worth = 1.6 * (leaning**3 / (3.0 * n) + 20.0 * leaning + 300.0)
                top, bottom = float((limits[0] - v).max()), float((limits[1] - v).min())
                off.append((top - bottom if m else max(top, -bottom)) / tol)
                slow = self.iterations > worth or n * _sweeps_left(off) > HOPE * worth
                if slow and not patient:
                    break
                budget = min(n, self.limit - self.iterations)
            else:
                break
        self.product = v / inverse
        if m:
            self.b = np.array([_multiplier(limits[0] - v, limits[1] - v)])
        return bool(status in (DONE, STUCK)) or self.iterations >= self.limit

    def newton(self, form: _Features | _Columns) -> None:
        """Move the anchor until alpha hardly leaves it."""
        leaning = _Leaning(self, form)
        sigma, growth = self.tables.steepness(self.gram.diag), GROWTH
        if not np.any(self.short()):
            off = max(self.violation(), self.tol)
            sigma *= min(max(0.1 * self.tables.scale() / off, 1.0), TRUST)
        for _ in range(ANCHORS):
            status = leaning.settle(sigma)
            if status == LIMIT or (status == DONE and leaning.left <= 0.9 * self.tol):
                break
            if status == STUCK:
                # Rounding of z times sigma is all that is left: lean more.
                growth, sigma = 1.0, sigma / GROWTH
            elif status == SPENT:
                # Too far at once.
                growth, sigma = math.sqrt(growth), sigma / GROWTH
            else:
                sigma *= growth
        self.alpha = leaning.alpha
        self.product = leaning.z - self.border @ self.b + leaning.pull


class _Leaning:
    """The problem with leaning knots: ``z = Q c + B b`` such that ``c = alpha(z)``."""

    def __init__(self, run: _Run, form: _Features | _Columns) -> None:
        self.run, self.form, self.alpha = run, form, run.alpha
        self.z = form.begin(run.alpha) + run.border @ run.b
        self.stiffness, self.pull = np.empty(self.z.size), np.zeros(self.z.size)
        self.left = np.inf

    def settle(self, sigma: float) -> int:
        """Newton steps with the present alpha as anchor: DONE, STUCK at rounding, LIMIT, or SPENT
        without an end and back at the anchor."""
        run, anchor, b, meet = self.run, self.alpha, self.run.b, self.run.tables.meet
        least, idle, length = np.inf, 0, 0.0
        if self.form.foresees and run.iterations < run.limit:
            # z is still that of a smaller sigma and would drive alpha past the ends of its pieces,
            # from where it comes back one by one.  Mostly none leaves its piece.
            self._look(run.tables.extend, anchor, sigma)
            self._step(anchor, sigma, whole=True)
        for _ in range(NEWTONS):
            run.pulse()
            self._look(meet, anchor, sigma)
            moved = float(np.abs(self.alpha - anchor).max()) / sigma
            error = float(np.abs(self.pull).max())
            self.left = moved + error
            near = (BALANCED if moved <= run.tol else LOOSE) * run.weight(self.alpha)
            if error <= max(0.4 * run.tol, 0.5 * moved) and np.all(np.abs(self.short) <= near):
                return DONE
            if run.iterations >= run.limit or self.size > LOST * run.tables.scale():
                return LIMIT
            idle = idle + 1 if length >= 0.5 and error > 0.9 * least else 0
            least = min(error, least)
            if idle == IDLE:
                return STUCK
            length = self._step(anchor, sigma, whole=False)
        self.alpha, run.b = anchor, b
        self.z, self.pull = self.form.begin(anchor) + run.border @ b, np.zeros(anchor.size)
        return SPENT

    def _look(self, meet: Any, anchor: Array, sigma: float) -> None:
        """alpha(z), its derivative and what it leaves to do."""
        self.alpha = np.empty(self.z.size)
        meet(self.z, anchor, sigma, self.alpha, self.stiffness)
        self.pull = self.form.pull(self.alpha)
        self.short = self.run.target - _balance(self.run.border, self.alpha)
        self.size = float(np.abs(self.z).max())

    def _step(self, anchor: Array, sigma: float, *, whole: bool) -> float:
        """A Newton step, as long as it is good or `whole`; return its length."""
        run, form, short = self.run, self.form, self.short
        active = np.flatnonzero(self.stiffness)
        lean, edge = self.stiffness[active], run.border[active]
        # Where no coordinate leans, nothing else holds b back.
        widest = np.abs(run.border).max(axis=0, initial=0.0)
        damp = np.abs(short) * widest / (10.0 * (self.size + run.tol)) + TINY
        dq, db, square = form.step(active, lean, self.pull, edge, short, damp)
        dz, length = dq + run.border @ db, 1.0
        if not whole:
            fall = -square - float(lean @ dz[active] ** 2) - float(damp @ db**2)
            line = _Line(run.tables, self.z, dz, anchor, sigma, self.alpha, fall, square)
            length = line.search()
        form.advance(length)
        self.z += length * dz
        run.b = run.b + length * db
        run.iterations += 1
        return length
