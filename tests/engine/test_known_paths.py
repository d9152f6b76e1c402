"""Well-known paths as polylines, against solvers that know nothing of polylines."""

from __future__ import annotations

import numpy as np
import pytest
from oracles import INF, kernel_matrix, solve_primal, solve_qp
from problems import case, features, labels, sample_points, targets
from sklearn.datasets import load_diabetes
from sklearn.linear_model import lars_path
from sklearn.svm import SVC
from toys import CPath, Frontier, Huber, Lasso, SemiSupervised, SquaredHinge, Toy

from homotopy import Affine, Homotopy, Knot, Slope
from homotopy_plugins import HingeRamp


def trace(model, **options):
    path = Homotopy(model, **options).trace()
    certificate = path.certify()
    assert certificate.ok, str(certificate)
    return path


# ------------------------------------------------------------------ lasso


def check_lasso(X, y, part=1e-3):
    """Break-points and coefficients of ``lars_path``; it divides lam by n."""
    n = len(y)
    largest = float(np.abs(X.T @ y).max())
    stop = part * largest
    alphas, _, coefs = lars_path(X, y, method="lasso", alpha_min=stop / n)
    path = trace(Lasso(X, y, (1.1 * largest, stop)))
    found = path.breakpoints[1:-1]
    np.testing.assert_allclose(found, n * alphas[:-1], rtol=1e-9)
    for k in range(0, len(found), max(1, len(found) // 10)):
        np.testing.assert_allclose(
            path.alpha(found[k]), coefs[:, k], rtol=1e-7, atol=1e-9 * np.abs(coefs).max()
        )
    return path


def test_lasso_on_diabetes_has_the_break_points_of_lars():
    X, y = load_diabetes(return_X_y=True)
    path = check_lasso(X - X.mean(axis=0), y - y.mean(), part=1e-4)
    assert len(path.breakpoints) > 10


@pytest.mark.parametrize("seed", range(20))
def test_lasso_on_random_problems_has_the_break_points_of_lars(seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(10, 60)), int(rng.integers(2, 9))
    X = rng.normal(size=(n, d)) @ (np.eye(d) + 0.5 * rng.normal(size=(d, d)))
    y = X @ (rng.normal(size=d) * (rng.random(d) < 0.5)) + 0.3 * rng.normal(size=n)
    check_lasso(X - X.mean(axis=0), y - y.mean())


def test_lasso_with_more_features_than_samples():
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(12, 30)), rng.normal(size=12)
    check_lasso(X, y, part=0.05)


# ------------------------------------------------------------------ SVM, t = C


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_the_c_path_is_the_svm_at_every_c(kernel):
    X = features(40, 3, 5)
    y = labels(X, 5)
    K = kernel_matrix(X, X, kernel, 0.5)
    path = trace(CPath(K, y, (0.0, 20.0)))
    Q = K * np.outer(y, y)
    for C in np.geomspace(1e-2, 20.0, 20):
        svc = SVC(C=C, kernel="precomputed", tol=1e-12).fit(K, y)
        alpha = np.zeros(len(y))
        alpha[svc.support_] = np.abs(svc.dual_coef_[0])
        dual = alpha.sum() - 0.5 * alpha @ Q @ alpha
        ours = path.alpha(C)
        assert ours.sum() - 0.5 * ours @ Q @ ours == pytest.approx(dual, rel=1e-7)
        # The primal closes the gap: both are the optimum.
        assert path.objective(C) == pytest.approx(dual, rel=1e-7)
        np.testing.assert_allclose(
            Q @ ours, Q @ alpha, atol=2e-3 * max(1.0, np.abs(Q @ alpha).max())
        )


def test_a_c_path_gives_the_start_of_a_theta_path_at_any_c():
    X = features(40, 3, 6)
    y = labels(X, 6)
    K = kernel_matrix(X, X, "rbf", 0.5)
    regularisation = trace(CPath(K, y, (1e-3, 50.0)))
    for C in (0.01, 0.3, 7.0):
        model = HingeRamp(X, y, C=C, gamma=0.5, fit_intercept=True)
        branch = Homotopy(model).trace(start=regularisation.alpha(C))
        cold = Homotopy(model).trace()
        assert branch.certify().ok
        assert branch.counts["start_steps"] <= 2
        assert branch.objective(1.0) == pytest.approx(regularisation.objective(C), rel=1e-12)
        np.testing.assert_allclose(branch.breakpoints, cold.breakpoints, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("intercept", [False, True])
def test_a_convex_path_is_the_same_in_both_directions(intercept):
    X = features(35, 2, 7)
    y = labels(X, 7)
    K = kernel_matrix(X, X, "rbf", 1.0)
    there = trace(CPath(K, y, (0.01, 30.0), intercept=intercept))
    back = trace(CPath(K, y, (30.0, 0.01), intercept=intercept))
    np.testing.assert_allclose(there.breakpoints, back.breakpoints[::-1], rtol=1e-9)
    for C in sample_points(there, 20):
        np.testing.assert_allclose(there.alpha(C), back.alpha(C), rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(there.response(C), back.response(C), rtol=1e-9, atol=1e-11)


# ------------------------------------------------------------------ mean-variance frontier


@pytest.mark.parametrize("upper", [1.0, 0.3])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_frontier_is_the_portfolio_at_every_lam(seed, upper):
    rng = np.random.default_rng(seed)
    returns = rng.normal(size=(60, 10)) @ rng.normal(size=(10, 10)) / 3
    S, mu = np.cov(returns.T), rng.normal(size=10)
    path = trace(Frontier(S, mu, upper, (0.0, 20.0)))
    rows = np.vstack([np.ones(10), np.eye(10)])
    low, high = np.r_[1.0, np.zeros(10)], np.r_[1.0, np.full(10, upper)]
    for lam in (0.0, 0.01, 0.1, 0.5, 1.0, 2.5, 7.0, 20.0):
        expected = solve_qp(S, -lam * mu, rows, low, high)
        np.testing.assert_allclose(path.alpha(lam), expected, atol=1e-8)
        assert path.alpha(lam).sum() == pytest.approx(1.0, rel=1e-12)


# ------------------------------------------------------------------ curvature


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("C", [0.05, 1.0, 20.0])
def test_huber_regression_with_moving_targets(C, intercept):
    X = features(30, 3, 2)
    y, drift = targets(X, 2), np.random.default_rng(8).normal(size=30)
    path = trace(Huber(X, y, drift, C, intercept))
    n, d = X.shape
    m = int(intercept)
    # Huber(r) = min over e of e^2 / 2 + |r - e|: variables w, b, e, f >= |r - e|.
    H = np.diag(np.r_[np.ones(d), np.zeros(m), np.full(n, C), np.zeros(n)])
    f = np.r_[np.zeros(d + m + n), np.full(n, C)]
    fit = np.hstack([X, np.ones((n, m))])
    rows = np.vstack(
        [np.hstack([fit, np.eye(n), np.eye(n)]), np.hstack([-fit, -np.eye(n), np.eye(n)])]
    )
    for t in (0.0, 0.2, 0.55, 1.0):
        goal = y + t * drift
        x = solve_qp(H, f, rows, np.r_[goal, -goal], np.full(2 * n, INF))
        np.testing.assert_allclose(path.response(t), fit @ x[: d + m], rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("C", [0.1, 3.0])
def test_the_squared_hinge(C):
    X = features(30, 3, 3)
    y = labels(X, 3)
    path = trace(SquaredHinge(X, y, C, (0.2, 2.0)))
    n, d = X.shape
    H = np.diag(np.r_[np.ones(d), 0.0, np.full(n, C)])
    fit = np.hstack([X, np.ones((n, 1))]) * y[:, None]
    rows = np.vstack([np.hstack([fit, np.eye(n)]), np.hstack([np.zeros((n, d + 1)), np.eye(n)])])
    for margin in (0.2, 0.7, 1.0, 2.0):
        low = np.r_[np.full(n, margin), np.zeros(n)]
        x = solve_qp(H, np.zeros(d + 1 + n), rows, low, np.full(2 * n, INF))
        np.testing.assert_allclose(path.response(margin), fit @ x[: d + 1], rtol=1e-6, atol=1e-7)
        value = 0.5 * x[:d] @ x[:d] + 0.5 * C * x[d + 1 :] @ x[d + 1 :]
        assert path.objective(margin) == pytest.approx(value, rel=1e-8)


# ------------------------------------------------------------------ jumps without a ramp


@pytest.mark.parametrize("seed", range(5))
def test_a_semi_supervised_path(seed):
    X = features(30, 2, seed)
    y = labels(X, seed, flip=0.0)
    y[6:] = 0.0
    K = kernel_matrix(X, X, "rbf", 0.5)
    path = trace(SemiSupervised(K, y, 1.0, 3.0))
    sign = np.where(y == 0, 1.0, y)
    free = y == 0
    for t in np.concatenate([path.breakpoints, sample_points(path, 10)]):
        for side in ("before", "after"):
            alpha = path.alpha(t, side)
            u = sign * (K @ (sign * alpha))
            # Labelled: the hinge.  Unlabelled: pushed out of (-1, 1), away from 0.
            near, slack = 1e-9, 1e-9
            for i in np.flatnonzero(~free):
                assert -slack <= alpha[i] <= 1 + slack
                assert alpha[i] >= 1 - slack or u[i] >= 1 - near
                assert alpha[i] <= slack or u[i] <= 1 + near
            for i in np.flatnonzero(free):
                way = np.sign(u[i]) if abs(u[i]) > near else np.sign(alpha[i])
                push, out = way * alpha[i], way * u[i]
                assert -slack <= push <= t + slack
                assert push >= t - slack or out >= 1 - near
                assert push <= slack or out <= 1 + near


def test_some_semi_supervised_path_does_jump():
    count = 0
    for seed in range(5):
        X = features(30, 2, seed)
        y = labels(X, seed, flip=0.0)
        y[6:] = 0.0
        path = trace(SemiSupervised(kernel_matrix(X, X, "rbf", 0.5), y, 1.0, 3.0))
        count += len(path.jumps)
    assert count > 0


# ------------------------------------------------------------------ borders


@pytest.mark.parametrize("columns", [1, 2, 3])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_border_of_several_columns(seed, columns):
    # Absolute deviations; intercept and linear trends are not penalised; t = C.
    rng = np.random.default_rng(seed)
    X = features(25, 2, seed)
    y = targets(X, seed)
    border = np.hstack([np.ones((25, 1)), rng.normal(size=(25, 2))])[:, :columns]
    K = kernel_matrix(X, X, "rbf", 1.0)

    def pieces(t):
        return Slope("below", t), Knot("E", y), Slope("above", -1.0 * t)

    path = trace(Toy(K, (0.01, 5.0), pieces, border=border))
    values, vectors = np.linalg.eigh(K)
    phi = vectors * np.sqrt(np.maximum(values, 0.0))
    unbounded = np.full(25, INF)
    for C in (0.01, 0.1, 0.7, 5.0):
        planes = [[(-C, C * v), (C, -C * v)] for v in y]
        best = solve_primal(phi, border, np.zeros(columns), planes, -unbounded, unbounded)
        assert path.objective(C) == pytest.approx(best.value, rel=1e-9)
        np.testing.assert_allclose(K @ path.alpha(C), phi @ best.w, atol=1e-6)
        np.testing.assert_allclose(border.T @ path.alpha(C), 0.0, atol=1e-10)
        multipliers = path.border_multipliers(C)
        assert multipliers.shape == (columns,)
        intercept = path.intercept(C)
        assert isinstance(intercept, float) == (columns == 1)
        np.testing.assert_array_equal(np.atleast_1d(intercept), multipliers)


def test_a_border_target_that_moves():
    # min 1/2 |a|^2 - c'a, sum a = t: a = c + (t - sum c) / n.
    c = np.array([0.5, -1.0, 2.0])

    def pieces(t):
        return Slope("up", 50.0), Knot("E", c), Slope("down", -50.0)

    model = Toy(
        np.eye(3), (-4.0, 7.0), pieces, border=np.ones((3, 1)), target=2 * Affine.parameter()
    )
    path = trace(model)
    for t in (-4.0, 0.3, 7.0):
        np.testing.assert_allclose(path.alpha(t), c + (2 * t - c.sum()) / 3, rtol=1e-12)


# ------------------------------------------------------------------ weights


@pytest.mark.parametrize("path", ["theta", "s"])
@pytest.mark.parametrize("kind", ["hinge", "lad"])
@pytest.mark.parametrize("seed", range(4))
def test_a_weight_of_two_is_the_sample_twice(seed, kind, path):
    one = case(kind, 24, seed, path=path, intercept=True, C=2.0, s=None if kind == "hinge" else 0.5)
    chosen = np.arange(0, 24, 3)
    weights = np.ones(24)
    weights[chosen] = 2.0
    weighted = Homotopy(one.model(sample_weight=weights)).trace()
    X, y = np.vstack([one.X, one.X[chosen]]), np.r_[one.y, one.y[chosen]]
    twice = Homotopy(
        type(one.model())(X, y, C=2.0, gamma=0.5, fit_intercept=True, path=path, s=one.threshold)
    ).trace()
    assert weighted.certify().ok
    assert twice.certify().ok
    np.testing.assert_allclose(weighted.traced, twice.traced, rtol=1e-9)
    for t in sample_points(weighted, 15):
        together = twice.alpha(t)[:24].copy()
        together[chosen] += twice.alpha(t)[24:]
        np.testing.assert_allclose(together, weighted.alpha(t), rtol=1e-7, atol=1e-8)
        assert weighted.objective(t) == pytest.approx(twice.objective(t), rel=1e-9)
        assert weighted.intercept(t) == pytest.approx(twice.intercept(t), rel=1e-7, abs=1e-7)
