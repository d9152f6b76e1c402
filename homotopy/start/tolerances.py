"""Every threshold of the start, with its reason."""

from __future__ import annotations

import attrs

__all__ = ["GuessTolerances", "StartTolerances"]


@attrs.frozen(kw_only=True)
class GuessTolerances:
    """How accurate a guess must be, and what is read off it."""

    # Accepted violation of the guess if it is made by pairs: they take longer for every digit.
    enough: float = 1e-4
    # The same by Newton steps, which do not.
    enough_on_features: float = 1e-6
    # With few coordinates (`StartTolerances.few`), the number of pairs or Newton steps for each,
    # and the least in all.  From there the compiled tracker makes it exact in less time.
    sweeps: int = 8
    least: int = 100
    # An alpha within this fraction of its size is at the height of a slope.
    level: float = 1e-10
    # An alpha farther than this fraction of a knot from both of its ends is inside the knot.
    within: float = 1e-6


@attrs.frozen(kw_only=True)
class StartTolerances:
    """When the convex problem is solved, and when to try another method."""

    # Slopes that differ by no more than this fraction of the largest, or of their terms, are equal.
    same: float = 1e-14
    # Imbalance up to this fraction of its terms is rounding.
    balanced: float = 1e-11
    # Imbalance up to this fraction is accepted before the last anchor.
    loose: float = 1e-3
    # A violation that exceeds the tolerance by this fraction of it is rounding.
    slack: float = 1e-9
    # Curvature along a pair below this fraction of its two diagonals is rounding.
    flat: float = 1e-12
    # Sweeps before the pace of pairs is informative.
    untried: int = 8
    # Fewest moves of a sweep, where pairs are patient.
    least_sweep: int = 1000
    # Continue with pairs if they should end within this many times the cost of Newton steps.
    hope: float = 2.0
    # Columns of Q are computed in batches of about this many numbers.
    batch: int = 40_000
    # Fewest and most columns of a batch.
    fewest: int = 4
    most: int = 64
    # The first sigma, relative to the range of alpha over the scale of u.
    lean: float = 0.2
    # After a good guess the first sigma may be this many times larger.
    trust: float = 1000.0
    # Factor of sigma from one anchor to the next.
    growth: float = 4.0
    # Most anchors, and most Newton steps at each.
    anchors: int = 40
    newtons: int = 100
    # After this many full steps (for pairs: times `untried` sweeps) without progress, only rounding
    # is left.
    idle: int = 8
    # Roundings of Q alpha, in terms of its alphas.
    summed: float = 8.0
    # Trials of a line search.
    trials: int = 40
    # The longest step of a line search, in Newton steps.
    far: float = 64.0
    # If responses exceed the scale of the corners by this factor, no alpha is in balance.
    lost: float = 1e12
    # Systems up to this size are factored; larger ones are solved by conjugate gradients.
    direct: int = 2500
    # Relative residual at which conjugate gradients stop.
    solved: float = 1e-4
    # If a factorisation failed, singular values below this fraction of the largest are 0.
    singular: float = 1e-14
    # With no more coordinates than this, all columns of Q are computed at once, even from features:
    # pairs are compiled, while each of some 25 Newton steps takes 0.1 ms of NumPy calls.
    few: int = 200
    # With features and more coordinates than this, no column of Q is computed.
    wide: int = 4000
    # Sparse features with more than this fraction of entries are treated as dense.
    dense: float = 0.1
