"""The error of a point relative to the error allowed, and its correction.

A point is right if it is exact for features, border, corners and slopes that differ from the given
ones by a few eps, entry by entry, and for a t that differs by a few eps of the span.  The error
allowed in an equation is therefore a few eps of the sum of the sizes of its terms, but no less than
a hundredth of what the certificate allows at its tolerance of 1e-8 (the names are those of
`homotopy.tracker.tolerances.Proof`):

    u_i on its piece    eps_m * (|phi_i| sum_j |phi_j||alpha_j| + |B_i||b| + terms of the corner;
                        at least |B_i| / |B| times the terms of the equations that determine b)
                        + little_u * max(|u_i|, |corner|), but at most `apart` of the distance
                        between two corners
    alpha_i on its knot little_alpha * max(|alpha_i|, min(largest slope, |u_i| / Q_ii))
    border equation     eps_m * largest terms on the span + little_border * |terms|

with ``eps_m = equation * eps * sqrt(m)`` for m equations solved together, all times `share` (the
first term of a border equation times `balance`), which makes the tracker stricter than the
certificate.  The certificate computes its own allowances.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from homotopy.tracker.compiling import PART
from homotopy.tracker.factor import forward_substitute
from homotopy.tracker.leaving import leave, ready_for
from homotopy.tracker.nearness import corner_now, near_alpha_of, slanted_u, update_slanted_u
from homotopy.tracker.pieces import room_of
from homotopy.tracker.products import add_row
from homotopy.tracker.rates import finish, prepare, rate_of
from homotopy.tracker.segments import mend_end
from homotopy.tracker.sizes import factor_error, least_terms, measure
from homotopy.tracker.state import CORRECTING_WITH_PIVOTS, GO, ROWS
from homotopy.tracker.tolerances import EPS
from homotopy.tracker.validity import point_moved, rates_changed
from homotopy.tracker.windows import close_window

__all__ = [
    "absorb_dropped",
    "correct",
    "correct_or_ask",
    "correct_with_pivots",
    "measure_errors",
    "tracked_error",
]


# ------------------------------------------------------------------ the error


@njit(**PART)
def part_of(off, allowed):  # type: ignore[no-untyped-def]
    """Return ``off / allowed``: 0 if nothing is off, infinite for NaN."""
    if off <= 0.0:
        return 0.0
    ratio = off / allowed
    return ratio if ratio == ratio else np.inf


@njit(**PART)
def solving_error(core):  # type: ignore[no-untyped-def]
    """Return eps_m, the relative error of an equation that is solved together with others."""
    equations = 1.0 + core.system.actives + core.active.column.size
    return core.tol.equation * EPS * math.sqrt(equations)


@njit(**PART)
def allowed_u(core, i, place, terms):  # type: ignore[no-untyped-def]
    """Return the distance allowed between u_i and `place`, a corner that is a sum of `terms`."""
    coords, active, sizes, tol = core.coords, core.active, core.sizes, core.tol
    status, u = coords.status[i], abs(coords.u[i])
    parts = math.sqrt(abs(status.own)) * sizes.terms + terms
    share = 0.0
    for c in range(active.column.size):
        parts += abs(coords.border[i, c] * active.column[c].b)
        share = max(share, abs(coords.border[i, c]))
    # w and b are solved from other equations, and are known no better than those.
    parts = max(max(parts, share * sizes.middle), least_terms(core, i))
    allowed = tol.little_u * max(u, abs(place)) + solving_error(core) * parts
    least = max(tol.apart * status.apart + tol.equation * EPS * terms, tol.nearest * EPS * parts)
    return tol.share * min(allowed, least)


@njit(**PART)
def off_corner(core, i, j, miss):  # type: ignore[no-untyped-def]
    """Return `miss`, the distance of u_i from corner j, relative to the error allowed."""
    polylines, coords, route = core.polylines, core.coords, core.route
    if miss <= 0.0:
        return 0.0
    corner = polylines.corner[i, j]
    terms = abs(corner.at) + abs(corner.rate * route.t) + abs(coords.fence[i].shift * route.mu)
    return part_of(miss, allowed_u(core, i, corner_now(core, i, j), terms))


@njit(**PART)
def off_ends(core, i):  # type: ignore[no-untyped-def]
    """Return how far alpha_i is beyond the ends of its knot, relative to the error allowed."""
    coords, tol = core.coords, core.tol
    beyond = -min(room_of(core, i, 1.0), room_of(core, i, -1.0))
    if beyond <= 0.0:
        return 0.0
    status, usual = coords.status[i], np.inf
    if status.own > 0.0:
        usual = max(abs(coords.u[i]), coords.fence[i].scale) / status.own
    if status.slope > 0.0:
        usual = min(usual, status.slope)
    allowed = tol.little_alpha * max(abs(coords.alpha[i]), usual if usual < np.inf else 0.0)
    if usual == np.inf:
        # The border equations alone determine it: if it should be 0, it has their rounding.
        allowed = max(allowed, solving_error(core) * status.height)
    return part_of(beyond, tol.share * allowed)


@njit(**PART)
def error_of(core, i):  # type: ignore[no-untyped-def]
    """Return how far coordinate i is off its piece, relative to the error allowed."""
    coords, route = core.coords, core.route
    status, u = coords.status[i], coords.u[i]
    j = status.piece // 2
    if status.piece % 2 == 1:
        miss = abs(corner_now(core, i, j) - u)
        return max(off_corner(core, i, j, miss), off_ends(core, i))
    fence, off = coords.fence[i], 0.0
    place = u - fence.shift * route.mu
    if fence.low > -np.inf:
        miss = fence.low + fence.low_rate * route.t - place
        off = off_corner(core, i, j - 1, miss)
    if fence.high < np.inf:
        miss = place - fence.high - fence.high_rate * route.t
        off = max(off, off_corner(core, i, j, miss))
    if status.bend > 0.0:
        off = max(off, off_slanted(core, i))
    return off if u == u else np.inf


@njit(**PART)
def off_slanted(core, i):  # type: ignore[no-untyped-def]
    """Return how far the response of coordinate i is from the u that alpha gives, relative to the
    error allowed."""
    polylines, coords, route, tol = core.polylines, core.coords, core.route, core.tol
    status, slope = coords.status[i], polylines.slope[i, coords.status[i].piece // 2]
    terms = (abs(slope.at) + abs(slope.rate * route.t) + abs(coords.alpha[i])) / status.bend
    # (If u_i should be 0, its only terms are the rounding of others.)
    least = max(tol.apart * terms, tol.nearest * EPS * least_terms(core, i))
    allowed = min(allowed_u(core, i, coords.u[i], terms), tol.share * least)
    return part_of(abs(status.miss), allowed)


@njit(**PART)
def off_border(core, c):  # type: ignore[no-untyped-def]
    """Return the error of border equation c, relative to the error allowed."""
    column, tol = core.active.column[c], core.tol
    allowed = tol.balance * solving_error(core) * column.most
    column.allowed = allowed + tol.share * tol.little_border * column.weight
    return part_of(abs(column.off), column.allowed)


@njit(**PART)
def largest_error(core):  # type: ignore[no-untyped-def]
    """Return the largest error of all coordinates and border equations; u must be recomputed.

    Set ``sizes.bound`` to a bound relative to what the certificate allows, which is the larger of
    the two terms that `allowed_u` adds; and ``sizes.gap`` to a bound on the duality gap, to which a
    response off its piece contributes at most its distance times the heights there.
    """
    coords, active, sizes, tol = core.coords, core.active, core.sizes, core.tol
    worst = others = gap = 0.0
    for i in range(coords.u.size):
        status, off = coords.status[i], error_of(core, i)
        worst = max(worst, off)
        if status.piece % 2 == 1 or status.bend > 0.0:
            height = abs(coords.alpha[i]) + status.slope + status.bend * abs(coords.u[i])
            gap += abs(residual_of(core, i)) * height
        elif off > 0.0:
            gap = np.inf
        if status.piece % 2 == 1:
            beyond = off_ends(core, i)
            others = max(others, beyond)
            if beyond > 0.0:
                gap = np.inf
    for c in range(active.column.size):
        others = max(others, off_border(core, c))
        gap += abs(active.column[c].b * active.column[c].off)
    sizes.bound, sizes.gap = max(2.0 * tol.share * worst, others), 2.0 * gap / sizes.length**2
    return max(worst, others)


@njit(**PART)
def measure_errors(core):  # type: ignore[no-untyped-def]
    """Measure all sizes, and the errors of the point and of the factor; u must be recomputed."""
    measure(core)
    core.sizes.off = largest_error(core)
    core.sizes.factor_off = factor_error(core)


@njit(**PART)
def residual_of(core, i):  # type: ignore[no-untyped-def]
    """Return how far active coordinate i is from its piece, with sign."""
    coords = core.coords
    piece = coords.status[i].piece
    if piece % 2 == 1:
        return corner_now(core, i, piece // 2) - coords.u[i]
    return -coords.status[i].miss


@njit(**PART)
def tracked_error(core):  # type: ignore[no-untyped-def]
    """Return the largest error of the active coordinates, without recomputing u."""
    coords, active, system = core.coords, core.active, core.system
    worst = 0.0
    for k in range(system.actives):
        i = active.index[k]
        if coords.status[i].piece % 2 == 1:
            off = abs(residual_of(core, i))
            off = off_corner(core, i, coords.status[i].piece // 2, off)
        else:
            off = off_slanted(core, i)
        worst = max(worst, off)
    return worst


# ------------------------------------------------------------------ the correction


@njit(**PART)
def solve_residuals(core):  # type: ignore[no-untyped-def]
    """Compute the change of alpha_A (``work[1]``) and b (``column.rate``) that moves the active
    coordinates onto their pieces, and the border equations by minus ``column.off``."""
    active, fixed, system = core.active, core.fixed, core.system
    if not system.ready:
        # (Of `half`, only the part of the border is used.)
        prepare(core)
    x = active.work[0]
    for k in range(system.actives):
        x[k] = residual_of(core, active.index[k])
    forward_substitute(active.factor, system.actives, x)
    for c in range(active.column.size):
        active.column[c].imbalance = active.column[c].off
    finish(core, x, active.work[1])
    for c in range(active.column.size):
        # The system is solved for b - rho B^T alpha.
        active.column[c].rate -= fixed.rho * active.column[c].off
    rates_changed(core)


@njit(**PART)
def first_out(core):  # type: ignore[no-untyped-def]
    """Return the place in A of the first alpha that the change takes out of its knot (-1 if none),
    and the fraction of the change that leads there."""
    coords, active, system = core.coords, core.active, core.system
    found, part = np.int64(-1), 1.0
    for k in range(system.actives):
        i, change = active.index[k], active.work[1, k]
        if coords.status[i].piece % 2 == 0 or change == 0.0:
            continue
        room = max(room_of(core, i, change), 0.0)
        if abs(change) > room + near_alpha_of(core, i, 0.0) and room < part * abs(change):
            found, part = np.int64(k), room / abs(change)
    return found, part


@njit(**PART)
def apply_change(core, part):  # type: ignore[no-untyped-def]
    """Apply a fraction `part` of the change; u follows.

    A correction by pivots needs u on A only, and where knots have shrunk to points there are
    hundreds of pivots: its caller recomputes u in the end.
    """
    coords, active, system, cursor = core.coords, core.active, core.system, core.cursor
    for k in range(system.actives):
        active.rate[k] = part * active.work[1, k]
        coords.alpha[active.index[k]] += active.rate[k]
    for c in range(active.column.size):
        active.column[c].rate *= part
        active.column[c].off *= 1.0 - part
    cursor.refined += 1
    point_moved(core)
    if core.jumping.phase == CORRECTING_WITH_PIVOTS:
        shift_active(core, part)
    else:
        shift_response(core)
        update_slanted_u(core)


@njit(**PART)
def correct(core):  # type: ignore[no-untyped-def]
    """Move the active coordinates back onto their pieces, unless that takes an alpha out of its
    knot."""
    solve_residuals(core)
    if first_out(core)[0] < 0:
        apply_change(core, 1.0)


@njit(**PART)
def correct_or_ask(core):  # type: ignore[no-untyped-def]
    """Refine; if that does not help, request a recomputation of u."""
    correct(core)
    if not core.route.settling and tracked_error(core) > core.tol.repair:
        core.cursor.due = 0


@njit(**PART)
def left_in_place(core):  # type: ignore[no-untyped-def]
    """Whether all coordinates that have changed piece since the last segment ended left knots, and
    a correction has kept them there."""
    coords, record, cursor = core.coords, core.record, core.cursor
    last = cursor.segments if cursor.open else cursor.segments - 1
    if not cursor.recording or last < 0:
        return False
    for k in range(record.segment[last].log, cursor.logged):
        i, j = record.log[k].i, record.log[k].piece // 2
        if record.log[k].piece % 2 == 0:
            return False
        miss = abs(corner_now(core, i, j) - coords.u[i])
        if not off_corner(core, i, j, miss) <= core.tol.repair:
            return False
    return True


@njit(**PART)
def absorb_dropped(core):  # type: ignore[no-untyped-def]
    """Correct the point after alphas have left their knots away from an end.

    If the active equations determine w badly, the small error that they had before moves w now.  So
    the segment that ends here ends at the corrected point.
    """
    active, event = core.active, core.event
    for c in range(active.column.size):
        active.column[c].off, active.column[c].dropped = active.column[c].dropped, 0.0
    event.dropped = 0
    close_window(core)
    correct_or_ask(core)
    if core.route.along and left_in_place(core):
        mend_end(core)


@njit(**PART)
def correct_with_pivots(core):  # type: ignore[no-untyped-def]
    """Correct the point with pivots: an alpha that the change takes out of its knot leaves it."""
    coords, active, system = core.coords, core.active, core.system
    for _ in range(1 + system.actives):
        solve_residuals(core)
        k, part = first_out(core)
        if k < 0:
            apply_change(core, 1.0)
            return GO
        i, up = active.index[k], active.work[1, k] > 0.0
        code = ready_for(core, i)
        if code != GO:
            return code
        apply_change(core, part)
        j = coords.status[i].piece // 2
        leave(core, i, j if up else j + 1)
    return GO


@njit(**PART)
def shift_w(core):  # type: ignore[no-untyped-def]
    """Move w by the effect of ``active.rate`` (a change of alpha_A), and b by ``column.rate``."""
    active, motion, fixed, system = core.active, core.motion, core.fixed, core.system
    if fixed.mode != ROWS:
        motion.dw[:] = 0.0
        for k in range(system.actives):
            add_row(core, fixed.mode, active.index[k], active.rate[k], motion.dw)
        for c in range(motion.dw.size):
            motion.w[c] += motion.dw[c]
    for c in range(active.column.size):
        column = active.column[c]
        column.full_rate = column.rate
        column.b += column.rate


@njit(**PART)
def shift_active(core, part):  # type: ignore[no-untyped-def]
    """Move w, b and u of the active coordinates by the effect of a fraction `part` of the change,
    which takes that fraction from their residuals."""
    coords, active, system = core.coords, core.active, core.system
    shift_w(core)
    for k in range(system.actives):
        i = active.index[k]
        if coords.status[i].piece % 2 == 1:
            coords.u[i] += part * residual_of(core, i)
        else:
            coords.status[i].miss *= 1.0 - part
            coords.u[i] = slanted_u(core, i)


@njit(**PART)
def shift_response(core):  # type: ignore[no-untyped-def]
    """Move w, b and u of all examined coordinates by the effect of the change."""
    coords, active, fixed, system, scope = (
        core.coords,
        core.active,
        core.fixed,
        core.system,
        core.scope,
    )
    shift_w(core)
    du = coords.du
    if fixed.mode == ROWS:
        du[:] = 0.0
        for k in range(system.actives):
            add_row(core, fixed.mode, active.index[k], active.rate[k], du)
        for i in range(du.size):
            coords.u[i] += du[i]
    for k in range(scope.examined):
        i = coords.near[k]
        if fixed.mode != ROWS:
            coords.u[i] += rate_of(core, i)
        else:
            for c in range(active.column.size):
                coords.u[i] += coords.border[i, c] * active.column[c].full_rate
