"""What a path keeps of each discontinuity."""

from __future__ import annotations

import attrs
import numpy as np
import numpy.typing as npt

__all__ = ["METHODS", "JumpRecord"]

Index = npt.NDArray[np.int64]

# How a jump may be crossed, from the usual to the unusual; files hold the place in this list.
METHODS = ("homotopy", "osqp", "custom", "late", "descent")


@attrs.frozen(eq=False)
class JumpRecord:
    """One discontinuity.

    Attributes
    ----------
    t : float
        Where it is.
    flipped : int array
        The coordinates that ended on another side than before, ascending.
    objective_before, objective_after : float
        The full non-convex objective on both sides.
    rounds : int
        How many times pinned coordinates had to be flipped.
    moved : bool
        Whether the response moved (by more than 1e-6 of its scale: below that the fall of the
        objective drowns in rounding); if not, the flip is a relabelling.
    steps : int
        Break-points met on the way across.
    solver : str
        How it was crossed: "homotopy" (by the tracker), "osqp" or "custom" (by OSQP or the solver
        that was given), "late" (as it was, a hair's breadth further on) or "descent" (downhill,
        where the quadratic form is not semidefinite).
    """

    t: float
    flipped: Index
    objective_before: float
    objective_after: float
    rounds: int
    moved: bool
    steps: int
    solver: str
