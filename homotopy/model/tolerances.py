"""Every threshold of the model, with its reason."""

from __future__ import annotations

import attrs

__all__ = ["MODEL_TOLERANCES", "ModelTolerances"]


@attrs.frozen(kw_only=True)
class ModelTolerances:
    """What counts as zero in a declaration."""

    # Numbers up to here have a square, and a sum of many squares.
    largest: float = 1e140
    # A corner whose height is this fraction of the slopes beside it has none.
    seam: float = 1e-14
    # Corners out of order by this fraction of their size, and no more, are rounding.
    crossed: float = 1e-12
    # Losses that differ by less than this fraction of their terms are equal.
    level: float = 1e-13
    # A t within this fraction of the span of one of its ends is there.
    end: float = 1e-12
    # An origin of a loss within this fraction of a corner is that corner.
    origin: float = 1e-15


MODEL_TOLERANCES = ModelTolerances()
