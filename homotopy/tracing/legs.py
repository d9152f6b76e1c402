"""Legs: many short paths, each starting where the previous one ended, in one run of compiled
code."""

from __future__ import annotations

from collections.abc import Callable

import attrs
import numpy as np

from homotopy.arrays import Array
from homotopy.errors import ModelError
from homotopy.model import LossModel
from homotopy.path import Path, Status
from homotopy.path.certificate import holds
from homotopy.path.recorded import segments_of_legs
from homotopy.tracing.run import Run

__all__ = ["Legs", "follow_legs", "may_follow"]


# What is counted for each leg.
COUNTED = ("steps", "pivots", "exchanges", "slides", "refined")


@attrs.frozen(eq=False)
class Legs:
    """A sequence of models that differ only in corners and border targets.

    Attributes
    ----------
    corners : array (K + 1, n, corners of a polyline)
        At both ends of K legs; a corner is infinite at all of them or at none.
    targets : array (K + 1, border columns)
        The same for ``border_target``.
    model : callable
        ``model(k)`` is the model of leg k, with a span from 0 to 1.
    """

    corners: Array
    targets: Array
    model: Callable[[int], LossModel]

    def __len__(self) -> int:
        return len(self.corners) - 1

    def since(self, k: int) -> Legs:
        """Return the legs from leg k on."""
        return Legs(self.corners[k:], self.targets[k:], lambda j: self.model(k + j)) if k else self


def may_follow(run: Run, legs: Legs) -> bool:
    """Whether only corners and targets move (slopes, kinds and order of corners stay) and no limit
    is set."""
    lines, bend = run.problem.polylines, run.problem.polylines.curvature
    for what, shape in (("corners", lines.corner0.shape), ("targets", run.problem.target0.shape)):
        given = np.shape(getattr(legs, what))
        if given[1:] != shape:
            wanted = ", ".join(["legs + 1", *map(str, shape)])
            raise ModelError(f"Legs: {what} must have shape ({wanted}), got {given}")
    with np.errstate(invalid="ignore"):
        crossed = np.any(np.diff(legs.corners, axis=2) < 0.0) or np.any(np.isnan(legs.corners))
    moving = crossed or lines.jump.any() or lines.slope1.any()
    same = np.all(bend[:, 1:] == bend[:, :-1]) and run.problem.gram.semidefinite
    limited = run.options.max_breakpoints is not None or run.options.max_seconds is not None
    return bool(same and not moving and not limited)


def follow_legs(run: Run, legs: Legs) -> list[Path]:
    """Trace legs with the tracker of `run`, which is at the start of the first (see
    `may_follow`).

    Return the paths that are complete and proven; if there are fewer than legs, the tracker
    cannot be used again.
    """
    tracker, problem, options = run.tracker, run.problem, run.options
    corners, targets = (np.ascontiguousarray(v, dtype=float) for v in (legs.corners, legs.targets))
    scale = _usual_corners(corners, tracker.tolerances.of_model)
    # A leg on which every corner is 0 has no scale of its own: leave it to a trace.
    count = int(np.argmin(scale)) if np.any(scale == 0.0) else len(legs)
    if count == 0:
        return []
    noted, done = tracker.run_legs(corners[: count + 1], targets[: count + 1], scale)
    marks = noted.mark[: done + 1]
    begins = marks.segments, marks.entries, marks.logged
    segments = segments_of_legs(tracker.record, *begins, noted.piece)
    counts = {name: np.diff(marks[name]).tolist() for name in COUNTED}
    with np.errstate(invalid="ignore"):
        rates = np.where(np.isfinite(corners[:-1]), np.diff(corners, axis=0), 0.0)
    drifts, paths = np.diff(targets, axis=0), []
    tolerances = options.tracing
    doubt = (marks.bound > tracker.tolerances.repair) | (marks.strain > tolerances.strain)
    doubt |= marks.broken > tolerances.broken
    drowned = marks.strain > tolerances.drowned
    for k in range(done):
        model = legs.model(k)
        line = attrs.evolve(problem.polylines, corner0=corners[k], corner1=rates[k])
        problem = attrs.evolve(
            problem, model=model, target0=targets[k], target1=drifts[k], polylines=line
        )
        path = Path(
            model=model,
            segments=segments(k),
            jumps=(),
            status=Status.COMPLETE,
            span=(0.0, 1.0),
            counts=_counts({name: each[k] for name, each in counts.items()}),
            problem=problem,
        )
        if drowned[k] or (doubt[k] and not holds(path)):
            break
        paths.append(path)
    run.problem = tracker.problem = problem
    return paths


def _counts(made: dict[str, int]) -> dict[str, int]:
    steps = made.pop("steps")
    none = {"repairs": 0, "windows": 0, "late_jumps": 0}
    return {"start_steps": 0, "c_steps": steps, "d_steps": 0, **made, **none}


def _usual_corners(corners: Array, rounding: float) -> Array:
    """Return the median over coordinates of the smallest corner, for each leg (see
    `tracker.tables.scales`)."""
    size = np.abs(corners)
    larger = np.maximum(size[:-1], size[1:])
    with np.errstate(invalid="ignore"):
        real = np.isfinite(larger) & (larger > rounding * size[:-1])
    least = np.sort(np.where(real, larger, np.inf).min(axis=2, initial=np.inf), axis=1)
    count = np.isfinite(least).sum(axis=1)
    legs = np.arange(count.size)
    middle = least[legs, np.maximum(count - 1, 0) // 2], least[legs, count // 2 % least.shape[1]]
    return np.where(count > 0, 0.5 * (middle[0] + middle[1]), 0.0)
