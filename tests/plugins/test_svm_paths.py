"""The convex SVM paths against scikit-learn's machines and DAQP, their inputs, their ends.

libsvm keeps its kernel in single precision and stops at a tolerance.  So its dual objective, worked
out in double precision, must never be below ours and hardly above, and its function must be as near
to ours as that allows: with ``h`` the difference of objectives, ``|w - w'|^2 <= 2 h``.
"""

from __future__ import annotations

import importlib
import pickle
import tomllib
from pathlib import Path as File

import numpy as np
import pytest
import scipy.sparse as sp
from oracles import solve_qp
from sklearn.metrics import confusion_matrix
from sklearn.svm import SVC, SVR, LinearSVC, NuSVC, OneClassSVM
from toys import certified

from homotopy import DataError, ModelError, PathError
from homotopy.testing import check_plugin
from homotopy_plugins import NuSVCPath, OneClassPath, ROCCurve, ROCPath, SVMPath

KERNELS = ("rbf", "linear", "sparse", "precomputed")
GAMMA = 0.4
LIBSVM = {"gamma": GAMMA, "tol": 1e-10, "max_iter": 2_000_000}


def table(n=50, d=3, seed=0, doubled=False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.where(X[:, 0] + 0.6 * rng.normal(size=n) > 0.2, 1.0, -1.0)
    if doubled:
        X, y = np.vstack([X, X[: n // 2]]), np.append(y, y[: n // 2])
    target = np.sin(2.0 * X[:, 0]) + X[:, -1] + 0.3 * rng.normal(size=X.shape[0])
    return X, y, target, rng.normal(size=(20, d))


def matrix(X, Z, kernel):
    """The kernel between two sets of rows."""
    dot = X @ Z.T
    if kernel != "rbf":
        return dot
    return np.exp(-GAMMA * ((X[:, None, :] - Z[None, :, :]) ** 2).sum(axis=2))


def views(X, Z, kernel):
    """Options, training rows and new rows as a model takes them, and the kernel matrices."""
    K, new = matrix(X, X, kernel), matrix(Z, X, kernel)
    if kernel == "precomputed":
        return {"kernel": kernel}, K, new, K, new
    options = {"kernel": "rbf", "gamma": GAMMA} if kernel == "rbf" else {"kernel": "linear"}
    if kernel == "sparse":
        return options, sp.csr_matrix(X), sp.csr_matrix(Z), K, new
    return options, X, Z, K, new


def coefficients(machine, n):
    alpha = np.zeros(n)
    found = machine.dual_coef_
    alpha[machine.support_] = (found.toarray() if sp.issparse(found) else found)[0]
    return alpha


def near(ours, theirs, mine, other, K, new, value, scale=1.0, *, free=False):
    """Objectives and functions agree as far as libsvm can; `ours`, `theirs` are coefficients,
    `mine`, `other` values at new rows, `value` the dual objective to be minimised."""
    here, there = value(ours), value(theirs)
    size = 1.0 + abs(here) + 0.5 * float(ours @ K @ ours)
    excess = there - here
    assert -1e-9 * size <= excess <= 1e-6 * size, f"objectives {here!r} and {there!r}"
    apart = new @ (ours - theirs)
    assert np.abs(apart).max() <= np.sqrt(2.0 * max(excess, 0.0) + 1e-12 * size) * 10.0
    off = (mine - other / scale) * scale
    # Where all alphas are at their ends, every intercept of an interval is as good.
    off = off - off.mean() if free else off
    assert np.abs(off).max() <= 2e-3 * (1.0 + np.abs(other).max()), np.abs(off).max()
    return float(np.median(np.abs(off)))


# ---------------------------------------------------------------------- libsvm at fifty values


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kernel", KERNELS)
def test_classification_along_C(kernel, weighted):
    X, y, _, Z = table(doubled=True)
    options, rows, fresh, K, new = views(X, Z, kernel)
    weight = np.random.default_rng(1).uniform(0.0, 3.0, y.size) if weighted else None
    path = certified(SVMPath(rows, y, C=(0.01, 100.0), sample_weight=weight, **options))
    typical = []
    for C in np.geomspace(0.011, 99.0, 50):
        machine = SVC(C=C, kernel=options["kernel"], **LIBSVM).fit(rows, y, sample_weight=weight)
        typical.append(
            near(
                path.alpha(C) * y,
                coefficients(machine, y.size),
                path.decision_function(fresh, C),
                machine.decision_function(fresh),
                K,
                new,
                lambda a: 0.5 * a @ K @ a - a @ y,
                free=path.partition(C)["E"].size == 0,
            )
        )
    assert np.median(typical) < 2e-5


@pytest.mark.parametrize("epsilon", [0.0, 0.2])
@pytest.mark.parametrize("kernel", KERNELS)
def test_regression_along_C(kernel, epsilon):
    X, _, target, Z = table()
    options, rows, fresh, K, new = views(X, Z, kernel)
    path = certified(SVMPath(rows, target, kind="svr", epsilon=epsilon, C=(0.01, 30.0), **options))
    typical = []
    for C in np.geomspace(0.011, 29.0, 50):
        machine = SVR(C=C, kernel=options["kernel"], epsilon=epsilon, **LIBSVM).fit(rows, target)
        inside = np.abs(path.alpha(C))
        typical.append(
            near(
                path.alpha(C),
                coefficients(machine, target.size),
                path.decision_function(fresh, C),
                machine.predict(fresh),
                K,
                new,
                lambda a: 0.5 * a @ K @ a - a @ target + epsilon * np.abs(a).sum(),
                free=not np.any((inside > 1e-9 * C) & (inside < C * (1.0 - 1e-9))),
            )
        )
    assert np.median(typical) < 2e-5


@pytest.mark.parametrize("kernel", KERNELS)
def test_classification_along_the_share_of_a_class(kernel):
    X, y, _, Z = table(seed=2)
    options, rows, fresh, K, new = views(X, Z, kernel)
    path = certified(ROCPath(rows, y, C=2.0, share=(0.0, 1.0), **options))
    for share in np.linspace(0.01, 0.99, 50):
        costs = {1.0: 2.0 * share, -1.0: 2.0 * (1.0 - share)}
        machine = SVC(C=2.0, kernel=options["kernel"], class_weight=costs, **LIBSVM).fit(rows, y)
        near(
            path.alpha(share) * y,
            coefficients(machine, y.size),
            path.decision_function(fresh, share),
            machine.decision_function(fresh),
            K,
            new,
            lambda a: 0.5 * a @ K @ a - a @ y,
            free=path.partition(share)["E"].size == 0,
        )


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
def test_one_class_along_nu(kernel, weighted):
    X, _, _, Z = table(doubled=True, seed=3)
    if kernel == "precomputed":
        X, Z = X + 2.0, Z + 2.0
    options, rows, fresh, K, new = views(X, Z, kernel)
    weight = np.random.default_rng(1).uniform(0.1, 3.0, X.shape[0]) if weighted else None
    path = certified(OneClassPath(rows, nu=(1.0, 0.01), sample_weight=weight, **options))
    for nu in np.linspace(0.015, 0.985, 50):
        machine = OneClassSVM(nu=nu, kernel=options["kernel"], **LIBSVM | {"tol": 1e-7})
        machine.fit(rows, sample_weight=weight)
        near(
            path.alpha(nu),
            coefficients(machine, X.shape[0]),
            path.decision_function(fresh, nu),
            machine.decision_function(fresh),
            K,
            new,
            lambda a: 0.5 * a @ K @ a,
            free=path.partition(nu)["edge"].size == 0,
        )
        assert path.objective(nu) == pytest.approx(-0.5 * path.alpha(nu) @ K @ path.alpha(nu))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "precomputed"])
def test_two_classes_along_nu(kernel, weighted):
    X, y, _, Z = table(doubled=True, seed=4)
    options, rows, fresh, K, new = views(X, Z, kernel)
    weight = np.random.default_rng(1).uniform(0.1, 3.0, y.size) if weighted else None
    model = NuSVCPath(rows, y, nu=(None, 0.1), sample_weight=weight, **options)
    path = certified(model)
    compared = 0
    for nu in np.linspace(0.11, 0.995 * model.largest_nu, 50):
        rho = model.rho(path, nu)
        if rho < 1e-2:
            # libsvm divides by rho, which it knows to single precision.
            continue
        machine = NuSVC(nu=nu, kernel=options["kernel"], **LIBSVM | {"tol": 1e-8})
        machine.fit(rows, y, sample_weight=weight)
        theirs = coefficients(machine, y.size)
        near(
            path.alpha(nu) * y,
            theirs * path.alpha(nu).sum() / np.abs(theirs).sum(),
            path.decision_function(fresh, nu),
            machine.decision_function(fresh),
            K,
            new,
            lambda a: 0.5 * a @ K @ a,
            scale=1.0 / rho,
        )
        compared += 1
    assert compared >= 25


# ---------------------------------------------------------------------- a peer in double precision


def dual_optimum(Q, linear, low, high, border, target):
    """alpha by DAQP."""
    n = len(linear)
    A = np.vstack([np.eye(n), border.T])
    return solve_qp(Q, linear, A, np.append(low, target), np.append(high, target))


@pytest.mark.parametrize("intercept", [False, True])
def test_classification_to_ten_digits(intercept):
    X, y, _, Z = table(30, seed=5)
    K, new = matrix(X, X, "rbf"), matrix(Z, X, "rbf")
    Q, B = K * np.outer(y, y), y[:, None] if intercept else np.zeros((30, 0))
    options = {"gamma": GAMMA, "fit_intercept": intercept}
    path = certified(SVMPath(X, y, C=(0.01, 1e3), **options))
    for C in np.geomspace(0.01, 1e3, 50):
        alpha = dual_optimum(Q, -np.ones(30), np.zeros(30), np.full(30, C), B, np.zeros(B.shape[1]))
        value = 0.5 * alpha @ Q @ alpha - alpha.sum()
        assert -path.objective(C) == pytest.approx(value, rel=1e-8)
        f = path.decision_function(Z, C) - path.intercept(C)
        np.testing.assert_allclose(f, new @ (alpha * y), atol=1e-6 * (1.0 + np.abs(f).max()))


def test_the_linear_machine_without_an_intercept():
    X, y, _, Z = table(seed=6)
    path = certified(SVMPath(X, y, C=(0.01, 10.0), kernel="linear", fit_intercept=False))
    for C in np.geomspace(0.01, 10.0, 10):
        machine = LinearSVC(C=C, loss="hinge", fit_intercept=False, tol=1e-9, max_iter=10**7)
        other = machine.fit(X, y).decision_function(Z)
        np.testing.assert_allclose(path.decision_function(Z, C), other, atol=1e-5)


def test_nu_and_one_class_to_eight_digits():
    X, y, _, _ = table(30, seed=7)
    K, one = matrix(X, X, "rbf"), np.ones((30, 1))
    single = certified(OneClassPath(X, gamma=GAMMA, nu=(1.0, 0.02)))
    model = NuSVCPath(X, y, gamma=GAMMA, nu=(None, 0.02))
    double, Q = certified(model), K * np.outer(y, y)
    zero, full = np.zeros(30), np.ones(30)
    for nu in np.linspace(0.02, 0.98, 50):
        alpha = dual_optimum(K, zero, zero, full, one, [30 * nu])
        assert -single.objective(nu) == pytest.approx(0.5 * alpha @ K @ alpha, rel=1e-8)
        nu *= model.largest_nu
        if nu >= 0.02:
            alpha = dual_optimum(Q, zero, zero, full, np.column_stack([y, full]), [0.0, 30 * nu])
            value = 0.5 * alpha @ Q @ alpha
            assert -double.objective(nu) == pytest.approx(value, rel=1e-7, abs=1e-9)


def test_nu_and_C_are_one_path_under_two_names():
    X, y, _, Z = table(seed=8)
    model = NuSVCPath(X, y, gamma=GAMMA, nu=(None, 0.1))
    path = certified(model)
    costs = certified(SVMPath(X, y, gamma=GAMMA, C=(1e-3, 1e4)))
    for nu in np.linspace(0.11, 0.99 * model.largest_nu, 20):
        rho = model.rho(path, nu)
        np.testing.assert_allclose(
            path.decision_function(Z, nu) / rho, costs.decision_function(Z, 1.0 / rho), atol=1e-7
        )


# ---------------------------------------------------------------------- extremes


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("kind", ["svc", "svr"])
@pytest.mark.parametrize("separable", [False, True])
def test_C_up_to_ten_million(kind, kernel, separable):
    X, y, target, _ = table(40, doubled=True)
    if separable:
        y, target = np.where(X[:, 0] > 0.0, 1.0, -1.0), X @ [1.0, -2.0, 0.5]
    path = certified(
        SVMPath(X, y if kind == "svc" else target, kind=kind, C=(1e-3, 1e7), kernel=kernel)
    )
    assert path.traced == (1e-3, 1e7)


def test_the_path_of_C_may_be_travelled_backwards():
    X, y, _, Z = table()
    there, back = (certified(SVMPath(X, y, C=span)) for span in ((0.1, 10.0), (10.0, 0.1)))
    for C in (0.1, 0.5, 2.0, 10.0):
        np.testing.assert_allclose(
            there.decision_function(Z, C), back.decision_function(Z, C), atol=1e-9
        )


def test_paths_of_nu_begin_anywhere():
    X, y, _, Z = table(seed=14)
    whole = certified(OneClassPath(X, nu=(1.0, 0.05), gamma=GAMMA))
    for span in ((0.5, 0.2), (0.05, 1.0)):
        part = certified(OneClassPath(X, nu=span, gamma=GAMMA))
        np.testing.assert_allclose(
            part.decision_function(Z, 0.3), whole.decision_function(Z, 0.3), atol=1e-9
        )
    whole = certified(NuSVCPath(X, y, nu=(None, 0.05), gamma=GAMMA))
    for span in ((0.4, 0.2), (0.05, None)):
        part = certified(NuSVCPath(X, y, nu=span, gamma=GAMMA))
        np.testing.assert_allclose(
            part.decision_function(Z, 0.3), whole.decision_function(Z, 0.3), atol=1e-9
        )


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_scaled_features_scale_C(scale):
    X, y, _, Z = table()
    plain = certified(SVMPath(X, y, C=(0.1, 10.0), kernel="linear"))
    span = (0.1 / scale**2, 10.0 / scale**2)
    scaled = certified(SVMPath(scale * X, y, C=span, kernel="linear"))
    for C in (0.2, 1.0, 9.0):
        np.testing.assert_allclose(
            plain.decision_function(Z, C),
            scaled.decision_function(scale * Z, C / scale**2),
            atol=1e-8,
        )


@pytest.mark.parametrize(
    "X",
    [
        np.zeros((6, 2)),
        np.ones((6, 2)),
        np.repeat(np.eye(2), 3, axis=0),
        np.array([[1, 2], [2, 1], [1, 2], [3, 3], [0, 0], [2, 1]]),
        np.random.default_rng(0).normal(size=(6, 40)),
        np.array([["1", "2"]] * 6, dtype=object).astype(float),
    ],
)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_degenerate_tables(X, kernel):
    y = np.array([0, 1, 1, 0, 1, 0])
    for model in (
        SVMPath(X, y, kernel=kernel),
        SVMPath(X, y, kernel=kernel, fit_intercept=False),
        SVMPath(X, 1.0 * y, kind="svr", kernel=kernel),
        ROCPath(X, y, C=1.0, kernel=kernel, share=(0.0, 1.0)),
        OneClassPath(X, kernel=kernel),
        NuSVCPath(X, y, kernel=kernel),
    ):
        certified(model)


def test_one_row():
    for model in (SVMPath([[2.0]], [3.0], kind="svr", kernel="linear"), OneClassPath([[2.0]])):
        assert certified(model).complete
    with pytest.raises(DataError, match=r"one class \(1\); \w+ separates two"):
        SVMPath([[2.0]], [1])


@pytest.mark.parametrize(
    ("kernel", "intercept"), [("linear", False), ("rbf", True), ("poly", True)]
)
def test_conformance(kernel, intercept):
    X, y, target, _ = table(24, doubled=True)
    options = {"kernel": kernel, "gamma": 0.5, "coef0": 1.0}
    check_plugin(SVMPath(X, y, fit_intercept=intercept, **options))
    check_plugin(SVMPath(X, target, kind="svr", fit_intercept=intercept, **options))
    check_plugin(ROCPath(X, y, C=1.0, fit_intercept=intercept, **options))
    check_plugin(OneClassPath(X, **options))
    check_plugin(NuSVCPath(X, y, **options))


# ---------------------------------------------------------------------- rates


@pytest.mark.parametrize("kernel", KERNELS)
def test_rates_are_those_of_the_predictions_at_every_place(kernel):
    X, y, _, _ = table(seed=9)
    Z, truth, _, _ = table(40, seed=10)
    options, rows, fresh, _, _ = views(X, Z, kernel)
    path = certified(ROCPath(rows, y, C=1.0, share=(0.0, 1.0), **options))
    curve = ROCCurve.of(path, fresh, truth)
    assert curve(0.0) == (0.0, 0.0)
    assert curve(1.0) == (1.0, 1.0)
    assert (curve.start[1:] == curve.stop[:-1]).all()
    for start, stop, false, true in zip(
        curve.start, curve.stop, curve.false_positive_rate, curve.true_positive_rate, strict=True
    ):
        for part in (0.01, 0.5, 0.99):
            predicted = np.where(
                path.decision_function(fresh, start + part * (stop - start)) > 0.0, 1.0, -1.0
            )
            (tn, fp), (fn, tp) = confusion_matrix(truth, predicted, labels=[-1.0, 1.0])
            assert false == pytest.approx(fp / (fp + tn))
            assert true == pytest.approx(tp / (tp + fn))
    false, true = curve.hull()
    assert (np.diff(false) >= 0.0).all()
    heights = np.interp(curve.false_positive_rate, false, true)
    assert (curve.true_positive_rate <= heights + 1e-12).all()
    assert 0.5 < curve.area <= 1.0


def test_rates_with_weights_of_any_path_of_classifiers():
    X, y, _, _ = table(seed=9)
    path = certified(SVMPath(X, y, C=(10.0, 0.1), gamma=GAMMA))
    weight = np.random.default_rng(0).uniform(size=y.size)
    curve = ROCCurve.of(path, X, y, sample_weight=weight)
    predicted = path.decision_function(X, 1.0) > 0.0
    false, true = curve(1.0)
    assert false == pytest.approx(weight[predicted & (y < 0)].sum() / weight[y < 0].sum())
    assert true == pytest.approx(weight[predicted & (y > 0)].sum() / weight[y > 0].sum())
    with pytest.raises(PathError, match="C=20 lies outside"):
        curve(20.0)
    with pytest.raises(DataError, match="both classes"):
        ROCCurve.of(path, X[y > 0], y[y > 0])
    with pytest.raises(DataError, match="X has 50 rows but y has 49"):
        ROCCurve.of(path, X, y[:-1])


def test_the_middle_share_and_the_ratio_one_are_the_plain_machine():
    X, y, _, Z = table()
    plain = certified(SVMPath(X, y, C=(1.0, 3.0)))
    share = certified(ROCPath(X, y, C=3.0))
    ratio = certified(ROCPath(X, y, C=3.0, ratio=(0.1, 10.0)))
    f = plain.decision_function(Z, 3.0)
    np.testing.assert_allclose(share.decision_function(Z, 0.5), f, atol=1e-9)
    np.testing.assert_allclose(ratio.decision_function(Z, 1.0), f, atol=1e-9)


# ---------------------------------------------------------------------- what users do with a path


@pytest.mark.parametrize("kernel", KERNELS)
def test_validation_curves(kernel):
    X, y, target, _ = table(seed=11)
    Z, truth, number, _ = table(30, seed=12)
    options, rows, fresh, _, _ = views(X, Z, kernel)
    for model, held_out in (
        (SVMPath(rows, y, **options), truth),
        (SVMPath(rows, target, kind="svr", **options), number),
        (OneClassPath(rows, **options), truth),
        (NuSVCPath(rows, y, **options), truth),
    ):
        path = certified(model)
        curve = path.validation_curve(fresh, held_out)
        for t in np.linspace(*path.traced, 7)[1:-1]:
            f = path.decision_function(fresh, t)
            if model.validation_loss == "absolute":
                assert curve(t) == pytest.approx(np.abs(f - held_out).mean())
            elif np.abs(f).min() > 1e-9:
                assert curve(t) == pytest.approx(np.mean(np.where(f > 0, 1.0, -1.0) != held_out))
        many = path.decision_function(fresh, np.array(path.traced))
        one = path.decision_function(fresh, path.traced[1])
        np.testing.assert_allclose(many[1], one, atol=1e-9 * (1.0 + np.abs(one).max()))


def test_what_nu_promises():
    X, y, _, _ = table(60, seed=13)
    path = certified(OneClassPath(X, gamma=GAMMA))
    model = NuSVCPath(X, y, gamma=GAMMA, nu=(None, 0.1))
    two = certified(model)
    for nu in np.linspace(0.11, model.largest_nu, 15):
        parts = path.partition(nu)
        assert parts["out"].size <= 60 * nu + 1e-9 <= parts["out"].size + parts["edge"].size + 2e-9
        parts = two.partition(nu)
        assert parts["L"].size <= 60 * nu + 1e-9 <= parts["L"].size + parts["E"].size + 2e-9


def test_models_and_paths_are_pickled_and_varied():
    X, y, _, Z = table(20)
    for model in (SVMPath(X, y), ROCPath(X, y, C=1.0), OneClassPath(X), NuSVCPath(X, y)):
        path = certified(model)
        again = pickle.loads(pickle.dumps(path))
        t = float(np.mean(path.traced))
        assert np.array_equal(path.decision_function(Z, t), again.decision_function(Z, t))
    model = SVMPath(X, y)
    other = model.varied(C=(1.0, 2.0))
    assert (model.span, other.span) == ((0.01, 100.0), (1.0, 2.0))
    assert other.gram is model.gram


def test_every_name_is_registered():
    declared = tomllib.loads((File(__file__).parents[2] / "pyproject.toml").read_text())
    plugins = declared["project"]["entry-points"]["homotopy.plugins"]
    for name, model in (
        ("svm-path", SVMPath),
        ("roc-path", ROCPath),
        ("one-class-path", OneClassPath),
        ("nu-svc-path", NuSVCPath),
    ):
        module, attribute = plugins[name].split(":")
        assert getattr(importlib.import_module(module), attribute) is model


# ---------------------------------------------------------------------- refused


ROWS = np.arange(8.0).reshape(4, 2)
LABELS = [0, 1, 1, 1]


@pytest.mark.parametrize(
    ("make", "error", "match"),
    [
        (lambda: SVMPath(ROWS, LABELS, kind="svm"), ModelError, "kind must be 'svc' or 'svr'"),
        (lambda: SVMPath(ROWS, LABELS, C=1.0), ModelError, r"C must be a pair \(start, stop\)"),
        (lambda: SVMPath(ROWS, LABELS, C=(0.0, 1.0)), ModelError, "C must be positive"),
        (lambda: SVMPath(ROWS, LABELS, C=(1.0, np.inf)), ModelError, "C must be positive"),
        (lambda: SVMPath(ROWS, LABELS, C=(1e-300, 1.0)), ModelError, "out of range"),
        (lambda: SVMPath(ROWS, LABELS).varied(C=3.0), ModelError, "pair"),
        (lambda: SVMPath(ROWS, LABELS, epsilon=-1.0), ModelError, "epsilon must not be negative"),
        (lambda: SVMPath(ROWS, [0, 1, 2, 1]), DataError, r"3 classes \(0, 1, 2\)"),
        (lambda: SVMPath(ROWS, [0.0, np.nan, 1, 1]), DataError, "labels must be finite"),
        (lambda: SVMPath(ROWS, [0, 1]), DataError, "X has 4 rows but y has shape"),
        (lambda: SVMPath(ROWS, list("abcd"), kind="svr"), DataError, "y must be numeric"),
        (lambda: SVMPath(ROWS * np.nan, LABELS), DataError, "not finite"),
        (lambda: SVMPath(ROWS[:0], []), DataError, "empty"),
        (lambda: SVMPath(ROWS, LABELS, kernel="rbff"), ModelError, "kernel must be one of"),
        (lambda: SVMPath(ROWS, LABELS, sample_weight=[1, 1, 1, -1]), DataError, "not negative"),
        (lambda: SVMPath(ROWS, LABELS, kernel="precomputed"), DataError, "square"),
        (lambda: ROCPath(ROWS, LABELS, C=-1.0), ModelError, "C must be positive"),
        (lambda: ROCPath(ROWS, LABELS, C=1.0, share=(0, 2)), ModelError, r"lie in \[0, 1\]"),
        (lambda: ROCPath(ROWS, LABELS, C=1.0, ratio=(-1, 2)), ModelError, "not be negative"),
        (
            lambda: ROCPath(ROWS, LABELS, C=1.0, ratio=(0, 2), share=(0, 1)),
            ModelError,
            "share or ratio, not both",
        ),
        (lambda: OneClassPath(ROWS, nu=(1.0, 0.0)), ModelError, r"nu must lie in \(0, 1\]"),
        (lambda: OneClassPath(ROWS, nu=(1.5, 0.1)), ModelError, r"nu must lie in \(0, 1\]"),
        (lambda: OneClassPath(ROWS, nu=0.5), ModelError, "pair"),
        (lambda: OneClassPath(ROWS, fit_intercept=False), ModelError, "fit_intercept=False"),
        (lambda: NuSVCPath(ROWS, LABELS, nu=(0.6, 0.1)), ModelError, "largest feasible nu .* 0.5 "),
        (lambda: NuSVCPath(ROWS, LABELS, nu=(None, 0.0)), ModelError, "nu must be positive"),
        (
            lambda: NuSVCPath(ROWS, LABELS, sample_weight=[0, 1, 1, 1]),
            ModelError,
            "no nu is feasible",
        ),
        (lambda: NuSVCPath(ROWS, LABELS, fit_intercept=False), ModelError, "fit_intercept=False"),
    ],
)
def test_refused(make, error, match):
    with pytest.raises(error, match=match):
        make()


def test_held_out_labels_are_those_of_the_classes():
    path = certified(SVMPath(ROWS, ["no", "yes", "yes", "no"]))
    assert path.validation_curve(ROWS, ["no", "yes", "yes", "no"])(1.0) <= 0.5
    with pytest.raises(DataError, match="'maybe' is neither of the two classes"):
        path.validation_curve(ROWS, ["no", "yes", "yes", "maybe"])


def test_long_rows_do_not_drown_short_ones():
    """rho is a number of the size of the short rows, which hold all the alphas here."""
    short = np.array([1.0, 1.3, 0.7, 1.1])
    for long in (1e4, 1e6):
        X = np.zeros((6, 2))
        X[:4, 0], X[4:, 1] = short, (long, 1.7 * long)
        path = certified(OneClassPath(X, kernel="linear", nu=(1.0, 0.2)))
        # alpha sums to 2.1: two rows at their bounds, and 0.1 of the row that is 1.1 long.
        alpha, pull = path.alpha(0.35), 1.0 + 0.7 + 0.11
        np.testing.assert_allclose(alpha, [1.0, 0.0, 1.0, 0.1, 0.0, 0.0], atol=1e-6)
        assert 0.5 * alpha @ X @ X.T @ alpha == pytest.approx(0.5 * pull**2, rel=1e-6)
        assert path.intercept(0.35) == pytest.approx(-1.1 * pull, rel=1e-6)


def test_a_row_that_is_0_by_rounding_sets_no_unit():
    X = np.random.default_rng(0).normal(size=(30, 2))
    units = []
    for length in (0.0, 1e-17):
        X[3] = length
        path = certified(OneClassPath(X, kernel="linear", nu=(1.0, 0.1)))
        units.append(path.model.unit)
    np.testing.assert_allclose(*units)
