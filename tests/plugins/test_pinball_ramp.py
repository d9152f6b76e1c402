"""Quantile ramp regression: scikit-learn's linear program, the LAD ramp at tau = 1/2."""

from __future__ import annotations

import numpy as np
import pytest
from problems import sample_points
from ramps import regression
from sklearn.linear_model import QuantileRegressor

from homotopy import Homotopy, ModelError
from homotopy_plugins import LADRamp, PinballRamp


def test_the_tau_path_is_that_of_the_linear_program():
    # At a large C the penalty only chooses among optima of the loss, and there is one.
    X, y = regression(41, 2, 0)
    model = PinballRamp(
        X, y, C=1e4, tau=0.03, tau_stop=0.97, path="tau", kernel="linear", fit_intercept=True
    )
    path = Homotopy(model).trace()
    assert path.complete
    assert path.certify().ok
    for tau in np.linspace(0.0371, 0.9637, 50):
        peer = QuantileRegressor(quantile=tau, alpha=0.0).fit(X, y)
        ours = path.decision_function(X, tau)
        np.testing.assert_allclose(ours, peer.predict(X), rtol=0, atol=1e-7)


def test_the_part_below_is_the_quantile():
    X, y = regression(60, 2, 1)
    model = PinballRamp(X, y, C=1.0, tau=0.1, tau_stop=0.9, path="tau", fit_intercept=True)
    path = Homotopy(model).trace()
    for tau in np.linspace(0.11, 0.89, 9):
        pieces = path.partition(tau)
        below, on = (np.concatenate([pieces[k] for k in keys]).size
                     for keys in (("I-", "O-"), ("E",)))  # fmt: skip
        assert below <= tau * 60 <= below + on


@pytest.mark.parametrize("way", ["theta", "s"])
@pytest.mark.parametrize("intercept", [False, True])
def test_the_median_is_the_lad_ramp(way, intercept):
    X, y = regression(30, 2, 1)
    options = {"gamma": 0.5, "path": way, "fit_intercept": intercept}
    ours = Homotopy(PinballRamp(X, y, tau=0.5, C=4.0, **options)).trace()
    lad = Homotopy(LADRamp(X, y, C=2.0, **options)).trace()
    assert ours.certify().ok
    np.testing.assert_allclose(ours.breakpoints, lad.breakpoints, rtol=0, atol=1e-9)
    values = sample_points(lad, 50)
    np.testing.assert_allclose(ours.alpha(values), lad.alpha(values), rtol=0, atol=1e-9)
    np.testing.assert_allclose(ours.objective(values), lad.objective(values), rtol=1e-9)


def test_quantiles_of_the_mirrored_targets():
    X, y = regression(30, 2, 2)
    options = {"C": 1.0, "gamma": 0.5, "fit_intercept": True}
    low = Homotopy(PinballRamp(X, y, tau=0.2, **options)).trace()
    high = Homotopy(PinballRamp(X, -y, tau=0.8, **options)).trace()
    np.testing.assert_allclose(low.breakpoints, high.breakpoints, atol=1e-9)
    np.testing.assert_allclose(low.alpha(0.3), -high.alpha(0.3), atol=1e-9)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tau": 0.0}, "tau must lie between 0 and 1, got 0.0"),
        ({"tau": 1.0}, "tau must lie between 0 and 1, got 1.0"),
        ({"tau": np.nan}, "tau must lie between 0 and 1, got nan"),
        ({"tau": "median"}, "tau must be a number, got 'median'"),
        ({"path": "tau"}, "the tau-path needs a tau_stop"),
        ({"path": "tau", "tau_stop": 2.0}, "tau_stop must lie between 0 and 1, got 2.0"),
        ({"s": 0.0}, "s must be positive"),
    ],
)
def test_bad_parameters(changes, message):
    X, y = regression(6, 2, 8)
    with pytest.raises(ModelError, match=message):
        PinballRamp(X, y, **({"C": 1.0, "tau": 0.5} | changes))


def test_the_tau_path_with_outliers_wants_a_start():
    X, y = regression(20, 2, 3)
    options = {"C": 1.0, "tau": 0.3, "s": 1.0, "fit_intercept": True}
    model = PinballRamp(X, y, path="tau", tau_stop=0.7, **options)
    with pytest.raises(ModelError, match=r"not convex at tau=0\.3"):
        Homotopy(model).trace()
    first = Homotopy(PinballRamp(X, y, **options)).trace()
    path = Homotopy(model).trace(start=(first, 0.0))
    assert path.certify().ok
    np.testing.assert_allclose(path.response(0.3), first.response(0.0), atol=1e-9)
