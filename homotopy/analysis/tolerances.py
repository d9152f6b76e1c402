"""Every threshold of the analyses, with its reason."""

from __future__ import annotations

import attrs

__all__ = ["ANALYSIS_TOLERANCES", "AnalysisTolerances"]


@attrs.frozen(kw_only=True)
class AnalysisTolerances:
    """What counts as rounding where a path is analysed, and how much is held at a time."""

    # Values that differ by less than this fraction of the least (of the largest where that is 0)
    # are ties: sums are rounded.
    tied: float = 1e-12
    # Crossings closer than this fraction of a segment are at one t.
    together: float = 1e-13
    # A value off the straight line by more than this fraction of the largest is not on it.
    bent: float = 1e-4
    # Numbers held at a time for the values at the ends of segments.
    block: int = 1_000_000


ANALYSIS_TOLERANCES = AnalysisTolerances()
