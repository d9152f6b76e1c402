"""Every threshold of a fork, with its reason."""

from __future__ import annotations

import attrs

__all__ = ["FORK_TOLERANCES", "ForkTolerances"]


@attrs.frozen(kw_only=True)
class ForkTolerances:
    """How much room there is, how much is done at a time, and which nodes are one."""

    # Rows that there is room for when the first one is added; twice as many each time it is full.
    first_room: int = 2
    # Rows that are left out in one block, at least and at most.
    fewest: int = 16
    most: int = 4096
    # Numbers in a block that keeps every alpha, and in one that does not.
    numbers: int = 1_000_000
    numbers_without: int = 100_000_000
    # Two nodes with the same alpha are one if their responses differ by this fraction of the
    # largest.
    same: float = 1e-12


FORK_TOLERANCES = ForkTolerances()
