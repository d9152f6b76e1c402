"""``homotopy certify``, ``plot`` and ``report``: what a saved path is for."""

from __future__ import annotations

import io
import os
from typing import Annotated, Any

import attrs
import numpy as np
import typer

from homotopy import Path
from homotopy.path.files import replace_file
from homotopy_plugins.cli import outside
from homotopy_plugins.cli.answers import UNPROVEN, CommandError, Voice, leave, speaking
from homotopy_plugins.cli.arguments import (
    PAGES,
    Again,
    AsJson,
    Quiet,
    Saved,
    TargetName,
    ensure_apart,
    ensure_kind,
    ensure_outputs,
    rows_of,
    voice_of,
)
from homotopy_plugins.cli.bars import bars, working
from homotopy_plugins.cli.files import read_table
from homotopy_plugins.cli.recipes import Ingredients, Restored, restored

__all__ = ["certify", "plot", "proof_data", "report", "write_report"]

# Rows times break-points that a report checks in full, and the places it checks beyond that.
CHECKED, SAMPLE = 20_000_000, 200
PICTURES = ("alpha", "objective", "partition", "validation")


def certify(
    context: typer.Context,
    file: Saved,
    data: Again = None,
    target: TargetName = None,
    tol: Annotated[
        float, typer.Option("--tol", metavar="X", help="Tolerance of the optimality conditions.")
    ] = 1e-8,
    sample: Annotated[
        int | None,
        typer.Option("--sample", metavar="N", min=1, help="Check about N points only."),
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Check a saved path against its data, condition by condition.

    The exit code is 1 if a condition fails.
    """
    voice = voice_of(context, quiet, as_json)
    with speaking(voice), bars(voice):
        if not (np.isfinite(tol) and tol > 0.0):
            raise CommandError(f"--tol must be a positive number, got {tol:g}")
        path = _restored(file, data, target, voice).path
        with working(voice, "checking the path"):
            proof = path.certify(tol, sample=sample)
        text = f"{path!r}\n{proof}"
        voice.answer(text, {"file": file, **proof_data(proof)})
    if not proof.ok:
        leave(UNPROVEN)


def _restored(file: str, data: str | None, target: str | None, voice: Voice) -> Restored:
    notes: list[str] = []
    with working(voice, f"reading {file}"):
        found = restored(file, data, target, notes)
    voice.note(*notes)
    return found


def proof_data(proof: Any) -> dict[str, Any]:
    return {
        "ok": proof.ok,
        "worst": proof.worst,
        "tol": proof.tol,
        "checks": [
            {"name": c.name, "checked": c.count, "worst": c.worst, "at": c.t, "ok": c.ok}
            for c in proof.checks
        ],
    }


def plot(
    context: typer.Context,
    file: Saved,
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="FILE", help="The picture: .png, .svg, .pdf.")
    ],
    what: Annotated[
        str,
        typer.Option("--what", metavar="NAME", help="alpha, objective, partition or validation."),
    ] = "objective",
    held_out: Annotated[
        str | None,
        typer.Option("--validate", metavar="FILE", help="Held-out rows, for --what validation."),
    ] = None,
    data: Again = None,
    target: TargetName = None,
    quiet: Quiet = False,
) -> None:
    """Draw a saved path."""
    voice = voice_of(context, quiet)
    with speaking(voice), bars(voice):
        if what not in PICTURES:
            raise CommandError(f"--what must be one of {', '.join(PICTURES)}, got {what!r}")
        if what == "validation" and held_out is None:
            raise CommandError(
                "--what validation needs rows that were held out; give --validate FILE"
            )
        for read in (file, data, held_out):
            ensure_apart(read, out)
        ensure_outputs(out)
        pyplot = _pyplot()
        ending = os.path.splitext(out)[1].lstrip(".").lower()
        kinds = pyplot.figure().canvas.get_supported_filetypes()
        pyplot.close("all")
        if ending not in kinds:
            raise CommandError(
                f"{out}: cannot draw a picture that ends in {ending!r}; give one of "
                f"{', '.join(sorted(kinds))}"
            )
        found = _restored(file, data, target, voice)
        from homotopy import plot as pictures

        shown: Any = found.path
        if what == "validation":
            assert held_out is not None
            shown = _curve(found, held_out, target, voice)
        with working(voice, "drawing"):
            picture = io.BytesIO()
            figure: Any = getattr(pictures, f"plot_{what}")(shown).figure
            figure.savefig(picture, format=ending, dpi=150)
            pyplot.close("all")
        replace_file(out, picture.getvalue())
        voice.wrote("picture", out)


def _pyplot() -> Any:
    try:
        import matplotlib
    except ImportError:
        raise CommandError("a picture needs matplotlib; install homotopy-qp[plot]") from None
    matplotlib.use("Agg")
    import matplotlib.pyplot as pyplot

    return pyplot


def _curve(found: Restored, file: str, target: str | None, voice: Voice) -> Any:
    """The loss on the rows of another file, for every t of a path."""
    recipe = found.made.recipe
    if recipe.encoding is None:
        raise CommandError(f"{recipe.plugin} is not made from columns; it has no held-out rows")
    notes: list[str] = []
    choice = recipe.choice if target is None else attrs.evolve(recipe.choice, target=target)
    with working(voice, f"reading {file}"):
        table = read_table(file, recipe.reading)
    rows, held = rows_of(table, choice, [])
    X = recipe.encoding.apply(rows, notes)
    voice.note(*notes)
    with working(voice, "predicting the held-out rows"):
        return found.path.validation_curve(X, held.values)


def report(
    context: typer.Context,
    file: Saved,
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="FILE", help="The report, one HTML file.")
    ],
    sample: Annotated[
        int | None,
        typer.Option("--sample", metavar="N", min=1, help="Check the path at about N places."),
    ] = None,
    data: Again = None,
    target: TargetName = None,
    quiet: Quiet = False,
) -> None:
    """Write the interactive report of a saved path."""
    voice = voice_of(context, quiet)
    with speaking(voice), bars(voice):
        for read in (file, data):
            ensure_apart(read, out)
        ensure_kind("--out", out, PAGES)
        ensure_outputs(out)
        outside.ensure_report(Path, "a path")
        found = _restored(file, data, target, voice)
        write_report(found.path, found.made, out, voice, sample)
        voice.wrote("report", out)


def write_report(
    path: Path, made: Ingredients, file: str, voice: Voice, sample: int | None = None
) -> None:
    """The interactive report of a path, with its coordinates called as in the file; `sample` is at
    how many places it is checked, None is at all unless there are very many."""
    if sample is None and path.problem.gram.size * path.breakpoints.size > CHECKED:
        sample = SAMPLE
        voice.note(
            f"the report checks the path at about {SAMPLE} places ('homotopy certify' at all)"
        )
    size, table, encoding = path.problem.gram.size, made.table, made.recipe.encoding
    names: list[str] | None = None
    if size == table.size:
        names = [f"{table.counted} {place}" for place in table.place.tolist()]
    elif encoding is not None and size == len(encoding.names):
        names = encoding.names
    title = f"{made.recipe.plugin} of {table.source}"
    with working(voice, "writing the report"):
        certify = True if sample is None else sample
        made_of = outside.report_of(path, "a path", title=title, names=names, certify=certify)
        made_of.write_html(file)
