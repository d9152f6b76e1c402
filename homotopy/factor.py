"""The active system: a triangular factor that grows and shrinks with the active set.

For active coordinates A the C-step solves (equation 3 of docs/theory.md)

    [ Q_AA + D_A   B_A ] [ alpha_A' ]   [ right-hand side ]
    [ B_A^T        0   ] [ b'       ] = [ e'              ]

Q_AA alone may be singular although the system is not (n >> d with an intercept), so the factor
holds ``Q_AA + D_A + rho B_A B_A^T``: because ``B^T alpha = e`` is known, adding ``rho B B^T`` to Q
only moves b.  That matrix is positive definite exactly when no null direction ``Q v = 0,
B^T v = 0`` lives on A.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from homotopy import kernels

__all__ = ["Factor"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]


class Factor:
    """``L L^T`` of the active block, kept row by row; O(k^2) to append, remove or solve."""

    def __init__(self, capacity: int = 16) -> None:
        self.size = 0
        self._rows = np.zeros((capacity, capacity))
        self._index = np.zeros(capacity, dtype=np.int64)
        self._cosine = np.zeros(capacity)
        self._sine = np.zeros(capacity)

    @property
    def index(self) -> Index:
        """The active coordinates in the order of the factor (a view)."""
        return self._index[: self.size]

    def position(self, i: int) -> int:
        """Where coordinate `i` stands in the factor."""
        return int(np.flatnonzero(self.index == i)[0])

    def clear(self) -> None:
        self.size = 0

    def pivot(self, row: Array, diagonal: float) -> float:
        """The squared pivot (rounding may make it negative) of a coordinate whose products with
        the active ones are `row`; `accept` adds it."""
        if self.size == self._index.size:
            self._grow()
        return float(kernels.append_row(self._rows, self.size, row, diagonal))

    def accept(self, i: int, pivot: float) -> None:
        """Add coordinate `i`, the one last given to `pivot`, whose answer was `pivot` > 0."""
        self._rows[self.size, self.size] = np.sqrt(pivot)
        self._index[self.size] = i
        self.size += 1

    def remove(self, i: int) -> None:
        position = self.position(i)
        kernels.remove_row(self._rows, self.size, position, self._cosine, self._sine)
        self._index[position : self.size - 1] = self._index[position + 1 : self.size]
        self.size -= 1

    def solve(self, right: Array) -> Array:
        """``(L L^T)^{-1} right`` for one right-hand side."""
        x = np.array(right, dtype=float)
        kernels.forward_substitute(self._rows, self.size, x)
        kernels.back_substitute(self._rows, self.size, x)
        return x

    def _grow(self) -> None:
        capacity = 2 * self._index.size
        rows = np.zeros((capacity, capacity))
        rows[: self.size, : self.size] = self._rows[: self.size, : self.size]
        index = np.zeros(capacity, dtype=np.int64)
        index[: self.size] = self.index
        self._rows, self._index = rows, index
        self._cosine, self._sine = np.zeros(capacity), np.zeros(capacity)
