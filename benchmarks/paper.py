"""The tables and figures of the paper, ours beside the printed ones.

    python benchmarks/paper.py --data DIR --table rbf-svc [--protocol likely] --out OUT [--jobs 2]
    python benchmarks/paper.py --data DIR --table linear-svc --sets SVMGuide1 musk --out OUT
    python benchmarks/paper.py --data DIR --figure time path loss --out OUT
    python benchmarks/paper.py --data DIR --objective --out OUT

Suzumura, Ogawa, Sugiyama, Karasuyama and Takeuchi, *Homotopy Continuation Approaches for Robust SV
Classification and Regression* (2015), section 5.  Rows are split into 40 % to train on, 30 % to
choose by and 30 % to test on; 15 % of the labels of the first two are flipped (classification), or
5 % of their rows get U(-2, 2) on every input and N(0, 10^2) on the target (regression).  C is one
of 0.01, 0.1, 1, 10, 100, gamma = 1/d, and the parameter of the loss is chosen with it where the
error on the validation rows is least:

    C-SVM         the plain machine
    CCCP-theta    theta = 1, 0.75, 0.5, 0.25, 0, each from the one before (s = 0 for classification)
    OP-theta      every break-point of the theta-path
    CCCP-s        five values of s, from the worst response to 0 (regression: to 0.2 of it)
    OP-s          every break-point of the s-path
    exact-*       beyond the paper: wherever on the path the exact validation curve is least

The first of equal candidates is taken, C ascending, then in the order of travel.  Every path is
certified.  `--protocol printed` reads the text to the letter: inputs of classification as they are
published, no intercept, s = 1 on the theta-path of regression (the value that its picture of the
loss shows; none is printed for the tables).  `--protocol likely` departs from it where the printed
errors say that something else was done: inputs of classification scaled to [-1, 1], for the linear
kernel a column of ones, and 10 % of the rows to train on in regression.  `--scaling`, `--constant`,
`--threshold`, `--outliers` and `--training` change one thing at a time.

Every finished split is kept in OUT, and a run that was stopped goes on from there.  OUT/paper.json
holds all splits that are in OUT, whichever run they came from, and OUT/paper.md their tables.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import _one_thread  # noqa: F401
import attrs
from _data import read
from _measure import machine, plain, print_machine, this_run
from _paper import (
    CLASSIFICATION,
    PROTOCOLS,
    REGRESSION,
    TABLES,
    Protocol,
    run_split,
)
from _paper_report import page
from tqdm import tqdm

SPLITS = 10
# Sets with more rows than this get fewer splits unless told otherwise.
LARGE, SPLITS_OF_LARGE = 5000, 3
QUICK = ("BreastCancerDiagnostic", "AustralianCredit", "mpg")
QUICK_SPLITS = 2
ALL_SETS = (*CLASSIFICATION, *REGRESSION)

Job = tuple[str, str, int]


# ---------------------------------------------------------------------- running


def label(name: str, protocol: Protocol) -> str:
    """The folder of a protocol: its name, and what is changed in it."""
    changed = attrs.asdict(protocol).items() - attrs.asdict(PROTOCOLS[name]).items()
    return "-".join([name, *(f"{what}={value}" for what, value in sorted(changed))])


def jobs(options: argparse.Namespace) -> list[Job]:
    """(table, set, split), the small sets first."""
    wanted: list[tuple[int, Job]] = []
    for table in options.table:
        for name in TABLES[table][1]:
            if options.sets and name not in options.sets:
                continue
            if not (options.data / f"{name}.npz").exists():
                print(f"{name}: no file {name}.npz in {options.data}; left out", file=sys.stderr)
                continue
            rows = read(str(options.data), name)[1].size
            splits = options.splits or (SPLITS if rows <= LARGE else SPLITS_OF_LARGE)
            wanted += [(rows, (table, name, seed)) for seed in range(splits)]
    return [job for _, job in sorted(wanted, key=lambda pair: pair[0])]


def file_of(folder: Path, job: Job) -> Path:
    table, name, seed = job
    return folder / table / f"{name}-{seed}.json"


def run(options: argparse.Namespace, protocol: Protocol) -> list[str]:
    """Run what is not there yet; return what went wrong."""
    folder = options.out / "splits" / label(options.protocol, protocol)
    wanted = jobs(options)
    missing = [job for job in wanted if not file_of(folder, job).exists()]
    print(f"{len(wanted)} splits, {len(wanted) - len(missing)} of them there already", flush=True)
    trouble: list[str] = []
    for job, result in _results(missing, options, protocol):
        if isinstance(result, Exception):
            trouble.append(f"{' '.join(map(str, job))}: {type(result).__name__}: {result}")
            tqdm.write(trouble[-1], file=sys.stderr)
            continue
        keep(file_of(folder, job), {**result, "protocol": label(options.protocol, protocol)})
    return trouble


def _results(
    missing: list[Job], options: argparse.Namespace, protocol: Protocol
) -> Iterator[tuple[Job, Any]]:
    """Finished jobs as they come, with a bar; those not begun are dropped on Ctrl-C."""
    if not missing:
        return
    with (
        ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn")) as pool,
        tqdm(total=len(missing), unit="split", disable=None) as bar,
    ):
        running = {
            pool.submit(run_split, str(options.data), name, seed, table, protocol): (
                table,
                name,
                seed,
            )
            for table, name, seed in missing
        }
        try:
            for done in as_completed(running):
                job = running[done]
                bar.set_postfix_str(" ".join(map(str, job)))
                bar.update()
                yield job, done.exception() or done.result()
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def keep(file: Path, content: Mapping[str, Any]) -> None:
    """Write a file whole or not at all."""
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_suffix(".part")
    part.write_text(json.dumps(plain(content), indent=1) + "\n")
    part.replace(file)


# ---------------------------------------------------------------------- results


def collect(folder: Path) -> list[dict[str, Any]]:
    """Every split that is kept, in a fixed order."""
    files = sorted((folder / "splits").glob("*/*/*.json"))
    rows = [json.loads(file.read_text()) for file in files]
    keys = ("protocol", "table", "rows", "data", "split")
    return sorted(rows, key=lambda row: [row[key] for key in keys])


def report(out: Path) -> None:
    """Write OUT/paper.json, a split per line, and OUT/paper.md, and print the tables."""
    # The page is made of what is kept, so that the file alone gives the same page.
    rows = rounded(collect(out))
    if rows:
        lines = ",\n".join(json.dumps(row) for row in rows)
        about = f'"machine": {json.dumps(machine())},\n"run": {json.dumps(this_run())}'
        (out / "paper.json").write_text(f'{{{about},\n"rows": [\n{lines}\n]}}\n')
        text = "\n".join(page(rows))
        (out / "paper.md").write_text(text + "\n")
        print(text)


def rounded(value: Any) -> Any:
    """Numbers to seven digits: what is kept is for reading and for tables."""
    if isinstance(value, float):
        return float(f"{value:.7g}")
    if isinstance(value, dict):
        return {key: rounded(entry) for key, entry in value.items()}
    return [rounded(entry) for entry in value] if isinstance(value, list) else value


# ---------------------------------------------------------------------- options


def parse() -> argparse.Namespace:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--data", type=Path, required=True, help="the folder with NAME.npz")
    options.add_argument("--out", type=Path, required=True, help="where results are kept")
    options.add_argument("--table", nargs="+", choices=TABLES, default=[])
    options.add_argument("--figure", nargs="+", choices=("time", "path", "loss"), default=[])
    options.add_argument("--objective", action="store_true", help="better optima by walking")
    options.add_argument("--sets", nargs="+", choices=ALL_SETS, metavar="NAME", default=[])
    options.add_argument("--splits", type=int, help=f"{SPLITS}; {SPLITS_OF_LARGE} of large sets")
    options.add_argument("--jobs", type=int, default=1)
    options.add_argument("--quick", action="store_true", help="three small sets, two splits")
    options.add_argument("--protocol", choices=PROTOCOLS, default="likely")
    options.add_argument("--scaling", choices=("none", "range", "standard"))
    options.add_argument("--constant", action=argparse.BooleanOptionalAction)
    for name, meaning in (
        ("threshold", "s of the theta-path of regression"),
        ("outliers", "the contaminated fraction (regression)"),
        ("training", "the fraction of rows trained on (regression)"),
    ):
        options.add_argument(f"--{name}", type=float, help=meaning)
    chosen = options.parse_args()
    if not chosen.data.is_dir():
        options.error(f"--data: {chosen.data} is no folder")
    if not (chosen.table or chosen.figure or chosen.objective or chosen.quick):
        options.error("nothing to do: give --table, --figure or --objective")
    if chosen.quick:
        chosen.table = chosen.table or list(TABLES)
        chosen.sets = chosen.sets or list(QUICK)
        chosen.splits = chosen.splits or QUICK_SPLITS
    return chosen


def main() -> int:
    options = parse()
    options.out.mkdir(parents=True, exist_ok=True)
    print_machine("each split in one process")
    names = [field.name for field in attrs.fields(Protocol)]
    changed = {name: getattr(options, name) for name in names}
    changed = {name: value for name, value in changed.items() if value is not None}
    protocol = attrs.evolve(PROTOCOLS[options.protocol], **changed)
    trouble: list[str] = []
    if options.table:
        trouble += run(options, protocol)
        report(options.out)
    if options.figure:
        from _paper_figures import draw

        for which in options.figure:
            print(f"figure: {draw(which, options.data, options.out, quick=options.quick)}")
    if options.objective:
        from _paper_objective import compare

        trouble += compare(options)
    for line in trouble:
        print(f"failed: {line}", file=sys.stderr)
    return 1 if trouble else 0


if __name__ == "__main__":
    sys.exit(main())
