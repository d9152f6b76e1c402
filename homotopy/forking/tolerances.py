"""Every threshold of a fork, with its reason."""

from __future__ import annotations

import attrs

__all__ = ["FORK_TOLERANCES", "ForkTolerances"]


@attrs.frozen(kw_only=True)
class ForkTolerances:
    """Sizes of memory and of blocks, and when two nodes are the same."""

    # Space for added rows when the first one is added; doubled each time it is full.
    first_room: int = 2
    # Fewest and most rows left out in one block.
    fewest: int = 16
    most: int = 4096
    # Most numbers in a block that stores every alpha, and in one that does not.
    numbers: int = 1_000_000
    numbers_without: int = 100_000_000
    # Two nodes with the same alpha are one node if their responses differ by less than this
    # fraction of the largest response.
    same: float = 1e-12
    # Most numbers in the columns of a tableau, but room for at least `least_columns` columns; and
    # how many are computed at once.
    columns: int = 1 << 24
    least_columns: int = 1024
    together: int = 256
    # Columns that will be needed next, computed together with a missing one.
    soon: int = 16
    # A walk through the tableau is in doubt at a pivot below this fraction of its scale, if more
    # than `most_changed` coordinates have changed sides, and after `most_steps` steps.
    small: float = 1e-9
    most_changed: int = 256
    most_steps: int = 2000
    # At the end of a walk a bound may be exceeded by `slack` times its tolerance, and the sum of
    # all equations may be off by `summed` times the tolerance of a usual response.
    slack: float = 10.0
    summed: float = 100.0
    # A sum that is missed by more than this fraction of its terms cannot be reached.
    unbalanced: float = 1e-9
    # A move so short that the tracker takes its imbalance for rounding (`Tolerances.allowed_drift`)
    # goes beyond its end by this many times what the tracker notices, and comes back.
    beyond: float = 4.0
    # A point whose error is at most this fraction of what the tracker allows needs no certificate.
    sure: float = 1e-3
    # This many single moves from an optimum are made before its tableau is set up.
    patience: int = 2
    # Room for the nodes of a recorded move at first; enlarged if there are more.
    first_nodes: int = 64


FORK_TOLERANCES = ForkTolerances()
