"""`Homotopy`: options, `trace`, `resume`, and a second attempt if the first cannot be proven.

One attempt is a `homotopy.tracing.Run`; its steps are compiled (`homotopy.tracker`).
"""

from __future__ import annotations

import os
import time

import attrs
import numpy as np

from homotopy.checkpoint import EVERY, Checkpoint, Keeper
from homotopy.path import Path
from homotopy.runtime import announce_compilation, compile_loops, compiled
from homotopy.threads import one_thread
from homotopy.tracing import Callback, Options, Progress, Run, Unproven
from homotopy.tracing.first_point import Guess, Start

__all__ = ["Homotopy", "Progress", "compile_now"]


@attrs.frozen(eq=False)
class Homotopy(Options):
    """Traces the path of local optima of a model over the span of its parameter.

    A complete path is returned only if it is proven: by the error bounds of the tracker, or by the
    certificate where these leave a doubt.  If the first attempt cannot be proven, a second one
    recomputes everything at every step.  If that fails too, `trace` raises a `TraceError` that
    names the cause and holds the proven part.

    Parameters
    ----------
    model : LossModel
        The problem to trace.
    d_step : {"auto", "homotopy", "osqp"}
        How to cross a jump: by the mu-homotopy ("homotopy"), by a QP solver and an exact clean-up
        ("osqp"), or by the homotopy with the solver as fallback ("auto").
    solver : callable
        The conditional-QP solver for "osqp" and "auto"; takes a `ConditionalQP` and returns an
        approximate alpha and b.
    max_breakpoints : int or None
        Stop after this many break-points; the path traced so far is returned.
    max_seconds : float or None
        Stop after this many seconds, at any point of the trace.  Compilation on first use does
        not count.
    tolerances : Tolerances
        What counts as zero; meant for tests, there should be no need to change it.
    windows : Windows
        When to work on some coordinates only; affects the speed, never the path.
    tracing : TraceTolerances
        When a path is checked before it is returned, and how long a second attempt may take; meant
        for tests.

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

    def trace(
        self,
        *,
        start: Start = None,
        progress: bool = False,
        callback: Callback | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        every: float = EVERY,
    ) -> Path:
        """Trace the path over the whole span.

        Parameters
        ----------
        start : Path, (Path, t) or array (n,), optional
            Where to begin: another path, at its t nearest to the start of the span (or at the
            given t), or an approximate alpha.  From the path of a neighbouring C each coordinate
            keeps its piece, so a grid of C values starts cheaply.  A path in another parameter
            needs the t.  The start is always made exact; if the model is not convex at its start,
            it also decides which local optimum is followed.
        progress : bool
            Show a progress bar.
        callback : callable, optional
            Called with a `Progress` after each break-point, and about ten times a second if one
            takes long; a true return value stops the trace.
        checkpoint : str or path-like, optional
            A file for the state of the trace, from which `resume` continues: written at intervals
            once the path has begun, when the trace is stopped (by a limit, a callback or Ctrl-C),
            and at its end.  Each checkpoint replaces the previous one atomically, so there is
            always one, even if the process is killed.  A failure to write (a full disk) is logged,
            and the trace continues.  Checkpoints do not change the path.
        every : float
            Seconds between two checkpoints.

        Returns
        -------
        Path
            Complete, or with a `status` that says why it was stopped.

        Raises
        ------
        TraceError
            On numerical trouble, or if `max_seconds` ran out before the path began; its `path`
            attribute holds the proven part.
        TraceInterrupted
            On Ctrl-C; its `path` holds the part traced so far (None before the path began).  It is
            a `KeyboardInterrupt`.
        PathError
            If `checkpoint` cannot be written to, before anything is traced.
        """
        grace = self.tracing.grace
        keeper = None if checkpoint is None else Keeper(checkpoint, every, self, grace)
        path, run = self._run(start, progress, callback, keeper, None)
        run.warn_of_rounding(path, stacklevel=2)
        return path

    def traced(self, start: Start = None) -> tuple[Path, Run]:
        """Return the path, and the attempt that traced it with its tracker (see `PathSequence`)."""
        return self._run(start, False, None, None, None)

    def resume(
        self,
        file: str | os.PathLike[str],
        *,
        progress: bool = False,
        callback: Callback | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        every: float = EVERY,
    ) -> Path:
        """Continue from a checkpoint; the path is what it would be without the interruption, bit
        for bit.

        The model and the options must be those of the trace; limits may differ.  `max_seconds`
        counts from now, `max_breakpoints` from the start of the path.  If the trace was complete,
        its path is returned at once.

        Parameters
        ----------
        file : str or path-like
            The file written by ``trace(checkpoint=file)``.  Its content is checked against damage,
            not against malice: resume from your own files only.
        progress, callback
            As for `trace`; the callback is first called at the present break-point.
        checkpoint : str or path-like, optional
            Where to write further checkpoints; by default `file`.
        every : float
            Seconds between two checkpoints.

        Raises
        ------
        PathError
            If the file is missing or damaged, or was made with another model, other data, other
            options or another version of homotopy-qp.
        TraceError, TraceInterrupted
            As for `trace`.
        """
        saved = Checkpoint.read(file, self)
        into = file if checkpoint is None else checkpoint
        keeper = Keeper(into, every, self, self.tracing.grace)
        path, run = self._run(None, progress, callback, keeper, saved)
        run.warn_of_rounding(path, stacklevel=2)
        return path

    def _run(
        self,
        start: Start,
        progress: bool,
        callback: Callback | None,
        keeper: Keeper | None,
        saved: Checkpoint | None,
    ) -> tuple[Path, Run]:
        """Trace from `start`, or continue from `saved`; retry once if the path is not proven."""
        announce_compilation()
        deadline = np.inf
        if self.max_seconds is not None:
            if not compiled():
                compile_now()
            deadline = time.monotonic() + self.max_seconds
        with one_thread(self.model):
            guess: Guess | None = None
            if saved is None or saved.trouble is None:
                first = Run(self, progress, callback, deadline, keeper)
                first.load_state(saved)
                try:
                    return first.proven_path(start), first
                except Unproven as error:
                    trouble, guess, saved = error, first.guess, None
                budget = self.tracing.again * first.seconds() + self.tracing.at_least
                if keeper is not None:
                    # Checkpoints store it.  Compute it now, before rows of Q are in use.
                    trouble.trouble()
            else:
                trouble, budget = Unproven.again(saved.trouble), 0.0
            again = Run(self._careful(), progress, callback, deadline, keeper)
            again.guess = guess
            again.load_state(saved)
            # (What a checkpoint stores is what was left of it.)
            again.allow(max(budget, again.former))
            return again.proven_path(start, trouble), again

    def _careful(self) -> Homotopy:
        """Return the options of a second attempt: stricter, and without windows."""
        tolerances = self.tracing.careful.applied_to(self.tolerances)
        return attrs.evolve(self, tolerances=tolerances, windows=self.windows.closed())


def compile_now(*, progress: bool | None = None, forks: bool = False) -> float:
    """Compile everything that a first trace would have to wait for; return the seconds it took.

    Useful for container images and CI.  Compiled code is stored beside the package (or in
    NUMBA_CACHE_DIR) and used by every later process.

    Parameters
    ----------
    progress : bool, optional
        Whether to show a progress bar; by default only on a terminal.
    forks : bool
        Whether to compile also what the first `Path.fork` that moves many rows would wait for.
    """
    return compile_loops(lambda model: Homotopy(model).trace(), progress=progress, forks=forks)
