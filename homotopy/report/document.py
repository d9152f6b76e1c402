"""The page: data are inserted so that they can never run as code; and its file."""

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

__all__ = ["Report"]

# Height of the page, in pixels, when it is embedded in another.
HEIGHT = 820


class Report:
    """One self-contained HTML page; it asks the network for nothing.

    In a notebook it shows itself.  Names, labels and titles are text wherever they come from: the
    page runs one script, named by its hash, and no other.

    Attributes
    ----------
    title : str
    content : dict
        What the page shows, as it is written into it.
    html : str
        The whole page.
    """

    def __init__(self, title: str, content: dict[str, Any]) -> None:
        self.title = title
        self.content = content

    @cached_property
    def html(self) -> str:
        """The whole page as text."""
        here = files("homotopy.report")
        frame, style, script = (
            here.joinpath(f"page.{kind}").read_text("utf-8") for kind in ("html", "css", "js")
        )
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        parts = {
            "TITLE": html.escape(self.title),
            "DIGEST": digest,
            "STYLE": style,
            "DATA": _as_text(self.content),
            "SCRIPT": script,
        }
        # Cut at the marks first: what is put in is never searched for marks.
        page = frame.split("@@")
        page[1::2] = [parts[mark] for mark in page[1::2]]
        # Half a pair of surrogates cannot be written as UTF-8.
        return "".join(page).encode("utf-8", "replace").decode()

    def _repr_html_(self) -> str:
        """The page in its own frame, for notebooks."""
        return (
            f'<iframe srcdoc="{html.escape(self.html)}" title="{html.escape(self.title)}" '
            f'sandbox="allow-scripts" style="width:100%;height:{HEIGHT}px;border:0"></iframe>'
        )

    def __repr__(self) -> str:
        return f"<Report {self.title!r}: {len(self.html.encode()) / 1e6:.2f} MB of HTML>"

    def write_html(self, file: str | os.PathLike[str]) -> None:
        """Write the page to `file`, as a whole or not at all (`PathError` gives the reason)."""
        replace_file(file, self.html.encode())

    def open(self) -> str:
        """Show the page in the browser; the name of the file it was written to."""
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
    """JSON that no HTML parser can mistake for markup."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
