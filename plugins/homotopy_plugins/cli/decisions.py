"""What a person decided about rows, put into the table: ``homotopy audit --apply``."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

import attrs

from homotopy_plugins.cli.answers import CommandError, listed
from homotopy_plugins.cli.tables import Reading, _records, read_table, text_of
from homotopy_plugins.cli.targets import target_name

__all__ = ["Corrected", "corrected"]

DECISIONS = ("wrong", "right", "unsure")
COLUMNS = ("line", "decision", "given", "corrected")
# Numbers in a file of decisions are rounded for people.
ROUNDED = 1e-3


@attrs.frozen
class Decision:
    """What was decided about a line, the label it was decided for, and the right one."""

    line: int
    given: str
    corrected: str


@attrs.frozen
class Corrected:
    """The corrected text, and how many labels were changed and emptied, and rows kept."""

    text: str
    changed: int
    emptied: int
    kept: int


def corrected(file: str, reading: Reading, target: str | None, decisions: str) -> Corrected:
    """The text of `file` with the labels of `decisions`; all other lines stay as they are."""
    table = read_table(file, reading)
    name = target_name(table, target)
    wanted, kept = _decisions(decisions)
    text, delimiter = text_of(file, reading)
    place = table.names.index(name)
    out, changed, emptied = [], 0, 0
    lines = text.splitlines(keepends=True)
    for first, after, record in _with_ends(text, file, delimiter, len(lines)):
        one = wanted.pop(first, None)
        if one is None:
            out += lines[first - 1 : after - 1]
            continue
        if not _same(record[place], one.given, reading.decimal):
            raise CommandError(
                f"{decisions}: line {first} of {file} has {record[place]!r} as {name}, and the "
                f"decision was made for {one.given!r}; export the decisions of this file's page"
            )
        record[place] = one.corrected
        changed, emptied = changed + bool(one.corrected), emptied + (not one.corrected)
        end = "\r\n" if lines[after - 2].endswith("\r\n") else "\n"
        out.append(_line(record, delimiter, end))
    if wanted:
        raise CommandError(
            f"{decisions}: {file} has no row in line {listed(sorted(wanted))}; export the "
            "decisions of this file's page"
        )
    return Corrected("".join(out), changed, emptied, kept)


def _with_ends(
    text: str, name: str, delimiter: str, count: int
) -> Iterator[tuple[int, int, list[str]]]:
    """Each record with its first line and the one after its last; empty lines and a header
    included."""
    found = list(_records(text, name, delimiter))
    if found and found[0][0] > 1:
        found.insert(0, (1, []))
    for k, (line, record) in enumerate(found):
        yield line, found[k + 1][0] if k + 1 < len(found) else count + 1, record


def _line(record: list[str], delimiter: str, end: str) -> str:
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=delimiter, lineterminator=end).writerow(record)
    return out.getvalue()


def _decisions(file: str) -> tuple[dict[int, Decision], int]:
    """The rows to change by line, and how many others were decided about."""
    table = read_table(file)
    if table.counted != "line" or any(name not in table.names for name in COLUMNS):
        raise CommandError(
            f"{file} is not what the page of an audit exports: it needs the columns "
            f"{', '.join(COLUMNS)} and has {listed(table.names)}"
        )
    columns = [table.column(name).words() for name in COLUMNS]
    wanted: dict[int, Decision] = {}
    kept = 0
    for i, (line, decision, given, right) in enumerate(zip(*columns, strict=True)):
        if decision not in DECISIONS:
            raise CommandError(
                f"{file}: {table.where(i)} says {decision!r}; a decision is {', '.join(DECISIONS)}"
            )
        if decision != "wrong":
            kept += 1
            continue
        if line is None or not line.isdigit() or int(line) in wanted:
            raise CommandError(f"{file}: {table.where(i)} names line {line!r}, or names it twice")
        wanted[int(line)] = Decision(int(line), given or "", right or "")
    return wanted, kept


def _same(cell: str, given: str, decimal: str) -> bool:
    cell = cell.strip()
    if cell == given:
        return True
    try:
        one, other = float(cell.replace(decimal, ".")), float(given)
    except ValueError:
        return False
    return abs(one - other) <= ROUNDED * max(abs(one), abs(other))
