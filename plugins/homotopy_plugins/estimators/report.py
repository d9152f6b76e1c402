"""The page of a fitted machine: that of its path, and what it knows of its rows.

Labels given and suggested, feature values, margins or residuals along the path, the loss on rows
held out and, where there is room to draw it, the fitted function.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from homotopy import DataError
from homotopy.report import Content, Report, path_content
from homotopy.report.content import rounded, validation_chart
from homotopy.report.sampling import Samples
from homotopy.wording import counted
from homotopy_plugins.estimators.robustness import Scale
from homotopy_plugins.kernels.checks import check_top

if TYPE_CHECKING:
    from homotopy_plugins.estimators.machine import RobustMachine

__all__ = ["machine_report"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]

# The colour of each piece, a place in the palette: of classes, of targets.
CLASSES = {"O": 1, "L": 4, "E": 5, "R": 0}
TARGETS = {"O+": 1, "I+": 5, "E": 2, "I-": 0, "O-": 4, "Z": 2, "E+": 3, "E-": 6}
# Feature columns in the table at most.
FEATURES = 100
# Rows in the table where no row is ever an outlier.
UNSUSPECTED = 20
# The fitted function is known at this many places of the plane (the line), and of the path.
PLANE, LINE, FRAMES = 56, 201, 96
# Jumps that the fitted function is known on both sides of.
SIDES = 40
# Points drawn at most.
POINTS = 2000
# How far the picture goes beyond the rows, in parts of their range.
BEYOND = 0.06


def machine_report(
    machine: RobustMachine,
    title: str | None,
    *,
    X: Any,
    X_names: Sequence[Any] | None,
    row_names: Sequence[Any] | None,
    top: int,
    certify: bool | int,
) -> Report:
    """The page of a fitted machine; see `RobustMachine.report`."""
    who, path = type(machine).__name__, machine.path_
    check_top(top, f"{who}: report", or_all=False)
    columns = _Columns.of(machine, X, X_names)
    n = int(path.segments.first_piece.size)
    if row_names is not None and len(row_names) != n:
        raise DataError(f"{who}: report: {len(row_names)} row_names for {counted(n, 'row')}")
    order = np.asarray(machine.audit(top=None)["row"], dtype=np.int64)
    suspected = order[machine.outlier_path_.share[order] > 0.0]
    rows = suspected[:top] if suspected.size else order[: min(top, UNSUSPECTED)]
    content = path_content(
        path,
        title if title is not None else f"{who}: which rows pull, and which look wrong",
        names=row_names,
        noun="row",
        rows=rows,
        top=top,
        certify=certify,
    )
    for one in content.charts:
        if one["kind"] == "sizes":
            one["title"] = "rows by their state"
    at = f"{path.model.parameter} = {machine.t_:.6g}"
    content.facts.insert(1, f"fitted at robustness {machine.robustness_:.4g} ({at})")
    scale = Scale.of(path)
    content.reading = {"name": "robustness", "start": scale.start, "end": scale.end}
    response = _marked(machine, content)
    colours = CLASSES if machine._called[0] == "label" else TARGETS
    content.colors = [colours.get(name or "") for name in path.problem.polylines.names]
    curve = getattr(machine, "validation_curve_", None)
    if curve is not None:
        content.charts.insert(0, validation_chart(curve, path))
        content.notes.append(_held_out(machine, curve))
    _suspects(machine, content, columns, suspected, response)
    content.field = _field(machine, content, columns)
    if machine.path == "theta":
        content.notes.append(
            "An outlier has theta of the pull of another row: none at theta = 0 (robustness 1), "
            "and all of it at theta = 1 (robustness 0), the plain machine, where no row is one."
        )
    content.certificate["how"] = f"machine.path_.{content.certificate['how'].split('.', 1)[1]}"
    return content.report()


def _marked(machine: RobustMachine, content: Content) -> Array:
    """Mark the machine on its path; the response of the rows there."""
    path, point = machine.path_, machine._own_point(machine.t_)
    if point is not None:
        content.notes.append(
            "The path is not proven as far as the fitted machine, which was solved and certified "
            "on its own; the slider does not reach it."
        )
        return point.response(machine.t_)
    t = _within(machine.t_, path.traced)
    side = _side(machine, t)
    content.mark = {"t": t, "side": side, "text": "fitted machine"}
    return path.response(t, side)


def _within(t: float, traced: tuple[float, float]) -> float:
    return float(min(max(t, min(traced)), max(traced)))


def _side(machine: RobustMachine, t: float) -> str:
    """The side of t that the machine was taken from; they differ at a jump only."""
    for side in ("after", "before"):
        alpha = machine.path_.alpha(t, side)
        support = np.flatnonzero(alpha)
        if np.array_equal(support, machine.support_) and np.array_equal(
            np.abs(alpha[support]), np.abs(machine.dual_coef_[0])
        ):
            return side
    return "after"


def _held_out(machine: RobustMachine, curve: Any) -> str:
    best, name = curve.best, curve.parameter
    first, last = best.interval
    where = f"at {name} = {best.t:.6g}" if first == last else f"from {first:.6g} to {last:.6g}"
    return (
        f"The loss on rows held out ({curve.loss}) is least, {best.value:.6g}, {where}. It was "
        "measured on paths that did not see those rows; the path on this page is that of all rows."
    )


class _Columns:
    """The features of the rows as they are shown."""

    def __init__(self, values: Any, names: list[str], own: bool) -> None:
        self.values, self.names, self.own = values, names, own

    @classmethod
    def of(cls, machine: RobustMachine, X: Any, names: Sequence[Any] | None) -> _Columns | None:
        """The columns of X, or of what the machine was fitted on; None without features."""
        who, model = type(machine).__name__, machine.path_.model
        own = X is None
        if own:
            if machine.kernel == "precomputed":
                if names is not None:
                    raise DataError(
                        f"{who}: report: a precomputed kernel has no features; give X too"
                    )
                return None
            X = model.X  # type: ignore[attr-defined]
            found = getattr(machine, "feature_names_in_", None)
        else:
            found = getattr(X, "columns", None)
            if not sp.issparse(X) and not hasattr(X, "iloc"):
                X = np.asarray(X)
        n = int(machine.path_.segments.first_piece.size)
        if getattr(X, "ndim", 2) != 2 or X.shape[0] != n:
            raise DataError(
                f"{who}: report: X must have the {n} rows of the fit, got shape {X.shape}"
            )
        if names is None:
            names = list(found) if found is not None else [f"x{j}" for j in range(X.shape[1])]
        if len(names) != X.shape[1]:
            raise DataError(
                f"{who}: report: {len(names)} names in X_names for {counted(X.shape[1], 'feature')}"
            )
        return cls(X, [str(name) for name in names], own)

    def of_rows(self, rows: Index, most: int) -> list[dict[str, Any]]:
        """The first columns of some rows for the table."""
        if hasattr(self.values, "iloc"):
            part = self.values.iloc[rows, :most].to_numpy(dtype=object)
        elif sp.issparse(self.values):
            part = self.values[rows][:, :most].toarray()
        else:
            part = self.values[rows][:, :most]
        found = []
        for j, name in enumerate(self.names[:most]):
            cells = [_cell(value) for value in part[:, j]]
            kind = "text" if any(isinstance(cell, str) for cell in cells) else "number"
            found.append({"kind": kind, "title": name, "cells": cells})
        return found


def _cell(value: Any) -> Any:
    """A number in six digits, None where it is missing, or text."""
    if value is None:
        return None
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.number):
        return str(value)
    return rounded(value)


def _suspects(
    machine: RobustMachine,
    content: Content,
    columns: _Columns | None,
    suspected: Index,
    response: Array,
) -> None:
    """The table of suspected rows instead of that of coordinates."""
    table, path, stays = content.table, machine.path_, machine.outlier_path_
    rows, n = table.rows, int(path.segments.first_piece.size)
    target, met = machine._called
    given = machine._training_targets()
    if target == "label":
        fits, classes = table.curves["response"], [str(c) for c in machine.classes_]
        labels = [str(given[i]) for i in rows.tolist()]
        # f = 0 counts as negative, as in `predict`.
        positive = np.asarray(given[rows] == machine.classes_[1])
        wrong = np.where(positive, response[rows] <= 0.0, response[rows] < 0.0)
        other = [classes[0] if label == classes[1] else classes[1] for label in labels]
        suggested = [o if w else g for o, w, g in zip(other, wrong.tolist(), labels, strict=True)]
        answers = [
            {"kind": "text", "title": "given label", "cells": labels},
            {"kind": "text", "title": "suggested label", "cells": suggested,
             "marked": wrong.tolist()},
        ]  # fmt: skip
    else:
        fits = given[rows] - table.curves["response"]
        answers = [
            {"kind": "number", "title": "given target", "cells": _cells(given[rows])},
            {"kind": "number", "title": "suggested target", "cells": _cells(response[rows])},
        ]
    table.curves = {met: np.asarray(fits)}
    table.title = "Outliers" if suspected.size else "The worst fitted rows"
    table.text = _words(machine, suspected, rows, n)
    features = [] if columns is None else columns.of_rows(rows, FEATURES)
    if columns is not None and len(columns.names) > FEATURES:
        content.notes.append(f"The first {FEATURES} of {len(columns.names):,} features are shown.")
    first = stays.first[rows]
    table.columns = [
        {"kind": "name", "title": "row"},
        *answers,
        {"kind": "state", "title": "state"},
        {"kind": "value", "title": met, "curve": met},
        {"kind": "spark", "title": f"{met} along the path", "curve": met},
        {"kind": "number", "title": "outlier share",
         "cells": [rounded(v, 3) for v in stays.share[rows]]},
        {"kind": "number", "title": f"outlier from {stays.parameter}", "cells": _cells(first)},
        *features,
    ]  # fmt: skip


def _cells(values: Array) -> list[Any]:
    return [rounded(v) for v in values.tolist()]


def _words(machine: RobustMachine, suspected: Index, rows: Index, n: int) -> str:
    what = "margin" if machine._called[0] == "label" else "residual"
    answer = (
        "The suggested label is what the fitted machine says, bold where it differs."
        if what == "margin"
        else "The suggested target is what the fitted machine says."
    )
    if not suspected.size:
        return (
            f"No row is an outlier anywhere on the path. The {rows.size} worst fitted of {n:,} "
            f"are shown, by their {what} on average over the path. {answer}"
        )
    now = machine.outliers_.size
    some = "1 row is an outlier" if suspected.size == 1 else f"{suspected.size:,} rows are outliers"
    shown = "" if rows.size == suspected.size else f"; the {rows.size} most suspicious are shown"
    return (
        f"{some} somewhere on the path, of {n:,} rows in all, and {now:,} at the fitted machine"
        f"{shown}. Most suspicious first, by their {what} on average over the path. {answer} "
        "Outlier share: the fraction of the path on which a row is an outlier."
    )


# ---------------------------------------------------------------------- the fitted function


def _field(
    machine: RobustMachine, content: Content, columns: _Columns | None
) -> dict[str, Any] | None:
    """f on a grid at some places of the path: the boundary of two features, the curve of one."""
    model: Any = machine.path_.model
    labels = machine._called[0] == "label"
    if machine.kernel == "precomputed" or model.X.shape[1] != (2 if labels else 1):
        return None
    X = model.X.toarray() if sp.issparse(model.X) else np.asarray(model.X)
    names = list(columns.names) if columns is not None and columns.own else []
    if not names:
        found = getattr(machine, "feature_names_in_", [f"x{j}" for j in range(X.shape[1])])
        names = [f"{name} as fitted" for name in found]
    y = X[:, 1] if labels else machine._training_targets()
    x_range, y_range = _room(X[:, 0]), _room(y)
    across = np.linspace(*x_range, PLANE if labels else LINE)
    if labels:
        up = np.linspace(*y_range, PLANE)
        grid = np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2)
    else:
        grid = across[:, None]
    ends = _frames(content.samples, next(iter(content.table.curves.values())))
    alpha, b = content.samples.at_ends(ends)
    values = model.evaluator(grid)(np.ascontiguousarray(alpha.T), np.ascontiguousarray(b.T)).T
    scale = float(np.abs(values).max()) / 32767.0 or 1.0
    packed = np.round(values / scale).astype("<i2")
    drawn = np.arange(X.shape[0])
    if drawn.size > POINTS:
        # Those in the table, and evenly of the others.
        others = np.setdiff1d(drawn, content.table.rows)
        some = np.linspace(0, others.size - 1, POINTS - content.table.rows.size).astype(int)
        drawn = np.sort(np.concatenate([content.table.rows, others[some]]))
        content.notes.append(f"{drawn.size:,} of {X.shape[0]:,} rows are drawn beside the charts.")
    kinds = (model.y > 0.0).astype(int) if labels else np.zeros(X.shape[0], dtype=int)
    known = machine.path_.problem.polylines.names
    # At theta = 1 every row has its full pull, and none is an outlier.
    when = " for theta < 1" if machine.path == "theta" else ""
    return {
        "kind": "boundary" if labels else "curve",
        "title": "Decision boundary" if labels else "Fitted curve",
        "text": (
            "The solid line is the boundary, the dashed ones are the margin (f = 1 and f = −1); "
            if labels
            else "The line is the fitted function; "
        )
        + f"outliers{when} have a rim.",
        "rim": f"outlier{when}",
        "names": names if labels else [names[0], "target"],
        "x": list(x_range),
        "y": list(y_range),
        "columns": PLANE if labels else LINE,
        "lines": PLANE if labels else 1,
        "frames": ends,
        "scale": scale,
        "values": base64.b64encode(packed.tobytes()).decode(),
        "points": [
            [rounded(X[i, 0]), rounded(y[i]), int(kinds[i])] for i in drawn.tolist()
        ],
        "rows": drawn.tolist(),
        "called": [content.names[i] for i in drawn.tolist()],
        "classes": [str(c) for c in machine.classes_] if labels else ["row"],
        "outliers": [known.index(piece) for piece in model.outlier_pieces],
    }  # fmt: skip


def _room(values: Array) -> tuple[float, float]:
    low, high = float(values.min()), float(values.max())
    beyond = BEYOND * (high - low) or 0.5 * max(abs(low), 1.0)
    # Short numbers, so that ticks and places agree to the last digit.
    return float(f"{low - beyond:.9g}"), float(f"{high + beyond:.9g}")


def _frames(samples: Samples, seen: Array) -> list[int]:
    """Ends of stretches at which f is kept: all of a short path, else where it moves most, with
    both sides of the largest jumps."""
    count = len(samples)
    if 2 * count <= FRAMES:
        return list(range(2 * count))
    chosen = {0, 2 * count - 1}
    sites = sorted(samples.sites, key=lambda j: -_fall(j.objective_before - j.objective_after))
    for site in sites[:SIDES]:
        k = int(samples.stretch_of(site.after))
        chosen |= {2 * k, max(2 * k - 1, 0)}
    moves = np.abs(np.diff(seen, axis=0)).max(axis=1, initial=0.0)
    lengths = np.abs(np.diff(samples.ends))
    progress = np.cumsum(moves / (moves.sum() or 1.0) + lengths / (lengths.sum() or 1.0))
    wanted = np.linspace(0.0, progress[-1], FRAMES - len(chosen) + 2)[1:-1]
    chosen |= set((np.searchsorted(progress, wanted) + 1).tolist())
    return sorted(min(end, 2 * count - 1) for end in chosen)


def _fall(value: float) -> float:
    return value if math.isfinite(value) else 0.0
