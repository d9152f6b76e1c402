"""Everyday tables: what people have on disk, traced as they would trace it.

    python benchmarks/everyday.py --data DIR [--quick] [--json FILE] [--jobs 2]

The tables of the data folder and those of scikit-learn, each raw, standardised, one-hot (every
column cut at its quintiles) and with half of its rows repeated; linear and RBF kernels, both paths,
C = 0.1 to 100, and 0, 10 or 30 % of the labels flipped (of the targets moved far off).  Tables are
cut to at most 1,000 rows.  No table is chosen because it goes well.

Every row is one whole ``trace()`` over one fit of libsvm to the same rows in the same process; fits
below 3 ms count as 3 ms.  Every path is then certified, all of it.  "proof" is the share of a trace
that is spent on checking and correcting the point rather than on following the path.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import geometric_mean
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt
from _measure import (
    CERTIFIED,
    KEPT,
    THREADS,
    Targets,
    answers,
    number,
    parse,
    parser,
    print_machine,
    write_json,
)

Array = npt.NDArray[np.float64]
Spec = dict[str, Any]

MOST_ROWS = 1000
FORMS = ("raw", "standard", "one-hot", "repeated")
KERNELS = ("linear", "rbf")
PATHS = ("theta", "s")
COSTS = (0.1, 1.0, 10.0, 100.0)
NOISES = (0.0, 0.1, 0.3)
CLASSES = (
    "AustralianCredit", "BreastCancerDiagnostic", "GermanNumer", "SVMGuide1", "a6a", "musk",
    "spambase",
)  # fmt: skip
TARGETS = (
    "abalone", "bodyfat", "cpusmall", "housing", "mpg", "winequality-red", "winequality-white",
    "yacht_hydrodynamics",
)  # fmt: skip
OWN_CLASSES = ("breast_cancer", "digits", "iris", "wine")
OWN_TARGETS = ("diabetes",)
QUICK = ("AustralianCredit", "GermanNumer", "a6a", "housing", "breast_cancer", "diabetes")

# A fit of libsvm counts as no less than this, a trace shorter than that has no proof to speak of.
LEAST_FIT, SHORT = 0.003, 0.02
# Runs shorter than AGAIN seconds are made twice; libsvm gives up after MOST_ROUNDS iterations.
AGAIN, MOST_ROUNDS = 0.5, 1_000_000
# What tells one row from another.
SPEC = ("data", "form", "kernel", "path", "C", "noise", "seed")


# ---------------------------------------------------------------------- tables


def load(folder: str, name: str) -> tuple[Array, Array]:
    """A table as it is published; labels -1 and +1."""
    if name in OWN_CLASSES + OWN_TARGETS:
        from sklearn import datasets

        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        # More than two classes: the even ones against the odd ones.
        return X, y.astype(float) if name in OWN_TARGETS else np.where(y % 2 == 0, 1.0, -1.0)
    from _data import read

    return read(folder, name)


def is_regression(spec: Mapping[str, Any]) -> bool:
    return spec["data"] in TARGETS + OWN_TARGETS


def one_hot(X: Array) -> Array:
    """Every column cut at its quintiles, one column of 0 and 1 for each part that has rows."""
    columns = []
    for column in X.T:
        parts = np.searchsorted(np.unique(np.quantile(column, [0.2, 0.4, 0.6, 0.8])), column)
        columns += [(parts == part).astype(float) for part in np.unique(parts)]
    return np.stack(columns, axis=1)


def table(spec: Spec) -> tuple[Array, Array]:
    """The rows of a spec, dirty as it says."""
    X, y = load(spec["folder"], spec["data"])
    rng = np.random.default_rng(spec["seed"])
    most = MOST_ROWS // 2 if spec["form"] == "repeated" else MOST_ROWS
    some = rng.permutation(len(y))[:most]
    X, y = np.asarray(X[some], dtype=float), y[some].copy()
    if spec["form"] == "standard":
        spread = X.std(axis=0)
        X = (X - X.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
    elif spec["form"] == "one-hot":
        X = one_hot(X)
    elif spec["form"] == "repeated":
        again = rng.permutation(len(y))[: len(y) // 2]
        X, y = np.concatenate([X, X[again]]), np.concatenate([y, y[again]])
    dirty = rng.random(len(y)) < spec["noise"]
    if is_regression(spec):
        y[dirty] += 5.0 * np.std(y) * rng.standard_normal(int(dirty.sum()))
    else:
        y[dirty] = -y[dirty]
    return X, y


def specs(folder: str, quick: bool) -> Iterator[Spec]:
    """What is traced: every table, form, kernel and path, with costs and noise taken in turn so
    that each meets each."""
    names = CLASSES + TARGETS + OWN_CLASSES + OWN_TARGETS
    turn = 0
    for name in names:
        for f, form in enumerate(FORMS):
            if name in ("a6a",) and form == "one-hot":
                continue
            for kernel in KERNELS:
                for path in PATHS:
                    for c, C in enumerate(COSTS):
                        # Half of the costs for each combination, all of them over the table.
                        turn += 1
                        if (c + f + (kernel == "rbf") + (path == "s")) % 2:
                            continue
                        spec = {
                            "folder": folder, "data": name, "form": form, "kernel": kernel,
                            "path": path, "C": C, "noise": NOISES[turn % 3], "seed": turn,
                        }  # fmt: skip
                        if not quick or (name in QUICK and turn % 4 == 0):
                            yield spec


# ---------------------------------------------------------------------- one row, in a child


def build(spec: Spec, X: Array, y: Array) -> Any:
    from homotopy_plugins import HingeRamp, LADRamp

    options = {"C": spec["C"], "path": spec["path"], "gamma": gamma(spec, X), "fit_intercept": True}
    options["kernel"] = spec["kernel"]
    if not is_regression(spec):
        return HingeRamp(X, y, **options)
    # The threshold of the theta-path: a usual residual of the mean.
    s = {"s": float(np.quantile(np.abs(y - np.median(y)), 0.9))} if spec["path"] == "theta" else {}
    return LADRamp(X, y, **options, **s)


def gamma(spec: Spec, X: Array) -> float:
    """scikit-learn's "scale"."""
    spread = float(X.var())
    return 1.0 / (X.shape[1] * (spread if spread > 0.0 else 1.0))


def fit(spec: Spec, X: Array, y: Array) -> float:
    """The seconds of one fit of libsvm."""
    from sklearn.svm import SVC, SVR

    options = {"C": spec["C"], "kernel": spec["kernel"], "gamma": gamma(spec, X)}
    # Libsvm does not end on some raw tables: what it takes is then more than is counted.
    options["max_iter"] = MOST_ROUNDS
    machine = SVR(epsilon=0.0, **options) if is_regression(spec) else SVC(**options)
    begin = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        machine.fit(X, y)
    return time.process_time() - begin


@attrs.define
class Proof:
    """Adds up the seconds of checking and correcting, and counts second attempts."""

    seconds: float = 0.0
    attempts: int = 1
    inside: bool = False

    def watch(self, owner: Any, name: str) -> None:
        """Count what ``owner.name`` takes, unless it is called by another that is counted."""
        work = getattr(owner, name)

        def timed(*given: Any) -> Any:
            if self.inside:
                return work(*given)
            self.inside, begin = True, time.process_time()
            try:
                return work(*given)
            finally:
                self.seconds += time.process_time() - begin
                self.inside = False

        setattr(owner, name, timed)

    def count(self, owner: Any, name: str) -> None:
        """Count the calls of ``owner.name`` as attempts."""
        work = getattr(owner, name)

        def counted(*given: Any) -> Any:
            self.attempts += 1
            return work(*given)

        setattr(owner, name, counted)


PROOF = Proof()


def measured(spec: Spec, tell: Callable[[str], object]) -> dict[str, Any]:
    """Fit, trace and certify; `tell` is called once the fit is done."""
    from homotopy import Homotopy
    from homotopy.errors import TraceError

    X, y = table(spec)
    peer = fit(spec, X, y)
    if peer < AGAIN:
        peer = min(peer, fit(spec, X, y))
    row: dict[str, Any] = {"n": len(y), "d": X.shape[1], "libsvm": peer}
    tell("fitted")
    best: tuple[float, Any, float, int] | None = None
    for _ in range(2):
        PROOF.seconds, PROOF.attempts = 0.0, 1
        begin = time.process_time()
        try:
            path = Homotopy(build(spec, X, y)).trace()
        except TraceError as error:
            return row | {"declined": str(error), "seconds": time.process_time() - begin}
        taken = time.process_time() - begin
        if best is None or taken < best[0]:
            best = taken, path, PROOF.seconds, PROOF.attempts
        if taken > AGAIN:
            break
    assert best is not None
    taken, path, proving, attempts = best
    begin = time.process_time()
    proof = path.certify()
    row |= {"certifying": time.process_time() - begin, "worst": proof.worst, "ok": proof.ok}
    return row | {
        "seconds": taken,
        "fits": taken / max(peer, LEAST_FIT),
        "breakpoints": path.breakpoints.size,
        "jumps": len(path.jumps),
        "proof": proving / taken,
        "again": attempts > 1,
    }


def _child(channel: Connection) -> None:
    warnings.simplefilter("ignore")
    from homotopy import compile_now, engine
    from homotopy.tracing import Run
    from homotopy.tracker import Tracker

    compile_now()
    for owner, name in ((Tracker, "_maintain"), (Tracker, "correct"), (Run, "_proven")):
        PROOF.watch(owner, name)
    PROOF.count(engine.Homotopy, "_careful")
    small = {"data": "iris", "form": "raw", "C": 1.0, "noise": 0.1, "seed": 0, "folder": ""}
    for kernel in KERNELS:
        for path in PATHS:
            measured(small | {"kernel": kernel, "path": path}, lambda word: None)
    channel.send("ready")
    while (spec := channel.recv()) is not None:
        try:
            channel.send(measured(spec, channel.send))
        except Exception as error:
            channel.send({"crashed": f"{type(error).__name__}: {error}"})


class Worker:
    """A child that measures one row after the other, and is replaced where one does not end."""

    def __init__(self, limit: float) -> None:
        self.limit, self.child = limit, None

    def __call__(self, spec: Spec) -> dict[str, Any]:
        if self.child is None:
            context = multiprocessing.get_context("spawn")
            self.channel, theirs = context.Pipe()
            self.child = context.Process(target=_child, args=(theirs,), daemon=True)
            self.child.start()
            theirs.close()
            self.channel.recv()
        self.channel.send(spec)
        answer: Any = {"crashed": "the process ended"}
        with contextlib.suppress(EOFError):
            answer = self.channel.recv()
            if answer == "fitted":
                ended = answers(self.channel, self.child.pid, self.limit)
                answer = self.channel.recv() if ended else {"unfinished": self.limit}
        if "crashed" in answer or "unfinished" in answer:
            self.close()
        return answer

    def close(self) -> None:
        if self.child is not None:
            self.child.kill()
            self.child.join()
            self.child = None


def _shared(job: tuple[list[Spec], float, list[dict[str, Any]], Any]) -> None:
    todo, limit, rows, tell = job
    worker = Worker(limit)
    try:
        while todo:
            try:
                spec = todo.pop(0)
            except IndexError:
                break
            row = {k: v for k, v in spec.items() if k != "folder"} | worker(spec)
            rows.append(row)
            tell(row)
    finally:
        worker.close()


# ---------------------------------------------------------------------- the report


def name_of(row: Mapping[str, Any]) -> str:
    return (
        f"{row['data']} {row['form']} {row['kernel']} {row['path']} C={row['C']:g} "
        f"noise={row['noise']:.0%} (n={row.get('n', '?')}, seed {row['seed']})"
    )


def ended(row: Mapping[str, Any]) -> str:
    """How a row ended, in a word."""
    for word in ("unfinished", "crashed", "declined"):
        if word in row:
            return word
    return "ok" if row["ok"] else "uncertified"


def report(rows: list[dict[str, Any]]) -> Targets:
    """The distribution, the worst ten, everything that did not end well, and the targets."""
    done = [row for row in rows if ended(row) in ("ok", "uncertified")]
    fits = [row["fits"] for row in done]
    print(f"\n{len(rows)} traces; in libsvm fits:")
    if fits:
        marks = (5, 25, 50, 75, 90, 95, 98, 100)
        print("  " + "  ".join(f"{p}%: {number(float(np.percentile(fits, p)))}" for p in marks))
        print(f"  geometric mean {number(geometric_mean(fits))}")
    print("the worst ten:")
    for row in sorted(done, key=lambda row: -row["fits"])[:10]:
        print(
            f"  {number(row['fits']):>7} fits  {number(row['seconds'])} s, libsvm "
            f"{number(row['libsvm'])} s, proof {row['proof']:.0%}  {name_of(row)}"
        )
    for row in rows:
        if ended(row) != "ok":
            why = row.get("declined", row.get("crashed", row.get("worst", row.get("unfinished"))))
            print(f"  {ended(row)}: {name_of(row)}: {str(why)[:150]}")
    targets, count = Targets(), max(len(rows), 1)
    declined = [row for row in rows if ended(row) == "declined"]
    lost = [row for row in rows if ended(row) in ("unfinished", "crashed")]
    slow = [row for row in done if row["fits"] > 10.0]
    again = [row for row in done if row["again"]]
    shares = [row["certifying"] / row["seconds"] for row in done]
    ratio = geometric_mean(shares) if done else np.inf
    long = [row for row in done if row["seconds"] > SHORT]
    mean = geometric_mean(fits) if done else np.inf

    def share(some: list[Any]) -> str:
        return f"{len(some)} of {count} ({len(some) / count:.2%})"

    targets.check("geometric mean at most 2.0 fits", [("all", mean, mean <= 2.0)])
    targets.check(
        "no trace above 30 fits", [(name_of(r), r["fits"], r["fits"] <= 30) for r in done]
    )
    targets.check("at most 2 % above 10 fits", [("all", share(slow), len(slow) <= 0.02 * count)])
    targets.check("none unfinished", [("all", share(lost), not lost)])
    few = len(declined) <= 0.005 * count
    targets.check("at most 0.5 % declined", [("all", share(declined), few)])
    targets.check(
        f"certified to {CERTIFIED:g}", [(name_of(r), r["worst"], bool(r["ok"])) for r in done]
    )
    targets.check("certifying takes no longer than tracing", [("mean", ratio, ratio <= 1.0)])
    targets.check(
        "proof at most 15 % of traces over 20 ms",
        [(name_of(r), r["proof"], r["proof"] <= 0.15) for r in long],
    )
    rare = len(again) < 0.01 * count
    targets.check("second attempts below 1 %", [("all", share(again), rare)])
    return targets


def main() -> int:
    options = parser(__doc__, limit=60.0, quick_limit=20.0)
    options.add_argument("--data", required=True, help="folder of the tables (README.md)")
    options.add_argument("--jobs", type=int, default=2, help="processes side by side")
    options.add_argument("--only", default="", help="rows whose name holds this text")
    chosen = parse(options)
    for name in THREADS:
        os.environ[name] = "1"
    print_machine("the better of two runs below half a second")
    todo = [s for s in specs(chosen.data, chosen.quick) if chosen.only in name_of(s)]
    total, rows = len(todo), []
    shared = []
    for spec in todo:
        found = KEPT.find({k: spec[k] for k in SPEC})
        if found is None:
            shared.append(spec)
        else:
            rows.append(found)

    one = threading.Lock()

    def tell(row: dict[str, Any]) -> None:
        with one:
            if len(rows) % 50 == 0 or ended(row) != "ok":
                print(f"[{len(rows)}/{total}] {ended(row)}: {name_of(row)}", flush=True)
            write_json(chosen.json, rows=rows)
            KEPT.add({k: row[k] for k in SPEC}, row)

    with ThreadPoolExecutor(chosen.jobs) as pool:
        jobs = [(shared, chosen.limit, rows, tell)] * chosen.jobs
        list(pool.map(_shared, jobs))
    targets = report(rows)
    targets.print()
    write_json(chosen.json, rows=rows, targets=targets.content)
    return 0


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    sys.exit(main())
