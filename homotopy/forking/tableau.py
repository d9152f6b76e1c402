"""The tableau of an optimum: the rates of everything if one coordinate moves, by columns.

With A the active coordinates of the base, N the others and (G = Q + D)

    K = [ G_AA   B_A ]        K [ a    ]   [ -Q_Aj ]                  K [ a    ]   [ e_j ]
        [ B_A^T   0  ]          [ beta ] = [ -B_j  ]  for j in N,       [ beta ] = [  0  ]  in A,

column j of H is a on A, ``Q_Nj + Q_NA a + B_N beta`` (for j in A without the first term) on N, and
then beta, the rate of b.  A column takes one solve with the factor of the base and one product
with the rows of A.  Columns are computed when first needed, many at once if many rows are to be
moved, and reused for every later row (`homotopy.forking.walking`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.linalg.lapack import dpotrs

from homotopy.arrays import Array, Index
from homotopy.forking.tolerances import FORK_TOLERANCES
from homotopy.forking.walk import Lines, Point, Walk, no_nodes, no_steps, no_swap
from homotopy.forking.walking import bound_base, walk_rows
from homotopy.tracker import state
from homotopy.tracker.tolerances import EPS

if TYPE_CHECKING:
    from homotopy.forking.walker import Walker

__all__ = ["Tableau"]


class Tableau:
    """The tableau of the base of a `Walker`, with the data of a walk through it."""

    def __init__(self, mover: Walker) -> None:
        self.gram, self.border = mover.gram, mover.border
        base, rho = mover.base, float(mover.fixed.rho)
        active = self.active = np.array(base.index)
        size, (n, m) = active.size, self.border.shape
        self.factor = np.asfortranarray(base.factor)
        self.rows = self.gram.block(active, np.arange(n))
        border = self.own_border = np.ascontiguousarray(self.border[active])
        self.augment = rho * border
        # The solution for B_A, and the inverse of the Schur complement of the border.
        self.bordered = self._solved(border)
        schur = border.T @ self.bordered
        self.slanted = bool(mover.fixed.slanted)
        self.sound = bool(np.all(np.isfinite(self.rows)))
        if m:
            values = np.linalg.eigvalsh(schur) if size else np.zeros(1)
            self.sound &= bool(values[0] > FORK_TOLERANCES.small * max(values[-1], 0.0))
        self.inverse = np.linalg.inv(schur) if self.sound and m else np.zeros((m, m))
        # Rows from here on may be overwritten (`write`).
        self.own_rows = mover.own_rows
        if self.sound:
            self.walk = self._begun(mover)

    @classmethod
    def of(cls, mover: Walker) -> Self | None:
        """Return the tableau; None if the base has none, or it would be too large."""
        size, n = mover.base.index.size, mover.u.size
        if size * n > FORK_TOLERANCES.columns:
            return None
        made = cls(mover)
        return made if made.sound else None

    def _solved(self, right: Array) -> Array:
        """Solve with ``G_AA + rho B_A B_A^T``."""
        if not right.size:
            return right.copy()
        return np.asarray(dpotrs(self.factor, np.asfortranarray(right), lower=0)[0])

    def _begun(self, mover: Walker) -> Walk:
        base, status, fence = mover.base, mover.coords.status, mover.coords.fence
        tol, own = mover.tolerances, FORK_TOLERANCES
        n, m = self.border.shape
        most = int(np.clip(own.columns // (n + m), min(n, own.least_columns), n))
        moves = np.zeros(n, dtype=np.int64)
        moves[self.active] = 1
        slope, bend, corner = map(np.array, (base.slope.at, base.slope.bend, base.corner.at))
        here = np.take_along_axis(bend, base.piece[:, None] // 2, axis=1)[:, 0]
        slanted = (base.piece % 2 == 0) & (here > 0.0)
        diagonal = np.where(slanted, 1.0 / np.where(slanted, here, 1.0), 0.0)
        basic = moves > 0
        z = np.concatenate([np.where(basic, base.alpha, base.u), base.b])
        x = np.where(basic, base.u + diagonal * base.alpha, base.alpha)
        near_u = tol.near * mover.size_of_u() + fence.root * mover.sizes.noise
        near_a = tol.near * mover.usual_alpha()
        low, high = np.empty((2, n))
        point = Point(z, x, low, high, np.array(base.piece), moves)
        self.coin = np.random.default_rng(0).choice([-1.0, 1.0], size=n)
        signs = np.zeros(n)
        signs[self.active] = self.coin[self.active]
        lines = Lines(
            *(slope, bend, corner, np.array(base.corner.kind), np.ascontiguousarray(self.border)),
            *(np.maximum(status.weight, np.finfo(float).tiny), diagonal),
            *(np.where(basic, near_a, near_u), np.where(basic, near_u, near_a)),
            signs=signs,
            summed=np.concatenate([signs[self.active] @ self.rows, self.border.T @ signs]),
        )
        steps = no_steps()
        steps.small, steps.slack, steps.most = own.small, own.slack, own.most_steps
        steps.slow = tol.sliding
        steps.sum_off = own.summed * float(np.mean(near_u))
        solved = tol.proof.equation * EPS * np.sqrt(1.0 + self.active.size + m)
        steps.border_off, steps.sum_terms = tol.proof.balance * solved, solved
        walk = Walk(
            columns=np.empty((most, n + m)),
            slot=np.full(n, -1),
            dz=np.zeros(n + m),
            touched=np.zeros(own.most_steps + 2, np.int64),
            lines=lines,
            base=point,
            now=point.copied(),
            swapped=no_swap(n, min(n, own.most_changed)),
            nodes=no_nodes(n, m, 0),
            steps=steps,
        )
        bound_base(walk)
        return walk

    # ------------------------------------------------------------------ columns

    def columns_of(self, index: Index) -> Array:
        """Compute columns of H; one row for each entry of `index`."""
        (n, m), size = self.border.shape, self.active.size
        place = np.full(n, -1)
        place[self.active] = np.arange(size)
        basic = place[index] >= 0
        direct = self.gram.block(index[~basic], np.arange(n))
        self._add_to_check_sum(index[~basic], direct)
        right, short = np.zeros((size, index.size)), np.zeros((m, index.size))
        right[place[index[basic]], np.flatnonzero(basic)] = 1.0
        border = self.border[index[~basic]]
        right[:, ~basic] = -(direct[:, self.active].T + self.augment @ border.T)
        short[:, ~basic] = -border.T
        a = self._solved(right)
        beta = self.inverse @ (self.own_border.T @ a - short)
        a -= self.bordered @ beta
        out = np.empty((index.size, n + m))
        out[:, :n] = a.T @ self.rows
        out[~basic, :n] += direct
        out[:, :n] += beta.T @ self.border.T
        out[:, self.active] = a.T
        out[:, n:] = beta.T
        return out

    def _add_to_check_sum(self, index: Index, rows: Array) -> None:
        """Include the equations of u of these rows in the sum that `walking.is_right` checks."""
        walk, n = self.walk, self.walk.now.x.size
        new = np.flatnonzero((walk.lines.signs[index] == 0.0) & (index < self.own_rows))
        index, coin = index[new], self.coin[index[new]]
        walk.lines.signs[index] = coin
        walk.lines.summed[:n] += coin @ rows[new]
        walk.lines.summed[n:] += coin @ self.border[index]

    def fetch(self, index: Index) -> None:
        """Store the columns `index`; if there is no room, evict all that are not in use."""
        walk = self.walk
        index = np.unique(index[walk.slot[index] < 0])
        for k in range(0, index.size, FORK_TOLERANCES.together):
            some = index[k : k + FORK_TOLERANCES.together]
            found = self.columns_of(some)
            self._place(some)
            walk.columns[walk.slot[some]] = found

    def _place(self, index: Index) -> None:
        """Give the columns `index` slots."""
        walk = self.walk
        taken, room = int(np.count_nonzero(walk.slot >= 0)), walk.columns.shape[0]
        if taken + index.size > room:
            kept = np.append(walk.swapped.inside[: walk.steps.changed[0]], walk.steps.row[0])
            kept = np.unique(kept[walk.slot[kept] >= 0])
            walk.columns[: kept.size] = walk.columns[walk.slot[kept]]
            walk.slot[:], walk.slot[kept] = -1, np.arange(kept.size)
            taken = kept.size
        walk.slot[index] = np.arange(taken, taken + index.size)

    def prepare(self, rows: Index) -> None:
        """Store the columns that moving `rows` will need: their own, or all if that is most."""
        walk = self.walk
        room, n = walk.columns.shape[0], walk.slot.size
        if 2 * rows.size > n and room >= n:
            rows = np.arange(n)
        if rows.size <= room:
            self.fetch(rows)

    # ------------------------------------------------------------------ rows

    def write(self, row: int, response: float, weight: float) -> None:
        """Update the tableau for a row that has been written into Q and the border, with
        alpha = 0."""
        walk, n = self.walk, self.walk.now.x.size
        self.rows[:, row] = self.gram.block(np.array([row]), self.active)[0]
        walk.lines.border[row], walk.lines.weight[row] = self.border[row], weight
        column = self.columns_of(np.array([row]))[0]
        # H is symmetric, except for the sign if only one of the two is in A.
        there = np.flatnonzero(walk.slot >= 0)
        sign = np.where(walk.base.moves[there] > 0, -1.0, 1.0)
        walk.columns[walk.slot[there], row] = sign * column[there]
        walk.now.z[row] = walk.base.z[row] = response
        walk.lines.summed[row] = (
            walk.lines.signs @ self.gram.block(np.array([row]), np.arange(n))[0]
        )
        if walk.slot[row] < 0:
            self._place(np.array([row]))
        walk.columns[walk.slot[row]] = column

    def run(self, rows: Index, values: Array, job: int, found: tuple[Any, ...]) -> tuple[int, int]:
        """Walk from row number `job` on, and compute missing columns, until the walk ends for
        another reason; return its code and the number of the row."""
        walk = self.walk
        while True:
            code, job = walk_rows(walk, rows, values, job, *found)
            if code != state.MISSING:
                return code, job
            want = walk.steps.want.copy()
            if want[0] == rows[job]:
                # Fetch the columns of the next rows too.
                want = rows[job : job + FORK_TOLERANCES.together]
            else:
                want = np.append(want, self._needed_next())
            self.fetch(want)

    def _needed_next(self) -> Index:
        """Return coordinates without a stored column that will soon meet a bound at the present
        rates."""
        walk, now = self.walk, self.walk.now
        absent = np.flatnonzero(walk.slot < 0)
        most = min(FORK_TOLERANCES.soon, walk.columns.shape[0] // 4)
        if absent.size <= most:
            return absent
        z, dz = now.z[absent], walk.dz[absent]
        gap = np.where(dz > 0.0, now.high[absent] - z, z - now.low[absent])
        moving = np.abs(dz) > 0.0
        time = np.full(absent.size, np.inf)
        # (While b slides, a speed may be infinite.)
        with np.errstate(over="ignore", invalid="ignore"):
            time[moving] = gap[moving] / np.abs(dz[moving])
        return absent[np.argpartition(time, most)[:most]]

    def cannot_balance(self, row: int, value: float, target: Array) -> bool:
        """Whether the direction in which b slid last proves that ``B^T alpha = target`` has no
        solution with that alpha of `row`: no alphas within their slopes reach the sum."""
        lines, n = self.walk.lines, self.walk.now.x.size
        direction = self.walk.dz[n:]
        weight = lines.border @ direction
        top, bottom = lines.slope.max(axis=1), lines.slope.min(axis=1)
        slanted = np.any(lines.bend > 0.0, axis=1)
        top[slanted], bottom[slanted] = np.inf, -np.inf
        top[row] = bottom[row] = value
        some = np.flatnonzero(weight)
        ends = np.stack([weight[some] * top[some], weight[some] * bottom[some]])
        wanted = float(direction @ target)
        near = FORK_TOLERANCES.unbalanced * (abs(wanted) + float(np.abs(ends).max(axis=0).sum()))
        return not ends.min(axis=0).sum() - near <= wanted <= ends.max(axis=0).sum() + near

    def begin_record(self, nodes: int) -> None:
        """Record the nodes of the next walk, up to this many."""
        n, m = self.border.shape
        self.walk = self.walk._replace(nodes=no_nodes(n, m, nodes))

    def recorded(self) -> tuple[Array, Array, Array, Array, Index]:
        """Return the recorded t, alpha, u, b and pieces; stop recording."""
        walk = self.walk
        count = int(walk.steps.nodes[0])
        t, z, x, piece = (array[:count] for array in walk.nodes)
        self.begin_record(0)
        return (t, *self._read(z, x), piece)

    def point(self) -> tuple[Array, Array, Array, Index]:
        """Return the end of the last walk: alpha, u, b and pieces."""
        walk = self.walk
        return (*self._read(walk.now.z, walk.now.x), walk.now.piece.copy())

    def _read(self, z: Array, x: Array) -> tuple[Array, Array, Array]:
        basic, n = self.walk.base.moves > 0, x.shape[-1]
        own = z[..., :n]
        alpha, u = np.where(basic, own, x), np.where(basic, x, own)
        if self.slanted:
            u -= np.where(basic, self.walk.lines.diagonal * own, 0.0)
        return alpha, u, z[..., n:].copy()
