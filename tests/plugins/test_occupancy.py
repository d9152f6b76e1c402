"""When rows are on a piece, against the partition at many t."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from grids import thinned
from problems import case, sample_points

from homotopy import PathError

PIECES = {"hinge": ("O",), "lad": ("O+", "O-")}


@thinned(
    "kind, way, data, C",
    ["hinge", "lad"],
    ["theta", "s"],
    ["normal", "integer", "stacked"],
    [0.1, 10.0],
)
def test_stays_are_the_partition_at_every_t(kind, way, data, C):
    path = case(kind, 60, 3, data=data, path=way, intercept=True, C=C).trace()
    names = PIECES[kind]
    stays = path.occupancy(*names)
    start, stop = path.traced
    n = path.problem.gram.size
    for t in sample_points(path, 200):
        parts = path.partition(t)
        on = np.isin(np.arange(n), np.concatenate([parts[name] for name in names]))
        held = [any(min(stay) < t < max(stay) for stay in stays.of(i)) for i in range(n)]
        np.testing.assert_array_equal(held, on)
    for i in range(n):
        spans = stays.of(i)
        assert np.isnan(stays.first[i]) == (not spans)
        if spans:
            assert stays.first[i] == spans[0][0]
        total = sum(abs(b - a) for a, b in spans)
        assert stays.share[i] * abs(stop - start) == pytest.approx(total)


def test_who_is_an_outlier_at_the_very_end_has_a_stay():
    path = case("hinge", 60, 3, path="s", intercept=True).trace()
    stays = path.occupancy("O")
    at_end = path.partition(path.traced[1])["O"]
    assert at_end.size
    assert np.isfinite(stays.first[at_end]).all()


def test_all_pieces_together_are_the_whole_path():
    path = case("lad", 40, 1, intercept=True).trace()
    names = [name for name in path.problem.polylines.names if name]
    np.testing.assert_allclose(path.occupancy(*names).share, 1.0)


def test_a_path_of_one_point():
    X = np.array([[1.0], [2.0], [-1.0], [-3.0]])
    path = (
        case("hinge", 4, 0)
        .__class__("hinge", X, np.array([1.0, 1.0, -1.0, -1.0]), C=1e3, kernel="linear", path="s")
        .trace()
    )
    assert path.occupancy("O").share.tolist() == [0.0] * 4
    everyone = path.occupancy("O", "L", "E", "R")
    assert everyone.share.tolist() == [1.0] * 4


def test_stays_are_frozen_and_come_back_from_a_pickle():
    stays = case("hinge", 30, 2).trace().occupancy("O")
    again = pickle.loads(pickle.dumps(stays))
    np.testing.assert_array_equal(again.first, stays.first)
    assert repr(again) == repr(stays)
    with pytest.raises(ValueError, match="read-only"):
        again.share[0] = 2.0


def test_bad_names_and_rows():
    path = case("hinge", 10, 0).trace()
    with pytest.raises(PathError, match="no piece is called 'P'; the pieces are O, L, E, R"):
        path.occupancy("P")
    with pytest.raises(PathError, match="name at least one piece"):
        path.occupancy()
    with pytest.raises(PathError, match="row 10 is not among the 10 rows"):
        path.occupancy("O").of(10)
    assert path.occupancy("O").of(-1) == path.occupancy("O").of(9)
