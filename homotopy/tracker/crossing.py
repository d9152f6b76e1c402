"""The D-step: crossing a discontinuity.

At a jump the coordinates that press on the jump corner change side.  For fixed t the branch of
each flipped coordinate is translated vertically by ``mu * lift_i``, ``lift_i`` being the height
of alpha_i above its new slope, so that the present point is optimal at mu = 1; `follow` takes mu
to 0 with every coordinate kept to its own convex branch (at a jump corner it is *pinned*, its alpha
unbounded on the far side).  Those that end pinned are flipped in turn, until none is.  The
objective never rises, because the point left behind is feasible for the new partition.

On degenerate data a flip may move nothing: several partitions share one response, and which of
them the path takes is decided by what happens *ahead* of t.  A partition that comes back at the
same t with the response unmoved is the sign of it.  From then on pinned coordinates are judged
after a turn in the direction of travel, walls moving with t: the one-sided derivative of the
objective then falls with every flip, and no partition returns.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from homotopy.tracker.compiling import PART
from homotopy.tracker.follow import begin_segment, end_segment, seal
from homotopy.tracker.leaving import leave, ready_for, to_slope
from homotopy.tracker.nearness import corner_now, near_a_of, slope_value
from homotopy.tracker.objective import keep, moved_from, objective
from homotopy.tracker.pieces import flat_rate, pull_on, set_fence
from homotopy.tracker.selection import sort
from homotopy.tracker.state import (
    ACROSS,
    AHEAD,
    ASK,
    BY_TURN,
    FLIPPING,
    FULL,
    GO,
    MISSING,
    ON_WAY,
    RECORD_FULL,
    RETURNING,
    ROWS,
    SOLVE,
    STUCK,
    UNBOUNDED,
)
from homotopy.tracker.ties import turn
from homotopy.tracker.windows import alpha_now, close_window, widen

__all__ = ["begin_jump", "end_jump", "end_round", "flip", "look_ahead"]

# Room in the log for a round of flips, beyond two entries for each of them.
JUMP_ROOM = 64


# ------------------------------------------------------------------ routes


@njit(**PART)
def fence_excused(core):  # type: ignore[no-untyped-def]
    """Give coordinates excused from their corners their corners back."""
    here, event = core.here, core.event
    if event.excused:
        for i in range(here.u.size):
            if here.spot[i].excused:
                here.spot[i].excused = 0
                set_fence(core, i)
        event.excused = 0


@njit(**PART)
def go_across(core):  # type: ignore[no-untyped-def]
    """From here on t stands still and mu goes from 1 to 0; nothing is lifted yet."""
    act, mov, route = core.act, core.mov, core.route
    system, event, scope = core.system, core.event, core.scope
    if scope.window == BY_TURN:
        close_window(core)
    fence_excused(core)
    route.along, route.dt, route.dmu, route.pin = 0, 0.0, 1.0, 1
    route.tau = route.mu = route.start = 1.0
    route.stop, route.sign = 0.0, -1.0
    system.mass_across = system.square_across = 0.0
    for k in range(mov.across.size):
        mov.across[k] = 0.0
    for c in range(act.column.size):
        act.column[c].across = act.column[c].target_rate = 0.0
    system.solved = system.rated = event.fresh = 0
    system.ready = min(system.ready, 1)


@njit(**PART)
def go_along(core, pin):  # type: ignore[no-untyped-def]
    """From here on t moves; the pull of the moving slopes is taken up where it was left, and only
    those that changed piece meanwhile need seeing to."""
    form, here, act, route = core.form, core.here, core.act, core.route
    fixed, system, event, scope = core.fixed, core.system, core.event, core.scope
    if scope.window == BY_TURN:
        close_window(core)
    fence_excused(core)
    route.along, route.dt, route.dmu, route.pin, route.mu = 1, 1.0, 0.0, pin, 0.0
    route.tau, route.start, route.stop = route.t, route.first, route.last
    route.sign = 1.0 if route.last > route.first else -1.0
    for c in range(act.column.size):
        act.column[c].target_rate = act.column[c].moves
    system.solved = system.rated = event.fresh = 0
    system.ready = min(system.ready, 1)
    while event.touched:
        i = here.few[event.touched - 1]
        change = flat_rate(core, i) - here.spot[i].carried
        if change != 0.0:
            if fixed.mode == ROWS and form.slot[i] < 0:
                event.want = i
                return MISSING
            pull_on(core, i, change)
        here.spot[i].touched = 0
        event.touched -= 1
    return GO


# ------------------------------------------------------------------ rounds


@njit(**PART)
def forget(core):  # type: ignore[no-untyped-def]
    """The partitions seen at this t: none but the present one."""
    mov, jumping = core.mov, core.jumping
    mov.seen[0] = jumping.hash
    jumping.seen, jumping.ahead = 1, 0


@njit(**PART)
def begin_jump(core):  # type: ignore[no-untyped-def]
    """Write down the point before the jump, and who presses on its corner."""
    here, act, mov, rec = core.here, core.act, core.mov, core.rec
    route, system, event, jumping = core.route, core.system, core.event, core.jumping
    cursor, tol = core.cursor, core.tol
    if system.actives + system.idles > mov.kept_index.size:
        return FULL
    if (
        rec.jump.size <= cursor.jumps + 1
        or cursor.logged + 2 * event.walls + JUMP_ROOM >= rec.log.size
    ):
        return RECORD_FULL
    seal(core)
    if cursor.recording and cursor.segments == 0:
        # The path begins with a jump: what was before it is one point.
        begin_segment(core)
        end_segment(core, np.int64(0))
    jump = rec.jump[cursor.jumps]
    if jumping.crossings == 0 or jump.t != route.t:
        jumping.crossings = 0
        forget(core)
    jump.t, jump.log = route.t, cursor.logged
    jumping.crossings += 1
    jumping.rounds, jumping.jump_log, jumping.jump_steps, jumping.solved_by = (
        0,
        cursor.logged,
        cursor.steps,
        0,
    )
    # Each is shown with where it goes: 2 i, and 1 more if to the right.
    jumping.flips = jumping.pressing = event.walls
    for q in range(event.walls):
        mov.flips[q] = here.tied[here.tied.size - 1 - q]
    sort(mov.flips, jumping.flips)
    jumping.kept = system.actives
    for k in range(system.actives):
        mov.kept_index[k], mov.kept_alpha[k] = act.index[k], here.alpha[act.index[k]]
    if system.idles:
        for i in range(here.u.size):
            if here.spot[i].idle:
                mov.kept_index[jumping.kept], mov.kept_alpha[jumping.kept] = i, here.alpha[i]
                jumping.kept += 1
    for c in range(act.column.size):
        act.column[c].kept = act.column[c].b
    keep(core, mov.before)
    keep(core, mov.last)
    jumping.before = objective(core)
    jumping.in_jump, jumping.asked = FLIPPING, 0
    if jumping.crossings > tol.probes + here.u.size:
        return STUCK
    return GO


@njit(**PART)
def flip(core):  # type: ignore[no-untyped-def]
    """Those in ``mov.flips`` change side, lifted to where they stand."""
    lines, here, act, mov = core.lines, core.here, core.act, core.mov
    rec, fixed, system, event = core.rec, core.fixed, core.system, core.event
    jumping, cursor = core.jumping, core.cursor
    if fixed.asks and not jumping.asked:
        widen(core)
        return ASK
    for q in range(jumping.flips):
        code = ready_for(core, mov.flips[q] // 2)
        if code != GO:
            return code
    if system.actives + jumping.flips + 1 >= act.index.size:
        return FULL
    if jumping.rounds > core.tol.flip_rounds + here.u.size:
        return STUCK
    if cursor.logged + 2 * jumping.flips + JUMP_ROOM >= rec.log.size:
        return RECORD_FULL
    jumping.rounds += 1
    jumping.asked = 0
    for q in range(jumping.flips):
        i = mov.flips[q] // 2
        here.alpha[i] = alpha_now(core, i)
    go_across(core)
    for q in range(jumping.flips):
        i, right = mov.flips[q] // 2, mov.flips[q] % 2
        j = here.spot[i].piece // 2
        if here.spot[i].piece % 2 == 1:
            j += right
            here.u[i] = corner_now(core, i, here.spot[i].piece // 2)
        else:
            j += 1 if right else -1
        u = here.u[i] + here.spot[i].miss
        to_slope(core, i, j)
        # With its lift it stands where it stood.
        here.u[i], here.spot[i].miss = u, 0.0
        lift = here.alpha[i] - slope_value(core, i, j, here.u[i])
        here.fence[i].lift = lift
        if lines.slope[i, j].bend == 0.0:
            pull_on(core, i, lift)
    system.solved = system.rated = event.fresh = 0
    system.ready = min(system.ready, 1)
    jumping.in_jump = ACROSS
    return SOLVE if jumping.by_solver else GO


@njit(**PART)
def press(core, release):  # type: ignore[no-untyped-def]
    """Those pinned, into ``mov.flips``; with `release` only those whose alpha is beyond its slope,
    and how many just touch is returned."""
    here, act, mov, system, jumping = core.here, core.act, core.mov, core.system, core.jumping
    jumping.flips, touching = 0, 0
    for k in range(system.actives):
        i = act.index[k]
        spot = here.spot[i]
        if spot.side == 0:
            continue
        left = spot.side < 0
        corner = spot.piece // 2
        u = corner_now(core, i, corner)
        value = slope_value(core, i, corner if left else corner + 1, u)
        if release and abs(here.alpha[i] - value) <= near_a_of(core, i, 0.0):
            touching += 1
            continue
        mov.flips[jumping.flips] = 2 * i + (1 if left else 0)
        jumping.flips += 1
    sort(mov.flips, jumping.flips)
    return touching


@njit(**PART)
def let_go(core):  # type: ignore[no-untyped-def]
    """Coordinates pinned that just touch their slope go back to it."""
    here, act, system = core.here, core.act, core.system
    while press(core, np.int64(1)):
        for k in range(system.actives):
            i = act.index[k]
            spot = here.spot[i]
            if spot.side == 0:
                continue
            corner = spot.piece // 2
            j = corner if spot.side < 0 else corner + 1
            u = corner_now(core, i, corner)
            value = slope_value(core, i, j, u)
            if abs(here.alpha[i] - value) <= near_a_of(core, i, 0.0):
                code = ready_for(core, i)
                if code != GO:
                    return code
                leave(core, i, j)
                break
    return GO


@njit(**PART)
def end_round(core):  # type: ignore[no-untyped-def]
    """mu is 0: nothing is lifted any more; list what is pinned."""
    here, mov, rec, route = core.here, core.mov, core.rec, core.route
    jumping, cursor, tol = core.jumping, core.cursor, core.tol
    for q in range(cursor.logged - jumping.jump_log):
        here.fence[rec.log[jumping.jump_log + q].i].lift = 0.0
    code = let_go(core)
    if code != GO:
        return code
    if moved_from(core, mov.last, tol.same):
        forget(core)
        keep(core, mov.last)
    else:
        for q in range(jumping.seen):
            if mov.seen[q] == jumping.hash:
                jumping.ahead = 1
        if jumping.seen < mov.seen.size:
            mov.seen[jumping.seen] = jumping.hash
            jumping.seen += 1
    ahead = jumping.ahead and route.t != route.last
    jumping.in_jump = AHEAD if ahead else (FLIPPING if jumping.flips else RETURNING)
    return GO


@njit(**PART)
def look_ahead(core):  # type: ignore[no-untyped-def]
    """Who would be pinned just past t?"""
    mov, event, jumping = core.mov, core.event, core.jumping
    code = go_along(core, np.int64(1))
    if code != GO:
        return code
    widen(core)
    code = turn(core)
    if code == UNBOUNDED and not event.moved_here:
        # A wall sweeps over a coordinate that cannot move with it.
        jumping.flips = 1
        mov.flips[0] = 2 * event.want + (1 if event.way > 0 else 0)
        jumping.in_jump = FLIPPING
        return GO
    if code != GO:
        return code
    press(core, np.int64(0))
    jumping.in_jump = FLIPPING if jumping.flips else RETURNING
    return GO


@njit(**PART)
def end_jump(core):  # type: ignore[no-untyped-def]
    """Write the jump down and take up the path."""
    here, mov, rec, route = core.here, core.mov, core.rec, core.route
    event, jumping, cursor, tol = core.event, core.jumping, core.cursor, core.tol
    code = go_along(core, np.int64(0))
    if code != GO:
        return code
    jump = rec.jump[cursor.jumps]
    jump.before, jump.after = jumping.before, objective(core)
    jump.rounds, jump.steps, jump.solver = (
        jumping.rounds,
        cursor.steps - jumping.jump_steps,
        jumping.solved_by,
    )
    jump.log_end = cursor.logged
    jump.moved = moved_from(core, mov.before, tol.moved)
    event.linger += 2
    still = not moved_from(core, mov.before, tol.same)
    if still and jumping.pressing == 1:
        # One whose flip moved nothing rests as long as it stands on its corner.  (Where several
        # flipped at once they may have balanced each other: each may still be tried alone.)
        for q in range(cursor.logged - jumping.jump_log):
            here.spot[rec.log[jumping.jump_log + q].i].resting = event.linger
    cursor.jumps += 1
    rec.jump[cursor.jumps].t = route.t
    jumping.in_jump = ON_WAY
    return GO
