"""Robust quantile regression: the pinball loss with its far parts pressed flat.

With ``r = y - f(x)``, cost C_i = C * sample_weight_i and ``rho(r) = max(tau r, (tau - 1) r)``,

    L = C_i * rho(r)                                   |r| <= s    (inlier)
    L = C_i * (rho(+-s) + theta * rho(r -+ s))         |r| >  s    (outlier, a branch on each side)

In ``u = f(x)``, ``-dL`` is the polyline

    O+: theta tau C | jump y-s | I+: tau C | E: knot y | I-: -(1-tau) C | jump y+s |
    O-: -theta (1-tau) C
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import numpy.typing as npt

from homotopy import Jump, Knot, ModelError, Slope
from homotopy_plugins.kernels.checks import number
from homotopy_plugins.kernels.kernel_model import KernelOptions
from homotopy_plugins.models.regression_ramp import RegressionRamp

__all__ = ["PinballRamp"]


class PinballRamp(RegressionRamp):
    """Quantile ramp regression along theta, s or tau; with ``tau=0.5`` and twice the C it is
    `LADRamp`.

    Parameters
    ----------
    X : array or scipy sparse matrix (n, d)
        Samples; the kernel matrix (n, n) if ``kernel="precomputed"``.
    y : array (n,)
        Targets.
    C, **options
        Weight of the loss and the options of the kernel; see `KernelModel`.
    tau : float between 0 and 1
        The quantile; the beginning of the tau-path.
    path : {"theta", "s", "tau"}
        "theta": the outlier weight goes from 1 (plain quantile regression) to 0 at the threshold
        `s`; "s": the threshold goes from the largest residual down to `s_stop` at the weight
        `theta`; "tau": the quantile goes from `tau` to `tau_stop`.
    theta : float in [0, 1]
        The outlier weight where it does not move.
    s : float, positive, optional
        The threshold where it does not move; by default 1 on the theta-path, and none on the
        tau-path, which is that of plain quantile regression.  With one (and theta < 1) the start of
        the tau-path is not convex: reach it by `walk`.
    s_stop : float, positive, optional
        The end of the s-path; by default 0.2 of the largest residual.
    tau_stop : float between 0 and 1
        The end of the tau-path.

    Notes
    -----
    Signs: ``u_i = f(x_i)``, ``f = sum_i alpha_i K(x_i, .) + b``; alpha_i > 0 pulls f up to y_i.
    """

    moving = ("theta", "s", "tau")
    together = ("theta", "tau")

    def __init__(
        self,
        X: Any,
        y: npt.ArrayLike,
        *,
        C: float,
        tau: float,
        path: str = "theta",
        theta: float = 0.0,
        s: float | None = None,
        s_stop: float | None = None,
        tau_stop: float | None = None,
        **options: Unpack[KernelOptions],
    ) -> None:
        self.tau_stop = None if tau_stop is None else self._quantile(tau_stop, "tau_stop")
        if path == "tau" and tau_stop is None:
            raise ModelError(f"{type(self).__name__}: the tau-path needs a tau_stop to end at")
        super().__init__(
            X,
            y,
            path=path,
            theta=theta,
            s=s,
            s_stop=s_stop,
            own={"tau": tau},
            C=C,
            **options,
        )

    @property
    def tau(self) -> float:
        """The quantile, where it does not move."""
        return self.parameters["tau"]

    def _quantile(self, value: Any, what: str = "tau") -> float:
        name = type(self).__name__
        quantile = number(value, what, name)
        if not 0.0 < quantile < 1.0:
            raise ModelError(f"{name}: {what} must lie between 0 and 1, got {value!r}")
        return quantile

    def _checked(self, what: str, value: Any, called: str | None = None) -> float:
        return self._quantile(value) if what == "tau" else super()._checked(what, value, called)

    def _own_span(self) -> tuple[float, float]:
        assert self.tau_stop is not None
        return self.tau, self.tau_stop

    def polyline(self, t: Any) -> Sequence[Slope | Knot | Jump]:
        theta, s, tau = self.parameters_at(t)
        up, down = self.cost * tau, self.cost * (tau - 1.0)
        return (
            Slope("O+", up * theta),
            Jump(self.y - s),
            Slope("I+", up),
            Knot("E", self.y),
            Slope("I-", down),
            Jump(self.y + s),
            Slope("O-", down * theta),
        )
