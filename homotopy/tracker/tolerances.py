"""Every threshold of the tracker, with its reason.

A computed response is rounded, so "on a corner" is a matter of tolerance; what matters is of what
a tolerance is a fraction.  Never of the largest number of the problem: each coordinate has its own
scale of u and of alpha (`homotopy.tracker.state.SPOT`),

    least_i  = max(of_corner * its nearest corner, of_border * |B_i| |b|, of_w * |phi_i| |w|)
    near_u_i = near * max(|u_i|, least_i) + rounding * eps * |phi_i| * norm
    near_a_i = near * min(largest alpha of i, least_i / Q_ii) + alpha_blur * eps * |alpha_i|
               + rounding * eps * norm / |phi_i|,          norm = sqrt(sum_j Q_jj alpha_j^2),

the second terms being what rounding does to a sum of terms of that norm (the largest since the
point was last made exact).  Q_ii and |phi_i| include the border, norm includes b.  The largest
alpha is the largest slope, or what the border equations bear.  On a slanted piece u_i is what
alpha_i says, and near_u_i = near_a_i / bend.
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

__all__ = [
    "EPS",
    "Independence",
    "Patience",
    "Pauses",
    "Proof",
    "Roundings",
    "Scales",
    "Tolerances",
    "Windows",
    "flattened",
    "record",
]

EPS = float(np.finfo(np.float64).eps)
# Keeps a quotient finite where its denominator may be 0.
TINY = 1e-300
# Multiples of these, modulo 1, are spread evenly: in one dimension, and in two.
GOLDEN, PLASTIC = 0.6180339887498949, 0.7548776662466927


@attrs.frozen(kw_only=True)
class Scales:
    """The least scale of a response: the largest of these fractions of its terms.

    Parameters
    ----------
    of_corner : float
        Of its nearest corner: what is then taken for zero is the rounding of that corner.
    of_border : float
        Of the part that the border has in it.
    of_w : float
        Of the length of its row of features times that of w.
    """

    of_corner: float = 1e-4
    of_border: float = 0.01
    of_w: float = 0.01


@attrs.frozen(kw_only=True)
class Roundings:
    """How many roundings (eps times the size of the terms) to allow for.

    Parameters
    ----------
    rounding : float
        Of a response, relative to the norm of its terms.
    speed : float
        A speed below this many roundings of its terms does not count as motion.
    summed : float
        Of a sum of alphas times features.
    missed : float
        A solution is corrected until it misses its equations by no more than this.
    blur : float
        Of tau, and of a response that is what its alpha says.
    alpha_blur : float
        Of an alpha.
    short : float
        Where t shrinks by `shrinks` in one step, the step ends this many roundings of t before its
        event.
    drift : float
        Of a response that nothing can stop.
    unclear : float
        A speed of up to this many times what is too slow to tell may be rounding all the same,
        where a coordinate goes back and forth.
    """

    rounding: float = 4.0
    speed: float = 32.0
    summed: float = 8.0
    missed: float = 4.0
    blur: float = 4.0
    alpha_blur: float = 8.0
    short: float = 8.0
    drift: float = 20.0
    unclear: float = 1e3


@attrs.frozen(kw_only=True)
class Independence:
    """When a column of the active system counts as independent of the others.

    Parameters
    ----------
    dependent : float
        A squared pivot above this fraction of its diagonal is independent without a closer look;
        one below it has lost digits to cancellation.
    rank : float
        Roundings of the Rayleigh quotient of a null direction below which a column is dependent.
    sharp : float
        Roundings of the length of what the active rows leave of one, where it is computed from
        features.
    spread : float
        Eigenvalues of the border's Schur complement below this fraction have lost their support.
    light : float
        A weight in a null direction below this fraction of the largest is rounding.
    held : float
        A coordinate on a jump corner is held there by the active ones if its squared pivot is
        below this fraction of its diagonal.
    well : float
        The Rayleigh quotient below which a guess gives up an active coordinate.
    definite : float
        The least Rayleigh quotient of a column where Q is not semidefinite.
    negative, surely : float
        Q is not semidefinite where a Rayleigh quotient is below minus this fraction, and below
        minus this many times its rounding.
    floor : float
        The fraction of its 1 / bend that at least remains of the pivot of a slanted piece, where Q
        is not semidefinite.
    """

    dependent: float = 1e-4
    rank: float = 16.0
    sharp: float = 32.0
    spread: float = 1e-12
    light: float = 1e-10
    held: float = 1e-9
    well: float = 1e-9
    definite: float = 1e-10
    negative: float = 1e-8
    surely: float = 100.0
    floor: float = 1e-12


@attrs.frozen(kw_only=True)
class Proof:
    """How far a point may be off; `homotopy.tracker.proof` has the formulas.

    Parameters
    ----------
    share : float
        The fraction of what is allowed that the tracker uses: it is stricter than the certificate.
    balance : float
        The same for the rounding of a border equation.
    equation : float
        Roundings of the terms of an equation, times sqrt(m) for m equations solved together.
    little_u, little_alpha : float
        The fractions of a response and of an alpha that need no explanation.
    apart : float
        The fraction of the distance between two corners that a response may be off at most.
    nearest : float
        Roundings of its terms that a response may be off, however near its corners are: no alpha of
        16 digits gets nearer than the last two of them.
    misses_border : float
        On rows of Q, rates may miss a border equation by this fraction of its terms.
    """

    share: float = 0.25
    balance: float = 0.75
    equation: float = 16.0
    little_u: float = 1e-10
    little_alpha: float = 1e-8
    apart: float = 1e-3
    nearest: float = 16.0
    misses_border: float = 1e-12


@attrs.frozen(kw_only=True)
class Patience:
    """How often, and how long, something is tried.

    Parameters
    ----------
    refresh : int
        The least number of steps between two recomputations of u.
    usual_n, stretch : float
        On more than `usual_n` coordinates, `refresh` is the least and `refresh * n / usual_n` the
        most, up to `stretch` times as many.
    per_look : int
        On features, a step for each `per_look` coordinates is allowed too.
    recomputing : float
        A recomputation costs as much as this many steps, times the alphas that are not 0 for each
        active one.
    fallen, often : float, int
        Once the alphas have fallen by the factor `fallen`, u is recomputed after `often` steps.
    looks : int
        Recomputations of u at one point before the path goes on regardless.
    corrections : int
        Times in a row that the point is corrected; each must halve how far it is off.
    solutions : int
        Corrections of one solution of the active system.  With features of condition k each takes
        back all but eps k^2 of what is missed.
    sharpenings : int
        Corrections of a pivot that has lost digits (in second attempts), as long as each halves it.
    settlings : int
        Times that a guess is made exact, each from where the one before has led.
    to_and_fro : int
        Crossings of one coordinate at one point after which its speed is taken for rounding.
    pivots, pivots_each : int
        Pivots at one point, and more for each tied coordinate, before that point is given up.
    idle_steps, idle_each : int
        Steps of length zero in a row, and more for each coordinate, before the route is given up.
    flip_rounds : int
        Rounds of flips at one jump, beyond one for each coordinate.
    probes : int
        Crossings of jumps at one t, beyond one for each coordinate.
    most_late : int
        A path with this many jumps crossed late leads nowhere.
    steps, steps_each, steps_to_start : int
        Steps that work at one t may take, and more for each coordinate: on the path (a jump takes
        about one for each coordinate that changes piece), and on the way to its first point.
    repairs : int
        Repairs at one t.
    """

    refresh: int = 200
    usual_n: float = 250.0
    stretch: float = 8.0
    per_look: int = 8
    recomputing: float = 10.0
    fallen: float = 10.0
    often: int = 20
    looks: int = 3
    corrections: int = 4
    solutions: int = 4
    sharpenings: int = 6
    settlings: int = 2
    to_and_fro: int = 6
    pivots: int = 100
    pivots_each: int = 40
    idle_steps: int = 100
    idle_each: int = 2
    flip_rounds: int = 50
    probes: int = 20
    most_late: int = 5
    steps: int = 1000
    steps_each: int = 20
    steps_to_start: int = 200
    repairs: int = 10


@attrs.frozen(kw_only=True)
class Pauses:
    """When compiled code yields to Ctrl-C, limits and callbacks; the path does not depend on it.

    Parameters
    ----------
    burst : int
        Yield every `burst` steps.
    seconds : float
        Yield after fewer steps if a burst takes longer than this.
    """

    burst: int = 512
    seconds: float = 0.05


@attrs.frozen(kw_only=True)
class Tolerances:
    """What is taken for zero.

    Parameters
    ----------
    near : float
        A coordinate within this fraction of its scale of a corner stands on it.  Ties of real
        tables agree to 1e-13, different events closer than 1e-11 are as good as one.
    ends : float
        The rounding of an alpha counts up to this many times `near`, relative to the largest alpha.
    arrival : float
        What happens within this fraction of the end of a route happens at the end.
    standstill : float
        A path that advances by less than this fraction of the span has not moved.
    shrinks : float
        Where t shrinks to less than this fraction in one step, its rounding is that of the large t.
    faded : float
        Once t has shrunk to this fraction, u is recomputed: what vanishes with t leaves the
        rounding of what it was.
    unbalanced : float
        Imbalance below this fraction of its terms is rounding.
    sliding : float
        A speed below this fraction of the largest is rounding while b slides.
    dropped : float
        An alpha that leaves its knot may change its own response by this fraction.
    refine : float
        A coordinate farther off than this fraction of what is allowed (`proof`) is corrected at
        once.
    repair : float
        One farther off than this is removed by settling, which respects every bound.
    carried : float
        What is left of slopes that came and went is taken out where it would move a response by
        this fraction of its scale.
    strayed : float
        A w that was integrated is recomputed where it is farther than this fraction from its alpha.
    drifted : float
        A factor farther than this from its matrix, each coordinate on its own scale, is rebuilt.
    accepted : float
        No D-step may end farther off, no path begin so.
    forgiven : float
        A coordinate that cannot be stopped may drift by this fraction before it is an error.
    same : float
        Two responses are the same within this fraction of their scale.
    moved : float
        A jump has moved the response if it did by this fraction: below that the fall of the
        objective, which is its square, drowns in rounding.
    cancelled : float
        Where the alphas cancel in w by more than this factor, alpha, rounded, says little about w,
        and w is followed by itself.  (Second attempts only: the small pivots that w can tell
        from 0 make for long detours where nothing depends on them.)
    late : float
        A jump that cannot be crossed where it is, is crossed this fraction of the span later.
    slack : float
        An intercept with no more room than this fraction of the scale is determined.
    bias : float
        A guess goes to a knot only if that is nearer than a slope by this fraction of the scales: a
        slope costs nothing to stand on.
    of_model : float
        Numbers computed from the model that are this fraction of their terms are 0.
    at_goal : float
        A row of a fork whose alpha is within this fraction of its largest slope of its goal is
        there.
    scales, roundings, independence, proof, patience, pauses
        Thresholds with an object of their own.
    """

    near: float = 1e-11
    ends: float = 100.0
    arrival: float = 1e-13
    standstill: float = 1e-13
    shrinks: float = 0.01
    faded: float = 0.25
    unbalanced: float = 1e-11
    sliding: float = 1e-12
    dropped: float = 1e-10
    refine: float = 0.05
    repair: float = 1.0
    carried: float = 1e-12
    strayed: float = 1e-10
    drifted: float = 1e-11
    accepted: float = 100.0
    forgiven: float = 1e-9
    same: float = 1e-9
    moved: float = 1e-6
    cancelled: float = np.inf
    late: float = 1e-10
    slack: float = 1e-9
    bias: float = 1e-9
    of_model: float = 1e-14
    at_goal: float = 1e-15
    scales: Scales = Scales()
    roundings: Roundings = Roundings()
    independence: Independence = Independence()
    proof: Proof = Proof()
    patience: Patience = Patience()
    pauses: Pauses = Pauses()


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
    joining : int
        Coordinates that may join those looked at while a window is open.
    turning : float
        Rounding of ``|w' - w'_seen|^2``, as a fraction of its terms.
    used_up : float
        A window is used up where it allows less than this fraction of a step or of its reach.
    ample, tight : float
        A window that spent less than the first of its reach may be smaller; one that spent more
        than the second, and did not last, must be larger.
    each : float
        A look at all features costs as much as this many coordinates looked at, for each of them.
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
    joining: int = 64
    turning: float = 1e-13
    used_up: float = 1e-3
    ample: float = 0.5
    tight: float = 0.9
    each: float = 3.0

    def closed(self) -> Windows:
        """All coordinates are looked at, always."""
        never = np.iinfo(np.int64).max
        return attrs.evolve(self, heavy_across=never, heavy_along=never, wide=never)


def flattened(options: Any) -> dict[str, Any]:
    """Every field of the options and of the objects in them; no name occurs twice."""
    values: dict[str, Any] = {}
    for name, value in attrs.asdict(options, recurse=False).items():
        more = flattened(value) if attrs.has(type(value)) else {name: value}
        assert not values.keys() & more.keys()
        values |= more
    return values


def record(options: Tolerances | Windows) -> npt.NDArray[np.void]:
    """The options as compiled code reads them: an array of one record."""
    values = flattened(options)
    fields = [(name, "i8" if isinstance(v, int) else "f8") for name, v in values.items()]
    return np.array([tuple(values.values())], dtype=fields)
