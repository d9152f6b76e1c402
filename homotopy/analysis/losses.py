"""Losses on held-out rows, in a form whose mean can be computed exactly along a whole path.

Each is a sum of terms that are polynomials on either side of a kink (see `validation`).
"""

from __future__ import annotations

from collections.abc import Callable

import attrs
import numpy as np
import numpy.typing as npt

from homotopy.arrays import Array
from homotopy.errors import DataError, PathError

__all__ = ["LOSSES", "HeldOutLoss", "Loss", "Truncated"]


@attrs.frozen(eq=False)
class HeldOutLoss:
    """One term of the loss of each held-out row, as a function of f: with ``g = f - kink``,

        left[0] + left[1] g + left[2] g^2     g <= 0
        right[0] + right[1] g + right[2] g^2  g > 0

    `kink` has shape (N,), `left` and `right` (3, N).  A loss with several kinks is a sum of terms.
    """

    kink: Array
    left: Array
    right: Array

    @classmethod
    def bent(cls, kink: Array, left: npt.ArrayLike, right: npt.ArrayLike) -> HeldOutLoss:
        """Return a term that is 0 at the kink and linear beside it, with slopes `left`, `right`."""
        tables = np.zeros((2, 3, kink.size))
        tables[0, 1], tables[1, 1] = left, right
        return cls(kink, tables[0], tables[1])

    def __call__(self, f: Array) -> Array:
        """Return the loss of each row at f, (N,)."""
        g = f - self.kink
        c0, c1, c2 = np.where(g > 0.0, self.right, self.left)
        return np.asarray(c0 + g * (c1 + g * c2))


Terms = tuple[HeldOutLoss, ...]


def _signs(y: Array, name: str) -> Array:
    if not np.all(np.abs(y) == 1.0):
        raise DataError(f"loss {name!r} needs targets -1 and +1; use 'absolute' or 'squared'")
    return y


def _zero_one(y: Array) -> Terms:
    """1 where the sign is wrong; f = 0 counts as negative, as in ``predict``."""
    left, right = np.zeros((2, 3, y.size))
    left[0], right[0] = _signs(y, "zero-one") > 0.0, y < 0.0
    return (HeldOutLoss(np.zeros(y.size), left, right),)


def _hinge(y: Array) -> Terms:
    """``max(0, 1 - y f)``."""
    positive = _signs(y, "hinge") > 0.0
    return (HeldOutLoss.bent(y, np.where(positive, -1.0, 0.0), np.where(positive, 0.0, 1.0)),)


def _absolute(y: Array) -> Terms:
    """``|y - f|``."""
    return (HeldOutLoss.bent(y, -1.0, 1.0),)


def _squared(y: Array) -> Terms:
    """``(y - f)^2``."""
    table = np.zeros((3, y.size))
    table[2] = 1.0
    return (HeldOutLoss(y, table, table),)


@attrs.frozen
class Truncated:
    """``min(|y - f|, cap)``: an outlier among the held-out rows counts at most `cap`."""

    cap: float

    def __attrs_post_init__(self) -> None:
        if not (np.isfinite(self.cap) and self.cap > 0.0):
            raise PathError(f"Truncated: cap must be positive and finite, got {self.cap!r}")

    def __str__(self) -> str:
        return f"absolute up to {self.cap:.4g}"

    def __call__(self, y: Array) -> Terms:
        # Subtract the excess over the cap on both sides.
        below = HeldOutLoss.bent(y - self.cap, 1.0, 0.0)
        above = HeldOutLoss.bent(y + self.cap, 0.0, -1.0)
        return (*_absolute(y), below, above)


LOSSES: dict[str, Callable[[Array], Terms]] = {
    "zero-one": _zero_one,
    "hinge": _hinge,
    "absolute": _absolute,
    "squared": _squared,
}
Loss = str | Callable[[Array], Terms]
