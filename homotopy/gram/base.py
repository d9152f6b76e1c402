"""What the engine asks of a quadratic form."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Gram"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]


class Gram(ABC):
    """A symmetric n x n matrix, by its products.

    Attributes
    ----------
    size : int
        n.
    diag : ndarray of shape (n,)
        The diagonal.
    semidefinite : bool
        Whether no eigenvalue is negative; True by default.  Only a model minimised over alpha
        itself (`LossModel.unknown`) may have it otherwise.
    """

    size: int
    diag: Array
    semidefinite: bool = True

    @property
    def sizes(self) -> Array:
        """How large the numbers of each row are: with ``s_i`` these sizes, ``|Q_ij|`` is at most
        ``sqrt(s_i s_j)`` or so.  The diagonal, if Q is semidefinite."""
        return self.diag if self.semidefinite else np.abs(self.diag)

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

    def rows(self) -> tuple[Array, Index] | None:
        """``(store, slot)``: row i of Q is ``store[slot[i]]``, or not there if ``slot[i] < 0``
        (see `fetch`); None where rows are never stored."""
        return None

    def fetch(self, index: Index, keep: Index | None = None) -> None:  # noqa: B027
        """Make `rows` hold the rows `index` without evicting the rows `keep`."""

    def held(self) -> dict[str, Index]:
        """Which rows are stored, and which to evict next: for `hold`."""
        return {}

    def hold(self, held: Mapping[str, Index]) -> None:  # noqa: B027
        """Store the rows that were stored when `held` was asked for, and no others."""

    def inputs(self) -> tuple[Any, ...]:
        """What Q is made from: strings, numbers, arrays, sparse matrices and functions.

        A saved path carries a fingerprint of all of it, to the last bit, and is refused if anything
        differs.  Functions cannot be compared; for those, products of Q with a fixed vector are
        compared, up to rounding.  By default Q is only known by its columns.
        """
        return (self.column,)

    def features(self) -> Any:
        """The features phi with ``Q = phi phi^T`` where they are explicit, else None."""
        return None
