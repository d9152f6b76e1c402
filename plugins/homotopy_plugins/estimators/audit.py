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

from homotopy import Path

__all__ = ["Fits", "table"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]

# Evenly spaced t over which a row is watched.
LOOKS = 101


@attrs.frozen(eq=False)
class Fits:
    """How the training rows are fitted at the start, at the end and on average over the path."""

    start: Array
    end: Array
    mean: Array

    @classmethod
    def along(cls, path: Path, met: Callable[[Array], Array]) -> Fits:
        """`met` makes of a response what is looked at: margins, residuals."""
        first, last = path.traced
        values = [met(path.response(first, "before"))]
        values += [met(path.response(t)) for t in np.linspace(first, last, LOOKS)[1:]]
        ends = 0.5 * (values[0] + values[-1])
        return cls(values[0], values[-1], (np.sum(values, axis=0) - ends) / (LOOKS - 1))


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
