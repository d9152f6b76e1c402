"""What the tracker does not do itself at a jump: which coordinates flip if the model has its own
rule, and the crossing if the mu-homotopy cannot do it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from homotopy.conditional import ConditionalQP, ConditionalSolver, osqp_solver
from homotopy.errors import TraceError
from homotopy.model.polyline import JUMP, SEAM, Snapshot
from homotopy.path import Path
from homotopy.path.jump_record import METHODS
from homotopy.tracing.first_point import go_downhill
from homotopy.tracing.sides import Sides, in_turn
from homotopy.tracing.tolerances import TraceTolerances
from homotopy.tracker import Failed, OnRidge, Outcome, Tracker, Wants

__all__ = ["Jumps"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]

NONE: Index = np.empty(0, dtype=np.int64)
HOMOTOPY, OSQP, CUSTOM, LATE, DESCENT, CONVEX = METHODS


class Jumps:
    """Handles the jumps of one trace.

    Attributes
    ----------
    method : str
        How the present jump is crossed, one of `METHODS`.
    late : int
        Jumps that were crossed slightly later than their t.
    recovered : int
        Consecutive jumps at one t that the homotopy could not cross.
    """

    def __init__(
        self,
        tracker: Tracker,
        d_step: str,
        solver: ConditionalSolver,
        tolerances: TraceTolerances,
    ) -> None:
        self.tracker, self.problem = tracker, tracker.problem
        self.d_step, self.solver, self.tolerances = d_step, solver, tolerances
        self.by_solver = OSQP if solver is osqp_solver else CUSTOM
        self.late = self.recovered = 0
        self.recovered_at, self.late_from = np.nan, (np.nan, 0)
        self.ridge: tuple[int, float] | None = None
        self.solvable = d_step == "auto" and self.problem.gram.semidefinite
        tracker.jumping.may_leave = self.solvable
        self._choose_usual()

    def forced(self, path: Path) -> bool:
        """Whether a jump of `path` was crossed late, or by a QP solver that was not asked for."""
        by_solver = any(jump.solver in (OSQP, CUSTOM) for jump in path.jumps)
        return bool(self.late or (self.solvable and by_solver))

    @staticmethod
    def crossed_whole(path: Path) -> Array:
        """Return the places of the jumps that were crossed as a whole."""
        return np.array([jump.t for jump in path.jumps if jump.solver == CONVEX])

    def see_to(self, outcome: Outcome) -> None:
        """Do what the tracker requests."""
        if isinstance(outcome, Failed):
            if not outcome.crossing:
                raise outcome.error
            self._recover()
        elif isinstance(outcome, OnRidge):
            self._fall_off(outcome)
        elif outcome is Wants.FLIPS:
            self._ask()
        elif outcome is Wants.CROSSING:
            self._cross()

    # ------------------------------------------------------------------ the choice of a method

    def _choose(self, method: str) -> None:
        self.method = method
        self.tracker.jumping.by_solver = method != HOMOTOPY

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
                "be crossed at their t"
            )
        tracker.rewind_jump()
        self._cross_late()

    def _cross_late(self) -> None:
        """Cross the jump slightly further along, where the ties at its exact t are gone.

        The present point is carried along unchanged; the fraction of the span is far below the
        tolerance of the certificate.
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

    def _ask(self) -> None:
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
        tracker.jumping.solved_by = max(int(tracker.jumping.solved_by), METHODS.index(self.method))
        self._choose_usual()

    def _solve(self, snap: Snapshot, target: Array) -> None:
        """Find the conditional optimum with the QP solver."""
        tracker, sides = self.tracker, self._sides()
        ends = zip(sides.first.tolist(), sides.last.tolist(), strict=True)
        slices = [slice(first, last + 1) for first, last in ends]
        qp = ConditionalQP.build(self.problem, snap, target, slices, tracker.pulse)
        self._take(*self.solver(qp), sides, snap)

    def _cross_whole(self, t: float, snap: Snapshot) -> None:
        """Find a better local optimum by convex problems in turn."""
        tracker, problem = self.tracker, self.problem
        near = self.tolerances.at_corner * tracker.size_of_u()
        point = tracker.alpha.copy(), tracker.b
        alpha, b, sides, turns = in_turn(
            problem, t, point, self._sides(), near, self.tolerances, tracker.pulse
        )
        # Each of them is a round of the jump.
        tracker.jumping.rounds += turns - 1
        self._take(alpha, b, sides, snap)

    def _take(self, alpha: Array, b: Array, sides: Sides, snap: Snapshot) -> None:
        """Put every coordinate on the piece of its side that is nearest to alpha and b."""
        tracker = self.tracker
        tracker.place(alpha, b)
        given = tracker.piece // 2
        tracker.assign(snap, sides.first, sides.last)
        self._keep_sides(snap, given)

    def _sides(self) -> Sides:
        """Return the convex branch of each coordinate."""
        tracker = self.tracker
        slope = tracker.piece // 2 + ((tracker.piece % 2 == 1) & (tracker.side > 0))
        return Sides.of(slope, tracker.model_polylines.corner.kind == JUMP)

    def _keep_sides(self, snap: Snapshot, given: Index) -> None:
        """Keep the side of coordinates on a jump of height zero (as at theta = 1)."""
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
        return path._first(count) if count else None

    def state(self) -> dict[str, float]:
        """Return what a checkpoint must contain, by name."""
        i, way = self.ridge or (-1, 0.0)
        return {
            "late": self.late,
            "late_from": self.late_from[0],
            "late_segments": self.late_from[1],
            "recovered": self.recovered,
            "recovered_at": self.recovered_at,
            "method": METHODS.index(self.method),
            "ridge": i,
            "ridge_way": way,
        }

    def restore(self, saved: Mapping[str, float]) -> None:
        """Continue from `state`."""
        self.late, self.recovered = int(saved["late"]), int(saved["recovered"])
        self.late_from = saved["late_from"], int(saved["late_segments"])
        self.recovered_at = saved["recovered_at"]
        self.method = METHODS[int(saved["method"])]
        i, way = int(saved["ridge"]), saved["ridge_way"]
        self.ridge = (i, way) if i >= 0 else None
