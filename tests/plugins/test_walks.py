"""Walks along polygons: both ramp paths are special cases, every edge is certified, and corners
join what belongs together."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from oracles import kernel_matrix
from problems import case
from ramps import against_osqp, regression

from homotopy import (
    DenseGram,
    Homotopy,
    HomotopyError,
    Knot,
    LossModel,
    ModelError,
    PathError,
    Slope,
)
from homotopy_plugins import (
    EpsilonRamp,
    HingeRamp,
    HuberRamp,
    PinballRamp,
    TruncatedQuadratic,
    Walk,
    walk,
)


def named(model):
    return lambda t: dict(zip(model.moving, model.parameters_at(t), strict=True))


@pytest.mark.parametrize("kind", ["hinge", "lad"])
@pytest.mark.parametrize("intercept", [False, True])
def test_the_theta_path_is_a_walk(kind, intercept):
    problem = case(kind, 40, 3, intercept=intercept)
    path = problem.trace()
    s = problem.threshold
    found = walk(problem.model(), [(1.0, s), (0.6, s), (0.25, s), (0.0, s)])
    assert found.complete
    assert found.certify()
    assert found.jumps == len(path.jumps)
    for k, (a, z) in enumerate([(1.0, 0.6), (0.6, 0.25), (0.25, 0.0)]):
        for t in np.linspace(0.01, 0.99, 17):
            theta = a + (z - a) * t
            np.testing.assert_allclose(found.at(k, t).alpha, path.alpha(theta), atol=1e-8)
            assert found.at(k, t).objective == pytest.approx(path.objective(theta), rel=1e-9)
            assert found.at(k, t).parameters == pytest.approx({"theta": theta, "s": s})


@pytest.mark.parametrize("kind", ["hinge", "lad"])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("theta", [0.0, 0.3])
def test_the_s_path_is_a_walk(kind, intercept, theta):
    problem = case(kind, 40, 3, intercept=intercept, path="s", theta=theta)
    path = problem.trace()
    start, stop = path.traced
    far = start + 0.5 * (start - stop)
    found = walk(problem.model(), [(1.0, far), (theta, far), (theta, stop)])
    assert found.certify()
    # Nothing is an outlier while the threshold is far.
    assert not found.paths[0].jumps
    assert found.jumps == len(path.jumps)
    for s in np.linspace(start, stop, 53)[1:-1]:
        place = found.at(1, (s - far) / (stop - far))
        if np.min(np.abs([j.t - s for j in path.jumps])) > 1e-9:
            np.testing.assert_allclose(place.alpha, path.alpha(s), atol=1e-7)
            assert place.objective == pytest.approx(path.objective(s), rel=1e-8)


@pytest.mark.parametrize("kind", ["hinge", "lad"])
def test_slanted_edges_end_at_local_optima(kind):
    problem = case(kind, 30, 5, intercept=True)
    s = 0.0 if kind == "hinge" else 0.5
    corners = [(1.0, s - 1.5 if kind == "hinge" else s + 1.5), (0.5, s), (0.0, s)]
    found = walk(problem.model(), corners)
    assert found.certify()
    K, y = kernel_matrix(problem.X, problem.X, "rbf", 0.5), np.asarray(problem.y, float)
    for path in found.paths:
        values = np.linspace(0.013, 0.987, 15)
        off, apart = against_osqp(path, kind, K, y, np.ones(30), named(path.model), values)
        assert off <= 1e-7
        assert apart <= 1e-4
    straight = Homotopy(problem.model(s=s)).trace()
    # Another way to the same place: perhaps another local optimum, both proven.
    assert straight.certify(at=0.0).ok
    assert found.at(-1).objective == pytest.approx(straight.objective(0.0), rel=0.3)


def test_round_and_back_the_objective_tells_which_optimum_is_better():
    problem = case("hinge", 60, 1, intercept=True)
    loop = [(1.0, 0.0), (0.0, 0.0), (0.0, -2.0), (1.0, -2.0), (1.0, 0.0)]
    found = walk(problem.model(), loop)
    assert found.certify()
    # At full weight the problem is convex: every way leads to the same optimum.
    first, last = found.at(0, 0.0), found.at(-1, 1.0)
    assert last.objective == pytest.approx(first.objective, rel=1e-9)
    np.testing.assert_allclose(last.alpha, first.alpha, atol=1e-7)


def test_walks_in_three_parameters():
    X, y = regression(30, 2, 1)
    tube = EpsilonRamp(X, y, C=2.0, epsilon=0.3, gamma=0.5, fit_intercept=True)
    corners = [(1.0, 2.0, 0.5), (0.0, 2.0, 0.5), (0.0, 1.0, 0.1), (0.2, 1.5, 0.0)]
    quantile = PinballRamp(X, y, C=2.0, tau=0.3, gamma=0.5, fit_intercept=True)
    bent = HuberRamp(X, y, C=2.0, delta=0.3, gamma=0.5, fit_intercept=True)
    walks = {
        "epsilon": walk(tube, corners),
        "pinball": walk(quantile, [(1.0, 1.0, 0.3), (0.0, 1.0, 0.3), (0.0, 0.5, 0.7)]),
        "huber": walk(bent, [{"theta": 1.0}, {"theta": 0.0}, {"theta": 0.0, "delta": 0.1}]),
    }
    K = kernel_matrix(X, X, "rbf", 0.5)
    for kind, found in walks.items():
        assert found.complete
        assert found.certify()
        for path in found.paths:
            values, c = np.linspace(0.017, 0.983, 8), np.full(30, 2.0)
            off, _ = against_osqp(path, kind, K, y, c, named(path.model), values)
            assert off <= 1e-7


@pytest.mark.parametrize("plugin", [HuberRamp, TruncatedQuadratic])
def test_at_a_corner_slanted_pieces_go_on_where_they_were(plugin):
    """Where the problem is not convex the start decides which optimum is followed."""
    own = {"delta": 0.3} if plugin is HuberRamp else {}
    for seed in range(4):
        X, y = regression(40, 2, seed)
        model = plugin(X, y, C=3.0, s=0.6, gamma=0.5, fit_intercept=seed % 2 == 0, **own)
        thetas = (1.0, 0.4, 0.1, 0.0, 0.2, 0.0)
        found = walk(model, [{"theta": theta} for theta in thetas])
        assert found.certify()
        for before, after in pairwise(found.paths):
            np.testing.assert_allclose(after.response(0.0), before.response(1.0), atol=1e-8)


def test_many_random_polygons_are_certified():
    rng = np.random.default_rng(0)
    for seed in range(12):
        kind = ("hinge", "lad")[seed % 2]
        data = ("normal", "integer", "stacked")[seed % 3]
        problem = case(kind, 24, seed, data=data, intercept=seed % 4 < 2)
        low, high = (-2.0, 0.9) if kind == "hinge" else (0.05, 3.0)
        corners = [(1.0, rng.uniform(low, high))]
        corners += [(rng.random(), rng.uniform(low, high)) for _ in range(4)]
        found = walk(problem.model(), corners)
        assert found.complete
        assert found.certify()


def test_what_a_walk_is():
    problem = case("hinge", 30, 2)
    found = walk(problem.model(), [(1.0, 0.0), (0.0, 0.0)])
    assert isinstance(found, Walk)
    assert len(found) == 1
    assert found.breakpoints == found.paths[0].breakpoints.size
    assert repr(found).startswith("<Walk of HingeRamp: 1 edge, ")
    assert "theta" in repr(found.at(0, 0.5))
    with pytest.raises(PathError, match="there is no edge 1; it has 1"):
        found.at(1)


class Frontier(LossModel):
    """Long-only weights that sum to 1; a line moves the part of the mean and the largest weight."""

    parameter, border_target, unknown = "t", 1.0, "alpha"

    def __init__(self, covariance, mean, ends=None):
        self.gram, self.covariance, self.mean = DenseGram(covariance), covariance, mean
        self.border, self.span, self.ends = np.ones((mean.size, 1)), (0.0, 1.0), ends

    def line(self, start, stop):
        return Frontier(self.covariance, self.mean, (start, stop))

    def polyline(self, t):
        gain, most = (a + (z - a) * t for a, z in zip(*self.ends, strict=True))
        return Slope("full", most), Knot("held", gain * self.mean), Slope("out", 0.0)


def test_any_model_with_lines_can_be_walked():
    rng = np.random.default_rng(0)
    returns = rng.normal(size=(50, 6))
    model = Frontier(np.cov(returns.T), returns.mean(axis=0))
    found = walk(model, [(0.0, 1.0), (5.0, 1.0), (5.0, 0.3), (0.0, 1.0)])
    assert found.certify()
    assert found.at(1).parameters == {}
    assert found.at(1).alpha.max() <= 0.3 + 1e-12
    np.testing.assert_allclose(found.at(0, 0.0).alpha, found.at(-1).alpha, atol=1e-10)


def test_a_walk_that_is_stopped_says_so():
    problem = case("hinge", 60, 2, intercept=True)
    found = walk(problem.model(), [(1.0, 0.0), (0.0, 0.0), (0.0, -1.0)], max_breakpoints=3)
    assert len(found) == 1
    assert not found.complete


def test_a_start_of_ones_own():
    problem = case("hinge", 30, 2)
    corners = [(0.0, 0.0), (0.0, -1.0)]
    with pytest.raises(ModelError, match="not convex at t=0"):
        walk(problem.model(), corners)
    path = problem.trace()
    found = walk(problem.model(), corners, start=(path, 0.0))
    assert found.certify()
    np.testing.assert_allclose(found.at(0, 0.0).alpha, path.alpha(0.0), atol=1e-9)


def test_bad_walks():
    model = case("hinge", 20, 2).model()
    with pytest.raises(ModelError, match="two corners or more, got 1"):
        walk(model, [(1.0, 0.0)])
    with pytest.raises(ModelError, match="no method line"):
        walk(object(), [(1.0, 0.0), (0.0, 0.0)])
    with pytest.raises(ModelError, match=r"theta must lie in \[0, 1\]"):
        walk(model, [(1.0, 0.0), (-1.0, 0.0)])
    with pytest.raises(ModelError, match="s must be at most 1"):
        walk(model, [(1.0, 0.0), (1.0, 2.0)])
    with pytest.raises(HomotopyError):
        walk(model, [(1.0, 0.0), (0.0, np.nan)])
    assert HingeRamp.moving == ("theta", "s")
