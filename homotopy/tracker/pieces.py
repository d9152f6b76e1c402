"""Pieces: what changes when a coordinate moves from one to another."""

from __future__ import annotations

import numpy as np
from numba import njit

from homotopy.model.polyline import JUMP
from homotopy.tracker.compiling import PART
from homotopy.tracker.nearness import corner_now, slope_rate, slope_value
from homotopy.tracker.products import add_row, response
from homotopy.tracker.state import ROWS
from homotopy.tracker.validity import aims_changed, rates_changed
from homotopy.tracker.windows import close_window

__all__ = [
    "flat_rate",
    "is_active",
    "pull_on",
    "room_of",
    "set_fence",
    "set_fences",
    "set_piece",
    "write_depths",
]

# Constants of a hash that distinguishes partitions.
MIX, PRIME, SPREAD = 2654435761, 4294967291, 40503


@njit(**PART)
def set_fence(core, i):  # type: ignore[no-untyped-def]
    """Set the corners between which u_i is free: none on a knot, unless i is dependent there.  (A
    low corner at +inf, or a high one at -inf, is no bound.)"""
    polylines, coords = core.polylines, core.coords
    fence, piece = coords.fence[i], coords.status[i].piece
    fence.low, fence.low_rate, fence.high, fence.high_rate = -np.inf, 0.0, np.inf, 0.0
    j = piece // 2
    if piece % 2 == 1:
        if coords.status[i].dependent:
            fence.low = fence.high = polylines.corner[i, j].at
            fence.low_rate = fence.high_rate = polylines.corner[i, j].rate
        return
    if j > 0 and polylines.corner[i, j - 1].at < np.inf:
        fence.low, fence.low_rate = polylines.corner[i, j - 1].at, polylines.corner[i, j - 1].rate
    if j < polylines.corner.shape[1] and polylines.corner[i, j].at > -np.inf:
        fence.high, fence.high_rate = polylines.corner[i, j].at, polylines.corner[i, j].rate


@njit(**PART)
def set_fences(core):  # type: ignore[no-untyped-def]
    """Set all fences for the present polylines, and sums over the flat coordinates."""
    polylines, coords, event, jumping = core.polylines, core.coords, core.event, core.jumping
    sum0 = sum1 = sum2 = 0.0
    event.ignored = 0
    for i in range(coords.u.size):
        status = coords.status[i]
        set_fence(core, i)
        status.bend, status.ignores_corners = 0.0, 0
        if status.piece % 2 == 0:
            j = status.piece // 2
            status.bend = polylines.slope[i, j].bend
            if status.bend == 0.0 and polylines.terms.shape[0]:
                sum0 += polylines.terms[i, j, 0]
                sum1 += polylines.terms[i, j, 1]
                sum2 += polylines.terms[i, j, 2]
    if polylines.terms.shape[0]:
        jumping.sum0, jumping.sum1, jumping.sum2 = sum0, sum1, sum2


@njit(**PART)
def branch_of(core, i, piece, side):  # type: ignore[no-untyped-def]
    """Return the convex branch of a piece: the number of jumps to its left."""
    polylines = core.polylines
    count = 0
    for j in range(piece // 2):
        count += polylines.corner[i, j].kind == JUMP
    if piece % 2 == 1 and side > 0:
        count += 1
    return count


@njit(**PART)
def set_piece(core, i, piece, side):  # type: ignore[no-untyped-def]
    """Move coordinate i to another piece: log it, and update everything that depends on it."""
    polylines, coords, record, route = core.polylines, core.coords, core.record, core.route
    system, event, jumping, cursor = core.system, core.event, core.jumping, core.cursor
    status = coords.status[i]
    old, old_side = status.piece, status.side
    entry = record.log[cursor.logged]
    entry.i, entry.piece, entry.side, entry.new = i, old, old_side, piece
    cursor.logged += 1
    if polylines.terms.shape[0]:
        if old % 2 == 0 and polylines.slope[i, old // 2].bend == 0.0:
            terms = polylines.terms[i, old // 2]
            jumping.sum0 -= terms[0]
            jumping.sum1 -= terms[1]
            jumping.sum2 -= terms[2]
        if piece % 2 == 0 and polylines.slope[i, piece // 2].bend == 0.0:
            terms = polylines.terms[i, piece // 2]
            jumping.sum0 += terms[0]
            jumping.sum1 += terms[1]
            jumping.sum2 += terms[2]
    before, after = branch_of(core, i, old, old_side), branch_of(core, i, piece, side)
    if before != after:
        mixed = (i + 1) * MIX % PRIME
        jumping.hash ^= mixed * (before * SPREAD + 1)
        jumping.hash ^= mixed * (after * SPREAD + 1)
    if not route.along and status.touched == 0:
        status.touched = 1
        coords.touched[event.touched] = i
        event.touched += 1
    if status.bend > 0.0:
        # From here on u is the response again.
        coords.u[i] += status.miss
        status.miss = 0.0
    if status.dependent:
        status.dependent = 0
        system.dependents -= 1
    status.piece, status.side = piece, side
    status.bend = polylines.slope[i, piece // 2].bend if piece % 2 == 0 else 0.0
    set_fence(core, i)
    cursor.pivots += 1
    rates_changed(core)
    # It is at one end of its new piece; `ties` determines how far the other end is.
    at_low = (piece > old) == (piece % 2 == 0)
    status.gap_low, status.gap_high = (0.0, -1.0) if at_low else (-1.0, 0.0)


@njit(**PART)
def pull_on(core, i, rate):  # type: ignore[no-untyped-def]
    """Add the slope of coordinate i to the moving slopes at `rate` (subtract it if negative)."""
    coords, active, motion = core.coords, core.active, core.motion
    route, fixed, system = core.route, core.fixed, core.system
    if rate == 0.0:
        return
    # (A window by direction is open only as long as the same slopes move.)
    close_window(core)
    pull = motion.along if route.along else motion.across
    status = coords.status[i]
    own = pull[i] if fixed.mode == ROWS else response(core, i, pull)
    square, mass = rate * (2.0 * own + rate * status.own), abs(rate) * coords.fence[i].root
    add_row(core, fixed.mode, i, rate, pull)
    if route.along:
        system.square_along += square
        system.mass_along += mass
        system.pull_mass += (
            abs(status.rate_in_pull + rate) - abs(status.rate_in_pull)
        ) * coords.fence[i].root
        status.rate_in_pull += rate
    else:
        system.square_across += square
        system.mass_across += mass
    for c in range(active.column.size):
        column = active.column[c]
        if route.along:
            column.along += rate * coords.border[i, c]
        else:
            column.across += rate * coords.border[i, c]
    aims_changed(core)


@njit(**PART)
def flat_rate(core, i):  # type: ignore[no-untyped-def]
    """Return the rate of the slope that coordinate i is on; 0 if it is in A."""
    polylines, coords = core.polylines, core.coords
    piece = coords.status[i].piece
    if piece % 2 == 1 or polylines.slope[i, piece // 2].bend > 0.0:
        return 0.0
    return slope_rate(core, i, piece // 2)


@njit(**PART)
def is_active(core, i):  # type: ignore[no-untyped-def]
    polylines, coords = core.polylines, core.coords
    piece = coords.status[i].piece
    if piece % 2 == 1:
        return not coords.status[i].dependent
    return polylines.slope[i, piece // 2].bend > 0.0


@njit(**PART)
def room_of(core, i, way):  # type: ignore[no-untyped-def]
    """Return how far alpha_i, on a knot, can rise (way > 0) or fall; a pinned one has one end."""
    coords = core.coords
    status = coords.status[i]
    j = status.piece // 2
    u = corner_now(core, i, j)
    if way > 0.0:
        if status.side == 1:
            return np.inf
        return slope_value(core, i, j, u) - coords.alpha[i]
    if status.side == -1:
        return np.inf
    return coords.alpha[i] - slope_value(core, i, j + 1, u)


@njit(**PART)
def write_depths(core):  # type: ignore[no-untyped-def]
    """Write to ``window.gaps`` how far each alpha on a knot is from the nearer end."""
    coords, gaps = core.coords, core.window.gaps
    for i in range(coords.u.size):
        if coords.status[i].piece % 2 == 1:
            gaps[i] = min(room_of(core, i, -1.0), room_of(core, i, 1.0))
