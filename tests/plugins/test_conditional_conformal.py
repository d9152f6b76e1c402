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


@pytest.mark.parametrize(
    ("n", "level", "shares"),
    [
        # The alphas sum to 0, so that alpha / C = n (1 - level) - k while the cut-off goes from the
        # k-th to the next of the largest scores; uniform from level - 1 to level, it gives each its
        # share.  Then coverage is the level: 0.4 * 7/8 + 0.6 * 6/8 = 0.8.
        (7, 0.8, {-1: 0.4, -2: 0.6}),
        (3, 0.9, {"inf": 0.6, -1: 0.4}),
        (1, 0.3, {-1: 0.6, "-inf": 0.4}),
    ],
)
def test_randomized_cutoffs_are_order_statistics_by_their_shares(n, level, shares):
    X, score = drawn(n)
    options = {"kernel": None, "confidence_level": level, "randomize": True}
    cut = ConditionalConformal(**options).fit(X, score)
    found = cut.cutoff(np.zeros((600, 2)))
    values = [float(k) if isinstance(k, str) else np.sort(score)[k] for k in shares]
    assert set(found) == set(values)
    for value, share in zip(values, shares.values(), strict=True):
        # Four standard errors.
        assert abs(np.mean(found == value) - share) < 4 * np.sqrt(share * (1 - share) / 600)
    np.testing.assert_array_equal(found, cut.cutoff(np.zeros((600, 2))))
    other = ConditionalConformal(random_state=1, **options).fit(X, score)
    assert np.any(other.cutoff(np.zeros((600, 2))) != found)


def excess(cut, draws=200, n=40, new=8):
    """Mean of group (covered - level) over draws of calibration and new rows, and its error; the
    last column is that of all rows."""
    found = []
    for seed in range(draws):
        X, score = drawn(n + new, seed=1000 + seed)
        covered = score[n:] <= cut(X[:n], score[:n], X[n:])
        within = np.column_stack([groups(X[n:]), np.abs(X[n:, 0]) > 1, np.ones(new)])
        found.append((covered - 0.8) @ within / new)
    return np.mean(found, axis=0), np.std(found, axis=0, ddof=1) / np.sqrt(draws)


def overlapping(X):
    return np.column_stack([groups(X), np.abs(X[:, 0]) > 1])


@pytest.mark.parametrize("kernel", [None, pytest.param("rbf", marks=pytest.mark.slow)])
def test_coverage_is_right_in_overlapping_groups_and_on_average(kernel):
    options = {"confidence_level": 0.8, "basis": overlapping, "kernel": kernel, "penalty": 0.02}
    least = ConditionalConformal(**options)
    draws = np.random.RandomState(0)
    exact = ConditionalConformal(randomize=True, random_state=draws, **options)

    # At least the level, and not above it by more than 3 functions / (n + 1).
    mean, error = excess(lambda X, score, new: least.fit(X, score).cutoff(new))
    assert np.all(mean > -3.5 * error)
    if kernel is None:
        assert np.all(mean < 3 / 41 + 3.5 * error)
    else:
        # Enough draws to see what `randomize` takes away.
        assert mean[-1] > 6 * error[-1]

    mean, error = excess(lambda X, score, new: exact.fit(X, score).cutoff(new))
    assert np.all(np.abs(mean) < 3.5 * error)


def test_one_cutoff_for_all_fails_the_group_that_the_others_do_not():
    def split(X, score, new):
        return np.full(len(new), np.sort(score)[int(np.ceil(0.8 * (len(score) + 1))) - 1])

    mean, error = excess(split)
    assert mean[2] < -3.5 * error[2]
    assert -3.5 * error[-1] < mean[-1] < 1 / 41 + 3.5 * error[-1]


def test_a_basis_is_a_function():
    with pytest.raises(ModelError, match=r"basis must be a function of X, got \[1, 2\]; lambda X"):
        ConditionalConformal(basis=[1, 2]).fit(np.eye(5), np.arange(5.0))
