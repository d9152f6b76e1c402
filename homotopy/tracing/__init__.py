"""One trace from its first point to the verdict, a room for each part of the work.

* `first_point`: the problem at the start of the span, solved exactly;
* `jumps`: what the tracker leaves to others at a jump;
* `watch`: limits, callbacks and the progress bar; `passed`, `stop_at`: what a callback may read of
  the path, and one that does;
* `verdict`: whether what was traced is proven, and what to say if not;
* `run`: the loop through all of them, and its state for checkpoints.
"""

from homotopy.tracing.run import Run
from homotopy.tracing.stop_at import StopAt
from homotopy.tracing.tolerances import TraceTolerances
from homotopy.tracing.verdict import Unproven
from homotopy.tracing.watch import Callback, Progress

__all__ = ["Callback", "Progress", "Run", "StopAt", "TraceTolerances", "Unproven"]
