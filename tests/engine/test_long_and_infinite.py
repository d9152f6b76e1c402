"""Paths over many orders of magnitude, slanted pieces, spans from infinity: what new users met."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, make_moons
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

import homotopy
from homotopy import DenseGram, Homotopy, Jump, Knot, LinearGram, LossModel, PathError, Slope
from homotopy_plugins import HingeRamp


class Regularisation(LossModel):
    """The SVM C-path."""

    parameter = "C"

    def __init__(self, gram, y, span):
        self.gram, self.border, self.span = gram, y, span

    def polyline(self, C):
        return Slope("L", C), Knot("E", 1.0), Slope("R", 0.0)


def gaussian():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 5))
    return X, np.sign(X[:, 0] + 0.3 * rng.normal(size=100))


def certified(path):
    certificate = path.certify()
    assert path.complete
    assert certificate.ok, str(certificate)
    return path


def test_a_long_last_segment_does_not_multiply_rounding():
    """Slopes that came and went leave rounding in their pull; ten million times that is a lot."""
    X, y = gaussian()
    K = rbf_kernel(X, gamma=0.2)
    path = certified(
        Homotopy(Regularisation(DenseGram(K * np.outer(y, y)), y, (1e-3, 1e7))).trace()
    )
    machine = SVC(C=1e7, kernel="precomputed", tol=1e-10).fit(K, y)
    weights = machine.dual_coef_.ravel()
    expected = 0.5 * weights @ K[np.ix_(machine.support_, machine.support_)] @ weights
    # libsvm stops early on so hard a problem.
    assert path.objective(1e7) == pytest.approx(expected, rel=1e-4)
    assert path.objective(1e7) == pytest.approx(1141.76, abs=0.01)


@pytest.mark.parametrize("stop", [1e5, 1e7])
def test_a_c_path_on_features_goes_as_far(stop):
    X, y = gaussian()
    certified(Homotopy(Regularisation(LinearGram(X * y[:, None]), y, (1e-3, stop))).trace())


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_a_c_path_on_real_data(kernel):
    X, y = load_breast_cancer(return_X_y=True)
    X, y = (X - X.mean(axis=0)) / X.std(axis=0), 2.0 * y - 1.0
    gram = LinearGram(X * y[:, None])
    if kernel == "rbf":
        gram = DenseGram(rbf_kernel(X) * np.outer(y, y))
    certified(Homotopy(Regularisation(gram, y, (1e-3, 1e6))).trace())


class SquaredHingeRamp(LossModel):
    def __init__(self, K, y, C, path):
        self.gram, self.C, self.path = DenseGram(K * np.outer(y, y)), C, path
        self.parameter = path
        self.span = (1.0, 0.0) if path == "theta" else (-np.inf, -0.1)

    def polyline(self, t):
        theta, s = (t, -0.3) if self.path == "theta" else (0.0, t)
        height = self.C * (1.0 - s)
        outlier = theta * height if self.path == "theta" else 0.0
        return (
            Slope("O", outlier),
            Jump(s),
            Slope("quadratic", self.C, curvature=self.C),
            Knot("E", 1.0),
            Slope("R", 0.0),
        )

    def loss_origin(self, t):
        return 1.0


@pytest.mark.parametrize("C", [10.0, 100.0])
@pytest.mark.parametrize("path", ["theta", "s"])
def test_slanted_pieces_do_not_drift(C, path):
    X, y = make_moons(300, noise=0.25, random_state=0)
    y = 2.0 * y - 1.0
    y[np.random.default_rng(0).choice(300, 45, replace=False)] *= -1.0
    found = certified(Homotopy(SquaredHingeRamp(rbf_kernel(X, gamma=1.0), y, C, path)).trace())
    assert found.certify().worst <= 1e-9


class TruncatedQuadratic(LossModel):
    parameter = "s"

    def __init__(self, X, y, border):
        self.gram, self.y, self.border, self.span = LinearGram(X), y, border, (np.inf, 0.3)

    def polyline(self, s):
        y = self.y
        return (
            Slope("above", 0.0),
            Jump(y - s),
            Slope("fit", y, curvature=1.0),
            Jump(y + s),
            Slope("below", 0.0),
        )

    def loss_origin(self, s):
        return self.y


@pytest.mark.parametrize("intercept", [False, True])
def test_a_truncated_quadratic_comes_in_from_infinity(intercept):
    X, _ = gaussian()
    rng = np.random.default_rng(1)
    y = X[:, 0] + 0.1 * rng.normal(size=100)
    y[:8] += 5.0
    border = np.ones(100) if intercept else None
    path = certified(Homotopy(TruncatedQuadratic(X, y, border)).trace())
    # At its start nothing is truncated: ridge regression.
    phi = np.column_stack([X, np.ones(100)]) if intercept else X
    penalty = np.eye(phi.shape[1])
    if intercept:
        penalty[-1, -1] = 0.0
    w = np.linalg.solve(phi.T @ phi + penalty, phi.T @ y)
    start = path.traced[0]
    np.testing.assert_allclose(path.response(start, "before"), phi @ w, atol=1e-9)
    assert start == pytest.approx(np.abs(y - phi @ w).max())
    assert set(range(8)) <= set(np.flatnonzero(np.isin(path.pieces(0.3), (0, 4))))


class TrendFilter(LossModel):
    parameter = "lam"

    def __init__(self, y, order):
        D = np.diff(np.eye(y.size), n=order + 1, axis=0)
        self.gram, self.bends = DenseGram(D @ D.T), D @ y
        most = float(np.abs(np.linalg.solve(D @ D.T, D @ y)).max())
        self.span = (1.01 * most, 1e-3 * most)

    def polyline(self, lam):
        return Slope("+", lam), Knot("k", self.bends), Slope("-", -lam)


@pytest.mark.parametrize("order", [0, 1, 2])
def test_trend_filters_of_every_order_that_double_precision_holds(order):
    rng = np.random.default_rng(0)
    signal = np.interp(np.arange(500), [0, 150, 300, 499], [0, 5, -3, 4])
    certified(Homotopy(TrendFilter(signal + 0.5 * rng.normal(size=500), order)).trace())


def test_a_path_in_another_parameter_is_refused_unless_told_where():
    X, y = gaussian()
    theta = Homotopy(HingeRamp(X, y, C=1.0, kernel="linear")).trace()
    model = HingeRamp(X, y, C=1.0, kernel="linear", path="s")
    with pytest.raises(PathError, match="the path has the parameter theta, the model s"):
        Homotopy(model).trace(start=theta)
    path = Homotopy(model).trace(start=(theta, 1.0))
    cold = Homotopy(model).trace()
    np.testing.assert_allclose(path.breakpoints, cold.breakpoints, rtol=1e-9, atol=1e-9)


def test_everything_can_be_compiled_beforehand():
    assert homotopy.compile_now() >= 0.0
    assert homotopy.runtime.compiled()
