"""Better optima by walking: `benchmarks/paper.py --objective`.

At the end of its path, (theta, s) = (0, s0), the ramp problem is not convex: where a method ends
depends on the way.  On the training rows of the paper's classification sets (protocol likely) this
compares the objective there, and the test error, of

    theta-path, s-path     the two paths of the paper
    better of both         whichever has the lower objective
    anneal                 `homotopy_plugins.anneal`: both, the line between, reheated from the best
    CCCP warm              along theta over 20 values, each from the one before
    CCCP plain             at the end, from the plain machine
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import time
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from typing import Any

import numpy as np
from _measure import plain, write_json
from _paper import CLASSIFICATION, PROTOCOLS, SAME_OBJECTIVE, Split, errors, split
from tqdm import tqdm

from homotopy import Homotopy
from homotopy_plugins import HingeRamp, anneal, cccp

SETS = ("BreastCancerDiagnostic", "AustralianCredit", "GermanNumer", "SVMGuide1", "spambase")
QUICK_SETS = SETS[:2]
COSTS = (0.1, 1.0, 10.0)
THRESHOLDS = (0.0, -0.5)
KERNELS = ("linear", "rbf")
SPLITS = 2
# The largest number of training rows; larger sets are cut.
ROWS = 1000
VALUES = 20
TOLERANCE = 1e-8

Case = tuple[str, str, int]
WAYS = ("theta-path", "s-path", "better of both", "anneal", "CCCP warm", "CCCP plain")
PAIRS = (
    ("theta-path", "CCCP warm"),
    ("s-path", "CCCP warm"),
    ("better of both", "CCCP warm"),
    ("better of both", "CCCP plain"),
    ("anneal", "CCCP warm"),
    ("anneal", "CCCP plain"),
    ("anneal", "better of both"),
)


def run_case(folder: str, case: Case) -> list[dict[str, Any]]:
    """Every C and s0 on one split of one set with one kernel."""
    name, kernel, seed = case
    data = split(folder, name, seed, kernel, PROTOCOLS["likely"])
    told = {"data": name, "kernel": kernel, "split": seed}
    return [
        {**told, "C": C, "s": s, **ways(data, name, kernel, C, s)}
        for C, s in itertools.product(COSTS, THRESHOLDS)
    ]


def ways(data: Split, name: str, kernel: str, C: float, s: float) -> dict[str, Any]:
    """Where every method ends: objective, test error, seconds."""
    X, y = data.X[:ROWS], data.y[:ROWS]
    model = HingeRamp(X, y, C=C, kernel=kernel, s=s)
    along_s = HingeRamp(X, y, C=C, kernel=kernel, path="s", s=s)
    along_s.gram = model.gram
    found: dict[str, Any] = {"n": y.size}

    def keep(way: str, objective: float, values: Any, began: float, **more: Any) -> None:
        error = float(errors(values, data.y_test, name))
        took = time.process_time() - began
        found[way] = {"objective": objective, "test": error, "seconds": took, **more}

    for way, one in (("theta-path", model), ("s-path", along_s)):
        began = time.process_time()
        path = Homotopy(one).trace()
        end = path.traced[1]
        values = path.decision_function(data.X_test, end)
        keep(way, path.objective(end), values, began, certified=path.certify(at=end).ok)
    both = (found["theta-path"], found["s-path"])
    found["better of both"] = {
        **min(both, key=lambda one: one["objective"]),
        "seconds": sum(one["seconds"] for one in both),
    }
    began = time.process_time()
    best = anneal(model)
    told = {"certified": best.certificate.ok, "walks": len(best.tried)}
    told |= {"found_by": best.found_by.name, "exhausted": best.exhausted}
    keep("anneal", best.objective, best.decision_function(data.X_test), began, **told)
    began = time.process_time()
    warm = cccp(model, np.linspace(1.0, 0.0, VALUES), tol=TOLERANCE)
    keep("CCCP warm", warm.objectives[-1], warm.decision_function(data.X_test, 0.0), began)
    began = time.process_time()
    cold = cccp(model, [0.0], start=warm.alphas[0], tol=TOLERANCE)
    keep("CCCP plain", cold.objectives[0], cold.decision_function(data.X_test, 0.0), began)
    return found


def compare(options: argparse.Namespace) -> list[str]:
    """Run what is not there yet, write OUT/objective.json, print the counts; return what failed."""
    names = [n for n in options.sets if n in CLASSIFICATION] or (
        QUICK_SETS if options.quick else SETS
    )
    splits = range(options.splits or SPLITS)
    cases = list(itertools.product(names, KERNELS, splits))
    file = options.out / "objective.json"
    rows: list[dict[str, Any]] = json.loads(file.read_text())["rows"] if file.exists() else []
    there = {(row["data"], row["kernel"], row["split"]) for row in rows}
    missing = [case for case in cases if case not in there]
    trouble = []
    with (
        ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn")) as pool,
        tqdm(total=len(missing), unit="case", disable=None) as bar,
    ):
        running = {pool.submit(run_case, str(options.data), case): case for case in missing}
        for done in as_completed(running):
            bar.update()
            failed = done.exception()
            if failed is not None:
                case = " ".join(map(str, running[done]))
                trouble.append(f"{case}: {type(failed).__name__}: {failed}")
                tqdm.write(trouble[-1], file=sys.stderr)
                continue
            rows += plain(done.result())
            rows.sort(key=lambda row: [str(row[key]) for key in ("data", "kernel", "split")])
            write_json(file, benchmark="paper objective", rows=rows)
    text = "\n".join(summary(rows))
    (options.out / "objective.md").write_text(text + "\n")
    print(text)
    return trouble


def score(rows: list[Mapping[str, Any]], one: str, other: str) -> tuple[int, int, int, float]:
    """How often the objective of `one` is lower, higher, equal; and by which part on average."""
    ours, theirs = (np.array([row[way]["objective"] for row in rows]) for way in (one, other))
    off = (ours - theirs) / np.abs(theirs)
    better, worse = int(np.sum(off < -SAME_OBJECTIVE)), int(np.sum(off > SAME_OBJECTIVE))
    return better, worse, off.size - better - worse, float(off.mean())


def summary(rows: list[dict[str, Any]]) -> list[str]:
    """Counts of the objectives, and mean test errors, as Markdown."""
    lines = [
        "| objective at the end of the path | kernel | better | worse | equal | mean difference |"
    ]
    lines += ["|---|---|---|---|---|---|"]
    for one, other in PAIRS:
        for kernel in KERNELS:
            some = [row for row in rows if row["kernel"] == kernel]
            if some:
                better, worse, equal, mean = score(some, one, other)
                told = f"| {one} against {other} | {kernel} | {better} | {worse} | {equal} "
                lines.append(f"{told}| {100 * mean:+.2f} % |")
    lines += ["", "| test error | " + " | ".join(WAYS) + " |", "|---|" + "---|" * len(WAYS)]
    for kernel in KERNELS:
        some = [row for row in rows if row["kernel"] == kernel]
        if some:
            means = [np.mean([row[way]["test"] for row in some]) for way in WAYS]
            lines.append(f"| {kernel} | " + " | ".join(f"{m:.4f}" for m in means) + " |")
    if rows:
        ours = np.array([row["anneal"]["test"] for row in rows])
        for way in ("theta-path", "s-path", "better of both"):
            off = ours - np.array([row[way]["test"] for row in rows])
            error = off.std(ddof=1) / np.sqrt(off.size) if off.size > 1 else float("nan")
            lines.append(
                f"\nanneal less {way}, test error in points: {100 * off.mean():+.3f} ± "
                f"{100 * error:.3f} ({off.size} cases)"
            )
        seconds = {way: sum(row[way]["seconds"] for row in rows) for way in WAYS}
        walks = np.mean([row["anneal"]["walks"] for row in rows])
        proven = sum(row["anneal"]["certified"] for row in rows)
        times = {way: total / seconds["theta-path"] for way, total in seconds.items()}
        lines.append(
            f"\nanneal: {walks:.1f} walks on average, in the time of {times['anneal']:.1f} "
            f"theta-paths (CCCP warm: {times['CCCP warm']:.1f}); {proven} of {len(rows)} certified"
        )
        names = [row["anneal"]["found_by"] for row in rows]
        found = {name: names.count(name) for name in sorted(set(names))}
        lines.append("\nfound by: " + ", ".join(f"{name} {k}" for name, k in found.items()))
    return lines
