"""Which rows are wrong?  Training rows ranked by what a path does with them.

A wrong label pulls the plain machine towards itself and looks better than it is; along the path it
loses its pull and falls behind.  Rows are ranked by how badly they are fitted on average over the
path; `examples/wrong_labels.py` measures that against simpler scores.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt
from sklearn.model_selection import KFold, StratifiedKFold

from homotopy import ModelError, Path
from homotopy_plugins.estimators.folds import Recipe, Rows
from homotopy_plugins.estimators.proven import proven, tell
from homotopy_plugins.kernels.checks import is_whole

__all__ = ["Fits", "out_of_fold_fits", "table"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]

# Evenly spaced t over which a row is watched.
LOOKS = 101


@attrs.frozen(eq=False)
class Fits:
    """How rows are fitted at the start, at the end and on average over a path, where each first
    becomes an outlier and on what part of the path it is one."""

    start: Array
    end: Array
    mean: Array
    first: Array
    share: Array

    @classmethod
    def along(cls, path: Path, met: Callable[[Array], Array]) -> Fits:
        """Of the rows of the path itself; `met` makes of a response what is looked at: margins,
        residuals."""
        first, last = path.traced
        values = [met(path.response(first, "before"))]
        values += [met(path.response(t)) for t in np.linspace(first, last, LOOKS)[1:]]
        model: Any = path.model
        stays = path.occupancy(*model.outlier_pieces)
        return cls(values[0], values[-1], _mean(np.array(values)), stays.first, stays.share)

    @classmethod
    def watched(cls, path: Path, X: Any, y: Array) -> Fits:
        """Of rows that the path was traced without; where they are outliers is read at the same
        values."""
        first, last = path.traced
        at = np.linspace(first, last, LOOKS)
        f = path.decision_function(X, at)
        f[0] = path.decision_function(X, first, side="before")
        labels = path.model.validation_loss == "zero-one"  # type: ignore[attr-defined]
        values = y * f if labels else np.abs(y - f)
        out = values < at[:, None] if labels else values > at[:, None]
        entered = np.where(out.any(axis=0), at[np.argmax(out, axis=0)], np.nan)
        return cls(values[0], values[-1], _mean(values), entered, _mean(out.astype(np.float64)))


def _mean(values: Array) -> Array:
    """Over an even grid, its ends counted half."""
    return np.asarray((values.sum(axis=0) - 0.5 * (values[0] + values[-1])) / (len(values) - 1))


def out_of_fold_fits(recipe: Recipe, rows: Rows, C: float, gamma: float | None, cv: Any) -> Fits:
    """Every row watched by a path that was traced without it."""
    labels = recipe.kind.validation_loss == "zero-one"  # type: ignore[attr-defined]
    n = rows.weight.size
    kind = StratifiedKFold if labels else KFold
    folds = kind(int(cv), shuffle=True, random_state=0) if is_whole(cv) and cv >= 2 else cv
    if not hasattr(folds, "split") and not isinstance(folds, list | tuple):
        raise ModelError(
            f"{recipe.name}: audit: cv must be a whole number of at least 2, a splitter or a list "
            f"of splits, got {cv!r}"
        )
    pairs = folds.split(np.zeros((n, 1)), rows.y) if hasattr(folds, "split") else folds
    out = Fits(*(np.full(n, np.nan) for _ in range(5)))
    for kept, held in pairs:
        part = proven(recipe.model(rows.take(kept), C, gamma))
        if part.trouble:
            tell(recipe.name, f"audit: {part.told()}; its rows are judged by that part", 3)
        seen = Fits.watched(part.path, rows.seen_from(held, kept), rows.y[held])
        for whole_, part in zip(
            attrs.astuple(out, recurse=False), attrs.astuple(seen, recurse=False), strict=True
        ):
            whole_[held] = part
    return out


def table(columns: dict[str, Any]) -> Any:
    """A pandas DataFrame where pandas is installed, else a structured NumPy array."""
    try:
        import pandas as pd
    except ImportError:
        arrays = {name: np.asarray(values) for name, values in columns.items()}
        out = np.empty(
            next(iter(arrays.values())).size, dtype=[(k, a.dtype) for k, a in arrays.items()]
        )
        for name, values in arrays.items():
            out[name] = values
        return out
    return pd.DataFrame(columns)
