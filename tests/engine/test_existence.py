"""Where there is an optimum: linear programs beside what is known, and what an error claims."""

from __future__ import annotations

import re

import numpy as np
import pytest
import scipy.sparse as sp
from toys import LinearProgram, Toy

from homotopy import Affine, DenseGram, Gram, Homotopy, Jump, Knot, LinearGram, Slope, TraceError
from homotopy.model import Problem
from homotopy.testing import hostile_problem
from homotopy.tracing.existence import has_optimum
from homotopy.tracker import Failed, Tracker
from homotopy.tracker.outcomes import Failure, Kind

MANY = 10**6


def found(model, *places):
    problem = Problem.compile(model)
    return [has_optimum(problem, t, MANY) for t in places]


def test_a_border_that_can_be_balanced_up_to_2():
    model = Toy(
        np.eye(2),
        (0.0, 3.0),
        lambda t: (Slope("full", 1.0), Knot("held", 0.0), Slope("none", 0.0)),
        border=np.ones((2, 1)),
        target=Affine.parameter(),
    )
    assert found(model, 0.0, 1.99, 2.0, 2.01, 3.0) == [True, True, True, False, False]


def test_a_slope_that_bends_has_no_end():
    model = Toy(
        np.eye(2),
        (0.0, 3.0),
        lambda t: (Slope("in", 1.0, curvature=1.0), Knot("held", 0.0), Slope("none", 0.0)),
        border=np.ones((2, 1)),
        target=Affine.parameter(),
    )
    assert found(model, 0.0, 3.0) == [True, True]


WALLS = np.array([[1.0], [1.0], [-1.0]])


@pytest.mark.parametrize(
    "gram", [DenseGram(WALLS @ WALLS.T), LinearGram(WALLS), LinearGram(sp.csr_array(WALLS))]
)
@pytest.mark.parametrize("far", [-np.inf, 5.0])
def test_walls_that_meet_at_2(gram: Gram, far: float):
    # w >= t, w >= -9 and w <= 2; a corner at -infinity changes nothing.
    low = np.array([0.0, -9.0, -2.0])

    def pieces(t):
        return (
            Slope("beyond", np.inf),
            Knot("far", np.minimum(far, low - 1e3)),
            Slope("wall", np.inf),
            Knot("on", t * np.array([1.0, 0.0, 0.0]) + low),
            Slope("free", 0.0),
        )

    if np.isfinite(far):
        model = Toy(gram, (0.0, 3.0), lambda t: pieces(t)[2:])
    else:
        model = Toy(gram, (0.0, 3.0), pieces)
    assert found(model, 0.0, 1.99, 2.01) == [True, True, False]


def test_a_linear_program_has_one_while_its_constraints_leave_room():
    # max cost'x over x, y >= 0, x + y <= 1 - t.
    A = np.array([[-1.0, 0], [0, -1], [1, 1]])
    model = LinearProgram(A, ([0.0, 0, 1], [0.0, 0, -1]), ([1.0, -2], [0.0, 0.0]), (0.0, 2.0))
    assert found(model, 0.0, 0.99, 1.01) == [True, True, False]


def test_what_is_not_convex_or_too_large_is_left_open():
    pieces = lambda t: (Slope("a", 0.0), Jump(t), Slope("b", 1.0), Knot("k", 9.0), Slope("c", 0.0))  # noqa: E731
    assert found(Toy(np.eye(2), (0.0, 1.0), pieces), 0.5) == [False]
    model = Toy(np.eye(2), (0.0, 1.0), lambda t: (Slope("a", np.inf), Knot("k", t), Slope("b", 0)))
    problem = Problem.compile(model)
    assert has_optimum(problem, 0.5, 4)
    assert not has_optimum(problem, 0.5, 3)
    assert not has_optimum(problem, np.inf, MANY)


def lost(tracker, listen=None):
    """As a tracker ends that has lost its way in a linear program."""
    return Failed(Failure("no optimum exists beyond t=0", Kind.NO_OPTIMUM), crossing=False)


def test_a_trace_that_finds_no_optimum_where_there_is_one_says_so(monkeypatch):
    monkeypatch.setattr(Tracker, "advance", lost)
    A = np.array([[-1.0, 0], [0, -1], [1, 1]])
    model = LinearProgram(A, ([0.0, 0, 1], np.zeros(3)), ([1.0, -2], [-3.0, 3]), (0.0, 1.0))
    with pytest.raises(TraceError, match="although linear programs find an optimum there"):
        Homotopy(model).trace()


@pytest.mark.parametrize("seed", [301568, 304022])
def test_units_so_different_that_the_tracker_loses_its_way(seed):
    """Which step goes wrong depends on the BLAS; no error claims that there is no optimum."""
    with pytest.raises(TraceError) as caught:
        Homotopy(hostile_problem(seed).model).trace()
    assert "no optimum exists" not in str(caught.value)


def test_what_is_bounded_below_has_one_whatever_was_traced(monkeypatch):
    """And the columns of the table are named, if they are what leaves Q too few digits."""
    X = np.random.default_rng(0).standard_normal((8, 3)) + np.array([0.0, 1e9, 2e8])

    class Squares(Toy):
        bounded_below, unknown = True, "alpha"
        given = X

        def table(self):
            return self.given

    def pieces(t):
        return Slope("plus", np.inf), Knot("0", 1.0 + t), Slope("minus", -np.inf)

    monkeypatch.setattr(Tracker, "advance", lost)
    with pytest.raises(TraceError) as caught:
        Homotopy(Squares(X.T @ X, (0.0, 1.0), pieces)).trace()
    said = str(caught.value)
    assert "no optimum exists" not in said
    assert "the objective is bounded below, so that an optimum exists" in said
    assert re.search(r"column 1 of X is 1e\+09 away from 0, \d\.\de\+\d+ times its spread", said)
    assert "(one of 2 such columns); subtract its mean from every row" in said
    # Where the columns are near 0, or constant, they are not blamed.
    for given in (X - X.mean(axis=0), np.outer(np.ones(8), [0.1, 1e12, 0.0])):
        monkeypatch.setattr(Squares, "given", given)
        with pytest.raises(TraceError, match=r"so that an optimum exists: (?!column)"):
            Homotopy(Squares(X.T @ X, (0.0, 1.0), pieces)).trace()
