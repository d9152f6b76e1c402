"""The convex problem, and an unfinished solution of it."""

from __future__ import annotations

from collections.abc import Callable

import attrs
import numpy as np

from homotopy.arrays import Array
from homotopy.gram import Gram
from homotopy.model.polyline import Snapshot
from homotopy.start.tables import Tables
from homotopy.start.tolerances import StartTolerances

__all__ = ["ConvexProblem", "Iterate", "balance"]


@attrs.frozen(eq=False)
class ConvexProblem:
    """Find alpha and b with ``u = Q alpha + B b``, ``B^T alpha = e`` and every ``(u_i, alpha_i)``
    on a falling polyline.

    Parameters
    ----------
    gram, border, target
        Q, B of shape (n, m) and e of shape (m,).
    snap : Snapshot
        The polylines.  Infinite corners cut off everything beyond them; a finite jump is refused.
    """

    gram: Gram
    border: Array
    target: Array
    snap: Snapshot


@attrs.define(eq=False)
class Iterate:
    """An unfinished solution: alpha, b and the product Q alpha."""

    gram: Gram
    border: Array
    target: Array
    tables: Tables
    tol: float
    limit: int
    alpha: Array
    b: Array
    product: Array
    pulse: Callable[[], object]
    iterations: int = 0

    @property
    def tolerances(self) -> StartTolerances:
        """The tolerances of the tables."""
        return self.tables.tolerances

    def violation(self) -> float:
        """Return the largest violation of a response."""
        return self.tables.violation(self.alpha, self.product + self.border @ self.b)

    def short(self) -> Array:
        """Return what is missing from ``B^T alpha``, with rounding errors set to 0."""
        if not self.target.size:
            return self.target
        lack = self.target - balance(self.border, self.alpha)
        rounding = self.tolerances.balanced * self.weight(self.alpha)
        return np.where(np.abs(lack) <= rounding, 0.0, lack)

    def weight(self, alpha: Array) -> Array:
        """Return the size of the terms of the balance, at least that of one usual alpha."""
        point = self.tables.point
        one = float(np.abs(point[np.isfinite(point)]).max(initial=0.0))
        border = np.abs(self.border)
        total = balance(border, np.abs(alpha)) + np.abs(self.target)
        return np.asarray(total + one * border.max(axis=0, initial=0.0))


def balance(border: Array, alpha: Array) -> Array:
    """Return ``B^T alpha`` without BLAS: with few columns its threads cost more than they save."""
    return np.asarray(np.einsum("ij,i->j", border, alpha))
