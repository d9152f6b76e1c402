"""Pivots: a coordinate goes from one piece to another.

Most are principal: a coordinate enters the factor or leaves it.  When the entering coordinate is
dependent on A there is a null direction v, ``Q v = 0`` and ``B^T v = 0`` (to rounding): alpha moves
along v, u stays, until another coordinate reaches the end of its knot; the two are *exchanged*.
When the border loses its support on A (A empty with an intercept) b itself is free: it *slides*,
alpha stays, until a coordinate reaches a corner and can take up the balance.

Every function returns `GO`, or says what is in the way before anything has changed: a row of Q that
is not there, arrays that are full.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from homotopy.model.polyline import JUMP, SEAM
from homotopy.tracker.compiling import PART, SUM
from homotopy.tracker.factor import (
    back_substitute,
    forward_substitute,
    remove_column,
    rotate,
)
from homotopy.tracker.rates import (
    ROUNDS,
    add_row,
    aim_of,
    corner_now,
    finish,
    imply,
    imply_all,
    near_a_of,
    near_of,
    prepare,
    product_with,
    response,
    slope_rate,
    slope_value,
)
from homotopy.tracker.state import (
    ARRIVED,
    BY_TURN,
    FULL,
    GO,
    INDEFINITE,
    MISSING,
    RECORD_FULL,
    ROWS,
    STUCK,
    UNBALANCED,
    UNBOUNDED,
    WALLS,
)
from homotopy.tracker.tolerances import EPS
from homotopy.tracker.windows import close_window, look_at, widen

__all__ = ["admit", "cross", "slide"]

# Room in the log for what one pivot may write.
SPARE = 8
# A squared pivot below this fraction of its diagonal has lost digits to cancellation.
CANCELLED = 1e-4
# An alpha that leaves its knot may change its own response by this fraction.
DROPPED = 1e-10
# A hash that tells partitions apart.
MIX, PRIME, SPREAD = 2654435761, 4294967291, 40503


# ------------------------------------------------------------------ what a piece brings with it


@njit(**PART)
def set_fence(core, i):  # type: ignore[no-untyped-def]
    """The corners between which u_i is free; on a knot none, unless it is idle there.  A corner at
    the wrong infinity cuts off nothing."""
    lines, here = core.lines, core.here
    fence, piece = here.fence[i], here.spot[i].piece
    fence.low, fence.low_rate, fence.high, fence.high_rate = -np.inf, 0.0, np.inf, 0.0
    j = piece // 2
    if piece % 2 == 1:
        if here.spot[i].idle:
            fence.low = fence.high = lines.corner[i, j].at
            fence.low_rate = fence.high_rate = lines.corner[i, j].rate
        return
    if j > 0 and lines.corner[i, j - 1].at < np.inf:
        fence.low, fence.low_rate = lines.corner[i, j - 1].at, lines.corner[i, j - 1].rate
    if j < lines.corner.shape[1] and lines.corner[i, j].at > -np.inf:
        fence.high, fence.high_rate = lines.corner[i, j].at, lines.corner[i, j].rate


@njit(**PART)
def branch_of(core, i, piece, side):  # type: ignore[no-untyped-def]
    """The convex branch of a piece: the number of jumps to its left."""
    lines = core.lines
    count = 0
    for j in range(piece // 2):
        count += lines.corner[i, j].kind == JUMP
    if piece % 2 == 1 and side > 0:
        count += 1
    return count


@njit(**PART)
def set_piece(core, i, piece, side):  # type: ignore[no-untyped-def]
    """Write down that coordinate i stands on another piece."""
    lines, here, rec, route = core.lines, core.here, core.rec, core.route
    system, event, jumping, cursor = core.system, core.event, core.jumping, core.cursor
    spot = here.spot[i]
    old, old_side = spot.piece, spot.side
    entry = rec.log[cursor.logged]
    entry.i, entry.piece, entry.side, entry.new = i, old, old_side, piece
    cursor.logged += 1
    if lines.terms.shape[0]:
        if old % 2 == 0 and lines.slope[i, old // 2].bend == 0.0:
            terms = lines.terms[i, old // 2]
            jumping.sum0 -= terms[0]
            jumping.sum1 -= terms[1]
            jumping.sum2 -= terms[2]
        if piece % 2 == 0 and lines.slope[i, piece // 2].bend == 0.0:
            terms = lines.terms[i, piece // 2]
            jumping.sum0 += terms[0]
            jumping.sum1 += terms[1]
            jumping.sum2 += terms[2]
    before, after = branch_of(core, i, old, old_side), branch_of(core, i, piece, side)
    if before != after:
        mixed = (i + 1) * MIX % PRIME
        jumping.hash ^= mixed * (before * SPREAD + 1)
        jumping.hash ^= mixed * (after * SPREAD + 1)
    if not route.along and spot.touched == 0:
        spot.touched = 1
        here.few[event.touched] = i
        event.touched += 1
    if spot.bend > 0.0:
        # From here on u is the response again.
        here.u[i] += spot.miss
        spot.miss = 0.0
    if spot.idle:
        spot.idle = 0
        system.idles -= 1
    spot.piece, spot.side = piece, side
    spot.bend = lines.slope[i, piece // 2].bend if piece % 2 == 0 else 0.0
    set_fence(core, i)
    cursor.pivots += 1
    system.solved = system.rated = 0
    # It stands at one end of its new piece; how far the other one is, `ties` says.
    at_low = (piece > old) == (piece % 2 == 0)
    spot.gap_low, spot.gap_high = (0.0, -1.0) if at_low else (-1.0, 0.0)


@njit(**PART)
def pull_on(core, i, rate):  # type: ignore[no-untyped-def]
    """The slope of coordinate i joins the moving slopes (minus: leaves them) at `rate`."""
    here, act, mov = core.here, core.act, core.mov
    route, fixed, system = core.route, core.fixed, core.system
    if rate == 0.0:
        return
    pull = mov.along if route.along else mov.across
    spot = here.spot[i]
    own = pull[i] if fixed.mode == ROWS else response(core, i, pull)
    square, mass = rate * (2.0 * own + rate * spot.own), abs(rate) * here.fence[i].root
    add_row(core, fixed.mode, i, rate, pull)
    if route.along:
        system.square_along += square
        system.mass_along += mass
        system.carrying += (abs(spot.carried + rate) - abs(spot.carried)) * here.fence[i].root
        spot.carried += rate
    else:
        system.square_across += square
        system.mass_across += mass
    for c in range(act.column.size):
        column = act.column[c]
        if route.along:
            column.along += rate * here.border[i, c]
        else:
            column.across += rate * here.border[i, c]
    system.ready = min(system.ready, 1)


@njit(**PART)
def flat_rate(core, i):  # type: ignore[no-untyped-def]
    """The rate of the slope on which coordinate i stands; 0 where it is in A."""
    lines, here = core.lines, core.here
    piece = here.spot[i].piece
    if piece % 2 == 1 or lines.slope[i, piece // 2].bend > 0.0:
        return 0.0
    return slope_rate(core, i, piece // 2)


@njit(**PART)
def is_active(core, i):  # type: ignore[no-untyped-def]
    lines, here = core.lines, core.here
    piece = here.spot[i].piece
    if piece % 2 == 1:
        return not here.spot[i].idle
    return lines.slope[i, piece // 2].bend > 0.0


# ------------------------------------------------------------------ the factor


@njit(**PART)
def remove(core, i):  # type: ignore[no-untyped-def]
    """Take coordinate i out of the factor."""
    here, act, win, system, scope = core.here, core.act, core.win, core.system, core.scope
    size, index, position = system.actives, act.index, here.spot[i].place
    remove_column(act.factor, size, position, act.work)
    if system.ready:
        for row in range(act.column.size + 1):
            rotate(act.half, row, size, position, act.work)
    if scope.window == BY_TURN:
        win.free[scope.lines] = win.line[position]
        scope.lines += 1
    for k in range(position, size - 1):
        index[k] = index[k + 1]
        win.line[k] = win.line[k + 1]
        here.spot[index[k]].place = k
    system.actives = size - 1
    system.solved = 0


@njit(**SUM)
def pivot_of(core, i, extra):  # type: ignore[no-untyped-def]
    """The squared pivot of coordinate i with `extra` on its diagonal; its column is ``work[0]``."""
    here, act, fixed, system = core.here, core.act, core.fixed, core.system
    size, row = system.actives, act.work[0]
    product_with(core, fixed.mode, i, act.index, size, row)
    for c in range(act.column.size):
        weight = fixed.rho * here.border[i, c]
        for k in range(size):
            row[k] += weight * here.border[act.index[k], c]
    forward_substitute(act.factor, size, row)
    pivot = here.spot[i].diag + extra
    for k in range(size):
        pivot -= row[k] * row[k]
    if fixed.mode != ROWS and size and not pivot > CANCELLED * (here.spot[i].diag + extra):
        pivot = sharp_pivot(core, i, extra)
    return pivot


@njit(**PART)
def diagonal_of(core, i):  # type: ignore[no-untyped-def]
    """What a slanted piece adds to the diagonal; 0 on a knot."""
    lines, here = core.lines, core.here
    piece = here.spot[i].piece
    return 0.0 if piece % 2 == 1 else 1.0 / lines.slope[i, piece // 2].bend


@njit(**SUM)
def sharp_pivot(core, i, extra):  # type: ignore[no-untyped-def]
    """The same from features, without cancellation: the squared length of what the active rows
    leave of row i.

    The rows are those of features, border (times sqrt(rho)) and a diagonal of slanted pieces;
    ``work[0]`` is corrected once by what they still see of the rest.
    """
    here, act, mov, fixed, system = core.here, core.act, core.mov, core.fixed, core.system
    size, x, v, seen, rest = system.actives, act.work[0], act.work[1], act.work[2], mov.rest
    for k in range(size):
        v[k] = x[k]
    back_substitute(act.factor, size, v)
    for attempt in range(2):
        for c in range(rest.size):
            rest[c] = 0.0
        add_row(core, fixed.mode, i, 1.0, rest)
        for k in range(size):
            add_row(core, fixed.mode, act.index[k], -v[k], rest)
        pivot = extra
        for c in range(rest.size):
            pivot += rest[c] * rest[c]
        for c in range(act.column.size):
            left = here.border[i, c]
            for k in range(size):
                left -= v[k] * here.border[act.index[k], c]
            act.column[c].rest = left
            pivot += fixed.rho * left * left
        for k in range(size):
            j = act.index[k]
            own = diagonal_of(core, j) * v[k]
            pivot += own * v[k]
            if attempt == 0:
                total = response(core, j, rest) - own
                for c in range(act.column.size):
                    total += fixed.rho * here.border[j, c] * act.column[c].rest
                seen[k] = total
        if attempt == 0:
            forward_substitute(act.factor, size, seen)
            for k in range(size):
                x[k] += seen[k]
            back_substitute(act.factor, size, seen)
            for k in range(size):
                v[k] += seen[k]
    return pivot


@njit(**SUM)
def rounding_of(core, i):  # type: ignore[no-untyped-def]
    """The rounding of the pivot whose column is ``work[0]``, and the mass of its null direction.

    With v the null direction (v_i = 1), the squared pivot is ``v^T Q v`` and carries the rounding
    of that sum, so dependence is a matter of the Rayleigh quotient of v, not of the pivot alone.  A
    larger pivot, however small, is safe: the error of a solve is proportional to how far alpha
    moves, not to the inverse of the pivot.
    """
    here, act, system, tol = core.here, core.act, core.system, core.tol
    size, row, v = system.actives, act.work[0], act.work[1]
    for k in range(size):
        v[k] = row[k]
    back_substitute(act.factor, size, v)
    mass = here.spot[i].weight
    for k in range(size):
        mass += v[k] * v[k] * here.spot[act.index[k]].weight
    return tol.rank * EPS * (1.0 + math.sqrt(size)) * mass, mass


@njit(**PART)
def tried(core, i, least):  # type: ignore[no-untyped-def]
    """The squared pivot of coordinate i on a knot, and a verdict: 1 if it is independent of A (with
    a Rayleigh quotient above `least`), 0 if it depends on A, -1 if Q is not semidefinite."""
    here, fixed, tol = core.here, core.fixed, core.tol
    pivot = pivot_of(core, i, 0.0)
    if pivot > tol.dependent * here.spot[i].weight:
        return pivot, 1
    rounding, mass = rounding_of(core, i)
    if pivot > max(rounding, least * mass):
        return pivot, 1
    # (Along a null direction of a form that is not semidefinite slanted pieces move as well.)
    if fixed.floor < 0.5 or (pivot < -100.0 * rounding and pivot < -1e-8 * mass):
        return pivot, -1
    return pivot, 0


@njit(**PART)
def append(core, i, pivot):  # type: ignore[no-untyped-def]
    """Coordinate i, already on its piece, joins the factor; its column is ``work[0]``."""
    form, here, act = core.form, core.here, core.act
    win, system, scope = core.win, core.system, core.scope
    size, row = system.actives, act.work[0]
    pivot = math.sqrt(pivot)
    for k in range(size):
        act.factor[k, size] = row[k]
    act.factor[size, size] = pivot
    act.index[size] = i
    here.spot[i].place = size
    if scope.window == BY_TURN:
        scope.lines -= 1
        line = win.free[scope.lines]
        win.line[size] = line
        store, own = form.store, form.slot[i]
        for k in range(scope.looked):
            win.panel[line, k] = store[own, here.near[k]]
    if system.ready:
        for r in range(0 if system.ready == 2 else 1, act.column.size + 1):
            value = here.border[i, r - 1] if r else aim_of(core, i)
            for k in range(size):
                value -= row[k] * act.half[r, k]
            act.half[r, size] = value / pivot
    system.actives = size + 1
    system.solved = 0


# ------------------------------------------------------------------ principal pivots


@njit(**PART)
def ready_for(core, i):  # type: ignore[no-untyped-def]
    """Whether a pivot of coordinate i can be made without asking for anything."""
    form, act, win, rec, fixed = core.form, core.act, core.win, core.rec, core.fixed
    system, event, scope, cursor = core.system, core.event, core.scope, core.cursor
    if fixed.mode == ROWS and form.slot[i] < 0:
        event.want = i
        return MISSING
    if system.actives + 1 >= act.index.size:
        return FULL
    if cursor.logged + SPARE >= rec.log.size:
        return RECORD_FULL
    if scope.window == BY_TURN and (scope.lines == 0 or scope.looked == win.panel.shape[1]):
        close_window(core)
    return GO


@njit(**PART)
def to_slope(core, i, j):  # type: ignore[no-untyped-def]
    """Coordinate i goes to slope j, from wherever it stands; alpha is written by the caller."""
    scope = core.scope
    if scope.window == BY_TURN and flat_rate(core, i) != 0.0:
        close_window(core)
    if is_active(core, i):
        remove(core, i)
    else:
        pull_on(core, i, -flat_rate(core, i))
    arrive(core, i, j)


@njit(**PART)
def arrive(core, i, j):  # type: ignore[no-untyped-def]
    """Coordinate i, in no factor and among no moving slopes, takes up slope j."""
    lines, fixed, scope = core.lines, core.fixed, core.scope
    set_piece(core, i, 2 * j, np.int64(0))
    bend = lines.slope[i, j].bend
    if bend > 0.0:
        imply(core, i)
        # 1 / bend on the diagonal keeps it independent.
        pivot = pivot_of(core, i, 1.0 / bend)
        append(core, i, max(pivot, fixed.floor / bend))
        return
    rate = flat_rate(core, i)
    if scope.window == BY_TURN and rate != 0.0:
        close_window(core)
    pull_on(core, i, rate)


@njit(**PART)
def leave(core, i, j):  # type: ignore[no-untyped-def]
    """Coordinate i goes to slope j and takes up its alpha."""
    lines, here, scope = core.lines, core.here, core.scope
    piece = here.spot[i].piece
    if scope.window == BY_TURN:
        if piece % 2 == 1:
            here.u[i] = corner_now(core, i, piece // 2)
        look_at(core, i)
    elif scope.window and piece % 2 == 1:
        here.u[i] = corner_now(core, i, piece // 2)
    bends = lines.slope[i, j].bend > 0.0
    if bends and piece % 2 == 0 and not is_active(core, i):
        here.alpha[i] = slope_value(core, i, piece // 2, 0.0)
    to_slope(core, i, j)
    if not bends:
        # (On a slanted piece alpha stays, and says where it is.)
        before, here.alpha[i] = here.alpha[i], slope_value(core, i, j, 0.0)
        change = here.alpha[i] - before
        if here.spot[i].own * abs(change) > DROPPED * max(here.fence[i].scale, abs(here.u[i])):
            # Where alpha is fast, t is too coarse to stop at the end of its knot.
            drop(core, i, change)


@njit(**PART)
def drop(core, i, change):  # type: ignore[no-untyped-def]
    """Let u follow a change of alpha_i; the active coordinates make up for it before the path goes
    on (`homotopy.tracker.proof.take_up`)."""
    here, act, mov, win = core.here, core.act, core.mov, core.win
    fixed, event, scope = core.fixed, core.event, core.scope
    product_with(core, fixed.mode, i, here.near, scope.looked, win.sums)
    for k in range(scope.looked):
        here.u[here.near[k]] += change * win.sums[k]
    if fixed.mode != ROWS:
        add_row(core, fixed.mode, i, change, mov.w)
    for c in range(act.column.size):
        act.column[c].dropped += change * here.border[i, c]
    event.dropped = 1


@njit(**PART)
def enter(core, i, corner, side):  # type: ignore[no-untyped-def]
    """Coordinate i goes from a slope onto the knot (or pin) at `corner`."""
    lines, here, route = core.lines, core.here, core.route
    fixed, event, scope = core.fixed, core.event, core.scope
    spot = here.spot[i]
    piece = spot.piece
    slope = piece // 2
    if scope.window == BY_TURN and flat_rate(core, i) != 0.0:
        close_window(core)
    if is_active(core, i):
        # On a slanted piece alpha is known by itself; u is as exact as it is tracked.
        remove(core, i)
    else:
        here.alpha[i] = slope_value(core, i, slope, here.u[i])
    least = 0.0 if fixed.floor == 0.5 else 1e-10
    pivot, verdict = tried(core, i, least)
    if verdict < 0:
        bend = lines.slope[i, slope].bend
        if bend > 0.0:
            pivot = pivot_of(core, i, 1.0 / bend)
            append(core, i, max(pivot, fixed.floor / bend))
        event.want = i
        return INDEFINITE
    pull_on(core, i, -flat_rate(core, i))
    set_piece(core, i, 2 * corner + 1, side)
    if verdict > 0:
        append(core, i, pivot)
        return GO
    inward = -1.0 if slope == corner else 1.0
    code = exchange(core, i, inward, np.int64(0))
    if code == UNBOUNDED and not event.moved_here:
        # Nothing has moved yet: back to where it was.
        arrive(core, i, slope)
        event.want = i
        if event.offence * abs(route.stop - route.tau) <= slack_of(core, i):
            # Walls that meet in a single point admit no motion at all; what seems to move there
            # is rounding.
            excuse(core, i, event.offence)
            return GO
    return code


@njit(**PART)
def slack_of(core, i):  # type: ignore[no-untyped-def]
    """How far coordinate i may drift where nothing can stop it."""
    here, sizes, tol = core.here, core.sizes, core.tol
    size = max(max(here.fence[i].scale, abs(here.u[i])), 0.01 * here.fence[i].root * sizes.length)
    return tol.forgiven * size + 20.0 * here.fence[i].root * sizes.noise


@njit(**PART)
def excuse(core, i, speed):  # type: ignore[no-untyped-def]
    """Take the fences of coordinate i away for the next step, which is kept short."""
    here, event, cursor = core.here, core.event, core.cursor
    fence = here.fence[i]
    fence.low, fence.low_rate, fence.high, fence.high_rate = -np.inf, 0.0, np.inf, 0.0
    here.spot[i].excused = 1
    event.excused += 1
    event.slack_speed = max(event.slack_speed, speed)
    cursor.due = 0


# ------------------------------------------------------------------ exchange


@njit(**SUM)
def null_direction(core, i):  # type: ignore[no-untyped-def]
    """The motion of alpha_A (``work[1]``) and b (``column.rate``) that keeps u_A and the border
    equations where they are while alpha_i rises at rate 1."""
    here, act, system = core.here, core.act, core.system
    size = system.actives
    pivot_of(core, i, 0.0)
    if system.ready < 2:
        prepare(core)
    x = act.work[0]
    for k in range(size):
        x[k] = -x[k]
    for c in range(act.column.size):
        act.column[c].short = here.border[i, c]
    finish(core, x, act.work[1])
    for _ in range(ROUNDS):
        if not sharpen_null(core, i):
            break
    system.solved = 0


@njit(**SUM)
def sharpen_null(core, i):  # type: ignore[no-untyped-def]
    """Correct the null direction by what it moves that should stay; False where that is rounding.

    Its length times that error is what the path would break by.
    """
    form, here, act = core.form, core.here, core.act
    mov, fixed, system = core.mov, core.fixed, core.system
    size, left, v, by = system.actives, act.work[0], act.work[1], act.work[2]
    mass, enough = math.sqrt(abs(here.spot[i].own)), True
    if fixed.mode != ROWS:
        for c in range(mov.dw.size):
            mov.dw[c] = 0.0
        for k in range(size):
            add_row(core, fixed.mode, act.index[k], v[k], mov.dw)
        add_row(core, fixed.mode, i, 1.0, mov.dw)
    for k in range(size):
        mass += abs(v[k]) * math.sqrt(abs(here.spot[act.index[k]].own))
    for c in range(act.column.size):
        column = act.column[c]
        short = here.border[i, c]
        for k in range(size):
            short += v[k] * here.border[act.index[k], c]
        column.rest, column.short = column.rate, short
    for k in range(size):
        j, total, imbalance = act.index[k], 0.0, 0.0
        terms = math.sqrt(abs(here.spot[j].own)) * mass
        if fixed.mode != ROWS:
            total = response(core, j, mov.dw)
        else:
            store, own = form.store, form.slot[j]
            total = store[own, i]
            for q in range(size):
                total += store[own, act.index[q]] * v[q]
        for c in range(act.column.size):
            column = act.column[c]
            part = here.border[j, c] * column.rate
            total += part
            terms += abs(part)
            imbalance += here.border[j, c] * column.short
        if here.spot[j].bend > 0.0:
            total += v[k] / here.spot[j].bend
        enough = enough and abs(total) <= 4.0 * EPS * terms
        left[k] = -total - fixed.rho * imbalance
    if enough:
        return False
    forward_substitute(act.factor, size, left)
    finish(core, left, by)
    for c in range(act.column.size):
        act.column[c].rate += act.column[c].rest
    for k in range(size):
        v[k] += by[k]
    return True


@njit(**PART)
def room_of(core, i, way):  # type: ignore[no-untyped-def]
    """How far alpha of coordinate i, on a knot, can rise (way > 0) or fall; a pin has one end."""
    here = core.here
    spot = here.spot[i]
    j = spot.piece // 2
    u = corner_now(core, i, j)
    if way > 0.0:
        if spot.side == 1:
            return np.inf
        return slope_value(core, i, j, u) - here.alpha[i]
    if spot.side == -1:
        return np.inf
    return here.alpha[i] - slope_value(core, i, j + 1, u)


@njit(**PART)
def first_end(core, i, way, largest):  # type: ignore[no-untyped-def]
    """Who reaches the end of its knot first when alpha moves along the null direction ``work[1]``
    times `way` (i itself by `way`): its place in A (size for i, -1 for none) and the length.

    Among several the one with the largest weight: the exchange is the better conditioned.
    """
    here, act, system, tol = core.here, core.act, core.system, core.tol
    size, v = system.actives, act.work[1]
    step, best = np.inf, 0.0
    found: Any = np.int64(-1)
    for k in range(size + 1):
        j, weight = (act.index[k], way * v[k]) if k < size else (i, way)
        if abs(weight) > tol.light * largest and here.spot[j].piece % 2 == 1:
            room = max(room_of(core, j, weight), 0.0) / abs(weight)
            if room < step:
                found, step, best = k, room, abs(weight)
    if found < 0:
        return found, step
    for k in range(size + 1):
        j, weight = (act.index[k], way * v[k]) if k < size else (i, way)
        size_k = abs(weight)
        if size_k > tol.light * largest and here.spot[j].piece % 2 == 1:
            room = max(room_of(core, j, weight), 0.0)
            near = near_a_of(core, j, 0.0)
            if room <= step * size_k + near and size_k > best:
                found, best = k, size_k
    return found, step


@njit(**PART)
def move_along(core, i, length):  # type: ignore[no-untyped-def]
    """alpha moves along the null direction: u moves with it, by rounding only.

    A pivot of 1e-14 still means ``|Q v|`` of 1e-7 off A.
    """
    here, act, mov, fixed = core.here, core.act, core.mov, core.fixed
    system, event, cursor = core.system, core.event, core.cursor
    size, v, du = system.actives, act.work[1], here.du
    here.alpha[i] += length
    for k in range(size):
        here.alpha[act.index[k]] += length * v[k]
    for c in range(act.column.size):
        act.column[c].b += length * act.column[c].rate
    if fixed.mode == ROWS:
        for k in range(du.size):
            du[k] = 0.0
        for k in range(size):
            add_row(core, fixed.mode, act.index[k], length * v[k], du)
        add_row(core, fixed.mode, i, length, du)
    else:
        dw = mov.dw
        for c in range(dw.size):
            dw[c] = 0.0
        for k in range(size):
            add_row(core, fixed.mode, act.index[k], length * v[k], dw)
        add_row(core, fixed.mode, i, length, dw)
        for c in range(dw.size):
            mov.w[c] += dw[c]
        for k in range(du.size):
            du[k] = response(core, k, dw)
    for k in range(du.size):
        for c in range(act.column.size):
            du[k] += here.border[k, c] * length * act.column[c].rate
        here.u[k] += du[k]
        if abs(du[k]) > near_of(core, k):
            cursor.due = 0
    imply_all(core)
    event.moved_here = 1
    system.rated = 0


@njit(**PART)
def exchange(core, i, inward, either):  # type: ignore[no-untyped-def]
    """Coordinate i, on a knot but dependent on A, moves along the null direction until some
    coordinate reaches the end of its knot; that one leaves A and i takes its place.

    alpha_i moves `inward` (`either`: whichever way is shorter).
    """
    here, act, rec, system, cursor = core.here, core.act, core.rec, core.system, core.cursor
    widen(core)
    cursor.exchanges += 1
    for _ in range(here.u.size):
        null_direction(core, i)
        largest = 1.0
        for k in range(system.actives):
            largest = max(largest, abs(act.work[1, k]))
        way = inward
        found, step = first_end(core, i, way, largest)
        if either:
            other, shorter = first_end(core, i, -way, largest)
            if shorter < step:
                way, found, step = -way, other, shorter
        if found < 0:
            return UNBOUNDED
        rising = way > 0.0
        j = i
        if found < system.actives:
            j = act.index[found]
            rising = way * act.work[1, found] > 0.0
        if step > 0.0:
            move_along(core, i, way * step)
        slope = here.spot[j].piece // 2 + (0 if rising else 1)
        if j == i:
            # It went through its whole knot: on to the far slope without ever joining A.
            arrive(core, i, slope)
            if here.spot[i].bend == 0.0:
                here.alpha[i] = slope_value(core, i, slope, 0.0)
            return GO
        leave(core, j, slope)
        pivot, verdict = tried(core, i, 0.0)
        if verdict > 0:
            append(core, i, pivot)
            return GO
        if cursor.logged + SPARE >= rec.log.size:
            return STUCK
    return STUCK


# ------------------------------------------------------------------ pass on, slide


@njit(**PART)
def cross(core, i, way):  # type: ignore[no-untyped-def]
    """Coordinate i passes on to the neighbouring piece, towards larger u (way +1; on a knot towards
    larger alpha) or smaller; +2 and -2 take one that is idle on a knot to the slope beside it."""
    lines, here, event = core.lines, core.here, core.event
    code = ready_for(core, i)
    if code != GO:
        return code
    piece = here.spot[i].piece
    j = piece // 2
    if abs(way) == 2:
        # An end of the knot on which it was idle has come up to its alpha.
        leave(core, i, j if way > 0 else j + 1)
        return GO
    if here.spot[i].idle:
        return wake(core, i, way)
    if piece % 2 == 1:
        leave(core, i, j if way > 0 else j + 1)
        return GO
    corner = j if way > 0 else j - 1
    kind = lines.corner[i, corner].kind
    if kind == SEAM:
        if not stands(core, i, j + 1 if way > 0 else j - 1):
            event.want = i
            return INDEFINITE
        leave(core, i, j + 1 if way > 0 else j - 1)
        return GO
    side: Any = np.int64(0)
    if kind == JUMP:
        side = -1 if way > 0 else 1
    return enter(core, i, corner, side)


@njit(**PART)
def stands(core, i, j):  # type: ignore[no-untyped-def]
    """Whether coordinate i, coming from a flat slope, can stand on slope j: on a slanted one with a
    form that is not semidefinite only where its pivot is positive."""
    lines, fixed = core.lines, core.fixed
    bend = lines.slope[i, j].bend
    if bend == 0.0 or fixed.floor == 0.5 or is_active(core, i):
        return True
    pivot = pivot_of(core, i, 1.0 / bend)
    rounding, mass = rounding_of(core, i)
    return pivot > max(rounding, 1e-10 * mass)


@njit(**PART)
def rest(core, i):  # type: ignore[no-untyped-def]
    """Coordinate i stays on its knot with the alpha it has, outside of the factor.

    It depends on the active ones, so that its response goes where theirs take it; with equations
    that say the same twice, or more unknowns than rows, that is where its corner goes.
    """
    here, system = core.here, core.system
    here.spot[i].idle = 1
    system.idles += 1
    set_fence(core, i)


@njit(**PART)
def wake(core, i, way):  # type: ignore[no-untyped-def]
    """Coordinate i, idle on its knot, moves off its corner (way +1: upwards): into the factor."""
    here, route, event = core.here, core.route, core.event
    spot = here.spot[i]
    piece, side = spot.piece, spot.side
    set_piece(core, i, piece, side)
    pivot, verdict = tried(core, i, 0.0)
    if verdict > 0:
        append(core, i, pivot)
        return GO
    inward = -1.0 if way > 0 else 1.0
    code = exchange(core, i, inward, np.int64(0))
    if code == UNBOUNDED and not event.moved_here:
        rest(core, i)
        event.want = i
        if event.offence * abs(route.stop - route.tau) <= slack_of(core, i):
            excuse(core, i, event.offence)
            return GO
    return code


@njit(**PART)
def slide(core):  # type: ignore[no-untyped-def]
    """b slides along ``column.slide`` (no change in alpha) until a coordinate meets a corner."""
    lines, here, act, route = core.lines, core.here, core.act, core.route
    system, event, cursor = core.system, core.event, core.cursor
    widen(core)
    cursor.slides += 1
    step, largest = np.inf, 0.0
    for i in range(here.u.size):
        du = 0.0
        for c in range(act.column.size):
            du += here.border[i, c] * act.column[c].slide
        here.du[i] = du
        largest = max(largest, abs(du))
    chosen: Any = np.int64(-1)
    best = 0.0
    for attempt in range(2):
        for i in range(here.u.size):
            du, fence = here.du[i], here.fence[i]
            waits = here.spot[i].idle
            if (here.spot[i].piece % 2 == 1 and not waits) or abs(du) <= 1e-12 * largest:
                continue
            off = fence.shift * route.mu
            room = fence.high + fence.high_rate * route.t + off - here.u[i]
            if du < 0.0:
                room = here.u[i] - fence.low - fence.low_rate * route.t - off
            room = max(room, 0.0)
            if attempt == 0:
                if room < step * abs(du):
                    chosen, step, best = i, room / abs(du), abs(du)
            elif room <= step * abs(du) + near_of(core, i) and abs(du) > best:
                chosen, best = i, abs(du)
        if step == np.inf:
            system.rated = 0
            return UNBALANCED
    system.rated = 0
    way = 1 if here.du[chosen] > 0.0 else -1
    code = ready_for(core, chosen)
    if code != GO:
        return code
    for i in range(here.u.size):
        here.u[i] += step * here.du[i]
    imply_all(core)
    for c in range(act.column.size):
        act.column[c].b += step * act.column[c].slide
    event.offence = np.inf
    if step > 0.0:
        event.moved_here = 1
    corner = here.spot[chosen].piece // 2 - (0 if way > 0 else 1)
    wall = here.spot[chosen].idle == 0 and lines.corner[chosen, corner].kind == JUMP
    if wall and not route.pin:
        here.tied[here.tied.size - 1] = 2 * chosen + (1 if way > 0 else 0)
        event.walls = 1
        return WALLS
    return cross(core, chosen, way)


@njit(**PART)
def admit(core):  # type: ignore[no-untyped-def]
    """Take those listed in ``mov.flips``, all on their pieces, into the factor one by one.

    Where a Rayleigh quotient is below ``system.least`` it or another one gives up its knot.
    """
    lines, here, mov, fixed = core.lines, core.here, core.mov, core.fixed
    sizes, system, event, jumping = core.sizes, core.system, core.event, core.jumping
    while system.admitted < jumping.flips:
        i = mov.flips[system.admitted]
        code = ready_for(core, i)
        if code != GO:
            return code
        system.admitted += 1
        piece = here.spot[i].piece
        if piece % 2 == 0:
            bend = lines.slope[i, piece // 2].bend
            if bend > 0.0:
                pivot = pivot_of(core, i, 1.0 / bend)
                append(core, i, max(pivot, fixed.floor / bend))
            continue
        pivot, verdict = tried(core, i, system.least)
        if verdict < 0:
            event.want = i
            return INDEFINITE
        if verdict > 0:
            append(core, i, pivot)
            continue
        code = UNBOUNDED
        if sizes.length > 0.0:
            # (With w = 0 a direction that is null to rounding would leave nothing but rounding.)
            code = exchange(core, i, 1.0, np.int64(1))
        if code == UNBOUNDED:
            rest(core, i)
        elif code != GO:
            return code
    return ARRIVED
