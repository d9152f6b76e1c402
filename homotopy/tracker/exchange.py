"""A column that depends on the active ones: follow the null direction until one of them leaves."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from homotopy.tracker.compiling import PART, SUM
from homotopy.tracker.factor import forward_substitute
from homotopy.tracker.independence import append, pivot_of, tried
from homotopy.tracker.leaving import LOG_ROOM, arrive, leave
from homotopy.tracker.nearness import imply_all, near_a_of, near_of, slope_value
from homotopy.tracker.pieces import room_of
from homotopy.tracker.products import add_row, add_sizes, response
from homotopy.tracker.rates import finish, prepare
from homotopy.tracker.state import GO, ROWS, STUCK, UNBOUNDED
from homotopy.tracker.tolerances import EPS
from homotopy.tracker.windows import widen

__all__ = ["exchange"]


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
    for _ in range(core.tol.solutions):
        if not sharpen_null(core, i):
            break
    system.solved = 0


@njit(**SUM)
def sharpen_null(core, i):  # type: ignore[no-untyped-def]
    """Correct the null direction by what it moves that should stay; False where that is rounding.

    Its length times that error is what the path would break by.
    """
    form, here, act = core.form, core.here, core.act
    mov, fixed, system, tol = core.mov, core.fixed, core.system, core.tol
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
        enough = enough and abs(total) <= tol.missed * EPS * terms
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
        if core.sizes.own_w:
            drop_rounding(core, i, length)
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
def drop_rounding(core, i, length):  # type: ignore[no-untyped-def]
    """Set those entries of ``mov.dw`` to 0 that are no more than the rounding of their sums."""
    act, mov, system, tol = core.act, core.mov, core.system, core.tol
    dw, mass, v = mov.dw, mov.rest, act.work[1]
    for c in range(mass.size):
        mass[c] = 0.0
    add_sizes(core, i, abs(length), mass)
    for k in range(system.actives):
        add_sizes(core, act.index[k], abs(length * v[k]), mass)
    for c in range(dw.size):
        if abs(dw[c]) <= tol.summed * EPS * mass[c]:
            dw[c] = 0.0


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
        if cursor.logged + LOG_ROOM >= rec.log.size:
            return STUCK
    return STUCK
