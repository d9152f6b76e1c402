"""Jumps that the tracker cannot handle alone: the model's own rule for flips, and crossings on
which the mu-homotopy fails."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from homotopy.arrays import Array, Index
from homotopy.conditional import ConditionalQP, osqp_solver
from homotopy.errors import TraceError
from homotopy.model.polyline import JUMP, SEAM, Snapshot
from homotopy.path import Path
from homotopy.path.jump_record import METHODS
from homotopy.path.part import beginning
from homotopy.tracing.first_point import go_downhill
from homotopy.tracing.options import Options
from homotopy.tracing.sides import Sides, solve_in_turn
from homotopy.tracker import Failed, OnRidge, Outcome, Tracker, Wants

NONE: Index = np.empty(0, dtype=np.int64)
HOMOTOPY, OSQP, CUSTOM, LATE, DESCENT, CONVEX = METHODS


class Jumps:
    """Handles the jumps of one trace."""

    def __init__(self, tracker: Tracker, options: Options) -> None:
        self.tracker, self.problem, self.tolerances = tracker, tracker.problem, options.tracing
        self.d_step, self.solver = options.d_step, options.solver
        self.by_solver = OSQP if self.solver is osqp_solver else CUSTOM
        # How many jumps were crossed slightly later than their t; where the latest of them begin:
        # t, and the number of segments before it.
        self.late, self.late_from = 0, (np.nan, 0)
        # Consecutive jumps at one t that the homotopy could not cross.
        self.recovered, self.recovered_at = 0, np.nan
        self.ridge: tuple[int, float] | None = None
        tracker.jumping.may_delegate = self.d_step == "auto" and self.problem.gram.semidefinite
        self._choose_usual()

    def certificate_decides(self, path: Path) -> bool:
        """Whether a jump of `path` was crossed late, or by the QP solver as a fallback."""
        by_solver = any(jump.solver in (OSQP, CUSTOM) for jump in path.jumps)
        return bool(self.late or (self.solvable and by_solver))

    @staticmethod
    def crossed_whole(path: Path) -> Array:
        """Return the t of the jumps that were crossed as a whole."""
        return np.array([jump.t for jump in path.jumps if jump.solver == CONVEX])

    def handle(self, outcome: Outcome) -> None:
        """Do what the tracker requests; raise its error if that was not at a jump."""
        if isinstance(outcome, Failed):
            if not outcome.crossing:
                raise outcome.error
            self._recover()
        elif isinstance(outcome, OnRidge):
            self._fall_off(outcome)
        elif outcome is Wants.FLIPS:
            self._choose_flips()
        elif outcome is Wants.CROSSING:
            self._cross()

    # ------------------------------------------------------------------ the choice of a method

    @property
    def solvable(self) -> bool:
        """Whether jumps that the homotopy cannot cross may be solved as QPs."""
        return bool(self.tracker.jumping.may_delegate)

    @property
    def method(self) -> str:
        """How the present jump is to be crossed, one of `METHODS`."""
        return METHODS[int(self.tracker.jumping.method)]

    def _choose(self, method: str) -> None:
        self.tracker.jumping.method = METHODS.index(method)

    def _choose_usual(self) -> None:
        self._choose(self.by_solver if self.d_step == "osqp" else HOMOTOPY)

    def _recover(self) -> None:
        """Handle a jump that could not be crossed: as a whole, by the QP solver, or slightly
        later."""
        tracker, t = self.tracker, float(self.tracker.route.t)
        self.recovered = self.recovered + 1 if t == self.recovered_at else 1
        self.recovered_at, self.ridge = t, None
        if (
            self.solvable
            and self.method == HOMOTOPY
            and self.recovered <= self.tolerances.recoveries
        ):
            tracker.rewind_jump()
            self._choose(CONVEX if self.recovered == 1 else self.by_solver)
            return
        if self.late >= tracker.tolerances.patience.most_late:
            raise TraceError(
                f"{self.late} jumps up to {self.problem.model.parameter}={t:.17g} could not "
                "be crossed exactly"
            )
        tracker.rewind_jump()
        self._cross_late()

    def _cross_late(self) -> None:
        """Cross the jump slightly further along, where the ties at its exact t are gone.

        The present point is kept until there; the distance is far below the tolerance of the
        certificate.
        """
        tracker = self.tracker
        span = tracker.route.last - tracker.route.first
        if not abs(tracker.route.t - self.late_from[0]) <= self.tolerances.nearby * abs(span):
            self.late_from = (float(tracker.route.t), tracker.recorded())
        late = tracker.route.t + tracker.tolerances.late * span
        if abs(tracker.route.last - tracker.route.t) <= abs(late - tracker.route.t):
            late = tracker.route.last
        tracker.record_standstill(float(late))
        tracker.head_along(float(late))
        self.late += 1
        self._choose(LATE)
        tracker.begin_jump_at(NONE)

    def _fall_off(self, outcome: OnRidge) -> None:
        """Treat a local optimum that has become a ridge as another kind of jump."""
        self.ridge = outcome.coordinate, outcome.way
        self.tracker.refresh()
        self.tracker.begin_jump_at(NONE)
        self._choose(DESCENT)

    # ------------------------------------------------------------------ crossing

    def _choose_flips(self) -> None:
        """Let a model with its own rule choose which coordinates flip."""
        tracker = self.tracker
        noted = tracker.motion.flips[: tracker.jumping.flips].copy()
        chosen = self.problem.model.flips(float(tracker.route.t), noted // 2, tracker.u.copy())
        kept = noted[np.isin(noted // 2, np.asarray(chosen, dtype=np.int64))]
        kept = kept if kept.size else noted
        tracker.motion.flips[: kept.size] = kept
        tracker.jumping.flips, tracker.jumping.asked = kept.size, 1

    def _cross(self) -> None:
        """Go to the optimum on the other side: downhill, by the QP solver, or unchanged if crossed
        late; then make it exact."""
        tracker = self.tracker
        t = float(tracker.route.t)
        snap, target = self.problem.polylines.at(t), self.problem.target(t)
        before = tracker.piece.copy()
        if self.method == DESCENT:
            go_downhill(tracker, snap, self.ridge)
            self.ridge = None
        elif self.method == CONVEX:
            self._cross_whole(t, snap)
        elif self.method != LATE:
            self._solve(snap, target)
        tracker.log_changes(before)
        tracker.settle(t, snap, target)
        tracker.end_crossing(t)
        if not tracker.off <= tracker.tolerances.accepted:
            raise TraceError(
                f"the jump at {self.problem.model.parameter}={t:.17g} could not be made exact: its "
                f"error is {tracker.off:.2g} times the rounding error expected"
            )
        # If there were several rounds, record the most unusual method.
        tracker.jumping.solved_by = max(tracker.jumping.solved_by, tracker.jumping.method)
        self._choose_usual()

    def _solve(self, snap: Snapshot, target: Array) -> None:
        """Find the conditional optimum with the QP solver."""
        tracker, sides = self.tracker, self._sides()
        ends = zip(sides.first.tolist(), sides.last.tolist(), strict=True)
        slices = [slice(first, last + 1) for first, last in ends]
        qp = ConditionalQP.build(self.problem, snap, target, slices, tracker.pulse)
        self._place(*self.solver(qp), sides, snap)

    def _cross_whole(self, t: float, snap: Snapshot) -> None:
        """Find a better local optimum by a sequence of convex problems."""
        tracker, problem = self.tracker, self.problem
        near = self.tolerances.at_corner * tracker.size_of_u()
        point = tracker.alpha.copy(), tracker.b
        alpha, b, sides, count = solve_in_turn(
            problem, t, point, self._sides(), near, self.tolerances, tracker.pulse
        )
        # Each of them is a round of the jump.
        tracker.jumping.rounds += count - 1
        self._place(alpha, b, sides, snap)

    def _place(self, alpha: Array, b: Array, sides: Sides, snap: Snapshot) -> None:
        """Put every coordinate on the piece of its side that is nearest to alpha and b."""
        tracker = self.tracker
        tracker.set_guess(alpha, b)
        given = tracker.piece // 2
        tracker.assign(snap, sides.first, sides.last)
        self._keep_sides(snap, given)

    def _sides(self) -> Sides:
        """Return the convex branch of each coordinate."""
        tracker = self.tracker
        slope = tracker.piece // 2 + ((tracker.piece % 2 == 1) & (tracker.side > 0))
        return Sides.of(slope, tracker.model_polylines.corner.kind == JUMP)

    def _keep_sides(self, snap: Snapshot, given: Index) -> None:
        """Keep the side of coordinates on a jump whose height is 0 at this t."""
        tracker = self.tracker
        near = self.tolerances.on_corner * tracker.size_of_u()
        for j in np.flatnonzero(self.problem.polylines.jump).tolist():
            on_it = (np.abs(tracker.u - snap.corner[:, j]) <= near) & (snap.kind[:, j] == SEAM)
            slope = tracker.piece // 2
            on_it &= (tracker.piece % 2 == 0) & (np.minimum(given, slope) == j)
            on_it &= np.maximum(given, slope) == j + 1
            tracker.piece[on_it] = 2 * given[on_it]

    # ------------------------------------------------------------------ results and checkpoints

    def before_late_ones(self, path: Path) -> Path | None:
        """Return `path` without the jumps at its end that could not be crossed at their t."""
        (t, count), near = self.late_from, self.tolerances.nearby * abs(path.span[1] - path.span[0])
        if not abs(path.traced[1] - t) <= near or count >= len(path.segments):
            return path
        return beginning(path, count) if count else None

    def state(self) -> dict[str, float]:
        """Return what a checkpoint must contain, by name."""
        i, way = self.ridge or (-1, 0.0)
        return {
            "late": self.late,
            "late_from": self.late_from[0],
            "late_segments": self.late_from[1],
            "recovered": self.recovered,
            "recovered_at": self.recovered_at,
            "ridge": i,
            "ridge_way": way,
        }

    def load_state(self, saved: Mapping[str, Any]) -> None:
        """Continue from `state`."""
        numbers = {name: value.item() for name, value in saved.items()}
        self.late, self.recovered = numbers["late"], numbers["recovered"]
        self.late_from = numbers["late_from"], numbers["late_segments"]
        self.recovered_at = numbers["recovered_at"]
        i, way = numbers["ridge"], numbers["ridge_way"]
        self.ridge = (i, way) if i >= 0 else None
