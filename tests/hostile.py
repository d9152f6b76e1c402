"""Hostile problems traced, certified and put before the oracle, each within a time limit.

    python tests/hostile.py 0:300

examines the problems with these seeds, tells every one that is not certified, and counts.
"""

from __future__ import annotations

import multiprocessing
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import attrs
import numpy as np
from oracles import Examiner, Point, Polyline, Statement, better, machine, program

from homotopy import Homotopy, Path, compile_now
from homotopy.errors import ModelError, RoundingWarning, TraceError
from homotopy.model.affine import Affine
from homotopy.testing import HostileProblem, hostile_problem

# Seconds for one problem, and for a worker to be ready.
LIMIT, READY = 20.0, 300.0
# Points looked at by the oracle: break-points and jumps, and points between.
MOST = 40


@attrs.frozen
class Outcome:
    """How one problem ended.

    ``certified`` (and passed by the oracle), ``declined`` with an error of ours, or one of the ways
    that must not be: ``wrong`` (a complete path that the certificate or the oracle refuses),
    ``unproven`` (an error whose path is not right as far as it goes), ``hung``, ``warned``,
    ``crashed``.
    """

    seed: int
    kind: str
    name: str = ""
    cause: str = ""
    seconds: float = 0.0
    worst: float = 0.0


# ---------------------------------------------------------------------- the oracle's view


def _border(path: Path, t: float, side: str) -> Any:
    """b for the rows as they were given, whatever the model moved them by."""
    b = path.border_multipliers(t, side)
    return np.array([path.model.intercept(path.alpha(t, side), b)]) if b.size == 1 else b


def statement(problem: HostileProblem) -> Statement:
    """The problem for the oracle: numbers only."""
    if "plugin" in problem.given:
        return machine(problem.given)
    model: Any = problem.model
    target = Affine.of(model.border_target)
    m = (
        0
        if model.border is None
        else np.asarray(model.border).reshape(model.gram.size, -1).shape[1]
    )

    def e(t: float) -> Any:
        const, rate = (np.broadcast_to(v, (m,)).astype(np.longdouble)
                       for v in (target.const, target.rate))  # fmt: skip
        return const + rate * t, np.abs(const) + np.abs(rate * t)

    return program(problem.given, model.border, e, lambda t: _tables(model, t))


def _tables(model: Any, t: float) -> Polyline:
    n = model.gram.size

    def stacked(lines: Any) -> tuple[Any, Any]:
        values, terms = [], []
        for line in lines:
            const, rate = (np.broadcast_to(np.asarray(v, np.longdouble), (n,))
                           for v in (line.const, line.rate))  # fmt: skip
            values.append(np.where(np.isfinite(const), const + rate * t, const))
            terms.append(np.where(np.isfinite(const), np.abs(const) + np.abs(rate * t), 0))
        return np.stack(values, 1), np.stack(terms, 1)

    slope, slope_terms = stacked(model.slopes)
    corner, corner_terms = stacked([line for _, line in model.corners])
    bend = np.stack([np.broadcast_to(np.asarray(b, np.longdouble), (n,)) for b in model.bends], 1)
    jump = np.array([kind.__name__ == "Jump" for kind, _ in model.corners])
    return Polyline(slope, corner, bend, jump, slope_terms, corner_terms)


def faults(problem: HostileProblem, path: Path) -> tuple[list[str], float]:
    """What the oracle finds wrong with a path, and the worst part of what is allowed."""
    st = statement(problem)
    parameter = path.model.parameter
    breaks = path.breakpoints
    jumps = list(dict.fromkeys(j.t for j in path.jumps))
    some = breaks[np.unique(np.linspace(0, breaks.size - 1, MOST).astype(int))]
    inside = 0.5 * (breaks[1:] + breaks[:-1])
    inside = inside[
        np.unique(np.linspace(0, max(inside.size - 1, 0), MOST).astype(int))[: inside.size]
    ]
    sides = [(float(t), side) for t in [*some, *jumps[:MOST]] for side in ("before", "after")]
    places = sides + [(float(t), "after") for t in inside]
    places = list(dict.fromkeys(places))
    points = {
        (t, side): Point.of(st, t, path.alpha(t, side), _border(path, t, side))
        for t, side in places
    }
    oracle = Examiner(st, list(points.values()))
    found: list[str] = []
    worst = 0.0

    def tell(off: float, what: str) -> None:
        nonlocal worst
        worst = max(worst, off)
        if not off <= 1.0 and len(found) < 6:
            found.append(f"{what} ({off:.2g} times what is allowed)")

    for (t, side), p in points.items():
        off = oracle.off(p)
        if np.any(off > 1.0):
            off = oracle.off(p, _drift(st, path, t))
        i = int(np.argmax(off))
        tell(float(off[i]), f"at {parameter}={t:.9g} ({side}) coordinate {i} is off its polyline: "
             f"u={float(p.u[i]):.9g}, alpha={float(p.alpha[i]):.9g}")  # fmt: skip
        tell(oracle.border(p), f"at {parameter}={t:.9g} ({side}) the border equations do not hold")
    for t in dict.fromkeys(t for t, _ in sides):
        before, after = points[t, "before"], points[t, "after"]
        rise = _rise(oracle, before, after, t in jumps)
        if t in jumps:
            tell(rise, f"the objective rises at the jump at {parameter}={t:.9g}")
        else:
            tell(rise, f"the objective breaks at {parameter}={t:.9g} without a jump")
            tell(oracle.moved(before, after), f"w breaks at {parameter}={t:.9g} without a jump")
    for t in inside.tolist():
        stuck = _stuck(st, oracle, path, t)
        if stuck and len(found) < 6:
            found.append(f"at {parameter}={t:.9g} coordinate {stuck[0]} stands on a jump, not held")
    if _tame(st, points):
        for t in {float(breaks[0]), float(breaks[-1]), *(float(t) for t in inside[:2])}:
            gain = better(st, points[t, "after"])
            tell(gain / 1e-6, f"at {parameter}={t:.9g} DAQP finds a better point")
    found += _covered(problem, path, points, oracle)
    return found, worst


def _rise(oracle: Examiner, before: Point, after: Point, jump: bool) -> float:
    """How far the objective rises, or changes where there is no jump; 1 is as much as may be."""

    def rise(first: Point, last: Point) -> float:
        # Both from where u is before: a constant more or less does not matter.
        (start, blur), (end, more) = (oracle.objective(p, first.u) for p in (first, last))
        change = end - start
        return (change if jump else abs(change)) / max(blur + more, 1e-300)

    off = rise(before, after)
    if off > 1.0 and not (before.plain is None and after.plain is None):
        # Either reading of u will do, but the same on both sides.
        off = min(off, rise(before.as_summed(), after.as_summed()))
    return off


def _drift(st: Statement, path: Path, t: float) -> Any:
    """What u does beside the break-point t while t moves by its rounding: a break-point is known to
    that of the whole span, and on a brief segment u may be fast."""
    breaks = path.breakpoints
    k = int(np.argmin(np.abs(breaks - t)))
    drift: Any = 0.0
    for other, sides in ((k - 1, ("after", "before")), (k + 1, ("before", "after"))):
        if breaks[k] != t or not 0 <= other < breaks.size:
            continue
        there = float(breaks[other])
        ends = [
            Point.of(st, at, path.alpha(at, side), _border(path, at, side)).u
            for at, side in zip((there, t), sides, strict=True)
        ]
        part = min(4.0 * np.finfo(float).eps * np.abs(breaks).max() / abs(there - t), 0.01)
        drift = np.maximum(drift, part * np.abs(ends[1] - ends[0]))
    return drift


def _stuck(st: Statement, oracle: Examiner, path: Path, t: float) -> list[int]:
    """Who stands on a jump corner all along the segment around t without being held there."""
    breaks = path.breakpoints
    start, stop = path.traced
    near = np.argsort(np.abs(breaks - t))[:2]
    a, z = (float(breaks[k]) for k in np.sort(near))
    if abs(z - a) <= 1e-8 * abs(stop - start):
        return []
    standing: Any = None
    for at, side in ((a, "after"), (z, "before"), (t, "after")):
        p = Point.of(st, at, path.alpha(at, side), _border(path, at, side))
        here = set(oracle.standing(p).tolist())
        standing = here if standing is None else standing & here
        if not standing:
            return []
    # In the middle, away from what happens at the ends.
    middle = Point.of(st, t, path.alpha(t, "after"), _border(path, t, "after"))
    return oracle.loose(middle, sorted(standing))


def _tame(st: Statement, points: Any) -> bool:
    """Whether a solver in double precision without scaling can be asked at all."""
    lines = [p.line for p in points.values()]
    numbers = [st.Q, st.B, *(line.slope for line in lines), *(line.corner for line in lines)]
    sizes = np.abs(np.concatenate([np.ravel(v) for v in numbers]).astype(float))
    flat = not any(np.any(line.bend) for line in lines)
    small = bool(np.max(sizes[np.isfinite(sizes)]) <= 1e4)
    return flat and small and len(st.Q) <= 30 and bool(np.any(st.Q))


def _covered(problem: HostileProblem, path: Path, points: Any, oracle: Examiner) -> list[str]:
    """The path begins where it ought to and covers its span."""
    found = []
    (start, stop), (first, last) = path.span, path.traced
    if path.complete and (start, stop) != (first, last):
        found.append(f"complete, but traced {first:.9g} to {last:.9g} of {start:.9g} to {stop:.9g}")
    declared = path.model.span
    if np.isfinite(declared[0]):
        if (start, stop) != tuple(declared):
            found.append(f"the span is {path.span}, declared {declared}")
        return found
    p = points[first, "before"]
    at, inward = _contact(problem, p), np.sign(declared[1] - declared[0])
    i, contact = max(at, key=lambda found: -inward * found[1])
    room = 1e-8 * abs(contact) + float(oracle.blur(p)[i]) + 1e-11 * abs(float(p.u[i]))
    if start != stop and abs(start - contact) > room:
        found.append(f"the path starts at {start:.9g}, the first contact is at {contact:.9g}")
    # With nothing left to trace the first contact lies beyond the stop.
    if start == stop and inward * (declared[1] - contact) > 10 * room:
        found.append(f"one point at {start:.9g}, but the first contact is at {contact:.9g}")
    return found


def _contact(problem: HostileProblem, p: Point) -> list[tuple[int, float]]:
    """Where each jump, on its way in from infinity, meets its response."""
    given, n = problem.given, p.u.size
    if given.get("plugin") == "hinge-ramp":
        jumps = [(np.zeros(n), 1.0)]
    elif "plugin" in given:
        y = np.asarray(given["y"], np.longdouble)
        jumps = [(y, -1.0), (y, 1.0)]
    else:
        model: Any = problem.model
        jumps = [(np.broadcast_to(c.const, (n,)), c.rate) for kind, c in model.corners
                 if kind.__name__ == "Jump" and np.any(c.rate)]  # fmt: skip
    return [(i, float((p.u[i] - const[i]) / rate)) for const, rate in jumps for i in range(n)]


# ---------------------------------------------------------------------- one problem


def examine(seed: int) -> Outcome:
    """Make, trace, certify and judge one problem; other warnings than of rounding are errors."""
    begin = time.perf_counter()
    name = ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            # Many of these problems are meant to drown in rounding.
            warnings.simplefilter("ignore", RoundingWarning)
            problem = hostile_problem(seed)
            name = problem.name
            kind, cause, worst = _judge(problem)
    except Warning as warning:
        kind, cause, worst = "warned", f"{type(warning).__name__}: {warning} {_where(warning)}", 0.0
    except Exception as error:
        kind, cause, worst = "crashed", f"{type(error).__name__}: {error} {_where(error)}", 0.0
    return Outcome(seed, kind, name, cause, time.perf_counter() - begin, worst)


def _where(error: BaseException) -> str:
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"({last.filename.rsplit('/', 1)[-1]}:{last.lineno} {last.name})"


def _judge(problem: HostileProblem) -> tuple[str, str, float]:
    try:
        path = Homotopy(problem.model).trace()
    except (TraceError, ModelError) as error:
        cause = f"{type(error).__name__}: {error}"
        part = getattr(error, "path", None)
        if isinstance(part, Path):
            why, worst = _refused(problem, part)
            if why:
                return "unproven", f"{cause} -- {why}", worst
        return "declined", cause, 0.0
    if not path.complete:
        return "wrong", f"not complete: {path.status.value}", 0.0
    why, worst = _refused(problem, path)
    return ("wrong", why, worst) if why else ("certified", "", worst)


def _refused(problem: HostileProblem, path: Path) -> tuple[str, float]:
    """Why the certificate or the oracle refuses a path; empty if neither does."""
    certificate = path.certify()
    failed = [f"{c.name} {c.worst:.1e} at {c.t:.6g}" for c in certificate.checks if not c.ok]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found, worst = faults(problem, path)
    parts = []
    if failed:
        parts.append("CERTIFICATE " + ", ".join(failed))
    if found:
        parts.append("ORACLE " + "; ".join(found))
    return " | ".join(parts), worst


# ---------------------------------------------------------------------- many problems


Judge = Callable[[int], Outcome]


def _work(pipe: Any, judge: Judge) -> None:
    compile_now()
    pipe.send(None)
    while (seed := pipe.recv()) is not None:
        pipe.send(judge(seed))


class Worker:
    """A process that examines one problem at a time and is ended when one takes too long."""

    def __init__(self, judge: Judge) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=_work, args=(other, judge), daemon=True)
        self.process.start()
        other.close()
        if not self.pipe.poll(READY):
            raise RuntimeError("the worker did not get ready")
        self.pipe.recv()

    def examine(self, seed: int, limit: float) -> Outcome | None:
        """The outcome; None if there is none in time or the process died."""
        self.pipe.send(seed)
        try:
            return self.pipe.recv() if self.pipe.poll(limit) else None
        except EOFError:
            self.process.join()
            return None

    def end(self) -> None:
        self.process.kill()
        self.process.join()


def run(seeds: Iterable[int], limit: float = LIMIT, judge: Judge = examine) -> Iterator[Outcome]:
    """Examine problems one after the other."""
    worker = Worker(judge)
    try:
        for seed in seeds:
            outcome = worker.examine(seed, limit)
            if outcome is None:
                died = worker.process.exitcode
                kind = "hung" if died is None else "crashed"
                cause = f"nothing after {limit:g} s" if died is None else f"exit code {died}"
                outcome = Outcome(seed, kind, hostile_problem(seed).name, cause, limit)
                worker.end()
                worker = Worker(judge)
            yield outcome
    finally:
        worker.end()


def counted(outcomes: Iterable[Outcome]) -> Counter[str]:
    return Counter(o.kind for o in outcomes)


if __name__ == "__main__":
    first, last = (int(v) for v in sys.argv[1].split(":"))
    seen = []
    for found in run(range(first, last)):
        seen.append(found)
        if found.kind != "certified":
            print(f"{found.seed} {found.kind}: {found.name}\n    {found.cause}", flush=True)
    print(dict(counted(seen)))
