"""Whole paths of the convex SVM against fits of libsvm at 50 values of the same parameter.

Two overlapping Gaussian classes (unit variance, means a distance of 2 apart) in d = 10
dimensions, rbf with gamma = 1/d and linear, an intercept.  svc, svr: C from 0.01 to 100; roc: the
share of the positive class from 0.001 to 0.999 at C = 1; one-class: nu from 1 to 0.01; nu-svc: nu
from the largest to 0.5.  libsvm runs with its default tolerance at 50 values, evenly spread (C: on
a log scale) and inside the span; "path in fits" is the time of the path in mean fits of libsvm.
For "excess" it runs again with tol=1e-8: by how much its dual objective exceeds ours, worked out in
double precision, at the worst of the 50 values and relative.  (libsvm keeps its kernel in single
precision, and is stopped after a million iterations: then the excess is large.)
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from _measure import (
    Part,
    Result,
    Table,
    measure,
    parse,
    parser,
    print_machine,
    print_trouble,
    ratio,
    seconds,
    timed,
    write_json,
)
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC, SVR, NuSVC, OneClassSVM

from homotopy import Homotopy
from homotopy_plugins import NuSVCPath, OneClassPath, ROCPath, SVMPath

Spec = Mapping[str, Any]

SIZES = (200, 500, 1000)
FAMILIES = ("svc", "svr", "roc", "one-class", "nu-svc")
KERNELS = ("rbf", "linear")
FEATURES, APART, EPSILON, VALUES = 10, 2.0, 0.1, 50
# For agreement; libsvm does not always reach its tolerance.
TIGHT = {"tol": 1e-8, "max_iter": 1_000_000}

TABLE = Table(
    (
        ("family", "family", 10),
        ("kernel", "kernel", 7),
        ("n", "n", 5),
        ("breakpoints", "break-points", 12),
        ("path", "path s", 8),
        ("libsvm", f"{VALUES} libsvm fits s", 18),
        ("fits", "path in fits", 12),
        ("certified", "certified", 9),
        ("excess", "excess", 8),
    ),
    left=2,
)


def data(n: int) -> tuple[Any, Any, Any]:
    """Rows, labels and targets."""
    rng = np.random.default_rng(0)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    X = rng.normal(size=(n, FEATURES))
    X[:, 0] += 0.5 * APART * y
    return X, y, np.sin(2.0 * X[:, 1]) + X[:, 2] + 0.3 * rng.normal(size=n)


def machines(family: str, X: Any, y: Any, target: Any, options: Mapping[str, Any]) -> Any:
    """How a model is made, and what libsvm fits at one value of the parameter."""
    if family == "svc":
        return (
            lambda: SVMPath(X, y, C=(0.01, 100.0), **options),
            lambda C, **more: SVC(C=C, **options, **more).fit(X, y),
            np.geomspace(0.011, 99.0, VALUES),
        )
    if family == "svr":
        return (
            lambda: SVMPath(X, target, kind="svr", epsilon=EPSILON, C=(0.01, 100.0), **options),
            lambda C, **more: SVR(C=C, epsilon=EPSILON, **options, **more).fit(X, target),
            np.geomspace(0.011, 99.0, VALUES),
        )
    if family == "roc":
        return (
            lambda: ROCPath(X, y, C=1.0, **options),
            lambda s, **more: SVC(
                C=2.0, class_weight={1.0: s, -1.0: 1.0 - s}, **options, **more
            ).fit(X, y),
            np.linspace(0.002, 0.998, VALUES),
        )
    if family == "one-class":
        return (
            lambda: OneClassPath(X, nu=(1.0, 0.01), **options),
            lambda nu, **more: OneClassSVM(nu=nu, **options, **more).fit(X),
            np.linspace(0.011, 0.999, VALUES),
        )
    largest = NuSVCPath(X, y, nu=(None, 0.5), **options).largest_nu
    return (
        lambda: NuSVCPath(X, y, nu=(None, 0.5), **options),
        lambda nu, **more: NuSVC(nu=nu, **options, **more).fit(X, y),
        np.linspace(0.501, 0.999 * largest, VALUES),
    )


def dual(family: str, K: Any, y: Any, target: Any, a: Any) -> float:
    """The dual objective, to be minimised, at coefficients a of the kernel expansion."""
    linear = {"svc": y, "roc": y, "svr": target}.get(family, np.zeros(y.size))
    width = EPSILON * float(np.abs(a).sum()) if family == "svr" else 0.0
    return float(0.5 * a @ K @ a - a @ linear + width)


def setup(spec: Spec) -> Mapping[str, Part]:
    """The parts of one row."""
    options = {"kernel": spec["kernel"], "gamma": 1.0 / FEATURES}
    small, _, _ = machines(spec["family"], *data(60), options)
    Homotopy(small()).trace()
    model, fit, values = machines(spec["family"], *data(spec["n"]), options)
    found: dict[str, Any] = {}

    def path(known: Mapping[str, Result]) -> Result:
        run = timed(lambda: Homotopy(model()).trace())
        found["path"] = run.answer
        return run.result | {"breakpoints": int(run.answer.breakpoints.size)}

    def certificate(known: Mapping[str, Result]) -> Result:
        return {"ok": bool(found["path"].complete and found["path"].certify().ok)}

    def libsvm(known: Mapping[str, Result]) -> Result:
        return timed(lambda: [fit(value) for value in values]).result

    def agreement(known: Mapping[str, Result]) -> Result:
        X, y, target = data(spec["n"])
        K = X @ X.T if spec["kernel"] == "linear" else rbf_kernel(X, gamma=1.0 / FEATURES)
        excess = []
        for value in values:
            ours, theirs = found["path"].alpha(value), np.zeros(y.size)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                machine = fit(value, **TIGHT)
            theirs[machine.support_] = machine.dual_coef_[0]
            if spec["family"] == "nu-svc":
                # Without the division by rho.
                theirs *= ours.sum() / np.abs(theirs).sum()
            ours = ours * found["path"].model.sign
            least, other = (dual(spec["family"], K, y, target, a) for a in (ours, theirs))
            excess.append((other - least) / abs(least))
        return {"excess": max(excess, key=abs)}

    return {"path": path, "certificate": certificate, "libsvm": libsvm, "agreement": agreement}


def main() -> int:
    options = parser(__doc__, limit=300.0, quick_limit=30.0)
    options.add_argument("--families", nargs="+", choices=FAMILIES, default=FAMILIES)
    options.add_argument("--sizes", nargs="+", type=int, metavar="N", default=SIZES)
    chosen = parse(options)
    print_machine()
    TABLE.head()
    rows = []
    for family in chosen.families:
        # With a linear kernel what is unusual is what is near 0.
        for kernel in KERNELS[:1] if family == "one-class" or chosen.quick else KERNELS:
            for n in chosen.sizes[:2] if chosen.quick else chosen.sizes:
                spec = {"family": family, "kernel": kernel, "n": n}
                results = measure(setup, spec, limit=chosen.limit)
                ours, theirs = seconds(results, "path"), seconds(results, "libsvm")
                many = ratio(ours, theirs)
                row = spec | {
                    "breakpoints": results.get("path", {}).get("breakpoints"),
                    "path": ours,
                    "libsvm": theirs,
                    "fits": None if many is None else type(many)(VALUES * many.value, many.mark),
                    "certified": results.get("certificate", {}).get("ok"),
                    "excess": results.get("agreement", {}).get("excess"),
                }
                TABLE.row(row)
                print_trouble(results)
                rows.append(row)
                write_json(chosen.json, rows=rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
