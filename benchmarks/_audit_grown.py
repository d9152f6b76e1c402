"""Tables that the trees of the audit are grown on, and errors planted in them.  None of these is a
table that `audit.py` measures on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from _audit_sets import _seed as seed_of
from _data import read
from sklearn import datasets as sk
from sklearn.calibration import CalibratedClassifierCV
from sklearn.cluster import KMeans
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import ExtraTreeRegressor

Array = np.ndarray
Make = Callable[[str, int, Any], tuple[Array, Array]]

# A kind and a percentage each.
FLIPS = (
    *("uniform 0", "uniform 2", "uniform 5", "uniform 10", "uniform 20", "uniform 30"),
    *("class 20", "class 40", "pool 8", "pool 15", "rank 15", "line 15"),
    *("cluster 10", "cluster 20", "majority 10", "ball 5"),
)
MOVES = (
    *("nothing 0", "swap 3", "swap 5", "swap 15", "noise 5", "noise 15", "times 3", "times 8"),
    *("digit 5", "region 8", "far 5"),
)
RANDOM = 48


def _real(name: str, least: float | None = None, signed: bool = False) -> Make:
    def made(folder: str, n: int, rng: Any) -> tuple[Array, Array]:
        X, y = read(folder, name)
        cut = 0.0 if signed else float(np.median(y))
        return X, (y > cut if least is None else y >= least).astype(int)

    return made


def _digits(*kept: int) -> Make:
    def made(folder: str, n: int, rng: Any) -> tuple[Array, Array]:
        X, y = sk.load_digits(return_X_y=True)
        here = np.isin(y, kept)
        return X[here], np.searchsorted(kept, y[here])

    return made


def _clouds(**options: Any) -> Make:
    options = {"flip_y": 0.0, **options}

    def made(folder: str, n: int, rng: Any) -> tuple[Array, Array]:
        return sk.make_classification(n, random_state=seed_of(rng), **options)

    return made


def _spirals(folder: str, n: int, rng: Any) -> tuple[Array, Array]:
    angle, y = 1.0 + 9.0 * np.sqrt(rng.random(n)), rng.integers(0, 2, n)
    turned = angle + np.pi * y
    X = np.column_stack([angle * np.cos(turned), angle * np.sin(turned)])
    return X + 0.5 * rng.standard_normal((n, 2)), y


def _words(folder: str, n: int, rng: Any) -> tuple[Array, Array]:
    y, often = rng.integers(0, 2, n), 0.6 * rng.random((2, 40)) ** 2
    return (rng.random((n, 40)) < often[y]).astype(float), y


def _hastie(folder: str, n: int, rng: Any) -> tuple[Array, Array]:
    X, y = sk.make_hastie_10_2(n, random_state=seed_of(rng))
    return X, (y > 0.0).astype(int)


def _product(folder: str, n: int, rng: Any) -> tuple[Array, Array]:
    X = rng.standard_normal((n, 6))
    score = X[:, 0] * X[:, 1] + 0.5 * X[:, 2] ** 2 + 0.5 * rng.standard_normal(n)
    return X, (score > 0.3).astype(int)


def _random(number: int) -> Make:
    """A table whose size, shape, classes and noise are drawn by its number."""

    def made(folder: str, n: int, rng: Any) -> tuple[Array, Array]:
        r = np.random.default_rng([7, number])
        kind = ("clf", "clf", "tree", "rbf", "poly", "blobs", "line", "mixed")[number % 8]
        d, seed, k = int(r.integers(3, 30)), int(r.integers(1e6)), int(r.choice([2, 2, 2, 3]))
        if kind == "clf":
            return _random_clouds(3 * n, d, k, seed, r)
        if kind == "blobs":
            count = int(r.integers(k, 9))
            wide = r.uniform(1.5, 2.0 + d / 3.0)
            X, blob = sk.make_blobs(
                3 * n, centers=count, n_features=d, cluster_std=wide, random_state=seed
            )
            return X, np.r_[np.arange(k), r.integers(0, k, 20)][blob]
        X = r.standard_normal((3 * n, d)) if r.random() < 0.6 else r.random((3 * n, d))
        if r.random() < 0.3:
            X[:, ::3] = np.round(2.0 * X[:, ::3])
        if r.random() < 0.3:
            X[:, ::2] = np.exp(X[:, ::2])
        score = _scored((X - X.mean(axis=0)) / (X.std(axis=0) + 1e-9), kind, seed, r)
        score = score + r.choice([0, 0.1, 0.3, 0.6]) * r.standard_normal(3 * n)
        cuts = [r.choice([0.5, 0.5, 0.7, 0.85])] if k == 2 else [1 / 3, 2 / 3]
        return X, np.searchsorted(np.quantile(score, cuts), score)

    return made


def _random_clouds(n: int, d: int, k: int, seed: int, r: Any) -> tuple[Array, Array]:
    tell = int(min(d, r.integers(3, 10)))
    first, clusters = r.choice([0.5, 0.5, 0.7, 0.85]), int(r.integers(1, 4))
    return sk.make_classification(
        n,
        d,
        n_informative=tell,
        n_redundant=0,
        n_classes=k,
        n_clusters_per_class=clusters if 2**tell >= k * clusters else 1,
        weights=None if k > 2 else [first],
        flip_y=0.0,
        class_sep=r.uniform(0.5, 2.0),
        random_state=seed,
    )


def _scored(Z: Array, kind: str, seed: int, r: Any) -> Array:
    """A smooth or a stepped function of the columns, in units of its spread."""
    n, d = Z.shape
    if kind == "tree":
        trees = [
            ExtraTreeRegressor(max_depth=4, random_state=seed + j).fit(Z, r.standard_normal(n))
            for j in range(int(r.integers(1, 5)))
        ]
        score = sum(tree.predict(Z) for tree in trees)
    elif kind == "rbf":
        centres = Z[r.choice(n, 12)]
        near = np.exp(-((Z[:, None] - centres) ** 2).sum(axis=2) / (2 * d))
        score = near @ r.standard_normal(12)
    elif kind == "poly":
        a, b, c = r.standard_normal((3, d)) * (r.random((3, d)) < 0.4)
        score = Z @ a + 0.5 * (Z @ b) * (Z @ c)
    elif kind == "line":
        score = Z @ (r.standard_normal(d) * (r.random(d) < 0.5) + 1e-3)
    else:
        score = np.sin(2.0 * Z[:, 0]) + Z[:, 1] * (Z[:, 2] > 0) + 0.5 * Z[:, 0] * Z[:, 1]
    return (score - score.mean()) / (score.std() + 1e-9)


LABELS: dict[str, Make] = {
    "winequality-red": _real("winequality-red", 6.0),
    "abalone": _real("abalone"),
    "cpusmall": _real("cpusmall"),
    "housing": _real("housing"),
    "SVMGuide1": _real("SVMGuide1", signed=True),
    "spambase": _real("spambase", signed=True),
    "digits 3 8": _digits(3, 8),
    "digits 0 2 4 6": _digits(0, 2, 4, 6),
    "wine": lambda folder, n, rng: sk.load_wine(return_X_y=True),
    "moons": lambda folder, n, rng: sk.make_moons(n, noise=0.25, random_state=seed_of(rng)),
    "quantiles": lambda folder, n, rng: sk.make_gaussian_quantiles(
        n_samples=n, n_features=4, n_classes=3, random_state=seed_of(rng)
    ),
    "blobs": lambda folder, n, rng: sk.make_blobs(
        n, centers=4, n_features=3, cluster_std=2.2, random_state=seed_of(rng)
    ),
    "hastie": _hastie,
    "spirals": _spirals,
    "words": _words,
    "product": _product,
    "plain": _clouds(n_features=10, n_informative=5),
    "1 in 14": _clouds(n_features=20, n_informative=6, weights=[0.93], class_sep=1.5),
    "1 in 20": _clouds(n_features=8, n_informative=4, weights=[0.95], class_sep=2.0),
    "three": _clouds(n_features=12, n_informative=6, n_classes=3, class_sep=1.3),
    "easy": _clouds(n_features=8, n_informative=4, class_sep=2.0, n_clusters_per_class=1),
    "hard": _clouds(n_features=15, n_informative=4, flip_y=0.05, class_sep=0.6),
    "wide": _clouds(n_features=50, n_informative=10, flip_y=0.02, class_sep=1.2),
    "many clouds": _clouds(n_features=6, n_informative=4, class_sep=1.4, n_clusters_per_class=4),
    **{f"random {number}": _random(number) for number in range(RANDOM)},
}


def _line(tell: int, noise: float, shift: float = 0.0) -> Make:
    def made(folder: str, n: int, rng: Any) -> tuple[Array, Array]:
        X, y = sk.make_regression(
            n, 2 * tell, n_informative=tell, noise=noise, random_state=seed_of(rng)
        )
        return X, y + shift * (y.std() - y.min())

    return made


def _friedman(make: Any, noise: float) -> Make:
    return lambda folder, n, rng: make(n, noise=noise, random_state=seed_of(rng))


def _uneven(folder: str, n: int, rng: Any) -> tuple[Array, Array]:
    X = rng.random((n, 4))
    error = (0.1 + 1.2 * X[:, 2]) * rng.standard_normal(n)
    return X, 3.0 * np.sin(5.0 * X[:, 0]) + 2.0 * X[:, 1] + error


def _tails(folder: str, n: int, rng: Any) -> tuple[Array, Array]:
    X = rng.standard_normal((n, 5))
    return X, X @ [1, 2, 0, 0, -1] + 0.7 * rng.standard_t(2.5, n)


def _skewed(folder: str, n: int, rng: Any) -> tuple[Array, Array]:
    X = rng.standard_normal((n, 5))
    return X, np.exp(0.8 * X[:, 0] + 0.5 * X[:, 1] + 0.3 * rng.standard_normal(n))


TARGETS: dict[str, Make] = {
    **{
        name: lambda folder, n, rng, name=name: read(folder, name)
        for name in ("abalone", "cpusmall", "housing", "winequality-red")
    },
    "friedman 1": _friedman(sk.make_friedman1, 1.0),
    "friedman 2": _friedman(sk.make_friedman2, 60.0),
    "friedman 3": _friedman(sk.make_friedman3, 0.1),
    "line": _line(5, 20.0),
    "exact line": _line(4, 1.0),
    "positive line": _line(3, 25.0, 1.0),
    "hard line": _line(5, 200.0),
    "uneven": _uneven,
    "tails": _tails,
    "skewed": _skewed,
}


# ---------------------------------------------------------------------- what is planted


def planted_labels(X: Array, truth: Array, noise: str, rng: Any) -> Array:
    kind, share = noise.split()[0], float(noise.split()[1]) / 100.0
    n, k, y = truth.size, int(truth.max()) + 1, truth.copy()
    count = round(share * n)
    if kind in ("pool", "rank", "line"):
        return _confused(X, truth, kind, count, rng)
    if kind in ("cluster", "majority", "ball"):
        return _together(X, truth, kind, count, rng)
    rows = np.arange(n)
    if kind == "class":
        rows = np.flatnonzero(truth == rng.integers(k))
        count = round(share * rows.size)
    rows = rng.choice(rows, count, replace=False)
    y[rows] = (truth[rows] + rng.integers(1, k, count)) % k
    return y


def _confused(X: Array, truth: Array, kind: str, count: int, rng: Any) -> Array:
    """Rows near the boundary get the label that comes next."""
    folds = StratifiedKFold(5, shuffle=True, random_state=seed_of(rng))
    line = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
    forest = RandomForestClassifier(100, min_samples_leaf=3, random_state=0)
    model = line if kind == "line" else forest
    chance = cross_val_predict(model, X, truth, cv=folds, method="predict_proba")
    if kind == "rank":
        svc = make_pipeline(StandardScaler(), CalibratedClassifierCV(SVC(), ensemble=False))
        chance = chance + cross_val_predict(svc, X, truth, cv=folds, method="predict_proba")
    best = np.sort(chance, axis=1)
    gap = best[:, -1] - best[:, -2] + 1e-6 * rng.random(truth.size)
    if kind == "pool":
        rows = rng.choice(np.argsort(gap)[: int(2.5 * count)], count, replace=False)
    else:
        often = np.exp(-np.argsort(np.argsort(gap)) / truth.size / 0.15)
        rows = rng.choice(truth.size, count, replace=False, p=often / often.sum())
    order, y = np.argsort(-chance, axis=1), truth.copy()
    y[rows] = np.where(order[:, 0] == truth, order[:, 1], order[:, 0])[rows]
    return y


def _together(X: Array, truth: Array, kind: str, count: int, rng: Any) -> Array:
    """Whole neighbourhoods get another label: each row the next, or all the same."""
    k, y = int(truth.max()) + 1, truth.copy()
    scaled = StandardScaler().fit_transform(X)
    if kind == "ball":
        near = NearestNeighbors().fit(scaled)
        while (y != truth).sum() < count:
            i, size = rng.integers(truth.size), int(rng.integers(8, 25))
            most = min(4 * size, truth.size - 1)
            rows = near.kneighbors(scaled[[i]], most, return_distance=False)[0]
            y[rows[truth[rows] == truth[i]][:size]] = (truth[i] + rng.integers(1, k)) % k
        return y
    many = int(rng.integers(10, 41))
    where = KMeans(many, n_init=1, random_state=seed_of(rng)).fit_predict(scaled)
    for cluster in rng.permutation(many):
        rows = np.flatnonzero(where == cluster)
        if rows.size == 0 or (y != truth).sum() + rows.size > 1.4 * count + 3:
            continue
        usual = truth[rows] if kind == "cluster" else np.bincount(truth[rows]).argmax()
        y[rows] = (usual + rng.integers(1, k)) % k
        if (y != truth).sum() >= count:
            break
    return y


def planted_targets(X: Array, truth: Array, noise: str, rng: Any) -> Array:
    kind, share = noise.split()[0], float(noise.split()[1]) / 100.0
    y, n = truth.copy(), truth.size
    count, spread = round(share * n), truth.std()
    rows, sign = rng.choice(n, count, replace=False), rng.choice([-1.0, 1.0], count)
    if kind == "swap":
        y[rows] = truth[rng.choice(n, count)]
    elif kind == "noise":
        y[rows] += sign * rng.uniform(0.5, 2.5, count) * spread
    elif kind == "far":
        y[rows] += sign * rng.uniform(4.0, 20.0, count) * spread
    elif kind == "times":
        y[rows] *= 10.0
    elif kind == "digit":
        y[rows] *= rng.choice([10.0, 0.1, -1.0], count)
    elif kind == "region":
        scaled = StandardScaler().fit_transform(X)
        where = KMeans(15, n_init=1, random_state=seed_of(rng)).fit_predict(scaled)
        shift = rng.choice([-1.0, 1.0]) * rng.uniform(0.7, 2.0) * spread
        for cluster in rng.permutation(15):
            here = where == cluster
            if ((y != truth) | here).sum() <= 1.5 * count + 2 and (y != truth).sum() < count:
                y[here] = truth[here] + shift
    return y
