"""`Homotopy`: options, `trace`, `resume`, and a second attempt where the first cannot be proven.

One attempt is a `homotopy.tracing.Run`; its steps are compiled (`homotopy.tracker`).
"""

from __future__ import annotations

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
from homotopy.runtime import announce_compilation, compiled
from homotopy.threads import one_thread
from homotopy.tracing import Callback, Progress, Run, TraceTolerances, Unproven
from homotopy.tracing.first_point import Guess, Start
from homotopy.tracker import Tolerances, Windows

__all__ = ["Homotopy", "Progress", "compile_now"]

Array = npt.NDArray[np.float64]


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
        Stop after this many break-points; the path traced so far is returned.
    max_seconds : float or None
        Stop after this many seconds, wherever the trace is.  Compilation on first use does
        not count.
    tolerances : Tolerances
        What counts as zero; for tests, there is no need to change it.
    windows : Windows
        When to look at some coordinates only; changes the speed, never the path.
    tracing : TraceTolerances
        When a path is checked before it is returned, and how long a second attempt may take; for
        tests too.

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
    tracing: TraceTolerances = attrs.field(factory=TraceTolerances, kw_only=True)

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
            the t.  The start is always made exact; on a model that is not convex at its start it
            also decides which local optimum is followed.
        progress : bool
            Show a progress bar.
        callback : callable, optional
            Called with a `Progress` after each break-point, and about ten times a second while
            the trace is busy at one; a true answer stops it.
        checkpoint : str or path-like, optional
            A file for the state of the trace, from which `resume` continues: written at intervals
            once the path has begun, when the trace is stopped (by a limit, a callback or Ctrl-C),
            and at its end.  Each replaces the one before as a whole, so there is always one, even
            if the process is killed.  A failure to write (a full disk) is logged, and the trace
            continues.  Checkpoints do not change the path.
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
                first, begun = Run(self, progress, callback, deadline, keeper), time.monotonic()
                first.restore(saved)
                try:
                    return first.proven_path(start)
                except Unproven as error:
                    trouble, guess, saved = error, first.guess, None
                budget = self.tracing.again * (time.monotonic() - begun) + self.tracing.at_least
                if keeper is not None:
                    # Checkpoints tell it; looked for now, it disturbs no rows of Q in use.
                    trouble.trouble()
            else:
                trouble = Unproven.again(saved.trouble)
                budget = np.inf
            again = Run(self._careful(), progress, callback, deadline, keeper)
            again.allow(budget)
            again.guess = guess
            again.restore(saved)
            return again.proven_path(start, trouble)

    def _careful(self) -> Homotopy:
        """The same with everything recomputed after every step, and all coordinates looked at."""
        patience = attrs.evolve(self.tolerances.patience, refresh=1, most_late=2, settlings=8)
        tolerances = attrs.evolve(self.tolerances, cancelled=1e3, patience=patience)
        return attrs.evolve(self, tolerances=tolerances, windows=self.windows.closed())


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

    For images, CI, and if you would rather wait now.  What is compiled is kept on disk beside
    the package (or where NUMBA_CACHE_DIR says) and used by every process after.
    """
    begin = time.perf_counter()
    for gram in (DenseGram(np.eye(3) + 0.5), LinearGram(np.ones((3, 1)))):
        for border in (np.array([1.0, -1.0, 1.0]), None):
            Homotopy(_Tiny(gram, border)).trace()
    return time.perf_counter() - begin
