"""Causes of trouble: each is named only if it was measured, with its value and the way out."""

import numpy as np
import pytest

from homotopy import (
    DenseGram,
    Homotopy,
    Jump,
    Knot,
    LinearGram,
    LossModel,
    ModelError,
    RoundingWarning,
    Slope,
)
from homotopy.diagnosis import Point, cause_of_trouble
from homotopy.model import Problem

RNG = np.random.default_rng(5)


class Boxed(LossModel):
    """alpha between 0 and 1, and a knot at 1 for every response."""

    span = (0.0, 1.0)

    def __init__(self, gram, border=None):
        self.gram, self.border = gram, border

    def polyline(self, t):
        return Slope("full", 1.0), Knot("between", 1.0 + 0.1 * t), Slope("none", 0.0)


def problem_of(features=None, border=None):
    if features is None:
        features = RNG.normal(size=(6, 6))
    return Problem.compile(Boxed(LinearGram(features), border))


def ordinary(problem, **changes):
    """A point away from every corner: half of the rows on a knot, half on a slope."""
    n = problem.gram.size
    given = {
        "t": 0.5,
        "alpha": np.where(np.arange(n) % 2, 0.5, 0.0),
        "u": np.where(np.arange(n) % 2, 1.05, 2.0),
        "size": np.ones(n),
        "piece": np.where(np.arange(n) % 2, 1, 2),
        "active": np.arange(1, n, 2),
    }
    return Point(**(given | changes))


def test_nothing_is_blamed_where_nothing_was_measured():
    problem = problem_of()
    said = cause_of_trouble(problem, ordinary(problem))
    assert said.startswith("the cause is unknown (at t=0.5,")
    assert "try" in said


def test_ties_are_counted_and_named():
    problem = problem_of()
    u = np.where(np.arange(6) % 2, 1.05, 2.0)
    u[[0, 2]] = 1.05 + 1e-11
    said = cause_of_trouble(problem, ordinary(problem, u=u))
    assert "2 coordinates (0, 2) reach a corner together, to within 1e-09" in said
    # One alone is an ordinary break-point.
    u[2] = 2.0
    assert "unknown" in cause_of_trouble(problem, ordinary(problem, u=u))


def test_alphas_at_the_ends_of_their_knots_are_ties_too():
    problem = problem_of()
    alpha = np.where(np.arange(6) % 2, 0.5, 0.0)
    alpha[[1, 3, 5]] = 1e-12, 1.0 - 1e-12, 0.4
    said = cause_of_trouble(problem, ordinary(problem, alpha=alpha))
    assert "2 coordinates (1, 3) reach a corner together" in said


def test_ties_are_looked_for_where_the_proof_ends():
    problem = problem_of()
    u = np.full(6, 1.05)
    here, last = ordinary(problem), ordinary(problem, t=0.25, u=u - 0.025)
    said = cause_of_trouble(problem, here, last)
    assert "at t=0.25 3 coordinates (0, 2, 4)" in said


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_rows_that_are_nearly_equal_are_named_with_their_difference(sign):
    features = RNG.normal(size=(6, 6))
    features[3] = sign * features[1] * (1.0 + 1e-10)
    problem = problem_of(features)
    said = cause_of_trouble(problem, ordinary(problem))
    assert "rows 1 and 3 are not equal but differ by only 1.0e-10 of their size" in said
    assert "round the features" in said


def test_rows_that_are_equal_are_no_cause():
    """The engine takes repeated rows; the active ones among them are dependent, which is said."""
    features = RNG.normal(size=(6, 6))
    features[3] = features[1]
    problem = problem_of(features)
    said = cause_of_trouble(problem, ordinary(problem))
    assert "not equal" not in said
    assert "the rows of Q of the 3 active coordinates are dependent up to rounding" in said
    apart = ordinary(problem, active=np.array([1, 5]))
    assert "unknown" in cause_of_trouble(problem, apart)


def test_a_dense_form_of_features_far_from_0_is_recognised():
    features = RNG.normal(size=(8, 3))
    for away, said in ((1e5, "the largest eigenvalue of Q"), (1.0, "unknown")):
        far = features + away
        problem = Problem.compile(Boxed(DenseGram(far @ far.T + 1e-3 * np.eye(8))))
        assert said in cause_of_trouble(problem, ordinary(problem)), away
    # Of rank one alone, no digits are lost.
    one = np.outer(features[:, 0], features[:, 0])
    problem = Problem.compile(Boxed(DenseGram(one)))
    assert "eigenvalue of Q" not in cause_of_trouble(problem, ordinary(problem))


def test_alphas_of_very_different_size_are_named():
    problem = problem_of()
    alpha = np.array([1e-15, 0.5, 0.0, 0.5, 0.0, 0.5])
    said = cause_of_trouble(problem, ordinary(problem, alpha=alpha))
    assert "alpha ranges from 1e-15 to 0.5" in said


def test_lost_digits_are_counted():
    problem = problem_of()
    said = cause_of_trouble(problem, ordinary(problem, size=np.full(6, 1e-12)))
    assert "of 16 digits" in said
    assert "scale the data down" in said


def test_columns_are_named_before_anything_else():
    features = RNG.normal(size=(6, 6))
    features[:, 2] += 1e6
    problem = problem_of(features)
    said = cause_of_trouble(problem, ordinary(problem, size=np.full(6, 1e-12)))
    assert said.startswith("column 2 of the features is 1e+06 away from 0")


def test_a_constant_column_is_blamed_only_if_it_is_large():
    features = RNG.normal(size=(6, 6))
    for value, said in ((1e6, "column 2 of the features is constant, 1e+06"), (14.0, "unknown")):
        features[:, 2] = value
        problem = problem_of(features)
        assert said in cause_of_trouble(problem, ordinary(problem)), value


@pytest.mark.parametrize(
    ("border", "expected"),
    [
        (np.diag([1.0, 1e7, 1.0])[:, :2] + 0.0, "columns of the border differ in size by a factor"),
        (np.array([[1.0], [1e-6], [1.0]]), "rows of the border differ in size by a factor of 1.0e"),
        (np.array([[1.0, 1.0], [1.0, 1.0 + 1e-11], [2.0, 2.0]]), "dependent up to rounding"),
    ],
)
def test_a_border_is_measured_where_there_is_no_quadratic_form(border, expected):
    problem = Problem.compile(Boxed(DenseGram(np.zeros((3, 3))), border))
    assert expected in cause_of_trouble(problem, ordinary(problem))


def test_an_ordinary_border_is_not_blamed():
    problem = Problem.compile(Boxed(DenseGram(np.zeros((3, 3))), np.ones(3)))
    assert "border" not in cause_of_trouble(problem, ordinary(problem))


class Truncated(LossModel):
    """Squares cut off at a distance t: at an infinite t every corner is infinite, and slanted."""

    span = (np.inf, 0.1)

    def __init__(self, n):
        self.gram = LinearGram(RNG.normal(size=(n, n)))

    def polyline(self, t):
        middle = Slope("fit", 0.0, curvature=1.0)
        return Slope("out", 0.0), Jump(-1.0 * t), middle, Jump(1.0 * t), Slope("off", 0.0)


def test_a_start_at_infinity_is_diagnosed_too():
    problem = Problem.compile(Truncated(6))
    piece = np.full(6, 2)
    said = cause_of_trouble(problem, ordinary(problem, t=np.inf, piece=piece, active=np.arange(6)))
    assert "the cause is unknown (at t=inf," in said


class Step(LossModel):
    """A loss that is not convex at the start of its span."""

    span = (6.0, 1.0)
    parameter = "s"

    def __init__(self):
        self.gram = DenseGram(np.eye(2))

    def polyline(self, t):
        return Slope("lost", 0.0), Jump(-t), Slope("loss", 1.0), Knot("edge", 1.0), Slope("ok", 0.0)


def test_a_start_that_is_not_convex_names_both_ways_out():
    with pytest.raises(ModelError) as caught:
        Homotopy(Step()).trace()
    said = str(caught.value)
    assert "Step is not convex at s=6; give trace(start=...)" in said
    assert "span = (-inf, stop) or (inf, stop)" in said
    assert "coordinate 0 has a Jump at u=-6" in said


def test_both_ways_out_lead_out():
    with_start = Homotopy(Step()).trace(start=np.zeros(2))
    assert with_start.certify().ok
    model = Step()
    model.span = (np.inf, 1.0)
    assert Homotopy(model).trace().certify().ok


def timestamps(away):
    """Rows of two classes: responses are sums of terms of size away^2 that cancel."""
    features = RNG.normal(size=(6, 2)) + np.array([away, 0.0])
    features[::2] *= -1.0
    return Boxed(LinearGram(features))


def test_a_path_whose_responses_are_lost_in_rounding_comes_with_a_warning():
    with pytest.warns(RoundingWarning) as caught:
        path = Homotopy(timestamps(1.7e9)).trace()
    assert path.certify().ok
    said = str(caught.pop().message)
    assert said.startswith("Boxed: at t=")
    assert "times as large as a response" in said
    assert "column 0 of the features is 1.7e+09 away from 0" in said
    assert "subtract its mean" in said


def test_the_warning_points_at_the_line_that_traced(tmp_path):
    model, file = timestamps(1.7e9), tmp_path / "path.checkpoint"
    with pytest.warns(RoundingWarning) as traced:
        Homotopy(model).trace(checkpoint=file)
    with pytest.warns(RoundingWarning) as resumed:
        Homotopy(model).resume(file)
    assert {w.filename for w in (*traced, *resumed)} == {__file__}


def test_ordinary_paths_come_without_a_warning():
    """Warnings are errors in this suite."""
    for away in (0.0, 1e3):
        Homotopy(timestamps(away)).trace()


def test_corners_that_vanish_are_not_drowned():
    """Corners and responses that are 0 up to rounding at some t are right there."""

    class Vanishing(Boxed):
        span = (0.0, 0.3)

        def polyline(self, t):
            return Slope("full", 1.0), Knot("between", 0.3 - t), Slope("none", 0.5)

    features = RNG.normal(size=(3, 2))
    Homotopy(Vanishing(LinearGram(np.vstack([features, -features])))).trace()
