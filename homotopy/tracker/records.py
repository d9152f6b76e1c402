"""NumPy records with documented fields, read and written by name."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

__all__ = ["Numbers", "Records", "documented", "records", "structure"]


def structure(reals: str, wholes: str = "") -> np.dtype[Any]:
    kinds = [(name, np.float64) for name in reals.split()]
    return _record(kinds + [(name, np.int64) for name in wholes.split()])


def documented(text: str, mark: str = "") -> np.dtype[Any]:
    """Return a record type with one field per line: name, "real" or "whole", description."""
    fields = [line.split(maxsplit=2)[:2] for line in text.strip().splitlines()]
    kinds = [(name, np.float64 if kind == "real" else np.int64) for name, kind in fields]
    return _record([*kinds, (mark, np.int64)] if mark else kinds)


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


def _record(kind: Any) -> np.dtype[Any]:
    """Return the type of records with these fields as attributes."""
    return np.dtype((np.record, kind))


def records(array: Any) -> Any:
    """Return `array`, of a structured dtype, as `Records`; each record has attributes too."""
    if array.dtype.type is np.record:
        # (Converting the type would take ten times as long.)
        return array.view(Records)
    return array.view(_record(array.dtype), Records)


class Numbers:
    """The fields of an array of one record as attributes, read and written in place.

    A NumPy record does the same several times more slowly; traces of small problems spend most of
    their time here.
    """

    __slots__ = ("_places", "_views")

    def __init__(self, record: Any) -> None:
        places = _places(record.dtype)
        views = (np.ndarray(len(places), kind, record) for kind in (np.int64, np.float64))
        object.__setattr__(self, "_places", places)
        object.__setattr__(self, "_views", tuple(views))

    def __getattr__(self, name: str) -> Any:
        try:
            real, place = self._places[name]
        except KeyError:
            raise AttributeError(name) from None
        return self._views[real][place]

    def __setattr__(self, name: str, value: Any) -> None:
        try:
            real, place = self._places[name]
        except KeyError:
            raise AttributeError(name) from None
        self._views[real][place] = value


@functools.cache
def _places(kind: np.dtype[Any]) -> dict[str, tuple[bool, int]]:
    """Return whether each field is a real number, and its place; every field has eight bytes."""
    fields: Any = kind.fields or {}
    return {name: (part.kind == "f", at // 8) for name, (part, at, *_) in fields.items()}
