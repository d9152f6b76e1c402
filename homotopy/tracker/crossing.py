"""The D-step: crossing a discontinuity.

At a jump the coordinates that press on the jump corner change side.  For fixed t the branch of
each flipped coordinate is translated vertically by ``mu * lift_i``, ``lift_i`` being the height
of alpha_i above its new slope, so that the present point is optimal at mu = 1; `follow` takes mu
to 0 with every coordinate kept to its own convex branch (at a jump corner it is *pinned*, its alpha
unbounded on the far side).  Who ends pinned is flipped in turn, until nobody is.  The objective
never rises, because the point left behind is feasible for the new partition.

On degenerate data a flip may move nothing: several partitions share one response, and which of
them the path takes is decided by what happens *ahead* of t.  A partition that comes back at the
same t with the response unmoved is the sign of it.  From then on pinned coordinates are judged
after a turn in the direction of travel, walls moving with t: the one-sided derivative of the
objective then falls with every flip, and no partition returns.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from homotopy.tracker.compiling import OUTER, PART
from homotopy.tracker.follow import begin_segment, end_segment, follow, seal
from homotopy.tracker.pivots import (
    admit,
    flat_rate,
    leave,
    pull_on,
    ready_for,
    set_fence,
    to_slope,
)
from homotopy.tracker.proof import correct, refine, worst_off
from homotopy.tracker.rates import corner_now, near_a_of, slope_value
from homotopy.tracker.reference import by_reference
from homotopy.tracker.sizes import factor_error, measure
from homotopy.tracker.state import (
    ACROSS,
    AHEAD,
    ARRIVED,
    ASK,
    BEGINNING,
    BY_TURN,
    FACTORING,
    FLIPPING,
    FULL,
    GO,
    MISSING,
    ON_WAY,
    RECORD_FULL,
    REFINING,
    RETURNING,
    ROUND_DONE,
    ROWS,
    SHARPENING,
    SOLVE,
    STUCK,
    UNBOUNDED,
    WALLS,
    Core,
)
from homotopy.tracker.ties import turn
from homotopy.tracker.windows import alpha_now, close_window, widen

__all__ = ["run"]


# ------------------------------------------------------------------ routes


@njit(**PART)
def fence_excused(core):  # type: ignore[no-untyped-def]
    """Whoever was excused from its corners has them back."""
    here, now = core.here, core.now
    if now.excused:
        for i in range(here.u.size):
            if here.spot[i].excused:
                here.spot[i].excused = 0
                set_fence(core, i)
        now.excused = 0


@njit(**PART)
def go_across(core):  # type: ignore[no-untyped-def]
    """From here on t stands still and mu goes from 1 to 0; nothing is lifted yet."""
    act, mov, now = core.act, core.mov, core.now
    if now.window == BY_TURN:
        close_window(core)
    fence_excused(core)
    now.along, now.dt, now.dmu, now.pin = 0, 0.0, 1.0, 1
    now.tau = now.mu = now.start = 1.0
    now.stop, now.sign = 0.0, -1.0
    now.mass_across = now.square_across = 0.0
    for k in range(mov.across.size):
        mov.across[k] = 0.0
    for c in range(act.column.size):
        act.column[c].across = act.column[c].target_rate = 0.0
    now.solved = now.rated = now.fresh = 0
    now.ready = min(now.ready, 1)


@njit(**PART)
def go_along(core, pin):  # type: ignore[no-untyped-def]
    """From here on t moves; the pull of the moving slopes is taken up where it was left, and only
    those that changed piece meanwhile need seeing to."""
    form, here, act, now = core.form, core.here, core.act, core.now
    if now.window == BY_TURN:
        close_window(core)
    fence_excused(core)
    now.along, now.dt, now.dmu, now.pin, now.mu = 1, 1.0, 0.0, pin, 0.0
    now.tau, now.start, now.stop = now.t, now.first, now.last
    now.sign = 1.0 if now.last > now.first else -1.0
    for c in range(act.column.size):
        act.column[c].target_rate = act.column[c].moves
    now.solved = now.rated = now.fresh = 0
    now.ready = min(now.ready, 1)
    while now.touched:
        i = here.few[now.touched - 1]
        change = flat_rate(core, i) - here.spot[i].carried
        if change != 0.0:
            if now.mode == ROWS and form.slot[i] < 0:
                now.want = i
                return MISSING
            pull_on(core, i, change)
        here.spot[i].touched = 0
        now.touched -= 1
    return GO


# ------------------------------------------------------------------ what a jump is measured by


@njit(**PART)
def objective(core):  # type: ignore[no-untyped-def]
    """The full objective without its constant.

    With ``sum_i alpha_i u_i = |w|^2 + b^T e`` the responses of flat coordinates drop out of it:

        -1/2 |w|^2 + sum_F c_i(t) + sum_knots (c_i + (alpha_i - a_i) k_i)
                   + sum_slanted (c_i - bend u_i^2 / 2),

    a_i and c_i being those of the slope left of knot k_i.  NaN where the c_i are not known.
    """
    lines, here, act, mov, now = core.lines, core.here, core.act, core.mov, core.now
    if lines.terms.shape[0] == 0:
        return np.nan
    t, square = now.t, 0.0
    if now.mode == ROWS:
        for i in range(here.u.size):
            value = alpha_now(core, i)
            if value != 0.0:
                part = here.u[i]
                for c in range(act.column.size):
                    part -= here.border[i, c] * act.column[c].b
                square += value * part
    else:
        for c in range(mov.w.size):
            square += mov.w[c] * mov.w[c]
    total = now.sum0 + now.sum1 * t + now.sum2 * t * t - 0.5 * square
    for k in range(now.actives):
        i = act.index[k]
        piece = here.spot[i].piece
        if piece % 2 == 1:
            total += on_knot(core, i)
        else:
            terms = lines.terms[i, piece // 2]
            total += terms[0] + terms[1] * t + terms[2] * t * t
            total -= 0.5 * here.spot[i].bend * here.u[i] * here.u[i]
    if now.idles:
        for i in range(here.u.size):
            if here.spot[i].idle:
                total += on_knot(core, i)
    return total


@njit(**PART)
def on_knot(core, i):  # type: ignore[no-untyped-def]
    """What coordinate i, on a knot, contributes to the objective."""
    lines, here, now = core.lines, core.here, core.now
    j, t = here.spot[i].piece // 2, now.t
    terms, slope = lines.terms[i, j], lines.slope[i, j]
    corner = corner_now(core, i, j)
    total, left = terms[0] + terms[1] * t + terms[2] * t * t, 0.0
    if np.isfinite(slope.at):
        left = slope.at + slope.rate * t
        total += 0.5 * slope.bend * corner * corner
    return total + (here.alpha[i] - left) * corner


@njit(**PART)
def keep(core, place):  # type: ignore[no-untyped-def]
    """Write the present point to `place`: w on features, else u."""
    here, act, mov, now = core.here, core.act, core.mov, core.now
    if now.mode == ROWS:
        if now.window == BY_TURN:
            close_window(core)
        for i in range(place.size):
            place[i] = here.u[i]
    else:
        width = mov.w.size
        for c in range(width):
            place[c] = mov.w[c]
        for c in range(act.column.size):
            place[width + c] = act.column[c].b


@njit(**PART)
def moved_from(core, place, least):  # type: ignore[no-untyped-def]
    """Whether the response has moved from `place` by more than `least` of its scale."""
    here, act, mov, now = core.here, core.act, core.mov, core.now
    if now.mode == ROWS:
        if now.window == BY_TURN:
            close_window(core)
        for i in range(place.size):
            fence = here.fence[i]
            size = max(
                max(fence.scale, fence.root * now.length), max(abs(place[i]), abs(here.u[i]))
            )
            if abs(here.u[i] - place[i]) > least * size + fence.root * now.noise:
                return True
        return False
    square, width = 0.0, mov.w.size
    for c in range(width):
        square += (mov.w[c] - place[c]) ** 2
    gone = np.sqrt(square) * now.largest_root
    for c in range(act.column.size):
        gone += now.b_weight * now.unit * abs(act.column[c].b - place[width + c])
    size = least * max(now.size_scale, now.length * now.largest_root)
    return gone > size + now.largest_root * now.noise


# ------------------------------------------------------------------ rounds


@njit(**PART)
def forget(core):  # type: ignore[no-untyped-def]
    """The partitions seen at this t: none but the present one."""
    mov, now = core.mov, core.now
    mov.seen[0] = now.hash
    now.seen, now.ahead = 1, 0


@njit(**PART)
def begin_jump(core):  # type: ignore[no-untyped-def]
    """Write down the point before the jump, and who presses on its corner."""
    here, act, mov, rec, now, tol = core.here, core.act, core.mov, core.rec, core.now, core.tol
    if now.actives + now.idles > mov.kept_index.size:
        return FULL
    if rec.jump.size <= now.jumps + 1 or now.logged + 2 * now.walls + 64 >= rec.log.size:
        return RECORD_FULL
    seal(core)
    if now.recording and now.segments == 0:
        # The path begins with a jump: what was before it is one point.
        begin_segment(core)
        end_segment(core, np.int64(0))
    jump = rec.jump[now.jumps]
    if now.crossings == 0 or jump.t != now.t:
        now.crossings = 0
        forget(core)
    jump.t, jump.log = now.t, now.logged
    now.crossings += 1
    now.rounds, now.jump_log, now.jump_steps, now.solved_by = 0, now.logged, now.steps, 0
    # Each is shown with where it goes: 2 i, and 1 more if to the right.
    now.flips = now.pressing = now.walls
    for q in range(now.walls):
        mov.flips[q] = here.tied[here.tied.size - 1 - q]
    sort(mov.flips, now.flips)
    now.kept = now.actives
    for k in range(now.actives):
        mov.kept_index[k], mov.kept_alpha[k] = act.index[k], here.alpha[act.index[k]]
    if now.idles:
        for i in range(here.u.size):
            if here.spot[i].idle:
                mov.kept_index[now.kept], mov.kept_alpha[now.kept] = i, here.alpha[i]
                now.kept += 1
    for c in range(act.column.size):
        act.column[c].kept = act.column[c].b
    keep(core, mov.before)
    keep(core, mov.last)
    now.before = objective(core)
    now.in_jump, now.asked = FLIPPING, 0
    if now.crossings > tol.probes + here.u.size:
        return STUCK
    return GO


@njit(**PART)
def sort(values, count):  # type: ignore[no-untyped-def]
    """Insertion: there are few, and they are nearly in order."""
    for k in range(1, count):
        value = values[k]
        j = k - 1
        while j >= 0 and values[j] > value:
            values[j + 1] = values[j]
            j -= 1
        values[j + 1] = value


@njit(**PART)
def flip(core):  # type: ignore[no-untyped-def]
    """Those in ``mov.flips`` change side, lifted to where they stand."""
    lines, here, act, mov, rec, now = core.lines, core.here, core.act, core.mov, core.rec, core.now
    if now.asks and not now.asked:
        widen(core)
        return ASK
    for q in range(now.flips):
        code = ready_for(core, mov.flips[q] // 2)
        if code != GO:
            return code
    if now.actives + now.flips + 1 >= act.index.size:
        return FULL
    if now.rounds > 50 + here.u.size or now.logged + 2 * now.flips + 64 >= rec.log.size:
        return STUCK if now.rounds > 50 + here.u.size else RECORD_FULL
    now.rounds += 1
    now.asked = 0
    for q in range(now.flips):
        i = mov.flips[q] // 2
        here.alpha[i] = alpha_now(core, i)
    go_across(core)
    for q in range(now.flips):
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
    now.solved = now.rated = now.fresh = 0
    now.ready = min(now.ready, 1)
    now.in_jump = ACROSS
    return SOLVE if now.by_solver else GO


@njit(**PART)
def press(core, release):  # type: ignore[no-untyped-def]
    """Those pinned, into ``mov.flips``; with `release` only those whose alpha is beyond its slope,
    and how many just touch is returned."""
    here, act, mov, now = core.here, core.act, core.mov, core.now
    now.flips, touching = 0, 0
    for k in range(now.actives):
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
        mov.flips[now.flips] = 2 * i + (1 if left else 0)
        now.flips += 1
    sort(mov.flips, now.flips)
    return touching


@njit(**PART)
def let_go(core):  # type: ignore[no-untyped-def]
    """Coordinates pinned that just touch their slope go back to it."""
    here, act, now = core.here, core.act, core.now
    while press(core, np.int64(1)):
        for k in range(now.actives):
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
    """mu is 0: nothing is lifted any more; see who is pinned."""
    here, mov, rec, now, tol = core.here, core.mov, core.rec, core.now, core.tol
    for q in range(now.logged - now.jump_log):
        here.fence[rec.log[now.jump_log + q].i].lift = 0.0
    code = let_go(core)
    if code != GO:
        return code
    if moved_from(core, mov.last, tol.same):
        forget(core)
        keep(core, mov.last)
    else:
        for q in range(now.seen):
            if mov.seen[q] == now.hash:
                now.ahead = 1
        if now.seen < mov.seen.size:
            mov.seen[now.seen] = now.hash
            now.seen += 1
    ahead = now.ahead and now.t != now.last
    now.in_jump = AHEAD if ahead else (FLIPPING if now.flips else RETURNING)
    return GO


@njit(**PART)
def look_ahead(core):  # type: ignore[no-untyped-def]
    """Who would be pinned just past t?"""
    mov, now = core.mov, core.now
    code = go_along(core, np.int64(1))
    if code != GO:
        return code
    widen(core)
    code = turn(core)
    if code == UNBOUNDED and not now.moved_here:
        # A wall sweeps over a coordinate that cannot move with it.
        now.flips = 1
        mov.flips[0] = 2 * now.want + (1 if now.way > 0 else 0)
        now.in_jump = FLIPPING
        return GO
    if code != GO:
        return code
    press(core, np.int64(0))
    now.in_jump = FLIPPING if now.flips else RETURNING
    return GO


@njit(**PART)
def end_jump(core):  # type: ignore[no-untyped-def]
    """Write the jump down and take up the path."""
    here, mov, rec, now, tol = core.here, core.mov, core.rec, core.now, core.tol
    code = go_along(core, np.int64(0))
    if code != GO:
        return code
    jump = rec.jump[now.jumps]
    jump.before, jump.after = now.before, objective(core)
    jump.rounds, jump.steps, jump.solver = now.rounds, now.steps - now.jump_steps, now.solved_by
    jump.log_end = now.logged
    jump.moved = moved_from(core, mov.before, tol.moved)
    now.linger += 2
    still = not moved_from(core, mov.before, tol.same)
    if still and now.pressing == 1:
        # One whose flip moved nothing rests as long as it stands on its corner.  (Where several
        # flipped at once they may have balanced each other: each may still be tried alone.)
        for q in range(now.logged - now.jump_log):
            here.spot[rec.log[now.jump_log + q].i].resting = now.linger
    now.jumps += 1
    rec.jump[now.jumps].t = now.t
    now.in_jump = ON_WAY
    return GO


@njit(**PART)
def run_on(core):  # type: ignore[no-untyped-def]
    """The loop of `run`."""
    now = core.now
    while True:
        phase = now.in_jump
        if phase in (ON_WAY, ACROSS):
            code = follow(core)
            if phase == ACROSS and code == ARRIVED:
                now.in_jump = ROUND_DONE
                code = GO
            elif phase == ON_WAY and code == WALLS:
                code = begin_jump(core)
        elif phase == BEGINNING:
            code = begin_jump(core)
        elif phase == FLIPPING:
            code = flip(core)
        elif phase == ROUND_DONE:
            code = end_round(core)
        elif phase == AHEAD:
            code = look_ahead(core)
        elif phase == RETURNING:
            code = end_jump(core)
        elif phase == FACTORING:
            code = admit(core)
        elif phase == REFINING:
            code = correct(core)
            code = ARRIVED if code == GO else code
        elif phase == SHARPENING:
            refine(core)
            code = ARRIVED
        else:
            measure(core)
            now.off = worst_off(core)
            now.factor_off = factor_error(core)
            code = ARRIVED
        if code != GO:
            return code


@njit(**OUTER)
def run(form, lines, here, act, mov, win, rec, now, tol, opt):  # type: ignore[no-untyped-def]
    """C-steps and D-steps until the route ends or something is wanted; see `follow`."""
    core = Core(form, lines, here, act, mov, win, rec, now[0], tol[0], opt[0])
    return run_on(by_reference(core))
