"""What the benchmarks share: a child process for each row, clocks, memory, tables, targets, files.

A row is measured part by part in a process of its own.  The parent holds the clock for the limit:
a part that exceeds it is ended with its process and reported as ">limit", and the remaining parts
go on in a new process.  Nothing is measured in the parent.  Seconds are those of the processor, of
one thread, so that a machine with other things to do measures nearly the same.

Every file that `write_json` writes says what was run: the commit, the date, the command, the
machine and how busy it was.  With `--kept FILE` rows are also kept one by one, and a run that was
stopped goes on from there.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import gc
import json
import math
import multiprocessing
import os
import platform
import re
import resource
import statistics
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import attrs
from _one_thread import THREADS

Result = dict[str, Any]
Part = Callable[[Mapping[str, Result]], Result]
Setup = Callable[[Mapping[str, Any]], Mapping[str, Part]]

# A path is certified if the largest residual of its certificate is at most this.
CERTIFIED = 1e-8
# Importing, loading data and, after an installation, compiling: not measured, but not endless.
SETUP_LIMIT = 900.0
# Limits are seconds of the processor; the clock may show this many times as much.
WAITING = 10.0
# Anything shorter than this is run three times; the median counts.
SHORT = 1.0
PAIRS = 5
PACKAGES = (
    "homotopy-qp",
    "numpy",
    "scipy",
    "numba",
    "scikit-learn",
    "osqp",
    "daqp",
    "cvxcla",
    "cleanlab",
    "mapie",
    "skglm",
)
ROOT = Path(__file__).resolve().parent.parent
# What a benchmark measures; a change elsewhere leaves its numbers valid.
MEASURED = ("homotopy", "plugins/homotopy_plugins")


# ---------------------------------------------------------------------- amounts


@attrs.frozen
class Amount:
    """A measured number, or a bound of one: mark ">" is "at least", "<" is "at most"."""

    value: float
    mark: str = ""

    def __str__(self) -> str:
        return f"{self.mark}{number(self.value)}"

    def at_most(self, bound: float) -> bool | None:
        """Whether the amount is at most `bound`; None where its own bound leaves that open."""
        if self.mark == ">":
            return False if self.value > bound else None
        if self.mark == "<":
            return True if self.value <= bound else None
        return None if self.mark else self.value <= bound

    def at_least(self, bound: float) -> bool | None:
        """Whether the amount is at least `bound`; None where its own bound leaves that open."""
        if self.mark == ">":
            return True if self.value >= bound else None
        if self.mark == "<":
            return False if self.value < bound else None
        return None if self.mark else self.value >= bound


def ratio(over: Amount | None, under: Amount | None) -> Amount | None:
    """``over / under``; None where either is missing or both are only bounds."""
    if over is None or under is None or under.value <= 0.0 or (over.mark and under.mark):
        return None
    inverse = {"": "", ">": "<", "<": ">"}[under.mark]
    return Amount(over.value / under.value, over.mark or inverse)


def geometric_mean(amounts: Iterable[Amount | None]) -> Amount | None:
    """The geometric mean of what is there; a bound if any of them is one ("?" if of both kinds)."""
    known = [a for a in amounts if a is not None and a.value > 0.0]
    if not known:
        return None
    marks = {a.mark for a in known} - {""}
    mark = "?" if len(marks) > 1 else next(iter(marks), "")
    return Amount(math.exp(statistics.fmean(math.log(a.value) for a in known)), mark)


def seconds(results: Mapping[str, Result], part: str) -> Amount | None:
    """The seconds of a part: measured, at least the limit, or None if it failed or is missing."""
    result = results.get(part, {})
    if "over" in result:
        return Amount(result["over"], ">")
    return Amount(result["seconds"]) if "seconds" in result else None


def trace_seconds(results: Mapping[str, Result]) -> Amount | None:
    """The seconds of a path without its start; at least the limit where the path exceeded it."""
    trace = results.get("start", {}).get("trace")
    return seconds(results, "path") if trace is None else Amount(trace)


# ---------------------------------------------------------------------- in the child


@attrs.frozen
class Timed:
    """What some work returned, its seconds, and the peak of resident memory in MB: of the whole
    process, and beyond what it held before."""

    answer: Any
    seconds: float
    process: float
    growth: float

    @property
    def result(self) -> Result:
        return {"seconds": self.seconds, "peak": self.growth, "process_peak": self.process}


def timed(work: Callable[[], Any]) -> Timed:
    """Run `work`: processor seconds, the median of three runs if the first is short; memory of the
    first."""
    _settle_memory()
    before = _resident("VmRSS")
    begin = time.process_time()
    answer = work()
    taken = [time.process_time() - begin]
    peak = _resident("VmHWM")
    while taken[0] < SHORT and len(taken) < 3:
        begin = time.process_time()
        work()
        taken.append(time.process_time() - begin)
    return Timed(answer, statistics.median(taken), peak, max(0.0, peak - before))


def clock(work: Callable[[], Any]) -> float:
    """The processor seconds of one run."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


def timed_start(
    start: Callable[[], Any], whole: Callable[[], Any], known: Mapping[str, Result]
) -> tuple[Timed, float | None]:
    """Time the start of a path alone; also the seconds that the part "path" takes longer.

    For short runs those are the median over runs in pairs: a difference of two medians taken at
    different times would be lost in noise.
    """
    run = timed(start)
    total = known["path"].get("seconds")
    if total is None:
        return run, None
    if total >= SHORT:
        return run, max(0.0, total - run.seconds)
    return run, max(0.0, statistics.median(clock(whole) - clock(start) for _ in range(PAIRS)))


def start_only(model: Any) -> Any:
    """A model of homotopy with a span of one point: to trace it is to solve the start, no more."""
    start = model.span[0]
    if math.isfinite(start):
        model.span = (start, start)
    else:
        model.resolve_span = lambda contact: (contact, contact)
    return model


@attrs.define
class Watch:
    """Calls `work` and adds up the seconds inside it."""

    work: Callable[..., Any]
    seconds: float = 0.0

    def __call__(self, *given: Any) -> Any:
        begin = time.process_time()
        try:
            return self.work(*given)
        finally:
            self.seconds += time.process_time() - begin


def watch_core() -> Watch:
    """From now on the seconds inside the compiled entry of the tracker are added up."""
    from homotopy.tracker import runs

    runs.run = Watch(runs.run)
    return runs.run


def _settle_memory() -> None:
    """Give back what is free and start the high-water mark anew (Linux; elsewhere the mark is that
    of the whole process)."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _resident(field: str) -> float:
    with contextlib.suppress(OSError):
        found = re.search(rf"{field}:\s+(\d+) kB", Path("/proc/self/status").read_text())
        if found:
            return int(found[1]) / 1024.0
    unit = 1024.0**2 if sys.platform == "darwin" else 1024.0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def _child(
    channel: Connection,
    setup: Setup,
    spec: Mapping[str, Any],
    known: dict[str, Result],
) -> None:
    name = "setup"
    try:
        parts = setup(spec)
        channel.send(("ready", list(parts), {}))
        for name, part in parts.items():
            if name in known:
                continue
            channel.send(("begin", name, {}))
            known[name] = part(known)
            channel.send(("end", name, known[name]))
        channel.send(("done", "", {}))
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        channel.send(("error", name, {"error": text, "traceback": traceback.format_exc()}))


# ---------------------------------------------------------------------- in the parent


@attrs.define
class Kept:
    """Results by what was measured, in a file with a line for each; none without a file."""

    file: Path | None = None
    found: dict[str, Any] = attrs.field(factory=dict)

    def open(self, file: Path) -> None:
        self.file = file
        if file.exists():
            # The last line of a run that was killed may be cut off.
            for line in file.read_text().splitlines():
                with contextlib.suppress(ValueError):
                    key, result = json.loads(line)
                    self.found[key] = result

    def find(self, key: Any) -> Any:
        return self.found.get(json.dumps(plain(key), sort_keys=True))

    def add(self, key: Any, result: Any) -> None:
        if self.file is not None:
            with self.file.open("a") as stream:
                line = json.dumps([json.dumps(plain(key), sort_keys=True), plain(result)])
                stream.write(line + "\n")


KEPT = Kept()


def measure(setup: Setup, spec: Mapping[str, Any], *, limit: float) -> dict[str, Result]:
    """Run the parts that ``setup(spec)`` names, in a child process, each within `limit` seconds.

    Each part gets the results of those before it and returns a dict, with "seconds" if it was
    timed.  A part over the limit gives ``{"over": limit}``, one that raised ``{"error": text}``;
    the others go on in a new child.  There is a part "setup" only if that failed.
    """
    for name in THREADS:
        os.environ[name] = "1"
    key = [setup.__name__, {k: v for k, v in spec.items() if k != "folder"}, limit]
    found = KEPT.find(key)
    if found is not None:
        return found
    known: dict[str, Result] = {}
    parts: Sequence[str] | None = None
    while parts is None or not all(name in known for name in parts):
        parts = _measure_once(setup, spec, limit, known, parts)
    KEPT.add(key, known)
    return known


def _processor_seconds(pid: int) -> float | None:
    """What a process has spent (Linux; None elsewhere)."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        # Behind the name, which may hold anything, in parentheses.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return None


def answers(receiver: Connection, pid: int, patience: float) -> bool:
    """Whether the child answers before it has spent `patience` seconds of the processor.

    On a busy machine these are more than those of the clock; a child that waits for something else
    than the processor is given up after `WAITING` times as long.
    """
    begun, spent = time.monotonic(), _processor_seconds(pid)
    if spent is None:
        return receiver.poll(patience)
    while not receiver.poll(min(1.0, patience)):
        now = _processor_seconds(pid)
        waited = time.monotonic() - begun
        if now is None or now - spent > patience or waited > WAITING * patience:
            return receiver.poll(0.0)
    return True


def _measure_once(
    setup: Setup,
    spec: Mapping[str, Any],
    limit: float,
    known: dict[str, Result],
    parts: Sequence[str] | None,
) -> Sequence[str]:
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_child, args=(sender, setup, spec, dict(known)))
    child.start()
    sender.close()
    now, patience = "setup", SETUP_LIMIT
    try:
        while True:
            if not answers(receiver, child.pid or 0, patience):
                known[now] = {"over": patience}
                break
            what, name, result = receiver.recv()
            if what == "ready":
                parts, patience = name, limit
            elif what == "begin":
                now = name
            elif what == "end":
                known[name] = result
            else:
                if what == "error":
                    known[name] = result
                break
    except EOFError:
        child.join()
        known[now] = {"error": f"the process ended with code {child.exitcode}"}
    finally:
        child.kill()
        child.join()
        receiver.close()
    # A setup that failed leaves nothing to run.
    return [] if "setup" in known else parts or []


def print_trouble(results: Mapping[str, Result]) -> None:
    """What failed, and what exceeded its limit without having a column that shows it."""
    for name, result in results.items():
        if "error" in result:
            print(f"  {name} failed: {result['error']}", flush=True)
        elif "over" in result and name in ("setup", "threshold", "certificate"):
            print(f"  {name} took longer than {result['over']:g} s", flush=True)


# ---------------------------------------------------------------------- printing


def number(value: float) -> str:
    """Three significant digits, no exponent where it can be helped."""
    if not math.isfinite(value):
        return str(value)
    if value == 0.0 or 1e-3 <= abs(value) < 1e6:
        digits = 3 - 1 - math.floor(math.log10(abs(value))) if value else 0
        return f"{value:.{min(max(digits, 0), 5)}f}"
    return f"{value:.1e}"


def cell(value: Any) -> str:
    """A value as a table shows it; "-" where there is none."""
    if value is None:
        return "-"
    return number(value) if isinstance(value, float) else str(value)


@attrs.frozen
class Table:
    """Columns (key, head, width); the first `left` of them are flush left."""

    columns: tuple[tuple[str, str, int], ...]
    left: int = 1

    def head(self) -> None:
        self._line({key: head for key, head, _ in self.columns})

    def row(self, values: Mapping[str, Any]) -> None:
        self._line({key: cell(values.get(key)) for key, _, _ in self.columns})

    def _line(self, texts: Mapping[str, str]) -> None:
        cells = []
        for place, (key, _, width) in enumerate(self.columns):
            text = texts[key]
            cells.append(text.ljust(width) if place < self.left else text.rjust(width))
        print(" ".join(cells).rstrip(), flush=True)


@attrs.define
class Targets:
    """What was promised, and every case that misses it."""

    lines: list[str] = attrs.field(factory=list)
    missed: list[str] = attrs.field(factory=list)
    # As `write_json` takes them.
    content: list[dict[str, Any]] = attrs.field(factory=list)

    def check(self, promise: str, cases: Iterable[tuple[str, Any, bool | None]]) -> None:
        """`cases` are (where, value, kept); kept is None where a limit or a failure leaves it
        open."""
        cases = list(cases)
        kept = sum(1 for case in cases if case[2])
        self.lines.append(f"{promise}: {kept} of {len(cases)}" + ("" if cases else " (not run)"))
        misses = []
        for where, value, fine in cases:
            if not fine:
                unknown = "not measured" if value is None else "undecided"
                word = unknown if fine is None else "MISSED"
                self.missed.append(f"{word}: {promise}: {where}: {cell(value)}")
                misses.append({"word": word.lower(), "where": where, "value": cell(value)})
        about = {"target": promise, "kept": kept, "cases": len(cases), "misses": misses}
        self.content.append(about)

    def check_certified(
        self, cases: Iterable[tuple[str, float | None]], promise: str | None = None
    ) -> None:
        """`cases` are (where, the largest residual of a certificate)."""
        self.check(
            promise or f"certificate <= {CERTIFIED:g}, every row",
            [
                (where, worst, None if worst is None else worst <= CERTIFIED)
                for where, worst in cases
            ],
        )

    def print(self) -> None:
        """The promises with how many cases keep them, then every case that does not."""
        print("\ntargets (cases that keep each)")
        for line in self.lines:
            print(f"  {line}")
        for line in self.missed or ["nothing missed"]:
            print(f"  {line}")


# ---------------------------------------------------------------------- machine, files, options


def machine() -> dict[str, Any]:
    """Processor, cores and versions; nothing that names the machine."""
    model = platform.processor() or platform.machine()
    with contextlib.suppress(OSError):
        found = re.search(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text())
        model = found[1] if found else model
    versions = {"python": platform.python_version()}
    for package in PACKAGES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            versions[package] = metadata.version(package)
    return {
        "cpu": model,
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "versions": versions,
    }


RULES = f"after a warm-up, a process for each row; median of 3 below {SHORT:g} s"


def print_machine(rules: str = RULES) -> None:
    """One line for the machine, one for the versions, one for the rules."""
    about = machine()
    versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    print(f"{about['cpu']}, {about['cores']} cores, {about['system']}")
    print(versions)
    print(f"processor time of one thread (BLAS and numba limited to 1), {rules}")


def plain(value: Any) -> Any:
    """`value` as JSON can hold it: amounts as numbers, or as text where they are bounds."""
    if isinstance(value, Amount):
        return f"{value.mark}{value.value:g}" if value.mark else plain(value.value)
    if isinstance(value, Mapping):
        return {str(key): plain(v) for key, v in value.items() if key != "traceback"}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def read_rows(files: Iterable[Path], amounts: Iterable[str]) -> list[dict[str, Any]]:
    """The rows that `write_json` wrote, with the columns `amounts` as amounts again."""
    rows = [row for file in files for row in json.loads(file.read_text())["rows"]]
    for row in rows:
        for name in amounts:
            value = row.get(name)
            if isinstance(value, str):
                row[name] = Amount(float(value[1:]), value[0])
            elif value is not None:
                row[name] = Amount(float(value))
    return rows


@cache
def commit() -> str | None:
    """The commit of this checkout, with "+" if what is measured has been changed since."""

    def git(*words: str) -> str:
        done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    with contextlib.suppress(OSError, subprocess.CalledProcessError):
        changed = git("status", "--porcelain", "--", *MEASURED, "benchmarks/*.py")
        return git("rev-parse", "--short=10", "HEAD") + ("+" if changed else "")
    return None


def command() -> str:
    """The command line of this run, without the names of folders and of files that it writes."""
    words = iter(sys.argv[1:])
    shown = ["python", f"benchmarks/{Path(sys.argv[0]).name}"]
    for word in words:
        if word in ("--json", "--kept", "--results", "--rows-file"):
            next(words, None)
        elif word in ("--data", "--out", "--cache"):
            next(words, None)
            shown += [word, "DIR" if word == "--data" else "OUT"]
        else:
            shown.append(word)
    return " ".join(shown)


def this_run() -> dict[str, Any]:
    """What was run, when, and how busy the machine was: the mean number of processes that ran in
    the last quarter of an hour, ours included."""
    load = os.getloadavg()[2] if hasattr(os, "getloadavg") else None
    return {
        "commit": commit(),
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "command": command(),
        "quick": "--quick" in sys.argv[1:],
        "load": None if load is None else round(load, 1),
    }


def write_json(file: Path | None, **content: Any) -> None:
    """Write `content`, the machine and what was run; called after every row, so that a broken run
    leaves its rows."""
    if file is not None:
        about = {"machine": machine(), "run": this_run()}
        scratch = file.with_suffix(".part")
        scratch.write_text(json.dumps({**about, **plain(content)}, indent=1) + "\n")
        scratch.replace(file)


def parser(
    description: str | None, *, limit: float | None = None, quick_limit: float | None = None
) -> argparse.ArgumentParser:
    """The options all benchmarks have; --limit and --kept where each row has a process."""
    options = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--quick", action="store_true", help="few and small problems")
    options.add_argument("--json", type=Path, metavar="FILE", help="write all rows to FILE")
    options.set_defaults(limits=(limit, quick_limit), limit=None, kept=None)
    if limit is not None:
        options.add_argument(
            "--limit",
            type=float,
            metavar="SECONDS",
            help=f"for each part of a row (default {limit:g}, with --quick {quick_limit:g})",
        )
        options.add_argument(
            "--kept", type=Path, metavar="FILE", help="keep every row there, and go on from there"
        )
    return options


def parse(options: argparse.ArgumentParser) -> argparse.Namespace:
    """Parse the command line, settle the limit and read what is kept."""
    chosen = options.parse_args()
    if chosen.kept is not None:
        KEPT.open(chosen.kept)
    if chosen.limits[0] is None:
        return chosen
    if chosen.limit is None:
        chosen.limit = chosen.limits[chosen.quick]
    least = (3 + 2 * PAIRS) * SHORT
    if chosen.limit < least:
        options.error(f"--limit must leave room for repeated short runs: {least:g} s or more")
    return chosen
