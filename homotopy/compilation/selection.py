"""Selection of the k-th smallest number, and sorting of a few: comparisons only, no arithmetic, so
the tracker and the certificate share them."""

from __future__ import annotations

from numba import njit

from homotopy.compilation.options import PART

__all__ = ["smallest", "sort"]


@njit(**PART)
def smallest(values, k):  # type: ignore[no-untyped-def]
    """Return the k-th smallest (from 0) of `values`, which are reordered."""
    first, last = 0, values.size - 1
    while first < last:
        middle = values[(first + last) // 2]
        i, j = first, last
        while i <= j:
            while values[i] < middle:
                i += 1
            while values[j] > middle:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if k <= j:
            last = j
        elif k >= i:
            first = i
        else:
            break
    return values[k]


@njit(**PART)
def sort(values, count):  # type: ignore[no-untyped-def]
    """Sort by insertion: there are few values, nearly in order."""
    for k in range(1, count):
        value = values[k]
        j = k - 1
        while j >= 0 and values[j] > value:
            values[j + 1] = values[j]
            j -= 1
        values[j + 1] = value
