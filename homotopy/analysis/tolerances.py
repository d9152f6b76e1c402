"""Every threshold of the analyses, with its reason."""

from __future__ import annotations

import attrs


@attrs.frozen(kw_only=True)
class AnalysisTolerances:
    """What counts as rounding in the analysis of a path, and how much memory it may use."""

    # Values that differ from the minimum by less than this fraction of it (of the largest value if
    # the minimum is 0) tie with it: sums are rounded.
    tied: float = 1e-12
    # Crossings closer than this fraction of a segment happen at the same t.
    together: float = 1e-13
    # A decision function is not affine if a midpoint deviates by more than this fraction of the
    # largest value.
    bent: float = 1e-4
    # Most numbers in memory at a time for the values at the ends of segments.
    block: int = 1_000_000


ANALYSIS_TOLERANCES = AnalysisTolerances()
