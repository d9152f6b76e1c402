"""The rates of everything on the present segment.

    [ Q_AA + D_A   B_A ] [ alpha_A' ]   [ corner_A' - Q_AF slope_F' ]
    [ B_A^T        0   ] [ b'       ] = [ e'  - B_F^T slope_F'      ]
    u' = Q_:A alpha_A' + Q_:F slope_F' + B b'

``Q_:F slope_F'`` (the pull of the moving slopes) changes only with the pieces and is stored.
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
from homotopy.tracker.nearness import piece_rate, set_slanted_rate
from homotopy.tracker.products import add_row, response, responses, squared_length
from homotopy.tracker.state import BY_DIRECTION, ROWS
from homotopy.tracker.tolerances import EPS
from homotopy.tracker.validity import half_computed, rates_computed, response_rates_computed

__all__ = ["add_border", "all_rates", "finish", "prepare", "rate_of", "right_side_of", "solve"]


# ------------------------------------------------------------------ the segment


@njit(**PART)
def right_side_of(core, i):  # type: ignore[no-untyped-def]
    """Return the right-hand side of the active system for coordinate i."""
    coords, active, motion = core.coords, core.active, core.motion
    route, fixed = core.route, core.fixed
    aim = piece_rate(core, i, 0.0)
    pull = motion.along if route.along else motion.across
    aim -= pull[i] if fixed.mode == ROWS else response(core, i, pull)
    for c in range(active.column.size):
        column = active.column[c]
        balance = column.along if route.along else column.across
        aim -= fixed.rho * coords.border[i, c] * balance
    return aim


@njit(**PART)
def prepare(core):  # type: ignore[no-untyped-def]
    """Compute ``half = R^{-T} [aim, B]``; the part of B only if it is not up to date."""
    coords, active, system = core.coords, core.active, core.system
    size, rows = system.actives, 1 if system.ready else active.column.size + 1
    for k in range(size):
        i = active.index[k]
        active.half[0, k] = right_side_of(core, i)
        for c in range(rows - 1):
            active.half[c + 1, k] = coords.border[i, c]
    for row in range(rows):
        forward_substitute(active.factor, size, active.half[row])
    half_computed(core)


@njit(**SUM)
def finish(core, x, out):  # type: ignore[no-untyped-def]
    """Solve the bordered system, given ``x = R^{-T} right`` for the rows of A and minus the
    right-hand side of the border in ``column.imbalance``.

    Write the alpha part to `out` and the b part to ``column.rate``; return the rank of the border.
    """
    active, fixed, system, tol = core.active, core.fixed, core.system, core.tol
    size, half, m = system.actives, active.half, active.column.size
    for c in range(m):
        total, mass, own, right = 0.0, 0.0, half[c + 1, :size], x[:size]
        for k in range(own.size):
            part = own[k] * right[k]
            total += part
            mass += abs(part)
        active.column[c].mass = mass + abs(active.column[c].imbalance)
        active.column[c].imbalance += total
        for e in range(c + 1):
            total, other = 0.0, half[e + 1, :size]
            for k in range(own.size):
                total += own[k] * other[k]
            active.schur[c, e] = total
            active.schur[e, c] = total
    rank = 0
    if m:
        # A heavy row, or a piece that hardly bends, supports b although its entry is small.
        own = 0.0
        for c in range(m):
            own = max(own, active.schur[c, c])
        for c in range(m):
            # A column that only hardly bent pieces support has a small pivot, but an exact one.
            most = active.schur[c, c] if fixed.slanted else own
            active.column[c].support = tol.border_support * min(1.0 / fixed.rho, most)
        rank = eliminate_border(active.schur, active.column)
    result, right = out[:size], x[:size]
    for k in range(result.size):
        result[k] = right[k]
    for c in range(m):
        rate, own = active.column[c].rate, half[c + 1, :size]
        for k in range(result.size):
            result[k] -= rate * own[k]
    back_substitute(active.factor, size, out)
    return rank


@njit(**PART)
def unsupported(core, rank):  # type: ignore[no-untyped-def]
    """Whether the active coordinates cannot keep the border equations balanced; if so, write to
    ``column.slide`` the direction of b opposite to the required growth of ``B^T alpha``."""
    active, route, tol = core.active, core.route, core.tol
    left = abs(route.stop - route.tau)
    for q in range(rank, active.column.size):
        dead = active.column[active.column[q].order]
        short = dead.imbalance
        if (
            abs(short) > tol.unbalanced * dead.mass
            and abs(short) * left > tol.allowed_drift * dead.weight
        ):
            null_of_border(active.schur, active.column, rank, q)
            if short * route.sign < 0.0:
                for c in range(active.column.size):
                    active.column[c].slide = -active.column[c].slide
            return True
    return False


@njit(**SUM)
def solve(core):  # type: ignore[no-untyped-def]
    """Compute alpha_A', b' and w' for the present pieces; return False if b must slide first."""
    active, route, fixed, sizes = core.active, core.route, core.fixed, core.sizes
    system, tol = core.system, core.tol
    if system.ready < 2:
        prepare(core)
    size, m = system.actives, active.column.size
    for c in range(m):
        column = active.column[c]
        column.imbalance = (column.along if route.along else column.across) - column.target_rate
    rank = finish(core, active.half[0], active.rate)
    if rank < m and unsupported(core, rank):
        return False
    mass = spread_rates(core)
    if size and (fixed.mode != ROWS or m):
        for _ in range(tol.solutions):
            if sizes.tracks_w:
                mass = speed_of_w(core)
            if not correct_rates(core, mass):
                break
            if not sizes.tracks_w:
                mass = spread_rates(core)
    fastest = 0.0
    for k in range(size):
        fastest = max(fastest, abs(active.rate[k]))
    system.rate_noise, system.fastest = tol.speed * EPS * mass, fastest
    rates_computed(core)
    return True


@njit(**PART)
def spread_rates(core):  # type: ignore[no-untyped-def]
    """Compute the rates of b and of w from alpha_A' and b'; return the size of the terms of u'."""
    coords, active, motion = core.coords, core.active, core.motion
    route, fixed, system = core.route, core.fixed, core.system
    size, mass = system.actives, system.mass_along if route.along else system.mass_across
    for c in range(active.column.size):
        column = active.column[c]
        # The system is solved for b - rho e.  (Do not use ``B^T alpha'`` instead of e', which it
        # equals: rho times its rounding would exceed the rest.)
        column.full_rate = column.rate + fixed.rho * column.target_rate
        mass += abs(column.full_rate) / math.sqrt(fixed.rho)
    for k in range(size):
        mass += abs(active.rate[k]) * coords.fence[active.index[k]].root
    if fixed.mode != ROWS:
        pull, dw = motion.along if route.along else motion.across, motion.dw
        for c in range(dw.size):
            dw[c] = pull[c]
        for k in range(size):
            add_row(core, fixed.mode, active.index[k], active.rate[k], dw)
    return mass


@njit(**SUM)
def correct_rates(core, mass):  # type: ignore[no-untyped-def]
    """Correct the rates of alpha_A and b by their residual, if that is more than rounding.

    The factor has the square of the condition of the active rows; features do not.  With rows of Q
    only the border equations are corrected: the rounding of an alpha_A' that should be 0, times a
    long step, would violate them.
    """
    coords, active, route = core.coords, core.active, core.route
    fixed, system, tol = core.fixed, core.system, core.tol
    size, residual, change, enough = system.actives, active.work[0], active.work[1], True
    rounding = tol.missed * EPS if fixed.mode != ROWS else tol.misses_border
    for k in range(size):
        residual[k] = 0.0
        if fixed.mode == ROWS:
            continue
        i = active.index[k]
        aim = piece_rate(core, i, active.rate[k])
        residual[k] = aim - rate_of(core, i)
        terms = abs(aim) + math.sqrt(abs(coords.status[i].own)) * mass
        for c in range(active.column.size):
            terms += abs(coords.border[i, c] * active.column[c].full_rate)
        enough = enough and abs(residual[k]) <= rounding * terms
    for c in range(active.column.size):
        column = active.column[c]
        column.former_rate = column.rate
        moving = column.along if route.along else column.across
        column.imbalance = moving - column.target_rate
        terms = abs(moving) + abs(column.target_rate)
        for k in range(size):
            part = coords.border[active.index[k], c] * active.rate[k]
            column.imbalance += part
            terms += abs(part)
        enough = enough and abs(column.imbalance) <= rounding * terms
    if enough:
        return False
    for c in range(active.column.size):
        for k in range(size):
            residual[k] -= (
                fixed.rho * active.column[c].imbalance * coords.border[active.index[k], c]
            )
    forward_substitute(active.factor, size, residual)
    finish(core, residual, change)
    for c in range(active.column.size):
        active.column[c].rate += active.column[c].former_rate
    for k in range(size):
        active.rate[k] += change[k]
    if core.sizes.tracks_w:
        for c in range(active.column.size):
            column = active.column[c]
            column.full_rate = column.rate + fixed.rho * column.target_rate
        for k in range(size):
            add_row(core, fixed.mode, active.index[k], change[k], core.motion.dw)
    return True


@njit(**PART)
def speed_of_w(core):  # type: ignore[no-untyped-def]
    """Return ``|w'|`` plus ``|b'|`` in the same unit."""
    active, motion, fixed = core.active, core.motion, core.fixed
    speed = math.sqrt(squared_length(motion.dw))
    for c in range(active.column.size):
        speed += abs(active.column[c].full_rate) / math.sqrt(fixed.rho)
    return speed


@njit(**SUM)
def rate_of(core, i):  # type: ignore[no-untyped-def]
    """Return u_i' for the present direction."""
    form, coords, active, motion = core.form, core.coords, core.active, core.motion
    route, fixed, system = core.route, core.fixed, core.system
    total = 0.0
    if fixed.mode == ROWS:
        store, slot, index, rate = form.store, form.slot, active.index, active.rate
        total = motion.along[i] if route.along else motion.across[i]
        own = slot[i]
        if own >= 0:
            for k in range(system.actives):
                total += store[own, index[k]] * rate[k]
        else:
            for k in range(system.actives):
                total += store[slot[index[k]], i] * rate[k]
    else:
        total = response(core, i, motion.dw)
    for c in range(active.column.size):
        total += coords.border[i, c] * active.column[c].full_rate
    return total


@njit(**PART)
def add_border(core, index, count):  # type: ignore[no-untyped-def]
    """Add ``B b'`` to u' of the first `count` coordinates in `index`."""
    coords, active = core.coords, core.active
    du, border = coords.du, coords.border
    for c in range(active.column.size):
        rate = active.column[c].full_rate
        for k in range(count):
            du[index[k]] += rate * border[index[k], c]


@njit(**PART)
def all_rates(core):  # type: ignore[no-untyped-def]
    """Compute u' of the examined coordinates."""
    form, coords, active, motion, window = (
        core.form,
        core.coords,
        core.active,
        core.motion,
        core.window,
    )
    route, fixed, system, scope = core.route, core.fixed, core.system, core.scope
    du, size, near, count = coords.du, system.actives, coords.near, scope.examined
    if fixed.mode == ROWS:
        pull = motion.along if route.along else motion.across
        if scope.window == BY_DIRECTION:
            sums = window.sums[:count]
            for k in range(count):
                sums[k] = pull[near[k]]
            weighted_rows(window.panel, window.line[:size], active.rate[:size], sums)
            for k in range(count):
                du[near[k]] = sums[k]
        else:
            for i in range(du.size):
                du[i] = pull[i]
            for k in range(size):
                window.rows[k] = form.slot[active.index[k]]
            weighted_rows(form.store, window.rows[:size], active.rate[:size], du)
    elif scope.packed:
        sums, width = window.sums[:count], motion.dw.size
        sums[:count] = 0.0
        weighted_rows(window.packed, window.rows[:width], motion.dw, sums)
        for k in range(count):
            du[near[k]] = sums[k]
    else:
        responses(core, near, count, motion.dw, du)
    add_border(core, near, count)
    if fixed.slanted:
        for k in range(size):
            if coords.status[active.index[k]].bend > 0.0:
                set_slanted_rate(core, active.index[k])
    response_rates_computed(core)
