"""The D-step: crossing a discontinuity.

At a jump the coordinates that press on the jump corner change side.  At fixed t the branch of each
flipped coordinate is translated vertically by ``mu * lift_i``, where ``lift_i`` is the height of
alpha_i above its new slope, so that the present point is optimal at mu = 1.  `follow` takes mu to 0
with every coordinate kept on its own convex branch (at a jump corner it is *pinned*, its alpha
unbounded on the far side).  Coordinates that end pinned are flipped next, and so on until none is.
The objective never rises, because the point left behind is feasible for the new partition.

On degenerate data a flip may move nothing: several partitions share one response, and what happens
*ahead* of t decides which of them the path takes.  The sign of this is a partition that recurs at
the same t with an unmoved response.  From then on `look_ahead` finds the coordinates that would be
pinned just past t, where walls move with t: the one-sided derivative of the objective then falls
with every flip, and no partition recurs.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from homotopy.compilation.selection import sort
from homotopy.tracker.compiling import PART
from homotopy.tracker.leaving import leave, ready_for, to_slope
from homotopy.tracker.nearness import corner_now, near_alpha_of, slope_value
from homotopy.tracker.objective import moved_from, objective, store_point
from homotopy.tracker.pieces import flat_rate, pull_on
from homotopy.tracker.pivots import restore_corners
from homotopy.tracker.segments import begin_segment, end_segment, seal
from homotopy.tracker.sizes import knot_terms
from homotopy.tracker.state import (
    ACROSS,
    AHEAD,
    ASK,
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
from homotopy.tracker.ties import resolve_ties
from homotopy.tracker.validity import route_changed
from homotopy.tracker.windows import alpha_now, close_window, widen

__all__ = ["begin_jump", "end_jump", "end_round", "flip", "look_ahead"]

# Space in the log for a round of flips, in addition to two entries for each flip.
JUMP_ROOM = 64


# ------------------------------------------------------------------ routes


@njit(**PART)
def set_along(core, pin):  # type: ignore[no-untyped-def]
    """Let t move from where it is; `pin`: jump corners pin coordinates instead of ending the
    route."""
    route, column = core.route, core.active.column
    route.along, route.dt, route.dmu, route.pin, route.mu = 1, 1.0, 0.0, pin, 0.0
    route.tau, route.start, route.stop = route.t, route.first, route.last
    route.sign = 1.0 if route.last > route.first else -1.0
    for c in range(column.size):
        column[c].target_rate = column[c].target1


@njit(**PART)
def set_across(core, mu):  # type: ignore[no-untyped-def]
    """Fix t; mu moves from 1 to 0 and is at `mu`."""
    route = core.route
    route.along, route.dt, route.dmu, route.pin = 0, 0.0, 1.0, 1
    route.tau = route.mu = mu
    route.start, route.stop, route.sign = 1.0, 0.0, -1.0


@njit(**PART)
def go_across(core):  # type: ignore[no-untyped-def]
    """Switch to the route across: t is fixed and mu goes from 1 to 0; nothing is lifted yet."""
    active, motion, system = core.active, core.motion, core.system
    close_window(core)
    restore_corners(core)
    set_across(core, 1.0)
    system.mass_across = system.square_across = 0.0
    motion.across[:] = 0.0
    for c in range(active.column.size):
        active.column[c].across = active.column[c].target_rate = 0.0
    route_changed(core)


@njit(**PART)
def go_along(core, pin):  # type: ignore[no-untyped-def]
    """Switch to the route along: t moves.  The pull of the moving slopes continues from where it
    was left; only coordinates that changed piece meanwhile need an update."""
    form, coords, fixed, event = core.form, core.coords, core.fixed, core.event
    close_window(core)
    restore_corners(core)
    set_along(core, pin)
    route_changed(core)
    while event.touched:
        i = coords.touched[event.touched - 1]
        change = flat_rate(core, i) - coords.status[i].rate_in_pull
        if change != 0.0:
            if fixed.mode == ROWS and form.slot[i] < 0:
                event.requested = i
                return MISSING
            pull_on(core, i, change)
        coords.status[i].touched = 0
        event.touched -= 1
    return GO


# ------------------------------------------------------------------ rounds


@njit(**PART)
def forget_partitions(core):  # type: ignore[no-untyped-def]
    """Forget all partitions seen at this t but the present one."""
    motion, jumping = core.motion, core.jumping
    motion.seen[0] = jumping.hash
    jumping.seen, jumping.ahead = 1, 0


@njit(**PART)
def begin_jump(core):  # type: ignore[no-untyped-def]
    """Record the point before the jump, and the coordinates that press on its corner."""
    coords, active, motion, record = core.coords, core.active, core.motion, core.record
    route, system, event, jumping = core.route, core.system, core.event, core.jumping
    cursor, tol = core.cursor, core.tol
    if system.actives + system.dependents > motion.kept_index.size:
        return FULL
    if (
        record.jump.size <= cursor.jumps + 1
        or cursor.logged + 2 * event.walls + JUMP_ROOM >= record.log.size
    ):
        return RECORD_FULL
    seal(core)
    if cursor.recording and cursor.segments == 0:
        # The path begins with a jump: record one point before it.
        begin_segment(core)
        end_segment(core, np.int64(0))
    jump = record.jump[cursor.jumps]
    if jumping.crossings == 0 or jump.t != route.t:
        jumping.crossings = 0
        forget_partitions(core)
    jump.t, jump.log = route.t, cursor.logged
    jumping.crossings += 1
    jumping.rounds, jumping.jump_log, jumping.jump_steps, jumping.solved_by = (
        0,
        cursor.logged,
        cursor.steps,
        0,
    )
    # A flip is stored as 2 i, plus 1 if it goes to the right.
    jumping.flips = jumping.pressing = event.walls
    for q in range(event.walls):
        motion.flips[q] = coords.tied[coords.tied.size - 1 - q]
    sort(motion.flips, jumping.flips)
    jumping.kept = system.actives
    for k in range(system.actives):
        motion.kept_index[k], motion.kept_alpha[k] = active.index[k], coords.alpha[active.index[k]]
    if system.dependents:
        for i in range(coords.u.size):
            if coords.status[i].dependent:
                motion.kept_index[jumping.kept], motion.kept_alpha[jumping.kept] = (
                    i,
                    coords.alpha[i],
                )
                jumping.kept += 1
    for c in range(active.column.size):
        active.column[c].kept = active.column[c].b
    store_point(core, motion.before)
    store_point(core, motion.last)
    jumping.before = objective(core)
    jumping.phase, jumping.asked = FLIPPING, 0
    if jumping.crossings > tol.most_jumps + coords.u.size:
        return STUCK
    return GO


@njit(**PART)
def flip(core):  # type: ignore[no-untyped-def]
    """Flip the coordinates in ``motion.flips``; lift their new branches to the present point."""
    polylines, coords, active, motion = core.polylines, core.coords, core.active, core.motion
    record, fixed, system = core.record, core.fixed, core.system
    jumping, cursor = core.jumping, core.cursor
    if fixed.asks and not jumping.asked:
        widen(core)
        return ASK
    for q in range(jumping.flips):
        code = ready_for(core, motion.flips[q] // 2)
        if code != GO:
            return code
    if system.actives + jumping.flips + 1 >= active.index.size:
        return FULL
    if jumping.rounds > core.tol.flip_rounds + coords.u.size:
        return STUCK
    if (
        jumping.may_delegate
        and not jumping.method
        and (
            jumping.flips > core.tol.most_flips
            or cursor.steps - jumping.jump_steps
            > core.tol.steps + core.tol.jump_each * coords.u.size
        )
    ):
        # Too many for this method, which crosses a few at a time.
        return STUCK
    if cursor.logged + 2 * jumping.flips + JUMP_ROOM >= record.log.size:
        return RECORD_FULL
    jumping.rounds += 1
    jumping.asked = 0
    for q in range(jumping.flips):
        i = motion.flips[q] // 2
        coords.alpha[i] = alpha_now(core, i)
    go_across(core)
    for q in range(jumping.flips):
        i, right = motion.flips[q] // 2, motion.flips[q] % 2
        j = coords.status[i].piece // 2
        if coords.status[i].piece % 2 == 1:
            j += right
            coords.u[i] = corner_now(core, i, coords.status[i].piece // 2)
        else:
            j += 1 if right else -1
        u = coords.u[i] + coords.status[i].miss
        to_slope(core, i, j)
        # Choose the lift so that the point does not move.
        coords.u[i], coords.status[i].miss = u, 0.0
        lift = coords.alpha[i] - slope_value(core, i, j, coords.u[i])
        coords.fence[i].lift = lift
        if polylines.slope[i, j].bend == 0.0:
            pull_on(core, i, lift)
    route_changed(core)
    jumping.phase = ACROSS
    return SOLVE if jumping.method else GO


@njit(**PART)
def slope_beside(core, i):  # type: ignore[no-untyped-def]
    """Return the slope of pinned coordinate i that lies on its branch."""
    status = core.coords.status[i]
    return status.piece // 2 + (0 if status.side < 0 else 1)


@njit(**PART)
def touches_slope(core, i):  # type: ignore[no-untyped-def]
    """Whether pinned coordinate i has the alpha of the slope beside its corner."""
    coords = core.coords
    u = corner_now(core, i, coords.status[i].piece // 2)
    value = slope_value(core, i, slope_beside(core, i), u)
    return abs(coords.alpha[i] - value) <= near_alpha_of(core, i, 0.0)


@njit(**PART)
def list_pinned(core, release):  # type: ignore[no-untyped-def]
    """List the pinned coordinates in ``motion.flips``.  With `release`, list only those whose alpha
    is beyond their slope, and return how many just touch it."""
    coords, active, motion, system, jumping = (
        core.coords,
        core.active,
        core.motion,
        core.system,
        core.jumping,
    )
    jumping.flips, touching = 0, 0
    for k in range(system.actives):
        i = active.index[k]
        side = coords.status[i].side
        if side == 0:
            continue
        if release and touches_slope(core, i):
            touching += 1
            continue
        motion.flips[jumping.flips] = 2 * i + (1 if side < 0 else 0)
        jumping.flips += 1
    sort(motion.flips, jumping.flips)
    return touching


@njit(**PART)
def release_touching(core):  # type: ignore[no-untyped-def]
    """Move pinned coordinates whose alpha just touches their slope back onto it."""
    coords, active, system = core.coords, core.active, core.system
    while list_pinned(core, np.int64(1)):
        for k in range(system.actives):
            i = active.index[k]
            if coords.status[i].side != 0 and touches_slope(core, i):
                code = ready_for(core, i)
                if code != GO:
                    return code
                leave(core, i, slope_beside(core, i))
                break
    return GO


@njit(**PART)
def end_round(core):  # type: ignore[no-untyped-def]
    """End a round at mu = 0: remove all lifts, and list the pinned coordinates."""
    coords, motion, record, route = core.coords, core.motion, core.record, core.route
    jumping, cursor, tol = core.jumping, core.cursor, core.tol
    for q in range(cursor.logged - jumping.jump_log):
        coords.fence[record.log[jumping.jump_log + q].i].lift = 0.0
    code = release_touching(core)
    if code != GO:
        return code
    if moved_from(core, motion.last, tol.same):
        forget_partitions(core)
        store_point(core, motion.last)
    else:
        for q in range(jumping.seen):
            if motion.seen[q] == jumping.hash:
                jumping.ahead = 1
        if jumping.seen < motion.seen.size:
            motion.seen[jumping.seen] = jumping.hash
            jumping.seen += 1
    ahead = jumping.ahead and route.t != route.last
    jumping.phase = AHEAD if ahead else (FLIPPING if jumping.flips else RETURNING)
    return GO


@njit(**PART)
def look_ahead(core):  # type: ignore[no-untyped-def]
    """Find the coordinates that would be pinned just past t."""
    motion, event, jumping = core.motion, core.event, core.jumping
    code = go_along(core, np.int64(1))
    if code != GO:
        return code
    widen(core)
    code = resolve_ties(core)
    if code == UNBOUNDED and not event.moved_here:
        # A wall sweeps over a coordinate that cannot move with it.
        jumping.flips = 1
        motion.flips[0] = 2 * event.requested + (1 if event.way > 0 else 0)
        jumping.phase = FLIPPING
        return GO
    if code != GO:
        return code
    list_pinned(core, np.int64(0))
    jumping.phase = FLIPPING if jumping.flips else RETURNING
    return GO


@njit(**PART)
def end_jump(core):  # type: ignore[no-untyped-def]
    """Record the jump and continue along the path."""
    coords, motion, record, route = core.coords, core.motion, core.record, core.route
    event, jumping, cursor, tol = core.event, core.jumping, core.cursor, core.tol
    code = go_along(core, np.int64(0))
    if code != GO:
        return code
    jump = record.jump[cursor.jumps]
    jump.before, jump.after = jumping.before, objective(core)
    jump.rounds, jump.steps, jump.solver = (
        jumping.rounds,
        cursor.steps - jumping.jump_steps,
        jumping.solved_by,
    )
    jump.log_end = cursor.logged
    jump.moved = moved_from(core, motion.before, tol.moved)
    event.stay += 2
    still = not moved_from(core, motion.before, tol.same)
    if still and jumping.pressing == 1:
        # A coordinate whose flip moved nothing may stay on its corner.  (If several flipped at
        # once, they may have balanced each other, so each may still be tried alone.)
        for q in range(cursor.logged - jumping.jump_log):
            coords.status[record.log[jumping.jump_log + q].i].left_in_stay = event.stay
    cursor.jumps += 1
    record.jump[cursor.jumps].t = route.t
    if fallen(core):
        cursor.due = 0
    jumping.phase = ON_WAY
    return GO


@njit(**PART)
def fallen(core):  # type: ignore[no-untyped-def]
    """Whether the terms (as in `measure`) were so much larger before the jump that their rounding
    matters now."""
    coords, mass = core.coords, 0.0
    for i in range(coords.u.size):
        mass += coords.status[i].length * abs(alpha_now(core, i))
    return core.sizes.mass > core.tol.fallen * (mass + knot_terms(core))
