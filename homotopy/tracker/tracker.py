"""The tracker: the owner of everything that moves, and the work between compiled runs.

There are three routes, and compiled code treats them alike (see `homotopy.tracker.state`):

* *along*: the model's own polylines, tau = t (the C-step);
* *across*: t is fixed, the branch of each flipped coordinate comes down (or up) from the position
  of the coordinate, tau = mu from 1 to 0 (the D-step);
* *settling*: t is fixed, each polyline is shifted sideways so that a guess is exactly optimal at
  mu = 1, tau = mu from 1 to 0 (any start, warm or cold, and every repair).

alpha_A and u are integrated, never recomputed from the partition: in a nearly singular active
system a recomputation would scatter alpha within its bounds.  `Tracker.refresh` measures the
residual; if it has grown, it is solved for, or removed by settling, which respects every bound.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from homotopy.model import Problem
from homotopy.tracker import state, tasks
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

Array = npt.NDArray[np.float64]

OUTCOMES: dict[int, Outcome] = {
    state.ARRIVED: Arrived(),
    state.PAUSE: Paused(),
    state.ASK: Wants.FLIPS,
    state.SOLVE: Wants.CROSSING,
}


class Tracker(Settling):
    """Moves a point along routes; see `Memory` for its data."""

    def advance(self, listen: Callable[[], bool]) -> Outcome:
        """Continue until the route ends, `listen` requests a pause or an obstacle is met."""
        try:
            code = self.run(listen)
        except Failure as error:
            return Failed(error, crossing=self.jumping.phase not in (state.ON_WAY, state.FACTORING))
        if code == state.INDEFINITE:
            return OnRidge(int(self.event.requested), -1.0 if self.event.way > 0 else 1.0)
        return OUTCOMES[code]

    def _maintain(self) -> None:
        """Recompute u; if the point is off, make it exact again on the spot."""
        system = self.system
        self.cursor.due = self.cursor.steps + self._interval()
        if system.mass_along > system.pull_mass or system.mass_across > 0.0:
            self.reset_pull()
        if self.correct():
            return
        self.settle_here()
        self.refresh()
        self.judge(float(self.sizes.bound))

    def start_record(self) -> None:
        """Start recording: the path begins here."""
        cursor = self.cursor
        self.doubts.begin(self.doubts.whole)
        self.coords.status.most[:] = np.abs(self.alpha)
        cursor.recording = 1
        cursor.open = cursor.entries = cursor.segments = cursor.logged = cursor.jumps = (
            self.jumping.crossings
        ) = 0
        self.jumping.phase, cursor.due = state.ON_WAY, cursor.steps + self._interval()
        self._started, self.gap = True, float(self.sizes.gap)

    def turn_to(self, problem: Problem) -> bool:
        """Continue with another problem that has the same Q, border and pieces; return False if its
        path does not begin at the present point."""
        route, sizes, cursor = self.route, self.sizes, self.cursor
        self.problem = problem
        self.repairs, self._started = 0, False
        self._scaled, self._corners_at = (), None
        self._corners_move = bool(np.any(problem.polylines.corner1))
        sizes.strain = sizes.broken = sizes.most_norm = sizes.most_mass = 0.0
        cursor.recording = cursor.steps = cursor.pivots = cursor.exchanges = cursor.slides = 0
        cursor.refined = self.scope.opened = self.scope.retry_step = 0
        route.t = self._settling_at = problem.start
        self.forget_effort()
        self.load_model(problem.start, problem.stop)
        self.head_along(problem.start)
        self.refresh()
        self.doubts.begin(float(sizes.bound))
        return bool(self.off <= self.tolerances.repair and not np.any(self.side))

    def run_legs(self, corner: Array, target: Array, scale: Array) -> tuple[tasks.Legs, int]:
        """Follow legs one after another from the present point (`homotopy.tracker.legs`); return
        them with their marks, and how many are complete."""
        cursor, jumping = self.cursor, self.jumping
        self.legs = legs = tasks.legs_of(corner, target, scale, self._interval())
        self.polylines = self.model_polylines
        cursor.entries = cursor.segments = cursor.logged = cursor.jumps = cursor.open = 0
        cursor.stop_steps = cursor.stop_segments = np.iinfo(np.int64).max
        jumping.crossings, jumping.phase = 0, state.BEGINNING_LEG
        code = self._call()
        while code in (state.FULL, state.RECORD_FULL):
            self.make_room(code)
            code = self._call()
        jumping.phase, self.legs = state.ON_WAY, tasks.no_legs()
        return legs, int(legs.plan.leg[0])

    def rewind_jump(self) -> None:
        """Go back to the beginning of the present jump, before any coordinate flipped."""
        route, jumping, cursor = self.route, self.jumping, self.cursor
        changes = self.record.log[jumping.jump_log : cursor.logged].tolist()
        for i, piece, side, _ in reversed(changes):
            self.piece[i], self.side[i] = piece, side
        cursor.logged = jumping.jump_log
        self.lift[:] = 0.0
        self.shift[:] = 0.0
        kept = self.motion.kept_index[: jumping.kept]
        self.alpha[kept], self.b = self.motion.kept_alpha[: jumping.kept], self.column.kept
        route.settling, cursor.recording = 0, 1
        self.forget_effort()
        self.use(self.model_polylines)
        self.head_along(float(route.t))
        self.refresh()
        self.rebuild(0.0)
        cursor.recording, route.pin = 1, 0
        noted = np.sort(self.coords.tied[self.coords.tied.size - jumping.pressing :])
        self.motion.flips[: jumping.pressing] = noted
        jumping.flips, jumping.phase = jumping.pressing, state.FLIPPING
        jumping.rounds = jumping.asked = 0

    def end_crossing(self, t: float) -> None:
        """After settling at t, continue as if a D-step had just ended a round."""
        route, cursor = self.route, self.cursor
        self.use(self.model_polylines)
        cursor.recording, route.t = 1, t
        self.head_across(0.0)
        self.column.target_rate[:] = 0.0
        self.reset_pull()
        self.refresh()
        cursor.due = cursor.steps + self._interval()
        self.jumping.phase = state.ROUND_DONE
