"""
One engine, many problems
=========================

Each class is a whole plugin.  The data are small and seeded; the last column is the largest
relative residual found by the certificate, which knows nothing of how the path was traced.
"""

from __future__ import annotations

import sys

import numpy as np
from own_plugin import Lasso
from sklearn.datasets import load_diabetes, make_moons

from homotopy import DenseGram, Homotopy, Jump, Knot, LinearGram, LossModel, Slope
from homotopy_plugins import HingeRamp, LADRamp


def rbf(X, gamma):
    return np.exp(-gamma * ((X[:, None] - X[None]) ** 2).sum(axis=-1))


class EpsilonRamp(LossModel):
    """Insensitive up to eps, linear up to s, weight theta beyond: along theta, s or eps."""

    def __init__(self, K, y, along, span, theta=0.0, s=1.0, eps=0.1):
        self.gram, self.y, self.border = DenseGram(K), y, np.ones((y.size, 1))
        self.parameter, self.span = along, span
        self.fixed = {"theta": theta, "s": s, "eps": eps}

    def polyline(self, t):
        now = {**self.fixed, self.parameter: t}
        theta, s, eps = now["theta"], now["s"], now["eps"]
        return (
            Slope("O+", theta * 1.0),
            Jump(self.y - s),
            Slope("I+", 1.0),
            Knot("E+", self.y - eps),
            Slope("Z", 0.0),
            Knot("E-", self.y + eps),
            Slope("I-", -1.0),
            Jump(self.y + s),
            Slope("O-", theta * -1.0),
        )


class PinballRamp(LossModel):
    """A robust conditional quantile: along theta at fixed tau."""

    parameter, span = "theta", (1.0, 0.0)

    def __init__(self, K, y, tau, s):
        self.gram, self.y, self.border = DenseGram(K), y, np.ones((y.size, 1))
        self.tau, self.s = tau, s

    def polyline(self, theta):
        up, down = self.tau, self.tau - 1.0
        return (
            Slope("O+", theta * up),
            Jump(self.y - self.s),
            Slope("above", up),
            Knot("on", self.y),
            Slope("below", down),
            Jump(self.y + self.s),
            Slope("O-", theta * down),
        )


class Quantiles(LossModel):
    """All conditional quantiles at once: the pinball loss along tau."""

    parameter, span = "tau", (0.05, 0.95)

    def __init__(self, K, y):
        self.gram, self.y, self.border = DenseGram(K), y, np.ones((y.size, 1))

    def polyline(self, tau):
        return Slope("above", tau), Knot("on", self.y), Slope("below", tau - 1.0)


class Regularisation(LossModel):
    """The plain SVM for every C: all of a grid in one pass."""

    parameter = "C"

    def __init__(self, K, y, span):
        self.gram, self.border, self.span = DenseGram(K * np.outer(y, y)), y[:, None], span

    def polyline(self, C):
        return Slope("L", C), Knot("E", 1.0), Slope("R", 0.0)


class SemiSupervised(LossModel):
    """Unlabelled samples (y = 0) are pushed off the margin with a weight that grows from 0."""

    parameter, span = "C*", (0.0, 1.0)

    def __init__(self, K, y, C):
        sign = np.where(y == 0.0, 1.0, y)
        self.gram, self.border = DenseGram(K * np.outer(sign, sign)), sign[:, None]
        self.hinge, self.free = C * (y != 0.0), 1.0 * (y == 0.0)

    def polyline(self, t):
        return (
            Slope("far -", self.hinge),
            Knot("edge -", -1.0),
            Slope("near -", self.hinge - self.free * t),
            Jump(0.0),
            Slope("near +", self.hinge + self.free * t),
            Knot("edge +", 1.0),
            Slope("far +", 0.0),
        )

    def loss_origin(self, t):
        return 1.0


class TrendFilter(LossModel):
    """Piecewise linear fit of a series: 1/2 |y - x|^2 + lam |D x|_1 through its dual."""

    parameter = "lam"

    def __init__(self, y, span):
        D = np.diff(np.eye(y.size), n=2, axis=0)
        self.gram, self.d, self.span = LinearGram(D), D @ y, span

    def polyline(self, lam):
        return Slope("up", lam), Knot("straight", self.d), Slope("down", -lam)


class MeanVariance(LossModel):
    """The efficient frontier with weights between 0 and `most` that sum to one."""

    parameter, border_target = "lam", 1.0

    def __init__(self, covariance, mean, most, span):
        self.gram, self.mean, self.most = DenseGram(covariance), mean, most
        self.border, self.span = np.ones((mean.size, 1)), span

    def polyline(self, lam):
        return Slope("full", self.most), Knot("held", lam * self.mean), Slope("out", 0.0)


class Huber(LossModel):
    """Quadratic up to delta, linear beyond: from ridge to least absolute deviations."""

    parameter = "delta"

    def __init__(self, K, y, C, span):
        self.gram, self.y, self.C, self.span = DenseGram(K), y, C, span

    def polyline(self, delta):
        return (
            Slope("above", self.C * delta),
            Knot("upper end", self.y - delta),
            Slope("quadratic", self.C * self.y, curvature=self.C),
            Knot("lower end", self.y + delta),
            Slope("below", -self.C * delta),
        )

    def loss_origin(self, delta):
        return self.y


class SquaredHingeRamp(LossModel):
    """The squared hinge, linear with a weight that goes to 0 left of s."""

    parameter, span = "theta", (1.0, 0.0)

    def __init__(self, K, y, C, s):
        self.gram, self.border = DenseGram(K * np.outer(y, y)), y[:, None]
        self.C, self.s = C, s

    def polyline(self, theta):
        return (
            Slope("O", theta * (self.C * (1.0 - self.s))),
            Jump(self.s),
            Slope("quadratic", self.C, curvature=self.C),
            Knot("E", 1.0),
            Slope("R", 0.0),
        )


def models():
    """(name of the problem, model) on small seeded data."""
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(0.0, 6.0, 80))[:, None]
    y = np.sin(x[:, 0]) + 0.1 * rng.standard_normal(80)
    y[::8] += rng.uniform(1.0, 3.0, 10)
    K = rbf(x, 0.5)
    X, label = make_moons(120, noise=0.2, random_state=0)
    label = np.where(label == 1, 1.0, -1.0)
    few = np.where(rng.uniform(size=120) < 0.15, label, 0.0)
    noisy = label * np.where(rng.uniform(size=120) < 0.15, -1.0, 1.0)
    moons = rbf(X, 2.0)
    returns = 0.3 * rng.standard_normal((300, 12)) @ rng.standard_normal((12, 12))
    returns += rng.uniform(0.0, 0.3, 12)
    diabetes, target = load_diabetes(return_X_y=True)
    series = np.cumsum(rng.standard_normal(100))
    yield "hinge-ramp SVC", HingeRamp(X, noisy, C=1.0, gamma=2.0, fit_intercept=True)
    yield "hinge-ramp SVC", HingeRamp(X, noisy, C=1.0, gamma=2.0, path="s", fit_intercept=True)
    yield "LAD-ramp SVR", LADRamp(x, y, C=1.0, gamma=0.5, s=0.5, fit_intercept=True)
    yield "LAD-ramp SVR", LADRamp(x, y, C=1.0, gamma=0.5, path="s", fit_intercept=True)
    yield "eps-insensitive ramp SVR", EpsilonRamp(K, y, "theta", (1.0, 0.0))
    yield "eps-insensitive ramp SVR", EpsilonRamp(K, y, "s", (np.inf, 0.5))
    yield "eps-insensitive SVR", EpsilonRamp(K, y, "eps", (2.0, 0.0), theta=1.0, s=9.0)
    yield "pinball ramp (quantile)", PinballRamp(K, y, tau=0.7, s=0.3)
    yield "pinball, all quantiles", Quantiles(K, y)
    yield "SVM regularisation path", Regularisation(moons, noisy, (1e-3, 100.0))
    yield "semi-supervised SVM", SemiSupervised(moons, few, C=10.0)
    yield "lasso", Lasso(diabetes, target - target.mean())
    yield "linear trend filter", TrendFilter(series, (1e3, 0.0))
    cloud = (np.cov(returns.T), returns.mean(axis=0))
    yield "mean-variance frontier", MeanVariance(*cloud, most=0.3, span=(20.0, 0.0))
    yield "Huber regression", Huber(K, y, C=5.0, span=(10.0, 0.05))
    yield "squared-hinge ramp SVC", SquaredHingeRamp(moons, noisy, C=1.0, s=0.0)


def main() -> int:
    head = f"{'problem':<26}{'parameter':<10}{'from':>9}{'to':>7}"
    print(f"{head}{'break-points':>14}{'jumps':>7}{'worst residual':>16}")
    failed = 0
    for name, model in models():
        path = Homotopy(model).trace()
        certificate = path.certify()
        start, stop = path.traced
        size, jumps = path.breakpoints.size, len(path.jumps)
        print(
            f"{name:<26}{model.parameter:<10}{start:9.4g}{stop:7.3g}{size:14d}{jumps:7d}"
            f"{certificate.worst:16.1e}{'' if certificate.ok else '  FAILS'}"
        )
        failed += not certificate.ok
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
