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

import numpy as np
import numpy.typing as npt

from homotopy.conditional import ConditionalQP, ConditionalSolver
from homotopy.errors import TraceError
from homotopy.follow import Follower
from homotopy.model import LossModel, Problem
from homotopy.model.polyline import SEAM
from homotopy.path.jump_record import JumpRecord
from homotopy.pivot import Unbounded
from homotopy.route import Route
from homotopy.state import REPAIR, Point

__all__ = ["Crossing"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]

# Two responses are the same within this part of their scale.
SAME = 1e-9
# No D-step may end with a larger residual (rounding apart).
RESIDUAL = 1e-8
# A move is called one where the fall of the objective that goes with it is above rounding.
MOVED = 1e-6


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
        self._seen: set[frozenset[tuple[int, int]]] = set()
        self._seen_at = np.nan
        self._anchor: dict[int, int] = {}
        self._ahead = False
        self._crossings = 0
        # A model with a rule of its own is shown every response.
        rule = getattr(problem.model.flips, "__func__", None)
        self._asked = rule is not LossModel.flips
        self._passed = np.concatenate([[0], np.cumsum(problem.polylines.jump)]).tolist()

    def cross(self, follower: Follower, t: float, stop: float, standing: Index) -> JumpRecord:
        """Flip `standing`, settle, flip whatever ends pinned, until nothing does.

        `stop` is the end of the travel, which tells its direction.  With nobody standing the
        point is settled first: that is how a jump is crossed a little late (see `Homotopy`).
        """
        problem = self.problem
        before = follower.look()
        objective = self.objective(follower, t)
        steps, rounds, used = follower.steps, 0, "homotopy"
        if t != self._seen_at:
            self._forget(t)
            self._crossings = 0
        self._crossings += 1
        if self._crossings > 20 + follower.u.size:
            raise TraceError(
                f"{self._crossings} D-steps at {problem.model.parameter}={t:.17g} lead nowhere"
            )
        flip, last = standing, before
        mark = follower.mark()
        if not standing.size:
            follower.settle(problem.polylines.at(t), problem.target(t))
            follower.load(Route.flipped(problem, t))
            flip = self.release(follower)
        while flip.size:
            rounds += 1
            if rounds > self.round_limit:
                raise TraceError(
                    f"the D-step at {problem.model.parameter}={t:.17g} did not end after "
                    f"{self.round_limit} rounds"
                )
            if self._asked:
                follower.widen()
            chosen = np.asarray(self.choose(t, flip, follower.u), dtype=np.int64)
            flip = chosen if chosen.size else flip
            used = self._round(follower, t, flip, used)
            if follower.moved_since(last, SAME):
                self._forget(t)
                last = follower.look()
            else:
                key = self._key(follower, mark)
                self._ahead |= key in self._seen
                self._seen.add(key)
            flip = self._pinned_ahead(follower, t, stop) if self._ahead else self.release(follower)
        rounding = follower.rounding / follower.u_scale
        if used != "homotopy" or not standing.size or follower.astray() > REPAIR + rounding:
            self.check(follower, t)
        flipped = self._flipped(follower, mark)
        self._keep_anchor(mark)
        follower.unmark(mark)
        if follower.moved_since(before, SAME):
            follower.resting.clear()
        else:
            follower.resting.update(flipped, standing.tolist())
        return JumpRecord(
            t=t,
            flipped=np.array(flipped, dtype=np.int64),
            objective_before=objective,
            objective_after=self.objective(follower, t),
            rounds=rounds,
            moved=follower.moved_since(before, MOVED),
            steps=follower.steps - steps,
            solver=used,
        )

    def objective(self, follower: Follower, t: float) -> float:
        """The full objective where the follower stands."""
        square, ledger = follower.square(), follower.ledger
        if ledger is not None and square is not None:
            index = follower.factor.index
            return ledger.objective(t, square, index, follower.piece[index], follower.alpha[index])
        follower.widen()
        follower.write_alpha()
        return self.problem.objective(t, follower.alpha, follower.b, follower.u)

    def check(self, follower: Follower, t: float, most: float = RESIDUAL) -> None:
        """Refuse to go on from a point that is not an optimum."""
        if follower.refresh() > most + 10.0 * follower.rounding / follower.u_scale:
            raise TraceError(
                f"at {self.problem.model.parameter}={t:.17g} a residual of "
                f"{follower.residual():.2g} is left"
            )

    def _forget(self, t: float) -> None:
        self._seen, self._seen_at, self._ahead = {frozenset()}, t, False
        self._anchor = {}

    def _branch(self, piece: int, side: int) -> int:
        """The convex branch of a piece: the number of jumps to its left."""
        return int(self._passed[piece // 2]) + (1 if piece % 2 == 1 and side > 0 else 0)

    def _flipped(self, follower: Follower, mark: Point) -> list[int]:
        """Those on another branch than at the mark, ascending."""
        return sorted(
            i
            for i, (piece, side) in mark.trail.items()
            if self._branch(piece, side)
            != self._branch(int(follower.piece[i]), int(follower.side[i]))
        )

    def _keep_anchor(self, mark: Point) -> None:
        for i, (piece, side) in mark.trail.items():
            self._anchor.setdefault(i, self._branch(piece, side))

    def _key(self, follower: Follower, mark: Point) -> frozenset[tuple[int, int]]:
        """The partition, told by the branches that differ from those first seen at this t."""
        self._keep_anchor(mark)
        now = (
            (i, self._branch(int(follower.piece[i]), int(follower.side[i]))) for i in self._anchor
        )
        return frozenset((i, branch) for i, branch in now if branch != self._anchor[i])

    def _pinned_ahead(self, follower: Follower, t: float, stop: float) -> Index:
        """The coordinates that would be pinned just past t."""
        if t == stop:
            return self.release(follower)
        follower.lift[:] = 0.0
        follower.load(Route.of(self.problem, t, stop, pin=True))
        follower.widen()
        try:
            follower.orient()
        except Unbounded as swept:
            # A wall sweeps over a coordinate that cannot move with it.
            if not swept.restored:
                raise
            return np.array([swept.coordinate])
        return np.flatnonzero(follower.side)

    def release(self, follower: Follower) -> Index:
        """Coordinates pinned with alpha beyond their slope; those just touching are let go."""
        pressed = []
        active = follower.factor.index
        for i in np.sort(active[follower.side[active] != 0]).tolist():
            slope = int(follower.piece[i]) // 2 + (0 if follower.side[i] < 0 else 1)
            if abs(follower.alpha[i] - follower.slope_value(i, slope)) <= follower.near_a:
                follower.leave(i, slope)
            else:
                pressed.append(i)
        return np.array(pressed, dtype=np.int64)

    def _round(self, follower: Follower, t: float, flip: Index, used: str) -> str:
        for i in flip.tolist():
            follower.put(i, self._other_side(follower, i))
        if self.mode != "osqp":
            point = follower.mark()
            try:
                self._translate(follower, t, flip)
                follower.unmark(point)
                return used
            except TraceError:
                if self.mode == "homotopy":
                    raise
                follower.restore(point)
        self._solve(follower, t)
        return "osqp"

    def _other_side(self, follower: Follower, i: int) -> int:
        """The slope across the jump corner on which coordinate i stands."""
        j = int(follower.piece[i]) // 2
        if follower.piece[i] % 2 == 1:
            return j + 1 if follower.side[i] < 0 else j
        corner = follower.wall[i]
        return corner + 1 if corner == j else corner

    def _translate(self, follower: Follower, t: float, flip: Index) -> None:
        """Bring the branches of the flipped from where they stand to their place."""
        lines, j = self.problem.polylines, follower.piece[flip] // 2
        value = lines.slope0[flip, j] + lines.slope1[flip, j] * t
        bend = lines.curvature[flip, j]
        value -= np.where(bend > 0.0, bend * follower.u[flip], 0.0)
        follower.lift[flip] = follower.alpha[flip] - value
        try:
            follower.travel(Route.flipped(self.problem, t), moving=flip)
        finally:
            follower.lift[flip] = 0.0

    def _solve(self, follower: Follower, t: float) -> None:
        """The conditional optimum by a QP solver, then made exact."""
        snap, target = self.problem.polylines.at(t), self.problem.target(t)
        route = Route.flipped(self.problem, t)
        branches = []
        for i, piece in enumerate(follower.piece.tolist()):
            slope = piece // 2 + (1 if piece % 2 == 1 and follower.side[i] > 0 else 0)
            branches.append(route.branch(i, slope))
        qp = ConditionalQP.build(self.problem, snap, target, branches)
        follower.alpha[:], follower.b[:] = self.solver(qp)
        follower.u[:] = follower.gram.matvec(follower.alpha) + follower.border @ follower.b
        first = np.array([b.start for b in branches])
        last = np.array([b.stop - 1 for b in branches])
        given = follower.piece // 2
        follower.assign(snap, first, last)
        follower.settle(snap, target)
        follower.load(route)
        # A jump of height zero (theta = 1) holds nobody: who stands on it keeps the side given.
        for j in np.flatnonzero(self.problem.polylines.jump):
            on_it = np.abs(follower.u - snap.corner[:, j]) <= follower.near_u
            on_it &= (snap.kind[:, j] == SEAM) & (follower.piece % 2 == 0)
            for i in np.flatnonzero(on_it & (given != follower.piece // 2)).tolist():
                if {int(given[i]), int(follower.piece[i]) // 2} == {j, j + 1}:
                    follower.leave(i, int(given[i]))
