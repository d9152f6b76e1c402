"""How Numba is used: compiler options, arguments by reference, and the cache on disk.

* `options`: the options of compiled functions, and parts that are optimised with their callers;
* `reference`: a named tuple of arrays as one argument;
* `listening`: how far a compilation is;
* `protection`: Ctrl-C during a compilation, damaged files, read-only folders.
"""

from homotopy.compilation.listening import compilation_heard
from homotopy.compilation.options import FAST, OUTER, PART, SUM, digest
from homotopy.compilation.protection import interrupts_held, protect
from homotopy.compilation.reference import by_reference, held, lay_down

__all__ = [
    "FAST",
    "OUTER",
    "PART",
    "SUM",
    "by_reference",
    "compilation_heard",
    "digest",
    "held",
    "interrupts_held",
    "lay_down",
    "protect",
]
