"""A guess of the convex start that is good enough to be made exact with little work."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from homotopy.arrays import Array, Index
from homotopy.model import Problem
from homotopy.model.polyline import Snapshot
from homotopy.start.convex import ConvexProblem, ConvexSolution, solve_convex
from homotopy.start.tolerances import GuessTolerances, StartTolerances

__all__ = [
    "carry_over",
    "convex_guess",
    "estimate_border",
    "few_coordinates",
    "fixes_border",
    "slack_of_border",
]


GUESS = GuessTolerances()
FEW, THOROUGH = StartTolerances().few, StartTolerances(few=0)


def few_coordinates(problem: Problem) -> bool:
    """Whether there are so few coordinates that a rough guess is enough."""
    return problem.gram.size <= FEW


def convex_guess(
    problem: Problem,
    snap: Snapshot,
    alpha: Array | None = None,
    b: Array | None = None,
    pulse: Callable[[], object] | None = None,
    *,
    thorough: bool = False,
) -> ConvexSolution:
    """Return an approximate solution for the falling polylines `snap`; with few coordinates a rough
    one, unless it is to be `thorough`."""
    gram, tolerances = problem.gram, GUESS
    few = few_coordinates(problem) and not thorough
    by_pairs = few or gram.features() is None
    tol = tolerances.enough if by_pairs else tolerances.enough_on_features
    most = max(tolerances.sweeps * gram.size, tolerances.least) if few else None
    convex = ConvexProblem(gram, problem.border, problem.target(problem.start), snap)
    return solve_convex(
        convex,
        alpha=alpha,
        b=b,
        tol=tol,
        max_iter=most,
        pulse=pulse,
        tolerances=THOROUGH if thorough else None,
    )


def carry_over(alpha: Array, piece: Index, old: Snapshot, new: Snapshot) -> Array:
    """Convert alpha of one problem to another with the same pieces (another C, say).  A coordinate
    keeps its flat slope, its response on a slanted slope, or its relative height on a knot."""
    rows, j = np.arange(alpha.size), piece // 2
    bend = old.curvature[rows, j]
    u = np.zeros(alpha.size)
    np.divide(old.slope[rows, j] - alpha, bend, out=u, where=bend > 0.0)
    carried: Array = new.slope_at(rows, j, u)
    # A flat slope does not determine the response.
    carried = np.where((bend == 0.0) & (new.curvature[rows, j] > 0.0), alpha, carried)
    i = np.flatnonzero(piece % 2 == 1)
    j = j[i]
    with np.errstate(invalid="ignore", divide="ignore"):
        (top, bottom), (new_top, new_bottom) = (
            [snap.slope_at(i, k, snap.corner[i, j]) for k in (j, j + 1)] for snap in (old, new)
        )
        place = np.clip((alpha[i] - bottom) / (top - bottom), 0.0, 1.0)
        carried[i] = new_bottom + place * (new_top - new_bottom)
    # Beside a wall (an infinite slope) there is no relative height to keep.
    carried = np.where(np.isfinite(carried), carried, alpha)
    # If all slopes of a row have the same value (at cost 0, say), its piece is arbitrary: keep
    # alpha.
    any_piece = np.all((old.slope == alpha[:, None]) & (old.curvature == 0.0), axis=1)
    return np.where(any_piece, alpha, carried)


def fixes_border(border: Array, snap: Snapshot, alpha: Array, usual: Array, index: Index) -> bool:
    """Whether one of the coordinates `index` is inside a knot, which leaves b no slack (see
    `slack_of_border`).  This check is quick, and nearly always true."""
    alpha, weight, slope = alpha[index], border[index, 0], snap.slope[index]
    near = GUESS.level * np.maximum(usual[index], np.abs(alpha))[:, None]
    inside = (np.abs(slope - alpha[:, None]) > near).all(axis=1)
    return bool((inside & (weight != 0.0)).any())


def slack_of_border(
    border: Array, snap: Snapshot, alpha: Array, u: Array, usual: Array
) -> tuple[float, float]:
    """Return how far b may fall and rise at this alpha: one border column, falling polylines.

    `usual` is the usual size of each alpha.  If every alpha is at the end of its range, b is not
    determined but free in an interval.
    """
    n = alpha.size
    near = GUESS.level * np.maximum(usual, np.abs(alpha))[:, None]
    left = np.hstack([np.full((n, 1), -np.inf), snap.corner])
    right = np.hstack([snap.corner, np.full((n, 1), np.inf)])
    level = (np.abs(snap.slope - alpha[:, None]) <= near) & (snap.curvature == 0.0)
    # An infinite corner cuts off everything beyond it.
    level &= (right > -np.inf) & (left < np.inf)
    low = np.where(level, left, np.inf).min(axis=1)
    high = np.where(level, right, -np.inf).max(axis=1)
    # Inside a knot or on a slanted piece u is fixed.
    fixed = low > high
    low, high = np.where(fixed, u, low), np.where(fixed, u, high)
    weight = border[:, 0]
    part = weight != 0.0
    with np.errstate(invalid="ignore"):
        ends = np.stack([(low - u)[part] / weight[part], (high - u)[part] / weight[part]])
    return float(ends.min(axis=0).max(initial=-np.inf)), float(ends.max(axis=0).min(initial=np.inf))


def estimate_border(problem: Problem, snap: Snapshot, alpha: Array) -> Array:
    """Estimate b for a given alpha: least squares on the coordinates that seem to be on a knot."""
    border = problem.border
    if border.shape[1] == 0:
        return np.zeros(0)
    u = problem.gram.matvec(alpha)
    rows, aims = [], []
    for j in range(snap.corner.shape[1]):
        high, low = snap.slope[:, j], snap.slope[:, j + 1]
        room = GUESS.within * np.where(np.isfinite(high - low), np.abs(high - low), 1.0)
        inside = np.flatnonzero((alpha < high - room) & (alpha > low + room))
        inside = inside[np.isfinite(snap.corner[inside, j])]
        rows.append(inside)
        aims.append(snap.corner[inside, j] - u[inside])
    index = np.concatenate(rows)
    if index.size == 0:
        return np.zeros(border.shape[1])
    found: Array = np.linalg.lstsq(border[index], np.concatenate(aims), rcond=None)[0]
    return found
