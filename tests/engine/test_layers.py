"""The import graph: data flow one way, and every module says truly what it offers."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path as FilePath

import attrs
import pytest

ROOT = FilePath(__file__).parents[2]
ENGINE, PLUGINS = ROOT / "homotopy", ROOT / "plugins" / "homotopy_plugins"

# From the bottom up: a module imports from its own room and from rooms in rows above it here.
LAYERS = (
    ("arrays", "errors", "wording", "compilation"),
    ("progress", "gram"),
    ("model", "threads"),
    ("registry", "conditional", "diagnosis", "start", "path", "tracker"),
    ("analysis", "runtime", "descent", "checkpoint", "forking"),
    ("drawing",),
    ("plot", "report"),
    ("tracing",),
    ("engine",),
    ("sequence",),
    ("testing", "homotopy"),
)
LEVEL = {room: level for level, row in enumerate(LAYERS) for room in row}
# The methods of a path that rooms above it answer; imported when they are called.
UPWARDS = "homotopy.path.methods"


@attrs.frozen
class Import:
    """One name, or a whole module (`name` is None), that a module imports."""

    module: str
    name: str | None
    line: int
    # Inside a function; for a type checker only.
    deferred: bool
    typed: bool


def name_of(file: FilePath) -> str:
    folder = ENGINE.parent if file.is_relative_to(ENGINE) else PLUGINS.parent
    parts = file.relative_to(folder).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def modules(folder: FilePath) -> dict[str, ast.Module]:
    return {name_of(file): ast.parse(file.read_text()) for file in sorted(folder.rglob("*.py"))}


TREES = modules(ENGINE) | modules(PLUGINS)
OF_ENGINE = [name for name in TREES if name.split(".")[0] == "homotopy"]


def imports(tree: ast.AST, deferred: bool = False, typed: bool = False) -> Iterator[Import]:
    """What is imported, also what a type checker alone sees."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute here"
            for alias in node.names:
                yield Import(node.module or "", alias.name, node.lineno, deferred, typed)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(alias.name, None, node.lineno, deferred, typed)
        inside = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        checked = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        yield from imports(node, deferred or inside, typed or checked)


def room_of(module: str) -> str:
    return module.split(".")[1] if "." in module else module


def from_engine(name: str) -> list[tuple[str, Import]]:
    """The imports of a module from the engine, each with the module meant."""
    found = []
    for one in imports(TREES[name]):
        if one.module.split(".")[0] == "homotopy":
            inner = f"{one.module}.{one.name}"
            found.append((inner if inner in TREES else one.module, one))
    return found


def defined(tree: ast.Module) -> set[str]:
    """The names that a module has at its top level."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
    return names


def offered(tree: ast.Module) -> list[str]:
    """Its `__all__`, empty without one."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return list(ast.literal_eval(node.value))
    return []


def test_every_room_has_its_place():
    assert {room_of(name) for name in OF_ENGINE} == set(LEVEL)


@pytest.mark.parametrize("name", OF_ENGINE)
def test_imports_point_down(name):
    own = room_of(name)
    upwards = [
        f"{name}:{one.line} imports {module}"
        for module, one in from_engine(name)
        if room_of(module) != own and LEVEL[room_of(module)] >= LEVEL[own]
        if not ((one.deferred or one.typed) and name == UPWARDS)
    ]
    assert not upwards


@pytest.mark.parametrize("name", OF_ENGINE)
def test_nothing_is_imported_late_but_by_the_methods_of_a_path(name):
    late = [f"{name}:{one.line} imports {module}" for module, one in from_engine(name)
            if one.deferred]  # fmt: skip
    assert bool(late) == (name == UPWARDS), late


def test_the_engine_names_no_plugin():
    with (ROOT / "pyproject.toml").open("rb") as file:
        registered = tomllib.load(file)["project"]["entry-points"]["homotopy.plugins"]
    # (The lasso is a method before it is a plugin.)
    plugins = {name for name in registered if "-" in name}
    assert "hinge-ramp" in plugins
    for name in OF_ENGINE:
        assert all(one.module.split(".")[0] != "homotopy_plugins" for one in imports(TREES[name]))
        words = {node.value for node in ast.walk(TREES[name]) if isinstance(node, ast.Constant)}
        assert not words & (plugins | {"homotopy_plugins"}), name


def test_plugins_use_public_names_only():
    private = [
        f"{name}:{one.line} imports {one.module}.{one.name}"
        for name in TREES
        if name not in OF_ENGINE
        for module, one in from_engine(name)
        if any(part.startswith("_") for part in f"{module}.{one.name or ''}".split("."))
    ]
    assert not private


def private(name: str) -> bool:
    """Whether it is (named tuples have some that are not)."""
    public = ("_replace", "_asdict", "_make", "_fields")
    return name.startswith("_") and not name.startswith("__") and name not in public


def own_names(room: str) -> set[str]:
    """The private names that a room of the engine defines: functions and attributes."""
    names: set[str] = set()
    for module in OF_ENGINE:
        if room_of(module) != room:
            continue
        for node in ast.walk(TREES[module]):
            if isinstance(node, ast.FunctionDef):
                names.add(node.name)
            elif isinstance(node, ast.Attribute | ast.Name) and isinstance(node.ctx, ast.Store):
                names.add(node.attr if isinstance(node, ast.Attribute) else node.id)
    return names


# (How Numba is used is known from its source.)
@pytest.mark.parametrize("room", sorted(set(LEVEL) - {"compilation"}))
def test_rooms_use_public_names_of_each_other(room):
    """``x._name`` is of the room itself; a class may use the private names of its base by self."""
    known = own_names(room)
    foreign = [
        f"{module}:{node.lineno} {ast.unparse(node)}"
        for module in OF_ENGINE
        if room_of(module) == room
        for node in ast.walk(TREES[module])
        if isinstance(node, ast.Attribute) and private(node.attr) and node.attr not in known
        if ast.unparse(node.value) not in ("self", "cls", "super()")
    ]
    assert not foreign


@pytest.mark.parametrize("name", TREES)
def test_what_a_module_offers_is_there(name):
    names = offered(TREES[name])
    assert len(names) == len(set(names))
    assert set(names) <= defined(TREES[name])


def test_what_other_rooms_import_is_offered():
    missing = []
    for name, tree in TREES.items():
        for one in imports(tree):
            if one.module not in TREES or f"{one.module}.{one.name}" in TREES or one.name is None:
                continue
            there = TREES[one.module]
            # Modules of one room take from each other what they like.
            same = one.module.split(".")[:2] == name.split(".")[:2]
            if not (same or "__getattr__" in defined(there)) and one.name not in offered(there):
                missing.append(f"{one.module}.{one.name}, imported by {name}:{one.line}")
    assert not missing
