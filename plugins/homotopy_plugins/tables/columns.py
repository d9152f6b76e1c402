"""Tables: columns by name, and where each row stands in its file or frame.

A suspected row is of no use without its line, so a table keeps the place of every row.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from homotopy import DataError
from homotopy_plugins.tables.cells import Cells, Habits, Style, cells_of, is_gap, text_of_cell
from homotopy_plugins.wording import close_to

__all__ = ["Column", "Table", "Ways", "distinct"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]


# What separates names, if it stands in most of them.
MARKS = (";", "|", ",", ":")


@attrs.frozen
class Ways:
    """How a user says what cells do not, for messages: in Python, unless a command has options.

    Attributes
    ----------
    keep : str
        Keeps a column that would be left out.
    day_first : str
        Reads the day before the month.
    gap : str
        Takes ``{text}`` for a gap.
    category : str
        Takes the column ``{name}`` for one of categories.
    drop : str
        Leaves a column out.
    header : str
        Reads the first row as values; empty where there is no such row.
    separator : str
        Takes ``{mark}`` for what separates values; empty where nothing does.
    quotes : bool
        Whether names stand in quotes.
    """

    keep: str = "keep=[NAME] keeps one"
    day_first: str = "pandas.to_datetime(..., dayfirst=True) if the day comes first"
    gap: str = "give missing=[{text!r}] if it stands for a gap"
    category: str = "give {name!r} the dtype 'category' if it names categories"
    drop: str = "leave the column out"
    header: str = ""
    separator: str = ""
    quotes: bool = True


@attrs.frozen(eq=False, slots=False)
class Column:
    """One column: texts from a text file, else what the file or the frame holds; `position` is
    where it stands in a text or on a sheet, counted from 0."""

    name: str
    raw: Sequence[Any] | npt.NDArray[Any]
    habits: Habits = attrs.field(factory=Habits)
    position: int | None = None

    @functools.cached_property
    def cells(self) -> Cells:
        """The entries as numbers, as far as they are."""
        return cells_of(self.raw, self.habits)

    def read_as(self, style: Style) -> Cells:
        """The entries as numbers, in doubt in the style of another file."""
        mine = self.cells.style
        if (mine.kind, mine.decimal, mine.form) == (style.kind, style.decimal, style.form):
            return self.cells
        return cells_of(self.raw, self.habits, style)

    def numbers(self) -> tuple[Array, Index]:
        """The entries as numbers, NaN where they are missing, and which are not numbers at all."""
        return self.cells.values, self.cells.wrong

    def words(self) -> list[str | None]:
        """The entries as texts, None where they are missing."""
        missing = self.habits.missing
        return [None if is_gap(entry, missing) else text_of_cell(entry) for entry in self.raw]

    def take(self, rows: Index) -> Column:
        """Some of the rows."""
        if isinstance(self.raw, np.ndarray):
            return attrs.evolve(self, raw=self.raw[rows])
        return attrs.evolve(self, raw=[self.raw[i] for i in rows.tolist()])


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
        The line of each row in a text file, its number in a workbook (the header is row 1), else
        its number counted from 0.
    counted : {"line", "row"}
        What `place` counts.
    digest : str
        A hash of the bytes of the file.
    target : str or None
        The column that is the target if none is named.
    notes : tuple of str
        What was found out about the file.
    doubled : frozenset of str
        Names that several columns had; all but the first were numbered.
    named : bool
        Whether the columns have names of their own, which may tell what they hold.
    ways : Ways
    """

    source: str
    columns: tuple[Column, ...]
    place: Index
    counted: str
    digest: str
    matrix: Any = None
    labels: Column | None = None
    target: str | None = None
    notes: tuple[str, ...] = ()
    doubled: frozenset[str] = frozenset()
    named: bool = True
    ways: Ways = Ways()

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
        known = close_to(name, self.names)
        raise DataError(f"{self.source} has no column {name!r}; {known}{self._misread()}")

    def _misread(self) -> str:
        """What helps if the names of the columns look like values, or like several names."""
        half = 0.5 * len(self.columns)
        if self.ways.header and np.isfinite(cells_of(self.names, Habits()).values).sum() >= half:
            return f" ({self.ways.header})"
        for mark in MARKS if self.ways.separator else ():
            if sum(mark in name for name in self.names) >= half:
                return f" ({self.ways.separator.format(mark=mark)})"
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


def distinct(names: Sequence[str]) -> tuple[list[str], frozenset[str]]:
    """Names, each once: those that come again are numbered.  And the names that several have."""
    made, taken = list(names), set(names)
    doubled = frozenset(one for one, count in Counter(names).items() if count > 1)
    seen: Counter[str] = Counter()
    for k, one in enumerate(names):
        seen[one] += 1
        number = seen[one]
        while number > 1 and f"{one} ({number})" in taken:
            number += 1
        if number > 1:
            made[k] = f"{one} ({number})"
            taken.add(made[k])
    return made, doubled
