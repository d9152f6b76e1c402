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
    """``R^T R`` of the active block, R kept row by row; O(k^2) to append, remove or solve."""

    def __init__(self, capacity: int = 16) -> None:
        self.size = 0
        self.version = 0
        self._rows = np.zeros((capacity, capacity))
        self._index = np.zeros(capacity, dtype=np.int64)
        self._room()

    def _room(self) -> None:
        """Space for rotations and for one column."""
        self._cosine, self._sine, self._spare, self._column = np.zeros((4, self._index.size))

    @property
    def index(self) -> Index:
        """The active coordinates in the order of the factor (a view)."""
        return self._index[: self.size]

    def position(self, i: int) -> int:
        """Where coordinate `i` stands in the factor."""
        return int(np.flatnonzero(self.index == i)[0])

    def set(self, index: Index, rows: Array) -> None:
        """Hold the coordinates `index`, whose factor R is `rows`."""
        self.clear()
        self.reserve(index.size)
        self._rows[: index.size, : index.size] = rows
        self._index[: index.size] = index
        self.size = index.size

    def __contains__(self, i: int) -> bool:
        return bool(np.any(self.index == i))

    def clear(self) -> None:
        self.size = 0
        self.version += 1

    def pivot(self, row: Array, diagonal: float) -> float:
        """The squared pivot (rounding may make it negative) of a coordinate whose products with
        the active ones are `row`; `accept` adds it."""
        if self.size == self._index.size:
            self._grow()
        self._column[: self.size] = row
        return float(kernels.new_column(self._rows, self.size, self._column, diagonal))

    def accept(self, i: int, pivot: float) -> None:
        """Add coordinate `i`, the one last given to `pivot`, whose answer was `pivot` > 0."""
        self._rows[: self.size, self.size] = self._column[: self.size]
        self._rows[self.size, self.size] = np.sqrt(pivot)
        self._index[self.size] = i
        self.size += 1
        self.version += 1

    def remove(self, i: int) -> None:
        position = self.position(i)
        rotations = (self._cosine, self._sine, self._spare)
        kernels.remove_column(self._rows, self.size, position, *rotations)
        self._index[position : self.size - 1] = self._index[position + 1 : self.size]
        self.size -= 1
        self.version += 1

    def solve(self, right: Array) -> Array:
        """``(R^T R)^{-1} right`` for one right-hand side."""
        x = np.array(right, dtype=float)
        kernels.forward_substitute(self._rows, self.size, x)
        kernels.back_substitute(self._rows, self.size, x)
        return x

    @property
    def capacity(self) -> int:
        """How many coordinates fit without growing."""
        return int(self._index.size)

    def reserve(self, room: int) -> None:
        """Make room for so many more."""
        while self.size + room > self._index.size:
            self._grow()

    @property
    def rows(self) -> Array:
        """R, in a square of `capacity`."""
        return self._rows

    def _grow(self) -> None:
        capacity = 2 * self._index.size
        rows = np.zeros((capacity, capacity))
        rows[: self.size, : self.size] = self._rows[: self.size, : self.size]
        index = np.zeros(capacity, dtype=np.int64)
        index[: self.size] = self.index
        self._rows, self._index = rows, index
        self._room()
