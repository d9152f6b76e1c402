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

`Now` is an array of one record: numbers with names, changed in place by whoever is told to.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from homotopy.tracker.compiling import source_digest

__all__ = [
    "COLUMN",
    "CORNER",
    "ENTRY",
    "FENCE",
    "JUMP_ENTRY",
    "NOW",
    "SEGMENT",
    "SLOPE",
    "SPOT",
    "Active",
    "Coordinates",
    "Form",
    "Lines",
    "Motion",
    "Numbers",
    "Record",
    "Records",
    "Window",
    "records",
]

# How Q is given.
ROWS, DENSE, SPARSE = 0, 1, 2
# Windows: none, by how far w has gone (features), by how far w' has turned (rows).
NO_WINDOW, BY_PLACE, BY_TURN = 0, 1, 2
# What compiled code comes back with.
GO, ARRIVED, WALLS, PAUSE, MISSING, FULL, RECORD_FULL, PANEL_FULL, REPAIR = range(9)
UNBOUNDED, UNBALANCED, STUCK, ASK, SOLVE, INDEFINITE = range(9, 15)

# Where a trace is: on its way; at a jump, about to flip, across it, at the end of a round, looking
# ahead, on its way back; or at work on its factor, correcting its point with pivots or without, or
# measuring how far off it is.
ON_WAY, BEGINNING, FLIPPING, ACROSS, ROUND_DONE, AHEAD, RETURNING = range(7)
FACTORING, REFINING, SHARPENING, MEASURING = range(7, 11)

REAL, WHOLE = "f8", "i8"


def _dtype(reals: str, wholes: str = "") -> np.dtype[Any]:
    return np.dtype([(name, REAL) for name in reals.split()] + [(n, WHOLE) for n in wholes.split()])


# A corner and a slope of a polyline; `kind` is KNOT, SEAM or JUMP (see `homotopy.model.polyline`).
CORNER = _dtype("at rate", "kind")
SLOPE = _dtype("at rate bend")
# The corners between which u is free, how the polyline stands off at mu = 1, the scale of u and
# the length of the row of features (with the border): one cache line, all that a look takes.
FENCE = _dtype("low low_rate high high_rate shift lift scale root")
# What else belongs to a coordinate: the largest slope, or what the border bears of it, and the
# largest slope alone; the diagonal with the border, its weight
# (the same but for forms that are not semidefinite), the diagonal without the border, the rate
# carried along by the moving slopes, the distance from low and high corner (on a knot:
# from bottom and top) in units of an infinitesimal; on a slanted piece its bend (else 0), how far
# the response is from where alpha says (and how fast that grows); the least distance between two of
# its corners, the size of its nearest one, and that of most where it is less; the length of its row
# of features; its piece (slope j
# is 2j, corner j is 2j + 1), for a pinned one the side on which its branch lies (-1 or +1), and
# marks; who is idle stands on a knot without being in the factor, because it depends on others
# there and none of them has an end.
SPOT = _dtype(
    "height slope diag weight own carried gap_low gap_high bend miss miss_rate apart nearest usual "
    "length",
    "piece side place point crossed seat resting touched excused idle",
)
# A border column: multiplier and rate (both of the solve and with what rho B B^T adds), rate of its
# target on this route, the target where u was last recomputed, that at t = 0 and its rate, balance
# of the moving slopes along and across, the size of the terms of the balance, and what they can be
# on the whole span, by how much it is off where that is known, by how much it may be, by how much
# alphas that left their knots have put it off, and space.
COLUMN = _dtype(
    "b rate lift target_rate target aim moves along across short mass slide begun seen kept rest "
    "weight most off allowed dropped",
    "order",
)
# One straight piece of the path; `active` and `log` are where its entries end.
SEGMENT = _dtype("start stop", "active log")
# A change of piece.
ENTRY = np.dtype([(name, WHOLE) for name in ["i", "piece", "side", "new"]])
JUMP_ENTRY = _dtype("t before after", "rounds moved steps solver log log_end")

NOW = _dtype(
    # the route, and how rho B B^T is weighted in the factor
    "tau start stop sign t mu dt dmu rho first last least "
    # how much of its 1 / bend is at least left of the pivot of a slanted piece
    "floor "
    # sizes that tolerances are made of (see `tolerances`), the typical height of a slope, and the
    # largest speed of who is excused from its corners; how far the point is off in parts of what is
    # allowed (see `proof`), and how far the factor is (see `sizes`); the sum of |phi||alpha| that
    # this is a matter of, and the most that was, the terms of the equations that b comes from, over
    # |B|, the largest part of a response that may have been rounding, and t when u was last
    # recomputed
    "norm most_norm length noise rate_noise fastest blur height size_scale largest_root offence "
    "slack_speed off factor_off mass most_mass middle strain checked "
    # the moving slopes: sizes added up so far, sizes of those that move now, the square of the sum
    "mass_along mass_across carrying square_along square_across "
    # the objective: sums over the flat coordinates of 1, t and t^2
    "sum0 sum1 sum2 before "
    # windows
    "reach spent horizon norm_seen inner_seen tau_seen t_seen b_weight t_weight unit",
    # the route and the active set
    "mode along pin settling slanted actives solved rated ready "
    # the present point
    "looked window tied fresh walls want way idle draw pivots_here moved_here point linger "
    "excused idles looks dropped "
    # counts and limits
    "steps pivots exchanges slides refined due stop_steps stop_segments "
    # the record
    "recording open entries segments logged jumps "
    # jumps
    "in_jump pressing asks asked by_solver solved_by rounds jump_log jump_steps crossings ahead "
    "hash seen flips admitted kept touched "
    # windows
    "lines size_seen looked_seen steps_seen steps_looked wanted_across wanted_along wanted opened "
    "pause packed enough_across enough_along fewest rest "
    # what was compiled for another source is not used for this one
    f"source_{source_digest()}",
)


class Records(np.ndarray):
    """An array of records whose fields are attributes: what `np.recarray` is, at a fraction of the
    price of an access."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name].view(np.ndarray)
        except (ValueError, IndexError):
            raise AttributeError(name) from None

    def __setattr__(self, name: str, value: Any) -> None:
        if self.dtype.names is not None and name in self.dtype.names:
            self[name] = value
        else:
            object.__setattr__(self, name, value)


def records(array: Any) -> Any:
    """`array` of a structured dtype as `Records`, each of them with attributes too."""
    return array.view(np.dtype((np.record, array.dtype)), Records)


class Numbers:
    """The fields of an array of one record as attributes, read and written in place.

    What a record of NumPy does too, several times slower; a trace of a small problem does little
    else.
    """

    __slots__ = ("_fields", "_record")

    def __init__(self, record: Any) -> None:
        object.__setattr__(self, "_record", record.view(np.ndarray))
        object.__setattr__(self, "_fields", {})

    def _field(self, name: str) -> Any:
        try:
            field = self._fields[name] = self._record[name]
        except (ValueError, IndexError):
            raise AttributeError(name) from None
        return field

    def __getattr__(self, name: str) -> Any:
        field = self._fields.get(name)
        return (self._field(name) if field is None else field)[0]

    def __setattr__(self, name: str, value: Any) -> None:
        field = self._fields.get(name)
        (self._field(name) if field is None else field)[0] = value


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
    come and go (``now.ready``: 2 both, 1 the second only, 0 neither); `rate` is alpha_A'.  `column`
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
    """What the moving slopes do: ``Q_:F slope_F'`` (one entry per coordinate or feature), along
    the path and across a jump; w', w, and w when last all were looked at; what active rows leave of
    one; the point (w on features, else u) before a jump and before its last round; partitions seen
    at one t; who is to change side; the active coordinates before the jump and their alpha."""

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


class Core(NamedTuple):
    """All of the above and the records of single numbers: what compiled functions share."""

    form: Any
    lines: Any
    here: Any
    act: Any
    mov: Any
    win: Any
    rec: Any
    now: Any
    tol: Any
    opt: Any
