"""Following a route: the one loop behind C-step, D-step, start and repair.

**Orient, then step.**  `Follower.travel` asks at every point which way the path goes (see
`homotopy.orient`), steps to the next break-point, and so on to the end of the route.  The ordinary
break-point is met in compiled code (`kernels.follow`, boarded through `Lane`); what that leaves to
us (many ties, dependent columns, a border without support, slanted pieces) is oriented here.
`Follower.settle` makes any guess exact by following a route along which the guess is pushed
sideways into place; it is also how a point is repaired when rounding has added up.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from homotopy import kernels
from homotopy.errors import TraceError
from homotopy.gram import Gram
from homotopy.orient import NONE, Orientation
from homotopy.polyline import JUMP, SEAM, Snapshot
from homotopy.route import Route
from homotopy.state import Drag

__all__ = ["Follower", "Segment"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]

# The Rayleigh quotient below which a guess gives up an active coordinate.
WELL = 1e-9
# A residual above this part of the scale is repaired.
REPAIR = 1e-10
# Repairs at one point before the path goes on regardless.
LOOKS = 3
# Segments between two recomputations of u from alpha.
REFRESH = 64
# Steps the compiled travel takes at most before it lets others (Ctrl-C) in.
BURST = 256
# Fewer coordinates are not worth choosing among.
LEAST_WINDOW = 512
# Multiplications in a product with the active rows above which it is worth avoiding (across a jump,
# along the path), and in one with all features.
HEAVY = (60_000, 40_000)
WIDE = 60_000
# Corners met at the present speeds before the horizon; coordinates looked at, at the least.
AHEAD, LEAST_AHEAD = 24, 96
# A window should last so many steps (across a jump, along the path).
ENOUGH_STEPS = (6, 16)
# What a look takes besides its arithmetic, in multiplications.
LOOK = 1.4e6
# The most coordinates looked at in a window by turn.
MOST_AHEAD = 2048


@attrs.frozen(eq=False)
class Segment:
    """One straight piece of the path, as it is traced: tau, alpha of the active coordinates and b
    at both ends, and the pieces that changed at its beginning.  `cut` tells that the same segment
    goes on in the next."""

    start: float
    stop: float
    active: Index
    alpha_start: Array
    alpha_stop: Array
    b_start: Array
    b_stop: Array
    changed: dict[int, int]
    cut: bool = False


Recorder = Callable[[Segment], None]


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
        self.window = 0
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
        most = 8 * REFRESH
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


class Lane:
    """The compiled travel: its arrays, and the way on and off it."""

    def __init__(self, follower: Follower) -> None:
        gram, n = follower.gram, follower.u.size
        self.real, self.whole = np.zeros(kernels.REALS), np.zeros(kernels.WHOLES, dtype=np.int64)
        phi = gram.features()
        empty, none, some = np.zeros((0, 0)), np.zeros(0, dtype=np.int64), np.zeros(0)
        self._features: tuple[Any, ...] = (empty, empty, some, none, none)
        if phi is None:
            mode, width = kernels.ROWS, 0
        elif sp.issparse(phi):
            mode, width = kernels.SPARSE, phi.shape[1]
            parts = (phi.data, phi.indices.astype(np.int64), phi.indptr.astype(np.int64))
            self._features = (empty, empty, *parts)
        else:
            mode, width = kernels.DENSE, phi.shape[1]
            self._features = (phi, empty, some, none, none)
        self._none = (empty, none)
        self.whole[kernels.MODE] = mode
        self.whole[kernels.BORDERED] = follower.b.size
        self._space = np.zeros((3, width))
        self._w, self._w_seen = self._space[kernels.W], self._space[kernels.W_SEEN]
        self._steps_seen, self._wanted = 0, LEAST_WINDOW
        self._b_weight = self._t_weight = self._moves = 0.0
        self._length = np.sqrt(gram.diag)
        self._unit = float(self._length.mean()) or 1.0
        self._capacity, self._windowed = 0, False
        self._looked = follower.near
        self._active: Any = None
        self._wholes: Any = None
        self._known: tuple[Any, ...] = ()
        self._tables: Any = None
        self.open = False
        self.limit = 0
        whole = self.whole
        whole[kernels.WANTED_ACROSS] = whole[kernels.WANTED_ALONG] = 2 * LEAST_AHEAD
        whole[kernels.HEAVY_ACROSS], whole[kernels.HEAVY_ALONG] = HEAVY
        whole[kernels.ENOUGH_ACROSS], whole[kernels.ENOUGH_ALONG] = ENOUGH_STEPS
        whole[kernels.LEAST_WANTED], whole[kernels.AHEAD] = LEAST_AHEAD, AHEAD
        self._make_record(64, 4096)
        self._form = kernels.Form(*self._none, *self._features)
        # The follower's arrays become rows of one.
        grid, cells = np.zeros((kernels.GRID, n)), np.zeros((kernels.CELLS, n), dtype=np.int64)
        for name, row in (
            ("alpha", kernels.ALPHA),
            ("u", kernels.U),
            ("_du", kernels.DU),
            ("_low0", kernels.LOW0),
            ("_low1", kernels.LOW1),
            ("_high0", kernels.HIGH0),
            ("_high1", kernels.HIGH1),
            ("lift", kernels.LIFTED),
            ("shift", kernels.SHIFTED),
            ("diag", kernels.DIAG),
            ("_root", kernels.ROOT),
        ):
            grid[row] = getattr(follower, name)
            setattr(follower, name, grid[row])
        for name, row in (("piece", kernels.PIECE), ("side", kernels.SIDE)):
            cells[row] = getattr(follower, name)
            setattr(follower, name, cells[row])
        if follower.b.size:
            grid[kernels.BORDER] = follower.border[:, 0]
        self._border, self._near = grid[kernels.BORDER], cells[kernels.NEAR]
        self._near[:] = cells[kernels.COUNTING] = follower._every
        packed = grid[:, : n if mode == kernels.DENSE else 0]
        self._here = kernels.Place(grid, np.zeros(packed.shape), cells, follower._found)

    def _make_record(self, segments: int, entries: int) -> None:
        self._record = kernels.Record(
            np.zeros(entries, dtype=np.int64),
            np.zeros((2, entries)),
            np.zeros((segments, 4)),
            np.zeros((segments, 3), dtype=np.int64),
            np.zeros((1024, 4), dtype=np.int64),
        )

    def board(self, follower: Follower) -> None:
        """Take up the route the follower has just loaded."""
        route, real, whole = follower.route, self.real, self.whole
        lines = route.lines
        if lines is not self._tables:
            self._tables = lines
            self.open = not np.any(lines.curvature)
            self._slopes = np.stack([lines.slope0, lines.slope1])
            self._moves = float(np.abs(lines.corner1).max(initial=0.0))
            self._corners = np.stack([lines.corner0, lines.corner1])
        self._lines = kernels.Lines(self._slopes, self._corners, route.kind)
        real[kernels.START], real[kernels.STOP] = route.start, route.stop
        real[kernels.T] = route.t
        real[kernels.RHO] = follower.rho
        real[kernels.TARGET] = route.target1[0] if route.target1.size else 0.0
        real[kernels.LARGEST] = follower._largest_root
        whole[kernels.ALONG], whole[kernels.PIN] = route.along, route.pin

    def ride(self, follower: Follower, record: Recorder | None) -> Index:
        """Go as far as the compiled travel goes; return the coordinates pressing on a wall."""
        if not self.open:
            return NONE
        while True:
            if not follower.window and self._wide(follower):
                self._look_around(follower)
            code = self._run(follower, record)
            if code == kernels.WANTED:
                missing = np.array([self.whole[kernels.WANT]])
                follower.gram.fetch(missing, self._held(follower))
                if self._stored(follower)[1][missing[0]] < 0:
                    raise TraceError(f"gram.fetch did not bring row {missing[0]} of Q")
            elif code == kernels.WALL:
                return self._walls(follower)
            elif code == kernels.REACHED:
                follower.window = 0
                if follower.steps >= follower.due and not follower._settling:
                    return NONE
            elif code != kernels.FULL:
                return NONE

    def square(self) -> float:
        """``|w|^2`` of a window by place."""
        return float(self._w @ self._w)

    def _wide(self, follower: Follower) -> bool:
        """Whether a product with all features is worth avoiding."""
        n = follower.u.size
        wide = n > 4 * LEAST_WINDOW and n * self._w.size > WIDE
        return self._w.size > 0 and wide

    def close(self, follower: Follower) -> None:
        """End a window by turn: u of all coordinates is brought up to date."""
        self.real[kernels.TAU] = follower.tau
        arrays = self._arrays(follower)
        kernels.close_window(arrays[0], self._lines, *arrays[1:], self.real, self.whole)
        follower.window, follower._rated, self._windowed = 0, False, False

    def _look_around(self, follower: Follower) -> None:
        """Bring u up to date and choose the coordinates within reach."""
        n, real = follower.u.size, self.real
        # A look costs as much as so many coordinates looked at; the steps should cost no less.
        cost = 3.0 * n + LOOK / max(self._w.size, 1)
        gone = (follower.steps - self._steps_seen) * self._wanted
        if gone < 0.5 * cost:
            self._wanted = min(2 * self._wanted, n)
        elif gone > 2.0 * cost:
            self._wanted = max(self._wanted // 2, LEAST_WINDOW)
        self._steps_seen = follower.steps
        follower.write_alpha()
        w = np.asarray(follower._phi.T @ follower.alpha)
        if follower.near.size < n:
            # What w was tracked to be against what alpha makes it.
            off = float(np.linalg.norm(w - self._w)) * follower._largest_root
            if off > REPAIR * follower.u_scale + follower.rounding:
                follower.due = 0
        self._w[:] = w
        follower.u[:] = follower._phi @ self._w + self._border * float(follower.b.sum())
        follower._rated = False
        # What a unit of reach may do to each: through w, through b, through its corners.
        moves = float(np.abs(follower.shift).max()) if follower._settling else self._moves
        self._b_weight = float(np.abs(self._border).max()) / self._unit
        self._t_weight = moves / self._unit
        distance = self._here.grid[kernels.GAPS]
        kernels.reaches(
            follower.u,
            follower._low0,
            follower._low1,
            follower._high0,
            follower._high1,
            follower.shift,
            self._border,
            self._length,
            follower.t,
            follower.mu,
            np.array([self._b_weight, self._t_weight]),
            follower.near_u,
            follower._settling,
            distance,
        )
        distance[follower.factor.index] = -1.0
        real[kernels.REACH] = np.inf
        follower.near, follower.window = follower._every, kernels.BY_PLACE
        wanted = self._wanted + follower.factor.size
        if 2 * wanted < n:
            reach = float(np.partition(distance, wanted)[wanted])
            if reach > 0.0:
                follower.near = np.flatnonzero(distance <= reach)
                real[kernels.REACH] = reach
        packed = self.whole[kernels.MODE] == kernels.DENSE and follower.near.size < n
        packed = packed and self._w.size <= n
        self.whole[kernels.PACKED] = packed
        if packed:
            self._here.cells[kernels.SEAT, follower.near] = np.arange(follower.near.size)
            columns = np.ascontiguousarray(follower._phi[follower.near].T)
            self._form = self._form._replace(packed=columns)
        self._w_seen[:] = self._w
        real[kernels.B_SEEN] = follower.b.sum()
        real[kernels.T_SEEN] = follower.tau if follower._settling else follower.t
        real[kernels.B_WEIGHT] = self._b_weight

    def _held(self, follower: Follower) -> Index:
        """Whose rows must stay: the active, and those that an open window goes back to."""
        active, whole = follower.factor.index, self.whole
        if follower.window != kernels.BY_TURN:
            return active
        before = self._wholes[kernels.INDEX_SEEN, : whole[kernels.SIZE_SEEN]]
        return np.concatenate([active, before, self._near[: whole[kernels.LOOKED_SEEN]]])

    def _stored(self, follower: Follower) -> tuple[Array, Index]:
        """The rows of Q that are there, those of the active coordinates among them."""
        stored, active = follower.gram.rows(), follower.factor.index
        if stored is not None and np.any(stored[1][active] < 0):
            follower.gram.fetch(active, self._held(follower))
            stored = follower.gram.rows()
        return stored if stored is not None else self._none

    def _arrays(self, follower: Follower) -> tuple[Any, Any, Any]:
        """The quadratic form, the place and the active set as they are now."""
        factor = follower.factor
        factor.reserve(16)
        if self._capacity < factor.capacity:
            self._make_room(factor.capacity, follower.u.size)
        store, slot = self._stored(follower)
        active = self._active._replace(
            factor=factor.rows, wholes=self._wholes, pull=follower._drag.pull
        )
        self._wholes[kernels.INDEX, : factor.size] = factor.index
        return self._form._replace(store=store, slot=slot), self._here, active

    def _make_room(self, capacity: int, n: int) -> None:
        """Arrays for so many active coordinates, with what they held."""
        by_rows = self._w.size == 0
        looked = min(n // 2, MOST_AHEAD) + kernels.SPARE if by_rows else 0
        panel = np.zeros((capacity if by_rows else 0, looked))
        wholes = np.zeros((kernels.WHOLE_ROWS, capacity), dtype=np.int64)
        reals = np.zeros((kernels.REAL_ROWS, capacity))
        lists = np.zeros((2, capacity + looked), dtype=np.int64)
        old, self._capacity = self._capacity, capacity
        if old:
            panel[:old] = self._active.panel
            wholes[:, :old] = self._wholes
            reals[:, :old] = self._active.reals
            lists[:, : old + looked] = self._active.lists
            # New lines of the panel are free; the last in the list are used first.
            count, more = int(self.whole[kernels.LINES]), np.arange(capacity - 1, old - 1, -1)
            free = wholes[kernels.FREE_LINES]
            free[: more.size + count] = np.concatenate([more, free[:count]])
            self.whole[kernels.LINES] = count + more.size
        self._wholes = wholes
        self._active = kernels.Active(
            factor=panel,
            reals=reals,
            wholes=wholes,
            pull=reals[0],
            space=self._space,
            panel=panel,
            sums=np.zeros((2, capacity + looked)),
            lists=lists,
        )
        self._known = ()

    def _run(self, follower: Follower, record: Recorder | None) -> int:
        real, whole, factor, drag = self.real, self.whole, follower.factor, follower._drag
        form, here, active = self._arrays(follower)
        size = factor.size
        if record is not None and self._record.active.size < 32 * (size + 32):
            self._make_record(64, 64 * (size + 64))
        real[kernels.TAU] = follower.tau
        if follower.route.along:
            real[kernels.T] = follower.tau
        real[kernels.B] = follower.b[0] if follower.b.size else 0.0
        real[kernels.NEAR_U], real[kernels.NEAR_A] = follower.near_u, follower.near_a
        real[kernels.BALANCE] = drag.balance[0] if drag.balance.size else 0.0
        real[kernels.PULL], real[kernels.SQUARE] = drag.size, drag.square
        if follower.window != kernels.BY_TURN:
            whole[kernels.LOOKED] = follower.near.size
            if self._windowed or self._looked is not follower.near:
                # The window was given up and u computed anew, or is another one.
                self._near[: follower.near.size] = follower.near
                self._looked = follower.near
        whole[kernels.SIZE] = size
        whole[kernels.STEPS] = follower.steps
        allowed = follower.steps + BURST
        whole[kernels.LIMIT] = allowed if follower._settling else min(allowed, follower.due)
        # What was solved for still stands if nobody has touched the system since.
        known = (factor, factor.version, drag, drag.version, follower.route, size)
        if self._known != known:
            whole[kernels.SOLVED] = whole[kernels.READY] = 0
        whole[kernels.RATED] = 0
        whole[kernels.RECORDS] = -1 if record is None else 0
        whole[kernels.SEGMENTS] = whole[kernels.LOGGED] = whole[kernels.PIVOTS] = 0
        whole[kernels.WINDOW] = follower.window
        moving = follower.route.along or follower._settling
        real[kernels.T_WEIGHT] = self._t_weight if moving else 0.0
        # Across a jump t stands still, but what it went before counts.
        gone = abs(follower.t - real[kernels.T_SEEN])
        real[kernels.T_SPENT] = 0.0 if moving else self._t_weight * gone
        if follower.steps > self.limit:
            raise TraceError(f"no progress after many steps at tau={follower.tau:.17g}")
        if follower.window != kernels.BY_PLACE:
            whole[kernels.PACKED] = 0
        near, packed = follower.near, here.packed[:, : follower.near.size]
        if whole[kernels.PACKED]:
            np.take(here.grid, near, axis=1, out=packed)
        code = int(kernels.follow(form, self._lines, here, active, self._record, real, whole))
        if whole[kernels.PACKED]:
            follower.u[near] = packed[kernels.U]
        factor.size = int(whole[kernels.SIZE])
        factor.index[:] = self._wholes[kernels.INDEX, : factor.size]
        self._known = (factor, factor.version, drag, drag.version, follower.route, factor.size)
        follower.tau = float(real[kernels.TAU])
        if follower.b.size:
            follower.b[0] = real[kernels.B]
            drag.balance[0] = real[kernels.BALANCE]
        drag.size, drag.square = float(real[kernels.PULL]), float(real[kernels.SQUARE])
        follower.near_u, follower.near_a = float(real[kernels.NEAR_U]), float(real[kernels.NEAR_A])
        follower.steps = int(whole[kernels.STEPS])
        follower.pivots += int(whole[kernels.PIVOTS])
        follower.window = int(whole[kernels.WINDOW])
        self._windowed = follower.window == kernels.BY_TURN
        follower._solved = follower._rated = False
        self._drain(follower, record)
        if code == kernels.DUE and (follower._settling or follower.steps < follower.due):
            return kernels.FULL
        return code

    def _drain(self, follower: Follower, record: Recorder | None) -> None:
        """Hand the segments and changes of piece over to those who keep them."""
        segments, logged = int(self.whole[kernels.SEGMENTS]), int(self.whole[kernels.LOGGED])
        log = self._record.log[:logged].tolist()
        ends = self._record.ends[:segments].tolist()
        marks = self._record.offsets[:segments].tolist()
        base = done = 0
        bordered = follower.b.size > 0
        for (start, stop, b_start, b_stop), (offset, seen, cut) in zip(ends, marks, strict=True):
            for i, piece, side, new in log[done:seen]:
                follower._note(i, piece, side, new)
            done = seen
            changed, follower.changed = follower.changed, {}
            part = slice(base, offset)
            assert record is not None
            record(
                Segment(
                    start,
                    stop,
                    self._record.active[part].copy(),
                    self._record.alphas[0, part].copy(),
                    self._record.alphas[1, part].copy(),
                    np.array([b_start] if bordered else []),
                    np.array([b_stop] if bordered else []),
                    changed,
                    bool(cut),
                )
            )
            base = offset
        for i, piece, side, new in log[done:]:
            follower._note(i, piece, side, new)
        if logged:
            index = np.unique(self._record.log[:logged, 0])
            rates = follower._flat_rates(index)
            follower._drag.carried.update(zip(index.tolist(), rates.tolist(), strict=True))

    def _walls(self, follower: Follower) -> Index:
        """Who presses on a wall, and on which."""
        count = int(self.whole[kernels.TIED])
        noted = follower._found[follower._found.size - count :]
        walls = np.sort(noted // 2)
        for i, high in zip((noted // 2).tolist(), (noted % 2).tolist(), strict=True):
            follower.wall[i] = int(follower.piece[i]) // 2 - (1 - high)
        return walls
