"""The problem of a fork: the model at one t, every row on its convex branch.

The polylines do not move.  Where a branch ends at a jump it has a wall: a knot along which alpha
is unbounded.  A row that ends up on a wall would have jumped.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np

from homotopy.arrays import Array, Index
from homotopy.errors import ModelError
from homotopy.gram import Gram
from homotopy.model import Jump, Knot, LossModel, Problem, Slope
from homotopy.model.polyline import JUMP, Polylines, Snapshot, is_free
from homotopy.path import Path, Segments, Status

__all__ = ["Frozen", "Tables", "convex_branches", "frozen_at"]


@attrs.frozen(eq=False)
class Tables:
    """Polylines that do not move: slopes and curvatures (n, K+1), corners (n, K)."""

    slope: Array
    corner: Array
    curvature: Array

    def first(self, rows: int) -> Tables:
        """Return a copy of the first `rows` rows."""
        return Tables(*(np.array(a[:rows]) for a in (self.slope, self.corner, self.curvature)))

    def put(self, row: int, value: float) -> None:
        """Put `row` on one flat slope of this height."""
        self.slope[row], self.corner[row], self.curvature[row] = value, np.inf, 0.0

    def polylines(self, names: tuple[str, ...], moving: int | None = None) -> Polylines:
        """Return them in the form the engine reads; the slope of row `moving` is t."""
        rate = np.zeros_like(self.slope)
        if moving is not None:
            rate[moving] = 1.0
        return Polylines(
            names=names,
            jump=np.zeros(self.corner.shape[1], dtype=bool),
            slope0=self.slope,
            slope1=rate,
            corner0=self.corner,
            corner1=np.zeros_like(self.corner),
            curvature=self.curvature,
        )


class Frozen(LossModel):
    """The convex problem of a fork as a model; `moving` is the row whose alpha is t, if any."""

    unknown = "alpha"

    def __init__(
        self,
        gram: Gram,
        border: tuple[Array, Array],
        tables: Tables,
        names: tuple[str, ...],
        moving: int | None = None,
        span: tuple[float, float] = (0.0, 1.0),
    ) -> None:
        self.gram, self.tables, self.names, self.moving = gram, tables, names, moving
        self.border, self.border_target = border
        self.span = span
        self.parameter = "t" if moving is None else f"alpha[{moving}]"

    def polyline(self, t: float) -> Sequence[Slope | Knot | Jump]:
        tables = self.tables
        slope = tables.slope
        if self.moving is not None:
            slope = slope.copy()
            slope[self.moving] += t
        pieces: list[Slope | Knot | Jump] = []
        for p, name in enumerate(self.names):
            j = p // 2
            if p % 2 == 0:
                pieces.append(Slope(name, slope[:, j], tables.curvature[:, j]))
            else:
                pieces.append(Knot(name, tables.corner[:, j]))
        return pieces

    def problem(self) -> Problem:
        """Return the compiled problem; it comes from a checked one and needs no checks."""
        assert self.border is not None
        return Problem(
            model=self,
            gram=self.gram,
            border=self.border,
            target0=np.array(self.border_target),
            target1=np.zeros(self.border.shape[1]),
            polylines=self.tables.polylines(self.names, self.moving),
            start=self.span[0],
            stop=self.span[1],
        )

    def path(self, segments: Segments) -> Path:
        """Return a path of this problem."""
        return Path(self, segments, (), Status.COMPLETE, self.span, {}, problem=self.problem())

    def point(self, piece: Index, alpha: Array, b: Array) -> Path:
        """Return a path of one point, at the start of the span."""
        active = np.flatnonzero(is_free(self.tables.curvature, np.arange(piece.size), piece))
        t, none = self.span[0], np.empty(0, np.int64)
        segments = Segments(
            *([t], [t]),
            *([0, active.size], active, alpha[active], alpha[active]),
            *([b], [b], [0, 0], none, none, piece),
        )
        return self.path(segments)


def convex_branches(snap: Snapshot, kind: Any, piece: Index) -> Tables:
    """Return the polylines `snap`, with corners of the kinds `kind`, each restricted to the convex
    branch that contains `piece`."""
    slope, corner = snap.slope.copy(), snap.corner.copy()
    jumps = (kind == JUMP) & np.isfinite(corner)
    places = np.flatnonzero(jumps.any(axis=0)).tolist()
    # Pieces beyond a wall cannot be reached.
    for j in places:
        left = jumps[:, j] & (piece > 2 * j + 1)
        slope[left, : j + 1], corner[left, :j] = np.inf, -np.inf
    for j in places[::-1]:
        right = jumps[:, j] & (piece < 2 * j + 1)
        slope[right, j + 1 :], corner[right, j + 1 :] = -np.inf, np.inf
    return Tables(slope, corner, snap.curvature.copy())


def frozen_at(problem: Problem, t: float, piece: Index) -> Frozen:
    """Return the problem at t with every row restricted to the convex branch of its piece."""
    if not problem.gram.semidefinite:
        raise ModelError(
            f"{type(problem.model).__name__}: its quadratic form is not positive semidefinite, so "
            "the optimum with one row moved may not be unique; a fork needs a convex problem"
        )
    names = tuple(
        f"wall {p // 2}" if name is None else name for p, name in enumerate(problem.polylines.names)
    )
    tables = convex_branches(problem.polylines.at(t), problem.kinds_at(t), piece)
    return Frozen(problem.gram, (problem.border, problem.target(t)), tables, names)
