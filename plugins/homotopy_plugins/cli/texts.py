"""Text files as people have them: encodings, separators, titles above the header, loose ends.

Whatever is found out about a file is said in one line, and each part of it can be overruled.
"""

from __future__ import annotations

import bz2
import codecs
import csv
import gzip
import io
import lzma
import os
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence

import attrs

from homotopy_plugins.cli.answers import CommandError
from homotopy_plugins.tables.cells import AMOUNTS, GAPS, GAPS_AMONG_NUMBERS, decimal_of
from homotopy_plugins.tables.columns import distinct
from homotopy_plugins.wording import listed

__all__ = [
    "Reading",
    "Text",
    "bare_ending",
    "decoded",
    "packed_as",
    "records",
    "sniffed",
    "unpacked",
]

PACKED = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zip": "zip"}
# The first bytes of texts in UTF-16.
BOMS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
SEPARATORS = {",": "','", ";": "';'", "\t": "tabs", "|": "'|'", " ": "spaces"}
# So much of a file is looked at to find out what separates its values.
SAMPLE, LINES = 1 << 18, 200
# Characters of a cell at most.
CELL = 1 << 20


def _tuple(given: Sequence[str]) -> tuple[str, ...]:
    return tuple(given)


@attrs.frozen
class Reading:
    """How a file is to be read; None is found out.

    Attributes
    ----------
    delimiter, decimal, encoding : str or None
        Of a text file.
    header : bool
        Whether the first row names the columns.
    missing : tuple of str
        What else stands for a gap.
    day_first : bool or None
        Whether 03/04/2024 is in April, where the other dates of its column do not tell.
    sheet : str or None
        The sheet of a workbook; None is its first.
    """

    delimiter: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    header: bool = True
    missing: tuple[str, ...] = attrs.field(default=(), converter=_tuple)
    day_first: bool | None = None
    sheet: str | None = None

    def __attrs_post_init__(self) -> None:
        if self.delimiter is not None and len(self.delimiter) != 1:
            raise CommandError(
                f"--delimiter must be one character or 'tab', got {self.delimiter!r}"
            )
        if self.decimal not in (".", ",", None):
            raise CommandError(f"--decimal must be '.' or ',', got {self.decimal!r}")
        try:
            "".encode(self.encoding or "utf-8")
        except LookupError:
            raise CommandError(
                f"--encoding: Python knows no {self.encoding!r}; try utf-8, latin-1 or utf-16"
            ) from None


@attrs.frozen
class Text:
    """A decoded file and how it is written.

    Attributes
    ----------
    text, encoding, delimiter : str
    skipped : int
        Lines above the header: titles, remarks, Excel's ``sep=;``.
    """

    text: str
    encoding: str
    delimiter: str
    skipped: int = 0


# ---------------------------------------------------------------------- bytes


def bare_ending(file: str) -> str:
    """The ending of a name, in small letters, without that of a compression."""
    name = file.lower()
    while os.path.splitext(name)[1] in PACKED:
        name = os.path.splitext(name)[0]
    return os.path.splitext(name)[1]


def unpacked(content: bytes, name: str) -> bytes:
    """The bytes without a compression, which the first of them tell."""
    try:
        if content[:2] == b"\x1f\x8b":
            return gzip.decompress(content)
        if content[:3] == b"BZh":
            return bz2.decompress(content)
        if content[:6] == b"\xfd7zXZ\x00":
            return lzma.decompress(content)
        if content[:4] == b"PK\x03\x04" and os.path.splitext(name.lower())[1] == ".zip":
            return _only_member(content, name)
    except (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError, zipfile.BadZipFile) as error:
        raise CommandError(f"{name} is compressed and damaged ({error}); fetch it again") from None
    ending = os.path.splitext(name.lower())[1]
    # A text may have been unpacked and kept its name.
    text = content[:2] in BOMS or b"\x00" not in content[:SAMPLE]
    if ending in PACKED and not text:
        raise CommandError(f"{name} is no {PACKED[ending]} file; fetch it again, or rename it")
    return content


def packed_as(content: bytes, file: str) -> bytes:
    """The bytes with the compression that the name of a file tells."""
    ending = os.path.splitext(file.lower())[1]
    if ending == ".zip":
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(os.path.splitext(os.path.basename(file))[0], content)
        return out.getvalue()
    if ending == ".gz":
        return gzip.compress(content)
    if ending == ".bz2":
        return bz2.compress(content)
    return lzma.compress(content) if ending == ".xz" else content


def _only_member(content: bytes, name: str) -> bytes:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = [
            one.filename
            for one in archive.infolist()
            if not one.is_dir() and not one.filename.startswith("__MACOSX/")
        ]
        if len(members) != 1:
            raise CommandError(
                f"{name} holds {len(members)} files ({listed(members, 4)}); unpack it and name one"
            )
        try:
            return archive.read(members[0])
        except RuntimeError as error:
            raise CommandError(f"{name}: {error}; unpack it first") from None


def decoded(content: bytes, name: str, encoding: str | None) -> tuple[str, str]:
    """The text, and the encoding it is in."""
    if encoding is None:
        return _found_encoding(content, name)
    if encoding.lower().replace("_", "-") in ("utf-8", "utf8"):
        encoding = _utf8(content)
    try:
        return content.decode(encoding), encoding
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        byte = content[error.start]
        raise CommandError(
            f"{name}: line {line} holds byte 0x{byte:02x}, which is not "
            f"{encoding.upper().removesuffix('-SIG')}; leave --encoding out, or give another"
        ) from None


def _utf8(content: bytes) -> str:
    return "utf-8-sig" if content.startswith(codecs.BOM_UTF8) else "utf-8"


def _found_encoding(content: bytes, name: str) -> tuple[str, str]:
    if content[:2] in BOMS:
        try:
            return content.decode("utf-16"), "utf-16"
        except UnicodeDecodeError:
            pass
    if b"\x00" in content[:SAMPLE]:
        raise CommandError(
            f"{name} is not a text file (it holds zero bytes); if it is one, give its --encoding, "
            "utf-16-le for instance"
        )
    for encoding in (_utf8(content), "cp1252"):
        try:
            return content.decode(encoding), encoding
        except UnicodeDecodeError:
            continue
    return content.decode("latin-1"), "latin-1"


# ---------------------------------------------------------------------- separators


def sniffed(content: bytes, name: str, reading: Reading, ending: str = "") -> Text:
    """Find out how a text file is written."""
    text, encoding = decoded(content, name, reading.encoding)
    told = re.match(r"(?:\ufeff)?sep=(.)\r?\n", text)
    if told is not None:
        # Excel writes it for itself.
        return Text(text, encoding, reading.delimiter or told[1], 1)
    usual = "\t" if ending in (".tsv", ".tab") else ","
    delimiter = reading.delimiter or _separator(text, usual)
    return Text(text, encoding, delimiter, _titles(text, delimiter))


def _sample(text: str, delimiter: str) -> list[tuple[int, list[str]]]:
    """The first rows as this separator has them, without a last one that is cut."""
    part = text[:SAMPLE]
    reader = csv.reader(
        io.StringIO(part, newline=""), delimiter=delimiter, skipinitialspace=delimiter == " "
    )
    found: list[tuple[int, list[str]]] = []
    line = 1
    try:
        for record in reader:
            if any(cell.strip() for cell in record):
                found.append((line, record))
            line = reader.line_num + 1
            if len(found) == LINES:
                return found
    except csv.Error:
        return found
    return found if len(part) == len(text) else found[:-1]


@attrs.frozen
class _Split:
    """What a separator makes of the first rows.

    Attributes
    ----------
    separator : str
    share : float
        The part of the rows that has the usual number of values.
    above : int
        Rows before the first two that have it.
    whole : float
        The part of the cells that hold no other separator, but for numbers.
    width : int
        The usual number of values.
    """

    separator: str
    share: float
    above: int
    whole: float
    width: int

    @classmethod
    def of(cls, rows: list[list[str]], separator: str) -> _Split | None:
        widths = [_width(row) for row in rows]
        width, count = Counter(widths).most_common(1)[0] if widths else (0, 0)
        if width < 2:
            return None
        share = count / len(widths)
        if separator == " ":
            share, rank = share - 0.05, 0
        else:
            rank = width
        # Spaces stand in texts and commas in numbers, so the header must agree as well.
        if widths[0] not in (1, width):
            share *= 0.5
        pairs = zip(widths, [*widths[1:], width], strict=True)
        above = next((k for k, pair in enumerate(pairs) if pair == (width, width)), len(widths))
        return cls(separator, share, above, _whole(rows, separator), rank)


def _whole(rows: list[list[str]], separator: str) -> float:
    """The part of the cells that hold no other separator; numbers may have commas inside."""
    others = set(SEPARATORS) - {separator, " "}
    cells = [cell for row in rows for cell in row]
    broken = sum(bool(others.intersection(cell)) and not _is_number(cell) for cell in cells)
    return 1.0 - broken / len(cells)


def _separator(text: str, usual: str) -> str:
    """The separator by which most rows have the same number of values, the header among them."""
    found = []
    for one in sorted(SEPARATORS, key=lambda s: s != usual):
        split = _Split.of([row for _, row in _sample(text, one)], one)
        if split is not None:
            found.append(split)
    most = max((split.share for split in found), default=0.0)
    if most <= 0.5:
        return usual
    # k numbers with decimal commas have as many commas as k + 1 values: the header tells, and
    # where there is none, what is inside the cells.
    near = [split for split in found if split.share >= most - 0.02]
    return max(near, key=lambda split: (-split.above, split.whole, split.width)).separator


def _width(record: list[str]) -> int:
    """How many values there are, without empty ones at the end."""
    width = len(record)
    while width and not record[width - 1].strip():
        width -= 1
    return width


def _titles(text: str, delimiter: str) -> int:
    """How many lines stand above the header: titles have one value where rows have several."""
    rows = _sample(text, delimiter)
    widths = [_width(record) for _, record in rows]
    if len(rows) < 3:
        return 0
    width, count = Counter(widths[1:]).most_common(1)[0]
    if width < 2 or count < 0.5 * len(widths):
        return 0
    for line, record in rows[:LINES]:
        full = _width(record)
        if full > 1 and not record[0].lstrip().startswith("#"):
            return line - 1
        if full > 1 and (full == width or full == width + 1):
            return line - 1
    return 0


def records(whole: Text, name: str) -> Iterator[tuple[int, list[str]]]:
    """Lines that hold something, each with the number of its first."""
    lines = io.StringIO(whole.text, newline="")
    for _ in range(whole.skipped):
        lines.readline()
    reader = csv.reader(
        lines,
        delimiter=whole.delimiter,
        strict=True,
        skipinitialspace=whole.delimiter == " ",
    )
    csv.field_size_limit(CELL)
    while True:
        line = reader.line_num + 1 + whole.skipped
        try:
            record = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise CommandError(
                f"{name}: line {line} cannot be read ({error}); is a quote left open there?"
            ) from None
        if any(cell.strip() for cell in record) or (len(record) > 1 and whole.delimiter != " "):
            if whole.delimiter == " ":
                record = _without_margins(record)
            yield line, record


def _without_margins(record: list[str]) -> list[str]:
    """Spaces before the first and after the last value separate nothing."""
    begin = 0 if record[0] else 1
    end = len(record) if record[-1] else len(record) - 1
    return record[begin:end]


# ---------------------------------------------------------------------- rows


@attrs.frozen
class Rows:
    """The rows of a text file by column, where columns and rows stand, and what is to be said about
    it."""

    names: list[str]
    cells: list[list[str]]
    positions: list[int]
    places: list[int]
    decimal: str
    notes: list[str]
    doubled: frozenset[str]


def rows_of_text(content: bytes, name: str, reading: Reading, ending: str) -> Rows:
    """The rows of a text file, whatever separates them."""
    whole = sniffed(content, name, reading, ending)
    found = records(whole, name)
    first = next(found, None)
    if first is None:
        raise CommandError(f"{name} is empty; a table needs a header and rows")
    line, head = first
    rows: list[list[str]] = []
    places: list[int] = []
    if not reading.header:
        rows.append(head)
        places.append(line)
    body = list(found)
    width = _checked_width(head, body, name, reading.header)
    for line, record in body:
        rows.append(record[:width] + [""] * (width - len(record)))
        places.append(line)
    if reading.header:
        names, doubled = checked_names(head[:width], name, f"line {first[0]}")
    else:
        names, doubled = [f"c{k + 1}" for k in range(width)], frozenset()
    if not rows:
        raise CommandError(f"{name} has a header and no rows")
    cells = [[record[k] for record in rows] for k in range(width)]
    # A separator at the end of every line is no column.
    unnamed = [k for k in range(width) if reading.header and not head[k].strip()]
    empty = {k for k in unnamed if not any(cell.strip() for cell in cells[k])}
    kept = [k for k in range(width) if k not in empty]
    names, cells = [names[k] for k in kept], [cells[k] for k in kept]
    decimal = reading.decimal or decimal_of(cells, separated_by=whole.delimiter)
    notes = _told(whole, reading, ending, decimal, cells)
    return Rows(names, cells, kept, places, decimal, notes, doubled)


def _checked_width(
    head: list[str], body: list[tuple[int, list[str]]], name: str, header: bool
) -> int:
    """The number of columns; lines that do not have it are refused, but for empty ends."""
    width = len(head)
    for line, record in body:
        extra = _width(record)
        # Some programs end every line but the header with a separator, or every header.
        fits = extra <= width and (
            len(record) >= width or not any(h.strip() for h in head[len(record) :])
        )
        if not fits:
            against = "the header" if header else "the first line"
            raise CommandError(
                f"{name}: line {line} has {len(record)} values and {against} {width}; quote values "
                "that hold the separator, or correct the line"
            )
    return width


def checked_names(
    head: list[str], name: str, where: str, refuse_numbers: bool = True
) -> tuple[list[str], frozenset[str]]:
    """Names of columns, each once, and those that several columns have."""
    names = [cell.strip().lstrip("\ufeff") for cell in head]
    if refuse_numbers and all(_is_number(cell) for cell in names if cell):
        raise CommandError(
            f"{name} has no header: {where} holds numbers ({listed(names, 3)}); add a line "
            "with the names of the columns, or give --no-header to call them c1, c2, ..."
        )
    names = [one or f"column {k + 1}" for k, one in enumerate(names)]
    return distinct(names)


def _is_number(text: str) -> bool:
    plain = text.strip()
    if plain.casefold() in GAPS | GAPS_AMONG_NUMBERS:
        return False
    if any(pattern.fullmatch(plain.lstrip("+-")) for pattern in AMOUNTS.values()):
        return True
    try:
        float(plain)
    except ValueError:
        return False
    return True


def _told(
    whole: Text, reading: Reading, ending: str, decimal: str, cells: list[list[str]]
) -> list[str]:
    """What was found out about a file, in a line; nothing where it is as expected."""
    said = []
    usual = "\t" if ending in (".tsv", ".tab") else ","
    if reading.delimiter is None and whole.delimiter != usual and len(cells) > 1:
        said.append(f"values separated by {SEPARATORS.get(whole.delimiter, whole.delimiter)}")
    if reading.decimal is None and decimal == ",":
        said.append("decimal commas")
    if reading.encoding is None and not whole.encoding.startswith("utf-8"):
        said.append(f"encoding {whole.encoding}")
    if whole.skipped:
        lines = "line" if whole.skipped == 1 else "lines"
        said.append(f"{whole.skipped} {lines} above the header skipped")
    return said
