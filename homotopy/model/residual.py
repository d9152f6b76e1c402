"""How much a point violates the problem as its author states it."""

from __future__ import annotations

import attrs

from homotopy.arrays import Array


@attrs.frozen(eq=False)
class Residual:
    """Violations of one kind of condition at several points: one row per point, one column per
    condition.

    Attributes
    ----------
    off : array (points, conditions)
        How much each condition is violated, >= 0; infinite where it cannot be satisfied.
    terms : array (points, conditions)
        The size of the terms of the condition: ``|A_i||x| + |bound_i|`` for ``A_i x <= bound_i``.
        The certificate divides `off` by it.
    others : array (points, conditions)
        The size of the numbers from which these terms were computed, in the units of the
        condition: for example ``|A_i|`` times the norm of x.  It only allows for rounding (about
        1e-14 of its largest value on the path) and must not contain the numbers being checked.
    """

    off: Array
    terms: Array
    others: Array
