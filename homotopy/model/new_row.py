"""A row that is added to a problem that has been solved."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from homotopy.model.polyline import Jump, Knot, Slope

__all__ = ["NewRow"]

Array = npt.NDArray[np.float64]


@attrs.frozen(eq=False)
class NewRow:
    """A row for `Fork.insert_row`: its part of Q, its part of the border, its polyline.

    Attributes
    ----------
    polyline : sequence of Slope, Knot, Jump
        As `LossModel.polyline` declares it, of this row alone, at the t of the fork: as many pieces
        as the model has.
    column : array (n,), optional
        ``Q_ij`` with the n rows there are (those added before included), for a quadratic form
        given by its columns.
    diagonal : float
        ``Q_ii``, likewise.
    features : array (d,), optional
        phi_i, for a quadratic form given by its features; then `column` is not needed.
    border : array (m,)
        B_i.
    decision : callable, optional
        What alpha_i = 1 adds to the decision function at the rows X.
    offset : float
        What alpha_i = 1 adds to the intercept of that function; 0 unless rows are centred.
    source : object, optional
        Whatever the model needs to know of this row when another one is added
        (`Predictor.new_row`).
    """

    polyline: Sequence[Slope | Knot | Jump]
    column: Array | None = None
    diagonal: float = 0.0
    features: Array | None = None
    border: Array = attrs.field(factory=lambda: np.zeros(0), converter=np.atleast_1d)
    decision: Callable[[Any], Array] | None = None
    offset: float = 0.0
    source: Any = None
