"""What the tracker leaves to others at a jump: who changes side where the model has a rule of its
own, and the crossing where the mu-homotopy does not do it."""

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
from homotopy.tracing.tolerances import TraceTolerances
from homotopy.tracker import Failed, OnRidge, Outcome, Tracker, Wants

__all__ = ["Jumps"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]

NONE: Index = np.empty(0, dtype=np.int64)
HOMOTOPY, OSQP, CUSTOM, LATE, DESCENT = METHODS


class Jumps:
    """Sees to the jumps of one trace.

    Attributes
    ----------
    method : str
        How the present jump is crossed, one of `METHODS`.
    late : int
        Jumps that were crossed a little later than they are.
    recovered : int
        Jumps in a row at one t that the homotopy could not cross.
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
        self._choose_usual()

    @property
    def forced(self) -> bool:
        """Whether a jump was crossed otherwise than was asked for."""
        return bool(self.late or self.recovered)

    def see_to(self, outcome: Outcome) -> None:
        """Do what the tracker wants."""
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
        """A jump that could not be crossed: by the QP solver, or else a little later."""
        tracker, t = self.tracker, float(self.tracker.route.t)
        self.recovered = self.recovered + 1 if t == self.recovered_at else 1
        self.recovered_at, self.ridge = t, None
        solvable = self.d_step == "auto" and self.problem.gram.semidefinite
        if solvable and self.method == HOMOTOPY and self.recovered <= self.tolerances.recoveries:
            tracker.restore()
            self._choose(self.by_solver)
            return
        if self.late >= tracker.tolerances.patience.most_late:
            raise TraceError(
                f"{self.late} jumps up to {self.problem.model.parameter}={t:.17g} could not "
                "be crossed where they are"
            )
        tracker.restore()
        self._cross_late()

    def _cross_late(self) -> None:
        """Cross the jump a hair's breadth further on, where the ties at its exact place are gone.

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
        tracker.press(NONE)

    def _fall_off(self, outcome: OnRidge) -> None:
        """What was a local optimum is a ridge: one more kind of jump."""
        self.ridge = outcome.coordinate, outcome.way
        self.tracker.refresh()
        self.tracker.press(NONE)
        self._choose(DESCENT)

    # ------------------------------------------------------------------ what is done

    def _ask(self) -> None:
        """A model with a rule of its own says who changes side."""
        tracker = self.tracker
        noted = tracker.mov.flips[: tracker.jumping.flips].copy()
        chosen = self.problem.model.flips(float(tracker.route.t), noted // 2, tracker.u.copy())
        kept = noted[np.isin(noted // 2, np.asarray(chosen, dtype=np.int64))]
        kept = kept if kept.size else noted
        tracker.mov.flips[: kept.size] = kept
        tracker.jumping.flips, tracker.jumping.asked = kept.size, 1

    def _cross(self) -> None:
        """The optimum on the other side: downhill, by the QP solver, or as it is a little later;
        then made exact."""
        tracker = self.tracker
        t = float(tracker.route.t)
        snap, target = self.problem.polylines.at(t), self.problem.target(t)
        before = tracker.piece.copy()
        if self.method == DESCENT:
            go_downhill(tracker, snap, self.ridge)
            self.ridge = None
        elif self.method != LATE:
            self._solve(snap, target)
        tracker.log_changes(before)
        tracker.settle(t, snap, target)
        tracker.end_crossing(t)
        if not tracker.off <= tracker.tolerances.accepted:
            raise TraceError(
                f"the jump at {self.problem.model.parameter}={t:.17g} could not be made exact: it "
                f"is off by {tracker.off:.2g} times what rounding explains"
            )
        # Of several rounds the most unusual one names the jump.
        tracker.jumping.solved_by = max(int(tracker.jumping.solved_by), METHODS.index(self.method))
        self._choose_usual()

    def _solve(self, snap: Snapshot, target: Array) -> None:
        """The conditional optimum by the QP solver."""
        tracker = self.tracker
        first, last = self._branches()
        slices = [slice(a, b + 1) for a, b in zip(first.tolist(), last.tolist(), strict=True)]
        qp = ConditionalQP.build(self.problem, snap, target, slices, tracker.pulse)
        tracker.place(*self.solver(qp))
        given = tracker.piece // 2
        tracker.assign(snap, first, last)
        self._keep_sides(snap, given)

    def _branches(self) -> tuple[Index, Index]:
        """The first and last slope of the convex branch on which each coordinate stands."""
        tracker = self.tracker
        slope = tracker.piece // 2 + ((tracker.piece % 2 == 1) & (tracker.side > 0))
        jump = tracker.model_lines.corner.kind == JUMP
        k = jump.shape[1]
        first, last = np.zeros(slope.size, np.int64), np.full(slope.size, k)
        for j in range(k):
            first = np.where(jump[:, j] & (j < slope), j + 1, first)
            last = np.where(jump[:, j] & (j >= slope), np.minimum(last, j), last)
        return first, last

    def _keep_sides(self, snap: Snapshot, given: Index) -> None:
        """A jump of height zero (theta = 1) holds nothing: what stands on it keeps its side."""
        tracker = self.tracker
        near = self.tolerances.on_corner * tracker.size_of_u()
        for j in np.flatnonzero(self.problem.polylines.jump).tolist():
            on_it = (np.abs(tracker.u - snap.corner[:, j]) <= near) & (snap.kind[:, j] == SEAM)
            slope = tracker.piece // 2
            on_it &= (tracker.piece % 2 == 0) & (np.minimum(given, slope) == j)
            on_it &= np.maximum(given, slope) == j + 1
            tracker.piece[on_it] = 2 * given[on_it]

    # ------------------------------------------------------------------ what is kept of it

    def before_late_ones(self, path: Path) -> Path | None:
        """`path` without those jumps at its end that could not be crossed where they are."""
        (t, count), near = self.late_from, self.tolerances.nearby * abs(path.span[1] - path.span[0])
        if not abs(path.traced[1] - t) <= near or count >= len(path.segments):
            return path
        return path._first(count) if count else None

    def state(self) -> dict[str, float]:
        """What a checkpoint has to hold, by name."""
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
        """Go on from `state`."""
        self.late, self.recovered = int(saved["late"]), int(saved["recovered"])
        self.late_from = saved["late_from"], int(saved["late_segments"])
        self.recovered_at = saved["recovered_at"]
        self.method = METHODS[int(saved["method"])]
        i, way = int(saved["ridge"]), saved["ridge_way"]
        self.ridge = (i, way) if i >= 0 else None
