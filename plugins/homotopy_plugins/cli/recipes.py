"""From a table to a model, and from a saved path back to both.

A recipe is what a path was traced from: the plugin with its options, the file with a hash of its
bytes, and how columns became numbers.  It is kept as JSON in the file of the path.  What it says is
not believed: the path itself is refused unless every number of the model built from it is the same.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

import homotopy
from homotopy import HomotopyError, LossModel, Path, PathError, load_plugin
from homotopy.path.files import refusing
from homotopy.path.storage import read_recipe, save
from homotopy_plugins.cli import machines
from homotopy_plugins.cli.answers import CommandError
from homotopy_plugins.cli.choices import choice_from_json, choice_to_json, drawn
from homotopy_plugins.cli.encoding import Encoding
from homotopy_plugins.cli.files import STDIN, Reading, read_table
from homotopy_plugins.cli.options import (
    COLUMN,
    DIRECT,
    INPUTS,
    Option,
    checked_settings,
    options_of,
    parsed,
)
from homotopy_plugins.cli.sizes import cache_of
from homotopy_plugins.cli.targets import Target, encoded_target, refused_target
from homotopy_plugins.estimators.input_checks import kernel_width
from homotopy_plugins.kernels.checks import TargetError
from homotopy_plugins.tables.columns import Table
from homotopy_plugins.tables.kinds import Choice
from homotopy_plugins.wording import close_to, listed, number_of

__all__ = ["Ingredients", "Recipe", "Restored", "checked_plugin", "mix", "reopened", "restored"]

Array = npt.NDArray[np.float64]

# Widths of a kernel that follow from the rows.
WIDTHS = ("scale", "auto")
# What a cell means has changed since recipe 1.
FORMAT = "recipe 2"


@attrs.frozen(eq=False)
class Recipe:
    """How a model was made from a file."""

    plugin: str
    settings: dict[str, str]
    choice: Choice
    reading: Reading
    encoding: Encoding | None
    file: str | None
    digest: str

    def to_json(self, beside: str | None = None) -> dict[str, Any]:
        """As JSON; `beside` is the file of the path, from which the data may be found again."""
        near = None
        if beside is not None and self.file is not None:
            folder = os.path.dirname(os.path.realpath(beside))
            try:
                near = os.path.relpath(os.path.realpath(self.file), folder)
            except ValueError:
                # On another drive.
                near = None
        return {
            "format": FORMAT,
            "version": homotopy.__version__,
            "plugin": self.plugin,
            "settings": self.settings,
            "choice": choice_to_json(self.choice),
            "reading": attrs.asdict(self.reading),
            "encoding": None if self.encoding is None else self.encoding.to_json(),
            "data": {"file": self.file, "near": near, "sha256": self.digest},
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> tuple[Recipe, str | None]:
        """What `to_json` made, and where the data are, seen from the file of the path."""
        if data.get("format") != FORMAT:
            raise ValueError(
                f"its recipe has format {data.get('format')!r}, and this version reads {FORMAT!r}: "
                "trace the path again"
            )
        settings, source, reading = data["settings"], data["data"], data["reading"]
        texts = [data["plugin"], source["sha256"], *settings, *settings.values()]
        places = [source["file"], source["near"]]
        if not all(isinstance(text, str) for text in texts) or not all(
            place is None or isinstance(place, str) for place in places
        ):
            raise ValueError("its recipe is not one of ours")
        encoding = data["encoding"]
        recipe = cls(
            plugin=data["plugin"],
            settings=dict(settings),
            choice=choice_from_json(data["choice"]),
            reading=Reading(**reading),
            encoding=None if encoding is None else Encoding.from_json(encoding),
            file=source["file"],
            digest=source["sha256"],
        )
        return recipe, source["near"]

    def keep(self, path: Path, file: str) -> None:
        """Save a path together with this."""
        save(path, file, self.to_json(file))


@attrs.frozen(eq=False)
class Ingredients:
    """A model and what it was made from; `place` says where each of its rows stands in the file."""

    model: LossModel
    recipe: Recipe
    table: Table
    target: Target | None


def checked_plugin(name: str) -> type[LossModel]:
    """The model class of a plugin; one that cannot be imported is named."""
    try:
        return load_plugin(name)
    except homotopy.UnknownPluginError:
        known = homotopy.installed_plugins()
        raise CommandError(
            f"no plugin is called {name!r}; {close_to(name, known)} ('homotopy plugins' lists them)"
        ) from None
    except HomotopyError:
        raise
    except Exception as error:
        raise CommandError(
            f"plugin {name!r} cannot be loaded ({type(error).__name__}: {error}); update or remove "
            "the package that declares it"
        ) from None


def mix(
    name: str,
    settings: Mapping[str, str],
    table: Table,
    choice: Choice,
    reading: Reading,
    file: str | None,
    notes: list[str],
    encoding: Encoding | None = None,
    *,
    memory: str | None = None,
    nystroem: int | None = None,
    gamma: float | None = None,
) -> Ingredients:
    """Build the model of plugin `name` from a table.

    Parameters
    ----------
    encoding : Encoding, optional
        How columns become numbers, if that is known already.
    memory : str, optional
        A bound, ``2G`` for instance.
    nystroem : int, optional
        How many Nystroem features to make, of an rbf kernel of width `gamma`.
    """
    notes += table.notes
    table = drawn(table, choice, notes)
    plugin = checked_plugin(name)
    options = options_of(plugin)
    settings = dict(settings)
    checked_settings(name, options, settings)
    if "fit_intercept" in options:
        settings.setdefault("fit_intercept", "true")
    _refuse_missing(name, options, settings)
    columns = _columns_set(table, settings)
    taken = [one for one in INPUTS if one in options]
    target, rows = None, np.arange(table.size)
    if "y" in options:
        target = encoded_target(table, choice, [])
        rows = target.rows
        if target.without.size and "X_unlabelled" not in options:
            places = listed((int(table.place[i]) for i in target.without), 5)
            notes.append(
                f"{number_of(target.without.size, 'row')} without a target left out "
                f"({table.counted} {places})"
            )
        if not target.without.size and "X_unlabelled" in options:
            raise CommandError(
                f"{name} learns from rows without a target too, and in {table.source} all rows "
                f"have one; leave {target.name!r} empty in those"
            )
    elif choice.target is not None:
        target = None
        columns.append(choice.target)
        table.column(choice.target)
    arguments: dict[str, Any] = {}
    if {"X", "x"} & set(taken):
        used = table if "X_unlabelled" in options else table.take(rows)
        features = used if table.matrix is not None else _features(used, target, columns, choice)
        if encoding is None:
            encoding = Encoding.of(features, choice, notes)
            if nystroem is not None:
                encoding = encoding.with_landmarks(features, nystroem, gamma)
        X = encoding.apply(features, notes)
        if target is not None and "X_unlabelled" in options:
            arguments["X_unlabelled"] = X[target.without]
            X = X[target.rows]
        if "X" in taken:
            arguments["X"] = X
        else:
            # A function of one variable takes a list of numbers.
            arguments["x"] = X[:, 0] if X.shape[1] == 1 else X
        if "cache_size" in options and "cache_size" not in settings:
            arguments["cache_size"] = cache_of(memory, X.shape[0], X.shape[1])
    if target is not None:
        arguments["y"] = target.values

    def column(wanted: str) -> Array:
        values, wrong = table.column(wanted).numbers()
        bad = np.union1d(wrong, np.flatnonzero(np.isnan(values)))
        bad = bad[np.isin(bad, rows)]
        if bad.size:
            i = int(bad[0])
            raise CommandError(
                f"{table.source}: column {wanted!r} must hold a number in every row, and "
                f"{table.where(i)} does not"
            )
        return np.asarray(values[rows])

    if settings.get("gamma") in WIDTHS and "gamma" in options and "X" in arguments:
        settings["gamma"] = _width(settings, arguments["X"], name)
    for key, text in settings.items():
        arguments[key] = parsed(name, options[key], text, column)
    try:
        model = plugin(**arguments)
    except TargetError as error:
        if target is None:
            raise
        raise CommandError(refused_target(target, table, name, error.wants)) from None
    except HomotopyError:
        raise
    except (TypeError, ValueError, LookupError, ArithmeticError) as error:
        raise CommandError(f"{name}: {error}") from None
    digest = table.digest
    kept = None if file == STDIN else file
    recipe = Recipe(name, settings, choice, reading, encoding, kept, digest)
    return Ingredients(model, recipe, table.take(rows), target)


def _width(settings: Mapping[str, str], X: Any, name: str) -> str:
    """gamma="scale" or "auto" as a number, as `select` and the estimators take it."""
    width = kernel_width(settings.get("kernel", "rbf"), settings["gamma"], X, name)
    return "none" if width is None else repr(width)


def _columns_set(table: Table, settings: Mapping[str, str]) -> list[str]:
    """Columns that options refer to; they are no features."""
    named = [text.strip()[len(COLUMN) :] for text in settings.values() if text.startswith(COLUMN)]
    for name in named:
        table.column(name)
    return named


def _features(table: Table, target: Target | None, columns: list[str], choice: Choice) -> Table:
    names = [*columns, *choice.drop]
    if target is not None:
        names.append(target.name)
        if target.name in choice.drop:
            raise CommandError(f"--drop {target.name!r} would leave out the target")
    return table.without(names)


def _refuse_missing(name: str, options: Mapping[str, Option], settings: Mapping[str, str]) -> None:
    """Say what a model needs that neither the table nor the options give."""
    needed = [o for o in options.values() if o.required and o.name not in (*INPUTS, *settings)]
    if not needed:
        return
    plain = [o.name for o in needed if o.kinds & {"bool", "int", "float", "str", "list"}]
    names = ", ".join(o.name for o in needed)
    if len(plain) < len(needed) or not set(INPUTS) & set(options):
        raise CommandError(
            f"{name} is made from {names}, which a table of columns and a target does not hold; "
            f"trace it in Python: Homotopy(load_plugin({name!r})({names})).trace()"
        )
    given = " ".join(f"--{one} VALUE" if one in DIRECT else f"--set {one}=VALUE" for one in plain)
    raise CommandError(f"{name} needs {names}; give {given}")


# ---------------------------------------------------------------------- from a file


def reopened(file: str) -> tuple[Recipe, str | None]:
    """The recipe in the file of a path, and where the data are, seen from there."""
    try:
        data = read_recipe(file)
    except PathError as error:
        if repr(machines.FORMAT) in str(error):
            raise CommandError(
                f"{file} is {machines.WHAT}, not a path; 'homotopy predict' reads it"
            ) from None
        raise
    if data is None:
        raise CommandError(
            f"{file} does not say how its model was made (it was not saved by 'homotopy trace'); "
            "build the model in Python: Path.load(file, model)"
        )
    with refusing(file, "a path with a recipe"):
        return Recipe.from_json(data)


def restored(file: str, data: str | None, target: str | None, notes: list[str]) -> Restored:
    """The path in `file` with its model, built again from its data.

    Parameters
    ----------
    data : str or None
        Where the data are; None to look where they were.
    target : str or None
        The target, if it is called otherwise there.
    """
    recipe, near = reopened(file)
    given = data if data is not None else _found_again(file, recipe, near)
    table = read_table(given, recipe.reading)
    if data is None and table.digest != recipe.digest:
        raise CommandError(
            f"{given} has changed since {file} was traced from it; give --data with what it held "
            "then, or trace it again"
        )
    choice = recipe.choice if target is None else attrs.evolve(recipe.choice, target=target)
    made = mix(
        recipe.plugin,
        recipe.settings,
        table,
        choice,
        recipe.reading,
        given,
        [],
        encoding=recipe.encoding,
    )
    path = Path.load(file, made.model)
    notes.append(f"rebuilt the model from {given}")
    return Restored(path, made)


@attrs.frozen(eq=False)
class Restored:
    """A path from a file, and what it was traced from."""

    path: Path
    made: Ingredients


def _found_again(file: str, recipe: Recipe, near: str | None) -> str:
    folder = os.path.dirname(file)
    places = [place for place in (recipe.file,) if place is not None]
    if near is not None:
        places.insert(0, os.path.join(folder, near))
    for place in places:
        if os.path.isfile(place):
            return place
    if not places:
        raise CommandError(
            f"{file} was traced from a table on stdin; give --data with the file that held it"
        )
    raise CommandError(
        f"{file} was traced from {recipe.file}, which is not there any more; give --data"
    )
