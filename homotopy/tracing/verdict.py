"""Whether the traced path is proven, and the error if it is not."""

from __future__ import annotations

import warnings

import attrs
import numpy as np

from homotopy.checkpoint import Trouble
from homotopy.diagnosis import (
    Point,
    cause_of_rounding,
    cause_of_trouble,
    rounding_of_responses,
)
from homotopy.errors import RoundingWarning, TraceError
from homotopy.model import Problem
from homotopy.model.polyline import is_free
from homotopy.path import Path, Status
from homotopy.path.certificate import held_at_end, holds, proven_part
from homotopy.tracing.existence import has_optimum
from homotopy.tracing.tolerances import TraceTolerances
from homotopy.tracker import Failure, Kind, Tracker


class Unproven(TraceError):
    """An attempt that cannot be proven; `traced` is its path."""

    def __init__(self, message: str, traced: Path | None, *, no_optimum: bool = False) -> None:
        super().__init__(message)
        self._traced, self._no_optimum = traced, no_optimum
        self._trouble: Trouble | None = None

    @classmethod
    def of(cls, error: TraceError) -> Unproven:
        """Make one from an attempt that ended with `error`."""
        claims = isinstance(error, Failure) and error.kind is Kind.NO_OPTIMUM
        path = error.path if isinstance(error.path, Path) else None
        return cls(str(error), path, no_optimum=claims)

    @classmethod
    def again(cls, trouble: Trouble) -> Unproven:
        """Make one from what a checkpoint stored."""
        error = cls(trouble.message, None)
        error._trouble = trouble
        return error

    def trouble(self) -> Trouble:
        """Return how the attempt ended; the proven part is computed on the first call."""
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
    certificate_decides: bool,
) -> bool:
    """Whether every point of a path is proven: by the tracker's error bound, or by the certificate
    where that bound leaves a doubt.

    The certificate decides (`certificate_decides`) if the problem is small, or a jump was not
    crossed at its t, or not by the tracker.
    """
    doubts, sizes = tracker.doubts, tracker.sizes
    off = doubts.whole > doubts.limit or sizes.strain > tolerances.strain
    off = off or sizes.broken > tolerances.broken
    if (
        certificate_decides
        or off
        or _climbs(path, tolerances.level)
        or _ends_on_jump(path, tracker)
    ):
        return holds(path)
    stretches = [(stretch.first, stretch.last) for stretch in doubts.stretches]
    return not stretches or holds(path, stretches)


def _ends_on_jump(path: Path, tracker: Tracker) -> bool:
    """Whether a coordinate ends on a jump corner and may not be held there by others.

    The tracker checks this on every segment, except for coordinates whose flip moved nothing.  The
    end is checked again here.
    """
    staying = tracker.on_jump_corners()
    return staying.size > 0 and (tracker.left_alone(staying) or not held_at_end(path, staying))


def _climbs(path: Path, level: float) -> bool:
    """Whether the objective rises at a jump by more than this fraction."""
    return any(
        jump.objective_after - jump.objective_before > level * abs(jump.objective_before)
        for jump in path.jumps
    )


def warn_of_rounding(
    path: Path, tracker: Tracker, tolerances: TraceTolerances, stacklevel: int
) -> None:
    """Warn if rounding may exceed a response of a path that is proven."""
    # The tracker's own measure costs nothing, but is too large where corners meet.
    if tracker.sizes.strain <= tolerances.warned:
        return
    ends = [_point_on(path, tracker, t) for t in dict.fromkeys(path.traced)]
    worst = max(ends, key=lambda point: rounding_of_responses(path.problem, point))
    times = rounding_of_responses(path.problem, worst)
    if times > tolerances.warned:
        warnings.warn(
            f"{type(path.model).__name__}: at {path.model.parameter}={worst.t:.9g} rounding may be "
            f"{times:.2g} times as large as a response. The path is exact only for data that "
            "differ from yours by rounding, so no digit of such a response is certain: "
            f"{cause_of_rounding(path.problem, worst)}",
            RoundingWarning,
            stacklevel=stacklevel + 1,
        )


def unproven_error(
    tracker: Tracker, start: float, tolerances: TraceTolerances, *attempts: Unproven
) -> TraceError:
    """Return the error for the user: what is proven, and why no more."""
    troubles = [attempt.trouble() for attempt in attempts]
    proven = [trouble.proven for trouble in troubles if trouble.proven is not None]
    path = max(proven, key=lambda p: abs(p.traced[1] - p.traced[0]), default=None)
    problem, status = tracker.problem, Status.FAILED
    why = None
    if any(trouble.no_optimum for trouble in troubles):
        why = problem.model.no_optimum(start if path is None else path.traced[1])
    # A claim that no optimum exists needs both attempts, or the model, to confirm it.
    trouble = min(troubles, key=lambda trouble: trouble.no_optimum)
    message, claimed = trouble.message, trouble.no_optimum
    if why is not None:
        message, status = f"{type(problem.model).__name__}: {why}", Status.NO_OPTIMUM
    elif claimed:
        stopped = _stopping_point(tracker, start).t
        later = stopped + tolerances.later * (problem.stop - stopped)
        exists = _existence(problem, start if path is None else later, tolerances.numbers)
        if exists is not None:
            name, claimed = problem.model.parameter, False
            message = f"the path could not be continued beyond {name}={stopped:.17g}, {exists}"
    if why is None and not claimed:
        last = None if path is None else _point_on(path, tracker, path.traced[1])
        cause = cause_of_trouble(problem, _stopping_point(tracker, start), last)
        message = f"{message}: {cause}"
    error = TraceError(message)
    error.path = None if path is None else attrs.evolve(path, status=status)
    return error


def _existence(problem: Problem, t: float, most: int) -> str | None:
    """How it is known, against what was traced, that there is an optimum at t; None if not."""
    if problem.model.bounded_below:
        return "although the objective is bounded below, so that an optimum exists"
    if has_optimum(problem, t, most):
        return "although linear programs find an optimum there"
    return None


def _stopping_point(tracker: Tracker, start: float) -> Point:
    """Return the point at which the tracker stopped: at `start`, if nothing is recorded."""
    return Point(
        t=float(tracker.route.t) if tracker.recorded() else start,
        alpha=tracker.alpha,
        u=tracker.u,
        size=tracker.size_of_u(),
        piece=tracker.piece,
        active=tracker.active_index,
    )


def _point_on(path: Path, tracker: Tracker, t: float) -> Point:
    """Return the point of the path at t."""
    lines = path.problem.polylines
    u, piece = path.response(t), path.pieces(t)
    return Point(
        t=t,
        alpha=path.alpha(t),
        u=u,
        size=np.maximum(tracker.size_of_u(), np.abs(u)),
        piece=piece,
        active=np.flatnonzero(is_free(lines.curvature, np.arange(piece.size), piece)),
    )
