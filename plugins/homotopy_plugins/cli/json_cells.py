"""Values in a JSON text that are replaced where they stand, so that all else stays as it was."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

__all__ = ["Span", "spans_of", "with_spans"]

Span = tuple[int, int]

_DECODER = json.JSONDecoder()
_BLANK = re.compile(r"[ \t\r\n]*")


def spans_of(text: str, name: str, lines: bool) -> dict[int, Span]:
    """Where the values called `name` stand, by row: by its line where each line is an object, else
    counted from 0."""
    found = {}
    for place, at in _by_line(text) if lines else enumerate(_in_list(text)):
        span = _value(text, at, name)
        if span is not None:
            found[place] = span
    return found


def with_spans(text: str, new: Mapping[Span, str]) -> str:
    """The text with other values in some places."""
    parts, at = [], 0
    for begin, end in sorted(new):
        parts += [text[at:begin], new[begin, end]]
        at = end
    return "".join([*parts, text[at:]])


def _by_line(text: str) -> Iterator[tuple[int, int]]:
    at = 0
    for number, line in enumerate(text.splitlines(keepends=True), start=1):
        if line.strip():
            yield number, at + line.index("{")
        at += len(line)


def _in_list(text: str) -> Iterator[int]:
    """Where the objects of a list begin; the list may be the one value of an object that is one."""
    at = _blank(text, 0)
    if text[at] == "{":
        at = next(begin for _, begin, end in _members(text, at) if _is_rows(text[begin:end]))
    at = _blank(text, at + 1)
    while text[at] != "]":
        yield at
        at = _blank(text, _end(text, at))
        if text[at] == ",":
            at = _blank(text, at + 1)


def _is_rows(text: str) -> bool:
    value = json.loads(text)
    return isinstance(value, list) and bool(value) and all(isinstance(v, dict) for v in value)


def _value(text: str, at: int, name: str) -> Span | None:
    """Where the value called `name` stands in the object that begins at `at`; of several the
    last, as when it is read."""
    found = None
    for key, begin, end in _members(text, at):
        if text[begin] == "{":
            inner = name.removeprefix(f"{key}.")
            found = (_value(text, begin, inner) if inner != name else None) or found
        elif key == name:
            found = begin, end
    return found


def _members(text: str, at: int) -> Iterator[tuple[str, int, int]]:
    """The keys of the object that begins at `at`, and where their values stand."""
    at = _blank(text, at + 1)
    while text[at] != "}":
        key, at = _DECODER.raw_decode(text, at)
        begin = _blank(text, _blank(text, at) + 1)
        end = _end(text, begin)
        yield key, begin, end
        at = _blank(text, end)
        if text[at] == ",":
            at = _blank(text, at + 1)


def _end(text: str, at: int) -> int:
    return _DECODER.raw_decode(text, at)[1]


def _blank(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return at if found is None else found.end()
