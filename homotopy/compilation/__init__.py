"""How Numba is used: compiler options, arguments by reference, and the cache on disk.

* `options`: the options of compiled functions, and parts that are optimised with their callers;
* `reference`: a named tuple of arrays as one argument;
* `selection`: the k-th smallest of some numbers;
* `listening`: the progress of a compilation;
* `protection`: Ctrl-C during a compilation, damaged files, read-only folders.
"""

from homotopy.compilation import options, reference, selection
from homotopy.compilation.listening import compilation_heard
from homotopy.compilation.options import FAST, OUTER, PART, SUM, digest
from homotopy.compilation.protection import interrupts_held, protect
from homotopy.compilation.reference import by_reference, held, lay_down

__all__ = [
    "FAST",
    "OUTER",
    "PART",
    "SHARED",
    "SUM",
    "by_reference",
    "compilation_heard",
    "digest",
    "held",
    "interrupts_held",
    "lay_down",
    "protect",
]

# The source files of this folder that are compiled into what calls them (see `digest`).
SHARED = tuple(str(module.__file__) for module in (options, reference, selection))
