"""Robust classification: the hinge loss with its far part pressed flat.

With ``u = y f(x)`` (the margin), per sample and with cost C_i = C * sample_weight_i,

    L(u) = C_i * max(0, 1 - u)                      u >= s    (inlier)
    L(u) = C_i * ((1 - s) + theta * (s - u))        u <  s    (outlier)

continuous for every theta and s.  ``-dL`` is the polyline

    O: theta C  |  jump at s  |  L: C  |  E: knot at 1  |  R: 0
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

from homotopy import Jump, Knot, ModelError, Slope
from homotopy_plugins.kernels.checks import check_rows, finite, within_reach
from homotopy_plugins.kernels.hostile import Made, hostile_table
from homotopy_plugins.kernels.kernel_model import KernelOptions
from homotopy_plugins.kernels.labels import MARGIN, signs_of, two_classes
from homotopy_plugins.models.ramp import BEYOND, RampModel

__all__ = ["HingeRamp"]

Array = npt.NDArray[np.float64]


class HingeRamp(RampModel):
    """Hinge-ramp support vector classification along theta or s.

    Parameters
    ----------
    X : array or scipy sparse matrix (n, d)
        Samples; the kernel matrix (n, n) if ``kernel="precomputed"``.
    y : array (n,)
        Labels of any two values; the larger (in sorted order) is the positive class.
    C, **options
        Weight of the loss and the options of the kernel; see `KernelModel`.
    path : {"theta", "s"}
        "theta": the outlier weight theta goes from 1 (plain SVC) to 0 at the threshold `s`;
        "s": the threshold goes from the smallest margin up to `s` at the weight `theta`.
    theta : float in [0, 1]
        The outlier weight on the s-path.
    s : float, at most 1
        The threshold on the theta-path; the end of the s-path.

    Notes
    -----
    Signs: ``u_i = y_i f(x_i)``, ``f = sum_i alpha_i y_i K(x_i, .) + b`` with y in {-1, +1}.
    """

    validation_loss = "zero-one"
    outlier_pieces = ("O",)
    words = MARGIN | {"O": "outlier"}

    def __init__(
        self,
        X: Any,
        y: npt.ArrayLike,
        *,
        C: float,
        path: str = "theta",
        theta: float = 0.0,
        s: float = 0.0,
        **options: Unpack[KernelOptions],
    ) -> None:
        name = type(self).__name__
        rows = check_rows(X, name)
        self.classes, self.y = two_classes(y, rows.shape[0], name)
        parameters = {"theta": theta, "s": s}
        super().__init__(rows, self.y, path=path, parameters=parameters, C=C, **options)

    def _checked(self, what: str, value: Any) -> float:
        if what != "s":
            return super()._checked(what, value)
        name = type(self).__name__
        s = within_reach(finite(value, "s", name), "s", name)
        if s > 1.0:
            raise ModelError(
                f"{name}: s must be at most 1 (the threshold lies left of the margin), got {s!r}"
            )
        return s

    def _span(self) -> tuple[float, float]:
        return (1.0, 0.0) if self.path == "theta" else (-np.inf, self.s)

    def beyond(self, response: Array, s: float) -> float:
        least = float(response[self.sample_weight > 0.0].min())
        return least + BEYOND * (least - s) if least < s else s

    def loss_origin(self, t: float) -> float:
        """The margin: no loss beyond it."""
        return 1.0

    def polyline(self, t: Any) -> Sequence[Slope | Knot | Jump]:
        theta, s = self.parameters_at(t)
        return (
            Slope("O", self.cost * theta),
            Jump(s),
            Slope("L", self.cost),
            Knot("E", 1.0),
            Slope("R", 0.0),
        )

    def held_out_target(self, y: Any) -> Array:
        """Labels as -1 / +1; those the model was not fitted on are refused."""
        return signs_of(y, self.classes, type(self).__name__)

    @classmethod
    def hostile(cls, draw: Any) -> Made:
        return hostile_table(draw, cls, "hinge-ramp", hinge=True)
