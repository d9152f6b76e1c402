"""What a target is: one rule for `audit` and for the command line."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["FEWEST", "MOST_CLASSES", "are_classes", "too_many"]

# Whole numbers of at most this many kinds are classes, more are amounts.
MOST_CLASSES = 20
# A class of fewer rows cannot be learned in one part of the rows and looked at in another.
FEWEST = 3


def are_classes(values: npt.ArrayLike) -> bool:
    """Whether numbers are classes: two different ones, or at most `MOST_CLASSES` that are whole and
    that `FEWEST` rows have on average."""
    numbers = np.asarray(values, dtype=np.float64)
    different = np.unique(numbers)
    if different.size <= 2:
        return True
    whole = bool(np.all(different == np.floor(different)))
    return whole and different.size <= min(MOST_CLASSES, numbers.size // FEWEST)


def too_many(classes: int, rows: int) -> bool:
    """Whether there are more classes than can be told apart."""
    return classes > max(MOST_CLASSES, rows // FEWEST)
