"""Independent answers: nothing here imports the engine or a plugin.

Kernels, losses, conditional problems and optimality conditions are written anew from the
formulas, and solved by DAQP or by enumeration.  The conditional problem is solved in the *primal*
(w, b and slacks), where the engine works in alpha.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import attrs
import daqp
import numpy as np
import numpy.typing as npt
from scipy.optimize import linprog

Array = npt.NDArray[np.float64]
Sides = npt.NDArray[np.int64]

INF = np.inf
BIG = 1e30  # what DAQP takes for infinity


def kernel_matrix(
    X: Array, Z: Array, kernel: str, gamma: float = 1.0, degree: int = 3, coef0: float = 0.0
) -> Array:
    """K(x, z) of all pairs, by the definition."""
    X, Z = np.asarray(X, float), np.asarray(Z, float)
    dot = np.sum(X[:, None, :] * Z[None, :, :], axis=2)
    if kernel == "linear":
        return dot
    if kernel == "rbf":
        return np.exp(-gamma * np.sum((X[:, None, :] - Z[None, :, :]) ** 2, axis=2))
    if kernel == "poly":
        return (gamma * dot + coef0) ** degree
    raise ValueError(kernel)


def square_root(Q: Array) -> Array:
    """phi with ``phi phi^T = Q``, by eigenvalues."""
    values, vectors = np.linalg.eigh(Q)
    keep = values > 1e-14 * max(float(values.max()), 1e-300)
    return vectors[:, keep] * np.sqrt(values[keep])


@attrs.frozen
class Optimum:
    """w in the coordinates of phi, b, the response and the value of a convex problem."""

    w: Array
    b: Array
    u: Array
    value: float


class Infeasible(Exception):
    """No point satisfies the constraints."""


def solve_qp(H: Any, f: Any, A: Any, low: Any, high: Any) -> Array:
    """``min 1/2 x'Hx + f'x, low <= A x <= high`` by DAQP; equal bounds are equations."""
    low, high = np.asarray(low, float), np.asarray(high, float)
    if not np.any(H):
        return _solve_lp(f, np.asarray(A, float), low, high)
    x, _, flag, _ = daqp.solve(
        np.ascontiguousarray(H, float),
        np.ascontiguousarray(f, float),
        np.ascontiguousarray(A, float),
        np.clip(high, -BIG, BIG),
        np.clip(low, -BIG, BIG),
        np.where(low == high, 5, 0).astype(np.int32),
        primal_tol=1e-10,
        iter_limit=100_000,
    )
    if flag == -1:
        raise Infeasible
    if flag <= 0:
        raise RuntimeError(f"DAQP ended with flag {flag}")
    return np.asarray(x)


def _solve_lp(f: Any, A: Array, low: Array, high: Array) -> Array:
    """``min f'x`` by HiGHS: DAQP needs some curvature."""
    below, above = high < INF, low > -INF
    found = linprog(
        f,
        A_ub=np.vstack([A[below], -A[above]]),
        b_ub=np.concatenate([high[below], -low[above]]),
        bounds=(None, None),
    )
    if found.status == 2:
        raise Infeasible
    if found.status:
        raise RuntimeError(f"HiGHS: {found.message}")
    return np.asarray(found.x)


def solve_primal(
    phi: Array,
    border: Array,
    target: Array,
    planes: list[list[tuple[float, float]]],
    low: Array,
    high: Array,
) -> Optimum:
    """``min 1/2 |w|^2 + sum_i max_k (g_ik u_i + h_ik) + target'b`` with ``u = phi w + B b`` kept
    between `low` and `high`; ``planes[i]`` lists the pairs (g, h) of coordinate i.
    """
    n, r = phi.shape
    m = border.shape[1]
    size = r + m + n
    H = np.zeros((size, size))
    H[:r, :r] = np.eye(r)
    f = np.concatenate([np.zeros(r), target, np.ones(n)])
    responses = np.hstack([phi, border, np.zeros((n, n))])
    rows, lows, highs = [], [], []
    for i in range(n):
        if low[i] > -INF or high[i] < INF:
            rows.append(responses[i])
            lows.append(low[i])
            highs.append(high[i])
        for g, h in planes[i]:
            row = -g * responses[i]
            row[r + m + i] += 1.0
            rows.append(row)
            lows.append(h)
            highs.append(INF)
    x = solve_qp(H, f, np.array(rows), lows, highs)
    w, b = x[:r], x[r : r + m]
    u = phi @ w + border @ b
    losses = [max(g * u[i] + h for g, h in planes[i]) for i in range(n)]
    return Optimum(w, b, u, 0.5 * float(w @ w) + float(np.sum(losses)) + float(target @ b))


@attrs.frozen
class Ramp:
    """A hinge-ramp (``kind="hinge"``) or LAD-ramp (``"lad"``) problem on a kernel matrix.

    Sides, left to right in u: hinge 0 = outlier, 1 = inlier; LAD 0 = outlier below the target,
    1 = inlier, 2 = outlier above it.
    """

    kind: str
    K: Array
    y: Array
    cost: Array
    intercept: bool

    @property
    def n(self) -> int:
        return self.y.size

    @property
    def sign(self) -> Array:
        return self.y if self.kind == "hinge" else np.ones(self.n)

    @property
    def Q(self) -> Array:
        return self.K * np.outer(self.sign, self.sign)

    @property
    def border(self) -> Array:
        return self.sign[:, None] if self.intercept else np.zeros((self.n, 0))

    def response(self, alpha: Array, b: float) -> Array:
        return self.sign * (self.K @ (self.sign * alpha) + b)

    def losses(self, u: Array, theta: float, s: float) -> Array:
        if self.kind == "hinge":
            far = (1 - s) + theta * (s - u)
            return self.cost * np.where(u >= s, np.maximum(0, 1 - u), far)
        r = np.abs(self.y - u)
        return self.cost * np.where(r <= s, r, s + theta * (r - s))

    def objective(self, alpha: Array, b: float, theta: float, s: float) -> float:
        f = self.K @ (self.sign * alpha)
        norm = float((self.sign * alpha) @ f)
        return 0.5 * norm + float(self.losses(self.response(alpha, b), theta, s).sum())

    def walls(self, s: float) -> Array:
        """The jump corners of each coordinate, (n, 1) or (n, 2)."""
        if self.kind == "hinge":
            return np.full((self.n, 1), s)
        return np.stack([self.y - s, self.y + s], axis=1)

    def sides(self, u: Array, s: float) -> Sides:
        return np.sum(u[:, None] > self.walls(s), axis=1)

    def on_wall(self, u: Array, s: float, near: float) -> npt.NDArray[np.bool_]:
        return np.any(np.abs(u[:, None] - self.walls(s)) <= near, axis=1)

    def violation(self, alpha: Array, b: float, theta: float, s: float) -> float:
        """The worst distance from the optimality conditions, u and alpha relative to scale."""
        u = self.response(alpha, b)
        c = self.cost
        if self.kind == "hinge":
            flat = [(-INF, s, theta * c), (s, 1.0, c), (1.0, INF, 0 * c)]
            knot, bottom, top = np.ones(self.n), 0 * c, c
        else:
            y = self.y
            flat = [
                (-INF, y - s, theta * c),
                (y - s, y, c),
                (y, y + s, -c),
                (y + s, INF, -theta * c),
            ]
            knot, bottom, top = y, -c, c
        a_scale = max(float(c.max()), 1e-300)
        u_scale = np.maximum(np.median(np.abs(knot)) or 1.0, np.abs(u))
        off = np.maximum(
            np.abs(u - knot) / u_scale, np.abs(alpha - np.clip(alpha, bottom, top)) / a_scale
        )
        for low, high, value in flat:
            away = np.maximum(np.maximum(low - u, u - high), 0.0) / u_scale
            off = np.minimum(off, np.maximum(away, np.abs(alpha - value) / a_scale))
        worst = float(off.max())
        if self.intercept:
            scale = max(float(np.abs(alpha).sum()), a_scale)
            worst = max(worst, abs(float(self.sign @ alpha)) / scale)
        return worst

    def conditional(self, sides: Sides, theta: float, s: float) -> Optimum:
        """The optimum inside the polytope of a partition (walls included)."""
        planes, low, high = [], np.full(self.n, -INF), np.full(self.n, INF)
        for i, (side, c, y) in enumerate(zip(sides, self.cost, self.y, strict=True)):
            if self.kind == "hinge" and side == 0:
                high[i] = s
                planes.append([(-c * theta, c * ((1 - s) + theta * s))])
            elif self.kind == "hinge":
                low[i] = s
                planes.append([(-c, c), (0.0, 0.0)])
            elif side == 0:
                high[i] = y - s
                planes.append([(-c * theta, c * (s + theta * (y - s)))])
            elif side == 1:
                low[i], high[i] = y - s, y + s
                planes.append([(-c, c * y), (c, -c * y)])
            else:
                low[i] = y + s
                planes.append([(c * theta, c * (s - theta * (y + s)))])
        return self._solve(planes, low, high)

    def convex(self) -> Optimum:
        """The optimum of the plain loss (theta = 1, no ramp)."""
        if self.kind == "hinge":
            planes = [[(-c, c), (0.0, 0.0)] for c in self.cost]
        else:
            planes = [[(-c, c * y), (c, -c * y)] for c, y in zip(self.cost, self.y, strict=True)]
        return self._solve(planes, np.full(self.n, -INF), np.full(self.n, INF))

    def _solve(self, planes: Any, low: Array, high: Array) -> Optimum:
        target = np.zeros(self.border.shape[1])
        return solve_primal(square_root(self.Q), self.border, target, planes, low, high)

    def partitions(self) -> Iterator[Sides]:
        """Every assignment of sides: 2^n or 3^n."""
        count = 2 if self.kind == "hinge" else 3
        for sides in itertools.product(range(count), repeat=self.n):
            yield np.array(sides)

    def neighbours(self, u: Array, s: float, near: float) -> Iterator[Sides]:
        """The partitions whose closed polytope holds `u`."""
        walls = self.walls(s)
        choices = []
        for i in range(self.n):
            fixed = int(np.sum(u[i] > walls[i] + near))
            loose = int(np.sum(u[i] > walls[i] - near))
            choices.append(range(fixed, loose + 1))
        for sides in itertools.product(*choices):
            yield np.array(sides)


# ---------------------------------------------------------------------- any problem, any point

Long = npt.NDArray[np.longdouble]

# A point is right where it is this near to the conditions, on each coordinate's own scale, ...
OWN = 1e-8
# ... or solves exactly a problem whose numbers differ from the given ones by no more than this.
DATA = 1e-11
# What solving in double precision leaves of the largest terms met on the way.
SOLVED = 1e-14
# What the rounding of each alpha, known or interpolated, does to a sum of up to 80 terms.
ROUNDED = 1e-14


@attrs.frozen
class Polyline:
    """All polylines at one t: ``alpha = slope - bend * u`` between corners, which fall (knots) or
    rise (jumps).  The `terms` are the sizes of what ``const + rate * t`` sums up."""

    slope: Long
    corner: Long
    bend: Long
    jump: npt.NDArray[np.bool_]
    slope_terms: Long
    corner_terms: Long

    def height(self, j: int, u: Long) -> Long:
        bend = self.bend[:, j]
        return self.slope[:, j] - np.where(bend > 0, bend * np.where(bend > 0, u, 0), 0)

    def ends(self, j: int) -> tuple[Long, Long]:
        n, k = self.corner.shape
        low = self.corner[:, j - 1] if j else np.full(n, -INF, np.longdouble)
        return low, self.corner[:, j] if j < k else np.full(n, INF, np.longdouble)

    def losses(self, u: Long, origin: Long) -> Long:
        """Minus the integral from origin to u; walls cost nothing here."""
        total = np.zeros(u.size, np.longdouble)
        for j in range(self.slope.shape[1]):
            low, high = self.ends(j)
            a, z = np.clip(origin, low, high), np.clip(u, low, high)
            here = np.isfinite(self.slope[:, j]) & (a != z)
            a, z = np.where(here, a, 0), np.where(here, z, 0)
            flat = np.where(here, self.slope[:, j], 0)
            total -= flat * (z - a) - 0.5 * self.bend[:, j] * (z - a) * (z + a)
        return total


@attrs.frozen
class Statement:
    """``u = Q alpha + B b``, ``B' alpha = e(t)``, every (u_i, alpha_i) on polyline i.

    `size` bounds what the numbers behind Q_ij sum up: ``|dQ_ij| <= eps * size_ij`` where each of
    them changes by eps of itself.  With `features` Q is features features'.
    """

    Q: Long
    size: Long
    B: Long
    target: Any  # t -> (e, terms of e)
    polyline: Any  # t -> Polyline
    features: Long | None = None

    @property
    def centred(self) -> Long | None:
        """The features without what b can make up for: an offset in them changes b alone."""
        F = self.features
        if F is None or not self.B.size:
            return F
        B = np.asarray(self.B, float)
        return F - self.B @ np.linalg.lstsq(B, np.asarray(F, float), rcond=None)[0]


@attrs.frozen
class Point:
    """alpha and b at t, with everything worked out anew in extended precision."""

    t: float
    alpha: Long
    b: Long
    u: Long
    terms: Long  # of u: what its sum adds up
    spread: Long  # of u: the same by lengths |phi_i||phi_j|
    stored: Long  # what numbers of double precision leave of the sum, however they were found
    line: Polyline
    plain: Long | None = None  # u with the offset, times which B' alpha = 0 may be off by rounding

    @classmethod
    def of(cls, problem: Statement, t: float, alpha: Any, b: Any) -> Point:
        alpha, b = np.asarray(alpha, np.longdouble), np.asarray(b, np.longdouble)
        u = problem.Q @ alpha + problem.B @ b
        shift = np.abs(problem.B) @ np.abs(b)
        length = np.sqrt(np.diagonal(problem.size))
        terms = problem.size @ np.abs(alpha) + shift
        spread = length * (length @ np.abs(alpha)) + shift
        F, own, plain = problem.features, problem.centred, None
        stored = ROUNDED * terms
        if F is not None and own is not None:
            if not np.any(problem.target(t)[0]):
                # With B' alpha = 0 (which is asked for by itself) w needs no offset, whose square
                # would magnify what B' alpha is off by; but for rows that meet few of the others
                # the offset is what they do not have themselves.
                beside = np.abs(F) @ (np.abs(own).T @ np.abs(alpha))
                less = beside < np.abs(F) @ (np.abs(F).T @ np.abs(alpha))
                plain = u
                u = np.where(less, F @ (own.T @ alpha) + problem.B @ b, u)
            shift = shift + np.abs(F) @ np.abs(F.T @ alpha)
            terms = np.minimum(terms, np.abs(own) @ (np.abs(F).T @ np.abs(alpha)) + shift)
            inner = np.sqrt((own**2).sum(axis=1)) * (length @ np.abs(alpha))
            spread = np.minimum(spread, inner + shift)
        return cls(t, alpha, b, u, terms, spread, stored, problem.polyline(t), plain)

    def as_summed(self) -> Point:
        """The same point with u as its terms add up, whether or not ``B' alpha = 0``."""
        return self if self.plain is None else attrs.evolve(self, u=self.plain)


class Examiner:
    """Decides whether points are local optima; `peak` holds the largest terms met on the path."""

    def __init__(self, problem: Statement, points: list[Point]) -> None:
        self.problem = problem
        self.length = np.sqrt(np.diagonal(problem.size))
        self.peak = np.max([p.spread for p in points], axis=0)
        self.most = np.max([np.abs(p.alpha) for p in points], axis=0)
        self.weight = float(np.max(self.length * self.most))
        # b solves the equations of all that share it: their rounding is in it, and so in those
        # that have nothing but b.
        self.common = np.zeros(len(self.peak), np.longdouble)
        for column in np.abs(problem.B).T:
            shares = column > 0
            if np.any(shares & (self.length > 0)):
                # Rows of zeros have no terms, however b was found.
                shares &= self.length > 0
            self.common += column * np.median(self.peak[shares] / column[shares])
        # Where alpha ought to be 0 all the way: the slopes say what rounding is.
        self.usual = np.max([_real(p.line.slope_terms) for p in points], axis=(0, 2))

        # What is left of alphas of that size where all of them ought to be 0: the rounding of
        # their rounding.
        self.least = 1e-30 * self.length * (self.length @ self.usual)
        for column in np.abs(problem.B).T:
            shares = (column > 0) & (self.least > 0)
            if np.any(shares):
                self.least = self.least + column * np.min(self.least[shares] / column[shares])
        # A break-point is known to the rounding of t over the whole span.
        corners = np.stack([_real(p.line.corner) for p in points])
        self.least += 1e-13 * np.max(corners.max(axis=0) - corners.min(axis=0), axis=1)
        # A response without a scale (its row is 0, so are its corners: a multiplier that ought to
        # be 0) is known as well as the objective, of which it makes up u alpha.
        bare = (self.length == 0) & (self.most > 0)
        bare &= ~np.any([p.line.corner_terms > 0 for p in points], axis=(0, 2))
        value = max(float(np.abs(p.alpha) @ p.terms) for p in points)
        self.least[bare] += SOLVED * value / self.most[bare]

    def blur(self, p: Point) -> Long:
        """What rounding may do to u: of the data, of the solution."""
        shared = np.where(self.length > 0, SOLVED, DATA) * self.common
        return DATA * p.terms + p.stored + SOLVED * (p.spread + self.peak) + shared + self.least

    def off(self, p: Point, drift: Any = 0.0) -> Long:
        """How far each (u_i, alpha_i) is from its polyline; 1 is as far as may be.  `drift` is what
        the rounding of t does to u."""
        with np.errstate(invalid="ignore", over="ignore"):
            off = self._off(p, drift)
            if p.plain is not None and np.max(off) > 1:
                # Either reading of u will do, but the same for all coordinates.
                other = self._off(p.as_summed(), drift)
                off = other if np.max(other) <= 1 else off
        return np.where(np.isnan(off), INF, off)

    def _off(self, p: Point, drift: Any) -> Long:
        line, u = p.line, p.u
        best = np.full(u.size, INF, np.longdouble)
        blur = self.blur(p) + drift
        gap = self._least_gap(line)
        for j in range(line.slope.shape[1]):
            low, high = line.ends(j)
            at = np.clip(u, low, high)
            height = line.height(j, at)
            beyond = np.abs(u - at)
            slack = OWN * self._own(np.maximum(np.abs(u), np.abs(at)), gap) + blur
            end = np.where(u < low, j - 1, j).clip(0, line.corner.shape[1] - 1)
            slack = slack + DATA * _pick(line.corner_terms, end)
            room = self._alpha_room(p, np.abs(height)) + DATA * line.slope_terms[:, j]
            room = room + line.bend[:, j] * slack
            far = np.maximum(_part(beyond, slack), _part(np.abs(p.alpha - height), room))
            best = np.fmin(best, np.where(np.isfinite(height), far, INF))
        for j in range(line.corner.shape[1]):
            if line.jump[j]:
                continue
            at = np.where(np.isfinite(line.corner[:, j]), line.corner[:, j], 0)
            top, bottom = line.height(j, at), line.height(j + 1, at)
            slack = OWN * self._own(np.abs(at), gap) + blur + DATA * line.corner_terms[:, j]
            steep = np.maximum(_real(top), _real(bottom))
            room = self._alpha_room(p, steep)
            room = room + DATA * np.maximum(line.slope_terms[:, j], line.slope_terms[:, j + 1])
            beyond = np.maximum(np.maximum(p.alpha - top, bottom - p.alpha), 0)
            far = np.maximum(_part(np.abs(u - at), slack), _part(beyond, room))
            best = np.fmin(best, np.where(np.isfinite(line.corner[:, j]), far, INF))
        return best

    def _own(self, size: Long, gap: Long) -> Long:
        """The scale of u: its size, but no more than the least distance between two corners, of
        which a millionth is something even where u is 0 (or what u is the sum of, if less)."""
        least = np.minimum(np.where(np.isfinite(gap), 1e-6 * gap, 0), self.peak)
        return np.minimum(np.maximum(size, least), gap)

    def _least_gap(self, line: Polyline) -> Long:
        """The least distance between two corners of a coordinate: a target of 1e8 with a
        threshold of 1 has to be known to a part of 1."""
        gap = np.full(line.corner.shape[0], INF, np.longdouble)
        for j in range(1, line.corner.shape[1]):
            left, right = line.corner[:, j - 1], line.corner[:, j]
            real = np.isfinite(left) & np.isfinite(right) & (right > left)
            gap = np.where(real, np.minimum(gap, np.where(real, right - left, INF)), gap)
        return gap

    def _alpha_room(self, p: Point, slope: Long) -> Long:
        """By how much alpha may be off: relative to the slopes beside it, but no more than to the
        alphas that make up w."""
        weighed = np.where(self.length > 0, self.weight / np.maximum(self.length, 1e-300), INF)
        weighed = np.where(np.isfinite(weighed), weighed, self.most.max())
        usual = np.where(slope > 0, np.minimum(slope, weighed), weighed)
        return OWN * np.maximum(np.maximum(usual, np.abs(p.alpha)), 1e-300)

    def border(self, p: Point) -> float:
        """How far ``B' alpha`` is from e; 1 is as far as may be."""
        if not p.b.size:
            return 0.0
        e, terms = self.problem.target(p.t)
        off = np.abs(self.problem.B.T @ p.alpha - e)
        B = np.abs(self.problem.B).T
        sizes = B @ np.abs(p.alpha) + terms
        largest = np.maximum(self.most, self.usual)
        # Without slopes alpha has a scale from its equations only, which are solved together: one
        # whose terms all ought to be 0 holds as well as the others of its alphas.
        borne = np.max(_part((B @ largest + terms)[:, None], B) * (B > 0), axis=0)
        most = B @ np.where(self.usual > 0, largest, np.maximum(largest, borne))
        return float(np.max(_part(off, OWN * sizes + 10 * SOLVED * most)))

    def standing(self, p: Point) -> Any:
        """The coordinates on a jump corner of some height, where u is known well enough to tell."""
        near = np.zeros(p.u.size, bool)
        gap = self._least_gap(p.line)
        for j in np.flatnonzero(p.line.jump):
            real = np.isfinite(p.line.corner[:, j])
            corner = np.where(real, p.line.corner[:, j], 0)
            rise = p.line.height(j + 1, corner) - p.line.height(j, corner)
            real &= rise > 1e-9 * (p.line.slope_terms[:, j] + p.line.slope_terms[:, j + 1])
            last = 1e-14 * (p.line.corner_terms[:, j] + p.spread + self.peak)
            away = np.abs(p.u - corner)
            # What nothing cancels in is off the corner, however small its row is beside the others.
            whole = away > 1e-3 * (p.terms + p.line.corner_terms[:, j])
            near |= real & (away <= last) & (last <= 1e-9 * gap) & ~whole
        return np.flatnonzero(near)

    def loose(self, p: Point, standing: Any) -> list[int]:
        """Which of the coordinates `standing` on a jump corner can leave it while all on knots
        stay: those could only be at a maximum."""
        on_knot = np.zeros(p.u.size, bool)
        blur = self.blur(p)
        for j in np.flatnonzero(~p.line.jump):
            corner = p.line.corner[:, j]
            away = np.abs(p.u - corner)
            at = np.where(np.isfinite(corner), corner, 0)
            top, bottom = p.line.height(j, at), p.line.height(j + 1, at)
            # An alpha between two slopes holds its response, as exactly as rounding lets it.
            within = np.minimum(top - p.alpha, p.alpha - bottom) > 1e-6 * (top - bottom)
            there = away <= 1e-7 * np.maximum(np.abs(at), np.abs(p.u))
            on_knot |= np.isfinite(corner) & (there | (within & (away <= blur)))
        rows = np.hstack([_factor(self.problem.Q), np.asarray(self.problem.B, float)])
        length = np.linalg.norm(rows, axis=1)
        rows = rows / np.where(length > 0, length, 1)[:, None]
        held = rows[on_knot]
        if len(held):
            basis = np.linalg.svd(held, full_matrices=False)
            held = basis[2][basis[1] > 1e-9 * basis[1][0]]
        left = rows - (rows @ held.T) @ held if len(held) else rows
        free = (np.linalg.norm(left, axis=1) > 1e-3) & (length > 0)
        return [int(i) for i in standing if free[i]]

    def objective(self, p: Point, origin: Long) -> tuple[float, float]:
        """The objective, and how well it is known."""
        w = self.problem.Q @ p.alpha
        half = 0.5 * float(p.alpha @ w)
        losses = p.line.losses(p.u, origin)
        e, e_terms = self.problem.target(p.t)
        linear = float(e @ p.b) if p.b.size else 0.0
        steep = np.max(_real(p.line.slope), axis=1)
        steep = np.maximum(steep, np.abs(p.alpha))
        size = abs(half) + float(np.abs(losses).sum()) + float(e_terms @ np.abs(p.b))
        blur = self.blur(p) + DATA * np.max(p.line.corner_terms, axis=1)
        return half + float(losses.sum()) + linear, 1e-9 * size + float(steep @ blur)

    def moved(self, p: Point, q: Point) -> float:
        """How far ``Q alpha`` moves between two points that ought to be one, but for what b makes
        up for; 1 is as far as may be, relative to u or to the whole of w."""
        change = q.alpha - p.alpha
        move = self.problem.Q @ change
        if p.b.size:
            B = self.problem.B
            shift = np.linalg.lstsq(np.asarray(B, float), np.asarray(move, float), rcond=None)[0]
            move = move - B @ shift
        square, norm = (max(float(a @ (self.problem.Q @ a)), 0.0) for a in (change, p.alpha))
        # Polylines fall between jumps: change_i du_i <= 0 for two optima at one t, and |dw|^2 is
        # the sum of these.  So if u is known to `stored`, w is known to its root only.  Features
        # give w directly.
        known = 0.0
        if self.problem.features is None:
            known = float(np.abs(change) @ (p.stored + q.stored))
        allowed = 1e-7 * np.maximum(np.abs(p.u), np.abs(self.problem.Q @ p.alpha))
        allowed = allowed + self.blur(p) + self.blur(q) + 1e-7 * self._nearest(p)
        off = float(np.max(_part(np.abs(move), allowed)))
        return min(off, (square / max(1e-14 * norm, known, 1e-300)) ** 0.5)

    @staticmethod
    def _nearest(p: Point) -> Long:
        """The size of the corner nearest to each response."""
        away = np.abs(np.where(np.isfinite(p.line.corner), p.line.corner - p.u[:, None], INF))
        return _real(_pick(p.line.corner, np.argmin(away, axis=1)))


def _factor(Q: Long) -> Array:
    if not np.any(Q):
        return np.zeros((len(Q), 0))
    rows = square_root(np.asarray(Q, float))
    # A row of zeros is one, not what rounding makes of it.
    rows[np.diagonal(Q) == 0.0] = 0.0
    return rows


def better(problem: Statement, p: Point) -> float:
    """By what part of its terms the objective could be lower with every response on its branch
    (between the jumps around it), as far as DAQP can tell; 0 if it cannot.

    Any point it finds bounds the optimum from above, however exact it is, so that there is nothing
    to trust but this evaluation of the objective.
    """
    line, n = p.line, p.u.size
    jumps = line.corner[:, line.jump]
    if np.any(np.abs(p.u[:, None] - jumps) <= 1e-6 * np.maximum(np.abs(jumps), 1.0)):
        return 0.0  # which branch it is on is not for this function to say
    low, high = np.full(n, -INF), np.full(n, INF)
    first, last = np.zeros(n, int), np.full(n, line.slope.shape[1] - 1)
    for j in np.flatnonzero(line.jump):
        right = np.asarray(p.u > line.corner[:, j])
        first[right] = j + 1
        low[right] = np.maximum(low, np.asarray(line.corner[:, j], float))[right]
        ends = ~right & (last > j)
        last[ends] = j
        high[ends] = np.minimum(high, np.asarray(line.corner[:, j], float))[ends]
    planes = []
    for i in range(n):
        own = []
        for j in range(first[i], last[i] + 1):
            slope = float(line.slope[i, j])
            start, stop = (float(end[i]) for end in line.ends(j))
            if slope == INF:
                low[i] = max(low[i], stop)
            elif slope == -INF:
                high[i] = min(high[i], start)
            else:
                # Every piece touches the loss at one of its ends; losses are 0 where u is now.
                at = stop if np.isfinite(stop) else start
                at = at if np.isfinite(at) else float(p.u[i])
                place = np.array(p.u)
                place[i] = at
                value = float(line.losses(place, p.u)[i])
                own.append((-slope, value + slope * at))
        planes.append(own or [(0.0, 0.0)])
    e = np.asarray(problem.target(p.t)[0], float)
    phi, border = _factor(problem.Q), np.asarray(problem.B, float)
    try:
        found = solve_primal(phi, border, e, planes, low, high)
    except (Infeasible, RuntimeError, ValueError):
        return 0.0
    half = 0.5 * float(p.alpha @ (problem.Q @ p.alpha))
    here = half + float(e @ np.asarray(p.b, float))
    there = 0.5 * float(found.w @ found.w) + float(e @ found.b)
    u = np.clip(found.u, low, high)
    if np.max(np.abs(u - found.u), initial=0.0) > 1e-9 * max(1.0, float(np.abs(u).max())):
        return 0.0
    losses = line.losses(np.asarray(u, np.longdouble), p.u)
    steep = np.maximum(np.max(_real(line.slope), axis=1), np.abs(p.alpha))
    size = abs(half) + float(np.abs(e) @ np.abs(np.asarray(p.b, float)))
    size += float(steep @ np.maximum(np.abs(p.u), np.max(_real(line.corner), axis=1)))
    size += 1e-3 * float(np.abs(p.alpha) @ p.terms)
    return (here - there - float(losses.sum())) / max(size, 1e-300)


def _real(values: Long) -> Long:
    return np.abs(np.where(np.isfinite(values), values, 0))


def _part(off: Long, allowed: Long) -> Long:
    """``off / allowed``, where nothing may also be divided by nothing."""
    return off / np.where((off == 0) | (allowed == 0), 1e-300, allowed)


def _pick(table: Long, column: Any) -> Long:
    return table[np.arange(table.shape[0]), column]


def program(form: dict[str, Any], border: Any, target: Any, lines: Any) -> Statement:
    """A program by its tables; `target` and `lines` are functions of t (see `Statement`)."""
    if "Q" in form:
        Q = np.asarray(form["Q"], np.longdouble)
        size = np.abs(Q)
    else:
        F = np.asarray(form["features"], np.longdouble)
        Q, size = F @ F.T, np.abs(F) @ np.abs(F).T
    B = np.zeros((len(Q), 0)) if border is None else np.asarray(border)
    B = B.reshape(len(Q), -1).astype(np.longdouble)
    return Statement(Q, size, B, target, lines, None if "Q" in form else F)


def machine(given: dict[str, Any]) -> Statement:
    """A hinge-ramp or LAD-ramp machine by the arguments of its plugin, from the formulas."""
    X, y, n = given["X"], np.asarray(given["y"], np.longdouble), len(given["y"])
    X = np.asarray(X.toarray() if hasattr(X, "toarray") else X, np.longdouble)
    hinge = given["plugin"] == "hinge-ramp"
    K, size = _kernel(X, given)
    sign = y if hinge else np.ones(n, np.longdouble)
    weights = given.get("sample_weight")
    cost = given["C"] * (np.ones(n) if weights is None else np.asarray(weights))
    cost = cost.astype(np.longdouble)
    one = np.ones(n, np.longdouble)

    def lines(t: float) -> Polyline:
        theta, s = (t, given.get("s")) if given["path"] == "theta" else (given["theta"], t)
        if hinge:
            slope, corner = [theta * cost, cost, 0 * cost], [s * one, one]
            terms, jump = [abs(s) * one, one], [True, False]
        else:
            slope = [theta * cost, cost, -cost, -theta * cost]
            corner, jump = [y - s, y, y + s], [True, False, True]
            terms = [np.abs(y) + s, np.abs(y), np.abs(y) + s]
        flat = np.stack(slope, 1)
        return Polyline(flat, np.stack(corner, 1), 0 * flat, np.array(jump), np.abs(flat),
                        np.stack(terms, 1))  # fmt: skip

    B = sign[:, None] if given["fit_intercept"] else np.zeros((n, 0), np.longdouble)
    zero = np.zeros(B.shape[1], np.longdouble)
    features = sign[:, None] * X if given["kernel"] == "linear" else None
    return Statement(K * np.outer(sign, sign), size, B, lambda t: (zero, zero), lines, features)


def _kernel(X: Long, given: dict[str, Any]) -> tuple[Long, Long]:
    """The kernel matrix, and how it changes with the numbers it is made of."""
    kernel = given["kernel"]
    if kernel == "precomputed":
        return X, np.abs(X)
    dot, absolute = X @ X.T, np.abs(X) @ np.abs(X).T
    gamma = given.get("gamma")
    gamma = np.longdouble(1.0 / X.shape[1] if gamma is None else gamma)
    if kernel == "linear":
        return dot, absolute
    if kernel == "rbf":
        square = np.sum((X[:, None, :] - X[None, :, :]) ** 2, axis=2)
        K = np.exp(-gamma * square)
        return K, K * (1 + gamma * square)
    degree, coef0 = given.get("degree", 3), np.longdouble(given.get("coef0", 0.0))
    return (gamma * dot + coef0) ** degree, degree * (gamma * absolute + np.abs(coef0)) ** degree
