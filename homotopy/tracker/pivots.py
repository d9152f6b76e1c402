"""Pivots: a coordinate moves from one piece to another.

Most are principal: a coordinate enters the factor or leaves it.  If the entering coordinate depends
on A there is a null direction v, ``Q v = 0`` and ``B^T v = 0`` (up to rounding).  Then alpha moves
along v, u stays, until another coordinate reaches the end of its knot, and the two are *exchanged*.
If the border loses its support on A (A empty with an intercept), b itself is free: it *slides*,
alpha stays, until a coordinate reaches a corner and can restore the balance.

Every function returns `GO`, or the obstacle before anything has changed: a missing row of Q, or
full arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from homotopy.model.polyline import JUMP, SEAM
from homotopy.tracker.compiling import PART
from homotopy.tracker.exchange import exchange
from homotopy.tracker.independence import (
    append,
    append_slanted,
    pivot_and_verdict,
    pivot_of,
    remove,
    rounding_of,
)
from homotopy.tracker.leaving import arrive, leave, ready_for
from homotopy.tracker.nearness import near_of, slope_value, update_slanted_u
from homotopy.tracker.pieces import flat_rate, is_active, pull_on, set_fence, set_piece
from homotopy.tracker.state import (
    ARRIVED,
    GO,
    INDEFINITE,
    UNBALANCED,
    UNBOUNDED,
    WALLS,
)
from homotopy.tracker.validity import response_rates_changed
from homotopy.tracker.windows import widen

__all__ = [
    "admit",
    "cross",
    "hold_dependent",
    "ignore_corners",
    "restore_corners",
    "slack_of",
    "slide",
]


@njit(**PART)
def enter(core, i, corner, side):  # type: ignore[no-untyped-def]
    """Move coordinate i from a slope onto the knot (or pin) at `corner`."""
    polylines, coords, fixed, event = core.polylines, core.coords, core.fixed, core.event
    slope = coords.status[i].piece // 2
    if is_active(core, i):
        # (On a slanted piece alpha is already tracked.)
        remove(core, i)
    else:
        coords.alpha[i] = slope_value(core, i, slope, coords.u[i])
    least = 0.0 if fixed.semidefinite else core.tol.definite
    pivot, verdict = pivot_and_verdict(core, i, least)
    if verdict < 0:
        bend = polylines.slope[i, slope].bend
        if bend > 0.0:
            append_slanted(core, i, bend)
        event.requested = i
        return INDEFINITE
    pull_on(core, i, -flat_rate(core, i))
    set_piece(core, i, 2 * corner + 1, side)
    if verdict > 0:
        append(core, i, pivot)
        return GO
    inward = -1.0 if slope == corner else 1.0
    code = exchange(core, i, inward, np.int64(0))
    if code == UNBOUNDED and not event.moved_here:
        # Nothing has moved yet: go back.
        arrive(core, i, slope)
        return drift_or_fail(core, i)
    return code


@njit(**PART)
def drift_or_fail(core, i):  # type: ignore[no-untyped-def]
    """Nothing can stop coordinate i.  If it is too slow to matter, ignore its corners; else return
    `UNBOUNDED`.

    Walls that meet in a single point admit no motion at all; an apparent speed there is rounding.
    """
    route, event = core.route, core.event
    event.requested = i
    if event.crossing_speed * abs(route.stop - route.tau) <= slack_of(core, i):
        ignore_corners(core, i, event.crossing_speed)
        return GO
    return UNBOUNDED


@njit(**PART)
def slack_of(core, i):  # type: ignore[no-untyped-def]
    """Return how far coordinate i may drift if nothing can stop it."""
    coords, sizes, tol = core.coords, core.sizes, core.tol
    fence = coords.fence[i]
    size = max(max(fence.scale, abs(coords.u[i])), tol.of_w * fence.root * sizes.length)
    return tol.allowed_drift * size + tol.drift * fence.root * sizes.noise


@njit(**PART)
def ignore_corners(core, i, speed):  # type: ignore[no-untyped-def]
    """Ignore the corners of coordinate i during the next step, which is kept short."""
    coords, event, cursor = core.coords, core.event, core.cursor
    fence = coords.fence[i]
    fence.low, fence.low_rate, fence.high, fence.high_rate = -np.inf, 0.0, np.inf, 0.0
    coords.status[i].ignores_corners = 1
    event.ignored += 1
    event.slack_speed = max(event.slack_speed, speed)
    cursor.due = 0


@njit(**PART)
def restore_corners(core):  # type: ignore[no-untyped-def]
    """Stop ignoring the corners of any coordinate."""
    coords, event = core.coords, core.event
    if event.ignored:
        for i in range(coords.u.size):
            if coords.status[i].ignores_corners:
                coords.status[i].ignores_corners = 0
                set_fence(core, i)
        event.ignored = 0


@njit(**PART)
def cross(core, i, way):  # type: ignore[no-untyped-def]
    """Move coordinate i to the neighbouring piece, towards larger u (way +1; on a knot towards
    larger alpha) or smaller; +2 and -2 move one that is dependent on its knot to the slope beside
    it."""
    polylines, coords, event = core.polylines, core.coords, core.event
    code = ready_for(core, i)
    if code != GO:
        return code
    piece = coords.status[i].piece
    j = piece // 2
    if abs(way) == 2:
        # An end of the knot on which it was dependent has reached its alpha.
        leave(core, i, j if way > 0 else j + 1)
        return GO
    if coords.status[i].dependent:
        return release_dependent(core, i, way)
    if piece % 2 == 1:
        leave(core, i, j if way > 0 else j + 1)
        return GO
    corner = j if way > 0 else j - 1
    kind = polylines.corner[i, corner].kind
    if kind == SEAM:
        if not can_be_on(core, i, j + 1 if way > 0 else j - 1):
            event.requested = i
            return INDEFINITE
        leave(core, i, j + 1 if way > 0 else j - 1)
        return GO
    side: Any = np.int64(0)
    if kind == JUMP:
        side = -1 if way > 0 else 1
    return enter(core, i, corner, side)


@njit(**PART)
def can_be_on(core, i, j):  # type: ignore[no-untyped-def]
    """Whether coordinate i, coming from a flat slope, can be on slope j.  If the form is not
    semidefinite, a slanted slope needs a positive pivot."""
    polylines, fixed = core.polylines, core.fixed
    bend = polylines.slope[i, j].bend
    if bend == 0.0 or fixed.semidefinite or is_active(core, i):
        return True
    pivot = pivot_of(core, i, 1.0 / bend)
    rounding, mass = rounding_of(core, i)
    return pivot > max(rounding, core.tol.definite * mass)


@njit(**PART)
def hold_dependent(core, i):  # type: ignore[no-untyped-def]
    """Keep coordinate i on its knot with its present alpha, outside the factor.

    It depends on the active coordinates, so its response follows from theirs.  If equations are
    redundant, or there are more unknowns than rows, it stays on its corner.
    """
    coords, system = core.coords, core.system
    coords.status[i].dependent = 1
    system.dependents += 1
    set_fence(core, i)


@njit(**PART)
def release_dependent(core, i, way):  # type: ignore[no-untyped-def]
    """Factor coordinate i, dependent on its knot, as it moves off its corner (way +1: upwards)."""
    event, status = core.event, core.coords.status[i]
    set_piece(core, i, status.piece, status.side)
    pivot, verdict = pivot_and_verdict(core, i, 0.0)
    if verdict > 0:
        append(core, i, pivot)
        return GO
    inward = -1.0 if way > 0 else 1.0
    code = exchange(core, i, inward, np.int64(0))
    if code == UNBOUNDED and not event.moved_here:
        hold_dependent(core, i)
        return drift_or_fail(core, i)
    return code


@njit(**PART)
def slide(core):  # type: ignore[no-untyped-def]
    """Slide b along ``column.slide`` (alpha stays) until a coordinate meets a corner."""
    polylines, coords, active, route = core.polylines, core.coords, core.active, core.route
    event, cursor = core.event, core.cursor
    widen(core)
    cursor.slides += 1
    step, largest = np.inf, 0.0
    for i in range(coords.u.size):
        du = 0.0
        for c in range(active.column.size):
            du += coords.border[i, c] * active.column[c].slide
        coords.du[i] = du
        largest = max(largest, abs(du))
    chosen: Any = np.int64(-1)
    best = 0.0
    for attempt in range(2):
        for i in range(coords.u.size):
            du, fence = coords.du[i], coords.fence[i]
            waits = coords.status[i].dependent
            if (coords.status[i].piece % 2 == 1 and not waits) or abs(
                du
            ) <= core.tol.sliding * largest:
                continue
            off = fence.shift * route.mu
            room = fence.high + fence.high_rate * route.t + off - coords.u[i]
            if du < 0.0:
                room = coords.u[i] - fence.low - fence.low_rate * route.t - off
            room = max(room, 0.0)
            if attempt == 0:
                if room < step * abs(du):
                    chosen, step, best = i, room / abs(du), abs(du)
            elif room <= step * abs(du) + near_of(core, i) and abs(du) > best:
                chosen, best = i, abs(du)
        if step == np.inf:
            response_rates_changed(core)
            return UNBALANCED
    response_rates_changed(core)
    way = 1 if coords.du[chosen] > 0.0 else -1
    code = ready_for(core, chosen)
    if code != GO:
        return code
    for i in range(coords.u.size):
        coords.u[i] += step * coords.du[i]
    update_slanted_u(core)
    for c in range(active.column.size):
        active.column[c].b += step * active.column[c].slide
    event.crossing_speed = np.inf
    if step > 0.0:
        event.moved_here = 1
    corner = coords.status[chosen].piece // 2 - (0 if way > 0 else 1)
    wall = coords.status[chosen].dependent == 0 and polylines.corner[chosen, corner].kind == JUMP
    if wall and not route.pin:
        coords.tied[coords.tied.size - 1] = 2 * chosen + (1 if way > 0 else 0)
        event.walls = 1
        return WALLS
    return cross(core, chosen, way)


@njit(**PART)
def admit(core):  # type: ignore[no-untyped-def]
    """Add the coordinates listed in ``motion.flips``, all on their pieces, to the factor.

    If a Rayleigh quotient is below ``system.least``, that coordinate or another leaves its knot.
    """
    polylines, coords, motion, sizes = core.polylines, core.coords, core.motion, core.sizes
    system, event, jumping = core.system, core.event, core.jumping
    while system.admitted < jumping.flips:
        i = motion.flips[system.admitted]
        code = ready_for(core, i)
        if code != GO:
            return code
        system.admitted += 1
        piece = coords.status[i].piece
        if piece % 2 == 0:
            bend = polylines.slope[i, piece // 2].bend
            if bend > 0.0:
                append_slanted(core, i, bend)
            continue
        pivot, verdict = pivot_and_verdict(core, i, system.least)
        if verdict < 0:
            event.requested = i
            return INDEFINITE
        if verdict > 0:
            append(core, i, pivot)
            continue
        code = UNBOUNDED
        if sizes.length > 0.0:
            # (With w = 0, a direction that is null up to rounding would make w pure rounding.)
            code = exchange(core, i, 1.0, np.int64(1))
        if code == UNBOUNDED:
            hold_dependent(core, i)
        elif code != GO:
            return code
    return ARRIVED
