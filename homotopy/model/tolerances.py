"""Every threshold of the model, with its reason."""

from __future__ import annotations

import attrs


@attrs.frozen(kw_only=True)
class ModelTolerances:
    """What counts as zero in a declaration."""

    # Largest number accepted: its square, and a sum of many such squares, do not overflow.
    largest: float = 1e140
    # A corner lower than this fraction of the slopes beside it is a seam: it has no height.
    seam: float = 1e-14
    # Corners out of order by no more than this fraction of their size are a rounding error.
    crossed: float = 1e-12
    # Losses that differ by less than this fraction of their terms are equal.
    level: float = 1e-13
    # A t closer to an end of the span than this fraction of the span is at that end.
    end: float = 1e-12
    # A loss origin within this fraction of a corner is that corner.
    origin: float = 1e-15


MODEL_TOLERANCES = ModelTolerances()
