"""Settling makes a guess exact: each coordinate gets a piece, its polyline is shifted to the guess,
and the shift is taken back.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from homotopy.model.polyline import JUMP, SEAM, Snapshot
from homotopy.tracker import state
from homotopy.tracker.exactness import Exactness
from homotopy.tracker.tables import fill
from homotopy.tracker.tolerances import EPS, GOLDEN, TINY
from homotopy.tracker.validity import system_changed

__all__ = ["Settling"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]

INF = np.inf


class Settling(Exactness):
    """Makes guesses exact."""

    def assign(self, snap: Snapshot, first: Index, last: Index) -> None:
        """Give every coordinate the piece nearest to (u, alpha), and that piece's alpha, among
        the slopes ``first .. last`` of its convex branch, their knots and their walls."""
        n, k = snap.corner.shape
        # Where u is mostly rounding, alpha decides.
        blur = self.tolerances.roundings.rounding * EPS * self.sizes.mass * self.coords.fence.root
        status = self.coords.status
        u_scale, a_scale = (
            np.maximum(self.size_of_u(), np.maximum(blur / self.tolerances.scales.of_corner, TINY))[
                :, None
            ],
            np.where(status.height > 0.0, status.height, self.sizes.height)[:, None],
        )
        first, last, u, alpha = (v[:, None] for v in (first, last, self.u, self.alpha))
        place, value = np.empty((n, 2 * k + 1)), np.empty((n, 2 * k + 1))
        allowed, side = np.empty((n, 2 * k + 1), np.bool_), np.zeros((n, 2 * k + 1), np.int64)
        low, high = np.full((n, k + 1), -INF), np.full((n, k + 1), INF)
        low[:, 1:] = high[:, :-1] = snap.corner
        at, j, bend, a = u, np.arange(k + 1), snap.curvature, snap.slope
        if self.fixed.slanted:
            # On a steep piece, look for the nearest point along u: at the u that alpha gives.
            at = np.array(np.broadcast_to(u, a.shape))
            np.divide(a - alpha, bend, out=at, where=bend * u_scale > a_scale)
        place[:, ::2] = at = np.minimum(np.maximum(at, low), high)
        if self.fixed.slanted:
            a = a - bend * np.where(bend > 0.0, at, 0.0)
        value[:, ::2], allowed[:, ::2] = a, (j >= first) & (j <= last) & np.isfinite(a)
        side[:, 1::2], place[:, 1::2], value[:, 1::2], allowed[:, 1::2] = self._knots(
            snap, first, last
        )
        with np.errstate(invalid="ignore", over="ignore"):
            distance = np.abs(u - place) / u_scale
            distance += np.abs(alpha - value) / a_scale
        # At the same distance a slope wins: it needs no place in the factor.
        distance[:, 1::2] += self.tolerances.bias
        distance[~(allowed & (distance < INF))] = INF
        piece = distance.argmin(axis=1)
        # (If no piece is allowed, this is the first one, and alpha stays.)
        found = distance[self._every, piece] < INF
        self.piece[:], self.side[:] = piece, side[self._every, piece]
        self.alpha[:] = np.where(found, value[self._every, piece], self.alpha)

    def _knots(
        self, snap: Snapshot, first: Index, last: Index
    ) -> tuple[Any, Array, Array, npt.NDArray[np.bool_]]:
        """Return the corners as pieces: side, u, alpha, and which coordinates may be on them."""
        corner, j, bend = snap.corner, np.arange(snap.corner.shape[1]), snap.curvature
        real = np.isfinite(corner)
        finite = np.where(real, corner, 0.0)
        high, low = snap.slope[:, :-1], snap.slope[:, 1:]
        if self.fixed.slanted:
            high = high - bend[:, :-1] * np.where(bend[:, :-1] > 0.0, finite, 0.0)
            low = low - bend[:, 1:] * np.where(bend[:, 1:] > 0.0, finite, 0.0)
        # (If the ends of a knot are reversed, `np.clip` returns the high one.)
        jump, alpha = snap.kind == JUMP, self.alpha[:, None]
        allowed = real & (snap.kind != SEAM)
        if not jump.any():
            allowed &= (j >= first) & (j < last)
            return 0, finite, np.clip(alpha, low, high), allowed
        where = np.where(jump, np.where(last == j, -1, 1), 0)
        low, high = np.where(where == -1, -INF, low), np.where(where == 1, INF, high)
        allowed &= (j >= first - 1) & (j <= last)
        allowed &= np.where(jump, (last == j) | (first == j + 1), (j >= first) & (j < last))
        # A row of zeros cannot be pushed off a jump, so it must have a side from the start.
        allowed &= ~(jump & (self.coords.status.weight == 0.0)[:, None])
        return where, finite, np.clip(alpha, low, high), allowed

    def settle(self, t: float, snap: Snapshot, target: Array) -> None:
        """Make the present guess (pieces, alpha, b) exact for the polylines `snap`, those at t.

        Every coordinate stays on its convex branch; one that would cross a jump ends pinned.
        Active coordinates that depend on others are dropped first.
        """
        route, system, cursor = self.route, self.system, self.cursor
        still = np.zeros_like(snap.slope), np.zeros_like(snap.corner)
        fill(
            self._settling_polylines,
            (snap.slope, still[0]),
            (snap.corner, still[1]),
            snap.curvature,
            snap.kind,
        )
        cursor.recording = 0
        self.sizes.most_norm = self.sizes.most_mass = 0.0
        # These polylines do not move; read them at t = 0.
        kept_t, route.t, self._settling_at = route.t, 0.0, t
        self.head_across(0.0)
        self.lift[:] = 0.0
        self.shift[:] = 0.0
        self.use(self._settling_polylines)
        self.rebuild(self.tolerances.independence.least_in_guess if self.gram.semidefinite else 0.0)
        self._shift_into_place(snap)
        # Sum exactly: large alphas may cancel to the last digit and leave the balance to tiny ones.
        terms = np.vstack([self.border * self.alpha[:, None], -target])
        self.column.target_rate[:] = [math.fsum(column) for column in terms.T]
        route.mu = route.tau = 1.0
        self.motion.across[:] = 0.0
        self.column.across[:] = 0.0
        system.mass_across = system.square_across = 0.0
        self.note(system_changed)
        route.settling, self.jumping.phase = 1, state.ON_WAY
        cursor.due, anchor = np.iinfo(np.int64).max, self._anchor
        self.forget_effort()
        try:
            self.run()
            self.refresh()
        finally:
            route.settling, cursor.due, route.t = 0, 0, kept_t
            self.shift[:] = 0.0
            self._anchor = anchor

    def _shift_into_place(self, snap: Snapshot) -> None:
        """Shift every polyline sideways so that the guess is optimal; first move alpha of slanted
        pieces into its piece."""
        rows, j, flat = self._every, self.piece // 2, self.piece % 2 == 0
        k = snap.corner.shape[1]
        low = np.where(flat & (j > 0), snap.corner[rows, np.maximum(j - 1, 0)], -INF)
        high = np.where(flat & (j < k), snap.corner[rows, np.minimum(j, k - 1)], INF)
        # Where each coordinate would have to be for its alpha: anywhere on a flat piece, at the
        # corner of a knot, at one place on a slanted piece.
        place = np.where(flat, 0.0, snap.corner[rows, np.minimum(j, k - 1)])
        bent = np.flatnonzero(flat & (snap.curvature[rows, j] > 0.0))
        value, bend = snap.slope[bent, j[bent]], snap.curvature[bent, j[bent]]
        place[bent] = np.clip((value - self.alpha[bent]) / bend, low[bent], high[bent])
        self.alpha[bent] = value - bend * place[bent]
        self.refresh()
        self.u[bent] += self.coords.status.miss[bent]
        self.coords.status.miss[:] = 0.0
        # Spread the gaps (golden-ratio sequence) so that the shifted start has no needless ties;
        # a gap must leave room for u within its piece.
        spread = np.modf(GOLDEN * (rows + 1.0))[0]
        under, over = low - self.u, self.u - high
        with np.errstate(invalid="ignore"):
            room = 0.5 * (high - low)
        shift = np.where(under > 0.0, -under - np.minimum(under, room) * spread, 0.0)
        shift = np.where(over > 0.0, over + np.minimum(over, room) * spread, shift)
        tied = ~flat
        tied[bent] = True
        shift[tied] = self.u[tied] - place[tied]
        self.shift[:] = shift

    def set_guess(self, alpha: Array, b: Array, ends: tuple[float, ...] | None = None) -> None:
        """Set alpha and b to a guess, on the scales of the span with these `ends`, if given."""
        self.alpha[:], self.b = alpha, b
        product = self.gram.matvec(self.alpha)
        self.u[:] = product + self.border @ self.b
        square = float(self.alpha @ product)
        if ends is None or ends == self._scaled:
            self._measure(square)
        else:
            self.sizes.length = math.sqrt(max(square, 0.0))
            self.set_scales(ends)

    def settle_here(self) -> None:
        """Make the point exact at the present place, and resume the route."""
        route = self.route
        kept, lift = self._scalars.route.copy(), self.lift.copy()
        phase, recording = self.jumping.phase, self.cursor.recording
        snap, target = self.snapshot(), self.problem.target(route.t)
        self.lift[:] = 0.0
        self.settle(float(route.t), snap, target)
        self._scalars.route[:], self.lift[:] = kept, lift
        self.jumping.phase, self.cursor.recording = phase, recording
        self.use(self.model_polylines)
        self.column.target_rate[:] = self.column.target1 if route.along else 0.0
        self.reset_pull()
        self.repairs += 1
        pinned = np.flatnonzero(self.side)
        if not route.pin and pinned.size:
            self.begin_jump_at(pinned)

    def begin_jump_at(self, pinned: Index) -> None:
        """Begin a jump with these coordinates, which are pinned to its corner."""
        noted = 2 * pinned + (self.side[pinned] < 0)
        self.coords.tied[self.coords.tied.size - pinned.size :] = noted
        self.event.walls, self.jumping.phase = pinned.size, state.BEGINNING
