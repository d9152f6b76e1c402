"""The audit of labels: machines are asked, and what they say becomes a chance for each row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from homotopy_plugins.auditing.evidence import (
    calibrated,
    evidence,
    nearest,
    opinions,
)
from homotopy_plugins.auditing.experience import Experience, named
from homotopy_plugins.auditing.found import Found, Work
from homotopy_plugins.auditing.gate import label_skill
from homotopy_plugins.auditing.groups import groups_of
from homotopy_plugins.auditing.jobs import job
from homotopy_plugins.auditing.machines import apart, splits_of
from homotopy_plugins.auditing.scores import (
    TRACED,
    OwnPath,
    asked,
    neighbourhoods,
    own_path,
    said,
    some,
    watched,
)
from homotopy_plugins.auditing.targets import Labels
from homotopy_plugins.auditing.words import label_reasons
from homotopy_plugins.tasks import FEWEST
from homotopy_plugins.wording import listed, quoted

__all__ = ["audit_labels"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Split = tuple[Index, Index]

# How many neighbourhoods there are, and how many parts they are held out in.
NEIGHBOURHOODS, PARTS = 10, 5


@attrs.frozen(eq=False)
class Heard:
    """What was said about every row.

    Attributes
    ----------
    columns : list of array (n, k)
        Scores of each class, one array for each machine.
    names : list of str
        Who that was.
    grouped : list of array (n, k)
        With whole neighbourhoods held out.
    own : OwnPath
        Of each row the path of the class it is labelled with.
    """

    columns: list[Array]
    names: list[str]
    grouped: list[Array]
    own: OwnPath


def audit_labels(work: Work, labels: Labels, cv: Any, C: float, seed: int) -> Found:
    kept, n = labels.kept, work.table.size
    if not kept.all():
        rare = np.unique(labels.given[~kept])
        work.notes.append(
            f"Classes of fewer than {FEWEST} rows are not learned, and their rows are taken for "
            f"wrong: {listed(map(quoted, rare), 5)}."
        )
    splits = splits_of(cv, labels.codes, kept, seed, stratified=True)
    heard = _heard(work, labels, splits, C, seed)
    with work.jobs.afterwards("comparing rows", n, 4) as step:
        return _judged(work, labels, heard, step)


def _judged(work: Work, labels: Labels, heard: Heard, step: Callable[[], object]) -> Found:
    """What follows from what was heard; `step` is called at four places that take about as long."""
    table, kept, classes = work.table, labels.kept, labels.classes
    n, k = table.size, classes.size
    told = opinions(heard.columns, labels.codes, k)
    rows = np.flatnonzero(kept)
    codes = labels.codes[rows]
    step()
    near = nearest(table.views["standard"][rows])
    step()
    apart_ = calibrated(heard.grouped, codes, k) if heard.grouped else told.all[rows]
    own = heard.own.take(rows)
    known = Experience.of("classification")
    facts = evidence(told.take(rows), apart_, codes, near, own)
    # Rows of a class that is not learned are wrong for certain.
    wrong = np.ones(n)
    wrong[rows] = known.wrong(facts)
    flagged = ~kept
    flagged[rows] = named(wrong[rows])
    count = known.number(wrong[rows], facts, work.level).plus(int((~kept).sum()))
    rival = _rivals(told.all, labels.codes)
    # What makes a row suspicious is more than the blend, which may agree with its label.
    best = np.where(flagged, rival, np.argmax(told.all, axis=1))
    place = np.maximum(labels.codes, 0)
    weights: dict[str, float] = {}
    for name, part in zip(heard.names, told.weights, strict=True):
        weights[name] = weights.get(name, 0.0) + float(part)
    near_all = np.full((n, near.shape[1]), -1, dtype=np.int64)
    near_all[rows] = rows[near]
    step()
    alike = groups_of(table, labels, near_all, told.all, wrong, _filled(apart_, rows, n))
    step()
    group = np.full(n, -1)
    for number, one in enumerate(alike):
        group[one.rows] = number
    answer = {
        "given_label": labels.given,
        "predicted_label": classes[best],
        "margin_start": heard.own.start,
        "margin_end": heard.own.end,
        "outlier_from": heard.own.first,
        "share": heard.own.share,
        "group": group,
        "reason": label_reasons(labels, heard.names, told, rival, near_all, heard.own),
    }
    tie = np.where(kept, told.all[np.arange(n), place], -np.inf)
    skill = label_skill(told.all[rows], codes)
    return Found(wrong, flagged, tie, count, answer, weights, skill, tuple(alike), near_all, facts)


def _rivals(odds: Array, codes: Index) -> Index:
    """The likeliest class of each row but for the one that it is labelled with."""
    others = odds.copy()
    rows = np.flatnonzero(codes >= 0)
    others[rows, codes[rows]] = -np.inf
    return np.asarray(np.argmax(others, axis=1))


def _filled(values: Array, rows: Index, n: int) -> Array:
    out = np.zeros((n, values.shape[1]))
    out[rows] = values
    return out


def _sides(k: int) -> list[int]:
    """Of two classes one against the rest is both."""
    return [1] if k == 2 else list(range(k))


def _heard(work: Work, labels: Labels, splits: list[Split], C: float, seed: int) -> Heard:
    table, k = work.table, labels.classes.size
    kept = np.flatnonzero(labels.kept)
    sides = _sides(k)
    signs = {c: np.where(labels.codes == c, 1.0, -1.0) for c in sides}
    regions = neighbourhoods(table.views["standard"][kept], NEIGHBOURHOODS, PARTS, seed)
    regions = [(kept[train], kept[test]) for train, test in regions]
    jobs = work.asking(asked, labels.given, labels.classes, splits=splits)
    apart_cost = 0.1 * work.path_cost
    jobs += [
        job(_held_out, one, table.views["standard"], labels.codes, k, train, test, cost=apart_cost)
        for one in apart()
        for train, test in regions
    ]
    first = next(iter(table.views))
    jobs += [
        job(
            *(watched, view, signs[c], train, test, C, True),
            cost=work.path_cost,
            needed=not work.models and name == first,
        )
        for name, view in table.views.items()
        for c in sides
        for train, test in splits
    ]
    jobs += [
        job(_own, table.views["standard"], signs[c], labels.kept, C, cost=work.path_cost)
        for c in sides
    ]
    found = iter(work.jobs.run(jobs))
    return _sorted_out(work, labels, splits, regions, found)


def _sorted_out(
    work: Work, labels: Labels, splits: list[Split], regions: list[Split], found: Any
) -> Heard:
    """Results of jobs, in their order, as columns; what was not done in time is left out."""
    n, k = work.table.size, labels.classes.size
    sides = _sides(k)
    columns, names, grouped = [], [], []
    for one in work.models:
        parts = [next(found) for _ in splits]
        if all(part is not None for part in parts):
            columns.append(_collected(parts, splits, (n, k)))
            names.append(one.name)
    kept = labels.kept
    for _ in apart():
        parts = [next(found) for _ in regions]
        if regions and all(part is not None for part in parts):
            grouped.append(_collected(parts, regions, (n, k))[kept])
    for name in work.table.views:
        both = np.zeros((2, n, k))
        missing = 0
        for c in sides:
            for _, test in splits:
                part = next(found)
                missing += part is None
                if part is not None:
                    both[:, test, c] = part
        if k == 2:
            both[:, :, 0] = -both[:, :, 1]
        if missing == 0 or (missing < len(splits) * len(sides) and not work.jobs.skipped):
            columns += list(both)
            names += [f"the path ({name} features)"] * 2
    own = OwnPath.unknown(n)
    for c in sides:
        path = next(found)
        if path is not None:
            rows = kept if k == 2 else labels.codes == c
            own.fill(rows, path)
    if not columns:
        columns, names = [np.zeros((n, k))], ["nothing"]
    return Heard(columns, names, grouped, own)


def _collected(parts: list[Array], splits: list[Split], shape: tuple[int, ...]) -> Array:
    whole = np.zeros(shape)
    for values, (_, test) in zip(parts, splits, strict=True):
        whole[test] = values
    return whole


def _held_out(
    model: Any, view: Any, codes: Index, k: int, train: Index, test: Index
) -> Array | None:
    """What a machine says about a neighbourhood that it has seen nothing of."""
    rows = some(train, TRACED, codes)
    if np.unique(codes[rows]).size < 2:
        return np.zeros((test.size, k))
    return said(clone(model).fit(view[rows], codes[rows]), view[test], np.arange(k))


def _own(view: Any, sign: Array, kept: Flags, C: float) -> OwnPath | None:
    """The path on all rows that are learned from; NaN for the others."""
    path = own_path(view[np.flatnonzero(kept)], sign[kept], C, True)
    if path is None or kept.all():
        return path
    place = np.maximum(np.cumsum(kept) - 1, 0)
    whole = OwnPath.unknown(kept.size)
    whole.fill(kept, path.take(place))
    return whole
