"""The symbolic parameter: numbers of the form ``const + rate * t``.

A model writes its polyline once, as a function of ``t``.  The engine calls it with ``t`` an
`Affine` to learn how every corner and slope moves; the certificate calls it with ``t`` a plain
float, which evaluates the same declaration by ordinary arithmetic.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import attrs
import numpy as np
import numpy.typing as npt

from homotopy.arrays import Array
from homotopy.errors import ModelError

__all__ = ["Affine", "cannot_hold"]


def _as_array(value: Any) -> Array:
    try:
        return np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        given = repr(value)
        given = given if len(given) <= 60 else f"{given[:60]}..."
        raise ModelError(f"polyline: expected a number or numbers, got {given}") from None


@attrs.frozen(eq=False)
class Affine:
    """``const + rate * t``: a number or an array that works with NumPy.

    ``Affine.parameter()`` is ``t`` itself.  Sums, differences, products with numbers and arrays,
    indexing and NumPy functions that only rearrange numbers (``np.where``, ``np.full``,
    ``np.stack``, ``np.concatenate``, ``np.repeat``, ...) return an `Affine`.  Operations whose
    result is not affine, such as a product of two quantities that both move, a power, a comparison
    or a maximum, raise a `ModelError` that says so.
    """

    const: Any = attrs.field(converter=_as_array)
    rate: Any = attrs.field(converter=_as_array)

    @classmethod
    def parameter(cls) -> Affine:
        """The parameter ``t`` itself."""
        return cls(0.0, 1.0)

    @classmethod
    def of(cls, value: object) -> Affine:
        """Return `value` as an `Affine`; numbers and arrays get rate 0."""
        if isinstance(value, Affine):
            return value
        if hasattr(value, "__array__") and not isinstance(value, np.ndarray):
            value = np.asarray(value)  # A column of a table.
        if _holds_affine(value):
            return _gathered(np.asarray(_listed(value), dtype=object))
        return cls(value, 0.0)

    def at(self, t: float) -> Array:
        """Return the value at `t`, which may be infinite where the rate is 0."""
        return np.asarray(self.const + self.rate * np.where(self.rate == 0.0, 0.0, t))

    @property
    def moves(self) -> bool:
        """Whether any entry depends on t."""
        return bool(np.any(self.rate))

    # ------------------------------------------------------------------ arithmetic

    def __add__(self, other: object) -> Affine:
        right = _operand(other)
        return Affine(self.const + right.const, self.rate + right.rate)

    __radd__ = __add__

    def __neg__(self) -> Affine:
        return Affine(-self.const, -self.rate)

    def __pos__(self) -> Affine:
        return self

    def __sub__(self, other: object) -> Affine:
        return self + (-_operand(other))

    def __rsub__(self, other: object) -> Affine:
        return _operand(other) + (-self)

    def __mul__(self, other: object) -> Affine:
        right = _operand(other)
        if self.moves and right.moves:
            raise ModelError(
                "polyline: a product of two quantities that both move with t is not affine; "
                "a polyline may only hold const + rate * t"
            )
        # 0 * inf is 0 here: an infinite slope that does not move has rate 0, not nan.
        rate = np.where(right.rate == 0.0, 0.0, _finite(self.const) * right.rate)
        rate = rate + np.where(self.rate == 0.0, 0.0, self.rate * _finite(right.const))
        return Affine(self.const * right.const, rate)

    __rmul__ = __mul__

    def __matmul__(self, other: object) -> Affine:
        right = _operand(other)
        if self.moves and right.moves:
            _refuse("a matrix product")
        (c, r), (d, s) = self._parts(), right._parts()
        return Affine(c @ d, r @ d if self.moves else c @ s)

    def __rmatmul__(self, other: object) -> Affine:
        return _operand(other) @ self

    def __truediv__(self, other: object) -> Affine:
        right = _operand(other)
        if right.moves:
            raise ModelError("polyline: division by a quantity that moves with t is not affine")
        return self * Affine(1.0 / right.const, 0.0)

    def __rtruediv__(self, other: object) -> Affine:
        return _operand(other).__truediv__(self)

    # ------------------------------------------------------------------ as an array

    @property
    def shape(self) -> tuple[int, ...]:
        return np.broadcast_shapes(self.const.shape, self.rate.shape)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape))

    @property
    def T(self) -> Affine:
        return self._moved(np.transpose)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a single number that moves with t")
        return self.shape[0]

    def __getitem__(self, index: Any) -> Affine:
        return self._moved(operator.itemgetter(index))

    def __iter__(self) -> Iterator[Affine]:
        return (self[i] for i in range(len(self)))

    def _moved(self, function: Callable[[Array], Any]) -> Affine:
        """Apply `function` to the constants and to the rates."""
        return Affine(*(function(part) for part in self._parts()))

    def _parts(self) -> tuple[Array, Array]:
        """Constants and rates in full shape."""
        return np.broadcast_to(self.const, self.shape), np.broadcast_to(self.rate, self.shape)

    def reshape(self, *shape: Any) -> Affine:
        """Return the numbers in another shape."""
        return self._moved(lambda v: v.reshape(*shape))

    def sum(self, axis: Any = None) -> Affine:
        """Return the sum, which is affine too."""
        return self._moved(lambda v: v.sum(axis=axis))

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        known = _ARITHMETIC.get(ufunc.__name__)
        if known is not None and "out" in options:
            cannot_hold()
        if known is None or method != "__call__" or options:
            _refuse(f"np.{ufunc.__name__}")
        return known(*(v if isinstance(v, Affine) else Affine.of(v) for v in inputs))

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        name = function.__name__
        if name == "where" and len(args) == 3:
            one, two = (Affine.of(v) for v in args[1:])
            parts = ((one.const, two.const), (one.rate, two.rate))
            return Affine(*(np.where(args[0], *part) for part in parts))
        if name == "append" and len(args) == 2:
            axis = kwargs.get("axis")
            flat = args if axis is not None else [Affine.of(v).reshape(-1) for v in args]
            return self.__array_function__(np.concatenate, types, (flat, axis or 0), {})
        if name == "copyto":
            cannot_hold()
        if name in _LISTS and args:
            each = [Affine.of(v)._parts() for v in args[0]]
            both = (function([part[k] for part in each], *args[1:], **kwargs) for k in range(2))
            return Affine(*both)
        if name in _MOVING and args and isinstance(args[0], Affine):
            return args[0]._moved(lambda v: function(v, *args[1:], **kwargs))
        if name == "dot" and len(args) == 2 and not kwargs:
            return _operand(args[0]) @ _operand(args[1])
        if name in ("shape", "ndim", "size") and args:
            return getattr(args[0], name)
        if name in ("zeros_like", "ones_like") and args:
            return function(np.empty(args[0].shape), *args[1:], **kwargs)
        _refuse(f"np.{name}")

    # ------------------------------------------------------------------ what is not affine

    def __pow__(self, power: object) -> Affine:
        if isinstance(power, int | float) and power in (0, 1):
            return self * 0.0 + 1.0 if power == 0 else self
        if not self.moves and not Affine.of(power).moves:
            return Affine(self.const ** Affine.of(power).const, 0.0)
        _refuse("a power")

    def __rpow__(self, base: object) -> Affine:
        return Affine.of(base) ** self

    def __abs__(self) -> Affine:
        if not self.moves:
            return Affine(np.abs(self.const), 0.0)
        _refuse("an absolute value")

    def _number(self, what: str) -> Array:
        if self.moves:
            _refuse(what)
        return np.asarray(self.const)

    def __float__(self) -> float:
        return float(self._number("a conversion to a plain number"))

    def __int__(self) -> int:
        return int(self._number("a conversion to a plain number"))

    def __mod__(self, other: object) -> NoReturn:
        _refuse("a remainder")

    def __floordiv__(self, other: object) -> NoReturn:
        _refuse("a division without remainder")

    def __bool__(self) -> bool:
        return bool(self._number("a comparison or a test"))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        if not self.moves or dtype not in (None, object):
            number = self._number("a conversion to a plain array")
            return np.array(np.broadcast_to(number, self.shape), dtype=dtype)
        # `np.full` and `np.array` make an object array of it, which `of` converts back.
        single = np.empty(self.shape, dtype=object)
        for index in np.ndindex(*self.shape):
            single[index] = self[index]
        return single

    def _compared(self, other: object, how: Callable[[Any, Any], Any]) -> Any:
        what = "a comparison, a maximum or a minimum"
        return how(self._number(what), Affine.of(other)._number(what))

    def __lt__(self, other: object) -> Any:
        return self._compared(other, operator.lt)

    def __le__(self, other: object) -> Any:
        return self._compared(other, operator.le)

    def __gt__(self, other: object) -> Any:
        return self._compared(other, operator.gt)

    def __ge__(self, other: object) -> Any:
        return self._compared(other, operator.ge)

    def __eq__(self, other: object) -> Any:
        return self._compared(other, operator.eq)

    def __ne__(self, other: object) -> Any:
        return self._compared(other, operator.ne)

    __hash__ = object.__hash__


def _operand(value: object) -> Affine:
    """Return the other operand of a sum or product as an `Affine`.  Lists are refused: they work
    with the symbolic t, but not with the plain number that the certificate passes."""
    if isinstance(value, list | tuple):
        raise ModelError(
            f"polyline: the list {value!r} is combined with t; write np.array(...), because a list "
            "cannot be added to or multiplied by a plain number"
        )
    return Affine.of(value)


def _refuse(what: str) -> NoReturn:
    raise ModelError(
        f"polyline: {what} of a quantity that moves with t is not affine in t; a polyline may only "
        "hold const + rate * t.  If the model changes its form at some t, trace one span that ends "
        "there and another that begins there"
    )


def cannot_hold() -> NoReturn:
    """Refuse to store a quantity that moves with t in an array of plain numbers."""
    raise ModelError(
        "polyline: an array of plain numbers cannot hold a quantity that moves with t (z[i] = t, "
        "+=, out=..., dtype=float, np.full_like); make a new array by a sum, np.where or np.full"
    ) from None


_ARITHMETIC: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "true_divide": operator.truediv,
    "negative": operator.neg,
    "positive": operator.pos,
    "matmul": operator.matmul,
    "power": operator.pow,
    "absolute": abs,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "equal": operator.eq,
    "not_equal": operator.ne,
}
# Functions of a list of arrays, and of one array, that only rearrange (or add) numbers.
_LISTS = ("stack", "concatenate", "hstack", "vstack", "column_stack")
_MOVING = (
    "broadcast_to", "copy", "cumsum", "diff", "expand_dims", "flip", "moveaxis", "ravel", "repeat",
    "reshape", "roll", "squeeze", "sum", "mean", "swapaxes", "take", "tile", "transpose",
)  # fmt: skip


def _holds_affine(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.dtype == object and any(isinstance(v, Affine) for v in value.flat)
    if isinstance(value, list | tuple):
        return any(map(_holds_affine, value))
    return isinstance(value, Affine)


def _listed(value: Any) -> Any:
    """Return nested lists of single `Affine` numbers, which NumPy must not unpack."""
    if isinstance(value, Affine):
        return value
    if isinstance(value, np.ndarray | list | tuple):
        return [_listed(v) for v in value]
    return Affine(value, 0.0)


def _gathered(values: npt.NDArray[Any]) -> Affine:
    """Combine an array of single `Affine` numbers into one `Affine`."""
    parts = [Affine.of(v) for v in values.flat]
    const, rate = (np.array([p.const for p in parts]), np.array([p.rate for p in parts]))
    return Affine(const.reshape(values.shape), rate.reshape(values.shape))


def _finite(value: Array) -> Array:
    """Replace infinities by 0; an infinity that moves is refused when a model is compiled."""
    return np.where(np.isfinite(value), value, 0.0)
