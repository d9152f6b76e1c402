"""Rows that are wrong together: alike, with one label, where the rows around have another.

A batch that was labelled wrongly as a whole vouches for itself, row by row: every row of it has
neighbours with the same label.  So suspects of one label that are neighbours of each other are
joined, and the group is judged by the rows around it and by machines that have seen nothing of
the neighbourhood.

A batch that stands by itself, far from the rest, is invisible to both: every machine that has seen
a part of it believes it.  Such a *pocket* is found by its neighbours alone and by what machines say
that have seen nothing of it.  It may be right or wrong, which only a person can tell, so that it is
reported and not counted.

Words put rows far from each other, so that all rows of a class with one word hang together and
may border on nothing but the other class.  That is no pocket: either rows of the other class stand
among them, or machines without them have seen the word with the other label only and say what they
have seen.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from sklearn.neighbors import NearestNeighbors

from homotopy_plugins.auditing.evidence import SOUGHT
from homotopy_plugins.auditing.machines import apart as apart_machines
from homotopy_plugins.auditing.scores import TRACED, some
from homotopy_plugins.auditing.tables import Table
from homotopy_plugins.auditing.targets import Labels
from homotopy_plugins.tables.cells import is_missing
from homotopy_plugins.tables.frames import as_numbers
from homotopy_plugins.tables.kinds import CATEGORIES
from homotopy_plugins.wording import quoted, shown

__all__ = ["FEW", "Group", "Search", "groups_of"]

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
# A pocket stands by itself: of the nearest rows of its rows, whatever their label, at most this
# share is outside it.
OUTSIDE = 0.05
# The rows of a group have a word in common if this share of them has it.  A pocket holds at most
# this share of the rows with its label and that word: machines that have not seen the pocket have
# then seen at least as many such rows as are in it.
SHARED, HELD = 0.9, 0.5
# The rows around a group of at most so many are sought among all rows, its own ones included.
FEW = 100
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
    beside : int
        How many rows are around them: rows that are not in the group, but among the `JOINED`
        such rows nearest to one that is.
    around : float
        The share of those that has the other label.
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
    beside: int
    around: float
    chance: float
    common: tuple[str, ...]
    pocket: bool = False

    def __str__(self) -> str:
        words = (
            f"{self.rows.size} similar rows are labelled {quoted(self.label)}, but "
            f"{self.around:.0%} of the {self.beside} other rows nearest to them are "
            f"{quoted(self.other)}"
        )
        if self.pocket:
            words += (
                f", and models that have not seen them predict {quoted(self.other)} for most of "
                "them (right or wrong together, so check one of them; not counted)"
            )
        return words + (f": {'; '.join(self.common)}" if self.common else "")


class Search:
    """Finds the rows around groups, among the rows `kept`; of a large table among some of them."""

    def __init__(self, view: Any, kept: Index) -> None:
        self.view, self.among = view, some(kept, SOUGHT)
        self.near: NearestNeighbors | None = None

    def around(self, rows: Index) -> Index:
        """The rows outside that are nearest to one inside, whatever their label."""
        if rows.size > FEW:
            rest = np.setdiff1d(self.among, rows)
            if rest.size == 0:
                return rest
            return self._nearest(NearestNeighbors().fit(self.view[rest]), rest, rows, rows[:0])
        if self.near is None:
            self.near = NearestNeighbors().fit(self.view[self.among])
        return self._nearest(self.near, self.among, rows, rows)

    def _nearest(self, near: Any, among: Index, rows: Index, inside: Index) -> Index:
        """The `JOINED` nearest of each row, but for those inside."""
        count = min(JOINED + inside.size, among.size)
        found = among[near.kneighbors(self.view[rows], count, return_distance=False)]
        outside = ~np.isin(found, inside)
        return np.unique(found[outside & (np.cumsum(outside, axis=1) <= JOINED)])


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
    rows, place = np.arange(codes.size), np.maximum(codes, 0)
    suspect = (codes >= 0) & ((wrong >= CHANCE) | (apart[rows, place] < AGAINST))
    search, found = Search(table.views["standard"], np.flatnonzero(codes >= 0)), []
    for part in _parts(suspect, codes, near):
        group = _judged(part, table, labels, wrong, search)
        if group is not None and group.chance >= BELIEVED:
            found.append(group)
    found.sort(key=lambda one: -one.chance * one.rows.size)
    return found + _pockets(table, labels, near, wrong, found, search)


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
    table: Table,
    labels: Labels,
    near: Index,
    wrong: Array,
    known: list[Group],
    search: Search,
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
        if not _by_themselves(part, near) or _only_of_words(part, table, codes):
            continue
        group = _judged(part, table, labels, wrong, search)
        if group is not None and _contradicted(table.views["standard"], codes, group, labels):
            found.append(attrs.evolve(group, pocket=True))
    total = sum(group.rows.size for group in found)
    return found if total <= POCKETS * codes.size else []


def _by_themselves(rows: Index, near: Index) -> bool:
    """Whether hardly any of the nearest rows of these rows is outside; the few rows of a small
    group have as many neighbours inside."""
    close = near[rows, : min(JOINED, rows.size - 1)]
    return bool(np.mean(~np.isin(close, rows)) <= OUTSIDE)


def _only_of_words(rows: Index, table: Table, codes: Index) -> bool:
    """Whether the rows share a word, and machines without them would see too little of it with
    their label.  A column of a few different numbers holds words too."""
    same = np.flatnonzero(codes == codes[rows[0]])
    for _, values in table.sources:
        words = _words(values)
        if words is None:
            continue
        word, many = Counter(words[rows]).most_common(1)[0]
        if many >= SHARED * rows.size and many > HELD * np.sum(words[same] == word):
            return True
    return False


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
    rows: Index, table: Table, labels: Labels, wrong: Array, search: Search
) -> Group | None:
    """A group, if the rows around it contradict it."""
    codes = labels.codes
    code = int(codes[rows[0]])
    around = search.around(rows)
    if around.size == 0:
        return None
    share = np.bincount(codes[around], minlength=labels.classes.size) / around.size
    if share[code] > AROUND:
        return None
    share[code] = -1.0
    other = int(np.argmax(share))
    return Group(
        rows,
        labels.classes[code],
        labels.classes[other],
        int(around.size),
        float(share[other]),
        float(wrong[rows].mean()),
        _common(rows, table, np.flatnonzero(codes == code)),
    )


def _common(rows: Index, table: Table, same: Index) -> tuple[str, ...]:
    """The columns in which the rows are closest to each other, measured by the rows with the same
    label."""
    told = []
    for name, values in table.sources:
        number, moment = as_numbers(values)
        if number is None:
            words = _each_word(values)
            word, many = Counter(words[rows]).most_common(1)[0]
            share = float(np.mean(words[same] == word))
            if many >= SHARED * rows.size and share < NARROW:
                told.append((share, f"{name} is {word}"))
            continue
        here, all_ = number[rows], number[same]
        here, all_ = here[np.isfinite(here)], all_[np.isfinite(all_)]
        if here.size < LEAST or np.ptp(all_) == 0.0:
            continue
        low, high = np.quantile(here, [0.1, 0.9])
        share = float(np.mean((all_ >= low) & (all_ <= high)))
        if share < NARROW:
            begin, end = _end(low, moment), _end(high, moment)
            what = f"is {begin}" if begin == end else f"{begin} to {end}"
            told.append((share, f"{name} {what}"))
    return tuple(words for _, words in sorted(told)[:COLUMNS])


def _words(values: Any) -> Any:
    """The entries of a column as words; None where it holds numbers, unless they are a few."""
    number, _ = as_numbers(values)
    if number is None:
        return _each_word(values)
    few = np.unique(number).size <= CATEGORIES
    return number.astype(str).astype(object) if few else None


def _each_word(values: Any) -> Any:
    entries = np.asarray(values, dtype=object)
    return np.array(["missing" if is_missing(v) else repr(str(v)) for v in entries], dtype=object)


def _end(value: float, moment: bool) -> str:
    """An end of a range; that of dates, in days since 1970, as a date."""
    return str(np.datetime64(int(np.floor(value)), "D")) if moment else shown(value)
