"""Products with Q, given by rows or by features."""

from __future__ import annotations

from numba import njit

from homotopy.tracker.compiling import PART, SUM
from homotopy.tracker.state import ROWS

__all__ = ["add_row", "add_sizes", "product_with", "response", "responses", "squared_length"]


@njit(**SUM)
def product_with(core, mode, i, index, size, out):  # type: ignore[no-untyped-def]
    """Write ``Q_ij`` for j in `index` to `out`."""
    form = core.form
    if mode == ROWS:
        store, slot, own = form.store, form.slot, form.slot[i]
        for k in range(size):
            out[k] = store[own, index[k]] if own >= 0 else store[slot[index[k]], i]
        return
    phi, data, indices, indptr = form.phi, form.data, form.indices, form.indptr
    for k in range(size):
        total = 0.0
        j = index[k]
        if phi.size:
            for c in range(phi.shape[1]):
                total += phi[i, c] * phi[j, c]
        else:
            p, q = indptr[i], indptr[j]
            while p < indptr[i + 1] and q < indptr[j + 1]:
                if indices[p] == indices[q]:
                    total += data[p] * data[q]
                    p += 1
                    q += 1
                elif indices[p] < indices[q]:
                    p += 1
                else:
                    q += 1
        out[k] = total


@njit(**SUM)
def response(core, i, w):  # type: ignore[no-untyped-def]
    """Return ``<phi_i, w>``."""
    form = core.form
    total = 0.0
    phi, data, indices = form.phi, form.data, form.indices
    if phi.size:
        for c in range(phi.shape[1]):
            total += phi[i, c] * w[c]
    else:
        for p in range(form.indptr[i], form.indptr[i + 1]):
            total += data[p] * w[indices[p]]
    return total


@njit(**SUM)
def add_row(core, mode, i, weight, out):  # type: ignore[no-untyped-def]
    """Add ``weight * Q_i:`` (with rows of Q) or ``weight * phi_i`` (with features) to `out`."""
    form = core.form
    if mode == ROWS:
        store, own = form.store, form.slot[i]
        for k in range(out.size):
            out[k] += weight * store[own, k]
    elif form.phi.size:
        phi = form.phi
        for c in range(out.size):
            out[c] += weight * phi[i, c]
    else:
        for p in range(form.indptr[i], form.indptr[i + 1]):
            out[form.indices[p]] += weight * form.data[p]


@njit(**PART)
def squared_length(vector):  # type: ignore[no-untyped-def]
    """Return the sum of squares, added in order."""
    total = 0.0
    for k in range(vector.size):
        total += vector[k] * vector[k]
    return total


@njit(**PART)
def add_sizes(core, i, weight, out):  # type: ignore[no-untyped-def]
    """Add ``weight * |phi_i|`` to `out`, entry by entry."""
    form = core.form
    if form.phi.size:
        phi = form.phi
        for c in range(out.size):
            out[c] += weight * abs(phi[i, c])
    else:
        for p in range(form.indptr[i], form.indptr[i + 1]):
            out[form.indices[p]] += weight * abs(form.data[p])


@njit(**SUM)
def responses(core, rows, count, w, out):  # type: ignore[no-untyped-def]
    """Set ``out[i] = <phi_i, w>`` for i in `rows`.

    Do not call `response` here: the call in the loop makes a whole path a fifth slower.
    """
    form = core.form
    phi, data, indices, indptr = form.phi, form.data, form.indices, form.indptr
    for k in range(count):
        i = rows[k]
        total = 0.0
        if phi.size:
            for c in range(phi.shape[1]):
                total += phi[i, c] * w[c]
        else:
            for p in range(indptr[i], indptr[i + 1]):
                total += data[p] * w[indices[p]]
        out[i] = total
