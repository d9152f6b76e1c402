"""MCP and SCAD against coordinate descent: how good the local optima are, and the time.

    python benchmarks/penalties.py [--quick] [--json FILE]

The peer is skglm (Anderson-accelerated coordinate descent, tol 1e-9) over a grid of lambda from the
largest down to 1 % of it, each solution the start of the next.  Both find local optima; objectives
are compared at every lambda of the grid, and "equal" means to 1e-7 relative.  The time is that of
the whole path against that of the grid, both after compiling.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import _one_thread  # noqa: F401
import numpy as np
from _measure import parse, parser, print_machine, write_json
from skglm.datafits import Quadratic
from skglm.penalties import SCAD as PeerSCAD
from skglm.penalties import MCPenalty
from skglm.solvers import AndersonCD

from homotopy import Homotopy
from homotopy_plugins import MCP, SCAD

SHAPES = [(MCP, 1.2), (MCP, 3.0), (MCP, 10.0), (SCAD, 2.5), (SCAD, 3.7)]
SIZES = [(100, 20), (50, 200), (100, 200), (300, 1000)]
GRIDS = (50, 100)


def design(n: int, p: int, rho: float, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    for j in range(1, p):
        X[:, j] = rho * X[:, j - 1] + np.sqrt(1.0 - rho**2) * X[:, j]
    X /= np.sqrt((X**2).mean(axis=0))
    beta = np.zeros(p)
    beta[rng.choice(p, 10, replace=False)] = 2.0 * rng.standard_normal(10)
    return np.asfortranarray(X), X @ beta + rng.standard_normal(n)


def peer(kind: Any, shape: float, X: Any, y: Any, lams: Any) -> Any:
    own = MCPenalty if kind is MCP else PeerSCAD
    solver = AndersonCD(tol=1e-9, fit_intercept=False, max_iter=200)
    fit, b, found = Quadratic(), np.zeros(X.shape[1]), []
    for lam in lams:
        b = solver.solve(X, y, fit, own(float(lam), shape), b.copy(), X @ b)[0]
        found.append(b)
    return found


def objective(kind: Any, shape: float, lam: float, X: Any, y: Any, b: Any) -> float:
    own = (MCPenalty if kind is MCP else PeerSCAD)(float(lam), shape)
    return 0.5 * float(np.mean((y - X @ b) ** 2)) + float(own.value(b))


def row(kind: Any, shape: float, n: int, p: int, rho: float, seeds: range, grid: int) -> Any:
    counts, ours, theirs, jumps = np.zeros(3, int), 0.0, 0.0, 0
    for seed in seeds:
        X, y = design(n, p, rho, seed)
        begun = time.process_time()
        path = Homotopy(
            kind(X, y, fraction=0.01, **{"gamma" if kind is MCP else "a": shape})
        ).trace()
        ours += time.process_time() - begun
        assert path.complete
        assert path.certify().ok
        lams = np.geomspace(path.traced[0] * (1.0 - 1e-9), path.traced[1], grid)
        begun = time.process_time()
        found = peer(kind, shape, X, y, lams)
        theirs += time.process_time() - begun
        jumps += len(path.jumps)
        for lam, b in zip(lams, found, strict=True):
            a, c = (objective(kind, shape, lam, X, y, v) for v in (path.solution(lam), b))
            gain = (c - a) / c
            counts += [gain > 1e-7, abs(gain) <= 1e-7, gain < -1e-7]
    return {
        "model": kind.__name__, "shape": shape, "n": n, "p": p, "rho": rho, "grid": grid,
        "better": int(counts[0]), "equal": int(counts[1]), "worse": int(counts[2]),
        "jumps": jumps / len(seeds), "seconds": ours / len(seeds), "peer": theirs / len(seeds),
    }  # fmt: skip


def main() -> None:
    given = parse(parser(__doc__))
    print_machine("after compiling, every time measured once, all in one process")
    warnings.simplefilter("ignore")
    sizes, seeds = (SIZES[:2], range(1)) if given.quick else (SIZES, range(3))
    for kind, shape in SHAPES:
        row(kind, shape, 20, 10, 0.0, range(1), 5)
    print("model shape    n     p  rho grid  better equal worse  jumps   path s  peer s  ratio")
    rows = []
    for grid in GRIDS:
        for n, p in sizes:
            for rho in (0.0, 0.7):
                for kind, shape in SHAPES:
                    r = row(kind, shape, n, p, rho, seeds if p < 1000 else range(1), grid)
                    rows.append(r)
                    write_json(given.json, rows=rows)
                    print(
                        f"{r['model']:5} {shape:5g} {n:4d} {p:5d} {rho:4g} {grid:4d}  "
                        f"{r['better']:6d} {r['equal']:5d} {r['worse']:5d} {r['jumps']:6.1f} "
                        f"{r['seconds']:8.3f} {r['peer']:7.3f} {r['peer'] / r['seconds']:6.2f}",
                        flush=True,
                    )
    for few in (True, False):
        some = [r for r in rows if (r["p"] < r["n"]) == few and r["grid"] == GRIDS[0]]
        totals = {k: sum(r[k] for r in some) for k in ("better", "equal", "worse")}
        print("p < n" if few else "p > n", totals)


if __name__ == "__main__":
    main()
