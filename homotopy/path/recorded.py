"""Convert the tracker's record into the segments and jumps of a path."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from homotopy.arrays import Index
from homotopy.model import Problem
from homotopy.path.jump_record import METHODS, JumpRecord
from homotopy.path.segments import Segments, offsets

__all__ = ["jump_records", "segments_of", "segments_of_legs"]


def segments_of(rec: Any, cursor: Any, first_piece: Index) -> Segments:
    """Return the recorded segments."""
    count = int(cursor.segments)
    logged = rec.segment[count - 1].log if count else 0
    whole, entries, log = (np.array([0, int(end)]) for end in (count, cursor.entries, logged))
    return segments_of_legs(rec, whole, entries, log, first_piece[None])(0)


def segments_of_legs(
    rec: Any, segments: Index, entries: Index, logged: Index, pieces: Index
) -> Callable[[int], Segments]:
    """Return the segments of leg k as a function of k.  `segments`, `entries` and `logged` say
    where each leg begins in the record, and where the last ends; `pieces` are its first ones.

    Of several changes of piece before a segment, only the last is kept."""
    segment, log = rec.segment[: segments[-1]], rec.log[: logged[-1]]
    owner = np.searchsorted(segment.log, np.arange(log.size), side="right")
    leg = np.searchsorted(segments, owner, side="right") - 1
    # Changes after the last segment of a leg are in the first pieces of the next.
    own = np.flatnonzero((owner < segment.size) & (np.arange(log.size) >= logged[leg]))
    last = own[_last_of_each(owner[own] * pieces.shape[1] + log.i[own])]
    event = offsets(owner[last], segment.size)
    offset = np.concatenate([[0], segment.active])
    changed, changed_to = log.i[last], log.new[last]
    start, stop = segment.start, segment.stop
    active, alpha, border = rec.active, rec.alpha, rec.border
    bounds, places, events = segments.tolist(), entries.tolist(), event[segments].tolist()

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


def _last_of_each(key: Index) -> Index:
    """Return the index of the last entry with each key, in the order of the keys."""
    _, back = np.unique(key[::-1], return_index=True)
    return key.size - 1 - back


def jump_records(rec: Any, cursor: Any, problem: Problem) -> tuple[JumpRecord, ...]:
    """Return the recorded jumps after which a segment is recorded."""
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
    passed = problem.polylines.passed
    counts = jumps.log_end - jumps.log
    owner = np.repeat(np.arange(jumps.size), counts)
    place = np.arange(owner.size) - np.repeat(np.cumsum(counts) - counts, counts)
    log = rec.log[np.repeat(jumps.log, counts) + place]
    key = owner * problem.gram.size + log.i
    _, first = np.unique(key, return_index=True)
    last = _last_of_each(key)
    old = passed[log.piece[first] // 2] + ((log.piece[first] % 2 == 1) & (log.side[first] > 0))
    changed = old != passed[log.new[last] // 2]
    rows, which = log.i[first][changed], owner[first][changed]
    return np.split(rows, np.searchsorted(which, np.arange(1, jumps.size)))
