"""The audit of numeric targets: residuals out of fold, and what follows from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from homotopy_plugins.auditing.blend import blended_residual
from homotopy_plugins.auditing.evidence import nearest
from homotopy_plugins.auditing.experience import Experience, named
from homotopy_plugins.auditing.found import Found, Work
from homotopy_plugins.auditing.gate import target_skill
from homotopy_plugins.auditing.jobs import job
from homotopy_plugins.auditing.machines import splits_of
from homotopy_plugins.auditing.scores import OwnPath, own_path, predicted, watched
from homotopy_plugins.auditing.words import target_reasons

__all__ = ["NAMES", "amount_evidence", "audit_targets"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]
Split = tuple[Index, Index]

# Residuals in units of the usual one are compared on a logarithmic scale, and beyond this all are
# the same.
FARTHEST = 1e4

# In the order of `amount_evidence`.
NAMES = (
    *("off", "off here", "least", "median", "most", "off nearby", "target", "target nearby"),
    *("start", "end", "outlier share", "rank", "spread nearby"),
    *("skill", "q75", "q90", "q95", "q98", "q99", "largest", "target q98", "beyond 4", "beyond 8"),
    *("log10 n",),
)
# More of these can only speak against a target.
AGAINST = ("off", "off here", "least", "median", "most")


def audit_targets(work: Work, target: Array, cv: Any, costs: Sequence[float], seed: int) -> Found:
    table, n = work.table, target.size
    middle = float(np.median(target))
    unit = float(np.median(np.abs(target - middle))) / 0.6745 or float(target.std())
    y = (target - middle) / unit
    splits = splits_of(cv, np.zeros(n, dtype=np.int64), np.ones(n, dtype=bool), seed, False)
    columns, names, own = _heard(work, y, splits, costs)
    off = np.column_stack(columns) - y[:, None]
    residual, weight = blended_residual(off)
    weights: dict[str, float] = {}
    for name, part in zip(names, weight, strict=True):
        weights[name] = weights.get(name, 0.0) + float(part)
    near = nearest(table.views["standard"])
    facts = amount_evidence(residual, off, y, near, own)
    known = Experience.of("regression")
    wrong = known.wrong(facts)
    in_units = OwnPath(unit * own.start, unit * own.end, unit * own.first, own.share)
    guess = middle + unit * (y + residual)
    said = {name: middle + unit * column for name, column in zip(names, columns, strict=True)}
    answer = {
        "given_label": target,
        "predicted_label": guess,
        "residual_start": in_units.start,
        "residual_end": in_units.end,
        "outlier_from": in_units.first,
        "share": own.share,
        "group": np.full(n, -1),
        "reason": target_reasons(own, weights, said, target, guess),
    }
    count = known.number(wrong, facts, work.level)
    tie = -np.abs(residual)
    skill = target_skill(residual, y)
    return Found(wrong, named(wrong), tie, count, answer, weights, skill, (), near, facts)


def _heard(
    work: Work, y: Array, splits: list[Split], costs: Sequence[float]
) -> tuple[list[Array], list[str], OwnPath]:
    """Predictions out of fold, whose they are, and the path on all rows."""
    table, n = work.table, y.size
    pairs = [(name, C) for name in table.views for C in costs]
    jobs = work.asking(predicted, y, splits=splits)
    jobs += [
        job(
            *(watched, table.views[name], y, train, test, C, False),
            cost=work.path_cost,
            needed=not work.models and (name, C) == pairs[0],
        )
        for name, C in pairs
        for train, test in splits
    ]
    jobs.append(job(own_path, table.views["standard"], y, costs[0], False, cost=work.path_cost))
    found = iter(work.jobs.run(jobs))
    columns, names = [], []
    called = [one.name for one in work.models]
    called += [f"the path ({name} features, C = {C:g})" for name, C in pairs]
    for k, name in enumerate(called):
        parts = [next(found) for _ in splits]
        missing = sum(part is None for part in parts)
        if missing == len(parts) or (missing and work.jobs.skipped):
            continue
        values = np.zeros(n)
        for part, (_, test) in zip(parts, splits, strict=True):
            if part is not None:
                # Of a path, what it says on average.
                values[test] = part if k < len(work.models) else part[1]
        columns.append(values)
        names.append(name)
    if not columns:
        columns, names = [np.zeros(n)], ["nothing"]
    return columns, names, next(found) or OwnPath.unknown(n)


def amount_evidence(residual: Array, off: Array, y: Array, near: Index, own: OwnPath) -> Array:
    """One line for each row, one column for each of `NAMES`: residuals in units of the usual one,
    of that nearby, and what kind of table it is.

    Parameters
    ----------
    residual : array (n,)
        Out of fold, blended.
    off : array (n, m)
        By machine.
    y : array (n,)
        Targets, about 0, in units of their spread.
    near : array (n, k)
        The nearest rows.
    """
    size = np.abs(residual)
    usual = float(np.median(size)) or float(size.mean()) or 1.0
    nearby = np.median(size[near], axis=1)
    here = np.sqrt(np.maximum(nearby, 0.1 * usual) * usual)
    each = np.sort(np.abs(off), axis=1) / usual
    around = np.median(y[near], axis=1)
    wide = np.maximum(np.median(np.abs(y[near] - around[:, None]), axis=1), 0.1 * usual)
    by_row = [
        _log(size / usual),
        _log(size / here),
        _log(each[:, 0]),
        _log(np.median(each, axis=1)),
        _log(each[:, -1]),
        _log(np.mean(np.minimum(size[near] / usual, 10.0), axis=1)),
        _log(np.abs(y)),
        _log(np.abs(y - around) / wide),
        _log(np.nan_to_num(own.start) / usual),
        _log(np.nan_to_num(own.end) / usual),
        np.nan_to_num(own.share),
        np.argsort(np.argsort(size, kind="stable")) / size.size,
        _log(nearby / usual),
    ]
    in_units = size / usual
    spread = np.abs(y - np.median(y))
    most = 4.0 * float(np.median(spread)) or float(spread.max())
    guess = np.minimum(spread, most)
    of_table = [
        1.0 - float(np.minimum(size, most).mean() / max(guess.mean(), 1e-12)),
        *_log(np.quantile(in_units, [0.75, 0.9, 0.95, 0.98, 0.99, 1.0])),
        float(_log(np.quantile(np.abs(y), 0.98))),
        np.mean(in_units > 4.0),
        np.mean(in_units > 8.0),
        np.log10(size.size),
    ]
    return np.column_stack([*by_row, *(np.full(size.size, value) for value in of_table)])


def _log(values: Any) -> Array:
    return np.asarray(np.log(np.clip(values, 1.0 / FARTHEST, FARTHEST)))
