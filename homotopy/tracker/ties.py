"""Which way the path goes from here, where several coordinates stand on corners at once.

Ties are the normal case: repeated rows, integer features, symmetric data.  They are an ordering
problem.  Imagine every coordinate that stands on a corner an infinitesimal distance away from it,
each its own generic multiple of one epsilon: then no two events coincide, every pivot is an
ordinary one, and the path through the point is one of finitely many segments of infinitesimal
length.  They are followed as any segment is: by speeds and the first event, with the distances kept
in units of epsilon.  Nothing is perturbed in the numbers that are kept; epsilon only decides what
is first.  Where nothing moves off its piece any more the next segment has positive length.

The perturbed problem is a parametric problem of the same kind, in general position, that has the
present point and pieces for a solution; so no partition returns and the order is finite, whatever
the distances are.  They are the same at every point (a low-discrepancy sequence over coordinate and
end), and others where a jump is crossed again at the same t, so that a decision that rounding has
spoiled is not taken the same way twice.
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
    imply_rate,
    near_a_of,
    near_of,
    slope_rate,
    still_alpha,
    still_of,
)
from homotopy.tracker.pieces import room_of
from homotopy.tracker.pivots import cross, excuse, slide
from homotopy.tracker.products import responses
from homotopy.tracker.rates import all_rates, rate_of, solve
from homotopy.tracker.state import BY_TURN, GO, ROWS, STUCK, WALLS
from homotopy.tracker.tolerances import GOLDEN, PLASTIC

__all__ = ["idle_end", "linger", "turn"]


# ------------------------------------------------------------------ what is tied


@njit(**PART)
def tie(core, i):  # type: ignore[no-untyped-def]
    """Note that coordinate i stands on a corner or at an end of its knot."""
    here, event = core.here, core.event
    spot = here.spot[i]
    here.tied[event.tied] = i
    event.tied += 1
    if spot.point != event.point:
        spot.point, spot.crossed = event.point, 0
        spot.gap_low = spot.gap_high = -1.0


@njit(**PART)
def stand(core):  # type: ignore[no-untyped-def]
    """List the coordinates standing on a corner (a step has just done so where the list is fresh),
    and those at an end of their knot."""
    here, act, route = core.here, core.act, core.route
    system, event, scope = core.system, core.event, core.scope
    listed = event.tied if event.fresh else 0
    looked = 0 if event.fresh else scope.looked
    event.tied = event.moved_here = event.fresh = 0
    for q in range(listed):
        tie(core, here.tied[q])
    u, near = here.u, here.near
    for k in range(looked):
        i = near[k]
        fence = here.fence[i]
        place = u[i] - fence.shift * route.mu
        gap = min(
            fence.high + fence.high_rate * route.t - place,
            place - fence.low - fence.low_rate * route.t,
        )
        if gap <= near_of(core, i):
            tie(core, i)
    for k in range(system.actives):
        i = act.index[k]
        if here.spot[i].piece % 2 == 1:
            room = min(room_of(core, i, 1.0), room_of(core, i, -1.0))
            if room <= near_a_of(core, i, act.rate[k] if system.solved else 0.0):
                tie(core, i)


@njit(**PART)
def distance(core, i, gap, high):  # type: ignore[no-untyped-def]
    """An infinitesimal distance: what it is known to be, or a fresh generic number."""
    event = core.event
    if gap >= 0.0:
        return gap
    value = GOLDEN * (2 * i + high + 1) + PLASTIC * event.draw
    return 0.5 + value - np.floor(value)


# ------------------------------------------------------------------ speeds


@njit(**PART)
def end_rate(core, i, j, corner):  # type: ignore[no-untyped-def]
    """How fast the end of knot `corner` at slope j moves."""
    lines = core.lines
    rate, bend = slope_rate(core, i, j), lines.slope[i, j].bend
    return rate - bend * corner_rate(core, i, corner)


@njit(**PART)
def rate_tied(core):  # type: ignore[no-untyped-def]
    """u' of the tied coordinates; of all where that takes no longer."""
    here, act, mov, fixed = core.here, core.act, core.mov, core.fixed
    system, event, scope = core.system, core.event, core.scope
    if system.rated:
        return
    if fixed.mode == ROWS:
        if 3 * event.tied > scope.looked:
            all_rates(core)
        else:
            for q in range(event.tied):
                here.du[here.tied[q]] = rate_of(core, here.tied[q])
    else:
        responses(core, here.tied, event.tied, mov.dw, here.du)
        for c in range(act.column.size):
            lift = act.column[c].lift
            for q in range(event.tied):
                here.du[here.tied[q]] += lift * here.border[here.tied[q], c]
    if fixed.slanted and not system.rated:
        for q in range(event.tied):
            if here.spot[here.tied[q]].bend > 0.0:
                imply_rate(core, here.tied[q])


@njit(**PART)
def off_knot(core, i):  # type: ignore[no-untyped-def]
    """The way in which coordinate i, at an end of its knot, moves off it (0: it does not), its
    speed, and what is too slow to tell."""
    here, act, route = core.here, core.act, core.route
    spot = here.spot[i]
    j, rate = spot.piece // 2, act.rate[spot.place]
    near = near_a_of(core, i, rate)
    still = 2.0 * near / abs(route.stop - route.tau) + still_alpha(core, i)
    if spot.side <= 0 and room_of(core, i, 1.0) <= near:
        speed = route.sign * (rate - end_rate(core, i, j, j))
        if speed > still:
            return 1, speed, still
    if spot.side >= 0 and room_of(core, i, -1.0) <= near:
        speed = route.sign * (end_rate(core, i, j + 1, j) - rate)
        if speed > still:
            return -1, speed, still
    return 0, 0.0, still


@njit(**PART)
def idle_end(core, i):  # type: ignore[no-untyped-def]
    """Which end of its knot comes up to the alpha of coordinate i, idle there (+1: the upper one,
    0: none), and the length of step until then."""
    here, route = core.here, core.route
    spot = here.spot[i]
    j = spot.piece // 2
    still = 2.0 * near_a_of(core, i, 0.0) / abs(route.stop - route.tau)
    way, best = 0, np.inf
    if spot.side <= 0:
        speed = -route.sign * end_rate(core, i, j, j)
        if speed > still:
            way, best = 1, max(room_of(core, i, 1.0), 0.0) / speed
    if spot.side >= 0:
        speed = route.sign * end_rate(core, i, j + 1, j)
        if speed > still:
            length = max(room_of(core, i, -1.0), 0.0) / speed
            if length < best:
                way, best = -1, length
    return way, best


@njit(**PART)
def first_event(core):  # type: ignore[no-untyped-def]
    """The first tied coordinate to move off its piece, the way it goes (+1: larger u or alpha), its
    speed, what is too slow to tell, and when; walls are noted, at the far end of ``here.tied``."""
    lines, here, route, event = core.lines, core.here, core.route, core.event
    event.walls = 0
    chosen, chosen_way = np.int64(-1), np.int64(0)
    speed, slow, soonest = 0.0, 0.0, np.inf
    per_left, sign, dt, t = 2.0 / abs(route.stop - route.tau), route.sign, route.dt, route.t
    for q in range(event.tied):
        i = here.tied[q]
        spot, fence = here.spot[i], here.fence[i]
        if spot.idle:
            end, _ = idle_end(core, i)
            if end and room_of(core, i, float(end)) <= near_a_of(core, i, 0.0):
                # (Twice as far as who leaves its corner goes: see `cross`.)
                return i, np.int64(2 * end), np.inf, 0.0, 0.0
        if spot.piece % 2 == 1 and not spot.idle:
            way, pace, still = off_knot(core, i)
            if way == 0:
                continue
        else:
            # Most that stand on a corner stay there, or leave it for the inside of their piece.
            rate, noise = here.du[i] - fence.shift * route.dmu, still_of(core, i)
            up, down = sign * (rate - fence.high_rate * dt), sign * (fence.low_rate * dt - rate)
            pace = max(up, down)
            if pace <= noise:
                continue
            near = near_of(core, i)
            still, place = per_left * near + noise, here.u[i] - fence.shift * route.mu
            way = 0
            if up > still and fence.high + fence.high_rate * t - place <= near:
                way, pace = 1, up
            elif down > still and place - fence.low - fence.low_rate * t <= near:
                way, pace = -1, down
            if way == 0:
                continue
            corner = spot.piece // 2 - (1 if way < 0 else 0)
            if spot.idle:
                return i, way, pace, still, 0.0
            if not route.pin and lines.corner[i, corner].kind == JUMP:
                event.walls += 1
                here.tied[here.tied.size - event.walls] = 2 * i + (1 if way > 0 else 0)
                continue
        gap = distance(core, i, spot.gap_high if way > 0 else spot.gap_low, way)
        if gap < soonest * pace:
            chosen, chosen_way, speed, slow, soonest = i, way, pace, still, gap / pace
    return chosen, chosen_way, speed, slow, soonest


@njit(**PART)
def pass_time(core, time):  # type: ignore[no-untyped-def]
    """Bring the infinitesimal distances up to date."""
    here, act, route, event = core.here, core.act, core.route, core.event
    if time == 0.0:
        return
    for q in range(event.tied):
        i = here.tied[q]
        spot, fence = here.spot[i], here.fence[i]
        j = spot.piece // 2
        if spot.idle:
            continue
        if spot.piece % 2 == 1:
            rate = act.rate[spot.place]
            up = route.sign * (rate - end_rate(core, i, j, j))
            down = route.sign * (end_rate(core, i, j + 1, j) - rate)
        else:
            pace = fence.shift * route.dmu
            up = route.sign * (here.du[i] - fence.high_rate * route.dt - pace)
            down = route.sign * (fence.low_rate * route.dt + pace - here.du[i])
        if np.isfinite(up):
            spot.gap_high = max(distance(core, i, spot.gap_high, np.int64(1)) - up * time, 0.0)
        if np.isfinite(down):
            spot.gap_low = max(distance(core, i, spot.gap_low, np.int64(-1)) - down * time, 0.0)


# ------------------------------------------------------------------ the turn


@njit(**PART)
def turn(core):  # type: ignore[no-untyped-def]
    """Choose pieces for the tied coordinates so that none moves off its piece.

    Returns `GO` with the rates solved for, `WALLS` where the path ends at a jump, or what is in
    the way.
    """
    here, rec, route, system = core.here, core.rec, core.route, core.system
    event, jumping, cursor, tol = core.event, core.jumping, core.cursor, core.tol
    event.point += 1
    event.draw = jumping.crossings if rec.jump[cursor.jumps].t == route.t else 0
    event.pivots_here = 0
    stand(core)
    most = tol.pivots + tol.pivots_each * event.tied
    while True:
        if event.pivots_here > most:
            return STUCK
        if not system.solved and not solve(core):
            event.pivots_here += 1
            code = slide(core)
            if code != GO:
                return code
            stand(core)
            continue
        rate_tied(core)
        i, way, speed, slow, time = first_event(core)
        if i < 0:
            return WALLS if event.walls else GO
        event.pivots_here += 1
        spot = here.spot[i]
        spot.crossed += 1
        event.offence, event.way = speed, way
        if spot.crossed > tol.to_and_fro and spot.piece % 2 == 0 and speed <= tol.unclear * slow:
            # In exact arithmetic a coordinate that moves off its slope moves into its knot.  One
            # that goes back and forth sits on a column so nearly dependent that its speed has no
            # digit left.  It is excused for the coming step, which is kept short.
            excuse(core, i, speed)
            continue
        pass_time(core, time)
        code = cross(core, i, way)
        if code != GO:
            return code
        if event.moved_here:
            stand(core)
            most = max(most, tol.pivots + tol.pivots_each * event.tied)


# ------------------------------------------------------------------ who stays on a jump corner


@njit(**PART)
def freedom(core, i):  # type: ignore[no-untyped-def]
    """The squared pivot of coordinate i against the other active ones; 0 where they hold it."""
    lines, here, act, system = core.lines, core.here, core.act, core.system
    piece = here.spot[i].piece
    bend = lines.slope[i, piece // 2].bend
    if bend == 0.0:
        return pivot_of(core, i, 0.0)
    # It is in the factor itself, with 1/bend on its diagonal.
    unit = act.work[0]
    for k in range(system.actives):
        unit[k] = 0.0
    unit[here.spot[i].place] = 1.0
    forward_substitute(act.factor, system.actives, unit)
    back_substitute(act.factor, system.actives, unit)
    return 1.0 / unit[here.spot[i].place] - 1.0 / bend


@njit(**PART)
def linger(core):  # type: ignore[no-untyped-def]
    """Whether a coordinate would stay on a jump corner along the coming segment; noted as a wall.

    No local optimum sits there unless the active coordinates hold it: otherwise w can move it off
    either way at no first-order cost, and one side of a concave corner goes down.  Such a balance
    arises from symmetric data.  One is returned at a time, for flipping all of a balanced set at
    once would keep the balance; those whose flip moved nothing rest as long as they stand there.
    """
    lines, here, route = core.lines, core.here, core.route
    event, scope, tol = core.event, core.scope, core.tol
    left = abs(route.stop - route.tau)
    event.linger += 1
    found = -1
    for q in range(event.tied):
        i = here.tied[q]
        spot, fence = here.spot[i], here.fence[i]
        if spot.piece % 2 == 1 or spot.excused:
            continue
        near = near_of(core, i)
        still = 2.0 * near / left + still_of(core, i)
        for high in range(2):
            corner = spot.piece // 2 - 1 + high
            if corner < 0 or corner >= lines.corner.shape[1]:
                continue
            if lines.corner[i, corner].kind != JUMP:
                continue
            at, rate = (fence.high, fence.high_rate) if high else (fence.low, fence.low_rate)
            if abs(here.u[i] - at - rate * route.t) > near or abs(here.du[i] - rate) > still:
                continue
            if spot.resting == event.linger - 1:
                spot.resting = event.linger
            elif found < 0 or i < found // 2:
                if scope.window == BY_TURN and spot.seat < 0:
                    continue
                if freedom(core, i) > tol.held * spot.weight:
                    found = 2 * i + high
    if found >= 0:
        here.tied[here.tied.size - 1] = found
        event.walls = 1
        return True
    return False
