"""The quadratic form by columns, computed when first needed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from homotopy.errors import DataError
from homotopy.gram.base import Gram
from homotopy.gram.products import weighted_rows

__all__ = ["MEMORY", "KernelGram", "with_rows"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]

# Megabytes for kept columns of a kernel, unless told otherwise.
MEMORY = 2000.0
# Columns computed in one call.
BATCH = 256


class KernelGram(Gram):
    """Columns of Q computed when first needed and kept as far as memory allows.

    Parameters
    ----------
    columns : callable
        ``columns(index)`` returns the rows ``Q[index]`` as an array (len(index), n).
    diag : array of shape (n,)
        The diagonal of Q.
    memory : float
        Megabytes for kept columns.  Columns beyond it are computed again when needed, those
        longest unused giving way; columns in use at one time are kept whatever they take.
    """

    def __init__(
        self,
        columns: Callable[[Index], Array],
        diag: npt.ArrayLike,
        memory: float = MEMORY,
    ) -> None:
        self._compute = columns
        self.diag = np.array(diag, dtype=float)
        self.size = self.diag.size
        if not memory > 0.0:
            raise DataError(f"KernelGram: memory must be a positive number of MB, got {memory!r}")
        self._most = int(np.clip(memory * 1e6 / (8.0 * max(self.size, 1)), 1, self.size))
        self._slot = np.full(self.size, -1, dtype=np.int64)
        # Memory is taken up by the system when a row is first written, not here.
        self._store = np.empty((self._most, self.size))
        self._owner = np.full(self._store.shape[0], -1, dtype=np.int64)
        self._stamp = np.zeros(self._store.shape[0], dtype=np.int64)
        self._clock = 0

    def rows(self) -> tuple[Array, Index]:
        return self._store, self._slot

    def fetch(self, index: Index, keep: Index | None = None) -> None:
        self._clock += 1
        for used in (index, keep):
            if used is not None:
                held = self._slot[used]
                self._stamp[held[held >= 0]] = self._clock
        missing = np.unique(index[self._slot[index] < 0])
        if not missing.size:
            return
        free = np.flatnonzero(self._owner < 0)
        if free.size < missing.size:
            idle = np.flatnonzero((self._owner >= 0) & (self._stamp < self._clock))
            short = missing.size - free.size
            if idle.size < short:
                self._extend(short - idle.size)
                free = np.flatnonzero(self._owner < 0)
                short = missing.size - free.size
            oldest = idle[np.argsort(self._stamp[idle], kind="stable")[:short]]
            self._slot[self._owner[oldest]] = -1
            self._owner[oldest] = -1
            free = np.concatenate([free, oldest])
        place = free[: missing.size]
        for k in range(0, missing.size, BATCH):
            part = slice(k, k + BATCH)
            self._store[place[part]] = self._compute(missing[part])
        self._slot[missing], self._owner[place] = place, missing
        self._stamp[place] = self._clock

    def _extend(self, rows: int) -> None:
        rows = min(max(rows, self._most // 4), self.size - self._most)
        self._most += rows
        store = np.empty((self._most, self.size))
        store[: self._store.shape[0]] = self._store
        self._store = store
        self._owner = np.append(self._owner, np.full(rows, -1))
        self._stamp = np.append(self._stamp, np.zeros(rows, dtype=np.int64))

    def column(self, i: int) -> Array:
        self.fetch(np.array([i]))
        row: Array = self._store[self._slot[i]]
        return row

    def block(self, rows: Index, columns: Index) -> Array:
        if rows.size < columns.size:
            held = self._slot[columns]
            if rows.size == 1 and self._slot[rows[0]] < 0 and np.all(held >= 0):
                # One row against columns that are there: no need to compute its own.
                return np.asarray(self._store[held, rows[0]])[None, :]
            self.fetch(rows)
            return self._store[np.ix_(self._slot[rows], columns)]
        if columns.size > self._most:
            # More than is kept: computed for this once.
            out = np.empty((rows.size, columns.size))
            for k in range(0, columns.size, BATCH):
                out[:, k : k + BATCH] = self._compute(columns[k : k + BATCH])[:, rows].T
            return out
        self.fetch(columns)
        return self._store[np.ix_(self._slot[columns], rows)].T

    def combine(self, index: Index, weights: Array) -> Array:
        out = np.zeros(self.size)
        stored = self._slot[index] >= 0
        weighted_rows(self._store, self._slot[index[stored]], weights[stored], out)
        missing, rest = index[~stored], weights[~stored]
        for k in range(0, missing.size, BATCH):
            part = missing[k : k + BATCH]
            if np.count_nonzero(self._owner >= 0) + part.size <= self._most:
                self.fetch(part)
                weighted_rows(self._store, self._slot[part], rest[k : k + BATCH], out)
            else:
                out += rest[k : k + BATCH] @ self._compute(part)
        return out

    def matmat(self, alphas: Array) -> Array:
        index = np.flatnonzero(np.any(alphas != 0.0, axis=1))
        out = np.zeros((self.size, alphas.shape[1]))
        for k in range(0, index.size, BATCH):
            part = index[k : k + BATCH]
            held = bool(np.all(self._slot[part] >= 0))
            rows = self._store[self._slot[part]] if held else self._compute(part)
            out += rows.T @ alphas[part]
        return out


def with_rows(gram: Gram) -> Gram:
    """`gram` itself if it stores rows or shows features, else one that stores its columns."""
    if gram.rows() is not None or gram.features() is not None:
        return gram

    def columns(index: Index) -> Array:
        return np.stack([gram.column(i) for i in index.tolist()])

    return KernelGram(columns, gram.diag)
