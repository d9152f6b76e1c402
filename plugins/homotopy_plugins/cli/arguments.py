"""What the commands take, said once, and what every command does with it first."""

from __future__ import annotations

import csv
import io
import os
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Annotated, Any

import typer

from homotopy import installed_plugins
from homotopy.path.files import ensure_writable, replace_file
from homotopy_plugins.cli.answers import CommandError, Voice, listed, plain
from homotopy_plugins.cli.encoding import Choice
from homotopy_plugins.cli.tables import STDIN, Reading, Table
from homotopy_plugins.cli.targets import Target, encoded_target

TASKS = ("auto", "classification", "regression")


def plugin_names(incomplete: str) -> list[str]:
    """The plugins that begin like this, for the completion of shells."""
    return [name for name in installed_plugins() if name.startswith(incomplete)]


Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="CSV, Parquet, svmlight or .npz file; - is CSV on stdin.",
        show_default=False,
    ),
]
TargetName = Annotated[
    str | None, typer.Option("--target", "-t", metavar="COLUMN", help="The column to explain.")
]
Drop = Annotated[
    list[str] | None,
    typer.Option("--drop", metavar="COLUMN", help="Leave a column out; repeat for more."),
]
Categories = Annotated[
    list[str] | None,
    typer.Option(
        "--category", metavar="COLUMN", help="Numbers in it name categories; repeat for more."
    ),
]
Task = Annotated[
    str, typer.Option("--task", metavar="TASK", help="auto, classification or regression.")
]
Positive = Annotated[
    str | None,
    typer.Option("--positive", metavar="LABEL", help="Tell this class from all the others."),
]
Scale = Annotated[bool, typer.Option("--scale/--no-scale", help="Standardise columns of numbers.")]
Delimiter = Annotated[
    str | None,
    typer.Option(
        "--delimiter", metavar="CHARACTER", help="What separates values of a CSV file (',')."
    ),
]
Decimal = Annotated[
    str, typer.Option("--decimal", metavar="CHARACTER", help="The decimal point of a CSV file.")
]
Characters = Annotated[
    str, typer.Option("--encoding", metavar="NAME", help="The encoding of a CSV file.")
]
NoHeader = Annotated[
    bool, typer.Option("--no-header", help="The first line holds values; columns are c1, c2, ...")
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Say nothing but the answer and errors.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Answer in JSON on stdout.")]
Jobs = Annotated[int | None, typer.Option("--jobs", metavar="N", help="Processes to use.")]
Saved = Annotated[
    str,
    typer.Argument(metavar="PATH", help="What 'homotopy trace --out' wrote.", show_default=False),
]
Again = Annotated[
    str | None,
    typer.Option("--data", metavar="FILE", help="The data it was traced from, if they have moved."),
]


def voice_of(context: typer.Context, quiet: bool, as_json: bool = False) -> Voice:
    outer = bool(context.obj and context.obj.get("quiet"))
    return Voice(quiet=quiet or outer, as_json=as_json)


def reading_of(delimiter: str | None, decimal: str, encoding: str, no_header: bool) -> Reading:
    if delimiter in ("tab", "\\t"):
        delimiter = "\t"
    return Reading(delimiter, decimal, encoding, not no_header)


def choice_of(
    target: str | None,
    drop: Sequence[str] | None,
    category: Sequence[str] | None,
    *,
    scale: bool = True,
    task: str = "auto",
    positive: str | None = None,
) -> Choice:
    if task not in TASKS:
        raise CommandError(f"--task must be {', '.join(TASKS[:-1])} or {TASKS[-1]}, got {task!r}")
    return Choice(target, tuple(drop or ()), tuple(category or ()), scale, task, positive)


def ensure_outputs(*files: str | None) -> None:
    """Refuse outputs that cannot be written, before the long work."""
    given = [file for file in files if file is not None]
    for k, file in enumerate(given):
        if os.path.realpath(file) in [os.path.realpath(other) for other in given[:k]]:
            raise CommandError(f"{file} is named for two outputs; give each a name of its own")
        ensure_writable(file)


def ensure_apart(file: str, *outputs: str | None) -> None:
    for output in outputs:
        if (
            output is not None
            and file != STDIN
            and os.path.realpath(output) == os.path.realpath(file)
        ):
            raise CommandError(f"{output} is what is read; give the output another name")


def rows_of(table: Table, choice: Choice, notes: list[str]) -> tuple[Table, Target]:
    """The rows that have a target, without its column, and the target."""
    target = encoded_target(table, choice, notes)
    if target.without.size:
        places = listed((int(table.place[i]) for i in target.without), 5)
        notes.append(
            f"{target.without.size} rows have no target and were left out "
            f"({table.counted} {places})"
        )
    if target.name in choice.drop:
        raise CommandError(f"--drop {target.name!r} would leave out the target")
    kept = table.take(target.rows)
    if table.matrix is None:
        kept = kept.without([*choice.drop, target.name])
    return kept, target


def write_csv(file: str | None, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """A table as CSV into a file, or on stdout."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow(["" if value is None else value for value in plain(row)])
    if file is None:
        sys.stdout.write(out.getvalue())
    else:
        replace_file(file, out.getvalue().encode("utf-8"))


def status(voice: Voice, text: str) -> Any:
    """A line that lives while work goes on, on a terminal."""
    if voice.terminal:
        return voice.errors.status(text)

    return nullcontext()
