"""Whether the loops are compiled, and the progress of compilation."""

from __future__ import annotations

import functools
import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path as FilePath
from typing import Any

import numpy as np

from homotopy.arrays import Array
from homotopy.compilation import compilation_heard, protect
from homotopy.gram import DenseGram, Gram, LinearGram
from homotopy.model import Jump, Knot, LossModel, Slope
from homotopy.path import Path
from homotopy.progress import TextBar
from homotopy.tracker import running
from homotopy.tracker.compiling import source_digest

__all__ = ["TinyModel", "announce_compilation", "compile_loops", "compiled"]

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
            "homotopy-qp compiles its loops, once after installation (about half a minute), and "
            "keeps the result on disk; homotopy.compile_now() does it beforehand, with a bar"
        )


@contextmanager
def compilation_shown(wanted: bool | None) -> Iterator[None]:
    """Show a bar while the loops are compiled; if `wanted` is None, only on a terminal."""
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


class TinyModel(LossModel):
    """A problem of three coordinates, traced only to compile the loops."""

    parameter = "theta"
    span = (1.0, 0.0)

    def __init__(self, gram: Gram, border: Array | None) -> None:
        self.gram, self.border = gram, border

    def polyline(self, t: Any) -> tuple[Slope | Knot | Jump, ...]:
        corner = np.array([1.0, 2.0, 3.0])
        return Slope("O", t), Jump(0.0), Slope("L", 1.0), Knot("E", corner), Slope("R", 0.0)


def compile_loops(
    trace: Callable[[LossModel], Path], *, progress: bool | None = None, forks: bool = False
) -> float:
    """Compile by tracing small models with `trace`; see `homotopy.compile_now`."""
    begin = time.perf_counter()
    with compilation_shown(progress):
        for gram in (DenseGram(np.eye(3) + 0.5), LinearGram(np.ones((3, 1)))):
            for border in (np.array([1.0, -1.0, 1.0]), None):
                path = trace(TinyModel(gram, border))
        if forks:
            path.fork(1.0).leave_one_out()
    return time.perf_counter() - begin
