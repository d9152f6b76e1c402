"""Measures of a jump: the objective, and how far the response has moved."""

from __future__ import annotations

import numpy as np
from numba import njit

from homotopy.tracker.compiling import PART
from homotopy.tracker.nearness import corner_now, slope_value
from homotopy.tracker.products import squared_length
from homotopy.tracker.state import ROWS
from homotopy.tracker.windows import alpha_now, close_window

__all__ = ["moved_from", "objective", "on_knot", "store_point"]


@njit(**PART)
def objective(core):  # type: ignore[no-untyped-def]
    """Return the full objective without its constant.

    With ``sum_i alpha_i u_i = |w|^2 + b^T e`` the responses of flat coordinates cancel:

        -1/2 |w|^2 + sum_F c_i(t) + sum_knots (c_i + (alpha_i - a_i) k_i)
                   + sum_slanted (c_i - bend d_i^2 / 2 + alpha_i v_i),

    where a_i and c_i are those of the slope left of knot k_i, and d_i is the distance from the
    origin v_i of the loss (see `PolylineRecords`).  NaN if the c_i are not known.
    """
    polylines, coords, active, motion = core.polylines, core.coords, core.active, core.motion
    route, fixed, system, jumping = core.route, core.fixed, core.system, core.jumping
    if polylines.terms.shape[0] == 0:
        return np.nan
    t, square = route.t, 0.0
    if fixed.mode == ROWS:
        for i in range(coords.u.size):
            value = alpha_now(core, i)
            if value != 0.0:
                part = coords.u[i]
                for c in range(active.column.size):
                    part -= coords.border[i, c] * active.column[c].b
                square += value * part
    else:
        square = squared_length(motion.w)
    total = jumping.sum0 + jumping.sum1 * t + jumping.sum2 * t * t - 0.5 * square
    for k in range(system.actives):
        i = active.index[k]
        piece = coords.status[i].piece
        if piece % 2 == 1:
            total += on_knot(core, i)
        else:
            terms, origin = polylines.terms[i, piece // 2], origin_now(core, i)
            total += terms[0] + terms[1] * t + terms[2] * t * t
            total -= 0.5 * coords.status[i].bend * (coords.u[i] - origin) ** 2
            total += coords.alpha[i] * origin
    if system.dependents:
        for i in range(coords.u.size):
            if coords.status[i].dependent:
                total += on_knot(core, i)
    return total


@njit(**PART)
def on_knot(core, i):  # type: ignore[no-untyped-def]
    """Return the contribution of coordinate i, on a knot, to the objective."""
    polylines, coords, route = core.polylines, core.coords, core.route
    j, t = coords.status[i].piece // 2, route.t
    terms, slope = polylines.terms[i, j], polylines.slope[i, j]
    corner = corner_now(core, i, j)
    total, left = terms[0] + terms[1] * t + terms[2] * t * t, 0.0
    if slope.bend > 0.0:
        origin = origin_now(core, i)
        away = corner - origin
        total += (0.5 * slope.bend * away - slope_value(core, i, j, origin)) * away
    elif np.isfinite(slope.at):
        left = slope_value(core, i, j, 0.0)
    return total + (coords.alpha[i] - left) * corner


@njit(**PART)
def origin_now(core, i):  # type: ignore[no-untyped-def]
    """Return the origin of the loss of coordinate i."""
    origin = core.polylines.origin
    return origin[i, 0] + origin[i, 1] * core.route.t


@njit(**PART)
def store_point(core, place):  # type: ignore[no-untyped-def]
    """Write the present point to `place`: w with features, else u."""
    coords, active, motion, fixed = core.coords, core.active, core.motion, core.fixed
    if fixed.mode == ROWS:
        close_window(core)
        for i in range(place.size):
            place[i] = coords.u[i]
    else:
        width = motion.w.size
        for c in range(width):
            place[c] = motion.w[c]
        for c in range(active.column.size):
            place[width + c] = active.column[c].b


@njit(**PART)
def moved_from(core, place, least):  # type: ignore[no-untyped-def]
    """Whether the response has moved from `place` by more than `least` of its scale."""
    coords, active, motion = core.coords, core.active, core.motion
    fixed, sizes = core.fixed, core.sizes
    if fixed.mode == ROWS:
        close_window(core)
        for i in range(place.size):
            fence = coords.fence[i]
            size = max(
                max(fence.scale, fence.root * sizes.length), max(abs(place[i]), abs(coords.u[i]))
            )
            if abs(coords.u[i] - place[i]) > least * size + fence.root * sizes.noise:
                return True
        return False
    square, width = 0.0, motion.w.size
    for c in range(width):
        square += (motion.w[c] - place[c]) ** 2
    gone = np.sqrt(square) * fixed.largest_root
    for c in range(active.column.size):
        gone += fixed.widest * abs(active.column[c].b - place[width + c])
    size = least * max(sizes.size_scale, sizes.length * fixed.largest_root)
    return gone > size + fixed.largest_root * sizes.noise
