"""Limits, callbacks and Ctrl-C act wherever a trace is, and work at one t comes to an end."""

from __future__ import annotations

import os
import signal
import time
from functools import partial

import numpy as np
import pytest

from homotopy import Homotopy, ModelError, TraceError, TraceInterrupted, compile_now
from homotopy.conditional import SolverLimits, osqp_solver
from homotopy.path import Status
from homotopy.tracker import Patience, Pauses, Tolerances
from homotopy_plugins import HingeRamp, LADRamp


def noisy(n=150, kernel="rbf"):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 5))
    y = np.sign(X[:, 0] + 1.5 * rng.normal(size=n))
    return HingeRamp(X, y, C=10.0, kernel=kernel, gamma=0.1, s=0.0)


def waiting_solver(seconds, begun=lambda: None):
    """A QP solver that takes its time, as a large problem would, and lets others in."""

    def solver(qp):
        begun()
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(0.01)
            if qp.pulse is not None:
                qp.pulse()
        return osqp_solver(qp)

    return solver


def certified(path):
    certificate = path.certify()
    assert certificate.ok, str(certificate)
    return path


@pytest.mark.parametrize("seconds", [0, -1.0, np.nan, "1"])
def test_max_seconds_must_be_positive(seconds):
    with pytest.raises(ModelError, match="max_seconds"):
        Homotopy(noisy(10), max_seconds=seconds)


def test_time_that_suffices_changes_nothing():
    path, again = Homotopy(noisy()).trace(), Homotopy(noisy(), max_seconds=60.0).trace()
    assert again.complete
    assert np.array_equal(path.breakpoints, again.breakpoints)


def test_no_time_at_all_leaves_no_path_and_says_so():
    with pytest.raises(TraceError, match=r"max_seconds=1e-09.*before the path began"):
        Homotopy(noisy(), max_seconds=1e-9).trace()


def test_time_runs_out_inside_the_qp_solver():
    begin = time.monotonic()
    run = Homotopy(noisy(), d_step="osqp", solver=waiting_solver(60.0), max_seconds=0.5)
    path = certified(run.trace())
    assert time.monotonic() - begin < 30.0
    assert path.status is Status.LIMIT
    assert path.ending == f"stopped at {path.limit}" == "stopped at max_seconds"
    assert not path.complete


def test_a_callback_is_asked_inside_the_qp_solver():
    calls = []

    def enough(progress):
        calls.append(progress)
        return len(calls) > 20 and calls[-1] == calls[-2] == calls[-3]

    run = Homotopy(noisy(), d_step="osqp", solver=waiting_solver(60.0))
    path = certified(run.trace(callback=enough))
    assert path.status is Status.CALLBACK
    assert path.breakpoints.size == calls[-1].breakpoints + 1


def test_ctrl_c_inside_the_qp_solver_keeps_the_path():
    # Compiled beforehand and sent by the solver itself: it can come nowhere else.
    compile_now()
    solver = waiting_solver(60.0, begun=lambda: os.kill(os.getpid(), signal.SIGINT))
    run = Homotopy(noisy(), d_step="osqp", solver=solver)
    with pytest.raises(TraceInterrupted) as caught:
        run.trace()
    assert certified(caught.value.path).status is Status.INTERRUPTED


def limited(**limits):
    return partial(osqp_solver, limits=SolverLimits(**limits))


def test_osqp_goes_on_in_slices_to_the_same_answer():
    whole = Homotopy(noisy(60), d_step="osqp").trace()
    sliced = certified(Homotopy(noisy(60), d_step="osqp", solver=limited(pulse=1)).trace())
    assert sliced.objective(0.0) == pytest.approx(whole.objective(0.0), rel=1e-9)


def test_osqp_has_a_time_limit():
    """Its answer may be useless then; what comes out is proven all the same."""
    solver = limited(pulse=1, seconds=0.0)
    certified(Homotopy(noisy(60), d_step="osqp", solver=solver).trace())


@pytest.mark.parametrize("path", ["theta", "s"])
def test_two_rows_a_million_away_come_to_an_end(path):
    rule = {"s": -1.0} if path == "theta" else {"theta": 0.0}
    X, y = [[1.0, 1e6], [2.0, 1e6]], [1, -1]
    certified(Homotopy(HingeRamp(X, y, C=1e4, kernel="linear", path=path, **rule)).trace())


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("rule", [{"path": "theta", "s": 0.5}, {"path": "s", "s_stop": 0.1}])
def test_exact_targets_at_a_huge_cost_come_to_an_end(kernel, fit_intercept, rule):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30, 3))
    y = X @ [1.0, 2.0, 3.0]
    options = {"C": 1e6, "kernel": kernel, "fit_intercept": fit_intercept, **rule}
    certified(Homotopy(LADRamp(X, y, **options)).trace())


def test_steps_that_lead_nowhere_are_given_up():
    """With no patience at all jumps are crossed as a whole, and the path is still right."""
    patience = Patience(steps=20, steps_each=0, steps_to_start=100)
    tolerances = Tolerances(patience=patience, pauses=Pauses(burst=1))
    path = certified(Homotopy(noisy(), tolerances=tolerances).trace())
    assert any(jump.solver == "convex" for jump in path.jumps)
