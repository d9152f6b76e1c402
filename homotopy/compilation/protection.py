"""Compilation on first use that survives Ctrl-C, damaged cache files and read-only folders.

Numba compiles a function when it is first called and stores the machine code in a folder.  Three
cases that Numba does not handle are handled here:

* *Ctrl-C.*  A `KeyboardInterrupt` that arrives while LLVM calls back into Python is printed and
  lost there, and the compilation continues without its result ("no compiled object yet").  A
  compilation cannot be abandoned halfway, so the signal is held until it is done (at most half a
  minute, once after installation); the result is cached, then the interrupt is raised.
* *A damaged file*, after a full disk or a crash: the function is compiled again and the file
  replaced.
* *No writable folder*: a temporary folder is used for this process.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import logging
import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path as FilePath
from typing import Any, Self

LOG = logging.getLogger("homotopy")
# Compiled functions of packages whose names begin with this are always cached somewhere.
PACKAGE = "homotopy"
# Thresholds of Python's garbage collector while Numba compiles; more would cost memory.
COLLECTIONS = 50_000, 10, 1_000


class _Waiting:
    """A handler that holds Ctrl-C."""

    def __init__(self) -> None:
        self.pending = False

    def __call__(self, _number: int, _frame: object) -> None:
        if not self.pending:
            LOG.warning("Ctrl-C: stopping as soon as the loops of homotopy-qp are compiled")
        self.pending = True


@contextlib.contextmanager
def interrupts_held() -> Iterator[None]:
    """Hold Ctrl-C until the end of the block; only the main thread receives it."""
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


@contextlib.contextmanager
def fewer_collections() -> Iterator[None]:
    """Let Python look for garbage less often: a compiler makes millions of small objects, and few
    of them are garbage in cycles."""
    before = gc.get_threshold()
    gc.set_threshold(*COLLECTIONS)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def protect(functions: Mapping[str, Any]) -> None:
    """Guard the compiled functions among the values against Ctrl-C and damaged cache files."""
    for function in functions.values():
        cache: Any = getattr(function, "_cache", None)
        # A function without a cache is compiled as part of one that has a cache.
        if getattr(cache, "cache_path", None) and "compile" not in vars(function):
            function.compile = _undisturbed(function.compile)
            cache.load_overload = _forgiving(cache.load_overload, cache)
            cache.save_overload = _forgiving(cache.save_overload, cache)


def _undisturbed(compile: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(compile)
    def wrapped(*arguments: Any) -> Any:
        with interrupts_held(), fewer_collections():
            return compile(*arguments)

    return wrapped


def _forgiving(step: Callable[..., Any], cache: Any) -> Callable[..., Any]:
    """Wrap `step` to return None if the files cannot be read or written, and drop their content."""

    @functools.wraps(step)
    def wrapped(*arguments: Any) -> Any:
        try:
            return step(*arguments)
        except Exception as error:
            # Unpickling damaged bytes can raise anything.
            LOG.warning(
                "compiled code in %s is not usable (%s: %s) and will be compiled again",
                cache.cache_path,
                type(error).__name__,
                error,
            )
            with contextlib.suppress(Exception):
                cache.flush()
            return None

    return wrapped


# ---------------------------------------------------------------------- no writable folder


@functools.cache
def _own_folder() -> str:
    folder, process = tempfile.mkdtemp(prefix="homotopy-qp-"), os.getpid()

    def remove() -> None:
        if os.getpid() == process:
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
    LOG.warning(
        "no folder for compiled code is writable, so every process compiles again, for about half "
        "a minute; set NUMBA_CACHE_DIR to a writable folder"
    )
    return folder


try:
    from numba.core import caching

    class _LastResort(caching._CacheLocator):
        """A temporary folder for functions of these packages."""

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
            if not function.__module__.startswith(PACKAGE):
                return None
            try:
                locator = cls(function, file)
                locator.ensure_cache_path()  # type: ignore[no-untyped-call]
            except OSError:
                return None
            return locator

    caching.CacheImpl._locator_classes.append(_LastResort)
except (ImportError, AttributeError):
    # Then the user sees Numba's own message.
    pass
