"""Robust support vector regression: the epsilon-insensitive loss with its far part pressed flat.

With ``r = y - f(x)`` and cost C_i = C * sample_weight_i,

    L = C_i * max(0, |r| - eps)                      |r| <= s    (inlier)
    L = C_i * ((s - eps) + theta * (|r| - s))        |r| >  s    (outlier, a branch on each side)

In ``u = f(x)``, ``-dL`` is the polyline

    O+: theta C | jump y-s | I+: C | E+: knot y-eps | Z: 0 | E-: knot y+eps | I-: -C | jump y+s |
    O-: -theta C

The threshold s is, as eps, a distance from y: 0 <= eps < s.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, Self, Unpack

import numpy.typing as npt

from homotopy import Jump, Knot, ModelError, Slope
from homotopy_plugins.kernels.checks import finite, within_reach
from homotopy_plugins.kernels.kernel_model import KernelOptions
from homotopy_plugins.models.regression_ramp import RegressionRamp

__all__ = ["EpsilonRamp"]

# The eps-path begins so much beyond the last constant f, where nothing happens yet.
BEYOND = 1.01


class EpsilonRamp(RegressionRamp):
    """Epsilon-insensitive ramp regression along theta, s or eps; with ``epsilon=0`` it is
    `LADRamp`.

    Parameters
    ----------
    X : array or scipy sparse matrix (n, d)
        Samples; the kernel matrix (n, n) if ``kernel="precomputed"``.
    y : array (n,)
        Targets.
    C, **options
        Weight of the loss and the options of the kernel; see `KernelModel`.
    epsilon : float, not negative
        Half the width of the tube in which residuals cost nothing; the end of the eps-path.
    path : {"theta", "s", "eps"}
        "theta": the outlier weight goes from 1 (plain SVR) to 0 at the threshold `s`;
        "s": the threshold goes from the largest residual down to `s_stop` at the weight `theta`;
        "eps": the tube goes from `epsilon_start` to `epsilon`.
    theta : float in [0, 1]
        The outlier weight where it does not move.
    s : float above `epsilon`, optional
        The threshold where it does not move, as a distance from y; by default ``epsilon + 1`` on
        the theta-path, and none on the eps-path, which is that of plain SVR.  With one (and
        theta < 1) the start of the eps-path is not convex: reach it by `walk`.
    s_stop : float above `epsilon`, optional
        The end of the s-path; by default a fifth of the way from the largest residual to epsilon
        is left.
    epsilon_start : float, optional
        Where the eps-path begins; by default a little beyond the largest residual of the best
        constant, where f is that constant (0 without an intercept).

    Notes
    -----
    Signs: ``u_i = f(x_i)``, ``f = sum_i alpha_i K(x_i, .) + b``; alpha_i > 0 pulls f up to y_i.
    """

    moving = ("theta", "s", "eps")
    width = "eps"

    def __init__(
        self,
        X: Any,
        y: npt.ArrayLike,
        *,
        C: float,
        epsilon: float,
        path: str = "theta",
        theta: float = 0.0,
        s: float | None = None,
        s_stop: float | None = None,
        epsilon_start: float | None = None,
        **options: Unpack[KernelOptions],
    ) -> None:
        self.epsilon = self._tube(epsilon, "epsilon")
        self.epsilon_start = (
            None if epsilon_start is None else self._tube(epsilon_start, "epsilon_start")
        )
        super().__init__(
            X,
            y,
            path=path,
            theta=theta,
            s=s,
            s_stop=s_stop,
            own={"eps": self.epsilon},
            C=C,
            **options,
        )

    def _tube(self, value: Any, what: str = "eps") -> float:
        name = type(self).__name__
        width = within_reach(finite(value, what, name), what, name)
        if width < 0.0:
            raise ModelError(f"{name}: {what} must not be negative, got {value!r}")
        return width

    def _checked(self, what: str, value: Any, called: str | None = None) -> float:
        return self._tube(value) if what == "eps" else super()._checked(what, value, called)

    def _own_span(self) -> tuple[float, float]:
        if self.epsilon_start is None:
            return max(BEYOND * self.farthest(), self.epsilon), self.epsilon
        return self.epsilon_start, self.epsilon

    def widening(self, start: float, stop: float) -> Self:
        """The same model along eps, from `start` to `stop`; both share data and columns of the
        kernel.  Where theta < 1 a trace of it wants a start, as any eps-path with a threshold."""
        if self.ends is not None:
            name = type(self).__name__
            raise ModelError(f"{name}: the tube of a line is in its ends; make another line")
        other = copy.copy(self)
        other.epsilon_start = self._tube(start, "epsilon_start")
        other.epsilon = self._tube(stop, "epsilon")
        other.path = other.parameter = "eps"
        other.parameters = self.parameters | {"eps": other.epsilon}
        other._set_span()
        return other

    def polyline(self, t: Any) -> Sequence[Slope | Knot | Jump]:
        theta, s, eps = self.parameters_at(t)
        return (
            Slope("O+", self.cost * theta),
            Jump(self.y - s),
            Slope("I+", self.cost),
            Knot("E+", self.y - eps),
            Slope("Z", 0.0),
            Knot("E-", self.y + eps),
            Slope("I-", -self.cost),
            Jump(self.y + s),
            Slope("O-", -self.cost * theta),
        )
