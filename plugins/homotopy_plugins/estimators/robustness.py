"""One reading of `robustness` for every path: 0 is its beginning, 1 its end.

A path has a parameter of its own: the weight theta falls from 1 to 0, the threshold s moves from
beyond every row inwards, a tube epsilon widens.  `robustness` is the fraction of that way.  Along
theta and s it is 0 for the plain machine and 1 for the machine on which outliers have least pull;
along theta it is ``1 - theta``.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from homotopy import ModelError, Path
from homotopy_plugins.estimators.folds import WIDENED, first_met
from homotopy_plugins.kernels.checks import finite

__all__ = ["Asked", "Scale", "read"]

Array = npt.NDArray[np.float64]

# A jump nearer than this, in parts of the path's size, is where a robustness was computed from:
# a path that is traced again has its jumps at the same places but for rounding.
ROUNDED = 1e-12


@attrs.frozen
class Scale:
    """The values of a path's own parameter at robustness 0 and at robustness 1.

    Attributes
    ----------
    parameter : {"theta", "s", "epsilon"}
    start, end : float
        Equal where no row is an outlier anywhere on the path: there is only robustness 0.
    """

    parameter: str
    start: float
    end: float

    @classmethod
    def of(cls, path: Path) -> Scale:
        """That of a path, however far it is proven."""
        first, last, model = first_met(path), path.span[1], path.model
        parameter = model.parameter
        if parameter == "theta":
            return cls("theta", 1.0, 0.0)
        if parameter == "eps":
            return cls.widening(first, model.s, last)  # type: ignore[attr-defined]
        return cls(parameter, first, last)

    @classmethod
    def widening(cls, narrowest: float, s: float, asked: float = -np.inf) -> Scale:
        """That of a tube below the threshold s; the path goes farther if that was asked for."""
        return cls("epsilon", narrowest, max(narrowest + WIDENED * (s - narrowest), asked))

    def robustness(self, t: Any) -> Any:
        """The robustness of `t`; what lies before the path begins has robustness 0."""
        if self.start == self.end:
            found = np.zeros_like(t, dtype=float)
        else:
            # (Adding 0 makes 0 of -0.)
            found = np.clip(self.along(t), 0.0, 1.0) + 0.0
        return float(found) if np.ndim(t) == 0 else found

    def along(self, t: Any) -> Any:
        """The robustness of `t`, below 0 before the path begins."""
        # 1 - theta to the last digit, not (theta - 1) / (0 - 1).
        span = self.end - self.start
        return (self.start - t) if span == -1.0 else (t - self.start) / span

    def t(self, robustness: float, path: Path | None = None) -> float:
        """The parameter at a robustness; on a jump of `path` if rounding alone lies between."""
        if robustness in (0.0, 1.0):
            return self.end if robustness else self.start
        at = self.start + robustness * (self.end - self.start)
        if path is not None and path.jumps:
            jumps = np.array([jump.t for jump in path.jumps])
            nearest = float(jumps[np.argmin(np.abs(jumps - at))])
            size = max(abs(self.start), abs(self.end))
            if abs(nearest - at) <= ROUNDED * size:
                return nearest
        return at

    def label(self) -> str:
        """What an axis of robustness is called."""
        return f"robustness ({self.parameter} from {self.start:.3g} to {self.end:.3g})"


@attrs.frozen
class Asked:
    """A point of a path as the user gave it: its robustness, or the path's own parameter."""

    robustness: float | None = None
    t: float | None = None

    def on(self, path: Path) -> float:
        """The parameter of the path at this point."""
        if self.t is not None:
            return self.t
        assert self.robustness is not None
        return Scale.of(path).t(self.robustness, path)

    def called(self, robustness: float) -> float:
        """The robustness computed for this point, in the digits the user gave."""
        given = self.robustness
        near = given is not None and abs(given - robustness) <= ROUNDED
        return given if near and given is not None else robustness


def read(value: Any, path: str, name: str, stacklevel: int = 2) -> Asked:
    """A robustness as it was given: a number from 0 to 1, or a dict such as ``{"theta": 0.3}``.

    A number outside [0, 1] was a threshold or a tube before version 0.2 and is still read as one.
    """
    if isinstance(value, Mapping):
        if list(value) != [path]:
            raise ModelError(
                f"{name}: robustness={value!r} must hold the parameter of the path alone: "
                f"robustness={{{path!r}: ...}} for path={path!r}"
            )
        t = finite(value[path], f"robustness[{path!r}]", name)
        if path == "theta" and not 0.0 <= t <= 1.0:
            raise ModelError(
                f"{name}: robustness={value!r} lies outside the path: theta goes from 1 (plain) "
                "to 0 (outliers have no pull)"
            )
        return Asked(t=t)
    number = finite(value, "robustness", name)
    if 0.0 <= number <= 1.0:
        return Asked(robustness=number)
    if path == "theta":
        raise ModelError(
            f"{name}: robustness must lie between 0 (the plain machine) and 1 (outliers have no "
            f"pull), got {number:g}"
        )
    warnings.warn(
        f"{name}: robustness={number:g} is read as {path}={number:g}; from version 0.3 a number "
        f"must lie between 0 (the start of the path) and 1 (its end). Write "
        f"robustness={{{path!r}: {number:g}}} for {path}={number:g}",
        FutureWarning,
        stacklevel=stacklevel + 1,
    )
    return Asked(t=number)
