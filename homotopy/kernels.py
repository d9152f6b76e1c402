"""The compiled loops: triangular factor, column sums, and the travel between break-points.

Everything here works on contiguous arrays and allocates next to nothing.  The first call in a
fresh installation compiles (a few seconds); the result is cached on disk.

`follow` is the travel itself, in the ordinary case: one border column or none, no slanted pieces,
coordinates that enter the factor well independent of it.  Where anything else turns up it stops
with the state as it was and says so, and `homotopy.orient` takes over for one break-point.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from homotopy.gram.products import FAST, OPTIONS, weighted_rows
from homotopy.model.polyline import JUMP, SEAM

__all__ = [
    "back_substitute",
    "close_window",
    "follow",
    "forward_substitute",
    "nearest_corner",
    "new_column",
    "reaches",
    "remove_column",
    "standing",
    "total_loss",
    "write_flat",
]

# Called by no one but the functions here.
INNER = OPTIONS | {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


# Inner loops run over slices from 0 on: only then does the compiler know that no index is negative,
# and vectorises.


@njit(**OPTIONS, fastmath=FAST)
def forward_substitute(factor, size, x):  # type: ignore[no-untyped-def]
    """Solve ``R^T x = x`` in place; R is the leading `size` block of `factor`, upper triangular."""
    for i in range(size):
        value = x[i] / factor[i, i]
        x[i] = value
        row, rest = factor[i, i + 1 : size], x[i + 1 : size]
        for j in range(row.size):
            rest[j] -= row[j] * value


@njit(**OPTIONS, fastmath=FAST)
def back_substitute(factor, size, x):  # type: ignore[no-untyped-def]
    """Solve ``R x = x`` in place."""
    for i in range(size - 1, -1, -1):
        row, rest = factor[i, i + 1 : size], x[i + 1 : size]
        total = 0.0
        for j in range(row.size):
            total += row[j] * rest[j]
        x[i] = (x[i] - total) / factor[i, i]


@njit(**OPTIONS, fastmath=FAST)
def new_column(factor, size, column, diagonal):  # type: ignore[no-untyped-def]
    """Turn the products of a new coordinate into its column of R, in place; return the squared
    pivot, which may be <= 0: the caller decides whether the column is independent."""
    forward_substitute(factor, size, column)
    for j in range(size):
        diagonal -= column[j] * column[j]
    return diagonal


@njit(**OPTIONS, fastmath=FAST)
def remove_column(factor, size, position, cosine, sine, spike):  # type: ignore[no-untyped-def]
    """Delete one coordinate: Givens rotations of neighbouring rows make R triangular again.

    The rotations stay behind in `cosine` and `sine` (from `position` on), for `_rotate`.
    """
    for i in range(position):
        row = factor[i, position:size]
        for j in range(row.size - 1):
            row[j] = row[j + 1]
    first = factor[position, position:size]
    for j in range(first.size):
        spike[j] = first[j]
    for i in range(position, size - 1):
        gone = i + 1 - position
        old, other = factor[i + 1, i + 1], spike[gone]
        length = math.hypot(old, other)
        c, s = old / length, other / length
        cosine[i], sine[i] = c, s
        factor[i, i] = length
        above, below = factor[i, i + 1 : size - 1], factor[i + 1, i + 2 : size]
        rest = spike[gone + 1 : size - position]
        for j in range(above.size):
            x, y = below[j], rest[j]
            above[j] = c * x + s * y
            rest[j] = c * y - s * x


@njit(**INNER)
def _rotate(x, size, position, cosine, sine):  # type: ignore[no-untyped-def]
    """Bring ``x = R^{-T} right`` along when `remove_column` has deleted an entry of `right`."""
    spike = x[position]
    for j in range(position, size - 1):
        old = x[j + 1]
        x[j] = cosine[j] * old + sine[j] * spike
        spike = cosine[j] * spike - sine[j] * old


@njit(**OPTIONS)
def nearest_corner(  # type: ignore[no-untyped-def]
    near, count, u, du, low0, low1, high0, high1, shift, t, mu, dt, dmu, sign, still
):
    """The length of step at which the first flat coordinate meets a corner it moves towards.

    A coordinate whose speed towards the corner is at most `still` does not move.  Gaps are
    clipped at zero.  Returns ``inf`` where nothing comes near.
    """
    best = np.inf
    for k in range(count):
        i = near[k]
        pace = shift[i] * dmu
        place = shift[i] * mu - u[i]
        speed = sign * (du[i] - high1[i] * dt - pace)
        if speed > still:
            step = max(high0[i] + high1[i] * t + place, 0.0)
            if step < best * speed:
                best = step / speed
        speed = sign * (low1[i] * dt + pace - du[i])
        if speed > still:
            step = max(-low0[i] - low1[i] * t - place, 0.0)
            if step < best * speed:
                best = step / speed
    return best


@njit(**OPTIONS)
def standing(  # type: ignore[no-untyped-def]
    near, count, u, low0, low1, high0, high1, shift, t, mu, within, found
):
    """Write the flat coordinates within `within` of a corner to `found`; return how many."""
    tied = 0
    for k in range(count):
        i = near[k]
        place = u[i] - shift[i] * mu
        if high0[i] + high1[i] * t - place <= within or place - low0[i] - low1[i] * t <= within:
            found[tied] = i
            tied += 1
    return tied


@njit(**OPTIONS)
def total_loss(slope0, slope1, corner0, corner1, curvature, t, u, origin):  # type: ignore[no-untyped-def]
    """The sum of ``L_i(u_i) = -integral of alpha from origin_i to u_i`` along each polyline.

    Infinite slopes are walls (the loss is 0 or infinite there); they contribute nothing here, being
    on the right side of a wall is the certificate's business.
    """
    total = 0.0
    corners = corner0.shape[1]
    for i in range(u.size):
        low = -np.inf
        for j in range(corners + 1):
            high = corner0[i, j] + corner1[i, j] * t if j < corners else np.inf
            right, left = min(max(u[i], low), high), min(max(origin[i], low), high)
            width = right - left
            value = slope0[i, j] + slope1[i, j] * t
            if math.isfinite(width) and math.isfinite(value) and width != 0.0:
                total -= width * (value - 0.5 * curvature[i, j] * (right + left))
            low = high
    return total


@njit(**OPTIONS)
def write_flat(  # type: ignore[no-untyped-def]
    alpha, piece, slope0, slope1, curvature, lift, t, mu
):
    """Write alpha of the coordinates on flat slopes."""
    for i in range(alpha.size):
        p = piece[i]
        if p % 2 == 0:
            j = p // 2
            if curvature[i, j] == 0.0:
                alpha[i] = slope0[i, j] + slope1[i, j] * t + lift[i] * mu


@njit(**OPTIONS)
def reaches(  # type: ignore[no-untyped-def]
    u, low0, low1, high0, high1, shift, border, length, t, mu, weights, near, settling, out
):
    """How far each flat coordinate is from its corners, in units of what w, b and t may do to it.

    `weights` are those of b and of t against w; only the shift moves corners while settling.
    """
    for i in range(u.size):
        place = u[i] - shift[i] * mu
        gap = min(high0[i] + high1[i] * t - place, place - low0[i] - low1[i] * t) - 2.0 * near
        move = abs(shift[i]) if settling else max(abs(low1[i]), abs(high1[i]))
        speed = length[i]
        if weights[0] > 0.0:
            speed = max(speed, abs(border[i]) / weights[0])
        if weights[1] > 0.0:
            speed = max(speed, move / weights[1])
        out[i] = gap / max(speed, 1e-300)


# What the compiled travel works on, in few arrays: every array passed costs time to compile.


class Form(NamedTuple):
    """The quadratic form: rows of Q (``store[slot[i]]``), or features, dense or in CSR form;
    `packed` holds the dense features of those looked at in a window by place, a row a feature."""

    store: Any
    slot: Any
    phi: Any
    packed: Any
    data: Any
    indices: Any
    indptr: Any


class Lines(NamedTuple):
    """The polylines of a route (see `homotopy.route`); value and rate lie behind each other."""

    slopes: Any
    corners: Any
    kind: Any


class Place(NamedTuple):
    """Where the follower stands: a row for each of the names below, a column a coordinate.

    `packed` is the same for those looked at in a window by place, side by side.
    """

    grid: Any
    packed: Any
    cells: Any
    found: Any


# Rows of `grid`, and of `cells`.
(
    ALPHA,
    U,
    DU,
    LOW0,
    LOW1,
    HIGH0,
    HIGH1,
    LIFTED,
    SHIFTED,
    BORDER,
    DIAG,
    ROOT,
    GAPS,
    TIMES,
    SEEN,
) = range(15)
PIECE, SIDE, NEAR, SEAT, COUNTING = range(5)
GRID, CELLS = 15, 5


class Active(NamedTuple):
    """The factor and what belongs to it: a row for each of the names below, a column an active
    coordinate.  `pull` and the rows of `space` (w', w, w when last all were looked at) belong to
    the moving slopes and to features.

    The rest belongs to a window by turn: `panel` holds the rows of Q at the coordinates looked at,
    LINE which row of it belongs to each active coordinate; INDEX_SEEN and ALPHA_SEEN are the active
    coordinates when it was opened, PIECE_SEEN the pieces then of those looked at.
    """

    factor: Any
    reals: Any
    wholes: Any
    pull: Any
    space: Any
    panel: Any
    sums: Any
    lists: Any


# Rows of `reals`, `wholes`, `space`, `sums` and `lists`.
COSINE, SINE, SCRATCH, RIGHT, EDGE, RATE, ALPHA_SEEN = range(7)
INDEX, LINE, SLOTS, FREE_LINES, INDEX_SEEN = range(5)
DW, W, W_SEEN = range(3)
SUMS, WEIGHTS = range(2)
PIECE_SEEN, ROW_LIST = range(2)
REAL_ROWS, WHOLE_ROWS = 7, 5


class Record(NamedTuple):
    """Segments and changes of piece on their way to the path."""

    active: Any
    alphas: Any
    ends: Any
    offsets: Any
    log: Any


# How Q is given.
ROWS, DENSE, SPARSE = 0, 1, 2
# What `follow` comes back with.
ARRIVED, DUE, HARD, WALL, WANTED, FULL, REACHED, DONE = 0, 1, 2, 3, 4, 5, 6, 7
# Entries of `real`.
(
    TAU,
    START,
    STOP,
    T,
    B,
    DB,
    NEAR_U,
    NEAR_A,
    RHO,
    TARGET,
    BALANCE,
    LARGEST,
    PULL,
    REACH,
    B_SEEN,
    T_SEEN,
    B_WEIGHT,
    T_WEIGHT,
    LIFT,
    SQUARE,
    NORM_SEEN,
    INNER_SEEN,
    LIFT_SEEN,
    SPENT,
    HORIZON,
    TAU_SEEN,
    T_SPENT,
) = range(27)
REALS = 27
# Entries of `whole`.
(
    MODE,
    BORDERED,
    ALONG,
    PIN,
    SIZE,
    STEPS,
    LIMIT,
    PIVOTS,
    SOLVED,
    RATED,
    READY,
    RECORDS,
    SEGMENTS,
    LOGGED,
    WANT,
    TIED,
    WINDOW,
    LOOKED,
    LINES,
    SIZE_SEEN,
    LOOKED_SEEN,
    STEPS_SEEN,
    WANTED_ACROSS,
    WANTED_ALONG,
    HEAVY_ACROSS,
    HEAVY_ALONG,
    LEAST_WANTED,
    AHEAD,
    ENOUGH_ACROSS,
    ENOUGH_ALONG,
    OPENED,
    PAUSE,
    PACKED,
) = range(33)
WHOLES = 33
# Windows: none, by how far w has gone (features), by how far w' has turned (rows).
NO_WINDOW, BY_PLACE, BY_TURN = 0, 1, 2

EPS = float(np.finfo(np.float64).eps)
# Coordinates that may join those looked at while a window is open.
SPARE = 64
# Steps without a window after one that did not last.
REST = 8
# Pivots at one point before the case is handed over.
PIVOTS_HERE = 12


@njit(**INNER, fastmath=FAST)
def _inner(phi, data, indices, indptr, i, index, size, out):  # type: ignore[no-untyped-def]
    """``Q_ij`` on features, for j in `index`."""
    if phi.size:
        for k in range(size):
            j = index[k]
            total = 0.0
            for c in range(phi.shape[1]):
                total += phi[i, c] * phi[j, c]
            out[k] = total
        return
    for k in range(size):
        total = 0.0
        p, q = indptr[i], indptr[index[k]]
        p_end, q_end = indptr[i + 1], indptr[index[k] + 1]
        while p < p_end and q < q_end:
            if indices[p] == indices[q]:
                total += data[p] * data[q]
                p += 1
                q += 1
            elif indices[p] < indices[q]:
                p += 1
            else:
                q += 1
        out[k] = total


@njit(**INNER, fastmath=FAST)
def _response(phi, data, indices, indptr, i, w):  # type: ignore[no-untyped-def]
    """``<phi_i, w>``."""
    total = 0.0
    if phi.size:
        for c in range(phi.shape[1]):
            total += phi[i, c] * w[c]
    else:
        for p in range(indptr[i], indptr[i + 1]):
            total += data[p] * w[indices[p]]
    return total


@njit(**INNER, fastmath=FAST)
def _responses(phi, data, indices, indptr, rows, count, w, out):  # type: ignore[no-untyped-def]
    """``out[i] = <phi_i, w>`` for i in `rows`.

    Not by `_response`: the call in the loop made a whole path a fifth slower.
    """
    if phi.size:
        for k in range(count):
            i = rows[k]
            total = 0.0
            for c in range(phi.shape[1]):
                total += phi[i, c] * w[c]
            out[i] = total
        return
    for k in range(count):
        i = rows[k]
        total = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            total += data[p] * w[indices[p]]
        out[i] = total


@njit(**INNER)
def _add_row(phi, data, indices, indptr, i, weight, w):  # type: ignore[no-untyped-def]
    """``w += weight * phi_i``."""
    if phi.size:
        for c in range(phi.shape[1]):
            w[c] += weight * phi[i, c]
    else:
        for p in range(indptr[i], indptr[i + 1]):
            w[indices[p]] += weight * data[p]


@njit(**INNER)
def _pulled(form, here, act, real, mode, i):  # type: ignore[no-untyped-def]
    """The part of u_i' that comes from the moving slopes."""
    if mode == ROWS:
        pull = act.pull[i]
    else:
        pull = _response(form.phi, form.data, form.indices, form.indptr, i, act.pull)
    return pull + real[RHO] * here.grid[BORDER, i] * real[BALANCE]


@njit(**INNER)
def _aim(form, lines, here, act, real, whole, i):  # type: ignore[no-untyped-def]
    """The right-hand side of the active system for coordinate i on a knot."""
    if whole[ALONG]:
        aim = lines.corners[1, i, here.cells[PIECE, i] // 2]
    else:
        aim = here.grid[SHIFTED, i]
    return aim - _pulled(form, here, act, real, whole[MODE], i)


@njit(**INNER, fastmath=FAST)
def _solve(form, lines, here, act, real, whole):  # type: ignore[no-untyped-def]
    """alpha_A', b' and w'; False where the border has no support."""
    size, mode = whole[SIZE], whole[MODE]
    if not whole[READY]:
        for k in range(size):
            act.reals[RIGHT, k] = _aim(form, lines, here, act, real, whole, act.wholes[INDEX, k])
            act.reals[EDGE, k] = here.grid[BORDER, act.wholes[INDEX, k]]
        forward_substitute(act.factor, size, act.reals[RIGHT])
        if whole[BORDERED]:
            forward_substitute(act.factor, size, act.reals[EDGE])
        whole[READY] = 1
    rate = act.reals[RATE]
    if whole[BORDERED]:
        schur, cross = 0.0, 0.0
        for k in range(size):
            schur += act.reals[EDGE, k] * act.reals[EDGE, k]
            cross += act.reals[EDGE, k] * act.reals[RIGHT, k]
        if not schur * real[RHO] > 1e-12:
            return False
        db = (cross - (real[TARGET] - real[BALANCE])) / schur
        real[DB] = db
        for k in range(size):
            rate[k] = act.reals[RIGHT, k] - db * act.reals[EDGE, k]
    else:
        real[DB] = 0.0
        for k in range(size):
            rate[k] = act.reals[RIGHT, k]
    back_substitute(act.factor, size, rate)
    if mode != ROWS:
        dw, index = act.space[DW], act.wholes[INDEX]
        phi, data, indices, indptr = form.phi, form.data, form.indices, form.indptr
        pull = act.pull
        for c in range(dw.size):
            dw[c] = pull[c]
        for k in range(size):
            _add_row(phi, data, indices, indptr, index[k], rate[k], dw)
    lift = real[DB] + real[RHO] * real[BALANCE]
    if whole[BORDERED]:
        for k in range(size):
            lift += real[RHO] * here.grid[BORDER, act.wholes[INDEX, k]] * rate[k]
    real[LIFT] = lift
    return True


@njit(**INNER, fastmath=FAST)
def _rate_of(form, here, act, real, whole, i):  # type: ignore[no-untyped-def]
    """u_i' for the present direction."""
    if whole[MODE] == ROWS:
        store, slot, index, rate = form.store, form.slot, act.wholes[INDEX], act.reals[RATE]
        total = act.pull[i]
        own = slot[i]
        if own >= 0:
            for k in range(whole[SIZE]):
                total += store[own, index[k]] * rate[k]
        else:
            for k in range(whole[SIZE]):
                total += store[slot[index[k]], i] * rate[k]
    else:
        total = _response(form.phi, form.data, form.indices, form.indptr, i, act.space[DW])
    return total + here.grid[BORDER, i] * real[LIFT]


@njit(**INNER)
def _all_rates(form, here, act, real, whole):  # type: ignore[no-untyped-def]
    """u' of the coordinates looked at; returns the largest."""
    du, lift, size, near = here.grid[DU], real[LIFT], whole[SIZE], here.cells[NEAR]
    border, pull, work, count = here.grid[BORDER], act.pull, act.wholes[SLOTS], whole[LOOKED]
    largest = 0.0
    if whole[WINDOW] == BY_TURN:
        sums = act.sums[SUMS][:count]
        for k in range(count):
            sums[k] = 0.0
        weighted_rows(act.panel, act.wholes[LINE][:size], act.reals[RATE][:size], sums)
        for k in range(count):
            i = near[k]
            du[i] = sums[k] + pull[i] + lift * border[i]
            largest = max(largest, abs(du[i]))
        return largest
    if whole[MODE] == ROWS:
        n = du.size
        for j in range(n):
            du[j] = pull[j] + lift * border[j]
        slot, index = form.slot, act.wholes[INDEX]
        for k in range(size):
            work[k] = slot[index[k]]
        weighted_rows(form.store, work[:size], act.reals[RATE][:size], du)
        for j in range(n):
            largest = max(largest, abs(du[j]))
        return largest
    dw = act.space[DW]
    if whole[PACKED]:
        near, border = here.cells[COUNTING], here.packed[BORDER]
        du = here.packed[DU]
        for k in range(count):
            du[k] = 0.0
        weighted_rows(form.packed, near[: dw.size], dw, du[:count])
    else:
        _responses(form.phi, form.data, form.indices, form.indptr, near, count, dw, du)
    for k in range(count):
        i = near[k]
        du[i] += border[i] * lift
        largest = max(largest, abs(du[i]))
    return largest


@njit(**INNER)
def _set_piece(lines, here, rec, whole, i, piece, side):  # type: ignore[no-untyped-def]
    entry = rec.log[whole[LOGGED]]
    entry[0], entry[1], entry[2], entry[3] = i, here.cells[PIECE, i], here.cells[SIDE, i], piece
    whole[LOGGED] += 1
    here.cells[PIECE, i], here.cells[SIDE, i] = piece, side
    here.grid[LOW0, i], here.grid[LOW1, i] = -np.inf, 0.0
    here.grid[HIGH0, i], here.grid[HIGH1, i] = np.inf, 0.0
    if piece % 2 == 0:
        j = piece // 2
        if j > 0:
            here.grid[LOW0, i] = lines.corners[0, i, j - 1]
            here.grid[LOW1, i] = lines.corners[1, i, j - 1]
        if j < lines.kind.shape[1]:
            here.grid[HIGH0, i] = lines.corners[0, i, j]
            here.grid[HIGH1, i] = lines.corners[1, i, j]
    if whole[PACKED]:
        k = here.cells[SEAT, i]
        for row in range(LOW0, HIGH1 + 1):
            here.packed[row, k] = here.grid[row, i]
    whole[PIVOTS] += 1
    whole[SOLVED] = 0
    whole[RATED] = 0


@njit(**INNER)
def _pull_on(form, lines, here, act, real, whole, i, j, sign):  # type: ignore[no-untyped-def]
    """Slope j of coordinate i joins (sign 1) or leaves (-1) the moving slopes; its row is there."""
    rate = lines.slopes[1, i, j] if whole[ALONG] else here.grid[LIFTED, i]
    if rate == 0.0:
        return
    rate *= sign
    if whole[MODE] == ROWS:
        weight = here.grid[DIAG, i] - real[RHO] * here.grid[BORDER, i] * here.grid[BORDER, i]
        real[SQUARE] += rate * (2.0 * act.pull[i] + rate * weight)
        store, slot, pull = form.store, form.slot[i], act.pull
        largest = 0.0
        for k in range(pull.size):
            pull[k] += rate * store[slot, k]
            largest = max(largest, abs(pull[k]))
        real[PULL] = largest
    else:
        pull = act.pull
        _add_row(form.phi, form.data, form.indices, form.indptr, i, rate, pull)
        total = 0.0
        for k in range(pull.size):
            total += pull[k] * pull[k]
        real[PULL] = math.sqrt(total) * real[LARGEST]
    real[BALANCE] += rate * here.grid[BORDER, i]
    whole[READY] = 0


@njit(**INNER)
def _slope_now(lines, here, real, whole, i, j):  # type: ignore[no-untyped-def]
    mu = 0.0 if whole[ALONG] else real[TAU]
    return lines.slopes[0, i, j] + lines.slopes[1, i, j] * real[T] + here.grid[LIFTED, i] * mu


@njit(**INNER)
def _remove(act, whole, position):  # type: ignore[no-untyped-def]
    size = whole[SIZE]
    remove_column(
        act.factor, size, position, act.reals[COSINE], act.reals[SINE], act.reals[SCRATCH]
    )
    if whole[READY]:
        _rotate(act.reals[RIGHT], size, position, act.reals[COSINE], act.reals[SINE])
        _rotate(act.reals[EDGE], size, position, act.reals[COSINE], act.reals[SINE])
    index, line = act.wholes[INDEX], act.wholes[LINE]
    if whole[WINDOW] == BY_TURN:
        act.wholes[FREE_LINES, whole[LINES]] = line[position]
        whole[LINES] += 1
    for k in range(position, size - 1):
        index[k] = index[k + 1]
        line[k] = line[k + 1]
    whole[SIZE] = size - 1


@njit(**INNER)
def _enter(form, lines, here, rec, act, real, whole, i, corner, slope, side):  # type: ignore[no-untyped-def]
    """Coordinate i goes from a flat slope onto a knot; returns DONE or what is in the way."""
    size, mode = whole[SIZE], whole[MODE]
    if size == act.factor.shape[0]:
        return FULL
    row = act.reals[RATE]
    if mode == ROWS:
        if form.slot[i] < 0:
            whole[WANT] = i
            return WANTED
        store, slot, index = form.store, form.slot[i], act.wholes[INDEX]
        for k in range(size):
            row[k] = store[slot, index[k]]
    else:
        _inner(form.phi, form.data, form.indices, form.indptr, i, act.wholes[INDEX], size, row)
    whole[SOLVED] = 0
    if whole[BORDERED]:
        weight = real[RHO] * here.grid[BORDER, i]
        for k in range(size):
            row[k] += weight * here.grid[BORDER, act.wholes[INDEX, k]]
    pivot = new_column(act.factor, size, row, here.grid[DIAG, i])
    if not pivot > 1e-4 * here.grid[DIAG, i]:
        # See `Pivots._admit`: dependence is judged by the Rayleigh quotient.
        mass = here.grid[DIAG, i]
        spare, diag, index = act.reals[SCRATCH], here.grid[DIAG], act.wholes[INDEX]
        for k in range(size):
            spare[k] = row[k]
        back_substitute(act.factor, size, spare)
        for k in range(size):
            mass += spare[k] * spare[k] * diag[index[k]]
        if not pivot > 16.0 * EPS * (1.0 + math.sqrt(size)) * mass:
            return HARD
    alpha = _slope_now(lines, here, real, whole, i, slope)
    _pull_on(form, lines, here, act, real, whole, i, slope, -1.0)
    here.grid[ALPHA, i] = alpha
    _set_piece(lines, here, rec, whole, i, 2 * corner + 1, side)
    pivot = math.sqrt(pivot)
    rows, rights, edges = act.factor, act.reals[RIGHT], act.reals[EDGE]
    for k in range(size):
        rows[k, size] = row[k]
    rows[size, size] = pivot
    act.wholes[INDEX, size] = i
    if whole[WINDOW] == BY_TURN:
        whole[LINES] -= 1
        line = act.wholes[FREE_LINES, whole[LINES]]
        act.wholes[LINE, size] = line
        panel, near, store, slot = act.panel, here.cells[NEAR], form.store, form.slot[i]
        for k in range(whole[LOOKED]):
            panel[line, k] = store[slot, near[k]]
    if whole[READY]:
        right, edge = _aim(form, lines, here, act, real, whole, i), here.grid[BORDER, i]
        for k in range(size):
            right -= row[k] * rights[k]
            edge -= row[k] * edges[k]
        rights[size] = right / pivot
        edges[size] = edge / pivot
    whole[SIZE] = size + 1
    return DONE


@njit(**INNER)
def _pulls(lines, here, whole, i, way):  # type: ignore[no-untyped-def]
    """Whether a slope that coordinate i leaves or takes up moves."""
    if not whole[ALONG]:
        return here.grid[LIFTED, i] != 0.0
    piece = here.cells[PIECE, i]
    j = piece // 2
    if piece % 2 == 1:
        return lines.slopes[1, i, j if way > 0 else j + 1] != 0.0
    if lines.slopes[1, i, j] != 0.0:
        return True
    seam = lines.kind[i, j if way > 0 else j - 1] == SEAM
    return seam and lines.slopes[1, i, j + way] != 0.0


@njit(**INNER)
def _look_at(form, here, act, whole, i):  # type: ignore[no-untyped-def]
    """Take coordinate i, which has just left the factor, among those looked at."""
    if here.cells[SEAT, i] >= 0:
        return
    k = whole[LOOKED]
    here.cells[NEAR, k], here.cells[SEAT, i] = i, k
    whole[LOOKED] = k + 1
    panel, store, own, index, line = (
        act.panel,
        form.store,
        form.slot[i],
        act.wholes[INDEX],
        act.wholes[LINE],
    )
    for a in range(whole[SIZE]):
        panel[line[a], k] = store[own, index[a]]


@njit(**INNER)
def _smallest(values, k):  # type: ignore[no-untyped-def]
    """The k-th smallest (from 0) of `values`, which come out rearranged."""
    first, last = 0, values.size - 1
    while first < last:
        middle = values[(first + last) // 2]
        i, j = first, last
        while i <= j:
            while values[i] < middle:
                i += 1
            while values[j] > middle:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if k <= j:
            last = j
        elif k >= i:
            first = i
        else:
            break
    return values[k]


@njit(**INNER)
def _open_window(form, here, act, real, whole):  # type: ignore[no-untyped-def]
    """Choose the coordinates that may meet a corner soon, for the direction just taken.

    As long as w' is what it is now, u_i goes on at u_i'.  w' turns at every break-point; what that
    does to u_i is at most ``|phi_i|`` times the length of ``w - w_seen - w'_seen dtau``, bounded by
    the sum of ``|w' - w'_seen| dtau``.  Those that stay farther than the reach from their corners,
    over the horizon and at the speed they have now, need no look.
    """
    u, du, piece, shift = here.grid[U], here.grid[DU], here.cells[PIECE], here.grid[SHIFTED]
    low0, low1, high0, high1 = here.grid[LOW0], here.grid[LOW1], here.grid[HIGH0], here.grid[HIGH1]
    border, root, near, seat = (
        here.grid[BORDER],
        here.grid[ROOT],
        here.cells[NEAR],
        here.cells[SEAT],
    )
    gaps, times, seen = here.grid[GAPS], here.grid[TIMES], here.grid[SEEN]
    along, t, tau, n = whole[ALONG] != 0, real[T], real[TAU], u.size
    mu = 0.0 if along else tau
    dt = 1.0 if along else 0.0
    dmu = 1.0 - dt
    sign = 1.0 if real[STOP] > real[START] else -1.0
    left = abs(real[STOP] - tau)
    way = WANTED_ALONG if along else WANTED_ACROSS
    wanted = whole[way]
    for i in range(n):
        place, pace = u[i] - shift[i] * mu, shift[i] * dmu
        over, under = high0[i] + high1[i] * t - place, place - low0[i] - low1[i] * t
        closing = sign * (du[i] - high1[i] * dt - pace)
        opening = sign * (low1[i] * dt + pace - du[i])
        soon = np.inf
        if closing > 0.0:
            soon = over / closing
        if opening > 0.0:
            soon = min(soon, under / opening)
        times[i] = soon
    horizon = left
    if n > whole[AHEAD]:
        horizon = min(left, _smallest(times, whole[AHEAD]))
    if not horizon > 0.0:
        horizon = left
    for i in range(n):
        place, pace = u[i] - shift[i] * mu, shift[i] * dmu
        over, under = high0[i] + high1[i] * t - place, place - low0[i] - low1[i] * t
        closing = sign * (du[i] - high1[i] * dt - pace)
        opening = sign * (low1[i] * dt + pace - du[i])
        gap = min(min(over, over - horizon * closing), min(under, under - horizon * opening))
        # root bounds both the length of phi_i and, times sqrt(rho), what b does.
        gap = (gap - 2.0 * real[NEAR_U]) / max(root[i], 1e-300)
        gaps[i] = gap
        times[i] = gap
    room = act.panel.shape[1] - SPARE
    if wanted >= min(n, room):
        return
    reach = _smallest(times, wanted)
    if not reach > 0.0:
        whole[way] = min(wanted + wanted // 2, n // 4, room - 1)
        whole[PAUSE] = whole[STEPS] + REST
        return
    count = 0
    for i in range(n):
        if gaps[i] <= reach and piece[i] % 2 == 0:
            count += 1
    if count > room:
        whole[PAUSE] = whole[STEPS] + REST
        return
    count = 0
    for i in range(n):
        seat[i] = -1
        if gaps[i] <= reach and piece[i] % 2 == 0:
            near[count] = i
            act.lists[PIECE_SEEN, count] = piece[i]
            seat[i] = count
            count += 1
    size, lift = whole[SIZE], real[LIFT]
    index, line, rate, pull = act.wholes[INDEX], act.wholes[LINE], act.reals[RATE], act.pull
    store, slot, panel = form.store, form.slot, act.panel
    norm, inner = real[SQUARE], 0.0
    for i in range(n):
        seen[i] = du[i] - border[i] * lift
    for k in range(size):
        i = index[k]
        line[k] = k
        row = slot[i]
        for c in range(count):
            panel[k, c] = store[row, near[c]]
        act.wholes[INDEX_SEEN, k], act.reals[ALPHA_SEEN, k] = i, here.grid[ALPHA, i]
        norm += rate[k] * (seen[i] + pull[i])
        inner += rate[k] * seen[i]
    free = panel.shape[0] - size
    for k in range(free):
        act.wholes[FREE_LINES, k] = panel.shape[0] - 1 - k
    whole[LINES], whole[LOOKED], whole[LOOKED_SEEN] = free, count, count
    whole[SIZE_SEEN], whole[STEPS_SEEN] = size, whole[STEPS]
    real[NORM_SEEN], real[INNER_SEEN], real[LIFT_SEEN] = norm, norm - inner, lift
    real[SPENT], real[REACH] = 0.0, reach
    real[HORIZON] = tau + sign * horizon
    real[B_SEEN], real[TAU_SEEN] = real[B], tau
    real[B_WEIGHT] = 1.0 / math.sqrt(real[RHO]) if real[RHO] > 0.0 else 0.0
    whole[WINDOW] = BY_TURN
    whole[OPENED] += 1


@njit(**OPTIONS, fastmath=FAST)
def close_window(form, lines, here, act, real, whole):  # type: ignore[no-untyped-def]
    """Bring u of all coordinates up to date after a window by turn, and look at all again."""
    along = whole[ALONG] != 0
    way, enough = WANTED_ACROSS, whole[ENOUGH_ACROSS]
    if along:
        way, enough = WANTED_ALONG, whole[ENOUGH_ALONG]
    spent = real[SPENT] / real[REACH]
    if spent < 0.5:
        whole[way] = max(whole[way] - whole[way] // 4, whole[LEAST_WANTED])
    elif spent > 0.9 and whole[STEPS] - whole[STEPS_SEEN] < enough:
        most = min(here.grid.shape[1] // 4, act.panel.shape[1] - SPARE - 1)
        whole[way] = max(min(whole[way] + whole[way] // 2, most), whole[LEAST_WANTED])
        if whole[STEPS] - whole[STEPS_SEEN] < enough // 3:
            whole[PAUSE] = whole[STEPS] + REST
    u, piece, near, du = here.grid[U], here.cells[PIECE], here.cells[NEAR], here.grid[DU]
    gone, lift = real[TAU] - real[TAU_SEEN], real[B] - real[B_SEEN]
    pull, border = act.pull, here.grid[BORDER]
    for i in range(u.size):
        du[i] = gone * pull[i] + lift * border[i]
    # Whoever was or is active has moved by more than its slope.
    count = 0
    size = whole[SIZE_SEEN]
    rows, weights = act.lists[ROW_LIST], act.sums[WEIGHTS]
    for k in range(size):
        i = act.wholes[INDEX_SEEN, k]
        now = here.grid[ALPHA, i]
        if piece[i] % 2 == 0:
            now = _slope_now(lines, here, real, whole, i, piece[i] // 2)
        if now != act.reals[ALPHA_SEEN, k]:
            rows[count], weights[count] = form.slot[i], now - act.reals[ALPHA_SEEN, k]
            count += 1
    for k in range(whole[LOOKED_SEEN]):
        i = near[k]
        if piece[i] != act.lists[PIECE_SEEN, k]:
            j = act.lists[PIECE_SEEN, k] // 2
            if along:
                then = lines.slopes[0, i, j] + lines.slopes[1, i, j] * real[TAU_SEEN]
                moved = lines.slopes[1, i, j] * gone
            else:
                then = lines.slopes[0, i, j] + lines.slopes[1, i, j] * real[T]
                then += here.grid[LIFTED, i] * real[TAU_SEEN]
                moved = here.grid[LIFTED, i] * gone
            now = here.grid[ALPHA, i]
            if piece[i] % 2 == 0:
                now = _slope_now(lines, here, real, whole, i, piece[i] // 2)
            rows[count], weights[count] = form.slot[i], now - then - moved
            count += 1
    weighted_rows(form.store, rows[:count], weights[:count], du)
    for k in range(whole[LOOKED]):
        du[near[k]] = 0.0
    for i in range(u.size):
        u[i] += du[i]
        near[i] = i
    whole[LOOKED] = u.size
    whole[WINDOW] = NO_WINDOW
    whole[RATED] = 0


@njit(**INNER, fastmath=FAST)
def _turned(here, lines, act, real, whole):  # type: ignore[no-untyped-def]
    """``|w' - w'_seen|`` and what b adds; w' itself is never formed."""
    border, pull, seen, index, rate = (
        here.grid[BORDER],
        act.pull,
        here.grid[SEEN],
        act.wholes[INDEX],
        act.reals[RATE],
    )
    piece, corner1, shift = here.cells[PIECE], lines.corners[1], here.grid[SHIFTED]
    norm, inner, lift = real[SQUARE], real[INNER_SEEN], real[LIFT]
    size = 0.0
    for k in range(whole[SIZE]):
        i = index[k]
        aim = corner1[i, piece[i] // 2] if whole[ALONG] else shift[i]
        norm += rate[k] * (aim - border[i] * lift + pull[i])
        inner += rate[k] * seen[i]
        size += abs(rate[k] * seen[i])
    size = max(size, max(norm, real[NORM_SEEN]))
    apart = math.sqrt(max(norm - 2.0 * inner + real[NORM_SEEN], 0.0) + 1e-13 * size)
    return apart + real[B_WEIGHT] * abs(lift - real[LIFT_SEEN])


@njit(**OPTIONS)
def follow(form, lines, here, act, rec, real, whole):  # type: ignore[no-untyped-def]
    """Go from break-point to break-point until something is out of the ordinary.

    Returns one of the codes above.  Whatever it is the state is consistent, but for u outside of a
    window that is open: `close_window` sees to that.
    """
    alpha, u, du, piece, side = (
        here.grid[ALPHA],
        here.grid[U],
        here.grid[DU],
        here.cells[PIECE],
        here.cells[SIDE],
    )
    low0, low1, high0, high1 = here.grid[LOW0], here.grid[LOW1], here.grid[HIGH0], here.grid[HIGH1]
    found, near, kind, shift = here.found, here.cells[NEAR], lines.kind, here.grid[SHIFTED]
    lift, slope0, slope1 = here.grid[LIFTED], lines.slopes[0], lines.slopes[1]
    index, rates, root = act.wholes[INDEX], act.reals[RATE], here.grid[ROOT]
    dw, w, w_seen = act.space[DW], act.space[W], act.space[W_SEEN]
    pin, along = whole[PIN] != 0, whole[ALONG] != 0
    start, stop = real[START], real[STOP]
    sign = 1.0 if stop > start else -1.0
    dt = 1.0 if along else 0.0
    dmu = 1.0 - dt
    seat = here.cells[SEAT]
    packed = whole[PACKED] != 0
    # Those looked at: side by side where they are packed, else in their places.
    look, lu, ldu, lshift = near, u, du, shift
    llow0, llow1, lhigh0, lhigh1 = low0, low1, high0, high1
    if packed:
        look, lu, ldu = here.cells[COUNTING], here.packed[U], here.packed[DU]
        lshift, llow0, llow1 = here.packed[SHIFTED], here.packed[LOW0], here.packed[LOW1]
        lhigh0, lhigh1 = here.packed[HIGH0], here.packed[HIGH1]
    tied_ready = False
    tied = 0
    while True:
        tau, t = real[TAU], real[T]
        mu = 0.0 if along else tau
        if tau == stop:
            return ARRIVED
        if whole[STEPS] >= whole[LIMIT]:
            return DUE
        size = whole[SIZE]
        if whole[LOGGED] + PIVOTS_HERE + 1 >= rec.log.shape[0]:
            return FULL
        if whole[RECORDS] >= 0 and (
            whole[SEGMENTS] >= rec.offsets.shape[0]
            or whole[RECORDS] + size + PIVOTS_HERE + 1 > rec.active.size
        ):
            return FULL
        near_u, near_a = real[NEAR_U], real[NEAR_A]
        if not tied_ready:
            tied = standing(
                look, whole[LOOKED], lu, llow0, llow1, lhigh0, lhigh1, lshift, t, mu, near_u, found
            )
            if packed:
                for q in range(tied):
                    k = found[q]
                    found[q] = near[k]
                    u[near[k]] = lu[k]
        for k in range(size):
            i = index[k]
            j = piece[i] // 2
            top = slope0[i, j] + slope1[i, j] * t + lift[i] * mu
            bottom = slope0[i, j + 1] + slope1[i, j + 1] * t + lift[i] * mu
            if (side[i] <= 0 and top - alpha[i] <= near_a) or (
                side[i] >= 0 and alpha[i] - bottom <= near_a
            ):
                found[tied] = i
                tied += 1
        tied_ready = False
        left = abs(stop - tau)
        pivots = 0
        still_u = still_a = 0.0
        while True:
            if not whole[SOLVED]:
                if not _solve(form, lines, here, act, real, whole):
                    return HARD
                whole[SOLVED] = 1
                whole[RATED] = 0
            size = whole[SIZE]
            mass, fastest = 0.0, 0.0
            for k in range(size):
                mass += abs(rates[k]) * root[index[k]]
                fastest = max(fastest, abs(rates[k]))
            mass = mass * real[LARGEST] + real[PULL]
            still_u = 2.0 * near_u / left + 32.0 * EPS * mass
            still_a = 2.0 * near_a / left + 4.0 * EPS * fastest
            # Plain ints, so that one version of each function below is compiled.
            chosen: Any = np.int64(-1)
            way: Any = np.int64(0)
            walls: Any = np.int64(0)
            for q in range(tied):
                i = found[q]
                if chosen >= 0 and i > chosen:
                    continue
                p = piece[i]
                j = p // 2
                go = 0
                if p % 2 == 1:
                    position = 0
                    while index[position] != i:
                        position += 1
                    rate = rates[position]
                    lifted = lift[i] * mu
                    pace = lift[i] * dmu
                    if (
                        side[i] <= 0
                        and slope0[i, j] + slope1[i, j] * t + lifted - alpha[i] <= near_a
                        and sign * (rate - slope1[i, j] * dt - pace) > still_a
                    ):
                        go = 1
                    elif (
                        side[i] >= 0
                        and alpha[i] - slope0[i, j + 1] - slope1[i, j + 1] * t - lifted <= near_a
                        and sign * (slope1[i, j + 1] * dt + pace - rate) > still_a
                    ):
                        go = -1
                else:
                    speed = du[i] if whole[RATED] else _rate_of(form, here, act, real, whole, i)
                    pace = shift[i] * dmu
                    place = u[i] - shift[i] * mu
                    if (
                        high0[i] + high1[i] * t - place <= near_u
                        and sign * (speed - high1[i] * dt - pace) > still_u
                    ):
                        go = 1
                        if kind[i, j] == JUMP and not pin:
                            # Pressing ones are noted at the far end of `found`.
                            walls += 1
                            found[found.size - walls] = 2 * i + 1
                            go = 0
                    elif (
                        place - low0[i] - low1[i] * t <= near_u
                        and sign * (low1[i] * dt + pace - speed) > still_u
                    ):
                        go = -1
                        if kind[i, j - 1] == JUMP and not pin:
                            walls += 1
                            found[found.size - walls] = 2 * i
                            go = 0
                if go != 0:
                    chosen, way = i, go
            if chosen < 0:
                if walls > 0:
                    whole[TIED] = walls
                    return WALL
                break
            pivots += 1
            if pivots > PIVOTS_HERE:
                return HARD
            i = chosen
            j = piece[i] // 2
            if whole[WINDOW] == BY_TURN and (
                whole[LINES] == 0
                or whole[LOOKED] == act.panel.shape[1]
                or _pulls(lines, here, whole, i, way)
            ):
                close_window(form, lines, here, act, real, whole)
            if piece[i] % 2 == 1:
                slope = j if way > 0 else j + 1
                if whole[MODE] == ROWS and form.slot[i] < 0:
                    whole[WANT] = i
                    return WANTED
                if whole[WINDOW] == BY_TURN:
                    u[i] = lines.corners[0, i, j] + lines.corners[1, i, j] * t + shift[i] * mu
                position = 0
                while index[position] != i:
                    position += 1
                _remove(act, whole, position)
                if whole[WINDOW] == BY_TURN:
                    _look_at(form, here, act, whole, i)
                alpha[i] = _slope_now(lines, here, real, whole, i, slope)
                _set_piece(lines, here, rec, whole, i, 2 * slope, np.int64(0))
                _pull_on(form, lines, here, act, real, whole, i, slope, 1.0)
                continue
            corner = j if way > 0 else j - 1
            beyond = j + 1 if way > 0 else j - 1
            if kind[i, corner] == SEAM:
                if whole[MODE] == ROWS and form.slot[i] < 0:
                    whole[WANT] = i
                    return WANTED
                _pull_on(form, lines, here, act, real, whole, i, j, -1.0)
                _set_piece(lines, here, rec, whole, i, 2 * beyond, np.int64(0))
                alpha[i] = _slope_now(lines, here, real, whole, i, beyond)
                _pull_on(form, lines, here, act, real, whole, i, beyond, 1.0)
                continue
            pinned: Any = np.int64(0)
            if kind[i, corner] == JUMP:
                pinned = -1 if way > 0 else 1
            code = _enter(form, lines, here, rec, act, real, whole, i, corner, j, pinned)
            if code != DONE:
                return code
        if not whole[RATED]:
            largest = _all_rates(form, here, act, real, whole)
            whole[RATED] = 1
            fastest = 0.0
            for k in range(size):
                fastest = max(fastest, abs(rates[k]))
            blur = 4.0 * EPS * abs(tau)
            if packed:
                for q in range(tied):
                    if seat[found[q]] >= 0:
                        du[found[q]] = ldu[seat[found[q]]]
            real[NEAR_U] = near_u = max(near_u, blur * largest)
            real[NEAR_A] = near_a = max(near_a, blur * fastest)
        if not pin:
            # A coordinate that would stay on a jump corner is none of our business here.
            for q in range(tied):
                i = found[q]
                if piece[i] % 2 == 0:
                    j = piece[i] // 2
                    if (
                        j < kind.shape[1]
                        and kind[i, j] == JUMP
                        and abs(high0[i] + high1[i] * t - u[i]) <= near_u
                        and abs(du[i] - high1[i]) <= still_u
                    ) or (
                        j > 0
                        and kind[i, j - 1] == JUMP
                        and abs(low0[i] + low1[i] * t - u[i]) <= near_u
                        and abs(du[i] - low1[i]) <= still_u
                    ):
                        return HARD
        # The step.
        step = nearest_corner(
            look,
            whole[LOOKED],
            lu,
            ldu,
            llow0,
            llow1,
            lhigh0,
            lhigh1,
            lshift,
            t,
            mu,
            dt,
            dmu,
            sign,
            still_u,
        )
        for k in range(size):
            i = index[k]
            j = piece[i] // 2
            rate = rates[k]
            pace, lifted = lift[i] * dmu, lift[i] * mu
            if side[i] <= 0:
                speed = sign * (rate - slope1[i, j] * dt - pace)
                if speed > still_a:
                    room = slope0[i, j] + slope1[i, j] * t + lifted - alpha[i]
                    step = min(step, max(room, 0.0) / speed)
            if side[i] >= 0:
                speed = sign * (slope1[i, j + 1] * dt + pace - rate)
                if speed > still_a:
                    room = alpha[i] - slope0[i, j + 1] - slope1[i, j + 1] * t - lifted
                    step = min(step, max(room, 0.0) / speed)
        step = min(step, left)
        cut = False
        turn = 0.0
        if whole[WINDOW] == BY_TURN:
            turn = _turned(here, lines, act, real, whole)
            room = min((real[REACH] - real[SPENT]) / turn, abs(real[HORIZON] - tau))
            if step > room:
                if not room > 1e-3 * step:
                    close_window(form, lines, here, act, real, whole)
                    continue
                step = room
                cut = True
        elif whole[WINDOW] == BY_PLACE:
            here_by, pace = 0.0, 0.0
            for k in range(w.size):
                here_by += (w[k] - w_seen[k]) ** 2
                pace += dw[k] * dw[k]
            here_by = math.sqrt(here_by) + real[B_WEIGHT] * abs(real[B] - real[B_SEEN])
            here_by += real[T_WEIGHT] * abs(tau - real[T_SEEN]) + real[T_SPENT]
            pace = math.sqrt(pace) + real[B_WEIGHT] * abs(real[DB] + real[RHO] * real[TARGET])
            pace += real[T_WEIGHT]
            room = real[REACH] - here_by
            if step * pace > room:
                if room <= 1e-3 * real[REACH]:
                    return REACHED
                step = room / pace
                cut = True
        arrived = left - step <= 1e-13 * max(abs(stop), abs(start))
        length = step * sign
        real[SPENT] += step * turn
        if arrived:
            after = stop
        else:
            after = tau + length
        recording = whole[RECORDS] >= 0 and after != tau
        if recording:
            base = whole[RECORDS]
            for k in range(size):
                i = index[k]
                rec.active[base + k] = i
                rec.alphas[0, base + k] = alpha[i]
            ends = rec.ends[whole[SEGMENTS]]
            ends[0], ends[1], ends[2] = tau, after, real[B]
        for k in range(size):
            alpha[index[k]] += length * rates[k]
        real[B] += length * (real[DB] + real[RHO] * real[TARGET])
        if whole[MODE] != ROWS:
            for k in range(w.size):
                w[k] += length * dw[k]
        real[TAU] = after
        if along:
            real[T] = after
            t = after
        else:
            mu = after
        whole[STEPS] += 1
        if recording:
            for k in range(size):
                rec.alphas[1, base + k] = alpha[index[k]]
            ends[3] = real[B]
            marks = rec.offsets[whole[SEGMENTS]]
            marks[0], marks[1], marks[2] = base + size, whole[LOGGED], 1 if cut else 0
            whole[RECORDS] = base + size
            whole[SEGMENTS] += 1
        tied = 0
        for k in range(whole[LOOKED]):
            i = look[k]
            lu[i] += length * ldu[i]
            place = lu[i] - lshift[i] * mu
            if (
                lhigh0[i] + lhigh1[i] * t - place <= near_u
                or place - llow0[i] - llow1[i] * t <= near_u
            ):
                found[tied] = near[k]
                tied += 1
                if packed:
                    u[near[k]], du[near[k]] = lu[i], ldu[i]
        tied_ready = True
        if cut:
            if whole[WINDOW] == BY_PLACE:
                return REACHED
            close_window(form, lines, here, act, real, whole)
            tied_ready = False
        elif whole[WINDOW] == NO_WINDOW and whole[MODE] == ROWS and not arrived:
            heavy = whole[HEAVY_ALONG] if along else whole[HEAVY_ACROSS]
            if size * u.size > heavy and whole[STEPS] >= whole[PAUSE]:
                _open_window(form, here, act, real, whole)
