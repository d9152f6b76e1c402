"""Walks through the tableau of a fork lead to where the routes of the tracker lead."""

from __future__ import annotations

import attrs
import numpy as np
import pytest
from test_fork_machines import EPS, regression

from homotopy import Homotopy, TraceError
from homotopy.forking import tableau
from homotopy.forking.mover import Mover
from homotopy.forking.tableau import Tableau
from homotopy.forking.tolerances import FORK_TOLERANCES
from homotopy_plugins import ConditionalConformal, EpsilonRamp, HuberRamp, PinballRamp

MODELS = {
    "epsilon": lambda X, y, **o: EpsilonRamp(X, y, epsilon=EPS, epsilon_start=EPS, path="eps", **o),
    "huber": lambda X, y, **o: HuberRamp(X, y, delta=0.5, delta_start=0.5, path="delta", **o),
    "quantile": lambda X, y, **o: PinballRamp(X, y, tau=0.3, tau_stop=0.3, path="tau", **o),
}


def forked(loss="epsilon", rows=60, twins=False, **options):
    X, y = regression(rows)
    if twins:
        X, y = np.round(X, 0), np.round(2.0 * y) / 2.0
    options = {"C": 2.0, "gamma": 0.5, "fit_intercept": True} | options
    if options.get("kernel") == "linear":
        del options["gamma"]
    path = Homotopy(MODELS[loss](X, y, **options)).trace()
    return path.fork(path.traced[0])


@pytest.fixture
def followed(monkeypatch):
    """Rows that the tracker follows."""
    rows, follow = [], Mover.follow_one

    def counted(self, job, row, value, found):
        rows.append(row)
        follow(self, job, row, value, found)

    monkeypatch.setattr(Mover, "follow_one", counted)
    return rows


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("twins", [False, True])
@pytest.mark.parametrize("loss", MODELS)
def test_a_walk_leads_where_the_route_leads(loss, twins, kernel, intercept, followed):
    fork = forked(loss, 90, twins, kernel=kernel, fit_intercept=intercept)
    rows = np.flatnonzero(fork.optimum().alpha)
    for value in (0.0, 1.0):
        values = np.full(rows.size, value)
        found = fork.hold_each(rows, values)
        # Few are in doubt.
        assert len(followed) <= 0.2 * rows.size
        expected = fork._mover.answers(rows.size, False)
        for job, row in enumerate(rows.tolist()):
            fork._mover.follow_one(job, row, value, expected)
        np.testing.assert_allclose(found[0], expected[0], atol=1e-10)
        np.testing.assert_allclose(found[1], expected[1], atol=1e-10)
        followed.clear()


def test_a_walk_in_doubt_is_followed(monkeypatch, followed):
    fork = forked()
    left = fork.leave_one_out(at=np.zeros((2, 3)))
    assert not followed
    short = attrs.evolve(FORK_TOLERANCES, most_steps=2)
    monkeypatch.setattr(tableau, "FORK_TOLERANCES", short)
    again = forked()
    other = again.leave_one_out(at=np.zeros((2, 3)))
    assert followed
    np.testing.assert_allclose(other.response, left.response, atol=1e-12)
    np.testing.assert_allclose(other.decision, left.decision, atol=1e-12)
    moved = again.push(3, 0.5, nodes=True)
    assert moved.certify().ok
    assert moved.nodes.certify().ok


def test_columns_come_and_go(monkeypatch):
    left = forked().leave_one_out()
    few = attrs.evolve(FORK_TOLERANCES, columns=62 * 30, least_columns=30, together=4, soon=2)
    monkeypatch.setattr(tableau, "FORK_TOLERANCES", few)
    fork = forked()
    again = fork.leave_one_out()
    assert fork._mover.tableau().walk.columns.shape[0] == 30
    np.testing.assert_allclose(again.response, left.response, atol=1e-12)


def test_a_factor_too_large_is_not_copied(monkeypatch, followed):
    left = forked().leave_one_out()
    monkeypatch.setattr(tableau, "FORK_TOLERANCES", attrs.evolve(FORK_TOLERANCES, columns=1))
    fork = forked()
    np.testing.assert_allclose(fork.leave_one_out().response, left.response, atol=1e-12)
    assert fork._mover.tableau() is None
    assert followed


def test_moves_after_a_walk():
    """The tracker goes after a walk when another row is moved, and only then."""
    fork = forked()
    base = fork.optimum()
    fork.leave_one_out()
    first = fork.push(5, 0.7)
    assert fork._mover.walk_end is not None
    again = fork.push(5, -0.3)
    assert again.held == {5: -0.3}
    assert fork._mover.walk_end is not None
    both = fork.push(9, 0.2)
    assert fork._mover.walk_end is None
    assert both.held == {5: -0.3, 9: 0.2}
    for moved in (first, again, both):
        assert moved.certify().ok
    # Another fork, where nothing is known when the rows are moved.
    other = forked()
    other.push(9, 0.2)
    np.testing.assert_allclose(other.push(5, -0.3).response, both.response, atol=1e-10)
    fork.restore()
    np.testing.assert_array_equal(fork.optimum().alpha, base.alpha)
    np.testing.assert_array_equal(fork.optimum().response, base.response)


@pytest.mark.parametrize("loss", MODELS)
def test_nodes_of_a_walk(loss):
    fork = forked(loss)
    moved = fork.push(7, 1.5, nodes=True)
    way, path = moved.way, moved.nodes
    assert path.certify().ok
    np.testing.assert_allclose(way.response[way.first], path.response(way.t[way.first]), atol=1e-10)
    np.testing.assert_allclose(way.alpha[way.last], path.alpha(way.t[way.last], "before"))
    assert way.t[-1] == 1.5
    alpha, u = moved.trail()
    np.testing.assert_allclose(u, path.response(alpha)[:, 7], atol=1e-10)
    # From there on it is followed: the way begins where the row is.
    back = fork.push(7, 0.0, nodes=True)
    assert back.way.t[0] == 1.5
    assert back.certify().ok


def test_a_walk_that_is_interrupted(monkeypatch):
    fork = forked()
    base, whole = fork.optimum(), fork.leave_one_out()

    def stop():
        raise KeyboardInterrupt

    fork._mover.pulse = stop
    for move in (fork.leave_one_out, lambda: fork.remove(1), lambda: fork.push(1, 1.0, nodes=True)):
        with pytest.raises(KeyboardInterrupt):
            move()
        assert not fork.moved
    fork._mover.pulse = None
    np.testing.assert_array_equal(fork.optimum().alpha, base.alpha)
    np.testing.assert_array_equal(fork.leave_one_out().response, whole.response)


def test_what_cannot_be_balanced_is_proven(monkeypatch):
    """Twelve rows of a group cannot rule out a score at the level 0.95: no linear program is
    needed to say so."""
    rng = np.random.default_rng(0)
    X = (np.arange(200) < 12).astype(float)[:, None]
    scores = rng.exponential(size=200)

    def groups(X):
        return np.column_stack([X[:, 0] > 0.5, X[:, 0] < 0.5])

    cut = ConditionalConformal(confidence_level=0.95, basis=groups, kernel=None).fit(X, scores)
    monkeypatch.setattr(ConditionalConformal, "_balanced", lambda *given: pytest.fail("asked"))
    found = cut.cutoff(np.array([[1.0], [0.0], [1.0]]))
    rank = int(np.ceil(0.95 * 189)) - 1
    np.testing.assert_allclose(found, [np.inf, np.sort(scores[12:])[rank], np.inf])


def test_balance_is_not_denied_rashly():
    """A direction proves nothing if alphas can reach the sum."""
    fork = forked()
    fork.leave_one_out()
    table = fork._mover.tableau()
    assert isinstance(table, Tableau)
    table.walk.dz[-1] = 1.0
    assert not table.cannot_balance(0, 0.5, np.zeros(1))
    assert table.cannot_balance(0, 1e3, np.zeros(1))
    with pytest.raises(TraceError, match="balanced"):
        fork.push(0, 1e3)
