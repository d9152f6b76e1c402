"""How far a point is off, and its correction: u recomputed from alpha, sizes measured, the residual
solved for.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from homotopy.model.polyline import JUMP
from homotopy.tracker import state
from homotopy.tracker.factoring import Factoring
from homotopy.tracker.sizes import corner_sizes
from homotopy.tracker.tables import loss_terms, scales
from homotopy.tracker.tolerances import EPS, TINY

__all__ = ["Exactness"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]

INF = np.inf
# Overflow is detected from residuals, not from warnings.
QUIET = np.errstate(over="ignore", invalid="ignore")


class Exactness(Factoring):
    """Recomputes, measures and corrects."""

    def write_alpha(self) -> None:
        """alpha of the flat coordinates: it is the value of their slope."""
        j = self.piece // 2
        slope = self.lines.slope[self._every, j]
        flat = (self.piece % 2 == 0) & (slope.bend == 0.0)
        value = slope.at + slope.rate * self.route.t + self.lift * self.route.mu
        self.alpha[flat] = value[flat]

    @QUIET
    def refresh(self) -> None:
        """Recompute u from alpha, and the sizes that tolerances are made of."""
        scope = self.scope
        self.write_alpha()
        if self._phi is None:
            product = self.gram.matvec(self.alpha)
            square = float(self.alpha @ product)
        else:
            w = self._made_by_alpha()
            product, square = np.asarray(self._phi @ w), float(w @ w)
        self.u[:] = product + self.border @ self.b
        self._imply()
        self._measure(square)
        self.here.near[:] = self._every
        scope.looked, scope.window, scope.packed = self.u.size, state.NO_WINDOW, 0
        self.system.rated = self.event.fresh = 0

    def _made_by_alpha(self) -> Array:
        """w: what alpha makes it, or as it was followed where alpha, rounded, cannot tell them
        apart."""
        phi, own = self._phi, self.mov.w
        w = np.asarray(phi.T @ self.alpha)
        if self.sizes.own_w:
            known = (
                self.tolerances.roundings.summed * EPS * np.asarray(abs(phi).T @ np.abs(self.alpha))
            )
            same = np.abs(own[: w.size] - w) <= known
            w[same] = own[: w.size][same]
        own[: w.size] = w
        return w

    def _imply(self) -> None:
        """On slanted pieces u is where alpha says; see `rates.imply`."""
        spot = self.here.spot
        if self.fixed.slanted:
            spot.miss[:] = 0.0
            bent = np.flatnonzero(spot.bend)
            slope = self.lines.slope[bent, self.piece[bent] // 2]
            lift = (self.lift[bent] + slope.bend * self.shift[bent]) * self.route.mu
            value = slope.at + slope.rate * self.route.t + lift
            place = (value - self.alpha[bent]) / slope.bend
            spot.miss[bent], self.u[bent] = self.u[bent] - place, place

    def _measure(self, square: float) -> None:
        """The sizes that tolerances are made of, and how far the point and the factor are off;
        `square` is ``|w|^2``."""
        t = float(self.route.t) if self._started and not self.route.settling else self._settling_at
        if self._corners_at is None or (self._corners_move and self._corners_at != t):
            self._corners_at = t
            work, scale = self.win.sums, float(self.sizes.size_scale)
            corner_sizes(self.model_lines.corner, self.here.spot, work, t, scale)
        self.sizes.length = np.sqrt(max(square, 0.0))
        self.column.target[:] = self.problem.target(t)
        self._phase(state.MEASURING)

    def _sizes(self) -> Array:
        return np.maximum(self.size_of_u(), TINY)

    def usual_alpha(self) -> Array:
        """What alpha of each coordinate is like: its slopes, or what moves its response by its
        scale."""
        spot = self.here.spot
        size = np.divide(
            self.size_of_u(), spot.own, out=np.full(spot.size, INF), where=spot.own > 0
        )
        most = np.minimum(size, np.where(spot.height > 0.0, spot.height, INF))
        return np.asarray(np.where(np.isfinite(most), most, 0.0))

    @property
    def off(self) -> float:
        """How far the point is off, in parts of what is allowed (`homotopy.tracker.proof`), when u
        was last recomputed."""
        return float(self.sizes.off)

    def rests(self) -> bool:
        """Whether a free coordinate stands on a jump corner, where none can stay for long."""
        corner = self.model_lines.corner
        if not np.any(corner.kind == JUMP):
            return False
        away = np.abs(corner.at + corner.rate * self.route.t - self.u[:, None])
        near = self.tolerances.near * np.maximum(np.abs(self.u), self.here.fence.scale)[:, None]
        return bool(np.any((corner.kind == JUMP) & (away <= near)))

    def correct(self) -> bool:
        """Recompute u and solve for what it is off by; True where nothing is left of it."""
        tol = self.tolerances
        self.refresh()
        # What was updated with every pivot is made anew.
        self.system.ready = 0
        if self.sizes.factor_off > tol.drifted:
            self.rebuild(0.0)
            self.refresh()
        first = off = self.off
        for _ in range(tol.patience.corrections):
            if off <= tol.refine or not self.system.actives:
                break
            last = off
            off = self._sharpened()
            if off > tol.repair and not off < 0.5 * last:
                # An alpha is in the way: it leaves its knot.
                self._phase(state.REFINING)
                self.refresh()
                off = self.off
            if not off < 0.5 * last:
                break
        if self.jumping.in_jump == state.ON_WAY and self.route.along:
            self.mend_end()
        self.doubt = max(self.doubt, first, off)
        return off <= tol.repair

    def off_on_arrival(self) -> float:
        """How far the end of the path may be off before it is corrected: flat coordinates have come
        to the end of the span, active ones to within `Tolerances.arrival` of it."""
        column = self.column
        ahead = self.tolerances.arrival * max(abs(self.route.first), abs(self.route.last))
        ahead = ahead * np.abs(column.along - column.target_rate)
        return float(np.max(ahead / np.maximum(column.allowed, TINY), initial=0.0))

    def _sharpened(self) -> float:
        """Solve for what the point is off by, and undo that if it is no better; return how far it
        is off then."""
        alpha, b, off = self.alpha.copy(), self.b, self.off
        self._phase(state.SHARPENING)
        self.refresh()
        if not self.off < off:
            self.alpha[:], self.b = alpha, b
            self.refresh()
        return self.off

    def _interval(self) -> int:
        """Steps between two recomputations of u: one of them costs as much as that of ten."""
        sizes, patience = self.sizes, self.tolerances.patience
        if sizes.most_mass > patience.fallen * sizes.mass:
            # Rounding of alphas that were much larger counts by now: it is taken back while small.
            sizes.most_mass = sizes.mass
            return patience.often
        moved = np.count_nonzero(self.alpha) / max(self.system.actives, 1)
        least = patience.refresh
        # On small problems it costs next to nothing.
        most = int(least * np.clip(self.u.size / patience.usual_n, 1.0, patience.stretch))
        if self._phi is not None:
            # Windows by place recompute w and u whenever they end.
            most = max(most, self.u.size // patience.per_look)
        return int(np.clip(patience.recomputing * moved, least, most))

    def load_model(self, start: float, stop: float) -> None:
        """Take up the model's polylines between two t of the span, with scales and losses."""
        problem = self.problem
        self.fill_model(problem.kinds_within(start, stop))
        self.set_scales((start, stop))
        self.model_lines = self.model_lines._replace(
            terms=loss_terms(problem, start, stop, self.tolerances)
        )
        self.route.first, self.route.last = start, stop
        self.column.aim[:], self.column.moves[:] = problem.target0, problem.target1
        self.use(self.model_lines)

    def set_scales(self, ends: tuple[float, ...]) -> None:
        """The scales of u and alpha of each coordinate (see `tolerances`)."""
        sizes = self.sizes
        if ends == self._scaled:
            return
        self._scaled = ends
        base, height = scales(self.problem, ends, self.tolerances)
        self.here.spot.slope[:] = height
        for name, values in (("size_scale", base), ("height", height)):
            real = values[values > 0.0]
            setattr(self.sizes, name, float(np.median(real)) if real.size else 0.0)
        if sizes.size_scale == 0.0:
            # With every corner at 0 the scale is what alpha can do to u.
            heaviest = float(self.gram.sizes.max())
            possible = max(float(np.abs(self.u).max()), heaviest * sizes.height)
            sizes.size_scale = possible or 1.0
        # Where all corners are 0 they were measured by the scale before.
        self._corners_at = None
        self._measure(sizes.length**2)
        if sizes.height == 0.0:
            sizes.height = sizes.size_scale / (self.fixed.largest_root**2 or 1.0)
