"""House rules that can be counted: short files and functions, few arguments, small records."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path as FilePath

import numpy as np
import pytest

from homotopy.path.certificate.tolerances import CertificateTolerances, settings
from homotopy.tracker import state

ENGINE = FilePath(__file__).parents[2] / "homotopy"
FILES = sorted(ENGINE.rglob("*.py"))
FILE, FUNCTION, ARGUMENTS, FIELDS = 500, 60, 8, 30

# What is larger today, with its size.  None of them may grow, and one that has shrunk below the
# limit goes: this list only gets shorter.
LONG_FILES: dict[str, int] = {}
LONG_FUNCTIONS: dict[str, int] = {}
MANY_ARGUMENTS: dict[str, int] = {}

# Numbers that need no name: they are exact, or count.
PLAIN = {0.0, 0.1, 0.25, 0.4, 0.5, 0.9, 1.0, 1.6}


def name_of(file: FilePath) -> str:
    return file.relative_to(ENGINE).as_posix()


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def arguments(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    given = function.args
    names = [one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    return [name for name in names if name not in ("self", "cls")]


def larger(found: Iterable[tuple[str, int]], limit: int) -> dict[str, int]:
    """Those above the limit; of several with one name the largest."""
    return {name: size for name, size in sorted(found, key=lambda one: one[1]) if size > limit}


def compare(found: dict[str, int], known: dict[str, int]) -> None:
    """Nothing new is too large, nothing known has grown, and nothing is listed in vain."""
    assert set(found) == set(known)
    assert all(found[name] <= known[name] for name in found)


def test_files_fit_on_a_few_screens():
    sizes = [(name_of(file), len(file.read_text().splitlines())) for file in FILES]
    compare(larger(sizes, FILE), LONG_FILES)


def test_functions_fit_on_a_screen():
    sizes = [
        (f"{name_of(file)}:{function.name}", (function.end_lineno or 0) - function.lineno + 1)
        for file in FILES
        for function in functions(ast.parse(file.read_text()))
    ]
    compare(larger(sizes, FUNCTION), LONG_FUNCTIONS)


def test_functions_take_few_arguments():
    counts = [
        (f"{name_of(file)}:{function.name}", len(arguments(function)))
        for file in FILES
        for function in functions(ast.parse(file.read_text()))
    ]
    compare(larger(counts, ARGUMENTS), MANY_ARGUMENTS)


def test_records_are_small():
    classes = [
        (f"{name_of(file)}:{node.name}", sum(isinstance(line, ast.AnnAssign) for line in node.body))
        for file in FILES
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.ClassDef)
    ]
    dtypes = {name: kind for name, kind in vars(state).items() if isinstance(kind, np.dtype)}
    dtypes["settings"] = settings(CertificateTolerances(), "", slack=0.0).dtype
    assert len(dtypes) > 5
    records = [(name, len(kind.names or ())) for name, kind in dtypes.items()]
    assert not larger(classes + records, FIELDS)


def constants(line: ast.stmt) -> Iterator[tuple[str, str]]:
    """The constants that a line defines, with their values as they are written."""
    if not isinstance(line, ast.Assign):
        return
    target, value = line.targets[0], line.value
    names = target.elts if isinstance(target, ast.Tuple) else [target]
    for k, name in enumerate(map(ast.unparse, names)):
        one = value.elts[k] if isinstance(value, ast.Tuple) and len(names) > 1 else value
        if name.isupper() and not name.startswith("_"):
            yield name, ast.unparse(one) if one is not value or len(names) == 1 else f"{k}"


def test_one_name_has_one_meaning():
    """A constant that several modules define has one value."""
    values: dict[str, set[str]] = {}
    for file in FILES:
        for line in ast.parse(file.read_text()).body:
            for name, value in constants(line):
                values.setdefault(name, set()).add(value)
    several = {name for name, found in values.items() if len(found) > 1}
    assert not several


@pytest.mark.parametrize(
    "room", ["start", "path", "analysis", "model", "tracker", "tracing", "forking"]
)
def test_thresholds_have_names(room):
    """Where something is compared with or scaled by a small number, that number has a name."""
    bare = []
    for file in sorted((ENGINE / room).rglob("*.py")):
        tree = ast.parse(file.read_text())
        inside = {
            id(node)
            for function in functions(tree)
            for line in function.body
            for node in ast.walk(line)
        }
        for node in ast.walk(tree):
            small = isinstance(node, ast.Constant) and isinstance(node.value, float)
            if small and id(node) in inside and 0.0 < node.value < 2.0 and node.value not in PLAIN:
                bare.append(f"{name_of(file)}:{node.lineno} {node.value}")
    assert not bare
