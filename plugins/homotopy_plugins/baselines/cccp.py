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

A response at a jump counts on the side where the loss is steeper: for ramp losses that of the
inliers, ``z >= s`` and ``|r| <= s``.  So the plain machine is what CCCP finds at the first value of
an s-path, where the threshold meets the worst response.
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from homotopy import LossModel, ModelError, PathError, Predictor
from homotopy.model import Problem
from homotopy.model.polyline import JUMP, KNOT, SEAM, Snapshot
from homotopy.start import ConvexProblem, ConvexSolution, estimate_border, solve_convex
from homotopy.threads import one_thread

__all__ = ["CCCPResult", "cccp"]

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

# How many values are taken where none are given.
DEFAULT_VALUES = 5
# A response this near to a jump, in parts of both, is at it: the rest is rounding.  So is one that
# is no farther from it than the convex problem leaves open.
AT_JUMP = 1e-9
# A value asked for is one of those solved for if it differs by no more than this fraction of it.
SAME_VALUE = 1e-12


@attrs.frozen(eq=False)
class CCCPResult:
    """One approximate local optimum per value of t.

    Attributes
    ----------
    model : LossModel
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
    model: LossModel = attrs.field(repr=False)
    border_multipliers: Array = attrs.field(repr=False)

    def decision_function(self, X: Any, t: float | None = None) -> Array:
        """The fitted function at new data (of a model that is a `Predictor`).

        At `t`, one of `values`, an array with one entry per row; without it an array (k, rows) for
        all values.
        """
        if not isinstance(self.model, Predictor):
            raise ModelError(
                f"{type(self.model).__name__} has no decision function; derive it from "
                "homotopy.Predictor and write decision_function to evaluate it on new data"
            )
        places = np.arange(self.values.size) if t is None else np.array([self._place(t)])
        alphas, bs = self.alphas[places], self.border_multipliers[places]
        values = np.asarray(self.model.evaluator(X)(alphas.T, bs.T).T)
        return values if t is None else values[0]

    def _place(self, t: Any) -> int:
        """Which of the values `t` is."""
        if not _is_number(t):
            raise PathError(f"{self.model.parameter} must be a number, got {t!r}")
        near = np.abs(self.values - t)
        k = int(np.argmin(near))
        if not near[k] <= SAME_VALUE * max(abs(t), abs(float(self.values[k]))):
            solved = ", ".join(f"{value:g}" for value in self.values)
            raise PathError(
                f"{self.model.parameter}={t:g} is none of the values that CCCP was solved for: "
                f"{solved}"
            )
        return k


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
        model=model,
        border_multipliers=np.array(borders).reshape(grid.size, m),
    )


class _Run:
    """The present alpha, b and response."""

    def __init__(self, problem: Problem, tol: float, max_rounds: int) -> None:
        self.problem, self.tol, self.max_rounds = problem, tol, max_rounds
        self.converged = True
        self.alpha = np.zeros(problem.gram.size)
        self.b = np.zeros(problem.border.shape[1])
        self.u = np.zeros(problem.gram.size)
        # How far a response may be off.
        self.off = 0.0

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
        target = problem.target(problem.start)
        convex = ConvexProblem(problem.gram, problem.border, target, snap)
        self._keep(solve_convex(convex, tol=self.tol))

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
        steeper_right = _steeper_right(snap)
        # A response that rounding throws to and fro would go on for ever: no partition twice.
        seen: set[bytes] = set()
        sides, rounds = _passed(snap, rise, steeper_right, self.u, self.off), 0
        before = (rise * sides).sum(axis=1)
        while rounds < self.max_rounds and sides.tobytes() not in seen:
            seen.add(sides.tobytes())
            lift = (rise * sides).sum(axis=1)
            lifted = attrs.evolve(falling, slope=falling.slope + lift[:, None])
            convex = ConvexProblem(problem.gram, problem.border, target, lifted)
            # Who changes side keeps its place on the falling part.
            change, before = lift - before, lift
            moved = np.flatnonzero(change)
            product = self.u - problem.border @ self.b
            if moved.size:
                product += problem.gram.combine(moved, change[moved])
            found = solve_convex(
                convex,
                alpha=self.alpha + change,
                b=self.b,
                product=product,
                tol=self.tol,
            )
            self._keep(found)
            sides = _passed(snap, rise, steeper_right, self.u, self.off)
            rounds += 1
        self.converged &= sides.tobytes() in seen
        objective = problem.objective(t, self.alpha, self.b, self.u)
        return self.alpha, self.b, objective, rounds

    def _keep(self, found: ConvexSolution) -> None:
        self.alpha, self.b, self.u, self.off = found.alpha, found.b, found.u, found.violation
        self.converged &= found.converged


def _split(snap: Snapshot, heights: Array) -> tuple[Array, Snapshot]:
    """The rise at every jump (n, K), and the falling part: each slope lowered by the rises left
    of it."""
    rise = np.where((snap.kind == JUMP) & np.isfinite(snap.corner), -heights, 0.0)
    lowered = snap.slope.copy()
    lowered[:, 1:] -= np.cumsum(rise, axis=1)
    kind = np.where(snap.kind == KNOT, KNOT, SEAM).astype(np.int8)
    return rise, Snapshot(lowered, snap.corner, snap.curvature, kind)


def _steeper_right(snap: Snapshot) -> Flags:
    """At which corners the loss is steeper on the right, (n, K)."""
    left = np.abs(_alpha_at(snap, 0))
    right = np.abs(_alpha_at(snap, 1))
    return np.asarray(right > left)


def _alpha_at(snap: Snapshot, side: int) -> Array:
    """alpha at every corner on the slope left (0) or right (1) of it; what is infinitely far away
    has no bearing."""
    last = snap.slope.shape[1] - 1 + side
    corner = np.where(np.isfinite(snap.corner), snap.corner, 0.0)
    return np.asarray(snap.slope[:, side:last] - snap.curvature[:, side:last] * corner)


def _passed(snap: Snapshot, rise: Array, steeper_right: Flags, u: Array, off: float) -> Flags:
    """Which jumps lie left of each response; one that is at it, but for `off` and rounding, does if
    the loss is steeper on its right."""
    response = u[:, None]
    with np.errstate(invalid="ignore"):
        near = np.abs(response - snap.corner)
        at = near <= np.maximum(off, AT_JUMP * (np.abs(response) + np.abs(snap.corner)))
    at &= np.isfinite(snap.corner)
    return np.asarray((rise > 0.0) & np.where(at, steeper_right, response > snap.corner))


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
