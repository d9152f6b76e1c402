"""Shared settings of the suite; `problems`, `oracles` and `toys` beside it hold what tests use."""

from __future__ import annotations

import faulthandler
import os
import signal

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "suite",
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("suite")

# Many times what the longest test of either kind takes on a machine with other work to do.
SECONDS, SECONDS_OF_A_PROOF = 300.0, 3600.0
# Machine code hears no alarm; this much later the whole process ends.
GRACE = 60.0

_TERMINAL = pytest.StashKey[int]()


def pytest_configure(config):
    config.addinivalue_line("markers", "limit(seconds): fail after so long, not after the default")
    # Output is not captured yet; the last words of a process that hangs belong here.
    config.stash[_TERMINAL] = os.dup(2)
    # Behind nohup, or in the background of a script, Ctrl-C is ignored here and in every child.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_unconfigure(config):
    os.close(config.stash[_TERMINAL])


def pytest_sessionstart(session):
    """Compile before there are workers: they find it on disk, and no test waits for it."""
    config = session.config
    if hasattr(config, "workerinput") or config.option.collectonly:
        return
    import numpy as np
    import scipy.sparse as sp

    import homotopy
    from homotopy_plugins import HingeRamp

    homotopy.compile_now(forks=True)
    # The loops of the certificate and of kernels are compiled when first asked for.
    X, y = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0]]), [1, -1, 1]
    for rows in (X, sp.csr_array(X)):
        for kernel in ("rbf", "poly"):
            path = homotopy.Homotopy(HingeRamp(rows, y, C=1.0, kernel=kernel)).trace()
            path.decision_function(rows, 0.5)
            assert path.certify().ok


def _limit(item: pytest.Item) -> float:
    mark = item.get_closest_marker("limit")
    if mark is not None:
        return mark.args[0]
    return SECONDS_OF_A_PROOF if item.get_closest_marker("slow") else SECONDS


def _limited(item: pytest.Item, phase: str):
    """What hangs is a failure that shows where."""
    seconds = _limit(item)

    def too_long(*_):
        pytest.fail(f"{item.nodeid}: {phase} took longer than {seconds:g} s")

    if hasattr(signal, "SIGALRM"):
        signal.signal(signal.SIGALRM, too_long)
        signal.setitimer(signal.ITIMER_REAL, seconds)
    faulthandler.dump_traceback_later(seconds + GRACE, exit=True, file=item.config.stash[_TERMINAL])
    try:
        return (yield)
    finally:
        pytest_enter_pdb()


def pytest_enter_pdb():
    """Whoever looks for a bug may take their time."""
    faulthandler.cancel_dump_traceback_later()
    if hasattr(signal, "SIGALRM"):
        signal.setitimer(signal.ITIMER_REAL, 0.0)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item):
    return (yield from _limited(item, "setup"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    return (yield from _limited(item, "the test"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item):
    return (yield from _limited(item, "teardown"))
