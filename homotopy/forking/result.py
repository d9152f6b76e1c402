"""What a move of a fork leads to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from homotopy.errors import ModelError
from homotopy.forking.frozen import Frozen
from homotopy.forking.tolerances import FORK_TOLERANCES
from homotopy.model import LossModel, NewRow, Predictor
from homotopy.path import Certificate, Path, Segments, Status
from homotopy.path.segments import read_only

__all__ = ["Moved", "Optimum", "evaluator_of", "one_point"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]


def one_point(frozen: Frozen, piece: Index, alpha: Array, b: Array) -> Path:
    """A path of one point."""
    tables = frozen.tables
    bent = tables.curvature[np.arange(piece.size), piece // 2] > 0.0
    active = np.flatnonzero((piece % 2 == 1) | bent)
    t = frozen.span[0]
    segments = Segments(
        *([t], [t]),
        *([0, active.size], active, alpha[active], alpha[active]),
        *([b], [b], [0, 0], np.empty(0, np.int64), np.empty(0, np.int64), piece),
    )
    frozen.span = (t, t)
    return Path(frozen, segments, (), Status.COMPLETE, (t, t), {}, problem=frozen.problem())


def evaluator_of(
    model: LossModel, added: tuple[NewRow, ...], X: Any
) -> Callable[[Array, Array], Array]:
    """The decision function at the rows X for many points, as `Predictor.evaluator` has it, with
    what rows that were added contribute."""
    if not isinstance(model, Predictor):
        raise ModelError(
            f"{type(model).__name__} has no decision function; derive it from homotopy.Predictor "
            "and write decision_function to evaluate a fork on new data"
        )
    own, parts = model.evaluator(X), []
    for row in added:
        if row.decision is None:
            raise ModelError(
                "a row was added without saying what it does to the decision function; give "
                "NewRow(decision=...) to evaluate the fork on new data"
            )
        parts.append(row.decision(X))
    more = np.stack(parts, axis=1) if parts else None

    def values(alphas: Array, bs: Array) -> Array:
        n = alphas.shape[0] - len(added)
        found = own(alphas[:n], bs)
        return found if more is None else found + more @ alphas[n:]

    return values


@attrs.frozen(eq=False)
class Optimum:
    """An optimum with some rows held.

    Attributes
    ----------
    alpha, response : arrays (n,)
        One entry for each row, those of rows that were added at the end.
    border_multipliers : array (m,)
        b.
    held : dict of int to float
        The rows whose alpha is prescribed, and what it is; 0 for rows that were removed.
    """

    alpha: Array = attrs.field(converter=read_only)
    response: Array = attrs.field(converter=read_only)
    border_multipliers: Array = attrs.field(converter=read_only)
    held: dict[int, float]
    _piece: Index = attrs.field(repr=False)
    _frozen: Callable[[], Frozen] = attrs.field(repr=False)
    _model: LossModel = attrs.field(repr=False)
    _added: tuple[NewRow, ...] = attrs.field(repr=False)

    @property
    def intercept(self) -> Any:
        """The intercept of the decision function, as `Path.intercept` has it."""
        n = self.alpha.size - len(self._added)
        own = self._model.intercept(self.alpha[:n], self.border_multipliers)
        more = [row.offset * a for row, a in zip(self._added, self.alpha[n:], strict=True)]
        return own + float(sum(more)) if any(more) else own

    def decision_function(self, X: Any) -> Array:
        """The fitted function at new data, of a model that is a `Predictor`."""
        values = evaluator_of(self._model, self._added, X)
        return np.asarray(values(self.alpha[:, None], self.border_multipliers[:, None])[:, 0])

    def partition(self) -> dict[str, Index]:
        """Piece name -> rows on it; rows that are held are on none, and a *wall* is where the
        convex branch of a row ends at a jump."""
        free = np.ones(self.alpha.size, dtype=bool)
        free[list(self.held)] = False
        names = self._frozen().names
        return {name: np.flatnonzero(free & (self._piece == p)) for p, name in enumerate(names)}

    def certify(self, tol: float = 1e-8) -> Certificate:
        """Check the conditions from alpha and the data alone; see `Certificate`."""
        point = one_point(self._frozen(), self._piece, self.alpha, self.border_multipliers)
        return point.certify(tol)


@attrs.frozen(eq=False)
class Moved(Optimum):
    """The optimum after a move.

    Attributes
    ----------
    row : int
        The row that was moved.
    nodes : Path or None
        Where it was asked for: the way, a path whose parameter is the alpha of that row.
    """

    row: int
    nodes: Path | None = None

    @property
    def own_response(self) -> float:
        """The response of the row that was moved."""
        return float(self.response[self.row])

    def trail(self) -> tuple[Array, Array]:
        """The piecewise linear function alpha_row -> u_row on the way, by its nodes.

        Returns
        -------
        alpha, u : arrays (k,)
            In the order of travel.  Where b is not unique for one alpha, and slides, there are two
            nodes with the same alpha: all u between them belong to it.
        """
        if self.nodes is None:
            raise ModelError("the way was not recorded; ask for push(row, alpha, nodes=True)")
        segments, problem = self.nodes.segments, self.nodes.problem
        column, border = problem.gram.column(self.row), problem.border[self.row]
        alphas = np.array([pair for ends in self.nodes._sweep() for pair in ends])
        b = np.stack([segments.b_start, segments.b_stop], axis=1).reshape(len(alphas), -1)
        places = np.stack([segments.start, segments.stop], axis=1).ravel()
        own = alphas @ column + b @ border
        # Where one segment ends another begins, as a rule at the same point.
        near = FORK_TOLERANCES.same * np.abs(own).max(initial=0.0)
        again = (np.diff(places) == 0.0) & (np.abs(np.diff(own)) <= near)
        kept = np.concatenate([[True], ~again])
        kept[-1] = True
        return places[kept], own[kept]
