"""Any convex quadratic program whose vectors move along a line.

    min over x   1/2 x'Hx + g(t)'x     subject to   lb(t) <= x <= ub(t),   lbA(t) <= A x <= ubA(t)

Rows of ``C = [I; A]`` whose two bounds are one number are equations.  They leave

    x = p(t) + Z z,    p(t) their solution of least norm, Z a basis of the directions left free.

On Z the form H splits into R with ``R'HR = I`` and N with ``HN = 0`` (N is empty where H is
definite, and everything where H = 0).  With ``x = p + R (w - c) + N b`` and ``c(t) = R'(g + Hp)``
the program reads

    min over w, b   1/2 |w|^2 + e(t)'b     subject to   low_i(t) <= u_i <= high_i(t),

where ``u = CR w + CN b``, ``e = N'(g + Hp)`` and the bounds are shifted by ``CRc - Cp``.  The loss
of a row is 0 between its bounds and infinite beyond them, so that its polyline is

    +inf  |  lower: knot at low  |  inside: 0  |  upper: knot at high  |  -inf

and alpha is the multiplier of the row (all of it in variables and rows scaled to one size).

Where H hardly bends, ``c`` is far beyond the bounds and x would be a difference of large numbers: a
multiplier right to 16 digits leaves few of x.  Such a direction v of curvature k is *far*.  It is
a column of N, so that b holds x itself, and ``k b^2 / 2`` is the loss of a coordinate of its own
with ``u = b``: one slanted piece.

The certificate measures the program as it was given as well (`ParametricQP.residuals`).
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Self

import attrs
import numpy as np
import numpy.typing as npt
import scipy.linalg
from scipy.optimize import linprog

from homotopy import (
    Affine,
    DataError,
    DenseGram,
    Gram,
    Jump,
    Knot,
    LinearGram,
    LossModel,
    ModelError,
    Path,
    PathError,
    PathSequence,
    Residual,
    Slope,
)
from homotopy_plugins.kernels.checks import check_size, matrix

__all__ = ["ParametricQP"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Line = tuple[Array, Array]

VECTORS = ("g", "lb", "ub", "lbA", "ubA")
MISSING = {"lb": -np.inf, "ub": np.inf, "lbA": -np.inf, "ubA": np.inf}
# In variables scaled to a diagonal of ones: curvature below the first number is none, and pivots
# above the second leave no doubt.
FLAT, STEEP = 1e-12, 1e-4
# Equations and directions that differ from a combination of others by no more are the same.
DEPENDENT = 1e-11
# Two bounds this near to each other, in parts of their size, are one number.
SAME = 1e-14
# Where H alone would take x this many times further than its bounds are, a direction is far.  Below
# that x loses as many digits, five of sixteen; each far direction costs a border column.
FAR = 1e5
# No more than this is allowed for numbers of which x is a difference.
REACH = 1000.0
# The alpha of a far direction is moved away from 0 by this part of all forces, and its equation
# with it: 1e-8 of that is their rounding.
HELD = 1e-6
# That part may be off by this factor.
RIGHT = 10.0
# What sums leave of their terms where they should be 0.
ROUNDING = 1e-14
# Rows named in a message at most.
NAMED = 6
# A linear program finds t to within the first number; smaller multipliers are rounding.
NEARBY, PRESSING = 1e-6, 1e-9
# A multiplier is none where it is no more than this part of all forces.
IDLE = 1e-8
# What an equation that follows from others may be off by, in parts of its terms.
AGREES = 1e-9


class ParametricQP(LossModel):
    """The solution of a convex quadratic program for every t while its vectors move along a line.

        min over x   1/2 x'Hx + g(t)'x   subject to   lb(t) <= x <= ub(t),  lbA(t) <= A x <= ubA(t)

    with t from 0 to 1.

    Parameters
    ----------
    H : array or scipy sparse matrix (n, n)
        Symmetric and positive semidefinite, at least where the equations leave x free; with H = 0
        the program is linear.
    g, lb, ub : vectors of n, or single numbers
        Each of them fixed (a number, a list or an array), a tuple of two for its values at t = 0
        and t = 1, or an `Affine`.  A bound that is not there is None or infinite.
    A : array or scipy sparse matrix (m, n), optional
    lbA, ubA : vectors of m, or single numbers
        Likewise.

    Notes
    -----
    `Path.solution` is x, `Path.objective` the objective above; `multipliers` and `active_rows` tell
    the rest.  Bounds that are equal at both ends make an equation.  Where no x is left from some t
    on, or the objective falls for ever, the trace ends in a `TraceError` that says so: where, and
    which rows contradict each other.  Its `path` is the path up to there.

    Rows are numbered with the bounds of x first: 0 to n - 1 are the variables, n to n + m - 1 the
    rows of A.  Signs: at an optimum ``Hx + g = [I; A]'y``, with y positive at a lower bound
    only and negative at an upper bound only.

    `Path.certify` has three checks more: feasibility, stationarity and complementarity of x and y
    in the numbers given here, each row relative to its own terms.

    H is factored once.  `following` makes the model of the next program of a sequence with the same
    factors, and `sequence` traces one after another, each from the end of the one before.
    """

    span = (0.0, 1.0)

    def __init__(
        self,
        H: Any,
        g: Any,
        *,
        A: Any = None,
        lb: Any = None,
        ub: Any = None,
        lbA: Any = None,
        ubA: Any = None,
    ) -> None:
        name = type(self).__name__
        form = matrix(H, "H", name)
        n = form.shape[0]
        if n == 0 or form.shape[1] != n:
            raise DataError(f"{name}: H must be square and not empty, got shape {form.shape}")
        off = float(np.abs(form - form.T).max())
        if off > 1e-8 * float(np.abs(form).max()):
            raise DataError(
                f"{name}: H is not symmetric (entries differ by {off:.3g}); use (H + H.T) / 2 if "
                "that is meant"
            )
        rows = np.zeros((0, n)) if A is None else matrix(A, "A", name)
        if rows.shape[1] != n:
            raise DataError(
                f"{name}: A must have {n} columns, one per variable, got shape {rows.shape}"
            )
        if A is None and (lbA is not None or ubA is not None):
            raise DataError(f"{name}: lbA and ubA bound the rows of A, and there is no A")
        self.H, self.A = 0.5 * (form + form.T), rows
        self._vectors: dict[str, Array] = {}
        self._shape: _Shape | None = None
        self._held_by = 0.0
        self._take({"g": g, "lb": lb, "ub": ub, "lbA": lbA, "ubA": ubA})

    def _take(self, vectors: Mapping[str, Any]) -> None:
        """Check the vectors, each with its values at both ends, and set up what depends on them."""
        name = type(self).__name__
        for key, value in vectors.items():
            count = self.A.shape[key in ("g", "lb", "ub")]
            self._vectors[key] = _ends(value, count, key, name)
        low, high = self._bounds()
        size = np.maximum(np.abs(low), np.abs(high))
        with np.errstate(invalid="ignore"):
            near = np.isfinite(size) & (np.abs(high - low) <= SAME * size)
        crossed = (low > high) & ~near
        if np.any(crossed[0]):
            i = int(np.argmax(crossed[0]))
            raise DataError(
                f"{name}: infeasible at t=0: {self._row(i)} must be at least {low[0, i]:g} and at "
                f"most {high[0, i]:g}"
            )
        equal = np.asarray(near.all(axis=0))
        met = ~equal & (np.isfinite(low[0]) | np.isfinite(high[0]))
        # Bounds that pass each other are two coordinates with one bound each.
        twice = np.flatnonzero(met & crossed[1])
        index = np.concatenate([np.flatnonzero(met), twice])
        if self._shape is None or not self._shape.fits(equal, index):
            self._shape = _Shape.of(self.H, self.A, equal, index, name)
        far, factor = self._far(self._shape, low, high)
        if np.any(far) and self._shape.factor == 1.0:
            even = _Shape.of(self.H, self.A, equal, index, name, None, factor)
            far, factor = self._far(even, low, high)
            self._shape = _Shape.of(self.H, self.A, equal, index, name, far, factor)
        elif np.any(far & ~self._shape.far):
            far, factor = far | self._shape.far, self._shape.factor
            self._shape = _Shape.of(self.H, self.A, equal, index, name, far, factor)
        self._place(self._shape, low, high, twice.size)

    def _far(self, shape: _Shape, low: Array, high: Array) -> tuple[Mask, float]:
        """The directions along which H alone would take x far beyond where its bounds are, and the
        factor of all units with which forces and x are of one size."""
        values = shape.curves[0]
        if shape.index.size == 0:
            return np.zeros(values.size, np.bool_), shape.factor
        point = 0.5 * (low[:, shape.equal] + high[:, shape.equal]) @ shape.solve.T
        slant = self._vectors["g"] / shape.unit + point @ shape.bend
        # (Multipliers are as large as all forces, whatever their part along a direction is.)
        near = self._near(shape, low, high, point, slant)
        pull = max(float(_lengths(slant).max()), near * float(values.max(initial=0.0)))
        if not near > 0.0:
            return np.zeros(values.size, np.bool_), shape.factor
        far = np.asarray((values > 0.0) & (pull > FAR * near * values))
        return far, shape.factor * float(np.sqrt(pull / near))

    def _near(self, shape: _Shape, low: Array, high: Array, point: Array, slant: Array) -> float:
        """How long x is, in scaled variables, as far as its bounds and equations tell; without any
        that is not 0, a step down the steepest direction."""
        places = np.abs(np.stack([low, high])[:, :, shape.index] / shape.length)
        places = places[np.isfinite(places) & (places > 0.0)]
        near = max(float(np.median(places)) if places.size else 0.0, float(_lengths(point).max()))
        if near > 0.0:
            return near
        steepest = float(np.abs(shape.curves[0]).max(initial=0.0))
        return float(_lengths(slant).max()) / steepest if steepest > 0.0 else 0.0

    def _place(self, shape: _Shape, low: Array, high: Array, twice: int) -> None:
        """Corners and targets; the last `twice` coordinates are upper bounds of earlier ones."""
        fixed = 0.5 * (low[:, shape.equal] + high[:, shape.equal])
        self._point = fixed @ shape.solve.T
        slant = self._vectors["g"] / shape.unit + self._point @ shape.bend
        self._refuse(shape, fixed, slant)
        self._size = self._near(shape, low, high, self._point, slant)
        self._shift = slant @ shape.root
        move = self._shift @ shape.features.T - self._point @ shape.rows.T
        terms = _lengths(self._shift) * _lengths(shape.features).T
        terms += _lengths(self._point) * _lengths(shape.rows).T
        low, high = (_sum(v[:, shape.index] / shape.length, move, terms) for v in (low, high))
        # Rows that the equations leave no freedom, and that hold: nothing meets them.
        slack = AGREES * terms
        idle = shape.still & np.all((low <= slack) & (high >= -slack), axis=0)
        low[:, idle], high[:, idle] = -np.inf, np.inf
        first = shape.index.size - twice
        high[:, :first][:, np.isin(shape.index[:first], shape.index[first:])] = np.inf
        low[:, first:] = -np.inf
        # Far directions meet nothing; without rows the engine wants a coordinate all the same.
        idle = np.full((2, shape.gram.size - shape.index.size), np.inf)
        low, high = np.hstack([low, -idle]), np.hstack([high, idle])
        self._low, self._high = _line(low), _line(high)
        self._bends = np.concatenate([np.zeros(first + twice), shape.weights])
        # What is left of alpha there after all forces cancel is known to the rounding of these.
        forces = max(
            float(_lengths(slant).max()), self._size * float(shape.curves[0].max(initial=0.0))
        )
        # How much larger the numbers are that x is a difference of, along what is not far.
        bends = shape.curves[0][(shape.curves[0] > 0.0) & ~shape.far]
        least = self._size * float(bends.min(initial=np.inf))
        self._reach = min(max(1.0, forces / least), REACH) if 0.0 < least < np.inf else 1.0
        # The same number as in the program before, where it is still about right: then alpha is
        # the same there as well, and the next path can go on from it at once.
        held, before = HELD * forces, self._held_by
        self._held_by = before if held / RIGHT <= before <= held * RIGHT else held
        self._held = np.where(self._bends > 0.0, self._held_by, 0.0)
        self._wall = np.where(self._bends > 0.0, 0.0, np.inf)
        self.gram, self.border = shape.gram, shape.border
        if shape.border is not None:
            size = _lengths(slant) * np.linalg.norm(shape.null, axis=0)
            target = _clean(slant @ shape.null, np.where(shape.bent > 0.0, 0.0, 100.0 * size))
            target = target + np.where(shape.bent > 0.0, self._held_by, 0.0)
            self.border_target = Affine(target[0], target[1] - target[0])

    def _refuse(self, shape: _Shape, fixed: Array, slant: Array) -> None:
        """Equations without a solution, and directions along which nothing ever stops x."""
        name = type(self).__name__
        off = np.abs(self._point @ shape.equations.T - fixed)
        terms = _lengths(self._point) * _lengths(shape.equations).T + np.abs(fixed)
        wrong = off > AGREES * terms
        if np.any(wrong):
            i = int(np.flatnonzero(shape.equal)[np.argmax(wrong.any(axis=0))])
            raise DataError(
                f"{name}: infeasible {_from(wrong)}: the equation of {self._row(i)} contradicts "
                "the other equations"
            )
        falls = np.abs(slant @ shape.loose) > AGREES * _lengths(slant)
        if np.any(falls):
            along = shape.loose[:, int(np.argmax(falls.any(axis=0)))] / shape.unit
            j = int(np.argmax(np.abs(along)))
            raise DataError(
                f"{name}: unbounded {_from(falls)}: g falls along a direction that H does not bend "
                f"and no bound meets (x[{j}] moves most on it); add bounds, or a little to H"
            )

    def polyline(self, t: Any) -> Sequence[Slope | Knot | Jump]:
        return (
            Slope("below", self._held + self._wall, curvature=self._bends),
            Knot("lower", self._low[0] + t * self._low[1]),
            Slope("inside", self._held, curvature=self._bends),
            Knot("upper", self._high[0] + t * self._high[1]),
            Slope("above", self._held - self._wall, curvature=self._bends),
        )

    def solution(self, t: float, alpha: Array, b: Array) -> Array:
        """x at t."""
        return np.asarray(self._solutions(np.array([t]), alpha[None], b[None])[0])

    def _solutions(self, t: Array, alpha: Array, b: Array) -> Array:
        """x at each t, one row for each."""
        shape, t = self._made, t[:, None]
        inner = alpha[:, : shape.index.size] @ shape.features - _at(self._shift, t)
        scaled = _at(self._point, t) + inner @ shape.root.T + b @ shape.null.T
        return np.asarray(scaled / shape.unit)

    def loss_origin(self, t: float) -> Array:
        low, high = (line[0] + t * line[1] for line in (self._low, self._high))
        return np.where(np.isfinite(low), low, np.where(np.isfinite(high), high, 0.0))

    def objective_constant(self, t: float) -> float:
        point, shift = _at(self._point, t) / self._made.unit, _at(self._shift, t)
        own = 0.5 * point @ self.H @ point + _at(self._vectors["g"], t) @ point
        return float(own - 0.5 * shift @ shift)

    # ------------------------------------------------------------------ reading a path

    def multipliers(self, path: Path, t: Any, side: str = "after") -> Array:
        """The multipliers y of all rows at `t`: one entry per variable, then one per row of A.

        ``Hx + g = [I; A]'y``; an entry is positive at a lower bound, negative at an upper one, 0
        between them, and of either sign for an equation.  An array of t is answered with one row
        for each.
        """
        if np.ndim(t):
            places = np.asarray(t, dtype=float)
            found = [self.multipliers(path, v, side) for v in places.ravel().tolist()]
            return np.array(found).reshape(*places.shape, sum(self.A.shape))
        self._of(path)
        x, alpha = path.solution(t, side)[None], path.alpha(t, side)[None]
        return np.asarray(self._multipliers(np.array([float(t)]), x, alpha)[0])

    def _multipliers(self, t: Array, x: Array, alpha: Array) -> Array:
        """y at each t, one row for each; those of the equations make up for what the rest leaves of
        ``Hx + g``."""
        shape, n = self._made, self.H.shape[0]
        y = np.zeros((t.size, sum(self.A.shape)))
        np.add.at(y.T, shape.index, (alpha[:, : shape.index.size] / shape.length).T)
        force = x @ self.H + _at(self._vectors["g"], t[:, None])
        y[:, shape.equal] = ((force - y[:, :n] - y[:, n:] @ self.A) / shape.unit) @ shape.solve
        return y

    def residuals(self, t: Array, alpha: Array, b: Array) -> dict[str, Residual]:
        """The program as it was given, row by row: by how much x leaves its bounds, what is left of
        ``Hx + g - [I; A]'y``, and how far a row with a multiplier is from the bound that it presses
        on (infinite where that side has none)."""
        unit, n = self._made.unit, self.H.shape[0]
        x = self._solutions(t, alpha, b)
        y = self._multipliers(t, x, alpha)
        column = t[:, None]
        g, (low, high) = _at(self._vectors["g"], column), (_at(v, column) for v in self._bounds())
        rows = np.vstack([np.eye(n), self.A])
        # Sizes of x and of forces in scaled variables, in which lengths make sense.
        pull = _lengths(g / unit)
        stretch = np.linalg.norm(rows / unit, axis=1)
        steepest = float(np.linalg.norm(self._made.bend, 2))
        long = _lengths(x * unit)
        forces = steepest * long + pull + np.abs(y) @ stretch[:, None]
        value = x @ rows.T
        terms = np.abs(x) @ np.abs(rows).T + np.maximum(
            *(_at(np.abs(_finite(v)), column) for v in self._bounds())
        )
        others = stretch * self._size * self._reach
        others = np.broadcast_to(others, value.shape)
        outside = np.maximum(np.maximum(low - value, value - high), 0.0)
        left = np.abs(x @ self.H + g - y @ rows)
        pushes = np.abs(x) @ np.abs(self.H) + np.abs(g) + np.abs(y) @ np.abs(rows)
        presses = np.abs(y) * stretch > IDLE * forces
        away = np.abs(value - np.where(y > 0.0, low, high))
        return {
            "feasibility": Residual(outside, terms, others),
            "stationarity": Residual(left, pushes, unit * forces),
            "complementarity": Residual(np.where(presses, away, 0.0), terms, others),
        }

    def active_rows(self, path: Path, t: float, side: str = "after") -> dict[str, Index]:
        """The rows that hold x at `t`: those at their ``"lower"`` and at their ``"upper"`` bound,
        and the equations, ``"equal"``."""
        shape, parts = self._of(path), path.partition(t, side)
        known = {name: np.sort(shape.index[parts[name]]) for name in ("lower", "upper")}
        return known | {"equal": np.flatnonzero(shape.equal)}

    def _of(self, path: Path) -> _Shape:
        if not isinstance(path, Path) or path.model is not self:
            raise PathError(f"{type(self).__name__}: that path is of another model; ask path.model")
        return self._made

    # ------------------------------------------------------------------ one after another

    def following(self, **vectors: Any) -> Self:
        """The model that leads from the end of this one, t = 1, to the fixed vectors given by name
        (g, lb, ub, lbA, ubA); those not given stay.  H, A and their factors are shared."""
        strange = sorted(set(vectors) - set(VECTORS))
        if strange:
            raise ModelError(
                f"{type(self).__name__}: {strange[0]!r} is none of the vectors {', '.join(VECTORS)}"
            )
        other = copy.copy(self)
        other._vectors = {name: ends[[1, 1]] for name, ends in self._vectors.items()}
        last = {name: ends[1] for name, ends in self._vectors.items()}
        new = {name: v for name, v in vectors.items() if not np.array_equal(v, last[name])}
        other._take({name: (last[name], value) for name, value in new.items()})
        return other

    @classmethod
    def sequence(
        cls,
        H: Any,
        programs: Iterable[Mapping[str, Any]],
        *,
        A: Any = None,
        **options: Any,
    ) -> Iterator[Path]:
        """Trace from each of `programs` to the next, beginning where the path before ended.

        Parameters
        ----------
        H, A
            As for the model; the same for all.
        programs : iterable of dict
            The vectors of each program by name; those that one does not mention stay as they are.
        **options
            Those of `Homotopy`.

        Yields
        ------
        Path
            One less than there are programs: path k leads from program k (t = 0) to k + 1 (t = 1).
        """
        given = iter(programs)
        first = _program(next(given, {}), cls.__name__)
        if "g" not in first:
            raise ModelError(f"{cls.__name__}: the first of the programs must have a vector 'g'")
        model, path, legs = cls(H, A=A, **first), None, PathSequence(**options)
        for vectors in (_program(each, cls.__name__) for each in given):
            last, model = model, model.following(**vectors)
            start = None if path is None or last._shape is model._shape else model.start_at(path)
            path = legs.trace(model, start=start)
            yield path

    def start_at(self, path: Path, t: float = 1.0) -> Any:
        """What to hand to ``Homotopy.trace(start=...)`` to begin at `t` of the path of another
        program with the same H and A."""
        model = path.model
        if not isinstance(model, ParametricQP) or model.A.shape != self.A.shape:
            raise PathError(
                f"{type(self).__name__}: a start must be the path of a ParametricQP with as many "
                f"variables and rows, got {path!r}"
            )
        if model._shape is self._shape:
            return path, t
        shape = self._made
        alpha = np.zeros(shape.gram.size)
        alpha[: shape.index.size] = model.multipliers(path, t)[shape.index] * shape.length
        # A row that is two coordinates begins with its lower bound.
        again = np.setdiff1d(
            np.arange(shape.index.size), np.unique(shape.index, return_index=True)[1]
        )
        alpha[again] = 0.0
        moved = path.solution(t) * shape.unit - self._point[0]
        count = int(shape.far.sum())
        bent = (shape.bent * (moved @ shape.null))[shape.bent.size - count :]
        alpha[shape.index.size :][:count] = self._held[shape.index.size :][:count] - bent
        return alpha

    # ------------------------------------------------------------------ where there is no optimum

    def no_optimum(self, t: float) -> str | None:
        """Why there is none beyond `t`: rows that contradict each other, or a free fall."""
        place = "at t=0" if t <= 0.0 else f"from t={t:.10g} on"
        rows = np.vstack([np.eye(self.H.shape[0]), self.A])
        last, pressing = _last_feasible(rows, *self._bounds())
        if last <= t + NEARBY:
            named = [self._row(i) for i in pressing]
            if len(named) == 1:
                return f"infeasible {place}: the bounds of {named[0]} contradict each other"
            if len(named) > NAMED:
                named = [*named[: NAMED - 1], f"{len(named) - NAMED + 1} more"]
            listed = f"{', '.join(named[:-1])} and {named[-1]}"
            return f"infeasible {place}: {listed} contradict each other"
        if _last_bounded(self.H, self._vectors["g"], rows, *self._bounds()) <= t + NEARBY:
            return f"unbounded {place}: the objective falls for ever; add bounds, or a little to H"
        return None

    def coordinate_name(self, i: int) -> str:
        """The entry of x or the row of A that coordinate `i` stands for."""
        index = self._made.index
        # Coordinates beyond the rows are directions in which H hardly bends.
        return self._row(int(index[i])) if i < index.size else f"direction {i - index.size} of H"

    # ------------------------------------------------------------------ inside

    @property
    def _made(self) -> _Shape:
        assert self._shape is not None
        return self._shape

    def _bounds(self) -> tuple[Array, Array]:
        """Lower and upper bounds of all rows at both ends, (2, n + m)."""
        ends = self._vectors
        return np.hstack([ends["lb"], ends["lbA"]]), np.hstack([ends["ub"], ends["ubA"]])

    def _row(self, i: int) -> str:
        n = self.H.shape[0]
        return f"x[{i}]" if i < n else f"row {i - n} of A"


@attrs.frozen(eq=False)
class _Shape:
    """What H and A decide, given which rows are equations (`equal`) and which are met (`index`).

    All of it in scaled variables ``unit * x``, in which H is `bend`:
    ``unit * x = solve @ (right sides) + root @ (w - c) + null @ b``, and with `rows` divided by
    their `length`.  `loose` are directions of no curvature that no row meets, and `still` marks the
    rows that the equations fix.  `curves` are the curvatures and directions that the equations
    leave; those marked in `far` are columns of `null`, at its end, with their curvature in `bent`,
    and a coordinate each.  `factor` is what all units were multiplied by.
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
    ) -> _Shape:
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
        solve, free = _solved(equations)
        bend = H / np.outer(unit, unit)
        values, along = _curves(free.T @ bend @ free, factor**-2.0, name)
        far = np.zeros(values.size, np.bool_) if far is None else far
        # (A plain factor is nearer to the numbers given than eigenvectors are.)
        plain = None if np.any(far) else _factor(free.T @ bend @ free)
        stays = (values > 0.0) & ~far
        root = along[:, stays] / np.sqrt(values[stays]) if plain is None else plain
        root, null, long = free @ root, free @ along[:, values == 0.0], free @ along[:, far]
        length = np.linalg.norm(rows, axis=1)
        length = np.where(length > 0.0, length, 1.0)
        rows = rows / length[:, None]
        still = np.linalg.norm(rows @ free, axis=1) <= DEPENDENT
        null, loose = _met(rows, null)
        features, border = (
            _clean(rows @ part, np.linalg.norm(part, axis=0)) for part in (root, null)
        )
        features[still], border[still] = 0.0, 0.0
        # A far direction is a column of the border, and its curvature the loss of a coordinate.
        count = int(far.sum())
        meets = _clean(rows @ long, np.ones(count))
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
        )

    def fits(self, equal: Mask, index: Index) -> bool:
        """Whether it is the shape for these equations and rows."""
        return np.array_equal(self.equal, equal) and np.array_equal(self.index, index)


def _solved(equations: Array) -> tuple[Array, Array]:
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


def _factor(bend: Array) -> Array | None:
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


def _curves(bend: Array, usual: float, name: str) -> tuple[Array, Array]:
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
    return np.where(values > FLAT * max(most, usual), values, 0.0), vectors


def _met(rows: Array, null: Array) -> tuple[Array, Array]:
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


def _clean(values: Array, size: Array) -> Array:
    """`values` without what is but the rounding of terms of this size."""
    return np.where(np.abs(values) <= ROUNDING * size, 0.0, values)


# ---------------------------------------------------------------------- input


def _program(vectors: Any, name: str) -> dict[str, Any]:
    if not isinstance(vectors, Mapping):
        raise ModelError(
            f"{name}: each of the programs is a dict of vectors by name, got {vectors!r}"
        )
    return dict(vectors)


def _ends(value: Any, count: int, what: str, name: str) -> Array:
    """A vector at t = 0 and t = 1, (2, count)."""
    if value is None and what in MISSING:
        return np.full((2, count), MISSING[what])
    if isinstance(value, tuple):
        if len(value) != 2:
            raise DataError(
                f"{name}: {what} is a tuple of {len(value)}; a tuple holds the values at t = 0 and "
                "t = 1 (write a fixed vector as a list or an array)"
            )
        parts = list(value)
    elif isinstance(value, Affine):
        parts = [value.at(0.0), value.at(1.0)]
    else:
        parts = [value, value]
    try:
        ends = np.stack([np.broadcast_to(np.asarray(p, dtype=float), (count,)) for p in parts])
    except (TypeError, ValueError):
        shapes = " and ".join(dict.fromkeys(str(np.asarray(p, dtype=object).shape) for p in parts))
        several = isinstance(value, list | np.ndarray) and np.ndim(value[0]) > 0
        pair = "; the values at t = 0 and t = 1 are a tuple of two" if several else ""
        raise DataError(
            f"{name}: {what} must be {count} numbers (or one), got shape {shapes}{pair}"
        ) from None
    wrong = np.isnan(ends) | (ends == -MISSING.get(what, np.inf))
    if what == "g":
        wrong = ~np.isfinite(ends)
    if np.any(wrong):
        i = int(np.argmax(wrong.any(axis=0)))
        raise DataError(f"{name}: {what}[{i}] is {ends[int(np.argmax(wrong[:, i])), i]}")
    if np.any(np.isfinite(ends[0]) != np.isfinite(ends[1])):
        i = int(np.argmax(np.isfinite(ends[0]) != np.isfinite(ends[1])))
        raise DataError(
            f"{name}: {what}[{i}] moves from {ends[0, i]:g} to {ends[1, i]:g}; a bound is infinite "
            "at both ends or at none (give it a large number instead)"
        )
    check_size(ends[np.isfinite(ends)], what, name)
    return ends


def _lengths(rows: Array) -> Array:
    return np.asarray(np.linalg.norm(rows, axis=1, keepdims=True))


def _sum(bound: Array, move: Array, terms: Array) -> Array:
    """``bound + move``, and 0 where that is but the rounding of `terms` and the bound."""
    total = bound + move
    rounding = np.isfinite(bound) & (np.abs(total) <= ROUNDING * (np.abs(bound) + terms))
    return np.where(rounding, 0.0, total)


def _line(ends: Array) -> Line:
    """Value at 0 and rate; what is infinite does not move."""
    moves = np.isfinite(ends[0])
    return ends[0], np.where(moves, ends[1] - np.where(moves, ends[0], 0.0), 0.0)


def _at(ends: Array, t: Any) -> Array:
    """Affine in t; what is infinite stays."""
    first, last = _finite(ends)
    return np.asarray(np.where(np.isfinite(ends[0]), (1.0 - t) * first + t * last, ends[0]))


def _finite(values: Array) -> Array:
    return np.where(np.isfinite(values), values, 0.0)


def _from(wrong: Mask) -> str:
    return "at t=0" if np.any(wrong[0]) else "from t=0 on"


# ---------------------------------------------------------------------- how far there is an optimum


def _last_feasible(rows: Array, low: Array, high: Array) -> tuple[float, list[int]]:
    """The largest t up to 1 for which some x keeps all bounds (-1 if not even t = 0), and the rows
    that leave none beyond; by linear programs in x and t, or in x and an excess at t = 0."""
    above, below = np.flatnonzero(np.isfinite(low[0])), np.flatnonzero(np.isfinite(high[0]))
    sides = [(-rows[above], -low[:, above]), (rows[below], high[:, below])]
    left, rate = np.vstack([s[0] for s in sides]), np.hstack([s[1][1] - s[1][0] for s in sides])
    right = np.hstack([s[1][0] for s in sides])
    size = np.maximum(np.linalg.norm(left, axis=1), np.abs(rate))
    size = np.where(size > 0.0, size, 1.0)
    n = rows.shape[1]
    cost, free = np.append(np.zeros(n), 1.0), [(None, None)] * n
    programs = ((-rate / size, -cost, (0.0, 1.0)), (-np.ones(size.size), cost, (0.0, None)))
    for column, price, limits in programs:
        table = np.column_stack([left / size[:, None], column])
        found = linprog(price, A_ub=table, b_ub=right / size, bounds=[*free, limits])
        if found.status == 0:
            break
    last = float(found.x[-1]) if price is not cost else -1.0
    pressing = np.abs(found.ineqlin.marginals) > PRESSING
    return last, sorted(set(np.concatenate([above, below])[pressing].tolist()))


def _last_bounded(H: Array, g: Array, rows: Array, low: Array, high: Array) -> float:
    """The largest t up to 1 for which the objective is bounded below (-1 for none): multipliers
    with ``Hx + g(t) = rows'y`` exist."""
    n = H.shape[0]
    up, down = rows[np.isfinite(low[0])], rows[np.isfinite(high[0])]
    left = np.column_stack([H, -up.T, down.T, g[1] - g[0]])
    ranges = [(None, None)] * n + [(0.0, None)] * (len(up) + len(down)) + [(0.0, 1.0)]
    cost = np.append(np.zeros(left.shape[1] - 1), -1.0)
    length = np.abs(left).max(axis=1)
    length = np.where(length > 0.0, length, 1.0)
    found = linprog(cost, A_eq=left / length[:, None], b_eq=-g[0] / length, bounds=ranges)
    return -1.0 if found.status else float(found.x[-1])
