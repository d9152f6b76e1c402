"""The page and its file.  Data are inserted in such a way that they can never run as code."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
import tempfile
import webbrowser
from functools import cached_property
from importlib.resources import files
from pathlib import Path as File
from typing import Any

from homotopy.errors import PathError
from homotopy.path.files import replace_file

# Height of the page, in pixels, when it is embedded in another.
HEIGHT = 820


def refuse_file_name(title: str | None) -> None:
    """Refuse the name of a file where a title is expected: nothing would be written."""
    if title is not None and str(title).lower().endswith((".html", ".htm")):
        raise PathError(
            f"report: {title!r} would be the title of the page; write it into a file with "
            f"report().write_html({title!r})"
        )


class Report:
    """One self-contained HTML page that loads nothing from the network.

    In a notebook it displays itself.  Names, labels and titles always appear as text: the page
    allows only its own script, identified by its hash.

    Attributes
    ----------
    title : str
        The title of the page.
    content : dict
        The data of the page, as written into it.
    html : str
        The whole page.
    """

    def __init__(self, title: str, content: dict[str, Any]) -> None:
        self.title = title
        self.content = content

    @cached_property
    def html(self) -> str:
        """The whole page as text."""
        folder = files("homotopy.report")
        frame, style, script = (
            folder.joinpath(f"page.{kind}").read_text("utf-8") for kind in ("html", "css", "js")
        )
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        parts = {
            "TITLE": html.escape(self.title),
            "DIGEST": digest,
            "STYLE": style,
            "DATA": _as_text(self.content),
            "SCRIPT": script,
        }
        # Split at the marks first, so that inserted text is never searched for marks.
        page = frame.split("@@")
        page[1::2] = [parts[mark] for mark in page[1::2]]
        # Lone surrogates cannot be encoded as UTF-8.
        return "".join(page).encode("utf-8", "replace").decode()

    def _repr_html_(self) -> str:
        """Return the page in its own frame, for notebooks."""
        return (
            f'<iframe srcdoc="{html.escape(self.html)}" title="{html.escape(self.title)}" '
            f'sandbox="allow-scripts" style="width:100%;height:{HEIGHT}px;border:0"></iframe>'
        )

    def __repr__(self) -> str:
        return f"<Report {self.title!r}: {len(self.html.encode()) / 1e6:.2f} MB of HTML>"

    def write_html(self, file: str | os.PathLike[str]) -> None:
        """Write the page to `file` atomically; `PathError` gives the reason if that fails."""
        replace_file(file, self.html.encode())

    def open(self) -> str:
        """Show the page in the browser; return the name of the file it was written to."""
        try:
            handle, name = tempfile.mkstemp(prefix="homotopy-", suffix=".html")
        except OSError as error:
            raise PathError(
                f"the folder for temporary files cannot be written to ({error.strerror}); use "
                "write_html and open the file"
            ) from error
        os.close(handle)
        self.write_html(name)
        if not webbrowser.open(File(name).as_uri()):
            raise PathError(f"no browser could be started; open {name} in one")
        return name


def _as_text(content: dict[str, Any]) -> str:
    """Return JSON that no HTML parser can mistake for markup."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
