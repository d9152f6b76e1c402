"""The tracker: the owner of everything that moves, and what is done between compiled runs.

Three routes exist, and compiled code cannot tell them apart (see `homotopy.tracker.state`):

* *along*: the model's own polylines, tau = t (the C-step);
* *across*: t is fixed, the branch of each flipped coordinate comes down (or up) from where the
  coordinate stands, tau = mu from 1 to 0 (the D-step);
* *settling*: t is fixed, each polyline is shifted sideways so that a guess is exactly optimal at
  mu = 1, tau = mu from 1 to 0 (any start, warm or cold, and every repair).

alpha_A and u are integrated, never recomputed from the partition: in a nearly singular active
system recomputing would throw alpha about within its bounds.  `Tracker.refresh` measures the
residual; a residual that grew is solved for or removed by settling, which respects every bound.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from homotopy.tracker import state
from homotopy.tracker.outcomes import (
    Arrived,
    Failed,
    Failure,
    OnRidge,
    Outcome,
    Paused,
    Wants,
)
from homotopy.tracker.settling import Settling

__all__ = ["Tracker"]


OUTCOMES: dict[int, Outcome] = {
    state.ARRIVED: Arrived(),
    state.PAUSE: Paused(),
    state.ASK: Wants.FLIPS,
    state.SOLVE: Wants.CROSSING,
}


class Tracker(Settling):
    """Takes a point along routes; see `Memory` for what it holds."""

    def advance(self, listen: Callable[[], bool]) -> Outcome:
        """Go on until the route ends, `listen` wants a look or something is in the way."""
        try:
            code = self.run(listen)
        except Failure as error:
            return Failed(
                error, crossing=self.jumping.in_jump not in (state.ON_WAY, state.FACTORING)
            )
        if code == state.INDEFINITE:
            return OnRidge(int(self.event.want), -1.0 if self.event.way > 0 else 1.0)
        return OUTCOMES[code]

    def _maintain(self) -> None:
        """Recompute u; where the point is off, make it exact again on the spot."""
        system = self.system
        self.cursor.due = self.cursor.steps + self._interval()
        if system.mass_along > system.carrying or system.mass_across > 0.0:
            self.reset_pull()
        if self.correct():
            return
        self.settle_here()
        self.refresh()
        self.doubt = max(self.doubt, self.off)

    def start_record(self) -> None:
        """The path begins here."""
        cursor = self.cursor
        self.here.spot.most[:] = np.abs(self.alpha)
        cursor.recording = 1
        cursor.open = cursor.entries = cursor.segments = cursor.logged = cursor.jumps = (
            self.jumping.crossings
        ) = 0
        self.jumping.in_jump, cursor.due = state.ON_WAY, cursor.steps + self._interval()
        self._started = True

    def restore(self) -> None:
        """Go back to where the present jump began, those pressing on its corner about to flip."""
        route, jumping, cursor = self.route, self.jumping, self.cursor
        rec = self.rec
        for entry in reversed(rec.log[jumping.jump_log : cursor.logged].tolist()):
            i, piece, side, _ = entry
            self.piece[i], self.side[i] = piece, side
        cursor.logged = jumping.jump_log
        self.lift[:] = 0.0
        self.shift[:] = 0.0
        kept = self.mov.kept_index[: jumping.kept]
        self.alpha[kept], self.b = self.mov.kept_alpha[: jumping.kept], self.column.kept
        route.settling, cursor.recording = 0, 1
        self.forget_effort()
        self.use(self.model_lines)
        self.head_along(float(route.t))
        self.refresh()
        self.rebuild(0.0)
        cursor.recording, route.pin = 1, 0
        noted = np.sort(self.here.tied[self.here.tied.size - jumping.pressing :])
        self.mov.flips[: jumping.pressing] = noted
        jumping.flips, jumping.rounds, jumping.in_jump = (
            jumping.pressing,
            0,
            state.FLIPPING,
        )
        jumping.asked = 0

    def end_crossing(self, t: float) -> None:
        """After settling at t: as if a D-step had just come to the end of a round."""
        route, cursor = self.route, self.cursor
        self.use(self.model_lines)
        route.along, route.dt, route.dmu, route.pin, cursor.recording = (
            0,
            0.0,
            1.0,
            1,
            1,
        )
        (
            route.t,
            route.mu,
            route.tau,
            route.start,
            route.stop,
            route.sign,
        ) = t, 0.0, 0.0, 1.0, 0.0, -1.0
        self.column.target_rate[:] = 0.0
        self.reset_pull()
        self.refresh()
        cursor.due = cursor.steps + self._interval()
        self.jumping.in_jump = state.ROUND_DONE
