"""A mover that walks through the tableau of its base where it can.

After a walk the fork is *ahead* of its tracker: the end of the walk is known, but the tracker is
still at the base, so going back costs nothing.  The tracker follows only if another move begins
there.
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from homotopy.arrays import Array, Index
from homotopy.forking.frozen import Frozen
from homotopy.forking.mover import Mover
from homotopy.forking.tableau import Tableau
from homotopy.forking.tolerances import FORK_TOLERANCES
from homotopy.tracker import Failure, Kind, state

__all__ = ["WalkEnd", "Walker"]

Found = tuple[Array, Array, Array]


@attrs.frozen(eq=False)
class WalkEnd:
    """The end of a walk: `row` is held at `value`, the rest is optimal."""

    row: int
    value: float
    alpha: Array
    response: Array
    b: Array
    piece: Index


class Walker(Mover):
    """A `Mover` with the tableau of its base.

    Attributes
    ----------
    walk_end : WalkEnd or None
        The present point, if the tracker has not followed a walk yet.
    own_rows : int
        Rows from this number on may be overwritten by added ones.
    """

    def __init__(
        self, frozen: Frozen, piece: Index, alpha: Array, b: Array, own_rows: int | None = None
    ) -> None:
        self.walk_end: WalkEnd | None = None
        # Whether the tracker has left the base, and single moves so far.
        self._left_base, self._moves = False, 0
        # The tableau of a base, after an array that identifies that base.
        self._table: tuple[Any, Tableau | None] = (None, None)
        self._written: set[int] = set()
        super().__init__(frozen, piece, alpha, b)
        self.own_rows = self.u.size if own_rows is None else own_rows

    # ------------------------------------------------------------------ the tableau

    def tableau(self) -> Tableau | None:
        """Return the tableau of the base; None if it has none."""
        if self._table[0] is not self.base.u:
            table = Tableau.of(self)
            self._table = self.base.u, table
            if table is not None:
                for row in self._written:
                    self._write_into(table, row)
        return self._table[1]

    def _write_into(self, table: Tableau, row: int) -> None:
        table.write(row, float(self.u[row]), float(self.coords.status.weight[row]))

    def row_written(self, row: int) -> None:
        """Update the tableau after a row has been written over an unused one."""
        self._written.add(row)
        table = self._table[1]
        if table is not None and self._table[0] is self.base.u and not self._left_base:
            self._write_into(table, row)

    def _walk(
        self, table: Tableau, rows: Index, values: Array, job: int, found: Found
    ) -> tuple[int, int]:
        """Walk from row number `job` on; return the code at its end, and the number of the row."""
        code = state.PAUSE
        while code == state.PAUSE:
            table.walk.steps.left = self.tolerances.pauses.burst
            if self.pulse is not None:
                self.pulse()
            code, job = table.run(rows, values, job, found)
        return code, job

    # ------------------------------------------------------------------ moves

    def hold(self, row: int, value: float) -> None:
        if not self.try_walk(row, value):
            self.catch_up()
            self.hold_by_route(row, value)

    def hold_by_route(self, row: int, value: float) -> None:
        """Take a row to its value by a route of the tracker."""
        self._left_base = True
        super().hold(row, value)

    def try_walk(self, row: int, value: float) -> bool:
        """Walk from the base, if the tracker is there; return whether the walk arrived."""
        table = self._usable_tableau(row)
        if table is None:
            return False
        one = np.array([row]), np.array([value])
        code, _ = self._walk(table, *one, 0, self.answers(1, False))
        if code == state.UNBALANCED and table.cannot_balance(row, value, self.problem.target0):
            failure = Failure(
                f"no optimum exists for alpha[{row}]={value:.17g}: the border equations cannot be "
                "balanced (B^T alpha = e has no solution within the slopes)",
                Kind.NO_OPTIMUM,
            )
            failure.infeasible = True  # type: ignore[attr-defined]
            raise failure
        if code != state.ARRIVED:
            return False
        self.walk_end = WalkEnd(row, value, *table.point())
        self.held[row] = value
        return True

    def try_recorded_walk(self, row: int, value: float) -> tuple[Any, ...] | None:
        """Do as `walks` and return the nodes of the move (`Tableau.recorded`); None if it did not
        arrive."""
        # (Use the tableau even for a first move: it gives all values at every node.)
        self._moves, most = self._moves + FORK_TOLERANCES.patience, FORK_TOLERANCES.first_nodes
        table = self._usable_tableau(row)
        if self.walk_end is not None and self.walk_end.value != self.base.alpha[row]:
            # The move would begin at another point.
            return None
        while table is not None:
            table.begin_record(most)
            try:
                arrived = self.try_walk(row, value)
                full = int(table.walk.steps.nodes[0]) == most
            finally:
                nodes = table.recorded()
            if arrived:
                return nodes
            if not full:
                return None
            most *= 4
        return None

    def _usable_tableau(self, row: int) -> Tableau | None:
        """Return the tableau, if the tracker is at its base with no other row ahead, and there have
        been enough moves for a tableau to pay."""
        other = self.walk_end is not None and self.walk_end.row != row
        if self._left_base or self._refactored or other:
            return None
        self._moves += 1
        known = self._table[0] is self.base.u or row in self._written
        if not known and self._moves <= FORK_TOLERANCES.patience:
            return None
        return self.tableau()

    def catch_up(self) -> None:
        """Take the tracker to the point ahead."""
        ahead, self.walk_end = self.walk_end, None
        if ahead is not None:
            self.hold_by_route(ahead.row, ahead.value)

    def release(self, row: int) -> None:
        self.catch_up()
        self._left_base = True
        super().release(row)

    def move_to(self, other: Mover) -> None:
        self._left_base = True
        super().move_to(other)

    def mark(self) -> None:
        super().mark()
        self._left_base = False

    # ------------------------------------------------------------------ many rows

    def hold_each(self, rows: Index, values: Array, alphas: bool) -> Found:
        """Take the alpha of each row in turn from the base to its value, and go back each time.
        Return the response of that row, b, and every alpha if `alphas`.

        If a row cannot be followed, the error has its number (``.row``).
        """
        found, table, job = self.answers(rows.size, alphas), self.tableau(), 0
        if table is not None:
            table.prepare(rows)
        while job < rows.size:
            if table is not None:
                code, job = self._walk(table, rows, values, job, found)
                if code == state.ARRIVED:
                    break
            self.follow_one(job, int(rows[job]), float(values[job]), found)
            job += 1
        return found

    def from_here(self, rows: Index, values: Array, alphas: bool) -> Found:
        """Do `hold_each` from the present point, to which rows have been moved."""
        ahead = self.walk_end
        self.catch_up()
        if not (self._left_base or self.held or self._refactored):
            return self.hold_each(rows, values, alphas)
        base, held, table = self.base, self._held_at_base, self._table
        self.mark()
        try:
            return self.hold_each(rows, values, alphas)
        finally:
            now = dict(self.held)
            self.base, self._held_at_base, self._table = base, held, table
            self._refactored = self._left_base = True
            if ahead is not None:
                # The same point as before, to the last bit.
                self.go_back_anew()
                self.walk_end, self.held = ahead, now

    # ------------------------------------------------------------------ back

    def restore(self) -> None:
        self._written.clear()
        if self._left_base or self._refactored:
            super().restore()
        self.walk_end, self.held = None, dict(self._held_at_base)

    def recover(self) -> None:
        """Go back to the base after a failure."""
        if self._left_base:
            self.go_back_anew()
        self.restore()

    def go_back(self) -> None:
        super().go_back()
        self.walk_end, self._left_base = None, False
