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

from homotopy.errors import ModelError, PathError
from homotopy.model import LossModel, Predictor, Problem
from homotopy.path.jump_record import JumpRecord
from homotopy.path.methods import PathMethods
from homotopy.path.reading import Segment, segment_of, segments_of_path
from homotopy.path.responses import responses
from homotopy.path.segments import Segments, locate, nodes
from homotopy.path.tolerances import PATH_TOLERANCES
from homotopy.path.zeros import Zero, find_zeros
from homotopy.wording import counted

__all__ = ["Path", "Status"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]
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
        The limit that stopped the trace; None if none did, and for a path read from a file.
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

    def _locate(self, t: float, side: str) -> tuple[int, float]:
        s, name = self.segments, self.model.parameter
        try:
            value = float(t)
        except (TypeError, ValueError):
            raise PathError(f"{name} must be a number, got {t!r}") from None
        start, stop = self.traced
        low, high = min(start, stop), max(start, stop)
        slack = PATH_TOLERANCES.beyond * max(abs(low), abs(high))
        if not low - slack <= value <= high + slack:
            why = "" if self.complete else f" ({self.ending})"
            raise PathError(
                f"{name}={value:g} lies outside the traced interval [{low:g}, {high:g}]{why}"
            )
        value = min(max(value, low), high)
        sign = 1.0 if stop >= start else -1.0
        return int(locate(s.start, s.stop, sign, value, side)), value

    def _first(self, count: int) -> Path:
        """Return the first `count` segments and the jumps that lead to them."""
        segments = self.segments.first(count)
        end, sign = float(segments.stop[-1]), 1.0 if self.span[1] >= self.span[0] else -1.0
        # A jump at the very end leads to a segment of length zero.
        reached = segments.start[-1] == end and count > 1
        jumps = tuple(j for j in self.jumps if sign * j.t < sign * end or (reached and j.t == end))
        return attrs.evolve(self, segments=segments, jumps=jumps, status=Status.FAILED)

    # ------------------------------------------------------------------ values

    def _alpha_on(self, k: int, t: float) -> Array:
        s = self.segments
        level, rate = self._flat(np.arange(s.first_piece.size), s.pieces(k))
        alpha: Array = level + rate * t
        part = slice(s.offset[k], s.offset[k + 1])
        weight = self._weight(k, t)
        alpha[s.active[part]] = (1.0 - weight) * s.alpha_start[part] + weight * s.alpha_stop[part]
        return alpha

    def _flat(self, rows: Index, piece: Index) -> tuple[Array, Array]:
        return self.problem.polylines.flat(rows, piece)

    def _sweep(self) -> Iterator[tuple[Array, Array]]:
        """Yield alpha at both ends of each segment, in the order of travel."""
        s = self.segments
        piece = s.first_piece.copy()
        level, rate = self._flat(np.arange(piece.size), piece)
        for k in range(len(s)):
            new = slice(s.event[k], s.event[k + 1])
            changed = s.changed[new]
            piece[changed] = s.changed_to[new]
            level[changed], rate[changed] = self._flat(changed, piece[changed])
            part = slice(s.offset[k], s.offset[k + 1])
            first, last = level + rate * s.start[k], level + rate * s.stop[k]
            first[s.active[part]], last[s.active[part]] = s.alpha_start[part], s.alpha_stop[part]
            yield first, last

    def _weight(self, k: int, t: float) -> float:
        length = self.segments.stop[k] - self.segments.start[k]
        return float((t - self.segments.start[k]) / length) if length else 0.0

    def _b_on(self, k: int, t: float) -> Array:
        weight = self._weight(k, t)
        s = self.segments
        value: Array = (1.0 - weight) * s.b_start[k] + weight * s.b_stop[k]
        return value

    def _each(self, t: Values, side: str, value: Callable[[int, float], Any]) -> Any:
        """Return `value` at t, or an array with one entry per t if t is an array."""
        if np.ndim(t) == 0:
            return value(*self._locate(t, side))  # type: ignore[arg-type]
        places = np.asarray(t)
        found = [value(*self._locate(v, side)) for v in places.ravel().tolist()]
        # If t is empty, evaluate at the end to learn the shape.
        shape = np.shape(found[0] if found else value(*self._locate(self.traced[1], side)))
        return np.array(found, dtype=float).reshape(*places.shape, *shape)

    def alpha(self, t: Values, side: str = "after") -> Array:
        """Return alpha at `t`, shape (n,), or one row per entry of an array of t."""
        found: Array = self._each(t, side, self._alpha_on)
        return found

    def pieces(self, t: float, side: str = "after") -> Index:
        """Return the piece of each coordinate at `t`: slope j is 2j, corner j is 2j + 1."""
        return self.segments.pieces(self._locate(t, side)[0])

    def border_multipliers(self, t: Values, side: str = "after") -> Array:
        """Return b at `t`, shape (m,), or one row per entry of an array of t."""
        found: Array = self._each(t, side, self._b_on)
        return found

    def intercept(self, t: Values, side: str = "after") -> Any:
        """Return the intercept of `decision_function` at `t`: a float with one border column (0.0
        with none), else an array; or one entry per entry of an array of t."""

        def one(k: int, t: float) -> Any:
            return self.model.intercept(self._alpha_on(k, t), self._b_on(k, t))

        return self._each(t, side, one)

    def solution(self, t: Values, side: str = "after") -> Array:
        """Return the unknown as the model declares it (x, beta, weights; by default alpha) at `t`,
        or one row per entry of an array of t."""

        def one(k: int, t: float) -> Array:
            return self.model.solution(t, self._alpha_on(k, t), self._b_on(k, t))

        found: Array = self._each(t, side, one)
        return found

    def response(self, t: Values, side: str = "after") -> Array:
        """Return ``u = Q alpha + B b`` at `t`, recomputed from alpha, or one row per entry of an
        array of t, which is much faster than one call for each."""
        if np.ndim(t) and np.size(t) > PATH_TOLERANCES.few and self.problem.gram.features() is None:
            places = np.asarray(t)
            found = [self._locate(v, side) for v in places.ravel().tolist()]
            segment, values = zip(*found, strict=True)
            u = responses(self, np.array(segment), np.array(values))
            return u.reshape(*places.shape, u.shape[1])
        return self._response(self.alpha(t, side), self.border_multipliers(t, side))

    def _responses_on(self, numbers: range) -> tuple[Array, Array]:
        """Return the response at the beginning and at the end of these segments."""
        s, part = self.segments, np.array(numbers)
        if self.problem.gram.features() is None:
            t = np.stack([s.start[part], s.stop[part]], axis=1)
            u = responses(self, np.repeat(part, 2), t.ravel())
            return u[::2], u[1::2]
        alphas = [[self._alpha_on(k, float(t[k])) for k in numbers] for t in (s.start, s.stop)]
        first, last = (np.array(rows) for rows in alphas)
        return self._response(first, s.b_start[part]), self._response(last, s.b_stop[part])

    def _response(self, alpha: Array, b: Array) -> Array:
        gram, border = self.problem.gram, self.problem.border
        if alpha.ndim == 1:
            return np.asarray(gram.matvec(alpha) + border @ b)
        rows = alpha.reshape(-1, gram.size)
        u = (
            gram.matmat(np.ascontiguousarray(rows.T)).T
            + b.reshape(rows.shape[0], border.shape[1]) @ border.T
        )
        return np.asarray(u).reshape(alpha.shape)

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
            return self._objective_on(k, t)

        return self._each(t, side, one)

    def _objective_on(self, k: int, t: float) -> float:
        alpha, b = self._alpha_on(k, t), self._b_on(k, t)
        return self.problem.objective(t, alpha, b, self._response(alpha, b))

    def partition(self, t: float, side: str = "after") -> dict[str, Index]:
        """Map each piece name to the indices of the coordinates on it."""
        k, t = self._locate(t, side)
        piece = self.segments.pieces(k)
        names = self.problem.polylines.names
        return {name: np.flatnonzero(piece == p) for p, name in enumerate(names) if name}

    def decision_function(self, X: Any, t: Values, side: str = "after") -> Array:
        """Return the fitted function at new data (the model must be a `Predictor`), or one row per
        entry of an array of t."""
        model = self._predictor()
        if np.ndim(t):
            alpha, b = self.alpha(t, side), self.border_multipliers(t, side)
            rows = alpha.reshape(-1, alpha.shape[-1])
            values = model.evaluator(X)(rows.T, b.reshape(rows.shape[0], b.shape[-1]).T).T
            return np.asarray(values).reshape(*np.shape(t), *values.shape[1:])
        k, place = self._locate(t, side)  # type: ignore[arg-type]
        alpha = self._alpha_on(k, place)
        return model.decision_function(X, alpha, model.intercept(alpha, self._b_on(k, place)))

    def _predictor(self) -> Predictor:
        if not isinstance(self.model, Predictor):
            raise ModelError(
                f"{type(self.model).__name__} has no decision function; derive it from "
                "homotopy.Predictor and write decision_function to evaluate a path on new data"
            )
        return self.model

    def __iter__(self) -> Iterator[Segment]:
        """Iterate over the segments in the order of travel."""
        return segments_of_path(self)

    def segment(self, t: float, side: str = "after") -> Segment:
        """Return the segment around `t`, with its active set and what changes at its end."""
        return segment_of(self, self._locate(t, side)[0])

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
