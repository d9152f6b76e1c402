"""Progress bars: of tqdm if it is installed, or of the maker set with `shown_by`."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TextIO

from homotopy.errors import MissingPackageError

__all__ = ["TextBar", "in_words", "progress_bar", "shown_by"]

BAR = "{desc} {percentage:3.0f}%|{bar}| {elapsed}, {remaining} left"
WIDTH = 30
# Seconds between redraws of a bar.
BEAT = 0.1

# Makes a bar from its name and its total; a bar has `update`, `update_to`, `close` and is a
# context manager.
Maker = Callable[[str, float], Any]
_MAKER: ContextVar[Maker | None] = ContextVar("maker", default=None)


@contextmanager
def shown_by(make: Maker) -> Iterator[None]:
    """Make bars with `make` instead of tqdm, as the command line does."""
    token = _MAKER.set(make)
    try:
        yield
    finally:
        _MAKER.reset(token)


def progress_bar(name: str, total: float) -> Any:
    """Return a tqdm bar with one more method: ``update_to(part)`` sets it to a fraction."""
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
        def update_to(self, part: float) -> None:
            self.update(part * self.total - self.n)

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
        left = f", about {in_words(passed / part - passed)} left" if part > 0.0 else ""
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
