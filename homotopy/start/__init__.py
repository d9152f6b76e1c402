"""Where a path starts: a guess of the solution there, from the convex problem or a path nearby."""

from homotopy.start.convex import ConvexSolution, solve_convex
from homotopy.start.guess import carry_over, convex_guess, estimate_border, slack_of_border

__all__ = [
    "ConvexSolution",
    "carry_over",
    "convex_guess",
    "estimate_border",
    "slack_of_border",
    "solve_convex",
]
