"""What windows give: the same paths without them.

    python benchmarks/parts.py [--quick] [--json FILE]

Where it takes long to examine all coordinates, the tracker examines some (`Homotopy(windows=...)`):
by direction where Q is given by columns, by distance where it is given by features.  Generated data
as in scaling.py (two overlapping Gaussian classes, 15 % of the labels flipped, C = 1, intercept).
Each row is the whole run, start included, with windows and without.  The path is the same: as many
pivots and jumps, the same objective at its end.  There are more steps with windows, since one that
would leave its window ends there, at no corner.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from _measure import (
    Part,
    Result,
    Table,
    Targets,
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
from scaling import FEATURES, build, generate

from homotopy import Homotopy
from homotopy.tracker import Windows

Spec = Mapping[str, Any]

NEVER = 2**62
WITHOUT = Windows(heavy_across=NEVER, heavy_along=NEVER, wide=NEVER)
CASES = (("rbf", "theta", 2000), ("rbf", "s", 2000), ("linear", "theta", 20000))
QUICK = (("rbf", "theta", 500), ("rbf", "s", 500), ("linear", "theta", 3000))

# Targets: windows cost nothing where they do not pay (noise apart),
COST = 1.1
# and the path is the same; the objective at its end to this, relative.
SAME = 1e-9

TABLE = Table(
    (
        ("kernel", "kernel", 6),
        ("path", "path", 5),
        ("n", "n", 6),
        ("pivots", "pivots", 7),
        ("jumps", "jumps", 5),
        ("with", "windows s", 9),
        ("with_steps", "steps", 7),
        ("without", "without s", 9),
        ("without_steps", "steps", 7),
        ("without/with", "without/with", 12),
    ),
    left=2,
)


def parts(spec: Spec) -> Mapping[str, Part]:
    """The path with windows, then without; compiled loops are loaded beforehand."""
    Homotopy(build(spec, *generate(400, FEATURES[spec["kernel"]]))).trace()
    X, y = generate(spec["n"], FEATURES[spec["kernel"]])

    def run(windows: Windows) -> Part:
        def trace(known: Mapping[str, Result]) -> Result:
            found = timed(lambda: Homotopy(build(spec, X, y), windows=windows).trace())
            path = found.answer
            return {
                **found.result,
                "steps": path.counts["c_steps"] + path.counts["d_steps"],
                "pivots": path.counts["pivots"],
                "jumps": len(path.jumps),
                "objective": path.objective(path.traced[1]),
            }

        return trace

    return {"with": run(Windows()), "without": run(WITHOUT)}


def measure_row(spec: Spec, limit: float) -> dict[str, Any]:
    """Measure one case in processes of its own, and derive its columns."""
    found = measure(parts, spec, limit=limit)
    ours, bare = seconds(found, "with"), seconds(found, "without")
    return {
        **spec,
        **{name: found.get("with", {}).get(name) for name in ("pivots", "jumps")},
        **{f"{name}_steps": found.get(name, {}).get("steps") for name in ("with", "without")},
        "with": ours,
        "without": bare,
        "without/with": ratio(bare, ours),
        "parts": found,
    }


def check_targets(rows: list[dict[str, Any]]) -> Targets:
    targets = Targets()

    def label(row: Mapping[str, Any]) -> str:
        return f"{row['kernel']} {row['path']} n={row['n']}"

    targets.check(
        f"without windows / with >= {1.0 / COST:.2g}",
        [
            (label(row), found, found.at_least(1.0 / COST) if found else None)
            for row in rows
            for found in [row["without/with"]]
        ],
    )
    targets.check(
        "the same path with windows as without",
        [(label(row), *same(row["parts"])) for row in rows],
    )
    return targets


def same(found: Mapping[str, Result]) -> tuple[str | None, bool | None]:
    """What the two paths are, and whether they are the same; None where one is missing."""
    if not all("objective" in found.get(name, {}) for name in ("with", "without")):
        return None, None
    a, b = found["with"], found["without"]
    apart = abs(a["objective"] - b["objective"]) / abs(b["objective"])
    alike = all(a[name] == b[name] for name in ("pivots", "jumps"))
    text = f"{a['pivots']} and {b['pivots']} pivots, {a['jumps']} and {b['jumps']} jumps"
    return f"{text}, objectives {apart:.1e} apart", alike and apart <= SAME


def main() -> int:
    options = parser(__doc__, limit=600.0, quick_limit=60.0)
    chosen = parse(options)
    print_machine()
    print(f"limit {chosen.limit:g} s for each run\n")
    TABLE.head()
    rows: list[dict[str, Any]] = []
    for kernel, path, n in QUICK if chosen.quick else CASES:
        row = measure_row({"kernel": kernel, "path": path, "n": n}, chosen.limit)
        rows.append(row)
        TABLE.row(row)
        print_trouble(row["parts"])
        write_json(chosen.json, limit=chosen.limit, rows=rows)
    targets = check_targets(rows)
    targets.print()
    write_json(chosen.json, limit=chosen.limit, rows=rows, targets=targets.content)
    return 0


if __name__ == "__main__":
    sys.exit(main())
