"""What is known of each row, in numbers that mean the same on every table.

Whether a label is wrong cannot be read off one score: mistakes near a boundary, in one class, in
whole batches and at random each look different.  So every row is described by what the machines
say about its label (log-odds of the label it has, out of fold), by what is said with its whole
neighbourhood held out, by the labels of its neighbours, by the path, and by what kind of table it
is in.  `experience` has learned from tables with planted errors what follows from that.
"""

from __future__ import annotations

import warnings
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt
from sklearn.neighbors import NearestNeighbors

from homotopy_plugins.auditing.blend import blended_score
from homotopy_plugins.auditing.scores import OwnPath, some
from homotopy_plugins.auditing.wrong_labels import Plateaus

__all__ = ["NEAR", "SOUGHT", "Opinions", "evidence", "nearest", "opinions"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]

# Neighbours that are looked at, and among how many rows at most they are sought.
NEAR, SOUGHT = 30, 20000
# Log-odds beyond this tell nothing more.
SURE = 6.0


@attrs.frozen(eq=False)
class Opinions:
    """Log-odds that a row is of a class, out of fold.

    Attributes
    ----------
    each : array (m, n, k)
        By machine, calibrated on the labels.
    all : array (n, k)
        Blended.
    weights : array (m,)
        How far each machine is relied upon.
    wrong : array (n,)
        The chance that the label is wrong if mistakes were coin tosses (`Plateaus`).
    """

    each: Array
    all: Array
    weights: Array
    wrong: Array

    def take(self, rows: Index) -> Opinions:
        return Opinions(self.each[:, rows], self.all[rows], self.weights, self.wrong[rows])


def opinions(columns: list[Array], codes: Index, k: int) -> Opinions:
    """From scores (n, k) of several machines; nothing is learned from rows with the code -1."""
    n, m = codes.size, len(columns)
    kept = codes >= 0
    each, whole = np.zeros((m, n, k)), np.zeros((n, k))
    weights, wrong = np.zeros(m), np.zeros(n)
    sides = _sides(k)
    for c in sides:
        inside = codes == c
        for one, column in zip(each, columns, strict=True):
            one[:, c] = blended_score(column[:, c : c + 1], inside, kept)[0]
        scores = np.column_stack([column[:, c] for column in columns])
        whole[:, c], weight = blended_score(scores, inside, kept)
        weights += weight / len(sides)
        curve = Plateaus.of(whole[kept, c], inside[kept], k)
        judged = kept if k == 2 else inside
        wrong[judged] = curve.wrong(whole[judged, c], inside[judged])
    if k == 2:
        each[:, :, 0], whole[:, 0] = -each[:, :, 1], -whole[:, 1]
    return Opinions(each, whole, weights, wrong)


def calibrated(columns: list[Array], codes: Index, k: int) -> Array:
    """The mean of several machines' log-odds, (n, k)."""
    kept = np.ones(codes.size, dtype=bool)
    out = np.zeros((codes.size, k))
    for column in columns:
        for c in _sides(k):
            out[:, c] += blended_score(column[:, c : c + 1], codes == c, kept)[0] / len(columns)
    if k == 2:
        out[:, 0] = -out[:, 1]
    return out


def nearest(view: Any, most: int = NEAR) -> Index:
    """The nearest other rows, (n, most); of a large table among some rows only."""
    n = view.shape[0]
    among = some(np.arange(n), SOUGHT)
    wanted = min(most, among.size - 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = NearestNeighbors(n_neighbors=wanted + 1).fit(view[among])
        near = among[found.kneighbors(view, return_distance=False)]
    # A row is not its own neighbour; where it was not found (repeated rows) the last one goes.
    out = np.empty((n, wanted), dtype=np.int64)
    mine = near == np.arange(n)[:, None]
    mine[~mine.any(axis=1), -1] = True
    out[:] = near[~mine].reshape(n, wanted)
    return out


def evidence(said: Opinions, grouped: Array, codes: Index, near: Index, own: OwnPath) -> Array:
    """One line for each row, one column for each of `experience`'s names.

    Parameters
    ----------
    said : Opinions
    grouped : array (n, k)
        Log-odds with whole neighbourhoods held out.
    codes : array (n,)
        The class each row is labelled with.
    near : array (n, m)
        Its neighbours.
    own : OwnPath
    """
    n, k = said.all.shape
    rows = np.arange(n)
    given = said.all[rows, codes]
    others = said.all.copy()
    others[rows, codes] = -np.inf
    gap = np.clip(given, -20.0, 20.0) - np.clip(others.max(axis=1), -20.0, 20.0)
    each = np.sort(said.each[:, rows, codes], axis=0)
    apart = grouped[rows, codes]
    same = codes[near] == codes[:, None]
    many = np.maximum(same.sum(axis=1), 1)
    odds = np.log(np.clip(said.wrong, 1e-4, 1.0 - 1e-4)) - np.log(
        np.clip(1.0 - said.wrong, 1e-4, 1.0)
    )
    by_row = [
        given,
        each[0],
        np.median(each, axis=0),
        each[-1],
        gap,
        apart,
        same[:, :3].mean(axis=1),
        same[:, :10].mean(axis=1),
        same.mean(axis=1),
        np.minimum(np.abs(given), SURE)[near].mean(axis=1),
        ((given < 0.0)[near] & same).mean(axis=1),
        (apart[near] * same).sum(axis=1) / many,
        (given[near] * same).sum(axis=1) / many,
        np.clip(said.all[near, codes[:, None]], -SURE, SURE).mean(axis=1),
        odds,
        np.nan_to_num(own.start),
        np.nan_to_num(own.end),
        np.nan_to_num(own.share),
        _ranks(given),
        _within(_ranks, given, codes, k),
    ]
    few = same[:, :10].mean(axis=1) < 0.5
    return np.column_stack([*by_row, *_of_table(said, gap, apart, few, codes)])


def _of_table(said: Opinions, gap: Array, apart: Array, few: Any, codes: Index) -> list[Array]:
    """What kind of class and of table a row is in; the same for all rows of a class, or for all."""
    n, k = said.all.shape
    share = np.bincount(codes, minlength=k) / n
    given, error = said.all[np.arange(n), codes], gap < 0.0
    entropy = -float(np.sum(share * np.log(np.maximum(share, 1e-12))))
    loss = float(-np.log(np.clip(1.0 / (1.0 + np.exp(-given)), 0.01, 1.0)).mean())
    of_class = [
        _within(np.mean, said.wrong, codes, k),
        _within(np.mean, error.astype(np.float64), codes, k),
        share[codes],
        _within(np.mean, (gap < -2.0).astype(np.float64), codes, k),
    ]
    of_table = [
        error.mean(),
        loss / max(entropy, 1e-12),
        1.0 - error.mean() / max(1.0 - share.max(), 1e-12),
        said.wrong.mean(),
        np.mean(np.abs(gap) < 1.0),
        np.mean(gap < -2.0),
        np.mean(apart < 0.0),
        np.mean(few),
        np.log10(n),
        float(k),
    ]
    return [*of_class, *(np.full(n, value) for value in of_table)]


# In the order of `evidence`.
NAMES = (
    *("blend", "least", "median", "most", "gap", "apart", "near 3", "near 10", "near 30"),
    *("clear nearby", "suspects nearby", "apart nearby", "blend nearby", "vote nearby"),
    *("coin toss", "margin start", "margin end", "outlier share", "rank", "rank in class"),
    *("class coin toss", "class error", "class share", "class strong"),
    *("error", "loss", "skill", "coin tosses", "close", "strong", "error apart", "error nearby"),
    *("log10 n", "classes"),
)
# More of these can only speak for a label.
FOR = ("blend", "least", "median", "most", "gap", "apart", "near 3", "near 10", "near 30")


def _sides(k: int) -> list[int]:
    """Of two classes one against the rest is both."""
    return [1] if k == 2 else list(range(k))


def _ranks(values: Array) -> Array:
    out = np.empty(values.size)
    out[np.argsort(values, kind="stable")] = np.arange(values.size) / max(values.size, 1)
    return out


def _within(function: Any, values: Array, codes: Index, k: int) -> Array:
    """A function of the values of each class."""
    out = np.zeros(values.size)
    for c in range(k):
        rows = codes == c
        if rows.any():
            out[rows] = function(values[rows])
    return out
