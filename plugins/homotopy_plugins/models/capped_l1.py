"""Least squares with the capped l1 norm: large coefficients pay no more for being larger.

    min over beta, b   1/2 |y - X beta - b|^2 + ridge / 2 |beta|^2
                       + lam sum_j w_j min(|beta_j|, cap)

With the minimum beta0 of the quadratic part and ``G = X^T X + ridge I`` that part is
``1/2 (beta - beta0)^T G (beta - beta0)`` and a constant.  So the response is ``u = beta - beta0``,
``Q = G^-1``, and the loss of one coefficient has the polyline

    0  |  jump at -cap  |  lam w  |  knot at 0  |  -lam w  |  jump at cap  |  0

shifted by -beta0 (and stretched: coefficients are multiplied by the length of their columns).

Of columns that are multiples of each other, ``x_j = c x_i``, one is enough: the penalty is
concave, and with ``w_j >= |c| w_i`` (i pays least for the same move) ``beta_j = 0`` is a local
optimum wherever beta_i is one: ``|x_j^T r| = |c| |x_i^T r| <= |c| lam w_i <= lam w_j``.  So all
but that one have coefficient 0, as zero columns have.  On the others G must be definite: no more
columns than rows, none of them a combination of several, or a ridge.
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
Mask = npt.NDArray[np.bool_]

# Columns of length 1 are dependent where a combination of them is shorter than this.
DEPENDENT = 1e-7
# Columns of length 1 that differ by no more are the same.
SAME = 1e-14


class CappedL1(LeastSquares):
    """Least squares with ``lam sum_j w_j min(|beta_j|, cap)``, along lam or along the cap.

    The penalty is not convex: each point of the path is a local optimum, and where a coefficient
    comes to the cap the path may jump.

    Parameters
    ----------
    X : array or scipy sparse matrix (n, p)
        A sparse one is made dense.  Unless there is a ridge no column may be a combination of
        several others (all levels of a category beside an intercept, more columns than rows).
        Zero columns, copies, opposites and multiples of one column may be there: of these one has
        a coefficient (the first of those that pay least for the same move), the others have 0.
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
        kept = np.ones(length.size, np.bool_) if self.ridge > 0.0 else _kept(columns, self.weights)
        features, self.beta0, self.constant = self._quadratic(columns, target, kept, name)
        # What is 0 whatever it pays, pays nothing: a zero column, or all where there is no trend.
        moves = kept & (column_squares(columns) > 0.0) & bool(np.any(self.beta0))
        self.price = np.where(moves, self.weights, 0.0) / self.scale
        self.gram = LinearGram(features)
        self.span = (0.0, self.lam) if path == "lam" else (np.inf, self.cap)

    def _quadratic(
        self, columns: Array, target: Array, kept: Mask, name: str
    ) -> tuple[Array, Array, float]:
        """R^-1 with ``G = R^T R``, the minimum beta0 and the value there, in `scale`; 0 in the rows
        of columns that are not kept."""
        p, index = columns.shape[1], np.flatnonzero(kept)
        features, beta0 = np.zeros((p, max(index.size, 1))), np.zeros(p)
        tall = np.vstack([columns, np.sqrt(self.ridge) * np.eye(p)])[:, index] / self.scale[index]
        right = np.append(target, np.zeros(p))
        if index.size:
            r = np.linalg.qr(tall, "r")
            spread = np.linalg.svd(r, compute_uv=False)
            if columns.shape[0] + p * (self.ridge > 0.0) < index.size:
                raise DataError(
                    f"{name}: X has {index.size} different columns and {columns.shape[0]} rows, so "
                    "that the coefficients are not determined; leave some out, or give a ridge"
                )
            if spread[-1] <= DEPENDENT * spread[0]:
                weak = int(index[np.argmin(np.abs(np.diagonal(r)))])
                raise DataError(
                    f"{name}: the columns of X depend on each other (column {weak}, on those "
                    "before it), so that the coefficients are not determined; leave some out (of "
                    "the levels of a category one), or give a larger ridge"
                )
            inverse = scipy.linalg.solve_triangular(r, np.eye(index.size))
            found = np.zeros(index.size)
            for _ in range(3):
                found += inverse @ (inverse.T @ (tall.T @ (right - tall @ found)))
            features[index], beta0[index] = inverse, found
            right = right - tall @ found
        return features, beta0, 0.5 * float(np.sum(right**2))

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


def _kept(columns: Array, weights: Array) -> Mask:
    """Which columns have a coefficient: none of zeros, and of the multiples of one column the first
    of those that pay least for the same move."""
    length = np.sqrt(column_squares(columns))
    live = length > 0.0
    unit = columns / np.where(live, length, 1.0)
    pays = weights / np.where(live, length, 1.0)
    chosen: list[int] = []
    for j in np.flatnonzero(live).tolist():
        others = unit[:, chosen]
        sign = np.where(others.T @ unit[:, j] < 0.0, -1.0, 1.0)
        same = np.flatnonzero(np.linalg.norm(others * sign - unit[:, [j]], axis=0) <= SAME)
        if not same.size:
            chosen.append(j)
        elif pays[j] < (1.0 - SAME) * pays[chosen[same[0]]]:
            chosen[same[0]] = j
    kept = np.zeros(length.size, np.bool_)
    kept[chosen] = True
    return kept
