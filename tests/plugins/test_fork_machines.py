"""Forks of kernel machines and programs against refits: libsvm, DAQP, a trace without the row."""

from __future__ import annotations

import attrs
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from oracles import solve_qp
from sklearn.svm import SVC, SVR

from homotopy import DataError, Homotopy, ModelError, PathError, TraceError
from homotopy.forking.mover import Mover
from homotopy.forking.tableau import Tableau
from homotopy.tracker import Failure
from homotopy.tracker.tolerances import Pauses
from homotopy_plugins import (
    EfficientFrontier,
    ElasticNet,
    EpsilonRamp,
    HingeRamp,
    HuberRamp,
    LADRamp,
    ParametricQP,
    PinballRamp,
    SVMPath,
)

EPS, GAMMA = 0.1, 0.5


def regression(n, seed=0, d=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.sin(X[:, 0]) + 0.3 * rng.normal(size=n)


def svr(X, y, C=1.0, **options):
    """The epsilon-insensitive machine at eps = 0.1, as a path."""
    options = {"kernel": "rbf", "gamma": GAMMA, "fit_intercept": True} | options
    model = EpsilonRamp(X, y, C=C, epsilon=EPS, path="eps", epsilon_start=2 * EPS, **options)
    return Homotopy(model).trace()


def single_precision(C):
    """libsvm keeps kernel values in single precision: that part of some ten alphas of C."""
    return 10.0 * C * float(np.finfo(np.float32).eps) + 1e-7


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("C", [0.3, 10.0])
def test_rows_left_out_of_a_regression_are_those_of_libsvm(kernel, C):
    n = 40
    X, y = regression(n)
    new = np.random.default_rng(1).normal(size=(7, 3))
    fork = svr(X, y, C, kernel=kernel).fork(EPS)
    left = fork.leave_one_out(at=new)
    assert left.rows.tolist() == list(range(n))
    for i in range(n):
        rest = np.arange(n) != i
        refit = SVR(C=C, epsilon=EPS, kernel=kernel, gamma=GAMMA, tol=1e-10).fit(X[rest], y[rest])
        close = single_precision(C)
        assert left.response[i] == pytest.approx(refit.predict(X[i : i + 1])[0], abs=close)
        np.testing.assert_allclose(left.decision[i], refit.predict(new), atol=close)


def test_rows_left_out_of_a_regression_are_those_of_traces_without_them():
    n = 25
    X, y = regression(n, seed=3)
    fork = svr(X, y, 5.0).fork(EPS)
    left = fork.leave_one_out(at=X)
    for i in range(n):
        rest = np.arange(n) != i
        alone = svr(X[rest], y[rest], 5.0)
        np.testing.assert_allclose(left.decision[i], alone.decision_function(X, EPS), atol=1e-10)
    np.testing.assert_allclose(left.response, np.diagonal(left.decision), atol=1e-11)


@pytest.mark.parametrize("intercept", [True, False])
def test_classifiers_along_a_path_of_C(intercept):
    """Leave-one-out margins at several C of one path, against libsvm (its liblinear has no hinge
    without an intercept in this form: there a trace without the row is the judge)."""
    n = 40
    X, y = regression(n, seed=5)
    label = np.where(y > 0, "yes", "no")
    options = {"gamma": GAMMA, "fit_intercept": intercept}
    path = Homotopy(SVMPath(X, label, C=(0.1, 10.0), **options)).trace()
    sign = np.where(label == "yes", 1.0, -1.0)
    for C in (0.5, 8.0):
        left = path.fork(C).leave_one_out()
        for i in range(0, n, 3):
            rest = np.arange(n) != i
            if intercept:
                refit = SVC(C=C, gamma=GAMMA, tol=1e-10).fit(X[rest], label[rest])
                found, close = refit.decision_function(X[i : i + 1])[0], single_precision(C)
            else:
                alone = Homotopy(SVMPath(X[rest], label[rest], C=(0.1, 10.0), **options)).trace()
                found, close = alone.decision_function(X[i : i + 1], C)[0], 1e-9
            assert left.response[i] == pytest.approx(sign[i] * found, abs=close)


MACHINES = {
    "epsilon": lambda X, y, **o: EpsilonRamp(
        X, y, epsilon=EPS, path="eps", epsilon_start=2 * EPS, **o
    ),
    "huber": lambda X, y, **o: HuberRamp(X, y, delta=0.4, path="delta", delta_start=0.8, **o),
    "quantile": lambda X, y, **o: PinballRamp(X, y, tau=0.3, path="tau", tau_stop=0.7, **o),
    "absolute": lambda X, y, **o: LADRamp(X, y, path="theta", s=1.0, **o),
    "svc": lambda X, y, **o: SVMPath(
        X, np.where(np.arange(len(y)) % 2, 1, -1), C=(0.5 * o.pop("C"), 2.0), **o
    ),
}


def target_of(model, k):
    return float(model.y[k]) if not hasattr(model, "classes") else int(model.y[k])


@pytest.mark.parametrize("name", list(MACHINES))
@pytest.mark.parametrize("kernel", ["rbf", "linear", "sparse", "precomputed"])
def test_a_row_added_is_as_if_it_had_been_there(name, kernel):
    n, count = 30, 3
    X, y = regression(n, seed=7)
    X[n - 1] = X[0]
    # A column far from 0 is centred where the kernel is linear.
    X[:, 2] += 30.0 if kernel == "linear" else 0.0
    rows = sp.csr_matrix(X) if kernel == "sparse" else X
    K = np.exp(-GAMMA * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    kind = "linear" if kernel == "sparse" else kernel
    options = {"C": 1.0, "kernel": kind, "gamma": GAMMA, "fit_intercept": True}
    whole = MACHINES[name](K if kernel == "precomputed" else rows, y, **options)
    few = MACHINES[name](
        K[: n - count, : n - count] if kernel == "precomputed" else rows[: n - count],
        y[: n - count],
        **options,
    )
    path, part = Homotopy(whole).trace(), Homotopy(few).trace()
    # With a small C b is not unique.
    t = part.traced[1 if name == "svc" else 0]
    fork = part.fork(t)
    for k in range(n - count, n):
        x = K[k, : k + 1] if kernel == "precomputed" else rows[[k]]
        moved = fork.add(x, target_of(whole, k))
    assert moved.certify().ok
    np.testing.assert_allclose(moved.response, path.response(t), atol=1e-9)
    if kernel != "precomputed":
        found = moved.decision_function(rows[:5])
        np.testing.assert_allclose(found, path.decision_function(rows[:5], t), atol=1e-9)
        assert moved.intercept == pytest.approx(path.intercept(t), abs=1e-8)
    else:
        with pytest.raises(ModelError, match="decision function"):
            moved.decision_function(K[:5, : n - count])
    # And out again.
    for k in range(n - count, n):
        moved = fork.remove(k)
    np.testing.assert_allclose(moved.response[: n - count], part.response(t), atol=1e-9)


def test_results_outlive_the_fork():
    """What a move led to can be certified and evaluated when the fork is elsewhere."""
    X, y = regression(30)
    fork = svr(X, y).fork(EPS)
    base = fork.optimum()
    added = fork.add(X[3] + 0.1, 2.0)
    pushed = fork.push(4, 0.3, nodes=True)
    f = added.decision_function(X[:4])
    fork.restore()
    fork.remove(5)
    for optimum in (base, added, pushed):
        assert optimum.certify().ok
    assert pushed.nodes.certify().ok
    np.testing.assert_array_equal(added.decision_function(X[:4]), f)
    assert (base.alpha.size, added.alpha.size) == (30, 31)
    assert pushed.trail()[1][-1] == pytest.approx(pushed.own_response, abs=1e-12)
    # A row that has been out and in again is part of the base of what follows.
    fork.release(5)
    here = fork.optimum()
    left = fork.leave_one_out()
    np.testing.assert_array_equal(fork.optimum().alpha, here.alpha)
    fork.restore()
    np.testing.assert_array_equal(fork.optimum().alpha, base.alpha)
    np.testing.assert_allclose(fork.leave_one_out().response, left.response, atol=1e-11)


def test_the_cost_of_a_new_row_counts():
    X, y = regression(20)
    weight = np.ones(20)
    weight[-1] = 3.0
    whole = Homotopy(MACHINES["epsilon"](X, y, C=2.0, sample_weight=weight)).trace()
    part = Homotopy(MACHINES["epsilon"](X[:-1], y[:-1], C=2.0)).trace()
    moved = part.fork(EPS).add(X[-1], y[-1], cost=6.0)
    np.testing.assert_allclose(moved.response, whole.response(EPS), atol=1e-10)
    path = Homotopy(SVMPath(X[:-1], y[:-1], kind="svr", C=(1.0, 4.0), fit_intercept=False)).trace()
    moved = path.fork(2.0).add(X[-1], y[-1], cost=6.0)
    np.testing.assert_allclose(moved.response, whole.response(EPS), atol=1e-10)


@st.composite
def tables(draw):
    """Few distinct rows, zero rows, few distinct targets."""
    n, d = draw(st.integers(2, 12)), draw(st.integers(1, 3))
    whole = st.integers(-2, 2)
    pool = draw(st.lists(st.lists(whole, min_size=d, max_size=d), min_size=1, max_size=n))
    pick = draw(st.lists(st.integers(0, len(pool) - 1), min_size=n, max_size=n))
    y = draw(st.lists(whole, min_size=n, max_size=n))
    return np.array([pool[k] for k in pick], float), np.array(y, float)


def near_nothing(optimum):
    """Where everything has gone to 0 there is nothing that rounding could be measured by."""
    return np.abs(optimum.response).max() < 1e-9 or not np.any(optimum.alpha)


@given(
    tables(),
    st.sampled_from(list(MACHINES)),
    st.sampled_from([0.5, 1.0, 10.0]),
    st.booleans(),
    st.sampled_from(["rbf", "linear"]),
    st.data(),
)
@settings(max_examples=150)
def test_ugly_tables(table, name, C, intercept, kernel, data):
    """Everything certified; a row removed and let go finds back; the base stays as it was."""
    X, y = table
    options = {"C": min(C, 1.9), "kernel": kernel, "gamma": GAMMA, "fit_intercept": intercept}
    try:
        path = Homotopy(MACHINES[name](X, y, **options)).trace()
    except TraceError:
        assume(False)
    t = data.draw(st.sampled_from(path.breakpoints.tolist()))
    fork = path.fork(t)
    base = fork.optimum()
    rows = data.draw(st.lists(st.integers(0, len(y) - 1), min_size=1, max_size=3, unique=True))
    for row in rows:
        moved = fork.remove(row)
        assert moved.certify().ok or near_nothing(moved)
    left = fork.leave_one_out()
    assert not set(left.rows) & set(rows)
    for row in rows:
        moved = fork.release(row)
        assert moved.certify().ok or near_nothing(moved)
    # b may be another where it is not unique; w is the same.
    own, other = (o.response - path.problem.border @ o.border_multipliers for o in (moved, base))
    np.testing.assert_allclose(own, other, atol=1e-7 * (1.0 + np.abs(other).max()))
    fork.restore()
    assert np.array_equal(fork.optimum().alpha, base.alpha)
    assert np.array_equal(fork.optimum().response, base.response)


@pytest.mark.parametrize("side", ["before", "after"])
def test_a_fork_of_a_ramp_loss_stays_on_its_branches(side):
    X, y = regression(40, seed=2)
    y[::4] += 2.0
    path = Homotopy(LADRamp(X, y, C=5.0, kernel="rbf", gamma=0.1, path="s")).trace()
    jump = path.jumps[len(path.jumps) // 2].t
    fork = path.fork(jump, side)
    np.testing.assert_allclose(fork.optimum().alpha, path.alpha(jump, side), atol=1e-9)
    there = path.partition(jump, side)
    outside = set(there["O+"]) | set(there["O-"])
    assert outside
    for row in range(0, 40, 4):
        moved = fork.remove(row)
        assert moved.certify().ok
        found = moved.partition()
        assert set(found["O+"]) | set(found["O-"]) <= outside
        assert outside - set(found["O+"]) - set(found["O-"]) <= {
            row,
            *found["wall 0"],
            *found["wall 2"],
            *fork.held,
        }
    fork.restore()


def test_a_classifier_at_a_point_where_the_hinge_is_plain():
    X, y = regression(30, seed=9)
    label = np.where(y > 0, 1, -1)
    options = {"C": 2.0, "gamma": GAMMA, "fit_intercept": True}
    path = Homotopy(HingeRamp(X, label, **options)).trace()
    left = path.fork(1.0, "before").leave_one_out()
    for i in range(0, 30, 4):
        rest = np.arange(30) != i
        refit = SVC(C=2.0, gamma=GAMMA, tol=1e-10).fit(X[rest], label[rest])
        margin = label[i] * refit.decision_function(X[i : i + 1])[0]
        assert left.response[i] == pytest.approx(margin, abs=single_precision(2.0))


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("name", ["epsilon", "huber"])
def test_most_rows_removed_one_after_the_other(name, kernel):
    """A thousand steps without a fresh start, with room for few rows of Q; then all let go."""
    n = 150
    X, y = regression(n, seed=1)
    options = {"C": 10.0, "kernel": kernel, "gamma": GAMMA, "fit_intercept": True}
    path = Homotopy(MACHINES[name](X, y, cache_size=0.05, **options)).trace()
    t = path.traced[1]
    fork = path.fork(t)
    base = fork.optimum()
    rows = np.random.default_rng(2).permutation(n)
    for row in rows[:120]:
        moved = fork.remove(row)
    assert moved.certify().ok
    rest = np.sort(rows[120:])
    alone = Homotopy(MACHINES[name](X[rest], y[rest], **options)).trace()
    np.testing.assert_allclose(moved.response[rest], alone.response(t), atol=1e-10)
    for row in rows[:120]:
        moved = fork.release(row)
    assert not fork.held
    np.testing.assert_allclose(moved.response, base.response, atol=1e-10)
    fork.restore()
    np.testing.assert_array_equal(fork.optimum().alpha, base.alpha)


@pytest.mark.parametrize("when", ["at once", "on the way"])
@pytest.mark.parametrize("name", ["epsilon", "huber"])
def test_what_cannot_be_followed_is_settled(monkeypatch, name, when):
    """Ways that end in trouble: the same optima, found from where the trouble was."""
    X, y = regression(40)
    options = {"C": 3.0, "gamma": GAMMA, "fit_intercept": True}
    path = Homotopy(MACHINES[name](X, y, **options)).trace()
    fork = path.fork(path.traced[1])
    base = fork.optimum()
    rows = [int(np.argmax(base.alpha)), int(np.argmin(base.alpha)), 7]
    expected = []
    for row in rows:
        expected += [fork.remove(row), fork.release(row)]
        fork.restore()
    left = fork.leave_one_out(rows, at=X)
    go, tries = Mover._go, []

    def trouble():
        raise Failure("made up")

    def troubled(self):
        tries.append(1)
        self.tolerances = attrs.evolve(self.tolerances, pauses=Pauses(burst=1))
        if when == "at once":
            trouble()
        self.pulse = trouble
        try:
            go(self)
        finally:
            self.pulse = None

    monkeypatch.setattr(Mover, "_go", troubled)
    # A walk through the tableau that is in doubt leaves it to the route.
    monkeypatch.setattr(Tableau, "of", lambda mover: None)
    fork._mover._table = (None, None)
    for k, row in enumerate(rows):
        for move, wanted in zip((fork.remove, fork.release), expected[2 * k :], strict=False):
            moved = move(row)
            assert moved.certify().ok
            np.testing.assert_allclose(moved.response, wanted.response, atol=1e-11)
        fork.restore()
        np.testing.assert_array_equal(fork.optimum().alpha, base.alpha)
        np.testing.assert_array_equal(fork.optimum().response, base.response)
    again = fork.leave_one_out(rows, at=X)
    np.testing.assert_allclose(again.response, left.response, atol=1e-11)
    np.testing.assert_allclose(again.decision, left.decision, atol=1e-11)
    assert len(tries) >= 7
    with pytest.raises(TraceError, match=r"break-points are unknown.*restored"):
        fork.push(rows[0], -20.0, nodes=True)
    np.testing.assert_array_equal(fork.optimum().alpha, base.alpha)
    monkeypatch.setattr(Mover, "settle_still", lambda self: trouble())
    with pytest.raises(TraceError, match=rf"row {rows[0]} cannot be taken to alpha=-20 .*made up"):
        fork.push(rows[0], -20.0)
    if name == "epsilon":
        with pytest.raises(TraceError, match=rf"row {rows[1]} could not be left out.*made up"):
            fork.leave_one_out(rows[1:])
    np.testing.assert_array_equal(fork.optimum().alpha, base.alpha)
    monkeypatch.setattr(Mover, "_go", go)
    np.testing.assert_allclose(fork.leave_one_out(rows).response, left.response, atol=1e-12)
    monkeypatch.undo()
    fork._mover._table = (None, None)
    np.testing.assert_allclose(fork.leave_one_out(rows).response, left.response, atol=1e-12)


def test_a_move_that_is_interrupted_leaves_the_base(monkeypatch):
    X, y = regression(60)
    fork = svr(X, y).fork(EPS)
    base = fork.optimum()
    whole = fork.leave_one_out()
    # With room for a new row the compiled sums group their terms differently.
    roomy = svr(X, y).fork(EPS)
    roomy.add(X[0], 9.0)
    roomy.restore()
    go = Mover._go

    def interrupted(self):
        # In the middle of a row: as Ctrl-C between two bursts.
        self.cursor.stop_steps = 3
        self.tolerances = attrs.evolve(self.tolerances, pauses=Pauses(burst=3))
        self.pulse = stop
        go(self)

    def stop():
        raise KeyboardInterrupt

    moves = (
        (lambda: fork.remove(0), whole),
        (fork.leave_one_out, whole),
        (lambda: fork.add(X[0], 9.0), roomy.leave_one_out()),
    )
    for move, expected in moves:
        with monkeypatch.context() as patch:
            patch.setattr(Mover, "_go", interrupted)
            patch.setattr(Tableau, "of", lambda mover: None)
            fork._mover._table = (None, None)
            with pytest.raises(KeyboardInterrupt):
                move()
        fork._mover.pulse, fork._mover._table = None, (None, None)
        assert not fork.moved
        np.testing.assert_array_equal(fork.optimum().alpha, base.alpha)
        np.testing.assert_array_equal(fork.leave_one_out().response, expected.response)
    np.testing.assert_allclose(expected.response, whole.response, rtol=0, atol=1e-14)


# ------------------------------------------------------------------ programs


def test_an_asset_held_at_a_weight():
    """Two border columns would be two budgets; here one and bounds."""
    rng = np.random.default_rng(4)
    returns = rng.normal(size=(60, 8))
    mean, covariance = rng.uniform(0, 0.3, 8), np.cov(returns.T)
    path = Homotopy(EfficientFrontier(mean, covariance, lower=0.0, upper=0.5)).trace()
    t = 0.5 * (path.traced[0] + path.traced[1])
    fork = path.fork(t)
    for asset in range(8):
        for weight in (0.0, 0.2, 0.6):
            moved = fork.push(asset, weight)
            low, high = np.zeros(8), np.full(8, 0.5)
            low[asset] = high[asset] = weight
            rows = np.vstack([np.eye(8), np.ones(8)])
            best = solve_qp(covariance, -t * mean, rows, np.append(low, 1.0), np.append(high, 1.0))
            np.testing.assert_allclose(moved.alpha, best, atol=1e-8)
            fork.restore()


def test_a_coefficient_left_out_of_an_elastic_net():
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(30, 6)), rng.normal(size=30)
    X[:, 3] = X[:, 1]
    path = Homotopy(ElasticNet(X, y, ridge=0.5, lam=0.1)).trace()
    fork = path.fork(1.0)
    for j in range(6):
        rest = np.arange(6) != j
        alone = Homotopy(ElasticNet(X[:, rest], y, ridge=0.5, lam=0.1)).trace()
        moved = fork.remove(j)
        np.testing.assert_allclose(moved.alpha[rest], alone.alpha(1.0), atol=1e-9)
        fork.restore()


def test_a_program_with_rows():
    rng = np.random.default_rng(8)
    H = np.diag(rng.uniform(0.5, 2.0, 5))
    A = rng.normal(size=(3, 5))
    model = ParametricQP(
        H,
        (rng.normal(size=5), rng.normal(size=5)),
        A=A,
        lb=-np.ones(5),
        ub=np.ones(5),
        lbA=-np.ones(3),
        ubA=np.ones(3),
    )
    path = Homotopy(model).trace()
    fork = path.fork(0.5)
    base = fork.optimum()
    for row in range(base.alpha.size):
        moved = fork.push(row, float(base.alpha[row]) + 0.05)
        assert moved.certify().ok
        back = fork.release(row)
        np.testing.assert_allclose(back.alpha, base.alpha, atol=1e-9)
        fork.restore()


# ------------------------------------------------------------------ many rows


def test_processes_and_a_bar(capsys):
    pytest.importorskip("tqdm")
    X, y = regression(60)
    fork = svr(X, y).fork(EPS)
    alone = fork.leave_one_out(at=X[:3])
    some = fork.leave_one_out(range(10, 20), progress=True)
    np.testing.assert_array_equal(some.response, alone.response[10:20])
    assert "leave one out 100%" in capsys.readouterr().err
    both = fork.leave_one_out(at=X[:3], n_jobs=2)
    np.testing.assert_allclose(both.response, alone.response, atol=1e-12)
    np.testing.assert_allclose(both.decision, alone.decision, atol=1e-12)
    fork.remove(0)
    with pytest.raises(PathError, match=r"restore\(\) first"):
        fork.leave_one_out(n_jobs=2)


def test_rows_that_cannot_be_added():
    X, y = regression(20)
    fork = svr(X, y).fork(EPS)
    for x, target, cost, message in (
        (X[0, :2], 1.0, None, "2 columns"),
        (X[:2], 1.0, None, "one row"),
        ([np.nan, 0.0, 0.0], 1.0, None, "nan|finite"),
        (X[0], np.inf, None, "finite"),
        (X[0], None, None, "needs a target"),
        (X[0], "much", None, "numbers"),
        (X[0], 1.0, -1.0, "must not be negative"),
    ):
        with pytest.raises(DataError, match=message):
            fork.add(x, target, cost)
    assert fork.added == ()
    assert not fork.moved
    label = np.where(y > 0, "a", "b")
    fork = Homotopy(SVMPath(X, label, C=(0.1, 1.0))).trace().fork(1.0)
    with pytest.raises(DataError, match="neither of the two classes"):
        fork.add(X[0], "c")
