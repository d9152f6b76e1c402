"""Which part of a path the error bound of the tracker does not cover."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import attrs
import numpy as np

__all__ = ["Doubts", "Stretch"]


class Stretch(NamedTuple):
    """Segments ``first .. last`` of a record, and the error found at the check that ended them.
    Segment `last` may not have begun at that check."""

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

    def state(self) -> dict[str, Any]:
        """Return all fields by name, for a checkpoint."""
        first, last, error = zip(*self.stretches, strict=True) if self.stretches else ((), (), ())
        return {
            "whole": self.whole,
            "judged": self.judged,
            "first": np.array(first, dtype=np.int64),
            "last": np.array(last, dtype=np.int64),
            "error": np.array(error, dtype=float),
        }

    def load_state(self, saved: Mapping[str, Any]) -> None:
        """Continue from `state`."""
        columns = [saved[name] for name in ("first", "last", "error")]
        if any(column.shape != columns[0].shape or column.ndim != 1 for column in columns):
            shapes = [column.shape for column in columns]
            raise ValueError(f"the arrays of doubts differ in shape: {shapes}")
        self.begin(float(np.asarray(saved["whole"]).item()))
        self.judged = int(np.asarray(saved["judged"]).item())
        numbers = (column.tolist() for column in columns)
        self.stretches += [Stretch(*one) for one in zip(*numbers, strict=True)]
