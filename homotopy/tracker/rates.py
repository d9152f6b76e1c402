"""How fast everything moves on the present segment.

    [ Q_AA + D_A   B_A ] [ alpha_A' ]   [ corner_A' - Q_AF slope_F' ]
    [ B_A^T        0   ] [ b'       ] = [ e'  - B_F^T slope_F'      ]
    u' = Q_:A alpha_A' + Q_:F slope_F' + B b'

``Q_:F slope_F'`` (the pull of the moving slopes) changes only with the pieces and is kept.
"""

from __future__ import annotations

import math

from numba import njit

from homotopy.gram.products import weighted_rows
from homotopy.tracker.compiling import PART, SUM
from homotopy.tracker.factor import (
    back_substitute,
    eliminate_border,
    forward_substitute,
    null_of_border,
)
from homotopy.tracker.nearness import corner_rate, imply_rate, slope_rate
from homotopy.tracker.products import add_row, response, responses
from homotopy.tracker.state import BY_TURN, ROWS
from homotopy.tracker.tolerances import EPS

__all__ = ["all_rates", "rate_of", "solve"]


# ------------------------------------------------------------------ the segment


@njit(**PART)
def aim_of(core, i):  # type: ignore[no-untyped-def]
    """The right-hand side of the active system for coordinate i."""
    lines, here, act = core.lines, core.here, core.act
    mov, route, fixed = core.mov, core.route, core.fixed
    piece = here.spot[i].piece
    j = piece // 2
    if piece % 2 == 1:
        aim = corner_rate(core, i, j)
    else:
        aim = slope_rate(core, i, j) / lines.slope[i, j].bend
    pull = mov.along if route.along else mov.across
    aim -= pull[i] if fixed.mode == ROWS else response(core, i, pull)
    for c in range(act.column.size):
        column = act.column[c]
        balance = column.along if route.along else column.across
        aim -= fixed.rho * here.border[i, c] * balance
    return aim


@njit(**PART)
def prepare(core):  # type: ignore[no-untyped-def]
    """``half = R^{-T} [aim, B]`` anew; the part of B only where it is not up to date."""
    here, act, system = core.here, core.act, core.system
    size, rows = system.actives, 1 if system.ready else act.column.size + 1
    for k in range(size):
        i = act.index[k]
        act.half[0, k] = aim_of(core, i)
        for c in range(rows - 1):
            act.half[c + 1, k] = here.border[i, c]
    for row in range(rows):
        forward_substitute(act.factor, size, act.half[row])
    system.ready = 2


@njit(**SUM)
def finish(core, x, out):  # type: ignore[no-untyped-def]
    """``out`` = alpha part of the solution for ``x = R^{-T} right``; b part into ``column.rate``.

    ``column.short`` holds minus what the border asks for.  Returns the rank of the border.
    """
    act, fixed, system, tol = core.act, core.fixed, core.system, core.tol
    size, half, m = system.actives, act.half, act.column.size
    for c in range(m):
        total, mass, own, right = 0.0, 0.0, half[c + 1, :size], x[:size]
        for k in range(own.size):
            part = own[k] * right[k]
            total += part
            mass += abs(part)
        act.column[c].mass = mass + abs(act.column[c].short)
        act.column[c].short += total
        for e in range(c + 1):
            total, other = 0.0, half[e + 1, :size]
            for k in range(own.size):
                total += own[k] * other[k]
            act.schur[c, e] = total
            act.schur[e, c] = total
    rank = 0
    if m:
        rank = eliminate_border(act.schur, act.column, tol.spread / fixed.rho)
    result, right = out[:size], x[:size]
    for k in range(result.size):
        result[k] = right[k]
    for c in range(m):
        rate, own = act.column[c].rate, half[c + 1, :size]
        for k in range(result.size):
            result[k] -= rate * own[k]
    back_substitute(act.factor, size, out)
    return rank


@njit(**PART)
def unsupported(core, rank):  # type: ignore[no-untyped-def]
    """Whether the balance asks for what the active coordinates cannot give; then ``column.slide``
    is the way for b to go: against the growth of ``B^T alpha`` that is asked for."""
    act, route, tol = core.act, core.route, core.tol
    left = abs(route.stop - route.tau)
    for q in range(rank, act.column.size):
        dead = act.column[act.column[q].order]
        short = dead.short
        if (
            abs(short) > tol.unbalanced * dead.mass
            and abs(short) * left > tol.forgiven * dead.weight
        ):
            null_of_border(act.schur, act.column, rank, q)
            if short * route.sign < 0.0:
                for c in range(act.column.size):
                    act.column[c].slide = -act.column[c].slide
            return True
    return False


@njit(**SUM)
def solve(core):  # type: ignore[no-untyped-def]
    """alpha_A', b' and w' for the present pieces; False where b must slide first."""
    act, route, fixed, sizes = core.act, core.route, core.fixed, core.sizes
    system, tol = core.system, core.tol
    if system.ready < 2:
        prepare(core)
    size, m = system.actives, act.column.size
    for c in range(m):
        column = act.column[c]
        column.short = (column.along if route.along else column.across) - column.target_rate
    rank = finish(core, act.half[0], act.rate)
    if rank < m and unsupported(core, rank):
        return False
    mass = spread_rates(core)
    if size and (fixed.mode != ROWS or m):
        for _ in range(tol.solutions):
            if sizes.own_w:
                mass = speed_of_w(core)
            if not missed(core, mass):
                break
            if not sizes.own_w:
                mass = spread_rates(core)
    fastest = 0.0
    for k in range(size):
        fastest = max(fastest, abs(act.rate[k]))
    system.rate_noise, system.fastest = tol.speed * EPS * mass, fastest
    system.solved, system.rated = 1, 0
    return True


@njit(**PART)
def spread_rates(core):  # type: ignore[no-untyped-def]
    """What alpha_A' and b' do to b itself and to w; returns the size of the terms of u'."""
    here, act, mov = core.here, core.act, core.mov
    route, fixed, system = core.route, core.fixed, core.system
    size, mass = system.actives, system.mass_along if route.along else system.mass_across
    for c in range(act.column.size):
        column = act.column[c]
        # The solve works with b - rho e.  (Not by the sum that e' is: rho times its rounding would
        # be more than the rest.)
        column.lift = column.rate + fixed.rho * column.target_rate
        mass += abs(column.lift) / math.sqrt(fixed.rho)
    for k in range(size):
        mass += abs(act.rate[k]) * here.fence[act.index[k]].root
    if fixed.mode != ROWS:
        pull, dw = mov.along if route.along else mov.across, mov.dw
        for c in range(dw.size):
            dw[c] = pull[c]
        for k in range(size):
            add_row(core, fixed.mode, act.index[k], act.rate[k], dw)
    return mass


@njit(**SUM)
def missed(core, mass):  # type: ignore[no-untyped-def]
    """Correct the rates of alpha_A and b by what they miss, where that is more than rounding.

    The factor carries the square of the condition of the active rows, features do not.  On rows of
    Q it is the border equations alone: where alpha_A' ought to be 0 its rounding, times a long way,
    would put them off.
    """
    lines, here, act = core.lines, core.here, core.act
    route, fixed, system, tol = core.route, core.fixed, core.system, core.tol
    size, left, by, enough = system.actives, act.work[0], act.work[1], True
    rounding = tol.missed * EPS if fixed.mode != ROWS else tol.misses_border
    for k in range(size):
        left[k] = 0.0
        if fixed.mode == ROWS:
            continue
        i = act.index[k]
        piece = here.spot[i].piece
        j = piece // 2
        if piece % 2 == 1:
            aim = corner_rate(core, i, j)
        else:
            aim = (slope_rate(core, i, j) - act.rate[k]) / lines.slope[i, j].bend
        left[k] = aim - rate_of(core, i)
        terms = abs(aim) + math.sqrt(abs(here.spot[i].own)) * mass
        for c in range(act.column.size):
            terms += abs(here.border[i, c] * act.column[c].lift)
        enough = enough and abs(left[k]) <= rounding * terms
    for c in range(act.column.size):
        column = act.column[c]
        column.rest = column.rate
        moving = column.along if route.along else column.across
        column.short = moving - column.target_rate
        terms = abs(moving) + abs(column.target_rate)
        for k in range(size):
            part = here.border[act.index[k], c] * act.rate[k]
            column.short += part
            terms += abs(part)
        enough = enough and abs(column.short) <= rounding * terms
    if enough:
        return False
    for c in range(act.column.size):
        for k in range(size):
            left[k] -= fixed.rho * act.column[c].short * here.border[act.index[k], c]
    forward_substitute(act.factor, size, left)
    finish(core, left, by)
    for c in range(act.column.size):
        act.column[c].rate += act.column[c].rest
    for k in range(size):
        act.rate[k] += by[k]
    if core.sizes.own_w:
        for c in range(act.column.size):
            column = act.column[c]
            column.lift = column.rate + fixed.rho * column.target_rate
        for k in range(size):
            add_row(core, fixed.mode, act.index[k], by[k], core.mov.dw)
    return True


@njit(**PART)
def speed_of_w(core):  # type: ignore[no-untyped-def]
    """``|w'|``, and what b' counts for beside it."""
    act, mov, fixed = core.act, core.mov, core.fixed
    square = 0.0
    for c in range(mov.dw.size):
        square += mov.dw[c] * mov.dw[c]
    speed = math.sqrt(square)
    for c in range(act.column.size):
        speed += abs(act.column[c].lift) / math.sqrt(fixed.rho)
    return speed


@njit(**SUM)
def rate_of(core, i):  # type: ignore[no-untyped-def]
    """u_i' for the present direction."""
    form, here, act, mov = core.form, core.here, core.act, core.mov
    route, fixed, system = core.route, core.fixed, core.system
    total = 0.0
    if fixed.mode == ROWS:
        store, slot, index, rate = form.store, form.slot, act.index, act.rate
        total = mov.along[i] if route.along else mov.across[i]
        own = slot[i]
        if own >= 0:
            for k in range(system.actives):
                total += store[own, index[k]] * rate[k]
        else:
            for k in range(system.actives):
                total += store[slot[index[k]], i] * rate[k]
    else:
        total = response(core, i, mov.dw)
    for c in range(act.column.size):
        total += here.border[i, c] * act.column[c].lift
    return total


@njit(**PART)
def add_border(core):  # type: ignore[no-untyped-def]
    """Add ``B b'`` to u' of those looked at."""
    here, act, scope = core.here, core.act, core.scope
    du, near = here.du, here.near
    for c in range(act.column.size):
        lift = act.column[c].lift
        for k in range(scope.looked):
            du[near[k]] += lift * here.border[near[k], c]


@njit(**PART)
def all_rates(core):  # type: ignore[no-untyped-def]
    """u' of the coordinates looked at."""
    form, here, act, mov, win = core.form, core.here, core.act, core.mov, core.win
    route, fixed, system, scope = core.route, core.fixed, core.system, core.scope
    du, size, near, count = here.du, system.actives, here.near, scope.looked
    if fixed.mode == ROWS:
        pull = mov.along if route.along else mov.across
        if scope.window == BY_TURN:
            sums = win.sums[:count]
            for k in range(count):
                sums[k] = pull[near[k]]
            weighted_rows(win.panel, win.line[:size], act.rate[:size], sums)
            for k in range(count):
                du[near[k]] = sums[k]
        else:
            for i in range(du.size):
                du[i] = pull[i]
            for k in range(size):
                win.rows[k] = form.slot[act.index[k]]
            weighted_rows(form.store, win.rows[:size], act.rate[:size], du)
    elif scope.packed:
        sums, width = win.sums[:count], mov.dw.size
        for k in range(count):
            sums[k] = 0.0
        weighted_rows(win.packed, win.rows[:width], mov.dw, sums)
        for k in range(count):
            du[near[k]] = sums[k]
    else:
        responses(core, near, count, mov.dw, du)
    add_border(core)
    if fixed.slanted:
        for k in range(size):
            if here.spot[act.index[k]].bend > 0.0:
                imply_rate(core, act.index[k])
    system.rated = 1
