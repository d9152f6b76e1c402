"""From a known optimum: one row moved, taken out or added, exactly, and back again.

`frozen` is the problem that a fork works on (the model at one t, every row on its convex branch),
`grown` that problem with rows added, `mover` the tracker that moves rows, `result` what a move
leads to, `leave_one_out` the same for many rows, `fork` what users see.
"""

from homotopy.forking.fork import Fork
from homotopy.forking.leave_one_out import LeftOut
from homotopy.forking.result import Moved, Optimum

__all__ = ["Fork", "LeftOut", "Moved", "Optimum"]
