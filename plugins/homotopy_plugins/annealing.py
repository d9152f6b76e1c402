"""Annealing: several walks to one problem that is not convex, and the best optimum among their
ends.

Where a walk ends depends on the way (see `walks`).  First the routes are walked: from a convex
problem to the target, each another way.  Then the optima found are reheated, the best one first:
led back along the last edge of a route, towards the convex problem, and down again.  What comes of
it may be a new optimum, which waits for its turn to be reheated; a better one than all is next.

Between two jumps a path is reversible: led back without a jump, an optimum returns to itself.  So
what a reheating can find is decided by the jumps on the way up.  One way up serves all heights: it
is walked from height to height, and only where there was a jump since the last height is there a
new way down.  Where every coordinate is between the same two jumps as on an earlier way, at the
same place, the two ways down are one, and it is not walked again: with these branches fixed the
problem is convex and has one optimum.  The same tells whether two ends of walks are one.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Protocol, runtime_checkable

import attrs
import numpy as np
import numpy.typing as npt

from homotopy import (
    Certificate,
    Homotopy,
    HomotopyError,
    LossModel,
    ModelError,
    Path,
    TraceError,
    TraceInterrupted,
    compile_now,
)
from homotopy.progress import progress_bar
from homotopy.runtime import compiled
from homotopy_plugins.kernels.checks import flag, number, positive, whole
from homotopy_plugins.models.ramp import Point
from homotopy_plugins.walks import Place, Walk

__all__ = ["AnnealInterrupted", "Annealed", "Trial", "anneal"]

Array = npt.NDArray[np.float64]

# How far back an optimum is led, in parts of the last edge of a route: what is near is found from
# low heights, and more often than from great ones.
HEIGHTS = (0.01, 0.03, 0.1, 0.3, 0.6)
# Walks at most.
WALKS = 40
# Seconds for a trace when none are left.
SHORT = 1e-9
# An objective must be lower by this part to be better.
BETTER = 1e-9


@runtime_checkable
class Routed(Protocol):
    """A model that knows the ways to a target; `RampModel` is one."""

    def point_at(self, t: float) -> Point:
        """The point at the place t of its own path."""

    def point(self, point: Point) -> Point:
        """A point as `line` takes it, checked."""

    def convex_point(self, target: Point) -> Point:
        """Where the problem is convex, near to `target`."""

    def routes(self, target: Point, response: Array) -> Mapping[str, Sequence[Point]]:
        """Ways to `target`; `response` is that at `convex_point`."""


@attrs.frozen
class Trial:
    """One walk that was tried.

    Attributes
    ----------
    name : str
        The route, or the one along which an optimum was led back and how far.
    corners : tuple of points
    origin : int or None
        Which of the trials ended in the optimum that was led back; None for a route.
    objective : float
        At the target; nan if the walk did not get there.
    certified : bool or None
        Whether its end is a certified local optimum; None if it was too high to be looked at.
    note : str
        Why the walk failed or is not certified, or what else there is to say of it.
    breakpoints, jumps : int
        On the edges walked for it; a way back that leads higher goes on from where the last one
        was left.
    seconds : float
    improved : bool
        Whether its end was the best optimum so far.
    """

    name: str
    corners: tuple[Any, ...] = attrs.field(repr=False)
    origin: int | None
    objective: float
    certified: bool | None
    note: str
    breakpoints: int
    jumps: int
    seconds: float
    improved: bool


@attrs.frozen(eq=False, repr=False)
class Annealed:
    """The best certified local optimum of several walks.

    Attributes
    ----------
    best : Place
        The optimum at the target.
    walk : Walk
        The walk that found it.
    certificate : Certificate
        The proof that `best` is a local optimum: that of a path which stays at the target.
    tried : tuple of Trial
        All walks, in the order in which they were tried.
    exhausted : bool
        Whether there was nothing left to try; False where the budget was over before.
    seconds : float
        All walks and certificates together.
    """

    best: Place
    walk: Walk
    certificate: Certificate
    tried: tuple[Trial, ...]
    exhausted: bool
    seconds: float

    @property
    def path(self) -> Path:
        """The last edge of the walk, which ends in the optimum at t = 1: a start for further paths
        is ``start=(annealed.path, 1.0)``."""
        return self.walk.paths[-1]

    @property
    def found_by(self) -> Trial:
        """The trial that found the optimum."""
        return [trial for trial in self.tried if trial.improved][-1]

    @property
    def parameters(self) -> dict[str, float]:
        """Those of the target, where the model names them."""
        return self.best.parameters

    @property
    def alpha(self) -> Array:
        """alpha of the optimum."""
        return self.best.alpha

    @property
    def intercept(self) -> Any:
        """The intercept of the optimum."""
        return self.best.intercept

    @property
    def objective(self) -> float:
        """The objective of the optimum."""
        return self.best.objective

    @property
    def improvement(self) -> float:
        """By how much the optimum is lower than the end of the first route; nan if that was not
        reached."""
        return float(np.maximum(0.0, self.tried[0].objective - self.objective))

    def decision_function(self, X: Any) -> Array:
        """The fitted function at new data (of a model that is a `Predictor`)."""
        return self.path.decision_function(X, 1.0)

    def summary(self) -> str:
        """A table of all walks: a star marks those that were the best so far, `from` is the walk
        whose end was led back."""
        found = self.found_by
        ended = "nothing left to try" if self.exhausted else "the budget was over"
        lines = [
            f"{type(self.path.model).__name__} at {_named(self.parameters)}: objective "
            f"{self.objective:.8g}, {self._gain()}",
            f"  found {found.name}; {len(self.tried)} walks, {ended}; "
            f"certified to {self.certificate.tol:g} (worst {self.certificate.worst:.2e})",
        ]
        wide = max(len(trial.name) for trial in self.tried)
        titles = f"{'from':>4} {'objective':>14} {'break-points':>13} {'jumps':>6}"
        lines.append(f"       {'walk':<{wide}} {titles}")
        for k, trial in enumerate(self.tried):
            star = "*" if trial.improved else " "
            origin = "" if trial.origin is None else f"{trial.origin + 1}"
            value = "-" if np.isnan(trial.objective) else f"{trial.objective:.8g}"
            counts = f"{trial.breakpoints:13d} {trial.jumps:6d}  {trial.note}".rstrip()
            lines.append(
                f"  {star}{k + 1:3d} {trial.name:<{wide}} {origin:>4} {value:>14} {counts}"
            )
        return "\n".join(lines)

    def _gain(self) -> str:
        first = self.tried[0]
        if np.isnan(self.improvement):
            return f"where {first.name} does not lead"
        if not self.improvement > 0.0:
            return f"as {first.name}"
        part = self.improvement / max(abs(first.objective), abs(self.objective))
        return f"{self.improvement:.4g} ({part:.2%}) below {first.name}"

    def __repr__(self) -> str:
        return (
            f"<Annealed {type(self.path.model).__name__} at {_named(self.parameters)}: objective "
            f"{self.objective:.8g}, found {self.found_by.name}, {len(self.tried)} walks; certified>"
        )


class AnnealInterrupted(TraceInterrupted):
    """Ctrl-C after an optimum had been found: still a `KeyboardInterrupt`.

    Attributes
    ----------
    annealed : Annealed
        The best so far, with all that was tried.
    path : Path
        The path that ends in it.
    """

    def __init__(self, annealed: Annealed) -> None:
        super().__init__(f"interrupted; .annealed holds {annealed!r}", annealed.path)
        self.annealed = annealed


def anneal(
    model: Any,
    target: Point | None = None,
    *,
    routes: Mapping[str, Iterable[Point]] | Iterable[Iterable[Point]] | None = None,
    heights: Iterable[float] = HEIGHTS,
    max_walks: int = WALKS,
    max_seconds: float | None = None,
    start: Any = None,
    tol: float = 1e-8,
    progress: bool = False,
    **options: Any,
) -> Annealed:
    """Look for a good local optimum of a problem that is not convex, by several walks to it.

    Every route is walked to the target.  Then the best optimum is reheated: led back along the last
    edge of each route, to each of the `heights`, and down again.  A better one that is found is
    reheated next, then the others that were met, lowest first, until there is nothing new or the
    budget is over.  The result is never worse than any end of a route that is certified.

    Parameters
    ----------
    model : RampModel, or any LossModel with a method ``line(start, stop)`` if `routes` are given
    target : point, optional
        Where to look: the parameters in the order of ``model.moving``, (theta, s) for most, or a
        dict of those that differ from the model's own.  By default where the model's own path ends
        (theta = 0 of a theta-path), or where the routes do.
    routes : dict of name -> corners, or list of corners, optional
        Ways to the target, as for `walk`.  By default ``model.routes``: down in theta at the
        target's s, in along s from beyond every response at the target's theta, and straight
        across.
    heights : list of float between 0 and 1
        How far back to lead an optimum, in parts of the last edge of a route; none: no reheating.
    max_walks : int
        Walks at most, routes included.
    max_seconds : float, optional
        Seconds at most; compilation on first use does not count.
    start : Path, (Path, t) or array (n,), optional
        As for `Homotopy.trace`, for the first edge of each route.
    tol : float
        Of the certificate.
    progress : bool
        Show a progress bar: how much of the budget is used.
    **options
        Of `Homotopy`, for each edge.

    Returns
    -------
    Annealed

    Raises
    ------
    TraceError
        If no walk ends in a certified optimum; the message says what became of each.
    AnnealInterrupted
        On Ctrl-C once there is an optimum; its `annealed` is the best so far.

    Notes
    -----
    *Certified local optimum* means: the path that stays at the target for t from 0 to 1, begun from
    the end of the walk, is traced and passes `Path.certify`.  It recomputes the response from alpha
    and the data, finds every (u_i, alpha_i) on its polyline and the border equations satisfied, and
    none on a jump corner that could leave it.  Around such a point every loss is convex, so that
    these conditions are sufficient for a local optimum, whatever way led there.  Nothing is claimed
    about the global one.  An end that is not lower than the best so far is not looked at.  The way
    itself is certified by ``annealed.walk.certify()``.
    """
    if not (isinstance(model, LossModel) and callable(getattr(model, "line", None))):
        raise ModelError(
            f"anneal: model must be a LossModel with a method line(start, stop), got {model!r}"
        )
    if routes is None and not isinstance(model, Routed):
        raise ModelError(
            f"anneal: {type(model).__name__} does not say which ways lead to a target; give "
            "routes=[[corner, ..., target], ...]"
        )
    settings = _Settings(
        heights=_checked_heights(heights),
        max_walks=whole(max_walks, "max_walks", "anneal"),
        max_seconds=np.inf
        if max_seconds is None
        else positive(max_seconds, "max_seconds", "anneal"),
        tol=positive(tol, "tol", "anneal"),
        options=_checked_options(options, model),
    )
    given = None if routes is None else _checked_routes(routes)
    if flag(progress, "progress", "anneal"):
        bar = progress_bar("anneal", 100.0)
        try:
            return _Search(model, settings, bar.update_to).run(target, given, start)
        finally:
            bar.close()
    return _Search(model, settings).run(target, given, start)


@attrs.frozen
class _Settings:
    heights: tuple[float, ...]
    max_walks: int
    max_seconds: float
    tol: float
    options: dict[str, Any]


class _Over(Exception):
    """The budget is used up."""


class _Lost(Exception):
    """A walk that does not get to its end; the message says why."""


@attrs.frozen
class _Optimum:
    """A certified end of a walk; `place` is that of the path which stays there."""

    place: Place
    walk: Walk
    certificate: Certificate


class _Search:
    """What was tried so far, and the best of it."""

    def __init__(self, model: Any, settings: _Settings, show: Any = None) -> None:
        self.model, self.settings = model, settings
        self.show = show or (lambda part: None)
        self.target: Any = None
        self.routes: dict[str, list[Any]] = {}
        self.tried: list[Trial] = []
        self.best: _Optimum | None = None
        self.exhausted = False
        # Where ways down have begun, and what lies on ways back that were walked as far as they
        # lead: the route, the height and the branches there.
        self.descended: set[tuple[Any, ...]] = set()
        self.climbed: set[tuple[Any, ...]] = set()
        # Ends of walks that have not been led back yet, lowest first, with the number of the walk;
        # the branches of all ends; and which walk's end is being led back.
        self.waiting: list[tuple[float, int, Path]] = []
        self.origin: int | None = None
        self.known: set[bytes] = set()
        if np.isfinite(settings.max_seconds) and not compiled():
            compile_now()
        self.begun = self.since = time.monotonic()
        self.counted = [0, 0]

    def run(self, target: Any, given: dict[str, list[Any]] | None, start: Any) -> Annealed:
        try:
            start = self._plan(target, given, start)
            for name, corners in self.routes.items():
                self._walk_route(name, corners, start)
            while self.waiting:
                self._reheat(*heapq.heappop(self.waiting)[1:])
            self.exhausted = True
        except _Over:
            pass
        except KeyboardInterrupt as interrupt:
            if self.best is None:
                raise
            raise AnnealInterrupted(self._annealed(self.best)) from interrupt
        self.show(1.0)
        if self.best is None:
            raise self._nothing_found()
        return self._annealed(self.best)

    # ------------------------------------------------------------------ where to go

    def _plan(self, target: Any, given: dict[str, list[Any]] | None, start: Any) -> Any:
        """Set target and routes; return the start of these."""
        model, read = self.model, getattr(self.model, "point", lambda point: point)
        if given is None:
            if target is None:
                target, start = self._own_end(start)
            self.target = read(target)
            convex = model.convex_point(self.target)
            path = self._traced(model.line(convex, convex), start)
            start = (path, path.traced[1])
            found = model.routes(self.target, path.response(path.traced[1]))
            self.routes = {name: list(corners) for name, corners in found.items()}
        else:
            self.routes = {name: [read(p) for p in corners] for name, corners in given.items()}
            first = next(iter(self.routes.values()))
            self.target = first[-1] if target is None else read(target)
            for name, corners in self.routes.items():
                if not _same(corners[-1], self.target):
                    raise ModelError(
                        f"anneal: route {name!r} ends at {corners[-1]}, not at the target "
                        f"{self.target}; let every route end there"
                    )
        for corners in self.routes.values():
            # What cannot be a line is refused before anything is walked.
            for a, z in pairwise(corners):
                model.line(a, z)
        if self.settings.heights:
            for corners in self.routes.values():
                _between(corners[-1], corners[-2], 0.5)
        return start

    def _own_end(self, start: Any) -> tuple[Any, Any]:
        """Where the path of the model ends, and a start for what is convex."""
        model = self.model
        if np.all(np.isfinite(model.span)):
            return model.point_at(model.span[1]), start
        # Where a span begins that is not finite, and perhaps ends, is known once it is begun.
        path = self._traced(model, start, max_breakpoints=1)
        return model.point_at(path.span[1]), path.alpha(path.traced[0], "before")

    # ------------------------------------------------------------------ walking

    def _walk_route(self, name: str, corners: list[Any], start: Any) -> None:
        self._check_budget()
        paths: list[Path] = []
        try:
            for a, z in pairwise(corners):
                paths.append(self._edge(a, z, (paths[-1], 1.0) if paths else start))
        except _Lost as lost:
            self._record(name, corners, note=str(lost))
        else:
            self._judge(name, corners, Walk(tuple(paths)))

    def _reheat(self, origin: int, end: Path) -> None:
        """Lead an optimum back and down again, along one route after the other, until that leads
        to a better one than all."""
        self.origin = origin
        edges: list[Any] = []
        for name, corners in self.routes.items():
            away = corners[-2]
            if _same(away, self.target) or any(_same(away, other) for other in edges):
                continue
            edges.append(away)
            if self._reheat_along(name, away, end):
                return

    def _reheat_along(self, name: str, away: Any, end: Path) -> bool:
        up: list[Path] = []
        corners = [self.target]
        places: set[tuple[Any, ...]] = set()
        jumped = down = False
        self.since, self.counted = time.monotonic(), [0, 0]
        for height in self.settings.heights:
            self._check_budget()
            corners.append(_between(self.target, away, height))
            label = f"{name}, back {height:g}"
            try:
                begin = up[-1] if up else end
                up.append(self._edge(corners[-2], corners[-1], (begin, 1.0)))
                jumped |= bool(up[-1].jumps)
                place = (name, height, _branches(up[-1]))
                if place in self.climbed:
                    # From here on it is an earlier way back.
                    break
                places.add(place)
                new, jumped = jumped and place not in self.descended, False
                if not new:
                    continue
                self.descended.add(place)
                down = True
                last = self._edge(corners[-1], self.target, (up[-1], 1.0))
            except _Lost as lost:
                self._record(label, corners, note=str(lost))
                return False
            if self._judge(label, [*corners, self.target], Walk((*up, last))):
                return True
        self.climbed |= places
        if not down and self.settings.heights:
            self._record(label, corners, note="nothing new on the way back")
        return False

    def _edge(self, a: Any, z: Any, start: Any) -> Path:
        """The path along one edge, all of it."""
        try:
            path = self._traced(self.model.line(a, z), start)
        except HomotopyError as error:
            self._count(error.path if isinstance(error, TraceError | ModelError) else None)
            raise _Lost(str(error)) from error
        self._count(path)
        if not path.complete:
            raise _Lost(path.ending)
        return path

    def _traced(self, model: LossModel, start: Any, **more: Any) -> Path:
        """The path of a model, within the seconds that are left."""
        options = self.settings.options | more
        if np.isfinite(self.settings.max_seconds):
            options["max_seconds"] = max(self._left(), SHORT)
        return Homotopy(model, **options).trace(start=start)

    def _count(self, path: Any) -> None:
        if isinstance(path, Path):
            self.counted[0] += path.breakpoints.size - 1
            self.counted[1] += len(path.jumps)

    # ------------------------------------------------------------------ judging

    def _judge(self, name: str, corners: list[Any], found: Walk) -> bool:
        """Keep the end of a walk if it is better than what there is, and proven."""
        path = found.paths[-1]
        try:
            objective = float(path.objective(1.0))
        except HomotopyError as error:
            self._record(name, corners, note=str(error))
            return False
        if self.best is not None and not _lower(objective, self.best.place.objective):
            same = _branches(path) == _branches(self.best.walk.paths[-1])
            note = "the same optimum" if same else ""
            if not self._keep(objective, path) and not same:
                note = "found before"
            self._record(name, corners, objective, note=note)
            return False
        stay = Homotopy(self.model.line(self.target, self.target), **self.settings.options)
        try:
            rest = stay.trace(start=(path, 1.0))
        except HomotopyError as error:
            self._record(name, corners, objective, False, f"not certified: {error}")
            return False
        certificate = rest.certify(self.settings.tol)
        if not certificate.ok:
            failed = ", ".join(check.name for check in certificate.checks if not check.ok)
            note = f"not certified: {failed} off by {certificate.worst:.1e}"
            self._record(name, corners, objective, False, note)
            return False
        if rest.jumps:
            # Somebody stood on a jump corner at the end of the walk.
            found = Walk((*found.paths, rest))
        self.best = _Optimum(Walk((rest,)).at(-1), found, certificate)
        self._keep(self.best.place.objective, found.paths[-1])
        self._record(name, corners, self.best.place.objective, True, improved=True)
        return True

    def _keep(self, objective: float, path: Path) -> bool:
        """An end of a walk waits to be led back, if it is new; whether it is."""
        branches = _branches(path)
        if branches in self.known:
            return False
        heapq.heappush(self.waiting, (objective, len(self.tried), path))
        self.known.add(branches)
        return True

    def _record(
        self,
        name: str,
        corners: Iterable[Any],
        objective: float = np.nan,
        certified: bool | None = None,
        note: str = "",
        improved: bool = False,
    ) -> None:
        now = time.monotonic()
        if np.isnan(objective):
            certified = False
        self.tried.append(
            Trial(
                name=name,
                corners=tuple(corners),
                origin=self.origin,
                objective=objective,
                certified=certified,
                note=note,
                breakpoints=self.counted[0],
                jumps=self.counted[1],
                seconds=now - self.since,
                improved=improved,
            )
        )
        self.since, self.counted = now, [0, 0]
        used = len(self.tried) / self.settings.max_walks
        self.show(min(1.0, max(used, 1.0 - self._left() / self.settings.max_seconds)))

    # ------------------------------------------------------------------ the budget and the end

    def _left(self) -> float:
        return self.settings.max_seconds - (time.monotonic() - self.begun)

    def _check_budget(self) -> None:
        if len(self.tried) >= self.settings.max_walks or self._left() <= 0.0:
            raise _Over

    def _annealed(self, best: _Optimum) -> Annealed:
        return Annealed(
            best=best.place,
            walk=best.walk,
            certificate=best.certificate,
            tried=tuple(self.tried),
            exhausted=self.exhausted,
            seconds=time.monotonic() - self.begun,
        )

    def _nothing_found(self) -> TraceError:
        name, seconds = type(self.model).__name__, self.settings.max_seconds
        if not self.tried:
            return TraceError(
                f"anneal: max_seconds={seconds:g} were over before {name} was walked once; allow "
                "more"
            )
        told = "; ".join(f"{trial.name}: {trial.note}" for trial in self.tried)
        return TraceError(f"anneal: no walk of {name} ends in a certified optimum ({told})")


# ---------------------------------------------------------------------- points


def _same(a: Any, b: Any) -> bool:
    """Whether two points are one."""
    if isinstance(a, Mapping) or isinstance(b, Mapping):
        return bool(a == b)
    return bool(np.array_equal(np.asarray(a), np.asarray(b)))


def _between(a: Any, z: Any, part: float) -> Any:
    """The point `part` of the way from a to z."""
    try:
        if isinstance(a, Mapping):
            return {what: _between(a[what], z[what], part) for what in a}
        if np.ndim(a) == 0:
            return a if a == z else a + part * (z - a)
        return tuple(_between(one, other, part) for one, other in zip(a, z, strict=True))
    except (TypeError, ValueError, KeyError):
        raise ModelError(
            f"anneal: there is no point between {a!r} and {z!r} to lead an optimum back to; give "
            "points with the same parameters, as numbers, or heights=()"
        ) from None


def _branches(path: Path) -> bytes:
    """Between which two jumps each coordinate is at the end of a path: with these fixed the problem
    is convex, and its optimum is one."""
    passed = np.concatenate([[0], np.cumsum(path.problem.polylines.jump)])
    branch: bytes = passed[path.pieces(1.0) // 2].tobytes()
    return branch


def _lower(objective: float, than: float) -> bool:
    return bool(objective < than - BETTER * max(abs(objective), abs(than)))


def _named(parameters: Mapping[str, float]) -> str:
    return ", ".join(f"{what}={value:g}" for what, value in parameters.items()) or "the target"


# ---------------------------------------------------------------------- arguments


def _checked_heights(heights: Any) -> tuple[float, ...]:
    if isinstance(heights, str) or not isinstance(heights, Iterable):
        raise ModelError(f"anneal: heights must be a list of numbers, got {heights!r}")
    values = sorted({number(height, "a height", "anneal") for height in heights})
    for value in values:
        if not 0.0 < value < 1.0:
            raise ModelError(
                f"anneal: heights must lie between 0 and 1 (the target and the end of the way "
                f"back), got {value:g}"
            )
    return tuple(values)


def _checked_routes(routes: Any) -> dict[str, list[Any]]:
    if isinstance(routes, str) or not isinstance(routes, Iterable):
        raise ModelError(
            f"anneal: routes must be a dict of name -> corners or a list of corners, got {routes!r}"
        )
    if not isinstance(routes, Mapping):
        routes = {f"route {k}": corners for k, corners in enumerate(routes, 1)}
    found = {}
    for name, corners in routes.items():
        if isinstance(corners, str | Mapping) or not isinstance(corners, Iterable):
            raise ModelError(f"anneal: {name} must be a list of corners, got {corners!r}")
        found[str(name)] = list(corners)
        if len(found[str(name)]) < 2:
            raise ModelError(
                f"anneal: a route needs two corners or more, {name} has {len(found[str(name)])}"
            )
    if not found:
        raise ModelError("anneal: routes is empty; leave it out to take those of the model")
    return found


def _checked_options(options: dict[str, Any], model: LossModel) -> dict[str, Any]:
    known = {field.name for field in attrs.fields(Homotopy)} - {"model", "max_seconds"}
    strange = sorted(set(options) - known)
    if strange:
        raise ModelError(
            f"anneal: there is no option {strange[0]!r}; those of Homotopy are "
            f"{', '.join(sorted(known))}"
        )
    Homotopy(model, **options)
    return options
