"""Exact validation curves against evaluation value by value, and what is made of many curves."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from grids import thinned
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import kernel_matrix
from problems import case

from homotopy import DataError, Homotopy, PathError, Truncated, ValidationCurve
from homotopy.analysis.tolerances import AnalysisTolerances
from homotopy.analysis.validation import validation_curve
from homotopy_plugins import HingeRamp, LADRamp

LOSS = {
    "zero-one": lambda f, y: (np.where(f > 0, 1.0, -1.0) != y).astype(float),
    "hinge": lambda f, y: np.maximum(0.0, 1.0 - y * f),
    "absolute": lambda f, y: np.abs(y - f),
    "squared": lambda f, y: (y - f) ** 2,
    Truncated(0.4): lambda f, y: np.minimum(np.abs(y - f), 0.4),
}
LOSSES_OF = {"hinge": ("zero-one", "hinge"), "lad": ("absolute", "squared", Truncated(0.4))}


class Brute:
    """The loss at one t from alpha, b and a kernel matrix of its own."""

    def __init__(self, problem, path, X, y, loss, weight=None):
        sign = problem.y if problem.kind == "hinge" else np.ones(len(problem.y))
        self.K = kernel_matrix(X, problem.X, problem.kernel, problem.gamma) * sign
        self.path, self.y, self.loss = path, y, LOSS[loss]
        self.weight = np.ones(len(y)) if weight is None else weight

    def values(self, t, side="after"):
        return self.K @ self.path.alpha(t, side) + self.path.intercept(t, side)

    def __call__(self, t, side="after"):
        return np.average(self.loss(self.values(t, side), self.y), weights=self.weight)


def held_out(kind, n=150, seed=50):
    other = case(kind, n, seed)
    return other.X, other.y


def everywhere(path, count):
    """`count` even values of t and the two sides of every break-point and jump."""
    start, stop = path.traced
    points = np.concatenate([path.breakpoints, [jump.t for jump in path.jumps]])
    sides = [(t, side) for t in points for side in ("before", "after")]
    return [(t, "after") for t in np.linspace(start, stop, count)] + sides


KINDS = [(kind, loss) for kind, losses in LOSSES_OF.items() for loss in losses]
DATA = ("normal", "integer", "stacked")


@pytest.mark.parametrize("count", [200, pytest.param(1000, marks=pytest.mark.slow)])
@thinned("which, data, way, kernel", KINDS, DATA, ["theta", "s"], ["rbf", "linear"])
def test_the_curve_is_the_loss_at_every_t(which, data, way, kernel, count):
    kind, loss = which
    problem = case(kind, 60, 3, data=data, path=way, kernel=kernel, intercept=True, C=2.0)
    path = problem.trace()
    assert path.certify().ok
    X, y = held_out(kind)
    curve = path.validation_curve(X, y, loss=loss)
    brute = Brute(problem, path, X, y, loss)
    for t, side in everywhere(path, count):
        f = brute.values(t, side)
        if loss == "zero-one" and np.abs(f).min() < 1e-10:
            # A value of 0 has the sign of its rounding.
            continue
        assert curve(t, side) == pytest.approx(brute(t, side), rel=1e-10, abs=1e-12)
    assert curve.traced == path.traced
    assert np.isin(path.breakpoints, curve.nodes).all()


@pytest.mark.parametrize("count", [2000, pytest.param(10_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("way", ["theta", "s"])
@pytest.mark.parametrize("kind", ["hinge", "lad"])
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_no_grid_finds_what_the_curve_does_not(kind, way, seed, count):
    problem = case(kind, 50, seed, path=way, intercept=True, C=3.0)
    path = problem.trace()
    X, y = held_out(kind, 40, seed + 70)
    grid = np.linspace(*path.traced, count)
    values = [Brute(problem, path, X, y, "absolute").values(t) for t in grid]
    for loss in LOSSES_OF[kind]:
        curve = path.validation_curve(X, y, loss=loss)
        brute = Brute(problem, path, X, y, loss)
        found = np.array([LOSS[loss](f, y).mean() for f in values])
        best = curve.best
        assert best.value <= found.min() + 1e-12
        assert brute(best.t, best.side) == pytest.approx(best.value, rel=1e-9, abs=1e-12)
        if loss == "zero-one":
            # Counts are whole: every value that occurs is a value of some piece, to the last digit.
            assert np.isin(found, curve.coefficients[:, 0]).all()
            first, last = best.interval
            for t in np.linspace(first, last, 52)[1:-1]:
                assert brute(t) == best.value


def test_every_sign_change_is_located():
    problem = case("hinge", 60, 5, intercept=True, C=5.0)
    path = problem.trace()
    X, y = held_out("hinge", 60, 9)
    curve = path.validation_curve(X, y)
    brute = Brute(problem, path, X, y, "zero-one")
    steps = np.flatnonzero(curve.coefficients[1:, 0] != curve.coefficients[:-1, 0])
    assert steps.size > 3
    jumps = {jump.t for jump in path.jumps}
    for k in steps:
        t = curve.start[k + 1]
        if t not in jumps:
            assert np.abs(brute.values(t)).min() < 1e-12


@pytest.mark.parametrize("way", ["theta", "s"])
@pytest.mark.parametrize("data", ["normal", "integer"])
def test_rows_that_cross_together_make_no_value_of_their_own(way, data):
    """Every row twice, once with each label: one of the two is always wrong."""
    for seed in range(6):
        path = case("hinge", 60, seed, data=data, path=way, intercept=True, C=3.0).trace()
        X = case("hinge", 40, seed + 30, data=data).X
        both = np.vstack([X, X[::-1]])
        curve = path.validation_curve(both, np.repeat([1.0, -1.0], 40))
        assert curve.minimum == 0.5
        assert np.all(curve.coefficients[:, 0] == 0.5)
        first, last = path.traced
        assert curve.best.interval == (first, last)


def test_weights_count_rows_several_times():
    path = case("hinge", 50, 1, intercept=True).trace()
    X, y = held_out("hinge", 30)
    times = np.random.default_rng(0).integers(0, 4, 30)
    weighted = path.validation_curve(X, y, sample_weight=times)
    repeated = path.validation_curve(np.repeat(X, times, axis=0), np.repeat(y, times))
    t = np.linspace(1.0, 0.0, 301)
    np.testing.assert_allclose(weighted(t), repeated(t), rtol=0, atol=1e-13)


def test_labels_are_those_of_the_model():
    problem = case("hinge", 40, 2, intercept=True)
    X, y = held_out("hinge", 30)
    named = np.where(problem.y > 0, "good", "bad")
    path = Homotopy(HingeRamp(problem.X, named, C=1.0, gamma=0.5, fit_intercept=True)).trace()
    plain = problem.trace().validation_curve(X, y)
    curve = path.validation_curve(X, np.where(y > 0, "good", "bad"))
    t = np.linspace(1.0, 0.0, 101)
    np.testing.assert_array_equal(curve(t), plain(t))
    with pytest.raises(DataError, match=r"held-out label .*'ugly'.* is neither of the two classes"):
        path.validation_curve(X, np.where(y > 0, "good", "ugly"))


def test_many_rows_and_segments_go_in_blocks():
    path = case("hinge", 60, 4, intercept=True, C=4.0).trace()
    X, y = held_out("hinge")
    whole = path.validation_curve(X, y)
    assert AnalysisTolerances().block > 7 * 2 * 150
    parts = validation_curve(path, X, y, block=7 * 2 * 150)
    # Products of other shapes are rounded otherwise.
    np.testing.assert_allclose(whole.start, parts.start, rtol=0, atol=1e-13)
    np.testing.assert_allclose(whole.coefficients, parts.coefficients, rtol=0, atol=1e-14)


def test_a_kernel_too_large_to_keep_is_computed_by_and_by():
    problem = case("lad", 60, 4, intercept=True)
    X, y = held_out("lad")
    small = Homotopy(problem.model(cache_size=0.01)).trace()
    kept = problem.trace().validation_curve(X, y)
    by_and_by = small.validation_curve(X, y)
    t = np.linspace(1.0, 0.0, 50)
    np.testing.assert_allclose(by_and_by(t), kept(t), rtol=0, atol=1e-12)


def test_a_precomputed_kernel_takes_rows_against_the_training_rows():
    problem = case("hinge", 40, 2, intercept=True)
    X, y = held_out("hinge", 30)
    K = kernel_matrix(problem.X, problem.X, "rbf", 0.5)
    model = HingeRamp(K, problem.y, C=1.0, kernel="precomputed", fit_intercept=True)
    curve = Homotopy(model).trace().validation_curve(kernel_matrix(X, problem.X, "rbf", 0.5), y)
    t = np.linspace(1.0, 0.0, 101)
    np.testing.assert_array_equal(curve(t), problem.trace().validation_curve(X, y)(t))


def test_a_path_of_one_point_has_a_curve_of_one_value():
    X = np.array([[1.0], [2.0], [-1.0], [-3.0]])
    path = Homotopy(HingeRamp(X, [1, 1, -1, -1], C=1e3, kernel="linear", path="s")).trace()
    curve = path.validation_curve(X, [1, 1, -1, 1])
    assert curve.traced == (0.0, 0.0)
    assert curve(0.0) == curve.minimum == 0.25
    assert curve.best.t == 0.0
    # Whatever s below: nobody is met by the jump.
    assert curve(-50.0) == 0.25


def test_before_its_beginning_an_s_path_is_the_plain_machine():
    path = case("hinge", 50, 3, path="s", intercept=True).trace()
    X, y = held_out("hinge")
    curve = path.validation_curve(X, y)
    start, stop = path.traced
    assert curve.origin == -np.inf
    assert curve(start - 1.0) == curve(start, "before") == curve(-np.inf)
    with pytest.raises(PathError, match="lies outside the curve"):
        curve(stop + 0.1)


@pytest.mark.parametrize(
    ("change", "error", "match"),
    [
        ({"loss": "log"}, PathError, "loss must be one of zero-one, hinge, absolute, squared"),
        ({"loss": "zero-one"}, DataError, "needs targets -1 and \\+1"),
        ({"y": np.ones(3)}, DataError, "X has 5 rows but y has 3"),
        ({"y": ["a"] * 5}, DataError, "must be numbers"),
        ({"y": np.array([1, 2, np.nan, 4, 5.0])}, DataError, "target 2 is nan"),
        ({"y": np.ones((5, 2))}, DataError, "got shape \\(5, 2\\)"),
        ({"X": np.ones((5, 7))}, DataError, "X has 7 columns, the model has 3 features"),
        ({"sample_weight": np.ones(4)}, DataError, "sample_weight has shape \\(4,\\)"),
        ({"sample_weight": np.zeros(5)}, DataError, "at least one above 0"),
        ({"sample_weight": "much"}, DataError, "must be numeric"),
    ],
)
def test_bad_input(change, error, match):
    path = case("lad", 20, 0).trace()
    given_ = {"X": np.ones((5, 3)), "y": np.arange(5.0)} | change
    with pytest.raises(error, match=match):
        path.validation_curve(**given_)


@pytest.mark.parametrize("cap", [0.0, -1.0, np.inf, np.nan])
def test_a_cap_is_a_positive_number(cap):
    with pytest.raises(PathError, match="cap must be positive and finite"):
        Truncated(cap)


def test_curves_know_their_ends_and_sides():
    path = case("hinge", 20, 0).trace()
    curve = path.validation_curve(*held_out("hinge", 10))
    for t in (1.5, -0.1, np.nan):
        with pytest.raises(PathError, match="lies outside the curve"):
            curve(t)
    with pytest.raises(PathError, match="side must be"):
        curve(0.5, side="left")
    with pytest.raises(PathError, match="must be a number"):
        curve("half")
    assert "zero-one loss, theta 1 -> 0" in repr(curve)


# ---------------------------------------------------------------------- by hand


def curve(start, stop, coefficients, **more):
    return ValidationCurve("t", "absolute", start, stop, coefficients, **more)


def test_the_best_interval_is_the_widest_and_its_middle_is_taken():
    steps = curve([0, 1, 2, 5, 6], [1, 2, 5, 6, 7], [[v, 0, 0] for v in (1, 0, 2, 0, 0)])
    assert steps.intervals == ((1.0, 2.0), (5.0, 7.0))
    assert (steps.best.t, steps.best.value, steps.best.interval) == (6.0, 0.0, (5.0, 7.0))


def test_a_lowest_corner_is_a_point():
    corner = curve([0, 1], [1, 2], [[1, -1, 0], [0, 1, 0]])
    assert corner.intervals == ((1.0, 1.0),)
    assert (corner.best.t, corner.best.side) == (1.0, "after")


def test_a_least_value_just_short_of_a_jump_names_its_side():
    broken = curve([0, 1], [1, 2], [[1, -1, 0], [0.5, 0, 0]])
    best = broken.best
    assert (best.t, best.side, best.value) == (1.0, "before", 0.0)
    assert broken(best.t, best.side) == 0.0
    assert broken(best.t) == 0.5


def test_a_parabola_has_its_vertex():
    bowl = curve([0.0], [4.0], [[1.0, -2.0, 4.0]])
    assert bowl.best.t == pytest.approx(1.0)
    assert bowl.minimum == pytest.approx(0.75)


def test_a_falling_t_is_read_in_its_direction():
    down = curve([1.0, 0.5], [0.5, 0.0], [[3, 0, 0], [1, 0, 0]])
    assert (down(0.75), down(0.5), down(0.5, "before"), down(0.0)) == (3, 1, 3, 1)
    assert down.best.interval == (0.5, 0.0)


PIECES = st.lists(
    st.tuples(st.integers(1, 8), st.integers(-4, 4), st.integers(-4, 4), st.integers(0, 2)),
    min_size=1,
    max_size=6,
)


@st.composite
def drawn_curves(draw):
    """Curves that end at the same t, some of them standing on a jump at their beginning."""
    found, sign = [], draw(st.sampled_from([1.0, -1.0]))
    for _ in range(draw(st.integers(1, 4))):
        pieces = draw(PIECES)
        lengths = np.array([p[0] for p in pieces], dtype=float) / 8.0
        if draw(st.booleans()):
            lengths[0] = 0.0
        stops = -np.cumsum(lengths[::-1])[::-1]
        starts, ends = sign * stops, sign * np.append(stops[1:], 0.0)
        table = [[float(v) for v in p[1:]] for p in pieces]
        found.append(curve(starts, ends, table, origin=-sign * np.inf))
    return found


@given(drawn_curves())
@settings(max_examples=150)
def test_the_mean_of_curves_is_their_mean_everywhere(curves):
    mean = ValidationCurve.mean(curves)
    nodes = np.unique(np.concatenate([np.append(c.start, c.stop) for c in curves]))
    inside = 0.5 * (nodes[1:] + nodes[:-1])
    for t in np.concatenate([nodes, inside]):
        for side in ("before", "after"):
            expected = np.mean([c(t, side) for c in curves])
            assert mean(t, side) == pytest.approx(expected, abs=1e-12)
    values = [mean(t, side) for t in inside for side in ("before", "after")]
    best = mean.best
    assert best.value <= min([*values, np.inf]) + 1e-12
    assert mean(best.t, best.side) == pytest.approx(best.value, abs=1e-12)


@pytest.mark.parametrize("direction", [1.0, -1.0])
@pytest.mark.parametrize("degree", [0, 1, 2])
def test_the_first_and_the_last_point_below_a_limit(direction, degree):
    """Against a fine grid, on curves with jumps, in both directions of travel."""
    for seed in range(100):
        rng = np.random.default_rng([seed, degree])
        pieces = int(rng.integers(1, 6))
        at = direction * np.sort(direction * rng.random(pieces + 1))
        c = rng.normal(size=(pieces, 3)).round(1)
        c[:, degree + 1 :] = 0.0
        drawn = curve(at[:-1], at[1:], c)
        for above in (0.0, 0.1, 0.5):
            limit = drawn.minimum + above
            first, last = drawn.earliest(limit), drawn.latest(limit)
            for point in (first, last):
                assert drawn(point.t, point.side) == pytest.approx(point.value, abs=1e-9)
                assert point.value <= limit + 1e-9
            grid = np.linspace(*drawn.traced, 999)
            low = direction * grid[drawn(grid) <= limit]
            assert np.all(low >= direction * first.t - 1e-9)
            assert np.all(low <= direction * last.t + 1e-9)


def test_a_limit_at_the_ends_and_below_everything():
    steps = curve([0.0, 0.0, 1.0], [0.0, 1.0, 2.0], [[1, 0, 0], [0, 1, 0], [1, 0, 0]])
    assert (steps.earliest(5.0).t, steps.earliest(5.0).side) == (0.0, "before")
    assert (steps.latest(5.0).t, steps.latest(5.0).side) == (2.0, "after")
    assert (steps.earliest(0.5).t, steps.earliest(0.5).side) == (0.0, "after")
    assert steps.latest(0.5).t == 0.5
    with pytest.raises(PathError, match="never falls to -1; its minimum is 0"):
        steps.earliest(-1.0)
    with pytest.raises(PathError, match="never falls to nan"):
        steps.latest(np.nan)


def test_curves_that_do_not_go_together():
    one = curve([0.0], [1.0], [[1, 0, 0]])
    with pytest.raises(PathError, match=r"span different intervals: \(0, 1\), \(0, 2\)"):
        ValidationCurve.mean([one, curve([0.0], [2.0], [[1, 0, 0]])])
    with pytest.raises(PathError, match="span different intervals"):
        ValidationCurve.mean([one, curve([-1.0], [1.0], [[1, 0, 0]])])
    with pytest.raises(PathError, match="cannot be averaged with"):
        ValidationCurve.mean([one, ValidationCurve("t", "hinge", [0.0], [1.0], [[1, 0, 0]])])
    with pytest.raises(PathError, match="no curves"):
        ValidationCurve.mean([])


def test_curves_are_frozen_and_come_back_from_a_pickle():
    one = curve([0.0, 1.0], [1.0, 2.0], [[1, 0, 0], [0, 1, 0]], origin=-np.inf)
    again = pickle.loads(pickle.dumps(one))
    assert again(np.linspace(-1, 2, 7)).tolist() == one(np.linspace(-1, 2, 7)).tolist()
    for array in (one.start, again.coefficients):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 5.0


def test_models_of_others_need_only_a_decision_function():
    """The default evaluator calls `decision_function` for one point after the other."""
    problem = case("lad", 30, 2, intercept=True)

    class Plain(LADRamp):
        evaluator = LADRamp.__mro__[2].evaluator

    X, y = held_out("lad", 20)
    model = Plain(problem.X, problem.y, C=1.0, gamma=0.5, fit_intercept=True)
    assert "evaluator" in vars(Plain)
    curve = Homotopy(model).trace().validation_curve(X, y)
    expected = problem.trace().validation_curve(X, y)
    t = np.linspace(1.0, 0.0, 50)
    np.testing.assert_allclose(curve(t), expected(t), rtol=0, atol=1e-13)
