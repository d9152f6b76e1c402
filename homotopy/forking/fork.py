"""An optimum that can be asked: what if this row had another alpha, were not there, were new?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from homotopy.errors import ModelError, PathError, TraceError
from homotopy.forking.frozen import Frozen, Tables, frozen_problem
from homotopy.forking.grown import roomy_problem, rows_added, write_row
from homotopy.forking.leave_one_out import LeftOut, leave_out
from homotopy.forking.mover import Mover
from homotopy.forking.result import Moved, Optimum
from homotopy.forking.tolerances import FORK_TOLERANCES
from homotopy.model import LossModel, NewRow, Predictor
from homotopy.path.path import Path, Status
from homotopy.path.recorded import segments_of

__all__ = ["Fork"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]


class Fork:
    """The optimum of a path at one t, with its factor, from which single rows are moved.

    Made by `Path.fork`.  A move takes the alpha of one row to a value and everything else along, by
    the pivots that any path is made of; it ends at the exact optimum of the problem in which that
    alpha is prescribed.  Moves may follow each other; `restore` goes back to the optimum of the
    path, to the last bit.

    Every row keeps to the convex branch of its polyline on which it stands at t.  Of a convex
    problem that is all of it.  Of a ramp loss it is not: what has been an outlier stays one, and a
    row that would jump stands on a wall instead (``moved.partition()``).

    Attributes
    ----------
    path : Path
    t : float
    side : str
    """

    def __init__(self, path: Path, t: float, side: str = "after") -> None:
        k, place = path._locate(t, side)
        self.path, self.t, self.side = path, place, side
        piece = path.segments.pieces(k)
        self._problem = frozen_problem(path.problem, place, piece)
        self._mover = Mover(self._problem, piece, path._alpha_on(k, place), path._b_on(k, place))
        self._added: list[NewRow] = []

    @property
    def model(self) -> LossModel:
        """The model of the path."""
        return self.path.model

    @property
    def added(self) -> tuple[NewRow, ...]:
        """The rows that were added; they come after those of the model."""
        return tuple(self._added)

    @property
    def held(self) -> dict[int, float]:
        """The rows whose alpha is prescribed, and what it is."""
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

    # ------------------------------------------------------------------ where it stands

    def optimum(self) -> Optimum:
        """The present optimum."""
        return Optimum(**self._state())

    def _state(self) -> dict[str, Any]:
        mover, n = self._mover, self._rows
        mover.write_alpha()
        piece, held = np.array(mover.piece[:n]), self.held
        added, lines = self.added, mover.model_lines
        slope, bend = lines.slope.at[:n].copy(), lines.slope.bend[:n].copy()
        tables = Tables(slope, lines.corner.at[:n].copy(), bend)

        def frozen() -> Frozen:
            return self._frozen(tables, added)

        return {
            "alpha": mover.alpha[:n],
            "response": (mover.u + mover.here.spot.miss)[:n],
            "border_multipliers": mover.b,
            "held": {row: value for row, value in held.items() if row < n},
            "piece": piece,
            "frozen": frozen,
            "model": self.model,
            "added": added,
        }

    def _frozen(
        self,
        tables: Tables,
        added: tuple[NewRow, ...],
        moving: int | None = None,
        span: tuple[float, float] = (0.0, 0.0),
    ) -> Frozen:
        """The problem with these polylines and rows."""
        own, frozen = self.path.problem, self._problem.model
        assert isinstance(frozen, Frozen)
        gram, border = rows_added(own, added) if added else (own.gram, own.border)
        target = self._problem.target0
        return Frozen(gram, (border, target), tables, frozen.names, moving, span)

    def decision_function(self, X: Any) -> Array:
        """The fitted function at new data, at the present optimum."""
        return self.optimum().decision_function(X)

    # ------------------------------------------------------------------ moves

    def free_row(self, row: int) -> int:
        """`row`, if there is one of that number."""
        if isinstance(row, bool) or not isinstance(row, int | np.integer):
            raise PathError(f"row must be a row number, got {row!r}")
        if not -self._rows <= row < self._rows:
            raise PathError(f"row {row} does not exist; there are {self._rows} rows")
        return int(row) % self._rows

    def push(self, row: int, alpha: float, nodes: bool = False) -> Moved:
        """Take the alpha of `row` to a value, and everything else along.

        Parameters
        ----------
        row : int
        alpha : float
        nodes : bool
            Whether every break-point on the way is kept (``moved.nodes``, `Moved.trail`).

        Returns
        -------
        Moved
            The optimum with that alpha prescribed.  The row has left its polyline until `release`
            or `restore`: where its response comes to lie says at which corner that alpha would be
            its optimum.
        """
        row, value = self.free_row(row), _finite(alpha, "alpha")
        if nodes:
            return self._push_recorded(row, value)
        self._try(row, value, lambda: self._mover.hold(row, value))
        return Moved(**self._state(), row=row)

    def _try(self, row: int, value: float, move: Callable[[], None]) -> None:
        """Make a move; where there is none, go back to the base and say why."""
        try:
            move()
        except TraceError as error:
            self._mover.go_back_anew()
            self._added.clear()
            raise TraceError(
                f"row {row} cannot be taken to alpha={value:.17g} at "
                f"{self.model.parameter}={self.t:.17g} (the fork has been restored): {error}"
            ) from error
        except BaseException:
            self._mover.go_back_anew()
            self._added.clear()
            raise

    def _push_recorded(self, row: int, value: float) -> Moved:
        mover, n = self._mover, self._rows
        mover.write_alpha()
        first = np.array(mover.piece[:n])
        first[row] = 0
        mover.begin_record()
        self._try(row, value, lambda: mover.hold(row, value))
        if not mover.end_record(value):
            self.restore()
            raise TraceError(
                f"row {row} could not be followed to alpha={value:.17g}, only solved for there: "
                "the way is not known (push without nodes=True; the fork has been restored)"
            )
        state = self._state()
        tables = state["frozen"]().tables.flat(row)
        segments = segments_of(mover.rec, mover.cursor, first)
        span = float(segments.start[0]), float(segments.stop[-1])
        frozen = self._frozen(tables, self.added, row, span)
        way = Path(frozen, segments, (), Status.COMPLETE, span, {}, problem=frozen.problem())
        return Moved(**state, row=row, nodes=way)

    def remove(self, row: int, nodes: bool = False) -> Moved:
        """Take a row out of the problem: its alpha goes to 0 and stays there."""
        return self.push(row, 0.0, nodes)

    def release(self, row: int) -> Moved:
        """Let a row that is held go back to its own polyline: the optimum with that row in it."""
        row = self.free_row(row)
        if row not in self._mover.held:
            raise PathError(f"row {row} is not held; push or remove it first")
        value = self._mover.held[row]
        self._try(row, value, lambda: self._mover.release(row))
        return Moved(**self._state(), row=row)

    def insert(self, x: Any, target: Any = None, cost: float | None = None) -> int:
        """A new row, with alpha 0; its number.  `push` moves it, `release` lets it settle.

        Parameters
        ----------
        x : array (d,)
            As the model takes its rows (of a precomputed kernel: its values with the rows of the
            model, then its own diagonal).
        target : float or label
        cost : float, optional
            The weight of its loss; that of a row of weight 1 by default.
        """
        model = self.model
        if not isinstance(model, Predictor):
            raise ModelError(
                f"{type(model).__name__} does not say how a new row is made; use insert_row"
            )
        if self._added:
            rows = tuple(row.source for row in self._added)
            return self.insert_row(model.new_row(x, target, cost, self.t, rows))
        return self.insert_row(model.new_row(x, target, cost, self.t, ()))

    def insert_row(self, new: NewRow) -> int:
        """A new row, with alpha 0; its number.  See `NewRow`."""
        row = self._rows
        if row == self._mover.u.size:
            self._grow()
        write_row(self._mover, new, row)
        self._added.append(new)
        return row

    def add(self, x: Any, target: Any = None, cost: float | None = None) -> Moved:
        """The optimum with a new row in the problem; see `insert`."""
        return self.release(self.insert(x, target, cost))

    def add_row(self, new: NewRow) -> Moved:
        """The optimum with a new row in the problem; see `NewRow`."""
        return self.release(self.insert_row(new))

    def restore(self) -> None:
        """Go back to the optimum of the path."""
        self._mover.restore()
        self._added.clear()

    def _grow(self) -> None:
        """Make room for more rows."""
        old, n = self._mover, self.path.problem.gram.size
        spare = 2 * (old.u.size - n) or FORK_TOLERANCES.first_room
        assert isinstance(self._problem.model, Frozen)
        problem = roomy_problem(self.path.problem, self._problem.model, spare)

        def longer(array: Any) -> Any:
            return np.concatenate([array[:n], np.zeros(spare, array.dtype)])

        base = old.base
        mover = Mover(problem, longer(base.piece), longer(base.alpha), base.b)
        for k, new in enumerate(self._added):
            write_row(mover, new, n + k)
        if old.held or mover.held:
            old.write_alpha()
            mover.move_to(old)
        self._problem, self._mover = problem, mover

    # ------------------------------------------------------------------ many rows

    def hold_each(
        self, rows: Index, values: Array, alphas: bool = False
    ) -> tuple[Array, Array, Array]:
        """Take the alpha of one row after the other to its value, each from the present optimum.

        Returns
        -------
        response : array (k,)
            That of each row itself.
        border_multipliers : array (k, m)
        alpha : array (k, n)
            Only if `alphas`; else it has no rows.
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
            Which; all by default.
        at : array (N, d), optional
            New rows at which the decision function without each row is wanted too.
        n_jobs : int, optional
            Processes (joblib); none but this one by default.
        progress : bool
            Whether to show a bar.
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
