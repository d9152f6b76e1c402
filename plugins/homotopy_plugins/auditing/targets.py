"""Labels and targets as they come: what kind they are, and which rows cannot be learned from."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from homotopy import DataError, ModelError
from homotopy_plugins.tables.cells import is_missing
from homotopy_plugins.tasks import FEWEST, are_classes, too_many
from homotopy_plugins.wording import listed, quoted

__all__ = ["Labels", "check_order", "column_of", "labels_of", "target_of", "task_of"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


@attrs.frozen(eq=False)
class Labels:
    """Labels as given, and as numbers.

    Attributes
    ----------
    given : array (n,)
    classes : array
        The classes that are learned, sorted.
    codes : array of int (n,)
        Which of them each row has; -1 for rows of a class that is too rare.
    """

    given: Any
    classes: Any
    codes: Index

    @property
    def kept(self) -> Flags:
        return self.codes >= 0


def column_of(y: Any, n: int) -> Any:
    """y as an array of objects or numbers, one for each row and none missing."""
    if isinstance(y, str | bytes):
        raise DataError(
            f"audit: y must hold the labels themselves, got {y!r}; if that is a column of X, give "
            f"audit(X.drop(columns={y!r}), X[{y!r}])"
        )
    if hasattr(y, "columns") or (hasattr(y, "ndim") and y.ndim == 2):
        if y.shape[1] != 1:
            raise DataError(f"audit: y must be one column, got {y.shape[1]}")
        y = y.iloc[:, 0] if hasattr(y, "iloc") else y[:, 0]
    if hasattr(y, "to_numpy"):
        y = y.to_numpy()
    column = np.asarray(y)
    if column.ndim != 1:
        raise DataError(f"audit: y must be one column, got an array of shape {column.shape}")
    if column.size != n:
        raise DataError(f"audit: X has {n} rows and y has {column.size}")
    if column.dtype.kind in "OfMm":
        gaps = np.flatnonzero([is_missing(v) for v in column])
        if gaps.size:
            raise DataError(
                f"audit: y has no value in row {listed(gaps, 5)} (counted from 0); leave rows "
                "without a label out of X and y"
            )
    if column.dtype.kind == "O":
        # Numbers or words in an array of objects; both together are words.
        plain = np.array(column.tolist())
        column = plain if plain.ndim == 1 and plain.dtype.kind in "biufU" else column
    return column


def check_order(X: Any, y: Any) -> None:
    """Refuse pandas objects that hold the same rows in another order."""
    if not (hasattr(X, "iloc") and hasattr(y, "iloc")) or len(X.index) != len(y.index):
        return
    if X.index.equals(y.index) or not (X.index.is_unique and y.index.is_unique):
        return
    if X.index.isin(y.index).all():
        raise DataError(
            "audit: X and y have the same index in another order; give y.loc[X.index] for y"
        )


def task_of(column: Any, asked: str) -> str:
    """What y is: the question, or the answer that its values give."""
    if asked in ("classification", "regression"):
        return asked
    if asked != "auto":
        raise ModelError(
            f"audit: task must be 'auto', 'classification' or 'regression', got {asked!r}"
        )
    values = column
    if column.dtype.kind == "O":
        if not all(isinstance(v, int | float | np.number) for v in column):
            return "classification"
        if all(isinstance(v, bool | np.bool_) for v in column):
            return "classification"
        values = column.astype(np.float64)
    if values.dtype.kind not in "iuf":
        return "classification"
    return "classification" if are_classes(values) else "regression"


def labels_of(column: Any) -> Labels:
    try:
        classes, codes, count = np.unique(column, return_inverse=True, return_counts=True)
    except TypeError:
        # Things of several kinds cannot be sorted; as words they can.
        words = np.array([str(v) for v in column])
        classes, codes, count = np.unique(words, return_inverse=True, return_counts=True)
        column = words
    if classes.size == 1:
        raise DataError(
            f"audit: every row of y is {quoted(classes[0])}; labels can be checked if there are "
            "two classes or more"
        )
    if too_many(classes.size, column.size):
        way = (
            "give task='regression' if it is an amount"
            if classes.dtype.kind in "iuf"
            else "it names rows instead of classes, so take another column for y"
        )
        raise DataError(f"audit: y has {classes.size} classes in {column.size} rows; {way}")
    enough = count >= FEWEST
    if enough.sum() < 2:
        which = "only one has" if enough.any() else "none has"
        raise DataError(
            f"audit: y needs two classes of {FEWEST} rows or more, and of "
            f"{listed(map(quoted, classes), 5)} {which} that many"
        )
    place = np.where(enough, np.cumsum(enough) - 1, -1)
    return Labels(column, classes[enough], place[codes].astype(np.int64))


def target_of(column: Any) -> Array:
    try:
        target = column.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"audit: y is no column of numbers ({error})") from error
    if not np.all(np.isfinite(target)):
        row = int(np.flatnonzero(~np.isfinite(target))[0])
        raise DataError(f"audit: y[{row}] is {target[row]}; targets must be finite")
    if np.ptp(target) == 0.0:
        raise DataError(f"audit: every row of y is {target[0]:g}; there is nothing to compare")
    return np.asarray(target)
