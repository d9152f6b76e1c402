"""How a run of the tracker ends."""

from __future__ import annotations

from enum import Enum

import attrs

from homotopy.errors import TraceError

__all__ = ["Arrived", "Failed", "Failure", "Kind", "OnRidge", "Outcome", "Paused", "Wants"]


class Kind(Enum):
    """Why a run failed."""

    NO_OPTIMUM = "no optimum exists"
    STUCK = "the route could not be continued"


class Failure(TraceError):
    """The route could not be followed; `kind` says why."""

    def __init__(self, message: str, kind: Kind = Kind.STUCK) -> None:
        super().__init__(message)
        self.kind = kind


class Wants(Enum):
    """What the tracker cannot do itself."""

    FLIPS = "which coordinates at a jump change side"
    CROSSING = "the optimum across a jump"


@attrs.frozen
class Arrived:
    """The end of the route was reached."""


@attrs.frozen
class Paused:
    """The listener requested a pause."""


@attrs.frozen
class OnRidge:
    """A coordinate can continue only downhill: with it the active block is not positive definite.

    Attributes
    ----------
    coordinate : int
    way : float
        Whether its alpha rises (1.0) or falls (-1.0) in the descent.
    """

    coordinate: int
    way: float


@attrs.frozen
class Failed:
    """The route could not be followed.

    Attributes
    ----------
    error : Failure
    crossing : bool
        Whether this happened while crossing a jump.
    """

    error: Failure
    crossing: bool


Outcome = Arrived | Paused | Wants | OnRidge | Failed
