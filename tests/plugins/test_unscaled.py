"""Numbers as tables have them: a year beside a price, timestamps, one target of 1e9, raw units.

Each of these once gave a path that was wrong and certified, or none at all.
"""

from __future__ import annotations

import numpy as np
import pytest
from grids import thinned
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.svm import SVC

from homotopy import DenseGram, Homotopy, Knot, LossModel, ModelError, Slope, TraceError
from homotopy_plugins import HingeRamp, LADRamp

HINGE = {"theta": {"path": "theta", "s": -1.0}, "s": {"path": "s", "theta": 0.0}}
LAD = {"theta": {"path": "theta", "s": 1.0}, "s": {"path": "s", "theta": 0.0, "s_stop": 0.1}}

both_paths = pytest.mark.parametrize("path", ["theta", "s"])
both_costs = pytest.mark.parametrize("C", [1.0, 100.0])


def certified(model):
    path = Homotopy(model).trace()
    certificate = path.certify()
    assert path.complete
    assert certificate.ok, str(certificate)
    return path


class Box(LossModel):
    """``min 1/2 |x|^2 - t c'x, low <= x <= high``; alpha are the multipliers, u = x - t c."""

    parameter, span = "t", (0.0, 1.0)

    def __init__(self, c, low, high):
        self.c, self.low, self.high = (np.array(v, dtype=float) for v in (c, low, high))
        self.gram = DenseGram(np.eye(self.c.size))

    def polyline(self, t):
        return (
            Slope("low", np.inf),
            Knot("at low", self.low - t * self.c),
            Slope("inside", 0.0),
            Knot("at high", self.high - t * self.c),
            Slope("high", -np.inf),
        )


@pytest.mark.parametrize("far", [1e8, 1e12, 1e30, 1e100, np.inf])
def test_a_bound_that_is_never_met_says_nothing_about_the_others(far):
    path = certified(Box([2.0, 0.0], [-1.0, -far], [1.0, far]))
    for t in (0.25, 0.5, 0.75, 1.0):
        x = path.alpha(t) + t * np.array([2.0, 0.0])
        np.testing.assert_allclose(x, [min(2.0 * t, 1.0), 0.0], atol=1e-12)


def word_counts(seed, n, d):
    """Raw frequencies, most of them 0, and three columns with heavy tails."""
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((n, d)) < 0.7, 0.0, rng.lognormal(0.0, 1.0, (n, d)).round(2))
    X[:, -3:] = np.exp(1.5 * rng.normal(size=(n, 3)) + np.array([1.0, 3.0, 5.0])).round(3)
    score = X[:, : d // 2].sum(axis=1) - X[:, d // 2 : -3].sum(axis=1)
    return X, np.where(score + rng.normal(size=n) > 0.0, 1, -1)


@pytest.mark.parametrize(("seed", "C"), [(0, 100.0), (11, 1000.0), (19, 1000.0)])
def test_w_does_not_break_where_a_row_leaves_an_ill_conditioned_system(seed, C):
    """What little the active equations were off before moved w by up to 4e-8 when a row left."""
    certified(HingeRamp(*word_counts(seed, 300, 30), C=C, kernel="linear"))


def test_a_number_whose_square_overflows_is_refused_by_name():
    with pytest.raises(ModelError, match=r"coordinate 1 is -1e\+300.*write inf"):
        Homotopy(Box([2.0, 0.0], [-1.0, -1e300], [1.0, 1e300])).trace()


def test_bounds_that_cross_are_refused_whatever_the_others_are():
    with pytest.raises(ModelError, match="corners must not cross"):
        Homotopy(Box([2.0, 0.0], [1.0, -1e14], [-1.0, 1e14])).trace()


def regression(offset=0.0, outlier=None):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = X @ [1.0, 2.0, 3.0] + rng.normal(size=40) + offset
    if outlier is not None:
        y[7] = outlier
    return X, y


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_one_target_of_a_billion_leaves_the_others_on_their_side(kernel, fit_intercept):
    X, y = regression(outlier=1e9)
    model = LADRamp(X, y, C=1.0, kernel=kernel, fit_intercept=fit_intercept, **LAD["s"])
    path = certified(model)
    # Nobody beyond the threshold is an inlier, nobody within it an outlier.
    for t in path.breakpoints:
        size = np.abs(y - path.response(t))
        parts = path.partition(t)
        out = np.concatenate([parts["O+"], parts["O-"]])
        inside = np.setdiff1d(np.arange(40), out)
        assert np.all(size[out] >= t * (1 - 1e-9))
        assert np.all(size[inside] <= t * (1 + 1e-9) + 1e-9)


@both_paths
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_targets_far_from_zero_have_the_path_of_targets_near_it(kernel, path):
    # (At 1e8 the linear kernel's jumps are proven to 5e-8 only: y itself is known to 1.5e-8.)
    (X, y), far = regression(), 1e8 if kernel == "rbf" else 1e6
    options = {"C": 1.0, "kernel": kernel, "fit_intercept": True, **LAD[path]}
    # What 1e8 leaves of the digits of y, exactly.
    near = certified(LADRamp(X, (y + far) - far, **options))
    away = certified(LADRamp(X, (y + far), **options))
    assert away.breakpoints.size > 5
    np.testing.assert_allclose(away.traced, near.traced, rtol=1e-6)
    np.testing.assert_allclose(
        away.objective(near.traced[1]), near.objective(near.traced[1]), rtol=1e-6
    )


@both_paths
@both_costs
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("load", [load_breast_cancer, load_wine])
def test_raw_tables(load, kernel, C, path):
    X, y = load(return_X_y=True)
    y = np.where(y == 0, 1, -1)
    flipped = np.random.default_rng(0).random(y.size) < 0.1
    y = np.where(flipped, -y, y)
    certified(HingeRamp(X, y, C=C, kernel=kernel, fit_intercept=True, **HINGE[path]))


UNITS = ["a year beside a price", "a timestamp", "units of 1e4", "1e-6"]


@pytest.mark.filterwarnings("ignore::homotopy.RoundingWarning")
@thinned("what, fit_intercept, C, path", UNITS, [False, True], [1.0, 100.0], ["s", "theta"])
def test_columns_in_their_own_units(what, fit_intercept, C, path):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(120, 3))
    y = np.sign(X[:, 0] + 0.5 * rng.normal(size=120))
    if what == "a year beside a price":
        X = np.column_stack([1987 + np.round(20 * X[:, 0]), np.exp(10 + X[:, 1])])
    elif what == "a timestamp":
        # Seconds, over a day.
        X[:, 1] = 1.7e9 + 1e5 * X[:, 1]
    else:
        X *= 1e4 if what == "units of 1e4" else 1e-6
    model = HingeRamp(X, y, C=C, kernel="linear", fit_intercept=fit_intercept, **HINGE[path])
    if what == "a timestamp" and path == "s" and not fit_intercept:
        # Responses are sums of terms of 1e18: where the first meets the threshold is not known.
        with pytest.raises(TraceError, match=r"shorter than the rounding error.*column 1"):
            Homotopy(model).trace()
        return
    certified(model)


def test_a_timestamp_does_not_spoil_predictions():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(80, 2))
    y = np.sign(X[:, 0] + 0.3 * rng.normal(size=80))
    stamped = X + np.array([0.0, 1.7e9])
    # Away from 1.7e9 again, exactly.
    plain = stamped - np.array([0.0, 1.7e9])
    options = {"C": 1.0, "kernel": "linear", "fit_intercept": True, "s": -1.0}
    far, near = (Homotopy(HingeRamp(Z, y, **options)).trace() for Z in (stamped, plain))
    expected = SVC(C=1.0, kernel="linear", tol=1e-8).fit(plain, y).decision_function(plain)
    for path, Z in ((far, stamped), (near, plain)):
        np.testing.assert_allclose(path.decision_function(Z, 1.0), expected, atol=1e-5)
        curve = path.model.evaluator(Z)(
            path.alpha(1.0)[:, None], path.border_multipliers(1.0)[:, None]
        )
        np.testing.assert_allclose(curve[:, 0], expected, atol=1e-5)


@both_paths
def test_raw_regression(path):
    X, y = load_diabetes(return_X_y=True, scaled=False)
    rule = {"path": "theta", "s": 50.0} if path == "theta" else {"path": "s", "s_stop": 5.0}
    certified(LADRamp(X, y, C=1.0, kernel="linear", fit_intercept=True, **rule))


def test_a_threshold_of_a_billion_loosens_nothing():
    X, y = regression()
    path = certified(HingeRamp(X, np.sign(y), C=1.0, kernel="linear", path="theta", s=-1e9))
    assert path.breakpoints.size == 2


def test_weights_over_sixteen_decades_keep_their_knots():
    X, y = regression()
    weight = np.where(np.arange(40) % 2, 1.0, 1e-16)
    path = certified(HingeRamp(X, np.sign(y), C=1.0, kernel="linear", sample_weight=weight, s=-1.0))
    assert path.complete
