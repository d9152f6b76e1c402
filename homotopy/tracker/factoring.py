"""The factor of the active set, made anew."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.linalg

from homotopy.tracker import state
from homotopy.tracker.runs import Runs

__all__ = ["Factoring"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]

INF = np.inf


class Factoring(Runs):
    """Factors active sets."""

    def rebuild(self, least: float) -> None:
        """Factor the active set anew, reducing it to a well independent one."""
        system, jumping = self.system, self.jumping
        system.actives = system.solved = system.ready = system.rated = self.event.fresh = (
            system.idles
        ) = 0
        self.here.spot.idle[:] = 0
        self.scope.window, self.scope.looked = state.NO_WINDOW, self.u.size
        self.here.near[:] = self._every
        order = self._by_depth()
        jumping.flips, system.admitted, system.least = order.size, 0, least
        self.mov.flips[: order.size] = order
        self._factor_first(order)
        phase, jumping.in_jump = jumping.in_jump, state.FACTORING
        self.run()
        jumping.in_jump, jumping.flips = phase, 0

    def _by_depth(self) -> Index:
        """The active coordinates: slanted ones, then those on knots, farthest from the ends of
        their knots first; they are the likeliest to stay."""
        snap, j = self.snapshot(), self.piece // 2
        bent = (self.piece % 2 == 0) & (snap.curvature[self._every, j] > 0.0)
        steep = np.flatnonzero(self.piece % 2 == 1)
        low, high = self._ends(steep)
        depth = np.minimum(self.alpha[steep] - low, high - self.alpha[steep])
        steep = steep[np.argsort(-depth, kind="stable")]
        return np.concatenate([np.flatnonzero(bent), steep])

    def _factor_first(self, index: Index) -> None:
        """Factor the first of `index` at once, as long as each is well independent of those
        before it."""
        if not index.size:
            return
        border, j = self.border[index], self.piece[index] // 2
        block = self.gram.block(index, index) + self.fixed.rho * (border @ border.T)
        bend = np.where(self.piece[index] % 2 == 0, self.lines.slope.bend[index, j], 0.0)
        extra = np.divide(1.0, bend, out=np.zeros(bend.size), where=bend > 0.0)
        block[np.diag_indices(index.size)] += extra
        rows, failed = scipy.linalg.lapack.dpotrf(block)
        count = index.size if failed == 0 else failed - 1
        diag = self.here.spot.weight[index[:count]] + extra[:count]
        least = self.tolerances.independence.dependent * diag
        weak = np.flatnonzero(~(np.diagonal(rows)[:count] ** 2 > least))
        count = int(weak[0]) if weak.size else count
        if count + 16 > self._capacity:
            self._reserve(max(2 * self._capacity, count + 16))
        self.act.factor[:count, :count] = rows[:count, :count]
        self.act.index[:count] = index[:count]
        self.here.spot.place[index[:count]] = np.arange(count)
        self.system.actives = self.system.admitted = count

    def _ends(self, steep: Index) -> tuple[Array, Array]:
        """The ends of the knots on which the coordinates `steep` stand."""
        snap, j = self.snapshot(), self.piece[steep] // 2
        corner = snap.corner[steep, j]
        high = np.asarray(snap.slope_at(steep, j, corner))
        low = np.asarray(snap.slope_at(steep, j + 1, corner))
        high = np.where(self.side[steep] == 1, INF, high)
        return np.where(self.side[steep] == -1, -INF, low), high
