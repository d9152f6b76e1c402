"""A route: polylines that move affinely with one number tau, from start to stop.

Three routes exist, and the follower cannot tell them apart.

* `along`: the model's own polylines, tau = t (the C-step);
* `flipped`: t is fixed, the branch of each flipped coordinate comes down (or up) from where the
  coordinate stands, tau = mu from 1 to 0 (the D-step);
* `settled`: t is fixed, each polyline is shifted sideways so that a guess is exactly optimal at
  mu = 1, tau = mu from 1 to 0 (any start, warm or cold, and every repair).

All three share one form, so that going from one to another costs nothing:

    slope  = slope0 + slope1 t + (lift + curvature shift) mu
    corner = corner0 + corner1 t + shift mu

with one `lift` and one `shift` a coordinate (kept by the follower), and either t or mu moving.
"""

from __future__ import annotations

import attrs
import numpy as np
import numpy.typing as npt

from homotopy.model import Problem
from homotopy.model.polyline import JUMP, Polylines, Snapshot

__all__ = ["Route"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]


@attrs.frozen(eq=False)
class Route:
    """Tables of slopes (n, K+1) and corners (n, K), affine in t, and the way to go.

    ``pin`` tells what a jump corner is: False, an end of the route (a wall to report); True, a
    knot whose alpha is unbounded on the far side (the coordinate stays on its convex branch).
    ``t`` is where t stands fixed if it is mu that moves; ``target0 + target1 tau`` is e.
    """

    lines: Polylines
    kind: npt.NDArray[np.int8]
    target0: Array
    target1: Array
    start: float
    stop: float
    pin: bool
    along: bool
    t: float

    @classmethod
    def of(cls, problem: Problem, start: float, stop: float, *, pin: bool = False) -> Route:
        """The model's polylines from t = start to t = stop."""
        return cls(
            problem.polylines,
            problem.kinds_within(start, stop),
            problem.target0,
            problem.target1,
            start,
            stop,
            pin=pin,
            along=True,
            t=start,
        )

    @classmethod
    def flipped(cls, problem: Problem, t: float) -> Route:
        """Fixed t; the slopes of the flipped stand ``mu * lift`` too high; mu from 1 to 0."""
        return cls(
            problem.polylines,
            problem.kinds_at(t),
            problem.target(t),
            np.zeros_like(problem.target0),
            1.0,
            0.0,
            pin=True,
            along=False,
            t=t,
        )

    @classmethod
    def settled(cls, snap: Snapshot, target: Array, excess: Array) -> Route:
        """Fixed t; every coordinate stands ``mu * shift`` too far right; mu from 1 to 0.

        `excess` is ``B^T alpha - e`` of the guess, taken away with the shift.
        """
        still_slope, still_corner = np.zeros_like(snap.slope), np.zeros_like(snap.corner)
        tables = (snap.slope, still_slope, snap.corner, still_corner, snap.curvature)
        lines = Polylines((), np.zeros(0, dtype=bool), *tables)
        return cls(lines, snap.kind, target, excess, 1.0, 0.0, pin=True, along=False, t=0.0)

    def target(self, tau: float) -> Array:
        return self.target0 + self.target1 * tau

    def branch(self, i: int, j: int) -> slice:
        """The slopes of coordinate `i` on the same convex branch as slope `j`."""
        jumps = np.flatnonzero(self.kind[i] == JUMP)
        first = int(jumps[jumps < j].max()) + 1 if np.any(jumps < j) else 0
        last = int(jumps[jumps >= j].min()) if np.any(jumps >= j) else self.kind.shape[1]
        return slice(first, last + 1)
