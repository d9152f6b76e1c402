"""The quadratic form Q as an operator.

The engine never asks for Q itself, only for columns, blocks and products, so a plugin chooses how
much of it exists: `DenseGram` holds the matrix, `KernelGram` computes columns when first needed,
`LinearGram` works on the features and never forms an n x n matrix.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from homotopy import kernels
from homotopy.errors import DataError

__all__ = ["DenseGram", "Gram", "KernelGram", "LinearGram"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]


class Gram(ABC):
    """A symmetric positive semidefinite n x n matrix, by its products.

    Attributes
    ----------
    size : int
        n.
    diag : ndarray of shape (n,)
        The diagonal.
    """

    size: int
    diag: Array

    @abstractmethod
    def column(self, i: int) -> Array:
        """``Q[:, i]``; not to be written to."""

    @abstractmethod
    def block(self, rows: Index, columns: Index) -> Array:
        """``Q[rows][:, columns]``."""

    @abstractmethod
    def combine(self, index: Index, weights: Array) -> Array:
        """``Q[:, index] @ weights``."""

    def matvec(self, alpha: Array) -> Array:
        """``Q @ alpha``; zeros of `alpha` cost nothing."""
        index = np.flatnonzero(alpha)
        return self.combine(index, alpha[index])

    def matmat(self, alphas: Array) -> Array:
        """``Q @ alphas`` for the columns of `alphas` (n, k)."""
        return np.stack([self.matvec(np.ascontiguousarray(a)) for a in alphas.T], axis=1)

    def dense(self) -> Array | None:
        """The whole matrix where it is affordable, else None."""
        return None

    def features(self) -> Any:
        """The features phi with ``Q = phi phi^T`` where they are explicit, else None."""
        return None


class DenseGram(Gram):
    """Q held as an array.

    Parameters
    ----------
    matrix : array of shape (n, n)
        Symmetric positive semidefinite.
    """

    def __init__(self, matrix: npt.ArrayLike) -> None:
        self._matrix = np.ascontiguousarray(matrix, dtype=float)
        if self._matrix.ndim != 2 or self._matrix.shape[0] != self._matrix.shape[1]:
            raise DataError(f"DenseGram: expected a square matrix, got shape {self._matrix.shape}")
        if not np.all(np.isfinite(self._matrix)):
            raise DataError("DenseGram: the matrix holds values that are not finite")
        off = float(np.abs(self._matrix - self._matrix.T).max(initial=0.0))
        if off > 1e-8 * float(np.abs(self._matrix).max(initial=0.0)):
            raise DataError(
                f"DenseGram: the matrix is not symmetric (entries differ by {off:.3g}); "
                "use (Q + Q.T) / 2 if that is meant"
            )
        self.size = self._matrix.shape[0]
        self.diag = np.ascontiguousarray(np.diagonal(self._matrix))

    def column(self, i: int) -> Array:
        row: Array = self._matrix[i]
        return row

    def block(self, rows: Index, columns: Index) -> Array:
        return self._matrix[np.ix_(rows, columns)]

    def combine(self, index: Index, weights: Array) -> Array:
        out = np.zeros(self.size)
        kernels.weighted_rows(self._matrix, index, weights, out)
        return out

    def matmat(self, alphas: Array) -> Array:
        return self._matrix @ alphas

    def dense(self) -> Array:
        return self._matrix


class KernelGram(Gram):
    """Columns of Q computed when first needed and kept.

    Parameters
    ----------
    columns : callable
        ``columns(index)`` returns the rows ``Q[index]`` as an array (len(index), n).
    diag : array of shape (n,)
        The diagonal of Q.
    """

    def __init__(self, columns: Callable[[Index], Array], diag: npt.ArrayLike) -> None:
        self._compute = columns
        self.diag = np.array(diag, dtype=float)
        self.size = self.diag.size
        self._slot = np.full(self.size, -1, dtype=np.int64)
        self._store = np.empty((min(self.size, 64), self.size))
        self._used = 0

    def _slots(self, index: Index) -> Index:
        slots = self._slot[index]
        missing = index[slots < 0]
        if missing.size:
            missing = np.unique(missing)
            needed = self._used + missing.size
            if needed > self._store.shape[0]:
                store = np.empty((min(self.size, max(needed, 2 * self._used)), self.size))
                store[: self._used] = self._store[: self._used]
                self._store = store
            self._store[self._used : needed] = self._compute(missing)
            self._slot[missing] = np.arange(self._used, needed)
            self._used = needed
            slots = self._slot[index]
        return slots

    def column(self, i: int) -> Array:
        slot = self._slots(np.array([i]))[0]
        row: Array = self._store[slot]
        return row

    def block(self, rows: Index, columns: Index) -> Array:
        if rows.size < columns.size:
            slots = self._slots(rows)
            return self._store[np.ix_(slots, columns)]
        slots = self._slots(columns)
        return self._store[np.ix_(slots, rows)].T

    def combine(self, index: Index, weights: Array) -> Array:
        slots = self._slots(index)
        out = np.zeros(self.size)
        kernels.weighted_rows(self._store, slots, weights, out)
        return out

    def matmat(self, alphas: Array) -> Array:
        index = np.flatnonzero(np.any(alphas != 0.0, axis=1))
        slots = self._slots(index)
        return self._store[slots].T @ alphas[index]

    def dense(self) -> Array:
        everything = np.arange(self.size)
        slots = self._slots(everything)
        if np.array_equal(slots, everything):
            return self._store[: self.size]
        self._store = np.ascontiguousarray(self._store[slots])
        self._slot = everything
        return self._store


class LinearGram(Gram):
    """``Q = phi phi^T`` on the features themselves; O(n d) a product, nothing of size n x n.

    Parameters
    ----------
    features : array or scipy sparse matrix of shape (n, d)
        One row a coordinate.
    """

    def __init__(self, features: Any) -> None:
        if sp.issparse(features):
            self._phi: Any = sp.csr_matrix(features, dtype=float)
            self.diag = np.asarray(self._phi.multiply(self._phi).sum(axis=1)).ravel()
        else:
            self._phi = np.ascontiguousarray(features, dtype=float)
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

    def features(self) -> Any:
        return self._phi
