"""How often a point is checked on the way, and what a check costs."""

from __future__ import annotations

import numpy as np
import pytest

from homotopy import Homotopy, TraceError
from homotopy.tracing import verdict
from homotopy.tracker import Tracker
from homotopy_plugins import HingeRamp, LADRamp


@pytest.fixture
def counted(monkeypatch):
    """Counts the calls of methods of the tracker."""
    calls: dict[str, int] = {}

    def count(name):
        work = getattr(Tracker, name)

        def counting(self, *given):
            calls[name] = calls.get(name, 0) + 1
            return work(self, *given)

        monkeypatch.setattr(Tracker, name, counting)

    for name in ("_maintain", "refresh"):
        count(name)
    return calls


def test_jumps_between_small_alphas_ask_for_no_check_each(counted):
    """Targets far from 0 and tiny rows: the corners outweigh alphas before and after a jump, so
    no jump leaves the rounding of larger terms behind."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((200, 4)) / 50.0
    y = 150.0 + 40.0 * rng.standard_normal(200)
    model = LADRamp(X, y, C=0.1, kernel="linear", path="s", fit_intercept=True)
    path = Homotopy(model).trace()
    assert len(path.jumps) > 30
    assert counted["_maintain"] < len(path.jumps) / 20
    assert path.certify().ok


def test_dozens_leave_their_knots_in_one_correction(counted, monkeypatch):
    """At theta = 0 the knots of a hinge have shrunk to a point, and every alpha but one leaves its
    own: u is recomputed once before and once after."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 8))
    y = np.where(X[:, 0] + 0.5 * rng.standard_normal(300) > 0.0, 1.0, -1.0)
    at_end: list[tuple[int, int]] = []
    correct = Tracker.correct

    def noted(self):
        active, refreshed = int(self.system.actives), counted.get("refresh", 0)
        done = correct(self)
        if self.route.t == self.route.last:
            left = active - int(self.system.actives)
            at_end.append((left, counted["refresh"] - refreshed))
        return done

    monkeypatch.setattr(Tracker, "correct", noted)
    path = Homotopy(HingeRamp(X, y, C=0.1, kernel="rbf", gamma=0.2, fit_intercept=True)).trace()
    ((left, refreshed),) = at_end
    assert left > 50
    assert refreshed == 2
    assert path.certify().ok


def test_a_second_attempt_is_certified_as_a_whole(monkeypatch):
    """Its own doubts may lie elsewhere than what the first attempt failed for."""
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((40, 3)), np.sign(rng.standard_normal(40))
    asked: list[object] = []

    def refused(path, stretches=None):
        asked.append(stretches)
        return False

    monkeypatch.setattr(verdict, "holds", refused)
    with pytest.raises(TraceError, match="cannot be proven"):
        Homotopy(HingeRamp(X, y, C=1.0, kernel="rbf")).trace()
    assert asked[-1] is None


@pytest.mark.parametrize("C", [1.0, 1e5])
@pytest.mark.parametrize("apart", [1e-10, 1e-11, 1e-12, 1e-14])
def test_a_response_beside_a_jump_by_more_than_rounding_is_not_on_it(apart, C):
    """Opposite twins: u = apart * C for both, next to the jump at 0, where all of it is known."""
    K = np.array([[1.0, 1.0 - apart], [1.0 - apart, 1.0]])
    path = Homotopy(HingeRamp(K, [1, -1], C=C, kernel="precomputed")).trace()
    certificate = path.certify()
    assert certificate.ok, certificate
    np.testing.assert_allclose(path.response(0.5), C * apart, rtol=0.02)
