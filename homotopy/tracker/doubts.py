"""Which part of a path the error bound of the tracker does not cover."""

from __future__ import annotations

from typing import NamedTuple

import attrs
import numpy as np
import numpy.typing as npt

__all__ = ["Doubts", "Stretch"]

Array = npt.NDArray[np.float64]


class Stretch(NamedTuple):
    """Segments ``first .. last`` of a record, and the error found at the check that ended them.
    The last one may not have begun by then."""

    first: int
    last: int
    error: float


@attrs.define
class Doubts:
    """The errors found on the way, relative to what the certificate allows.

    A check bounds the error of the points recorded since the previous check.  If it finds more than
    `limit`, these points are in doubt, and no others.

    Attributes
    ----------
    whole : float
        The largest error that cannot be assigned to segments: before the record began, or at a
        point that could not be corrected.  Above `limit`, the whole path is in doubt.
    judged : int
        The number of complete segments at the last check.
    stretches : list of Stretch
        What is in doubt.
    """

    limit: float
    whole: float = 0.0
    judged: int = 0
    stretches: list[Stretch] = attrs.field(factory=list)

    def begin(self, error: float) -> None:
        """Forget everything: the path begins at a point with this error."""
        self.whole, self.judged = error, 0
        self.stretches.clear()

    def judge(self, error: float, segments: int | None) -> None:
        """Note the error found when `segments` were complete (None: without a record)."""
        if segments is None:
            self.whole = max(self.whole, error)
            return
        if not error <= self.limit:
            self.stretches.append(Stretch(self.judged, segments, error))
        self.judged = segments

    def numbers(self) -> Array:
        """Return all of it, for a checkpoint."""
        return np.array([(self.whole, self.judged, 0.0), *self.stretches], dtype=float)

    def restore(self, numbers: Array) -> None:
        """Continue from `numbers`."""
        if numbers.ndim != 2 or numbers.shape[1] != 3 or not len(numbers):
            raise ValueError(f"the doubts have shape {numbers.shape}")
        (whole, judged, _), *stretches = numbers.tolist()
        self.begin(whole)
        self.judged = int(judged)
        self.stretches += [Stretch(int(first), int(last), e) for first, last, e in stretches]
