"""What every ramp loss has: the weight theta and the threshold s of its outliers."""

from __future__ import annotations

import copy
from abc import abstractmethod
from typing import Any, Self, Unpack

import numpy.typing as npt

from homotopy import ModelError
from homotopy_plugins.kernels.checks import number
from homotopy_plugins.kernels.kernel_model import KernelModel, KernelOptions

__all__ = ["RampModel", "ramp_parameters"]

Point = tuple[float, float]


class RampModel(KernelModel):
    """A kernel machine whose loss is pressed flat beyond the threshold s: there it has only the
    fraction theta of its slope.

    The path leads along theta (from 1, convex, to 0), along s (from where nothing is an outlier),
    or, made by `line`, along any straight line in (theta, s).

    Attributes
    ----------
    outlier_pieces : tuple of str
        The pieces of outliers.
    """

    outlier_pieces: tuple[str, ...]

    def __init__(
        self,
        X: Any,
        sign: npt.ArrayLike,
        *,
        path: str,
        theta: float,
        s: float,
        C: float,
        **options: Unpack[KernelOptions],
    ) -> None:
        name = type(self).__name__
        self.path, self.theta = ramp_parameters(path, theta, name)
        self.parameter = self.path
        self.s = self._threshold(s)
        self.ends: tuple[Point, Point] | None = None
        self._set_span()
        super().__init__(X, sign, C=C, **options)

    @abstractmethod
    def _threshold(self, s: Any) -> float:
        """A threshold, checked."""

    @abstractmethod
    def _set_span(self) -> None:
        """Set `span` for the present path and threshold."""

    def outliers_at(self, t: Any) -> tuple[Any, Any]:
        """(theta, s) at the place t of the path."""
        if self.ends is not None:
            (theta, s), (theta1, s1) = self.ends
            return theta + (theta1 - theta) * t, s + (s1 - s) * t
        return (t, self.s) if self.path == "theta" else (self.theta, t)

    def varied(self, *, C: float | None = None, s: float | None = None) -> Self:
        """The same model with another C or threshold; both share data and columns of the kernel.

        `s` is the threshold of the theta-path or the end of the s-path.
        """
        other = super().varied(C=C)
        if s is not None:
            other._end_at(s)
            other._set_span()
        return other

    def _end_at(self, s: float) -> None:
        self.s = self._threshold(s)

    def line(self, start: Point, stop: Point) -> Self:
        """The same model along the straight line from (theta, s) = `start` to `stop`, as t goes
        from 0 to 1.

        Where the start is not convex, `Homotopy.trace` wants a start: the path that ends there.
        """
        other = copy.copy(self)
        name = type(self).__name__
        weights = (ramp_parameters("theta", theta, name)[1] for theta in (start[0], stop[0]))
        thresholds = (self._threshold(s) for s in (start[1], stop[1]))
        other.ends = tuple(zip(weights, thresholds, strict=True))  # type: ignore[assignment]
        other.path, other.parameter, other.span = "line", "t", (0.0, 1.0)
        return other


def ramp_parameters(path: Any, theta: Any, name: str) -> tuple[str, float]:
    """Check the choice of path and the outlier weight in [0, 1]."""
    if not (isinstance(path, str) and path in ("theta", "s")):
        raise ModelError(f"{name}: path must be 'theta' or 's', got {path!r}")
    weight = number(theta, "theta", name)
    if not 0.0 <= weight <= 1.0:
        raise ModelError(f"{name}: theta must lie in [0, 1], got {theta!r}")
    return str(path), weight
