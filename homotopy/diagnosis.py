"""Why a path could not be proven: what in the numbers of a problem is beyond double precision."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from homotopy.model import Problem

__all__ = ["cause_of_trouble"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]

EPS = float(np.finfo(np.float64).eps)


@attrs.frozen(kw_only=True)
class Suspicions:
    """When numbers are named as the cause of trouble."""

    # At least this many of about sixteen digits must be left.
    digits: float = 6.0
    # A column this many times its spread away from 0 costs digits.
    offset: float = 1e4
    # Columns this far apart in size cost digits.
    apart: float = 1e5
    # Alphas this far apart in size are beyond 16 digits.
    wide: float = 1e14
    # So are eigenvalues below this fraction of the largest.
    singular: float = 1e-10


LIMITS = Suspicions()


def cause_of_trouble(problem: Problem, alpha: Array, size: Array, active: Index, t: float) -> str:
    """What is wrong with the numbers, and the way out; `size` is the scale of each response at t,
    `active` are the coordinates whose equations could not be solved."""
    lost = _lost_digits(problem, alpha, size)
    features = problem.gram.features()
    offset = apart = ""
    if features is not None:
        offset, apart = _columns(features)
    if offset:
        return offset
    if apart:
        return apart
    if 16.0 - lost < LIMITS.digits:
        return (
            f"Q alpha is a sum of terms 1e{lost:.0f} times as large as the responses: too little "
            "of 16 digits is left; scale the data down, or the costs (C)"
        )
    if not np.any(problem.gram.diag):
        return (
            "border columns or their rows differ too much in size, or say the same; bring them to "
            "one scale"
        )
    far = _far_corners(problem, t)
    if far:
        return far
    # An alpha that is 0 to rounding is 0.
    real = np.abs(alpha[np.abs(alpha) > EPS * np.abs(alpha).max(initial=0.0)])
    if real.size and real.max() > LIMITS.wide * real.min():
        return (
            f"alpha runs from {real.min():.1g} to {real.max():.1g}: the rounding of the largest is "
            "more than the smallest is; bring costs (C, weights), features and targets to one scale"
        )
    if _dependent(problem, active):
        return (
            "rows of Q depend on each other to within rounding; remove rows or columns that say "
            "the same, or add a little to the diagonal of Q"
        )
    return (
        "too many corners are met at once, or so nearly that 16 digits cannot tell them apart; "
        "change the data a little (C, or a digit of the features) or bring them to one scale"
    )


def _far_corners(problem: Problem, t: float) -> str:
    """Corners far from 0 beside the distances between them."""
    corner = problem.polylines.at(t).corner
    away = float(np.median(np.abs(corner[np.isfinite(corner)]))) if corner.size else 0.0
    with np.errstate(invalid="ignore"):
        apart = np.diff(corner, axis=1)
    apart = np.where(apart > 0.0, apart, np.inf).min(axis=1, initial=np.inf)
    apart = apart[np.isfinite(apart)]
    if not apart.size or not away > LIMITS.offset * float(np.median(apart)):
        return ""
    return (
        f"the corners (targets) are about {away:.3g} away from 0 and {float(np.median(apart)):.3g} "
        "apart; subtract their mean, or fit an intercept to what is left"
    )


def _dependent(problem: Problem, active: Index) -> bool:
    """Whether the equations of those active are singular to within rounding, or nearly."""
    if not 1 < active.size <= 1000:
        return False
    block, border = problem.gram.block(active, active), problem.border[active]
    length = np.sqrt(np.maximum(np.diagonal(block), 0.0))
    length = np.where(length > 0.0, length, 1.0)
    values = np.linalg.eigvalsh(block / np.outer(length, length) + border @ border.T)
    return bool(values[0] <= LIMITS.singular * values[-1])


def _lost_digits(problem: Problem, alpha: Array, size: Array) -> float:
    length = np.sqrt(problem.gram.sizes)
    terms = length * float(length @ np.abs(alpha))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = terms / size
    ratio = ratio[np.isfinite(ratio) & (ratio > 0.0)]
    return float(np.log10(np.median(ratio))) if ratio.size else 0.0


def _columns(features: Any) -> tuple[str, str]:
    """Columns far from 0, and columns of very different size."""
    # Rows may carry the sign of a label, so look at sizes.
    size = np.abs(features)
    if sp.issparse(size):
        mean = np.asarray(size.mean(axis=0)).ravel()
        square = np.asarray(size.multiply(size).mean(axis=0)).ravel()
        spread = np.sqrt(np.maximum(square - mean**2, 0.0))
    else:
        mean, spread = size.mean(axis=0), size.std(axis=0)
    far = np.flatnonzero(mean > LIMITS.offset * spread)
    offset = apart = ""
    if far.size:
        j = int(far[np.argmax(mean[far])])
        offset = (
            f"column {j} of the features is {mean[j]:.3g} away from 0 and varies by "
            f"{spread[j]:.3g} only; subtract its mean from every row (scikit-learn: StandardScaler)"
        )
    real = np.flatnonzero(mean > 0.0)
    if real.size and mean[real].max() > LIMITS.apart * mean[real].min():
        most, least = int(real[np.argmax(mean[real])]), int(real[np.argmin(mean[real])])
        apart = (
            f"column {most} of the features is about {mean[most]:.3g}, column {least} about "
            f"{mean[least]:.3g}; bring them to one scale (scikit-learn: StandardScaler)"
        )
    return offset, apart
