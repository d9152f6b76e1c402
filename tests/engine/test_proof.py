"""The tracker's yardstick: what it lets pass, what it corrects, against fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from toys import Toy, certified

from homotopy import DenseGram, Homotopy, Knot, LinearGram, LossModel, Slope
from homotopy.model import Problem
from homotopy.tracker import Tracker


@pytest.fixture
def rng():
    return np.random.default_rng(11)


class Interpolation(LossModel):
    """Every response on its knot: ``Q alpha + B b = y + t drift``, ``B^T alpha = 0``."""

    parameter, span = "t", (0.0, 1.0)

    def __init__(self, gram, y, drift, border=None, most=100.0):
        self.gram, self.y, self.drift, self.border = gram, y, drift, border
        self.most = most

    def polyline(self, t):
        knot = Knot("on", self.y + t * self.drift)
        return Slope("up", self.most), knot, Slope("down", -self.most)


def exactly(matrix, right):
    """The solution by elimination in fractions."""
    a = [[Fraction(v) for v in [*row, float(r)]] for row, r in zip(matrix, right, strict=True)]
    n = len(a)
    for k in range(n):
        pivot = max(range(k, n), key=lambda i: abs(a[i][k]))
        a[k], a[pivot] = a[pivot], a[k]
        for i in range(n):
            if i != k and a[i][k]:
                factor = a[i][k] / a[k][k]
                a[i] = [x - factor * y for x, y in zip(a[i], a[k], strict=True)]
    return np.array([float(a[k][n] / a[k][k]) for k in range(n)])


def bordered(Q, B):
    m = B.shape[1]
    return np.block([[Q, B], [B.T, np.zeros((m, m))]])


@pytest.mark.parametrize("spread", [1.0, 1e3, 1e5])
def test_rows_of_very_different_size_beside_an_intercept(rng, spread):
    """b is found to the digits of the small rows, not to those of the largest."""
    n = 6
    X = rng.standard_normal((n, 8)) * np.geomspace(1.0, spread, n)[:, None]
    y, drift, B = rng.standard_normal(n), rng.standard_normal(n), np.ones((n, 1))
    path = Homotopy(Interpolation(LinearGram(X), y, drift, B)).trace()
    assert path.certify().ok
    Q = X @ X.T
    for t in (0.0, 1.0):
        known = exactly(bordered(Q, B), [*(y + t * drift), 0.0])
        # What the smallest rows lack of their corners, for the alpha and b of the path.
        u = Q @ path.alpha(t) + path.border_multipliers(t)[0]
        assert abs(path.border_multipliers(t)[0] - known[-1]) <= 1e-9 * np.abs(known[-1]) + 1e-12
        assert np.all(np.abs(u - y - t * drift) <= 1e-9 * np.abs(Q) @ np.abs(known[:-1]))


def test_a_nearly_singular_system_is_solved_to_its_rounding(rng):
    """Condition 1e8: the responses are right to the last digits although alpha is not."""
    n = 8
    orthogonal = np.linalg.qr(rng.standard_normal((n, n)))[0]
    X = orthogonal * np.geomspace(1.0, 1e-4, n)
    y, drift = (X @ (X.T @ rng.standard_normal(n)) for _ in range(2))
    path = Homotopy(Interpolation(LinearGram(X), y, drift)).trace()
    assert path.certify().ok
    for t in (0.0, 0.5, 1.0):
        u = X @ (X.T @ path.alpha(t))
        terms = np.abs(X) @ (np.abs(X).T @ np.abs(path.alpha(t)))
        assert np.all(np.abs(u - y - t * drift) <= 1e-13 * (terms + np.abs(y) + np.abs(drift)))


def standing(model):
    """A tracker at the start of a model, all of its pieces known."""
    problem = Problem.compile(model)
    tracker = Tracker(problem)
    snap, target = problem.polylines.at(problem.start), problem.target(problem.start)
    tracker.set_guess(np.zeros(problem.gram.size), np.zeros(problem.border.shape[1]))
    tracker.set_scales((problem.start, problem.stop))
    tracker.assign(snap, *snap.branches(tracker.u))
    tracker.settle(problem.start, snap, target)
    tracker.load_model(problem.start, problem.stop)
    tracker.head_along(problem.start)
    tracker.refresh()
    return tracker


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_the_yardstick_has_no_unit(rng, scale):
    """An error of one part in 1e6 of an alpha is seen, one of a few eps is not, at any scale."""
    A = rng.standard_normal((5, 5))
    Q, y, B = A @ A.T + np.eye(5), rng.standard_normal(5), np.ones((5, 1))
    tracker = standing(Interpolation(DenseGram(Q), scale * y, 0.0 * y, B, 100.0 * scale))
    assert tracker.off <= 1.0
    largest = int(np.argmax(np.abs(tracker.alpha)))
    kept = tracker.alpha.copy()
    for error, seen in ((1e-6, True), (4e-16, False)):
        tracker.alpha[:] = kept
        tracker.alpha[largest] *= 1.0 + error
        tracker.refresh()
        assert (tracker.off > 1.0) == seen


def test_what_is_off_on_slanted_pieces_is_seen_without_a_factor(rng):
    """A start given by the user is measured before there is a factor."""
    X, y = rng.standard_normal((8, 3)), rng.standard_normal(8)

    def pieces(t):
        return Slope("in", y + t, curvature=1.0), Knot("k", y + t), Slope("out", 0.0)

    model = Toy(LinearGram(X), (0.0, 1.0), pieces)
    path = certified(model)
    tracker, snap = Tracker(path.problem), path.problem.polylines.at(0.0)
    for error, seen in ((0.0, False), (1e-6, True)):
        tracker.set_guess(path.alpha(0.0) * (1.0 + error), np.empty(0), (0.0, 1.0))
        tracker.assign(snap, *snap.branches(tracker.u))
        tracker.load_model(0.0, 1.0)
        tracker.head_along(0.0)
        assert tracker.system.actives == 0
        tracker.refresh()
        assert (tracker.off > 1.0) == seen


def test_what_is_off_is_corrected(rng):
    A = rng.standard_normal((5, 5))
    Q, y, B = A @ A.T + np.eye(5), rng.standard_normal(5), np.ones((5, 1))
    tracker = standing(Interpolation(DenseGram(Q), y, 0.0 * y, B))
    tracker.alpha[2] += 1e-6
    tracker.b = tracker.b + 1e-5
    tracker.refresh()
    assert tracker.off > 1e3
    assert tracker.correct()
    known = exactly(bordered(Q, B), [*y, 0.0])
    np.testing.assert_allclose(tracker.alpha, known[:-1], rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(tracker.b, known[-1:], rtol=1e-12, atol=1e-14)


class Bounded(Interpolation):
    """The same with alpha between 0 and 1."""

    def polyline(self, t):
        return Slope("up", 1.0), Knot("on", self.y + t * self.drift), Slope("down", 0.0)


def test_an_alpha_in_the_way_of_a_correction_leaves_its_knot():
    """A correction that takes an alpha out of its knot is a pivot, not a reason to stay off."""
    Q, y = np.array([[1.0, 0.9], [0.9, 1.0]]), np.array([0.95, 0.9])
    # alpha_0 is just inside of its knot, and would have to go beyond 0.
    tracker = standing(Bounded(DenseGram(Q), y, 0.0 * y))
    assert tracker.piece.tolist() == [1, 1]
    tracker.alpha[:] = [1e-9, 0.9]
    tracker.polylines.corner.at[0, 0] = tracker.model_polylines.corner.at[0, 0] = 0.81 - 1e-6
    tracker.polylines.corner.at[1, 0] = tracker.model_polylines.corner.at[1, 0] = 0.9
    tracker.refresh()
    assert tracker.off > 1.0
    assert tracker.correct()
    assert tracker.piece.tolist() == [2, 1]
    np.testing.assert_allclose(tracker.alpha, [0.0, 0.9], rtol=0.0, atol=1e-12)


def test_a_response_of_nan_is_as_bad_as_can_be(rng):
    A = rng.standard_normal((3, 3))
    tracker = standing(Interpolation(DenseGram(A @ A.T), np.ones(3), np.zeros(3)))
    tracker.u[1] = np.nan
    tracker._measure(1.0)
    assert tracker.off == np.inf


class LeastSquares(LossModel):
    """``alpha = y + t drift - u`` within wide ends: least squares with a ridge of 1."""

    parameter, span = "t", (0.0, 1.0)

    def __init__(self, X, y, drift, width):
        self.gram, self.y, self.drift, self.width = LinearGram(X), y, drift, width

    def polyline(self, t):
        y = self.y + t * self.drift
        ends = Knot("low", y - self.width), Knot("high", y + self.width)
        line = Slope("square", y, 1.0)
        return Slope("up", self.width), ends[0], line, ends[1], Slope("down", -self.width)


@pytest.mark.filterwarnings("ignore::homotopy.RoundingWarning")
@pytest.mark.parametrize("offset", [0.0, 1e3, 1.7e9])
def test_slanted_pieces_beside_a_timestamp(rng, offset):
    """Q + 1 has no digit left of its 1: the factor is made of lengths, and w has digits of its
    own."""
    n = 12
    X = np.column_stack([rng.standard_normal(n), offset + 1e5 * rng.standard_normal(n)])
    y, drift = rng.standard_normal(n), rng.standard_normal(n)
    path = Homotopy(LeastSquares(X, y, drift, 100.0)).trace()
    assert path.certify().ok
    exact = [[Fraction(float(v)) for v in row] for row in X]
    Q = [[sum(a * b for a, b in zip(p, q, strict=True)) for q in exact] for p in exact]
    for k in range(n):
        Q[k][k] += 1
    for t in (0.0, 1.0):
        known = exactly(Q, y + t * drift)
        np.testing.assert_allclose(path.alpha(t), known, rtol=1e-6, atol=1e-9)
