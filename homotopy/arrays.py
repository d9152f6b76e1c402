"""The types of arrays."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["Array", "Bools", "Index"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
