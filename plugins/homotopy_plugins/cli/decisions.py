"""What a person decided about rows, put into the table: ``homotopy audit --apply``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

import attrs

from homotopy_plugins.cli.answers import CommandError
from homotopy_plugins.cli.corrections import rewritten
from homotopy_plugins.cli.files import Reading, content_of, read_table, table_of
from homotopy_plugins.cli.sheet_cells import Edit
from homotopy_plugins.cli.targets import encoded_target
from homotopy_plugins.tables.cells import cells_of, text_of_cell
from homotopy_plugins.tables.columns import Column, Table
from homotopy_plugins.tables.kinds import Choice
from homotopy_plugins.wording import close_to, listed, quoted

__all__ = ["Allowed", "Corrected", "corrected"]

DECISIONS = ("wrong", "right", "unsure")
COLUMNS = ("decision", "given", "corrected")
# Numbers in a file of decisions are rounded for people.
ROUNDED = 1e-3


@attrs.frozen
class Allowed:
    """Whether a cell may be emptied, and whether a label may be one that does not occur yet."""

    empty: bool = False
    new: bool = False


@attrs.frozen
class Decision:
    """A row that is wrong: where it stands, the label that was decided about, the right one, and
    where that is said."""

    place: int
    given: str
    corrected: str
    said: str


@attrs.frozen(eq=False)
class Corrected:
    """What to write, and how many labels were changed and emptied, and rows kept; `same` are those
    called wrong whose label is the corrected one already, by what `counted` says."""

    content: bytes
    changed: int
    emptied: int
    kept: int
    same: tuple[int, ...] = ()
    counted: str = "line"


@attrs.frozen(eq=False)
class Known:
    """A column of a table: the row at each place, and the first row with each word and number."""

    table: Table
    column: Column
    at: dict[int, int]
    words: dict[str, int]
    numbers: dict[float, int]

    @classmethod
    def of(cls, table: Table, column: Column) -> Self:
        words: dict[str, int] = {}
        for i, word in enumerate(column.words()):
            if word is not None:
                words.setdefault(word, i)
        numbers: dict[float, int] = {}
        for i, number in enumerate(column.cells.values.tolist()):
            numbers.setdefault(number, i)
        at = {place: i for i, place in enumerate(table.place.tolist())}
        return cls(table, column, at, words, numbers)

    @property
    def told(self) -> str:
        return f"{self.column.name!r} of {self.table.source}"

    def like(self, i: int) -> Edit:
        return Edit(text_of_cell(self.column.raw[i]), int(self.table.place[i]))


def corrected(
    file: str, reading: Reading, choice: Choice, decisions: str, out: str, allowed: Allowed
) -> Corrected:
    """`file` with the labels of `decisions`, to be written to `out`; all else stays as it is."""
    content = content_of(file)
    table = table_of(content, file, reading)
    target = encoded_target(table, choice, [])
    column = table.column(target.name)
    wanted, kept = _decisions(decisions, table.counted)
    known = Known.of(table, column)
    _check_rows(wanted, known, decisions)
    if not allowed.empty:
        _refuse_empty(wanted)
    amounts = target.task == "regression"
    edits = {
        place: _amount(one, known) if amounts else _label(one, known, allowed.new)
        for place, one in wanted.items()
    }
    cells = {place: text_of_cell(column.raw[known.at[place]]) for place in edits}
    same = tuple(place for place, edit in edits.items() if edit.text == cells[place])
    edits = {place: edit for place, edit in edits.items() if place not in same}
    emptied = sum(not edit.text for edit in edits.values())
    made = rewritten(content, file, out, reading, table, column, edits)
    return Corrected(made, len(edits) - emptied, emptied, kept + len(same), same, table.counted)


def _decisions(file: str, counted: str) -> tuple[dict[int, Decision], int]:
    """The rows to change by place, and how many others were decided about."""
    table = read_table(file)
    names = (counted, *COLUMNS)
    if table.counted != "line" or any(name not in table.names for name in names):
        raise CommandError(
            f"{file}: decisions about this file need the columns {', '.join(names)}; it has "
            f"{listed(table.names)}"
        )
    columns = [table.column(name).words() for name in names]
    wanted: dict[int, Decision] = {}
    kept = 0
    for i, (place, decision, given, right) in enumerate(zip(*columns, strict=True)):
        where = f"{file}: {table.where(i)}"
        decision = None if decision is None else decision.strip().casefold()
        if decision not in DECISIONS:
            raise CommandError(
                f"{where} has {quoted(decision or '')} as decision; it must be {_either(DECISIONS)}"
            )
        if decision != "wrong":
            kept += 1
            continue
        if place is None or not place.isdigit():
            raise CommandError(
                f"{where} has {quoted(place or '')} as {counted}; it must be a number"
            )
        if int(place) in wanted:
            raise CommandError(
                f"{where} decides about {counted} {place} again; keep one of the decisions"
            )
        wanted[int(place)] = Decision(int(place), given or "", right or "", where)
    return wanted, kept


def _either(words: tuple[str, ...]) -> str:
    named = [repr(word) for word in words]
    return f"{', '.join(named[:-1])} or {named[-1]}"


# ---------------------------------------------------------------------- do they fit?


def _check_rows(wanted: Mapping[int, Decision], known: Known, decisions: str) -> None:
    """Refuse decisions about rows that are not there, or that have another label now."""
    table, column = known.table, known.column
    strange = sorted(set(wanted) - set(known.at))
    if strange:
        raise CommandError(
            f"{decisions}: {table.source} has no row in {table.counted} {listed(strange)}; export "
            "the decisions of this file's page"
        )
    for place, one in wanted.items():
        cell = text_of_cell(column.raw[known.at[place]])
        if not _same(cell, one.given, column):
            raise CommandError(
                f"{decisions}: {table.counted} {place} of {table.source} has {cell!r} as "
                f"{column.name}, and the decision was made for {one.given!r}; export the decisions "
                "of this file's page"
            )


def _same(cell: str, given: str, column: Column) -> bool:
    if cell == given:
        return True
    try:
        one, other = float(cells_of([cell], column.habits).values[0]), float(given)
    except ValueError:
        return False
    return abs(one - other) <= ROUNDED * max(abs(one), abs(other))


def _refuse_empty(wanted: Mapping[int, Decision]) -> None:
    empty = [one for one in wanted.values() if not one.corrected]
    if empty:
        more = f" (and {len(empty) - 1} more)" if len(empty) > 1 else ""
        raise CommandError(
            f"{empty[0].said}{more} says wrong and leaves 'corrected' empty; fill it in, or give "
            "--allow-empty to empty the cell"
        )


# ---------------------------------------------------------------------- what is to be written


def _label(one: Decision, known: Known, new: bool) -> Edit:
    """A label as the column writes it."""
    if not one.corrected:
        return Edit("")
    if one.corrected in known.words:
        return known.like(known.words[one.corrected])
    number = _number(one.corrected, known.column)
    if number in known.numbers:
        # 1 where the column says 1.0 or 1,0.
        return known.like(known.numbers[number])
    if new:
        return Edit(one.corrected)
    raise CommandError(
        f"{one.said}: {one.corrected!r} does not occur in {known.told}; "
        f"{close_to(one.corrected, sorted(known.words))} (--allow-new writes it all the same)"
    )


def _amount(one: Decision, known: Known) -> Edit:
    """A number as the column writes it."""
    if not one.corrected:
        return Edit("")
    column, plain = known.column, _number(one.corrected)
    number = _number(one.corrected, column)
    if number is None:
        raise CommandError(
            f"{one.said}: {one.corrected!r} is not a number, and {known.told} holds numbers"
        )
    text = isinstance(column.raw[known.at[one.place]], str)
    if column.cells.style.kind != "number" and not (text and plain is None):
        raise CommandError(
            f"{one.said}: {known.told} holds dates or times, and {one.corrected!r} is a number; "
            + ("write it as the column does" if text else "correct the workbook itself")
        )
    if not text:
        return Edit(f"{number:.15g}")
    if plain is None:
        return Edit(one.corrected)
    return Edit(one.corrected.replace(".", column.cells.style.decimal))


def _number(text: str, column: Column | None = None) -> float | None:
    """A text as a number: as people exchange them, or as a column writes them."""
    try:
        return float(text)
    except ValueError:
        if column is None:
            return None
    found = cells_of([text], column.habits, column.cells.style)
    value = float(found.values[0])
    return None if found.wrong.size or value != value else value
