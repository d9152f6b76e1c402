"""The state of a trace, and what can be read off it: scales, fences, residuals.

A = coordinates on knots and slanted pieces (in the factor), F = the rest, on flat slopes, whose
alpha is known.  Every F coordinate has fences, the corners between which its u is free, kept in
contiguous arrays that change only when a piece does; every coordinate on a knot has ends, the
slopes between which its alpha is free.

Where n is large only some coordinates are looked at, through one of two *windows* (docs/theory.md):
by place, where Q is given by features and w is at hand, or by turn, where Q is given by columns.
Who is left out cannot meet a corner before the window ends.  While one is open u of the others is
stale; `State.widen` brings it up to date and looks at all again.

alpha_A and u are integrated, never recomputed from the partition: in a nearly singular active
system recomputing would throw alpha about within its bounds.  `State.refresh` measures the
residual; a residual that grew is removed by settling, which respects every bound.
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from homotopy import kernels
from homotopy.factor import Factor
from homotopy.gram import Gram
from homotopy.ledger import Ledger
from homotopy.model.polyline import Snapshot
from homotopy.route import Route

__all__ = ["Point", "State"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]

EPS = float(np.finfo(float).eps)
# A coordinate within this part of the scale of its corner stands on it.
NEAR = 1e-11
# A coordinate that cannot be stopped may drift by this part of the scale before it is an error.
FORGIVEN = 1e-9
# A residual above this part of the scale is repaired.
REPAIR = 1e-10
# Active coordinates whose response is checked after a jump.
PROBES = 4


@attrs.frozen(eq=False)
class Point:
    """Where a trace stood, to come back to; `trail` fills with the (piece, side) that coordinates
    had then as they leave them."""

    active: Index
    alpha: Array
    b: Array
    route: Route
    tau: float
    trail: dict[int, tuple[int, int]]


class State:
    """The mutable state of one trace: pieces, alpha, b, u, the factor and the current route.

    Attributes
    ----------
    alpha, u : arrays (n,)
        Current alpha and response.  alpha of flat coordinates is up to date after `write_alpha`
        only, u of coordinates outside of a window after `widen`.
    b : array (m,)
        Border multipliers.
    piece : int array (n,)
        Slope j is 2j, corner j is 2j + 1.
    side : int array (n,)
        For a coordinate pinned to a jump corner: -1 if its branch lies left, +1 if right; else 0.
    lift, shift : arrays (n,)
        How the polylines stand off at mu = 1 (see `homotopy.route`).
    near : int array
        The coordinates that are looked at in a window by place, else all; ascending.
    window : int
        The window that is open, by its number in `homotopy.kernels`; 0 is none.
    wall : dict
        Coordinate -> the jump corner it presses on, for those `orient` returned.
    changed : dict
        Coordinate -> its present piece, for those that changed since the last recorded segment.
    due : int
        The count of steps at which u is next recomputed.
    steps, pivots, repairs : int
        Counters, for reports.
    """

    def __init__(self, gram: Gram, border: Array) -> None:
        n, m = border.shape
        self.gram, self.border = gram, border
        self.alpha, self.u, self.b = np.zeros(n), np.zeros(n), np.zeros(m)
        self.piece = np.zeros(n, dtype=np.int64)
        self.side = np.zeros(n, dtype=np.int64)
        self.lift, self.shift = np.zeros(n), np.zeros(n)
        self.steps = self.pivots = self.repairs = 0
        self.resting: set[int] = set()
        self.wall: dict[int, int] = {}
        self._offence = np.inf
        self._excused: dict[int, float] = {}
        self.due = 0
        self._settling = False
        self._nested = False
        self.changed: dict[int, int] = {}
        self.marks: list[Point] = []
        self.ledger: Ledger | None = None
        self.factor = Factor()
        # rho B B^T makes the active block definite wherever the bordered system is (see factor).
        heaviest = float(gram.diag.max())
        weight = float((border**2).sum(axis=1).max()) if m else 0.0
        self.rho = (heaviest if heaviest > 0.0 else 1.0) / weight if weight > 0.0 else 0.0
        self.diag = gram.diag + self.rho * (border**2).sum(axis=1)
        self._root = np.sqrt(self.diag)
        self._largest_root = float(self._root.max())
        self._low0, self._low1 = np.empty(n), np.empty(n)
        self._high0, self._high1 = np.empty(n), np.empty(n)
        # The tied in the first half; in the second, from the end, those pressing on walls.
        self._found = np.empty(2 * n, dtype=np.int64)
        self._du = np.zeros(n)
        self._dalpha = np.zeros(0)
        self._db = np.zeros(m)
        self._phi = gram.features()
        self._drag = Drag(gram, border)
        self._drag_along: Drag | None = None
        self._touched: set[int] = set()
        self.unfenced: set[int] = set()
        self._every = np.arange(n)
        self.near = self._every
        self.window = 0
        self.tau = 0.0
        self._scaled = False
        self._nearness = (0.0, 0.0)
        self.route: Route
        self._solved = self._rated = False

    # ------------------------------------------------------------------ scales

    def _set_scales(self) -> None:
        route, lines = self.route, self.route.lines
        u_scale, a_scale = 0.0, 0.0
        # Where the polylines are the model's own: at both ends of a C-step, else at mu = 0.
        for t in (route.start, route.stop) if route.along else (route.t,):
            corner = lines.corner0 + lines.corner1 * t
            finite = np.where(np.isfinite(corner), np.abs(corner), 0.0).max(axis=1)
            u_scale = max(u_scale, float(np.median(finite)), 1e-3 * float(finite.max()))
            slope = lines.slope0 + lines.slope1 * t
            a_scale = max(a_scale, float(np.abs(slope[np.isfinite(slope)]).max(initial=0.0)))
        heaviest = float(self.diag.max())
        # With every corner at 0 the scale is what alpha can do to u.
        possible = max(float(np.abs(self.u).max()), heaviest * a_scale, 1e-300)
        self.u_scale = u_scale if u_scale > 0.0 else possible
        reach = self.u_scale / heaviest if heaviest > 0.0 else np.inf
        a_scale = a_scale if a_scale > 0.0 else reach
        self.a_scale = a_scale if np.isfinite(a_scale) and a_scale > 0.0 else 1.0
        self._unit = min(self.a_scale, reach)
        self._set_nearness()

    def _set_nearness(self) -> None:
        # Rounding of u is proportional to the sum of |Q_ij alpha_j|, not to u.
        mass = float(self._root @ np.abs(self.alpha)) * self._largest_root
        largest = float(np.abs(self.u).max())
        self.near_u = NEAR * self.u_scale + EPS * min(mass, 1e4 * self.u_scale + 8.0 * largest)
        self.near_a = NEAR * self._unit + 8.0 * EPS * float(np.abs(self.alpha).max())
        # Pinned to walls, alpha may grow far beyond its slopes, and with it the rounding of u.
        self.rounding = EPS * mass
        self.slack = FORGIVEN * self.u_scale + 20.0 * self.rounding
        self._nearness = self.near_u, self.near_a

    # ------------------------------------------------------------------ polylines here and now

    @property
    def sign(self) -> float:
        return 1.0 if self.route.stop > self.route.start else -1.0

    @property
    def t(self) -> float:
        return self.tau if self.route.along else self.route.t

    @property
    def mu(self) -> float:
        return 0.0 if self.route.along else self.tau

    def corner(self, i: Any, j: Any) -> Any:
        """Where corner j of coordinates i stands now."""
        lines = self.route.lines
        return lines.corner0[i, j] + lines.corner1[i, j] * self.t + self.shift[i] * self.mu

    def corner_rate(self, i: Any, j: Any) -> Any:
        """How fast it moves with tau."""
        return self.route.lines.corner1[i, j] if self.route.along else self.shift[i]

    def slope(self, i: Any, j: Any) -> Any:
        """alpha of slope j of coordinates i at u = 0, now."""
        lines = self.route.lines
        off = self.lift[i] + lines.curvature[i, j] * self.shift[i]
        return lines.slope0[i, j] + lines.slope1[i, j] * self.t + off * self.mu

    def slope_rate(self, i: Any, j: Any) -> Any:
        """How fast it moves with tau."""
        lines = self.route.lines
        if self.route.along:
            return lines.slope1[i, j]
        return self.lift[i] + lines.curvature[i, j] * self.shift[i]

    def slope_value(self, i: int, j: int) -> float:
        """alpha of slope j of coordinate i now, at its own u if slanted."""
        bend = float(self.route.lines.curvature[i, j])
        value = float(self.slope(i, j))
        return value - bend * float(self.u[i]) if bend > 0.0 else value

    def snapshot(self) -> Snapshot:
        """All polylines at the present tau."""
        lines, t, mu = self.route.lines, self.t, self.mu
        off = self.lift[:, None] + lines.curvature * self.shift[:, None]
        return Snapshot(
            lines.slope0 + lines.slope1 * t + off * mu,
            lines.corner0 + lines.corner1 * t + self.shift[:, None] * mu,
            lines.curvature,
            self.route.kind,
        )

    def _fences(self, i: Any) -> tuple[Any, Any]:
        """The corners between which u of the flat coordinates i is free now."""
        t, off = self.t, self.shift[i] * self.mu
        return self._low0[i] + self._low1[i] * t + off, self._high0[i] + self._high1[i] * t + off

    def _fence_rates(self, i: Any) -> tuple[Any, Any]:
        if self.route.along:
            return self._low1[i], self._high1[i]
        return self.shift[i], self.shift[i]

    def _end_of_knot(self, i: Any) -> tuple[Any, Any]:
        """The lowest and highest alpha on the knots where `i` stand; a pin has one end only."""
        j = self.piece[i] // 2
        bend = self.route.lines.curvature
        u = self.corner(i, j)
        low = self.slope(i, j + 1) - np.where(bend[i, j + 1] > 0.0, bend[i, j + 1] * u, 0.0)
        high = self.slope(i, j) - np.where(bend[i, j] > 0.0, bend[i, j] * u, 0.0)
        side = self.side[i]
        return np.where(side == -1, -np.inf, low), np.where(side == 1, np.inf, high)

    def _end_rates(self, i: Any) -> tuple[Any, Any]:
        """How fast they move with tau."""
        j = self.piece[i] // 2
        bend = self.route.lines.curvature
        pace, side = self.corner_rate(i, j), self.side[i]
        low = self.slope_rate(i, j + 1) - bend[i, j + 1] * pace
        high = self.slope_rate(i, j) - bend[i, j] * pace
        return np.where(side == -1, 0.0, low), np.where(side == 1, 0.0, high)

    # ------------------------------------------------------------------ pieces

    def _is_active(self, i: int, piece: int) -> bool:
        return piece % 2 == 1 or bool(self.route.lines.curvature[i, piece // 2] > 0.0)

    def active(self) -> npt.NDArray[np.bool_]:
        """Which coordinates stand on knots or slanted pieces."""
        bent = self.route.lines.curvature[self._every, self.piece // 2] > 0
        mask: npt.NDArray[np.bool_] = (self.piece % 2 == 1) | bent
        return mask

    def _fence(self, i: int) -> None:
        """Set the corners between which u_i is free."""
        lines, p = self.route.lines, int(self.piece[i])
        j = p // 2
        self._unfence(i)
        if p % 2 == 0:
            if j > 0 and np.isfinite(lines.corner0[i, j - 1]):
                self._low0[i], self._low1[i] = lines.corner0[i, j - 1], lines.corner1[i, j - 1]
            if j < self.route.kind.shape[1] and np.isfinite(lines.corner0[i, j]):
                self._high0[i], self._high1[i] = lines.corner0[i, j], lines.corner1[i, j]

    def _unfence(self, i: int) -> None:
        """Take the corners of coordinate i out of the search; its piece stays as it is."""
        self._low0[i], self._low1[i] = -np.inf, 0.0
        self._high0[i], self._high1[i] = np.inf, 0.0

    def _fence_all(self) -> None:
        lines, rows = self.route.lines, self._every
        j = self.piece // 2
        flat = self.piece % 2 == 0
        k = self.route.kind.shape[1]
        left, right = flat & (j > 0), flat & (j < k)
        jl, jr = np.maximum(j - 1, 0), np.minimum(j, k - 1)
        self._low0[:] = np.where(left, lines.corner0[rows, jl], -np.inf)
        self._low1[:] = np.where(left, lines.corner1[rows, jl], 0.0)
        self._high0[:] = np.where(right, lines.corner0[rows, jr], np.inf)
        self._high1[:] = np.where(right, lines.corner1[rows, jr], 0.0)
        # A fence at infinity stands still whatever its declared rate.
        self._low0[self._low0 == np.inf] = -np.inf
        self._high0[self._high0 == -np.inf] = np.inf
        self._low1[~np.isfinite(self._low0)] = 0.0
        self._high1[~np.isfinite(self._high0)] = 0.0

    def _note(self, i: int, piece: int, side: int, new: int) -> None:
        """Coordinate i goes from (piece, side) to piece `new`: for the path and the way back."""
        self.changed[i] = new
        for point in self.marks:
            point.trail.setdefault(i, (piece, side))
        if not self.route.along:
            self._touched.add(i)
        if self.ledger is not None:
            self.ledger.change(i, piece, new)

    def load(self, route: Route, moving: Index | None = None) -> None:
        """Take up a route at its start, keeping pieces, alpha, b, u and the factor.

        `moving` are the coordinates with a lift, where they are known.
        """
        known = getattr(self, "route", None)
        fresh = known is None or known.lines is not route.lines
        self.route, self.tau = route, route.start
        if fresh:
            self.near, self.window = self._every, 0
            self._drag_along = None
            self._set_scales()
            self._fence_all()
            self._scaled = route.along
        elif route.along and not self._scaled:
            # Both ends of the path count, not its start alone.
            self._set_scales()
            self._scaled = True
        for i in self.unfenced:
            self._fence(i)
        self.unfenced.clear()
        self.near_u, self.near_a = self._nearness
        if route.along:
            self._load_along()
        else:
            self._drag = Drag(self.gram, self.border)
            if moving is None:
                moving = np.flatnonzero(self.lift)
            self._drag.gather(moving, self._flat_rates(moving))
        self._solved = self._rated = False

    def _load_along(self) -> None:
        """Take up the pull of the moving slopes where it was left; only those that changed piece
        meanwhile need seeing to."""
        if self._drag_along is None:
            self._drag_along = Drag(self.gram, self.border)
            rate = self._flat_rates(self._every)
            moving = np.flatnonzero(rate)
            self._drag_along.gather(moving, rate[moving])
        else:
            touched = np.array(sorted(self._touched), dtype=np.int64)
            self._drag_along.gather(touched, self._flat_rates(touched))
        self._touched.clear()
        self._drag = self._drag_along

    def _flat_rates(self, index: Index) -> Array:
        """The rates in tau of the slopes on which `index` stand; 0 for who is in A."""
        lines, j = self.route.lines, self.piece[index] // 2
        flat = (self.piece[index] % 2 == 0) & (lines.curvature[index, j] == 0.0)
        rate = lines.slope1[index, j] if self.route.along else self.lift[index]
        return np.where(flat, rate, 0.0)

    # ------------------------------------------------------------------ coming back

    def mark(self) -> Point:
        """The present point, for `restore`; to be given up with `unmark`."""
        index = self.factor.index.copy()
        alpha, b = self.alpha[index].copy(), self.b.copy()
        point = Point(index, alpha, b, self.route, self.tau, {})
        self.marks.append(point)
        return point

    def unmark(self, point: Point) -> None:
        """Forget a mark, and those set after it."""
        del self.marks[self.marks.index(point) :]

    def restore(self, point: Point) -> None:
        """Go back to a mark, giving it up; the factor must be rebuilt, which settling does."""
        self.unmark(point)
        for i, (piece, side) in point.trail.items():
            self._note(i, int(self.piece[i]), int(self.side[i]), piece)
            self.piece[i], self.side[i] = piece, side
        self.route, self.tau = point.route, point.tau
        self._excused.clear()
        self.wall.clear()
        self.lift[:] = 0.0
        self._drag_along = None
        self._fence_all()
        self.write_alpha()
        self.alpha[point.active], self.b[:] = point.alpha, point.b
        self.u[:] = self.gram.matvec(self.alpha) + self.border @ self.b
        self.near, self.window = self._every, 0
        self._solved = self._rated = False

    def look(self) -> tuple[Index, Array]:
        """The responses looked at, for `moved_since`."""
        if self._phi is None:
            self.widen()
        return self.near, self.u[self.near]

    def moved_since(self, before: tuple[Index, Array], least: float) -> bool:
        """Whether a response has moved by more than this part of the scale."""
        if self._phi is None:
            self.widen()
        near, u = before
        scale = max(self.u_scale, float(np.abs(u).max()))
        return bool(np.abs(self.u[near] - u).max() > least * scale)

    def write_alpha(self) -> None:
        """Write alpha of the flat coordinates: it is the value of their slope."""
        lines = self.route.lines
        tables = (lines.slope0, lines.slope1, lines.curvature)
        kernels.write_flat(self.alpha, self.piece, *tables, self.lift, self.t, self.mu)

    def widen(self) -> None:
        """Bring u of all coordinates up to date and look at all."""
        if self.near.size < self.u.size:
            self.write_alpha()
            self.u[:] = self.gram.matvec(self.alpha) + self.border @ self.b
            self.near, self._rated = self._every, False
        self.window = 0

    def refresh(self) -> float:
        """Recompute u from alpha; return the worst residual of (u, alpha) against its piece."""
        self.write_alpha()
        self.u[:] = self.gram.matvec(self.alpha) + self.border @ self.b
        self.near, self._rated, self.window = self._every, False, 0
        self._set_nearness()
        return self.residual()

    def astray(self) -> float:
        """How far u is off at a few active coordinates, as a part of the scale; a mistake in any
        alpha shows in nearly every response, so this finds it at the price of a few rows."""
        if self.near.size < self.u.size:
            # u and w are recomputed when the window is chosen anew.
            return 0.0
        self.write_alpha()
        some = self.factor.index[:: max(1, self.factor.size // PROBES)]
        if self._phi is None:
            found = self.gram.block(some, self._every) @ self.alpha
        else:
            found = np.asarray(self._phi[some] @ np.asarray(self._phi.T @ self.alpha))
        off = np.abs(found + self.border[some] @ self.b - self.u[some]).max(initial=0.0)
        unbalance = self._unbalance() if self.b.size else 0.0
        return max(float(off) / self.u_scale, unbalance)

    def residual(self) -> float:
        """The largest distance of u from its piece, as a part of the scale of u."""
        rows, lines = self._every, self.route.lines
        low, high = self._fences(rows)
        worst = float(np.maximum(np.maximum(low - self.u, self.u - high), 0.0).max())
        steep = rows[self.piece % 2 == 1]
        if steep.size:
            corner = self.corner(steep, self.piece[steep] // 2)
            worst = max(worst, float(np.abs(self.u[steep] - corner).max()))
        j = self.piece // 2
        bent = np.flatnonzero((self.piece % 2 == 0) & (lines.curvature[rows, j] > 0))
        if bent.size:
            bend = lines.curvature[bent, j[bent]]
            off = self.alpha[bent] - (self.slope(bent, j[bent]) - bend * self.u[bent])
            worst = max(worst, float((np.abs(off) / bend).max()))
        if self.b.size:
            worst = max(worst, self._unbalance() * self.u_scale)
        return worst / self.u_scale

    def _unbalance(self) -> float:
        """``|B^T alpha - e|`` relative to the terms of the sum."""
        off = np.abs(self.border.T @ self.alpha - self.route.target(self.tau))
        size = np.abs(self.border).T @ np.abs(self.alpha) + np.abs(self.route.target(self.tau))
        return float((off / np.maximum(size, self._unit)).max())


class Drag:
    """What the moving slopes do to u: ``Q_:F slope_F'`` and ``B_F^T slope_F'``.

    `pull` has one entry a coordinate, or is ``phi_F^T slope_F'`` where Q is given by features;
    `square` is ``slope_F'^T Q slope_F'``, `carried` tells which rate of each coordinate is in it.
    """

    def __init__(self, gram: Gram, border: Array) -> None:
        self.gram, self.border = gram, border
        self.phi = gram.features()
        self.pull = np.zeros(gram.size if self.phi is None else self.phi.shape[1])
        self.balance = np.zeros(border.shape[1])
        self.carried: dict[int, float] = {}
        self.size = self.square = 0.0
        self.version = 0

    def gather(self, index: Index, rate: Array) -> None:
        """Let the coordinates `index` be carried at `rate`, instead of what they had."""
        held = np.array([self.carried.get(i, 0.0) for i in index.tolist()])
        news = np.flatnonzero(rate != held)
        if not news.size:
            return
        index, change = index[news], rate[news] - held[news]
        if self.phi is None:
            more = self.gram.combine(index, change)
            self.square += float(change @ (2.0 * self.pull[index] + more[index]))
            self.pull += more
        else:
            self.pull += np.asarray(self.phi[index].T @ change)
        self.balance += self.border[index].T @ change
        self.version += 1
        for i, value in zip(index.tolist(), rate[news].tolist(), strict=True):
            self.carried[i] = value
        self.measure()

    def measure(self) -> None:
        """Bound the pull on any coordinate."""
        if self.phi is None:
            self.size = float(np.abs(self.pull).max())
        else:
            self.size = float(np.linalg.norm(self.pull)) * float(np.sqrt(self.gram.diag.max()))

    def on(self, index: Index) -> Array:
        """The pull on some coordinates."""
        if self.phi is None:
            return np.asarray(self.pull[index])
        return np.asarray(self.phi[index] @ self.pull)
