"""The conditional QP and its solvers against the same problem solved in the primal."""

from __future__ import annotations

import daqp
import numpy as np
import pytest
from problems import case
from toys import Huber, Lasso, Toy

from homotopy import ConditionalQP, Homotopy, Jump, Knot, Slope, TraceError, osqp_solver
from homotopy.model import Problem


def daqp_solver(qp: ConditionalQP):
    """Another backend, as a user would write it: one function."""
    problem, q = qp.problem, qp.owner.size
    n, m = problem.border.shape
    spread = np.zeros((n, q))
    spread[qp.owner, np.arange(q)] = qp.way
    everything = np.arange(n)
    Q = np.array(problem.gram.block(everything, everything))
    H = spread.T @ Q @ spread + np.diag(qp.bend)
    f = spread.T @ (Q @ qp.base) - qp.way * qp.price
    fixed = qp.target - problem.border.T @ qp.base
    z, _, flag, info = daqp.solve(
        H + 1e-12 * np.trace(H) * np.eye(q),
        f,
        np.vstack([np.eye(q), problem.border.T @ spread]),
        np.minimum(np.r_[qp.upper, fixed], 1e30),
        np.r_[np.zeros(q), fixed],
        np.r_[np.zeros(q), np.full(m, 5)].astype(np.int32),
    )
    assert flag > 0
    return qp.alpha(np.asarray(z)), np.asarray(info["lam"])[q:]


def conditional(path_case, sides, t):
    """The engine's QP for a partition given as sides."""
    problem = Problem.compile(path_case.model())
    snap = problem.polylines.at(t)
    if path_case.kind == "hinge":
        branches = [slice(0, 1) if side == 0 else slice(1, 3) for side in sides]
    else:
        branches = [(slice(0, 1), slice(1, 3), slice(3, 4))[side] for side in sides]
    return ConditionalQP.build(problem, snap, problem.target(t), branches)


@pytest.mark.parametrize("solver", [osqp_solver, daqp_solver], ids=["osqp", "daqp"])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("kind", ["hinge", "lad"])
def test_the_optimum_of_a_partition(kind, intercept, kernel, solver):
    problem = case(kind, 20, 3, kernel=kernel, intercept=intercept, C=0.8)
    reference = problem.reference()
    theta = 0.4
    # A feasible partition: the sides at some point (w, b).
    rng = np.random.default_rng(1)
    u = reference.response(0.2 * rng.normal(size=20), 0.1 if intercept else 0.0)
    sides = reference.sides(u, problem.threshold)
    assert len(set(sides)) > 1
    expected = reference.conditional(sides, theta, problem.threshold)
    alpha, b = solver(conditional(problem, sides, theta))
    found = reference.response(alpha, float(b[0]) if intercept else 0.0)
    np.testing.assert_allclose(
        found - reference.border @ b, expected.u - reference.border @ expected.b, atol=2e-5
    )
    assert 0.5 * alpha @ reference.Q @ alpha == pytest.approx(
        0.5 * expected.w @ expected.w, rel=1e-4
    )


@pytest.mark.parametrize("kind", ["hinge", "lad"])
@pytest.mark.parametrize("seed", range(3))
def test_a_solver_of_ones_own_gives_the_same_path(kind, seed):
    problem = case(kind, 30, seed, kernel="linear", C=5.0, path="s")
    ours = problem.trace(d_step="homotopy")
    assert ours.jumps
    theirs = problem.trace(d_step="osqp", solver=daqp_solver)
    assert theirs.certify().ok
    assert {j.solver for j in theirs.jumps} == {"custom"}
    np.testing.assert_allclose(theirs.breakpoints, ours.breakpoints, rtol=1e-8)


def test_a_solver_that_answers_badly_is_repaired():
    """Settling makes any guess exact, so even a useless solver cannot spoil the path."""

    def useless(qp):
        return np.zeros(qp.base.size), np.zeros(qp.target.size)

    problem = case("hinge", 30, 1, C=5.0, path="s", intercept=True)
    good = problem.trace(d_step="homotopy")
    path = problem.trace(d_step="osqp", solver=useless)
    assert path.certify().ok
    np.testing.assert_allclose(path.breakpoints, good.breakpoints, rtol=1e-9)


def test_a_solver_that_gives_up_ends_the_trace_with_what_was_found():
    def broken(qp):
        raise TraceError("out of luck")

    problem = case("hinge", 30, 1, C=5.0, path="s")
    with pytest.raises(TraceError, match="out of luck") as caught:
        problem.trace(d_step="osqp", solver=broken)
    assert caught.value.path is None or not caught.value.path.complete


def test_slanted_and_walled_branches():
    """One coordinate of every kind: the optimum is where u = z/.. meets the polyline."""

    def pieces(t):
        return (
            Slope("wall", np.inf),
            Knot("k", -3.0),
            Slope("a", 2.0, curvature=0.5),
            Jump(1.0),
            Slope("b", 4.0, curvature=0.5),
            Knot("l", 3.0),
            Slope("c", -1.0),
        )

    model = Toy(2.0 * np.eye(2), (0.0, 1.0), pieces)
    problem = Problem.compile(model)
    snap = problem.polylines.at(0.0)
    qp = ConditionalQP.build(problem, snap, problem.target(0.0), [slice(0, 2), slice(2, 4)])
    alpha, _ = osqp_solver(qp)
    # Left: alpha = 2 - u/2, u = 2 alpha: alpha = 1 -> u = 2 beyond the jump wall at 1: u = 1,
    # alpha = 1/2.  Right: alpha = 4 - u/2 -> alpha = 2, u = 4 beyond the knot at 3: alpha = 3/2.
    np.testing.assert_allclose(alpha, [0.5, 1.5], atol=1e-6)


@pytest.mark.parametrize("intercept", [False, True])
def test_convex_problems_with_slants_and_walls_solved_whole(intercept):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(15, 4)), rng.normal(size=15)
    for model, t in (
        (Huber(X, y, np.zeros(15), 2.0, intercept), 0.0),
        (Lasso(X, y, (20.0, 0.5)), 0.5),
    ):
        problem = Problem.compile(model)
        n, k = problem.polylines.corner0.shape
        snap, target = problem.polylines.at(t), problem.target(t)
        alpha, _ = osqp_solver(ConditionalQP.build(problem, snap, target, [slice(0, k + 1)] * n))
        path = Homotopy(model).trace()
        np.testing.assert_allclose(
            problem.gram.matvec(alpha), problem.gram.matvec(path.alpha(t)), atol=1e-5
        )
