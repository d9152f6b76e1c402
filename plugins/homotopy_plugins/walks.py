"""Walks: paths along the edges of a polygon in the parameters of a model.

A ramp loss has several parameters (theta, s and more).  Each edge of a polygon is a straight line
in all of them, traced from where the edge before it ended, so that the whole walk is one family of
local optima.  Where it leads depends on the way: two walks between the same ends may arrive at
different local optima, both of them certified.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from homotopy import Homotopy, LossModel, ModelError, Path, PathError
from homotopy_plugins.models.ramp import Point, RampModel

__all__ = ["Place", "Walk", "walk"]

Array = npt.NDArray[np.float64]


@attrs.frozen(eq=False)
class Place:
    """One point of a walk: the parameters of the model (if it is a `RampModel`) and the optimum
    there."""

    parameters: dict[str, float]
    alpha: Array = attrs.field(repr=False)
    intercept: Any
    objective: float


@attrs.frozen(eq=False)
class Walk:
    """The paths along the edges of a polygon, in the order of travel; each goes from t = 0 to 1.

    Attributes
    ----------
    paths : tuple of Path
        One per edge; the last is not complete where a limit stopped it.
    """

    paths: tuple[Path, ...]

    def __len__(self) -> int:
        return len(self.paths)

    @property
    def complete(self) -> bool:
        """Whether every edge was traced to its end."""
        return all(path.complete for path in self.paths)

    @property
    def jumps(self) -> int:
        """How many jumps there are on all edges together."""
        return sum(len(path.jumps) for path in self.paths)

    @property
    def breakpoints(self) -> int:
        """How many break-points there are on all edges together, corners counted once."""
        return sum(path.breakpoints.size - 1 for path in self.paths) + 1

    def at(self, k: int, t: float = 1.0, side: str = "after") -> Place:
        """The place `t` (0 to 1) of edge `k`."""
        if not -len(self) <= k < len(self):
            raise PathError(f"Walk: there is no edge {k}; it has {len(self)}, counted from 0")
        if np.ndim(t):
            raise PathError(f"Walk: a place is one t, got {t!r}; walk.paths[k] takes arrays")
        path = self.paths[k]
        return Place(
            parameters=_parameters(path.model, t),
            alpha=path.alpha(t, side),
            intercept=path.intercept(t, side),
            objective=path.objective(t, side),
        )

    def certify(self, tol: float = 1e-8) -> bool:
        """Whether the certificate of every edge holds, and each begins where that before it ended:
        with the same response, or with an objective that is not higher."""
        proven = all(path.certify(tol).ok for path in self.paths)
        joints = pairwise(self.paths)
        return proven and all(_continues(before, after, tol) for before, after in joints)

    def __repr__(self) -> str:
        edges = "1 edge" if len(self) == 1 else f"{len(self)} edges"
        name = type(self.paths[0].model).__name__
        return f"<Walk of {name}: {edges}, {self.breakpoints} break-points, {self.jumps} jumps>"


def walk(model: Any, corners: Iterable[Point], *, start: Any = None, **options: Any) -> Walk:
    """Trace a model along the polygon through `corners`, edge after edge.

    Parameters
    ----------
    model : RampModel, or any LossModel with a method ``line(start, stop)``
    corners : list of points
        At least two; a point holds the parameters in the order of ``model.moving``, (theta, s) for
        most, or is a dict of those that differ from the model's own.  The problem at the first
        should be convex (theta = 1), or needs a `start`.
    start : Path, (Path, t) or array (n,), optional
        As for `Homotopy.trace`, for the first edge.
    **options
        Of `Homotopy`.

    Returns
    -------
    Walk
        Up to the first edge that a limit stopped, if one did.

    Examples
    --------
    ``walk(model, [(1.0, s), (0.0, s)])`` is the theta-path, ``walk(model, [(1.0, far), (theta,
    far), (theta, s)])`` the s-path, if no response is as far out as `far`.
    """
    if not callable(getattr(model, "line", None)):
        raise ModelError(f"walk: {type(model).__name__} has no method line(start, stop)")
    points = list(corners)
    if len(points) < 2:
        raise ModelError(f"walk: a walk needs two corners or more, got {len(points)}")
    lines = [model.line(a, z) for a, z in pairwise(points)]
    paths: list[Path] = []
    for line in lines:
        begin = (paths[-1], 1.0) if paths else start
        paths.append(Homotopy(line, **options).trace(start=begin))
        if not paths[-1].complete:
            break
    return Walk(tuple(paths))


def _parameters(model: LossModel, t: float) -> dict[str, float]:
    if not isinstance(model, RampModel):
        return {}
    values = zip(model.moving, model.parameters_at(t), strict=True)
    return {what: float(value) for what, value in values}


def _continues(before: Path, after: Path, tol: float) -> bool:
    if not before.complete:
        return False
    old, new = before.response(1.0), after.response(0.0)
    if float(np.abs(new - old).max()) <= tol * max(1.0, float(np.abs(old).max())):
        return True
    was, now = before.objective(1.0), after.objective(0.0)
    return bool(now <= was + tol * max(abs(was), abs(now)))
