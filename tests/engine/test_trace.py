"""Starting, watching and stopping a trace."""

from __future__ import annotations

import itertools
import pickle
import sys

import numpy as np
import pytest
from problems import case, sample_points
from toys import Toy

from homotopy import (
    Homotopy,
    Knot,
    LossModel,
    MissingPackageError,
    ModelError,
    PathError,
    Progress,
    Slope,
    Status,
    TraceError,
    TraceInterrupted,
)
from homotopy.tracing.first_point import FirstPoint
from homotopy.tracker import Failed, Failure, Tracker, Wants, state

HINGE = case("hinge", 50, 2, kernel="linear", C=5.0, intercept=True)
LAD = case("lad", 50, 1, C=5.0, intercept=True, s=0.3)


def assert_same_path(found, expected):
    assert found.certify().ok
    np.testing.assert_allclose(found.traced, expected.traced, rtol=1e-10)
    for t in sample_points(expected, 25):
        np.testing.assert_allclose(found.response(t), expected.response(t), rtol=1e-8, atol=1e-8)
        assert found.objective(t) == pytest.approx(expected.objective(t), rel=1e-9)


# ------------------------------------------------------------------ starts


GUESSES = {
    "zeros": lambda n, rng: np.zeros(n),
    "noise": lambda n, rng: rng.normal(size=n),
    "huge": lambda n, rng: 1e4 * rng.normal(size=n),
    "all at C": lambda n, rng: np.full(n, 5.0),
    "one": lambda n, rng: np.eye(n)[3],
    "negative": lambda n, rng: -5.0 * rng.random(n),
}


@pytest.mark.parametrize("guess", list(GUESSES))
@pytest.mark.parametrize("problem", [HINGE, LAD], ids=["hinge", "lad"])
@pytest.mark.parametrize("path", ["theta", "s"])
def test_any_guess_leads_to_the_same_path(problem, path, guess):
    model = problem.model(path=path)
    cold = Homotopy(model).trace()
    start = GUESSES[guess](50, np.random.default_rng(0))
    assert_same_path(Homotopy(model).trace(start=start), cold)


def test_a_list_is_as_good_as_an_array():
    cold = HINGE.trace()
    assert_same_path(Homotopy(HINGE.model()).trace(start=[0.0] * 50), cold)


@pytest.mark.parametrize("n", [70, 150])
def test_a_warm_start_on_a_kernel_never_formed_before(n):
    """Columns are computed as they are needed, beyond the first store of the Gram operator."""
    for seed in range(4):
        problem = case("lad", n, seed, d=2, gamma=0.05, C=1.0)
        cold = problem.trace()
        assert_same_path(Homotopy(problem.model()).trace(start=np.zeros(n)), cold)


def test_any_start_is_brought_near_before_it_is_made_exact():
    cold = HINGE.trace()
    for start in (cold.alpha(1.0), np.full(50, 5.0), np.zeros(50)):
        path = Homotopy(HINGE.model()).trace(start=start)
        assert path.counts["start_steps"] <= 2
        np.testing.assert_allclose(path.breakpoints, cold.breakpoints, rtol=0, atol=1e-10)


@pytest.mark.parametrize("problem", [HINGE, LAD], ids=["hinge", "lad"])
def test_another_path_is_a_start(problem):
    first = problem.trace()
    assert_same_path(Homotopy(problem.model()).trace(start=first), first)
    near = problem.model(C=5.5)
    cold = Homotopy(near).trace()
    warm = Homotopy(near).trace(start=first)
    assert_same_path(warm, cold)
    # The other path of the same data: its parameter is another one, so it must be told where.
    other = problem.model(path="s")
    assert_same_path(Homotopy(other).trace(start=(first, 1.0)), Homotopy(other).trace())
    with pytest.raises(PathError, match=r"the parameter theta, the model s; .*start=\(path"):
        Homotopy(other).trace(start=first)


def test_a_path_without_intercept_starts_one_with():
    without = Homotopy(HINGE.model(fit_intercept=False)).trace()
    assert_same_path(Homotopy(HINGE.model()).trace(start=without), HINGE.trace())


def test_a_model_may_bring_its_own_guess():
    class Guessing(type(HINGE.model())):
        def initial_guess(self):
            return np.linspace(0, 1, 50)

    model = Guessing(HINGE.X, HINGE.y, C=5.0, kernel="linear", fit_intercept=True)
    assert_same_path(Homotopy(model).trace(), HINGE.trace())


@pytest.mark.parametrize("shape", [(49,), (51,), (50, 1), (1, 50), ()])
def test_a_start_of_the_wrong_shape_is_an_error(shape):
    with pytest.raises(ModelError, match=r"start: expected an alpha of shape \(50,\), got"):
        Homotopy(HINGE.model()).trace(start=np.zeros(shape))


def test_a_start_that_is_not_finite_or_not_numbers_is_an_error():
    bad = np.zeros(50)
    bad[7] = np.nan
    with pytest.raises(ModelError, match=r"start: .*not finite"):
        Homotopy(HINGE.model()).trace(start=bad)
    with pytest.raises(ModelError, match="start"):
        Homotopy(HINGE.model()).trace(start=["a"] * 50)


def test_a_path_of_another_size_is_no_start():
    other = case("hinge", 20, 0).trace()
    with pytest.raises(PathError, match="the path has 20 coordinates, the model has 50"):
        Homotopy(HINGE.model()).trace(start=other)


# ------------------------------------------------------------------ options


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"d_step": "daqp"}, "d_step must be 'auto', 'homotopy' or 'osqp', got 'daqp'"),
        ({"max_breakpoints": 0}, "max_breakpoints must be a positive integer, got 0"),
        ({"max_breakpoints": -3}, "max_breakpoints must be a positive integer, got -3"),
        ({"max_breakpoints": 2.5}, "max_breakpoints must be a positive integer, got 2.5"),
    ],
)
def test_options_are_checked(options, message):
    with pytest.raises(ModelError, match=message):
        Homotopy(HINGE.model(), **options)


def test_the_model_must_be_one():
    with pytest.raises(ModelError, match="model must be a LossModel, got 3"):
        Homotopy(3)
    with pytest.raises(
        ModelError, match=r"an instance, got the class Toy; make one, Toy\(\.\.\.\)"
    ):
        Homotopy(Toy)
    with pytest.raises(TypeError, match="polyline"):
        LossModel()


def test_the_engine_keeps_nothing_between_traces():
    engine = Homotopy(HINGE.model())
    first, second = engine.trace(), engine.trace()
    np.testing.assert_array_equal(first.breakpoints, second.breakpoints)
    for t in first.breakpoints:
        np.testing.assert_array_equal(first.alpha(t), second.alpha(t))


# ------------------------------------------------------------------ watching and stopping


def test_a_callback_sees_every_break_point():
    seen: list[Progress] = []
    path = Homotopy(HINGE.model()).trace(callback=seen.append)
    assert path.complete
    assert [p.breakpoints for p in seen] == list(range(1, len(seen) + 1))
    np.testing.assert_array_equal([p.t for p in seen], path.breakpoints[1:])
    assert seen[-1].t == 0.0
    assert seen[-1].jumps <= len(path.jumps)
    assert all(a.jumps <= b.jumps for a, b in itertools.pairwise(seen))


def test_a_callback_stops_the_trace():
    whole = HINGE.trace()
    path = Homotopy(HINGE.model()).trace(callback=lambda p: p.t < 0.5)
    assert path.status is Status.CALLBACK
    assert not path.complete
    stopped = path.traced[1]
    assert 0 < stopped < 0.5
    count = len(path.breakpoints)
    np.testing.assert_allclose(path.breakpoints, whole.breakpoints[:count], rtol=1e-12)
    assert path.certify().ok
    assert path.span == (1.0, 0.0)
    assert path.traced[0] == 1.0
    with pytest.raises(PathError, match="stopped by the callback"):
        path.alpha(0.0)


@pytest.mark.parametrize("limit", [1, 2, 5, 12])
def test_max_breakpoints_stops_the_trace(limit):
    whole = HINGE.trace()
    assert len(whole.segments) > 12
    path = HINGE.trace(max_breakpoints=limit)
    assert path.status is Status.LIMIT
    assert repr(path).endswith("stopped at max_breakpoints>")
    assert pickle.loads(pickle.dumps(path)).limit == "max_breakpoints"
    assert len(path.segments) <= limit
    np.testing.assert_allclose(
        path.breakpoints, whole.breakpoints[: len(path.breakpoints)], rtol=1e-12
    )
    assert path.certify().ok
    assert all(
        whole.objective(t) == pytest.approx(path.objective(t)) for t in path.breakpoints[:-1]
    )


def test_a_limit_that_is_not_reached_changes_nothing():
    path = HINGE.trace(max_breakpoints=100_000)
    assert path.complete


@pytest.mark.parametrize("path", ["theta", "s"])
def test_an_interrupt_carries_what_was_traced(path):
    def interrupt(progress):
        if progress.breakpoints == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        Homotopy(HINGE.model(path=path)).trace(callback=interrupt)
    partial = caught.value.path
    assert partial.status is Status.INTERRUPTED
    assert len(partial.segments) == 4
    assert "interrupted by the user" in repr(partial)
    assert partial.certify().ok


def test_an_interrupt_before_the_path_begins_says_so(monkeypatch):
    def interrupt(self, start, guess):
        raise KeyboardInterrupt

    monkeypatch.setattr(FirstPoint, "reach", interrupt)
    with pytest.raises(TraceInterrupted, match="before the path began; nothing was kept") as caught:
        Homotopy(HINGE.model()).trace()
    assert caught.value.path is None


def test_an_error_in_a_callback_is_the_callers():
    def fail(progress):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        Homotopy(HINGE.model()).trace(callback=fail)


def test_progress_shows_a_bar_that_fills(capsys):
    path = Homotopy(HINGE.model()).trace(progress=True)
    assert path.complete
    err = capsys.readouterr().err
    assert "theta" in err
    assert "100%" in err


def test_progress_without_tqdm_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with pytest.raises(
        MissingPackageError, match=r"needs tqdm; install homotopy-qp\[progress\]"
    ) as raised:
        Homotopy(HINGE.model()).trace(progress=True)
    assert isinstance(raised.value, ImportError)
    assert not isinstance(raised.value, ValueError)


# ------------------------------------------------------------------ trouble


def test_a_trace_error_carries_the_path_so_far():
    # The lower wall of one coordinate rises above what its upper wall allows: nothing is feasible
    # beyond t = 1, where the two walls of identical coordinates cross.
    def pieces(t):
        low = np.array([1.0, 0.0]) * t
        return (
            Slope("wall+", np.array([np.inf, 1.0])),
            Knot("low", low + np.array([0.0, -5.0])),
            Slope("free", np.array([0.0, 0.0])),
            Knot("high", np.array([50.0, 1.0])),
            Slope("wall-", np.array([-1.0, -np.inf])),
        )

    with pytest.raises(TraceError) as caught:
        Homotopy(Toy(np.ones((2, 2)), (0.0, 2.0), pieces)).trace()
    assert isinstance(caught.value, RuntimeError)
    path = caught.value.path
    assert path is not None
    assert path.status is Status.FAILED
    assert path.traced == pytest.approx((0.0, 1.0))
    assert path.response(0.5) == pytest.approx([0.5, 0.5])
    assert path.certify().ok

    class Telling(Toy):
        def no_optimum(self, t):
            return f"the walls cross at t={t:g}"

    with pytest.raises(TraceError, match="Telling: the walls cross at t=1") as caught:
        Homotopy(Telling(np.ones((2, 2)), (0.0, 2.0), pieces)).trace()
    assert caught.value.path.status is Status.NO_OPTIMUM


def test_no_optimum_is_not_claimed_where_every_alpha_is_bounded(monkeypatch):
    """The tracker may come to that conclusion by rounding alone."""
    real = Tracker._call

    def lost(tracker):
        code = real(tracker)
        return state.UNBOUNDED if tracker.cursor.segments > 3 else code

    monkeypatch.setattr(Tracker, "_call", lost)
    with pytest.raises(TraceError, match="could not be continued") as caught:
        Homotopy(HINGE.model()).trace()
    assert "no optimum" not in str(caught.value)
    assert caught.value.path.status is Status.FAILED


def test_a_jump_that_fails_is_crossed_by_the_solver_and_then_late(monkeypatch):
    """And its record says so."""
    real = Tracker.advance
    failed = []

    def fail(tracker, listen):
        outcome = real(tracker, listen)
        if outcome is Wants.CROSSING and len(failed) < most:
            failed.append(tracker.route.t)
            return Failed(Failure("as if"), crossing=True)
        return outcome

    monkeypatch.setattr(Tracker, "advance", fail)
    for d_step, most, expected in (("osqp", 0, "osqp"), ("osqp", 1, "late")):
        failed.clear()
        path = Homotopy(HINGE.model(), d_step=d_step).trace()
        assert path.jumps[0].solver == expected
        assert path.counts["late_jumps"] == most
        assert path.certify().ok, str(path.certify())
