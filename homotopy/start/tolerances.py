"""Every threshold of the start, with its reason."""

from __future__ import annotations

import attrs

__all__ = ["StartTolerances"]


@attrs.frozen(kw_only=True)
class StartTolerances:
    """How near is near enough, and when to try another method.

    Parameters
    ----------
    enough : float
        How far a response of the guess may be off where Q is given by columns: pairs take longer
        for every digit.
    enough_on_features : float
        The same on features: Newton steps do not take longer.
    level : float
        An alpha within this fraction of its size is at the height of a slope.
    within : float
        An alpha farther than this part of a knot from both of its ends is inside the knot.
    same : float
        Slopes that differ by no more than this fraction of the largest are one.
    balanced : float
        Imbalance up to this part of its terms is rounding.
    loose : float
        Imbalance up to this part is good enough before the last anchor.
    flat : float
        Curvature along a pair below this fraction of its two diagonals is rounding.
    untried : int
        Sweeps before the pace of pairs is informative.
    hope : float
        Pairs go on while their pace promises an end within this many times the cost of Newton
        steps.
    batch : int
        Columns of Q are computed a batch at a time, of about this many numbers.
    fewest, most : int
        Columns of a batch, at the least and at the most.
    lean : float
        The first sigma, in parts of the range of alpha over the scale of u.
    trust : float
        The first sigma after a good guess, in parts of that, at the most.
    growth : float
        Factor of sigma from one anchor to the next.
    anchors, newtons : int
        Anchors, and Newton steps at each, at the most.
    idle : int
        Full steps without any progress after which only rounding is left.
    trials : int
        Trials of a line search.
    far : float
        The longest step of a line search, in Newton steps.
    lost : float
        Responses this many times the scale of the corners: no alpha can be in balance.
    direct : int
        Systems up to this size are factored, larger ones left to conjugate gradients.
    solved : float
        Relative residual at which conjugate gradients stop.
    singular : float
        Singular values below this fraction of the largest are 0, where a factorisation failed.
    wide : int
        With features and more coordinates than this, no column of Q is computed.
    dense : float
        Sparse features with more than this fraction of entries are treated as dense.
    """

    enough: float = 1e-4
    enough_on_features: float = 1e-6
    level: float = 1e-10
    within: float = 1e-6
    same: float = 1e-14
    balanced: float = 1e-11
    loose: float = 1e-3
    flat: float = 1e-12
    untried: int = 8
    hope: float = 2.0
    batch: int = 40_000
    fewest: int = 4
    most: int = 64
    lean: float = 0.2
    trust: float = 1000.0
    growth: float = 4.0
    anchors: int = 40
    newtons: int = 100
    idle: int = 8
    trials: int = 40
    far: float = 64.0
    lost: float = 1e12
    direct: int = 2500
    solved: float = 1e-4
    singular: float = 1e-14
    wide: int = 4000
    dense: float = 0.1
