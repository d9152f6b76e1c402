"""Tools to test plugins, ours and yours, and the engine itself.

    from homotopy.testing import check_plugin, hostile_problems

`check_plugin` is the conformance check of a plugin; `hostile_problems` are legal but badly behaved
problems.
"""

from homotopy.testing.conformance import check_plugin
from homotopy.testing.draw import Draw
from homotopy.testing.hostile import HostileProblem, hostile_problem, hostile_problems

__all__ = ["Draw", "HostileProblem", "check_plugin", "hostile_problem", "hostile_problems"]
