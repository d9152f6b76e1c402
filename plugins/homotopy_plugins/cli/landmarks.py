"""Nystroem features: a linear machine on them is nearly one with the rbf kernel, and much faster.

``x -> K(L, L)^(-1/2) K(L, x)`` with landmarks L, rows that were drawn at random.  The landmarks are
kept with the encoding, so that new rows are mapped as training rows were.
"""

from __future__ import annotations

import base64
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from homotopy.progress import told
from homotopy_plugins.cli.answers import CommandError
from homotopy_plugins.kernels.functions import kernel_function

__all__ = ["Landmarks"]

Array = npt.NDArray[np.float64]

# Directions of K(L, L) below this part of the largest are noise.
LEAST = 1e-12
# Entries of a block of the kernel.
BLOCK = 20_000_000


@attrs.frozen(eq=False)
class Landmarks:
    """Rows L (m, d) and the width of the kernel."""

    points: Array
    gamma: float

    @classmethod
    def of(cls, X: Any, count: int, gamma: float | None, seed: int) -> Landmarks:
        """Draw `count` different rows of X."""
        if not isinstance(X, np.ndarray):
            raise CommandError("--nystroem needs columns by name; this file holds a sparse matrix")
        different = np.unique(X, axis=0)
        if different.shape[0] < count:
            raise CommandError(
                f"--nystroem {count} needs as many different rows, and there are "
                f"{different.shape[0]}; give fewer"
            )
        rows = np.random.default_rng(seed).choice(different.shape[0], count, replace=False)
        width = 1.0 / X.shape[1] if gamma is None else gamma
        return cls(np.ascontiguousarray(different[np.sort(rows)]), width)

    def apply(self, X: Array) -> Array:
        """The features of rows."""
        kernel = kernel_function("rbf", gamma=self.gamma, degree=3, coef0=0.0)
        values, vectors = np.linalg.eigh(kernel(self.points, self.points))
        kept = values > LEAST * values[-1]
        root = (vectors[:, kept] / np.sqrt(values[kept])) @ vectors[:, kept].T
        out = np.empty((X.shape[0], self.points.shape[0]))
        step = max(1, BLOCK // self.points.shape[0])
        for k in range(0, X.shape[0], step):
            out[k : k + step] = kernel(X[k : k + step], self.points) @ root
            told(min(k + step, X.shape[0]), X.shape[0])
        return out

    def to_json(self) -> dict[str, Any]:
        raw = self.points.astype("<f8").tobytes()
        return {
            "shape": list(self.points.shape),
            "points": base64.b64encode(raw).decode(),
            "gamma": self.gamma.hex(),
        }

    @classmethod
    def from_json(cls, data: Any) -> Landmarks:
        """What `to_json` made; ValueError if it is anything else."""
        try:
            rows, columns = (int(one) for one in data["shape"])
            raw = base64.b64decode(data["points"], validate=True)
            points = np.frombuffer(raw, dtype="<f8").reshape(rows, columns).astype(np.float64)
            gamma = float.fromhex(data["gamma"])
        except (KeyError, TypeError, ValueError):
            raise ValueError("its landmarks are not ours") from None
        if not (points.size and np.all(np.isfinite(points)) and 0.0 < gamma < np.inf):
            raise ValueError("its landmarks are not ours")
        return cls(points, gamma)
