"""The convex problem by the proximal point method with Newton steps.

With the present alpha as anchor every knot leans,

    u_i = z_i + (alpha_i - anchor_i) / sigma,     z = Q c + B b,

which makes alpha a function of z and leaves the piecewise linear equations c = alpha(z),
B^T alpha(z) = e.  Newton steps solve them in as many unknowns as there are features or leaning
coordinates, whichever is fewer.  Then the anchor moves to alpha and sigma grows.
"""

from __future__ import annotations

import enum
import math
from typing import Any, NamedTuple

import attrs
import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, cg

from homotopy.arrays import Array, Index
from homotopy.gram import Gram
from homotopy.start.iterate import Iterate, balance
from homotopy.start.tables import Tables
from homotopy.start.tolerances import StartTolerances

__all__ = ["Columns", "Features", "Leaning", "Settled", "solve_newton"]


# Added to every diagonal, so that a column of zeros can be solved for.
LEAST_DAMPING = 1e-300
EPS = float(np.finfo(np.float64).eps)
# Most steps of conjugate gradients.
MOST_STEPS = 500


class Settled(enum.Enum):
    """How the Newton steps at one anchor ended."""

    DONE = "alpha is close enough to the solution for this anchor"
    STUCK = "only rounding is left"
    LIMIT = "the limit of iterations is reached, or no alpha is in balance"
    SPENT = "too many steps; back at the anchor"


class System(NamedTuple):
    """The equations of a Newton step: the leaning coordinates, ``-d alpha / d z`` of each,
    ``Q (alpha - c)``, their border rows, the imbalance, and a damping that holds b where nothing
    else does."""

    active: Index
    stiffness: Array
    pull: Array
    edge: Array
    short: Array
    damp: Array


class Features:
    """``w = phi^T c`` where ``Q = phi phi^T``."""

    # Whether to begin with a full step on the pieces of the anchor.  Not here: only cold starts
    # occur, and their first pieces predict nothing.
    foresees = False

    def __init__(self, phi: Any, tolerances: StartTolerances) -> None:
        n, d = phi.shape
        self.tolerances, many = tolerances, tolerances.dense * n * d
        self.phi = phi.toarray() if sp.issparse(phi) and phi.nnz > many else phi

    def begin(self, alpha: Array) -> Array:
        """Set ``c = alpha``; return Q c."""
        self.w = np.asarray(self.phi.T @ alpha)
        return np.asarray(self.phi @ self.w)

    def pull(self, alpha: Array) -> Array:
        """Return ``Q (alpha - c)``."""
        self.rest = np.asarray(self.phi.T @ alpha) - self.w
        return np.asarray(self.phi @ self.rest)

    def step(self, system: System) -> tuple[Array, Array, float]:
        """Return the Newton step: Q dc, db and the square of dc in the metric of Q."""
        rows, d = self.phi[system.active], self.phi.shape[1]
        if min(d, system.active.size) > self.tolerances.direct:
            dw, db = self._conjugate(rows, system)
        elif d < system.active.size:
            dw, db = self._factored(rows, system)
        else:
            change, db = _bordered(_dense(rows @ rows.T), system, self.tolerances)
            dw = self.rest + np.asarray(rows.T @ change)
        self.dw = dw
        return np.asarray(self.phi @ dw), db, float(dw @ dw)

    def _factored(self, rows: Any, system: System) -> tuple[Array, Array]:
        """Return dw and db by a factorisation in the features."""
        edge, damp, d = system.edge, system.damp, rows.shape[1]
        root = np.sqrt(system.stiffness)[:, None]
        scaled = rows.multiply(root).tocsr() if sp.issparse(rows) else rows * root
        through = np.asarray(scaled.T @ (edge * root))
        H = np.empty((d + damp.size, d + damp.size))
        H[:d, :d] = _dense(scaled.T @ scaled)
        H[:d, d:], H[d:, :d] = through, through.T
        H[d:, d:] = edge.T @ (edge * root**2)
        H[np.diag_indices(d + damp.size)] += np.concatenate([np.ones(d), damp])
        both = _solve(H, np.concatenate([self.rest, -system.short]), self.tolerances)
        return both[:d], both[d:]

    def _conjugate(self, rows: Any, system: System) -> tuple[Array, Array]:
        """Return dw and db by conjugate gradients."""
        stiffness, edge, damp, d = system.stiffness, system.edge, system.damp, rows.shape[1]

        def product(x: Array) -> Array:
            y = stiffness * (np.asarray(rows @ x[:d]) + edge @ x[d:])
            return np.concatenate([x[:d] + np.asarray(rows.T @ y), edge.T @ y + damp * x[d:]])

        square = rows.multiply(rows).tocsr() if sp.issparse(rows) else rows * rows
        diagonal = np.concatenate(
            [1.0 + np.asarray(square.T @ stiffness), (edge**2).T @ stiffness + damp]
        )
        shape = (diagonal.size, diagonal.size)
        both, _ = cg(
            LinearOperator(shape, matvec=product, dtype=float),
            np.concatenate([self.rest, -system.short]),
            rtol=self.tolerances.solved,
            maxiter=MOST_STEPS,
            M=LinearOperator(shape, matvec=lambda x: x / diagonal, dtype=float),
        )
        return both[:d], both[d:]

    def advance(self, length: float) -> None:
        """Set ``c += length * dc``."""
        self.w += length * self.dw


class Columns:
    """c itself, if only columns of Q are known."""

    foresees = True

    def __init__(self, gram: Gram, tolerances: StartTolerances) -> None:
        self.gram, self.tolerances = gram, tolerances

    def begin(self, alpha: Array) -> Array:
        """Set ``c = alpha``; return Q c."""
        self.c = alpha.copy()
        return self.gram.matvec(self.c)

    def pull(self, alpha: Array) -> Array:
        """Return ``Q (alpha - c)``."""
        self.rest = alpha - self.c
        self.lag = self.gram.matvec(self.rest)
        return self.lag

    def step(self, system: System) -> tuple[Array, Array, float]:
        """Return the Newton step: Q dc, db and the square of dc in the metric of Q."""
        active = system.active
        change, db = _bordered(self.gram.block(active, active), system, self.tolerances)
        self.dc = self.rest.copy()
        self.dc[active] += change
        moved = self.lag + self.gram.combine(active, change)
        return moved, db, float(self.dc @ moved)

    def advance(self, length: float) -> None:
        """Set ``c += length * dc``."""
        self.c += length * self.dc


def _dense(matrix: Any) -> Array:
    return np.asarray(matrix.toarray() if sp.issparse(matrix) else matrix)


def _bordered(block: Array, system: System, tolerances: StartTolerances) -> tuple[Array, Array]:
    """Solve ``[block + 1/stiffness, edge; edge^T, -damp] (x, y) = (-pull, short)`` for the leaning
    coordinates."""
    edge, short, damp, right = system.edge, system.short, system.damp, -system.pull[system.active]
    if right.size == 0:
        return right, -short / damp
    K = np.array(block)
    K[np.diag_indices(right.size)] += 1.0 / system.stiffness
    both = _solve(K, np.column_stack([right, edge]), tolerances)
    plain, through = both[:, 0], both[:, 1:]
    y = _solve(edge.T @ through + np.diag(damp), edge.T @ plain - short, tolerances)
    return plain - through @ y, y


def _solve(H: Array, right: Array, tolerances: StartTolerances) -> Array:
    """Solve a positive definite system; by least squares if rounding has made it indefinite."""
    if not right.size:
        return np.zeros(right.shape)
    # (The wrappers of these routines take longer than a small system.)
    _, solution, failed = scipy.linalg.lapack.dposv(H, right, lower=1)
    if failed:
        return np.asarray(np.linalg.lstsq(H, right, rcond=tolerances.singular)[0])
    return np.asarray(solution)


@attrs.frozen(eq=False)
class _Line:
    """The derivative of the leaning problem along a Newton step; it increases from `at_zero`."""

    tables: Tables
    z: Array
    dz: Array
    anchor: Array
    sigma: float
    before: Array
    at_zero: float
    square: float
    work: Array

    def derivative(self, length: float) -> float:
        """Return the derivative at this length of the step."""
        alpha, stiffness = self.work
        self.tables.meet(self.z + length * self.dz, self.anchor, self.sigma, alpha, stiffness)
        # Use differences: near the end everything else cancels.
        alpha -= self.before
        return self.at_zero + length * self.square - float(alpha @ self.dz)

    def search(self) -> float:
        """Return a length at which the derivative is near 0, by false position."""
        low, below, high, above = 0.0, self.at_zero, np.inf, np.inf
        length, tolerances = 1.0, self.tables.tolerances
        for _ in range(tolerances.trials):
            value = self.derivative(length)
            if abs(value) <= -0.1 * self.at_zero or (value < 0.0 and length >= tolerances.far):
                break
            if value < 0.0:
                low, below, above = length, value, 0.5 * above
            else:
                high, above, below = length, value, 0.5 * below
            if not below < above:
                # Rounding has decided the sign of `at_zero`: nothing is bracketed.
                break
            length = 4.0 * low if high == np.inf else low + (high - low) * below / (below - above)
        return length


def solve_newton(at: Iterate, form: Features | Columns) -> None:
    """Move the anchor until alpha hardly moves away from it."""
    leaning, tolerances = Leaning(at, form), at.tolerances
    sigma, growth = at.tables.steepness(at.gram.diag), tolerances.growth
    if not np.any(at.short()):
        off = max(at.violation(), at.tol)
        sigma *= min(max(0.1 * at.tables.scale() / off, 1.0), tolerances.trust)
    for _ in range(tolerances.anchors):
        ended = leaning.settle(sigma)
        if ended is Settled.LIMIT or (ended is Settled.DONE and leaning.left <= 0.9 * at.tol):
            break
        if ended is Settled.STUCK:
            # Only the rounding of z times sigma is left: lean more.
            growth, sigma = 1.0, sigma / tolerances.growth
        elif ended is Settled.SPENT:
            # The step of sigma was too large.
            growth, sigma = math.sqrt(growth), sigma / tolerances.growth
        else:
            sigma *= growth
    at.alpha = leaning.alpha
    at.product = leaning.z - at.border @ at.b + leaning.pull


class Leaning:
    """The problem with leaning knots: ``z = Q c + B b`` such that ``c = alpha(z)``."""

    def __init__(self, at: Iterate, form: Features | Columns) -> None:
        self.at, self.form, self.alpha = at, form, at.alpha
        self.z = form.begin(at.alpha) + at.border @ at.b
        self.stiffness, self.pull = np.empty(self.z.size), np.zeros(self.z.size)
        self.work = np.empty((2, self.z.size))
        self.left = np.inf

    def settle(self, sigma: float) -> Settled:
        """Make Newton steps with the present alpha as anchor."""
        at, anchor, b, tolerances = self.at, self.alpha, self.at.b, self.at.tolerances
        least, idle, length = np.inf, 0, 0.0
        if self.form.foresees and at.iterations < at.limit:
            # z still belongs to a smaller sigma and would drive alpha past the ends of its pieces,
            # from where coordinates would return one by one.  So begin with a step that keeps each
            # on its piece; usually none has to leave it.
            self._look(at.tables.extend, anchor, sigma)
            self._step(anchor, sigma, whole=True)
        for _ in range(tolerances.newtons):
            at.pulse()
            self._look(at.tables.meet, anchor, sigma)
            moved = float(np.abs(self.alpha - anchor).max()) / sigma
            error = float(np.abs(self.pull).max())
            self.left = moved + error
            near = tolerances.balanced if moved <= at.tol else tolerances.loose
            if error <= max(0.4 * at.tol, 0.5 * moved) and np.all(
                np.abs(self.short) <= near * at.weight(self.alpha)
            ):
                return Settled.DONE
            if at.iterations >= at.limit or self.size > tolerances.lost * at.tables.scale():
                return Settled.LIMIT
            idle = idle + 1 if length >= 0.5 and error > 0.9 * least else 0
            least = min(error, least)
            if idle == tolerances.idle:
                if self._knots() or error > tolerances.summed * self._rounding():
                    return Settled.STUCK
                # On slanted pieces an alpha of 16 digits comes no nearer.
                self.left = moved
                return Settled.DONE
            length = self._step(anchor, sigma, whole=False)
        self.alpha, at.b = anchor, b
        self.z, self.pull = self.form.begin(anchor) + at.border @ b, np.zeros(anchor.size)
        return Settled.SPENT

    def _look(self, meet: Any, anchor: Array, sigma: float) -> None:
        """Compute alpha(z), its derivative and the residuals."""
        self.alpha = np.empty(self.z.size)
        meet(self.z, anchor, sigma, self.alpha, self.stiffness)
        self.pull = self.form.pull(self.alpha)
        self.short = self.at.target - balance(self.at.border, self.alpha)
        self.size = float(np.abs(self.z).max())

    def _knots(self) -> bool:
        """Whether any coordinate is inside a knot, where rounding has an effect times sigma."""
        code, tables = self.at.tables.locate(self.alpha), self.at.tables
        return bool(np.any((code % 2 == 0) & (tables.rate[np.arange(code.size), code // 2] == 0.0)))

    def _rounding(self) -> float:
        """Return the rounding of Q alpha caused by that of alpha."""
        root = np.sqrt(self.at.gram.sizes)
        return float(EPS * root.max() * (root @ np.abs(self.alpha)))

    def _step(self, anchor: Array, sigma: float, *, whole: bool) -> float:
        """Make a Newton step, of full length if `whole`, else by line search; return its length."""
        at, active = self.at, np.flatnonzero(self.stiffness)
        # If no coordinate leans, only this damping holds b.
        widest = np.abs(at.border).max(axis=0, initial=0.0)
        damp = np.abs(self.short) * widest / (10.0 * (self.size + at.tol)) + LEAST_DAMPING
        lean = self.stiffness[active]
        system = System(active, lean, self.pull, at.border[active], self.short, damp)
        dq, db, square = self.form.step(system)
        dz, length = dq + at.border @ db, 1.0
        if not whole:
            fall = -square - float(lean @ dz[active] ** 2) - float(damp @ db**2)
            line = _Line(at.tables, self.z, dz, anchor, sigma, self.alpha, fall, square, self.work)
            length = line.search()
        self.form.advance(length)
        self.z += length * dz
        at.b = at.b + length * db
        at.iterations += 1
        return length
