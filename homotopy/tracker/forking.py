"""Moves of single rows from a known optimum, and back.

A fork is another kind of route.  Its polylines do not move; the row being moved exchanges its own
polyline for a flat slope without corners, whose height is t itself:

    slope_i = t,       t from the present alpha_i to the requested value,       u_i free.

So `follow` moves it with the pivots of any route, and the record of a move is that of any path.  A
held row is released by *settling*: its own polyline returns, shifted sideways to the position of
the row, and the shift goes to 0 (``mu`` from 1 to 0).

Going back recomputes nothing.  Every change of piece is in the log, and pivots change the factor
only to the right of the first column that was removed: that part is copied from the base.  So the
base is restored to the last bit, however many rows have been moved.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from homotopy.model.polyline import SEAM
from homotopy.tracker.compiling import PART
from homotopy.tracker.follow import follow
from homotopy.tracker.independence import remove
from homotopy.tracker.leaving import arrive, ready_for
from homotopy.tracker.pieces import is_active, set_fence, set_piece
from homotopy.tracker.pivots import admit, restore_corners
from homotopy.tracker.proof import correct_with_pivots
from homotopy.tracker.state import ARRIVED, GO, STUCK
from homotopy.tracker.validity import border_half_copied, route_changed
from homotopy.tracker.windows import alpha_now

__all__ = ["move_row", "undo"]


# ------------------------------------------------------------------ routes


@njit(**PART)
def clear_route(core):  # type: ignore[no-untyped-def]
    """Reset the route: nothing moves yet."""
    active, motion, route = core.active, core.motion, core.route
    system, event = core.system, core.event
    route.pin = route.settling = 1
    system.mass_along = system.pull_mass = system.square_along = 0.0
    system.mass_across = system.square_across = 0.0
    for k in range(motion.along.size):
        motion.along[k] = motion.across[k] = 0.0
    for c in range(active.column.size):
        column = active.column[c]
        column.along = column.across = column.target_rate = 0.0
    event.idle_steps = 0
    route_changed(core)


@njit(**PART)
def straighten(core, i):  # type: ignore[no-untyped-def]
    """Replace the polyline of row i by one flat slope, whose height is t."""
    slope, corner = core.polylines.slope, core.polylines.corner
    for j in range(slope.shape[1]):
        slope[i, j].at, slope[i, j].rate, slope[i, j].bend = 0.0, 1.0, 0.0
    for j in range(corner.shape[1]):
        corner[i, j].at, corner[i, j].rate, corner[i, j].kind = np.inf, 0.0, SEAM


@njit(**PART)
def begin_hold(core, i, value):  # type: ignore[no-untyped-def]
    """Take row i off its polyline; from here on its alpha is t."""
    route = core.route
    now = alpha_now(core, i)
    if abs(value - now) <= core.tol.at_goal * core.coords.status[i].slope:
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
    """Hold row i at its value."""
    slope, route = core.polylines.slope, core.route
    for j in range(slope.shape[1]):
        slope[i, j].at, slope[i, j].rate = value, 0.0
    core.coords.status[i].rate_in_pull = 0.0
    route.along, route.dt, route.t, route.first, route.last = 0, 0.0, 0.0, 0.0, 0.0


@njit(**PART)
def begin_release(core, i, jobs):  # type: ignore[no-untyped-def]
    """Put row i back on its own polyline, already written, shifted to its position."""
    coords, motion, route = core.coords, core.motion, core.route
    system, jumping = core.system, core.jumping
    clear_route(core)
    route.along, route.dt, route.dmu, route.t = 0, 0.0, 1.0, 0.0
    route.tau = route.mu = route.start = 1.0
    route.stop, route.sign = 0.0, -1.0
    coords.fence[i].shift = jobs.shift
    if jobs.piece % 2 == 0:
        arrive(core, i, jobs.piece // 2)
        return GO
    # On a knot, treat it as if it had been there all along, and factor it.
    set_piece(core, i, jobs.piece, np.int64(0))
    motion.flips[0], jumping.flips, system.admitted, system.least = i, 1, 0, 0.0
    code = admit(core)
    jumping.flips = 0
    return GO if code == ARRIVED else code


# ------------------------------------------------------------------ rows


@njit(**PART)
def settle_rounding(core):  # type: ignore[no-untyped-def]
    """Correct the point: alphas that have gone to 0 leave the rounding of their former size in the
    border equations."""
    coords, active = core.coords, core.active
    for c in range(active.column.size):
        column = active.column[c]
        total = -column.target
        for i in range(coords.u.size):
            total += coords.border[i, c] * alpha_now(core, i)
        column.off = total
    if core.system.actives > 0:
        correct_with_pivots(core)


@njit(**PART)
def move_row(core):  # type: ignore[no-untyped-def]
    """Move one row, or release it."""
    jobs = core.base.jobs[0]
    i, value = jobs.row, jobs.value
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
        core.coords.fence[i].shift = 0.0
    settle_rounding(core)
    jobs.begun = 0
    return ARRIVED


# ------------------------------------------------------------------ back to the base


@njit(**PART)
def undo(core):  # type: ignore[no-untyped-def]
    """Go back to the base."""
    coords, motion, record, base = core.coords, core.motion, core.record, core.base
    active, route, system, event, cursor = (
        core.active,
        core.route,
        core.system,
        core.event,
        core.cursor,
    )
    jobs = base.jobs[0]
    route.along, route.dt, route.t, route.mu, route.first, route.last = 0, 0.0, 0.0, 0.0, 0.0, 0.0
    first = jobs.actives
    for q in range(jobs.logged, cursor.logged):
        i = record.log[q].i
        put_back(core, i)
        if 0 <= base.place[i] < first:
            first = base.place[i]
    cursor.logged = jobs.logged
    restore_corners(core)
    for i in range(coords.u.size):
        coords.u[i], coords.alpha[i] = base.u[i], base.alpha[i]
    for k in range(motion.w.size):
        motion.w[k] = base.w[k]
    for c in range(active.column.size):
        active.column[c].b, active.column[c].off, active.column[c].dropped = base.b[c], 0.0, 0.0
    copy_factor(core, first)
    system.dependents = jobs.dependents
    event.slack_speed = 0.0
    event.dropped = 0
    clear_route(core)


@njit(**PART)
def put_back(core, i):  # type: ignore[no-untyped-def]
    """Restore the polyline and the piece of row i."""
    polylines, coords, base = core.polylines, core.coords, core.base
    for j in range(polylines.slope.shape[1]):
        own, was = polylines.slope[i, j], base.slope[i, j]
        own.at, own.rate, own.bend = was.at, was.rate, was.bend
    for j in range(polylines.corner.shape[1]):
        corner, before = polylines.corner[i, j], base.corner[i, j]
        corner.at, corner.rate, corner.kind = before.at, before.rate, before.kind
    status, fence, piece = coords.status[i], coords.fence[i], base.piece[i]
    status.piece, status.side, status.dependent = piece, 0, base.dependent[i]
    status.bend = polylines.slope[i, piece // 2].bend if piece % 2 == 0 else 0.0
    status.rate_in_pull = fence.shift = fence.lift = 0.0
    status.miss = base.miss[i]
    set_fence(core, i)


@njit(**PART)
def copy_factor(core, first):  # type: ignore[no-untyped-def]
    """Copy the factor of the base; its columns before `first` are unchanged."""
    coords, active, base, system = core.coords, core.active, core.base, core.system
    size = base.jobs[0].actives
    for k in range(size):
        begin = max(first, k)
        row, was = active.factor[k, begin:size], base.factor[k, begin:size]
        for j in range(row.size):
            row[j] = was[j]
        i = base.index[k]
        active.index[k] = i
        coords.status[i].place = k
        coords.status[i].miss = base.miss[i]
        for c in range(active.column.size):
            active.half[c + 1, k] = base.half[c + 1, k]
    system.actives = size
    border_half_copied(core)
