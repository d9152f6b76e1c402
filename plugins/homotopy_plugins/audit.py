"""Which rows are wrong?  Training rows ranked by what a path does with them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["ranking", "table"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]


def ranking(share: Array, misfit: Array) -> Index:
    """Rows from the most to the least suspicious.

    First those that are outliers on the larger part of the path (`share`); among equals, and among
    those that never are, the ones that its robust end fits worst (`misfit`).
    """
    return np.lexsort((-misfit, -share))


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
