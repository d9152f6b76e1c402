"""Bounds of nothing, paths of others, pairs that are none: what programs and walks refuse."""

from __future__ import annotations

import numpy as np
import pytest

from homotopy import DataError, Homotopy, ModelError, PathError
from homotopy_plugins import EfficientFrontier, HingeRamp, ParametricQP, TrendFilter, walk

H = np.array([[2.0, 0.5], [0.5, 1.0]])
MEAN, COVARIANCE = [0.1, 0.2, 0.15], np.diag([0.1, 0.3, 0.2])


@pytest.mark.parametrize("bound", ["lbA", "ubA"])
def test_bounds_of_rows_need_rows(bound):
    with pytest.raises(DataError, match="there is no A"):
        ParametricQP(H, [0.0, 1.0], **{bound: 1.0})
    with pytest.raises(DataError, match="there is no A"):
        EfficientFrontier(MEAN, COVARIANCE, **{bound: 0.1})


def test_a_pair_in_a_list_is_told_from_a_vector():
    with pytest.raises(DataError, match="the values at t = 0 and t = 1 are a tuple of two"):
        ParametricQP(H, [[-4.0, 0.0], [1.0, -3.0]])
    with pytest.raises(DataError, match=r"got shape \(3,\)$"):
        ParametricQP(H, [1.0, 2.0, 3.0])
    with pytest.raises(DataError, match="g must be 2 numbers"):
        ParametricQP(H, [[1.0], [1.0, 2.0]])


def test_programs_are_dicts():
    with pytest.raises(ModelError, match=r"a dict of vectors by name, got \[1.0, 2.0\]"):
        list(ParametricQP.sequence(H, [{"g": [0.0, 1.0]}, [1.0, 2.0]]))


def test_paths_of_others():
    one, other = (EfficientFrontier(MEAN, k * COVARIANCE) for k in (1.0, 2.0))
    path = Homotopy(one).trace()
    for read in (other.turning_points, lambda p: other.risk_and_return(p, 0.0)):
        for wrong in (path, None):
            with pytest.raises(PathError, match="another model"):
                read(wrong)
    with pytest.raises(PathError, match="another model"):
        ParametricQP(H, [0.0, 1.0]).multipliers(path, 0.5)


def test_groups():
    with pytest.raises(DataError, match=r"a group is \(members, low, high\), got \[0, 1\]"):
        EfficientFrontier(MEAN, COVARIANCE, groups=[[0, 1], 0.0, 0.5])
    weights = [
        Homotopy(EfficientFrontier(MEAN, COVARIANCE, groups=[([0, 1], low, 0.3)])).trace()
        for low in (None, -np.inf)
    ]
    np.testing.assert_array_equal(*(path.solution(0.0) for path in weights))
    assert weights[0].solution(0.0)[:2].sum() == pytest.approx(0.3)


def test_a_place_of_a_walk_is_one():
    X = np.random.default_rng(0).normal(size=(12, 2))
    found = walk(HingeRamp(X, X[:, 0] > 0.0, C=1.0), [(1.0, 0.0), (0.0, 0.0)])
    with pytest.raises(PathError, match="a place is one t"):
        found.at(0, [0.1, 0.2])


def test_new_positions_of_a_trend_are_a_list():
    path = Homotopy(TrendFilter([0.0, 1.0, 0.5, 2.0, 1.0])).trace()
    with pytest.raises(DataError, match="TrendFilter: X must be a list of numbers"):
        path.decision_function(np.zeros((3, 2)), path.traced[1])
