"""What the columns of a table are: numbers, categories, or of no use."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from homotopy import DataError
from homotopy_plugins.tables.cells import Cells
from homotopy_plugins.tables.columns import Column, Table, Ways
from homotopy_plugins.wording import listed

__all__ = [
    "CATEGORIES",
    "LARGEST",
    "MOSTLY",
    "UNIQUE",
    "Choice",
    "checked_numbers",
    "hardly_repeats",
    "is_mixed",
    "kinds_of",
    "mixed",
    "told_gaps",
]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]

# Of a column of words no more than this many categories are told apart; the rarest share a column.
CATEGORIES = 20
# A column of words in which more than this fraction of the rows is unique is a name or a text.
UNIQUE = 0.5
# With at least this fraction of numbers a column is one of numbers, and texts in it are wrong.
MOSTLY = 0.5
# A value this large cannot be squared.
LARGEST = 1e100
# A column that counts at least this many rows is a counter.
COUNTED = 10
# Names of columns that identify what a row is about: id, customer_id, CustomerID, or no name.
IDENTIFIES = re.compile(
    r"(?i:id|ids|uuid|guid|pk|rowid|row[ _.-]?id)|column \d+|Unnamed: \d+"
    r"|.*[ _.-](?i:id|uuid|guid|pk)|.*[a-z](?:Id|ID)"
)
# These do if no value occurs twice: order no, Kundennr, index.
NUMBERS = re.compile(
    r"(?i:(?:.*[ _.-])?(?:no|nr|idx|index|key|number|nummer|row|rownum|#)|.*(?:nr|nummer))"
    r"|.*[a-z](?:No|Number|Key)"
)
# A column of these names may go up by one and mean something.
CLOCKS = re.compile(r"(?i:(.*[ _.-])?(year|month|week|day|date|hour|minute|time|age|quarter)|t)")


@attrs.frozen
class Choice:
    """What the user says about columns.

    Attributes
    ----------
    target : str or None
    drop : tuple of str
        Columns to leave out.
    category : tuple of str
        Columns of numbers that name categories.
    scale : bool
        Whether numbers are standardised.
    task : {"auto", "classification", "regression"}
    positive : str or None
        The class that is told apart from all others.
    keep : tuple of str
        Columns to keep though they look like identifiers, counters or texts.
    rows : int or None
        How many rows to draw at random, with `seed`; None takes all.
    """

    target: str | None = None
    drop: tuple[str, ...] = ()
    category: tuple[str, ...] = ()
    scale: bool = True
    task: str = "auto"
    positive: str | None = None
    keep: tuple[str, ...] = ()
    rows: int | None = None
    seed: int = 0


@attrs.define
class _Seen:
    """What there is to tell about columns."""

    ways: Ways
    kinds: dict[str, str] = attrs.field(factory=dict)
    empty: list[str] = attrs.field(factory=list)
    single: list[str] = attrs.field(factory=list)
    texts: list[str] = attrs.field(factory=list)
    counting: list[str] = attrs.field(factory=list)
    naming: list[str] = attrs.field(factory=list)
    amounts: list[str] = attrs.field(factory=list)
    dates: list[str] = attrs.field(factory=list)
    clocks: list[str] = attrs.field(factory=list)
    doubtful: list[str] = attrs.field(factory=list)

    def told(self) -> list[str]:
        notes = []
        read = [
            f"{self._names(names)} ({what})"
            for names, what in (
                (self.amounts, "amounts with signs or separators"),
                (self.dates, "dates, in days"),
                (self.clocks, "times of day, in hours"),
            )
            if names
        ]
        if read:
            notes.append(f"read as numbers: {', '.join(read)}")
        if self.doubtful:
            notes.append(
                f"{self._names(self.doubtful)}: read as month/day/year, which the dates do not "
                f"tell ({self.ways.day_first})"
            )
        left = [
            f"{self._names(names)} ({why})"
            for names, why in (
                (self.empty, "empty"),
                (self.single, "one value only"),
                (self.texts, "words that hardly repeat"),
                (self.counting, "only counts the rows"),
                (self.naming, "identifies rows"),
            )
            if names
        ]
        if left:
            back = self.texts or self.counting or self.naming
            keep = f"; {self.ways.keep}" if back else ""
            notes.append(f"left out: {', '.join(left)}{keep}")
        return notes

    def _names(self, names: list[str]) -> str:
        return listed(map(repr, names) if self.ways.quotes else names, 4)


def kinds_of(table: Table, choice: Choice, notes: list[str]) -> dict[str, str]:
    """Which columns hold numbers and which categories; those of no use are left out, and named."""
    for name in (*choice.category, *choice.keep):
        table.column(name)
    seen = _Seen(table.ways)
    for column in table.columns:
        if column.name not in choice.category and _holds_numbers(column, table):
            _look_at_numbers(column, table, choice, seen)
        else:
            _look_at_words(column, choice, seen)
    if not seen.kinds and seen.counting:
        # A single column that counts is all there is to learn from.
        seen.kinds, seen.counting = dict.fromkeys(seen.counting, "number"), []
    notes += seen.told()
    return seen.kinds


def _look_at_numbers(column: Column, table: Table, choice: Choice, seen: _Seen) -> None:
    name, style = column.name, column.cells.style
    values = checked_numbers(name, column.raw, column.cells, table)
    there = values[~np.isnan(values)]
    if there.size == 0:
        seen.empty.append(name)
        return
    if np.ptp(there) == 0.0 and there.size == values.size:
        seen.single.append(name)
        return
    if name not in choice.keep and style.kind == "number":
        if _counts_rows(name, values, table.named):
            seen.counting.append(name)
            return
        if table.named and _identifies(name, there):
            if np.unique(there).size > CATEGORIES:
                seen.naming.append(name)
            else:
                seen.kinds[name] = "category"
            return
    seen.kinds[name] = "number"
    if style.kind == "date":
        seen.dates.append(name)
        if not style.sure:
            seen.doubtful.append(name)
    elif style.kind == "clock":
        seen.clocks.append(name)
    elif style.marks:
        seen.amounts.append(name)


def _look_at_words(column: Column, choice: Choice, seen: _Seen) -> None:
    words = column.words()
    different = len(set(words))
    if different == 1:
        (seen.empty if words[0] is None else seen.single).append(column.name)
    elif hardly_repeats(words) and column.name not in (*choice.keep, *choice.category):
        seen.texts.append(column.name)
    else:
        seen.kinds[column.name] = "category"


def hardly_repeats(words: Sequence[str | None]) -> bool:
    """Whether words are names or free text instead of categories."""
    different = len(set(words))
    return different > CATEGORIES and different > UNIQUE * len(words)


def is_mixed(column: Column) -> bool:
    """Whether texts stand among at least as many numbers."""
    cells = column.cells
    numbers = int(np.count_nonzero(~np.isnan(cells.values)))
    return cells.wrong.size > 0 and numbers >= MOSTLY * (numbers + cells.wrong.size)


def mixed(column: Column, table: Table) -> str:
    """Which text stands where among numbers."""
    wrong = column.cells.wrong
    i = int(wrong[0])
    more = f" (and {wrong.size - 1} more)" if wrong.size > 1 else ""
    held = {"number": "numbers", "date": "dates", "clock": "times of day"}
    return (
        f"column {column.name!r} holds {str(column.raw[i])!r} in {table.where(i)}{more} among "
        f"{held[column.cells.style.kind]}"
    )


def _holds_numbers(column: Column, table: Table) -> bool:
    """Whether a column is one of numbers; one that nearly is, is refused with the place."""
    if not is_mixed(column):
        return not column.cells.wrong.size
    texts = Counter(str(column.raw[i]).strip() for i in column.cells.wrong.tolist())
    often = texts.most_common(1)[0][0]
    ways = table.ways
    raise DataError(
        f"{table.source}: {mixed(column, table)}; correct it, {ways.gap.format(text=often)}, or "
        f"{ways.category.format(name=column.name)}"
    )


def checked_numbers(name: str, raw: Any, cells: Cells, table: Table) -> Array:
    """The values of a column, refused where one is no number that can be computed with."""
    if cells.wrong.size:
        i = int(cells.wrong[0])
        raise DataError(
            f"{table.source}: column {name!r} should hold numbers, but {table.where(i)} has "
            f"{str(raw[i])!r}; correct it, or {table.ways.gap.format(text=str(raw[i]).strip())}"
        )
    large = np.flatnonzero(np.abs(cells.values) > LARGEST)
    if large.size:
        i = int(large[0])
        raise DataError(
            f"{table.source}: column {name!r} is {cells.values[i]:g} in {table.where(i)}, too "
            f"large to compute with; correct it, leave it empty, or {table.ways.drop}"
        )
    return cells.values


def _counts_rows(name: str, values: Array, named: bool) -> bool:
    """Whether a column goes up by one from row to row; one without a name among columns that are
    `named` is suspected sooner."""
    unnamed = named and re.fullmatch(r"column \d+|Unnamed: \d+", name) is not None
    if values.size < (2 if unnamed else COUNTED) or CLOCKS.fullmatch(name) is not None:
        return False
    return not np.isnan(values).any() and bool(np.all(np.diff(values) == 1.0))


def _identifies(name: str, there: Array) -> bool:
    """Whether whole numbers name what a row is about."""
    if not np.all(there == np.round(there)):
        return False
    if IDENTIFIES.fullmatch(name) is not None:
        return True
    return NUMBERS.fullmatch(name) is not None and np.unique(there).size == there.size


def told_gaps(gaps: Counter[str]) -> list[str]:
    """Which words were taken for gaps among numbers."""
    if not gaps:
        return []
    words = listed(f"{text!r} ({count})" for text, count in gaps.most_common())
    return [f"read as missing among numbers: {words}"]
