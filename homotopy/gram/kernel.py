"""A quadratic form whose columns are computed when first needed.

Columns are cached for two purposes that must not interfere.  A trace works on the columns it has
requested (`KernelGram.rows`), and its results depend, in the last bits, on which columns are
stored, so nothing else may add or evict them.  On the other hand, a column that one trace has
computed should not be computed again by the next, for another C, say.

So each `Problem` has its own view, which starts empty and evicts columns by its own bookkeeping
(`_View`).  All views of one thread share one store (`_Store`), which computes missing columns.
If another view needed the space (a trace inside the callback of a trace), evicted columns are
restored before they are read.  Threads share no mutable state.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from homotopy.arrays import Array, Index
from homotopy.errors import DataError
from homotopy.gram.base import Gram
from homotopy.gram.products import weighted_rows
from homotopy.gram.tolerances import GRAM_TOLERANCES

Columns = Callable[[Index], Array]

MEMORY = GRAM_TOLERANCES.memory
BATCH = GRAM_TOLERANCES.batch
NONE: Index = np.empty(0, dtype=np.int64)


class _View:
    """The columns of one view in one thread: their slots in the store, and when each was last
    used."""

    def __init__(self, size: int, most: int) -> None:
        self.slot = np.full(size, -1, dtype=np.int64)
        self.stamp = np.zeros(size, dtype=np.int64)
        self.count, self.most, self.clock = 0, most, 0
        # Columns of this view that other views have evicted.
        self.taken = NONE

    def missing(self, index: Index, keep: Index | None = None) -> Index:
        """Return the missing columns of `index`; evict as many others as needed."""
        self.clock += 1
        self.stamp[index] = self.clock
        if keep is not None:
            self.stamp[keep] = self.clock
        missing = index[self.slot[index] < 0]
        if not missing.size:
            return missing
        missing = np.unique(missing)
        over = self.count + missing.size - self.most
        if over > 0:
            evictable = np.flatnonzero((self.slot >= 0) & (self.stamp < self.clock))
            if evictable.size < over:
                # All are in use at the same time: keep them in spite of the memory limit.
                more = max(over - evictable.size, self.most // 4)
                self.most += min(more, self.slot.size - self.most)
            self.lose(evictable[np.argsort(self.stamp[evictable], kind="stable")[:over]])
        return missing

    def lose(self, index: Index) -> None:
        """Evict columns."""
        self.count -= index.size
        self.slot[index] = -1


class _Store:
    """The columns that one thread has computed, for all of its views."""

    def __init__(self, compute: Columns, size: int, most: int) -> None:
        self.compute = compute
        # The system allocates memory when a row is first written, not here.
        self.rows = np.empty((most, size))
        self.owner = np.full(most, -1, dtype=np.int64)
        self.stamp = np.zeros(most, dtype=np.int64)
        self.place = np.full(size, -1, dtype=np.int64)
        self.used = self.clock = 0
        self.views: weakref.WeakSet[_View] = weakref.WeakSet()

    def bring(self, missing: Index, view: _View) -> None:
        """Add the columns `missing` to `view`; compute those that the store lacks."""
        absent = missing[self.place[missing] < 0]
        if absent.size:
            place = self._room(absent.size, view, missing)
            for k in range(0, absent.size, BATCH):
                part = slice(k, k + BATCH)
                self.rows[place[part]] = self.compute(absent[part])
            # Register them only now, in case Ctrl-C interrupts the computation; the owner first, so
            # that no place is both registered and free.
            self.owner[place] = absent
            self.place[absent] = place
            self.used = max(self.used, int(place.max()) + 1)
        self.clock += 1
        self.stamp[self.place[missing]] = self.clock
        view.slot[missing] = self.place[missing]
        view.count += missing.size

    def _room(self, count: int, view: _View, missing: Index) -> Index:
        """Return places for `count` columns: free ones, then the oldest ones of other views."""
        free = np.flatnonzero(self.owner < 0)[:count]
        if free.size == count:
            return free
        busy = self.owner < 0
        busy[view.slot[view.slot >= 0]] = True
        there = self.place[missing]
        busy[there[there >= 0]] = True
        evictable = np.flatnonzero(~busy)
        oldest = evictable[np.argsort(self.stamp[evictable], kind="stable")[: count - free.size]]
        self._give_up(oldest)
        place = np.concatenate([free, oldest])
        if place.size < count:
            first = self.owner.size
            self._extend(max(view.most, first + count - place.size) - first)
            place = np.concatenate([place, np.arange(first, first + count - place.size)])
        return place

    def _give_up(self, place: Index) -> None:
        gone = self.owner[place]
        for view in self.views:
            taken = gone[view.slot[gone] >= 0]
            if taken.size:
                view.taken = np.append(view.taken, taken)
                view.lose(taken)
        self.place[gone] = -1
        self.owner[place] = -1

    def _extend(self, more: int) -> None:
        rows = np.empty((self.owner.size + more, self.place.size))
        rows[: self.used] = self.rows[: self.used]
        self.rows = rows
        self.owner = np.append(self.owner, np.full(more, -1))
        self.stamp = np.append(self.stamp, np.zeros(more, dtype=np.int64))

    def gather(self, index: Index) -> Array:
        """Return the columns `index` as rows, without storing them."""
        out = np.empty((index.size, self.place.size))
        there = self.place[index]
        out[there >= 0] = self.rows[there[there >= 0]]
        if np.any(there < 0):
            out[there < 0] = self.compute(index[there < 0])
        return out


class KernelGram(Gram):
    """Q by columns, computed when first needed and cached.

    Parameters
    ----------
    columns : callable
        ``columns(index)`` returns the rows ``Q[index]`` as an array (len(index), n).  Several
        threads may call it at once.  If each row is the same, to the last bit, whichever rows are
        requested with it, then paths are reproducible whatever was traced before.
    diag : array of shape (n,)
        The diagonal of Q.
    memory : float
        Size of the cache in megabytes, for each thread that traces.  When it is full, the least
        recently used columns are evicted and computed again when needed.  Columns in use at the
        same time are always kept.
    inputs : sequence, optional
        What `columns` is made from; see `Gram.inputs`.
    sizes : array of shape (n,), optional
        The scale of each row, if Q is not positive semidefinite; see `Gram.sizes`.
    """

    def __init__(
        self,
        columns: Columns,
        diag: npt.ArrayLike,
        memory: float = MEMORY,
        *,
        inputs: Sequence[Any] | None = None,
        sizes: npt.ArrayLike | None = None,
    ) -> None:
        self.semidefinite = sizes is None
        self._sizes = None if sizes is None else np.array(sizes, dtype=float)
        self._compute = columns
        self._inputs = (columns,) if inputs is None else tuple(inputs)
        self.diag = np.array(diag, dtype=float)
        self.size = self.diag.size
        if isinstance(memory, str) or np.ndim(memory) or not memory > 0.0:
            raise DataError(f"KernelGram: memory must be a positive number of MB, got {memory!r}")
        self._most = int(np.clip(memory * 1e6 / (8.0 * max(self.size, 1)), 1, self.size))
        self._stores, self._views = threading.local(), threading.local()

    def view(self) -> Self:
        """Return the same Q with no column requested yet; views share computed columns."""
        other = object.__new__(type(self))
        other.__dict__ |= self.__dict__ | {"_views": threading.local()}
        return other

    def __getstate__(self) -> dict[str, Any]:
        # Columns are not pickled.
        return {k: v for k, v in self.__dict__.items() if k not in ("_stores", "_views")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ |= state | {"_stores": threading.local(), "_views": threading.local()}

    def _of_this_thread(self) -> tuple[_Store, _View]:
        """Return the store and the view of this thread."""
        view: _View | None = getattr(self._views, "view", None)
        if view is None:
            if not hasattr(self._stores, "store"):
                self._stores.store = _Store(self._compute, self.size, self._most)
            view = self._views.view = _View(self.size, self._most)
            self._stores.store.views.add(view)
        return self._stores.store, view

    @property
    def sizes(self) -> Array:
        return self.diag if self._sizes is None else self._sizes

    def inputs(self) -> tuple[Any, ...]:
        return self._inputs

    def rows(self) -> tuple[Array, Index]:
        store, view = self._of_this_thread()
        if view.taken.size:
            taken, view.taken = view.taken, NONE
            self._fetch(taken)
        return store.rows, view.slot

    def fetch(self, index: Index, keep: Index | None = None) -> None:
        self.rows()
        self._fetch(index, keep)

    def _fetch(self, index: Index, keep: Index | None = None) -> None:
        store, view = self._of_this_thread()
        missing = view.missing(index, keep)
        if missing.size:
            store.bring(missing, view)

    def held(self) -> dict[str, Index]:
        _, view = self._of_this_thread()
        return {
            "index": np.flatnonzero(view.slot >= 0),
            "stamp": view.stamp,
            "taken": view.taken,
            "most": np.array([view.most]),
            "clock": np.array([view.clock]),
        }

    def hold(self, held: Mapping[str, Index]) -> None:
        index, taken, stamp = held["index"], held["taken"], held["stamp"]
        most, clock = held["most"].item(), held["clock"].item()
        every = np.concatenate([index, taken])
        if np.any((every < 0) | (every >= self.size)) or np.any(np.diff(index) <= 0):
            raise ValueError("the stored column numbers are out of range or not in order")
        if stamp.shape != (self.size,) or not index.size <= most <= self.size:
            raise ValueError(f"{index.size} stored columns exceed the limit of {most}")
        store, view = self._of_this_thread()
        view.lose(np.flatnonzero(view.slot >= 0))
        view.stamp[:], view.taken = stamp, taken.copy()
        view.most, view.clock = most, clock
        store.bring(index, view)

    def column(self, i: int) -> Array:
        self._fetch(np.array([i]))
        store, view = self._of_this_thread()
        row: Array = store.rows[view.slot[i]]
        return row

    def block(self, rows: Index, columns: Index) -> Array:
        store, view = self._of_this_thread()
        if rows.size < columns.size:
            there = view.slot[columns]
            if rows.size == 1 and view.slot[rows[0]] < 0 and np.all(there >= 0):
                # One row against stored columns: its own column is not needed.
                return np.asarray(store.rows[there, rows[0]])[None, :]
            self._fetch(rows)
            return store.rows[np.ix_(view.slot[rows], columns)]
        if columns.size > view.most:
            # More columns than fit: compute them without storing.
            out = np.empty((rows.size, columns.size))
            for k in range(0, columns.size, BATCH):
                out[:, k : k + BATCH] = store.gather(columns[k : k + BATCH])[:, rows].T
            return out
        self._fetch(columns)
        return store.rows[np.ix_(view.slot[columns], rows)].T

    def combine(self, index: Index, weights: Array) -> Array:
        out = np.zeros(self.size)
        store, view = self._of_this_thread()
        for k in range(0, index.size, BATCH):
            part = index[k : k + BATCH]
            absent = np.count_nonzero(view.slot[part] < 0)
            if view.count + absent <= view.most:
                self._fetch(part)
                rows, slot = store.rows, view.slot[part]
            else:
                rows, slot = store.gather(part), np.arange(part.size)
            # Sum in the same order wherever the rows are stored, so that results are reproducible.
            weighted_rows(rows, slot, weights[k : k + BATCH], out)
        return out

    def matmat(self, alphas: Array) -> Array:
        index = np.flatnonzero(np.any(alphas != 0.0, axis=1))
        store, _ = self._of_this_thread()
        columns = alphas.shape[1]
        gathered = columns > GRAM_TOLERANCES.in_place
        out = np.zeros((self.size, columns) if gathered else (columns, self.size))
        for k in range(0, index.size, BATCH):
            part = index[k : k + BATCH]
            if gathered:
                out += store.gather(part).T @ alphas[part]
                continue
            rows, slot = store.rows, store.place[part]
            if np.any(slot < 0):
                rows, slot = store.gather(part), np.arange(part.size)
            for total, weights in zip(out, np.ascontiguousarray(alphas[part].T), strict=True):
                weighted_rows(rows, slot, weights, total)
        return out if gathered else out.T


def with_rows(gram: Gram) -> Gram:
    """Return the operator that a problem works on: a view of `gram` if it caches columns, `gram`
    itself if it has rows or features, else a `KernelGram` that caches its columns."""
    if isinstance(gram, KernelGram):
        return gram.view()
    if gram.rows() is not None or gram.features() is not None:
        return gram

    def columns(index: Index) -> Array:
        return np.stack([gram.column(i) for i in index.tolist()])

    sizes = None if gram.semidefinite else gram.sizes
    return KernelGram(columns, gram.diag, inputs=gram.inputs(), sizes=sizes)
