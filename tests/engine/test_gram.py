"""Every operator is the same matrix."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from homotopy import DataError, DenseGram, KernelGram, LinearGram

PHI = np.random.default_rng(3).normal(size=(9, 4))
PHI[5] = 0.0
Q = np.array([[sum(a * b) for b in PHI] for a in PHI])


def kernel_gram():
    return KernelGram(lambda index: Q[index], np.diagonal(Q))


GRAMS = {
    "dense": lambda: DenseGram(Q),
    "kernel": kernel_gram,
    "linear": lambda: LinearGram(PHI),
    "sparse": lambda: LinearGram(sp.csr_matrix(PHI)),
    "coo": lambda: LinearGram(sp.coo_matrix(PHI)),
}


@pytest.fixture(params=list(GRAMS))
def gram(request):
    return GRAMS[request.param]()


def test_size_and_diagonal(gram):
    assert gram.size == 9
    np.testing.assert_allclose(gram.diag, np.diagonal(Q), rtol=1e-14, atol=1e-15)


def test_columns_blocks_and_products(gram):
    rng = np.random.default_rng(0)
    close = {"rtol": 1e-13, "atol": 1e-13}
    np.testing.assert_allclose(gram.column(7), Q[:, 7], **close)
    for rows, columns in (([1, 5], [8, 0, 3]), ([4, 2, 6, 0], [3]), ([2], []), ([], [1, 2])):
        rows, columns = np.array(rows, dtype=np.int64), np.array(columns, dtype=np.int64)
        np.testing.assert_allclose(gram.block(rows, columns), Q[np.ix_(rows, columns)], **close)
    index = np.array([6, 1, 4])
    weights = rng.normal(size=3)
    np.testing.assert_allclose(gram.combine(index, weights), Q[:, index] @ weights, **close)
    none = np.empty(0, dtype=np.int64)
    np.testing.assert_array_equal(gram.combine(none, np.empty(0)), np.zeros(9))
    alphas = rng.normal(size=(9, 3))
    alphas[rng.random((9, 3)) < 0.5] = 0.0
    np.testing.assert_allclose(gram.matmat(alphas), Q @ alphas, **close)
    np.testing.assert_allclose(gram.matvec(alphas[:, 0]), Q @ alphas[:, 0], **close)


def test_a_kernel_gram_computes_each_column_once():
    asked: list[int] = []

    def columns(index):
        asked.extend(index.tolist())
        return Q[index]

    gram = KernelGram(columns, np.diagonal(Q))
    gram.column(4)
    gram.block(np.array([4, 2]), np.arange(9))
    gram.matvec(np.ones(9))
    gram.fetch(np.arange(9))
    assert sorted(asked) == list(range(9))
    store, slot = gram.rows()
    np.testing.assert_array_equal(store[slot], Q)
    np.testing.assert_array_equal(gram.column(2), Q[2])


def test_a_kernel_gram_grows_beyond_its_first_store():
    phi = np.random.default_rng(0).normal(size=(150, 2))
    whole = phi @ phi.T
    gram = KernelGram(lambda index: whole[index], np.diagonal(whole))
    for i in np.random.default_rng(1).permutation(150):
        np.testing.assert_array_equal(gram.column(int(i)), whole[i])
    np.testing.assert_allclose(gram.matvec(np.ones(150)), whole.sum(axis=1), rtol=1e-10)


def test_only_the_linear_gram_shows_features():
    assert DenseGram(Q).features() is None
    assert kernel_gram().features() is None
    assert LinearGram(PHI).features().shape == (9, 4)
    assert LinearGram(PHI).rows() is None
    matrix, slot = DenseGram(Q).rows()
    np.testing.assert_array_equal(matrix[slot], Q)


def test_a_kernel_gram_keeps_within_its_memory_and_gives_up_the_longest_unused():
    asked: list[int] = []

    def columns(index):
        asked.extend(index.tolist())
        return Q[index]

    # Four of the nine columns fit.
    gram = KernelGram(columns, np.diagonal(Q), memory=4 * 9 * 8 / 1e6)
    gram.fetch(np.array([0, 1, 2, 3]))
    gram.fetch(np.array([4]), np.array([0]))
    store, slot = gram.rows()
    assert store.shape[0] == 4
    assert slot[0] >= 0
    assert slot[4] >= 0
    assert np.count_nonzero(slot >= 0) == 4
    for i in range(9):
        np.testing.assert_array_equal(gram.column(i), Q[i])
    held = slot >= 0
    np.testing.assert_array_equal(store[slot[held]], Q[held])
    alpha = np.linspace(-1.0, 1.0, 9)
    np.testing.assert_allclose(gram.matvec(alpha), Q @ alpha, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(gram.matmat(alpha[:, None])[:, 0], Q @ alpha, atol=1e-12)
    assert gram.rows()[0].shape[0] == 4
    assert len(asked) > 9


def test_columns_in_use_are_kept_whatever_they_take():
    gram = KernelGram(lambda index: Q[index], np.diagonal(Q), memory=2 * 9 * 8 / 1e6)
    gram.fetch(np.array([1, 3, 5, 7]))
    store, slot = gram.rows()
    np.testing.assert_array_equal(store[slot[[1, 3, 5, 7]]], Q[[1, 3, 5, 7]])


def test_the_memory_of_a_kernel_gram_must_be_positive():
    with pytest.raises(DataError, match="memory must be a positive number of MB"):
        KernelGram(lambda index: Q[index], np.diagonal(Q), memory=0.0)


@pytest.mark.parametrize("shape", [(2, 3), (4,), (0, 1), (1, 1, 1)])
def test_a_dense_gram_must_be_square(shape):
    with pytest.raises(DataError, match=r"square matrix, got shape"):
        DenseGram(np.ones(shape))


@pytest.mark.parametrize(
    "matrix",
    [
        np.array([[1.0, 2.0], [0.0, 1.0]]),
        np.array([[1.0, np.nan], [np.nan, 1.0]]),
        np.array([[np.inf]]),
    ],
)
def test_a_dense_gram_must_be_symmetric_and_finite(matrix):
    with pytest.raises(DataError, match=r"DenseGram: .*(symmetric|finite)"):
        DenseGram(matrix)
