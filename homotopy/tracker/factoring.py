"""Factorisation of the active set from scratch."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.linalg
import scipy.sparse as sp

from homotopy.tracker import state
from homotopy.tracker.runs import Runs
from homotopy.tracker.validity import system_changed

__all__ = ["Factoring"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]


class Factoring(Runs):
    """Factors active sets."""

    def rebuild(self, least: float) -> None:
        """Refactor the active set, reducing it to a well independent one."""
        system, jumping = self.system, self.jumping
        system.actives = system.dependents = 0
        self.note(system_changed)
        self.coords.status.dependent[:] = 0
        self.examine_all()
        order = self._by_depth()
        jumping.flips, system.admitted, system.least = order.size, 0, least
        self.motion.flips[: order.size] = order
        self._factor_first(order)
        self._phase(state.FACTORING)
        jumping.flips = 0

    def _by_depth(self) -> Index:
        """Return the active coordinates: slanted ones, then those on knots, farthest from the ends
        of their knots first, because these are the most likely to stay."""
        steep = np.flatnonzero(self.piece % 2)
        bent = np.flatnonzero(self.coords.status.bend) if self.fixed.slanted else steep[:0]
        self._phase(state.WRITING_DEPTHS)
        depth = self.window.gaps[steep]
        return np.concatenate([bent, steep[np.argsort(-depth, kind="stable")]])

    def _factor_first(self, index: Index) -> None:
        """Factor the leading coordinates of `index` at once, as long as each is well independent of
        those before it."""
        if not index.size:
            return
        border, j = self.border[index], self.piece[index] // 2
        block = self.gram.block(index, index) + self.fixed.rho * (border @ border.T)
        bend = np.where(self.piece[index] % 2 == 0, self.polylines.slope.bend[index, j], 0.0)
        extra = np.divide(1.0, bend, out=np.zeros(bend.size), where=bend > 0.0)
        block[np.diag_indices(index.size)] += extra
        rows, failed = scipy.linalg.lapack.dpotrf(block)
        count = index.size if failed == 0 else failed - 1
        least = self.tolerances.independence.dependent * (self.coords.status.weight[index] + extra)
        weak = np.flatnonzero(~(np.diagonal(rows)[:count] ** 2 > least[:count]))
        first = int(weak[0]) if weak.size else count
        if first < index.size and extra[first] > 0.0 and self.gram.semidefinite:
            # 1 / bend, which keeps it independent, is lost in the rounding of Q.
            rows = self._by_length(index, extra)
            count = min(rows.shape)
            pivots = np.diagonal(rows) ** 2
            weak = np.flatnonzero((extra[:count] == 0.0) & ~(pivots > least[:count]))
            first = int(weak[0]) if weak.size else count
        count = first
        if count + 16 > self._capacity:
            self._reserve(max(2 * self._capacity, count + 16))
        self.active.factor[:count, :count] = rows[:count, :count]
        self.active.index[:count] = index[:count]
        self.coords.status.place[index[:count]] = np.arange(count)
        self.system.actives = self.system.admitted = count

    def _by_length(self, index: Index, extra: Array) -> Array:
        """Return the same factor from rows of features, border and diagonal: lengths have twice the
        digits of their squares."""
        if self._phi is None:
            # A root of Q, whose negative eigenvalues are rounding.
            values, vectors = np.linalg.eigh(self.gram.block(index, index))
            features = vectors * np.sqrt(np.maximum(values, 0.0))
        else:
            features = self._phi[index]
            features = features.toarray() if sp.issparse(features) else features
        bent = np.flatnonzero(extra)
        diagonal = np.zeros((bent.size, index.size))
        diagonal[np.arange(bent.size), bent] = np.sqrt(extra[bent])
        border = np.sqrt(self.fixed.rho) * self.border[index]
        rows = np.vstack([features.T, border.T, diagonal])
        factor = scipy.linalg.qr(rows, mode="r", check_finite=False)[0][: min(rows.shape)]
        return np.asarray(factor * np.where(np.diagonal(factor) < 0.0, -1.0, 1.0)[:, None])
