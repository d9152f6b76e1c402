"""Kernels between rows, dense or scipy-sparse.

Distances are sums of squared differences, never ``|x|^2 + |z|^2 - 2 x.z`` where that cancels: the
formula loses all digits between near rows with large entries and with it the positive definiteness
the engine relies on.  Products and distances are summed feature by feature, so that a row of a
kernel is the same to the last bit whatever other rows are asked for with it, on whatever BLAS.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from numba import njit

from homotopy import DataError, ModelError
from homotopy.compilation import protect

__all__ = ["KERNELS", "Kernel", "kernel_function", "kernel_rows"]

Array = npt.NDArray[np.float64]
Kernel = Callable[[Any, Any], Array]

# Columns at a time, so that what is read many times stays near.
TILE = 512
# A squared distance below this fraction of |x|^2 + |z|^2 is summed anew from differences.
CANCELS = 1.0 / 64.0

KERNELS = ("linear", "rbf", "poly", "sigmoid", "precomputed")


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


@njit(cache=True, error_model="numpy")
def _add_products(x, columns, out):  # type: ignore[no-untyped-def]
    """``out[i, j] = sum_c x[i, c] columns[c, j]``, c by c."""
    for first in range(0, out.shape[1], TILE):
        last = min(first + TILE, out.shape[1])
        for i in range(x.shape[0]):
            row = out[i, first:last]
            for j in range(row.size):
                row[j] = 0.0
            for c in range(x.shape[1]):
                value, column = x[i, c], columns[c, first:last]
                for j in range(row.size):
                    row[j] += value * column[j]


@njit(cache=True, error_model="numpy")
def _add_sparse_products(x, columns, out):  # type: ignore[no-untyped-def]
    """The same for rows x and columns that are sparse, each as (data, index, bounds)."""
    x_data, x_index, x_bounds = x
    data, index, bounds = columns
    for i in range(out.shape[0]):
        row = out[i]
        for j in range(row.size):
            row[j] = 0.0
        for p in range(x_bounds[i], x_bounds[i + 1]):
            value, c = x_data[p], x_index[p]
            for q in range(bounds[c], bounds[c + 1]):
                row[index[q]] += value * data[q]


@njit(cache=True, error_model="numpy")
def _add_sparse_squares(x, x_square, z, z_square, out):  # type: ignore[no-untyped-def]
    """Products in `out` become squared distances between sparse rows of x and of z."""
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            terms = x_square[i] + z_square[j]
            distance = terms - 2.0 * out[i, j]
            if distance < CANCELS * terms:
                distance = _difference(x, i, z, j)
            out[i, j] = distance


@njit(cache=True, error_model="numpy")
def _difference(x, i, z, j):  # type: ignore[no-untyped-def]
    """``|x_i - z_j|^2`` of two sparse rows, feature by feature."""
    x_data, x_index, x_bounds = x
    z_data, z_index, z_bounds = z
    p, q, total = x_bounds[i], z_bounds[j], 0.0
    p_end, q_end = x_bounds[i + 1], z_bounds[j + 1]
    while p < p_end or q < q_end:
        if q == q_end or (p < p_end and x_index[p] < z_index[q]):
            difference = x_data[p]
            p += 1
        elif p == p_end or z_index[q] < x_index[p]:
            difference = z_data[q]
            q += 1
        else:
            difference = x_data[p] - z_data[q]
            p += 1
            q += 1
        total += difference * difference
    return total


protect(globals())


def _parts(matrix: Any) -> tuple[Array, Any, Any]:
    """What a CSR or CSC matrix is made of."""
    return matrix.data, matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)


def _sorted_rows(X: Any) -> Any:
    rows = sp.csr_matrix(X, dtype=float, copy=True)
    rows.sum_duplicates()
    return rows


class Rows:
    """Products and squared distances of any rows with the rows of Z, laid out for many calls."""

    def __init__(self, Z: Any) -> None:
        self._dense = None if sp.issparse(Z) else np.ascontiguousarray(Z.T)
        self._Z = Z
        self._sparse: Any = None

    def _laid_out(self) -> Any:
        """Z as sparse rows, their squares, and sparse columns."""
        if self._sparse is None:
            rows = _sorted_rows(self._Z)
            self._sparse = _parts(rows), _squares(rows), _parts(rows.tocsc())
        return self._sparse

    def products(self, X: Any) -> Array:
        """``x.z``, one row per row of X."""
        out = np.empty((X.shape[0], self._Z.shape[0]))
        if self._dense is None or sp.issparse(X):
            _add_sparse_products(_parts(_sorted_rows(X)), self._laid_out()[2], out)
        else:
            _add_products(np.ascontiguousarray(X), self._dense, out)
        return out

    def distances(self, X: Any) -> Array:
        """``|x - z|^2``, one row per row of X."""
        out = np.empty((X.shape[0], self._Z.shape[0]))
        if self._dense is None or sp.issparse(X):
            x = _sorted_rows(X)
            z, z_square, columns = self._laid_out()
            _add_sparse_products(_parts(x), columns, out)
            _add_sparse_squares(_parts(x), _squares(x), z, z_square, out)
        else:
            _add_squares(np.ascontiguousarray(X), self._dense, out)
        return out


def _squares(rows: Any) -> Array:
    return np.asarray(rows.multiply(rows).sum(axis=1)).ravel()


def kernel_rows(
    kernel: Any, *, gamma: float, degree: int, coef0: float, Z: Any
) -> Callable[[Any], Array]:
    """``K(X, Z)`` as a function of X alone, for many calls with the same Z."""
    if callable(kernel):
        return lambda X: _called(kernel, X, Z)
    rows = Rows(Z)
    if kernel == "linear":
        return rows.products

    def rbf(X: Any) -> Array:
        values = rows.distances(X)
        values *= -gamma
        return np.exp(values, out=values)

    def affine(X: Any) -> Array:
        values = rows.products(X)
        values *= gamma
        values += coef0
        return values

    if kernel == "rbf":
        return rbf

    def poly(X: Any) -> Array:
        with np.errstate(over="ignore"):
            values = np.asarray(affine(X) ** degree)
        if not np.all(np.isfinite(values)):
            raise DataError(
                f"the poly kernel of degree {degree} overflows on rows so far out; scale X"
            )
        return values

    if kernel == "poly":
        return poly
    if kernel == "sigmoid":
        return lambda X: np.tanh(affine(X))
    raise ModelError(f"kernel must be one of {', '.join(KERNELS)} or a callable, got {kernel!r}")


def kernel_function(kernel: Any, *, gamma: float, degree: int, coef0: float) -> Kernel:
    """``K(X, Z)`` for a kernel name or a callable of that signature."""

    def function(X: Any, Z: Any) -> Array:
        return kernel_rows(kernel, gamma=gamma, degree=degree, coef0=coef0, Z=Z)(X)

    return function


def _called(kernel: Callable[[Any, Any], Any], X: Any, Z: Any) -> Array:
    values = np.array(kernel(X, Z), dtype=float)
    if values.shape != (X.shape[0], Z.shape[0]):
        raise DataError(
            f"the kernel returned shape {values.shape} for {X.shape[0]} and {Z.shape[0]} "
            "rows; a callable kernel K(X, Z) must return one value for each pair of rows"
        )
    if not np.all(np.isfinite(values)):
        raise DataError("the kernel returned values that are not finite")
    return values
