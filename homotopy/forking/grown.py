"""A frozen problem with space for rows added later.

Unused rows are zero rows of Q and of the border, held at alpha = 0, so they have no influence.  A
new row overwrites one of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from homotopy.arrays import Array, Index
from homotopy.errors import ModelError
from homotopy.forking.frozen import Frozen, Tables, convex_branches
from homotopy.gram import Gram, KernelGram, LinearGram
from homotopy.model import NewRow, Problem
from homotopy.model.polyline import Polylines, Snapshot

if TYPE_CHECKING:
    from homotopy.forking.walker import Walker

__all__ = ["Room", "roomy", "rows_added", "write_row"]


class Room(KernelGram):
    """The rows of `gram`, followed by the added rows; unused rows are 0."""

    def __init__(self, gram: Gram, spare: int) -> None:
        n = gram.size
        extra, every = np.zeros((spare, n + spare)), np.arange(n)

        def columns(index: Index) -> Array:
            out = np.empty((index.size, n + spare))
            old = index < n
            out[old, :n] = gram.block(index[old], every)
            out[old, n:] = extra[:, index[old]].T
            out[~old] = extra[index[~old] - n]
            return out

        super().__init__(columns, np.concatenate([gram.diag, np.zeros(spare)]))
        self.extra, self.first = extra, n

    def write(self, row: int, column: Array, diagonal: float) -> None:
        """Set `row` to the products `column` with the rows before it."""
        own = self.extra[row - self.first]
        own[:] = 0.0
        own[:row], own[row] = column, diagonal
        later = self.extra[: row - self.first]
        later[:, row] = column[self.first :]
        self.diag[row] = diagonal
        store, slot = self.rows()
        there = np.flatnonzero(slot >= 0)
        store[slot[there], row] = own[there]
        if slot[row] >= 0:
            store[slot[row]] = own


def _roomy_features(phi: Any, spare: int) -> Any:
    if not sp.issparse(phi):
        return np.vstack([phi, np.zeros((spare, phi.shape[1]))])
    # Store every feature of an unused row, so that a new row can be written in place.
    width = phi.shape[1]
    blank = sp.csr_matrix(
        (
            np.zeros(spare * width),
            np.tile(np.arange(width), spare),
            width * np.arange(spare + 1),
        ),
        shape=(spare, width),
    )
    return sp.vstack([phi, blank], format="csr")


def roomy(problem: Problem, frozen: Frozen, spare: int) -> Frozen:
    """Return the problem of a fork with `spare` unused rows."""
    phi, n, m = problem.gram.features(), *problem.border.shape
    gram = Room(problem.gram, spare) if phi is None else LinearGram(_roomy_features(phi, spare))
    old, corners = frozen.tables, frozen.tables.corner.shape[1]
    tables = Tables(
        np.vstack([old.slope[:n], np.zeros((spare, corners + 1))]),
        np.vstack([old.corner[:n], np.full((spare, corners), np.inf)]),
        np.vstack([old.curvature[:n], np.zeros((spare, corners + 1))]),
    )
    border = np.vstack([problem.border, np.zeros((spare, m))])
    return Frozen(gram, (border, frozen.border_target), tables, frozen.names)


def rows_added(problem: Problem, rows: Sequence[NewRow]) -> tuple[Gram, Array]:
    """Return Q and the border of the model with `rows` appended."""
    border = np.vstack([problem.border, *(row.border for row in rows)])
    phi = problem.gram.features()
    if phi is not None:
        new = np.stack([np.asarray(row.features) for row in rows])
        both = sp.vstack([phi, new], format="csr") if sp.issparse(phi) else np.vstack([phi, new])
        return LinearGram(both), border
    gram = Room(problem.gram, len(rows))
    for k, row in enumerate(rows):
        assert row.column is not None
        gram.write(problem.gram.size + k, np.asarray(row.column), row.diagonal)
    return gram, border


# ------------------------------------------------------------------ a row


def write_row(mover: Walker, new: NewRow, row: int) -> None:
    """Write a new row over the unused `row`, held at alpha = 0."""
    snap = _snapshot(mover, new)
    border = _numbers(new.border, mover.border.shape[1], "border", "")
    product, diagonal = _write_form(mover, new, row)
    mover.border[row] = border
    mover.u[row] = product + float(border @ mover.b)
    tables, own = Tables(snap.slope, snap.corner, snap.curvature), mover.own
    mover.own_kinds[row] = snap.kind[0]
    if not snap.convex:
        # Restrict it to the convex branch around its response.
        first, _ = snap.branches(mover.u[row : row + 1])
        tables = convex_branches(snap, snap.kind, 2 * first)
        mover.own_kinds[row] = tables.polylines(("",) * len(new.polyline)).at(0.0).kind[0]
    own.slope[row], own.corner[row] = tables.slope[0], tables.corner[0]
    own.curvature[row] = tables.curvature[0]
    mover.flatten(row, 0.0)
    mover.held[row] = 0.0
    mover.measure_row(row, diagonal, tables)
    mover.row_written(row)


def _snapshot(mover: Walker, new: NewRow) -> Snapshot:
    """Check the polyline of a new row; reuse the result if the next row has the same one."""
    pieces, known = mover.last_polyline
    if known is not None and pieces is new.polyline:
        return known
    corners = mover.own.corner.shape[1]
    lines = Polylines.compile(new.polyline, 1)
    if lines.corner0.shape[1] != corners:
        raise ModelError(
            f"NewRow: the polyline has {len(lines.names)} pieces, the rows of the model have "
            f"{2 * corners + 1}"
        )
    lines.check(0.0, 0.0)
    snap = lines.at(0.0)
    if isinstance(new.polyline, tuple):
        # (A list could be changed in between.)
        mover.last_polyline = new.polyline, snap
    return snap


def _numbers(given: Any, count: int, what: str, why: str) -> Array:
    numbers = np.asarray(given, dtype=float)
    if given is None or numbers.shape != (count,) or not np.all(np.isfinite(numbers)):
        raise ModelError(f"NewRow: {what} must be {count} finite numbers{why}, got {given!r}")
    return numbers


def _write_form(mover: Walker, new: NewRow, row: int) -> tuple[float, float]:
    """Write the row of Q, or of features; return its product with alpha, and its diagonal."""
    gram = mover.gram
    if isinstance(gram, Room):
        column = _numbers(new.column, row, "column", ", the products with the existing rows")
        if not (np.isfinite(new.diagonal) and new.diagonal >= 0.0):
            raise ModelError(f"NewRow: diagonal must not be negative, got {new.diagonal!r}")
        gram.write(row, column, float(new.diagonal))
        return float(column @ mover.alpha[:row]), float(new.diagonal)
    phi = gram.features()
    width, why = phi.shape[1], " (the quadratic form is given by features)"
    features = _numbers(new.features, width, "features", why)
    if sp.issparse(phi):
        part = slice(phi.indptr[row], phi.indptr[row + 1])
        phi.data[part] = mover.form.data[part] = features
    else:
        phi[row] = mover.form.phi[row, :width] = features
        if mover.fixed.transposed:
            mover.window.packed[:width, row] = features
    gram.diag[row] = diagonal = float(features @ features)
    return float(features @ mover.motion.w[:width]), diagonal
