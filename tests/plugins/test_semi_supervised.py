"""The semi-supervised SVM against libsvm, brute force over labelings, and ugly tables."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from grids import thinned
from hostile import faults
from oracles import Infeasible, kernel_matrix, solve_primal, square_root
from ramps import Branch, solve
from sklearn.svm import SVC

from homotopy import DataError, Homotopy, HomotopyError, Jump, Knot, LossModel, ModelError
from homotopy.testing import HostileProblem, check_plugin
from homotopy.testing.programs import Declared, Line
from homotopy_plugins import SemiSupervisedSVM

INF = np.inf
# libsvm keeps its kernel in single precision.
SINGLE = 2e-6


def two_clouds(labelled, free, seed, d=2, apart=1.2):
    """Two noisy clouds; of the first rows of each the labels are known."""
    rng = np.random.default_rng(seed)
    truth = np.where(rng.random(labelled + free) < 0.5, 1.0, -1.0)
    truth[:2] = 1.0, -1.0
    X = rng.normal(size=(labelled + free, d))
    X[:, 0] += apart * truth
    return X[:labelled], truth[:labelled], X[labelled:], truth[labelled:]


def objective(K, y, alpha, b, C, t):
    """From the formula: alpha holds the coefficients of f, labelled rows first."""
    f = K @ alpha + b
    n = y.size
    hinge, hat = np.maximum(0.0, 1.0 - y * f[:n]), np.maximum(0.0, 1.0 - np.abs(f[n:]))
    return 0.5 * alpha @ K @ alpha + C * hinge.sum() + t * hat.sum()


def conditional(K, y, sides, C, t, intercept, solver):
    """The optimum with every unlabelled row on the side given: value and f."""
    n, m = y.size, sides.size
    labelled = [((-C * yi, C), (0.0, 0.0)) for yi in y]
    free = [((-t * s, t), (0.0, 0.0)) for s in sides]
    low = np.concatenate([np.full(n, -INF), np.where(sides > 0, 0.0, -INF)])
    high = np.concatenate([np.full(n, INF), np.where(sides > 0, INF, 0.0)])
    B = np.ones((n + m, 1)) if intercept else np.zeros((n + m, 0))
    if solver == "osqp":
        branches = [Branch(*row) for row in zip(low, high, labelled + free, strict=True)]
        found = solve(K, B, branches)
    else:
        target = np.zeros(B.shape[1])
        found = solve_primal(
            square_root(K), B, target, [list(p) for p in labelled + free], low, high
        )
    return found.value, found.u


# ---------------------------------------------------------------------- peers


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
def test_it_begins_with_the_plain_svm(kernel, C):
    X, y, free, _ = two_clouds(30, 40, 0)
    options = {"kernel": kernel, "gamma": 0.5}
    model = SemiSupervisedSVM(X, y, free, C=C, C_unlabelled=0.5, fit_intercept=True, **options)
    path = Homotopy(model).trace()
    svc = SVC(C=C, tol=1e-10, **options).fit(X, y)
    for rows in (X, free):
        ours = path.decision_function(rows, 0.0)
        np.testing.assert_allclose(ours, svc.decision_function(rows), rtol=0, atol=SINGLE)
    assert path.complete
    assert path.certify().ok


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("intercept", [False, True])
def test_every_point_is_the_optimum_of_its_own_labeling(kernel, intercept):
    X, y, free, _ = two_clouds(12, 20, 1)
    model = SemiSupervisedSVM(
        X, y, free, C=2.0, C_unlabelled=1.5, kernel=kernel, gamma=0.5, fit_intercept=intercept
    )
    path = Homotopy(model).trace()
    K = kernel_matrix(np.vstack([X, free]), np.vstack([X, free]), kernel, 0.5)
    sign = np.concatenate([y, np.ones(20)])
    for t in np.linspace(0.01, 1.49, 50):
        f = sign * path.response(t)
        value, found = conditional(K, y, np.sign(f[12:]), 2.0, t, intercept, "osqp")
        own = objective(K, y, sign * path.alpha(t), path.intercept(t), 2.0, t)
        assert path.objective(t) == pytest.approx(own, rel=1e-9)
        assert value == pytest.approx(own, rel=1e-7)
        np.testing.assert_allclose(found, f, rtol=0, atol=1e-4)
    assert path.certify().ok


def compared_with_all_labelings(seed, intercept):
    """How much better the best of all 2^8 labelings is than the path, relative, at three t."""
    X, y, free, _ = two_clouds(6, 8, seed, apart=0.7)
    model = SemiSupervisedSVM(
        X, y, free, C=1.0, C_unlabelled=1.0, kernel="rbf", gamma=0.3, fit_intercept=intercept
    )
    path = Homotopy(model).trace()
    assert path.complete
    assert path.certify().ok
    rows = np.vstack([X, free])
    K, sign = kernel_matrix(rows, rows, "rbf", 0.3), np.concatenate([y, np.ones(8)])
    gains = []
    for t in (0.2, 0.5, 1.0):
        f = sign * path.response(t)
        here = path.objective(t)
        values = []
        for sides in itertools.product((-1.0, 1.0), repeat=8):
            try:
                values.append(conditional(K, y, np.array(sides), 1.0, t, intercept, "daqp")[0])
            except Infeasible:
                continue
        own = conditional(K, y, np.where(f[6:] > 0, 1.0, -1.0), 1.0, t, intercept, "daqp")[0]
        assert own == pytest.approx(here, rel=1e-8)
        # Nothing is better than the best of all labelings, and its own is one of them.
        assert min(values) <= here * (1.0 + 1e-8)
        gains.append((here - min(values)) / here)
    return gains


@pytest.mark.parametrize("intercept", [False, True])
def test_brute_force_over_all_labelings(intercept):
    gains = np.array([compared_with_all_labelings(seed, intercept) for seed in range(3)])
    # Local optima, of which most are global at this size (see the docs for how many).
    assert np.mean(gains < 1e-8) >= 0.5


@pytest.mark.slow
def test_how_often_the_path_is_at_the_global_optimum():
    gains = np.array([compared_with_all_labelings(seed, True) for seed in range(20)])
    often = np.mean(gains < 1e-8, axis=0)
    # 18, 16 and 13 of 20 at C* = 0.2, 0.5 and 1: the path is local, and the more so the further.
    np.testing.assert_array_less([0.85, 0.7, 0.5], often)


# ---------------------------------------------------------------------- the balance


@thinned(
    "kernel, balance, intercept",
    ["rbf", "linear", "poly", "precomputed"],
    [True, 0.2, 0.0, -0.5],
    [False, True],
)
def test_the_mean_over_unlabelled_rows_is_kept(kernel, balance, intercept):
    X, y, free, _ = two_clouds(9, 15, 2)
    rows = np.vstack([X, free])
    given = (X, free)
    if kernel == "precomputed":
        K = kernel_matrix(rows, rows, "rbf", 0.5)
        given = (K[:9], K[9:])
    model = SemiSupervisedSVM(
        given[0], y, given[1], C=2.0, C_unlabelled=1.0, balance=balance, kernel=kernel, gamma=0.5,
        coef0=1.0, fit_intercept=intercept,
    )  # fmt: skip
    path = check_plugin(model)
    wanted = y.mean() if balance is True else balance
    for t in np.linspace(0.0, 1.0, 7):
        f = path.decision_function(given[1], t)
        assert f.mean() == pytest.approx(wanted, abs=1e-9)
        u = path.response(t)
        np.testing.assert_allclose(f, u[9:24], rtol=0, atol=1e-9)
        np.testing.assert_allclose(path.decision_function(given[0], t), y * u[:9], atol=1e-9)
    several = path.decision_function(given[1], np.array([0.3, 0.9]))
    np.testing.assert_allclose(several[1], path.decision_function(given[1], 0.9), atol=1e-10)


def test_the_balance_is_the_constrained_optimum():
    X, y, free, _ = two_clouds(9, 15, 2)
    rows = np.vstack([X, free, free.mean(axis=0)])
    model = SemiSupervisedSVM(
        X, y, free, C=2.0, C_unlabelled=1.0, balance=0.3, kernel="linear", fit_intercept=True
    )
    path = Homotopy(model).trace()
    Q, B = rows @ rows.T, np.ones((25, 1))
    for t in np.linspace(0.02, 1.0, 25):
        f = np.concatenate([y, np.ones(16)]) * path.response(t)
        branches = [Branch(-INF, INF, ((-2.0 * yi, 2.0), (0.0, 0.0))) for yi in y]
        for value in f[9:24]:
            low, high = (0.0, INF) if value > 0 else (-INF, 0.0)
            branches.append(Branch(low, high, ((-t * np.sign(value), t), (0.0, 0.0))))
        branches.append(Branch(0.3, 0.3, ((0.0, 0.0),)))
        assert solve(Q, B, branches).value == pytest.approx(path.objective(t), rel=1e-7)


# ---------------------------------------------------------------------- inputs


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
@pytest.mark.parametrize("data", ["normal", "integer", "stacked"])
def test_conformance(kernel, intercept, data):
    X, y, free, _ = two_clouds(10, 20, 3)
    if data == "integer":
        X, free = np.round(X), np.round(free)
    if data == "stacked":
        free = np.vstack([free, X, X])
    model = SemiSupervisedSVM(
        X, y, free, C=1.0, C_unlabelled=2.0, kernel=kernel, gamma=0.5, coef0=1.0,
        fit_intercept=intercept,
    )  # fmt: skip
    assert check_plugin(model).complete


def test_sparse_rows_are_the_same_rows():
    X, y, free, _ = two_clouds(10, 20, 3)
    X[np.abs(X) < 0.5], free[np.abs(free) < 0.5] = 0.0, 0.0
    for balance in (False, 0.1):
        options = {"C": 1.0, "C_unlabelled": 1.0, "kernel": "linear", "balance": balance}
        dense = Homotopy(SemiSupervisedSVM(X, y, free, **options)).trace()
        thin = Homotopy(SemiSupervisedSVM(sp.csr_matrix(X), y, free, **options)).trace()
        assert thin.certify().ok
        np.testing.assert_allclose(thin.breakpoints, dense.breakpoints, atol=1e-9)
        np.testing.assert_allclose(
            thin.decision_function(sp.csr_matrix(free), 0.5), dense.decision_function(free, 0.5)
        )


def test_labels_of_any_kind_and_validation():
    X, y, free, truth = two_clouds(10, 60, 4)
    names = np.where(y > 0, "yes", "no")
    model = SemiSupervisedSVM(X, names, free, C=1.0, C_unlabelled=0.5, fit_intercept=True)
    path = Homotopy(model).trace()
    curve = path.validation_curve(free, np.where(truth > 0, "yes", "no"))
    errors = np.mean(np.sign(path.decision_function(free, 0.3)) != truth)
    assert curve(0.3) == pytest.approx(errors)
    with pytest.raises(DataError, match=r"held-out label .*neither of the two classes"):
        path.validation_curve(free, np.full(60, "maybe"))


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"y": [1, 1, 1]}, DataError, "y has one class"),
        ({"y": [1, 2, 3]}, DataError, "SemiSupervisedSVM separates two"),
        ({"y": [1, 2]}, DataError, "X has 3 rows but y has shape"),
        ({"X_unlabelled": [[1.0]]}, DataError, "X has 2 columns but X_unlabelled has 1"),
        ({"X_unlabelled": np.empty((0, 2))}, DataError, "X is empty"),
        ({"X_unlabelled": [[np.nan, 1.0]]}, DataError, "is nan; impute or drop"),
        ({"C": 0.0}, ModelError, "C must be positive"),
        ({"C_unlabelled": -1.0}, ModelError, "C_unlabelled must be positive and finite, got -1"),
        ({"C_unlabelled": None}, ModelError, "C_unlabelled must be a number, got None"),
        ({"balance": np.inf}, ModelError, "balance must be finite"),
        ({"balance": "half"}, ModelError, "balance must be a number, got 'half'"),
        ({"sample_weight": [1.0, 1.0, 1.0]}, DataError, "sample_weight has shape"),
        ({"kernel": "none"}, ModelError, "kernel must be one of"),
    ],
)
def test_bad_input(changes, error, message):
    X, free = [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [[0.5, 0.5], [2.0, 2.0]]
    given = {"X": X, "y": [0, 1, 1], "X_unlabelled": free, "C": 1.0, "C_unlabelled": 1.0} | changes
    with pytest.raises(error, match=message):
        SemiSupervisedSVM(**given)


def test_another_c_on_the_same_columns():
    X, y, free, _ = two_clouds(8, 10, 5)
    model = SemiSupervisedSVM(X, y, free, C=1.0, C_unlabelled=1.0, balance=True)
    other = Homotopy(model.varied(C=3.0)).trace()
    anew = SemiSupervisedSVM(X, y, free, C=3.0, C_unlabelled=1.0, balance=True)
    assert model.varied(C=3.0).gram is model.gram
    np.testing.assert_allclose(other.breakpoints, Homotopy(anew).trace().breakpoints, atol=1e-9)


# ---------------------------------------------------------------------- ugly tables


def ugly(seed):
    rng = np.random.default_rng([7, seed])
    n, m, d = (
        int(rng.choice([2, 5, 12])),
        int(rng.choice([1, 2, 8, 25])),
        int(rng.choice([1, 2, 9])),
    )
    X, y, free, _ = two_clouds(n, m, seed, d)
    rows, notes = np.vstack([X, free]), []

    def with_chance(part, what):
        happens = bool(rng.random() < part)
        if happens:
            notes.append(what)
        return happens

    if with_chance(0.3, "integers"):
        rows = np.round(rows)
    if with_chance(0.25, "unlabelled copies of labelled rows"):
        rows[n : 2 * n] = rows[: min(m, n)]
    if with_chance(0.25, "repeated rows"):
        rows[-(m // 2 + 1) :] = rows[-1]
    if with_chance(0.15, "zero rows"):
        rows[::4] = 0.0
    if with_chance(0.15, "symmetric"):
        rows[n + m // 2 :] = -rows[n : n + m - m // 2]
    if with_chance(0.15, "constant column"):
        rows[:, -1] = 2.0
    if with_chance(0.25, "scaled"):
        rows = rows * 10.0 ** rng.uniform(-6, 6)
    weights = None
    if with_chance(0.25, "weights over six decades"):
        weights = 10.0 ** rng.uniform(-3, 3, size=n + m)
        if with_chance(0.5, "some of them 0"):
            weights[2::3] = 0.0
    square = float((rows**2).sum(axis=1).mean()) or 1.0
    options = {
        "C": float(rng.choice([1.0, 10.0, 10.0 ** rng.uniform(-4, 5)])),
        "C_unlabelled": float(rng.choice([1.0, 10.0 ** rng.uniform(-3, 3)])),
        "kernel": str(rng.choice(["linear", "rbf"])),
        "gamma": 1.0 / square,
        "fit_intercept": bool(rng.random() < 0.6),
        "sample_weight": weights,
    }
    return rows[:n], y, rows[n:], options, ", ".join(notes)


def stated(X, y, free, options):
    """The problem for the oracle, typed again."""
    n, m = len(X), len(free)
    rows, sign = np.vstack([X, free]), np.concatenate([y, np.ones(m)])
    weight = np.ones(n + m) if options["sample_weight"] is None else options["sample_weight"]
    hinge = np.append(options["C"] * weight[:n], np.zeros(m))
    hat = np.append(np.zeros(n), weight[n:])
    form = {"features": sign[:, None] * rows}
    if options["kernel"] == "rbf":
        form = {"Q": kernel_matrix(rows, rows, "rbf", options["gamma"]) * np.outer(sign, sign)}
    slopes = [Line(hinge), Line(hinge, -hat), Line(hinge, hat), Line(0.0)]
    corners = [(Knot, Line(-1.0)), (Jump, Line(0.0)), (Knot, Line(1.0))]
    border = sign[:, None] if options["fit_intercept"] else None
    span = (0.0, options["C_unlabelled"])
    return Declared(form, span, slopes, corners, border=border), form


def run_ugly(seeds):
    wrong, declined = [], []
    for seed in seeds:
        X, y, free, options, notes = ugly(seed)
        name = f"{seed}: {notes}, {options['kernel']}, n = {len(X)} + {len(free)}"
        try:
            path = Homotopy(SemiSupervisedSVM(X, y, free, **options)).trace()
        except HomotopyError as error:
            declined.append(f"{name}: {error}")
            continue
        tables, form = stated(X, y, free, options)
        found = [f"certificate: {c.name} {c.worst:.1e}" for c in path.certify().checks if not c.ok]
        with np.errstate(all="ignore"):
            found += faults(HostileProblem(seed, name, tables, form), path)[0]
        if found or not path.complete:
            wrong.append(f"{name}: {'; '.join(found)}")
    return wrong, declined


def test_ugly_tables():
    wrong, declined = run_ugly(range(60))
    assert not wrong, "\n".join(wrong)
    assert len(declined) <= 1, "\n".join(declined)


@pytest.mark.slow
def test_many_ugly_tables():
    wrong, declined = run_ugly(range(300))
    assert not wrong, "\n".join(wrong)
    assert len(declined) <= 6, "\n".join(declined)


# ---------------------------------------------------------------------- what is left of f


def lopsided(size):
    """Unlabelled rows that all want to one side, and a mean that holds them with all their weight:
    the coefficients of f are what is left of `size`."""
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.normal(size=12), np.full(12, 57000.0)])
    y = np.array([1.0, 1.0, 1.0, -1.0, 1.0, 1.0])
    options = {"balance": True, "kernel": "linear", "fit_intercept": False}
    return SemiSupervisedSVM(X[:6], y, X[6:], C=1e-3, C_unlabelled=size, **options)


def mean_of_f(path, t):
    """By the formula, in twice the digits or nearly."""
    model, alpha = path.model, path.alpha(t).astype(np.longdouble)
    X, n = model.X.astype(np.longdouble), model.labelled
    weights = alpha[:-1] * model.sign
    weights[n:] += alpha[-1] / (len(X) - n)
    return float((X[n:] @ (X.T @ weights)).mean() + path.intercept(t))


@pytest.mark.parametrize("size", [1e-6, 1e-4, 1.0, 1e3, 1e6, 1e9])
def test_a_mean_that_is_lost_to_rounding_is_not_certified(size):
    model = lopsided(size)
    try:
        path = Homotopy(model).trace()
    except HomotopyError:
        assert size > 1e-4
        return
    certificate = path.certify()
    assert certificate.ok
    assert "predictions" in str(certificate)
    for t in np.linspace(0.0, size, 7):
        assert mean_of_f(path, t) == pytest.approx(model.balance, abs=1e-5)


@pytest.mark.filterwarnings("ignore::homotopy.RoundingWarning")
def test_predictions_are_what_tells(monkeypatch):
    monkeypatch.setattr(SemiSupervisedSVM, "residuals", LossModel.residuals)
    path = Homotopy(lopsided(1e9)).trace()
    assert path.certify().ok
    assert abs(mean_of_f(path, 1e9) - path.model.balance) > 1e-2
    monkeypatch.undo()
    assert [c.name for c in path.certify().checks if not c.ok] == ["predictions"]
