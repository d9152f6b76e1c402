"""The segments of the record: begun, ended, and their last point moved when it is corrected."""

from __future__ import annotations

from numba import njit

from homotopy.tracker.compiling import PART

__all__ = ["begin_segment", "end_segment", "mend_end", "seal"]


@njit(**PART)
def seal(core):  # type: ignore[no-untyped-def]
    """Complete the open segment."""
    record, cursor = core.record, core.cursor
    if cursor.open:
        cursor.entries = record.segment[cursor.segments].active
        cursor.segments += 1
        cursor.open = 0


@njit(**PART)
def begin_segment(core):  # type: ignore[no-untyped-def]
    """Record the beginning of a segment, unless the previous one continues."""
    coords, active, record = core.coords, core.active, core.record
    route, system, cursor = core.route, core.system, core.cursor
    if cursor.open:
        if record.segment[cursor.segments].log == cursor.logged:
            return
        seal(core)
    segment, base = record.segment[cursor.segments], cursor.entries
    segment.start, segment.log = route.tau, cursor.logged
    segment.active = base + system.actives + system.dependents
    for k in range(system.actives):
        i = active.index[k]
        record.active[base + k] = i
        record.alpha[0, base + k] = coords.alpha[i]
    if system.dependents:
        k = base + system.actives
        for i in range(coords.u.size):
            if coords.status[i].dependent:
                record.active[k] = i
                record.alpha[0, k] = record.alpha[1, k] = coords.alpha[i]
                k += 1
    for c in range(active.column.size):
        record.border[cursor.segments, 0, c] = active.column[c].b
    cursor.open = 1


@njit(**PART)
def end_segment(core, cut):  # type: ignore[no-untyped-def]
    """Record the end of the segment; it may continue if it was only `cut`."""
    coords, active, record = core.coords, core.active, core.record
    route, system, cursor = core.route, core.system, core.cursor
    segment, base = record.segment[cursor.segments], cursor.entries
    segment.stop = route.tau
    for k in range(system.actives):
        record.alpha[1, base + k] = coords.alpha[active.index[k]]
    for c in range(active.column.size):
        record.border[cursor.segments, 1, c] = active.column[c].b
    if not cut:
        seal(core)


@njit(**PART)
def mend_end(core):  # type: ignore[no-untyped-def]
    """Move the end of the last segment to the corrected point: the path goes on from there.

    Coordinates that have left their knots since are at the ends of them.  If one has reached a
    knot, or a jump has been crossed, the segment ended elsewhere.
    """
    coords, column, record = core.coords, core.active.column, core.record
    cursor, t = core.cursor, core.route.t
    last = cursor.segments if cursor.open else cursor.segments - 1
    if not cursor.recording or last < 0:
        return
    segment = record.segment[last]
    crossed = cursor.jumps > 0 and record.jump[cursor.jumps - 1].log_end > segment.log
    if segment.stop != t or crossed:
        return
    for k in range(segment.log, cursor.logged):
        if record.log[k].new % 2 == 1:
            return
    for side in range(0 if segment.start == t else 1, 2):
        for k in range(record.segment[last - 1].active if last else 0, segment.active):
            record.alpha[side, k] = coords.alpha[record.active[k]]
        for c in range(column.size):
            record.border[last, side, c] = column[c].b
