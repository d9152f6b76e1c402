"""Every threshold of the quadratic forms, with its reason."""

from __future__ import annotations

import attrs


@attrs.frozen(kw_only=True)
class GramTolerances:
    """What counts as symmetric, and how many columns are computed and stored."""

    # A matrix is symmetric if its asymmetry is at most this fraction of its largest entry.
    symmetric: float = 1e-8
    # Default size of the column cache of a kernel, in megabytes.
    memory: float = 2000.0
    # Columns computed in one call; a multiple of four, as rows are summed in fours.
    batch: int = 256
    # Products with no more vectors than this are summed from the rows where they are stored:
    # copying these would take longer.
    in_place: int = 4


GRAM_TOLERANCES = GramTolerances()
