"""You never wait without knowing: bars on a terminal, lines at intervals elsewhere.

Every bar of the toolkit is made here while a command runs.  A bar forecasts: between two reports it
moves on at the speed of before, so that it moves even if there are few.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
from rich.text import Text

from homotopy.progress import ENOUGH, heard_by, in_words, progress_bar, shown_by
from homotopy.runtime import compiled
from homotopy_plugins.cli.answers import INTERRUPTED, Voice, leave

__all__ = ["Forecast", "bars", "compile_first", "expecting", "forecasting", "working"]

# Seconds between two lines where there is no terminal, and before the first.
INTERVAL = 10.0
# Seconds between two looks at whether a line is due.
LOOK = 0.5
# A bar runs ahead of its reports by at most this part of the latest step.
AHEAD = 0.9
# From this part on, what was expected beforehand counts for nothing.
TRUSTED = 0.25
# Seconds that compiling takes on a machine that does nothing else.
COMPILES = 30.0
# What a fresh process does, to be interruptible at any moment: it can be ended.
CHILD = """
import sys
import homotopy
from homotopy.compilation import compilation_heard
def tell(part):
    sys.stdout.write(f"{part:.4f}\\n")
    sys.stdout.flush()
with compilation_heard(tell):
    homotopy.compile_now(progress=False)
"""
COMPILING = (
    "first use: the loops are compiled once and kept on disk, which takes about half a minute"
)


class Forecast:
    """How far something is and how long it will take, from reports of parts in [0, 1]; `expected`
    are seconds that it usually takes, which count for less and less."""

    def __init__(self, expected: float | None = None) -> None:
        self.expected = expected
        self.begun = time.monotonic()
        self.part, self.step, self.at = 0.0, 0.0, self.begun

    def restart(self) -> None:
        """What was done until now was something else."""
        self.begun = self.at = time.monotonic()
        self.part = self.step = 0.0

    def report(self, part: float) -> None:
        if part > self.part:
            self.step, self.part, self.at = part - self.part, min(part, 1.0), time.monotonic()

    @property
    def passed(self) -> float:
        return time.monotonic() - self.begun

    def now(self) -> float:
        """The part that is done by now, as far as can be told."""
        if self.part <= 0.0 or self.at <= self.begun:
            return self.part
        speed = self.part / (self.at - self.begun)
        ahead = speed * (time.monotonic() - self.at)
        return min(self.part + min(ahead, AHEAD * self.step), 1.0)

    def left(self) -> float | None:
        """Seconds that are left, or None where nothing can be said yet."""
        usual = None if self.expected is None else self.expected - self.passed
        if usual is not None and usual <= 0.0:
            # It takes longer than was expected.
            usual = None
        if self.part < ENOUGH or self.at <= self.begun:
            return usual
        whole = (self.at - self.begun) / self.part
        measured = max(whole - self.passed, (1.0 - self.now()) * whole, 0.0)
        if usual is None:
            return measured
        trust = min(self.part / TRUSTED, 1.0)
        return trust * measured + (1.0 - trust) * usual

    def told(self) -> str:
        left = self.left()
        return "" if left is None or self.part >= 1.0 else f"about {in_words(left)} left"


class _Times(ProgressColumn):
    """Seconds that have passed, and about how many are left."""

    def render(self, task: Task) -> Text:
        forecast: Forecast = task.fields["forecast"]
        said = forecast.told()
        passed = in_words(forecast.passed) if forecast.passed >= 1.0 else ""
        return Text(f"{passed}, {said}" if said and passed else passed or said)


# Seconds that the next bar is expected to take.
_EXPECTED: ContextVar[float | None] = ContextVar("expected", default=None)
# Bars that are on the screen; a terminal shows one display at a time.
_LIVE: list[Progress] = []


class _Forecasting(Progress):
    def start(self) -> None:
        super().start()
        _LIVE.append(self)

    def stop(self) -> None:
        super().stop()
        if self in _LIVE:
            _LIVE.remove(self)

    def get_renderables(self) -> Iterator[Any]:
        for task in self.tasks:
            forecast = task.fields.get("forecast")
            if forecast is not None and forecast.part > 0.0:
                task.total, task.completed = 1.0, forecast.now()
            elif forecast is not None:
                task.total = None
        yield from super().get_renderables()


def forecasting(console: Console, *more: Any) -> Progress:
    """A bar that is gone when it is done; tasks need a field ``forecast``."""
    columns = (TextColumn("{task.description}"), BarColumn(), *more, _Times())
    return _Forecasting(*columns, console=console, transient=True)


class _Shown:
    """A bar as the toolkit knows them."""

    def __init__(self, total: float) -> None:
        self.total, self.done = total, 0.0
        self.forecast = Forecast(_EXPECTED.get())
        _EXPECTED.set(None)

    def update(self, amount: float) -> None:
        self.done += amount
        self.update_to(self.done / self.total if self.total else 1.0)

    def update_to(self, part: float) -> None:
        self.done = part * self.total
        self.forecast.report(part)
        self.draw()

    def restart(self) -> None:
        """What was done until now says nothing about the rest."""
        self.done = 0.0
        self.forecast.restart()

    def draw(self) -> None:
        """Show it."""

    def close(self) -> None:
        """It is done."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _OnTerminal(_Shown):
    def __init__(self, name: str, total: float, console: Console) -> None:
        super().__init__(total)
        # Inside another bar it is one more line of that.
        self.own = not _LIVE
        self.progress = forecasting(console) if self.own else _LIVE[-1]
        fields: dict[str, Any] = {"forecast": self.forecast, "t": "", "counts": ""}
        self.task = self.progress.add_task(name, total=None, **fields)
        if self.own:
            self.progress.start()

    def close(self) -> None:
        if self.own:
            self.progress.stop()
        elif self.task in self.progress.task_ids:
            self.progress.remove_task(self.task)


# Bars in lines that are open, the innermost last.
_OPEN: list[_InLines] = []


class _InLines(_Shown):
    def __init__(self, name: str, total: float, voice: Voice, interval: float) -> None:
        super().__init__(total)
        self.name, self.voice, self.interval = name, voice, interval
        self.voice.said = time.monotonic()
        _OPEN.append(self)

    def draw(self) -> None:
        self.say(self.forecast.part)

    def say(self, part: float) -> None:
        """A line, if one is due."""
        if time.monotonic() - self.voice.said >= self.interval:
            passed = self.forecast.passed
            far = f"{part:.0%}" if part > 0.0 else f"{in_words(passed)} so far"
            said = [far, self.forecast.told()]
            self.voice.note(f"{self.name}: {', '.join(word for word in said if word)}")

    def close(self) -> None:
        if self in _OPEN:
            _OPEN.remove(self)


class _Pulse(threading.Thread):
    """Sees to a line after each interval, even if the work tells nothing for long."""

    def __init__(self, voice: Voice, interval: float) -> None:
        super().__init__(daemon=True)
        self.voice, self.interval = voice, interval
        self.ended = threading.Event()
        self.begun = self.voice.said = time.monotonic()

    def run(self) -> None:
        while not self.ended.wait(LOOK):
            now = time.monotonic()
            if _OPEN:
                _OPEN[-1].say(_OPEN[-1].forecast.now())
            elif now - self.voice.said >= self.interval:
                self.voice.note(f"still working: {in_words(now - self.begun)} so far")

    def end(self) -> None:
        self.ended.set()
        self.join()


@contextmanager
def bars(voice: Voice, interval: float = INTERVAL) -> Iterator[None]:
    """Show bars of the toolkit as this command shows things; without a terminal, a line after each
    `interval`."""
    pulse = None if voice.terminal or voice.quiet else _Pulse(voice, interval)
    if pulse is not None:
        pulse.start()
    try:
        with shown_by(lambda name, total: _made(name, total, voice, interval)):
            yield
    finally:
        if pulse is not None:
            pulse.end()


def _made(name: str, total: float, voice: Voice, interval: float) -> _Shown:
    if voice.terminal:
        return _OnTerminal(name, total, voice.errors)
    return _Shown(total) if voice.quiet else _InLines(name, total, voice, interval)


@contextmanager
def expecting(seconds: float | None) -> Iterator[None]:
    """The first bar inside is expected to take so long, which counts until it knows better."""
    token = _EXPECTED.set(seconds)
    try:
        yield
    finally:
        _EXPECTED.reset(token)


@contextmanager
def working(voice: Voice, text: str, seconds: float | None = None) -> Iterator[None]:
    """A bar for work that has none of its own: it moves with what the work tells, and lives if that
    is nothing; `seconds` is about how long it takes."""
    said = text if seconds is None or seconds < 2.0 else f"{text} (about {in_words(seconds)})"
    with _made(said, 1.0, voice, INTERVAL) as bar, heard_by(bar.update_to):
        yield


# ---------------------------------------------------------------------- first use


def compile_first(voice: Voice, command: str) -> None:
    """Compile the loops if that has not been done, with a bar, and so that Ctrl-C ends it at once.

    A compilation cannot be abandoned halfway, but the process that does it can be ended.
    """
    if compiled():
        return
    voice.note(COMPILING)
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    )
    assert child.stdout is not None
    try:
        with bars(voice), progress_bar("compiling", 1.0) as bar:
            bar.forecast.expected = COMPILES
            for line in child.stdout:
                bar.update_to(float(line))
        child.wait()
    except KeyboardInterrupt:
        child.kill()
        child.wait()
        voice.errors.print(
            f"homotopy {command}: interrupted while compiling; nothing was kept, the next command "
            "compiles again"
        )
        leave(INTERRUPTED)
    finally:
        if child.poll() is None:
            child.kill()
    # Where compiled code cannot be kept on disk this process compiles for itself.
