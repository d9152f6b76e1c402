"""Orientation: which way the path goes from here.

On a segment everything is affine in tau:

    Q_AA alpha_A' + B_A b' = corner_A' - Q_AF slope_F'          B_A^T alpha_A' = e' - B_F^T slope_F'
    u' = Q_:A alpha_A' + Q_:F slope_F' + B b'

At a point several coordinates may stand on corners at once (ties are the normal case).  The
one-sided derivative is the solution of a monotone complementarity problem over them: each tied
coordinate is flat or steep, and must not move off its piece.  `Orientation.orient` solves it by
least-index pivots (the criss-cross rule, finite for positive semidefinite Q whatever the starting
choice), so the step that follows has positive length and no partition ever comes back.  Where
many are tied the same problem is settled by a second follower instead.

Two moves are not principal pivots: the exchange along a null direction (see `homotopy.pivot`), and
the slide, when the border loses rank on A (A empty with an intercept).  Then b itself is free: it
slides, alpha stays, until a coordinate reaches a corner and can take up the balance.  Each such
move of positive length strictly improves a linear function over the optimal face at this tau, so
they end too.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
import numpy.typing as npt

from homotopy import kernels
from homotopy.errors import TraceError
from homotopy.model.polyline import JUMP, KNOT, SEAM, Snapshot
from homotopy.pivot import Pivots
from homotopy.state import EPS, FORGIVEN

__all__ = ["NONE", "Orientation"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]

NONE: Index = np.empty(0, dtype=np.int64)
# Pivots at one point after which the tied coordinates are resolved all at once.
MANY = 12
# Crossings of one coordinate at one point after which rounding is suspected.
TO_AND_FRO = 6
# A coordinate on a jump corner is held there if its pivot is below this part of its diagonal.
HELD = 1e-9


class Orientation(Pivots):
    """Finding the one-sided derivative at the present point."""

    @abstractmethod
    def settle(self, snap: Snapshot, target: Array, least: float) -> None:
        """Make a guess exact (see `homotopy.follow.Follower`)."""

    def _solve(self) -> Array | None:
        """alpha_A' and b' for the present pieces; where the border has lost rank and the balance
        asks for it, the direction in which b must slide instead."""
        r, a = self.route, self.factor.index
        aim = np.zeros(a.size)
        j = self.piece[a] // 2
        steep = self.piece[a] % 2 == 1
        aim[steep] = self.corner_rate(a[steep], j[steep])
        s, js = a[~steep], j[~steep]
        aim[~steep] = self.slope_rate(s, js) / r.lines.curvature[s, js]
        balance = self._drag.balance
        right = aim - self._drag.on(a) - self.rho * (self.border[a] @ balance)
        x = self.factor.solve(right)
        m = self.b.size
        if m == 0:
            self._dalpha, self._db = x, np.zeros(0)
            return None
        border = self.border[a]
        values, vectors, z = self._border_schur(border)
        need = r.target1 - balance
        short = border.T @ x - need
        live = values > 1e-12 / self.rho
        part = vectors.T @ short
        mass = float(np.abs(balance).sum() + np.abs(r.target1).sum())
        mass = max(mass, float(np.abs(border).T.sum(axis=0) @ np.abs(x)) if a.size else 0.0)
        left = abs(r.stop - self.tau)
        dead = ~live & (np.abs(part) > 1e-11 * mass)
        dead &= np.abs(part) * left > FORGIVEN * self.a_scale
        if np.any(dead):
            c = int(np.flatnonzero(dead)[0])
            # Growth of B^T alpha along this column is asked for in the direction of travel
            # (part = -need there); b moves against it.
            growth = -part[c] * self.sign
            return np.asarray(-np.sign(growth) * vectors[:, c])
        coefficient = np.zeros(m)
        coefficient[live] = part[live] / values[live]
        db = vectors @ coefficient
        self._dalpha = x - z @ db
        self._db = db
        return None

    def _rate_all(self) -> None:
        """u' of the coordinates looked at, into ``_du``."""
        a = self.factor.index
        lift = self._border_rate()
        if self._phi is None:
            self._du[:] = self.gram.combine(a, self._dalpha)
            self._du += self._drag.pull + self.border @ lift
        else:
            near, every = self.near, self.near.size == self.u.size
            phi, border = (
                (self._phi, self.border) if every else (self._phi[near], self.border[near])
            )
            dw = np.asarray(self._phi[a].T @ self._dalpha) + self._drag.pull
            self._du[near] = np.asarray(phi @ dw) + border @ lift
        self._rated = True

    def _border_rate(self) -> Array:
        """How fast b moves, with what ``rho B B^T`` adds."""
        a = self.factor.index
        return self._db + self.rho * (self.border[a].T @ self._dalpha + self._drag.balance)

    def _rates_on(self, index: Index) -> Array:
        du = self.gram.block(index, self.factor.index) @ self._dalpha + self._drag.on(index)
        return np.asarray(du + self.border[index] @ self._border_rate())

    def _still(self) -> tuple[float, float]:
        """The speeds (of u, of alpha) below which nothing moves: too slow to leave a corner by
        more than its nearness before the route ends, or mere rounding."""
        left = max(abs(self.route.stop - self.tau), 1e-300)
        mass = float(np.abs(self._dalpha) @ self._root[self.factor.index])
        mass = mass * self._largest_root + self._drag.size
        fastest = float(np.abs(self._dalpha).max(initial=0.0))
        return (
            2.0 * self.near_u / left + 32.0 * EPS * mass,
            2.0 * self.near_a / left + 4.0 * EPS * fastest,
        )

    def _tied(self) -> tuple[Index, Index]:
        """The flat coordinates standing on a corner and the steep ones at an end of their knot."""
        count = kernels.standing(
            self.near,
            self.near.size,
            self.u,
            self._low0,
            self._low1,
            self._high0,
            self._high1,
            self.shift,
            self.t,
            self.mu,
            self.near_u,
            self._found,
        )
        steep = self.factor.index[self.piece[self.factor.index] % 2 == 1]
        low, high = self._end_of_knot(steep)
        room = np.minimum(high - self.alpha[steep], self.alpha[steep] - low)
        return self._found[:count].copy(), steep[room <= self.near_a]

    def orient(self) -> Index:
        """Choose pieces for the tied coordinates so that none moves off its piece.

        Returns the coordinates that press on a jump corner (none on a pinning route): the C-step
        ends there.
        """
        flat, steep = self._tied()
        tied = np.union1d(flat, steep)
        self._begin_pivots(tied.size)
        while True:
            if not self._solved:
                slide = self._solve()
                if slide is not None:
                    wall = self._slide(slide)
                    if wall.size:
                        return wall
                    tied = self._retie(tied)
                    continue
                self._solved = True
            if self._rated:
                speeds = self._du[tied]
            else:
                speeds = self._rates_on(tied) if tied.size else np.zeros(0)
            offender, walls = self._first_offender(tied, speeds)
            if offender is None:
                break
            self.pivots_here += 1
            if self.pivots_here > MANY and not self._resolved and not self._nested:
                self._resolved = True
                if self._resolve(tied):
                    continue
            if self.pivots_here > 10 * self.patience:
                raise TraceError(
                    f"the direction at tau={self.tau:.17g} could not be resolved among "
                    f"{tied.size} tied coordinates"
                )
            self.moved_here = False
            if not self._rounding_decides(*offender):
                self._cross(*offender)
            if self.moved_here:
                self._resolved = False
                tied = self._retie(tied)
        if not self._rated:
            self._rate_all()
            # tau itself is rounded, and what moves fast is rounded with it.
            blur = 4.0 * EPS * abs(self.tau)
            self.near_u = max(self.near_u, blur * float(np.abs(self._du[self.near]).max()))
            self.near_a = max(self.near_a, blur * float(np.abs(self._dalpha).max(initial=0.0)))
        if not walls and not self.route.pin:
            walls = self._lingering(tied)
        return np.array(walls, dtype=np.int64)

    def _lingering(self, tied: Index) -> list[int]:
        """A coordinate that would stay on a jump corner along the coming segment.

        No local optimum sits there unless the active coordinates hold it: otherwise w can move
        it off either way at no first-order cost, and one side of a concave corner goes down.
        Such a balance arises from symmetric data.  One is returned at a time, for flipping all
        of a balanced set at once would keep the balance.
        """
        still_u, _ = self._still()
        here = set()
        flat = tied[self.piece[tied] % 2 == 0]
        j, last = self.piece[flat] // 2, self.route.kind.shape[1] - 1
        for offset in (1, 0):
            c = np.clip(j - offset, 0, last)
            stands = (j - offset == c) & (self.route.kind[flat, c] == JUMP)
            stands &= np.abs(self.u[flat] - self.corner(flat, c)) <= self.near_u
            stands &= np.abs(self._du[flat] - self.corner_rate(flat, c)) <= still_u
            here.update(flat[stands].tolist())
            self.wall.update(zip(flat[stands].tolist(), c[stands].tolist(), strict=True))
        # Those whose flip moved nothing are at rest as long as they stand here.
        self.resting &= here
        for i in sorted(here - self.resting):
            if self._freedom(i) > HELD * self.diag[i]:
                return [i]
        return []

    def _freedom(self, i: int) -> float:
        """The squared pivot of coordinate i against the other active ones; 0 where they hold it."""
        if i not in self.factor:
            return self.factor.pivot(self._active_row(i), float(self.diag[i]))
        # On a slanted piece it is in the factor itself, with 1/c on its diagonal.
        unit = (self.factor.index == i).astype(float)
        own = float(unit @ self.factor.solve(unit))
        return 1.0 / own - 1.0 / float(self.route.lines.curvature[i, self.piece[i] // 2])

    def _rounding_decides(self, i: int, way: int) -> bool:
        """Whether coordinate i has gone to and fro at this point: then its speed is rounding.

        In exact arithmetic a coordinate that moves off its flat piece moves into its knot.  One
        that goes back sits on a column so nearly dependent that its speed has no digit left.  It
        is excused for the coming step, which is kept so short that it cannot drift noticeably.
        """
        self._crossed[i] = self._crossed.get(i, 0) + 1
        if self._crossed[i] <= TO_AND_FRO or self.piece[i] % 2 == 1:
            return False
        if self._offence > 1e3 * self._still()[0]:
            return False
        self._unfence(i)
        self._excused[i] = self._offence
        return True

    def _resolve(self, tied: Index) -> bool:
        """Find the pieces of many tied coordinates at once.

        The one-sided derivatives (u', alpha') solve a problem of the very kind this class solves:
        a coordinate off its corners has ``alpha' = slope'`` (flat) or ``u' = corner'`` (steep),
        and a tied one lies on a polyline with one corner, its two arms those pieces it may go to.
        So a second follower settles it, from the present rates as a guess.  Returns False where
        that problem has no solution: then alpha or b must first move by a finite amount.
        """
        self.widen()
        r, sign, n = self.route, self.sign, self.u.size
        bends = r.lines.curvature
        rows, j = np.arange(n), self.piece // 2
        steep = self.piece % 2 == 1
        slope = np.where(steep[:, None], [np.inf, -np.inf], 0.0)
        curvature = np.zeros((n, 2))
        flat = rows[~steep]
        slope[flat] = sign * self.slope_rate(flat, j[flat])[:, None]
        curvature[flat] = bends[flat, j[flat]][:, None]
        corner = np.full(n, np.inf)
        corner[steep] = sign * self.corner_rate(rows[steep], j[steep])
        kind = np.where(steep, KNOT, SEAM).astype(np.int8)
        piece = np.where(steep, 1, 0)
        at = np.where(steep, j, -1)
        for i in tied.tolist():
            c = self._corner_of(i)
            if c is None:
                continue
            arms = self._arms(i, c)
            at[i], corner[i] = c, sign * self.corner_rate(i, c)
            kind[i] = SEAM if r.kind[i, c] == SEAM else KNOT
            for arm, open_to in ((0, np.inf), (1, -np.inf)):
                s = c + arm
                slope[i, arm] = sign * self.slope_rate(i, s) if arms[arm] else open_to
                curvature[i, arm] = bends[i, s] if arms[arm] else 0.0
            piece[i] = 1 if steep[i] else 2 * (int(j[i]) - c)
        inner = type(self)(self.gram, self.border)
        inner._nested = True
        inner.piece[:] = piece
        inner.alpha[:] = np.where(piece % 2 == 0, slope[rows, piece // 2], 0.0)
        if self._dalpha.size == self.factor.size:
            inner.alpha[self.factor.index] = sign * self._dalpha
            inner.b[:] = sign * (self._db + self.rho * r.target1)
        snap = Snapshot(slope, corner[:, None], curvature, kind[:, None])
        on_knot = np.flatnonzero(piece == 1)
        top, bottom = (snap.slope_at(on_knot, arm, corner[on_knot]) for arm in (0, 1))
        inner.alpha[on_knot] = np.clip(inner.alpha[on_knot], bottom, top)
        try:
            inner.settle(snap, sign * r.target1, least=0.0)
        except TraceError:
            return False
        for i in np.flatnonzero(inner.piece != piece).tolist():
            c, p = int(at[i]), int(inner.piece[i])
            side = 0
            if p == 1:
                side = (-1 if j[i] == c else 1) if r.kind[i, c] == JUMP else 0
                self.alpha[i] = self.slope_value(i, int(j[i]))
            self._place(i, 2 * c + p, side)
            if p != 1:
                self.alpha[i] = self.slope_value(i, c + p // 2)
        self.factor = inner.factor
        self._solved = self._rated = False
        return True

    def _corner_of(self, i: int) -> int | None:
        """The corner on which tied coordinate i stands and which it may turn at; None at a wall."""
        j = int(self.piece[i]) // 2
        if self.piece[i] % 2 == 1:
            return j
        low, high = self._fences(i)
        gaps = abs(high - self.u[i]), abs(self.u[i] - low)
        c = j if gaps[0] <= gaps[1] else j - 1
        if min(gaps) > self.near_u or (self.route.kind[i, c] == JUMP and not self.route.pin):
            return None
        return c

    def _arms(self, i: int, c: int) -> tuple[bool, bool]:
        """Whether coordinate i, standing on corner c, may turn to the slopes left and right."""
        if self.route.kind[i, c] == SEAM:
            return True, True
        p = int(self.piece[i])
        if self.route.kind[i, c] == JUMP:
            left = bool(self.side[i] < 0) if p % 2 == 1 else p // 2 == c
            if p % 2 == 1:
                # Pressed against its wall, alpha beyond the slope, it can turn to neither.
                off = abs(float(self.alpha[i]) - self.slope_value(i, c if left else c + 1))
                if off > self.near_a:
                    return False, False
            return left, not left
        u, bends = self.corner(i, c), self.route.lines.curvature
        top, bottom = (
            self.slope(i, s) - (bends[i, s] * u if bends[i, s] > 0.0 else 0.0) for s in (c, c + 1)
        )
        alpha = self.alpha[i] if p % 2 == 1 else self.slope_value(i, p // 2)
        left = top - alpha <= self.near_a or p == 2 * c
        right = alpha - bottom <= self.near_a or p == 2 * c + 2
        return bool(left), bool(right)

    def _retie(self, before: Index) -> Index:
        flat, steep = self._tied()
        self.moved_here = False
        return np.union1d(before, np.union1d(flat, steep))

    def _first_offender(
        self, tied: Index, speeds: Array
    ) -> tuple[tuple[int, int] | None, list[int]]:
        """The first tied coordinate that moves off its piece, with the way it goes (+1: towards
        larger u or larger alpha); or, where there is none, those that press on a wall."""
        sign = self.sign
        still_u, still_a = self._still()
        steep = self.piece[tied] % 2 == 1
        way = np.zeros(tied.size, dtype=np.int64)
        a = tied[steep]
        if a.size:
            low, high = self._end_of_knot(a)
            low_rate, high_rate = self._end_rates(a)
            rate = self._dalpha[[self.factor.position(i) for i in a.tolist()]]
            alpha, near = self.alpha[a], self.near_a
            falls = (alpha - low <= near) & (sign * (low_rate - rate) > still_a)
            rises = (high - alpha <= near) & (sign * (rate - high_rate) > still_a)
            way[steep] = np.where(rises, 1, np.where(falls, -1, 0))
        f, speed = tied[~steep], speeds[~steep]
        low, high = self._fences(f)
        low_rate, high_rate = self._fence_rates(f)
        u, near = self.u[f], self.near_u
        over = (high - u <= near) & (sign * (speed - high_rate) > still_u)
        under = (u - low <= near) & (sign * (low_rate - speed) > still_u)
        turn = np.where(over, 1, np.where(under, -1, 0))
        wall = np.zeros(f.size, dtype=bool)
        if not self.route.pin:
            corner = np.clip(self.piece[f] // 2 - (turn < 0), 0, self.route.kind.shape[1] - 1)
            wall = (turn != 0) & (self.route.kind[f, corner] == JUMP)
        way[~steep] = np.where(wall, 0, turn)
        offenders = np.flatnonzero(way)
        if offenders.size:
            k = int(offenders[0])
            i = int(tied[k])
            if not steep[k]:
                q = int(np.count_nonzero(~steep[:k]))
                self._offence = abs(float(speed[q] - (high_rate if way[k] > 0 else low_rate)[q]))
            return (i, int(way[k])), []
        for i, c in zip(f[wall].tolist(), corner[wall].tolist() if wall.any() else [], strict=True):
            self.wall[i] = c
        return None, f[wall].tolist()

    def _cross(self, i: int, way: int) -> None:
        """Coordinate i passes on to the neighbouring piece."""
        p = int(self.piece[i])
        j = p // 2
        if p % 2 == 1:
            self.leave(i, j if way > 0 else j + 1)
            return
        corner, beyond = (j, j + 1) if way > 0 else (j - 1, j - 1)
        kind = self.route.kind[i, corner]
        if kind == SEAM:
            self.leave(i, beyond)
        elif kind == JUMP:
            self.enter(i, corner, j, side=-1 if way > 0 else 1)
        else:
            self.enter(i, corner, j)

    def _slide(self, direction: Array) -> Index:
        """b slides along `direction` (no change in alpha) until a coordinate meets a corner."""
        self.widen()
        du = self.border @ direction
        low, high = self._fences(self._every)
        free = self.piece % 2 == 0
        floor = 1e-12 * float(np.abs(du).max())
        with np.errstate(divide="ignore", invalid="ignore"):
            up = np.where(free & (du > floor), np.maximum(high - self.u, 0.0) / du, np.inf)
            down = np.where(free & (du < -floor), np.maximum(self.u - low, 0.0) / -du, np.inf)
        room = np.minimum(up, down)
        step = float(room.min())
        if not np.isfinite(step):
            raise TraceError(
                f"no optimum exists beyond tau={self.tau:.17g}: the border equations cannot be "
                "balanced (B^T alpha = e has no solution within the slopes)"
            )
        reached = np.flatnonzero(np.isfinite(room))
        weight = np.abs(du[reached])
        tied = reached[room[reached] * weight <= step * weight + self.near_u]
        i = int(tied[np.argmax(np.abs(du[tied]))])
        if self.pivots_here > self.patience:
            i = int(tied.min())
        self.pivots_here += 1
        if self.pivots_here > 10 * self.patience:
            raise TraceError(f"the border could not be balanced at tau={self.tau:.17g}")
        self.b += step * direction
        self.u += step * du
        self._offence = np.inf
        way = 1 if du[i] > 0 else -1
        corner = int(self.piece[i]) // 2 - (0 if way > 0 else 1)
        if self.route.kind[i, corner] == JUMP and not self.route.pin:
            self.wall[i] = corner
            return np.array([i])
        self._cross(i, way)
        return NONE
