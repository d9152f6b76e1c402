"""What a form is in exact arithmetic, for messages: floats are fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

__all__ = ["is_definite", "may_bend"]

Array = npt.NDArray[np.float64]

# An elimination in fractions of so many variables takes less than half a second.
FEW = 30


def is_definite(H: Array) -> bool:
    """Whether a symmetric H of few variables is positive definite, by elimination in fractions;
    False of many."""
    if len(H) > FEW:
        return False
    left = [[Fraction(v) for v in row] for row in H.tolist()]
    for k, own in enumerate(left):
        if own[k] <= 0:
            return False
        for other in left[k + 1 :]:
            part = other[k] / own[k]
            if part:
                for j in range(k, len(left)):
                    other[j] -= part * own[j]
    return True


def may_bend(H: Array, along: Array) -> bool:
    """Whether a semidefinite H may bend along a direction in which rounding leaves no curvature.

    Of many variables, only those without any entry in H are known not to bend.
    """
    return is_definite(H) if len(H) <= FEW else bool(np.any(H[:, along != 0.0]))
