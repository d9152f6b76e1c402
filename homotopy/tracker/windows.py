"""Windows: where n is large only some coordinates are looked at (docs/theory.md).

*By turn*, where Q is given by columns.  As long as w' is what it is now, u_i goes on at u_i'.  w'
turns at every break-point; what that does to u_i is at most ``|phi_i|`` times the length of
``w - w_seen - w'_seen dtau``, bounded by the sum of ``|w' - w'_seen| dtau``.  Those that stay
farther than the reach from their corners, over the horizon and at the speed they have now, need no
look.

*By place*, where Q is given by features and w is at hand: those farther from their corners than
``|w - w_seen|`` (with b and t) can take them need no look.

A coordinate left out cannot meet a corner before the window ends.  While one is open u of the
others is stale; `widen` brings it up to date and looks at all again.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from homotopy.gram.products import weighted_rows
from homotopy.tracker.compiling import PART, SUM
from homotopy.tracker.nearness import corner_rate, imply_all, near_of, slope_rate, slope_value
from homotopy.tracker.products import add_row, responses
from homotopy.tracker.selection import smallest
from homotopy.tracker.state import BY_PLACE, BY_TURN, GO, NO_WINDOW, PANEL_FULL
from homotopy.tracker.tolerances import EPS, TINY

__all__ = ["close_window", "look_around", "look_at", "open_window", "turned", "widen"]


@njit(**PART)
def look_at_all(core):  # type: ignore[no-untyped-def]
    here, system, event, scope = core.here, core.system, core.event, core.scope
    for i in range(here.u.size):
        here.near[i] = i
    scope.looked = here.u.size
    scope.window = NO_WINDOW
    scope.packed = system.rated = event.fresh = 0


@njit(**PART)
def write_flat(core):  # type: ignore[no-untyped-def]
    """Write alpha of the coordinates on flat slopes: it is the value of their slope."""
    lines, here = core.lines, core.here
    for i in range(here.alpha.size):
        piece = here.spot[i].piece
        if piece % 2 == 0 and lines.slope[i, piece // 2].bend == 0.0:
            here.alpha[i] = slope_value(core, i, piece // 2, 0.0)


@njit(**PART)
def recompute(core):  # type: ignore[no-untyped-def]
    """On features: w and ``u = phi w + B b`` from alpha, and the sizes that tolerances take."""
    here, act, mov = core.here, core.act, core.mov
    fixed, sizes, tol = core.fixed, core.sizes, core.tol
    write_flat(core)
    w, norm, square = mov.w, 0.0, 0.0
    for c in range(w.size):
        w[c] = 0.0
    for i in range(here.u.size):
        value = here.alpha[i]
        if value != 0.0:
            add_row(core, fixed.mode, i, value, w)
            norm += here.spot[i].own * value * value
    for c in range(w.size):
        square += w[c] * w[c]
    sizes.norm, sizes.length = math.sqrt(norm), math.sqrt(square)
    for c in range(act.column.size):
        sizes.norm += abs(act.column[c].b) / math.sqrt(fixed.rho)
    sizes.most_norm = max(sizes.most_norm, sizes.norm)
    sizes.noise = tol.rounding * EPS * sizes.most_norm
    respond(core)


@njit(**PART)
def respond(core):  # type: ignore[no-untyped-def]
    """``u = phi w + B b`` of all coordinates, and all are looked at."""
    here, act, mov, fixed, system = core.here, core.act, core.mov, core.fixed, core.system
    look_at_all(core)
    responses(core, here.near, here.u.size, mov.w, here.u)
    for c in range(act.column.size):
        b = act.column[c].b
        for i in range(here.u.size):
            here.u[i] += here.border[i, c] * b
    if fixed.slanted:
        for k in range(system.actives):
            here.spot[act.index[k]].miss = 0.0
        imply_all(core)


@njit(**PART)
def widen(core):  # type: ignore[no-untyped-def]
    """Bring u of all coordinates up to date and look at all."""
    scope = core.scope
    if scope.window == BY_TURN:
        close_window(core)
    elif scope.window == BY_PLACE:
        respond(core)


# ------------------------------------------------------------------ by turn


@njit(**PART)
def look_at(core, i):  # type: ignore[no-untyped-def]
    """Take coordinate i, which is about to leave the factor, among those looked at."""
    form, here, act = core.form, core.here, core.act
    win, system, scope = core.win, core.system, core.scope
    if scope.window != BY_TURN or here.spot[i].seat >= 0:
        return
    k = scope.looked
    here.near[k] = i
    here.spot[i].seat = k
    scope.looked = k + 1
    store, own = form.store, form.slot[i]
    for a in range(system.actives):
        win.panel[win.line[a], k] = store[own, act.index[a]]


@njit(**PART)
def forecast(core, ahead):  # type: ignore[no-untyped-def]
    """The horizon, and into ``win.gaps`` how far w may be turned before each coordinate could meet
    a corner until then."""
    here, win, route = core.here, core.win, core.route
    u, du, times, n = here.u, here.du, win.times, here.u.size
    left = abs(route.stop - route.tau)
    horizon = left
    for attempt in range(2):
        for i in range(n):
            fence = here.fence[i]
            off = fence.shift * route.mu - u[i]
            over = fence.high + fence.high_rate * route.t + off
            under = -(fence.low + fence.low_rate * route.t + off)
            pace = fence.shift * route.dmu
            closing = route.sign * (du[i] - fence.high_rate * route.dt - pace)
            opening = route.sign * (fence.low_rate * route.dt + pace - du[i])
            if attempt == 0:
                soon = np.inf
                if closing > 0.0:
                    soon = over / closing
                if opening > 0.0:
                    soon = min(soon, under / opening)
                times[i] = soon
            else:
                gap = min(over, over - horizon * closing)
                gap = min(gap, min(under, under - horizon * opening))
                # root bounds both the length of phi_i and, times sqrt(rho), what b does.
                gap = (gap - 2.0 * near_of(core, i)) / max(fence.root, TINY)
                win.gaps[i] = gap
                times[i] = gap
        if attempt == 0 and n > ahead:
            horizon = min(left, smallest(times, ahead))
            if not horizon > 0.0:
                horizon = left
    return horizon


@njit(**PART)
def open_window(core):  # type: ignore[no-untyped-def]
    """Choose the coordinates that may meet a corner soon, for the direction just taken."""
    here, win, route, system = core.here, core.win, core.route, core.system
    scope, cursor, opt = core.scope, core.cursor, core.opt
    n, room = here.u.size, win.panel.shape[1] - opt.joining
    wanted = scope.wanted_along if route.along else scope.wanted_across
    if wanted >= min(n, room):
        return
    horizon = forecast(core, opt.ahead)
    reach = smallest(win.times, wanted)
    if not reach > 0.0:
        more = min(wanted + wanted // 2, min(n // 4, room - 1))
        if route.along:
            scope.wanted_along = more
        else:
            scope.wanted_across = more
        scope.pause = cursor.steps + opt.rest
        return
    count = 0
    for i in range(n):
        here.spot[i].seat = -1
        if win.gaps[i] <= reach and here.spot[i].piece % 2 == 0:
            if count == room:
                scope.pause = cursor.steps + opt.rest
                look_at_all(core)
                system.rated = 1
                return
            here.near[count] = i
            win.piece_seen[count] = here.spot[i].piece
            here.spot[i].seat = count
            count += 1
    scope.looked = scope.looked_seen = count
    scope.reach, scope.horizon = reach, route.tau + route.sign * horizon
    fill_panel(core)
    scope.window = BY_TURN
    scope.opened += 1


@njit(**PART)
def fill_panel(core):  # type: ignore[no-untyped-def]
    """Rows of Q at those looked at, and what the window will need when it closes."""
    form, here, act, mov, win = core.form, core.here, core.act, core.mov, core.win
    route, fixed, system, scope, cursor = (
        core.route,
        core.fixed,
        core.system,
        core.scope,
        core.cursor,
    )
    size, count = system.actives, scope.looked
    pull = mov.along if route.along else mov.across
    square = system.square_along if route.along else system.square_across
    for i in range(here.u.size):
        value = here.du[i]
        for c in range(act.column.size):
            value -= here.border[i, c] * act.column[c].lift
        win.du_seen[i] = value
    inner = 0.0
    norm = square
    for k in range(size):
        i = act.index[k]
        win.line[k] = k
        row = form.slot[i]
        for c in range(count):
            win.panel[k, c] = form.store[row, here.near[c]]
        win.index_seen[k], win.alpha_seen[k] = i, here.alpha[i]
        norm += act.rate[k] * (win.du_seen[i] + pull[i])
        inner += act.rate[k] * win.du_seen[i]
    free = win.panel.shape[0] - size
    for k in range(free):
        win.free[k] = win.panel.shape[0] - 1 - k
    scope.lines, scope.size_seen, scope.steps_seen = free, size, cursor.steps
    scope.norm_seen, scope.inner_seen, scope.spent = norm, norm - inner, 0.0
    scope.tau_seen = route.tau
    scope.b_weight = 1.0 / math.sqrt(fixed.rho) if fixed.rho > 0.0 else 0.0
    for c in range(act.column.size):
        act.column[c].seen = act.column[c].lift
        act.column[c].begun = act.column[c].b


@njit(**SUM)
def turned(core):  # type: ignore[no-untyped-def]
    """``|w' - w'_seen|`` and what b adds; w' itself is never formed."""
    lines, here, act, mov = core.lines, core.here, core.act, core.mov
    win, route, system, scope = core.win, core.route, core.system, core.scope
    pull = mov.along if route.along else mov.across
    norm = system.square_along if route.along else system.square_across
    inner, size = scope.inner_seen, 0.0
    for k in range(system.actives):
        i, rate = act.index[k], act.rate[k]
        piece = here.spot[i].piece
        j = piece // 2
        if piece % 2 == 1:
            value = corner_rate(core, i, j)
        else:
            value = (slope_rate(core, i, j) - rate) / lines.slope[i, j].bend
        for c in range(act.column.size):
            value -= here.border[i, c] * act.column[c].lift
        norm += rate * (value + pull[i])
        inner += rate * win.du_seen[i]
        size += abs(rate * win.du_seen[i])
    size = max(size, max(norm, scope.norm_seen))
    apart = math.sqrt(max(norm - 2.0 * inner + scope.norm_seen, 0.0) + core.opt.turning * size)
    for c in range(act.column.size):
        apart += scope.b_weight * abs(act.column[c].lift - act.column[c].seen)
    return apart


@njit(**PART)
def close_window(core):  # type: ignore[no-untyped-def]
    """Bring u of all coordinates up to date after a window by turn, and look at all again."""
    form, lines, here, act = core.form, core.lines, core.here, core.act
    mov, win, route, scope = core.mov, core.win, core.route, core.scope
    u, du, gone = here.u, here.du, route.tau - scope.tau_seen
    pull = mov.along if route.along else mov.across
    for i in range(u.size):
        du[i] = gone * pull[i]
        for c in range(act.column.size):
            column = act.column[c]
            du[i] += (column.b - column.begun) * here.border[i, c]
    # What was or is active has moved by more than its slope.
    count = 0
    for k in range(scope.size_seen):
        i = win.index_seen[k]
        change = alpha_now(core, i) - win.alpha_seen[k]
        if change != 0.0:
            win.rows[count], win.weights[count] = form.slot[i], change
            count += 1
    for k in range(scope.looked_seen):
        i, piece = here.near[k], win.piece_seen[k]
        j = piece // 2
        if here.spot[i].piece != piece and lines.slope[i, j].bend == 0.0:
            slope, fence = lines.slope[i, j], here.fence[i]
            then = slope.at + slope.rate * route.t + fence.lift * route.mu
            win.rows[count] = form.slot[i]
            win.weights[count] = alpha_now(core, i) - then
            count += 1
    weighted_rows(form.store, win.rows[:count], win.weights[:count], du)
    for k in range(scope.looked):
        du[here.near[k]] = 0.0
    for i in range(u.size):
        u[i] += du[i]
    imply_all(core)
    adapt(core, u.size)
    look_at_all(core)


@njit(**PART)
def alpha_now(core, i):  # type: ignore[no-untyped-def]
    lines, here = core.lines, core.here
    piece = here.spot[i].piece
    if piece % 2 == 0 and lines.slope[i, piece // 2].bend == 0.0:
        return slope_value(core, i, piece // 2, 0.0)
    return here.alpha[i]


@njit(**PART)
def adapt(core, n):  # type: ignore[no-untyped-def]
    """Let the next window be larger or smaller, by how long this one lasted."""
    win, route, scope, cursor, opt = core.win, core.route, core.scope, core.cursor, core.opt
    wanted = scope.wanted_along if route.along else scope.wanted_across
    enough = opt.enough_along if route.along else opt.enough_across
    spent, lasted = scope.spent / scope.reach, cursor.steps - scope.steps_seen
    if spent < opt.ample:
        wanted = max(wanted - wanted // 4, opt.fewest)
    elif spent > opt.tight and lasted < enough:
        most = min(n // 4, win.panel.shape[1] - opt.joining - 1)
        wanted = max(min(wanted + wanted // 2, most), opt.fewest)
        if lasted < enough // 3:
            scope.pause = cursor.steps + opt.rest
    if route.along:
        scope.wanted_along = wanted
    else:
        scope.wanted_across = wanted


# ------------------------------------------------------------------ by place


@njit(**PART)
def gone_by_place(core):  # type: ignore[no-untyped-def]
    """How much of the reach is used up, and how fast more of it will be."""
    act, mov, route, fixed, scope = core.act, core.mov, core.route, core.fixed, core.scope
    square, pace = 0.0, 0.0
    for c in range(mov.w.size):
        square += (mov.w[c] - mov.w_seen[c]) ** 2
        pace += mov.dw[c] * mov.dw[c]
    spent, pace = math.sqrt(square), math.sqrt(pace)
    for c in range(act.column.size):
        column = act.column[c]
        spent += scope.b_weight * abs(column.b - column.begun)
        pace += scope.b_weight * abs(column.rate + fixed.rho * column.target_rate)
    spent += scope.t_weight * abs(route.t - scope.t_seen)
    pace += scope.t_weight * route.dt
    if route.settling:
        spent += scope.t_weight * abs(route.mu - scope.tau_seen)
        pace += scope.t_weight
    return spent, pace


@njit(**PART)
def distances(core):  # type: ignore[no-untyped-def]
    """How far each coordinate is from its corners, in units of what w, b and t may do to it."""
    here, win, route, scope = core.here, core.win, core.route, core.scope
    b_weight, t_weight = scope.b_weight, scope.t_weight
    for i in range(here.u.size):
        fence = here.fence[i]
        off = fence.shift * route.mu - here.u[i]
        gap = min(
            fence.high + fence.high_rate * route.t + off,
            -(fence.low + fence.low_rate * route.t + off),
        )
        gap -= 2.0 * near_of(core, i)
        if route.settling:
            move = abs(fence.shift)
        else:
            move = max(abs(fence.low_rate), abs(fence.high_rate))
        speed = math.sqrt(here.spot[i].own)
        widest = 0.0
        for c in range(here.border.shape[1]):
            widest = max(widest, abs(here.border[i, c]))
        if b_weight > 0.0:
            speed = max(speed, widest / b_weight)
        if t_weight > 0.0:
            speed = max(speed, move / t_weight)
        win.gaps[i] = gap / max(speed, TINY)


@njit(**PART)
def look_around(core):  # type: ignore[no-untyped-def]
    """Recompute w and u and choose the coordinates within reach."""
    here, act, mov, win = core.here, core.act, core.mov, core.win
    route, fixed, sizes, system = core.route, core.fixed, core.sizes, core.system
    scope, cursor, tol, opt = core.scope, core.cursor, core.tol, core.opt
    n, width = here.u.size, mov.w.size
    # A look costs as much as this many coordinates looked at; the steps should cost no less.
    cost = opt.each * n + opt.look / max(width, 1)
    gone = (cursor.steps - scope.steps_looked) * scope.wanted
    if gone < 0.5 * cost:
        scope.wanted = min(2 * scope.wanted, n)
    elif gone > 2.0 * cost:
        scope.wanted = max(scope.wanted // 2, opt.fewest_on_features)
    scope.steps_looked = cursor.steps
    for c in range(width):
        mov.w_seen[c] = mov.w[c]
    recompute(core)
    off = 0.0
    for c in range(width):
        off += (mov.w[c] - mov.w_seen[c]) ** 2
        mov.w_seen[c] = mov.w[c]
    moves = 0.0
    for i in range(n):
        fence = here.fence[i]
        if route.settling:
            moves = max(moves, abs(fence.shift))
        else:
            moves = max(moves, max(abs(fence.low_rate), abs(fence.high_rate)))
        here.spot[i].seat = i
    scope.t_weight = moves / fixed.unit
    scope.t_seen, scope.tau_seen, scope.reach = route.t, route.tau, np.inf
    for c in range(act.column.size):
        act.column[c].begun = act.column[c].b
    if math.sqrt(off) > tol.strayed * sizes.length + sizes.noise:
        # w was tracked to be something else than alpha makes it.
        cursor.due = 0
    distances(core)
    for k in range(system.actives):
        win.gaps[act.index[k]] = -1.0
    scope.window = BY_PLACE
    wanted = scope.wanted + system.actives
    if 2 * wanted < n:
        for i in range(n):
            win.times[i] = win.gaps[i]
        reach = smallest(win.times, wanted)
        if reach > 0.0:
            return narrow(core, reach)
    return GO


@njit(**PART)
def narrow(core, reach):  # type: ignore[no-untyped-def]
    """Look at those within reach only, their dense features side by side."""
    form, here, win, scope = core.form, core.here, core.win, core.scope
    count = 0
    for i in range(here.u.size):
        here.spot[i].seat = -1
        if win.gaps[i] <= reach:
            here.spot[i].seat = count
            here.near[count] = i
            count += 1
    scope.looked, scope.reach = count, reach
    scope.opened += 1
    phi = form.phi
    if phi.size == 0:
        return GO
    if count > win.packed.shape[1]:
        scope.window = NO_WINDOW
        return PANEL_FULL
    for k in range(count):
        for c in range(phi.shape[1]):
            win.packed[c, k] = phi[here.near[k], c]
    scope.packed = 1
    return GO
