"""What goes on around a trace: threads and the notice of compilation."""

from __future__ import annotations

import logging
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from homotopy import LinearGram, runtime
from homotopy.threads import one_thread
from homotopy.tracker import running
from homotopy.tracker.compiling import source_digest


class Model:
    def __init__(self, n: int) -> None:
        self.gram = LinearGram(np.ones((n, 1)))


def blas_threads() -> list[int]:
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def test_small_problems_run_on_one_thread_and_give_the_others_back():
    before = blas_threads()
    assert before
    with one_thread(Model(10)):
        assert set(blas_threads()) == {1}
    assert blas_threads() == before


def test_the_last_of_two_traces_lifts_the_limit():
    before = blas_threads()
    first, second = one_thread(Model(10)), one_thread(Model(20))
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert set(blas_threads()) == {1}
    second.__exit__(None, None, None)
    assert blas_threads() == before


def test_large_problems_keep_their_threads():
    before = blas_threads()
    with one_thread(Model(10), many=5):
        assert blas_threads() == before


@pytest.mark.parametrize("cached", [True, False])
def test_compilation_is_announced_only_where_it_happens(cached, tmp_path, monkeypatch, caplog):
    python = f"py{sys.version_info.major}{sys.version_info.minor}"
    line = blas_threads.__code__.co_firstlineno
    # One of an older version is there in any case.
    (tmp_path / f"running.run-{line + 1}.{python}.nbi").touch()
    # So is one of this place but another source, and another is of both if it is kept.
    source = source_digest() if cached else "0123456789ab"
    (tmp_path / f"running.run-{line}.{python}.nbi").write_bytes(f"_source_{source}_".encode())
    stand_in = SimpleNamespace(
        signatures=[],
        stats=SimpleNamespace(cache_path=str(tmp_path)),
        py_func=blas_threads,
    )
    monkeypatch.setattr(running, "run", stand_in)
    runtime.announce_compilation.cache_clear()
    with caplog.at_level(logging.WARNING, logger="homotopy"):
        runtime.announce_compilation()
        runtime.announce_compilation()
    said = [r.message for r in caplog.records if "compiles its loops" in r.message]
    assert len(said) == (0 if cached else 1)
    runtime.announce_compilation.cache_clear()


def test_nothing_is_announced_where_nothing_is_compiled(monkeypatch, caplog):
    """With NUMBA_DISABLE_JIT the loops are plain functions."""
    monkeypatch.setattr(running, "run", blas_threads)
    runtime.announce_compilation.cache_clear()
    with caplog.at_level(logging.WARNING, logger="homotopy"):
        runtime.announce_compilation()
    assert not caplog.records
    runtime.announce_compilation.cache_clear()


def test_loops_already_in_memory_are_not_announced(monkeypatch, caplog):
    stand_in = SimpleNamespace(signatures=[("a signature",)])
    monkeypatch.setattr(running, "run", stand_in)
    runtime.announce_compilation.cache_clear()
    with caplog.at_level(logging.WARNING, logger="homotopy"):
        runtime.announce_compilation()
    assert not caplog.records
    runtime.announce_compilation.cache_clear()
