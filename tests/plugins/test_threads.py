"""Traces that run beside each other, or inside each other: each is what it would be alone."""

from __future__ import annotations

import pickle
import sys
from concurrent.futures import ThreadPoolExecutor

import attrs
import numpy as np
import pytest
from grids import thinned
from problems import case
from toys import Toy

from homotopy import Homotopy, KernelGram, Knot, Slope
from homotopy_plugins import HingeRamp

N = 100


@pytest.fixture(autouse=True)
def _quick_turns():
    """Let threads take turns as often as can be."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def room_for(columns: int, n: int = N) -> float:
    return columns * n * 8 / 1e6


def numbers(path):
    """Everything a path holds, as bytes."""
    arrays = attrs.asdict(path.segments)
    jumps = [(*attrs.astuple(j)[2:], j.t, j.flipped.tobytes()) for j in path.jumps]
    return {k: v.tobytes() for k, v in arrays.items()}, jumps, path.counts, path.status, path.span


def ones_and_products(X, Z):
    """A callable kernel whose rows do not depend on each other."""
    return 1.0 + np.stack([np.sum(Z * row, axis=1) for row in X])


PROBLEM = case("hinge", N, 3, C=10.0, intercept=True)


def model(kernel, columns):
    return PROBLEM.model(kernel=kernel, coef0=1.0, cache_size=room_for(columns))


@thinned("kernel, columns", ["rbf", "poly", "linear", ones_and_products], [3, 40, N])
def test_threads_that_trace_one_model_do_not_disturb_each_other(kernel, columns):
    alone = numbers(Homotopy(model(kernel, columns)).trace())
    shared = model(kernel, columns)
    for threads in (2, 8):
        with ThreadPoolExecutor(threads) as pool:
            # More traces than threads: some begin with columns that another trace has left.
            found = list(pool.map(lambda _: Homotopy(shared).trace(), range(threads + 2)))
        assert all(numbers(path) == alone for path in found)


def test_threads_with_models_of_their_own_do_not_either():
    cases = [
        case(kind, 60 + 10 * k, k, path=way, intercept=bool(k % 2), kernel=kernel)
        for k, (kind, way, kernel) in enumerate(
            [
                ("hinge", "theta", "rbf"),
                ("hinge", "s", "linear"),
                ("lad", "theta", "linear"),
                ("lad", "s", "rbf"),
            ]
        )
    ]
    alone = [numbers(problem.trace()) for problem in cases]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda problem: problem.trace(), 3 * cases))
    assert [numbers(path) for path in found] == 3 * alone


def test_threads_may_vary_one_model():
    first = model("rbf", 40)
    costs = (0.1, 1.0, 3.0, 30.0)
    alone = [numbers(Homotopy(PROBLEM.model(C=C, cache_size=room_for(40))).trace()) for C in costs]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda C: Homotopy(first.varied(C=C)).trace(), 2 * costs))
    assert [numbers(path) for path in found] == 2 * alone


@pytest.mark.parametrize("columns", [3, 40])
def test_threads_may_read_one_path(columns):
    path = Homotopy(model("rbf", columns)).trace()
    points = np.linspace(*path.traced, 12)

    def read(t):
        new = PROBLEM.X[:7] + 0.1
        return (
            path.response(t).tobytes(),
            path.objective(t),
            path.decision_function(new, t).tobytes(),
            path.certify(at=t).ok,
        )

    alone = [read(t) for t in points]
    assert all(values[-1] for values in alone)
    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(read, [*points, *points])) == alone + alone


@pytest.mark.parametrize("columns", [3, pytest.param(60, marks=pytest.mark.slow), 300])
def test_a_callback_may_trace_the_same_model(columns):
    """The inner trace needs the room of the outer one, whose window goes back to its columns."""
    problem = case("hinge", 600, 3, C=10.0, intercept=True)
    outer = problem.model(cache_size=room_for(columns, 600))
    alone = Homotopy(outer).trace()
    assert alone.counts["windows"] > 10
    inner = outer.varied(C=3.0)

    def callback(seen):
        if seen.breakpoints % 20 == 0:
            Homotopy(inner, max_breakpoints=30).trace()

    path = Homotopy(outer).trace(callback=callback)
    assert numbers(path) == numbers(alone)
    assert path.certify().ok


# ---------------------------------------------------------------------- columns


class Counted:
    """A kernel that counts the rows it was asked for."""

    def __init__(self):
        self.rows = 0

    def __call__(self, X, Z):
        self.rows += len(X)
        return ones_and_products(X, Z)


def test_a_column_is_computed_once_for_every_c():
    kernel = Counted()
    first = HingeRamp(PROBLEM.X, PROBLEM.y, C=1.0, kernel=kernel)
    path = Homotopy(first).trace()
    asked = kernel.rows
    Homotopy(first).trace()
    assert kernel.rows == asked
    other = Homotopy(first.varied(C=1.1)).trace(start=path)
    assert kernel.rows < asked + 0.5 * len(first.y)
    assert other.certify().ok


@pytest.mark.parametrize("columns", [3, 40, N])
def test_a_trace_does_not_depend_on_what_was_traced_before(columns):
    used = model("poly", columns)
    for C in (0.1, 100.0):
        Homotopy(used.varied(C=C)).trace()
    assert numbers(Homotopy(used).trace()) == numbers(Homotopy(model("poly", columns)).trace())


def test_paths_that_are_kept_do_not_keep_columns_beyond_the_limit():
    first = model("rbf", 20)
    paths = [Homotopy(first.varied(C=C)).trace() for C in (0.5, 1.0, 2.0, 4.0, 8.0)]
    largest = max(int(np.diff(path.segments.offset).max()) for path in paths)
    store, _ = first.gram.rows()
    assert store.shape[0] <= max(20, 2 * largest)
    assert all(path.certify().ok for path in paths)


@pytest.mark.parametrize("kernel", ["rbf", "poly", "sigmoid"])
@pytest.mark.parametrize("sparse", [False, True])
def test_a_row_does_not_depend_on_the_rows_asked_for_with_it(kernel, sparse):
    import scipy.sparse as sp

    X = np.where(np.abs(PROBLEM.X) < 0.3, 0.0, PROBLEM.X) if sparse else PROBLEM.X
    gram = HingeRamp(
        sp.csr_matrix(X) if sparse else X, PROBLEM.y, C=1.0, kernel=kernel, gamma=1e-7, coef0=0.5
    ).gram
    every = np.arange(N)
    together = gram.block(every, every)
    one_by_one = np.stack([gram.view()._compute(np.array([i]))[0] for i in every])
    some = np.concatenate([gram._compute(every[k : k + 7]) for k in range(0, N, 7)])
    np.testing.assert_array_equal(together, one_by_one)
    np.testing.assert_array_equal(together, some)
    np.testing.assert_array_equal(together, together.T)


def test_products_do_not_depend_on_which_columns_are_there():
    weights = np.random.default_rng(0).normal(size=N)
    plenty, few = model("poly", N).gram, model("poly", 5).gram
    plenty.fetch(np.arange(N))
    few.fetch(np.array([3, 77]))
    for index in (np.arange(N), np.arange(0, N, 3), np.array([77, 3, 9])):
        expected = plenty.combine(index, weights[index])
        np.testing.assert_array_equal(few.combine(index, weights[index]), expected)
    alphas = np.stack([weights, weights**2], axis=1)
    np.testing.assert_array_equal(few.matmat(alphas), plenty.matmat(alphas))


Q = np.array([[2.0, 1.0], [1.0, 3.0]])


def columns_of_q(index):
    return Q[index]


def test_a_model_with_columns_can_be_pickled():
    gram = KernelGram(columns_of_q, np.diagonal(Q))
    gram.fetch(np.arange(2))
    again = pickle.loads(pickle.dumps(gram))
    np.testing.assert_array_equal(again.column(1), Q[1])
    toy = Toy(gram, (0.0, 1.0), lambda t: (Slope("L", 2.0 + t), Knot("E", 1.0), Slope("R", 0.0)))
    assert Homotopy(toy).trace().certify().ok
