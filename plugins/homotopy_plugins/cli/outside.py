"""What other parts of the toolkit do for the command line, each behind one function.

Where an installation does not have one of them, the command says so in a line.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from homotopy import HomotopyError
from homotopy_plugins.cli.answers import CommandError

__all__ = ["Audited", "audited", "ensure_audit", "ensure_report", "report_of"]


@attrs.frozen(eq=False)
class Audited:
    """An audit: the report, its frame (one row per row of the table, most suspected first, with the
    caller's index), and which of them are suspected."""

    report: Any
    frame: Any
    suspected: Any

    def write_html(self, file: str, apply: str) -> None:
        """The page; `apply` says how decisions are applied."""
        self.report.write_html(file, apply=apply)

    @property
    def sentence(self) -> str:
        """How many rows are wrong, and how far that can be relied upon."""
        report = self.report
        if hasattr(report, "sentence"):
            return f"{report.sentence}\n{report.trust}"
        return str(report.summary()).strip().split("\n")[0]

    @property
    def groups(self) -> list[str]:
        """Rows that look wrong together, in words; the largest group first."""
        groups = getattr(self.report, "groups", ())
        return [str(group) for group in sorted(groups, key=lambda one: -len(one.rows))]

    @property
    def task(self) -> str:
        return str(getattr(self.report, "task", "classification"))

    @property
    def closed(self) -> bool:
        """Whether the columns say too little for a number."""
        return getattr(getattr(self.report, "verdict", None), "colour", "") == "red"

    @property
    def notes(self) -> list[str]:
        """What the audit did to the columns; which hold dates was said when they were read."""
        notes = (str(note) for note in getattr(self.report, "notes", ()))
        return [note for note in notes if not note.startswith("Dates were read as days")]


def audited(X: Any, y: Any, place: Any, **options: Any) -> Audited:
    """Which rows of a table are wrong; X is a DataFrame indexed by `place`, or a sparse matrix."""
    function = ensure_audit()
    try:
        report = function(X, y, **options)
    except HomotopyError as error:
        # The command is named already.
        raise CommandError(str(error).removeprefix("audit: ")) from error
    except (TypeError, ValueError) as error:
        raise CommandError(str(error).removeprefix("audit: ")) from error
    # Rows are named by their place in the file; a number among those handed over would mislead.
    frame = report.to_frame().drop(columns="row", errors="ignore")
    if not hasattr(X, "iloc"):
        # A matrix has no index: its rows are counted.
        frame = frame.set_axis(place[frame.index.to_numpy()], axis=0)
    return Audited(report, frame, _suspected(frame))


def ensure_audit() -> Callable[..., Any]:
    """The audit; refused, before anything is done, where there is none."""
    import homotopy_plugins

    function: Callable[..., Any] | None = getattr(homotopy_plugins, "audit", None)
    if function is None:
        raise CommandError(
            "this installation of homotopy-qp has no homotopy_plugins.audit; install a version "
            "that has it"
        )
    return function


def _suspected(frame: Any) -> Any:
    """The column that says which rows are suspected."""
    for name in ("is_label_issue", "is_issue", "suspected"):
        if name in frame.columns:
            return frame[name].to_numpy(dtype=bool)
    raise CommandError(
        f"audit: its table says of no row whether it is suspected (columns: {list(frame.columns)})"
    )


def report_of(source: Any, what: str, **options: Any) -> Any:
    """The interactive report of a path or an estimator; it has ``write_html``."""
    function = getattr(source, "report", None)
    if function is None:
        raise CommandError(
            f"this installation of homotopy-qp has no report of {what}; install a version that has "
            "it, or leave the report off"
        )
    return function(**options)


def ensure_report(kind: type, what: str) -> None:
    """Refuse a report that cannot be written, before the long work."""
    if not hasattr(kind, "report"):
        report_of(None, what)
