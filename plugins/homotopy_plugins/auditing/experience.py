"""What follows from the evidence: boosted trees that were grown on tables with planted errors.

The trees are kept as plain numbers in ``experience.json``; `benchmarks/audit_learn.py` grows them.
They add up to the log-odds that a row is wrong.  The same file holds how far the number of wrong
rows that follows was off on tables the trees had not seen.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

__all__ = ["Count", "Experience", "named"]

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

# Rows that are more likely right than wrong by this much are never named.
LEAST = 0.2


@attrs.frozen
class Count:
    """How many rows are wrong: a number, and between which it lies."""

    number: int
    low: int
    high: int

    def plus(self, certain: int) -> Count:
        """With `certain` more that are wrong for sure."""
        return Count(self.number + certain, self.low + certain, self.high + certain)


@attrs.frozen(eq=False)
class Experience:
    """Trees, and how far off they were.

    Attributes
    ----------
    names : tuple of str
        The columns of the evidence.
    base : float
        Log-odds before the first tree.
    trees : list of tuple of arrays
        feature, threshold, left, right, value by node; a leaf has the feature -1, and a row goes to
        the left if its value is at most the threshold.
    spread : dict
        How the number of wrong rows is off, see `interval`.
    """

    names: tuple[str, ...]
    base: float
    trees: list[tuple[Any, ...]]
    spread: dict[str, Any]

    @classmethod
    @cache
    def of(cls, task: str) -> Experience:
        """The one for labels ("classification") or for targets ("regression")."""
        text = files("homotopy_plugins.auditing").joinpath("experience.json").read_text("utf-8")
        held = json.loads(text)[task]
        trees = [
            (
                np.array(one["feature"], dtype=np.int64),
                np.array(one["threshold"], dtype=np.float64),
                np.array(one["left"], dtype=np.int64),
                np.array(one["right"], dtype=np.int64),
                np.array(one["value"], dtype=np.float64),
            )
            for one in held["trees"]
        ]
        return cls(tuple(held["names"]), float(held["base"]), trees, held["spread"])

    def wrong(self, evidence: Array) -> Array:
        """The chance that each row is wrong."""
        total = np.full(evidence.shape[0], self.base)
        rows = np.arange(evidence.shape[0])
        for feature, threshold, left, right, value in self.trees:
            node = np.zeros(rows.size, dtype=np.int64)
            inner = feature[node] >= 0
            while inner.any():
                here, at = rows[inner], node[inner]
                goes = evidence[here, feature[at]] <= threshold[at]
                node[inner] = np.where(goes, left[at], right[at])
                inner = feature[node] >= 0
            total += value[node]
        return np.asarray(1.0 / (1.0 + np.exp(-total)))

    def number(self, wrong: Array, evidence: Array, level: float) -> Count:
        """How many are wrong, and between which numbers that lies with the chance `level`.

        The number is the sum N of the chances.  On tables that the trees had not seen
        log((W + 2) / (N + 2)) of the true number W was off by what `spread` says: a line in a few
        facts about the table for each of several quantiles.
        """
        n, total = wrong.size, float(wrong.sum())
        facts = dict(zip(self.names, evidence[0], strict=True))
        # How far the trees are in doubt themselves, as a part of N: row by row, and by chance.
        doubt = float(np.sum(wrong * (1.0 - wrong)))
        known = [1.0, np.log((total + 2.0) / (n + 2.0))]
        known += [doubt / (total + 2.0), np.sqrt(doubt) / (total + 2.0)]
        known += [facts[name] for name in self.spread["facts"]]
        at = np.array(self.spread["quantiles"])
        off = np.sort(np.array(self.spread["lines"]) @ np.array(known))
        ends = np.interp([0.5 - 0.5 * level, 0.5 + 0.5 * level], at, off)
        low, high = (total + 2.0) * np.exp(ends) - 2.0
        number = round(total)
        return Count(
            number,
            min(max(int(np.floor(low)), 0), number),
            max(min(int(np.ceil(high)), n), number),
        )


def named(wrong: Array) -> Flags:
    """Which rows to name: as many as make the expected F1 largest, none below `LEAST`.

    Naming the k most suspected finds S_k = the sum of their chances of N = the sum of all, so that
    F1 is about 2 S_k / (k + N).
    """
    order = np.argsort(-wrong, kind="stable")
    found = np.cumsum(wrong[order])
    score = 2.0 * found / (np.arange(1, wrong.size + 1) + max(float(found[-1]), 1e-12))
    out = np.zeros(wrong.size, dtype=bool)
    out[order[: int(np.argmax(score)) + 1]] = True
    return out & (wrong >= LEAST)
