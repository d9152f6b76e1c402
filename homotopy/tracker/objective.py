"""What a jump is measured by: the objective, and how far the response has moved."""

from __future__ import annotations

import numpy as np
from numba import njit

from homotopy.tracker.compiling import PART
from homotopy.tracker.nearness import corner_now
from homotopy.tracker.state import BY_TURN, ROWS
from homotopy.tracker.windows import alpha_now, close_window

__all__ = ["keep", "moved_from", "objective", "on_knot"]


@njit(**PART)
def objective(core):  # type: ignore[no-untyped-def]
    """The full objective without its constant.

    With ``sum_i alpha_i u_i = |w|^2 + b^T e`` the responses of flat coordinates drop out of it:

        -1/2 |w|^2 + sum_F c_i(t) + sum_knots (c_i + (alpha_i - a_i) k_i)
                   + sum_slanted (c_i - bend u_i^2 / 2),

    a_i and c_i being those of the slope left of knot k_i.  NaN where the c_i are not known.
    """
    lines, here, act, mov = core.lines, core.here, core.act, core.mov
    route, fixed, system, jumping = core.route, core.fixed, core.system, core.jumping
    if lines.terms.shape[0] == 0:
        return np.nan
    t, square = route.t, 0.0
    if fixed.mode == ROWS:
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
    total = jumping.sum0 + jumping.sum1 * t + jumping.sum2 * t * t - 0.5 * square
    for k in range(system.actives):
        i = act.index[k]
        piece = here.spot[i].piece
        if piece % 2 == 1:
            total += on_knot(core, i)
        else:
            terms = lines.terms[i, piece // 2]
            total += terms[0] + terms[1] * t + terms[2] * t * t
            total -= 0.5 * here.spot[i].bend * here.u[i] * here.u[i]
    if system.idles:
        for i in range(here.u.size):
            if here.spot[i].idle:
                total += on_knot(core, i)
    return total


@njit(**PART)
def on_knot(core, i):  # type: ignore[no-untyped-def]
    """What coordinate i, on a knot, contributes to the objective."""
    lines, here, route = core.lines, core.here, core.route
    j, t = here.spot[i].piece // 2, route.t
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
    here, act, mov, fixed, scope = core.here, core.act, core.mov, core.fixed, core.scope
    if fixed.mode == ROWS:
        if scope.window == BY_TURN:
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
    here, act, mov = core.here, core.act, core.mov
    fixed, sizes, scope = core.fixed, core.sizes, core.scope
    if fixed.mode == ROWS:
        if scope.window == BY_TURN:
            close_window(core)
        for i in range(place.size):
            fence = here.fence[i]
            size = max(
                max(fence.scale, fence.root * sizes.length), max(abs(place[i]), abs(here.u[i]))
            )
            if abs(here.u[i] - place[i]) > least * size + fence.root * sizes.noise:
                return True
        return False
    square, width = 0.0, mov.w.size
    for c in range(width):
        square += (mov.w[c] - place[c]) ** 2
    gone = np.sqrt(square) * fixed.largest_root
    for c in range(act.column.size):
        gone += fixed.widest * abs(act.column[c].b - place[width + c])
    size = least * max(sizes.size_scale, sizes.length * fixed.largest_root)
    return gone > size + fixed.largest_root * sizes.noise
