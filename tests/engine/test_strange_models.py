"""Declarations a stranger gets wrong: words of ours, and before any work is done."""

from __future__ import annotations

import numpy as np
import pytest

from homotopy import (
    Affine,
    DataError,
    DenseGram,
    Homotopy,
    Jump,
    Knot,
    LinearGram,
    LossModel,
    ModelError,
    Predictor,
    Slope,
)
from homotopy.model import Problem
from homotopy.testing import check_plugin

N = 8
rng = np.random.default_rng(0)
X, Y = rng.normal(size=(N, 3)), 2.0 * rng.normal(size=N)


class Absolute(LossModel):
    """Absolute residuals whose targets move."""

    span = (1.0, 0.0)

    def __init__(self, **declared):
        self.gram = DenseGram(X @ X.T + np.eye(N))
        for name, value in declared.items():
            setattr(self, name, value)

    def place(self, t):
        return Y - t

    def polyline(self, t):
        return Slope("above", 1.0), Knot("on", self.place(t)), Slope("below", -1.0)


def assigned(t):
    place = Y.copy()
    place[:3] = t
    return place


def added(t):
    place = Y.copy()
    place += t
    return place


@pytest.mark.parametrize(
    "place",
    [
        assigned,
        added,
        lambda t: np.full_like(Y, t),
        lambda t: np.full(N, t, dtype=float),
        lambda t: np.asarray(t, dtype=float) + Y,
        lambda t: np.array([y - t for y in Y], dtype=float),
    ],
)
def test_plain_numbers_cannot_take_in_what_moves(place):
    with pytest.raises(ModelError, match="an array of plain numbers cannot hold"):
        Problem.compile(Absolute(place=place))


@pytest.mark.parametrize(
    ("place", "message"),
    [
        (lambda t: Y - int(t), "a conversion to a plain number"),
        (lambda t: Y - t % 1.0, "a remainder"),
        (lambda t: Y - t // 1.0, "a division without remainder"),
        (lambda t: "first", "expected a number or numbers, got 'first'"),
        (lambda t: np.where(np.arange(N) == 2, np.nan, Y), "a corner of coordinate 2 is not a"),
    ],
)
def test_what_a_knot_cannot_be(place, message):
    with pytest.raises(ModelError, match=message):
        Problem.compile(Absolute(place=place))


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ({"border_target": 1.0}, "the model has no border"),
        ({"border_target": Affine.parameter()}, "the model has no border"),
        ({"border": np.ones(N), "border_target": lambda t: t}, "border_target must be a number"),
        ({"border": np.zeros(N)}, "a border column is zero"),
        ({"border": np.ones(N) * Affine.parameter()}, "border must not move with t"),
        ({"polyline": lambda t: None}, "expected a tuple of Slope, Knot or Jump, .* got None"),
        ({"polyline": lambda t: Slope("flat", 1.0)}, "expected a tuple of Slope, Knot or Jump"),
        ({"loss_origin": lambda t: Y[1:]}, r"one value for each of the 8 .* got shape \(7,\)"),
        ({"objective_constant": lambda t: Y}, r"must return a number, got shape \(8,\)"),
        ({"gram": DenseGram(-np.eye(N))}, "semidefinite=False"),
    ],
)
def test_what_is_refused_before_any_work(declared, message):
    with pytest.raises(ModelError, match=message):
        Problem.compile(Absolute(**declared))


def test_targets_may_be_a_column_of_a_table():
    pandas = pytest.importorskip("pandas")
    column = pandas.Series(Y, index=range(100, 100 + N))
    plain = Homotopy(Absolute()).trace()
    for place in (lambda t: column - t, lambda t: -t + column):
        path = Homotopy(Absolute(place=place)).trace()
        np.testing.assert_array_equal(path.alpha(0.3), plain.alpha(0.3))


class Hat(LossModel):
    """Two hills beside a pull away from 0, which begins at t = 5."""

    gram, span = DenseGram([[1.0]]), (5.0, 5.001)

    def __init__(self, pull):
        self.pull = pull

    def polyline(self, t):
        pull = self.pull(t)
        return (
            *(Slope("left", 1.0), Knot("a", -1.0), Slope("mid", -pull), Jump(0.0)),
            *(Slope("right", pull), Knot("b", 1.0), Slope("end", -1.0)),
        )


@pytest.mark.parametrize("rate", [0.1, 0.7, 1234.5])
@pytest.mark.parametrize("ulps", [-4, 0, 4])
def test_a_pull_that_begins_at_0_up_to_rounding(rate, ulps):
    eps = np.finfo(float).eps
    written = Homotopy(Hat(lambda t: rate * t - rate * 5.0 * (1.0 + ulps * eps))).trace()
    exact = Homotopy(Hat(lambda t: rate * (t - 5.0))).trace()
    # (The objective is 0 at t = 5, so what rounding leaves of the pull is large beside it.)
    assert all(check.ok for check in written.certify().checks if check.name != "objective")
    np.testing.assert_allclose(written.breakpoints, exact.breakpoints)
    np.testing.assert_allclose(written.alpha(5.0005), exact.alpha(5.0005), rtol=1e-10)


def test_a_step_of_height_0_whose_slopes_are_sums_of_large_terms():
    """Both slopes are -0.0919 at t = 5; what rounding leaves of their terms, 600, is a rise."""

    class Step(LossModel):
        gram, span = DenseGram([[3.9469635227368323]]), (5.0, 5.001)

        def polyline(self, t):
            return (
                Slope("a", -72.03897752975766 + 14.410165061979185 * t),
                Knot("k", -358.41267140386253 + 71.45575645263847 * t),
                Slope("b", -21.35423738204774 + 4.252474510874691 * t),
                Jump(-6243.138817988087 + 1248.7167521370939 * t),
                Slope("c", -301.0605410213191 + 60.19373523872897 * t),
            )

    slopes = Step().polyline(5.0)[2::2]
    assert 0.0 < slopes[1].value - slopes[0].value < 1e-13
    assert Homotopy(Step()).trace().certify().ok


def test_features_of_one_dimension_are_refused():
    with pytest.raises(DataError, match=r"features of shape \(n, d\), got shape \(2,\)"):
        LinearGram([1.0, 2.0])


def test_no_t_at_all():
    class Fitted(Predictor, Absolute):
        def decision_function(self, X_new, alpha, intercept):
            return X_new @ (X.T @ alpha)

    path = Homotopy(Fitted(border=np.ones((N, 1)))).trace()
    assert path.alpha([]).shape == path.response([]).shape == path.solution([]).shape == (0, N)
    assert path.border_multipliers([]).shape == (0, 1)
    assert path.objective([]).shape == path.intercept([]).shape == (0,)
    assert path.decision_function(X[:5], [0.2, 0.7]).shape == (2, 5)


def test_check_plugin_reads_the_solution():
    class Short(Absolute):
        def solution(self, t, alpha):
            return alpha

    with pytest.raises(AssertionError, match=r"solution at t=1 .* fails"):
        check_plugin(Short())


def test_a_validation_curve_needs_an_affine_decision_function():
    class Squared(Predictor, Absolute):
        def decision_function(self, X_new, alpha, intercept):
            return (X_new @ (X.T @ alpha)) ** 2

    path = Homotopy(Squared()).trace()
    with pytest.raises(ModelError, match="decision_function is not affine in alpha and b"):
        path.validation_curve(X, Y)
