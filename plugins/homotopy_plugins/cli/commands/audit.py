"""``homotopy audit``."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Annotated, Any

import attrs
import numpy as np
import typer

from homotopy.path.files import replace_file
from homotopy_plugins.cli import outside
from homotopy_plugins.cli.answers import (
    INTERRUPTED,
    CommandError,
    Voice,
    leave,
    listed,
    speaking,
)
from homotopy_plugins.cli.arguments import (
    AsJson,
    Categories,
    Characters,
    Data,
    Decimal,
    Delimiter,
    Drop,
    Jobs,
    NoHeader,
    Quiet,
    TargetName,
    Task,
    choice_of,
    ensure_apart,
    ensure_outputs,
    reading_of,
    rows_of,
    status,
    voice_of,
    write_csv,
)
from homotopy_plugins.cli.decisions import corrected
from homotopy_plugins.cli.encoding import Choice, frame_of
from homotopy_plugins.cli.tables import Column, Reading, Table, read_table

# Columns for people; --csv and --json have all.
READ = ("label_quality", "given_label", "predicted_label", "reason")
# Suspected rows printed at most; all are in --csv and --json.
SHOWN = 30

__all__ = ["audit", "audited"]


def audit(
    context: typer.Context,
    data: Data,
    target: TargetName = None,
    html: Annotated[
        str | None, typer.Option("--html", metavar="FILE", help="Write a report to look at.")
    ] = None,
    csv_file: Annotated[
        str | None,
        typer.Option("--csv", metavar="FILE", help="Write all rows, most suspected first."),
    ] = None,
    top: Annotated[
        int | None, typer.Option("--top", metavar="N", min=1, help="Show N rows.")
    ] = None,
    cv: Annotated[int, typer.Option("--cv", metavar="N", min=2, help="Folds.")] = 5,
    seed: Annotated[int, typer.Option("--seed", help="Of the folds.")] = 0,
    max_seconds: Annotated[
        float | None,
        typer.Option("--max-seconds", metavar="S", min=1, help="Ask no further machine after it."),
    ] = None,
    apply: Annotated[
        str | None,
        typer.Option("--apply", metavar="FILE", help="Correct what the page's export says."),
    ] = None,
    out: Annotated[
        str | None, typer.Option("--out", metavar="FILE", help="Where --apply writes the table.")
    ] = None,
    drop: Drop = None,
    category: Categories = None,
    task: Task = "auto",
    jobs: Jobs = None,
    delimiter: Delimiter = None,
    decimal: Decimal = ".",
    encoding: Characters = "utf-8",
    no_header: NoHeader = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Name the rows of a table that look wrong.

    They are named by their line in the file; the header is line 1.  With --apply nothing is looked
    for: decisions that were exported from the page of --html are put into the table.
    """
    voice = voice_of(context, quiet, as_json)
    with speaking(voice):
        outside.ensure_audit()
        ensure_apart(data, html, csv_file)
        ensure_outputs(html, csv_file)
        reading = reading_of(delimiter, decimal, encoding, no_header)
        if apply is not None or out is not None:
            _apply(data, reading, target, voice, decisions=apply, out=out)
            return
        table = read_table(data, reading)
        choice = choice_of(target, drop, category, task=task)
        try:
            found, counted = audited(
                table, choice, voice, cv=cv, seed=seed, jobs=jobs, max_seconds=max_seconds
            )
        except KeyboardInterrupt:
            voice.errors.print("homotopy audit: interrupted; nothing was written")
            leave(INTERRUPTED)
        _tell_audit(found, counted, voice, top=top, html=html, csv_file=csv_file)


def _apply(
    data: str,
    reading: Reading,
    target: str | None,
    voice: Voice,
    *,
    decisions: str | None,
    out: str | None,
) -> None:
    """Write the table with the labels that were decided upon."""
    if decisions is None or out is None:
        raise CommandError(
            "--apply FILE and --out FILE belong together: the decisions, and the table to write"
        )
    ensure_apart(data, out)
    ensure_apart(decisions, out)
    ensure_outputs(out)
    made = corrected(data, reading, target, decisions)
    replace_file(out, made.text.encode(reading.encoding))
    empty = f", {made.emptied} emptied" if made.emptied else ""
    voice.answer(
        f"{out}: {made.changed} labels corrected{empty}; {made.kept} decided about and kept",
        {"out": out, "changed": made.changed, "emptied": made.emptied, "kept": made.kept},
    )


def audited(
    table: Table,
    choice: Choice,
    voice: Voice,
    *,
    cv: int,
    seed: int,
    jobs: int | None,
    max_seconds: float | None = None,
) -> tuple[outside.Audited, str]:
    """The audit of a table; its frame is indexed by line (or row), which is the second answer."""
    notes: list[str] = []
    rows, target = rows_of(table, choice, notes)
    if len(target.classes) == 1:
        raise CommandError(
            f"{table.source}: the target {target.name!r} has one value ({target.classes[0]}); "
            "nothing tells which rows are wrong"
        )
    X = frame_of(_with_amounts(rows, choice, notes), choice, notes)
    for note in notes:
        voice.note(note)
    options: dict[str, Any] = {"cv": cv, "random_state": seed, "task": target.task}
    if jobs is not None:
        options["n_jobs"] = jobs
    if max_seconds is not None:
        options["max_seconds"] = max_seconds
    if voice.terminal and find_spec("tqdm") is not None:
        options["verbose"] = True
        found = outside.audited(X, target.values, rows.place, **options)
    else:
        with status(voice, f"auditing {rows.size} rows"):
            found = outside.audited(X, target.values, rows.place, **options)
    for note in found.notes:
        voice.note(note)
    return found, table.counted


def _with_amounts(table: Table, choice: Choice, notes: list[str]) -> Table:
    """Columns of amounts as people write them ("$1,234.50") as numbers."""
    from homotopy_plugins.auditing.tables import written_amounts

    made, read = [], []
    for column in table.columns:
        words = None if isinstance(column.raw, np.ndarray) else column.words()
        number = None if words is None or column.name in choice.category else written_amounts(words)
        if number is not None:
            read.append(column.name)
        made.append(column if number is None else Column(column.name, number))
    if read:
        notes.append(f"amounts with signs and separators were read as numbers: {listed(read)}")
    return attrs.evolve(table, columns=tuple(made))


def _tell_audit(
    found: outside.Audited,
    counted: str,
    voice: Voice,
    *,
    top: int | None,
    html: str | None,
    csv_file: str | None,
) -> None:
    frame = found.frame
    places = frame.index.to_numpy()
    if html is not None:
        found.write_html(html)
        voice.note(f"report: {html}")
    columns = [counted, *map(str, frame.columns)]
    records = [[places[k], *values] for k, values in enumerate(frame.itertuples(index=False))]
    if csv_file is not None:
        write_csv(csv_file, columns, records)
        voice.note(f"all rows: {csv_file}")
    suspected = [row for row, is_one in zip(records, found.suspected, strict=True) if is_one]
    # How many are shown says nothing about how many are suspected.
    shown = (records if top is not None else suspected)[: top or SHOWN]
    kept = [k for k, name in enumerate(columns) if name in (counted, *READ)] or [0]
    text = [found.sentence, *found.groups]
    if shown:
        text += ["", voice.table([columns[k] for k in kept], [[r[k] for k in kept] for r in shown])]
    if top is None and len(suspected) > len(shown):
        text.append(f"... and {len(suspected) - len(shown)} more (--top or --csv shows them)")
    voice.answer(
        "\n".join(text),
        {
            "rows": len(records),
            "suspected": len(suspected),
            # In a file without lines "rows" is taken already.
            "lines" if counted == "line" else "rows_suspected": [row[0] for row in suspected],
            "summary": found.sentence,
            "groups": found.groups,
            "table": [dict(zip(columns, row, strict=True)) for row in shown],
        },
    )
