"""The progress of a compilation, from the functions that Numba reports."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

# Reports of `homotopy.compile_now()` with an empty cache, at the beginning and the end of each
# function; tests/engine/test_compilation_progress.py counts them again.
REPORTS = 452
# All others are linked and optimised in this function, which takes as long as this many reports.
LAST_FUNCTION, LAST_REPORTS = "run", 90


@contextmanager
def compilation_heard(tell: Callable[[float], object]) -> Iterator[None]:
    """Call `tell` with the fraction of a full compilation that is done."""
    try:
        from numba.core import event
    except ImportError:
        yield
        return
    done = 0

    def count(reports: int) -> None:
        nonlocal done
        done += reports
        tell(min(done / (REPORTS + LAST_REPORTS - 1), 1.0))

    class Heard(event.Listener):
        def on_start(self, event: Any) -> None:
            count(1)

        def on_end(self, event: Any) -> None:
            last = event.data["dispatcher"].py_func.__name__ == LAST_FUNCTION
            count(LAST_REPORTS if last else 1)

    with event.install_listener("numba:compile", Heard()):
        yield
