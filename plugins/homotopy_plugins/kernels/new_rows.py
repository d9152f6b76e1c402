"""A row that is added to a kernel machine that has been fitted (`homotopy.Fork.insert`)."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from homotopy import DataError, NewRow
from homotopy_plugins.kernels.checks import check_rows, finite

if TYPE_CHECKING:
    from homotopy_plugins.kernels.kernel_model import KernelModel

__all__ = ["new_row", "new_rows"]

Array = npt.NDArray[np.float64]
# A row that was added: its data and its sign.
Source = tuple[Any, float]
# New rows whose products with all others are computed at once.
TOGETHER = 256


def new_row(
    model: KernelModel, x: Any, target: Any, weight: float, t: float, others: Sequence[Source]
) -> NewRow:
    """The row x with its target and a loss of `weight` times that of a row of weight 1."""
    name = type(model).__name__
    if not weight >= 0.0:
        raise DataError(f"{name}: the cost of a new row must not be negative, got {weight!r}")
    if target is None:
        raise DataError(f"{name}: a new row needs a target")
    y = float(model.held_out_target([target])[0])
    row = _one_row(x, name)
    # The polyline is that of a machine of this row alone.
    alone: Any = copy.copy(model)
    sign = y if hasattr(model, "classes") else 1.0
    alone.y, alone.sign = np.array([y]), np.array([sign])
    alone.sample_weight = np.array([finite(weight, "cost", name)])
    border = np.array([sign]) if model.fit_intercept else np.zeros(0)
    column, diagonal, features = _products(model, row, sign, others)
    return NewRow(
        polyline=alone.polyline(t),
        column=column,
        diagonal=diagonal,
        features=features,
        border=border,
        decision=_decision(model, row, sign),
        offset=_offset(model, features),
        source=(row, sign),
    )


def new_rows(model: KernelModel, X: Any, target: Any, t: float) -> Iterator[NewRow]:
    """The rows of X, each with the same target, as if it were the only new row."""
    rows = model._new_rows(X)
    if not rows.shape[0]:
        return
    first = new_row(model, rows[[0]], target, 1.0, t, ())
    # The same object every time: it need not be checked again.
    line = tuple(first.polyline)
    sign = first.source[1]
    for begin in range(0, rows.shape[0], TOGETHER):
        some = rows[begin : begin + TOGETHER]
        columns = None
        if model._function is not None and model.kernel not in ("linear", "precomputed"):
            columns = sign * model.sign * model._function(some, model.X)
        for i in range(some.shape[0]):
            row = some[[i]]
            column, diagonal, features = _products(
                model, row, sign, (), None if columns is None else columns[i]
            )
            yield NewRow(
                polyline=line,
                column=column,
                diagonal=diagonal,
                features=features,
                border=first.border,
                decision=_decision(model, row, sign),
                offset=_offset(model, features),
                source=(row, sign),
            )


def _offset(model: KernelModel, features: Array | None) -> float:
    return 0.0 if model.centre is None or features is None else -float(model.centre @ features)


def _one_row(x: Any, name: str) -> Any:
    if not sp.issparse(x):
        x = np.asarray(x)
        x = x[None, :] if x.ndim == 1 else x
    row = check_rows(x, name)
    if row.shape[0] != 1:
        raise DataError(f"{name}: a new row is one row, got shape {row.shape}")
    return row


def _products(
    model: KernelModel, row: Any, sign: float, others: Sequence[Source], column: Array | None = None
) -> tuple[Array | None, float, Array | None]:
    """The column of Q with its diagonal, or the features; `column` is what is known already."""
    signs = np.concatenate([model.sign, [s for _, s in others]])
    if model.kernel == "precomputed":
        n, name = signs.size, type(model).__name__
        values = np.asarray(row)[0]
        if values.size != n + 1:
            raise DataError(
                f"{name}: a new row of a precomputed kernel holds its products with the {n} rows "
                f"there are and then its own, {n + 1} numbers; got {values.size}"
            )
        return sign * signs * values[:n], float(values[n]), None
    new = model._new_rows(row)
    if model.kernel == "linear":
        own = model.centred(new)
        own = own.toarray() if sp.issparse(own) else own
        return None, 0.0, sign * np.asarray(own)[0]
    function = model._function
    assert function is not None
    own = 1.0 if model.kernel == "rbf" else float(function(new, new)[0, 0])
    if column is None:
        parts = [function(new, model.X)[0], *(function(new, other)[0] for other, _ in others)]
        column = sign * signs * np.concatenate(parts)
    return column, own, None


def _decision(model: KernelModel, row: Any, sign: float) -> Callable[[Any], Array] | None:
    """What alpha = 1 of the new row adds to the decision function."""
    if model.kernel == "precomputed":
        return None

    def values(X: Any) -> Array:
        new = model._new_rows(X)
        if model.kernel == "linear":
            product = model.centred(new) @ model.centred(row).T
            dense = product.toarray() if sp.issparse(product) else product
            return sign * np.asarray(dense)[:, 0]
        assert model._function is not None
        return sign * model._function(new, row)[:, 0]

    return values
