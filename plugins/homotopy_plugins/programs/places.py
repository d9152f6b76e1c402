"""The vectors of programs at consecutive places, and what follows from them.

Leg k leads from place k to place k + 1, along a line.  A single model has two places; programs that
come one after another and share their shape are placed together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from homotopy_plugins.kernels.checks import LARGEST
from homotopy_plugins.programs.shape import ROUNDING, Shape, clean

__all__ = [
    "MISSING",
    "Forces",
    "Places",
    "at",
    "bounds_of",
    "crossed_bounds",
    "finite",
    "lengths",
    "line",
    "places_ahead",
]

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

MISSING = {"lb": -np.inf, "ub": np.inf, "lbA": -np.inf, "ubA": np.inf}
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
# That of rows that meet directions without force is moved by this part: the rounding of forces is
# then 1e-13 of it, and corners move by a small part of x.
LIFTED = 1e-3
# That part may be off by this factor.
RIGHT = 10.0
# What an equation that follows from others may be off by, in parts of its terms.
AGREES = 1e-9


@attrs.frozen(eq=False)
class Forces:
    """Where the equations take x, and the forces there, in scaled variables.

    Attributes
    ----------
    shape : Shape
    vectors : dict
        g, lb, ub, lbA, ubA, (places, n) each.
    low, high : arrays (places, rows)
        The bounds of all rows.
    fixed, point, slant : arrays, one row per place
        The right sides of the equations, their solution of least norm, and the forces there.
    pull, size : arrays (legs,)
        How strong the forces are; how long x is, as far as its bounds and equations tell, without
        any that is not 0 a step down the steepest direction.
    """

    shape: Shape
    vectors: Mapping[str, Array]
    low: Array
    high: Array
    fixed: Array
    point: Array
    slant: Array
    pull: Array
    size: Array

    @classmethod
    def of(cls, shape: Shape, vectors: Mapping[str, Array]) -> Forces:
        low, high = bounds_of(vectors)
        fixed = 0.5 * (low[:, shape.equal] + high[:, shape.equal])
        point = fixed @ shape.solve.T
        slant = vectors["g"] / shape.unit + point @ shape.bend
        places = np.abs(np.hstack([v[:, shape.index] / shape.length for v in (low, high)]))
        places = np.where(places > 0.0, places, np.inf)
        size = np.maximum(
            _medians(np.hstack([places[:-1], places[1:]])), _larger(lengths(point)[:, 0])
        )
        pull, steepest = _larger(lengths(slant)[:, 0]), float(shape.curves[0].max(initial=0.0))
        if steepest > 0.0:
            size = np.where(size > 0.0, size, pull / steepest)
        # (Multipliers are as large as all forces, whatever their part along a direction is.)
        pull = np.maximum(pull, size * steepest)
        return cls(shape, vectors, low, high, fixed, point, slant, pull, size)

    def the_far(self) -> tuple[Mask, Array]:
        """For each leg the directions along which H alone would take x far beyond where its bounds
        are, and the factor of all units with which forces and x are of one size."""
        values = self.shape.curves[0]
        known = (self.size > 0.0) & (self.shape.index.size > 0)
        far = self.pull[:, None] > FAR * self.size[:, None] * values
        ratio = np.divide(self.pull, self.size, out=np.ones(known.size), where=known)
        return known[:, None] & (values > 0.0) & far, self.shape.factor * np.sqrt(ratio)

    def idle(self) -> Mask:
        """The legs on which any x within the bounds is optimal: along what the equations leave
        neither H nor g has a part."""
        values, along = self.shape.curves
        if values.size == 0 or values.any():
            return np.zeros(len(self.slant) - 1, np.bool_)
        none = np.all(np.abs(self.slant @ along) <= ROUNDING * self.noise(), axis=1)
        return np.asarray(none[:-1] & none[1:])

    def unforced(self) -> Mask:
        """The legs on which no force acts along the directions without curvature, if there are
        some."""
        flat = self.shape.bent == 0.0
        if not flat.any() or self.shape.far.any():
            return np.zeros(len(self.slant) - 1, np.bool_)
        none = np.all(self.along()[:, flat] == 0.0, axis=1)
        return np.asarray(none[:-1] & none[1:])

    def along(self) -> Array:
        """The forces along the columns of `null`, 0 where they are but rounding."""
        shape = self.shape
        rounding = self.noise() * np.linalg.norm(shape.null, axis=0)
        return clean(self.slant @ shape.null, np.where(shape.bent > 0.0, 0.0, rounding))

    def noise(self) -> Array:
        """How large the terms are of a force along a direction; their rounding is no force.

        (Those of `slant` itself are larger where they cancel.)
        """
        shape = self.shape
        terms = lengths(self.vectors["g"] / shape.unit)
        terms += lengths(self.point) * float(np.linalg.norm(shape.bend))
        return np.asarray(np.maximum(100.0 * lengths(self.slant), terms))

    def contradicted(self) -> tuple[Mask, Mask]:
        """Equations without a solution, and directions along which nothing ever stops x."""
        shape, point = self.shape, self.point
        off = np.abs(point @ shape.equations.T - self.fixed)
        terms = lengths(point) * lengths(shape.equations).T + np.abs(self.fixed)
        falls = np.abs(self.slant @ shape.loose) > AGREES * lengths(self.slant)
        return off > AGREES * terms, falls


@attrs.frozen(eq=False)
class Places:
    """Numbers of the coordinates at each place, and of each leg.

    Attributes
    ----------
    shape : Shape
    vectors : dict
        g, lb, ub, lbA, ubA, (places, n) each.
    point, shift : arrays (places, n), (places, directions)
        The solution of the equations, and c.
    low, high : arrays (places, coordinates)
        The corners.
    target : array (places, border columns)
    pull, size, reach, held : arrays (legs,)
        How strong the forces are; how long x is; how much larger the numbers are of which it is a
        difference; what the alpha of a far direction, or of a lifted row, is moved by.
    """

    shape: Shape
    vectors: Mapping[str, Array]
    point: Array
    shift: Array
    low: Array
    high: Array
    target: Array
    pull: Array
    size: Array
    reach: Array
    held: Array

    @classmethod
    def of(cls, forces: Forces, held: float, twice: int = 0) -> Places:
        """Place programs; the last `twice` coordinates are upper bounds of earlier ones, and `held`
        is that of the program before."""
        shape, point, slant, size = forces.shape, forces.point, forces.slant, forces.size
        # (What an idle program has of forces is rounding.)
        shift = (0.0 if shape.idle else 1.0) * (slant @ shape.root)
        # What is left of alpha on a far direction after all forces cancel is their rounding.
        held_by = _held((HELD if shape.far.any() else LIFTED) * forces.pull, held)
        shift = shift + held_by[0] * (shape.lifted[: shape.index.size] @ shape.features)
        move = shift @ shape.features.T - point @ shape.rows.T
        terms = lengths(shift) * lengths(shape.features).T
        terms += lengths(point) * lengths(shape.rows).T
        low, high = (
            _sum(v[:, shape.index] / shape.length, move, terms) for v in (forces.low, forces.high)
        )
        # Rows that the equations leave no freedom, and that hold: nothing meets them.
        idle = shape.still & _hold(low, high, terms).all(axis=0)
        low[:, idle], high[:, idle] = -np.inf, np.inf
        first = shape.index.size - twice
        high[:, :first][:, np.isin(shape.index[:first], shape.index[first:])] = np.inf
        low[:, first:] = -np.inf
        # Far directions meet nothing; without rows the engine wants a coordinate all the same.
        free = np.full((len(low), shape.gram.size - shape.index.size), np.inf)
        # How much larger the numbers are that x is a difference of, along what is not far.
        bends = shape.curves[0][(shape.curves[0] > 0.0) & ~shape.far]
        with np.errstate(divide="ignore", invalid="ignore"):
            least = size * float(bends.min(initial=np.inf))
            reach = np.clip(forces.pull / least, 1.0, REACH)
        target = np.zeros((len(low), 0))
        if shape.border is not None:
            moved = np.where(shape.bent > 0.0, 1.0, 0.0) + shape.lifted @ shape.border
            target = forces.along() + held_by[0] * moved
        return cls(
            shape=shape,
            vectors=forces.vectors,
            point=point,
            shift=shift,
            low=np.hstack([low, -free]),
            high=np.hstack([high, free]),
            target=target,
            pull=forces.pull,
            size=size,
            reach=np.where((least > 0.0) & (least < np.inf), reach, 1.0),
            held=held_by,
        )

    def first(self, legs: int) -> Places:
        """Return the first legs."""
        end = legs + 1
        parts = {name: getattr(self, name)[:end] for name in ("point", "shift", "low", "high")}
        vectors = {name: ends[:end] for name, ends in self.vectors.items()}
        kept = {name: getattr(self, name)[:legs] for name in ("pull", "size", "reach", "held")}
        return attrs.evolve(self, vectors=vectors, target=self.target[:end], **parts, **kept)


def bounds_of(vectors: Mapping[str, Array]) -> tuple[Array, Array]:
    """Lower and upper bounds of all rows, (places, n + m)."""
    low = np.hstack([vectors["lb"], vectors["lbA"]])
    return low, np.hstack([vectors["ub"], vectors["ubA"]])


def crossed_bounds(low: Array, high: Array) -> tuple[Mask, Mask]:
    """Where two bounds are one number, and where they have passed each other."""
    size = np.maximum(np.abs(low), np.abs(high))
    with np.errstate(invalid="ignore"):
        same = np.isfinite(size) & (np.abs(high - low) <= SAME * size)
    return same, (low > high) & ~same


def places_ahead(
    shape: Shape, last: Mapping[str, Array], programs: Sequence[Mapping[str, Any]], held: float
) -> Places | None:
    """The first of `programs` that share the shape of the one before, whose vectors are `last`.

    None if the very first does not.

    A program with a vector that is not plain numbers, and one that contradicts itself, is none of
    them: a model of its own says what is wrong.
    """
    vectors = _table(last, programs)
    if vectors is None:
        return None
    low, high = bounds_of(vectors)
    same, crossed = crossed_bounds(low, high)
    met = ~shape.equal & (np.isfinite(low) | np.isfinite(high))
    index = np.flatnonzero(met[0])
    if not np.array_equal(index, shape.index):
        return None
    fits = ((same[:-1] & same[1:]) == shape.equal).all(axis=1) & ~crossed[1:].any(axis=1)
    forces = Forces.of(shape, vectors)
    far, _ = forces.the_far()
    fits &= ~(far & ~shape.far).any(axis=1) & (forces.idle() == shape.idle)
    fits &= forces.unforced() == shape.lifted.any()
    if shape.factor == 1.0:
        fits &= ~far.any(axis=1)
    for wrong in forces.contradicted():
        fits &= ~(wrong[:-1] | wrong[1:]).any(axis=1)
    places = Places.of(forces, held)
    if shape.far.any() or shape.lifted.any():
        fits &= places.held == held
    if shape.still.any():
        # Rows that equations fix hold on all legs or on none: else one leg at a time.
        fits[1:] = False
    legs = int(np.argmin(fits)) if not fits.all() else fits.size
    return places.first(legs) if legs else None


def _table(last: Mapping[str, Array], programs: Sequence[Mapping[str, Any]]) -> Any:
    """The vectors at the end of the program before and of each that follows as plain numbers."""
    count, vectors = len(programs), {}
    for name, own in last.items():
        vectors[name] = table = np.empty((count + 1, own.size))
        table[0] = own
        for j, program in enumerate(programs):
            value = program.get(name, own)
            try:
                table[j + 1] = own = value
            except (TypeError, ValueError):
                return _table(last, programs[:j]) if j else None
    whole = count + 1
    for name, table in vectors.items():
        there = np.isfinite(table)
        wrong = (np.isnan(table) | (there != there[0])).any(axis=1)
        if name in MISSING:
            wrong |= (table == -MISSING[name]).any(axis=1)
        # (Numbers too large to be squared are left to a model of their own as well.)
        wrong |= np.abs(np.where(there, table, 0.0)).max(axis=1, initial=0.0) > LARGEST
        whole = min(whole, int(np.argmax(wrong)) if wrong.any() else whole)
    unknown = [j for j, program in enumerate(programs) if not program.keys() <= last.keys()]
    whole = min([whole, *(j + 1 for j in unknown)])
    return {name: table[:whole] for name, table in vectors.items()} if whole > 1 else None


def _hold(low: Array, high: Array, terms: Array) -> Mask:
    return np.asarray((low <= AGREES * terms) & (high >= -AGREES * terms))


def _held(wanted: Array, before: float) -> Array:
    """The same number as on the leg before, where it is still about right: then alpha is the same
    there as well, and the next path can go on from it at once."""
    kept = []
    for held in wanted.tolist():
        before = before if held / RIGHT <= before <= held * RIGHT else held
        kept.append(before)
    return np.array(kept)


def _medians(values: Array) -> Array:
    """The median of the finite numbers in each row, 0 where there is none."""
    ordered = np.sort(values, axis=1)
    count, rows = np.isfinite(ordered).sum(axis=1), np.arange(len(ordered))
    if not values.shape[1]:
        return np.zeros(len(values))
    low, high = (np.maximum(k, 0) // 2 for k in (count - 1, count))
    middle = 0.5 * (ordered[rows, low] + ordered[rows, np.minimum(high, values.shape[1] - 1)])
    return np.where(count > 0, middle, 0.0)


def _larger(values: Array) -> Array:
    """The larger of the values at both ends of each leg."""
    return np.maximum(values[:-1], values[1:])


def lengths(rows: Array) -> Array:
    return np.asarray(np.linalg.norm(rows, axis=1, keepdims=True))


def _sum(bound: Array, move: Array, terms: Array) -> Array:
    """``bound + move``, and 0 where that is but the rounding of `terms` and the bound."""
    total = bound + move
    rounding = np.isfinite(bound) & (np.abs(total) <= ROUNDING * (np.abs(bound) + terms))
    return np.where(rounding, 0.0, total)


def line(ends: Array) -> tuple[Array, Array]:
    """Value at 0 and rate; what is infinite does not move."""
    moves = np.isfinite(ends[0])
    return ends[0], np.where(moves, ends[1] - np.where(moves, ends[0], 0.0), 0.0)


def at(ends: Array, t: Any) -> Array:
    """Affine in t; what is infinite stays."""
    first, last = finite(ends)
    return np.asarray(np.where(np.isfinite(ends[0]), (1.0 - t) * first + t * last, ends[0]))


def finite(values: Array) -> Array:
    return np.where(np.isfinite(values), values, 0.0)
