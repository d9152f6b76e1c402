"""Numbers inside sentences, made of the files in benchmarks/results/.

A page holds, inside a sentence,

    takes <!-- fact:NAME -->2.0<!-- /fact --> fits on average

and docs/results.py writes what stands between the marks.  A fact is a function that makes a short
text of the content of a file, from whatever rows are there.  The facts themselves are in
`_facts_engine` and `_facts_estimators`, which register them in `FACTS` when they are imported.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from _measure import Amount, geometric_mean
from _tables import NotMeasured, Row, amount, chosen, result

# Every fact by its name.
FACTS: dict[str, Callable[[], str]] = {}
MISSING = "*(not measured yet)*"


def fact_of(source: str) -> Callable[[Callable[[dict[str, Any]], str]], Callable[[], str]]:
    """Register a function of the content of a file as the fact of the function's name."""

    def register(make: Callable[[dict[str, Any]], str]) -> Callable[[], str]:
        def text() -> str:
            try:
                return make(result(source))
            except NotMeasured:
                return MISSING

        FACTS[make.__name__] = text
        return text

    return register


# ---------------------------------------------------------------------- writing


def some(rows: list[Row], **wanted: Any) -> list[Row]:
    """The rows with these values, of which there is one at least."""
    found = chosen(rows, **wanted)
    if not found:
        raise NotMeasured(f"no rows with {wanted}")
    return found


def largest(rows: list[Row], key: str) -> list[Row]:
    """The rows in which `key` is largest."""
    return some(rows, **{key: max((row[key] for row in rows), default=None)})


def two(value: float) -> str:
    """Two significant digits, and every digit before the point."""
    # (Formatting first: 9.96 has two digits as 10.)
    rounded = float(f"{value:.1e}")
    digits = 1 - math.floor(math.log10(abs(rounded))) if rounded else 0
    return f"{value:,.{max(digits, 0)}f}"


def between(values: Iterable[float], unit: float = 1.0, form: str = "") -> str:
    """The least and the greatest, with two digits or as the form says."""
    known = sorted(values)
    if not known:
        raise NotMeasured("no values")
    low, high = (
        form.format(unit * value) if form else two(unit * value) for value in (known[0], known[-1])
    )
    return low if low == high else f"{low} to {high}"


def told(value: Amount | None) -> str:
    if value is None:
        raise NotMeasured("no amount")
    return f"{value.mark}{two(value.value)}"


def mean(values: Iterable[Any]) -> str:
    """A geometric mean."""
    return told(geometric_mean(amount(value) for value in values))


def values_of(rows: Iterable[Row], key: str) -> list[float]:
    """Numbers, and bounds as the numbers they are."""
    return [found.value for row in rows if (found := amount(row.get(key))) is not None]
