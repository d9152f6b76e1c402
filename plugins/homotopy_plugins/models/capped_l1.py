"""Least squares with the capped l1 norm: large coefficients pay no more for being larger.

    min over beta, b   1/2 |y - X beta - b|^2 + ridge / 2 |beta|^2
                       + lam sum_j w_j min(|beta_j|, cap)

With the minimum beta0 of the quadratic part and ``G = X^T X + ridge I`` that part is
``1/2 (beta - beta0)^T G (beta - beta0)`` and a constant.  So the response is ``u = beta - beta0``,
``Q = G^-1``, and the loss of one coefficient has the polyline

    0  |  jump at -cap  |  lam w  |  knot at 0  |  -lam w  |  jump at cap  |  0

shifted by -beta0 (and stretched: coefficients are multiplied by the length of their columns).  G
must be definite: more rows than columns, none of them dependent, or a ridge.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.linalg
import scipy.sparse as sp

from homotopy import DataError, Jump, Knot, LinearGram, ModelError, Slope
from homotopy_plugins.kernels.checks import positive
from homotopy_plugins.models.least_squares import LeastSquares, column_squares, ridge_weight

__all__ = ["CappedL1"]

Array = npt.NDArray[np.float64]

# Columns of length 1 are dependent where a combination of them is shorter than this.
DEPENDENT = 1e-7


class CappedL1(LeastSquares):
    """Least squares with ``lam sum_j w_j min(|beta_j|, cap)``, along lam or along the cap.

    The penalty is not convex: each point of the path is a local optimum, and where a coefficient
    comes to the cap the path may jump.

    Parameters
    ----------
    X : array or scipy sparse matrix (n, p)
        Of independent columns, unless there is a ridge; a sparse one is made dense.
    y : array (n,)
    cap : float
        From where on a coefficient pays no more; the end of the path along the cap.
    path : {"cap", "lam"}
        "cap": the cap comes down from infinity (the lasso) to `cap`; "lam": lam goes from 0 (least
        squares) to `lam`.  The first ends at the better optima: from least squares, coefficients
        that are large by chance stay beyond the cap.
    lam : float, optional
        The weight of the penalty, or where it ends; by default the least at which the lasso has no
        coefficient, and a tenth of that along the cap.
    ridge : float, at least 0
        The weight of ``1/2 |beta|^2``.
    weights : array (p,), optional
        w, ones by default; 0 leaves a coefficient unpenalised.
    fit_intercept : bool
        Whether there is an intercept b, which is not penalised; else it is 0.
    """

    def __init__(
        self,
        X: Any,
        y: npt.ArrayLike,
        *,
        cap: float,
        path: str = "cap",
        lam: float | None = None,
        ridge: float = 0.0,
        weights: npt.ArrayLike | None = None,
        fit_intercept: bool = False,
    ) -> None:
        name = type(self).__name__
        if path not in ("lam", "cap"):
            raise ModelError(f"{name}: path must be 'lam' or 'cap', got {path!r}")
        super().__init__(X, y, weights=weights, fit_intercept=fit_intercept)
        self.path, self.parameter, self.cap = path, path, positive(cap, "cap", name)
        self.ridge = ridge_weight(ridge, name)
        dense = self.X.toarray() if sp.issparse(self.X) else self.X
        self.mean, self.mean_target = np.zeros(dense.shape[1]), 0.0
        if self.fit_intercept:
            self.mean, self.mean_target = dense.mean(axis=0), float(self.y.mean())
        columns, target = dense - self.mean, self.y - self.mean_target
        largest = np.abs(columns.T @ target)[self.weights > 0] / self.weights[self.weights > 0]
        default = (float(largest.max()) or 1.0) * (1.0 if path == "lam" else 0.1)
        self.lam = default if lam is None else positive(lam, "lam", name)
        # Coefficients times the length of their column, by powers of two: not a digit changes.
        length = np.sqrt(column_squares(columns) + self.ridge)
        self.scale = np.exp2(np.round(np.log2(np.where(length > 0.0, length, 1.0))))
        features, self.beta0, self.constant = self._quadratic(columns, target, name)
        # What is 0 whatever it pays, pays nothing: a zero column, or all where there is no trend.
        moves = (column_squares(columns) > 0.0) & bool(np.any(self.beta0))
        self.price = np.where(moves, self.weights, 0.0) / self.scale
        self.gram = LinearGram(features)
        self.span = (0.0, self.lam) if path == "lam" else (np.inf, self.cap)

    def _quadratic(self, columns: Array, target: Array, name: str) -> tuple[Array, Array, float]:
        """R^-1 with ``G = R^T R``, the minimum beta0 and the value there, in `scale`."""
        p = columns.shape[1]
        tall = np.vstack([columns, np.sqrt(self.ridge) * np.eye(p)]) / self.scale
        right = np.append(target, np.zeros(p))
        r = np.linalg.qr(tall, "r")
        spread = np.linalg.svd(r, compute_uv=False)
        if spread[-1] <= DEPENDENT * spread[0]:
            weak = int(np.argmin(np.abs(np.diagonal(r))))
            raise DataError(
                f"{name}: the columns of X depend on each other (column {weak}, on those before "
                "it), so that the coefficients are not determined; leave some out, or give a "
                "larger ridge"
            )
        inverse = scipy.linalg.solve_triangular(r, np.eye(p))
        beta0 = np.zeros(p)
        for _ in range(3):
            beta0 += inverse @ (inverse.T @ (tall.T @ (right - tall @ beta0)))
        return inverse, beta0, 0.5 * float(np.sum((right - tall @ beta0) ** 2))

    def polyline(self, t: Any) -> Sequence[Slope | Knot | Jump]:
        lam, cap = (t, self.cap) if self.path == "lam" else (self.lam, t)
        price, cap = lam * self.price, cap * self.scale
        return (
            Slope("beyond -", 0.0),
            Jump(-cap - self.beta0),
            Slope("negative", price),
            Knot("zero", -self.beta0),
            Slope("positive", -price),
            Jump(cap - self.beta0),
            Slope("beyond +", 0.0),
        )

    def coefficients(self, alpha: Array) -> Array:
        phi = self.gram.features()
        scaled = self.beta0 + (phi @ (phi.T @ alpha)).T
        return np.asarray((scaled / self.scale).T)

    def shifted_intercept(self, alpha: Array) -> Any:
        return self.mean_target - self.mean @ self.coefficients(alpha)

    def loss_origin(self, t: float) -> Array:
        return -self.beta0

    def objective_constant(self, t: float) -> float:
        return self.constant
