"""The choice of rows, and what the user said about a table as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np

from homotopy_plugins.tables.columns import Table
from homotopy_plugins.tables.kinds import Choice

__all__ = ["choice_from_json", "choice_to_json", "drawn", "expect"]


def drawn(table: Table, choice: Choice, notes: list[str]) -> Table:
    """The rows that were asked for, drawn at random and in their order."""
    if choice.rows is None or choice.rows >= table.size:
        return table
    rows = np.random.default_rng(choice.seed).choice(table.size, choice.rows, replace=False)
    notes.append(f"{choice.rows:,} of {table.size:,} rows, drawn at random (--seed {choice.seed})")
    return table.take(np.sort(rows))


def expect(true: bool, what: str) -> None:
    """Refuse JSON that we have not written."""
    if not true:
        raise ValueError(f"its {what} is not one of ours")


def choice_to_json(choice: Choice) -> dict[str, Any]:
    return attrs.asdict(choice)


def choice_from_json(data: Any) -> Choice:
    """What `choice_to_json` made; ValueError if it is anything else."""
    expect(isinstance(data, Mapping), "choice of columns")
    fields = {field.name for field in attrs.fields(Choice)}
    expect(set(data) == fields, "choice of columns")
    texts = [data[key] for key in ("target", "positive")]
    lists = [data[key] for key in ("drop", "category", "keep")]
    expect(all(one is None or isinstance(one, str) for one in texts), "choice of columns")
    expect(all(isinstance(one, list | tuple) for one in lists), "choice of columns")
    expect(all(isinstance(one, str) for names in lists for one in names), "choice of columns")
    expect(isinstance(data["scale"], bool), "choice of columns")
    drawn, seed = data["rows"], data["seed"]
    expect(type(seed) is int and (drawn is None or type(drawn) is int), "choice of rows")
    expect(data["task"] in ("auto", "classification", "regression"), "choice of columns")
    kept = {key: tuple(data[key]) for key in ("drop", "category", "keep")}
    return Choice(**{**data, **kept})
