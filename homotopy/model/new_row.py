"""A row added to a solved problem."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np

from homotopy.arrays import Array
from homotopy.model.polyline import Jump, Knot, Slope


@attrs.frozen(eq=False)
class NewRow:
    """A row for `Fork.insert_row`: its entries of Q, its border row and its polyline.

    Attributes
    ----------
    polyline : sequence of Slope, Knot, Jump
        The polyline of this row at the t of the fork, with as many pieces as
        `LossModel.polyline` declares.
    column : array (n,), optional
        ``Q_ij`` for the n existing rows (rows added earlier included), if the quadratic form is
        given by its columns.
    diagonal : float
        ``Q_ii``, if the quadratic form is given by its columns.
    features : array (d,), optional
        phi_i, if the quadratic form is given by its features; then `column` is not needed.
    border : array (m,)
        B_i.
    decision : callable, optional
        ``decision(X)`` returns what alpha_i = 1 adds to the decision function at the rows X.
    offset : float
        What alpha_i = 1 adds to the intercept of that function; 0 unless rows are centred.
    source : object, optional
        Anything the model needs to know about this row when another one is added
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
