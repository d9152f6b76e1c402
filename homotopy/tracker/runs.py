"""Runs of compiled code: their input, and how their requests are handled."""

from __future__ import annotations

import time
from collections.abc import Callable
from operator import is_not

import numpy as np
import numpy.typing as npt

from homotopy.errors import ModelError, TraceError
from homotopy.tracker import state
from homotopy.tracker.outcomes import Failure, Kind
from homotopy.tracker.routes import Routes
from homotopy.tracker.running import run, stored_core
from homotopy.tracker.validity import examined_changed

__all__ = ["Runs"]

Index = npt.NDArray[np.int64]

FAILURES = {
    state.UNBOUNDED: (
        Kind.NO_OPTIMUM,
        "no optimum exists {where}: coordinate {want} must move and nothing bounds it "
        "(the problem is infeasible or unbounded there)",
    ),
    state.UNBALANCED: (
        Kind.NO_OPTIMUM,
        "no optimum exists {where}: the border equations cannot be balanced "
        "(B^T alpha = e has no solution within the slopes)",
    ),
    state.STUCK: (
        Kind.STUCK,
        "the path could not be continued {where} ({tied} coordinates on corners there)",
    ),
}


class Runs(Routes):
    """Runs compiled code and handles its requests."""

    def _maintain(self) -> None:
        """Recompute u, and make the point exact again if it is off."""
        raise NotImplementedError

    def use(self, polylines: state.PolylineRecords) -> None:
        """Use these polylines: set fences, and sums over the flat coordinates."""
        self.polylines = polylines
        self._phase(state.SETTING_FENCES)

    def examine_all(self) -> None:
        """Examine all coordinates again, as `homotopy.tracker.windows.examine_all` does."""
        scope = self.scope
        self.coords.near[:] = self._every
        scope.examined, scope.window = self.u.size, state.NO_WINDOW
        scope.packed = self.fixed.transposed
        self.note(examined_changed)

    def write_alpha(self) -> None:
        """Write alpha of the flat coordinates, the value of their slope."""
        self._phase(state.WRITING)

    @property
    def in_jump(self) -> bool:
        """Whether the route is at a jump or crossing one."""
        return bool(self.jumping.phase != state.ON_WAY)

    def run(self, listen: Callable[[], bool] | None = None) -> int:
        """Run compiled code until the caller must act; handle all other requests.

        `listen` is called at every pause; if it returns True, the run stops there.
        """
        event, pauses = self.event, self.tolerances.pauses
        burst = pauses.burst
        while True:
            self.cursor.stop_steps = self.cursor.steps + burst
            begun = time.perf_counter()
            code = self._call()
            if code in (state.ARRIVED, state.ASK, state.SOLVE):
                return code
            if self.pulse is not None:
                self.pulse()
            if code in (state.PAUSE, state.REPAIR):
                self._check_progress()
            if code == state.PAUSE:
                if listen is not None and listen():
                    return code
                took = time.perf_counter() - begun
                fewer, more = max(1, burst // 2), min(pauses.burst, 2 * burst)
                burst = fewer if took > pauses.seconds else more
            elif code == state.REPAIR:
                self._maintain()
            elif code == state.MISSING:
                missing = np.array([event.requested])
                self.gram.fetch(missing, self._held())
                if self.gram.rows()[1][missing[0]] < 0:  # type: ignore[index]
                    raise TraceError(
                        f"Gram.fetch must store every row it is given; row {missing[0]} is missing"
                    )
            elif code in (state.FULL, state.RECORD_FULL):
                self.make_room(code)
            elif code == state.PANEL_FULL:
                room = min(self.gram.size, 2 * int(self.scope.examined))
                self.window = self.window._replace(packed=np.zeros((self.width, room)))
            elif code == state.INDEFINITE:
                if not self.gram.semidefinite and self._started and not self.route.settling:
                    return code
                self._refuse_indefinite()
            else:
                if code == state.UNBOUNDED and np.all(np.isfinite(self.model_polylines.slope.at)):
                    # Every alpha is bounded, so an unbounded move can only be rounding.
                    code = state.STUCK
                kind, message = FAILURES[code]
                want, tied = int(event.requested), int(event.tied)
                raise Failure(message.format(where=self._where(), want=want, tied=tied), kind)

    def make_room(self, code: int) -> None:
        """Enlarge what is full: the factor or the record."""
        if code == state.FULL:
            self._reserve(2 * self._capacity + int(self.jumping.flips + self.system.dependents))
        else:
            self._more_record()

    def _call(self) -> int:
        """Call compiled code once; return its code."""
        arrays = state.Arrays(
            self._stored(), self.polylines, self.coords, self.active,
            self.motion, self.window, self.record, self.base, self.legs,
        )  # fmt: skip
        if any(map(is_not, arrays, self._arrays)):
            self._arrays = arrays
            self._core = stored_core(arrays, self._scalars, self._tol, self._opt)
        return int(run(self._core))

    def _where(self) -> str:
        """Return the present place in the user's terms."""
        route = self.route
        t = self._settling_at if route.settling else float(route.t)
        word = "beyond" if route.along else "at"
        return f"{word} {self.problem.model.parameter}={t:.17g}"

    def _held(self) -> Index:
        """Return the rows that must stay stored: active, about to flip, or needed by a window."""
        scope = self.scope
        # (Flips are encoded as 2 i + side, except while coordinates are factored.)
        flips = self.motion.flips[: self.jumping.flips]
        held = [self.active_index, flips // 2, flips]
        if scope.window == state.BY_DIRECTION:
            held += [
                self.window.index_seen[: scope.size_seen],
                self.coords.near[: scope.examined_seen],
            ]
        index = np.concatenate(held)
        return np.asarray(index[index < self.gram.size])

    def _stored(self) -> state.Form:
        """Return the quadratic form with the rows of Q that are stored."""
        stored = self.gram.rows()
        if self._phi is not None or stored is None:
            return self.form
        if self.system.actives and stored[1][self.active_index].min() < 0:
            self.gram.fetch(self.active_index, self._held())
            stored = self.gram.rows()
            assert stored is not None
        store, slot = stored
        if not store.flags.writeable:
            if self.form.store.size == 0:
                self.form = self.form._replace(store=store.copy(), slot=slot)
        elif store is not self.form.store or slot is not self.form.slot:
            self.form = self.form._replace(store=store, slot=slot)
        return self.form

    def _refuse_indefinite(self) -> None:
        index = np.append(self.active_index, self.event.requested)
        values = np.linalg.eigvalsh(self.gram.block(index, index))
        negative = self.tolerances.independence.negative
        largest = max(values[-1], float(self.gram.diag.max()))
        if self.gram.semidefinite and values[0] < -negative * largest:
            raise ModelError(
                f"gram is not positive semidefinite: a block of {index.size} coordinates has "
                f"eigenvalues from {values[0]:.3g} to {values[-1]:.3g}; a quadratic form must have "
                "no negative eigenvalue (for a precomputed or sigmoid kernel, clip its spectrum)"
            )
        raise Failure(
            f"the {self.system.actives} active columns of Q cannot be made independent "
            f"{self._where()}"
        )

    def _phase(self, phase: int) -> None:
        """Let compiled code do one task at the present point."""
        jumping = self.jumping
        kept, jumping.phase = jumping.phase, phase
        self.run()
        jumping.phase = kept

    def _check_progress(self) -> None:
        """Bound the work at one t: the path must progress, a jump or a repair must end."""
        route, tol = self.route, self.tolerances
        (t, steps, repairs), patience = self._anchor, tol.patience
        if not abs(route.t - t) <= tol.standstill * abs(route.last - route.first):
            self.forget_effort()
            return
        each = patience.steps_each if self._started else patience.steps_to_start
        most = patience.steps + each * self.u.size
        if self.cursor.steps - steps > most or self.repairs - repairs > patience.repairs:
            raise Failure(
                f"no progress {self._where()} after {self.cursor.steps - steps} steps and "
                f"{self.repairs - repairs} repairs"
            )

    def forget_effort(self) -> None:
        """Restart the count of the work at one t."""
        self._anchor = (float(self.route.t), int(self.cursor.steps), self.repairs)
