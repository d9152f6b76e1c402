"""`Homotopy`: options, `trace`, `resume`, and a second attempt if the first cannot be proven.

One attempt is a `homotopy.tracing.Run`; its steps are compiled (`homotopy.tracker`).
"""

from __future__ import annotations

import copy
import os
import time
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from homotopy.checkpoint import Checkpoint, Keeper
from homotopy.conditional import ConditionalSolver, osqp_solver
from homotopy.errors import ModelError
from homotopy.gram import DenseGram, Gram, LinearGram
from homotopy.model import Jump, Knot, LossModel, Slope
from homotopy.path import Path
from homotopy.runtime import announce_compilation, compilation_shown, compiled
from homotopy.threads import one_thread
from homotopy.tracing import Callback, Progress, Run, TraceTolerances, Unproven
from homotopy.tracing.first_point import Guess, Start
from homotopy.tracker import Tolerances, Windows

__all__ = ["Homotopy", "Progress", "compile_now"]

Array = npt.NDArray[np.float64]


@attrs.frozen(eq=False)
class Homotopy:
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

    model: LossModel
    d_step: str = attrs.field(default="auto", kw_only=True)
    solver: ConditionalSolver = attrs.field(default=osqp_solver, kw_only=True)
    max_breakpoints: int | None = attrs.field(default=None, kw_only=True)
    max_seconds: float | None = attrs.field(default=None, kw_only=True)
    tolerances: Tolerances = attrs.field(default=Tolerances(), kw_only=True)
    windows: Windows = attrs.field(default=Windows(), kw_only=True)
    tracing: TraceTolerances = attrs.field(default=TraceTolerances(), kw_only=True)

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
            On numerical trouble, or if `max_seconds` ran out before the path had begun; its `path`
            attribute holds the proven part.
        TraceInterrupted
            On Ctrl-C; its `path` holds the part traced so far.  It is a `KeyboardInterrupt`.
        PathError
            If `checkpoint` cannot be written to, before anything is traced.
        """
        keeper = None if checkpoint is None else Keeper(checkpoint, every, self)
        return self._run(start, progress, callback, keeper, None)[0]

    def traced(self, start: Start = None) -> tuple[Path, Run]:
        """The path, and the attempt that led to it with its tracker (see `PathSequence`)."""
        return self._run(start, False, None, None, None)

    def of(self, model: LossModel) -> Homotopy:
        """The same options for another model."""
        other = copy.copy(self)
        object.__setattr__(other, "model", model)
        return other

    def resume(
        self,
        file: str | os.PathLike[str],
        *,
        progress: bool = False,
        callback: Callback | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        every: float = 60.0,
    ) -> Path:
        """Continue from a checkpoint; the path is what it would be without the interruption, bit
        for bit.

        The model and the options must be those of the trace; limits may differ.  `max_seconds`
        counts from now, `max_breakpoints` from the start of the path.  The checkpoint of a
        complete trace returns its path at once.

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
        keeper = Keeper(file if checkpoint is None else checkpoint, every, self)
        return self._run(None, progress, callback, keeper, saved)[0]

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
                first, begun = Run(self, progress, callback, deadline, keeper), time.monotonic()
                first.restore(saved)
                try:
                    return first.proven_path(start), first
                except Unproven as error:
                    trouble, guess, saved = error, first.guess, None
                budget = self.tracing.again * (time.monotonic() - begun) + self.tracing.at_least
                if keeper is not None:
                    # Checkpoints store it; computed now, it does not disturb the rows of Q in use.
                    trouble.trouble()
            else:
                trouble = Unproven.again(saved.trouble)
                budget = np.inf
            again = Run(self._careful(), progress, callback, deadline, keeper)
            again.allow(budget)
            again.guess = guess
            again.restore(saved)
            return again.proven_path(start, trouble), again

    def _careful(self) -> Homotopy:
        """Return the same with everything recomputed at every step, and without windows."""
        patience = attrs.evolve(self.tolerances.patience, refresh=1, most_late=2, settlings=8)
        proof = attrs.evolve(self.tolerances.proof, little_border=0.0)
        tolerances = attrs.evolve(self.tolerances, cancelled=1e3, patience=patience, proof=proof)
        return attrs.evolve(self, tolerances=tolerances, windows=self.windows.closed())


class _Tiny(LossModel):
    """Three coordinates to compile with."""

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


def compile_now(*, progress: bool | None = None, forks: bool = False) -> float:
    """Compile everything that a first trace would have to wait for; return the seconds it took.

    Useful for container images and CI.  Compiled code is stored beside the package (or in
    NUMBA_CACHE_DIR) and used by every later process.

    Parameters
    ----------
    progress : bool, optional
        Whether to show a progress bar; by default only on a terminal.
    forks : bool
        Whether to compile what the first `Path.fork` that moves many rows would wait for, too.
    """
    begin = time.perf_counter()
    with compilation_shown(progress):
        for gram in (DenseGram(np.eye(3) + 0.5), LinearGram(np.ones((3, 1)))):
            for border in (np.array([1.0, -1.0, 1.0]), None):
                path = Homotopy(_Tiny(gram, border)).trace()
        if forks:
            path.fork(1.0).leave_one_out()
    return time.perf_counter() - begin
