"""The polylines of a model at many t at once, evaluated by the model itself."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from homotopy.arrays import Array, Bools
from homotopy.model import LossModel
from homotopy.model.polyline import Jump, Slope
from homotopy.path.certificate.tolerances import CertificateTolerances


def finite(values: Array) -> Array:
    """Return `values` with infinities replaced by 0."""
    return np.where(np.isfinite(values), values, 0.0)


def size(values: Array) -> Array:
    """Return ``|values|`` with infinities replaced by 0."""
    return np.abs(finite(values))


def fixed(values: Any) -> Any:
    """Return an array that compiled code can read: one type for all integers, one for all reals,
    contiguous, read-only."""
    given = np.asarray(values)
    kind = {"b": np.bool_, "i": np.int64}.get(given.dtype.kind, np.float64)
    array: Any = np.ascontiguousarray(given, kind).view()
    array.flags.writeable = False
    return array


@attrs.frozen
class Declaration:
    """What a model declares, and the size of the terms of its corners and slopes.

    Slopes are ``value - bend * u`` with the bends `bends`; `jump` says which corners are jumps.
    ``terms[0] + terms[1] * travel`` is ``|const| + |rate * t|`` of each slope or corner, 0 where
    infinite, at a t computed from numbers of size `travel`; one column per coordinate.
    """

    model: LossModel
    bends: Array
    jump: Bools
    slope_terms: Array
    corner_terms: Array

    @classmethod
    def of(
        cls, model: LossModel, n: int, ends: tuple[float, float], tolerances: CertificateTolerances
    ) -> Declaration:
        """Derive it from the polylines at both ends of the path: all is affine in t between."""
        start, stop = ends
        pieces = tuple(model.polyline(start))
        first, last = np.empty((len(pieces), n)), np.empty((len(pieces), n))
        for p, (piece, other) in enumerate(zip(pieces, model.polyline(stop), strict=True)):
            first[p], last[p] = _value(piece), _value(other)
        first, last = finite(first), finite(last)
        speed = (last - first) / (stop - start) if stop != start else np.zeros(first.shape)
        terms = np.stack([np.abs(first - speed * start), tolerances.travel * np.abs(speed)])
        bends = np.zeros((len(pieces) // 2 + 1, n))
        for j, piece in enumerate(pieces[::2]):
            bends[j] = piece.curvature  # type: ignore[union-attr]
        return cls(
            model=model,
            bends=fixed(bends),
            jump=fixed([isinstance(piece, Jump) for piece in pieces[1::2]]),
            slope_terms=fixed(terms[:, ::2]),
            corner_terms=fixed(terms[:, 1::2]),
        )

    @property
    def size(self) -> int:
        """The number of coordinates."""
        return int(self.bends.shape[1])

    def slopes_and_corners(self, ts: Array) -> tuple[Array, Array]:
        """Return slopes and corners at each of `ts`."""
        parts = 2 * self.jump.size + 1
        slopes = np.empty((ts.size, self.jump.size + 1, self.size))
        corners = np.empty((ts.size, self.jump.size, self.size))
        known, pieces = np.nan, tuple[Any, ...]()
        for row, t in enumerate(ts.tolist()):
            if t != known:
                known, pieces = t, tuple(self.model.polyline(t))
            for p in range(parts):
                into = corners if p % 2 else slopes
                into[row, p // 2] = _value(pieces[p])
        return slopes, corners

    def origins(self, ts: Array) -> Array | None:
        """Return where the model says that each loss is zero, or None for its minimum."""
        declared = [self.model.loss_origin(t) for t in ts.tolist()]
        if declared[0] is None:
            return None
        origin = np.empty((ts.size, self.size))
        for row, value in zip(origin, declared, strict=True):
            row[:] = value
        return origin


def _value(piece: Any) -> Any:
    return piece.value if isinstance(piece, Slope) else piece.position
