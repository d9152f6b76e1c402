"""The state of a trace, and what can be read off it: scales, fences, residuals.

A = coordinates on knots and slanted pieces (in the factor), F = the rest, on flat slopes, whose
alpha is known.  Every F coordinate has fences, the corners between which its u is free; every
coordinate on a knot has ends, the slopes between which its alpha is free.  Both are kept in
contiguous arrays, affine in tau, and change only when a piece does.

alpha_A and u are integrated, never recomputed from the partition: in a nearly singular active
system recomputing would throw alpha about within its bounds.  `State.refresh` measures the
residual; a residual that grew is removed by settling, which respects every bound.
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from homotopy.factor import Factor
from homotopy.gram import Gram
from homotopy.route import Route

__all__ = ["Point", "State"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]

EPS = float(np.finfo(float).eps)
# A coordinate within this part of the scale of its corner stands on it.
NEAR = 1e-11
# A coordinate that cannot be stopped may drift by this part of the scale before it is an error.
FORGIVEN = 1e-9


@attrs.frozen(eq=False)
class Point:
    """A copy of where a trace stands, to come back to."""

    alpha: Any
    b: Any
    u: Any
    piece: Any
    side: Any


class State:
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
        self.side = np.zeros(n, dtype=np.int8)
        self.steps = self.pivots = self.repairs = 0
        self.resting: set[int] = set()
        self.wall: dict[int, int] = {}
        self._offence = np.inf
        self._excused: dict[int, float] = {}
        self.due = 0
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
        self.rounding = EPS * mass
        self.slack = FORGIVEN * self.u_scale + 20.0 * self.rounding

    # ------------------------------------------------------------------ pieces

    def slope_value(self, i: int, j: int) -> float:
        """alpha of slope j of coordinate i now, at its corner side or its own u if slanted."""
        r = self.route
        value = float(r.slope0[i, j] + r.slope1[i, j] * self.tau)
        bend = float(r.curvature[i, j])
        return value - bend * float(self.u[i]) if bend > 0.0 else value

    def _is_active(self, i: int, piece: int) -> bool:
        return piece % 2 == 1 or bool(self.route.curvature[i, piece // 2] > 0.0)

    def active(self) -> npt.NDArray[np.bool_]:
        """Which coordinates stand on knots or slanted pieces."""
        rows, j = np.arange(self.u.size), self.piece // 2
        mask: npt.NDArray[np.bool_] = (self.piece % 2 == 1) | (self.route.curvature[rows, j] > 0)
        return mask

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

    def memento(self) -> Point:
        """The present point, for `restore`."""
        parts = (self.alpha, self.b, self.u, self.piece, self.side)
        return Point(*(part.copy() for part in parts))

    def restore(self, point: Point) -> None:
        """Go back to an earlier point; the factor must be rebuilt, which settling does."""
        for i in np.flatnonzero(point.piece != self.piece).tolist():
            self.changed[i] = int(point.piece[i])
        self.alpha, self.b, self.u = point.alpha.copy(), point.b.copy(), point.u.copy()
        self.piece, self.side = point.piece.copy(), point.side.copy()

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

    @property
    def sign(self) -> float:
        return 1.0 if self.route.stop > self.route.start else -1.0
