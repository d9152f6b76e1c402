"""Robust regression: the absolute residual with its far part pressed flat.

With ``r = y - f(x)`` and cost C_i = C * sample_weight_i,

    L = C_i * |r|                            |r| <= s    (inlier)
    L = C_i * (s + theta * (|r| - s))        |r| >  s    (outlier, a branch on each side)

In ``u = f(x)``, ``-dL`` is the polyline

    O+: theta C | jump y-s | I+: C | E: knot y | I-: -C | jump y+s | O-: -theta C
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

from homotopy import DataError, Jump, Knot, Slope
from homotopy_plugins.kernels.checks import (
    check_length,
    check_rows,
    check_size,
    positive,
    within_reach,
)
from homotopy_plugins.kernels.kernel_model import KernelOptions
from homotopy_plugins.models.ramp import RampModel

__all__ = ["LADRamp"]

Array = npt.NDArray[np.float64]

# Where an s-path ends by default, as a part of the largest residual.
DEFAULT_STOP = 0.2
# Residuals below this part of the largest target count as none.
ROUNDING = 1e-9


class LADRamp(RampModel):
    """Least-absolute-deviation ramp regression along theta or s.

    Parameters
    ----------
    X : array or scipy sparse matrix (n, d)
        Samples; the kernel matrix (n, n) if ``kernel="precomputed"``.
    y : array (n,)
        Targets.
    C, **options
        Weight of the loss and the options of the kernel; see `KernelModel`.
    path : {"theta", "s"}
        "theta": the outlier weight theta goes from 1 (plain LAD regression) to 0 at threshold `s`;
        "s": the threshold goes from the largest residual down to `s_stop` at the weight `theta`.
    theta : float in [0, 1]
        The outlier weight on the s-path.
    s : float, positive
        The threshold on the theta-path.
    s_stop : float, positive, optional
        The end of the s-path; by default 0.2 of the largest residual.

    Signs: ``u_i = f(x_i)``, ``f = sum_i alpha_i K(x_i, .) + b``; alpha_i > 0 pulls f up to y_i.
    """

    outlier_pieces = ("O+", "O-")

    def __init__(
        self,
        X: Any,
        y: npt.ArrayLike,
        *,
        C: float,
        path: str = "theta",
        theta: float = 0.0,
        s: float = 1.0,
        s_stop: float | None = None,
        **options: Unpack[KernelOptions],
    ) -> None:
        name = type(self).__name__
        rows = check_rows(X, name)
        self.y = checked_targets(y, rows.shape[0], name)
        self.s_stop = None if s_stop is None else self._threshold(s_stop, "s_stop")
        sign = np.ones(self.y.size)
        super().__init__(rows, sign, path=path, theta=theta, s=s, C=C, **options)

    def _threshold(self, s: Any, what: str = "s") -> float:
        name = type(self).__name__
        return within_reach(positive(s, what, name), what, name)

    def _set_span(self) -> None:
        self.span = (1.0, 0.0) if self.path == "theta" else (np.inf, self.s_stop or 0.0)

    def _end_at(self, s: float) -> None:
        if self.path == "theta":
            self.s = self._threshold(s)
        else:
            self.s_stop = self._threshold(s)

    def polyline(self, t: Any) -> Sequence[Slope | Knot | Jump]:
        theta, s = self.outliers_at(t)
        return (
            Slope("O+", self.cost * theta),
            Jump(self.y - s),
            Slope("I+", self.cost),
            Knot("E", self.y),
            Slope("I-", -self.cost),
            Jump(self.y + s),
            Slope("O-", -self.cost * theta),
        )

    def resolve_span(self, start: float) -> tuple[float, float]:
        size = float(np.abs(self.y).max())
        if start <= ROUNDING * size or size == 0.0:
            # f passes through every target: what is left of the residuals is rounding.
            return self.span[1], self.span[1]
        return start, DEFAULT_STOP * start if self.s_stop is None else self.s_stop


def checked_targets(y: npt.ArrayLike, n: int, name: str) -> Array:
    """Targets as finite numbers, one per row."""
    try:
        targets = np.array(y, dtype=float)
    except (TypeError, ValueError):
        raise DataError(f"{name}: y must be numeric") from None
    check_length(targets, n, "y", name)
    bad = np.flatnonzero(~np.isfinite(targets))
    if bad.size:
        raise DataError(f"{name}: y[{bad[0]}] is {targets[bad[0]]}; targets must be finite")
    check_size(targets, "y", name)
    return targets
