"""Walk along a path, place by place, and record which conditions hold.

Where two segments meet, alpha and b are usually the same numbers on both sides.  Such a point is
computed once, and on its other side only the coordinates that changed piece are checked again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from homotopy.arrays import Array, Bools, Index
from homotopy.errors import PathError
from homotopy.model.affine import Affine
from homotopy.path.certificate import loops
from homotopy.path.certificate.holders import Holders
from homotopy.path.certificate.points import Place, Places, Points, Stretch, Stretches, Walk
from homotopy.path.certificate.report import Certificate, Tally
from homotopy.path.certificate.scales import PathScales
from homotopy.path.certificate.stated import Statement
from homotopy.path.certificate.tolerances import (
    CERTIFICATE_SIZES,
    SMALLEST,
    CertificateTolerances,
)
from homotopy.path.jump_record import JumpRecord
from homotopy.path.on_segments import OnSegments
from homotopy.path.part import beginning
from homotopy.path.segments import locate
from homotopy.path.tolerances import PATH_TOLERANCES
from homotopy.progress import told

if TYPE_CHECKING:
    from homotopy.path import Path


CHECKS = (
    "polyline", "border", "gap", "objective", "continuity", "jumps", "corners", "curvature",
)  # fmt: skip
SIDES = ("before", "after")


def certify(
    path: Path, tol: float, at: npt.ArrayLike | None = None, sample: int | None = None
) -> Certificate:
    """Check `path` at both ends of every segment, which proves all of it; or only at the values
    `at`, or with about `sample` products; see `Path.certify`."""
    if not tol > 0.0:
        raise PathError(f"certify: tol must be positive, got {tol!r}")
    if at is not None and sample is not None:
        raise PathError("certify: give either at or sample, not both")
    if sample is not None and sample < 1:
        raise PathError(f"certify: sample must be a positive number of points, got {sample!r}")
    examination = Examination(path, tol)
    if sample is not None:
        examination.span()
        examination.check_at(_sample(path, sample), 2)
    elif at is not None:
        on = OnSegments(path)
        found = {on.locate(t, side) for t in _values(at).tolist() for side in SIDES}
        segment, t = zip(
            *sorted(found, key=lambda place: (place[0], _along(path, place[1]))), strict=True
        )
        places = Places(np.array(segment, np.int64), np.array(t))
        examination.check_at(places, CERTIFICATE_SIZES.objectives)
    else:
        examination.whole()
    return examination.certificate()


def holds(path: Path, stretches: Stretches | None = None) -> bool:
    """Whether the whole of `path` passes, or these stretches of it.  `Path.objective`, which
    tracing does not use, is not compared with the integral."""
    examination = Examination(path, PATH_TOLERANCES.proven)
    if stretches is None:
        examination.whole(objectives=False)
    else:
        examination.part(stretches)
    return examination.certificate().ok


def proven_part(path: Path, strict: bool = False) -> Path | None:
    """Return the leading segments of `path` that pass on their own: all of it, a part marked as
    failed, or None; use `strict` if the path is known to be wrong somewhere (see `PathScales`)."""
    part = path
    while True:
        examination = Examination(part, PATH_TOLERANCES.proven, strict)
        examination.whole(until_failure=True)
        failed = [t.failed for t in examination.tallies.values() if t.failed is not None]
        if not failed:
            return part
        # Later segments influence the scales, so check again without them.
        count = min(failed)
        if not count:
            return None
        part = beginning(path, count)


def _values(at: npt.ArrayLike) -> Array:
    try:
        values = np.atleast_1d(np.asarray(at, dtype=float))
    except (TypeError, ValueError):
        raise PathError(f"certify: at must be a number or several, got {at!r}") from None
    if values.size == 0:
        raise PathError("certify: at holds no value; leave it out to check the whole path")
    return values


def _sample(path: Path, points: int) -> Places:
    """Choose both ends of some segments, their neighbours, and both sides of the largest jumps."""
    s = path.segments
    falls = np.array([jump.objective_before - jump.objective_after for jump in path.jumps])
    largest = np.argsort(-falls, kind="stable")[: CERTIFICATE_SIZES.jumps].tolist()
    jumps = np.searchsorted(_along(path, s.start), _along(path, [path.jumps[j].t for j in largest]))
    count = max((points - 2 * jumps.size) // 2, 2)
    some = np.linspace(0, len(s) - 1, count).astype(np.int64)
    around = (2 * some[:, None] + np.arange(-1, 3)).ravel()
    beside = (2 * jumps[:, None] + np.arange(-1, 1)).ravel()
    place = np.unique(np.concatenate([around, beside]))
    return Places.numbered(path, place[(place >= 0) & (place < 2 * len(s))])


def _along(path: Path, t: npt.ArrayLike) -> Array:
    """Return t with the sign that makes it grow in the direction of travel."""
    return np.asarray(t, dtype=float) * path.segments.sign


class Examination:
    """The examination of one path: its tallies and what they need."""

    def __init__(self, path: Path, tol: float, strict: bool = False) -> None:
        self.path, self.problem, self.tol = path, path.problem, tol
        self.on = OnSegments(path)
        self.tolerances = CertificateTolerances()
        # A path with infinite numbers must fail without NumPy warnings.
        with np.errstate(all="ignore"):
            self.known = PathScales.of(path, self.tolerances, strict)
        self.target = Affine.of(path.model.border_target)
        self.tallies = {name: Tally(tol) for name in CHECKS}
        if path.problem.gram.semidefinite:
            del self.tallies["curvature"]
        self.jumps: dict[float, list[JumpRecord]] = {}
        for jump in path.jumps:
            self.jumps.setdefault(jump.t, []).append(jump)
        self.times = np.array(sorted(self.jumps))
        self.passed = path.problem.polylines.passed
        self.previous: Place | None = None
        self.sides: list[Place] = []
        self.holders = Holders(path.problem, self.tolerances)
        self.began_on_jump: tuple[int, Points, int] | None = None
        self.since: tuple[int, dict[int, float]] = (-1, {})

    def certificate(self) -> Certificate:
        """Return the outcome."""
        checks = (tally.check(name) for name, tally in self.tallies.items())
        return Certificate(tuple(checks), self.tol)

    # ------------------------------------------------------------------ which places

    def whole(self, until_failure: bool = False, objectives: bool = True) -> None:
        """Check every condition on the whole path (`Path.objective` only with `objectives`)."""
        self.span()
        places = Places.ends(self.path).with_middles(self.path)
        sizes = CERTIFICATE_SIZES
        some = min(4 + len(places) // sizes.one_in, sizes.objectives) if objectives else 0
        self.check_at(places, some, until_failure)
        if not until_failure:
            self._refuse(self.unbroken(places.segment))

    def part(self, stretches: Stretches) -> None:
        """Check every condition on these stretches, and where they meet the rest."""
        self.span()
        places = Places.around(self.path, stretches).with_middles(self.path)
        self.check_at(places, 0)
        self._refuse(self.unbroken(places.segment))

    def unbroken(self, segments: Index) -> list[float]:
        """Return the t of recorded jumps on these segments at which the path does not break."""
        s = self.path.segments
        k = locate(s.start, s.stop, s.sign, self.times, "after")
        inside = (self.times != s.start[k]) & (self.times != s.stop[k]) & np.isin(k, segments)
        return list(self.times[inside].tolist())

    def _refuse(self, jumps: list[float]) -> None:
        for t in jumps:
            self.tallies["jumps"].add(np.inf, t, 0)

    def check_at(self, places: Places, objectives: int, until_failure: bool = False) -> None:
        """Check the conditions at `places`, and between consecutive ones."""
        measured = np.zeros(len(places), bool)
        measured[np.linspace(0, len(places) - 1, objectives).astype(int)] = True
        with np.errstate(all="ignore"):
            for part, stretch in self._stretches(places):
                self._stretch(stretch, measured[part])
                told(part.stop, len(places))
                if until_failure and any(t.failed is not None for t in self.tallies.values()):
                    break
            self._fall()
            self._stated(places)
            if not self.problem.gram.semidefinite:
                for k in np.unique(places.segment).tolist():
                    self._curvature(k)

    def span(self) -> None:
        """Check that segments follow each other from the start of the span to its end."""
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
        """Whether the path begins where the model says.  If that is an infinite t, no coordinate
        may have met a jump between there and the first t."""
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
        """Return the end of the span that begins at `start`."""
        if np.isfinite(self.problem.start):
            return self.problem.stop
        if start == self.path.span[1]:
            # Nothing to trace: no jump meets a response before the end of the span.
            return start
        return float(self.path.model.resolve_span(start)[1])

    # ------------------------------------------------------------------ at each place

    def _stretches(self, places: Places) -> Iterator[tuple[slice, Stretch]]:
        """Yield the places, as many at a time as one product covers, and which of them they are."""
        walk, follows = Walk(self.path), places.follow(self.path)
        batch = CERTIFICATE_SIZES.batch(self.problem.gram.size)
        for first in range(0, len(places), batch):
            part = slice(first, first + batch)
            yield part, walk.along(places.part(part), follows[part])

    def _stretch(self, stretch: Stretch, measured: Bools) -> None:
        alpha, base = np.ascontiguousarray(stretch.alpha.T), stretch.base
        w = np.ascontiguousarray(self.problem.gram.matmat(alpha).T)
        jumps = np.isin(stretch.places.t, self.times)
        moved = np.append(stretch.follows & ~stretch.equal, True)
        # Places that need more than the usual checks.
        kept = jumps | measured | moved[:-1] | moved[1:]
        wanted = np.zeros(len(w), bool)
        wanted[base[kept]] = True
        step = max(1, CERTIFICATE_SIZES.in_cache // self.problem.gram.size)
        for start in range(0, len(w), step):
            rows = slice(start, min(start + step, len(w)))
            target = self._target(stretch.places.t[stretch.fresh[rows]])
            slack = max(self.tolerances.near, self.tol)
            points = Points.of(self.known, stretch, w, rows, target, wanted[rows], slack)
            some = np.flatnonzero((base >= rows.start) & (base < rows.stop))
            self._conditions(stretch, points, some)
            if points.known.declared.jump.any():
                self._stays_on_jumps(stretch, points, some, start)
            for place in some[kept[some] | stretch.crossed[some]].tolist():
                row = int(base[place]) - start
                if stretch.crossed[place] and not jumps[place]:
                    self._crossing(points, stretch, place, row)
                if kept[place]:
                    k, named = int(stretch.places.segment[place]), stretch.named[place]
                    point = Place.of(points, row, k, named)
                    self._keep(point, bool(measured[place]), bool(jumps[place]), bool(moved[place]))
        quiet = stretch.places.part(stretch.follows & ~jumps)
        self.tallies["continuity"].add_each(np.zeros(len(quiet)), quiet.t, quiet.segment)

    def _conditions(self, stretch: Stretch, points: Points, some: Index) -> None:
        """Check that every (u_i, alpha_i) is on its piece, the border equations, the gap."""
        places, n = points.places, points.found.u.shape[1]
        names = {"polyline": (loops.FAR, n), "gap": (loops.GAP, 1)}
        if points.given.b.shape[1]:
            names["border"] = loops.BORDER_OFF, points.given.b.shape[1]
        for name, (column, count) in names.items():
            residuals = points.found.answers[:, column]
            self.tallies[name].add_each(residuals, places.t, places.segment, count)
        # Coordinates that change piece at an unchanged point must be on the new piece too.
        again = some[some != stretch.fresh[stretch.base[some]]]
        places = stretch.places.part(again)
        self.tallies["polyline"].add_each(
            points.found.off_on_new_piece[again], places.t, places.segment, n
        )

    def _stated(self, places: Places) -> None:
        """Check the problem as its author states it, in two passes: the rounding error of a
        condition depends on its largest numbers anywhere on the path."""
        statement = Statement(self.path.model, self.tolerances.rounded)
        if statement.silent:
            return
        for measure in (False, True):
            for _, stretch in self._stretches(places):
                at = stretch.places.part(stretch.fresh)
                found = statement.examine(at.t, stretch.alpha, stretch.b, measure)
                for name, (residuals, count) in found.items():
                    tally = self.tallies.setdefault(name, Tally(self.tol))
                    tally.add_each(residuals, at.t, at.segment, count)

    def _target(self, t: Array) -> Array:
        """Return e at each t, the size of its terms, and their size on the whole span."""
        e, shape = self.target, (t.size, self.problem.border.shape[1])
        rate, span = np.abs(e.rate), abs(self.path.span[1] - self.path.span[0])
        sizes = np.abs(e.const) + rate * np.abs(t[:, None])
        rows = e.const + e.rate * t[:, None], sizes, sizes + rate * span
        return np.stack([np.broadcast_to(row, shape) for row in rows], axis=1)

    # ------------------------------------------------------------------ from place to place

    def _keep(self, point: Place, measured: bool, jumps: bool, moved: bool) -> None:
        """Check the objective, the junction or the jump at a place."""
        if measured:
            self._objective(point)
        if jumps:
            self._remember(point)
        elif moved and self.previous is not None:
            self._junction(self.previous, point)
        self.previous = point

    def _objective(self, p: Place) -> None:
        """Check that `Path.objective` equals the integral along the polylines."""
        for side in SIDES:
            if p.absolute and self.on.locate(p.t, side)[0] == p.segment:
                value = self.on.objective(p.segment, p.t)
                off = abs(value - p.objective)
                self.tallies["objective"].add(off / p.size, p.t, p.segment)
                return

    def _crossing(self, points: Points, stretch: Stretch, place: int, row: int) -> None:
        """Check that coordinates change branch only at recorded jumps."""
        before = stretch.named[place - 1] if place else stretch.before
        old, new = self.passed[before // 2], self.passed[stretch.named[place] // 2]
        i = np.flatnonzero(old != new)
        low, high = np.minimum(old, new)[i], np.maximum(old, new)[i]
        count = np.arange(self.passed[-1])[:, None]
        if np.any((low <= count) & (count < high) & points.real(row, i)):
            t, k = float(stretch.places.t[place]), int(stretch.places.segment[place])
            self.tallies["jumps"].add(np.inf, t, k)

    def _junction(self, last: Place, p: Place) -> None:
        """Check that w and the objective continue from the previous segment."""
        (old, w, _, scale), (new, other, _, wide) = last.rows(), p.rows()
        scale, change, step = np.maximum(scale, wide), new - old, other - w
        border, tolerances = self.problem.border / scale[:, None], self.tolerances
        move = _beside_border(step / scale, border, tolerances.nothing)
        if self.problem.gram.features() is None and abs(float(change @ step)) <= (
            tolerances.null * float(change**2 @ self.problem.gram.sizes)
        ):
            # The direction is null up to rounding: w is known only to the square root of that.
            # (From features w itself is computed, to the rounding of its terms.)
            move = 0.0
        fall = abs(p.objective - last.objective) / max(p.size, last.size)
        self.tallies["continuity"].add(max(move, fall), p.t, p.segment, 0)

    def _curvature(self, k: int) -> None:
        """Check that the objective in alpha curves upwards on segment k, in every direction that
        the coordinates on knots and slanted pieces can move."""
        lines, named = self.problem.polylines, self.path.segments.pieces(k)
        bend = np.where(named % 2 == 0, lines.curvature[np.arange(named.size), named // 2], 0.0)
        active = np.flatnonzero((named % 2 == 1) | (bend > 0.0))
        if active.size == 0:
            return
        extra = np.zeros(active.size)
        np.divide(1.0, bend[active], out=extra, where=bend[active] > 0.0)
        block = self.problem.gram.block(active, active) + np.diag(extra)
        # Scale each coordinate to 1, border included.
        own = np.sqrt(np.maximum(self.problem.gram.sizes[active] + extra, SMALLEST))
        rows = self.problem.border[active] / own[:, None]
        left, values, _ = np.linalg.svd(rows, full_matrices=True)
        free = left[:, int(np.sum(values > self.tolerances.rank * values.max(initial=0.0))) :]
        least = np.linalg.eigvalsh(free.T @ (block / np.outer(own, own)) @ free)[:1]
        t = float(self.path.segments.start[k])
        self.tallies["curvature"].add(float(np.maximum(-least, 0.0).sum()), t, k)

    def _remember(self, point: Place) -> None:
        if self.sides and self.sides[0].t != point.t:
            self._fall()
        self.sides = [*self.sides[:1], point]

    def _fall(self) -> None:
        """Check that the objective falls across a jump by at least as much as convexity demands.

        Each round of a D-step goes to the optimum of a problem that is strongly convex in w, from a
        point feasible for it, so the objective falls by at least half the square of the move.  (If
        the form is not semidefinite, it only has to fall.)
        """
        if not self.sides:
            return
        before, after = self.sides[0], self.sides[-1]
        self.sides = []
        jumps = self.jumps[before.t]
        (old, w, u, _), (new, other, moved, _) = before.rows(), after.rows()
        rounds = max(sum(jump.rounds for jump in jumps), 1)
        owed = 0.5 * max(float((new - old) @ (other - w)), 0.0) / rounds
        owed *= self.problem.gram.semidefinite
        short = owed - (before.objective - after.objective)
        first = jumps[0].objective_before - before.objective
        last = jumps[-1].objective_after - after.objective
        # Objectives that are known up to a constant still have a known difference.
        recorded = max(abs(first), abs(last)) if before.absolute else abs(first - last)
        off = max(short, recorded, 0.0) / max(before.size, after.size)
        # (Compare alpha too: where terms of u cancel, its move may be below rounding.)
        still = np.array_equal(moved, u) and np.array_equal(new, old)
        still = still and any(jump.moved for jump in jumps)
        wrong = still or not self._flipped(before, after, [jump.flipped for jump in jumps])
        self.tallies["jumps"].add(np.inf if wrong else off, before.t, after.segment)

    def _flipped(self, before: Place, after: Place, recorded: list[Index]) -> bool:
        """Whether the coordinates that change branch are the recorded ones.  Of several jumps at
        one t some may have been undone, and a jump without height need not be recorded."""
        if before is after:
            return True
        changed = self.passed[before.named // 2] != self.passed[after.named // 2]
        claimed = np.zeros(changed.size, dtype=bool)
        claimed[np.concatenate(recorded)] = True
        if len(recorded) > 1:
            claimed &= changed
        i = np.flatnonzero(changed != claimed)
        return not (i.size and before.points.real(before.row, i).any())

    def _stays_on_jumps(self, stretch: Stretch, points: Points, some: Index, start: int) -> None:
        """Check that no coordinate stays on a jump corner along a segment unless held there."""
        s, places = self.path.segments, stretch.places.part(some)
        brief = self.tolerances.brief * abs(self.path.traced[1] - self.path.traced[0])
        row, k, t = stretch.base[some] - start, places.segment, places.t
        on_jump, begins = points.found.answers[row, loops.ON_JUMP] > 0.0, t == s.start[k]
        ends = ~begins & (t == s.stop[k]) & (np.abs(s.stop[k] - s.start[k]) > brief)
        loose = np.zeros(some.size)
        for at in np.flatnonzero(begins | (ends & on_jump)).tolist():
            if begins[at]:
                self.began_on_jump = (int(k[at]), points, int(row[at])) if on_jump[at] else None
            elif self.began_on_jump is not None and self.began_on_jump[0] == k[at]:
                _, other, first = self.began_on_jump
                both = points.on_jump_since(int(row[at]), other, first)
                near = self._staying(np.flatnonzero(both.any(axis=0)), int(k[at]))
                loose[at] = self.holders.loose(points, int(row[at]), near, s.actives(int(k[at])))
        count = points.found.u.shape[1] * int(points.known.declared.jump.sum())
        self.tallies["corners"].add_each(loose[ends], t[ends], k[ends], count)

    def _staying(self, near: Index, k: int) -> Index:
        """Return those of `near` (on a corner all along segment k) that have been there for long:
        on a short segment, a coordinate that approaches slowly looks as if it stayed."""
        s, (last, since) = self.path.segments, self.since
        begun = since if last == k - 1 else {}
        self.since = k, {i: begun.get(i, float(s.start[k])) for i in near.tolist()}
        least = self.tolerances.long * abs(self.path.traced[1] - self.path.traced[0])
        long = [i for i, t in self.since[1].items() if abs(s.stop[k] - t) > least]
        return np.array(long, dtype=np.int64)


def _beside_border(move: Array, border: Array, nothing: float) -> float:
    """Return the largest entry of `move` without multiples of the border columns: b compensates for
    these, and along a feature column that is one of them w is known only up to rounding."""
    if border.shape[1] and np.all(np.isfinite(move)) and np.abs(move).max() > nothing:
        move = move - border @ np.linalg.lstsq(border, move, rcond=None)[0]
    return float(np.abs(move).max())
