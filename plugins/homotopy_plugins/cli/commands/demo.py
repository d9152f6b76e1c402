"""``homotopy demo``."""

from __future__ import annotations

import os
from typing import Annotated

import numpy as np
import typer

from homotopy.path.files import replace_file
from homotopy_plugins.cli import outside
from homotopy_plugins.cli.answers import INTERRUPTED, CommandError, leave, speaking
from homotopy_plugins.cli.arguments import AsJson, Quiet, choice_of, ensure_outputs, voice_of
from homotopy_plugins.cli.bars import bars, compile_first
from homotopy_plugins.cli.commands.audit import audited
from homotopy_plugins.cli.files import read_table
from homotopy_plugins.cli.planted import planted_table

__all__ = ["demo"]


def demo(
    context: typer.Context,
    folder: Annotated[
        str,
        typer.Option("--folder", metavar="FOLDER", help="Folder to write to; created if needed."),
    ] = ".",
    rows: Annotated[
        int, typer.Option("--rows", metavar="N", min=50, max=20_000, help="Rows of the table.")
    ] = 300,
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", help="Random seed of the table.", min=0)
    ] = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Plant wrong labels in a small table and find them again."""
    voice = voice_of(context, quiet, as_json)
    with speaking(voice), bars(voice):
        outside.ensure_audit()
        try:
            os.makedirs(folder, exist_ok=True)
        except OSError as error:
            raise CommandError(
                f"--folder {folder!r} cannot be made ({error.strerror}); give another"
            ) from None
        data = os.path.join(folder, "homotopy-demo.csv")
        html = os.path.join(folder, "homotopy-demo.html")
        ensure_outputs(data, html)
        planted = planted_table(rows, 0.1, seed)
        replace_file(data, planted.text.encode())
        wrong = f"{planted.lines.size} of them with a wrong label"
        voice.wrote("table", data, f", {rows} rows, {wrong}")
        compile_first(voice, "demo")
        table = read_table(data)
        try:
            found, _ = audited(table, choice_of("churn", (), ()), voice, cv=5, seed=0, jobs=None)
        except KeyboardInterrupt:
            voice.errors.print(f"homotopy demo: interrupted; {data} was written, no report")
            leave(INTERRUPTED)
        apply = f"homotopy audit {data} --target churn --apply decisions.csv --out corrected.csv"
        found.write_html(html, f"To apply your decisions: {apply}")
        flagged = found.frame.index.to_numpy()[found.suspected]
        hit = int(np.isin(flagged, planted.lines).sum())
        share = 100.0 * hit / planted.lines.size
        text = (
            f"{found.sentence}\n"
            f"planted: {planted.lines.size} wrong labels; flagged: {flagged.size} rows; "
            f"found: {hit} of the planted ones ({share:.0f} %), "
            f"{flagged.size - hit} false alarms\n"
            f"Open {html} in a browser. To audit a table of your own:\n"
            "  homotopy audit YOUR.csv --target COLUMN --html review.html"
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
