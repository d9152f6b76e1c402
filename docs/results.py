"""Write the tables of README, docs and benchmarks/README.md, made of benchmarks/results/.

    python docs/results.py            compare; exit code 1 where a page shows something else
    python docs/results.py --write    write the tables into the pages
    python docs/results.py --list     every name, and the pages that show it

A page asks for a table by two lines, and what stands between them is replaced:

    <!-- numbers:speed -->
    <!-- /numbers:speed -->

The names are those of the functions in benchmarks/_tables_engine.py and _tables_estimators.py, and
NAME_targets for the targets of a benchmark.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "benchmarks"))

import _tables_engine  # noqa: E402, F401
import _tables_estimators  # noqa: E402, F401
from _tables import TABLES  # noqa: E402

PLACE = re.compile(
    r"^(?P<open><!-- numbers:(?P<name>[\w-]+) -->)\n(?P<shown>.*?)"
    r"^(?P<close><!-- /numbers:(?P=name) -->)$",
    re.M | re.S,
)
MARK = re.compile(r"^<!-- /?numbers:([\w-]+) -->$", re.M)


def pages() -> list[Path]:
    """Every page that may hold tables."""
    found = [ROOT / "README.md", ROOT / "benchmarks" / "README.md"]
    return found + sorted(
        page for page in (ROOT / "docs").rglob("*.md") if "_build" not in page.parts
    )


def rendered(text: str, where: str = "the page") -> str:
    """`text` with every table as it should be."""

    def filled(place: re.Match[str]) -> str:
        name = place["name"]
        if name not in TABLES:
            raise KeyError(f"{where}: no table is called {name!r}; there are {', '.join(TABLES)}")
        # A blank line on both sides, or Markdown would take the table for a part of the comment.
        return f"{place['open']}\n\n{TABLES[name]()}\n\n{place['close']}"

    done = PLACE.sub(filled, text)
    paired = {place["name"] for place in PLACE.finditer(text)}
    for mark in MARK.finditer(text):
        if mark[1] not in paired:
            raise ValueError(f"{where}: <!-- numbers:{mark[1]} --> is not opened and closed")
    return done


def out_of_date() -> list[Path]:
    """The pages that show something else than the results say."""
    return [page for page in pages() if rendered(page.read_text(), page.name) != page.read_text()]


def main() -> int:
    if "--list" in sys.argv[1:]:
        for name in TABLES:
            mark = f"<!-- numbers:{name} -->"
            there = [str(p.relative_to(ROOT)) for p in pages() if mark in p.read_text()]
            print(f"{name:26} {', '.join(there) or '-'}")
        return 0
    old = out_of_date()
    for page in old:
        print(f"{page.relative_to(ROOT)}: tables are not those of benchmarks/results/")
        if "--write" in sys.argv[1:]:
            page.write_text(rendered(page.read_text(), page.name))
    if not old:
        print("every table is that of benchmarks/results/")
    return 1 if old and "--write" not in sys.argv[1:] else 0


if __name__ == "__main__":
    sys.exit(main())
