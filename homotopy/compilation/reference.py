"""Named tuples of arrays that compiled functions share by reference.

Numba passes a named tuple by value: all of its arrays, at every call.  With some sixty arrays that
is most of the code to compile.  `by_reference` stores the tuple once and returns a pointer; reading
a field is a load from there, and a tuple inside the tuple is again a pointer.  Interpreted, it
returns the tuple itself.

`held` does the same for calls from Python, where passing sixty arrays takes longer than a short
piece of work: it stores the tuple outside of compiled code and returns a reference.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import typeof, types
from numba.core import cgutils, config
from numba.core.datamodel.models import PointerModel, PrimitiveModel
from numba.core.imputils import lower_getattr_generic
from numba.core.typing.templates import AttributeTemplate, infer_getattr
from numba.extending import NativeValue, intrinsic, register_model, unbox

try:
    from numba._dispatcher import compute_fingerprint as fingerprint
except ImportError:
    # The type itself distinguishes the same arguments, more slowly.
    fingerprint = typeof

__all__ = ["by_reference", "held", "lay_down"]

# Words of memory tried first for a tuple: about eight for each array.
TUPLE_WORDS = 1024


class Reference(types.Type):
    """A pointer to a named tuple that does not change."""

    def __init__(self, target: Any) -> None:
        self.target = target
        digest = hashlib.sha256(target.name.encode()).hexdigest()[:16]
        super().__init__(name=f"Reference({digest})")

    @property
    def key(self) -> Any:
        return self.name


@register_model(Reference)
class _Pointer(PointerModel):
    def __init__(self, manager: Any, kind: Reference) -> None:
        self._pointee_model = manager.lookup(kind.target)
        self._pointee_be_type = self._pointee_model.get_value_type()
        pointer = self._pointee_be_type.as_pointer()
        PrimitiveModel.__init__(self, manager, kind, pointer)  # type: ignore[no-untyped-call]


@infer_getattr
class _Fields(AttributeTemplate):
    key = Reference

    def generic_resolve(self, reference: Reference, name: str) -> Any:  # type: ignore[override]
        target = reference.target
        if name not in target.fields:
            return None
        field = target.types[target.fields.index(name)]
        return Reference(field) if isinstance(field, types.BaseNamedTuple) else field


@lower_getattr_generic(Reference)  # type: ignore[no-untyped-call, untyped-decorator]
def _load(context: Any, builder: Any, kind: Reference, value: Any, name: str) -> Any:
    place = kind.target.fields.index(name)
    zero, field = cgutils.int32_t(0), cgutils.int32_t(place)
    pointer = builder.gep(value, [zero, field], inbounds=True)
    if isinstance(kind.target.types[place], types.BaseNamedTuple):
        return pointer
    load = builder.load(pointer)
    # The tuple never changes, so a loop need not load it again.
    load.set_metadata("invariant.load", builder.module.add_metadata([]))
    return load


@intrinsic
def _stored(typing: Any, value: Any) -> Any:
    """Store `value` on the stack of the caller; return a pointer to it."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        place = cgutils.alloca_once_value(builder, given[0])  # type: ignore[no-untyped-call]
        # Make the optimiser see another pointer, so that no load is moved above the store.
        kind = ir.FunctionType(place.type, [place.type])
        return builder.asm(kind, "", "=r,0,~{memory}", [place], True, name="reference")

    return Reference(value)(value), generate


def _same(value: Any) -> Any:
    return value


by_reference: Any = _same if getattr(config, "DISABLE_JIT", False) else _stored


@intrinsic
def lay_down(typing: Any, value: Any, room: Any) -> Any:
    """Store `value` in the array `room` if there is enough of it; return the bytes it takes."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        array = context.make_array(signature.args[1])(context, builder, given[1])
        words = builder.extract_value(array.shape, 0)
        size = context.get_constant(types.intp, context.get_abi_sizeof(given[0].type))
        enough = builder.icmp_signed("<=", size, builder.mul(words, array.itemsize))
        with builder.if_then(enough):
            builder.store(given[0], builder.bitcast(array.data, given[0].type.as_pointer()))
        return size

    return types.intp(value, room), generate


class Held:
    """A tuple stored in `room`, which compiled functions take by reference.  It keeps the arrays
    alive that it was made of."""

    __slots__ = ("_numba_type_", "address", "given", "room")

    def __init__(self, kind: Any, given: Any, room: Any) -> None:
        self._numba_type_, self.given, self.room = kind, given, room
        self.address = room.ctypes.data

    def __reduce__(self) -> Any:
        raise TypeError("a reference to compiled arguments cannot be pickled or copied")


@unbox(Reference)  # type: ignore[no-untyped-call, untyped-decorator]
def _address(kind: Reference, value: Any, c: Any) -> Any:
    number = c.pyapi.object_getattr_string(value, "address")
    pointer = c.pyapi.long_as_voidptr(number)
    c.pyapi.decref(number)
    place = c.builder.bitcast(pointer, c.context.get_value_type(kind))
    return NativeValue(place)  # type: ignore[no-untyped-call]


_KINDS: dict[Any, Reference] = {}


def _held(make: Callable[..., Any], lay_out: Callable[..., int], *given: Any) -> Any:
    """Return ``make(*given)``, a named tuple, for compiled functions to take by reference.
    ``lay_out(*given, room)`` is compiled and stores the same with `lay_down`."""
    known = fingerprint(given)
    if known not in _KINDS:
        kind = typeof(make(*given))  # type: ignore[no-untyped-call]
        _KINDS[known] = Reference(kind)
    room = np.empty(TUPLE_WORDS, np.int64)
    size = lay_out(*given, room)
    if size > room.nbytes:
        room = np.empty(size // room.itemsize + 1, np.int64)
        lay_out(*given, room)
    return Held(_KINDS[known], given, room)


def _made(make: Callable[..., Any], lay_out: Callable[..., int], *given: Any) -> Any:
    return make(*given)


held: Any = _made if getattr(config, "DISABLE_JIT", False) else _held
