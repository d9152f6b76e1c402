"""Every threshold of a trace around the tracker, with its reason."""

from __future__ import annotations

import attrs

__all__ = ["TraceTolerances"]


@attrs.frozen(kw_only=True)
class TraceTolerances:
    """When a path is checked, how jumps are recovered, how long a second attempt may take.

    Parameters
    ----------
    again, at_least : float
        The time limit of a second attempt: this many times the first one, plus this many seconds.
    level : float
        A rise of the objective at a jump by no more than this fraction is rounding.
    strain : float
        The certificate checks a path before it is returned if rounding exceeds this fraction of a
        response.
    broken : float
        The same if an exchange along a null direction moves a response by this many times what is
        near a corner.  (With features only: rows of Q tell no more about w.)
    quick : float
        A rough guess of the first point, and one solve in place of settling it, are for problems in
        which rounding is less than this fraction of every response.
    drowned : float
        Nothing is proven if rounding is this many times a response: the certificate, which allows
        for rounding, would pass anything.
    small_n, small : int
        A path with at most this many coordinates and numbers is checked as well, unless it is one
        segment whose ends, both measured by the tracker, leave no doubt.
    gap : float
        They leave none if the duality gap is at most this fraction of ``|w|^2 / 2``, a part of what
        the certificate compares it with: a tenth of what the certificate allows.
    empty : float
        A span shorter than this fraction of its ends is empty.
    nearby : float
        Jumps crossed late within this fraction of the span count as one.
    recoveries : int
        Jumps at one t given to the QP solver before one is crossed slightly later.
    turns : int
        Convex problems in turn for a jump that is crossed as a whole.
    turn, at_corner : float
        To what they are solved, as a fraction of the usual corner, and how near a response is on a
        corner then, as a fraction of its size.
    on_corner : float
        A response within this fraction of its size of a corner is on it.
    beat : float
        Seconds between two calls of a callback while there is nothing new.
    """

    again: float = 3.0
    at_least: float = 1.0
    level: float = 1e-10
    strain: float = 1e-3
    broken: float = 1e3
    quick: float = 1e-9
    drowned: float = 1e9
    small_n: int = 100
    small: int = 20_000
    gap: float = 1e-9
    empty: float = 1e-11
    nearby: float = 1e-8
    recoveries: int = 3
    turns: int = 50
    turn: float = 1e-9
    at_corner: float = 1e-6
    on_corner: float = 1e-10
    beat: float = 0.1

    def is_small(self, n: int, segments: int) -> bool:
        """Whether the certificate takes no time worth saving."""
        return n <= self.small_n and n * segments <= self.small

    def is_measured(self, segments: int, gap: float) -> bool:
        """Whether the tracker has measured every point, with a duality gap of at most `gap`."""
        return segments == 1 and gap <= self.gap
