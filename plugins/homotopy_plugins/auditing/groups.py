"""Rows that are wrong together: alike, with one label, where the rows around have another.

A batch that was labelled wrongly as a whole vouches for itself, row by row: every row of it has
neighbours with the same label.  So suspects of one label that are neighbours of each other are
joined, and the group is judged by the rows around it and by machines that have seen nothing of
the neighbourhood.

A batch that stands by itself, far from the rest, is invisible to both: every machine that has seen
a part of it believes it.  Such a *pocket* is found by its neighbours alone and by what machines say
that have seen nothing of it.  It may be right or wrong, which only a person can tell, so that it is
reported and not counted.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from homotopy_plugins.auditing.machines import apart as apart_machines
from homotopy_plugins.auditing.scores import TRACED, some
from homotopy_plugins.auditing.tables import Table
from homotopy_plugins.auditing.targets import Labels
from homotopy_plugins.tables.cells import is_missing
from homotopy_plugins.tables.frames import as_numbers
from homotopy_plugins.wording import quoted

__all__ = ["Group", "groups_of"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]

# Suspects are joined to this many of their nearest rows; a group has at least LEAST rows.
JOINED, LEAST = 10, 5
# A row may belong to a group with this chance of being wrong, or if machines that have not seen its
# neighbourhood speak against its label by this much in log-odds.
CHANCE, AGAINST = 0.25, -1.5
# Around a group at most this share of rows has its label; its rows are wrong with this chance.
AROUND, BELIEVED = 0.4, 0.3
# A pocket has at most this share of the rows of its class, and all pockets together this share of
# all rows: where there are more, classes are made of pockets.
POCKET, POCKETS = 0.3, 0.15
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
    pocket : bool
        Whether they stand by themselves: right or wrong together, and not counted as wrong.
    """

    rows: Index
    label: Any
    other: Any
    around: float
    chance: float
    common: tuple[str, ...]
    pocket: bool = False

    def __str__(self) -> str:
        words = (
            f"{self.rows.size} similar rows are labelled {quoted(self.label)}, but "
            f"{self.around:.0%} of the rows around them are {quoted(self.other)}"
        )
        if self.pocket:
            words += (
                f", and models that have not seen them predict {quoted(self.other)} (right or "
                "wrong together, so check one of them; not counted)"
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
    found = []
    for part in _parts(suspect, codes, near):
        group = _judged(part, table, labels, near, wrong, k)
        if group is not None and group.chance >= BELIEVED:
            found.append(group)
    found.sort(key=lambda one: -one.chance * one.rows.size)
    return found + _pockets(table, labels, near, wrong, found)


def _parts(chosen: Any, codes: Index, near: Index) -> list[Index]:
    """Chosen rows of one label that hang together as neighbours, `LEAST` or more."""
    if chosen.sum() < LEAST:
        return []
    some_ = np.repeat(np.flatnonzero(chosen), min(JOINED, near.shape[1]))
    other = near[chosen][:, :JOINED].ravel()
    joined = (other >= 0) & chosen[other] & (codes[some_] == codes[other])
    pairs = (some_[joined], other[joined])
    links = sp.coo_matrix((np.ones(joined.sum()), pairs), shape=(codes.size, codes.size))
    part = connected_components(links, directed=False)[1]
    sizes = np.bincount(part[chosen])
    return [np.flatnonzero(chosen & (part == one)) for one in np.flatnonzero(sizes >= LEAST)]


def _pockets(
    table: Table, labels: Labels, near: Index, wrong: Array, known: list[Group]
) -> list[Group]:
    """Rows of one label that stand by themselves where the rows around, and machines that have not
    seen them, say another."""
    codes = labels.codes
    size = np.bincount(codes[codes >= 0])
    taken = np.concatenate([group.rows for group in known]) if known else np.empty(0, dtype=int)
    found = []
    for part in _parts(codes >= 0, codes, near):
        if part.size > POCKET * size[codes[part[0]]] or np.isin(part, taken).any():
            continue
        group = _judged(part, table, labels, near, wrong, size.size)
        if group is not None and _contradicted(table.views["standard"], codes, group, labels):
            found.append(attrs.evolve(group, pocket=True))
    total = sum(group.rows.size for group in found)
    return found if total <= POCKETS * codes.size else []


def _contradicted(view: Any, codes: Index, group: Group, labels: Labels) -> bool:
    """Whether every machine that has not seen the rows says the other label of most of them."""
    rest = np.setdiff1d(np.flatnonzero(codes >= 0), group.rows)
    rest = some(rest, TRACED, codes)
    if np.unique(codes[rest]).size < 2:
        return False
    other = int(np.searchsorted(labels.classes, group.other))
    said = [one.fit(view[rest], codes[rest]).predict(view[group.rows]) for one in apart_machines()]
    return all(np.mean(one == other) > 0.5 for one in said)


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
    if count[code] > AROUND:
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
        number, moment = as_numbers(values)
        if number is None:
            words = [_word(value) for value in np.asarray(values, dtype=object)]
            (word, many), *_ = Counter(words[i] for i in rows).most_common(1)
            share = float(np.mean([words[i] == word for i in same]))
            if many >= 0.9 * rows.size and share < NARROW:
                told.append((share, f"{name} is {word}"))
            continue
        here, all_ = number[rows], number[same]
        here, all_ = here[np.isfinite(here)], all_[np.isfinite(all_)]
        if here.size < LEAST or np.ptp(all_) == 0.0:
            continue
        low, high = np.quantile(here, [0.1, 0.9])
        share = float(np.mean((all_ >= low) & (all_ <= high)))
        if share < NARROW:
            told.append((share, f"{name} {_end(low, moment)} to {_end(high, moment)}"))
    return tuple(words for _, words in sorted(told)[:COLUMNS])


def _word(value: Any) -> str:
    return "missing" if is_missing(value) else repr(str(value))


def _end(value: float, moment: bool) -> str:
    """An end of a range; that of dates, in days since 1970, as a date."""
    return str(np.datetime64(int(np.floor(value)), "D")) if moment else f"{value:.4g}"
