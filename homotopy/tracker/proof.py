"""Off by how much: the one yardstick of the tracker, and the correction by it.

A point is right if it is exact for features, border, corners and slopes that differ from the given
ones by a few eps, entry by entry, and for a t that does by a few eps of the span.  What an equation
may be off by is therefore a few eps of the sum of the sizes of its terms, and no less than a
hundredth of what the certificate grants at its tolerance of 1e-8 (the names are those of
`homotopy.tracker.tolerances.Proof`):

    u_i on its piece    eps_m * (|phi_i| sum_j |phi_j||alpha_j| + |B_i||b| + terms of the corner;
                        no less than those of the equations that b comes from, as far as B_i goes)
                        + little_u * max(|u_i|, |corner|), but at most `apart` of the distance
                        between two corners
    alpha_i on its knot little_alpha * max(|alpha_i|, min(largest slope, |u_i| / Q_ii))
    border equation     eps_m * what the terms can be on the span + little_u * |terms|

with ``eps_m = equation * eps * sqrt(m)`` for m equations solved together, all times `share` (the
first term of a border equation times `balance`), which keeps the tracker stricter than the
certificate.  The certificate computes its own allowances.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from homotopy.tracker.compiling import PART
from homotopy.tracker.factor import forward_substitute
from homotopy.tracker.leaving import leave, ready_for
from homotopy.tracker.nearness import corner_now, imply_all, near_a_of
from homotopy.tracker.pieces import room_of
from homotopy.tracker.products import add_row
from homotopy.tracker.rates import finish, prepare, rate_of
from homotopy.tracker.state import BY_TURN, GO, ROWS
from homotopy.tracker.tolerances import EPS
from homotopy.tracker.windows import close_window

__all__ = ["correct", "off_course", "refine", "take_up", "worst_off"]


# ------------------------------------------------------------------ the yardstick


@njit(**PART)
def part_of(off, allowed):  # type: ignore[no-untyped-def]
    """``off / allowed``; nothing is nothing, and what is not a number is as bad as can be."""
    if off <= 0.0:
        return 0.0
    ratio = off / allowed
    return ratio if ratio == ratio else np.inf


@njit(**PART)
def allowed_u(core, i, place, terms):  # type: ignore[no-untyped-def]
    """What u_i may be away from `place`, a corner that is a sum of `terms`."""
    here, act, sizes, system, tol = core.here, core.act, core.sizes, core.system, core.tol
    spot, u = here.spot[i], abs(here.u[i])
    parts = math.sqrt(abs(spot.own)) * sizes.terms + terms
    share = 0.0
    for c in range(act.column.size):
        parts += abs(here.border[i, c] * act.column[c].b)
        share = max(share, abs(here.border[i, c]))
    # w and b are found from the equations of others, and known as well as these.
    parts = max(max(parts, share * sizes.middle), spot.usual)
    equations = 1.0 + system.actives + act.column.size
    allowed = tol.little_u * max(u, abs(place)) + tol.equation * EPS * math.sqrt(equations) * parts
    least = max(tol.apart * spot.apart + tol.equation * EPS * terms, tol.nearest * EPS * parts)
    return tol.share * min(allowed, least)


@njit(**PART)
def off_corner(core, i, j, miss):  # type: ignore[no-untyped-def]
    """`miss`, the distance of u_i from corner j, in parts of what is allowed."""
    lines, here, route = core.lines, core.here, core.route
    if miss <= 0.0:
        return 0.0
    corner = lines.corner[i, j]
    terms = abs(corner.at) + abs(corner.rate * route.t) + abs(here.fence[i].shift * route.mu)
    return part_of(miss, allowed_u(core, i, corner_now(core, i, j), terms))


@njit(**PART)
def off_ends(core, i):  # type: ignore[no-untyped-def]
    """How far alpha_i is beyond the ends of its knot, in parts of what is allowed."""
    here, act, system, tol = core.here, core.act, core.system, core.tol
    beyond = -min(room_of(core, i, 1.0), room_of(core, i, -1.0))
    if beyond <= 0.0:
        return 0.0
    spot, usual = here.spot[i], np.inf
    if spot.own > 0.0:
        usual = max(abs(here.u[i]), here.fence[i].scale) / spot.own
    if spot.slope > 0.0:
        usual = min(usual, spot.slope)
    allowed = tol.little_alpha * max(abs(here.alpha[i]), usual if usual < np.inf else 0.0)
    if usual == np.inf:
        # Found from the border equations alone: what ought to be 0 is the rounding of these.
        equations = 1.0 + system.actives + act.column.size
        allowed = max(allowed, tol.equation * EPS * math.sqrt(equations) * spot.height)
    return part_of(beyond, tol.share * allowed)


@njit(**PART)
def off_of(core, i):  # type: ignore[no-untyped-def]
    """How far coordinate i is off its piece, in parts of what is allowed."""
    here, route = core.here, core.route
    spot, u = here.spot[i], here.u[i]
    j = spot.piece // 2
    if spot.piece % 2 == 1:
        miss = abs(corner_now(core, i, j) - u)
        return max(off_corner(core, i, j, miss), off_ends(core, i))
    fence, off = here.fence[i], 0.0
    place = u - fence.shift * route.mu
    if fence.low > -np.inf:
        miss = fence.low + fence.low_rate * route.t - place
        off = off_corner(core, i, j - 1, miss)
    if fence.high < np.inf:
        miss = place - fence.high - fence.high_rate * route.t
        off = max(off, off_corner(core, i, j, miss))
    if spot.bend > 0.0:
        off = max(off, off_slanted(core, i))
    return off if u == u else np.inf


@njit(**PART)
def off_slanted(core, i):  # type: ignore[no-untyped-def]
    """How far the response of coordinate i is from where alpha says that it is, likewise."""
    lines, here, route, tol = core.lines, core.here, core.route, core.tol
    spot, slope = here.spot[i], lines.slope[i, here.spot[i].piece // 2]
    terms = (abs(slope.at) + abs(slope.rate * route.t) + abs(here.alpha[i])) / spot.bend
    # (Where it ought to be 0 there are no terms but the rounding of others.)
    least = max(tol.apart * terms, tol.nearest * EPS * spot.usual)
    allowed = min(allowed_u(core, i, here.u[i], terms), tol.share * least)
    return part_of(abs(spot.miss), allowed)


@njit(**PART)
def off_border(core, c):  # type: ignore[no-untyped-def]
    """How far border equation c is off, in parts of what is allowed."""
    act, system, tol = core.act, core.system, core.tol
    column = act.column[c]
    equations = 1.0 + system.actives + act.column.size
    allowed = tol.balance * tol.equation * EPS * math.sqrt(equations) * column.most
    column.allowed = allowed + tol.share * tol.little_u * column.weight
    return part_of(abs(column.off), column.allowed)


@njit(**PART)
def worst_off(core):  # type: ignore[no-untyped-def]
    """The worst of all coordinates and border equations; u must have been recomputed."""
    here, act = core.here, core.act
    worst = 0.0
    for i in range(here.u.size):
        worst = max(worst, off_of(core, i))
    for c in range(act.column.size):
        worst = max(worst, off_border(core, c))
    return worst


@njit(**PART)
def residual_of(core, i):  # type: ignore[no-untyped-def]
    """How far active coordinate i is from where it should be."""
    here = core.here
    piece = here.spot[i].piece
    if piece % 2 == 1:
        return corner_now(core, i, piece // 2) - here.u[i]
    return -here.spot[i].miss


@njit(**PART)
def off_course(core):  # type: ignore[no-untyped-def]
    """The worst of the active coordinates, as far as they have been followed."""
    here, act, system = core.here, core.act, core.system
    worst = 0.0
    for k in range(system.actives):
        i = act.index[k]
        if here.spot[i].piece % 2 == 1:
            off = abs(residual_of(core, i))
            off = off_corner(core, i, here.spot[i].piece // 2, off)
        else:
            off = off_slanted(core, i)
        worst = max(worst, off)
    return worst


# ------------------------------------------------------------------ the correction


@njit(**PART)
def solve_residuals(core):  # type: ignore[no-untyped-def]
    """The change of alpha_A (``work[1]``) and b (``column.rate``) that takes the active coordinates
    to where they should be, and the border equations by minus ``column.off``."""
    act, fixed, system = core.act, core.fixed, core.system
    if system.ready < 2:
        prepare(core)
    x = act.work[0]
    for k in range(system.actives):
        x[k] = residual_of(core, act.index[k])
    forward_substitute(act.factor, system.actives, x)
    for c in range(act.column.size):
        act.column[c].short = act.column[c].off
    finish(core, x, act.work[1])
    for c in range(act.column.size):
        # The solve works with b - rho B^T alpha.
        act.column[c].rate -= fixed.rho * act.column[c].off
    system.solved = system.rated = 0


@njit(**PART)
def first_out(core):  # type: ignore[no-untyped-def]
    """Whose alpha the change takes out of its knot first (its place in A, -1 if none), and the part
    of the change that leads there."""
    here, act, system = core.here, core.act, core.system
    found, part = np.int64(-1), 1.0
    for k in range(system.actives):
        i, change = act.index[k], act.work[1, k]
        if here.spot[i].piece % 2 == 0 or change == 0.0:
            continue
        room = max(room_of(core, i, change), 0.0)
        if abs(change) > room + near_a_of(core, i, 0.0) and room < part * abs(change):
            found, part = np.int64(k), room / abs(change)
    return found, part


@njit(**PART)
def apply_change(core, part):  # type: ignore[no-untyped-def]
    """Go `part` of the change; u follows."""
    here, act, system, event, cursor = core.here, core.act, core.system, core.event, core.cursor
    for k in range(system.actives):
        act.rate[k] = part * act.work[1, k]
        here.alpha[act.index[k]] += act.rate[k]
    for c in range(act.column.size):
        act.column[c].rate *= part
        act.column[c].off *= 1.0 - part
    cursor.refined += 1
    event.fresh = 0
    shift_response(core)
    imply_all(core)


@njit(**PART)
def refine(core):  # type: ignore[no-untyped-def]
    """Take the active coordinates back to where they should be, unless that takes an alpha out of
    its knot."""
    solve_residuals(core)
    if first_out(core)[0] < 0:
        apply_change(core, 1.0)


@njit(**PART)
def take_up(core):  # type: ignore[no-untyped-def]
    """Refine after alphas that left their knots have dropped what was left of them."""
    act, route, event = core.act, core.route, core.event
    scope, cursor, tol = core.scope, core.cursor, core.tol
    for c in range(act.column.size):
        act.column[c].off, act.column[c].dropped = act.column[c].dropped, 0.0
    event.dropped = 0
    if scope.window == BY_TURN:
        close_window(core)
    refine(core)
    if not route.settling and off_course(core) > tol.repair:
        cursor.due = 0


@njit(**PART)
def correct(core):  # type: ignore[no-untyped-def]
    """The same with pivots: an alpha that the change takes out of its knot is at the end of it."""
    here, act, system = core.here, core.act, core.system
    for _ in range(1 + system.actives):
        solve_residuals(core)
        k, part = first_out(core)
        if k < 0:
            apply_change(core, 1.0)
            return GO
        i, up = act.index[k], act.work[1, k] > 0.0
        code = ready_for(core, i)
        if code != GO:
            return code
        apply_change(core, part)
        j = here.spot[i].piece // 2
        leave(core, i, j if up else j + 1)
    return GO


@njit(**PART)
def shift_response(core):  # type: ignore[no-untyped-def]
    """u moves by what ``act.rate`` (a change of alpha_A) and ``column.rate`` do to it."""
    here, act, mov = core.here, core.act, core.mov
    fixed, system, scope = core.fixed, core.system, core.scope
    size, du = system.actives, here.du
    if fixed.mode == ROWS:
        for i in range(du.size):
            du[i] = 0.0
        for k in range(size):
            add_row(core, fixed.mode, act.index[k], act.rate[k], du)
        for i in range(du.size):
            here.u[i] += du[i]
    else:
        for c in range(mov.dw.size):
            mov.dw[c] = 0.0
        for k in range(size):
            add_row(core, fixed.mode, act.index[k], act.rate[k], mov.dw)
        for c in range(mov.dw.size):
            mov.w[c] += mov.dw[c]
    for c in range(act.column.size):
        column = act.column[c]
        column.lift = column.rate
        column.b += column.rate
    for k in range(scope.looked):
        i = here.near[k]
        if fixed.mode != ROWS:
            here.u[i] += rate_of(core, i)
        else:
            for c in range(act.column.size):
                here.u[i] += here.border[i, c] * act.column[c].lift
