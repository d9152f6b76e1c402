"""Every threshold of a trace around the tracker, with its reason."""

from __future__ import annotations

import attrs

__all__ = ["TraceTolerances"]


@attrs.frozen(kw_only=True)
class TraceTolerances:
    """When a path is checked, how jumps are recovered from, how long a second attempt may take.

    Parameters
    ----------
    again, at_least : float
        The time limit of a second attempt: this many times the first one, plus this many seconds.
    level : float
        An objective that rises at a jump by no more than this fraction does not.
    strain : float
        The certificate checks a path before it is returned if rounding is more than this fraction
        of a response,
    few, small : int
        or if it has no more coordinates and numbers than these, which takes no time.
    empty : float
        A span shorter than this fraction of its ends is empty.
    nearby : float
        Jumps that are crossed late within this fraction of the span are as good as one.
    recoveries : int
        Jumps at one t that the QP solver takes over before they are crossed a little later.
    on_corner : float
        A response stands on a corner within this fraction of its size.
    beat : float
        Seconds between two calls of a callback while nothing is new.
    """

    again: float = 3.0
    at_least: float = 1.0
    level: float = 1e-10
    strain: float = 1e-3
    few: int = 100
    small: int = 20_000
    empty: float = 1e-11
    nearby: float = 1e-8
    recoveries: int = 3
    on_corner: float = 1e-10
    beat: float = 0.1
