"""What a command says, where, and how it ends.

Answers go to stdout, everything else to stderr: notes about what was done to the data, bars,
errors.  With ``--json`` stdout is one JSON document.  An error is one line that names the object,
the value and the way out; exit codes are 0 (done), 1 (a path that does not hold), 2 (cannot be
done) and 130 (Ctrl-C).
"""

from __future__ import annotations

import json
import logging
import math
import os
import re
import sys
import textwrap
import time
import traceback
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NoReturn

import attrs
import numpy as np
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text
from typer import Exit
from typer.core import TyperCommand, TyperGroup

from homotopy import HomotopyError
from homotopy_plugins.wording import one_line

__all__ = [
    "INTERRUPTED",
    "REFUSED",
    "CommandError",
    "OneLine",
    "PlainUsage",
    "Voice",
    "plain",
    "speaking",
]

UNPROVEN, REFUSED, INTERRUPTED = 1, 2, 130
# What a script reads is not cut to the width of a screen that is not there.
WIDE = 240
# Between the columns of a table; and a column of text that is narrower is hard to read.
GAP, READABLE = 2, 40
TRACEBACK = "HOMOTOPY_TRACEBACK"
# The command that runs, for messages.
_COMMAND: ContextVar[str] = ContextVar("command", default="homotopy")
# What it has written.
_WRITTEN: ContextVar[tuple[str, ...]] = ContextVar("written", default=())


class CommandError(HomotopyError, ValueError):
    """What a command was asked for cannot be done."""


class Voice:
    """Says what a command has to say."""

    def __init__(self, *, quiet: bool = False, as_json: bool = False) -> None:
        self.quiet, self.as_json = quiet, as_json
        self.errors = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)
        self.terminal = self.errors.is_terminal and not quiet
        # When the latest line was said.
        self.said = time.monotonic()

    def note(self, *texts: str) -> None:
        """What is worth knowing and is not the answer, a line each."""
        for text in texts if not self.quiet else ():
            self.said = time.monotonic()
            self.errors.print(one_line(text))

    def wrote(self, what: str, file: str, more: str = "") -> None:
        """A file that was written, in a line; it is named if the command is interrupted."""
        _WRITTEN.set((*_WRITTEN.get(), file))
        self.note(f"{what}: {file}{more}")

    def answer(self, text: str, data: Mapping[str, Any]) -> None:
        """The answer: `data` for scripts, else `text`."""
        if self.as_json:
            sys.stdout.write(json.dumps(plain(data), allow_nan=False, ensure_ascii=False) + "\n")
        else:
            sys.stdout.write(text.rstrip("\n") + "\n")

    def table(
        self,
        columns: Sequence[str],
        rows: Iterable[Sequence[Any]],
        width: int = WIDE,
        *,
        spare: Sequence[tuple[str, ...]] = (),
        below: str | None = None,
    ) -> str:
        """Rows as a table for people.

        Parameters
        ----------
        width : int
            That of what is not a terminal.
        spare : tuples of names
            Columns to leave out together on a narrow terminal, the first of them first.
        below : str, optional
            The last column, which stands under its row on a narrow terminal.
        """
        console = Console(highlight=False, markup=False, file=sys.stdout)
        if not console.is_terminal:
            console = Console(highlight=False, markup=False, width=width, no_color=True)
        made = [_Cells.of(name, [row[k] for row in rows]) for k, name in enumerate(columns)]
        for names in spare:
            if _wanted(made) > console.width:
                made = [one for one in made if one.name not in names]
        room = console.width - _wanted(made[:-1]) - GAP
        if below is not None and made and room < min(READABLE, made[-1].width):
            return _with_texts_below(_lines(console, made[:-1]), made[-1], console.width)
        return "\n".join(_lines(console, made))


@attrs.frozen(eq=False)
class _Cells:
    """A column of a table for people."""

    name: str
    texts: list[Text]
    numbers: bool

    @classmethod
    def of(cls, name: str, values: Sequence[Any]) -> _Cells:
        cells = [_cell(value) for value in values]
        numbers = all(not isinstance(cell, str) for cell in cells)
        return cls(name, [Text(c) if isinstance(c, str) else c for c in cells], numbers)

    @property
    def width(self) -> int:
        return max(cell_len(self.name), *(text.cell_len for text in self.texts), 0)


def _wanted(columns: Sequence[_Cells]) -> int:
    """The width at which no cell is broken."""
    return sum(one.width for one in columns) + GAP * (len(columns) - 1)


def _lines(console: Console, columns: Sequence[_Cells]) -> list[str]:
    made = RichTable(box=None, pad_edge=False, header_style="bold")
    for one in columns:
        # Half a number is another number.
        made.add_column(
            Text(one.name),
            justify="right" if one.numbers else "left",
            overflow="fold",
            no_wrap=one.numbers,
        )
    for cells in zip(*(one.texts for one in columns), strict=True):
        made.add_row(*cells)
    with console.capture() as captured:
        console.print(made)
    return [line.rstrip() for line in captured.get().splitlines()]


def _with_texts_below(lines: list[str], column: _Cells, width: int) -> str:
    """The lines of a table, each with a text under it."""
    if len(lines) != len(column.texts) + 1:
        # Some rows take several lines: whose text is whose would be hard to see.
        return "\n".join([*lines, "", *(text.plain for text in column.texts)])
    out = lines[:1]
    for line, text in zip(lines[1:], column.texts, strict=True):
        out.append(line)
        out += textwrap.wrap(text.plain, width, initial_indent="  ", subsequent_indent="  ")
    return "\n".join(out)


def _cell(value: Any) -> Text | str:
    """A number as a Text, so that its column is known for one; anything else as a string."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return Text("-")
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, int | np.integer):
        return Text(str(value))
    if isinstance(value, float | np.floating):
        return Text(f"{value:.4g}")
    return one_line(str(value))


def plain(value: Any) -> Any:
    """`value` as JSON knows it: no NumPy, and null for what is not a finite number."""
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(entry) for entry in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, str | bool | int):
        return value
    # NaT and pandas' NA are missing, too.
    return None if type(value).__name__ in ("NaTType", "NAType") else str(value)


@contextmanager
def speaking(voice: Voice) -> Iterator[None]:
    """Warnings are said in one line each, every one of them once."""
    told: set[str] = set()

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        text = one_line(str(message))
        if text not in told:
            told.add(text)
            voice.note(text)

    logger = logging.getLogger("homotopy")
    level = logger.level
    if voice.quiet:
        logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", UserWarning)
            for ignored in (DeprecationWarning, PendingDeprecationWarning, FutureWarning):
                warnings.simplefilter("ignore", ignored)
            warnings.showwarning = show
            yield
    except KeyboardInterrupt:
        # Some versions of typer end without a word.
        voice.errors.print(_interrupted())
        leave(INTERRUPTED)
    finally:
        logger.setLevel(level)


def _interrupted() -> str:
    """What is said after Ctrl-C."""
    written = _WRITTEN.get()
    were = "was" if len(written) == 1 else "were"
    kept = f"{' and '.join(written)} {were} written, nothing else" if written else ""
    return f"{_COMMAND.get()}: interrupted; {kept or 'nothing was written'}"


def refuse(command: str, text: str) -> NoReturn:
    sys.stderr.write(f"{command}: {one_line(text)}\n")
    sys.exit(REFUSED)


class PlainUsage(TyperCommand):
    """A command whose help names arguments as they are: DATA, where newer versions of typer write
    {DATA} and DATA <str>."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return [piece.strip("{}") for piece in super().collect_usage_pieces(ctx)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        write = formatter.write_dl

        def plainly(rows: Iterable[tuple[str, str]], *given: Any, **options: Any) -> None:
            write([(_plain_name(name), text) for name, text in rows], *given, **options)

        formatter.write_dl = plainly
        try:
            super().format_options(ctx, formatter)
        finally:
            formatter.write_dl = write


def _plain_name(name: str) -> str:
    return name if name.startswith("-") else re.sub(r" <\w+>$", "", name)


class OneLine(TyperGroup):
    """A group of commands whose errors are one line on stderr, whatever they are."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        given = list(sys.argv[1:] if args is None else args)
        options: dict[str, Any] = {
            "prog_name": prog_name,
            "complete_var": complete_var,
            "windows_expand_args": windows_expand_args,
            **extra,
        }
        if not standalone_mode:
            return super().main(given, standalone_mode=False, **options)
        named = next((word for word in given if word in self.commands), None)
        command = "homotopy" if named is None else f"homotopy {named}"
        _COMMAND.set(command)
        _WRITTEN.set(())
        try:
            code = super().main(given, standalone_mode=False, **options)
            sys.stdout.flush()
        except BrokenPipeError:
            # The reader has seen enough: `homotopy plugins | head`.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(128 + 13)
        except KeyboardInterrupt:
            sys.stderr.write(f"{_interrupted()}\n")
            sys.exit(INTERRUPTED)
        except Exception as error:
            if os.environ.get(TRACEBACK):
                traceback.print_exc()
            self._end(command, error, given)
        sys.exit(code if isinstance(code, int) else 0)

    def _end(self, command: str, error: Exception, given: list[str]) -> NoReturn:
        kind = type(error).__name__
        if kind == "Abort":
            sys.stderr.write(f"{_interrupted()}\n")
            sys.exit(INTERRUPTED)
        if hasattr(error, "format_message"):
            # An option or an argument that typer does not take.
            context = getattr(error, "ctx", None)
            command = getattr(context, "command_path", command)
            text = _plainly(_with_value(one_line(error.format_message()).rstrip("."), given))
            refuse(command, f"{text}; '{command} --help' lists what it takes")
        if isinstance(error, HomotopyError):
            refuse(command, str(error))
        if isinstance(error, ImportError):
            refuse(command, f"{error}")
        if isinstance(error, MemoryError):
            refuse(command, "the memory of this machine is not enough; take fewer rows or columns")
        if isinstance(error, OSError):
            where = f"{error.filename}: " if error.filename else ""
            refuse(command, f"{where}{error.strerror or error}")
        refuse(
            command,
            f"unexpected {kind}: {error} (set {TRACEBACK}=1 to see where, and please report it)",
        )


def _with_value(text: str, given: list[str]) -> str:
    """What typer says of a value, with the value; not all of its versions name it."""
    found = re.search(r"Invalid value for .*?(--?[\w-]+)", text)
    if found is None:
        return text
    for k, word in enumerate(given):
        name, sign, value = word.partition("=")
        if name == found[1]:
            value = value if sign else "".join(given[k + 1 : k + 2])
            return text if repr(value) in text else f"{text}, got {value!r}"
    return text


# What versions of typer say of a value, and what it means.
_PLAINER = (
    (r"Input should be greater than or equal to (\S+)", r"must be at least \1"),
    (r"Input should be less than or equal to (\S+)", r"must be at most \1"),
    (r"\S+ is not in the range x>=(\S+)", r"must be at least \1"),
    (r"\S+ is not in the range (\d+)<=x<=(\d+)", r"must be from \1 to \2"),
    (r"Input should be a valid integer.*", "must be a whole number"),
    (r"('.*') is not a valid int(?:eger)?(?: range)?", r"must be a whole number, got \1"),
    (r"Input should be a valid number.*", "must be a number"),
    (r"('.*') is not a valid float", r"must be a number, got \1"),
)


def _plainly(text: str) -> str:
    """``--rows must be at least 10, got '5'``, whatever typer makes of it."""
    # (Older versions of typer name an environment variable that there is not.)
    named = r"Invalid value for '([^']+)'(?: \(env var: 'None'\))?"
    found = re.fullmatch(named + r": (.*?)\.?(, got .*)?", text)
    if found is None:
        return text
    for theirs, plainer in _PLAINER:
        same = re.fullmatch(theirs, found[2])
        if same is not None:
            return f"{found[1]} {same.expand(plainer)}{found[3] or ''}"
    return text


def leave(code: int) -> NoReturn:
    """End the command with an exit code of its own."""
    raise Exit(code)
