"""What an audit works with, and what it finds before it becomes a report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from homotopy_plugins.auditing.experience import Count
from homotopy_plugins.auditing.gate import Skill
from homotopy_plugins.auditing.jobs import Job, Jobs, job
from homotopy_plugins.auditing.machines import Asked
from homotopy_plugins.auditing.scores import TRACED
from homotopy_plugins.auditing.tables import Table

__all__ = ["Found", "Work"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


@attrs.frozen(eq=False)
class Work:
    """What labels and targets have in common."""

    table: Table
    models: Sequence[Asked]
    level: float
    jobs: Jobs
    notes: list[str]

    @property
    def path_cost(self) -> float:
        """How long a path takes beside other jobs."""
        return (min(self.table.size, TRACED) / 1000.0) ** 2

    def asking(
        self, function: Callable[..., Any], *given: Any, splits: Sequence[tuple[Index, Index]]
    ) -> list[Job]:
        """Every model in every fold; the first is asked though time is up."""
        return [
            job(
                *(function, one.model, one.raw, self.table, *given, train, test),
                cost=one.cost + one.growth * self.table.size / 1000.0,
                needed=who == 0,
            )
            for who, one in enumerate(self.models)
            for train, test in splits
        ]


@attrs.frozen(eq=False)
class Found:
    """Of each row the chance that it is wrong, whether it is named and what decides among equals
    (less is worse); how many are wrong; the other columns of the table; how far each machine was
    relied upon; how well the columns predict the target; rows that are wrong together; the nearest
    rows of each (-1 where there is none); and the evidence of the rows that were learned from."""

    wrong: Array
    named: Flags
    tie: Array
    count: Count
    columns: dict[str, Any]
    weights: dict[str, float]
    skill: Skill
    groups: tuple[Any, ...]
    near: Index
    facts: Array
