"""Columns of any kind as numbers, and the same again for new rows.

Numbers are filled in with the median of their column and standardised, words become one column for
each category.  What was done is kept as JSON and told in notes: an answer is only worth as much as
what was looked at.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Self

import attrs
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from homotopy_plugins.cli.answers import CommandError, close_to, listed
from homotopy_plugins.cli.tables import Column, Table

__all__ = ["Category", "Choice", "Encoding", "Number", "frame_of", "kinds_of"]

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
_COMMA = re.compile(r"\s*[-+]?\d+,\d+\s*")


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
    """

    target: str | None = None
    drop: tuple[str, ...] = ()
    category: tuple[str, ...] = ()
    scale: bool = True
    task: str = "auto"
    positive: str | None = None


# ---------------------------------------------------------------------- columns


@attrs.frozen
class Number:
    """A column of numbers: ``(value - centre) / spread``, with `fill` for what is missing."""

    name: str
    fill: float
    centre: float = 0.0
    spread: float = 1.0

    def width(self) -> int:
        return 1

    def labels(self) -> list[str]:
        return [self.name]

    def apply(self, column: Column, table: Table, notes: Gathered) -> Array:
        values = _checked_numbers(column, table)
        gaps = np.isnan(values)
        if gaps.any():
            notes.filled.append(f"{self.name} ({int(gaps.sum())})")
            values = np.where(gaps, self.fill, values)
        return np.asarray((values - self.centre) / self.spread)[:, None]


@attrs.frozen
class Category:
    """A column of words: one column of 0 and 1 for each of `known`, and one for all others where
    `other`; what is missing is a category of its own, None."""

    name: str
    known: tuple[str | None, ...]
    other: bool = False

    def width(self) -> int:
        return len(self.known) + self.other

    def labels(self) -> list[str]:
        named = [f"{self.name}={'missing' if one is None else one}" for one in self.known]
        return named + [f"{self.name}=other"] * self.other

    def apply(self, column: Column, table: Table, notes: Gathered) -> Array:
        place = {one: k for k, one in enumerate(self.known)}
        out = np.zeros((table.size, self.width()))
        strange: Counter[str] = Counter()
        for i, word in enumerate(column.words()):
            k = place.get(word)
            if k is None and self.other:
                k = len(self.known)
            if k is not None:
                out[i, k] = 1.0
            else:
                strange["a missing value" if word is None else repr(word)] += 1
        if strange:
            notes.unknown.append((self.name, strange))
        return out


@attrs.define
class Gathered:
    """What there is to tell about a table, column by column."""

    filled: list[str] = attrs.field(factory=list)
    unknown: list[tuple[str, Counter[str]]] = attrs.field(factory=list)

    def told(self) -> list[str]:
        notes = []
        if self.filled:
            notes.append(
                f"missing values were filled in with the median of their column: "
                f"{listed(self.filled)}"
            )
        for name, words in self.unknown:
            notes.append(
                f"column {name!r}: {listed(words)} did not occur in training and counts as none of "
                f"its categories ({sum(words.values())} rows)"
            )
        return notes


@attrs.frozen(eq=False)
class Encoding:
    """How a table becomes a matrix; the same for training and for new rows.

    Attributes
    ----------
    columns : tuple of Number or Category
        In the order of the matrix.
    features : int or None
        The number of columns of a file that holds a sparse matrix and has no names.
    """

    columns: tuple[Number | Category, ...]
    features: int | None = None

    @classmethod
    def of(cls, table: Table, choice: Choice, notes: list[str]) -> Encoding:
        """Look at the columns of `table` (without its target) and decide."""
        if table.matrix is not None:
            notes.append(
                f"{table.source}: {table.matrix.shape[1]} sparse columns, taken as they are"
            )
            return cls((), int(table.matrix.shape[1]))
        kinds = kinds_of(table, choice.category, notes)
        made: list[Number | Category] = []
        for column in table.columns:
            kind = kinds.get(column.name)
            if kind == "number":
                made.append(_number(column, table, choice.scale))
            elif kind == "category":
                made.append(_category(column))
        if not made:
            raise CommandError(
                f"{table.source}: no column is left to learn from beside the target"
                + (f" ({'; '.join(notes)})" if notes else "")
            )
        words = [one.name for one in made if isinstance(one, Category)]
        if words:
            notes.append(f"words became one column for each category: {listed(words)}")
        if choice.scale and len(words) < len(made):
            count = len(made) - len(words)
            notes.append(
                f"{count} column{'s' if count > 1 else ''} of numbers "
                f"{'were' if count > 1 else 'was'} standardised (--no-scale leaves them as they "
                "are)"
            )
        return cls(tuple(made))

    @property
    def names(self) -> list[str]:
        """The columns of the matrix by name."""
        if self.features is not None:
            return [f"x{k}" for k in range(self.features)]
        return [label for column in self.columns for label in column.labels()]

    def apply(self, table: Table, notes: list[str]) -> Any:
        """The matrix of a table that has all the columns, in any order."""
        if self.features is not None:
            return self._sparse(table)
        if table.matrix is not None:
            raise CommandError(
                f"{table.source} has no names of columns; give a table with the columns "
                f"{listed(column.name for column in self.columns)}"
            )
        missing = [one.name for one in self.columns if one.name not in table.names]
        if missing:
            raise CommandError(
                f"{table.source} has no column {missing[0]!r}, which is needed; "
                f"{close_to(missing[0], table.names)}"
            )
        gathered = Gathered()
        parts = [one.apply(table.column(one.name), table, gathered) for one in self.columns]
        notes += gathered.told()
        return np.hstack(parts)

    def _sparse(self, table: Table) -> Any:
        if table.matrix is None:
            raise CommandError(
                f"{table.source} is not an svmlight file, which is what was learnt from"
            )
        rows, width = sp.csr_matrix(table.matrix), self.features
        assert width is not None
        if rows.shape[1] > width:
            raise CommandError(
                f"{table.source} has {rows.shape[1]} columns, {width} were learnt from"
            )
        return sp.csr_matrix((rows.data, rows.indices, rows.indptr), shape=(rows.shape[0], width))

    # ------------------------------------------------------------------ as JSON

    def to_json(self) -> dict[str, Any]:
        columns = [
            {"kind": type(one).__name__.lower(), **attrs.asdict(one)} for one in self.columns
        ]
        return {"columns": columns, "features": self.features}

    @classmethod
    def from_json(cls, data: Any) -> Self:
        """What `to_json` made; ValueError if it is anything else."""
        _expect(isinstance(data, dict) and isinstance(data.get("columns"), list), "encoding")
        columns: list[Number | Category] = []
        for entry in data["columns"]:
            _expect(isinstance(entry, dict) and isinstance(entry.get("name"), str), "column")
            if entry.get("kind") == "number":
                numbers = [entry.get(key) for key in ("fill", "centre", "spread")]
                _expect(all(_finite(one) for one in numbers) and numbers[2] != 0, "column")
                columns.append(Number(entry["name"], *(float(one) for one in numbers)))
            else:
                known = entry.get("known")
                _expect(isinstance(known, list), "column")
                _expect(all(one is None or isinstance(one, str) for one in known), "column")
                columns.append(Category(entry["name"], tuple(known), bool(entry.get("other"))))
        features = data.get("features")
        whole = isinstance(features, int) and not isinstance(features, bool) and features > 0
        _expect(whole if features is not None else bool(columns), "encoding")
        return cls(tuple(columns), features)


def _expect(true: bool, what: str) -> None:
    if not true:
        raise ValueError(f"its {what} is not one of ours")


def _finite(value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and bool(np.isfinite(value))


# ---------------------------------------------------------------------- looking at columns


def kinds_of(table: Table, category: Sequence[str], notes: list[str]) -> dict[str, str]:
    """Which columns hold numbers and which categories; those of no use are left out, and named."""
    for name in category:
        table.column(name)
    kinds: dict[str, str] = {}
    single, texts, counting = [], [], []
    for column in table.columns:
        if column.name not in category and _holds_numbers(column, table):
            values = _checked_numbers(column, table)
            there = values[~np.isnan(values)]
            if there.size == 0 or (np.ptp(there) == 0.0 and there.size == values.size):
                single.append(column.name)
            elif _counts_rows(column.name, values):
                counting.append(column.name)
            else:
                kinds[column.name] = "number"
            continue
        words = column.words()
        different = len(set(words))
        if different == 1:
            single.append(column.name)
        elif different > CATEGORIES and different > UNIQUE * len(words):
            texts.append(column.name)
        else:
            kinds[column.name] = "category"
    for names, why in (
        (single, "with one value only"),
        (texts, "of words that hardly repeat (names, texts, dates)"),
        (counting, "that only count the rows"),
    ):
        if names:
            notes.append(f"columns {why} were left out: {listed(names)}")
    return kinds


def _holds_numbers(column: Column, table: Table) -> bool:
    """Whether a column is one of numbers; one that nearly is, is refused with the place."""
    values, wrong = column.numbers()
    if not wrong.size:
        return True
    numbers = int(np.count_nonzero(~np.isnan(values)))
    if numbers < MOSTLY * (numbers + wrong.size):
        _refuse_commas(column, table, wrong)
        return False
    i = int(wrong[0])
    more = f" (and {wrong.size - 1} more)" if wrong.size > 1 else ""
    raise CommandError(
        f"{table.source}: column {column.name!r} holds {str(column.raw[i])!r} in {table.where(i)}"
        f"{more} among numbers; correct it, leave it empty if it is missing, or give --category "
        f"{column.name!r} if the numbers name categories"
    )


def _refuse_commas(column: Column, table: Table, wrong: Index) -> None:
    texts = [column.raw[i] for i in wrong.tolist()]
    if all(isinstance(text, str) and _COMMA.fullmatch(text) for text in texts):
        raise CommandError(
            f"{table.source}: column {column.name!r} holds numbers with a comma ({texts[0]} in "
            f"{table.where(int(wrong[0]))}); give --decimal ,"
        )


def _checked_numbers(column: Column, table: Table) -> Array:
    values, wrong = column.numbers()
    if wrong.size:
        i = int(wrong[0])
        raise CommandError(
            f"{table.source}: column {column.name!r} should hold numbers, but {table.where(i)} has "
            f"{str(column.raw[i])!r}; correct it, or leave it empty if it is missing"
        )
    large = np.flatnonzero(np.abs(values) > LARGEST)
    if large.size:
        i = int(large[0])
        raise CommandError(
            f"{table.source}: column {column.name!r} is {values[i]:g} in {table.where(i)}, which "
            "cannot be computed with; correct it, leave it empty, or --drop the column"
        )
    return values


def _counts_rows(name: str, values: Array) -> bool:
    """An index that was written along has no name and counts."""
    unnamed = re.fullmatch(r"column \d+|Unnamed: \d+", name) is not None
    return unnamed and not np.isnan(values).any() and bool(np.all(np.diff(values) == 1.0))


def _number(column: Column, table: Table, scale: bool) -> Number:
    values = _checked_numbers(column, table)
    there = values[~np.isnan(values)]
    fill = float(np.median(there))
    if not scale:
        return Number(column.name, fill)
    whole = np.where(np.isnan(values), fill, values)
    centre, spread = float(whole.mean()), float(whole.std())
    return Number(column.name, fill, centre, spread if spread > 0.0 else 1.0)


def _category(column: Column) -> Category:
    count = Counter(column.words())
    ordered = sorted(count, key=lambda word: (-count[word], word is None, word or ""))
    kept = ordered if len(ordered) <= CATEGORIES else ordered[: CATEGORIES - 1]
    known = tuple(sorted(kept, key=lambda word: (word is None, word or "")))
    return Category(column.name, known, len(ordered) > len(kept))


def frame_of(table: Table, choice: Choice, notes: list[str]) -> Any:
    """The columns as they are, indexed by where rows stand in the file."""
    import pandas as pd

    if table.matrix is not None:
        return table.matrix
    kinds = kinds_of(table, choice.category, notes)
    made = {}
    for column in table.columns:
        if kinds.get(column.name) == "number":
            made[column.name] = column.numbers()[0]
        elif kinds.get(column.name) == "category":
            made[column.name] = np.array(column.words(), dtype=object)
    if not made:
        raise CommandError(f"{table.source}: no column is left to learn from beside the target")
    return pd.DataFrame(made, index=pd.Index(table.place, name=table.counted))


def choice_to_json(choice: Choice) -> dict[str, Any]:
    return attrs.asdict(choice)


def choice_from_json(data: Any) -> Choice:
    """What `choice_to_json` made; ValueError if it is anything else."""
    _expect(isinstance(data, Mapping), "choice of columns")
    fields = {field.name for field in attrs.fields(Choice)}
    _expect(set(data) == fields, "choice of columns")
    texts = [data[key] for key in ("target", "positive")]
    lists = [data[key] for key in ("drop", "category")]
    _expect(all(one is None or isinstance(one, str) for one in texts), "choice of columns")
    _expect(all(isinstance(one, list | tuple) for one in lists), "choice of columns")
    _expect(all(isinstance(one, str) for names in lists for one in names), "choice of columns")
    _expect(isinstance(data["scale"], bool), "choice of columns")
    _expect(data["task"] in ("auto", "classification", "regression"), "choice of columns")
    kept = {key: tuple(data[key]) for key in ("drop", "category")}
    return Choice(**{**data, **kept})
