"""Limits, callbacks and the progress bar: everything that observes a trace from outside."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import attrs
import numpy as np

from homotopy.arrays import Index
from homotopy.errors import TraceError
from homotopy.path import Status
from homotopy.progress import progress_bar
from homotopy.tracing.options import Options
from homotopy.tracing.passed import Passed, Sweep
from homotopy.tracker import Tracker

FOREVER = np.iinfo(np.int64).max


@attrs.frozen
class Progress:
    """What a callback receives after each break-point, and in between if one takes long.

    Attributes
    ----------
    t : float
        The end of the part traced so far.
    breakpoints, jumps : int
        How many there are so far.
    objective : float
        The objective at the start or, after a jump, just after the latest one (elsewhere it would
        take a full product with Q); NaN if it is not known during the trace.
    """

    t: float
    breakpoints: int
    jumps: int
    objective: float = np.nan
    _sweep: Sweep | None = attrs.field(default=None, repr=False, eq=False)

    def passed(self) -> Iterator[Passed]:
        """Yield the segments that are new since the last call: t, alpha and b at their ends."""
        return iter(()) if self._sweep is None else self._sweep.new()


Callback = Callable[[Progress], object]


class Stopped(Exception):
    """A limit or a callback requested a stop."""

    def __init__(self, status: Status, limit: str | None = None) -> None:
        self.status, self.limit = status, limit


class Watch:
    """Enforces the limits and reports progress.

    `ends` is the span being traced, once it is known; `beat` is the number of seconds between two
    calls of a callback while there is nothing new.
    """

    def __init__(
        self,
        tracker: Tracker,
        options: Options,
        *,
        progress: bool,
        callback: Callback | None,
        deadline: float,
    ) -> None:
        self.problem, self.tracker, self.callback = tracker.problem, tracker, callback
        self.max_breakpoints, self.beat = options.max_breakpoints, options.tracing.beat
        self.bar = progress_bar(self.problem.model.parameter, 100.0) if progress else None
        self.deadline, self.budget = deadline, np.inf
        self.reported, self.reported_at = 0, time.monotonic()
        self.first_objective = np.nan
        self.ends: tuple[float, float] | None = None
        self.sweep: Sweep | None = None

    @property
    def wanted(self) -> bool:
        """Whether there is a limit to enforce or an observer to inform."""
        limited = np.isfinite(self.deadline) or np.isfinite(self.budget)
        return bool(self.bar is not None or self.callback is not None or limited)

    def allow(self, seconds: float) -> None:
        """Fail once this many seconds have passed."""
        self.budget = time.monotonic() + seconds

    def read_from(self, first_piece: Index) -> None:
        """Let the callback read the path from its first pieces on."""
        if self.callback is not None:
            self.sweep = Sweep(self.problem, self.tracker, first_piece)

    def begin(self, start: float, stop: float) -> None:
        """Note the beginning of the path."""
        self.ends, tracker = (start, stop), self.tracker
        if self.bar is not None:
            # How long the start took says nothing about the path.
            self.bar.restart()
        if self.callback is not None and not self.problem.unanchored(start).size:
            point = tracker.alpha, tracker.b, tracker.u
            self.first_objective = self.problem.objective(start, *point)

    def next_pause(self) -> int:
        """Return the number of segments at which to pause."""
        if self.callback is not None:
            return self.reported + 1
        return FOREVER if self.max_breakpoints is None else self.max_breakpoints

    def poll(self) -> None:
        """Called periodically, at any stage: enforce the time limits, report progress."""
        time_now = time.monotonic()
        if time_now > self.deadline:
            raise Stopped(Status.LIMIT, "max_seconds")
        if time_now > self.budget:
            raise TraceError(
                "the second attempt, which recomputes everything at every step, exceeded its time "
                "limit"
            )
        if self.ends is None or time_now - self.reported_at < self.beat:
            return
        self.reported_at = time_now
        (start, stop) = self.ends
        if self.bar is not None and not self.tracker.route.settling and stop != start:
            self.bar.update_to(abs(self.tracker.route.t - start) / abs(stop - start))
        self._call()

    def report(self) -> None:
        """At a break-point: call the callback with what is new, and stop if a limit is reached."""
        limit, segments = self.max_breakpoints, int(self.tracker.cursor.segments)
        if segments > self.reported:
            self.reported, self.reported_at = segments, time.monotonic()
            self._call()
        assert self.ends is not None
        if limit is not None and segments >= limit and self.tracker.route.t != self.ends[1]:
            raise Stopped(Status.LIMIT, "max_breakpoints")

    def _call(self) -> None:
        if self.callback is None or self.ends is None:
            return
        cursor, record = self.tracker.cursor, self.tracker.record
        segments, jumps = int(cursor.segments), int(cursor.jumps)
        t = float(record.segment[segments - 1].stop) if segments else self.ends[0]
        if self.callback(Progress(t, segments, jumps, self._objective(), self.sweep)):
            raise Stopped(Status.CALLBACK)

    def _objective(self) -> float:
        """Return the objective after the latest jump, as recorded, or at the start."""
        jumps = int(self.tracker.cursor.jumps)
        if not jumps:
            return self.first_objective
        latest = self.tracker.record.jump[jumps - 1]
        constant = self.problem.model.objective_constant(float(latest.t))
        return self.problem.sign * float(latest.after) + constant

    def arrive(self) -> None:
        """Note that the path is complete."""
        if self.bar is not None:
            self.bar.update_to(1.0)

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()
