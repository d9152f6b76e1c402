"""How far along its line a program has an optimum, by linear programs."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.optimize import linprog

__all__ = ["last_bounded", "last_feasible"]

Array = npt.NDArray[np.float64]

# Multipliers no larger than this are rounding.
PRESSING = 1e-9


def last_feasible(rows: Array, low: Array, high: Array) -> tuple[float, list[int]]:
    """The largest t up to 1 for which some x keeps all bounds (-1 if not even t = 0), and the rows
    that leave none beyond; by linear programs in x and t, or in x and an excess at t = 0."""
    above, below = np.flatnonzero(np.isfinite(low[0])), np.flatnonzero(np.isfinite(high[0]))
    sides = [(-rows[above], -low[:, above]), (rows[below], high[:, below])]
    left, rate = np.vstack([s[0] for s in sides]), np.hstack([s[1][1] - s[1][0] for s in sides])
    right = np.hstack([s[1][0] for s in sides])
    size = np.maximum(np.linalg.norm(left, axis=1), np.abs(rate))
    size = np.where(size > 0.0, size, 1.0)
    n = rows.shape[1]
    cost, free = np.append(np.zeros(n), 1.0), [(None, None)] * n
    programs = ((-rate / size, -cost, (0.0, 1.0)), (-np.ones(size.size), cost, (0.0, None)))
    for column, price, limits in programs:
        table = np.column_stack([left / size[:, None], column])
        found = linprog(price, A_ub=table, b_ub=right / size, bounds=[*free, limits])
        if found.status == 0:
            break
    last = float(found.x[-1]) if price is not cost else -1.0
    pressing = np.abs(found.ineqlin.marginals) > PRESSING
    return last, sorted(set(np.concatenate([above, below])[pressing].tolist()))


def last_bounded(H: Array, g: Array, rows: Array, low: Array, high: Array) -> float:
    """The largest t up to 1 for which the objective is bounded below (-1 for none): multipliers
    with ``Hx + g(t) = rows'y`` exist."""
    n = H.shape[0]
    up, down = rows[np.isfinite(low[0])], rows[np.isfinite(high[0])]
    left = np.column_stack([H, -up.T, down.T, g[1] - g[0]])
    ranges = [(None, None)] * n + [(0.0, None)] * (len(up) + len(down)) + [(0.0, 1.0)]
    cost = np.append(np.zeros(left.shape[1] - 1), -1.0)
    length = np.abs(left).max(axis=1)
    length = np.where(length > 0.0, length, 1.0)
    found = linprog(cost, A_eq=left / length[:, None], b_eq=-g[0] / length, bounds=ranges)
    return -1.0 if found.status else float(found.x[-1])
