"""Run the Python examples of README and docs and compare what they print with what is shown.

A fenced block marked `python` is run; a block marked `text` directly after it is its output.
The blocks of one file share their names, like cells of a notebook.  A block marked `sh` is run
where its output is shown, if every line of it is a command of ours (`homotopy ...`); stdout counts.

    python docs/snippets.py            compare; exit code 1 where a page shows something else
    python docs/snippets.py --write    write the output of this run into the pages
    python docs/snippets.py README.md  only these pages
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(
    r"^```(?P<kind>python|sh)\n(?P<code>.*?)^```\n(?:\n*^```text\n(?P<shown>.*?)^```\n)?",
    re.M | re.S,
)
NUMBER = re.compile(r"[-+]?\d+\.?\d*(?:e[-+]?\d+)?")
# Below this a number is rounding; it and the place where it was found differ between machines.
ROUNDING = 1e-9
AGREE = 1e-3


def run(code: str, names: dict[str, object]) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "<example>", "exec"), names)
    return printed.getvalue()


def run_commands(lines: list[str]) -> str:
    """What commands of ours print, one after the other."""
    printed = ""
    for line in lines:
        command = [sys.executable, "-m", "homotopy_plugins.cli", *shlex.split(line)[1:]]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{line}: {done.stderr}")
        printed += done.stdout
    return printed


def same(shown: str, printed: str) -> bool:
    left, right = shown.rstrip().splitlines(), printed.rstrip().splitlines()
    return len(left) == len(right) and all(map(same_line, left, right))


def same_line(shown: str, printed: str) -> bool:
    # How much work a trace took is no claim about its result.
    left, right = shown.split("steps")[0], printed.split("steps")[0]
    a, b = NUMBER.findall(left), NUMBER.findall(right)
    for x, y in zip(a, b, strict=False):
        size = max(abs(float(x)), abs(float(y)))
        if size < ROUNDING and ("e" in x or "e" in y):
            return True
        if abs(float(x) - float(y)) > AGREE * size:
            return False
    words = [" ".join(NUMBER.sub("#", line).split()) for line in (left, right)]
    return len(a) == len(b) and words[0] == words[1]


def check(page: Path, write: bool) -> list[str]:
    """Run one page; return a message for every block that shows something else."""
    text, names, wrong, pieces, end = page.read_text(), {"__name__": page.stem}, [], [], 0
    for block in BLOCK.finditer(text):
        line = text.count("\n", 0, block.start()) + 1
        commands = block["code"].splitlines() if block["kind"] == "sh" else []
        if commands and (
            block["shown"] is None or not all(c.startswith("homotopy ") for c in commands)
        ):
            continue
        try:
            printed = run_commands(commands) if commands else run(block["code"], names)
        except Exception as error:
            wrong.append(f"{page.name}:{line}: {type(error).__name__}: {error}")
            continue
        shown = block["shown"] or ""
        if not same(shown, printed):
            wrong.append(f"{page.name}:{line}: shown\n{shown}\nprinted\n{printed}")
        if write and block["shown"] is not None:
            pieces += [text[end : block.start("shown")], printed.rstrip() + "\n"]
            end = block.end("shown")
    if write and pieces:
        page.write_text("".join(pieces) + text[end:])
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("pages", nargs="*", type=Path, help="all pages unless some are named")
    parser.add_argument("--write", action="store_true", help="write what is printed into the pages")
    asked = parser.parse_args()
    pages = [page.resolve(strict=True) for page in asked.pages] or PAGES
    os.environ.setdefault("MPLBACKEND", "Agg")
    wrong = []
    with tempfile.TemporaryDirectory() as scratch, contextlib.chdir(scratch):
        for page in pages:
            wrong += check(page, asked.write)
    some = "1 page shows" if len(pages) == 1 else f"{len(pages)} pages show"
    print("\n\n".join(wrong) or f"{some} what the examples print")
    return 1 if wrong and not asked.write else 0


if __name__ == "__main__":
    sys.exit(main())
