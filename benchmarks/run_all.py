"""Every benchmark at the size that is printed, one after the other, and the tables made of them.

    python benchmarks/run_all.py --data DIR             run what is out of date, cheapest first
    python benchmarks/run_all.py --data DIR --quick     the same with few and small problems
    python benchmarks/run_all.py --list                 what there is, and how old

A result is up to date if no code that it measures has changed since its commit: homotopy/, plugins/
(most leave out the command line and the audit) and its script, comments and docstrings apart.  Then
it is not measured again (unless with --again).  Everything takes hours.  A run that is stopped goes
on where it was: finished benchmarks are kept, and so are the rows of those that keep them (OUT,
out/numbers unless told otherwise).  A quick run does not replace the result of a full one (unless
with --again).

What is finished goes into benchmarks/results/, and docs/results.py writes the tables of all pages.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
from _measure import MEASURED, ROOT

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
# Modules beside the scripts that decide what is measured; the others print or draw.
SHARED = ("_measure.py", "_data.py", "_one_thread.py")


@attrs.frozen
class Benchmark:
    """A script and its options; minutes as measured on two cores, to put the cheap ones first."""

    name: str
    minutes: float
    data: bool = True
    full: tuple[str, ...] = ()
    quick: tuple[str, ...] = ("--quick",)
    script: str = ""
    # How the script goes on after an interruption: with rows kept apart (--kept), with its own
    # result file (--results), with a folder (--out), or from the beginning.
    resumes: str = ""
    # Rooms of the plugins that it does not measure; the command line is measured by none.
    ignores: tuple[str, ...] = ("cli", "auditing", "tables")

    @property
    def file(self) -> Path:
        return RESULTS / f"{self.name}.json"

    @property
    def source(self) -> Path:
        return HERE / f"{self.script or self.name}.py"

    def command(self, data: Path | None, out: Path, quick: bool) -> list[str]:
        """The command line, as it is run; `out` is the folder of this run."""
        words = [sys.executable, str(self.source)]
        if self.data:
            words += ["--data", str(data)]
        words += self.quick if quick else self.full
        if self.resumes == "--out":
            return [*words, "--out", str(out / "paper")]
        if self.resumes == "--results":
            return [*words, "--results", str(out / self.file.name)]
        kept = ["--kept", str(out / f"{self.name}.kept")] if self.resumes else []
        return [*words, "--json", str(out / self.file.name), *kept]


PAPER = ("paper.json", "paper.md", "objective.json", "objective.md", "time.json", "time.png")
PICTURES = ("path.png", "loss.png")
TABLES = ("linear-svc", "rbf-svc", "linear-svr", "rbf-svr")
BENCHMARKS = (
    Benchmark("parametric_qp", 1),
    Benchmark("l1_paths", 2, data=False),
    Benchmark("ramps", 1, data=False),
    Benchmark("forks", 1),
    Benchmark("selection", 2),
    Benchmark("svm_paths", 4, data=False, resumes="--kept"),
    Benchmark("exact", 2, data=False, resumes="--kept"),
    Benchmark("cliff", 4, resumes="--kept"),
    Benchmark("pieces", 6, data=False, resumes="--kept"),
    Benchmark("parts", 6, data=False, resumes="--kept"),
    Benchmark("compile", 5, data=False),
    Benchmark("penalties", 6, data=False),
    Benchmark("conformal", 6),
    Benchmark("nystroem", 10, resumes="--kept"),
    Benchmark("scaling", 12, data=False, resumes="--kept"),
    Benchmark("everyday", 15, full=("--jobs", "1"), resumes="--kept",
              quick=("--quick", "--jobs", "1")),
    Benchmark("choices", 25, resumes="--kept"),
    Benchmark("speed", 45, full=("--no-cccp",), resumes="--kept",
              quick=("--quick", "--no-cccp")),
    Benchmark("speed_cccp", 90, script="speed", full=("--C", "1"), resumes="--kept"),
    Benchmark("audit", 300, resumes="--results", ignores=("cli",)),
    Benchmark("audit_fresh", 100, script="audit", resumes="--results", ignores=("cli",),
              full=("--first", "3", "--seeds", "1", "--only", "labels"),
              quick=("--quick", "--first", "3", "--only", "labels")),
    Benchmark("paper/paper", 900, script="paper", resumes="--out",
              full=("--table", *TABLES, "--figure", "time", "path", "loss", "--objective")),
)  # fmt: skip


# ---------------------------------------------------------------------- what is up to date


def content(file: Path) -> dict[str, Any]:
    """What a result file says of itself: "run" and "machine"."""
    try:
        found = json.loads(file.read_text())
    except (OSError, ValueError):
        return {}
    return {name: found.get(name, {}) for name in ("run", "machine")}


def is_current(benchmark: Benchmark, commit: str | None) -> bool:
    """Whether no code that is measured has changed since `commit`; comments and docstrings may."""
    if commit is None or commit.endswith("+"):
        return False
    watched = [*MEASURED, str(benchmark.source), *(str(HERE / name) for name in SHARED)]
    watched += [str(file) for file in HERE.glob(f"_{benchmark.source.stem}*.py")]
    watched += [f":(exclude)plugins/homotopy_plugins/{room}" for room in benchmark.ignores]
    done = git("diff", "--name-only", "--no-renames", "--relative", commit, "--", *watched)
    return done is not None and all(same_code(name, commit) for name in done.splitlines())


def same_code(name: str, commit: str) -> bool:
    """Whether a file says the same to Python as it did at `commit`."""
    then, now = git("show", f"{commit}:./{name}"), ROOT / name
    if then is None or not now.exists() or now.suffix != ".py":
        return False
    return code(then) == code(now.read_text())


def code(source: str) -> str:
    """The syntax tree of a module without its docstrings."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        documented = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        if documented and ast.get_docstring(node):
            node.body = node.body[1:]
    return ast.dump(tree)


def git(*words: str) -> str | None:
    """What git answers, or None if it refuses."""
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else None


def state(benchmark: Benchmark, quick: bool) -> str:
    """ "" if it has to be run, else why not."""
    run = content(benchmark.file).get("run", {})
    if not run:
        return ""
    if quick and not run.get("quick"):
        return f"full result of commit {run.get('commit')} is kept"
    if not quick and run.get("quick"):
        return ""
    if not run.get("transcribed") and is_current(benchmark, run.get("commit")):
        return f"up to date since commit {run['commit']}"
    return ""


# ---------------------------------------------------------------------- running


def run(benchmark: Benchmark, data: Path | None, out: Path, quick: bool) -> bool:
    """Run one benchmark to its end and put its result in place; False if it failed."""
    folder = out / ("quick" if quick else "full")
    folder.mkdir(parents=True, exist_ok=True)
    forget_old(benchmark, folder)
    command = benchmark.command(data, folder, quick)
    began = time.monotonic()
    print(f"\n== {benchmark.name} (about {benchmark.minutes:g} min in full)", flush=True)
    done = subprocess.run(command, cwd=ROOT, env=os.environ)
    print(f"== {benchmark.name}: {(time.monotonic() - began) / 60:.1f} min", flush=True)
    if done.returncode != 0:
        print(f"== {benchmark.name} ended with code {done.returncode}; its result is not used",
              file=sys.stderr, flush=True)  # fmt: skip
        return False
    for made, place in products(benchmark, folder):
        place.parent.mkdir(exist_ok=True)
        shutil.move(made, place)
    (folder / f"{benchmark.name}.kept").unlink(missing_ok=True)
    return True


def products(benchmark: Benchmark, folder: Path) -> Iterator[tuple[Path, Path]]:
    """What a finished run leaves, and where it belongs."""
    if benchmark.resumes == "--out":
        for name in (*PAPER, *PICTURES):
            if (folder / "paper" / name).exists():
                yield folder / "paper" / name, RESULTS / "paper" / name
        return
    yield folder / benchmark.file.name, benchmark.file


def forget_old(benchmark: Benchmark, folder: Path) -> None:
    """Rows that were kept by another version of what is measured are not mixed with new ones."""
    stamp = folder / f"{benchmark.name.replace('/', '-')}.commit"
    kept = {
        "--kept": folder / f"{benchmark.name}.kept",
        "--results": folder / benchmark.file.name,
        "--out": folder / "paper",
    }.get(benchmark.resumes)
    head = (git("rev-parse", "--short=10", "HEAD") or "").strip()
    if kept is not None and kept.exists():
        known = stamp.read_text().strip() if stamp.exists() else None
        if is_current(benchmark, known):
            print(f"{benchmark.name}: going on with what commit {known} has measured")
            return
        print(f"{benchmark.name}: what was kept is of another version ({known}); begun anew")
        shutil.rmtree(kept) if kept.is_dir() else kept.unlink()
    stamp.write_text(head + "\n")


# ---------------------------------------------------------------------- options


def show() -> None:
    """One line a benchmark: how old its result is."""
    for benchmark in BENCHMARKS:
        about = content(benchmark.file)
        run_ = about.get("run", {})
        told = "not measured"
        if about:
            told = f"commit {run_.get('commit')}, {run_.get('date')}"
            told += ", quick" if run_.get("quick") else ""
            told += ", transcribed" if run_.get("transcribed") else ""
            told += "" if is_current(benchmark, run_.get("commit")) else ", out of date"
        print(f"{benchmark.name:16} {benchmark.minutes:5g} min   {told}")


def main() -> int:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [benchmark.name for benchmark in BENCHMARKS]
    options.add_argument("--data", type=Path, help="folder of NAME.npz (benchmarks/README.md)")
    options.add_argument("--quick", action="store_true", help="few and small problems")
    options.add_argument("--only", nargs="+", choices=names, metavar="NAME", help=", ".join(names))
    options.add_argument("--again", action="store_true", help="also what is up to date")
    options.add_argument("--out", type=Path, default=ROOT / "out" / "numbers", help="scratch")
    options.add_argument("--list", action="store_true", help="what there is, and how old")
    chosen = options.parse_args()
    if chosen.list:
        show()
        return 0
    if chosen.data is None or not chosen.data.is_dir():
        options.error(f"--data: {chosen.data} is not a folder")
    failed = []
    for benchmark in BENCHMARKS:
        if chosen.only and benchmark.name not in chosen.only:
            continue
        why = "" if chosen.again else state(benchmark, chosen.quick)
        if why:
            print(f"{benchmark.name}: {why}")
        elif not run(benchmark, chosen.data.resolve(), chosen.out, chosen.quick):
            failed.append(benchmark.name)
    rendered = subprocess.run([sys.executable, str(ROOT / "docs" / "results.py"), "--write"])
    if failed:
        print(f"failed: {', '.join(failed)}; their old results stay", file=sys.stderr)
    return 1 if failed else rendered.returncode


if __name__ == "__main__":
    sys.exit(main())
