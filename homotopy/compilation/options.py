"""Compiler options.

Numba compiles every function separately (optimised, down to machine code), and then again as a part
of each function that calls it, and so on up: with short functions the same code is optimised a
dozen times.  Functions called only by compiled code are therefore *parts*: each is typed and
translated once, linked once into the function that Python calls, and optimised there with all the
others.  (A pipeline class is Numba's way to change a compilation.  If a version of Numba lacks what
is changed here, everything is compiled the ordinary way: more slowly, with the same result.)
"""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path as FilePath
from typing import Any, ClassVar

__all__ = ["FAST", "OUTER", "PART", "SUM", "digest"]

# Compiled code allocates nothing, so no reference counts are needed; a division by zero gives an
# infinity; a wrapper that is not needed is not compiled.
OUTER: dict[str, Any] = {
    "cache": True,
    "error_model": "numpy",
    "no_cfunc_wrapper": True,
    "_nrt": False,
}
# For functions called only by compiled functions.
PART = OUTER | {"no_cpython_wrapper": True}

# Prefix of the symbols of our own functions.  One that is not linked would be called at address 0.
OURS = "_ZN8homotopy"

try:
    from llvmlite.binding import Linkage
    from numba.core import types
    from numba.core.codegen import JITCodeLibrary
    from numba.core.compiler import Compiler, Flags

    NUMBERS = (types.Float, types.Integer, types.Boolean)
    _OPERATORS = frozenset(one for one in vars(operator).values() if callable(one))
    _known_types: dict[Any, Any] = {}

    class _PartLibrary(JITCodeLibrary):
        """Code that is linked once, with everything it calls, into the function that Python calls,
        not into each caller on the way there."""

        def __init__(self, *given: Any) -> None:
            super().__init__(*given)  # type: ignore[no-untyped-call]
            self._whole: Any = None

        def finalize(self) -> None:
            self._raise_if_finalized()  # type: ignore[no-untyped-call]
            # (Older versions of Numba have nothing to do when code is loaded again.)
            for library in self._linking_libraries:
                for init in getattr(library, "_reload_init", ()):
                    self._reload_init.add(init)
            self._finalize_dynamic_globals()  # type: ignore[no-untyped-call]
            self._finalized = True

        def _called(self, seen: dict[int, Any]) -> dict[int, Any]:
            """Return every library that this one needs, itself included, each once."""
            seen[id(self)] = self
            for library in self._linking_libraries:
                if id(library) not in seen:
                    seen[id(library)] = library
                    if isinstance(library, _PartLibrary):
                        library._called(seen)
            return seen

        def _get_module_for_linking(self) -> Any:
            if self._whole is None:
                called = self._called({}).values()
                whole = self._final_module.clone()
                # Link parts first: code that may be dropped while still unreferenced comes last.
                for library in called:
                    if isinstance(library, _PartLibrary) and library is not self:
                        whole.link_in(library._final_module, preserve=True)
                for library in called:
                    if not isinstance(library, _PartLibrary):
                        whole.link_in(library._get_module_for_linking(), preserve=True)
                for function in whole.functions:
                    if function.is_declaration and function.name.startswith(OURS):
                        raise RuntimeError(f"{function.name} was not linked")
                    if not function.is_declaration and function.linkage == Linkage.external:
                        function.linkage = "linkonce_odr"
                self._whole = whole
            return self._whole

        def get_pointer_to_function(self, name: str) -> int:
            self._ensure_finalized()  # type: ignore[no-untyped-call]
            return 0

        @property
        def codegen(self) -> Any:
            return self

        def set_env(self, name: str, environment: Any) -> None:
            """Do nothing: there is no machine code that needs an environment."""

    class _OneFlags(Flags):
        """Flags that are the same object if they are equal: every typed call looks them up, and
        comparing sixty of them takes a tenth of all compilation."""

        _known: ClassVar[dict[str, Any]] = {}

        @classmethod
        def like(cls, flags: Any) -> Any:
            return cls._known.setdefault(repr(flags), cls(copy_from=flags))

        def copy(self) -> Any:
            return self

        def __eq__(self, other: object) -> bool:
            return self is other or bool(super().__eq__(other))  # type: ignore[no-untyped-call]

        def __hash__(self) -> int:
            return hash(type(self))

    @contextmanager
    def _typed_once(context: Any) -> Iterator[None]:
        """Remember the types of operators on numbers while parts are compiled: looking up the same
        few dozen thousands of times takes a twentieth of all compilation."""
        if "resolve_function_type" in vars(context):
            yield
            return
        own = context.resolve_function_type

        def resolve(function: Any, args: Any, named: Any) -> Any:
            if named or not all(isinstance(one, NUMBERS) for one in args):
                return own(function, args, named)
            if getattr(function, "typing_key", None) not in _OPERATORS:
                return own(function, args, named)
            found = _known_types.get((function, args))
            if found is None:
                found = _known_types[function, args] = own(function, args, named)
            return found

        context.resolve_function_type = resolve
        try:
            yield
        finally:
            del context.resolve_function_type

    class _Part(Compiler):
        def __init__(
            self, typing: Any, target: Any, library: Any, args: Any, result: Any, flags: Any,
            names: Any,
        ) -> None:  # fmt: skip
            if library is None:
                library = _PartLibrary(target.codegen(), "part")
            flags = _OneFlags.like(flags)
            given = typing, target, library, args, result, flags, names
            super().__init__(*given)  # type: ignore[no-untyped-call]

        def compile_extra(self, function: Any) -> Any:
            with _typed_once(self.state.typingctx):
                return super().compile_extra(function)  # type: ignore[no-untyped-call]

    PART = PART | {"cache": False, "pipeline_class": _Part}
except ImportError:
    pass

# Sums may be reordered (so that they are vectorised); nothing else is relaxed.
FAST = {"reassoc", "contract", "nsz"}
SUM = PART | {"fastmath": FAST}


def digest(files: Iterable[str | FilePath]) -> str:
    """Return a digest of the source files that are compiled together.

    Numba's cache of a function is valid as long as the file that defines it is unchanged.  A
    function compiled from many files has this digest in its argument types.
    """
    try:
        content = b"".join(FilePath(file).read_bytes() for file in files)
    except OSError:
        content = b""
    return hashlib.sha256(content).hexdigest()[:12]
