"""Which stored results still hold: written here only.

    system.solved   alpha_A', b' and w' are those of the present pieces and route
    system.rated    u' is that of these rates
    system.ready    what `Active.half` holds: 2 aims and border, 1 the border only, 0 neither
    event.fresh     the list of tied coordinates is that of the present point

Compiled code calls these functions by name; Python calls `Memory.note`, which interprets them (so
none of them calls another).
"""

from __future__ import annotations

from numba import njit

from homotopy.tracker.compiling import PART

__all__ = [
    "aims_changed",
    "border_half_copied",
    "examined_changed",
    "factor_changed",
    "half_computed",
    "point_moved",
    "rates_changed",
    "rates_computed",
    "response_rates_changed",
    "response_rates_computed",
    "route_changed",
    "system_changed",
    "ties_listed",
]


# ------------------------------------------------------------------ what has changed


@njit(**PART)
def rates_changed(core):  # type: ignore[no-untyped-def]
    """A piece or the active set has changed, or the rates were used for something else."""
    core.system.solved = core.system.rated = 0


@njit(**PART)
def response_rates_changed(core):  # type: ignore[no-untyped-def]
    """u' was used for something else; alpha_A', b' and w' still hold."""
    core.system.rated = 0


@njit(**PART)
def aims_changed(core):  # type: ignore[no-untyped-def]
    """The pull of the moving slopes has changed, and with it the right-hand side of A."""
    core.system.ready = min(core.system.ready, 1)


@njit(**PART)
def factor_changed(core):  # type: ignore[no-untyped-def]
    """`half` no longer belongs to the factor, or has been updated too often."""
    core.system.ready = 0


@njit(**PART)
def system_changed(core):  # type: ignore[no-untyped-def]
    """Everything about the active system has changed."""
    core.system.solved = core.system.rated = core.system.ready = 0


@njit(**PART)
def route_changed(core):  # type: ignore[no-untyped-def]
    """The parameter that moves has changed, or what moves with it."""
    core.system.solved = core.system.rated = core.event.fresh = 0
    core.system.ready = min(core.system.ready, 1)


@njit(**PART)
def examined_changed(core):  # type: ignore[no-untyped-def]
    """Other coordinates are examined than before."""
    core.system.rated = core.event.fresh = 0


@njit(**PART)
def point_moved(core):  # type: ignore[no-untyped-def]
    """The point has moved (or its corners have) since its ties were listed."""
    core.event.fresh = 0


# ------------------------------------------------------------------ what has been computed


@njit(**PART)
def half_computed(core):  # type: ignore[no-untyped-def]
    """`half` is that of the factor and of the present aims."""
    core.system.ready = 2


@njit(**PART)
def border_half_copied(core):  # type: ignore[no-untyped-def]
    """The border part of `half` is that of the factor."""
    core.system.ready = 1


@njit(**PART)
def rates_computed(core):  # type: ignore[no-untyped-def]
    """alpha_A', b' and w' are those of the present pieces; u' is not."""
    core.system.solved, core.system.rated = 1, 0


@njit(**PART)
def response_rates_computed(core):  # type: ignore[no-untyped-def]
    """u' is that of the present rates."""
    core.system.rated = 1


@njit(**PART)
def ties_listed(core):  # type: ignore[no-untyped-def]
    """The list of tied coordinates is that of the present point."""
    core.event.fresh = 1
