"""The conditional problem as an ordinary QP, for any QP solver.

On its convex branches, with jump corners as walls, the problem at fixed t has the dual

    min over alpha   1/2 alpha^T Q alpha - sum_i C_i(alpha_i)      subject to   B^T alpha = e

where ``C_i' (alpha)`` is the corner that polyline i shows at height alpha.  Each steep piece of a
branch becomes one variable ``z`` between 0 and its height, priced by its corner; a wall becomes
one without an upper limit.  A slanted piece adds ``z^2 / (2 c)``.  b is the multiplier of the
border equations.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import attrs
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from homotopy.errors import TraceError
from homotopy.model import Problem
from homotopy.model.polyline import Snapshot

__all__ = ["ConditionalQP", "ConditionalSolver", "osqp_solver"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]


@attrs.frozen(eq=False)
class ConditionalQP:
    """``alpha = base + E z``; each z prices one steep or slanted piece of one coordinate.

    Attributes
    ----------
    base : array (n,)
        alpha of the rightmost slope of each branch (the lowest).
    owner : int array (q,)
        The coordinate of each z.
    way : array (q,)
        +1 where z raises alpha, -1 where it lowers it (a wall to the right).
    price, upper, bend : arrays (q,)
        Corner, upper bound (the lower is 0) and quadratic term (1/c, else 0) of each z.
    pulse : callable or None
        To be called now and then by a solver that may take long: limits, callbacks and Ctrl-C act
        there, by an exception.
    """

    problem: Problem
    target: Array
    base: Array
    owner: Index
    way: Array
    price: Array
    upper: Array
    bend: Array
    pulse: Callable[[], object] | None = None

    @classmethod
    def build(
        cls,
        problem: Problem,
        snap: Snapshot,
        target: Array,
        branches: list[slice],
        pulse: Callable[[], object] | None = None,
    ) -> ConditionalQP:
        """The conditional problem for `branches`, one slice of slopes a coordinate."""
        base: list[float] = []
        owner: list[int] = []
        columns: list[tuple[float, float, float, float]] = []
        k = snap.corner.shape[1]

        def variable(i: int, sign: float, cost: float, limit: float, curve: float = 0.0) -> None:
            owner.append(i)
            # A piece of no length may come out a rounding shorter.
            columns.append((sign, cost, max(limit, 0.0), curve))

        for i, branch in enumerate(branches):
            first, last = branch.start, branch.stop - 1
            # alpha is counted from the right end of the branch, where it is lowest; where it falls
            # without end there (a wall, or a slanted last slope), from the last corner.
            right = np.inf if last == k else float(snap.corner[i, last])
            bend = float(snap.curvature[i, last])
            endless = not np.isfinite(_height(snap, i, last, right))
            if endless:
                right = float(snap.corner[i, last - 1]) if last > first else 0.0
            steepest = last if np.isfinite(snap.slope[i, last]) else last - 1
            lowest = _height(snap, i, steepest, right)
            base.append(lowest)
            if endless:
                variable(i, -1.0, right, np.inf, 1.0 / bend if bend > 0.0 else 0.0)
            elif last < k and np.isfinite(right):
                variable(i, -1.0, right, np.inf)
            reached = lowest
            for j in range(steepest, first - 1, -1):
                left = -np.inf if j == 0 else float(snap.corner[i, j - 1])
                bend = float(snap.curvature[i, j])
                if bend > 0.0 and not (endless and j == last > first):
                    start = (float(snap.slope[i, j]) - reached) / bend
                    variable(i, 1.0, start, bend * (start - left), 1.0 / bend)
                    reached = _height(snap, i, j, left)
                if j > first:
                    top = _height(snap, i, j - 1, left)
                    if top > reached:
                        variable(i, 1.0, left, top - reached)
                        reached = top
            if first > 0 and np.isfinite(snap.corner[i, first - 1]):
                variable(i, 1.0, float(snap.corner[i, first - 1]), np.inf)
        way, price, upper, bends = np.array(columns, dtype=float).reshape(-1, 4).T
        return cls(
            problem=problem,
            target=target,
            base=np.array(base),
            owner=np.array(owner, dtype=np.int64),
            way=way,
            price=price,
            upper=upper,
            bend=bends,
            pulse=pulse,
        )

    def alpha(self, z: Array) -> Array:
        alpha = self.base.copy()
        np.add.at(alpha, self.owner, self.way * z)
        return alpha


def _height(snap: Snapshot, i: int, j: int, u: float) -> float:
    bend = float(snap.curvature[i, j])
    return float(snap.slope[i, j]) - (bend * u if bend > 0.0 else 0.0)


# Iterations and seconds that OSQP may take, and multiplications after which others are let in.
ITERATIONS, SECONDS, PULSE = 20_000, 60.0, 100_000_000

ConditionalSolver = Callable[[ConditionalQP], tuple[Array, Array]]


def osqp_solver(qp: ConditionalQP) -> tuple[Array, Array]:
    """Solve a conditional QP with OSQP; approximate ``(alpha, b)``.

    With explicit features the products stay thin: ``w = phi^T alpha`` becomes a variable and no
    n x n matrix is formed.
    """
    import osqp

    problem, border = qp.problem, qp.problem.border
    n, m = border.shape
    q = qp.owner.size
    spread = sp.csc_matrix((qp.way, (qp.owner, np.arange(q))), shape=(n, q))
    phi = problem.gram.features()
    bounds = sp.identity(q, format="csc")
    if phi is not None:
        phi = sp.csr_matrix(phi)
        d = phi.shape[1]
        quadratic = sp.block_diag([sp.diags(qp.bend), sp.identity(d)], format="csc")
        linear = np.concatenate([-qp.way * qp.price, np.zeros(d)])
        rows = [
            sp.hstack([bounds, sp.csc_matrix((q, d))]),
            sp.hstack([sp.csc_matrix(border).T @ spread, sp.csc_matrix((m, d))]),
            sp.hstack([phi.T @ spread, -sp.identity(d)]),
        ]
        fixed = np.concatenate([qp.target - border.T @ qp.base, -(phi.T @ qp.base)])
    else:
        everything = np.arange(n)
        matrix = problem.gram.block(everything, everything)
        used = matrix[np.ix_(qp.owner, qp.owner)] * np.outer(qp.way, qp.way)
        quadratic = sp.csc_matrix(np.triu(used + np.diag(qp.bend)))
        linear = qp.way * ((matrix @ qp.base)[qp.owner] - qp.price)
        rows = [bounds, sp.csc_matrix(border).T @ spread]
        fixed = qp.target - border.T @ qp.base
    lower = np.concatenate([np.zeros(q), fixed])
    upper = np.concatenate([qp.upper, fixed])
    if phi is not None:
        quadratic = sp.triu(quadratic, format="csc")
    matrix = sp.csc_matrix(sp.vstack(rows))
    slice_of = int(np.clip(PULSE // (quadratic.nnz + matrix.nnz + 1), 25, ITERATIONS))
    solver = osqp.OSQP()
    solver.setup(
        P=quadratic,
        q=linear,
        A=matrix,
        l=lower,
        u=upper,
        eps_abs=1e-9,
        eps_rel=1e-9,
        max_iter=slice_of,
        polishing=True,
        verbose=False,
    )
    status, deadline = osqp.SolverStatus, time.monotonic() + SECONDS
    ended = (status.OSQP_SOLVED, status.OSQP_PRIMAL_INFEASIBLE, status.OSQP_DUAL_INFEASIBLE)
    for _ in range(-(-ITERATIONS // slice_of)):
        # It goes on where it was.
        result = solver.solve(raise_error=False)
        if qp.pulse is not None:
            qp.pulse()
        if result.info.status_val == status.OSQP_SIGINT:
            raise KeyboardInterrupt
        if result.info.status_val in ended or time.monotonic() > deadline:
            break
    if result.x is None or not np.all(np.isfinite(result.x)):
        raise TraceError(f"OSQP could not solve the conditional problem: {result.info.status}")
    z = np.clip(result.x[:q], 0.0, qp.upper)
    multiplier = result.y[q : q + m]
    return qp.alpha(z), np.asarray(multiplier, dtype=float)
