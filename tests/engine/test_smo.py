"""The convex start against solvers that share no arithmetic with it."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from oracles import Infeasible, Ramp, kernel_matrix, solve_primal, solve_qp
from problems import case
from sklearn.svm import SVC, SVR
from toys import Frontier, Huber, Lasso, SquaredHinge

from homotopy import (
    Affine,
    DenseGram,
    Gram,
    Jump,
    KernelGram,
    Knot,
    LinearGram,
    ModelError,
    Slope,
)
from homotopy.model import Problem
from homotopy.model.polyline import Polylines
from homotopy.start import ConvexProblem, StartTolerances, convex, newton, solve_convex
from homotopy.start.pairs import Pairs, stalled, sweeps_left
from homotopy.start.tables import Tables

INF = np.inf


def solve(gram, border, target, snap, **options):
    return solve_convex(ConvexProblem(gram, border, target, snap), **options)


def solve_model(model, t=None, **options):
    problem = Problem.compile(model)
    at = problem.start if t is None else t
    snap, target = problem.polylines.at(at), problem.target(at)
    found = solve(problem.gram, problem.border, target, snap, **options)
    return problem, found, problem.objective(at, found.alpha, found.b, found.u)


def snapshot(pieces, n):
    return Polylines.compile(pieces, n).at(0.0)


def hinge(C, n):
    return snapshot((Slope("L", C), Knot("E", 1.0), Slope("R", 0.0)), n)


def off_balance(found, border, target):
    size = np.abs(border).T @ np.abs(found.alpha) + np.abs(target) + 1e-300
    return float((np.abs(border.T @ found.alpha - target) / size).max(initial=0.0))


# ---------------------------------------------------------------------------- scikit-learn


def svc_dual(problem, C):
    K = kernel_matrix(problem.X, problem.X, problem.kernel, problem.gamma)
    svc = SVC(C=C, kernel="precomputed", tol=1e-10).fit(K, problem.y)
    signed = np.zeros(len(problem.y))
    signed[svc.support_] = svc.dual_coef_[0]
    return np.abs(signed).sum() - 0.5 * signed @ K @ signed, svc.decision_function(K)


def svr_dual(problem, C):
    K = kernel_matrix(problem.X, problem.X, problem.kernel, problem.gamma)
    svr = SVR(C=C, kernel="precomputed", epsilon=0.0, tol=1e-10).fit(K, problem.y)
    beta = np.zeros(len(problem.y))
    beta[svr.support_] = svr.dual_coef_[0]
    return problem.y @ beta - 0.5 * beta @ K @ beta, svr.predict(K)


@pytest.mark.parametrize("data", ["normal", "integer", "stacked"])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "precomputed"])
@pytest.mark.parametrize("C", [1e-3, 0.1, 1.0, 10.0])
@pytest.mark.parametrize(("kind", "dual"), [("hinge", svc_dual), ("lad", svr_dual)])
def test_objective_and_responses_are_those_of_scikit_learn(kind, dual, C, kernel, data):
    plain = "linear" if kernel == "precomputed" else kernel
    problem = case(kind, 80, 3, data=data, C=C, kernel=plain, intercept=True)
    value, decision = dual(problem, C)
    changes = {}
    if kernel == "precomputed":
        changes = {"kernel": kernel}
        K = kernel_matrix(problem.X, problem.X, "linear")
        model = type(problem.model())(K, problem.y, C=C, fit_intercept=True, **changes)
    else:
        model = problem.model()
    _, found, objective = solve_model(model, tol=1e-8)
    assert found.converged
    assert found.violation <= 1e-8
    assert objective == pytest.approx(value, rel=1e-6)
    sign = problem.y if kind == "hinge" else 1.0
    # b is not unique where no sample stands on a knot.
    shift = np.median(found.u * sign - decision)
    assert abs(shift) <= 1e-4 or C == 1e-3
    np.testing.assert_allclose(found.u * sign - shift, decision, atol=2e-4)


@pytest.mark.parametrize("kind", ["hinge", "lad"])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
def test_the_default_tolerance_is_kept_and_close_to_the_optimum_of_daqp(kind, kernel, intercept, C):
    problem = case(kind, 60, 5, C=C, kernel=kernel, intercept=intercept)
    reference = problem.reference()
    model, found, objective = solve_model(problem.model())
    assert found.converged
    assert found.violation <= 1e-3
    u = model.gram.matvec(found.alpha) + model.border @ found.b
    np.testing.assert_allclose(found.u, u, rtol=1e-9, atol=1e-9 * np.abs(u).max())
    b = model.model.intercept(found.alpha, found.b)
    assert reference.violation(found.alpha, b, 1.0, 0.5) <= 2e-3
    best = reference.convex().value
    assert best * (1 - 1e-9) <= objective <= best * (1 + 2e-3)


def test_a_tighter_tolerance_is_a_better_answer():
    problem = case("hinge", 200, 1, C=10.0, intercept=True)
    objectives = [solve_model(problem.model(), tol=tol)[2] for tol in (1e-1, 1e-3, 1e-6)]
    best = solve_model(problem.model(), tol=1e-10)[2]
    gaps = [o / best - 1 for o in objectives]
    assert gaps[0] > gaps[1] > gaps[2] >= -1e-12
    assert gaps[2] < 1e-7


# ---------------------------------------------------------------------------- any polyline


def random_polylines(rng, n, corners, walls):
    """Falling slopes and rising corners, some of height zero, some coordinates with walls."""
    position = np.sort(rng.normal(size=(n, corners)), axis=1)
    fall = rng.exponential(size=(n, corners)) * (rng.random((n, corners)) < 0.8)
    slope = np.cumsum(np.hstack([rng.normal(size=(n, 1)) + 1.0, -fall]), axis=1)
    if walls:
        slope[rng.random(n) < 0.2, 0] = INF
        slope[rng.random(n) < 0.2, -1] = -INF
    pieces = [Slope("s0", slope[:, 0])]
    for j in range(corners):
        pieces += [Knot(f"k{j}", position[:, j]), Slope(f"s{j + 1}", slope[:, j + 1])]
    return pieces, slope, position


def planes_of(slope, corner):
    """The loss ``-integral of alpha`` as the largest of planes, and the walls of u."""
    planes, low, high = [], [], []
    for s, c in zip(slope, corner, strict=True):
        low.append(c[0] if s[0] == INF else -INF)
        high.append(c[-1] if s[-1] == -INF else INF)
        inside = [j for j in range(s.size) if np.isfinite(s[j])]
        h, own = 0.0, []
        for j in inside:
            if own:
                h += (s[j] - s[j - 1]) * c[j - 1]
            own.append((-s[j], h))
        planes.append(own or [(0.0, 0.0)])
    return planes, np.array(low), np.array(high)


def primal_value(planes, phi, found, target):
    w = phi.T @ found.alpha
    losses = [max(g * u + h for g, h in own) for own, u in zip(planes, found.u, strict=True)]
    return 0.5 * w @ w + sum(losses) + target @ found.b


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("form", ["dense", "kernel", "linear", "sparse"])
@pytest.mark.parametrize("m", [0, 1, 2])
@pytest.mark.parametrize("walls", [False, True])
def test_random_polylines_against_daqp(seed, form, m, walls):
    rng = np.random.default_rng([seed, m, walls])
    n, corners = 24, 1 + seed % 3
    d = 6 if form in ("linear", "sparse") else n
    phi = rng.normal(size=(n, d)) / np.sqrt(d)
    pieces, slope, corner = random_polylines(rng, n, corners, walls)
    border = rng.normal(size=(n, m))
    if seed % 2 and m:
        border[:3, 0] = 0.0
    inside = np.where(np.isfinite(slope[:, -1]), slope[:, -1], slope[:, 0] - 1.0)
    inside = np.where(np.isfinite(inside), inside, 0.0)
    upper = np.where(np.isfinite(slope[:, 0]), slope[:, 0], inside + 1.0)
    target = border.T @ (inside + rng.random(n) * (upper - inside))
    Q = phi @ phi.T
    gram: Gram = {
        "dense": lambda: DenseGram(Q),
        "kernel": lambda: KernelGram(lambda index: Q[index], np.diagonal(Q)),
        "linear": lambda: LinearGram(phi),
        "sparse": lambda: LinearGram(sp.csr_matrix(phi)),
    }[form]()
    planes, low, high = planes_of(slope, corner)
    found = solve(gram, border, target, snapshot(pieces, n), tol=1e-9)
    try:
        best = solve_primal(phi, border, target, planes, low, high)
    except Infeasible:
        assert not found.converged
        return
    assert found.converged
    assert off_balance(found, border, target) <= 1e-10
    assert np.all(found.u >= low - 1e-7)
    assert np.all(found.u <= high + 1e-7)
    assert primal_value(planes, phi, found, target) == pytest.approx(best.value, rel=1e-6, abs=1e-6)
    w = phi.T @ found.alpha
    np.testing.assert_allclose(phi @ w, phi @ best.w, atol=1e-5)


def box_qp(Q, curvature, f, low, high, border, target):
    """``min 1/2 a'(Q + curvature)a + f'a`` over a box, ``border' a = target``."""
    n = f.size
    A = np.vstack([np.eye(n), border.T])
    return solve_qp(Q + np.diag(curvature), f, A, np.append(low, target), np.append(high, target))


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("C", [0.05, 1.0, 50.0])
@pytest.mark.parametrize("dense", [False, True])
def test_slanted_pieces_between_flat_ones(intercept, C, dense):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 4))
    y = X[:, 0] + rng.standard_t(2, size=30)
    model = Huber(X, y, np.zeros(30), C, intercept)
    if dense:
        model.gram = DenseGram(X @ X.T + 0.1 * np.eye(30))
    problem, found, _ = solve_model(model, tol=1e-9)
    Q = problem.gram.block(np.arange(30), np.arange(30))
    border, target = problem.border, np.zeros(problem.border.shape[1])
    box = np.full(30, C)
    exact = box_qp(Q, np.full(30, 1 / C), -y, -box, box, border, target)
    assert found.converged
    np.testing.assert_allclose(found.alpha, exact, atol=1e-6 * C)


@pytest.mark.parametrize("dense", [False, True])
def test_a_slanted_end_without_limit(dense):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30, 3))
    y = np.where(X[:, 0] + rng.normal(size=30) > 0, 1.0, -1.0)
    model = SquaredHinge(X, y, 2.0, (1.0, 2.0))
    if dense:
        model.gram = DenseGram((X * y[:, None]) @ (X * y[:, None]).T)
    problem, found, _ = solve_model(model, tol=1e-9)
    Q = problem.gram.block(np.arange(30), np.arange(30))
    zero = np.zeros(1)
    bounds = np.zeros(30), np.full(30, INF)
    exact = box_qp(Q, np.full(30, 0.5), -np.ones(30), *bounds, problem.border, zero)
    assert found.converged
    np.testing.assert_allclose(found.alpha, exact, atol=1e-6)


@pytest.mark.parametrize(("n", "p"), [(40, 10), (15, 40)])
@pytest.mark.parametrize("part", [0.9, 0.3, 0.01])
def test_walls_of_the_lasso(n, p, part):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(n, p))
    y = X[:, :3] @ np.array([3.0, -2.0, 1.0]) + 0.1 * rng.normal(size=n)
    q = X.T @ y
    lam = part * np.abs(q).max()
    _, found, _ = solve_model(Lasso(X, y, (lam, lam / 2)), tol=1e-9)
    assert found.converged
    pull = X.T @ (y - X @ found.alpha)
    assert np.abs(pull).max() <= lam * (1 + 1e-6)
    on = found.alpha != 0.0
    np.testing.assert_allclose(pull[on], lam * np.sign(found.alpha[on]), rtol=1e-5)
    assert 0 < np.count_nonzero(on) <= min(n, p)


def test_a_balance_that_must_be_filled():
    rng = np.random.default_rng(3)
    A = rng.normal(size=(12, 12))
    S, mu = A @ A.T / 12 + 0.1 * np.eye(12), rng.normal(size=12)
    _, found, _ = solve_model(Frontier(S, mu, 0.3, (0.4, 0.0)), tol=1e-10)
    ones = np.ones((12, 1))
    bounds = np.zeros(12), np.full(12, 0.3)
    exact = box_qp(S, np.zeros(12), -0.4 * mu, *bounds, ones, np.ones(1))
    assert found.converged
    assert found.alpha.sum() == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_allclose(found.alpha, exact, atol=1e-7)


# ---------------------------------------------------------------------------- the tables


def test_a_polyline_read_the_other_way_round():
    # 3 | knot -2 | 1 | seam 0 | 1 - u/2 | seam 4 | -1 | knot 5 | -inf
    pieces = (
        Slope("a", 3.0),
        Knot("b", -2.0),
        Slope("c", 1.0),
        Knot("d", 0.0),
        Slope("e", 1.0, curvature=0.5),
        Knot("f", 4.0),
        Slope("g", -1.0),
        Knot("h", 5.0),
        Slope("i", -INF),
    )
    tables = Tables.of(snapshot(pieces, 1))
    np.testing.assert_allclose(tables.point, [[-1.0, 1.0, 3.0]])
    np.testing.assert_allclose(tables.place, [[5.0, 2.0, -2.0, -INF]])
    np.testing.assert_allclose(tables.rate, [[0.0, 2.0, 0.0, 0.0]])
    for alpha, u, off in (
        (-7.0, 5.0, 0.0),
        (-1.0, 4.5, 0.0),
        (-1.0, 3.75, 0.25),
        (0.0, 2.0, 0.0),
        (0.0, 2.5, 0.5),
        (1.0, -1.0, 0.0),
        (1.0, 0.5, 0.5),
        (2.0, -1.5, 0.5),
        (3.0, -99.0, 0.0),
    ):
        assert tables.violation(np.array([alpha]), np.array([u])) == pytest.approx(off)
    np.testing.assert_array_equal(tables.clip(np.array([9.0])), [3.0])
    np.testing.assert_array_equal(tables.clip(np.array([-9.0])), [-9.0])


def test_what_lies_beyond_an_infinite_corner_is_cut_off():
    far = (Slope("O", 0.0), Jump(Affine.parameter()), Slope("L", 2.0), Knot("E", 1.0))
    lines = Polylines.compile((*far, Slope("R", 0.0)), 3)
    tables = Tables.of(lines.at(-INF))
    np.testing.assert_array_equal(tables.point, [[0.0, 2.0]] * 3)
    np.testing.assert_array_equal(tables.place, [[INF, 1.0, -INF]] * 3)


def test_a_rising_polyline_is_refused():
    height = np.array([1.0, 1.0, -1.0])
    pieces = (Slope("a", height), Knot("b", 0.0), Slope("c", 0.0))
    with pytest.raises(ModelError, match=r"solve_convex: the polyline of coordinate 2 rises"):
        solve(DenseGram(np.eye(3)), np.zeros((3, 0)), np.zeros(0), snapshot(pieces, 3))


# ---------------------------------------------------------------------------- degenerate data


@pytest.mark.parametrize("kind", ["hinge", "lad"])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "precomputed"])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
def test_duplicates_zero_rows_and_zero_weights(kind, kernel, intercept, C):
    X = np.vstack([np.zeros((5, 2)), np.repeat(np.eye(2), 6, axis=0), -np.ones((4, 2))])
    n = len(X)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0) if kind == "hinge" else np.arange(n) % 3 * 1.0
    weights = np.where(np.arange(n) % 5 == 0, 0.0, 1.0 + np.arange(n) % 2)
    plain = "linear" if kernel == "precomputed" else kernel
    problem = case(kind, n, 0, kernel=plain, C=C, intercept=intercept)
    K = kernel_matrix(X, X, "linear")
    model = type(problem.model())(
        K if kernel == "precomputed" else X,
        y,
        C=C,
        kernel=kernel,
        fit_intercept=intercept,
        sample_weight=weights,
    )
    compiled, found, _ = solve_model(model, tol=1e-7)
    assert found.converged
    assert off_balance(found, compiled.border, np.zeros(int(intercept))) <= 1e-9
    assert np.all(found.alpha[weights == 0.0] == 0.0)
    gamma = 1.0 / X.shape[1]
    reference = Ramp(kind, kernel_matrix(X, X, plain, gamma), y, C * weights, intercept)
    b = float(found.b[0]) if intercept else 0.0
    assert reference.violation(found.alpha, b, 1.0, 0.5) <= 1e-6


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("form", [DenseGram, lambda Q: LinearGram(np.sqrt(Q))])
def test_one_coordinate(intercept, form):
    border = np.ones((1, int(intercept)))
    target = np.zeros(int(intercept))
    found = solve(form(np.array([[2.0]])), border, target, hinge(3.0, 1), tol=1e-10)
    assert found.converged
    assert found.alpha[0] == pytest.approx(0.0 if intercept else 0.5, abs=1e-9)


def test_identical_samples_of_both_classes():
    # u_i = y_i b whatever alpha is: all of them stand at the margin or beyond, none is better.
    y = np.array([1.0, -1.0] * 10)
    gram = DenseGram(np.outer(y, y))
    found = solve(gram, y[:, None], np.zeros(1), hinge(1.0, 20), tol=1e-9)
    assert found.converged
    np.testing.assert_allclose(found.alpha, 1.0)
    assert abs(found.b[0]) <= 1.0 + 1e-9


def test_a_quadratic_form_of_zeros():
    pieces = snapshot((Slope("L", 1.0), Knot("E", 1.0), Slope("R", 0.0)), 4)
    found = solve(DenseGram(np.zeros((4, 4))), np.zeros((4, 0)), np.zeros(0), pieces)
    assert found.converged
    np.testing.assert_array_equal(found.alpha, np.ones(4))
    border = np.array([[1.0], [1.0], [-1.0], [-1.0]])
    found = solve(DenseGram(np.zeros((4, 4))), border, np.zeros(1), pieces)
    assert found.converged
    assert border[:, 0] @ found.alpha == 0.0


@pytest.mark.parametrize("form", [DenseGram, lambda Q: LinearGram(np.eye(3)[:, :1])])
def test_a_balance_out_of_reach_ends_unconverged(form):
    found = solve(form(np.eye(3)), np.ones((3, 1)), np.array([7.0]), hinge(1.0, 3))
    assert not found.converged


@pytest.mark.parametrize("form", ["dense", "linear"])
@pytest.mark.parametrize("intercept", [False, True])
def test_iterations_are_bounded(form, intercept):
    problem = case("hinge", 90, 2, C=1e3, kernel="linear", intercept=intercept)
    phi = problem.X * problem.y[:, None]
    gram = DenseGram(phi @ phi.T) if form == "dense" else LinearGram(phi)
    border = problem.y[:, None][:, : int(intercept)]
    for limit in (0, 1, 7):
        found = solve(
            gram, border, np.zeros(int(intercept)), hinge(1e3, 90), tol=1e-12, max_iter=limit
        )
        assert found.iterations <= limit
        assert not found.converged
        assert np.all(np.isfinite(found.u))


# ---------------------------------------------------------------------------- where to begin


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("intercept", [False, True])
def test_a_solution_is_where_it_ends(kernel, intercept):
    problem = case("hinge", 120, 4, C=5.0, kernel=kernel, intercept=intercept)
    compiled, found, _ = solve_model(problem.model(), tol=1e-6)
    product = found.u - compiled.border @ found.b
    for known in (None, product):
        _, again, _ = solve_model(
            problem.model(), tol=1e-5, alpha=found.alpha, b=found.b, product=known
        )
        assert again.converged
        assert again.iterations <= 5
        np.testing.assert_allclose(again.alpha, found.alpha, atol=1e-3)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("intercept", [False, True])
def test_any_beginning_leads_to_the_optimum(kernel, intercept):
    problem = case("lad", 70, 4, C=5.0, kernel=kernel, intercept=intercept)
    _, cold, best = solve_model(problem.model(), tol=1e-8)
    rng = np.random.default_rng(0)
    for size in (0.1, 1.0, 100.0):
        alpha = size * rng.normal(size=70)
        b = size * rng.normal(size=int(intercept))
        product = problem.model().gram.matvec(alpha)
        for known in (None, product):
            _, warm, objective = solve_model(
                problem.model(), tol=1e-8, alpha=alpha, b=b, product=known
            )
            assert warm.converged
            assert objective == pytest.approx(best, rel=1e-7)
            np.testing.assert_allclose(warm.u, cold.u, atol=1e-5)


def test_a_neighbouring_cost_is_a_good_beginning():
    problem = case("hinge", 300, 6, C=1.0, intercept=True)
    cold = solve_model(problem.model())[1]
    near = solve_model(problem.model(C=1.05))[1]
    warm = solve_model(problem.model(), alpha=near.alpha, b=near.b)[1]
    assert warm.converged
    assert warm.iterations < cold.iterations / 2


# ---------------------------------------------------------------------------- rows and methods


def test_only_columns_that_matter_are_computed():
    # Two far clusters: a handful of samples decide.
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(300, 2)) - 8.0, rng.normal(size=(300, 2)) + 8.0])
    y = np.repeat([-1.0, 1.0], 300)
    asked: list[int] = []

    def columns(index):
        asked.extend(index.tolist())
        return kernel_matrix(X[index], X, "rbf", 0.01) * np.outer(y[index], y)

    gram = KernelGram(columns, np.ones(600))
    found = solve(gram, y[:, None], np.zeros(1), hinge(10.0, 600))
    assert found.converged
    assert len(asked) == len(set(asked))
    assert np.count_nonzero(found.alpha) < len(asked) < 200


@pytest.mark.parametrize("intercept", [False, True])
def test_columns_may_be_forgotten_on_the_way(intercept):
    problem = case("hinge", 200, 7, C=2.0, intercept=intercept)
    sign = np.outer(problem.y, problem.y)
    Q = kernel_matrix(problem.X, problem.X, "rbf", problem.gamma) * sign
    border, target = problem.y[:, None][:, : int(intercept)], np.zeros(int(intercept))
    small = KernelGram(lambda index: Q[index], np.diagonal(Q), memory=70 * 200 * 8 / 1e6)
    found = solve(small, border, target, hinge(2.0, 200), tol=1e-6)
    exact = solve(DenseGram(Q), border, target, hinge(2.0, 200), tol=1e-6)
    assert found.converged
    np.testing.assert_allclose(found.u, exact.u, atol=1e-4)


class Bare(Gram):
    """The least a stranger has to write."""

    def __init__(self, Q):
        self.Q, self.size, self.diag = Q, len(Q), np.array(np.diagonal(Q))

    def column(self, i):
        return self.Q[:, i]

    def block(self, rows, columns):
        return self.Q[np.ix_(rows, columns)]

    def combine(self, index, weights):
        return self.Q[:, index] @ weights


@pytest.mark.parametrize("m", [0, 1, 2])
def test_an_operator_without_a_store(m):
    rng = np.random.default_rng(5)
    phi = rng.normal(size=(150, 20))
    Q, border = phi @ phi.T, rng.normal(size=(150, m))
    target = np.zeros(m)
    found = solve(Bare(Q), border, target, hinge(0.5, 150), tol=1e-8)
    exact = solve(LinearGram(phi), border, target, hinge(0.5, 150), tol=1e-8)
    assert found.converged
    assert exact.converged
    np.testing.assert_allclose(found.u, exact.u, atol=1e-6)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("setting", ["factored", "leaning", "conjugate"])
@pytest.mark.parametrize("m", [0, 1])
def test_every_form_of_the_newton_step(monkeypatch, sparse, setting, m):
    rng = np.random.default_rng(6)
    n, d = (40, 60) if setting == "leaning" else (120, 30)
    phi = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.3)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    direct = 0 if setting == "conjugate" else StartTolerances().direct
    tolerances = StartTolerances(few=0, wide=0, dense=1.0, direct=direct)
    monkeypatch.setattr(convex, "Pairs", None)
    gram = LinearGram(sp.csr_matrix(phi) if sparse else phi)
    border, target = y[:, None][:, :m], np.zeros(m)
    found = solve(gram, border, target, hinge(1.0, n), tol=1e-6, tolerances=tolerances)
    assert found.converged
    planes = [[(-1.0, 1.0), (0.0, 0.0)]] * n
    free = np.full(n, INF)
    best = solve_primal(phi, border, target, planes, -free, free)
    np.testing.assert_allclose(phi @ (phi.T @ found.alpha), phi @ best.w, atol=1e-4)


@pytest.mark.parametrize("intercept", [False, True])
def test_pairs_without_end_give_way_to_newton_steps(intercept):
    # Rank 3 and C = 1e3: pairs alone would take millions.
    problem = case("hinge", 300, 8, C=1e3, kernel="linear", intercept=intercept)
    phi = problem.X * problem.y[:, None]
    border, target = problem.y[:, None][:, : int(intercept)], np.zeros(int(intercept))
    found = solve(DenseGram(phi @ phi.T), border, target, hinge(1e3, 300))
    exact = solve(LinearGram(phi), border, target, hinge(1e3, 300), tol=1e-9)
    assert found.converged
    assert found.iterations < 20 * 300
    np.testing.assert_allclose(found.u, exact.u, atol=2e-2)


def trend(n, order, part):
    """Trend filtering by differences at a part of lam_max: alpha from lam_max on, no border, the
    polylines and Q."""
    rng = np.random.default_rng(11)
    D = np.diff(np.eye(n), order, axis=0)
    bends = [0.0, 0.3 * n, 0.6 * n, n]
    y = np.interp(np.arange(n), bends, [0.0, 3.0, -2.0, 4.0]) + rng.normal(size=n) / 2
    inside = np.linalg.lstsq(D.T, y, rcond=None)[0]
    lam = part * np.abs(inside).max()
    lines = snapshot((Slope("+", lam), Knot("k", D @ y), Slope("-", -lam)), n - order)
    return inside, np.zeros((n - order, 0)), lines, DenseGram(D @ D.T)


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("part", [1.01, 0.3, 0.01])
def test_trend_filtering_needs_few_newton_steps(monkeypatch, order, part):
    """Q = D D^T of differences: its condition number is 1e5, 2e9 and 2e13, and from lam_max on
    every coordinate is inside its knot."""
    inside, none, lines, gram = trend(500, order, part)
    tried = []
    run = Pairs.run

    def count(pairs, *, patient):
        assert not patient
        ended = run(pairs, patient=patient)
        tried.append(pairs.at.iterations)
        return ended

    monkeypatch.setattr(Pairs, "run", count)
    found = solve(gram, none, np.zeros(0), lines, tol=1e-4)
    assert found.converged
    assert found.iterations - tried[0] <= 250
    if part > 1.0 and order == 1:
        np.testing.assert_allclose(found.alpha, inside, atol=1e-3 * np.abs(inside).max())


def test_newton_steps_without_an_end_leave_the_anchor_where_it_was(monkeypatch):
    spent = []
    settle = newton.Leaning.settle

    def watch(leaning, sigma):
        before = leaning.alpha
        ended = settle(leaning, sigma)
        if ended is newton.Settled.SPENT:
            spent.append(sigma)
            assert leaning.alpha is before
            whole = leaning.form.gram.matvec(before) + leaning.at.border @ leaning.at.b
            np.testing.assert_allclose(leaning.z, whole, atol=1e-9)
        return ended

    monkeypatch.setattr(newton.Leaning, "settle", watch)
    _, none, lines, gram = trend(200, 2, 0.1)
    few = StartTolerances(newtons=10)
    found = solve(gram, none, np.zeros(0), lines, tol=1e-4, tolerances=few)
    assert spent
    assert found.converged


def test_pairs_give_up_when_their_pace_promises_no_end():
    falling = [np.inf] + [10.0 ** (4 - 0.5 * k) for k in range(8)]
    assert sweeps_left(falling[:5], untried=8) == 0.0  # too early to tell
    assert 0.0 < sweeps_left(falling, untried=8) < 2.0
    assert sweeps_left([np.inf] + [100.0] * 20, untried=8) > 1e6
    assert sweeps_left([np.inf] + [100.0] * 10 + [0.5], untried=8) == 0.0
    assert sweeps_left([np.inf] * 20, untried=8) == 0.0


def test_a_coordinate_beyond_the_end_of_its_piece():
    """What the first Newton step goes by: each polyline continued as it is at the anchor."""
    tables = Tables.of(snapshot((Slope("+", 1.0), Knot("k", 2.0), Slope("-", -1.0)), 4))
    anchor, z = np.array([0.5, 1.0, 1.0, -1.0]), np.array([-1.0, 0.0, 5.0, 2.5])
    alpha, stiffness = np.empty(4), np.empty(4)
    tables.extend(z, anchor, 10.0, alpha, stiffness)
    np.testing.assert_allclose(alpha, [0.5 + 10.0 * 3.0, 1.0, 1.0 - 10.0 * 3.0, -1.0])
    np.testing.assert_allclose(stiffness, [10.0, 0.0, 10.0, 0.0])
    tables.meet(z, anchor, 10.0, alpha, stiffness)
    np.testing.assert_allclose(alpha, [1.0, 1.0, -1.0, -1.0])
    np.testing.assert_allclose(stiffness, 0.0)


def test_many_samples_few_features():
    rng = np.random.default_rng(9)
    X = rng.normal(size=(20_000, 8))
    y = np.where(X[:, 0] + rng.normal(size=20_000) > 0, 1.0, -1.0)
    gram = LinearGram(X * y[:, None])
    found = solve(gram, y[:, None], np.zeros(1), hinge(1.0, 20_000), tol=1e-7)
    assert found.converged
    assert found.iterations < 200
    on_knot = np.count_nonzero((found.alpha > 0.0) & (found.alpha < 1.0))
    assert on_knot == 9  # as many as unknowns, at a vertex in general position


def test_features_and_columns_agree_on_the_pieces():
    problem = case("hinge", 400, 10, C=1.0, kernel="linear", intercept=True)
    phi = problem.X * problem.y[:, None]
    border = problem.y[:, None]
    by_features, by_columns = (
        solve(gram, border, np.zeros(1), hinge(1.0, 400), tol=1e-7)
        for gram in (LinearGram(phi), DenseGram(phi @ phi.T))
    )
    pieces = [
        np.sign(found.alpha) + np.sign(found.alpha - 1.0) for found in (by_features, by_columns)
    ]
    np.testing.assert_array_equal(*pieces)


def test_sweeps_that_bring_nothing_have_stalled():
    falling = [100.0 * 0.9**k for k in range(16)]
    assert not stalled(falling, least=16)
    assert not stalled([5.0] * 16, least=32)  # too early to tell
    assert stalled([5.0, 4.0] * 8, least=16)
    assert not stalled([5.0, 4.0] * 9, least=16)  # looked at when their number has doubled


def test_a_step_along_which_rounding_is_all_that_moves_has_some_length():
    """`at_zero` should be negative; where everything cancels, rounding decides its sign."""

    class Flat(newton._Line):
        def derivative(self, length):
            return 0.5 * self.at_zero

    nothing, tables = np.zeros(1), SimpleNamespace(tolerances=StartTolerances())
    for at_zero in (1.0, 5e-324, 0.0, -1.0):
        line = Flat(tables, *[nothing] * 3, 1.0, nothing, at_zero, 0.0, np.zeros((2, 1)))
        assert np.isfinite(line.search())
