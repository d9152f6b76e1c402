"""Every threshold of the tracker, with its reason.

A computed response is rounded, so "on a corner" is a matter of tolerance; what matters is of what
a tolerance is a fraction.  Never of the largest number of the problem: each coordinate has a scale
of u and one of alpha of its own (`homotopy.tracker.state.Spot`),

    size_i   = max(|u_i|, a hundredth of |phi_i| |w| and of |B_i| |b|, 1e-4 of its nearest corner)
    near_u_i = near * size_i + rounding * eps * |phi_i| * norm
    near_a_i = near * min(largest alpha of i, size_i / Q_ii) + 8 eps |alpha_i|
               + rounding * eps * norm / |phi_i|,          norm = sqrt(sum_j Q_jj alpha_j^2),

the second terms being what rounding does to a sum of terms of that norm (the largest since the
point was last made exact).  The largest alpha is the largest slope, or what the border equations
bear.  On a slanted piece u_i is what alpha_i says, and near_u_i = near_a_i / bend.
"""

from __future__ import annotations

import attrs
import numpy as np
import numpy.typing as npt

__all__ = ["EPS", "Tolerances", "Windows", "record"]

# What happens within this fraction of the end of a route happens at the end.
ARRIVAL = 1e-13
EPS = float(np.finfo(np.float64).eps)


@attrs.frozen(kw_only=True)
class Tolerances:
    """What is taken for zero, and how long to be patient.

    Parameters
    ----------
    near : float
        A coordinate within this fraction of its scale of a corner stands on it.  Ties of real
        tables agree to 1e-13, different events closer than 1e-11 are as good as one.
    rounding : float
        Roundings of a sum that are allowed for, in units of eps times the norm of its terms.
    speed : float
        A speed below this many roundings of its terms does not count as motion.
    dependent : float
        A squared pivot above this fraction of the diagonal is independent without a closer look.
    rank : float
        Roundings of the Rayleigh quotient of a null direction below which a column is dependent.
    spread : float
        Eigenvalues of the border's Schur complement below this fraction have lost their support.
    unbalanced : float
        Imbalance below this fraction of its terms is rounding.
    light : float
        A weight in a null direction below this fraction of the largest is rounding.
    held : float
        A coordinate on a jump corner is held there by the active ones if its squared pivot is
        below this fraction of its diagonal.
    refine : float
        A coordinate farther off than this, in parts of what is allowed
        (``homotopy/tracker/proof.py``), is solved for at once.
    repair : float
        One farther off than this is removed by settling, which respects every bound.
    carried : float
        What is left of slopes that came and went is taken out where it would move a response by
        this fraction of its scale.
    strayed : float
        A w that was integrated is made anew where it is farther than this fraction from its alpha.
    drifted : float
        A factor farther than this from its matrix, each coordinate on its own scale, is made anew.
    accepted : float
        No D-step may end farther off, no path begin so.
    forgiven : float
        A coordinate that cannot be stopped may drift by this fraction before it is an error.
    same : float
        Two responses are the same within this fraction of their scale.
    moved : float
        A jump has moved the response if it did by this fraction: below that the fall of the
        objective, which is its square, drowns in rounding.
    to_and_fro : int
        Crossings of one coordinate at one point after which its speed is taken for rounding.
    patience : int
        Pivots at one point for each tied coordinate before that point is given up.
    cancelled : float
        Where the alphas cancel in w by more than this factor, alpha, rounded, says little of w,
        and w is followed on its own.  (Second attempts only: the small pivots that w can tell
        from 0 make for long detours where nothing depends on them.)
    settlings : int
        Times that a guess is made exact, each from where the one before has led to.
    refresh : int
        Steps between two recomputations of u, at the least.
    probes : int
        Crossings of jumps at one t, beyond one for each coordinate, before they lead nowhere.
    late : float
        A jump that cannot be crossed where it is, is crossed this fraction of the span later.
    most_late : int
        A path with this many of those gets nowhere.
    slack : float
        An intercept with no more room than this fraction of the scale is determined.
    well : float
        The Rayleigh quotient below which a guess gives up an active coordinate.
    """

    near: float = 1e-11
    rounding: float = 4.0
    speed: float = 32.0
    dependent: float = 1e-4
    rank: float = 16.0
    spread: float = 1e-12
    unbalanced: float = 1e-11
    light: float = 1e-10
    held: float = 1e-9
    refine: float = 0.05
    repair: float = 1.0
    carried: float = 1e-12
    strayed: float = 1e-10
    drifted: float = 1e-11
    accepted: float = 100.0
    forgiven: float = 1e-9
    same: float = 1e-9
    moved: float = 1e-6
    to_and_fro: int = 6
    patience: int = 40
    cancelled: float = np.inf
    settlings: int = 2
    refresh: int = 200
    probes: int = 20
    late: float = 1e-10
    most_late: int = 5
    slack: float = 1e-9
    well: float = 1e-9


@attrs.frozen(kw_only=True)
class Windows:
    """When it pays to look at some coordinates only (docs/theory.md).

    Parameters
    ----------
    heavy_across, heavy_along : int
        Multiplications in a product with the active rows above which it is worth avoiding.
    wide : int
        The same for one with all features.
    look : float
        What a look at all features takes besides its arithmetic, in multiplications.
    ahead : int
        Corners met at the present speeds before the horizon.
    fewest : int
        Coordinates looked at, at the least, where Q is given by columns.
    fewest_on_features : int
        The same where it is given by features.
    most : int
        Coordinates looked at, at the most, where Q is given by columns.
    enough_across, enough_along : int
        Steps that a window should last.
    rest : int
        Steps without a window after one that did not last.
    """

    heavy_across: int = 60_000
    heavy_along: int = 40_000
    wide: int = 60_000
    look: float = 1.4e6
    ahead: int = 24
    fewest: int = 96
    fewest_on_features: int = 512
    most: int = 2048
    enough_across: int = 6
    enough_along: int = 16
    rest: int = 8

    def closed(self) -> Windows:
        """All coordinates are looked at, always."""
        never = np.iinfo(np.int64).max
        return attrs.evolve(self, heavy_across=never, heavy_along=never, wide=never)


def record(options: Tolerances | Windows) -> npt.NDArray[np.void]:
    """The options as compiled code reads them: an array of one record."""
    values = attrs.asdict(options)
    fields = [(name, "i8" if isinstance(v, int) else "f8") for name, v in values.items()]
    return np.array([tuple(values.values())], dtype=fields)
