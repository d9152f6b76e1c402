"""The target of a table: labels or numbers, and which rows have one."""

from __future__ import annotations

import shlex
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from homotopy_plugins.cli.answers import CommandError
from homotopy_plugins.tables.cells import Cells
from homotopy_plugins.tables.columns import Column, Table
from homotopy_plugins.tables.kinds import LARGEST, MOSTLY, Choice
from homotopy_plugins.tasks import are_classes, too_many
from homotopy_plugins.wording import close_to, listed

__all__ = ["Target", "classes_to_audit", "encoded_target", "refused_target", "two_classes"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]


# Columns that are named at most where the target is asked for.
NAMED = 16


@attrs.frozen(eq=False)
class Target:
    """The target of the rows that have one.

    Attributes
    ----------
    name : str
    task : {"classification", "regression"}
    values : array
        Numbers, or labels.
    rows, without : arrays
        The rows that have a target, and those that have none.
    """

    name: str
    task: str
    values: Any
    rows: Index
    without: Index

    @property
    def classes(self) -> list[Any]:
        return list(np.unique(self.values).tolist())


def target_name(table: Table, given: str | None) -> str:
    """The column that is the target."""
    if given is not None:
        if table.matrix is not None and given != table.target:
            raise CommandError(
                f"{table.source} has no columns by name; its target is the first value of a line"
            )
        if table.matrix is None:
            table.column(given)
        if given in table.doubled:
            raise CommandError(
                f"{table.source}: several columns are called {given!r}; rename all but the target"
            )
        return given
    if table.target is not None:
        return table.target
    raise CommandError(
        f"{table.source}: which column is the target? Give --target; there is "
        f"{_with_the_last(table.names)}"
    )


def _with_the_last(names: list[str]) -> str:
    """Names of columns; the last one is often the target."""
    named = [repr(one) for one in names]
    if len(named) > NAMED:
        left = len(named) - NAMED
        named[NAMED - 2 : -2] = [f"{left} more"]
    return ", ".join(named)


def encoded_target(table: Table, choice: Choice, notes: list[str]) -> Target:
    """The target column as labels or numbers, and which rows have it."""
    name = target_name(table, choice.target)
    column = table.labels if table.labels is not None else table.column(name)
    values, wrong = column.numbers()
    words = column.words()
    numeric = not wrong.size
    # Among numbers "-" and "unknown" are gaps, among words they may be classes.
    there = ~np.isnan(values) if numeric else np.array([word is not None for word in words])
    if not there.any():
        raise CommandError(f"{table.source}: the target {name!r} is missing in every row")
    rows, without = np.flatnonzero(there), np.flatnonzero(~there)
    if rows.size < 2:
        raise CommandError(
            f"{table.source} has one row with a target, {table.where(int(rows[0]))}; nothing can "
            "be learnt from it"
        )
    different = np.unique(values[rows]) if numeric else np.empty(0)
    if numeric and not np.all(np.abs(different) <= LARGEST):
        i = int(rows[np.argmax(np.abs(values[rows]))])
        raise CommandError(
            f"{table.source}: the target {name!r} is {values[i]:g} in {table.where(i)}, too large "
            "to compute with; correct it or leave it empty"
        )
    if wrong.size and choice.task == "regression" and not np.isfinite(values).any():
        raise CommandError(f"{_words_in(table, column)} and no numbers; leave --task out")
    if wrong.size and (choice.task == "regression" or _stray(values, wrong)):
        i = int(wrong[0])
        raise CommandError(
            f"{table.source}: the target {name!r} holds {str(column.raw[i])!r} in "
            f"{table.where(i)} among numbers; correct it, or give --missing "
            f"{str(column.raw[i]).strip()!r} if it stands for a gap"
        )
    if numeric:
        notes += _read_as(name, column.cells)
    task = choice.task
    if choice.positive is not None:
        task = "classification"
    if task == "auto":
        task = "regression" if numeric and not are_classes(values[rows]) else "classification"
        if numeric:
            notes.append(_said(name, task, different.size))
    found: Any
    if task == "regression":
        found = values[rows]
    elif numeric and bool(np.all(different == np.round(different))):
        found = values[rows].astype(np.int64)
    elif numeric:
        found = values[rows]
    else:
        found = np.array([words[i] for i in rows.tolist()])
    if choice.positive is not None:
        found = _against_the_rest(found, choice.positive, table, name)
    return Target(name, task, found, rows, without)


def _read_as(name: str, cells: Cells) -> list[str]:
    """How numbers of the target were written, where that is worth a word."""
    said = []
    if cells.style.kind != "number":
        said.append("dates, in days" if cells.style.kind == "date" else "times of day, in hours")
    elif cells.style.marks:
        said.append("amounts with signs or separators")
    if cells.gaps:
        said.append(f"{listed(repr(text) for text in cells.gaps)} as missing")
    return [f"the target {name!r} was read as numbers: {', '.join(said)}"] if said else []


def _stray(values: Array, wrong: Index) -> bool:
    """Whether a few texts stand among many different numbers."""
    there = values[~np.isnan(values)]
    return not are_classes(there) and there.size >= MOSTLY * (there.size + wrong.size)


def _said(name: str, task: str, different: int) -> str:
    if task == "regression":
        return (
            f"the target {name!r} has {different} different numbers: regression "
            "(--task classification if they are classes)"
        )
    return (
        f"the target {name!r} has {different} different values: classification "
        "(--task regression if they are amounts)"
    )


def _against_the_rest(found: Any, positive: str, table: Table, name: str) -> Any:
    texts = np.array([str(value) for value in found.tolist()])
    if positive not in texts:
        known = np.unique(texts).tolist()
        raise CommandError(
            f"{table.source}: the target {name!r} has no class {positive!r}; "
            f"{close_to(positive, known)}"
        )
    return np.where(texts == positive, positive, f"not {positive}")


def classes_to_audit(target: Target, source: str) -> None:
    """Refuse labels of which nothing tells which are wrong, with the way out."""
    classes = target.classes
    if len(classes) == 1:
        raise CommandError(
            f"{source}: the target {target.name!r} has one value ({classes[0]}); nothing tells "
            "which rows are wrong"
        )
    if target.task == "classification" and too_many(len(classes), target.values.size):
        words = isinstance(classes[0], str)
        raise CommandError(
            f"{source}: the target {target.name!r} has {len(classes)} different values in "
            f"{target.values.size} rows, too many to be classes; give another --target"
            + ("" if words else ", or --task regression if they are amounts")
        )


def two_classes(target: Target, source: str) -> None:
    """Refuse anything but two classes, with the way out."""
    if len(target.classes) != 2:
        raise CommandError(_not_two(target, source, "a robust SVM", "--task regression"))


def _not_two(target: Target, source: str, learner: str, amounts: str) -> str:
    """Why a target is not one of two classes, and the way out; `amounts` takes numbers as such."""
    classes, rows = target.classes, target.values.size
    said = f"{source}: the target {target.name!r} has"
    if len(classes) == 1 and not isinstance(classes[0], str):
        return (
            f"{source}: the target {target.name!r} is constant, {classes[0]:g} in every row; give "
            "another --target"
        )
    if len(classes) == 1:
        return f"{said} one class ({classes[0]}), and {learner} needs two; give another --target"
    words = isinstance(classes[0], str)
    if target.task == "regression":
        return (
            f"{said} {len(classes)} different numbers, and {learner} needs two classes; give "
            f"{amounts} for amounts, or another --target"
        )
    if too_many(len(classes), rows):
        way = "give another --target" + ("" if words else f", or {amounts} for amounts")
        return (
            f"{said} {len(classes)} different values in {rows} rows, too many to be classes; {way}"
        )
    return (
        f"{said} {len(classes)} classes ({listed(classes)}), and {learner} needs two; give "
        f"--positive {shlex.quote(str(classes[0]))} to tell one from the others"
        + ("" if words else f", or {amounts} if they are amounts")
    )


def _words_in(table: Table, column: Column) -> str:
    """Where a target is a word."""
    i = int(column.cells.wrong[0])
    return (
        f"{table.source}: the target {column.name!r} holds words "
        f"({str(column.raw[i])!r} in {table.where(i)})"
    )


def refused_target(target: Target, table: Table, plugin: str, wants: str) -> str:
    """What is said of a target that a model cannot learn, with the way out."""
    if wants != "numbers":
        return _not_two(target, table.source, plugin, "--loss lad-ramp")
    column = table.column(target.name)
    if not column.cells.wrong.size:
        return (
            f"{table.source}: --positive makes two classes of the target {target.name!r}, and "
            f"{plugin} takes numbers; leave --positive out, or give --loss hinge-ramp"
        )
    numbers = [
        repr(one.name)
        for one in table.columns
        if one.name != target.name and not one.cells.wrong.size
    ]
    others = f" (columns of numbers: {listed(numbers)})" if numbers else ""
    return (
        f"{_words_in(table, column)}, and {plugin} takes numbers; give another --target{others}, "
        "or --loss hinge-ramp for classes"
    )
