"""The compiled core: it takes a point from break-point to break-point along a route.

`state` says what it works on, `tolerances` what it takes for zero.  Read `follow` first: look,
choose (`ties`), pivot (`pivots`, with `pieces`, `independence`, `leaving` and `exchange`), aim
(`rates`, `factor`), step, record; `crossing` takes it across jumps, `proof` tells how far it is off
and corrects it, by the `sizes` of its terms; `windows` spare it coordinates that are far from
everything, `tracker` owns it all.
"""

from homotopy.tracker.outcomes import Failed, Failure, Kind, OnRidge, Outcome, Wants
from homotopy.tracker.tolerances import Patience, Pauses, Tolerances, Windows
from homotopy.tracker.tracker import Tracker

__all__ = [
    "Failed",
    "Failure",
    "Kind",
    "OnRidge",
    "Outcome",
    "Patience",
    "Pauses",
    "Tolerances",
    "Tracker",
    "Wants",
    "Windows",
]
