"""The interface of a quadratic form."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np

from homotopy.arrays import Array, Index


class Gram(ABC):
    """A symmetric n x n matrix Q, given by its columns and products.

    Subclass it and write `column`, `block` and `combine`; the other methods have defaults.

    Attributes
    ----------
    size : int
        n.
    diag : ndarray of shape (n,)
        The diagonal.
    semidefinite : bool
        Whether Q is positive semidefinite; True by default.  It may be False only if the model is
        minimised over alpha (`LossModel.unknown`).
    """

    size: int
    diag: Array
    semidefinite: bool = True

    @property
    def sizes(self) -> Array:
        """The scale s_i of each row, such that ``|Q_ij|`` is at most about ``sqrt(s_i s_j)``: the
        diagonal, if Q is semidefinite."""
        return self.diag if self.semidefinite else np.abs(self.diag)

    @abstractmethod
    def column(self, i: int) -> Array:
        """Return ``Q[:, i]``; the caller does not write to it."""

    @abstractmethod
    def block(self, rows: Index, columns: Index) -> Array:
        """Return ``Q[rows][:, columns]``."""

    @abstractmethod
    def combine(self, index: Index, weights: Array) -> Array:
        """Return ``Q[:, index] @ weights``."""

    def matvec(self, alpha: Array) -> Array:
        """Return ``Q @ alpha``, skipping zeros of `alpha`."""
        index = np.flatnonzero(alpha)
        return self.combine(index, alpha[index])

    def matmat(self, alphas: Array) -> Array:
        """Return ``Q @ alphas`` for the columns of `alphas` (n, k)."""
        return np.stack([self.matvec(np.ascontiguousarray(a)) for a in alphas.T], axis=1)

    def rows(self) -> tuple[Array, Index] | None:
        """Return ``(store, slot)``: row i of Q is ``store[slot[i]]``, and is not stored if
        ``slot[i] < 0`` (see `fetch`).  None if rows are never stored."""
        return None

    def fetch(self, index: Index, keep: Index | None = None) -> None:  # noqa: B027
        """Store the rows `index`, for `rows`, without evicting the rows `keep`."""

    def held(self) -> dict[str, Index]:
        """Return which rows are stored and in which order to evict them, for `hold`."""
        return {}

    def hold(self, held: Mapping[str, Index]) -> None:  # noqa: B027
        """Store exactly the rows that were stored when `held` was called."""

    def inputs(self) -> tuple[Any, ...]:
        """Return what Q is made from: strings, numbers, arrays, sparse matrices and functions.

        A saved path stores a fingerprint of all of these, exact to the last bit, and refuses to
        load if anything differs.  Functions cannot be compared; instead, products of Q with a fixed
        vector are compared, up to rounding.  The default is the function `column`.
        """
        return (self.column,)

    def features(self) -> Any:
        """Return the features phi with ``Q = phi phi^T`` if they are explicit, else None."""
        return None
