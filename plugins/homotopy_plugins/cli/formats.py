"""Tables from files that are not CSV: JSON, Excel, Parquet, svmlight, ``.npz``."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

import attrs
import numpy as np

from homotopy_plugins.cli.answers import CommandError
from homotopy_plugins.cli.texts import Reading, checked_names, decoded
from homotopy_plugins.tables.cells import Habits, text_of_cell
from homotopy_plugins.tables.columns import Column, Table
from homotopy_plugins.wording import listed

__all__ = ["from_excel", "from_json", "from_npz", "from_parquet", "from_svmlight"]


# ---------------------------------------------------------------------- JSON


def from_json(content: bytes, name: str, digest: str, reading: Reading) -> Table:
    """Objects, one a line, or a list of them."""
    text, _ = decoded(content, name, reading.encoding)
    objects, places, counted = _objects(text, name)
    if not objects:
        raise CommandError(f"{name} has no rows")
    flat = [_flat(one) for one in objects]
    names = list(dict.fromkeys(key for one in flat for key in one))
    habits = _habits(reading)
    columns = tuple(Column(key, [one.get(key) for one in flat], habits) for key in names)
    return Table(name, columns, np.array(places, dtype=np.int64), counted, digest)


def _objects(text: str, name: str) -> tuple[list[dict[str, Any]], list[int], str]:
    begin = text.lstrip()[:1]
    if begin == "{":
        found, places, trouble = _lines(text)
        if trouble is None:
            if len(found) == 1:
                lists = [value for value in found[0].values() if _is_rows(value)]
                if len(lists) == 1:
                    return lists[0], list(range(len(lists[0]))), "row"
                _refuse_columns(found[0], name)
            return found, places, "line"
        whole = _whole(text)
        if isinstance(whole, dict):
            lists = [value for value in whole.values() if _is_rows(value)]
            if len(lists) == 1:
                return lists[0], list(range(len(lists[0]))), "row"
            _refuse_columns(whole, name)
        raise CommandError(
            f"{name}: line {trouble} is not a JSON object; a table in JSON is one object a line, "
            "or a list of objects"
        )
    whole = _whole(text)
    if not _is_rows(whole):
        raise CommandError(
            f"{name} is not a table in JSON; give one object a line, or a list of objects"
        )
    return whole, list(range(len(whole))), "row"


def _refuse_columns(one: dict[str, Any], name: str) -> None:
    """Refuse a table that is kept by columns: lists, or objects by the numbers of rows."""
    values = list(one.values())
    lists = all(isinstance(v, list) and len(v) == len(values[0]) for v in values)
    numbered = all(isinstance(v, dict) and v and all(k.isdigit() for k in v) for v in values)
    if values and (lists or numbered):
        raise CommandError(
            f"{name} is one object that holds columns ({listed(map(repr, one), 4)}); a table in "
            "JSON is one object for each row, one a line or in a list (pandas: to_json(..., "
            "orient='records'))"
        )


def _lines(text: str) -> tuple[list[dict[str, Any]], list[int], int | None]:
    """Objects with their lines, and the first line that is none."""
    found, places = [], []
    for line, one in enumerate(text.splitlines(), start=1):
        if not one.strip():
            continue
        value = _whole(one)
        if not isinstance(value, dict):
            return [], [], line
        found.append(value)
        places.append(line)
    return found, places, None


def _whole(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _is_rows(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(v, dict) for v in value)


def _flat(one: dict[str, Any], before: str = "") -> dict[str, Any]:
    """Objects inside objects by names with dots; lists as texts."""
    out: dict[str, Any] = {}
    for key, value in one.items():
        if isinstance(value, dict):
            out |= _flat(value, f"{before}{key}.")
        elif isinstance(value, bool):
            out[f"{before}{key}"] = str(value)
        elif isinstance(value, list):
            out[f"{before}{key}"] = json.dumps(value)
        else:
            out[f"{before}{key}"] = value
    return out


def _habits(reading: Reading) -> Habits:
    return Habits(reading.decimal or ".", frozenset(reading.missing), reading.day_first)


# ---------------------------------------------------------------------- Excel


def from_excel(content: bytes, name: str, digest: str, reading: Reading) -> Table:
    """A sheet of a workbook; rows are numbered as Excel does, from 1 with the header."""
    try:
        from openpyxl import load_workbook  # type: ignore[import-untyped]
    except ImportError:
        raise CommandError(
            f"{name}: an Excel file needs openpyxl; install homotopy-qp[excel], or save the "
            "sheet as CSV"
        ) from None
    try:
        book = load_workbook(io.BytesIO(content), read_only=True, data_only=True)
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise CommandError(f"{name} is not an .xlsx file ({error}); save it as one") from None
    sheets = [sheet.title for sheet in book.worksheets]
    if reading.sheet is not None and reading.sheet not in sheets:
        raise CommandError(f"{name} has no sheet {reading.sheet!r}; there is {listed(sheets)}")
    sheet = book[reading.sheet] if reading.sheet is not None else book.worksheets[0]
    rows = [
        (k, list(values))
        for k, values in enumerate(sheet.iter_rows(values_only=True), start=1)
        if any(not _empty(value) for value in values)
    ]
    if not rows:
        raise CommandError(f"{name}: sheet {sheet.title!r} is empty; give --sheet")
    width = max(len(values) for _, values in rows)
    rows = [(k, values + [None] * (width - len(values))) for k, values in rows]
    table = _from_rows(rows, width, name, digest, reading)
    if len(sheets) > 1 and reading.sheet is None:
        note = f"sheet {sheet.title!r} of {len(sheets)} (--sheet takes another)"
        table = attrs.evolve(table, notes=(*table.notes, note))
    return table


def _empty(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _from_rows(
    rows: list[tuple[int, list[Any]]], width: int, name: str, digest: str, reading: Reading
) -> Table:
    used = [k for k in range(width) if any(not _empty(values[k]) for _, values in rows)]
    notes: list[str] = []
    doubled: frozenset[str] = frozenset()
    if reading.header:
        # Titles above a table have one cell.
        skipped = 0
        while len(used) > 1 and len(rows) > 2 and _filled(rows[0][1]) == 1:
            rows, skipped = rows[1:], skipped + 1
        if skipped:
            notes.append(f"{skipped} row{'s' if skipped > 1 else ''} above the header skipped")
        place, head = rows[0]
        texts = ["" if _empty(head[k]) else text_of_cell(head[k]) for k in used]
        names, doubled = checked_names(texts, name, f"row {place}")
        rows = rows[1:]
    else:
        names = [f"c{k + 1}" for k in range(len(used))]
    if not rows:
        raise CommandError(f"{name} has a header and no rows")
    habits = _habits(reading)
    columns = [
        Column(one, [_truth(values[k]) for _, values in rows], habits, k)
        for one, k in zip(names, used, strict=True)
    ]
    place_of = np.array([place for place, _ in rows], dtype=np.int64)
    return Table(name, tuple(columns), place_of, "row", digest, notes=tuple(notes), doubled=doubled)


def _filled(values: list[Any]) -> int:
    return sum(not _empty(value) for value in values)


def _truth(value: Any) -> Any:
    return str(value) if isinstance(value, bool) else value


# ---------------------------------------------------------------------- other formats


def from_parquet(content: bytes, name: str, digest: str, reading: Reading) -> Table:
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
    names, doubled = checked_names(names, name, "", refuse_numbers=False)
    if not names or arrow.num_rows == 0:
        raise CommandError(f"{name} has no rows")
    columns = []
    habits = _habits(reading)
    for one, values in zip(names, arrow.columns, strict=True):
        kind = values.type
        if pa.types.is_nested(kind) or pa.types.is_binary(kind):
            raise CommandError(
                f"{name}: column {one!r} holds values of type {kind}, not numbers or words; take "
                "it out first"
            )
        columns.append(Column(one, _from_arrow(pa, values), habits))
    place = np.arange(arrow.num_rows)
    return Table(name, tuple(columns), place, "row", digest, doubled=doubled)


def _from_arrow(pa: Any, values: Any) -> Any:
    kind = values.type
    if pa.types.is_boolean(kind):
        return [None if v is None else str(v) for v in values.to_pylist()]
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return np.asarray(values.cast(pa.float64(), safe=False).to_numpy(), dtype=np.float64)
    return values.to_pylist()


def from_svmlight(content: bytes, name: str, digest: str) -> Table:
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


def from_npz(content: bytes, name: str, digest: str) -> Table:
    if content[:2] != b"PK":
        kind = "one NumPy array (.npy)" if content[:6] == b"\x93NUMPY" else "no NumPy file"
        raise CommandError(
            f"{name} is {kind}; give an .npz file with the arrays X and y, as numpy.savez writes it"
        )
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            held = {key: archive[key] for key in archive.files if key in ("X", "y")}
            there = list(archive.files)
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, KeyError) as error:
        # NumPy recommends to load what it refuses all the same.
        why = "it holds Python objects" if "pickle" in str(error) else error
        raise CommandError(f"{name} is not an .npz file of plain arrays ({why})") from None
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
        texts = [text_of_cell(v) for v in y.tolist()] if y.dtype.kind in "US" else None
        columns.append(Column("y", y.astype(np.float64) if texts is None else texts))
    place, target = np.arange(X.shape[0]), "y" if "y" in held else None
    return Table(name, tuple(columns), place, "row", digest, target=target)
