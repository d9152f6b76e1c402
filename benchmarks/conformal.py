"""Intervals: jackknife+ against MAPIE, leave-one-out against single fits, conditional cut-offs
against the implementation of their authors; widths and coverage over real tables.

    python benchmarks/conformal.py --data DIR [--quick] [--json FILE]

Standardised rows, RBF kernel with gamma = 1/d, targets scaled to mean 0 and spread 1, C = 1,
epsilon = 0.1, level 0.9.  Every ratio is of two times taken one after the other in this process.
"fits" is a time over that of one fit of `sklearn.svm.SVR` (or `SVC`) with tol=1e-3 to the same
rows.  MAPIE gets the same machine of libsvm with tol=1e-8, so that intervals can be compared.
Packages that are not installed are left out, and said so.
"""

from __future__ import annotations

import importlib.util
import time
import warnings
from collections.abc import Callable
from typing import Any

import _one_thread  # noqa: F401
import numpy as np
import numpy.typing as npt
from _data import read, standardised
from _measure import parse, parser, print_machine, write_json
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.svm import SVC, SVR

from homotopy import Homotopy
from homotopy_plugins import ConditionalConformal, ConformalSVR, SVMPath

Array = npt.NDArray[np.float64]

REGRESSION = (
    "bodyfat", "yacht_hydrodynamics", "mpg", "housing", "winequality-red", "winequality-white",
    "abalone", "cpusmall",
)  # fmt: skip
CLASSES = ("AustralianCredit", "GermanNumer", "SVMGuide1", "spambase")
SIZES, NEW, LEVEL, C, EPSILON = (100, 300, 1000), 50, 0.9, 1.0, 0.1
# How often a table is split anew for coverage.
SPLITS = {100: 40, 300: 10, 1000: 3}


def table(folder: str, name: str) -> tuple[Array, Array]:
    X, y = read(folder, name)
    return standardised(X), y


def clock(work: Callable[[], Any], most: float = 0.3) -> tuple[float, Any]:
    """Seconds and the answer; the median of three where it is short."""
    took, answer = [], None
    while len(took) < 3 and (not took or took[0] < most):
        begin = time.process_time()
        answer = work()
        took.append(time.process_time() - begin)
    return float(np.median(took)), answer


def svr(d: int, tol: float = 1e-3) -> SVR:
    return SVR(C=C, epsilon=EPSILON, gamma=1.0 / d, tol=tol)


def ours(d: int, **options: Any) -> ConformalSVR:
    return ConformalSVR(C=C, epsilon=EPSILON, gamma=1.0 / d, confidence_level=LEVEL, **options)


def mapie(d: int) -> Any:
    from mapie.regression import CrossConformalRegressor

    return CrossConformalRegressor(
        svr(d, 1e-8), confidence_level=LEVEL, method="plus", cv=-1, n_jobs=1
    )


def jackknife(X: Array, y: Array, n: int, peer: bool) -> dict[str, Any]:
    """One split: times and whether the intervals are the same."""
    order = np.random.default_rng(0).permutation(y.size)
    rows, new = order[:n], order[n : n + NEW]
    y = (y - y.mean()) / y.std()
    d = X.shape[1]
    fit, _ = clock(lambda: svr(d).fit(X[rows], y[rows]))
    machine = ours(d)

    def all_of_it() -> Any:
        return machine.fit_conformalize(X[rows], y[rows]).predict_interval(X[new])[1]

    took, interval = clock(all_of_it)
    row = {"n": n, "fit": fit, "ours": took, "ours_fits": took / fit}
    fork = machine.path_.fork(machine.path_.traced[0])
    loo, _ = clock(fork.leave_one_out)
    row["loo_fits"] = loo / fit
    full = ours(d, method="full").fit_conformalize(X[rows], y[rows])
    row["full_row"] = clock(lambda: full.predict_set(X[new[:10]]))[0] / 10
    row["full_row_fits"] = row["full_row"] / fit
    if peer:

        def refits() -> Any:
            return mapie(d).fit_conformalize(X[rows], y[rows]).predict_interval(X[new])[1]

        row["mapie"], same = clock(refits)
        row["mapie_over_ours"] = row["mapie"] / took
        row["differs"] = float(np.abs(same - interval).max())
    return row


def coverage(X: Array, y: Array, n: int) -> dict[str, Any]:
    """Several splits: how often new targets are covered, and how wide; split conformal beside."""
    y, d = (y - y.mean()) / y.std(), X.shape[1]
    hits: dict[str, list[float]] = {"jackknife+": [], "jackknife-minmax": [], "split": []}
    width: dict[str, list[float]] = {name: [] for name in hits}
    for seed in range(SPLITS[n]):
        order = np.random.default_rng(100 + seed).permutation(y.size)
        rows, new = order[:n], order[n : n + 500]
        for name in hits:
            if name == "split":
                half, rest = rows[: n // 2], rows[n // 2 :]
                fitted = svr(d).fit(X[half], y[half])
                score = np.sort(np.abs(y[rest] - fitted.predict(X[rest])))
                rank = int(np.ceil(LEVEL * (rest.size + 1) - 1e-9))
                reach = score[rank - 1] if rank <= rest.size else np.inf
                f = fitted.predict(X[new])
                low, high = f - reach, f + reach
            else:
                machine = ours(d, method=name).fit_conformalize(X[rows], y[rows])
                low, high = machine.predict_interval(X[new])[1][:, :, 0].T
            hits[name].append(float(np.mean((low <= y[new]) & (y[new] <= high))))
            width[name].append(float(np.mean(high - low)))
    return {
        "n": n,
        "splits": SPLITS[n],
        "coverage": {name: float(np.mean(part)) for name, part in hits.items()},
        "width": {name: float(np.mean(part)) for name, part in width.items()},
    }


def classes(X: Array, y: Array, n: int) -> dict[str, Any]:
    """All rows of a classifier left out in turn."""
    rows = np.random.default_rng(0).permutation(y.size)[:n]
    X, y = X[rows], y[rows]
    gamma = 1.0 / X.shape[1]
    fit, _ = clock(lambda: SVC(C=C, gamma=gamma).fit(X, y))
    path = Homotopy(SVMPath(X, y, C=(C, C), gamma=gamma)).trace()
    took, left = clock(lambda: path.fork(C).leave_one_out())
    return {
        "n": int(y.size),
        "fit": fit,
        "loo_fits": took / fit,
        "loo_error": float(np.mean(left.response <= 0)),
        "training_error": float(np.mean(path.response(C) <= 0)),
    }


def cutoffs(X: Array, y: Array, n: int, peer: bool) -> dict[str, Any]:
    """Cut-offs for the absolute residuals of a gradient-boosted model."""
    order = np.random.default_rng(0).permutation(y.size)
    train, rows, new = order[:n], order[n : 2 * n], order[2 * n : 2 * n + NEW]
    boosted = HistGradientBoostingRegressor(random_state=0).fit(X[train], y[train])
    score = np.abs(y[rows] - boosted.predict(X[rows])) / y.std()
    gamma, penalty = 1.0 / X.shape[1], 0.005

    def basis(Z: Array) -> Array:
        return np.column_stack([np.ones(len(Z)), Z[:, 0] > 0.0])

    row: dict[str, Any] = {"n": n}
    for name, kernel in (("groups", None), ("kernel", "rbf")):
        cut = ConditionalConformal(
            confidence_level=LEVEL, basis=basis, kernel=kernel, gamma=gamma, penalty=penalty
        ).fit(X[rows], score)
        took, found = clock(lambda cut=cut: cut.cutoff(X[new]))
        row[f"{name}_each"] = took / new.size
        if peer:
            row |= reference(name, kernel, X[rows], score, X[new], found, basis, gamma, penalty)
    return row


def reference(
    name: str, kernel: Any, X: Array, score: Array, new: Array, found: Array, *rest: Any
) -> dict[str, Any]:
    """conditionalconformal by bisection (its exact mode fails with NumPy 2.4): for groups with an
    exact last step, for kernels the bracket, 1e-3 wide."""
    from conditionalconformal import CondConf
    from conditionalconformal.condconf import _solve_dual, binary_search

    basis, gamma, penalty = rest
    options = {"kernel": kernel, "gamma": gamma, "lambda": penalty} if kernel else {}
    other = CondConf(lambda X, y: y, basis, infinite_params=options)
    other.setup_problem(X, score)
    quantiles, ends = np.full((score.size + 1, 1), LEVEL), (score.min(), 2.0 * score.max())
    count, off, exact, took = 3 if kernel else 20, [], [], 0.0
    for i in range(count):
        x, begin = new[i : i + 1], time.process_time()
        if kernel is None:
            value = other.predict(LEVEL, x, lambda cut, _: cut, exact=False)
        else:
            # Its own last step leaves a factor out; the bracket of the bisection is right.
            value = binary_search(
                lambda S, x=x: float(_solve_dual(S, other, x, quantiles, LEVEL)), *ends
            )[0]
        took += time.process_time() - begin
        off.append(abs(float(np.squeeze(value)) - found[i]))
        if kernel is not None:
            # The same problem by an interior-point method: at OSQP's tolerance signs are guesses.
            low, high = binary_search(lambda S, x=x: at_the_end(other, S, x), *ends)
            exact.append(abs(0.5 * (low + high) - found[i]))
    told = {f"{name}_reference_each": took / count, f"{name}_differs": float(max(off))}
    return told | ({f"{name}_differs_clarabel": float(max(exact))} if exact else {})


def at_the_end(other: Any, S: float, x: Array) -> float:
    """Positive where the new row's weight is at its end for the score S."""
    from conditionalconformal.condconf import finish_dual_setup

    problem = finish_dual_setup(
        *(other.cvx_problem, S, x, LEVEL, other.Phi_fn(x), other.x_calib, other.infinite_params)
    )
    problem.solve(solver="CLARABEL")
    return float(problem.var_dict["weights"].value[-1]) - LEVEL + 1e-6


def installed(package: str) -> bool:
    if importlib.util.find_spec(package) is None:
        print(f"{package} is not installed: what compares with it is left out")
        return False
    return True


def show(name: str, row: dict[str, Any]) -> None:
    cells = []
    for key, value in row.items():
        if isinstance(value, dict):
            cells.append(key + " " + " ".join(f"{k} {v:.3g}" for k, v in value.items()))
        else:
            cells.append(f"{key} {value:.3g}")
    print(f"{name:22s}" + ", ".join(cells), flush=True)


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--data", required=True, help="folder of NAME.npz")
    asked = parse(options)
    warnings.simplefilter("ignore", FutureWarning)
    print_machine("all in one process; short times are medians of three")
    peer, author = installed("mapie"), installed("conditionalconformal")
    sizes = SIZES[:1] if asked.quick else SIZES
    found: dict[str, list[dict[str, Any]]] = {}

    def keep(part: str, name: str, row: dict[str, Any]) -> None:
        found.setdefault(part, []).append({"data": name} | row)
        write_json(asked.json, **found)
        show(name, row)

    # Compiled and imported before any clock runs.
    warm = np.random.default_rng(0).normal(size=(60, 2))
    jackknife(warm, warm[:, 0], 30, peer)
    for name in REGRESSION:
        X, y = table(asked.data, name)
        for n in [n for n in sizes if n + NEW <= y.size]:
            keep("jackknife", name, jackknife(X, y, n, peer))
            keep("coverage", name, coverage(X, y, n))
    for name in CLASSES:
        keep("classes", name, classes(*table(asked.data, name), max(sizes)))
    for name in ("abalone", "winequality-white"):
        for n in sizes[:2]:
            keep("cutoffs", name, cutoffs(*table(asked.data, name), n, author))
    for n in sizes[2:]:
        keep("cutoffs", "abalone", cutoffs(*table(asked.data, "abalone"), n, False))


if __name__ == "__main__":
    main()
