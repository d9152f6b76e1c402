"""What the matrices of a program decide: variables, equations, directions and curvatures."""

from __future__ import annotations

import attrs
import numpy as np
import numpy.typing as npt
import scipy.linalg

from homotopy import DenseGram, Gram, LinearGram, ModelError

__all__ = ["Shape", "clean"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

# In variables scaled to a diagonal of ones: curvature below the first number, times how many there
# are, cannot be told from none, and pivots above the second leave no doubt.
FLAT, STEEP = 16.0 * float(np.finfo(np.float64).eps), 1e-4
# Equations and directions that differ from a combination of others by no more are the same.
DEPENDENT = 1e-11
# What sums leave of their terms where they should be 0.
ROUNDING = 1e-14
# The curvature of a program without forces.  The path of a definite form is the same in all units,
# and those of this one (a power of 4, whose root is exact) leave nothing of it in an objective.
FAINT = 2.0**-200


@attrs.frozen(eq=False)
class Shape:
    """What H and A decide, given which rows are equations (`equal`) and which are met (`index`).

    All of it in scaled variables ``unit * x``, in which H is `bend`:
    ``unit * x = solve @ (right sides) + root @ (w - c) + null @ b``, and with `rows` divided by
    their `length`.  `loose` are directions of no curvature that no row meets, and `still` marks the
    rows that the equations fix.  `curves` are the curvatures and directions that the equations
    leave; those marked in `far` are columns of `null`, at its end, with their curvature in `bent`,
    and a coordinate each.  `factor` is what all units were multiplied by.  In an `idle` program
    neither H nor g has a part along what the equations leave: `root` makes them of curvature FAINT,
    so that x is the solution of least norm in scaled variables.  `lifted` marks the coordinates
    whose alpha is moved away from 0 (`lift`).
    """

    equal: Mask
    index: Index
    unit: Array
    bend: Array
    equations: Array
    solve: Array
    rows: Array
    length: Array
    root: Array
    null: Array
    loose: Array
    features: Array
    still: Mask
    gram: Gram
    border: Array | None
    curves: tuple[Array, Array]
    far: Mask
    bent: Array
    weights: Array
    factor: float
    idle: bool
    lifted: Mask

    @classmethod
    def of(
        cls,
        H: Array,
        A: Array,
        equal: Mask,
        index: Index,
        name: str,
        far: Mask | None = None,
        factor: float = 1.0,
        idle: bool = False,
    ) -> Shape:
        n = H.shape[0]
        every = np.vstack([np.eye(n), A])
        # Variables scaled so that H has a diagonal of ones; those without curvature by their rows.
        unit = np.sqrt(np.maximum(np.diagonal(H), 0.0))
        reach = np.abs(every[np.unique(index)]).max(axis=0, initial=0.0)
        reach = np.where(reach > 0.0, reach, 1.0)
        if factor != 1.0:
            # Among far directions x is of one size in all variables, with curvature or without.
            bent = unit > 0.0
            reach = reach * np.exp(np.mean(np.log(factor * unit[bent] / reach[bent]))) / factor
        unit = factor * np.where(unit > 0.0, unit, reach)
        rows, equations = every[index] / unit, every[equal] / unit
        solve, free = solved(equations)
        bend = H / np.outer(unit, unit)
        values, along = curves_of(free.T @ bend @ free, factor**-2.0, name)
        far = np.zeros(values.size, np.bool_) if far is None else far
        # (A plain factor is nearer to the numbers given than eigenvectors are.  It compares pivots
        # with each other only: where all of them are rounding, that is not seen.)
        plain = None if np.any(far | (values == 0.0)) else factored(free.T @ bend @ free)
        bends = np.full(values.size, FAINT) if idle else np.where(far, 0.0, values)
        root = along[:, bends > 0.0] / np.sqrt(bends[bends > 0.0]) if plain is None else plain
        flat = (bends == 0.0) & ~far
        root, null, long = free @ root, free @ along[:, flat], free @ along[:, far]
        length = np.linalg.norm(rows, axis=1)
        length = np.where(length > 0.0, length, 1.0)
        rows = rows / length[:, None]
        still = np.linalg.norm(rows @ free, axis=1) <= DEPENDENT
        null, loose = met_by(rows, null)
        features, border = (
            clean(rows @ part, np.linalg.norm(part, axis=0)) for part in (root, null)
        )
        features[still], border[still] = 0.0, 0.0
        # A far direction is a column of the border, and its curvature the loss of a coordinate.
        count = int(far.sum())
        meets = clean(rows @ long, np.ones(count))
        meets[still] = 0.0
        border = np.vstack(
            [np.hstack([border, meets]), np.eye(count, border.shape[1] + count, border.shape[1])]
        )
        features = np.vstack([features, np.zeros((count, features.shape[1]))])
        size = max(index.size + count, 1)
        return cls(
            equal=equal,
            index=index,
            unit=unit,
            bend=bend,
            equations=equations,
            solve=solve,
            rows=rows,
            length=length,
            root=root,
            null=np.hstack([null, long]),
            loose=loose,
            features=features[: index.size],
            still=still,
            gram=LinearGram(features) if features.size else DenseGram(np.zeros((size, size))),
            border=border if border.shape[1] else None,
            curves=(values, free @ along),
            far=far,
            bent=np.concatenate([np.zeros(null.shape[1]), values[far]]),
            weights=np.concatenate([values[far], np.zeros(size - index.size - count)]),
            factor=factor,
            idle=idle,
            lifted=np.zeros(size, np.bool_),
        )

    def lift(self, unforced: bool) -> Shape:
        """Move the alphas of rows that meet directions without curvature, or none if some force
        acts along these.

        Without one the multipliers of such rows may all have to be 0, and would be measured by
        their own rounding.
        """
        lifted = np.zeros(self.lifted.size, np.bool_)
        if unforced and self.border is not None:
            lifted = np.any(self.border[:, self.bent == 0.0] != 0.0, axis=1)
        return self if np.array_equal(lifted, self.lifted) else attrs.evolve(self, lifted=lifted)

    def fits(self, equal: Mask, index: Index) -> bool:
        """Whether it is the shape for these equations and rows."""
        return np.array_equal(self.equal, equal) and np.array_equal(self.index, index)


def solved(equations: Array) -> tuple[Array, Array]:
    """S and Z: S e is the solution of least norm of ``E x = e`` (of independent equations among
    them), Z a basis of ``E x = 0``."""
    count, n = equations.shape
    length = np.linalg.norm(equations, axis=1)
    length = np.where(length > 0.0, length, 1.0)
    if count == 0:
        return np.zeros((n, 0)), np.eye(n)
    Q, upper, order = scipy.linalg.qr((equations / length[:, None]).T, pivoting=True)
    rank = int(np.sum(np.abs(np.diagonal(upper)) > DEPENDENT))
    chosen = order[:rank]
    solve = np.zeros((n, count))
    inverse = scipy.linalg.solve_triangular(upper[:rank, :rank], Q[:, :rank].T)
    solve[:, chosen] = inverse.T / length[chosen]
    return solve, Q[:, rank:]


def factored(bend: Array) -> Array | None:
    """R with ``R'MR = 1`` where M is definite beyond doubt."""
    k = bend.shape[0]
    if k == 0:
        return bend
    try:
        lower = np.linalg.cholesky(bend)
    except np.linalg.LinAlgError:
        return None
    if float(np.diagonal(lower).min()) ** 2 <= STEEP * float(np.diagonal(lower).max()) ** 2:
        return None
    inverse = scipy.linalg.solve_triangular(lower, np.eye(k), lower=True)
    return np.asarray(inverse.T)


def curves_of(bend: Array, usual: float, name: str) -> tuple[Array, Array]:
    """Curvatures of a semidefinite M with a diagonal of `usual` or 0, 0 where there is none but
    rounding, and their directions."""
    if not bend.size:
        return np.zeros(0), bend
    values, vectors = np.linalg.eigh(bend)
    most = max(float(np.abs(values).max()), 1e-300)
    if values[0] < -1e-9 * most:
        raise ModelError(
            f"{name}: H is not positive semidefinite (scaled to a diagonal of ones it has the "
            f"curvature {values[0]:.3g}): the program is not convex"
        )
    return np.where(values > values.size * FLAT * max(most, usual), values, 0.0), vectors


def met_by(rows: Array, null: Array) -> tuple[Array, Array]:
    """Directions of `null` that `rows` of length one meet, and those that none meets.

    Of the former each is met by one of as many chosen rows and by none of the others, so that few
    numbers of the border are sums that ought to be 0.
    """
    _, values, turn = np.linalg.svd(rows @ null)
    held = int(np.sum(values > DEPENDENT))
    met, loose = null @ turn[:held].T, null @ turn[held:].T
    if held:
        order = scipy.linalg.qr((rows @ met).T, mode="r", pivoting=True)[1]
        met = scipy.linalg.solve((rows @ met)[order[:held]].T, met.T).T
    return met, loose


def clean(values: Array, size: Array) -> Array:
    """`values` without what is but the rounding of terms of this size."""
    return np.where(np.abs(values) <= ROUNDING * size, 0.0, values)
