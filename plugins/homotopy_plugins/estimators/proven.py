"""What a fit does with a path that could not be proven to its end.

A trace that is declined hands over the part that is proven.  A fit goes on with that: on the part
where it suffices, else at the point asked for, solved and certified on its own, else at the
nearest point that is proven.  Only where nothing at all is proven there is nothing to fit.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning

from homotopy import Homotopy, LossModel, Path, Status, TraceError, ValidationCurve
from homotopy.model import Problem
from homotopy.path.segments import Segments
from homotopy_plugins.baselines.cccp import cccp
from homotopy_plugins.models.ramp import RampModel

__all__ = ["Proven", "beyond", "common_part", "holds", "proven", "shortened", "tell"]

Array = npt.NDArray[np.float64]

# To what the rounds of CCCP are solved, and an objective may be rounded.
FINE, SLACK = 1e-9, 1e-9
WAY_OUT = "Scale the features (StandardScaler) or choose another C"


@attrs.frozen(eq=False)
class Proven:
    """A path as far as it is proven.

    Attributes
    ----------
    path : Path
    trouble : str
        Why it does not reach the end of its span; empty where it does.
    begun : str
        What is to be said of its beginning, if that is not the usual one.
    """

    path: Path
    trouble: str = ""
    begun: str = ""

    def told(self, parameter: str | None = None) -> str:
        """How far it is proven, and why no farther."""
        first, last = self.path.traced
        name = parameter or self.path.model.parameter
        span = f"at {name}={first:g}" if first == last else f"from {name}={first:g} to {last:g}"
        return f"the path is proven {span} only ({self.trouble})"


def proven(
    model: LossModel, start: Any = None, *, progress: bool = False, most: int | None = None
) -> Proven:
    """Trace `model` as far as it can be proven, be it the first point alone; `most` break-points.

    Raises
    ------
    TraceError
        Where not even the first point can be proven, or no optimum exists beyond a point.
    """
    try:
        return Proven(Homotopy(model, max_breakpoints=most).trace(start=start, progress=progress))
    except TraceError as error:
        path = error.path if isinstance(error.path, Path) else first_point(model, start)
        if path is None or path.status is Status.NO_OPTIMUM:
            raise
        return Proven(path, str(error))


def alone(model: LossModel, t: float, start: Any = None) -> Path | None:
    """The path of the one point `t`, solved from `start` and certified; None if it cannot be."""
    still = copy.copy(model)
    still.span = (t, t)
    try:
        path = Homotopy(still).trace(start=start)
    except TraceError:
        return None
    return path if path.certify().ok else None


def beyond(path: Path, t: float) -> Path | None:
    """The path of the one point `t`, which lies beyond the end of `path`: certified, and no worse
    an answer there than the end of `path` is; None if no such point is found."""
    last, problem = path.traced[1], path.problem
    if problem.polylines.at(t).convex:
        return alone(path.model, t, (path, last))
    alpha, b = path.alpha(last), path.border_multipliers(last)
    limit = problem.objective(t, alpha, b, path.response(last))
    for by_rounds in (True, False):
        try:
            start = (_downhill(path, t), t) if by_rounds else (path, last)
        except TraceError:
            continue
        point = alone(path.model, t, start)
        if point is not None and point.objective(t) <= limit + SLACK * abs(limit):
            return point
    return None


def _downhill(path: Path, t: float) -> Path:
    """Where the concave-convex procedure leads at `t` from the end of `path`: every round of it
    lowers the objective.  It is a start only, exact to a tolerance."""
    last, problem = path.traced[1], path.problem
    found = cccp(path.model, [last, t], tol=FINE, start=path.alpha(last))
    alpha, b = found.alphas[-1], found.border_multipliers[-1]
    u = problem.gram.matvec(alpha) + problem.border @ b
    # On the nearest corner, between the slopes beside it, every alpha is kept as it is.
    piece = 2 * np.argmin(np.abs(u[:, None] - problem.polylines.at(t).corner), axis=1) + 1
    none = np.empty(0, dtype=np.int64)
    segments = Segments(
        start=[t],
        stop=[t],
        offset=[0, u.size],
        active=np.arange(u.size),
        alpha_start=alpha,
        alpha_stop=alpha,
        b_start=[b],
        b_stop=[b],
        event=[0, 0],
        changed=none,
        changed_to=none,
        first_piece=piece,
    )
    return attrs.evolve(path, segments=segments, jumps=())


def first_point(model: LossModel, start: Any = None) -> Path | None:
    """The path of `model` with its first point alone, certified; None where that fails too."""
    first, problem = float(model.span[0]), Problem.compile(model)
    if np.isfinite(first):
        found = None if start is None else alone(model, first, start)
        if found is None and problem.polylines.at(first).convex:
            # Elsewhere only a start tells which optimum is meant.
            found = alone(model, first)
    else:
        found = _before_any_outlier(model)
    if found is None:
        return None
    span = (found.traced[0], float(model.span[1]))
    path = attrs.evolve(found, model=model, problem=problem, span=span, status=Status.FAILED)
    return path if path.certify().ok else None


def _before_any_outlier(model: LossModel) -> Path | None:
    """The plain machine as a point of the s-path, which it is until the threshold meets a row."""
    if not isinstance(model, RampModel):
        return None
    plain = alone(model.along("theta"), 1.0)
    if plain is None:
        return None
    s = model.beyond(plain.response(1.0), float(model.span[1]))
    # With a threshold that no row has passed theta and s say nothing: one point is as the other.
    clear = alone(model.along("theta").varied(s=s), 1.0, plain.alpha(1.0))
    if clear is None:
        return None
    place = np.full(len(clear.segments), s)
    return attrs.evolve(clear, segments=attrs.evolve(clear.segments, start=place, stop=place))


def holds(path: Path, t: float) -> bool:
    """Whether `t` lies on the path, or before an s-path begins."""
    (first, last), declared = path.traced, path.problem.start
    low, high = min(first, last), max(first, last)
    if not np.isfinite(declared):
        low, high = (declared, high) if declared < 0.0 else (low, declared)
    slack = 1e-12 * max(abs(first), abs(last))
    return bool(low - slack <= t <= high + slack)


def tell(name: str, what: str, stacklevel: int = 2, *, way_out: str = WAY_OUT) -> None:
    """Warn that a fit had to do with less than a whole path."""
    warnings.warn(f"{name}: {what}. {way_out}", ConvergenceWarning, stacklevel=stacklevel + 1)


# ---------------------------------------------------------------------- curves on a part


def shortened(curve: ValidationCurve, stop: float, sign: float) -> ValidationCurve:
    """A curve up to `stop`; `sign` is that of its direction."""
    if sign * stop >= sign * curve.traced[1]:
        return curve
    kept = sign * curve.start < sign * stop
    if not np.any(kept):
        # It is constant up to its beginning.
        first = np.array([[curve.coefficients[0, 0], 0.0, 0.0]])
        return attrs.evolve(curve, start=[stop], stop=[stop], coefficients=first)
    start, end = curve.start[kept], curve.stop[kept]
    until = sign * np.minimum(sign * end, sign * stop)
    length = end - start
    part = np.where(length == 0.0, 1.0, (until - start) / np.where(length, length, 1.0))
    coefficients = curve.coefficients[kept] * part[:, None] ** np.arange(3)
    return attrs.evolve(curve, start=start, stop=until, coefficients=coefficients)


def common_part(curves: Sequence[ValidationCurve]) -> list[ValidationCurve]:
    """The curves up to where the first of them ends."""
    ends = [curve.traced[1] for curve in curves]
    long = [c for c in curves if c.traced[0] != c.traced[1] or not np.isfinite(c.origin)]
    if len(set(ends)) < 2 or not long:
        return list(curves)
    start = long[0].origin if not np.isfinite(long[0].origin) else long[0].traced[0]
    sign = 1.0 if long[0].traced[1] >= start else -1.0
    stop = sign * min(sign * end for end in ends)
    return [shortened(curve, stop, sign) for curve in curves]
