"""What the ramp losses of regression share: targets, a jump on either side of them, an s-path that
begins at the largest residual."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Unpack

import numpy as np
import numpy.typing as npt

from homotopy import ModelError
from homotopy_plugins.kernels.checks import (
    check_rows,
    checked_targets,
    positive,
    within_reach,
)
from homotopy_plugins.kernels.kernel_model import KernelOptions
from homotopy_plugins.models.ramp import BEYOND, RampModel

__all__ = ["DEFAULT_STOP", "ROUNDING", "RegressionRamp"]

Array = npt.NDArray[np.float64]

# Where an s-path ends by default, as a fraction of the largest residual.
DEFAULT_STOP = 0.2
# The threshold, beyond the width, where nothing is said of it and theta moves.
DEFAULT_THRESHOLD = 1.0
# Residuals below this fraction of the largest target count as none.
ROUNDING = 1e-9


class RegressionRamp(RampModel):
    """A ramp loss of the residual ``y - f(x)``, with jumps at ``y - s`` and ``y + s``.

    A subclass declares its polyline; one with a further parameter that moves names it in `moving`,
    checks it in `_checked` and says in `_own_span` where it begins and ends.

    Attributes
    ----------
    width : str or None
        The parameter that s must exceed (the half width of what lies between the jumps), if any.

    Signs: ``u_i = f(x_i)``, ``f = sum_i alpha_i K(x_i, .) + b``; alpha_i > 0 pulls f up to y_i.
    """

    width: str | None = None
    outlier_pieces = ("O+", "O-")
    words: ClassVar[Mapping[str, str]] = {
        "O+": "outlier above",
        "I+": "above the fit",
        "E": "on the fit",
        "I-": "below the fit",
        "O-": "outlier below",
        "E+": "on the upper edge",
        "E-": "on the lower edge",
        "Z": "inside the tube",
        "Q": "near the fit",
    }

    def __init__(
        self,
        X: Any,
        y: npt.ArrayLike,
        *,
        path: str,
        theta: float,
        s: float | None,
        s_stop: float | None,
        C: float,
        own: Mapping[str, Any] | None = None,
        **options: Unpack[KernelOptions],
    ) -> None:
        name = type(self).__name__
        rows = check_rows(X, name)
        self.y = checked_targets(y, rows.shape[0], name)
        self.s_stop = None if s_stop is None else self._checked("s", s_stop, "s_stop")
        if s is None and own and path in RampModel.moving:
            s = DEFAULT_THRESHOLD + (0.0 if self.width is None else own[self.width])
        parameters = {"theta": theta, "s": s} | dict(own or {})
        sign = np.ones(self.y.size)
        super().__init__(rows, sign, path=path, parameters=parameters, C=C, **options)

    def loss_origin(self, t: float) -> Array:
        """The targets: no loss at residual 0."""
        return self.y

    def _checked(self, what: str, value: Any, called: str | None = None) -> float:
        if what != "s":
            return super()._checked(what, value)
        none = value is None or (isinstance(value, float) and value == np.inf)
        if none and self.path in (*self.moving[2:], "line"):
            # Without a threshold nothing is an outlier while the model's own parameter moves.
            return np.inf
        name = type(self).__name__
        return within_reach(positive(value, called or what, name), called or what, name)

    def _check_point(self, point: Mapping[str, float]) -> None:
        if self.width is not None and not point[self.width] < point["s"]:
            raise ModelError(
                f"{type(self).__name__}: s must be larger than {self.width} (both are distances "
                f"from y), got s={point['s']:g} and {self.width}={point[self.width]:g}"
            )

    def _span(self) -> tuple[float, float]:
        if self.path == "theta":
            return 1.0, 0.0
        return (np.inf, self.s_stop or self._least()) if self.path == "s" else self._own_span()

    def _given_ends(self) -> Iterable[float]:
        return [] if self.path == "s" and self.s_stop is None else super()._given_ends()

    def _own_span(self) -> tuple[float, float]:
        """Where the model's own parameter begins and ends."""
        raise NotImplementedError

    def _least(self) -> float:
        """What the threshold must exceed."""
        return 0.0 if self.width is None else self.parameters[self.width]

    def _end_at(self, s: float) -> None:
        if self.path == "s":
            self.s_stop = self._checked("s", s)
        else:
            super()._end_at(s)

    def farthest(self) -> float:
        """The largest residual of the best constant: of 0 without an intercept, else of the middle
        between the largest and the least target."""
        y = self.y[self.sample_weight > 0.0]
        return float(0.5 * np.ptp(y) if self.fit_intercept else np.abs(y).max())

    def beyond(self, response: Array, s: float) -> float:
        largest = float(np.abs(self.y - response)[self.sample_weight > 0.0].max())
        return largest + BEYOND * (largest - s) if largest > s else s

    def resolve_span(self, start: float) -> tuple[float, float]:
        size, least = float(np.abs(self.y).max()), self._least()
        if start - least <= ROUNDING * size or size == 0.0:
            # No residual is larger than it may be: what is left is rounding.
            stop = self.s_stop or 2.0 * least
            return stop, stop
        given = self.s_stop
        return start, least + DEFAULT_STOP * (start - least) if given is None else given
