"""Compiled runs: what they are given, and what they want on the way."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from homotopy.errors import ModelError, TraceError
from homotopy.tracker import state
from homotopy.tracker.outcomes import (
    Failure,
    Kind,
)
from homotopy.tracker.routes import Routes
from homotopy.tracker.running import run

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
        "the way on {where} could not be resolved among {tied} tied coordinates",
    ),
}


class Runs(Routes):
    """Lets compiled code go on, and sees to what it wants."""

    def _maintain(self) -> None:
        """Recompute u, and make the point exact again where it is off."""
        raise NotImplementedError

    @property
    def in_jump(self) -> bool:
        """Whether the route is at a jump or on its way across one."""
        return bool(self.jumping.in_jump != state.ON_WAY)

    def run(self, listen: Callable[[], bool] | None = None) -> int:
        """Let compiled code go on until the route ends, or ASK or SOLVE; whatever else it wants is
        seen to.  `listen` is called at every pause; True stops."""
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
                missing = np.array([event.want])
                self.gram.fetch(missing, self._held())
                if self.gram.rows()[1][missing[0]] < 0:  # type: ignore[index]
                    raise TraceError(f"gram.fetch did not bring row {missing[0]} of Q")
            elif code == state.FULL:
                self._reserve(2 * self._capacity + int(self.jumping.flips + self.system.idles))
            elif code == state.RECORD_FULL:
                self._more_record()
            elif code == state.PANEL_FULL:
                room = min(self.gram.size, 2 * int(self.scope.looked))
                self.win = self.win._replace(
                    packed=np.zeros((self.width, room)),
                )
            elif code == state.INDEFINITE:
                if not self.gram.semidefinite and self._started and not self.route.settling:
                    return code
                self._refuse_indefinite()
            else:
                if code == state.UNBOUNDED and np.all(np.isfinite(self.model_lines.slope.at)):
                    # Every alpha is bounded: that something has to move without end is rounding.
                    code = state.STUCK
                kind, message = FAILURES[code]
                about = {
                    "where": self._where(),
                    "want": int(event.want),
                    "tied": int(event.tied),
                }
                raise Failure(message.format(**about), kind)

    def _call(self) -> int:
        """Compiled code, from where it stands to where it wants something."""
        moving = self.here, self.act, self.mov, self.win, self.rec, self.base
        arrays = state.Arrays(self._stored(), self.lines, *moving)
        return int(run(arrays, self._scalars, self._tol, self._opt))

    def _where(self) -> str:
        """The present place in the user's words."""
        route = self.route
        t = self._settling_at if route.settling else float(route.t)
        word = "beyond" if route.along else "at"
        return f"{word} {self.problem.model.parameter}={t:.17g}"

    def _held(self) -> Index:
        """Rows that must stay: the active, those about to flip, those a window goes back to."""
        scope = self.scope
        held = [
            self.active,
            self.mov.flips[: self.jumping.flips] // 2,
            self.mov.flips[: self.jumping.flips],
        ]
        if scope.window == state.BY_TURN:
            held += [
                self.win.index_seen[: scope.size_seen],
                self.here.near[: scope.looked_seen],
            ]
        index = np.concatenate(held)
        return np.asarray(index[index < self.gram.size])

    def _stored(self) -> state.Form:
        """The quadratic form, with the rows of Q that are there."""
        stored = self.gram.rows()
        if self._phi is not None or stored is None:
            return self._form
        if np.any(stored[1][self.active] < 0):
            self.gram.fetch(self.active, self._held())
            stored = self.gram.rows()
            assert stored is not None
        if not stored[0].flags.writeable:
            if self._form.store.size == 0:
                self._form = self._form._replace(store=stored[0].copy(), slot=stored[1])
            return self._form
        return self._form._replace(store=stored[0], slot=stored[1])

    def _refuse_indefinite(self) -> None:
        index = np.append(self.active, self.event.want)
        values = np.linalg.eigvalsh(self.gram.block(index, index))
        negative = self.tolerances.independence.negative
        largest = max(values[-1], float(self.gram.diag.max()))
        if self.gram.semidefinite and values[0] < -negative * largest:
            raise ModelError(
                f"gram is not positive semidefinite: a block of {index.size} coordinates has "
                f"eigenvalues from {values[0]:.3g} to {values[-1]:.3g}; a quadratic form must have "
                "no negative eigenvalue (for a precomputed or sigmoid kernel, clip its spectrum)"
            )
        raise Failure("the active columns cannot be made independent")

    def _phase(self, phase: int) -> None:
        """Let compiled code do one thing where the route stands."""
        jumping = self.jumping
        kept, jumping.in_jump = jumping.in_jump, phase
        self.run()
        jumping.in_jump = kept

    def _check_progress(self) -> None:
        """Work at one t is bounded: the path must move on, a jump or a repair come to its end."""
        route, tol = self.route, self.tolerances
        (t, steps, repairs), patience = self._anchor, tol.patience
        if not abs(route.t - t) <= tol.standstill * abs(route.last - route.first):
            self.forget_effort()
            return
        each = patience.steps_each if self._started else patience.steps_to_start
        most = patience.steps + each * self.u.size
        if self.cursor.steps - steps > most or self.repairs - repairs > patience.repairs:
            raise Failure(
                f"{self.cursor.steps - steps} steps and {self.repairs - repairs} repairs "
                f"{self._where()} led nowhere"
            )

    def forget_effort(self) -> None:
        """Whatever is tried from here on has time of its own."""
        self._anchor = (float(self.route.t), int(self.cursor.steps), self.repairs)
