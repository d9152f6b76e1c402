"""The first point of a path: the problem at the start of the span, solved exactly."""

from __future__ import annotations

import attrs
import numpy as np
import numpy.typing as npt

from homotopy.arrays import Array
from homotopy.descent import descend
from homotopy.errors import ModelError, PathError, TraceError
from homotopy.model.polyline import JUMP, Snapshot
from homotopy.path import Path
from homotopy.start.guess import (
    carry_over,
    convex_guess,
    estimate_border,
    few_coordinates,
    fixes_border,
    slack_of_border,
)
from homotopy.tracing.tolerances import TraceTolerances
from homotopy.tracker import Tracker

__all__ = ["Begun", "FirstPoint", "Guess", "Start", "go_downhill"]

Guess = tuple[Array, Array]
Start = Path | tuple[Path, float] | npt.ArrayLike | None


@attrs.frozen(eq=False)
class Begun:
    """The first point of a path."""

    # The finite span.
    start: float
    stop: float
    # The guess from which the first point was found.
    guess: Guess
    # Whether the given start was already exact.
    as_it_was: bool
    # Whether an undetermined intercept was put in the middle of its interval.
    free: bool


class FirstPoint:
    """Finds the first point for a tracker."""

    def __init__(
        self, tracker: Tracker, tolerances: TraceTolerances, *, again: bool = False
    ) -> None:
        self.tracker, self.problem, self.tolerances = tracker, tracker.problem, tolerances
        self.snap = self.problem.polylines.at(self.problem.start)
        self.target = self.problem.target(self.problem.start)
        # Whether the guess is so close that it is probably on the right pieces.
        self.close = False
        # Whether it is rough, as is allowed for few coordinates; a second attempt uses a thorough
        # guess.
        self.rough, self.again = False, again

    def reach(self, start: Start, guess: Guess | None) -> Begun:
        """Place the tracker at the first point; an earlier attempt's `guess` saves the search."""
        problem, tracker, snap = self.problem, self.tracker, self.snap
        unknown = not problem.gram.semidefinite and problem.model.initial_guess() is None
        if start is None and (not snap.convex or unknown):
            raise ModelError(self._not_convex())
        if self.again and guess is not None and few_coordinates(problem) and self._is_convex():
            # The guess of the first attempt was rough, which may have been the cause.
            guess = self._convex(None, None)
        point = self._on_path(start) if guess is None else None
        if point is not None and self._is_exact(point):
            guess, exact = point, True
        else:
            if guess is None:
                guess = self._guess(start) if point is None else self._polished(*point)
            exact = self.close and self._is_exact(guess, solved=True)
            if not exact:
                guess = self._settled(guess)
        free = snap.convex and self._centre_border()
        if free:
            # Everything that b moves is now on a flat slope, so nothing remains to be settled.
            tracker.assign(snap, *snap.branches(tracker.u))
            tracker.use(tracker.polylines)
            tracker.rebuild(tracker.tolerances.independence.least_in_guess)
        ends = problem.start, problem.stop
        if not np.isfinite(problem.start):
            ends = self._finite_span()
        return Begun(*ends, guess, as_it_was=exact and not free, free=free)

    def _not_convex(self) -> str:
        """Return the message that the start has no unique optimum, with the ways out."""
        model, t = self.problem.model, self.problem.start
        if self.snap.convex:
            cause = "its quadratic form is not positive semidefinite"
            other = "define LossModel.initial_guess"
        else:
            jumps = (self.snap.kind == JUMP) & np.isfinite(self.snap.corner)
            i, j = np.argwhere(jumps)[0]
            cause = f"coordinate {i} has a Jump at u={self.snap.corner[i, j]:g} there"
            other = (
                "begin the span where no Jump can be reached: at infinity, span = (-inf, stop) or "
                f"(inf, stop), which works if only jumps move with {model.parameter}"
            )
        return (
            f"{type(model).__name__} is not convex at {model.parameter}={t:g}; give "
            f"trace(start=...) a path or an alpha to begin from, or {other} ({cause})"
        )

    # ------------------------------------------------------------------ making it exact

    def _stand_at(self, guess: Guess) -> None:
        """Put every coordinate on the piece of its polyline that is nearest to `guess`."""
        problem, tracker = self.problem, self.tracker
        tracker.set_guess(*guess, (problem.start, problem.stop))
        tracker.assign(self.snap, *self.snap.branches(tracker.u))

    def _is_exact(self, guess: Guess, *, solved: bool = False) -> bool:
        """Whether a point is exact here; with `solved`, whether one solve on its pieces makes it
        exact."""
        problem, tracker, tol = self.problem, self.tracker, self.tracker.tolerances
        if not (problem.gram.semidefinite and np.isfinite(problem.start)):
            return False
        if solved and not self.snap.convex:
            return False
        tracker.load_polylines(problem.start, problem.stop)
        self._stand_at(guess)
        if np.any(tracker.side):
            return False
        tracker.use(tracker.model_polylines)
        tracker.head_along(problem.start)
        if solved:
            tracker.rebuild(tol.independence.least_in_guess)
            if tracker.system.dependents:
                return False
        tracker.refresh()
        if solved:
            if tracker.sizes.strain > self.tolerances.quick:
                return False
            # Sharpen even a point that passes: ten correct digits are not enough.
            tracker.correct_once()
        if not tracker.off <= tol.repair:
            return False
        if not solved:
            tracker.rebuild(tol.independence.least_in_guess)
        return True

    def _settled(self, guess: Guess) -> Guess:
        """Make a guess exact; if a rough one fails, or rounding may have spoilt the result, start
        again from a thorough one.  Return the guess used."""
        sizes = self.tracker.sizes
        try:
            self._settle(guess)
            if not (self.rough and sizes.strain > self.tolerances.quick):
                return guess
        except TraceError:
            if not self.rough:
                raise
        guess = self._convex(None, None, thorough=True)
        # Discard the measurements of the failed attempt.
        sizes.strain = sizes.most_norm = sizes.most_mass = 0.0
        self.tracker.forget_effort()
        self._settle(guess)
        return guess

    def _settle(self, guess: Guess) -> None:
        """Make a guess exact."""
        problem, tracker, tol = self.problem, self.tracker, self.tracker.tolerances
        self._stand_at(guess)
        if not problem.gram.semidefinite:
            go_downhill(tracker, self.snap, None)
        for _ in range(tol.patience.settlings):
            tracker.settle(problem.start, self.snap, self.target)
            if tracker.off <= tol.repair:
                break
        if not tracker.off <= tol.accepted:
            raise TraceError(
                f"the start could not be made exact: its error is {tracker.off:.2g} times the "
                "rounding error expected"
            )

    def _centre_border(self) -> bool:
        """Put an undetermined intercept in the middle of its interval; return whether it was.

        If every alpha is at the end of its range (for a small C, say), any b of an interval is
        optimal; without a rule the path would depend on how its start was found.
        """
        tracker = self.tracker
        if tracker.border.shape[1] != 1:
            return False
        usual = tracker.usual_alpha()
        if fixes_border(tracker.border, self.snap, tracker.alpha, usual, tracker.active_index):
            return False
        fall, rise = slack_of_border(tracker.border, self.snap, tracker.alpha, tracker.u, usual)
        size = tracker.sizes.size_scale / float(np.abs(tracker.border).max())
        slack = tracker.tolerances.slack
        if not (np.isfinite(fall) and np.isfinite(rise) and rise - fall > slack * size):
            return False
        tracker.b = tracker.b + 0.5 * (fall + rise)
        tracker.u += 0.5 * (fall + rise) * tracker.border[:, 0]
        return True

    def _finite_span(self) -> tuple[float, float]:
        """Return the span from the first t, coming from infinity, where a jump meets a response."""
        lines, tracker = self.problem.polylines, self.tracker
        inward = 1.0 if self.problem.start < 0 else -1.0
        contact, fastest = np.inf, 0.0
        for j in np.flatnonzero(lines.jump):
            rate = lines.corner1[:, j]
            moving = rate != 0.0
            fastest = max(fastest, float(np.abs(rate[moving]).max(initial=0.0)))
            meets = (tracker.u[moving] - lines.corner0[moving, j]) / rate[moving]
            contact = min(contact, float((inward * meets).min(initial=np.inf)))
        start, stop = self.problem.model.resolve_span(inward * contact)
        length = inward * (stop - start)
        if not (np.isfinite(start) and length > self.tolerances.empty * max(abs(start), abs(stop))):
            # Nothing to trace: no jump meets a response before the end of the span.
            return stop, stop
        blur = tracker.sizes.noise * tracker.fixed.largest_root
        if not length * fastest > blur:
            if blur <= tracker.tolerances.near * tracker.sizes.size_scale:
                # The responses cancel to rounding errors, which are 0 on the scale of the corners.
                return stop, stop
            raise TraceError(
                f"the span from {start:.9g} to {stop:.9g}, along which jumps move by "
                f"{length * fastest:.2g}, is shorter than the rounding error of the responses, "
                f"{blur:.2g}"
            )
        lines.check(start, stop, self.problem.model.parameter)
        return start, stop

    # ------------------------------------------------------------------ guesses

    def _guess(self, start: Start) -> Guess:
        problem, n = self.problem, self.problem.gram.size
        if start is None:
            start = problem.model.initial_guess()
            if start is None:
                return self._convex(None, None)
        try:
            alpha = np.array(start, dtype=float)
        except (TypeError, ValueError):
            raise ModelError(f"start: expected a Path or {n} numbers, got {start!r}") from None
        if alpha.shape != (n,):
            raise ModelError(f"start: expected an alpha of shape ({n},), got {alpha.shape}")
        if not np.all(np.isfinite(alpha)):
            raise ModelError("start: alpha holds values that are not finite")
        return self._polished(alpha, estimate_border(problem, self.snap, alpha))

    def _on_path(self, start: Start) -> Guess | None:
        """Return alpha and b if the start is a path or a point of one, else None."""
        if isinstance(start, Path):
            return self._from_path(start, None)
        if isinstance(start, tuple) and len(start) == 2 and isinstance(start[0], Path):
            return self._from_path(start[0], float(start[1]))
        return None

    def _from_path(self, start: Path, t: float | None) -> Guess:
        """Begin at t of another path, or at its t nearest to the start of the span."""
        problem = self.problem
        n, m = problem.border.shape
        if t is None:
            ours, theirs = problem.model.parameter, start.model.parameter
            if ours != theirs:
                raise PathError(
                    f"start: the path has the parameter {theirs}, the model {ours}; say where on "
                    f"the path to begin: start=(path, {theirs})"
                )
            t = min(max(problem.start, min(start.traced)), max(start.traced))
        alpha, b = start.alpha(t), start.border_multipliers(t)
        if alpha.size != n:
            raise PathError(f"start: the path has {alpha.size} coordinates, the model has {n}")
        lines = start.problem.polylines
        if lines.names == problem.polylines.names:
            alpha = carry_over(alpha, start.pieces(t), lines.at(t), self.snap)
        return alpha, b if b.size == m else estimate_border(problem, self.snap, alpha)

    def _polished(self, alpha: Array, b: Array) -> Guess:
        """Bring a guess closer, which is cheaper than making a distant one exact step by step.  If
        the model is not convex, leave it alone, because it selects the local optimum."""
        return self._convex(alpha, b) if self._is_convex() else (alpha, b)

    def _is_convex(self) -> bool:
        """Whether the optimum is unique at the start."""
        return self.snap.convex and self.problem.gram.semidefinite

    def _convex(self, alpha: Array | None, b: Array | None, *, thorough: bool = False) -> Guess:
        """Return a guess from the convex problem."""
        pulse, thorough = self.tracker.pulse, thorough or self.again
        found = convex_guess(self.problem, self.snap, alpha, b, pulse, thorough=thorough)
        self.rough = few_coordinates(self.problem) and not thorough
        # (With many coordinates some are always on the wrong side of a corner.)
        self.close = found.converged and self.rough
        return found.alpha, found.b


def go_downhill(tracker: Tracker, snap: Snapshot, ridge: tuple[int, float] | None) -> None:
    """Move the tracker downhill to a local optimum, from a ridge if there is one."""
    point = tracker.alpha.copy(), tracker.b.copy(), tracker.piece.copy()
    form = tracker.gram, tracker.border
    alpha, b, piece = descend(*form, snap, point, ridge, tracker.size_of_u())
    tracker.set_guess(alpha, b)
    tracker.piece[:] = piece
