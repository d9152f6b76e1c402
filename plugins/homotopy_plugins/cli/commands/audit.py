"""``homotopy audit``."""

from __future__ import annotations

import shlex
from typing import Annotated, Any

import typer

from homotopy.path.files import replace_file
from homotopy_plugins.cli import outside
from homotopy_plugins.cli.answers import INTERRUPTED, CommandError, Voice, leave, speaking
from homotopy_plugins.cli.arguments import (
    PAGES,
    TABLES,
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
    Missing,
    NoHeader,
    Quiet,
    Sheet,
    TargetName,
    Task,
    choice_of,
    ensure_apart,
    ensure_kind,
    ensure_outputs,
    options_of_reading,
    reading_of,
    rows_of,
    voice_of,
    write_csv,
)
from homotopy_plugins.cli.bars import bars, compile_first, working
from homotopy_plugins.cli.corrections import can_be_corrected, ensure_same_kind
from homotopy_plugins.cli.decisions import Allowed, corrected
from homotopy_plugins.cli.encoding import frame_of
from homotopy_plugins.cli.files import STDIN, Reading, read_table
from homotopy_plugins.cli.targets import classes_to_audit
from homotopy_plugins.cli.texts import bare_ending
from homotopy_plugins.tables.columns import Table
from homotopy_plugins.tables.frames import holds_text
from homotopy_plugins.tables.kinds import Choice
from homotopy_plugins.wording import listed, number_of

# Columns for people; --csv and --json have all.
READ = ("label_quality", "given_label", "predicted_label", "reason")
# Suspected rows printed at most; all are in --csv and --json.
SHOWN = 30
# Groups printed at most, the largest first.
GROUPS = 5
QUALITY = (
    "label_quality is the probability that the {what} is right, as all models together see it; a "
    "reason quotes one of them."
)

__all__ = ["audit", "audited"]


def audit(
    context: typer.Context,
    data: Data,
    target: TargetName = None,
    html: Annotated[
        str | None,
        typer.Option(
            "--html", metavar="FILE", help="Write a page to review the flagged rows in a browser."
        ),
    ] = None,
    csv_file: Annotated[
        str | None,
        typer.Option("--csv", metavar="FILE", help="Write every row, most suspicious first."),
    ] = None,
    top: Annotated[
        int | None,
        typer.Option("--top", metavar="N", min=1, help="Print the N most suspicious rows."),
    ] = None,
    cv: Annotated[
        int, typer.Option("--cv", metavar="N", min=2, help="Number of cross-validation folds.")
    ] = 5,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Random seed of the folds.")] = 0,
    max_seconds: Annotated[
        float | None,
        typer.Option(
            "--max-seconds", metavar="S", min=1, help="Start no further model after S seconds."
        ),
    ] = None,
    apply: Annotated[
        str | None,
        typer.Option("--apply", metavar="FILE", help="Apply decisions exported from the page."),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option("--out", metavar="FILE", help="Where --apply writes the corrected table."),
    ] = None,
    allow_empty: Annotated[
        bool,
        typer.Option("--allow-empty", help="Let --apply empty cells without a corrected label."),
    ] = False,
    allow_new: Annotated[
        bool,
        typer.Option("--allow-new", help="Let --apply write labels that do not occur yet."),
    ] = False,
    drop: Drop = None,
    category: Categories = None,
    keep: Keep = None,
    task: Task = "auto",
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
    """Find rows whose label or target looks wrong.

    Rows are listed by their line in the file; the header is line 1.  With --apply, no audit is
    run: decisions exported from the page of --html are written into the table.
    """
    voice = voice_of(context, quiet, as_json)
    with speaking(voice), bars(voice):
        outside.ensure_audit()
        ensure_apart(data, html, csv_file)
        ensure_kind("--html", html, PAGES)
        ensure_kind("--csv", csv_file, TABLES)
        ensure_outputs(html, csv_file)
        reading = reading_of(delimiter, decimal, encoding, no_header, missing, day_first, sheet)
        choice = choice_of(target, drop, category, task=task, keep=keep)
        if apply is not None or out is not None:
            allowed = Allowed(allow_empty, allow_new)
            _apply(data, reading, choice, voice, decisions=apply, out=out, allowed=allowed)
            return
        compile_first(voice, "audit")
        with working(voice, f"reading {data}"):
            table = read_table(data, reading)
        try:
            found, counted = audited(
                table, choice, voice, cv=cv, seed=seed, jobs=jobs, max_seconds=max_seconds
            )
        except KeyboardInterrupt:
            voice.errors.print("homotopy audit: interrupted; nothing was written")
            leave(INTERRUPTED)
        if html is not None:
            _write_page(found, data, choice, reading, html, voice)
        _tell_audit(found, counted, voice, top=top, csv_file=csv_file)


def _apply(
    data: str,
    reading: Reading,
    choice: Choice,
    voice: Voice,
    *,
    decisions: str | None,
    out: str | None,
    allowed: Allowed,
) -> None:
    """Write the table with the labels that were decided upon."""
    if decisions is None or out is None:
        raise CommandError(
            "--apply FILE and --out FILE belong together: the decisions, and the table to write"
        )
    ensure_apart(data, out)
    ensure_apart(decisions, out)
    ensure_same_kind(data, out)
    ensure_outputs(out)
    made = corrected(data, reading, choice, decisions, out, allowed)
    replace_file(out, made.content)
    if made.same:
        voice.note(
            f"called wrong, but corrected to the label they have: {made.counted} "
            f"{listed(sorted(made.same))}"
        )
    empty = f", {made.emptied} emptied" if made.emptied else ""
    voice.answer(
        f"{out}: {number_of(made.changed, 'label')} corrected{empty}; {made.kept} left as they are",
        {"out": out, "changed": made.changed, "emptied": made.emptied, "kept": made.kept},
    )


def audited(
    table: Table,
    choice: Choice,
    voice: Voice,
    *,
    cv: int,
    seed: int,
    jobs: int | None,
    max_seconds: float | None = None,
) -> tuple[outside.Audited, str]:
    """The audit of a table; its frame is indexed by line (or row), which is the second answer."""
    notes: list[str] = []
    rows, target = rows_of(table, choice, notes)
    classes_to_audit(target, table.source)
    voice.note(*notes)
    notes.clear()
    with working(voice, "looking at the columns"):
        X = _as_read(frame_of(rows, choice, notes))
    voice.note(*notes)
    options: dict[str, Any] = {"cv": cv, "random_state": seed, "task": target.task}
    if jobs is not None:
        options["n_jobs"] = jobs
    if max_seconds is not None:
        options["max_seconds"] = max_seconds
    kept = [name for name in (*choice.keep, *choice.category) if name in rows.names]
    if kept:
        options["keep"] = kept
    options["verbose"] = not voice.quiet
    found = outside.audited(X, target.values, rows.place, **options)
    voice.note(*found.notes)
    return found, table.counted


def _as_read(X: Any) -> Any:
    """The frame with words as categories, so that they are not read again."""
    if not hasattr(X, "iloc"):
        return X
    words = [name for name in X.columns if holds_text(X[name])]
    return X.astype(dict.fromkeys(words, "category"))


def _about_quality(found: outside.Audited) -> str:
    """What the column says, and why a row above 0.5 may be flagged."""
    if found.closed:
        return "label_quality only ranks the rows here; it is no probability where none is given."
    quality = found.frame["label_quality"].to_numpy()[found.suspected]
    said = QUALITY.format(what="target" if found.task == "regression" else "label")
    high = int((quality > 0.5).sum())
    if not high:
        return said
    return (
        f"{said} {quality.size - high:,} of the {quality.size:,} flagged rows are below 0.5; less "
        "certain ones are flagged too, since the list is made for the best balance of wrong rows "
        "found and false alarms (expected F1)."
    )


def _write_page(
    found: outside.Audited, data: str, choice: Choice, reading: Reading, html: str, voice: Voice
) -> None:
    """The page, with the command that applies what is decided on it."""
    if can_be_corrected(data):
        ending = ".csv" if data == STDIN else bare_ending(data) or ".csv"
        words = ["homotopy", "audit", "DATA" if data == STDIN else data]
        words += [] if choice.target is None else ["--target", choice.target]
        words += [] if choice.task == "auto" else ["--task", choice.task]
        words += [
            *options_of_reading(reading),
            "--apply",
            "decisions.csv",
            "--out",
            f"corrected{ending}",
        ]
        found.write_html(html, f"To apply your decisions: {shlex.join(words)}")
    else:
        cannot = (
            f"decisions cannot be written into a {bare_ending(data)} file (--apply takes CSV, JSON "
            "and Excel)"
        )
        found.write_html(html, f"{cannot[:1].upper()}{cannot[1:]}.")
        voice.note(f"{data}: {cannot}")
    voice.wrote("report", html)


def _tell_audit(
    found: outside.Audited,
    counted: str,
    voice: Voice,
    *,
    top: int | None,
    csv_file: str | None,
) -> None:
    frame = found.frame
    places = frame.index.to_numpy()
    columns = [counted, *map(str, frame.columns)]
    records = [[places[k], *values] for k, values in enumerate(frame.itertuples(index=False))]
    if csv_file is not None:
        write_csv(csv_file, columns, records)
        voice.wrote("all rows", csv_file)
    suspected = [row for row, is_one in zip(records, found.suspected, strict=True) if is_one]
    # How many are shown says nothing about how many are suspected.
    shown = (records if top is not None else suspected)[: top or SHOWN]
    kept = [k for k, name in enumerate(columns) if name in (counted, *READ)] or [0]
    text = [found.sentence, *found.groups[:GROUPS]]
    if len(found.groups) > GROUPS:
        text.append(
            f"and {number_of(len(found.groups) - GROUPS, 'more group')} (--html shows them)"
        )
    if shown:
        cells = [[row[k] for k in kept] for row in shown]
        below = "reason" if columns[kept[-1]] == "reason" else None
        text += ["", voice.table([columns[k] for k in kept], cells, below=below)]
    if top is None and len(suspected) > len(shown):
        text.append(f"... and {len(suspected) - len(shown)} more (--top or --csv shows them)")
    if shown and "label_quality" in columns:
        text.append(_about_quality(found))
    voice.answer(
        "\n".join(text),
        {
            "rows": len(records),
            "suspected": len(suspected),
            # In a file without lines "rows" is taken already.
            "lines" if counted == "line" else "rows_suspected": [row[0] for row in suspected],
            "summary": found.sentence,
            "groups": found.groups,
            "table": [dict(zip(columns, row, strict=True)) for row in shown],
        },
    )
