"""Portfolios of least variance for every risk tolerance.

    min over w   1/2 w'Sw - t mu'w     subject to   sum w = 1,   lower <= w <= upper,
                                                    lbA <= A w <= ubA

Here alpha is w itself, followed by one entry ``s = A w`` per row of A that is not an equation.
``Q`` is S, bordered by zeros for s; the border holds the equations and ``A w - s = 0``.  An asset
between its bounds is where ``u_i = (Sw + B b)_i`` equals ``t mu_i``, a row between its bounds where
its multiplier is 0:

    upper  |  between: knot at t mu (0 for a row)  |  lower
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt
import scipy.linalg
from scipy.optimize import linprog

from homotopy import (
    DataError,
    DenseGram,
    Homotopy,
    Jump,
    Knot,
    LossModel,
    ModelError,
    Path,
    PathError,
    Slope,
)
from homotopy_plugins.kernels.checks import check_size, matrix, positive

__all__ = ["EfficientFrontier"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]
Group = tuple[npt.ArrayLike, float | None, float | None]

# Equations that differ from a combination of others by no more than this are the same.
DEPENDENT = 1e-11
# A mean return within this fraction of the spread of means is the largest.
TIED = 1e-9
# Weights that differ by no more, in parts of the largest, are the same.
SAME = 1e-10
# The risk tolerance is raised by such steps until the return is the largest, this often at most.
RAISE, RAISES = 16.0, 12


class EfficientFrontier(LossModel):
    """The efficient frontier: the portfolio of least variance for every risk tolerance t.

        min over w   1/2 w'Sw - t mu'w
        subject to   sum w = 1,   lower <= w <= upper,   lbA <= A w <= ubA

    Parameters
    ----------
    mean : array (n,)
        mu, the expected return of each asset.
    covariance : array (n, n)
        S, symmetric and positive semidefinite.
    lower, upper : numbers or arrays (n,)
        Bounds of each weight, possibly infinite.
    groups : sequence of (members, low, high), optional
        The weights of the assets `members` (their indices) sum to between low and high (None or
        infinite where there is no bound).  Groups may overlap.
    A : array or scipy sparse matrix (m, n), optional
        Any further rows, between `lbA` and `ubA` (numbers or arrays; None or infinite where there
        is no bound).  Equal bounds make an equation.
    budget : float
        What the weights sum to.
    most : float, optional
        The largest risk tolerance.  By default one at which the return is as large as it can be, so
        that the path is the whole frontier.

    Notes
    -----
    The path goes from `most`, the end of largest return, to 0, the portfolio of least variance.
    `Path.solution` is w, `Path.objective` the objective above, and the break-points are the turning
    points: between two of them the weights are straight lines in t.  From `most` down to the first
    turning point nothing moves.
    """

    parameter, unknown = "risk tolerance", "alpha"

    def __init__(
        self,
        mean: npt.ArrayLike,
        covariance: Any,
        *,
        lower: npt.ArrayLike = 0.0,
        upper: npt.ArrayLike = 1.0,
        groups: Sequence[Group] | None = None,
        A: Any = None,
        lbA: npt.ArrayLike | None = None,
        ubA: npt.ArrayLike | None = None,
        budget: float = 1.0,
        most: float | None = None,
    ) -> None:
        name = type(self).__name__
        self.mean = _numbers(mean, None, "mean", name)
        n = self.mean.size
        self.covariance = _covariance(covariance, n, name)
        rows = np.zeros((0, n)) if A is None else _rows(A, n, name)
        m = len(rows)
        if A is None and (lbA is not None or ubA is not None):
            raise DataError(f"{name}: lbA and ubA bound the rows of A, and there is no A")
        low = _bound(-np.inf if lbA is None else lbA, m, "lbA", name)
        high = _bound(np.inf if ubA is None else ubA, m, "ubA", name)
        for group in groups or ():
            if not isinstance(group, Sequence) or len(group) != 3:
                raise DataError(
                    f"{name}: a group is (members, low, high), got {group!r}; groups is a "
                    "list of these"
                )
            members, least, greatest = group
            least = -np.inf if least is None else least
            greatest = np.inf if greatest is None else greatest
            rows = np.vstack([rows, _group(members, n, name)])
            low = np.append(low, _bound(least, 1, "the lower end of a group", name))
            high = np.append(high, _bound(greatest, 1, "the upper end of a group", name))
        total = _numbers([budget], 1, "budget", name)
        self.A = np.vstack([np.ones(n), rows])
        self.lbA, self.ubA = np.append(total, low), np.append(total, high)
        self.lower, self.upper = _bound(lower, n, "lower", name), _bound(upper, n, "upper", name)
        for below, above, what in ((self.lower, self.upper, "asset"), (low, high, "row")):
            if np.any(below > above):
                i = int(np.argmax(below > above))
                raise DataError(
                    f"{name}: {what} {i} must be at least {below[i]:g} and at most {above[i]:g}"
                )
        self._declare()
        if most is not None:
            self.span = (positive(most, "most", name), 0.0)
        else:
            self.span = (self._whole_frontier(), 0.0)

    def _declare(self) -> None:
        """Quadratic form, border and bounds of (w, s)."""
        n = self.mean.size
        equal = self.lbA == self.ubA
        chosen = np.flatnonzero(equal)[_independent(self.A[equal])]
        loose = np.flatnonzero(~equal & (np.isfinite(self.lbA) | np.isfinite(self.ubA)))
        k, count = loose.size, n + loose.size
        form = np.zeros((count, count))
        form[:n, :n] = self.covariance
        self.gram = DenseGram(form)
        self.border = np.zeros((count, chosen.size + k))
        self.border[:n] = np.vstack([self.A[chosen], self.A[loose]]).T
        self.border[n:, chosen.size :] = -np.eye(k)
        self.border_target = np.concatenate([self.lbA[chosen], np.zeros(k)])
        self._least = np.concatenate([self.lower, self.lbA[loose]])
        self._greatest = np.concatenate([self.upper, self.ubA[loose]])
        # A return that all assets have changes nothing.  Where none has any, all knots would be at
        # 0, and responses there measured by their own rounding.
        self._common = 0.0 if self.mean.any() else 1.0
        self._price = np.concatenate([self.mean + self._common, np.zeros(k)])

    def polyline(self, t: Any) -> Sequence[Slope | Knot | Jump]:
        return (
            Slope("upper", self._greatest),
            Knot("between", t * self._price),
            Slope("lower", self._least),
        )

    def solution(self, t: float, alpha: Array, b: Array) -> Array:
        """The weights."""
        return alpha[: self.mean.size]

    def objective_constant(self, t: float) -> float:
        return t * self._common * float(self.lbA[0])

    # ------------------------------------------------------------------ reading a path

    def turning_points(self, path: Path) -> tuple[Array, Array]:
        """The risk tolerances at which the weights bend, in the order of the path, and the weights
        there, one row each.  The first is the one from which on nothing moves any more."""
        self._check_own(path)
        t = path.breakpoints
        weights = path.solution(t)
        moved = np.abs(weights - weights[0]).max(axis=1) > SAME * np.abs(weights[0]).max()
        first = max(int(np.argmax(moved)) - 1, 0) if np.any(moved) else t.size - 1
        return t[first:], weights[first:]

    def risk_and_return(self, path: Path, t: Any) -> tuple[Any, Any]:
        """Standard deviation and expected return of the portfolio at `t`, a number or an array."""
        self._check_own(path)
        weights = path.solution(t)
        variance = np.einsum("...i,ij,...j->...", weights, self.covariance, weights)
        return np.sqrt(np.maximum(variance, 0.0)), weights @ self.mean

    def _check_own(self, path: Path) -> None:
        if not isinstance(path, Path) or path.model is not self:
            raise PathError(f"{type(self).__name__}: that path is of another model; ask path.model")

    # ------------------------------------------------------------------ the end of largest return

    def _whole_frontier(self) -> float:
        """A risk tolerance at which the return is as large as it can be."""
        best = self._largest_return()
        gain, spread = self._gains()
        # By so much the return falls with a weight that leaves its bound, and the gradient of the
        # variance must not outweigh it.
        fall = best.fall[best.fall > TIED * spread]
        unit = self._unit()
        size = 2.0 * float(np.ptp(self.covariance @ best.x))
        size = size or float(np.abs(self.covariance).max()) * unit
        t = (size or 1.0) / float(fall.min(initial=spread))
        path: Path | None = None
        for _ in range(RAISES):
            self.span = (t, t)
            path = Homotopy(self).trace(start=None if path is None else (path, path.traced[0]))
            short = float(gain @ (best.x - path.solution(t)))
            if short <= TIED * spread * unit:
                return t
            t *= RAISE
        raise ModelError(
            f"{type(self).__name__}: at a risk tolerance of {t:.3g} the return is still "
            f"{short:.3g} short of the largest; make nearly tied means equal, or say `most`"
        )

    def _gains(self) -> tuple[Array, float]:
        """By how much each mean return exceeds the least, and the largest of these (1 if all are
        equal).  As weights sum to the budget, only such differences matter."""
        gain = self.mean - self.mean.min()
        return gain, float(gain.max()) or 1.0

    def _largest_return(self) -> _Best:
        """The linear program of the largest return; refuse bounds that no portfolio keeps.

        The tolerances of its solver are absolute numbers, so that it is solved without units:
        returns in parts of their spread, weights in parts of `_unit`, rows of A of size 1.
        """
        name, (gain, spread), unit = type(self).__name__, self._gains(), self._unit()
        size = np.abs(self.A).max(axis=1)
        rows = self.A / np.where(size > 0.0, size, 1.0)[:, None]
        low, high = (side / np.where(size > 0.0, size, 1.0) / unit for side in (self.lbA, self.ubA))
        below, above = np.isfinite(high), np.isfinite(low)
        found = linprog(
            -gain / spread,
            A_ub=np.vstack([rows[below], -rows[above]]),
            b_ub=np.concatenate([high[below], -low[above]]),
            bounds=np.column_stack([self.lower, self.upper]) / unit,
        )
        if found.status == 2:
            raise DataError(
                f"{name}: no portfolio keeps all bounds (budget, lower, upper, groups and A)"
            )
        if found.status == 3:
            raise ModelError(
                f"{name}: the return is unbounded; bound every weight, or say how far to go: `most`"
            )
        if found.status:
            raise ModelError(f"{name}: the largest return was not found: {found.message}")
        multipliers = np.concatenate([found.lower.marginals, found.upper.marginals])
        return _Best(x=unit * found.x, fall=spread * np.abs(multipliers))

    def _unit(self) -> float:
        """The size of the weights: the budget, or that of the bounds where assets can be sold
        short for others."""
        sizes = [np.abs(side[np.isfinite(side)]) for side in (self.lower, self.upper)]
        short = min(float(side.max()) if side.size else np.inf for side in sizes)
        unit = max(abs(float(self.lbA[0])), short if np.isfinite(short) else 0.0)
        return unit or 1.0


@attrs.frozen(eq=False)
class _Best:
    """A portfolio of largest return, and by how much the return falls with each weight that leaves
    its lower or its upper bound."""

    x: Array
    fall: Array


# ---------------------------------------------------------------------- input


def _numbers(values: Any, count: int | None, what: str, name: str) -> Array:
    try:
        array = np.array(values, dtype=float)
    except (TypeError, ValueError):
        raise DataError(f"{name}: {what} must be numbers") from None
    if array.ndim != 1 or array.size == 0 or (count is not None and array.size != count):
        wanted = "one number per asset" if count is None else f"{count} numbers"
        raise DataError(f"{name}: {what} must be {wanted}, got shape {array.shape}")
    if not np.all(np.isfinite(array)):
        i = int(np.argmax(~np.isfinite(array)))
        raise DataError(f"{name}: {what}[{i}] is {array[i]}; it must be finite")
    check_size(array, what, name)
    return array


def _covariance(values: Any, n: int, name: str) -> Array:
    array = matrix(values, "covariance", name)
    if array.shape != (n, n):
        raise DataError(f"{name}: covariance must be {n} x {n} as mean has {n}, got {array.shape}")
    size = float(np.abs(array).max())
    if float(np.abs(array - array.T).max()) > 1e-8 * size:
        raise DataError(f"{name}: covariance is not symmetric; use (S + S.T) / 2 if that is meant")
    array = 0.5 * (array + array.T)
    least = float(np.linalg.eigvalsh(array)[0])
    if least < -1e-9 * n * size:
        raise DataError(
            f"{name}: covariance is not positive semidefinite (it has the eigenvalue {least:.3g})"
        )
    return array


def _rows(values: Any, n: int, name: str) -> Array:
    array = matrix(values, "A", name)
    if array.shape[1] != n:
        raise DataError(f"{name}: A must have {n} columns, one per asset, got {array.shape}")
    return array


def _bound(values: Any, count: int, what: str, name: str) -> Array:
    try:
        array = np.array(np.broadcast_to(np.asarray(values, dtype=float), (count,)))
    except (TypeError, ValueError):
        raise DataError(
            f"{name}: {what} must be {count} numbers (or one), got shape {np.shape(values)}"
        ) from None
    if np.any(np.isnan(array)):
        raise DataError(f"{name}: {what}[{int(np.argmax(np.isnan(array)))}] is nan")
    check_size(array[np.isfinite(array)], what, name)
    return array


def _group(members: Any, n: int, name: str) -> Array:
    index = np.asarray(members)
    if index.dtype == bool and index.shape == (n,):
        index = np.flatnonzero(index)
    if index.ndim != 1 or index.dtype.kind not in "iu" or np.any((index < 0) | (index >= n)):
        raise DataError(
            f"{name}: the members of a group must be indices from 0 to {n - 1}, got {members!r}"
        )
    return np.asarray(np.isin(np.arange(n), index), dtype=float)


def _independent(rows: Array) -> Index:
    """Rows that all of them are combinations of."""
    length = np.linalg.norm(rows, axis=1)
    scaled = rows / np.where(length > 0.0, length, 1.0)[:, None]
    upper, order = scipy.linalg.qr(scaled.T, mode="r", pivoting=True)
    rank = int(np.sum(np.abs(np.diagonal(upper)) > DEPENDENT))
    return np.sort(np.asarray(order[:rank], dtype=np.int64))
