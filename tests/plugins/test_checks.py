"""How often a point is checked on the way, and what a check costs."""

from __future__ import annotations

import numpy as np
import pytest

from homotopy import Homotopy
from homotopy.tracker import Tracker
from homotopy_plugins import LADRamp


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
