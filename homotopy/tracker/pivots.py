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

from typing import Any

import numpy as np
from numba import njit

from homotopy.model.polyline import JUMP, SEAM
from homotopy.tracker.compiling import PART
from homotopy.tracker.exchange import exchange
from homotopy.tracker.independence import append, pivot_of, remove, rounding_of, tried
from homotopy.tracker.leaving import arrive, leave, ready_for
from homotopy.tracker.nearness import imply_all, near_of, slope_value
from homotopy.tracker.pieces import flat_rate, is_active, pull_on, set_fence, set_piece
from homotopy.tracker.state import ARRIVED, BY_TURN, GO, INDEFINITE, UNBALANCED, UNBOUNDED, WALLS
from homotopy.tracker.windows import close_window, widen

__all__ = ["admit", "cross", "excuse", "rest", "slack_of", "slide"]


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
    least = 0.0 if fixed.semidefinite else core.tol.definite
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
    fence = here.fence[i]
    size = max(max(fence.scale, abs(here.u[i])), tol.of_w * fence.root * sizes.length)
    return tol.forgiven * size + tol.drift * fence.root * sizes.noise


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
    if bend == 0.0 or fixed.semidefinite or is_active(core, i):
        return True
    pivot = pivot_of(core, i, 1.0 / bend)
    rounding, mass = rounding_of(core, i)
    return pivot > max(rounding, core.tol.definite * mass)


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
            if (here.spot[i].piece % 2 == 1 and not waits) or abs(du) <= core.tol.sliding * largest:
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
