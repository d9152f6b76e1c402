"""Why a path could not be proven: which numbers of a problem are too much for double precision.

Each cause is named only if it was measured, with its value and the way out.  If nothing is found,
the answer says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs
import numpy as np
import scipy.sparse as sp

from homotopy.arrays import Array, Bools, Index
from homotopy.model import Problem

__all__ = ["Point", "cause_of_rounding", "cause_of_trouble", "rounding_of_responses"]


EPS = float(np.finfo(np.float64).eps)


@attrs.frozen(kw_only=True)
class Suspicions:
    """The values from which a measurement is named as the cause of trouble."""

    # Of this many decimal digits of a number, fewer than `digits` are left in the responses.
    known: float = 16.0
    digits: float = 6.0
    # A column, or the corners, are this many times their spread away from 0.
    offset: float = 1e4
    # The sizes of columns differ by this factor.
    apart: float = 1e5
    # The sizes of alphas differ by this factor: the largest has no digits left for the smallest.
    wide: float = 1e14
    # The smallest eigenvalue, or singular value, is below this fraction of the largest.
    singular: float = 1e-10
    # Two rows differ, but by less than this fraction, and by more than rounding.
    alike: float = 1e-7
    rounding: float = 16.0 * EPS
    # A coordinate is at a corner if it is this near, as a fraction of its size.
    tied: float = 1e-9
    # Most rows that are compared with each other.
    most: int = 1000
    # Most rows that are named.
    named: int = 5


LIMITS = Suspicions()


@attrs.frozen(eq=False, kw_only=True)
class Point:
    """A point at or before the trouble: alpha, response, scale of the response and piece of each
    coordinate at t, and the coordinates whose alpha is solved for."""

    t: float
    alpha: Array
    u: Array
    size: Array
    piece: Index
    active: Index


def cause_of_trouble(problem: Problem, stopped: Point, proven: Point | None = None) -> str:
    """Say what was measured to be wrong with the numbers, and the way out.

    `stopped` is where the tracker stopped, `proven` the last point that could be proven.
    """
    last = stopped if proven is None else proven
    unknown = (
        f"the cause is unknown (at {problem.model.parameter}={last.t:.9g}, where the trouble "
        "begins, scales, rows, active equations and ties look normal); try a slightly different "
        "C or span, bring the columns to one scale, or report the problem"
    )
    return next(filter(None, _causes(problem, stopped, last)), unknown)


def rounding_of_responses(problem: Problem, point: Point) -> float:
    """Return the rounding error of ``Q alpha``, as a multiple of the response: the largest one.

    A response near 0 is compared with the largest of its own corners; where they are all 0, a
    response of 0 is right to rounding.
    """
    lines = problem.polylines
    corner = np.abs(lines.corner0) + np.abs(lines.corner1 * point.t)
    size = np.max(corner, axis=1, initial=0.0, where=np.isfinite(corner))
    real = size > 0.0
    error = EPS * _terms(problem, point)[real] / np.maximum(size, np.abs(point.u))[real]
    return float(np.max(error, initial=0.0))


def cause_of_rounding(problem: Problem, point: Point) -> str:
    """Say why rounding is large beside the responses at `point`, and the way out."""
    way_out = "bring features and targets to one scale, with means near 0"
    return next(filter(None, _scales(problem, point)), way_out)


def _causes(problem: Problem, stopped: Point, last: Point) -> Iterator[str]:
    """Yield the causes, the most certain first; an empty string if one was not measured."""
    yield from _scales(problem, stopped)
    yield _alike_rows(problem, last)
    yield _dependent(problem, stopped.active)
    yield _ties(problem, last)


def _scales(problem: Problem, stopped: Point) -> Iterator[str]:
    """Yield the causes that are numbers of very different size."""
    table = problem.model.table()
    if table is None:
        yield _columns(problem.gram.features())
    else:
        yield _table(table)
    yield _one_direction(problem)
    yield _lost_digits(problem, stopped)
    yield _border(problem)
    yield _far_corners(problem, stopped.t)
    yield _wide_alphas(stopped.alpha)


def _terms(problem: Problem, point: Point) -> Array:
    """Return a bound on the terms that each entry of ``Q alpha`` is a sum of."""
    length = np.sqrt(problem.gram.sizes)
    return np.asarray(length * float(length @ np.abs(point.alpha)))


def _lost_digits(problem: Problem, stopped: Point) -> str:
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = _terms(problem, stopped) / stopped.size
    ratio = ratio[np.isfinite(ratio) & (ratio > 0.0)]
    lost = float(np.log10(np.median(ratio))) if ratio.size else 0.0
    if LIMITS.known - lost >= LIMITS.digits:
        return ""
    return (
        f"Q alpha is a sum of terms 1e{lost:.0f} times as large as the responses, which leaves "
        f"{max(LIMITS.known - lost, 0.0):.0f} of {LIMITS.known:.0f} digits; scale the data down, "
        "or the costs (C)"
    )


def _one_direction(problem: Problem) -> str:
    """A Q without features that is dominated by one direction, as with features far from 0."""
    if problem.gram.features() is not None or not 2 < problem.gram.size <= LIMITS.most:
        return ""
    values = np.linalg.eigvalsh(_normalised(problem, np.arange(problem.gram.size))[0])
    second, first = values[-2:]
    # (A second eigenvalue that is 0 up to rounding is harmless: Q has rank one.)
    if first <= LIMITS.offset**2 * second or second <= values.size * EPS * first:
        return ""
    return (
        f"the largest eigenvalue of Q (scaled to a unit diagonal) is {first / second:.1e} times "
        "the next, as if made from features far from 0; subtract their mean from every row, or use "
        "a kernel that does not depend on it"
    )


def _border(problem: Problem) -> str:
    """Without a quadratic form, the border equations alone determine the path."""
    border = problem.border
    if np.any(problem.gram.diag) or not border.shape[1]:
        return ""
    columns, rows = np.abs(border).max(axis=0), np.abs(border).max(axis=1)
    for what, sizes in (("columns", columns), ("rows", rows[rows > 0.0])):
        if sizes.max() > LIMITS.apart * sizes.min():
            return (
                f"the {what} of the border differ in size by a factor of "
                f"{sizes.max() / sizes.min():.1e}; bring them to one scale"
            )
    values = np.linalg.svd(border / columns, compute_uv=False)
    if values[-1] > LIMITS.singular * values[0]:
        return ""
    return (
        "the border columns are dependent up to rounding (smallest singular value "
        f"{values[-1] / values[0]:.1e} of the largest); drop the redundant ones"
    )


def _far_corners(problem: Problem, t: float) -> str:
    """Corners far from 0 compared with the distances between them."""
    corner = problem.polylines.at(t).corner
    finite = np.abs(corner[np.isfinite(corner)])
    away = float(np.median(finite)) if finite.size else 0.0
    with np.errstate(invalid="ignore"):
        apart = np.diff(corner, axis=1)
    apart = np.where(apart > 0.0, apart, np.inf).min(axis=1, initial=np.inf)
    apart = apart[np.isfinite(apart)]
    if not apart.size or not away > LIMITS.offset * float(np.median(apart)):
        return ""
    return (
        f"the corners (targets) are about {away:.3g} away from 0 and {float(np.median(apart)):.3g} "
        "apart; subtract their mean, or fit an intercept"
    )


def _wide_alphas(alpha: Array) -> str:
    # An alpha that is 0 up to rounding is 0.
    real = np.abs(alpha[np.abs(alpha) > EPS * np.abs(alpha).max(initial=0.0)])
    if not real.size or real.max() <= LIMITS.wide * real.min():
        return ""
    return (
        f"alpha ranges from {real.min():.1g} to {real.max():.1g}: the rounding error of the "
        "largest exceeds the smallest; bring costs (C, weights), features and targets to one scale"
    )


def _normalised(problem: Problem, rows: Index) -> tuple[Array, Array]:
    """Return the block of `rows` scaled to a unit diagonal, and the length of each row."""
    block = problem.gram.block(rows, rows)
    length = np.sqrt(np.maximum(np.diagonal(block), 0.0))
    length = np.where(length > 0.0, length, 1.0)
    return np.asarray(block / np.outer(length, length)), length


def _alike_rows(problem: Problem, point: Point) -> str:
    """Two rows near a corner, or active, that are nearly the same but not quite."""
    rows = np.union1d(point.active, np.flatnonzero(_tied(problem, point)))[: LIMITS.most]
    if rows.size < 2:
        return ""
    block, length = _normalised(problem, rows)
    one, two = np.nonzero(np.triu(np.abs(block) > 1.0 - LIMITS.alike, 1))
    one, two = one[: LIMITS.most], two[: LIMITS.most]
    # Opposite rows count too: a row may carry the sign of its label.
    ratio = (np.sign(block[one, two]) * length[two] / length[one])[:, None]
    off = np.abs(block[one] - ratio * block[two]).max(axis=1, initial=0.0)
    near = np.flatnonzero((off > LIMITS.rounding) & (off <= LIMITS.alike))
    if not near.size:
        return ""
    k = near[np.argmin(off[near])]
    i, j = sorted((int(rows[one[k]]), int(rows[two[k]])))
    return (
        f"rows {i} and {j} are not equal but differ by only {off[k]:.1e} of their size, as do "
        f"{near.size} pairs in all; round the features to fewer digits, so that they become equal, "
        "or remove one of each pair"
    )


def _dependent(problem: Problem, active: Index) -> str:
    """The equations of the active coordinates are singular up to rounding, or nearly."""
    if not 1 < active.size <= LIMITS.most:
        return ""
    border = problem.border[active]
    values = np.linalg.eigvalsh(_normalised(problem, active)[0] + border @ border.T)
    if values[0] > LIMITS.singular * values[-1]:
        return ""
    return (
        f"the rows of Q of the {active.size} active coordinates are dependent up to rounding "
        f"(smallest eigenvalue {max(values[0], 0.0) / values[-1]:.1e} of the largest); remove "
        "redundant rows or columns, or add a little to the diagonal of Q"
    )


def _tied(problem: Problem, point: Point) -> Bools:
    """Which coordinates are where they leave their piece: on a slope at a corner, on a knot at an
    end of its alphas."""
    snap, rows = problem.polylines.at(point.t), np.arange(point.u.size)
    at = np.abs(point.u[:, None] - snap.corner) <= LIMITS.tied * point.size[:, None]
    knot = point.piece % 2 == 1
    j = np.minimum(point.piece // 2, snap.corner.shape[1] - 1)
    # (A wall, or a corner at infinity, has no finite end.)
    with np.errstate(invalid="ignore"):
        ends = np.stack([snap.slope_at(rows, j + k, snap.corner[rows, j]) for k in (0, 1)])
        height = np.abs(ends[0] - ends[1])
        leaving = np.abs(point.alpha - ends).min(axis=0) <= LIMITS.tied * height
    return np.asarray(np.where(knot, leaving & np.isfinite(height), at.any(axis=1)))


def _ties(problem: Problem, point: Point) -> str:
    rows = np.flatnonzero(_tied(problem, point))
    if rows.size < 2:
        return ""
    named = ", ".join(str(i) for i in rows[: LIMITS.named].tolist())
    more = ", ..." if rows.size > LIMITS.named else ""
    return (
        f"a likely cause: at {problem.model.parameter}={point.t:.9g} {rows.size} coordinates "
        f"({named}{more}) reach a corner together, to within {LIMITS.tied:g} of their size: "
        "their order is lost in rounding; change C slightly, or a digit of the features or targets"
    )


def _columns(features: Any) -> str:
    """Columns far from 0, or columns of very different size."""
    if features is None:
        return ""
    mean, spread = _sizes(features)
    # A constant column, which cannot be centred away, is compared with the others.
    constant = spread <= LIMITS.singular * mean
    varies = np.where(constant, spread.max(initial=0.0), spread)
    far = np.flatnonzero(mean > LIMITS.offset * varies)
    if far.size:
        j = int(far[np.argmax(mean[far])])
        if constant[j]:
            return (
                f"column {j} of the features is constant, {mean[j]:.3g}, and the others vary by at "
                f"most {varies[j]:.3g}; remove it and fit an intercept"
            )
        return (
            f"column {j} of the features is {mean[j]:.3g} away from 0 and varies by only "
            f"{spread[j]:.3g}; subtract its mean from every row (scikit-learn: StandardScaler)"
        )
    real = np.flatnonzero(mean > 0.0)
    if real.size and mean[real].max() > LIMITS.apart * mean[real].min():
        most, least = int(real[np.argmax(mean[real])]), int(real[np.argmin(mean[real])])
        return (
            f"column {most} of the features is about {mean[most]:.3g}, column {least} about "
            f"{mean[least]:.3g}; bring them to one scale (scikit-learn: StandardScaler)"
        )
    return ""


def _table(table: Any) -> str:
    """Columns far from 0, where each of them is a coordinate: they are alike, whatever their
    scale.  Constant ones are not, among others that are near 0."""
    mean, spread = _sizes(table)
    far = np.flatnonzero((mean > LIMITS.offset * spread) & (spread > LIMITS.rounding * mean))
    if not far.size:
        return ""
    times = mean[far] / spread[far]
    j = int(far[np.argmax(times)])
    such = f" (one of {far.size} such columns)" if far.size > 1 else ""
    return (
        f"column {j} of X is {mean[j]:.3g} away from 0, {times.max():.1e} times its spread{such}; "
        "subtract its mean from every row (scikit-learn: StandardScaler), or fit an intercept"
    )


def _sizes(table: Any) -> tuple[Array, Array]:
    """Return the mean and the spread of the sizes in each column: rows may carry the sign of a
    label."""
    size = np.abs(table)
    if not sp.issparse(size):
        return size.mean(axis=0), size.std(axis=0)
    mean = np.asarray(size.mean(axis=0)).ravel()
    square = np.asarray(size.multiply(size).mean(axis=0)).ravel()
    return mean, np.sqrt(np.maximum(square - mean**2, 0.0))
