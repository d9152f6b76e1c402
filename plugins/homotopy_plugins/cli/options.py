"""The options of a plugin, read off the signature of its constructor.

A plugin of any package can be traced without being known here: what its constructor takes is what
``--set name=value`` takes, and a value is read as the annotation says.
"""

from __future__ import annotations

import inspect
import json
import types
from collections.abc import Callable, Mapping
from typing import Any, Union, Unpack, get_args, get_origin, get_type_hints, is_typeddict

import attrs
import numpy as np
import numpy.typing as npt

from homotopy import LossModel
from homotopy_plugins.cli.answers import CommandError
from homotopy_plugins.wording import close_to

__all__ = ["INPUTS", "Option", "options_of", "parsed"]

Array = npt.NDArray[np.float64]
Lookup = Callable[[str], Array]

# What is taken from the table and not from the command line.
INPUTS = ("X", "x", "y", "X_unlabelled")
# What has an option of its own in 'homotopy trace'.
DIRECT = ("path", "kernel", "C", "gamma")
COLUMN = "@"
_TRUTH = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_NOTHING = ("none", "null")
# What the width of a kernel may be.
WIDTH = "a number, scale (as select takes it) or none (1 / number of columns)"


@attrs.frozen
class Option:
    """One argument of a constructor.

    Attributes
    ----------
    name : str
    kinds : frozenset of str
        What its value may be: "bool", "int", "float", "str", "none", "list", "any".
    required : bool
    default : object
        `inspect.Parameter.empty` where there is none, or it is not known.
    """

    name: str
    kinds: frozenset[str]
    required: bool
    default: Any = inspect.Parameter.empty

    def told(self) -> str:
        """``C``, ``theta=0.0``, for lists."""
        if self.required or self.default is inspect.Parameter.empty:
            return self.name
        return f"{self.name}={self.default!r}"


def options_of(plugin: type[LossModel]) -> dict[str, Option]:
    """What the constructor of a model takes, what it passes on to its base classes included."""
    found: dict[str, Option] = {}
    own = True
    for kind in plugin.__mro__:
        init = vars(kind).get("__init__")
        if init is None or kind is object:
            continue
        parameters = list(inspect.signature(init).parameters.values())[1:]
        hints = _hints(init)
        goes_on = False
        for parameter in parameters:
            if parameter.kind is parameter.VAR_KEYWORD:
                named = _typed_dict(hints.get(parameter.name))
                for name, hint in named.items():
                    found.setdefault(name, Option(name, _kinds(hint), False))
                goes_on = True
            elif parameter.kind is not parameter.VAR_POSITIONAL:
                required = parameter.default is parameter.empty
                # What a base class must have and its subclass does not ask for, that gives.
                if own or not required:
                    hint = hints.get(parameter.name, _kind_of_default(parameter.default))
                    option = Option(parameter.name, _kinds(hint), required, parameter.default)
                    known = found.get(parameter.name)
                    if known is None or (known.default is parameter.empty and not known.required):
                        found[parameter.name] = option
        if not goes_on:
            break
        own = False
    return found


def _hints(init: Any) -> dict[str, Any]:
    try:
        return get_type_hints(init)
    except Exception:
        # Annotations of strangers may name what is only imported for type checkers.
        return {}


def _typed_dict(hint: Any) -> dict[str, Any]:
    if get_origin(hint) is Unpack:
        (inner,) = get_args(hint)
        if is_typeddict(inner):
            return get_type_hints(inner)
    return {}


def _kind_of_default(default: Any) -> Any:
    return type(default) if isinstance(default, bool | int | float | str) else Any


def _kinds(hint: Any) -> frozenset[str]:
    simple = {bool: "bool", int: "int", float: "float", str: "str", type(None): "none"}
    parts = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    if bytes in parts or complex in parts:
        # numpy.typing.ArrayLike is a union of all that can become an array.
        return frozenset({"list", "float"} | ({"none"} if type(None) in parts else set()))
    found = set()
    for part in parts:
        if part in simple:
            found.add(simple[part])
        elif get_origin(part) in (tuple, list) or part in (tuple, list):
            found.add("list")
        else:
            found.add("any")
    return frozenset(found)


def parsed(plugin: str, option: Option, text: str, column: Lookup) -> Any:
    """`text` as a value of `option`; ``@name`` is a column of the table."""
    text = text.strip()
    if text.startswith(COLUMN) and option.kinds & {"list", "any"}:
        return column(text[len(COLUMN) :])
    for kind in ("none", "bool", "int", "float", "list", "any", "str"):
        if kind in option.kinds:
            found, value = _read(kind, text)
            if found:
                return value
    wanted = WIDTH if option.name == "gamma" else _wanted(option)
    raise CommandError(f"{plugin}: {option.name} must be {wanted}, got {text!r}")


def _read(kind: str, text: str) -> tuple[bool, Any]:
    if kind == "none":
        return text.lower() in _NOTHING, None
    if kind == "bool":
        return text.lower() in _TRUTH, _TRUTH.get(text.lower())
    if kind in ("int", "float"):
        try:
            return True, int(text) if kind == "int" else float(text)
        except ValueError:
            return False, None
    if kind == "list":
        return _list(text)
    if kind == "any":
        return True, _anything(text)
    return True, text


def _list(text: str) -> tuple[bool, Any]:
    """``0.01,100`` or ``0.01:100``, with none for what is left open."""
    parts = text.strip("()[] ").replace(":", ",").split(",")
    values: list[float | None] = []
    for part in (part.strip() for part in parts):
        if part.lower() in _NOTHING:
            values.append(None)
            continue
        try:
            values.append(float(part))
        except ValueError:
            return False, None
    return True, tuple(values)


def _anything(text: str) -> Any:
    if text.lower() in _NOTHING:
        return None
    if text.lower() in _TRUTH:
        return _TRUTH[text.lower()]
    try:
        return json.loads(text)
    except ValueError:
        return text


def _wanted(option: Option) -> str:
    said = {
        "bool": "true or false",
        "int": "a whole number",
        "float": "a number",
        "list": "numbers separated by commas (or @column)",
        "none": "none",
    }
    kinds = [text for kind, text in said.items() if kind in option.kinds]
    return " or ".join(kinds)


def settings_of(given: list[str]) -> dict[str, str]:
    """``name=value`` as a dictionary."""
    found: dict[str, str] = {}
    for entry in given:
        name, sign, value = entry.partition("=")
        if not sign or not name.strip():
            raise CommandError(f"--set takes name=value, got {entry!r}")
        if name.strip() in found:
            raise CommandError(f"--set {name.strip()} is given twice; give it once")
        found[name.strip()] = value
    return found


def checked_settings(
    plugin: str, options: Mapping[str, Option], settings: Mapping[str, str]
) -> None:
    """Refuse options that the plugin does not take, and say which it does."""
    free = [name for name in options if name not in INPUTS]
    for name in settings:
        if name in INPUTS and name in options:
            raise CommandError(f"{plugin}: {name} is taken from the table and cannot be set")
        if name not in options:
            raise CommandError(
                f"{plugin} has no option {name!r}; {close_to(name, free)} "
                f"('homotopy plugins {plugin}' lists them)"
            )
