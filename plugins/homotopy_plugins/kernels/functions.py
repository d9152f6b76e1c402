"""Kernels between rows, dense or scipy-sparse.

Distances between dense rows are sums of squared differences, never ``|x|^2 + |z|^2 - 2 x.z``:
that formula loses all digits between near rows with large entries and with it the positive
definiteness the engine relies on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from numba import njit

from homotopy import DataError, ModelError

__all__ = ["KERNELS", "Kernel", "kernel_function", "kernel_rows"]

Array = npt.NDArray[np.float64]
Kernel = Callable[[Any, Any], Array]

# Columns at a time, so that what is read many times stays near.
TILE = 512

KERNELS = ("linear", "rbf", "poly", "sigmoid", "precomputed")


def _dot(X: Any, Z: Any) -> Array:
    product = X @ Z.T
    return np.asarray(product.toarray() if sp.issparse(product) else product)


@njit(cache=True, error_model="numpy")
def _add_squares(x, columns, out):  # type: ignore[no-untyped-def]
    """``out[i, j] = sum_c (x[i, c] - columns[c, j])^2``, c by c: equal rows give equal sums."""
    for first in range(0, out.shape[1], TILE):
        last = min(first + TILE, out.shape[1])
        for i in range(x.shape[0]):
            row = out[i, first:last]
            for j in range(row.size):
                row[j] = 0.0
            for c in range(x.shape[1]):
                value, column = x[i, c], columns[c, first:last]
                for j in range(row.size):
                    difference = value - column[j]
                    row[j] += difference * difference


class Distances:
    """Squared distances from any rows to the rows of Z, laid out for many calls."""

    def __init__(self, Z: Any) -> None:
        self._Z = Z
        self._columns = None if sp.issparse(Z) else np.ascontiguousarray(Z.T)

    def __call__(self, X: Any) -> Array:
        if self._columns is None or sp.issparse(X):
            return _sparse_squared_distance(X, self._Z)
        out = np.empty((X.shape[0], self._columns.shape[1]))
        _add_squares(np.ascontiguousarray(X), self._columns, out)
        return out


def _sparse_squared_distance(X: Any, Z: Any) -> Array:
    square_x = np.asarray(sp.csr_matrix(X).multiply(X).sum(axis=1)).ravel()
    square_z = np.asarray(sp.csr_matrix(Z).multiply(Z).sum(axis=1)).ravel()
    distance = square_x[:, None] + square_z[None, :] - 2.0 * _dot(X, Z)
    # Rounding of the three terms must not pass for a distance: equal rows are at distance 0.
    floor = 8.0 * np.finfo(float).eps * np.maximum(square_x[:, None], square_z[None, :])
    return np.asarray(np.where(distance <= floor, 0.0, distance))


def _rbf(distance: Array, gamma: float) -> Array:
    distance *= -gamma
    return np.exp(distance, out=distance)


def kernel_rows(kernel: Any, function: Kernel, gamma: float, Z: Any) -> Callable[[Any], Array]:
    """``K(X, Z)`` as a function of X alone, for many calls with the same Z."""
    if kernel == "rbf":
        distances = Distances(Z)
        return lambda X: _rbf(distances(X), gamma)
    return lambda X: function(X, Z)


def kernel_function(kernel: Any, *, gamma: float, degree: int, coef0: float) -> Kernel:
    """``K(X, Z)`` for a kernel name or a callable of that signature."""
    if callable(kernel):

        def called(X: Any, Z: Any) -> Array:
            values = np.array(kernel(X, Z), dtype=float)
            if values.shape != (X.shape[0], Z.shape[0]):
                raise DataError(
                    f"the kernel returned shape {values.shape} for {X.shape[0]} and {Z.shape[0]} "
                    "rows; a callable kernel K(X, Z) must return one value for each pair of rows"
                )
            if not np.all(np.isfinite(values)):
                raise DataError("the kernel returned values that are not finite")
            return values

        return called
    if kernel == "linear":
        return _dot
    if kernel == "rbf":
        return lambda X, Z: _rbf(Distances(Z)(X), gamma)
    if kernel == "poly":
        return lambda X, Z: (gamma * _dot(X, Z) + coef0) ** degree
    if kernel == "sigmoid":
        return lambda X, Z: np.tanh(gamma * _dot(X, Z) + coef0)
    raise ModelError(f"kernel must be one of {', '.join(KERNELS)} or a callable, got {kernel!r}")
