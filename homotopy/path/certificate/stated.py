"""The conditions of the problem as its author states it (`LossModel.residuals`)."""

from __future__ import annotations

import numpy as np

from homotopy.arrays import Array
from homotopy.errors import ModelError
from homotopy.model import LossModel
from homotopy.path.certificate.tolerances import SMALLEST


class Statement:
    """Calls `LossModel.residuals` and remembers the largest numbers that they come from.

    Rounding leaves a fraction `rounded` of these, times the root of their count, as in a response.
    """

    def __init__(self, model: LossModel, rounded: float) -> None:
        self.model, self.rounded = model, rounded
        self.largest: dict[str, Array] = {}

    @property
    def silent(self) -> bool:
        """Whether the model adds nothing to its polylines."""
        return type(self.model).residuals is LossModel.residuals

    def examine(
        self, t: Array, alpha: Array, b: Array, measure: bool
    ) -> dict[str, tuple[Array, int]]:
        """Return the worst residual at each point and the number of conditions there, by name; if
        `measure` is False, only note the largest numbers."""
        found: dict[str, tuple[Array, int]] = {}
        for name, part in self.model.residuals(t, alpha, b).items():
            off, terms, others = (np.asarray(v) for v in (part.off, part.terms, part.others))
            if not off.shape == terms.shape == others.shape or off.shape[:1] != t.shape:
                shapes = f"{off.shape}, {terms.shape} and {others.shape}"
                raise ModelError(
                    f"{type(self.model).__name__}: residuals[{name!r}] must be arrays with a row "
                    f"for each of {t.size} points, got shapes {shapes}"
                )
            count = off.shape[1]
            if not count:
                continue
            if not measure:
                most = np.maximum(terms, others).max(axis=0)
                self.largest[name] = np.maximum(most, self.largest.get(name, 0.0))
                continue
            rounding = self.rounded * np.sqrt(1.0 + count) * self.largest[name]
            scale = np.maximum(np.maximum(terms, rounding), SMALLEST)
            ratio = np.where(off == 0.0, 0.0, off / scale)
            # (NaN counts as a violation.)
            found[name] = np.where(np.isnan(ratio), np.inf, ratio).max(axis=1), count
        return found
