"""Progress bars: of tqdm if it is installed, or of the maker set with `shown_by`.

Long work that has no bar of its own says with `told` how far it is; who is around it hears that
with `heard_by`, and work that is made of parts names them with `stage`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TextIO

from homotopy.errors import MissingPackageError

__all__ = ["ENOUGH", "TextBar", "heard_by", "in_words", "progress_bar", "shown_by", "stage", "told"]

BAR = "{desc} {percentage:3.0f}%|{bar}| {elapsed}, {remaining} left"
WIDTH = 30
# Seconds between redraws of a bar.
BEAT = 0.1
# Nothing is said of the time left before this part is done: the first steps are not like the rest.
ENOUGH = 0.01

# Makes a bar from its name and its total; a bar has `update`, `update_to`, `restart` and `close`,
# and is a context manager.
Maker = Callable[[str, float], Any]
_MAKER: ContextVar[Maker | None] = ContextVar("maker", default=None)
# Hears how far something is, as a part in [0, 1].
Listener = Callable[[float], object]
_LISTENER: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def shown_by(make: Maker) -> Iterator[None]:
    """Make bars with `make` instead of tqdm, as the command line does."""
    token = _MAKER.set(make)
    try:
        yield
    finally:
        _MAKER.reset(token)


@contextmanager
def heard_by(listener: Listener | None) -> Iterator[None]:
    """Let `listener` hear how far the work inside is."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)


def told(done: float, total: float = 1.0) -> None:
    """Say that `done` of `total` is done."""
    listener = _LISTENER.get()
    if listener is not None:
        listener(min(done / total, 1.0) if total > 0.0 else 1.0)


@contextmanager
def stage(begin: float, end: float) -> Iterator[None]:
    """The work inside leads from the part `begin` of a longer one to the part `end`."""
    listener = _LISTENER.get()
    if listener is None:
        yield
        return
    with heard_by(lambda part: listener(begin + part * (end - begin))):
        yield
    listener(end)


def progress_bar(name: str, total: float) -> Any:
    """Return a tqdm bar with two more methods: ``update_to(part)`` sets it to a fraction, and after
    ``restart()`` the time that has passed counts for nothing."""
    make = _MAKER.get()
    if make is not None:
        return make(name, total)
    try:
        from tqdm.auto import tqdm
    except ImportError:
        raise MissingPackageError(
            "a progress bar needs tqdm; install homotopy-qp[progress] or leave it off "
            "(progress=False, verbose=False)"
        ) from None

    class Bar(tqdm):  # type: ignore[misc]
        def update(self, n: float | None = 1) -> Any:
            # Sums of parts may exceed the total by rounding.
            return super().update(min(1 if n is None else n, self.total - self.n))

        def update_to(self, part: float) -> None:
            self.update(part * self.total - self.n)

        def restart(self) -> None:
            self.reset()

    return Bar(total=total, desc=name, bar_format=BAR)


def in_words(seconds: float) -> str:
    """Return a readable duration: ``8 s``, ``3 min``, ``2.5 h``."""
    if seconds < 100.0:
        return f"{max(seconds, 1.0):.0f} s"
    return f"{seconds / 60.0:.0f} min" if seconds < 6000.0 else f"{seconds / 3600.0:.1f} h"


class TextBar:
    """A bar on a terminal that needs no other package."""

    def __init__(self, name: str, stream: TextIO | None = None) -> None:
        self.name, self.stream = name, stream or sys.stderr
        self.begun, self.drawn = time.monotonic(), 0.0

    def update_to(self, part: float) -> None:
        now = time.monotonic()
        if now - self.drawn < BEAT:
            return
        self.drawn, passed = now, now - self.begun
        left = f", about {in_words(passed / part - passed)} left" if part >= ENOUGH else ""
        full = "█" * round(part * WIDTH)
        text = f"\r{self.name} {part:4.0%}|{full:<{WIDTH}}| {passed:.0f} s{left}\x1b[K"
        try:
            self.stream.write(text)
        except UnicodeEncodeError:
            self.stream.write(text.replace("█", "#"))
        self.stream.flush()

    def close(self) -> None:
        self.stream.write("\r\x1b[K")
        self.stream.flush()
