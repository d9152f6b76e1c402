"""Compilation on first use, whatever happens meanwhile and wherever its result can be kept.

Numba compiles a function when it is first called and keeps the machine code in a folder.  Three
things that it leaves to chance are seen to here:

* *Ctrl-C.*  A `KeyboardInterrupt` that comes while LLVM calls back into Python is printed and
  swallowed there, and the compilation goes on without its result ("no compiled object yet").
  Machine code cannot be left half-way, so the signal waits until it is done, half a minute at the
  most, once after installation; what was compiled is kept, and the interrupt is raised.
* *A file that is spoiled*, by a full disk or a machine that went down: the function is compiled
  again and the file replaced.
* *No folder that can be written to*: a folder of this process alone.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import logging
import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path as FilePath
from typing import Any, Self

__all__ = ["interrupts_held", "protect"]

LOG = logging.getLogger("homotopy")
# The compiled functions of packages whose name begins so are kept somewhere in any case.
OURS = "homotopy"


class _Waiting:
    """A handler of Ctrl-C that lets it wait."""

    def __init__(self) -> None:
        self.pending = False

    def __call__(self, _number: int, _frame: object) -> None:
        if not self.pending:
            LOG.warning("Ctrl-C: as soon as the loops of homotopy-qp are compiled")
        self.pending = True


@contextlib.contextmanager
def interrupts_held() -> Iterator[None]:
    """Let Ctrl-C wait until the end; other threads than the main one never see it anyway."""
    before, waiting = signal.getsignal(signal.SIGINT), _Waiting()
    try:
        if callable(before) and not isinstance(before, _Waiting):
            signal.signal(signal.SIGINT, waiting)
    except ValueError:
        # Not the main thread.
        pass
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGINT) is waiting:
            signal.signal(signal.SIGINT, before)
        if waiting.pending:
            signal.raise_signal(signal.SIGINT)


def protect(functions: Mapping[str, Any]) -> None:
    """See to Ctrl-C and to spoiled files for the compiled functions among the values."""
    for function in functions.values():
        cache: Any = getattr(function, "_cache", None)
        # Whatever is not kept on its own is compiled within one that is.
        if getattr(cache, "cache_path", None) and "compile" not in vars(function):
            function.compile = _undisturbed(function.compile)
            cache.load_overload = _forgiving(cache.load_overload, cache)
            cache.save_overload = _forgiving(cache.save_overload, cache)


def _undisturbed(compile: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(compile)
    def wrapped(*arguments: Any) -> Any:
        with interrupts_held():
            return compile(*arguments)

    return wrapped


def _forgiving(step: Callable[..., Any], cache: Any) -> Callable[..., Any]:
    """`step`, or None where the files cannot be read or written; what they hold is forgotten."""

    @functools.wraps(step)
    def wrapped(*arguments: Any) -> Any:
        try:
            return step(*arguments)
        except Exception as error:
            # Unpickling spoiled bytes can raise anything.
            LOG.warning(
                "compiled code in %s is not usable (%s: %s) and will be made again",
                cache.cache_path,
                type(error).__name__,
                error,
            )
            with contextlib.suppress(Exception):
                cache.flush()
            return None

    return wrapped


# ---------------------------------------------------------------------- nowhere else to go


@functools.cache
def _own_folder() -> str:
    folder, process = tempfile.mkdtemp(prefix="homotopy-qp-"), os.getpid()

    def remove() -> None:
        if os.getpid() == process:
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
    LOG.warning(
        "no folder for compiled code can be written to, so that every process compiles anew, for "
        "about half a minute; let NUMBA_CACHE_DIR name a folder that can"
    )
    return folder


try:
    from numba.core import caching

    class _LastResort(caching._CacheLocator):
        """A folder of this process, for functions of these packages."""

        def __init__(self, function: Any, file: str) -> None:
            self._line, self._file = function.__code__.co_firstlineno, file

        def get_cache_path(self) -> str:
            return os.path.join(_own_folder(), FilePath(self._file).parent.name)

        def get_source_stamp(self) -> float:
            return os.path.getmtime(self._file)

        def get_disambiguator(self) -> str:
            return str(self._line)

        @classmethod
        def from_function(cls, function: Any, file: str) -> Self | None:
            if not function.__module__.startswith(OURS):
                return None
            try:
                locator = cls(function, file)
                locator.ensure_cache_path()  # type: ignore[no-untyped-call]
            except OSError:
                return None
            return locator

    caching.CacheImpl._locator_classes.append(_LastResort)
except (ImportError, AttributeError):
    # Numba's own message it is, then.
    pass
