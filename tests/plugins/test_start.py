"""The convex start against scikit-learn."""

from __future__ import annotations

import attrs
import numpy as np
import pytest
from oracles import kernel_matrix
from problems import case
from sklearn.svm import SVC, SVR

from homotopy import Homotopy
from homotopy.model import Problem
from homotopy.start.guess import carry_over

# libsvm keeps its kernel in single precision; at large C its own error passes 1e-6.
SEEDS = range(3)


def svc_dual(problem):
    """The dual value of scikit-learn's solution: it bounds the optimum from below."""
    K = kernel_matrix(problem.X, problem.X, problem.kernel, problem.gamma)
    svc = SVC(C=problem.C, kernel="precomputed", tol=1e-10).fit(K, problem.y)
    signed = np.zeros(len(problem.y))
    signed[svc.support_] = svc.dual_coef_[0]
    return np.abs(signed).sum() - 0.5 * signed @ K @ signed, svc.intercept_[0]


def svr_dual(problem):
    K = kernel_matrix(problem.X, problem.X, problem.kernel, problem.gamma)
    svr = SVR(C=problem.C, kernel="precomputed", epsilon=0.0, tol=1e-10).fit(K, problem.y)
    beta = np.zeros(len(problem.y))
    beta[svr.support_] = svr.dual_coef_[0]
    return problem.y @ beta - 0.5 * beta @ K @ beta, svr.intercept_[0]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("C", [1e-3, 0.1, 1.0, 10.0])
@pytest.mark.parametrize("data", ["normal", "integer"])
@pytest.mark.parametrize(("kind", "dual"), [("hinge", svc_dual), ("lad", svr_dual)])
def test_at_theta_1_the_objective_is_that_of_scikit_learn(kind, dual, data, C, kernel, seed):
    problem = case(kind, 60, seed, data=data, C=C, kernel=kernel, intercept=True)
    value, _ = dual(problem)
    path = problem.trace(max_breakpoints=1)
    assert path.objective(1.0) == pytest.approx(value, rel=1e-6)


@pytest.mark.parametrize(("kind", "dual"), [("hinge", svc_dual), ("lad", svr_dual)])
def test_the_intercept_is_that_of_scikit_learn(kind, dual):
    problem = case(kind, 60, 4, C=1.0, intercept=True)
    _, intercept = dual(problem)
    assert problem.trace(max_breakpoints=1).intercept(1.0) == pytest.approx(intercept, abs=1e-4)


@pytest.mark.parametrize("kind", ["hinge", "lad"])
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("intercept", [False, True])
def test_the_start_of_both_paths_is_the_convex_optimum_of_daqp(kind, C, intercept):
    for path in ("theta", "s"):
        problem = case(kind, 50, 6, C=C, intercept=intercept, path=path)
        expected = problem.reference().convex().value
        traced = problem.trace(max_breakpoints=1)
        assert traced.objective(traced.traced[0], "before") == pytest.approx(expected, rel=1e-8)


def test_predictions_at_theta_1_are_those_of_scikit_learn():
    problem = case("hinge", 80, 8, C=2.0, gamma=0.4, intercept=True)
    svc = SVC(C=2.0, gamma=0.4, tol=1e-10).fit(problem.X, problem.y)
    new = np.random.default_rng(0).normal(size=(50, 3))
    path = problem.trace(max_breakpoints=1)
    np.testing.assert_allclose(
        path.decision_function(new, 1.0), svc.decision_function(new), atol=1e-4
    )


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("kind", ["hinge", "lad"])
@pytest.mark.parametrize("way", ["theta", "s"])
def test_the_path_of_a_neighbouring_c_is_a_start(kernel, kind, way):
    near = case(kind, 60, 6, kernel=kernel, C=1.0, path=way, intercept=True).trace()
    there = case(kind, 60, 6, kernel=kernel, C=1.3, path=way, intercept=True)
    path = Homotopy(there.model()).trace(start=near)
    expected = there.trace()
    np.testing.assert_allclose(path.breakpoints, expected.breakpoints, rtol=0, atol=1e-9)
    assert path.certify().ok


def test_a_coordinate_keeps_its_piece_from_one_c_to_another():
    near = case("hinge", 60, 6, C=1.0)
    path = near.trace()
    there = Problem.compile(case("hinge", 60, 6, C=2.0).model())
    old, new = path.problem.polylines.at(1.0), there.polylines.at(1.0)
    alpha, piece = path.alpha(1.0), path.pieces(1.0)
    carried = carry_over(alpha, piece, old, new)
    # Every slope of the hinge is proportional to C.
    np.testing.assert_allclose(carried, 2.0 * alpha, rtol=1e-12, atol=1e-15)


def test_pieces_are_those_of_the_partition():
    path = case("hinge", 40, 2).trace()
    for t in (1.0, 0.6, 0.0):
        names = path.problem.polylines.names
        pieces = path.pieces(t)
        for name, index in path.partition(t).items():
            assert {names[p] for p in pieces[index]} <= {name}


@pytest.mark.parametrize("kind", ["hinge", "lad"])
@pytest.mark.parametrize("way", ["theta", "s"])
def test_an_intercept_that_is_not_determined_is_in_the_middle(kind, way):
    """At a small C every alpha is at the end of its range and b is free in an interval."""
    problem = case(kind, 40, 3, C=1e-3, path=way, intercept=True)
    # As many of one class as of the other; as many targets above b as below.
    y = np.tile([1.0, -1.0], 20) if kind == "hinge" else problem.y
    model = attrs.evolve(problem, y=y).model
    cold = Homotopy(model()).trace()
    start = cold.traced[0]
    alpha, b = cold.alpha(start, "before"), cold.intercept(start, "before")
    w = model().gram.matvec(alpha)
    assert np.isin(np.abs(alpha), (0.0, 1e-3)).all()
    if kind == "hinge":
        # u = w + y b; at alpha = C u may go up to 1.
        room = (1.0 - w) * y
        low, high = room[y < 0].max(), room[y > 0].min()
    else:
        # u = w + b; above a target that pulls up b may not go.
        low, high = (y - w)[alpha < 0].max(), (y - w)[alpha > 0].min()
    assert high - low > 1e-3
    assert b == pytest.approx(0.5 * (low + high), abs=1e-9)
    for guess in (np.zeros(y.size), 1e-3 * np.ones(y.size), alpha):
        again = Homotopy(model()).trace(start=guess)
        assert again.intercept(again.traced[0], "before") == pytest.approx(b, abs=1e-9)
        np.testing.assert_allclose(again.breakpoints, cold.breakpoints, rtol=0, atol=1e-9)
    assert cold.certify().ok
