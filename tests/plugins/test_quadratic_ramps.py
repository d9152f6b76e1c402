"""Huber ramps and truncated squares: kernel ridge, each other, the LAD ramp in the limit."""

from __future__ import annotations

import numpy as np
import pytest
from problems import sample_points
from ramps import regression
from sklearn.kernel_ridge import KernelRidge

from homotopy import Homotopy, ModelError
from homotopy.path.certificate.scales import _largest_alphas
from homotopy_plugins import HuberRamp, LADRamp, TruncatedQuadratic

OPTIONS = {"C": 2.0, "gamma": 0.5}


def test_a_wide_delta_is_kernel_ridge():
    X, y = regression(30, 2, 0)
    path = Homotopy(HuberRamp(X, y, delta=0.01, delta_start=100.0, path="delta", **OPTIONS)).trace()
    ridge = KernelRidge(alpha=0.5, kernel="rbf", gamma=0.5).fit(X, y)
    np.testing.assert_allclose(path.alpha(100.0), ridge.dual_coef_, atol=1e-10)
    assert path.certify().ok


def test_truncated_squares_begin_with_kernel_ridge():
    X, y = regression(30, 2, 0)
    path = Homotopy(TruncatedQuadratic(X, y, path="s", **OPTIONS)).trace()
    ridge = KernelRidge(alpha=0.5, kernel="rbf", gamma=0.5).fit(X, y)
    residual = np.abs(y - ridge.predict(X))
    assert path.traced == pytest.approx((residual.max(), 0.2 * residual.max()))
    np.testing.assert_allclose(path.alpha(path.traced[0], "before"), ridge.dual_coef_, atol=1e-10)


@pytest.mark.parametrize("intercept", [False, True])
def test_truncated_squares_at_full_weight_are_huber(intercept):
    X, y = regression(30, 2, 1)
    truncated = Homotopy(TruncatedQuadratic(X, y, s=0.6, fit_intercept=intercept, **OPTIONS))
    huber = Homotopy(HuberRamp(X, y, delta=0.6, s=5.0, fit_intercept=intercept, **OPTIONS))
    ours, other = truncated.trace(), huber.trace()
    np.testing.assert_allclose(ours.alpha(1.0), other.alpha(1.0), atol=1e-9)
    assert ours.objective(1.0) == pytest.approx(other.objective(1.0), rel=1e-10)


def test_outliers_of_truncated_squares_are_left_out():
    # At theta = 0 what is no outlier is fitted by ridge regression as if the others were not there.
    X, y = regression(40, 2, 2)
    path = Homotopy(TruncatedQuadratic(X, y, path="s", s_stop=0.3, **OPTIONS)).trace()
    for s in sample_points(path, 50):
        kept = path.partition(s)["Q"]
        ridge = KernelRidge(alpha=0.5, kernel="rbf", gamma=0.5).fit(X[kept], y[kept])
        expected = np.zeros(40)
        expected[kept] = ridge.dual_coef_
        np.testing.assert_allclose(path.alpha(s), expected, atol=1e-9)


def test_a_narrow_delta_is_nearly_the_lad_ramp():
    X, y = regression(30, 2, 3)
    delta = 1e-6
    options = {"gamma": 0.5, "s": 1.0, "fit_intercept": True}
    huber = Homotopy(HuberRamp(X, y, C=2.0 / delta, delta=delta, **options)).trace()
    lad = Homotopy(LADRamp(X, y, C=2.0, **options)).trace()
    assert huber.certify().ok
    np.testing.assert_allclose(huber.response(0.5), lad.response(0.5), atol=1e-4)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"delta": 0.0}, "delta must be positive and finite, got 0.0"),
        ({"delta": "x"}, "delta must be a number, got 'x'"),
        ({"delta": 1.0, "s": 0.5}, "s must be larger than delta"),
        ({"delta": 1.0, "path": "s", "s_stop": 1.0}, "s must be larger than delta"),
        ({"delta": 1.0, "path": "delta", "delta_start": 0.0}, "delta_start must be positive"),
        ({"delta": 0.1, "path": "delta", "s": 0.2, "delta_start": 0.5}, "s must be larger than de"),
    ],
)
def test_bad_parameters(changes, message):
    X, y = regression(6, 2, 8)
    with pytest.raises(ModelError, match=message):
        HuberRamp(X, y, C=1.0, **changes)


def test_targets_far_from_zero_do_not_loosen_the_certificate():
    # On a slanted piece alpha = C (y - u); its height at u = 0, C y, says nothing of its size.
    X, y = regression(20, 2, 4)
    model = TruncatedQuadratic(X, y + 1e6, s=0.5, fit_intercept=True, **OPTIONS)
    path = Homotopy(model).trace()
    assert path.certify().ok
    assert np.all(_largest_alphas(path)[0] <= 2.0 * 0.5 * (1.0 + 1e-6))
