"""Polylines here and now: where corners and slopes are, how near a coordinate must be to stand
there, and which speeds are rounding (see `homotopy.tracker.tolerances`).
"""

from __future__ import annotations

from numba import njit

from homotopy.tracker.compiling import PART
from homotopy.tracker.tolerances import EPS

__all__ = [
    "corner_now",
    "corner_rate",
    "imply",
    "imply_all",
    "imply_rate",
    "near_a_of",
    "near_of",
    "place_of",
    "slope_rate",
    "slope_value",
    "still_alpha",
    "still_of",
]


@njit(**PART)
def corner_now(core, i, j):  # type: ignore[no-untyped-def]
    lines, here, route = core.lines, core.here, core.route
    corner = lines.corner[i, j]
    return corner.at + corner.rate * route.t + here.fence[i].shift * route.mu


@njit(**PART)
def corner_rate(core, i, j):  # type: ignore[no-untyped-def]
    lines, here, route = core.lines, core.here, core.route
    return lines.corner[i, j].rate * route.dt + here.fence[i].shift * route.dmu


@njit(**PART)
def slope_rate(core, i, j):  # type: ignore[no-untyped-def]
    lines, here, route = core.lines, core.here, core.route
    slope, fence = lines.slope[i, j], here.fence[i]
    return slope.rate * route.dt + (fence.lift + slope.bend * fence.shift) * route.dmu


@njit(**PART)
def slope_value(core, i, j, u):  # type: ignore[no-untyped-def]
    """alpha of slope j of coordinate i at response u."""
    lines, here, route = core.lines, core.here, core.route
    slope, fence = lines.slope[i, j], here.fence[i]
    off = (fence.lift + slope.bend * fence.shift) * route.mu
    value = slope.at + slope.rate * route.t + off
    if slope.bend > 0.0:
        value -= slope.bend * u
    return value


@njit(**PART)
def near_of(core, i):  # type: ignore[no-untyped-def]
    """How near to a corner u_i stands on it (see `homotopy.tracker.tolerances`)."""
    here, fixed, sizes, system, tol = core.here, core.fixed, core.sizes, core.system, core.tol
    fence = here.fence[i]
    size = max(max(fence.scale, abs(here.u[i])), tol.of_w * fence.root * sizes.length)
    if fixed.slanted and here.spot[i].bend > 0.0:
        # There u is what alpha says, and alpha is the sharper of the two.
        near = near_a_of(core, i, 0.0) / here.spot[i].bend
        return near + tol.blur * EPS * abs(here.u[i]) + system.blur * abs(here.du[i])
    return tol.near * size + fence.root * sizes.noise + system.blur * abs(here.du[i])


@njit(**PART)
def near_a_of(core, i, rate):  # type: ignore[no-untyped-def]
    """The same for alpha_i, which moves at `rate`, and the end of its knot."""
    here, sizes, system, tol = core.here, core.sizes, core.system, core.tol
    fence, spot = here.fence[i], here.spot[i]
    unit = spot.height
    rounding = tol.alpha_blur * EPS * abs(here.alpha[i]) + system.blur * abs(rate)
    if fence.root > 0.0:
        size = max(fence.scale, tol.of_w * fence.root * sizes.length)
        unit = min(unit, size / spot.weight) if unit > 0.0 else size / spot.weight
        rounding += sizes.noise / fence.root
    if spot.height > 0.0:
        # Where a response says nothing about alpha, alpha still has its ends.
        rounding = min(rounding, tol.ends * tol.near * max(spot.height, abs(here.alpha[i])))
    return tol.near * unit + rounding


@njit(**PART)
def still_alpha(core, i):  # type: ignore[no-untyped-def]
    """A speed of alpha_i that is rounding: of the others', or of the balance of moving slopes."""
    here, act, system, tol = core.here, core.act, core.system, core.tol
    still = system.fastest * tol.speed * EPS
    if act.column.size and here.fence[i].root > 0.0:
        still += system.rate_noise / here.fence[i].root
    return still


@njit(**PART)
def still_of(core, i):  # type: ignore[no-untyped-def]
    """A speed of u_i that is rounding; on a slanted piece, where u is what alpha says, of alpha."""
    here, fixed, system = core.here, core.fixed, core.system
    if fixed.slanted and here.spot[i].bend > 0.0:
        return still_alpha(core, i) / here.spot[i].bend
    return system.rate_noise * here.fence[i].root


@njit(**PART)
def place_of(core, i):  # type: ignore[no-untyped-def]
    """Where on its slanted piece the alpha of coordinate i says that it is."""
    here = core.here
    j = here.spot[i].piece // 2
    return (slope_value(core, i, j, 0.0) - here.alpha[i]) / here.spot[i].bend


@njit(**PART)
def imply(core, i):  # type: ignore[no-untyped-def]
    """Let u of coordinate i, on a slanted piece, be what alpha says.

    Where Q_ii times the bend is large a response says little about alpha: rounding of u is much
    more of alpha, and as much again of every u.  Where the piece ends is a matter of alpha, as it
    is with knots; how far the response is from there is kept in `miss`, for refinement.
    """
    here = core.here
    place = place_of(core, i)
    here.spot[i].miss += here.u[i] - place
    here.u[i] = place


@njit(**PART)
def imply_all(core):  # type: ignore[no-untyped-def]
    """The same for all, after u has moved."""
    here, act, fixed, system = core.here, core.act, core.fixed, core.system
    if fixed.slanted:
        for k in range(system.actives):
            if here.spot[act.index[k]].bend > 0.0:
                imply(core, act.index[k])


@njit(**PART)
def imply_rate(core, i):  # type: ignore[no-untyped-def]
    """u' of coordinate i, on a slanted piece, from alpha'."""
    here, act = core.here, core.act
    spot = here.spot[i]
    rate = slope_rate(core, i, spot.piece // 2)
    rate = (rate - act.rate[spot.place]) / spot.bend
    spot.miss_rate = here.du[i] - rate
    here.du[i] = rate
