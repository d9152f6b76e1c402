"""The symbolic parameter: numbers of the form ``const + rate * t``.

A model writes its polyline once, as a function of ``t``.  The engine calls it with ``t`` an
`Affine` to learn how every corner and slope moves; the certificate calls it with ``t`` a plain
float, which evaluates the same declaration by ordinary arithmetic.
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from homotopy.errors import ModelError

__all__ = ["Affine"]

Array = npt.NDArray[np.float64]


def _as_array(value: Any) -> Array:
    return np.asarray(value, dtype=float)


@attrs.frozen(eq=False)
class Affine:
    """``const + rate * t`` with scalar or per-coordinate ``const`` and ``rate``.

    ``Affine.parameter()`` is ``t`` itself.  Sums, differences and products with numbers and arrays
    stay affine; a product of two `Affine` that both move, or a division by one, is refused.
    """

    # Array arithmetic must defer to the reflected methods below instead of building object arrays.
    __array_ufunc__ = None

    const: Any = attrs.field(converter=_as_array)
    rate: Any = attrs.field(converter=_as_array)

    @classmethod
    def parameter(cls) -> Affine:
        """The parameter ``t`` itself."""
        return cls(0.0, 1.0)

    @classmethod
    def of(cls, value: object) -> Affine:
        """`value` as an `Affine`: numbers and arrays do not move."""
        return value if isinstance(value, Affine) else cls(value, 0.0)

    def __add__(self, other: object) -> Affine:
        right = Affine.of(other)
        return Affine(self.const + right.const, self.rate + right.rate)

    __radd__ = __add__

    def __neg__(self) -> Affine:
        return Affine(-self.const, -self.rate)

    def __sub__(self, other: object) -> Affine:
        return self + (-Affine.of(other))

    def __rsub__(self, other: object) -> Affine:
        return Affine.of(other) + (-self)

    def __mul__(self, other: object) -> Affine:
        right = Affine.of(other)
        if np.any(self.rate) and np.any(right.rate):
            raise ModelError(
                "polyline: a product of two quantities that both move with t is not affine; "
                "a polyline may only hold const + rate * t"
            )
        # 0 * inf is 0 here: an infinite slope that does not move has rate 0, not nan.
        rate = np.where(right.rate == 0.0, 0.0, _finite(self.const) * right.rate)
        rate = rate + np.where(self.rate == 0.0, 0.0, self.rate * _finite(right.const))
        return Affine(self.const * right.const, rate)

    __rmul__ = __mul__

    def __truediv__(self, other: object) -> Affine:
        if isinstance(other, Affine):
            raise ModelError("polyline: division by a quantity that moves with t is not affine")
        return self * (1.0 / np.asarray(other, dtype=float))

    def __rtruediv__(self, other: object) -> Affine:
        raise ModelError("polyline: division by a quantity that moves with t is not affine")


def _finite(value: Array) -> Array:
    """Zero for what is infinite; an infinity that moves is refused when a model is compiled."""
    return np.where(np.isfinite(value), value, 0.0)
