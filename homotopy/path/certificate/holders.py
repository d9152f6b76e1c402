"""Which coordinates hold others on a jump corner."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf, dtrtrs

from homotopy.arrays import Array, Bools, Index
from homotopy.model import Problem
from homotopy.path.certificate.points import Points
from homotopy.path.certificate.tolerances import CertificateTolerances

if TYPE_CHECKING:
    from homotopy.path import Path


class Holders:
    """Finds the coordinates that hold another on a jump corner.

    i is held if phi_i (with its border row) lies in the span of the rows on knots: then no change
    of w and b moves u_i while leaving all of these in place.  Rows are scaled to length 1.  The
    holders found are remembered: as long as they stay on their knots, i is held.
    """

    def __init__(self, problem: Problem, tolerances: CertificateTolerances) -> None:
        self.gram, border, self.tolerances = problem.gram, problem.border, tolerances
        diag, columns = problem.gram.diag, (border**2).sum(axis=1)
        longest = float(columns.max(initial=0.0))
        weight = (float(diag.max()) or 1.0) / longest if longest > 0.0 else 0.0
        self.own, self.border = diag + weight * columns, np.sqrt(weight) * border
        self.counted: set[int] = set()
        self.known: dict[int, Index] = {}
        # How often each was seen on a knot: choosing those that stay avoids new searches.
        self.seen = np.zeros(diag.size, np.int64)

    def loose(self, points: Points, row: int, near: Index, likely: Index) -> int:
        """Return how many of `near` are not held by the coordinates on knots, of which `likely`
        are tried first.  Each is counted once, because one is enough for the path to fail."""
        u, on_knot, count = points.found.u[row], np.zeros(self.own.size, dtype=bool), 0
        near_by = self.tolerances.near
        for knot in points.given.corners[row, ~points.known.declared.jump]:
            on_knot |= np.abs(u - knot) <= near_by * np.maximum(
                points.found.scale[row], np.abs(knot)
            )
        self.seen += on_knot
        sought = [i for i in near[self.own[near] > 0.0].tolist() if not self._is_known(i, on_knot)]
        active, likely = np.flatnonzero(on_knot), likely[on_knot[likely]]
        some = sought if likely.size <= self.tolerances.factored else []
        held = self.held(np.array(some, np.int64), likely)
        for i in sought:
            known = self.known.get(i, np.zeros(0, np.int64))
            self.known[i] = held[i] if i in held else self._found(i, active, known[on_knot[known]])
            if self.known[i].size == 0:
                self.counted.add(i)
                count += 1
        return count

    def _is_known(self, i: int, on_knot: Bools) -> bool:
        """Whether no search is needed: i has been counted, or its holders are still there."""
        known = self.known.get(i)
        return i in self.counted or bool(known is not None and known.size and on_knot[known].all())

    def held(self, some: Index, active: Index) -> dict[int, Index]:
        """Return the holders of those of `some` that a factor of all of `active` shows to be
        held."""
        if not (some.size and np.any(self.own[active] > 0.0)):
            return {}
        factor, order, rank, _ = dpstrf(
            self._products(active, active), tol=self.tolerances.null_row, overwrite_a=1
        )
        if rank == 0:
            # (Products that overflow have no factor.)
            return {}
        factor, chosen = factor[:rank, :rank], active[order[:rank] - 1]
        parts = dtrtrs(factor, self._products(chosen, some), trans=1)[0]
        left = 1.0 - np.einsum("ij,ij->j", parts, parts)
        # Coefficients of the row in the chosen rows; a row with coefficient 0 holds nothing.
        weights = np.abs(dtrtrs(factor, parts)[0]) > self.tolerances.null_row
        # (If Q is not semidefinite, the remainder may be negative, which proves nothing.)
        near = np.flatnonzero(np.abs(left) <= self.tolerances.held).tolist()
        return {int(some[q]): chosen[weights[:, q]] for q in near}

    def _products(self, some: Index, others: Index) -> Array:
        length = np.sqrt(np.where(self.own > 0.0, self.own, 1.0))
        products = self.gram.block(some, others) + self.border[some] @ self.border[others].T
        return np.asarray(products / np.outer(length[some], length[others]))

    def _found(self, i: int, active: Index, chosen: Index) -> Index:
        """Return some of `active` whose span contains i, `chosen` first, or none.

        Greedily add the one that removes most of the remainder of i, and update the remainders of
        all (a Cholesky factor by rows)."""
        held, null_row = self.tolerances.held, self.tolerances.null_row
        try:
            rows = _factor(self._products(chosen, np.append(chosen, i)))
        except np.linalg.LinAlgError:
            rows, chosen = np.zeros((0, 1)), chosen[:0]
        if chosen.size and 1.0 - float(rows[:, -1] @ rows[:, -1]) <= held:
            return chosen
        others = np.append(active, i)
        rows = _factor(np.hstack([self._products(chosen, chosen), self._products(chosen, others)]))
        rows = rows[:, chosen.size :]
        left = (self.own[others] > 0.0) - np.einsum("ij,ij->j", rows, rows)
        left[:-1][np.isin(active, chosen)] = 0.0
        common = self._products(np.array([i]), active)[0] - rows[:, -1] @ rows[:, :-1]
        while left[-1] > held:
            gain = np.where(left[:-1] > null_row, common**2 / np.maximum(left[:-1], null_row), 0.0)
            most = gain.max(initial=0.0)
            if most == 0.0:
                return chosen[:0]
            k = int(
                np.argmax(np.where(gain >= self.tolerances.about * most, self.seen[active], -1))
            )
            new = self._products(active[k : k + 1], others)[0] - rows[:, k] @ rows
            new /= np.sqrt(left[k])
            left, common = left - new**2, common - new[-1] * new[:-1]
            left[k], chosen = 0.0, np.append(chosen, active[k])
            rows = np.concatenate([rows, new[None]])
        return chosen


def held_at_end(path: Path, some: Index) -> bool:
    """Whether active coordinates on knots hold all of `some` on the last segment."""
    s, jump = path.segments, path.problem.polylines.jump
    active = s.actives(len(s) - 1)
    piece = s.pieces(len(s) - 1)[active]
    knots = active[(piece % 2 == 1) & ~np.append(jump, True)[piece // 2]]
    holders = Holders(path.problem, CertificateTolerances())
    some = some[holders.own[some] > 0.0]
    return len(holders.held(some, knots)) == some.size


def _factor(products: Array) -> Array:
    """Return the rows of the Cholesky factor, given products of some rows with these and others."""
    if products.shape[0] == 0:
        return products
    square = np.linalg.cholesky(products[:, : products.shape[0]])
    return np.asarray(solve_triangular(square, products, lower=True))
