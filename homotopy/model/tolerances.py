"""Every threshold of the model, with its reason."""

from __future__ import annotations

import attrs

__all__ = ["TOLERANCES", "ModelTolerances"]


@attrs.frozen(kw_only=True)
class ModelTolerances:
    """What counts as zero in a declaration.

    Parameters
    ----------
    largest : float
        Numbers up to here have a square, and a sum of many squares.
    seam : float
        A corner whose height is this fraction of the slopes beside it has none.
    crossed : float
        Corners out of order by this fraction of their size, and no more, are rounding.
    level : float
        Losses that differ by less than this fraction of their terms are equal.
    end : float
        A t within this fraction of the span of one of its ends is there.
    origin : float
        An origin of a loss within this fraction of a corner is that corner.
    """

    largest: float = 1e140
    seam: float = 1e-14
    crossed: float = 1e-12
    level: float = 1e-13
    end: float = 1e-12
    origin: float = 1e-15


TOLERANCES = ModelTolerances()
