"""The loop: C-steps along the span, D-steps across jumps, and what is done when one of them fails.

The steps themselves are compiled (`homotopy.tracker`); here is what is done once per path: the
start, stopping and watching, a model's own rule for who changes side, the QP solver as a fallback,
and the record of it all.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import nullcontext, suppress
from types import TracebackType
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from homotopy.checkpoint import Checkpoint, Keeper
from homotopy.conditional import ConditionalQP, ConditionalSolver, osqp_solver
from homotopy.descent import descend
from homotopy.diagnosis import cause_of_trouble
from homotopy.errors import ModelError, PathError, TraceError, TraceInterrupted
from homotopy.gram import DenseGram, Gram, LinearGram
from homotopy.model import Jump, Knot, LossModel, Problem, Slope
from homotopy.model.polyline import JUMP, SEAM, Snapshot
from homotopy.path import Path, Status
from homotopy.path.certificate import proven_part
from homotopy.path.recorded import jump_records, segments_of
from homotopy.progress import progress_bar
from homotopy.runtime import announce_compilation, compiled, one_thread
from homotopy.start.guess import carry_over, convex_guess, estimate_border, slack_of_border
from homotopy.tracker import Tolerances, Tracker, Windows, state
from homotopy.tracker.tracker import Failure

__all__ = ["Homotopy", "Progress", "compile_now"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]
Guess = tuple[Array, Array]
Start = Path | tuple[Path, float] | npt.ArrayLike | None

NONE: Index = np.empty(0, dtype=np.int64)
FOREVER = np.iinfo(np.int64).max
# Seconds between two calls of a callback while nothing is new.
BEAT = 0.1
# An objective that rises at a jump by no more than this fraction does not.
LEVEL = 1e-10
# The certificate checks a path before it is returned if rounding is more than this part of a
# response, or if the path has no more numbers than this, which takes no time.
STRAIN, SMALL = 1e-3, 2000
# The time limit of a second attempt: this many times the first one, plus some seconds.
AGAIN, AT_LEAST = 3.0, 0.1
# A span shorter than this fraction of its ends is empty.
EMPTY = 1e-11
# Jumps that are crossed late within this fraction of the span are as good as one.
NEARBY = 1e-8
# Jumps at one t that the QP solver takes over before they are crossed a little later.
RECOVERIES = 3


@attrs.frozen
class Progress:
    """What a callback sees after each break-point, and meanwhile where one takes long.

    The objective is that at the start or, once there was a jump, just after the latest one (in
    between it would take a product with all of Q); NaN where it is not known on the way.
    """

    t: float
    breakpoints: int
    jumps: int
    objective: float = np.nan


Callback = Callable[[Progress], object]


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
    max_seconds : float or None
        Stop after so many seconds, wherever the trace is, likewise.  Compilation on first use does
        not count.
    tolerances : Tolerances
        What is taken for zero; for tests, there is no need to change it.
    windows : Windows
        When to look at some coordinates only; changes the speed, never the path.

    Examples
    --------
    >>> import numpy as np
    >>> from homotopy import DenseGram, Homotopy, Knot, LossModel, Slope
    >>> class Prices(LossModel):  # min over x  1/2 x'Qx - t c'x,  0 <= x <= 1
    ...     span, unknown = (0.0, 3.0), "alpha"
    ...     gram, c = DenseGram([[2.0, 1.0], [1.0, 2.0]]), np.array([1.0, 2.0])
    ...
    ...     def polyline(self, t):
    ...         return Slope("full", 1.0), Knot("between", t * self.c), Slope("none", 0.0)
    >>> path = Homotopy(Prices()).trace()
    >>> path.breakpoints
    array([0., 1., 3.])
    >>> path.solution([0.5, 2.0])
    array([[0. , 0.5],
           [0.5, 1. ]])
    >>> path.certify().ok
    True
    """

    model: LossModel
    d_step: str = attrs.field(default="auto", kw_only=True)
    solver: ConditionalSolver = attrs.field(default=osqp_solver, kw_only=True)
    max_breakpoints: int | None = attrs.field(default=None, kw_only=True)
    max_seconds: float | None = attrs.field(default=None, kw_only=True)
    tolerances: Tolerances = attrs.field(factory=Tolerances, kw_only=True)
    windows: Windows = attrs.field(factory=Windows, kw_only=True)

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
        seconds = self.max_seconds
        if seconds is not None and not (
            isinstance(seconds, int | float | np.number) and seconds > 0
        ):
            raise ModelError(f"Homotopy: max_seconds must be a positive number, got {seconds!r}")

    def trace(
        self,
        *,
        start: Start = None,
        progress: bool = False,
        callback: Callback | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        every: float = 60.0,
    ) -> Path:
        """Follow the path over the whole span.

        Parameters
        ----------
        start : Path, (Path, t) or array (n,), optional
            Where to begin: another path, nearest to the start of the span (or at the t given), or
            an approximate alpha.  From the path of a neighbouring C each coordinate keeps its
            piece, which makes the start of a grid of C cheap.  The path of another parameter needs
            the t.  The start is made exact whatever it was; on a model that is not convex at its
            start it also decides which local optimum is followed.
        progress : bool
            Show a progress bar.
        callback : callable, optional
            Called with a `Progress` after each break-point, and about ten times a second while
            the trace is busy at one; a true answer stops it.
        checkpoint : str or path-like, optional
            A file for the state of the trace, from which `resume` goes on: written now and then
            once the path has begun, when the trace is stopped (by a limit, a callback or Ctrl-C),
            and at its end.  It replaces the one before as a whole, so that whenever the process
            is killed there is one.  One that cannot be written (a full disk) is logged, and the
            trace goes on.  The path is the same with and without.
        every : float
            Seconds between two checkpoints.

        Returns
        -------
        Path
            Complete, or marked by its `status` where it was stopped.

        Raises
        ------
        TraceError
            On numerical trouble, or where `max_seconds` ran out before the path had begun; its
            `path` attribute holds what was traced.
        TraceInterrupted
            On Ctrl-C, likewise; it is a `KeyboardInterrupt`.
        PathError
            If `checkpoint` cannot be written to, before anything is traced.
        """
        keeper = None if checkpoint is None else Keeper(checkpoint, every, self)
        return self._run(start, progress, callback, keeper, None)

    def resume(
        self,
        file: str | os.PathLike[str],
        *,
        progress: bool = False,
        callback: Callback | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        every: float = 60.0,
    ) -> Path:
        """Go on from a checkpoint: the path is what it would be without the interruption, bit for
        bit.

        The model and the options must be those of the trace; limits may differ.  `max_seconds`
        counts from now, `max_breakpoints` from the start of the path.  The checkpoint of a
        complete trace gives its path at once.

        Parameters
        ----------
        file : str or path-like
            What ``trace(checkpoint=file)`` wrote.  Its contents are checked against damage, not
            against malice: resume from your own files only.
        progress, callback
            As for `trace`; the callback is told the present break-point first.
        checkpoint : str or path-like, optional
            Where to write further checkpoints, `file` unless told otherwise.
        every : float
            Seconds between two of them.

        Raises
        ------
        PathError
            If the file is missing or spoiled, or was made with another model, other data, other
            options or another version of homotopy-qp.
        TraceError, TraceInterrupted
            As for `trace`.
        """
        saved = Checkpoint.read(file, self)
        keeper = Keeper(file if checkpoint is None else checkpoint, every, self)
        return self._run(None, progress, callback, keeper, saved)

    def _run(
        self,
        start: Start,
        progress: bool,
        callback: Callback | None,
        keeper: Keeper | None,
        saved: Checkpoint | None,
    ) -> Path:
        """Trace from `start`, or go on from `saved`; what cannot be proven is traced once more."""
        announce_compilation()
        deadline = np.inf
        if self.max_seconds is not None:
            if not compiled():
                compile_now()
            deadline = time.monotonic() + self.max_seconds
        with one_thread(self.model):
            guess: Guess | None = None
            if saved is None or saved.trouble is None:
                first, begun = _Trace(self, progress, callback, deadline, keeper), time.monotonic()
                first.restore(saved)
                try:
                    return first.proven_path(start)
                except Unproven as error:
                    trouble, guess, saved = error, first.guess, None
                budget = AGAIN * (time.monotonic() - begun) + AT_LEAST
                if keeper is not None:
                    # Checkpoints tell it; looked for now, it disturbs no rows of Q in use.
                    trouble.proven()
            else:
                trouble = Unproven(saved.trouble[0], None, saved.trouble[1])
                budget = np.inf
            again = _Trace(self._careful(), progress, callback, deadline, keeper)
            again.allow(budget)
            again.guess = guess
            again.restore(saved)
            return again.proven_path(start, trouble)

    def _careful(self) -> Homotopy:
        """The same with everything recomputed after every step, and all coordinates looked at."""
        return attrs.evolve(
            self,
            tolerances=attrs.evolve(self.tolerances, refresh=1, most_late=2),
            windows=self.windows.closed(),
        )


class _Tiny(LossModel):
    """Three coordinates, to compile for."""

    parameter = "theta"
    span = (1.0, 0.0)

    def __init__(self, gram: Gram, border: Array | None) -> None:
        self.gram, self.border = gram, border

    def polyline(self, t: Any) -> tuple[Slope | Knot | Jump, ...]:
        return (
            Slope("O", t),
            Jump(0.0),
            Slope("L", 1.0),
            Knot("E", [1.0, 2.0, 3.0]),
            Slope("R", 0.0),
        )


def compile_now() -> float:
    """Compile everything that a first trace would have to wait for; return the seconds it took.

    For images, CI and anybody who would rather wait now.  What is compiled is kept on disk beside
    the package (or where NUMBA_CACHE_DIR says) and used by every process after.
    """
    begin = time.perf_counter()
    for gram in (DenseGram(np.eye(3) + 0.5), LinearGram(np.ones((3, 1)))):
        for border in (np.array([1.0, -1.0, 1.0]), None):
            Homotopy(_Tiny(gram, border)).trace()
    return time.perf_counter() - begin


class Unproven(TraceError):
    """An attempt that led to nothing that can be proven; `traced` is where it led."""

    def __init__(self, message: str, traced: Path | None, proven: Path | None = None) -> None:
        super().__init__(message)
        self._traced, self._proven = traced, proven

    def proven(self) -> Path | None:
        """As much of it as can be proven, worked out when first asked for."""
        if self._traced is not None:
            self._proven, self._traced = proven_part(self._traced, strict=True), None
        return self._proven


class _Stopped(Exception):
    """Somebody wants the trace to end here."""

    def __init__(self, status: Status) -> None:
        self.status = status


class _Trace:
    """One run: the tracker, who watches it, and how it ended."""

    def __init__(
        self,
        options: Homotopy,
        progress: bool,
        callback: Callback | None,
        deadline: float = np.inf,
        keeper: Keeper | None = None,
    ) -> None:
        self.options, self.callback, self.keeper = options, callback, keeper
        self.problem = Problem.compile(options.model)
        rule = getattr(options.model.flips, "__func__", None)
        self.tracker = Tracker(
            self.problem,
            options.tolerances,
            options.windows,
            asks=rule is not LossModel.flips,
            by_solver=options.d_step == "osqp",
        )
        self.bar = progress_bar(options.model.parameter, 100.0) if progress else None
        self.deadline, self.told_at, self.budget = deadline, time.monotonic(), np.inf
        watched = self.bar is not None or callback is not None or keeper is not None
        if watched or np.isfinite(self.deadline):
            self.tracker.pulse = self._pulse
        self.status = Status.COMPLETE
        self.start_steps = self.late = self.told = self.recovered = 0
        self.recovered_at = self.first_objective = np.nan
        self.late_from = (np.nan, 0)
        self.start, self.stop = self.problem.start, self.problem.stop
        self.first_piece: Index = NONE
        self.begun = self.settles = False
        self.guess: Guess | None = None
        self.ridge: tuple[int, float] | None = None
        self.unsure: float | None = None
        self.earlier: Unproven | None = None

    def proven_path(self, start: Start, earlier: Unproven | None = None) -> Path:
        """The path, checked; where it cannot be proven, what can, in an error.

        `earlier` is how the first attempt ended: with it this one is the last.
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
                except _Stopped as stop:
                    self.status = stop.status
        except TraceError as error:
            trouble = Unproven(str(error), error.path if isinstance(error.path, Path) else None)
        else:
            if not (self.begun and self.tracker.recorded()):
                raise TraceError(
                    f"max_seconds={self.options.max_seconds:g} ran out before the path had "
                    "begun; allow more, or hand trace(start=...) a guess of its first point"
                )
            path = self.path()
            if not path.complete or self._proven(path):
                return path
            trouble = Unproven(f"what was followed to {self._place()} cannot be proven", path)
        if earlier is None:
            raise trouble
        raise self._declined(trouble, earlier)

    def _proven(self, path: Path) -> bool:
        """Whether every point of a path holds: by the tracker's account of it, or where that leaves
        a doubt by the certificate."""
        tracker = self.tracker
        small = len(path.segments) * self.problem.gram.size <= SMALL
        forced = self.late or self.recovered or _climbs(path) or tracker.rests()
        off = tracker.doubt > self.options.tolerances.repair or tracker.now.strain > STRAIN
        if small or forced or off:
            return path.certify().ok
        if self.unsure is None:
            return True
        start = path.segments.start
        since = start[(start - self.unsure) * (self.stop - self.start) >= 0.0]
        return not since.size or path.certify(at=np.append(since, self.stop)).ok

    def allow(self, seconds: float) -> None:
        """Fail once this many seconds have passed."""
        self.budget = time.monotonic() + seconds
        if np.isfinite(seconds):
            self.tracker.pulse = self._pulse

    def _declined(self, *troubles: Unproven) -> TraceError:
        """The error that a user sees: what is proven, and why there is no more."""
        proven = [part for trouble in troubles if (part := trouble.proven()) is not None]
        path = max(proven, key=lambda p: abs(p.traced[1] - p.traced[0]), default=None)
        messages = [str(trouble) for trouble in troubles]
        model, status = self.problem.model, Status.FAILED
        claimed = [message for message in messages if "no optimum exists" in message]
        why = model.no_optimum(self.start if path is None else path.traced[1]) if claimed else None
        # What only one attempt says of the problem, and the model does not confirm, is not so.
        message = min(messages, key=lambda m: "no optimum" in m)
        if why is not None:
            message, status = f"{type(model).__name__}: {why}", Status.NO_OPTIMUM
        elif message not in claimed:
            tracker = self.tracker
            cause = cause_of_trouble(
                self.problem,
                tracker.alpha,
                tracker.size_of_u(),
                tracker.active,
                float(tracker.now.t),
            )
            message = f"{message}: {cause}"
        error = TraceError(message)
        error.path = None if path is None else attrs.evolve(path, status=status)
        return error

    def _place(self) -> str:
        return f"{self.problem.model.parameter}={self.tracker.now.t:.17g}"

    # ------------------------------------------------------------------ the start

    def begin(self, start: Start) -> None:
        """Solve the problem at the start of the span, exactly."""
        problem, tracker, tol = self.problem, self.tracker, self.options.tolerances
        snap, target = problem.polylines.at(problem.start), problem.target(problem.start)
        unknown = not problem.gram.semidefinite and problem.model.initial_guess() is None
        if start is None and (not snap.convex or unknown):
            name = type(problem.model).__name__
            raise ModelError(
                f"{name} is not convex at {problem.model.parameter}={problem.start:g}; "
                "give trace(start=...) a path or an alpha to begin from"
            )
        point = self._on_path(start, snap) if self.guess is None else None
        standing = point is not None and self._stands(snap, target, point)
        if not standing:
            if self.guess is None:
                self.guess = self._guess(start) if point is None else self._polished(snap, *point)
            self._settle(snap, target, self.guess)
        free = snap.convex and self._centre_border(snap)
        if free:
            # Everybody it moves is on a flat slope now: nothing is left to settle.
            tracker.assign(snap, *snap.branches(tracker.u))
            tracker.use(tracker.lines)
            tracker.rebuild(tol.well)
        self.start_steps = int(tracker.now.steps)
        if not np.isfinite(problem.start):
            self.start, self.stop = self._finite_span()
        if free or not standing:
            tracker.load_model(self.start, self.stop)
            tracker.head_along(self.start)
            tracker.refresh()
        self._leave_corners()
        if free or not standing:
            tracker.doubt = tracker.off
        self.first_piece, self.begun = tracker.piece.copy(), True
        if self.callback is not None and not problem.unanchored(self.start).size:
            self.first_objective = problem.objective(
                self.start, tracker.alpha, tracker.b, tracker.u
            )
        tracker.start_record()
        if self.start == self.stop or free:
            # A free intercept goes to one end of its interval as soon as t moves.
            tracker.record_point()

    def _stand_at(self, guess: Guess, snap: Snapshot) -> None:
        """Every coordinate on the piece of its polyline at the start that is nearest to `guess`."""
        problem, tracker = self.problem, self.tracker
        tracker.place(*guess)
        tracker.set_scales((problem.start, problem.stop))
        tracker.assign(snap, *snap.branches(tracker.u))

    def _stands(self, snap: Snapshot, target: Array, guess: Guess) -> bool:
        """Whether a point of another path is exact here as it is: then there is nothing to
        solve."""
        problem, tracker, tol = self.problem, self.tracker, self.options.tolerances
        if not (problem.gram.semidefinite and np.isfinite(problem.start)):
            return False
        self._stand_at(guess, snap)
        if np.any(tracker.side):
            return False
        tracker.load_model(self.start, self.stop)
        tracker.head_along(self.start)
        tracker.refresh()
        if not tracker.off <= tol.repair:
            return False
        tracker.rebuild(tol.well)
        self.guess = guess
        return True

    def _settle(self, snap: Snapshot, target: Array, guess: Guess) -> None:
        """Make a guess of the first point exact."""
        problem, tracker, tol = self.problem, self.tracker, self.options.tolerances
        self._stand_at(guess, snap)
        if not problem.gram.semidefinite:
            self._descend(snap, None)
        tracker.settle(problem.start, snap, target)
        off = tracker.off
        if not off <= tol.repair:
            tracker.settle(problem.start, snap, target)
            off = tracker.off
        if not off <= tol.accepted:
            raise TraceError(
                f"the start could not be made exact: it is off by {off:.2g} times what rounding "
                "explains"
            )

    def _leave_corners(self) -> None:
        """Cross the jumps on which coordinates are pinned at the start."""
        tracker, now = self.tracker, self.tracker.now
        if np.any(tracker.side):
            tracker.press(NONE)
            now.stop_segments = 0
            while now.in_jump != state.ON_WAY:
                self._advance()
            now.stop_segments = FOREVER

    def _guess(self, start: Start) -> Guess:
        problem = self.problem
        snap = problem.polylines.at(problem.start)
        n = problem.gram.size
        if start is None:
            own = problem.model.initial_guess()
            if own is None:
                return convex_guess(problem, snap, pulse=self.tracker.pulse)
            start = own
        try:
            alpha = np.array(start, dtype=float)
        except (TypeError, ValueError):
            raise ModelError(f"start: expected a Path or {n} numbers, got {start!r}") from None
        if alpha.shape != (n,):
            raise ModelError(f"start: expected an alpha of shape ({n},), got {alpha.shape}")
        if not np.all(np.isfinite(alpha)):
            raise ModelError("start: alpha holds values that are not finite")
        return self._polished(snap, alpha, estimate_border(problem, snap, alpha))

    def _on_path(self, start: Start, snap: Snapshot) -> Guess | None:
        """alpha and b of a start that is a path, or a point of one; None of any other."""
        if isinstance(start, Path):
            return self._from_path(start, None, snap)
        if isinstance(start, tuple) and len(start) == 2 and isinstance(start[0], Path):
            return self._from_path(start[0], float(start[1]), snap)
        return None

    def _from_path(self, start: Path, t: float | None, snap: Snapshot) -> tuple[Array, Array]:
        """Begin at t of another path, or where it is nearest to the start of the span."""
        problem = self.problem
        n, m = problem.border.shape
        if t is None:
            ours, theirs = problem.model.parameter, start.model.parameter
            if ours != theirs:
                raise PathError(
                    f"start: that is a path in {theirs}, the model moves with {ours}; "
                    f"say where to begin: start=(path, {theirs})"
                )
            t = min(max(problem.start, min(start.traced)), max(start.traced))
        alpha, b = start.alpha(t), start.border_multipliers(t)
        if alpha.size != n:
            raise PathError(f"start: the path has {alpha.size} coordinates, the model has {n}")
        lines = start.problem.polylines
        if lines.names == problem.polylines.names:
            alpha = carry_over(alpha, start.pieces(t), lines.at(t), snap)
        return alpha, b if b.size == m else estimate_border(problem, snap, alpha)

    def _polished(self, snap: Snapshot, alpha: Array, b: Array) -> tuple[Array, Array]:
        """Bring a guess near, which is cheaper than making a distant one exact step by step; where
        the model is not convex it is left alone, because it chooses the local optimum."""
        if not (snap.convex and self.problem.gram.semidefinite):
            return alpha, b
        return convex_guess(self.problem, snap, alpha, b, self.tracker.pulse)

    def _centre_border(self, snap: Snapshot) -> bool:
        """Put an intercept that is not determined into the middle of its interval; True if so.

        Where every alpha is at the end of its range (a small C, say) any b of an interval is
        optimal; without a rule the path would depend on where its start was looked for.
        """
        tracker = self.tracker
        if tracker.border.shape[1] != 1:
            return False
        usual = tracker.usual_alpha()
        fall, rise = slack_of_border(tracker.border, snap, tracker.alpha, tracker.u, usual)
        size = tracker.now.size_scale / float(np.abs(tracker.border).max())
        slack = self.options.tolerances.slack
        if not (np.isfinite(fall) and np.isfinite(rise) and rise - fall > slack * size):
            return False
        tracker.b = tracker.b + 0.5 * (fall + rise)
        tracker.u += 0.5 * (fall + rise) * tracker.border[:, 0]
        return True

    def _finite_span(self) -> tuple[float, float]:
        """Where the first jump corner meets a response on the way in from infinity."""
        lines, tracker = self.problem.polylines, self.tracker
        u = tracker.u
        inward = 1.0 if self.problem.start < 0 else -1.0
        contact = np.inf
        for j in np.flatnonzero(lines.jump):
            rate = lines.corner1[:, j]
            moving = rate != 0.0
            meets = (u[moving] - lines.corner0[moving, j]) / rate[moving]
            contact = min(contact, float((inward * meets).min(initial=np.inf)))
        start, stop = self.problem.model.resolve_span(inward * contact)
        length = inward * (stop - start)
        if not (np.isfinite(start) and length > EMPTY * max(abs(start), abs(stop))):
            # Nothing to trace: the jump reaches no response before the end of the span.
            return stop, stop
        blur = tracker.now.noise * tracker.now.largest_root
        if not length > blur:
            raise TraceError(
                f"the span from {start:.9g} to {stop:.9g} cannot be told from the rounding of the "
                f"responses, which is {blur:.2g}"
            )
        lines.check(start, stop)
        return start, stop

    # ------------------------------------------------------------------ under way

    def under_way(self) -> bool:
        """Whether there is anything left to trace."""
        now = self.tracker.now
        return bool(now.t != self.stop or now.in_jump != state.ON_WAY)

    def go_on(self) -> None:
        """Let the tracker go on to the next pause, and see to what it wants."""
        now, limit = self.tracker.now, self.options.max_breakpoints
        now.stop_segments = FOREVER if limit is None else limit
        if self.callback is not None:
            now.stop_segments = self.told + 1
        if self.keeper is None:
            self._advance()
        else:
            self.keeper.step(self, self._advance)
        if now.in_jump == state.ON_WAY:
            self._tell()

    def _advance(self) -> None:
        tracker, now = self.tracker, self.tracker.now
        try:
            code = tracker.run(self._listen)
            if code == state.ASK:
                self._ask()
            elif code == state.SOLVE:
                self._solve()
            elif code == state.INDEFINITE:
                self._fall_off()
        except Failure:
            if now.in_jump in (state.ON_WAY, state.FACTORING) or not self.begun:
                raise
            self._recover()

    def _listen(self) -> bool:
        """At a pause: True where the trace itself must have a look."""
        now = self.tracker.now
        due = self.begun and self.keeper is not None and self.keeper.due()
        return bool(due or (now.along and now.segments >= now.stop_segments))

    def _pulse(self) -> None:
        """Now and then, whatever is being done."""
        if self.keeper is None or not self.begun:
            self._watch()
        else:
            self.keeper.watch(self._watch)
            if self.keeper.due():
                # The next look along the path is a pause.
                self.tracker.now.stop_segments = 0

    def _watch(self) -> None:
        """Keep to the time, let others know."""
        time_now = time.monotonic()
        if time_now > self.deadline:
            raise _Stopped(Status.LIMIT)
        if time_now > self.budget:
            raise TraceError("a second attempt took too long")
        if not self.begun or time_now - self.told_at < BEAT:
            return
        self.told_at = time_now
        now = self.tracker.now
        if self.bar is not None and not now.settling and self.stop != self.start:
            self.bar.update_to(abs(now.t - self.start) / abs(self.stop - self.start))
        if self.callback is not None:
            self._call()

    def _call(self) -> None:
        now = self.tracker.now
        t = float(self.tracker.rec.segment[now.segments - 1].stop) if now.segments else self.start
        if self.callback is not None and self.callback(
            Progress(t, int(now.segments), int(now.jumps), self._objective())
        ):
            raise _Stopped(Status.CALLBACK)

    def _objective(self) -> float:
        """That after the latest jump, as recorded, or at the start."""
        jumps = int(self.tracker.now.jumps)
        if not jumps:
            return self.first_objective
        latest = self.tracker.rec.jump[jumps - 1]
        constant = self.problem.model.objective_constant(float(latest.t))
        return self.problem.sign * float(latest.after) + constant

    def _tell(self) -> None:
        """Let the callback see what is new, and stop where a limit is reached."""
        now, limit = self.tracker.now, self.options.max_breakpoints
        if self.callback is not None and now.segments > self.told:
            self.told, self.told_at = int(now.segments), time.monotonic()
            self._call()
        if limit is not None and now.segments >= limit and now.t != self.stop:
            raise _Stopped(Status.LIMIT)

    def finish(self) -> None:
        """Make the last point exact."""
        tracker = self.tracker
        if self.bar is not None:
            self.bar.update_to(1.0)
        jumped = tracker.now.jumps and tracker.rec.jump[tracker.now.jumps - 1].t == self.stop
        if self.start != self.stop and jumped:
            tracker.record_point()
        doubt, checked = tracker.doubt, float(tracker.now.checked)
        if not tracker.correct():
            tracker.doubt = np.inf
        elif doubt <= self.options.tolerances.repair < tracker.doubt:
            # The last point was off and has been corrected.  The points since the last look remain.
            self.unsure, tracker.doubt = checked, doubt

    # ------------------------------------------------------------------ jumps

    def _ask(self) -> None:
        """A model with a rule of its own says who changes side."""
        tracker, now = self.tracker, self.tracker.now
        noted = tracker.mov.flips[: now.flips].copy()
        chosen = self.options.model.flips(float(now.t), noted // 2, tracker.u.copy())
        kept = noted[np.isin(noted // 2, np.asarray(chosen, dtype=np.int64))]
        kept = kept if kept.size else noted
        tracker.mov.flips[: kept.size] = kept
        now.flips, now.asked = kept.size, 1

    def _recover(self) -> None:
        """A jump that the homotopy could not cross: by the QP solver, or else a little later."""
        tracker, now = self.tracker, self.tracker.now
        self.recovered = self.recovered + 1 if now.t == self.recovered_at else 1
        self.recovered_at = float(now.t)
        self.ridge = None
        solvable = self.options.d_step == "auto" and self.problem.gram.semidefinite
        if solvable and not now.by_solver and self.recovered <= RECOVERIES:
            tracker.restore()
            now.by_solver = 1
            return
        if self.late >= self.options.tolerances.most_late:
            raise TraceError(
                f"{self.late} jumps up to {self.options.model.parameter}={now.t:.17g} could not "
                "be crossed where they are"
            )
        tracker.restore()
        self._cross_late()

    def _cross_late(self) -> None:
        """Cross the jump a hair's breadth further on, where the ties at its exact place are gone.

        The present point is carried along unchanged; the fraction of the span is far below the
        tolerance of the certificate.
        """
        tracker, now = self.tracker, self.tracker.now
        span = self.stop - self.start
        if not abs(now.t - self.late_from[0]) <= NEARBY * abs(span):
            self.late_from = (float(now.t), tracker.recorded())
        late = now.t + self.options.tolerances.late * span
        if abs(self.stop - now.t) <= abs(late - now.t):
            late = self.stop
        tracker.record_standstill(late)
        tracker.head_along(late)
        self.late += 1
        self.settles, now.by_solver = True, 1
        tracker.press(NONE)

    def _solve(self) -> None:
        """The conditional optimum by a QP solver (or the point as it is), then made exact."""
        tracker, now = self.tracker, self.tracker.now
        t = float(now.t)
        snap, target = self.problem.polylines.at(t), self.problem.target(t)
        before = tracker.piece.copy()
        if self.ridge is not None:
            self._descend(snap, self.ridge)
            self.ridge = None
            tracker.log_changes(before)
        elif not self.settles:
            first, last = self._branches()
            slices = [slice(a, b + 1) for a, b in zip(first.tolist(), last.tolist(), strict=True)]
            qp = ConditionalQP.build(self.problem, snap, target, slices, tracker.pulse)
            tracker.place(*self.options.solver(qp))
            given = tracker.piece // 2
            tracker.assign(snap, first, last)
            self._keep_sides(snap, given)
            tracker.log_changes(before)
        tracker.settle(t, snap, target)
        tracker.end_crossing(t)
        off = tracker.off
        if not off <= self.options.tolerances.accepted:
            raise TraceError(
                f"the jump at {self._place()} could not be made exact: it is off by {off:.2g} "
                "times what rounding explains"
            )
        now.solved_by = 0 if self.settles or not self.problem.gram.semidefinite else 1
        now.by_solver = self.options.d_step == "osqp"
        self.settles = False

    def _fall_off(self) -> None:
        """Coordinate `want` can go on only downhill: the active block with it is not definite any
        more, and what was a local optimum is a ridge.  One more kind of jump."""
        tracker, now = self.tracker, self.tracker.now
        self.ridge = (int(now.want), -1.0 if now.way > 0 else 1.0)
        tracker.refresh()
        tracker.press(NONE)
        now.by_solver = 1

    def _descend(self, snap: Snapshot, ridge: tuple[int, float] | None) -> None:
        """Go downhill to a local optimum."""
        tracker, form = self.tracker, (self.problem.gram, self.problem.border)
        point = tracker.alpha.copy(), tracker.b.copy(), tracker.piece.copy()
        alpha, b, piece = descend(*form, snap, point, ridge, tracker.size_of_u())
        tracker.place(alpha, b)
        tracker.piece[:] = piece

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
        """A jump of height zero (theta = 1) holds nobody: who stands on it keeps the side given."""
        tracker = self.tracker
        near = 1e-10 * tracker.size_of_u()
        for j in np.flatnonzero(self.problem.polylines.jump).tolist():
            on_it = (np.abs(tracker.u - snap.corner[:, j]) <= near) & (snap.kind[:, j] == SEAM)
            slope = tracker.piece // 2
            on_it &= (tracker.piece % 2 == 0) & (np.minimum(given, slope) == j)
            on_it &= np.maximum(given, slope) == j + 1
            tracker.piece[on_it] = 2 * given[on_it]

    # ------------------------------------------------------------------ checkpoints

    def state(self) -> dict[str, Any]:
        """Everything that the rest of the trace depends on, as arrays by name."""
        assert self.guess is not None
        numbers = (self.start, self.stop, self.start_steps, self.late, self.recovered)
        places = (self.recovered_at, self.settles, *self.late_from, self.first_objective)
        arrays = {
            "trace": np.array([*numbers, *places], dtype=float),
            "first_piece": self.first_piece,
            "ridge": np.array(self.ridge or (), dtype=float),
            "guess.alpha": self.guess[0],
            "guess.b": self.guess[1],
        }
        held = {f"gram.{name}": array for name, array in self.problem.gram.held().items()}
        return arrays | held | self.tracker.state()

    def trouble(self) -> tuple[str, Path | None] | None:
        """How the attempt before this one ended, if there was one."""
        return None if self.earlier is None else (str(self.earlier), self.earlier.proven())

    def restore(self, saved: Checkpoint | None) -> None:
        """Stand where `saved` was made, if there is such a thing."""
        if saved is None:
            return
        arrays, n = saved.arrays, self.problem.gram.size
        with saved.refusing():
            numbers = arrays["trace"].tolist()
            self.start, self.stop, *counts = numbers[:5]
            self.recovered_at, settles, t, segments, self.first_objective = numbers[5:]
            self.start_steps, self.late, self.recovered = map(int, counts)
            self.late_from = (t, int(segments))
            self.first_piece, self.settles = arrays["first_piece"], bool(settles)
            ridge = arrays["ridge"].tolist()
            self.ridge = (int(ridge[0]), ridge[1]) if ridge else None
            self.guess = arrays["guess.alpha"], arrays["guess.b"]
            if self.first_piece.shape != (n,) or self.guess[0].shape != (n,):
                raise ValueError(f"it has {self.first_piece.size} coordinates, the model has {n}")
            self.tracker.load_model(self.start, self.stop)
            self.tracker.restore_state(arrays)
            self.problem.gram.hold(
                {k.removeprefix("gram."): v for k, v in arrays.items() if k.startswith("gram.")}
            )
        self.begun = True
        if self.keeper is not None and self.keeper.file == saved.file:
            self.keeper.holds(self)

    # ------------------------------------------------------------------ ending

    def __enter__(self) -> _Trace:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self.bar is not None:
            self.bar.close()
        if not self.begun or not self.tracker.recorded():
            return
        if isinstance(error, KeyboardInterrupt):
            self.status = Status.INTERRUPTED
            path = self.path()
            raise TraceInterrupted(f"interrupted; .path holds {path!r}", path) from error
        if isinstance(error, TraceError):
            self.status = Status.FAILED
            error.path = self._before_late_jumps(self.path())
        if isinstance(error, ModelError):
            self.status = Status.FAILED
            with suppress(ModelError):
                error.path = proven_part(self.path())

    def _before_late_jumps(self, path: Path) -> Path | None:
        """`path` without those jumps at its end that could not be crossed where they are."""
        (t, count), near = self.late_from, NEARBY * abs(self.stop - self.start)
        if not abs(path.traced[1] - t) <= near or count >= len(path.segments):
            return path
        return path._first(count) if count else None

    def path(self) -> Path:
        """What has been recorded, as a path."""
        tracker = self.tracker
        tracker.seal()
        segments = segments_of(tracker.rec, tracker.now, self.first_piece)
        end, sign = float(segments.stop[-1]), 1.0 if self.stop >= self.start else -1.0
        jumps = jump_records(tracker.rec, tracker.now, self.problem)
        d_steps = sum(jump.steps for jump in jumps)
        counts: dict[str, Any] = {
            "start_steps": self.start_steps,
            "c_steps": int(tracker.now.steps) - self.start_steps - d_steps,
            "d_steps": d_steps,
            "pivots": int(tracker.now.pivots),
            "exchanges": int(tracker.now.exchanges),
            "slides": int(tracker.now.slides),
            "refined": int(tracker.now.refined),
            "repairs": tracker.repairs,
            "windows": int(tracker.now.opened),
            "late_jumps": self.late,
        }
        path = Path(
            model=self.options.model,
            segments=segments,
            jumps=tuple(j for j in jumps if sign * j.t <= sign * end),
            status=self.status,
            span=(self.start, self.stop),
            counts=counts,
            problem=self.problem,
        )
        return path if self.tracker.model_lines.terms.size else _priced(path)


def _climbs(path: Path) -> bool:
    """Whether the objective rises at a jump."""
    return any(
        jump.objective_after - jump.objective_before > LEVEL * abs(jump.objective_before)
        for jump in path.jumps
    )


def _priced(path: Path) -> Path:
    """`path` with the objectives at its jumps, where the tracker could not keep them up to date
    (an origin of the loss that is not affine in t, or that crosses a corner)."""
    values = {
        jump.t: [path._objective_on(*path._locate(jump.t, s)) for s in ("before", "after")]
        for jump in path.jumps
    }
    jumps = []
    for jump in path.jumps:
        before, after = values[jump.t]
        jumps.append(attrs.evolve(jump, objective_before=before, objective_after=after))
        # Of several at one t only the two ends are known.
        values[jump.t] = [after, after]
    return attrs.evolve(path, jumps=tuple(jumps))
