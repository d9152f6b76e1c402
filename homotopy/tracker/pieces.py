"""Pieces: what a coordinate takes up and leaves behind as it changes them."""

from __future__ import annotations

import numpy as np
from numba import njit

from homotopy.model.polyline import JUMP
from homotopy.tracker.compiling import PART
from homotopy.tracker.nearness import corner_now, slope_rate, slope_value
from homotopy.tracker.products import add_row, response
from homotopy.tracker.state import ROWS

__all__ = ["flat_rate", "is_active", "pull_on", "room_of", "set_fence", "set_piece"]

# A hash that tells partitions apart.
MIX, PRIME, SPREAD = 2654435761, 4294967291, 40503


@njit(**PART)
def set_fence(core, i):  # type: ignore[no-untyped-def]
    """The corners between which u_i is free; on a knot none, unless it is idle there.  A corner at
    the wrong infinity cuts off nothing."""
    lines, here = core.lines, core.here
    fence, piece = here.fence[i], here.spot[i].piece
    fence.low, fence.low_rate, fence.high, fence.high_rate = -np.inf, 0.0, np.inf, 0.0
    j = piece // 2
    if piece % 2 == 1:
        if here.spot[i].idle:
            fence.low = fence.high = lines.corner[i, j].at
            fence.low_rate = fence.high_rate = lines.corner[i, j].rate
        return
    if j > 0 and lines.corner[i, j - 1].at < np.inf:
        fence.low, fence.low_rate = lines.corner[i, j - 1].at, lines.corner[i, j - 1].rate
    if j < lines.corner.shape[1] and lines.corner[i, j].at > -np.inf:
        fence.high, fence.high_rate = lines.corner[i, j].at, lines.corner[i, j].rate


@njit(**PART)
def branch_of(core, i, piece, side):  # type: ignore[no-untyped-def]
    """The convex branch of a piece: the number of jumps to its left."""
    lines = core.lines
    count = 0
    for j in range(piece // 2):
        count += lines.corner[i, j].kind == JUMP
    if piece % 2 == 1 and side > 0:
        count += 1
    return count


@njit(**PART)
def set_piece(core, i, piece, side):  # type: ignore[no-untyped-def]
    """Write down that coordinate i stands on another piece."""
    lines, here, rec, route = core.lines, core.here, core.rec, core.route
    system, event, jumping, cursor = core.system, core.event, core.jumping, core.cursor
    spot = here.spot[i]
    old, old_side = spot.piece, spot.side
    entry = rec.log[cursor.logged]
    entry.i, entry.piece, entry.side, entry.new = i, old, old_side, piece
    cursor.logged += 1
    if lines.terms.shape[0]:
        if old % 2 == 0 and lines.slope[i, old // 2].bend == 0.0:
            terms = lines.terms[i, old // 2]
            jumping.sum0 -= terms[0]
            jumping.sum1 -= terms[1]
            jumping.sum2 -= terms[2]
        if piece % 2 == 0 and lines.slope[i, piece // 2].bend == 0.0:
            terms = lines.terms[i, piece // 2]
            jumping.sum0 += terms[0]
            jumping.sum1 += terms[1]
            jumping.sum2 += terms[2]
    before, after = branch_of(core, i, old, old_side), branch_of(core, i, piece, side)
    if before != after:
        mixed = (i + 1) * MIX % PRIME
        jumping.hash ^= mixed * (before * SPREAD + 1)
        jumping.hash ^= mixed * (after * SPREAD + 1)
    if not route.along and spot.touched == 0:
        spot.touched = 1
        here.few[event.touched] = i
        event.touched += 1
    if spot.bend > 0.0:
        # From here on u is the response again.
        here.u[i] += spot.miss
        spot.miss = 0.0
    if spot.idle:
        spot.idle = 0
        system.idles -= 1
    spot.piece, spot.side = piece, side
    spot.bend = lines.slope[i, piece // 2].bend if piece % 2 == 0 else 0.0
    set_fence(core, i)
    cursor.pivots += 1
    system.solved = system.rated = 0
    # It stands at one end of its new piece; how far the other one is, `ties` says.
    at_low = (piece > old) == (piece % 2 == 0)
    spot.gap_low, spot.gap_high = (0.0, -1.0) if at_low else (-1.0, 0.0)


@njit(**PART)
def pull_on(core, i, rate):  # type: ignore[no-untyped-def]
    """The slope of coordinate i joins the moving slopes (minus: leaves them) at `rate`."""
    here, act, mov = core.here, core.act, core.mov
    route, fixed, system = core.route, core.fixed, core.system
    if rate == 0.0:
        return
    pull = mov.along if route.along else mov.across
    spot = here.spot[i]
    own = pull[i] if fixed.mode == ROWS else response(core, i, pull)
    square, mass = rate * (2.0 * own + rate * spot.own), abs(rate) * here.fence[i].root
    add_row(core, fixed.mode, i, rate, pull)
    if route.along:
        system.square_along += square
        system.mass_along += mass
        system.carrying += (abs(spot.carried + rate) - abs(spot.carried)) * here.fence[i].root
        spot.carried += rate
    else:
        system.square_across += square
        system.mass_across += mass
    for c in range(act.column.size):
        column = act.column[c]
        if route.along:
            column.along += rate * here.border[i, c]
        else:
            column.across += rate * here.border[i, c]
    system.ready = min(system.ready, 1)


@njit(**PART)
def flat_rate(core, i):  # type: ignore[no-untyped-def]
    """The rate of the slope on which coordinate i stands; 0 where it is in A."""
    lines, here = core.lines, core.here
    piece = here.spot[i].piece
    if piece % 2 == 1 or lines.slope[i, piece // 2].bend > 0.0:
        return 0.0
    return slope_rate(core, i, piece // 2)


@njit(**PART)
def is_active(core, i):  # type: ignore[no-untyped-def]
    lines, here = core.lines, core.here
    piece = here.spot[i].piece
    if piece % 2 == 1:
        return not here.spot[i].idle
    return lines.slope[i, piece // 2].bend > 0.0


@njit(**PART)
def room_of(core, i, way):  # type: ignore[no-untyped-def]
    """How far alpha of coordinate i, on a knot, can rise (way > 0) or fall; a pin has one end."""
    here = core.here
    spot = here.spot[i]
    j = spot.piece // 2
    u = corner_now(core, i, j)
    if way > 0.0:
        if spot.side == 1:
            return np.inf
        return slope_value(core, i, j, u) - here.alpha[i]
    if spot.side == -1:
        return np.inf
    return here.alpha[i] - slope_value(core, i, j + 1, u)
