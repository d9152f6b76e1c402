"""The start of a path: a guess of the solution there, from the convex problem or a nearby path.

* `guess`: guesses for `tracing.first_point`;
* `convex`: the convex problem, solved by `pairs` of coordinates or `newton` steps on an `iterate`;
* `tables`: its polylines; `tolerances`: every threshold.
"""

from homotopy.start.convex import ConvexProblem, ConvexSolution, solve_convex
from homotopy.start.guess import carry_over, convex_guess, estimate_border, slack_of_border
from homotopy.start.tolerances import StartTolerances

__all__ = [
    "ConvexProblem",
    "ConvexSolution",
    "StartTolerances",
    "carry_over",
    "convex_guess",
    "estimate_border",
    "slack_of_border",
    "solve_convex",
]
