"""The objective of a large problem without a sum over all coordinates.

On slope j a loss is ``L_i(u) = c_ij(t) - a_ij(t) u``.  At a point of the path the responses of the
flat coordinates drop out of the objective: with ``sum_i alpha_i u_i = |w|^2 + b^T e``,

    1/2 |w|^2 + sum_i L_i(u_i) + e^T b
        = -1/2 |w|^2 + sum_F c_i(t) + sum_A (c_i(t) + (alpha_i - a_i(t)) k_i(t)),

k_i being the corner on which an active coordinate stands, a_i and c_i those of the slope left of
it.  Everything moves affinely with t, so c_ij is a quadratic in t, and the sum over F is three
numbers that change only when a coordinate changes its piece.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from homotopy.model import Problem

__all__ = ["Ledger"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]


class Ledger:
    """``sum_F c_i(t)`` kept up to date."""

    def __init__(self, terms: Array, problem: Problem) -> None:
        self._terms, self._problem = terms, problem
        self._sum = np.zeros(3)

    @classmethod
    def open(cls, problem: Problem, start: float, stop: float) -> Ledger | None:
        """The ledger of a problem; None where its losses are not of that form: slanted pieces,
        or an origin that is not affine in t or crosses a corner."""
        lines, n = problem.polylines, problem.gram.size
        if np.any(lines.curvature):
            return None
        times = (start, 0.5 * (start + stop), stop)
        origins = [np.full(n, problem.model.loss_origin(t), dtype=float) for t in times]
        bent = origins[0] + origins[2] - 2.0 * origins[1]
        if not np.all(np.abs(bent) <= 1e-14 * np.abs(origins).max(axis=0)):
            return None
        rate = (origins[2] - origins[0]) / (stop - start)
        const = origins[0] - rate * start
        rows, k = np.arange(n), lines.corner0.shape[1]
        # The slope on which the origin lies, the same at both ends of the span.
        left, right = (
            np.stack([origin >= lines.corner0[:, j] + lines.corner1[:, j] * t for j in range(k)])
            for t, origin in ((start, origins[0]), (stop, origins[2]))
        )
        home = left.sum(axis=0)
        if np.any(home != right.sum(axis=0)):
            return None
        slope0 = np.where(np.isfinite(lines.slope0), lines.slope0, 0.0)
        terms = np.zeros((3, n, k + 1))
        for j in range(k):
            known = np.isfinite(lines.corner0[:, j])
            corner = np.where(known, lines.corner0[:, j], 0.0), lines.corner1[:, j]
            step = slope0[:, j + 1] - slope0[:, j], lines.slope1[:, j + 1] - lines.slope1[:, j]
            for power, value in enumerate(_product(step, corner)):
                terms[power, :, j + 1] = terms[power, :, j] + value
        base = _product((slope0[rows, home], lines.slope1[rows, home]), (const, rate))
        for power in range(3):
            terms[power] += (base[power] - terms[power, rows, home])[:, None]
        return cls(np.ascontiguousarray(np.moveaxis(terms, 0, 2)), problem)

    def begin(self, piece: Index) -> None:
        """Sum over all flat coordinates."""
        flat = np.flatnonzero(piece % 2 == 0)
        self._sum = self._terms[flat, piece[flat] // 2].sum(axis=0)

    def change(self, i: int, old: int, new: int) -> None:
        """Coordinate i goes from piece `old` to piece `new`."""
        if old % 2 == 0:
            self._sum -= self._terms[i, old // 2]
        if new % 2 == 0:
            self._sum += self._terms[i, new // 2]

    def objective(
        self, t: float, square: float, active: Index, piece: Index, alpha: Array
    ) -> float:
        """The full objective at a point of the path; `square` is ``|w|^2``, `piece` and `alpha`
        belong to `active`."""
        powers, lines, j = np.array([1.0, t, t * t]), self._problem.polylines, piece // 2
        corner = lines.corner0[active, j] + lines.corner1[active, j] * t
        slope = lines.slope0[active, j] + lines.slope1[active, j] * t
        on_knots = float((self._terms[active, j] @ powers + (alpha - slope) * corner).sum())
        constant = self._problem.model.objective_constant(t)
        return float(self._sum @ powers) + on_knots - 0.5 * square + constant


def _product(p: tuple[Array, Array], q: tuple[Array, Array]) -> tuple[Array, Array, Array]:
    """The coefficients of the product of two affine functions."""
    return p[0] * q[0], p[0] * q[1] + p[1] * q[0], p[1] * q[1]
