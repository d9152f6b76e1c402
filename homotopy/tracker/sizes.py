"""The sizes from which tolerances and allowed errors (`homotopy.tracker.proof`) are made.

They are measured whenever u has been recomputed.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from homotopy.compilation import protect
from homotopy.compilation.selection import smallest
from homotopy.tracker.compiling import OUTER, PART
from homotopy.tracker.products import add_row, response
from homotopy.tracker.state import ROWS
from homotopy.tracker.tolerances import EPS, GOLDEN, TINY

__all__ = ["corner_sizes", "factor_error", "knot_terms", "least_terms", "measure"]


@njit(**OUTER)
def corner_sizes(corner, status, work, t, otherwise):  # type: ignore[no-untyped-def]
    """Measure the corners of each coordinate at t.

    * `nearest`: the terms ``|at| + |rate t|`` of its corner nearest to 0, because the rounding of a
      corner is relative to its terms (0 for a corner that stays at 0);
    * `apart`: the smallest distance between two of its corners;
    * `usual`: the smallest nonzero terms of its corners, at most the median of these over all
      coordinates (`otherwise` if all corners are 0).
    """
    count = np.int64(0)
    for i in range(status.size):
        nearest = least = apart = np.inf
        before = np.nan
        for j in range(corner.shape[1]):
            at, moved = corner[i, j].at, 0.0
            if corner[i, j].rate != 0.0:
                moved = corner[i, j].rate * t
            size, place = abs(at) + abs(moved), at + moved
            nearest = min(nearest, size)
            if 0.0 < size < least:
                least = size
            if 0.0 < place - before < apart:
                apart = place - before
            before = place
        status[i].apart, status[i].nearest = apart, nearest if nearest < np.inf else 0.0
        status[i].usual = least
        if least < np.inf:
            work[count] = least
            count += 1
    middle = smallest(work[:count], count // 2) if count else otherwise
    for i in range(status.size):
        status[i].usual = min(status[i].usual, middle)


@njit(**PART)
def measure_columns(core):  # type: ignore[no-untyped-def]
    """Measure the error of each border equation, and the size of its terms, now and on the span."""
    coords, active, route = core.coords, core.active, core.route
    span = abs(route.last - route.first)
    if active.column.size:
        largest_so_far(core)
    for c in range(active.column.size):
        column = active.column[c]
        off, lost, weight, most = -column.target, 0.0, abs(column.target), 0.0
        for i in range(coords.u.size):
            part = coords.border[i, c] * coords.alpha[i]
            # Sum the rounding errors separately: large alphas may cancel to the last digit and
            # leave the balance to tiny ones.
            total = off + part
            kept = total - off
            lost += (off - (total - kept)) + (part - kept)
            off = total
            weight += abs(part)
            most += abs(coords.border[i, c] * coords.status[i].most)
        column.off, column.weight, column.dropped = off + lost, weight, 0.0
        column.most = most + span * abs(column.target1) + abs(column.target0)


@njit(**PART)
def largest_so_far(core):  # type: ignore[no-untyped-def]
    """Update the largest size of each alpha, whose rounding remains in the border equations.  On a
    slope it is the largest on the whole span, because t is known to a few eps of the span."""
    polylines, coords, route = core.polylines, core.coords, core.route
    for i in range(coords.u.size):
        status = coords.status[i]
        status.most = max(status.most, abs(coords.alpha[i]))
        if status.piece % 2 == 0 and status.bend == 0.0:
            slope = polylines.slope[i, status.piece // 2]
            for t in (route.first, route.last):
                size = abs(slope.at + slope.rate * t)
                if size < np.inf:
                    status.most = max(status.most, size)


@njit(**PART)
def largest_alpha(core, i):  # type: ignore[no-untyped-def]
    """Return a bound on alpha_i: its largest slope, or what the balance allows; 0 if unknown."""
    coords, active = core.coords, core.active
    most = coords.status[i].slope if coords.status[i].slope > 0.0 else np.inf
    for c in range(active.column.size):
        share = abs(coords.border[i, c])
        if share > 0.0 and active.column[c].weight > 0.0:
            most = min(most, active.column[c].weight / share)
    return most if most < np.inf else 0.0


@njit(**PART)
def border_part(core, i):  # type: ignore[no-untyped-def]
    """Return ``sum_c |B_ic b_c|``."""
    coords, active = core.coords, core.active
    total = 0.0
    for c in range(active.column.size):
        total += abs(coords.border[i, c] * active.column[c].b)
    return total


@njit(**PART)
def least_terms(core, i):  # type: ignore[no-untyped-def]
    """Return the size of the terms whose rounding stays in u_i even if u_i should be 0: the usual
    corner or, if one corner is at 0, at most what the alphas add up to."""
    status, possible = core.coords.status[i], core.sizes.possible
    most = status.length * possible
    if status.nearest > 0.0 or not most > 0.0:
        return status.usual
    return min(status.usual, most)


@njit(**PART)
def knot_terms(core):  # type: ignore[no-untyped-def]
    """Return the largest ratio, over the coordinates on knots, of the terms of the corner to the
    length of the row: w solves their equations, so their rounding is in every u.

    With m border columns, b can absorb the rounding of m equations: skip the m largest ratios of
    coordinates that have a border entry.
    """
    coords, polylines, t = core.coords, core.polylines, core.route.t
    ratio, largest, held, m = core.window.sums, 0.0, 0, core.active.column.size
    for i in range(coords.u.size):
        status = coords.status[i]
        if status.piece % 2 == 0 or not status.length > 0.0:
            continue
        corner = polylines.corner[i, status.piece // 2]
        size = (abs(corner.at) + abs(corner.rate * t)) / status.length
        if weight_in_border(core, i) > 0.0:
            ratio[held] = size
            held += 1
        else:
            largest = max(largest, size)
    return max(largest, smallest(ratio[:held], held - 1 - m)) if held > m else largest


@njit(**PART)
def weight_in_border(core, i):  # type: ignore[no-untyped-def]
    """Return ``sum_c |B_ic|``."""
    border, total = core.coords.border, 0.0
    for c in range(core.active.column.size):
        total += abs(border[i, c])
    return total


@njit(**PART)
def measure(core):  # type: ignore[no-untyped-def]
    """Measure all sizes; u and ``sizes.length`` must be up to date."""
    coords, active, window, route = core.coords, core.active, core.window, core.route
    fixed, sizes, event, tol = core.fixed, core.sizes, core.event, core.tol
    measure_columns(core)
    square = mass = slopes = 0.0
    for i in range(coords.u.size):
        status, size = coords.status[i], abs(coords.alpha[i])
        status.height = largest_alpha(core, i)
        scale = max(tol.of_corner * status.nearest, tol.of_border * border_part(core, i))
        coords.fence[i].scale = scale
        square += (status.length * size) ** 2
        mass += status.length * size
        slopes += status.length * status.slope
    largest = knot_terms(core)
    sizes.norm, sizes.mass = math.sqrt(square), mass + largest
    # (Alphas that should all be 0 are a few eps of their slopes.)
    sizes.possible = sizes.mass + EPS * slopes
    sizes.tracks_w = fixed.mode != ROWS and mass > tol.cancelled * (sizes.length + largest)
    sizes.terms = sizes.mass
    if sizes.tracks_w:
        sizes.norm, sizes.terms = sizes.length, sizes.length + largest
        sizes.most_norm = 0.0
    sizes.most_mass = max(sizes.most_mass, mass)
    for c in range(active.column.size):
        sizes.norm += abs(active.column[c].b) / math.sqrt(fixed.rho)
    # Alphas that were larger leave their rounding behind.
    sizes.most_norm = max(sizes.most_norm, sizes.norm)
    sizes.noise = tol.rounding * EPS * sizes.most_norm
    for i in range(coords.u.size):
        status, u = coords.status[i], abs(coords.u[i])
        least = min(max(u, least_terms(core, i)), status.apart)
        if least > 0.0:
            sizes.strain = max(sizes.strain, EPS * (sizes.mass * status.length + u) / least)
    sizes.without_b = np.inf
    if active.column.size:
        sizes.without_b = 0.0
        for i in range(coords.u.size):
            total = coords.u[i]
            for c in range(active.column.size):
                total -= coords.border[i, c] * active.column[c].b
            sizes.without_b = max(sizes.without_b, abs(total))
    sizes.middle = usual_terms(core, window.sums)
    sizes.checked, event.dropped = route.t, 0


@njit(**PART)
def usual_terms(core, work):  # type: ignore[no-untyped-def]
    """Return the usual size of the terms of the equations that determine b, over |B|."""
    coords, active, fixed, sizes, system = (
        core.coords,
        core.active,
        core.fixed,
        core.sizes,
        core.system,
    )
    most = fixed.widest
    if not most > 0.0:
        return 0.0
    count = system.actives if system.actives else coords.u.size
    for k in range(count):
        i = active.index[k] if system.actives else k
        terms = coords.status[i].length * sizes.terms + coords.status[i].nearest
        work[k] = terms + border_part(core, i)
    return smallest(work[:count], count // 2) / most


@njit(**PART)
def factor_error(core):  # type: ignore[no-untyped-def]
    """Return the distance of the factor from its matrix, each coordinate on its own scale, along a
    generic direction.  The factor is updated with every pivot, and its errors grow."""
    form, coords, active = core.form, core.coords, core.active
    motion, fixed, system = core.motion, core.fixed, core.system
    size, x, y, error = system.actives, active.work[0], active.work[1], 0.0
    for k in range(size):
        part = GOLDEN * (k + 1.0)
        x[k] = (part - math.floor(part) - 0.5) / own_size(core, active.index[k])
    for j in range(size):
        total = 0.0
        for k in range(j, size):
            total += active.factor[j, k] * x[k]
        y[j] = total
    back = active.work[2]
    back[:size] = 0.0
    for j in range(size):
        for k in range(j, size):
            back[k] += active.factor[j, k] * y[j]
    if fixed.mode != ROWS:
        motion.remainder[:] = 0.0
        for k in range(size):
            add_row(core, fixed.mode, active.index[k], x[k], motion.remainder)
    for k in range(size):
        i = active.index[k]
        wanted = 0.0
        if fixed.mode == ROWS:
            own = form.slot[i]
            for j in range(size):
                wanted += form.store[own, active.index[j]] * x[j]
        else:
            wanted = response(core, i, motion.remainder)
        if coords.status[i].bend > 0.0:
            wanted += x[k] / coords.status[i].bend
        y[k] = back[k] - wanted
    for c in range(active.column.size):
        total = 0.0
        for k in range(size):
            total += coords.border[active.index[k], c] * x[k]
        for k in range(size):
            y[k] -= fixed.rho * coords.border[active.index[k], c] * total
    for k in range(size):
        error = max(error, abs(y[k]) / own_size(core, active.index[k]))
    return error / math.sqrt(max(size, 1))


@njit(**PART)
def own_size(core, i):  # type: ignore[no-untyped-def]
    """Return the root of the diagonal of the factored matrix for coordinate i."""
    coords = core.coords
    status = coords.status[i]
    bend = 1.0 / status.bend if status.bend > 0.0 else 0.0
    return math.sqrt(max(status.weight + bend, TINY))


protect(globals())
