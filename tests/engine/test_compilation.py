"""Compilation on first use: Ctrl-C, threads, processes, spoiled files, folders that are closed."""

from __future__ import annotations

import importlib.util
import logging
import os
import random
import signal
import subprocess
import sys
import threading
from pathlib import Path as FilePath

import numpy as np
import pytest
from llvmlite.binding import executionengine
from numba import njit

from homotopy.compilation import interrupts_held, protect

posix = pytest.mark.skipif(sys.platform == "win32", reason="signals as on POSIX")


# ---------------------------------------------------------------------- Ctrl-C


@posix
def test_ctrl_c_waits_until_the_end(caplog):
    done = []

    def work():
        with interrupts_held():
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
            done.append("all")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["all"]
    assert [r.message for r in caplog.records] == [
        "Ctrl-C: stopping as soon as the loops of homotopy-qp are compiled"
    ]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@posix
def test_the_outermost_lets_it_go():
    done = []

    def work():
        with interrupts_held():
            with interrupts_held():
                signal.raise_signal(signal.SIGINT)
                done.append("inner")
            done.append("outer")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["inner", "outer"]


@posix
def test_a_handler_of_somebody_else_is_asked_in_the_end():
    asked = []
    before = signal.signal(signal.SIGINT, lambda *_: asked.append(1))
    try:
        with interrupts_held():
            signal.raise_signal(signal.SIGINT)
            assert asked == []
        assert asked == [1]
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        with interrupts_held():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


@posix
def test_other_threads_hold_nothing():
    found = []

    def held():
        with interrupts_held():
            found.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=held)
    thread.start()
    thread.join()
    assert found == [signal.default_int_handler]


def test_an_error_inside_stays_what_it_is():
    with pytest.raises(ZeroDivisionError), interrupts_held():
        raise ZeroDivisionError


SOURCE = """
from numba import njit

@njit(cache=True)
def doubled(x):
    return 2.0 * x
"""


@pytest.fixture
def doubled(tmp_path):
    """A compiled function that is kept beside its file; again() is what another process has."""
    (tmp_path / "small.py").write_text(SOURCE)
    spec = importlib.util.spec_from_file_location("small", tmp_path / "small.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    def again():
        function = njit(cache=True)(module.doubled.py_func)
        protect({"doubled": function})
        return function

    return again


@posix
def test_ctrl_c_that_falls_into_a_callback_of_the_compiler_is_not_lost(doubled, monkeypatch):
    """Exceptions in a callback from C are printed and swallowed; Numba then finds no code."""
    engine, come = executionengine.ExecutionEngine, []
    find = engine._find_module_ptr

    def interrupted(self, pointer):
        come.append(1)
        signal.raise_signal(signal.SIGINT)
        return find(self, pointer)

    # Called by the callbacks and by nobody else.
    monkeypatch.setattr(engine, "_find_module_ptr", interrupted)
    function = doubled()
    with pytest.raises(KeyboardInterrupt):
        function(1.5)
    assert come
    monkeypatch.undo()
    # What was compiled is kept, in this process and on disk.
    assert function(1.5) == 3.0
    assert sum(function.stats.cache_misses.values()) == 1
    other = doubled()
    assert other(1.5) == 3.0
    assert sum(other.stats.cache_hits.values()) == 1


# ---------------------------------------------------------------------- spoiled files


def kept(function):
    return sorted(FilePath(function.stats.cache_path).glob("small.doubled-*.nb[ic]"))


@pytest.mark.parametrize("ending", [".nbi", ".nbc"])
@pytest.mark.parametrize("way", ["empty", "cut", "noise", "another pickle"])
def test_a_spoiled_file_is_compiled_again(doubled, caplog, ending, way):
    first = doubled()
    assert first(1.5) == 3.0
    (file,) = [f for f in kept(first) if f.suffix == ending]
    good = file.read_bytes()
    file.write_bytes(
        {
            "empty": b"",
            "cut": good[: len(good) // 2],
            "noise": random.Random(0).randbytes(len(good)),
            "another pickle": b"\x80\x04]\x94.",
        }[way]
    )
    with caplog.at_level(logging.WARNING, logger="homotopy"):
        assert doubled()(1.5) == 3.0
    assert "is not usable" in caplog.text or way == "another pickle"
    # Now it is whole again.
    other = doubled()
    assert other(1.5) == 3.0
    assert sum(other.stats.cache_hits.values()) == 1


def test_a_disk_that_is_full_keeps_nobody_from_computing(doubled, monkeypatch, caplog):
    def full(*_arguments, **_options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    function = doubled()
    with caplog.at_level(logging.WARNING, logger="homotopy"):
        assert function(1.5) == 3.0
    assert "No space left on device" in caplog.text
    monkeypatch.undo()
    assert not kept(function)


def test_what_is_protected_twice_is_wrapped_once(doubled):
    function = doubled()
    before = function.compile
    protect({"a": function, "b": 3, "c": np.ones(2), "d": None})
    assert function.compile is before


def test_every_function_that_python_calls_is_protected():
    """Ctrl-C while one of them was compiled left it without code."""
    import homotopy_plugins  # noqa: F401

    names = [n for n in sys.modules if n.split(".")[0] in ("homotopy", "homotopy_plugins")]
    bare = {
        f"{thing.py_func.__module__}.{thing.py_func.__name__}"
        for name in names
        for thing in vars(sys.modules[name]).values()
        if getattr(getattr(thing, "_cache", None), "cache_path", None)
        and not thing.targetoptions.get("no_cpython_wrapper")
        and "compile" not in vars(thing)
    }
    assert not bare


# ---------------------------------------------------------------------- the loops themselves


def run_python(script: str, folder: FilePath, **options) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", script],
        env=os.environ | {"NUMBA_CACHE_DIR": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def said(process: subprocess.Popen) -> tuple[str, str]:
    try:
        out, err = process.communicate(timeout=900)
    finally:
        process.kill()
    assert process.returncode == 0, err
    return out, err


NOWHERE = """
import os
from numba.core import caching

class Locator(caching._CacheLocator):
    pass

def ensure(self):
    path = self.get_cache_path()
    if "homotopy-qp-" not in path:
        raise OSError(30, "Read-only file system", path)
    os.makedirs(path, exist_ok=True)

for kind in vars(caching).values():
    if isinstance(kind, type) and issubclass(kind, caching._CacheLocator):
        if "ensure_cache_path" in vars(kind):
            kind.ensure_cache_path = ensure

import numpy as np
import homotopy

gram = homotopy.DenseGram(np.eye(3))
folder = homotopy.gram.products.weighted_rows.stats.cache_path
print(gram.matvec(np.ones(3)), os.path.isdir(folder))
print(folder)

from numba import njit
try:
    njit(cache=True)(os.path.join)
except RuntimeError as error:
    print("others:", error)
"""


def test_where_nothing_can_be_written_a_folder_of_the_process_serves(tmp_path):
    out, err = said(run_python(NOWHERE, tmp_path))
    product, folder, others = out.splitlines()
    assert product == "[1. 1. 1.] True"
    assert err.count("set NUMBA_CACHE_DIR to a writable folder") == 1
    # It is gone with the process, and functions of other packages are none of our business.
    assert not FilePath(folder).parent.exists()
    assert others.startswith("others: cannot cache function")


TRACE = """
import numpy as np
from homotopy import DenseGram, Homotopy
from homotopy.runtime import TinyModel

def trace():
    path = Homotopy(TinyModel(DenseGram(np.eye(3) + 0.5), np.array([1.0, -1.0, 1.0]))).trace()
    assert path.certify().ok
    return path.breakpoints.tolist()
"""

INTERRUPTED = (
    TRACE
    + """
import os, signal, sys, threading

print("begun", flush=True)
try:
    trace()
except KeyboardInterrupt:
    print("interrupted", flush=True)
print(trace())
"""
)


@posix
@pytest.mark.slow
@pytest.mark.parametrize("delay", [0.5, 4.0, 8.0, 12.0])
def test_ctrl_c_during_the_first_compilation_leaves_everything_in_order(tmp_path, delay):
    process = run_python(INTERRUPTED, tmp_path)
    assert process.stdout.readline() == "begun\n"
    threading.Timer(delay, lambda: process.send_signal(signal.SIGINT)).start()
    out, err = said(process)
    lines = out.splitlines()
    assert lines == ["interrupted", lines[-1]]
    assert "Ctrl-C: stopping as soon as the loops of homotopy-qp are compiled" in err
    # Nothing is compiled a second time.
    assert said(run_python(TRACE + "print(trace())", tmp_path)) == (lines[-1] + "\n", "")


THREADS = (
    TRACE
    + """
from concurrent.futures import ThreadPoolExecutor

with ThreadPoolExecutor(4) as pool:
    found = list(pool.map(lambda _: trace(), range(4)))
assert found == 4 * [found[0]]
print(found[0])
"""
)


@pytest.mark.slow
def test_threads_and_processes_may_compile_at_once(tmp_path):
    processes = [run_python(THREADS, tmp_path) for _ in range(2)]
    answers = [said(process)[0] for process in processes]
    assert answers[0] == answers[1]
    assert said(run_python(TRACE + "print(trace())", tmp_path)) == (answers[0], "")
