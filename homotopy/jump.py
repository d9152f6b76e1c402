"""The D-step: crossing a discontinuity.

At a jump the coordinates that press on the jump corner change side.  For fixed t the branch of
each flipped coordinate is translated vertically by ``mu * delta_i``, ``delta_i`` being the height
of alpha_i above its new slope, so that the present point is optimal at mu = 1; the follower takes
mu to 0 with every coordinate kept to its own convex branch.  Where one ends pinned to a jump
corner it is flipped in turn, until none is.  The objective never rises, because the point left
behind is feasible for the new partition.
"""

from __future__ import annotations

from collections.abc import Callable

import attrs
import numpy as np
import numpy.typing as npt

from homotopy.conditional import ConditionalQP, ConditionalSolver
from homotopy.errors import TraceError
from homotopy.follow import Follower
from homotopy.model import Problem
from homotopy.pivot import Unbounded
from homotopy.polyline import SEAM, Snapshot
from homotopy.route import Route

__all__ = ["Crossing", "JumpRecord"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]

# Two responses are the same within this part of their scale.
SAME = 1e-9
# No D-step may end with a larger residual (rounding apart).
RESIDUAL = 1e-8
# A move is called one where the fall of the objective that goes with it is above rounding.
MOVED = 1e-6


@attrs.frozen(eq=False)
class JumpRecord:
    """One discontinuity.

    Attributes
    ----------
    t : float
        Where it is.
    flipped : int array
        The coordinates that ended on another side than before, ascending.
    objective_before, objective_after : float
        The full non-convex objective on both sides.
    rounds : int
        How many times pinned coordinates had to be flipped.
    moved : bool
        Whether the response moved (by more than 1e-6 of its scale: below that the fall of the
        objective drowns in rounding); if not, the flip is a relabelling.
    steps : int
        Break-points met on the way across.
    solver : str
        "homotopy" or "osqp".
    """

    t: float
    flipped: Index
    objective_before: float
    objective_after: float
    rounds: int
    moved: bool
    steps: int
    solver: str


class Crossing:
    """Takes a follower across jumps, each at fixed t.

    `solver` is the conditional-QP solver; `mode` tells when it is used: "homotopy" never, "osqp"
    always, "auto" where the mu-homotopy meets numerical trouble.

    On degenerate data a flip may move nothing: several partitions share one response, and which
    of them the path takes is decided by what happens *ahead* of t.  A partition that comes back
    at the same t with the response unmoved is the sign of it.  From then on pinned coordinates
    are judged after orienting the follower in the direction of travel, walls moving with t: the
    one-sided derivative of the objective then falls with every flip, and no partition returns.
    """

    def __init__(
        self,
        problem: Problem,
        mode: str,
        solver: ConditionalSolver,
        choose: Callable[[float, Index, Array], Index],
    ) -> None:
        self.problem, self.mode, self.solver, self.choose = problem, mode, solver, choose
        self.round_limit = 50 + problem.gram.size
        self._seen: set[bytes] = set()
        self._seen_at = np.nan
        self._ahead = False
        self._crossings = 0

    def cross(self, follower: Follower, t: float, stop: float, standing: Index) -> JumpRecord:
        """Flip `standing`, settle, flip whatever ends pinned, until nothing does.

        `stop` is the end of the travel, which tells its direction.  With nobody standing the
        point is settled first: that is how a jump is crossed a little late (see `Homotopy`).
        """
        problem = self.problem
        follower.write_alpha()
        before_u, before_side = follower.u.copy(), self.sides(follower)
        objective = problem.objective(t, follower.alpha, follower.b, follower.u)
        steps, rounds, used = follower.steps, 0, "homotopy"
        if t != self._seen_at:
            self._forget(t, follower)
            self._crossings = 0
        self._crossings += 1
        if self._crossings > 20 + before_side.size:
            raise TraceError(
                f"{self._crossings} D-steps at {problem.model.parameter}={t:.17g} lead nowhere"
            )
        snap, target = problem.polylines.at(t), problem.target(t)
        flip, last_u = standing, before_u
        if not standing.size:
            follower.settle(snap, target)
            flip = self.release(follower)
        while flip.size:
            rounds += 1
            if rounds > self.round_limit:
                raise TraceError(
                    f"the D-step at {problem.model.parameter}={t:.17g} did not end after "
                    f"{self.round_limit} rounds"
                )
            chosen = np.asarray(self.choose(t, flip, follower.u), dtype=np.int64)
            flip = chosen if chosen.size else flip
            used = self._round(follower, snap, target, flip, used)
            if self._moved(follower, last_u):
                self._forget(t, follower)
                last_u = follower.u.copy()
            else:
                key = self.sides(follower).tobytes()
                self._ahead |= key in self._seen
                self._seen.add(key)
            flip = self._pinned_ahead(follower, t, stop) if self._ahead else self.release(follower)
        follower.write_alpha()
        if follower.refresh() > RESIDUAL + 10.0 * follower.rounding / follower.u_scale:
            raise TraceError(
                f"the D-step at {problem.model.parameter}={t:.17g} left a residual of "
                f"{follower.residual():.2g}"
            )
        moved = self._moved(follower, before_u, MOVED)
        flipped = np.flatnonzero(self.sides(follower) != before_side)
        if self._moved(follower, before_u):
            follower.resting.clear()
        else:
            follower.resting.update(flipped.tolist(), standing.tolist())
        return JumpRecord(
            t=t,
            flipped=flipped,
            objective_before=objective,
            objective_after=problem.objective(t, follower.alpha, follower.b, follower.u),
            rounds=rounds,
            moved=moved,
            steps=follower.steps - steps,
            solver=used,
        )

    def _forget(self, t: float, follower: Follower) -> None:
        self._seen, self._seen_at, self._ahead = {self.sides(follower).tobytes()}, t, False

    def _moved(self, follower: Follower, before: Array, least: float = SAME) -> bool:
        scale = max(follower.u_scale, float(np.abs(before).max()))
        return bool(np.abs(follower.u - before).max() > least * scale)

    def _pinned_ahead(self, follower: Follower, t: float, stop: float) -> Index:
        """The coordinates that would be pinned just past t."""
        if t == stop:
            return self.release(follower)
        follower.load(attrs.evolve(Route.along(self.problem, t, stop), pin=True))
        try:
            follower.orient()
        except Unbounded as swept:
            # A wall sweeps over a coordinate that cannot move with it.
            if not swept.restored:
                raise
            return np.array([swept.coordinate])
        return np.flatnonzero(follower.side)

    def sides(self, follower: Follower) -> npt.NDArray[np.int8]:
        """The convex branch of every coordinate: the number of jumps to its left."""
        passed = np.concatenate([[0], np.cumsum(self.problem.polylines.jump)])
        side = passed[follower.piece // 2]
        side = side + ((follower.piece % 2 == 1) & (follower.side > 0))
        return np.asarray(side, dtype=np.int8)

    def release(self, follower: Follower) -> Index:
        """Coordinates pinned with alpha beyond their slope; those just touching are let go."""
        pressed = []
        for i in np.flatnonzero(follower.side).tolist():
            slope = int(follower.piece[i]) // 2 + (0 if follower.side[i] < 0 else 1)
            if abs(follower.alpha[i] - follower.slope_value(i, slope)) <= follower.near_a:
                follower.leave(i, slope)
            else:
                pressed.append(i)
        return np.array(pressed, dtype=np.int64)

    def _round(
        self, follower: Follower, snap: Snapshot, target: Array, flip: Index, used: str
    ) -> str:
        for i in flip.tolist():
            follower.put(i, self._other_side(follower, i))
        if self.mode != "osqp":
            point = follower.memento()
            try:
                follower.travel(self._translated(follower, snap, target, flip))
                return used
            except TraceError:
                if self.mode == "homotopy":
                    raise
                follower.restore(point)
        self._solve(follower, snap, target)
        return "osqp"

    def _other_side(self, follower: Follower, i: int) -> int:
        """The slope across the jump corner on which coordinate i stands."""
        j = int(follower.piece[i]) // 2
        if follower.piece[i] % 2 == 1:
            return j + 1 if follower.side[i] < 0 else j
        corner = follower.wall[i]
        return corner + 1 if corner == j else corner

    def _translated(self, follower: Follower, snap: Snapshot, target: Array, flip: Index) -> Route:
        rise = np.zeros_like(snap.slope)
        route = Route.flipped(snap, target, rise)
        for i in flip.tolist():
            j = int(follower.piece[i]) // 2
            value = snap.slope_at(i, j, follower.u[i])
            rise[i, route.branch(i, j)] = follower.alpha[i] - float(value)
        return route

    def _solve(self, follower: Follower, snap: Snapshot, target: Array) -> None:
        """The conditional optimum by a QP solver, then made exact."""
        route = Route.flipped(snap, target, np.zeros_like(snap.slope))
        branches = []
        for i, piece in enumerate(follower.piece.tolist()):
            slope = piece // 2 + (1 if piece % 2 == 1 and follower.side[i] > 0 else 0)
            branches.append(route.branch(i, slope))
        qp = ConditionalQP.build(self.problem, snap, target, branches)
        follower.alpha, follower.b = self.solver(qp)
        follower.u = follower.gram.matvec(follower.alpha) + follower.border @ follower.b
        first = np.array([b.start for b in branches])
        last = np.array([b.stop - 1 for b in branches])
        given = follower.piece // 2
        follower.assign(snap, first, last)
        follower.settle(snap, target)
        # A jump of height zero (theta = 1) holds nobody: who stands on it keeps the side given.
        for j in np.flatnonzero(self.problem.polylines.jump):
            on_it = np.abs(follower.u - snap.corner[:, j]) <= follower.near_u
            on_it &= (snap.kind[:, j] == SEAM) & (follower.piece % 2 == 0)
            for i in np.flatnonzero(on_it & (given != follower.piece // 2)).tolist():
                if {int(given[i]), int(follower.piece[i]) // 2} == {j, j + 1}:
                    follower.leave(i, int(given[i]))
