"""Adding coordinates to the factor and removing them, and tests of independence."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from homotopy.tracker.compiling import PART, SUM
from homotopy.tracker.factor import back_substitute, forward_substitute, remove_column, rotate
from homotopy.tracker.nearness import near_of
from homotopy.tracker.products import add_row, product_with, response
from homotopy.tracker.rates import right_side_of
from homotopy.tracker.state import BY_DIRECTION, ROWS
from homotopy.tracker.tolerances import EPS
from homotopy.tracker.validity import rates_changed

__all__ = ["append", "append_slanted", "pivot_and_verdict", "pivot_of", "remove", "rounding_of"]


@njit(**PART)
def remove(core, i):  # type: ignore[no-untyped-def]
    """Remove coordinate i from the factor."""
    coords, active, window, system, scope = (
        core.coords,
        core.active,
        core.window,
        core.system,
        core.scope,
    )
    size, index, position = system.actives, active.index, coords.status[i].place
    remove_column(active.factor, size, position, active.work)
    if system.ready:
        for row in range(active.column.size + 1):
            rotate(active.half, row, size, position, active.work)
    if scope.window == BY_DIRECTION:
        window.free[scope.free_lines] = window.line[position]
        scope.free_lines += 1
    for k in range(position, size - 1):
        index[k] = index[k + 1]
        window.line[k] = window.line[k + 1]
        coords.status[index[k]].place = k
    system.actives = size - 1
    rates_changed(core)


@njit(**SUM)
def pivot_of(core, i, extra):  # type: ignore[no-untyped-def]
    """Return the squared pivot of coordinate i, with `extra` on its diagonal; set ``work[0]``."""
    coords, active, fixed, system = core.coords, core.active, core.fixed, core.system
    size, row = system.actives, active.work[0]
    product_with(core, fixed.mode, i, active.index, size, row)
    for c in range(active.column.size):
        weight = fixed.rho * coords.border[i, c]
        for k in range(size):
            row[k] += weight * coords.border[active.index[k], c]
    forward_substitute(active.factor, size, row)
    pivot = coords.status[i].diag + extra
    for k in range(size):
        pivot -= row[k] * row[k]
    diagonal = coords.status[i].diag + extra
    if fixed.mode != ROWS and size and not pivot > core.tol.dependent * diagonal:
        pivot = sharp_pivot(core, i, extra)
    return pivot


@njit(**PART)
def diagonal_of(core, i):  # type: ignore[no-untyped-def]
    """Return what a slanted piece adds to the diagonal; 0 on a knot."""
    polylines, coords = core.polylines, core.coords
    piece = coords.status[i].piece
    return 0.0 if piece % 2 == 1 else 1.0 / polylines.slope[i, piece // 2].bend


@njit(**SUM)
def sharp_pivot(core, i, extra):  # type: ignore[no-untyped-def]
    """Return the pivot from features, without cancellation: the squared distance of row i from the
    span of the active rows.

    The rows consist of features, border (times sqrt(rho)) and a diagonal for slanted pieces;
    ``work[0]`` is corrected by the part of the remainder that they still see.
    """
    coords, active, motion, fixed, system = (
        core.coords,
        core.active,
        core.motion,
        core.fixed,
        core.system,
    )
    size, x, v, seen, remainder = (
        system.actives,
        active.work[0],
        active.work[1],
        active.work[2],
        motion.remainder,
    )
    for k in range(size):
        v[k] = x[k]
    back_substitute(active.factor, size, v)
    last, tries = np.inf, core.tol.sharpenings if core.tol.cancelled < np.inf else 2
    for attempt in range(tries):
        remainder[:] = 0.0
        add_row(core, fixed.mode, i, 1.0, remainder)
        for k in range(size):
            add_row(core, fixed.mode, active.index[k], -v[k], remainder)
        pivot = extra
        for c in range(remainder.size):
            pivot += remainder[c] * remainder[c]
        for c in range(active.column.size):
            left = coords.border[i, c]
            for k in range(size):
                left -= v[k] * coords.border[active.index[k], c]
            active.column[c].former_rate = left
            pivot += fixed.rho * left * left
        for k in range(size):
            j = active.index[k]
            own = diagonal_of(core, j) * v[k]
            pivot += own * v[k]
            total = response(core, j, remainder) - own
            for c in range(active.column.size):
                total += fixed.rho * coords.border[j, c] * active.column[c].former_rate
            seen[k] = total
        if attempt == tries - 1 or (attempt and pivot > 0.5 * last):
            break
        last = pivot
        forward_substitute(active.factor, size, seen)
        for k in range(size):
            x[k] += seen[k]
        back_substitute(active.factor, size, seen)
        for k in range(size):
            v[k] += seen[k]
    return pivot


@njit(**SUM)
def rounding_of(core, i):  # type: ignore[no-untyped-def]
    """Return the rounding of the pivot with column ``work[0]``, and the mass of its null direction.

    With v the null direction (v_i = 1), the squared pivot is ``v^T Q v`` and has the rounding of
    that sum, so dependence is decided by the Rayleigh quotient of v, not by the pivot alone.  A
    larger pivot, however small, is safe: the error of a solve is proportional to how far alpha
    moves, not to the inverse of the pivot.
    """
    coords, active, system, tol = core.coords, core.active, core.system, core.tol
    size, row, v = system.actives, active.work[0], active.work[1]
    for k in range(size):
        v[k] = row[k]
    back_substitute(active.factor, size, v)
    mass = coords.status[i].weight
    for k in range(size):
        mass += v[k] * v[k] * coords.status[active.index[k]].weight
    return tol.rank * EPS * (1.0 + math.sqrt(size)) * mass, mass


@njit(**PART)
def is_significant(core, i, pivot, mass):  # type: ignore[no-untyped-def]
    """Whether a pivot is significant although it is small relative to its diagonal.

    With features a pivot is the square of a length, and the length is known to a few eps of its
    terms.  If the pivot is treated as 0, alpha_i may move through its whole range; then u_i moves
    by the pivot times that range, and w (hence other responses) by the root of the pivot times it,
    and the path breaks.  (Before its start, and inside a jump, nothing has to be continuous.)
    """
    coords, active, motion, system = core.coords, core.active, core.motion, core.system
    if system.actives >= motion.w.size + active.column.size:
        return False
    known = (core.tol.sharp * EPS) ** 2 * (1.0 + system.actives) * mass
    if not pivot > known:
        return False
    near, height = near_of(core, i), coords.status[i].height
    if pivot * height > near:
        return True
    aside = math.sqrt(pivot) * height * coords.fence[i].root
    return core.route.along == 1 and aside > core.tol.sideways * near


@njit(**PART)
def pivot_and_verdict(core, i, least):  # type: ignore[no-untyped-def]
    """Return the squared pivot of coordinate i on a knot, and a verdict: 1 if i is independent of A
    (with a Rayleigh quotient above `least`), 0 if it depends on A, -1 if Q is not semidefinite."""
    coords, fixed, tol = core.coords, core.fixed, core.tol
    pivot = pivot_of(core, i, 0.0)
    if pivot > tol.dependent * coords.status[i].weight:
        return pivot, 1
    rounding, mass = rounding_of(core, i)
    if pivot > max(rounding, least * mass):
        return pivot, 1
    if fixed.mode != ROWS and tol.cancelled < np.inf and is_significant(core, i, pivot, mass):
        return pivot, 1
    # (Along a null direction of a form that is not semidefinite, slanted pieces move too.)
    below = pivot < -tol.negative_roundings * rounding and pivot < -tol.negative * mass
    if below or not fixed.semidefinite:
        return pivot, -1
    return pivot, 0


@njit(**PART)
def append_slanted(core, i, bend):  # type: ignore[no-untyped-def]
    """Add coordinate i, on a slanted piece, to the factor: 1 / bend on its diagonal keeps it
    independent."""
    pivot = pivot_of(core, i, 1.0 / bend)
    append(core, i, max(pivot, core.fixed.floor / bend))


@njit(**PART)
def append(core, i, pivot):  # type: ignore[no-untyped-def]
    """Add coordinate i, already on its piece, to the factor; its column is ``work[0]``."""
    form, coords, active = core.form, core.coords, core.active
    window, system, scope = core.window, core.system, core.scope
    size, row = system.actives, active.work[0]
    pivot = math.sqrt(pivot)
    for k in range(size):
        active.factor[k, size] = row[k]
    active.factor[size, size] = pivot
    active.index[size] = i
    coords.status[i].place = size
    if scope.window == BY_DIRECTION:
        scope.free_lines -= 1
        line = window.free[scope.free_lines]
        window.line[size] = line
        store, own = form.store, form.slot[i]
        for k in range(scope.examined):
            window.panel[line, k] = store[own, coords.near[k]]
    if system.ready:
        for r in range(0 if system.ready == 2 else 1, active.column.size + 1):
            value = coords.border[i, r - 1] if r else right_side_of(core, i)
            for k in range(size):
                value -= row[k] * active.half[r, k]
            active.half[r, size] = value / pivot
    system.actives = size + 1
    rates_changed(core)
