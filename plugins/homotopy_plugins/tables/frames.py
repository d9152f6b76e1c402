"""Columns by their type: numbers, dates, words.

The command line makes them of the cells of a file, `audit` of the columns of a DataFrame or an
array that hold texts.  What is typed already stays as it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from homotopy import DataError
from homotopy_plugins.tables.cells import (
    Habits,
    cells_of,
    days_of,
    decimal_of,
    is_missing,
    text_of_cell,
)
from homotopy_plugins.tables.columns import Column, Table, distinct
from homotopy_plugins.tables.kinds import (
    Choice,
    hardly_repeats,
    is_mixed,
    kinds_of,
    mixed,
    told_gaps,
)
from homotopy_plugins.wording import listed

__all__ = [
    "as_numbers",
    "gaps_of",
    "holds_text",
    "is_category",
    "read_columns",
    "typed_columns",
    "with_gaps",
]

Array = npt.NDArray[np.float64]


# ---------------------------------------------------------------------- of a table


def typed_columns(table: Table, choice: Choice, notes: list[str]) -> dict[str, Any]:
    """The columns that are of use: numbers, dates of pandas, or words, None where they are
    missing."""
    kinds = kinds_of(table, choice, notes)
    gaps: Counter[str] = Counter()
    made: dict[str, Any] = {}
    for column in table.columns:
        if kinds.get(column.name) == "number":
            cells = column.cells
            gaps += cells.gaps
            made[column.name] = _dates(cells.values) if cells.style.kind == "date" else cells.values
        elif kinds.get(column.name) == "category":
            made[column.name] = np.array(column.words(), dtype=object)
    notes += told_gaps(gaps)
    return made


def _dates(days: Array) -> Any:
    """Days since 1970, to be shown as dates."""
    import pandas as pd

    return pd.to_datetime(days * 86400.0, unit="s")


# ---------------------------------------------------------------------- of a frame


def is_category(values: Any) -> bool:
    """Whether a column is one of categories, whatever they look like."""
    return str(getattr(values, "dtype", "")) == "category"


def holds_text(values: Any) -> bool:
    """Whether it takes a look at the cells of a column to tell what it holds."""
    return not is_category(values) and as_numbers(values)[0] is None


def as_numbers(values: Any) -> tuple[Array | None, bool]:
    """A column as floats with NaN for what is missing, or None if it holds words; whether it holds
    dates."""
    moments = _moments(values)
    if moments is not None:
        return days_of(moments), True
    kind = getattr(values, "dtype", np.dtype(object))
    plain = getattr(kind, "kind", "O")
    if plain == "c":
        raise DataError("audit: X holds complex numbers; give real and imaginary parts as columns")
    if str(kind) in ("category", "string", "str") or plain in "SU":
        return None, False
    if plain in "fiub":
        if hasattr(values, "to_numpy"):
            return values.to_numpy(dtype=np.float64, na_value=np.nan), False
        return np.asarray(values, dtype=np.float64), False
    entries = np.asarray(values, dtype=object)
    gaps = np.array([is_missing(v) for v in entries], dtype=bool)
    if all(isinstance(v, int | float | np.number | np.bool_) for v in entries[~gaps]):
        number = np.full(entries.size, np.nan)
        number[~gaps] = entries[~gaps].astype(np.float64)
        return number, False
    return None, False


def _moments(values: Any) -> npt.NDArray[Any] | None:
    """A column of dates or spans of time as an array of them."""
    kind = getattr(values, "dtype", np.dtype(object))
    dates = "datetime" in str(kind)
    if not dates and getattr(kind, "kind", "O") not in "Mm":
        return None
    if hasattr(values, "dt"):
        if getattr(values.dt, "tz", None) is not None:
            values = values.dt.tz_convert("UTC").dt.tz_localize(None)
        values = values.to_numpy(dtype="datetime64[ns]" if dates else "timedelta64[ns]")
    return np.asarray(values)


def read_columns(
    columns: Sequence[tuple[Any, Any]], keep: Iterable[str] = (), named: bool = True
) -> tuple[list[tuple[Any, Any]], list[str]]:
    """The columns of a frame that are of use, each with its type, and what is to be told.

    Parameters
    ----------
    columns : sequence of (name, column)
    keep : names
        Columns to keep though they look like identifiers, counters or texts.
    named : bool
        Whether the names are the user's.
    """
    notes: list[str] = []
    names, doubled = distinct([str(name) for name, _ in columns])
    if doubled:
        again = [repr(one) for one in names if one.rpartition(" (")[0] in doubled]
        notes.append(f"columns of the same name numbered: {listed(again, 4)}")
    raw = [_raw(values) for _, values in columns]
    written = [_written(one, cells) for (_, one), cells in zip(columns, raw, strict=True)]
    habits = Habits(decimal_of(written))
    if habits.decimal == ",":
        notes.append("numbers with decimal commas")
    table = Table(
        source="audit: X",
        columns=tuple(Column(name, cells, habits) for name, cells in zip(names, raw, strict=True)),
        place=np.arange(len(raw[0])),
        counted="row",
        digest="",
        named=named,
    )
    given = {name: values for name, (_, values) in zip(names, columns, strict=True)}
    choice = Choice(category=tuple(n for n in names if is_category(given[n])), keep=tuple(keep))
    for column in table.columns:
        if column.name not in choice.category and is_mixed(column):
            # One word is no reason to give no answer.
            left = column.name not in choice.keep and hardly_repeats(column.words())
            if left:
                choice = attrs.evolve(choice, drop=(*choice.drop, column.name))
            else:
                choice = attrs.evolve(choice, category=(*choice.category, column.name))
            notes.append(_told_mixed(column, table, left))
    typed = typed_columns(table.without(choice.drop), choice, notes)
    made = []
    for column in table.columns:
        if column.name in typed:
            as_it_was = is_category(given[column.name]) or _stays(column, typed[column.name])
            made.append((column.name, given[column.name] if as_it_was else typed[column.name]))
    return made, notes


def _told_mixed(column: Column, table: Table, left: bool) -> str:
    """What became of a column of numbers with words in it, and the way to have its numbers."""
    wrong = column.cells.wrong.tolist()
    word = Counter(str(column.raw[i]).strip() for i in wrong).most_common(1)[0][0]
    became = "left out, since its words hardly repeat" if left else "read as words"
    return (
        f"{mixed(column, table)}, so it was {became}; correct it, or "
        f"{table.ways.gap.format(text=word)}"
    )


def gaps_of(missing: Any) -> frozenset[str]:
    """Entries that stand for a gap, as texts."""
    given = [] if missing is None else missing
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        given = [given]
    return frozenset(text_of_cell(one) for one in given)


def with_gaps(values: Any, missing: frozenset[str]) -> Any:
    """A column in which nothing is left of the entries that stand for a gap."""
    if not missing or _moments(values) is not None:
        return values
    number = None if is_category(values) else as_numbers(values)[0]
    entries = np.asarray(values, dtype=object)
    if number is None:
        gap = np.array([text_of_cell(one) in missing for one in entries], dtype=bool)
    else:
        gap = np.isin(number, cells_of(sorted(missing), Habits()).values)
    if not gap.any():
        return values
    if hasattr(values, "mask"):
        return values.mask(gap)
    made: Any = entries.copy() if number is None else number.copy()
    made[gap] = None if number is None else np.nan
    return made


def _raw(values: Any) -> Any:
    """What the cells of a file would be: numbers and dates as arrays, anything else as it is, but
    for yes and no, which are words."""
    moments = _moments(values)
    if moments is not None:
        return moments
    entries = np.asarray(values, dtype=object)
    number = None if is_category(values) else as_numbers(values)[0]
    if number is None:
        return entries
    truth = getattr(getattr(values, "dtype", None), "kind", "O") in "bO" and all(
        isinstance(v, bool | np.bool_) for v in entries if not is_missing(v)
    )
    if not truth or np.isnan(number).all():
        return number
    return np.array([None if is_missing(v) else str(v) for v in entries], dtype=object)


def _written(values: Any, cells: npt.NDArray[Any]) -> list[str]:
    """The cells as a file would have them, as far as they tell its decimal mark."""
    if cells.dtype.kind == "f":
        if getattr(getattr(values, "dtype", None), "kind", "O") in "iu":
            return []
        return [repr(value) for value in cells[~np.isnan(cells)].tolist()]
    return [cell for cell in cells.tolist() if isinstance(cell, str)]


def _stays(column: Column, typed: Any) -> bool:
    """Whether a column had its type already."""
    kind = np.asarray(column.raw).dtype.kind
    return kind in "Mm" or (kind == "f" and typed is column.cells.values)
