"""How Numba is used here: what is compiled how, what is passed by reference, what is kept on disk.

* `options`: the options of compiled functions, and parts that are optimised with their callers;
* `reference`: a named tuple of arrays as one argument;
* `protection`: Ctrl-C during a compilation, damaged files, read-only folders.
"""

from homotopy.compilation.options import FAST, OUTER, PART, SUM, digest
from homotopy.compilation.protection import interrupts_held, protect
from homotopy.compilation.reference import by_reference

__all__ = ["FAST", "OUTER", "PART", "SUM", "by_reference", "digest", "interrupts_held", "protect"]
