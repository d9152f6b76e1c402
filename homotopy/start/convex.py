"""The convex start problem, solved to a tolerance: find alpha and b with

    u = Q alpha + B b,      B^T alpha = e,      (u_i, alpha_i) on a falling polyline.

These are the optimality conditions of ``min 1/2 alpha^T Q alpha + sum_i phi_i(alpha_i)`` under
``B^T alpha = e`` where ``-phi_i'`` is the polyline read as u over alpha (`tables`).  Two methods:

* columns of Q or few coordinates, at most one border column: pairs of coordinates (`pairs`);
* many coordinates with features (``Q = phi phi^T``), several border columns, or pairs that do not
  converge: Newton steps (`newton`).

Neither result is exact; both leave little work to the exact method.
"""

from __future__ import annotations

from collections.abc import Callable

import attrs
import numpy as np

from homotopy.arrays import Array
from homotopy.start.iterate import ConvexProblem, Iterate
from homotopy.start.newton import Columns, Features, solve_newton
from homotopy.start.pairs import Pairs, Rows
from homotopy.start.tables import Tables
from homotopy.start.tolerances import StartTolerances

__all__ = ["ConvexProblem", "ConvexSolution", "solve_convex"]


# Default limit of pairs and Newton steps: the larger of this many and this many per coordinate.
ITERATIONS, ITERATIONS_EACH = 1_000_000, 100


@attrs.frozen(eq=False)
class ConvexSolution:
    """An approximate optimum: ``u = Q alpha + B b`` and how far it is from the polylines.

    `violation` is the largest distance of a ``u_i`` from the interval that its polyline allows at
    ``alpha_i``; `iterations` counts pairs and Newton steps.
    """

    alpha: Array
    b: Array
    u: Array
    iterations: int
    violation: float
    converged: bool


def solve_convex(
    problem: ConvexProblem,
    *,
    alpha: Array | None = None,
    b: Array | None = None,
    product: Array | None = None,
    tol: float = 1e-3,
    max_iter: int | None = None,
    pulse: Callable[[], object] | None = None,
    tolerances: StartTolerances | None = None,
) -> ConvexSolution:
    """Solve `problem` until no response violates its polyline by more than `tol`.

    Parameters
    ----------
    problem : ConvexProblem
    alpha, b : arrays (n,) and (m,), optional
        The initial point; alpha is first moved into the range of its polyline and into balance.
    product : array (n,), optional
        ``Q alpha`` of the given alpha, if already known.
    tol : float
        In units of the median distance of corners from 0.
    max_iter : int, optional
        Most pairs and Newton steps; ``max(10^6, 100 n)`` by default.
    pulse : callable, optional
        Called from time to time; may raise an exception to stop.
    tolerances : StartTolerances, optional
        For tests.
    """
    gram, (n, m) = problem.gram, problem.border.shape
    tables = Tables.of(problem.snap, tolerances)
    given = np.zeros(n) if alpha is None else np.asarray(alpha, dtype=float)
    inside = tables.clip(given)
    if product is None:
        product = gram.matvec(inside)
    else:
        moved = np.flatnonzero(inside != given)
        product = product + gram.combine(moved, inside[moved] - given[moved])
    at = Iterate(
        gram=gram,
        border=problem.border,
        target=problem.target,
        tables=tables,
        tol=tol * tables.scale(),
        limit=max(ITERATIONS, ITERATIONS_EACH * n) if max_iter is None else max_iter,
        alpha=inside,
        b=np.zeros(m) if b is None else np.array(b, dtype=float),
        product=product,
        pulse=pulse or (lambda: None),
    )
    _solve(at)
    violation = at.violation()
    return ConvexSolution(
        alpha=at.alpha,
        b=at.b,
        u=at.product + at.border @ at.b,
        iterations=at.iterations,
        violation=violation,
        converged=violation <= at.tol * (1.0 + tables.tolerances.slack) and not np.any(at.short()),
    )


def _solve(at: Iterate) -> None:
    """Choose the method and apply it."""
    phi, (n, m), tolerances = at.gram.features(), at.border.shape, at.tolerances
    several = m > 1 or bool(np.any(at.border == 0.0))
    form: Features | Columns = Columns(at.gram, tolerances)
    if phi is not None and (phi.shape[1] + m < n or n > tolerances.wide):
        form = Features(phi, tolerances)
        if several or n > tolerances.few:
            solve_newton(at, form)
            return
    rows = Rows(at.gram, tolerances) if at.gram.rows() is None else at.gram
    if several:
        # Use pairs under one of the equations, then Newton steps for all of them.
        whole = np.flatnonzero(np.all(at.border != 0.0, axis=0))[:1]
        part = attrs.evolve(at, border=at.border[:, whole], target=at.target[whole], b=at.b[whole])
        Pairs(part, rows).run(patient=False)
        at.alpha, at.product, at.iterations = part.alpha, part.product, part.iterations
        at.b[whole] = part.b
        solve_newton(at, form)
    elif not Pairs(at, rows).run(patient=False):
        solve_newton(at, form)
        if at.violation() > at.tol or np.any(at.short()):
            Pairs(at, rows).run(patient=True)
