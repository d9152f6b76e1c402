"""Support vector machines for every C.

    min over f, b   1/2 |f|^2 + C sum_i w_i max(0, 1 - y_i f(x_i))               (classification)
    min over f, b   1/2 |f|^2 + C sum_i w_i max(0, |y_i - f(x_i)| - epsilon)     (regression)

alpha is piecewise linear in C.  ``-dL`` is the polyline

    L: C w  |  E: knot at 1  |  R: 0                                        in u = y f(x)
    O+: C w | E+: knot at y - epsilon | I: 0 | E-: knot at y + epsilon | O-: -C w     in u = f(x)
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, Self, Unpack

import numpy as np
import numpy.typing as npt

from homotopy import Jump, Knot, ModelError, NewRow, Slope
from homotopy_plugins.kernels.checks import (
    check_rows,
    check_scale,
    checked_targets,
    finite,
    positive,
    span_of,
    within_reach,
)
from homotopy_plugins.kernels.kernel_model import KernelModel, KernelOptions
from homotopy_plugins.kernels.labels import MARGIN, signs_of, two_classes
from homotopy_plugins.kernels.new_rows import new_row

__all__ = ["SVMPath"]

Array = npt.NDArray[np.float64]

# What the pieces of a regression are called, with a tube and without.
TUBE = {
    "O+": "above the tube",
    "E+": "on the upper edge",
    "I": "inside the tube",
    "E-": "on the lower edge",
    "O-": "below the tube",
}
FIT = {"O+": "above the fit", "E": "on the fit", "O-": "below the fit"}


class SVMPath(KernelModel):
    """The support vector machine for every C between two values.

    Parameters
    ----------
    X : array or scipy sparse matrix (n, d)
        Samples; the kernel matrix (n, n) if ``kernel="precomputed"``.
    y : array (n,)
        Labels of any two values, of which the larger (in sorted order) is the positive class; or
        targets, if ``kind="svr"``.
    kind : {"svc", "svr"}
        Classification with the hinge loss, or regression with the epsilon-insensitive one.
    C : (start, stop)
        The path of C, in either direction; it is quickest from the small end to the large one.
    epsilon : float
        Half the width of the tube in which a residual costs nothing; regression only.
    **options
        Of the kernel, see `KernelModel`; but there is an intercept unless ``fit_intercept=False``.

    Notes
    -----
    Signs: for classification ``u_i = y_i f(x_i)``, ``f = sum_i alpha_i y_i K(x_i, .) + b`` with y
    in {-1, +1} and ``0 <= alpha_i <= C w_i``; for regression ``u_i = f(x_i)``,
    ``f = sum_i alpha_i K(x_i, .) + b`` with ``|alpha_i| <= C w_i``, where alpha_i > 0 pulls f up.
    """

    parameter = "C"

    def __init__(
        self,
        X: Any,
        y: npt.ArrayLike,
        *,
        kind: str = "svc",
        C: tuple[float, float] = (0.01, 100.0),
        epsilon: float = 0.1,
        **options: Unpack[KernelOptions],
    ) -> None:
        name = type(self).__name__
        if not (isinstance(kind, str) and kind in ("svc", "svr")):
            raise ModelError(f"{name}: kind must be 'svc' or 'svr', got {kind!r}")
        rows = check_rows(X, name)
        self.kind = kind
        self.epsilon = within_reach(finite(epsilon, "epsilon", name), "epsilon", name)
        if self.epsilon < 0.0:
            raise ModelError(f"{name}: epsilon must not be negative, got {epsilon!r}")
        self.span = self._checked_span(C)
        if kind == "svc":
            self.classes, self.y = two_classes(y, rows.shape[0], name)
            sign, self.validation_loss = self.y, "zero-one"
        else:
            self.y = checked_targets(y, rows.shape[0], name)
            sign, self.validation_loss = np.ones(self.y.size), "absolute"
        options.setdefault("fit_intercept", True)
        super().__init__(rows, sign, C=max(self.span), **options)
        check_scale(min(self.span), self.sample_weight, self.gram.diag, name)

    def _checked_span(self, C: Any) -> tuple[float, float]:
        name = type(self).__name__
        start, stop = span_of(C, "C", name)
        return positive(start, "C", name), positive(stop, "C", name)

    def varied(self, *, C: Any = None) -> Self:
        """The same model with another span of C; both share data and columns of the kernel."""
        other = copy.copy(self)
        if C is not None:
            other.span = self._checked_span(C)
            for value in other.span:
                check_scale(value, self.sample_weight, self.gram.diag, type(self).__name__)
            other.C = max(other.span)
        return other

    def piece_name(self, name: str) -> str:
        regression = TUBE if self.epsilon > 0.0 else FIT
        return (MARGIN if self.kind == "svc" else regression).get(name, name)

    def polyline(self, t: Any) -> Sequence[Slope | Knot | Jump]:
        cost = self.sample_weight * t
        if self.kind == "svc":
            return Slope("L", cost), Knot("E", 1.0), Slope("R", 0.0)
        if self.epsilon == 0.0:
            return Slope("O+", cost), Knot("E", self.y), Slope("O-", -cost)
        return (
            Slope("O+", cost),
            Knot("E+", self.y - self.epsilon),
            Slope("I", 0.0),
            Knot("E-", self.y + self.epsilon),
            Slope("O-", -cost),
        )

    def new_row(self, x: Any, target: Any, cost: float | None, t: float, others: Any) -> NewRow:
        return new_row(self, x, target, 1.0 if cost is None else cost / t, t, others)

    def held_out_target(self, y: Any) -> Array:
        """Labels as -1 / +1, or targets."""
        if self.kind == "svr":
            return super().held_out_target(y)
        return signs_of(y, self.classes, type(self).__name__)
