"""The tracker: the owner of everything that moves, and what is done between compiled runs.

Three routes exist, and compiled code cannot tell them apart (see `homotopy.tracker.state`):

* *along*: the model's own polylines, tau = t (the C-step);
* *across*: t is fixed, the branch of each flipped coordinate comes down (or up) from where the
  coordinate stands, tau = mu from 1 to 0 (the D-step);
* *settling*: t is fixed, each polyline is shifted sideways so that a guess is exactly optimal at
  mu = 1, tau = mu from 1 to 0 (any start, warm or cold, and every repair).

alpha_A and u are integrated, never recomputed from the partition: in a nearly singular active
system recomputing would throw alpha about within its bounds.  `Tracker.refresh` measures the
residual; a residual that grew is solved for or removed by settling, which respects every bound.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import scipy.linalg

from homotopy.errors import ModelError, TraceError
from homotopy.model.polyline import JUMP, SEAM, Snapshot
from homotopy.tracker import state
from homotopy.tracker.crossing import run
from homotopy.tracker.memory import Memory
from homotopy.tracker.outcomes import (
    Arrived,
    Failed,
    Failure,
    Kind,
    OnRidge,
    Outcome,
    Paused,
    Wants,
)
from homotopy.tracker.sizes import corner_sizes
from homotopy.tracker.tables import fill, loss_terms, scales
from homotopy.tracker.tolerances import ARRIVAL, EPS

__all__ = ["Tracker"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]

# Compiled code yields (to Ctrl-C, limits, callbacks) every BURST steps or WHILE seconds.
BURST = 512
WHILE = 0.05
# Steps that work at one t may take, and those besides for each coordinate (a jump takes about one
# for each that changes piece, a start from anywhere many more); recomputations of u likewise.
STEPS, STEPS_EACH, STEPS_TO_START, REPAIRS = 1000, 20, 200, 10
# Times in a row that the point is solved for what it is off by; each must halve that.
CORRECTIONS = 4
# A response stands on a jump corner within this fraction of its size.
STANDING = 1e-11
# A fraction of the span below which a path has not moved on.
STANDSTILL = 1e-13
FAILURES = {
    state.UNBOUNDED: (
        Kind.NO_OPTIMUM,
        "no optimum exists {where}: coordinate {want} must move and nothing bounds it "
        "(the problem is infeasible or unbounded there)",
    ),
    state.UNBALANCED: (
        Kind.NO_OPTIMUM,
        "no optimum exists {where}: the border equations cannot be balanced "
        "(B^T alpha = e has no solution within the slopes)",
    ),
    state.STUCK: (
        Kind.STUCK,
        "the way on {where} could not be resolved among {tied} tied coordinates",
    ),
}
OUTCOMES: dict[int, Outcome] = {
    state.ARRIVED: Arrived(),
    state.PAUSE: Paused(),
    state.ASK: Wants.FLIPS,
    state.SOLVE: Wants.CROSSING,
}
INF, TINY = np.inf, 1e-300
# Roundings of alpha by which w may differ from what alpha makes it.
ROUNDINGS = 8.0
# Once the alphas have fallen by this factor, u is recomputed after this many steps.
FALLEN, OFTEN = 10.0, 20
# An alpha that ran away is told by what it leaves, not by a warning.
QUIET = np.errstate(over="ignore", invalid="ignore")


class Tracker(Memory):
    """Takes a point along routes; see `Memory` for what it holds."""

    # ------------------------------------------------------------------ polylines

    def load_model(self, start: float, stop: float) -> None:
        """Take up the model's polylines between two t of the span, with scales and losses."""
        problem = self.problem
        self.fill_model(problem.kinds_within(start, stop))
        self.set_scales((start, stop))
        self.model_lines = self.model_lines._replace(terms=loss_terms(problem, start, stop))
        self.route.first, self.route.last = start, stop
        self.column.aim[:], self.column.moves[:] = problem.target0, problem.target1
        self.use(self.model_lines)

    def set_scales(self, ends: tuple[float, ...]) -> None:
        """The scales of u and alpha of each coordinate (see `tolerances`)."""
        sizes = self.sizes
        if ends == self._scaled:
            return
        self._scaled = ends
        base, height = scales(self.problem, ends)
        self.here.spot.slope[:] = height
        for name, values in (("size_scale", base), ("height", height)):
            real = values[values > 0.0]
            setattr(self.sizes, name, float(np.median(real)) if real.size else 0.0)
        if sizes.size_scale == 0.0:
            # With every corner at 0 the scale is what alpha can do to u.
            heaviest = float(self.gram.sizes.max())
            possible = max(float(np.abs(self.u).max()), heaviest * sizes.height)
            sizes.size_scale = possible or 1.0
        self._measure(sizes.length**2)
        if sizes.height == 0.0:
            sizes.height = sizes.size_scale / (self.fixed.largest_root**2 or 1.0)

    def use(self, lines: state.Lines) -> None:
        """Let `lines` be the polylines: fences, and sums over the flat coordinates."""
        self.lines = lines
        fence, j, flat = self.here.fence, self.piece // 2, self.piece % 2 == 0
        corner, k = lines.corner, lines.corner.shape[1]
        for low, at, rate, there, beside in (
            (True, "low", "low_rate", flat & (j > 0), np.maximum(j - 1, 0)),
            (False, "high", "high_rate", flat & (j < k), np.minimum(j, k - 1)),
        ):
            none = -INF if low else INF
            place = np.where(there, corner.at[self._every, beside], none)
            # A corner at the wrong infinity cuts off nothing.
            place[place == -none] = none
            fence[at][:] = place
            fence[rate][:] = np.where(np.isfinite(place), corner.rate[self._every, beside], 0.0)
        idle = np.flatnonzero(self.here.spot.idle)
        at = corner[idle, j[idle]]
        fence.low[idle] = fence.high[idle] = at.at
        fence.low_rate[idle] = fence.high_rate[idle] = at.rate
        slanted = flat & (lines.slope.bend[self._every, j] > 0.0)
        self.here.spot.bend[:] = np.where(slanted, lines.slope.bend[self._every, j], 0.0)
        self.here.spot.excused[:] = 0
        self.event.excused = 0
        self._sum_terms()

    def _sum_terms(self) -> None:
        jumping = self.jumping
        terms, j = self.lines.terms, self.piece // 2
        if terms.shape[0]:
            flat = (self.piece % 2 == 0) & (self.lines.slope.bend[self._every, j] == 0.0)
            sums = terms[self._every[flat], j[flat]].sum(axis=0)
            jumping.sum0, jumping.sum1, jumping.sum2 = sums.tolist()

    def reset_pull(self) -> None:
        """The pull of the moving slopes anew: what has come and gone leaves rounding behind."""
        system = self.system
        spot, j = self.here.spot, self.piece // 2
        lines, lift = self.model_lines, self.lift
        flat = (self.piece % 2 == 0) & (lines.slope.bend[self._every, j] == 0.0)
        for name, rate in (
            ("along", np.where(flat, lines.slope.rate[self._every, j], 0.0)),
            ("across", np.where(flat, lift, 0.0)),
        ):
            moving = np.flatnonzero(rate)
            pull = getattr(self.mov, name)
            if self._phi is None:
                pull[:] = self.gram.combine(moving, rate[moving])
                square = float(rate[moving] @ pull[moving])
            else:
                pull[:] = 0.0
                pull[: self._phi.shape[1]] = self._phi[moving].T @ rate[moving]
                square = float(pull @ pull)
            mass = float(np.abs(rate[moving]) @ self.here.fence.root[moving])
            setattr(self.system, f"square_{name}", square)
            setattr(self.system, f"mass_{name}", mass)
            self.column[name][:] = self.border[moving].T @ rate[moving]
            if name == "along":
                spot.carried[:], system.carrying = rate, mass
        spot.touched[:] = 0
        self.event.touched = system.solved = system.rated = system.ready = 0

    def head_along(self, t: float, *, pin: bool = False) -> None:
        """Stand at t with the rest of the path ahead."""
        route = self.route
        route.along, route.dt, route.dmu, route.mu, route.pin = (
            1,
            1.0,
            0.0,
            0.0,
            pin,
        )
        route.t = route.tau = t
        route.start, route.stop = route.first, route.last
        route.sign = 1.0 if route.last > route.first else -1.0
        self.column.target_rate[:] = self.column.moves
        self.reset_pull()

    # ------------------------------------------------------------------ compiled runs

    @property
    def in_jump(self) -> bool:
        """Whether the route is at a jump or on its way across one."""
        return bool(self.jumping.in_jump != state.ON_WAY)

    def advance(self, listen: Callable[[], bool]) -> Outcome:
        """Go on until the route ends, `listen` wants a look or something is in the way."""
        try:
            code = self.run(listen)
        except Failure as error:
            return Failed(
                error, crossing=self.jumping.in_jump not in (state.ON_WAY, state.FACTORING)
            )
        if code == state.INDEFINITE:
            return OnRidge(int(self.event.want), -1.0 if self.event.way > 0 else 1.0)
        return OUTCOMES[code]

    def run(self, listen: Callable[[], bool] | None = None) -> int:
        """Let compiled code go on until the route ends, or ASK or SOLVE; whatever else it wants is
        seen to.  `listen` is called at every pause; True stops."""
        event = self.event
        burst = BURST
        while True:
            self.cursor.stop_steps = self.cursor.steps + burst
            begun = time.perf_counter()
            code = self._call()
            if code in (state.ARRIVED, state.ASK, state.SOLVE):
                return code
            if self.pulse is not None:
                self.pulse()
            if code in (state.PAUSE, state.REPAIR):
                self._check_progress()
            if code == state.PAUSE:
                if listen is not None and listen():
                    return code
                took = time.perf_counter() - begun
                burst = max(1, burst // 2) if took > WHILE else min(BURST, 2 * burst)
            elif code == state.REPAIR:
                self._maintain()
            elif code == state.MISSING:
                missing = np.array([event.want])
                self.gram.fetch(missing, self._held())
                if self.gram.rows()[1][missing[0]] < 0:  # type: ignore[index]
                    raise TraceError(f"gram.fetch did not bring row {missing[0]} of Q")
            elif code == state.FULL:
                self._reserve(2 * self._capacity + int(self.jumping.flips + self.system.idles))
            elif code == state.RECORD_FULL:
                self._more_record()
            elif code == state.PANEL_FULL:
                room = min(self.gram.size, 2 * int(self.scope.looked))
                self.win = self.win._replace(
                    packed=np.zeros((self.width, room)),
                )
            elif code == state.INDEFINITE:
                if not self.gram.semidefinite and self._started and not self.route.settling:
                    return code
                self._refuse_indefinite()
            else:
                if code == state.UNBOUNDED and np.all(np.isfinite(self.model_lines.slope.at)):
                    # Every alpha is bounded: that something has to move without end is rounding.
                    code = state.STUCK
                kind, message = FAILURES[code]
                about = {
                    "where": self._where(),
                    "want": int(event.want),
                    "tied": int(event.tied),
                }
                raise Failure(message.format(**about), kind)

    def _call(self) -> int:
        """Compiled code, from where it stands to where it wants something."""
        moving = self.here, self.act, self.mov, self.win, self.rec, self._scalars, self.base
        return int(run(self._stored(), self.lines, *moving, self._tol, self._opt))

    def _where(self) -> str:
        """The present place in the user's words."""
        route = self.route
        t = self._settling_at if route.settling else float(route.t)
        word = "beyond" if route.along else "at"
        return f"{word} {self.problem.model.parameter}={t:.17g}"

    def _held(self) -> Index:
        """Rows that must stay: the active, those about to flip, those a window goes back to."""
        scope = self.scope
        held = [
            self.active,
            self.mov.flips[: self.jumping.flips] // 2,
            self.mov.flips[: self.jumping.flips],
        ]
        if scope.window == state.BY_TURN:
            held += [
                self.win.index_seen[: scope.size_seen],
                self.here.near[: scope.looked_seen],
            ]
        index = np.concatenate(held)
        return np.asarray(index[index < self.gram.size])

    def _stored(self) -> state.Form:
        """The quadratic form, with the rows of Q that are there."""
        stored = self.gram.rows()
        if self._phi is not None or stored is None:
            return self._form
        if np.any(stored[1][self.active] < 0):
            self.gram.fetch(self.active, self._held())
            stored = self.gram.rows()
            assert stored is not None
        if not stored[0].flags.writeable:
            if self._form.store.size == 0:
                self._form = self._form._replace(store=stored[0].copy(), slot=stored[1])
            return self._form
        return self._form._replace(store=stored[0], slot=stored[1])

    def _refuse_indefinite(self) -> None:
        index = np.append(self.active, self.event.want)
        values = np.linalg.eigvalsh(self.gram.block(index, index))
        if self.gram.semidefinite and values[0] < -1e-8 * max(
            values[-1], float(self.gram.diag.max())
        ):
            raise ModelError(
                f"gram is not positive semidefinite: a block of {index.size} coordinates has "
                f"eigenvalues from {values[0]:.3g} to {values[-1]:.3g}; a quadratic form must have "
                "no negative eigenvalue (for a precomputed or sigmoid kernel, clip its spectrum)"
            )
        raise Failure("the active columns cannot be made independent")

    # ------------------------------------------------------------------ exactness

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
            known = ROUNDINGS * EPS * np.asarray(abs(phi).T @ np.abs(self.alpha))
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

    def _ends(self, steep: Index) -> tuple[Array, Array]:
        """The ends of the knots on which the coordinates `steep` stand."""
        snap, j = self.snapshot(), self.piece[steep] // 2
        corner = snap.corner[steep, j]
        high = np.asarray(snap.slope_at(steep, j, corner))
        low = np.asarray(snap.slope_at(steep, j + 1, corner))
        high = np.where(self.side[steep] == 1, INF, high)
        return np.where(self.side[steep] == -1, -INF, low), high

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

    def _phase(self, phase: int) -> None:
        """Let compiled code do one thing where the route stands."""
        jumping = self.jumping
        kept, jumping.in_jump = jumping.in_jump, phase
        self.run()
        jumping.in_jump = kept

    def rests(self) -> bool:
        """Whether a free coordinate stands on a jump corner, where none can stay for long."""
        corner = self.model_lines.corner
        if not np.any(corner.kind == JUMP):
            return False
        away = np.abs(corner.at + corner.rate * self.route.t - self.u[:, None])
        near = STANDING * np.maximum(np.abs(self.u), self.here.fence.scale)[:, None]
        return bool(np.any((corner.kind == JUMP) & (away <= near)))

    def _maintain(self) -> None:
        """Recompute u; where the point is off, make it exact again on the spot."""
        system = self.system
        self.cursor.due = self.cursor.steps + self._interval()
        if system.mass_along > system.carrying or system.mass_across > 0.0:
            self.reset_pull()
        if self.correct():
            return
        self.settle_here()
        self.refresh()
        self.doubt = max(self.doubt, self.off)

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
        for _ in range(CORRECTIONS):
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
        to the end of the span, active ones to within `ARRIVAL` of it."""
        column = self.column
        ahead = ARRIVAL * max(abs(self.route.first), abs(self.route.last))
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

    def settle_here(self) -> None:
        """Make the point exact where the route stands, and take the route up again."""
        route = self.route
        kept, lift = self._scalars.route.copy(), self.lift.copy()
        phase, recording = self.jumping.in_jump, self.cursor.recording
        snap, target = self.snapshot(), self.problem.target(route.t)
        self.lift[:] = 0.0
        self.settle(float(route.t), snap, target)
        self._scalars.route[:], self.lift[:] = kept, lift
        self.jumping.in_jump, self.cursor.recording = phase, recording
        self.use(self.model_lines)
        self.column.target_rate[:] = self.column.moves if route.along else 0.0
        self.reset_pull()
        self.repairs += 1
        pinned = np.flatnonzero(self.side)
        if not route.pin and pinned.size:
            self.press(pinned)

    def press(self, pinned: Index) -> None:
        """A jump begins with these coordinates, pinned to its corner."""
        noted = 2 * pinned + (self.side[pinned] < 0)
        self.here.tied[self.here.tied.size - pinned.size :] = noted
        self.event.walls, self.jumping.in_jump = pinned.size, state.BEGINNING

    def _interval(self) -> int:
        """Steps between two recomputations of u: one of them costs as much as that of ten."""
        sizes = self.sizes
        if sizes.most_mass > FALLEN * sizes.mass:
            # Rounding of alphas that were much larger counts by now: it is taken back while small.
            sizes.most_mass = sizes.mass
            return OFTEN
        moved = np.count_nonzero(self.alpha) / max(self.system.actives, 1)
        least = self.tolerances.refresh
        # On small problems it costs next to nothing.
        most = int(least * np.clip(self.u.size / 250.0, 1.0, 8.0))
        if self._phi is not None:
            # Windows by place recompute w and u whenever they end.
            most = max(most, self.u.size // 8)
        return int(np.clip(10.0 * moved, least, most))

    # ------------------------------------------------------------------ guesses

    def assign(self, snap: Snapshot, first: Index, last: Index) -> None:
        """Give every coordinate the piece nearest to (u, alpha), and that piece's alpha, among
        the slopes ``first .. last`` of its convex branch, their knots and their walls."""
        n, k = snap.corner.shape
        best, inf = np.full(n, INF), np.full(n, INF)
        piece, side, value = np.zeros(n, np.int64), np.zeros(n, np.int64), self.alpha.copy()
        u_scale, a_scale = (
            self._sizes(),
            np.where(self.here.spot.height > 0.0, self.here.spot.height, self.sizes.height),
        )
        for p in range(2 * k + 1):
            j = p // 2
            if p % 2 == 0:
                low = snap.corner[:, j - 1] if j else -inf
                high = snap.corner[:, j] if j < k else inf
                u = np.clip(self.u, low, high)
                a = np.asarray(snap.slope_at(self._every, j, u))
                allowed = (j >= first) & (j <= last) & np.isfinite(a)
                where, bias = np.zeros(n, np.int64), 0.0
            else:
                where, u, a, allowed = self._knot(snap, j, first, last)
                # Where a slope does as well the slope wins: it costs nothing to stand on.
                bias = 1e-9
            with np.errstate(invalid="ignore"):
                distance = np.abs(self.u - u) / u_scale + np.abs(self.alpha - a) / a_scale
            better = allowed & (distance + bias < best)
            best[better], piece[better] = distance[better] + bias, p
            side[better], value[better] = where[better], a[better]
        self.piece[:], self.side[:], self.alpha[:] = piece, side, value

    def _knot(
        self, snap: Snapshot, j: int, first: Index, last: Index
    ) -> tuple[Index, Array, Array, npt.NDArray[np.bool_]]:
        """Corner j as a piece to stand on: its side, u and alpha there, and for whom it is one."""
        corner = snap.corner[:, j]
        finite = np.where(np.isfinite(corner), corner, 0.0)
        high = np.asarray(snap.slope_at(self._every, j, finite))
        low = np.asarray(snap.slope_at(self._every, j + 1, finite))
        jump = snap.kind[:, j] == JUMP
        where = np.where(jump, np.where(last == j, -1, 1), 0)
        low, high = np.where(where == -1, -INF, low), np.where(where == 1, INF, high)
        allowed = (j >= first - 1) & (j <= last) & np.isfinite(corner) & (snap.kind[:, j] != SEAM)
        allowed &= np.where(jump, (last == j) | (first == j + 1), (j >= first) & (j < last))
        return where, finite, np.clip(self.alpha, np.minimum(low, high), high), allowed

    def settle(self, t: float, snap: Snapshot, target: Array) -> None:
        """Make the present guess (pieces, alpha, b) exact for the polylines `snap`, those at t.

        Every coordinate keeps to its convex branch; one that would cross a jump ends pinned.
        Active coordinates that depend on others are given up first.
        """
        route, system, cursor = self.route, self.system, self.cursor
        still = np.zeros_like(snap.slope), np.zeros_like(snap.corner)
        fill(
            self._settle_lines,
            (snap.slope, still[0]),
            (snap.corner, still[1]),
            snap.curvature,
            snap.kind,
        )
        route.along, route.dt, route.dmu, route.pin, cursor.recording = (
            0,
            0.0,
            1.0,
            1,
            0,
        )
        self.sizes.most_norm = self.sizes.most_mass = 0.0
        # Polylines that stand still are read at t = 0.
        kept_t, route.t, self._settling_at = route.t, 0.0, t
        route.mu = route.tau = 0.0
        route.start, route.stop, route.sign = 1.0, 0.0, -1.0
        self.lift[:] = 0.0
        self.shift[:] = 0.0
        self.use(self._settle_lines)
        self.rebuild(self.tolerances.well if self.gram.semidefinite else 0.0)
        self._shift_into_place(snap)
        # Large alphas may cancel to the last digit and leave the balance to tiny ones.
        terms = np.vstack([self.border * self.alpha[:, None], -target])
        self.column.target_rate[:] = [math.fsum(column) for column in terms.T]
        route.mu = route.tau = 1.0
        self.mov.across[:] = 0.0
        self.column.across[:] = 0.0
        system.mass_across = system.square_across = 0.0
        system.solved = system.rated = system.ready = 0
        route.settling, self.jumping.in_jump = 1, state.ON_WAY
        cursor.due, anchor = np.iinfo(np.int64).max, self._anchor
        self.forget_effort()
        try:
            self.run()
            self.refresh()
        finally:
            route.settling, cursor.due, route.t = 0, 0, kept_t
            self.shift[:] = 0.0
            self._anchor = anchor

    def _check_progress(self) -> None:
        """Work at one t is bounded: the path must move on, a jump or a repair come to its end."""
        route = self.route
        (t, steps, repairs) = self._anchor
        if not abs(route.t - t) <= STANDSTILL * abs(route.last - route.first):
            self.forget_effort()
            return
        most = STEPS + (STEPS_EACH if self._started else STEPS_TO_START) * self.u.size
        if self.cursor.steps - steps > most or self.repairs - repairs > REPAIRS:
            raise Failure(
                f"{self.cursor.steps - steps} steps and {self.repairs - repairs} repairs "
                f"{self._where()} led nowhere"
            )

    def forget_effort(self) -> None:
        """Whatever is tried from here on has time of its own."""
        self._anchor = (float(self.route.t), int(self.cursor.steps), self.repairs)

    def _shift_into_place(self, snap: Snapshot) -> None:
        """Shift every polyline sideways so that the guess is optimal; alpha of slanted pieces is
        moved into its piece first."""
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
        self.u[bent] += self.here.spot.miss[bent]
        self.here.spot.miss[:] = 0.0
        # Spread the gaps (golden-ratio sequence) so that the shifted start has no needless ties;
        # a gap must leave room for u within its piece.
        spread = np.modf(0.6180339887498949 * (rows + 1.0))[0]
        under, over = low - self.u, self.u - high
        with np.errstate(invalid="ignore"):
            room = 0.5 * (high - low)
        shift = np.where(under > 0.0, -under - np.minimum(under, room) * spread, 0.0)
        shift = np.where(over > 0.0, over + np.minimum(over, room) * spread, shift)
        tied = ~flat
        tied[bent] = True
        shift[tied] = self.u[tied] - place[tied]
        self.shift[:] = shift

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
        weak = np.flatnonzero(~(np.diagonal(rows)[:count] ** 2 > 1e-4 * diag))
        count = int(weak[0]) if weak.size else count
        if count + 16 > self._capacity:
            self._reserve(max(2 * self._capacity, count + 16))
        self.act.factor[:count, :count] = rows[:count, :count]
        self.act.index[:count] = index[:count]
        self.here.spot.place[index[:count]] = np.arange(count)
        self.system.actives = self.system.admitted = count

    # ------------------------------------------------------------------ beginnings

    def place(self, alpha: Array, b: Array) -> None:
        """Stand at a guess."""
        self.alpha[:], self.b = alpha, b
        product = self.gram.matvec(self.alpha)
        self.u[:] = product + self.border @ self.b
        self._measure(float(self.alpha @ product))

    def start_record(self) -> None:
        """The path begins here."""
        cursor = self.cursor
        cursor.recording = 1
        cursor.open = cursor.entries = cursor.segments = cursor.logged = cursor.jumps = (
            self.jumping.crossings
        ) = 0
        self.jumping.in_jump, cursor.due = state.ON_WAY, cursor.steps + self._interval()
        self._started = True

    def restore(self) -> None:
        """Go back to where the present jump began, those pressing on its corner about to flip."""
        route, jumping, cursor = self.route, self.jumping, self.cursor
        rec = self.rec
        for entry in reversed(rec.log[jumping.jump_log : cursor.logged].tolist()):
            i, piece, side, _ = entry
            self.piece[i], self.side[i] = piece, side
        cursor.logged = jumping.jump_log
        self.lift[:] = 0.0
        self.shift[:] = 0.0
        kept = self.mov.kept_index[: jumping.kept]
        self.alpha[kept], self.b = self.mov.kept_alpha[: jumping.kept], self.column.kept
        route.settling, cursor.recording = 0, 1
        self.forget_effort()
        self.use(self.model_lines)
        self.head_along(float(route.t))
        self.refresh()
        self.rebuild(0.0)
        cursor.recording, route.pin = 1, 0
        noted = np.sort(self.here.tied[self.here.tied.size - jumping.pressing :])
        self.mov.flips[: jumping.pressing] = noted
        jumping.flips, jumping.rounds, jumping.in_jump = (
            jumping.pressing,
            0,
            state.FLIPPING,
        )
        jumping.asked = 0

    def end_crossing(self, t: float) -> None:
        """After settling at t: as if a D-step had just come to the end of a round."""
        route, cursor = self.route, self.cursor
        self.use(self.model_lines)
        route.along, route.dt, route.dmu, route.pin, cursor.recording = (
            0,
            0.0,
            1.0,
            1,
            1,
        )
        (
            route.t,
            route.mu,
            route.tau,
            route.start,
            route.stop,
            route.sign,
        ) = t, 0.0, 0.0, 1.0, 0.0, -1.0
        self.column.target_rate[:] = 0.0
        self.reset_pull()
        self.refresh()
        cursor.due = cursor.steps + self._interval()
        self.jumping.in_jump = state.ROUND_DONE
