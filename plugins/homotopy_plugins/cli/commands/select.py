"""``homotopy select``."""

from __future__ import annotations

import os
from typing import Annotated, Any

import numpy as np
import typer

from homotopy_plugins.cli import outside
from homotopy_plugins.cli.answers import INTERRUPTED, CommandError, Voice, leave, plain, speaking
from homotopy_plugins.cli.arguments import (
    ARCHIVES,
    PAGES,
    AsJson,
    Categories,
    Characters,
    Data,
    DayFirst,
    Decimal,
    Delimiter,
    Drop,
    Jobs,
    Keep,
    Landmarks,
    Memory,
    Missing,
    NoHeader,
    Positive,
    Quiet,
    Scale,
    Sheet,
    SomeRows,
    TargetName,
    Task,
    choice_of,
    ensure_apart,
    ensure_kind,
    ensure_outputs,
    reading_of,
    rows_of,
    voice_of,
)
from homotopy_plugins.cli.bars import bars, compile_first, expecting, working
from homotopy_plugins.cli.encoding import Encoding, frame_of
from homotopy_plugins.cli.files import read_table
from homotopy_plugins.cli.machines import Machine
from homotopy_plugins.cli.sizes import SearchEstimate, cache_of
from homotopy_plugins.cli.targets import Target, two_classes
from homotopy_plugins.tables.columns import Table
from homotopy_plugins.wording import listed, number_of, quoted

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
        str, typer.Option("--out", "-o", metavar="FILE", help="Save the chosen model (.npz).")
    ],
    target: TargetName = None,
    kernel: Annotated[
        str, typer.Option("--kernel", metavar="NAME", help="rbf, linear or poly.")
    ] = "rbf",
    costs: Annotated[
        str, typer.Option("--Cs", metavar="LIST", help="Values of C to try.")
    ] = "0.01,0.1,1,10,100",
    gammas: Annotated[
        str,
        typer.Option(
            "--gammas",
            metavar="LIST",
            help="Values of gamma to try; 'scale' follows from the data.",
        ),
    ] = "scale",
    path: Annotated[
        str, typer.Option("--path", metavar="NAME", help="Robustness parameter: theta or s.")
    ] = "theta",
    cv: Annotated[
        int, typer.Option("--cv", metavar="N", min=2, help="Number of cross-validation folds.")
    ] = 5,
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", help="Random seed of the folds and of --rows.")
    ] = 0,
    report: Annotated[
        str | None, typer.Option("--report", metavar="FILE", help="Write an interactive report.")
    ] = None,
    some: SomeRows = None,
    nystroem: Landmarks = None,
    memory: Memory = None,
    drop: Drop = None,
    category: Categories = None,
    keep: Keep = None,
    task: Task = "auto",
    positive: Positive = None,
    scale: Scale = True,
    jobs: Jobs = None,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    encoding: Characters = None,
    no_header: NoHeader = False,
    missing: Missing = None,
    day_first: DayFirst = None,
    sheet: Sheet = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Train a robust SVM, chosen by cross-validation.

    The saved model is for 'homotopy predict'.
    """
    voice = voice_of(context, quiet, as_json)
    with speaking(voice), bars(voice):
        from homotopy_plugins import RobustSVCCV, RobustSVRCV

        if kernel not in ("rbf", "linear", "poly"):
            raise CommandError(f"--kernel must be rbf, linear or poly, got {kernel!r}")
        if path not in ("theta", "s"):
            raise CommandError(f"--path must be theta or s, got {path!r}")
        grid = _numbers(costs, "--Cs")
        widths: list[Any] = ["scale"] if gammas == "scale" else _numbers(gammas, "--gammas")
        ensure_apart(data, out, report)
        ensure_kind("--out", out, ARCHIVES)
        ensure_kind("--report", report, PAGES)
        ensure_outputs(out, report)
        if report is not None:
            outside.ensure_report(RobustSVCCV, "an estimator")
        compile_first(voice, "select")
        notes: list[str] = []
        reading = reading_of(delimiter, decimal, encoding, no_header, missing, day_first, sheet)
        with working(voice, f"reading {data}"):
            table = read_table(data, reading)
        choice = choice_of(
            target,
            drop,
            category,
            scale=scale,
            task=task,
            positive=positive,
            keep=keep,
            rows=some,
            seed=seed,
        )
        rows, goal = rows_of(table, choice, notes)
        classifies = goal.task == "classification"
        if classifies:
            two_classes(goal, table.source)
        with working(voice, "looking at the columns"):
            columns = Encoding.of(rows, choice, notes)
        if nystroem is not None:
            if kernel != "rbf" or len(widths) > 1:
                raise CommandError("--nystroem stands in for the rbf kernel with one gamma")
            width = None if widths == ["scale"] else float(widths[0])
            with working(voice, "choosing the landmarks"):
                columns, kernel = columns.with_landmarks(rows, nystroem, width), "linear"
        with working(voice, "making numbers of the columns"):
            X = columns.apply(rows, notes)
        voice.note(*notes)
        machine_class = RobustSVCCV if classifies else RobustSVRCV
        _check_folds(goal, cv, classifies, table.source)
        search = machine_class(
            Cs=grid,
            gammas=widths,
            kernel=kernel,
            path=path,
            cv=_folds(cv, seed, classifies),
            n_jobs=jobs,
            verbose=not voice.quiet,
            cache_size=cache_of(memory, *X.shape),
        )
        shape = f"{number_of(rows.size, 'row')}, {number_of(X.shape[1], 'column')}"
        voice.note(f"{machine_class.__name__}: {shape}")
        expected = _expected(X.shape, kernel, len(grid) * len(widths), cv, jobs)
        if expected.large:
            voice.note(expected.told(rows.size, kernel, len(grid), nystroem))
        try:
            with expecting(expected.seconds if expected.large else None):
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
        with working(voice, "saving the model"):
            machine.save(out)
        voice.wrote("model", out)
        if report is not None:
            shown = None if rows.matrix is not None else frame_of(rows, choice, [])
            names = [f"{rows.counted} {place}" for place in rows.place.tolist()]
            with working(voice, "writing the report"):
                outside.report_of(
                    search,
                    "an estimator",
                    title=f"{goal.name} of {table.source}",
                    X=shown,
                    row_names=names,
                ).write_html(report)
            voice.wrote("report", report)
        _tell_search(search, machine, rows, goal, voice)


def _expected(
    shape: tuple[int, int], kernel: str, grid: int, cv: int, jobs: int | None
) -> SearchEstimate:
    """How long the search will take."""
    processes = (os.cpu_count() or 1) if jobs is not None and jobs < 0 else jobs or 1
    return SearchEstimate.of(shape, kernel, grid, cv, processes)


def _check_folds(goal: Target, cv: int, classifies: bool, source: str) -> None:
    """Refuse folds that some class cannot fill."""
    if not classifies:
        if goal.values.size < cv:
            raise CommandError(
                f"{source}: {goal.values.size} rows are too few for {cv} folds; give --cv "
                f"{goal.values.size} or more rows"
            )
        return
    labels, counts = np.unique(goal.values, return_counts=True)
    least = int(counts.min())
    if least < cv:
        ways = [f"--cv {least}"] * (least > 1) + [f"at least {cv if least > 1 else 2} rows of it"]
        raise CommandError(
            f"{source}: class {quoted(labels[np.argmin(counts)])} has {number_of(least, 'row')}, "
            f"too few for {cv} folds; give {' or '.join(ways)}"
        )


def _folds(cv: int, seed: int, classifies: bool) -> Any:
    from sklearn.model_selection import KFold, StratifiedKFold

    # Files are often sorted.
    return (StratifiedKFold if classifies else KFold)(cv, shuffle=True, random_state=seed)


def _tell_search(search: Any, machine: Machine, rows: Table, goal: Target, voice: Voice) -> None:
    results = search.cv_results_
    # scikit-learn counts a loss as a score below 0.
    called, sign = ("accuracy", 1.0) if machine.classes is not None else ("loss", -1.0)
    columns = ["C", "gamma", "robustness", "from", "to", called, "+-"]
    table = [
        [
            results["params"][k]["C"],
            results["params"][k]["gamma"],
            results["params"][k]["robustness"],
            results["robustness_from"][k],
            results["robustness_to"][k],
            sign * results["mean_test_score"][k] + 0.0,
            results["std_test_score"][k],
        ]
        for k in range(len(results["params"]))
    ]
    outliers = [int(rows.place[i]) for i in search.outliers_.tolist()]
    score = f"{called} {sign * search.best_score_ + 0.0:.4g} on held-out rows"
    text = [
        voice.table(columns, table, spare=(("+-",), ("from", "to"), ("gamma",))),
        f"chosen: C = {search.C_:g}, robustness {search.robustness_:.4g} "
        f"({search.path} = {search.t_:.4g}; {score})",
        f"{number_of(len(outliers), 'row')} treated as outliers"
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
