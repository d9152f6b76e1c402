"""Move a row through the tableau of an optimum: no factor is updated or restored.

At the base every coordinate k has an *independent* x_k and a *dependent* z_k,

    k in A (on a knot or a slanted piece)      x_k = u_k + alpha_k / bend,     z_k = alpha_k
    all others (on a flat piece)               x_k = alpha_k,                  z_k = u_k

(1 / bend is 0 on a knot), and ``z' = H x'`` with the tableau H (`homotopy.forking.tableau`).  At
the base only the row that moves has a rate x'.  Later the coordinates P that have changed sides
have one too, which keeps them on their new pieces:

    z_p' + delta_p x_p' = 0,   delta = 0 on knots and flat pieces,         (H_PP + delta) x_P' = r_P

So a segment costs |P| columns of H, where the active system costs as many rows of Q as there are
active coordinates.  With the rows of P in A times -1 the matrix is symmetric and quasidefinite: it
has a factor ``L D L^T`` in any order, and a row is appended to it whenever a coordinate joins P.

If the last coordinate that determines b leaves its knot, its pivot is 0.  Then b *slides*, and no
alpha moves, until another coordinate meets a corner; the two have a 2 x 2 pivot.

A walk assumes general position.  It returns `STUCK` when in doubt: at a small pivot, after too many
coordinates or steps, or if a sum is wrong at the end.  It has changed only its own numbers then,
and the tracker follows a route instead.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from homotopy.compilation import FAST, OUTER, PART, by_reference, protect
from homotopy.forking.swapping import bounds, free, join, next_piece, solve, switch, touch
from homotopy.tracker import state

__all__ = ["bound_base", "walk_rows"]


# ------------------------------------------------------------------ a step


@njit(**PART, fastmath=FAST)
def add_column(column, weight, out):  # type: ignore[no-untyped-def]
    for k in range(out.size):
        out[k] += weight * column[k]


@njit(**PART, fastmath=FAST)
def add_columns(walk, count):  # type: ignore[no-untyped-def]
    """Add the columns of P times their rates to z', four at a time."""
    out, columns, slot = walk.dz, walk.columns, walk.slot
    inside, rate = walk.swapped.inside, walk.swapped.rate
    whole = count - count % 4
    for r in range(0, whole, 4):
        a, b, c, d = rate[r], rate[r + 1], rate[r + 2], rate[r + 3]
        p, q = columns[slot[inside[r]]], columns[slot[inside[r + 1]]]
        s, t = columns[slot[inside[r + 2]]], columns[slot[inside[r + 3]]]
        for k in range(out.size):
            out[k] += a * p[k] + b * q[k] + c * s[k] + d * t[k]
    for r in range(whole, count):
        add_column(columns[slot[inside[r]]], rate[r], out)


@njit(**PART)
def follow_rates(walk, count):  # type: ignore[no-untyped-def]
    """Compute the rates that keep the first `count` of P on their pieces, and add their effect
    to z'."""
    swapped, dz = walk.swapped, walk.dz
    rate, inside, delta = swapped.rate, swapped.inside, swapped.delta
    for r in range(count):
        rate[r] = dz[inside[r]] if walk.base.moves[inside[r]] else -dz[inside[r]]
    solve(walk, count)
    add_columns(walk, count)
    for r in range(count):
        dz[inside[r]] = -delta[r] * rate[r] if delta[r] != 0.0 else 0.0


@njit(**PART)
def compute_rates(walk):  # type: ignore[no-untyped-def]
    """Compute all rates, for a unit rate of the alpha of the row that moves."""
    steps, dz = walk.steps[0], walk.dz
    row = steps.row
    based = walk.base.moves[row]
    for k in range(dz.size):
        dz[k] = 0.0
    if based:
        dz[row] = -steps.sign
    else:
        add_column(walk.columns[walk.slot[row]], steps.sign, dz)
    follow_rates(walk, steps.changed)
    if based:
        dz[row] = steps.sign


@njit(**PART)
def first_event(walk):  # type: ignore[no-untyped-def]
    """Return the length of step to the first event, the coordinate (-1 if the move ends before it),
    and whether it meets its upper bound.

    A bound that would not be exceeded by more than rounding before the move ends is no event.
    """
    steps, z, dz, low, high = walk.steps[0], walk.now.z, walk.dz, walk.now.low, walk.now.high
    left = abs(steps.stop - steps.t)
    best, found = left, -1
    for k in range(low.size):
        d = dz[k]
        speed = abs(d)
        gap = high[k] - z[k] if d > 0.0 else z[k] - low[k]
        if gap < best * speed and speed * left > gap + walk.lines.near_z[k]:
            best, found = max(gap, 0.0) / speed, k
    upper = found >= 0 and dz[found] > 0.0
    for r in range(steps.changed):
        d, p = walk.swapped.rate[r], walk.swapped.inside[r]
        speed = abs(d)
        gap = (
            walk.swapped.high_x[r] - walk.now.x[p]
            if d > 0.0
            else walk.now.x[p] - walk.swapped.low_x[r]
        )
        if gap < best * speed and speed * left > gap + walk.lines.near_x[p]:
            best, found, upper = max(gap, 0.0) / speed, p, d > 0.0
    return best, found, upper


@njit(**PART)
def move(walk, length, last):  # type: ignore[no-untyped-def]
    """Make a step of this length; the last one ends exactly at ``steps.stop``."""
    steps = walk.steps[0]
    add_column(walk.dz, length, walk.now.z)
    for r in range(steps.changed):
        walk.now.x[walk.swapped.inside[r]] += length * walk.swapped.rate[r]
    steps.t = steps.stop if last else steps.t + steps.sign * length
    row = steps.row
    if walk.base.moves[row]:
        walk.now.z[row] = steps.t
    else:
        walk.now.x[row] = steps.t


@njit(**PART)
def land(walk, k, upper):  # type: ignore[no-untyped-def]
    """Put coordinate k exactly on the bound it has met, and on the piece beyond; return what
    `refactor` returns."""
    touch(walk, k)
    now, r = walk.now, walk.swapped.place[k]
    if r >= 0 and now.moves[k] != walk.base.moves[k]:
        now.x[k] = walk.swapped.high_x[r] if upper else walk.swapped.low_x[r]
    else:
        now.z[k] = now.high[k] if upper else now.low[k]
    return switch(walk, k, next_piece(walk, k, upper))


@njit(**PART)
def slide(walk):  # type: ignore[no-untyped-def]
    """Move b alone, while no coordinate determines it, until one does.

    The last of P has no pivot: its x moves, the others follow, and no alpha moves.  ``steps.last``
    has just left its knot, which gives the direction.
    """
    steps, dz, swapped, now = walk.steps[0], walk.dz, walk.swapped, walk.now
    last, k, n = steps.changed - 1, steps.last, walk.now.x.size
    loose = swapped.inside[last]
    for q in range(dz.size):
        dz[q] = 0.0
    add_column(walk.columns[walk.slot[loose]], 1.0, dz)
    follow_rates(walk, last)
    swapped.rate[last] = 1.0
    r = swapped.place[k]
    shown = swapped.rate[r] if r >= 0 else dz[k]
    flip = -1.0 if shown * steps.way < 0.0 else 1.0
    largest = 0.0
    for q in range(n):
        if walk.base.moves[q]:
            dz[q] = 0.0
        largest = max(largest, abs(dz[q]))
    best, found, upper = np.inf, -1, False
    for q in range(n):
        d = flip * dz[q]
        gap = now.high[q] - now.z[q] if d > 0.0 else now.z[q] - now.low[q]
        if abs(d) > steps.slow * largest and gap < best * abs(d):
            best, found, upper = max(gap, 0.0) / abs(d), q, d > 0.0
    for r in range(steps.changed):
        q = swapped.inside[r]
        if not walk.base.moves[q]:
            swapped.rate[r] = 0.0
        d = flip * swapped.rate[r]
        gap = swapped.high_x[r] - now.x[q] if d > 0.0 else now.x[q] - swapped.low_x[r]
        if abs(d) > steps.slow * largest and q != k and gap < best * abs(d):
            best, found, upper = max(gap, 0.0) / abs(d), q, d > 0.0
    if found < 0 or shown == 0.0:
        return state.UNBALANCED
    if walk.slot[found] < 0:
        steps.want = found
        return state.MISSING
    add_column(dz, flip * best, now.z)
    for r in range(steps.changed):
        now.x[swapped.inside[r]] += flip * best * swapped.rate[r]
    return state.GO if land(walk, found, upper) == state.GO else state.STUCK


@njit(**PART)
def note_node(walk):  # type: ignore[no-untyped-def]
    """Record the present point, if nodes are recorded; return False if there is no room."""
    steps = walk.steps[0]
    q = steps.nodes
    if not walk.nodes.t.size:
        return True
    if q == walk.nodes.t.size:
        return False
    walk.nodes.t[q] = steps.t
    for k in range(walk.now.z.size):
        walk.nodes.z[q, k] = walk.now.z[k]
    for k in range(walk.now.x.size):
        walk.nodes.x[q, k], walk.nodes.piece[q, k] = walk.now.x[k], walk.now.piece[k]
    steps.nodes = q + 1
    return True


# ------------------------------------------------------------------ the move


@njit(**PART)
def begin(walk):  # type: ignore[no-untyped-def]
    """Go back to the base and take the row off its polyline; return False if that is doubtful."""
    steps, now, base = walk.steps[0], walk.now, walk.base
    for q in range(steps.touched):
        k = walk.touched[q]
        now.x[k], now.piece[k], now.moves[k] = base.x[k], base.piece[k], base.moves[k]
        now.low[k], now.high[k], walk.swapped.place[k] = base.low[k], base.high[k], -1
    for k in range(now.z.size):
        now.z[k] = base.z[k]
    row = steps.row
    based = base.moves[row]
    steps.t = now.z[row] if based else now.x[row]
    steps.sign = 1.0 if steps.stop > steps.t else -1.0
    steps.touched = steps.changed = steps.count = steps.nodes = steps.loose = 0
    steps.begun = 1
    touch(walk, row)
    free(walk, row)
    now.piece[row] = now.moves[row] = 0
    return note_node(walk) and (not based or join(walk, row, 0.0, False) == state.GO)


@njit(**PART, fastmath=FAST)
def is_right(walk):  # type: ignore[no-untyped-def]
    """Whether the end is an optimum: everything within its bounds, and the equations of u and of
    the border hold.  A sum of the equations of u with random signs stands for all of them."""
    steps, z, x, n = walk.steps[0], walk.now.z, walk.now.x, walk.now.x.size
    base, lines = walk.base, walk.lines
    beyond = 0.0
    for k in range(n):
        over = max(z[k] - walk.now.high[k], walk.now.low[k] - z[k])
        beyond = max(beyond, over - steps.slack * walk.lines.near_z[k])
    for r in range(steps.changed):
        p = walk.swapped.inside[r]
        over = max(x[p] - walk.swapped.high_x[r], walk.swapped.low_x[r] - x[p])
        beyond = max(beyond, over - steps.slack * walk.lines.near_x[p])
    total = terms = 0.0
    for k in range(n):
        dz, dx = z[k] - base.z[k], x[k] - base.x[k]
        change, moved = (dz, dx - lines.diagonal[k] * dz) if base.moves[k] else (dx, dz)
        by, off = lines.summed[k] * change, lines.signs[k] * moved
        total += by - off
        terms += abs(by) + abs(off)
    for c in range(lines.border.shape[1]):
        total += lines.summed[n + c] * (z[n + c] - base.z[n + c])
    return beyond <= 0.0 and abs(total) <= steps.sum_off + steps.sum_terms * terms


@njit(**PART)
def is_balanced(walk):  # type: ignore[no-untyped-def]
    """Whether the border equations hold as well as at the base."""
    steps, n = walk.steps[0], walk.now.x.size
    for c in range(walk.lines.border.shape[1]):
        total = terms = 0.0
        for k in range(n):
            now, was = walk.now.x[k], walk.base.x[k]
            if walk.base.moves[k]:
                now, was = walk.now.z[k], walk.base.z[k]
            total += walk.lines.border[k, c] * (now - was)
            terms += abs(walk.lines.border[k, c] * now)
        if not abs(total) <= steps.border_off * terms:
            return False
    return True


@njit(**PART)
def step(walk):  # type: ignore[no-untyped-def]
    """Go to the next event, or to the end; return GO if the walk can continue."""
    steps = walk.steps[0]
    if steps.loose:
        code = slide(walk)
        if code == state.GO:
            steps.loose = 0
        return code
    compute_rates(walk)
    length, k, upper = first_event(walk)
    if k >= 0 and walk.slot[k] < 0:
        steps.want = k
        return state.MISSING
    move(walk, length, k < 0)
    if k < 0:
        return state.GO
    left = walk.now.moves[k]
    code = land(walk, k, upper)
    if code == state.PAUSE and left:
        steps.loose, steps.last, steps.way = 1, k, -1.0 if upper else 1.0
        return state.GO
    return state.GO if code == state.GO else state.STUCK


@njit(**PART)
def go(walk):  # type: ignore[no-untyped-def]
    """Move the row ``steps.row`` to ``steps.stop``."""
    steps = walk.steps[0]
    if walk.slot[steps.row] < 0:
        steps.want = steps.row
        return state.MISSING
    if not steps.begun and not begin(walk):
        return state.STUCK
    while steps.t != steps.stop:
        code = step(walk)
        if code != state.GO:
            return code
        steps.count += 1
        steps.left -= 1
        if steps.count > steps.most or not note_node(walk):
            return state.STUCK
    return state.ARRIVED if is_right(walk) and is_balanced(walk) else state.STUCK


@njit(**PART)
def alphas(walk, out):  # type: ignore[no-untyped-def]
    for k in range(out.size):
        out[k] = walk.now.z[k] if walk.base.moves[k] else walk.now.x[k]


@njit(**PART)
def walk_on(walk, rows, values, job, found_u, found_b, found_alpha):  # type: ignore[no-untyped-def]
    steps, n = walk.steps[0], walk.now.x.size
    while job < rows.size:
        if not steps.begun:
            if steps.left <= 0:
                return state.PAUSE, job
            steps.row, steps.stop = rows[job], values[job]
        code = go(walk)
        if code != state.MISSING:
            steps.begun = 0
        if code != state.ARRIVED:
            return code, job
        row = rows[job]
        found_u[job] = walk.now.z[row]
        if walk.base.moves[row]:
            found_u[job] = walk.now.x[row] - walk.lines.diagonal[row] * walk.now.z[row]
        for c in range(found_b.shape[1]):
            found_b[job, c] = walk.now.z[n + c]
        if found_alpha.shape[0]:
            alphas(walk, found_alpha[job])
        job += 1
    return state.ARRIVED, job


@njit(**OUTER)
def walk_rows(walk, rows, values, job, found_u, found_b, found_alpha):  # type: ignore[no-untyped-def]
    """Move each row in turn, beginning with number `job`, from the base to its value.  Return the
    code at the end, and the number of the row."""
    return walk_on(by_reference(walk), rows, values, job, found_u, found_b, found_alpha)


@njit(**OUTER)
def bound_base(walk):  # type: ignore[no-untyped-def]
    """Write the bounds of the free variable of each coordinate at the base."""
    for k in range(walk.base.x.size):
        low, high = bounds(walk, k)
        walk.base.low[k], walk.base.high[k] = low, high
        walk.now.low[k], walk.now.high[k] = low, high


protect(globals())
