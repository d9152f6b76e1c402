"""The arrays of a trace: what compiled code works on, how they grow, and how they are saved.

They have one owner, `homotopy.tracker.tracker.Tracker`; this is its base class.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from homotopy.model import Problem
from homotopy.model.polyline import Snapshot
from homotopy.tracker import state, tasks
from homotopy.tracker.doubts import Doubts
from homotopy.tracker.records import Numbers, records
from homotopy.tracker.tables import border_weight, empty_polylines, fill
from homotopy.tracker.tolerances import Tolerances, Windows, as_record

__all__ = ["Memory"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]


def _own(array: Any) -> Any:
    """Return `array` in the form that compiled code expects: contiguous, float64, writable."""
    array = np.ascontiguousarray(array, dtype=float)
    return array if array.flags.writeable else array.copy()


def _plain(array: Any) -> Any:
    """Return the same memory as plain numbers; a record becomes a row of integers, bit for bit."""
    if array.dtype.names is None:
        return array
    return array.view(np.ndarray).view(np.int64).reshape(*array.shape, len(array.dtype.names))


class Memory:
    """Pieces, alpha, u, b, the factor, windows and the record.

    Attributes
    ----------
    alpha, u : arrays (n,)
        alpha of flat coordinates is up to date only after `refresh`; so is u of coordinates outside
        a window.
    piece, side : int arrays (n,)
        Slope j is piece 2j, corner j is piece 2j + 1.  `side` of a coordinate pinned to a jump
        corner is -1 if its branch lies left of it, +1 if right; else 0.
    route, fixed, sizes, system, event, jumping, scope, cursor : records
        All single numbers, by owner and name; see `homotopy.tracker.state`.
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
            # Windows bound products by lengths of rows, which only a semidefinite form allows.
            self.windows = self.windows.closed()
        self._tol, self._opt = as_record(self.tolerances), as_record(self.windows)
        n = self.gram.size
        self._scalars = state.scalars()
        self.route, self.fixed, self.sizes, self.system = map(Numbers, self._scalars[:4])
        self.event, self.jumping, self.scope, self.cursor = map(Numbers, self._scalars[4:])
        self._every = np.arange(n)
        self.repairs, self.doubts = 0, Doubts(self.tolerances.repair)
        # The largest gap (`state.SIZES`) of the first and the last point of the path.
        self.gap = np.inf
        # Called at every pause; may raise an exception to stop.
        self.pulse: Callable[[], object] | None = None
        # Where the route last made progress, and the steps and repairs by then.
        self._anchor: tuple[float, int, int] = (np.nan, 0, 0)
        self._started = False
        self._settling_at = problem.start
        self._scaled: tuple[float, ...] = ()
        # The t at which corners were last measured.
        self._corners_at: float | None = None
        self._corners_move = bool(np.any(problem.polylines.corner1))
        self._set_form()
        self._set_coordinates()
        self._set_motion()
        self._reserve(64)
        # Many paths are short, and fresh memory is slow: start small and grow.
        self._record_room(64, 1024, 512, 16)
        self.base, self.legs = tasks.no_base(), tasks.no_legs()
        # What compiled code works on, and the arrays it was made of.
        self._arrays, self._core = state.Arrays(*(None,) * 9), None
        shape = n, problem.polylines.corner0.shape[1]
        self.model_polylines = empty_polylines(*shape)
        self._settling_polylines = empty_polylines(*shape)
        self.fill_model(np.zeros(shape, np.int8))
        self.polylines = self.model_polylines
        # No coordinate stays on a jump corner: `left_in_stay` is 0, `stay` at least 2.
        self.fixed.asks, self.event.stay = asks, 2
        self.scope.wanted_across = self.scope.wanted_along = 2 * self.windows.fewest
        self.scope.wanted = self.windows.fewest_on_features
        self.cursor.stop_segments = self.cursor.stop_steps = np.iinfo(np.int64).max

    def note(self, change: Callable[..., None], *given: object) -> None:
        """Interpret a compiled function of a few lines that changes single numbers only, such as
        those of `homotopy.tracker.validity`; it gets the records held here for its `core`."""
        interpreted: Callable[..., None] = getattr(change, "py_func", change)
        interpreted(self, *given)

    # ------------------------------------------------------------------ arrays

    def _set_form(self) -> None:
        fixed = self.fixed
        phi, empty, some = self.gram.features(), np.zeros((0, 0)), np.zeros(0)
        none = np.zeros(0, dtype=np.int64)
        if phi is None and not np.any(self.gram.diag):
            # A linear program: treat a zero quadratic form as one with a zero feature.
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
                # No features at all: use one that is always 0.
                form = form._replace(phi=np.zeros((self.gram.size, 1)))
                self.width = 1
        self.form = form
        shape, dense = (self.gram.size, self.width), fixed.mode == state.DENSE
        fixed.wide = phi is not None and self.windows.pay_by_distance(*shape)
        fixed.transposed = dense and not fixed.wide and self.windows.transpose(*shape)

    def _set_coordinates(self) -> None:
        fixed, gram, n = self.fixed, self.gram, self.gram.size
        squares = (self.border**2).sum(axis=1)
        fixed.rho = border_weight(self.problem, self.tolerances)
        fence = records(np.zeros(n, state.FENCE))
        status = records(np.zeros(n, state.STATUS))
        status.own = gram.diag
        beside = fixed.rho * squares
        status.diag, status.weight = gram.diag + beside, gram.sizes + beside
        # If Q is semidefinite, the pivot is at least 1 / bend, up to rounding.
        fixed.semidefinite = gram.semidefinite
        fixed.floor = 0.5 if gram.semidefinite else self.tolerances.independence.floor
        fixed.slanted = bool(np.any(self.problem.polylines.curvature))
        fence.root, status.length = np.sqrt(status.weight), np.sqrt(gram.sizes)
        fixed.largest_root = float(fence.root.max())
        fixed.unit = float(status.length.mean()) or 1.0
        fixed.widest = float(np.abs(self.border).max(initial=0.0))
        self.scope.b_weight = fixed.widest / fixed.unit
        self.coords = state.Coordinates(
            u=np.zeros(n),
            du=np.zeros(n),
            alpha=np.zeros(n),
            border=self.border,
            fence=fence,
            status=status,
            near=np.arange(n),
            tied=np.zeros(2 * n + 2, dtype=np.int64),
            touched=np.zeros(n, dtype=np.int64),
        )
        self.scope.examined, self.scope.packed = n, fixed.transposed
        self.alpha, self.u = self.coords.alpha, self.coords.u
        self.piece, self.side = status.piece, status.side
        self.lift, self.shift = fence.lift, fence.shift

    def _set_motion(self) -> None:
        n, m = self.border.shape
        pull = n if self._phi is None else self.width
        point = n if self._phi is None else self.width + m
        self.motion = state.Motion(
            along=np.zeros(pull),
            across=np.zeros(pull),
            dw=np.zeros(self.width),
            w=np.zeros(self.width),
            w_seen=np.zeros(self.width),
            remainder=np.zeros(self.width),
            before=np.zeros(point),
            last=np.zeros(point),
            seen=np.zeros(4096, dtype=np.int64),
            flips=np.zeros(n + 1, dtype=np.int64),
            kept_index=np.zeros(0, dtype=np.int64),
            kept_alpha=np.zeros(0),
        )
        self.column = records(np.zeros(m, state.COLUMN))
        none = np.zeros((self.width if self.fixed.mode == state.DENSE else 0, 0))
        packed = np.ascontiguousarray(self.form.phi.T) if self.fixed.transposed else none
        self.window = state.Window(
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
        self.active = state.Active(
            factor=np.zeros((0, 0)),
            half=np.zeros((m + 1, 0)),
            rate=np.zeros(0),
            index=np.zeros(0, dtype=np.int64),
            work=np.zeros((3, 0)),
            column=self.column,
            schur=np.zeros((m, m)),
        )
        self._capacity = 0

    def _reserve(self, capacity: int) -> None:
        """Make room for `capacity` active coordinates, keeping the content of the arrays."""
        n, m = self.border.shape
        old, by_rows = self._capacity, self._phi is None
        self._capacity = capacity

        def longer(array: Any, *shape: int) -> Any:
            out = np.zeros(shape, dtype=array.dtype)
            if array.size:
                out[tuple(slice(k) for k in array.shape)] = array
            return out

        active = self.active
        self.active = active._replace(
            factor=longer(active.factor, capacity, capacity),
            half=longer(active.half, m + 1, capacity),
            rate=longer(active.rate, capacity),
            index=longer(active.index, capacity),
            work=longer(active.work, 3, capacity),
        )
        self.motion = self.motion._replace(
            kept_index=longer(self.motion.kept_index, capacity),
            kept_alpha=longer(self.motion.kept_alpha, capacity),
        )
        window, examined = self.window, 0
        if by_rows:
            examined = min(n // 2, self.windows.most) + self.windows.joining
            window = window._replace(
                panel=longer(window.panel, capacity, examined),
                rows=np.zeros(2 * capacity + examined + n, dtype=np.int64),
                weights=np.zeros(2 * capacity + examined + n),
            )
        free = longer(window.free, capacity)
        # The new lines of the panel are free; the last in the list are used first.
        count, more = int(self.scope.free_lines), np.arange(capacity - 1, old - 1, -1)
        free[: more.size + count] = np.concatenate([more, free[:count]])
        self.scope.free_lines = count + more.size
        self.window = window._replace(
            line=longer(window.line, capacity),
            free=free,
            index_seen=longer(window.index_seen, capacity),
            alpha_seen=longer(window.alpha_seen, capacity),
        )

    def _record_room(self, segments: int, entries: int, log: int, jumps: int) -> None:
        """Allocate a record of these lengths, keeping its content."""
        m = self.border.shape[1]
        record = state.Record(
            np.zeros(entries, dtype=np.int64),
            np.zeros((2, entries)),
            np.zeros((segments, 2, m)),
            records(np.zeros(segments, state.SEGMENT)),
            records(np.zeros(log, state.ENTRY)),
            records(np.zeros(jumps, state.JUMP_ENTRY)),
        )
        old = getattr(self, "record", None)
        if old is not None:
            for new, had in zip(record, old, strict=True):
                new[tuple(slice(k) for k in had.shape)] = had
        self.record = record

    def _more_record(self) -> None:
        """Allocate a longer record: an array that is nearly full gets twice its length."""
        record, cursor = self.record, self.cursor
        active, flips = int(self.system.actives + self.system.dependents), int(self.jumping.flips)

        def longer(length: int, full: bool) -> int:
            return 2 * length if full else length

        segments, entries = record.segment.size, record.active.size
        log, jumps = record.log.size, record.jump.size
        segments = longer(segments, cursor.segments + 4 >= segments)
        entries = longer(entries, cursor.entries + 2 * active + 64 > entries)
        log = longer(log, cursor.logged + 2 * flips + 256 > log)
        jumps = longer(jumps, cursor.jumps + 4 >= jumps)
        # In any case there must be room for the next step or jump.
        entries = max(entries, int(cursor.entries) + 8 * active + 256)
        log = max(log, 512) + 4 * (flips + int(self.event.walls))
        self._record_room(segments, entries, log, jumps)

    def fill_model(self, kind: Any) -> None:
        """Write the model's polylines, with corners of these kinds."""
        polylines = self.problem.polylines
        corner, slope = (polylines.corner0, polylines.corner1), (polylines.slope0, polylines.slope1)
        fill(self.model_polylines, slope, corner, polylines.curvature, kind)

    # ------------------------------------------------------------------ reading

    @property
    def b(self) -> Array:
        """The border multipliers (a copy)."""
        return np.array(self.column.b)

    @b.setter
    def b(self, value: Array) -> None:
        self.column.b[:] = value

    @property
    def active_index(self) -> Index:
        """The active coordinates, in the order of the factor (a view)."""
        index: Index = self.active.index[: self.system.actives]
        return index

    def size_of_u(self) -> Array:
        """Return the scale of each response."""
        fence = self.coords.fence
        own, of_w = np.maximum(fence.scale, np.abs(self.u)), self.tolerances.scales.of_w
        return np.asarray(np.maximum(own, of_w * fence.root * self.sizes.length))

    def snapshot(self) -> Snapshot:
        """Return all polylines at the present point of the route."""
        route = self.route
        polylines = self.polylines
        bend = polylines.slope.bend
        off = self.lift[:, None] + bend * self.shift[:, None]
        return Snapshot(
            polylines.slope.at + polylines.slope.rate * route.t + off * route.mu,
            polylines.corner.at + polylines.corner.rate * route.t + self.shift[:, None] * route.mu,
            np.array(bend),
            polylines.corner.kind.astype(np.int8),
        )

    # ------------------------------------------------------------------ the record

    def recorded(self) -> int:
        """Return the number of segments."""
        return int(self.cursor.segments + self.cursor.open)

    def seal(self) -> None:
        """Complete the open segment."""
        cursor = self.cursor
        if cursor.open:
            cursor.entries = self.record.segment[cursor.segments].active
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
            cursor.segments + 2 >= self.record.segment.size
            or cursor.entries + 2 * (self.system.actives + self.system.dependents) + 64
            > self.record.active.size
        ):
            self._more_record()
        dependent = np.flatnonzero(self.coords.status.dependent)
        record, index = self.record, np.sort(np.append(self.active_index, dependent))
        base, k = int(cursor.entries), int(cursor.segments)
        part = slice(base, base + index.size)
        record.active[part], record.alpha[:, part] = index, self.alpha[index]
        record.border[k] = self.b
        segment = record.segment[k]
        segment.start, segment.stop, segment.log = self.route.t, stop, cursor.logged
        segment.active = cursor.entries = part.stop
        cursor.segments += 1

    def log_changes(self, before: Index) -> None:
        """Log pieces that were assigned directly."""
        cursor = self.cursor
        changed = np.flatnonzero(before != self.piece)
        while cursor.logged + changed.size + 256 > self.record.log.size:
            self._record_room(
                self.record.segment.size,
                self.record.active.size,
                2 * self.record.log.size,
                self.record.jump.size,
            )
        part = slice(cursor.logged, cursor.logged + changed.size)
        log = self.record.log
        log.i[part], log.piece[part], log.new[part] = changed, before[changed], self.piece[changed]
        log.side[part] = 0
        cursor.logged += changed.size

    # ------------------------------------------------------------------ checkpoints

    def state(self) -> dict[str, dict[str, Any]]:
        """Return everything that changes, by owner and name: numbers, and arrays of plain numbers,
        most of them views.

        The rest follows from the problem and the span (see `Tracker.load_model`), or is written
        before it is read.
        """
        t, steps, repairs = self._anchor
        numbers = {
            "repairs": self.repairs,
            "gap": self.gap,
            "anchor_t": t,
            "anchor_steps": steps,
            "anchor_repairs": repairs,
            "started": self._started,
            "settling_at": self._settling_at,
        }
        return self._arrays_by_owner() | {"tracker": numbers, "doubts": self.doubts.state()}

    def _arrays_by_owner(self) -> dict[str, dict[str, Any]]:
        owners: dict[str, Any] = {
            "coords": self.coords,
            "active": self.active,
            "motion": self.motion,
            "window": self.window,
            "record": self.record,
            "scalars": self._scalars,
        }
        arrays = {
            owner: {
                name: _plain(array)
                for name, array in members._asdict().items()
                # The border belongs to the problem; the column is added below.
                if name not in ("border", "column") or owner == "record"
            }
            for owner, members in owners.items()
        }
        return arrays | {"column": {"all": _plain(self.column)}}

    def load_state(self, saved: Mapping[str, Mapping[str, Any]]) -> None:
        """Continue from `state`; the model's polylines must be loaded.

        A `ValueError` says what does not fit.
        """
        cursor = self.cursor
        factor, packed = saved["active"]["factor"].shape, saved["window"]["packed"].shape
        capacity = len(saved["active"]["rate"])
        if factor != (capacity, capacity) or capacity < self._capacity:
            raise ValueError(f"the factor has shape {factor}, not {(capacity, capacity)}")
        if packed[0] != self.window.packed.shape[0]:
            raise ValueError(f"the window has {packed[0]} features, not {self.width}")
        self._reserve(capacity)
        self.window = self.window._replace(packed=np.zeros(packed))
        self._record_room(
            *(len(saved["record"][name]) for name in ("segment", "active", "log", "jump"))
        )
        for owner, arrays in self._arrays_by_owner().items():
            for name, array in arrays.items():
                given = saved[owner][name]
                if (array.shape, array.dtype) != (given.shape, given.dtype):
                    raise ValueError(f"'{owner}.{name}' has shape {given.shape}, not {array.shape}")
                array[...] = given
        record = self.record
        for used, room in (
            (cursor.segments + cursor.open, record.segment.size),
            (cursor.entries, record.active.size),
            (cursor.logged, record.log.size),
            (cursor.jumps, record.jump.size),
            (self.system.actives, capacity),
        ):
            if not 0 <= used <= room:
                raise ValueError(f"it uses {used} entries of an array of {room}")
        self.doubts.load_state(saved["doubts"])
        numbers = {name: value.item() for name, value in saved["tracker"].items()}
        self.repairs, self.gap = numbers["repairs"], numbers["gap"]
        self._anchor = (numbers["anchor_t"], numbers["anchor_steps"], numbers["anchor_repairs"])
        self._started, self._settling_at = bool(numbers["started"]), numbers["settling_at"]
