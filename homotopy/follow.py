"""Following a route: the one loop behind C-step, D-step, start and repair.

**Orient, then step.**  `Follower.travel` asks at every point which way the path goes (see
`homotopy.orient`), steps to the next break-point, and so on to the end of the route.  The ordinary
break-point is met in compiled code (`kernels.follow`, boarded through `Lane`); what that leaves to
us (many ties, dependent columns, a border without support, slanted pieces) is oriented here.
`Follower.settle` makes any guess exact by following a route along which the guess is pushed
sideways into place; it is also how a point is repaired when rounding has added up.
"""

from __future__ import annotations

import attrs
import numpy as np
import numpy.typing as npt

from homotopy import kernels
from homotopy.errors import TraceError
from homotopy.gram import Gram
from homotopy.lane import Lane, Recorder, Segment
from homotopy.model.polyline import JUMP, SEAM, Snapshot
from homotopy.orient import NONE, Orientation
from homotopy.route import Route
from homotopy.state import REPAIR, Drag

__all__ = ["Follower"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]

# The Rayleigh quotient below which a guess gives up an active coordinate.
WELL = 1e-9
# Repairs at one point before the path goes on regardless.
LOOKS = 3
# Segments between two recomputations of u from alpha.
REFRESH = 64


class Follower(Orientation):
    """Takes the state along routes."""

    def __init__(self, gram: Gram, border: Array) -> None:
        super().__init__(gram, border)
        self._lane: Lane | None = Lane(self) if border.shape[1] <= 1 else None

    def square(self) -> float | None:
        """``|w|^2`` where it is at hand: while only some coordinates are looked at."""
        if self.window != kernels.BY_PLACE or self._lane is None:
            return None
        return self._lane.square()

    def widen(self) -> None:
        if self.window == kernels.BY_TURN and self._lane is not None:
            self._lane.close(self)
        super().widen()

    def _nearest(self) -> float:
        """The length of the step to the next break-point."""
        sign, along = self.sign, self.route.along
        still_u, still_a = self._still()
        step = float(
            kernels.nearest_corner(
                self.near,
                self.near.size,
                self.u,
                self._du,
                self._low0,
                self._low1,
                self._high0,
                self._high1,
                self.shift,
                self.t,
                self.mu,
                1.0 if along else 0.0,
                0.0 if along else 1.0,
                sign,
                still_u,
            )
        )
        a = self.factor.index
        steep = self.piece[a] % 2 == 1
        i, rate = a[steep], self._dalpha[steep]
        low, high = self._end_of_knot(i)
        low_rate, high_rate = self._end_rates(i)
        for room, speed in (
            (high - self.alpha[i], sign * (rate - high_rate)),
            (self.alpha[i] - low, sign * (low_rate - rate)),
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
        if self._excused:
            for i, speed in self._excused.items():
                step = min(step, self.slack / speed)
                self._fence(i)
            self._excused.clear()
            self.due = 0
        # What happens within rounding of the end happens at the end; a fast alpha must not go the
        # rest of the way for that.
        arrived = left - step <= 1e-13 * max(abs(self.route.stop), abs(self.route.start))
        a = self.factor.index
        length = step * self.sign
        self.alpha[a] += length * self._dalpha
        # The solve works with b - rho e; the rate of b itself adds rho e'.
        self.b += length * (self._db + self.rho * self.route.target1)
        near = self.near
        self.u[near] += length * self._du[near]
        self.tau = self.route.stop if arrived else self.tau + length
        self.steps += 1
        return step

    def travel(
        self, route: Route, record: Recorder | None = None, moving: Index | None = None
    ) -> Index:
        """Follow `route` to its end; return the coordinates pressing on a wall (none at the end).

        `record` takes the segments: tau, alpha of A and b before and after each (see `Segment`).
        `moving` are the coordinates with a lift, where the caller knows them.
        """
        if self.window == kernels.BY_TURN:
            self.widen()
        self.load(route, moving)
        limit = self.steps + 1000 + 200 * self.u.size
        looks = 0
        lane = self._lane
        if lane is not None:
            lane.board(self)
            lane.limit = limit
        while self.tau != route.stop:
            if self.steps >= self.due and not self._settling:
                walls = self._maintain()
                if walls.size:
                    return walls
            if lane is not None and self._excused == {}:
                walls = lane.ride(self, record)
                if walls.size:
                    return walls
                if self.tau == route.stop:
                    break
                if self.steps >= self.due and not self._settling:
                    continue
            # Only the compiled travel knows how far a window reaches.
            self.widen()
            walls = self.orient()
            if walls.size:
                return walls
            if self.due == 0 and not self._settling and looks < LOOKS:
                # Orientation has moved u: see to it before going on.
                looks += 1
                continue
            looks = 0
            before, active = self.tau, self.factor.index.copy()
            alpha, b = self.alpha[active], self.b.copy()
            self.step()
            if record is not None and self.tau != before:
                changed, self.changed = self.changed, {}
                after = self.alpha[active]
                record(Segment(before, self.tau, active, alpha, after, b, self.b.copy(), changed))
            if self.steps > limit:
                raise TraceError(f"no progress after {limit} steps at tau={self.tau:.17g}")
        return NONE

    def _maintain(self) -> Index:
        """Recompute u; where the residual has grown, make the point exact again on the spot.

        Returns the coordinates that ended pinned on a route that does not pin.
        """
        self.due = self.steps + self._interval()
        if self.refresh() <= REPAIR + 1e-2 * self.slack / self.u_scale:
            return NONE
        route, tau, lift = self.route, self.tau, self.lift.copy()
        snap, target = self.snapshot(), route.target(tau)
        self.lift[:] = 0.0
        try:
            self.settle(snap, target)
        finally:
            self.lift[:] = lift
        self.load(attrs.evolve(route, start=tau))
        if self._lane is not None:
            self._lane.board(self)
        self.repairs += 1
        return NONE if route.pin else np.flatnonzero(self.side)

    def _interval(self) -> int:
        """Steps between two recomputations of u: one of them costs as much as that of ten."""
        moved = np.count_nonzero(self.alpha) / max(self.factor.size, 1)
        # On small problems it costs next to nothing.
        most = int(REFRESH * np.clip(self.u.size / 250.0, 1.0, 8.0))
        if self._phi is not None:
            # Windows by place recompute w and u whenever they end.
            most = max(most, self.u.size // 8)
        return int(np.clip(10.0 * moved, REFRESH, most))

    # ------------------------------------------------------------------ guesses

    def assign(self, snap: Snapshot, first: Index, last: Index) -> None:
        """Give every coordinate the piece nearest to (u, alpha), and that piece's alpha, among
        the slopes ``first .. last`` of its convex branch, their knots and their walls."""
        self.route = Route.settled(snap, self.b, self.b)
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
        for i in np.flatnonzero((piece != self.piece) | (side != self.side)).tolist():
            self._note(i, int(self.piece[i]), int(self.side[i]), int(piece[i]))
        self.piece[:], self.side[:], self.alpha[:] = piece, side, value

    def settle(self, snap: Snapshot, target: Array, least: float = WELL) -> None:
        """Make the present guess (pieces, alpha, b) exact for the polylines `snap`.

        Every coordinate keeps to its convex branch; one that would cross a jump ends pinned.
        Active coordinates whose Rayleigh quotient is below `least` are given up first.
        """
        route = Route.settled(snap, target, np.zeros_like(target))
        self.route, self.tau = route, route.start
        self.near, self.window = self._every, 0
        self._drag = Drag(self.gram, self.border)
        self._set_scales()
        self._fence_all()
        self.rebuild(least)
        rows, j = self._every, self.piece // 2
        flat = self.piece % 2 == 0
        k = snap.corner.shape[1]
        low = np.where(flat & (j > 0), snap.corner[rows, np.maximum(j - 1, 0)], -np.inf)
        high = np.where(flat & (j < k), snap.corner[rows, np.minimum(j, k - 1)], np.inf)
        # Where each coordinate would have to be for its alpha: anywhere on a flat piece, at the
        # corner of a knot, at one place on a slanted piece.
        place = np.where(flat, 0.0, snap.corner[rows, np.minimum(j, k - 1)])
        bent = np.flatnonzero(flat & (snap.curvature[rows, j] > 0.0))
        value, bend = snap.slope[bent, j[bent]], snap.curvature[bent, j[bent]]
        place[bent] = np.clip((value - self.alpha[bent]) / bend, low[bent], high[bent])
        self.alpha[bent] = value - bend * place[bent]
        self.u[:] = self.gram.matvec(self.alpha) + self.border @ self.b
        # Spread the gaps (golden-ratio sequence) so that the shifted start has no needless ties;
        # a gap must leave room for u within its piece.
        spread = np.modf(0.6180339887498949 * (rows + 1.0))[0]
        under, over = low - self.u, self.u - high
        room = 0.5 * (high - low)
        shift = np.where(under > 0.0, -under - np.minimum(under, room) * spread, 0.0)
        shift = np.where(over > 0.0, over + np.minimum(over, room) * spread, shift)
        tied = ~flat
        tied[bent] = True
        shift[tied] = self.u[tied] - place[tied]
        excess = self.border.T @ self.alpha - target
        self.shift[:] = shift
        self._settling = True
        try:
            self.travel(attrs.evolve(route, target1=excess))
            self.widen()
        finally:
            self._settling = False
            self.shift[:] = 0.0
