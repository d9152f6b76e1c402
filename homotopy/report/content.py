"""What is on the page of a path, whatever its model: curves, jumps, coordinates, the certificate.

A plugin that knows more about its rows adds to a `Content` before the page is made.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
import numpy.typing as npt

from homotopy.drawing import PALETTE
from homotopy.errors import PathError
from homotopy.report.document import Report, refuse_file_name
from homotopy.report.sampling import PageSizes, Samples, thinned
from homotopy.wording import counted

if TYPE_CHECKING:
    from homotopy.analysis.validation import ValidationCurve
    from homotopy.path import Path

__all__ = ["Content", "Table", "path_content", "path_report", "rounded", "validation_chart"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]

# Default number of rows in the table.
TOP = 200
# Accepted error of a curve in the table, as a fraction of its range: too small to see.
THIN = 2e-3
# A change below this fraction of a curve's size is rounding.
LEAST_RANGE = 1e-12
# Most points of all curves in the table; if there are more, the curves are thinned further.
POINTS = 120_000
# Most coordinates named at one jump, and at all jumps together.
FLIPPED, FLIPPED_IN_ALL = 40, 20_000
# Up to this many pieces, a validation curve is kept as it is.
VALIDATION = 4000
# The axis may be logarithmic if t changes by this factor.
WIDE = 30.0
# Number of t at which to ask the model whether it has an objective; there is none where a loss
# becomes unbounded below.
PLACES = 9
# With more changes of piece than this, the page stores only those of the rows in its table.
EVENTS = 100_000

# The conditions of a certificate, in words.
CONDITIONS = {
    "polyline": "every coordinate lies on the piece of its loss that the path names",
    "border": "the equations that belong to the intercept and other free directions hold",
    "gap": "no point with every coordinate on its present branch does better (duality gap)",
    "objective": "the objective is the sum of its terms",
    "continuity": "nothing moves between two segments unless a jump is recorded there",
    "jumps": "the objective falls at every jump, by as much as the move demands",
    "corners": "no coordinate rests on a corner that no optimum can occupy",
    "curvature": "the objective curves upwards in every free direction",
    "feasibility": "the solution keeps the bounds and equations as they were stated",
    "stationarity": "the gradient of the program as it was stated vanishes",
    "predictions": "the predictions are the responses that the path was traced with",
    "complementarity": "a bound with a multiplier is attained",
}


@attrs.define(eq=False)
class Table:
    """The rows of the table, most important first.

    Attributes
    ----------
    rows : array of int
        Coordinates of the path.
    columns : list of dict
        ``{"kind", "title"}``: "name", "text" or "number" with one cell per row in ``"cells"``,
        "state" (the piece at t), or "value" and "spark" of the curve called ``"curve"``.
    curves : dict
        Values at both ends of every stretch, (2 K, rows), by name.
    """

    title: str
    text: str
    rows: Index
    columns: list[dict[str, Any]]
    curves: dict[str, Array]


@attrs.define(eq=False)
class Content:
    """What is on a page.

    Attributes
    ----------
    title : str
    facts : list of str
        Short statements below the title.
    samples : Samples
    pieces : list of str
        The name of each piece on the page.
    charts : list of dict
    table : Table
    names : list of str
        The name of each coordinate; the page writes `noun` before it.
    certificate : dict
    colors : list of int or None
        The palette index of each piece, or None for grey.
    field : dict or None
        A fitted function that changes with t.
    mark : dict or None
        The point of the path at which the page opens.
    reading : dict or None
        Another reading of t: its ``"name"``, and the t at which it is 0 (``"start"``) and 1
        (``"end"``).
    notes : list of str
    """

    title: str
    facts: list[str]
    samples: Samples
    pieces: list[str]
    charts: list[dict[str, Any]]
    table: Table
    names: list[str]
    noun: str
    certificate: dict[str, Any]
    colors: list[int | None]
    field: dict[str, Any] | None = None
    mark: dict[str, Any] | None = None
    reading: dict[str, Any] | None = None
    notes: list[str] = attrs.Factory(list)

    def report(self) -> Report:
        """Render the page."""
        samples, path = self.samples, self.samples.path
        segment, row, before, to = samples.events()
        stretch = samples.stretch_of(segment)
        data: dict[str, Any] = {
            "title": self.title,
            "facts": self.facts,
            "parameter": path.model.parameter,
            "start": samples.start.tolist(),
            "stop": samples.stop.tolist(),
            "log": _is_logarithmic(path),
            "pieces": self.pieces,
            "colors": _all_coloured(self.colors),
            "noun": self.noun,
            "charts": self.charts,
            "jumps": self._jumps(segment, row, before, to),
            "jumpCount": len({jump.t for jump in path.jumps}),
            "table": self._table(stretch, row, to),
            "field": self.field,
            "mark": self.mark,
            "reading": self.reading,
            "certificate": self.certificate,
            "notes": [*self.notes, *self._thinned()],
        }
        if self.field is not None and to.size <= EVENTS:
            data["events"] = {
                "first": path.segments.first_piece.tolist(),
                "stretch": stretch.tolist(),
                "row": row.tolist(),
                "to": to.tolist(),
            }
        return Report(self.title, data)

    def _jumps(self, segment: Index, row: Index, before: Index, to: Index) -> list[dict[str, Any]]:
        found, left = [], FLIPPED_IN_ALL
        events = np.searchsorted(segment, np.arange(len(self.samples.path.segments) + 1))
        for site in self.samples.sites:
            # Changes from one side to the other: the first "from" and the last "to" of each row.
            here = slice(events[site.before + 1], events[site.after + 1])
            came = dict(zip(row[here][::-1].tolist(), before[here][::-1].tolist(), strict=True))
            went = dict(zip(row[here].tolist(), to[here].tolist(), strict=True))
            shown = site.flipped[: min(FLIPPED, max(left, 0))].tolist()
            left -= len(shown)
            found.append(
                {
                    "t": site.t,
                    "k": int(self.samples.stretch_of(site.after)),
                    "before": rounded(site.objective_before, 9),
                    "after": rounded(site.objective_after, 9),
                    "fall": rounded(site.objective_before - site.objective_after),
                    "moved": site.moved,
                    "count": int(site.flipped.size),
                    "flipped": [[self.names[i], came.get(i), went.get(i)] for i in shown],
                }
            )
        return found

    def _table(self, stretch: Index, row: Index, to: Index) -> dict[str, Any]:
        table, samples = self.table, self.samples
        ends = samples.ends
        first = samples.path.segments.first_piece
        events: dict[int, list[int]] = {int(i): [] for i in table.rows}
        mine = np.isin(row, table.rows)
        for k, i, piece in zip(
            stretch[mine].tolist(), row[mine].tolist(), to[mine].tolist(), strict=True
        ):
            events[i] += [k, piece]
        tol = THIN
        while True:
            curves = {
                name: [thinned(ends, column, _least(column, tol)) for column in values.T]
                for name, values in table.curves.items()
            }
            points = sum(c.end.size for many in curves.values() for c in many)
            if points <= POINTS or tol > 0.1:
                break
            tol *= 2.0
        return {
            "title": table.title,
            "text": table.text,
            "rows": table.rows.tolist(),
            "names": [self.names[i] for i in table.rows.tolist()],
            "columns": table.columns,
            "first": first[table.rows].tolist(),
            "events": [events[int(i)] for i in table.rows],
            "curves": {
                name: [
                    {"i": np.diff(c.end, prepend=0).tolist(), "v": _short(c.value)} for c in many
                ]
                for name, many in curves.items()
            },
            "thin": tol,
        }

    def _thinned(self) -> list[str]:
        samples, path = self.samples, self.samples.path
        said = []
        if not samples.whole:
            said.append(
                f"{len(path.segments):,} segments are drawn as {len(samples):,} stretches: "
                "neighbours are joined, and curves on this page are straight (the objective: a "
                "parabola) along each. The path itself is exact everywhere."
            )
        total = len({jump.t for jump in path.jumps})
        if len(samples.sites) < total:
            said.append(
                f"Only the {len(samples.sites):,} largest of {total:,} jumps are marked; the "
                "others appear as steps of the curves."
            )
        return said


def path_report(
    path: Path,
    title: str | None = None,
    *,
    names: Sequence[Any] | None = None,
    top: int = TOP,
    certify: bool | int = True,
) -> Report:
    """Return the page of a path; see `Path.report`."""
    return path_content(path, title, names=names, top=top, certify=certify).report()


def path_content(
    path: Path,
    title: str | None = None,
    *,
    names: Sequence[Any] | None = None,
    noun: str = "coordinate",
    rows: Index | None = None,
    top: int = TOP,
    certify: bool | int = True,
    sizes: PageSizes | None = None,
) -> Content:
    """Return what is on the page of a path, with the table of its coordinates.

    `rows` are the coordinates of the table; by default the `top` with the largest travel of alpha.
    """
    if isinstance(top, bool) or not isinstance(top, int | np.integer) or top < 1:
        raise PathError(f"report: top must be a positive integer, got {top!r}")
    refuse_file_name(title)
    samples = Samples.of(path, sizes)
    n = int(path.segments.first_piece.size)
    called = [str(name) for name in ([] if names is None else names)]
    if len(called) > n:
        raise PathError(f"report: {len(called)} names were given for {counted(n, noun)}")
    called += [str(i) for i in range(len(called), n)]
    if rows is None:
        rows = np.argsort(-samples.travel(), kind="stable")[:top]
    places = np.linspace(*path.traced, PLACES)
    known = not any(path.problem.unanchored(t).size for t in places.tolist())
    alphas, responses, objective = samples.watch(rows, objective=known)
    charts: list[dict[str, Any]] = []
    notes = []
    if objective is not None:
        values = [[rounded(v, 9) for v in three] for three in objective.tolist()]
        charts.append({"kind": "objective", "title": "objective", "values": values})
    else:
        notes.append(
            "There is no curve of the objective: some loss of this model is unbounded below, and "
            "the model does not say where it is zero (LossModel.loss_origin)."
        )
    counts = samples.counts().tolist()
    charts.append({"kind": "sizes", "title": f"{noun}s on each piece", "values": counts})
    return Content(
        title=title if title is not None else f"The path of {type(path.model).__name__}",
        facts=_facts(path, counted(n, noun)),
        samples=samples,
        pieces=[name or "on a jump" for name in path.problem.polylines.names],
        charts=charts,
        table=_coordinates(rows, n, noun, {"alpha": alphas, "response": responses}),
        names=called,
        noun=noun,
        certificate=certificate_words(path, certify),
        colors=[k % len(PALETTE) if name else None for k, name in _numbered(path)],
        notes=notes,
    )


def _facts(path: Path, coordinates: str) -> list[str]:
    """Return short statements about a path."""
    start, stop = path.traced
    return [
        f"{type(path.model).__name__}, {path.model.parameter} from {start:.6g} to {stop:.6g}",
        coordinates,
        counted(int(path.breakpoints.size), "break-point"),
        counted(len(path.jumps), "jump") if path.jumps else "no jumps",
        path.ending,
    ]


def _coordinates(rows: Index, n: int, noun: str, curves: dict[str, Array]) -> Table:
    """Make the table of the coordinates `rows`, out of n."""
    if rows.size < n:
        text = f"The {rows.size} of {n} {noun}s whose alpha travels farthest along the path."
    elif n > 1:
        text = f"All {n} {noun}s; those whose alpha travels farthest come first."
    else:
        text = f"The only {noun}."
    return Table(
        title=f"{noun.capitalize()}s",
        text=text,
        rows=rows,
        columns=[
            {"kind": "name", "title": noun},
            {"kind": "state", "title": "piece"},
            {"kind": "value", "title": "alpha", "curve": "alpha"},
            {"kind": "spark", "title": "alpha along the path", "curve": "alpha"},
            {"kind": "value", "title": "response", "curve": "response"},
            {"kind": "spark", "title": "response along the path", "curve": "response"},
        ],
        curves=curves,
    )


def _is_logarithmic(path: Path) -> bool:
    """Whether the break-points lie more evenly on a logarithmic axis."""
    low, high = sorted(path.traced)
    if not (low > 0.0 and high >= WIDE * low):
        return False
    middle = float(np.median(path.breakpoints))
    in_logs = math.log(middle / low) / math.log(high / low)
    return abs(in_logs - 0.5) < abs((middle - low) / (high - low) - 0.5)


def _numbered(path: Path) -> list[tuple[int, str | None]]:
    """Return the names of the pieces, numbering from 0 those that have one."""
    names = path.problem.polylines.names
    return [(sum(map(bool, names[:k])), name) for k, name in enumerate(names)]


def _all_coloured(colors: list[int | None]) -> list[int]:
    """Return the colours, with the last one, grey, for pieces that have none."""
    return [len(PALETTE) - 1 if color is None else color for color in colors]


# ---------------------------------------------------------------------- the certificate


def certificate_words(path: Path, certify: bool | int) -> dict[str, Any]:
    """Describe the certificate of a path to a reader who has never seen one."""
    points, jumps = int(path.breakpoints.size), len(path.jumps)
    if certify is False:
        return {
            "ok": None,
            "verdict": "Not checked.",
            "words": "Nothing on this page has been checked: it was made with certify=False.",
            "checks": [],
            "how": "path.certify()",
        }
    if certify is True:
        found, how = path.certify(), "path.certify()"
        scope = f"Every one of the {points:,} break-points" if points > 1 else "The one point of it"
        if jumps:
            scope += " and both sides of " + (
                "the jump" if jumps == 1 else f"each of the {jumps:,} jumps"
            )
    else:
        found, how = path.certify(sample=int(certify)), f"path.certify(sample={int(certify)})"
        scope = f"A sample of places (about {int(certify):,} of {points:,} break-points)"
    several = points > 1 or jumps
    verb = "were" if certify is True and points > 1 and jumps else "was"
    worst = f"{found.worst:.0e}" if found.worst else "0"
    if found.ok:
        words = (
            f"{scope} {verb} recomputed from the data, by code that shares nothing with the "
            f"tracer. The largest error, relative to the terms of its condition, is {worst}; "
            f"up to {found.tol:g} is accepted."
        )
        if several and certify is True:
            words += " Between two break-points everything is linear, so this proves the whole "
            words += "path."
    else:
        failed = ", ".join(check.name for check in found.checks if not check.ok)
        words = (
            f"NOT certified: {scope[0].lower()}{scope[1:]} {verb} recomputed from the data, and "
            f"the largest error is {worst} where {found.tol:g} is accepted. What fails: {failed}. "
            "Do not rely on this path."
        )
    verdict = "Yes." if certify is True else "Yes, as far as it was checked."
    return {
        "ok": found.ok,
        "verdict": verdict if found.ok else "No.",
        "words": words,
        "how": how,
        "checks": [
            {
                "name": check.name,
                "words": CONDITIONS.get(check.name, ""),
                "count": check.count,
                "worst": f"{check.worst:.1e}" if check.worst else "0",
                "t": float(check.t) if math.isfinite(check.t) else None,
                "ok": check.ok,
            }
            for check in found.checks
        ],
    }


# ---------------------------------------------------------------------- curves


def validation_chart(curve: ValidationCurve, path: Path) -> dict[str, Any]:
    """Return the loss on held-out rows as a broken line, exact unless it has very many pieces."""
    c0, c1, c2 = curve.coefficients.T
    # A parabola also needs points in between.
    inner = np.linspace(0.0, 1.0, 9 if np.any(c2) else 2)
    t = (curve.start[:, None] + inner * (curve.stop - curve.start)[:, None]).ravel()
    v = (c0[:, None] + inner * (c1[:, None] + inner * c2[:, None])).ravel()
    begin, sign = path.traced[0], 1.0 if path.traced[1] >= path.traced[0] else -1.0
    if sign * begin < sign * t[0] and not math.isfinite(curve.origin):
        t, v = np.insert(t, 0, begin), np.insert(v, 0, v[0])
    ahead = int(np.sum(sign * t < sign * begin))
    if 0 < ahead < t.size:
        # A jump may meet held-out rows before the path on all rows begins.
        value = np.interp(sign * begin, sign * t[ahead - 1 : ahead + 1], v[ahead - 1 : ahead + 1])
        t, v = np.insert(t[ahead:], 0, begin), np.insert(v[ahead:], 0, value)
    if curve.start.size > VALIDATION:
        t, v = _screen(t, v)
    best = curve.best
    return {
        "kind": "line",
        "title": f"loss on held-out rows ({curve.loss})",
        "t": t.tolist(),
        "values": [rounded(x, 9) for x in v.tolist()],
        "best": {"t": best.t, "value": rounded(best.value, 9), "interval": list(best.interval)},
    }


def _screen(t: Array, v: Array, columns: int = 2000) -> tuple[Array, Array]:
    """Keep the first, smallest, largest and last value in each of `columns` strips of a screen."""
    strip = np.minimum((np.abs(t - t[0]) / abs(t[-1] - t[0]) * columns).astype(int), columns - 1)
    edges = np.flatnonzero(np.diff(strip, prepend=-1))
    keep: set[int] = {0, t.size - 1}
    for low, high in zip(edges.tolist(), [*edges[1:].tolist(), t.size], strict=True):
        part = v[low:high]
        keep |= {low, high - 1, low + int(part.argmin()), low + int(part.argmax())}
    kept = np.array(sorted(keep))
    return t[kept], v[kept]


def _least(values: Array, tol: float) -> float:
    """Return `tol` times the range of the values; a range below rounding counts as rounding."""
    size = float(np.abs(values).max())
    return max(tol * float(np.ptp(values)), LEAST_RANGE * size)


def _short(values: Array) -> list[float | None]:
    """Round to as many digits as the range of the values needs."""
    span = float(np.ptp(values)) or float(np.abs(values).max())
    if not (math.isfinite(span) and span > 0.0):
        return [rounded(v) for v in values.tolist()]
    digits = max(0, 5 - math.floor(math.log10(span)))
    return [rounded(v) if digits > 15 else _plain(round(v, digits)) for v in values.tolist()]


def _plain(value: float) -> float:
    return int(value) if value == int(value) else value


def rounded(value: Any, digits: int = 6) -> Any:
    """Return the rounded number for JSON, None if it is not finite."""
    number = float(value)
    return _plain(float(f"{number:.{digits}g}")) if math.isfinite(number) else None
