"""
Cross-validation on a Dask cluster
==================================

Two worker processes of this machine.

The same search once in this process and once on the cluster, through joblib's own backend.  Any
`distributed.Client` will do: give its address as the only argument to use a cluster that is
running.  The exit code is not zero if the two results differ in any digit. ::

    python examples/dask_cluster.py [tcp://scheduler:8786]
"""

from __future__ import annotations

import contextlib
import sys
import time

import joblib
import numpy as np
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.model_selection import StratifiedKFold

from homotopy_plugins import RobustSVCCV


def same(one: RobustSVCCV, two: RobustSVCCV) -> bool:
    """Equal scores, choices and machines, to the last digit."""
    scores = [
        np.array_equal(one.cv_results_[key], two.cv_results_[key])
        for key in one.cv_results_
        if key.startswith(("split", "mean_test", "robustness"))
    ]
    return (
        all(scores)
        and one.best_params_ == two.best_params_
        and np.array_equal(one.dual_coef_, two.dual_coef_)
    )


def timed(search: RobustSVCCV, X: np.ndarray, y: np.ndarray) -> tuple[RobustSVCCV, float]:
    began = time.perf_counter()
    return clone(search).fit(X, y), time.perf_counter() - began


def main() -> int:
    from distributed import Client, LocalCluster

    X, y = make_moons(800, noise=0.25, random_state=0)
    flipped = np.random.default_rng(0).random(y.size) < 0.15
    y = np.where(flipped, 1 - y, y)
    search = RobustSVCCV(
        Cs=(0.1, 1.0, 10.0),
        gammas=(0.3, 1.0, 3.0),
        cv=StratifiedKFold(5, shuffle=True, random_state=0),
    )
    here, alone = timed(search, X, y)
    with contextlib.ExitStack() as stack:
        if len(sys.argv) > 1:
            client = stack.enter_context(Client(sys.argv[1]))
        else:
            cluster = stack.enter_context(
                LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
            )
            client = stack.enter_context(Client(cluster))
        with joblib.parallel_config("dask"):
            timed(search, X, y)  # workers import and load what is compiled
            there, together = timed(search, X, y)
        workers = len(client.scheduler_info()["workers"])
    agree = same(here, there)
    print(f"chosen {there.best_params_}, accuracy in cross-validation {there.best_score_:.4f}")
    print(f"{alone:.2f} s in this process, {together:.2f} s on {workers} workers of the cluster")
    print(f"the same to the last digit: {agree}")
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
