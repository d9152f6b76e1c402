"""Moves of a coordinate onto a slope."""

from __future__ import annotations

import numpy as np
from numba import njit

from homotopy.tracker.compiling import PART
from homotopy.tracker.independence import append_slanted, remove
from homotopy.tracker.nearness import corner_now, set_slanted_u, slope_value
from homotopy.tracker.pieces import flat_rate, is_active, pull_on, set_piece
from homotopy.tracker.products import add_row, product_with
from homotopy.tracker.state import BY_DIRECTION, FULL, GO, MISSING, RECORD_FULL, ROWS
from homotopy.tracker.windows import add_to_window, close_window

__all__ = ["arrive", "leave", "ready_for", "to_slope"]

# Space in the log for the entries of one pivot.
LOG_ROOM = 8


@njit(**PART)
def ready_for(core, i):  # type: ignore[no-untyped-def]
    """Return GO if coordinate i can be pivoted now, else the request that must come first."""
    form, active, window, record, fixed = (
        core.form,
        core.active,
        core.window,
        core.record,
        core.fixed,
    )
    system, event, scope, cursor = core.system, core.event, core.scope, core.cursor
    if fixed.mode == ROWS and form.slot[i] < 0:
        event.requested = i
        return MISSING
    if system.actives + 1 >= active.index.size:
        return FULL
    if cursor.logged + LOG_ROOM >= record.log.size:
        return RECORD_FULL
    if scope.window == BY_DIRECTION and (
        scope.free_lines == 0 or scope.examined == window.panel.shape[1]
    ):
        close_window(core)
    return GO


@njit(**PART)
def to_slope(core, i, j):  # type: ignore[no-untyped-def]
    """Move coordinate i to slope j from any piece; the caller writes alpha."""
    if is_active(core, i):
        remove(core, i)
    else:
        pull_on(core, i, -flat_rate(core, i))
    arrive(core, i, j)


@njit(**PART)
def arrive(core, i, j):  # type: ignore[no-untyped-def]
    """Put coordinate i, which is neither in the factor nor among the moving slopes, on slope j."""
    set_piece(core, i, 2 * j, np.int64(0))
    bend = core.polylines.slope[i, j].bend
    if bend > 0.0:
        set_slanted_u(core, i)
        append_slanted(core, i, bend)
    else:
        pull_on(core, i, flat_rate(core, i))


@njit(**PART)
def leave(core, i, j):  # type: ignore[no-untyped-def]
    """Move coordinate i to slope j and set its alpha to that of the slope."""
    polylines, coords, scope = core.polylines, core.coords, core.scope
    piece = coords.status[i].piece
    if scope.window and piece % 2 == 1:
        coords.u[i] = corner_now(core, i, piece // 2)
    add_to_window(core, i)
    bends = polylines.slope[i, j].bend > 0.0
    if bends and piece % 2 == 0 and not is_active(core, i):
        coords.alpha[i] = slope_value(core, i, piece // 2, 0.0)
    to_slope(core, i, j)
    if not bends:
        # (On a slanted piece alpha stays, and determines u.)
        before, coords.alpha[i] = coords.alpha[i], slope_value(core, i, j, 0.0)
        change = coords.alpha[i] - before
        if is_missed(core, i, change):
            # Rounding of t makes a fast alpha miss the end of its knot.
            drop(core, i, change)


@njit(**PART)
def is_missed(core, i, change):  # type: ignore[no-untyped-def]
    """Whether a change of alpha_i shows in its own response or in a border equation."""
    coords, active, tol = core.coords, core.active, core.tol
    size = max(coords.fence[i].scale, abs(coords.u[i]))
    missed = coords.status[i].own * abs(change) > tol.dropped * size
    for c in range(active.column.size):
        off = abs(change * coords.border[i, c])
        missed = missed or off > tol.dropped * active.column[c].weight
    return missed


@njit(**PART)
def drop(core, i, change):  # type: ignore[no-untyped-def]
    """Update u after a change of alpha_i; the active coordinates compensate for it before the path
    continues (`homotopy.tracker.proof.absorb_dropped`)."""
    coords, active, motion, window = core.coords, core.active, core.motion, core.window
    fixed, event, scope = core.fixed, core.event, core.scope
    product_with(core, fixed.mode, i, coords.near, scope.examined, window.sums)
    for k in range(scope.examined):
        coords.u[coords.near[k]] += change * window.sums[k]
    if fixed.mode != ROWS:
        add_row(core, fixed.mode, i, change, motion.w)
    for c in range(active.column.size):
        active.column[c].dropped += change * coords.border[i, c]
    event.dropped = 1
