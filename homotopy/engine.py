"""The loop: C-steps along the span, D-steps across jumps."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType

import attrs
import numpy as np
import numpy.typing as npt

from homotopy.conditional import ConditionalSolver, osqp_solver
from homotopy.errors import ModelError, PathError, TraceError
from homotopy.follow import WELL, Follower
from homotopy.jump import RESIDUAL, Crossing
from homotopy.lane import Segment
from homotopy.ledger import Ledger
from homotopy.model import LossModel, Problem
from homotopy.model.polyline import Snapshot
from homotopy.orient import NONE
from homotopy.path import JumpRecord, Path, Segments, Status
from homotopy.progress import progress_bar
from homotopy.route import Route
from homotopy.runtime import announce_compilation, one_thread
from homotopy.start.guess import carry_over, convex_guess, estimate_border, slack_of_border
from homotopy.state import REPAIR

__all__ = ["Homotopy", "Progress"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]

# A jump that cannot be crossed where it is, is crossed this part of the span later.
LATE = 1e-10
# A residual above this at the end of a path is no rounding.
MISTAKEN = 1e-6
# An intercept with no more room than this part of the scale is determined.
SLACK = 1e-9
# So many of them on one path mean that it gets nowhere.
MOST_LATE = 20


@attrs.frozen
class Progress:
    """What a callback sees after each break-point."""

    t: float
    breakpoints: int
    jumps: int


Callback = Callable[[Progress], object]


class _Stop(Exception):
    """Ends a trace early with a status."""

    def __init__(self, status: Status) -> None:
        self.status = status


@attrs.frozen(eq=False)
class Homotopy:
    """Traces the path of local optima of a model.

    Parameters
    ----------
    model : LossModel
    d_step : {"auto", "homotopy", "osqp"}
        How a jump is crossed: by the mu-homotopy ("homotopy"), by a QP solver and an exact
        clean-up ("osqp"), or by the homotopy with the solver as fallback ("auto").
    solver : callable
        The conditional-QP solver behind "osqp"; takes a `ConditionalQP`, returns alpha and b.
    max_breakpoints : int or None
        Stop after so many break-points; the path traced so far is returned.
    """

    model: LossModel
    d_step: str = attrs.field(default="auto", kw_only=True)
    solver: ConditionalSolver = attrs.field(default=osqp_solver, kw_only=True)
    max_breakpoints: int | None = attrs.field(default=None, kw_only=True)

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.model, LossModel):
            raise ModelError(f"Homotopy: model must be a LossModel, got {self.model!r}")
        if self.d_step not in ("auto", "homotopy", "osqp"):
            raise ModelError(
                f"Homotopy: d_step must be 'auto', 'homotopy' or 'osqp', got {self.d_step!r}"
            )
        limit = self.max_breakpoints
        if limit is not None and (not isinstance(limit, int | np.integer) or limit < 1):
            raise ModelError(f"Homotopy: max_breakpoints must be a positive integer, got {limit!r}")

    def trace(
        self,
        *,
        start: Path | npt.ArrayLike | None = None,
        progress: bool = False,
        callback: Callback | None = None,
    ) -> Path:
        """Follow the path over the whole span.

        Parameters
        ----------
        start : Path or array (n,), optional
            Where to begin: another path, nearest to the start of the span, or an approximate
            alpha.  From the path of a neighbouring C each coordinate keeps its piece, which
            makes the start of a grid of C cheap.  The start is made exact whatever it was; on a
            model that is not convex at its start it also decides which local optimum is followed.
        progress : bool
            Show a progress bar.
        callback : callable, optional
            Called with a `Progress` after each break-point; a true answer stops the trace.

        Returns
        -------
        Path
            Complete, or marked by its `status` where it was stopped (Ctrl-C included).

        Raises
        ------
        TraceError
            On numerical trouble; its `path` attribute holds what was traced.
        """
        announce_compilation()
        with one_thread(self.model), _Trace(self, progress, callback) as trace:
            trace.begin(start)
            while not trace.arrived:
                pressing = trace.c_step()
                if pressing.size:
                    trace.d_step(pressing)
            trace.finish()
        return trace.path()


class _Trace:
    """One run: the follower, what it has recorded, and how it ended."""

    def __init__(self, options: Homotopy, progress: bool, callback: Callback | None) -> None:
        self.options = options
        self.problem = Problem.compile(options.model)
        self.follower = Follower(self.problem.gram, self.problem.border)
        self.crossing = Crossing(self.problem, options.d_step, options.solver, options.model.flips)
        self.callback = callback
        self.bar = progress_bar(options.model.parameter, 100.0) if progress else None
        self.status = Status.COMPLETE
        self.stored: list[Segment] = []
        self.jumps: list[JumpRecord] = []
        self.c_steps = self.d_steps = self.start_steps = self.late = 0
        self.t = self.start = self.problem.start
        self.stop = self.problem.stop
        self.first_piece: Index = NONE

    # ------------------------------------------------------------------ the algorithm

    def begin(self, start: Path | npt.ArrayLike | None) -> None:
        """Solve the problem at the start of the span, exactly."""
        problem, follower = self.problem, self.follower
        snap, target = problem.polylines.at(problem.start), problem.target(problem.start)
        if start is None and not snap.convex:
            name = type(problem.model).__name__
            raise ModelError(
                f"{name} is not convex at {problem.model.parameter}={problem.start:g}; "
                "give trace(start=...) a path or an alpha to begin from"
            )
        follower.alpha[:], follower.b[:] = self._guess(start)
        follower.u[:] = follower.gram.matvec(follower.alpha) + follower.border @ follower.b
        follower.assign(snap, *snap.branches(follower.u))
        follower.settle(snap, target)
        if follower.refresh() > REPAIR:
            follower.settle(snap, target)
        if follower.refresh() > RESIDUAL + 10.0 * follower.rounding / follower.u_scale:
            raise TraceError(
                f"the start could not be made exact: {follower.residual():.2g} is left"
            )
        free = snap.convex and self._centre_border(snap)
        if free:
            # Everybody it moves is on a flat slope now: nothing is left to settle.
            follower.assign(snap, *snap.branches(follower.u))
            follower.rebuild(WELL)
            follower.refresh()
        self.start_steps = follower.steps
        if not np.isfinite(problem.start):
            self.start, self.stop = self._finite_span()
            self.t = self.start
        follower.load(Route.flipped(problem, self.t))
        self.first_piece = follower.piece.copy()
        follower.changed.clear()
        pinned = self.crossing.release(follower)
        if pinned.size:
            self.crossing.cross(follower, self.t, self.stop, pinned)
            self.first_piece = follower.piece.copy()
            follower.changed.clear()
        if self.arrived or free:
            # A free intercept goes to one end of its interval as soon as t moves.
            self._point()
        if not self.arrived and problem.gram.features() is not None:
            follower.ledger = Ledger.open(problem, self.start, self.stop)
            if follower.ledger is not None:
                follower.ledger.begin(follower.piece)

    def c_step(self) -> Index:
        """Follow the path to its end or to a jump; return the coordinates pressing on it."""
        before = self.follower.steps
        route = Route.of(self.problem, self.t, self.stop)
        pressing = self.follower.travel(route, self._record)
        self.t = self.follower.tau
        self.c_steps += self.follower.steps - before
        return pressing

    def d_step(self, pressing: Index) -> None:
        """Cross the jump on which `pressing` stand."""
        if not self.stored:
            self._point()
        point = self.follower.mark()
        try:
            jump = self.crossing.cross(self.follower, self.t, self.stop, pressing)
            self.follower.unmark(point)
        except TraceError:
            self.follower.restore(point)
            jump = self._cross_late()
        self.d_steps += jump.steps
        self.jumps.append(jump)
        if self.arrived:
            self._point()

    def finish(self) -> None:
        """Make sure that what was integrated all the way is still true.

        This is for mistakes, which are large; how exact the path is, the certificate says.
        """
        if self.start != self.stop:
            self.crossing.check(self.follower, self.t, MISTAKEN)

    @property
    def arrived(self) -> bool:
        return self.t == self.stop

    # ------------------------------------------------------------------ parts

    def _guess(self, start: Path | npt.ArrayLike | None) -> tuple[Array, Array]:
        problem = self.problem
        snap = problem.polylines.at(problem.start)
        n = problem.gram.size
        if start is None:
            own = problem.model.initial_guess()
            if own is None:
                return convex_guess(problem, snap)
            start = own
        if isinstance(start, Path):
            return self._from_path(start, snap)
        try:
            alpha = np.array(start, dtype=float)
        except (TypeError, ValueError):
            raise ModelError(f"start: expected a Path or {n} numbers, got {start!r}") from None
        if alpha.shape != (n,):
            raise ModelError(f"start: expected an alpha of shape ({n},), got {alpha.shape}")
        if not np.all(np.isfinite(alpha)):
            raise ModelError("start: alpha holds values that are not finite")
        return self._polished(snap, alpha, estimate_border(problem, snap, alpha))

    def _from_path(self, start: Path, snap: Snapshot) -> tuple[Array, Array]:
        """Begin where another path is nearest to the start of the span."""
        problem = self.problem
        n, m = problem.border.shape
        low, high = min(start.traced), max(start.traced)
        t = min(max(problem.start, low), high)
        alpha, b = start.alpha(t), start.border_multipliers(t)
        if alpha.size != n:
            raise PathError(f"start: the path has {alpha.size} coordinates, the model has {n}")
        lines = start.problem.polylines
        if lines.names == problem.polylines.names:
            alpha = carry_over(alpha, start.pieces(t), lines.at(t), snap)
        b = b if b.size == m else estimate_border(problem, snap, alpha)
        return self._polished(snap, alpha, b)

    def _polished(self, snap: Snapshot, alpha: Array, b: Array) -> tuple[Array, Array]:
        """Bring a guess near, which is cheaper than making a distant one exact step by step; where
        the model is not convex it is left alone, because it chooses the local optimum."""
        if not snap.convex:
            return alpha, b
        return convex_guess(self.problem, snap, alpha, b)

    def _centre_border(self, snap: Snapshot) -> bool:
        """Put an intercept that is not determined into the middle of its interval; True if so.

        Where every alpha is at the end of its range (a small C, say) any b of an interval is
        optimal; without a rule the path would depend on where its start was looked for.
        """
        follower = self.follower
        if follower.border.shape[1] != 1:
            return False
        fall, rise = slack_of_border(follower.border, snap, follower.alpha, follower.u)
        size = follower.u_scale / float(np.abs(follower.border).max())
        if not (np.isfinite(fall) and np.isfinite(rise) and rise - fall > SLACK * size):
            return False
        move = 0.5 * (fall + rise)
        follower.b += move
        follower.u += move * follower.border[:, 0]
        return True

    def _cross_late(self) -> JumpRecord:
        """Cross the jump a hair's breadth further on, where the ties at its exact place are gone.

        The present point is carried along unchanged; the part of the span is far below the
        tolerance of the certificate.
        """
        follower, before = self.follower, self.t
        if self.late >= MOST_LATE:
            raise TraceError(
                f"{self.late} jumps up to {self.options.model.parameter}={before:.17g} could not "
                "be crossed where they are"
            )
        late = before + LATE * (self.stop - self.start)
        if abs(self.stop - before) <= abs(late - before):
            late = self.stop
        follower.tau = late
        follower.refresh()
        on_knot = np.flatnonzero(follower.active())
        changed, follower.changed = follower.changed, {}
        alpha, b = follower.alpha[on_knot], follower.b.copy()
        self.stored.append(Segment(before, late, on_knot, alpha, alpha, b, b, changed))
        self.t = late
        self.late += 1
        return self.crossing.cross(follower, late, self.stop, NONE)

    def _finite_span(self) -> tuple[float, float]:
        """Where the first jump corner meets a response on the way in from infinity."""
        lines = self.problem.polylines
        u = self.follower.u
        inward = 1.0 if self.problem.start < 0 else -1.0
        contact = np.inf
        for j in np.flatnonzero(lines.jump):
            rate = lines.corner1[:, j]
            moving = rate != 0.0
            meets = (u[moving] - lines.corner0[moving, j]) / rate[moving]
            contact = min(contact, float((inward * meets).min(initial=np.inf)))
        start, stop = self.problem.model.resolve_span(inward * contact)
        least = 1e-11 * max(abs(start), abs(stop), self.follower.u_scale)
        if not (np.isfinite(start) and inward * (stop - start) > least):
            # Nothing to trace: the jump reaches no response before the end of the span.
            return stop, stop
        self.problem.polylines.check(start, stop)
        return start, stop

    def _record(self, segment: Segment) -> None:
        if self.stored and self.stored[-1].cut:
            last = self.stored.pop()
            joined = _joined(last, segment)
            if joined is None:
                self.stored.append(attrs.evolve(last, cut=False))
            segment = joined or segment
        self.stored.append(segment)
        self.t = after = segment.stop
        if segment.cut:
            return
        if self.bar is not None:
            self.bar.update_to(abs(after - self.start) / abs(self.stop - self.start))
        if self.callback is not None:
            state = Progress(after, len(self.stored), len(self.jumps))
            if self.callback(state):
                raise _Stop(Status.CALLBACK)
        limit = self.options.max_breakpoints
        if limit is not None and len(self.stored) >= limit and after != self.stop:
            raise _Stop(Status.LIMIT)

    def _point(self) -> None:
        """Record a segment of length zero: the present point."""
        follower = self.follower
        active = follower.factor.index.copy()
        changed, follower.changed = follower.changed, {}
        alpha, b = follower.alpha[active], follower.b.copy()
        self.stored.append(Segment(self.t, self.t, active, alpha, alpha, b, b, changed))

    # ------------------------------------------------------------------ ending

    def __enter__(self) -> _Trace:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        if self.bar is not None:
            self.bar.close()
        if isinstance(error, _Stop):
            self.status = error.status
            return True
        if isinstance(error, KeyboardInterrupt) and self.stored:
            self.status = Status.INTERRUPTED
            return True
        if isinstance(error, TraceError) and self.stored:
            self.status = Status.FAILED
            error.path = self.path()
        return False

    def path(self) -> Path:
        """What has been recorded, as a path."""
        m = self.problem.border.shape[1]
        stored = self.stored
        changed = [s.changed for s in stored]
        segments = Segments(
            start=np.array([s.start for s in stored]),
            stop=np.array([s.stop for s in stored]),
            offset=np.cumsum([0] + [s.active.size for s in stored]),
            active=np.concatenate([s.active for s in stored]).astype(np.int64),
            alpha_start=np.concatenate([s.alpha_start for s in stored]),
            alpha_stop=np.concatenate([s.alpha_stop for s in stored]),
            b_start=np.array([s.b_start for s in stored]).reshape(len(stored), m),
            b_stop=np.array([s.b_stop for s in stored]).reshape(len(stored), m),
            event=np.cumsum([0] + [len(c) for c in changed]),
            changed=np.array([i for c in changed for i in c], dtype=np.int64),
            changed_to=np.array([p for c in changed for p in c.values()], dtype=np.int64),
            first_piece=self.first_piece,
        )
        end = float(segments.stop[-1])
        sign = 1.0 if self.stop >= self.start else -1.0
        jumps = tuple(j for j in self.jumps if sign * j.t <= sign * end)
        follower = self.follower
        return Path(
            model=self.options.model,
            segments=segments,
            jumps=jumps,
            status=self.status,
            span=(self.start, self.stop),
            counts={
                "start_steps": self.start_steps,
                "c_steps": self.c_steps,
                "d_steps": self.d_steps,
                "pivots": follower.pivots,
                "repairs": follower.repairs,
                "late_jumps": self.late,
            },
            problem=self.problem,
        )


def _joined(first: Segment, second: Segment) -> Segment | None:
    """One segment of two, where nothing but a look around came between them."""
    if second.changed or not np.array_equal(first.active, second.active):
        return None
    return attrs.evolve(
        second,
        start=first.start,
        alpha_start=first.alpha_start,
        b_start=first.b_start,
        changed=first.changed,
    )
