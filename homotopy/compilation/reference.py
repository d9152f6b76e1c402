"""Named tuples of arrays that compiled functions share by reference.

Numba passes a named tuple by value: all of its arrays, at every call.  With some sixty arrays that
is most of the code to compile.  `by_reference` stores the tuple once and returns a pointer; reading
a field is a load from there, and a tuple inside the tuple is again a pointer.  Interpreted, it
returns the tuple itself.
"""

from __future__ import annotations

import hashlib
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils, config
from numba.core.datamodel.models import PointerModel, PrimitiveModel
from numba.core.imputils import lower_getattr_generic
from numba.core.typing.templates import AttributeTemplate, infer_getattr
from numba.extending import intrinsic, register_model

__all__ = ["by_reference"]


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
