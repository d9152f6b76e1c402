"""Windows: looking at some coordinates only must give the very path that looking at all gives.

The path is also the same whatever memory there is for rows of Q, however Q is given, and whether
the tracker is compiled or not.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from pathlib import Path as FilePath

import numpy as np
import pytest
import scipy.sparse as sp
from problems import Case, case, features
from toys import CPath, Huber, Toy, certified

from homotopy import DenseGram, Homotopy, Jump, KernelGram, Knot, LinearGram, Path, Slope
from homotopy.tracing import Run
from homotopy.tracker import Patience, Tolerances, Windows

# As small as can be, wherever they can be.
TINY = Windows(
    heavy_along=-1,
    heavy_across=-1,
    wide=0,
    overhead=0.0,
    ahead=3,
    fewest=3,
    fewest_on_features=5,
    enough_across=3,
    enough_along=4,
)
NONE = Windows(heavy_along=2**62, heavy_across=2**62, wide=2**62)

# Where Q is given by features a look at all is cheap: windows are for many coordinates.
SIZES = {"rbf": 90, "linear": 400}
GRID = list(itertools.product(("hinge", "lad"), ("rbf", "linear"), ("theta", "s"), (True, False)))


class Watched:
    """A trace, proved, that lets others look at its tracker after every break-point."""

    def __init__(self, model, windows=TINY, at_break_point=lambda tracker: None, **options):
        self.narrow = 0
        self._look = at_break_point
        self.trace = Run(Homotopy(model, windows=windows, **options), False, self._watch)
        self.tracker = self.trace.tracker
        with self.trace as trace:
            trace.begin(None)
            while trace.under_way():
                trace.go_on()
            trace.finish()
        self.path = self.trace.path()
        certificate = self.path.certify()
        assert certificate.ok, str(certificate)

    def _watch(self, _progress):
        self.narrow += bool(self.tracker.scope.examined < self.tracker.u.size)
        self._look(self.tracker)

    @property
    def opened(self):
        """Windows by direction, and what can be seen of those by distance (which are not counted):
        break-points at which not all were looked at, and the room made for their features."""
        packed = self.tracker.window.packed.shape[1] > 0 and not self.tracker.fixed.transposed
        return int(self.tracker.scope.opened) + self.narrow + packed


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


def outside(tracker) -> float:
    """How far any coordinate, looked at or not, is beyond the corners of its piece: u recomputed
    from alpha, the tracker left as it is."""
    t, piece = tracker.route.t, tracker.piece
    every, snap, alpha = np.arange(piece.size), tracker.snapshot(), tracker.alpha.copy()
    flat = (piece % 2 == 0) & (snap.curvature[every, piece // 2] == 0.0)
    alpha[flat] = snap.slope[every, piece // 2][flat]
    u = tracker.gram.matvec(alpha) + tracker.border @ tracker.b
    fence = tracker.coords.fence
    low, high = fence.low + fence.low_rate * t, fence.high + fence.high_rate * t
    return float(np.maximum(low - u, u - high).max())


# ------------------------------------------------------------------ the same path


@pytest.mark.parametrize(("kind", "kernel", "way", "intercept"), GRID)
def test_windows_change_nothing(kind, kernel, way, intercept):
    problem = case(kind, SIZES[kernel], 5, kernel=kernel, path=way, intercept=intercept)
    watched = Watched(problem.model())
    assert watched.opened > (1 if kernel == "rbf" else 0)
    assert_same_path(watched.path, certified(problem.model(), windows=NONE))


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("windowed", [True, False])
def test_a_trace_that_is_watched_is_the_one_that_is_not(kernel, windowed):
    problem = case("hinge", SIZES[kernel], 3, kernel=kernel, path="s", intercept=True)
    windows = TINY if windowed else NONE
    watched = Watched(problem.model(), windows)
    assert (watched.opened > 0) == windowed
    path = certified(problem.model(), windows=windows)
    assert watched.path.breakpoints.tolist() == path.breakpoints.tolist()


@pytest.mark.parametrize("data", ["integer", "stacked"])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("C", [1e-2, 0.1])
def test_windows_on_degenerate_data(data, kernel, C):
    opened = 0
    options = {"d": 2, "data": data, "kernel": kernel, "C": C, "intercept": True}
    for kind, way in itertools.product(("hinge", "lad"), ("theta", "s")):
        problem = case(kind, SIZES[kernel], 11, path=way, **options)
        watched = Watched(problem.model())
        opened += watched.opened
    assert opened > 0


@pytest.mark.parametrize("data", ["integer", "stacked"])
def test_windows_leave_the_response_of_a_degenerate_convex_path_alone(data):
    problem = case("hinge", 90, 4, d=3, data=data, kernel="linear")
    K = problem.X @ problem.X.T + 1.0
    watched = Watched(CPath(K, problem.y, (1e-3, 1.0), intercept=False))
    assert watched.opened > 0
    plain = certified(CPath(K, problem.y, (1e-3, 1.0), intercept=False), windows=NONE)
    for t in np.geomspace(1e-3, 1.0, 23):
        np.testing.assert_allclose(watched.path.response(t), plain.response(t), atol=1e-9)


def test_windows_on_sparse_features():
    dense = case("hinge", 400, 7, d=4, kernel="linear", intercept=True)
    few = Case("hinge", sp.csr_matrix(dense.X), dense.y, kernel="linear", intercept=True)
    watched = Watched(few.model())
    assert watched.opened > 3
    assert_same_path(watched.path, certified(dense.model()))


@pytest.mark.parametrize("gram", [LinearGram, lambda X: DenseGram(X @ X.T)])
def test_windows_with_slanted_pieces(gram):
    # Targets so far apart that most residuals lie on the flat pieces.
    X = features(400, 5, 2)
    rng = np.random.default_rng(2)
    model = Huber(X, 30.0 * rng.normal(size=400), 10.0 * rng.normal(size=400), 0.2, True)
    model.gram = gram(X)
    watched = Watched(model)
    assert watched.opened > 3
    assert_same_path(watched.path, certified(model, windows=NONE))


def test_windows_with_a_squared_hinge_whose_knots_move():
    X = features(120, 4, 8)
    y = np.where(X[:, 0] + 0.5 * X[:, 1] > 0, 1.0, -1.0)
    y[::9] *= -1.0
    phi, ahead = X * y[:, None], np.random.default_rng(8).random(120)

    def pieces(t):
        margin = t + ahead
        return Slope("L", 0.3 * margin, curvature=0.3), Knot("E", margin), Slope("R", 0.0)

    model = Toy(DenseGram(phi @ phi.T), (0.0, 3.0), pieces, border=y[:, None])
    watched = Watched(model)
    assert watched.opened > 3
    assert_same_path(watched.path, certified(model, windows=NONE))


@pytest.mark.parametrize("by_features", [True, False])
@pytest.mark.parametrize("columns", [2, 3])
def test_windows_with_several_border_columns(by_features, columns):
    # A ramp whose jumps close in from both sides, an intercept and free directions in x.
    rng = np.random.default_rng(columns)
    X = features(300, 4, columns)
    y = X[:, 0] - X[:, 1] + 0.3 * rng.normal(size=300)
    y[::8] += 4.0
    border = np.hstack([np.ones((300, 1)), X[:, : columns - 1]])

    def pieces(t):
        return (
            Slope("out-", 0.1),
            Jump(y - t),
            Slope("in-", 0.5),
            Knot("on", y),
            Slope("in+", -0.5),
            Jump(y + t),
            Slope("out+", -0.1),
        )

    gram = LinearGram(X) if by_features else DenseGram(X @ X.T)
    model = Toy(gram, (np.inf, 1.0), pieces, border=border)
    watched = Watched(model)
    assert watched.opened
    assert watched.path.jumps
    assert_same_path(watched.path, certified(model, windows=NONE))


# ------------------------------------------------------------------ who is left out


def test_a_window_leaves_out_nobody_who_meets_a_corner():
    worst = []
    problem = case("hinge", 120, 2, intercept=True, path="s")
    watched = Watched(
        problem.model(), at_break_point=lambda tracker: worst.append(outside(tracker))
    )
    assert watched.opened > 5
    assert len(worst) > 15
    assert max(worst) <= 1e-9


def test_a_window_by_place_remembers_how_far_t_has_gone():
    """The jump corner comes nearer with s; across a jump that must not be forgotten."""
    worst = []
    for seed in range(20, 32):
        problem = case("hinge", 300, seed, d=4, kernel="linear", path="s", intercept=seed % 2 == 0)
        Watched(problem.model(), at_break_point=lambda tracker: worst.append(outside(tracker)))
    assert len(worst) > 300
    assert max(worst) <= 1e-9


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_a_model_is_shown_the_responses_of_all_whatever_was_looked_at(kernel):
    problem = case("hinge", SIZES[kernel], 3, kernel=kernel, path="s", intercept=True)
    plain, asked = problem.model(), {}

    class Asked(type(plain)):
        def flips(self, t, standing, response):
            asked.setdefault(t, (standing.copy(), response.copy()))
            return standing

    model = problem.model()
    model.__class__ = Asked
    watched = Watched(model)
    path = watched.path
    assert watched.opened > 3
    assert_same_path(path, certified(plain, windows=NONE))
    assert len(asked) > 3
    for t, (standing, response) in asked.items():
        np.testing.assert_allclose(response, path.response(t, side="before"), atol=1e-8)
        np.testing.assert_allclose(response[standing], t, atol=1e-8)


# ------------------------------------------------------------------ rows of Q


def test_a_path_is_the_same_within_a_small_memory():
    problem = case("hinge", 80, 4, intercept=True)
    plenty = certified(problem.model())
    # Room for ten columns of eighty.
    model = problem.model(cache_size=10 * 80 * 8 / 1e6)
    path = certified(model)
    assert isinstance(model.gram, KernelGram)
    assert_same_path(path, plenty)
    assert model.gram.rows()[0].shape[0] < 80


@pytest.mark.parametrize("kind", ["hinge", "lad"])
@pytest.mark.parametrize("room", [1, 3, 12])
def test_rows_an_open_window_goes_back_to_are_not_given_up(kind, room):
    problem = case(kind, 80, 3, path="s", intercept=True)
    watched = Watched(problem.model(cache_size=room * 80 * 8 / 1e6))
    assert watched.opened > 3
    assert_same_path(watched.path, certified(problem.model(), windows=NONE))


def test_cache_size_must_be_positive():
    with pytest.raises(ValueError, match="HingeRamp: cache_size must be positive"):
        case("hinge", 10, 0).model(cache_size=0)


@pytest.mark.parametrize("windows", [TINY, NONE])
def test_a_gram_of_columns_alone_is_traced(windows):
    """A Gram that stores no rows and shows no features still works: rows are kept for it."""
    problem = case("hinge", 40, 1, intercept=True)
    expected = certified(problem.model())
    model = problem.model()

    class Columns(DenseGram):
        def rows(self):
            return None

        def fetch(self, index, keep=None):
            raise AssertionError("nothing to fetch from")

    model.gram.fetch(np.arange(40))
    store, slot = model.gram.rows()
    model.gram = Columns(store[slot])
    assert_same_path(certified(model, windows=windows), expected)


def test_a_matrix_that_must_not_be_written_to_is_traced():
    problem = case("hinge", 40, 1, intercept=True)
    model = problem.model()
    model.gram.fetch(np.arange(40))
    store, slot = model.gram.rows()
    matrix = store[slot]
    matrix.flags.writeable = False
    kept = matrix.copy()
    model.gram = DenseGram(matrix)
    assert_same_path(certified(model), certified(problem.model()))
    np.testing.assert_array_equal(matrix, kept)


# ------------------------------------------------------------------ staying exact


def test_a_mistake_in_alpha_is_noticed_and_mended():
    """u recomputed from a wrong alpha is off its corners; the point is made exact on the spot."""
    seen = []

    def spoil(tracker):
        if len(seen) < 3 and tracker.system.actives > 2:
            tracker.alpha[tracker.active_index[1]] *= 1.0 + 1e-5
            tracker.refresh()
            seen.append(tracker.off)
            # Have it looked at before the next step.
            tracker.cursor.due = 0

    problem = case("hinge", 40, 1, intercept=True)
    watched = Watched(problem.model(), NONE, at_break_point=spoil)
    assert len(seen) == 3
    assert min(seen) > 1e3
    counts = watched.path.counts
    assert counts["refined"] + counts["repairs"] > 0
    assert_same_path(watched.path, certified(problem.model()))


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_how_often_u_is_recomputed_changes_nothing(kernel):
    problem = case("hinge", 60, 9, kernel=kernel, path="s", intercept=True)
    expected = certified(problem.model())
    for refresh in (1, 10**6):
        path = certified(problem.model(), tolerances=Tolerances(patience=Patience(refresh=refresh)))
        assert_same_path(path, expected)
        assert path.counts["repairs"] == 0


# ------------------------------------------------------------------ without a compiler


def small_paths():
    """Break-points and flips of small paths, with windows and without, as JSON has them."""
    found = []
    for (kind, kernel, way, intercept), windows in itertools.product(GRID, (TINY, NONE)):
        data = "normal" if windows is TINY else "integer"
        problem = case(kind, 16, 5, d=2, data=data, kernel=kernel, path=way, intercept=intercept)
        path = certified(problem.model(), windows=windows)
        found.append([path.breakpoints.tolist(), [j.flipped.tolist() for j in path.jumps]])
    return found


def test_the_interpreted_tracker_gives_the_paths_of_the_compiled_one():
    here = FilePath(__file__).parent
    known = os.pathsep.join([str(here), str(here.parent), *sys.path])
    script = "import json, test_windows; print(json.dumps(test_windows.small_paths()))"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        env=os.environ | {"PYTHONPATH": known, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    for (breakpoints, flipped), (expected, those) in zip(
        json.loads(done.stdout), small_paths(), strict=True
    ):
        np.testing.assert_allclose(breakpoints, expected, rtol=0, atol=1e-9)
        assert flipped == those
