"""What the machines say about rows they were not trained on.

A path along s is traced on the training part of each fold and watched on the other: the value
f(x) at the start (the plain machine), on average, and at the end.  Any scikit-learn estimator is
asked in the same folds.
"""

from __future__ import annotations

import warnings
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.kernel_approximation import Nystroem
from threadpoolctl import threadpool_limits

from homotopy import Path, TraceError
from homotopy_plugins.auditing.tables import Table
from homotopy_plugins.estimators.proven import proven
from homotopy_plugins.estimators.svm import RobustSVR
from homotopy_plugins.models.hinge_ramp import HingeRamp

__all__ = ["OwnPath", "Watched", "asked", "own_path", "predicted", "watched"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]

# Evenly spaced s at which held-out rows are looked at.
LOOKS = 51
# With more training rows than this, a kernel is approximated by so many features.
EXACT, FEATURES = 5000, 300
# Clear of every residual: a regression path is traced to its usual end.
FAR = 1e9


@attrs.frozen(eq=False)
class Watched:
    """f at held-out rows at the start, on average and at the end of a path; None if none was
    traced."""

    rows: Index
    values: Array | None


@attrs.frozen(eq=False)
class OwnPath:
    """What a path on all rows does with them: margins (residuals) at both ends, where each first
    becomes an outlier, and on what part of the path it is one."""

    start: Array
    end: Array
    first: Array
    share: Array


def watched(view: Any, y: Array, train: Index, test: Index, C: float, labels: bool) -> Watched:
    """Trace on `train`, watch `test`."""
    with threadpool_limits(1, user_api="blas"):
        kept, held, kernel = _features(view, train, test)
        path = _traced(kept, y[train], C, kernel, labels)
        if path is None:
            return Watched(test, None)
        first, last = path.traced
        at = np.linspace(first, last, LOOKS)
        values = path.decision_function(held, at)
        values[0] = path.decision_function(held, first, side="before")
        mean = (values.sum(axis=0) - 0.5 * (values[0] + values[-1])) / (LOOKS - 1)
        return Watched(test, np.stack([values[0], mean, values[-1]]))


def own_path(view: Any, y: Array, C: float, labels: bool) -> OwnPath | None:
    """The path on all rows."""
    with threadpool_limits(1, user_api="blas"):
        everyone = np.arange(y.size)
        kept, _, kernel = _features(view, everyone, everyone[:1])
        path = _traced(kept, y, C, kernel, labels)
        if path is None:
            return None
        first, last = path.traced
        ends = [path.response(first, "before"), path.response(last)]
        if not labels:
            ends = [np.abs(y - f) for f in ends]
        model: Any = path.model
        stays = path.stays(*model.outlier_pieces)
        return OwnPath(ends[0], ends[1], stays.first, stays.share)


def asked(
    model: Any, raw: bool, table: Table, y: Any, classes: Any, train: Index, test: Index
) -> tuple[Index, Array]:
    """What a classifier trained on `train` says about `test`: log-odds of each class, or values of
    its decision function; (rows, (n, number of classes))."""
    with threadpool_limits(1, user_api="blas"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = clone(model).fit(table.rows(train, raw), y[train])
        new = table.rows(test, raw)
        out = np.zeros((test.size, len(classes)))
        place = np.searchsorted(classes, fitted.classes_)
        if hasattr(fitted, "predict_proba"):
            chance = np.zeros_like(out)
            chance[:, place] = fitted.predict_proba(new)
            return test, log_odds(chance)
        if hasattr(fitted, "decision_function"):
            value = np.asarray(fitted.decision_function(new), dtype=np.float64)
            if value.ndim == 1:
                value = np.column_stack([-value, value])
            out[:] = value.min() if value.size else 0.0
            out[:, place] = value
            return test, out
        out[:] = -1.0
        out[np.arange(test.size), np.searchsorted(classes, fitted.predict(new))] = 1.0
        return test, out


def predicted(
    model: Any, raw: bool, table: Table, y: Array, train: Index, test: Index
) -> tuple[Index, Array]:
    """What a regressor trained on `train` predicts for `test`."""
    with threadpool_limits(1, user_api="blas"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = clone(model).fit(table.rows(train, raw), y[train])
        values = np.asarray(fitted.predict(table.rows(test, raw)), dtype=np.float64)
        return test, values.reshape(test.size)


def log_odds(chance: Array) -> Array:
    p = np.clip(chance, 0.01, 0.99)
    return np.asarray(np.log(p) - np.log1p(-p))


def _features(view: Any, train: Index, test: Index) -> tuple[Any, Any, dict[str, Any]]:
    """Rows to train on, rows to watch, and the kernel; approximated where rows are many."""
    gamma = _width(view)
    if train.size <= EXACT:
        return view[train], view[test], {"kernel": "rbf", "gamma": gamma}
    bent = Nystroem(gamma=gamma, n_components=FEATURES, random_state=0).fit(view[train])
    return bent.transform(view[train]), bent.transform(view[test]), {"kernel": "linear"}


def _width(view: Any) -> float:
    """As gamma="scale"."""
    if sp.issparse(view):
        mean = view.mean()
        spread = float(view.multiply(view).mean() - mean * mean)
    else:
        spread = float(view.var())
    return 1.0 / (view.shape[1] * spread) if spread > 0.0 else 1.0


def _traced(X: Any, y: Array, C: float, kernel: dict[str, Any], labels: bool) -> Path | None:
    try:
        if labels:
            if np.all(y == y[0]):
                return None
            model = HingeRamp(X, y, C=C, fit_intercept=True, path="s", theta=0.0, s=0.0, **kernel)
            # What there is of a path still tells something of every row.
            return proven(model).path
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            path: Path = RobustSVR(C=C, path="s", robustness=FAR, **kernel).fit(X, y).path_
            return path
    except TraceError as error:
        return error.path if isinstance(error.path, Path) else None
