"""The sizes that tolerances and the yardstick (`homotopy.tracker.proof`) are made of.

They are measured wherever u has been recomputed.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from homotopy.tracker.compiling import OUTER, PART
from homotopy.tracker.products import add_row, response
from homotopy.tracker.selection import smallest
from homotopy.tracker.state import ROWS
from homotopy.tracker.tolerances import EPS, GOLDEN, TINY

__all__ = ["corner_sizes", "factor_error", "measure"]


@njit(**OUTER)
def corner_sizes(corner, spot, work, t, otherwise):  # type: ignore[no-untyped-def]
    """Measure the corners of each coordinate at t.

    `nearest` is the size of the terms of its nearest corner that is not 0 (rounding of a corner is
    a matter of its terms), `apart` the least distance between two of its corners, `usual` the
    nearest corner, but no more than the median over all, or `otherwise` if all corners are 0.
    """
    count = np.int64(0)
    for i in range(spot.size):
        least = apart = np.inf
        before = np.nan
        for j in range(corner.shape[1]):
            at, moved = corner[i, j].at, 0.0
            if corner[i, j].rate != 0.0:
                moved = corner[i, j].rate * t
            size, here = abs(at) + abs(moved), at + moved
            if 0.0 < size < least:
                least = size
            if 0.0 < here - before < apart:
                apart = here - before
            before = here
        spot[i].apart, spot[i].nearest = apart, least if least < np.inf else 0.0
        if spot[i].nearest > 0.0:
            work[count] = spot[i].nearest
            count += 1
    middle = smallest(work[:count], count // 2) if count else otherwise
    for i in range(spot.size):
        nearest = spot[i].nearest
        spot[i].usual = min(nearest, middle) if nearest > 0.0 else middle


@njit(**PART)
def measure_columns(core):  # type: ignore[no-untyped-def]
    """By how much each border equation is off, and the size of its terms: now, and on the span."""
    here, act, route = core.here, core.act, core.route
    span = abs(route.last - route.first)
    if act.column.size:
        largest_so_far(core)
    for c in range(act.column.size):
        column = act.column[c]
        off, lost, weight, most = -column.target, 0.0, abs(column.target), 0.0
        for i in range(here.u.size):
            part = here.border[i, c] * here.alpha[i]
            # What is rounded off is added up apart: large alphas may cancel to the last digit and
            # leave the balance to tiny ones.
            total = off + part
            kept = total - off
            lost += (off - (total - kept)) + (part - kept)
            off = total
            weight += abs(part)
            most += abs(here.border[i, c] * here.spot[i].most)
        column.off, column.weight, column.dropped = off + lost, weight, 0.0
        column.most = most + span * abs(column.moves) + abs(column.aim)


@njit(**PART)
def largest_so_far(core):  # type: ignore[no-untyped-def]
    """An alpha counts in a border equation for as much as it has been: that leaves its rounding
    behind.  One on a slope counts for what it is anywhere on the span: t is known to a few eps of
    that."""
    lines, here, route = core.lines, core.here, core.route
    for i in range(here.u.size):
        spot = here.spot[i]
        spot.most = max(spot.most, abs(here.alpha[i]))
        if spot.piece % 2 == 0 and spot.bend == 0.0:
            slope = lines.slope[i, spot.piece // 2]
            for t in (route.first, route.last):
                size = abs(slope.at + slope.rate * t)
                if size < np.inf:
                    spot.most = max(spot.most, size)


@njit(**PART)
def largest_alpha(core, i):  # type: ignore[no-untyped-def]
    """What alpha_i can be: its largest slope, or what the balance bears; 0 if neither is known."""
    here, act = core.here, core.act
    most = here.spot[i].slope if here.spot[i].slope > 0.0 else np.inf
    for c in range(act.column.size):
        share = abs(here.border[i, c])
        if share > 0.0 and act.column[c].weight > 0.0:
            most = min(most, act.column[c].weight / share)
    return most if most < np.inf else 0.0


@njit(**PART)
def border_part(core, i):  # type: ignore[no-untyped-def]
    """``sum_c |B_ic b_c|``."""
    here, act = core.here, core.act
    total = 0.0
    for c in range(act.column.size):
        total += abs(here.border[i, c] * act.column[c].b)
    return total


@njit(**PART)
def measure(core):  # type: ignore[no-untyped-def]
    """Measure all of them; u and ``sizes.length`` must be up to date."""
    lines, here, act, win, route = core.lines, core.here, core.act, core.win, core.route
    fixed, sizes, event, tol = core.fixed, core.sizes, core.event, core.tol
    measure_columns(core)
    square = mass = largest = 0.0
    for i in range(here.u.size):
        spot, size = here.spot[i], abs(here.alpha[i])
        spot.height = largest_alpha(core, i)
        scale = max(tol.of_corner * spot.nearest, tol.of_border * border_part(core, i))
        here.fence[i].scale = scale
        square += (spot.length * size) ** 2
        mass += spot.length * size
        if spot.piece % 2 == 1 and spot.length > 0.0:
            # w solves the equations of those on knots: their rounding is in every u.
            corner = lines.corner[i, spot.piece // 2]
            largest = max(largest, (abs(corner.at) + abs(corner.rate * route.t)) / spot.length)
    sizes.norm, sizes.mass = math.sqrt(square), mass + largest
    sizes.own_w = fixed.mode != ROWS and mass > tol.cancelled * (sizes.length + largest)
    sizes.terms = sizes.mass
    if sizes.own_w:
        sizes.norm, sizes.terms = sizes.length, sizes.length + largest
        sizes.most_norm = 0.0
    sizes.most_mass = max(sizes.most_mass, mass)
    for c in range(act.column.size):
        sizes.norm += abs(act.column[c].b) / math.sqrt(fixed.rho)
    # Alphas that were larger leave their rounding behind.
    sizes.most_norm = max(sizes.most_norm, sizes.norm)
    sizes.noise = tol.rounding * EPS * sizes.most_norm
    for i in range(here.u.size):
        spot, u = here.spot[i], abs(here.u[i])
        least = min(max(u, spot.usual), spot.apart)
        if least > 0.0:
            sizes.strain = max(sizes.strain, EPS * (sizes.mass * spot.length + u) / least)
    sizes.middle = usual_terms(core, win.sums)
    sizes.checked, event.dropped = route.t, 0


@njit(**PART)
def usual_terms(core, work):  # type: ignore[no-untyped-def]
    """The usual size of the terms of the equations that b is found from, for B = 1."""
    here, act, fixed, sizes, system = core.here, core.act, core.fixed, core.sizes, core.system
    most = fixed.widest
    if not most > 0.0:
        return 0.0
    count = system.actives if system.actives else here.u.size
    for k in range(count):
        i = act.index[k] if system.actives else k
        terms = here.spot[i].length * sizes.terms + here.spot[i].nearest
        work[k] = terms + border_part(core, i)
    return smallest(work[:count], count // 2) / most


@njit(**PART)
def factor_error(core):  # type: ignore[no-untyped-def]
    """How far the factor is from its matrix, each coordinate on its own scale, along a generic
    direction.  It is updated with every pivot; the error of one is multiplied by the next."""
    form, here, act = core.form, core.here, core.act
    mov, fixed, system = core.mov, core.fixed, core.system
    size, x, y, error = system.actives, act.work[0], act.work[1], 0.0
    for k in range(size):
        part = GOLDEN * (k + 1.0)
        x[k] = (part - math.floor(part) - 0.5) / own_size(core, act.index[k])
    for j in range(size):
        total = 0.0
        for k in range(j, size):
            total += act.factor[j, k] * x[k]
        y[j] = total
    back = act.work[2]
    for k in range(size):
        back[k] = 0.0
    for j in range(size):
        for k in range(j, size):
            back[k] += act.factor[j, k] * y[j]
    if fixed.mode != ROWS:
        for c in range(mov.rest.size):
            mov.rest[c] = 0.0
        for k in range(size):
            add_row(core, fixed.mode, act.index[k], x[k], mov.rest)
    for k in range(size):
        i = act.index[k]
        wanted = 0.0
        if fixed.mode == ROWS:
            own = form.slot[i]
            for j in range(size):
                wanted += form.store[own, act.index[j]] * x[j]
        else:
            wanted = response(core, i, mov.rest)
        if here.spot[i].bend > 0.0:
            wanted += x[k] / here.spot[i].bend
        y[k] = back[k] - wanted
    for c in range(act.column.size):
        total = 0.0
        for k in range(size):
            total += here.border[act.index[k], c] * x[k]
        for k in range(size):
            y[k] -= fixed.rho * here.border[act.index[k], c] * total
    for k in range(size):
        error = max(error, abs(y[k]) / own_size(core, act.index[k]))
    return error / math.sqrt(max(size, 1))


@njit(**PART)
def own_size(core, i):  # type: ignore[no-untyped-def]
    """The root of the diagonal of the factored matrix for coordinate i."""
    here = core.here
    spot = here.spot[i]
    bend = 1.0 / spot.bend if spot.bend > 0.0 else 0.0
    return math.sqrt(max(spot.weight + bend, TINY))
