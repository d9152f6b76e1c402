"""Every threshold of the tracker, with its reason.

A computed response is rounded, so "on a corner" needs a tolerance.  It is never relative to the
largest number of the problem: each coordinate has its own scale of u and of alpha
(`homotopy.tracker.state.FENCE`),

    least_i  = max(of_corner * its nearest corner, of_border * |B_i| |b|, of_w * |phi_i| |w|)
    near_u_i = near * max(|u_i|, least_i) + rounding * eps * |phi_i| * norm
    near_a_i = near * min(largest alpha of i, least_i / Q_ii) + alpha_blur * eps * |alpha_i|
               + rounding * eps * norm / |phi_i|,          norm = sqrt(sum_j Q_jj alpha_j^2),

where the terms with eps are the rounding of a sum of terms of that norm (the largest since the
point was last made exact).  Q_ii and |phi_i| include the border, norm includes b.  |u_i| counts up
to the largest |u_j - B_j b|: if b shifts all responses far from 0, the corners are no farther
apart, and the rounding of b is in the norm.  The largest alpha is the largest slope, or less if the
border equations allow less.  On a slanted piece u_i follows from alpha_i, and
near_u_i = near_a_i / bend.
"""

from __future__ import annotations

import functools
from typing import Any

import attrs
import numpy as np

from homotopy.tracker.records import records

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
    "as_record",
    "flattened",
]

EPS = float(np.finfo(np.float64).eps)
# Keeps a quotient finite if its denominator is 0.
TINY = 1e-300
# Multiples of these, modulo 1, are spread evenly, in one dimension and in two.
GOLDEN, PLASTIC = 0.6180339887498949, 0.7548776662466927


@attrs.frozen(kw_only=True)
class Scales:
    """The smallest scale of a response: the largest of these fractions of its terms.

    Parameters
    ----------
    of_corner : float
        Of its corner nearest to 0: the tolerance is then the rounding of that corner.
    of_border : float
        Of the contribution of the border: the tolerance is then its rounding.
    of_w : float
        Of the length of its row of features times that of w.
    """

    of_corner: float = 1e-4
    of_border: float = 1e-4
    of_w: float = 0.01


@attrs.frozen(kw_only=True)
class Roundings:
    """How many roundings (eps times the size of the terms) to allow for.

    Parameters
    ----------
    rounding : float
        Of a response, relative to the norm of its terms.
    speed : float
        A speed below this many roundings of its terms counts as zero.
    summed : float
        Of a sum of alphas times features.
    missed : float
        A solution is corrected until its residual is no more than this.
    blur : float
        Of tau, and of a response that is computed from its alpha.
    alpha_blur : float
        Of an alpha.
    short : float
        If t shrinks by `shrinking_step` in one step, the step ends this many roundings of t before
        its event.
    drift : float
        Of a response that nothing can stop.
    unclear : float
        For a coordinate that moves back and forth, a speed up to this many times the smallest
        significant one may still be rounding.
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
        A squared pivot above this fraction of its diagonal is independent without further checks;
        below, it has lost digits to cancellation.
    rank : float
        A column is dependent if the Rayleigh quotient of its null direction is below this many
        roundings.
    sharp : float
        The same for the distance of a row from the span of the active rows, from features.
    sideways : float
        Such a distance counts if alpha can move other responses along it by this many corner
        tolerances.
    border_support : float
        Pivots of the border's Schur complement below this fraction have lost their support: of the
        largest entry, or, if there are slanted pieces, of the entry of their own column.
    small_weight : float
        A weight in a null direction below this fraction of the largest is rounding.
    held : float
        A coordinate on a jump corner is held there by the active ones if its squared pivot is
        below this fraction of its diagonal.
    least_in_guess : float
        A guess drops an active coordinate whose Rayleigh quotient is below this.
    definite : float
        The smallest Rayleigh quotient of a column if Q is not semidefinite.
    negative, negative_roundings : float
        Q is not semidefinite if a Rayleigh quotient is below minus this fraction, and below minus
        this many times its rounding.
    floor : float
        The smallest fraction of its 1 / bend that remains of the pivot of a slanted piece, if Q is
        not semidefinite.
    """

    dependent: float = 1e-4
    rank: float = 16.0
    sharp: float = 32.0
    sideways: float = 1e3
    border_support: float = 1e-12
    small_weight: float = 1e-10
    held: float = 1e-9
    least_in_guess: float = 1e-9
    definite: float = 1e-10
    negative: float = 1e-8
    negative_roundings: float = 100.0
    floor: float = 1e-12


@attrs.frozen(kw_only=True)
class Proof:
    """The error allowed at a point; `homotopy.tracker.proof` has the formulas.

    Parameters
    ----------
    share : float
        The fraction of the certificate's allowance that the tracker uses, to be stricter.
    balance : float
        The same for the rounding of a border equation.
    equation : float
        Roundings of the terms of an equation, times sqrt(m) for m equations solved together.
    little_u, little_alpha : float
        Errors of a response and of an alpha below these fractions are accepted.
    little_border : float
        The same for a border equation; 0 in second attempts, as b may be large.
    apart : float
        The largest error of a response, as a fraction of the distance between two corners.
    nearest : float
        Roundings of its terms by which a response may be off, however close its corners are: an
        alpha of 16 digits determines it no better.
    misses_border : float
        With rows of Q, rates may miss a border equation by this fraction of its terms.
    """

    share: float = 0.25
    balance: float = 0.75
    equation: float = 16.0
    little_u: float = 1e-10
    little_alpha: float = 1e-8
    little_border: float = 1e-10
    apart: float = 1e-3
    nearest: float = 16.0
    misses_border: float = 1e-12


@attrs.frozen(kw_only=True)
class Patience:
    """How often, and how long, something is tried.

    Parameters
    ----------
    refresh : int
        Fewest steps between two recomputations of u.
    usual_n, stretch : float
        With n > `usual_n` coordinates, u is recomputed after `refresh` to `refresh * n / usual_n`
        steps, but after at most `stretch * refresh`.
    per_step : int
        With features, also allow one step for every `per_step` coordinates.
    recomputing : float
        A recomputation costs this many steps, times the number of nonzero alphas per active one.
    fallen, often : float, int
        Once the alphas have shrunk by the factor `fallen`, u is recomputed after `often` steps.
    recomputations : int
        Recomputations of u at one point before the path continues regardless.
    corrections : int
        Consecutive corrections of a point; each must halve its error.
    solutions : int
        Corrections of one solution of the active system.  With features of condition k, each
        removes all but eps k^2 of the residual.
    sharpenings : int
        Corrections of a pivot that has lost digits (second attempts), if each halves its error.
    settlings : int
        Times that a guess is made exact, each from the result of the previous one.
    most_crossings : int
        After this many crossings at one point, the speed of a coordinate counts as rounding.
    pivots, pivots_each : int
        Pivots at one point, and additional ones per tied coordinate, before it is given up.
    idle_steps, idle_each : int
        Consecutive steps of length zero, plus some per coordinate, before a route is given up.
    flip_rounds : int
        Rounds of flips at one jump, in addition to one per coordinate.
    most_flips : int
        If more coordinates than this flip at once, the jump is crossed as a whole
        (`homotopy.tracing.sides`).
    jump_each : int
        Steps per coordinate at one jump, in addition to `steps`, before the same is done.
    most_jumps : int
        Crossings of jumps at one t, in addition to one per coordinate.
    most_late : int
        A path is given up after this many jumps crossed late.
    steps, steps_each, steps_to_start : int
        Steps at one t, and additional ones per coordinate: on the path (a jump takes about one per
        coordinate that changes piece), and on the way to its first point.
    repairs : int
        Repairs at one t.
    """

    refresh: int = 200
    usual_n: float = 250.0
    stretch: float = 8.0
    per_step: int = 8
    recomputing: float = 10.0
    fallen: float = 10.0
    often: int = 20
    recomputations: int = 3
    corrections: int = 4
    solutions: int = 4
    sharpenings: int = 6
    settlings: int = 2
    most_crossings: int = 6
    pivots: int = 100
    pivots_each: int = 40
    idle_steps: int = 100
    idle_each: int = 2
    flip_rounds: int = 50
    most_flips: int = 256
    jump_each: int = 2
    most_jumps: int = 20
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
    """What counts as zero.

    Parameters
    ----------
    near : float
        A coordinate within this fraction of its scale of a corner is on it.  Ties in real tables
        agree to 1e-13; different events closer than 1e-11 are treated as one.
    ends : float
        The tolerance for the rounding of an alpha is at most this many times `near`, relative to
        the largest alpha.
    arrival : float
        Events within this fraction of the end of a route happen at the end.
    standstill : float
        A path that advances by less than this fraction of the span has not moved.
    shrinking_step : float
        If t shrinks to less than this fraction in one step, its rounding is that of the larger t.
    shrunk : float
        Once t has shrunk to this fraction, u is recomputed: a quantity that vanishes with t keeps
        the rounding of its former size.
    unbalanced : float
        Imbalance below this fraction of its terms is rounding.
    sliding : float
        While b slides, a speed below this fraction of the largest is rounding.
    dropped : float
        If an alpha that leaves its knot changes its own response by more than this fraction, u is
        updated.
    refine : float
        A coordinate whose error exceeds this fraction of the error allowed (`proof`) is corrected
        at once.
    repair : float
        An error above this fraction is removed by settling, which respects every bound.
    pull_rounding : float
        The pull is recomputed if the rounding left by slopes that no longer move could move a
        response by this fraction of its scale.
    drift_of_w : float
        The tracked w is recomputed if it differs from the w of alpha by this fraction.
    drifted : float
        A factor farther than this from its matrix, each coordinate on its own scale, is rebuilt.
    accepted : float
        The largest error, in multiples of the error allowed, after a D-step and at the start.
    allowed_drift : float
        A coordinate that cannot be stopped may drift by this fraction before it is an error.
    same : float
        Two responses within this fraction of their scale are equal.
    moved : float
        A jump has moved the response if it changed by more than this fraction: below, the fall of
        the objective, which is its square, is smaller than rounding.
    cancelled : float
        If the alphas cancel in w by more than this factor, a rounded alpha says little about w, and
        w is tracked by itself.  (Only in second attempts: the small pivots that w can distinguish
        from 0 cause long detours where nothing depends on them.)
    late : float
        A jump that cannot be crossed at its t is crossed this fraction of the span later.
    slack : float
        An intercept counts as determined if its interval is below this fraction of the scale.
    bias : float
        A guess goes to a knot only if it is nearer than a slope by this fraction of the scales,
        because a slope needs no place in the factor.
    of_model : float
        A number computed from the model is 0 below this fraction of its terms.
    at_goal : float
        A fork has moved a row to its goal if its alpha is within this fraction of its largest
        slope.
    scales, roundings, independence, proof, patience, pauses
        Thresholds grouped in objects of their own.
    """

    near: float = 1e-11
    ends: float = 100.0
    arrival: float = 1e-13
    standstill: float = 1e-13
    shrinking_step: float = 0.01
    shrunk: float = 0.25
    unbalanced: float = 1e-11
    sliding: float = 1e-12
    dropped: float = 1e-10
    refine: float = 0.05
    repair: float = 1.0
    pull_rounding: float = 1e-12
    drift_of_w: float = 1e-10
    drifted: float = 1e-11
    accepted: float = 100.0
    allowed_drift: float = 1e-9
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
    """When it pays to examine only some coordinates (docs/theory.md).

    Parameters
    ----------
    heavy_across, heavy_along : int
        A product with the active rows is worth avoiding above this many multiplications.
    wide : int
        The same for a product with all features.
    transposed : int
        Dense features without windows are also kept by columns, up to this many numbers: a product
        with few features takes a fraction of the time.
    overhead : float
        The overhead of examining all features, in multiplications.
    ahead : int
        Corners met at the present speeds before the horizon.
    fewest : int
        Fewest coordinates in a window if Q is given by columns.
    fewest_on_features : int
        The same if it is given by features.
    most : int
        Most coordinates in a window if Q is given by columns.
    enough_across, enough_along : int
        Steps that a window should last.
    window_pause : int
        Steps without a window after one that did not last.
    joining : int
        Coordinates that may join an open window.
    turning : float
        Rounding of ``|w' - w'_seen|^2``, as a fraction of its terms.
    used_up : float
        A window is used up if it allows less than this fraction of a step or of its reach.
    ample, tight : float
        A window that spent less than the first fraction of its reach may be smaller; one that spent
        more than the second, and did not last, must be larger.
    each : float
        When all are examined, one coordinate costs as much as this many in a window.
    """

    heavy_across: int = 60_000
    heavy_along: int = 40_000
    wide: int = 60_000
    transposed: int = 250_000
    overhead: float = 1.4e6
    ahead: int = 24
    fewest: int = 96
    fewest_on_features: int = 512
    most: int = 2048
    enough_across: int = 6
    enough_along: int = 16
    window_pause: int = 8
    joining: int = 64
    turning: float = 1e-13
    used_up: float = 1e-3
    ample: float = 0.5
    tight: float = 0.9
    each: float = 3.0

    def pay_by_distance(self, n: int, width: int) -> bool:
        """Return whether windows by distance pay with `width` features."""
        return n > 4 * self.fewest_on_features and n * width > self.wide

    def transpose(self, n: int, width: int) -> bool:
        """Return whether a copy of the features by columns pays."""
        return n * width <= self.transposed

    def closed(self) -> Windows:
        """Return windows that never open: all coordinates are always examined."""
        never = np.iinfo(np.int64).max
        return attrs.evolve(self, heavy_across=never, heavy_along=never, wide=never)


def flattened(options: Any) -> dict[str, Any]:
    """Return every field of the options and of the objects in them; no name occurs twice."""
    values: dict[str, Any] = {}
    for name, value in attrs.asdict(options, recurse=False).items():
        more = flattened(value) if attrs.has(type(value)) else {name: value}
        assert not values.keys() & more.keys()
        values |= more
    return values


@functools.lru_cache(maxsize=16)
def as_record(options: Tolerances | Windows) -> Any:
    """Return the options as an array of one record, which compiled code only reads."""
    values = flattened(options)
    fields = [(name, "i8" if isinstance(v, int) else "f8") for name, v in values.items()]
    return records(np.array([tuple(values.values())], dtype=fields))
