"""What a model that predicts on new data declares beside its polyline."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from homotopy.errors import DataError, ModelError
from homotopy.model.loss_model import LossModel
from homotopy.model.new_row import NewRow

__all__ = ["Predictor"]

Array = npt.NDArray[np.float64]


class Predictor(LossModel):
    """A `LossModel` whose alpha and b define a function of new data.

    Write `decision_function`; `Path.decision_function` and `Path.validation_curve` then work.

    Attributes
    ----------
    validation_loss : str
        The loss of `Path.validation_curve` unless told otherwise; "absolute" by default.
    """

    validation_loss: str = "absolute"

    @abstractmethod
    def decision_function(self, X: Any, alpha: Array, intercept: Any) -> Array:
        """The response at new data, affine in (alpha, intercept)."""

    def evaluator(self, X: Any) -> Callable[[Array, Array], Array]:
        """``decision_function`` at the same new data for many points of a path.

        The answer takes alphas (n, k) and border multipliers (m, k) and returns the values (N, k).
        By default `decision_function` is called for one column after the other.
        """

        def values(alphas: Array, bs: Array) -> Array:
            columns = zip(alphas.T, bs.T, strict=True)
            return np.stack(
                [
                    self.decision_function(X, np.ascontiguousarray(a), self.intercept(a, b))
                    for a, b in columns
                ],
                axis=1,
            )

        return values

    def new_row(self, x: Any, target: Any, cost: float | None, t: float, others: Any) -> NewRow:
        """A row that `Fork.insert` adds: its data, its target, the weight of its loss (None: that
        of any row) at the parameter t; `others` holds the ``source`` of each `NewRow` before it."""
        raise ModelError(
            f"{type(self).__name__} does not say how a new row is made; write new_row, or give "
            "Fork.insert_row a NewRow"
        )

    def held_out_target(self, y: Any) -> Array:
        """Targets of held-out rows as numbers on the scale of `decision_function`."""
        name = type(self).__name__
        try:
            target = np.array(y, dtype=float)
        except (TypeError, ValueError):
            raise DataError(f"{name}: held-out targets must be numbers") from None
        if target.ndim != 1 or target.size == 0:
            raise DataError(
                f"{name}: held-out targets must be a list of numbers, got shape {target.shape}"
            )
        if not np.all(np.isfinite(target)):
            i = int(np.flatnonzero(~np.isfinite(target))[0])
            raise DataError(f"{name}: held-out target {i} is {target[i]}; targets must be finite")
        return target
