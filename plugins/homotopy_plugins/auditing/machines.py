"""Who is asked, and which rows each of them is asked about."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt
from sklearn.base import is_classifier, is_regressor
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import HuberRegressor, LogisticRegression
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.svm import SVC

from homotopy import DataError, ModelError
from homotopy_plugins.kernels.checks import is_whole

__all__ = ["Asked", "apart", "machines_of", "splits_of"]

Index = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Split = tuple[Index, Index]

TREES = 100
# A tree of the forest sees at most this many rows: as good, and less time on a large table.
SAMPLED = 20000
BOOSTED = {
    "max_iter": 80,
    "max_leaf_nodes": 8,
    "min_samples_leaf": 10,
    "early_stopping": False,
}


@attrs.frozen(eq=False)
class Asked:
    """A model that is asked too: its name in reasons, itself, whether it wants raw columns, and
    about how long a fit takes beside a path of 1000 rows: at any size, and more for each 1000
    rows."""

    name: str
    model: Any
    raw: bool
    cost: float = 0.5
    growth: float = 1.0


def machines_of(model: Any, task: str, seed: int, n: int, sparse: bool) -> list[Asked]:
    """What `model` stands for."""
    if model is False:
        return []
    if model is None:
        return _defaults(task == "classification", seed, n, sparse)
    out: list[Asked] = []
    for one in model if isinstance(model, list | tuple) else [model]:
        if isinstance(one, type) or not hasattr(one, "fit"):
            raise ModelError(
                f"audit: model must be a scikit-learn estimator, a list of them, False or None, "
                f"got {one!r}"
            )
        labels = task == "classification"
        fits = is_classifier(one) if labels else is_regressor(one)
        if not fits:
            wanted = "a classifier" if labels else "a regressor"
            raise ModelError(
                f"audit: y asks for {task} and model={type(one).__name__} is not {wanted}; give "
                "another model, or task= if y was taken for the wrong thing"
            )
        last = one.steps[-1][1] if isinstance(one, Pipeline) else one
        name = type(last).__name__
        same = sum(other.name.split(" #")[0] == name for other in out)
        out.append(Asked(f"{name} #{same + 1}" if same else name, one, isinstance(one, Pipeline)))
    return out


def _defaults(labels: bool, seed: int, n: int, sparse: bool) -> list[Asked]:
    """A forest, a line and, where columns are dense, boosted trees."""
    options: dict[str, Any] = {"min_samples_leaf": 5, "random_state": seed}
    options["max_samples"] = None if n <= SAMPLED else SAMPLED / n
    scaler = MaxAbsScaler() if sparse else StandardScaler()
    if labels:
        forest: Any = RandomForestClassifier(TREES, **options)
        line: Any = LogisticRegression(max_iter=1000)
        boosted: Any = HistGradientBoostingClassifier(
            l2_regularization=1.0, random_state=seed, **BOOSTED
        )
    else:
        forest = RandomForestRegressor(TREES, **options)
        line = HuberRegressor(max_iter=1000)
        boosted = HistGradientBoostingRegressor(loss="absolute_error", random_state=seed, **BOOSTED)
    name = "logistic regression" if labels else "Huber's regression"
    out = [
        Asked("the forest", forest, False, 0.5, 1.5),
        Asked(name, make_pipeline(scaler, line), False, 0.1, 0.0),
    ]
    return out if sparse else [*out, Asked("gradient boosting", boosted, False, 0.6, 0.02)]


def apart() -> list[Any]:
    """The machines that are asked with whole neighbourhoods held out; they get scaled columns."""
    return [SVC(), LogisticRegression(max_iter=500)]


def splits_of(cv: Any, codes: Index, kept: Flags, seed: int, stratified: bool) -> list[Split]:
    """Folds in which every row is held out once; rows that cannot be learned from are only looked
    at."""
    n, rows = codes.size, np.flatnonzero(kept)
    if not is_whole(cv):
        return _given_splits(cv, codes, kept, n)
    most = int(np.bincount(codes[rows]).max()) if stratified else rows.size
    if cv < 2:
        raise ModelError(f"audit: cv must be at least 2, got {cv!r}")
    folds = min(int(cv), most)
    if rows.size < 4 or folds < 2:
        raise DataError(f"audit: {rows.size} rows are too few to hold some out")
    splitter = (StratifiedKFold if stratified else KFold)(folds, shuffle=True, random_state=seed)
    left = np.flatnonzero(~kept)
    out = []
    with warnings.catch_warnings():
        # A class with fewer rows than folds is missing from the test part of some.
        warnings.simplefilter("ignore")
        for k, (train, test) in enumerate(splitter.split(rows, codes[rows])):
            out.append((rows[train], np.sort(np.r_[rows[test], left[k::folds]])))
    return out


def _given_splits(cv: Any, codes: Index, kept: Flags, n: int) -> list[Split]:
    if isinstance(cv, str) or not (hasattr(cv, "split") or isinstance(cv, Sequence)):
        raise ModelError(
            f"audit: cv must be a whole number, a splitter or a list of splits, got {cv!r}"
        )
    pairs = cv.split(np.zeros((n, 1)), codes) if hasattr(cv, "split") else cv
    splits = [(np.asarray(train), np.asarray(test)) for train, test in pairs]
    held = np.bincount(np.concatenate([test for _, test in splits]), minlength=n)
    if np.any(held != 1):
        row = int(np.flatnonzero(held != 1)[0])
        raise ModelError(
            f"audit: cv must hold every row out exactly once; row {row} is held out "
            f"{held[row]} times"
        )
    return [(train[kept[train]], test) for train, test in splits]
