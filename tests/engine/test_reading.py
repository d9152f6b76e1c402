"""Reading a path: segments, zeros of functions of the solution, responses at many places."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from problems import case
from toys import Toy, certified

from homotopy import Homotopy, Knot, LinearGram, PathError, Slope, Status, StopAt
from homotopy.path.on_segments import OnSegments
from homotopy.path.responses import _Flat
from homotopy_plugins import EfficientFrontier, HingeRamp, Lasso, SVMPath

HINGE = case("hinge", 60, 2, C=5.0, intercept=True, path="s")


@pytest.fixture(scope="module")
def hinge():
    return HINGE.trace()


@pytest.fixture(scope="module")
def frontier():
    rng = np.random.default_rng(0)
    returns = rng.normal(size=(60, 10))
    model = EfficientFrontier(rng.uniform(0.0, 0.3, 10), np.cov(returns.T), lower=0.0, upper=0.4)
    return Homotopy(model).trace()


# ------------------------------------------------------------------ segments


def test_segments_follow_each_other_and_say_who_changes(hinge):
    segments = list(hinge)
    assert [s.number for s in segments] == list(range(len(hinge.segments)))
    assert (segments[0].start, segments[-1].stop) == hinge.traced
    for one, other in itertools.pairwise(segments):
        assert one.stop == other.start
        inside = 0.5 * (one.start + one.stop), 0.5 * (other.start + other.stop)
        if one.start == one.stop or other.start == other.stop:
            continue
        before, after = (hinge.pieces(t) for t in inside)
        names = hinge.problem.polylines.names
        changed = np.flatnonzero(before != after)
        assert sorted(c.row for c in one.changes) == changed.tolist()
        for change in one.changes:
            assert change.before == names[before[change.row]]
            assert change.after == names[after[change.row]]
        assert (one.jump is not None) == any(j.t == one.stop for j in hinge.jumps)
    assert segments[-1].changes == ()
    assert any(s.jump is not None for s in segments)


def test_the_segment_around_a_place(hinge):
    for t in np.linspace(*hinge.traced, 17)[1:-1]:
        segment = hinge.segment(t)
        assert t in segment
        low, high = segment.interval
        assert low <= t <= high
        # The active set is the same throughout and another beyond.
        free = hinge.partition(t)["E"]
        np.testing.assert_array_equal(segment.active, free)
        assert f"{segment.active.size} active" in str(segment)
    end = hinge.segment(hinge.traced[1], "before")
    assert "the end" in str(end) or end.jump is not None


def test_ranging_of_a_lasso():
    """Soft thresholding: coefficient j is there from lam = |q_j| down."""
    path = Homotopy(Lasso(np.eye(3), [3.0, -1.0, 2.0], lam=0.0)).trace()
    segment = path.segment(1.5)
    assert segment.interval == pytest.approx((1.0, 2.0))
    assert segment.active.tolist() == [0, 2]
    (change,) = segment.changes
    assert (change.row, change.before) == (1, "zero")


# ------------------------------------------------------------------ zeros


def test_zeros_of_affine_functions(frontier):
    for j in range(10):
        level = 0.07
        zeros = frontier.zeros(lambda w, j=j, level=level: w[j] - level, of="solution")
        # All of them: signs on a fine grid change where they are.
        grid = np.linspace(*frontier.traced, 4001)
        values = frontier.solution(grid)[:, j] - level
        changes = np.flatnonzero(np.sign(values[:-1]) * np.sign(values[1:]) < 0)
        assert len([z for z in zeros if z.way]) >= changes.size
        for k in changes:
            low, high = sorted(grid[k : k + 2])
            assert any(low <= z.t <= high for z in zeros)
        for zero in zeros:
            assert frontier.solution(zero.t)[j] == pytest.approx(level, abs=1e-14)
            assert zero.t == zero.stop


def test_zeros_of_a_quadratic_function(frontier):
    covariance = frontier.model.covariance
    risks = [w @ covariance @ w for w in frontier.solution(np.linspace(*frontier.traced, 9))]
    risk = float(np.mean(risks))
    zeros = frontier.zeros(lambda w: w @ covariance @ w - risk, of="solution")
    assert len(zeros) == 1
    w = frontier.solution(zeros[0].t)
    assert w @ covariance @ w == pytest.approx(risk, rel=1e-13)
    assert abs(zeros[0].way) == 1


def test_zeros_of_responses_and_b(hinge):
    found = hinge.zeros(lambda u: u[7] - 0.5, of="response")
    for zero in found:
        u = [hinge.response(zero.t, side)[7] - 0.5 for side in ("before", "after")]
        assert min(u) <= 1e-9 if zero.jump else min(np.abs(u)) < 1e-12
        assert max(u) >= -1e-9
    grid = np.linspace(*hinge.traced, 2001)
    signs = np.sign(hinge.response(grid)[:, 7] - 0.5)
    for k in np.flatnonzero(signs[:-1] * signs[1:] < 0):
        low, high = sorted(grid[k : k + 2])
        assert any(low <= z.t <= high for z in found)
    b = float(np.median(hinge.border_multipliers(grid)))
    for zero in hinge.zeros(lambda v: v[0] - b, of="border"):
        values = [hinge.intercept(zero.t, side) - b for side in ("before", "after")]
        assert zero.jump or min(np.abs(values)) < 1e-12


def ramp(pieces, span=(0.0, 2.0)):
    return certified(Toy(np.eye(1), span, pieces))


def test_zeros_by_hand():
    """alpha = clip(t, 0, 1)."""
    path = ramp(lambda t: (Slope("one", 1.0), Knot("E", t), Slope("none", 0.0)))
    (zero,) = path.zeros(lambda a: a[0] - 0.25)
    assert (zero.t, zero.stop, zero.way, zero.jump) == (0.25, 0.25, 1, False)
    (stay,) = path.zeros(lambda a: a[0] - 1.0)
    assert (stay.t, stay.stop, stay.way) == (1.0, 2.0, 0)
    (touch,) = path.zeros(lambda a: (a[0] - 0.5) ** 2)
    assert touch.t == pytest.approx(0.5)
    assert touch.way == 0
    first, second = path.zeros(lambda a: (a[0] - 0.5) ** 2 - 0.01)
    assert (first.t, second.t) == pytest.approx((0.4, 0.6))
    assert (first.way, second.way) == (-1, 1)
    assert path.zeros(lambda a: a[0] + 1.0) == ()


@pytest.mark.parametrize(
    ("f", "of", "message"),
    [
        (lambda a: np.sin(9.0 * a[0]), "alpha", "not an affine or quadratic"),
        (lambda a: a, "alpha", "one number"),
        (lambda a: np.nan, "alpha", "returned nan"),
        (lambda a: a[0], "u", "of must be one of"),
    ],
)
def test_functions_that_are_refused(f, of, message):
    path = ramp(lambda t: (Slope("one", 1.0), Knot("E", t), Slope("none", 0.0)))
    with pytest.raises(PathError, match=message):
        path.zeros(f, of)


# ------------------------------------------------------------------ stopping there


@pytest.mark.parametrize("of", ["alpha", "response", "border", "solution"])
def test_a_trace_that_stops_at_a_zero(hinge, of):
    rows = {"alpha": 7, "response": 7, "border": 0, "solution": 7}

    def levels(t, side):
        found = {"border": hinge.border_multipliers, "response": hinge.response}
        return found.get(of, hinge.alpha)(t, side)[:, rows[of]]

    # In the middle of the segment on which it changes most.
    breaks = hinge.breakpoints
    first, last = levels(breaks[:-1], "after"), levels(breaks[1:], "before")
    steepest = int(np.argmax(np.abs(last - first)))
    middle = 0.5 * (first[steepest] + last[steepest])
    if first[steepest] == last[steepest]:
        middle += 1e-3

    def f(x):
        return x[rows[of]] - middle

    zeros = hinge.zeros(f, of)
    callback = StopAt(f, of)
    path = Homotopy(HINGE.model()).trace(callback=callback)
    if not zeros:
        assert callback.zero is None
        assert path.complete
        return
    assert callback.zero.t == pytest.approx(zeros[0].t, abs=1e-12)
    assert path.status is Status.CALLBACK or path.complete
    # It ends with the segment that holds the zero (or follows the jump).
    last = list(path)[-1]
    assert zeros[0].t in last
    np.testing.assert_allclose(path.response(zeros[0].t), hinge.response(zeros[0].t), atol=1e-10)


def test_a_callback_reads_what_a_path_holds(hinge):
    seen = []
    whole = Homotopy(HINGE.model()).trace(callback=lambda p: seen.extend(p.passed()))
    assert len(seen) == len(whole.segments)
    for passed, (first, last) in zip(seen, OnSegments(whole).sweep(), strict=True):
        np.testing.assert_array_equal(passed.alpha[0], first)
        np.testing.assert_array_equal(passed.alpha[1], last)
    with pytest.raises(PathError, match="of must be one of"):
        StopAt(lambda a: a[0], "u")


# ------------------------------------------------------------------ responses


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_responses_at_many_places(kernel):
    X, y = HINGE.X, HINGE.y
    for model in (
        HingeRamp(X, y, C=5.0, kernel=kernel, gamma=0.5, fit_intercept=True),
        SVMPath(X, y, C=(0.01, 50.0), kernel=kernel, gamma=0.5),
    ):
        path = Homotopy(model).trace()
        t = np.random.default_rng(0).permutation(
            np.concatenate([path.breakpoints, np.linspace(*path.traced, 300)])
        )
        for side in ("before", "after"):
            together = path.response(t, side)
            each = np.array([path.response(v, side) for v in t])
            scale = np.abs(each).max()
            np.testing.assert_allclose(together, each, atol=1e-13 * scale)
        folded = t[:6].reshape(2, 3)
        assert path.response(folded).shape == (2, 3, len(y))
        np.testing.assert_allclose(path.response(folded)[1, 2], path.response(t[5]), atol=1e-12)
    assert path.response(np.empty(0)).shape == (0, len(y))


def test_many_responses_take_few_products(monkeypatch):
    """Counted: products of a row of Q with a number, against one for each support vector."""
    X, y = case("hinge", 200, 2).X, case("hinge", 200, 2).y
    path = Homotopy(HingeRamp(X, y, C=0.5, kernel="rbf", gamma=0.1)).trace()
    t = np.linspace(*path.traced, 512)
    times, counted = _Flat._times, []

    def counting(self, rows):
        counted.append(rows.shape[0] * np.count_nonzero(np.any(rows, axis=0)))
        return times(self, rows)

    monkeypatch.setattr(_Flat, "_times", counting)
    path.response(t)
    assert counted
    assert sum(counted) < 0.6 * np.count_nonzero(path.alpha(t))


# ------------------------------------------------------------------ starts


def test_a_start_keeps_the_alpha_of_rows_that_had_no_cost():
    """Before, they were put at +C or -C by the name of a piece on which they stood by chance."""
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(30, 2)), rng.normal(size=30)
    weight = np.ones(30)
    weight[::3] = 0.0

    def model(w):
        return SVMPath(X, y, kind="svr", C=(1.0, 2.0), sample_weight=w, gamma=0.5)

    old = Homotopy(model(weight)).trace()
    from homotopy.start.guess import carry_over

    lines = Homotopy(model(np.ones(30))).trace().problem.polylines
    carried = carry_over(
        old.alpha(1.0), old.pieces(1.0), old.problem.polylines.at(1.0), lines.at(1.0)
    )
    assert not np.any(carried[::3])
    warm = Homotopy(model(np.ones(30))).trace(start=old)
    cold = Homotopy(model(np.ones(30))).trace()
    assert warm.certify().ok
    np.testing.assert_allclose(warm.response(1.5), cold.response(1.5), atol=1e-10)


def test_features_are_read_too():
    rng = np.random.default_rng(1)
    pieces = lambda t: (Slope("up", 1.0), Knot("E", t * k), Slope("down", -1.0))  # noqa: E731
    k = rng.normal(size=8)
    path = certified(Toy(LinearGram(rng.normal(size=(8, 3))), (0.0, 2.0), pieces))
    for zero in path.zeros(lambda u: u[0] - 0.1, of="response"):
        assert path.response(zero.t)[0] == pytest.approx(0.1, abs=1e-12)
