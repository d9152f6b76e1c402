"""Paths and models that go to other processes, and models that share their kernel columns."""

from __future__ import annotations

import pickle

import attrs
import numpy as np
import pytest
import scipy.sparse as sp
from oracles import kernel_matrix
from problems import case

from homotopy import Homotopy, ModelError, PathError
from homotopy_plugins import HingeRamp, LADRamp


def third_degree(X, Z):
    return (np.asarray(X @ Z.T) + 1.0) ** 3


def again(thing):
    return pickle.loads(pickle.dumps(thing))


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", third_degree, "precomputed"])
@pytest.mark.parametrize("kind", ["hinge", "lad"])
@pytest.mark.parametrize("way", ["theta", "s"])
def test_a_path_comes_back_as_it_was(kind, way, kernel):
    problem = case(kind, 40, 3, path=way, intercept=True)
    X = kernel_matrix(problem.X, problem.X, "rbf", 0.5) if kernel == "precomputed" else problem.X
    model = {"hinge": HingeRamp, "lad": LADRamp}[kind](
        X, problem.y, C=1.0, kernel=kernel, gamma=0.5, coef0=1.0, path=way, fit_intercept=True
    )
    path = Homotopy(model).trace()
    copy = again(path)
    assert copy.certify().ok
    np.testing.assert_array_equal(copy.breakpoints, path.breakpoints)
    assert len(copy.jumps) == len(path.jumps)
    assert (copy.status, copy.span, copy.counts) == (path.status, path.span, path.counts)
    for t in np.linspace(*path.traced, 9):
        np.testing.assert_array_equal(copy.alpha(t), path.alpha(t))
        np.testing.assert_allclose(copy.response(t), path.response(t), rtol=0, atol=1e-12)
    with pytest.raises(ValueError, match="read-only"):
        copy.segments.start[0] = 7.0


def test_kernel_columns_stay_at_home():
    problem = case("hinge", 400, 3, intercept=True)
    path = problem.trace()
    path.problem.gram.fetch(np.arange(400))
    assert len(pickle.dumps(path)) < 0.5 * 8 * 400 * 400


def test_sparse_features_too():
    problem = case("hinge", 40, 3, kernel="linear")
    X = sp.csr_matrix(np.where(np.abs(problem.X) < 0.5, 0.0, problem.X))
    path = Homotopy(HingeRamp(X, problem.y, C=1.0, kernel="linear")).trace()
    np.testing.assert_array_equal(
        again(path).decision_function(X, 0.5), path.decision_function(X, 0.5)
    )


# ---------------------------------------------------------------------- varied


@pytest.mark.parametrize("kind", ["hinge", "lad"])
@pytest.mark.parametrize("way", ["theta", "s"])
def test_another_c_and_threshold_on_the_same_columns(kind, way):
    problem = case(kind, 40, 3, path=way, intercept=True)
    model = problem.model()
    s = -0.2 if kind == "hinge" else 0.7
    other = model.varied(C=3.0, s=s)
    assert other.gram is model.gram
    assert (model.C, other.C) == (1.0, 3.0)
    key = "s_stop" if (kind, way) == ("lad", "s") else "s"
    expected = Homotopy(problem.model(C=3.0, **{key: s})).trace()
    path = Homotopy(other).trace()
    np.testing.assert_allclose(path.breakpoints, expected.breakpoints, rtol=0, atol=1e-9)
    assert path.certify().ok
    # The first model is what it was.
    np.testing.assert_array_equal(
        Homotopy(model).trace().breakpoints, Homotopy(problem.model()).trace().breakpoints
    )


def test_varied_checks_what_it_is_given():
    model = case("hinge", 10, 0).model()
    with pytest.raises(ModelError, match="HingeRamp: C must be positive"):
        model.varied(C=0.0)
    with pytest.raises(ModelError, match="HingeRamp: s must be at most 1"):
        model.varied(s=2.0)
    with pytest.raises(ModelError, match="LADRamp: s must be positive"):
        case("lad", 10, 0).model().varied(s=-1.0)


# ---------------------------------------------------------------------- the certificate at some t


@pytest.mark.parametrize("kind", ["hinge", "lad"])
@pytest.mark.parametrize("way", ["theta", "s"])
def test_the_conditions_at_some_values_alone(kind, way):
    path = case(kind, 40, 3, path=way, intercept=True).trace()
    start, stop = path.traced
    one = path.certify(at=0.5 * (start + stop))
    checked = {check.name: check.count for check in one.checks}
    assert one.ok
    assert checked["polyline"] == 40
    assert checked["border"] == 1
    assert checked["jumps"] == checked["continuity"] == checked["corners"] == 0
    # Both sides of a jump.
    if path.jumps:
        assert path.certify(at=path.jumps[-1].t).checks[0].count == 80
    with pytest.raises(PathError, match="lies outside the traced interval"):
        path.certify(at=[start, stop + 2.0 * (stop - start)])


def test_no_value_is_no_check():
    path = case("hinge", 20, 0).trace()
    with pytest.raises(PathError, match="at holds no value"):
        path.certify(at=[])
    with pytest.raises(PathError, match="at must be a number or several, got 'end'"):
        path.certify(at="end")


def test_a_spoiled_value_is_seen_where_it_is():
    path = case("hinge", 40, 3, intercept=True).trace()
    s = path.segments
    alpha = s.alpha_stop.copy()
    k = len(s) // 2
    alpha[s.offset[k] : s.offset[k + 1]] += 0.1
    spoiled = attrs.evolve(path, segments=attrs.evolve(s, alpha_stop=alpha))
    inside = 0.5 * (s.start[k] + s.stop[k])
    assert not spoiled.certify(at=inside).ok
    assert spoiled.certify(at=0.5 * (s.start[0] + s.stop[0])).ok
