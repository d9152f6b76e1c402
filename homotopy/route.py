"""A route: polylines that move affinely with one number tau, from start to stop.

Three routes exist, and the follower cannot tell them apart.

* `along`: the model's own polylines, tau = t (the C-step);
* `flipped`: t is fixed, the branch of each flipped coordinate comes down (or up) from where the
  coordinate stands, tau = mu from 1 to 0 (the D-step);
* `settled`: t is fixed, each polyline is shifted sideways so that a guess is exactly optimal at
  mu = 1, tau = mu from 1 to 0 (any start, warm or cold, and every repair).
"""

from __future__ import annotations

import attrs
import numpy as np
import numpy.typing as npt

from homotopy.model import Problem
from homotopy.polyline import JUMP, Snapshot

__all__ = ["Route"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]


@attrs.frozen(eq=False)
class Route:
    """Tables ``const + rate * tau`` of slopes (n, K+1), corners (n, K) and border target (m,).

    ``pin`` tells what a jump corner is: False, an end of the route (a wall to report); True, a
    knot whose alpha is unbounded on the far side (the coordinate stays on its convex branch).
    """

    slope0: Array
    slope1: Array
    corner0: Array
    corner1: Array
    curvature: Array
    kind: npt.NDArray[np.int8]
    target0: Array
    target1: Array
    start: float
    stop: float
    pin: bool

    @classmethod
    def along(cls, problem: Problem, start: float, stop: float) -> Route:
        """The model's polylines from t = start to t = stop."""
        lines = problem.polylines
        return cls(
            lines.slope0,
            lines.slope1,
            lines.corner0,
            lines.corner1,
            lines.curvature,
            lines.kinds_between(start, stop),
            problem.target0,
            problem.target1,
            start,
            stop,
            pin=False,
        )

    @classmethod
    def flipped(cls, snap: Snapshot, target: Array, rise: Array) -> Route:
        """Fixed t; slope j of coordinate i stands ``mu * rise[i, j]`` too high; mu from 1 to 0."""
        still = np.zeros_like(snap.corner)
        return cls(
            snap.slope,
            rise,
            snap.corner,
            still,
            snap.curvature,
            snap.kind,
            target,
            np.zeros_like(target),
            1.0,
            0.0,
            pin=True,
        )

    @classmethod
    def settled(cls, snap: Snapshot, target: Array, shift: Array, excess: Array) -> Route:
        """Fixed t; coordinate i stands ``mu * shift[i]`` too far right; mu from 1 to 0.

        `excess` is ``B^T alpha - e`` of the guess, taken away with the shift.
        """
        sideways = np.where(np.isfinite(snap.corner), shift[:, None], 0.0)
        return cls(
            snap.slope,
            snap.curvature * shift[:, None],
            snap.corner,
            sideways,
            snap.curvature,
            snap.kind,
            target,
            excess,
            1.0,
            0.0,
            pin=True,
        )

    def snapshot(self, tau: float) -> Snapshot:
        """The polylines at one tau."""
        return Snapshot(
            self.slope0 + self.slope1 * tau,
            self.corner0 + self.corner1 * tau,
            self.curvature,
            self.kind,
        )

    def target(self, tau: float) -> Array:
        return self.target0 + self.target1 * tau

    def branch(self, i: int, j: int) -> slice:
        """The slopes of coordinate `i` on the same convex branch as slope `j`."""
        jumps = np.flatnonzero(self.kind[i] == JUMP)
        first = int(jumps[jumps < j].max()) + 1 if np.any(jumps < j) else 0
        last = int(jumps[jumps >= j].min()) if np.any(jumps >= j) else self.kind.shape[1]
        return slice(first, last + 1)
