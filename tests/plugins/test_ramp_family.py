"""What every ramp loss of regression has to pass: OSQP on its own branches, ugly data, lines."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from grids import thinned
from oracles import kernel_matrix
from problems import sample_points
from ramps import KINDS, OWN, against_osqp, loss, regression, run_ugly

from homotopy import DataError, Homotopy, ModelError, TraceError
from homotopy.testing import check_plugin

FURTHER = ("epsilon", "pinball", "huber", "truncated")
# What each needs beside C, in units of the data of `regression`.
NEEDED = {"epsilon": {"epsilon": 0.2}, "pinball": {"tau": 0.3}, "huber": {"delta": 0.3}}
ENDS = {"pinball": {"tau_stop": 0.85}}
WAYS = [
    (kind, way)
    for kind in FURTHER
    for way in ("theta", "s", *([OWN[kind][0]] if kind in OWN else []))
]


def made(kind, way, X, y, **changes):
    needed = NEEDED.get(kind, {}) | (ENDS.get(kind, {}) if way not in ("theta", "s") else {})
    options = {"C": 2.0, "kernel": "rbf", "gamma": 0.5, "path": way} | needed | changes
    return KINDS[kind](X, y, **options)


def parameters(model):
    return lambda t: dict(zip(model.moving, model.parameters_at(t), strict=True))


# ---------------------------------------------------------------------- against OSQP


@thinned("which, kernel, intercept", WAYS, ["linear", "rbf"], [False, True])
def test_every_point_is_the_optimum_on_its_own_branches(which, kernel, intercept):
    kind, way = which
    X, y = regression(24, 2, 3)
    model = made(kind, way, X, y, kernel=kernel, fit_intercept=intercept)
    path = Homotopy(model).trace()
    assert path.complete
    assert path.certify().ok
    K, count = kernel_matrix(X, X, kernel, 0.5), 50 if (intercept, kernel) == (True, "rbf") else 10
    values = sample_points(path, count)
    c = np.full(24, 2.0)
    off, apart = against_osqp(path, kind, K, y, c, parameters(model), values)
    assert off <= 1e-7
    assert apart <= 1e-4
    for t in values:
        alpha = path.alpha(t)
        own = 0.5 * alpha @ K @ alpha
        own += loss(kind, y - path.response(t), c, parameters(model)(t))
        assert path.objective(t) == pytest.approx(own, rel=1e-9)


@pytest.mark.parametrize("kind", FURTHER)
def test_sample_weights_count_as_repeated_rows(kind):
    X, y = regression(15, 2, 4)
    times = np.array([1, 2, 3] * 5)
    weighted = Homotopy(made(kind, "theta", X, y, sample_weight=times, fit_intercept=True)).trace()
    rows = np.repeat(np.arange(15), times)
    repeated = Homotopy(made(kind, "theta", X[rows], y[rows], fit_intercept=True)).trace()
    assert weighted.certify().ok
    assert repeated.certify().ok
    t = 1.0
    assert weighted.objective(t) == pytest.approx(repeated.objective(t), rel=1e-9)
    np.testing.assert_allclose(
        weighted.decision_function(X, t), repeated.decision_function(X, t), atol=1e-8
    )


# ---------------------------------------------------------------------- conformance, ugly data


@thinned("which, data, intercept", WAYS, ["normal", "integer", "stacked"], [False, True])
def test_conformance(which, data, intercept):
    kind, way = which
    X, y = regression(21, 3, 1)
    if data == "integer":
        X, y = np.round(X), np.round(y)
    if data == "stacked":
        X, y = np.tile(X[:7], (3, 1)), np.tile(y[:7], 3)
    assert check_plugin(made(kind, way, X, y, fit_intercept=intercept)).complete


CHANGES = ["one row", "wide", "long", "large features", "small features", "large C", "small C",
           "zero row", "zero column", "constant targets"]  # fmt: skip


@thinned("which, change", WAYS, CHANGES)
def test_shapes_and_scales(which, change):
    kind, way = which
    n, d = {"one row": (1, 2), "wide": (5, 40), "long": (120, 1)}.get(change, (18, 3))
    X, y = regression(n, d, 5)
    C = {"large C": 1e5, "small C": 1e-5}.get(change, 1.0)
    X = X * {"large features": 1e6, "small features": 1e-6}.get(change, 1.0)
    if change == "zero row":
        X[::5] = 0.0
    if change == "zero column":
        X[:, 1] = 0.0
    if change == "constant targets":
        y[:] = 2.0
    # With slanted pieces alpha = C (y - u) is of the size of C whatever the features, and 1e12 in Q
    # leaves too few digits of Q alpha (see the test below).
    linear = not (change == "large features" and kind in ("huber", "truncated"))
    for kernel in ("linear", "rbf") if linear else ("rbf",):
        gamma = 1.0 / float((X**2).sum(axis=1).mean())
        model = made(kind, way, X, y, C=C, kernel=kernel, gamma=gamma, fit_intercept=True)
        path = Homotopy(model).trace()
        assert path.complete
        assert path.certify().ok


@pytest.mark.parametrize("kind", ["huber", "truncated"])
def test_features_of_a_million_beside_slanted_pieces(kind):
    X, y = regression(18, 3, 5)
    b = {"fit_intercept": True}
    try:
        path = Homotopy(made(kind, "theta", 1e6 * X, y, C=1.0, kernel="linear", **b)).trace()
        assert path.certify().ok
    except TraceError as error:
        words = str(error)
    else:
        words = "scale the data down, or the costs"
    assert "scale the data down, or the costs" in words
    path = Homotopy(made(kind, "theta", 1e6 * X, y, C=1e-12, kernel="linear", **b)).trace()
    assert path.certify().ok


@pytest.mark.parametrize("kind", FURTHER)
def test_ugly_data(kind):
    wrong, declined = run_ugly(kind, range(20))
    assert not wrong, "\n".join(wrong)
    assert len(declined) <= 1, "\n".join(declined)


@pytest.mark.slow
@pytest.mark.parametrize("kind", FURTHER)
def test_much_ugly_data(kind):
    wrong, declined = run_ugly(kind, range(300))
    assert not wrong, "\n".join(wrong)
    assert len(declined) <= 6, "\n".join(declined)


# ---------------------------------------------------------------------- as objects


@pytest.mark.parametrize(("kind", "way"), WAYS)
def test_sparse_rows_and_pickles(kind, way):
    X, y = regression(20, 4, 6)
    X[np.abs(X) < 0.4] = 0.0
    options = {"kernel": "linear", "fit_intercept": True}
    dense = Homotopy(made(kind, way, X, y, **options)).trace()
    path = Homotopy(made(kind, way, sp.csr_matrix(X), y, **options)).trace()
    assert path.certify().ok
    np.testing.assert_allclose(path.breakpoints, dense.breakpoints, atol=1e-8)
    copy = pickle.loads(pickle.dumps(path))
    assert copy.certify().ok
    np.testing.assert_array_equal(copy.breakpoints, path.breakpoints)


@pytest.mark.parametrize("kind", FURTHER)
def test_another_threshold_on_the_same_columns(kind):
    X, y = regression(20, 2, 7)
    for way, key in (("theta", "s"), ("s", "s_stop")):
        other = made(kind, way, X, y).varied(C=3.0, s=0.7)
        anew = made(kind, way, X, y, C=3.0, **{key: 0.7})
        path, expected = Homotopy(other).trace(), Homotopy(anew).trace()
        np.testing.assert_allclose(path.breakpoints, expected.breakpoints, rtol=0, atol=1e-9)
    line = made(kind, "theta", X, y).line({"theta": 1.0}, {"theta": 0.5})
    with pytest.raises(ModelError, match="the threshold of a line is in its ends"):
        line.varied(s=0.5)


@pytest.mark.parametrize("kind", FURTHER)
def test_bad_data(kind):
    X, y = regression(6, 2, 8)
    with pytest.raises(DataError, match="X has 6 rows but y has shape"):
        made(kind, "theta", X, y[:-1])
    with pytest.raises(DataError, match=r"y\[1\] is nan; targets must be finite"):
        made(kind, "theta", X, [0.0, np.nan, *y[2:]])
    with pytest.raises(DataError, match="y must be numeric"):
        made(kind, "theta", X, list("abcdef"))
    with pytest.raises(DataError, match=r"X\[0, 0\] is inf"):
        made(kind, "theta", np.where(np.arange(12).reshape(6, 2) == 0, np.inf, X), y)
    with pytest.raises(DataError, match="X is empty"):
        made(kind, "theta", np.empty((0, 2)), [])
    with pytest.raises(ModelError, match="C must be positive"):
        made(kind, "theta", X, y, C=0.0)
    with pytest.raises(DataError, match="weights must be finite and not negative"):
        made(kind, "theta", X, y, sample_weight=[1, 1, 1, 1, 1, -1])
    names = " or ".join(f"'{w}'" for w in made(kind, "theta", X, y).moving[-2:])
    with pytest.raises(ModelError, match=f"path must be .*{names}, got 'C'"):
        made(kind, "C", X, y)


@pytest.mark.parametrize("kind", FURTHER)
def test_bad_lines(kind):
    X, y = regression(6, 2, 8)
    model = made(kind, "theta", X, y)
    good = tuple(model.parameters.values())
    with pytest.raises(ModelError, match="a point of a line is"):
        model.line(good[:-1], good)
    with pytest.raises(ModelError, match="a point of a line is"):
        model.line(1.0, good)
    with pytest.raises(ModelError, match="'C' does not move"):
        model.line({"C": 1.0}, good)
    with pytest.raises(ModelError, match=r"theta must lie in \[0, 1\], got 2"):
        model.line({"theta": 2.0}, good)
    with pytest.raises(ModelError, match="s must be positive and finite"):
        model.line({"s": -1.0}, good)
    if model.together:
        a, z = model.together
        other = {a: 0.5, z: 0.9 * model.parameters[z] + 0.01}
        with pytest.raises(ModelError, match=f"{a} and {z} multiply each other"):
            model.line({a: 1.0}, other)
