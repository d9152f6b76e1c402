"""``homotopy trace``."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from homotopy import Path
from homotopy_plugins.cli import outside
from homotopy_plugins.cli.answers import UNPROVEN, CommandError, leave, speaking
from homotopy_plugins.cli.arguments import (
    AsJson,
    Categories,
    Characters,
    Data,
    Decimal,
    Delimiter,
    Drop,
    NoHeader,
    Positive,
    Quiet,
    Scale,
    TargetName,
    choice_of,
    ensure_apart,
    ensure_outputs,
    plugin_names,
    reading_of,
    voice_of,
)
from homotopy_plugins.cli.commands.saved import proof_data, write_report
from homotopy_plugins.cli.options import settings_of
from homotopy_plugins.cli.recipes import checked_plugin, mix
from homotopy_plugins.cli.tables import read_table
from homotopy_plugins.cli.tracing import traced

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
            help="What to trace: any installed plugin ('homotopy plugins' lists them).",
            autocompletion=plugin_names,
        ),
    ] = "hinge-ramp",
    path: Annotated[
        str | None, typer.Option("--path", metavar="NAME", help="What moves, theta for instance.")
    ] = None,
    kernel: Annotated[str | None, typer.Option("--kernel", help="linear, rbf, poly, ...")] = None,
    cost: Annotated[
        str | None, typer.Option("--C", metavar="VALUE", help="The weight of the loss.")
    ] = None,
    gamma: Annotated[str | None, typer.Option("--gamma", metavar="VALUE", help="Of rbf.")] = None,
    options: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Any other option of the plugin; @column takes a column. Repeat for more.",
        ),
    ] = None,
    out: Annotated[
        str | None, typer.Option("--out", "-o", metavar="FILE", help="Save the path (.npz).")
    ] = None,
    report: Annotated[
        str | None, typer.Option("--report", metavar="FILE", help="Write an interactive report.")
    ] = None,
    certify: Annotated[
        bool, typer.Option("--certify", help="Prove the path once it is traced.")
    ] = False,
    max_breakpoints: Annotated[
        int | None,
        typer.Option("--max-breakpoints", metavar="N", help="Stop after N break-points."),
    ] = None,
    max_seconds: Annotated[
        float | None, typer.Option("--max-seconds", metavar="S", help="Stop after so long.")
    ] = None,
    drop: Drop = None,
    category: Categories = None,
    scale: Scale = True,
    positive: Positive = None,
    delimiter: Delimiter = None,
    decimal: Decimal = ".",
    encoding: Characters = "utf-8",
    no_header: NoHeader = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Trace the whole path of a model.

    With --out, Ctrl-C saves what was traced until then.
    """
    voice = voice_of(context, quiet, as_json)
    with speaking(voice):
        checked_plugin(loss)
        settings = settings_of(options or [])
        for name, value in {"path": path, "kernel": kernel, "C": cost, "gamma": gamma}.items():
            if value is not None:
                if name in settings:
                    raise CommandError(f"--{name} and --set {name} say the same; give one of them")
                settings[name] = value
        ensure_apart(data, out, report)
        ensure_outputs(out, report)
        if report is not None:
            outside.ensure_report(Path, "a path")
        reading = reading_of(delimiter, decimal, encoding, no_header)
        choice = choice_of(target, drop, category, scale=scale, positive=positive)
        notes: list[str] = []
        made = mix(loss, settings, read_table(data, reading), choice, reading, data, notes)
        for note in notes:
            voice.note(note)

        def keep(traced_path: Path) -> str:
            assert out is not None
            made.recipe.keep(traced_path, out)
            return out

        found = traced(
            made.model,
            voice,
            keep if out is not None else None,
            max_breakpoints=max_breakpoints,
            max_seconds=max_seconds,
        )
        if out is not None:
            voice.note(f"path: {keep(found)}")
        if report is not None:
            write_report(found, made, report)
            voice.note(f"report: {report}")
        proof = found.certify() if certify else None
        text = found.summary() if proof is None else f"{found.summary()}\n{proof}"
        answer = path_data(found, loss)
        if proof is not None:
            answer["certificate"] = proof_data(proof)
        voice.answer(text, answer)
    if proof is not None and not proof.ok:
        leave(UNPROVEN)


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
