"""Tables from files: CSV (and stdin), Parquet, svmlight, ``.npz``.

A table keeps for each row where it stands in the file, because a suspected row is of no use without
its line.  Nothing is guessed in silence: a file without a header, with a column twice or with rows
of unequal length is refused, with the line.
"""

from __future__ import annotations

import csv
import hashlib
import io
import os
import sys
import zipfile
from collections.abc import Iterator, Sequence
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from homotopy_plugins.cli.answers import CommandError, close_to, listed

__all__ = ["MISSING", "Column", "Reading", "Table", "read_table"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]

# What stands for a value that is not there.
MISSING = frozenset(["", "na", "n/a", "nan", "null", "none", "?"])
STDIN = "-"
TEXT = (".csv", ".tsv", ".tab", ".txt", "")
PARQUET = (".parquet", ".pq")
SVMLIGHT = (".svm", ".libsvm", ".svmlight")
KNOWN = "CSV (.csv, .tsv), Parquet (.parquet), svmlight (.svm, .libsvm, .svmlight) or .npz"
SEPARATORS = {";": "';'", "\t": "tab", "|": "'|'"}
# Characters of a cell at most.
CELL = 1 << 20


@attrs.frozen
class Reading:
    """How a text file is to be read."""

    delimiter: str | None = None
    decimal: str = "."
    encoding: str = "utf-8"
    header: bool = True

    def __attrs_post_init__(self) -> None:
        if self.delimiter is not None and len(self.delimiter) != 1:
            raise CommandError(
                f"--delimiter must be one character or 'tab', got {self.delimiter!r}"
            )
        if self.decimal not in (".", ","):
            raise CommandError(f"--decimal must be '.' or ',', got {self.decimal!r}")
        try:
            "".encode(self.encoding)
        except LookupError:
            raise CommandError(
                f"--encoding: Python knows no {self.encoding!r}; try utf-8, latin-1 or utf-16"
            ) from None


@attrs.frozen(eq=False)
class Column:
    """One column: texts from a text file, else what the file holds."""

    name: str
    raw: Sequence[Any] | npt.NDArray[Any]
    decimal: str = "."

    def numbers(self) -> tuple[Array, Index]:
        """The entries as numbers, NaN where they are missing, and which are not numbers at all."""
        if isinstance(self.raw, np.ndarray) and self.raw.dtype.kind in "fiub":
            return self.raw.astype(np.float64), np.empty(0, dtype=np.int64)
        found = np.full(len(self.raw), np.nan)
        wrong = []
        for i, entry in enumerate(self.raw):
            if _missing(entry):
                continue
            try:
                found[i] = _number(entry, self.decimal)
            except (TypeError, ValueError):
                wrong.append(i)
        return found, np.array(wrong, dtype=np.int64)

    def words(self) -> list[str | None]:
        """The entries as texts, None where they are missing."""
        return [None if _missing(entry) else _text(entry) for entry in self.raw]

    def take(self, rows: Index) -> Column:
        """Some of the rows."""
        if isinstance(self.raw, np.ndarray):
            return attrs.evolve(self, raw=self.raw[rows])
        return attrs.evolve(self, raw=[self.raw[i] for i in rows.tolist()])


def _missing(entry: Any) -> bool:
    if isinstance(entry, str):
        return entry.strip().casefold() in MISSING
    if entry is None or type(entry).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(entry, float | np.floating) and bool(np.isnan(entry))


def _number(entry: Any, decimal: str) -> float:
    if isinstance(entry, str):
        text = entry.strip()
        if "_" in text:
            raise ValueError
        return float(text.replace(",", ".") if decimal == "," else text)
    if isinstance(entry, bool | np.bool_ | int | float | np.number):
        return float(entry)
    if type(entry).__name__ == "Decimal":
        return float(entry)
    raise TypeError


def _text(entry: Any) -> str:
    if isinstance(entry, bytes):
        return entry.decode("utf-8", "replace")
    return str(entry).strip()


@attrs.frozen(eq=False)
class Table:
    """Columns by name, or the matrix of a file that has none, and where each row stands.

    Attributes
    ----------
    source : str
        The file, for messages.
    columns : tuple of Column
        Empty where there is a `matrix`.
    matrix, labels
        Sparse rows and their targets (svmlight).
    place : array (n,)
        The line of each row in a text file, else its number, counted from 0.
    counted : {"line", "row"}
        What `place` counts.
    digest : str
        A hash of the bytes of the file.
    target : str or None
        The column that is the target if none is named.
    """

    source: str
    columns: tuple[Column, ...]
    place: Index
    counted: str
    digest: str
    matrix: Any = None
    labels: Column | None = None
    target: str | None = None

    @property
    def size(self) -> int:
        return int(self.place.size)

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]

    def where(self, i: int) -> str:
        """``line 7``, for messages."""
        return f"{self.counted} {int(self.place[i])}"

    def column(self, name: str) -> Column:
        """The column called `name`; else what it may have been meant to be."""
        for column in self.columns:
            if column.name == name:
                return column
        raise CommandError(
            f"{self.source} has no column {name!r}; {close_to(name, self.names)}"
            + self._separated_otherwise()
        )

    def _separated_otherwise(self) -> str:
        """A hint where the file is not separated as it was read."""
        if len(self.columns) == 1:
            for separator, said in SEPARATORS.items():
                if separator in self.columns[0].name:
                    return (
                        f" (values seem to be separated by {said}: "
                        f"try --delimiter {said if said != 'tab' else 'tab'})"
                    )
        return ""

    def take(self, rows: Index) -> Table:
        """Some of the rows as a table of their own."""
        return attrs.evolve(
            self,
            columns=tuple(column.take(rows) for column in self.columns),
            place=self.place[rows],
            matrix=None if self.matrix is None else self.matrix[rows],
            labels=None if self.labels is None else self.labels.take(rows),
        )

    def without(self, names: Sequence[str]) -> Table:
        """The other columns."""
        for name in names:
            self.column(name)
        kept = tuple(column for column in self.columns if column.name not in names)
        return attrs.evolve(self, columns=kept)


def read_table(file: str, reading: Reading | None = None) -> Table:
    """The table in a file, by the ending of its name; ``-`` is CSV on stdin."""
    reading = reading or Reading()
    content = _content(file)
    name = "stdin" if file == STDIN else file
    if not content:
        raise CommandError(f"{name} is empty; a table needs a header and rows")
    digest = hashlib.sha256(content).hexdigest()
    ending = "" if file == STDIN else os.path.splitext(file)[1].lower()
    if ending in TEXT:
        if reading.delimiter is None and ending in (".tsv", ".tab"):
            reading = attrs.evolve(reading, delimiter="\t")
        return _from_text(content, name, digest, reading)
    if ending in PARQUET:
        return _from_parquet(content, name, digest)
    if ending in SVMLIGHT:
        return _from_svmlight(content, name, digest)
    if ending == ".npz":
        return _from_npz(content, name, digest)
    raise CommandError(f"{name}: cannot read a file that ends in {ending!r}; give {KNOWN}")


def text_of(file: str, reading: Reading) -> tuple[str, str]:
    """The text of a CSV file, and what separates its values."""
    ending = "" if file == STDIN else os.path.splitext(file)[1].lower()
    if ending not in TEXT:
        raise CommandError(f"{file}: only CSV files can be corrected; this one ends in {ending!r}")
    usual = "\t" if ending in (".tsv", ".tab") else ","
    return _decoded(_content(file), file, reading.encoding), reading.delimiter or usual


def _content(file: str) -> bytes:
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
        tables = [n for n in there if os.path.splitext(n)[1].lower() in _endings()]
        raise CommandError(
            f"{file}: no such file; {close_to(os.path.basename(file), tables)}"
        ) from None
    except IsADirectoryError:
        raise CommandError(f"{file} is a folder; name a file in it") from None
    except OSError as error:
        raise CommandError(f"{file}: cannot be read ({error.strerror or error})") from None


def _endings() -> tuple[str, ...]:
    return (*(ending for ending in TEXT if ending), *PARQUET, *SVMLIGHT, ".npz")


# ---------------------------------------------------------------------- text


def _from_text(content: bytes, name: str, digest: str, reading: Reading) -> Table:
    records = _records(_decoded(content, name, reading.encoding), name, reading.delimiter or ",")
    first = next(records, None)
    if first is None:
        raise CommandError(f"{name} is empty; a table needs a header and rows")
    line, head = first
    rows: list[list[str]] = []
    places: list[int] = []
    if reading.header:
        names = _checked_names(head, name, line)
    else:
        names = [f"c{k + 1}" for k in range(len(head))]
        rows.append(head)
        places.append(line)
    for line, record in records:
        if len(record) != len(names):
            raise CommandError(
                f"{name}: line {line} has {len(record)} values and the header {len(names)}; quote "
                "values that hold the separator, or correct the line"
            )
        rows.append(record)
        places.append(line)
    if not rows:
        raise CommandError(f"{name} has a header and no rows")
    columns = [
        Column(names[k], [record[k] for record in rows], reading.decimal) for k in range(len(names))
    ]
    return Table(name, tuple(columns), np.array(places, dtype=np.int64), "line", digest)


def _decoded(content: bytes, name: str, encoding: str) -> str:
    if encoding.lower().replace("_", "-") in ("utf-8", "utf8"):
        encoding = "utf-8-sig"
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        byte = content[error.start]
        raise CommandError(
            f"{name}: line {line} holds byte 0x{byte:02x}, which is not {encoding.upper()[:5]}; "
            "give --encoding, latin-1 for instance"
        ) from None


def _records(text: str, name: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Lines that hold something, each with the number of its first."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    csv.field_size_limit(CELL)
    while True:
        line = reader.line_num + 1
        try:
            record = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise CommandError(
                f"{name}: line {line} cannot be read ({error}); is a quote left open there?"
            ) from None
        if any(cell.strip() for cell in record) or len(record) > 1:
            yield line, record


def _checked_names(head: list[str], name: str, line: int) -> list[str]:
    names = [cell.strip() for cell in head]
    if all(_is_number(cell) for cell in names):
        raise CommandError(
            f"{name} has no header: line {line} holds numbers ({listed(names, 3)}); add a line "
            "with the names of the columns, or give --no-header to call them c1, c2, ..."
        )
    for k, one in enumerate(names):
        if not one:
            names[k] = f"column {k + 1}"
    for k, one in enumerate(names):
        if one in names[:k]:
            raise CommandError(
                f"{name}: columns {names.index(one) + 1} and {k + 1} are both called {one!r}; "
                "rename one of them"
            )
    return names


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return text.strip().casefold() not in MISSING


# ---------------------------------------------------------------------- other formats


def _from_parquet(content: bytes, name: str, digest: str) -> Table:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise CommandError(
            f"{name}: Parquet needs pyarrow; install homotopy-qp[parquet], or give a CSV file"
        ) from None
    try:
        arrow = pq.read_table(io.BytesIO(content))
    except (pa.ArrowException, OSError, ValueError) as error:
        raise CommandError(f"{name} is not a Parquet file ({error})") from None
    names = [str(one) for one in arrow.column_names]
    # The index of a pandas frame is kept as a column.
    names = ["column 0" if one == "__index_level_0__" else one for one in names]
    for k, one in enumerate(names):
        if one in names[:k]:
            raise CommandError(f"{name}: two columns are called {one!r}; rename one of them")
    if not names or arrow.num_rows == 0:
        raise CommandError(f"{name} has no rows")
    columns = []
    for one, values in zip(names, arrow.columns, strict=True):
        kind = values.type
        if pa.types.is_nested(kind) or pa.types.is_binary(kind):
            raise CommandError(
                f"{name}: column {one!r} holds values of type {kind}, not numbers or words; take "
                "it out first"
            )
        columns.append(Column(one, _from_arrow(pa, values)))
    return Table(name, tuple(columns), np.arange(arrow.num_rows), "row", digest)


def _from_arrow(pa: Any, values: Any) -> Any:
    kind = values.type
    if pa.types.is_boolean(kind):
        return [None if v is None else str(v) for v in values.to_pylist()]
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return np.asarray(values.cast(pa.float64(), safe=False).to_numpy(), dtype=np.float64)
    return values.to_pylist()


def _from_svmlight(content: bytes, name: str, digest: str) -> Table:
    from sklearn.datasets import load_svmlight_file

    try:
        X, y = load_svmlight_file(io.BytesIO(content))
    except (ValueError, OverflowError) as error:
        raise CommandError(
            f"{name} is not an svmlight file ({error}); each line is 'label index:value ...'"
        ) from None
    if not y.size:
        raise CommandError(f"{name} has no rows")
    lines = [
        k for k, line in enumerate(content.splitlines(), start=1) if line.split(b"#", 1)[0].strip()
    ]
    exact = len(lines) == y.size
    place = np.array(lines if exact else range(y.size), dtype=np.int64)
    labels = Column("y", np.asarray(y))
    counted = "line" if exact else "row"
    return Table(name, (), place, counted, digest, matrix=X, labels=labels, target="y")


def _from_npz(content: bytes, name: str, digest: str) -> Table:
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            held = {key: archive[key] for key in archive.files if key in ("X", "y")}
            there = list(archive.files)
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, KeyError) as error:
        raise CommandError(f"{name} is not an .npz file of plain arrays ({error})") from None
    if "X" not in held:
        raise CommandError(f"{name} holds no array X (it has {listed(there)}); save X and y in it")
    X = held["X"]
    X = X[:, None] if X.ndim == 1 else X
    if X.ndim != 2 or X.dtype.kind not in "fiub" or 0 in X.shape:
        raise CommandError(
            f"{name}: X must be a table of numbers, got {X.dtype} of shape {X.shape}"
        )
    columns = [Column(f"x{k}", X[:, k].astype(np.float64)) for k in range(X.shape[1])]
    if "y" in held:
        y = held["y"]
        if y.shape != (X.shape[0],) or y.dtype.kind not in "fiubUS":
            raise CommandError(
                f"{name}: y must be one value for each of the {X.shape[0]} rows of X, got "
                f"{y.dtype} of shape {y.shape}"
            )
        raw = y.astype(np.float64) if y.dtype.kind in "fiub" else [_text(v) for v in y.tolist()]
        columns.append(Column("y", raw))
    place, target = np.arange(X.shape[0]), "y" if "y" in held else None
    return Table(name, tuple(columns), place, "row", digest, target=target)
