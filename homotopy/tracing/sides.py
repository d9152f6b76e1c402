"""A jump crossed as a whole: a sequence of convex problems, each starting from the sides reached by
the previous one.

Keep every coordinate on its convex branch, and continue the end pieces of the branch beyond its
jump corners.  This problem is convex, and near a concave corner its loss is nowhere below the true
one.  So its optimum is no worse than the present point, and all coordinates that it moves across a
corner have changed side.  Many coordinates on one corner, which the tracker would take across a few
at a time, need two or three such problems.
"""

from __future__ import annotations

from collections.abc import Callable

import attrs
import numpy as np

from homotopy.arrays import Array, Bools, Index
from homotopy.model import Problem
from homotopy.model.polyline import SEAM, Snapshot
from homotopy.start.convex import ConvexProblem, solve_convex
from homotopy.tracing.tolerances import TraceTolerances


@attrs.frozen(eq=False)
class Sides:
    """The convex branch of each coordinate, from slope `first` to slope `last`.

    `jump` says which corners are jumps, (n, K).
    """

    first: Index
    last: Index
    jump: Bools

    @classmethod
    def of(cls, slope: Index, jump: Bools) -> Sides:
        """Return the branches that contain these slopes."""
        right = slope[:, None] > np.arange(jump.shape[1])
        return cls(*Snapshot.branches_beside(jump, right), jump)

    @property
    def key(self) -> bytes:
        """Tell these sides from others of the same problem."""
        return self.first.tobytes() + self.last.tobytes()

    def at(self, u: Array, near: Array, corner: Array, ahead: Array) -> Sides:
        """Return the branches on which the responses are.

        A response within `near` of a corner is put on the side from which the corner moves away
        (`ahead` is its rate); at a fixed corner it keeps its side.
        """
        beyond = self.first[:, None] > np.arange(corner.shape[1])
        on_it = np.abs(u[:, None] - corner) <= near[:, None]
        right = np.where(on_it, np.where(ahead == 0.0, beyond, ahead < 0.0), u[:, None] > corner)
        return Sides(*Snapshot.branches_beside(self.jump, right), self.jump)

    def continued(self, snap: Snapshot) -> Snapshot:
        """Return polylines without jumps: those of each branch, continued beyond its ends."""
        n, k = snap.corner.shape
        first, last, corner = self.first[:, None], self.last[:, None], np.arange(k)
        rows, slope = np.arange(n)[:, None], np.clip(np.arange(k + 1), first, last)
        before, after = corner < first, corner >= last
        return Snapshot(
            snap.slope[rows, slope],
            np.where(before, -np.inf, np.where(after, np.inf, snap.corner)),
            snap.curvature[rows, slope],
            np.where(before | after, SEAM, snap.kind).astype(np.int8),
            snap.terms,
        )


def solve_in_turn(
    problem: Problem,
    t: float,
    point: tuple[Array, Array],
    sides: Sides,
    near: Array,
    tolerances: TraceTolerances,
    pulse: Callable[[], object] | None = None,
) -> tuple[Array, Array, Sides, int]:
    """Solve convex problems until the sides stop changing; return alpha, b, the sides and the
    number of problems.

    The objective falls with each, so sides recur only if a problem cannot be solved exactly; then
    stop as well.  `point` is the present (alpha, b); responses are on a corner within `near`.
    """
    snap, (alpha, b) = problem.polylines.at(t), point
    ahead = problem.polylines.corner1 * np.sign(problem.stop - t)
    count, seen = 0, {sides.key}
    while count < tolerances.problems:
        count += 1
        convex = ConvexProblem(
            problem.gram, problem.border, problem.target(t), sides.continued(snap)
        )
        found = solve_convex(convex, alpha=alpha, b=b, tol=tolerances.solved, pulse=pulse)
        alpha, b = found.alpha, found.b
        now = sides.at(found.u, near, snap.corner, ahead)
        if now.key in seen:
            break
        sides = now
        seen.add(now.key)
    return alpha, b, sides, count
