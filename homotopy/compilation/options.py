"""How compiled functions are compiled.

Numba compiles every function on its own (optimised, and down to machine code), and then once more
as a part of each function that calls it, and so on up: with functions that fit on a screen the same
code is optimised a dozen times over.  Functions called by compiled code only are therefore *parts*:
each is typed and translated once, linked into the function that Python calls, once, and optimised
there with all the others.  (A pipeline class is how Numba lets a compilation be changed.  If a
version of Numba lacks what is changed here, everything is compiled the ordinary way: slower, with
the same result.)
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path as FilePath
from typing import Any, ClassVar

__all__ = ["FAST", "OUTER", "PART", "SUM", "digest"]

# Nothing is allocated in compiled code, so nothing need be counted; a division by zero is an
# infinity; every wrapper is one more thing to compile.
OUTER: dict[str, Any] = {
    "cache": True,
    "error_model": "numpy",
    "no_cfunc_wrapper": True,
    "_nrt": False,
}
# Called by compiled functions only.
PART = OUTER | {"no_cpython_wrapper": True}

# How the symbols of our own functions begin: a call to one that is missing would go nowhere.
OURS = "_ZN8homotopy"

try:
    from llvmlite.binding import Linkage
    from numba.core.codegen import JITCodeLibrary
    from numba.core.compiler import Compiler, Flags

    class _PartLibrary(JITCodeLibrary):
        """Code that is there to be linked into its callers: with all that it calls, once, where a
        whole is made of it, not from caller to caller."""

        def __init__(self, *given: Any) -> None:
            super().__init__(*given)  # type: ignore[no-untyped-call]
            self._whole: Any = None

        def finalize(self) -> None:
            self._raise_if_finalized()  # type: ignore[no-untyped-call]
            for library in self._linking_libraries:
                self._reload_init.update(library._reload_init)
            self._finalize_dynamic_globals()  # type: ignore[no-untyped-call]
            self._finalized = True

        def _called(self, seen: dict[int, Any]) -> dict[int, Any]:
            """Every library that this one needs, itself included, each once."""
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
                # Parts first: what may be left out where nothing asks for it yet comes last.
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
            """There is no machine code to tell where its environment is."""

    class _OneFlags(Flags):
        """Flags that are one object where they are equal: every call that is typed looks them up,
        and comparing sixty of them is a tenth of all compilation."""

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

    PART = PART | {"cache": False, "pipeline_class": _Part}
except ImportError:
    pass

# Sums may be taken in any order (so that they are vectorised); nothing else is relaxed.
FAST = {"reassoc", "contract", "nsz"}
SUM = PART | {"fastmath": FAST}


def digest(files: Iterable[str | FilePath]) -> str:
    """A name for the present source of everything that is compiled together.

    Numba keeps a function on disk for as long as the one file that holds it is unchanged.  One made
    of many files has this in the types that it is compiled for.
    """
    try:
        content = b"".join(FilePath(file).read_bytes() for file in files)
    except OSError:
        content = b""
    return hashlib.sha256(content).hexdigest()[:12]
