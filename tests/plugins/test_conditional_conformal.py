"""ConditionalConformal against refits, order statistics of groups, and where it is infinite."""

from __future__ import annotations

import numpy as np
import pytest

from homotopy import DataError, ModelError
from homotopy_plugins import ConditionalConformal


def drawn(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.abs(rng.normal(size=n)) * (1 + np.abs(X[:, 0]))


def groups(X):
    return np.column_stack([X[:, 0] <= 0, X[:, 0] > 0]).astype(float)


def test_groups_alone_have_their_own_order_statistics():
    X, score = drawn(150)
    new = np.array([[-1.0, 0.0], [1.0, 0.0]])
    found = ConditionalConformal(basis=groups, kernel=None).fit(X, score).cutoff(new)
    for value, inside in zip(found, groups(X).T.astype(bool), strict=True):
        own = np.sort(score[inside])
        assert value == own[int(np.ceil(0.9 * (own.size + 1))) - 1]


def test_the_cutoff_is_where_a_refit_first_lies_below_the_score():
    X, score = drawn(80)
    new = drawn(5, seed=1)[0]
    options = {"basis": groups, "gamma": 0.5}
    found = ConditionalConformal(penalty=0.01, **options).fit(X, score).cutoff(new)
    for x, value in zip(new, found, strict=True):
        for step in (-1e-5, 1e-5):
            both = np.append(score, value + step)
            refit = ConditionalConformal(penalty=0.01 * 81 / 82, **options)
            q = refit.fit(np.vstack([X, x]), both).path_.response(0.0)[-1]
            assert (q >= value + step - 1e-9) == (step < 0)


def test_too_few_rows_and_groups_without_rows():
    X, score = drawn(40)
    left = X[X[:, 0] <= 0]
    cut = ConditionalConformal(basis=groups, kernel=None).fit(left, score[: len(left)])
    assert cut.cutoff([[1.0, 0.0]]) == np.inf
    assert np.isfinite(cut.cutoff([[-1.0, 0.0]]))[0]
    assert ConditionalConformal(kernel=None).fit(X[:8], score[:8]).cutoff(X[:1]) == np.inf
    assert np.isfinite(ConditionalConformal(kernel=None).fit(X[:9], score[:9]).cutoff(X[:1]))[0]


def test_what_cannot_be_is_refused():
    X, score = drawn(20)
    with pytest.raises(DataError, match=r"scores\[3\] is nan"):
        ConditionalConformal().fit(X, np.where(np.arange(20) == 3, np.nan, score))
    with pytest.raises(DataError, match="19 scores"):
        ConditionalConformal().fit(X, score[1:])
    with pytest.raises(ModelError, match="kernel must be"):
        ConditionalConformal(kernel="precomputed").fit(X, score)
    with pytest.raises(ModelError, match="penalty must be positive"):
        ConditionalConformal(penalty=0.0).fit(X, score)
