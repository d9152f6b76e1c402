"""alpha, b and the named pieces from place to place along a path: the compiled loop."""

from __future__ import annotations

from typing import Any, NamedTuple

from numba import njit

from homotopy.compilation import OUTER, protect


class Recorded(NamedTuple):
    """The record of a path, and alpha on slopes: fields of `Segments` and of `Polylines`."""

    offset: Any
    active: Any
    alpha_start: Any
    alpha_stop: Any
    event: Any
    changed: Any
    changed_to: Any
    slope0: Any
    slope1: Any
    curvature: Any
    passed: Any


class Position(NamedTuple):
    """The present position: the pieces, alpha on flat ones (level and rate), the number of changes
    applied, and alpha and pieces of the previous place."""

    piece: Any
    flat: Any
    done: Any
    alpha: Any
    named: Any


class Rows(NamedTuple):
    """The output: alpha, one row per point; for each place the named pieces, its row of alpha
    (`base`), whether alpha equals that of the previous place, and whether a coordinate changes
    branch there."""

    alpha: Any
    named: Any
    base: Any
    equal: Any
    crossed: Any


@njit(**OUTER)
def enter(path, position, segment, t, weight, same, out):  # type: ignore[no-untyped-def]
    """Compute alpha and the pieces at each place: t of a segment, `weight` along it.

    `same` marks places where the previous segment has just ended, with the same b.  If alpha is
    also unchanged there, its row is not stored again.
    """
    piece, flat, rows = position.piece, position.flat, 0
    for k in range(segment.size):
        s, alpha, along = segment[k], out.alpha[rows], weight[k]
        begin, end = position.done[0], max(position.done[0], path.event[s + 1])
        before = out.named[k - 1] if k else position.named
        position.done[0] = end
        for e in range(begin, end):
            i, p = path.changed[e], path.changed_to[e]
            piece[i] = p
            on_slope = p % 2 == 0 and path.curvature[i, p // 2] == 0.0
            flat[0, i] = path.slope0[i, p // 2] if on_slope else 0.0
            flat[1, i] = path.slope1[i, p // 2] if on_slope else 0.0
        for e in range(begin, end):
            i = path.changed[e]
            if path.passed[piece[i] // 2] != path.passed[before[i] // 2]:
                out.crossed[k] = True
        for i in range(piece.size):
            out.named[k, i] = piece[i]
            alpha[i] = flat[1, i] * t[k] + flat[0, i]
        for a in range(path.offset[s], path.offset[s + 1]):
            alpha[path.active[a]] = (1.0 - along) * path.alpha_start[a] + along * path.alpha_stop[a]
        if same[k]:
            other, alike = out.alpha[rows - 1] if rows else position.alpha, True
            for i in range(piece.size):
                alike = alike and alpha[i] == other[i]
            out.equal[k] = alike
        rows += not (out.equal[k] and rows > 0)
        out.base[k] = rows - 1
    return rows


protect(globals())
