"""The way down from a ridge, and paths of forms that are not semidefinite.

Boxes: alpha between bounds is a polyline with one knot (the price) and two flat slopes (the
bounds).  All points that meet the conditions of an optimum are listed by brute force.
"""

from __future__ import annotations

import itertools
from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from homotopy import (
    Affine,
    DataError,
    DenseGram,
    Homotopy,
    Knot,
    LossModel,
    ModelError,
    Slope,
    TraceError,
)
from homotopy.descent import descend, leading
from homotopy.model import Problem

Array = npt.NDArray[np.float64]


class Box(LossModel):
    """``min 1/2 x'Qx - c(t)'x`` with ``0 <= x <= 1`` (wider as t falls), and ``B'x = e`` if B is
    given; c moves from one side to the other."""

    unknown = "alpha"
    span = (1.0, 0.0)

    def __init__(
        self, Q: Array, c: Array, *, border: Any = None, target: Any = 0.0, high: float = 1.0
    ) -> None:
        self.gram = DenseGram(Q, semidefinite=False)
        self.c, self.high, self.border, self.border_target = c, high, border, target

    def polyline(self, t: Any) -> Any:
        price = self.c - (t * 2.0 - 1.0) * 3.0 * np.ones(self.c.size)
        return Slope("high", self.high), Knot("inside", price), Slope("low", 0.0)

    def initial_guess(self) -> Array:
        return np.zeros(self.c.size)


def indefinite(n: int, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((n, n))
    values = rng.uniform(-1.0, 2.0, n)
    vectors = np.linalg.qr(root)[0]
    Q = vectors @ np.diag(values) @ vectors.T
    return 0.5 * (Q + Q.T)


def local_minima(Q: Array, c: Array, border: Array | None = None, e: float = 0.0) -> list[Array]:
    """All points of the unit box that meet the conditions of first and second order."""
    n, found = c.size, []
    for where in itertools.product((0, 1, 2), repeat=n):
        place = np.array(where)
        A = np.flatnonzero(place == 2)
        x = (place == 1) * 1.0
        rows = np.zeros((A.size, 0)) if border is None else border[A]
        block, m = Q[np.ix_(A, A)], rows.shape[1]
        free = np.linalg.svd(rows)[0][:, np.linalg.matrix_rank(rows) if m and A.size else 0 :]
        if A.size and free.size and np.linalg.eigvalsh(free.T @ block @ free)[0] <= 1e-9:
            continue
        if m and not A.size:
            continue
        whole = np.block([[block, rows], [rows.T, np.zeros((m, m))]])
        right = c[A] - Q[A] @ x
        if m:
            right = np.append(right, e - border[:, 0] @ x)
        solved = np.linalg.lstsq(whole, right, rcond=None)[0] if whole.size else np.zeros(0)
        if whole.size and np.abs(whole @ solved - right).max() > 1e-9:
            continue
        x[A] = solved[: A.size]
        gap = Q @ x - c + (border[:, 0] * solved[-1] if m else 0.0)
        inside = np.all((x > -1e-9) & (x < 1.0 + 1e-9))
        if inside and np.all(gap[place == 0] > -1e-9) and np.all(gap[place == 1] < 1e-9):
            found.append(x)
    return found


def value(Q: Array, c: Array, x: Array) -> float:
    return float(0.5 * x @ Q @ x - c @ x)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_the_way_down_ends_at_one_of_all_local_minima(n):
    for seed in range(40):
        Q = indefinite(n, seed)
        c = np.random.default_rng(seed).standard_normal(n)
        model = Box(Q, c - 3.0)
        problem = Problem.compile(model)
        snap = problem.polylines.at(0.0)
        # Everybody at the lower bound; one of those who should not be is let go.
        wrong = np.flatnonzero(c > 0.0)
        if not wrong.size:
            continue
        point = np.zeros(n), np.zeros(0), np.full(n, 2)
        x, _, piece = descend(
            problem.gram, problem.border, snap, point, (int(wrong[0]), 1.0), np.ones(n)
        )
        assert min(np.abs(x - m).max() for m in local_minima(Q, c)) <= 1e-9
        assert value(Q, c, x) < 0.0
        assert np.all((piece != 0) | (x == 1.0))


@pytest.mark.parametrize("n", [3, 4, 5])
def test_the_way_down_keeps_the_border_balanced(n):
    for seed in range(30):
        Q, rng = indefinite(n, seed), np.random.default_rng(seed)
        c, border = rng.standard_normal(n), np.ones((n, 1))
        model = Box(Q, c - 3.0, border=border, target=1.0)
        problem = Problem.compile(model)
        snap = problem.polylines.at(0.0)
        # The first holds all of it: its price is that of the balance.
        alpha, piece = np.eye(n)[0], np.array([0] + [2] * (n - 1))
        b = np.array([c[0] - Q[0, 0] - 1.0])
        gap = Q @ alpha + b[0] - c
        wrong = np.flatnonzero(gap[1:] < -1e-3) + 1
        if not wrong.size:
            continue
        x, _, _ = descend(
            problem.gram, problem.border, snap, (alpha, b, piece), (int(wrong[0]), 1.0), np.ones(n)
        )
        assert x.sum() == pytest.approx(1.0, abs=1e-12)
        minima = local_minima(Q, c, border, 1.0)
        corners = list(np.eye(n))
        assert min(np.abs(x - m).max() for m in [*minima, *corners]) <= 1e-9
        assert value(Q, c, x) <= value(Q, c, alpha) + 1e-12


def test_an_objective_that_falls_for_ever_is_reported():
    problem = Problem.compile(Box(np.array([[-1.0]]), np.array([-2.9]), high=np.inf))
    snap = problem.polylines.at(0.0)
    point = np.zeros(1), np.zeros(0), np.array([2])
    with pytest.raises(TraceError, match="falls without bound as coordinate 0"):
        descend(problem.gram, problem.border, snap, point, (0, 1.0), np.ones(1))


class Smooth(Box):
    """Slanted pieces that meet without a kink, for coordinates that go from one to the other."""

    def polyline(self, t: Any) -> Any:
        at = self.c - (t * 2.0 - 1.0) * 3.0 * np.ones(self.c.size)
        return (
            Slope("far", at, curvature=1.0),
            Knot("seam", at - 1.0),
            Slope("near", 0.5 * (at + 1.0), curvature=0.5),
            Knot("price", at + 1.0),
            Slope("low", 0.0),
        )


@pytest.mark.parametrize("seed", range(30))
def test_smooth_junctions_do_not_send_anybody_to_and_fro(seed):
    n = 6
    rng = np.random.default_rng(seed)
    Q = indefinite(n, seed) * 0.9
    problem = Problem.compile(Smooth(Q, np.round(rng.standard_normal(n), 1) - 3.0))
    snap = problem.polylines.at(0.0)
    wrong = np.flatnonzero(snap.corner[:, 1] > 0.0)
    if not wrong.size:
        pytest.skip("nobody is where it should not be")
    point = np.zeros(n), np.zeros(0), np.full(n, 4)
    given = problem.gram, problem.border, snap, point, (int(wrong[0]), 1.0), np.ones(n)
    if np.linalg.eigvalsh(Q)[0] < -0.5:
        # Q bends down by more than the slanted pieces bend up: there need not be an end.
        with suppress(TraceError):
            descend(*given)
        return
    x, _, piece = descend(*given)
    u = Q @ x
    off = np.abs(u - np.clip(u, snap.corner[:, 1], np.inf))
    assert np.all(off[piece == 4] <= 1e-9)
    bend = snap.curvature[np.arange(n), piece // 2]
    on = (piece % 2 == 0) & (bend > 0.0)
    slope = snap.slope[np.arange(n), piece // 2] - bend * u
    assert np.allclose(x[on], slope[on], atol=1e-9)


def test_leading_is_the_first_whose_pivot_fails():
    factor, direction = leading(np.diag([2.0, 3.0]), np.ones(2))
    assert direction is None
    assert np.allclose(factor, np.diag(np.sqrt([2.0, 3.0])))
    block = np.array([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    _, direction = leading(block, np.ones(3))
    assert direction is not None
    assert np.allclose(direction, [-2.0, 1.0, 0.0])
    assert direction @ block @ direction < 0.0
    _, direction = leading(np.ones((2, 2)), np.ones(2))
    assert np.allclose(direction, [-1.0, 1.0])


# ---------------------------------------------------------------------- paths


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_the_path_of_an_indefinite_box_is_traced_and_certified(n):
    jumps = 0
    for seed in range(8):
        Q, c = indefinite(n, seed), 0.5 * np.random.default_rng(seed).standard_normal(n)
        path = Homotopy(Box(Q, c)).trace()
        assert path.complete
        assert path.certify().ok
        jumps += len(path.jumps)
        for t in np.linspace(0.013, 0.987, 9):
            price = c - (2.0 * t - 1.0) * 3.0
            x = path.solution(t)
            assert min(np.abs(x - m).max() for m in local_minima(Q, price)) <= 1e-8
            assert path.objective(t) == pytest.approx(value(Q, price, x), abs=1e-9)
        for jump in path.jumps:
            assert jump.objective_after < jump.objective_before
    assert jumps


def test_the_path_of_a_balanced_box_is_certified_or_declined():
    """It starts at a corner of the box with b undetermined, where some starts are not found."""
    certified = 0
    for seed in range(20):
        Q, c = indefinite(6, seed), np.random.default_rng(seed).standard_normal(6)
        try:
            path = Homotopy(Balanced(Q, c)).trace()
        except TraceError:
            continue
        assert path.complete
        assert path.certify().ok
        for t in np.linspace(0.05, 0.95, 7):
            assert path.solution(t).sum() == pytest.approx(2.0 * (1.0 - t), abs=1e-9)
        certified += 1
    assert certified >= 10


class Balanced(Box):
    """The sum of x grows from 0 to 2, at fixed prices."""

    def __init__(self, Q: Array, c: Array) -> None:
        super().__init__(Q, c, border=np.ones((c.size, 1)))

    @property
    def border_target(self) -> Any:  # type: ignore[override]
        return 2.0 - 2.0 * Affine.parameter()

    @border_target.setter
    def border_target(self, value: Any) -> None:
        pass

    def polyline(self, t: Any) -> Any:
        return Slope("high", 1.0), Knot("inside", self.c), Slope("low", 0.0)


def test_a_form_that_is_not_semidefinite_asks_for_alpha_as_the_unknown():
    class Wrong(Box):
        unknown = "w"

    with pytest.raises(ModelError, match="unknown = 'alpha'"):
        Homotopy(Wrong(-np.eye(2), np.zeros(2))).trace()


@pytest.mark.parametrize("seed", range(10))
def test_any_alpha_in_the_box_is_a_start(seed):
    Q, rng = indefinite(5, seed), np.random.default_rng(seed)
    c = rng.standard_normal(5)
    path = Homotopy(Box(Q, c + 3.0)).trace(start=rng.random(5))
    assert path.complete
    assert path.certify().ok


def test_a_form_that_is_not_semidefinite_asks_for_a_start():
    class Lost(Box):
        def initial_guess(self) -> None:  # type: ignore[override]
            return None

    with pytest.raises(ModelError, match="not convex at t=1; give trace"):
        Homotopy(Lost(-np.eye(2), np.zeros(2))).trace()


def test_sizes_of_a_dense_form_have_one_entry_per_row():
    with pytest.raises(DataError, match=r"sizes has shape \(3,\), the matrix 2 rows"):
        DenseGram(-np.eye(2), semidefinite=False, sizes=np.ones(3))
    gram = DenseGram([[0.0, -2.0], [-2.0, 1.0]], semidefinite=False)
    assert np.array_equal(gram.sizes, [2.0, 2.0])
