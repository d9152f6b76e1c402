"""Problems on which an earlier version failed, as fuzzing found and shrank them."""

from __future__ import annotations

import numpy as np
import pytest

from homotopy import Homotopy
from homotopy_plugins import HingeRamp, LADRamp

FOUND = {
    "zero weight, on the jump corner all the way": (
        HingeRamp,
        [[0], [-1]],
        [1, -1],
        {
            "C": 1.0,
            "kernel": "linear",
            "fit_intercept": False,
            "path": "theta",
            "s": 0.0,
            "sample_weight": [1.0, 0.0],
        },
    ),
    "fitted exactly: no residual is left to trace": (
        LADRamp,
        [[1], [1]],
        [0, 0],
        {
            "C": 1.0,
            "kernel": "linear",
            "fit_intercept": True,
            "path": "s",
            "theta": 0.5,
            "sample_weight": [0.5, 2.0],
        },
    ),
    "fitted exactly at theta = 1": (
        LADRamp,
        [[0, 0], [1, 1], [0, -1]],
        [0, 0, -3],
        {"C": 100.0, "kernel": "linear", "fit_intercept": True, "path": "s", "theta": 1.0},
    ),
    "C = 1000, polynomial kernel, repeated row of both labels": (
        HingeRamp,
        [[3], [1], [-2], [-2], [-2]],
        [-1, -1, 1, -1, -1],
        {
            "C": 1000.0,
            "kernel": "poly",
            "gamma": 1.0,
            "fit_intercept": True,
            "path": "s",
            "degree": 2,
            "coef0": 0.0,
            "theta": 0.25,
            "s": 1.0,
        },
    ),
    "three nearly independent samples that flip nearly together": (
        LADRamp,
        [[3, -2, 0, 0], [3, 0, -3, -3], [-3, -2, 0, 2]],
        [-1, -1, -1],
        {
            "C": 0.5,
            "kernel": "rbf",
            "gamma": 1.0,
            "fit_intercept": False,
            "path": "s",
            "theta": 0.25,
            "s_stop": 0.1,
        },
    ),
    "the same, three times each": (
        LADRamp,
        [
            [-2, 1, -1, -2, -1],
            [3, -2, 1, -3, -2],
            [3, 0, -2, 2, -3],
            [-2, 1, -1, -2, -1],
            [3, -2, 1, -3, -2],
            [3, 0, -2, 2, -3],
            [-2, 1, -1, -2, -1],
            [3, -2, 1, -3, -2],
            [3, 0, -2, 2, -3],
        ],
        [-2, 3, 3, -2, 3, 3, -2, 3, 3],
        {
            "C": 0.1,
            "kernel": "rbf",
            "gamma": 0.5,
            "fit_intercept": False,
            "path": "s",
            "theta": 0.5,
        },
    ),
    "three near rows of both labels": (
        HingeRamp,
        [[0.40039121912222364], [0.3319178251147771], [0.3367440437941054]],
        [-1, -1, 1],
        {
            "C": 0.001,
            "kernel": "rbf",
            "gamma": 0.5,
            "fit_intercept": True,
            "path": "theta",
            "s": -1.0,
        },
    ),
    "rows repeated with both labels, the border cannot be balanced by rounding": (
        HingeRamp,
        [[3, -3], [1, -2], [1, -2], [0, 1], [-3, -1], [3, 2], [-1, 1], [1, -2]],
        [-1, 1, -1, -1, -1, -1, -1, -1],
        {"C": 100.0, "kernel": "linear", "fit_intercept": True, "path": "theta", "s": -0.5},
    ),
    "nine times the same row, large diagonal": (
        LADRamp,
        [
            [2, 2, 2, 2],
            [2, 2, 2, 2],
            [2, 2, 2, 2],
            [2, 2, 2, 2],
            [2, 2, 2, 2],
            [2, 2, 2, 2],
            [2, 2, 2, 2],
            [2, 2, 2, 2],
            [2, 2, 2, 2],
        ],
        [2, 2, -1, 0, 2, 2, 2, 2, 1],
        {
            "C": 1000.0,
            "kernel": "poly",
            "gamma": 1.0,
            "fit_intercept": True,
            "path": "s",
            "degree": 2,
            "coef0": 1.0,
            "theta": 0.0,
        },
    ),
    "targets that are nearly all zero": (
        LADRamp,
        [
            [-1.3121242344129518],
            [-0.3042841264605309],
            [0],
            [0.00443514016721738],
            [0.5968289516257079],
            [1.5279445230841366],
            [-1.9902864130247395],
            [1.3026388684171852],
            [0.7166596817590122],
            [-0.07637478244360346],
        ],
        [0, 0, 0, 0, 0, 0, 0, 1, 0, 0],
        {
            "C": 10.0,
            "kernel": "rbf",
            "gamma": 0.5,
            "fit_intercept": False,
            "path": "theta",
            "s": 0.3,
        },
    ),
    "points on the axes, a start that was wrong": (
        LADRamp,
        [
            [1, 0],
            [0, 1],
            [0, 2],
            [-0, -1],
            [1, 0],
            [-1, -0],
            [2, 0],
            [-1, -0],
            [-1, -0],
            [2, 0],
            [1, 0],
            [-1, -0],
        ],
        [2, 0, -2, 1, 2, 1, -2, 1, 2, 1, 2, -1],
        {"C": 100.0, "kernel": "linear", "fit_intercept": True, "path": "theta", "s": 0.3},
    ),
    "theta = 1 on the s-path: jumps of height zero": (
        LADRamp,
        [[0], [1], [1], [1], [1]],
        [0, 1, -1, 1, -1],
        {
            "C": 1000.0,
            "kernel": "linear",
            "fit_intercept": True,
            "path": "s",
            "theta": 1.0,
            "s_stop": 1.0,
        },
    ),
    "near rows: a move whose fall is below rounding": (
        HingeRamp,
        [
            [1.2388961151899647],
            [0.6565873819191897],
            [1.2389676647136176],
            [0.5219540085672346],
            [0.656590377188342],
            [1.2388252209842505],
        ],
        [-1, 1, 1, 1, -1, 1],
        {
            "C": 0.01,
            "kernel": "rbf",
            "gamma": 10.0,
            "fit_intercept": True,
            "path": "s",
            "theta": 0.5,
            "s": 0.0,
        },
    ),
    "near rows, C = 1000": (
        HingeRamp,
        [
            [1.9983400269623444, 1.9991276945068797, 2.0010737394612725],
            [2.0001197123272134, 1.9980706491534277, 1.9999774103066388],
            [-1.9991759568251204, -2.0003332714157076, 2.000175521780353],
            [2.0004488525058246, -2.000155228889122, 2.000051565569418],
            [1.9988142659582897, 2.0006292578092393, 2.0009259419473393],
            [1.9998533660404738, 1.9995560644522097, 1.9983407291582],
            [-2.0000130909453735, 2.002138276978677, -2.0019074963281267],
            [1.999934706127536, 2.0006307151345024, 2.0008235161204087],
        ],
        [-1, -1, -1, 1, 1, 1, -1, 1],
        {
            "C": 1000.0,
            "kernel": "linear",
            "fit_intercept": True,
            "path": "s",
            "theta": 0.1,
            "s": 0.0,
        },
    ),
}


@pytest.mark.parametrize("name", list(FOUND))
def test_what_once_failed_is_certified(name):
    plugin, X, y, options = FOUND[name]
    path = Homotopy(plugin(X, y, **options)).trace()
    certificate = path.certify()
    assert path.complete
    assert certificate.ok, str(certificate)


def integer_rows(seed, most):
    """Fewer than `most` rows of small integers and noisy labels, as fuzzing draws them."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, most)), int(rng.integers(1, 6))
    rng.choice(["normal", "int", "bin", "stack", "half"])
    X = rng.normal(size=(n, d))
    X = np.round(X * rng.choice([0.5, 1, 2]))
    y = np.sign(X[:, 0] + 0.5 * rng.normal(size=n))
    y[y == 0] = 1
    y[rng.random(n) < 0.15] *= -1
    return X, y


def test_every_corner_at_zero_and_nothing_to_fit():
    """No corner gives a scale: it is what alpha can do to the response."""
    weights = np.array([1.0] + 11 * [0.0] + [0.5, 0.5, 1.0])
    model = LADRamp(
        np.ones((15, 1)),
        np.zeros(15),
        C=0.1,
        kernel="linear",
        path="s",
        s=0.3,
        fit_intercept=True,
        sample_weight=weights,
    )
    path = Homotopy(model).trace()
    assert path.breakpoints.size == 1
    assert path.certify().ok


def test_who_is_pressed_against_a_wall_is_not_let_go_when_many_ties_are_resolved():
    """Integer rows tie by the dozen at s = -3, -2, -1 and 0.  An earlier version let a pinned
    coordinate go while its alpha was far from the slope, and had to cross the jump late."""
    X, y = integer_rows(141423, 120)
    model = HingeRamp(X, y, C=0.1, kernel="linear", path="s", s=1.0, theta=0.5, fit_intercept=True)
    path = Homotopy(model, d_step="homotopy").trace()
    assert path.counts["late_jumps"] == 0
    certificate = path.certify()
    assert certificate.ok, str(certificate)


def test_a_smaller_factor_may_take_the_place_of_a_larger():
    """Resolving many ties replaces the factor by a fresh one, of less capacity than the last."""
    X, y = integer_rows(252054, 60)
    model = HingeRamp(X, y, C=1e-3, gamma=0.5, path="theta", s=1.0, fit_intercept=True)
    assert Homotopy(model).trace().certify().ok


LATER = {
    "tiny features and a jump at 0": lambda: HingeRamp(
        [[1e-6], [-2e-6]], [-1.0, 1.0], C=0.3, kernel="linear", s=0.0
    ),
    "a tiny C and a jump at 0": lambda: HingeRamp(
        np.eye(2), [-1.0, 1.0], C=1e-6, kernel="poly", degree=3, gamma=0.01, s=0.0
    ),
    "an exchange decided by one rounding": lambda: LADRamp(
        [[-809.7530868835423], [2335.756834616381]], np.zeros(2), C=100.0, kernel="linear", s=2.0
    ),
    "another": lambda: LADRamp(
        [[1.324293250425583], [0.9292069532503078], [0.4215295394841821], [-2.2468050855439485]],
        np.zeros(4),
        C=100.0,
        kernel="poly",
        degree=2,
        coef0=1.0,
        gamma=10.0,
        path="s",
        theta=0.5,
        s_stop=0.1,
        fit_intercept=True,
    ),
    "rank one, a relabelling": lambda: LADRamp(
        np.full((3, 3), 4.722948168270469),
        [0.0, -1.0, 0.0],
        C=100.0,
        kernel="precomputed",
        path="s",
        theta=0.5,
    ),
}


@pytest.mark.parametrize("name", list(LATER))
def test_what_failed_later_is_certified(name):
    certificate = Homotopy(LATER[name]()).trace().certify()
    assert certificate.ok, str(certificate)


def test_a_limit_right_after_a_jump_leaves_a_path_that_is_certified():
    model = LADRamp([[1.0]], [-4.0], C=1.0, kernel="linear", path="s")
    path = Homotopy(model, max_breakpoints=1).trace()
    assert not path.complete
    assert path.certify().ok


def test_a_factor_that_was_updated_ten_thousand_times_is_as_good_as_new():
    # Correlated features and a large C: every pivot multiplies the error of the factor a little,
    # and a point refined with it was off by 2e-8 (as on musk, linear, C = 100).
    rng = np.random.default_rng(1)
    n, d = 1200, 60
    Z = rng.normal(size=(n, d)) * np.logspace(0.0, -3.0, d)
    X = Z @ np.linalg.qr(rng.normal(size=(d, d)))[0]
    y = np.sign(Z[:, 0] + Z[:, 1] + 1.5 * rng.normal(size=n))
    path = Homotopy(HingeRamp(X / np.abs(X).max(axis=0), y, C=1000.0, kernel="linear")).trace()
    assert path.counts["pivots"] > 5000
    certificate = path.certify()
    assert certificate.ok
    assert certificate.worst <= 1e-10
