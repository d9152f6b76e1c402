"""The conditional problem as an ordinary QP, for any QP solver.

On its convex branches, with jump corners as walls, the problem at fixed t has the dual

    min over alpha   1/2 alpha^T Q alpha - sum_i C_i(alpha_i)      subject to   B^T alpha = e

where ``C_i' (alpha)`` is the corner of polyline i at height alpha.  Each steep piece of a branch
becomes one variable ``z`` between 0 and its height, whose price is its corner; a wall becomes a
variable without an upper bound.  A slanted piece adds ``z^2 / (2 c)``.  b is the multiplier of the
border equations.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import scipy.sparse as sp

from homotopy.arrays import Array, Index
from homotopy.errors import TraceError
from homotopy.model import Problem
from homotopy.model.polyline import Snapshot

__all__ = ["ConditionalQP", "ConditionalSolver", "SolverLimits", "osqp_solver"]


@attrs.frozen(eq=False)
class ConditionalQP:
    """A QP for any solver: ``alpha = base + E z``, one z per steep or slanted piece.

        min over z   1/2 alpha^T Q alpha + sum_k [1/2 bend_k z_k^2 - way_k price_k z_k]

    subject to ``0 <= z <= upper`` and ``B^T alpha = target``.

    Attributes
    ----------
    base : array (n,)
        alpha at the right end of each branch, where it is lowest.
    owner : int array (q,)
        The coordinate of each z.
    way : array (q,)
        +1 if z raises alpha, -1 if it lowers it (a wall to the right).
    price, upper, bend : arrays (q,)
        Corner, upper bound (the lower bound is 0) and quadratic term (1/c, else 0) of each z.
    pulse : callable or None
        A slow solver should call it from time to time: limits, callbacks and Ctrl-C act there, by
        raising an exception.
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
        """Build the conditional problem for `branches`, one slice of slopes per coordinate."""
        found = [_variables(snap, i, branch) for i, branch in enumerate(branches)]
        columns = [column for _, many in found for column in many]
        way, price, upper, bends = np.array(columns, dtype=float).reshape(-1, 4).T
        return cls(
            problem=problem,
            target=target,
            base=np.array([lowest for lowest, _ in found]),
            owner=np.repeat(np.arange(len(found)), [len(many) for _, many in found]),
            way=way,
            price=price,
            # Rounding can make the length of an empty piece negative.
            upper=np.maximum(upper, 0.0),
            bend=bends,
            pulse=pulse,
        )

    def alpha(self, z: Array) -> Array:
        """Return alpha for the variables z."""
        alpha = self.base.copy()
        np.add.at(alpha, self.owner, self.way * z)
        return alpha


Variable = tuple[float, float, float, float]


def _variables(snap: Snapshot, i: int, branch: slice) -> tuple[float, list[Variable]]:
    """Return the lowest alpha of a branch; and way, price, upper bound, quadratic term of each z.

    alpha is measured from the right end of the branch, where it is lowest; if it is unbounded below
    there (a wall, or a slanted last slope), from the last corner.
    """
    first, last, k = branch.start, branch.stop - 1, snap.corner.shape[1]
    right = np.inf if last == k else float(snap.corner[i, last])
    bend = float(snap.curvature[i, last])
    endless = not np.isfinite(_height(snap, i, last, right))
    if endless:
        right = float(snap.corner[i, last - 1]) if last > first else 0.0
    steepest = last if np.isfinite(snap.slope[i, last]) else last - 1
    lowest = reached = _height(snap, i, steepest, right)
    found: list[Variable] = []
    if endless:
        found.append((-1.0, right, np.inf, 1.0 / bend if bend > 0.0 else 0.0))
    elif last < k and np.isfinite(right):
        found.append((-1.0, right, np.inf, 0.0))
    for j in range(steepest, first - 1, -1):
        left = -np.inf if j == 0 else float(snap.corner[i, j - 1])
        bend = float(snap.curvature[i, j])
        if bend > 0.0 and not (endless and j == last > first):
            start = (float(snap.slope[i, j]) - reached) / bend
            found.append((1.0, start, bend * (start - left), 1.0 / bend))
            reached = _height(snap, i, j, left)
        if j > first:
            top = _height(snap, i, j - 1, left)
            if top > reached:
                found.append((1.0, left, top - reached, 0.0))
                reached = top
    if first > 0 and np.isfinite(snap.corner[i, first - 1]):
        found.append((1.0, float(snap.corner[i, first - 1]), np.inf, 0.0))
    return lowest, found


def _height(snap: Snapshot, i: int, j: int, u: float) -> float:
    bend = float(snap.curvature[i, j])
    return float(snap.slope[i, j]) - (bend * u if bend > 0.0 else 0.0)


ConditionalSolver = Callable[[ConditionalQP], tuple[Array, Array]]


@attrs.frozen(kw_only=True)
class SolverLimits:
    """How long OSQP may run."""

    iterations: int = 20_000
    seconds: float = 60.0
    # Multiplications between two pauses, at which limits, callbacks and Ctrl-C can act.
    pulse: int = 100_000_000
    # Fewest iterations between two pauses.
    shortest: int = 25
    # Absolute and relative residuals at which OSQP stops.
    accuracy: float = 1e-9


def osqp_solver(qp: ConditionalQP, limits: SolverLimits | None = None) -> tuple[Array, Array]:
    """Solve a conditional QP with OSQP; return an approximate ``(alpha, b)``."""
    import osqp

    limits = limits or SolverLimits()
    q, m = qp.owner.size, qp.problem.border.shape[1]
    quadratic, linear, matrix, fixed = _program(qp)
    size = quadratic.nnz + matrix.nnz + 1
    pause = int(np.clip(limits.pulse // size, limits.shortest, limits.iterations))
    solver = osqp.OSQP()
    solver.setup(
        P=quadratic,
        q=linear,
        A=matrix,
        l=np.concatenate([np.zeros(q), fixed]),
        u=np.concatenate([qp.upper, fixed]),
        eps_abs=limits.accuracy,
        eps_rel=limits.accuracy,
        max_iter=pause,
        polishing=True,
        verbose=False,
    )
    status, deadline = osqp.SolverStatus, time.monotonic() + limits.seconds
    ended = (status.OSQP_SOLVED, status.OSQP_PRIMAL_INFEASIBLE, status.OSQP_DUAL_INFEASIBLE)
    for _ in range(-(-limits.iterations // pause)):
        # OSQP continues from where it stopped.
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


def _program(qp: ConditionalQP) -> tuple[Any, Array, Any, Array]:
    """Return the quadratic term (its upper triangle), the linear term, the rows, and the right-hand
    sides of the rows after the bounds.

    With explicit features the products stay thin: ``w = phi^T alpha`` becomes a variable, and no
    n x n matrix is formed.
    """
    problem, border = qp.problem, qp.problem.border
    n, m = border.shape
    q = qp.owner.size
    spread = sp.csc_matrix((qp.way, (qp.owner, np.arange(q))), shape=(n, q))
    phi = problem.gram.features()
    bounds = sp.identity(q, format="csc")
    if phi is not None:
        phi = sp.csr_matrix(phi)
        d = phi.shape[1]
        whole = sp.block_diag([sp.diags(qp.bend), sp.identity(d)], format="csc")
        quadratic = sp.triu(whole, format="csc")
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
    return quadratic, linear, sp.csc_matrix(sp.vstack(rows)), fixed
