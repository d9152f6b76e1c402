"""Columns of any kind as numbers, and the same again for new rows.

Numbers are filled in with the median of their column and standardised, words become one column for
each category.  What was done is kept as JSON and told in notes: an answer is only worth as much as
what was looked at.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Self

import attrs
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from homotopy_plugins.cli.answers import CommandError
from homotopy_plugins.cli.choices import expect
from homotopy_plugins.cli.landmarks import Landmarks
from homotopy_plugins.tables.cells import PLAIN, Cells, Style
from homotopy_plugins.tables.columns import Column, Table
from homotopy_plugins.tables.frames import typed_columns
from homotopy_plugins.tables.kinds import CATEGORIES, Choice, checked_numbers, kinds_of, told_gaps
from homotopy_plugins.wording import close_to, listed, number_of

__all__ = ["Category", "Encoding", "Number", "frame_of"]

Array = npt.NDArray[np.float64]


# ---------------------------------------------------------------------- columns


@attrs.frozen
class Number:
    """A column of numbers: ``(value - centre) / spread``, with `fill` for what is missing; `style`
    is how they were written, dates for instance."""

    name: str
    fill: float
    centre: float = 0.0
    spread: float = 1.0
    style: Style = PLAIN

    def width(self) -> int:
        return 1

    def labels(self) -> list[str]:
        return [self.name]

    def apply(self, column: Column, table: Table, notes: Gathered) -> Array:
        cells = column.read_as(self.style)
        self._check_kind(cells, table)
        values = checked_numbers(column.name, column.raw, cells, table)
        notes.gaps += cells.gaps
        gaps = np.isnan(values)
        if gaps.any():
            notes.filled.append(f"{self.name} ({int(gaps.sum())})")
            values = np.where(gaps, self.fill, values)
        return np.asarray((values - self.centre) / self.spread)[:, None]

    def _check_kind(self, cells: Cells, table: Table) -> None:
        there = np.flatnonzero(~np.isnan(cells.values))
        if there.size and not cells.wrong.size and cells.style.kind != self.style.kind:
            said = {"number": "numbers", "date": "dates", "clock": "times of day"}
            raise CommandError(
                f"{table.source}: column {self.name!r} holds {said[cells.style.kind]} "
                f"({table.where(int(there[0]))}), and held {said[self.style.kind]} in training; "
                "write it as it was then"
            )

    def to_json(self) -> dict[str, Any]:
        plain = attrs.asdict(self, filter=lambda field, _: field.name != "style")
        return {"kind": "number", **plain, "style": self.style.to_json()}


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

    def to_json(self) -> dict[str, Any]:
        return {"kind": "category", **attrs.asdict(self)}

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
    gaps: Counter[str] = attrs.field(factory=Counter)

    def told(self) -> list[str]:
        notes = told_gaps(self.gaps)
        if self.filled:
            notes.append(
                "missing values filled in with the median of their column: "
                f"{listed(self.filled, 4)}"
            )
        for name, words in self.unknown:
            count = sum(words.values())
            belong = "belongs" if count == 1 else "belong"
            notes.append(
                f"column {name!r}: {listed(words)} did not occur in training, so "
                f"{number_of(count, 'row')} {belong} to none of its categories"
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
    missing : tuple of str
        What else stood for a gap, as the user said.
    landmarks : Landmarks or None
        What the numbers are mapped by in the end.
    """

    columns: tuple[Number | Category, ...]
    features: int | None = None
    missing: tuple[str, ...] = ()
    landmarks: Landmarks | None = None

    @classmethod
    def of(cls, table: Table, choice: Choice, notes: list[str]) -> Encoding:
        """Look at the columns of `table` (without its target) and decide."""
        if table.matrix is not None:
            notes.append(
                f"{table.source}: {table.matrix.shape[1]} sparse columns, taken as they are"
            )
            return cls((), int(table.matrix.shape[1]))
        kinds = kinds_of(table, choice, notes)
        made: list[Number | Category] = []
        words: list[str] = []
        for column in table.columns:
            kind = kinds.get(column.name)
            if kind == "number":
                made.append(_number(column, table, choice.scale))
            elif kind == "category":
                category = _category(column)
                made.append(category)
                words.append(_told_words(category, column))
        if not made:
            raise CommandError(
                f"{table.source}: no column is left to learn from beside the target"
                + (f" ({'; '.join(notes)})" if notes else "")
            )
        missing = frozenset().union(*(column.habits.missing for column in table.columns))
        if words:
            notes.append(f"words became one column for each category: {listed(words)}")
        if choice.scale and len(words) < len(made):
            count = len(made) - len(words)
            notes.append(
                f"{count} column{'s' if count > 1 else ''} of numbers standardised "
                "(--no-scale leaves them as they are)"
            )
        return cls(tuple(made), missing=tuple(sorted(missing)))

    @property
    def names(self) -> list[str]:
        """The columns of the matrix by name."""
        if self.landmarks is not None:
            return [f"landmark {k}" for k in range(self.landmarks.points.shape[0])]
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
            several = len(missing) > 1
            raise CommandError(
                f"{table.source} has no column{'s' if several else ''} "
                f"{listed(map(repr, missing))}, which {'are' if several else 'is'} needed; "
                f"{_found_instead(missing, table.names)}"
            )
        gathered = Gathered()
        parts = [one.apply(self._column(table, one.name), table, gathered) for one in self.columns]
        notes += gathered.told()
        made = np.hstack(parts)
        return made if self.landmarks is None else self.landmarks.apply(made)

    def with_landmarks(self, table: Table, count: int, gamma: float | None) -> Encoding:
        """The same, mapped to Nystroem features."""
        return attrs.evolve(self, landmarks=Landmarks.of(self.apply(table, []), count, gamma, 0))

    def _column(self, table: Table, name: str) -> Column:
        """A column with the gaps of training."""
        column = table.column(name)
        if column.habits.missing.issuperset(self.missing):
            return column
        habits = attrs.evolve(column.habits, missing=column.habits.missing.union(self.missing))
        return attrs.evolve(column, habits=habits)

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
        return {
            "columns": [one.to_json() for one in self.columns],
            "features": self.features,
            "missing": list(self.missing),
            "landmarks": None if self.landmarks is None else self.landmarks.to_json(),
        }

    @classmethod
    def from_json(cls, data: Any) -> Self:
        """What `to_json` made; ValueError if it is anything else."""
        expect(isinstance(data, dict) and isinstance(data.get("columns"), list), "encoding")
        columns: list[Number | Category] = []
        for entry in data["columns"]:
            expect(isinstance(entry, dict) and isinstance(entry.get("name"), str), "column")
            if entry.get("kind") == "number":
                numbers = [entry.get(key) for key in ("fill", "centre", "spread")]
                expect(all(_finite(one) for one in numbers) and numbers[2] != 0, "column")
                # Machines of version 0.1 knew plain numbers only.
                style = Style.from_json(entry["style"]) if "style" in entry else PLAIN
                fill, centre, spread = map(float, numbers)
                columns.append(Number(entry["name"], fill, centre, spread, style))
            else:
                known = entry.get("known")
                expect(isinstance(known, list), "column")
                expect(all(one is None or isinstance(one, str) for one in known), "column")
                columns.append(Category(entry["name"], tuple(known), bool(entry.get("other"))))
        features = data.get("features")
        whole = isinstance(features, int) and not isinstance(features, bool) and features > 0
        expect(whole if features is not None else bool(columns), "encoding")
        missing = data.get("missing", [])
        expect(
            isinstance(missing, list) and all(isinstance(one, str) for one in missing), "encoding"
        )
        given = data.get("landmarks")
        landmarks = None if given is None else Landmarks.from_json(given)
        return cls(tuple(columns), features, tuple(missing), landmarks)


def _finite(value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and bool(np.isfinite(value))


def _number(column: Column, table: Table, scale: bool) -> Number:
    values = checked_numbers(column.name, column.raw, column.cells, table)
    there, style = values[~np.isnan(values)], column.cells.style
    fill = float(np.median(there))
    if not scale:
        return Number(column.name, fill, style=style)
    whole = np.where(np.isnan(values), fill, values)
    centre, spread = float(whole.mean()), float(whole.std())
    return Number(column.name, fill, centre, spread if spread > 0.0 else 1.0, style)


def _category(column: Column) -> Category:
    count = Counter(column.words())
    ordered = sorted(count, key=lambda word: (-count[word], word is None, word or ""))
    kept = ordered if len(ordered) <= CATEGORIES else ordered[: CATEGORIES - 1]
    known = tuple(sorted(kept, key=lambda word: (word is None, word or "")))
    return Category(column.name, known, len(ordered) > len(kept))


def _told_words(made: Category, column: Column) -> str:
    """The name of a column of words, and what became of its rare categories."""
    if not made.other:
        return made.name
    count = len(set(column.words()))
    return f"{made.name} ({len(made.known)} of {count:,}, the rarest share one)"


def _found_instead(missing: list[str], there: list[str]) -> str:
    """What a missing column may have been meant to be, or all there is."""
    return close_to(missing[0], there) if len(missing) == 1 else close_to("", there)


def frame_of(table: Table, choice: Choice, notes: list[str]) -> Any:
    """The columns as they are, indexed by where rows stand in the file."""
    import pandas as pd

    if table.matrix is not None:
        return table.matrix
    made = typed_columns(table, choice, notes)
    if not made:
        raise CommandError(f"{table.source}: no column is left to learn from beside the target")
    return pd.DataFrame(made, index=pd.Index(table.place, name=table.counted))
