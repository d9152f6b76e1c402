"""Every threshold of a path, with its reason, except those of its certificate."""

from __future__ import annotations

import attrs

__all__ = ["PATH_TOLERANCES", "PathTolerances"]


@attrs.frozen(kw_only=True)
class PathTolerances:
    """What counts as rounding where a path is read."""

    # A t beyond an end by this fraction of the larger end is that end.
    beyond: float = 1e-12
    # How much the same product may differ between machines, as a fraction of its terms.
    product: float = 1e-10


PATH_TOLERANCES = PathTolerances()
