"""What a model that predicts on new data declares besides its polyline."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from homotopy.arrays import Array
from homotopy.errors import DataError, ModelError
from homotopy.model.loss_model import LossModel
from homotopy.model.new_row import NewRow


class Predictor(LossModel):
    """A `LossModel` whose alpha and b define a function of new data.

    Implement `decision_function`, and `Path.decision_function` and `Path.validation_curve` work.

    Attributes
    ----------
    validation_loss : str
        The default loss of `Path.validation_curve`; "absolute" unless overridden.
    """

    validation_loss: str = "absolute"

    @abstractmethod
    def decision_function(self, X: Any, alpha: Array, intercept: Any) -> Array:
        """Return the response at new data; it must be affine in (alpha, intercept)."""

    def evaluator(self, X: Any) -> Callable[[Array, Array], Array]:
        """Return a function that evaluates ``decision_function`` at X for many points of a path.

        It takes alphas (n, k) and border multipliers (m, k) and returns values (N, k).  The
        default calls `decision_function` for each column in turn.
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
        """Make the row that `Fork.insert` adds at the parameter t, from its data, its target and
        the weight of its loss (None: as for the model's own rows).  `others` holds the ``source``
        of each `NewRow` added before."""
        raise ModelError(
            f"{type(self).__name__} does not define new_row, so Fork.insert cannot add rows to it; "
            "implement new_row, or pass a NewRow to Fork.insert_row"
        )

    def held_out_target(self, y: Any) -> Array:
        """Return the targets of held-out rows as numbers on the scale of `decision_function`."""
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


def as_predictor(model: LossModel, what: str) -> Predictor:
    """Return `model`, which must be a `Predictor` for `what` to be evaluated on new data."""
    if not isinstance(model, Predictor):
        raise ModelError(
            f"{type(model).__name__} has no decision function; derive it from homotopy.Predictor "
            f"and write decision_function to evaluate a {what} on new data"
        )
    return model
