"""One trace from its first point to the verdict, one module per part of the work.

* `options`: what can be chosen; `tolerances`: every threshold;
* `first_point`: the problem at the start of the span, solved exactly;
* `jumps`: what the tracker does not do itself at a jump;
* `watch`: limits, callbacks and the progress bar; `passed`, `stop_at`: what a callback can read of
  the path, and one that reads it;
* `verdict`: whether the traced path is proven, and the error if not; `existence`: whether there is
  an optimum at all;
* `run`: the loop through all of them, and its state for checkpoints.
"""

from homotopy.tracing.options import Options
from homotopy.tracing.run import Run
from homotopy.tracing.stop_at import StopAt
from homotopy.tracing.tolerances import TraceTolerances
from homotopy.tracing.verdict import Unproven
from homotopy.tracing.watch import Callback, Progress

__all__ = ["Callback", "Options", "Progress", "Run", "StopAt", "TraceTolerances", "Unproven"]
