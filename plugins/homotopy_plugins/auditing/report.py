"""The answer of an audit: a table, an account in words, and a page for the browser."""

from __future__ import annotations

import html
import os
import textwrap
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from homotopy.path.files import replace_file
from homotopy_plugins.auditing.gate import Verdict
from homotopy_plugins.auditing.groups import Group
from homotopy_plugins.auditing.page import TITLE, Shown, page_of
from homotopy_plugins.estimators.audit import table
from homotopy_plugins.kernels.checks import check_top

__all__ = ["AuditReport", "Shown", "ordered"]

# How many rows a notebook shows, and a page.
SHOWN, WRITTEN = 10, 200
# How many groups a summary tells.
GROUPS = 5
# How tall the page is where it is shown inside another.
HEIGHT = 700
SAID = {
    "green": "the columns predict the target on held-out rows.",
    "amber": "treat this answer with caution",
    "red": "no estimate is given",
}


@attrs.frozen(eq=False, repr=False)
class AuditReport:
    """Which rows are wrong, and how many.

    Attributes
    ----------
    task : str
        "classification" or "regression".
    n_wrong : int or None
        How many rows are estimated to be wrong; None where no number can be given, see `verdict`.
    interval : tuple of int or None
        Between which numbers it lies, with the chance `level`.
    level : float
    columns : dict of str to array
        The table, most suspicious row first; see `to_frame`.
    index : object
        The caller's pandas index, in the same order, or None.
    weights : dict of str to float
        How far each machine was relied upon.
    verdict : Verdict
        How far the answer can be relied upon: a `colour` ("green", "amber" or "red") and `reasons`.
    groups : tuple of Group
        Rows that are alike, have one label, and contradict the rows around them.
    notes : tuple of str
        What was filled in, left out, approximated.
    seconds : float
    shown : Shown
        What a page needs to show rows as they are.
    """

    task: str
    n_wrong: int | None
    interval: tuple[int, int] | None
    level: float
    columns: dict[str, Any]
    index: Any
    weights: dict[str, float]
    verdict: Verdict
    groups: tuple[Group, ...]
    notes: tuple[str, ...]
    seconds: float
    shown: Shown

    def __len__(self) -> int:
        return int(self.columns["row"].size)

    def __repr__(self) -> str:
        if self.interval is None:
            return f"<AuditReport: {len(self)} rows, and no number: {self.verdict.reasons[0]}>"
        low, high = self.interval
        return f"<AuditReport: about {self.n_wrong} of {len(self)} rows wrong ({low} to {high})>"

    @property
    def n_named(self) -> int:
        """How many rows are named, `is_label_issue`: those worth a look, which may be more or fewer
        than are wrong."""
        return int(self.columns["is_label_issue"].sum())

    def to_frame(self, top: int | None = None) -> Any:
        """The rows, most suspicious first; all of them, or the first `top`.

        Returns
        -------
        pandas.DataFrame with the caller's index, or a structured array without pandas
            row, the position in the table; is_label_issue; label_quality, the chance that the label
            is right, in [0, 1]; given_label; predicted_label, of a named row the likeliest other
            label, of any other row the likeliest one; margin_start and margin_end
            (residual_start and residual_end, without their sign), of the plain machine and where
            outliers have no pull, on a path traced on all rows; outlier_from, the s at which the
            row first counts as an outlier on it, NaN if it never does; share, the part of the path
            on which it is one; group, the number of its group in `groups`, or -1; reason, in words.
        """
        check_top(top, "AuditReport: to_frame")
        made = table({name: values[:top] for name, values in self.columns.items()})
        if self.index is not None and hasattr(made, "index"):
            made.index = self.index[:top]
        return made

    def issues(self) -> Any:
        """The rows that are named; as `to_frame`."""
        frame, named = self.to_frame(), self.columns["is_label_issue"]
        return frame.loc[named] if hasattr(frame, "loc") else frame[named]

    def summary(self) -> str:
        """An account in words."""
        lines = [self.sentence, self.trust, f"Task: {self.task}{self._classes}."]
        relied = ", ".join(f"{name} {share:.0%}" for name, share in self.weights.items())
        lines.append(f"Weight of each model: {relied}.")
        lines += self.notes
        lines += [f"Group {k}: {group}." for k, group in enumerate(self.groups[:GROUPS])]
        if len(self.groups) > GROUPS:
            lines.append(f"And {len(self.groups) - GROUPS} more groups: groups has them all.")
        text = [textwrap.fill(line, 98, subsequent_indent="  ") for line in lines]
        named = np.flatnonzero(self.columns["is_label_issue"])
        for k in named[:5]:
            text.append(f"  {self._name(int(k))}: {self.columns['reason'][k]}")
        if named.size > 5:
            text.append(f"  and {named.size - 5} more: issues() has them all.")
        return "\n".join(text)

    @property
    def _classes(self) -> str:
        if self.task != "classification":
            return ""
        return f", {np.unique(self.columns['given_label']).size} different labels"

    @property
    def sentence(self) -> str:
        """How many rows are wrong, in a sentence."""
        what = "labels" if self.task == "classification" else "targets"
        flagged = {0: "No row is flagged", 1: "1 row is flagged"}.get(
            self.n_named, f"{self.n_named:,} rows are flagged"
        )
        if self.interval is None:
            said = f"We cannot say how many of the {len(self):,} {what} are wrong."
            many = self.n_named
            return said + (f" {flagged} because they look wrong all the same." if many else "")
        low, high = self.interval
        return (
            f"About {self.n_wrong:,} of {len(self):,} {what} look wrong "
            f"({self.level:.0%} interval: {low:,} to {high:,}). {flagged} for review."
        )

    @property
    def trust(self) -> str:
        """The verdict, in a sentence."""
        said = SAID[self.verdict.colour]
        if not self.verdict.reasons:
            return f"Green: {said}"
        return f"{self.verdict.colour.capitalize()}: {said}: {'; '.join(self.verdict.reasons)}."

    def _name(self, k: int) -> str:
        if self.index is None:
            return f"row {self.columns['row'][k]}"
        name = self.index[k]
        return name if isinstance(name, str) else f"{self.counted} {name}"

    @property
    def counted(self) -> str:
        """What numbers of rows count: the name of the caller's index, or "row"."""
        name = getattr(self.index, "name", None)
        return name if isinstance(name, str) and name else "row"

    # ------------------------------------------------------------------ pages

    def _repr_html_(self) -> str:
        """The page in a frame of its own, for notebooks."""
        page = page_of(self, SHOWN)
        return (
            f'<iframe srcdoc="{html.escape(page)}" title="{TITLE}" '
            f'sandbox="allow-scripts" style="width:100%;height:{HEIGHT}px;border:0"></iframe>'
        )

    def write_html(
        self, file: str | os.PathLike[str], top: int = WRITTEN, apply: str | None = None
    ) -> None:
        """One page that needs nothing else: the account, and the first `top` rows (at least all
        that are named, up to ten times as many) to look at and to decide about.

        Decisions are kept by the browser and exported as CSV, which ``homotopy audit --apply``
        reads for CSV, JSON and Excel files; `apply` is what the page says about that.  Whatever
        came from the table is shown as text and is never read as HTML.
        """
        replace_file(file, page_of(self, top, apply).encode("utf-8", "replace"))


def ordered(
    order: npt.NDArray[np.int64], columns: dict[str, Any], index: Any
) -> tuple[dict[str, Any], Any]:
    """Columns and index in the order of suspicion."""
    made = {"row": order, **{name: np.asarray(v)[order] for name, v in columns.items()}}
    return made, None if index is None else index[order]
