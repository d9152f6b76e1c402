"""A quadratic form stored as a matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from homotopy.arrays import Array, Index
from homotopy.errors import DataError
from homotopy.gram.base import Gram
from homotopy.gram.products import weighted_rows
from homotopy.gram.tolerances import GRAM_TOLERANCES


class DenseGram(Gram):
    """Q stored as an array.

    Parameters
    ----------
    matrix : array of shape (n, n)
        Q, symmetric.
    semidefinite : bool
        Whether Q is positive semidefinite; see `Gram`.  This is not checked.
    sizes : array of shape (n,), optional
        The scale of each row (see `Gram.sizes`), used only if Q is not semidefinite; by default
        the largest absolute entry of the row.
    """

    def __init__(
        self,
        matrix: npt.ArrayLike,
        *,
        semidefinite: bool = True,
        sizes: npt.ArrayLike | None = None,
    ) -> None:
        self.semidefinite = semidefinite
        self._matrix = np.ascontiguousarray(matrix, dtype=float)
        if self._matrix.ndim != 2 or self._matrix.shape[0] != self._matrix.shape[1]:
            raise DataError(f"DenseGram: expected a square matrix, got shape {self._matrix.shape}")
        if not np.all(np.isfinite(self._matrix)):
            raise DataError("DenseGram: the matrix holds values that are not finite")
        off = float(np.abs(self._matrix - self._matrix.T).max(initial=0.0))
        if off > GRAM_TOLERANCES.symmetric * float(np.abs(self._matrix).max(initial=0.0)):
            raise DataError(
                f"DenseGram: the matrix is not symmetric (entries differ by {off:.3g}); "
                "use (Q + Q.T) / 2 if that is meant"
            )
        self.size = self._matrix.shape[0]
        self.diag = np.array(np.diagonal(self._matrix))
        self._every = np.arange(self.size)
        self._sizes = self.diag
        if not semidefinite:
            largest = np.abs(self._matrix).max(axis=1, initial=0.0)
            self._sizes = largest if sizes is None else np.array(sizes, dtype=float)
        if self._sizes.shape != (self.size,):
            raise DataError(
                f"DenseGram: sizes has shape {self._sizes.shape}, the matrix {self.size} rows"
            )

    @property
    def sizes(self) -> Array:
        return self._sizes

    def column(self, i: int) -> Array:
        row: Array = self._matrix[i]
        return row

    def block(self, rows: Index, columns: Index) -> Array:
        return self._matrix[np.ix_(rows, columns)]

    def combine(self, index: Index, weights: Array) -> Array:
        out = np.zeros(self.size)
        weighted_rows(self._matrix, index, weights, out)
        return out

    def matmat(self, alphas: Array) -> Array:
        return self._matrix @ alphas

    def inputs(self) -> tuple[Any, ...]:
        own = () if self.semidefinite else (self._sizes,)
        return "dense", self._matrix, *own

    def rows(self) -> tuple[Array, Index]:
        return self._matrix, self._every
