"""Robust regression: the Huber loss with its far part pressed flat.

With ``r = y - f(x)`` and cost C_i = C * sample_weight_i,

    L = C_i * r^2 / 2                                      |r| <= delta
    L = C_i * (delta |r| - delta^2 / 2)            delta < |r| <= s        (inlier)
    L = C_i * delta * (s - delta / 2 + theta * (|r| - s))  |r| >  s        (outlier)

In ``u = f(x)``, ``-dL`` is the polyline

    O+: theta C delta | jump y-s | I+: C delta | E+: y-delta | Q: C (y - u) | E-: y+delta |
    I-: -C delta | jump y+s | O-: -theta C delta

whose two corners E+ and E- have no height: there the loss is smooth.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import numpy.typing as npt

from homotopy import Jump, Knot, Slope
from homotopy_plugins.kernels.checks import positive, within_reach
from homotopy_plugins.kernels.kernel_model import KernelOptions
from homotopy_plugins.models.regression_ramp import RegressionRamp

__all__ = ["HuberRamp"]


class HuberRamp(RegressionRamp):
    """Huber ramp regression along theta, s or delta.

    Parameters
    ----------
    X : array or scipy sparse matrix (n, d)
        Samples; the kernel matrix (n, n) if ``kernel="precomputed"``.
    y : array (n,)
        Targets.
    C, **options
        Weight of the loss and the options of the kernel; see `KernelModel`.
    delta : float, positive
        The residual up to which the loss is quadratic; the end of the delta-path.
    path : {"theta", "s", "delta"}
        "theta": the outlier weight goes from 1 (plain Huber regression) to 0 at the threshold `s`;
        "s": the threshold goes from the largest residual down to `s_stop` at the weight `theta`;
        "delta": the quadratic part goes from `delta_start` to `delta`.
    theta : float in [0, 1]
        The outlier weight where it does not move.
    s : float above `delta`, optional
        The threshold where it does not move, as a distance from y; by default ``delta + 1`` on the
        theta-path, and none on the delta-path, which is that of plain Huber regression.  With one
        (and theta < 1) the start of the delta-path is not convex: reach it by `walk`.
    s_stop : float above `delta`, optional
        The end of the s-path; by default a fifth of the way from the largest residual to delta is
        left.
    delta_start : float, optional
        Where the delta-path begins; by default the largest residual of the best constant.

    Notes
    -----
    Signs: ``u_i = f(x_i)``, ``f = sum_i alpha_i K(x_i, .) + b``; alpha_i > 0 pulls f up to y_i.
    """

    moving = ("theta", "s", "delta")
    together = ("theta", "delta")
    width = "delta"

    def __init__(
        self,
        X: Any,
        y: npt.ArrayLike,
        *,
        C: float,
        delta: float,
        path: str = "theta",
        theta: float = 0.0,
        s: float | None = None,
        s_stop: float | None = None,
        delta_start: float | None = None,
        **options: Unpack[KernelOptions],
    ) -> None:
        self.delta = self._bend(delta)
        self.delta_start = None if delta_start is None else self._bend(delta_start, "delta_start")
        super().__init__(
            X,
            y,
            path=path,
            theta=theta,
            s=s,
            s_stop=s_stop,
            own={"delta": self.delta},
            C=C,
            **options,
        )

    def _bend(self, value: Any, what: str = "delta") -> float:
        name = type(self).__name__
        return within_reach(positive(value, what, name), what, name)

    def _checked(self, what: str, value: Any, called: str | None = None) -> float:
        return self._bend(value) if what == "delta" else super()._checked(what, value, called)

    def _own_span(self) -> tuple[float, float]:
        if self.delta_start is None:
            return max(self.farthest(), self.delta), self.delta
        return self.delta_start, self.delta

    def polyline(self, t: Any) -> Sequence[Slope | Knot | Jump]:
        theta, s, delta = self.parameters_at(t)
        steep = self.cost * delta
        return (
            Slope("O+", steep * theta),
            Jump(self.y - s),
            Slope("I+", steep),
            Knot("E+", self.y - delta),
            Slope("Q", self.cost * self.y, curvature=self.cost),
            Knot("E-", self.y + delta),
            Slope("I-", -steep),
            Jump(self.y + s),
            Slope("O-", -steep * theta),
        )
