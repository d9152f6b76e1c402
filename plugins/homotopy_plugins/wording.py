"""Wording that messages of all rooms share."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

import numpy as np

__all__ = ["close_to", "listed", "number_of", "one_line", "quoted", "shown"]


def one_line(text: str) -> str:
    """`text` without line breaks and without what a terminal would obey."""
    return "".join(c if c.isprintable() else " " for c in " ".join(text.split()))


def quoted(value: Any) -> str:
    """A word in quotes; anything else as it is."""
    return repr(str(value)) if isinstance(value, str) else str(value)


def listed(names: Iterable[object], most: int = 8) -> str:
    """A few names, and how many more there are."""
    words = [one_line(str(name)) for name in names]
    more = len(words) - most
    return ", ".join(words[:most]) + (f" and {more} more" if more > 0 else "")


def number_of(count: int, what: str) -> str:
    """``1 row``, ``2 rows``."""
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def close_to(name: str, known: Iterable[str]) -> str:
    """What `name` may have been meant to be, or all there is."""
    known = list(known)
    lower = {entry.casefold(): entry for entry in known}
    found = difflib.get_close_matches(name.casefold(), lower, n=3, cutoff=0.6)
    if found:
        return f"did you mean {' or '.join(repr(lower[entry]) for entry in found)}?"
    return f"there is {listed([repr(entry) for entry in known])}" if known else "there is none"


def shown(value: float) -> str:
    """A number to four digits, as people write it: 45350 rather than 4.535e+04."""
    size = abs(value)
    if size != 0.0 and not 1e-4 <= size < 1e9:
        return f"{value:.4g}"
    return np.format_float_positional(float(f"{value:.4g}"), trim="-")
