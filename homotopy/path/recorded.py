"""Convert the tracker's record into the segments and jumps of a path."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from homotopy.model import Problem
from homotopy.path.jump_record import METHODS, JumpRecord
from homotopy.path.segments import Segments

__all__ = ["jump_records", "segments_of", "segments_of_legs"]

Index = npt.NDArray[np.int64]


def segments_of(rec: Any, cursor: Any, first_piece: Index) -> Segments:
    """Return the recorded segments; of several changes of piece before a segment, keep the last."""
    count, entries = int(cursor.segments), int(cursor.entries)
    segment = rec.segment[:count]
    log = rec.log[: segment.log[-1] if count else 0]
    owner = np.searchsorted(segment.log, np.arange(log.size), side="right")
    last = owner
    if log.size:
        # The last entry of each coordinate within each segment, in the order of travel.
        key = owner * first_piece.size + log.i
        _, back = np.unique(key[::-1], return_index=True)
        last = log.size - 1 - back
    return Segments(
        start=segment.start,
        stop=segment.stop,
        offset=np.concatenate([[0], segment.active]),
        active=rec.active[:entries],
        alpha_start=rec.alpha[0, :entries],
        alpha_stop=rec.alpha[1, :entries],
        b_start=rec.border[:count, 0],
        b_stop=rec.border[:count, 1],
        event=np.concatenate([[0], np.cumsum(np.bincount(owner[last], minlength=count))]),
        changed=log.i[last],
        changed_to=log.new[last],
        first_piece=first_piece,
    )


def segments_of_legs(rec: Any, marks: Any, pieces: Index) -> Callable[[int], Segments]:
    """Return the segments of leg k as a function of k; `marks` says where each begins in the
    record, and where the last ends."""
    first, entries = marks.segments, marks.entries
    segment, log = rec.segment[: first[-1]], rec.log[: marks.logged[-1]]
    owner = np.searchsorted(segment.log, np.arange(log.size), side="right")
    leg = np.searchsorted(first, owner, side="right") - 1
    # Changes after the last segment of a leg are in the first pieces of the next.
    own = np.flatnonzero((owner < segment.size) & (np.arange(log.size) >= marks.logged[leg]))
    key = owner[own] * pieces.shape[1] + log.i[own]
    _, back = np.unique(key[::-1], return_index=True)
    last = own[own.size - 1 - back]
    event = np.concatenate([[0], np.cumsum(np.bincount(owner[last], minlength=segment.size))])
    offset = np.concatenate([[0], segment.active])
    changed, changed_to = log.i[last], log.new[last]
    start, stop, active, alpha, border = (
        segment.start,
        segment.stop,
        rec.active,
        rec.alpha,
        rec.border,
    )
    bounds, places, events = first.tolist(), entries.tolist(), event[first].tolist()

    def of(k: int) -> Segments:
        own, held = slice(bounds[k], bounds[k + 1]), slice(places[k], places[k + 1])
        ends, moved = slice(bounds[k], bounds[k + 1] + 1), slice(events[k], events[k + 1])
        return Segments(
            start=start[own],
            stop=stop[own],
            offset=offset[ends] - places[k],
            active=active[held],
            alpha_start=alpha[0, held],
            alpha_stop=alpha[1, held],
            b_start=border[own, 0],
            b_stop=border[own, 1],
            event=event[ends] - events[k],
            changed=changed[moved],
            changed_to=changed_to[moved],
            first_piece=pieces[k],
        )

    return of


def jump_records(rec: Any, cursor: Any, problem: Problem) -> tuple[JumpRecord, ...]:
    """Return the recorded jumps whose far side is recorded too."""
    jumps = rec.jump[: int(cursor.jumps)]
    reached = rec.segment[int(cursor.segments) - 1].log if cursor.segments else 0
    jumps = jumps[jumps.log_end <= reached]
    if not jumps.size:
        return ()
    flipped = _flipped(rec, jumps, problem)
    records = []
    for jump, rows in zip(jumps.tolist(), flipped, strict=True):
        t, before, after, rounds, moved, steps, solver = jump[:7]
        constant = problem.model.objective_constant(t)
        records.append(
            JumpRecord(
                t=t,
                flipped=rows,
                objective_before=problem.sign * before + constant,
                objective_after=problem.sign * after + constant,
                rounds=rounds,
                moved=bool(moved),
                steps=steps,
                solver=METHODS[solver],
            )
        )
    return tuple(records)


def _flipped(rec: Any, jumps: Any, problem: Problem) -> list[Index]:
    """Return, for each jump, the coordinates that end on another branch than before.  A branch is
    the number of jumps to the left of a piece."""
    passed = np.concatenate([[0], np.cumsum(problem.polylines.jump)])
    counts = jumps.log_end - jumps.log
    owner = np.repeat(np.arange(jumps.size), counts)
    place = np.arange(owner.size) - np.repeat(np.cumsum(counts) - counts, counts)
    log = rec.log[np.repeat(jumps.log, counts) + place]
    key = owner * problem.gram.size + log.i
    _, first = np.unique(key, return_index=True)
    _, back = np.unique(key[::-1], return_index=True)
    last = log.size - 1 - back
    old = passed[log.piece[first] // 2] + ((log.piece[first] % 2 == 1) & (log.side[first] > 0))
    changed = old != passed[log.new[last] // 2]
    rows, which = log.i[first][changed], owner[first][changed]
    return np.split(rows, np.searchsorted(which, np.arange(1, jumps.size)))
