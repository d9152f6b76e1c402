"""The beginning of a path."""

from __future__ import annotations

import attrs

from homotopy.path.path import Path, Status

__all__ = ["beginning"]


def beginning(path: Path, count: int) -> Path:
    """Return the first `count` segments of a path and the jumps that lead to them, as a path that
    failed there."""
    segments = path.segments.first(count)
    end, sign = float(segments.stop[-1]), 1.0 if path.span[1] >= path.span[0] else -1.0
    # A jump at the very end leads to a segment of length zero.
    reached = segments.start[-1] == end and count > 1
    jumps = tuple(j for j in path.jumps if sign * j.t < sign * end or (reached and j.t == end))
    return attrs.evolve(path, segments=segments, jumps=jumps, status=Status.FAILED, limit=None)
