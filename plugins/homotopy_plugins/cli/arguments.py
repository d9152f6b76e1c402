"""What the commands take, said once, and what every command does with it first."""

from __future__ import annotations

import csv
import io
import os
import sys
import zipfile
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from homotopy import installed_plugins
from homotopy.path.files import ensure_writable, replace_file
from homotopy_plugins.cli.answers import CommandError, Voice, plain
from homotopy_plugins.cli.choices import drawn
from homotopy_plugins.cli.files import STDIN, Reading
from homotopy_plugins.cli.targets import Target, encoded_target
from homotopy_plugins.tables.columns import Table
from homotopy_plugins.tables.kinds import Choice
from homotopy_plugins.wording import listed, number_of

# The endings of what is written.
ARCHIVES, PAGES, TABLES = (".npz",), (".html", ".htm"), (".csv", ".txt")
TASKS = ("auto", "classification", "regression")


def plugin_names(incomplete: str) -> list[str]:
    """The plugins that begin like this, for the completion of shells."""
    return [name for name in installed_plugins() if name.startswith(incomplete)]


Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="A CSV, JSON, Excel, Parquet, svmlight or .npz file; - is CSV on stdin.",
        show_default=False,
    ),
]
TargetName = Annotated[
    str | None,
    typer.Option("--target", "-t", metavar="COLUMN", help="The column to predict or audit."),
]
Drop = Annotated[
    list[str] | None,
    typer.Option("--drop", metavar="COLUMN", help="Ignore this column (repeatable)."),
]
Categories = Annotated[
    list[str] | None,
    typer.Option(
        "--category",
        metavar="COLUMN",
        help="Treat the numbers in this column as categories (repeatable).",
    ),
]
Task = Annotated[
    str, typer.Option("--task", metavar="TASK", help="auto, classification or regression.")
]
Positive = Annotated[
    str | None,
    typer.Option("--positive", metavar="LABEL", help="Separate this class from all the others."),
]
Scale = Annotated[bool, typer.Option("--scale/--no-scale", help="Standardise numeric columns.")]
Delimiter = Annotated[
    str | None,
    typer.Option(
        "--delimiter",
        metavar="CHARACTER",
        help="Separator of a text file; detected by default.",
    ),
]
Decimal = Annotated[
    str | None,
    typer.Option(
        "--decimal", metavar="CHARACTER", help="Decimal mark, . or , ; detected by default."
    ),
]
Characters = Annotated[
    str | None,
    typer.Option(
        "--encoding", metavar="NAME", help="Encoding of a text file; detected by default."
    ),
]
Missing = Annotated[
    list[str] | None,
    typer.Option(
        "--missing",
        metavar="TEXT",
        help="Treat this text as a missing value, for example -999 (repeatable).",
    ),
]
DayFirst = Annotated[
    bool | None,
    typer.Option(
        "--day-first/--month-first",
        help="How to read 03/04/2024 when the column leaves it open.",
        show_default=False,
    ),
]
Sheet = Annotated[
    str | None,
    typer.Option("--sheet", metavar="NAME", help="Sheet of an Excel file; the first by default."),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(
        "--keep",
        metavar="COLUMN",
        help="Keep a column that looks like an id, a counter or free text (repeatable).",
    ),
]
NoHeader = Annotated[
    bool, typer.Option("--no-header", help="The file has no header; columns are called c1, c2, ...")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only the answer and errors.")]
Memory = Annotated[
    str | None,
    typer.Option(
        "--memory",
        metavar="MB",
        help="Memory limit, for example 500 or 2G; by default half of what is free.",
    ),
]
SomeRows = Annotated[
    int | None,
    typer.Option("--rows", metavar="N", min=10, help="Use a random sample of N rows."),
]
Landmarks = Annotated[
    int | None,
    typer.Option(
        "--nystroem",
        metavar="M",
        min=2,
        help="Approximate the rbf kernel by M Nystroem features; faster on many rows.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")]
Jobs = Annotated[int | None, typer.Option("--jobs", metavar="N", help="Number of processes.")]
Saved = Annotated[
    str,
    typer.Argument(
        metavar="PATH", help="A path saved by 'homotopy trace --out'.", show_default=False
    ),
]
Again = Annotated[
    str | None,
    typer.Option("--data", metavar="FILE", help="The data file, if it has moved since."),
]


def voice_of(context: typer.Context, quiet: bool, as_json: bool = False) -> Voice:
    outer = bool(context.obj and context.obj.get("quiet"))
    return Voice(quiet=quiet or outer, as_json=as_json)


def reading_of(
    delimiter: str | None,
    decimal: str | None,
    encoding: str | None,
    no_header: bool,
    missing: Sequence[str] | None = None,
    day_first: bool | None = None,
    sheet: str | None = None,
) -> Reading:
    if delimiter in ("tab", "\\t"):
        delimiter = "\t"
    elif delimiter == "space":
        delimiter = " "
    gaps = tuple(text.strip() for text in missing or ())
    return Reading(delimiter, decimal, encoding, not no_header, gaps, day_first, sheet)


def options_of_reading(reading: Reading) -> list[str]:
    """The options that `reading_of` would read the same way, those of dates aside."""
    named = ("delimiter", "decimal", "encoding", "sheet")
    given = [(f"--{name}", getattr(reading, name)) for name in named]
    given += [("--missing", text) for text in reading.missing]
    words = [word for name, value in given if value is not None for word in (name, value)]
    return words + ["--no-header"] * (not reading.header)


def choice_of(
    target: str | None,
    drop: Sequence[str] | None,
    category: Sequence[str] | None,
    *,
    scale: bool = True,
    task: str = "auto",
    positive: str | None = None,
    keep: Sequence[str] | None = None,
    rows: int | None = None,
    seed: int = 0,
) -> Choice:
    if task not in TASKS:
        raise CommandError(f"--task must be {', '.join(TASKS[:-1])} or {TASKS[-1]}, got {task!r}")
    lists = (tuple(names or ()) for names in (drop, category, keep))
    left_out, categories, kept = lists
    for name in kept:
        if name in left_out:
            raise CommandError(f"--keep and --drop both name {name!r}; give one of them")
    return Choice(target, left_out, categories, scale, task, positive, kept, rows, seed)


def ensure_kind(option: str, file: str | None, endings: Sequence[str]) -> None:
    """Refuse an output with the name of another kind of file, which may hold something else."""
    if file is None or os.path.isdir(file):
        return
    if file == STDIN:
        raise CommandError(
            f"{option} {file}: this is written to a file, not to stdout; give a name that ends in "
            f"{endings[0]!r}"
        )
    if os.path.splitext(file.lower())[1] not in endings:
        raise CommandError(
            f"{option} {file}: this writes a {endings[0]} file; give a name that ends in "
            f"{endings[0]!r}"
        )
    if endings == ARCHIVES and not _is_ours(file):
        raise CommandError(
            f"{option} {file}: this file exists and was not written by homotopy; give another name"
        )


def _is_ours(file: str) -> bool:
    """Whether an archive may be replaced: one of ours, or what is no archive at all."""
    try:
        with zipfile.ZipFile(file) as archive:
            return "header.npy" in archive.namelist()
    except (OSError, zipfile.BadZipFile):
        return True


def ensure_outputs(*files: str | None) -> None:
    """Refuse outputs that cannot be written, before the long work."""
    given = [file for file in files if file is not None]
    for k, file in enumerate(given):
        if os.path.realpath(file) in [os.path.realpath(other) for other in given[:k]]:
            raise CommandError(f"{file} is named for two outputs; give each a name of its own")
        ensure_writable(file)


def ensure_apart(file: str | None, *outputs: str | None) -> None:
    """Refuse to write over what is read."""
    if file is None:
        return
    for output in outputs:
        if (
            output is not None
            and file != STDIN
            and os.path.realpath(output) == os.path.realpath(file)
        ):
            raise CommandError(f"{output} is what is read; give the output another name")


def rows_of(table: Table, choice: Choice, notes: list[str]) -> tuple[Table, Target]:
    """The rows that have a target, without its column, and the target."""
    notes += table.notes
    table = drawn(table, choice, notes)
    target = encoded_target(table, choice, notes)
    if target.without.size:
        places = listed((int(table.place[i]) for i in target.without), 5)
        notes.append(
            f"{number_of(target.without.size, 'row')} without a target left out "
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
