"""Labels of two classes as signs."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from homotopy import DataError
from homotopy_plugins.kernels.checks import TargetError, check_length

__all__ = ["MARGIN", "signs_of", "two_classes"]

Array = npt.NDArray[np.float64]

# What the pieces of the loss of two classes are called.
MARGIN = {"L": "inside the margin", "E": "on the margin", "R": "beyond the margin"}


def two_classes(y: npt.ArrayLike, n: int, name: str) -> tuple[Any, Array]:
    """The two labels in sorted order, and y as -1 / +1."""
    labels = np.asarray(y)
    check_length(labels, n, "y", name)
    if labels.dtype.kind == "f" and not np.all(np.isfinite(labels)):
        i = int(np.flatnonzero(~np.isfinite(labels))[0])
        raise DataError(f"{name}: y[{i}] is {labels[i]}; labels must be finite")
    try:
        classes = np.unique(labels)
    except TypeError:
        raise DataError(f"{name}: y mixes labels that cannot be compared") from None
    if classes.size != 2:
        shown = ", ".join(str(c) for c in classes[:10])
        count = "one class" if classes.size == 1 else f"{classes.size} classes"
        said = f"{name}: y has {count} ({shown}); {name} separates two"
        raise TargetError(said, "two classes")
    return classes, np.where(labels == classes[1], 1.0, -1.0)


def signs_of(y: Any, classes: Any, name: str) -> Array:
    """Held-out labels as -1 / +1; those the model was not fitted on are refused."""
    labels = np.asarray(y)
    if labels.ndim != 1 or labels.size == 0:
        raise DataError(f"{name}: held-out labels must be a list, got shape {labels.shape}")
    strange = labels[~np.isin(labels, classes)]
    if strange.size:
        first, second = classes.tolist()
        raise DataError(
            f"{name}: held-out label {strange.tolist()[0]!r} is neither of the two classes "
            f"{first!r} and {second!r}"
        )
    return np.where(labels == classes[1], 1.0, -1.0)
