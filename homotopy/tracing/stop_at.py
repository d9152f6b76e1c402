"""A callback that ends a trace at a zero of a function of the solution."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from homotopy.errors import PathError
from homotopy.path.zeros import QUANTITIES, Zero, jump_between, values_on, zeros_on
from homotopy.tracing.passed import Passed
from homotopy.tracing.watch import Progress


class StopAt:
    """A callback: ``trace(callback=StopAt(f))`` ends at the first break-point after a zero of f.

    Parameters
    ----------
    f : callable
        An affine or quadratic function, as for `Path.zeros`.
    of : {"alpha", "response", "border", "solution"}
        The argument of f; "response" takes a product with Q at every break-point.

    Attributes
    ----------
    zero : Zero or None
        The first zero of f; None until there is one.
    """

    def __init__(self, f: Callable[[Any], Any], of: str = "alpha") -> None:
        if of not in QUANTITIES:
            raise PathError(f"StopAt: of must be one of {', '.join(QUANTITIES)}, got {of!r}")
        self.f, self.of = f, of
        self.zero: Zero | None = None
        self._last: float | None = None

    def __call__(self, progress: Progress) -> bool:
        for passed in progress.passed():
            self._examine(passed)
            if self.zero is not None:
                return True
        return False

    def _examine(self, passed: Passed) -> None:
        problem, (start, stop) = passed.problem, passed.t
        ends: Any = passed.alpha
        if self.of == "response":
            pairs = zip(passed.alpha, passed.border_multipliers, strict=True)
            ends = tuple(problem.response(*end) for end in pairs)
        values = values_on(
            problem.model, self.f, self.of, passed.t, ends, passed.border_multipliers
        )
        found = zeros_on(start, stop, values)
        jump = jump_between(self._last, start, values)
        self._last = values[2]
        self.zero = jump or (found[0] if found else None)
