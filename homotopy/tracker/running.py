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
from homotopy.tracker.nearness import reset_slanted_u
from homotopy.tracker.pieces import set_fences, write_depths
from homotopy.tracker.pivots import admit
from homotopy.tracker.proof import correct, correct_with_pivots, measure_errors
from homotopy.tracker.segments import mend_end
from homotopy.tracker.state import (
    ACROSS,
    AHEAD,
    ARRIVED,
    BEGINNING,
    BEGINNING_LEG,
    CORRECTING,
    CORRECTING_WITH_PIVOTS,
    FACTORING,
    FLIPPING,
    FORKING,
    GO,
    MENDING,
    ON_WAY,
    RETURNING,
    ROUND_DONE,
    SETTING_FENCES,
    SETTING_SLANTED,
    UNDOING,
    WALLS,
    WRITING,
    WRITING_DEPTHS,
    Arrays,
    Core,
    Scalars,
)
from homotopy.tracker.windows import write_flat

__all__ = ["run", "stored_core"]


@njit(**PART)
def do_task(core, phase):  # type: ignore[no-untyped-def]
    """Do a single task at the present point, without pivots."""
    if phase == CORRECTING:
        correct(core)
    elif phase == SETTING_FENCES:
        set_fences(core)
    elif phase == WRITING:
        write_flat(core)
    elif phase == SETTING_SLANTED:
        reset_slanted_u(core)
    elif phase == WRITING_DEPTHS:
        write_depths(core)
    elif phase == UNDOING:
        undo(core)
    elif phase == MENDING:
        mend_end(core)
    else:
        measure_errors(core)


@njit(**OUTER)
def run(core):  # type: ignore[no-untyped-def]
    """Do what the phase says (C-steps, D-steps or a single task) until the route or the task ends
    or a request comes up."""
    jumping, plan = core.jumping, core.legs.plan[0]
    while True:
        phase = jumping.phase
        if phase in (ON_WAY, ACROSS):
            code = follow(core)
            if phase == ACROSS and code == ARRIVED:
                jumping.phase = ROUND_DONE
                code = GO
            elif phase == ON_WAY and code == WALLS:
                code = begin_jump(core)
            elif phase == ON_WAY and code == ARRIVED and plan.leg < plan.count:
                code = end_leg(core)
        elif phase == BEGINNING_LEG:
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
        elif phase == CORRECTING_WITH_PIVOTS:
            code = correct_with_pivots(core)
            code = ARRIVED if code == GO else code
        elif phase == FORKING:
            code = move_row(core)
        else:
            do_task(core, phase)
            code = ARRIVED
        if code != GO:
            return code


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


def stored_core(arrays: Arrays, numbers: Scalars, tol: Any, opt: Any) -> Any:
    """Return the argument of `run`, valid as long as these arrays are in use."""
    return held(core_of, lay_out, arrays, numbers, tol, opt)
