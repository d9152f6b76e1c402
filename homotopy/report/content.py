"""What is on the page of a path, whatever its model: curves, jumps, coordinates, the certificate.

A plugin that knows more about its rows adds to a `Content` before the page is made.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from homotopy.arrays import Array, Index
from homotopy.drawing import PALETTE, sampled
from homotopy.errors import PathError
from homotopy.progress import stage
from homotopy.report.document import Report, refuse_file_name
from homotopy.report.sampling import Samples, thinned
from homotopy.report.sizes import PAGE_SIZES, PageSizes
from homotopy.wording import counted

if TYPE_CHECKING:
    from homotopy.analysis.validation import ValidationCurve
    from homotopy.path import Path

__all__ = ["Content", "Table", "path_content", "rounded", "validation_chart"]


# The conditions of a certificate, in words.
CONDITIONS = {
    "polyline": "every coordinate lies on the piece of its loss that the path names",
    "border": "the equations that belong to the intercept and other free directions hold",
    "gap": "no point of the same branches has a lower objective (duality gap)",
    "objective": "the objective is the sum of its terms",
    "continuity": "nothing moves between two segments unless a jump is recorded there",
    "jumps": "the objective falls at every jump, by as much as the move demands",
    "corners": "no coordinate stays on a corner where no optimum can lie",
    "curvature": "the objective curves upwards in every free direction",
    "feasibility": "the solution satisfies the bounds and equations as stated",
    "stationarity": "the gradient of the Lagrangian of the stated program is zero",
    "predictions": "the predictions are the responses that the path was traced with",
    "complementarity": "a bound with a multiplier is attained",
}


@attrs.define(eq=False)
class Table:
    """The rows of the table, most important first."""

    title: str
    text: str
    # Coordinates of the path.
    rows: Index
    # ``{"kind", "title"}``: "name", "text" or "number" with one cell per row in ``"cells"``,
    # "state" (the piece at t), or "value" and "spark" of the curve called ``"curve"``.
    columns: list[dict[str, Any]]
    # Values at both ends of every stretch, (2 K, rows), by name.
    curves: dict[str, Array]


@attrs.define(eq=False)
class Content:
    """What is on a page."""

    title: str
    # Short statements below the title.
    facts: list[str]
    samples: Samples
    # The name of each piece on the page.
    pieces: list[str]
    # The curves over t, from the top of the page down.
    charts: list[dict[str, Any]]
    table: Table
    # The name of each coordinate; the page writes `noun` before it.
    names: list[str]
    noun: str
    # The certificate in words.
    certificate: dict[str, Any]
    # The palette index of each piece, or None for grey.
    colors: list[int | None]
    # A fitted function that changes with t.
    field: dict[str, Any] | None = None
    # The point of the path at which the page opens.
    mark: dict[str, Any] | None = None
    # Another reading of t: its "name", and the t at which it is 0 ("start") and 1 ("end").
    reading: dict[str, Any] | None = None
    # What a reader should know about the page, at its end.
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
            # (Pieces without a colour have the last one, grey.)
            "colors": [len(PALETTE) - 1 if color is None else color for color in self.colors],
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
        if self.field is not None and to.size <= samples.sizes.events:
            data["events"] = {
                "first": path.segments.first_piece.tolist(),
                "stretch": stretch.tolist(),
                "row": row.tolist(),
                "to": to.tolist(),
            }
        return Report(self.title, data)

    def _jumps(self, segment: Index, row: Index, before: Index, to: Index) -> list[dict[str, Any]]:
        sizes, found = self.samples.sizes, []
        left = sizes.flipped_in_all
        events = np.searchsorted(segment, np.arange(len(self.samples.path.segments) + 1))
        for site in self.samples.sites:
            # Changes from one side to the other: the first "from" and the last "to" of each row.
            of_it = slice(events[site.before + 1], events[site.after + 1])
            came = dict(zip(row[of_it][::-1].tolist(), before[of_it][::-1].tolist(), strict=True))
            went = dict(zip(row[of_it].tolist(), to[of_it].tolist(), strict=True))
            shown = site.flipped[: min(sizes.flipped, max(left, 0))].tolist()
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
        table, samples, sizes = self.table, self.samples, self.samples.sizes
        ends = samples.ends
        first = samples.path.segments.first_piece
        events: dict[int, list[int]] = {int(i): [] for i in table.rows}
        mine = np.isin(row, table.rows)
        for k, i, piece in zip(
            stretch[mine].tolist(), row[mine].tolist(), to[mine].tolist(), strict=True
        ):
            events[i] += [k, piece]
        tol = sizes.thin
        while True:
            kept = {
                name: [thinned(ends, column, _accepted(column, tol, sizes)) for column in values.T]
                for name, values in table.curves.items()
            }
            points = sum(end.size for many in kept.values() for end in many)
            if points <= sizes.points or tol > sizes.most_error:
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
                    {"i": np.diff(end, prepend=0).tolist(), "v": _short(column[end])}
                    for end, column in zip(kept[name], values.T, strict=True)
                ]
                for name, values in table.curves.items()
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


def path_content(
    path: Path,
    title: str | None = None,
    *,
    names: Sequence[Any] | None = None,
    noun: str | None = None,
    rows: Index | None = None,
    top: int = PAGE_SIZES.top,
    certify: bool | int = True,
    sizes: PageSizes = PAGE_SIZES,
) -> Content:
    """Return what is on the page of a path, with the table of its coordinates.

    `noun` is what a coordinate is called, by default what the model calls it.  `rows` are the
    coordinates of the table; by default the `top` with the largest travel of alpha.
    """
    if isinstance(top, bool) or not isinstance(top, int | np.integer) or top < 1:
        raise PathError(f"report: top must be a positive integer, got {top!r}")
    refuse_file_name(title)
    noun = path.model.noun if noun is None else noun
    samples = Samples.of(path, sizes)
    n = int(path.segments.first_piece.size)
    called = [str(name) for name in ([] if names is None else names)]
    if len(called) > n:
        raise PathError(f"report: {len(called)} names were given for {counted(n, noun)}")
    called += [str(i) for i in range(len(called), n)]
    if rows is None:
        rows = np.argsort(-samples.travel(), kind="stable")[:top]
    places = np.linspace(*path.traced, sizes.places)
    known = not any(path.problem.unanchored(t).size for t in places.tolist())
    watched = sizes.watched if certify is True else 1.0
    with stage(0.0, watched):
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
    with stage(watched, 1.0):
        certificate = certificate_words(path, certify)
    counts = samples.counts().tolist()
    charts.append({"kind": "sizes", "title": f"{noun}s on each piece", "values": counts})
    return Content(
        title=title if title is not None else f"The path of {type(path.model).__name__}",
        facts=_facts(path, counted(n, noun)),
        samples=samples,
        pieces=_pieces(path),
        charts=charts,
        table=_coordinates(rows, n, noun, {"alpha": alphas, "response": responses}),
        names=called,
        noun=noun,
        certificate=certificate,
        colors=[k % len(PALETTE) if name else None for k, name in _numbered(path)],
        notes=notes,
    )


def _pieces(path: Path) -> list[str]:
    """What the pieces are called on the page."""
    names = path.problem.polylines.names
    return [path.model.piece_name(name) if name else "on a jump" for name in names]


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
        text = f"The {rows.size} of {n} {noun}s whose alpha moves most along the path."
    elif n > 1:
        text = f"All {n} {noun}s; those whose alpha moves most come first."
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
    if not (low > 0.0 and high >= PAGE_SIZES.wide * low):
        return False
    middle = float(np.median(path.breakpoints))
    in_logs = math.log(middle / low) / math.log(high / low)
    return abs(in_logs - 0.5) < abs((middle - low) / (high - low) - 0.5)


def _numbered(path: Path) -> list[tuple[int, str | None]]:
    """Return the names of the pieces, numbering from 0 those that have one."""
    names = path.problem.polylines.names
    return [(sum(map(bool, names[:k])), name) for k, name in enumerate(names)]


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
        scope = f"Every one of the {points:,} break-points" if points > 1 else "Its only point"
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
            f"{scope} {verb} recomputed from the data, by arithmetic that shares nothing with "
            f"the tracer. The largest error, relative to the terms of its condition, is {worst}; "
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
    t, v, needed = sampled(curve, 9)
    t, v = t[needed], v[needed]
    begin, sign = path.traced[0], path.segments.sign
    if sign * begin < sign * t[0] and not math.isfinite(curve.origin):
        t, v = np.insert(t, 0, begin), np.insert(v, 0, v[0])
    ahead = int(np.sum(sign * t < sign * begin))
    if 0 < ahead < t.size:
        # A jump may meet held-out rows before the path on all rows begins.
        value = np.interp(sign * begin, sign * t[ahead - 1 : ahead + 1], v[ahead - 1 : ahead + 1])
        t, v = np.insert(t[ahead:], 0, begin), np.insert(v[ahead:], 0, value)
    if curve.start.size > PAGE_SIZES.validation:
        t, v = _screen(t, v)
    best = curve.best
    return {
        "kind": "line",
        "title": f"loss on held-out rows ({curve.loss})",
        "t": t.tolist(),
        "values": [rounded(x, 9) for x in v.tolist()],
        "best": {"t": best.t, "value": rounded(best.value, 9), "interval": list(best.interval)},
    }


def _screen(t: Array, v: Array) -> tuple[Array, Array]:
    """Keep the first, smallest, largest and last value in each of many strips of a screen."""
    strips = PAGE_SIZES.strips
    strip = np.minimum((np.abs(t - t[0]) / abs(t[-1] - t[0]) * strips).astype(int), strips - 1)
    edges = np.flatnonzero(np.diff(strip, prepend=-1))
    keep: set[int] = {0, t.size - 1}
    for low, high in zip(edges.tolist(), [*edges[1:].tolist(), t.size], strict=True):
        part = v[low:high]
        keep |= {low, high - 1, low + int(part.argmin()), low + int(part.argmax())}
    kept = np.array(sorted(keep))
    return t[kept], v[kept]


def _accepted(values: Array, tol: float, sizes: PageSizes) -> float:
    """Return `tol` times the range of the values; a range below rounding counts as rounding."""
    return max(tol * float(np.ptp(values)), sizes.rounding * float(np.abs(values).max()))


def _short(values: Array) -> list[float | None]:
    """Round to as many digits as the range of the values needs."""
    span = float(np.ptp(values)) or float(np.abs(values).max())
    if not (math.isfinite(span) and span > 0.0):
        return [rounded(v) for v in values.tolist()]
    digits = max(0, 5 - math.floor(math.log10(span)))
    most = sys.float_info.dig
    return [rounded(v) if digits > most else _plain(round(v, digits)) for v in values.tolist()]


def _plain(value: float) -> float:
    return int(value) if value == int(value) else value


def rounded(value: Any, digits: int = 6) -> Any:
    """Return the rounded number for JSON, None if it is not finite."""
    number = float(value)
    return _plain(float(f"{number:.{digits}g}")) if math.isfinite(number) else None
