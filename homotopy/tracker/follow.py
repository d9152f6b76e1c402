"""Following a route: *check, choose, pivot, solve, step, record*, from break-point to break-point.

`follow` is the one loop behind C-step, D-step, start and repair; only the route (`core.route`)
distinguishes them.  It returns at the end of the route, or with a request that compiled code cannot
fulfil (a row of Q, more space, a recomputation of u), in a state from which it can continue.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from homotopy.tracker.compiling import PART
from homotopy.tracker.nearness import (
    gaps_of,
    near_alpha_of,
    near_in_loop,
    near_of,
    slanted_u,
    slope_rate,
    slope_value,
    still_alpha,
    still_u,
)
from homotopy.tracker.pieces import room_of
from homotopy.tracker.pivots import restore_corners, slack_of
from homotopy.tracker.proof import absorb_dropped, correct_or_ask, tracked_error
from homotopy.tracker.rates import all_rates
from homotopy.tracker.segments import begin_segment, end_segment, seal
from homotopy.tracker.state import (
    ARRIVED,
    BY_DIRECTION,
    BY_DISTANCE,
    GO,
    NO_WINDOW,
    PAUSE,
    RECORD_FULL,
    REPAIR,
    ROWS,
    STUCK,
    WALLS,
)
from homotopy.tracker.ties import dependent_end, end_rate, resolve_ties, stays_on_jump
from homotopy.tracker.tolerances import EPS
from homotopy.tracker.validity import point_moved, ties_listed
from homotopy.tracker.windows import (
    close_window,
    open_by_direction,
    open_by_distance,
    reach_spent,
    turned,
)

__all__ = ["follow"]


# ------------------------------------------------------------------ the length of a step


@njit(**PART)
def first_corner(core):  # type: ignore[no-untyped-def]
    """Return the length of step at which the first coordinate on a slope meets a corner.

    A speed too slow to leave a corner by more than its tolerance before the route ends counts as 0;
    gaps are clipped at zero.
    """
    coords, route, scope = core.coords, core.route, core.scope
    best, per_left = np.inf, 2.0 / abs(route.stop - route.tau)
    u, du, near, sign, dt, t = coords.u, coords.du, coords.near, route.sign, route.dt, route.t
    slanted = core.fixed.slanted
    for k in range(scope.examined):
        i = near[k]
        fence = coords.fence[i]
        low, low_rate, high, high_rate = fence.low, fence.low_rate, fence.high, fence.high_rate
        off, pace = fence.shift * route.mu - u[i], du[i] - fence.shift * route.dmu
        over, up = high + high_rate * t + off, sign * (pace - high_rate * dt)
        under, down = -(low + low_rate * t + off), sign * (low_rate * dt - pace)
        # Compute both directions and choose without a branch, which could not be predicted.
        gap, speed = over, up
        if down > up:
            gap, speed = under, down
        if speed > 0.0 and gap < best * speed:
            still = per_left * near_in_loop(core, i) + still_u(core, i)
            if speed > still:
                best = max(gap, 0.0) / speed
                if slanted and coords.status[i].bend > 0.0:
                    best = length_of_slant(core, i, gap == over, best)
        if min(up, down) > 0.0:
            # Both corners approach: the piece narrows.
            gap, speed = (under, down) if down <= up else (over, up)
            still = per_left * near_of(core, i) + still_u(core, i)
            if speed > still and gap < best * speed:
                best = max(gap, 0.0) / speed
                if slanted and coords.status[i].bend > 0.0:
                    best = length_of_slant(core, i, gap == over, best)
    return best


@njit(**PART)
def length_of_slant(core, i, upwards, length):  # type: ignore[no-untyped-def]
    """Return the length of step at which coordinate i leaves its slanted piece, computed from
    alpha; `length` is the same computed from u.

    If the curvature is large, u_i hardly moves on the piece, and its distance from the corner loses
    most digits to cancellation.  The distance of alpha from the next slope does not.
    """
    coords, route, tol = core.coords, core.route, core.tol
    status, polylines = coords.status[i], core.polylines
    j = status.piece // 2
    k = j + 1 if upwards else j - 1
    if not 0 <= k <= polylines.corner.shape[1] or polylines.slope[i, k].bend > 0.0:
        return length
    gap = coords.alpha[i] - slope_value(core, i, k, 0.0)
    speed = route.sign * (slope_rate(core, i, k) - core.active.rate[status.place])
    # Only if the two slopes join without a step, so that both lengths mean the same event.
    rounding = tol.alpha_blur * EPS * abs(slope_value(core, i, j, 0.0))
    if speed == 0.0 or abs(gap - speed * length) > rounding:
        return length
    return max(gap / speed, 0.0)


@njit(**PART)
def first_knot_end(core):  # type: ignore[no-untyped-def]
    """Return the length of step at which the first coordinate on a knot meets an end of it."""
    coords, active, route, system = core.coords, core.active, core.route, core.system
    best, per_left = np.inf, 2.0 / abs(route.stop - route.tau)
    for k in range(system.actives):
        i, rate = active.index[k], active.rate[k]
        status = coords.status[i]
        if status.piece % 2 == 0:
            continue
        j = status.piece // 2
        up = down = 0.0
        if status.side <= 0:
            up = route.sign * (rate - end_rate(core, i, j, j))
        if status.side >= 0:
            down = route.sign * (end_rate(core, i, j + 1, j) - rate)
        still = per_left * near_alpha_of(core, i, rate) + still_alpha(core, i)
        if up > still:
            best = min(best, max(room_of(core, i, 1.0), 0.0) / up)
        if down > still:
            best = min(best, max(room_of(core, i, -1.0), 0.0) / down)
    if system.dependents:
        for i in range(coords.u.size):
            if coords.status[i].dependent:
                best = min(best, dependent_end(core, i)[1])
    return best


@njit(**PART)
def length_to_event(core):  # type: ignore[no-untyped-def]
    """Return the length of step to the first of these events; a coordinate whose corners are
    ignored may not move far beyond them."""
    coords, event = core.coords, core.event
    length = min(first_corner(core), first_knot_end(core))
    if event.slack_speed > 0.0:
        for q in range(event.tied):
            if coords.status[coords.tied[q]].ignores_corners:
                slack = slack_of(core, coords.tied[q])
                length = min(length, slack / event.slack_speed)
    return length


@njit(**PART)
def within_window(core, step):  # type: ignore[no-untyped-def]
    """Return the step that an open window allows, 0 if it is used up."""
    route, scope, opt = core.route, core.scope, core.opt
    if scope.window == BY_DIRECTION:
        turn_by = turned(core)
        room = min((scope.reach - scope.spent) / turn_by, abs(scope.horizon - route.tau))
        if step > room:
            if not room > opt.used_up * step:
                return 0.0
            step = room
        scope.spent += step * turn_by
    elif scope.window == BY_DISTANCE:
        spent, pace = reach_spent(core)
        room = scope.reach - spent
        if step * pace > room:
            if room <= opt.used_up * scope.reach:
                return 0.0
            step = room / pace
    return step


# ------------------------------------------------------------------ the step


@njit(**PART)
def move(core, length):  # type: ignore[no-untyped-def]
    """Move everything at its rate, and list the coordinates on a corner in the same pass."""
    coords, active, motion = core.coords, core.active, core.motion
    fixed, system, event, scope = core.fixed, core.system, core.event, core.scope
    u, du, near = coords.u, coords.du, coords.near
    for k in range(system.actives):
        coords.alpha[active.index[k]] += length * active.rate[k]
    for c in range(active.column.size):
        active.column[c].b += length * active.column[c].full_rate
    if fixed.mode != ROWS:
        for c in range(motion.w.size):
            motion.w[c] += length * motion.dw[c]
    count = 0
    for k in range(scope.examined):
        i = near[k]
        u[i] += length * du[i]
        if fixed.slanted and coords.status[i].bend > 0.0:
            u[i] = slanted_u(core, i)
            coords.status[i].miss += length * coords.status[i].miss_rate
        over, under = gaps_of(core, i)
        if min(over, under) <= near_in_loop(core, i):
            coords.tied[count] = i
            count += 1
    event.tied = count
    ties_listed(core)


@njit(**PART)
def stay_on_course(core):  # type: ignore[no-untyped-def]
    """Correct the active coordinates after a step if they have strayed; request a recomputation of
    u if that does not help or t has shrunk."""
    active, route, sizes = core.active, core.route, core.sizes
    scope, cursor, tol = core.scope, core.cursor, core.tol
    if scope.window != BY_DIRECTION and tracked_error(core) > tol.refine:
        for c in range(active.column.size):
            active.column[c].off = 0.0
        correct_or_ask(core)
    if route.along and abs(route.t) < tol.shrunk * abs(sizes.checked):
        cursor.due = 0


@njit(**PART)
def step(core):  # type: ignore[no-untyped-def]
    """Go to the next break-point or the end of the route; `PAUSE` means that it was cut short."""
    coords, route, fixed, sizes = core.coords, core.route, core.fixed, core.sizes
    system, event, scope, cursor, tol = core.system, core.event, core.scope, core.cursor, core.tol
    left = abs(route.stop - route.tau)
    length = min(length_to_event(core), left)
    if route.along and system.mass_along > 2.0 * system.pull_mass:
        rounding = EPS * system.mass_along * length * fixed.largest_root
        if rounding > tol.pull_rounding * sizes.size_scale:
            # Slopes that no longer move have left too much rounding in the pull.
            return REPAIR
    cut = np.int64(0)
    if scope.window:
        allowed = within_window(core, length)
        if allowed == 0.0 and length > 0.0:
            return PAUSE
        cut = np.int64(allowed < length)
        length = allowed
    # An event within rounding of the end happens at the end.  Keep the length of the step: a fast
    # alpha would overshoot.
    arrived = left - length <= tol.arrival * max(abs(route.stop), abs(route.start)) and not cut
    after = route.stop if arrived else route.tau + route.sign * length
    if not arrived and abs(after) < tol.shrinking_step * abs(route.tau):
        # If t shrinks a hundredfold, its rounding is that of the large t: stop just before the
        # event and approach it from nearby.
        short = tol.short * EPS * abs(route.tau)
        if length > 2.0 * short:
            length -= short
            after, cut = route.tau + route.sign * length, np.int64(1)
    event.idle_steps = event.idle_steps + 1 if after == route.tau else 0
    if event.idle_steps > tol.idle_steps + tol.idle_each * coords.u.size:
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
    # Correct before recording the end, because the next segment begins there.
    stay_on_course(core)
    if recorded:
        end_segment(core, cut)
    if event.slack_speed > 0.0:
        # Corners are ignored for one step only.
        restore_corners(core)
        event.slack_speed = 0.0
        cursor.due = 0
        point_moved(core)
    return PAUSE if cut else GO


# ------------------------------------------------------------------ the loop


@njit(**PART)
def check_due(core):  # type: ignore[no-untyped-def]
    """Return what must be done before the next step, `GO` if nothing."""
    record, route, fixed = core.record, core.route, core.fixed
    system, scope, cursor = core.system, core.scope, core.cursor
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
        cursor.segments + 2 >= record.segment.size
        or cursor.entries + 2 * (system.actives + system.dependents) + 64 > record.active.size
    ):
        return RECORD_FULL
    used_up = scope.window == BY_DISTANCE and scope.reach < 0.0
    if fixed.wide and (scope.window == NO_WINDOW or used_up):
        return open_by_distance(core)
    return GO


@njit(**PART)
def try_window(core):  # type: ignore[no-untyped-def]
    """Open a window by direction if it pays."""
    coords, route, fixed, system = core.coords, core.route, core.fixed, core.system
    scope, cursor, opt = core.scope, core.cursor, core.opt
    if scope.window == NO_WINDOW and fixed.mode == ROWS and route.tau != route.stop:
        heavy = opt.heavy_along if route.along else opt.heavy_across
        if (
            system.actives * coords.u.size > heavy
            and cursor.steps >= scope.retry_step
            and system.rated
        ):
            open_by_direction(core)


@njit(**PART)
def follow(core):  # type: ignore[no-untyped-def]
    """Go from break-point to break-point until the route ends or a request must be fulfilled."""
    route, system, event = core.route, core.system, core.event
    scope, cursor, tol = core.scope, core.cursor, core.tol
    while True:
        system.blur = tol.blur * EPS * abs(route.tau)
        code = check_due(core)
        if code == GO:
            code = resolve_ties(core)
        if code != GO:
            return code
        if event.dropped:
            absorb_dropped(core)
            continue
        if cursor.due == 0 and not route.settling and event.recomputed < tol.recomputations:
            # Resolving the ties has moved u: recompute it before continuing.
            event.recomputed += 1
            return REPAIR
        event.recomputed = 0
        if not system.rated:
            all_rates(core)
        if not route.pin and stays_on_jump(core):
            return WALLS
        code = step(core)
        if code in (REPAIR, STUCK):
            return code
        if code == PAUSE:
            # The window is used up.
            if scope.window == BY_DIRECTION:
                close_window(core)
            else:
                scope.reach = -1.0
        if code == GO and event.fresh:
            try_window(core)
