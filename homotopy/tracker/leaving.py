"""From knots and slopes to slopes."""

from __future__ import annotations

import numpy as np
from numba import njit

from homotopy.tracker.compiling import PART
from homotopy.tracker.independence import append, pivot_of, remove
from homotopy.tracker.nearness import corner_now, imply, slope_value
from homotopy.tracker.pieces import flat_rate, is_active, pull_on, set_piece
from homotopy.tracker.products import add_row, product_with
from homotopy.tracker.state import BY_TURN, FULL, GO, MISSING, RECORD_FULL, ROWS
from homotopy.tracker.windows import close_window, look_at

__all__ = ["arrive", "leave", "ready_for", "to_slope"]

# Room in the log for what one pivot may write.
LOG_ROOM = 8


@njit(**PART)
def ready_for(core, i):  # type: ignore[no-untyped-def]
    """Whether a pivot of coordinate i can be made without asking for anything."""
    form, act, win, rec, fixed = core.form, core.act, core.win, core.rec, core.fixed
    system, event, scope, cursor = core.system, core.event, core.scope, core.cursor
    if fixed.mode == ROWS and form.slot[i] < 0:
        event.want = i
        return MISSING
    if system.actives + 1 >= act.index.size:
        return FULL
    if cursor.logged + LOG_ROOM >= rec.log.size:
        return RECORD_FULL
    if scope.window == BY_TURN and (scope.lines == 0 or scope.looked == win.panel.shape[1]):
        close_window(core)
    return GO


@njit(**PART)
def to_slope(core, i, j):  # type: ignore[no-untyped-def]
    """Coordinate i goes to slope j, from wherever it stands; alpha is written by the caller."""
    scope = core.scope
    if scope.window == BY_TURN and flat_rate(core, i) != 0.0:
        close_window(core)
    if is_active(core, i):
        remove(core, i)
    else:
        pull_on(core, i, -flat_rate(core, i))
    arrive(core, i, j)


@njit(**PART)
def arrive(core, i, j):  # type: ignore[no-untyped-def]
    """Coordinate i, in no factor and among no moving slopes, takes up slope j."""
    lines, fixed, scope = core.lines, core.fixed, core.scope
    set_piece(core, i, 2 * j, np.int64(0))
    bend = lines.slope[i, j].bend
    if bend > 0.0:
        imply(core, i)
        # 1 / bend on the diagonal keeps it independent.
        pivot = pivot_of(core, i, 1.0 / bend)
        append(core, i, max(pivot, fixed.floor / bend))
        return
    rate = flat_rate(core, i)
    if scope.window == BY_TURN and rate != 0.0:
        close_window(core)
    pull_on(core, i, rate)


@njit(**PART)
def leave(core, i, j):  # type: ignore[no-untyped-def]
    """Coordinate i goes to slope j and takes up its alpha."""
    lines, here, scope, tol = core.lines, core.here, core.scope, core.tol
    piece = here.spot[i].piece
    if scope.window == BY_TURN:
        if piece % 2 == 1:
            here.u[i] = corner_now(core, i, piece // 2)
        look_at(core, i)
    elif scope.window and piece % 2 == 1:
        here.u[i] = corner_now(core, i, piece // 2)
    bends = lines.slope[i, j].bend > 0.0
    if bends and piece % 2 == 0 and not is_active(core, i):
        here.alpha[i] = slope_value(core, i, piece // 2, 0.0)
    to_slope(core, i, j)
    if not bends:
        # (On a slanted piece alpha stays, and says where it is.)
        before, here.alpha[i] = here.alpha[i], slope_value(core, i, j, 0.0)
        change = here.alpha[i] - before
        if here.spot[i].own * abs(change) > tol.dropped * max(here.fence[i].scale, abs(here.u[i])):
            # Where alpha is fast, t is too coarse to stop at the end of its knot.
            drop(core, i, change)


@njit(**PART)
def drop(core, i, change):  # type: ignore[no-untyped-def]
    """Let u follow a change of alpha_i; the active coordinates make up for it before the path goes
    on (`homotopy.tracker.proof.take_up`)."""
    here, act, mov, win = core.here, core.act, core.mov, core.win
    fixed, event, scope = core.fixed, core.event, core.scope
    product_with(core, fixed.mode, i, here.near, scope.looked, win.sums)
    for k in range(scope.looked):
        here.u[here.near[k]] += change * win.sums[k]
    if fixed.mode != ROWS:
        add_row(core, fixed.mode, i, change, mov.w)
    for c in range(act.column.size):
        act.column[c].dropped += change * here.border[i, c]
    event.dropped = 1
