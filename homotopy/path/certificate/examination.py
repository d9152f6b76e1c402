"""Goes along a path, place by place, and keeps account of what holds.

Where two segments meet alpha and b are as a rule the same numbers on both sides; such a point is
computed once, and on its other side only those who changed their piece are looked at again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
import numpy.typing as npt

from homotopy.errors import PathError
from homotopy.model import Problem
from homotopy.model.affine import Affine
from homotopy.path.certificate.points import NEAR, Places, Points, Value, Walk
from homotopy.path.certificate.report import Certificate, Tally
from homotopy.path.certificate.scales import TINY, Known

if TYPE_CHECKING:
    from homotopy.path import Path

__all__ = ["certify", "examine", "proven_part", "proven_until"]

Array = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Index = npt.NDArray[np.integer[Any]]

CHECKS = (
    "polyline", "border", "gap", "objective", "continuity", "jumps", "corners", "curvature",
)  # fmt: skip
SIDES = ("before", "after")
# Points of one product with Q, and numbers of one array (half a megabyte stays in the cache).
BATCH = 64
CHUNK = 65536
# A segment shorter than this fraction of the path is too brief to tell standing from leaving.
BRIEF = 1e-8
# A change v of alpha with v'Qv below this fraction of its terms is null to rounding.
NULL = 1e-13
# A move so small needs no explanation.
NOTHING = 1e-12
# At how many places `Path.objective` is called; it takes a product of its own each time.
OBJECTIVES = 32
# How many of the largest jumps a sample looks at.
JUMPS = 2


def certify(
    path: Path,
    tol: float = 1e-8,
    at: npt.ArrayLike | None = None,
    sample: int | None = None,
) -> Certificate:
    """Check `path` at both ends of every segment, which proves all of it; or the conditions at the
    values `at`, or at about `sample` places, alone."""
    _positive(tol)
    if at is not None and sample is not None:
        raise PathError("certify: give either at or sample, not both")
    if sample is not None:
        return examine(path, sample, tol)
    examination = Examination(path, tol)
    if at is None:
        examination.whole()
    else:
        found = {path._locate(t, side) for t in _values(at).tolist() for side in SIDES}
        segment, t = zip(
            *sorted(found, key=lambda place: (place[0], _along(path, place[1]))), strict=True
        )
        places = Places(np.array(segment, np.int64), np.array(t))
        examination.look_at(places, OBJECTIVES)
    return examination.certificate()


def examine(path: Path, points: int = 16, tol: float = 1e-8) -> Certificate:
    """Check a sample of `path` with about `points` products: the first and the last segment, some
    evenly between them, both sides of the largest jumps.  The same sample each time."""
    _positive(tol)
    if points < 1:
        raise PathError(f"certify: sample must be a positive number of points, got {points!r}")
    examination = Examination(path, tol)
    examination.span()
    examination.look_at(_sample(path, points), 2)
    return examination.certificate()


def proven_until(path: Path, tol: float = 1e-8, strict: bool = False) -> int:
    """The number of segments, from the first on, that pass by themselves; `strict` where it is
    known that something is wrong (see `Known`)."""
    _positive(tol)
    count = len(path.segments)
    while count:
        part = path if count == len(path.segments) else path._first(count)
        examination = Examination(part, tol, strict)
        examination.whole(until_failure=True)
        failed = [t.failed for t in examination.tallies.values() if t.failed is not None]
        if not failed:
            break
        # What comes later has a say in the scales: look again without it.
        count = min(failed)
    return count


def proven_part(path: Path, tol: float = 1e-8, strict: bool = False) -> Path | None:
    """`path` as far as it is proven: itself, a part of it marked as failed, or None."""
    count = proven_until(path, tol, strict)
    if count == len(path.segments):
        return path
    return path._first(count) if count else None


def _positive(tol: float) -> None:
    if not tol > 0.0:
        raise PathError(f"certify: tol must be positive, got {tol!r}")


def _values(at: npt.ArrayLike) -> Array:
    try:
        values = np.atleast_1d(np.asarray(at, dtype=float))
    except (TypeError, ValueError):
        raise PathError(f"certify: at must be a number or several, got {at!r}") from None
    if values.size == 0:
        raise PathError("certify: at holds no value; leave it out to check the whole path")
    return values


def _sample(path: Path, points: int) -> Places:
    """Both ends of some segments, what lies beyond these ends, both sides of the largest jumps."""
    s = path.segments
    falls = np.array([jump.objective_before - jump.objective_after for jump in path.jumps])
    largest = np.argsort(-falls, kind="stable")[:JUMPS].tolist()
    jumps = np.searchsorted(_along(path, s.start), _along(path, [path.jumps[j].t for j in largest]))
    count = max((points - 2 * jumps.size) // 2, 2)
    some = np.linspace(0, len(s) - 1, count).astype(np.int64)
    # Place 2 k is the start of segment k, 2 k + 1 its end.
    around = (2 * some[:, None] + np.arange(-1, 3)).ravel()
    beside = (2 * jumps[:, None] + np.arange(-1, 1)).ravel()
    place = np.unique(np.concatenate([around, beside]))
    place = place[(place >= 0) & (place < 2 * len(s))]
    k = place // 2
    keep = (place % 2 == 0) | (s.start[k] != s.stop[k])
    return Places(k[keep], np.where(place % 2 == 0, s.start[k], s.stop[k])[keep])


def _along(path: Path, t: npt.ArrayLike) -> Array:
    """t so that it grows in the direction of travel."""
    start, stop = path.traced
    return np.asarray(t, dtype=float) * (1.0 if stop >= start else -1.0)


@attrs.frozen
class _Point:
    """What is kept of a point for the comparison with the next; `real` are the coordinates with
    a jump that has a height."""

    segment: int
    t: float
    named: Index
    alpha: Array
    w: Array
    u: Array
    scale: Array
    objective: float
    size: float
    absolute: bool
    real: Bools


@attrs.frozen
class _Batch:
    """Places in a row.  `follows`: the place is where the segment before has just ended; `equal`:
    and alpha and b are the same there; `base`: the row computed for it."""

    places: Places
    alpha: Array
    b: Array
    named: Index
    before: Index
    follows: Bools
    equal: Bools
    fresh: Index
    base: Index


class Examination:
    """Keeps the tallies of one path."""

    def __init__(self, path: Path, tol: float, strict: bool = False) -> None:
        self.path, self.problem, self.tol = path, path.problem, tol
        # A path spoiled by infinite numbers is to fail, not to warn.
        with np.errstate(all="ignore"):
            self.known = Known.of(path, strict)
        self.target = Affine.of(path.model.border_target)
        self.tallies = {name: Tally(tol) for name in CHECKS}
        self.jump_times = {jump.t for jump in path.jumps}
        self.passed = np.concatenate([[0], np.cumsum(path.problem.polylines.jump)])
        self.previous: _Point | None = None
        self.sides: list[_Point] = []
        self.seen: set[float] = set()
        self.stood: tuple[int, Bools, Bools] | None = None
        self.measured: set[tuple[int, float]] = set()

    def certificate(self) -> Certificate:
        """The outcome."""
        asked = CHECKS[:-1] if self.problem.gram.semidefinite else CHECKS
        return Certificate(tuple(self.tallies[name].check(name) for name in asked), self.tol)

    # ------------------------------------------------------------------ where to look

    def whole(self, until_failure: bool = False) -> None:
        """Every condition, on the whole path."""
        self.span()
        places = Places.ends(self.path, np.arange(len(self.path.segments)))
        self.look_at(places, OBJECTIVES, until_failure)
        for t in sorted(self.jump_times - self.seen):
            # The path does not break where a jump is recorded.
            if not until_failure:
                self.tallies["jumps"].add(np.inf, t, 0)

    def look_at(self, places: Places, objectives: int, until_failure: bool = False) -> None:
        """The conditions at `places`, and between those that follow each other."""
        some = np.linspace(0, len(places) - 1, objectives).astype(int)
        self.measured = set(
            zip(places.segment[some].tolist(), places.t[some].tolist(), strict=True)
        )
        with np.errstate(all="ignore"):
            for batch in self._batches(places):
                self._look_at(batch)
                if until_failure and any(t.failed is not None for t in self.tallies.values()):
                    break
            self._fall()
            if not self.problem.gram.semidefinite:
                for k in np.unique(places.segment).tolist():
                    self._curvature(k)

    def span(self) -> None:
        """Segments follow each other, from the start of the span to its end."""
        path, s, tally = self.path, self.path.segments, self.tallies["continuity"]
        along = _along(path, np.stack([s.start, s.stop], axis=1))
        wrong = ~(along[:, 0] <= along[:, 1])
        wrong[1:] |= s.start[1:] != s.stop[:-1]
        for k in np.flatnonzero(wrong).tolist():
            tally.add(np.inf, float(s.start[k]), k)
        start, stop = path.span
        if path.traced[0] != start or not self._begins_at(start):
            tally.add(np.inf, path.traced[0], 0)
        if path.complete and not path.traced[1] == stop == self._end(start):
            tally.add(np.inf, path.traced[1], len(s) - 1)

    def _begins_at(self, start: float) -> bool:
        """Whether the path begins where the model says; if that is at an infinite t, nobody may
        have met a jump on the way in from there."""
        declared = self.problem.start
        if np.isfinite(declared):
            return start == declared
        lines = self.problem.polylines
        moves = lines.corner1 * np.sign(declared)
        piece = self.path.segments.first_piece
        for j in np.flatnonzero(lines.jump).tolist():
            beyond = piece > 2 * j + 1
            if np.any((moves[:, j] < 0.0) & ~beyond) or np.any((moves[:, j] > 0.0) & beyond):
                return False
        return True

    def _end(self, start: float) -> float:
        """Where the span ends that begins at `start`."""
        if np.isfinite(self.problem.start):
            return self.problem.stop
        if start == self.path.span[1]:
            # Nothing to trace: the jump reaches no response before the end of the span.
            return start
        return float(self.path.model.resolve_span(start)[1])

    # ------------------------------------------------------------------ everything anew

    def _batches(self, places: Places) -> Iterator[_Batch]:
        walk, goes_on = Walk(self.path), places.follow(self.path)
        last: tuple[Array, Array, Index] | None = None
        for first in range(0, len(places), BATCH):
            part = places.part(slice(first, first + BATCH))
            alpha, b, named = walk.to(part)
            follows = goes_on[first : first + BATCH]
            if last is None:
                last = alpha[0], b[0], named[0]
            before = np.concatenate([last[2][None], named[:-1]])
            same = np.all(alpha[1:] == alpha[:-1], axis=1) & np.all(b[1:] == b[:-1], axis=1)
            first_same = np.array_equal(alpha[0], last[0]) and np.array_equal(b[0], last[1])
            equal = follows & np.concatenate([[first_same], same])
            fresh = ~equal
            fresh[0] = True
            yield _Batch(
                part, alpha, b, named, before, follows, equal,
                np.flatnonzero(fresh), np.cumsum(fresh) - 1,
            )  # fmt: skip
            last = alpha[-1], b[-1], named[-1]

    def _look_at(self, batch: _Batch) -> None:
        fresh, base = batch.fresh, batch.base
        alpha, b, named = batch.alpha[fresh], batch.b[fresh], batch.named[fresh]
        w = np.ascontiguousarray(self.problem.gram.matmat(np.ascontiguousarray(alpha.T)).T)
        places = Places(batch.places.segment[fresh], batch.places.t[fresh])
        size = max(1, CHUNK // self.problem.gram.size)
        for start in range(0, fresh.size, size):
            part = slice(start, start + size)
            target = self._target(places.t[part], absolute=True)
            points = Points.of(
                self.known, places.part(part), named[part], alpha[part], b[part], w[part], target
            )
            value = self._conditions(points)
            rows = np.flatnonzero((base >= start) & (base < start + size))
            self._renamed(batch, points, rows, start)
            self._standing(batch, points, rows, start)
            self._between(batch, points, value, rows, start)

    def _conditions(self, points: Points) -> Value:
        """Every (u_i, alpha_i) on its piece, the border equations, the duality gap."""
        border, places = self.problem.border, points.places
        target = self._target(places.t)
        left = target - points.alpha @ border
        if border.shape[1]:
            self._add("border", np.abs(left) / np.maximum(points.scales.border, TINY), places)
        off = points.off()
        value = Value.of(self.known.declared, points, target)
        area, blur = points.gap(off, max(NEAR, self.tol))
        area = area + np.abs(np.sum(points.b * left, axis=1))
        blur = blur + np.sum(np.abs(points.b) * points.scales.border_noise, axis=1)
        self._add("gap", (area / np.maximum(value.size + blur, TINY))[:, None], places)
        self._add("polyline", off, places)
        return value

    def _target(self, t: Array, absolute: bool = False) -> Array:
        """e at each t, or the size of its terms."""
        e, shape = self.target, (t.size, self.problem.border.shape[1])
        const, rate = e.const, e.rate * t[:, None]
        terms = np.abs(const) + np.abs(rate) if absolute else const + rate
        return np.broadcast_to(terms, shape)

    def _add(self, name: str, off: Array, places: Places) -> None:
        """Count residuals, one row per place."""
        tally, count = self.tallies[name], off.shape[1]
        worst = off.max(axis=1)
        for value, t, k in zip(
            worst.tolist(), places.t.tolist(), places.segment.tolist(), strict=True
        ):
            tally.add(value, t, k, count)

    def _renamed(self, batch: _Batch, points: Points, rows: Index, start: int) -> None:
        """Those who change their piece where nothing else changes are on the new one as well."""
        named, base = batch.named, batch.base
        again = rows[rows != batch.fresh[base[rows]]]
        if not again.size:
            return
        row, i = np.nonzero(named[again] != points.named[base[again] - start])
        off = points.off_as(base[again[row]] - start, i, named[again[row], i])
        worst = np.zeros(again.size)
        np.maximum.at(worst, row, off)
        places = Places(batch.places.segment[again], batch.places.t[again])
        self._add("polyline", np.broadcast_to(worst[:, None], (again.size, named.shape[1])), places)

    # ------------------------------------------------------------------ from place to place

    def _between(self, batch: _Batch, points: Points, value: Value, rows: Index, start: int
                 ) -> None:  # fmt: skip
        """The objective, junctions and jumps."""
        t, k, last = batch.places.t, batch.places.segment, len(batch.places) - 1
        crossed = self.passed[batch.named[rows] // 2] != self.passed[batch.before[rows] // 2]
        crossed = np.any(crossed, axis=1) & batch.follows[rows]
        moved = np.concatenate([batch.follows & ~batch.equal, [True]])
        for row, crosses in zip(rows.tolist(), crossed.tolist(), strict=True):
            at, segment = float(t[row]), int(k[row])
            jumps = at in self.jump_times
            if batch.follows[row] and not jumps:
                self.tallies["continuity"].add(0.0, at, segment)
                if crosses:
                    self._crossing(points, batch, row, int(batch.base[row]) - start)
            wanted = (segment, at) in self.measured
            if not (jumps or wanted or moved[row] or moved[row + 1] or row == last):
                continue
            here = int(batch.base[row]) - start
            point = _point(points, value, here, segment, batch.named[row])
            if wanted:
                self._objective(point)
            if jumps:
                self._remember(point)
            elif moved[row] and self.previous is not None:
                self._junction(self.previous, point)
            self.previous = point

    def _objective(self, p: _Point) -> None:
        """`Path.objective` is the integral."""
        for side in SIDES:
            if p.absolute and self.path._locate(p.t, side)[0] == p.segment:
                value = self.path._objective_on(p.segment, p.t)
                off = abs(value - p.objective)
                self.tallies["objective"].add(off / p.size, p.t, p.segment)
                return

    def _crossing(self, points: Points, batch: _Batch, row: int, here: int) -> None:
        """Nobody changes branch but at a jump that is recorded."""
        old, new = self.passed[batch.before[row] // 2], self.passed[batch.named[row] // 2]
        i = np.flatnonzero(old != new)
        lines = points.lines.at(np.full(i.size, here), i)
        low, high = np.minimum(old, new)[i], np.maximum(old, new)[i]
        for j, corner in enumerate(lines.corners):
            between = (low <= self.passed[j]) & (self.passed[j] < high)
            if corner.is_jump and np.any(between & lines.rise(j)):
                at, k = float(batch.places.t[row]), int(batch.places.segment[row])
                self.tallies["jumps"].add(np.inf, at, k)

    def _junction(self, last: _Point, p: _Point) -> None:
        """w and the objective go on from the segment before."""
        scale = np.maximum(p.scale, last.scale)
        move = _beside_border((p.w - last.w) / scale, self.problem.border / scale[:, None])
        change = p.alpha - last.alpha
        if abs(float(change @ (p.w - last.w))) <= NULL * float(change**2 @ self.problem.gram.sizes):
            # A direction null to rounding: w is known to the root of that only.
            move = 0.0
        fall = abs(p.objective - last.objective) / max(p.size, last.size)
        self.tallies["continuity"].add(max(move, fall), p.t, p.segment, 0)

    def _curvature(self, k: int) -> None:
        """The objective in alpha bends upwards on segment k, whichever way those on knots and
        slanted pieces move."""
        lines, named = self.problem.polylines, self.path.segments.pieces(k)
        bend = np.where(named % 2 == 0, lines.curvature[np.arange(named.size), named // 2], 0.0)
        active = np.flatnonzero((named % 2 == 1) | (bend > 0.0))
        if active.size == 0:
            return
        extra = np.zeros(active.size)
        np.divide(1.0, bend[active], out=extra, where=bend[active] > 0.0)
        block = self.problem.gram.block(active, active) + np.diag(extra)
        # On scales of their own, border included.
        own = np.sqrt(np.maximum(self.problem.gram.sizes[active] + extra, TINY))
        rows = self.problem.border[active] / own[:, None]
        left, values, _ = np.linalg.svd(rows, full_matrices=True)
        free = left[:, int(np.sum(values > 1e-12 * values.max(initial=0.0))) :]
        least = np.linalg.eigvalsh(free.T @ (block / np.outer(own, own)) @ free)[:1]
        t = float(self.path.segments.start[k])
        self.tallies["curvature"].add(float(np.maximum(-least, 0.0).sum()), t, k)

    def _remember(self, point: _Point) -> None:
        if self.sides and self.sides[0].t != point.t:
            self._fall()
        self.sides = [*self.sides[:1], point]

    def _fall(self) -> None:
        """The objective falls across a jump, by no less than convexity asks for.

        Each round of a D-step goes to the optimum of a problem that is strongly convex in w, from
        a point feasible for it: the objective falls by at least half the square of the move.
        (A form that is not semidefinite promises no more than that it falls.)
        """
        if not self.sides:
            return
        before, after = self.sides[0], self.sides[-1]
        self.sides = []
        self.seen.add(before.t)
        here = [jump for jump in self.path.jumps if jump.t == before.t]
        change = after.alpha - before.alpha
        rounds = max(sum(jump.rounds for jump in here), 1)
        owed = 0.5 * max(float(change @ (after.w - before.w)), 0.0) / rounds
        owed *= self.problem.gram.semidefinite
        short = owed - (before.objective - after.objective)
        first = here[0].objective_before - before.objective
        last = here[-1].objective_after - after.objective
        # Objectives that are known up to a constant have a fall all the same.
        recorded = max(abs(first), abs(last)) if before.absolute else abs(first - last)
        off = max(short, recorded, 0.0) / max(before.size, after.size)
        still = any(jump.moved for jump in here) and np.array_equal(after.u, before.u)
        wrong = still or not self._flipped(before, after, [jump.flipped for jump in here])
        self.tallies["jumps"].add(np.inf if wrong else off, before.t, after.segment)

    def _flipped(self, before: _Point, after: _Point, recorded: list[Index]) -> bool:
        """Whether those who change branch are those recorded; of several jumps at one t some may
        have gone back, and a jump without a height may be passed unnoticed."""
        if before is after:
            return True
        changed = self.passed[before.named // 2] != self.passed[after.named // 2]
        changed &= before.real
        claimed = np.zeros(changed.size, dtype=bool)
        for rows in recorded:
            claimed[rows] = before.real[rows]
        if len(recorded) > 1:
            claimed &= changed
        return np.array_equal(changed, claimed)

    def _standing(self, batch: _Batch, points: Points, rows: Index, start: int) -> None:
        """Nobody stays on a jump corner all along a segment without being held there."""
        corners = [j for j, corner in enumerate(points.lines.corners) if corner.is_jump]
        if not corners:
            return
        near = np.stack([points.standing(j) for j in corners])
        some = np.asarray(near.any(axis=(0, 2))).tolist()
        s, count = self.path.segments, points.u.shape[1] * len(corners)
        brief = BRIEF * abs(self.path.traced[1] - self.path.traced[0])
        for row, here in zip(rows.tolist(), (batch.base[rows] - start).tolist(), strict=True):
            k, t = int(batch.places.segment[row]), float(batch.places.t[row])
            if t == s.start[k]:
                self.stood = (k, near[:, here], _real(points, here)) if some[here] else None
            elif t == s.stop[k] and abs(s.stop[k] - s.start[k]) > brief:
                loose = 0
                if self.stood is not None and self.stood[0] == k and some[here]:
                    real = _real(points, here) | self.stood[2]
                    both = np.any(near[:, here] & self.stood[1] & real, axis=0)
                    loose = _loose(self.problem, points, here, np.flatnonzero(both))
                self.tallies["corners"].add(float(loose), t, k, count)


def _beside_border(move: Array, border: Array) -> float:
    """The largest of `move` without the multiples of the border columns in it: b makes up for
    these, and where a column of features is one of them w is known to its rounding only."""
    if border.shape[1] and np.all(np.isfinite(move)) and np.abs(move).max() > NOTHING:
        move = move - border @ np.linalg.lstsq(border, move, rcond=None)[0]
    return float(np.abs(move).max())


def _real(points: Points, row: int) -> Bools:
    """Which jumps have a height, one row per jump."""
    lines = points.lines.row(row)
    rises = [lines.rise(j) for j, corner in enumerate(lines.corners) if corner.is_jump]
    return np.array(rises, dtype=bool).reshape(-1, points.u.shape[1])


def _point(points: Points, value: Value, row: int, segment: int, named: Index) -> _Point:
    return _Point(
        segment=segment,
        t=float(points.places.t[row]),
        named=named,
        alpha=points.alpha[row],
        w=points.w[row],
        u=points.u[row],
        scale=points.scales.u[row],
        objective=float(value.primal[row]),
        size=value.scale(points, row),
        absolute=bool(value.absolute[row]),
        real=np.asarray(_real(points, row).any(axis=0)),
    )


def _loose(problem: Problem, points: Points, row: int, near: npt.NDArray[np.int64]) -> int:
    """How many of `near` are not held in place by the coordinates standing on knots.

    i is held where phi_i (with its border row) lies in their span: then w and b cannot move u_i
    and leave all of them where they are.  Rows are taken at length 1, each on its own scale.
    """
    if near.size == 0:
        return 0
    u, border = points.u[row], problem.border
    on_knot = np.zeros(u.size, dtype=bool)
    for knot in points.lines.corners:
        if not knot.is_jump:
            scale = np.maximum(points.scales.u[row], np.abs(knot.value[row]))
            on_knot |= np.abs(u - knot.value[row]) <= NEAR * scale
    active = np.flatnonzero(on_knot)
    diag = problem.gram.diag
    weight = (float(diag.max()) or 1.0) / max(float((border**2).sum(axis=1).max(initial=0.0)), TINY)
    own = diag + weight * (border**2).sum(axis=1)
    length = np.sqrt(np.where(own > 0.0, own, 1.0))
    block = problem.gram.block(active, active) + weight * border[active] @ border[active].T
    rows = problem.gram.block(active, near) + weight * border[active] @ border[near].T
    block = block / np.outer(length[active], length[active])
    rows = rows / np.outer(length[active], length[near])
    inside = (rows * np.linalg.lstsq(block, rows, rcond=1e-12)[0]).sum(axis=0)
    return int(np.sum((own[near] > 0.0) & (1.0 - inside > 1e-8)))
