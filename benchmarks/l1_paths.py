"""l1 paths against their peers: the lasso, the elastic net, trend filtering, the capped l1 norm.

Each row is one problem: our trace and our whole certificate, the peer's time for what it does of
the same work, and how far the two answers are apart.  All in one process, one thread.

    python benchmarks/l1_paths.py [--quick] [--json FILE]
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import product
from typing import Any

import _one_thread  # noqa: F401
import numpy as np
import numpy.typing as npt
import osqp
import scipy.sparse as sp
from _measure import parse, parser, print_machine, write_json
from sklearn.linear_model import enet_path, lars_path

from homotopy import Homotopy, LossModel, Path, compile_now
from homotopy_plugins import CappedL1, ElasticNet, Lasso, TrendFilter

Array = npt.NDArray[np.float64]
# Values of lam at which solvers of one problem at a time are asked.
GRID = 50
# Every row that was measured, in the order of the table.
ROWS: list[dict[str, Any]] = []


def timed(work: Callable[[], Any], repeats: int = 3) -> tuple[Any, float]:
    """The answer and the least processor time."""
    best = np.inf
    for _ in range(repeats):
        begin = time.process_time()
        answer = work()
        best = min(best, time.process_time() - begin)
    return answer, best


def ours(make: Callable[[], LossModel], repeats: int = 3) -> tuple[Path, dict[str, Any]]:
    """The path, proved, and its part of a row: break-points, seconds of model and trace, and of
    the certificate."""
    path, trace = timed(lambda: Homotopy(make()).trace(), repeats)
    certificate, proof = timed(path.certify, 1)
    assert certificate.ok, str(certificate)
    assert path.complete, path.status.value
    return path, {"points": path.breakpoints.size, "trace": trace, "certificate": proof}


def row(
    model: str,
    size: str,
    part: dict[str, Any],
    peer: str,
    seconds: float,
    apart: float,
    **more: Any,
) -> None:
    """Keep a row and print it."""
    about = {"model": model, "size": size, **more}
    rest = {"peer": peer, "peer_seconds": seconds, "ratio": seconds / part["trace"]}
    ROWS.append({**about, **part, **rest, "apart": float(apart)})
    print(
        f"{model + ' ' + size:28} {part['points']:6d} points {part['trace']:8.3f} s, certificate "
        f"{part['certificate']:6.2f} s; {peer:22} {seconds:8.3f} s, ratio "
        f"{seconds / part['trace']:7.2f}, apart {apart:.1e}",
        flush=True,
    )


def regression(n: int, p: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p))
    return X, X[:, :10] @ rng.standard_normal(10) * 2.0 + rng.standard_normal(n)


def lasso(n: int, p: int) -> None:
    X, y = regression(n, p)
    path, part = ours(lambda: Lasso(X, y, fraction=1e-3))
    floor = path.traced[1] / n
    found, seconds = timed(lambda: lars_path(X, y, method="lasso", alpha_min=floor))
    alphas, _, beta = found
    apart = np.abs(path.solution(np.clip(alphas * n, *path.traced[::-1])) - beta.T).max()
    row("Lasso", f"{n} x {p}", part, "lars_path, whole path", seconds, apart)
    grid = np.geomspace(path.traced[0] * 0.999, path.traced[1], GRID)
    tight: dict[str, Any] = {"l1_ratio": 1.0, "tol": 1e-8, "max_iter": 100_000}
    found, seconds = timed(lambda: enet_path(X, y, alphas=grid / n, **tight))
    apart = np.abs(path.solution(grid) - found[1].T).max()
    row("Lasso", f"{n} x {p}", part, f"enet_path, {GRID} values", seconds, apart)


def elastic_net(n: int, p: int) -> None:
    X, y = regression(n, p)
    ridge = 0.1 * n
    path, part = ours(lambda: ElasticNet(X, y, ridge=ridge, fraction=1e-3))
    grid = np.geomspace(path.traced[0] * 0.999, path.traced[1], GRID)

    def peer() -> Array:
        # The ridge stays, so that every lam has an l1_ratio of its own.
        beta, out = None, []
        for lam in grid:
            both = {"alphas": [(lam + ridge) / n], "l1_ratio": lam / (lam + ridge)}
            beta = enet_path(X, y, coef_init=beta, tol=1e-8, max_iter=100_000, **both)[1][:, 0]
            out.append(beta.copy())
        return np.array(out)

    found, seconds = timed(peer)
    apart = np.abs(path.solution(grid) - found).max()
    row("ElasticNet", f"{n} x {p}", part, f"enet_path, {GRID} values", seconds, apart)


def signal(n: int) -> Array:
    z = np.linspace(0.0, 1.0, n)
    noise = 0.2 * np.random.default_rng(0).standard_normal(n)
    return np.sin(9.0 * z**2) + (z > 0.4) + noise


def trend(n: int, order: int) -> None:
    y = signal(n)
    path, part = ours(lambda: TrendFilter(y, order=order), 1)
    D = sp.identity(n, format="csc")
    for _ in range(order + 1):
        D = (D[1:] - D[:-1]).tocsc()
    m = D.shape[0]
    # min 1/2 |y - x|^2 + lam 1's,  -s <= D x <= s: one solver, warm from one lam to the next.
    A = sp.bmat([[D, -sp.identity(m)], [D, sp.identity(m)]], "csc")
    low, high = np.r_[np.full(m, -np.inf), np.zeros(m)], np.r_[np.zeros(m), np.full(m, np.inf)]
    P = sp.block_diag([sp.identity(n), sp.csc_matrix((m, m))], "csc")
    # Where a step in lam means least: ten times the end and up.
    grid = np.geomspace(path.traced[0] * 0.999, 10.0 * path.traced[1], 10)

    def peer() -> Array:
        solver, out = osqp.OSQP(), []
        solver.setup(P, np.r_[-y, np.full(m, grid[0])], A, low, high, eps_abs=1e-6, eps_rel=1e-6,
                     max_iter=20_000, verbose=False)  # fmt: skip
        for lam in grid:
            solver.update(q=np.r_[-y, np.full(m, lam)])
            out.append(solver.solve(raise_error=False).x[:n])
        return np.array(out)

    found, seconds = timed(peer, 1)
    excess = 0.0
    for lam, x in zip(grid, found, strict=True):
        value = 0.5 * np.sum((y - x) ** 2) + lam * np.abs(D @ x).sum()
        excess = max(excess, value / path.objective(lam) - 1.0)
    knots = int(np.count_nonzero(path.alpha(path.traced[1])))
    more = {"order": order, "knots": knots, "end": path.traced[1] / path.traced[0]}
    row("TrendFilter", f"{n}", part, "OSQP, 10 values", seconds, excess, **more)


def capped(n: int, p: int) -> None:
    X, y = regression(n, p + 10)
    X = X[:, :p]
    path, part = ours(lambda: CappedL1(X, y, cap=0.3))
    t, lam = path.traced[1], path.model.lam  # type: ignore[attr-defined]

    def peer() -> float:
        """Every choice of free, 0 or a sign for each coefficient."""
        G, q, best = X.T @ X, X.T @ y, np.inf
        for state in product((None, 0, 1, -1), repeat=p):
            used = [j for j in range(p) if state[j] != 0]
            pull = np.array([lam * (state[j] or 0) for j in used])
            beta = np.zeros(p)
            if used:
                beta[used] = np.linalg.solve(G[np.ix_(used, used)], q[used] - pull)
            if all(state[j] is None or beta[j] * state[j] >= 0.0 for j in used):
                penalty = lam * np.minimum(np.abs(beta), t).sum()
                best = min(best, 0.5 * float(np.sum((y - X @ beta) ** 2)) + penalty)
        return best

    best, seconds = timed(peer, 1)
    apart = path.objective(t) / best - 1.0
    row("CappedL1", f"{n} x {p}", part, "all branches, one cap", seconds, apart)


def main() -> None:
    chosen = parse(parser(__doc__))
    small = 4 if chosen.quick else 1
    print_machine("the best of three where runs are short, all in one process")
    compile_now()
    for model in (
        Lasso(*regression(20, 12)),
        TrendFilter(signal(30)),
        CappedL1(*regression(30, 12), cap=1.0),
    ):
        Homotopy(model).trace().certify()
    lasso(2000 // small, 200 // small)
    lasso(200, 2000 // small)
    lasso(1000 // small, 1000 // small)
    elastic_net(200, 1000 // small)
    for order in (0, 1, 2):
        trend(2000 // small, order)
    capped(100, 6)
    write_json(chosen.json, rows=ROWS)


if __name__ == "__main__":
    main()
