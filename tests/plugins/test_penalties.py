"""MCP and SCAD: stationary by an oracle of its own, certified, compared with coordinate descent.

The oracle is plain numpy on ``1/(2n) |y - X b|^2 + sum_j p(|b_j|)``: the derivative of the penalty
as it is written in papers, the gradient of the squares from residuals.
"""

from __future__ import annotations

import itertools
import pickle
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt
import pytest
import scipy.sparse as sp
from grids import thinned
from mutations import a_break_point_dropped, two_rows_exchanged, with_segments

from homotopy import DataError, Homotopy, ModelError, Path, TraceError
from homotopy.testing import check_plugin
from homotopy.tracing import Run
from homotopy_plugins import MCP, SCAD
from homotopy_plugins.models import penalties

Array = npt.NDArray[np.float64]
# What MCP calls gamma and SCAD a.
SHAPES = [(MCP, 1.2), (MCP, 3.0), (MCP, 10.0), (SCAD, 2.5), (SCAD, 3.7)]


def build(kind: Any, shape: float, X: Any, y: Array, **options: Any) -> Any:
    return kind(X, y, **{"gamma" if kind is MCP else "a": shape}, **options)


def design(n: int, p: int, rho: float, seed: int) -> tuple[Array, Array]:
    """Columns of mean square 1, each correlated with the one before; few coefficients."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    for j in range(1, p):
        X[:, j] = rho * X[:, j - 1] + np.sqrt(1.0 - rho**2) * X[:, j]
    X /= np.sqrt((X**2).mean(axis=0))
    beta = np.zeros(p)
    beta[: min(p, 5)] = [2.0, -1.5, 1.0, 1.0, -0.5][: min(p, 5)]
    return X, X @ beta + rng.standard_normal(n)


# ---------------------------------------------------------------------- the oracle


def slope(kind: Any, shape: float, lam: Array, size: Array) -> tuple[Array, Array]:
    """p' and p'' at |b|."""
    if kind is MCP:
        inside = size < shape * lam
        return np.where(inside, lam - size / shape, 0.0), np.where(inside, -1.0 / shape, 0.0)
    middle = (size > lam) & (size < shape * lam)
    falling = (shape * lam - size) / (shape - 1.0)
    first = np.where(size <= lam, lam, np.where(middle, falling, 0.0))
    return first, np.where(middle, -1.0 / (shape - 1.0), 0.0)


def penalty(kind: Any, shape: float, lam: Any, b: Array) -> float:
    """The integral of p' in closed form."""
    size = np.abs(b)
    if kind is MCP:
        curve = np.where(
            size <= shape * lam, lam * size - size**2 / (2 * shape), shape * lam**2 / 2
        )
        return float(curve.sum())
    between = (2 * shape * lam * size - size**2 - lam**2) / (2 * (shape - 1))
    flat = lam**2 * (shape + 1) / 2
    curve = np.where(size <= lam, lam * size, np.where(size <= shape * lam, between, flat))
    return float(curve.sum())


def objective(kind: Any, shape: float, lam: Any, X: Array, y: Array, b: Array) -> float:
    return 0.5 * float(np.mean((y - X @ b) ** 2)) + penalty(kind, shape, lam, b)


def check_point(kind: Any, shape: float, lam: Any, X: Array, y: Array, b: Array, *,
                bends: bool = True) -> None:  # fmt: skip
    """First order to 1e-7 of the terms, second order on the non-zeros."""
    n, own = y.size, np.sqrt((X**2).mean(axis=0))
    lam = np.broadcast_to(lam, b.shape)
    gradient = X.T @ (X @ b - y) / n
    first, second = slope(kind, shape, lam, np.abs(b))
    scale = own * (np.sqrt(np.mean(y**2)) + own @ np.abs(b)) + lam
    short = np.where(
        b != 0.0, np.abs(gradient + first * np.sign(b)), np.maximum(np.abs(gradient) - lam, 0.0)
    )
    assert np.all(short <= 1e-7 * scale)
    A = np.flatnonzero(b)
    if bends and A.size:
        root = np.sqrt(own[A] ** 2 + 1.0 / (shape if kind is MCP else shape - 1.0))
        block = X[:, A].T @ X[:, A] / n + np.diag(second[A])
        assert np.linalg.eigvalsh(block / np.outer(root, root))[0] > -1e-7


def check_path(kind: Any, shape: float, X: Array, y: Array, path: Path, *, weights: Any = 1.0,
               places: int = 50) -> None:  # fmt: skip
    """Complete, certified, stationary on both sides of everything, falling at every jump."""
    assert path.complete
    assert path.certify().ok
    top, end = path.traced
    jumps = [jump.t for jump in path.jumps]
    rng = np.random.default_rng(7)
    spread = np.concatenate([rng.uniform(end, top, places // 2), top * 0.01 ** rng.random(places)])
    for t in [*spread[spread > end].tolist(), *jumps]:
        for side in ("before", "after"):
            b = path.solution(t, side)
            check_point(kind, shape, weights * t, X, y, b, bends=t not in jumps)
        value, size = objective(kind, shape, weights * t, X, y, b), float(np.mean(y**2))
        assert abs(path.objective(t) - value) <= 1e-8 * (size + value)
    for jump in path.jumps:
        assert jump.objective_after <= jump.objective_before + 1e-10 * float(np.mean(y**2))


# ---------------------------------------------------------------------- paths


@thinned("which, rho, size, end", SHAPES, [0.0, 0.8], [(40, 12), (15, 30)], [0.0, 0.01])
def test_every_point_is_a_local_optimum(which, rho, size, end):
    (kind, shape), (n, p) = which, size
    X, y = design(n, p, rho, n + p)
    check_path(kind, shape, X, y, Homotopy(build(kind, shape, X, y, fraction=end)).trace())


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(("kind", "shape"), SHAPES)
def test_conformance(kind, shape, intercept):
    X, y = design(30, 8, 0.5, 3)
    assert check_plugin(build(kind, shape, X, y, fit_intercept=intercept)).complete


@pytest.mark.parametrize("kind", [MCP, SCAD])
def test_the_end_of_a_path_without_a_penalty_is_least_squares(kind):
    X, y = design(40, 6, 0.3, 1)
    path = Homotopy(kind(X, y)).trace()
    assert np.allclose(path.solution(0.0), np.linalg.lstsq(X, y, rcond=None)[0], atol=1e-10)
    X, y = design(8, 20, 0.3, 1)
    path = Homotopy(kind(X, y)).trace()
    assert np.allclose(X @ path.solution(0.0), y, atol=1e-9)
    assert np.count_nonzero(path.solution(0.0)) <= 8


def test_a_large_gamma_is_the_lasso():
    linear_model = pytest.importorskip("sklearn.linear_model")
    X, y = design(30, 10, 0.5, 5)
    path = Homotopy(MCP(X, y, gamma=1e9)).trace()
    assert not path.jumps
    places, _, coefs = linear_model.lars_path(X, y, method="lasso")
    for t, b in zip(places, coefs.T, strict=True):
        if t > 0.0:
            assert np.allclose(path.solution(min(t, path.traced[0])), b, atol=1e-6)


def test_one_coefficient_follows_the_threshold_function():
    """With orthogonal columns each coefficient is the firm threshold of its correlation."""
    X = np.sqrt(8.0) * np.eye(8)[:, :5]
    y = np.array([3.0, -2.0, 1.0, 0.5, -0.1, 0.2, 0.0, 0.1])
    z = X.T @ y / 8.0
    path = Homotopy(MCP(X, y, gamma=3.0)).trace()
    assert not path.jumps
    for t in np.linspace(0.01, 0.99, 30) * path.traced[0]:
        soft = np.sign(z) * np.maximum(np.abs(z) - t, 0.0)
        firm = np.where(np.abs(z) <= 3.0 * t, soft / (1.0 - 1.0 / 3.0), z)
        assert np.allclose(path.solution(t), firm, atol=1e-12)


@pytest.mark.parametrize("gamma", [0.2, 0.9, 1.0])
def test_a_gamma_at_which_single_coefficients_are_not_convex_jumps_at_once(gamma):
    X, y = design(30, 6, 0.2, 2)
    path = Homotopy(MCP(X, y, gamma=gamma)).trace()
    assert path.jumps[0].t == path.traced[0]
    check_path(MCP, gamma, X, y, path)


# ---------------------------------------------------------------------- against others


def local_minima(kind: Any, shape: float, lam: float, X: Array, y: Array) -> list[Array]:
    """All of them, by the pieces of every coefficient; p'' < 0 and blocks that are definite."""
    n, p = X.shape
    Q, q = X.T @ X / n, X.T @ y / n
    # Ends of |b|, constant and slope of p' on each piece.
    if kind is MCP:
        rows = [(0.0, shape * lam, lam, -1.0 / shape), (shape * lam, np.inf, 0.0, 0.0)]
    else:
        c = shape - 1.0
        rows = [(0.0, lam, lam, 0.0), (lam, shape * lam, shape * lam / c, -1.0 / c),
                (shape * lam, np.inf, 0.0, 0.0)]  # fmt: skip
    pieces: list[Any] = [None, *[(sign, *row) for sign in (1.0, -1.0) for row in rows]]
    found = []
    for choice in itertools.product(pieces, repeat=p):
        A = [j for j in range(p) if choice[j] is not None]
        own = [choice[j] for j in A]
        block = Q[np.ix_(A, A)] + np.diag([piece[4] for piece in own])
        if A and np.linalg.eigvalsh(block)[0] <= 0.0:
            continue
        b = np.zeros(p)
        if A:
            b[A] = np.linalg.solve(block, q[A] - np.array([s * const for s, *_, const, _ in own]))
        inside = all(low - 1e-12 <= s * b[j] <= high + 1e-12
                     for j, (s, low, high, *_) in zip(A, own, strict=True))  # fmt: skip
        rest = [j for j in range(p) if j not in A]
        if inside and np.all(np.abs(q - Q @ b)[rest] <= lam + 1e-12):
            found.append(b)
    return found


@pytest.mark.parametrize(("kind", "shape", "p"), [(MCP, 1.2, 5), (MCP, 3.0, 5), (SCAD, 2.5, 4)])
def test_brute_force_finds_every_point_among_all_local_minima(kind, shape, p):
    for seed in range(2):
        X, y = design(12, p, 0.9, seed)
        path = Homotopy(build(kind, shape, X, y, fraction=0.02)).trace()
        assert path.certify().ok
        for t in path.traced[0] * np.array([0.8, 0.4, 0.2, 0.1, 0.05]):
            minima = local_minima(kind, shape, t, X, y)
            assert min(np.abs(path.solution(t) - m).max() for m in minima) <= 1e-8


def descent(kind: Any, shape: float, X: Array, y: Array, lams: Array) -> Array:
    """skglm's coordinate descent from the largest lambda on, each from the one before."""
    skglm = pytest.importorskip("skglm")
    own = {MCP: skglm.penalties.MCPenalty, SCAD: skglm.penalties.SCAD}[kind]
    solver = skglm.solvers.AndersonCD(tol=1e-12, fit_intercept=False, max_iter=500)
    fit = skglm.datafits.Quadratic()
    X, b, found = np.asfortranarray(X), np.zeros(X.shape[1]), []
    for lam in lams:
        b = solver.solve(X, y, fit, own(float(lam), shape), b.copy(), X @ b)[0]
        found.append(b)
    return np.array(found)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("n", "p"), [(50, 15), (30, 60)])
@pytest.mark.parametrize(("kind", "shape"), SHAPES)
def test_where_coordinate_descent_finds_the_same_support_it_finds_the_same_point(kind, shape, n, p):
    counts = np.zeros(3, int)
    for seed, rho in enumerate((0.0, 0.5)):
        X, y = design(n, p, rho, seed)
        path = Homotopy(build(kind, shape, X, y, fraction=0.01)).trace()
        lams = np.geomspace(path.traced[0] * 0.999, path.traced[1], 50)
        for lam, peer in zip(lams, descent(kind, shape, X, y, lams), strict=True):
            b = path.solution(lam)
            ours, theirs = (objective(kind, shape, lam, X, y, v) for v in (b, peer))
            gain = (theirs - ours) / abs(theirs)
            if pieces_of(shape, lam, b) == pieces_of(shape, lam, peer):
                assert np.allclose(b, peer, atol=1e-6)
                assert abs(gain) <= 1e-8
            counts += [gain > 1e-8, abs(gain) <= 1e-8, gain < -1e-8]
    better, equal, worse = counts
    assert better + equal >= worse


def pieces_of(shape: float, lam: float, b: Array) -> tuple[tuple[int, ...], ...]:
    """Signs, and which coefficients are beyond the ends of the pieces."""
    b = np.where(np.abs(b) > 1e-9, b, 0.0)
    return tuple(map(tuple, (np.sign(b), np.abs(b) > lam, np.abs(b) > shape * lam)))


# ---------------------------------------------------------------------- options and ugly data


@pytest.mark.parametrize(("kind", "shape"), SHAPES)
def test_weights_are_factors_of_lambda(kind, shape):
    X, y = design(30, 8, 0.5, 4)
    weights = 10.0 ** np.linspace(-2, 2, 8)
    path = Homotopy(build(kind, shape, X, y, weights=weights)).trace()
    check_path(kind, shape, X, y, path, weights=weights)


@pytest.mark.parametrize(("kind", "shape"), SHAPES)
def test_an_intercept_is_what_centring_does(kind, shape):
    X, y = design(25, 8, 0.5, 4)
    X, y = X + np.arange(8.0), y + 100.0
    path = Homotopy(build(kind, shape, X, y, fit_intercept=True)).trace()
    Z, z = X - X.mean(axis=0), y - y.mean()
    check_path(kind, shape, Z, z, path)
    t = 0.3 * path.traced[0]
    f = path.decision_function(X, t)
    assert np.allclose(f, Z @ path.solution(t) + y.mean(), atol=1e-10)
    assert np.allclose(f, X @ path.solution(t) + path.intercept(t), atol=1e-10)


@pytest.mark.parametrize("offset", [1e5, 1e8, 2.0**40])
@pytest.mark.parametrize("kind", [MCP, SCAD])
def test_columns_far_from_0_keep_their_digits(kind, offset):
    """Two opposite columns and a third: without their digits Q bends downwards along the sum."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        x, z = rng.integers(0, 2, 9) * 1.0, rng.integers(0, 3, 9) * 1.0
        x[:2] = 0.0, 1.0
        X, y = np.column_stack([x, 1.0 - x, z]), rng.integers(-8, 9, 9) / 4.0
        options = {"fit_intercept": True, "standardize": True}
        near = Homotopy(kind(X, y, **options)).trace()
        far = Homotopy(kind(X + offset, y + offset, **options)).trace()
        assert near.certify().ok
        assert far.certify().ok
        t = np.linspace(0.0, 1.0, 20) * near.traced[0]
        assert far.traced[0] == pytest.approx(near.traced[0], rel=1e-12)
        assert np.abs(far.solution(t) - near.solution(t)).max() <= 1e-9
        intercept = far.intercept(t[5]) + float(offset * far.solution(t[5]).sum()) - offset
        assert intercept == pytest.approx(near.intercept(t[5]), abs=1e-14 * offset + 1e-9)


def test_a_column_that_varies_by_rounding_is_constant():
    X, y = design(20, 3, 0.2, 0)
    X[:, 1] = 0.3
    X[::2, 1] = 0.1 + 0.2
    path = Homotopy(MCP(X, y, fit_intercept=True)).trace()
    assert path.certify().ok
    assert not np.any(path.solution(np.linspace(*path.traced, 9))[:, 1])


@pytest.mark.parametrize("repeated", [0, 1])
@pytest.mark.parametrize("kind", [MCP, SCAD])
def test_a_constant_target_needs_no_coefficient(kind, repeated):
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((int(rng.integers(5, 30)), int(rng.integers(2, 60))))
        X = np.hstack([X, X[:, :repeated]])
        model = kind(X, np.full(len(X), 0.1), fit_intercept=True, standardize=True)
        path = Homotopy(model).trace()
        assert path.certify().ok
        assert not np.any(path.solution(np.linspace(*path.traced, 5)))
        assert path.intercept(0.5) == 0.1


def test_a_target_without_correlations_needs_no_coefficient():
    """Up to rounding, that is: as the lasso has it."""
    X = np.array([[0.1, 0.3], [0.7, 0.2], [0.3, 0.9], [0.4, 0.6]])
    y = np.linalg.svd(X)[0][:, 3]
    path = Homotopy(MCP(X, y, standardize=True)).trace()
    assert path.certify().ok
    assert not np.any(path.solution(np.linspace(*path.traced, 5)))


def test_the_objective_of_nothing_is_exactly_0():
    """A target of zeros: no term is larger than the rounding of a corner, squared."""
    X = np.random.default_rng(0).integers(-1, 2, size=(12, 4)).astype(float)
    weights = [1.2, 3.9e-4, 2151.0, 3.3]
    path = Homotopy(SCAD(X, np.zeros(12), weights=weights, fraction=0.01)).trace()
    assert path.objective(0.015) == 0.0
    assert path.certify().ok


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(("kind", "shape"), SHAPES)
def test_sparse_columns_give_the_same_path(kind, shape, intercept):
    X, y = design(30, 8, 0.5, 4)
    X[np.abs(X) < 0.7] = 0.0
    dense, sparse = (
        Homotopy(build(kind, shape, rows, y, fit_intercept=intercept)).trace()
        for rows in (X, sp.csc_matrix(X))
    )
    t = np.linspace(0.01, 1.0, 20) * dense.traced[0] * (1.0 - 1e-9)
    assert np.allclose(dense.solution(t), sparse.solution(t), atol=1e-9)


@pytest.mark.parametrize("sparse", [False, True])
def test_columns_of_q_one_by_one_give_the_same_path(monkeypatch, sparse):
    X, y = design(30, 20, 0.5, 4)
    options = {"gamma": 2.0, "fit_intercept": True}
    whole = Homotopy(MCP(X, y, **options)).trace()
    monkeypatch.setattr(penalties, "WHOLE", 5)
    parts = Homotopy(MCP(sp.csr_matrix(X) if sparse else X, y, **options)).trace()
    assert parts.certify().ok
    t = np.linspace(0.01, 1.0, 20) * whole.traced[0] * (1.0 - 1e-9)
    assert np.allclose(whole.solution(t), parts.solution(t), atol=1e-9)


@pytest.mark.parametrize(("kind", "shape"), SHAPES)
def test_standardized_columns_may_have_any_scale(kind, shape):
    X, y = design(30, 8, 0.5, 4)
    factor = 10.0 ** np.linspace(-6, 6, 8)
    one = Homotopy(build(kind, shape, X, y)).trace()
    path = Homotopy(build(kind, shape, X * factor, y, standardize=True)).trace()
    assert path.certify().ok
    t = np.linspace(0.01, 1.0, 20) * one.traced[0] * (1.0 - 1e-9)
    assert np.allclose(path.solution(t) * factor, one.solution(t), atol=1e-8)
    assert path.objective(t[3]) == pytest.approx(one.objective(t[3]), rel=1e-10)
    held_out = X[:5] * factor
    assert np.allclose(path.decision_function(held_out, t[3]), X[:5] @ one.solution(t[3]))


def test_large_columns_need_no_standardizing():
    X, y = design(30, 8, 0.5, 4)
    X = X * 10.0 ** np.linspace(0, 3, 8)
    check_path(MCP, 3.0, X, y, Homotopy(MCP(X, y)).trace())


SPOILS = ["twins", "opposite", "zero", "constant", "rows", "integers"]


@thinned("which, spoil", SHAPES, SPOILS)
def test_ugly_tables(which, spoil):
    kind, shape = which
    X, y = design(20, 9, 0.4, 11)
    if spoil == "integers":
        X, y = np.round(X), np.round(2.0 * y)
    elif spoil == "rows":
        X[10:], y[10:] = X[:10], y[:10]
    else:
        X[:, 4] = {"twins": X[:, 0], "opposite": -X[:, 0], "zero": 0.0, "constant": 1.0}[spoil]
    path = Homotopy(build(kind, shape, X, y)).trace()
    check_path(kind, shape, X, y, path)
    centred = Homotopy(build(kind, shape, X, y, fit_intercept=True)).trace()
    check_path(kind, shape, X - X.mean(axis=0), y - y.mean(), centred)
    if spoil == "zero" or spoil == "constant":
        assert np.all(centred.solution(np.linspace(0.0, centred.traced[0], 9))[:, 4] == 0.0)


@pytest.mark.parametrize("kind", [MCP, SCAD])
@pytest.mark.parametrize(("n", "p"), [(1, 1), (1, 5), (2, 1), (30, 1), (3, 40)])
def test_tiny_tables(kind, n, p):
    rng = np.random.default_rng(n + p)
    X, y = rng.standard_normal((n, p)), rng.standard_normal(n)
    for shape in (1.3, 3.0):
        check_path(kind, shape, X, y, Homotopy(build(kind, shape, X, y)).trace(), places=10)


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"X": np.full((5, 2), np.nan)}, DataError, r"X\[0, 0\] is nan"),
        ({"y": [1.0, 2.0, np.nan, 0.0, 1.0]}, DataError, r"y\[2\] is nan"),
        ({"y": [1.0, 2.0]}, DataError, "5 rows but y has shape"),
        ({"X": np.empty((0, 2))}, DataError, "empty"),
        ({"X": "text"}, DataError, "numeric"),
        ({"weights": [1.0]}, DataError, "2 columns but weights has shape"),
        ({"weights": [1.0, 0.0]}, DataError, r"weights\[1\] is 0"),
        ({"weights": [np.nan, 1.0]}, DataError, r"weights\[0\] is nan"),
        ({"weights": "heavy"}, DataError, "weights must be numeric"),
        ({"gamma": 0.0}, ModelError, "gamma must be positive"),
        ({"gamma": np.inf}, ModelError, "gamma must be positive and finite"),
        ({"fraction": 1.0}, ModelError, "fraction must be"),
        ({"lam": -0.1}, ModelError, "lam must not be negative"),
        ({"lam": "all"}, ModelError, "lam must be a number"),
        ({"fit_intercept": "yes"}, ModelError, "fit_intercept must be True or False"),
        ({"standardize": 2}, ModelError, "standardize must be True or False"),
        ({"X": 1e-6 * np.arange(10.0).reshape(5, 2)}, DataError, "standardize=True"),
    ],
)
def test_what_makes_no_sense_is_refused_with_a_reason(change, error, words):
    given = {"X": np.arange(10.0).reshape(5, 2), "y": np.arange(5.0)} | change
    with pytest.raises(error, match=words):
        MCP(**given)


def test_a_of_scad_is_more_than_one():
    with pytest.raises(ModelError, match="a must be more than 1"):
        SCAD([[1.0], [2.0]], [1.0, 2.0], a=1.0)


def test_new_rows_have_as_many_columns():
    X, y = design(10, 3, 0.0, 0)
    path = Homotopy(MCP(X, y)).trace()
    with pytest.raises(DataError, match="2 columns, the model 3"):
        path.decision_function(X[:, :2], path.traced[0])


# ---------------------------------------------------------------------- hostile


def hostile(seed: int) -> tuple[Any, float, Array, Array, dict[str, Any]]:
    """Repeated rows and columns, integers, zeros, constants, scales, weights over six decades."""
    rng = np.random.default_rng(seed)
    n, p, look = int(rng.integers(1, 41)), int(rng.integers(1, 25)), rng.integers(4)
    X = rng.standard_normal((n, p))
    if look == 0:
        X = rng.integers(-2, 3, (n, p)).astype(float)
    elif look == 1:
        X = rng.standard_normal((n, 1)) + 0.3 * X
    elif look == 2:
        X = (rng.random((n, p)) < 0.3).astype(float)
    if rng.random() < 0.4:
        for _ in range(rng.integers(1, 4)):
            one, other = rng.integers(p, size=2)
            X[:, one] = X[:, other] * rng.choice([1, -1, 2])
    if rng.random() < 0.3:
        X[rng.integers(n, size=max(1, n // 3))] = X[rng.integers(n)]
    if rng.random() < 0.3:
        X[rng.random(n) < 0.3] = 0.0
    if rng.random() < 0.4:
        X[:, rng.integers(p)] = rng.integers(2)
    y = rng.integers(-3, 4, n).astype(float) if rng.random() < 0.5 else rng.standard_normal(n)
    if rng.random() < 0.5:
        y = X @ np.round(rng.standard_normal(p) * (rng.random(p) < 0.3), 1) + 0.1 * y
    options: dict[str, Any] = {
        "fraction": float(rng.choice([0.0, 0.0, 0.01, 0.3])),
        "fit_intercept": bool(rng.integers(2)),
        "standardize": bool(rng.integers(2)),
    }
    if rng.random() < 0.3:
        options["weights"] = 10.0 ** rng.uniform(-3, 3, p)
    if options["standardize"] and rng.random() < 0.5:
        X = X * 10.0 ** rng.uniform(-6, 6, p)
    if rng.random() < 0.2:
        y = y * 10.0 ** rng.uniform(-6, 6)
    if rng.integers(2):
        return MCP, float(rng.choice([0.3, 0.9, 1.0, 1.2, 3.0, 10.0])), X, y, options
    return SCAD, float(rng.choice([1.1, 1.5, 2.0, 2.5, 3.7])), X, y, options


def survive(seeds: range) -> None:
    declined = traced = 0
    for seed in seeds:
        kind, shape, X, y, options = hostile(seed)
        model = build(kind, shape, sp.csr_matrix(X) if seed % 7 == 3 else X, y, **options)
        traced += 1
        try:
            path = Homotopy(model).trace()
        except TraceError:
            declined += 1
            continue
        Z, z = (X - X.mean(axis=0), y - y.mean()) if options["fit_intercept"] else (X, y)
        Z = Z * (np.abs(Z).max(axis=0) > 1e-12 * np.abs(X).max(axis=0))
        root = np.sqrt((Z**2).mean(axis=0)) if options["standardize"] else np.ones(X.shape[1])
        root[root == 0.0] = 1.0
        scaled = _Scaled(path, root)
        weights = options.get("weights", 1.0)
        check_path(kind, shape, Z / root, z, scaled, weights=weights, places=10)  # type: ignore[arg-type]
    assert declined <= 0.02 * traced


@attrs.frozen
class _Scaled:
    """A path with the coefficients of columns divided by `root`."""

    path: Path
    root: Array

    def solution(self, t: float, side: str) -> Array:
        return self.path.solution(t, side) * self.root

    def __getattr__(self, name: str) -> Any:
        return getattr(self.path, name)


def test_hostile_problems_in_short():
    survive(range(40))


@pytest.mark.slow
def test_three_hundred_hostile_problems():
    survive(range(40, 340))


# ---------------------------------------------------------------------- spoiled, saved, resumed


@pytest.fixture(scope="module")
def rugged() -> Path:
    X, y = design(20, 12, 0.9, 1)
    path = Homotopy(MCP(X, y, gamma=1.2)).trace()
    assert len(path.jumps) > 3
    assert path.certify().ok
    return path


@pytest.mark.parametrize("spoil", [a_break_point_dropped, two_rows_exchanged])
def test_a_spoiled_path_is_not_certified(rugged, spoil):
    spoiled = list(spoil(rugged))
    assert spoiled
    assert not any(bad.certify().ok for bad in spoiled)


def test_a_path_without_one_of_its_jumps_is_not_certified(rugged):
    for j in range(len(rugged.jumps)):
        jumps = rugged.jumps[:j] + rugged.jumps[j + 1 :]
        assert not attrs.evolve(rugged, jumps=jumps).certify().ok


def test_a_jump_that_rises_is_not_certified(rugged):
    jump = rugged.jumps[1]
    turned = attrs.evolve(
        jump, objective_before=jump.objective_after, objective_after=jump.objective_before
    )
    jumps = (rugged.jumps[0], turned, *rugged.jumps[2:])
    assert not attrs.evolve(rugged, jumps=jumps).certify().ok


def test_a_saddle_is_not_certified():
    """Of twins one alone is a local optimum; half of each meets every condition of first order."""
    x = np.array([1.0, -1.0, 1.0, -1.0])
    path = Homotopy(MCP(np.stack([x, x], axis=1), 2.0 * x, gamma=3.0, fraction=0.9)).trace()
    assert path.certify().ok
    assert path.traced == (2.0, 1.8)
    # Both on the knot "+": (2 - 1/3) alpha = 2 - lam.
    start, stop = np.zeros(2), np.full(2, 0.2 / (2.0 - 1.0 / 3.0))
    saddle = with_segments(
        path, start=[2.0], stop=[1.8], offset=[0, 2], active=np.arange(2), alpha_start=start,
        alpha_stop=stop, b_start=np.zeros((1, 0)), b_stop=np.zeros((1, 0)),
        event=np.zeros(2, int), changed=np.zeros(0, int), changed_to=np.zeros(0, int),
        first_piece=np.ones(2, int),
    )  # fmt: skip
    checks = {check.name: check for check in attrs.evolve(saddle, jumps=()).certify().checks}
    assert checks["polyline"].ok
    assert checks["gap"].ok
    assert not checks["curvature"].ok


def test_saved_and_pickled_paths_are_the_same(rugged, tmp_path):
    t = np.linspace(0.0, rugged.traced[0], 30)
    again = pickle.loads(pickle.dumps(rugged))
    assert np.array_equal(again.solution(t), rugged.solution(t))
    assert again.certify().ok
    rugged.save(tmp_path / "path.npz")
    loaded = Path.load(tmp_path / "path.npz", rugged.model)
    assert np.array_equal(loaded.solution(t), rugged.solution(t))
    assert loaded.certify().ok


def test_a_trace_that_is_stopped_at_every_break_point_goes_on_bit_for_bit(tmp_path):
    X, y = design(20, 12, 0.9, 1)
    model, file = MCP(X, y, gamma=1.2), tmp_path / "trace"
    whole = Homotopy(model).trace()
    path = Homotopy(model, max_breakpoints=1).trace(checkpoint=file, every=0.0)
    for count in range(2, len(whole.segments) + 2):
        path = Homotopy(model, max_breakpoints=count).resume(file, every=0.0)
    path = Homotopy(model).resume(file)
    t = np.linspace(0.0, whole.traced[0], 50)
    assert np.array_equal(path.solution(t), whole.solution(t))
    assert [jump.t for jump in path.jumps] == [jump.t for jump in whole.jumps]
    assert "descent" in {jump.solver for jump in whole.jumps}


def test_a_checkpoint_between_a_ridge_and_the_way_down_holds_the_ridge(tmp_path, monkeypatch):
    X, y = design(20, 12, 0.9, 1)
    model, file = MCP(X, y, gamma=1.2), tmp_path / "trace"
    whole = Homotopy(model).trace()

    class Killed(Exception):
        pass

    def die(self):
        advance(self)
        if self.jumps.ridge is not None:
            self.keeper.write(self)
            raise Killed

    advance = Run._advance
    with monkeypatch.context() as patch:
        patch.setattr(Run, "_advance", die)
        with pytest.raises(Killed):
            Homotopy(model).trace(checkpoint=file, every=1e9)
    path = Homotopy(model).resume(file)
    t = np.linspace(0.0, whole.traced[0], 50)
    assert np.array_equal(path.solution(t), whole.solution(t))
