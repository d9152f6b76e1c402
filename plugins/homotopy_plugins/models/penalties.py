"""Regression with a penalty that is not convex: MCP and SCAD, from the largest lambda to 0.

    min over beta   1/(2n) |y - X beta|^2 + sum_j p(|beta_j|; lambda)

The penalty bends downwards by at most 1/c; with ``Q = X^T X / n - I / c`` that is taken out of it,
and what is left of the penalty is convex: its polyline, read in alpha = beta, falls everywhere.  Q
is not semidefinite, so that an active block may lose its definiteness: there the path jumps.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from homotopy import (
    DataError,
    DenseGram,
    Gram,
    Jump,
    KernelGram,
    Knot,
    ModelError,
    Predictor,
    Slope,
)
from homotopy_plugins.kernels.checks import (
    check_rows,
    checked_targets,
    checked_weights,
    finite,
    flag,
    positive,
)

__all__ = ["MCP", "SCAD"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]

# Up to so many columns X'X is computed as a whole.
WHOLE = 2000


class ConcavePenalty(Predictor):
    """What MCP and SCAD share.

    Parameters
    ----------
    X : array or scipy sparse matrix (n, p)
    y : array (n,)
    lam : float, optional
        Where the path ends, as a fraction of the largest lambda (at which beta is 0); 0 by
        default.
    weights : array (p,), optional
        One factor of the penalty per column, positive: lambda_j = weights_j * lambda.
    fit_intercept : bool
        Whether there is an intercept, which is not penalised.

    ``path.solution(lam)`` is beta, ``path.objective(lam)`` the objective above.
    """

    parameter = "lam"
    unknown = "alpha"

    def __init__(
        self,
        X: Any,
        y: npt.ArrayLike,
        *,
        concavity: float,
        lam: float = 0.0,
        weights: npt.ArrayLike | None = None,
        fit_intercept: bool = False,
    ) -> None:
        name = type(self).__name__
        rows = check_rows(X, name)
        n, p = rows.shape
        target = checked_targets(y, n, name)
        self.fit_intercept = flag(fit_intercept, "fit_intercept", name)
        end = finite(lam, "lam", name)
        if not 0.0 <= end < 1.0:
            raise ModelError(
                f"{name}: lam is where the path ends, as a fraction of the largest lambda, and "
                f"must lie in [0, 1), got {lam!r}"
            )
        self.weights = checked_weights(weights, p, name)
        if not np.all(self.weights > 0.0):
            j = int(np.argmin(self.weights))
            raise DataError(f"{name}: weights[{j}] is {self.weights[j]:g}; weights are positive")
        self.X, self.y, self.concavity = rows, target, concavity
        self.centre = np.asarray(rows.mean(axis=0)).ravel() if self.fit_intercept else np.zeros(p)
        self.middle = float(target.mean()) if self.fit_intercept else 0.0
        self.q = self._correlations(target - self.middle) / n
        largest = float(np.max(np.abs(self.q) / self.weights))
        if largest == 0.0:
            raise DataError(
                f"{name}: no column of X is correlated with y, so that beta is 0 at every lambda"
            )
        self.span = (largest, end * largest)
        self.gram = self._build_gram()

    def _correlations(self, columns: Array) -> Array:
        """``X^T columns`` with X centred."""
        product = np.asarray(self.X.T @ columns)
        total = columns.sum(axis=0)
        return np.asarray(product - (self.centre * total if columns.ndim == 1
                                     else np.outer(self.centre, total)))  # fmt: skip

    def _build_gram(self) -> Gram:
        n, p = self.X.shape
        shift = 1.0 / self.concavity

        def columns(index: Index) -> Array:
            some = self.X[:, index]
            dense = some.toarray() if sp.issparse(some) else np.array(some)
            block = self._correlations(dense - self.centre[index]).T / n
            block[np.arange(index.size), index] -= shift
            return np.asarray(block)

        if p <= WHOLE:
            matrix = columns(np.arange(p))
            return DenseGram(0.5 * (matrix + matrix.T), semidefinite=False)
        if sp.issparse(self.X):
            squares = np.asarray(self.X.multiply(self.X).sum(axis=0)).ravel()
        else:
            squares = np.einsum("ij,ij->j", self.X, self.X)
        own = squares / n - self.centre**2
        inputs = (type(self).__name__, self.concavity, self.fit_intercept, self.X)
        return KernelGram(columns, own - shift, inputs=inputs, sizes=own + shift)

    @abstractmethod
    def polyline(self, t: Any) -> Sequence[Slope | Knot | Jump]:
        """-H' of what is left of the penalty, with ``-q_j beta_j`` of the squares."""

    def initial_guess(self) -> Array:
        return np.zeros(self.q.size)

    def objective_constant(self, t: float) -> float:
        return 0.5 * float(np.mean((self.y - self.middle) ** 2))

    def decision_function(self, X: Any, alpha: Array, intercept: Any) -> Array:
        """``X beta + intercept``."""
        rows = check_rows(X, type(self).__name__)
        if rows.shape[1] != alpha.size:
            raise DataError(
                f"{type(self).__name__}: X has {rows.shape[1]} columns, the model {alpha.size}"
            )
        return np.asarray(rows @ alpha + intercept)

    def intercept(self, alpha: Array, b: Array) -> float:
        return self.middle - float(self.centre @ alpha)


class MCP(ConcavePenalty):
    """Minimax concave penalty: ``p' = lambda - |beta| / gamma`` up to ``gamma lambda``, then 0.

    Parameters
    ----------
    X, y, lam, weights, fit_intercept
        See `ConcavePenalty`.
    gamma : float, positive
        How soon the penalty is flat; the lasso is gamma = infinity.  With columns of mean square 1
        the problem is convex in each single coefficient where gamma > 1.

    Pieces: "0" (not in the model), "+" and "-" (penalised), "free+" and "free-" (penalty flat).
    """

    def __init__(self, X: Any, y: npt.ArrayLike, *, gamma: float = 3.0, **options: Any) -> None:
        self.gamma = positive(gamma, "gamma", type(self).__name__)
        super().__init__(X, y, concavity=self.gamma, **options)

    def polyline(self, t: Any) -> Sequence[Slope | Knot | Jump]:
        lam, q, gamma = self.weights * t, self.q, self.gamma
        return (
            Slope("free+", gamma * q, curvature=gamma),
            Knot("+", q - lam),
            Slope("0", 0.0),
            Knot("-", q + lam),
            Slope("free-", gamma * q, curvature=gamma),
        )


class SCAD(ConcavePenalty):
    """Smoothly clipped absolute deviation: ``p'`` is lambda up to lambda, falls to 0 at a lambda.

    Parameters
    ----------
    X, y, lam, weights, fit_intercept
        See `ConcavePenalty`.
    a : float, more than 1
        Where the penalty becomes flat, in units of lambda.

    Pieces: "0" (not in the model), "small+", "+", "free+" and the same with "-".
    """

    def __init__(self, X: Any, y: npt.ArrayLike, *, a: float = 3.7, **options: Any) -> None:
        self.a = finite(a, "a", type(self).__name__)
        if not self.a > 1.0:
            raise ModelError(f"{type(self).__name__}: a must be more than 1, got {a!r}")
        super().__init__(X, y, concavity=self.a - 1.0, **options)

    def polyline(self, t: Any) -> Sequence[Slope | Knot | Jump]:
        lam, q, c = self.weights * t, self.q, self.concavity
        far = lam * (self.a / c)
        return (
            Slope("free+", c * q, curvature=c),
            Knot("+", q - far),
            Slope("small+", c * (q - lam), curvature=c),
            Knot("into+", q - lam),
            Slope("0", 0.0),
            Knot("into-", q + lam),
            Slope("small-", c * (q + lam), curvature=c),
            Knot("-", q + far),
            Slope("free-", c * q, curvature=c),
        )
