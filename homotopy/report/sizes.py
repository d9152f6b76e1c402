"""Every threshold of the page of a path, with its reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from homotopy.path import Path


@attrs.frozen(kw_only=True)
class PageSizes:
    """How much of a path is on its page, and what is too small to see."""

    # Most stretches.
    stretches: int = 3000
    # Most numbers to compute for them on a large problem.
    numbers: int = 400_000_000
    # Fewest stretches, however large the problem.
    least: int = 200
    # Most jumps kept one by one; the largest are chosen.
    jumps: int = 1000
    # A stretch shorter than this fraction of the path is a pixel or less.
    brief: float = 1.0 / 4000.0
    # Most numbers in memory at a time.
    block: int = 4_000_000
    # About the part of the time that reading the path takes; checking it takes the rest (measured).
    watched: float = 0.35
    # Default number of rows in the table.
    top: int = 200
    # Accepted error of a curve in the table, as a fraction of its range: too small to see.
    thin: float = 2e-3
    # Most points of all curves in the table.  If there are more, the accepted error is doubled
    # until it exceeds this fraction.
    points: int = 120_000
    most_error: float = 0.1
    # A change below this fraction of a curve's size is rounding.
    rounding: float = 1e-12
    # Most coordinates named at one jump, and at all jumps together.
    flipped: int = 40
    flipped_in_all: int = 20_000
    # Up to this many pieces, a validation curve is kept as it is.
    validation: int = 4000
    # Otherwise, its extremes are kept in this many strips of the width of a screen.
    strips: int = 2000
    # The axis may be logarithmic if t changes by this factor.
    wide: float = 30.0
    # Number of t at which to check that the objective exists; it does not where a loss is unbounded
    # below.
    places: int = 9
    # With more changes of piece than this, the page stores only those of the rows in its table.
    events: int = 100_000

    def room(self, path: Path) -> int:
        """Return how many stretches the page of a path may have."""
        n = int(path.segments.first_piece.size)
        return max(self.least, min(self.stretches, self.numbers // (n * 64)))


PAGE_SIZES = PageSizes()
