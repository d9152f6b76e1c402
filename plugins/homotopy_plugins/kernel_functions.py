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
from scipy.spatial.distance import cdist

from homotopy import DataError, ModelError

__all__ = ["KERNELS", "kernel_function"]

Array = npt.NDArray[np.float64]
Kernel = Callable[[Any, Any], Array]

KERNELS = ("linear", "rbf", "poly", "sigmoid", "precomputed")


def _dot(X: Any, Z: Any) -> Array:
    product = X @ Z.T
    return np.asarray(product.toarray() if sp.issparse(product) else product)


def _squared_distance(X: Any, Z: Any) -> Array:
    if not sp.issparse(X) and not sp.issparse(Z):
        return np.asarray(cdist(X, Z, "sqeuclidean"))
    square_x = np.asarray(sp.csr_matrix(X).multiply(X).sum(axis=1)).ravel()
    square_z = np.asarray(sp.csr_matrix(Z).multiply(Z).sum(axis=1)).ravel()
    distance = square_x[:, None] + square_z[None, :] - 2.0 * _dot(X, Z)
    # Rounding of the three terms must not pass for a distance: equal rows are at distance 0.
    floor = 8.0 * np.finfo(float).eps * np.maximum(square_x[:, None], square_z[None, :])
    return np.asarray(np.where(distance <= floor, 0.0, distance))


def kernel_function(kernel: Any, *, gamma: float, degree: int, coef0: float) -> Kernel:
    """``K(X, Z)`` for a kernel name or a callable of that signature."""
    if callable(kernel):

        def called(X: Any, Z: Any) -> Array:
            values = np.asarray(kernel(X, Z), dtype=float)
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
        return lambda X, Z: np.exp(-gamma * _squared_distance(X, Z))
    if kernel == "poly":
        return lambda X, Z: (gamma * _dot(X, Z) + coef0) ** degree
    if kernel == "sigmoid":
        return lambda X, Z: np.tanh(gamma * _dot(X, Z) + coef0)
    raise ModelError(f"kernel must be one of {', '.join(KERNELS)} or a callable, got {kernel!r}")
