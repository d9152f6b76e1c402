"""What-if questions at an optimum: another alpha for one row, a row removed, a new row."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from homotopy.arrays import Array, Index
from homotopy.errors import ModelError, PathError, TraceError
from homotopy.forking.frozen import Frozen, Tables, frozen_at
from homotopy.forking.grown import roomy, rows_added, write_row
from homotopy.forking.leave_one_out import LeftOut, leave_out
from homotopy.forking.result import Moved, Optimum, Way
from homotopy.forking.tolerances import FORK_TOLERANCES
from homotopy.forking.walker import Walker
from homotopy.model import LossModel, NewRow, Predictor
from homotopy.path import Path
from homotopy.path.on_segments import OnSegments
from homotopy.path.recorded import segments_of

__all__ = ["Fork"]


class Fork:
    """The optimum of a path at one t, from which single rows can be moved, removed or added.

    Made by `Path.fork`.  A move takes the alpha of one row to a value and follows the optimum of
    all others, by the same pivots as a path.  It ends at the exact optimum of the problem in which
    that alpha is prescribed.  Moves can follow each other; `restore` goes back to the optimum of
    the path, to the last bit.

    Every row stays on the convex branch of its polyline that it occupies at t.  For a convex
    problem that is the whole polyline.  For a ramp loss it is not: an outlier stays an outlier, and
    a row that would jump stops at a wall instead (``moved.partition()``).

    Attributes
    ----------
    path : Path
    t : float
    side : str
    """

    def __init__(self, path: Path, t: float, side: str = "after") -> None:
        on = OnSegments(path)
        k, place = on.locate(t, side)
        self.path, self.t, self.side = path, place, side
        piece = path.segments.pieces(k)
        frozen = frozen_at(path.problem, place, piece)
        self._mover = Walker(frozen, piece, on.alpha(k, place), on.b(k, place))
        self._added: list[NewRow] = []

    @property
    def model(self) -> LossModel:
        """The model of the path."""
        return self.path.model

    @property
    def added(self) -> tuple[NewRow, ...]:
        """The rows added so far; they are numbered after those of the model."""
        return tuple(self._added)

    @property
    def held(self) -> dict[int, float]:
        """The rows whose alpha is prescribed, with its value."""
        return dict(self._mover.held)

    @property
    def moved(self) -> bool:
        """Whether anything differs from the optimum of the path."""
        return bool(self._mover.held or self._added)

    def __repr__(self) -> str:
        n, name = self._rows, self.model.parameter
        held = f", {len(self.held)} held" if self.held else ""
        return f"<Fork of {type(self.model).__name__} at {name}={self.t:.6g}: {n} rows{held}>"

    @property
    def _rows(self) -> int:
        return self.path.problem.gram.size + len(self._added)

    # ------------------------------------------------------------------ the present state

    def optimum(self) -> Optimum:
        """Return the present optimum."""
        return Optimum(**self._state())

    def _state(self) -> dict[str, Any]:
        mover, n, ahead = self._mover, self._rows, self._mover.walk_end
        if ahead is None:
            mover.write_alpha()
            point = mover.alpha, mover.u + mover.coords.status.miss, mover.b, np.array(mover.piece)
            tables = mover.tables(n)
        else:
            # Only held rows are off their polylines, and those of the model never change.
            point, tables = (ahead.alpha, ahead.response, ahead.b, ahead.piece), mover.own
        return {
            "alpha": point[0][:n],
            "response": point[1][:n],
            "border_multipliers": point[2],
            "held": self.held,
            "piece": point[3][:n],
            "names": mover.frozen.names,
            "frozen": functools.partial(self._frozen, tables, self.held, self.added),
            "model": self.model,
            "added": self.added,
        }

    def _frozen(
        self,
        tables: Tables,
        held: Mapping[int, float],
        added: tuple[NewRow, ...],
        moving: int | None = None,
        span: tuple[float, float] = (0.0, 0.0),
    ) -> Frozen:
        """Return the problem with these polylines and rows; the alpha of row `moving` is t."""
        own, frozen = self.path.problem, self._mover.frozen
        rows = own.gram.size + len(added)
        tables = tables.first(rows)
        for row, value in held.items():
            # (Ctrl-C may leave a row that is held and not yet added.)
            if row < rows:
                tables.put(row, 0.0 if row == moving else value)
        gram, border = rows_added(own, added) if added else (own.gram, own.border)
        return Frozen(gram, (border, frozen.border_target), tables, frozen.names, moving, span)

    def decision_function(self, X: Any) -> Array:
        """Return the fitted function at new data, at the present optimum."""
        return self.optimum().decision_function(X)

    # ------------------------------------------------------------------ moves

    def free_row(self, row: int) -> int:
        """Return `row` as a non-negative row number; raise `PathError` if there is no such row."""
        if isinstance(row, bool) or not isinstance(row, int | np.integer):
            raise PathError(f"row must be a row number, got {row!r}")
        if not -self._rows <= row < self._rows:
            raise PathError(f"row {row} does not exist; there are {self._rows} rows")
        return int(row) % self._rows

    def push(self, row: int, alpha: float, nodes: bool = False) -> Moved:
        """Take the alpha of `row` to a value and follow the optimum of all other rows.

        Parameters
        ----------
        row : int
        alpha : float
        nodes : bool
            Whether to record every break-point of the move (``moved.nodes``, `Moved.trail`).

        Returns
        -------
        Moved
            The optimum with that alpha prescribed.  Until `release` or `restore`, the row need not
            lie on its polyline.
        """
        row, value = self.free_row(row), _finite(alpha, "alpha")
        if nodes:
            return self._push_recorded(row, value)
        with self._trying(row, value):
            self._mover.hold(row, value)
        return Moved(**self._state(), row=row)

    @contextlib.contextmanager
    def _trying(self, row: int, value: float) -> Iterator[None]:
        """If the move inside fails, restore the base and say why."""
        try:
            yield
        except BaseException as error:
            self._mover.recover()
            self._added.clear()
            if not isinstance(error, TraceError):
                raise
            raised = TraceError(
                f"row {row} cannot be taken to alpha={value:.17g} at "
                f"{self.model.parameter}={self.t:.17g} (the fork has been restored): {error}"
            )
            # Whether it is proven that there is no such optimum.
            raised.infeasible = getattr(error, "infeasible", False)  # type: ignore[attr-defined]
            raise raised from error

    def _push_recorded(self, row: int, value: float) -> Moved:
        with self._trying(row, value):
            found = self._mover.try_recorded_walk(row, value)
        if found is None:
            return self._follow_recorded(row, value)
        state, way = self._state(), Way.of_nodes(row, self._rows, found)

        @functools.cache
        def nodes() -> Path:
            return way.path(state["frozen"](row, (float(way.t[0]), value)))

        return Moved(**state, row=row, way=way, nodes=nodes)

    def _follow_recorded(self, row: int, value: float) -> Moved:
        """Do the same as `_push_recorded` by a route of the tracker."""
        mover, n = self._mover, self._rows
        mover.catch_up()
        mover.write_alpha()
        first = np.array(mover.piece[:n])
        first[row] = 0
        mover.begin_record()
        with self._trying(row, value):
            mover.hold_by_route(row, value)
        if not mover.end_record(value):
            self.restore()
            raise TraceError(
                f"row {row} could not be followed to alpha={value:.17g}, only solved for there, so "
                "the break-points are unknown; push without nodes=True (the fork has been restored)"
            )
        state, segments = self._state(), segments_of(mover.record, mover.cursor, first)
        span = float(segments.start[0]), float(segments.stop[-1])
        path = state["frozen"](row, span).path(segments)
        return Moved(**state, row=row, way=Way.of_path(row, path), nodes=lambda: path)

    def remove(self, row: int, nodes: bool = False) -> Moved:
        """Take a row out of the problem: its alpha goes to 0 and stays there."""
        return self.push(row, 0.0, nodes)

    def release(self, row: int) -> Moved:
        """Put a held row back on its own polyline: the optimum with that row in the problem."""
        row = self.free_row(row)
        if row not in self._mover.held:
            raise PathError(f"row {row} is not held; push or remove it first")
        with self._trying(row, self._mover.held[row]):
            self._mover.release(row)
        return Moved(**self._state(), row=row)

    def insert(self, x: Any, target: Any = None, cost: float | None = None) -> int:
        """Add a row with alpha 0 and return its number; then `push` or `release` it.

        Parameters
        ----------
        x : array (d,)
            The row, in the form that the model takes (for a precomputed kernel: its values with
            the rows of the model, then its own diagonal).
        target : float or label
        cost : float, optional
            The weight of its loss; by default that of a row of weight 1.
        """
        model = self.model
        if not isinstance(model, Predictor):
            raise ModelError(
                f"{type(model).__name__} is not a Predictor and cannot make a row from data; pass "
                "a NewRow to insert_row"
            )
        others = tuple(row.source for row in self._added)
        return self.insert_row(model.new_row(x, target, cost, self.t, others))

    def insert_row(self, new: NewRow) -> int:
        """Add a row with alpha 0 and return its number; see `NewRow`."""
        row = self._rows
        self._mover.catch_up()
        if row == self._mover.u.size:
            self._grow()
        write_row(self._mover, new, row)
        self._added.append(new)
        return row

    def add(self, x: Any, target: Any = None, cost: float | None = None) -> Moved:
        """Return the optimum with a new row in the problem; see `insert`."""
        return self.release(self.insert(x, target, cost))

    def add_row(self, new: NewRow) -> Moved:
        """Return the optimum with a new row in the problem; see `NewRow`."""
        return self.release(self.insert_row(new))

    def restore(self) -> None:
        """Go back to the optimum of the path."""
        self._mover.restore()
        self._added.clear()

    def _grow(self) -> None:
        """Make space for more rows."""
        old, n = self._mover, self.path.problem.gram.size
        spare = 2 * (old.u.size - n) or FORK_TOLERANCES.first_room

        def longer(array: Any) -> Any:
            return np.concatenate([array[:n], np.zeros(spare, array.dtype)])

        base = old.base
        frozen = roomy(self.path.problem, old.frozen, spare)
        mover = Walker(frozen, longer(base.piece), longer(base.alpha), base.b, n)
        for k, new in enumerate(self._added):
            write_row(mover, new, n + k)
        if old.held or mover.held:
            old.write_alpha()
            mover.move_to(old)
        self._mover = mover

    # ------------------------------------------------------------------ many rows

    def hold_each(
        self, rows: Index, values: Array, alphas: bool = False
    ) -> tuple[Array, Array, Array]:
        """Take the alpha of each row in turn to its value, always from the present optimum.

        Returns
        -------
        response : array (k,)
            The response of each row itself.
        border_multipliers : array (k, m)
        alpha : array (k, n)
            Empty unless `alphas` is True.
        """
        response, b, found = self._mover.from_here(rows, values, alphas)
        return response, b, found[:, : self._rows]

    def leave_one_out(
        self,
        rows: Any = None,
        *,
        at: Any = None,
        n_jobs: int | None = None,
        progress: bool = False,
    ) -> LeftOut:
        """Leave out each row in turn, exactly.

        Parameters
        ----------
        rows : list of int, optional
            Which rows; all that are not held by default.
        at : array (N, d), optional
            New rows at which to evaluate the decision function without each row.
        n_jobs : int, optional
            Number of processes (joblib); by default only this one.
        progress : bool
            Whether to show a progress bar.
        """
        return leave_out(self, rows, at, n_jobs, progress)


def _finite(value: Any, name: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise PathError(f"{name} must be a number, got {value!r}") from None
    if not np.isfinite(number):
        raise PathError(f"{name} must be finite, got {number}")
    return number
