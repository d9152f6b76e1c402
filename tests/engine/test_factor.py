"""The triangular factor against NumPy, through many appends and removals.

Its functions are parts of the compiled core: here they run as plain Python, and once compiled.
"""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

from homotopy.tracker import factor as parts
from homotopy.tracker.state import COLUMN


def plain(part):
    """A part as plain Python; without a compiler (NUMBA_DISABLE_JIT) it is that already."""
    return getattr(part, "py_func", part)


forward_substitute = plain(parts.forward_substitute)
back_substitute = plain(parts.back_substitute)
remove_column = plain(parts.remove_column)
rotate = plain(parts.rotate)
eliminate_border = plain(parts.eliminate_border)
null_of_border = plain(parts.null_of_border)


@njit
def substitute(factor, size, x):
    """Compiled: ``R^T R x = x`` in place."""
    parts.forward_substitute(factor, size, x)
    parts.back_substitute(factor, size, x)


@njit
def take_out(factor, size, position, work):
    """Compiled: one coordinate less."""
    parts.remove_column(factor, size, position, work)


def matrix(n, seed):
    phi = np.random.default_rng(seed).normal(size=(n, n + 2))
    return phi @ phi.T


class Grown:
    """R of a growing and shrinking block of `A`, with one right-hand side carried along."""

    def __init__(self, A, right, compiled=False):
        n = len(A)
        self.A, self.right, self.compiled = A, right, compiled
        self.R, self.half, self.work = np.zeros((n, n)), np.zeros((1, n)), np.zeros((3, n))
        self.inside: list[int] = []

    def pivot(self, i):
        """The squared pivot of coordinate i, and its column of R."""
        row = self.A[i, self.inside]
        forward_substitute(self.R, row.size, row)
        return self.A[i, i] - row @ row, row

    def append(self, i):
        """Add coordinate i; return its squared pivot."""
        (pivot, row), size = self.pivot(i), len(self.inside)
        self.R[:size, size] = row
        self.R[size, size] = np.sqrt(pivot)
        self.half[0, size] = (self.right[i] - row @ self.half[0, :size]) / np.sqrt(pivot)
        self.inside.append(i)
        return pivot

    def remove(self, i):
        size, position = len(self.inside), self.inside.index(i)
        (take_out if self.compiled else remove_column)(self.R, size, position, self.work)
        rotate(self.half, 0, size, position, self.work)
        self.inside.remove(i)

    def solve(self, right):
        x = np.array(right)
        if self.compiled:
            substitute(self.R, x.size, x)
        else:
            forward_substitute(self.R, x.size, x)
            back_substitute(self.R, x.size, x)
        return x

    def block(self):
        return self.A[np.ix_(self.inside, self.inside)]


def change(grown, rng):
    """One more or one less, at random."""
    outside = np.setdiff1d(np.arange(len(grown.A)), grown.inside)
    if outside.size and (not grown.inside or rng.random() < 0.55):
        grown.append(int(rng.choice(outside)))
    else:
        grown.remove(int(rng.choice(grown.inside)))


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_solutions_after_random_updates(seed, compiled):
    rng = np.random.default_rng(seed)
    grown = Grown(matrix(30, seed), rng.normal(size=30), compiled)
    for _ in range(200):
        change(grown, rng)
        size = len(grown.inside)
        R = np.triu(grown.R[:size, :size])
        np.testing.assert_allclose(R.T @ R, grown.block(), rtol=0, atol=1e-12 * 60)
        assert np.all(np.diagonal(R) > 0.0)
        right = rng.normal(size=size)
        expected = np.linalg.solve(grown.block(), right)
        np.testing.assert_allclose(grown.solve(right), expected, rtol=1e-7, atol=1e-9)


def test_a_right_hand_side_carried_along_stays_the_half_solution():
    """``half = R^{-T} right`` is rotated with R, never solved for again."""
    rng = np.random.default_rng(7)
    grown = Grown(matrix(20, 7), rng.normal(size=20))
    for _ in range(150):
        change(grown, rng)
        size = len(grown.inside)
        fresh = grown.right[grown.inside]
        forward_substitute(grown.R, size, fresh)
        np.testing.assert_allclose(grown.half[0, :size], fresh, rtol=1e-8, atol=1e-10)


def test_the_pivot_is_the_schur_complement():
    A = matrix(6, 1)
    grown, inside = Grown(A, np.zeros(6)), [3, 0, 5]
    for i in inside:
        grown.append(i)
    for i in (1, 2, 4):
        schur = A[i, i] - A[i, inside] @ np.linalg.solve(A[np.ix_(inside, inside)], A[inside, i])
        assert grown.pivot(i)[0] == pytest.approx(schur, rel=1e-10)


def test_removing_first_last_and_only():
    A = matrix(5, 3)
    grown = Grown(A, np.arange(5.0))
    for i in (4, 2, 0, 1):
        grown.append(i)
    for gone in (4, 1, 2, 0):
        grown.remove(gone)
        size = len(grown.inside)
        R = np.triu(grown.R[:size, :size])
        np.testing.assert_allclose(R.T @ R, grown.block(), rtol=1e-12)
    assert grown.inside == []
    assert grown.append(3) == A[3, 3]
    np.testing.assert_allclose(grown.solve([A[3, 3]]), [1.0])


def test_a_dependent_column_shows_a_pivot_of_zero():
    phi = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    grown = Grown(phi @ phi.T, np.zeros(3))
    assert grown.append(0) == pytest.approx(1.0)
    assert grown.append(1) == pytest.approx(1.0)
    assert abs(grown.pivot(2)[0]) < 1e-14


def test_an_indefinite_block_shows_a_negative_pivot():
    grown = Grown(np.array([[1.0, 2.0], [2.0, 1.0]]), np.zeros(2))
    grown.append(0)
    assert grown.pivot(1)[0] == pytest.approx(-3.0)


# ------------------------------------------------------------------ the border


def columns(imbalance, support=1e-12):
    column = np.zeros(len(imbalance), COLUMN).view(np.recarray)
    column.imbalance[:], column.support[:] = imbalance, support
    return column


@pytest.mark.parametrize("m", [1, 2, 3, 5])
def test_the_border_is_solved_for_like_any_system(m):
    rng = np.random.default_rng(m)
    for _ in range(20):
        schur = matrix(m, int(rng.integers(1000)))
        imbalance = rng.normal(size=m)
        column = columns(imbalance)
        assert eliminate_border(schur.copy(), column) == m
        np.testing.assert_allclose(column.rate, np.linalg.solve(schur, imbalance), rtol=1e-8)
        assert sorted(column.order) == list(range(m))


def test_the_largest_pivot_comes_first():
    column = columns([1.0, 1.0, 1.0])
    assert eliminate_border(np.diag([2.0, 8.0, 4.0]), column) == 3
    assert column.order.tolist() == [1, 2, 0]
    assert column.rate.tolist() == [0.5, 0.125, 0.25]


@pytest.mark.parametrize(("m", "rank"), [(1, 0), (2, 1), (3, 1), (3, 2), (4, 2), (5, 4)])
def test_a_border_without_support_tells_its_rank_and_where_it_is_free(m, rank):
    rng = np.random.default_rng([m, rank])
    for _ in range(20):
        half = rng.normal(size=(m, rank))
        schur = half @ half.T
        # A right-hand side within the range: nothing is left to ask for.
        imbalance = schur @ rng.normal(size=m)
        column, left = columns(imbalance, 1e-11), schur.copy()
        assert eliminate_border(left, column) == rank
        np.testing.assert_allclose(schur @ column.rate, imbalance, atol=1e-9)
        dead = column.order[rank:]
        np.testing.assert_allclose(column.imbalance[dead], 0.0, atol=1e-10)
        assert np.all(column.rate[dead] == 0.0)
        for place in range(rank, m):
            null_of_border(left, column, rank, place)
            # b may slide this way without any active coordinate feeling it.
            np.testing.assert_allclose(half.T @ column.slide, 0.0, atol=1e-8)
            assert column.slide[column.order[place]] == 1.0


def test_what_a_border_without_support_asks_for_is_left_as_imbalance():
    # Both columns are seen alike by the active coordinates; they ask for 3 and 1.
    column = columns([3.0, 1.0])
    schur = np.ones((2, 2))
    assert eliminate_border(schur, column) == 1
    kept, dead = column.order
    assert column.imbalance[dead] == (-2.0 if dead == 1 else 2.0)
    assert column.rate[kept] == column.imbalance[kept]
    assert column.rate[dead] == 0.0
    null_of_border(schur, column, 1, 1)
    assert column.slide[dead] == 1.0
    assert column.slide[kept] == -1.0


def test_no_support_at_all_is_rank_zero():
    column = columns([2.0])
    assert eliminate_border(np.zeros((1, 1)), column) == 0
    assert (column.rate[0], column.imbalance[0]) == (0.0, 2.0)


def test_a_column_with_little_support_of_its_own_keeps_it():
    """Each pivot counts beside its own column only: here an exact small one, after it one that is
    the rounding of a larger column."""
    column = columns([1.0, 1e-14, 0.0], [1e-12, 1e-26, 1e-12])
    schur = np.array([[1.0, 0.0, 1.0], [0.0, 1e-14, 0.0], [1.0, 0.0, 1.0 + 4e-16]])
    assert eliminate_border(schur, column) == 2
    assert column.order.tolist()[1:] in ([1, 0], [1, 2])
    assert column.rate[1] == 1.0
