"""Rows that are wrong together: alike, with one label, where the rows around have another.

A batch that was labelled wrongly as a whole vouches for itself, row by row: every row of it has
neighbours with the same label.  So suspects of one label that are neighbours of each other are
joined, and the group is judged by the rows around it and by machines that have seen nothing of
the neighbourhood.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from homotopy_plugins.auditing.tables import Table, as_numbers
from homotopy_plugins.auditing.targets import Labels

__all__ = ["Group", "groups_of"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]

# Suspects are joined to so many of their nearest rows; a group has at least LEAST rows.
JOINED, LEAST = 10, 5
# A row may belong to a group with this chance of being wrong, or if machines that have not seen its
# neighbourhood speak against its label by this much in log-odds.
CHANCE, AGAINST = 0.25, -1.5
# Around a group at most this share of rows has its label; its rows are wrong with this chance.
AROUND, BELIEVED = 0.4, 0.3
# What the rows have in common: columns whose spread in the group is at most this part of all.
NARROW, COLUMNS = 0.5, 3


@attrs.frozen(eq=False)
class Group:
    """Rows that are alike and contradict the rows around them.

    Attributes
    ----------
    rows : array
    label, other : object
        The label they have, and the one that most rows around them have.
    around : float
        The share of rows around them that has the other label.
    chance : float
        The mean chance that they are wrong.
    common : tuple of str
        What they have in common.
    """

    rows: Index
    label: Any
    other: Any
    around: float
    chance: float
    common: tuple[str, ...]

    def __str__(self) -> str:
        words = (
            f"{self.rows.size} rows alike, all {_quoted(self.label)}, where {self.around:.0%} of "
            f"the rows around are {_quoted(self.other)}"
        )
        return words + (f": {'; '.join(self.common)}" if self.common else "")


def groups_of(
    table: Table, labels: Labels, near: Index, odds: Array, wrong: Array, apart: Array
) -> list[Group]:
    """The groups, the most suspicious first.

    Parameters
    ----------
    near : array (n, m)
        The nearest rows; -1 where there is none.
    odds, apart : array (n, k)
        Log-odds of each class out of fold, and with whole neighbourhoods held out.
    wrong : array (n,)
        The chance that each row is wrong.
    """
    codes = labels.codes
    n, k = odds.shape
    rows, place = np.arange(n), np.maximum(codes, 0)
    suspect = (codes >= 0) & ((wrong >= CHANCE) | (apart[rows, place] < AGAINST))
    if suspect.sum() < LEAST:
        return []
    some = np.repeat(np.flatnonzero(suspect), min(JOINED, near.shape[1]))
    other = near[suspect][:, :JOINED].ravel()
    joined = (other >= 0) & suspect[other] & (codes[some] == codes[other])
    links = sp.coo_matrix((np.ones(joined.sum()), (some[joined], other[joined])), shape=(n, n))
    part = connected_components(links, directed=False)[1]
    part[~suspect] = -1
    found = []
    for number in np.flatnonzero(np.bincount(part[suspect]) >= LEAST):
        group = _judged(np.flatnonzero(part == number), table, labels, near, wrong, k)
        if group is not None:
            found.append(group)
    return sorted(found, key=lambda one: -one.chance * one.rows.size)


def _judged(
    rows: Index, table: Table, labels: Labels, near: Index, wrong: Array, k: int
) -> Group | None:
    """A group, if the rows around it contradict it."""
    around = near[rows].ravel()
    around = around[(around >= 0) & ~np.isin(around, rows)]
    code = int(labels.codes[rows[0]])
    chance = float(wrong[rows].mean())
    if around.size == 0:
        return None
    count = np.bincount(labels.codes[around], minlength=k) / around.size
    if count[code] > AROUND or chance < BELIEVED:
        return None
    count[code] = -1.0
    other = int(np.argmax(count))
    return Group(
        rows,
        labels.classes[code],
        labels.classes[other],
        float(count[other]),
        chance,
        _common(rows, table, np.flatnonzero(labels.codes == code)),
    )


def _common(rows: Index, table: Table, same: Index) -> tuple[str, ...]:
    """The columns in which the rows are closest to each other, measured by the rows with the same
    label."""
    told = []
    for name, values in table.sources:
        number = as_numbers(values)[0]
        if number is None:
            words = np.asarray(values, dtype=object)
            (word, many), *_ = Counter(str(value) for value in words[rows]).most_common(1)
            share = float(np.mean([str(value) == word for value in words[same]]))
            if many >= 0.9 * rows.size and share < NARROW:
                told.append((share, f"{name} is {word!r}"))
            continue
        here, all_ = number[rows], number[same]
        here, all_ = here[np.isfinite(here)], all_[np.isfinite(all_)]
        if here.size < LEAST or np.ptp(all_) == 0.0:
            continue
        low, high = np.quantile(here, [0.1, 0.9])
        share = float(np.mean((all_ >= low) & (all_ <= high)))
        if share < NARROW:
            told.append((share, f"{name} {low:.4g} to {high:.4g}"))
    return tuple(words for _, words in sorted(told)[:COLUMNS])


def _quoted(value: Any) -> str:
    return repr(str(value)) if isinstance(value, str) else str(value)
