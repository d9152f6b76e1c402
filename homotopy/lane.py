"""The compiled travel, and the way on and off it.

`Lane` lends the follower's arrays to `kernels.follow`, lets it go as far as it goes, and hands what
it brings (segments, changes of piece, who presses on a wall) over to those who keep it.  It also
chooses what is looked at in a window by place; windows by turn are opened and closed in compiled
code (docs/theory.md, "Coordinates that need no look").
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from homotopy import kernels
from homotopy.errors import TraceError
from homotopy.orient import NONE
from homotopy.state import REPAIR

if TYPE_CHECKING:
    from homotopy.follow import Follower

__all__ = ["Lane", "Recorder", "Segment"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]

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
