"""The page on which a person decides about rows.

It shows of each row its own values, those that speak against its label first, with how unusual each
is, and the nearest rows with another label beside it.  The page runs one script, named by its hash,
and asks the network for nothing; whatever came from the table is data, never code.
"""

from __future__ import annotations

import base64
import hashlib
import json
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
import numpy.typing as npt

from homotopy_plugins.auditing.scores import some
from homotopy_plugins.tables.frames import as_numbers

if TYPE_CHECKING:
    from homotopy_plugins.auditing.report import AuditReport

__all__ = ["Shown", "page_of"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]

# Values of a row that are shown at most, and rows with another label beside it.
VALUES, BESIDE = 12, 3
# With how many rows of a label a row is compared at most.
COMPARED = 2000
# Named rows on a page at most, in units of those asked for.
MOST = 10
# How decisions are applied, where the page does not know the file.
APPLY = (
    "If the rows are those of a CSV, JSON or Excel file, homotopy audit FILE --target COLUMN "
    "--html PAGE writes this page with the command that applies your decisions."
)


TITLE = "Which rows are wrong?"


@attrs.frozen(eq=False)
class Shown:
    """The columns as given, by name, and the nearest rows of each row (-1 where there is none)."""

    sources: tuple[tuple[str, Any], ...]
    near: Index


def page_of(report: AuditReport, top: int, apply: str | None = None) -> str:
    """The whole page as text."""
    ours, theirs = files("homotopy_plugins.auditing"), files("homotopy.report")
    # The head and the look of the report of a path, and what is ours.
    head = theirs.joinpath("page.html").read_text("utf-8").partition("<body>")[0]
    frame = head + ours.joinpath("page.html").read_text("utf-8")
    script = ours.joinpath("page.js").read_text("utf-8")
    style = theirs.joinpath("page.css").read_text("utf-8") + ours.joinpath("page.css").read_text(
        "utf-8"
    )
    parts = {
        "TITLE": TITLE,
        "DIGEST": base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        "STYLE": style,
        "DATA": _as_text(_content(report, top) | {"apply": apply or APPLY}),
        "SCRIPT": script,
    }
    # Cut at the marks first: what is put in is never searched for marks.
    page = frame.split("@@")
    page[1::2] = [parts[mark] for mark in page[1::2]]
    return "".join(page).encode("utf-8", "replace").decode()


def _as_text(content: dict[str, Any]) -> str:
    """JSON that no HTML parser can mistake for markup."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _content(report: AuditReport, top: int) -> dict[str, Any]:
    columns = report.columns
    count = min(max(top, min(report.n_named, MOST * top)), len(report))
    labels = report.task == "classification"
    columns_of = _Columns.of(report)
    rows = []
    for k in range(count):
        row = int(columns["row"][k])
        rows.append(
            {
                "name": _text(report.index[k]) if report.index is not None else str(row),
                "row": row,
                "named": bool(columns["is_label_issue"][k]),
                "quality": round(float(columns["label_quality"][k]), 4),
                "given": _value(columns["given_label"][k]),
                "predicted": _value(columns["predicted_label"][k]),
                "group": int(columns["group"][k]),
                "reason": str(columns["reason"][k]),
                **columns_of.told(row),
            }
        )
    classes = [_value(one) for one in np.unique(columns["given_label"])] if labels else []
    key = hashlib.sha256(
        json.dumps([[r["name"], r["given"]] for r in rows[:50]] + [len(report)]).encode()
    ).hexdigest()[:16]
    return {
        "sentence": report.sentence,
        "trust": report.trust,
        "colour": report.verdict.colour,
        "counted": report.counted,
        "labels": labels,
        "classes": classes,
        "groups": [str(group) for group in report.groups],
        "notes": list(report.notes),
        "relied": {name: round(share, 3) for name, share in report.weights.items()},
        "total": len(report),
        "rows": rows,
        "key": f"homotopy-audit-{key}",
    }


@attrs.frozen(eq=False)
class _Columns:
    """The columns of the table, so that a row can be told by its values."""

    report: Any
    names: tuple[str, ...]
    given: tuple[Any, ...]
    numbers: tuple[Array | None, ...]
    # By row of the table: its label and its place in the report.
    label: Any
    place: Index
    # By label, the rows that have it.
    rows: dict[Any, Index]

    @classmethod
    def of(cls, report: AuditReport) -> _Columns:
        order = report.columns["row"]
        label = np.empty(order.size, dtype=report.columns["given_label"].dtype)
        label[order] = report.columns["given_label"]
        place = np.empty(order.size, dtype=np.int64)
        place[order] = np.arange(order.size)
        sources = report.shown.sources
        return cls(
            report,
            tuple(name for name, _ in sources),
            tuple(np.asarray(values, dtype=object) for _, values in sources),
            tuple(as_numbers(values)[0] for _, values in sources),
            label,
            place,
            {},
        )

    def of_label(self, label: Any) -> Index:
        """Rows with a label, at most `COMPARED`."""
        if label not in self.rows:
            self.rows[label] = some(np.flatnonzero(self.label == label), COMPARED)
        return self.rows[label]

    def told(self, row: int) -> dict[str, Any]:
        """The values of a row, the ones that speak against its label first, and the nearest rows
        with another label (of a target: the nearest rows) beside it."""
        labels = self.report.task == "classification"
        near = self.report.shown.near[row]
        near = near[near >= 0]
        others = near[self.label[near] != self.label[row]] if labels else near
        beside = others[:BESIDE].tolist()
        if labels:
            place = self.place[row]
            other = self.report.columns["predicted_label"][place]
            mine, theirs = self.of_label(self.label[row]), self.of_label(other)
        else:
            mine, theirs = some(np.arange(self.label.size), COMPARED), near
        told = [self._value(j, row, mine, theirs, beside) for j in range(len(self.names))]
        told.sort(key=lambda one: -one["against"])
        kept = [{k: v for k, v in one.items() if k != "against"} for one in told[:VALUES]]
        return {
            "values": kept,
            "more": max(len(told) - VALUES, 0),
            "beside": [
                {"name": self._name(other), "label": _value(self.label[other])} for other in beside
            ],
        }

    def _name(self, row: int) -> str:
        index = self.report.index
        return str(row) if index is None else _text(index[int(self.place[row])])

    def _value(
        self, j: int, row: int, mine: Index, theirs: Index, beside: list[int]
    ) -> dict[str, Any]:
        """A value, how unusual it is among rows with the same label, and how far it speaks against
        the label: rarer among its own than among the others."""
        told: dict[str, Any] = {
            "name": self.names[j],
            "value": _value(self.given[j][row]),
            "beside": [_value(self.given[j][other]) for other in beside],
        }
        number = self.numbers[j]
        if number is not None and np.isfinite(number[row]):
            own, other = _tail(number[mine], number[row]), _tail(number[theirs], number[row])
            below = float(np.mean(number[mine] < number[row]))
            told["place"] = round(below, 3)
            rare = f"{'lower' if below < 0.5 else 'higher'} than {max(below, 1 - below):.0%}"
            told["unusual"] = rare if own < 0.3 else "usual"
        else:
            word = str(self.given[j][row])
            own = float(np.mean([str(v) == word for v in self.given[j][mine]]))
            other = float(np.mean([str(v) == word for v in self.given[j][theirs]] or [False]))
            told["unusual"] = f"{own:.0%} have it"
        told["rare"] = bool(own < 0.1)
        told["against"] = float(np.log((other + 0.02) / (own + 0.02)))
        return told


def _tail(values: Array, value: float) -> float:
    """How much of the values lies at least as far out, on the nearer side, twice."""
    values = values[np.isfinite(values)]
    if values.size == 0:
        return 1.0
    below, above = float(np.mean(values <= value)), float(np.mean(values >= value))
    return 2.0 * min(below, above, 0.5)


def _text(value: Any) -> str:
    return str(value)


def _value(value: Any) -> str:
    """A value as a person reads it."""
    if value is None or (isinstance(value, float | np.floating) and np.isnan(value)):
        return "–"
    if isinstance(value, float | np.floating):
        return f"{value:.5g}"
    # A date is kept as its midnight.
    return str(value).removesuffix(" 00:00:00")
