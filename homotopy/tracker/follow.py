"""Following a route: *look, choose, pivot, aim, step, record*, from break-point to break-point.

`follow` is the one loop behind C-step, D-step, start and repair; only the route (`core.route`)
tells which.  It comes back when the route has ended or when it wants something that
compiled code cannot do (a row of Q, more room, a recomputation of u), with everything as it should
be to go on.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from homotopy.tracker.compiling import PART
from homotopy.tracker.nearness import near_a_of, near_of, place_of, still_alpha, still_of
from homotopy.tracker.pieces import room_of, set_fence
from homotopy.tracker.pivots import slack_of
from homotopy.tracker.proof import off_course, refine, take_up
from homotopy.tracker.rates import all_rates
from homotopy.tracker.state import (
    ARRIVED,
    BY_PLACE,
    BY_TURN,
    GO,
    NO_WINDOW,
    PAUSE,
    RECORD_FULL,
    REPAIR,
    ROWS,
    STUCK,
    WALLS,
)
from homotopy.tracker.ties import end_rate, idle_end, linger, turn
from homotopy.tracker.tolerances import EPS
from homotopy.tracker.windows import close_window, gone_by_place, look_around, open_window, turned

__all__ = ["follow", "seal"]


# ------------------------------------------------------------------ the length of a step


@njit(**PART)
def first_corner(core):  # type: ignore[no-untyped-def]
    """The length of step at which the first coordinate on a slope meets a corner it moves towards.

    Too slow to leave a corner by more than its tolerance before the route ends is no motion; gaps
    are clipped at zero.
    """
    here, route, scope = core.here, core.route, core.scope
    best, per_left = np.inf, 2.0 / abs(route.stop - route.tau)
    u, du, near, sign, dt, t = here.u, here.du, here.near, route.sign, route.dt, route.t
    for k in range(scope.looked):
        i = near[k]
        fence = here.fence[i]
        low, low_rate, high, high_rate = fence.low, fence.low_rate, fence.high, fence.high_rate
        off, pace = fence.shift * route.mu - u[i], du[i] - fence.shift * route.dmu
        over, up = high + high_rate * t + off, sign * (pace - high_rate * dt)
        under, down = -(low + low_rate * t + off), sign * (low_rate * dt - pace)
        # Everything is at hand, so that a way is chosen without a branch: half of them go up.
        gap, speed = over, up
        if down > up:
            gap, speed = under, down
        if speed > 0.0 and gap < best * speed:
            still = per_left * near_of(core, i) + still_of(core, i)
            if speed > still:
                best = max(gap, 0.0) / speed
        if min(up, down) > 0.0:
            # Both corners come nearer: a narrowing piece.
            gap, speed = (under, down) if down <= up else (over, up)
            still = per_left * near_of(core, i) + still_of(core, i)
            if speed > still and gap < best * speed:
                best = max(gap, 0.0) / speed
    return best


@njit(**PART)
def first_knot_end(core):  # type: ignore[no-untyped-def]
    """The length of step at which the first coordinate on a knot meets an end of it."""
    here, act, route, system = core.here, core.act, core.route, core.system
    best, per_left = np.inf, 2.0 / abs(route.stop - route.tau)
    for k in range(system.actives):
        i, rate = act.index[k], act.rate[k]
        spot = here.spot[i]
        if spot.piece % 2 == 0:
            continue
        j = spot.piece // 2
        up = down = 0.0
        if spot.side <= 0:
            up = route.sign * (rate - end_rate(core, i, j, j))
        if spot.side >= 0:
            down = route.sign * (end_rate(core, i, j + 1, j) - rate)
        still = per_left * near_a_of(core, i, rate) + still_alpha(core, i)
        if up > still:
            best = min(best, max(room_of(core, i, 1.0), 0.0) / up)
        if down > still:
            best = min(best, max(room_of(core, i, -1.0), 0.0) / down)
    if system.idles:
        for i in range(here.u.size):
            if here.spot[i].idle:
                best = min(best, idle_end(core, i)[1])
    return best


@njit(**PART)
def length_to_event(core):  # type: ignore[no-untyped-def]
    """The length of step to the first of all these events; a coordinate excused from its corner may
    not get far beyond it."""
    here, event = core.here, core.event
    length = min(first_corner(core), first_knot_end(core))
    if event.slack_speed > 0.0:
        for q in range(event.tied):
            if here.spot[here.tied[q]].excused == 1:
                slack = slack_of(core, here.tied[q])
                length = min(length, slack / event.slack_speed)
    return length


@njit(**PART)
def within_window(core, step):  # type: ignore[no-untyped-def]
    """The step that an open window allows, 0 where it is used up; `spent` grows by it."""
    route, scope, opt = core.route, core.scope, core.opt
    if scope.window == BY_TURN:
        turn_by = turned(core)
        room = min((scope.reach - scope.spent) / turn_by, abs(scope.horizon - route.tau))
        if step > room:
            if not room > opt.used_up * step:
                return 0.0
            step = room
        scope.spent += step * turn_by
    elif scope.window == BY_PLACE:
        spent, pace = gone_by_place(core)
        room = scope.reach - spent
        if step * pace > room:
            if room <= opt.used_up * scope.reach:
                return 0.0
            step = room / pace
    return step


# ------------------------------------------------------------------ record


@njit(**PART)
def seal(core):  # type: ignore[no-untyped-def]
    """The open segment is whole."""
    rec, cursor = core.rec, core.cursor
    if cursor.open:
        cursor.entries = rec.segment[cursor.segments].active
        cursor.segments += 1
        cursor.open = 0


@njit(**PART)
def begin_segment(core):  # type: ignore[no-untyped-def]
    """Write down where a segment begins, unless the one before goes on."""
    here, act, rec = core.here, core.act, core.rec
    route, system, cursor = core.route, core.system, core.cursor
    if cursor.open:
        if rec.segment[cursor.segments].log == cursor.logged:
            return
        seal(core)
    segment, base = rec.segment[cursor.segments], cursor.entries
    segment.start, segment.log = route.tau, cursor.logged
    segment.active = base + system.actives + system.idles
    for k in range(system.actives):
        i = act.index[k]
        rec.active[base + k] = i
        rec.alpha[0, base + k] = here.alpha[i]
    if system.idles:
        k = base + system.actives
        for i in range(here.u.size):
            if here.spot[i].idle:
                rec.active[k] = i
                rec.alpha[0, k] = rec.alpha[1, k] = here.alpha[i]
                k += 1
    for c in range(act.column.size):
        rec.border[cursor.segments, 0, c] = act.column[c].b
    cursor.open = 1


@njit(**PART)
def end_segment(core, cut):  # type: ignore[no-untyped-def]
    """Write down where it ends; it may go on if it was only `cut`."""
    here, act, rec = core.here, core.act, core.rec
    route, system, cursor = core.route, core.system, core.cursor
    segment, base = rec.segment[cursor.segments], cursor.entries
    segment.stop = route.tau
    for k in range(system.actives):
        rec.alpha[1, base + k] = here.alpha[act.index[k]]
    for c in range(act.column.size):
        rec.border[cursor.segments, 1, c] = act.column[c].b
    if not cut:
        seal(core)


# ------------------------------------------------------------------ the step


@njit(**PART)
def move(core, length):  # type: ignore[no-untyped-def]
    """Everything goes on at its rate; who stands on a corner then is listed in the same pass."""
    here, act, mov, route = core.here, core.act, core.mov, core.route
    fixed, system, event, scope = core.fixed, core.system, core.event, core.scope
    u, du, near, t, mu = here.u, here.du, here.near, route.t, route.mu
    for k in range(system.actives):
        here.alpha[act.index[k]] += length * act.rate[k]
    for c in range(act.column.size):
        act.column[c].b += length * act.column[c].lift
    if fixed.mode != ROWS:
        for c in range(mov.w.size):
            mov.w[c] += length * mov.dw[c]
    count = 0
    for k in range(scope.looked):
        i = near[k]
        fence = here.fence[i]
        u[i] += length * du[i]
        if fixed.slanted and here.spot[i].bend > 0.0:
            u[i] = place_of(core, i)
            here.spot[i].miss += length * here.spot[i].miss_rate
        place = u[i] - fence.shift * mu
        over = fence.high + fence.high_rate * t - place
        under = place - fence.low - fence.low_rate * t
        if min(over, under) <= near_of(core, i):
            here.tied[count] = i
            count += 1
    event.tied, event.fresh = count, 1


@njit(**PART)
def refence(core):  # type: ignore[no-untyped-def]
    """Those excused for one step have their corners back."""
    here, event, cursor = core.here, core.event, core.cursor
    for i in range(here.u.size):
        if here.spot[i].excused == 1:
            here.spot[i].excused = 0
            event.excused -= 1
            set_fence(core, i)
    event.slack_speed = 0.0
    cursor.due = event.fresh = 0


@njit(**PART)
def stay_on_course(core):  # type: ignore[no-untyped-def]
    """After a step: correct the active coordinates where they have strayed, and have u recomputed
    where that does not help or t has shrunk."""
    act, route, sizes = core.act, core.route, core.sizes
    scope, cursor, tol = core.scope, core.cursor, core.tol
    if scope.window != BY_TURN and off_course(core) > tol.refine:
        for c in range(act.column.size):
            act.column[c].off = 0.0
        refine(core)
        if not route.settling and off_course(core) > tol.repair:
            cursor.due = 0
    if route.along and abs(route.t) < tol.faded * abs(sizes.checked):
        cursor.due = 0


@njit(**PART)
def step(core):  # type: ignore[no-untyped-def]
    """Go to the next break-point or the end of the route; `PAUSE` asks for another look first."""
    here, route, fixed, sizes = core.here, core.route, core.fixed, core.sizes
    system, event, scope, cursor, tol = core.system, core.event, core.scope, core.cursor, core.tol
    left = abs(route.stop - route.tau)
    length = min(length_to_event(core), left)
    if route.along and system.mass_along > 2.0 * system.carrying:
        rounding = EPS * system.mass_along * length * fixed.largest_root
        if rounding > tol.carried * sizes.size_scale:
            # What is left of slopes that came and went would be carried along too far.
            return REPAIR
    cut = np.int64(0)
    if scope.window:
        allowed = within_window(core, length)
        if allowed == 0.0 and length > 0.0:
            return PAUSE
        cut = np.int64(allowed < length)
        length = allowed
    # What happens within rounding of the end happens at the end; a fast alpha must not go the rest
    # of the way for that.
    arrived = left - length <= tol.arrival * max(abs(route.stop), abs(route.start)) and not cut
    after = route.stop if arrived else route.tau + route.sign * length
    if not arrived and abs(after) < tol.shrinks * abs(route.tau):
        # Where t shrinks a hundredfold its rounding is that of the large one: stop just short of
        # the event and meet it from nearby.
        short = tol.short * EPS * abs(route.tau)
        if length > 2.0 * short:
            length -= short
            after, cut = route.tau + route.sign * length, np.int64(1)
    event.idle = event.idle + 1 if after == route.tau else 0
    if event.idle > tol.idle_steps + tol.idle_each * here.u.size:
        return STUCK
    recorded = cursor.recording and route.along and after != route.tau
    if recorded:
        begin_segment(core)
    route.tau = after
    if route.along:
        route.t = after
    else:
        route.mu = after
    move(core, route.sign * length)
    cursor.steps += 1
    # Before the end is written down: what comes next begins there.
    stay_on_course(core)
    if recorded:
        end_segment(core, cut)
    if event.slack_speed > 0.0:
        refence(core)
    return PAUSE if cut else GO


# ------------------------------------------------------------------ the loop


@njit(**PART)
def look(core):  # type: ignore[no-untyped-def]
    """What there is to see to before the next turn; `GO` if nothing is in the way."""
    here, mov, rec, route, fixed = core.here, core.mov, core.rec, core.route, core.fixed
    system, scope, cursor, opt = core.system, core.scope, core.cursor, core.opt
    if route.tau == route.stop:
        seal(core)
        return ARRIVED
    if cursor.steps >= cursor.stop_steps or (
        route.along and cursor.segments >= cursor.stop_segments
    ):
        return PAUSE
    if cursor.steps >= cursor.due and not route.settling:
        return REPAIR
    if cursor.recording and (
        cursor.segments + 2 >= rec.segment.size
        or cursor.entries + 2 * (system.actives + system.idles) + 64 > rec.active.size
    ):
        return RECORD_FULL
    n = here.u.size
    used_up = scope.window == BY_PLACE and scope.reach < 0.0
    wide = fixed.mode != ROWS and n > 4 * opt.fewest_on_features and n * mov.w.size > opt.wide
    if wide and (scope.window == NO_WINDOW or used_up):
        return look_around(core)
    return GO


@njit(**PART)
def look_less(core):  # type: ignore[no-untyped-def]
    """Open a window by turn where it pays."""
    here, route, fixed, system = core.here, core.route, core.fixed, core.system
    scope, cursor, opt = core.scope, core.cursor, core.opt
    if scope.window == NO_WINDOW and fixed.mode == ROWS and route.tau != route.stop:
        heavy = opt.heavy_along if route.along else opt.heavy_across
        if system.actives * here.u.size > heavy and cursor.steps >= scope.pause and system.rated:
            open_window(core)


@njit(**PART)
def follow(core):  # type: ignore[no-untyped-def]
    """Go from break-point to break-point until the route ends or something is wanted."""
    route, system, event = core.route, core.system, core.event
    scope, cursor, tol = core.scope, core.cursor, core.tol
    while True:
        system.blur = tol.blur * EPS * abs(route.tau)
        code = look(core)
        if code == GO:
            code = turn(core)
        if code != GO:
            return code
        if event.dropped:
            take_up(core)
            continue
        if cursor.due == 0 and not route.settling and event.looks < tol.looks:
            # The turn has moved u: see to it before going on.
            event.looks += 1
            return REPAIR
        event.looks = 0
        if not system.rated:
            all_rates(core)
        if not route.pin and linger(core):
            return WALLS
        code = step(core)
        if code in (REPAIR, STUCK):
            return code
        if code == PAUSE:
            # The window is used up.
            if scope.window == BY_TURN:
                close_window(core)
            else:
                scope.reach = -1.0
        if code == GO and event.fresh:
            look_less(core)
