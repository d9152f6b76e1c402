"""README.md as the long description of the built packages.

A registry shows the README without the repository around it, so its relative links and pictures
lead nowhere.  With a `Source` under `[project.urls]` they are made absolute; without one, links
become their text and the name of the file, which the source distribution holds, and pictures
become their caption.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

# Anything but an address with a scheme, or a place on the same page.
_LINK = re.compile(r"(?P<picture>!?)\[(?P<text>[^\]]*)\]\((?P<target>(?!\w+:|#)[^)\s]+)\)")
# Code is not Markdown: what looks like a link inside a block or between backticks stays.
_CODE = re.compile(r"(^```.*?^```|`[^`\n]*`)", re.M | re.S)


def long_description(readme: str, source: str | None = None) -> str:
    """`readme` with relative links made absolute under `source`, or spelled out without one."""

    def replaced(found: re.Match[str]) -> str:
        picture, text, target = found["picture"], found["text"], found["target"]
        if source is not None:
            kind = "raw" if picture else "blob"
            return f"{picture}[{text}]({source.rstrip('/')}/{kind}/HEAD/{target})"
        return f"*{text}*" if picture else f"{text} (`{target.partition('#')[0]}`)"

    # Code is taken out and put back afterwards, since the text of a link may hold some.
    kept: list[str] = []

    def keep(found: re.Match[str]) -> str:
        kept.append(found[0])
        return f"\0{len(kept) - 1}\0"

    bare = _LINK.sub(replaced, _CODE.sub(keep, readme))
    return re.sub("\0(\\d+)\0", lambda found: kept[int(found[1])], bare)


class LongDescription(MetadataHookInterface):
    """Sets `project.readme`."""

    def update(self, metadata: dict[str, Any]) -> None:
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        source = metadata.get("urls", {}).get("Source")
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": long_description(text, source),
        }
