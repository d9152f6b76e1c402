"""The record of a discontinuity."""

from __future__ import annotations

import attrs

from homotopy.arrays import Index

__all__ = ["METHODS", "JumpRecord"]


# How a jump can be crossed, from the usual to the unusual; files store the index into this list.
METHODS = ("homotopy", "osqp", "custom", "late", "descent", "convex")


@attrs.frozen(eq=False)
class JumpRecord:
    """One discontinuity of a path.

    Attributes
    ----------
    t : float
        Its position.
    flipped : int array
        The coordinates that end on another side of a jump than before, ascending.
    objective_before, objective_after : float
        The full non-convex objective on both sides.
    rounds : int
        How many times pinned coordinates had to be flipped.
    moved : bool
        Whether the response moved by more than ``Tolerances.moved`` of its scale (a smaller move
        changes the objective by less than rounding).  If not, the flip only relabels coordinates.
    steps : int
        Break-points met while crossing.
    solver : str
        How the jump was crossed: "homotopy" (by the tracker), "osqp" or "custom" (by OSQP or the
        solver you passed), "late" (by the tracker, slightly further along), "descent" (downhill,
        if the quadratic form is not semidefinite) or "convex" (many coordinates at once, by a
        sequence of convex problems).
    """

    t: float
    flipped: Index
    objective_before: float
    objective_after: float
    rounds: int
    moved: bool
    steps: int
    solver: str
