"""The surroundings of a trace: threads, and compilation on first use."""

from __future__ import annotations

import functools
import logging
import sys
import threading
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path as FilePath
from typing import Any

from threadpoolctl import ThreadpoolController

from homotopy.compilation import protect
from homotopy.gram import Gram
from homotopy.tracker import crossing
from homotopy.tracker.compiling import source_digest

__all__ = ["announce_compilation", "compiled", "one_thread"]

# From this many coordinates on, products are long enough for several threads.
MANY = 20_000

protect(vars(crossing))


@functools.cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


class _OneThread:
    """Traces in several Python threads share the limit; the last to leave lifts it."""

    def __init__(self) -> None:
        self._lock, self._inside = threading.Lock(), 0
        self._limit: AbstractContextManager[Any] = nullcontext()

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._limit = _controller().limit(limits=1, user_api="blas")
                self._limit.__enter__()
            self._inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._limit.__exit__(None, None, None)


_ONE_THREAD = _OneThread()


def one_thread(model: Any) -> AbstractContextManager[Any]:
    """Limit BLAS to one thread: on short vectors, several only wait for each other."""
    gram = getattr(model, "gram", None)
    if not isinstance(gram, Gram) or gram.size > MANY:
        return nullcontext()
    return _ONE_THREAD


def compiled() -> bool:
    """Whether the loops are ready: compiled in this process, or cached on disk by another."""
    # Without a compiler (NUMBA_DISABLE_JIT) it is a plain function.
    if getattr(crossing.run, "signatures", True):
        return True
    where = crossing.run.stats.cache_path
    line = crossing.run.py_func.__code__.co_firstlineno
    python = f"py{sys.version_info.major}{sys.version_info.minor}"
    index = f"crossing.run-{line}.{python}*.nbi"
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
            "then kept on disk (homotopy.compile_now() does it beforehand)"
        )
