"""Windows: where n is large only some coordinates are looked at (docs/theory.md).

*By turn*, where Q is given by columns.  As long as w' is what it is now, u_i goes on at u_i'.  w'
turns at every break-point; what that does to u_i is at most ``|phi_i|`` times the length of
``w - w_seen - w'_seen dtau``, bounded by the sum of ``|w' - w'_seen| dtau``.  Those that stay
farther than the reach from their corners, over the horizon and at the speed they have now, need no
look.

*By place*, where Q is given by features and w is at hand: those farther from their corners than
``|w - w_seen|`` (with b and t) can take them need no look.

Who is left out cannot meet a corner before the window ends.  While one is open u of the others is
stale; `widen` brings it up to date and looks at all again.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from homotopy.gram.products import weighted_rows
from homotopy.tracker.compiling import PART, SUM
from homotopy.tracker.rates import (
    add_row,
    corner_rate,
    imply_all,
    near_of,
    responses,
    slope_rate,
    slope_value,
)
from homotopy.tracker.state import (
    BY_PLACE,
    BY_TURN,
    GO,
    NO_WINDOW,
    PANEL_FULL,
)
from homotopy.tracker.tolerances import EPS

__all__ = ["close_window", "look_around", "look_at", "open_window", "turned", "widen"]

# Coordinates that may join those looked at while a window is open.
SPARE = 64
TINY = 1e-300


@njit(**PART)
def smallest(values, k):  # type: ignore[no-untyped-def]
    """The k-th smallest (from 0) of `values`, which come out rearranged."""
    first, last = 0, values.size - 1
    while first < last:
        middle = values[(first + last) // 2]
        i, j = first, last
        while i <= j:
            while values[i] < middle:
                i += 1
            while values[j] > middle:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if k <= j:
            last = j
        elif k >= i:
            first = i
        else:
            break
    return values[k]


@njit(**PART)
def look_at_all(core):  # type: ignore[no-untyped-def]
    here, now = core.here, core.now
    for i in range(here.u.size):
        here.near[i] = i
    now.looked = here.u.size
    now.window = NO_WINDOW
    now.packed = now.rated = now.fresh = 0


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
    here, act, mov, now, tol = core.here, core.act, core.mov, core.now, core.tol
    write_flat(core)
    w, norm, square = mov.w, 0.0, 0.0
    for c in range(w.size):
        w[c] = 0.0
    for i in range(here.u.size):
        value = here.alpha[i]
        if value != 0.0:
            add_row(core, now.mode, i, value, w)
            norm += here.spot[i].own * value * value
    for c in range(w.size):
        square += w[c] * w[c]
    now.norm, now.length = math.sqrt(norm), math.sqrt(square)
    for c in range(act.column.size):
        now.norm += abs(act.column[c].b) / math.sqrt(now.rho)
    now.most_norm = max(now.most_norm, now.norm)
    now.noise = tol.rounding * EPS * now.most_norm
    respond(core)


@njit(**PART)
def respond(core):  # type: ignore[no-untyped-def]
    """``u = phi w + B b`` of all coordinates, and all are looked at."""
    here, act, mov, now = core.here, core.act, core.mov, core.now
    look_at_all(core)
    responses(core, here.near, here.u.size, mov.w, here.u)
    for c in range(act.column.size):
        b = act.column[c].b
        for i in range(here.u.size):
            here.u[i] += here.border[i, c] * b
    if now.slanted:
        for k in range(now.actives):
            here.spot[act.index[k]].miss = 0.0
        imply_all(core)


@njit(**PART)
def widen(core):  # type: ignore[no-untyped-def]
    """Bring u of all coordinates up to date and look at all."""
    now = core.now
    if now.window == BY_TURN:
        close_window(core)
    elif now.window == BY_PLACE:
        respond(core)


# ------------------------------------------------------------------ by turn


@njit(**PART)
def look_at(core, i):  # type: ignore[no-untyped-def]
    """Take coordinate i, which is about to leave the factor, among those looked at."""
    form, here, act, win, now = core.form, core.here, core.act, core.win, core.now
    if now.window != BY_TURN or here.spot[i].seat >= 0:
        return
    k = now.looked
    here.near[k] = i
    here.spot[i].seat = k
    now.looked = k + 1
    store, own = form.store, form.slot[i]
    for a in range(now.actives):
        win.panel[win.line[a], k] = store[own, act.index[a]]


@njit(**PART)
def forecast(core, ahead):  # type: ignore[no-untyped-def]
    """The horizon, and into ``win.gaps`` how far w may be turned before each coordinate could meet
    a corner until then."""
    here, win, now = core.here, core.win, core.now
    u, du, times, n = here.u, here.du, win.times, here.u.size
    left = abs(now.stop - now.tau)
    horizon = left
    for attempt in range(2):
        for i in range(n):
            fence = here.fence[i]
            off = fence.shift * now.mu - u[i]
            over = fence.high + fence.high_rate * now.t + off
            under = -(fence.low + fence.low_rate * now.t + off)
            pace = fence.shift * now.dmu
            closing = now.sign * (du[i] - fence.high_rate * now.dt - pace)
            opening = now.sign * (fence.low_rate * now.dt + pace - du[i])
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
    here, win, now, opt = core.here, core.win, core.now, core.opt
    n, room = here.u.size, win.panel.shape[1] - SPARE
    wanted = now.wanted_along if now.along else now.wanted_across
    if wanted >= min(n, room):
        return
    horizon = forecast(core, opt.ahead)
    reach = smallest(win.times, wanted)
    if not reach > 0.0:
        more = min(wanted + wanted // 2, min(n // 4, room - 1))
        if now.along:
            now.wanted_along = more
        else:
            now.wanted_across = more
        now.pause = now.steps + opt.rest
        return
    count = 0
    for i in range(n):
        here.spot[i].seat = -1
        if win.gaps[i] <= reach and here.spot[i].piece % 2 == 0:
            if count == room:
                now.pause = now.steps + opt.rest
                look_at_all(core)
                now.rated = 1
                return
            here.near[count] = i
            win.piece_seen[count] = here.spot[i].piece
            here.spot[i].seat = count
            count += 1
    now.looked = now.looked_seen = count
    now.reach, now.horizon = reach, now.tau + now.sign * horizon
    fill_panel(core)
    now.window = BY_TURN
    now.opened += 1


@njit(**PART)
def fill_panel(core):  # type: ignore[no-untyped-def]
    """Rows of Q at those looked at, and what the window will need when it closes."""
    form, here, act, mov, win, now = core.form, core.here, core.act, core.mov, core.win, core.now
    size, count = now.actives, now.looked
    pull = mov.along if now.along else mov.across
    square = now.square_along if now.along else now.square_across
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
    now.lines, now.size_seen, now.steps_seen = free, size, now.steps
    now.norm_seen, now.inner_seen, now.spent = norm, norm - inner, 0.0
    now.tau_seen = now.tau
    now.b_weight = 1.0 / math.sqrt(now.rho) if now.rho > 0.0 else 0.0
    for c in range(act.column.size):
        act.column[c].seen = act.column[c].lift
        act.column[c].begun = act.column[c].b


@njit(**SUM)
def turned(core):  # type: ignore[no-untyped-def]
    """``|w' - w'_seen|`` and what b adds; w' itself is never formed."""
    lines, here, act, mov, win, now = core.lines, core.here, core.act, core.mov, core.win, core.now
    pull = mov.along if now.along else mov.across
    norm = now.square_along if now.along else now.square_across
    inner, size = now.inner_seen, 0.0
    for k in range(now.actives):
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
    size = max(size, max(norm, now.norm_seen))
    apart = math.sqrt(max(norm - 2.0 * inner + now.norm_seen, 0.0) + 1e-13 * size)
    for c in range(act.column.size):
        apart += now.b_weight * abs(act.column[c].lift - act.column[c].seen)
    return apart


@njit(**PART)
def close_window(core):  # type: ignore[no-untyped-def]
    """Bring u of all coordinates up to date after a window by turn, and look at all again."""
    form, lines, here, act = core.form, core.lines, core.here, core.act
    mov, win, now = core.mov, core.win, core.now
    u, du, gone = here.u, here.du, now.tau - now.tau_seen
    pull = mov.along if now.along else mov.across
    for i in range(u.size):
        du[i] = gone * pull[i]
        for c in range(act.column.size):
            column = act.column[c]
            du[i] += (column.b - column.begun) * here.border[i, c]
    # Whoever was or is active has moved by more than its slope.
    count = 0
    for k in range(now.size_seen):
        i = win.index_seen[k]
        change = alpha_now(core, i) - win.alpha_seen[k]
        if change != 0.0:
            win.rows[count], win.weights[count] = form.slot[i], change
            count += 1
    for k in range(now.looked_seen):
        i, piece = here.near[k], win.piece_seen[k]
        j = piece // 2
        if here.spot[i].piece != piece and lines.slope[i, j].bend == 0.0:
            slope, fence = lines.slope[i, j], here.fence[i]
            then = slope.at + slope.rate * now.t + fence.lift * now.mu
            win.rows[count] = form.slot[i]
            win.weights[count] = alpha_now(core, i) - then
            count += 1
    weighted_rows(form.store, win.rows[:count], win.weights[:count], du)
    for k in range(now.looked):
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
    win, now = core.win, core.now
    wanted = now.wanted_along if now.along else now.wanted_across
    enough = now.enough_along if now.along else now.enough_across
    spent, lasted = now.spent / now.reach, now.steps - now.steps_seen
    if spent < 0.5:
        wanted = max(wanted - wanted // 4, now.fewest)
    elif spent > 0.9 and lasted < enough:
        most = min(n // 4, win.panel.shape[1] - SPARE - 1)
        wanted = max(min(wanted + wanted // 2, most), now.fewest)
        if lasted < enough // 3:
            now.pause = now.steps + now.rest
    if now.along:
        now.wanted_along = wanted
    else:
        now.wanted_across = wanted


# ------------------------------------------------------------------ by place


@njit(**PART)
def gone_by_place(core):  # type: ignore[no-untyped-def]
    """How much of the reach is used up, and how fast more of it will be."""
    act, mov, now = core.act, core.mov, core.now
    square, pace = 0.0, 0.0
    for c in range(mov.w.size):
        square += (mov.w[c] - mov.w_seen[c]) ** 2
        pace += mov.dw[c] * mov.dw[c]
    spent, pace = math.sqrt(square), math.sqrt(pace)
    for c in range(act.column.size):
        column = act.column[c]
        spent += now.b_weight * abs(column.b - column.begun)
        pace += now.b_weight * abs(column.rate + now.rho * column.target_rate)
    spent += now.t_weight * abs(now.t - now.t_seen)
    pace += now.t_weight * now.dt
    if now.settling:
        spent += now.t_weight * abs(now.mu - now.tau_seen)
        pace += now.t_weight
    return spent, pace


@njit(**PART)
def distances(core):  # type: ignore[no-untyped-def]
    """How far each coordinate is from its corners, in units of what w, b and t may do to it."""
    here, win, now = core.here, core.win, core.now
    b_weight, t_weight = now.b_weight, now.t_weight
    for i in range(here.u.size):
        fence = here.fence[i]
        off = fence.shift * now.mu - here.u[i]
        gap = min(
            fence.high + fence.high_rate * now.t + off, -(fence.low + fence.low_rate * now.t + off)
        )
        gap -= 2.0 * near_of(core, i)
        if now.settling:
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
    now, tol, opt = core.now, core.tol, core.opt
    n, width = here.u.size, mov.w.size
    # A look costs as much as so many coordinates looked at; the steps should cost no less.
    cost = 3.0 * n + opt.look / max(width, 1)
    gone = (now.steps - now.steps_looked) * now.wanted
    if gone < 0.5 * cost:
        now.wanted = min(2 * now.wanted, n)
    elif gone > 2.0 * cost:
        now.wanted = max(now.wanted // 2, opt.fewest_on_features)
    now.steps_looked = now.steps
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
        if now.settling:
            moves = max(moves, abs(fence.shift))
        else:
            moves = max(moves, max(abs(fence.low_rate), abs(fence.high_rate)))
        here.spot[i].seat = i
    now.t_weight = moves / now.unit
    now.t_seen, now.tau_seen, now.reach = now.t, now.tau, np.inf
    for c in range(act.column.size):
        act.column[c].begun = act.column[c].b
    if math.sqrt(off) > tol.strayed * now.length + now.noise:
        # w was tracked to be something else than alpha makes it.
        now.due = 0
    distances(core)
    for k in range(now.actives):
        win.gaps[act.index[k]] = -1.0
    now.window = BY_PLACE
    wanted = now.wanted + now.actives
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
    form, here, win, now = core.form, core.here, core.win, core.now
    count = 0
    for i in range(here.u.size):
        here.spot[i].seat = -1
        if win.gaps[i] <= reach:
            here.spot[i].seat = count
            here.near[count] = i
            count += 1
    now.looked, now.reach = count, reach
    now.opened += 1
    phi = form.phi
    if phi.size == 0:
        return GO
    if count > win.packed.shape[1]:
        now.window = NO_WINDOW
        return PANEL_FULL
    for k in range(count):
        for c in range(phi.shape[1]):
            win.packed[c, k] = phi[here.near[k], c]
    now.packed = 1
    return GO
