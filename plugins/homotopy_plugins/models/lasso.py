"""The lasso and the elastic net along the weight of the l1 norm.

    min over beta, b   1/2 |y - X beta - b|^2 + sum_j w_j (lam |beta_j| + ridge / 2 beta_j^2)

With alpha = beta, ``Q = X^T X + ridge diag(w)`` and ``q = X^T y`` the response is ``u = Q beta``,
and optimality reads ``q_j - u_j in lam w_j d|beta_j|``.  The point (u_j, beta_j) lies on the
polyline

    +inf  |  knot at q - lam w: beta > 0  |  0  |  knot at q + lam w: beta < 0  |  -inf

whose two knots are one where w = 0.  The intercept is the coefficient of a column of ones that is
not penalised.  Columns are scaled to a length near 1, so that alpha is beta but for powers of two.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.optimize import lsq_linear

from homotopy import DenseGram, Gram, Jump, Knot, LinearGram, ModelError, Slope
from homotopy_plugins.kernels.checks import finite, flag
from homotopy_plugins.models.least_squares import (
    ROUNDED,
    LeastSquares,
    column_squares,
    ridge_weight,
)

__all__ = ["ElasticNet", "Lasso", "l1_pieces", "l1_span"]

Array = npt.NDArray[np.float64]

# No intercept has this size, in parts of y.
NEVER = 1e6
# A column that reaches this many times less far than another cannot be told from 0.
FAR, LAST = 1e5, 1e-10


class Lasso(LeastSquares):
    """``min 1/2 |y - X beta - b|^2 + lam sum_j w_j |beta_j|`` for every lam.

    `Path.solution` is beta, `Path.intercept` b, `Path.objective` the value of this problem.  There
    is no 1/n before the squared error: lam is n times the `alpha` of scikit-learn.

    Parameters
    ----------
    X : array or scipy sparse matrix (n, p)
        With more columns than rows too; columns may be repeated, constant or zero.
    y : array (n,)
    lam : float, optional
        Where the path ends.  It begins at the least lam for which every penalised coefficient
        is 0.
    fraction : float in [0, 1), optional
        Where it ends if `lam` is not given, as a fraction of the lam where it begins.  By default
        0: least squares; but 1e-10 where lengths of columns, each over its weight, differ by more
        than 1e5: they would enter too near to 0 to be told from it.
    positive : bool
        Whether no coefficient (except the intercept) may be negative.
    weights : array (p,), optional
        w, ones by default; 0 leaves a coefficient unpenalised.
    fit_intercept : bool
        Whether there is an intercept b, which is not penalised; else it is 0.  It is the last entry
        of `Path.alpha`, which has one more than beta then.

    Notes
    -----
    A coefficient of weight 0 makes a break-point where it changes its sign, though nothing bends.
    """

    unknown = "alpha"
    ridge = 0.0

    def __init__(
        self,
        X: Any,
        y: npt.ArrayLike,
        *,
        lam: float | None = None,
        fraction: float | None = None,
        positive: bool = False,
        weights: npt.ArrayLike | None = None,
        fit_intercept: bool = False,
    ) -> None:
        name = type(self).__name__
        super().__init__(X, y, weights=weights, fit_intercept=fit_intercept)
        self.positive = flag(positive, "positive", name)
        columns, weights = self._columns()
        # Columns of length near 1, by powers of two: not a digit changes.
        length = np.sqrt(column_squares(columns) + self.ridge * weights)
        self.scale = np.exp2(-np.round(np.log2(np.where(length > 0.0, length, 1.0))))
        columns = columns @ sp.diags(self.scale) if sp.issparse(columns) else columns * self.scale
        self.q, self.price = np.asarray(columns.T @ self.y).ravel(), weights * self.scale
        # What a coefficient that may not be negative pays for being so.
        self.barrier = np.zeros(weights.size)
        if self.positive:
            self.barrier[: self.weights.size] = np.inf
        # Between its two knots, which are one, the intercept may rest anywhere: where it never is,
        # so that no sign of it makes a break-point.
        self.rest = np.zeros(weights.size)
        if self.fit_intercept:
            self.rest[-1] = -NEVER * np.linalg.norm(self.y)
        self.gram = self._build_gram(columns, np.sqrt(self.ridge * weights) * self.scale)
        self._guess, largest = self._start(columns)
        part = self._least_fraction(columns) if fraction is None else fraction
        self.span = l1_span(largest, lam, part, name)

    def _least_fraction(self, columns: Any) -> float:
        """0, or next to it where columns of very different reach enter just before the end."""
        length, some = np.sqrt(column_squares(columns)), self.price > 0.0
        reach = length[some & (length > 0.0)] / self.price[some & (length > 0.0)]
        return LAST if reach.size and reach.max() > FAR * reach.min() else 0.0

    def _columns(self) -> tuple[Any, Array]:
        """X, with a column of ones for the intercept, and the weights of its columns."""
        if not self.fit_intercept:
            return self.X, self.weights
        ones = np.ones((self.y.size, 1))
        wide = sp.hstack([self.X, ones], "csr") if sp.issparse(self.X) else [self.X, ones]
        columns = wide if sp.issparse(wide) else np.hstack(wide)
        return columns, np.append(self.weights, 0.0)

    def _build_gram(self, columns: Any, pull: Array) -> Gram:
        """``Q = X^T X + diag(pull^2)``, by features or, where that is less, as a matrix."""
        sparse, (n, p) = sp.issparse(columns), columns.shape
        if not np.any(pull):
            return LinearGram(columns.T) if sparse or p > n else DenseGram(columns.T @ columns)
        if sparse:
            return LinearGram(sp.hstack([columns.T, sp.diags(pull)], "csr"))
        return DenseGram(columns.T @ columns + np.diag(pull**2))

    def _start(self, columns: Any) -> tuple[Array, float]:
        """alpha where nothing but what is free is not 0, and the least lam at which that holds."""
        alpha, free = np.zeros(self.price.size), np.flatnonzero(self.price == 0.0)
        rest = self.y
        if free.size:
            part = columns[:, free]
            part = part.toarray() if sp.issparse(part) else part
            alpha[free] = _free_fit(part, self.y, self.barrier[free] > 0.0)
            rest = self.y - part @ alpha[free]
        pull = np.asarray(columns.T @ rest).ravel()
        size = np.sqrt(column_squares(columns)) * np.linalg.norm(self.y)
        pull = np.where(self.barrier > 0.0, pull, np.abs(pull))
        pull[pull <= ROUNDED * size] = 0.0
        some = self.price > 0.0
        return alpha, float((pull[some] / self.price[some]).max(initial=0.0))

    def polyline(self, lam: Any) -> Sequence[Slope | Knot | Jump]:
        return l1_pieces(self.q, lam * self.price, self.barrier, self.rest)

    def initial_guess(self) -> Array:
        return self._guess

    def coefficients(self, alpha: Array) -> Array:
        p = self.weights.size
        return np.asarray((alpha.T * self.scale).T[:p])

    def shifted_intercept(self, alpha: Array) -> Any:
        return alpha[-1] * self.scale[-1] if self.fit_intercept else 0.0

    def objective_constant(self, lam: float) -> float:
        return 0.5 * float(self.y @ self.y)


class ElasticNet(Lasso):
    """``min 1/2 |y - X beta - b|^2 + sum_j w_j (lam |beta_j| + ridge / 2 beta_j^2)`` for every lam.

    The weight of the squares is fixed while lam moves, so that the path is piecewise linear in lam
    and ends at ridge regression.  At one lam it is scikit-learn's `ElasticNet` with
    ``alpha = (lam + ridge) / n`` and ``l1_ratio = lam / (lam + ridge)``.

    Parameters
    ----------
    ridge : float, at least 0
        The weight of the squares; repeated columns then share their coefficient evenly.
    X, y, lam, fraction, positive, weights, fit_intercept
        As in `Lasso`; weights apply to both parts of the penalty.
    """

    def __init__(self, X: Any, y: npt.ArrayLike, *, ridge: float, **options: Any) -> None:
        self.ridge = ridge_weight(ridge, type(self).__name__)
        super().__init__(X, y, **options)


def l1_pieces(
    q: Array, price: Any, barrier: Any = 0.0, rest: Any = 0.0
) -> Sequence[Slope | Knot | Jump]:
    """The polyline of ``-q alpha + price |alpha - rest|``; below `rest` it also costs `barrier`."""
    return (
        Slope("left wall", np.inf),
        Knot("positive", q - price),
        Slope("zero", rest),
        Knot("negative", q + price + barrier),
        Slope("right wall", -np.inf),
    )


def l1_span(largest: float, lam: Any, fraction: Any, name: str) -> tuple[float, float]:
    """From the least lam at which all is 0 down to `lam`, or to a fraction; where all is 0 at the
    end too, from some lam beyond it."""
    part = finite(fraction, "fraction", name)
    if not 0.0 <= part < 1.0:
        raise ModelError(f"{name}: fraction must be at least 0 and less than 1, got {fraction!r}")
    stop = part * (largest or 1.0) if lam is None else finite(lam, "lam", name)
    if stop < 0.0:
        raise ModelError(f"{name}: lam must not be negative, got {lam!r}")
    return (largest if largest > stop else 2.0 * stop or 1.0), stop


def _free_fit(columns: Array, y: Array, positive: npt.NDArray[np.bool_]) -> Array:
    """Least squares on the columns that are not penalised."""
    if not np.any(positive):
        return np.asarray(np.linalg.lstsq(columns, y, rcond=None)[0])
    lowest = np.where(positive, 0.0, -np.inf)
    return np.asarray(lsq_linear(columns, y, (lowest, np.inf), method="bvls", tol=1e-15).x)
