"""The error of a point, and its correction: recompute u from alpha, measure sizes, solve for the
residual.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from homotopy.model.polyline import JUMP
from homotopy.tracker import state
from homotopy.tracker.factoring import Factoring
from homotopy.tracker.sizes import corner_sizes
from homotopy.tracker.tables import loss_terms, middle, scales
from homotopy.tracker.tolerances import EPS, TINY
from homotopy.tracker.validity import factor_changed

__all__ = ["Exactness"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]

INF = np.inf
# Overflow is detected from residuals, not from warnings.
QUIET = np.errstate(over="ignore", invalid="ignore")


class Exactness(Factoring):
    """Recomputes, measures and corrects the point."""

    @QUIET
    def refresh(self) -> None:
        """Recompute u from alpha, and the sizes from which tolerances are made."""
        self.write_alpha()
        if self._phi is None:
            product = self.gram.matvec(self.alpha)
            square = float(self.alpha @ product)
        else:
            w = self._made_by_alpha()
            product, square = np.asarray(self._phi @ w), float(w @ w)
        self.u[:] = product + self.border @ self.b
        if self.fixed.slanted:
            self._phase(state.SETTING_SLANTED)
        self._measure(square)
        self.examine_all()

    def _made_by_alpha(self) -> Array:
        """Return w, computed from alpha; entries that agree with the tracked w up to the rounding
        of alpha keep the tracked value."""
        phi, own = self._phi, self.motion.w
        w = np.asarray(phi.T @ self.alpha)
        if self.sizes.tracks_w:
            known = (
                self.tolerances.roundings.summed * EPS * np.asarray(abs(phi).T @ np.abs(self.alpha))
            )
            same = np.abs(own[: w.size] - w) <= known
            w[same] = own[: w.size][same]
        own[: w.size] = w
        return w

    def _measure(self, square: float) -> None:
        """Measure the sizes from which tolerances are made, and the errors of the point and of the
        factor; `square` is ``|w|^2``."""
        t = float(self.route.t) if self._started and not self.route.settling else self._settling_at
        if self._corners_at is None or (self._corners_move and self._corners_at != t):
            self._corners_at = t
            work, scale = self.window.sums, float(self.sizes.size_scale)
            corner_sizes(self.model_polylines.corner, self.coords.status, work, t, scale)
        self.sizes.length = np.sqrt(max(square, 0.0))
        self.column.target[:] = self.problem.target(t)
        self._phase(state.MEASURING)

    def usual_alpha(self) -> Array:
        """Return the usual size of each alpha: its slopes, or what moves its response by its
        scale."""
        status = self.coords.status
        size = np.divide(
            self.size_of_u(), status.own, out=np.full(status.size, INF), where=status.own > 0
        )
        most = np.minimum(size, np.where(status.height > 0.0, status.height, INF))
        return np.asarray(np.where(np.isfinite(most), most, 0.0))

    @property
    def off(self) -> float:
        """The error of the point, relative to the error allowed (`homotopy.tracker.proof`), when u
        was last recomputed."""
        return float(self.sizes.off)

    def on_jump_corners(self) -> Index:
        """Return the coordinates on a jump corner.  None can stay there for long unless others hold
        it."""
        corner = self.model_polylines.corner
        if not np.any(corner.kind == JUMP):
            return np.empty(0, dtype=np.int64)
        away = np.abs(corner.at + corner.rate * self.route.t - self.u[:, None])
        near = self.tolerances.near * np.maximum(np.abs(self.u), self.coords.fence.scale)[:, None]
        return np.flatnonzero(np.any((corner.kind == JUMP) & (away <= near), axis=1))

    def left_alone(self, some: Index) -> bool:
        """Whether any of these has ever stayed on a jump corner because its flip moved nothing (see
        `homotopy.tracker.ties.stays_on_jump`), not because others hold it."""
        return bool(np.any(self.coords.status.left_in_stay[some] > 0))

    def correct(self) -> bool:
        """Recompute u and solve for its error; return whether the error is gone."""
        tol = self.tolerances
        self.refresh()
        # Recompute what was updated with every pivot.
        self.note(factor_changed)
        if self.sizes.factor_off > tol.drifted:
            self.rebuild(0.0)
            self.refresh()
        off, first, gap = self.off, float(self.sizes.bound), float(self.sizes.gap)
        before = off
        for _ in range(tol.patience.corrections):
            if off <= tol.refine or not self.system.actives:
                break
            last = off
            off = self.correct_once()
            if off > tol.repair and not off < 0.5 * last:
                # An alpha is in the way: let it leave its knot.
                self._phase(state.CORRECTING_WITH_PIVOTS)
                self.refresh()
                off = self.off
            if not off < 0.5 * last:
                break
        # (Do not end the segment at a correction that made it worse.)
        if off <= before and self.jumping.phase == state.ON_WAY and self.route.along:
            self._phase(state.MENDING)
        self.judge(max(first, float(self.sizes.bound)))
        # (Unlike `max`, this keeps NaN.)
        self.gap = float(np.max([self.gap, gap, self.sizes.gap]))
        return off <= tol.repair

    def judge(self, error: float) -> None:
        """Note the error of the present point, relative to what the certificate allows."""
        recorded = self._started and self.cursor.recording
        self.doubts.judge(error, int(self.cursor.segments) if recorded else None)

    def off_on_arrival(self) -> float:
        """Return the error that the end of the path may have before correction: flat coordinates
        are at the end of the span, active ones within `Tolerances.arrival` of it."""
        column = self.column
        ahead = self.tolerances.arrival * max(abs(self.route.first), abs(self.route.last))
        ahead = ahead * np.abs(column.along - column.target_rate)
        return float(np.max(ahead / np.maximum(column.allowed, TINY), initial=0.0))

    def correct_once(self) -> float:
        """Solve for the error of the point, and undo that if it does not help; return the error
        that remains."""
        alpha, b, off = self.alpha.copy(), self.b, self.off
        done = int(self.cursor.refined)
        self._phase(state.CORRECTING)
        if self.cursor.refined == done:
            # An alpha is in the way: nothing has moved.
            return off
        self.refresh()
        if not self.off < off:
            self.alpha[:], self.b = alpha, b
            self.refresh()
        return self.off

    def _interval(self) -> int:
        """Return the number of steps until u is next recomputed, which costs about ten steps."""
        sizes, patience = self.sizes, self.tolerances.patience
        if sizes.most_mass > patience.fallen * sizes.mass:
            # Alphas were much larger before: remove their rounding while it is small.
            sizes.most_mass = sizes.mass
            return patience.often
        moved = np.count_nonzero(self.alpha) / max(self.system.actives, 1)
        least = patience.refresh
        # It is cheap on small problems, so do it more often there.
        most = int(least * np.clip(self.u.size / patience.usual_n, 1.0, patience.stretch))
        if self._phi is not None:
            # Windows by distance recompute w and u whenever they end.
            most = max(most, self.u.size // patience.per_step)
        return int(np.clip(patience.recomputing * moved, least, most))

    def load_model(self, start: float, stop: float) -> None:
        """Load the model's polylines between two t of the span, with scales and losses."""
        self.load_polylines(start, stop)
        self.set_scales((start, stop))
        self.use(self.model_polylines)

    def load_polylines(self, start: float, stop: float) -> None:
        """Load the polylines and losses alone: no coordinate has a piece yet."""
        problem = self.problem
        self.fill_model(problem.kinds_within(start, stop))
        terms, origin = loss_terms(problem, start, stop, self.tolerances)
        self.polylines = self.model_polylines = self.model_polylines._replace(
            terms=terms, origin=origin
        )
        self.route.first, self.route.last = start, stop
        self.column.target0[:], self.column.target1[:] = problem.target0, problem.target1

    def set_scales(self, ends: tuple[float, ...]) -> None:
        """Set the scales of u and alpha of each coordinate (see `tolerances`)."""
        sizes = self.sizes
        if ends == self._scaled:
            return
        self._scaled = ends
        base, height = scales(self.problem, ends, self.tolerances)
        self.coords.status.slope[:] = height
        sizes.size_scale, sizes.height = middle(base), middle(height)
        if sizes.size_scale == 0.0:
            # If every corner is 0, the scale is the largest response that alpha can cause.
            heaviest = float(self.gram.sizes.max())
            possible = max(float(np.abs(self.u).max()), heaviest * sizes.height)
            sizes.size_scale = possible or 1.0
        # If all corners are 0, they were measured with the previous scale.
        self._corners_at = None
        self._measure(sizes.length**2)
        if sizes.height == 0.0:
            sizes.height = sizes.size_scale / (self.fixed.largest_root**2 or 1.0)
