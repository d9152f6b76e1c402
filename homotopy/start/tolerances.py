"""Every threshold of the start, with its reason."""

from __future__ import annotations

import attrs

__all__ = ["StartTolerances"]


@attrs.frozen(kw_only=True)
class StartTolerances:
    """How near is near enough, and when to try another method."""

    # How far a response of the guess may be off where Q is given by columns: pairs take longer for
    # every digit.
    enough: float = 1e-4
    # The same on features: Newton steps do not take longer.
    enough_on_features: float = 1e-6
    # An alpha within this fraction of its size is at the height of a slope.
    level: float = 1e-10
    # An alpha farther than this part of a knot from both of its ends is inside the knot.
    within: float = 1e-6
    # Slopes that differ by no more than this fraction of the largest are one.
    same: float = 1e-14
    # Imbalance up to this part of its terms is rounding.
    balanced: float = 1e-11
    # Imbalance up to this part is good enough before the last anchor.
    loose: float = 1e-3
    # A violation beyond the tolerance by this fraction of it is rounding.
    slack: float = 1e-9
    # Curvature along a pair below this fraction of its two diagonals is rounding.
    flat: float = 1e-12
    # Sweeps before the pace of pairs is informative.
    untried: int = 8
    # Pairs go on while their pace promises an end within this many times the cost of Newton steps.
    hope: float = 2.0
    # Columns of Q are computed a batch at a time, of about this many numbers.
    batch: int = 40_000
    # Columns of a batch, at the least and at the most.
    fewest: int = 4
    most: int = 64
    # The first sigma, in parts of the range of alpha over the scale of u.
    lean: float = 0.2
    # The first sigma after a good guess, in parts of that, at the most.
    trust: float = 1000.0
    # Factor of sigma from one anchor to the next.
    growth: float = 4.0
    # Anchors, and Newton steps at each, at the most.
    anchors: int = 40
    newtons: int = 100
    # Full steps without any progress after which only rounding is left.
    idle: int = 8
    # Trials of a line search.
    trials: int = 40
    # The longest step of a line search, in Newton steps.
    far: float = 64.0
    # Responses this many times the scale of the corners: no alpha can be in balance.
    lost: float = 1e12
    # Systems up to this size are factored, larger ones left to conjugate gradients.
    direct: int = 2500
    # Relative residual at which conjugate gradients stop.
    solved: float = 1e-4
    # Singular values below this fraction of the largest are 0, where a factorisation failed.
    singular: float = 1e-14
    # With features and more coordinates than this, no column of Q is computed.
    wide: int = 4000
    # Sparse features with more than this fraction of entries are treated as dense.
    dense: float = 0.1
