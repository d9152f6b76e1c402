"""The last digits of a path: the equations of its segments solved once more, in more digits.

A tracker that integrates keeps what rounding did to larger numbers on the way.  Where a path cannot
be proven for that, its pieces are right as a rule and only alpha and b are off; both are found from
the pieces alone (`homotopy.exact`).
"""

from __future__ import annotations

import attrs
import numpy as np
import numpy.typing as npt

from homotopy.exact import Equations, affine
from homotopy.model import Problem
from homotopy.path.certificate.points import Places, Walk
from homotopy.path.path import Path

__all__ = ["polished"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]

# Multiplications in all above which it takes too long.
MOST = 3e9


def polished(path: Path, most: float = MOST) -> Path | None:
    """`path` with alpha and b at the ends of its segments solved for anew; None where that would
    take too long (more than `most` multiplications)."""
    s, equations = path.segments, Equations(path.problem)
    sizes = np.array([equations.size(k) for k in np.diff(s.offset).tolist()], dtype=float)
    if not np.all(sizes) or float((sizes**3).sum()) > min(most, MOST):
        return None
    walk = Walk(path)
    alphas, bs = (s.alpha_start.copy(), s.alpha_stop.copy()), (s.b_start.copy(), s.b_stop.copy())
    for k in range(len(s)):
        own, point = slice(s.offset[k], s.offset[k + 1]), s.start[k] == s.stop[k]
        active = s.active[own]
        for end, t in enumerate([s.start[k]] if point else [s.start[k], s.stop[k]]):
            alpha, b, piece = walk.to(Places(np.array([k]), np.array([t])))
            found = _solved(equations, path.problem, t, piece[0], active, alpha[0], b[0])
            for side in range(2) if point else [end]:
                alphas[side][own], bs[side][k] = found
    better = attrs.evolve(
        s, alpha_start=alphas[0], alpha_stop=alphas[1], b_start=bs[0], b_stop=bs[1]
    )
    return attrs.evolve(path, segments=better)


def _solved(
    equations: Equations,
    problem: Problem,
    t: float,
    piece: Index,
    active: Index,
    alpha: Array,
    b: Array,
) -> tuple[Array, Array]:
    """alpha of the `active` and b from their equations at t, near those given."""
    if not active.size:
        return alpha[active], b
    lines = problem.polylines
    j, steep = piece[active] // 2, piece[active] % 2 == 1
    corner = np.minimum(j, lines.corner0.shape[1] - 1)
    at, rate = (
        np.where(steep, corners[active, corner], slopes[active, j])
        for corners, slopes in ((lines.corner0, lines.slope0), (lines.corner1, lines.slope1))
    )
    bend = np.where(steep, 1.0, lines.curvature[active, j])
    aim = affine(at, rate, t) / bend
    found = equations.solve(
        active,
        np.where(steep, 0.0, 1.0 / bend),
        (aim, (np.abs(at) + np.abs(rate * t)) / bend),
        (
            affine(problem.target0, problem.target1, t),
            np.abs(problem.target0) + np.abs(problem.target1 * t),
        ),
        alpha,
        b,
    )
    return found.alpha, found.b
