"""The triangular factor against NumPy, through many appends and removals."""

from __future__ import annotations

import numpy as np
import pytest

from homotopy.factor import Factor


def matrix(n, seed):
    phi = np.random.default_rng(seed).normal(size=(n, n + 2))
    return phi @ phi.T


def append(factor, A, i):
    """Add coordinate i if it is independent of those inside; return its squared pivot."""
    pivot = factor.pivot(A[i, factor.index], A[i, i])
    if pivot > 1e-12 * A[i, i]:
        factor.accept(i, pivot)
    return pivot


@pytest.mark.parametrize("seed", range(5))
def test_solutions_after_random_updates(seed):
    rng = np.random.default_rng(seed)
    A = matrix(40, seed)
    factor = Factor(capacity=2)
    inside: list[int] = []
    for _ in range(300):
        outside = [i for i in range(40) if i not in inside]
        if outside and (not inside or rng.random() < 0.55):
            i = int(rng.choice(outside))
            assert append(factor, A, i) > 0
            inside.append(i)
        else:
            i = int(rng.choice(inside))
            factor.remove(i)
            inside.remove(i)
        assert factor.index.tolist() == inside
        if inside:
            right = rng.normal(size=len(inside))
            expected = np.linalg.solve(A[np.ix_(inside, inside)], right)
            np.testing.assert_allclose(factor.solve(right), expected, rtol=1e-7, atol=1e-9)


def test_a_dependent_column_shows_a_pivot_of_zero():
    phi = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    A = phi @ phi.T
    factor = Factor()
    assert append(factor, A, 0) == pytest.approx(1.0)
    assert append(factor, A, 1) == pytest.approx(1.0)
    assert abs(append(factor, A, 2)) < 1e-14
    assert factor.index.tolist() == [0, 1]
    np.testing.assert_allclose(factor.solve(np.array([3.0, 4.0])), [3.0, 4.0])


def test_the_pivot_is_the_schur_complement_and_changes_nothing():
    A = matrix(6, 1)
    factor = Factor(capacity=1)
    for i in (3, 0, 5):
        append(factor, A, i)
    inside = [3, 0, 5]
    for i in (1, 2, 4):
        schur = A[i, i] - A[i, inside] @ np.linalg.solve(A[np.ix_(inside, inside)], A[inside, i])
        assert factor.pivot(A[i, inside], A[i, i]) == pytest.approx(schur, rel=1e-10)
    assert factor.index.tolist() == inside


def test_an_indefinite_block_shows_a_negative_pivot():
    A = np.array([[1.0, 2.0], [2.0, 1.0]])
    factor = Factor()
    append(factor, A, 0)
    assert append(factor, A, 1) == pytest.approx(-3.0)
    assert factor.size == 1


def test_position_and_clear():
    A = matrix(4, 2)
    factor = Factor()
    for i in (2, 0, 3):
        append(factor, A, i)
    assert [factor.position(i) for i in (2, 0, 3)] == [0, 1, 2]
    factor.clear()
    assert factor.size == 0
    assert factor.solve(np.empty(0)).size == 0
