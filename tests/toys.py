"""Small models, each its polyline and nothing else: what a stranger would write."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from homotopy import (
    Affine,
    DenseGram,
    Gram,
    Homotopy,
    Jump,
    Knot,
    LinearGram,
    LossModel,
    Path,
    Slope,
)

Array = npt.NDArray[np.float64]
Pieces = Sequence[Slope | Knot | Jump]


def certified(model: LossModel, start: Any = None, **options: Any) -> Path:
    """The whole path of a model, proved."""
    path = Homotopy(model, **options).trace(start=start)
    certificate = path.certify()
    assert certificate.ok, str(certificate)
    assert path.complete
    return path


class Toy(LossModel):
    """Any polyline given as a function of t."""

    def __init__(
        self,
        gram: Gram | npt.ArrayLike,
        span: tuple[float, float],
        pieces: Callable[[Any], Pieces],
        *,
        border: Any = None,
        target: Any = 0.0,
    ) -> None:
        self.gram = gram if isinstance(gram, Gram) else DenseGram(gram)
        self.span = span
        self.pieces = pieces
        self.border = border
        self.border_target = target

    def polyline(self, t: Any) -> Pieces:
        return self.pieces(t)


class Step(Toy):
    """O: 0 | jump at t - offset | L: 1 | knot | R: 0; t is where the jump stands."""

    def __init__(
        self, gram: Any, span: tuple[float, float], *, offset: Any = 0.0, knot: float = 10.0
    ) -> None:
        super().__init__(gram, span, self._step)
        self.offset, self.knot = offset, knot

    def _step(self, t: Any) -> Pieces:
        return (
            Slope("O", 0.0),
            Jump(t - self.offset),
            Slope("L", 1.0),
            Knot("E", self.knot),
            Slope("R", 0.0),
        )


class Lasso(LossModel):
    """``min 1/2 |y - X beta|^2 + lam |beta|_1`` with alpha = beta, Q = X'X, q = X'y."""

    parameter = "lam"

    def __init__(self, X: Array, y: Array, span: tuple[float, float]) -> None:
        self.gram, self.q, self.span = LinearGram(X.T), X.T @ y, span

    def polyline(self, t: Any) -> Pieces:
        return (
            Slope("wall+", np.inf),
            Knot("+", self.q - t),
            Slope("0", 0.0),
            Knot("-", self.q + t),
            Slope("wall-", -np.inf),
        )


class CPath(LossModel):
    """The regularisation path of the SVM: hinge loss, t = C."""

    parameter = "C"

    def __init__(
        self, K: Array, y: Array, span: tuple[float, float], *, intercept: bool = True
    ) -> None:
        self.gram = DenseGram(K * np.outer(y, y))
        self.border = y[:, None] if intercept else None
        self.span = span

    def polyline(self, t: Any) -> Pieces:
        return Slope("L", t), Knot("E", 1.0), Slope("R", 0.0)


class Frontier(LossModel):
    """``min 1/2 a' S a - lam mu'a`` with ``sum a = 1`` and ``0 <= a <= upper``."""

    parameter = "lam"

    def __init__(self, S: Array, mu: Array, upper: float, span: tuple[float, float]) -> None:
        self.gram, self.mu, self.upper, self.span = DenseGram(S), mu, upper, span
        self.border, self.border_target = np.ones((mu.size, 1)), 1.0

    def polyline(self, t: Any) -> Pieces:
        return Slope("full", self.upper), Knot("held", t * self.mu), Slope("none", 0.0)


class Huber(LossModel):
    """Regression with the Huber loss ``min(r^2 / 2, |r| - 1/2)``, targets ``y + t * drift``."""

    def __init__(self, X: Array, y: Array, drift: Array, C: float, intercept: bool) -> None:
        self.gram, self.y, self.drift, self.C = LinearGram(X), y, drift, C
        self.span = (0.0, 1.0)
        self.border = np.ones((y.size, 1)) if intercept else None

    def polyline(self, t: Any) -> Pieces:
        y = self.y + t * self.drift
        return (
            Slope("below", self.C),
            Knot("low", y - 1.0),
            Slope("near", self.C * y, curvature=self.C),
            Knot("high", y + 1.0),
            Slope("above", -self.C),
        )


class SquaredHinge(LossModel):
    """``C/2 max(0, m - u)^2``, t the margin m."""

    parameter = "margin"

    def __init__(self, X: Array, y: Array, C: float, span: tuple[float, float]) -> None:
        self.gram, self.C, self.span = LinearGram(X * y[:, None]), C, span
        self.border = y[:, None]

    def polyline(self, t: Any) -> Pieces:
        return Slope("L", self.C * t, curvature=self.C), Knot("E", t), Slope("R", 0.0)


class SemiSupervised(LossModel):
    """Labelled samples (y = +1, -1) with the hinge, unlabelled ones (y = 0) pushed away from 0.

    Unlabelled: 0 | knot -1 | -C* | jump 0 | C* | knot 1 | 0, t = C*.  A labelled sample has the
    same corners, all but the last of height zero.
    """

    parameter = "C*"

    def __init__(self, K: Array, y: Array, C: float, stop: float) -> None:
        sign = np.where(y == 0, 1.0, y)
        self.gram, self.span = DenseGram(K * np.outer(sign, sign)), (0.0, stop)
        self.cost, self.loose = np.where(y == 0, 0.0, C), np.where(y == 0, 1.0, 0.0)

    def polyline(self, t: Any) -> Pieces:
        return (
            Slope("far-", self.cost),
            Knot("edge-", -1.0),
            Slope("in-", self.cost - t * self.loose),
            Jump(0.0),
            Slope("in+", self.cost + t * self.loose),
            Knot("edge+", 1.0),
            Slope("far+", 0.0),
        )

    def loss_origin(self, t: float) -> float:
        return 1.0


class LinearProgram(LossModel):
    """``min cost(t)'x, A x <= right(t)``: no quadratic form at all, x = b, u = A x.

    Every constraint is a wall (alpha <= 0); `right` and `cost` are pairs (at t = 0, rate).
    """

    def __init__(
        self, A: Array, right: tuple[Any, Any], cost: tuple[Any, Any], span: tuple[float, float]
    ) -> None:
        self.gram, self.border, self.span = DenseGram(np.zeros((len(A), len(A)))), A, span
        self.right, self.cost = right, cost
        self.border_target = np.asarray(cost[0]) + Affine.parameter() * np.asarray(cost[1])

    def polyline(self, t: Any) -> Pieces:
        right = np.asarray(self.right[0]) + t * np.asarray(self.right[1])
        return Slope("slack", 0.0), Knot("tight", right), Slope("wall", -np.inf)
