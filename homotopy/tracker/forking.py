"""Moving single rows from a known optimum, and back.

A fork is one more route.  Its polylines stand still; the row that is moved gives up its own one for
a flat slope without corners, whose height is t itself:

    slope_i = t,       t from the present alpha_i to the value wanted,       u_i free.

So `follow` takes it there with the pivots that every route has, and a record of the way is one of
any path.  A row held in this way is let go by *settling*: its own polyline comes back, shifted
sideways to where the row stands, and the shift goes to 0 (``mu`` from 1 to 0).

Going back makes nothing anew.  Every change of piece is in the log, and what a pivot changes of the
factor lies right of the first column that was taken out: that part is copied from the base.  So the
base is the same after any number of rows, to the last bit.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from homotopy.model.polyline import SEAM
from homotopy.tracker.compiling import PART
from homotopy.tracker.crossing import fence_excused
from homotopy.tracker.follow import follow
from homotopy.tracker.independence import remove
from homotopy.tracker.leaving import arrive, ready_for
from homotopy.tracker.pieces import is_active, set_fence, set_piece
from homotopy.tracker.pivots import admit
from homotopy.tracker.proof import correct
from homotopy.tracker.state import ARRIVED, GO, STUCK
from homotopy.tracker.tolerances import EPS
from homotopy.tracker.windows import alpha_now

__all__ = ["move_rows", "undo"]


# ------------------------------------------------------------------ routes


@njit(**PART)
def clear_route(core):  # type: ignore[no-untyped-def]
    """Nothing moves yet."""
    act, mov, route = core.act, core.mov, core.route
    system, event = core.system, core.event
    route.pin = route.settling = 1
    system.mass_along = system.carrying = system.square_along = 0.0
    system.mass_across = system.square_across = 0.0
    for k in range(mov.along.size):
        mov.along[k] = mov.across[k] = 0.0
    for c in range(act.column.size):
        column = act.column[c]
        column.along = column.across = column.target_rate = 0.0
    system.solved = system.rated = event.fresh = event.idle = 0
    system.ready = min(system.ready, 1)


@njit(**PART)
def straighten(core, i):  # type: ignore[no-untyped-def]
    """The polyline of row i is one flat slope, whose height is t."""
    slope, corner = core.lines.slope, core.lines.corner
    for j in range(slope.shape[1]):
        slope[i, j].at, slope[i, j].rate, slope[i, j].bend = 0.0, 1.0, 0.0
    for j in range(corner.shape[1]):
        corner[i, j].at, corner[i, j].rate, corner[i, j].kind = np.inf, 0.0, SEAM


@njit(**PART)
def begin_hold(core, i, value):  # type: ignore[no-untyped-def]
    """Row i leaves its polyline; its alpha is t from here on."""
    route = core.route
    now = alpha_now(core, i)
    if abs(value - now) <= core.tol.at_goal * core.here.spot[i].slope:
        now = value
    if is_active(core, i):
        remove(core, i)
    clear_route(core)
    route.along, route.dt, route.dmu, route.mu = 1, 1.0, 0.0, 0.0
    route.t = route.tau = route.start = route.first = now
    route.stop = route.last = value
    route.sign = 1.0 if value > now else -1.0
    straighten(core, i)
    arrive(core, i, np.int64(0))


@njit(**PART)
def end_hold(core, i, value):  # type: ignore[no-untyped-def]
    """Row i stays where it is."""
    slope, route = core.lines.slope, core.route
    for j in range(slope.shape[1]):
        slope[i, j].at, slope[i, j].rate = value, 0.0
    core.here.spot[i].carried = 0.0
    route.along, route.dt, route.t, route.first, route.last = 0, 0.0, 0.0, 0.0, 0.0


@njit(**PART)
def begin_release(core, i, jobs):  # type: ignore[no-untyped-def]
    """Row i is on its own polyline again, which has been written down, shifted to where it is."""
    here, mov, route = core.here, core.mov, core.route
    system, jumping = core.system, core.jumping
    clear_route(core)
    route.along, route.dt, route.dmu, route.t = 0, 0.0, 1.0, 0.0
    route.tau = route.mu = route.start = 1.0
    route.stop, route.sign = 0.0, -1.0
    here.fence[i].shift = jobs.shift
    if jobs.piece % 2 == 0:
        arrive(core, i, jobs.piece // 2)
        return GO
    # On a knot it is as if it had been there all the time, and is to be factored.
    set_piece(core, i, jobs.piece, np.int64(0))
    mov.flips[0], jumping.flips, system.admitted, system.least = i, 1, 0, 0.0
    code = admit(core)
    jumping.flips = 0
    return GO if code == ARRIVED else code


# ------------------------------------------------------------------ rows


@njit(**PART)
def settle_rounding(core, always):  # type: ignore[no-untyped-def]
    """Correct the point, where a border equation is off by more than the rounding of its terms:
    alphas that have gone to 0 leave the rounding of what they were; or always."""
    here, act, system = core.here, core.act, core.system
    off = always and system.actives > 0
    for c in range(act.column.size):
        column = act.column[c]
        total, terms = -column.target, abs(column.target)
        for i in range(here.u.size):
            part = here.border[i, c] * alpha_now(core, i)
            total += part
            terms += abs(part)
        column.off = total
        off = off or abs(total) > core.tol.equation * EPS * terms
    if off:
        correct(core)


@njit(**PART)
def note(core, job, i):  # type: ignore[no-untyped-def]
    """Write down what is asked for at the end of a route."""
    here, act, base = core.here, core.act, core.base
    base.found_u[job] = here.u[i] + here.spot[i].miss
    for c in range(act.column.size):
        base.found_b[job, c] = act.column[c].b
    if base.found_alpha.shape[0]:
        for k in range(here.u.size):
            base.found_alpha[job, k] = alpha_now(core, k)


@njit(**PART)
def move_rows(core):  # type: ignore[no-untyped-def]
    """Move one row after the other, each from the base if that is wanted."""
    base, jobs = core.base, core.base.jobs[0]
    if jobs.job == jobs.jobs:
        return ARRIVED
    i, value = base.row[jobs.job], base.value[jobs.job]
    if not jobs.begun:
        code = ready_for(core, i)
        if code != GO:
            return code
        jobs.begun = 1
        if jobs.piece < 0:
            begin_hold(core, i, value)
        else:
            code = begin_release(core, i, jobs)
            if code != GO:
                return STUCK
    code = follow(core)
    if code != ARRIVED:
        return code
    if jobs.piece < 0:
        end_hold(core, i, value)
    else:
        core.here.fence[i].shift = 0.0
    settle_rounding(core, jobs.back == 0)
    note(core, jobs.job, i)
    jobs.begun = 0
    jobs.job += 1
    if jobs.back:
        undo(core)
    return GO


# ------------------------------------------------------------------ back to the base


@njit(**PART)
def undo(core):  # type: ignore[no-untyped-def]
    """Stand at the base again."""
    here, mov, rec, base = core.here, core.mov, core.rec, core.base
    act, route, system, event, cursor = core.act, core.route, core.system, core.event, core.cursor
    jobs = base.jobs[0]
    route.along, route.dt, route.t, route.mu, route.first, route.last = 0, 0.0, 0.0, 0.0, 0.0, 0.0
    first = jobs.actives
    for q in range(jobs.logged, cursor.logged):
        i = rec.log[q].i
        put_back(core, i)
        if 0 <= base.place[i] < first:
            first = base.place[i]
    cursor.logged = jobs.logged
    fence_excused(core)
    for i in range(here.u.size):
        here.u[i], here.alpha[i] = base.u[i], base.alpha[i]
    for k in range(mov.w.size):
        mov.w[k] = base.w[k]
    for c in range(act.column.size):
        act.column[c].b, act.column[c].off, act.column[c].dropped = base.b[c], 0.0, 0.0
    copy_factor(core, first)
    system.idles = jobs.idles
    event.slack_speed = 0.0
    event.dropped = 0
    clear_route(core)


@njit(**PART)
def put_back(core, i):  # type: ignore[no-untyped-def]
    """Row i has the polyline and the piece that it had."""
    lines, here, base = core.lines, core.here, core.base
    for j in range(lines.slope.shape[1]):
        own, was = lines.slope[i, j], base.slope[i, j]
        own.at, own.rate, own.bend = was.at, was.rate, was.bend
    for j in range(lines.corner.shape[1]):
        corner, before = lines.corner[i, j], base.corner[i, j]
        corner.at, corner.rate, corner.kind = before.at, before.rate, before.kind
    spot, fence, piece = here.spot[i], here.fence[i], base.piece[i]
    spot.piece, spot.side, spot.idle = piece, 0, base.idle[i]
    spot.bend = lines.slope[i, piece // 2].bend if piece % 2 == 0 else 0.0
    spot.carried = fence.shift = fence.lift = 0.0
    spot.miss = base.miss[i]
    set_fence(core, i)


@njit(**PART)
def copy_factor(core, first):  # type: ignore[no-untyped-def]
    """The factor of the base, of which the columns before `first` are as they were."""
    here, act, base, system = core.here, core.act, core.base, core.system
    size = base.jobs[0].actives
    for k in range(size):
        begin = max(first, k)
        row, was = act.factor[k, begin:size], base.factor[k, begin:size]
        for j in range(row.size):
            row[j] = was[j]
        i = base.index[k]
        act.index[k] = i
        here.spot[i].place = k
        here.spot[i].miss = base.miss[i]
        for c in range(act.column.size):
            act.half[c + 1, k] = base.half[c + 1, k]
    system.actives, system.ready = size, 1
