"""A file with other cells in one column; all else stays as it was."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from typing import Any

from homotopy_plugins.cli.answers import CommandError
from homotopy_plugins.cli.files import EXCEL, JSON, STDIN, TEXT, Reading, table_of
from homotopy_plugins.cli.json_cells import spans_of, with_spans
from homotopy_plugins.cli.sheet_cells import Edit, with_cells
from homotopy_plugins.cli.texts import (
    Text,
    bare_ending,
    decoded,
    packed_as,
    records,
    sniffed,
    unpacked,
)
from homotopy_plugins.tables.columns import Column, Table

__all__ = ["can_be_corrected", "ensure_same_kind", "rewritten"]

KINDS = (TEXT, JSON, EXCEL)


def _kind(file: str) -> tuple[str, ...] | None:
    ending = "" if file == STDIN else bare_ending(file)
    return next((kind for kind in KINDS if ending in kind), None)


def can_be_corrected(file: str) -> bool:
    """Whether decisions can be written into a file of this name."""
    return _kind(file) is not None


def ensure_same_kind(file: str, out: str) -> None:
    """Refuse a table that cannot be corrected, and a name that does not tell what will be in it."""
    kind = _kind(file)
    if kind is None:
        raise CommandError(
            f"{file}: decisions can be written into CSV, JSON and Excel files, and this one ends "
            f"in {bare_ending(file)!r}; save it as one of them and audit that"
        )
    if _kind(out) != kind or out == STDIN:
        raise CommandError(
            f"--out {out}: the corrected table is a file like {file}; give a name that ends in "
            f"{next(ending for ending in kind if ending)!r}"
        )


def rewritten(
    content: bytes,
    file: str,
    out: str,
    reading: Reading,
    table: Table,
    column: Column,
    edits: Mapping[int, Edit],
) -> bytes:
    """What to write to `out`: `content` with other cells in a column, by the places of rows."""
    bare, kind = unpacked(content, file), _kind(file)
    if kind == EXCEL:
        assert column.position is not None
        made = with_cells(bare, reading.sheet, column.position, edits, file)
    elif kind == JSON:
        made = _json(bare, file, reading, table, column, edits)
    else:
        made = _text(bare, file, reading, column, edits)
    _ensure_changed(table, table_of(made, file, reading), column.name, edits)
    return packed_as(made, out)


def _ensure_changed(table: Table, new: Table, name: str, edits: Mapping[int, Edit]) -> None:
    """What was made is read again: the decided cells and no others are new."""
    for old, now in zip(table.columns, new.columns, strict=True):
        if old.name != name and not _equal(old.raw, now.raw):
            raise CommandError(
                f"{table.source}: column {old.name!r} would change; please report it"
            )
    before, after = table.column(name).words(), new.column(name).words()
    for i, place in enumerate(table.place.tolist()):
        right = (edits[place].text or None) if place in edits else before[i]
        if after[i] != right:
            raise CommandError(
                f"{table.source}: {table.where(i)} would hold {after[i]!r} and not {right!r}; "
                "please report it"
            )


def _equal(one: Any, other: Any) -> bool:
    return len(one) == len(other) and all(
        a == b or (a != a and b != b) for a, b in zip(one, other, strict=True)
    )


# ---------------------------------------------------------------------- JSON


def _json(
    content: bytes,
    file: str,
    reading: Reading,
    table: Table,
    column: Column,
    edits: Mapping[int, Edit],
) -> bytes:
    text, encoding = decoded(content, file, reading.encoding)
    spans = spans_of(text, column.name, table.counted == "line")
    new = {}
    for place, edit in edits.items():
        begin, end = spans[place]
        if edit.like is not None:
            a, b = spans[edit.like]
            new[begin, end] = text[a:b]
        else:
            new[begin, end] = _literal(edit.text, text[begin:end], encoding)
    return with_spans(text, new).encode(encoding)


def _literal(text: str, old: str, encoding: str) -> str:
    """A value in JSON: a number where one stood before, else a text."""
    if not text:
        return "null"
    if not old.startswith('"'):
        try:
            if isinstance(json.loads(text), int | float):
                return text
        except ValueError:
            pass
    return json.dumps(text, ensure_ascii=not encoding.startswith("utf"))


# ---------------------------------------------------------------------- text


def _text(
    content: bytes, file: str, reading: Reading, column: Column, edits: Mapping[int, Edit]
) -> bytes:
    whole = sniffed(content, file, reading, "" if file == STDIN else bare_ending(file))
    assert column.position is not None
    out = []
    # As the csv module counts them; other marks may stand inside a cell.
    lines = io.StringIO(whole.text, newline="").readlines()
    for first, after, record in _with_ends(whole, file, len(lines)):
        if first not in edits:
            out += lines[first - 1 : after - 1]
            continue
        record[column.position] = edits[first].text
        end = after - 1
        while not lines[end - 1].strip():
            # Empty lines below.
            end -= 1
        last = lines[end - 1]
        out.append(_line(record, whole.delimiter, last[len(last.rstrip("\r\n")) :]))
        out += lines[end : after - 1]
    try:
        return "".join(out).encode(whole.encoding)
    except UnicodeEncodeError as error:
        raise CommandError(
            f"{file} is written in {whole.encoding}, which has no {error.object[error.start]!r}; "
            "save it as UTF-8 first"
        ) from None


def _with_ends(whole: Text, name: str, count: int) -> Iterator[tuple[int, int, list[str]]]:
    """Each record with its first line and the one after its last; empty lines, titles and a header
    included."""
    found = list(records(whole, name))
    if found and found[0][0] > 1:
        found.insert(0, (1, []))
    for k, (line, record) in enumerate(found):
        yield line, found[k + 1][0] if k + 1 < len(found) else count + 1, record


def _line(record: list[str], delimiter: str, end: str) -> str:
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=delimiter, lineterminator=end).writerow(record)
    return out.getvalue()
