"""Every threshold of a path, with its reason, except those of its certificate."""

from __future__ import annotations

import attrs

__all__ = ["PATH_TOLERANCES", "PathTolerances"]


@attrs.frozen(kw_only=True)
class PathTolerances:
    """What counts as rounding when a path is read."""

    # A path is proven if no residual of its certificate is larger than this, unless a caller of
    # `Path.certify` says otherwise.
    proven: float = 1e-8
    # A t beyond an end by less than this fraction of the larger end is that end.
    beyond: float = 1e-12
    # How much the same product may differ between machines, as a fraction of its terms.
    product: float = 1e-10
    # Values of t that differ by less than this fraction are equal.
    same_t: float = 1e-12
    # A function is curved along a segment if its bend exceeds this fraction of its largest value.
    curved: float = 1e-13
    # A function is not quadratic if it misses its parabola by more than this fraction.
    missed: float = 1e-8
    # A function jumps between two segments if it changes by more than this fraction.
    jumped: float = 1e-9
    # A function touches zero instead of crossing it if its slope there is below this fraction.
    touching: float = 1e-7
    # Up to this many t, responses are computed one by one.
    one_by_one: int = 3
    # Places computed together in a block, and blocks after which running sums are recomputed.
    block: int = 64
    anew: int = 16


PATH_TOLERANCES = PathTolerances()
