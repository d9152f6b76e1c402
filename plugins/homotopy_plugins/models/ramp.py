"""What every ramp loss has: the weight theta and the threshold s of its outliers, and whatever
else of it may move."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Self, Unpack

import numpy as np
import numpy.typing as npt

from homotopy import ModelError, NewRow
from homotopy_plugins.kernels.checks import number
from homotopy_plugins.kernels.kernel_model import KernelModel, KernelOptions
from homotopy_plugins.kernels.new_rows import new_row, new_rows

__all__ = ["BEYOND", "Point", "RampModel", "ramp_parameters"]

Array = npt.NDArray[np.float64]
Point = Sequence[float] | Mapping[str, float]

# What is beyond every response is so by this part of the way out.
BEYOND = 0.05


class RampModel(KernelModel):
    """A kernel machine whose loss is pressed flat beyond the threshold s: there it has only the
    fraction theta of its slope.

    The path leads along one of the parameters of the loss, named by `path` (theta from 1, convex,
    to 0; s from where nothing is an outlier; a subclass may have more) or, made by `line`, along
    any straight line in all of them.

    Attributes
    ----------
    moving : tuple of str
        The parameters that can move, in the order in which `line` takes them.
    together : tuple of str
        Parameters whose product the polyline holds, if any: at most one of them moves on a line.
    outlier_pieces : tuple of str
        The pieces of outliers.
    parameters : dict
        The value of each parameter where it does not move.
    """

    moving: tuple[str, ...] = ("theta", "s")
    together: tuple[str, ...] = ()
    outlier_pieces: tuple[str, ...]

    def __init__(
        self,
        X: Any,
        sign: npt.ArrayLike,
        *,
        path: str,
        parameters: Mapping[str, Any],
        C: float,
        **options: Unpack[KernelOptions],
    ) -> None:
        self.path = self.parameter = _checked_path(path, self.moving, type(self).__name__)
        self.parameters = {what: self._checked(what, v) for what, v in parameters.items()}
        self.ends: tuple[tuple[float, ...], tuple[float, ...]] | None = None
        super().__init__(X, sign, C=C, **options)
        self._set_span()

    @property
    def theta(self) -> float:
        """The weight of outliers, where it does not move."""
        return self.parameters["theta"]

    @property
    def s(self) -> float:
        """The threshold, where it does not move."""
        return self.parameters["s"]

    def piece_name(self, name: str) -> str:
        word = super().piece_name(name)
        # At weight 1 an outlier is charged like any other row, and is none.
        later = self.parameter == "theta" and name in self.outlier_pieces
        return f"{word} for theta < 1" if later else word

    def _checked(self, what: str, value: Any) -> float:
        """The value of one parameter; subclasses check all but theta."""
        return _checked_weight(value, type(self).__name__)

    def _check_point(self, point: Mapping[str, float]) -> None:
        """Refuse values that do not go together."""

    def _set_span(self) -> None:
        """Set `span` for the present path and parameters, and check its ends."""
        self.span = self._span()
        for value in self._given_ends():
            self._check_point(self.parameters | {self.path: value})

    def _given_ends(self) -> Iterable[float]:
        """The ends of the span that are known before anything is traced."""
        return [value for value in self.span if np.isfinite(value)]

    @abstractmethod
    def _span(self) -> tuple[float, float]:
        """The span for the present path and parameters."""

    def parameters_at(self, t: Any) -> tuple[Any, ...]:
        """The parameters, in the order of `moving`, at the place t of the path."""
        if self.ends is not None:
            return tuple(a if a == z else a + (z - a) * t for a, z in zip(*self.ends, strict=True))
        return tuple(t if what == self.path else self.parameters[what] for what in self.moving)

    def varied(self, *, C: float | None = None, s: float | None = None) -> Self:
        """The same model with another C or threshold; both share data and columns of the kernel.

        `s` is the end of the s-path, the threshold of any other.
        """
        other = super().varied(C=C)
        if s is not None:
            if self.ends is not None:
                name = type(self).__name__
                raise ModelError(f"{name}: the threshold of a line is in its ends; make another")
            other._end_at(s)
            other._set_span()
        return other

    def along(self, path: str) -> Self:
        """The same model along another of its parameters; both share data and columns of the
        kernel.  The parameter that moved so far takes the value it was made with."""
        other = super().varied()
        other.ends = None
        other.path = other.parameter = _checked_path(path, self.moving, type(self).__name__)
        other._set_span()
        return other

    def _end_at(self, s: float) -> None:
        self.parameters = self.parameters | {"s": self._checked("s", s)}

    def line(self, start: Point, stop: Point) -> Self:
        """The same model along the straight line from `start` to `stop`, as t goes from 0 to 1.

        A point holds the parameters in the order of `moving`, (theta, s) and so on, or is a dict of
        those that differ from what the model was made with.  Where the start is not convex,
        `Homotopy.trace` wants a start: the path that ends there (see `walk`).
        """
        ends = self.point(start), self.point(stop)
        moves = [what for what in self.together if ends[0][what] != ends[1][what]]
        if len(moves) > 1:
            raise ModelError(
                f"{type(self).__name__}: {' and '.join(moves)} multiply each other in the loss, so "
                "that only one of them can move along a line; walk round a corner instead"
            )
        first, last = (tuple(end[what] for what in self.moving) for end in ends)
        if not all(a == z or np.isfinite(z - a) for a, z in zip(first, last, strict=True)):
            raise ModelError(f"{type(self).__name__}: a line ends at finite values, got {last}")
        other = copy.copy(self)
        other.ends = first, last
        other.path, other.parameter, other.span = "line", "t", (0.0, 1.0)
        return other

    def point(self, point: Point) -> dict[str, float]:
        """A point, as `line` takes it, by name and checked."""
        name, wanted = type(self).__name__, ", ".join(self.moving)
        if not isinstance(point, Mapping):
            values = list(point) if isinstance(point, Sequence | np.ndarray) else [point]
            if len(values) != len(self.moving):
                raise ModelError(f"{name}: a point of a line is ({wanted}), got {point!r}")
            point = dict(zip(self.moving, values, strict=True))
        strange = set(point) - set(self.moving)
        if strange:
            raise ModelError(f"{name}: {min(strange)!r} does not move; a line moves {wanted}")
        checked = self.parameters | {what: self._checked(what, v) for what, v in point.items()}
        self._check_point(checked)
        return checked

    def new_row(self, x: Any, target: Any, cost: float | None, t: float, others: Any) -> NewRow:
        return new_row(self, x, target, 1.0 if cost is None else cost / self.C, t, others)

    def new_rows(self, X: Any, target: Any, t: float) -> Iterator[NewRow]:
        """Each row of X as the only new row, all with the same target."""
        return new_rows(self, X, target, t)

    # ------------------------------------------------------------------ for `anneal`

    def point_at(self, t: float) -> dict[str, float]:
        """The point at the place t of the path, by name."""
        # What is rounded on the way is exact at the end of a line.
        values = self.ends[1] if self.ends and t == self.span[1] else self.parameters_at(t)
        return {what: float(value) for what, value in zip(self.moving, values, strict=True)}

    def convex_point(self, target: Point) -> dict[str, float]:
        """The point with theta = 1, where the problem is convex, nearest to `target`."""
        return self.point(target) | {"theta": 1.0}

    def beyond(self, response: Array, s: float) -> float:
        """A threshold that none of these responses has passed, farther out than s; s itself where
        no row has passed that, which is what is said here."""
        return s

    def routes(self, target: Point, response: Array) -> dict[str, list[Point]]:
        """The usual ways from a convex problem to `target`, by name; `response` is that at
        `convex_point`.

        Down in theta; in along s, from beyond every response; and straight across.
        """
        end, convex = self.point(target), self.convex_point(target)
        ways: dict[str, list[Point]] = {"along theta": [convex, end]}
        far = {"s": self.beyond(response, end["s"])}
        if end["theta"] < 1.0 and far["s"] != end["s"]:
            ways["along s"] = [convex | far, end | far, end]
            if not {"theta", "s"} <= set(self.together):
                ways["across"] = [convex | far, end]
        return ways


def ramp_parameters(
    path: Any, theta: Any, name: str, moving: Sequence[str] = RampModel.moving
) -> tuple[str, float]:
    """Check the choice of path among `moving` and the outlier weight in [0, 1]."""
    return _checked_path(path, moving, name), _checked_weight(theta, name)


def _checked_path(path: Any, moving: Sequence[str], name: str) -> str:
    if not (isinstance(path, str) and path in moving):
        *most, last = (repr(what) for what in moving)
        raise ModelError(f"{name}: path must be {', '.join(most)} or {last}, got {path!r}")
    return str(path)


def _checked_weight(theta: Any, name: str) -> float:
    weight = number(theta, "theta", name)
    if not 0.0 <= weight <= 1.0:
        raise ModelError(f"{name}: theta must lie in [0, 1], got {theta!r}")
    return weight
