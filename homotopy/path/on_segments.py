"""Values of a path on its segments, each known by its number."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
import numpy.typing as npt

from homotopy.arrays import Array
from homotopy.errors import PathError
from homotopy.path.segments import locate
from homotopy.path.tolerances import PATH_TOLERANCES

if TYPE_CHECKING:
    from homotopy.path.path import Path

__all__ = ["FlatSlopes", "OnSegments"]


@attrs.frozen(eq=False)
class OnSegments:
    """alpha, b and the objective of a path on segment k at t, and the segment that contains t.

    `Path` looks up the segment and returns these values; other modules, which often know the
    segment, use them as they are.
    """

    path: Path

    def locate(self, t: float, side: str) -> tuple[int, float]:
        """Return the segment that contains t, and t (moved to the end of the path if it is beyond
        it by rounding); refuse a t that was not traced."""
        path, name = self.path, self.path.model.parameter
        try:
            value = float(t)
        except (TypeError, ValueError):
            raise PathError(f"{name} must be a number, got {t!r}") from None
        start, stop = path.traced
        low, high = min(start, stop), max(start, stop)
        slack = PATH_TOLERANCES.beyond * max(abs(low), abs(high))
        if not low - slack <= value <= high + slack:
            why = "" if path.complete else f" ({path.ending})"
            raise PathError(
                f"{name}={value:g} lies outside the traced interval [{low:g}, {high:g}]{why}"
            )
        value = min(max(value, low), high)
        s = path.segments
        return int(locate(s.start, s.stop, s.sign, value, side)), value

    def each(self, t: float | npt.ArrayLike, side: str, value: Callable[[int, float], Any]) -> Any:
        """Return `value` at t, or an array with one entry per t if t is an array."""
        if np.ndim(t) == 0:
            return value(*self.locate(t, side))  # type: ignore[arg-type]
        places = np.asarray(t)
        found = [value(*self.locate(v, side)) for v in places.ravel().tolist()]
        # If t is empty, evaluate at the end to learn the shape.
        shape = np.shape(found[0] if found else value(*self.locate(self.path.traced[1], side)))
        return np.array(found, dtype=float).reshape(*places.shape, *shape)

    def alpha(self, k: int, t: float) -> Array:
        """Return alpha."""
        s, lines = self.path.segments, self.path.problem.polylines
        level, rate = lines.flat(np.arange(s.first_piece.size), s.pieces(k))
        alpha: Array = level + rate * t
        alpha[s.actives(k)] = self.active_alpha(k, t)
        return alpha

    def active_alpha(self, k: int, t: float) -> Array:
        """Return alpha of the active coordinates."""
        s, weight = self.path.segments, self._weight(k, t)
        part = slice(s.offset[k], s.offset[k + 1])
        return np.asarray((1.0 - weight) * s.alpha_start[part] + weight * s.alpha_stop[part])

    def b(self, k: int, t: float) -> Array:
        """Return the border multipliers."""
        s, weight = self.path.segments, self._weight(k, t)
        value: Array = (1.0 - weight) * s.b_start[k] + weight * s.b_stop[k]
        return value

    def objective(self, k: int, t: float) -> float:
        """Return the full objective."""
        problem, alpha, b = self.path.problem, self.alpha(k, t), self.b(k, t)
        return problem.objective(t, alpha, b, problem.response(alpha, b))

    def sweep(self) -> Iterator[tuple[Array, Array]]:
        """Yield alpha at both ends of each segment, in the order of travel."""
        s, flat = self.path.segments, FlatSlopes(self.path)
        for k in range(len(s)):
            flat.go_to(k)
            level, rate = flat.now
            part = slice(s.offset[k], s.offset[k + 1])
            first, last = level + rate * s.start[k], level + rate * s.stop[k]
            first[s.active[part]], last[s.active[part]] = s.alpha_start[part], s.alpha_stop[part]
            yield first, last

    def _weight(self, k: int, t: float) -> float:
        length = self.path.segments.stop[k] - self.path.segments.start[k]
        return float((t - self.path.segments.start[k]) / length) if length else 0.0


class FlatSlopes:
    """alpha of every coordinate on a flat slope, from segment to segment: `now` holds its level and
    its rate, 0 on other pieces."""

    def __init__(self, path: Path) -> None:
        self.path, self.segment, self.piece = path, -1, path.segments.first_piece.copy()
        self.now = np.stack(path.problem.polylines.flat(np.arange(self.piece.size), self.piece))

    def go_to(self, k: int) -> None:
        """Go to segment k, which must not precede the last one."""
        s = self.path.segments
        new = slice(s.event[self.segment + 1], s.event[k + 1])
        changed = s.changed[new]
        # Later events overwrite earlier ones: NumPy assigns in order.
        self.piece[changed] = s.changed_to[new]
        self.now[:, changed] = self.path.problem.polylines.flat(changed, self.piece[changed])
        self.segment = k
