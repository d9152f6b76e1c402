"""Twenty ways to spoil a path, and how much each of them spoils.

A size is relative to the scale of the coordinate that is spoiled, as a reader would state it:

* u_i: the largest of ``|u_i|``, of the corner it stands on and of ``Q_ii A_i``, what the coordinate
  itself adds to its response (A_i its largest ``|alpha_i|`` on the path); or 1e-6 of the sizes of
  all that u_i is the sum of, where most of that cancels;
* alpha_i: its largest finite slope, or what makes up all of u_i if that is less;
* b: what moves the response of the active coordinate with the smallest scale by that scale;
* t: the shorter of the two segments that meet at a break-point;
* an objective: itself, or 1e-6 of ``sum_i |alpha_i| terms_i`` where most of that cancels.

A mutation of alpha, b or t need not spoil a path: alpha may have moved along a null direction, b
within its interval, a break-point may have no kink.  `spoils` tells by comparison with the path
that is right: how far, at the same t, those on knots are off their knots and those on slopes off
their slopes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import attrs
import numpy as np
import numpy.typing as npt

from homotopy import Path
from homotopy.path import Status
from homotopy.path.on_segments import OnSegments

Array = npt.NDArray[np.float64]
# Double precision knows no less than 1e-14 of the terms of a sum: 1e-8 of a scale that is this part
# of them.
ROUNDING = 1e-6
SIZES = (1e-6, 1e-4, 1e-2, 1.0)


def with_segments(path: Path, **changes: object) -> Path:
    return attrs.evolve(path, segments=attrs.evolve(path.segments, **changes))


# ---------------------------------------------------------------------- scales


def slopes_of(path: Path, t: float) -> Array:
    """The largest finite slope of each coordinate."""
    slope = np.abs(path.problem.polylines.at(t).slope)
    return np.where(np.isfinite(slope), slope, 0.0).max(axis=1)


def own_alpha(path: Path) -> Array:
    """The largest |alpha_i| of the path."""
    s = path.segments
    top = np.maximum(np.abs(OnSegments(path).alpha(0, s.start[0])),
                     np.abs(OnSegments(path).alpha(len(s) - 1, s.stop[-1])))  # fmt: skip
    for alpha in (s.alpha_start, s.alpha_stop):
        np.maximum.at(top, s.active, np.abs(alpha))
    return top


def terms(path: Path, k: int, t: float) -> Array:
    """The size of what u_i is the sum of."""
    length, border = np.sqrt(path.problem.gram.diag), np.abs(path.problem.border)
    alpha = np.abs(OnSegments(path).alpha(k, t))
    return length * (alpha @ length) + border @ np.abs(OnSegments(path).b(k, t))


def u_scale(path: Path, k: int, t: float) -> Array:
    values = OnSegments(path)
    u = path.problem.response(values.alpha(k, t), values.b(k, t))
    piece, corner = path.segments.pieces(k), path.problem.polylines.at(t).corner
    j = np.minimum(piece // 2, corner.shape[1] - 1)
    on = np.where(piece % 2 == 1, np.abs(corner[np.arange(u.size), j]), 0.0)
    own = np.maximum(path.problem.gram.diag * own_alpha(path), ROUNDING * terms(path, k, t))
    return np.maximum(np.maximum(np.maximum(np.abs(u), on), own), 1e-300)


def alpha_scale(path: Path, k: int, t: float) -> Array:
    slope, diag = slopes_of(path, t), path.problem.gram.diag
    whole = np.divide(u_scale(path, k, t), diag, where=diag > 0.0, out=np.full(diag.size, np.inf))
    scale = np.minimum(np.where(slope > 0.0, slope, np.inf), whole)
    return np.where(np.isfinite(scale), scale, np.maximum(own_alpha(path), 1e-300))


def spoils(path: Path, bad: Path) -> float:
    """How far `bad` is from `path` where it should be the same, on the scale of each coordinate."""
    worst, s, other = 0.0, path.segments, bad.segments
    lines, border = path.problem.polylines, path.problem.border
    low, high = min(path.traced), max(path.traced)
    for k in range(len(other)):
        start, stop = float(other.start[k]), float(other.stop[k])
        for t in (start, stop):
            # The segment of the right path that lies on the same side of t.
            inside = t + 1e-3 * (0.5 * (start + stop) - t)
            if not low <= inside <= high:
                return np.inf
            if len(s) == len(other) and (start, stop) == (s.start[k], s.stop[k]):
                right = k
            else:
                right = OnSegments(path).locate(inside, "after")[0]
            piece = s.pieces(right)
            change = OnSegments(bad).alpha(k, t) - OnSegments(path).alpha(right, t)
            u = path.problem.gram.matvec(change)
            u += border @ (OnSegments(bad).b(k, t) - OnSegments(path).b(right, t))
            flat = (piece % 2 == 0) & (lines.curvature[np.arange(piece.size), piece // 2] == 0.0)
            # (Where nothing adds to u_i its scale is nothing; what counts there is alpha_i.)
            with np.errstate(over="ignore"):
                off = np.abs(u) / u_scale(path, right, t)
            off = np.where(flat, np.abs(change) / alpha_scale(path, right, t), off)
            worst = max(worst, float(off.max()))
            if border.shape[1]:
                alone = np.abs(border).T * alpha_scale(path, right, t)
                left = np.abs(border.T @ change)
                worst = max(worst, float((left / alone.max(axis=1)).max()))
    return worst


# ---------------------------------------------------------------------- where to spoil


def middle(path: Path) -> int:
    """A segment that is long and has active coordinates, or -1."""
    s = path.segments
    long = np.abs(s.stop - s.start) * (np.diff(s.offset) > 0)
    return int(np.argmax(long)) if np.any(long > 0.0) else -1


def inner(path: Path, k: int) -> int:
    """The entry of the active coordinate of segment k farthest from the ends of its knot."""
    s = path.segments
    t = 0.5 * float(s.start[k] + s.stop[k])
    alpha, piece, snap = OnSegments(path).alpha(k, t), s.pieces(k), path.problem.polylines.at(t)
    active = s.active[s.offset[k] : s.offset[k + 1]]
    top = snap.slope[active, piece[active] // 2]
    bottom = snap.slope[active, np.minimum(piece[active] // 2 + 1, snap.slope.shape[1] - 1)]
    room = np.minimum(top - alpha[active], alpha[active] - bottom)
    room = np.where(np.isfinite(room), room, np.abs(alpha[active]))
    return int(s.offset[k] + np.argmax(room / np.maximum(alpha_scale(path, k, t)[active], 1e-300)))


def drop_segment(path: Path, k: int, **more: Array) -> Path:
    """Without segment k."""
    s = path.segments
    keep = np.arange(len(s)) != k
    part = np.ones(s.active.size, bool)
    part[s.offset[k] : s.offset[k + 1]] = False
    offset = np.delete(s.offset, k + 1)
    offset[k + 1 :] -= int(s.offset[k + 1] - s.offset[k])
    changes = {
        "start": s.start[keep], "stop": s.stop[keep], "offset": offset,
        "active": s.active[part], "alpha_start": s.alpha_start[part],
        "alpha_stop": s.alpha_stop[part], "b_start": s.b_start[keep], "b_stop": s.b_stop[keep],
        "event": np.delete(s.event, k + 1),
    }  # fmt: skip
    return with_segments(path, **(changes | more))


# ---------------------------------------------------------------------- numbers that are off

Spoiled = Iterator[Path]


def b_at_one_place(path: Path, size: float) -> Spoiled:
    s, k = path.segments, middle(path)
    if s.b_start.shape[1] and k >= 0:
        for end, t in (("b_start", s.start[k]), ("b_stop", s.stop[k])):
            b = getattr(s, end).copy()
            b[k, 0] += size * _b_scale(path, k, float(t))
            yield with_segments(path, **{end: b})


def b_all_along(path: Path, size: float) -> Spoiled:
    s, k = path.segments, middle(path)
    if s.b_start.shape[1] and k >= 0:
        shift = size * _b_scale(path, k, float(s.start[k]))
        yield with_segments(path, b_start=s.b_start + shift, b_stop=s.b_stop + shift)


def _b_scale(path: Path, k: int, t: float) -> float:
    s = path.segments
    active = s.active[s.offset[k] : s.offset[k + 1]]
    row = np.abs(path.problem.border[active, 0])
    scale = u_scale(path, k, t)[active][row > 0.0] / row[row > 0.0]
    return float(scale.min(initial=np.inf)) if scale.size else 0.0


def one_alpha(path: Path, size: float) -> Spoiled:
    s, k = path.segments, middle(path)
    if k >= 0:
        entry = inner(path, k)
        for end, t in (("alpha_start", s.start[k]), ("alpha_stop", s.stop[k])):
            alpha = getattr(s, end).copy()
            alpha[entry] += size * alpha_scale(path, k, float(t))[s.active[entry]]
            yield with_segments(path, **{end: alpha})


def one_alpha_all_along(path: Path, size: float) -> Spoiled:
    s, k = path.segments, middle(path)
    if k >= 0:
        i = s.active[inner(path, k)]
        shift = size * alpha_scale(path, k, float(s.start[k]))[i] * (s.active == i)
        yield with_segments(
            path, alpha_start=s.alpha_start + shift, alpha_stop=s.alpha_stop + shift
        )


def every_alpha_scaled(path: Path, size: float) -> Spoiled:
    s = path.segments
    yield with_segments(
        path, alpha_start=s.alpha_start * (1 + size), alpha_stop=s.alpha_stop * (1 + size)
    )


def one_sign(path: Path, size: float) -> Spoiled:
    """alpha of one coordinate part of the way to its negative."""
    s, k = path.segments, middle(path)
    if k >= 0:
        alpha, entry = s.alpha_start.copy(), inner(path, k)
        alpha[entry] *= 1.0 - 2.0 * size
        yield with_segments(path, alpha_start=alpha)


def two_alphas_exchanged(path: Path, size: float) -> Spoiled:
    """Two active coordinates part of the way to each other's alpha."""
    s, k = path.segments, middle(path)
    part = slice(int(s.offset[k]), int(s.offset[k + 1]))
    if k >= 0 and part.stop - part.start > 1:
        for end in ("alpha_start", "alpha_stop"):
            alpha = getattr(s, end).copy()
            low = part.start + int(np.argmin(alpha[part]))
            high = part.start + int(np.argmax(alpha[part]))
            step = size * (alpha[high] - alpha[low])
            alpha[low] += step
            alpha[high] -= step
            yield with_segments(path, **{end: alpha})


def a_break_point_moved(path: Path, size: float) -> Spoiled:
    s = path.segments
    length = np.abs(s.stop - s.start)
    if len(s) > 1:
        k = 1 + int(np.argmax(np.minimum(length[1:], length[:-1])))
        step = 0.9 * size * min(length[k], length[k - 1])
        for sign in (-1.0, 1.0):
            start, stop = s.start.copy(), s.stop.copy()
            start[k] = stop[k - 1] = start[k] + sign * step
            yield with_segments(path, start=start, stop=stop)


def a_kink_cut_off(path: Path, size: float) -> Spoiled:
    """A break-point part of the way to the chord from the one before it to the one after it."""
    s = path.segments
    times = {jump.t for jump in path.jumps}
    for k in range(1, len(s)):
        if {s.start[k - 1], s.start[k], s.stop[k]} & times or k == len(s) - 1:
            continue
        t0, t1, t2 = float(s.start[k - 1]), float(s.start[k]), float(s.stop[k])
        if not (t0 != t1 != t2):
            continue
        weight = (t1 - t0) / (t2 - t0)
        first, last = OnSegments(path).alpha(k - 1, t0), OnSegments(path).alpha(k, t2)
        chord = (1 - weight) * first + weight * last
        alpha = [s.alpha_start.copy(), s.alpha_stop.copy()]
        for segment, values in ((k - 1, alpha[1]), (k, alpha[0])):
            part = slice(int(s.offset[segment]), int(s.offset[segment + 1]))
            values[part] += size * (chord[s.active[part]] - values[part])
        b = [s.b_start.copy(), s.b_stop.copy()]
        line = (1 - weight) * s.b_start[k - 1] + weight * s.b_stop[k]
        b[1][k - 1] += size * (line - b[1][k - 1])
        b[0][k] += size * (line - b[0][k])
        yield with_segments(path, alpha_start=alpha[0], alpha_stop=alpha[1], b_start=b[0],
                            b_stop=b[1])  # fmt: skip
        return


def the_end_of_one_segment(path: Path, size: float) -> Spoiled:
    """All active alphas at the end of one segment moved, each by its own scale."""
    s, k = path.segments, middle(path)
    if k >= 0:
        alpha = s.alpha_stop.copy()
        part = slice(int(s.offset[k]), int(s.offset[k + 1]))
        rows = s.active[part]
        sign = np.where(np.arange(rows.size) % 2 == 0, 1.0, -1.0)
        alpha[part] += sign * size * alpha_scale(path, k, float(s.stop[k]))[rows]
        yield with_segments(path, alpha_stop=alpha)


NUMBERS: tuple[Callable[[Path, float], Spoiled], ...] = (
    b_at_one_place,
    b_all_along,
    one_alpha,
    one_alpha_all_along,
    every_alpha_scaled,
    one_sign,
    two_alphas_exchanged,
    a_break_point_moved,
    a_kink_cut_off,
    the_end_of_one_segment,
)


# ---------------------------------------------------------------------- what a path says of itself


def a_recorded_objective(path: Path, size: float) -> Spoiled:
    for name in ("objective_before", "objective_after"):
        # Of several jumps at one t only the outer objectives are those of the path.
        for j, jump in _single_jumps(path):
            value = getattr(jump, name)
            k, t = OnSegments(path).locate(jump.t, name.removeprefix("objective_"))
            blur = float(np.abs(OnSegments(path).alpha(k, t)) @ terms(path, k, t))
            if value != 0.0:
                jumps = list(path.jumps)
                step = size * max(abs(value), ROUNDING * blur)
                jumps[j] = attrs.evolve(jump, **{name: value + step})
                yield attrs.evolve(path, jumps=tuple(jumps))
                break


def a_segment_that_starts_late(path: Path, size: float) -> Spoiled:
    s, k = path.segments, middle(path)
    if k >= 1:
        start = s.start.copy()
        start[k] += 0.5 * size * (s.stop[k] - s.start[k])
        yield with_segments(path, start=start)


def the_last_segment_lengthened(path: Path, size: float) -> Spoiled:
    s = path.segments
    stop = s.stop.copy()
    stop[-1] += size * (stop[-1] - s.start[0] or 1.0)
    yield with_segments(path, stop=stop)


def the_end_cut_off(path: Path, size: float) -> Spoiled:
    """The last part of the span is missing, and the path says it is complete."""
    s = path.segments
    if s.stop[-1] == s.start[-1]:
        return
    k, stop = len(s) - 1, s.stop.copy()
    stop[-1] -= 0.5 * size * (stop[-1] - s.start[-1])
    alpha, b = s.alpha_stop.copy(), s.b_stop.copy()
    part = slice(int(s.offset[k]), int(s.offset[k + 1]))
    alpha[part] = OnSegments(path).alpha(k, float(stop[-1]))[s.active[part]]
    b[k] = OnSegments(path).b(k, float(stop[-1]))
    bad = with_segments(path, stop=stop, alpha_stop=alpha, b_stop=b)
    yield bad
    yield attrs.evolve(bad, span=(path.span[0], float(stop[-1])))


STATED: tuple[Callable[[Path, float], Spoiled], ...] = (
    a_recorded_objective,
    a_segment_that_starts_late,
    the_last_segment_lengthened,
    the_end_cut_off,
)


# ---------------------------------------------------------------------- what has no size


def heights(path: Path, t: float) -> Array:
    """By how much alpha rises at the jumps of each coordinate at most."""
    snap, lines = path.problem.polylines.at(t), path.problem.polylines
    rise = -lines.heights(snap.slope, snap.corner)
    return np.where(lines.jump & np.isfinite(snap.corner), rise, 0.0).max(axis=1, initial=0.0)


def _single_jumps(path: Path):  # type: ignore[no-untyped-def]
    times = [jump.t for jump in path.jumps]
    return [(j, jump) for j, jump in enumerate(path.jumps) if times.count(jump.t) == 1]


def _flips(path: Path, jump):  # type: ignore[no-untyped-def]
    return [i for i in jump.flipped if heights(path, jump.t)[i] > 1e-9 * slopes_of(path, jump.t)[i]]


def a_break_point_dropped(path: Path) -> Spoiled:
    s = path.segments
    for k in range(1, len(s)):
        if s.start[k] == s.stop[k] or s.start[k - 1] == s.stop[k - 1]:
            continue
        stop = s.stop.copy()
        stop[k - 1] = s.stop[k]
        bad = drop_segment(path, k, stop=stop[np.arange(len(s)) != k])
        yield bad
        return


def a_jump_dropped(path: Path) -> Spoiled:
    for j, jump in _single_jumps(path):
        if _flips(path, jump) and jump.t != path.traced[0]:
            yield attrs.evolve(path, jumps=path.jumps[:j] + path.jumps[j + 1 :])
            return


def a_row_taken_out_of_its_jump(path: Path) -> Spoiled:
    for j, jump in _single_jumps(path):
        flips = _flips(path, jump)
        if flips and jump.t != path.traced[0]:
            jumps = list(path.jumps)
            kept = jump.flipped[jump.flipped != flips[-1]]
            jumps[j] = attrs.evolve(jump, flipped=kept)
            yield attrs.evolve(path, jumps=tuple(jumps))
            return


def a_row_added_to_a_jump(path: Path) -> Spoiled:
    for j, jump in _single_jumps(path):
        real = heights(path, jump.t) > 1e-9 * slopes_of(path, jump.t)
        real[jump.flipped] = False
        if np.any(real) and jump.flipped.size and jump.t != path.traced[0]:
            jumps = list(path.jumps)
            more = np.sort(np.append(jump.flipped, np.flatnonzero(real)[0]))
            jumps[j] = attrs.evolve(jump, flipped=more)
            yield attrs.evolve(path, jumps=tuple(jumps))
            return


def a_jump_where_there_is_none(path: Path) -> Spoiled:
    s, k = path.segments, middle(path)
    if path.jumps and k >= 0:
        t = 0.5 * float(s.start[k] + s.stop[k])
        fake = attrs.evolve(path.jumps[0], t=t)
        yield attrs.evolve(path, jumps=(*path.jumps, fake))


def _renamed(path: Path, k: int, changes: dict[int, int]) -> Path:
    """Coordinates given other pieces on segment k, and their own again on the next."""
    s, event = path.segments, path.segments.event.copy()
    rows = np.array(list(changes))
    piece = s.pieces(k)
    after = s.pieces(k + 1) if k + 1 < len(s) else piece
    at = int(s.event[k + 1])
    event[k + 1 :] += rows.size
    changed, to = (
        np.insert(s.changed, at, rows),
        np.insert(s.changed_to, at, list(changes.values())),
    )
    if k + 1 < len(s):
        at = int(event[k + 2])
        event[k + 2 :] += rows.size
        changed, to = np.insert(changed, at, rows), np.insert(to, at, after[rows])
    return with_segments(path, event=event, changed=changed, changed_to=to)


def a_row_on_another_piece(path: Path) -> Spoiled:
    """The piece next to the one it is on, where that has another alpha or is a corner away."""
    s, k = path.segments, middle(path)
    if k < 0:
        return
    lines = path.problem.polylines
    t = 0.5 * float(s.start[k] + s.stop[k])
    snap, piece, slopes = lines.at(t), s.pieces(k), slopes_of(path, t)
    for i in range(piece.size):
        for j in range(snap.corner.shape[1]):
            height = abs(float(lines.heights(snap.slope, snap.corner)[i, j]))
            if piece[i] in (2 * j, 2 * j + 2) and height > 1e-6 * slopes[i] > 0.0:
                yield _renamed(path, k, {i: 4 * j + 2 - int(piece[i])})
                return


def an_active_row_said_to_be_on_a_slope(path: Path) -> Spoiled:
    """Its alpha is stored and stays what it is: only the label is wrong."""
    s, k = path.segments, middle(path)
    if k >= 0:
        i = int(s.active[inner(path, k)])
        piece, t = int(s.pieces(k)[i]), 0.5 * float(s.start[k] + s.stop[k])
        slope = path.problem.polylines.at(t).slope[i]
        # An alpha at the end of its knot is on the slope as well.
        away = np.abs(OnSegments(path).alpha(k, t)[i] - slope).min()
        if piece % 2 == 1 and away > 1e-6 * alpha_scale(path, k, t)[i]:
            yield _renamed(path, k, {i: piece + 1})
            yield _renamed(path, k, {i: piece - 1})


def two_rows_exchanged(path: Path) -> Spoiled:
    """Two coordinates exchanged from the first segment to the last."""
    s, k = path.segments, middle(path)
    piece = s.pieces(max(k, 0))
    others = np.flatnonzero(piece != piece[0])
    if not others.size:
        return
    i = int(others[0])
    swap = np.arange(piece.size)
    swap[[0, i]] = i, 0
    first = s.first_piece[swap]
    yield with_segments(path, active=swap[s.active], changed=swap[s.changed], first_piece=first)


def a_start_cut_off(path: Path) -> Spoiled:
    """The path begins at its second break-point, and says that this is its span."""
    s = path.segments
    if len(s) > 1 and s.stop[0] != s.start[0]:
        offset, event = s.offset[1:] - s.offset[1], s.event[1:].copy()
        begin = int(s.offset[1])
        first = s.pieces(1)
        bad = with_segments(
            path, start=s.start[1:], stop=s.stop[1:], offset=offset, active=s.active[begin:],
            alpha_start=s.alpha_start[begin:], alpha_stop=s.alpha_stop[begin:],
            b_start=s.b_start[1:], b_stop=s.b_stop[1:],
            event=np.concatenate([[0], event[1:] - event[1]]) if len(s) > 1 else event,
            changed=s.changed[int(s.event[2]) :], changed_to=s.changed_to[int(s.event[2]) :],
            first_piece=first,
        )  # fmt: skip
        event = np.concatenate([[0, 0], s.event[3:] - s.event[2]])
        bad = with_segments(bad, event=event)
        keep = tuple(j for j in path.jumps if j.t != s.start[1])
        yield attrs.evolve(bad, jumps=keep)
        if np.isfinite(path.problem.start):
            yield attrs.evolve(bad, jumps=keep, span=(float(s.start[1]), path.span[1]))


SHAPES: tuple[Callable[[Path], Spoiled], ...] = (
    a_break_point_dropped,
    a_jump_dropped,
    a_row_taken_out_of_its_jump,
    a_row_added_to_a_jump,
    a_jump_where_there_is_none,
    a_row_on_another_piece,
    an_active_row_said_to_be_on_a_slope,
    two_rows_exchanged,
    a_start_cut_off,
)


@attrs.frozen
class Outcome:
    """One spoiled path: what was done to it, at which size, and how far it is off."""

    what: str
    size: float
    spoilt: float
    path: Path


def spoiled(path: Path, sizes: tuple[float, ...] = SIZES) -> Iterator[Outcome]:
    """Every mutation that applies to `path` and truly spoils it."""
    for number in NUMBERS:
        for size in sizes:
            for bad in number(path, size):
                far = spoils(path, bad)
                if far >= 1e-7:
                    yield Outcome(number.__name__, size, far, bad)
    for stated in STATED:
        for size in sizes:
            for bad in stated(path, size):
                yield Outcome(stated.__name__, size, np.inf, bad)
    for shape in SHAPES:
        for bad in shape(path):
            if bad.status is Status.COMPLETE:
                far = spoils(path, bad) if shape in COMPARED else np.inf
                if far >= 1e-7:
                    yield Outcome(shape.__name__, 1.0, far, bad)


# These may leave everything as it was: a break-point without a kink, two rows that are alike.
COMPARED = (a_break_point_dropped, two_rows_exchanged, a_row_on_another_piece)
