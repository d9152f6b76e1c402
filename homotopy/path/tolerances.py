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
    # Values of t that differ by this fraction are one.
    same_t: float = 1e-12
    # A function curves along a segment if it does by more than this fraction of its largest value.
    curved: float = 1e-13
    # It is not quadratic if it misses its parabola by more than this fraction.
    missed: float = 1e-8
    # It jumps between two segments if it does by more than this fraction.
    jumped: float = 1e-9
    # It touches zero, rather than passing it, if its rate there is below this fraction.
    touching: float = 1e-7
    # Responses are computed for each t if there are no more than this many.
    few: int = 3
    # Places at which they are computed together, and blocks after which the sums are made anew.
    block: int = 64
    anew: int = 16


PATH_TOLERANCES = PathTolerances()
