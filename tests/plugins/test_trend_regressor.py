"""TrendFilterRegressor: the choice of lam, predictions, bad input."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score

import homotopy_plugins
from homotopy import DataError, Homotopy, ModelError
from homotopy_plugins import TrendFilter, TrendFilterRegressor

RNG = np.random.default_rng(7)
Z = np.sort(RNG.uniform(0.0, 10.0, 120))
TRUTH = np.abs(Z - 4.0)
Y = TRUTH + 0.2 * RNG.standard_normal(120)


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("lam", ["gcv", "aic", "bic", "cv", 0.5])
def test_it_fits_better_than_the_noise(order, lam):
    model = TrendFilterRegressor(order=order, lam=lam).fit(Z, Y)
    assert model.certificate_.ok
    assert np.sqrt(np.mean((model.signal_ - TRUTH) ** 2)) < 0.2
    np.testing.assert_allclose(model.predict(Z), model.signal_)
    assert model.score(Z, TRUTH) > 0.9


def test_a_kink_is_found():
    model = TrendFilterRegressor(order=1, lam="bic").fit(Z, Y)
    assert model.knots_.size < 12
    assert np.abs(model.knots_ - 4.0).min() < 0.5


@pytest.mark.parametrize("rule", ["gcv", "aic", "bic"])
def test_the_rule_is_least_on_all_of_the_path(rule):
    model = TrendFilterRegressor(order=1, lam=rule).fit(Z, Y)
    least = model.criterion_[:, 1].min()
    for lam in np.geomspace(*model.path_.traced, 200):
        rest = Y - model.path_.solution(lam)
        df = np.count_nonzero(model.path_.alpha(lam)) + 2
        rss = rest @ rest
        if rule == "gcv":
            value = 120 * rss / (120 - df) ** 2 if df < 120 else np.inf
        else:
            value = 120 * np.log(rss) + df * (2.0 if rule == "aic" else np.log(120))
        assert value >= least - 1e-9 * abs(least)


def test_cross_validation_is_exact():
    model = TrendFilterRegressor(order=1, lam="cv", cv=4).fit(Z, Y)
    curve, stop = model.validation_curve_, model.path_.traced[1]
    assert curve(model.lam_) == pytest.approx(curve.minimum)
    for lam in np.geomspace(*model.path_.traced, 9)[1:]:
        means = []
        for fold in range(4):
            held = np.arange(1, 119)[fold::4]
            kept = np.setdiff1d(np.arange(120), held)
            path = Homotopy(TrendFilter(Y[kept], positions=Z[kept], lam=stop)).trace()
            at = min(lam, path.traced[0])
            means.append(np.mean((Y[held] - path.decision_function(Z[held], at)) ** 2))
        assert curve(lam) == pytest.approx(np.mean(means))


def test_order_of_rows_repeats_and_weights():
    plain = TrendFilterRegressor(lam=0.5).fit(Z, Y)
    shuffled = RNG.permutation(120)
    again = TrendFilterRegressor(lam=0.5).fit(Z[shuffled, None], Y[shuffled])
    np.testing.assert_allclose(again.signal_, plain.signal_)
    twice = TrendFilterRegressor(lam=1.0).fit(np.r_[Z, Z], np.r_[Y, Y])
    np.testing.assert_allclose(twice.signal_, plain.signal_, atol=1e-9)
    heavy = TrendFilterRegressor(lam=1.0).fit(Z, Y, sample_weight=np.full(120, 2.0))
    np.testing.assert_allclose(heavy.signal_, plain.signal_, atol=1e-9)
    weight = np.where(np.arange(120) < 100, 1.0, 0.0)
    fewer = TrendFilterRegressor(lam=0.5).fit(Z, Y, sample_weight=weight)
    np.testing.assert_allclose(
        fewer.signal_, TrendFilterRegressor(lam=0.5).fit(Z[:100], Y[:100]).signal_
    )


def test_it_is_an_estimator_like_others():
    model = TrendFilterRegressor(order=1, lam=0.5)
    assert clone(model).get_params() == model.get_params()
    assert cross_val_score(model, Z[:, None], Y, cv=3).shape == (3,)
    fitted = model.fit(Z, Y)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict(Z), fitted.predict(Z))
    assert "TrendFilterRegressor" in dir(homotopy_plugins)


def test_beyond_every_lam_it_is_a_polynomial():
    model = TrendFilterRegressor(order=1, lam=1e9).fit(Z, Y)
    np.testing.assert_allclose(model.signal_, np.polyval(np.polyfit(Z, Y, 1), Z))
    assert model.knots_.size == 0


@pytest.mark.parametrize(
    ("options", "data", "error", "says"),
    [
        ({"lam": "best"}, {}, ModelError, "lam must be a number or one of gcv, aic, bic, cv"),
        ({"lam": -1.0}, {}, ModelError, "lam must not be negative"),
        ({"order": 5}, {}, ModelError, "order must be 0, 1 or 2, got 5"),
        ({"lam": "cv", "cv": 1}, {}, ModelError, "cv must be at least 2, got 1"),
        ({"lam": "cv", "cv": 200}, {}, DataError, "120 positions are too few for 200 folds"),
        ({}, {"X": np.c_[Z, Z]}, DataError, r"X must have one column.*got shape \(120, 2\)"),
        ({}, {"X": np.where(Z > 9, np.nan, Z)}, ValueError, "NaN"),
        ({}, {"y": Y[1:]}, ValueError, "inconsistent numbers of samples"),
        ({}, {"sample_weight": np.zeros(120)}, ValueError, "(?i)sample.weight"),
        ({}, {"sample_weight": -np.ones(120)}, DataError, r"sample_weight\[0\] is -1"),
        ({}, {"X": np.ones(120)}, DataError, "y has 1 values; order 1 needs at least 3"),
    ],
)
def test_bad_input_is_refused(options, data, error, says):
    with pytest.raises(error, match=says):
        TrendFilterRegressor(**options).fit(**({"X": Z, "y": Y} | data))


def test_before_the_fit_there_is_nothing_to_predict():
    with pytest.raises(NotFittedError):
        TrendFilterRegressor().predict(Z)
