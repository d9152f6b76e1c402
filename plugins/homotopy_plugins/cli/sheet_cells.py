"""Cells of a workbook that are replaced where they stand, so that all else stays as it was.

A library that reads a workbook and writes it again loses what it does not know: pictures, charts,
the values of formulas.  So the XML of the cells is changed, and nothing else.
"""

from __future__ import annotations

import io
import posixpath
import re
import zipfile
from collections.abc import Mapping
from xml.etree import ElementTree
from xml.sax.saxutils import escape

import attrs

from homotopy_plugins.cli.answers import CommandError

__all__ = ["Edit", "with_cells"]

BOOK = "xl/workbook.xml"
RELATED = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
CELL = re.compile(
    r"<(?P<prefix>(?:\w+:)?)c(?P<attributes>(?:\s[^>]*?)?)(?:/>|>(?P<body>.*?)</(?P=prefix)c>)",
    re.DOTALL,
)
ADDRESS = re.compile(r'\sr="([A-Z]+)(\d+)"')
TYPE = re.compile(r'\st="(\w+)"')
FORMULA = re.compile(r"<(?:\w+:)?f[\s>/]")
COMPUTES = re.compile(r"<((?:\w+:)?)calcPr(?![^>]*fullCalcOnLoad)")


@attrs.frozen
class Edit:
    """What is to stand in a cell, and the place of a row in which the same stands already, or
    None."""

    text: str
    like: int | None = None


def with_cells(
    content: bytes, sheet: str | None, column: int, new: Mapping[int, Edit], name: str
) -> bytes:
    """The workbook with other cells in a column, counted from 0, by row, counted from 1."""
    with zipfile.ZipFile(io.BytesIO(content)) as book:
        parts = {info: book.read(info) for info in book.infolist()}
    texts = {info.filename: part for info, part in parts.items()}
    changed = _sheet_part(texts, sheet)
    texts[changed] = _edited(texts[changed].decode(), _letters(column), new, name).encode()
    formulas = (part for one, part in texts.items() if one.startswith("xl/worksheets/"))
    if any(FORMULA.search(part.decode("utf-8", "replace")) for part in formulas):
        # What depends on the cells is computed again when the workbook is opened.
        again = COMPUTES.sub(r'<\1calcPr fullCalcOnLoad="1"', texts[BOOK].decode())
        texts[BOOK] = again.encode()
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as book:
        for info in parts:
            book.writestr(info, texts[info.filename])
    return out.getvalue()


def _sheet_part(texts: Mapping[str, bytes], sheet: str | None) -> str:
    """The file of a sheet inside the workbook; that of the first by default."""
    links = ElementTree.fromstring(texts["xl/_rels/workbook.xml.rels"])
    pages = {
        link.get("Id"): str(link.get("Target"))
        for link in links
        if str(link.get("Type")).endswith("/worksheet")
    }
    for one in ElementTree.fromstring(texts[BOOK]).iter():
        page = pages.get(one.get(RELATED)) if one.tag.endswith("}sheet") else None
        if page is not None and sheet in (None, one.get("name")):
            return posixpath.normpath(posixpath.join("/xl", page)).lstrip("/")
    raise KeyError(sheet)


def _edited(text: str, letters: str, new: Mapping[int, Edit], name: str) -> str:
    cells = {}
    for found in CELL.finditer(text):
        address = ADDRESS.search(found["attributes"])
        if address is not None and address[1] == letters:
            cells[int(address[2])] = found
    parts, at = [], 0
    for row in sorted(new):
        if row not in cells:
            raise CommandError(
                f"{name}: cell {letters}{row} cannot be found in the workbook; save it in Excel "
                "once, or as CSV"
            )
        cell = cells[row]
        if FORMULA.search(cell["body"] or ""):
            raise CommandError(
                f"{name}: {letters}{row} holds a formula; correct what it is computed from"
            )
        parts += [text[at : cell.start()], _made(cell, new[row], cells)]
        at = cell.end()
    return "".join([*parts, text[at:]])


def _made(cell: re.Match[str], edit: Edit, cells: Mapping[int, re.Match[str]]) -> str:
    """A cell with its address and its format, and another value."""
    prefix, kind = cell["prefix"], TYPE.search(cell["attributes"])
    kept = TYPE.sub("", cell["attributes"]).rstrip()
    like = None if edit.like is None else cells.get(edit.like)
    if not edit.text:
        return f"<{prefix}c{kept}/>"
    if like is not None and not FORMULA.search(like["body"] or ""):
        kind = TYPE.search(like["attributes"])
        said, body = "" if kind is None else kind[0], like["body"] or ""
    elif (kind is None or kind[1] == "n") and _is_number(edit.text):
        said, body = "", f"<{prefix}v>{edit.text}</{prefix}v>"
    else:
        inner = f'<{prefix}t xml:space="preserve">{escape(edit.text)}</{prefix}t>'
        said, body = ' t="inlineStr"', f"<{prefix}is>{inner}</{prefix}is>"
    return f"<{prefix}c{kept}{said}>{body}</{prefix}c>"


def _is_number(text: str) -> bool:
    return re.fullmatch(r"-?\d+(\.\d+)?([eE][-+]?\d+)?", text) is not None


def _letters(column: int) -> str:
    """0 is A, 25 is Z, 26 is AA."""
    out = ""
    column += 1
    while column:
        column, letter = divmod(column - 1, 26)
        out = chr(ord("A") + letter) + out
    return out
