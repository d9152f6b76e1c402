"""Whether what was traced is proven, and what to say if not."""

from __future__ import annotations

import attrs
import numpy as np

from homotopy.checkpoint import Trouble
from homotopy.diagnosis import cause_of_trouble
from homotopy.errors import TraceError
from homotopy.path import Path, Status
from homotopy.path.certificate import proven_part
from homotopy.tracing.tolerances import TraceTolerances
from homotopy.tracker import Failure, Kind, Tracker

__all__ = ["Unproven", "declined", "is_proven"]


class Unproven(TraceError):
    """An attempt that led to nothing that can be proven; `traced` is where it led."""

    def __init__(self, message: str, traced: Path | None, *, no_optimum: bool = False) -> None:
        super().__init__(message)
        self._traced, self._no_optimum = traced, no_optimum
        self._trouble: Trouble | None = None

    @classmethod
    def of(cls, error: TraceError) -> Unproven:
        """An attempt that ended with `error`."""
        claims = isinstance(error, Failure) and error.kind is Kind.NO_OPTIMUM
        path = error.path if isinstance(error.path, Path) else None
        return cls(str(error), path, no_optimum=claims)

    @classmethod
    def again(cls, trouble: Trouble) -> Unproven:
        """The same as it was kept in a file."""
        error = cls(trouble.message, None)
        error._trouble = trouble
        return error

    def trouble(self) -> Trouble:
        """What is known of it; the proven part is worked out when first asked for."""
        if self._trouble is None:
            path, self._traced = self._traced, None
            proven = None if path is None else proven_part(path, strict=True)
            self._trouble = Trouble(str(self), self._no_optimum, proven)
        return self._trouble


def is_proven(
    path: Path,
    tracker: Tracker,
    tolerances: TraceTolerances,
    *,
    forced: bool,
    unsure: float | None,
) -> bool:
    """Whether every point of a path holds: by the tracker's account of it, or where that leaves a
    doubt by the certificate.

    A jump was not crossed where it is, or not by the tracker, if `forced`.  Points beyond t =
    `unsure` have not been looked at.
    """
    n = path.problem.gram.size
    small = n <= tolerances.few and n * len(path.segments) <= tolerances.small
    off = tracker.doubt > tracker.tolerances.repair or tracker.sizes.strain > tolerances.strain
    if small or forced or off or _climbs(path, tolerances.level) or tracker.rests():
        return path.certify().ok
    if unsure is None:
        return True
    start, (first, last) = path.segments.start, path.span
    since = start[(start - unsure) * (last - first) >= 0.0]
    return not since.size or path.certify(at=np.append(since, last)).ok


def _climbs(path: Path, level: float) -> bool:
    """Whether the objective rises at a jump by more than this fraction."""
    return any(
        jump.objective_after - jump.objective_before > level * abs(jump.objective_before)
        for jump in path.jumps
    )


def declined(tracker: Tracker, start: float, *attempts: Unproven) -> TraceError:
    """The error that a user sees: what is proven, and why there is no more."""
    troubles = [attempt.trouble() for attempt in attempts]
    proven = [trouble.proven for trouble in troubles if trouble.proven is not None]
    path = max(proven, key=lambda p: abs(p.traced[1] - p.traced[0]), default=None)
    problem, status = tracker.problem, Status.FAILED
    why = None
    if any(trouble.no_optimum for trouble in troubles):
        why = problem.model.no_optimum(start if path is None else path.traced[1])
    # What only one attempt says of the problem, and the model does not confirm, is not so.
    trouble = min(troubles, key=lambda trouble: trouble.no_optimum)
    message = trouble.message
    if why is not None:
        message, status = f"{type(problem.model).__name__}: {why}", Status.NO_OPTIMUM
    elif not trouble.no_optimum:
        size, t = tracker.size_of_u(), float(tracker.route.t)
        cause = cause_of_trouble(problem, tracker.alpha, size, tracker.active, t)
        message = f"{message}: {cause}"
    error = TraceError(message)
    error.path = None if path is None else attrs.evolve(path, status=status)
    return error
