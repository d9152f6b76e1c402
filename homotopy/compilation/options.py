"""How compiled functions are compiled.

Numba compiles every function on its own (optimised, and down to machine code), and then once more
as a part of each function that calls it, and so on up: with functions that fit on a screen the same
code is optimised a dozen times over.  Functions called by compiled code only are therefore *parts*:
each is typed and translated once, and optimised within the function that Python calls, once, with
all the others in it.  (A pipeline class is how Numba lets a compilation be changed.  If a version
of Numba lacks what is changed here, everything is compiled the ordinary way: slower, with the same
result.)
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path as FilePath
from typing import Any

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

try:
    from numba.core.codegen import JITCodeLibrary
    from numba.core.compiler import Compiler

    class _PartLibrary(JITCodeLibrary):
        """Code that is only linked into its callers."""

        def _optimize_final_module(self) -> None:
            pass

        def _finalize_final_module(self) -> None:
            self._finalize_dynamic_globals()  # type: ignore[no-untyped-call]
            self._finalized = True

        def get_pointer_to_function(self, name: str) -> int:
            self._ensure_finalized()  # type: ignore[no-untyped-call]
            return 0

        @property
        def codegen(self) -> Any:
            return self

        def set_env(self, name: str, environment: Any) -> None:
            """Nothing to do: there is no machine code of its own."""

    class _Part(Compiler):
        def __init__(self, typing: Any, target: Any, library: Any, *rest: Any) -> None:
            if library is None:
                library = _PartLibrary(target.codegen(), "part")  # type: ignore[no-untyped-call]
            super().__init__(typing, target, library, *rest)  # type: ignore[no-untyped-call]

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
