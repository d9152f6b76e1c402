"""Move, remove or add single rows at a known optimum, exactly, and go back.

`frozen` is the problem that a fork works on (the model at one t, every row on its convex branch),
`grown` the same problem with rows added.  Rows are moved by walks through the `tableau` of the
optimum (`walking`, `swapping`; their data are in `walk`) or, where a walk is in doubt, by the
tracker (`mover`); `walker` chooses.  `result` is the outcome of a move and its break-points,
`leave_one_out` does many moves, and `fork` is the public interface.
"""

from homotopy.forking.fork import Fork
from homotopy.forking.leave_one_out import LeftOut
from homotopy.forking.result import Moved, Optimum, Way

__all__ = ["Fork", "LeftOut", "Moved", "Optimum", "Way"]
