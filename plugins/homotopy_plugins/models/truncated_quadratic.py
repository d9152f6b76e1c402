"""Robust least squares: squared residuals up to a threshold.

With ``r = y - f(x)`` and cost C_i = C * sample_weight_i,

    L = C_i * r^2 / 2                                |r| <= s    (inlier)
    L = C_i * s * (s / 2 + theta * (|r| - s))        |r| >  s    (outlier, a branch on each side)

which at theta = 1 is the Huber loss and at theta = 0 the squared residual cut off at s.  In
``u = f(x)``, ``-dL`` is the polyline

    O+: theta C s | jump y-s | Q: C (y - u) | jump y+s | O-: -theta C s
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import numpy.typing as npt

from homotopy import Jump, Knot, Slope
from homotopy_plugins.kernels.kernel_model import KernelOptions
from homotopy_plugins.models.regression_ramp import RegressionRamp

__all__ = ["TruncatedQuadratic"]


class TruncatedQuadratic(RegressionRamp):
    """Truncated least squares along theta or s.

    Parameters
    ----------
    X : array or scipy sparse matrix (n, d)
        Samples; the kernel matrix (n, n) if ``kernel="precomputed"``.
    y : array (n,)
        Targets.
    C, **options
        Weight of the loss and the options of the kernel; see `KernelModel`.
    path : {"theta", "s"}
        "theta": the outlier weight goes from 1 (Huber regression) to 0 at the threshold `s`;
        "s": the threshold goes from the largest residual of ridge regression down to `s_stop`,
        with outliers that have no weight.
    s : float, positive
        The threshold on the theta-path.
    s_stop : float, positive, optional
        The end of the s-path; by default 0.2 of the largest residual.

    Notes
    -----
    Signs: ``u_i = f(x_i)``, ``f = sum_i alpha_i K(x_i, .) + b``; alpha_i > 0 pulls f up to y_i.
    """

    together = ("theta", "s")

    def __init__(
        self,
        X: Any,
        y: npt.ArrayLike,
        *,
        C: float,
        path: str = "theta",
        s: float = 1.0,
        s_stop: float | None = None,
        **options: Unpack[KernelOptions],
    ) -> None:
        super().__init__(X, y, path=path, theta=0.0, s=s, s_stop=s_stop, C=C, **options)

    def polyline(self, t: Any) -> Sequence[Slope | Knot | Jump]:
        theta, s = self.parameters_at(t)
        steep = self.cost * s * theta
        return (
            Slope("O+", steep),
            Jump(self.y - s),
            Slope("Q", self.cost * self.y, curvature=self.cost),
            Jump(self.y + s),
            Slope("O-", -steep),
        )
