"""CappedL1 against every choice of branches, the lasso and its own conditions."""

from __future__ import annotations

import pickle
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from toys import certified

from homotopy import DataError, HomotopyError, ModelError
from homotopy.testing import check_plugin
from homotopy_plugins import CappedL1, Lasso

RNG = np.random.default_rng(4)
X = RNG.standard_normal((40, 5))
Y = X @ [3.0, -2.0, 0.5, 0.3, 0.0] + RNG.standard_normal(40)


def value(X, y, beta, lam, cap, ridge=0.0, weights=1.0):
    rest = y - X @ beta
    penalty = lam * np.sum(weights * np.minimum(np.abs(beta), cap))
    return 0.5 * rest @ rest + 0.5 * ridge * beta @ beta + penalty


def least_value(X, y, lam, cap):
    """The global minimum: each coefficient is free at the price of the cap, 0, or has a sign."""
    G, q, p = X.T @ X, X.T @ y, X.shape[1]
    best = np.inf
    for state in product((None, 0, 1, -1), repeat=p):
        used = [j for j in range(p) if state[j] != 0]
        pull = np.array([lam * (state[j] or 0) for j in used])
        beta = np.zeros(p)
        if used:
            beta[used] = np.linalg.solve(G[np.ix_(used, used)], q[used] - pull)
        if all(state[j] is None or beta[j] * state[j] >= 0.0 for j in used):
            best = min(best, value(X, y, beta, lam, cap))
    return best


def offence(path, X, y, t, *, path_of, cap, lam, ridge=0.0, weights=None, fit_intercept=False):
    """How far beta is from a local optimum, in parts of the terms, from the data as given."""
    dense = X.toarray() if sp.issparse(X) else np.asarray(X, dtype=float)
    w = np.ones(dense.shape[1]) if weights is None else weights
    lam, cap = (t, cap) if path_of == "lam" else (lam, t)
    beta, b = path.solution(t), path.intercept(t)
    if fit_intercept:
        shift = dense.mean(axis=0)
        b, dense, y = b + shift @ beta - y.mean(), dense - shift, y - y.mean()
    rest = y - dense @ beta - b
    size = np.linalg.norm(dense, axis=0)
    length = np.linalg.norm(y) + np.linalg.norm(dense * beta, axis=0).sum()
    unit = size * length + ridge * np.abs(beta) + lam * w + np.finfo(float).tiny
    pull = dense.T @ rest - ridge * beta
    # What rounding can move a coefficient by.
    slack = 1e-9 * length / np.maximum(np.sqrt(size**2 + ridge), np.finfo(float).tiny) + 1e-12 * cap
    zero, beyond = np.abs(beta) <= slack, np.abs(beta) > cap - slack
    inside = ~zero & ~beyond
    failing = np.zeros(beta.size)
    failing[zero] = np.maximum(np.abs(pull) - lam * w, 0.0)[zero]
    failing[inside] = np.abs(pull - lam * w * np.sign(beta))[inside]
    failing[beyond] = np.minimum(
        np.abs(pull),
        np.where(np.abs(beta) < cap + slack, np.abs(pull - lam * w * np.sign(beta)), np.inf),
    )[beyond]
    found = [np.max(failing / unit)]
    if fit_intercept:
        found.append(abs(rest.sum()) / ((length or 1.0) * np.sqrt(y.size)))
    return max(found)


def places(path, count=50):
    return np.linspace(*path.traced, count)


# ---------------------------------------------------------------------- peers


@pytest.mark.parametrize("way", ["lam", "cap"])
def test_every_point_is_a_local_optimum_and_many_are_global(way):
    hits = total = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((20, 4))
        y = X @ rng.choice([0.0, 0.5, 2.0], 4) + rng.standard_normal(20)
        path = certified(CappedL1(X, y, cap=0.5, path=way, lam=None if way == "lam" else 4.0))
        for t in places(path, 9):
            lam, cap = (t, 0.5) if way == "lam" else (4.0, t)
            assert offence(path, X, y, t, path_of=way, cap=0.5, lam=4.0) < 1e-9
            ours, least = path.objective(t), least_value(X, y, lam, cap)
            assert ours == pytest.approx(value(X, y, path.solution(t), lam, cap), rel=1e-10)
            assert ours >= least - 1e-9
            hits += ours <= least + 1e-9
            total += 1
    # From the lasso more often than from least squares.
    assert hits >= (0.4 if way == "lam" else 0.7) * total


def test_far_caps_give_the_lasso():
    path = certified(CappedL1(X, Y, cap=100.0, path="lam", fit_intercept=True))
    lasso = certified(Lasso(X, Y, fit_intercept=True))
    for lam in places(lasso, 50):
        np.testing.assert_allclose(path.solution(lam), lasso.solution(lam), atol=1e-9)
        assert path.intercept(lam) == pytest.approx(lasso.intercept(lam), abs=1e-9)
        assert path.objective(lam) == pytest.approx(lasso.objective(lam), rel=1e-10)


def test_the_path_along_the_cap_begins_at_the_lasso():
    path = certified(CappedL1(X, Y, cap=0.2, path="cap", lam=10.0))
    np.testing.assert_allclose(
        path.solution(path.traced[0], "before"), certified(Lasso(X, Y)).solution(10.0), atol=1e-9
    )


def test_large_coefficients_are_not_shrunk():
    path = certified(CappedL1(X, Y, cap=1.0, path="lam"))
    beta = path.solution(path.traced[1])
    kept = np.abs(beta) > 1.0
    assert kept.tolist() == [True, True, False, False, False]
    free = np.linalg.lstsq(X[:, :2], Y, rcond=None)[0]
    np.testing.assert_allclose(beta[:2], free, atol=1e-9)


def test_predictions_and_sparse_rows():
    path = certified(CappedL1(sp.csr_matrix(X), Y, cap=1.0, path="lam", fit_intercept=True))
    lam = path.traced[1] / 3.0
    expected = X @ path.solution(lam) + path.intercept(lam)
    np.testing.assert_allclose(path.decision_function(X, lam), expected)
    np.testing.assert_allclose(path.decision_function(X, [lam])[0], expected)


def test_a_ridge_allows_dependent_columns_and_more_columns_than_rows():
    wide = RNG.standard_normal((6, 10))
    wide[:, 3], wide[:, 4] = wide[:, 2], 0.0
    with pytest.raises(DataError, match=r"CappedL1: X has 8 different columns and 6 rows"):
        CappedL1(wide, Y[:6], cap=1.0)
    path = certified(CappedL1(wide, Y[:6], cap=0.5, path="lam", ridge=0.1))
    for t in places(path, 9):
        assert offence(path, wide, Y[:6], t, path_of="lam", cap=0.5, lam=0.0, ridge=0.1) < 1e-9


@pytest.mark.parametrize("way", ["lam", "cap"])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_copies_opposites_multiples_and_zeros(way, intercept, seed):
    rng = np.random.default_rng(seed)
    table = rng.standard_normal((15, 3)) if seed % 2 else np.round(2 * rng.standard_normal((15, 3)))
    more = [table[:, 0], -table[:, 1], 3.0 * table[:, 2], np.zeros(15)]
    if intercept:
        more.append(np.full(15, 0.1))
    wide = np.column_stack([table, *more])
    y = table @ [2.0, -0.5, 0.0] + 0.3 * rng.standard_normal(15)
    # The last of three times column 2 pays less for the same move, unless its weight is larger.
    weights = np.ones(wide.shape[1])
    weights[5] = rng.choice([1.0, 3.0, 10.0])
    options = {"cap": 0.5, "fit_intercept": intercept}
    model = CappedL1(wide, y, path=way, weights=weights, **options)
    path = certified(model)
    for t in places(path, 15):
        off = offence(path, wide, y, t, path_of=way, lam=model.lam, weights=weights, **options)
        assert off < 1e-9
        beta = path.solution(t)
        assert not np.any(beta[[3, 4, *range(6, wide.shape[1])]])
        assert beta[2] == 0.0 or beta[5] == 0.0
    plain = certified(CappedL1(table, y, path=way, lam=model.lam, **options))
    if weights[5] >= 3.0:
        inside = places(plain, 15)
        np.testing.assert_allclose(path.solution(inside)[:, :3], plain.solution(inside), atol=1e-8)


@pytest.mark.parametrize("features", [1.0, 2.0**31])
def test_the_unit_of_the_columns_decides_nothing(features):
    """A span in the cap is short where columns are long: its jumps move all the same."""
    rng = np.random.default_rng(190)
    X = np.column_stack([np.full(17, 1e6), rng.standard_normal(17)])
    y = 1.0 + rng.standard_normal(17)
    model = CappedL1(features * X, y, cap=8e-7 / features, ridge=1e11 * features**2, path="cap")
    path = certified(model)
    assert len(path.jumps) == 1
    assert path.traced[0] > 1.1 * path.traced[1] > 0.0


def test_a_table_of_zeros_has_no_coefficient():
    path = certified(CappedL1(np.zeros((4, 2)), np.arange(4.0), cap=1.0, path="lam"))
    assert not np.any(path.solution(path.traced[1]))


@pytest.mark.parametrize("way", ["lam", "cap"])
def test_conformance(way):
    table = np.round(2 * X)
    for intercept in (False, True):
        model = CappedL1(table, np.round(Y), cap=0.5, path=way, fit_intercept=intercept)
        assert check_plugin(model).complete
    copy = pickle.loads(pickle.dumps(model))
    assert np.array_equal(certified(copy).breakpoints, certified(model).breakpoints)


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        ({"X": np.full((40, 5), np.nan)}, DataError, r"X\[0, 0\] is nan"),
        ({"X": np.c_[X, X[:, 0] + X[:, 1]]}, DataError, r"depend on each other \(column 5,"),
        ({"X": np.eye(4)[np.arange(40) % 4], "fit_intercept": True}, DataError, r"\(column 3,"),
        ({"X": np.c_[X, X[:, 0] + 1e-10 * X[:, 1]]}, DataError, r"\(column 5,"),
        ({"X": RNG.standard_normal((40, 41))}, DataError, "41 different columns and 40 rows"),
        ({"y": Y[1:]}, DataError, r"X has 40 rows but y has shape \(39,\)"),
        ({"cap": 0.0}, ModelError, "cap must be positive and finite, got 0.0"),
        ({"cap": np.inf}, ModelError, "cap must be positive and finite, got inf"),
        ({"lam": -1.0}, ModelError, "lam must be positive and finite, got -1.0"),
        ({"path": "theta"}, ModelError, "path must be 'lam' or 'cap', got 'theta'"),
        ({"ridge": -1.0}, ModelError, "ridge must not be negative, got -1.0"),
        ({"weights": [1.0, 2.0]}, DataError, r"5 columns but weights has shape \(2,\)"),
    ],
)
def test_bad_input_is_refused(given, error, says):
    with pytest.raises(error, match=says):
        CappedL1(**({"X": X, "y": Y, "cap": 1.0} | given))


# ---------------------------------------------------------------------- ugly problems


def ugly(seed):
    """A small problem with something wrong with it."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(1, 41)), int(rng.integers(1, 11))
    table = rng.standard_normal((n, p))
    y = table @ rng.choice([0.0, 0.5, 3.0], p) + rng.standard_normal(n)
    what = set(rng.choice(["integer", "twice", "rows", "zero", "scale", "far"], 3).tolist())
    if "integer" in what:
        table, y = np.round(table), np.round(2 * y)
    if "twice" in what:
        table[:, rng.integers(p)] = table[:, rng.integers(p)] * rng.choice([1.0, -1.0, 2.0])
    if "rows" in what:
        k = rng.integers(0, n, n // 2)
        table[: n // 2], y[: n // 2] = table[k], y[k]
    if "zero" in what:
        table[:, rng.integers(p)] = 0.0
    if "far" in what:
        table[:, rng.integers(p)] += 100.0
    if "scale" in what:
        table = table * 10.0 ** rng.uniform(-6, 6, p)
        y = y * 10.0 ** rng.uniform(-6, 6)
    centred = table - table.mean(axis=0)
    options = {"fit_intercept": bool(rng.integers(2)), "path": ["lam", "cap"][seed % 2]}
    if rng.integers(3) == 0:
        weights = 10.0 ** rng.uniform(-3, 3, p) * (rng.random(p) < 0.8)
        options["weights"] = weights if np.any(weights) else np.ones(p)
    unit = centred / np.maximum(np.linalg.norm(centred, axis=0), np.finfo(float).tiny)
    if np.linalg.matrix_rank(unit, 1e-6) < p or rng.integers(3) == 0:
        largest = np.sum(table**2, axis=0).max() or 1.0
        options["ridge"] = float(largest * rng.choice([1e-4, 1e-2, 1.0]))
    size = np.linalg.norm(y) / np.sqrt(np.median(np.sum(table**2, axis=0)) or 1.0)
    options["cap"] = float((size or 1.0) * 10.0 ** rng.uniform(-2, 0))
    return table, y, options


def hostile(seeds):
    """How many problems were declined; none may end without a proof, or with a wrong answer."""
    declined = []
    for seed in seeds:
        table, y, options = ugly(seed)
        try:
            model = CappedL1(table, y, **options)
            path = certified(model)
        except HomotopyError as error:
            declined.append((seed, str(error)))
            continue
        named = {k: v for k, v in options.items() if k != "path"} | {"path_of": options["path"]}
        for t in (*places(path, 6), *path.breakpoints[:: max(1, path.breakpoints.size // 6)]):
            assert offence(path, table, y, t, lam=model.lam, **named) < 1e-8, (seed, t)
    return declined


def test_ugly_problems_are_solved_or_declined():
    assert len(hostile(range(60))) <= 1


@pytest.mark.slow
def test_many_ugly_problems_are_solved_or_declined():
    assert len(hostile(range(300))) <= 6
