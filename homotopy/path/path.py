"""The result: a path of local optima, exact at every t of its span.

For each segment, a path stores the active part of alpha and b at both ends (everything between is
linear) and the log of piece changes; alpha of the other coordinates is the value of their slope.
Memory is O(sum of active-set sizes + events), never n numbers per break-point.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from homotopy.arrays import Array, Index
from homotopy.errors import ModelError
from homotopy.model import LossModel, Problem, as_predictor
from homotopy.path.jump_record import JumpRecord
from homotopy.path.methods import PathMethods
from homotopy.path.on_segments import OnSegments
from homotopy.path.reading import Segment, segment_of, segments_of_path
from homotopy.path.responses import responses
from homotopy.path.segments import Segments, nodes
from homotopy.path.tolerances import PATH_TOLERANCES
from homotopy.path.zeros import Zero, find_zeros
from homotopy.wording import counted

Values = float | npt.ArrayLike


class Status(enum.Enum):
    """How a trace ended; the value is the sentence shown to the user."""

    COMPLETE = "the path reached the end of its span"
    LIMIT = "stopped at max_breakpoints or max_seconds"
    CALLBACK = "stopped by the callback"
    INTERRUPTED = "interrupted by the user"
    NO_OPTIMUM = "no optimum exists beyond its end"
    FAILED = "stopped by numerical trouble"


@attrs.frozen(eq=False, repr=False)
class Path(PathMethods):
    """A traced path of local optima; every method is exact at any t of the traced interval.

    Between two break-points alpha, b and the response are linear in t.  `alpha`, `response`,
    `solution`, `objective` and the like take one t, or an array of t and return one row for each.

    ``side="after"`` (default) gives the value just past t in the direction of travel,
    ``side="before"`` the value just before it.  The two differ only at jumps (and, where alpha is
    not unique, at some break-points; the response is then the same on both sides).

    Attributes
    ----------
    model : LossModel
        The model that was traced.
    segments : Segments
        The stored path.
    jumps : tuple of JumpRecord
        The discontinuities, in the order of travel.
    status : Status
        How the trace ended.
    span : (float, float)
        The interval that was to be traced, in the order of travel; finite.
    counts : dict
        How many steps of each kind were made.
    problem : Problem
        The compiled model.
    limit : {"max_breakpoints", "max_seconds"} or None
        The limit that stopped the trace; None if none did.
    """

    model: LossModel
    segments: Segments
    jumps: tuple[JumpRecord, ...]
    status: Status
    span: tuple[float, float]
    counts: dict[str, int]
    problem: Problem = attrs.field(alias="problem")
    limit: str | None = attrs.field(default=None, kw_only=True)

    def __reduce__(self) -> Any:
        # The problem is compiled again from the model, as in `load`.
        return _restored, tuple(getattr(self, name) for name in _PICKLED)

    # ------------------------------------------------------------------ shape

    @property
    def breakpoints(self) -> Array:
        """All t at which the path bends or jumps, in the order of travel, both ends included."""
        return nodes(self.segments.start, self.segments.stop)

    @property
    def traced(self) -> tuple[float, float]:
        """The traced interval, in the order of travel; all of `span` if the trace is complete."""
        return float(self.segments.start[0]), float(self.segments.stop[-1])

    @property
    def complete(self) -> bool:
        """Whether the whole span was traced."""
        return self.status is Status.COMPLETE

    @property
    def ending(self) -> str:
        """How the trace ended, in a sentence that names the limit where one was reached."""
        if self.status is Status.LIMIT and self.limit is not None:
            return f"stopped at {self.limit}"
        return self.status.value

    def __repr__(self) -> str:
        start, stop = self.traced
        name = self.model.parameter
        return (
            f"<Path of {type(self.model).__name__}: {name} {start:.6g} -> {stop:.6g}, "
            f"{counted(self.breakpoints.size, 'break-point')}, "
            f"{counted(len(self.jumps), 'jump')}; {self.ending}>"
        )

    # ------------------------------------------------------------------ values

    @property
    def _on(self) -> OnSegments:
        return OnSegments(self)

    def alpha(self, t: Values, side: str = "after") -> Array:
        """Return alpha at `t`, shape (n,), or one row per entry of an array of t."""
        found: Array = self._on.each(t, side, self._on.alpha)
        return found

    def pieces(self, t: float, side: str = "after") -> Index:
        """Return the piece of each coordinate at `t`: slope j is 2j, corner j is 2j + 1."""
        return self.segments.pieces(self._on.locate(t, side)[0])

    def border_multipliers(self, t: Values, side: str = "after") -> Array:
        """Return b at `t`, shape (m,), or one row per entry of an array of t."""
        found: Array = self._on.each(t, side, self._on.b)
        return found

    def intercept(self, t: Values, side: str = "after") -> Any:
        """Return the intercept of `decision_function` at `t`: a float with one border column (0.0
        with none), else an array; or one entry per entry of an array of t."""

        def one(k: int, t: float) -> Any:
            return self.model.intercept(self._on.alpha(k, t), self._on.b(k, t))

        return self._on.each(t, side, one)

    def solution(self, t: Values, side: str = "after") -> Array:
        """Return the unknown as the model declares it (x, beta, weights; by default alpha) at `t`,
        or one row per entry of an array of t."""

        def one(k: int, t: float) -> Array:
            return self.model.solution(t, self._on.alpha(k, t), self._on.b(k, t))

        found: Array = self._on.each(t, side, one)
        return found

    def response(self, t: Values, side: str = "after") -> Array:
        """Return ``u = Q alpha + B b`` at `t`, recomputed from alpha, or one row per entry of an
        array of t, which is much faster than one call for each."""
        many = np.ndim(t) and np.size(t) > PATH_TOLERANCES.one_by_one
        if many and self.problem.gram.features() is None:
            places = np.asarray(t)
            found = [self._on.locate(v, side) for v in places.ravel().tolist()]
            segment, values = zip(*found, strict=True)
            u = responses(self, np.array(segment), np.array(values))
            return u.reshape(*places.shape, u.shape[1])
        return self.problem.response(self.alpha(t, side), self.border_multipliers(t, side))

    def objective(self, t: Values, side: str = "after") -> Any:
        """Return the full, non-convex objective at `t` (of the problem that `LossModel.unknown`
        names), or one number per entry of an array of t."""

        def one(k: int, t: float) -> float:
            loose = self.problem.unanchored(t)
            if loose.size:
                raise ModelError(
                    f"{type(self.model).__name__}: the loss of coordinate {loose[0]} is unbounded "
                    "below, so it has no natural zero; override LossModel.loss_origin to define "
                    "the objective (or set unknown = 'alpha' if the problem is a minimisation "
                    "over alpha)"
                )
            return self._on.objective(k, t)

        return self._on.each(t, side, one)

    def partition(self, t: float, side: str = "after") -> dict[str, Index]:
        """Map each piece name to the indices of the coordinates on it."""
        k, t = self._on.locate(t, side)
        piece = self.segments.pieces(k)
        names = self.problem.polylines.names
        return {name: np.flatnonzero(piece == p) for p, name in enumerate(names) if name}

    def decision_function(self, X: Any, t: Values, side: str = "after") -> Array:
        """Return the fitted function at new data (the model must be a `Predictor`), or one row per
        entry of an array of t."""
        model = as_predictor(self.model, "path")
        if np.ndim(t):
            alpha, b = self.alpha(t, side), self.border_multipliers(t, side)
            rows = alpha.reshape(-1, alpha.shape[-1])
            values = model.evaluator(X)(rows.T, b.reshape(rows.shape[0], b.shape[-1]).T).T
            return np.asarray(values).reshape(*np.shape(t), *values.shape[1:])
        k, place = self._on.locate(t, side)  # type: ignore[arg-type]
        alpha, b = self._on.alpha(k, place), self._on.b(k, place)
        return model.decision_function(X, alpha, model.intercept(alpha, b))

    def __iter__(self) -> Iterator[Segment]:
        """Iterate over the segments in the order of travel."""
        return segments_of_path(self)

    def segment(self, t: float, side: str = "after") -> Segment:
        """Return the segment around `t`, with its active set and what changes at its end."""
        return segment_of(self, self._on.locate(t, side)[0])

    def zeros(self, f: Callable[[Any], Any], of: str = "alpha") -> tuple[Zero, ...]:
        """Find all t at which an affine or quadratic function of the solution is zero, exactly.

        Parameters
        ----------
        f : callable
            Takes one array and returns a number: ``lambda w: w[3] - 0.1``,
            ``lambda w: w @ covariance @ w - risk``.  A function that is neither affine nor
            quadratic is refused.
        of : {"alpha", "response", "border", "solution"}
            The array that `f` takes: alpha, the response u, the border multipliers b, or the
            unknown in the author's variables (`Path.solution`).

        Returns
        -------
        tuple of Zero
            In the order of travel.
        """
        return find_zeros(self, f, of)


_PICKLED = ("model", "segments", "jumps", "status", "span", "counts", "limit")


def _restored(model: LossModel, *fields: Any) -> Path:
    given = dict(zip(_PICKLED[1:], fields, strict=False))
    return Path(model, **given, problem=Problem.compile(model))
