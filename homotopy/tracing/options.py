"""The options of a trace."""

from __future__ import annotations

import copy
from typing import Any, Self

import attrs
import numpy as np

from homotopy.conditional import ConditionalSolver, osqp_solver
from homotopy.errors import ModelError
from homotopy.model import LossModel
from homotopy.tracing.tolerances import Clocks, TraceTolerances
from homotopy.tracker import Tolerances, Windows
from homotopy.tracker.tolerances import Pauses, flattened


@attrs.frozen(eq=False)
class Options:
    """The options of `homotopy.Homotopy`, which documents them."""

    model: LossModel
    d_step: str = attrs.field(default="auto", kw_only=True)
    solver: ConditionalSolver = attrs.field(default=osqp_solver, kw_only=True)
    max_breakpoints: int | None = attrs.field(default=None, kw_only=True)
    max_seconds: float | None = attrs.field(default=None, kw_only=True)
    tolerances: Tolerances = attrs.field(default=Tolerances(), kw_only=True)
    windows: Windows = attrs.field(default=Windows(), kw_only=True)
    tracing: TraceTolerances = attrs.field(default=TraceTolerances(), kw_only=True)

    def __attrs_post_init__(self) -> None:
        if isinstance(self.model, type) and issubclass(self.model, LossModel):
            raise ModelError(
                f"Homotopy: model must be an instance, got the class {self.model.__name__}; make "
                f"one, {self.model.__name__}(...)"
            )
        if not isinstance(self.model, LossModel):
            raise ModelError(f"Homotopy: model must be a LossModel, got {self.model!r}")
        if self.d_step not in ("auto", "homotopy", "osqp"):
            raise ModelError(
                f"Homotopy: d_step must be 'auto', 'homotopy' or 'osqp', got {self.d_step!r}"
            )
        limit = self.max_breakpoints
        if limit is not None and (not isinstance(limit, int | np.integer) or limit < 1):
            raise ModelError(f"Homotopy: max_breakpoints must be a positive integer, got {limit!r}")
        seconds = self.max_seconds
        if seconds is not None and not (
            isinstance(seconds, int | float | np.number) and seconds > 0
        ):
            raise ModelError(f"Homotopy: max_seconds must be a positive number, got {seconds!r}")

    def of(self, model: LossModel) -> Self:
        """Return the same options for another model."""
        other = copy.copy(self)
        object.__setattr__(other, "model", model)
        return other

    def described(self) -> dict[str, Any]:
        """Return what a path depends on besides the model, by name, as JSON will return it (limits
        do not matter, and clocks do not change the arithmetic)."""
        solver: Any = self.solver
        name = getattr(solver, "__qualname__", type(solver).__qualname__)
        said = {"d_step": self.d_step, "solver": f"{solver.__module__}.{name}"}
        clocks = {field.name for kind in (Pauses, Clocks) for field in attrs.fields(kind)}
        for group in ("tolerances", "windows", "tracing"):
            values = flattened(getattr(self, group))
            said |= {f"{group}.{key}": value for key, value in values.items() if key not in clocks}
        return said
