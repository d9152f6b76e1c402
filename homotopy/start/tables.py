"""The polylines of a convex problem, read as u over alpha.

For growing alpha each is a falling line ``u = place - rate * alpha``, broken at points.  A knot is
a piece of rate 0, a slanted piece has rate 1 / curvature, and a flat slope is a point at which u
falls by a step.
"""

from __future__ import annotations

import attrs
import numpy as np
from numba import njit

from homotopy.arrays import Array, Index
from homotopy.compilation import OUTER, protect
from homotopy.errors import ModelError
from homotopy.model.polyline import Snapshot
from homotopy.start.tolerances import StartTolerances

__all__ = ["Tables"]


USUAL = StartTolerances()


@attrs.frozen(eq=False)
class Tables:
    """Every polyline read as u over alpha.

    Between ``point[i, p - 1]`` and ``point[i, p]`` (increasing; rows are padded with +inf) the
    response is ``place[i, p] - rate[i, p] * alpha``.  An infinite place closes that side.  A
    position has the code ``2 p`` inside piece p and ``2 p + 1`` on point p.
    """

    point: Array
    place: Array
    rate: Array
    tolerances: StartTolerances
    # The scale, once it is known.
    _scale: list[float] = attrs.field(factory=list, init=False, repr=False)

    @classmethod
    def of(cls, snap: Snapshot, tolerances: StartTolerances | None = None) -> Tables:
        """Make tables from the polylines at one t; ModelError if one of them rises."""
        tolerances = tolerances or USUAL
        n, k = snap.corner.shape
        largest = float(np.abs(snap.slope[np.isfinite(snap.slope)]).max(initial=0.0))
        # (A height is a sum of terms that may be much larger, and has their rounding.)
        terms = np.zeros(n) if snap.terms is None else snap.terms[:, 0]
        near = tolerances.same * np.maximum(terms, largest)
        point, place = np.empty((n, 2 * k + 2)), np.empty((n, 2 * k + 3))
        rate = np.zeros((n, 2 * k + 3))
        slope, corner = np.ascontiguousarray(snap.slope), np.ascontiguousarray(snap.corner)
        curvature = np.ascontiguousarray(snap.curvature)
        widest = _tabulate(slope, corner, curvature, near, point, place, rate)
        if widest < 0:
            raise ModelError(
                f"solve_convex: the polyline of coordinate {-1 - widest} rises; only falling "
                "polylines (knots, no jumps) make a convex problem"
            )
        return cls(
            np.ascontiguousarray(point[:, :widest]),
            np.ascontiguousarray(place[:, : widest + 1]),
            np.ascontiguousarray(rate[:, : widest + 1]),
            tolerances,
        )

    @property
    def arrays(self) -> tuple[Array, Array, Array]:
        """Points, places and rates, in the order that compiled code takes them."""
        return self.point, self.place, self.rate

    def scale(self) -> float:
        """Return the median distance of corners from 0 (the largest if that is 0, 1 if all are)."""
        if not self._scale:
            size = np.sort(np.abs(self.place[np.isfinite(self.place)]))
            half = (size.size - 1) // 2
            middle = 0.5 * float(size[half] + size[size.size // 2]) if size.size else 1.0
            self._scale.append(middle or float(size[-1]) or 1.0)
        return self._scale[0]

    def steepness(self, diag: Array) -> float:
        """Return a first sigma, such that most coordinates lean at alpha = u = 0."""
        if self.point.shape[1] > 1:
            last = np.where(np.isfinite(self.point), self.point, -np.inf).max(axis=1)
            span = (last - self.point[:, 0])[np.isfinite(last)]
            if np.any(span > 0.0):
                return self.tolerances.lean * float(np.median(span[span > 0.0])) / self.scale()
        return 1.0 / float(np.median(diag[diag > 0.0])) if np.any(diag > 0.0) else 1.0

    def locate(self, alpha: Array) -> Index:
        """Return the code of each position."""
        below = (self.point < alpha[:, None]).sum(axis=1)
        on = np.any(self.point == alpha[:, None], axis=1)
        return np.asarray(2 * below + on, dtype=np.int64)

    def clip(self, alpha: Array) -> Array:
        """Move alpha into the range of its polyline, or onto a point that it misses by rounding."""
        n, width = self.point.shape
        if width == 0:
            return alpha.copy()
        every, count = np.arange(n), np.isfinite(self.point).sum(axis=1)
        last = self.point[every, np.maximum(count - 1, 0)]
        low = np.where(self.place[:, 0] == np.inf, self.point[:, 0], -np.inf)
        high = np.where((count > 0) & (self.place[every, count] == -np.inf), last, np.inf)
        inside, rounding = np.clip(alpha, low, high), 4.0 * self.tolerances.same
        for at in self.point.T:
            near = np.isfinite(at) & (np.abs(inside - at) <= rounding * np.abs(at))
            inside[near] = at[near]
        return inside

    def around(self, alpha: Array) -> tuple[Index, Index, Array, Array]:
        """Return the pieces below and above each position (the same inside a piece), and the
        smallest and largest response allowed there."""
        code, every = self.locate(alpha), np.arange(alpha.size)
        below, above = code // 2, code // 2 + code % 2
        low = self.place[every, above] - self.rate[every, above] * alpha
        high = self.place[every, below] - self.rate[every, below] * alpha
        return below, above, low, high

    def violation(self, alpha: Array, u: Array) -> float:
        """Return the largest distance of a response from what its polyline allows at alpha."""
        _, _, low, high = self.around(alpha)
        return float(np.maximum(low - u, u - high).max(initial=0.0))

    def meet(self, z: Array, anchor: Array, sigma: float, alpha: Array, stiffness: Array) -> None:
        """Write alpha as a function of z with leaning knots, and ``-d alpha / d z``."""
        lean = 1.0 / sigma
        _meet(z - lean * anchor, lean, *self.arrays, alpha, stiffness)

    def extend(self, z: Array, anchor: Array, sigma: float, alpha: Array, stiffness: Array) -> None:
        """Do as `meet`, but keep every coordinate on the piece of its anchor, even beyond its ends;
        on a point, choose the piece towards which z pushes it."""
        below, above, low, high = self.around(anchor)
        piece = np.where(z < low, above, below)
        stiffness[:] = 1.0 / (1.0 / sigma + self.rate[np.arange(z.size), piece])
        stiffness[(below < above) & (low <= z) & (z <= high)] = 0.0
        alpha[:] = anchor + stiffness * (np.clip(z, low, high) - z)


@njit(**OUTER)
def _tabulate(slope, corner, curvature, near, point, place, rate):  # type: ignore[no-untyped-def]
    """Fill the tables from the right end of each polyline; return the largest number of points, or
    -1 - i if polyline i rises.  Corners of height zero are dropped."""
    n, corners = corner.shape
    widest = 0
    for i in range(n):
        first, last = 0, corners
        while first < corners and corner[i, first] == -np.inf:
            first += 1
        while last > first and corner[i, last - 1] == np.inf:
            last -= 1
        count = 0
        place[i, 0] = np.inf
        # Both ends of each slope; those of a flat slope are the same point.
        for end in range(2 * last + 1, 2 * first - 1, -1):
            j, right = end // 2, end % 2
            bend, height = curvature[i, j], slope[i, j]
            if bend > 0.0:
                if right == 0:
                    place[i, count] = height / bend
                    rate[i, count] = 1.0 / bend
                at = corner[i, j - 1 + right] if first - right < j < last + 1 - right else np.inf
                height -= bend * at
            if abs(height) < np.inf:
                if count == 0 or height > point[i, count - 1] + near[i]:
                    point[i, count] = height
                    count += 1
                elif height < point[i, count - 1] - near[i]:
                    return -1 - i
                place[i, count] = -np.inf
                rate[i, count] = 0.0
            if right == 0 and j > first:
                place[i, count] = corner[i, j - 1]
                rate[i, count] = 0.0
        for p in range(count, point.shape[1]):
            point[i, p] = np.inf
            place[i, p + 1] = -np.inf
        if count > widest:
            widest = count
    return widest


@njit(**OUTER)
def _meet(rest, lean, point, place, rate, alpha, stiffness):  # type: ignore[no-untyped-def]
    """Find where the rising lines ``u = rest + lean * alpha`` meet the polylines; write alpha and
    ``-d alpha / d rest``."""
    points = point.shape[1]
    for i in range(rest.size):
        p = 0
        bend = lean + rate[i, 0]
        x = (place[i, 0] - rest[i]) / bend
        while p < points and x >= point[i, p]:
            x = point[i, p]
            p += 1
            y = (place[i, p] - rest[i]) / (lean + rate[i, p])
            # Stay on the point if the next piece is met before it begins.
            bend = np.inf
            if y <= x:
                break
            x = y
            bend = lean + rate[i, p]
        alpha[i] = x
        stiffness[i] = 1.0 / bend


protect(globals())
