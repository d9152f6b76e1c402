"""Whole paths of the further ramp losses against a peer that solves 50 values one by one.

    python benchmarks/ramps.py [--quick] [--json FILE]

Peers: libsvm's SVR on a grid of epsilon; scikit-learn's linear program and OSQP on a grid of tau;
kernel ridge on the rows kept (truncated squares); CCCP, each value warm from the one before, for
what is not convex.  Agreement is the largest difference of predictions on the training rows (for
CCCP: how much lower its objective is, relative).  One process, one thread, best of three;
every run builds its model anew, kernel and all.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import _one_thread  # noqa: F401
import numpy as np
import osqp
import scipy.sparse as sp
from _measure import parse, parser, print_machine, write_json
from sklearn.datasets import load_diabetes, make_moons
from sklearn.linear_model import QuantileRegressor
from sklearn.preprocessing import scale
from sklearn.svm import SVR

from homotopy import Homotopy, compile_now
from homotopy_plugins import (
    EpsilonRamp,
    HuberRamp,
    PinballRamp,
    SemiSupervisedSVM,
    TruncatedQuadratic,
    cccp,
)

Make = Callable[[], Any]
# Values of the parameter that a peer solves, and rows of the diabetes table with --quick.
VALUES, QUICK_ROWS = 50, 150
ROWS: list[dict[str, Any]] = []


def best(run: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of the best of three runs, and what the last returned."""
    seconds = []
    for _ in range(3):
        begin = time.process_time()
        found = run()
        seconds.append(time.process_time() - begin)
        if seconds[0] > 10.0:
            break
    return min(seconds), found


def grid(path: Any) -> Any:
    start, stop = path.traced
    return np.linspace(start, stop, VALUES + 2)[1:-1]


def pinball_by_osqp(phi: Any, y: Any, C: float, taus: Any) -> Any:
    """``1/2 |w|^2 + C sum pinball`` in (w, b, r+, r-), one set-up, then warm updates."""
    n, d = phi.shape
    P = sp.diags(np.concatenate([np.ones(d), np.zeros(1 + 2 * n)]), format="csc")
    A = sp.bmat([[phi, np.ones((n, 1)), sp.eye(n), -sp.eye(n)], [None, None, sp.eye(n), None],
                 [None, None, None, sp.eye(n)]], format="csc")  # fmt: skip
    low = np.concatenate([y, np.zeros(2 * n)])
    high = np.concatenate([y, np.full(2 * n, np.inf)])

    def cost(tau: float) -> Any:
        return np.concatenate([np.zeros(d + 1), np.full(n, C * tau), np.full(n, C * (1 - tau))])

    solver = osqp.OSQP()
    solver.setup(P, cost(taus[0]), A, low, high, verbose=False, eps_abs=1e-7, eps_rel=1e-7,
                 max_iter=100_000)  # fmt: skip
    found = []
    for tau in taus:
        solver.update(q=cost(tau))
        x = solver.solve(raise_error=False).x
        found.append(phi @ x[:d] + x[d])
    return np.array(found)


def convex(name: str, make: Make, peer: str, solve: Callable[[Any], Any], X: Any) -> None:
    ours, path = best(lambda: Homotopy(make()).trace())
    values = grid(path)
    theirs, found = best(lambda: solve(values))
    gap = np.abs(path.decision_function(X, values) - found).max()
    tell(name, path, ours, peer, theirs, {"apart": float(gap)})


def nonconvex(name: str, make: Make) -> None:
    ours, path = best(lambda: Homotopy(make()).trace())
    values = grid(path)
    theirs, found = best(lambda: cccp(make(), values, tol=1e-6))
    lower = (path.objective(values) - found.objectives) / np.abs(found.objectives)
    same = float(np.mean(np.abs(lower) <= 1e-5))
    better, worse = float(np.mean(lower < -1e-5)), float(np.mean(lower > 1e-5))
    tell(name, path, ours, "CCCP", theirs, {"same": same, "lower": better, "higher": worse})


def tell(
    name: str, path: Any, ours: float, peer: str, theirs: float, agreement: dict[str, float]
) -> None:
    """Keep a row and print it."""
    ROWS.append(
        {
            "path": name,
            "points": path.breakpoints.size,
            "jumps": len(path.jumps),
            "certified": bool(path.complete and path.certify().ok),
            "ours": ours,
            "peer": peer,
            "theirs": theirs,
            **agreement,
        }
    )
    told = ", ".join(f"{key} {value:.2g}" for key, value in agreement.items())
    proof = "certified" if ROWS[-1]["certified"] else "NOT CERTIFIED"
    print(
        f"{name:34} {path.breakpoints.size:5d} points, {len(path.jumps):3d} jumps, {proof}, "
        f"{1e3 * ours:.0f} ms; {peer} {1e3 * theirs:.0f} ms, ratio {theirs / ours:.1f}; {told}",
        flush=True,
    )


def main() -> None:
    chosen = parse(parser(__doc__))
    print_machine("the best of three, all in one process")
    compile_now()
    X, y = load_diabetes(return_X_y=True)
    if chosen.quick:
        X, y = X[:QUICK_ROWS], y[:QUICK_ROWS]
    X, y = scale(X), scale(y)
    n = y.size
    print(f"diabetes, n = {n}; moons, n = 400; {VALUES} values for the peer\n")
    rbf = {"kernel": "rbf", "gamma": 0.1, "fit_intercept": True}
    line = {"kernel": "linear", "fit_intercept": True}

    def svr(values: Any) -> Any:
        fits = (SVR(C=1.0, epsilon=v, gamma=0.1, tol=1e-6).fit(X, y) for v in values)
        return np.array([fit.predict(X) for fit in fits])

    tube = partial(EpsilonRamp, X, y, C=1.0, epsilon=0.05, path="eps", **rbf)
    convex("epsilon (SVR), rbf", tube, "SVR", svr, X)
    quantiles = partial(PinballRamp, X, y, tau=0.05, tau_stop=0.95, path="tau", **line)

    def quadratic(values: Any) -> Any:
        return pinball_by_osqp(X, y, 1.0, values)

    convex("tau (quantiles), linear, C = 1", partial(quantiles, C=1.0), "OSQP", quadratic, X)

    def program(values: Any) -> Any:
        fits = (QuantileRegressor(quantile=v, alpha=0.0).fit(X, y) for v in values)
        return np.array([fit.predict(X) for fit in fits])

    convex("tau (quantiles), linear, C = 1e4", partial(quantiles, C=1e4), "QuantileRegressor",
           program, X)  # fmt: skip
    for way in ("theta", "s"):
        ramp = {"C": 1.0, "path": way} | ({"s": 1.0} if way == "theta" else {}) | rbf
        nonconvex(f"epsilon ramp along {way}, rbf", partial(EpsilonRamp, X, y, epsilon=0.2, **ramp))
        nonconvex(f"pinball ramp along {way}, rbf", partial(PinballRamp, X, y, tau=0.7, **ramp))
        nonconvex(f"Huber ramp along {way}, rbf", partial(HuberRamp, X, y, delta=0.3, **ramp))
        nonconvex(f"truncated squares along {way}, rbf", partial(TruncatedQuadratic, X, y, **ramp))
    Z, truth = make_moons(400, noise=0.15, random_state=0)
    moons = partial(SemiSupervisedSVM, Z[:20], truth[:20], Z[20:], C=10.0, C_unlabelled=1.0,
                    gamma=2.0, fit_intercept=True)  # fmt: skip
    nonconvex("semi-supervised", moons)
    nonconvex("semi-supervised, balanced", partial(moons, balance=True))
    write_json(chosen.json, n=n, values=VALUES, rows=ROWS)


if __name__ == "__main__":
    main()
