"""A warning where one column of the rows drowns the others.

Kernels compare rows by distances or products, to which a column counts with its scale: beside a
column of thousands one of tenths is not seen.  The scale of a column is the geometric mean of its
standard deviation and half its range: a rare event has a small deviation and a heavy tail a large
range, and neither alone is a reason to scale.  Columns of two values (one-hot, yes or no) count by
half their range.  The largest scale, and the smallest, are compared with the median: an age beside
an income and a price is not seen either.

At a ratio of 30 an rbf machine on wine, breast cancer and iris with one column blown up loses 5 to
25 points of accuracy, at 10 it loses 1 to 8; columns that are standardised, beside one-hot ones,
stay below that.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp

__all__ = ["UnscaledWarning", "warn_if_unscaled"]

# The largest scale over the median one, or that over the smallest, from which it is said.
RATIO = 30.0
# The way out, unless a machine is used in another way.
PIPELINE = "Put a scaler before the machine: make_pipeline(StandardScaler(), {name}(...))"
# Fewer rows than this tell little of a scale.
FEW = 10


class UnscaledWarning(UserWarning):
    """The columns of X have scales so different that one of them decides alone."""


def warn_if_unscaled(
    X: Any, names: Any, kernel: Any, name: str, stacklevel: int, way: str = PIPELINE
) -> None:
    """Warn where a column of X has a much larger or smaller scale than most, and say the way out.

    Sparse rows are left alone: their columns are counts or flags as a rule, and centring would
    make them dense.
    """
    if sp.issparse(X) or callable(kernel) or kernel == "precomputed" or X.shape[0] < FEW:
        return
    low, high = X.min(axis=0), X.max(axis=0)
    half = 0.5 * (high - low)
    moving = np.flatnonzero(half > 0.0)
    if moving.size < 2:
        return
    X = X[:, moving]
    two = np.all((low[moving] == X) | (high[moving] == X), axis=0)
    scale = np.where(two, half[moving], np.sqrt(X.std(axis=0) * half[moving]))
    usual = np.sort(scale)[(scale.size - 1) // 2]
    if scale.max() > RATIO * usual:
        j, told = np.argmax(scale), f"more than {RATIO:g} times that of most, which hardly count"
    elif RATIO * scale.min() < usual:
        j, told = np.argmin(scale), f"less than 1/{RATIO:g} of that of most, so it hardly counts"
    else:
        return
    k = int(moving[j])
    column = f"column {k}" if names is None else f"column {names[k]!r}"
    warnings.warn(
        f"{name}: the scale of {column} is {told}. {way.format(name=name)}, or ignore "
        "UnscaledWarning if this is intended",
        UnscaledWarning,
        stacklevel=stacklevel + 1,
    )
