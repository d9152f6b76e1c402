"""The outcome of a move of a fork: the optimum, and the break-points of the move."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np

from homotopy.arrays import Array, Index
from homotopy.errors import ModelError
from homotopy.forking.frozen import Frozen
from homotopy.forking.tolerances import FORK_TOLERANCES
from homotopy.model import LossModel, NewRow, as_predictor
from homotopy.model.polyline import is_free
from homotopy.path import Certificate, Path, Segments
from homotopy.path.on_segments import OnSegments
from homotopy.path.responses import responses_on
from homotopy.path.segments import offsets, read_only
from homotopy.path.tolerances import PATH_TOLERANCES

__all__ = ["Moved", "Optimum", "Way", "evaluator_of"]


def evaluator_of(
    model: LossModel, added: tuple[NewRow, ...], X: Any
) -> Callable[[Array, Array], Array]:
    """Return the decision function at the rows X for many points, as `Predictor.evaluator` does,
    including the contributions of added rows."""
    own, parts = as_predictor(model, "fork").evaluator(X), []
    for row in added:
        if row.decision is None:
            raise ModelError(
                "an added row has no decision function; give "
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
    _frozen: Callable[..., Frozen] = attrs.field(repr=False)
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

    def certify(self, tol: float = PATH_TOLERANCES.proven) -> Certificate:
        """Check the optimality conditions from alpha and the data alone; see `Certificate`."""
        point = self._frozen().point(self._piece, self.alpha, self.border_multipliers)
        return point.certify(tol)


@attrs.frozen(eq=False)
class Way:
    """The recorded segments of a move, each linear in the alpha of the row that moves.

    Attributes
    ----------
    row : int
        The row that moves.
    t : array (q,)
        Its alpha at each node, in the order of travel.
    alpha, response : arrays (q, n)
    border_multipliers : array (q, m)
    first, last : int arrays (k,)
        The nodes at which each segment begins and ends.
    piece : int array (k, n)
        The pieces on each segment.
    """

    row: int
    t: Array
    alpha: Array
    response: Array
    border_multipliers: Array
    first: Index
    last: Index
    piece: Index

    @classmethod
    def of_nodes(cls, row: int, rows: int, nodes: tuple[Any, ...]) -> Way:
        """Return what ``Walker.try_recorded_walk`` has recorded, of the first `rows` rows."""
        t, alpha, u, b, piece = nodes
        first = np.flatnonzero(np.diff(t))
        if not first.size:
            # Nothing moved: one point.
            first = last = np.zeros(1, np.int64)
        else:
            last = first + 1
        return cls(row, t, alpha[:, :rows], u[:, :rows], b, first, last, piece[first, :rows])

    @classmethod
    def of_path(cls, row: int, path: Path) -> Way:
        """Return a move that is recorded as a path."""
        segments = path.segments
        count = len(segments)
        alpha = np.array([end for ends in OnSegments(path).sweep() for end in ends])
        u = np.stack(responses_on(path, range(count)), axis=1).reshape(alpha.shape)
        b = np.stack([segments.b_start, segments.b_stop], axis=1).reshape(2 * count, -1)
        t = np.stack([segments.start, segments.stop], axis=1).ravel()
        piece = np.array([segments.pieces(k) for k in range(count)])
        first = 2 * np.arange(count)
        return cls(row, t, alpha, u, b, first, first + 1, piece)

    def trail(self) -> tuple[Array, Array]:
        """Return the nodes of the function alpha_row -> u_row; see `Moved.trail`."""
        ends = np.stack([self.first, self.last], axis=1).ravel()
        places, own = self.t[ends], self.response[ends, self.row]
        # A segment usually begins at the point where the previous one ends.
        near = FORK_TOLERANCES.same * np.abs(own).max(initial=0.0)
        again = (np.diff(places) == 0.0) & (np.abs(np.diff(own)) <= near)
        kept = np.concatenate([[True], ~again])
        kept[-1] = True
        return places[kept], own[kept]

    def path(self, frozen: Frozen) -> Path:
        """Return the move as a path of the problem in which alpha_row is t."""
        every = np.arange(self.piece.shape[1])
        k, active = np.nonzero(is_free(frozen.tables.curvature, every, self.piece))
        before = np.vstack([self.piece[:1], self.piece[:-1]])
        entered, changed = np.nonzero(self.piece != before)
        count = self.first.size
        segments = Segments(
            start=self.t[self.first],
            stop=self.t[self.last],
            offset=offsets(k, count),
            active=active,
            alpha_start=self.alpha[self.first[k], active],
            alpha_stop=self.alpha[self.last[k], active],
            b_start=self.border_multipliers[self.first],
            b_stop=self.border_multipliers[self.last],
            event=offsets(entered, count),
            changed=changed,
            changed_to=self.piece[entered, changed],
            first_piece=self.piece[0],
        )
        return frozen.path(segments)


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
        """alpha, response, b and pieces at every node of the move, if requested."""
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
