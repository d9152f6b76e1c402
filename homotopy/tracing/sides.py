"""A jump crossed as a whole: convex problems in turn, each with the sides that the one before ends
on.

With every coordinate on its convex branch, and the end pieces of the branch continued beyond its
jump corners, the problem is convex and its loss nowhere below the true one near a concave corner.
So its optimum is no worse than the present point, and the coordinates that it takes across a corner
have changed side, all at once.  A crowd of coordinates on one corner, which the tracker would take
across a few at a time, needs two or three such problems.
"""

from __future__ import annotations

from collections.abc import Callable

import attrs
import numpy as np
import numpy.typing as npt

from homotopy.model import Problem
from homotopy.model.polyline import SEAM, Snapshot
from homotopy.start.convex import ConvexProblem, solve_convex
from homotopy.tracing.tolerances import TraceTolerances

__all__ = ["Sides", "in_turn"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]


@attrs.frozen(eq=False)
class Sides:
    """The convex branch of each coordinate, from slope `first` to slope `last`.

    `jump` says which corners are jumps, (n, K).
    """

    first: Index
    last: Index
    jump: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, slope: Index, jump: npt.NDArray[np.bool_]) -> Sides:
        """Return the branches that contain these slopes."""
        return cls._between(jump, slope[:, None] > np.arange(jump.shape[1]))

    @classmethod
    def _between(cls, jump: npt.NDArray[np.bool_], right: npt.NDArray[np.bool_]) -> Sides:
        """Return the branches right of these corners, and left of the others."""
        k = jump.shape[1]
        corner = np.arange(k)
        first = np.where(jump & right, corner + 1, 0).max(axis=1, initial=0)
        last = np.where(jump & ~right, corner, k).min(axis=1, initial=k)
        return cls(first, last, jump)

    def at(self, u: Array, near: Array, corner: Array, ahead: Array) -> Sides:
        """Return the branches on which the responses are.

        One within `near` of a corner is where the corner leaves it: `ahead` is how the corners move
        along the path.  If the corner rests, the response stays on its side.
        """
        beyond = self.first[:, None] > np.arange(corner.shape[1])
        on_it = np.abs(u[:, None] - corner) <= near[:, None]
        right = np.where(on_it, np.where(ahead == 0.0, beyond, ahead < 0.0), u[:, None] > corner)
        return Sides._between(self.jump, right)

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
        )


def in_turn(
    problem: Problem,
    t: float,
    point: tuple[Array, Array],
    sides: Sides,
    near: Array,
    tolerances: TraceTolerances,
    pulse: Callable[[], object] | None = None,
) -> tuple[Array, Array, Sides, int]:
    """Return alpha, b and the sides at which the problems in turn end, and how many there were.

    `point` is the present (alpha, b); responses are on a corner within `near`.
    """
    snap, (alpha, b) = problem.polylines.at(t), point
    ahead = problem.polylines.corner1 * np.sign(problem.stop - t)
    turns = 0
    while turns < tolerances.turns:
        turns += 1
        convex = ConvexProblem(
            problem.gram, problem.border, problem.target(t), sides.continued(snap)
        )
        found = solve_convex(convex, alpha=alpha, b=b, tol=tolerances.turn, pulse=pulse)
        alpha, b = found.alpha, found.b
        now = sides.at(found.u, near, snap.corner, ahead)
        if np.array_equal(now.first, sides.first) and np.array_equal(now.last, sides.last):
            break
        sides = now
    return alpha, b, sides, turns
