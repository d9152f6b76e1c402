"""Plugins by name, through the entry-point group ``homotopy.plugins``.

The engine never imports a plugin: all registered plugins, ours included, are found through here.
"""

from __future__ import annotations

from importlib.metadata import entry_points

from homotopy.errors import ModelError, UnknownPluginError
from homotopy.model import LossModel

__all__ = ["GROUP", "installed_plugins", "load_plugin"]

GROUP = "homotopy.plugins"


def installed_plugins() -> tuple[str, ...]:
    """Return the names of all installed plugins, sorted."""
    return tuple(sorted({entry.name for entry in entry_points(group=GROUP)}))


def load_plugin(name: str) -> type[LossModel]:
    """Return the model class registered under `name`."""
    found = [entry for entry in entry_points(group=GROUP) if entry.name == name]
    if not found:
        known = ", ".join(installed_plugins()) or "none"
        raise UnknownPluginError(f"no plugin is called {name!r}; installed: {known}")
    plugin = found[0].load()
    if not (isinstance(plugin, type) and issubclass(plugin, LossModel)):
        raise ModelError(
            f"plugin {name!r} ({found[0].value}) is not a subclass of homotopy.LossModel"
        )
    return plugin
