"""Write the measured numbers of README, docs and benchmarks/README.md from benchmarks/results/.

    python docs/results.py            compare; exit code 1 where a page shows something else
    python docs/results.py --write    write tables and facts into the pages
    python docs/results.py --list     every name, and the pages that show it

A page asks for a table by two lines, and what stands between them is replaced:

    <!-- numbers:speed -->
    <!-- /numbers:speed -->

The names are those of the functions in benchmarks/_tables_engine.py and _tables_estimators.py, and
NAME_targets for the targets of a benchmark.

A number inside a sentence is a fact, a function in benchmarks/_facts_engine.py or
_facts_estimators.py.  Its marks stay on one line, and not at its beginning, where Markdown would
take a comment for the end of the paragraph:

    The path takes <!-- fact:speed_theta -->2.0<!-- /fact --> fits on average.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "benchmarks"))

import _facts_engine  # noqa: E402, F401
import _facts_estimators  # noqa: E402, F401
import _tables_engine  # noqa: E402, F401
import _tables_estimators  # noqa: E402, F401
from _facts import FACTS  # noqa: E402
from _tables import TABLES  # noqa: E402

PLACE = re.compile(
    r"^(?P<open><!-- numbers:(?P<name>[\w-]+) -->)\n(?P<shown>.*?)"
    r"^(?P<close><!-- /numbers:(?P=name) -->)$",
    re.M | re.S,
)
MARK = re.compile(r"^<!-- /?numbers:([\w-]+) -->$", re.M)
FACT = re.compile(
    r"(?P<open><!-- fact:(?P<name>[\w-]+) -->)(?:(?!<!--)[^\n])*(?P<close><!-- /fact -->)"
)
FACT_MARK = re.compile(r"<!-- */? *fact\b[^\n>]*>?")
# Behind nothing but the marks of a list or a quotation a comment is a block of its own.
FACT_FIRST = re.compile(r"^[ \t]*(?:(?:[-*+>]|\d+[.)])[ \t]+)*<!-- fact:([\w-]+) -->", re.M)


def pages() -> list[Path]:
    """Every page that may hold tables and facts."""
    found = [ROOT / "README.md", ROOT / "benchmarks" / "README.md"]
    return found + sorted(
        page for page in (ROOT / "docs").rglob("*.md") if "_build" not in page.parts
    )


def rendered(text: str, where: str = "the page") -> str:
    """`text` with every table and every fact as it should be."""

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
    return with_facts(done, where)


def with_facts(text: str, where: str) -> str:
    """`text` with every fact as it should be."""

    def filled(place: re.Match[str]) -> str:
        name = place["name"]
        if name not in FACTS:
            raise KeyError(f"{where}: no fact is called {name!r}; there are {', '.join(FACTS)}")
        return f"{place['open']}{FACTS[name]()}{place['close']}"

    first = FACT_FIRST.search(text)
    if first:
        raise ValueError(f"{where}: <!-- fact:{first[1]} --> is at the beginning of a line")
    left = FACT_MARK.search(FACT.sub("", text))
    if left:
        raise ValueError(f"{where}: {left[0]} is not opened and closed on one line")
    return FACT.sub(filled, text)


def out_of_date() -> list[Path]:
    """The pages that show something else than the results say."""
    return [page for page in pages() if rendered(page.read_text(), page.name) != page.read_text()]


def listed() -> list[str]:
    """Every table and every fact, and the pages that show it; of a fact what it says, too."""
    texts = {str(page.relative_to(ROOT)): page.read_text() for page in pages()}

    def there(mark: str) -> str:
        return ", ".join(page for page, text in texts.items() if mark in text) or "-"

    lines = [f"{name:26} {there(f'<!-- numbers:{name} -->')}" for name in TABLES]
    lines += [f"{name:26} {there(f'<!-- fact:{name} -->')}: {FACTS[name]()}" for name in FACTS]
    return lines


def main() -> int:
    if "--list" in sys.argv[1:]:
        print("\n".join(listed()))
        return 0
    old = out_of_date()
    for page in old:
        print(f"{page.relative_to(ROOT)}: numbers are not those of benchmarks/results/")
        if "--write" in sys.argv[1:]:
            page.write_text(rendered(page.read_text(), page.name))
    if not old:
        print("every table and every fact is that of benchmarks/results/")
    return 1 if old and "--write" not in sys.argv[1:] else 0


if __name__ == "__main__":
    sys.exit(main())
