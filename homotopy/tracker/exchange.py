"""Exchange: if a column depends on the active ones, follow the null direction until one leaves."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from homotopy.tracker.compiling import PART, SUM
from homotopy.tracker.factor import forward_substitute
from homotopy.tracker.independence import append, pivot_and_verdict, pivot_of
from homotopy.tracker.leaving import LOG_ROOM, arrive, leave
from homotopy.tracker.nearness import near_alpha_of, near_of, slope_value, update_slanted_u
from homotopy.tracker.pieces import room_of
from homotopy.tracker.products import add_row, add_sizes, response
from homotopy.tracker.rates import finish, prepare
from homotopy.tracker.state import GO, ROWS, STUCK, UNBOUNDED
from homotopy.tracker.tolerances import EPS, TINY
from homotopy.tracker.validity import rates_changed, response_rates_changed
from homotopy.tracker.windows import widen

__all__ = ["exchange"]


@njit(**SUM)
def null_direction(core, i):  # type: ignore[no-untyped-def]
    """Compute the motion of alpha_A (``work[1]``) and b (``column.rate``) that keeps u_A and the
    border equations constant while alpha_i rises at rate 1."""
    coords, active, system = core.coords, core.active, core.system
    size = system.actives
    pivot_of(core, i, 0.0)
    if system.ready < 2:
        prepare(core)
    x = active.work[0]
    for k in range(size):
        x[k] = -x[k]
    for c in range(active.column.size):
        active.column[c].imbalance = coords.border[i, c]
    finish(core, x, active.work[1])
    for _ in range(core.tol.solutions):
        if not sharpen_null(core, i):
            break
    rates_changed(core)


@njit(**SUM)
def sharpen_null(core, i):  # type: ignore[no-untyped-def]
    """Correct the null direction by its residual; return False if that is only rounding.

    The residual, times the length of the move, would be a break in the path.
    """
    form, coords, active = core.form, core.coords, core.active
    motion, fixed, system, tol = core.motion, core.fixed, core.system, core.tol
    size, residual, v, change = system.actives, active.work[0], active.work[1], active.work[2]
    mass, enough = math.sqrt(abs(coords.status[i].own)), True
    if fixed.mode != ROWS:
        motion.dw[:] = 0.0
        for k in range(size):
            add_row(core, fixed.mode, active.index[k], v[k], motion.dw)
        add_row(core, fixed.mode, i, 1.0, motion.dw)
    for k in range(size):
        mass += abs(v[k]) * math.sqrt(abs(coords.status[active.index[k]].own))
    for c in range(active.column.size):
        column = active.column[c]
        short = coords.border[i, c]
        for k in range(size):
            short += v[k] * coords.border[active.index[k], c]
        column.former_rate, column.imbalance = column.rate, short
    for k in range(size):
        j, total, imbalance = active.index[k], 0.0, 0.0
        terms = math.sqrt(abs(coords.status[j].own)) * mass
        if fixed.mode != ROWS:
            total = response(core, j, motion.dw)
        else:
            store, own = form.store, form.slot[j]
            total = store[own, i]
            for q in range(size):
                total += store[own, active.index[q]] * v[q]
        for c in range(active.column.size):
            column = active.column[c]
            part = coords.border[j, c] * column.rate
            total += part
            terms += abs(part)
            imbalance += coords.border[j, c] * column.imbalance
        if coords.status[j].bend > 0.0:
            total += v[k] / coords.status[j].bend
        enough = enough and abs(total) <= tol.missed * EPS * terms
        residual[k] = -total - fixed.rho * imbalance
    if enough:
        return False
    forward_substitute(active.factor, size, residual)
    finish(core, residual, change)
    for c in range(active.column.size):
        active.column[c].rate += active.column[c].former_rate
    for k in range(size):
        v[k] += change[k]
    return True


@njit(**PART)
def first_end(core, i, way, largest):  # type: ignore[no-untyped-def]
    """Return the place in A of the first coordinate to reach the end of its knot (size for i, -1
    for none) as alpha moves along ``way * work[1]`` (i itself by `way`), and the length.

    Of several that are tied, choose the largest weight: the exchange is then best conditioned.
    """
    coords, active, system, tol = core.coords, core.active, core.system, core.tol
    size, v = system.actives, active.work[1]
    step, best = np.inf, 0.0
    found: Any = np.int64(-1)
    for k in range(size + 1):
        j, weight = (active.index[k], way * v[k]) if k < size else (i, way)
        if abs(weight) > tol.small_weight * largest and coords.status[j].piece % 2 == 1:
            room = max(room_of(core, j, weight), 0.0) / abs(weight)
            if room < step:
                found, step, best = k, room, abs(weight)
    if found < 0:
        return found, step
    for k in range(size + 1):
        j, weight = (active.index[k], way * v[k]) if k < size else (i, way)
        size_k = abs(weight)
        if size_k > tol.small_weight * largest and coords.status[j].piece % 2 == 1:
            room = max(room_of(core, j, weight), 0.0)
            near = near_alpha_of(core, j, 0.0)
            if room <= step * size_k + near and size_k > best:
                found, best = k, size_k
    return found, step


@njit(**PART)
def move_along(core, i, length):  # type: ignore[no-untyped-def]
    """Move alpha along the null direction, and update u.

    In exact arithmetic u would stay.  But a pivot of 1e-14 allows a ``|Q v|`` of 1e-7 outside A.
    """
    coords, active, motion, fixed = core.coords, core.active, core.motion, core.fixed
    system, event, cursor = core.system, core.event, core.cursor
    size, v, du = system.actives, active.work[1], coords.du
    coords.alpha[i] += length
    for k in range(size):
        coords.alpha[active.index[k]] += length * v[k]
    for c in range(active.column.size):
        active.column[c].b += length * active.column[c].rate
    if fixed.mode == ROWS:
        du[:] = 0.0
        for k in range(size):
            add_row(core, fixed.mode, active.index[k], length * v[k], du)
        add_row(core, fixed.mode, i, length, du)
    else:
        dw = motion.dw
        dw[:] = 0.0
        for k in range(size):
            add_row(core, fixed.mode, active.index[k], length * v[k], dw)
        add_row(core, fixed.mode, i, length, dw)
        if core.sizes.tracks_w:
            drop_rounding(core, i, length)
        for c in range(dw.size):
            motion.w[c] += dw[c]
        for k in range(du.size):
            du[k] = response(core, k, dw)
    for k in range(du.size):
        for c in range(active.column.size):
            du[k] += coords.border[k, c] * length * active.column[c].rate
        coords.u[k] += du[k]
        near = near_of(core, k)
        if abs(du[k]) > near:
            cursor.due = 0
            if core.route.along and fixed.mode != ROWS:
                core.sizes.broken = max(core.sizes.broken, abs(du[k]) / max(near, TINY))
    update_slanted_u(core)
    event.moved_here = 1
    response_rates_changed(core)


@njit(**PART)
def drop_rounding(core, i, length):  # type: ignore[no-untyped-def]
    """Set entries of ``motion.dw`` to 0 if they are no larger than the rounding of their sums."""
    active, motion, system, tol = core.active, core.motion, core.system, core.tol
    dw, mass, v = motion.dw, motion.remainder, active.work[1]
    mass[:] = 0.0
    add_sizes(core, i, abs(length), mass)
    for k in range(system.actives):
        add_sizes(core, active.index[k], abs(length * v[k]), mass)
    for c in range(dw.size):
        if abs(dw[c]) <= tol.summed * EPS * mass[c]:
            dw[c] = 0.0


@njit(**PART)
def exchange(core, i, inward, either):  # type: ignore[no-untyped-def]
    """Move coordinate i, on a knot but dependent on A, along the null direction until some
    coordinate reaches the end of its knot; that one leaves A and i takes its place.

    alpha_i moves `inward` (if `either`: in whichever direction is shorter).
    """
    coords, active, record, system, cursor = (
        core.coords,
        core.active,
        core.record,
        core.system,
        core.cursor,
    )
    widen(core)
    cursor.exchanges += 1
    for _ in range(coords.u.size):
        null_direction(core, i)
        largest = 1.0
        for k in range(system.actives):
            largest = max(largest, abs(active.work[1, k]))
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
            j = active.index[found]
            rising = way * active.work[1, found] > 0.0
        if step > 0.0:
            move_along(core, i, way * step)
        slope = coords.status[j].piece // 2 + (0 if rising else 1)
        if j == i:
            # It has crossed its whole knot: put it on the far slope.  It never joins A.
            arrive(core, i, slope)
            if coords.status[i].bend == 0.0:
                coords.alpha[i] = slope_value(core, i, slope, 0.0)
            return GO
        leave(core, j, slope)
        pivot, verdict = pivot_and_verdict(core, i, 0.0)
        if verdict > 0:
            append(core, i, pivot)
            return GO
        if cursor.logged + LOG_ROOM >= record.log.size:
            return STUCK
    return STUCK
