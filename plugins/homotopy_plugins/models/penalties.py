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
    as_floats,
    check_rows,
    check_size,
    checked_targets,
    finite,
    flag,
    positive,
)
from homotopy_plugins.models.lasso import l1_span
from homotopy_plugins.models.least_squares import ROUNDED, middles, moved

__all__ = ["MCP", "SCAD"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]

# Up to this many columns X'X is computed as a whole.
WHOLE = 2000
# A column whose mean square is below this fraction of 1 / concavity loses its digits beside it.
LEAST = 1e-6
# A column whose spread is below 1e-14 of its values (some 45 roundings of them) is constant.
CONSTANT = 1e-28


class ConcavePenalty(Predictor):
    """What MCP and SCAD share.

    With an intercept the columns of a dense X and y are shifted as in ``LeastSquares``, and what is
    left has its mean subtracted wherever products are formed.

    Parameters
    ----------
    X : array or scipy sparse matrix (n, p)
    y : array (n,)
    lam : float, optional
        Where the path ends; by default at `fraction` of the largest lambda, at which beta is 0.
    fraction : float in [0, 1)
    weights : array (p,), optional
        One factor of lambda per column, positive: lambda_j = weights_j * lambda.
    fit_intercept : bool
        Whether there is an intercept, which is not penalised.
    standardize : bool
        Whether the penalty is that of ``s_j beta_j``, with s_j the root mean square of column j
        (beside its mean where there is an intercept), so that scaling a column changes nothing.

    Attributes
    ----------
    X, y : (n, p), (n,)
        The data, shifted by `centre` and `level`; their means are then `mean` and `mean_target`
        (0 without an intercept).

    Notes
    -----
    ``path.solution(lam)`` is beta, ``path.objective(lam)`` the objective above.
    """

    parameter = "lam"
    unknown = "alpha"
    # A sum of squares and a penalty are never negative.
    bounded_below = True

    def __init__(
        self,
        X: Any,
        y: npt.ArrayLike,
        *,
        concavity: float,
        lam: float | None = None,
        fraction: float = 0.0,
        weights: npt.ArrayLike | None = None,
        fit_intercept: bool = False,
        standardize: bool = False,
    ) -> None:
        name = type(self).__name__
        rows = check_rows(X, name)
        n, p = rows.shape
        target = checked_targets(y, n, name)
        self.fit_intercept = flag(fit_intercept, "fit_intercept", name)
        self.weights = _penalty_weights(weights, p, name)
        self.concavity = concavity
        self._place(rows, target)
        squares = self._mean_squares()
        live = squares > 0.0
        root = np.sqrt(np.where(live, squares, 1.0))
        # A column that says nothing is none: its alpha stays 0.
        self.scale = live / root if flag(standardize, "standardize", name) else live * 1.0
        self._check_scale(squares * self.scale**2, name)
        around = self.y - self.mean_target
        self.q = self._correlations(around) / n
        size = np.sqrt(squares * np.mean(around**2)) * self.scale
        self.q[np.abs(self.q) <= ROUNDED * size] = 0.0
        largest = float(np.max(np.abs(self.q) / self.weights))
        self.span = l1_span(largest, lam, fraction, name)
        self.gram = self._build_gram()

    def _place(self, rows: Any, target: Array) -> None:
        """Set X, y and what is subtracted from them: first values of theirs, which is exact, then
        the means of what is left."""
        self.centre, self.level = np.zeros(rows.shape[1]), 0.0
        self.mean, self.mean_target = np.zeros(rows.shape[1]), 0.0
        if self.fit_intercept:
            self.centre, self.level = middles(rows, target)
        self.X, self.y = moved(rows, self.centre), target - self.level
        if self.fit_intercept:
            self.mean = np.asarray(self.X.mean(axis=0)).ravel()
            self.mean_target = float(self.y.mean())

    def _mean_squares(self) -> Array:
        """The mean square of each column beside its mean, 0 where only rounding is left."""
        if sp.issparse(self.X):
            whole = np.asarray(self.X.multiply(self.X).mean(axis=0)).ravel()
            squares = whole - self.mean**2
            return np.where(squares > 1e-12 * whole, squares, 0.0)
        squares = np.mean((self.X - self.mean) ** 2, axis=0)
        return np.where(squares > CONSTANT * (self.centre + self.mean) ** 2, squares, 0.0)

    def _check_scale(self, squares: Array, name: str) -> None:
        small = np.flatnonzero((squares > 0.0) & (squares * self.concavity < LEAST))
        if small.size:
            j = int(small[0])
            raise DataError(
                f"{name}: column {j} of X has mean square {squares[j]:.3g}, too little beside a "
                f"penalty that bends by {1.0 / self.concavity:.3g}; standardize=True puts all "
                "columns on one scale"
            )

    def _correlations(self, columns: Array) -> Array:
        """``X^T columns`` with X centred and scaled."""
        product = np.asarray(self.X.T @ columns)
        total = columns.sum(axis=0)
        if columns.ndim == 1:
            return np.asarray(self.scale * (product - self.mean * total))
        return np.asarray(self.scale[:, None] * (product - np.outer(self.mean, total)))

    def _build_gram(self) -> Gram:
        n, p = self.X.shape
        shift = 1.0 / self.concavity

        def columns(index: Index) -> Array:
            some = self.X[:, index]
            dense = some.toarray() if sp.issparse(some) else np.array(some)
            block = self._correlations((dense - self.mean[index]) * self.scale[index]).T / n
            block[np.arange(index.size), index] -= shift
            return np.asarray(block)

        own = self._mean_squares() * self.scale**2
        if p <= WHOLE:
            matrix = columns(np.arange(p))
            return DenseGram(0.5 * (matrix + matrix.T), semidefinite=False, sizes=own + shift)
        inputs = (type(self).__name__, self.concavity, self.fit_intercept, self.scale, self.X)
        return KernelGram(columns, own - shift, inputs=inputs, sizes=own + shift)

    @abstractmethod
    def polyline(self, t: Any) -> Sequence[Slope | Knot | Jump]:
        """-H' of what is left of the penalty, with ``-q_j beta_j`` of the squares."""

    def initial_guess(self) -> Array:
        return np.zeros(self.q.size)

    def table(self) -> Any:
        """X, whose columns are the coordinates."""
        return self.X

    def solution(self, t: float, alpha: Array, b: Array) -> Array:
        return alpha * self.scale

    def objective_constant(self, t: float) -> float:
        return 0.5 * float(np.mean((self.y - self.mean_target) ** 2))

    def decision_function(self, X: Any, alpha: Array, intercept: Any) -> Array:
        """``X beta + intercept``."""
        rows = check_rows(X, type(self).__name__)
        if rows.shape[1] != alpha.size:
            raise DataError(
                f"{type(self).__name__}: X has {rows.shape[1]} columns, the model {alpha.size}"
            )
        return np.asarray(rows @ (alpha * self.scale) + intercept)

    def intercept(self, alpha: Array, b: Array) -> float:
        beta = alpha * self.scale
        return self.level + self.mean_target - float((self.centre + self.mean) @ beta)


class MCP(ConcavePenalty):
    """Minimax concave penalty: ``p' = lambda - |beta| / gamma`` up to ``gamma lambda``, then 0.

    Parameters
    ----------
    X, y, lam, fraction, weights, fit_intercept, standardize
        See `ConcavePenalty`.
    gamma : float, positive
        How soon the penalty is flat; the lasso is gamma = infinity.  With columns of mean square 1
        the problem is convex in each single coefficient where gamma > 1.

    Notes
    -----
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
    """Smoothly clipped absolute deviation: ``p'`` is lambda at first, then falls to 0.

    Parameters
    ----------
    X, y, lam, fraction, weights, fit_intercept, standardize
        See `ConcavePenalty`.
    a : float, more than 1
        Where the penalty becomes flat, in units of lambda.

    Notes
    -----
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


def _penalty_weights(weights: npt.ArrayLike | None, p: int, name: str) -> Array:
    """One positive factor per column."""
    if weights is None:
        return np.ones(p)
    array = as_floats(weights, "weights", name)
    if array.shape != (p,):
        raise DataError(f"{name}: X has {p} columns but weights has shape {array.shape}")
    bad = np.flatnonzero(~(np.isfinite(array) & (array > 0.0)))
    if bad.size:
        j = int(bad[0])
        raise DataError(
            f"{name}: weights[{j}] is {array[j]:g}; weights must be positive and finite (leave out "
            "a column that is not to be used)"
        )
    check_size(array, "weights", name)
    return array
