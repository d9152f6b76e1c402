"""The answer of an audit: a table, an account in words, and a page for the browser."""

from __future__ import annotations

import html
import os
import textwrap
from pathlib import Path as File
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from homotopy import ModelError
from homotopy_plugins.estimators.audit import table

__all__ = ["AuditReport"]

# So many rows a notebook shows, and a page.
SHOWN, WRITTEN = 10, 100

STYLE = """
.audit { font: 14px/1.45 system-ui, sans-serif; color: #1b1b1b; max-width: 76rem; }
.audit h1 { font-size: 1.3rem; margin: 0 0 .4rem; }
.audit .number { font-size: 2rem; font-weight: 600; color: #a3231d; }
.audit table { border-collapse: collapse; margin: .8rem 0; }
.audit th, .audit td { padding: .25rem .6rem; text-align: left; border-bottom: 1px solid #e3e3e3;
  vertical-align: top; }
.audit th { font-weight: 600; border-bottom: 2px solid #b8b8b8; }
.audit td.n { text-align: right; font-variant-numeric: tabular-nums; }
.audit tr.issue td:first-child { border-left: 4px solid #a3231d; }
.audit .bar { display: inline-block; width: 4rem; height: .6rem; background: #eeeeee;
  margin-right: .4rem; }
.audit .bar i { display: block; height: 100%; background: #2f6f9f; }
.audit .note { color: #555555; margin: .2rem 0; }
"""


@attrs.frozen(eq=False, repr=False)
class AuditReport:
    """Which rows are wrong, and how many.

    Attributes
    ----------
    task : str
        "classification" or "regression".
    n_wrong : int
        How many rows are estimated to be wrong; so many are marked `is_label_issue`.
    interval : tuple of int
        Between which numbers it lies, with the chance `level`.
    level : float
    columns : dict of str to array
        The table, most suspicious row first; see `to_frame`.
    index : object
        The caller's pandas index, in the same order, or None.
    weights : dict of str to float
        How far each machine was relied upon.
    notes : tuple of str
        What was filled in, left out, approximated.
    seconds : float
    """

    task: str
    n_wrong: int
    interval: tuple[int, int]
    level: float
    columns: dict[str, Any]
    index: Any
    weights: dict[str, float]
    notes: tuple[str, ...]
    seconds: float

    def __len__(self) -> int:
        return int(self.columns["row"].size)

    def __repr__(self) -> str:
        low, high = self.interval
        return f"<AuditReport: about {self.n_wrong} of {len(self)} rows wrong ({low} to {high})>"

    def to_frame(self, top: int | None = None) -> Any:
        """The rows, most suspicious first; all of them, or the first `top`.

        Returns
        -------
        pandas.DataFrame with the caller's index, or a structured array without pandas
            row, the position in the table; is_label_issue; label_quality, the chance that the label
            is right, in [0, 1]; given_label; predicted_label; margin_start and margin_end
            (residual_start and residual_end, without their sign), of the plain machine and where
            outliers have no pull, on a path traced on all rows; outlier_from, the s at which the
            row first counts as an outlier on it, NaN if it never does; share, the part of the path
            on which it is one; reason, the same in words.
        """
        whole = isinstance(top, int | np.integer) and not isinstance(top, bool)
        if top is not None and not (whole and top >= 1):
            raise ModelError(
                f"AuditReport: to_frame: top must be a positive integer or None, got {top!r}"
            )
        made = table({name: values[:top] for name, values in self.columns.items()})
        if self.index is not None and hasattr(made, "index"):
            made.index = self.index[:top]
        return made

    def issues(self) -> Any:
        """The rows that are taken for wrong; as `to_frame`."""
        if self.n_wrong == 0:
            frame = self.to_frame()
            return frame.iloc[:0] if hasattr(frame, "iloc") else frame[:0]
        return self.to_frame(self.n_wrong)

    def summary(self) -> str:
        """An account in words."""
        lines = [self._sentence()]
        relied = ", ".join(f"{name} {share:.0%}" for name, share in self.weights.items())
        lines.append(f"Relied upon: {relied}.")
        lines += self.notes
        text = [textwrap.fill(line, 98, subsequent_indent="  ") for line in lines]
        for k in range(min(5, self.n_wrong)):
            text.append(f"  {self._name(k)}: {self.columns['reason'][k]}")
        if self.n_wrong > 5:
            text.append(f"  and {self.n_wrong - 5} more: issues() has them all.")
        return "\n".join(text)

    def _sentence(self) -> str:
        low, high = self.interval
        what = "labels" if self.task == "classification" else "targets"
        return (
            f"About {self.n_wrong} of {len(self)} {what} are wrong; between {low} and {high} with "
            f"a chance of {self.level:.0%}."
        )

    def _name(self, k: int) -> str:
        if self.index is None:
            return f"row {self.columns['row'][k]}"
        name = self.index[k]
        return name if isinstance(name, str) else f"row {name}"

    # ------------------------------------------------------------------ pages

    def _repr_html_(self) -> str:
        return f"<style>{STYLE}</style>{self._body(SHOWN)}"

    def write_html(self, file: str | os.PathLike[str], top: int = WRITTEN) -> None:
        """One page that needs nothing else: the account and the first `top` rows.

        Whatever came from the table (labels, names of columns and rows) is shown as text and is
        never read as HTML.
        """
        page = (
            '<!doctype html><html lang="en"><head><meta charset="utf-8">'
            "<title>Which rows are wrong?</title>"
            f"<style>{STYLE}</style></head><body>{self._body(top)}</body></html>\n"
        )
        File(file).write_text(page, encoding="utf-8")

    def _body(self, top: int) -> str:
        low, high = self.interval
        what = "labels" if self.task == "classification" else "targets"
        shown = min(top, len(self))
        parts = [
            '<div class="audit"><h1>Which rows are wrong?</h1>',
            f'<p>About <span class="number">{self.n_wrong}</span> of {len(self)} {what}; between '
            f"{low} and {high} with a chance of {self.level:.0%}.</p>",
        ]
        parts += [f'<p class="note">{_text(note)}</p>' for note in self.notes]
        names = ("row", "quality", "given", "predicted", "why")
        head = "".join(f"<th>{name}</th>" for name in names)
        parts.append(f"<table><thead><tr>{head}</tr></thead><tbody>")
        parts += [self._row(k) for k in range(shown)]
        parts.append("</tbody></table>")
        if shown < len(self):
            parts.append(f'<p class="note">The first {shown} of {len(self)} rows.</p>')
        return "".join(parts) + "</div>"

    def _row(self, k: int) -> str:
        quality = float(self.columns["label_quality"][k])
        name = self.columns["row"][k] if self.index is None else self.index[k]
        cells = (
            f"<td>{_text(name)}</td>",
            f'<td class="n"><span class="bar"><i style="width:{100 * quality:.0f}%"></i></span>'
            f"{quality:.2f}</td>",
            f"<td>{_text(_short(self.columns['given_label'][k]))}</td>",
            f"<td>{_text(_short(self.columns['predicted_label'][k]))}</td>",
            f"<td>{_text(self.columns['reason'][k])}</td>",
        )
        mark = ' class="issue"' if self.columns["is_label_issue"][k] else ""
        return f"<tr{mark}>{''.join(cells)}</tr>"


def ordered(
    order: npt.NDArray[np.int64], columns: dict[str, Any], index: Any
) -> tuple[dict[str, Any], Any]:
    """Columns and index in the order of suspicion."""
    made = {"row": order, **{name: np.asarray(v)[order] for name, v in columns.items()}}
    return made, None if index is None else index[order]


def _text(value: Any) -> str:
    return html.escape(str(value), quote=True)


def _short(value: Any) -> Any:
    return f"{value:.5g}" if isinstance(value, float | np.floating) else value
