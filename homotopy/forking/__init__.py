"""Move, remove or add single rows at a known optimum, exactly, and go back.

`frozen` is the problem that a fork works on (the model at one t, every row on its convex branch),
`grown` the same problem with rows added.  Rows are moved by walks through the `tableau` of the
optimum (`walking`, `swapping`, on the numbers of `walk`) and, where that is in doubt, by the
tracker (`mover`); `walker` chooses.  `result` is the outcome of a move and what happens on its way,
`leave_one_out` many moves, and `fork` the public interface.
"""

from homotopy.forking.fork import Fork
from homotopy.forking.leave_one_out import LeftOut
from homotopy.forking.result import Moved, Optimum, Way

__all__ = ["Fork", "LeftOut", "Moved", "Optimum", "Way"]
