"""Ugly small problems for the convex SVM paths: certified and right by a check of our own, or
declined in words.

The check shares nothing with the engine: kernels by their formulas in extended precision, alpha
within its bounds, the equations, and for each row by how much its loss and its conjugate fail to
add up to ``-alpha u``, which is what the duality gap is a sum of.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from homotopy import Homotopy, HomotopyError
from homotopy_plugins import NuSVCPath, OneClassPath, ROCPath, SVMPath

FAMILIES = ("svc", "svr", "roc", "one-class", "nu-svc")
FEW, MANY = 150, 1500
TOL = 1e-9


# ---------------------------------------------------------------------- problems


def ugly_rows(rng, n, d):
    base = rng.choice(["normal", "grid", "binary", "constant column", "rank one"])
    X = rng.normal(size=(n, d))
    if base == "grid":
        X = np.round(1.5 * X)
    elif base == "binary":
        X = (X > 0.0).astype(float)
    elif base == "constant column":
        X[:, -1] = 3.0
    elif base == "rank one":
        X = np.outer(X[:, 0], np.arange(1.0, d + 1.0))
    if rng.random() < 0.4:
        to = rng.integers(n, size=max(1, n // 3))
        X[to] = X[rng.integers(n, size=to.size)]
    if rng.random() < 0.2:
        X[rng.integers(n, size=max(1, n // 5))] = 0.0
    if rng.random() < 0.2 and d > 1:
        X[:, 1] = X[:, 0]
    if rng.random() < 0.3:
        X *= 10.0 ** rng.integers(-6, 7)
    return X


def ugly_labels(rng, X):
    n = X.shape[0]
    y = np.where(X @ rng.normal(size=X.shape[1]) > 0.0, 1.0, -1.0)
    y[rng.random(n) < rng.choice([0.0, 0.1, 0.4])] *= -1.0
    if rng.random() < 0.1:
        y[:] = 1.0
    if abs(y.sum()) == n:
        y[rng.integers(n)] *= -1.0
    return y


def ugly_weights(rng, n):
    if rng.random() < 0.7:
        return None
    weights = 10.0 ** rng.uniform(-3, 3, size=n)
    if rng.random() < 0.4:
        weights[rng.random(n) < 0.2] = 0.0
    weights[rng.integers(n)] = 1.0
    return weights


def hostile(seed):
    """A family, the arguments of its model, and the kernel matrix in extended precision."""
    rng = np.random.default_rng([0x5F3, seed])
    family = FAMILIES[seed % len(FAMILIES)]
    two = family in ("svc", "roc", "nu-svc")
    n = int(rng.integers(2 if two else 1, rng.choice([4, 12, 41])))
    X = ugly_rows(rng, n, int(rng.choice([1, 2, 5, 60])))
    kernel = str(rng.choice(["linear", "linear", "rbf", "precomputed"]))
    spread = float(((X - X.mean(axis=0)) ** 2).sum(axis=1).mean()) or 1.0
    gamma = float(rng.choice([1.0, 1.0, 0.1, 10.0])) / spread
    wide = X.astype(np.longdouble)
    if kernel == "rbf":
        K = np.exp(-np.longdouble(gamma) * ((wide[:, None] - wide[None]) ** 2).sum(axis=2))
    else:
        K = wide @ wide.T
    given = {"X": X, "kernel": kernel, "sample_weight": ugly_weights(rng, n)}
    if kernel == "rbf":
        given["gamma"] = gamma
    elif kernel == "precomputed":
        given["X"] = np.asarray(K, dtype=float)
        K = given["X"].astype(np.longdouble)
    if two:
        given["y"] = ugly_labels(rng, X)
    if family in ("svc", "svr", "roc"):
        given["fit_intercept"] = bool(rng.random() < 0.6)
        size = float(np.abs(K).max()) or 1.0
        low = 10.0 ** rng.integers(-4, 2) / rng.choice([1.0, size])
        given["C"] = (low, low * 10.0 ** rng.integers(1, 7))
    if family == "svr":
        y = np.asarray(rng.choice([1.0, 1e-6, 1e6]) * (np.sin(X[:, 0]) + 0.2 * rng.normal(size=n)))
        y = np.round(y) if rng.random() < 0.3 else y
        given |= {"y": y, "kind": "svr"}
        given["epsilon"] = float(rng.choice([0.0, 0.01, 0.3, 3.0])) * (float(np.ptp(y)) or 1.0)
    elif family == "roc":
        given["C"], way = given["C"][1], rng.random()
        if way < 0.3:
            given["ratio"] = (0.0, 10.0 ** rng.integers(0, 4))
        elif way < 0.6 and given["C"] * size <= 1e4:
            given["share"] = (0.0, 1.0)
    elif family == "one-class":
        given["nu"] = (1.0, float(rng.choice([0.5, 0.1, 0.01])))
    elif family == "nu-svc":
        weight = np.ones(n) if given["sample_weight"] is None else given["sample_weight"]
        for sign in (-1.0, 1.0):
            weight[np.flatnonzero(given["y"] == sign)[0]] = 1.0
        lighter = min(weight[given["y"] == sign].sum() for sign in (-1.0, 1.0))
        largest = 2.0 * lighter / weight.sum()
        given["nu"] = (None, float(rng.choice([0.5, 0.1, 0.01])) * largest)
    if rng.random() < 0.15:
        given |= {key: span[::-1] for key, span in given.items() if isinstance(span, tuple)}
    return family, given, K


MODELS = {"roc": ROCPath, "one-class": OneClassPath, "nu-svc": NuSVCPath}


def build(family, given):
    arguments = dict(given)
    first = [arguments.pop("X"), *([arguments.pop("y")] if "y" in arguments else [])]
    return MODELS.get(family, SVMPath)(*first, **arguments)


# ---------------------------------------------------------------------- the check


def worst(family, given, K, path, t):
    """The largest offence at t: of the bounds, the equations, and each row's part of the gap."""
    n = K.shape[0]
    weight = np.ones(n) if given["sample_weight"] is None else given["sample_weight"]
    y = given.get("y", np.ones(n))
    sign = np.ones(n) if family in ("svr", "one-class") else y
    cost = np.asarray(weight, dtype=np.longdouble) * (t if family in ("svc", "svr") else 1.0)
    if family == "roc" and "ratio" in given:
        cost = cost * given["C"] * np.where(y > 0, t, 1.0)
    elif family == "roc":
        cost = cost * 2.0 * given["C"] * np.where(y > 0, t, 1.0 - t)
    alpha = path.alpha(t).astype(np.longdouble)
    share = (K * np.outer(sign, sign)) * alpha
    u, size = share.sum(axis=1), np.abs(share).sum(axis=1)
    border = np.zeros((n, 0))
    if given.get("fit_intercept", True):
        intercept = np.longdouble(path.intercept(t))
        u, size, border = u + sign * intercept, size + abs(intercept), sign[:, None]
    target = np.zeros(border.shape[1])
    if family in ("one-class", "nu-svc"):
        # Where f and rho ought to be 0 they are the rounding of what one row adds.
        size = size + (np.mean(np.diagonal(K) * weight) or 1.0)
        target = np.array([t * weight.sum()])
    if family == "nu-svc":
        rho = path.model.rho(path, t)
        u, size = u - rho, size + abs(rho)
        border, target = np.stack([y, np.ones(n)], axis=1), np.array([0.0, target[0]])
    low = -cost if family == "svr" else 0.0 * cost
    heavy = cost > 0.0
    room = np.where(heavy, cost, 1.0)
    bounds = np.maximum(low - alpha, alpha - cost) / room
    scale = np.abs(border).T @ np.abs(alpha) + np.abs(target) + float(cost.max())
    equation = np.abs(border.T @ alpha - target) / scale
    if family == "svr":
        off, eps = y - u, given["epsilon"]
        gap = cost * np.maximum(0.0, np.abs(off) - eps) - alpha * off + eps * np.abs(alpha)
        size = size + np.abs(y) + eps
    else:
        knot = 1.0 if family in ("svc", "roc") else 0.0
        off = knot - u
        gap, size = cost * np.maximum(0.0, off) - alpha * off, size + knot
    if border.size:
        # The intercept has the rounding of the rows on the edge that it is found from, or of
        # most where all are at their bounds to within rounding.
        edge = (alpha > low) & (alpha < cost)
        size = size + max(size[edge].max(initial=0.0), np.median(size))
    gap = np.where(heavy, gap / room, 0.0) / np.where(size > 0.0, size, 1.0)
    return float(max(bounds.max(), equation.max(initial=0.0), np.abs(gap).max()))


def outcome(seed):
    family, given, K = hostile(seed)
    try:
        path = Homotopy(build(family, given)).trace()
    except HomotopyError as error:
        return "declined", f"{seed} {family}: {error}"
    places = np.linspace(*path.traced, 7)
    if family in ("svc", "svr"):
        places = np.clip(np.geomspace(*path.traced, 7), *sorted(path.traced))
    off = max(worst(family, given, K, path, float(t)) for t in places)
    if off > TOL or not path.complete:
        return "wrong", f"{seed} {family}: off by {off:.3g}"
    certificate = path.certify()
    if not certificate.ok:
        return "unproven", f"{seed} {family}: {certificate}"
    return "right", ""


def proved(seeds):
    """None is wrong; a path that is right but fails its certificate counts as declined."""
    outcomes = [outcome(seed) for seed in seeds]
    count = Counter(kind for kind, _ in outcomes)
    told = "\n".join(text for kind, text in outcomes if kind != "right")
    assert count["wrong"] == 0, f"{dict(count)}\n{told}"
    assert count["declined"] + count["unproven"] <= 0.02 * len(outcomes), f"{dict(count)}\n{told}"


@pytest.mark.filterwarnings("ignore::homotopy.RoundingWarning")
def test_ugly_problems_are_right_or_declined():
    proved(range(FEW))


@pytest.mark.filterwarnings("ignore::homotopy.RoundingWarning")
@pytest.mark.slow
def test_many_ugly_problems_are_right_or_declined():
    proved(range(FEW, MANY))


@pytest.mark.parametrize(("part", "size"), [("alpha", 1e-6), ("intercept", 1e-3)])
def test_the_check_sees_what_is_wrong(part, size):
    for seed in (4, 5, 6, 8, 9):
        family, given, K = hostile(seed)
        path = Homotopy(build(family, given)).trace()
        t = float(np.mean(path.traced))
        assert worst(family, given, K, path, t) <= TOL
        assert worst(family, given, K, Spoiled(path, part, size), t) > TOL


class Spoiled:
    """A path with one of its answers put wrong."""

    def __init__(self, path, part, size):
        self.path, self.part, self.size = path, part, size

    def __getattr__(self, name):
        found, size = getattr(self.path, name), self.size
        return (lambda t: size + found(t) * (1.0 + size)) if name == self.part else found
