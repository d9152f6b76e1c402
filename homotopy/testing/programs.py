"""Badly behaved parametric quadratic programs, written as a user would write them.

Each is built so that an optimum exists at every t of its span: draw a feasible point first, then
bounds around it; draw multipliers first, then the cost from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np

from homotopy.arrays import Array
from homotopy.gram import DenseGram, LinearGram
from homotopy.model import Affine, Jump, Knot, LossModel, Slope
from homotopy.testing.draw import Draw

Made = tuple[str, Any, dict[str, Any]]
INF = np.inf


@attrs.frozen(eq=False)
class Line:
    """``const + rate * t``, one value per coordinate."""

    const: Any
    rate: Any = 0.0

    def at(self, t: Any) -> Any:
        # An infinity that does not move stays infinite at any t (0 * inf would be nan).
        return self.const + t * np.asarray(self.rate) if np.any(self.rate) else self.const


class Declared(LossModel):
    """A problem given by its tables: slopes and corners as `Line`, left to right."""

    def __init__(
        self,
        form: dict[str, Array],
        span: tuple[float, float],
        slopes: Sequence[Line],
        corners: Sequence[tuple[type[Knot] | type[Jump], Line]],
        *,
        bends: Sequence[Any] | None = None,
        border: Array | None = None,
        target: Any = 0.0,
    ) -> None:
        self.form = form
        self.gram = DenseGram(form["Q"]) if "Q" in form else LinearGram(form["features"])
        self.span, self.border, self.border_target = span, border, target
        self.slopes, self.corners = tuple(slopes), tuple(corners)
        self.bends = tuple(bends) if bends is not None else (0.0,) * len(self.slopes)

    def polyline(self, t: Any) -> Sequence[Slope | Knot | Jump]:
        pieces: list[Slope | Knot | Jump] = []
        for j, (slope, bend) in enumerate(zip(self.slopes, self.bends, strict=True)):
            pieces.append(Slope(f"slope {j}", slope.at(t), curvature=bend))
            if j < len(self.corners):
                kind, place = self.corners[j]
                where = place.at(t)
                pieces.append(Jump(where) if kind is Jump else Knot(f"knot {j}", where))
        return tuple(pieces)


# ---------------------------------------------------------------------- bounds on A x


def constrained(draw: Draw) -> Made:
    """``min 1/2 |x - p(t)|^2, low <= A x <= high``: walls, some never reached by any x."""
    d, m = draw.pick(1, 2, 4, 8, 15), draw.pick(0, 2, 5, 20)
    rng = draw.rng
    A = np.vstack([np.eye(d), rng.normal(size=(m, d))])
    if draw.chance(0.4):
        draw.note("integer rows")
        A = np.round(A)
    if draw.chance(0.3):
        draw.note("repeated rows")
        A = np.vstack([A, A[draw.some(len(A), 0.3)]])
    A = _units(draw, A)
    return _between(draw, "bounds on A x", A, rng.normal(size=d), 3.0 * rng.normal(size=(2, d)))


def control(draw: Draw) -> Made:
    """A receding horizon: inputs and states of a chain of integrators, each with bounds in its own
    units, while the initial state moves."""
    states, steps = draw.pick(2, 3), draw.pick(3, 6, 10)
    step = draw.pick(0.1, 0.5)
    rng = draw.rng
    move = np.eye(states) + step * np.eye(states, k=1)
    push = np.zeros(states)
    push[-1] = step
    reached = np.zeros((steps * states, steps))
    free = np.zeros((steps * states, states))
    power = np.eye(states)
    for k in range(steps):
        power = move @ power
        free[k * states : (k + 1) * states] = power
        for j in range(k + 1):
            now = np.linalg.matrix_power(move, k - j) @ push
            reached[k * states : (k + 1) * states, j] = now
    H = reached.T @ reached + draw.decade(-6, 0) * np.eye(steps)
    # x = R^-1 (z - R^-T g) turns the cost into a plain square.
    R = np.linalg.cholesky(H).T
    rows = np.vstack([np.eye(steps), reached])
    begin = rng.normal(size=(2, states))
    shift = np.vstack([np.zeros((steps, states)), free])
    A = rows @ np.linalg.inv(R)
    centre = np.stack([-np.linalg.solve(R.T, reached.T @ (free @ x)) for x in begin])
    made = (shift @ begin[0], shift @ (begin[1] - begin[0]))
    units = 10.0 ** rng.uniform(-4, 4, size=len(A))
    draw.note("units from 1e-4 to 1e4")
    drift = (units * made[0], units * made[1])
    return _between(draw, "control", units[:, None] * A, np.zeros(steps), centre, drift)


def _between(
    draw: Draw,
    what: str,
    A: Array,
    inside: Array,
    centre: Array,
    drift: tuple[Any, Any] = (0.0, 0.0),
) -> Made:
    """``min 1/2 |x - p(t)|^2, low <= A x + drift(t) <= high`` with p from centre[0] to centre[1]
    and `inside` strictly between the bounds for every t."""
    rng, n = draw.rng, len(A)
    length = np.linalg.norm(A, axis=1)
    places = np.stack([A @ inside + drift[0], A @ inside + drift[0] + drift[1]])
    room = np.where(length > 0.0, length, 1.0)[:, None] * rng.uniform(0.1, 1.5, size=(n, 2))
    low, high = places.min(axis=0) - room[:, 0], places.max(axis=0) + room[:, 1]
    low, high = _far_bounds(draw, low, high)
    # u = A (x - p) lies between these.
    move = A @ (centre[1] - centre[0]) + drift[1]
    begin = A @ centre[0] + drift[0]
    corners = [(Knot, Line(low - begin, -move)), (Knot, Line(high - begin, -move))]
    form = _form(draw, A)
    model = Declared(form, (0.0, 1.0), [Line(INF), Line(0.0), Line(-INF)], corners)
    return draw.described(what, f"n = {n}, d = {A.shape[1]}"), model, form


def _far_bounds(draw: Draw, low: Array, high: Array) -> tuple[Array, Array]:
    """Move some bounds so far away that they are never reached, or to infinity."""
    n = low.size
    if draw.chance(0.6):
        far = draw.decade(8, 12)
        draw.note(f"bounds of {far:g}")
        low, high = low.copy(), high.copy()
        low[draw.some(n, 0.3)] = -far
        high[draw.some(n, 0.3)] = far
    if draw.chance(0.6):
        draw.note("bounds at infinity")
        low, high = low.copy(), high.copy()
        low[draw.some(n, 0.4)] = -INF
        high[draw.some(n, 0.4)] = INF
    return low, high


# ---------------------------------------------------------------------- bounds on alpha


def boxed(draw: Draw) -> Made:
    """``min 1/2 x'Qx - q(t)'x, low <= x <= high, B'x = e(t)``: Q near singular, x free or boxed."""
    n, rng = draw.pick(1, 2, 4, 8, 20, 40), draw.rng
    form = _quadratic(draw, n)
    Q = form["Q"] if "Q" in form else form["features"] @ form["features"].T
    scale = np.sqrt(np.where(np.diagonal(Q) > 0.0, np.diagonal(Q), 1.0))
    ends = rng.normal(size=(2, n)) / scale
    width = rng.uniform(0.05, 2.0, size=(2, n)) / scale
    low, high = ends.min(axis=0) - width[0], ends.max(axis=0) + width[1]
    if draw.chance(0.3):
        draw.note("x not negative")
        ends = np.abs(ends)
        low, high = np.zeros(n), ends.max(axis=0) + width[1]
    bounded = np.ones(n, dtype=bool)
    if draw.chance(0.5):
        free = draw.some(n, draw.pick(0.3, 0.7, 1.0))
        draw.note("free unknowns")
        low[free], high[free], bounded[free] = -INF, INF, False
    if draw.chance(0.4):
        far = draw.decade(8, 12)
        draw.note(f"bounds of {far:g}")
        high[bounded & (rng.random(n) < 0.4)] = far
    # The gradient at `ends` is 0, except for the multipliers of bounded coordinates.
    force = np.where(bounded, scale * rng.normal(size=(2, n)), 0.0)
    q = ends @ Q + draw.pick(0.0, 1.0, 3.0) * force
    border, target = None, 0.0
    if draw.chance(0.5):
        border = _columns(draw, n, scale)
        sums = ends @ border
        target = sums[0] + Affine.parameter() * (sums[1] - sums[0])
        q = q + rng.normal(size=(2, border.shape[1])) @ border.T
    corners = [(Knot, Line(q[0], q[1] - q[0]))]
    model = Declared(form, (0.0, 1.0), [Line(high), Line(low)], corners,
                     border=border, target=target)  # fmt: skip
    name = draw.described("box", f"n = {n}, {0 if border is None else border.shape[1]} equations")
    return name, model, form


def _quadratic(draw: Draw, n: int) -> dict[str, Array]:
    rng = draw.rng
    kind = draw.pick(
        "full", "near singular", "near singular", "more unknowns than rows", "diagonal"
    )
    if kind != "full":
        draw.note(kind)
    if kind == "more unknowns than rows":
        form = {"features": rng.normal(size=(n, max(1, n // 2)))}
    elif kind == "diagonal":
        form = {"Q": np.diag(10.0 ** rng.uniform(-4, 4, size=n))}
    else:
        vectors = np.linalg.qr(rng.normal(size=(n, n)))[0]
        least = draw.pick(-6, -9, -12) if kind == "near singular" else -1
        values = 10.0 ** rng.uniform(least, 0, size=n)
        Q = (vectors * values) @ vectors.T
        form = {"Q": 0.5 * (Q + Q.T)}
    if draw.chance(0.3):
        units = 10.0 ** rng.uniform(-3, 3, size=n)
        draw.note("units from 1e-3 to 1e3")
        form = {k: v * (np.outer(units, units) if k == "Q" else units[:, None])
                for k, v in form.items()}  # fmt: skip
    return form


def _columns(draw: Draw, n: int, scale: Array) -> Array:
    """Draw one to three independent border columns."""
    m = min(n, draw.pick(1, 1, 2, 3))
    if m > 1:
        draw.note(f"{m} border columns")
    columns = draw.rng.normal(size=(n, m)) * scale[:, None]
    columns[:, 0] = scale
    if np.linalg.matrix_rank(columns) < m:
        return columns[:, :1]
    return np.asarray(columns)


def frontier(draw: Draw) -> Made:
    """Mean and variance with caps on groups that overlap: each cap an equation with a slack."""
    n, g, rng = draw.pick(4, 10, 30, 60), draw.pick(0, 1, 3, 5), draw.rng
    factors = rng.normal(size=(n, draw.pick(2, 5)))
    S = factors @ factors.T * 0.04 + np.diag(draw.pick(0.0, 1e-8, 1e-2) * rng.uniform(0.5, 2.0, n))
    mu = 0.1 * rng.normal(size=n)
    if draw.chance(0.3):
        draw.note("equal returns")
        mu = np.round(mu, 1)
    upper = draw.pick(1.0, 2.0 / n, 1.2 / n, 1e9)
    groups = (rng.random((n, g)) < 0.5).astype(float)
    caps = 1.05 * groups.sum(axis=0) / n + 1e-3
    if g:
        draw.note(f"{g} overlapping caps")
    size = n + g
    Q = np.zeros((size, size))
    Q[:n, :n] = 0.5 * (S + S.T)
    border = np.zeros((size, 1 + g))
    border[:n, 0], border[:n, 1:], border[n:, 1:] = 1.0, groups, np.eye(g)
    high = np.concatenate([np.full(n, upper), np.full(g, INF) if draw.chance(0.5) else caps])
    rate = np.concatenate([mu, np.zeros(g)])
    form = {"Q": Q}
    model = Declared(form, (0.0, draw.pick(1.0, 10.0, 1e4)), [Line(high), Line(0.0)],
                     [(Knot, Line(np.zeros(size), rate))], border=border,
                     target=np.concatenate([[1.0], caps]))  # fmt: skip
    return draw.described("mean and variance", f"n = {n}, upper {upper:.3g}"), model, form


def linear_program(draw: Draw) -> Made:
    """``min c(t)'x, A x <= right(t)`` without a quadratic form."""
    d, rng = draw.pick(1, 2, 3, 6), draw.rng
    n = d + draw.pick(1, 3, 8, 20)
    A = rng.normal(size=(n, d))
    if draw.chance(0.4):
        draw.note("integer rows")
        A = np.round(2.0 * A)
    A = _units(draw, A)
    if np.linalg.matrix_rank(A) < d:
        A = A + np.vstack([np.eye(d)] * (n // d + 1))[:n]
    size = np.linalg.norm(A, axis=1)
    size = np.where(size > 0.0, size, 1.0)
    inside = rng.normal(size=(2, d))
    right = inside @ A.T + size * rng.uniform(0.1, 2.0, size=(2, n))
    if draw.chance(0.4):
        far = draw.decade(8, 12)
        draw.note(f"bounds of {far:g}")
        right[:, draw.some(n, 0.2)] = far
    multipliers = -rng.uniform(0.1, 1.0, size=(2, n)) / size
    multipliers[:, rng.random(n) < 0.3] = 0.0
    cost = multipliers @ A
    form = {"Q": np.zeros((n, n))}
    model = Declared(
        form,
        (0.0, 1.0),
        [Line(0.0), Line(-INF)],
        [(Knot, Line(right[0], right[1] - right[0]))],
        border=A,
        target=cost[0] + Affine.parameter() * (cost[1] - cost[0]),
    )
    return draw.described("linear program", f"n = {n}, d = {d}"), model, form


# ---------------------------------------------------------------------- losses


def regression(draw: Draw) -> Made:
    """Lasso, Huber, squared hinge or quantiles: slanted pieces, walls, moving knots."""
    n, d, rng = draw.count(40), draw.pick(1, 2, 5, 20), draw.rng
    X = draw.rows(n, d)
    y = draw.targets(X)
    kind = draw.pick("lasso", "Huber", "squared hinge", "quantile")
    if kind == "lasso":
        q = X.T @ y
        most = float(np.abs(q).max()) or 1.0
        form = {"features": np.ascontiguousarray(X.T)}
        slopes = [Line(INF), Line(0.0), Line(-INF)]
        corners = [(Knot, Line(q, -1.0)), (Knot, Line(q, 1.0))]
        model = Declared(form, (1.1 * most, draw.pick(0.1, 1e-3) * most), slopes, corners)
        return draw.described("lasso", f"{n} rows, {d} unknowns"), model, form
    form = {"features": X}
    border = np.ones((n, 1)) if draw.chance(0.5) else None
    if border is not None and draw.chance(0.3):
        column = np.arange(n) / n
        border = np.column_stack([border, column]) if n > 1 else border
        draw.note("two border columns")
    C, spread = draw.cost(), float(np.abs(y).max()) or 1.0
    weights = draw.weights(n)
    cost = C * (np.ones(n) if weights is None else weights)
    drift = spread * rng.normal(size=n)
    if kind == "Huber":
        width = draw.pick(1.0, 0.1) * spread
        slopes = [Line(cost * width), Line(cost * y, cost * drift), Line(-cost * width)]
        corners = [(Knot, Line(y - width, drift)), (Knot, Line(y + width, drift))]
        bends: Any = (0.0, cost, 0.0)
    elif kind == "quantile":
        slopes, bends = [Line(0.0, cost), Line(-cost, cost)], None
        corners = [(Knot, Line(y))]
    else:
        slopes, bends = [Line(cost * y, cost * drift), Line(0.0)], (cost, 0.0)
        corners = [(Knot, Line(y, drift))]
    span = (0.05, 0.95) if kind == "quantile" else (0.0, 1.0)
    model = Declared(form, span, slopes, corners, bends=bends, border=border)
    return draw.described(kind, f"n = {n}, d = {d}"), model, form


def ramp(draw: Draw) -> Made:
    """Losses with jumps that open along the path; some jumps and knots are at infinity."""
    n, d, rng = draw.count(60), draw.pick(1, 2, 5), draw.rng
    X = draw.rows(n, d)
    C, weights = draw.cost(), draw.weights(n)
    cost = C * (np.ones(n) if weights is None else weights)
    sign = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    jump = rng.uniform(-2.0, 0.5, size=n) if draw.chance(0.5) else np.full(n, draw.pick(0.0, -1.0))
    if draw.chance(0.6):
        draw.note("jumps at infinity")
        jump[draw.some(n, 0.4)] = -INF
    knot = np.ones(n)
    if draw.chance(0.3):
        draw.note("knots at infinity")
        knot[draw.some(n, 0.2)] = INF
    bend: Any = 0.0
    inner = Line(cost)
    if draw.chance(0.35):
        # C (1 - u) between the jump and the knot; the slope left of the jump starts level with it.
        draw.note("slanted pieces")
        jump, knot = np.where(np.isfinite(jump), jump, -5.0), np.ones(n)
        bend = cost
        height = cost * (1.0 - jump)
    else:
        height = cost
    slopes = [Line(0.0, height), inner, Line(0.0)]
    corners = [(Jump, Line(jump)), (Knot, Line(knot))]
    m = draw.pick(0, 1, 1, 2, 3)
    border = None
    if m:
        border = np.column_stack([sign * np.linspace(-1.0, 1.0, n) ** k for k in range(m)])
        border = border if np.linalg.matrix_rank(border) == m else sign[:, None].copy()
        draw.note(f"{border.shape[1]} border columns")
        if np.any(~np.isfinite(knot)):
            # A row that is never satisfied fixes its alpha, and the equations cannot be met.
            knot[:] = 1.0
    form = _form(draw, sign[:, None] * X)
    model = Declared(form, (1.0, 0.0), slopes, corners, bends=(0.0, bend, 0.0), border=border)
    return draw.described("ramp", f"n = {n}, d = {d}"), model, form


def truncated(draw: Draw) -> Made:
    """Losses truncated at a distance that decreases from infinity: only the jumps move."""
    n, d = draw.count(40), draw.pick(1, 2, 5)
    X = draw.rows(n, d)
    y = draw.targets(X)
    C, weights = draw.cost(), draw.weights(n)
    cost = C * (np.ones(n) if weights is None else weights)
    border = np.ones((n, 1)) if draw.chance(0.5) else None
    stop = draw.pick(0.3, 0.05) * (float(np.ptp(y)) or float(np.abs(y).max()) or 1.0)
    jumps = [(Jump, Line(y, -1.0)), (Jump, Line(y, 1.0))]
    form = _form(draw, X)
    if draw.chance(0.5):
        slopes = [Line(0.0), Line(cost * y), Line(0.0)]
        model = Declared(form, (INF, stop), slopes, jumps, bends=(0.0, cost, 0.0), border=border)
        return draw.described("truncated squares", f"n = {n}, d = {d}"), model, form
    corners = [jumps[0], (Knot, Line(y)), jumps[1]]
    slopes = [Line(0.0), Line(cost), Line(-cost), Line(0.0)]
    model = Declared(form, (INF, stop), slopes, corners, border=border)
    return draw.described("truncated residuals", f"n = {n}, d = {d}"), model, form


def unlabelled(draw: Draw) -> Made:
    """Some coordinates with a hinge; the others are pushed away from 0 with growing force."""
    n, d, rng = draw.count(40), draw.pick(1, 2, 5), draw.rng
    X = draw.rows(n, d)
    loose = (rng.random(n) < draw.pick(0.3, 0.8)).astype(float)
    sign = np.where((loose == 0.0) & (rng.random(n) < 0.5), -1.0, 1.0)
    cost, most = draw.cost() * (1.0 - loose), draw.cost()
    slopes = [Line(cost), Line(cost, -loose), Line(cost, loose), Line(0.0)]
    corners = [(Knot, Line(-1.0)), (Jump, Line(0.0)), (Knot, Line(1.0))]
    form = _form(draw, sign[:, None] * X)
    model = Declared(form, (0.0, most), slopes, corners)
    return draw.described("unlabelled rows", f"n = {n}, d = {d}"), model, form


def regularisation(draw: Draw) -> Made:
    """The hinge with a cost that grows over many decades, one or more border columns."""
    n, d = draw.count(40), draw.pick(1, 2, 5, 20)
    X = draw.rows(n, d)
    y = draw.labels(X) if n > 1 else np.ones(1)
    weights = draw.weights(n)
    stop = draw.decade(0, 6)
    draw.note(f"C from 1e-3 to {stop:g}")
    border = y[:, None].copy() if draw.chance(0.6) else None
    form = _form(draw, y[:, None] * X)
    slopes = [Line(0.0, 1.0 if weights is None else weights), Line(0.0)]
    model = Declared(form, (1e-3, stop), slopes, [(Knot, Line(1.0))], border=border)
    return draw.described("hinge along C", f"n = {n}, d = {d}"), model, form


def trend(draw: Draw) -> Made:
    """The dual of a trend filter: a banded form whose condition grows with the order."""
    n, order, rng = draw.pick(5, 12, 40), draw.pick(1, 2, 3), draw.rng
    y = np.cumsum(rng.normal(size=n + order))
    if draw.chance(0.4):
        draw.note("integer signal")
        y = np.round(y)
    if draw.chance(0.4):
        by = draw.decade(-8, 8)
        draw.note(f"signal x {by:g}")
        y = by * y
    D = np.diff(np.eye(n + order), n=order, axis=0)
    form = {"features": D}
    most = float(np.abs(np.linalg.solve(D @ D.T, D @ y)).max()) or 1.0
    slopes, corners = [Line(0.0, 1.0), Line(0.0, -1.0)], [(Knot, Line(D @ y))]
    model = Declared(form, (1.01 * most, 1e-3 * most), slopes, corners)
    return draw.described("trend filter", f"n = {n}, order {order}"), model, form


# ---------------------------------------------------------------------- what they share


def _units(draw: Draw, A: Array) -> Array:
    if not draw.chance(0.4):
        return A
    low, high = draw.pick((-2, 2), (-4, 4), (-6, 6))
    draw.note(f"units from 1e{low} to 1e{high}")
    return np.asarray(A * 10.0 ** draw.rng.uniform(low, high, size=(len(A), 1)))


def _form(draw: Draw, features: Array) -> dict[str, Array]:
    """Return the quadratic form of these rows, as features or as a matrix."""
    if draw.chance(0.5):
        return {"features": np.ascontiguousarray(features)}
    Q = features @ features.T
    return {"Q": 0.5 * (Q + Q.T)}


PROGRAMS = (
    *(constrained, control, frontier, linear_program, trend, unlabelled, truncated),
    *(boxed, boxed, regression, regression, regularisation, ramp, ramp),
)
