"""Trend filtering: a signal of few pieces, each constant, linear or quadratic.

    min over x   1/2 sum_i w_i (y_i - x_i)^2 + lam |D x|_1

D takes differences of order k + 1: of neighbouring values (k = 0, the fused lasso: steps), of
slopes (k = 1: a polygon) or of curvatures (k = 2).  Where an entry of D x is not 0 there is a knot.

The dual, in a vector bounded by lam, begins with every one of its n coordinates active, in a matrix
``D D^T`` of condition n^(2k + 2).  Here the problem is written in the knots instead: ``x = p + H
alpha`` with p a polynomial of degree k and ``D H = I``.  Without the polynomial that is a lasso,

    min over alpha  1/2 |r - G alpha|^2 + lam |alpha|_1,     Q = G^T G = (D W^-1 D^T)^-1,

of which only columns of knots are ever computed: O(n) each.  The columns of H are the falling
factorial functions, ``h_j(z) = prod_{l=1..k} (z - z_{j+l}) / k!`` right of ``z_{j+k}`` and 0 left
of it (Wang, Smola and Tibshirani, 2014).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import factorial
from typing import Any

import numpy as np
import numpy.typing as npt

from homotopy import DataError, Jump, KernelGram, Knot, ModelError, Predictor, Slope
from homotopy_plugins.models.lasso import l1_pieces, l1_span
from homotopy_plugins.models.least_squares import checked_vector, not_negative

__all__ = ["TrendFilter"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]

# What is left of y beside a polynomial, in parts of y, is rounding up to here.
ROUNDED = 1e-13
# Where paths end, for each order: a few hundred knots in a thousand noisy values.
FRACTIONS = (1e-3, 1e-5, 1e-6)
# Numbers held at a time where all columns are needed once.
BLOCK = 1_000_000


class TrendFilter(Predictor):
    """Trend filtering for every lam: from a single polynomial to pieces with many knots.

    `Path.solution` is the signal x, `Path.alpha` D x (with positions in units of their mean
    distance), `Path.objective` the value of the problem, `Path.decision_function` the signal at new
    positions: between two of the given ones it is the polynomial of degree `order` through the
    upper one and those before it.

    Parameters
    ----------
    y : array (n,)
        The values, in the order of their positions; more than ``order + 1``.
    order : {0, 1, 2}
        The degree of the pieces.
    positions : array (n,), optional
        Where the values were taken, growing; 0, 1, 2, ... by default.  Differences are divided by
        distances: ``D_{k+1} = D_1 diag(k / (z_{i+k} - z_i)) D_k``, the plain ones at distance 1.
    weights : array (n,), optional
        w, ones by default; a value of weight 0 is missing.
    lam : float, optional
        Where the path ends.  It begins at the least lam without a knot.
    fraction : float in [0, 1), optional
        Where it ends if `lam` is not given, as a part of the lam where it begins; 1e-3, 1e-5 and
        1e-6 by default, for the three orders.
    """

    parameter = "lam"
    unknown = "alpha"
    # A sum of squares and a penalty are never negative.
    bounded_below = True
    validation_loss = "squared"

    def __init__(
        self,
        y: npt.ArrayLike,
        *,
        order: int = 1,
        positions: npt.ArrayLike | None = None,
        weights: npt.ArrayLike | None = None,
        lam: float | None = None,
        fraction: float | None = None,
    ) -> None:
        name = type(self).__name__
        if isinstance(order, bool) or order not in (0, 1, 2):
            raise ModelError(f"{name}: order must be 0, 1 or 2, got {order!r}")
        self.order = int(order)
        values = checked_vector(y, "y", name)
        n = values.size
        if n < self.order + 2:
            raise DataError(
                f"{name}: y has {n} values; order {self.order} needs at least {self.order + 2}"
            )
        self.positions = _positions(positions, n, name)
        self.sample_weight = _weights(weights, n, self.order, name)
        # In units of the mean distance numbers stay near 1; lam has `unit` of them.
        distance = float(self.positions[-1] - self.positions[0]) / (n - 1)
        self.unit = distance**-self.order
        basis = _Knots(self.positions / distance, self.order, self.sample_weight)
        self.basis, level = basis, float(np.median(values))
        values = values - level
        trend = basis.polynomial(values)
        self.rest = values - trend
        if np.abs(self.rest).max() <= ROUNDED * np.abs(values).max():
            self.rest = np.zeros(n)
        self.trend = trend + level
        self.q = basis.correlations(self.sample_weight * self.rest)
        inputs = ("trend filter", self.order, self.positions, self.sample_weight)
        self.gram = KernelGram(basis.rows, basis.diagonal(), inputs=inputs)
        part = FRACTIONS[self.order] if fraction is None else fraction
        most = float(np.abs(self.q).max())
        largest = most / self.unit
        if largest * self.unit < most:
            # At the first lam no correlation is beyond it, not by rounding either.
            largest = float(np.nextafter(largest, np.inf))
        self.span = l1_span(largest, lam, part, name)

    def polyline(self, lam: Any) -> Sequence[Slope | Knot | Jump]:
        return l1_pieces(self.q, lam * self.unit)

    def initial_guess(self) -> Array:
        return np.zeros(self.q.size)

    def solution(self, lam: float, alpha: Array, b: Array) -> Array:
        """The signal x."""
        return self._signal(alpha)

    def _signal(self, alpha: Array) -> Array:
        """x for one alpha, (n,), or for the columns of many, (n, K)."""
        used = np.flatnonzero(alpha if alpha.ndim == 1 else np.any(alpha, axis=1))
        bent = alpha[used].T @ self.basis.columns(used)
        # Large bends that cancel leave their rounding, and most of it is a polynomial.
        bent = bent - self.basis.polynomial(bent)
        return np.asarray((bent + self.trend).T)

    def objective_constant(self, lam: float) -> float:
        return 0.5 * float(self.sample_weight @ self.rest**2)

    def squared_error(self, lam: float, knots: Index, alpha: Array) -> float:
        """``sum_i w_i (y_i - x_i)^2`` of the optimum that has these alpha at these knots."""
        # There u = q -+ lam, so that alpha'Q alpha = q'alpha - lam |alpha|.
        pull = float(alpha @ self.q[knots]) + lam * self.unit * float(np.abs(alpha).sum())
        return max(2.0 * self.objective_constant(lam) - pull, 0.0)

    def decision_function(self, X: Any, alpha: Array, intercept: Any) -> Array:
        """The signal at the positions `X`, (N,) or (N, 1)."""
        return self._interpolate(X)(self._signal(alpha)[:, None])[:, 0]

    def evaluator(self, X: Any) -> Callable[[Array, Array], Array]:
        between = self._interpolate(X)
        return lambda alphas, bs: between(self._signal(alphas))

    def _interpolate(self, X: Any) -> Callable[[Array], Array]:
        """Lagrange's formula on the order + 1 positions that belong to each new one."""
        new = np.asarray(X)
        new = new[:, 0] if new.ndim == 2 and new.shape[1] == 1 else new
        new = checked_vector(new, "X", type(self).__name__)
        z, k = self.positions, self.order
        first = np.clip(np.searchsorted(z, new) - k, 0, z.size - k - 1)
        near = first[:, None] + np.arange(k + 1)
        weight = np.ones(near.shape)
        for i in range(k + 1):
            for j in range(k + 1):
                if i != j:
                    weight[:, i] *= (new - z[near[:, j]]) / (z[near[:, i]] - z[near[:, j]])
        return lambda signals: np.asarray(np.einsum("ij,ijk->ik", weight, signals[near]))


class _Knots:
    """Columns of G and of Q: one knot each, free of polynomials.

    A column is 0 left of its knot or, a polynomial later, right of it.  The side with fewer values
    is taken, and sums run from there: what the projection takes away then is no larger than what
    stays, at the ends as in the middle.
    """

    def __init__(self, positions: Array, order: int, weights: Array) -> None:
        self.z, self.order, self.weights = positions, order, weights
        self.count = positions.size - order - 1
        self.split = self.count // 2
        self.powers = _orthonormal(positions, order, weights)

    def polynomial(self, values: Array) -> Array:
        """The polynomial nearest to each row of `values`; not a bit of it depends on the others."""
        out, rest = np.zeros(values.shape), values
        for power in self.powers.T:
            part = np.sum(rest * (self.weights * power), axis=-1, keepdims=True) * power
            out, rest = out + part, rest - part
        return out

    def columns(self, index: Index) -> Array:
        """The columns `index` of G, as rows."""
        z, k = self.z, self.order
        out = np.full((index.size, z.size), 1.0 / factorial(k))
        for j in range(1, k + 1):
            out *= z - z[index + j, None]
        left = (index < self.split)[:, None]
        right_of_knot = np.arange(z.size) > (index + k)[:, None]
        out *= np.where(left, -1.0, 1.0) * (left ^ right_of_knot)
        for _ in range(2):
            out -= self.polynomial(out)
        return out

    def rows(self, index: Index) -> Array:
        """The rows `index` of Q."""
        return self.correlations(self.weights * self.columns(index))

    def correlations(self, rest: Array) -> Array:
        """``H^T rest`` of what is orthogonal to polynomials: v with ``D^T v = rest``."""
        low, high = -rest, rest[..., ::-1]
        for j in range(self.order + 1):
            if j:
                distance = (self.z[j:] - self.z[:-j]) / j
                low, high = -low * distance, high * distance[::-1]
            low, high = np.cumsum(low, -1)[..., :-1], np.cumsum(high, -1)[..., :-1]
        high = high[..., ::-1]
        return np.concatenate([low[..., : self.split], high[..., self.split :]], axis=-1)

    def diagonal(self) -> Array:
        """The diagonal of Q."""
        step = max(1, BLOCK // self.z.size)
        blocks = (np.arange(i, min(i + step, self.count)) for i in range(0, self.count, step))
        return np.concatenate([self.columns(b) ** 2 @ self.weights for b in blocks])


def _orthonormal(z: Array, degree: int, weights: Array) -> Array:
    """Polynomials of degree 0 to `degree`, orthonormal in the weighted values; (n, degree + 1).

    Each is the one before times z, from where the weight of that is: powers of z would cancel where
    the heavy values lie close together.
    """
    found = [np.full(z.size, 1.0 / np.sqrt(weights.sum()))]
    for _ in range(degree):
        last = found[-1]
        new = (z - np.sum(weights * last**2 * z)) * last
        # Twice, as the first time leaves rounding.
        for _ in range(2):
            for other in found:
                new = new - np.sum(weights * other * new) * other
        found.append(new / np.sqrt(np.sum(weights * new**2)))
    return np.stack(found, axis=1)


def _positions(positions: Any, n: int, name: str) -> Array:
    if positions is None:
        return np.arange(n, dtype=float)
    z = checked_vector(positions, "positions", name)
    if z.size != n:
        raise DataError(f"{name}: y has {n} values but positions has shape {z.shape}")
    bad = np.flatnonzero(np.diff(z) <= 0.0)
    if bad.size:
        i = int(bad[0])
        raise DataError(
            f"{name}: positions must grow, got {z[i]:g} and then {z[i + 1]:g}; sort them, and "
            "merge values at one position (TrendFilterRegressor does both)"
        )
    return z


def _weights(weights: Any, n: int, order: int, name: str) -> Array:
    if weights is None:
        return np.ones(n)
    w = not_negative(checked_vector(weights, "weights", name), "weights", name)
    if w.size != n:
        raise DataError(f"{name}: y has {n} values but weights has shape {w.shape}")
    if np.count_nonzero(w) < order + 2:
        raise DataError(
            f"{name}: {np.count_nonzero(w)} weights are positive; order {order} needs at least "
            f"{order + 2} values"
        )
    return w
