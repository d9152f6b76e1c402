"""``homotopy demo``."""

from __future__ import annotations

import os
from typing import Annotated

import numpy as np
import typer

from homotopy.path.files import replace_file
from homotopy_plugins.cli import outside
from homotopy_plugins.cli.answers import CommandError, speaking
from homotopy_plugins.cli.arguments import AsJson, Quiet, choice_of, ensure_outputs, voice_of
from homotopy_plugins.cli.commands.audit import audited
from homotopy_plugins.cli.planted import planted_table
from homotopy_plugins.cli.tables import read_table

__all__ = ["demo"]


def demo(
    context: typer.Context,
    folder: Annotated[
        str, typer.Option("--folder", metavar="FOLDER", help="Where to write.")
    ] = ".",
    rows: Annotated[int, typer.Option("--rows", min=50, max=20_000, help="Of the table.")] = 300,
    seed: Annotated[int, typer.Option("--seed", help="Of the table.", min=0)] = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Plant wrong labels in a small table, and look for them."""
    voice = voice_of(context, quiet, as_json)
    with speaking(voice):
        outside.ensure_audit()
        if not os.path.isdir(folder):
            raise CommandError(f"there is no folder {folder!r}; make it first")
        data = os.path.join(folder, "homotopy-demo.csv")
        html = os.path.join(folder, "homotopy-demo.html")
        ensure_outputs(data, html)
        planted = planted_table(rows, 0.1, seed)
        replace_file(data, planted.text.encode())
        voice.note(f"table: {data}, {rows} rows, {planted.lines.size} of them with a wrong label")
        table = read_table(data)
        found, _ = audited(table, choice_of("churn", (), ()), voice, cv=5, seed=0, jobs=None)
        found.write_html(html)
        flagged = found.frame.index.to_numpy()[found.suspected]
        hit = int(np.isin(flagged, planted.lines).sum())
        share = 100.0 * hit / planted.lines.size
        text = (
            f"{found.sentence}\n"
            f"planted: {planted.lines.size} wrong labels; suspected: {flagged.size} rows; "
            f"found: {hit} of the planted ones ({share:.0f} %), "
            f"{flagged.size - hit} suspected without reason\n"
            f"open {html} in a browser; the same for a table of your own:\n"
            f"  homotopy audit {data} --target churn --html {html}"
        )
        voice.answer(
            text,
            {
                "table": data,
                "report": html,
                "rows": rows,
                "planted": planted.lines,
                "suspected": np.sort(flagged),
                "found": hit,
            },
        )
