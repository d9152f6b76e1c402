"""Windows: if n is large, only some coordinates are examined (docs/theory.md).

*By direction*, if Q is given by columns.  As long as w' does not change, u_i moves at u_i'.  w'
turns at every break-point, which moves u_i by at most ``|phi_i|`` times the length of
``w - w_seen - w'_seen dtau``, bounded by the sum of ``|w' - w'_seen| dtau``.  Coordinates that stay
farther than the reach from their corners, over the horizon and at their present speed, can be
skipped.

*By distance*, if Q is given by features and w is available: coordinates that the changes
of w, b and t cannot have taken to a corner can be skipped.

A skipped coordinate cannot meet a corner before the window ends.  While a window is open, u of the
skipped coordinates is stale; `widen` updates it and examines all again.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from homotopy.compilation.selection import smallest
from homotopy.gram.products import weighted_rows
from homotopy.tracker.compiling import PART, SUM
from homotopy.tracker.nearness import (
    gaps_of,
    near_of,
    piece_rate,
    reset_slanted_u,
    slope_value,
    update_slanted_u,
)
from homotopy.tracker.products import add_row, responses, squared_length
from homotopy.tracker.state import BY_DIRECTION, BY_DISTANCE, GO, NO_WINDOW, PANEL_FULL
from homotopy.tracker.tolerances import EPS, TINY
from homotopy.tracker.validity import examined_changed, response_rates_computed

__all__ = [
    "add_intercepts",
    "add_to_window",
    "alpha_now",
    "close_window",
    "examine_all",
    "open_by_direction",
    "open_by_distance",
    "reach_spent",
    "respond",
    "turned",
    "widen",
    "write_flat",
]


@njit(**PART)
def examine_all(core):  # type: ignore[no-untyped-def]
    """Examine all coordinates, whose u is up to date or about to be recomputed."""
    coords, scope = core.coords, core.scope
    for i in range(coords.u.size):
        coords.near[i] = i
    scope.examined = coords.u.size
    scope.window = NO_WINDOW
    scope.packed = core.fixed.transposed
    examined_changed(core)


@njit(**PART)
def write_flat(core):  # type: ignore[no-untyped-def]
    """Write alpha of the coordinates on flat slopes, the value of their slope."""
    alpha = core.coords.alpha
    for i in range(alpha.size):
        alpha[i] = alpha_now(core, i)


@njit(**PART)
def recompute(core):  # type: ignore[no-untyped-def]
    """With features, recompute w, ``u = phi w + B b`` and the sizes for tolerances from alpha."""
    coords, active, motion = core.coords, core.active, core.motion
    fixed, sizes, tol = core.fixed, core.sizes, core.tol
    write_flat(core)
    w, norm = motion.w, 0.0
    w[:] = 0.0
    for i in range(coords.u.size):
        value = coords.alpha[i]
        if value != 0.0:
            add_row(core, fixed.mode, i, value, w)
            norm += coords.status[i].own * value * value
    sizes.norm, sizes.length = math.sqrt(norm), math.sqrt(squared_length(w))
    for c in range(active.column.size):
        sizes.norm += abs(active.column[c].b) / math.sqrt(fixed.rho)
    sizes.most_norm = max(sizes.most_norm, sizes.norm)
    sizes.noise = tol.rounding * EPS * sizes.most_norm
    respond(core)


@njit(**PART)
def respond(core):  # type: ignore[no-untyped-def]
    """Compute ``u = phi w + B b`` of all coordinates, and examine all."""
    coords = core.coords
    examine_all(core)
    responses(core, coords.near, coords.u.size, core.motion.w, coords.u)
    add_intercepts(core)


@njit(**PART)
def add_intercepts(core):  # type: ignore[no-untyped-def]
    """Add ``B b`` to u, computed without it, and set u on slanted pieces."""
    coords, active = core.coords, core.active
    for c in range(active.column.size):
        b = active.column[c].b
        for i in range(coords.u.size):
            coords.u[i] += coords.border[i, c] * b
    reset_slanted_u(core)


@njit(**PART)
def widen(core):  # type: ignore[no-untyped-def]
    """Update u of all coordinates and examine all."""
    close_window(core)
    if core.scope.window == BY_DISTANCE:
        respond(core)


# ------------------------------------------------------------------ by direction


@njit(**PART)
def add_to_window(core, i):  # type: ignore[no-untyped-def]
    """Add coordinate i, which is about to leave the factor, to the examined ones."""
    form, coords, active = core.form, core.coords, core.active
    window, system, scope = core.window, core.system, core.scope
    if scope.window != BY_DIRECTION or coords.status[i].panel_place >= 0:
        return
    k = scope.examined
    coords.near[k] = i
    coords.status[i].panel_place = k
    scope.examined = k + 1
    store, own = form.store, form.slot[i]
    for a in range(system.actives):
        window.panel[window.line[a], k] = store[own, active.index[a]]


@njit(**PART)
def forecast(core, ahead):  # type: ignore[no-untyped-def]
    """Return the horizon; write to ``window.gaps`` how far w may turn before each coordinate could
    meet a corner within the horizon."""
    coords, window, route = core.coords, core.window, core.route
    du, times, n = coords.du, window.times, coords.u.size
    left = abs(route.stop - route.tau)
    horizon = left
    for attempt in range(2):
        for i in range(n):
            fence = coords.fence[i]
            over, under = gaps_of(core, i)
            pace = fence.shift * route.dmu
            up = route.sign * (du[i] - fence.high_rate * route.dt - pace)
            down = route.sign * (fence.low_rate * route.dt + pace - du[i])
            if attempt == 0:
                soon = np.inf
                if up > 0.0:
                    soon = over / up
                if down > 0.0:
                    soon = min(soon, under / down)
                times[i] = soon
            else:
                gap = min(over, over - horizon * up)
                gap = min(gap, min(under, under - horizon * down))
                # root bounds the length of phi_i and, times sqrt(rho), the effect of b.
                gap = (gap - 2.0 * near_of(core, i)) / max(fence.root, TINY)
                window.gaps[i] = gap
                times[i] = gap
        if attempt == 0 and n > ahead:
            horizon = min(left, smallest(times, ahead))
            if not horizon > 0.0:
                horizon = left
    return horizon


@njit(**PART)
def open_by_direction(core):  # type: ignore[no-untyped-def]
    """Choose the coordinates that may meet a corner soon, for the present direction."""
    coords, window, route = core.coords, core.window, core.route
    scope, cursor, opt = core.scope, core.cursor, core.opt
    n, room = coords.u.size, window.panel.shape[1] - opt.joining
    wanted = scope.wanted_along if route.along else scope.wanted_across
    if wanted >= min(n, room):
        return
    horizon = forecast(core, opt.ahead)
    reach = smallest(window.times, wanted)
    if not reach > 0.0:
        more = min(wanted + wanted // 2, min(n // 4, room - 1))
        if route.along:
            scope.wanted_along = more
        else:
            scope.wanted_across = more
        scope.retry_step = cursor.steps + opt.window_pause
        return
    count = 0
    for i in range(n):
        coords.status[i].panel_place = -1
        if window.gaps[i] <= reach and coords.status[i].piece % 2 == 0:
            if count == room:
                scope.retry_step = cursor.steps + opt.window_pause
                examine_all(core)
                response_rates_computed(core)
                return
            coords.near[count] = i
            window.piece_seen[count] = coords.status[i].piece
            coords.status[i].panel_place = count
            count += 1
    scope.examined = scope.examined_seen = count
    scope.reach, scope.horizon = reach, route.tau + route.sign * horizon
    fill_panel(core)
    scope.window = BY_DIRECTION
    scope.opened += 1


@njit(**PART)
def fill_panel(core):  # type: ignore[no-untyped-def]
    """Store the rows of Q at the examined coordinates, and what is needed to close the window."""
    form, coords, active, motion, window = (
        core.form,
        core.coords,
        core.active,
        core.motion,
        core.window,
    )
    route, fixed, system, scope, cursor = (
        core.route,
        core.fixed,
        core.system,
        core.scope,
        core.cursor,
    )
    size, count = system.actives, scope.examined
    pull = motion.along if route.along else motion.across
    square = system.square_along if route.along else system.square_across
    for i in range(coords.u.size):
        value = coords.du[i]
        for c in range(active.column.size):
            value -= coords.border[i, c] * active.column[c].full_rate
        window.du_seen[i] = value
    inner = 0.0
    norm = square
    for k in range(size):
        i = active.index[k]
        window.line[k] = k
        row = form.slot[i]
        for c in range(count):
            window.panel[k, c] = form.store[row, coords.near[c]]
        window.index_seen[k], window.alpha_seen[k] = i, coords.alpha[i]
        norm += active.rate[k] * (window.du_seen[i] + pull[i])
        inner += active.rate[k] * window.du_seen[i]
    free = window.panel.shape[0] - size
    for k in range(free):
        window.free[k] = window.panel.shape[0] - 1 - k
    scope.free_lines, scope.size_seen, scope.steps_seen = free, size, cursor.steps
    scope.norm_seen, scope.inner_seen, scope.spent = norm, norm - inner, 0.0
    scope.tau_seen = route.tau
    scope.b_weight = 1.0 / math.sqrt(fixed.rho) if fixed.rho > 0.0 else 0.0
    for c in range(active.column.size):
        active.column[c].seen = active.column[c].full_rate
        active.column[c].begun = active.column[c].b


@njit(**SUM)
def turned(core):  # type: ignore[no-untyped-def]
    """Return ``|w' - w'_seen|`` plus the part of b; w' itself is never formed."""
    coords, active, motion, window = core.coords, core.active, core.motion, core.window
    route, system, scope = core.route, core.system, core.scope
    pull = motion.along if route.along else motion.across
    norm = system.square_along if route.along else system.square_across
    inner, size = scope.inner_seen, 0.0
    for k in range(system.actives):
        i, rate = active.index[k], active.rate[k]
        value = piece_rate(core, i, rate)
        for c in range(active.column.size):
            value -= coords.border[i, c] * active.column[c].full_rate
        norm += rate * (value + pull[i])
        inner += rate * window.du_seen[i]
        size += abs(rate * window.du_seen[i])
    size = max(size, max(norm, scope.norm_seen))
    apart = math.sqrt(max(norm - 2.0 * inner + scope.norm_seen, 0.0) + core.opt.turning * size)
    for c in range(active.column.size):
        apart += scope.b_weight * abs(active.column[c].full_rate - active.column[c].seen)
    return apart


@njit(**PART)
def close_window(core):  # type: ignore[no-untyped-def]
    """Close the window by direction, if one is open: update u of all coordinates and examine all
    again."""
    form, polylines, coords, active = core.form, core.polylines, core.coords, core.active
    motion, window, route, scope = core.motion, core.window, core.route, core.scope
    if scope.window != BY_DIRECTION:
        return
    u, du, gone = coords.u, coords.du, route.tau - scope.tau_seen
    pull = motion.along if route.along else motion.across
    for i in range(u.size):
        du[i] = gone * pull[i]
        for c in range(active.column.size):
            column = active.column[c]
            du[i] += (column.b - column.begun) * coords.border[i, c]
    # Add what the pull does not contain: changes of alpha while coordinates were active.
    count = 0
    for k in range(scope.size_seen):
        i = window.index_seen[k]
        change = alpha_now(core, i) - window.alpha_seen[k]
        if change != 0.0:
            window.rows[count], window.weights[count] = form.slot[i], change
            count += 1
    for k in range(scope.examined_seen):
        i, piece = coords.near[k], window.piece_seen[k]
        j = piece // 2
        if coords.status[i].piece != piece and polylines.slope[i, j].bend == 0.0:
            then = slope_value(core, i, j, 0.0)
            window.rows[count] = form.slot[i]
            window.weights[count] = alpha_now(core, i) - then
            count += 1
    weighted_rows(form.store, window.rows[:count], window.weights[:count], du)
    for k in range(scope.examined):
        du[coords.near[k]] = 0.0
    for i in range(u.size):
        u[i] += du[i]
    update_slanted_u(core)
    adapt(core, u.size)
    examine_all(core)


@njit(**PART)
def alpha_now(core, i):  # type: ignore[no-untyped-def]
    """Return alpha_i; on a flat slope it is stored only when `write_flat` is called."""
    polylines, coords = core.polylines, core.coords
    piece = coords.status[i].piece
    if piece % 2 == 0 and polylines.slope[i, piece // 2].bend == 0.0:
        return slope_value(core, i, piece // 2, 0.0)
    return coords.alpha[i]


@njit(**PART)
def adapt(core, n):  # type: ignore[no-untyped-def]
    """Make the next window larger or smaller, depending on how long this one lasted."""
    window, route, scope, cursor, opt = core.window, core.route, core.scope, core.cursor, core.opt
    wanted = scope.wanted_along if route.along else scope.wanted_across
    enough = opt.enough_along if route.along else opt.enough_across
    spent, lasted = scope.spent / scope.reach, cursor.steps - scope.steps_seen
    if spent < opt.ample:
        wanted = max(wanted - wanted // 4, opt.fewest)
    elif spent > opt.tight and lasted < enough:
        most = min(n // 4, window.panel.shape[1] - opt.joining - 1)
        wanted = max(min(wanted + wanted // 2, most), opt.fewest)
        if lasted < enough // 3:
            scope.retry_step = cursor.steps + opt.window_pause
    if route.along:
        scope.wanted_along = wanted
    else:
        scope.wanted_across = wanted


# ------------------------------------------------------------------ by distance


@njit(**PART)
def reach_spent(core):  # type: ignore[no-untyped-def]
    """Return how much of the reach is used up, and the rate at which it is."""
    active, motion, route, scope = core.active, core.motion, core.route, core.scope
    square = 0.0
    for c in range(motion.w.size):
        square += (motion.w[c] - motion.w_seen[c]) ** 2
    spent, pace = math.sqrt(square), math.sqrt(squared_length(motion.dw))
    for c in range(active.column.size):
        column = active.column[c]
        spent += scope.b_weight * abs(column.b - column.begun)
        pace += scope.b_weight * abs(column.full_rate)
    spent += scope.t_weight * abs(route.t - scope.t_seen)
    pace += scope.t_weight * route.dt
    if route.settling:
        spent += scope.t_weight * abs(route.mu - scope.tau_seen)
        pace += scope.t_weight
    return spent, pace


@njit(**PART)
def distances(core):  # type: ignore[no-untyped-def]
    """Measure how far each coordinate is from its corners, in units of the effect of w, b, t."""
    coords, window, route, scope = core.coords, core.window, core.route, core.scope
    b_weight, t_weight = scope.b_weight, scope.t_weight
    for i in range(coords.u.size):
        fence = coords.fence[i]
        over, under = gaps_of(core, i)
        gap = min(over, under) - 2.0 * near_of(core, i)
        if route.settling:
            move = abs(fence.shift)
        else:
            move = max(abs(fence.low_rate), abs(fence.high_rate))
        speed = math.sqrt(coords.status[i].own)
        widest = 0.0
        for c in range(coords.border.shape[1]):
            widest = max(widest, abs(coords.border[i, c]))
        if b_weight > 0.0:
            speed = max(speed, widest / b_weight)
        if t_weight > 0.0:
            speed = max(speed, move / t_weight)
        window.gaps[i] = gap / max(speed, TINY)


@njit(**PART)
def open_by_distance(core):  # type: ignore[no-untyped-def]
    """Recompute w and u and choose the coordinates within reach."""
    coords, active, motion, window = core.coords, core.active, core.motion, core.window
    route, fixed, sizes, system = core.route, core.fixed, core.sizes, core.system
    scope, cursor, tol, opt = core.scope, core.cursor, core.tol, core.opt
    n, width = coords.u.size, motion.w.size
    # The cost of examining all, in examined coordinates: choose the number of coordinates so that
    # the steps in between cost about as much.
    cost = opt.each * n + opt.overhead / max(width, 1)
    gone = (cursor.steps - scope.steps_all) * scope.wanted
    if gone < 0.5 * cost:
        scope.wanted = min(2 * scope.wanted, n)
    elif gone > 2.0 * cost:
        scope.wanted = max(scope.wanted // 2, opt.fewest_on_features)
    scope.steps_all = cursor.steps
    for c in range(width):
        motion.w_seen[c] = motion.w[c]
    recompute(core)
    off = 0.0
    for c in range(width):
        off += (motion.w[c] - motion.w_seen[c]) ** 2
        motion.w_seen[c] = motion.w[c]
    moves = 0.0
    for i in range(n):
        fence = coords.fence[i]
        if route.settling:
            moves = max(moves, abs(fence.shift))
        else:
            moves = max(moves, max(abs(fence.low_rate), abs(fence.high_rate)))
        coords.status[i].panel_place = i
    scope.t_weight = moves / fixed.unit
    scope.t_seen, scope.tau_seen, scope.reach = route.t, route.tau, np.inf
    for c in range(active.column.size):
        active.column[c].begun = active.column[c].b
    if math.sqrt(off) > tol.drift_of_w * sizes.length + sizes.noise:
        # The tracked w has drifted from that of alpha.
        cursor.due = 0
    distances(core)
    for k in range(system.actives):
        window.gaps[active.index[k]] = -1.0
    scope.window = BY_DISTANCE
    for i in range(n):
        window.times[i] = window.gaps[i]
    while 2 * (scope.wanted + system.actives) < n:
        reach = smallest(window.times, scope.wanted + system.actives)
        if reach > 0.0:
            return narrow(core, reach)
        # Even more coordinates are on corners.
        scope.wanted *= 2
    return GO


@njit(**PART)
def narrow(core, reach):  # type: ignore[no-untyped-def]
    """Examine only the coordinates within reach, with their dense features side by side."""
    form, coords, window, scope = core.form, core.coords, core.window, core.scope
    count = 0
    for i in range(coords.u.size):
        coords.status[i].panel_place = -1
        if window.gaps[i] <= reach:
            coords.status[i].panel_place = count
            coords.near[count] = i
            count += 1
    scope.examined, scope.reach = count, reach
    scope.opened += 1
    phi = form.phi
    if phi.size == 0:
        return GO
    if count > window.packed.shape[1]:
        scope.window = NO_WINDOW
        return PANEL_FULL
    for k in range(count):
        for c in range(phi.shape[1]):
            window.packed[c, k] = phi[coords.near[k], c]
    scope.packed = 1
    return GO
