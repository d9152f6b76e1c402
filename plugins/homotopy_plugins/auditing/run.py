"""`audit`: which rows of a table are wrong?

Several machines look at every row without having been trained on it: the s-path of a robust SVM,
from the plain machine to one that outliers cannot pull, on features as they are and on features
bent to a normal distribution, and beside it two that have nothing in common with a kernel
(`scores`).  What they say is blended with weights that the table itself gives (`blend`), and
turned into the chance that a label is wrong and the number of wrong ones (`wrong_labels`,
`wrong_targets`).
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt
from scipy.signal import fftconvolve
from sklearn.base import is_classifier, is_regressor
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import HuberRegressor, LogisticRegression
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.parallel import delayed

from homotopy import DataError, ModelError
from homotopy.progress import progress_bar
from homotopy_plugins.auditing.blend import blended_residual, blended_score
from homotopy_plugins.auditing.report import AuditReport, ordered
from homotopy_plugins.auditing.scores import (
    EXACT,
    FEATURES,
    OwnPath,
    Watched,
    asked,
    own_path,
    predicted,
    watched,
)
from homotopy_plugins.auditing.tables import Table, listed
from homotopy_plugins.auditing.targets import (
    FEWEST,
    Labels,
    check_order,
    column_of,
    labels_of,
    target_of,
    task_of,
)
from homotopy_plugins.auditing.wrong_labels import Plateaus, interval
from homotopy_plugins.auditing.wrong_targets import WrongTargets
from homotopy_plugins.estimators.selection import Watched as Jobs
from homotopy_plugins.kernels.checks import finite, positive

__all__ = ["audit"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Split = tuple[Index, Index]

TREES = 100
# Costs of a regression path; the targets are scaled.
COSTS = (1.0, 10.0)


@attrs.frozen(eq=False)
class Asked:
    """A model that is asked too: its name in reasons, itself, and whether it wants raw columns."""

    name: str
    model: Any
    raw: bool


def audit(
    X: Any,
    y: Any,
    *,
    model: Any = None,
    cv: Any = 5,
    task: str = "auto",
    C: float | None = None,
    level: float = 0.9,
    n_jobs: int | None = None,
    random_state: int = 0,
    verbose: bool = False,
) -> AuditReport:
    """Which rows of a table are wrong, how sure that is, and how many there are.

    Parameters
    ----------
    X : array, pandas DataFrame or sparse matrix (n, d)
        Numbers, categories, dates, with gaps: what was filled in or left out is told in `notes`.
    y : array (n,)
        Labels of two classes or more, or a numeric target.
    model : estimator, list of estimators, False or None
        What is asked beside the paths, out of fold: any scikit-learn classifier (regressor); a
        ``Pipeline`` gets X as it is, any other numbers.  None asks a random forest with leaves of 5
        rows and logistic regression (Huber's regression); False nobody.
    cv : int, splitter or list of splits
        Folds; every row must be held out exactly once.
    task : {"auto", "classification", "regression"}
        "auto" takes numbers with fractions, and whole numbers of more than 20 kinds, for amounts.
    C : float, optional
        The cost of the machines: 1 for labels, 1 and 10 for targets unless given.
    level : float
        The chance with which the number of wrong rows is to lie in ``AuditReport.interval``.
    n_jobs : int, optional
        Processes of joblib.
    random_state : int
        Of the folds and of the default models.
    verbose : bool
        Show a progress bar.

    Returns
    -------
    AuditReport

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from homotopy_plugins import audit
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> report = audit(X, y)
    >>> suspects = report.issues()
    """
    began = time.perf_counter()
    cost = None if C is None else positive(C, "C", "audit")
    share = finite(level, "level", "audit")
    if not 0.0 < share < 1.0:
        raise ModelError(f"audit: level must lie between 0 and 1, got {level!r}")
    table = Table.of(X)
    check_order(X, y)
    column = column_of(y, table.size)
    kind = task_of(column, task)
    models = _models(model, kind, random_state)
    notes = list(table.notes)
    if table.size > EXACT:
        notes.append(
            f"Folds of more than {EXACT} rows: kernels were approximated by {FEATURES} features."
        )
    work = _Work(table, models, share, n_jobs, verbose, notes)
    if kind == "classification":
        found = _labels(work, labels_of(column), cv, cost or 1.0, random_state)
    else:
        costs = COSTS if cost is None else (cost,)
        found = _targets(work, target_of(column), cv, costs, random_state)
    wrong, columns, counts, weights = found
    order = np.lexsort((columns.pop("tie"), -wrong))
    n_wrong = round(float(np.arange(counts.size) @ counts))
    flagged = np.zeros(table.size, dtype=bool)
    flagged[order[:n_wrong]] = True
    columns = {"is_label_issue": flagged, "label_quality": 1.0 - wrong, **columns}
    made, index = ordered(order, columns, table.index)
    # A mean may lie beyond the quantiles, where most of the chance is at 0.
    low, high = interval(counts, share)
    between = min(low, n_wrong), max(high, n_wrong)
    return AuditReport(
        kind,
        n_wrong,
        between,
        share,
        made,
        index,
        weights,
        tuple(notes),
        time.perf_counter() - began,
    )


@attrs.frozen(eq=False)
class _Work:
    """What labels and targets have in common."""

    table: Table
    models: Sequence[Asked]
    level: float
    n_jobs: int | None
    verbose: bool
    notes: list[str]

    def run(self, jobs: list[Any]) -> list[Any]:
        with progress_bar("audit", len(jobs)) if self.verbose else nullcontext() as bar:
            results: list[Any] = Jobs(bar, n_jobs=self.n_jobs)(jobs)
        return results


Found = tuple[Array, dict[str, Any], Array, dict[str, float]]


# ---------------------------------------------------------------------- labels


@attrs.frozen(eq=False)
class _Heard:
    """What was said about every row: by class and view of the features the paths out of fold, by
    class the path on all rows, by model its columns."""

    watches: dict[tuple[int, str], list[Watched]]
    own: dict[int, OwnPath | None]
    said: dict[str, Array]


def _heard(work: _Work, labels: Labels, splits: list[Split], sides: list[int], C: float) -> _Heard:
    table = work.table
    signs = {c: np.where(labels.codes == c, 1.0, -1.0) for c in sides}
    jobs = [
        delayed(watched)(view, signs[c], train, test, C, True)
        for c in sides
        for view in table.views.values()
        for train, test in splits
    ]
    jobs += [delayed(_own)(table.views["standard"], signs[c], labels.kept, C) for c in sides]
    jobs += [
        delayed(asked)(one.model, one.raw, table, labels.given, labels.classes, train, test)
        for one in work.models
        for train, test in splits
    ]
    found = iter(work.run(jobs))
    watches = {(c, name): [next(found) for _ in splits] for c in sides for name in table.views}
    own = {c: next(found) for c in sides}
    said = {one.name: _collected([next(found) for _ in splits], table.size) for one in work.models}
    return _Heard(watches, own, said)


def _labels(work: _Work, labels: Labels, cv: Any, C: float, seed: int) -> Found:
    table, kept, classes = work.table, labels.kept, labels.classes
    n = table.size
    if not kept.all():
        rare = np.unique(labels.given[~kept])
        work.notes.append(
            f"Classes of fewer than {FEWEST} rows are not learned, and their rows are taken for "
            f"wrong: {listed(rare)}."
        )
    splits = _splits(cv, labels.codes, kept, seed, stratified=True)
    # Of two classes one against the rest is both.
    sides = [1] if classes.size == 2 else list(range(classes.size))
    heard = _heard(work, labels, splits, sides, C)
    scores, clean = np.zeros((classes.size, n)), np.zeros((classes.size, n))
    # Rows of a class that is not learned are wrong for certain.
    wrong, counts = np.ones(n), np.r_[np.zeros(int((~kept).sum())), 1.0]
    weights: dict[str, float] = {}
    for c in sides:
        columns, names = _columns_of(heard.watches, table.views, c, n)
        columns += [heard.said[one.name][:, c] for one in work.models]
        names += [one.name for one in work.models]
        inside = labels.codes == c
        score, weight = blended_score(np.column_stack(columns), inside, kept)
        for name, part in zip(names, weight, strict=True):
            weights[name] = weights.get(name, 0.0) + float(part) / len(sides)
        curve = Plateaus.of(score[kept], inside[kept], classes.size)
        scores[c], clean[c] = score, curve.clean(score)
        # Each row is judged by the machine of the class it is said to be of.
        judged = kept if classes.size == 2 else inside
        wrong[judged] = curve.wrong(score[judged], inside[judged])
        counts = _sum_of(counts, curve.counts(score[judged], inside[judged]))
    if classes.size == 2:
        scores[0], clean[0] = -scores[1], 1.0 - clean[1]
    best = classes[np.argmax(clean, axis=0)]
    place = np.maximum(labels.codes, 0)
    ends = _own_ends(heard.own, labels, sides)
    answer = {
        "given_label": labels.given,
        "predicted_label": best,
        "margin_start": ends.start,
        "margin_end": ends.end,
        "outlier_from": ends.first,
        "share": ends.share,
        "reason": _label_reasons(work, labels, ends, heard.said, best),
        "tie": np.where(kept, scores[place, np.arange(n)], -np.inf),
    }
    return wrong, answer, counts, weights


def _own(view: Any, sign: Array, kept: Flags, C: float) -> OwnPath | None:
    """The path on all rows that are learned from; NaN for the others."""
    path = own_path(view[np.flatnonzero(kept)], sign[kept], C, True)
    if path is None or kept.all():
        return path
    full = []
    for part in attrs.astuple(path, recurse=False):
        whole = np.full(kept.size, np.nan)
        whole[kept] = part
        full.append(whole)
    return OwnPath(*full)


def _own_ends(own: dict[int, OwnPath | None], labels: Labels, sides: list[int]) -> OwnPath:
    """Of each row the path of the class it is said to be of."""
    n = labels.codes.size
    parts = [np.full(n, np.nan) for _ in range(4)]
    for c in sides:
        path = own[c]
        if path is None:
            continue
        rows = labels.kept if len(sides) == 1 else labels.codes == c
        for part, values in zip(parts, attrs.astuple(path, recurse=False), strict=True):
            part[rows] = values[rows]
    return OwnPath(*parts)


def _columns_of(
    watches: dict[tuple[int, str], list[Watched]], views: dict[str, Any], c: int, n: int
) -> tuple[list[Array], list[str]]:
    """Start and mean of each path, and what they are called; zeros where a path was not traced."""
    columns, names = [], []
    for name in views:
        values = np.zeros((2, n))
        for part in watches[c, name]:
            if part.values is not None:
                values[:, part.rows] = part.values[:2]
        columns += [values[0], values[1]]
        names += [f"paths ({name} features)"] * 2
    return columns, names


def _collected(parts: list[tuple[Index, Array]], n: int) -> Array:
    whole = np.zeros((n, *parts[0][1].shape[1:]))
    for rows, values in parts:
        whole[rows] = values
    return whole


def _sum_of(one: Array, other: Array) -> Array:
    """The chances of a sum of two independent numbers."""
    total = np.maximum(fftconvolve(one, other), 0.0) if one.size > 1 else other
    return np.asarray(total / total.sum())


def _label_reasons(
    work: _Work, labels: Labels, ends: OwnPath, said: dict[str, Array], best: Any
) -> Any:
    first = work.models[0] if work.models else None
    odds = None
    if first is not None:
        odds = said[first.name]
        top = np.argmax(odds, axis=1)
    reasons = []
    for i in range(labels.codes.size):
        if labels.codes[i] < 0:
            count = int(np.sum(labels.given == labels.given[i]))
            rows = "only this row is" if count == 1 else f"only {count} rows are"
            reasons.append(f"{rows} labelled {_quoted(labels.given[i])}")
            continue
        words = _path_words("margin", ends, i)
        if odds is not None and first is not None:
            label = _quoted(labels.classes[top[i]])
            chance = ""
            if hasattr(first.model, "predict_proba"):
                chance = f" with {1.0 / (1.0 + np.exp(-odds[i, top[i]])):.2f}"
            words.append(f"{first.name} says {label}{chance}")
        elif best[i] != labels.given[i]:
            words.append(f"the paths say {_quoted(best[i])}")
        reasons.append("; ".join(words))
    return np.array(reasons)


def _path_words(called: str, ends: OwnPath, i: int) -> list[str]:
    words = []
    if np.isfinite(ends.start[i]):
        words.append(f"{called} {ends.start[i]:.3g} at the start")
        if np.isfinite(ends.first[i]):
            words.append(f"an outlier from s = {ends.first[i]:.3g} on")
        else:
            words.append("never an outlier")
    return words


def _quoted(value: Any) -> str:
    return repr(str(value)) if isinstance(value, str) else str(value)


# ---------------------------------------------------------------------- targets


def _targets(work: _Work, target: Array, cv: Any, costs: Sequence[float], seed: int) -> Found:
    table, n = work.table, target.size
    middle = float(np.median(target))
    unit = float(np.median(np.abs(target - middle))) / 0.6745 or float(target.std())
    y = (target - middle) / unit
    splits = _splits(cv, np.zeros(n, dtype=np.int64), np.ones(n, dtype=bool), seed, False)
    pairs = [(name, C) for name in table.views for C in costs]
    jobs = [
        delayed(watched)(table.views[name], y, train, test, C, False)
        for name, C in pairs
        for train, test in splits
    ]
    jobs.append(delayed(own_path)(table.views["standard"], y, costs[0], False))
    jobs += [
        delayed(predicted)(one.model, one.raw, table, y, train, test)
        for one in work.models
        for train, test in splits
    ]
    found = iter(work.run(jobs))
    columns, names = [], []
    for name, C in pairs:
        values = np.zeros(n)
        for _ in splits:
            part = next(found)
            if part.values is not None:
                values[part.rows] = part.values[1]
        columns.append(values)
        names.append(f"paths ({name} features, C = {C:g})")
    own = next(found)
    said = {}
    for one in work.models:
        said[one.name] = _collected([next(found) for _ in splits], n)
        columns.append(said[one.name])
        names.append(one.name)
    residual, weight = blended_residual(np.column_stack(columns) - y[:, None])
    weights: dict[str, float] = {}
    for name, part in zip(names, weight, strict=True):
        weights[name] = weights.get(name, 0.0) + float(part)
    judge = WrongTargets.of(residual, y)
    ends = own or OwnPath(*(np.full(n, np.nan) for _ in range(4)))
    ends = OwnPath(unit * ends.start, unit * ends.end, unit * ends.first, ends.share)
    answer = {
        "given_label": target,
        "predicted_label": middle + unit * (y + residual),
        "residual_start": ends.start,
        "residual_end": ends.end,
        "outlier_from": ends.first,
        "share": ends.share,
        "reason": _target_reasons(work, ends, {k: middle + unit * v for k, v in said.items()}),
        "tie": -np.abs(residual),
    }
    return judge.wrong(residual), answer, judge.counts(residual), weights


def _target_reasons(work: _Work, ends: OwnPath, said: dict[str, Array]) -> Any:
    first = work.models[0].name if work.models else None
    reasons = []
    for i in range(ends.start.size):
        words = _path_words("residual", ends, i)
        if first is not None:
            words.append(f"{first} says {said[first][i]:.4g}")
        reasons.append("; ".join(words))
    return np.array(reasons)


# ---------------------------------------------------------------------- folds and models


def _splits(cv: Any, codes: Index, kept: Flags, seed: int, stratified: bool) -> list[Split]:
    """Folds in which every row is held out once; rows that cannot be learned from are only looked
    at."""
    n, rows = codes.size, np.flatnonzero(kept)
    whole = isinstance(cv, int | np.integer) and not isinstance(cv, bool)
    if not whole:
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


def _models(model: Any, task: str, seed: int) -> list[Asked]:
    if model is False:
        return []
    labels = task == "classification"
    if model is None:
        if labels:
            return [
                Asked(
                    "the forest",
                    RandomForestClassifier(TREES, min_samples_leaf=5, random_state=seed),
                    False,
                ),
                Asked(
                    "logistic regression",
                    make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
                    False,
                ),
            ]
        huber = make_pipeline(StandardScaler(), HuberRegressor(max_iter=1000))
        return [
            Asked(
                "the forest",
                RandomForestRegressor(TREES, min_samples_leaf=5, random_state=seed),
                False,
            ),
            Asked("Huber's regression", huber, False),
        ]
    out: list[Asked] = []
    for one in model if isinstance(model, list | tuple) else [model]:
        if isinstance(one, type) or not hasattr(one, "fit"):
            raise ModelError(
                f"audit: model must be a scikit-learn estimator, a list of them, False or None, "
                f"got {one!r}"
            )
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
