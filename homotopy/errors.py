"""The error tree, and a warning.

Every error of the toolkit is a `HomotopyError` and also the builtin a caller would expect, so
``except ValueError`` keeps working.  A message names the object, the value and the way out.
"""

from __future__ import annotations

__all__ = [
    "DataError",
    "HomotopyError",
    "MissingPackageError",
    "ModelError",
    "PathError",
    "RoundingWarning",
    "TraceError",
    "TraceInterrupted",
    "UnknownPluginError",
]


class HomotopyError(Exception):
    """Base of every error raised by the toolkit."""


class ModelError(HomotopyError, ValueError):
    """A model is declared wrongly: a parameter, a polyline, a span or a border.

    Attributes
    ----------
    path : Path or None
        The part that was traced and proven, if the model breaks its contract during the trace.
    """

    path: object = None


class DataError(ModelError):
    """The data passed to a model cannot be used: shape, finiteness, labels, kernel matrix."""


class PathError(HomotopyError, ValueError):
    """A request lies outside the traced part of a path, or a file does not fit."""


class TraceError(HomotopyError, RuntimeError):
    """Numerical trouble ended the trace and could not be repaired.

    Attributes
    ----------
    path : Path or None
        The part that was traced and proven before the trouble; usable like any other path.
    limit : str or None
        The limit that was reached before the path began ("max_seconds"), if that is the trouble.
    """

    path: object = None
    limit: str | None = None


class RoundingWarning(UserWarning):
    """Rounding may exceed a response, so a certified path says little about it.

    A path is certified if it is exact for data that differ from yours by rounding.  If a response
    is a sum of terms 1e16 times as large, rounding can turn it into anything: scale the data.
    """


class TraceInterrupted(KeyboardInterrupt):
    """Ctrl-C while a path was traced: still a `KeyboardInterrupt`, so it is not swallowed.

    Attributes
    ----------
    path : Path or None
        The part traced before; usable like any other path.  None if the path had not begun.
    """

    def __init__(self, message: str, path: object) -> None:
        super().__init__(message)
        self.path = path


class MissingPackageError(HomotopyError, ImportError):
    """A package that only some features need is not installed; the message names its extra."""


class UnknownPluginError(HomotopyError, LookupError):
    """No installed plugin has the given name."""
