"""``homotopy select``."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import typer

from homotopy_plugins.cli import outside
from homotopy_plugins.cli.answers import (
    INTERRUPTED,
    CommandError,
    Voice,
    leave,
    listed,
    plain,
    speaking,
)
from homotopy_plugins.cli.arguments import (
    AsJson,
    Categories,
    Characters,
    Data,
    Decimal,
    Delimiter,
    Drop,
    Jobs,
    NoHeader,
    Positive,
    Quiet,
    Scale,
    TargetName,
    Task,
    choice_of,
    ensure_apart,
    ensure_outputs,
    reading_of,
    rows_of,
    status,
    voice_of,
)
from homotopy_plugins.cli.encoding import Encoding, frame_of
from homotopy_plugins.cli.machines import Machine
from homotopy_plugins.cli.tables import Table, read_table
from homotopy_plugins.cli.targets import Target, two_classes

__all__ = ["select"]


def _numbers(text: str, what: str) -> list[float]:
    try:
        found = [float(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise CommandError(f"{what} takes numbers separated by commas, got {text!r}") from None
    if not found:
        raise CommandError(f"{what} takes at least one number")
    return found


def select(
    context: typer.Context,
    data: Data,
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="FILE", help="Save the machine (.npz).")
    ],
    target: TargetName = None,
    kernel: Annotated[str, typer.Option("--kernel", help="rbf, linear or poly.")] = "rbf",
    costs: Annotated[
        str, typer.Option("--Cs", metavar="LIST", help="The grid of C.")
    ] = "0.01,0.1,1,10,100",
    gammas: Annotated[
        str,
        typer.Option("--gammas", metavar="LIST", help="The grid of gamma; 'scale' is by the data."),
    ] = "scale",
    path: Annotated[str, typer.Option("--path", help="What moves: theta or s.")] = "theta",
    cv: Annotated[int, typer.Option("--cv", metavar="N", min=2, help="Folds.")] = 5,
    seed: Annotated[int, typer.Option("--seed", help="Of the folds.")] = 0,
    report: Annotated[
        str | None, typer.Option("--report", metavar="FILE", help="Write an interactive report.")
    ] = None,
    drop: Drop = None,
    category: Categories = None,
    task: Task = "auto",
    positive: Positive = None,
    scale: Scale = True,
    jobs: Jobs = None,
    delimiter: Delimiter = None,
    decimal: Decimal = ".",
    encoding: Characters = "utf-8",
    no_header: NoHeader = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Choose a robust machine by cross-validation.

    What is saved is for 'homotopy predict'.
    """
    voice = voice_of(context, quiet, as_json)
    with speaking(voice):
        from homotopy_plugins import RobustSVCCV, RobustSVRCV

        if kernel not in ("rbf", "linear", "poly"):
            raise CommandError(f"--kernel must be rbf, linear or poly, got {kernel!r}")
        if path not in ("theta", "s"):
            raise CommandError(f"--path must be theta or s, got {path!r}")
        grid = _numbers(costs, "--Cs")
        widths: list[Any] = ["scale"] if gammas == "scale" else _numbers(gammas, "--gammas")
        ensure_apart(data, out, report)
        ensure_outputs(out, report)
        if report is not None:
            outside.ensure_report(RobustSVCCV, "an estimator")
        notes: list[str] = []
        reading = reading_of(delimiter, decimal, encoding, no_header)
        table = read_table(data, reading)
        choice = choice_of(target, drop, category, scale=scale, task=task, positive=positive)
        rows, goal = rows_of(table, choice, notes)
        classifies = goal.task == "classification"
        if classifies:
            two_classes(goal, table.source)
        columns = Encoding.of(rows, choice, notes)
        X = columns.apply(rows, notes)
        for note in notes:
            voice.note(note)
        machine_class = RobustSVCCV if classifies else RobustSVRCV
        _check_folds(goal, cv, classifies, table.source)
        search = machine_class(
            Cs=grid,
            gammas=widths,
            kernel=kernel,
            path=path,
            cv=_folds(cv, seed, classifies),
            n_jobs=jobs,
        )
        voice.note(f"{machine_class.__name__}: {rows.size} rows, {X.shape[1]} columns")
        try:
            with status(voice, f"cross-validating {len(grid) * len(widths)} paths, {cv} folds"):
                search.fit(X, goal.values)
        except KeyboardInterrupt:
            voice.errors.print("homotopy select: interrupted; nothing was saved")
            leave(INTERRUPTED)
        chosen = plain(
            {
                "C": search.C_,
                "gamma": search.gamma_,
                "robustness": search.robustness_,
                "path": path,
                "score": search.best_score_,
            }
        )
        machine = Machine.of(search, goal.name, columns, chosen)
        machine.save(out)
        voice.note(f"machine: {out}")
        if report is not None:
            shown = None if rows.matrix is not None else frame_of(rows, choice, [])
            names = [f"{rows.counted} {place}" for place in rows.place.tolist()]
            outside.report_of(
                search,
                "an estimator",
                title=f"{goal.name} of {table.source}",
                X=shown,
                row_names=names,
            ).write_html(report)
            voice.note(f"report: {report}")
        _tell_search(search, machine, rows, goal, voice)


def _check_folds(goal: Target, cv: int, classifies: bool, source: str) -> None:
    """Refuse folds that some class cannot fill."""
    if not classifies:
        if goal.values.size < cv:
            raise CommandError(f"{source}: {goal.values.size} rows are too few for {cv} folds")
        return
    labels, counts = np.unique(goal.values, return_counts=True)
    if counts.min() < cv:
        raise CommandError(
            f"{source}: class {labels[np.argmin(counts)]} has {counts.min()} rows, too few for "
            f"{cv} folds; give --cv {max(2, int(counts.min()))} or more rows"
        )


def _folds(cv: int, seed: int, classifies: bool) -> Any:
    from sklearn.model_selection import KFold, StratifiedKFold

    # Files are often sorted.
    return (StratifiedKFold if classifies else KFold)(cv, shuffle=True, random_state=seed)


def _tell_search(search: Any, machine: Machine, rows: Table, goal: Target, voice: Voice) -> None:
    results = search.cv_results_
    called = "accuracy" if machine.classes is not None else "minus loss"
    columns = ["C", "gamma", search.path, "from", "to", called, "+-"]
    order = range(len(results["params"]))
    table = [
        [
            results["params"][k]["C"],
            results["params"][k]["gamma"],
            results["params"][k]["robustness"],
            results["robustness_from"][k],
            results["robustness_to"][k],
            results["mean_test_score"][k],
            results["std_test_score"][k],
        ]
        for k in order
    ]
    outliers = [int(rows.place[i]) for i in search.outliers_.tolist()]
    text = [
        voice.table(columns, table),
        f"chosen: C = {search.C_:g}, {search.path} = {search.robustness_:.4g} "
        f"({called} {search.best_score_:.4g} on held-out rows)",
        f"{len(outliers)} rows are treated as outliers"
        + (f": {rows.counted} {listed(outliers, 12)}" if outliers else ""),
    ]
    voice.answer(
        "\n".join(text),
        {
            "machine": machine.kind,
            "target": goal.name,
            "classes": machine.classes,
            "rows": rows.size,
            "columns": machine.encoding.names,
            "chosen": machine.chosen,
            "grid": [dict(zip(columns[:-1], row[:-1], strict=True)) for row in table],
            f"outlier_{rows.counted}s": outliers,
        },
    )
