"""The tracker of a fork: it stands at an optimum, moves single rows, and goes back."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.linalg

from homotopy.errors import TraceError
from homotopy.forking.frozen import Frozen, Tables
from homotopy.forking.result import one_point
from homotopy.model import Problem
from homotopy.model.polyline import Snapshot
from homotopy.tracker import Tracker, state
from homotopy.tracker.tolerances import Windows

__all__ = ["Mover"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]

# A piece: its number, the least and the largest alpha on it, and between which responses it lies.
Piece = tuple[int, float, float, tuple[float, float]]


class Mover(Tracker):
    """Stands at an optimum of a frozen problem (`homotopy.forking.frozen`).

    Attributes
    ----------
    held : dict of int to float
        The rows whose alpha is prescribed, and what it is.
    """

    def __init__(self, problem: Problem, piece: Index, alpha: Array, b: Array) -> None:
        super().__init__(problem, windows=Windows().closed())
        self.held: dict[int, float] = {}
        # Steps when u was last recomputed.
        self._fresh = 0
        frozen = problem.model
        assert isinstance(frozen, Frozen)
        # The polylines that rows have unless they are held.
        self.own, self.own_kinds = frozen.tables, problem.kinds_within(0.0, 1.0).copy()
        self._middle = 0.0
        # That of the row added last, and what was made of it.
        self.last_polyline: tuple[Any, Snapshot | None] = (None, None)
        self.load_model(0.0, 1.0)
        self.cursor.due = np.iinfo(np.int64).max
        self.stand(piece, alpha, b)
        self._fresh = int(self.cursor.steps)
        self.mark()
        self._anew, self._middle = False, float(np.median(self.here.spot.usual))

    # ------------------------------------------------------------------ standing

    def stand(self, piece: Index, alpha: Array, b: Array) -> None:
        """Stand at a point that is an optimum, to rounding."""
        self._halt()
        self.lift[:] = self.shift[:] = 0.0
        self.piece[:], self.side[:] = piece, 0
        self.place(alpha, b)
        self.use(self.model_lines)
        self.rebuild(0.0)
        self.refresh()
        if not self.off <= self.tolerances.repair:
            self.settle_still()

    def move_to(self, other: Mover) -> None:
        """Stand where another tracker of the same rows, or of fewer, stands."""
        n = other.u.size
        for row, value in other.held.items():
            self.flatten(row, value)
            self.held[row] = value
        for row in [row for row in self.held if row not in other.held]:
            if row < n:
                self._write_own(row)
                del self.held[row]
        piece, alpha = self.piece.copy(), self.alpha.copy()
        piece[:n], alpha[:n] = other.piece, other.alpha
        self._anew = True
        self.stand(piece, alpha, other.b)

    def _halt(self) -> None:
        route = self.route
        route.along = route.dt = route.t = route.mu = route.tau = 0
        route.first = route.last = 0.0
        route.pin, route.settling, self.cursor.recording = 1, 1, 0

    def settle_still(self) -> None:
        """Make the present guess exact, from wherever it is."""
        self._halt()
        self._anew = True
        self.write_alpha()
        for _ in range(self.tolerances.patience.settlings):
            self.settle(0.0, self.snapshot(), self.problem.target0)
            self.use(self.model_lines)
            self._halt()
            self.refresh()
            if self.off <= self.tolerances.repair:
                return
        if not (self.off <= self.tolerances.accepted or self._proven()):
            raise TraceError(
                f"the optimum could not be made exact: it is off by {self.off:.2g} times what "
                "rounding explains"
            )

    def _proven(self) -> bool:
        """Whether the certificate passes the point: what has gone to 0 may be off by much more than
        rounding explains of what is left."""
        frozen, lines = self.problem.model, self.model_lines
        assert isinstance(frozen, Frozen)
        assert frozen.border is not None
        tables = Tables(*(np.array(a) for a in (lines.slope.at, lines.corner.at, lines.slope.bend)))
        border = frozen.border, frozen.border_target
        point = Frozen(self.gram, border, tables, frozen.names, span=(0.0, 0.0))
        return one_point(point, np.array(self.piece), self.alpha, self.b).certify().ok

    def mark(self) -> None:
        """From here on this is the base."""
        size, n, m = int(self.system.actives), self.u.size, self.border.shape[1]
        place = np.full(n, -1)
        place[self.active] = np.arange(size)
        factor = np.ascontiguousarray(self.act.factor[:size, :size])
        half = np.zeros((m + 1, size))
        if m and size:
            half[1:] = scipy.linalg.solve_triangular(factor, self.border[self.active], trans="T").T
        self.cursor.logged = 0
        lines, spot = self.model_lines, self.here.spot
        self.write_alpha()
        self.base = state.no_base()._replace(
            u=self.u.copy(),
            alpha=self.alpha.copy(),
            w=self.mov.w.copy(),
            b=self.b,
            piece=np.array(spot.piece),
            place=place,
            idle=np.array(spot.idle),
            miss=np.array(spot.miss),
            factor=factor.copy(),
            half=half,
            index=self.active.copy(),
            slope=lines.slope.copy(),
            corner=lines.corner.copy(),
        )
        jobs = self._jobs
        jobs.actives, jobs.idles, jobs.logged, jobs.piece = size, self.system.idles, 0, -1
        self._held_at_base = dict(self.held)

    @property
    def _jobs(self) -> Any:
        return self.base.jobs[0]

    def _answers(self, count: int, alphas: int) -> tuple[Any, ...]:
        """Room for what is asked of `count` rows, with `alphas` alphas each (all or none)."""
        n, m = self.border.shape
        return (
            np.zeros(count, np.int64),
            np.zeros(count),
            np.zeros(count),
            np.zeros((count, m)),
            np.zeros((count if alphas else 0, n)),
        )

    # ------------------------------------------------------------------ moving

    def hold(self, row: int, value: float) -> None:
        """Take alpha of `row` to `value`, where it stays."""
        self._ask(np.array([row]), np.array([value], dtype=float))
        try:
            self._go()
        except TraceError:
            self._hold_otherwise(row, value)
        self.held[row] = value
        self._freshen()

    def _hold_otherwise(self, row: int, value: float) -> None:
        """The same without following the way: settle from where the route has come to."""
        self.flatten(row, value)
        self.settle_still()

    def flatten(self, row: int, value: float) -> None:
        """The polyline of `row` is one flat slope at `value`."""
        lines = self.model_lines
        lines.slope.at[row], lines.slope.rate[row], lines.slope.bend[row] = value, 0.0, 0.0
        lines.corner.at[row], lines.corner.rate[row] = np.inf, 0.0
        self.piece[row] = self.side[row] = self.shift[row] = self.lift[row] = 0
        self.alpha[row] = value

    def hold_each(self, rows: Index, values: Array, alphas: bool) -> tuple[Array, Array, Array]:
        """From the base take alpha of one row after the other to its value, and back each time:
        the response of that row, b, and every alpha where these are wanted.

        Where a row cannot be followed, its number is in the error (``.row``).
        """
        self._ask(rows, values, alphas=alphas, back=True)
        while self._jobs.job < rows.size:
            try:
                self._go()
            except TraceError:
                job = int(self._jobs.job)
                self.go_back()
                self._alone(job, int(rows[job]), float(values[job]))
            except BaseException:
                self.go_back()
                raise
        return self.base.found_u, self.base.found_b, self.base.found_alpha

    def _alone(self, job: int, row: int, value: float) -> None:
        """A row that could not be followed."""
        base = self.base
        try:
            self._hold_otherwise(row, value)
        except TraceError as error:
            self.go_back_anew()
            error.row = row  # type: ignore[attr-defined]
            raise
        base.found_u[job] = self.u[row] + self.here.spot.miss[row]
        base.found_b[job] = self.b
        if base.found_alpha.size:
            base.found_alpha[job] = self.alpha
        self.go_back_anew()
        self._jobs.job = job + 1

    def release(self, row: int) -> None:
        """Let a row that is held go back to its own polyline."""
        value, pieces = self.held[row], self._own_pieces(row)
        bottom, top = (np.array([p[k] for p in pieces]) for k in (1, 2))
        fits = np.flatnonzero((bottom <= value) & (value <= top))
        if not fits.size:
            # Beyond all of it: to the nearest end.
            ends = np.concatenate([bottom, top])
            value = float(ends[np.argmin(np.abs(ends - value))])
            self.hold(row, value)
            fits = np.flatnonzero((bottom <= value) & (value <= top))
        u = float(self.u[row])
        places = [np.clip(self._where_on(row, pieces[k], value), *pieces[k][3]) for k in fits]
        best = int(np.argmin(np.abs(u - np.array(places))))
        del self.held[row]
        self._write_own(row)
        self.alpha[row] = value
        self._ask(np.array([row]), np.array([value]))
        piece = pieces[fits[best]][0]
        self._jobs.piece, self._jobs.shift = piece, u - places[best]
        try:
            self._go()
        except TraceError:
            if not self._jobs.begun:
                self.piece[row] = piece
            self.settle_still()
        finally:
            self._jobs.piece, self.shift[row] = -1, 0.0
        self._freshen()

    def _freshen(self) -> None:
        """After many steps since u was last recomputed: do so, and correct what it is off by."""
        if self.cursor.steps - self._fresh < self.tolerances.patience.refresh:
            return
        self._fresh, recording = int(self.cursor.steps), self.cursor.recording
        # The factor may be made anew.
        self._anew, self.cursor.recording = True, 0
        if not self.correct():
            self.settle_still()
        self.cursor.recording = recording

    def _where_on(self, row: int, piece: Piece, value: float) -> float:
        """The response that a row of this alpha has on one of its pieces: its own on a flat one."""
        j = piece[0] // 2
        bend = float(self.own.curvature[row, j]) if piece[0] % 2 == 0 else 0.0
        return (float(self.own.slope[row, j]) - value) / bend if bend > 0.0 else float(self.u[row])

    def _write_own(self, row: int) -> None:
        lines, tables = self.model_lines, self.own
        lines.slope.at[row], lines.slope.rate[row] = tables.slope[row], 0.0
        lines.slope.bend[row] = tables.curvature[row]
        lines.corner.at[row], lines.corner.rate[row] = tables.corner[row], 0.0
        lines.corner.kind[row] = self.own_kinds[row]

    def _own_pieces(self, row: int) -> list[Piece]:
        """The pieces of a row's own polyline, slopes first: a slope and a knot hold the same alpha
        where they meet, and the slope takes no place in the factor."""
        slope, bend = self.own.slope[row].tolist(), self.own.curvature[row].tolist()
        bounds = [-np.inf, *self.own.corner[row].tolist(), np.inf]
        slopes: list[Piece] = []
        knots: list[Piece] = []
        for j, (low, high) in enumerate(itertools.pairwise(bounds)):
            if low < high and np.isfinite(slope[j]):
                ends = (slope[j], slope[j])
                if bend[j] > 0.0:
                    ends = (slope[j] - bend[j] * high, slope[j] - bend[j] * low)
                slopes.append((2 * j, *ends, (low, high)))
            if np.isfinite(high):
                top, bottom = (
                    slope[k] - (bend[k] * high if bend[k] > 0.0 else 0.0) for k in (j, j + 1)
                )
                if bottom < top:
                    knots.append((2 * j + 1, bottom, top, (high, high)))
        return slopes + knots

    def _ask(self, rows: Index, values: Array, *, alphas: bool = False, back: bool = False) -> None:
        names = ("row", "value", "found_u", "found_b", "found_alpha")
        room = dict(zip(names, self._answers(rows.size, int(alphas)), strict=True))
        self.base = self.base._replace(**room)
        self.base.row[:], self.base.value[:] = rows, values
        jobs = self._jobs
        jobs.job, jobs.jobs, jobs.begun, jobs.back, jobs.piece = 0, rows.size, 0, int(back), -1

    def _go(self) -> None:
        """Let compiled code do what was asked for."""
        self.forget_effort()
        self.jumping.in_jump = state.FORKING
        try:
            self.run()
        finally:
            self.jumping.in_jump = state.ON_WAY

    def from_here(self, rows: Index, values: Array, alphas: bool) -> tuple[Array, Array, Array]:
        """`hold_each` from where rows have been moved to."""
        if self.cursor.logged == self._jobs.logged and not (self.held or self._anew):
            return self.hold_each(rows, values, alphas)
        base, held = self.base, self._held_at_base
        self.mark()
        try:
            return self.hold_each(rows, values, alphas)
        finally:
            self.base, self._held_at_base, self._anew = base, held, True

    # ------------------------------------------------------------------ the way

    def begin_record(self) -> None:
        """Write down the way from here on."""
        cursor = self.cursor
        cursor.open = cursor.entries = cursor.segments = 0
        cursor.recording = 1

    def end_record(self, stop: float) -> bool:
        """The way is complete; False where it was not followed."""
        cursor = self.cursor
        followed, cursor.recording = bool(cursor.recording), 0
        self.seal()
        if followed and not cursor.segments:
            # There is none: one point is all of it.
            self.route.t = stop
            self.record_point()
            self.route.t = 0.0
        return followed

    # ------------------------------------------------------------------ rows

    def measure_row(self, row: int, diagonal: float, tables: Tables) -> None:
        """The sizes of a row that has just been written."""
        spot, fence, fixed = self.here.spot, self.here.fence, self.fixed
        square = float((self.border[row] ** 2).sum())
        spot.own[row] = diagonal
        spot.diag[row] = spot.weight[row] = diagonal + fixed.rho * square
        fence.root[row], spot.length[row] = np.sqrt(spot.weight[row]), np.sqrt(diagonal)
        fixed.largest_root = max(float(fixed.largest_root), float(fence.root[row]))
        fixed.widest = max(float(fixed.widest), float(np.abs(self.border[row]).max(initial=0.0)))
        slope, corner = tables.slope[0], tables.corner[0]
        largest = float(np.abs(slope[np.isfinite(slope)]).max(initial=0.0))
        spot.slope[row] = spot.height[row] = largest
        corner = corner[np.isfinite(corner)]
        sizes, apart = np.abs(corner[corner != 0.0]), np.diff(corner)
        nearest = float(sizes.min()) if sizes.size else 0.0
        spot.nearest[row], spot.apart[row] = nearest, apart[apart > 0.0].min(initial=np.inf)
        middle = self._middle
        spot.usual[row] = min(nearest, middle) if nearest > 0.0 else middle
        part = float(np.abs(self.border[row] * self.column.b).sum())
        scales = self.tolerances.scales
        fence.scale[row] = max(scales.of_corner * nearest, scales.of_border * part)

    # ------------------------------------------------------------------ back

    def restore(self) -> None:
        """Stand at the base, wherever this is."""
        if self._anew:
            self.go_back_anew()
        else:
            self.go_back()

    def go_back(self) -> None:
        """Stand at the base again."""
        self._jobs.begun = 0
        self._phase(state.UNDOING)
        self.held, self._fresh = dict(self._held_at_base), int(self.cursor.steps)

    def go_back_anew(self) -> None:
        """The same after the factor was made anew."""
        base, lines, spot = self.base, self.model_lines, self.here.spot
        self._halt()
        lines.slope[...], lines.corner[...] = base.slope, base.corner
        self.piece[:], self.side[:], spot.idle[:] = base.piece, 0, base.idle
        self.lift[:] = self.shift[:] = 0.0
        spot.carried[:], spot.miss[:] = 0.0, base.miss
        self.alpha[:] = base.alpha
        self.use(lines)
        self.cursor.logged = 0
        size = int(self._jobs.actives)
        if size + 16 > self._capacity:
            self._reserve(2 * size + 16)
        self.act.factor[:size, :size] = base.factor
        self.go_back()
        self._anew = False
        # Tolerances are made of sizes that were measured there.
        self._measure_base()

    def _measure_base(self) -> None:
        product = self.u - self.border @ self.b
        self._measure(float(self.alpha @ product))
