"""How long a trace will take and how much it needs, said beforehand.

The estimate is a power law in the number of rows, fitted to hinge-ramp traces (C = 1, theta) of
500 to 20,000 rows with 30 columns of numbers and words, 90 after encoding.  It is meant to tell
seconds from minutes and minutes from hours: C, the noise and the machine can change it threefold.
"""

from __future__ import annotations

import os
import re
from typing import Self

import attrs

from homotopy.gram import MEMORY
from homotopy.progress import in_words
from homotopy_plugins.cli.answers import CommandError

__all__ = ["Estimate", "SearchEstimate", "cache_of", "estimate", "megabytes"]

# Seconds and megabytes of a saved path at ROWS rows and COLUMNS columns, and their exponents.
ROWS, COLUMNS = 20_000, 90
MEASURED = {
    "linear": ((45.0, 1.3), (70.0, 1.1)),
    "rbf": ((190.0, 2.4), (55.0, 1.6)),
}
# An estimate above these is worth a word.
SECONDS, SIZE = 20.0, 50.0
# A bound on memory leaves room for this many copies of the table and rows of the kernel.
COPIES, KERNEL_ROWS = 4, 200
UNITS = {"": 1.0, "m": 1.0, "mb": 1.0, "g": 1000.0, "gb": 1000.0, "k": 1e-3, "kb": 1e-3}


@attrs.frozen
class Estimate:
    """Seconds that a trace takes, and megabytes of the path in a file."""

    seconds: float
    size: float

    @property
    def large(self) -> bool:
        return self.seconds > SECONDS or self.size > SIZE

    def told(self, rows: int, kernel: str, saved: bool, features: int | None = None) -> str:
        """What to expect, and what is faster; `features` is how many stand in for the rbf
        kernel."""
        file = f" and write a file of about {self.size:.0f} MB" if saved else ""
        ways = ["--rows 4000 traces a random sample", *_faster(kernel)]
        return (
            f"{rows:,} rows with {_called(kernel, features)} may take about "
            f"{in_words(self.seconds)}{file}; {', '.join(ways)} (Ctrl-C keeps what "
            "was traced, with --out)"
        )


def estimate(rows: int, columns: int, kernel: str) -> Estimate:
    """About how long and how large the path of a ramp loss will be."""
    (seconds, power), (size, size_power) = MEASURED["linear" if kernel == "linear" else "rbf"]
    part = rows / ROWS
    # Each step of a linear machine costs a pass over the columns; a row of a kernel does as well,
    # but it is kept.
    wide = max(columns, 10) / COLUMNS if kernel == "linear" else 0.5 + 0.5 * columns / COLUMNS
    return Estimate(seconds * part**power * wide, size * part**size_power)


@attrs.frozen
class SearchEstimate:
    """Seconds that a search takes: `paths` in folds, and the one of the model that is chosen."""

    seconds: float
    paths: int

    @classmethod
    def of(cls, shape: tuple[int, int], kernel: str, grid: int, cv: int, jobs: int) -> Self:
        """For a table of `shape`, with `grid` machines in `cv` folds, in `jobs` processes."""
        rows, columns = shape
        one = estimate(rows - rows // cv, columns, kernel).seconds
        last = estimate(rows, columns, kernel).seconds
        return cls(grid * cv * one / min(jobs, grid * cv) + last, grid * cv + 1)

    @property
    def large(self) -> bool:
        return self.seconds > SECONDS

    def told(self, rows: int, kernel: str, costs: int, features: int | None = None) -> str:
        """What to expect, and what is faster; `features` is how many stand in for the rbf
        kernel."""
        fewer = min(4000, max(100, rows // 400 * 100))
        ways = [f"--rows {fewer} takes a random sample", *_faster(kernel)]
        if costs > 1:
            ways.append("fewer values of --Cs are faster")
        return (
            f"{rows:,} rows with {_called(kernel, features)}, {self.paths} paths, may take about "
            f"{in_words(self.seconds)}; {', '.join(ways)} (Ctrl-C keeps nothing)"
        )


def _called(kernel: str, features: int | None) -> str:
    """The kernel, for people; a linear one on features of Nystroem is not theirs."""
    if features is None:
        return f"the {kernel} kernel"
    return f"the rbf kernel approximated by {features} Nystroem features"


def _faster(kernel: str) -> list[str]:
    if kernel == "linear":
        return []
    return ["--kernel linear is faster", "--nystroem 300 is nearly this kernel"]


# ---------------------------------------------------------------------- memory


def megabytes(text: str) -> float:
    """``500``, ``500M`` or ``2G``."""
    found = re.fullmatch(r"\s*([\d.]+)\s*([a-zA-Z]*)\s*", text)
    try:
        value = float(found[1]) * UNITS[found[2].lower()] if found else 0.0
    except (ValueError, KeyError):
        value = 0.0
    if value <= 0.0:
        raise CommandError(f"--memory takes megabytes, 500 or 2G for instance, got {text!r}")
    return value


def available() -> float | None:
    """Megabytes that are free, as far as the system tells."""
    try:
        with open("/proc/meminfo", encoding="ascii") as stream:
            for line in stream:
                if line.startswith("MemAvailable:"):
                    return float(line.split()[1]) / 1000.0
        return None
    except (OSError, ValueError):
        pass
    try:
        pages = os.sysconf("SC_PHYS_PAGES")
        return 0.5e-6 * float(pages) * float(os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):
        return None


def cache_of(memory: str | None, rows: int, columns: int) -> float:
    """Megabytes for rows of the kernel: what --memory leaves, or half of what is free."""
    table = COPIES * 8e-6 * rows * columns
    whole = 8e-6 * rows * rows
    least = table + 8e-6 * rows * min(rows, KERNEL_ROWS)
    if memory is None:
        free = available()
        bound = MEMORY if free is None else 0.5 * free
        return min(max(bound - table, least), max(whole, 1.0))
    given = megabytes(memory)
    if given < least:
        raise CommandError(
            f"--memory {memory} is too small for {rows:,} rows of {columns} columns; give at least "
            f"{least:.0f} (megabytes), or fewer rows (--rows)"
        )
    return min(given - table, max(whole, 1.0))
