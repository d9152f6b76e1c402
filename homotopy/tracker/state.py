"""The data of the tracker: typed structures, the same compiled and interpreted.

A = the coordinates on knots and slanted pieces (in the factor); F = the others, on flat slopes,
whose alpha is known.  Every coordinate on a slope has fences, the corners between which its u is
free, stored in one record; every coordinate on a knot has ends, the slopes between which its alpha
is free.  A coordinate that has reached one of them is *tied*.  A jump corner is a *wall*: along the
path a coordinate that presses on it starts a jump, on other routes it is *pinned* there.

Polylines move with one number tau, which is t (the C-step) or mu (everything else).  All routes
share one form, so that switching between them costs nothing:

    slope  = at + rate t + (lift + bend shift) mu          corner = at + rate t + shift mu

with one `lift` and one `shift` per coordinate.  Lifted branches take a D-step across a jump;
shifted polylines make a guess exact (see `homotopy.tracker.tracker`).

Single numbers are fields of records, each an array of one, changed in place.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from homotopy.tracker.compiling import source_digest
from homotopy.tracker.records import documented, records, structure

__all__ = [
    "COLUMN",
    "CORNER",
    "ENTRY",
    "FENCE",
    "JUMP_ENTRY",
    "SEGMENT",
    "SLOPE",
    "STATUS",
    "Active",
    "Arrays",
    "Coordinates",
    "Form",
    "Motion",
    "PolylineRecords",
    "Record",
    "Window",
]

# How Q is given.
ROWS, DENSE, SPARSE = 0, 1, 2
# Windows: none, by the distance that w has moved (features), by how far w' has turned (rows).
NO_WINDOW, BY_DISTANCE, BY_DIRECTION = 0, 1, 2
# Return codes of compiled code.
GO, ARRIVED, WALLS, PAUSE, MISSING, FULL, RECORD_FULL, PANEL_FULL, REPAIR = range(9)
UNBOUNDED, UNBALANCED, STUCK, ASK, SOLVE, INDEFINITE = range(9, 15)

# Phases of a trace: on the path; at a jump: beginning, about to flip, crossing it, at the end of a
# round, looking ahead, returning to the path.
ON_WAY, BEGINNING, FLIPPING, ACROSS, ROUND_DONE, AHEAD, RETURNING = range(7)
# Factoring; correcting the point with pivots, without pivots; measuring its error.
FACTORING, CORRECTING_WITH_PIVOTS, CORRECTING, MEASURING = range(7, 11)
# Moving a row from a base (`forking`); going back to the base.
FORKING, UNDOING = 11, 12
# Setting fences; writing alpha of flat slopes; setting u on slanted pieces; writing how far each
# alpha is from the ends of its knot.
SETTING_FENCES, WRITING, SETTING_SLANTED, WRITING_DEPTHS = range(13, 17)
# Turning to the next leg of a sequence (`legs`).
BEGINNING_LEG = 17
# Moving the end of the last segment to the corrected point.
MENDING = 18


# A corner and a slope of a polyline; `kind` is KNOT, SEAM or JUMP (see `homotopy.model.polyline`).
CORNER = structure("at rate", "kind")
SLOPE = structure("at rate bend")
# One cache line per coordinate: everything needed to compute its distance from its corners.
FENCE = documented("""
low          real   the corner below u, at t = 0
low_rate     real   its rate
high         real   the corner above u, at t = 0
high_rate    real   its rate
shift        real   the shift of the polyline in u at mu = 1
lift         real   the lift of its branch in alpha at mu = 1
scale        real   the scale of u
root         real   the length of its row of features, border included
""")
# The rest of a coordinate's data.  Slope j is piece 2j, corner j is piece 2j + 1.
STATUS = documented("""
height          real   a bound on |alpha|: its largest slope, or less by the border equations
slope           real   its largest slope
diag            real   its diagonal entry of Q + rho B B^T
weight          real   the same with `Gram.sizes` instead of the diagonal of Q
own             real   its diagonal entry of Q
rate_in_pull    real   the rate at which its slope is part of the pull
gap_low         real   distance from the low corner (on a knot: the low end) in `ties`; -1: unknown
gap_high        real   the same from the high corner (the high end)
bend            real   the curvature of a slanted piece, else 0
miss            real   on a slanted piece, the response minus the u that alpha gives
miss_rate       real   its rate
apart           real   the smallest distance between two of its corners
nearest         real   the terms of its corner nearest to 0
usual           real   its smallest nonzero corner, at most the median over all
length          real   the length of its row of features
most            real   the largest |alpha| so far; on a slope, on the whole span
piece           whole  its piece
side            whole  if pinned to a jump corner, the side of its branch: -1 or +1; else 0
place           whole  its place in the factor, if it is active
point           whole  number of the point where it was last tied
crossed         whole  how often it has changed piece there
panel_place     whole  its place in the window's panel, -1 outside of it
left_in_stay       whole  number of the stay on jump corners during which it was left in place
touched         whole  whether it has changed piece since the path was left for a jump
ignores_corners whole  whether its corners are ignored for one step
dependent       whole  whether it is on a knot but not in the factor, being determined by others
""")
# A border column.
COLUMN = documented("""
b            real   the multiplier
rate         real   b' as solved for
full_rate    real   b' including the part of rho B B^T
target_rate  real   the rate of the target on this route
target       real   the target when u was last recomputed
target0      real   the target at t = 0
target1      real   the rate of the target with t
along        real   B^T slope' of the moving slopes along the path
across       real   the same across a jump
imbalance    real   minus the right-hand side of its equation, then what is left of it
mass         real   the size of the terms of the imbalance
slide        real   the direction in which b is free
begun        real   b when the window was opened
seen         real   full_rate when all coordinates were last examined
kept         real   b before the jump
former_rate  real   `rate` before a correction
weight       real   the size of the terms of B^T alpha
most         real   their largest size on the whole span
off          real   the error of the equation, if known
allowed      real   the error allowed
dropped      real   the error caused by alphas that left their knots
support      real   a pivot no larger has lost its support
order        whole  the order in which columns are eliminated
""")
# One linear piece of the path; `active` and `log` say where its entries end in the record.
SEGMENT = structure("start stop", "active log")
# A change of piece: coordinate i goes from `piece` (pinned: on `side`) to `new`.
ENTRY = np.dtype([(name, np.int64) for name in ["i", "piece", "side", "new"]])
JUMP_ENTRY = structure("t before after", "rounds moved steps solver log log_end")

# Single numbers, in records by owner; each line is a field, its type and its meaning.
ROUTE = documented(
    """
tau          real   the position on the route: t along the path, mu across a jump
start        real   the first tau
stop         real   the last tau
sign         real   the direction of tau
t            real   the parameter
mu           real   the remaining fraction of lifts and shifts
dt           real   t' on this route
dmu          real   mu' on this route
first        real   the start of the span
last         real   the end of the span
along        whole  whether t moves
pin          whole  whether jump corners pin coordinates instead of ending the route
settling     whole  whether a guess is being made exact
""",
    f"source_{source_digest()}",
)  # The digest of the source: code compiled from another source is not used.
FIXED = documented("""
rho          real   the weight of rho B B^T in the factor
floor        real   the smallest pivot of a slanted piece, as a fraction of 1 / bend
largest_root real   the longest row of features with its border
unit         real   the usual length of a row of features
widest       real   the largest entry of the border
mode         whole  ROWS, DENSE or SPARSE
slanted      whole  whether there are slanted pieces
semidefinite whole  whether Q is positive semidefinite
wide         whole  whether there are so many features that a window by distance pays
transposed   whole  whether `packed` holds the features of all coordinates
asks         whole  whether the model has its own rule for flips
""")
SIZES = documented("""
norm         real   the size of the terms of w and b
most_norm    real   its largest value so far, because larger alphas leave rounding behind
length       real   |w|
noise        real   the rounding of w
height       real   the usual height of a slope
size_scale   real   the usual size of a corner
off          real   the error of the point, relative to the error allowed (`proof`)
bound        real   the same, relative to what the certificate allows
gap          real   a bound on the duality gap of the point, relative to |w|^2 / 2 (`proof`)
factor_off   real   the error of the factor relative to its matrix (`sizes`)
mass         real   sum of |phi_i| |alpha_i|, plus the terms of corners from which w is computed
terms        real   the same, with |w| instead of the sum if `tracks_w`
most_mass    real   the largest sum since it last shrank by `Patience.fallen`
without_b    real   the largest |u_i - B_i b|
possible     real   `mass` plus the rounding of the slopes
middle       real   the usual terms of the equations that determine b, over |B|
strain       real   the largest fraction of a response that may have been rounding
broken       real   the largest break of a response at an exchange, over its corner tolerance
checked      real   t when u was last recomputed
tracks_w        whole  whether w is tracked by itself, more precisely than alpha determines it
""")
SYSTEM = documented("""
least         real   the smallest Rayleigh quotient accepted when the active set is refactored
rate_noise    real   the rounding of w'
fastest       real   the largest |alpha'|
blur          real   the rounding of tau
mass_along    real   the size of all changes of the pull along the path, accumulated
mass_across   real   the same across a jump
pull_mass     real   the size of the slopes that move along the path now
square_along  real   |pull|^2 along the path
square_across real   the same across a jump
actives       whole  how many coordinates are in the factor
dependents    whole  how many are on a knot without being in the factor
admitted      whole  how many have been factored so far
solved        whole  whether alpha_A', b' and w' are those of the present pieces
rated         whole  whether u' is up to date
ready         whole  state of `Active.half`: 2 both, 1 the border only, 0 neither
""")
EVENT = documented("""
crossing_speed real   the speed at which the coordinate last crossed left its piece
slack_speed  real   the largest speed of a coordinate whose corners are ignored
tied         whole  how many coordinates are listed as tied
fresh        whole  whether that list is up to date
walls        whole  how many press on jumps
requested    whole  the coordinate that a request is about
way          whole  the direction of the coordinate last crossed
idle_steps   whole  consecutive steps of length zero
tie_order    whole  selects the infinitesimal distances that order ties
pivots_here  whole  pivots at this point
moved_here   whole  whether they have moved the point
point        whole  number of the present point
stay  whole  number of the present stay on jump corners
ignored      whole  how many coordinates have their corners ignored
recomputed   whole  recomputations of u at this point
dropped      whole  whether an alpha has left its knot away from the end of it
touched      whole  how many have changed piece since the path was left
""")
JUMPING = documented("""
before       real   the objective before the jump
sum0         real   the objective of flat coordinates, coefficient of 1
sum1         real   its coefficient of t
sum2         real   its coefficient of t^2
phase        whole  the phase of the trace (ON_WAY ...)
pressing     whole  how many coordinates pressed on the jump at first
asked        whole  whether the model has chosen the flips
method       whole  how it is to be crossed (`homotopy.path.jump_record.METHODS`, 0: homotopy)
may_delegate whole  whether many flips at once may be left to `homotopy.tracing.sides`
solved_by    whole  how it was crossed (`homotopy.path.jump_record.METHODS`)
rounds       whole  rounds of flips so far
jump_log     whole  where its changes of piece begin in the log
jump_steps   whole  steps before it
crossings    whole  jumps at this t
ahead        whole  whether pinned coordinates are found just past t (`crossing.look_ahead`)
hash         whole  a hash of the present partition
seen         whole  how many partitions were seen at this t
flips        whole  how many coordinates are to flip
kept         whole  how many active alphas from before the jump are stored
""")
SCOPE = documented("""
reach         real   how far the point may move before the window must be closed
spent         real   how far it has moved
horizon       real   tau at which the window must be closed
norm_seen     real   |w'|^2 when all coordinates were last examined
inner_seen    real   the product of that w' with the pull
tau_seen      real   tau then
t_seen        real   t then
b_weight      real   the weight of b relative to w
t_weight      real   the weight of t relative to w
examined      whole  how many coordinates are examined
window        whole  NO_WINDOW, BY_DISTANCE or BY_DIRECTION
free_lines    whole  free lines of the panel
size_seen     whole  how many were active when all were last examined
examined_seen whole  how many were in the window when it was opened
steps_seen    whole  steps when the window was opened
steps_all     whole  steps when all were last examined
wanted_across whole  how many to examine across a jump
wanted_along  whole  how many along the path
wanted        whole  how many if Q is given by features
opened        whole  windows so far
retry_step    whole  the step from which another window is tried
packed        whole  whether the features of the examined coordinates are packed
""")
CURSOR = documented("""
recording     whole  whether segments are recorded
open          whole  whether the last segment may be extended
entries       whole  active alphas recorded
segments      whole  segments recorded
logged        whole  changes of piece recorded
jumps         whole  jumps recorded
steps         whole  steps made
pivots        whole  pivots made
exchanges     whole  exchanges of dependent coordinates
slides        whole  slides of b
refined       whole  corrections
due           whole  the step at which u is recomputed
stop_steps    whole  the step at which to pause
stop_segments whole  the number of segments at which to pause
""")


class Form(NamedTuple):
    """The quadratic form: rows of Q (``store[slot[i]]``), or features, dense or in CSR form."""

    store: Any
    slot: Any
    phi: Any
    data: Any
    indices: Any
    indptr: Any


class PolylineRecords(NamedTuple):
    """The polylines: records of slopes (n, K+1) and corners (n, K).

    The loss is ``terms_j(t) - a_j(t) u`` on flat slope j, and on a slanted one, with the distance
    ``d = u - v(t)`` from the origin v of the loss, ``terms_j(t) - alpha_j(v) d + bend d^2 / 2``.
    `terms` (n, K+1, 3) holds the coefficients of 1, t and t^2, `origin` (n, 2) those of v; both are
    empty if the origin is not affine.
    """

    slope: Any
    corner: Any
    terms: Any
    origin: Any


class Coordinates(NamedTuple):
    """The state of each coordinate.  `near` lists those being examined; `tied` lists those on
    corners and, from the far end, those that press on walls; `touched` lists those that have
    changed piece since the path was left."""

    u: Any
    du: Any
    alpha: Any
    border: Any
    fence: Any
    status: Any
    near: Any
    tied: Any
    touched: Any


class Active(NamedTuple):
    """The factor R of the active block and its data, one entry per active coordinate.

    ``half[0] = R^{-T} aim`` and ``half[1 + c] = R^{-T} B_c`` are updated as coordinates enter and
    leave (``system.ready``: 2 both, 1 the second only, 0 neither); `rate` is alpha_A'.  `column`
    has one record per border column.
    """

    factor: Any
    half: Any
    rate: Any
    index: Any
    work: Any
    column: Any
    schur: Any


class Motion(NamedTuple):
    """What moves, and what a jump needs.

    * `along`, `across`: the pull of the moving slopes, ``Q_:F slope_F'`` (one entry per coordinate
      or feature), along the path and across a jump;
    * `dw`, `w`, `w_seen`: w', w, and w when all coordinates were last examined;
    * `remainder`: the part of a row outside the span of the active rows;
    * `before`, `last`: the point (w and b with features, else u) before a jump and before its last
      round; `seen`: hashes of the partitions seen at this t;
    * `flips`: the coordinates about to flip, with their direction;
    * `kept_index`, `kept_alpha`: the active coordinates before the jump, and their alpha.
    """

    along: Any
    across: Any
    dw: Any
    w: Any
    w_seen: Any
    remainder: Any
    before: Any
    last: Any
    seen: Any
    flips: Any
    kept_index: Any
    kept_alpha: Any


class Window(NamedTuple):
    """The window: only some coordinates are examined.  `panel` holds their entries of rows of Q (by
    direction), one line per active coordinate (`line`); `packed` holds their features, one row per
    feature (by distance)."""

    panel: Any
    packed: Any
    line: Any
    free: Any
    index_seen: Any
    alpha_seen: Any
    piece_seen: Any
    gaps: Any
    times: Any
    du_seen: Any
    sums: Any
    rows: Any
    weights: Any


class Record(NamedTuple):
    """The record of segments, changes of piece and jumps, from which the path is made."""

    active: Any
    alpha: Any
    border: Any
    segment: Any
    log: Any
    jump: Any


class Scalars(NamedTuple):
    """The records of single numbers, each an array of one."""

    route: Any
    fixed: Any
    sizes: Any
    system: Any
    event: Any
    jumping: Any
    scope: Any
    cursor: Any


def scalars() -> Scalars:
    """Return all records, with every number 0."""
    kinds = ROUTE, FIXED, SIZES, SYSTEM, EVENT, JUMPING, SCOPE, CURSOR
    return Scalars(*(records(np.zeros(1, kind)) for kind in kinds))


class Arrays(NamedTuple):
    """All arrays that compiled code works on."""

    form: Any
    polylines: Any
    coords: Any
    active: Any
    motion: Any
    window: Any
    record: Any
    base: Any
    legs: Any


class Core(NamedTuple):
    """What compiled functions share: `Arrays`, the records of `Scalars`, tolerances and windows."""

    form: Any
    polylines: Any
    coords: Any
    active: Any
    motion: Any
    window: Any
    record: Any
    base: Any
    legs: Any
    route: Any
    fixed: Any
    sizes: Any
    system: Any
    event: Any
    jumping: Any
    scope: Any
    cursor: Any
    tol: Any
    opt: Any
