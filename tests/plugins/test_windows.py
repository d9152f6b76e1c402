"""The fast ways of following against the plain one.

The compiled travel, the windows (only some coordinates are looked at) and the ledger (the objective
without a sum over all) are shortcuts; each must give the very path that the plain way gives.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from homotopy.follow import Follower
from homotopy.lane import Lane
from homotopy.ledger import Ledger
from problems import Case, case

from homotopy import DenseGram, Homotopy, KernelGram, Path, kernels, lane
from homotopy.model import Problem

GRID = list(itertools.product(("hinge", "lad"), ("rbf", "linear"), ("theta", "s"), (True, False)))


@pytest.fixture
def opened(monkeypatch):
    """Windows as small as can be, wherever they can be; a call counts those opened."""
    monkeypatch.setattr(lane, "HEAVY", (-1, -1))
    monkeypatch.setattr(lane, "WIDE", 0)
    monkeypatch.setattr(lane, "LOOK", 0.0)
    monkeypatch.setattr(lane, "LEAST_AHEAD", 3)
    monkeypatch.setattr(lane, "AHEAD", 3)
    monkeypatch.setattr(lane, "LEAST_WINDOW", 5)
    monkeypatch.setattr(lane, "ENOUGH_STEPS", (3, 4))
    lanes, looks = [], []
    begin, look_around = Lane.__init__, Lane._look_around

    def begun(self, follower):
        begin(self, follower)
        lanes.append(self)

    def looked(self, follower):
        look_around(self, follower)
        looks.append(follower.near.size < follower.u.size)

    monkeypatch.setattr(Lane, "__init__", begun)
    monkeypatch.setattr(Lane, "_look_around", looked)
    return lambda: sum(looks) + sum(int(one.whole[kernels.OPENED]) for one in lanes)


@pytest.fixture
def without_lane(monkeypatch):
    """A function that traces with every break-point oriented in Python."""

    def trace(model) -> Path:
        with monkeypatch.context() as patch:
            patch.setattr(Lane, "board", lambda self, follower: setattr(self, "open", False))
            return Homotopy(model).trace()

    return trace


def assert_same_path(path: Path, expected: Path, tol: float = 1e-9) -> None:
    np.testing.assert_allclose(path.breakpoints, expected.breakpoints, rtol=0, atol=tol)
    assert len(path.jumps) == len(expected.jumps)
    for jump, other in zip(path.jumps, expected.jumps, strict=True):
        assert jump.flipped.tolist() == other.flipped.tolist()
        assert jump.objective_after == pytest.approx(other.objective_after, rel=1e-9, abs=1e-12)
    scale = max(1.0, float(np.abs(expected.response(expected.traced[0])).max()))
    for t in np.linspace(*expected.traced, 7):
        off = np.abs(path.response(t) - expected.response(t)).max()
        assert off <= 1e-7 * scale


@pytest.mark.parametrize(("kind", "kernel", "way", "intercept"), GRID)
def test_compiled_and_plain_travel_agree(kind, kernel, way, intercept, without_lane):
    problem = case(kind, 50, 3, kernel=kernel, path=way, intercept=intercept)
    assert_same_path(problem.trace(), without_lane(problem.model()))


@pytest.mark.parametrize(("kind", "kernel", "way", "intercept"), GRID)
def test_windows_change_nothing(kind, kernel, way, intercept, opened):
    problem = case(kind, 90, 5, kernel=kernel, path=way, intercept=intercept)
    path = problem.trace()
    assert opened() >= 2
    certificate = path.certify()
    assert certificate.ok, str(certificate)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lane, "HEAVY", (2**62, 2**62))
        patch.setattr(lane, "WIDE", np.inf)
        assert_same_path(path, problem.trace())


@pytest.mark.parametrize("data", ["integer", "stacked"])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("C", [1e-2, 0.1])
def test_windows_on_degenerate_data(data, kernel, C, opened):
    for kind, way in itertools.product(("hinge", "lad"), ("theta", "s")):
        problem = case(kind, 80, 11, d=2, data=data, kernel=kernel, C=C, path=way, intercept=True)
        certificate = problem.trace().certify()
        assert certificate.ok, str(certificate)
    assert opened() > 0


def test_windows_on_sparse_features(opened):
    dense = case("hinge", 90, 7, d=4, kernel="linear", intercept=True)
    path = Homotopy(dense.model()).trace()
    few = Case("hinge", sp.csr_matrix(dense.X), dense.y, kernel="linear", intercept=True)
    assert_same_path(Homotopy(few.model()).trace(), path)
    assert opened() > 3


def test_a_window_leaves_out_nobody_who_meets_a_corner(opened, monkeypatch):
    """Whenever all are looked at again, all are within their fences."""
    worst = []
    plain = Follower.widen

    def widen(self):
        windowed = self.window == kernels.BY_TURN
        plain(self)
        if windowed:
            low, high = self._fences(self._every)
            worst.append(float(np.maximum(low - self.u, self.u - high).max()))

    monkeypatch.setattr(Follower, "widen", widen)
    case("hinge", 120, 2, intercept=True, path="s").trace()
    assert opened() > 5
    assert len(worst) > 5
    assert max(worst) <= 1e-9


def test_a_path_is_the_same_within_a_small_memory():
    problem = case("hinge", 80, 4, intercept=True)
    plenty = problem.trace()
    # Room for ten columns of eighty.
    model = problem.model(cache_size=10 * 80 * 8 / 1e6)
    path = Homotopy(model).trace()
    assert isinstance(model.gram, KernelGram)
    assert_same_path(path, plenty)
    assert path.certify().ok
    assert model.gram.rows()[0].shape[0] < 80


@pytest.mark.parametrize("kind", ["hinge", "lad"])
def test_rows_an_open_window_goes_back_to_are_not_given_up(kind, opened):
    problem = case(kind, 80, 3, path="s", intercept=True)
    path = Homotopy(problem.model(cache_size=3 * 80 * 8 / 1e6)).trace()
    assert opened() > 3
    assert path.certify().ok


def test_a_window_by_place_remembers_how_far_t_has_gone(opened, monkeypatch):
    """The jump corner comes nearer with s; across a jump that must not be forgotten."""
    worst = []
    plain = Lane._run

    def run(self, follower, record):
        code = plain(self, follower, record)
        if follower.window == kernels.BY_PLACE:
            follower.write_alpha()
            u = follower.gram.matvec(follower.alpha) + follower.border @ follower.b
            low, high = follower._fences(follower._every)
            worst.append(float(np.maximum(low - u, u - high).max()))
        return code

    monkeypatch.setattr(Lane, "_run", run)
    for seed in range(20, 60):
        case("hinge", 90, seed, d=4, kernel="linear", path="s", intercept=seed % 2 == 0).trace()
    assert len(worst) > 50
    assert max(worst) <= 1e-9


def test_cache_size_must_be_positive():
    with pytest.raises(ValueError, match="HingeRamp: cache_size must be positive"):
        case("hinge", 10, 0).model(cache_size=0)


def test_a_gram_of_columns_alone_is_traced():
    """A Gram that stores no rows and shows no features still works: rows are kept for it."""
    problem = case("hinge", 40, 1, intercept=True)
    expected = problem.trace()
    model = problem.model()

    class Columns(DenseGram):
        def rows(self):
            return None

        def fetch(self, index, keep=None):
            raise AssertionError("nothing to fetch from")

    store, slot = model.gram.rows()
    model.gram.fetch(np.arange(40))
    store, slot = model.gram.rows()
    model.gram = Columns(store[slot])
    assert_same_path(Homotopy(model).trace(), expected)


@pytest.mark.parametrize("kind", ["hinge", "lad"])
@pytest.mark.parametrize("way", ["theta", "s"])
@pytest.mark.parametrize("intercept", [True, False])
def test_the_ledger_gives_the_objective(kind, way, intercept):
    problem = case(kind, 40, 8, kernel="linear", path=way, intercept=intercept)
    path = problem.trace()
    start, stop = path.traced
    ledger = Ledger.open(Problem.compile(path.model), start, stop)
    assert ledger is not None
    for t in np.linspace(start, stop, 11)[1:-1]:
        alpha = path.alpha(t)
        pieces = np.zeros(alpha.size, dtype=np.int64)
        names = path.problem.polylines.names
        for name, index in path.partition(t).items():
            pieces[index] = names.index(name)
        ledger.begin(pieces)
        active = np.flatnonzero(pieces % 2 == 1)
        square = float(alpha @ (path.response(t) - _border_part(path, t)))
        found = ledger.objective(t, square, active, pieces[active], alpha[active])
        assert found == pytest.approx(path.objective(t), rel=1e-10)


def test_a_changed_piece_changes_the_ledger():
    path = case("hinge", 20, 1, kernel="linear").trace()
    one, two = (Ledger.open(Problem.compile(path.model), 1.0, 0.0) for _ in range(2))
    before, after = np.zeros(20, dtype=np.int64), np.zeros(20, dtype=np.int64)
    after[3], after[5] = 4, 3
    one.begin(before)
    one.change(3, 0, 4)
    one.change(5, 0, 3)
    two.begin(after)
    np.testing.assert_allclose(one._sum, two._sum, rtol=1e-14)


def _border_part(path: Path, t: float) -> np.ndarray:
    return path.problem.border @ path.border_multipliers(t)


def test_a_mistake_in_alpha_is_noticed():
    """`astray` sees what a wrong alpha does to responses."""
    problem = Problem.compile(case("hinge", 40, 1, intercept=True).model())
    follower = Follower(problem.gram, problem.border)
    snap, target = problem.polylines.at(1.0), problem.target(1.0)
    follower.u[:] = 0.0
    follower.assign(snap, *snap.branches(follower.u))
    follower.settle(snap, target)
    assert follower.astray() <= 1e-12
    follower.alpha[follower.factor.index[0]] += 1e-3
    assert follower.astray() > 1e-6
