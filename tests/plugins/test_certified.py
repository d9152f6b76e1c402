"""The certificate holds on every combination of plugin, path, kernel, intercept, C and data."""

from __future__ import annotations

import numpy as np
import pytest
from grids import thinned
from problems import COSTS, Case, case, features, labels, targets
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

from homotopy import Homotopy

TOL = 1e-8

grid = [
    pytest.mark.parametrize("kind", ["hinge", "lad"]),
    pytest.mark.parametrize("path", ["theta", "s"]),
    pytest.mark.parametrize("kernel", ["rbf", "linear"]),
    pytest.mark.parametrize("intercept", [False, True]),
]


def on_grid(test):
    for mark in grid:
        test = mark(test)
    return test


def check(problem: Case, *, independent: bool = True) -> None:
    """Our certificate, and where affordable the conditions recomputed by the reference."""
    path = problem.trace()
    assert path.complete
    certificate = path.certify(TOL)
    assert certificate.ok, str(certificate)
    assert certificate.worst <= TOL
    if independent:
        reference = problem.reference()
        points = path.breakpoints
        for t in points[:: max(1, len(points) // 15)]:
            for side in ("before", "after"):
                alpha, b = path.alpha(t, side), path.intercept(t, side)
                assert reference.violation(alpha, b, *problem.at(t)) <= TOL
                value = reference.objective(alpha, b, *problem.at(t))
                assert path.objective(t, side) == pytest.approx(value, rel=1e-9)


KINDS, PATHS, KERNELS, INTERCEPT = (
    ("hinge", "lad"),
    ("theta", "s"),
    ("linear", "rbf"),
    (False, True),
)
DATA = ("normal", "integer", "stacked")


@thinned(
    "kind, path, kernel, intercept, C, data", KINDS, PATHS, KERNELS, INTERCEPT, COSTS, DATA, keep=3
)
def test_small_problems(kind, path, kernel, intercept, C, data):
    seed = COSTS.index(C)
    check(case(kind, 36, seed, data=data, C=C, path=path, kernel=kernel, intercept=intercept))


@thinned("kind, path, kernel, intercept, C, s", KINDS, PATHS, KERNELS, INTERCEPT, COSTS, [0.3, 0.7])
def test_other_thresholds_and_weights(kind, path, kernel, intercept, C, s):
    options = {"C": C, "path": path, "kernel": kernel, "intercept": intercept}
    threshold = s if kind == "lad" else s - 0.8
    check(
        case(kind, 30, 7, s=threshold, theta=0.4, s_stop=0.1 if kind == "lad" else None, **options)
    )


@on_grid
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_integer_features_have_duplicates_of_both_kinds(kind, path, kernel, intercept, C):
    """d = 2 integers: nearly every row is repeated, with equal and with opposite labels."""
    problem = case(
        kind, 60, 3, d=2, data="integer", C=C, path=path, kernel=kernel, intercept=intercept
    )
    groups: dict[tuple[float, ...], set[float]] = {}
    for row, y in zip(problem.X, problem.y, strict=True):
        groups.setdefault(tuple(row), set()).add(float(y))
    assert len(groups) < 30
    assert any(len(values) > 1 for values in groups.values())
    check(problem)


@on_grid
def test_n_300(kind, path, kernel, intercept):
    check(
        case(kind, 300, 1, C=1.0, path=path, kernel=kernel, intercept=intercept), independent=False
    )


@pytest.mark.parametrize("path", ["theta", "s"])
@pytest.mark.parametrize("kind", ["hinge", "lad"])
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_n_400_linear_in_three_dimensions(kind, path, C):
    check(case(kind, 400, 2, kernel="linear", C=C, path=path, intercept=True), independent=False)


@pytest.mark.slow
@on_grid
@pytest.mark.parametrize("C", COSTS)
@pytest.mark.parametrize("data", ["normal", "integer", "stacked"])
def test_the_whole_grid_at_n_300(kind, path, kernel, intercept, C, data):
    check(
        case(
            kind,
            300,
            COSTS.index(C) + 10,
            data=data,
            C=C,
            path=path,
            kernel=kernel,
            intercept=intercept,
        ),
        independent=False,
    )


@pytest.mark.slow
@on_grid
@pytest.mark.parametrize("C", COSTS)
def test_n_400_linear_and_rbf_at_every_c(kind, path, kernel, intercept, C):
    check(case(kind, 400, 5, C=C, path=path, kernel=kernel, intercept=intercept), independent=False)


# ------------------------------------------------------------------ real data


def real(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Rows of the sets that scikit-learn ships; standardised."""
    if name == "cancer":
        X, y = load_breast_cancer(return_X_y=True)
        X, y = X[:120], np.where(y[:120] == 1, 1.0, -1.0)
        # Some labels turned over: the set is nearly separable.
        y[::11] *= -1
    elif name == "iris":
        X, y = load_iris(return_X_y=True)
        X, y = X[50:], np.where(y[50:] == 1, 1.0, -1.0)
    else:
        X, y = load_diabetes(return_X_y=True)
        X, y = X[:120], (y[:120] - y.mean()) / y.std()
    return (X - X.mean(axis=0)) / X.std(axis=0), y


@pytest.mark.parametrize("path", ["theta", "s"])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("C", [0.1, 10.0])
@pytest.mark.parametrize("name", ["cancer", "iris", "diabetes"])
def test_real_data(name, C, kernel, path):
    X, y = real(name)
    kind = "lad" if name == "diabetes" else "hinge"
    check(
        Case(
            kind,
            X,
            y,
            C=C,
            kernel=kernel,
            gamma=0.05,
            intercept=True,
            path=path,
            s=0.5 if kind == "lad" else None,
        )
    )


@pytest.mark.slow
@pytest.mark.parametrize("path", ["theta", "s"])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_the_whole_of_breast_cancer(C, kernel, path):
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    problem = Case("hinge", X, y, C=C, kernel=kernel, gamma=1 / 30, intercept=True, path=path)
    assert Homotopy(problem.model()).trace().certify(TOL).ok


def test_raw_real_data_of_mixed_scales():
    """Unscaled features (areas in the thousands next to hundredths): ill-conditioned, linear."""
    X, y = load_breast_cancer(return_X_y=True)
    X, y = X[:100], np.where(y[:100] == 1, 1.0, -1.0)
    for path in ("theta", "s"):
        check(Case("hinge", X, y, C=1e-4, kernel="linear", intercept=True, path=path))


def test_the_data_are_what_they_claim():
    """The generators give both labels, outliers and, where asked, exact repeats."""
    X = features(60, 3, 0)
    assert set(labels(X, 0)) == {-1.0, 1.0}
    assert np.abs(targets(X, 0)).max() > 4
    stacked = case("hinge", 36, 0, data="stacked")
    assert len(np.unique(stacked.X, axis=0)) == 12
    assert len(stacked.y) == 36
