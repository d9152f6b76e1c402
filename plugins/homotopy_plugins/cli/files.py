"""Tables from files of any kind that people have: found by the ending of the name.

Nothing is guessed in silence: what was found out about a file is in the notes of the table, and a
file with rows of unequal length or without a header is refused, with the line.
"""

from __future__ import annotations

import hashlib
import os
import sys

import attrs
import numpy as np

from homotopy_plugins.cli import formats
from homotopy_plugins.cli.answers import CommandError
from homotopy_plugins.cli.texts import (
    PACKED,
    Reading,
    bare_ending,
    rows_of_text,
    unpacked,
)
from homotopy_plugins.tables.cells import Habits
from homotopy_plugins.tables.columns import Column, Table, Ways
from homotopy_plugins.wording import close_to, listed

__all__ = ["EXCEL", "JSON", "STDIN", "TEXT", "Reading", "content_of", "read_table", "table_of"]

STDIN = "-"
TEXT = (".csv", ".tsv", ".tab", ".txt", ".dat", ".data", "")
JSON = (".jsonl", ".ndjson", ".json")
EXCEL = (".xlsx", ".xlsm")
PARQUET = (".parquet", ".pq")
SVMLIGHT = (".svm", ".libsvm", ".svmlight")
KNOWN = (
    "CSV (.csv, .tsv, .txt), JSON (.jsonl, .json), Excel (.xlsx), Parquet (.parquet), svmlight "
    "(.svm, .libsvm, .svmlight) or .npz; texts may be packed (.gz, .bz2, .xz, .zip)"
)

OPTIONS = Ways(
    keep="--keep COLUMN keeps one",
    day_first="--day-first if the day comes first",
    gap="give --missing {text!r} if it stands for a gap",
    category="--category {name!r} if the column names categories",
    drop="--drop the column",
    quotes=False,
)
HEADER = "if the first row is no header, give --no-header; columns are then c1, c2, ..."
SEPARATOR = "if {mark!r} separates the values, give --delimiter {mark!r}"


def read_table(file: str, reading: Reading | None = None) -> Table:
    """The table in a file, by the ending of its name; ``-`` is CSV on stdin."""
    return table_of(content_of(file), file, reading)


def table_of(content: bytes, file: str, reading: Reading | None = None) -> Table:
    """The table in what a file of this name holds."""
    reading = reading or Reading()
    name = "stdin" if file == STDIN else file
    digest = hashlib.sha256(content).hexdigest()
    ending = "" if file == STDIN else bare_ending(file)
    content = unpacked(content, name)
    if not content:
        raise CommandError(f"{name} is empty; a table needs a header and rows")
    table = _parsed(content, name, digest, reading, ending)
    ways = attrs.evolve(
        OPTIONS,
        header=HEADER if reading.header and ending in (*TEXT, *EXCEL) else "",
        separator=SEPARATOR if ending in TEXT else "",
    )
    return attrs.evolve(table, notes=_told(table, reading), ways=ways)


def _parsed(content: bytes, name: str, digest: str, reading: Reading, ending: str) -> Table:
    if ending in EXCEL:
        return formats.from_excel(content, name, digest, reading)
    if ending in PARQUET:
        return formats.from_parquet(content, name, digest, reading)
    if ending in SVMLIGHT:
        return formats.from_svmlight(content, name, digest)
    if ending == ".npz":
        return formats.from_npz(content, name, digest)
    if ending in JSON:
        return formats.from_json(content, name, digest, reading)
    if ending in TEXT:
        if content[:4] == b"PK\x03\x04":
            raise CommandError(
                f"{name} is a workbook or an archive, not a text; call it .xlsx or .zip"
            )
        return _from_text(content, name, digest, reading, ending)
    if ending in (".xls", ".ods"):
        raise CommandError(f"{name}: cannot read {ending} files; save it as .xlsx or CSV")
    raise CommandError(f"{name}: cannot read a file that ends in {ending!r}; give {KNOWN}")


def _from_text(content: bytes, name: str, digest: str, reading: Reading, ending: str) -> Table:
    rows = rows_of_text(content, name, reading, ending)
    habits = Habits(rows.decimal, frozenset(reading.missing), reading.day_first)
    columns = tuple(
        Column(one, cells, habits, k)
        for one, cells, k in zip(rows.names, rows.cells, rows.positions, strict=True)
    )
    place = np.array(rows.places, dtype=np.int64)
    return Table(
        name, columns, place, "line", digest, notes=tuple(rows.notes), doubled=rows.doubled
    )


def _told(table: Table, reading: Reading) -> tuple[str, ...]:
    """The notes of a table as one line."""
    said = list(table.notes)
    again = [one for one in table.names if one.rpartition(" (")[0] in table.doubled]
    if again:
        said.append(f"columns of the same name numbered ({listed(again, 4)})")
    return (f"{table.source}: {', '.join(said)}",) if said else ()


def content_of(file: str) -> bytes:
    """The bytes of a file, or of stdin."""
    if file == STDIN:
        if sys.stdin.isatty():
            raise CommandError("stdin is a terminal; pipe a CSV file into it, or name a file")
        return sys.stdin.buffer.read()
    try:
        with open(file, "rb") as stream:
            return stream.read()
    except FileNotFoundError:
        folder = os.path.dirname(file) or "."
        try:
            there = sorted(os.listdir(folder))
        except OSError:
            raise CommandError(f"{file}: there is no folder {folder!r}") from None
        tables = [
            n for n in there if bare_ending(n) in _endings() or n.lower().endswith(tuple(PACKED))
        ]
        if not tables:
            raise CommandError(
                f"{file}: no such file; the folder {folder!r} has no tables"
            ) from None
        raise CommandError(
            f"{file}: no such file; {close_to(os.path.basename(file), tables)}"
        ) from None
    except IsADirectoryError:
        raise CommandError(f"{file} is a folder; name a file in it") from None
    except OSError as error:
        raise CommandError(f"{file}: cannot be read ({error.strerror or error})") from None


def _endings() -> tuple[str, ...]:
    return (*(ending for ending in TEXT if ending), *JSON, *EXCEL, *PARQUET, *SVMLIGHT, ".npz")
