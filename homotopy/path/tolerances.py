"""Every threshold of a path, with its reason; those of its certificate are with it."""

from __future__ import annotations

import attrs

__all__ = ["TOLERANCES", "PathTolerances"]


@attrs.frozen(kw_only=True)
class PathTolerances:
    """What is taken for rounding where a path is read.

    Parameters
    ----------
    beyond : float
        A t beyond an end by this fraction of the larger end is that end.
    product : float
        What two machines may make of the same product, as a part of the terms it is summed from.
    """

    beyond: float = 1e-12
    product: float = 1e-10


TOLERANCES = PathTolerances()
