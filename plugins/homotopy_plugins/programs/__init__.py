"""Quadratic programs: what their matrices decide, where their vectors take them, and how far they
have an optimum.
"""

from homotopy_plugins.programs.exact import is_definite, may_bend
from homotopy_plugins.programs.feasibility import last_bounded, last_feasible
from homotopy_plugins.programs.places import (
    MISSING,
    Forces,
    Places,
    at,
    bounds_of,
    crossed_bounds,
    finite,
    lengths,
    line,
    places_ahead,
)
from homotopy_plugins.programs.shape import Shape

__all__ = [
    "MISSING",
    "Forces",
    "Places",
    "Shape",
    "at",
    "bounds_of",
    "crossed_bounds",
    "finite",
    "is_definite",
    "last_bounded",
    "last_feasible",
    "lengths",
    "line",
    "may_bend",
    "places_ahead",
]
