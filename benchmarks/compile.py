"""Compilation: what the first trace after an installation waits for.

    python benchmarks/compile.py [--quick] [--json FILE]

Fresh processes that begin with an empty cache of compiled code (NUMBA_CACHE_DIR, a temporary
folder) trace tiny problems one after the other: Q by columns, as a matrix, by dense and by sparse
features, each with and without a border, then one with more corners.  The first pays for the core;
whatever a later one compiles is either its own (the start of a linear machine, say) or the core a
second time, which must not happen.  Seconds are those between numba's events "numba:compile", by
function without the functions compiled inside it.  Then the same processes again with the cache
they left, and, where there is a `homotopy.compile_now`, with one that it has filled.

Nothing is warmed up and every time is measured once, in seconds of the processor.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from typing import Any

import attrs
from _measure import (
    Part,
    Result,
    Table,
    Targets,
    clock,
    measure,
    parse,
    parser,
    print_machine,
    print_trouble,
    write_json,
)

# homotopy and numba are imported in the child only: importing is one of the times.

Spec = Mapping[str, Any]

ROWS, FEATURES = 60, 3
SEED = 0
# name: (kernel, are the features sparse, is there a border)
CASES = {
    "columns of Q, border": ("rbf", False, True),
    "columns of Q": ("rbf", False, False),
    "matrix Q, border": ("precomputed", False, True),
    "matrix Q": ("precomputed", False, False),
    "dense features, border": ("linear", False, True),
    "dense features": ("linear", False, False),
    "sparse features, border": ("linear", True, True),
    "sparse features": ("linear", True, False),
}
QUICK = ("columns of Q, border", "dense features, border", "sparse features, border")
MORE_CORNERS = "two jumps, border"
IMPORT, NOW = "import", "compile_now"

# The target: seconds for all of it.
SECONDS = 20.0
# The number of functions shown, slowest first; --json has all.
SHOWN = 30

BY_CASE = Table(
    (
        ("case", "", 24),
        ("cold", "cold s", 8),
        ("compiling", "compiling s", 11),
        ("functions", "functions", 9),
        ("warm", "warm s", 8),
        ("warm_functions", "functions", 9),
        ("ready", "compile_now, then s", 19),
        ("ready_functions", "functions", 9),
    )
)
BY_FUNCTION = Table(
    (
        ("name", "function", 47),
        ("own", "own s", 7),
        ("with", "with inner s", 12),
        ("times", "times", 5),
        ("case", "first in", 26),
    )
)


# ---------------------------------------------------------------------- in the child


@attrs.define
class Compilations:
    """What numba compiled: for each function its own seconds, those with what is compiled inside
    it, and the types of its arguments each time."""

    functions: dict[str, dict[str, Any]] = attrs.field(factory=dict)
    total: float = 0.0
    _open: list[list[float]] = attrs.field(factory=list)

    def begin(self) -> None:
        self._open.append([time.process_time(), 0.0])

    def end(self, work: Callable[..., Any], types: list[str]) -> None:
        began, inner = self._open.pop()
        taken = time.process_time() - began
        name = f"{work.__module__}.{work.__qualname__}"
        about = self.functions.setdefault(name, {"own": 0.0, "with": 0.0, "types": []})
        about["own"] += taken - inner
        about["with"] += taken
        about["types"].append(types)
        if self._open:
            self._open[-1][1] += taken
        else:
            self.total += taken

    def take(self) -> Result:
        """What was compiled since this was asked last."""
        found = {"compiling": self.total, "functions": self.functions}
        self.total, self.functions = 0.0, {}
        return found


def listen() -> Compilations:
    """Count what is compiled from now on."""
    from numba.core import event

    heard = Compilations()

    class Listener(event.Listener):
        def on_start(self, event: Any) -> None:
            heard.begin()

        def on_end(self, event: Any) -> None:
            types = [str(kind) for kind in event.data["args"]]
            heard.end(event.data["dispatcher"].py_func, types)

    event.register("numba:compile", Listener())
    return heard


def build(name: str) -> Any:
    """A tiny model of its own data."""
    import numpy as np
    import scipy.sparse as sp

    from homotopy_plugins import HingeRamp, LADRamp

    rng = np.random.default_rng(SEED)
    X = rng.standard_normal((ROWS, FEATURES))
    y = X[:, 0] + 0.7 * rng.standard_normal(ROWS)
    if name == MORE_CORNERS:
        return LADRamp(X, y, C=1.0, s=0.5, fit_intercept=True)
    kernel, sparse, border = CASES[name]
    if kernel == "precomputed":
        X = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=-1) / FEATURES)
    rows = sp.csr_matrix(X) if sparse else X
    return HingeRamp(rows, np.sign(y), C=1.0, kernel=kernel, fit_intercept=border)


def parts(spec: Spec) -> Mapping[str, Part]:
    """Importing, `compile_now` if asked for, then the cases."""
    heard: list[Compilations] = []

    def measured(work: Callable[[], Any]) -> Result:
        if not heard:
            heard.append(listen())
        return {"seconds": clock(work), **heard[0].take()}

    def load(known: Mapping[str, Result]) -> Result:
        def modules() -> None:
            import homotopy_plugins  # noqa: F401

        begin = time.process_time()
        found = measured(modules)
        # To listen is to import numba.
        return {**found, "seconds": time.process_time() - begin}

    def beforehand(known: Mapping[str, Result]) -> Result:
        import homotopy

        return measured(homotopy.compile_now)

    def trace(name: str) -> Part:
        def run(known: Mapping[str, Result]) -> Result:
            from homotopy import Homotopy

            model = build(name)
            return measured(lambda: Homotopy(model).trace().certify())

        return run

    listed: dict[str, Part] = {IMPORT: load}
    if spec["beforehand"]:
        listed[NOW] = beforehand
    return listed | {name: trace(name) for name in spec["cases"]}


# ---------------------------------------------------------------------- in the parent


def has_compile_now() -> bool:
    """Whether there is a `compile_now`; looked up here, where nothing is measured."""
    import homotopy

    return hasattr(homotopy, "compile_now")


def run_all(cases: tuple[str, ...], limit: float) -> dict[str, dict[str, Result]]:
    """Results by cache: "cold", "warm" (the same again), "ready" (filled by compile_now)."""
    found: dict[str, dict[str, Result]] = {}

    def process(cache: str) -> dict[str, Result]:
        spec = {"cases": cases, "cache": cache, "beforehand": cache == "ready"}
        return measure(parts, spec, limit=limit)

    with tempfile.TemporaryDirectory() as folder:
        os.environ["NUMBA_CACHE_DIR"] = folder
        found["cold"], found["warm"] = process("cold"), process("warm")
    if has_compile_now():
        with tempfile.TemporaryDirectory() as folder:
            os.environ["NUMBA_CACHE_DIR"] = folder
            found["ready"] = process("ready")
    return found


def rows_by_case(found: Mapping[str, Mapping[str, Result]]) -> list[dict[str, Any]]:
    """One row a case, and one for all of them together."""
    names = list(dict.fromkeys(name for results in found.values() for name in results))
    rows = []
    for name in names:
        row: dict[str, Any] = {"case": name}
        for cache, functions in (
            ("cold", "functions"),
            ("warm", "warm_functions"),
            ("ready", "ready_functions"),
        ):
            result = found.get(cache, {}).get(name, {})
            row[cache] = result.get("seconds")
            row[functions] = len(result["functions"]) if "functions" in result else None
        row["compiling"] = found["cold"].get(name, {}).get("compiling")
        rows.append(row)
    total: dict[str, Any] = {"case": "all"}
    for key in BY_CASE.columns[1:]:
        known = [row[key[0]] for row in rows if row[key[0]] is not None]
        total[key[0]] = sum(known) if known else None
    return [*rows, total]


def rows_by_function(cold: Mapping[str, Result]) -> list[dict[str, Any]]:
    """One row a function, the slowest first, over all cases."""
    rows: dict[str, dict[str, Any]] = {}
    for case, result in cold.items():
        for name, about in result.get("functions", {}).items():
            new = {"name": name, "case": case, "own": 0.0, "with": 0.0, "times": 0, "types": []}
            row = rows.setdefault(name, new)
            row["own"] += about["own"]
            row["with"] += about["with"]
            row["types"] += about["types"]
            row["times"] = len(row["types"])
    return sorted(rows.values(), key=lambda row: -row["own"])


def again(row: Mapping[str, Any]) -> str:
    """How many times a function was compiled, and which arguments were of another type."""
    pairs = zip(row["types"][0], row["types"][-1], strict=True)
    other = [f"argument {k}: {a[:60]} | {b[:60]}" for k, (a, b) in enumerate(pairs) if a != b]
    return "; ".join([f"{row['times']} times", *other])


def check_targets(
    found: Mapping[str, Mapping[str, Result]],
    cases: list[dict[str, Any]],
    functions: list[dict[str, Any]],
) -> Targets:
    targets = Targets()
    failed = [n for part in found.values() for n, r in part.items() if "seconds" not in r]
    total = None if failed else cases[-1]["compiling"]
    targets.check(
        f"compiling within {SECONDS:g} s in all",
        [("all cases", total, None if total is None else total <= SECONDS)],
    )
    targets.check(
        "nothing of ours is compiled twice",
        [
            (row["name"], again(row), row["times"] == 1)
            for row in functions
            if row["name"].startswith("homotopy")
        ],
    )
    for cache, promise in (
        ("warm", "with the cache of before nothing is compiled"),
        ("ready", "after compile_now nothing is compiled"),
    ):
        results = {n: r for n, r in found.get(cache, {}).items() if n != NOW}
        targets.check(
            promise,
            [
                (name, ", ".join(r["functions"]) or "nothing", not r["functions"])
                for name, r in results.items()
                if "functions" in r
            ],
        )
    return targets


def main() -> int:
    options = parser(__doc__, limit=300.0, quick_limit=300.0)
    chosen = parse(options)
    cases = QUICK if chosen.quick else (*CASES, MORE_CORNERS)

    print_machine("nothing warmed up, every time measured once")
    found = run_all(cases, chosen.limit)
    by_case, by_function = rows_by_case(found), rows_by_function(found["cold"])
    targets = check_targets(found, by_case, by_function)
    content = {"rows": by_case, "functions": by_function, "targets": targets.content}
    write_json(chosen.json, limit=chosen.limit, parts=found, **content)
    print()
    BY_CASE.head()
    for row in by_case:
        BY_CASE.row(row)
    for cache, results in found.items():
        print_trouble(results)
        for name in (name for name, result in results.items() if "over" in result):
            print(f"  {cache}: {name} took longer than {chosen.limit:g} s")
    print()
    BY_FUNCTION.head()
    for row in by_function[:SHOWN]:
        BY_FUNCTION.row(row)
    rest = by_function[SHOWN:]
    if rest:
        others = {key: sum(row[key] for row in rest) for key in ("own", "times")}
        BY_FUNCTION.row({"name": f"{len(rest)} others", **others})
    targets.print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
