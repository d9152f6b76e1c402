"""The segments traced so far, for callbacks."""

from __future__ import annotations

from collections.abc import Iterator

import attrs
import numpy as np

from homotopy.arrays import Array, Index
from homotopy.model import Problem
from homotopy.tracker import Tracker


@attrs.frozen(eq=False)
class Passed:
    """A traced segment: t, alpha and b at its two ends, linear in between."""

    t: tuple[float, float]
    alpha: tuple[Array, Array]
    border_multipliers: tuple[Array, Array]
    problem: Problem = attrs.field(repr=False)


class Sweep:
    """Reads the record of a trace from where it stopped reading last."""

    def __init__(self, problem: Problem, tracker: Tracker, first_piece: Index) -> None:
        self.problem, self.tracker, self.piece = problem, tracker, first_piece.copy()
        self.segments = self.entries = self.logged = 0
        self.level, self.rate = problem.polylines.flat(np.arange(first_piece.size), first_piece)

    def new(self) -> Iterator[Passed]:
        """Yield the segments recorded since the last call."""
        rec, lines = self.tracker.record, self.problem.polylines
        while self.segments < int(self.tracker.cursor.segments):
            segment = rec.segment[self.segments]
            log = rec.log[self.logged : int(segment.log)]
            changed = np.array(log.i)
            # Later entries overwrite earlier ones: NumPy assigns in order.
            self.piece[changed] = log.new
            self.level[changed], self.rate[changed] = lines.flat(changed, self.piece[changed])
            part = slice(self.entries, int(segment.active))
            t = float(segment.start), float(segment.stop)
            alphas = [self.level + self.rate * place for place in t]
            for end, alpha in enumerate(alphas):
                alpha[rec.active[part]] = rec.alpha[end, part]
            first, last = (np.array(rec.border[self.segments, end]) for end in (0, 1))
            self.logged, self.entries = int(segment.log), part.stop
            self.segments += 1
            yield Passed(t, (alphas[0], alphas[1]), (first, last), self.problem)
