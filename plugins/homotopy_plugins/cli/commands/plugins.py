"""``homotopy plugins``."""

from __future__ import annotations

from typing import Annotated

import typer

import homotopy
from homotopy import installed_plugins
from homotopy_plugins.cli.answers import Voice, speaking
from homotopy_plugins.cli.arguments import AsJson, Quiet, plugin_names, voice_of
from homotopy_plugins.cli.options import INPUTS, options_of
from homotopy_plugins.cli.recipes import checked_plugin
from homotopy_plugins.wording import one_line

__all__ = ["first_line", "plugins"]

OURS = "homotopy_plugins"
# Of the table where there is no screen to tell.
WIDTH = 100


def plugins(
    context: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="PLUGIN", help="Show the options of this one.", autocompletion=plugin_names
        ),
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """List the models that can be traced.

    Models of other installed packages are among them.
    """
    voice = voice_of(context, quiet, as_json)
    with speaking(voice):
        if name is not None:
            _tell_plugin(name, voice)
            return
        found = []
        for one in installed_plugins():
            try:
                kind = checked_plugin(one)
            except homotopy.HomotopyError as error:
                found.append({"name": one, "what": f"({one_line(str(error))})", "package": None})
                continue
            found.append(
                {
                    "name": one,
                    "what": first_line(kind),
                    "package": kind.__module__.split(".")[0],
                }
            )
        text = voice.table(
            ["plugin", "what it is"],
            [[one["name"], f"{one['what']}{_from(one['package'])}"] for one in found],
            width=WIDTH,
        )
        voice.answer(text, {"plugins": found})


def _from(package: str | None) -> str:
    """Where a model comes from, unless it is ours."""
    return "" if package in (None, OURS) else f" (from {package})"


def first_line(kind: type) -> str:
    text = (kind.__doc__ or "").strip().split("\n\n")[0]
    sentence = one_line(text.replace("``", "").replace("`", ""))
    end = sentence.find(". ")
    return (sentence if end < 0 else sentence[: end + 1]).rstrip(".:")


def _tell_plugin(name: str, voice: Voice) -> None:
    kind = checked_plugin(name)
    options = options_of(kind)
    taken = [one for one in options if one in INPUTS]
    free = [option for option in options.values() if option.name not in INPUTS]
    needed = [option.name for option in free if option.required]
    rest = [
        # The one default that is another on the command line.
        "fit_intercept=True" if option.name == "fit_intercept" else option.told()
        for option in free
        if not option.required
    ]
    text = [f"{name}: {first_line(kind)}"]
    text.append(f"  from the table: {', '.join(taken) or 'nothing'}")
    text.append(f"  needed: {', '.join(needed) or 'nothing'}")
    text.append(f"  options: {', '.join(rest) or 'none'}")
    data = {
        "name": name,
        "what": first_line(kind),
        "class": f"{kind.__module__}.{kind.__qualname__}",
        "from_table": taken,
        "needed": needed,
        "options": [option.name for option in free if not option.required],
    }
    voice.answer("\n".join(text), data)
