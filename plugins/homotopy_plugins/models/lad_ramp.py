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

import numpy.typing as npt

from homotopy import Jump, Knot, Slope
from homotopy_plugins.kernels.hostile import Made, hostile_table
from homotopy_plugins.kernels.kernel_model import KernelOptions
from homotopy_plugins.models.regression_ramp import RegressionRamp

__all__ = ["LADRamp"]


class LADRamp(RegressionRamp):
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

    Notes
    -----
    Signs: ``u_i = f(x_i)``, ``f = sum_i alpha_i K(x_i, .) + b``; alpha_i > 0 pulls f up to y_i.
    """

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
        super().__init__(X, y, path=path, theta=theta, s=s, s_stop=s_stop, C=C, **options)

    def polyline(self, t: Any) -> Sequence[Slope | Knot | Jump]:
        theta, s = self.parameters_at(t)
        return (
            Slope("O+", self.cost * theta),
            Jump(self.y - s),
            Slope("I+", self.cost),
            Knot("E", self.y),
            Slope("I-", -self.cost),
            Jump(self.y + s),
            Slope("O-", -self.cost * theta),
        )

    @classmethod
    def hostile(cls, draw: Any) -> Made:
        return hostile_table(draw, cls, "lad-ramp", hinge=False)
