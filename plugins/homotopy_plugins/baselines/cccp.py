"""The concave-convex procedure (CCCP): what one would do without a path.

At fixed t a polyline is a falling part plus a rising step at every jump.  Where the response
stands, each coordinate has passed some of its jumps; with the steps of those added for good and
those of the others left out, what remains falls and the problem is convex.  CCCP solves it, looks
where the responses stand now, and repeats until no coordinate has changed side.  For the
hinge-ramp at theta = 0 the convex problem is ``-beta_i <= alpha_i <= C - beta_i`` with beta_i = C
for outliers and 0 for inliers, as in Collobert, Sinz, Weston and Bottou (2006).

It is a baseline to compare with, made as strong as it honestly can be: columns of the kernel, the
response and alpha are carried from round to round and from value to value, and the convex problems
are solved in compiled code.  It is not a path: it finds one local optimum at each value asked for,
to a tolerance, proves nothing about it and knows nothing of what lies between two values.
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from homotopy import LossModel, ModelError
from homotopy.model import Problem
from homotopy.model.polyline import JUMP, KNOT, SEAM, Snapshot
from homotopy.runtime import one_thread
from homotopy.start.convex import ConvexSolution, solve_convex
from homotopy.start.guess import estimate_border

__all__ = ["CCCPResult", "cccp"]

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

# How many values are taken where none are given.
DEFAULT_VALUES = 5


@attrs.frozen(eq=False)
class CCCPResult:
    """One approximate local optimum a value of t.

    Attributes
    ----------
    values : array (k,)
        The values of t, in the order of travel.
    alphas, intercepts : arrays (k, n) and (k, m)
        As `Path.alpha` and `Path.intercept` give them.
    objectives : array (k,)
        The non-convex objective, comparable with `Path.objective`.
    rounds : array (k,)
        Convex problems solved at each value.
    converged : bool
        Whether the sides came to rest at every value (or came back to earlier ones, which only
        the tolerance can bring about) and every convex problem was solved.
    """

    values: Array
    alphas: Array
    intercepts: Array
    objectives: Array
    rounds: npt.NDArray[np.int64]
    converged: bool


def cccp(
    model: LossModel,
    values: npt.ArrayLike | None = None,
    *,
    tol: float = 1e-3,
    max_rounds: int = 100,
    start: npt.ArrayLike | None = None,
) -> CCCPResult:
    """Solve a model with jumps by CCCP at each of some values of t, each from the one before.

    Parameters
    ----------
    model : LossModel
        Any; without jumps every value takes one round.
    values : array (k,), optional
        Where to solve, in the order of travel; by default five values evenly over the span.
    tol : float
        How far a response may be off in the convex problems, in units of the median corner.
    max_rounds : int
        Largest number of rounds at one value.
    start : array (n,), optional
        The alpha to begin from; by default that of the convex problem at the start of the span.
    """
    name = type(model).__name__
    if not isinstance(model, LossModel):
        raise ModelError(f"cccp: model must be a LossModel, got {model!r}")
    if not (_is_number(tol) and np.isfinite(tol) and tol > 0.0):
        raise ModelError(f"cccp: tol must be positive and finite, got {tol!r}")
    if not isinstance(max_rounds, int | np.integer) or max_rounds < 1:
        raise ModelError(f"cccp: max_rounds must be a positive integer, got {max_rounds!r}")
    problem = Problem.compile(model)
    given = None if values is None else _checked_values(values, problem, name)
    run = _Run(problem, float(tol), int(max_rounds))
    with one_thread(model):
        run.begin(start, problem.start if given is None else float(given[0]))
        grid = run.default_values() if given is None else given
        found = [run.solve(float(t)) for t in grid]
    alphas, borders, objectives, rounds = (list(part) for part in zip(*found, strict=True))
    intercepts = [model.intercept(a, b) for a, b in zip(alphas, borders, strict=True)]
    m = problem.border.shape[1]
    return CCCPResult(
        values=np.array(grid, dtype=float),
        alphas=np.array(alphas),
        intercepts=np.array(intercepts if m else []).reshape(grid.size, m),
        objectives=np.array(objectives),
        rounds=np.array(rounds, dtype=np.int64),
        converged=run.converged,
    )


class _Run:
    """The present alpha, b and response."""

    def __init__(self, problem: Problem, tol: float, max_rounds: int) -> None:
        self.problem, self.tol, self.max_rounds = problem, tol, max_rounds
        self.converged = True
        self.alpha = np.zeros(problem.gram.size)
        self.b = np.zeros(problem.border.shape[1])
        self.u = np.zeros(problem.gram.size)

    def begin(self, start: npt.ArrayLike | None, first: float) -> None:
        """From a given alpha, or from the convex problem at the start of the span."""
        problem = self.problem
        if start is not None:
            self.alpha = _checked_start(start, problem.gram.size)
            self.b = estimate_border(problem, problem.polylines.at(first), self.alpha)
            self.u = problem.gram.matvec(self.alpha) + problem.border @ self.b
            return
        snap = problem.polylines.at(problem.start)
        if not snap.convex:
            raise ModelError(
                f"{type(problem.model).__name__} is not convex at {problem.model.parameter}="
                f"{problem.start:g}; give cccp(start=...) an alpha to begin from"
            )
        found = solve_convex(
            problem.gram, problem.border, problem.target(problem.start), snap, tol=self.tol
        )
        self._keep(found)

    def default_values(self) -> Array:
        """Evenly over the span; one that starts at an infinity starts where a jump is first met."""
        start, stop = self.problem.start, self.problem.stop
        if not np.isfinite(start):
            inward = 1.0 if start < 0.0 else -1.0
            lines = self.problem.polylines
            rate = np.where(lines.jump, lines.corner1, 0.0)
            away = np.broadcast_to(self.u[:, None], rate.shape) - lines.corner0
            meets = inward * away[rate != 0.0] / rate[rate != 0.0]
            start, stop = self.problem.model.resolve_span(inward * float(meets.min(initial=np.inf)))
            if not (np.isfinite(start) and inward * (stop - start) > 0.0):
                return np.array([stop])
        return np.linspace(start, stop, DEFAULT_VALUES) if start != stop else np.array([stop])

    def solve(self, t: float) -> tuple[Array, Array, float, int]:
        """Round after round at one t: alpha, b, the objective and the number of rounds."""
        problem = self.problem
        snap, target = problem.polylines.at(t), problem.target(t)
        rise, falling = _split(snap, problem.polylines.heights(snap.slope, snap.corner))
        # A response that rounding throws to and fro would go on for ever: no partition twice.
        seen: set[bytes] = set()
        sides, rounds = _passed(snap, rise, self.u), 0
        before = (rise * sides).sum(axis=1)
        while rounds < self.max_rounds and sides.tobytes() not in seen:
            seen.add(sides.tobytes())
            lift = (rise * sides).sum(axis=1)
            convex = attrs.evolve(falling, slope=falling.slope + lift[:, None])
            # Who changes side keeps its place on the falling part.
            change, before = lift - before, lift
            moved = np.flatnonzero(change)
            product = self.u - problem.border @ self.b
            if moved.size:
                product += problem.gram.combine(moved, change[moved])
            found = solve_convex(
                problem.gram,
                problem.border,
                target,
                convex,
                alpha=self.alpha + change,
                b=self.b,
                product=product,
                tol=self.tol,
            )
            self._keep(found)
            sides = _passed(snap, rise, self.u)
            rounds += 1
        self.converged &= sides.tobytes() in seen
        objective = problem.objective(t, self.alpha, self.b, self.u)
        return self.alpha, self.b, objective, rounds

    def _keep(self, found: ConvexSolution) -> None:
        self.alpha, self.b, self.u = found.alpha, found.b, found.u
        self.converged &= found.converged


def _split(snap: Snapshot, heights: Array) -> tuple[Array, Snapshot]:
    """The rise at every jump (n, K), and the falling part: each slope lowered by the rises left
    of it."""
    rise = np.where((snap.kind == JUMP) & np.isfinite(snap.corner), -heights, 0.0)
    lowered = snap.slope.copy()
    lowered[:, 1:] -= np.cumsum(rise, axis=1)
    kind = np.where(snap.kind == KNOT, KNOT, SEAM).astype(np.int8)
    return rise, Snapshot(lowered, snap.corner, snap.curvature, kind)


def _passed(snap: Snapshot, rise: Array, u: Array) -> Flags:
    """Which jumps lie left of each response; one exactly under it does not."""
    return np.asarray((rise > 0.0) & (u[:, None] > snap.corner))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating)


def _checked_values(values: npt.ArrayLike, problem: Problem, name: str) -> Array:
    try:
        grid = np.array(values, dtype=float)
    except (TypeError, ValueError):
        raise ModelError(f"cccp: values must be numbers, got {values!r}") from None
    if grid.ndim != 1 or grid.size == 0:
        raise ModelError(f"cccp: values must be a list of numbers, got shape {grid.shape}")
    low, high = min(problem.start, problem.stop), max(problem.start, problem.stop)
    outside = grid[~(np.isfinite(grid) & (grid >= low) & (grid <= high))]
    if outside.size:
        raise ModelError(
            f"cccp: {problem.model.parameter}={outside[0]:g} lies outside the span of {name}, "
            f"from {problem.start:g} to {problem.stop:g}"
        )
    return grid


def _checked_start(start: npt.ArrayLike, n: int) -> Array:
    try:
        alpha = np.array(start, dtype=float)
    except (TypeError, ValueError):
        raise ModelError(f"cccp: start must be an alpha of {n} numbers, got {start!r}") from None
    if alpha.shape != (n,):
        raise ModelError(f"cccp: start must have shape ({n},), got {alpha.shape}")
    if not np.all(np.isfinite(alpha)):
        raise ModelError("cccp: start holds values that are not finite")
    return alpha
