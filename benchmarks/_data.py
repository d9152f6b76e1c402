"""Tables from a folder of NAME.npz."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

Array = npt.NDArray[np.float64]


def read(folder: str | Path, name: str) -> tuple[Array, Array]:
    """X dense and y from NAME.npz, which holds X and y, or the parts of a CSR matrix and y."""
    with np.load(Path(folder) / f"{name}.npz", allow_pickle=False) as stored:
        y = stored["y"].astype(float)
        if "X" in stored.files:
            return stored["X"].astype(float), y
        parts = (stored["data"].astype(float), stored["indices"], stored["indptr"])
        return sp.csr_matrix(parts, shape=tuple(stored["shape"])).toarray(), y


def standardised(X: Array) -> Array:
    """Every column with mean 0 and spread 1; constant columns 0."""
    spread = X.std(axis=0)
    scaled = (X - X.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
    scaled[:, spread == 0.0] = 0.0
    return scaled
