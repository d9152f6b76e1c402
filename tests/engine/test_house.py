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

# Numbers that need no name: they are exact.
PLAIN = {0.0, 0.5, 1.0}
# What has none today: this only gets shorter.
NAMELESS: dict[str, set[float]] = {"start": {0.1, 0.4, 0.9, 1.6}}
# Rooms without thresholds: problems drawn at random, and the style of pictures.
UNMEASURED = ("testing", "plot")
ROOMS = sorted({file.relative_to(ENGINE).parts[0].removesuffix(".py") for file in FILES})
# Formats of files and of words for people are compared with numbers that are known elsewhere.
FORMATS = ("path/files.py", "path/storage.py", "progress.py", "model/affine.py")


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
        if name.isupper():
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


def inside(room: str, kind: type[ast.AST]) -> Iterator[tuple[FilePath, ast.AST]]:
    """The nodes of one kind in the bodies of the functions of a room."""
    for file in FILES:
        if file.relative_to(ENGINE).parts[0].removesuffix(".py") != room:
            continue
        lines = [line for one in functions(ast.parse(file.read_text())) for line in one.body]
        for node in {node for line in lines for node in ast.walk(line)}:
            if isinstance(node, kind):
                yield file, node


def numbers(node: ast.AST) -> Iterator[ast.Constant]:
    for part in ast.walk(node):
        plain = isinstance(part, ast.Constant) and not isinstance(part.value, bool)
        if plain and isinstance(part.value, int | float):
            yield part


@pytest.mark.parametrize("room", [room for room in ROOMS if room not in UNMEASURED])
def test_thresholds_have_names(room):
    """Where something is compared with or scaled by a small number, that number has a name."""
    allowed = PLAIN | NAMELESS.get(room, set())
    bare = {
        f"{name_of(file)}:{one.lineno} {one.value}"
        for file, node in inside(room, ast.Constant)
        for one in numbers(node)
        if isinstance(one.value, float) and 0.0 < one.value < 2.0 and one.value not in allowed
    }
    assert not bare


# The core asks for room in small numbers, and `zeros` solves quadratic equations.
@pytest.mark.parametrize(
    "room", [room for room in ROOMS if room not in (*UNMEASURED, "tracker", "forking")]
)
def test_limits_have_names(room):
    """Nor is anything compared with a large number that has no name."""
    bare = {
        f"{name_of(file)}:{one.lineno} {one.value}"
        for file, node in inside(room, ast.Compare)
        for one in numbers(node)
        if one.value > 4.0 and name_of(file) not in FORMATS
    }
    assert not bare


def test_what_still_holds_is_written_in_one_place():
    """The flags of `homotopy.tracker.validity` change through its functions only."""
    flags = {"solved", "rated", "ready", "fresh"}
    owners = {"system", "event"}
    writers = set()
    for file in FILES:
        for node in ast.walk(ast.parse(file.read_text())):
            stored = isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
            if stored and node.attr in flags and ast.unparse(node.value).split(".")[-1] in owners:
                writers.add(name_of(file))
    assert writers == {"tracker/validity.py"}
