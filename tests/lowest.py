"""Constraints that pin every dependency to the lowest version `pyproject.toml` declares.

    python tests/lowest.py > constraints.txt
    python -m pip install --constraint constraints.txt --editable ".[test]"

What is declared for users (the dependencies and the extras that add features) counts; where only
the tests need a package, what they declare.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

# Dependencies of dependencies that have moved on since: matplotlib 3.8 calls what pyparsing 3.3
# deprecates, typer 0.16 what click 8.3 does, and warnings are errors here.
ALONGSIDE = ("pyparsing<3.3", "click<8.3")
FEATURES = ("sklearn", "dask", "progress", "plot", "cli", "parquet", "excel")
_DECLARED = re.compile(r"(?P<name>[A-Za-z0-9._-]+)(?:\[[^\]]*\])?>=(?P<version>[0-9.]+)")


def lowest(project: dict) -> dict[str, str]:
    """The lowest version of each package, by name."""
    extras = project["optional-dependencies"]
    declared = [project["dependencies"], *(extras[name] for name in FEATURES), extras["test"]]
    found: dict[str, str] = {}
    for requirement in (r for group in declared for r in group):
        match = _DECLARED.fullmatch(requirement)
        if match is None:
            raise SystemExit(f"{requirement!r} has no lowest version; write name>=version")
        found.setdefault(match["name"], match["version"])
    return found


if __name__ == "__main__":
    text = (Path(__file__).parent.parent / "pyproject.toml").read_text()
    for name, version in lowest(tomllib.loads(text)["project"]).items():
        sys.stdout.write(f"{name}=={version}\n")
    for requirement in ALONGSIDE:
        sys.stdout.write(f"{requirement}\n")
