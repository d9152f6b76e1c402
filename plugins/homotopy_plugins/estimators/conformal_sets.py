"""The full conformal set of one new row, exactly.

For a target y of the new row the machine is fitted to the n rows and (x, y), with residuals
``|y_i - f_y(x_i)|`` and ``|y - f_y(x)|``.  y belongs to the set if enough of the n others are at
least as large as the new row's own.  No target need be tried: the alpha a of the new row goes from
one end of its polyline to the other, everything else along (`homotopy.Fork.push`), and each a is
the optimum for one y (or, on a flat piece, for all y of an interval):

- inside the tube (a = 0) the machine is that without the row;
- between 0 and the end y = u(a) + r(a), where r(a) is the residual that goes with a: 0 on the knot
  of the absolute loss, +-epsilon on that of the tube, a / C where the loss is quadratic;
- at the end the machine stands still and y goes on for ever.

On the way residuals are compared by the pieces that rows stand on, not as numbers: a row on the
edge of the tube has the residual epsilon, as the new row has, and counts.
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from homotopy import Fork, Moved, NewRow, Way

__all__ = ["Loss", "NewRowSweep", "merged", "needed_rows", "order_statistic", "sweep"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]

# What a residual may be off, in parts of the largest target.
ROUNDING = 1e-9


@attrs.frozen
class Loss:
    """What a sweep must know of a loss.

    Attributes
    ----------
    up, down : float
        The largest and the least alpha.
    width : float
        The residual at which alpha is largest: epsilon, delta, or 0.
    curvature : float
        C where residuals up to `width` are charged quadratically, else 0.
    inside : int or None
        The piece on which residuals are below `width`: the tube, or the quadratic part.
    """

    up: float
    down: float
    width: float = 0.0
    curvature: float = 0.0
    inside: int | None = None


@attrs.frozen(eq=False)
class Tail:
    """At the end of the polyline: y from `place` on (to the side of `sign`), where the residual of
    the new row is ``|y - response|``; `residual` holds those of the others, largest first."""

    sign: float
    response: float
    width: float
    residual: Array

    def part(self, needed: int) -> list[tuple[float, float]]:
        reach = np.inf if needed == 0 else float(self.residual[needed - 1])
        if reach < self.width:
            return []
        ends = self.response + self.sign * self.width, self.response + self.sign * reach
        return [(min(ends), max(ends))]


@attrs.frozen(eq=False)
class NewRowSweep:
    """Everything about the targets of one new row.

    Attributes
    ----------
    low, high : arrays (k,)
        Intervals of y, closed.
    count : int array (k,)
        How many of the others have at least the residual of the new row there.
    middle : (response, epsilon, residuals) or None
        Inside the tube; residuals of the others, largest first.
    tails : (Tail, Tail)
        Beyond either end.
    """

    low: Array
    high: Array
    count: Index
    middle: tuple[float, float, Array] | None
    tails: tuple[Tail, Tail]

    def set_for(self, needed: int) -> Array:
        """The union of intervals (k, 2) where at least `needed` others count."""
        if needed == 0:
            return np.array([[-np.inf, np.inf]])
        kept = self.count >= needed
        parts = list(zip(self.low[kept].tolist(), self.high[kept].tolist(), strict=True))
        if self.middle is not None:
            response, width, residual = self.middle
            reach = min(width, float(residual[needed - 1]))
            parts.append((response - reach, response + reach))
        for tail in self.tails:
            parts += tail.part(needed)
        return merged(parts)


def merged(parts: list[tuple[float, float]]) -> Array:
    """The union of closed intervals, as disjoint ones in order."""
    out: list[list[float]] = []
    for low, high in sorted(parts):
        # Pieces of one way meet at numbers that were computed from either side.
        if out and low <= out[-1][1] + 1e-12 * max(abs(low), abs(out[-1][1])):
            out[-1][1] = max(out[-1][1], high)
        else:
            out.append([low, high])
    return np.array(out).reshape(-1, 2)


def sweep(fork: Fork, new: NewRow, y: Array, loss: Loss) -> NewRowSweep:
    """Take the alpha of a new row from 0 to either end; the fork is restored."""
    tails, low, high, count = [], [], [], []
    row = fork.insert_row(new)
    middle = _middle(fork, row, y, loss) if loss.width > 0.0 and not loss.curvature else None
    for sign, end in ((1.0, loss.up), (-1.0, loss.down)):
        moved = fork.push(row, end, nodes=True)
        places, number = _on_the_way(moved, row, y, loss)
        low.append(places.min(axis=1))
        high.append(places.max(axis=1))
        count.append(number)
        residual = _sorted(moved.response[: y.size], moved, y, loss)
        tails.append(Tail(sign, moved.own_response, loss.width, residual))
        if sign > 0.0:
            fork.push(row, 0.0)
    fork.restore()
    ends = np.concatenate(low), np.concatenate(high)
    return NewRowSweep(*ends, np.concatenate(count), middle, (tails[0], tails[1]))


def _middle(fork: Fork, row: int, y: Array, loss: Loss) -> tuple[float, float, Array]:
    """Inside the tube: the machine without the row."""
    now = fork.optimum()
    residual = _sorted(now.response[: y.size], now, y, loss)
    return float(now.response[row]), loss.width, residual


def _sorted(response: Array, optimum: Any, y: Array, loss: Loss) -> Array:
    """The residuals of the others, largest first; on knots they are what the knot says."""
    residual = np.abs(y - response)
    if not loss.curvature:
        for name, rows in optimum.partition().items():
            if name.startswith("E"):
                residual[rows[rows < y.size]] = loss.width
    return np.asarray(-np.sort(-residual))


def _on_the_way(moved: Moved, row: int, y: Array, loss: Loss) -> tuple[Array, Index]:
    """Intervals of y on the way, and how many others count there."""
    way, n = moved.way, y.size
    assert way is not None
    a = np.stack([way.t[way.first], way.t[way.last]], axis=1)
    own = np.stack([way.response[way.first, row], way.response[way.last, row]], axis=1)
    ends = own + _own_residual(a, loss)
    inside = np.zeros((len(a), n), dtype=bool)
    if loss.inside is not None:
        inside = way.piece[:, :n] == loss.inside
        if not loss.curvature:
            inside &= ~_at_the_edge(way, y, loss.width)
    outside = n - np.count_nonzero(inside, axis=1)
    places, count = [ends], [outside]
    if loss.curvature:
        places, count = [], []
        for k, (first, last) in enumerate(zip(way.first, way.last, strict=True)):
            some = np.flatnonzero(inside[k])
            cuts, numbers = _crossings(way.alpha[first, some], way.alpha[last, some], a[k])
            at = (1.0 - cuts) * ends[k, 0] + cuts * ends[k, 1]
            places += [np.stack([at, at], axis=1), np.stack([at[:-1], at[1:]], axis=1)]
            count.append(outside[k] + numbers)
    # b slides where one segment does not begin where the last one ends: the same alphas for every y
    # between.
    for k in (1 + np.flatnonzero(ends[1:, 0] != ends[:-1, 1])).tolist():
        larger = np.abs(way.alpha[way.first[k], :n]) >= abs(a[k, 0])
        more = np.count_nonzero(inside[k] & larger) if loss.curvature else 0
        places.append(np.array([[ends[k - 1, 1], ends[k, 0]]]))
        count.append(np.array([outside[k] + more]))
    return np.concatenate(places), np.concatenate(count).astype(np.int64)


def _at_the_edge(way: Way, y: Array, width: float) -> npt.NDArray[np.bool_]:
    """For each segment (k, n) the rows that stand at the edge of the tube all along it, be they on
    its knot or not: twins of rows that are, and others that follow from these."""
    near = ROUNDING * max(width, float(np.abs(y).max()))
    there = np.abs(np.abs(y - way.response[:, : y.size]) - width) <= near
    return there[way.first] & there[way.last]


def _own_residual(a: Array, loss: Loss) -> Array:
    """The residual of the new row where its alpha is a, on a way that leads away from 0; (k, 2) for
    the ends of k segments."""
    if loss.curvature:
        return a / loss.curvature
    return np.where(a.max(axis=1, keepdims=True) > 0.0, loss.width, -loss.width)


def _crossings(first: Array, stop: Array, a: Array) -> tuple[Array, Index]:
    """Where along a segment the alphas of rows in the quadratic part, ``r_i = alpha_i / C``, become
    larger or smaller than that of the new row.

    Returns the cuts in [0, 1] and how many rows are at least as large at every cut, then between
    each two.
    """
    own = abs(a[0]), abs(a[1])
    begin, end = [np.zeros(0)], [np.zeros(0)]
    for sign in (1.0, -1.0):
        before, after = sign * first - own[0], sign * stop - own[1]
        change = before - after
        with np.errstate(divide="ignore", invalid="ignore"):
            cross = np.clip(np.where(change != 0.0, before / change, 0.0), 0.0, 1.0)
        some = (before >= 0.0) | (after >= 0.0)
        begin.append(np.where(before >= 0.0, 0.0, cross)[some])
        end.append(np.where(after >= 0.0, 1.0, cross)[some])
    starts, stops = np.sort(np.concatenate(begin)), np.sort(np.concatenate(end))
    cuts = np.unique(np.concatenate([[0.0, 1.0], starts, stops]))
    between = 0.5 * (cuts[:-1] + cuts[1:])
    at = np.concatenate([cuts, between])
    # Closed at both ends: a row counts from its first place to its last.
    number = np.searchsorted(starts, at, side="right") - np.searchsorted(stops, at, side="left")
    return cuts, number.astype(np.int64)


# ------------------------------------------------------------------ ranks


def needed_rows(levels: Any, n: int) -> list[int]:
    """For each confidence level the largest k with ``k <= (1 - level) (n + 1)``: the rank of the
    end of an interval, exact in the decimals that the level was written in."""
    from fractions import Fraction

    return [int((1 - Fraction(repr(float(level)))) * (n + 1)) for level in levels]


def order_statistic(values: Array, k: int, largest: bool) -> Array:
    """The k-th least (or `largest`) of each row of `values`; infinite for k = 0."""
    n = values.shape[1]
    if k == 0:
        return np.full(values.shape[0], np.inf if largest else -np.inf)
    place = n - k if largest else k - 1
    return np.asarray(np.partition(values, place, axis=1)[:, place])
