"""The outcome of a move of a fork."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from homotopy.errors import ModelError
from homotopy.forking.frozen import Frozen
from homotopy.forking.way import Way
from homotopy.model import LossModel, NewRow, Predictor
from homotopy.path import Certificate, Path, Segments, Status
from homotopy.path.segments import read_only

__all__ = ["Moved", "Optimum", "evaluator_of", "one_point"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]


def one_point(frozen: Frozen, piece: Index, alpha: Array, b: Array) -> Path:
    """Return a path of one point."""
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
    """Return the decision function at the rows X for many points, as `Predictor.evaluator` does,
    including the contributions of added rows."""
    if not isinstance(model, Predictor):
        raise ModelError(
            f"{type(model).__name__} has no decision function; derive it from homotopy.Predictor "
            "and write decision_function to evaluate a fork on new data"
        )
    own, parts = model.evaluator(X), []
    for row in added:
        if row.decision is None:
            raise ModelError(
                "a row was added without its part of the decision function; give "
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
        One entry per row; added rows come last.
    border_multipliers : array (m,)
        b.
    held : dict of int to float
        The rows whose alpha is prescribed, with its value; 0 for removed rows.
    """

    alpha: Array = attrs.field(converter=read_only)
    response: Array = attrs.field(converter=read_only)
    border_multipliers: Array = attrs.field(converter=read_only)
    held: dict[int, float]
    _piece: Index = attrs.field(repr=False)
    _names: tuple[str, ...] = attrs.field(repr=False)
    _frozen: Callable[[], Frozen] = attrs.field(repr=False)
    _model: LossModel = attrs.field(repr=False)
    _added: tuple[NewRow, ...] = attrs.field(repr=False)

    @property
    def intercept(self) -> Any:
        """The intercept of the decision function, as in `Path.intercept`."""
        n = self.alpha.size - len(self._added)
        own = self._model.intercept(self.alpha[:n], self.border_multipliers)
        more = [row.offset * a for row, a in zip(self._added, self.alpha[n:], strict=True)]
        return own + float(sum(more)) if any(more) else own

    def decision_function(self, X: Any) -> Array:
        """Return the fitted function at new data; the model must be a `Predictor`."""
        values = evaluator_of(self._model, self._added, X)
        return np.asarray(values(self.alpha[:, None], self.border_multipliers[:, None])[:, 0])

    def partition(self) -> dict[str, Index]:
        """Map each piece name to its rows.  Held rows are on no piece; a *wall* is the end of a
        row's convex branch at a jump."""
        free = np.ones(self.alpha.size, dtype=bool)
        free[list(self.held)] = False
        named = enumerate(self._names)
        return {name: np.flatnonzero(free & (self._piece == p)) for p, name in named}

    def certify(self, tol: float = 1e-8) -> Certificate:
        """Check the optimality conditions from alpha and the data alone; see `Certificate`."""
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
        If requested, the break-points of the move: a path whose parameter is that row's alpha.
    """

    row: int
    _way: Way | None = attrs.field(default=None, repr=False)
    _nodes: Callable[[], Path] | None = attrs.field(default=None, repr=False)

    @property
    def nodes(self) -> Path | None:
        return None if self._nodes is None else self._nodes()

    @property
    def way(self) -> Way | None:
        """Everything at every node of the move, if requested."""
        return self._way

    @property
    def own_response(self) -> float:
        """The response of the row that was moved."""
        return float(self.response[self.row])

    def trail(self) -> tuple[Array, Array]:
        """Return the nodes of the piecewise linear function alpha_row -> u_row along the move.

        Returns
        -------
        alpha, u : arrays (k,)
            In the order of travel.  Where b is not unique for one alpha, there are two nodes with
            the same alpha: every u between them is optimal for it.
        """
        if self._way is None:
            raise ModelError("the move was not recorded; call push(row, alpha, nodes=True)")
        return self._way.trail()
