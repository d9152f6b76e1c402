"""One attempt at a path: begin, continue from pause to pause, finish, and decide."""

from __future__ import annotations

import time
from contextlib import nullcontext, suppress
from typing import Any

import attrs
import numpy as np

from homotopy.arrays import Index
from homotopy.checkpoint import Checkpoint, Keeper, Trouble
from homotopy.errors import ModelError, TraceError, TraceInterrupted
from homotopy.model import LossModel, Problem
from homotopy.path import Path, Status
from homotopy.path.certificate import proven_part
from homotopy.path.on_segments import OnSegments
from homotopy.path.recorded import jump_records, segments_of
from homotopy.tracing.first_point import FirstPoint, Guess, Start
from homotopy.tracing.jumps import NONE, Jumps
from homotopy.tracing.options import Options
from homotopy.tracing.verdict import Unproven, is_proven, unproven_error, warn_of_rounding
from homotopy.tracing.watch import FOREVER, Callback, Stopped, Watch
from homotopy.tracker import Failed, Tracker


class Run:
    """One attempt: the tracker, its observers, and the outcome."""

    def __init__(
        self,
        options: Options,
        progress: bool = False,
        callback: Callback | None = None,
        deadline: float = np.inf,
        keeper: Keeper | None = None,
        tracker: Tracker | None = None,
    ) -> None:
        self.options, self.keeper = options, keeper
        # A given tracker is already at the first point (`Tracker.turn_to`).
        self.continues = tracker is not None
        if tracker is None:
            rule = getattr(options.model.flips, "__func__", None)
            tracker = Tracker(
                Problem.compile(options.model),
                options.tolerances,
                options.windows,
                asks=rule is not LossModel.flips,
            )
        self.tracker, self.problem = tracker, tracker.problem
        self.jumps = Jumps(tracker, options)
        self.watch = Watch(
            tracker, options, progress=progress, callback=callback, deadline=deadline
        )
        self._listen_to()
        self.status, self.start_steps = Status.COMPLETE, 0
        self.limit: str | None = None
        self.start, self.stop = self.problem.start, self.problem.stop
        self.first_piece: Index = NONE
        self.begun = False
        self.guess: Guess | None = None
        self.earlier: Unproven | None = None
        # The seconds of former sittings, and when this one began.
        self.former, self.since = 0.0, time.monotonic()

    def _listen_to(self) -> None:
        if self.watch.wanted or self.keeper is not None:
            self.tracker.pulse = self._pulse

    def allow(self, seconds: float) -> None:
        """Fail once this many seconds have passed."""
        self.watch.allow(seconds)
        self._listen_to()

    def seconds(self) -> float:
        """Return how long a first attempt has worked, in all sittings, or how long a second may go
        on."""
        now = time.monotonic()
        if self.earlier is None:
            return self.former + now - self.since
        return max(self.watch.budget - now, 0.0)

    def proven_path(self, start: Start, earlier: Unproven | None = None) -> Path:
        """Return the path if it is proven; else raise an error that holds the proven part.

        `earlier` is how the first attempt ended; if given, this attempt is the last.
        """
        self.earlier = earlier
        try:
            with self:
                try:
                    if not self.begun:
                        self.begin(start)
                    with nullcontext() if self.keeper is None else self.keeper.over(self):
                        while self.under_way():
                            self.go_on()
                    self.finish()
                except Stopped as stop:
                    self.status, self.limit = stop.status, stop.limit
        except TraceError as error:
            if self._drowned():
                error.path = None
            trouble = Unproven.of(error)
        else:
            if not (self.begun and self.tracker.recorded()):
                raise self._too_late()
            path = self.path()
            if not path.complete or self._proven(path):
                return path
            place = f"{self.problem.model.parameter}={self.tracker.route.t:.17g}"
            kept = None if self._drowned() else path
            trouble = Unproven(f"the path traced to {place} cannot be proven", kept)
        if earlier is None:
            raise trouble
        raise unproven_error(self.tracker, self.start, self.options.tracing, earlier, trouble)

    def warn_of_rounding(self, path: Path, stacklevel: int) -> None:
        """Warn if rounding may exceed a response of the path that was returned."""
        warn_of_rounding(path, self.tracker, self.options.tracing, stacklevel + 1)

    def _too_late(self) -> TraceError:
        """Return the error of a trace that was stopped before there was a path."""
        if self.limit is None:
            return TraceError("the callback stopped the trace before the path began")
        error = TraceError(
            f"max_seconds={self.options.max_seconds:g} ran out before the path began; allow more "
            "time, or pass trace(start=...) a guess of its first point"
        )
        error.limit = self.limit
        return error

    def _drowned(self) -> bool:
        """Whether responses are pure rounding error: then no part of the path is proven."""
        return bool(self.tracker.sizes.strain > self.options.tracing.drowned)

    def _proven(self, path: Path) -> bool:
        tolerances, certificate_decides = self.options.tracing, self.jumps.certificate_decides(path)
        segments = len(path.segments)
        small = tolerances.is_small(path.problem.gram.size, segments)
        # If the first point is proven, the tracker's error bound suffices.
        # (Checks added by the model run only in the certificate.)
        stated = type(path.model).residuals is not LossModel.residuals
        measured = tolerances.is_measured(segments, self.tracker.gap) and not stated
        known = self.continues or measured
        # A second attempt is certified as a whole.
        certificate_decides = certificate_decides or self.earlier is not None
        certificate_decides = certificate_decides or (small and not known)
        whole = self.jumps.crossed_whole(path)
        if self._drowned() or (
            whole.size and not certificate_decides and not path.certify(at=whole).ok
        ):
            return False
        return is_proven(path, self.tracker, tolerances, certificate_decides=certificate_decides)

    # ------------------------------------------------------------------ the loop

    def begin(self, start: Start) -> None:
        """Solve the problem at the start of the span, exactly."""
        tracker, free = self.tracker, False
        if not self.continues:
            again = self.earlier is not None
            point = FirstPoint(tracker, self.options.tracing, again=again).reach(start, self.guess)
            self.guess, self.start, self.stop = point.guess, point.start, point.stop
            self.start_steps, free = int(tracker.cursor.steps), point.free
            if not point.as_it_was:
                tracker.load_model(self.start, self.stop)
                tracker.head_along(self.start)
                tracker.refresh()
            self._leave_corners()
            if not point.as_it_was:
                tracker.doubts.begin(float(tracker.sizes.bound))
        self.first_piece, self.begun = tracker.piece.copy(), True
        self.watch.read_from(self.first_piece)
        self.watch.begin(self.start, self.stop)
        tracker.start_record()
        if self.start == self.stop or free:
            # A free intercept goes to one end of its interval as soon as t moves.
            tracker.record_point()

    def _leave_corners(self) -> None:
        """Cross the jumps on which coordinates are pinned at the start."""
        tracker = self.tracker
        if np.any(tracker.side):
            tracker.begin_jump_at(NONE)
            tracker.cursor.stop_segments = 0
            while tracker.in_jump:
                self._advance()
            tracker.cursor.stop_segments = FOREVER
            # The point has moved: measure its error again.
            tracker.refresh()

    def under_way(self) -> bool:
        """Whether anything is left to trace."""
        return bool(self.tracker.route.t != self.stop or self.tracker.in_jump)

    def go_on(self) -> None:
        """Let the tracker continue to the next pause, and handle its request."""
        self.tracker.cursor.stop_segments = self.watch.next_pause()
        if self.keeper is None:
            self._advance()
        else:
            self.keeper.step(self, self._advance)
        if not self.tracker.in_jump:
            self.watch.report()

    def _advance(self) -> None:
        outcome = self.tracker.advance(self._listen)
        if isinstance(outcome, Failed) and not self.begun:
            raise outcome.error
        self.jumps.handle(outcome)

    def _listen(self) -> bool:
        """Called at a pause; return True if the trace itself must act."""
        due = self.begun and self.keeper is not None and self.keeper.due()
        return bool(
            due
            or (
                self.tracker.route.along
                and self.tracker.cursor.segments >= self.tracker.cursor.stop_segments
            )
        )

    def _pulse(self) -> None:
        """Called periodically, at any stage of the work."""
        if self.keeper is None or not self.begun:
            self.watch.poll()
        else:
            self.keeper.watch(self.watch.poll)
            if self.keeper.due():
                # Pause at the next break-point.
                self.tracker.cursor.stop_segments = 0

    def finish(self) -> None:
        """Make the last point exact."""
        tracker = self.tracker
        self.watch.arrive()
        jumped = (
            tracker.cursor.jumps and tracker.record.jump[tracker.cursor.jumps - 1].t == self.stop
        )
        if self.start != self.stop and jumped:
            tracker.record_point()
        doubts = tracker.doubts
        known = len(doubts.stretches)
        if not tracker.correct():
            doubts.whole = np.inf
        elif (
            len(doubts.stretches) > known
            and doubts.stretches[-1].error <= doubts.limit + tracker.off_on_arrival()
        ):
            # The last point was off and has been corrected.  The points since the last check are
            # in doubt, unless the error arose only on arrival, as here.
            doubts.stretches.pop()

    # ------------------------------------------------------------------ checkpoints

    def state(self) -> dict[str, dict[str, Any]]:
        """Return everything that the rest of the trace depends on: numbers and arrays, by the part
        of the trace that they belong to and by name."""
        assert self.guess is not None
        alpha, b = self.guess
        own: dict[str, Any] = {
            "start": self.start,
            "stop": self.stop,
            "start_steps": self.start_steps,
            "seconds": self.seconds(),
            "first_objective": self.watch.first_objective,
            "first_piece": self.first_piece,
            "alpha": alpha,
            "b": b,
        }
        gram: dict[str, Any] = dict(self.problem.gram.held())
        return {"run": own, "jumps": self.jumps.state(), "gram": gram} | self.tracker.state()

    def trouble(self) -> Trouble | None:
        """Return how the previous attempt ended, if there was one."""
        return None if self.earlier is None else self.earlier.trouble()

    def load_state(self, saved: Checkpoint | None) -> None:
        """Continue from `saved`, if given."""
        if saved is None:
            return
        n = self.problem.gram.size
        with saved.refusing():
            own = saved.parts["run"]
            self.start, self.stop = own["start"].item(), own["stop"].item()
            self.start_steps = own["start_steps"].item()
            self.former = own["seconds"].item()
            self.watch.first_objective = own["first_objective"].item()
            self.jumps.load_state(saved.parts["jumps"])
            self.first_piece, self.guess = own["first_piece"], (own["alpha"], own["b"])
            if self.first_piece.shape != (n,) or self.guess[0].shape != (n,):
                raise ValueError(f"it has {self.first_piece.size} coordinates, the model has {n}")
            if self.guess[1].shape != self.tracker.b.shape:
                raise ValueError(f"it has {self.guess[1].size} border columns")
            self.tracker.load_model(self.start, self.stop)
            self.tracker.load_state(saved.parts)
            self.problem.gram.hold(saved.parts.get("gram", {}))
        self.begun, self.watch.ends = True, (self.start, self.stop)
        self.watch.read_from(self.first_piece)
        if self.keeper is not None and self.keeper.file == saved.file:
            self.keeper.holds(self)

    # ------------------------------------------------------------------ ending

    def __enter__(self) -> Run:
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        self.watch.close()
        if not self.begun or not self.tracker.recorded():
            if isinstance(error, KeyboardInterrupt):
                message = "interrupted before the path began; nothing was kept"
                raise TraceInterrupted(message, None) from error
            return
        if isinstance(error, KeyboardInterrupt):
            self.status = Status.INTERRUPTED
            path = self.path()
            raise TraceInterrupted(f"interrupted; .path holds {path!r}", path) from error
        if isinstance(error, TraceError):
            self.status = Status.FAILED
            error.path = self.jumps.before_late_ones(self.path())
        if isinstance(error, ModelError):
            self.status = Status.FAILED
            with suppress(ModelError):
                error.path = proven_part(self.path())

    def path(self) -> Path:
        """Return the recorded part as a path."""
        tracker = self.tracker
        tracker.seal()
        segments = segments_of(tracker.record, tracker.cursor, self.first_piece)
        end, sign = float(segments.stop[-1]), 1.0 if self.stop >= self.start else -1.0
        jumps = jump_records(tracker.record, tracker.cursor, self.problem)
        d_steps = sum(jump.steps for jump in jumps)
        counts = {
            name: int(getattr(tracker.cursor, name))
            for name in ("pivots", "exchanges", "slides", "refined")
        }
        path = Path(
            model=self.options.model,
            segments=segments,
            jumps=tuple(j for j in jumps if sign * j.t <= sign * end),
            status=self.status,
            limit=self.limit,
            span=(self.start, self.stop),
            counts={
                "start_steps": self.start_steps,
                "c_steps": int(tracker.cursor.steps) - self.start_steps - d_steps,
                "d_steps": d_steps,
                **counts,
                "repairs": tracker.repairs,
                "windows": int(tracker.scope.opened),
                "late_jumps": self.jumps.late,
            },
            problem=self.problem,
        )
        return path if tracker.model_polylines.terms.size else _with_objectives(path)


def _with_objectives(path: Path) -> Path:
    """Recompute the objectives at the jumps of `path`, if the tracker could not update them (an
    origin of the loss that is not affine in t, or that crosses a corner)."""
    on = OnSegments(path)
    values = {
        jump.t: [on.objective(*on.locate(jump.t, s)) for s in ("before", "after")]
        for jump in path.jumps
    }
    jumps = []
    for jump in path.jumps:
        before, after = values[jump.t]
        jumps.append(attrs.evolve(jump, objective_before=before, objective_after=after))
        # Of several jumps at one t, only the first "before" and the last "after" are known.
        values[jump.t] = [after, after]
    return attrs.evolve(path, jumps=tuple(jumps))
