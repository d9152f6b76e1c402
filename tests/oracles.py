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
