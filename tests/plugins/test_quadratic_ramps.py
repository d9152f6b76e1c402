"""Huber ramps and truncated squares: kernel ridge, each other, the LAD ramp in the limit."""

from __future__ import annotations

from fractions import Fraction

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


def exact_objective(X, y, path, t, side):
    """In rational numbers: ``1/2 |w|^2 + sum min(r^2, t^2) / 2`` for alpha and b of the path."""
    alpha = [Fraction(v) for v in path.alpha(t, side).tolist()]
    b, rows = (
        Fraction(float(path.intercept(t, side))),
        [[Fraction(v) for v in x] for x in X.tolist()],
    )
    w = [sum(a * x[k] for a, x in zip(alpha, rows, strict=True)) for k in range(X.shape[1])]
    total = sum(v * v for v in w)
    for x, target in zip(rows, y.tolist(), strict=True):
        r = Fraction(target) - b - sum(v * z for v, z in zip(w, x, strict=True))
        total += min(r * r, Fraction(t) ** 2)
    return total / 2


@pytest.mark.parametrize("offset", [0.0, 1e5, 1e7])
def test_the_fall_at_a_jump_keeps_its_digits_far_from_zero(offset):
    rng = np.random.default_rng(0)
    X = rng.integers(-8, 9, (30, 2)) / 4.0
    X -= X.mean(axis=0).round(2)
    y = np.round(X @ [1.0, 2.0] + 0.3 * rng.standard_normal(30), 3) + offset
    y[:5] += 8.0
    model = TruncatedQuadratic(X, y, C=1.0, kernel="linear", fit_intercept=True, path="s")
    path = Homotopy(model).trace()
    assert path.certify().ok
    assert path.jumps
    for jump in path.jumps:
        before, after = (exact_objective(X, y, path, jump.t, s) for s in ("before", "after"))
        fall = jump.objective_before - jump.objective_after
        assert fall == pytest.approx(float(before - after), rel=1e-6 if offset else 1e-11)
