"""``homotopy trace``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer

from homotopy import Path
from homotopy_plugins.cli import outside
from homotopy_plugins.cli.answers import INTERRUPTED, UNPROVEN, CommandError, Voice, leave, speaking
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
    choice_of,
    ensure_apart,
    ensure_kind,
    ensure_outputs,
    plugin_names,
    reading_of,
    voice_of,
)
from homotopy_plugins.cli.bars import bars, compile_first, working
from homotopy_plugins.cli.commands.saved import proof_data, write_report
from homotopy_plugins.cli.files import read_table
from homotopy_plugins.cli.options import DIRECT, settings_of
from homotopy_plugins.cli.recipes import Ingredients, checked_plugin, mix
from homotopy_plugins.cli.sizes import estimate
from homotopy_plugins.cli.thresholds import with_threshold
from homotopy_plugins.cli.tracing import told, traced

__all__ = ["path_data", "trace"]


def trace(
    context: typer.Context,
    data: Data,
    target: TargetName = None,
    loss: Annotated[
        str,
        typer.Option(
            "--loss",
            metavar="PLUGIN",
            help="The model to trace; 'homotopy plugins' lists them.",
            autocompletion=plugin_names,
        ),
    ] = "hinge-ramp",
    path: Annotated[
        str | None,
        typer.Option("--path", metavar="NAME", help="The parameter that moves, for example theta."),
    ] = None,
    kernel: Annotated[
        str | None, typer.Option("--kernel", metavar="NAME", help="linear, rbf, poly, ...")
    ] = None,
    cost: Annotated[
        str | None, typer.Option("--C", metavar="VALUE", help="Weight of the loss.")
    ] = None,
    gamma: Annotated[
        str | None,
        typer.Option(
            "--gamma",
            metavar="VALUE",
            help="Width of the rbf kernel; scale as in select (default: 1 / number of columns).",
        ),
    ] = None,
    options: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Any other option of the model; @column takes a column (repeatable).",
        ),
    ] = None,
    out: Annotated[
        str | None, typer.Option("--out", "-o", metavar="FILE", help="Save the path (.npz).")
    ] = None,
    report: Annotated[
        str | None, typer.Option("--report", metavar="FILE", help="Write an interactive report.")
    ] = None,
    certify: Annotated[
        bool, typer.Option("--certify", help="Check the path once it is traced.")
    ] = False,
    max_breakpoints: Annotated[
        int | None,
        typer.Option("--max-breakpoints", metavar="N", help="Stop after N break-points."),
    ] = None,
    max_seconds: Annotated[
        float | None, typer.Option("--max-seconds", metavar="S", help="Stop after S seconds.")
    ] = None,
    rows: SomeRows = None,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Random seed of --rows.")] = 0,
    nystroem: Landmarks = None,
    memory: Memory = None,
    drop: Drop = None,
    category: Categories = None,
    keep: Keep = None,
    scale: Scale = True,
    positive: Positive = None,
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
    """Trace the whole solution path of a model.

    With --out, Ctrl-C saves what has been traced so far.
    """
    voice = voice_of(context, quiet, as_json)
    with speaking(voice), bars(voice):
        checked_plugin(loss)
        settings = settings_of(options or [])
        for name, value in zip(DIRECT, (path, kernel, cost, gamma), strict=True):
            if value is not None:
                if name in settings:
                    raise CommandError(f"--{name} and --set {name} say the same; give one of them")
                settings[name] = value
        ensure_apart(data, out, report)
        ensure_kind("--out", out, ARCHIVES)
        ensure_kind("--report", report, PAGES)
        ensure_outputs(out, report)
        if report is not None:
            outside.ensure_report(Path, "a path")
        compile_first(voice, "trace")
        reading = reading_of(delimiter, decimal, encoding, no_header, missing, day_first, sheet)
        choice = choice_of(
            target, drop, category, scale=scale, positive=positive, keep=keep, rows=rows, seed=seed
        )
        notes: list[str] = []
        width = _as_features(settings) if nystroem is not None else None
        with working(voice, f"reading {data}"):
            made = mix(
                loss,
                settings,
                read_table(data, reading),
                choice,
                reading,
                data,
                notes,
                memory=memory,
                nystroem=nystroem,
                gamma=width,
            )
        voice.note(*notes)
        _warn(made, voice, saved=out is not None)
        with working(voice, "solving the plain machine"):
            made, start, note = with_threshold(made)
        if note:
            voice.note(note)

        def kept(traced_path: Path) -> str:
            assert out is not None
            made.recipe.keep(traced_path, out)
            return out

        found = traced(
            made.model,
            voice,
            kept if out is not None else None,
            start=start,
            max_breakpoints=max_breakpoints,
            max_seconds=max_seconds,
        )
        if out is not None:
            voice.wrote("path", _saved(found, kept, voice))
        if report is not None:
            write_report(found, made, report, voice)
            voice.wrote("report", report)
        with working(voice, "checking the path"):
            proof = found.certify() if certify else None
        text = told(found.summary(), found, max_breakpoints, max_seconds)
        text = text if proof is None else f"{text}\n{proof}"
        answer = path_data(found, loss)
        if proof is not None:
            answer["certificate"] = proof_data(proof)
        voice.answer(text, answer)
    if proof is not None and not proof.ok:
        leave(UNPROVEN)


def _saved(found: Path, keep: Callable[[Path], str], voice: Voice) -> str:
    """Save a path, which may have taken long, though Ctrl-C comes meanwhile."""
    try:
        with working(voice, "saving the path"):
            return keep(found)
    except KeyboardInterrupt:
        voice.errors.print("saving the path first (Ctrl-C again to give it up)")
        voice.errors.print(f"homotopy trace: interrupted; the whole path is saved in {keep(found)}")
        leave(INTERRUPTED)


def _as_features(settings: dict[str, str]) -> float | None:
    """Make the settings those of a linear kernel; the width of the rbf kernel it stands in for."""
    if settings.get("kernel", "rbf") != "rbf":
        raise CommandError(
            f"--nystroem stands in for the rbf kernel, got --kernel {settings['kernel']}"
        )
    settings["kernel"] = "linear"
    text = settings.pop("gamma", None)
    try:
        # As in select, "scale" is 1 / number of columns of the kernel that is approximated.
        width = None if text in (None, "scale") else float(text)
    except ValueError:
        width = -1.0
    if width is not None and not width > 0.0:
        raise CommandError(f"--gamma must be a positive number, got {text!r}")
    return width


def _warn(made: Ingredients, voice: Voice, saved: bool) -> None:
    """Say beforehand what will take long."""
    kernel = getattr(made.model, "kernel", None)
    if kernel not in ("linear", "rbf", "poly") or made.recipe.encoding is None:
        return
    size = made.table.size
    expected = estimate(size, len(made.recipe.encoding.names), kernel)
    if expected.large:
        landmarks = made.recipe.encoding.landmarks
        features = None if landmarks is None else landmarks.points.shape[0]
        voice.note(expected.told(size, kernel, saved, features))


def path_data(path: Path, plugin: str) -> dict[str, Any]:
    ends = {}
    for name, t in zip(("start", "end"), path.traced, strict=True):
        known = path.problem.unanchored(t).size == 0
        parts = {piece: rows.size for piece, rows in path.partition(t).items()}
        ends[name] = {
            "t": t,
            "objective": path.objective(t) if known else None,
            "partition": parts,
        }
    return {
        "plugin": plugin,
        "model": type(path.model).__name__,
        "parameter": path.model.parameter,
        "n": path.problem.gram.size,
        "traced": list(path.traced),
        "status": path.status.name.lower(),
        "complete": path.complete,
        "breakpoints": int(path.breakpoints.size),
        "jumps": [
            {
                "t": jump.t,
                "flipped": jump.flipped.size,
                "objective_before": jump.objective_before,
                "objective_after": jump.objective_after,
            }
            for jump in path.jumps
        ],
        **ends,
    }
