"""Generated problems: the data, the model that traces them and the reference that checks them."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import numpy.typing as npt
from oracles import Ramp, kernel_matrix

from homotopy import Homotopy, Path
from homotopy_plugins import HingeRamp, LADRamp

Array = npt.NDArray[np.float64]

PLUGINS = {"hinge": HingeRamp, "lad": LADRamp}
COSTS = (1e-3, 0.1, 1.0, 10.0, 1e3)


@attrs.frozen
class Case:
    """One problem; `model()` builds the plugin, `reference()` the independent view of it."""

    kind: str
    X: Array
    y: Array
    C: float = 1.0
    kernel: str = "rbf"
    gamma: float = 0.5
    intercept: bool = False
    path: str = "theta"
    theta: float = 0.0
    s: float | None = None
    s_stop: float | None = None
    weights: Array | None = None

    @property
    def threshold(self) -> float:
        """s of the theta-path."""
        return (0.0 if self.kind == "hinge" else 1.0) if self.s is None else self.s

    def model(self, **changes: Any) -> HingeRamp | LADRamp:
        options: dict[str, Any] = {
            "C": self.C,
            "kernel": self.kernel,
            "gamma": self.gamma,
            "fit_intercept": self.intercept,
            "path": self.path,
            "theta": self.theta,
            "s": self.threshold,
            "sample_weight": self.weights,
        }
        if self.kind == "lad":
            options["s_stop"] = self.s_stop
        options |= changes
        return PLUGINS[self.kind](self.X, self.y, **options)

    def trace(self, **options: Any) -> Path:
        return Homotopy(self.model(), **options).trace()

    def reference(self) -> Ramp:
        K = kernel_matrix(self.X, self.X, self.kernel, self.gamma)
        weights = np.ones(len(self.y)) if self.weights is None else self.weights
        y = np.asarray(self.y, float)
        return Ramp(self.kind, K, y, self.C * weights, self.intercept)

    def at(self, t: float) -> tuple[float, float]:
        """(theta, s) where the path parameter is `t`."""
        return (t, self.threshold) if self.path == "theta" else (self.theta, t)


def features(n: int, d: int, seed: int) -> Array:
    return np.random.default_rng(seed).normal(size=(n, d))


def labels(X: Array, seed: int, flip: float = 0.15) -> Array:
    """Two noisy classes, some labels turned over."""
    rng = np.random.default_rng([seed, 1])
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=len(X)) > 0, 1.0, -1.0)
    y[rng.random(len(X)) < flip] *= -1
    y[:2] = 1.0, -1.0
    return y


def targets(X: Array, seed: int) -> Array:
    """A smooth function with noise and a tenth of gross outliers."""
    rng = np.random.default_rng([seed, 2])
    y = X[:, 0] + 0.5 * np.sin(2 * X[:, -1]) + 0.1 * rng.normal(size=len(X))
    far = rng.random(len(X)) < 0.1
    y[far] += 5 * rng.normal(size=int(far.sum()))
    return y


def case(kind: str, n: int, seed: int, *, d: int = 3, data: str = "normal", **options: Any) -> Case:
    """A generated case.

    `data`: "normal"; "integer" (features and targets rounded: many exact duplicates, of equal and
    of opposite labels); "stacked" (a third of the samples, three times).
    """
    X = features(n if data != "stacked" else -(-n // 3), d, seed)
    y = labels(X, seed) if kind == "hinge" else targets(X, seed)
    if data == "integer":
        X = np.round(X)
        y = y if kind == "hinge" else np.round(y)
    if data == "stacked":
        X, y = np.vstack([X] * 3), np.tile(y, 3)
    return Case(kind, X, y, **options)


def sample_points(path: Path, count: int, seed: int = 0) -> Array:
    """`count` values of t inside the traced interval, none of them a break-point."""
    start, stop = path.traced
    rng = np.random.default_rng(seed)
    points = start + (stop - start) * rng.random(count)
    return np.setdiff1d(points, path.breakpoints)
