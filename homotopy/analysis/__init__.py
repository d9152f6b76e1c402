"""Analyses of a path: losses on held-out rows, the pieces visited, summaries."""

from homotopy.analysis.losses import Truncated
from homotopy.analysis.occupancy import Occupancy
from homotopy.analysis.report import summary
from homotopy.analysis.validation import Best, ValidationCurve

__all__ = ["Best", "Occupancy", "Truncated", "ValidationCurve", "summary"]
