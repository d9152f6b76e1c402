"""How a run of the tracker ends."""

from __future__ import annotations

from enum import Enum

import attrs

from homotopy.errors import TraceError

__all__ = ["Arrived", "Failed", "Failure", "Kind", "OnRidge", "Outcome", "Paused", "Wants"]


class Kind(Enum):
    """Why a run failed."""

    NO_OPTIMUM = "no optimum exists"
    STUCK = "the way on could not be resolved"


class Failure(TraceError):
    """The way could not be followed; `kind` says why."""

    def __init__(self, message: str, kind: Kind = Kind.STUCK) -> None:
        super().__init__(message)
        self.kind = kind


class Wants(Enum):
    """What the tracker cannot do by itself."""

    FLIPS = "who of those at a jump changes side"
    CROSSING = "the optimum across a jump"


@attrs.frozen
class Arrived:
    """The route has come to its end."""


@attrs.frozen
class Paused:
    """The listener wants to look at the trace."""


@attrs.frozen
class OnRidge:
    """A coordinate can go on only downhill: with it the active block is not definite.

    Attributes
    ----------
    coordinate : int
    way : float
        Whether its alpha rises (1.0) or falls (-1.0) on the way down.
    """

    coordinate: int
    way: float


@attrs.frozen
class Failed:
    """The way could not be followed.

    Attributes
    ----------
    error : Failure
    crossing : bool
        Whether that was on the way across a jump.
    """

    error: Failure
    crossing: bool


Outcome = Arrived | Paused | Wants | OnRidge | Failed
