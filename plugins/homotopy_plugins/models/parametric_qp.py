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

Where nothing pulls x along Z (H and g are 0, say) any x within the bounds is optimal, and
multipliers of 0 have no size that rounding could be compared with.  The program is then stated with
a small multiple of 1/2 |z|^2 as its form.  Where H bends some directions and nothing pulls along
the others, the alphas of rows that meet the others are moved away from 0, and with them the piece
"inside", e and c.

The certificate measures the program as it was given as well (`ParametricQP.residuals`).
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Self

import attrs
import numpy as np
import numpy.typing as npt

from homotopy import (
    Affine,
    DataError,
    Jump,
    Knot,
    Legs,
    LossModel,
    ModelError,
    Path,
    PathError,
    PathSequence,
    Residual,
    Slope,
)
from homotopy_plugins.kernels.checks import check_size, matrix
from homotopy_plugins.programs import (
    MISSING,
    Forces,
    Places,
    Shape,
    at,
    bounds_of,
    crossed_bounds,
    finite,
    is_definite,
    last_bounded,
    last_feasible,
    lengths,
    line,
    may_bend,
    places_ahead,
)

__all__ = ["ParametricQP"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

VECTORS = ("g", "lb", "ub", "lbA", "ubA")
# Rows named in a message at most.
NAMED = 6
# A linear program finds t to within this.
NEARBY = 1e-6
# A multiplier is none where it is no more than this part of all forces.
IDLE = 1e-8
# Of forces that cancel, a multiplier keeps the rounding of the largest on the way: m equations
# solved together leave so much of their terms, times the root of m.
ROUNDED = 16.0 * float(np.finfo(np.float64).eps)
# Programs known beforehand that are traced in one run.
BLOCK = 64


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

    Where neither H nor g has a part along what the equations leave free, any x within the bounds is
    optimal; `Path.solution` is that of least norm, in variables scaled by their largest entry in
    the rows.

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
        self._shape: Shape | None = None
        self._held_by = 0.0
        self._take({"g": g, "lb": lb, "ub": ub, "lbA": lbA, "ubA": ubA})

    def _take(self, vectors: Mapping[str, Any]) -> None:
        """Check the vectors, each with its values at both ends, and set up what depends on them."""
        name = type(self).__name__
        for key, value in vectors.items():
            count = self.A.shape[key in ("g", "lb", "ub")]
            self._vectors[key] = _ends(value, count, key, name)
        low, high = self._bounds()
        same, crossed = crossed_bounds(low, high)
        if np.any(crossed[0]):
            i = int(np.argmax(crossed[0]))
            raise DataError(
                f"{name}: infeasible at t=0: {self._row(i)} must be at least {low[0, i]:g} and at "
                f"most {high[0, i]:g}"
            )
        equal = np.asarray(same.all(axis=0))
        met = ~equal & (np.isfinite(low[0]) | np.isfinite(high[0]))
        # Bounds that pass each other are two coordinates with one bound each.
        twice = np.flatnonzero(met & crossed[1])
        index = np.concatenate([np.flatnonzero(met), twice])
        shape = self._shape
        if shape is None or not shape.fits(equal, index):
            shape = Shape.of(self.H, self.A, equal, index, name)
        forces = Forces.of(shape, self._vectors)
        (idle,) = forces.idle().tolist()
        if idle != shape.idle:
            shape = Shape.of(self.H, self.A, equal, index, name, idle=idle)
            forces = Forces.of(shape, self._vectors)
        (far,), (factor,) = forces.the_far()
        if np.any(far) and shape.factor == 1.0:
            even = Shape.of(self.H, self.A, equal, index, name, None, factor)
            (far,), (factor,) = Forces.of(even, self._vectors).the_far()
            shape = Shape.of(self.H, self.A, equal, index, name, far, factor)
        elif np.any(far & ~shape.far):
            shape = Shape.of(self.H, self.A, equal, index, name, far | shape.far, shape.factor)
        if shape is not forces.shape:
            forces = Forces.of(shape, self._vectors)
        (unforced,) = forces.unforced().tolist()
        shape = shape.lift(unforced)
        forces = attrs.evolve(forces, shape=shape)
        self._refuse(forces)
        self._shape = shape
        self._use(Places.of(forces, self._held_by, twice.size), 0)

    def _use(self, places: Places, leg: int) -> None:
        """Take the numbers of one leg."""
        shape, ends = places.shape, slice(leg, leg + 2)
        self._vectors = {name: values[ends] for name, values in places.vectors.items()}
        self._point, self._shift = places.point[ends], places.shift[ends]
        self._low, self._high = places.low[ends], places.high[ends]
        self._size, self._reach = float(places.size[leg]), float(places.reach[leg])
        self._held_by, self._pull = float(places.held[leg]), float(places.pull[leg])
        self.gram, self.border = shape.gram, shape.border
        # (The model is a copy of the one before, which may have had a border.)
        first, last = places.target[ends]
        self.border_target = 0.0 if shape.border is None else Affine(first, last - first)

    def _refuse(self, forces: Forces) -> None:
        """Refuse equations without a solution, and directions along which nothing ever stops x."""
        name, shape = type(self).__name__, forces.shape
        wrong, falls = forces.contradicted()
        if np.any(wrong):
            i = int(np.flatnonzero(shape.equal)[np.argmax(wrong.any(axis=0))])
            raise DataError(
                f"{name}: infeasible {_from(wrong)}: the equation of {self._row(i)} contradicts "
                "the other equations"
            )
        if np.any(falls):
            along = shape.loose[:, int(np.argmax(falls.any(axis=0)))] / shape.unit
            j = int(np.argmax(np.abs(along)))
            if may_bend(self.H, along):
                raise DataError(
                    f"{name}: no optimum can be computed {_from(falls)}: g falls along a direction "
                    "that no bound meets, and the curvature of H there cannot be told from none in "
                    f"16 digits (x[{j}] moves most on it); add bounds, or a little to H"
                )
            raise DataError(
                f"{name}: unbounded {_from(falls)}: g falls along a direction that H does not bend "
                f"and no bound meets (x[{j}] moves most on it); add bounds, or a little to H"
            )

    def polyline(self, t: Any) -> Sequence[Slope | Knot | Jump]:
        bends, low, high = self._bends, line(self._low), line(self._high)
        held = np.where((bends > 0.0) | self._made.lifted, self._held_by, 0.0)
        wall = np.where(bends > 0.0, 0.0, np.inf)
        return (
            Slope("below", held + wall, curvature=bends),
            Knot("lower", low[0] + t * low[1]),
            Slope("inside", held, curvature=bends),
            Knot("upper", high[0] + t * high[1]),
            Slope("above", held - wall, curvature=bends),
        )

    def solution(self, t: float, alpha: Array, b: Array) -> Array:
        """x at t."""
        return np.asarray(self._solutions(np.array([t]), alpha[None], b[None])[0])

    def _solutions(self, t: Array, alpha: Array, b: Array) -> Array:
        """x at each t, one row for each."""
        shape, t = self._made, t[:, None]
        inner = alpha[:, : shape.index.size] @ shape.features - at(self._shift, t)
        scaled = at(self._point, t) + inner @ shape.root.T + b @ shape.null.T
        return np.asarray(scaled / shape.unit)

    def loss_origin(self, t: float) -> Array:
        low, high = (v[0] + t * v[1] for v in (line(self._low), line(self._high)))
        return np.where(np.isfinite(low), low, np.where(np.isfinite(high), high, 0.0))

    def objective_constant(self, t: float) -> float:
        shape, point, shift = self._made, at(self._point, t), at(self._shift, t)
        point, lift = point / shape.unit, self._held_by * shape.lifted
        own = 0.5 * point @ self.H @ point + at(self._vectors["g"], t) @ point
        # With alpha the shift is moved, and with both the losses: -lift (u - origin) inside.
        moved = lift[: shape.index.size] @ shape.features
        own -= 0.5 * (shift - 2.0 * moved) @ shift + lift @ self.loss_origin(t)
        return float(own)

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
        if not shape.idle:
            own = (alpha - self._held_by * shape.lifted)[:, : shape.index.size]
            np.add.at(y.T, shape.index, (own / shape.length).T)
        force = x @ self.H + at(self._vectors["g"], t[:, None])
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
        g, (low, high) = at(self._vectors["g"], column), (at(v, column) for v in self._bounds())
        rows = np.vstack([np.eye(n), self.A])
        # Sizes of x and of forces in scaled variables, in which lengths make sense.
        pull = lengths(g / unit)
        stretch = np.linalg.norm(rows / unit, axis=1)
        steepest = float(np.linalg.norm(self._made.bend, 2))
        long = lengths(x * unit)
        forces = steepest * long + pull + np.abs(y) @ stretch[:, None]
        value = x @ rows.T
        terms = np.abs(x) @ np.abs(rows).T + np.maximum(
            *(at(np.abs(finite(v)), column) for v in self._bounds())
        )
        others = stretch * self._size * self._reach
        others = np.broadcast_to(others, value.shape)
        outside = np.maximum(np.maximum(low - value, value - high), 0.0)
        left = np.abs(x @ self.H + g - y @ rows)
        pushes = np.abs(x) @ np.abs(self.H) + np.abs(g) + np.abs(y) @ np.abs(rows)
        # What cancels at a point is known to the rounding of the forces at the ends.
        rounding = ROUNDED * np.sqrt(1.0 + y.shape[1]) * self._pull
        presses = np.abs(y) * stretch > np.maximum(IDLE * forces, rounding)
        away = np.abs(value - np.where(y > 0.0, low, high))
        return {
            "feasibility": Residual(outside, terms, others),
            "stationarity": Residual(left, pushes, unit * np.maximum(forces, self._pull)),
            "complementarity": Residual(np.where(presses, away, 0.0), terms, others),
        }

    def active_rows(self, path: Path, t: float, side: str = "after") -> dict[str, Index]:
        """The rows that hold x at `t`: those at their ``"lower"`` and at their ``"upper"`` bound,
        and the equations, ``"equal"``."""
        shape, parts = self._of(path), path.partition(t, side)
        known = {name: np.sort(shape.index[parts[name]]) for name in ("lower", "upper")}
        return known | {"equal": np.flatnonzero(shape.equal)}

    def _of(self, path: Path) -> Shape:
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
        last = self._last()
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
            x of the first program is ``paths[0].solution(0)``, that of program k + 1
            ``paths[k].solution(1)``.
        """
        given = iter(programs)
        first = _program(next(given, {}), cls.__name__)
        if "g" not in first:
            raise ModelError(f"{cls.__name__}: the first of the programs must have a vector 'g'")
        model, sequence = cls(H, A=A, **first), PathSequence(**options)
        path: Path | None = None
        # Programs that come one by one are answered one by one.
        count = BLOCK if isinstance(programs, Sequence) else 1
        while block := [_program(each, cls.__name__) for each in islice(given, count)]:
            while block:
                places = places_ahead(model._made, model._last(), block, model._held_by)
                if places is None:
                    last, model = model, model.following(**block[0])
                    start = None if last._shape is model._shape else model._start_after(path)
                    path = sequence.trace(model, start=start)
                    yield path
                    block = block[1:]
                    continue
                for path in sequence.trace_legs(model._legs(places)):
                    yield path
                model, block = model._on(places, places.size.size - 1), block[places.size.size :]

    def _last(self) -> dict[str, Array]:
        """The vectors at the end, t = 1."""
        return {name: ends[1] for name, ends in self._vectors.items()}

    def _on(self, places: Places, leg: int) -> Self:
        """The model of one leg."""
        other = copy.copy(self)
        other._use(places, leg)
        return other

    def _legs(self, places: Places) -> Legs:
        """The models from place to place for the engine."""
        corners = np.stack([places.low, places.high], axis=2)
        return Legs(corners, places.target, lambda leg: self._on(places, leg))

    def _start_after(self, path: Path | None) -> Any:
        return None if path is None else self.start_at(path)

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
        alpha += self._held_by * shape.lifted
        moved = path.solution(t) * shape.unit - self._point[0]
        count = int(shape.far.sum())
        bent = (shape.bent * (moved @ shape.null))[shape.bent.size - count :]
        alpha[shape.index.size :][:count] = self._held_by - bent
        return alpha

    # ------------------------------------------------------------------ where there is no optimum

    def no_optimum(self, t: float) -> str | None:
        """Why there is none beyond `t`: rows that contradict each other, or a free fall."""
        place = "at t=0" if t <= 0.0 else f"from t={t:.10g} on"
        rows = np.vstack([np.eye(self.H.shape[0]), self.A])
        last, pressing = last_feasible(rows, *self._bounds())
        if last <= t + NEARBY:
            # Rows of A first: what does not fit is usually one of them.
            n = self.H.shape[0]
            named = [self._row(i) for i in sorted(pressing, key=lambda i: (i < n, i))]
            if len(named) == 1:
                return f"infeasible {place}: the bounds of {named[0]} contradict each other"
            if len(named) > NAMED:
                named = [*named[: NAMED - 1], f"{len(named) - NAMED + 1} more"]
            listed = f"{', '.join(named[:-1])} and {named[-1]}"
            return f"infeasible {place}: {listed} contradict each other"
        if is_definite(self.H):
            return None
        if last_bounded(self.H, self._vectors["g"], rows, *self._bounds()) <= t + NEARBY:
            return f"unbounded {place}: the objective falls for ever; add bounds, or a little to H"
        return None

    def coordinate_name(self, i: int) -> str:
        """The entry of x or the row of A that coordinate `i` stands for."""
        index = self._made.index
        # Coordinates beyond the rows are directions in which H hardly bends.
        return self._row(int(index[i])) if i < index.size else f"direction {i - index.size} of H"

    # ------------------------------------------------------------------ inside

    @property
    def _made(self) -> Shape:
        assert self._shape is not None
        return self._shape

    @property
    def _bends(self) -> Array:
        """The curvature of each coordinate's loss."""
        shape = self._made
        return np.concatenate([np.zeros(shape.index.size), shape.weights])

    def _bounds(self) -> tuple[Array, Array]:
        """Lower and upper bounds of all rows at both ends, (2, n + m)."""
        return bounds_of(self._vectors)

    def _row(self, i: int) -> str:
        n = self.H.shape[0]
        return f"x[{i}]" if i < n else f"row {i - n} of A"


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


def _from(wrong: Mask) -> str:
    return "at t=0" if np.any(wrong[0]) else "from t=0 on"
