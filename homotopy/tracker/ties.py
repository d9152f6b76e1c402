"""Ties: how the path continues where several coordinates are on corners at once.

Ties are the normal case: repeated rows, integer features, symmetric data.  They are an ordering
problem.  Imagine every coordinate on a corner an infinitesimal distance away from it, each its own
generic multiple of one epsilon: then no two events coincide, every pivot is an ordinary one, and
the path through the point consists of finitely many segments of infinitesimal length.  They are
followed like any segment, by speeds and the first event, with distances in units of epsilon.  The
stored numbers are not perturbed; epsilon only decides what comes first.  When no coordinate moves
off its piece any more, the next segment has positive length.

The perturbed problem is a parametric problem of the same kind, in general position, with the
present point and pieces as a solution; so no partition recurs and the sequence is finite, whatever
the distances are.  The distances are the same at every point (a low-discrepancy sequence over
coordinate and end), but differ when a jump is crossed again at the same t, so that a decision
spoiled by rounding is not repeated.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from homotopy.model.polyline import JUMP
from homotopy.tracker.compiling import PART
from homotopy.tracker.factor import back_substitute, forward_substitute
from homotopy.tracker.independence import pivot_of
from homotopy.tracker.nearness import (
    corner_rate,
    gaps_of,
    near_alpha_of,
    near_of,
    set_slanted_rate,
    slope_rate,
    still_alpha,
    still_u,
)
from homotopy.tracker.pieces import room_of
from homotopy.tracker.pivots import cross, ignore_corners, slide
from homotopy.tracker.products import responses
from homotopy.tracker.rates import add_border, all_rates, rate_of, solve
from homotopy.tracker.state import BY_DIRECTION, GO, ROWS, STUCK, WALLS
from homotopy.tracker.tolerances import GOLDEN, PLASTIC
from homotopy.tracker.validity import point_moved

__all__ = ["dependent_end", "resolve_ties", "stays_on_jump"]


# ------------------------------------------------------------------ finding ties


@njit(**PART)
def note_tie(core, i):  # type: ignore[no-untyped-def]
    """Note that coordinate i is on a corner or at an end of its knot."""
    coords, event = core.coords, core.event
    status = coords.status[i]
    coords.tied[event.tied] = i
    event.tied += 1
    if status.point != event.point:
        status.point, status.crossed = event.point, 0
        status.gap_low = status.gap_high = -1.0


@njit(**PART)
def list_ties(core):  # type: ignore[no-untyped-def]
    """List the coordinates on a corner (a step has just done so if the list is fresh) and those at
    an end of their knot."""
    coords, active = core.coords, core.active
    system, event, scope = core.system, core.event, core.scope
    listed = event.tied if event.fresh else 0
    examined = 0 if event.fresh else scope.examined
    event.tied = event.moved_here = 0
    point_moved(core)
    for q in range(listed):
        note_tie(core, coords.tied[q])
    for k in range(examined):
        i = coords.near[k]
        over, under = gaps_of(core, i)
        if min(over, under) <= near_of(core, i):
            note_tie(core, i)
    for k in range(system.actives):
        i = active.index[k]
        if coords.status[i].piece % 2 == 1:
            room = min(room_of(core, i, 1.0), room_of(core, i, -1.0))
            if room <= near_alpha_of(core, i, active.rate[k] if system.solved else 0.0):
                note_tie(core, i)


@njit(**PART)
def distance(core, i, gap, high):  # type: ignore[no-untyped-def]
    """Return an infinitesimal distance: the known one, or a new generic number times the usual
    corner (on a slope) or the usual alpha (on a knot), so that no unit decides who is first."""
    event, sizes = core.event, core.sizes
    if gap >= 0.0:
        return gap
    value = GOLDEN * (2 * i + high + 1) + PLASTIC * event.tie_order
    unit = sizes.height if core.coords.status[i].piece % 2 == 1 else sizes.size_scale
    return (0.5 + value - np.floor(value)) * unit


# ------------------------------------------------------------------ speeds


@njit(**PART)
def end_rate(core, i, j, corner):  # type: ignore[no-untyped-def]
    """Return the rate of the end of knot `corner` at slope j."""
    polylines = core.polylines
    rate, bend = slope_rate(core, i, j), polylines.slope[i, j].bend
    return rate - bend * corner_rate(core, i, corner)


@njit(**PART)
def rate_tied(core):  # type: ignore[no-untyped-def]
    """Compute u' of the tied coordinates, or of all if that takes no longer."""
    coords, motion, fixed = core.coords, core.motion, core.fixed
    system, event, scope = core.system, core.event, core.scope
    if system.rated:
        return
    if fixed.mode == ROWS:
        if 3 * event.tied > scope.examined:
            all_rates(core)
        else:
            for q in range(event.tied):
                coords.du[coords.tied[q]] = rate_of(core, coords.tied[q])
    else:
        responses(core, coords.tied, event.tied, motion.dw, coords.du)
        add_border(core, coords.tied, event.tied)
    if fixed.slanted and not system.rated:
        for q in range(event.tied):
            if coords.status[coords.tied[q]].bend > 0.0:
                set_slanted_rate(core, coords.tied[q])


@njit(**PART)
def off_knot(core, i):  # type: ignore[no-untyped-def]
    """Return the direction in which coordinate i, at an end of its knot, moves off it (0 if it does
    not), its speed, and the largest speed that is insignificant."""
    coords, active, route = core.coords, core.active, core.route
    status = coords.status[i]
    j, rate = status.piece // 2, active.rate[status.place]
    near = near_alpha_of(core, i, rate)
    still = 2.0 * near / abs(route.stop - route.tau) + still_alpha(core, i)
    if status.side <= 0 and room_of(core, i, 1.0) <= near:
        speed = route.sign * (rate - end_rate(core, i, j, j))
        if speed > still:
            return 1, speed, still
    if status.side >= 0 and room_of(core, i, -1.0) <= near:
        speed = route.sign * (end_rate(core, i, j + 1, j) - rate)
        if speed > still:
            return -1, speed, still
    return 0, 0.0, still


@njit(**PART)
def dependent_end(core, i):  # type: ignore[no-untyped-def]
    """Return which end of its knot approaches the alpha of dependent coordinate i (+1: the upper
    one, 0: none), and the length of step until it arrives."""
    coords, route = core.coords, core.route
    status = coords.status[i]
    j = status.piece // 2
    still = 2.0 * near_alpha_of(core, i, 0.0) / abs(route.stop - route.tau)
    way, best = 0, np.inf
    if status.side <= 0:
        speed = -route.sign * end_rate(core, i, j, j)
        if speed > still:
            way, best = 1, max(room_of(core, i, 1.0), 0.0) / speed
    if status.side >= 0:
        speed = route.sign * end_rate(core, i, j + 1, j)
        if speed > still:
            length = max(room_of(core, i, -1.0), 0.0) / speed
            if length < best:
                way, best = -1, length
    return way, best


@njit(**PART)
def first_event(core):  # type: ignore[no-untyped-def]
    """Return the first tied coordinate to leave its piece, its direction (+1: larger u or alpha),
    speed, insignificant speed and time; list walls at the far end of ``coords.tied``."""
    polylines, coords, route, event = core.polylines, core.coords, core.route, core.event
    event.walls = 0
    chosen, chosen_way = np.int64(-1), np.int64(0)
    speed, slow, soonest = 0.0, 0.0, np.inf
    per_left, sign, dt = 2.0 / abs(route.stop - route.tau), route.sign, route.dt
    for q in range(event.tied):
        i = coords.tied[q]
        status, fence = coords.status[i], coords.fence[i]
        if status.dependent:
            end, _ = dependent_end(core, i)
            if end and room_of(core, i, float(end)) <= near_alpha_of(core, i, 0.0):
                # (For +-2 see `cross`.)
                return i, np.int64(2 * end), np.inf, 0.0, 0.0
        if status.piece % 2 == 1 and not status.dependent:
            way, pace, still = off_knot(core, i)
            if way == 0:
                continue
        else:
            # Most coordinates on a corner stay there, or leave it for the inside of their piece.
            rate, noise = coords.du[i] - fence.shift * route.dmu, still_u(core, i)
            up, down = sign * (rate - fence.high_rate * dt), sign * (fence.low_rate * dt - rate)
            pace = max(up, down)
            if pace <= noise:
                continue
            near = near_of(core, i)
            still, (over, under) = per_left * near + noise, gaps_of(core, i)
            way = 0
            if up > still and over <= near:
                way, pace = 1, up
            elif down > still and under <= near:
                way, pace = -1, down
            if way == 0:
                continue
            corner = status.piece // 2 - (1 if way < 0 else 0)
            if status.dependent:
                return i, way, pace, still, 0.0
            if not route.pin and polylines.corner[i, corner].kind == JUMP:
                event.walls += 1
                coords.tied[coords.tied.size - event.walls] = 2 * i + (1 if way > 0 else 0)
                continue
        gap = distance(core, i, status.gap_high if way > 0 else status.gap_low, way)
        if gap < soonest * pace:
            chosen, chosen_way, speed, slow, soonest = i, way, pace, still, gap / pace
    return chosen, chosen_way, speed, slow, soonest


@njit(**PART)
def pass_time(core, time):  # type: ignore[no-untyped-def]
    """Let an infinitesimal `time` pass: update the distances at the present speeds."""
    coords, active, route, event = core.coords, core.active, core.route, core.event
    if time == 0.0:
        return
    for q in range(event.tied):
        i = coords.tied[q]
        status, fence = coords.status[i], coords.fence[i]
        j = status.piece // 2
        if status.dependent:
            continue
        if status.piece % 2 == 1:
            rate = active.rate[status.place]
            up = route.sign * (rate - end_rate(core, i, j, j))
            down = route.sign * (end_rate(core, i, j + 1, j) - rate)
        else:
            pace = fence.shift * route.dmu
            up = route.sign * (coords.du[i] - fence.high_rate * route.dt - pace)
            down = route.sign * (fence.low_rate * route.dt + pace - coords.du[i])
        if np.isfinite(up):
            status.gap_high = max(distance(core, i, status.gap_high, np.int64(1)) - up * time, 0.0)
        if np.isfinite(down):
            status.gap_low = max(distance(core, i, status.gap_low, np.int64(-1)) - down * time, 0.0)


# ------------------------------------------------------------------ choosing pieces


@njit(**PART)
def resolve_ties(core):  # type: ignore[no-untyped-def]
    """Choose pieces for the tied coordinates so that none moves off its piece.

    Return `GO` with the rates solved for, `WALLS` if the path ends at a jump, or the obstacle.
    """
    coords, record, route, system = core.coords, core.record, core.route, core.system
    event, jumping, cursor, tol = core.event, core.jumping, core.cursor, core.tol
    event.point += 1
    event.tie_order = jumping.crossings if record.jump[cursor.jumps].t == route.t else 0
    event.pivots_here = 0
    list_ties(core)
    most = tol.pivots + tol.pivots_each * event.tied
    while True:
        if event.pivots_here > most:
            return STUCK
        if not system.solved and not solve(core):
            event.pivots_here += 1
            code = slide(core)
            if code != GO:
                return code
            list_ties(core)
            continue
        rate_tied(core)
        i, way, speed, slow, time = first_event(core)
        if i < 0:
            return WALLS if event.walls else GO
        event.pivots_here += 1
        status = coords.status[i]
        status.crossed += 1
        event.crossing_speed, event.way = speed, way
        if (
            status.crossed > tol.most_crossings
            and status.piece % 2 == 0
            and speed <= tol.unclear * slow
        ):
            # In exact arithmetic a coordinate that moves off its slope moves into its knot.  One
            # that goes back and forth has a column so nearly dependent that its speed has no
            # correct digit.  Ignore its corners for the next step, which is kept short.
            ignore_corners(core, i, speed)
            continue
        pass_time(core, time)
        code = cross(core, i, way)
        if code != GO:
            return code
        if event.moved_here:
            list_ties(core)
            most = max(most, tol.pivots + tol.pivots_each * event.tied)


# ------------------------------------------------------------------ staying on a jump corner


@njit(**PART)
def freedom(core, i):  # type: ignore[no-untyped-def]
    """Return the squared pivot of coordinate i against the other active ones; 0 if they hold it."""
    polylines, coords, active, system = core.polylines, core.coords, core.active, core.system
    piece = coords.status[i].piece
    bend = polylines.slope[i, piece // 2].bend
    if bend == 0.0:
        return pivot_of(core, i, 0.0)
    # It is in the factor itself, with 1/bend on its diagonal.
    unit = active.work[0]
    for k in range(system.actives):
        unit[k] = 0.0
    unit[coords.status[i].place] = 1.0
    forward_substitute(active.factor, system.actives, unit)
    back_substitute(active.factor, system.actives, unit)
    return 1.0 / unit[coords.status[i].place] - 1.0 / bend


@njit(**PART)
def stays_on_jump(core):  # type: ignore[no-untyped-def]
    """Whether a coordinate would stay on a jump corner along the next segment; note it as a wall.

    No local optimum lies there unless the active coordinates hold it: otherwise w can move it off
    in either direction at no first-order cost, and on one side of a concave corner the objective
    falls.  Such a balance arises from symmetric data.  Note one coordinate at a time, because
    flipping all of a balanced set at once would keep the balance.  Coordinates whose flip moved
    nothing are left on the corner as long as they stay.
    """
    polylines, coords, route = core.polylines, core.coords, core.route
    event, scope, tol = core.event, core.scope, core.tol
    left = abs(route.stop - route.tau)
    event.stay += 1
    found = -1
    for q in range(event.tied):
        i = coords.tied[q]
        status, fence = coords.status[i], coords.fence[i]
        if status.piece % 2 == 1 or status.ignores_corners:
            continue
        near = near_of(core, i)
        still = 2.0 * near / left + still_u(core, i)
        for high in range(2):
            corner = status.piece // 2 - 1 + high
            if corner < 0 or corner >= polylines.corner.shape[1]:
                continue
            if polylines.corner[i, corner].kind != JUMP:
                continue
            at, rate = (fence.high, fence.high_rate) if high else (fence.low, fence.low_rate)
            if abs(coords.u[i] - at - rate * route.t) > near or abs(coords.du[i] - rate) > still:
                continue
            if status.left_in_stay == event.stay - 1:
                status.left_in_stay = event.stay
            elif found < 0 or i < found // 2:
                if scope.window == BY_DIRECTION and status.panel_place < 0:
                    continue
                if freedom(core, i) > tol.held * status.weight:
                    found = 2 * i + high
    if found >= 0:
        coords.tied[coords.tied.size - 1] = found
        event.walls = 1
        return True
    return False
