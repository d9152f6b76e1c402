"""alpha, b and the named pieces at one place of a path after the other: the compiled loop."""

from __future__ import annotations

from typing import Any, NamedTuple

from numba import njit

from homotopy.compilation import OUTER, protect

__all__ = ["Here", "Recorded", "Rows", "enter"]


class Recorded(NamedTuple):
    """What a path has recorded: alpha of the active coordinates of each segment, the coordinates
    that change their piece at its start; level, rate and bend of every slope; the jumps passed at
    each slope."""

    offset: Any
    active: Any
    first: Any
    final: Any
    event: Any
    changed: Any
    changed_to: Any
    level: Any
    rate: Any
    bends: Any
    passed: Any


class Here(NamedTuple):
    """Where the walk is: the pieces, alpha on flat ones (level and rate), the number of changes
    made, and alpha and pieces of the place before."""

    piece: Any
    flat: Any
    done: Any
    alpha: Any
    named: Any


class Rows(NamedTuple):
    """What is found: alpha, one row for each point; the pieces named at each place, the row of
    alpha that it has (`base`), whether alpha is the same as at the place before, and whether a
    coordinate changes branch there."""

    alpha: Any
    named: Any
    base: Any
    equal: Any
    crossed: Any


@njit(**OUTER)
def enter(path, here, segment, t, weight, same, out):  # type: ignore[no-untyped-def]
    """alpha and the pieces at one place after the other: t of a segment, `weight` along it.

    `same` are places where the segment before has just ended, with the same b.  Where alpha is the
    same as at the place before as well, the row is not kept again.
    """
    piece, flat, rows = here.piece, here.flat, 0
    for k in range(segment.size):
        s, alpha, along = segment[k], out.alpha[rows], weight[k]
        begin, end = here.done[0], max(here.done[0], path.event[s + 1])
        before = out.named[k - 1] if k else here.named
        here.done[0] = end
        for e in range(begin, end):
            i, p = path.changed[e], path.changed_to[e]
            piece[i] = p
            on_slope = p % 2 == 0 and path.bends[i, p // 2] == 0.0
            flat[0, i] = path.level[i, p // 2] if on_slope else 0.0
            flat[1, i] = path.rate[i, p // 2] if on_slope else 0.0
        for e in range(begin, end):
            i = path.changed[e]
            if path.passed[piece[i] // 2] != path.passed[before[i] // 2]:
                out.crossed[k] = True
        for i in range(piece.size):
            out.named[k, i] = piece[i]
            alpha[i] = flat[1, i] * t[k] + flat[0, i]
        for a in range(path.offset[s], path.offset[s + 1]):
            alpha[path.active[a]] = (1.0 - along) * path.first[a] + along * path.final[a]
        if same[k]:
            other, alike = out.alpha[rows - 1] if rows else here.alpha, True
            for i in range(piece.size):
                alike = alike and alpha[i] == other[i]
            out.equal[k] = alike
        rows += not (out.equal[k] and rows > 0)
        out.base[k] = rows - 1
    return rows


protect(globals())
