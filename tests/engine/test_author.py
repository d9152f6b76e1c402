"""What the author of a model meets: objectives that mean something, declared unknowns, words."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import toys
from scipy.optimize import linprog

from homotopy import (
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
from homotopy.model import Polylines
from homotopy.testing import check_plugin

rng = np.random.default_rng(0)
X, Y = rng.normal(size=(30, 4)), rng.normal(size=30)


def line_of(*pieces, n=1):
    return Polylines.compile(pieces, n).at(0.0)


@pytest.mark.parametrize(
    ("pieces", "place", "exists"),
    [
        ((Slope("L", 1.0), Knot("E", 1.0), Slope("R", 0.0)), 1.0, True),
        ((Slope("a", 0.0), Knot("E", -1.0), Slope("b", -1.0), Jump(0.0), Slope("c", 1.0),
          Knot("F", 1.0), Slope("d", 0.0)), -1.0, True),
        ((Slope("a", 0.0), Jump(1.0), Slope("b", 2.0, curvature=1.0), Jump(3.0), Slope("c", 0.0)),
         2.0, True),
        ((Slope("a", 2.0, curvature=1.0), Knot("k", 5.0), Slope("c", -3.0)), 2.0, True),
        ((Slope("hi", 2.0), Knot("k", 3.0), Slope("lo", 1.0)), 3.0, False),
        ((Slope("hi", -1.0), Knot("k", 3.0), Slope("lo", -2.0)), 3.0, False),
        ((Slope("wall", np.inf), Knot("k", -1.0), Slope("0", 0.0), Knot("m", 2.0),
          Slope("other", -np.inf)), -1.0, True),
        ((Slope("x", 5.0), Knot("k", -np.inf), Slope("a", 1.0), Knot("m", 4.0), Slope("b", -1.0)),
         4.0, True),
        ((Slope("x", 0.0), Jump(0.0), Slope("a", 1.0), Knot("m", 4.0), Slope("b", -1.0),
          Jump(9.0), Slope("c", 0.0)), 4.0, True),
    ],
)  # fmt: skip
def test_a_loss_is_zero_where_it_is_least(pieces, place, exists):
    found, there = line_of(*pieces).lowest()
    assert (found[0], there[0]) == (place, exists)


class TruncatedSquares(LossModel):
    """``C/2 min((y - u)^2, t^2)``: no knot anywhere."""

    span = (np.inf, 0.5)

    def __init__(self):
        self.gram = LinearGram(X)

    def polyline(self, t):
        return (
            Slope("low", 0.0),
            Jump(Y - t),
            Slope("near", Y, curvature=1.0),
            Jump(Y + t),
            Slope("high", 0.0),
        )


def test_the_objective_of_a_truncated_square_is_what_it_says():
    path = check_plugin(TruncatedSquares())
    for t in np.linspace(*path.traced, 7):
        alpha, u = path.alpha(t), path.response(t)
        expected = 0.5 * alpha @ X @ X.T @ alpha + 0.5 * np.minimum((Y - u) ** 2, t**2).sum()
        assert path.objective(t) == pytest.approx(expected, rel=1e-12)


class Hat(LossModel):
    """Labelled rows by the hinge, unlabelled ones by ``max(0, 1 - |u|)``, the weight t growing."""

    span = (0.0, 1.0)

    def __init__(self):
        sign = np.where(np.arange(30) < 20, np.where(Y > 0.0, 1.0, -1.0), 1.0)
        self.gram, self.known = LinearGram(X * sign[:, None]), np.arange(30) < 20

    def polyline(self, t):
        known = self.known
        return (
            Slope("far", np.where(known, 1.0, 0.0)),
            Knot("left", np.where(known, -np.inf, -1.0)),
            Slope("down", np.where(known, 1.0, -t)),
            Jump(np.where(known, -np.inf, 0.0)),
            Slope("up", np.where(known, 1.0, t)),
            Knot("right", 1.0),
            Slope("right side", 0.0),
        )


def test_the_objective_of_unlabelled_rows_is_what_it_says():
    path = check_plugin(Hat())
    for t in np.linspace(0.0, 1.0, 7):
        alpha, u = path.alpha(t), path.response(t)
        loss = np.where(path.model.known, np.maximum(0, 1 - u), t * np.maximum(0, 1 - np.abs(u)))
        norm = alpha @ path.problem.gram.matvec(alpha)
        assert path.objective(t) == pytest.approx(0.5 * norm + loss.sum(), rel=1e-10, abs=1e-12)


class Shares(LossModel):
    """``min 1/2 a'a - t c'a``, ``1 <= a <= 2``: a loss that falls for ever."""

    span = (0.0, 4.0)
    gram = DenseGram(np.eye(3))

    def polyline(self, t):
        return Slope("most", 2.0), Knot("between", t * np.arange(3.0)), Slope("least", 1.0)


def test_an_origin_that_nothing_says_is_asked_for():
    path = Homotopy(Shares()).trace()
    assert path.certify().ok
    assert "objective" not in path.summary()
    with pytest.raises(ModelError, match=r"Shares: .* 0 is unbounded below.*loss_origin"):
        path.objective(1.0)


def test_the_objective_of_a_problem_in_alpha():
    class Weights(Shares):
        unknown = "alpha"

    path = check_plugin(Weights())
    for t in np.linspace(0.0, 4.0, 9):
        a = path.alpha(t)
        expected = 0.5 * a @ a - t * np.arange(3.0) @ a
        assert path.objective(t) == pytest.approx(expected, abs=1e-12)


def test_the_objective_of_the_lasso_in_its_own_words():
    class Lasso(toys.Lasso):
        unknown = "alpha"

        def objective_constant(self, t):
            return 0.5 * Y @ Y

    path = check_plugin(Lasso(X, Y, (10.0, 0.1)))
    t = np.linspace(0.1, 10.0, 5)
    expected = [
        0.5 * ((Y - X @ b) ** 2).sum() + v * np.abs(b).sum()
        for v, b in zip(t, path.solution(t), strict=True)
    ]
    np.testing.assert_allclose(path.objective(t), expected, rtol=1e-12)


def test_a_wrong_origin_is_flagged():
    class Wrong(TruncatedSquares):
        def loss_origin(self, t):
            return 0.0

    with pytest.raises(AssertionError, match=r"loss_origin=0 the loss of coordinate 0 .* not 0"):
        check_plugin(Wrong())


def test_bounds_that_cross_are_called_so():
    class Crossing(Shares):
        def polyline(self, t):
            return Slope("most", 2.0 - t), Knot("between", 1.0), Slope("least", 1.0)

    with pytest.raises(ModelError, match=r"t=4 slope 'most' .* -2 and slope 'least' is 1.*bounds"):
        Homotopy(Crossing()).trace()


def test_many_t_at_once():
    path = toys.certified(toys.CPath(X @ X.T, np.sign(Y), (0.1, 5.0)))
    t = np.linspace(0.1, 5.0, 6).reshape(2, 3)
    for name in ("alpha", "response", "objective", "intercept", "solution", "border_multipliers"):
        method = getattr(path, name)
        found = method(t)
        assert found.shape[:2] == (2, 3)
        for index in np.ndindex(2, 3):
            np.testing.assert_allclose(found[index], method(t[index]), rtol=1e-13, atol=1e-13)
    assert path.alpha([]).size == 0


def test_the_unknown_is_what_the_author_declares():
    class Ridge(toys.Huber):
        def solution(self, t, alpha, b):
            return X.T @ alpha

    path = toys.certified(Ridge(X, Y, np.ones(30), 1.0, False))
    np.testing.assert_allclose(path.response(0.3), X @ path.solution(0.3), atol=1e-12)


def test_a_predictor_needs_its_decision_function_only():
    class Line(Predictor, toys.Huber):
        def decision_function(self, X, alpha, intercept):
            return X @ (self.gram.features().T @ alpha) + intercept

    path = toys.certified(Line(X, Y, np.ones(30), 1.0, True))
    np.testing.assert_allclose(path.decision_function(X, 0.4), path.response(0.4), atol=1e-12)
    both = path.decision_function(X, [0.1, 0.4])
    np.testing.assert_allclose(both[1], path.response(0.4), atol=1e-12)
    assert path.validation_curve(X, Y).best.value > 0.0
    plain = toys.certified(toys.Huber(X, Y, np.ones(30), 1.0, True))
    with pytest.raises(ModelError, match=r"Huber has no decision function.*homotopy\.Predictor"):
        plain.validation_curve(X, Y)


def test_a_model_that_breaks_its_word_on_the_way_keeps_what_was_traced():
    class Moody(toys.Step):
        def flips(self, t, standing, response):
            raise ModelError("not today")

    with pytest.raises(ModelError, match="not today") as error:
        Homotopy(Moody([[1.0]], (-4.0, 1.5), knot=2.0)).trace(start=[1.0])
    path = error.value.path
    assert path is not None
    assert not path.complete
    assert path.certify().ok


def test_the_end_of_a_path_is_where_the_next_begins():
    class Walk(Shares):
        unknown = "alpha"
        span = (0.0, 1.0)
        gram = DenseGram(X.T @ X + np.eye(4))

        def __init__(self, start, stop):
            self.price, self.change = start, stop - start

        def polyline(self, t):
            return Slope("most", 0.5), Knot("k", self.price + t * self.change), Slope("least", -0.5)

    corners = rng.normal(size=(5, 4)) * 20.0
    path = Homotopy(Walk(corners[0], corners[1])).trace()
    for start, stop in itertools.pairwise(corners[1:]):
        last, path = path, Homotopy(Walk(start, stop)).trace(start=(path, 1.0))
        assert path.certify().ok
        assert path.counts["start_steps"] == 0
        np.testing.assert_allclose(path.alpha(0.0), last.alpha(1.0), atol=1e-13)
        cold = Homotopy(Walk(start, stop)).trace()
        np.testing.assert_allclose(path.alpha(1.0), cold.alpha(1.0), atol=1e-10)
    # Elsewhere it is a guess like any other.
    far = Homotopy(Walk(-corners[0], corners[1])).trace(start=(path, 0.5))
    assert far.certify().ok


def test_many_border_columns():
    """Every quantile of a regression on 60 columns: a linear program with 61 border columns."""
    wide = rng.normal(size=(150, 60))
    target = wide @ rng.normal(size=60) + rng.standard_t(3, size=150)

    class Quantiles(LossModel):
        span = (0.5, 0.9)
        gram = LinearGram(np.zeros((150, 1)))
        border = np.column_stack([np.ones(150), wide])

        def polyline(self, t):
            return Slope("below", t), Knot("on", target), Slope("above", t - 1.0)

    path = toys.certified(Quantiles())
    for tau in (0.55, 0.8):
        plain = linprog(
            np.r_[np.zeros(61), np.full(150, tau), np.full(150, 1.0 - tau)],
            A_eq=np.hstack([Quantiles.border, np.eye(150), -np.eye(150)]),
            b_eq=target,
            bounds=[(None, None)] * 61 + [(0.0, None)] * 300,
        )
        assert path.objective(tau) == pytest.approx(plain.fun, rel=1e-8)
