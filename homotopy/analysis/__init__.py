"""What is read off a path: losses on held-out rows, the pieces visited, summaries."""

from homotopy.analysis.losses import Truncated
from homotopy.analysis.occupancy import Stays
from homotopy.analysis.report import summary
from homotopy.analysis.validation import Best, ValidationCurve

__all__ = ["Best", "Stays", "Truncated", "ValidationCurve", "summary"]
