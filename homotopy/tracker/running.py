"""The one compiled function that Python calls, and its argument."""

from __future__ import annotations

from typing import Any

from numba import njit

from homotopy.compilation import held, lay_down
from homotopy.tracker.compiling import OUTER, PART
from homotopy.tracker.crossing import begin_jump, end_jump, end_round, flip, look_ahead
from homotopy.tracker.follow import follow
from homotopy.tracker.forking import move_row, undo
from homotopy.tracker.legs import begin_leg, end_leg
from homotopy.tracker.pieces import take_up_lines
from homotopy.tracker.pivots import admit
from homotopy.tracker.proof import correct, refine, worst_off
from homotopy.tracker.sizes import factor_error, measure
from homotopy.tracker.state import (
    ACROSS,
    AHEAD,
    ARRIVED,
    BEGINNING,
    FACTORING,
    FLIPPING,
    FORKING,
    GO,
    ON_WAY,
    REFINING,
    RETURNING,
    ROUND_DONE,
    SHARPENING,
    TAKING_UP,
    TURNING,
    UNDOING,
    WALLS,
    WRITING,
    Arrays,
    Core,
    Scalars,
)
from homotopy.tracker.windows import write_flat

__all__ = ["held_core", "run", "run_on"]


@njit(**PART)
def run_on(core):  # type: ignore[no-untyped-def]
    """Dispatch on the phase until a code other than GO is returned."""
    sizes, jumping, plan = core.sizes, core.jumping, core.legs.plan[0]
    while True:
        phase = jumping.in_jump
        if phase in (ON_WAY, ACROSS):
            code = follow(core)
            if phase == ACROSS and code == ARRIVED:
                jumping.in_jump = ROUND_DONE
                code = GO
            elif phase == ON_WAY and code == WALLS:
                code = begin_jump(core)
            elif phase == ON_WAY and code == ARRIVED and plan.leg < plan.count:
                code = end_leg(core)
        elif phase == TURNING:
            code = begin_leg(core)
        elif phase == BEGINNING:
            code = begin_jump(core)
        elif phase == FLIPPING:
            code = flip(core)
        elif phase == ROUND_DONE:
            code = end_round(core)
        elif phase == AHEAD:
            code = look_ahead(core)
        elif phase == RETURNING:
            code = end_jump(core)
        elif phase == FACTORING:
            code = admit(core)
        elif phase == REFINING:
            code = correct(core, False)
            code = ARRIVED if code == GO else code
        elif phase == SHARPENING:
            refine(core)
            code = ARRIVED
        elif phase == TAKING_UP:
            take_up_lines(core)
            code = ARRIVED
        elif phase == WRITING:
            write_flat(core)
            code = ARRIVED
        elif phase == FORKING:
            code = move_row(core)
        elif phase == UNDOING:
            undo(core)
            code = ARRIVED
        else:
            measure(core)
            sizes.off = worst_off(core)
            sizes.factor_off = factor_error(core)
            code = ARRIVED
        if code != GO:
            return code


@njit(**OUTER)
def run(core):  # type: ignore[no-untyped-def]
    """Make C-steps and D-steps until the route ends or a request comes up; see `follow`."""
    return run_on(core)


def core_of(arrays: Arrays, numbers: Scalars, tol: Any, opt: Any) -> Core:
    """Return what compiled functions share."""
    return Core._make((*arrays, *(record[0] for record in numbers), tol[0], opt[0]))


@njit(**OUTER)
def lay_out(arrays, numbers, tol, opt, room):  # type: ignore[no-untyped-def]
    """Store the same in `room`; return the bytes it takes."""
    core = Core(
        arrays.form,
        arrays.polylines,
        arrays.coords,
        arrays.active,
        arrays.motion,
        arrays.window,
        arrays.record,
        arrays.base,
        arrays.legs,
        numbers.route[0],
        numbers.fixed[0],
        numbers.sizes[0],
        numbers.system[0],
        numbers.event[0],
        numbers.jumping[0],
        numbers.scope[0],
        numbers.cursor[0],
        tol[0],
        opt[0],
    )
    return lay_down(core, room)  # type: ignore[call-arg]


def held_core(arrays: Arrays, numbers: Scalars, tol: Any, opt: Any) -> Any:
    """Return the argument of `run`, good for as long as these arrays are used."""
    return held(core_of, lay_out, arrays, numbers, tol, opt)
