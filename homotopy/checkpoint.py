"""Checkpoints: files from which another process can continue a trace.

A checkpoint is the working memory of a trace at a pause, to the last bit: the arrays of the
tracker, which rows of Q are stored (that decides the order of some sums), and the state of the loop
around it.  Pauses do not change the arithmetic, so a resumed trace ends as if it had never stopped.

It is written uncompressed and replaces the previous one atomically (see `homotopy.path.files`).
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from types import FrameType
from typing import Any, Protocol

import attrs
import numpy as np
import numpy.typing as npt

from homotopy.errors import ModelError, PathError, TraceError
from homotopy.model import LossModel, Problem
from homotopy.path import Path
from homotopy.path.files import (
    Archive,
    FileName,
    ensure_writable,
    name_of,
    packed,
    refusing,
    replace_file,
)
from homotopy.path.fingerprint import Fingerprint
from homotopy.path.storage import (
    CHECKPOINT,
    REAL,
    WHOLE,
    members_of,
    read_fingerprint,
    read_header,
    read_path,
    written,
)
from homotopy.tracker.compiling import source_digest

__all__ = ["EVERY", "Checkpoint", "Keeper", "Trouble"]

# Seconds between two checkpoints, unless the user says otherwise.
EVERY = 60.0
STATE, EARLIER = "state.", "earlier."
WHAT = "a checkpoint"
# The state of a trace: numbers and arrays, by the part of the trace they belong to and by name.
Parts = Mapping[str, Mapping[str, Any]]
_FIELDS = {
    "format",
    "source",
    "model",
    "options",
    "fingerprint",
    "trouble",
    "no_optimum",
    "proven",
}


@attrs.frozen(eq=False)
class Trouble:
    """How an attempt ended that could not be proven."""

    # What the error said, and whether it claims that no optimum exists.
    message: str
    no_optimum: bool
    # The part of the trace that can be proven.
    proven: Path | None


class Described(Protocol):
    """What a checkpoint stores of the options of a trace."""

    @property
    def model(self) -> LossModel:
        """The model that is traced."""

    def described(self) -> dict[str, Any]:
        """Return what a path depends on besides the model, by name."""


class Saved(Protocol):
    """A trace that can be saved."""

    def state(self) -> Parts:
        """Return everything that the rest of the trace depends on."""

    def trouble(self) -> Trouble | None:
        """Return how the previous attempt ended, if there was one."""


# ---------------------------------------------------------------------- reading


@attrs.frozen(eq=False)
class Checkpoint:
    """The content of a checkpoint file."""

    file: FileName
    # The state of the trace.
    parts: Parts
    # How the first attempt ended; None if this is the first.
    trouble: Trouble | None

    @classmethod
    def read(cls, file: FileName, options: Described) -> Checkpoint:
        """Read what a `Keeper` wrote; refuse a file that `options` cannot continue bit for bit."""
        _check_name(file)
        with refusing(file, WHAT):
            archive = Archive(file)
        with archive:
            with refusing(file, WHAT):
                header = _read_header(archive, file)
                _check_options(header, options, file)
                problem = Problem.compile(options.model)
                mark = read_fingerprint(archive, header, problem)
            if not mark.fits(problem):
                raise PathError(
                    f"{name_of(file)} was made with another model or other data; build the model "
                    "exactly as it was, or trace it again"
                )
            with refusing(file, WHAT):
                part = archive.part(STATE)
                kinds = {name: part.kind(name) for name in part.names}
                if not set(kinds.values()) <= {REAL, WHOLE}:
                    raise ValueError(f"it holds numbers of type {sorted(set(kinds.values()))}")
                parts: dict[str, dict[str, npt.NDArray[Any]]] = {}
                for member, kind in kinds.items():
                    owner, _, name = member.partition(".")
                    parts.setdefault(owner, {})[name] = part.read(member, kind)
            trouble = None
            if header["trouble"] is not None:
                proven = None
                if header["proven"]:
                    proven = read_path(Path, archive.part(EARLIER), file, options.model)
                trouble = Trouble(header["trouble"], header["no_optimum"], proven)
        return cls(file, parts, trouble)

    def refusing(self) -> contextlib.AbstractContextManager[None]:
        """Turn any error inside into a `PathError` that names the file."""
        return refusing(self.file, WHAT)


def _read_header(archive: Archive, file: FileName) -> dict[str, Any]:
    header, name = read_header(archive), name_of(file)
    if isinstance(header.get("format"), int):
        raise PathError(
            f"{name} is a saved path, not a checkpoint; Path.load(file, model) reads it"
        )
    if header.get("format") != CHECKPOINT or header.get("source") != source_digest():
        raise PathError(
            f"{name} was made by another version of homotopy-qp, which may round differently; "
            "continue with that version, or trace the model again"
        )
    if set(header) != _FIELDS:
        raise ValueError(f"the header must have {', '.join(sorted(_FIELDS))}")
    kinds = {"model": str, "fingerprint": str, "options": dict, "no_optimum": bool, "proven": bool}
    for key, kind in kinds.items():
        if not isinstance(header[key], kind):
            raise ValueError(f"{key} is {header[key]!r}")
    if not isinstance(header["trouble"], str | None):
        raise ValueError(f"trouble is {header['trouble']!r}")
    return header


def _check_options(header: Mapping[str, Any], options: Described, file: FileName) -> None:
    theirs = header["options"] | {"model": header["model"]}
    ours = options.described() | {"model": type(options.model).__name__}
    for name in sorted(set(theirs) | set(ours)):
        if theirs.get(name) != ours.get(name):
            raise PathError(
                f"{name_of(file)} was made with {name}={theirs.get(name)!r}, this is "
                f"{name}={ours.get(name)!r}; build model and Homotopy exactly as they were, "
                "or trace again"
            )


def _check_name(file: FileName) -> None:
    if not isinstance(file, str | os.PathLike):
        raise PathError(f"checkpoint: expected the name of a file, got {file!r}")


# ---------------------------------------------------------------------- writing


class Keeper:
    """Writes checkpoints, at intervals and before a trace stops.

    Limits, callbacks and Ctrl-C can stop a trace anywhere.  With a keeper, the trace first
    continues to its next pause (for at most `grace` seconds), so that nothing is lost.
    """

    def __init__(self, file: FileName, every: float, options: Described, grace: float) -> None:
        _check_name(file)
        if not (isinstance(every, int | float | np.number) and every >= 0.0):
            raise ModelError(f"every: expected a number of seconds, 0 or more, got {every!r}")
        ensure_writable(file)
        self.file, self.every, self.grace = file, float(every), grace
        # Do this before tracing: products with Q must not change which rows are stored.
        self._mark = Fingerprint.of(Problem.compile(options.model))
        self._header = {
            "format": CHECKPOINT,
            "source": source_digest(),
            "model": type(options.model).__name__,
            "options": options.described(),
            "fingerprint": self._mark.digest,
        }
        self._next = time.monotonic() + self.every
        self._written = b""
        self._stop: BaseException | None = None
        self._patient_until = np.inf
        # True while the trace is at a pause.
        self._whole = True

    # ------------------------------------------------------------------ when

    def due(self) -> bool:
        """Whether a trace should pause."""
        return self._stop is not None or time.monotonic() >= self._next

    def step(self, trace: Saved, advance: Callable[[], None]) -> None:
        """Run the trace to its next pause, and save it or stop it there."""
        self._whole = False
        advance()
        self._whole = True
        if self._stop is not None:
            raise self._stop
        if self.due():
            self.write(trace)

    def watch(self, pulse: Callable[[], None]) -> None:
        """Call `pulse` between pauses; anything it raises is held until the next pause, or until
        the grace period ends."""
        if self._stop is None:
            try:
                pulse()
            except BaseException as stop:
                self._stop_soon(stop)
        if self._stop is not None and time.monotonic() > self._patient_until:
            raise self._stop

    def _stop_soon(self, stop: BaseException) -> None:
        self._stop, self._patient_until = stop, time.monotonic() + self.grace

    @contextlib.contextmanager
    def over(self, trace: Saved) -> Iterator[None]:
        """Guard a running trace; save its last state, unless it ends in numerical trouble."""
        self._whole, self._stop = True, None
        try:
            with self._interrupts():
                yield
        except TraceError as error:
            if self._stop is not None:
                raise self._stop from error
            raise
        except BaseException:
            if self._whole:
                self.write(trace)
            raise
        self.write(trace)

    @contextlib.contextmanager
    def _interrupts(self) -> Iterator[None]:
        """Hold Ctrl-C until the next pause, like any other stop; a second Ctrl-C acts at once."""
        ours = threading.current_thread() is threading.main_thread()
        if not ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            yield
            return

        def interrupt(number: int, frame: FrameType | None) -> None:
            if self._stop is not None:
                raise KeyboardInterrupt
            self._stop_soon(KeyboardInterrupt())

        signal.signal(signal.SIGINT, interrupt)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        if isinstance(self._stop, KeyboardInterrupt):
            raise self._stop

    # ------------------------------------------------------------------ what

    def write(self, trace: Saved) -> None:
        """Save the present state; if that fails, log it and let the trace continue."""
        parts = trace.state()
        now = _moment(parts, trace)
        if now != self._written:
            try:
                self._replace(parts, trace.trouble())
                self._written = now
            except PathError as error:
                logging.getLogger("homotopy").warning("no checkpoint: %s", error)
        self._next = time.monotonic() + self.every

    def holds(self, trace: Saved) -> None:
        """Note that the file already contains the present state."""
        self._written = _moment(trace.state(), trace)

    def _replace(self, parts: Parts, trouble: Trouble | None) -> None:
        proven = None if trouble is None else trouble.proven
        header = self._header | {
            "trouble": None if trouble is None else trouble.message,
            "no_optimum": trouble is not None and trouble.no_optimum,
            "proven": proven is not None,
        }
        members: dict[str, npt.NDArray[Any]] = {
            "header": written(header),
            "products": _portable(self._mark.products),
        }
        members |= {
            f"{STATE}{owner}.{name}": _portable(value)
            for owner, values in parts.items()
            for name, value in values.items()
        }
        if proven is not None:
            earlier = members_of(proven, self._mark)
            members |= {f"{EARLIER}{name}": array for name, array in earlier.items()}
        replace_file(self.file, packed(members, deflated=False))


def _moment(parts: Parts, trace: Saved) -> bytes:
    """Return bytes that differ between any two pauses, also of different attempts."""
    scalars = [array.tobytes() for _, array in sorted(parts["scalars"].items())]
    return b"".join([bytes([trace.trouble() is None]), *scalars])


def _portable(value: Any) -> npt.NDArray[Any]:
    array = np.atleast_1d(value)
    return np.ascontiguousarray(array, dtype=REAL if array.dtype.kind == "f" else WHOLE)
