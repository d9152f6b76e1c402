"""A table with planted mistakes: customers who stayed or left, one label in ten turned round."""

from __future__ import annotations

import csv
import io

import attrs
import numpy as np
import numpy.typing as npt

__all__ = ["Planted", "planted_table"]

Index = npt.NDArray[np.int64]

LABELS = ("stayed", "left")
PLANS = ("basic", "family", "premium")
# The header is line 1, so that row 0 is line 2.
FIRST = 2


@attrs.frozen(eq=False)
class Planted:
    """The table as CSV, and the lines in it whose label was turned round."""

    text: str
    lines: Index


def planted_table(rows: int, share: float, seed: int) -> Planted:
    """Two classes that a smooth border separates, but for a fraction `share` of wrong labels."""
    rng = np.random.default_rng(seed)
    left = np.arange(rows) % 2 == 1
    rng.shuffle(left)
    sign = np.where(left, 1.0, -1.0)
    # Four features that tell, each of them a little; one that does not, and one of words.
    months = np.clip(30.0 - 14.0 * sign + 9.0 * rng.standard_normal(rows), 1.0, None)
    calls = np.clip(4.0 + 2.2 * sign + 1.5 * rng.standard_normal(rows), 0.0, None)
    bill = 45.0 + 12.0 * sign + 9.0 * rng.standard_normal(rows)
    usage = 20.0 - 7.0 * sign + 5.0 * rng.standard_normal(rows)
    age = rng.integers(18, 80, rows)
    plan = np.where(rng.random(rows) < 0.6, np.where(left, 0, 2), rng.integers(0, 3, rows))
    wrong = np.sort(rng.choice(rows, round(share * rows), replace=False))
    shown = left.copy()
    shown[wrong] = ~shown[wrong]
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["months", "calls", "bill", "usage", "age", "plan", "churn"])
    for i in range(rows):
        numbers = [f"{months[i]:.1f}", f"{calls[i]:.1f}", f"{bill[i]:.2f}", f"{usage[i]:.1f}"]
        # Real tables have gaps.
        if rng.random() < 0.02:
            numbers[int(rng.integers(4))] = ""
        writer.writerow([*numbers, age[i], PLANS[plan[i]], LABELS[int(shown[i])]])
    return Planted(out.getvalue(), wrong + FIRST)
