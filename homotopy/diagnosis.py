"""Why a path could not be proven: what in the numbers of a problem is beyond double precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from homotopy.model import Problem

__all__ = ["cause_of_trouble"]

Array = npt.NDArray[np.float64]

# Of some sixteen digits so many have to be left.
DIGITS = 6.0
# A column this many times its spread away from 0, and columns this far apart in size, cost digits.
OFFSET, APART = 1e4, 1e5


def cause_of_trouble(problem: Problem, alpha: Array, size: Array) -> str:
    """What is wrong with the numbers, and the way out; `size` is the scale of each response."""
    lost = _lost_digits(problem, alpha, size)
    features = problem.gram.features()
    offset = apart = ""
    if features is not None:
        offset, apart = _columns(features)
    if offset:
        return offset
    if apart:
        return apart
    if 16.0 - lost < DIGITS:
        return (
            f"Q alpha is a sum of terms 1e{lost:.0f} times as large as the responses: too little "
            "of 16 digits is left; scale the data down, or the costs (C)"
        )
    if not np.any(problem.gram.diag):
        return (
            "border columns or their rows differ too much in size, or say the same; bring them to "
            "one scale"
        )
    return (
        "rows of Q depend on each other to within rounding; remove rows or columns that say the "
        "same, or add a little to the diagonal of Q"
    )


def _lost_digits(problem: Problem, alpha: Array, size: Array) -> float:
    length = np.sqrt(problem.gram.sizes)
    terms = length * float(length @ np.abs(alpha))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = terms / size
    ratio = ratio[np.isfinite(ratio) & (ratio > 0.0)]
    return float(np.log10(np.median(ratio))) if ratio.size else 0.0


def _columns(features: Any) -> tuple[str, str]:
    """Columns far from 0, and columns of very different size."""
    # Rows may carry a sign (that of a label): it is the sizes that tell.
    size = np.abs(features)
    if sp.issparse(size):
        mean = np.asarray(size.mean(axis=0)).ravel()
        square = np.asarray(size.multiply(size).mean(axis=0)).ravel()
        spread = np.sqrt(np.maximum(square - mean**2, 0.0))
    else:
        mean, spread = size.mean(axis=0), size.std(axis=0)
    far = np.flatnonzero(mean > OFFSET * spread)
    offset = apart = ""
    if far.size:
        j = int(far[np.argmax(mean[far])])
        offset = (
            f"column {j} of the features is {mean[j]:.3g} away from 0 and varies by "
            f"{spread[j]:.3g} only; subtract its mean from every row (scikit-learn: StandardScaler)"
        )
    real = np.flatnonzero(mean > 0.0)
    if real.size and mean[real].max() > APART * mean[real].min():
        most, least = int(real[np.argmax(mean[real])]), int(real[np.argmin(mean[real])])
        apart = (
            f"column {most} of the features is about {mean[most]:.3g}, column {least} about "
            f"{mean[least]:.3g}; bring them to one scale (scikit-learn: StandardScaler)"
        )
    return offset, apart
