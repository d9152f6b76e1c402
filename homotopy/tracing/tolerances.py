"""Every threshold of a trace around the tracker, with its reason."""

from __future__ import annotations

import attrs

from homotopy.tracker import Tolerances


@attrs.frozen(kw_only=True)
class SecondAttempt:
    """How a second attempt differs from the first, besides having no windows: fields of
    `homotopy.tracker.Tolerances` and of the objects in it.  Everything is recomputed after every
    step."""

    cancelled: float = 1e3
    little_border: float = 0.0
    refresh: int = 1
    most_late: int = 2
    settlings: int = 8

    def applied_to(self, first: Tolerances) -> Tolerances:
        """Return the tolerances of a second attempt after one with the tolerances `first`."""
        patience = attrs.evolve(
            first.patience,
            refresh=self.refresh,
            most_late=self.most_late,
            settlings=self.settlings,
        )
        proof = attrs.evolve(first.proof, little_border=self.little_border)
        return attrs.evolve(first, cancelled=self.cancelled, proof=proof, patience=patience)


@attrs.frozen(kw_only=True)
class Clocks:
    """What is measured in seconds; the path does not depend on it."""

    # The time limit of a second attempt: this many times the first one, plus this many seconds.
    again: float = 3.0
    at_least: float = 1.0
    # Seconds between two calls of a callback while there is nothing new.
    beat: float = 0.1
    # Seconds within which a trace that writes checkpoints should reach a pause after a stop was
    # requested.
    grace: float = 1.0


@attrs.frozen(kw_only=True)
class TraceTolerances(Clocks):
    """When a path is checked, how jumps are recovered, how long a second attempt may take."""

    # How the tolerances of a second attempt differ.
    careful: SecondAttempt = SecondAttempt()
    # A rise of the objective at a jump by no more than this fraction is rounding.
    level: float = 1e-10
    # The certificate checks a path before it is returned if rounding exceeds this fraction of a
    # response.
    strain: float = 1e-3
    # The same if an exchange along a null direction moves a response by this many times its corner
    # tolerance.  (Only with features: rows of Q do not determine w more closely.)
    broken: float = 1e3
    # A rough guess of the first point, or one solve instead of settling, is accepted only if
    # rounding is below this fraction of every response.
    quick: float = 1e-9
    # A `RoundingWarning` is issued if rounding may be this many times a response.
    warned: float = 1.0
    # Nothing is proven if rounding is this many times a response: the certificate, which allows for
    # rounding, would pass anything.
    drowned: float = 1e9
    # A path of at most `small_n` coordinates and `small` numbers (n times segments) is checked too,
    # unless it is one segment whose ends are proven (`gap`).
    small_n: int = 100
    small: int = 20_000
    # An end is proven if its duality gap is at most this fraction of ``|w|^2 / 2``, a tenth of what
    # the certificate allows.
    gap: float = 1e-9
    # If no optimum was found, look for one by linear programs with at most `numbers` numbers, at
    # this fraction of the rest of the span.
    later: float = 1e-3
    numbers: int = 4_000_000
    # A span shorter than this fraction of its ends is empty.
    empty: float = 1e-11
    # Jumps crossed late within this fraction of the span count as one.
    nearby: float = 1e-8
    # Jumps at one t given to the QP solver before one is crossed slightly later.
    recoveries: int = 3
    # Most convex problems for a jump that is crossed as a whole.
    problems: int = 50
    # Their accuracy as a fraction of the usual corner, and the distance within which a response
    # then counts as on a corner, as a fraction of its size.
    solved: float = 1e-9
    at_corner: float = 1e-6
    # A response within this fraction of its size of a corner is on it.
    on_corner: float = 1e-10

    def is_small(self, n: int, segments: int) -> bool:
        """Whether the certificate takes almost no time."""
        return n <= self.small_n and n * segments <= self.small

    def is_measured(self, segments: int, gap: float) -> bool:
        """Whether the tracker has measured every point, with a duality gap of at most `gap`."""
        return segments == 1 and gap <= self.gap
