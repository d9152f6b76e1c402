"""ConformalSVR: refits by libsvm, brute force for the full set, coverage, ugly tables."""

from __future__ import annotations

import pickle
import warnings
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from oracles import kernel_matrix, solve_qp
from scipy.stats import binom
from sklearn.base import clone
from sklearn.svm import SVR
from sklearn.utils.estimator_checks import parametrize_with_checks

from homotopy import DataError, ModelError
from homotopy_plugins import ConformalSVR
from homotopy_plugins.estimators.conformal_sets import merged, needed_rows
from homotopy_plugins.estimators.scales import UnscaledWarning

GAMMA = 0.5
LOSSES = ["epsilon", "absolute", "quantile", "huber"]
WIDTHS = {"epsilon": 0.3, "tau": 0.3, "delta": 0.4}


def regression(n, seed=0, d=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.sin(X[:, 0]) + 0.3 * rng.normal(size=n)


@parametrize_with_checks(
    [
        ConformalSVR(confidence_level=0.5),
        ConformalSVR(loss="huber", method="jackknife-minmax", confidence_level=[0.5]),
        ConformalSVR(loss="absolute", kernel="linear", method="full", confidence_level=0.5),
    ]
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


# ------------------------------------------------------------------ against refits


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize(("loss", "epsilon"), [("epsilon", 0.1), ("epsilon", 0.0), ("absolute", 0)])
def test_jackknife_intervals_are_those_of_refits(kernel, loss, epsilon):
    """libsvm, every row left out in turn; quantiles by sorting, as the paper writes them."""
    n, C, levels = 40, 2.0, [0.5, 0.9]
    X, y = regression(n)
    new = regression(15, seed=1)[0]
    options = {"C": C, "kernel": kernel, "gamma": GAMMA, "epsilon": epsilon}
    without, own = np.empty((n, 15)), np.empty(n)
    for i in range(n):
        rest = np.arange(n) != i
        refit = SVR(**options, tol=1e-10).fit(X[rest], y[rest])
        without[i], own[i] = refit.predict(new), refit.predict(X[i : i + 1])[0]
    score = np.abs(y - own)
    machine = ConformalSVR(loss=loss, confidence_level=levels, **options).fit_conformalize(X, y)
    # libsvm keeps kernel values in single precision.
    np.testing.assert_allclose(machine.loo_decision_, own, atol=1e-5)
    np.testing.assert_allclose(machine.conformity_scores_, score, atol=1e-5)
    prediction, interval = machine.predict_interval(new)
    assert interval.shape == (15, 2, 2)
    whole = SVR(**options, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(prediction, whole.predict(new), atol=1e-5)
    np.testing.assert_array_equal(prediction, machine.predict(new))
    minmax = clone(machine).set_params(method="jackknife-minmax").fit(X, y).predict_interval(new)[1]
    for j, level in enumerate(levels):
        k = int(np.floor((1 - Fraction(str(level))) * (n + 1)))
        low = np.sort(without - score[:, None], axis=0)[k - 1]
        high = np.sort(without + score[:, None], axis=0)[n - k]
        np.testing.assert_allclose(interval[:, :, j], np.column_stack([low, high]), atol=1e-5)
        reach = np.sort(score)[n - k]
        ends = without.min(axis=0) - reach, without.max(axis=0) + reach
        np.testing.assert_allclose(minmax[:, :, j], np.column_stack(ends), atol=1e-5)
    residual = ((y - own) ** 2).sum() / ((y - y.mean()) ** 2).sum()
    assert machine.loo_score() == pytest.approx(1.0 - residual, abs=1e-5)


def refitted(loss, X, y, C):
    """f at the rows, by DAQP on the dual; no arithmetic of the engine's.

    Returns the responses, or None where b is not unique.
    """
    n = y.size
    K = kernel_matrix(X, X, "rbf", gamma=GAMMA)
    up, down, width = C, -C, 0.0
    if loss == "quantile":
        up, down = C * WIDTHS["tau"], -C * (1 - WIDTHS["tau"])
    if loss == "huber":
        up, down = C * WIDTHS["delta"], -C * WIDTHS["delta"]
    if loss == "epsilon":
        width = WIDTHS["epsilon"]
    # alpha = p - m with p, m >= 0 so that the tube is a price.
    H = np.block([[K, -K], [-K, K]]) + 1e-10 * np.eye(2 * n)
    if loss == "huber":
        H += np.block([[np.eye(n), -np.eye(n)], [-np.eye(n), np.eye(n)]]) / C
    f = np.concatenate([width - y, width + y])
    rows = np.vstack([np.eye(2 * n), np.concatenate([np.ones(n), -np.ones(n)])])
    low = np.zeros(2 * n + 1)
    high = np.concatenate([np.full(n, up), np.full(n, -down), [0.0]])
    both = solve_qp(H, f, rows, low, high)
    alpha = both[:n] - both[n:]
    near = 1e-7 * C
    fixed = K @ alpha
    on = (alpha > down + near) & (alpha < up - near)
    if loss == "epsilon":
        on &= np.abs(alpha) > near
    if not on.any():
        return None
    target = y - fixed
    if loss == "epsilon":
        target = target - width * np.sign(alpha)
    if loss == "huber":
        target = target - alpha / C
    return fixed + float(np.median(target[on]))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("C", [0.3, 10.0])
def test_full_sets_are_those_of_trying_every_target(loss, C):
    n, levels = 25, [0.5, 0.8, 0.9]
    X, y = regression(n, seed=2)
    X[3], y[3] = X[4], y[4]
    new = np.vstack([regression(3, seed=3)[0], X[:1]])
    machine = ConformalSVR(
        loss=loss, C=C, gamma=GAMMA, method="full", confidence_level=levels, **WIDTHS
    ).fit(X, y)
    sets = machine.predict_set(new)
    hull = machine.predict_interval(new)[1]
    compared = 0
    for i, x in enumerate(new):
        for target in np.random.default_rng(i).uniform(-4, 4, 30):
            f = refitted(loss, np.vstack([X, x]), np.append(y, target), C)
            if f is None:
                continue
            residual = np.abs(np.append(y, target) - f)
            gap = residual[:-1] - residual[-1]
            sure, maybe = (gap > 1e-6).sum(), (gap > -1e-6).sum()
            for j, k in enumerate((13, 5, 2)):
                inside = any(low <= target <= high for low, high in sets[i][j])
                if loss in ("absolute", "epsilon", "quantile") or sure == maybe:
                    # Ties count; where nothing is tied the two are the same.
                    assert inside == (maybe >= k), (i, target, levels[j])
                    compared += 1
        for j in range(3):
            part = sets[i][j]
            assert np.all(part[:, 0] <= part[:, 1])
            assert np.all(part[1:, 0] > part[:-1, 1])
            np.testing.assert_array_equal(hull[i, :, j], [part[0, 0], part[-1, 1]])
    assert compared > 200


def test_several_intervals_in_one_set():
    """A new row between two heaps: a target like neither is stranger than one like either."""
    X, y = regression(60, seed=0)
    machine = ConformalSVR(
        C=10.0, gamma=GAMMA, epsilon=0.3, method="full", confidence_level=0.5
    ).fit(X, y)
    counts = [part[0].shape[0] for part in machine.predict_set(regression(40, seed=5)[0])]
    assert max(counts) > 1


def test_a_union():
    assert merged([(2.0, 3.0), (0.0, 1.0), (1.0, 1.5), (2.5, 2.6)]).tolist() == [
        [0.0, 1.5],
        [2.0, 3.0],
    ]


def test_ranks_are_exact_in_decimals():
    # 1 - 0.9 is a little less than 0.1 in binary, and 0.1 * 10 would be rounded down to 0.
    assert needed_rows([0.9], 9) == [1]
    assert needed_rows([0.9], 8) == [0]
    assert needed_rows([0.7, 0.95], 99) == [30, 5]


# ------------------------------------------------------------------ coverage


def draw(rng, n):
    X = rng.uniform(-2, 2, size=(n, 1))
    return X, np.sin(2 * X[:, 0]) + 0.3 * (1 + np.abs(X[:, 0])) * rng.standard_t(3, size=n)


@pytest.mark.parametrize("method", ["jackknife+", "jackknife-minmax", "full"])
@pytest.mark.parametrize(
    "loss",
    [
        "huber",
        *(pytest.param(name, marks=pytest.mark.slow) for name in LOSSES if name != "huber"),
    ],
)
def test_coverage(method, loss):
    """200 trials of 30 rows and one new row.  Promised are 0.8 (full, minmax) and 0.6 (jackknife+);
    the bounds are those that a machine of just that coverage would miss once in 100,000 times."""
    rng, trials, hits = np.random.default_rng(7), 200, 0
    options = {"gamma": 1.0, "method": method, "loss": loss, "confidence_level": 0.8, **WIDTHS}
    for _ in range(trials):
        X, y = draw(rng, 31)
        machine = ConformalSVR(C=1.0, **options).fit_conformalize(X[:-1], y[:-1])
        if method == "full":
            parts = machine.predict_set(X[-1:])[0][0]
            hits += any(low <= y[-1] <= high for low, high in parts)
        else:
            low, high = machine.predict_interval(X[-1:])[1][0, :, 0]
            hits += low <= y[-1] <= high
    promised = 0.6 if method == "jackknife+" else 0.8
    assert hits >= binom.ppf(1e-5, trials, promised)
    if method != "jackknife-minmax":
        # It is no use to cover always.
        assert hits <= binom.ppf(1 - 1e-5, trials, 0.88)


# ------------------------------------------------------------------ ugly tables


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("method", ["jackknife+", "full"])
@pytest.mark.parametrize("n", [2, 3])
def test_three_rows(loss, method, n):
    X, y = regression(n)
    machine = ConformalSVR(loss=loss, method=method, gamma=GAMMA, confidence_level=[0.5, 0.9])
    with pytest.warns(UserWarning, match=f"{n} rows are too few for the confidence level 0.9"):
        machine.fit(X, y)
    interval = machine.predict_interval(X)[1]
    assert np.all(interval[:, :, 1] == [-np.inf, np.inf])
    assert np.all(np.isfinite(interval[:, :, 0]))
    assert np.all(interval[:, 0, 0] <= interval[:, 1, 0])


def test_one_row_is_refused():
    with pytest.raises(ValueError, match="minimum of 2"):
        ConformalSVR().fit([[1.0]], [1.0])


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("method", ["jackknife+", "jackknife-minmax", "full"])
def test_constant_targets(loss, method):
    X = regression(30)[0]
    machine = ConformalSVR(loss=loss, method=method, gamma=GAMMA).fit(X, np.full(30, 7.0))
    prediction, interval = machine.predict_interval(X[:5] + 0.1)
    # The tube leaves f where it may be; the loss is then 0 all the same.
    slack = 0.1 + 1e-9 if loss == "epsilon" else 1e-9
    np.testing.assert_allclose(prediction, 7.0, atol=slack)
    assert np.all(interval[:, 0, 0] <= 7.0 + 1e-9)
    assert np.all(interval[:, 1, 0] >= 7.0 - 1e-9)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_duplicated_rows_and_few_distinct_targets(loss, kernel):
    rng = np.random.default_rng(4)
    X, y = rng.integers(-1, 2, size=(40, 2)).astype(float), rng.integers(0, 3, 40).astype(float)
    machine = ConformalSVR(loss=loss, kernel=kernel, gamma=GAMMA, C=3.0, **WIDTHS).fit(X, y)
    assert machine.certificate_.ok
    fork = machine.path_.fork(machine.path_.traced[0])
    for i in range(0, 40, 7):
        moved = fork.remove(i)
        assert moved.certify().ok
        fork.restore()
    full = machine.set_params(method="full").fit(X, y)
    assert np.all(np.isfinite(full.predict_interval(X[:6])[1]))


@pytest.mark.parametrize("loss", LOSSES)
def test_a_machine_that_interpolates(loss):
    """With C = 1e6 and a narrow kernel f passes through every target: residuals of rows that are in
    say nothing, those of rows left out do."""
    X, y = regression(40, d=1)
    options = {"loss": loss, "C": 1e6, "gamma": 50.0, "epsilon": 1e-3, "delta": 1e-3}
    machine = ConformalSVR(**options).fit(X, y)
    new, target = regression(200, seed=8, d=1)
    low, high = machine.predict_interval(new)[1][:, :, 0].T
    assert np.mean((low <= target) & (target <= high)) > 0.8
    assert np.all(np.isfinite(low) & np.isfinite(high))
    # The full set is right too, and useless: whatever the target, the machine goes through it.
    full = ConformalSVR(**options, method="full").fit(X, y).predict_interval(new[:5])[1]
    assert np.all(full[:, 1, 0] - full[:, 0, 0] > high[:5] - low[:5])


def test_one_feature_that_is_constant():
    X, y = np.ones((20, 1)), np.arange(20.0)
    low, high = ConformalSVR(loss="absolute").fit(X, y).predict_interval([[1.0]])[1][0, :, 0]
    assert low < 2.0
    assert high > 17.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"loss": "lad-ramp"}, "is not convex.*0.892"),
        ({"loss": "squared"}, "loss must be one of epsilon, absolute, quantile, huber"),
        ({"method": "split"}, "method must be one of"),
        ({"confidence_level": 1.0}, "confidence_level must lie between 0 and 1"),
        ({"confidence_level": []}, "confidence_level must lie between 0 and 1"),
        ({"confidence_level": "high"}, "confidence_level must be a number"),
        ({"C": 0.0}, "ConformalSVR: C must be positive"),
        ({"epsilon": -1.0}, "ConformalSVR: epsilon must not be negative"),
        ({"loss": "quantile", "tau": 1.0}, "ConformalSVR: tau must lie between 0 and 1"),
        ({"loss": "huber", "delta": 0.0}, "ConformalSVR: delta(_start)? must be positive"),
        ({"method": "full", "gamma": "scale"}, "gamma as a number, chosen on other rows"),
        ({"method": "full", "kernel": "precomputed"}, "the kernel of a new row with itself"),
        ({"kernel": "box"}, "kernel must be one of"),
    ],
)
def test_what_cannot_be_is_refused(change, message):
    X, y = regression(20)
    with pytest.raises(ModelError, match=message):
        ConformalSVR(**change).fit(X, y)


def test_data_that_cannot_be_is_refused():
    X, y = regression(20)
    machine = ConformalSVR()
    with pytest.raises(ValueError, match="NaN"):
        machine.fit(np.where(X > 1.5, np.nan, X), y)
    with pytest.raises(ValueError, match="NaN"):
        machine.fit(X, np.where(np.arange(20) == 3, np.nan, y))
    with pytest.raises(DataError, match="not a number"):
        machine.fit([["a"], ["b"], ["c"]], [1.0, 2.0, 3.0])
    with pytest.raises(ModelError, match="predict_set is for method='full'"):
        machine.fit(X, y).predict_set(X)


def test_other_forms_of_the_same():
    """Sparse rows, a kernel matrix, a copy from disk, too little memory for all machines."""
    X, y = regression(40)
    X[np.abs(X) < 0.5] = 0.0
    new = X[:7] * 0.9
    options = {"C": 2.0, "gamma": GAMMA}
    expected = ConformalSVR(**options).fit(X, y).predict_interval(new)[1]
    sparse = ConformalSVR(**options).fit(sp.csr_matrix(X), y)
    found = sparse.predict_interval(sp.csr_matrix(new))[1]
    np.testing.assert_allclose(found, expected, atol=1e-9)
    K, k = kernel_matrix(X, X, "rbf", gamma=GAMMA), kernel_matrix(new, X, "rbf", gamma=GAMMA)
    matrix = ConformalSVR(C=2.0, kernel="precomputed").fit(K, y)
    np.testing.assert_allclose(matrix.predict_interval(k)[1], expected, atol=1e-9)
    stored = pickle.loads(pickle.dumps(ConformalSVR(**options).fit(X, y)))
    np.testing.assert_array_equal(stored.predict_interval(new)[1], expected)
    small = ConformalSVR(**options, cache_size=1e-3).fit(X, y)
    np.testing.assert_allclose(small.predict_interval(new)[1], expected, atol=1e-9)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        full = ConformalSVR(**options, method="full").fit(X, y).predict_set(new)
        other = ConformalSVR(**options, method="full").fit(sp.csr_matrix(X), y)
    for a, b in zip(full, other.predict_set(sp.csr_matrix(new)), strict=True):
        np.testing.assert_allclose(a[0], b[0], atol=1e-9)


def test_unscaled_columns_are_told():
    X, y = regression(40)
    with pytest.warns(UnscaledWarning, match=r"ConformalSVR: the scale of column 1 .* Scale first"):
        ConformalSVR().fit(X * [1.0, 1000.0, 1.0], y)
    ConformalSVR().fit(X, y)
