"""What each part of the engine gives: the same paths with one part taken away at a time.

    python benchmarks/parts.py [--quick]

Generated data (two overlapping Gaussian classes, 15 % of the labels flipped, C = 1, intercept).
Every row is the whole run, start included, the median of three, over the run with everything on.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np  # noqa: E402

from homotopy import Homotopy, lane  # noqa: E402
from homotopy.lane import Lane  # noqa: E402
from homotopy.ledger import Ledger  # noqa: E402
from homotopy_plugins import HingeRamp  # noqa: E402

NEVER = 2**62


def problem(n: int, d: int, kernel: str, path: str) -> HingeRamp:
    """A new model: its kernel columns are still to be computed."""
    rng = np.random.default_rng(0)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    direction = rng.normal(size=d)
    X = rng.normal(size=(n, d)) + np.outer(y, direction / np.linalg.norm(direction))
    y[rng.permutation(n)[: int(0.15 * n)]] *= -1.0
    return HingeRamp(X, y, C=1.0, kernel=kernel, path=path, fit_intercept=True)


@contextmanager
def changed(owner: Any, name: str, value: Any) -> Iterator[None]:
    """`owner.name` is `value` for a while."""
    before = owner.__dict__[name]
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


def _closed(self: Lane, follower: Any) -> None:
    self.open = False


PARTS: dict[str, Callable[[], Any]] = {
    "windows by turn (columns of Q)": lambda: changed(lane, "HEAVY", (NEVER, NEVER)),
    "windows by place (features)": lambda: changed(lane, "WIDE", NEVER),
    "ledger (objective at jumps)": lambda: changed(Ledger, "open", classmethod(lambda *_: None)),
    "compiled travel, windows with it": lambda: changed(Lane, "board", _closed),
}


def seconds(make: Callable[[], HingeRamp], runs: int = 3) -> float:
    times = []
    for _ in range(runs):
        model = make()
        begin = time.perf_counter()
        Homotopy(model).trace()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--quick", action="store_true", help="small problems")
    small = parser.parse_args().quick
    cases = [
        (500 if small else 2000, 20, "rbf", "theta"),
        (500 if small else 2000, 20, "rbf", "s"),
        (3000 if small else 20000, 20, "linear", "theta"),
    ]
    Homotopy(problem(400, 5, "rbf", "s")).trace()
    Homotopy(problem(4000, 20, "linear", "theta")).trace()
    names = [f"{kernel} {path} n={n}" for n, _, kernel, path in cases]
    print(f"{'without':36s}" + "".join(f"{name:>24s}" for name in names))
    whole = [seconds(lambda case=case: problem(*case)) for case in cases]
    print(f"{'(nothing taken away)':36s}" + "".join(f"{t:22.3f} s" for t in whole))
    for name, without in PARTS.items():
        row = []
        for case, base in zip(cases, whole, strict=True):
            features = case[2] == "linear"
            other = ("features" in name or "ledger" in name) != features
            if other and not ("compiled" in name and (not features or small)):
                row.append("-")
                continue
            with without():
                took = seconds(lambda case=case: problem(*case), 1)
            row.append(f"x {took / base:.2f}")
        print(f"{name:36s}" + "".join(f"{value:>24s}" for value in row), flush=True)


if __name__ == "__main__":
    main()
