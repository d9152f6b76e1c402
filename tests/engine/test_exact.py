"""Equations solved in more digits than a double has, against fractions."""

from __future__ import annotations

from fractions import Fraction

import attrs
import numpy as np
import pytest

from homotopy import DenseGram, Homotopy, Knot, LinearGram, LossModel, Slope
from homotopy.exact import Equations
from homotopy.model import Problem
from homotopy.path.polish import polished


@pytest.fixture
def rng():
    return np.random.default_rng(11)


class SquaredHinge(LossModel):
    """``c/2 max(0, y + t drift - u)^2`` on features, with an intercept or without."""

    parameter, span = "t", (0.0, 1.0)

    def __init__(self, X, y, drift, cost=1.0, border=None):
        self.gram = LinearGram(X)
        self.y, self.drift, self.cost, self.border = y, drift, cost, border

    def polyline(self, t):
        corner = self.y + t * self.drift
        return (
            Slope("left", self.cost * corner, curvature=self.cost),
            Knot("on", corner),
            Slope("right", 0.0),
        )


class Interpolation(LossModel):
    """Every response on its knot: ``Q alpha + B b = y + t drift``."""

    parameter, span = "t", (0.0, 1.0)

    def __init__(self, gram, y, drift, border=None):
        self.gram, self.y, self.drift, self.border = gram, y, drift, border

    def polyline(self, t):
        return Slope("up", 1e30), Knot("on", self.y + t * self.drift), Slope("down", -1e30)


def fractions(rows):
    return [[Fraction(float(v)) for v in row] for row in rows]


def solved(matrix, right):
    """By elimination, exactly."""
    a = [[*row, r] for row, r in zip(matrix, right, strict=True)]
    n = len(a)
    for k in range(n):
        p = next(i for i in range(k, n) if a[i][k] != 0)
        a[k], a[p] = a[p], a[k]
        for i in range(n):
            if i != k:
                f = a[i][k] / a[k][k]
                a[i] = [x - f * z for x, z in zip(a[i], a[k], strict=True)]
    return [a[k][n] / a[k][k] for k in range(n)]


@pytest.mark.parametrize("large", [1.0, 1e4, 1e8])
def test_slanted_pieces_beside_large_features(rng, large):
    """alpha is of the size of the targets, ``w = F' alpha`` smaller by the square of the features:
    in doubles nothing is left of it."""
    n, d = 7, 3
    X, y = large * np.round(8 * rng.normal(size=(n, d))), np.round(8 * rng.normal(size=n))
    problem = Problem.compile(SquaredHinge(X, y, 0.0 * y))
    found = Equations(problem).solve(
        np.arange(n), np.ones(n), (y.astype(np.longdouble), np.abs(y)),
        (np.zeros(0, np.longdouble), np.zeros(0)), np.zeros(n), np.zeros(0),
    )  # fmt: skip
    F = fractions(X)
    Q = [[sum(p * q for p, q in zip(a, b, strict=True)) + (i == j) for j, b in enumerate(F)]
         for i, a in enumerate(F)]  # fmt: skip
    exact = solved(Q, [Fraction(float(v)) for v in y])
    np.testing.assert_allclose(found.alpha, [float(v) for v in exact], rtol=0.0, atol=1e-12)


def test_border_and_knots(rng):
    n = 6
    X = np.round(16 * rng.normal(size=(n, 9)))
    y = np.round(8 * rng.normal(size=n))
    Q, ones = X @ X.T, np.ones((n, 1))
    matrix = fractions(np.block([[Q, ones], [ones.T, np.zeros((1, 1))]]))
    exact = [float(v) for v in solved(matrix, [Fraction(float(v)) for v in [*y, 0.0]])]
    for gram in (DenseGram(Q), LinearGram(X)):
        problem = Problem.compile(Interpolation(gram, y, 0.0 * y, ones))
        found = Equations(problem).solve(
            np.arange(n), np.zeros(n), (y.astype(np.longdouble), np.abs(y)),
            (np.zeros(1, np.longdouble), np.zeros(1)), np.zeros(n), np.zeros(1),
        )  # fmt: skip
        np.testing.assert_allclose([*found.alpha, *found.b], exact, rtol=1e-15, atol=1e-17)


def test_what_holds_already_is_left_alone(rng):
    """In a singular system alpha stays where it is: no equation asks for anything else."""
    X = rng.normal(size=(3, 2))[[0, 1, 2, 0]]
    alpha = rng.normal(size=4)
    y = X @ (X.T @ alpha)
    problem = Problem.compile(Interpolation(LinearGram(X), y, 0.0 * y))
    found = Equations(problem).solve(
        np.arange(4), np.zeros(4), (y.astype(np.longdouble), np.abs(y)),
        (np.zeros(0, np.longdouble), np.zeros(0)), alpha, np.zeros(0),
    )  # fmt: skip
    np.testing.assert_array_equal(found.alpha, alpha)


def test_the_last_digits_of_a_path(rng):
    """A path whose numbers are off by a little has them back."""
    X, y = rng.normal(size=(12, 3)), rng.normal(size=12)
    path = Homotopy(SquaredHinge(X, y, rng.normal(size=12), 10.0, np.ones((12, 1)))).trace()
    segments = path.segments
    blurred = {
        name: getattr(segments, name)
        * (1.0 + 1e-7 * rng.normal(size=getattr(segments, name).shape))
        for name in ("alpha_start", "alpha_stop", "b_start", "b_stop")
    }
    spoiled = attrs.evolve(path, segments=attrs.evolve(segments, **blurred))
    assert not spoiled.certify().ok
    again = polished(spoiled)
    assert again.certify(1e-12).ok
    np.testing.assert_allclose(again.segments.alpha_stop, segments.alpha_stop, rtol=0, atol=1e-12)


def test_one_too_large_is_left_alone(rng):
    X, y = rng.normal(size=(12, 3)), rng.normal(size=12)
    assert polished(Homotopy(SquaredHinge(X, y, 0.1 * y)).trace(), most=1.0) is None


@pytest.mark.parametrize("large", [1e6, 1e8])
def test_squared_hinge_on_large_features_is_traced(rng, large):
    """Rates found from Q have the square of that in them; the second attempt has w by itself."""
    X = large * rng.normal(size=(8, 3))
    path = Homotopy(SquaredHinge(X, rng.normal(size=8), rng.normal(size=8))).trace()
    assert path.complete
    assert path.certify().ok


def test_a_slanted_piece_lends_no_scale(rng):
    """``a`` of ``alpha = a - c u`` is no alpha: a path that is off by all of its response fails,
    however large ``a`` times the features is."""
    X = 1e9 * rng.normal(size=(4, 5))
    path = Homotopy(SquaredHinge(X, np.ones(4), 0.1 * np.ones(4), 76.0)).trace()
    assert path.certify().ok
    s = path.segments
    still = attrs.evolve(s, alpha_start=0.0 * s.alpha_start, alpha_stop=0.0 * s.alpha_stop)
    assert not attrs.evolve(path, segments=still).certify().ok
