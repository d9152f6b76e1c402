"""The equations of a segment solved in more digits than a double has.

For given pieces (theory.md, equation 3) alpha of the active coordinates, b and, where features are
explicit, w solve

    D alpha_A + F_A w + B_A b = k_A        F^T alpha - w = 0        B^T alpha = e

and their rates along the path the same with other right-hand sides.  With w an unknown of its own
nothing is squared: a triangular factor of Q_AA has the square of the condition of the features, and
where alpha is large beside ``w = F^T alpha`` (slanted pieces beside large features) w has no digit
left that does not come from the first line.

Residuals are in extended precision (on x86 a mantissa of 64 bits; elsewhere that of a double, and
less is gained), elimination is with complete pivoting.  It ends as soon as what is left is
rounding: in a system near singular alpha is moved no farther than its equations ask for.
"""

from __future__ import annotations

import attrs
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from homotopy.model import Problem

__all__ = ["Equations", "Solution", "affine"]

Array = npt.NDArray[np.float64]
Long = npt.NDArray[np.longdouble]
Index = npt.NDArray[np.int64]

EPS = float(np.finfo(np.float64).eps)
# Unknowns of one system, and numbers in the features, above which it takes too long.
WIDEST, LARGEST = 400, 2_000_000
# Knots are equations, beside which curvature and |w|^2 are small: by this factor in a system that
# is scaled to 1.
STRICT = 1e4
# Pivots below this fraction of the largest are rounding.
TINY = 1e-18
ROUNDS = 3
# What rounding leaves of numbers that are given, beside that of those that are solved for.
LITTLE = 1e-3


@attrs.frozen
class Solution:
    """alpha of the active coordinates, b, and w where features are explicit (else empty)."""

    alpha: Array
    b: Array
    w: Long


def affine(at: Array, rate: Array, t: float) -> Long:
    """``at + rate * t`` in all digits."""
    return np.asarray(at.astype(np.longdouble) + rate.astype(np.longdouble) * np.longdouble(t))


class Equations:
    """The left-hand sides of a problem."""

    def __init__(self, problem: Problem) -> None:
        self.gram, features = problem.gram, problem.gram.features()
        self.phi: Long | None = None
        if features is not None and features.shape[0] * features.shape[1] <= LARGEST:
            dense = features.toarray() if sp.issparse(features) else features
            self.phi = np.asarray(dense, np.longdouble)
        self.border = np.asarray(problem.border, np.longdouble)
        self.length = np.sqrt(problem.gram.sizes)
        self.wide = features is not None and self.phi is None

    def size(self, actives: int) -> int:
        """Unknowns of a system with so many active coordinates; one too large is not solved."""
        width = 0 if self.phi is None else self.phi.shape[1]
        size = actives + self.border.shape[1] + width
        return size if size <= WIDEST and not self.wide else 0

    def solve(
        self,
        active: Index,
        share: Array,
        aim: tuple[Long, Array],
        target: tuple[Long, Array],
        alpha: Array,
        b: Array,
    ) -> Solution:
        """The solution near `alpha` (of all coordinates; those not active stay) and `b`.

        `share` is the diagonal of D; `aim` is k_A and `target` is e, each with the size of the
        terms it is made of.
        """
        border, phi, rows = self.border, self.phi, active.size
        mine, diagonal = border[active], share.astype(np.longdouble)
        a, c = alpha.astype(np.longdouble), b.astype(np.longdouble)
        w = np.zeros(0, np.longdouble) if phi is None else phi.T @ a
        system = None
        for _ in range(ROUNDS):
            size, weight = np.abs(a), np.abs(border)
            rest = rest_terms = w
            if phi is None:
                u, terms = self._response(active, a), self.length[active] * (self.length @ size)
            else:
                u, terms = phi[active] @ w, np.abs(phi[active]) @ np.abs(w)
                rest, rest_terms = w - phi.T @ a, np.abs(phi).T @ size
            left = [aim[0] - diagonal * a[active] - u - mine @ c, target[0] - border.T @ a, rest]
            terms = terms + weight[active] @ np.abs(c) + aim[1] + diagonal * size[active]
            # Those that are not active are given: rounding is in the others.
            own = weight[active].T @ size[active]
            enough = [terms, own + LITTLE * (weight.T @ size) + target[1], rest_terms]
            right, slack = np.concatenate(left), np.concatenate(enough) * np.longdouble(EPS)
            if not np.all(np.isfinite(right)) or np.all(np.abs(right) <= slack):
                break
            system = system or self._system(active, diagonal)
            move = _eliminate(*system, right, slack)
            a[active] += move[:rows]
            c += move[rows : rows + b.size]
            w += move[rows + b.size :]
        return Solution(a[active].astype(float), c.astype(float), w)

    def _response(self, rows: Index, alpha: Long) -> Long:
        used = np.flatnonzero(alpha)
        return np.asarray(self.gram.block(rows, used) @ alpha[used])

    def _system(self, active: Index, share: Long) -> tuple[Long, Long]:
        """The matrix, scaled, and the scales."""
        n, m, phi = active.size, self.border.shape[1], self.phi
        width = 0 if phi is None else phi.shape[1]
        matrix = np.zeros((n + m + width, n + m + width), np.longdouble)
        matrix[:n, n : n + m] = self.border[active]
        matrix[n : n + m, :n] = self.border[active].T
        length = self.length[active].astype(np.longdouble)
        strict = 1.0
        if phi is None:
            matrix[:n, :n] = self.gram.block(active, active)
            own = np.sqrt(length**2 + share)
        else:
            matrix[:n, n + m :], matrix[n + m :, :n] = phi[active], phi[active].T
            matrix[n + m :, n + m :] = -np.eye(width)
            soft = np.sqrt(np.where(share > 0.0, share, 1.0))
            # No row on a slanted piece weighs more than a knot.
            strict = max(STRICT, float(np.max(length / soft, where=share > 0.0, initial=0.0)))
            own = np.where(share > 0.0, soft, length / strict)
        matrix[np.arange(n), np.arange(n)] += share
        scale = np.ones(len(matrix), np.longdouble)
        scale[:n] = 1.0 / np.where(own > 0.0, own, 1.0)
        beside = np.abs(matrix[:n, n : n + m] * scale[:n, None]).max(axis=0, initial=0.0)
        scale[n : n + m] = strict / np.where(beside > 0.0, beside, 1.0)
        return matrix * np.outer(scale, scale), scale


def _eliminate(matrix: Long, scale: Long, right: Long, slack: Long) -> Long:
    """A solution of ``matrix x = right`` to within `slack`, with few unknowns other than 0."""
    a, x = matrix.copy(), np.zeros(len(matrix), np.longdouble)
    right, slack = right * scale, slack * scale
    order, rank = np.arange(x.size), x.size
    largest = np.abs(a).max(initial=0.0)
    for k in range(x.size):
        rest = np.abs(a[k:, k:])
        i, j = divmod(int(np.argmax(rest)), len(rest))
        if np.all(np.abs(right[k:]) <= slack[k:]) or not rest[i, j] > TINY * largest:
            rank = k
            break
        i, j = i + k, j + k
        for rows in (a, right, slack):
            rows[[k, i]] = rows[[i, k]]
        a[:, [k, j]], order[[k, j]] = a[:, [j, k]], order[[j, k]]
        factor = a[k + 1 :, k] / a[k, k]
        a[k + 1 :, k:] -= np.outer(factor, a[k, k:])
        right[k + 1 :] -= factor * right[k]
    for k in range(rank - 1, -1, -1):
        x[order[k]] = (right[k] - a[k, k + 1 : rank] @ x[order[k + 1 : rank]]) / a[k, k]
    return np.asarray(scale * x)
