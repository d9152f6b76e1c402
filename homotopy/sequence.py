"""Many paths, each starting where the previous one ended.

A single trace of a small problem spends most of its time before its first step: on checks, memory,
the first point and the proof.  If only the polylines change (the vectors of a quadratic program,
say, from one program to the next), the end of one path is the first point of the next, with its
active set and its factor.  `PathSequence` keeps the tracker and continues from there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from homotopy.engine import Homotopy
from homotopy.model import LossModel
from homotopy.path import Path
from homotopy.threads import one_thread
from homotopy.tracing import Run, Unproven
from homotopy.tracing.first_point import Start
from homotopy.tracing.legs import Legs, follow_legs, may_follow

__all__ = ["Legs", "PathSequence"]


class PathSequence:
    """Traces models one after another, each from the end of the previous path.

    Parameters
    ----------
    **options
        Those of `Homotopy`.

    Notes
    -----
    A model is followed at once if it shares its `gram` and `border` with the previous one (the same
    objects), has pieces of the same names, and begins at the optimum where the previous path ended.
    Such a path costs a fraction of a millisecond on a hundred coordinates.  Its first point was
    proven as the end of the previous path, and the tracker's own error bound decides whether the
    rest is proven; where it leaves a doubt, `Path.certify` decides.  Any other model is traced as
    by `Homotopy`, from the end of the previous path if it has as many coordinates.

    Examples
    --------
    >>> import numpy as np
    >>> from homotopy import DenseGram, Knot, LossModel, PathSequence, Slope
    >>> class Leg(LossModel):  # min over x  1/2 x'Qx - c(t)'x,  0 <= x <= 1
    ...     span, unknown = (0.0, 1.0), "alpha"
    ...     gram = DenseGram([[2.0, 1.0], [1.0, 2.0]])
    ...
    ...     def __init__(self, first, last):
    ...         self.first, self.last = np.array(first), np.array(last)
    ...
    ...     def polyline(self, t):
    ...         c = self.first + t * (self.last - self.first)
    ...         return Slope("full", 1.0), Knot("between", c), Slope("none", 0.0)
    >>> sequence, places = PathSequence(), [(1.0, 1.0), (2.0, 0.0), (3.0, 3.0)]
    >>> for first, last in zip(places, places[1:]):
    ...     print(sequence.trace(Leg(first, last)).solution(1.0))
    [1. 0.]
    [1. 1.]
    """

    def __init__(self, **options: Any) -> None:
        self._options = options
        self._last: Run | None = None
        self._path: Path | None = None

    def trace(self, model: LossModel, *, start: Start = None) -> Path:
        """Return the path of `model`, from `start` or from the end of the previous path.

        Raises what `Homotopy.trace` raises; the next trace then starts afresh.
        """
        last, self._last = self._last, None
        if last is not None and start is None:
            path = self._follow(last, model)
            if path is not None:
                return path
            start = self._end(model)
        run = Homotopy(model, **self._options)
        path, self._last = run.traced(start)
        self._path = path
        return path

    def trace_legs(self, legs: Legs) -> Iterator[Path]:
        """Yield the paths of models that differ only in corners and border targets.

        All run in one call of compiled code, in a few hundredths of a millisecond each; others are
        traced as by `trace`.  Raises what `trace` raises.
        """
        k = 0
        while k < len(legs):
            for path in self._follow_legs(legs.since(k)):
                k, self._path = k + 1, path
                yield path
            if k < len(legs):
                model = legs.model(k)
                yield self.trace(model, start=None if self._last else self._end(model))
                k += 1

    def _follow_legs(self, legs: Legs) -> list[Path]:
        """Return as many of the first paths as the tracker can follow."""
        last = self._last
        if last is None or not may_follow(last, legs):
            return []
        self._last = None
        with one_thread(last.problem.model):
            paths = follow_legs(last, legs)
        if len(paths) == len(legs):
            self._last = last
        return paths

    def _follow(self, last: Run, model: LossModel) -> Path | None:
        """Return the path of `model`, followed by the tracker of `last`, or None if it cannot."""
        tracker, problem = last.tracker, last.problem.moved(model)
        if problem is None:
            return None
        with one_thread(model):
            if not tracker.turn_to(problem):
                return None
            run = Run(last.options.of(model), tracker=tracker)
            try:
                path = run.proven_path(None)
            except Unproven:
                return None
        if path.complete:
            self._last = run
        self._path = path
        return path

    def _end(self, model: LossModel) -> Start:
        """Return a start for a model that cannot be followed."""
        path, gram = self._path, getattr(model, "gram", None)
        if path is None or getattr(gram, "size", 0) != path.problem.gram.size:
            return None
        return path, path.traced[1]
