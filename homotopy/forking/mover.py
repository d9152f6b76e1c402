"""The tracker of a fork: it holds an optimum, moves single rows, and goes back."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import scipy.linalg

from homotopy.arrays import Array, Index
from homotopy.errors import TraceError
from homotopy.forking.frozen import Frozen, Tables
from homotopy.forking.tolerances import FORK_TOLERANCES
from homotopy.model.polyline import Snapshot
from homotopy.tracker import Tracker, state, tasks
from homotopy.tracker.tolerances import EPS, Windows
from homotopy.tracker.validity import border_half_copied

__all__ = ["Mover"]


# A piece: its number, its smallest and largest alpha, and the interval of its responses.
Piece = tuple[int, float, float, tuple[float, float]]


class Mover(Tracker):
    """A tracker at an optimum of a frozen problem (`homotopy.forking.frozen`).

    Attributes
    ----------
    held : dict of int to float
        The rows whose alpha is prescribed, with its value.
    """

    def __init__(self, frozen: Frozen, piece: Index, alpha: Array, b: Array) -> None:
        super().__init__(frozen.problem(), windows=Windows().closed())
        self.frozen = frozen
        self.held: dict[int, float] = {}
        # The polylines of rows that are not held.
        self.own, self.own_kinds = frozen.tables, self.problem.kinds_within(0.0, 1.0).copy()
        self._middle = 0.0
        # The polyline of the row added last, and its snapshot.
        self.last_polyline: tuple[Any, Snapshot | None] = (None, None)
        self.load_model(0.0, 1.0)
        self.cursor.due = np.iinfo(np.int64).max
        self.stand(piece, alpha, b)
        self.mark()
        self._refactored, self._middle = False, float(np.median(self.coords.status.usual))

    # ------------------------------------------------------------------ placing

    def stand(self, piece: Index, alpha: Array, b: Array) -> None:
        """Place the tracker at a point that is an optimum up to rounding."""
        self._halt()
        self.lift[:] = self.shift[:] = 0.0
        self.piece[:], self.side[:] = piece, 0
        self.set_guess(alpha, b)
        self.use(self.model_polylines)
        self.rebuild(0.0)
        self.refresh()
        if not self.off <= self.tolerances.repair:
            self.settle_still()

    def move_to(self, other: Mover) -> None:
        """Place the tracker where another one, of the same rows or fewer, is."""
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
        self._refactored = True
        self.stand(piece, alpha, other.b)

    def _halt(self) -> None:
        route = self.route
        route.along = route.dt = route.t = route.mu = route.tau = 0
        route.first = route.last = 0.0
        route.pin, route.settling, self.cursor.recording = 1, 1, 0

    def settle_still(self) -> None:
        """Make the present guess exact, however far off it is."""
        self._halt()
        self._refactored = True
        self.write_alpha()
        for _ in range(self.tolerances.patience.settlings):
            self.settle(0.0, self.snapshot(), self.problem.target0)
            self.use(self.model_polylines)
            self._halt()
            self.refresh()
            if self.off <= self.tolerances.repair:
                return
        if not self._proven():
            raise self._inexact()

    def _inexact(self) -> TraceError:
        return TraceError(
            f"the optimum could not be made exact: its error is {self.off:.2g} times the rounding "
            "error expected, or the certificate rejects it"
        )

    def _proven(self) -> bool:
        """Whether the certificate accepts the point.  A quantity that has become 0 may be off by
        much more than the rounding error of what remains."""
        frozen = self.frozen
        border = self.border, frozen.border_target
        here = Frozen(self.gram, border, self.tables(self.u.size), frozen.names, span=(0.0, 0.0))
        return here.point(np.array(self.piece), self.alpha, self.b).certify().ok

    def tables(self, rows: int) -> Tables:
        """Return the present polylines of the first `rows` rows: flat where a row is held."""
        lines = self.model_polylines
        return Tables(lines.slope.at, lines.corner.at, lines.slope.bend).first(rows)

    def mark(self) -> None:
        """Make the present point the base."""
        size, n, m = int(self.system.actives), self.u.size, self.border.shape[1]
        place = np.full(n, -1)
        place[self.active_index] = np.arange(size)
        factor = np.ascontiguousarray(self.active.factor[:size, :size])
        half = np.zeros((m + 1, size))
        if m and size:
            half[1:] = scipy.linalg.solve_triangular(
                factor, self.border[self.active_index], trans="T"
            ).T
        # Prepare `half` as a return to the base does, so that the first move is like later ones.
        self.active.half[1:, :size] = half[1:]
        self.note(border_half_copied)
        self.cursor.logged = 0
        lines, status = self.model_polylines, self.coords.status
        self.write_alpha()
        self.base = tasks.no_base()._replace(
            u=self.u.copy(),
            alpha=self.alpha.copy(),
            w=self.motion.w.copy(),
            b=self.b,
            piece=np.array(status.piece),
            place=place,
            dependent=np.array(status.dependent),
            miss=np.array(status.miss),
            factor=factor.copy(),
            half=half,
            index=self.active_index.copy(),
            slope=lines.slope.copy(),
            corner=lines.corner.copy(),
        )
        jobs = self._jobs
        jobs.actives, jobs.dependents, jobs.logged, jobs.piece = size, self.system.dependents, 0, -1
        self._held_at_base = dict(self.held)

    @property
    def _jobs(self) -> Any:
        return self.base.jobs[0]

    # ------------------------------------------------------------------ moving

    def hold(self, row: int, value: float) -> None:
        """Take the alpha of `row` to `value` and hold it there."""
        former = self._largest_alpha()
        try:
            self._go_to(row, value)
        except TraceError as error:
            self._hold_otherwise(row, value, error)
        self.held[row] = value
        self._make_exact(former)

    def _go_to(self, row: int, value: float) -> None:
        """Follow the route of `row` to `value`; raise TraceError if nothing can balance it.

        If no active coordinate can balance a move, the tracker lets b slide; but a short one it
        takes for rounding, and the border equations stay off.  So go beyond and come back.
        """
        self._ask(row, value)
        self._go()
        weight, own = self._imbalance(), np.abs(self.border[row])
        some = own > 0.0
        if weight is None or not some.any():
            return
        way = float(np.copysign((weight[some] / own[some]).max(), value - self.base.alpha[row]))
        self._ask(row, value + FORK_TOLERANCES.beyond * self.tolerances.allowed_drift * way)
        self._go()
        self._ask(row, value)
        self._go()

    def _imbalance(self) -> Array | None:
        """Return the terms of the border equations if one is off by more than the rounding of its
        terms, besides what the base is off; else None."""
        self.write_alpha()
        weight = np.abs(self.border.T) @ np.abs(self.alpha) + np.abs(self.problem.target0)
        off, was = (self.border.T @ a - self.problem.target0 for a in (self.alpha, self.base.alpha))
        rounding = self.tolerances.proof.balance * self._solving_error() * weight
        return weight if np.any(np.abs(off) > rounding + np.abs(was)) else None

    def _hold_otherwise(self, row: int, value: float, error: TraceError) -> None:
        """Do the same without following the route: settle from the point it has reached.  Raise the
        error of the route if the border equations stay off."""
        self.flatten(row, value)
        try:
            self.settle_still()
        except TraceError:
            if self._imbalance() is None:
                raise
        if self._imbalance() is not None:
            raise error

    def flatten(self, row: int, value: float) -> None:
        """Replace the polyline of `row` by one flat slope at `value`."""
        lines = self.model_polylines
        lines.slope.at[row], lines.slope.rate[row], lines.slope.bend[row] = value, 0.0, 0.0
        lines.corner.at[row], lines.corner.rate[row] = np.inf, 0.0
        self.piece[row] = self.side[row] = self.shift[row] = self.lift[row] = 0
        self.alpha[row] = value

    def answers(self, count: int, alphas: bool) -> tuple[Array, Array, Array]:
        """Allocate the results for `count` rows, including every alpha if `alphas`."""
        n, m = self.border.shape
        return np.zeros(count), np.zeros((count, m)), np.zeros((count if alphas else 0, n))

    def follow_one(
        self, job: int, row: int, value: float, found: tuple[Array, Array, Array]
    ) -> None:
        """Take one row to its value, store the results, and go back."""
        back, former = self.go_back, self._largest_alpha()
        try:
            self._go_to(row, value)
            back = self.go_back_anew
            self._make_exact(former)
        except TraceError as trouble:
            back()
            back = self.go_back_anew
            try:
                self._hold_otherwise(row, value, trouble)
            except TraceError as error:
                back()
                error.row = row  # type: ignore[attr-defined]
                raise
        except BaseException:
            back()
            raise
        response, b, alpha = found
        response[job], b[job] = self.u[row] + self.coords.status.miss[row], self.b
        if alpha.size:
            self.write_alpha()
            alpha[job] = self.alpha
        back()

    def release(self, row: int) -> None:
        """Put a held row back on its own polyline."""
        value, pieces = self.held[row], self._own_pieces(row)
        bottom, top = (np.array([p[k] for p in pieces]) for k in (1, 2))
        fits = np.flatnonzero((bottom <= value) & (value <= top))
        if not fits.size:
            # alpha is outside the whole polyline: go to the nearest end first.
            ends = np.concatenate([bottom, top])
            value = float(ends[np.argmin(np.abs(ends - value))])
            self.hold(row, value)
            fits = np.flatnonzero((bottom <= value) & (value <= top))
        u, former = float(self.u[row]), self._largest_alpha()
        places = [np.clip(self._where_on(row, pieces[k], value), *pieces[k][3]) for k in fits]
        best = int(np.argmin(np.abs(u - np.array(places))))
        del self.held[row]
        self._write_own(row)
        self.alpha[row] = value
        self._ask(row, value)
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
        self._make_exact(former)

    def _make_exact(self, former: float) -> None:
        """Recompute u and correct the point; raise TraceError if it cannot be proven.

        What it may be off is the rounding of the numbers it has now, as in the certificate: that
        alphas were as large as `former` before is no excuse.
        """
        recording = self.cursor.recording
        # The sizes of this point are not those of the base, and a correction may refactorise.
        self._refactored, self.cursor.recording = True, 0
        lost = self._solving_error() * former
        # (If nothing but rounding is left, there is nothing that it could be compared with.)
        if not self._off_now() <= self.tolerances.repair or self._largest_alpha() <= lost:
            self._clear(lost)
            self.correct()
        if not self._is_exact(former):
            self._clear(np.inf)
            self.correct()
            if not self._is_exact(former):
                self.settle_still()
                if not self._proven():
                    raise self._inexact()
                return
        self.cursor.recording = recording

    def _is_exact(self, former: float) -> bool:
        """Whether the point is proven.  The certificate is asked unless the error is small and the
        alphas are about as large as before."""
        off, fallen = self._off_now(), self.tolerances.patience.fallen
        if off <= FORK_TOLERANCES.sure and self._largest_alpha() * fallen >= former:
            return True
        return off <= self.tolerances.repair and self._proven()

    def _off_now(self) -> float:
        """Recompute u, and return the error of the point relative to its present sizes."""
        self.coords.status.most[:] = 0.0
        self.refresh()
        return self.off

    def _largest_alpha(self) -> float:
        self.write_alpha()
        return float(np.abs(self.alpha).max(initial=0.0))

    def _clear(self, lost: float) -> None:
        """Set alphas up to `lost`, the rounding of larger ones, to 0: a correction from 0 finds the
        alphas that should be this small to the last digits, and those that should be 0."""
        self.write_alpha()
        alpha, free = self.alpha.copy(), self.active_index
        small = free[np.abs(alpha[free]) <= lost]
        if small.size:
            alpha[small] = 0.0
            self.set_guess(alpha, np.zeros(self.b.size))

    def _solving_error(self) -> float:
        """Return the relative error of an equation that is solved together with others."""
        equations = 1.0 + int(self.system.actives) + self.border.shape[1]
        return float(self.tolerances.proof.equation * EPS * np.sqrt(equations))

    def _where_on(self, row: int, piece: Piece, value: float) -> float:
        """Return the response that alpha gives on a slanted piece; the present one on others."""
        j = piece[0] // 2
        bend = float(self.own.curvature[row, j]) if piece[0] % 2 == 0 else 0.0
        return (float(self.own.slope[row, j]) - value) / bend if bend > 0.0 else float(self.u[row])

    def _write_own(self, row: int) -> None:
        lines, tables = self.model_polylines, self.own
        lines.slope.at[row], lines.slope.rate[row] = tables.slope[row], 0.0
        lines.slope.bend[row] = tables.curvature[row]
        lines.corner.at[row], lines.corner.rate[row] = tables.corner[row], 0.0
        lines.corner.kind[row] = self.own_kinds[row]

    def _own_pieces(self, row: int) -> list[Piece]:
        """Return the pieces of a row's own polyline, slopes first: where a slope and a knot meet
        they share alpha, and a slope takes no place in the factor."""
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

    def _ask(self, row: int, value: float) -> None:
        jobs = self._jobs
        jobs.row, jobs.value, jobs.begun, jobs.piece = row, value, 0, -1

    def _go(self) -> None:
        """Run the compiled code on the move set by `_ask`."""
        self.forget_effort()
        self.jumping.phase = state.FORKING
        try:
            self.run()
        finally:
            self.jumping.phase = state.ON_WAY

    # ------------------------------------------------------------------ recording

    def begin_record(self) -> None:
        """Start recording the move."""
        cursor = self.cursor
        cursor.open = cursor.entries = cursor.segments = 0
        cursor.recording = 1

    def end_record(self, stop: float) -> bool:
        """Finish recording; return False if the move was not followed all the way."""
        cursor = self.cursor
        followed, cursor.recording = bool(cursor.recording), 0
        self.seal()
        if followed and not cursor.segments:
            # Nothing moved: record one point.
            self.route.t = stop
            self.record_point()
            self.route.t = 0.0
        return followed

    # ------------------------------------------------------------------ rows

    def measure_row(self, row: int, diagonal: float, tables: Tables) -> None:
        """Set the sizes of a row that has just been written."""
        status, fence, fixed = self.coords.status, self.coords.fence, self.fixed
        square = float((self.border[row] ** 2).sum())
        status.own[row] = diagonal
        status.diag[row] = status.weight[row] = diagonal + fixed.rho * square
        fence.root[row], status.length[row] = np.sqrt(status.weight[row]), np.sqrt(diagonal)
        fixed.largest_root = max(float(fixed.largest_root), float(fence.root[row]))
        fixed.widest = max(float(fixed.widest), float(np.abs(self.border[row]).max(initial=0.0)))
        slope, corner = tables.slope[0], tables.corner[0]
        largest = float(np.abs(slope[np.isfinite(slope)]).max(initial=0.0))
        status.slope[row] = status.height[row] = largest
        corner = corner[np.isfinite(corner)]
        sizes, apart = np.abs(corner[corner != 0.0]), np.diff(corner)
        nearest = float(sizes.min()) if sizes.size else 0.0
        status.nearest[row], status.apart[row] = nearest, apart[apart > 0.0].min(initial=np.inf)
        middle = self._middle
        status.usual[row] = min(nearest, middle) if nearest > 0.0 else middle
        part = float(np.abs(self.border[row] * self.column.b).sum())
        scales = self.tolerances.scales
        fence.scale[row] = max(scales.of_corner * nearest, scales.of_border * part)

    # ------------------------------------------------------------------ back

    def restore(self) -> None:
        """Go back to the base from any point."""
        if self._refactored:
            self.go_back_anew()
        else:
            self.go_back()

    def go_back(self) -> None:
        """Go back to the base by undoing the logged changes."""
        self._jobs.begun = 0
        self._phase(state.UNDOING)
        self.held = dict(self._held_at_base)

    def go_back_anew(self) -> None:
        """Go back to the base after the factor was rebuilt."""
        base, lines, status = self.base, self.model_polylines, self.coords.status
        self._halt()
        lines.slope[...], lines.corner[...] = base.slope, base.corner
        self.piece[:], self.side[:], status.dependent[:] = base.piece, 0, base.dependent
        self.lift[:] = self.shift[:] = 0.0
        status.rate_in_pull[:], status.miss[:] = 0.0, base.miss
        self.alpha[:] = base.alpha
        self.use(lines)
        self.cursor.logged = 0
        size = int(self._jobs.actives)
        if size + 16 > self._capacity:
            self._reserve(2 * size + 16)
        self.active.factor[:size, :size] = base.factor
        self.go_back()
        self._refactored = False
        # Tolerances depend on sizes, which must be measured at the base.
        product = self.u - self.border @ self.b
        self._measure(float(self.alpha @ product))
