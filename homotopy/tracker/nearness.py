"""Polylines at the present point: positions of corners and slopes, how close counts as "on a
corner", and which speeds are rounding (see `homotopy.tracker.tolerances`).
"""

from __future__ import annotations

from numba import njit

from homotopy.tracker.compiling import PART
from homotopy.tracker.tolerances import EPS

__all__ = [
    "corner_now",
    "corner_rate",
    "gaps_of",
    "near_alpha_of",
    "near_in_loop",
    "near_of",
    "piece_rate",
    "reset_slanted_u",
    "set_slanted_rate",
    "set_slanted_u",
    "slanted_u",
    "slope_rate",
    "slope_value",
    "still_alpha",
    "still_u",
    "update_slanted_u",
]


@njit(**PART)
def corner_now(core, i, j):  # type: ignore[no-untyped-def]
    """Return the u of corner j of coordinate i."""
    polylines, coords, route = core.polylines, core.coords, core.route
    corner = polylines.corner[i, j]
    return corner.at + corner.rate * route.t + coords.fence[i].shift * route.mu


@njit(**PART)
def corner_rate(core, i, j):  # type: ignore[no-untyped-def]
    """Return the rate of corner j of coordinate i on the present route."""
    polylines, coords, route = core.polylines, core.coords, core.route
    return polylines.corner[i, j].rate * route.dt + coords.fence[i].shift * route.dmu


@njit(**PART)
def slope_rate(core, i, j):  # type: ignore[no-untyped-def]
    """Return the rate of slope j of coordinate i on the present route, at fixed u."""
    polylines, coords, route = core.polylines, core.coords, core.route
    slope, fence = polylines.slope[i, j], coords.fence[i]
    return slope.rate * route.dt + (fence.lift + slope.bend * fence.shift) * route.dmu


@njit(**PART)
def slope_value(core, i, j, u):  # type: ignore[no-untyped-def]
    """Return alpha on slope j of coordinate i at the response u."""
    polylines, coords, route = core.polylines, core.coords, core.route
    slope, fence = polylines.slope[i, j], coords.fence[i]
    off = (fence.lift + slope.bend * fence.shift) * route.mu
    value = slope.at + slope.rate * route.t + off
    if slope.bend > 0.0:
        value -= slope.bend * u
    return value


@njit(**PART)
def piece_rate(core, i, rate):  # type: ignore[no-untyped-def]
    """Return the u_i' that keeps active coordinate i on its piece while alpha_i moves at `rate`."""
    piece = core.coords.status[i].piece
    j = piece // 2
    if piece % 2 == 1:
        return corner_rate(core, i, j)
    return (slope_rate(core, i, j) - rate) / core.polylines.slope[i, j].bend


@njit(**PART)
def gaps_of(core, i):  # type: ignore[no-untyped-def]
    """Return the distances of u_i from the corner above and from the corner below."""
    fence, route = core.coords.fence[i], core.route
    off = fence.shift * route.mu - core.coords.u[i]
    over = fence.high + fence.high_rate * route.t + off
    under = -(fence.low + fence.low_rate * route.t + off)
    return over, under


@njit(**PART)
def near_of(core, i):  # type: ignore[no-untyped-def]
    """Return how close to a corner u_i counts as on it (see `homotopy.tracker.tolerances`)."""
    return near_in_loop(core, i)


@njit(**PART, forceinline=True)
def near_in_loop(core, i):  # type: ignore[no-untyped-def]
    """Do as `near_of`, compiled into the caller: for loops over all coordinates."""
    coords, fixed, sizes, system, tol = core.coords, core.fixed, core.sizes, core.system, core.tol
    fence = coords.fence[i]
    # (If b shifts all responses far from 0, the corners are no farther apart.)
    size = max(fence.scale, min(abs(coords.u[i]), sizes.without_b))
    size = max(size, tol.of_w * fence.root * sizes.length)
    near = tol.near * size + fence.root * sizes.noise
    if fixed.slanted and coords.status[i].bend > 0.0:
        near = min(near, near_by_alpha(core, i))
    return near + system.blur * abs(coords.du[i])


@njit(**PART)
def near_by_alpha(core, i):  # type: ignore[no-untyped-def]
    """Return the same for coordinate i on a slanted piece, from how near alpha_i is: there alpha
    determines u, and is more precise if the curvature is large.
    """
    coords, tol = core.coords, core.tol
    return near_alpha_of(core, i, 0.0) / coords.status[i].bend + tol.blur * EPS * abs(coords.u[i])


@njit(**PART)
def near_alpha_of(core, i, rate):  # type: ignore[no-untyped-def]
    """Return how close to the end of its knot alpha_i, moving at `rate`, counts as at the end."""
    coords, sizes, system, tol = core.coords, core.sizes, core.system, core.tol
    fence, status = coords.fence[i], coords.status[i]
    unit = status.height
    rounding = tol.alpha_blur * EPS * abs(coords.alpha[i]) + system.blur * abs(rate)
    if fence.root > 0.0:
        size = max(fence.scale, tol.of_w * fence.root * sizes.length)
        unit = min(unit, size / status.weight) if unit > 0.0 else size / status.weight
        rounding += sizes.noise / fence.root
    if status.height > 0.0:
        # The ends of the knot limit the rounding even if u_i says nothing about alpha.
        rounding = min(rounding, tol.ends * tol.near * max(status.height, abs(coords.alpha[i])))
    return tol.near * unit + rounding


@njit(**PART)
def still_alpha(core, i):  # type: ignore[no-untyped-def]
    """Return the speed of alpha_i below which it is rounding of other speeds or of the pull."""
    coords, active, system, tol = core.coords, core.active, core.system, core.tol
    still = system.fastest * tol.speed * EPS
    if active.column.size and coords.fence[i].root > 0.0:
        still += system.rate_noise / coords.fence[i].root
    return still


@njit(**PART)
def still_u(core, i):  # type: ignore[no-untyped-def]
    """Return the largest speed of u_i that is rounding; on a slanted piece at most that of alpha
    over the bend."""
    coords, fixed, system = core.coords, core.fixed, core.system
    still = system.rate_noise * coords.fence[i].root
    if fixed.slanted and coords.status[i].bend > 0.0:
        still = min(still, still_alpha(core, i) / coords.status[i].bend)
    return still


@njit(**PART)
def slanted_u(core, i):  # type: ignore[no-untyped-def]
    """Return the u on its slanted piece that the alpha of coordinate i determines."""
    coords = core.coords
    j = coords.status[i].piece // 2
    return (slope_value(core, i, j, 0.0) - coords.alpha[i]) / coords.status[i].bend


@njit(**PART)
def set_slanted_u(core, i):  # type: ignore[no-untyped-def]
    """Set u of coordinate i, on a slanted piece, to the value given by alpha.

    If Q_ii times the bend is large, a response says little about alpha: its rounding grows in
    alpha, and from there in every u.  So alpha decides where the piece ends, as on knots.  The
    response minus this u is kept in `miss`, for refinement.
    """
    coords = core.coords
    place = slanted_u(core, i)
    coords.status[i].miss += coords.u[i] - place
    coords.u[i] = place


@njit(**PART)
def update_slanted_u(core):  # type: ignore[no-untyped-def]
    """Set u of all coordinates on slanted pieces, after u has moved; they are in the factor."""
    coords, active, fixed, system = core.coords, core.active, core.fixed, core.system
    if fixed.slanted:
        for k in range(system.actives):
            if coords.status[active.index[k]].bend > 0.0:
                set_slanted_u(core, active.index[k])


@njit(**PART)
def reset_slanted_u(core):  # type: ignore[no-untyped-def]
    """Set u of all coordinates on slanted pieces, after u has been recomputed: `miss` begins at 0.

    The factor may be out of date, so all coordinates are visited.
    """
    coords = core.coords
    if core.fixed.slanted:
        for i in range(coords.u.size):
            coords.status[i].miss = 0.0
            if coords.status[i].bend > 0.0:
                set_slanted_u(core, i)


@njit(**PART)
def set_slanted_rate(core, i):  # type: ignore[no-untyped-def]
    """Compute u' of coordinate i, on a slanted piece, from alpha'."""
    coords = core.coords
    status = coords.status[i]
    rate = piece_rate(core, i, core.active.rate[status.place])
    status.miss_rate = coords.du[i] - rate
    coords.du[i] = rate
