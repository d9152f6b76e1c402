"""After `make docs` has built the site: are its own links right, and is every public name there?

Every link inside the site must lead to a file and an anchor that exist, every relative link of the
Markdown files outside docs/ to a file of the repository, and every name that the packages export
must have an entry in the reference.  Links to other sites are not tried: no network is needed.
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import homotopy
import homotopy.plot
import homotopy_plugins

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "docs" / "_build" / "html"
LINK = re.compile(
    r"(?<!\!)\[[^\]]*\]\(([^)\s]+)\)|<img[^>]*src=\"([^\"]+)\"|!\[[^\]]*\]\(([^)\s]+)\)"
)


class Page(HTMLParser):
    """The anchors of one page, and where its links lead."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: set[str] = set()
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if value and name in ("id", "name"):
                self.anchors.add(value)
            elif value and name in ("href", "src"):
                self.links.add(value)

    def has(self, fragment: str) -> bool:
        return not fragment or unquote(fragment) in self.anchors


def inside(link: str) -> bool:
    parts = urlsplit(link)
    return not parts.scheme and not parts.netloc and bool(parts.path or parts.fragment)


def broken_in_site() -> list[str]:
    pages = {file: Page(file) for file in SITE.rglob("*.html") if "_static" not in file.parts}
    broken = []
    for file, page in pages.items():
        for link in filter(inside, sorted(page.links)):
            parts = urlsplit(link)
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            where = f"{file.relative_to(SITE)}: {link}"
            if target.is_dir():
                target = target / "index.html"
            if not target.exists():
                broken.append(f"{where}: no such file")
            elif target in pages and not pages[target].has(parts.fragment):
                broken.append(f"{where}: no such anchor")
    return broken


def broken_in_repository() -> list[str]:
    broken = []
    for file in (*ROOT.glob("*.md"), *ROOT.glob("examples/*.md"), *ROOT.glob("benchmarks/*.md")):
        for found in LINK.finditer(file.read_text(encoding="utf-8")):
            link = next(filter(None, found.groups()))
            path = unquote(urlsplit(link).path)
            if inside(link) and path and not (file.parent / path).exists():
                broken.append(f"{file.relative_to(ROOT)}: {link}: no such file")
    return broken


def missing_names() -> list[str]:
    anchors = Page(SITE / "api.html").anchors
    estimators = [name for name in dir(homotopy_plugins) if name in homotopy_plugins._ESTIMATORS]
    public = {
        "homotopy": homotopy.__all__,
        "homotopy.plot": homotopy.plot.__all__,
        "homotopy_plugins": [*homotopy_plugins.__all__, *estimators],
    }
    return [
        f"{module}.{name} is public and not in the reference"
        for module, names in public.items()
        for name in names
        if f"{module}.{name}" not in anchors
    ]


def main() -> int:
    wrong = broken_in_site() + broken_in_repository() + missing_names()
    print("\n".join(wrong) or "links, anchors and public names are right")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
