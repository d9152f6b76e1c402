"""Lasso and ElasticNet against LARS, coordinate descent, OSQP and their own conditions."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from conic import penalised_least_squares
from sklearn.linear_model import ElasticNet as CoordinateDescent
from sklearn.linear_model import lars_path
from toys import certified

from homotopy import DataError, Homotopy, HomotopyError, ModelError, TraceError
from homotopy.testing import check_plugin
from homotopy.tracker import Failed, Tracker
from homotopy.tracker.outcomes import Failure, Kind
from homotopy_plugins import MCP, SCAD, CappedL1, ElasticNet, Lasso, TrendFilter

RNG = np.random.default_rng(11)
X = RNG.standard_normal((40, 12))
Y = X[:, :3] @ [3.0, -2.0, 1.0] + RNG.standard_normal(40)
WEIGHTS = np.r_[0.0, 0.0, RNG.uniform(0.1, 10.0, 10)]


def offence(path, X, y, lam, *, weights=None, ridge=0.0, positive=False, intercept=False):
    """How far the conditions fail at `lam`, in parts of their terms, from the data as given."""
    dense = X.toarray() if sp.issparse(X) else np.asarray(X, dtype=float)
    w = np.ones(dense.shape[1]) if weights is None else weights
    beta, b = path.solution(lam), path.intercept(lam)
    if intercept:
        # A shift that the intercept takes up, so that terms are not larger than need be.
        shift = dense.mean(axis=0)
        b, dense, y = b + shift @ beta - y.mean(), dense - shift, y - y.mean()
    rest = y - dense @ beta - b
    size = np.linalg.norm(dense, axis=0)
    length = np.linalg.norm(y) + np.linalg.norm(dense * beta, axis=0).sum()
    unit = size * length + ridge * w * np.abs(beta) + lam * w + np.finfo(float).tiny
    pull = dense.T @ rest - ridge * w * beta
    inside = pull - lam * w if positive else np.abs(pull) - lam * w
    found = [np.max(inside / unit), 0.0]
    there = np.abs(beta) * (size + np.sqrt(ridge * w)) > 1e-9 * length
    found.append(np.max(np.abs(pull - lam * w * np.sign(beta))[there] / unit[there], initial=0.0))
    if positive:
        found.append(np.max(-beta * size) / (length or 1.0))
    if intercept:
        found.append(abs(rest.sum()) / ((length or 1.0) * np.sqrt(y.size)))
    return max(found)


def places(path, count=50):
    start, stop = path.traced
    return np.linspace(start, stop, count)


# ---------------------------------------------------------------------- peers


@pytest.mark.parametrize("shape", [(60, 10), (12, 30), (25, 25)])
def test_break_points_are_those_of_lars(shape):
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal(shape), rng.standard_normal(shape[0])
    path = certified(Lasso(X, y, fraction=1e-3))
    alphas, _, coefficients = lars_path(X, y, method="lasso", alpha_min=path.traced[1] / shape[0])
    np.testing.assert_allclose(path.breakpoints, alphas * shape[0], rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(path.solution(path.breakpoints), coefficients.T, atol=1e-9)


def test_the_sign_of_an_intercept_makes_no_break_point():
    far = X + RNG.standard_normal(12)
    path = certified(Lasso(far, Y, fit_intercept=True))
    alphas, _, _ = lars_path(far - far.mean(axis=0), Y - Y.mean(), method="lasso")
    np.testing.assert_allclose(path.breakpoints, alphas * 40, rtol=1e-9, atol=1e-11)


def test_non_negative_break_points_are_those_of_lars():
    path = certified(Lasso(X, Y, positive=True))
    alphas, _, coefficients = lars_path(X, Y, method="lasso", positive=True)
    # scikit-learn documents that its last point (alpha = 0) is not the constrained optimum.
    assert alphas[-1] == 0.0
    np.testing.assert_allclose(path.solution(alphas[:-1] * 40), coefficients.T[:-1], atol=1e-9)


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("ridge", [0.0, 5.0])
def test_coordinate_descent_agrees_at_fifty_lam(ridge, intercept, positive):
    far = X + 3.0
    model = ElasticNet(far, Y, ridge=ridge, positive=positive, fit_intercept=intercept)
    path = certified(model)
    for lam in places(path)[:-1]:
        peer = CoordinateDescent(
            alpha=(lam + ridge) / 40,
            l1_ratio=lam / (lam + ridge),
            fit_intercept=intercept,
            positive=positive,
            tol=1e-12,
            max_iter=1_000_000,
        ).fit(far, Y)
        np.testing.assert_allclose(path.solution(lam), peer.coef_, atol=2e-6)
        assert path.intercept(lam) == pytest.approx(peer.intercept_, abs=2e-5)


@pytest.mark.parametrize("positive", [False, True])
def test_osqp_agrees_on_weights_and_an_intercept(positive):
    path = certified(Lasso(X, Y, weights=WEIGHTS, positive=positive, fit_intercept=True))
    for lam in places(path):
        value, _ = penalised_least_squares(X, Y, lam * WEIGHTS, positive=positive, intercept=True)
        assert path.objective(lam) == pytest.approx(value, rel=1e-7)


# ---------------------------------------------------------------------- what a path says


def test_the_objective_is_the_one_of_the_problem():
    path = certified(ElasticNet(X, Y, ridge=2.0, weights=WEIGHTS, fit_intercept=True))
    for lam in places(path, 7):
        beta = path.solution(lam)
        rest = Y - X @ beta - path.intercept(lam)
        penalty = WEIGHTS @ (lam * np.abs(beta) + beta**2)
        assert path.objective(lam) == pytest.approx(0.5 * rest @ rest + penalty, rel=1e-10)


def test_it_ends_at_least_squares_and_predicts():
    path = certified(Lasso(X, Y, fit_intercept=True))
    full = np.linalg.lstsq(np.c_[X, np.ones(40)], Y, rcond=None)[0]
    np.testing.assert_allclose(path.solution(0.0), full[:-1], atol=1e-10)
    assert path.intercept(0.0) == pytest.approx(full[-1])
    np.testing.assert_allclose(path.decision_function(X, 0.0), np.c_[X, np.ones(40)] @ full)
    several = path.decision_function(X, [50.0, 0.0])
    np.testing.assert_allclose(several[1], path.decision_function(X, 0.0))
    curve = path.validation_curve(X, Y)
    rest = Y - path.decision_function(X, 20.0)
    assert curve(20.0) == pytest.approx(np.mean(rest**2))


@pytest.mark.parametrize("intercept", [False, True])
def test_a_sparse_table_gives_the_same_path(intercept):
    table = np.where(RNG.random(X.shape) < 0.7, 0.0, X)
    dense = certified(Lasso(table, Y, fit_intercept=intercept))
    sparse = certified(Lasso(sp.csr_matrix(table), Y, fit_intercept=intercept))
    np.testing.assert_allclose(dense.breakpoints, sparse.breakpoints, atol=1e-9)
    lam = places(dense, 9)
    np.testing.assert_allclose(dense.solution(lam), sparse.solution(lam), atol=1e-9)
    np.testing.assert_allclose(dense.intercept(lam), sparse.intercept(lam), atol=1e-9)


def test_unpenalised_columns_are_those_of_the_regression_without_the_others():
    path = certified(Lasso(X, Y, weights=WEIGHTS))
    first = path.solution(path.traced[0])
    np.testing.assert_allclose(first[:2], np.linalg.lstsq(X[:, :2], Y, rcond=None)[0], atol=1e-10)
    assert not np.any(first[2:])


def test_equal_columns_share_a_coefficient_under_a_ridge():
    twice = np.c_[X, X[:, 0]]
    path = certified(ElasticNet(twice, Y, ridge=1.0))
    beta = path.solution(1.0)
    assert beta[0] == pytest.approx(beta[-1])


def test_no_ridge_is_the_lasso():
    lam = np.linspace(50.0, 1.0, 9)
    np.testing.assert_allclose(
        certified(ElasticNet(X, Y, ridge=0.0)).solution(lam), certified(Lasso(X, Y)).solution(lam)
    )


@pytest.mark.parametrize(
    ("model", "points"),
    [
        (Lasso(np.zeros((5, 3)), np.ones(5)), 2),
        (Lasso(X, np.zeros(40)), 2),
        (Lasso(X, np.full(40, 0.1), fit_intercept=True), 2),
        (Lasso(np.ones((4, 2)), [1.0, 2.0, 3.0, 4.0], fit_intercept=True), 2),
        (Lasso([[2.0]], [3.0]), 2),
        (Lasso([[2.0]], [3.0], fit_intercept=True), 2),
        (Lasso(X, Y, lam=1e6), 2),
    ],
)
def test_where_nothing_happens_the_path_is_one_piece(model, points):
    assert certified(model).breakpoints.size == points


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_scaled_features_scale_the_coefficients(factor):
    lam = np.linspace(50.0, 1.0, 9)
    scaled = certified(Lasso(X * factor, Y)).solution(lam * factor)
    np.testing.assert_allclose(scaled * factor, certified(Lasso(X, Y)).solution(lam), atol=1e-9)


def test_a_column_far_from_zero_keeps_its_digits():
    year = 2000.0 + np.arange(40) / 1e4
    path = certified(Lasso(np.c_[X, year], Y, fit_intercept=True))
    centred = np.c_[X - X.mean(axis=0), year - year.mean()]
    lam, _, beta = lars_path(centred, Y - Y.mean(), method="lasso")
    np.testing.assert_allclose(path.solution(lam[:-1] * 40), beta.T[:-1], rtol=1e-6, atol=1e-8)


def lost(tracker, listen=None):
    """As a tracker ends that has lost its way."""
    return Failed(Failure("no optimum exists beyond lam=1", Kind.NO_OPTIMUM), crossing=False)


@pytest.mark.parametrize(
    ("kind", "more"),
    [(Lasso, {}), (ElasticNet, {"ridge": 0.5}), (CappedL1, {"cap": 0.1}), (MCP, {}), (SCAD, {})],
)
def test_no_error_says_that_there_is_no_optimum(monkeypatch, kind, more):
    """Squares and a penalty are never negative."""
    monkeypatch.setattr(Tracker, "advance", lost)
    with pytest.raises(TraceError, match="so that an optimum exists") as caught:
        Homotopy(kind(X, Y, **more)).trace()
    assert "no optimum exists" not in str(caught.value)
    assert "away from 0" not in str(caught.value)


@pytest.mark.parametrize("kind", [Lasso, MCP, SCAD])
def test_the_error_names_columns_far_from_0(monkeypatch, kind):
    monkeypatch.setattr(Tracker, "advance", lost)
    far = X + np.r_[np.zeros(10), 1e6, 1e6]
    with pytest.raises(TraceError, match=r"column \d+ of X is 1e\+06 away from 0") as caught:
        Homotopy(kind(far, Y)).trace()
    assert "times its spread (one of 2 such columns)" in str(caught.value)
    assert "or fit an intercept" in str(caught.value)
    # Which then is no such column.
    with pytest.raises(TraceError, match="so that an optimum exists") as caught:
        Homotopy(kind(far, Y, fit_intercept=True)).trace()
    assert "away from 0" not in str(caught.value)


def test_no_error_of_a_trend_filter_says_so_either(monkeypatch):
    monkeypatch.setattr(Tracker, "advance", lost)
    with pytest.raises(TraceError, match="so that an optimum exists"):
        Homotopy(TrendFilter(Y)).trace()


@pytest.mark.parametrize(("kind", "more"), [(Lasso, {}), (ElasticNet, {"ridge": 0.5})])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("positive", [False, True])
def test_conformance(kind, more, intercept, positive):
    table = np.round(X)
    table[:, 3] = table[:, 2]
    model = kind(table, np.round(Y), fit_intercept=intercept, positive=positive, **more)
    assert check_plugin(model).complete
    copy = pickle.loads(pickle.dumps(model))
    assert np.array_equal(certified(copy).breakpoints, certified(model).breakpoints)


# ---------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        ({"X": np.where(X > 2, np.nan, X)}, DataError, r"Lasso: X\[\d+, \d+\] is nan"),
        ({"X": X[:, 0]}, DataError, "X must be two-dimensional"),
        ({"X": np.empty((0, 2))}, DataError, "X is empty"),
        ({"X": X * 1e60}, DataError, "scale the columns of X"),
        ({"X": X * 1e-80}, DataError, "scale the columns of X"),
        ({"y": Y[:-1]}, DataError, r"X has 40 rows but y has shape \(39,\)"),
        ({"y": np.where(Y > 2, np.inf, Y)}, DataError, r"y\[\d+\] is inf"),
        ({"y": ["a"] * 40}, DataError, "y must be numeric"),
        ({"weights": -WEIGHTS}, DataError, r"weights\[2\] is -.*must not be negative"),
        ({"weights": WEIGHTS[1:]}, DataError, r"12 columns but weights has shape \(11,\)"),
        ({"weights": np.zeros(12)}, DataError, "nothing is penalised"),
        ({"weights": np.full(12, np.nan)}, DataError, r"weights\[0\] is nan"),
        ({"lam": -1.0}, ModelError, "lam must not be negative, got -1.0"),
        ({"lam": "small"}, ModelError, "lam must be a number, got 'small'"),
        ({"fraction": 1.0}, ModelError, "fraction must be at least 0 and less than 1, got 1.0"),
        ({"positive": "yes"}, ModelError, "positive must be True or False, got 'yes'"),
        ({"fit_intercept": 2}, ModelError, "fit_intercept must be True or False, got 2"),
    ],
)
def test_bad_input_is_refused(given, error, says):
    with pytest.raises(error, match=says):
        Lasso(**({"X": X, "y": Y} | given))


def test_bad_ridge_and_bad_new_rows_are_refused():
    with pytest.raises(ModelError, match=r"ElasticNet: ridge must not be negative, got -1"):
        ElasticNet(X, Y, ridge=-1.0)
    with pytest.raises(DataError, match="X has 3 columns, the model has 12 features"):
        certified(Lasso(X, Y)).decision_function(X[:, :3], 1.0)


# ---------------------------------------------------------------------- ugly problems


def ugly(seed):
    """A small problem with something wrong with it."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(1, 41)), int(rng.integers(1, 25))
    table = rng.standard_normal((n, p))
    y = table[:, : min(3, p)].sum(axis=1) + rng.standard_normal(n)
    what = set(rng.choice(["integer", "twice", "rows", "zero", "scale", "far", "low"], 3).tolist())
    if "integer" in what:
        table, y = np.round(table), np.round(2 * y)
    if "low" in what:
        table = table[:, :1] @ rng.integers(-2, 3, (1, p)) + (rng.random((1, p)) < 0.3) * table
    if "twice" in what:
        table[:, rng.integers(p)] = table[:, rng.integers(p)] * rng.choice([1.0, -1.0, 2.0])
    if "rows" in what:
        k = rng.integers(0, n, n // 2)
        table[: n // 2], y[: n // 2] = table[k], y[k]
    if "zero" in what:
        table[:, rng.integers(p)] = 0.0
        table[rng.integers(n)] = 0.0
    if "far" in what:
        table[:, rng.integers(p)] += 1000.0
    if "scale" in what:
        table = table * 10.0 ** rng.uniform(-6, 6, p)
        y = y * 10.0 ** rng.uniform(-6, 6)
    options = {"fit_intercept": bool(rng.integers(2)), "positive": bool(rng.integers(4) == 0)}
    if rng.integers(3) == 0:
        weights = 10.0 ** rng.uniform(-3, 3, p) * (rng.random(p) < 0.8)
        options["weights"] = weights if np.any(weights) else np.ones(p)
    if rng.integers(3) == 0:
        size = np.median(np.sum(table**2, axis=0)) or 1.0
        options["ridge"] = float(size * 10.0 ** rng.uniform(-4, 2))
    return table, y, options


def hostile(seeds):
    """How many problems were declined; none may end without a proof, or with a wrong answer."""
    declined = []
    for seed in seeds:
        table, y, options = ugly(seed)
        given = sp.csr_matrix(table) if seed % 5 == 0 else table
        try:
            model = (ElasticNet if "ridge" in options else Lasso)(given, y, **options)
            path = certified(model)
        except HomotopyError as error:
            declined.append((seed, str(error)))
            continue
        named = {"intercept" if k == "fit_intercept" else k: v for k, v in options.items()}
        for lam in (*places(path, 6), *path.breakpoints[:: max(1, path.breakpoints.size // 6)]):
            assert offence(path, table, y, lam, **named) < 1e-8, (seed, lam)
    return declined


@pytest.mark.filterwarnings("ignore::homotopy.RoundingWarning")
def test_ugly_problems_are_solved_or_declined():
    assert len(hostile(range(60))) <= 1


@pytest.mark.filterwarnings("ignore::homotopy.RoundingWarning")
@pytest.mark.slow
def test_many_ugly_problems_are_solved_or_declined():
    assert len(hostile(range(300))) <= 6
