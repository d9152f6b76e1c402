"""The compiled core: it moves a point from break-point to break-point along a route.

`state` defines its data, `tolerances` what counts as zero.  Read `follow` first: check,
choose (`ties`), pivot (`pivots`, with `pieces`, `independence`, `leaving` and `exchange`), solve
(`rates`, `factor`), step, record.  `crossing` crosses jumps; `proof` bounds the error and corrects
it, using the `sizes` of the terms; `windows` skip coordinates that are far from every corner;
`tracker` owns it all.
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
