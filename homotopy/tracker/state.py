"""What the tracker works on: typed structures, the same compiled and interpreted.

A = coordinates on knots and slanted pieces (in the factor), F = the rest, on flat slopes, whose
alpha is known.  Every coordinate on a slope has fences, the corners between which its u is free,
kept beside each other in one record; every coordinate on a knot has ends, the slopes between which
its alpha is free.

Polylines move with one number tau, which is t (the C-step) or mu (everything else); all routes
share one form, so that going from one to another costs nothing:

    slope  = at + rate t + (lift + bend shift) mu          corner = at + rate t + shift mu

with one `lift` and one `shift` for each coordinate: lifted branches take a D-step across a jump,
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
    "SPOT",
    "Active",
    "Arrays",
    "Base",
    "Coordinates",
    "Form",
    "Lines",
    "Motion",
    "Record",
    "Window",
]

# How Q is given.
ROWS, DENSE, SPARSE = 0, 1, 2
# Windows: none, by how far w has gone (features), by how far w' has turned (rows).
NO_WINDOW, BY_PLACE, BY_TURN = 0, 1, 2
# What compiled code comes back with.
GO, ARRIVED, WALLS, PAUSE, MISSING, FULL, RECORD_FULL, PANEL_FULL, REPAIR = range(9)
UNBOUNDED, UNBALANCED, STUCK, ASK, SOLVE, INDEFINITE = range(9, 15)

# Where a trace is: on its way; at a jump, about to flip, across it, at the end of a round, looking
# ahead, on its way back; or at work on its factor, correcting its point with pivots or without,
# measuring how far off it is; moving rows from a base (`forking`), or going back to that.
ON_WAY, BEGINNING, FLIPPING, ACROSS, ROUND_DONE, AHEAD, RETURNING = range(7)
FACTORING, REFINING, SHARPENING, MEASURING = range(7, 11)
FORKING, UNDOING = 11, 12


# A corner and a slope of a polyline; `kind` is KNOT, SEAM or JUMP (see `homotopy.model.polyline`).
CORNER = structure("at rate", "kind")
SLOPE = structure("at rate bend")
# The corners between which u is free, how the polyline stands off at mu = 1, the scale of u and
# the length of the row of features (with the border): one cache line, all that a look takes.
FENCE = structure("low low_rate high high_rate shift lift scale root")
# What else belongs to a coordinate: the largest slope, or what the border bears of it, and the
# largest slope alone; the diagonal with the border, its weight
# (the same but for forms that are not semidefinite), the diagonal without the border, the rate
# carried along by the moving slopes, the distance from low and high corner (on a knot:
# from bottom and top) in units of an infinitesimal; on a slanted piece its bend (else 0), how far
# the response is from where alpha says (and how fast that grows); the least distance between two of
# its corners, the size of its nearest one, and that of most where it is less; the length of its row
# of features; the largest alpha so far, and on the present slope anywhere on the span; its piece
# (slope j is 2j, corner j is 2j + 1), for a pinned one the side on which its branch lies (-1 or
# +1), and marks; an idle one stands on a knot without being in the factor, because it depends on
# others there and none of them has an end.
SPOT = structure(
    "height slope diag weight own carried gap_low gap_high bend miss miss_rate apart nearest usual "
    "length most",
    "piece side place point crossed seat resting touched excused idle",
)
# A border column: multiplier and rate (both of the solve and with what rho B B^T adds), rate of its
# target on this route, the target where u was last recomputed, that at t = 0 and its rate, balance
# of the moving slopes along and across, the size of the terms of the balance, and what they can be
# on the whole span, by how much it is off where that is known, by how much it may be, by how much
# alphas that left their knots have put it off, and space.
COLUMN = structure(
    "b rate lift target_rate target aim moves along across short mass slide begun seen kept rest "
    "weight most off allowed dropped",
    "order",
)
# One straight piece of the path; `active` and `log` are where its entries end.
SEGMENT = structure("start stop", "active log")
# A change of piece.
ENTRY = np.dtype([(name, np.int64) for name in ["i", "piece", "side", "new"]])
JUMP_ENTRY = structure("t before after", "rounds moved steps solver log log_end")

# Single numbers, in records by owner; each line is a field, its type and what it is.
ROUTE = documented(
    """
tau          real   how far along the route: t along the path, mu across a jump
start        real   where tau begins
stop         real   where tau ends
sign         real   which way it goes
t            real   the parameter
mu           real   how much of lifts and shifts is left
dt           real   t' on this route
dmu          real   mu' on this route
first        real   the start of the span
last         real   the end of the span
along        whole  t moves
pin          whole  jump corners pin instead of ending the route
settling     whole  a guess is being made exact
""",
    f"source_{source_digest()}",
)  # What was compiled for another source is not used for this one.
FIXED = documented("""
rho          real   how rho B B^T is weighted in the factor
floor        real   the fraction of its 1 / bend that at least remains of a slanted pivot
largest_root real   the longest row of features with its border
unit         real   the usual length of a row of features
widest       real   the largest entry of the border
mode         whole  ROWS, DENSE or SPARSE
slanted      whole  there are slanted pieces
semidefinite whole  Q is positive semidefinite
asks         whole  the model has a rule of its own for who changes side
""")
SIZES = documented("""
norm         real   the size of the terms of w and b
most_norm    real   the most that was: larger alphas leave their rounding behind
length       real   |w|
noise        real   the rounding of w
height       real   the usual height of a slope
size_scale   real   the usual corner
off          real   how far the point is off, in parts of what is allowed (`proof`)
factor_off   real   how far the factor is off its matrix (`sizes`)
mass         real   sum of |phi_i| |alpha_i|, and the terms of corners that w comes from
terms        real   the same, or |w| for the sum where w has digits of its own
most_mass    real   the most that was since it last fell
middle       real   the usual terms of the equations that b comes from, over |B|
strain       real   the largest part of a response that may have been rounding
checked      real   t when u was last recomputed
own_w        whole  w has digits of its own: alpha, rounded, says less of it
""")
SYSTEM = documented("""
least         real   the least Rayleigh quotient of an active set that is factored anew
rate_noise    real   the rounding of w'
fastest       real   the largest |alpha'|
blur          real   the rounding of tau
mass_along    real   sizes of moving slopes along the path, added up so far
mass_across   real   the same across a jump
carrying      real   sizes of those that move along the path now
square_along  real   |pull|^2 along the path
square_across real   the same across a jump
actives       whole  how many are in the factor
idles         whole  how many stand on a knot without being in it
admitted      whole  how many have been factored so far
solved        whole  alpha_A', b' and w' are those of the present pieces
rated         whole  u' is that of the present rates
ready         whole  of `Active.half`: 2 both, 1 the border only, 0 neither
""")
EVENT = documented("""
offence      real   the speed at which the coordinate last crossed left its piece
slack_speed  real   the largest speed of a coordinate excused from its corners
tied         whole  how many stand on corners
fresh        whole  that list is up to date
walls        whole  how many press on jumps
want         whole  the coordinate that something is wanted for
way          whole  which way it goes
idle         whole  steps in a row that did not move
draw         whole  the order in which ties are taken
pivots_here  whole  pivots at this point
moved_here   whole  whether the point has moved by them
point        whole  a number for the present point
linger       whole  a number for the present stay on jump corners
excused      whole  how many are excused from their corners
looks        whole  recomputations of u at this point
dropped      whole  an alpha that left its knot was not at the end of it
touched      whole  how many changed piece since the path was left
""")
JUMPING = documented("""
before       real   the objective before the jump
sum0         real   the objective of flat coordinates, coefficient of 1
sum1         real   the same of t
sum2         real   the same of t^2
in_jump      whole  where the trace is (ON_WAY ...)
pressing     whole  how many pressed on it at first
asked        whole  the model has said who changes side
by_solver    whole  the crossing is left to others
solved_by    whole  who crossed it (`homotopy.path.jump_record.METHODS`)
rounds       whole  flips so far
jump_log     whole  where its changes of piece begin
jump_steps   whole  steps before it
crossings    whole  jumps at this t
ahead        whole  pins are judged just past t
hash         whole  a number for the present partition
seen         whole  how many partitions were seen at this t
flips        whole  how many are to change side
kept         whole  how many active alphas are kept from before
""")
SCOPE = documented("""
reach         real   how far the point may go before the window must be left
spent         real   how far it has gone
horizon       real   tau at which it must be left
norm_seen     real   |w'|^2 when all were last looked at
inner_seen    real   the product of w' then and now
tau_seen      real   tau when all were last looked at
t_seen        real   t then
b_weight      real   what b counts for beside w
t_weight      real   what t counts for beside w
looked        whole  how many are looked at
window        whole  NO_WINDOW, BY_PLACE or BY_TURN
lines         whole  free lines of the panel
size_seen     whole  how many were active when all were last looked at
looked_seen   whole  how many are in the window
steps_seen    whole  steps when it was opened
steps_looked  whole  steps when all were last looked at
wanted_across whole  how many to look at across a jump
wanted_along  whole  how many along the path
wanted        whole  how many on features
opened        whole  windows so far
pause         whole  steps before another one is tried
packed        whole  features of those looked at are packed
""")
CURSOR = documented("""
recording     whole  segments are written down
open          whole  the last segment may go on
entries       whole  active alphas written
segments      whole  segments written
logged        whole  changes of piece written
jumps         whole  jumps written
steps         whole  steps taken
pivots        whole  pivots
exchanges     whole  exchanges of dependent coordinates
slides        whole  slides of b
refined       whole  corrections
due           whole  steps at which u is recomputed
stop_steps    whole  steps at which to pause
stop_segments whole  segments at which to pause
""")

JOBS = documented("""
shift        real   how far the polyline of a row that is let go stands off
job          whole  the row at work
jobs         whole  how many there are
begun        whole  it is on its way
back         whole  after each the base is gone back to
piece        whole  the piece on which a row is let go; -1 where rows are held
actives      whole  of the base: how many are in the factor
idles        whole  how many are idle
logged       whole  where the log of changes since begins
""")


class Form(NamedTuple):
    """The quadratic form: rows of Q (``store[slot[i]]``), or features, dense or in CSR form."""

    store: Any
    slot: Any
    phi: Any
    data: Any
    indices: Any
    indptr: Any


class Lines(NamedTuple):
    """The polylines: records of slopes (n, K+1) and corners (n, K).

    On slope j the loss is ``terms_j(t) - a_j(t) u + bend u^2 / 2``; `terms` (n, K+1, 3) holds the
    coefficients of 1, t and t^2.
    """

    slope: Any
    corner: Any
    terms: Any


class Coordinates(NamedTuple):
    """Where each coordinate stands.  `near` lists those looked at; `tied` those on corners, and
    from the far end those that press on walls."""

    u: Any
    du: Any
    alpha: Any
    border: Any
    fence: Any
    spot: Any
    near: Any
    tied: Any
    few: Any


class Active(NamedTuple):
    """The factor R of the active block and what belongs to it, one entry per active coordinate.

    ``half[0] = R^{-T} aim`` and ``half[1 + c] = R^{-T} B_c`` are kept up to date as coordinates
    come and go (``system.ready``: 2 both, 1 the second only, 0 neither); `rate` is alpha_A'.
    `column` has one record per border column.
    """

    factor: Any
    half: Any
    rate: Any
    index: Any
    work: Any
    column: Any
    schur: Any


class Motion(NamedTuple):
    """What the moving slopes do: ``Q_:F slope_F'`` (one entry per coordinate or feature), along
    the path and across a jump; w', w, and w when last all were looked at; what active rows leave of
    one; the point (w on features, else u) before a jump and before its last round; partitions seen
    at one t; those about to change side; the active coordinates before the jump and their alpha."""

    along: Any
    across: Any
    dw: Any
    w: Any
    w_seen: Any
    rest: Any
    before: Any
    last: Any
    seen: Any
    flips: Any
    kept_index: Any
    kept_alpha: Any


class Window(NamedTuple):
    """Some coordinates only.  `panel` holds rows of Q at those looked at (by turn), one line for
    each active coordinate (`line`), `packed` their features, one row per feature (by place)."""

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
    """Segments, changes of piece and jumps on their way to the path."""

    active: Any
    alpha: Any
    border: Any
    segment: Any
    log: Any
    jump: Any


class Base(NamedTuple):
    """The point that a fork goes back to (`homotopy.tracker.forking`), its factor and polylines,
    and what is to be done from there: the alpha of `row` goes to `value`; found for each of them
    its response, b and, where there is room, every alpha."""

    u: Any
    alpha: Any
    w: Any
    b: Any
    piece: Any
    place: Any
    idle: Any
    miss: Any
    factor: Any
    half: Any
    index: Any
    slope: Any
    corner: Any
    row: Any
    value: Any
    found_u: Any
    found_b: Any
    found_alpha: Any
    jobs: Any


def no_base() -> Base:
    """Nothing to go back to."""
    real, whole, table = np.zeros(0), np.zeros(0, np.int64), np.zeros((0, 0))
    reals = dict.fromkeys(("u", "alpha", "w", "b", "miss", "value", "found_u"), real)
    wholes = dict.fromkeys(("piece", "place", "idle", "index", "row"), whole)
    tables = dict.fromkeys(("factor", "half", "found_b", "found_alpha"), table)
    lines = {"slope": SLOPE, "corner": CORNER}
    empty = {name: records(np.zeros((0, 0), kind)) for name, kind in lines.items()}
    return Base(**reals, **wholes, **tables, **empty, jobs=records(np.zeros(1, JOBS)))


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
    """All of them at 0."""
    kinds = ROUTE, FIXED, SIZES, SYSTEM, EVENT, JUMPING, SCOPE, CURSOR
    return Scalars(*(records(np.zeros(1, kind)) for kind in kinds))


class Arrays(NamedTuple):
    """All of the above that are arrays, as compiled code is called with them."""

    form: Any
    lines: Any
    here: Any
    act: Any
    mov: Any
    win: Any
    rec: Any
    base: Any


class Core(NamedTuple):
    """`Arrays`, and records for the arrays of `Scalars`: what compiled functions share."""

    form: Any
    lines: Any
    here: Any
    act: Any
    mov: Any
    win: Any
    rec: Any
    base: Any
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
