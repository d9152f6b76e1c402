"""NumPy records with documented fields, read and written by name."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["Numbers", "Records", "documented", "records", "structure"]


def structure(reals: str, wholes: str = "") -> np.dtype[Any]:
    kinds = [(name, np.float64) for name in reals.split()]
    return np.dtype(kinds + [(name, np.int64) for name in wholes.split()])


def documented(text: str, mark: str = "") -> np.dtype[Any]:
    """Return a record type with one field per line: name, "real" or "whole", description."""
    fields = [line.split(maxsplit=2)[:2] for line in text.strip().splitlines()]
    kinds = [(name, np.float64 if kind == "real" else np.int64) for name, kind in fields]
    return np.dtype([*kinds, (mark, np.int64)] if mark else kinds)


class Records(np.ndarray):
    """An array of records whose fields are attributes, like `np.recarray` but with much faster
    access."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name].view(np.ndarray)
        except (ValueError, IndexError):
            raise AttributeError(name) from None

    def __setattr__(self, name: str, value: Any) -> None:
        if self.dtype.names is not None and name in self.dtype.names:
            self[name] = value
        else:
            object.__setattr__(self, name, value)


def records(array: Any) -> Any:
    """Return `array`, of a structured dtype, as `Records`; each record has attributes too."""
    return array.view(np.dtype((np.record, array.dtype)), Records)


class Numbers:
    """The fields of an array of one record as attributes, read and written in place.

    A NumPy record does the same several times more slowly; traces of small problems spend most of
    their time here.
    """

    __slots__ = ("_fields", "_record")

    def __init__(self, record: Any) -> None:
        object.__setattr__(self, "_record", record.view(np.ndarray))
        object.__setattr__(self, "_fields", {})

    def _field(self, name: str) -> Any:
        try:
            field = self._fields[name] = self._record[name]
        except (ValueError, IndexError):
            raise AttributeError(name) from None
        return field

    def __getattr__(self, name: str) -> Any:
        field = self._fields.get(name)
        return (self._field(name) if field is None else field)[0]

    def __setattr__(self, name: str, value: Any) -> None:
        field = self._fields.get(name)
        (self._field(name) if field is None else field)[0] = value
