"""Whether the loops are compiled yet, and how far compilation is."""

from __future__ import annotations

import functools
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path as FilePath

from homotopy.compilation import compilation_heard, protect
from homotopy.progress import TextBar
from homotopy.tracker import running
from homotopy.tracker.compiling import source_digest

__all__ = ["announce_compilation", "compilation_shown", "compiled"]

protect(vars(running))


def compiled() -> bool:
    """Whether the loops are ready: compiled in this process, or cached on disk by another."""
    # Without a compiler (NUMBA_DISABLE_JIT) it is a plain function.
    if getattr(running.run, "signatures", True):
        return True
    where = running.run.stats.cache_path
    line = running.run.py_func.__code__.co_firstlineno
    python = f"py{sys.version_info.major}{sys.version_info.minor}"
    index = f"running.run-{line}.{python}*.nbi"
    if where is None:
        return False
    # The cache index names the types compiled for, which include the digest of the source.
    source = f"source_{source_digest()}".encode()
    try:
        return any(source in file.read_bytes() for file in FilePath(where).glob(index))
    except OSError:
        return False


@functools.cache
def announce_compilation() -> None:
    """Log once if the loops have yet to be compiled."""
    if not compiled():
        logging.getLogger("homotopy").warning(
            "compiling the loops of homotopy-qp: once after installation, about half a minute, "
            "then kept on disk (homotopy.compile_now() does it beforehand, with a progress bar)"
        )


@contextmanager
def compilation_shown(wanted: bool | None) -> Iterator[None]:
    """A bar while the loops are compiled; None is on a terminal only."""
    shown = sys.stderr is not None and sys.stderr.isatty() if wanted is None else wanted
    if not shown or compiled():
        yield
        return
    announce_compilation()
    bar = TextBar("compiling")
    try:
        with compilation_heard(bar.update_to):
            yield
    finally:
        bar.close()
