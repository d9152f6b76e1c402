"""The further ramp losses written anew from the formulas: conditional problems for OSQP, tables for
the oracle, and ugly data.  Nothing here asks a plugin what its loss is.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt
import osqp
import scipy.sparse as sp
from hostile import faults
from oracles import kernel_matrix, square_root

from homotopy import Homotopy, HomotopyError, Jump, Knot, Path
from homotopy.testing import HostileProblem
from homotopy.testing.programs import Declared, Line
from homotopy_plugins import (
    EpsilonRamp,
    HingeRamp,
    HuberRamp,
    LADRamp,
    PinballRamp,
    TruncatedQuadratic,
)

Array = npt.NDArray[np.float64]
INF = np.inf

KINDS: dict[str, Any] = {
    "hinge": HingeRamp,
    "lad": LADRamp,
    "epsilon": EpsilonRamp,
    "pinball": PinballRamp,
    "huber": HuberRamp,
    "truncated": TruncatedQuadratic,
}
# The third parameter of each, as the plugin calls it on its path and in its constructor.
OWN = {"epsilon": ("eps", "epsilon"), "pinball": ("tau", "tau"), "huber": ("delta", "delta")}


def regression(n: int, d: int, seed: int) -> tuple[Array, Array]:
    """A smooth function with noise and a seventh of gross outliers."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = X[:, 0] + np.sin(2.0 * X[:, -1]) + 0.1 * rng.normal(size=n)
    y[::7] += 4.0 * rng.normal(size=len(y[::7]))
    return X, y


# ---------------------------------------------------------------------- conditional problems


@attrs.frozen
class Branch:
    """``L(u) = min_q bend q^2 / 2 + max_k (g_k (u + q) + h_k)`` for low <= u <= high; without a
    bend q is 0."""

    low: float
    high: float
    planes: tuple[tuple[float, float], ...]
    bend: float = 0.0


def branch(kind: str, y: float, c: float, at: dict[str, float], u: float) -> Branch:
    """The convex part of the loss, between two jumps, on which u lies."""
    theta, s = at["theta"], at["s"]
    if kind == "hinge":
        if y * u < s:
            return _outlier(-INF, s, c * (1.0 - s), -theta * c, s)
        return Branch(s, INF, ((-c, c), (0.0, 0.0)))
    up, down, bend, reach = c, c, 0.0, s  # slopes beside y, and the loss at the two jumps
    inner: tuple[tuple[float, float], ...] = ((-c, c * y), (c, -c * y))
    ends = (c * s, c * s)
    if kind == "epsilon":
        eps = at["eps"]
        inner = ((-c, c * (y - eps)), (0.0, 0.0), (c, -c * (y + eps)))
        ends = (c * (s - eps), c * (s - eps))
    elif kind == "pinball":
        up, down = c * at["tau"], c * (1.0 - at["tau"])
        inner, ends = ((-up, up * y), (down, -down * y)), (up * s, down * s)
    elif kind in ("huber", "truncated"):
        delta = at["delta"] if kind == "huber" else s
        up = down = c * delta
        inner, bend = ((-up, up * y), (up, -up * y)), c
        ends = (up * (s - 0.5 * delta), up * (s - 0.5 * delta))
    if u < y - reach:
        return _outlier(-INF, y - s, ends[0], -theta * up, y - s)
    if u > y + reach:
        return _outlier(y + s, INF, ends[1], theta * down, y + s)
    return Branch(y - s, y + s, inner, bend)


def _outlier(low: float, high: float, value: float, slope: float, corner: float) -> Branch:
    return Branch(low, high, ((slope, value - slope * corner),))


def loss(kind: str, r: Array, c: Array, at: dict[str, float]) -> float:
    """The sum of losses of the residuals ``r = y - f``, by the formulas in the docstrings."""
    theta, s = at["theta"], at["s"]
    size = np.abs(r)
    inside, beyond = np.minimum(size, s), np.maximum(size - s, 0.0)
    if kind == "epsilon":
        return float(c @ (np.maximum(inside - at["eps"], 0.0) + theta * beyond))
    if kind == "pinball":
        slope = np.where(r > 0.0, at["tau"], 1.0 - at["tau"])
        return float(c @ (slope * (inside + theta * beyond)))
    if kind == "lad":
        return float(c @ (inside + theta * beyond))
    delta = at["delta"] if kind == "huber" else s
    near = np.minimum(inside, delta)
    return float(c @ (0.5 * near**2 + delta * (inside - near) + theta * delta * beyond))


@attrs.frozen
class Conditional:
    """The optimum of a convex problem by OSQP: the value, and the response."""

    value: float
    u: Array


def solve(Q: Array, B: Array, branches: list[Branch]) -> Conditional:
    """``min 1/2 |w|^2 + sum_i L_i(u_i)`` with every u_i on its branch, tightly."""
    phi = square_root(Q)
    n, r = phi.shape
    m = B.shape[1]
    bend = np.array([b.bend for b in branches])
    P = np.concatenate([np.ones(r), np.zeros(m), np.zeros(n), bend])
    f = np.concatenate([np.zeros(r + m), np.ones(n), np.zeros(n)])
    response = np.hstack([phi, B, np.zeros((n, 2 * n))])
    rows, low, high = [], [], []
    for i, b in enumerate(branches):
        rows.append(response[i])
        low.append(b.low)
        high.append(b.high)
        q = np.zeros(P.size)
        q[r + m + n + i] = 1.0
        if b.bend == 0.0:
            rows.append(q)
            low.append(0.0)
            high.append(0.0)
        for g, h in b.planes:
            row = -g * (response[i] + q)
            row[r + m + i] += 1.0
            rows.append(row)
            low.append(h)
            high.append(INF)
    solver = osqp.OSQP()
    solver.setup(
        sp.diags(P, format="csc"), f, sp.csc_matrix(np.array(rows)), np.array(low), np.array(high),
        verbose=False, eps_abs=1e-9, eps_rel=1e-9, max_iter=100_000, polishing=True,
        scaling=20,
    )  # fmt: skip
    found = solver.solve(raise_error=False)
    # What it calls inaccurate is so against 1e-9; comparing tells how accurate it is.
    assert found.info.status.startswith("solved"), found.info.status
    x = np.asarray(found.x)
    return Conditional(0.5 * float(P @ x**2) + float(f @ x), phi @ x[:r] + B @ x[r : r + m])


def against_osqp(
    path: Path, kind: str, K: Array, y: Array, c: Array, at: Any, values: Any
) -> tuple[float, float]:
    """How far objective and response of a path are from the conditional optimum on the branches
    they are on, at some values of t: the largest relative difference of each.

    `at` says the parameters at t.
    """
    sign = y if kind == "hinge" else np.ones(y.size)
    Q = K * np.outer(sign, sign)
    B = np.zeros((y.size, 0)) if path.model.border is None else sign[:, None]
    off = apart = 0.0
    for t in values:
        u, here = path.response(t), at(t)
        branches = [
            branch(kind, float(y[i]), float(c[i]), here, float(sign[i] * u[i]))
            for i in range(y.size)
        ]
        found = solve(Q, B, branches)
        size = max(1.0, abs(found.value))
        off = max(off, abs(path.objective(t) - found.value) / size)
        move = u - found.u
        if B.size and abs(path.objective(t) - found.value) <= 1e-7 * size:
            # b may be free in an interval; w is not.
            move = move - B[:, 0] * (B[:, 0] @ move) / y.size
        apart = max(apart, float(np.abs(move).max()) / max(1.0, float(np.abs(u).max())))
    return off, apart


# ---------------------------------------------------------------------- tables for the oracle


def declared(
    kind: str, form: dict[str, Array], y: Array, c: Array, at: dict[str, Any], path: Path
) -> Declared:
    """The polyline as tables; the one parameter that moves is a `Line` (0, 1) in `at`."""
    theta, s = at["theta"], at["s"]
    zero = Line(0.0)
    border = np.ones((y.size, 1)) if path.model.border is not None else None

    def corner(distance: Any, side: float) -> Line:
        moves = isinstance(distance, Line)
        return Line(y, side) if moves else Line(y + side * distance)

    def slope(*factors: Any) -> Line:
        const, moving = np.ones(y.size), False
        for factor in factors:
            moving |= isinstance(factor, Line)
            const = const * (1.0 if isinstance(factor, Line) else factor)
        return Line(np.zeros(y.size), const) if moving else Line(const)

    jumps = [(Jump, corner(s, -1.0)), (Jump, corner(s, 1.0))]
    bends: list[Any] = []
    if kind == "epsilon":
        inner = [(Knot, corner(at["eps"], -1.0)), (Knot, corner(at["eps"], 1.0))]
        slopes = [slope(theta, c), slope(c), zero, slope(-c), slope(theta, -c)]
    elif kind == "pinball":
        tau, inner = at["tau"], [(Knot, Line(y))]
        moves = isinstance(tau, Line)
        low = Line(-c, c) if moves else slope(c, tau - 1.0)
        weight = 1.0 if isinstance(theta, Line) else theta
        outer = Line(-c * weight, c * weight) if moves else slope(theta, c, tau - 1.0)
        slopes = [slope(theta, c, tau), slope(c, tau), low, outer]
    elif kind == "huber":
        delta = at["delta"]
        inner = [(Knot, corner(delta, -1.0)), (Knot, corner(delta, 1.0))]
        steep = [slope(theta, c, delta), slope(c, delta)]
        slopes = [*steep, Line(c * y), slope(-c, delta), slope(theta, -c, delta)]
        bends = [0.0, 0.0, c, 0.0, 0.0]
    else:
        inner, bends = [], [0.0, c, 0.0]
        outer = [zero, zero] if theta == 0.0 else [slope(theta, c, s), slope(theta, -c, s)]
        slopes = [outer[0], Line(c * y), outer[1]]
    corners = [jumps[0], *inner, jumps[1]]
    return Declared(form, path.model.span, slopes, corners, bends=bends or None, border=border)


# ---------------------------------------------------------------------- ugly data


@attrs.frozen
class Ugly:
    """One legal problem and what is wrong with it."""

    seed: int
    kind: str
    X: Array
    y: Array
    options: dict[str, Any]
    name: str

    def model(self) -> Any:
        return KINDS[self.kind](self.X, self.y, **self.options)

    def at(self, model: Any) -> dict[str, Any]:
        moving = Line(0.0, 1.0)
        return {w: moving if w == model.path else v for w, v in model.parameters.items()}

    def faults(self, path: Path) -> list[str]:
        """What certificate and oracle have to say against a path."""
        model: Any = path.model
        weights = self.options["sample_weight"]
        c = self.options["C"] * (np.ones(self.y.size) if weights is None else weights)
        if self.options["kernel"] == "linear":
            form = {"features": self.X}
        else:
            form = {"Q": kernel_matrix(self.X, self.X, "rbf", self.options["gamma"])}
        tables = declared(self.kind, form, self.y, c, self.at(model), path)
        problem = HostileProblem(self.seed, self.name, tables, form)
        certificate = path.certify()
        failed = [f"certificate: {k.name} {k.worst:.1e}" for k in certificate.checks if not k.ok]
        with np.errstate(all="ignore"):
            found, _ = faults(problem, path)
        return failed + found + ([] if path.complete else ["not complete"])


def ugly(kind: str, seed: int) -> Ugly:
    """Repeated and zero rows, integer grids, constant columns, scales and weights over decades."""
    rng = np.random.default_rng([ord(kind[0]), seed])
    n, d = int(rng.choice([1, 2, 3, 6, 12, 25, 40])), int(rng.choice([1, 2, 5, 50]))
    X, y = regression(n, d, seed)
    notes: list[str] = []

    def with_chance(part: float, what: str) -> bool:
        happens = bool(rng.random() < part)
        if happens:
            notes.append(what)
        return happens

    if with_chance(0.3, "integers"):
        X, y = np.round(2.0 * X), np.round(2.0 * y)
    if with_chance(0.3, "repeated rows"):
        X[n // 2 :] = X[: n - n // 2]
        if with_chance(0.5, "with equal targets"):
            y[n // 2 :] = y[: n - n // 2]
    if with_chance(0.15, "zero rows"):
        X[::4] = 0.0
    if with_chance(0.15, "constant column"):
        X[:, 0] = 3.0
    if with_chance(0.15, "repeated columns"):
        X[:, d // 2 :] = X[:, : d - d // 2]
    if with_chance(0.1, "constant targets"):
        y[:] = 2.0
    if with_chance(0.25, "features scaled"):
        X *= 10.0 ** rng.uniform(-6, 6)
    scale = 1.0
    if with_chance(0.25, "targets scaled"):
        scale = 10.0 ** rng.uniform(-6, 6)
    y = scale * y
    weights = None
    if with_chance(0.25, "weights over six decades"):
        weights = 10.0 ** rng.uniform(-3, 3, size=n)
        if with_chance(0.5, "some of them 0"):
            weights[1::3] = 0.0
    C = float(rng.choice([1.0, 10.0, 10.0 ** rng.uniform(-6, 6)]))
    own = OWN.get(kind)
    way = str(rng.choice(["theta", "s", *([own[0]] if own else [])]))
    kernel = str(rng.choice(["linear", "rbf"]))
    square = float((X**2).sum(axis=1).mean()) or 1.0
    options: dict[str, Any] = {
        "C": C, "kernel": kernel, "gamma": 1.0 / square, "path": way,
        "fit_intercept": bool(rng.random() < 0.6), "sample_weight": weights,
    }  # fmt: skip
    width = scale * float(rng.choice([0.0 if kind == "epsilon" else 0.01, 0.1, 0.5, 2.0]))
    if kind in ("epsilon", "huber"):
        options[own[1]] = width
        if way == "theta":
            options["s"] = width + scale * float(rng.choice([1e-3, 0.5, 2.0]))
    else:
        options["s"] = scale * float(rng.choice([1e-2, 0.5, 2.0]))
    if kind == "pinball":
        options["tau"] = float(rng.choice([0.5, 0.25, 0.01, 0.9]))
        if way == "tau":
            options |= {"tau_stop": float(rng.choice([0.75, 0.99, 0.02])), "s": None}
    if way == "s" and kind != "truncated":
        options["theta"] = float(rng.choice([0.0, 0.0, 0.3]))
    name = f"{kind} along {way}, {kernel}, n = {n}, d = {d}, C = {C:g}: {', '.join(notes)}"
    return Ugly(seed, kind, X, y, options, name)


def run_ugly(kind: str, seeds: Iterable[int]) -> tuple[list[str], list[str]]:
    """The problems that ended wrong, and those that were declined, in words."""
    wrong, declined = [], []
    for seed in seeds:
        problem = ugly(kind, seed)
        try:
            path = Homotopy(problem.model()).trace()
        except HomotopyError as error:
            declined.append(f"{seed}: {problem.name}: {error}")
            continue
        found = problem.faults(path)
        if found:
            wrong.append(f"{seed}: {problem.name}: {'; '.join(found)}")
    return wrong, declined
