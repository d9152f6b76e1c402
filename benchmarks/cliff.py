"""Tables full of ties: the rows on which a path could suddenly take a hundred times longer.

    python benchmarks/cliff.py --data DIR [--quick] [--json FILE]

Rows that repeat, columns of small integers and columns that depend on each other make many samples
meet a corner at the same point, where who moves and who stays has to be worked out.  Linear
kernels, intercept, data as in speed.py: a6a (40 % of the rows, 15 % of the labels flipped) along
theta at three C; GermanNumer (80 %, 30 % flipped) and AustralianCredit (80 %, 5 % flipped) at
C = 1 along theta and s, with ten and five seeds for the rows taken and the labels flipped.

Each row is one whole run, start included, over one fit of libsvm.  Pivots are changes of piece;
exchanges are those where a coordinate that depends on the active ones takes the place of one of
them; repairs and late jumps are what was done when a point could not be resolved as it was.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs
from _measure import (
    Amount,
    Part,
    Result,
    Table,
    Targets,
    geometric_mean,
    measure,
    parse,
    parser,
    print_machine,
    print_trouble,
    ratio,
    seconds,
    timed,
    write_json,
)
from speed import build, ending, finished, fit_libsvm, training_part, warm_up

from homotopy import Homotopy

Spec = Mapping[str, Any]


@attrs.frozen
class Cliff:
    """A data set, how it is used, and the targets for each of its rows with C = 1: most fits of
    libsvm, and most seconds."""

    data: str
    training: float
    flips: float
    costs: tuple[float, ...]
    paths: tuple[str, ...]
    seeds: int
    fits: float
    seconds: float | None = None

    @property
    def name(self) -> str:
        return f"{self.data} linear, {self.flips:.0%} flipped"


CLIFFS = (
    Cliff("a6a", 0.4, 0.15, (0.1, 1.0, 10.0), ("theta",), seeds=1, fits=4.0),
    Cliff("GermanNumer", 0.8, 0.3, (1.0,), ("theta", "s"), seeds=10, fits=12.0, seconds=1.0),
    Cliff("AustralianCredit", 0.8, 0.05, (1.0,), ("theta", "s"), seeds=5, fits=10.0, seconds=1.0),
)
# The cost whose rows have targets of speed; every row must be complete and certified.
JUDGED = 1.0
QUICK = (attrs.evolve(CLIFFS[0], costs=(1.0,)), *(attrs.evolve(c, seeds=1) for c in CLIFFS[1:]))

COUNTS = ("c_steps", "d_steps", "pivots", "exchanges", "slides", "repairs", "late_jumps")
TABLE = Table(
    (
        ("data", "data", 16),
        ("flips", "flips", 5),
        ("C", "C", 4),
        ("path", "path", 5),
        ("seed", "seed", 4),
        ("n", "n", 5),
        ("breakpoints", "break-points", 12),
        ("c_steps", "C-steps", 7),
        ("d_steps", "D-steps", 7),
        ("jumps", "jumps", 5),
        ("pivots", "pivots", 8),
        ("exchanges", "exchanges", 9),
        ("slides", "slides", 6),
        ("repairs", "repairs", 7),
        ("late_jumps", "late", 4),
        ("total", "ours s", 8),
        ("libsvm", "libsvm s", 8),
        ("ours/libsvm", "ours/svm", 8),
        ("worst", "worst", 7),
    ),
    left=4,
)


def parts(spec: Spec) -> Mapping[str, Part]:
    """The whole path, its certificate and a fit of libsvm; compiled loops are loaded before."""
    warm_up(spec)
    X, y = training_part(spec)
    traced: list[Any] = []

    def whole(known: Mapping[str, Result]) -> Result:
        run = timed(lambda: Homotopy(build(spec, X, y)).trace())
        path = run.answer
        traced.append(path)
        return {
            **run.result,
            "breakpoints": path.breakpoints.size,
            "jumps": len(path.jumps),
            "counts": dict(path.counts),
            "complete": path.complete,
        }

    def certificate(known: Mapping[str, Result]) -> Result:
        if not traced:
            return {}
        run = timed(lambda: traced[0].certify())
        return {"seconds": run.seconds, "worst": run.answer.worst, "ok": run.answer.ok}

    def libsvm(known: Mapping[str, Result]) -> Result:
        return {**timed(lambda: fit_libsvm(spec, X, y)).result, "n": y.size}

    return {"path": whole, "certificate": certificate, "libsvm": libsvm}


def specs(cliff: Cliff, chosen: Any) -> Iterator[dict[str, Any]]:
    """The rows of a data set."""
    for C in chosen.C or cliff.costs:
        for path in cliff.paths:
            for seed in range(cliff.seeds):
                yield {
                    "folder": str(chosen.data),
                    "data": cliff.data,
                    "training": cliff.training,
                    "flips": cliff.flips,
                    "kernel": "linear",
                    "C": C,
                    "path": path,
                    "seed": seed,
                    "rows": None,
                }


def measure_row(spec: dict[str, Any], limit: float) -> dict[str, Any]:
    """Measure one row in processes of its own, and derive its columns."""
    found = measure(parts, spec, limit=limit)
    traced = found.get("path", {})
    counts = traced.get("counts", {})
    total, libsvm = seconds(found, "path"), seconds(found, "libsvm")
    return {
        **{key: value for key, value in spec.items() if key != "folder"},
        **{name: counts.get(name) for name in COUNTS},
        "n": found.get("libsvm", {}).get("n"),
        "breakpoints": traced.get("breakpoints"),
        "jumps": traced.get("jumps"),
        "total": total,
        "libsvm": libsvm,
        "ours/libsvm": ratio(total, libsvm),
        "worst": found.get("certificate", {}).get("worst"),
        "parts": found,
    }


def label(row: Mapping[str, Any]) -> str:
    return f"{row['data']} n={row['n']} C={row['C']:g} {row['path']} seed {row['seed']}"


def print_means(rows: list[dict[str, Any]]) -> None:
    print("\ngeometric means of ours/libsvm, and the slowest")
    for cliff in CLIFFS:
        for path in cliff.paths:
            here = [r for r in rows if (r["data"], r["path"]) == (cliff.data, path)]
            known = [row["ours/libsvm"] for row in here if row["ours/libsvm"] is not None]
            if known:
                worst = max(known, key=lambda amount: amount.value)
                mean = geometric_mean(known)
                print(f"  {cliff.name}, {path}-path, {len(here)} rows: {mean}, slowest {worst}")


def check_targets(rows: list[dict[str, Any]]) -> Targets:
    targets = Targets()

    def most(name: str, bound: float, here: list[dict[str, Any]]) -> Iterator[Any]:
        for row in here:
            amount: Amount | None = row[name]
            yield label(row), amount, amount.at_most(bound) if amount else None

    for cliff in CLIFFS:
        here = [row for row in rows if row["data"] == cliff.data and row["C"] == JUDGED]
        fits = f"{cliff.name}, C = {JUDGED:g}: at most {cliff.fits:g} fits of libsvm"
        targets.check(fits, most("ours/libsvm", cliff.fits, here))
        if cliff.seconds is not None:
            limit = f"{cliff.name}, C = {JUDGED:g}: within {cliff.seconds:g} s"
            targets.check(limit, most("total", cliff.seconds, here))
    targets.check(
        "every path is traced to its end",
        [(label(row), ending(row), finished(row)) for row in rows],
    )
    targets.check_certified((label(row), row["worst"]) for row in rows)
    return targets


def main() -> int:
    options = parser(__doc__, limit=120.0, quick_limit=30.0)
    options.add_argument("--data", type=Path, required=True, help="folder of NAME.npz files")
    names = [cliff.data for cliff in CLIFFS]
    options.add_argument("--only", nargs="+", choices=names, help="these data sets only")
    options.add_argument("--C", nargs="+", type=float)
    chosen = parse(options)
    cliffs = [c for c in (QUICK if chosen.quick else CLIFFS) if c.data in (chosen.only or names)]
    for cliff in cliffs:
        if not (chosen.data / f"{cliff.data}.npz").is_file():
            options.error(f"--data: there is no {cliff.data}.npz in {chosen.data}")

    print_machine()
    print(f"limit {chosen.limit:g} s for each part of a row\n")
    TABLE.head()
    rows: list[dict[str, Any]] = []
    for cliff in cliffs:
        for spec in specs(cliff, chosen):
            row = measure_row(spec, chosen.limit)
            rows.append(row)
            TABLE.row({**row, "C": f"{row['C']:g}", "flips": f"{row['flips']:.0%}"})
            print_trouble(row["parts"])
            write_json(chosen.json, limit=chosen.limit, rows=rows)
    print_means(rows)
    targets = check_targets(rows)
    targets.print()
    write_json(chosen.json, limit=chosen.limit, rows=rows, targets=targets.content)
    return 0


if __name__ == "__main__":
    sys.exit(main())
