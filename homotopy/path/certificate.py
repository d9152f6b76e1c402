"""The proof of a path, from alpha and the data alone.

Nothing here reads the engine's tracked state: the response is recomputed as ``Q alpha + B b``, the
polylines are evaluated by calling the model with a plain number, and the distance of each point
``(u_i, alpha_i)`` to its polyline is measured without regard to the piece the engine gave it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
import numpy.typing as npt

from homotopy.errors import PathError
from homotopy.model import Problem
from homotopy.model.polyline import Jump, Knot, Slope

if TYPE_CHECKING:
    from homotopy.path import Path

__all__ = ["Certificate", "Check", "certify"]

Array = npt.NDArray[np.float64]

BATCH = 64
SIDES = ("before", "after")
# u is a sum; its scale is at least this part of the sum of the sizes of its terms, which puts the
# rounding of the sum (a few 1e-16 of them) just below a tolerance of 1e-8.
ROUNDED = 1e-7
# A response within this part of its scale stands on a corner.
STANDING = 1e-12
# A segment shorter than this part of the path is too brief to tell standing from leaving.
BRIEF = 1e-8
# A change v of alpha with v'Qv below this part of its terms is null to rounding.
NULL = 1e-12


@attrs.frozen
class Check:
    """One kind of condition: its worst relative residual, where, and how many were checked."""

    name: str
    worst: float
    t: float
    count: int
    ok: bool


@attrs.frozen
class Certificate:
    """The outcome of `Path.certify`.

    Attributes
    ----------
    checks : tuple of Check
        * polyline: distance of every (u_i, alpha_i) to its polyline, the u part relative to
          ``max(scale of corners, |u_i|, 1e-7 sum_j |phi_i||phi_j||alpha_j|)`` (the last is
          rounding: it matters where huge terms cancel), the alpha part to the largest finite
          slope of the path or the largest alpha;
        * border: ``|B^T alpha - e|`` relative to the terms of the sum or the largest slope;
        * continuity: change of ``Q alpha`` (that is, of w) and of the objective between segments
          that meet without a jump (b need not be unique there, nor alpha along directions that
          are null to rounding: those count in the objective only);
        * jumps: by how much the objective falls short of the fall that the move of w demands,
          ``1/2 |dw|^2`` divided by the rounds taken (0 where it falls enough), how far the recorded
          objectives are from the recomputed ones, and that a recorded move is one;
        * corners: coordinates inside a segment that stand on a jump corner without being held
          there by those on knots.
    tol : float
    """

    checks: tuple[Check, ...]
    tol: float

    @property
    def ok(self) -> bool:
        """Whether every condition holds to `tol`."""
        return all(check.ok for check in self.checks)

    @property
    def worst(self) -> float:
        """The largest relative residual of all."""
        return max(check.worst for check in self.checks)

    def __str__(self) -> str:
        lines = [f"{'condition':<12}{'checked':>9}{'worst':>12}{'at':>14}"]
        for c in self.checks:
            at = f"{c.t:14.6g}" if np.isfinite(c.t) else f"{'-':>14}"
            mark = "" if c.ok else "   FAILS"
            lines.append(f"{c.name:<12}{c.count:>9}{c.worst:>12.2e}{at}{mark}")
        verdict = "certified" if self.ok else "NOT certified"
        lines.append(f"{verdict} to {self.tol:g} (worst {self.worst:.2e})")
        return "\n".join(lines)


@attrs.define
class _Tally:
    worst: float = 0.0
    t: float = np.nan
    count: int = 0

    def add(self, value: float, t: float, count: int = 1) -> None:
        self.count += count
        value = value if np.isfinite(value) else np.inf
        if value > self.worst or np.isnan(self.t):
            self.worst, self.t = value, t

    def check(self, name: str, tol: float) -> Check:
        return Check(name, self.worst, self.t, self.count, self.worst <= tol)


@attrs.frozen
class _Lines:
    """The polylines at one t, evaluated by the model itself."""

    slopes: list[tuple[Array, Array]]
    corners: list[tuple[Array, bool]]

    @classmethod
    def evaluate(cls, model: Any, t: float, n: int) -> _Lines:
        slopes, corners = [], []
        for piece in model.polyline(float(t)):
            if isinstance(piece, Slope):
                value = np.broadcast_to(np.asarray(piece.value, dtype=float), (n,))
                bend = np.broadcast_to(np.asarray(piece.curvature, dtype=float), (n,))
                slopes.append((value, bend))
            elif isinstance(piece, Knot | Jump):
                at = np.broadcast_to(np.asarray(piece.position, dtype=float), (n,))
                corners.append((at, isinstance(piece, Jump)))
        return cls(slopes, corners)

    def height(self, j: int, u: Array) -> Array:
        value, bend = self.slopes[j]
        return np.asarray(value - bend * np.where(bend > 0.0, u, 0.0))

    def scales(self) -> tuple[float, float]:
        size = np.max([np.abs(at) for at, _ in self.corners], axis=0)
        spread = max(float(np.median(size)), 1e-3 * float(size.max())) or 1.0
        heights = np.concatenate([np.abs(v[np.isfinite(v)]) for v, _ in self.slopes])
        return spread, float(heights.max(initial=0.0))

    def distance(self, u: Array, alpha: Array, u_scale: Array, a_scale: float) -> Array:
        best = np.full(u.size, np.inf)
        last = len(self.corners)
        for j in range(last + 1):
            low = self.corners[j - 1][0] if j else np.full(u.size, -np.inf)
            high = self.corners[j][0] if j < last else np.full(u.size, np.inf)
            at = np.clip(u, low, high)
            off = np.maximum(np.abs(u - at) / u_scale, np.abs(alpha - self.height(j, at)) / a_scale)
            best = np.minimum(best, np.where(np.isfinite(off), off, np.inf))
        for j, (at, is_jump) in enumerate(self.corners):
            if is_jump:
                continue
            top, bottom = self.height(j, at), self.height(j + 1, at)
            nearest = np.clip(alpha, np.minimum(bottom, top), np.maximum(bottom, top))
            off = np.maximum(np.abs(u - at) / u_scale, np.abs(alpha - nearest) / a_scale)
            best = np.minimum(best, off)
        return best


def _points(path: Path) -> list[tuple[int, float, str]]:
    """(segment, t, where) at both ends and inside of every segment."""
    points = []
    for k in range(len(path.segments)):
        start, stop = float(path.segments.start[k]), float(path.segments.stop[k])
        points.append((k, start, "start"))
        if stop != start:
            points.append((k, 0.5 * (start + stop), "inside"))
            points.append((k, stop, "stop"))
    return points


@attrs.frozen
class _Point:
    """One point of the path with everything recomputed."""

    t: float
    alpha: Array
    u: Array
    w: Array
    objective: float
    lines: _Lines
    u_scale: Array
    a_scale: float


class _Examination:
    """Goes through the points of a path in order and keeps the tallies."""

    def __init__(self, path: Path) -> None:
        self.path, self.problem = path, path.problem
        n = self.problem.gram.size
        ends = [_Lines.evaluate(path.model, t, n).scales() for t in path.traced]
        self.spread = max(spread for spread, _ in ends)
        self.height = max(height for _, height in ends)
        self.polyline, self.border, self.continuity = _Tally(), _Tally(), _Tally()
        self.jumps, self.corners = _Tally(), _Tally()
        self.jump_times = {jump.t for jump in path.jumps}
        self.sides: dict[tuple[float, str], _Point] = {}
        self.previous: _Point | None = None

    def run(self) -> None:
        s = self.path.segments
        points = _points(self.path)
        brief = BRIEF * abs(self.path.traced[1] - self.path.traced[0])
        for first in range(0, len(points), BATCH):
            batch = points[first : first + BATCH]
            for (k, _, where), point in zip(batch, self._recompute(batch), strict=True):
                self._conditions(point)
                if where == "inside":
                    if abs(s.stop[k] - s.start[k]) > brief:
                        self._standing(point)
                    continue
                self.sides.setdefault((point.t, "before"), point)
                self.sides[point.t, "after"] = point
                if where == "start":
                    self._junction(point)
                self.previous = point
        self._falls()

    def look_at(self, values: Array) -> None:
        """The conditions that hold at a single t, at each of `values` and on both sides of it."""
        places = {self.path._locate(t, side) for t in values.tolist() for side in SIDES}
        points = [(k, t, "inside") for k, t in sorted(places)]
        for first in range(0, len(points), BATCH):
            for point in self._recompute(points[first : first + BATCH]):
                self._conditions(point)

    def _recompute(self, batch: list[tuple[int, float, str]]) -> list[_Point]:
        path, problem = self.path, self.problem
        alphas = np.stack([path._alpha_on(k, t) for k, t, _ in batch], axis=1)
        bs = np.stack([path._b_on(k, t) for k, t, _ in batch], axis=1)
        ws = problem.gram.matmat(alphas)
        us = ws + problem.border @ bs
        root = np.sqrt(problem.gram.diag)
        scales = np.maximum(np.abs(us), ROUNDED * np.outer(root, root @ np.abs(alphas)))
        return [
            _Point(
                t=t,
                alpha=alphas[:, c],
                u=us[:, c],
                w=ws[:, c],
                objective=problem.objective(t, alphas[:, c], bs[:, c], us[:, c]),
                lines=_Lines.evaluate(path.model, t, problem.gram.size),
                u_scale=np.maximum(self.spread, scales[:, c]),
                a_scale=max(self.height, float(np.abs(alphas[:, c]).max())) or 1.0,
            )
            for c, (_, t, _) in enumerate(batch)
        ]

    def _conditions(self, p: _Point) -> None:
        """Every (u_i, alpha_i) on its polyline, and the border equations."""
        off = p.lines.distance(p.u, p.alpha, p.u_scale, p.a_scale)
        self.polyline.add(float(off.max()), p.t, off.size)
        border = self.problem.border
        if border.shape[1]:
            target = self.problem.target(p.t)
            size = np.abs(border).T @ np.abs(p.alpha) + np.abs(target)
            gap = np.abs(border.T @ p.alpha - target)
            self.border.add(float((gap / np.maximum(size, p.a_scale)).max()), p.t, gap.size)

    def _junction(self, p: _Point) -> None:
        """w and the objective go on from the segment before, unless a jump lies between."""
        last = self.previous
        if last is None or last.t != p.t or p.t in self.jump_times:
            return
        move = float(np.abs(p.w - last.w).max()) / float(p.u_scale.max())
        change = p.alpha - last.alpha
        if abs(float(change @ (p.w - last.w))) <= NULL * float(change**2 @ self.problem.gram.diag):
            # A direction null to rounding: w is known to the root of that only.
            move = 0.0
        norm = max(abs(float(p.alpha @ p.w)), abs(p.objective), self.spread * p.a_scale)
        self.continuity.add(max(move, abs(p.objective - last.objective) / norm), p.t)

    def _standing(self, p: _Point) -> None:
        """Nobody stands on a jump corner without being held there."""
        for j, (at, is_jump) in enumerate(p.lines.corners):
            if is_jump:
                rise = p.lines.height(j + 1, at) - p.lines.height(j, at)
                on_it = np.abs(p.u - at) <= STANDING * p.u_scale
                near = np.flatnonzero(on_it & (rise > 1e-12 * p.a_scale))
                self.corners.add(float(_loose(self.problem, p, near)), p.t, at.size)

    def _falls(self) -> None:
        """The objective falls across every jump, by no less than convexity asks for.

        Each round of a D-step goes to the optimum of a problem that is strongly convex in w, from
        a point feasible for it: the objective falls by at least half the square of the move.
        """
        for t in sorted(self.jump_times):
            if (t, "before") not in self.sides:
                # The path does not break where a jump is recorded.
                self.jumps.add(np.inf, t)
                continue
            before, after = self.sides[t, "before"], self.sides[t, "after"]
            here = [jump for jump in self.path.jumps if jump.t == t]
            size = max(abs(before.objective), abs(after.objective), self.spread * self.height)
            change = after.alpha - before.alpha
            rounds = max(sum(jump.rounds for jump in here), 1)
            owed = 0.5 * max(float(change @ (after.w - before.w)), 0.0) / rounds
            short = owed - (before.objective - after.objective)
            recorded = max(
                abs(here[0].objective_before - before.objective),
                abs(here[-1].objective_after - after.objective),
            )
            off = max(short, recorded, 0.0) / (size or 1.0)
            claimed = any(jump.moved for jump in here)
            self.jumps.add(np.inf if claimed and np.array_equal(after.u, before.u) else off, t)

    def certificate(self, tol: float) -> Certificate:
        names = ("polyline", "border", "continuity", "jumps", "corners")
        return Certificate(tuple(getattr(self, name).check(name, tol) for name in names), tol)


def certify(path: Path, tol: float = 1e-8, at: npt.ArrayLike | None = None) -> Certificate:
    """Check `path` at every break-point, both sides of every jump, and inside every segment; or
    the optimality conditions at the values `at` alone."""
    if not tol > 0.0:
        raise PathError(f"certify: tol must be positive, got {tol!r}")
    examination = _Examination(path)
    if at is None:
        examination.run()
    else:
        try:
            values = np.atleast_1d(np.asarray(at, dtype=float))
        except (TypeError, ValueError):
            raise PathError(f"certify: at must be a number or several, got {at!r}") from None
        if values.size == 0:
            raise PathError("certify: at holds no value; leave it out to check the whole path")
        examination.look_at(values)
    return examination.certificate(tol)


def _loose(problem: Problem, p: _Point, near: npt.NDArray[np.int64]) -> int:
    """How many of `near` are not held in place by the coordinates standing on knots.

    i is held where phi_i (with its border row) lies in their span: then w and b cannot move u_i
    and leave all of them where they are.
    """
    if near.size == 0:
        return 0
    border = problem.border
    knots = [at for at, is_jump in p.lines.corners if not is_jump]
    on_knot = [np.abs(p.u - at) <= 1e-8 * p.u_scale for at in knots]
    active = np.flatnonzero(np.any(on_knot, axis=0)) if on_knot else np.empty(0, dtype=np.int64)
    scale = float(problem.gram.diag.max()) or 1.0
    weight = scale / max(float((border**2).sum(axis=1).max(initial=0.0)), 1e-300)
    own = problem.gram.diag[near] + weight * (border[near] ** 2).sum(axis=1)
    block = problem.gram.block(active, active) + weight * border[active] @ border[active].T
    rows = problem.gram.block(active, near) + weight * border[active] @ border[near].T
    inside = (rows * np.linalg.lstsq(block, rows, rcond=1e-12)[0]).sum(axis=0)
    return int(np.sum(own - inside > 1e-8 * np.maximum(own, 1e-2 * scale)))
