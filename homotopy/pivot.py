"""Pivots: a coordinate goes from one piece to another.

Most are principal: a coordinate enters the factor or leaves it.  When the entering coordinate is
dependent on A there is a null direction v, ``Q v = 0`` and ``B^T v = 0`` (to rounding): alpha moves
along v, u stays, until another coordinate reaches the end of its knot; the two are exchanged.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.linalg

from homotopy.errors import ModelError, TraceError
from homotopy.state import EPS, State

__all__ = ["Pivots", "Unbounded"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]

# A weight in a null direction below this part of the largest is rounding.
NEGLIGIBLE = 1e-10


class Unbounded(TraceError):
    """A null direction along which nothing reaches an end.

    `coordinate` is the one that would move; `restored` tells whether it is back where it was.
    """

    def __init__(self, message: str, coordinate: int) -> None:
        super().__init__(message)
        self.coordinate = coordinate
        self.restored = False


class Pivots(State):
    """Moving coordinates between pieces, with the factor kept in step."""

    def _active_row(self, i: int) -> Array:
        a = self.factor.index
        row: Array = self.gram.block(np.array([i]), a)[0]
        if self.b.size:
            row = row + self.rho * (self.border[a] @ self.border[i])
        return row

    def _place(self, i: int, piece: int, side: int = 0) -> None:
        self._note(i, int(self.piece[i]), int(self.side[i]), piece)
        self.piece[i], self.side[i] = piece, side
        self._fence(i)
        flat = piece % 2 == 0 and self.route.lines.curvature[i, piece // 2] == 0.0
        rate = float(self.slope_rate(i, piece // 2)) if flat else 0.0
        self._drag.gather(np.array([i]), np.array([rate]))
        self._solved = self._rated = False
        self.pivots += 1

    def leave(self, i: int, slope: int) -> None:
        """Coordinate i goes to slope number `slope`, from wherever it stands."""
        if self._is_active(i, int(self.piece[i])):
            self.factor.remove(i)
        self._place(i, 2 * slope)
        self._arrive(i, slope)

    def _arrive(self, i: int, slope: int) -> None:
        """Take up coordinate i, just placed on `slope`: into the factor if it is slanted."""
        self.alpha[i] = self.slope_value(i, slope)
        bend = float(self.route.lines.curvature[i, slope])
        if bend > 0.0:
            self._admit_slanted(i, bend)

    def put(self, i: int, slope: int) -> None:
        """Coordinate i is given another side: it stands on `slope`, its alpha not yet there."""
        if i not in self.factor:
            # On a flat slope nobody else writes its alpha down.
            self.alpha[i] = self.slope_value(i, int(self.piece[i]) // 2)
        if self._is_active(i, int(self.piece[i])):
            self.factor.remove(i)
        self._place(i, 2 * slope)
        bend = float(self.route.lines.curvature[i, slope])
        if bend > 0.0:
            self._admit_slanted(i, bend)

    def _admit_slanted(self, i: int, bend: float) -> None:
        """Append coordinate i on a slanted piece: 1/c on its diagonal keeps it independent."""
        pivot = self.factor.pivot(self._active_row(i), float(self.diag[i]) + 1.0 / bend)
        self.factor.accept(i, max(pivot, 0.5 / bend))

    def _admit(self, i: int, row: Array, least: float = 0.0) -> bool:
        """Append coordinate i to the factor unless its column depends on the active ones.

        With v the null direction (v_i = 1), the squared pivot is ``v^T Q v`` and carries the
        rounding of that sum, so dependence is a matter of the Rayleigh quotient of v, not of the
        pivot alone.  A larger pivot, however small, is safe: the error of a solve is proportional
        to how far alpha moves, not to the inverse of the pivot.
        """
        diagonal = float(self.diag[i])
        pivot = self.factor.pivot(row, diagonal)
        if pivot <= 1e-4 * diagonal:
            a = self.factor.index
            mass = diagonal + float(self.factor.solve(row) ** 2 @ self.diag[a])
            rounding = 16.0 * EPS * (1.0 + float(np.sqrt(a.size))) * mass
            if pivot < -rounding:
                self._check_definite(i)
            if pivot <= max(rounding, least * mass):
                return False
        self.factor.accept(i, pivot)
        return True

    def _check_definite(self, i: int) -> None:
        index = np.append(self.factor.index, i)
        values = np.linalg.eigvalsh(self.gram.block(index, index))
        if values[0] < -1e-8 * max(values[-1], float(self.gram.diag.max())):
            raise ModelError(
                f"gram is not positive semidefinite: a block of {index.size} coordinates has "
                f"eigenvalues from {values[0]:.3g} to {values[-1]:.3g}; a quadratic form must have "
                "no negative eigenvalue (for a precomputed or sigmoid kernel, clip its spectrum)"
            )

    def enter(self, i: int, corner: int, from_slope: int, side: int = 0) -> None:
        """Coordinate i goes from a flat slope onto the knot (or pin) at `corner`."""
        old = int(self.piece[i])
        if self._is_active(i, old):
            self.factor.remove(i)
        self.alpha[i] = self.slope_value(i, from_slope)
        row = self._active_row(i)
        independent = self._admit(i, row)
        self._place(i, 2 * corner + 1, side)
        if independent:
            return
        inward = -1.0 if from_slope == corner else 1.0
        try:
            self._exchange(i, row, inward)
        except Unbounded as failure:
            if self.alpha[i] == self.slope_value(i, from_slope):
                # Nothing has moved yet: put it back.
                self._place(i, old)
                self.wall[i] = corner
                failure.restored = True
                # Walls that meet in a single point admit no motion at all; what seems to move
                # there is rounding.
                if self._offence * abs(self.route.stop - self.tau) <= self.slack:
                    self._unfence(i)
                    self.unfenced.add(i)
                    self.due = 0
                    return
            raise

    def _exchange(self, i: int, row: Array, inward: float, either_way: bool = False) -> None:
        """Coordinate i, on a knot but dependent on A, moves along the null direction until some
        coordinate reaches the end of its knot; that one leaves A and i takes its place."""
        a = self.factor.index.copy()
        v, slide = self._null_direction(i, row)
        index, v, slide = np.append(a, i), inward * np.append(v, 1.0), inward * slide
        heavy = np.abs(v) > NEGLIGIBLE * np.abs(v).max()
        heavy &= self.piece[index] % 2 == 1
        room = np.full((2, index.size), np.inf)
        rising, size = v[heavy] > 0.0, np.abs(v[heavy])
        low, high = self._end_of_knot(index[heavy])
        up = np.maximum(high - self.alpha[index[heavy]], 0.0)
        down = np.maximum(self.alpha[index[heavy]] - low, 0.0)
        room[0, heavy] = np.where(rising, up, down) / size
        room[1, heavy] = np.where(rising, down, up) / size
        way = 1 if either_way and room[1].min() < room[0].min() else 0
        step = float(room[way].min())
        if not np.isfinite(step):
            raise Unbounded(
                f"no optimum exists beyond tau={self.tau:.17g}: coordinate {i} must move and "
                "nothing bounds it (the problem is infeasible or unbounded from here on)",
                i,
            )
        bounded = np.flatnonzero(np.isfinite(room[way]))
        weight = np.abs(v[bounded])
        tied = bounded[room[way, bounded] * weight <= step * weight + self.near_a]
        k = int(tied[np.argmax(np.abs(v[tied]))])
        if self.pivots_here > self.patience:
            k = int(tied[np.argmin(index[tied])])
        direction, slide = (v, slide) if way == 0 else (-v, -slide)
        if step > 0.0:
            self.widen()
            # A pivot of 1e-14 still means |Q v| of 1e-7 off A: u moves along, a little.
            self.alpha[index] += step * direction
            self.b += step * slide
            along = step * (self.gram.combine(index, direction) + self.border @ slide)
            self.u += along
            self.moved_here = True
            if float(np.abs(along).max()) > self.near_u:
                self.due = 0
        j = int(index[k])
        out = int(self.piece[j]) // 2 + (0 if direction[k] > 0 else 1)
        if j == i:
            # It went through its whole knot: on to the far slope without ever joining A.
            self._place(i, 2 * out)
            self._arrive(i, out)
            return
        self.leave(j, out)
        again = self._active_row(i)
        if not self._admit(i, again):
            self.pivots_here += 1
            if self.pivots_here > 4 * self.patience:
                raise TraceError("the active columns cannot be made independent")
            self._exchange(i, again, inward, either_way)

    def _null_direction(self, i: int, row: Array) -> tuple[Array, Array]:
        """The motion of alpha_A and b that, for alpha_i rising at rate 1, keeps u_A and the border
        equations where they are."""
        v = -self.factor.solve(row)
        if self.b.size == 0:
            return v, np.zeros(0)
        border = self.border[self.factor.index]
        values, vectors, z = self._border_schur(border)
        short = border.T @ v + self.border[i]
        live = values > 1e-12 / self.rho
        part = vectors.T @ short
        db = vectors @ np.where(live, part / np.where(live, values, 1.0), 0.0)
        return v - z @ db, db

    def _border_schur(self, border: Array) -> tuple[Array, Array, Array]:
        """Eigenvalues and vectors of ``B_A^T M^{-1} B_A``, and ``M^{-1} B_A``; M is factored."""
        m = self.b.size
        z = np.stack([self.factor.solve(border[:, c]) for c in range(m)], axis=1)
        schur = border.T @ z
        if m == 1:
            return schur[0], np.ones((1, 1)), z
        values, vectors = np.linalg.eigh(schur)
        return values, vectors, z

    def rebuild(self, least: float) -> None:
        """Factor the active set anew, reducing it to a well independent one."""
        self._begin_pivots(self.u.size)
        self.factor.clear()
        curvature = self.route.lines.curvature
        slanted = (self.piece % 2 == 0) & (curvature[self._every, self.piece // 2] > 0.0)
        for i in np.flatnonzero(slanted).tolist():
            self._admit_slanted(i, float(curvature[i, self.piece[i] // 2]))
        # Those farthest from the ends of their knots first: they are the likeliest to stay.
        steep = np.flatnonzero(self.piece % 2 == 1)
        low, high = self._end_of_knot(steep)
        depth = np.minimum(self.alpha[steep] - low, high - self.alpha[steep])
        steep = steep[np.argsort(-depth, kind="stable")]
        if self.factor.size == 0:
            steep = self._admit_first(steep)
        for i in steep.tolist():
            if self.piece[i] % 2 == 0:
                continue
            row = self._active_row(i)
            if not self._admit(i, row, least):
                self._exchange(i, row, 1.0, either_way=True)
        self._solved = self._rated = False

    def _admit_first(self, index: Index) -> Index:
        """Factor the first of `index` at once, as long as each is well independent of those
        before it; return the rest."""
        border = self.border[index]
        block = self.gram.block(index, index) + self.rho * (border @ border.T)
        rows, failed = scipy.linalg.lapack.dpotrf(block)
        count = index.size if failed == 0 else failed - 1
        weak = np.flatnonzero(~(np.diagonal(rows)[:count] ** 2 > 1e-4 * self.diag[index[:count]]))
        count = int(weak[0]) if weak.size else count
        self.factor.set(index[:count], rows[:count, :count])
        return index[count:]

    def _begin_pivots(self, tied: int) -> None:
        self.pivots_here = 0
        self.patience = 20 + 4 * tied
        self._resolved = False
        self._crossed: dict[int, int] = {}
        self.moved_here = False
