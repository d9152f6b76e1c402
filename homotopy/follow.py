"""Following a route: the one loop behind C-step, D-step, start and repair.

State: a piece for every coordinate; A = coordinates on knots and slanted pieces (in the factor),
F = the rest, on flat slopes, whose alpha is known.  On a segment everything is affine in tau:

    Q_AA alpha_A' + B_A b' = corner_A' - Q_AF slope_F'          B_A^T alpha_A' = e' - B_F^T slope_F'
    u' = Q_:A alpha_A' + Q_:F slope_F' + B b'

**Orient, then step.**  At a point several coordinates may stand on corners at once (ties are the
normal case).  The one-sided derivative is the solution of a small monotone complementarity
problem over them: each tied coordinate is flat or steep, and must not move off its piece.
`Follower.orient` solves it by least-index pivots (the criss-cross rule, finite for positive
semidefinite Q whatever the starting choice), so the step that follows has positive length and no
partition ever comes back.  Two pivots are not principal:

* the entering coordinate is dependent on A: there is a null direction v, ``Q v = 0`` and
  ``B^T v = 0``.  alpha moves along v, u stays, until another coordinate reaches the end of its
  knot; the two are exchanged;
* the border loses rank on A (A empty with an intercept): b itself is free.  It slides, alpha
  stays, until a coordinate reaches a corner and can take up the balance.

Each such move of positive length strictly improves a linear function over the optimal face at
this tau, so they end too.

alpha_A and u are integrated, never recomputed from the partition: in a nearly singular active
system recomputing would throw alpha about within its bounds.  `Follower.refresh` measures the
residual; a residual that grew is removed by `settle`, which respects every bound.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from homotopy import kernels
from homotopy.errors import ModelError, TraceError
from homotopy.factor import Factor
from homotopy.gram import Gram
from homotopy.polyline import JUMP, KNOT, SEAM, Snapshot
from homotopy.route import Route

__all__ = ["Follower"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]
Recorder = Callable[[float, float, Array, Array], None]

EPS = float(np.finfo(float).eps)
NONE: Index = np.empty(0, dtype=np.int64)

# A coordinate within this part of the scale of its corner stands on it.
NEAR = 1e-11
# A weight in a null direction below this part of the largest is rounding.
NEGLIGIBLE = 1e-10
# A coordinate that cannot be stopped may drift by this part of the scale before it is an error.
FORGIVEN = 1e-9
# Pivots at one point after which the tied coordinates are resolved all at once.
MANY = 12
# Crossings of one coordinate at one point after which rounding is suspected.
TO_AND_FRO = 6
# A coordinate on a jump corner is held there if its pivot is below this part of its diagonal.
HELD = 1e-9
# The Rayleigh quotient below which a guess gives up an active coordinate.
WELL = 1e-9
# A residual above this part of the scale is repaired.
REPAIR = 1e-10
# Segments between two recomputations of u from alpha.
REFRESH = 64


class Unbounded(TraceError):
    """A null direction along which nothing reaches an end; `coordinate` is the one that moves."""

    def __init__(self, message: str, coordinate: int) -> None:
        super().__init__(message)
        self.coordinate = coordinate


class Follower:
    """The mutable state of one trace: pieces, alpha, b, u, the factor and the current route.

    Attributes
    ----------
    alpha, u : arrays (n,)
        Current alpha and response.  alpha of flat coordinates is written by `refresh` only.
    b : array (m,)
        Border multipliers.
    piece : int array (n,)
        Slope j is 2j, corner j is 2j + 1.
    side : int8 array (n,)
        For a coordinate pinned to a jump corner: -1 if its branch lies left, +1 if right; else 0.
    wall : dict
        Coordinate -> the jump corner it presses on, for those `orient` returned.
    steps, pivots, repairs : int
        Counters, for reports.
    """

    def __init__(self, gram: Gram, border: Array) -> None:
        n, m = border.shape
        self.gram, self.border = gram, border
        self.alpha, self.u, self.b = np.zeros(n), np.zeros(n), np.zeros(m)
        self.piece = np.zeros(n, dtype=np.int64)
        self.side = np.zeros(n, dtype=np.int8)
        self.steps = self.pivots = self.repairs = 0
        self.resting: set[int] = set()
        self.wall: dict[int, int] = {}
        self._offence = np.inf
        self._excused: dict[int, float] = {}
        self._refreshed = 0
        self._settling = False
        self._nested = False
        self.changed: dict[int, int] = {}
        self.factor = Factor()
        # rho B B^T makes the active block definite wherever the bordered system is (see factor).
        heaviest = float(gram.diag.max())
        weight = float((border**2).sum(axis=1).max()) if m else 0.0
        self.rho = (heaviest if heaviest > 0.0 else 1.0) / weight if weight > 0.0 else 0.0
        self.diag = gram.diag + self.rho * (border**2).sum(axis=1)
        self._root = np.sqrt(self.diag)
        self._low0, self._low1 = np.empty(n), np.empty(n)
        self._high0, self._high1 = np.empty(n), np.empty(n)
        self._bottom0, self._bottom1 = np.zeros(n), np.zeros(n)
        self._top0, self._top1 = np.zeros(n), np.zeros(n)
        self._found = np.empty(n, dtype=np.int64)
        self._du = np.zeros(n)
        self._dalpha = np.zeros(0)
        self._db = np.zeros(m)
        self._pull = np.zeros(n)
        self._balance = np.zeros(m)
        self.tau = 0.0
        self.route: Route

    # ------------------------------------------------------------------ scales

    def _set_scales(self) -> None:
        route = self.route
        u_scale, a_scale = 0.0, 0.0
        # Where the polylines are the model's own: at both ends of a C-step, else at mu = 0.
        for tau in (route.stop,) if route.pin else (route.start, route.stop):
            corner = route.corner0 + route.corner1 * tau
            finite = np.where(np.isfinite(corner), np.abs(corner), 0.0).max(axis=1)
            u_scale = max(u_scale, float(np.median(finite)), 1e-3 * float(finite.max()))
            slope = route.slope0 + route.slope1 * tau
            a_scale = max(a_scale, float(np.abs(slope[np.isfinite(slope)]).max(initial=0.0)))
        self.u_scale = u_scale if u_scale > 0.0 else max(float(np.abs(self.u).max()), 1e-300)
        heaviest = float(self.diag.max())
        reach = self.u_scale / heaviest if heaviest > 0.0 else np.inf
        a_scale = a_scale if a_scale > 0.0 else reach
        self.a_scale = a_scale if np.isfinite(a_scale) and a_scale > 0.0 else 1.0
        self._unit = min(self.a_scale, reach)
        self._set_nearness()

    def _set_nearness(self) -> None:
        # Rounding of u is proportional to the sum of |Q_ij alpha_j|, not to u.
        mass = float(self._root @ np.abs(self.alpha)) * float(self._root.max())
        largest = float(np.abs(self.u).max())
        self.near_u = NEAR * self.u_scale + EPS * min(mass, 1e4 * self.u_scale + 8.0 * largest)
        self.near_a = NEAR * self._unit + 8.0 * EPS * float(np.abs(self.alpha).max())
        # Pinned to walls, alpha may grow far beyond its slopes, and with it the rounding of u.
        self.slack = FORGIVEN * self.u_scale + 100.0 * EPS * mass

    # ------------------------------------------------------------------ pieces

    def _slope(self, i: int, j: int) -> float:
        """alpha of slope j of coordinate i now, at its corner side or its own u if slanted."""
        r = self.route
        value = float(r.slope0[i, j] + r.slope1[i, j] * self.tau)
        bend = float(r.curvature[i, j])
        return value - bend * float(self.u[i]) if bend > 0.0 else value

    def _is_active(self, i: int, piece: int) -> bool:
        return piece % 2 == 1 or bool(self.route.curvature[i, piece // 2] > 0.0)

    def _fence(self, i: int) -> None:
        """Set the corners between which u_i is free, or on a knot the ends of alpha_i."""
        r, p = self.route, int(self.piece[i])
        j = p // 2
        self._unfence(i)
        if p % 2 == 1:
            self._fence_knots(np.array([i]))
        else:
            if j > 0:
                self._low0[i], self._low1[i] = r.corner0[i, j - 1], r.corner1[i, j - 1]
            if j < r.kind.shape[1]:
                self._high0[i], self._high1[i] = r.corner0[i, j], r.corner1[i, j]

    def _unfence(self, i: int) -> None:
        """Take the corners of coordinate i out of the search; its piece stays as it is."""
        self._low0[i], self._low1[i] = -np.inf, 0.0
        self._high0[i], self._high1[i] = np.inf, 0.0

    def _fence_all(self) -> None:
        r, n = self.route, self.u.size
        rows = np.arange(n)
        j = self.piece // 2
        flat = self.piece % 2 == 0
        k = r.kind.shape[1]
        left, right = flat & (j > 0), flat & (j < k)
        jl, jr = np.maximum(j - 1, 0), np.minimum(j, k - 1)
        self._low0[:] = np.where(left, r.corner0[rows, jl], -np.inf)
        self._low1[:] = np.where(left, r.corner1[rows, jl], 0.0)
        self._high0[:] = np.where(right, r.corner0[rows, jr], np.inf)
        self._high1[:] = np.where(right, r.corner1[rows, jr], 0.0)
        # A fence at infinity stands still whatever its declared rate.
        self._low1[~np.isfinite(self._low0)] = 0.0
        self._high1[~np.isfinite(self._high0)] = 0.0
        self._fence_knots(rows[~flat])

    def _fence_knots(self, index: Index) -> None:
        """Set the ends of alpha on the knots where `index` stand; a pin has one end only."""
        r, j = self.route, self.piece[index] // 2
        pinned = self.side[index]
        for value, rate, slope, open_side, infinite in (
            (self._bottom0, self._bottom1, j + 1, -1, -np.inf),
            (self._top0, self._top1, j, 1, np.inf),
        ):
            bend = r.curvature[index, slope]
            corner0 = np.where(bend > 0.0, r.corner0[index, j], 0.0)
            at = r.slope0[index, slope] - bend * corner0
            speed = r.slope1[index, slope] - bend * r.corner1[index, j]
            value[index] = np.where(pinned == open_side, infinite, at)
            rate[index] = np.where((pinned == open_side) | ~np.isfinite(at), 0.0, speed)

    def _end_of_knot(self, i: Any) -> tuple[Any, Any]:
        """The lowest and highest alpha on the knots where `i` stand."""
        return (
            self._bottom0[i] + self._bottom1[i] * self.tau,
            self._top0[i] + self._top1[i] * self.tau,
        )

    def load(self, route: Route) -> None:
        """Take up a route at its start, keeping pieces, alpha, b, u and the factor."""
        self.route, self.tau = route, route.start
        self._set_scales()
        self._fence_all()
        self._gather_pull()
        self._oriented = False

    def _gather_pull(self) -> None:
        """``Q_:F slope_F'`` and ``B_F^T slope_F'`` of the flat coordinates, from scratch."""
        route, rows, j = self.route, np.arange(self.u.size), self.piece // 2
        flat = (self.piece % 2 == 0) & (route.curvature[rows, j] == 0.0)
        rate = np.where(flat, route.slope1[rows, j], 0.0)
        moving = np.flatnonzero(rate)
        self._pull = self.gram.combine(moving, rate[moving])
        self._balance = self.border[moving].T @ rate[moving]
        self._pull += self.rho * (self.border @ self._balance)

    def write_alpha(self) -> None:
        """Write alpha of the flat coordinates: it is the value of their slope."""
        r, rows, j = self.route, np.arange(self.u.size), self.piece // 2
        flat = (self.piece % 2 == 0) & (r.curvature[rows, j] == 0.0)
        f, jf = rows[flat], j[flat]
        self.alpha[f] = r.slope0[f, jf] + r.slope1[f, jf] * self.tau

    def refresh(self) -> float:
        """Recompute u from alpha; return the worst residual of (u, alpha) against its piece."""
        self.write_alpha()
        self.u = self.gram.matvec(self.alpha) + self.border @ self.b
        self._set_nearness()
        return self.residual()

    def residual(self) -> float:
        """The largest distance of u from its piece, as a part of the scale of u."""
        r, rows = self.route, np.arange(self.u.size)
        low = self._low0 + self._low1 * self.tau
        high = self._high0 + self._high1 * self.tau
        worst = float(np.maximum(np.maximum(low - self.u, self.u - high), 0.0).max())
        steep = rows[self.piece % 2 == 1]
        if steep.size:
            j = self.piece[steep] // 2
            corner = r.corner0[steep, j] + r.corner1[steep, j] * self.tau
            worst = max(worst, float(np.abs(self.u[steep] - corner).max()))
        bent = np.flatnonzero((self.piece % 2 == 0) & (r.curvature[rows, self.piece // 2] > 0))
        if bent.size:
            snap = self.route.snapshot(self.tau)
            j = self.piece[bent] // 2
            off = self.alpha[bent] - snap.slope_at(bent, j, self.u[bent])
            worst = max(worst, float((np.abs(off) / snap.curvature[bent, j]).max()))
        if self.b.size:
            worst = max(worst, self._unbalance() * self.u_scale)
        return worst / self.u_scale

    def _unbalance(self) -> float:
        """``|B^T alpha - e|`` relative to the terms of the sum."""
        off = np.abs(self.border.T @ self.alpha - self.route.target(self.tau))
        size = np.abs(self.border).T @ np.abs(self.alpha) + np.abs(self.route.target(self.tau))
        return float((off / np.maximum(size, self._unit)).max())

    # ------------------------------------------------------------------ pivots

    def _active_row(self, i: int) -> Array:
        a = self.factor.index
        row = self.gram.block(np.array([i]), a)[0]
        if self.b.size:
            row = row + self.rho * (self.border[a] @ self.border[i])
        return row

    def _pull_on(self, i: int, rate: float) -> None:
        if rate != 0.0:
            self._pull += rate * self.gram.column(i)
            if self.b.size:
                self._pull += (self.rho * rate) * (self.border @ self.border[i])
                self._balance += rate * self.border[i]

    def _place(self, i: int, piece: int, side: int = 0) -> None:
        self.piece[i], self.side[i] = piece, side
        self.changed[i] = piece
        self._fence(i)
        self._oriented = False
        self.pivots += 1

    def _rate(self, i: int, piece: int) -> float:
        j = piece // 2
        flat = piece % 2 == 0 and self.route.curvature[i, j] == 0.0
        return float(self.route.slope1[i, j]) if flat else 0.0

    def leave(self, i: int, slope: int) -> None:
        """Coordinate i goes to slope number `slope`, from wherever it stands."""
        old, new = int(self.piece[i]), 2 * slope
        if self._is_active(i, old):
            self.factor.remove(i)
        else:
            self._pull_on(i, -self._rate(i, old))
        self._place(i, new)
        self._arrive(i, slope)

    def _arrive(self, i: int, slope: int) -> None:
        """Take up coordinate i, just placed on `slope`: into the factor, or among the flat."""
        self.alpha[i] = self._slope(i, slope)
        bend = float(self.route.curvature[i, slope])
        if bend > 0.0:
            self._admit_slanted(i, bend)
        else:
            self._pull_on(i, self._rate(i, 2 * slope))

    def put(self, i: int, slope: int) -> None:
        """Coordinate i is given another side: it stands on `slope`, its alpha not yet there."""
        if self._is_active(i, int(self.piece[i])):
            self.factor.remove(i)
        self._place(i, 2 * slope)
        bend = float(self.route.curvature[i, slope])
        if bend > 0.0:
            self._admit_slanted(i, bend)

    def _admit_slanted(self, i: int, bend: float) -> None:
        """Append coordinate i on a slanted piece: 1/c on its diagonal keeps it independent."""
        pivot = self.factor.pivot(self._active_row(i), float(self.diag[i]) + 1.0 / bend)
        self.factor.accept(i, max(pivot, 0.5 / bend))

    def _admit(self, i: int, row: Array, least: float = 0.0) -> bool:
        """Append coordinate i to the factor unless its column depends on the active ones.

        With v the null direction (v_i = 1), the squared pivot is ``v^T Q v`` and carries the
        rounding of that sum, so dependence is a matter of the Rayleigh quotient of v, not of the
        pivot alone.  A larger pivot, however small, is safe: the error of a solve is proportional
        to how far alpha moves, not to the inverse of the pivot.
        """
        diagonal = float(self.diag[i])
        pivot = self.factor.pivot(row, diagonal)
        if pivot <= 1e-4 * diagonal:
            a = self.factor.index
            mass = diagonal + float(self.factor.solve(row) ** 2 @ self.diag[a])
            rounding = 16.0 * EPS * (1.0 + float(np.sqrt(a.size))) * mass
            if pivot < -rounding:
                self._check_definite(i)
            if pivot <= max(rounding, least * mass):
                return False
        self.factor.accept(i, pivot)
        return True

    def _check_definite(self, i: int) -> None:
        index = np.append(self.factor.index, i)
        values = np.linalg.eigvalsh(self.gram.block(index, index))
        if values[0] < -1e-8 * max(values[-1], float(self.gram.diag.max())):
            raise ModelError(
                f"gram is not positive semidefinite: a block of {index.size} coordinates has "
                f"eigenvalues from {values[0]:.3g} to {values[-1]:.3g}; a quadratic form must have "
                "no negative eigenvalue (for a precomputed or sigmoid kernel, clip its spectrum)"
            )

    def enter(self, i: int, corner: int, from_slope: int, side: int = 0) -> None:
        """Coordinate i goes from a flat slope onto the knot (or pin) at `corner`."""
        old = int(self.piece[i])
        slanted = self._is_active(i, old)
        if slanted:
            self.factor.remove(i)
        self.alpha[i] = self._slope(i, from_slope)
        row = self._active_row(i)
        independent = self._admit(i, row)
        if not slanted:
            self._pull_on(i, -self._rate(i, old))
        self._place(i, 2 * corner + 1, side)
        if independent:
            return
        inward = -1.0 if from_slope == corner else 1.0
        try:
            self._exchange(i, row, inward)
        except Unbounded:
            if self.alpha[i] == self._slope(i, from_slope):
                # Nothing has moved yet: put it back.
                self._place(i, old)
                self._pull_on(i, self._rate(i, old))
                self.wall[i] = corner
                # Walls that meet in a single point admit no motion at all; what seems to move
                # there is rounding.
                if self._offence * abs(self.route.stop - self.tau) <= self.slack:
                    self._unfence(i)
                    return
            raise

    def _exchange(self, i: int, row: Array, inward: float, either_way: bool = False) -> None:
        """Coordinate i, on a knot but dependent on A, moves along the null direction until some
        coordinate reaches the end of its knot; that one leaves A and i takes its place."""
        a = self.factor.index.copy()
        v, slide = self._null_direction(i, row)
        index, v, slide = np.append(a, i), inward * np.append(v, 1.0), inward * slide
        heavy = np.abs(v) > NEGLIGIBLE * np.abs(v).max()
        heavy &= self.piece[index] % 2 == 1
        room = np.full((2, index.size), np.inf)
        rising, size = v[heavy] > 0.0, np.abs(v[heavy])
        low, high = self._end_of_knot(index[heavy])
        up = np.maximum(high - self.alpha[index[heavy]], 0.0)
        down = np.maximum(self.alpha[index[heavy]] - low, 0.0)
        room[0, heavy] = np.where(rising, up, down) / size
        room[1, heavy] = np.where(rising, down, up) / size
        way = 1 if either_way and room[1].min() < room[0].min() else 0
        step = float(room[way].min())
        if not np.isfinite(step):
            raise Unbounded(
                f"no optimum exists beyond tau={self.tau:.17g}: coordinate {i} must move and "
                "nothing bounds it (the problem is infeasible or unbounded from here on)",
                i,
            )
        bounded = np.flatnonzero(np.isfinite(room[way]))
        weight = np.abs(v[bounded])
        tied = bounded[room[way, bounded] * weight <= step * weight + self.near_a]
        k = int(tied[np.argmax(np.abs(v[tied]))])
        if self.pivots_here > self.patience:
            k = int(tied[np.argmin(index[tied])])
        direction, slide = (v, slide) if way == 0 else (-v, -slide)
        if step > 0.0:
            # A pivot of 1e-14 still means |Q v| of 1e-7 off A: u moves along, a little.
            self.alpha[index] += step * direction
            self.b += step * slide
            self.u += step * (self.gram.combine(index, direction) + self.border @ slide)
            self.moved_here = True
        j = int(index[k])
        out = int(self.piece[j]) // 2 + (0 if direction[k] > 0 else 1)
        if j == i:
            # It went through its whole knot: on to the far slope without ever joining A.
            self._place(i, 2 * out)
            self._arrive(i, out)
            return
        self.leave(j, out)
        again = self._active_row(i)
        if not self._admit(i, again):
            self.pivots_here += 1
            if self.pivots_here > 4 * self.patience:
                raise TraceError("the active columns cannot be made independent")
            self._exchange(i, again, inward, either_way)

    def _null_direction(self, i: int, row: Array) -> tuple[Array, Array]:
        """The motion of alpha_A and b that, for alpha_i rising at rate 1, keeps u_A and the border
        equations where they are."""
        v = -self.factor.solve(row)
        if self.b.size == 0:
            return v, np.zeros(0)
        border = self.border[self.factor.index]
        values, vectors, z = self._border_schur(border)
        short = border.T @ v + self.border[i]
        live = values > 1e-12 / self.rho
        part = vectors.T @ short
        db = vectors @ np.where(live, part / np.where(live, values, 1.0), 0.0)
        return v - z @ db, db

    def _border_schur(self, border: Array) -> tuple[Array, Array, Array]:
        """Eigenvalues and vectors of ``B_A^T M^{-1} B_A``, and ``M^{-1} B_A``, M the factored block."""
        m = self.b.size
        z = np.stack([self.factor.solve(border[:, c]) for c in range(m)], axis=1)
        schur = border.T @ z
        if m == 1:
            return schur[0], np.ones((1, 1)), z
        values, vectors = np.linalg.eigh(schur)
        return values, vectors, z

    def rebuild(self, least: float) -> None:
        """Factor the active set anew, reducing it to a well independent one."""
        self._begin_pivots(self.u.size)
        self.factor.clear()
        r, rows = self.route, np.arange(self.u.size)
        slanted = (self.piece % 2 == 0) & (r.curvature[rows, self.piece // 2] > 0.0)
        for i in np.flatnonzero(slanted).tolist():
            bend = float(r.curvature[i, self.piece[i] // 2])
            self._admit_slanted(i, bend)
        # Those farthest from the ends of their knots first: they are the likeliest to stay.
        steep = np.flatnonzero(self.piece % 2 == 1)
        low, high = self._end_of_knot(steep)
        depth = np.minimum(self.alpha[steep] - low, high - self.alpha[steep])
        for i in steep[np.argsort(-depth, kind="stable")].tolist():
            if self.piece[i] % 2 == 0:
                continue
            row = self._active_row(i)
            if not self._admit(i, row, least):
                self._exchange(i, row, 1.0, either_way=True)
        self._oriented = False

    # ------------------------------------------------------------------ direction

    def _begin_pivots(self, tied: int) -> None:
        self.pivots_here = 0
        self.patience = 20 + 4 * tied
        self._resolved = False
        self._crossed: dict[int, int] = {}
        self.moved_here = False

    def _solve(self) -> Array | None:
        """alpha_A' and b' for the present pieces; where the border has lost rank and the balance
        asks for it, the direction in which b must slide instead."""
        r, a = self.route, self.factor.index
        aim = np.zeros(a.size)
        j = self.piece[a] // 2
        steep = self.piece[a] % 2 == 1
        aim[steep] = r.corner1[a[steep], j[steep]]
        s, js = a[~steep], j[~steep]
        aim[~steep] = r.slope1[s, js] / r.curvature[s, js]
        right = aim - self._pull[a]
        x = self.factor.solve(right)
        m = self.b.size
        if m == 0:
            self._dalpha, self._db = x, np.zeros(0)
            return None
        border = self.border[a]
        values, vectors, z = self._border_schur(border)
        need = r.target1 - self._balance
        short = border.T @ x - need
        live = values > 1e-12 / self.rho
        part = vectors.T @ short
        mass = float(np.abs(self._balance).sum() + np.abs(r.target1).sum())
        mass = max(mass, float(np.abs(border).T.sum(axis=0) @ np.abs(x)) if a.size else 0.0)
        left = abs(r.stop - self.tau)
        dead = ~live & (np.abs(part) > 1e-11 * mass)
        dead &= np.abs(part) * left > FORGIVEN * self.a_scale
        if np.any(dead):
            c = int(np.flatnonzero(dead)[0])
            # Growth of B^T alpha along this column is asked for in the direction of travel
            # (part = -need there); b moves against it.
            growth = -part[c] * self.sign
            return np.asarray(-np.sign(growth) * vectors[:, c])
        coefficient = np.zeros(m)
        coefficient[live] = part[live] / values[live]
        db = vectors @ coefficient
        self._dalpha = x - z @ db
        self._db = db
        return None

    def _response_rates(self) -> Array:
        a = self.factor.index
        du = self.gram.combine(a, self._dalpha) + self._pull
        if self.b.size:
            du += self.border @ (self._db + self.rho * (self.border[a].T @ self._dalpha))
        return du

    def _rates_on(self, index: Index) -> Array:
        a = self.factor.index
        du = self.gram.block(index, a) @ self._dalpha + self._pull[index]
        if self.b.size:
            lift = self._db + self.rho * (self.border[a].T @ self._dalpha)
            du += self.border[index] @ lift
        return du

    @property
    def sign(self) -> float:
        return 1.0 if self.route.stop > self.route.start else -1.0

    def _still(self) -> tuple[float, float]:
        """The speeds (of u, of alpha) below which nothing moves: too slow to leave a corner by
        more than its nearness before the route ends, or mere rounding."""
        left = max(abs(self.route.stop - self.tau), 1e-300)
        mass = float(np.abs(self._dalpha) @ self._root[self.factor.index])
        mass = mass * float(self._root.max()) + float(np.abs(self._pull).max(initial=0.0))
        fastest = float(np.abs(self._dalpha).max(initial=0.0))
        return (
            2.0 * self.near_u / left + 32.0 * EPS * mass,
            2.0 * self.near_a / left + 4.0 * EPS * fastest,
        )

    def _tied(self) -> tuple[Index, Index]:
        """The flat coordinates standing on a corner and the steep ones at an end of their knot."""
        count = kernels.standing(
            self.u,
            self._low0,
            self._low1,
            self._high0,
            self._high1,
            self.tau,
            self.near_u,
            self._found,
        )
        steep = self.factor.index[self.piece[self.factor.index] % 2 == 1]
        low, high = self._end_of_knot(steep)
        room = np.minimum(high - self.alpha[steep], self.alpha[steep] - low)
        return self._found[:count].copy(), steep[room <= self.near_a]

    def orient(self) -> Index:
        """Choose pieces for the tied coordinates so that none moves off its piece.

        Returns the coordinates that press on a jump corner (none on a pinning route): the C-step
        ends there.
        """
        flat, steep = self._tied()
        tied = np.union1d(flat, steep)
        self._begin_pivots(tied.size)
        while True:
            if not self._oriented:
                slide = self._solve()
                if slide is not None:
                    wall = self._slide(slide)
                    if wall.size:
                        return wall
                    tied = self._retie(tied)
                    continue
                speeds = self._rates_on(tied) if tied.size else np.zeros(0)
            else:
                speeds = self._du[tied]
            offender, walls = self._first_offender(tied, speeds)
            if offender is None:
                break
            self.pivots_here += 1
            if self.pivots_here > MANY and not self._resolved and not self._nested:
                self._resolved = True
                if self._resolve(tied):
                    continue
            if self.pivots_here > 10 * self.patience:
                raise TraceError(
                    f"the direction at tau={self.tau:.17g} could not be resolved among "
                    f"{tied.size} tied coordinates"
                )
            self.moved_here = False
            if not self._rounding_decides(*offender):
                self._cross(*offender)
            if self.moved_here:
                self._resolved = False
                tied = self._retie(tied)
        if not self._oriented:
            self._du = self._response_rates()
            self._oriented = True
            # tau itself is rounded, and what moves fast is rounded with it.
            blur = 4.0 * EPS * abs(self.tau)
            self.near_u = max(self.near_u, blur * float(np.abs(self._du).max()))
            self.near_a = max(self.near_a, blur * float(np.abs(self._dalpha).max(initial=0.0)))
        if not walls and not self.route.pin:
            walls = self._lingering(tied)
        return np.array(walls, dtype=np.int64)

    def _lingering(self, tied: Index) -> list[int]:
        """A coordinate that would stay on a jump corner along the coming segment.

        No local optimum sits there unless the active coordinates hold it: otherwise w can move
        it off either way at no first-order cost, and one side of a concave corner goes down.
        Such a balance arises from symmetric data.  One is returned at a time, for flipping all
        of a balanced set at once would keep the balance.
        """
        still_u, _ = self._still()
        here = set()
        for i in tied.tolist():
            if self.piece[i] % 2 == 0:
                j = int(self.piece[i]) // 2
                for c in (j - 1, j):
                    if not 0 <= c < self.route.kind.shape[1] or self.route.kind[i, c] != JUMP:
                        continue
                    rate = self.route.corner1[i, c]
                    at = self.route.corner0[i, c] + rate * self.tau
                    if abs(self.u[i] - at) <= self.near_u and abs(self._du[i] - rate) <= still_u:
                        here.add(i)
                        self.wall[i] = c
        # Those whose flip moved nothing are at rest as long as they stand here.
        self.resting &= here
        for i in sorted(here - self.resting):
            if self.factor.pivot(self._active_row(i), self.diag[i]) > HELD * self.diag[i]:
                return [i]
        return []

    def _rounding_decides(self, i: int, way: int) -> bool:
        """Whether coordinate i has gone to and fro at this point: then its speed is rounding.

        In exact arithmetic a coordinate that moves off its flat piece moves into its knot.  One
        that goes back sits on a column so nearly dependent that its speed has no digit left.  It
        is excused for the coming step, which is kept so short that it cannot drift noticeably.
        """
        self._crossed[i] = self._crossed.get(i, 0) + 1
        if self._crossed[i] <= TO_AND_FRO or self.piece[i] % 2 == 1:
            return False
        if self._offence > 1e3 * self._still()[0]:
            return False
        self._unfence(i)
        self._excused[i] = self._offence
        return True

    def _resolve(self, tied: Index) -> bool:
        """Find the pieces of many tied coordinates at once.

        The one-sided derivatives (u', alpha') solve a problem of the very kind this class solves:
        a coordinate off its corners has ``alpha' = slope'`` (flat) or ``u' = corner'`` (steep),
        and a tied one lies on a polyline with one corner, its two arms those pieces it may go to.
        So a second follower settles it, from the present rates as a guess.  Returns False where
        that problem has no solution: then alpha or b must first move by a finite amount.
        """
        r, sign, n = self.route, self.sign, self.u.size
        rows, j = np.arange(n), self.piece // 2
        steep = self.piece % 2 == 1
        slope = np.where(steep[:, None], [np.inf, -np.inf], 0.0)
        curvature = np.zeros((n, 2))
        flat = rows[~steep]
        slope[flat] = sign * r.slope1[flat, j[flat]][:, None]
        curvature[flat] = r.curvature[flat, j[flat]][:, None]
        corner = np.full(n, np.inf)
        corner[steep] = sign * r.corner1[rows[steep], j[steep]]
        kind = np.where(steep, KNOT, SEAM).astype(np.int8)
        piece = np.where(steep, 1, 0)
        at = np.where(steep, j, -1)
        for i in tied.tolist():
            c = self._corner_of(i)
            if c is None:
                continue
            arms = self._arms(i, c)
            at[i], corner[i] = c, sign * r.corner1[i, c]
            kind[i] = SEAM if r.kind[i, c] == SEAM else KNOT
            for arm, open_to in ((0, np.inf), (1, -np.inf)):
                s = c + arm
                slope[i, arm] = sign * r.slope1[i, s] if arms[arm] else open_to
                curvature[i, arm] = r.curvature[i, s] if arms[arm] else 0.0
            piece[i] = 1 if steep[i] else 2 * (int(j[i]) - c)
        inner = Follower(self.gram, self.border)
        inner._nested = True
        inner.piece = piece.copy()
        inner.alpha = np.where(piece % 2 == 0, slope[rows, piece // 2], 0.0)
        if self._dalpha.size == self.factor.size:
            inner.alpha[self.factor.index] = sign * self._dalpha
            inner.b = sign * (self._db + self.rho * r.target1)
        snap = Snapshot(slope, corner[:, None], curvature, kind[:, None])
        on_knot = np.flatnonzero(piece == 1)
        top, bottom = (snap.slope_at(on_knot, arm, corner[on_knot]) for arm in (0, 1))
        inner.alpha[on_knot] = np.clip(inner.alpha[on_knot], bottom, top)
        try:
            inner.settle(snap, sign * r.target1, least=0.0)
        except TraceError:
            return False
        for i in np.flatnonzero(inner.piece != piece).tolist():
            c, p = int(at[i]), int(inner.piece[i])
            side = 0
            if p == 1:
                side = (-1 if j[i] == c else 1) if r.kind[i, c] == JUMP else 0
                self.alpha[i] = self._slope(i, int(j[i]))
            self._place(i, 2 * c + p, side)
            if p != 1:
                self.alpha[i] = self._slope(i, c + p // 2)
        self.factor = inner.factor
        self._gather_pull()
        self._oriented = False
        return True

    def _corner_of(self, i: int) -> int | None:
        """The corner on which tied coordinate i stands and which it may turn at; None at a wall."""
        j = int(self.piece[i]) // 2
        if self.piece[i] % 2 == 1:
            return j
        gaps = (
            abs(self._high0[i] + self._high1[i] * self.tau - self.u[i]),
            abs(self.u[i] - self._low0[i] - self._low1[i] * self.tau),
        )
        c = j if gaps[0] <= gaps[1] else j - 1
        if min(gaps) > self.near_u or (self.route.kind[i, c] == JUMP and not self.route.pin):
            return None
        return c

    def _arms(self, i: int, c: int) -> tuple[bool, bool]:
        """Whether coordinate i, standing on corner c, may turn to the slopes left and right."""
        if self.route.kind[i, c] == SEAM:
            return True, True
        p = int(self.piece[i])
        if self.route.kind[i, c] == JUMP:
            left = self.side[i] < 0 if p % 2 == 1 else p // 2 == c
            return left, not left
        u = self.route.corner0[i, c] + self.route.corner1[i, c] * self.tau
        top, bottom = (
            self.route.slope0[i, s]
            + self.route.slope1[i, s] * self.tau
            - (self.route.curvature[i, s] * u if self.route.curvature[i, s] > 0.0 else 0.0)
            for s in (c, c + 1)
        )
        alpha = self.alpha[i] if p % 2 == 1 else self._slope(i, p // 2)
        left = top - alpha <= self.near_a or p == 2 * c
        right = alpha - bottom <= self.near_a or p == 2 * c + 2
        return bool(left), bool(right)

    def _retie(self, before: Index) -> Index:
        flat, steep = self._tied()
        self.moved_here = False
        return np.union1d(before, np.union1d(flat, steep))

    def _first_offender(
        self, tied: Index, speeds: Array
    ) -> tuple[tuple[int, int] | None, list[int]]:
        """The first tied coordinate that moves off its piece, with the way it goes (+1: towards
        larger u or larger alpha), and those that press on a wall."""
        sign = self.sign
        still_u, still_a = self._still()
        walls: list[int] = []
        r = self.route
        for i, speed in zip(tied.tolist(), speeds.tolist(), strict=True):
            p = int(self.piece[i])
            if p % 2 == 1:
                low, high = self._end_of_knot(i)
                rate = self._dalpha[self.factor.position(i)]
                near = self.near_a
                if high - self.alpha[i] <= near and sign * (rate - self._top1[i]) > still_a:
                    return (i, 1), walls
                if self.alpha[i] - low <= near and sign * (self._bottom1[i] - rate) > still_a:
                    return (i, -1), walls
                continue
            way = 0
            if (
                self._high0[i] + self._high1[i] * self.tau - self.u[i] <= self.near_u
                and sign * (speed - self._high1[i]) > still_u
            ):
                way = 1
            elif (
                self.u[i] - self._low0[i] - self._low1[i] * self.tau <= self.near_u
                and sign * (self._low1[i] - speed) > still_u
            ):
                way = -1
            if way:
                corner = p // 2 if way > 0 else p // 2 - 1
                if r.kind[i, corner] == JUMP and not r.pin:
                    walls.append(i)
                    self.wall[i] = corner
                else:
                    rate = self._high1[i] if way > 0 else self._low1[i]
                    self._offence = abs(speed - rate)
                    return (i, way), walls
        return None, walls

    def _cross(self, i: int, way: int) -> None:
        """Coordinate i passes on to the neighbouring piece."""
        p = int(self.piece[i])
        j = p // 2
        if p % 2 == 1:
            self.leave(i, j if way > 0 else j + 1)
            return
        corner, beyond = (j, j + 1) if way > 0 else (j - 1, j - 1)
        kind = self.route.kind[i, corner]
        if kind == SEAM:
            self.leave(i, beyond)
        elif kind == JUMP:
            self.enter(i, corner, j, side=-1 if way > 0 else 1)
        else:
            self.enter(i, corner, j)

    def _slide(self, direction: Array) -> Index:
        """b slides along `direction` (no change in alpha) until a coordinate meets a corner."""
        du = self.border @ direction
        low = self._low0 + self._low1 * self.tau
        high = self._high0 + self._high1 * self.tau
        free = self.piece % 2 == 0
        floor = 1e-12 * float(np.abs(du).max())
        with np.errstate(divide="ignore", invalid="ignore"):
            up = np.where(free & (du > floor), np.maximum(high - self.u, 0.0) / du, np.inf)
            down = np.where(free & (du < -floor), np.maximum(self.u - low, 0.0) / -du, np.inf)
        room = np.minimum(up, down)
        step = float(room.min())
        if not np.isfinite(step):
            raise TraceError(
                f"no optimum exists beyond tau={self.tau:.17g}: the border equations cannot be "
                "balanced (B^T alpha = e has no solution within the slopes)"
            )
        reached = np.flatnonzero(np.isfinite(room))
        weight = np.abs(du[reached])
        tied = reached[room[reached] * weight <= step * weight + self.near_u]
        i = int(tied[np.argmax(np.abs(du[tied]))])
        if self.pivots_here > self.patience:
            i = int(tied.min())
        self.pivots_here += 1
        if self.pivots_here > 10 * self.patience:
            raise TraceError(f"the border could not be balanced at tau={self.tau:.17g}")
        self.b += step * direction
        self.u += step * du
        self._offence = np.inf
        way = 1 if du[i] > 0 else -1
        corner = int(self.piece[i]) // 2 - (0 if way > 0 else 1)
        if self.route.kind[i, corner] == JUMP and not self.route.pin:
            self.wall[i] = corner
            return np.array([i])
        self._cross(i, way)
        return NONE

    # ------------------------------------------------------------------ stepping

    def _nearest(self) -> float:
        """The length of the step to the next break-point."""
        sign = self.sign
        still_u, still_a = self._still()
        step = float(
            kernels.nearest_corner(
                self.u,
                self._du,
                self._low0,
                self._low1,
                self._high0,
                self._high1,
                self.tau,
                sign,
                still_u,
            )
        )
        a = self.factor.index
        steep = self.piece[a] % 2 == 1
        i, rate = a[steep], self._dalpha[steep]
        low, high = self._end_of_knot(i)
        for room, speed in (
            (high - self.alpha[i], sign * (rate - self._top1[i])),
            (self.alpha[i] - low, sign * (self._bottom1[i] - rate)),
        ):
            moving = speed > still_a
            if np.any(moving):
                ahead = np.maximum(room[moving], 0.0) / speed[moving]
                step = min(step, float(ahead.min()))
        return step

    def step(self) -> float:
        """Go to the next break-point or the end of the route; return the length gone."""
        left = abs(self.route.stop - self.tau)
        step = min(self._nearest(), left)
        for i, speed in self._excused.items():
            step = min(step, self.slack / speed)
            self._fence(i)
        self._excused.clear()
        # What happens within rounding of the end happens at the end; a fast alpha must not go the
        # rest of the way for that.
        arrived = left - step <= 1e-13 * max(abs(self.route.stop), abs(self.route.start))
        a = self.factor.index
        length = step * self.sign
        self.alpha[a] += length * self._dalpha
        # The solve works with b - rho e; the rate of b itself adds rho e'.
        self.b += length * (self._db + self.rho * self.route.target1)
        kernels.advance(self.u, self._du, length)
        self.tau = self.route.stop if arrived else self.tau + length
        self.steps += 1
        return step

    def travel(self, route: Route, record: Recorder | None = None) -> Index:
        """Follow `route` to its end; return the coordinates pressing on a wall (none at the end).

        `record` is called after each step with tau before and after, alpha of A before, b before.
        """
        self.load(route)
        limit = 1000 + 200 * self.u.size
        count = 0
        while self.tau != route.stop:
            if self.steps - self._refreshed >= REFRESH and not self._settling:
                walls = self._maintain()
                if walls.size:
                    return walls
            walls = self.orient()
            if walls.size:
                return walls
            before = self.tau
            alpha, b = self.alpha[self.factor.index], self.b.copy()
            self.step()
            if record is not None and self.tau != before:
                record(before, self.tau, alpha, b)
            count += 1
            if count > limit:
                raise TraceError(f"no progress after {count} steps at tau={self.tau:.17g}")
        return NONE

    def _maintain(self) -> Index:
        """Recompute u; where the residual has grown, make the point exact again on the spot.

        Returns the coordinates that ended pinned on a route that does not pin.
        """
        self._refreshed = self.steps
        if self.refresh() <= REPAIR + 1e-2 * self.slack / self.u_scale:
            self._oriented = False
            return NONE
        route, tau = self.route, self.tau
        self.settle(route.snapshot(tau), route.target(tau))
        self.load(attrs.evolve(route, start=tau))
        self.repairs += 1
        return NONE if route.pin else np.flatnonzero(self.side)

    # ------------------------------------------------------------------ guesses

    def assign(self, snap: Snapshot, first: Index, last: Index) -> None:
        """Give every coordinate the piece nearest to (u, alpha), and that piece's alpha, among
        the slopes ``first .. last`` of its convex branch, their knots and their walls."""
        self.route = Route.settled(snap, self.b, np.zeros(self.u.size), self.b)
        self._set_scales()
        n, k = snap.corner.shape
        best = np.full(n, np.inf)
        piece, side, value = np.zeros(n, np.int64), np.zeros(n, np.int8), self.alpha.copy()
        inf = np.full(n, np.inf)
        for p in range(2 * k + 1):
            j = p // 2
            if p % 2 == 0:
                low = snap.corner[:, j - 1] if j else -inf
                high = snap.corner[:, j] if j < k else inf
                u = np.clip(self.u, low, high)
                a = np.asarray(snap.slope_at(np.arange(n), j, u))
                allowed = (j >= first) & (j <= last) & np.isfinite(a)
                where = np.zeros(n, np.int8)
                bias = 0.0
            else:
                corner = snap.corner[:, j]
                finite = np.where(np.isfinite(corner), corner, 0.0)
                high = np.asarray(snap.slope_at(np.arange(n), j, finite))
                low = np.asarray(snap.slope_at(np.arange(n), j + 1, finite))
                jump = snap.kind[:, j] == JUMP
                where = np.where(jump, np.where(last == j, -1, 1), 0).astype(np.int8)
                low = np.where(where == -1, -inf, low)
                high = np.where(where == 1, inf, high)
                a = np.clip(self.alpha, np.minimum(low, high), high)
                u = finite
                allowed = (j >= first - 1) & (j <= last) & np.isfinite(corner)
                allowed &= (snap.kind[:, j] != SEAM) & np.where(
                    jump, (last == j) | (first == j + 1), (j >= first) & (j < last)
                )
                # Where a slope does as well the slope wins: it costs nothing to stand on.
                bias = 1e-9
            distance = np.abs(self.u - u) / self.u_scale + np.abs(self.alpha - a) / self.a_scale
            better = allowed & (distance + bias < best)
            best[better], piece[better] = distance[better] + bias, p
            side[better], value[better] = where[better], a[better]
        for i in np.flatnonzero(piece != self.piece).tolist():
            self.changed[i] = int(piece[i])
        self.piece, self.side, self.alpha = piece, side, value

    def settle(self, snap: Snapshot, target: Array, least: float = WELL) -> None:
        """Make the present guess (pieces, alpha, b) exact for the polylines `snap`.

        Every coordinate keeps to its convex branch; one that would cross a jump ends pinned.
        Active coordinates whose Rayleigh quotient is below `least` are given up first.
        """
        n = self.u.size
        zero = np.zeros(n)
        self.route = Route.settled(snap, target, zero, np.zeros_like(target))
        self.tau = self.route.start
        self._set_scales()
        self._fence_all()
        self.rebuild(least)
        rows, j = np.arange(n), self.piece // 2
        flat = self.piece % 2 == 0
        self.u = self.gram.matvec(self.alpha) + self.border @ self.b
        k = snap.corner.shape[1]
        low = np.where(flat & (j > 0), snap.corner[rows, np.maximum(j - 1, 0)], -np.inf)
        high = np.where(flat & (j < k), snap.corner[rows, np.minimum(j, k - 1)], np.inf)
        shift = np.zeros(n)
        # Spread the gaps (golden-ratio sequence) so that the shifted start has no needless ties.
        spread = 1.0 + np.modf(0.6180339887498949 * (rows + 1.0))[0]
        under, over = low - self.u, self.u - high
        shift = np.where(under > 0.0, -under * spread, shift)
        shift = np.where(over > 0.0, over * spread, shift)
        steep = ~flat
        shift[steep] = self.u[steep] - snap.corner[rows[steep], j[steep]]
        bent = flat & (snap.curvature[rows, j] > 0.0)
        if np.any(bent):
            i, ji = rows[bent], j[bent]
            shift[bent] = (
                self.u[bent] - (snap.slope[i, ji] - self.alpha[bent]) / snap.curvature[i, ji]
            )
        excess = self.border.T @ self.alpha - target
        route = Route.settled(snap, target, shift, excess)
        self._settling = True
        try:
            self.travel(route)
        finally:
            self._settling = False
