"""What the penalised least squares models share: checked data, a centre, linear predictions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from homotopy import DataError, ModelError, Predictor
from homotopy_plugins.kernels.checks import (
    LARGEST,
    as_floats,
    check_length,
    check_rows,
    check_size,
    finite,
    flag,
)

__all__ = [
    "ROUNDED",
    "LeastSquares",
    "checked_vector",
    "column_squares",
    "middles",
    "moved",
    "not_negative",
    "ridge_weight",
]

Array = npt.NDArray[np.float64]

# A correlation with the target, or a residual, below this fraction of its terms is rounding.
ROUNDED = 1e-13


class LeastSquares(Predictor):
    """Linear regression ``f(x) = x^T beta + b`` with some penalty of beta, along its parameter.

    With an intercept the columns of a dense X are shifted by the value nearest to their mean, and
    so is y: what is far from 0 (a year, a timestamp) keeps its digits, and a constant column is 0.

    Parameters
    ----------
    X : array or scipy sparse matrix (n, p)
    y : array (n,)
    weights : array (p,), optional
        The weight of each coefficient in the penalty; 0 leaves it unpenalised.
    fit_intercept : bool
        Whether f has an unpenalised intercept b.

    Attributes
    ----------
    X, y : (n, p), (n,)
        The data, shifted by `centre` and `level`.
    """

    parameter = "lam"
    validation_loss = "squared"
    # A sum of squares and a penalty are never negative.
    bounded_below = True

    def __init__(
        self, X: Any, y: npt.ArrayLike, *, weights: npt.ArrayLike | None, fit_intercept: bool
    ) -> None:
        name = type(self).__name__
        rows = check_rows(X, name)
        target = checked_vector(y, "y", name)
        check_length(target, rows.shape[0], "y", name)
        self.weights = _penalty_weights(weights, rows.shape[1], name)
        self.fit_intercept = flag(fit_intercept, "fit_intercept", name)
        self.centre, self.level = np.zeros(rows.shape[1]), 0.0
        if self.fit_intercept:
            self.centre, self.level = middles(rows, target)
        self.X, self.y = moved(rows, self.centre), target - self.level
        _check_range(self.X, self.y, name)

    @abstractmethod
    def coefficients(self, alpha: Array) -> Array:
        """beta for one alpha, (p,), or for the columns of many, (p, k)."""

    @abstractmethod
    def shifted_intercept(self, alpha: Array) -> Any:
        """The intercept at `centre`, less `level`, likewise."""

    def table(self) -> Any:
        """X, whose columns are the coordinates."""
        return self.X

    def solution(self, t: float, alpha: Array, b: Array) -> Array:
        """beta."""
        return self.coefficients(alpha)

    def intercept(self, alpha: Array, b: Array) -> float:
        """The intercept of f as users write it, at x = 0."""
        at_centre = float(self.shifted_intercept(alpha)) + self.level
        return at_centre - float(self.centre @ self.coefficients(alpha))

    def decision_function(self, X: Any, alpha: Array, intercept: Any) -> Array:
        """``f(x) = x^T beta + b``."""
        return np.asarray(self._new_rows(X) @ self.coefficients(alpha) + intercept)

    def evaluator(self, X: Any) -> Callable[[Array, Array], Array]:
        new = self._new_rows(X)

        def values(alphas: Array, bs: Array) -> Array:
            beta = self.coefficients(alphas)
            shift = self.shifted_intercept(alphas) + self.level - self.centre @ beta
            return np.asarray(new @ beta + shift)

        return values

    def _new_rows(self, X: Any) -> Any:
        name, p = type(self).__name__, self.weights.size
        new = check_rows(X, name)
        if new.shape[1] != p:
            raise DataError(f"{name}: X has {new.shape[1]} columns, the model has {p} features")
        return new


def checked_vector(values: Any, what: str, name: str) -> Array:
    """`values` as a list of finite numbers."""
    vector = as_floats(values, what, name)
    if vector.ndim != 1 or vector.size == 0:
        raise DataError(f"{name}: {what} must be a list of numbers, got shape {vector.shape}")
    bad = np.flatnonzero(~np.isfinite(vector))
    if bad.size:
        raise DataError(f"{name}: {what}[{bad[0]}] is {vector[bad[0]]}; it must be finite")
    check_size(vector, what, name)
    return vector


def not_negative(vector: Array, what: str, name: str) -> Array:
    """`vector`, if none of its entries is negative."""
    bad = np.flatnonzero(vector < 0.0)
    if bad.size:
        raise DataError(
            f"{name}: {what}[{bad[0]}] is {vector[bad[0]]:g}; weights must not be negative"
        )
    return vector


def _penalty_weights(weights: npt.ArrayLike | None, p: int, name: str) -> Array:
    if weights is None:
        return np.ones(p)
    vector = not_negative(checked_vector(weights, "weights", name), "weights", name)
    if vector.size != p:
        raise DataError(f"{name}: X has {p} columns but weights has shape {vector.shape}")
    if not np.any(vector):
        raise DataError(
            f"{name}: every weight is 0, so that nothing is penalised and there is no path; "
            "ordinary least squares is the whole answer"
        )
    return vector


def middles(X: Any, y: Array) -> tuple[Array, float]:
    """Where to move the origin of the columns and of y, without losing a digit, if there is an
    intercept: to the value nearest to the mean of each.  A sparse X stays where it is."""
    centre = np.zeros(X.shape[1]) if sp.issparse(X) else _middle(X)
    return centre, float(_middle(y[:, None])[0])


def moved(X: Any, centre: Array) -> Any:
    """X with its origin at `centre`."""
    return X - centre if np.any(centre) else X


def _middle(X: Array) -> Array:
    """In each column the value nearest to the mean."""
    nearest = np.argmin(np.abs(X - X.mean(axis=0)), axis=0)
    return np.asarray(X[nearest, np.arange(X.shape[1])])


def column_squares(X: Any) -> Array:
    """The squared length of each column."""
    if sp.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=0)).ravel()
    return np.asarray(np.einsum("ij,ij->j", X, X))


def _check_range(X: Any, y: Array, name: str) -> None:
    """Refuse data whose products overflow or vanish."""
    with np.errstate(over="ignore", under="ignore"):
        squares = column_squares(X)
        largest, sizes = float(squares.max()) * max(1.0, float(y @ y)), squares[squares > 0.0]
    filled = np.abs(X).max(axis=0)
    filled = filled.toarray().ravel() if sp.issparse(filled) else filled
    smallest = 0.0 if np.any((filled > 0.0) & (squares == 0.0)) else float(sizes.min(initial=1.0))
    if not largest < LARGEST or smallest < 1.0 / LARGEST:
        raise DataError(
            f"{name}: products of columns of X, of squared length {smallest:.3g} to "
            f"{float(squares.max()):.3g}, with y, of squared length {float(y @ y):.3g}, overflow "
            "or vanish; scale the columns of X and y"
        )


def ridge_weight(ridge: Any, name: str) -> float:
    """The weight of a sum of squares, checked."""
    value = finite(ridge, "ridge", name)
    if value < 0.0:
        raise ModelError(f"{name}: ridge must not be negative, got {ridge!r}")
    return value
