"""Tables for the audit, and errors planted in them: at random, in one class, near the boundary
between classes, in whole neighbourhoods."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from _data import read
from sklearn import datasets as sk
from sklearn.cluster import KMeans
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

Array = np.ndarray
Make = Callable[[int, Any], tuple[Array, Array]]

# Sets of `--data`: the sign of the target, or whether it is above its median (or a value).
SIGNED = ("AustralianCredit", "BreastCancerDiagnostic", "GermanNumer", "a6a", "musk")
ABOVE: dict[str, float | None] = {
    "bodyfat": None,
    "cadata": None,
    "mpg": None,
    "winequality-white": 6.0,
    "yacht_hydrodynamics": None,
}
AMOUNTS = ("bodyfat", "cadata", "mpg", "winequality-white", "yacht_hydrodynamics")


def _digits(*kept: int) -> Make:
    def made(n: int, rng: Any) -> tuple[Array, Array]:
        X, y = sk.load_digits(return_X_y=True)
        here = np.isin(y, kept)
        return X[here], y[here]

    return made


def _diabetes(n: int, rng: Any) -> tuple[Array, Array]:
    X, y = sk.load_diabetes(return_X_y=True)
    return X, y > np.median(y)


def _circles(n: int, rng: Any) -> tuple[Array, Array]:
    return sk.make_circles(n, noise=0.12, factor=0.55, random_state=_seed(rng))


def _friedman(n: int, rng: Any) -> tuple[Array, Array]:
    X, y = sk.make_friedman1(n, n_features=8, noise=1.5, random_state=_seed(rng))
    return X, y > np.median(y)


def _checkerboard(n: int, rng: Any) -> tuple[Array, Array]:
    X = 3.0 * rng.random((n, 2))
    return np.column_stack([X, rng.random((n, 2))]), np.floor(X).sum(axis=1).astype(int) % 2


def _counts(n: int, rng: Any) -> tuple[Array, Array]:
    """Counts of words, as two authors use them."""
    y = rng.integers(0, 2, n)
    often = rng.gamma(0.5, 1.0, (2, 25))
    return rng.poisson(often[y]).astype(float), y


def _clouds(**options: Any) -> Make:
    def made(n: int, rng: Any) -> tuple[Array, Array]:
        return sk.make_classification(n, flip_y=0.0, random_state=_seed(rng), **options)

    return made


def _swiss_roll(n: int, rng: Any) -> tuple[Array, Array]:
    X, y = sk.make_swiss_roll(n, noise=0.5, random_state=_seed(rng))
    return X, y


def _sparse_line(n: int, rng: Any) -> tuple[Array, Array]:
    return sk.make_sparse_uncorrelated(n, 10, random_state=_seed(rng))


LABELS: dict[str, Make] = {
    "iris": lambda n, rng: sk.load_iris(return_X_y=True),
    "digits 1 4 7": _digits(1, 4, 7),
    "digits 5 9": _digits(5, 9),
    "diabetes": _diabetes,
    "circles": _circles,
    "friedman": _friedman,
    "checkerboard": _checkerboard,
    "counts": _counts,
    "30 columns": _clouds(n_features=30, n_informative=8, class_sep=0.9),
    "1 in 10": _clouds(n_features=12, n_informative=5, weights=[0.9], class_sep=1.6),
    "four clouds": _clouds(n_features=7, n_informative=5, n_classes=4, class_sep=1.7),
}
TARGETS: dict[str, Make] = {
    "diabetes": lambda n, rng: sk.load_diabetes(return_X_y=True),
    "swiss roll": _swiss_roll,
    "sparse line": _sparse_line,
}
FLIPS = ("5%", "10%", "20%", "30%", "class 20%", "boundary 15%", "clusters 10%", "0%")
MOVES = ("swap 5%", "swap 15%", "noise 5%", "noise 15%", "times ten 3%", "region 8%", "0%")


def _seed(rng: Any) -> int:
    return int(rng.integers(1_000_000))


def share_of(noise: str) -> float:
    return float(noise.split()[-1].rstrip("%")) / 100.0


def drawn(folder: str, data: str, seed: int, rows: int, amounts: bool) -> tuple[Array, Array, Any]:
    """At most `rows` rows of a set, its labels (0, 1, ...) or amounts, and what is drawn next."""
    rng = np.random.default_rng([seed, sum(map(ord, data)), amounts])
    if amounts:
        X, y = TARGETS[data](rows, rng) if data in TARGETS else read(folder, data)
    elif data in LABELS:
        X, y = LABELS[data](rows, rng)
    else:
        X, y = read(folder, data)
        least = ABOVE.get(data)
        y = y > 0.0 if data in SIGNED else y > np.median(y) if least is None else y >= least
    part = rng.permutation(y.size)[:rows]
    y = y[part].astype(float) if amounts else np.unique(y[part], return_inverse=True)[1]
    return np.asarray(X, dtype=float)[part], y, rng


def flipped(X: Array, truth: Array, noise: str, rng: Any) -> Array:
    """Labels of which some are wrong."""
    n, k, y = truth.size, int(truth.max()) + 1, truth.copy()
    count = round(share_of(noise) * n)
    if noise.startswith("boundary"):
        return _near_the_boundary(X, truth, count, rng)
    if noise.startswith("clusters"):
        return _whole_clusters(X, truth, count, rng)
    if noise.startswith("class"):
        here = np.flatnonzero(truth == rng.integers(k))
        rows = rng.choice(here, round(share_of(noise) * here.size), replace=False)
    else:
        rows = rng.choice(n, count, replace=False)
    y[rows] = (truth[rows] + rng.integers(1, k, rows.size)) % k
    return y


def _near_the_boundary(X: Array, truth: Array, count: int, rng: Any) -> Array:
    """Rows are confused with the class that comes next, the more often the harder they are."""
    folds = StratifiedKFold(5, shuffle=True, random_state=_seed(rng))
    forest = RandomForestClassifier(100, min_samples_leaf=3, random_state=0)
    chance = cross_val_predict(forest, X, truth, cv=folds, method="predict_proba")
    scaled = StandardScaler().fit_transform(X)
    margin = cross_val_predict(SVC(), scaled, truth, cv=folds, method="decision_function")
    margin = np.column_stack([-margin, margin]) if margin.ndim == 1 else margin
    soft = np.exp(2.0 * (margin - margin.max(axis=1, keepdims=True)))
    chance = 0.5 * chance + 0.5 * soft / soft.sum(axis=1, keepdims=True)
    best = np.sort(chance, axis=1)
    gap = best[:, -1] - best[:, -2] + 1e-6 * rng.random(truth.size)
    often = np.exp(-np.argsort(np.argsort(gap)) / truth.size / 0.15)
    rows = rng.choice(truth.size, count, replace=False, p=often / often.sum())
    order = np.argsort(-chance, axis=1)
    other = np.where(order[:, 0] == truth, order[:, 1], order[:, 0])
    y = truth.copy()
    y[rows] = other[rows]
    return y


def _whole_clusters(X: Array, truth: Array, count: int, rng: Any) -> Array:
    """Whole neighbourhoods get the label after their own."""
    k, y = int(truth.max()) + 1, truth.copy()
    many = int(rng.integers(12, 31))
    means = KMeans(many, n_init=1, random_state=_seed(rng))
    where = means.fit_predict(StandardScaler().fit_transform(X))
    for cluster in rng.permutation(many):
        rows = where == cluster
        if (y != truth).sum() + rows.sum() > 1.4 * count + 3:
            continue
        y[rows] = (truth[rows] + rng.integers(1, k)) % k
        if (y != truth).sum() >= count:
            break
    return y


def moved(X: Array, truth: Array, noise: str, rng: Any) -> Array:
    """Targets of which some are wrong."""
    y, n = truth.copy(), truth.size
    count = round(share_of(noise) * n)
    rows = rng.choice(n, count, replace=False)
    if noise.startswith("swap"):
        y[rows] = truth[rng.choice(n, count)]
    elif noise.startswith("times"):
        y[rows] = 10.0 * truth[rows]
    elif noise.startswith("region"):
        scaled = StandardScaler().fit_transform(X)
        near = np.argsort(((scaled - scaled[rng.integers(n)]) ** 2).sum(axis=1))[:count]
        y[near] += rng.choice([-1.0, 1.0]) * rng.uniform(0.7, 2.0) * truth.std()
    elif noise.startswith("noise"):
        size = rng.uniform(0.5, 2.5, count) * truth.std()
        y[rows] += rng.choice([-1.0, 1.0], count) * size
    return y
