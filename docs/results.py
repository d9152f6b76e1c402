"""Tables made of the JSON that benchmarks wrote, while the site is built.

    ```{results} paper/paper.json
    :where: table=rbf-svc
    :by: data
    :columns: data; n; error.plain; error.robust
    :names: data; rows; plain; robust
    ```

The file lies in benchmarks/results/.  Its rows are the list under "rows", or the values of a
mapping whose keys are "a | b | c": these parts are the columns 0, 1 and 2.  Lists are separated by
semicolons; a column inside an object is named with a dot, `error.plain`.  With `by`, rows that
agree in those columns are one line: the mean of every number, with its standard error if `se`.  A
file or a column that is not there leaves a note in its place, and the build goes on.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

RESULTS = Path(__file__).resolve().parent.parent / "benchmarks" / "results"


def rows_of(content: Any) -> list[dict[str, Any]]:
    """The rows of a file, each flat: inner objects as dotted columns."""
    if isinstance(content, dict) and "rows" in content:
        content = content["rows"]
    if isinstance(content, dict):
        keyed = [(key, row) for key, row in content.items() if isinstance(row, dict)]
        content = [
            {str(k): part.strip() for k, part in enumerate(key.split("|"))} | row
            for key, row in keyed
        ]
    return [dict(flat(row)) for row in content]


def flat(row: dict[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in row.items():
        if isinstance(value, dict):
            yield from flat(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", value


def joined(rows: list[dict[str, Any]], by: list[str], columns: list[str], se: bool) -> list[list]:
    """One line per row, or per group of rows that agree in `by`."""
    if not by:
        return [[shown(row.get(name)) for name in columns] for row in rows]
    groups: dict[tuple, list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(tuple(row.get(name) for name in by), []).append(row)
    return [[mean([row.get(name) for row in group], se) for name in columns]
            for group in groups.values()]  # fmt: skip


def mean(values: list[Any], se: bool) -> str:
    numbers = [v for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
    if len(numbers) < len(values) or len(set(map(str, values))) == 1:
        return shown(values[0]) if len(set(map(str, values))) == 1 else "–"
    centre, n = sum(numbers) / len(numbers), len(numbers)
    spread = math.sqrt(sum((v - centre) ** 2 for v in numbers) / max(n - 1, 1) / n)
    return (
        f"{shown(centre)}\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}{spread:.1g}"
        if se and n > 1
        else shown(centre)
    )


def shown(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.3g}"
    return ", ".join(map(shown, value)) if isinstance(value, list) else str(value)


def words(text: str) -> list[str]:
    return [word.strip() for word in text.split(";")]


class Results(SphinxDirective):
    """The directive `results`."""

    required_arguments = 1
    option_spec: ClassVar = {
        "where": directives.unchanged,
        "by": words,
        "columns": words,
        "names": words,
        "se": directives.flag,
    }

    def run(self) -> list[nodes.Node]:
        name = self.arguments[0]
        file = RESULTS / name
        self.env.note_dependency(str(file))
        if not file.exists():
            return note(f"Not measured yet: benchmarks/results/{name} is not in the repository.")
        content = json.loads(file.read_text())
        rows = rows_of(content)
        for condition in words(self.options.get("where", "")):
            column, _, value = condition.partition("=")
            rows = [row for row in rows if not column or shown(row.get(column)) == value]
        if not rows:
            return note(f"benchmarks/results/{name} has no rows with {self.options['where']} yet.")
        wanted = self.options.get("columns") or list(rows[0])
        names = self.options.get("names") or wanted
        have = [k for k, column in enumerate(wanted) if any(column in row for row in rows)]
        columns = [wanted[k] for k in have]
        lines = joined(rows, self.options.get("by", []), columns, "se" in self.options)
        made: list[nodes.Node] = [table([names[k] for k in have], lines)]
        if len(have) < len(wanted):
            gone = ", ".join(column for column in wanted if column not in columns)
            made += note(f"benchmarks/results/{name} has nothing under {gone}.")
        machine = content.get("machine") if isinstance(content, dict) else None
        if machine:
            about = ", ".join(f"{key.split('.')[-1]} {value}" for key, value in flat(machine))
            made.append(nodes.paragraph("", f"benchmarks/results/{name}; {about}."))
        return made


def note(text: str) -> list[nodes.Node]:
    return [nodes.note("", nodes.paragraph("", text))]


def table(head: list[str], lines: list[list[str]]) -> nodes.table:
    group = nodes.tgroup(cols=len(head))
    group += [nodes.colspec(colwidth=1) for _ in head]

    def line(cells: list[str]) -> nodes.row:
        return nodes.row("", *(nodes.entry("", nodes.paragraph("", cell)) for cell in cells))

    group += nodes.thead("", line(head))
    group += nodes.tbody("", *(line(cells) for cells in lines))
    return nodes.table("", group)


def setup(app: Any) -> dict[str, Any]:
    app.add_directive("results", Results)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
