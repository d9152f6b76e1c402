"""Coordinates in and out of the factor, and whether a column is independent of those in it."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from homotopy.tracker.compiling import PART, SUM
from homotopy.tracker.factor import back_substitute, forward_substitute, remove_column, rotate
from homotopy.tracker.nearness import near_of
from homotopy.tracker.products import add_row, product_with, response
from homotopy.tracker.rates import aim_of
from homotopy.tracker.state import BY_TURN, ROWS
from homotopy.tracker.tolerances import EPS

__all__ = ["append", "pivot_of", "remove", "rounding_of", "tried"]


@njit(**PART)
def remove(core, i):  # type: ignore[no-untyped-def]
    """Take coordinate i out of the factor."""
    here, act, win, system, scope = core.here, core.act, core.win, core.system, core.scope
    size, index, position = system.actives, act.index, here.spot[i].place
    remove_column(act.factor, size, position, act.work)
    if system.ready:
        for row in range(act.column.size + 1):
            rotate(act.half, row, size, position, act.work)
    if scope.window == BY_TURN:
        win.free[scope.lines] = win.line[position]
        scope.lines += 1
    for k in range(position, size - 1):
        index[k] = index[k + 1]
        win.line[k] = win.line[k + 1]
        here.spot[index[k]].place = k
    system.actives = size - 1
    system.solved = 0


@njit(**SUM)
def pivot_of(core, i, extra):  # type: ignore[no-untyped-def]
    """The squared pivot of coordinate i with `extra` on its diagonal; its column is ``work[0]``."""
    here, act, fixed, system = core.here, core.act, core.fixed, core.system
    size, row = system.actives, act.work[0]
    product_with(core, fixed.mode, i, act.index, size, row)
    for c in range(act.column.size):
        weight = fixed.rho * here.border[i, c]
        for k in range(size):
            row[k] += weight * here.border[act.index[k], c]
    forward_substitute(act.factor, size, row)
    pivot = here.spot[i].diag + extra
    for k in range(size):
        pivot -= row[k] * row[k]
    diagonal = here.spot[i].diag + extra
    if fixed.mode != ROWS and size and not pivot > core.tol.dependent * diagonal:
        pivot = sharp_pivot(core, i, extra)
    return pivot


@njit(**PART)
def diagonal_of(core, i):  # type: ignore[no-untyped-def]
    """What a slanted piece adds to the diagonal; 0 on a knot."""
    lines, here = core.lines, core.here
    piece = here.spot[i].piece
    return 0.0 if piece % 2 == 1 else 1.0 / lines.slope[i, piece // 2].bend


@njit(**SUM)
def sharp_pivot(core, i, extra):  # type: ignore[no-untyped-def]
    """The same from features, without cancellation: the squared length of what the active rows
    leave of row i.

    The rows are those of features, border (times sqrt(rho)) and a diagonal of slanted pieces;
    ``work[0]`` is corrected once by what they still see of the rest.
    """
    here, act, mov, fixed, system = core.here, core.act, core.mov, core.fixed, core.system
    size, x, v, seen, rest = system.actives, act.work[0], act.work[1], act.work[2], mov.rest
    for k in range(size):
        v[k] = x[k]
    back_substitute(act.factor, size, v)
    last, tries = np.inf, core.tol.sharpenings if core.tol.cancelled < np.inf else 2
    for attempt in range(tries):
        for c in range(rest.size):
            rest[c] = 0.0
        add_row(core, fixed.mode, i, 1.0, rest)
        for k in range(size):
            add_row(core, fixed.mode, act.index[k], -v[k], rest)
        pivot = extra
        for c in range(rest.size):
            pivot += rest[c] * rest[c]
        for c in range(act.column.size):
            left = here.border[i, c]
            for k in range(size):
                left -= v[k] * here.border[act.index[k], c]
            act.column[c].rest = left
            pivot += fixed.rho * left * left
        for k in range(size):
            j = act.index[k]
            own = diagonal_of(core, j) * v[k]
            pivot += own * v[k]
            total = response(core, j, rest) - own
            for c in range(act.column.size):
                total += fixed.rho * here.border[j, c] * act.column[c].rest
            seen[k] = total
        if attempt == tries - 1 or (attempt and pivot > 0.5 * last):
            break
        last = pivot
        forward_substitute(act.factor, size, seen)
        for k in range(size):
            x[k] += seen[k]
        back_substitute(act.factor, size, seen)
        for k in range(size):
            v[k] += seen[k]
    return pivot


@njit(**SUM)
def rounding_of(core, i):  # type: ignore[no-untyped-def]
    """The rounding of the pivot whose column is ``work[0]``, and the mass of its null direction.

    With v the null direction (v_i = 1), the squared pivot is ``v^T Q v`` and carries the rounding
    of that sum, so dependence is a matter of the Rayleigh quotient of v, not of the pivot alone.  A
    larger pivot, however small, is safe: the error of a solve is proportional to how far alpha
    moves, not to the inverse of the pivot.
    """
    here, act, system, tol = core.here, core.act, core.system, core.tol
    size, row, v = system.actives, act.work[0], act.work[1]
    for k in range(size):
        v[k] = row[k]
    back_substitute(act.factor, size, v)
    mass = here.spot[i].weight
    for k in range(size):
        mass += v[k] * v[k] * here.spot[act.index[k]].weight
    return tol.rank * EPS * (1.0 + math.sqrt(size)) * mass, mass


@njit(**PART)
def counts(core, i, pivot, mass):  # type: ignore[no-untyped-def]
    """Whether a pivot that is small beside its diagonal is one all the same.

    On features it is the square of a length, which is known to a few eps of its terms.  Taken for
    0, it would let alpha_i move through its whole range and u_i by the pivot times that.
    """
    here, act, mov, system = core.here, core.act, core.mov, core.system
    if system.actives >= mov.w.size + act.column.size:
        return False
    known = (core.tol.sharp * EPS) ** 2 * (1.0 + system.actives) * mass
    return pivot > known and pivot * here.spot[i].height > near_of(core, i)


@njit(**PART)
def tried(core, i, least):  # type: ignore[no-untyped-def]
    """The squared pivot of coordinate i on a knot, and a verdict: 1 if it is independent of A (with
    a Rayleigh quotient above `least`), 0 if it depends on A, -1 if Q is not semidefinite."""
    here, fixed, tol = core.here, core.fixed, core.tol
    pivot = pivot_of(core, i, 0.0)
    if pivot > tol.dependent * here.spot[i].weight:
        return pivot, 1
    rounding, mass = rounding_of(core, i)
    if pivot > max(rounding, least * mass):
        return pivot, 1
    if fixed.mode != ROWS and tol.cancelled < np.inf and counts(core, i, pivot, mass):
        return pivot, 1
    # (Along a null direction of a form that is not semidefinite slanted pieces move as well.)
    below = pivot < -tol.surely * rounding and pivot < -tol.negative * mass
    if below or not fixed.semidefinite:
        return pivot, -1
    return pivot, 0


@njit(**PART)
def append(core, i, pivot):  # type: ignore[no-untyped-def]
    """Coordinate i, already on its piece, joins the factor; its column is ``work[0]``."""
    form, here, act = core.form, core.here, core.act
    win, system, scope = core.win, core.system, core.scope
    size, row = system.actives, act.work[0]
    pivot = math.sqrt(pivot)
    for k in range(size):
        act.factor[k, size] = row[k]
    act.factor[size, size] = pivot
    act.index[size] = i
    here.spot[i].place = size
    if scope.window == BY_TURN:
        scope.lines -= 1
        line = win.free[scope.lines]
        win.line[size] = line
        store, own = form.store, form.slot[i]
        for k in range(scope.looked):
            win.panel[line, k] = store[own, here.near[k]]
    if system.ready:
        for r in range(0 if system.ready == 2 else 1, act.column.size + 1):
            value = here.border[i, r - 1] if r else aim_of(core, i)
            for k in range(size):
                value -= row[k] * act.half[r, k]
            act.half[r, size] = value / pivot
    system.actives = size + 1
    system.solved = 0
