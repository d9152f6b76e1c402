"""Leave-one-out, flips and rows in and out of the plain estimators, against libsvm."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.svm import SVC, SVR

from homotopy import DataError, Homotopy, ModelError
from homotopy_plugins import RobustSVC, RobustSVR, SVMPath, leave_one_out_curve

GAMMA, C = 0.5, 2.0


def labelled(n=50):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 3))
    target = X[:, 0] + 0.7 * rng.normal(size=n)
    return X, target, np.where(target > 0, "b", "a")


def without(i, X, y):
    return np.delete(X, i, axis=0), np.delete(y, i)


def test_a_classifier_without_each_row_and_what_hangs_on_one():
    X, _, y = labelled()
    new = np.random.default_rng(2).normal(size=(40, 3))
    machine = RobustSVC(robustness=0, C=C, gamma=GAMMA).fit(X, y)
    refits = [SVC(C=C, gamma=GAMMA, tol=1e-10).fit(*without(i, X, y)) for i in range(y.size)]
    own = np.array([refits[i].decision_function(X[[i]])[0] for i in range(y.size)])
    np.testing.assert_allclose(machine.loo_decision(), own, atol=1e-5)
    assert machine.loo_score() == np.mean(np.where(own > 0, "b", "a") == y)
    base = machine.predict(new)
    pairs = [
        (j, i) for i, fit in enumerate(refits) for j in np.flatnonzero(fit.predict(new) != base)
    ]
    found = machine.flips(new)
    assert [tuple(pair) for pair in found.pairs.tolist()] == sorted(pairs)
    assert np.flatnonzero(found.hangs).tolist() == sorted({j for j, _ in pairs})


@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_rows_in_and_out(epsilon):
    X, target, _ = labelled()
    options = {"robustness": 0, "C": C, "gamma": GAMMA, "epsilon": epsilon}
    machine = RobustSVR(**options).fit(X[:40], target[:40]).add_rows(X[40:], target[40:])
    refit = SVR(C=C, gamma=GAMMA, epsilon=epsilon, tol=1e-10)
    np.testing.assert_allclose(machine.predict(X), refit.fit(X, target).predict(X), atol=1e-5)
    assert machine.certificate_.ok
    machine.remove_rows([0, 5, -1])
    kept = np.delete(np.arange(50), [0, 5, 49])
    refit.fit(X[kept], target[kept])
    np.testing.assert_allclose(machine.predict(X), refit.predict(X), atol=1e-5)


def test_the_curve_along_C():
    X, _, y = labelled()
    path = Homotopy(SVMPath(X, y, C=(0.1, 10.0), gamma=GAMMA)).trace()
    curve = leave_one_out_curve(path, [0.3, 5.0])
    for cost, error in zip(curve.t, curve.error, strict=True):
        wrong = [
            SVC(C=cost, gamma=GAMMA, tol=1e-10).fit(*without(i, X, y)).predict(X[[i]])[0] != y[i]
            for i in range(y.size)
        ]
        assert error == pytest.approx(np.mean(wrong))


def test_what_cannot_be_is_refused():
    X, _, y = labelled()
    machine = RobustSVC(robustness=0.5, gamma=GAMMA).fit(X, y)
    with pytest.raises(ModelError, match=r"robustness 0.5 \(theta=0.5\), whose loss is not convex"):
        machine.loo_decision()
    plain = machine.at(0)
    with pytest.raises(DataError, match="'c' is none of the classes"):
        plain.add_rows(X[:1], ["c"])
    with pytest.raises(DataError, match="row 50 does not exist"):
        plain.remove_rows([50])
    with pytest.raises(DataError, match="rows of either class"):
        plain.remove_rows(np.flatnonzero(y == "a"))
