"""Legs: paths that each continue from the end of the one before, with other corners and targets.

Q, the border, the slopes and the kinds of corners are the same on all legs.  On each of them t runs
from 0 to 1, and the corners and the target move from one row of `tasks.Legs` to the next.  Only
these numbers change from leg to leg, so a sequence of short paths is one run of compiled code.

Each leg is measured at both ends, like a separate trace.  If one needs more than a correction with
the present factor, the run ends: the legs before it are complete, and that one is traced
separately.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from homotopy.tracker.compiling import PART
from homotopy.tracker.pieces import set_fences
from homotopy.tracker.products import add_row, squared_length
from homotopy.tracker.proof import correct, measure_errors
from homotopy.tracker.segments import mend_end
from homotopy.tracker.sizes import corner_sizes
from homotopy.tracker.state import ARRIVED, GO, ON_WAY, ROWS, STUCK
from homotopy.tracker.validity import factor_changed, system_changed
from homotopy.tracker.windows import add_intercepts, examine_all, respond

__all__ = ["begin_leg", "end_leg"]


@njit(**PART)
def load_leg(core, leg):  # type: ignore[no-untyped-def]
    """Write the corners and the target of a leg, and the fences that follow from them."""
    polylines, coords, column, legs = core.polylines, core.coords, core.active.column, core.legs
    for i in range(coords.u.size):
        for j in range(polylines.corner.shape[1]):
            first, last = legs.corner[leg, i, j], legs.corner[leg + 1, i, j]
            corner = polylines.corner[i, j]
            corner.at, corner.rate = first, last - first if abs(first) < np.inf else 0.0
        status = coords.status[i]
        status.touched, status.rate_in_pull, status.most = 0, 0.0, abs(coords.alpha[i])
    set_fences(core)
    for c in range(column.size):
        column[c].target0 = legs.target[leg, c]
        column[c].target1 = legs.target[leg + 1, c] - legs.target[leg, c]
        column[c].target_rate = column[c].target1
        column[c].along = column[c].across = 0.0


@njit(**PART)
def head_for(core, leg):  # type: ignore[no-untyped-def]
    """Set the route to the beginning of a leg.  No slope moves, so the pull is 0."""
    motion, route, sizes, system, event = (
        core.motion,
        core.route,
        core.sizes,
        core.system,
        core.event,
    )
    route.first = route.start = route.t = route.tau = route.mu = 0.0
    route.last = route.stop = route.sign = route.dt = 1.0
    route.dmu, route.along, route.pin, route.settling = 0.0, 1, 0, 0
    motion.along[:] = 0.0
    motion.across[:] = 0.0
    system.mass_along = system.mass_across = system.pull_mass = 0.0
    system.square_along = system.square_across = 0.0
    event.touched = 0
    system_changed(core)
    event.slack_speed = 0.0
    sizes.strain = sizes.broken = sizes.most_norm = sizes.most_mass = 0.0
    sizes.size_scale = core.legs.scale[leg]


@njit(**PART)
def recompute(core):  # type: ignore[no-untyped-def]
    """Compute w and u from alpha, and examine all; return False if a row of Q that this needs is
    not stored."""
    form, coords, motion, fixed = core.form, core.coords, core.motion, core.fixed
    out = coords.u if fixed.mode == ROWS else motion.w
    out[:] = 0.0
    for i in range(coords.u.size):
        if coords.alpha[i] != 0.0:
            if fixed.mode == ROWS and form.slot[i] < 0:
                return False
            add_row(core, fixed.mode, i, coords.alpha[i], out)
    square = 0.0
    if fixed.mode == ROWS:
        for i in range(coords.u.size):
            square += coords.alpha[i] * coords.u[i]
        examine_all(core)
        add_intercepts(core)
    else:
        square = squared_length(motion.w)
        respond(core)
    core.sizes.length = math.sqrt(max(square, 0.0))
    return True


@njit(**PART)
def examine(core):  # type: ignore[no-untyped-def]
    """Recompute the point and measure its error; return False if the factor is in doubt.

    The bound of the leg is the largest of those measured.
    """
    coords, column, route, sizes = core.coords, core.active.column, core.route, core.sizes
    mark = core.legs.mark[core.legs.plan[0].leg]
    if not recompute(core):
        return False
    corner_sizes(core.polylines.corner, coords.status, core.window.sums, route.t, sizes.size_scale)
    for c in range(column.size):
        column[c].target = column[c].target0 + column[c].target1 * route.t
    measure_errors(core)
    mark.bound, mark.strain = max(mark.bound, sizes.bound), sizes.strain
    mark.broken = sizes.broken
    return sizes.factor_off <= core.tol.drifted and not sizes.tracks_w


@njit(**PART)
def write_mark(core, mark):  # type: ignore[no-untyped-def]
    """Write the present lengths of the record, and the counts of steps and pivots."""
    cursor = core.cursor
    mark.segments, mark.entries, mark.logged = cursor.segments, cursor.entries, cursor.logged
    mark.steps, mark.pivots, mark.exchanges = cursor.steps, cursor.pivots, cursor.exchanges
    mark.slides, mark.refined = cursor.slides, cursor.refined


@njit(**PART)
def begin_leg(core):  # type: ignore[no-untyped-def]
    """Begin the present leg; return `STUCK` if its path does not begin at the present point."""
    coords, legs, cursor = core.coords, core.legs, core.cursor
    plan, sizes, tol = legs.plan[0], core.sizes, core.tol
    load_leg(core, plan.leg)
    head_for(core, plan.leg)
    mark = legs.mark[plan.leg]
    write_mark(core, mark)
    mark.bound = 0.0
    for i in range(coords.u.size):
        legs.piece[plan.leg, i] = coords.status[i].piece
    if not examine(core) or not sizes.off <= tol.repair:
        return STUCK
    core.jumping.phase = ON_WAY
    cursor.recording, cursor.open, cursor.due = 1, 0, cursor.steps + plan.interval
    return GO


@njit(**PART)
def end_leg(core):  # type: ignore[no-untyped-def]
    """Make the end of a leg exact and turn to the next; `ARRIVED` after the last."""
    plan, system, sizes, tol = core.legs.plan[0], core.system, core.sizes, core.tol
    factor_changed(core)
    if not examine(core):
        return STUCK
    if sizes.off > tol.refine and system.actives:
        correct(core)
        if not examine(core):
            return STUCK
        mend_end(core)
    if not sizes.off <= tol.repair:
        return STUCK
    plan.leg += 1
    if plan.leg == plan.count:
        write_mark(core, core.legs.mark[plan.leg])
        return ARRIVED
    return begin_leg(core)
