"""The threshold of a ramp regression, where none was given: three spreads of the plain fit's
residuals.

The spread is the median of the absolute residuals over 0.6745, which is the standard deviation of
normal ones.  Rows that the fit passes through are left out: it takes one of them for each thing it
can adapt to, and their residuals say nothing about the others.  So few of the rows are outliers
where residuals are normal (one in 370 beyond three standard deviations; some more, because the fit
follows the rows).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from homotopy_plugins.models.regression_ramp import DEFAULT_STOP, ROUNDING, RegressionRamp

__all__ = ["spread", "usual_threshold", "weighted_median"]

Array = npt.NDArray[np.float64]

# A threshold that was not given is this many spreads of the plain fit's residuals,
SPREADS = 3.0
# but at most this part of the largest one, so that an s-path leads somewhere.
OF_LARGEST = 0.9
# The median of |r| in units of the standard deviation, if residuals are normal.
NORMAL = 0.6744897501960817
# A spread below this part of the largest residual is no scale: the fit passes through most targets.
LEAST_SPREAD = 1e-3


def weighted_median(values: Array, weights: Array) -> float:
    """The least value with at least half of the weight at or below it."""
    order = np.argsort(values)
    below = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(below, 0.5 * below[-1])])


def spread(residual: Array, weights: Array) -> float:
    """The median of absolute residuals, in units of a standard deviation if they are normal."""
    return weighted_median(residual, weights) / NORMAL


def usual_threshold(model: RegressionRamp, response: Array) -> float:
    """s for a model whose plain fit has this response; beyond its width, if it has one."""
    counted = model.sample_weight > 0.0
    residual, weights = np.abs(model.y - response)[counted], model.sample_weight[counted]
    largest, rounding = float(residual.max()), ROUNDING * float(np.abs(model.y).max())
    width = 0.0 if model.width is None else float(model.parameters[model.width])
    if largest <= rounding:
        # f passes through every target: no threshold matters.
        return width + 1.0
    # Knots are at 0 or at the width.
    off = (residual > rounding) & (np.abs(residual - width) > rounding)
    typical = spread(residual[off], weights[off]) if off.any() else 0.0
    s = min(SPREADS * typical, OF_LARGEST * largest)
    if typical <= LEAST_SPREAD * largest:
        s = DEFAULT_STOP * largest
    # A threshold lies outside the width; one that no row is beyond does no harm.
    least = 2.0 * width if largest <= width else min(2.0 * width, 0.5 * (width + largest))
    return max(s, least)
