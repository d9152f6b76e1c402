"""Kernels, sparse data, and what is never formed."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from grids import thinned
from oracles import kernel_matrix
from problems import case, features, labels, sample_points

from homotopy import DataError, Homotopy, LinearGram
from homotopy_plugins import HingeRamp, LADRamp
from homotopy_plugins.kernels.functions import Rows


def assert_same(found, expected, tol=1e-8):
    assert found.certify().ok
    np.testing.assert_allclose(found.breakpoints, expected.breakpoints, rtol=tol, atol=1e-10)
    for t in sample_points(expected, 10):
        np.testing.assert_allclose(found.response(t), expected.response(t), rtol=tol, atol=tol)


def sparse_case(kind, seed):
    problem = case(kind, 40, seed, d=6, intercept=True, C=2.0)
    X = problem.X.copy()
    X[np.random.default_rng(seed).random(X.shape) < 0.6] = 0.0
    return X, problem.y


@thinned(
    "kind, path, kernel, format",
    ["hinge", "lad"],
    ["theta", "s"],
    ["rbf", "linear", "poly"],
    ["csr", "csc", "coo", "array"],
)
def test_sparse_rows_give_the_path_of_dense_ones(kind, path, kernel, format):
    X, y = sparse_case(kind, 2)
    plugin = HingeRamp if kind == "hinge" else LADRamp
    options = {
        "C": 2.0,
        "kernel": kernel,
        "gamma": 0.3,
        "coef0": 1.0,
        "path": path,
        "fit_intercept": True,
    }
    rows = sp.csr_array(X) if format == "array" else sp.csr_matrix(X).asformat(format)
    dense, sparse = (
        Homotopy(plugin(X, y, **options)).trace(),
        Homotopy(plugin(rows, y, **options)).trace(),
    )
    assert_same(sparse, dense, tol=1e-7)
    new = X[:7] + 0.1
    for rows in (new, sp.csr_matrix(new)):
        np.testing.assert_allclose(
            sparse.decision_function(rows, sparse.traced[1]),
            dense.decision_function(new, dense.traced[1]),
            rtol=1e-7,
            atol=1e-7,
        )


def test_sparse_duplicates_stay_exact():
    """Large equal rows: the distance formula for sparse rows must not invent a distance."""
    X = np.repeat(1e3 * features(8, 4, 0), 3, axis=0)
    y = labels(X, 0, flip=0.4)
    for path in ("theta", "s"):
        dense = Homotopy(HingeRamp(X, y, C=1.0, gamma=1e-7, path=path)).trace()
        sparse = Homotopy(HingeRamp(sp.csr_matrix(X), y, C=1.0, gamma=1e-7, path=path)).trace()
        assert_same(sparse, dense, tol=1e-6)


def shifted(n, d, offset, filled, seed):
    """Rows of which every column that is stored lies around an offset, near duplicates included."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X[n // 2 :] = X[: n - n // 2] + 1e-3 * rng.normal(size=(n - n // 2, d))
    X += offset * rng.choice([-1.0, 0.3, 1.0], size=d)
    X[rng.random((n, d)) > filled] = 0.0
    X[:, 0] = offset
    X[-1] = X[0]
    return X


@pytest.mark.parametrize("offset", [0.0, 1.0, 1e4, 1e6, 1e8])
@pytest.mark.parametrize("filled", [1.0, 0.6, 0.2])
@pytest.mark.parametrize("sparse", [False, True])
def test_distances_are_right_to_rounding_wherever_the_columns_lie(offset, filled, sparse):
    X, new = shifted(60, 30, offset, filled, 0), shifted(20, 30, offset, filled, 1)
    rows = Rows(sp.csr_matrix(X) if sparse else X)
    for given in (X, new, sp.csr_matrix(new)):
        exact = given.toarray() if sp.issparse(given) else given
        difference = exact[:, None, :].astype(np.longdouble) - X.astype(np.longdouble)
        truth = (difference**2).sum(axis=2)
        found = rows.distances(given)
        # Rounding of the differences, of their squares and of sums of 30 terms, and 64 times that
        # where the terms have not cancelled.
        assert np.all(np.abs(found - truth) <= 64 * 30 * 2.3e-16 * truth)
    assert rows.distances(X)[-1, 0] == 0.0


@pytest.mark.parametrize("offset", [1e4, 1e6, 1e8])
@pytest.mark.parametrize("kind", ["hinge", "lad"])
def test_a_constant_column_changes_nothing(kind, offset):
    X, y = sparse_case(kind, 2)
    plugin = HingeRamp if kind == "hinge" else LADRamp
    wide = sp.csr_matrix(np.column_stack([X, np.full(len(X), offset)]))

    def trace(X):
        return Homotopy(plugin(X, y, C=2.0, gamma=0.3, fit_intercept=True)).trace()

    plain, shifted = trace(X), trace(wide)
    assert_same(shifted, plain, tol=1e-9)
    t = plain.traced[1]
    np.testing.assert_allclose(
        shifted.decision_function(wide[:9], t), plain.decision_function(X[:9], t), rtol=1e-9
    )


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("path", ["theta", "s"])
@pytest.mark.parametrize("kind", ["hinge", "lad"])
def test_a_precomputed_matrix_gives_the_path_of_its_kernel(kind, path, kernel):
    problem = case(kind, 40, 1, kernel=kernel, intercept=True, path=path, C=2.0)
    plugin = type(problem.model())
    K = kernel_matrix(problem.X, problem.X, kernel, 0.5)
    options = {
        "C": 2.0,
        "kernel": "precomputed",
        "path": path,
        "fit_intercept": True,
        "s": problem.threshold,
    }
    expected = problem.trace()
    for matrix in (K, K.tolist(), sp.csr_matrix(K)):
        found = Homotopy(plugin(matrix, problem.y, **options)).trace()
        assert_same(found, expected, tol=1e-7)
    new = features(6, 3, 99)
    cross = kernel_matrix(new, problem.X, kernel, 0.5)
    t = expected.traced[1]
    np.testing.assert_allclose(
        found.decision_function(cross, t), expected.decision_function(new, t), rtol=1e-7, atol=1e-7
    )
    with pytest.raises(DataError, match="X has 3 columns, the model has 40 training samples"):
        found.decision_function(new, t)


def centred_kernel(seed, scale=1.0):
    """The linear kernel of random rows, the first of them at the mean of all, double-centred."""
    rng = np.random.default_rng([seed, 9])
    n = int(rng.integers(5, 40))
    X = rng.standard_normal((n, 2))
    X[0] = X[1:].mean(axis=0)
    centring = np.eye(n) - 1.0 / n
    K = scale * centring @ (X @ X.T) @ centring
    return 0.5 * (K + K.T), np.where(np.arange(n) % 2, 1.0, -1.0), X


@pytest.mark.parametrize("scale", [1.0, 1e-12, 1e12])
def test_a_diagonal_below_0_by_rounding_is_0(scale):
    """As in kernels that were centred, of a row at the mean of all rows."""
    below = 0
    for seed in range(30):
        K, y, X = centred_kernel(seed, scale)
        below += np.diagonal(K).min() < 0.0
        for model in (HingeRamp, LADRamp):
            path = Homotopy(model(K, y, C=1.0 / scale, kernel="precomputed")).trace()
            assert path.certify().ok
            linear = Homotopy(model(X - X.mean(axis=0), y, C=1.0, kernel="linear")).trace()
            ends = linear.traced
            found, expected = path.decision_function(K, ends[0]), linear.decision_function
            np.testing.assert_allclose(found, expected(X - X.mean(axis=0), ends[0]), atol=1e-8)
        intercept = HingeRamp(K, y, C=1.0 / scale, kernel="precomputed", fit_intercept=True)
        assert Homotopy(intercept).trace().certify().ok
    assert below > 5


def test_only_rows_of_rounding_become_0():
    """A diagonal entry is 0 where an eigenvalue of its size would do; what is beside it stays."""
    K, y, _ = centred_kernel(0)
    K[0], K[:, 0] = 0.0, 0.0
    size = np.abs(K).max()
    K[0, 0], K[0, 1], K[1, 0] = -1e-10 * size, 1e-10 * size, 1e-10 * size
    kept = HingeRamp(K, y, C=1.0, kernel="precomputed").X
    assert kept[0, 0] == 0.0
    assert kept[0, 1] == kept[1, 0] == K[0, 1]
    assert K[0, 0] < 0.0


def test_a_diagonal_that_is_negative_is_refused():
    K, y, _ = centred_kernel(0)
    size = np.abs(K).max()
    for short in (1e-7, 1e-3, 1.0):
        K[0, 0] = -short * size
        with pytest.raises(DataError, match="kernel matrix is indefinite"):
            HingeRamp(K, y, C=1.0, kernel="precomputed")


@pytest.mark.parametrize("kind", ["hinge", "lad"])
def test_a_callable_kernel_is_its_values(kind):
    problem = case(kind, 35, 3, intercept=True, C=2.0)
    plugin = type(problem.model())
    calls = []

    def kernel(A, B):
        calls.append((len(A), len(B)))
        return np.exp(-0.5 * ((A[:, None] - B[None]) ** 2).sum(axis=2))

    model = plugin(problem.X, problem.y, C=2.0, kernel=kernel, fit_intercept=True)
    assert_same(Homotopy(model).trace(), problem.trace(), tol=1e-7)
    assert calls


@pytest.mark.parametrize(("degree", "coef0"), [(2, 1.0), (3, 0.0), (3, 2.0)])
@pytest.mark.parametrize("kind", ["hinge", "lad"])
def test_a_polynomial_kernel_is_its_formula(kind, degree, coef0):
    problem = case(kind, 35, 4, d=2, intercept=True)
    plugin = type(problem.model())
    options = {"C": 0.5, "fit_intercept": True}
    K = kernel_matrix(problem.X, problem.X, "poly", 0.7, degree, coef0)
    poly = plugin(
        problem.X, problem.y, kernel="poly", gamma=0.7, degree=degree, coef0=coef0, **options
    )
    expected = plugin(K, problem.y, kernel="precomputed", **options)
    assert_same(Homotopy(poly).trace(), Homotopy(expected).trace(), tol=1e-6)


def test_a_sigmoid_kernel_that_is_definite_is_traced():
    """Opposite points on the axes: tanh gives blocks [[t, -t], [-t, t]], which are definite."""
    X = 2.0 * np.vstack([np.eye(4), -np.eye(4), np.eye(4)])
    y = np.array([1, 1, -1, 1, -1, 1, 1, -1, -1, 1, -1, -1])
    K = np.tanh(0.2 * X @ X.T)
    assert np.linalg.eigvalsh(K)[0] > -1e-12
    model = HingeRamp(X, y, C=5.0, kernel="sigmoid", gamma=0.2)
    expected = HingeRamp(K, y, C=5.0, kernel="precomputed")
    assert_same(Homotopy(model).trace(), Homotopy(expected).trace(), tol=1e-6)


def test_gamma_defaults_to_one_over_d():
    problem = case("hinge", 30, 5, d=4)
    default = Homotopy(HingeRamp(problem.X, problem.y, C=1.0)).trace()
    quarter = Homotopy(HingeRamp(problem.X, problem.y, C=1.0, gamma=0.25)).trace()
    np.testing.assert_array_equal(default.breakpoints, quarter.breakpoints)


# ------------------------------------------------------------------ memory


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("kind", ["hinge", "lad"])
def test_a_linear_kernel_never_forms_the_matrix(kind, sparse):
    """n = 20000, d = 5: the matrix would take 3.2 GB; the trace takes some vectors of n."""
    n = 20_000
    problem = case(kind, n, 0, d=5, kernel="linear", C=1e-3, intercept=True)
    rows = sp.csr_matrix(problem.X) if sparse else problem.X
    model = type(problem.model())(rows, problem.y, C=1e-3, kernel="linear", fit_intercept=True)
    assert isinstance(model.gram, LinearGram)
    Homotopy(case(kind, 20, 0, kernel="linear").model()).trace()  # compile first
    tracemalloc.start()
    path = Homotopy(model, max_breakpoints=30).trace()
    alpha = path.alpha(path.traced[1])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert alpha.shape == (n,)
    assert len(path.breakpoints) > 20
    assert peak < 200 * 8 * n  # 32 MB, a hundredth of the matrix
    assert path.segments.nbytes < 8 * n * 10


def test_an_osqp_d_step_with_a_linear_kernel_forms_no_matrix_either():
    n = 1_500
    problem = case("hinge", n, 0, d=3, kernel="linear", C=1e-2, intercept=True, path="s")
    tracemalloc.start()
    path = Homotopy(problem.model(), d_step="osqp", max_breakpoints=2).trace()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert {j.solver for j in path.jumps} == {"osqp"}
    assert peak < 0.5 * 8 * n * n
