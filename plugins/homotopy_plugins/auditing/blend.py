"""Many scores made one, with weights that the rows themselves give.

Each column was computed without the row it speaks about, so that a fit of the labels (targets) by
the columns tells how far each can be relied upon *here*: a machine that is out of its depth on a
table gets no weight.  Weights are not negative, since no score is meant to be read backwards.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.optimize import linprog, minimize

__all__ = ["blended_residual", "blended_score"]

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

# Pulls weights towards 0 where columns say the same, or rows are few.
RIDGE = 1.0
# A linear program over this many rows, evenly chosen, is as good as over all.
ROWS = 3000


def blended_score(columns: Array, inside: Flags, counted: Flags) -> tuple[Array, Array]:
    """The columns (n, m) as one score, and the weights: logistic regression of the labels on them
    with weights of at least 0, over the rows `counted`."""
    unit = np.sqrt(np.mean(columns[counted] ** 2, axis=0))
    scaled = columns / np.where(unit > 0.0, unit, 1.0)
    sign, F = np.where(inside, 1.0, -1.0)[counted], scaled[counted]

    def loss(w: Array) -> tuple[float, Array]:
        margin = sign * (F @ w[1:] + w[0])
        pull = -sign / (1.0 + np.exp(np.clip(margin, -35.0, 35.0)))
        value = np.logaddexp(0.0, -margin).sum() + 0.5 * RIDGE * np.sum(w[1:] ** 2)
        return float(value), np.r_[pull.sum(), F.T @ pull + RIDGE * w[1:]]

    m = columns.shape[1]
    start = np.r_[0.0, np.full(m, 1.0 / m)]
    bounds = [(None, None), *[(0.0, None)] * m]
    weight = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x
    return scaled @ weight[1:] + weight[0], weight[1:] / max(float(weight[1:].sum()), 1e-12)


def blended_residual(columns: Array) -> tuple[Array, Array]:
    """The residuals (n, m) as one, and the weights: of at least 0, with the sum 1, such that the
    sum of absolute values is least, which wrong targets cannot pull far."""
    rows = np.unique(np.linspace(0, len(columns) - 1, min(ROWS, len(columns))).astype(int))
    R = columns[rows]
    n, m = R.shape
    unit = float(np.abs(R).max()) or 1.0
    # Residuals as a difference of two parts that are not negative; weights with the sum 1.
    fits = [sp.csr_matrix(R / unit), -sp.eye(n), sp.eye(n)]
    equations = sp.bmat([fits, [np.ones((1, m)), None, None]], format="csr")
    cost = np.r_[np.zeros(m), np.ones(2 * n)]
    found = linprog(cost, A_eq=equations, b_eq=np.r_[np.zeros(n), 1.0], method="highs")
    weight = found.x[:m] if found.success else np.full(m, 1.0 / m)
    return columns @ weight, weight
