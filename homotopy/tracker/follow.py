"""Following a route: *look, choose, pivot, aim, step, record*, from break-point to break-point.

`follow` is the one loop behind C-step, D-step, start and repair; which of them it is, is told by
the route in `Now` alone.  It comes back when the route has ended or when it wants something that
compiled code cannot do (a row of Q, more room, a recomputation of u), with everything as it should
be to go on.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from homotopy.tracker.compiling import PART
from homotopy.tracker.pivots import room_of, set_fence, slack_of
from homotopy.tracker.proof import off_course, refine, take_up
from homotopy.tracker.rates import all_rates, near_a_of, near_of, place_of, still_alpha
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
from homotopy.tracker.tolerances import ARRIVAL, EPS
from homotopy.tracker.windows import (
    close_window,
    gone_by_place,
    look_around,
    open_window,
    turned,
)

__all__ = ["follow", "seal"]

# Recomputations of u at one point before the path goes on regardless.
LOOKS = 3


# ------------------------------------------------------------------ the length of a step


@njit(**PART)
def first_corner(core):  # type: ignore[no-untyped-def]
    """The length of step at which the first coordinate on a slope meets a corner it moves towards.

    Too slow to leave a corner by more than its tolerance before the route ends is no motion; gaps
    are clipped at zero.
    """
    here, now = core.here, core.now
    best, per_left = np.inf, 2.0 / abs(now.stop - now.tau)
    u, du, near, sign, dt, t = here.u, here.du, here.near, now.sign, now.dt, now.t
    for k in range(now.looked):
        i = near[k]
        fence = here.fence[i]
        low, low_rate, high, high_rate = fence.low, fence.low_rate, fence.high, fence.high_rate
        off, pace = fence.shift * now.mu - u[i], du[i] - fence.shift * now.dmu
        over, up = high + high_rate * t + off, sign * (pace - high_rate * dt)
        under, down = -(low + low_rate * t + off), sign * (low_rate * dt - pace)
        # Everything is at hand, so that a way is chosen without a branch: half of them go up.
        gap, speed = over, up
        if down > up:
            gap, speed = under, down
        if speed > 0.0 and gap < best * speed:
            still = per_left * near_of(core, i) + now.rate_noise * fence.root
            if speed > still:
                best = max(gap, 0.0) / speed
        if min(up, down) > 0.0:
            # Both corners come nearer: a narrowing piece.
            gap, speed = (under, down) if down <= up else (over, up)
            still = per_left * near_of(core, i) + now.rate_noise * fence.root
            if speed > still and gap < best * speed:
                best = max(gap, 0.0) / speed
    return best


@njit(**PART)
def first_knot_end(core):  # type: ignore[no-untyped-def]
    """The length of step at which the first coordinate on a knot meets an end of it."""
    here, act, now = core.here, core.act, core.now
    best, per_left = np.inf, 2.0 / abs(now.stop - now.tau)
    for k in range(now.actives):
        i, rate = act.index[k], act.rate[k]
        spot = here.spot[i]
        if spot.piece % 2 == 0:
            continue
        j = spot.piece // 2
        up = down = 0.0
        if spot.side <= 0:
            up = now.sign * (rate - end_rate(core, i, j, j))
        if spot.side >= 0:
            down = now.sign * (end_rate(core, i, j + 1, j) - rate)
        still = per_left * near_a_of(core, i, rate) + still_alpha(core, i)
        if up > still:
            best = min(best, max(room_of(core, i, 1.0), 0.0) / up)
        if down > still:
            best = min(best, max(room_of(core, i, -1.0), 0.0) / down)
    if now.idles:
        for i in range(here.u.size):
            if here.spot[i].idle:
                best = min(best, idle_end(core, i)[1])
    return best


@njit(**PART)
def within_window(core, step):  # type: ignore[no-untyped-def]
    """The step that an open window allows, 0 where it is used up; `spent` grows by it."""
    now = core.now
    if now.window == BY_TURN:
        turn_by = turned(core)
        room = min((now.reach - now.spent) / turn_by, abs(now.horizon - now.tau))
        if step > room:
            if not room > 1e-3 * step:
                return 0.0
            step = room
        now.spent += step * turn_by
    elif now.window == BY_PLACE:
        spent, pace = gone_by_place(core)
        room = now.reach - spent
        if step * pace > room:
            if room <= 1e-3 * now.reach:
                return 0.0
            step = room / pace
    return step


# ------------------------------------------------------------------ record


@njit(**PART)
def seal(core):  # type: ignore[no-untyped-def]
    """The open segment is whole."""
    rec, now = core.rec, core.now
    if now.open:
        now.entries = rec.segment[now.segments].active
        now.segments += 1
        now.open = 0


@njit(**PART)
def begin_segment(core):  # type: ignore[no-untyped-def]
    """Write down where a segment begins, unless the one before goes on."""
    here, act, rec, now = core.here, core.act, core.rec, core.now
    if now.open:
        if rec.segment[now.segments].log == now.logged:
            return
        seal(core)
    segment, base = rec.segment[now.segments], now.entries
    segment.start, segment.log = now.tau, now.logged
    segment.active = base + now.actives + now.idles
    for k in range(now.actives):
        i = act.index[k]
        rec.active[base + k] = i
        rec.alpha[0, base + k] = here.alpha[i]
    if now.idles:
        k = base + now.actives
        for i in range(here.u.size):
            if here.spot[i].idle:
                rec.active[k] = i
                rec.alpha[0, k] = rec.alpha[1, k] = here.alpha[i]
                k += 1
    for c in range(act.column.size):
        rec.border[now.segments, 0, c] = act.column[c].b
    now.open = 1


@njit(**PART)
def end_segment(core, cut):  # type: ignore[no-untyped-def]
    """Write down where it ends; it may go on if it was only `cut`."""
    here, act, rec, now = core.here, core.act, core.rec, core.now
    segment, base = rec.segment[now.segments], now.entries
    segment.stop = now.tau
    for k in range(now.actives):
        rec.alpha[1, base + k] = here.alpha[act.index[k]]
    for c in range(act.column.size):
        rec.border[now.segments, 1, c] = act.column[c].b
    if not cut:
        seal(core)


# ------------------------------------------------------------------ the step


@njit(**PART)
def move(core, length):  # type: ignore[no-untyped-def]
    """Everything goes on at its rate; who stands on a corner then is listed in the same pass."""
    here, act, mov, now = core.here, core.act, core.mov, core.now
    u, du, near, t, mu = here.u, here.du, here.near, now.t, now.mu
    for k in range(now.actives):
        here.alpha[act.index[k]] += length * act.rate[k]
    for c in range(act.column.size):
        act.column[c].b += length * act.column[c].lift
    if now.mode != ROWS:
        for c in range(mov.w.size):
            mov.w[c] += length * mov.dw[c]
    count = 0
    for k in range(now.looked):
        i = near[k]
        fence = here.fence[i]
        u[i] += length * du[i]
        if now.slanted and here.spot[i].bend > 0.0:
            u[i] = place_of(core, i)
            here.spot[i].miss += length * here.spot[i].miss_rate
        place = u[i] - fence.shift * mu
        over = fence.high + fence.high_rate * t - place
        under = place - fence.low - fence.low_rate * t
        if min(over, under) <= near_of(core, i):
            here.tied[count] = i
            count += 1
    now.tied, now.fresh = count, 1


@njit(**PART)
def refence(core):  # type: ignore[no-untyped-def]
    """Those excused for one step have their corners back."""
    here, now = core.here, core.now
    for i in range(here.u.size):
        if here.spot[i].excused == 1:
            here.spot[i].excused = 0
            now.excused -= 1
            set_fence(core, i)
    now.slack_speed = 0.0
    now.due = now.fresh = 0


@njit(**PART)
def step(core):  # type: ignore[no-untyped-def]
    """Go to the next break-point or the end of the route; `PAUSE` asks for another look first."""
    here, act, now, tol = core.here, core.act, core.now, core.tol
    left = abs(now.stop - now.tau)
    length = min(first_corner(core), first_knot_end(core))
    length = min(length, left)
    if now.slack_speed > 0.0:
        # Whoever is excused from its corner may not get far beyond it.
        for q in range(now.tied):
            if here.spot[here.tied[q]].excused == 1:
                slack = slack_of(core, here.tied[q])
                length = min(length, slack / now.slack_speed)
    if now.along and now.mass_along > 2.0 * now.carrying:
        rounding = EPS * now.mass_along * length * now.largest_root
        if rounding > tol.carried * now.size_scale:
            # What is left of slopes that came and went would be carried along too far.
            return REPAIR
    cut = np.int64(0)
    if now.window:
        allowed = within_window(core, length)
        if allowed == 0.0 and length > 0.0:
            return PAUSE
        cut = np.int64(allowed < length)
        length = allowed
    # What happens within rounding of the end happens at the end; a fast alpha must not go the rest
    # of the way for that.
    arrived = left - length <= ARRIVAL * max(abs(now.stop), abs(now.start)) and not cut
    after = now.stop if arrived else now.tau + now.sign * length
    if not arrived and abs(after) < 0.01 * abs(now.tau):
        # Where t shrinks a hundredfold its rounding is that of the large one: stop just short of
        # the event and meet it from nearby.
        short = 8.0 * EPS * abs(now.tau)
        if length > 2.0 * short:
            length -= short
            after, cut = now.tau + now.sign * length, np.int64(1)
    now.idle = now.idle + 1 if after == now.tau else 0
    if now.idle > 100 + 2 * here.u.size:
        return STUCK
    recorded = now.recording and now.along and after != now.tau
    if recorded:
        begin_segment(core)
    now.tau = after
    if now.along:
        now.t = after
    else:
        now.mu = after
    move(core, now.sign * length)
    now.steps += 1
    if now.window != BY_TURN and off_course(core) > tol.refine:
        # Before the end is written down: what comes next begins there.
        for c in range(act.column.size):
            act.column[c].off = 0.0
        refine(core)
        if not now.settling and off_course(core) > tol.repair:
            now.due = 0
    if now.along and abs(now.t) < 0.25 * abs(now.checked):
        # What vanishes with t leaves the rounding of what it was.
        now.due = 0
    if recorded:
        end_segment(core, cut)
    if now.slack_speed > 0.0:
        refence(core)
    return PAUSE if cut else GO


# ------------------------------------------------------------------ the loop


@njit(**PART)
def look(core):  # type: ignore[no-untyped-def]
    """What there is to see to before the next turn; `GO` if nothing is in the way."""
    here, mov, rec, now, opt = core.here, core.mov, core.rec, core.now, core.opt
    if now.tau == now.stop:
        seal(core)
        return ARRIVED
    if now.steps >= now.stop_steps or (now.along and now.segments >= now.stop_segments):
        return PAUSE
    if now.steps >= now.due and not now.settling:
        return REPAIR
    if now.recording and (
        now.segments + 2 >= rec.segment.size
        or now.entries + 2 * (now.actives + now.idles) + 64 > rec.active.size
    ):
        return RECORD_FULL
    n = here.u.size
    used_up = now.window == BY_PLACE and now.reach < 0.0
    wide = now.mode != ROWS and n > 4 * opt.fewest_on_features and n * mov.w.size > opt.wide
    if wide and (now.window == NO_WINDOW or used_up):
        return look_around(core)
    return GO


@njit(**PART)
def look_less(core):  # type: ignore[no-untyped-def]
    """Open a window by turn where it pays."""
    here, now, opt = core.here, core.now, core.opt
    if now.window == NO_WINDOW and now.mode == ROWS and now.tau != now.stop:
        heavy = opt.heavy_along if now.along else opt.heavy_across
        if now.actives * here.u.size > heavy and now.steps >= now.pause and now.rated:
            open_window(core)


@njit(**PART)
def follow(core):  # type: ignore[no-untyped-def]
    """Go from break-point to break-point until the route ends or something is wanted."""
    now = core.now
    while True:
        code = look(core)
        if code == GO:
            code = turn(core)
        if code != GO:
            return code
        if now.dropped:
            take_up(core)
            continue
        if now.due == 0 and not now.settling and now.looks < LOOKS:
            # The turn has moved u: see to it before going on.
            now.looks += 1
            return REPAIR
        now.looks = 0
        if not now.rated:
            all_rates(core)
            now.blur = 4.0 * EPS * abs(now.tau)
        if not now.pin and linger(core):
            return WALLS
        code = step(core)
        if code in (REPAIR, STUCK):
            return code
        if code == PAUSE:
            # The window is used up.
            if now.window == BY_TURN:
                close_window(core)
            else:
                now.reach = -1.0
        if code == GO and now.fresh:
            look_less(core)
