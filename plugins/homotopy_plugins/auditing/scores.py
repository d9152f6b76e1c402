"""What the machines say about rows they were not trained on.

A path along s is traced on the training part of each fold and watched on the other: the value
f(x) at the start (the plain machine) and on average.  Any scikit-learn estimator is asked in the
same folds.  A second kind of fold holds out whole neighbourhoods (`neighbourhoods`), because rows
that are wrong together vouch for each other as long as some of them are learned from.
"""

from __future__ import annotations

import warnings
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from homotopy import Path, TraceError
from homotopy_plugins.auditing.tables import Table
from homotopy_plugins.estimators.audit import Fits
from homotopy_plugins.estimators.proven import proven
from homotopy_plugins.estimators.svm import RobustSVR
from homotopy_plugins.models.hinge_ramp import HingeRamp

__all__ = [
    "TRACED",
    "OwnPath",
    "asked",
    "neighbourhoods",
    "own_path",
    "predicted",
    "said",
    "some",
    "watched",
]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]

# Evenly spaced s at which held-out rows are looked at.
LOOKS = 51
# A path is traced on at most this many rows, drawn at random; the others are watched.
TRACED = 1500
# Rows that are watched at a time: a block of the kernel matrix has to fit into memory.
BLOCK = 4000
# Neighbourhoods are found on at most this many rows.
CLUSTERED = 5000
# Tables of fewer numbers are learnt from with one thread: on busy cores the threads of boosted
# trees wait for each other much longer than they work.
THREADED = 500_000


@attrs.frozen(eq=False)
class OwnPath:
    """What one path does with all rows: margins (residuals) at both ends, where each first becomes
    an outlier, and on what part of the path it is one."""

    start: Array
    end: Array
    first: Array
    share: Array

    @classmethod
    def unknown(cls, n: int) -> OwnPath:
        return cls(*(np.full(n, np.nan) for _ in range(4)))

    def take(self, rows: Any) -> OwnPath:
        return OwnPath(*(part[rows] for part in attrs.astuple(self, recurse=False)))

    def fill(self, rows: Any, other: OwnPath) -> None:
        """Put what another path says about `rows` in their place."""
        pairs = zip(
            attrs.astuple(self, recurse=False), attrs.astuple(other, recurse=False), strict=True
        )
        for mine, theirs in pairs:
            mine[rows] = theirs[rows]


def some(rows: Index, most: int, y: Any = None) -> Index:
    """At most `most` of `rows`, at random; each value of `y` keeps its share, and two rows."""
    if rows.size <= most:
        return rows
    rng = np.random.default_rng(rows.size)
    if y is None:
        return np.sort(rng.choice(rows, most, replace=False))
    parts = []
    for value in np.unique(y[rows]):
        here = rows[y[rows] == value]
        count = min(here.size, max(2, round(most * here.size / rows.size)))
        parts.append(rng.choice(here, count, replace=False))
    return np.sort(np.concatenate(parts))


def watched(view: Any, y: Array, train: Index, test: Index, C: float, labels: bool) -> Array | None:
    """Trace on `train`, watch `test`: f at the start and on average, (2, rows); None if nothing
    could be traced."""
    with threadpool_limits(1, user_api="blas"):
        path = _traced(view, some(train, TRACED, y if labels else None), y, C, labels)
        if path is None:
            return None
        first, last = path.traced
        at = np.linspace(first, last, LOOKS)
        parts = []
        for begin in range(0, test.size, BLOCK):
            held = view[test[begin : begin + BLOCK]]
            values = path.decision_function(held, at)
            values[0] = path.decision_function(held, first, side="before")
            mean = (values.sum(axis=0) - 0.5 * (values[0] + values[-1])) / (LOOKS - 1)
            parts.append(np.stack([values[0], mean]))
        return np.hstack(parts)


def own_path(view: Any, y: Array, C: float, labels: bool) -> OwnPath | None:
    """The path on all rows; of many rows on some, and the others are watched."""
    with threadpool_limits(1, user_api="blas"):
        everyone = np.arange(y.size)
        rows = some(everyone, TRACED, y if labels else None)
        path = _traced(view, rows, y, C, labels)
        if path is None:
            return None
        if rows.size < y.size:
            parts = []
            for begin in range(0, y.size, BLOCK):
                block = slice(begin, begin + BLOCK)
                seen = Fits.watched(path, view[block], y[block])
                parts.append([seen.start, seen.end, seen.first, seen.share])
            return OwnPath(*(np.concatenate(part) for part in zip(*parts, strict=True)))
        first, last = path.traced
        ends = [path.response(first, "before"), path.response(last)]
        if not labels:
            ends = [np.abs(y - f) for f in ends]
        model: Any = path.model
        stays = path.occupancy(*model.outlier_pieces)
        return OwnPath(ends[0], ends[1], stays.first, stays.share)


def threads_for(rows: Any) -> Any:
    """A context with as many threads as pay for a table."""
    return threadpool_limits(1, user_api="blas" if rows.size >= THREADED else None)


def asked(
    model: Any, raw: bool, table: Table, y: Any, classes: Any, train: Index, test: Index
) -> Array:
    """What a classifier trained on `train` says about `test`: log-odds of each class, or values of
    its decision function; (rows, number of classes)."""
    rows = table.rows(train, raw)
    with threads_for(rows), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = clone(model).fit(rows, y[train])
        return said(fitted, table.rows(test, raw), classes)


def said(fitted: Any, new: Any, classes: Any) -> Array:
    """Log-odds of each class, or values of a decision function, from a fitted classifier."""
    n = new.shape[0]
    out = np.zeros((n, len(classes)))
    place = np.searchsorted(classes, fitted.classes_)
    if hasattr(fitted, "predict_proba"):
        chance = np.zeros_like(out)
        chance[:, place] = fitted.predict_proba(new)
        return log_odds(chance)
    if hasattr(fitted, "decision_function"):
        value = np.asarray(fitted.decision_function(new), dtype=np.float64)
        if value.ndim == 1:
            value = np.column_stack([-value, value])
        out[:] = value.min() if value.size else 0.0
        out[:, place] = value
        return out
    out[:] = -1.0
    out[np.arange(n), np.searchsorted(classes, fitted.predict(new))] = 1.0
    return out


def predicted(model: Any, raw: bool, table: Table, y: Array, train: Index, test: Index) -> Array:
    """What a regressor trained on `train` predicts for `test`."""
    rows = table.rows(train, raw)
    with threads_for(rows), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = clone(model).fit(rows, y[train])
        values = np.asarray(fitted.predict(table.rows(test, raw)), dtype=np.float64)
        return values.reshape(test.size)


def log_odds(chance: Array) -> Array:
    p = np.clip(chance, 0.01, 0.99)
    return np.asarray(np.log(p) - np.log1p(-p))


def neighbourhoods(view: Any, count: int, folds: int, seed: int) -> list[tuple[Index, Index]]:
    """Folds that hold out whole neighbourhoods, about equally many rows each."""
    n = view.shape[0]
    with threadpool_limits(1), warnings.catch_warnings():
        # Fewer different rows than neighbourhoods: some stay empty.
        warnings.simplefilter("ignore")
        means = KMeans(min(count, max(2, n // 5)), n_init=1, random_state=seed)
        where = means.fit(view[some(np.arange(n), CLUSTERED)]).predict(view)
    size = np.bincount(where)
    fold, load = np.zeros(size.size, dtype=np.int64), np.zeros(folds)
    for cluster in np.argsort(-size, kind="stable"):
        fold[cluster] = np.argmin(load)
        load[fold[cluster]] += size[cluster]
    held = fold[where]
    pairs = [(np.flatnonzero(held != k), np.flatnonzero(held == k)) for k in range(folds)]
    return [(train, test) for train, test in pairs if train.size and test.size]


def _width(view: Any) -> float:
    """As gamma="scale"."""
    if sp.issparse(view):
        mean = view.mean()
        spread = float(view.multiply(view).mean() - mean * mean)
    else:
        spread = float(view.var())
    return 1.0 / (view.shape[1] * spread) if spread > 0.0 else 1.0


def _traced(view: Any, rows: Index, y: Array, C: float, labels: bool) -> Path | None:
    X, y, gamma = view[rows], y[rows], _width(view)
    try:
        if labels:
            if np.all(y == y[0]):
                return None
            model = HingeRamp(
                X, y, C=C, fit_intercept=True, path="s", theta=0.0, s=0.0, kernel="rbf", gamma=gamma
            )
            # What there is of a path still tells something of every row.
            return proven(model).path
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            machine = RobustSVR(C=C, path="s", robustness=0.0, kernel="rbf", gamma=gamma)
            path: Path = machine.fit(X, y).path_
            return path
    except TraceError as error:
        return error.path if isinstance(error.path, Path) else None
