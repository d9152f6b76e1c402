"""``homotopy predict``."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import typer

from homotopy_plugins.cli.answers import CommandError, speaking
from homotopy_plugins.cli.arguments import (
    TABLES,
    AsJson,
    Characters,
    Data,
    DayFirst,
    Decimal,
    Delimiter,
    Missing,
    NoHeader,
    Quiet,
    Sheet,
    ensure_apart,
    ensure_kind,
    ensure_outputs,
    reading_of,
    voice_of,
    write_csv,
)
from homotopy_plugins.cli.files import STDIN, read_table
from homotopy_plugins.cli.machines import Machine
from homotopy_plugins.tables.columns import Table
from homotopy_plugins.wording import listed, number_of

__all__ = ["predict"]


def predict(
    context: typer.Context,
    machine_file: Annotated[
        str,
        typer.Argument(
            metavar="MODEL", help="A model saved by 'homotopy select'.", show_default=False
        ),
    ],
    data: Data,
    out: Annotated[
        str | None,
        typer.Option("--out", "-o", metavar="FILE", help="Write a CSV file instead of stdout."),
    ] = None,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    encoding: Characters = None,
    no_header: NoHeader = False,
    missing: Missing = None,
    day_first: DayFirst = None,
    sheet: Sheet = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Predict the target of new rows."""
    voice = voice_of(context, quiet, as_json)
    with speaking(voice):
        ensure_apart(data, out)
        ensure_apart(machine_file, out)
        if out == STDIN:
            raise CommandError("--out -: leave --out away; the predictions then go to stdout")
        ensure_kind("--out", out, TABLES)
        ensure_outputs(out)
        machine = Machine.load(machine_file)
        table = read_table(
            data, reading_of(delimiter, decimal, encoding, no_header, missing, day_first, sheet)
        )
        notes = list(table.notes)
        X = machine.encoding.apply(table, notes)
        strange = set(table.names) - {c.name for c in machine.encoding.columns} - {machine.target}
        if strange:
            kept = [name for name in table.names if name in strange]
            notes.append(f"columns not used by the model: {listed(kept)}")
        values = machine.values(X)
        answers = machine.predict(values)
        notes += _score(machine, table, answers)
        voice.note(*notes)
        columns, parts = [table.counted, "prediction"], [table.place, answers]
        if machine.classes is not None:
            columns.append("decision")
            parts.append(values)
        rows = [list(row) for row in zip(*(part.tolist() for part in parts), strict=True)]
        if out is not None:
            write_csv(out, columns, rows)
            voice.wrote("predictions", out)
        if as_json:
            found = [dict(zip(columns, row, strict=True)) for row in rows]
            voice.answer("", {"target": machine.target, "predictions": found})
        elif out is None:
            write_csv(None, columns, rows)


def _score(machine: Machine, table: Table, answers: Any) -> list[str]:
    """How good it is, where the file holds the target too."""
    column = table.labels
    if column is None:
        if machine.target not in table.names:
            return []
        column = table.column(machine.target)
    words = column.words()
    if machine.classes is None:
        numbers, wrong = column.numbers()
        there = ~np.isnan(numbers)
        there[wrong] = False
        notes = _left_out(wrong.tolist(), words, table, "that is no number", "error")
        if there.any():
            error = float(np.abs(answers[there] - numbers[there]).mean())
            rows = number_of(int(there.sum()), "row")
            notes.append(f"mean absolute error on {rows} with a target: {error:.4g}")
        return notes
    given = [None if word is None else _as_class(word, machine.classes) for word in words]
    known = [k for k, label in enumerate(given) if label is not None]
    strange = [k for k, word in enumerate(words) if word is not None and given[k] is None]
    notes = _left_out(strange, words, table, "that did not occur in training", "accuracy")
    if known:
        right = sum(given[k] == answers[k] for k in known)
        rows = number_of(len(known), "row")
        notes.append(f"accuracy on {rows} with a target: {right / len(known):.4g}")
    return notes


def _left_out(
    rows: list[int], words: list[str | None], table: Table, why: str, score: str
) -> list[str]:
    """Which rows have a target that a score cannot count."""
    if not rows:
        return []
    found = listed(dict.fromkeys(repr(words[k]) for k in rows), 5)
    places = listed((int(table.place[k]) for k in rows), 5)
    says = "has a target" if len(rows) == 1 else "have targets"
    them = "it" if len(rows) == 1 else "them"
    return [
        f"{number_of(len(rows), 'row')} {says} {why}: {found} ({table.counted} {places}); "
        f"the {score} leaves {them} out"
    ]


def _as_class(word: str, classes: list[Any]) -> Any:
    """A text as one of the classes, or None."""
    for label in classes:
        if isinstance(label, str):
            if label == word:
                return label
            continue
        try:
            if float(word) == label:
                return label
        except ValueError:
            continue
    rest = [label for label in classes if isinstance(label, str) and label.startswith("not ")]
    return rest[0] if rest else None
