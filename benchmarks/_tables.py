"""Markdown made of the files in benchmarks/results/: what the tables share.

The tables themselves are in `_tables_engine` and `_tables_estimators`, which register them in
`TABLES` when they are imported.

A page holds

    <!-- numbers:NAME -->
    <!-- /numbers:NAME -->

and docs/results.py writes the table between the two lines.  A table ends in a line that says which
file, commit and machine it is from, and whether it is of a quick run.
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from _measure import Amount, geometric_mean, number

RESULTS = Path(__file__).resolve().parent / "results"
Row = dict[str, Any]
# Every table by its name.
TABLES: dict[str, Callable[[], str]] = {}
KERNELS = ("rbf", "linear")
PATHS = {"theta": "θ", "s": "s"}
# Misses of a target that a page shows.
MOST_MISSES = 6


class NotMeasured(Exception):
    """There is no such file, or not what the table is made of."""


@cache
def result(name: str) -> dict[str, Any]:
    """What a benchmark has written."""
    file = RESULTS / f"{name}.json"
    if not file.exists():
        raise NotMeasured(
            f"Not measured yet: `make numbers DATA=DIR` writes `benchmarks/results/{name}.json`."
        )
    found: dict[str, Any] = json.loads(file.read_text())
    return found


def made_of(source: str) -> Callable[[Callable[[dict[str, Any]], str]], Callable[[], str]]:
    """Register a function of the content of a file as the table of the function's name."""

    def register(make: Callable[[dict[str, Any]], str]) -> Callable[[], str]:
        def text() -> str:
            try:
                return f"{make(result(source))}\n\n{origin(source)}"
            except NotMeasured as error:
                return f"*{error}*"

        TABLES[make.__name__] = text
        return text

    return register


def origin(source: str) -> str:
    """Where the numbers of a file are from, in a line."""
    about = result(source)
    run, machine = about.get("run", {}), about.get("machine", {})
    parts = [f"`benchmarks/results/{source}.json`: commit {run.get('commit') or 'unknown'}"]
    parts.append(run.get("date") or "date unknown")
    if machine:
        python = machine.get("versions", {}).get("python")
        parts += [f"{machine['cpu']}, {machine['cores']} cores", f"Python {python}"]
    if run.get("load") is not None:
        parts.append(f"load {run['load']:g}")
    told = ", ".join(parts)
    if run.get("command"):
        told += f"; `{run['command']}`"
    if run.get("quick"):
        told += ". **A quick run**: few and small problems"
    if run.get("note"):
        told += f". {run['note']}"
    return f"*{told}.*"


# ---------------------------------------------------------------------- writing


def table(head: Sequence[str], rows: Iterable[Sequence[Any]], left: int = 1) -> str:
    """A Markdown table whose first `left` columns are flush left."""
    rule = ["---"] * left + ["---:"] * (len(head) - left)
    lines = [list(head), rule, *([shown(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def shown(value: Any) -> str:
    if value is None or value == "":
        return "–" if value is None else ""
    if isinstance(value, bool):
        return "yes" if value else "**no**"
    return number(value) if isinstance(value, float) else str(value).replace("|", "\\|")


def small(value: float | None) -> str:
    """A difference or a residual: one digit and the power of ten."""
    return "–" if value is None else f"{value:.0e}"


def amount(value: Any) -> Amount | None:
    """An amount as `write_json` has written it."""
    if value is None or isinstance(value, Amount):
        return value
    return Amount(float(value[1:]), value[0]) if isinstance(value, str) else Amount(float(value))


def mean(values: Iterable[Any]) -> str:
    """A geometric mean."""
    return str(geometric_mean(amount(value) for value in values) or "–")


def spread(values: Sequence[float], unit: float = 1.0, sign: bool = False) -> str:
    """A mean and its standard error."""
    centre = unit * statistics.fmean(values)
    text = f"{centre:+.2f}" if sign else f"{centre:.2f}"
    if len(values) < 2:
        return text
    return f"{text} ± {unit * statistics.stdev(values) / math.sqrt(len(values)):.2f}"


def chosen(rows: list[Row], **wanted: Any) -> list[Row]:
    """The rows with these values."""
    return [row for row in rows if all(row[key] == value for key, value in wanted.items())]


def span(values: Iterable[float], form: str) -> str:
    """The least and the greatest."""
    known = sorted(values)
    low, high = form.format(known[0]), form.format(known[-1])
    return low if low == high else f"{low} to {high}"


def targets_of(source: str, about: str = "") -> str:
    """Every target that was tried (and whose text begins with `about`), how many cases keep it, and
    the cases that do not."""
    found = result(source).get("targets")
    if found is None:
        raise NotMeasured(f"`benchmarks/results/{source}.json` has no targets yet.")
    lines = []
    for target in found:
        if not target["cases"] or not target["target"].startswith(about):
            continue
        misses = [
            miss["where"] if miss["value"] == "-" else f"{miss['where']}: {miss['value']}"
            for miss in target["misses"]
        ]
        told = "; ".join(misses[:MOST_MISSES])
        if len(misses) > MOST_MISSES:
            told += f"; and {len(misses) - MOST_MISSES} more in the file"
        undecided = {miss["word"] for miss in target["misses"]} - {"missed"}
        if undecided:
            told = f"({', '.join(sorted(undecided))}) {told}"
        kept = f"{target['kept']} of {target['cases']}"
        lines.append([target["target"], f"**{kept}**" if misses else kept, told])
    return table(["target", "kept by", "misses"], lines, left=3)


def _register_targets(source: str, about: str = "") -> None:
    def text() -> str:
        try:
            return targets_of(source, about)
        except NotMeasured as error:
            return f"*{error}*"

    TABLES[f"{source}_targets"] = text


for _name in ("speed", "cliff", "everyday", "compile", "pieces", "parts", "scaling", "exact",
              "parametric_qp", "nystroem", "forks"):  # fmt: skip
    _register_targets(_name)
_register_targets("speed_cccp", about="CCCP")
