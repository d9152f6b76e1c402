"""A quadratic form given by its features."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from homotopy.arrays import Array, Index
from homotopy.errors import DataError
from homotopy.gram.base import Gram


class LinearGram(Gram):
    """``Q = phi phi^T``, computed from the features: O(n d) per product, no n x n matrix.

    Parameters
    ----------
    features : array or scipy sparse matrix of shape (n, d)
        One row per coordinate.
    """

    def __init__(self, features: Any) -> None:
        if sp.issparse(features):
            self._phi: Any = sp.csr_matrix(features, dtype=float, copy=True)
            self._phi.sum_duplicates()
            self.diag = np.asarray(self._phi.multiply(self._phi).sum(axis=1)).ravel()
        else:
            self._phi = np.ascontiguousarray(features, dtype=float)
            if self._phi.ndim != 2:
                raise DataError(
                    f"LinearGram: expected features of shape (n, d), got shape {self._phi.shape}"
                )
            self.diag = np.einsum("ij,ij->i", self._phi, self._phi)
        self.size = self._phi.shape[0]

    def _rows(self, index: Index) -> Array:
        rows = self._phi[index]
        return np.asarray(rows.toarray() if sp.issparse(rows) else rows)

    def column(self, i: int) -> Array:
        return np.asarray(self._phi @ self._rows(np.array([i]))[0])

    def block(self, rows: Index, columns: Index) -> Array:
        return np.asarray(self._rows(rows) @ self._rows(columns).T)

    def combine(self, index: Index, weights: Array) -> Array:
        return np.asarray(self._phi @ np.asarray(self._phi[index].T @ weights))

    def matvec(self, alpha: Array) -> Array:
        return np.asarray(self._phi @ np.asarray(self._phi.T @ alpha))

    def matmat(self, alphas: Array) -> Array:
        return np.asarray(self._phi @ np.asarray(self._phi.T @ alphas))

    def inputs(self) -> tuple[Any, ...]:
        return "features", self._phi

    def features(self) -> Any:
        return self._phi
