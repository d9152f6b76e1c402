"""How far a point is off the problem as its author states it."""

from __future__ import annotations

import attrs
import numpy as np
import numpy.typing as npt

__all__ = ["Residual"]

Array = npt.NDArray[np.float64]


@attrs.frozen(eq=False)
class Residual:
    """One kind of condition at several points: arrays with a row for each point and a column for
    each condition.

    Attributes
    ----------
    off : array (points, conditions)
        By how much each condition fails, not negative; infinite where it cannot hold at all.
    terms : array (points, conditions)
        The size of the terms that the condition is a sum of: ``|A_i||x| + |bound_i|`` for
        ``A_i x <= bound_i``.  `off` is measured in parts of it.
    others : array (points, conditions)
        The size of what these terms were computed from, in the units of the condition:
        ``|A_i|`` times the length of x, say.  It enters through rounding alone, some 1e-14 of the
        largest on the path, and must not hold the numbers that are to be checked.
    """

    off: Array
    terms: Array
    others: Array
