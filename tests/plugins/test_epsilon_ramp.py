"""Epsilon-insensitive ramp regression: libsvm's SVR, the LAD ramp at epsilon = 0, its own path."""

from __future__ import annotations

import numpy as np
import pytest
from problems import sample_points
from ramps import regression
from sklearn.svm import SVR

from homotopy import Homotopy, ModelError
from homotopy_plugins import EpsilonRamp, LADRamp

# libsvm keeps its kernel in single precision.
SINGLE = 5e-6


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
def test_the_eps_path_is_that_of_svr(kernel, C):
    X, y = regression(40, 2, 0)
    options = {"kernel": kernel, "gamma": 0.5}
    model = EpsilonRamp(X, y, C=C, epsilon=0.01, path="eps", fit_intercept=True, **options)
    path = Homotopy(model).trace()
    assert path.complete
    assert path.certify().ok
    new = np.random.default_rng(1).normal(size=(30, 2))
    for eps in np.linspace(0.01, 0.99 * model.farthest(), 50):
        svr = SVR(C=C, epsilon=eps, tol=1e-10, **options).fit(X, y)
        apart, size = path.decision_function(new, eps) - svr.predict(new), np.abs(path.alpha(eps))
        if not np.any((size > 1e-9 * C) & (size < C * (1.0 - 1e-9))):
            # Every alpha is at the end of its range: b is free in an interval.
            apart -= apart.mean()
        assert np.abs(apart).max() <= SINGLE * np.abs(y).max()


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.5])
def test_the_theta_path_begins_with_svr(kernel, epsilon):
    X, y = regression(40, 2, 0)
    options = {"kernel": kernel, "gamma": 0.5}
    model = EpsilonRamp(X, y, C=1.0, epsilon=epsilon, fit_intercept=True, **options)
    svr = SVR(C=1.0, epsilon=epsilon, tol=1e-10, **options).fit(X, y)
    ours = Homotopy(model).trace().decision_function(X, 1.0)
    np.testing.assert_allclose(ours, svr.predict(X), rtol=0, atol=SINGLE * np.abs(y).max())


@pytest.mark.parametrize("way", ["theta", "s"])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("data", ["normal", "integer"])
def test_without_a_tube_it_is_the_lad_ramp(way, intercept, data):
    X, y = regression(30, 2, 1)
    if data == "integer":
        X, y = np.round(X), np.round(y)
    options = {"C": 2.0, "gamma": 0.5, "path": way, "fit_intercept": intercept}
    ours = Homotopy(EpsilonRamp(X, y, epsilon=0.0, **options)).trace()
    lad = Homotopy(LADRamp(X, y, **options)).trace()
    assert ours.certify().ok
    assert ours.traced == pytest.approx(lad.traced)
    if data == "normal":
        # With ties there may be several local optima to follow.
        assert [j.t for j in ours.jumps] == pytest.approx([j.t for j in lad.jumps])
        values = sample_points(lad, 50)
        np.testing.assert_allclose(ours.alpha(values), lad.alpha(values), rtol=0, atol=1e-8)
        np.testing.assert_allclose(ours.objective(values), lad.objective(values), rtol=1e-9)


def test_the_eps_path_begins_at_a_constant():
    X, y = regression(25, 2, 2)
    for intercept, constant in ((False, 0.0), (True, 0.5 * (y.min() + y.max()))):
        model = EpsilonRamp(X, y, C=1.0, epsilon=0.1, path="eps", fit_intercept=intercept)
        path = Homotopy(model).trace()
        start, far = path.traced[0], model.farthest()
        assert start > far
        assert not np.any(path.alpha(far))
        np.testing.assert_allclose(path.response(start), constant, atol=1e-9)
        assert np.any(path.alpha(0.99 * far))
        up = EpsilonRamp(
            X, y, C=1.0, epsilon=far, epsilon_start=0.1, path="eps", fit_intercept=intercept
        )
        back = Homotopy(up).trace()
        np.testing.assert_allclose(back.alpha(0.5), path.alpha(0.5), atol=1e-9)


def test_a_wide_tube_leaves_nothing_to_trace():
    X, y = regression(25, 2, 2)
    for way in ("s", "eps"):
        model = EpsilonRamp(X, y, C=1.0, epsilon=100.0, path=way)
        path = Homotopy(model).trace()
        assert path.breakpoints.size == 1
        assert not np.any(path.alpha(path.traced[0]))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"epsilon": -0.1}, "epsilon must not be negative, got -0.1"),
        ({"epsilon": np.nan}, "epsilon must be finite, got nan"),
        ({"epsilon": None}, "epsilon must be a number, got None"),
        ({"epsilon": 1.0, "s": 1.0}, r"s must be larger than eps \(both are distances from y\)"),
        ({"epsilon": 1.0, "path": "s", "s_stop": 0.5}, "s must be larger than eps"),
        ({"epsilon": 0.1, "path": "eps", "s": 0.5}, "s must be larger than eps"),
        (
            {"epsilon": 2.0, "path": "eps", "epsilon_start": 0.1, "s": 1.0},
            "s must be larger than e",
        ),
        ({"epsilon": 0.1, "path": "eps", "epsilon_start": -1.0}, "epsilon_start must not be neg"),
        ({"epsilon": 0.1, "s": 0.0}, "s must be positive"),
    ],
)
def test_bad_parameters(changes, message):
    X, y = regression(6, 2, 8)
    with pytest.raises(ModelError, match=message):
        EpsilonRamp(X, y, C=1.0, **changes)


def test_the_eps_path_with_outliers_wants_a_start():
    X, y = regression(20, 2, 3)
    model = EpsilonRamp(X, y, C=1.0, epsilon=0.0, path="eps", s=2.0, epsilon_start=0.5)
    with pytest.raises(ModelError, match=r"not convex at eps=0\.5"):
        Homotopy(model).trace()
    first = Homotopy(EpsilonRamp(X, y, C=1.0, epsilon=0.5, s=2.0)).trace()
    path = Homotopy(model).trace(start=(first, 0.0))
    assert path.certify().ok
    np.testing.assert_allclose(path.alpha(0.5), first.alpha(0.0), atol=1e-9)


def test_a_tube_widens_from_where_a_path_ends():
    X, y = regression(20, 2, 3)
    model = EpsilonRamp(X, y, C=1.0, epsilon=0.1, s=2.0)
    first = Homotopy(model).trace()
    wider = model.widening(0.1, 1.5)
    assert wider.gram is model.gram
    assert (wider.parameter, wider.span) == ("eps", (0.1, 1.5))
    assert (model.path, model.epsilon) == ("theta", 0.1)
    path = Homotopy(wider).trace(start=(first, 0.0))
    assert path.certify().ok
    np.testing.assert_allclose(path.alpha(0.1), first.alpha(0.0), atol=1e-9)
    made = EpsilonRamp(X, y, C=1.0, epsilon=1.5, epsilon_start=0.1, path="eps", s=2.0)
    again = Homotopy(made).trace(start=(first, 0.0))
    np.testing.assert_array_equal(again.breakpoints, path.breakpoints)
    with pytest.raises(ModelError, match="s must be larger than eps"):
        model.widening(0.1, 2.0)
    with pytest.raises(ModelError, match="the tube of a line is in its ends"):
        model.line({"theta": 1.0}, {"theta": 0.0}).widening(0.1, 1.0)
