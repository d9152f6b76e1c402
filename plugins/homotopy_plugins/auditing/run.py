"""`audit`: which rows of a table are wrong?

Several machines look at every row without having been trained on it: the s-path of a robust SVM,
from the plain machine to one that outliers cannot pull, on features as they are and on features
bent to a normal distribution, and beside it three that have nothing in common with a kernel
(`scores`, `machines`).  What they say is blended with weights that the table itself gives
(`blend`), described row by row (`evidence`, `amounts`) and turned into the chance that a row is
wrong by trees that were grown on planted errors of several kinds (`experience`).  No number is
given where the columns do not predict the target (`gate`).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from homotopy import ModelError
from homotopy_plugins.auditing.amounts import audit_targets
from homotopy_plugins.auditing.found import Found, Work
from homotopy_plugins.auditing.gate import Verdict, verdict_of
from homotopy_plugins.auditing.jobs import Jobs
from homotopy_plugins.auditing.labels import audit_labels
from homotopy_plugins.auditing.machines import machines_of
from homotopy_plugins.auditing.report import AuditReport, Shown, ordered
from homotopy_plugins.auditing.scores import TRACED
from homotopy_plugins.auditing.tables import Table
from homotopy_plugins.auditing.targets import (
    check_order,
    column_of,
    labels_of,
    target_of,
    task_of,
)
from homotopy_plugins.kernels.checks import finite, positive
from homotopy_plugins.tables.frames import gaps_of

__all__ = ["audit"]

# Costs of a regression path; the targets are scaled.
COSTS = (1.0, 10.0)
# Of what is written below the number: so much of it lies where classes meet, and the interval
# reaches that far down.
UNCLEAR, LOW = 0.5, 0.5


def audit(
    X: Any,
    y: Any,
    *,
    model: Any = None,
    cv: Any = 5,
    task: str = "auto",
    keep: Sequence[str] = (),
    missing: Any = (),
    C: float | None = None,
    level: float = 0.9,
    n_jobs: int | None = None,
    random_state: int = 0,
    max_seconds: float | None = None,
    verbose: bool = False,
) -> AuditReport:
    """Which rows of a table are wrong, how sure that is, and how many there are.

    Parameters
    ----------
    X : array, pandas DataFrame or sparse matrix (n, d)
        Numbers, categories, dates and texts, with gaps. `notes` says what was filled in or left
        out.  If any column holds text, the table is read as the command line reads a file: amounts
        ("$1,200", "1.234,5"), dates and words for gaps among numbers ("-", "unknown") are
        understood, and ids and counters are left out.  A column of the dtype "category" holds
        categories, even if they look like numbers.
    y : array (n,)
        Labels of two classes or more, or a numeric target.
    model : estimator, list of estimators, False or None
        Classifiers (regressors) of scikit-learn that are asked besides the paths, each about rows
        it was not trained on.  A ``Pipeline`` gets X as it is, any other estimator gets numbers.
        None takes a random forest with leaves of 5 rows, logistic regression (Huber's regression)
        and gradient boosting.  False takes none.
    cv : int, splitter or list of splits
        Folds; every row must be held out exactly once.
    task : {"auto", "classification", "regression"}
        With "auto", numbers are classes if there are two different ones, or at most 20 different
        whole ones with three rows each on average.  Other numbers are amounts, and words are
        classes. `AuditReport.summary` says which it is.
    keep : list of str
        Columns to keep even if they look like ids, counters or free text.
    missing : str, number or list of them
        What else stands for a gap in X, for example ["not asked", -999].  It is compared with whole
        entries.
    C : float, optional
        The cost of the machines.  The default is 1 for labels, 1 and 10 for targets.
    level : float
        The probability that ``AuditReport.interval`` holds the number of wrong rows.
    n_jobs : int, optional
        Processes of joblib.
    random_state : int
        Seed of the folds and of the default models.
    max_seconds : float, optional
        Start no further model after that time.  The first one always runs, and `notes` says how
        many were skipped.
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
    limit = None if max_seconds is None else positive(max_seconds, "max_seconds", "audit")
    table = Table.of(X, (keep,) if isinstance(keep, str) else tuple(keep), gaps_of(missing))
    check_order(X, y)
    column = column_of(y, table.size)
    kind = task_of(column, task)
    models = machines_of(model, kind, random_state, table.size, sp.issparse(table.numbers))
    notes = list(table.notes)
    if table.size > TRACED:
        notes.append(
            f"Paths were traced on a random sample of {TRACED} rows; every row was scored."
        )
    jobs = Jobs(n_jobs, verbose, None if limit is None else began + limit)
    work = Work(table, models, share, jobs, notes)
    if kind == "classification":
        labels = labels_of(column)
        target: Any = labels.given
        found = audit_labels(work, labels, cv, cost or 1.0, random_state)
    else:
        target = target_of(column)
        found = audit_targets(work, target, cv, COSTS if cost is None else (cost,), random_state)
    if jobs.skipped:
        notes.append(
            f"The limit of {limit:g} seconds was reached: {jobs.skipped} fits were skipped, and "
            "the answer rests on the others."
        )
    verdict = verdict_of(table, target, kind == "regression", found.skill)
    return _report(kind, table, found, verdict, notes, share, time.perf_counter() - began)


def _report(
    kind: str,
    table: Table,
    found: Found,
    verdict: Verdict,
    notes: list[str],
    level: float,
    seconds: float,
) -> AuditReport:
    """The answer; without a number, and without names, where the gate is closed."""
    order = np.lexsort((found.tie, -found.wrong))
    closed = verdict.colour == "red"
    flagged = found.named & (found.wrong >= verdict.least)
    if not closed and kind == "classification":
        notes += _unclear(found)
    columns = {
        "is_label_issue": flagged,
        "label_quality": 1.0 - found.wrong,
        **found.columns,
    }
    if closed:
        columns["group"] = np.full(table.size, -1)
    made, index = ordered(order, columns, table.index)
    count = found.count
    return AuditReport(
        task=kind,
        n_wrong=None if closed else count.number,
        interval=None if closed else (count.low, count.high),
        level=level,
        columns=made,
        index=index,
        weights=found.weights,
        verdict=verdict,
        groups=() if closed else found.groups,
        notes=tuple(notes),
        seconds=seconds,
        shown=Shown(table.sources, found.near),
    )


def _unclear(found: Found) -> list[str]:
    """A word where two explanations fit: a boundary that is hard, or rows mislabelled beside it."""
    count = found.count
    if count.number < 5 or count.low > LOW * count.number:
        return []
    total = float(found.wrong.sum())
    near = float(found.wrong[np.abs(found.tie) < 1.5].sum())
    if near < UNCLEAR * total:
        return []
    return [
        "Most suspects lie where the classes overlap, and a hard boundary looks the same as wrong "
        "labels next to it. Read the number as an upper bound, and review rows in the order given."
    ]
