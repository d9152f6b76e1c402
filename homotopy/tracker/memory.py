"""The arrays of a trace: what compiled code works on, how they grow, and what is written into them.

One owner (`homotopy.tracker.tracker.Tracker`) for everything that moves; this is its memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from homotopy.model import Problem
from homotopy.model.polyline import Snapshot
from homotopy.tracker import state
from homotopy.tracker.records import Numbers, records
from homotopy.tracker.tables import empty_lines, fill
from homotopy.tracker.tolerances import Tolerances, Windows, record

__all__ = ["Memory"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]


def _own(array: Any) -> Any:
    """`array` as compiled code expects it: contiguous, of 8-byte numbers, writable."""
    array = np.ascontiguousarray(array, dtype=float)
    return array if array.flags.writeable else array.copy()


def _plain(array: Any) -> Any:
    """The same memory as plain numbers; a record is a row of whole ones, bit for bit."""
    if array.dtype.names is None:
        return array
    return array.view(np.ndarray).view(np.int64).reshape(*array.shape, len(array.dtype.names))


class Memory:
    """Pieces, alpha, u, b, the factor, windows and the record.

    Attributes
    ----------
    alpha, u : arrays (n,)
        alpha of flat coordinates is up to date after `refresh` only, u of coordinates outside of a
        window likewise.
    piece, side : int arrays (n,)
        Slope j is 2j, corner j is 2j + 1; for a coordinate pinned to a jump corner -1 if its branch
        lies left, +1 if right, else 0.
    route, fixed, sizes, system, event, jumping, scope, cursor : records
        Everything that is one number, by owner and name; see `homotopy.tracker.state`.
    """

    def __init__(
        self,
        problem: Problem,
        tolerances: Tolerances | None = None,
        windows: Windows | None = None,
        *,
        asks: bool = False,
    ) -> None:
        self.problem, self.gram, self.border = problem, problem.gram, problem.border
        self.tolerances, self.windows = tolerances or Tolerances(), windows or Windows()
        if not self.gram.semidefinite:
            # What a window leaves out is bounded by lengths, which do not exist here.
            self.windows = self.windows.closed()
        self._tol, self._opt = (
            records(record(self.tolerances)),
            records(record(self.windows)),
        )
        n = self.gram.size
        self._scalars = state.scalars()
        self.route, self.fixed, self.sizes, self.system = map(Numbers, self._scalars[:4])
        self.event, self.jumping, self.scope, self.cursor = map(Numbers, self._scalars[4:])
        self._every = np.arange(n)
        # How far the path was off at worst.
        self.repairs, self.doubt = 0, 0.0
        # Called at every pause; may raise to stop.
        self.pulse: Callable[[], object] | None = None
        # Where the route was when it last moved on, and the steps and repairs by then.
        self._anchor = (np.nan, 0, 0)
        self._started = False
        self._settling_at = problem.start
        self._scaled: tuple[float, ...] = ()
        # Where corners were last measured.
        self._corners_at: float | None = None
        self._corners_move = bool(np.any(problem.polylines.corner1))
        self._set_form()
        self._set_coordinates()
        self._set_motion()
        self._reserve(64)
        self._record_room(256, 8192, 4096, 64)
        self.base = state.no_base()
        corners = problem.polylines.corner0.shape[1]
        self.model_lines, self._settle_lines = empty_lines(n, corners), empty_lines(n, corners)
        self.fill_model(np.zeros((n, corners), np.int8))
        self.lines = self.model_lines
        options = self.windows
        # Nothing has rested on a jump corner yet (0 is long ago).
        self.fixed.asks, self.event.linger = asks, 2
        self.scope.wanted_across = self.scope.wanted_along = 2 * options.fewest
        self.scope.wanted = options.fewest_on_features
        self.cursor.stop_segments = self.cursor.stop_steps = np.iinfo(np.int64).max

    # ------------------------------------------------------------------ arrays

    def _set_form(self) -> None:
        fixed = self.fixed
        phi, empty, some, none = (
            self.gram.features(),
            np.zeros((0, 0)),
            np.zeros(0),
            np.zeros(0, dtype=np.int64),
        )
        if phi is None and not np.any(self.gram.diag):
            # A linear program: no quadratic form is one on no features.
            phi = np.zeros((self.gram.size, 1))
        self._phi, self.width = phi, 0 if phi is None else phi.shape[1]
        form = state.Form(empty, none, empty, some, none, none)
        if phi is None:
            fixed.mode = state.ROWS
        elif sp.issparse(phi):
            fixed.mode = state.SPARSE
            parts = (phi.indices.astype(np.int64), phi.indptr.astype(np.int64))
            form = form._replace(data=_own(phi.data), indices=parts[0], indptr=parts[1])
        else:
            fixed.mode = state.DENSE
            form = form._replace(phi=_own(phi))
            if form.phi.size == 0:
                # No features at all: as good as one that is always 0.
                form = form._replace(phi=np.zeros((self.gram.size, 1)))
                self.width = 1
        self._form = form

    def _set_coordinates(self) -> None:
        fixed = self.fixed
        n, m = self.border.shape
        gram = self.gram
        real = gram.sizes[gram.sizes > 0.0]
        usual = float(np.median(real)) if real.size else 1.0
        weight = float((self.border**2).sum(axis=1).max()) if m else 0.0
        # rho B B^T makes the active block definite wherever the bordered system is (see `factor`).
        # As heavy as a usual row: beside the heaviest one small rows would drown.
        fixed.rho = usual / weight if weight > 0.0 else 0.0
        fence = records(np.zeros(n, state.FENCE))
        spot = records(np.zeros(n, state.SPOT))
        spot.own = gram.diag
        beside = fixed.rho * (self.border**2).sum(axis=1)
        spot.diag, spot.weight = gram.diag + beside, gram.sizes + beside
        # Where Q is semidefinite all of 1 / bend is left, but for rounding.
        fixed.semidefinite = gram.semidefinite
        fixed.floor = 0.5 if gram.semidefinite else self.tolerances.independence.floor
        fixed.slanted = bool(np.any(self.problem.polylines.curvature))
        fence.root, spot.length = np.sqrt(spot.weight), np.sqrt(gram.sizes)
        fixed.largest_root = float(fence.root.max())
        fixed.unit = float(np.sqrt(gram.sizes).mean()) or 1.0
        fixed.widest = float(np.abs(self.border).max(initial=0.0))
        self.scope.b_weight = fixed.widest / fixed.unit
        self.here = state.Coordinates(
            u=np.zeros(n),
            du=np.zeros(n),
            alpha=np.zeros(n),
            border=self.border,
            fence=fence,
            spot=spot,
            near=np.arange(n),
            tied=np.zeros(2 * n + 2, dtype=np.int64),
            few=np.zeros(n, dtype=np.int64),
        )
        self.scope.looked = n
        self.alpha, self.u, self.piece, self.side = (
            self.here.alpha,
            self.here.u,
            spot.piece,
            spot.side,
        )
        self.lift, self.shift = fence.lift, fence.shift

    def _set_motion(self) -> None:
        n, m = self.border.shape
        pull = n if self._phi is None else self.width
        point = n if self._phi is None else self.width + m
        self.mov = state.Motion(
            along=np.zeros(pull),
            across=np.zeros(pull),
            dw=np.zeros(self.width),
            w=np.zeros(self.width),
            w_seen=np.zeros(self.width),
            rest=np.zeros(self.width),
            before=np.zeros(point),
            last=np.zeros(point),
            seen=np.zeros(4096, dtype=np.int64),
            flips=np.zeros(n + 1, dtype=np.int64),
            kept_index=np.zeros(0, dtype=np.int64),
            kept_alpha=np.zeros(0),
        )
        self.column = records(np.zeros(m, state.COLUMN))
        packed = np.zeros((self.width if self.fixed.mode == state.DENSE else 0, 0))
        self.win = state.Window(
            panel=np.zeros((0, 0)),
            packed=packed,
            line=np.zeros(0, dtype=np.int64),
            free=np.zeros(0, dtype=np.int64),
            index_seen=np.zeros(0, dtype=np.int64),
            alpha_seen=np.zeros(0),
            piece_seen=np.zeros(n, dtype=np.int64),
            gaps=np.zeros(n),
            times=np.zeros(n),
            du_seen=np.zeros(n),
            sums=np.zeros(n),
            rows=np.arange(max(self.width, 1)),
            weights=np.zeros(1),
        )
        self.act: Any = None
        self._capacity = 0

    def _reserve(self, capacity: int) -> None:
        """Room for `capacity` active coordinates, with what the arrays hold."""
        n, m = self.border.shape
        old, by_rows = self._capacity, self._phi is None
        self._capacity = capacity

        def longer(array: Any, *shape: int) -> Any:
            out = np.zeros(shape, dtype=array.dtype)
            out[tuple(slice(k) for k in array.shape)] = array
            return out

        act = self.act or state.Active(
            np.zeros((0, 0)),
            np.zeros((m + 1, 0)),
            np.zeros(0),
            np.zeros(0, dtype=np.int64),
            np.zeros((3, 0)),
            self.column,
            np.zeros((m, m)),
        )
        self.act = act._replace(
            factor=longer(act.factor, capacity, capacity),
            half=longer(act.half, m + 1, capacity),
            rate=longer(act.rate, capacity),
            index=longer(act.index, capacity),
            work=longer(act.work, 3, capacity),
        )
        self.mov = self.mov._replace(
            kept_index=longer(self.mov.kept_index, capacity),
            kept_alpha=longer(self.mov.kept_alpha, capacity),
        )
        win, looked = self.win, 0
        if by_rows:
            looked = min(n // 2, self.windows.most) + self.windows.joining
            win = win._replace(
                panel=longer(win.panel, capacity, looked),
                rows=np.zeros(2 * capacity + looked + n, dtype=np.int64),
                weights=np.zeros(2 * capacity + looked + n),
            )
        free = longer(win.free, capacity)
        # New lines of the panel are free; the last in the list are used first.
        count, more = int(self.scope.lines), np.arange(capacity - 1, old - 1, -1)
        free[: more.size + count] = np.concatenate([more, free[:count]])
        self.scope.lines = count + more.size
        self.win = win._replace(
            line=longer(win.line, capacity),
            free=free,
            index_seen=longer(win.index_seen, capacity),
            alpha_seen=longer(win.alpha_seen, capacity),
        )

    def _record_room(self, segments: int, entries: int, log: int, jumps: int) -> None:
        """Arrays of these lengths, with what they hold."""
        m = self.border.shape[1]
        rec = state.Record(
            np.zeros(entries, dtype=np.int64),
            np.zeros((2, entries)),
            np.zeros((segments, 2, m)),
            records(np.zeros(segments, state.SEGMENT)),
            records(np.zeros(log, state.ENTRY)),
            records(np.zeros(jumps, state.JUMP_ENTRY)),
        )
        old = getattr(self, "rec", None)
        if old is not None:
            for new, had in zip(rec, old, strict=True):
                new[tuple(slice(k) for k in had.shape)] = had
        self.rec = rec

    def _more_record(self) -> None:
        system, cursor = self.system, self.cursor
        rec = self.rec
        self._record_room(
            rec.segment.size * (2 if cursor.segments + 4 >= rec.segment.size else 1),
            max(
                rec.active.size
                * (
                    2
                    if cursor.entries + 2 * (system.actives + system.idles) + 64 > rec.active.size
                    else 1
                ),
                int(cursor.entries) + 8 * int(system.actives + system.idles) + 256,
            ),
            max(
                rec.log.size
                * (2 if cursor.logged + 2 * self.jumping.flips + 256 > rec.log.size else 1),
                512,
            )
            + 4 * int(self.jumping.flips + self.event.walls),
            rec.jump.size * (2 if cursor.jumps + 4 >= rec.jump.size else 1),
        )

    def fill_model(self, kind: Any) -> None:
        """Write down the model's polylines, with corners of this kind."""
        lines = self.problem.polylines
        corner, slope = (lines.corner0, lines.corner1), (lines.slope0, lines.slope1)
        fill(self.model_lines, slope, corner, lines.curvature, kind)

    # ------------------------------------------------------------------ reading

    @property
    def b(self) -> Array:
        """The border multipliers (a copy)."""
        return np.array(self.column.b)

    @b.setter
    def b(self, value: Array) -> None:
        self.column.b[:] = value

    @property
    def active(self) -> Index:
        """The active coordinates, in the order of the factor (a view)."""
        index: Index = self.act.index[: self.system.actives]
        return index

    def size_of_u(self) -> Array:
        """The scale of each response."""
        fence = self.here.fence
        own, of_w = np.maximum(fence.scale, np.abs(self.u)), self.tolerances.scales.of_w
        return np.asarray(np.maximum(own, of_w * fence.root * self.sizes.length))

    def snapshot(self) -> Snapshot:
        """All polylines where the route stands now."""
        route = self.route
        lines = self.lines
        bend = lines.slope.bend
        off = self.lift[:, None] + bend * self.shift[:, None]
        return Snapshot(
            lines.slope.at + lines.slope.rate * route.t + off * route.mu,
            lines.corner.at + lines.corner.rate * route.t + self.shift[:, None] * route.mu,
            np.array(bend),
            lines.corner.kind.astype(np.int8),
        )

    # ------------------------------------------------------------------ the record

    def recorded(self) -> int:
        """How many segments there are."""
        return int(self.cursor.segments + self.cursor.open)

    def seal(self) -> None:
        """The open segment is whole."""
        cursor = self.cursor
        if cursor.open:
            cursor.entries = self.rec.segment[cursor.segments].active
            cursor.segments += 1
            cursor.open = 0

    def record_point(self) -> None:
        """Record a segment of length zero: the present point."""
        self.record_standstill(float(self.route.t))

    def record_standstill(self, stop: float) -> None:
        """Record a segment from here to t = stop along which nothing moves."""
        cursor = self.cursor
        self.seal()
        while (
            cursor.segments + 2 >= self.rec.segment.size
            or cursor.entries + 2 * (self.system.actives + self.system.idles) + 64
            > self.rec.active.size
        ):
            self._more_record()
        rec, index = self.rec, np.sort(np.append(self.active, np.flatnonzero(self.here.spot.idle)))
        base, k = int(cursor.entries), int(cursor.segments)
        part = slice(base, base + index.size)
        rec.active[part], rec.alpha[:, part] = index, self.alpha[index]
        rec.border[k] = self.b
        segment = rec.segment[k]
        segment.start, segment.stop, segment.log = self.route.t, stop, cursor.logged
        segment.active = cursor.entries = part.stop
        cursor.segments += 1

    def mend_end(self) -> None:
        """The end of the last segment is where the point has been refined to."""
        cursor = self.cursor
        rec = self.rec
        k = int(cursor.segments) - (0 if cursor.open else 1)
        if not cursor.recording or k < 0:
            return
        segment, base = rec.segment[k], int(rec.segment[k - 1].active) if k else 0
        if cursor.jumps and rec.jump[cursor.jumps - 1].log_end > segment.log:
            # It ended before a jump, which is behind: here a new one begins.
            return
        index = rec.active[base : segment.active]
        # Those that have left their knots since are at the end of them.
        left = not np.any(rec.log.new[segment.log : cursor.logged] % 2)
        if segment.stop == self.route.t and left:
            ends = slice(0 if segment.start == segment.stop else 1, 2)
            rec.alpha[ends, base : segment.active] = self.alpha[index]
            rec.border[k, ends] = self.b

    def log_changes(self, before: Index) -> None:
        """Write down pieces that were given directly."""
        cursor = self.cursor
        changed = np.flatnonzero(before != self.piece)
        while cursor.logged + changed.size + 256 > self.rec.log.size:
            self._record_room(
                self.rec.segment.size,
                self.rec.active.size,
                2 * self.rec.log.size,
                self.rec.jump.size,
            )
        part = slice(cursor.logged, cursor.logged + changed.size)
        log = self.rec.log
        log.i[part], log.piece[part], log.new[part] = changed, before[changed], self.piece[changed]
        log.side[part] = 0
        cursor.logged += changed.size

    # ------------------------------------------------------------------ checkpoints

    def state(self) -> dict[str, Any]:
        """Everything that moves, by name: arrays of plain numbers, most of them views.

        What is left out comes from the problem and the span alone (see `Tracker.load_model`), or
        is written anew before it is read.
        """
        groups = {"here": self.here, "act": self.act, "mov": self.mov, "win": self.win}
        arrays = {
            f"{group}.{name}": _plain(array)
            for group, members in (groups | {"rec": self.rec}).items()
            for name, array in members._asdict().items()
            if (group, name) not in (("here", "border"), ("act", "column"))
        }
        numbers = (self.repairs, self.doubt, *self._anchor, self._started, self._settling_at)
        return arrays | {
            **{f"scalars.{k}": _plain(v) for k, v in self._scalars._asdict().items()},
            "column": _plain(self.column),
            "numbers": np.array(numbers, dtype=float),
        }

    def restore_state(self, saved: Mapping[str, Any]) -> None:
        """Stand where `state` was asked for; the model's polylines must be loaded.

        A `ValueError` says what does not fit.
        """
        cursor = self.cursor
        capacity, packed = len(saved["act.rate"]), saved["win.packed"].shape
        if saved["act.factor"].shape != (capacity, capacity) or capacity < self._capacity:
            raise ValueError(f"the factor has shape {saved['act.factor'].shape}")
        if packed[0] != self.win.packed.shape[0]:
            raise ValueError(f"the window has {packed[0]} features, not {self.width}")
        self._reserve(capacity)
        self.win = self.win._replace(packed=np.zeros(packed))
        self._record_room(
            *(len(saved[f"rec.{name}"]) for name in ("segment", "active", "log", "jump"))
        )
        for name, array in self.state().items():
            given = saved[name]
            if (array.shape, array.dtype) != (given.shape, given.dtype):
                raise ValueError(f"{name!r} has shape {given.shape}, not {array.shape}")
            array[...] = given
        rec = self.rec
        for used, room in (
            (cursor.segments + cursor.open, rec.segment.size),
            (cursor.entries, rec.active.size),
            (cursor.logged, rec.log.size),
            (cursor.jumps, rec.jump.size),
            (self.system.actives, capacity),
        ):
            if not 0 <= used <= room:
                raise ValueError(f"it counts {used} where there is room for {room}")
        repairs, self.doubt, t, steps, before, started, at = saved["numbers"].tolist()
        self.repairs, self._anchor = int(repairs), (t, int(steps), int(before))
        self._started, self._settling_at = bool(started), at
