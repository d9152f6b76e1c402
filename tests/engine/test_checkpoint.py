"""Checkpoints: a trace that goes on from one ends, bit for bit, as if it had never stopped."""

from __future__ import annotations

import logging
import os
import random
import signal
import sys
import threading
import time
from typing import Any

import attrs
import numpy as np
import pytest
import scipy.sparse as sp
from problems import case
from test_files import run_python
from test_windows import TINY
from toys import Huber, Toy

from homotopy import (
    DenseGram,
    Homotopy,
    Knot,
    ModelError,
    Path,
    PathError,
    Slope,
    Status,
    TraceError,
    TraceInterrupted,
)
from homotopy import checkpoint as module
from homotopy.path.segments import Segments
from homotopy.testing import hostile_problem
from homotopy.tracing import Run, TraceTolerances
from homotopy.tracing.watch import Watch
from homotopy.tracker import Patience, Pauses, Tolerances, Windows
from homotopy.tracker.state import Scalars
from homotopy_plugins import HingeRamp

NEVER = 1e9


def content(path: Path) -> tuple[Any, ...]:
    """All of a path but where its time went, such that equal means equal bit for bit."""
    jumps = [
        tuple(value.tobytes() if isinstance(value, np.ndarray) else value for value in fields)
        for fields in (attrs.astuple(jump) for jump in path.jumps)
    ]
    arrays = [getattr(path.segments, field.name) for field in attrs.fields(Segments)]
    numbers = [(a.dtype.str, a.shape, a.tobytes()) for a in arrays]
    return numbers, repr(jumps), path.counts, path.status, path.span


def outcome(trace: Any) -> Any:
    """What a trace ends with: its path, or its error and the path with that."""
    try:
        return content(trace())
    except TraceError as error:
        return str(error), error.path and content(error.path)


@pytest.fixture
def kept(monkeypatch, tmp_path):
    """``kept(run, most=20)``: what `run` ends with, and checkpoints from all over its way."""
    file = tmp_path / "trace.npz"

    def keep(run: Homotopy, most: int = 20, **options: Any) -> Any:
        files: list[bytes] = []
        draw = random.Random(0)

        def replace(name: Any, packed: Any) -> None:
            nonlocal seen
            seen += 1
            # Each is as likely to be among those that are kept.
            if len(files) < most:
                files.append(bytes(packed))
            elif (place := draw.randrange(seen)) < most:
                files[place] = bytes(packed)

        seen = 0
        with monkeypatch.context() as patch:
            patch.setattr(module, "replace_file", replace)
            often = pausing(run, 1)
            end = outcome(lambda: often.trace(checkpoint=file, every=0.0, **options))
        return end, files

    return keep


def pausing(run: Homotopy, burst: int) -> Homotopy:
    """The same trace with a pause every `burst` steps."""
    pauses = Pauses(burst=burst)
    return attrs.evolve(run, tolerances=attrs.evolve(run.tolerances, pauses=pauses))


def resumed(run: Homotopy, file: Any, packed: bytes) -> Any:
    file.write_bytes(packed)
    return outcome(lambda: run.resume(file, every=NEVER))


# ---------------------------------------------------------------------- bit for bit


def rows_kept(X, kind, memory, **options):
    problem = case(kind, X, 5, **options)
    return problem.model(cache_size=memory)


def two_borders():
    rng = np.random.default_rng(7)
    X, rest = rng.normal(size=(40, 4)), rng.normal(size=40)
    border = np.stack([np.ones(40), np.where(np.arange(40) % 2, 1.0, -1.0)], axis=1)

    def polyline(t):
        return (
            Slope("L", 1.0),
            Knot("E", 5.0 * X[:, 0] + 20.0 * t * rest),
            Slope("R", -1.0),
        )

    return Toy(DenseGram(X @ X.T + np.eye(40)), (0.0, 1.0), polyline, border=border)


def asked():
    """A model with a rule of its own for who changes side."""
    problem = case("hinge", 40, 3, kernel="rbf", C=10.0)

    class Choosy(HingeRamp):
        def flips(self, t, standing, response):
            return standing[:1]

    return Choosy(problem.X, problem.y, C=10.0, kernel="rbf", gamma=0.5, s=0.0)


def sparse_hinge():
    problem = case("hinge", 60, 4, d=6)
    X = sp.random(60, 30, density=0.2, random_state=0, format="csr")
    return HingeRamp(X, problem.y, C=10.0, kernel="linear", fit_intercept=True)


def huber():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(30, 3))
    return Huber(X, X[:, 0] + rng.standard_t(1.5, size=30), rng.normal(size=30), 1.0, True)


def callable_kernel():
    problem = case("hinge", 50, 6)

    def kernel(A, B):
        square = np.einsum("ij,ij->i", A, A)[:, None] + np.einsum("ij,ij->i", B, B)
        return np.exp(-0.5 * (square - 2.0 * np.einsum("ij,kj->ik", A, B)))

    return HingeRamp(problem.X, problem.y, C=10.0, kernel=kernel, cache_size=0.005)


MODELS: dict[str, tuple[Any, dict[str, Any]]] = {
    f"{kind} along {way}, {kernel}": (
        lambda kind=kind, way=way, kernel=kernel: case(
            kind, 60, 5, kernel=kernel, path=way, intercept=kernel == "linear", C=10.0
        ).model(),
        {},
    )
    for kind in ("hinge", "lad")
    for way in ("theta", "s")
    for kernel in ("rbf", "linear")
} | {
    "few rows kept": (lambda: rows_kept(120, "hinge", 0.03, kernel="rbf", C=10.0), {}),
    "few rows kept, windows": (
        lambda: rows_kept(120, "lad", 0.03, kernel="rbf", C=10.0),
        {"windows": TINY},
    ),
    "a kernel function, few rows kept": (callable_kernel, {}),
    "windows by direction": (lambda: case("hinge", 90, 5, C=10.0).model(), {"windows": TINY}),
    "windows by distance": (
        lambda: case("lad", 400, 5, kernel="linear", intercept=True).model(),
        {"windows": TINY},
    ),
    "integers": (lambda: case("hinge", 60, 2, data="integer", kernel="linear", C=5.0).model(), {}),
    "three times the same": (
        lambda: case("hinge", 45, 3, data="stacked", kernel="linear", C=5.0).model(),
        {},
    ),
    "sparse": (sparse_hinge, {}),
    "slanted": (huber, {}),
    "two borders": (two_borders, {}),
    "asks who flips": (asked, {}),
    "by the QP solver": (lambda: case("hinge", 40, 5, C=10.0).model(), {"d_step": "osqp"}),
}


@pytest.mark.parametrize("most", [6, pytest.param(20, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", MODELS)
def test_from_wherever_it_goes_on_the_path_is_the_same(name, most, kept, tmp_path):
    build, options = MODELS[name]
    whole = outcome(Homotopy(build(), **options).trace)
    end, files = kept(Homotopy(build(), **options), most)
    assert end == whole
    assert len(files) > 3
    for packed in files:
        assert resumed(Homotopy(build(), **options), tmp_path / "kept.npz", packed) == whole


# A second attempt has all the time it wants.
UNHURRIED = TraceTolerances(at_least=600.0)
SLOW = {7, *range(20, 300)}


@pytest.mark.filterwarnings("ignore::homotopy.RoundingWarning")
@pytest.mark.parametrize(
    "seed", [pytest.param(k, marks=pytest.mark.slow if k in SLOW else ()) for k in range(300)]
)
def test_hostile_problems_go_on_as_well(seed, kept, tmp_path):
    def run():
        return Homotopy(hostile_problem(seed).model)

    whole = outcome(run().trace)
    end, files = kept(run(), most=4)
    assert end == whole
    for packed in files:
        assert resumed(run(), tmp_path / "kept.npz", packed) == whole


def test_some_pauses_are_inside_jumps(kept, tmp_path):
    """What is said above of all pauses is said of those, too."""
    phases = set()
    build, options = MODELS["hinge along theta, rbf"]
    _, files = kept(Homotopy(build(), **options), most=10_000)
    run = Homotopy(build(), **options)
    for packed in files:
        (tmp_path / "kept.npz").write_bytes(packed)
        trace = Run(run, False, None)
        trace.load_state(module.Checkpoint.read(tmp_path / "kept.npz", run))
        phases.add(int(trace.tracker.jumping.phase))
    assert len(phases) > 1


def test_a_start_that_was_given_is_given_again(kept, tmp_path, monkeypatch):
    """The second attempt begins where the first did, in another process too."""
    # With windows first, without in the second attempt.
    monkeypatch.setattr(Run, "_proven", lambda trace, path: path.counts["windows"] == 0)
    near = case("hinge", 90, 5, C=9.0)
    start = Homotopy(near.model()).trace()

    def run():
        return Homotopy(case("hinge", 90, 5, C=10.0).model(), windows=TINY, tracing=UNHURRIED)

    whole = outcome(lambda: run().trace(start=start))
    assert whole[2]["windows"] == 0
    end, files = kept(run(), start=start)
    assert end == whole
    attempts = set()
    for packed in files:
        (tmp_path / "kept.npz").write_bytes(packed)
        attempts.add(module.Checkpoint.read(tmp_path / "kept.npz", run()).trouble is None)
        assert resumed(run(), tmp_path / "kept.npz", packed) == whole
    assert attempts == {True, False}


def test_what_is_declined_is_declined_again(kept, tmp_path, monkeypatch):
    """With the message of the first attempt and what was proven by then."""
    monkeypatch.setattr(Run, "_proven", lambda trace, path: False)

    def run():
        return Homotopy(case("hinge", 40, 5, C=10.0).model(), tracing=UNHURRIED)

    whole = outcome(run().trace)
    assert "cannot be proven" in whole[0]
    assert whole[1] is not None
    end, files = kept(run())
    assert end == whole
    for packed in files:
        assert resumed(run(), tmp_path / "kept.npz", packed) == whole


# What belongs to the process, not to the path; the polylines of a repair are written anew by each.
ELSEWHERE = {
    # (`former` and `since` are of the clock; `seconds` is kept.)
    "Run": {"options", "keeper", "problem", "former", "since"},
    "Jumps": {"tracker", "problem", "solver"},
    "Watch": {
        "problem",
        "tracker",
        "callback",
        "max_breakpoints",
        "bar",
        "deadline",
        "budget",
        "reported_at",
        "reported",
        # Reads the record, for a callback.
        "sweep",
    },
    # (The records are ways to read `_scalars`.)
    "Tracker": {
        "problem",
        "gram",
        "pulse",
        "_settling_polylines",
        "form",
        "_arrays",
        "_core",
        *Scalars._fields,
    },
}


def everything(thing: Any) -> Any:
    if isinstance(thing, np.ndarray | np.record):
        return thing.tobytes()
    if isinstance(thing, tuple):
        return [everything(part) for part in thing]
    if type(thing).__name__ in ELSEWHERE:
        skip = ELSEWHERE[type(thing).__name__]
        return {k: everything(v) for k, v in vars(thing).items() if k not in skip}
    if isinstance(thing, Tolerances | Windows | TraceTolerances):
        return attrs.astuple(thing)
    return repr(float(thing)) if isinstance(thing, int | float) else thing


@pytest.mark.parametrize("name", ["few rows kept, windows", "windows by distance", "slanted"])
def test_nothing_is_left_out(name, tmp_path, monkeypatch):
    """A new attribute of a trace or a tracker must be kept, or be listed above."""
    build, options = MODELS[name]
    run = Homotopy(build(), **options)
    most = len(run.trace().segments) // 2
    traces: list[Run] = []
    run = pausing(run, 16)

    class Stop(Exception):
        pass

    def stop(_progress):
        if traces[0].tracker.cursor.segments > most:
            raise Stop

    real = Run.__init__

    def note(self, *args, **more):
        real(self, *args, **more)
        traces.append(self)

    monkeypatch.setattr(Run, "__init__", note)
    with pytest.raises(Stop):
        run.trace(callback=stop, checkpoint=tmp_path / "kept.npz", every=NEVER)
    other = Run(run, False, None)
    other.load_state(module.Checkpoint.read(tmp_path / "kept.npz", run))
    first, second = everything(traces[0]), everything(other)
    assert first.keys() == second.keys()
    for key in first:
        if key != "tracker":
            assert first[key] == second[key], key
    for key in first["tracker"]:
        assert first["tracker"][key] == second["tracker"][key], key
    held, again = traces[0].problem.gram.held(), other.problem.gram.held()
    assert all(np.array_equal(held[key], again[key]) for key in held)
    assert other.tracker.polylines is other.tracker.model_polylines


# ---------------------------------------------------------------------- killed


KILLING = """
import os, random, shutil, signal, sys, time
from problems import case
from test_checkpoint import long_run

folder, kills, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
file = os.path.join(folder, "trace.npz")
random.seed(seed)
run, parent = long_run(), os.getpid()
run.trace()
long_run(max_breakpoints=1).trace(checkpoint=file)
for k in range(kills):
    begun, told = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(told, b".")
        while os.getppid() == parent:
            # To the end, and then from the start, until it is killed.
            long_run().resume(file, every=0.002)
            long_run(max_breakpoints=1).trace(checkpoint=file)
        os._exit(1)
    os.read(begun, 1)
    # By checkpoints, not by the clock: on a busy machine the child may hardly have run.
    more, seen = random.randint(1, 40), os.stat(file).st_ino
    while more:
        time.sleep(0.001)
        now = os.stat(file).st_ino
        more, seen = more - (now != seen), now
    time.sleep(random.uniform(0.0, 0.02))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(begun), os.close(told)
    shutil.copy(file, os.path.join(folder, f"{k}.npz"))
"""


def long_run(**limits: Any) -> Homotopy:
    """Traces for most of a second, with few rows of Q kept and u recomputed after every step."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 5))
    y = np.sign(X[:, 0] + 1.5 * rng.normal(size=500))
    model = HingeRamp(X, y, C=10.0, kernel="rbf", gamma=0.1, s=0.0, cache_size=1.5)
    return Homotopy(model, tolerances=Tolerances(patience=Patience(refresh=1)), **limits)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills processes it has forked")
@pytest.mark.parametrize(("kills", "seed"), [(3, 1), pytest.param(50, 2, marks=pytest.mark.slow)])
def test_a_trace_that_is_killed_goes_on(tmp_path, kills, seed):
    whole = content(long_run().trace())
    run_python(KILLING, str(tmp_path), str(kills), str(seed))
    done = set()
    for k in range(kills):
        file = tmp_path / f"{k}.npz"
        trace = Run(long_run(), False, None)
        trace.load_state(module.Checkpoint.read(file, trace.options))
        done.add(int(trace.tracker.cursor.steps))
        assert content(long_run().resume(file)) == whole
    # They were killed all over the way.
    assert len(done) > kills // 2


# ---------------------------------------------------------------------- stopped


def noisy(n=150, **options):
    return Homotopy(case("hinge", n, 5, C=10.0).model(), **options)


@pytest.mark.parametrize("every", [0.0, NEVER])
def test_checkpoints_change_nothing(tmp_path, every):
    whole, file = content(noisy().trace()), tmp_path / "trace.npz"
    assert content(noisy().trace(checkpoint=file, every=every)) == whole
    # The end is kept, and is reached at once.
    steps = []
    kept = file.read_bytes()
    assert content(noisy().resume(str(file), callback=steps.append)) == whole
    assert not steps
    assert file.read_bytes() == kept
    assert [f.name for f in tmp_path.iterdir()] == ["trace.npz"]


def test_break_points_are_counted_from_the_start(tmp_path):
    whole, file = noisy().trace(), tmp_path / "trace.npz"
    path = noisy(max_breakpoints=10).trace(checkpoint=file, every=NEVER)
    assert len(path.segments) == 10
    for limit in (20, 30):
        path = noisy(max_breakpoints=limit).resume(file, every=NEVER)
        assert len(path.segments) == limit
        assert path.status is Status.LIMIT
    assert content(noisy().resume(file)) == content(whole)


def test_seconds_are_counted_anew(tmp_path):
    whole, file = content(long_run().trace()), tmp_path / "trace.npz"
    path = long_run(max_breakpoints=5).trace(checkpoint=file, every=NEVER)
    # Three times within less than the whole takes.
    for _ in range(3):
        rest = long_run(max_seconds=0.4).resume(file, every=NEVER)
    assert rest.status is Status.LIMIT or content(rest) == whole
    assert len(rest.segments) > len(path.segments)
    assert content(long_run(max_seconds=600.0).resume(file)) == whole


def test_a_callback_stops_and_may_go_on(tmp_path):
    whole, file = noisy().trace(), tmp_path / "trace.npz"
    path = noisy().trace(checkpoint=file, every=NEVER, callback=lambda p: p.breakpoints == 7)
    assert path.status is Status.CALLBACK
    assert len(path.segments) == 7
    seen = []
    assert content(noisy().resume(file, callback=lambda p: seen.append(p.breakpoints))) == content(
        whole
    )
    assert seen[0] in (7, 8)
    assert seen[-1] == len(whole.segments)


def test_what_a_callback_raises_comes_through(tmp_path):
    file = tmp_path / "trace.npz"

    def fails(progress):
        if progress.breakpoints > 5:
            raise ZeroDivisionError("a mistake of the caller")

    with pytest.raises(ZeroDivisionError, match="a mistake of the caller"):
        noisy().trace(checkpoint=file, every=NEVER, callback=fails)
    assert content(noisy().resume(file)) == content(noisy().trace())


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.skipif(sys.platform == "win32", reason="sends itself a signal")
def test_ctrl_c_loses_nothing(tmp_path):
    file, begin = tmp_path / "trace.npz", time.monotonic()
    whole = content(long_run().trace())
    # While compiled code is at work, most likely.
    timer = threading.Timer(0.2 * (time.monotonic() - begin), interrupt)

    def under_way(progress):
        if progress.breakpoints == 5:
            timer.start()

    with pytest.raises(TraceInterrupted) as caught:
        long_run().trace(checkpoint=file, every=NEVER, callback=under_way)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    count = len(caught.value.path.segments)
    assert count >= 5
    rest = long_run(max_breakpoints=1).resume(file, every=NEVER)
    assert abs(len(rest.segments) - count) <= 1
    assert content(long_run().resume(file)) == whole


@pytest.mark.skipif(sys.platform == "win32", reason="sends itself a signal")
@pytest.mark.parametrize("times", [1, 2])
def test_ctrl_c_does_not_wait_for_a_slow_solver(tmp_path, times):
    """What was kept before is still there."""
    begin = []

    def solver(qp):
        begin.append(time.monotonic())
        for _ in range(times):
            interrupt()
        while time.monotonic() < begin[0] + 60.0:
            time.sleep(0.01)
            qp.pulse()
        raise AssertionError("nobody stopped it")

    def run():
        return Homotopy(case("hinge", 40, 5, C=10.0).model(), d_step="osqp", solver=solver)

    file = tmp_path / "trace.npz"
    with pytest.raises(TraceInterrupted):
        run().trace(checkpoint=file, every=0.0, callback=lambda progress: False)
    took = time.monotonic() - begin[0]
    assert took < TraceTolerances().grace if times == 2 else took < 20.0
    assert len(run().resume(file, callback=lambda progress: True).segments) > 0


# ---------------------------------------------------------------------- budgets


@pytest.fixture
def budgets(monkeypatch):
    """The seconds that each second attempt is allowed; no first attempt is proven."""
    allowed: list[float] = []
    allow = Watch.allow

    def note(self, seconds):
        allowed.append(seconds)
        allow(self, seconds)

    monkeypatch.setattr(Watch, "allow", note)
    monkeypatch.setattr(Run, "_proven", lambda self, path: self.earlier is not None)
    return allowed


def engine_of_budgets(**options):
    return Homotopy(case("hinge", 60, 5, C=10.0).model(), **options)


def test_a_first_attempt_that_is_resumed_counts_its_seconds_before(tmp_path, budgets):
    file, begun = tmp_path / "trace.npz", time.monotonic()

    def slowly(progress):
        time.sleep(0.05)
        return progress.breakpoints == 5

    engine_of_budgets().trace(callback=slowly, checkpoint=file, every=NEVER)
    assert not budgets
    engine_of_budgets().resume(file)
    spent, clocks = time.monotonic() - begun, TraceTolerances()
    assert 0.25 * clocks.again <= budgets[-1] - clocks.at_least <= spent * clocks.again


def test_a_second_attempt_that_is_resumed_has_what_was_left(tmp_path, budgets):
    file = tmp_path / "trace.npz"

    def stop(progress):
        if not budgets:
            return False
        time.sleep(0.05)
        return progress.breakpoints == 5

    engine_of_budgets(tracing=UNHURRIED).trace(callback=stop, checkpoint=file, every=NEVER)
    engine_of_budgets(tracing=UNHURRIED).resume(file)
    first, second = budgets
    assert second <= first - 0.25


# ---------------------------------------------------------------------- refused


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    file = tmp_path_factory.mktemp("kept") / "trace.npz"
    Homotopy(case("hinge", 30, 5).model(), max_breakpoints=5).trace(checkpoint=file)
    return file


def other_labels():
    problem = case("hinge", 30, 5)
    y = problem.y.copy()
    y[7] *= -1
    return attrs.evolve(problem, y=y).model()


@pytest.mark.parametrize(
    ("run", "said"),
    [
        (lambda: Homotopy(other_labels()), "other data"),
        (lambda: Homotopy(case("hinge", 30, 5, C=2.0).model()), "other data"),
        (lambda: Homotopy(case("hinge", 31, 5).model()), "other data"),
        (lambda: Homotopy(case("lad", 30, 5).model()), "model='HingeRamp', this is .*'LADRamp'"),
        (
            lambda: Homotopy(case("hinge", 30, 5).model(), d_step="osqp"),
            "d_step='auto', this is d_step='osqp'",
        ),
        (
            lambda: Homotopy(case("hinge", 30, 5).model(), tolerances=Tolerances(near=1e-12)),
            "tolerances.near=1e-11, this is tolerances.near=1e-12",
        ),
        (
            lambda: Homotopy(case("hinge", 30, 5).model(), windows=TINY),
            "windows.ahead=24, this is windows.ahead=3",
        ),
        (
            lambda: Homotopy(case("hinge", 30, 5).model(), solver=lambda qp: None),
            "solver='homotopy.conditional.osqp_solver'",
        ),
    ],
)
def test_another_problem_or_other_options_are_refused(saved, run, said):
    with pytest.raises(PathError, match=f"trace.npz was made with .*{said}") as caught:
        run().resume(saved)
    assert "again" in str(caught.value)


def test_another_version_is_refused(saved, monkeypatch):
    monkeypatch.setattr(module, "source_digest", lambda: "0" * 12)
    with pytest.raises(PathError, match=r"trace.npz was made by another version.*again"):
        Homotopy(case("hinge", 30, 5).model()).resume(saved)


def test_paths_and_checkpoints_are_told_apart(saved, tmp_path):
    model = case("hinge", 30, 5).model()
    with pytest.raises(PathError, match=r"is a checkpoint, not a path; .*resume"):
        Path.load(saved, model)
    Homotopy(model).trace().save(tmp_path / "path.npz")
    with pytest.raises(PathError, match=r"is a saved path, not a checkpoint; Path.load"):
        Homotopy(model).resume(tmp_path / "path.npz")


def test_a_spoiled_file_is_refused(saved, tmp_path):
    """Or nothing that counts was spoiled (a date, say), and the path is the same."""
    run = Homotopy(case("hinge", 30, 5).model())
    whole, packed = content(run.trace()), saved.read_bytes()
    file, draw = tmp_path / "spoiled.npz", random.Random(3)
    refused = accepted = 0
    for trial in range(200):
        spoiled = bytearray(packed)
        if trial % 4 == 0:
            del spoiled[draw.randrange(len(spoiled)) :]
        elif trial % 4 == 1:
            place = draw.randrange(len(spoiled))
            spoiled[place : place + 64] = draw.randbytes(64)
        else:
            spoiled[draw.randrange(len(spoiled))] ^= 1 << draw.randrange(8)
        file.write_bytes(spoiled)
        try:
            path = run.resume(file, checkpoint=tmp_path / "rest.npz")
        except PathError as error:
            refused += "spoiled.npz" in str(error)
        else:
            accepted += 1
            assert content(path) == whole
    assert refused + accepted == 200
    assert refused > 150


def test_arrays_that_do_not_fit_are_refused(saved, tmp_path):
    run = Homotopy(case("hinge", 30, 5).model())
    with np.load(saved) as archive:
        members = dict(archive)
    changes = [
        (name, changed)
        for name, array in members.items()
        for changed in (None, array[:0], array.astype("<f4"))
        # Without a function in the model there are no products; which rows of Q were stored is
        # believed.
        if not (name in ("products", "state.gram.index") or array.size == 0)
    ]
    for name, changed in changes:
        rest = {key: array for key, array in members.items() if key != name}
        np.savez(tmp_path / "changed.npz", **rest, **({} if changed is None else {name: changed}))
        with pytest.raises(PathError, match=r"changed.npz"):
            run.resume(tmp_path / "changed.npz", checkpoint=tmp_path / "rest.npz")


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(PathError, match=r"nowhere.npz: no such file"):
        noisy().resume(tmp_path / "nowhere.npz")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nowhere/trace.npz", "there is no folder"),
        (".", "is a folder"),
        ("x" * 300, "cannot be written"),
    ],
)
def test_a_name_that_cannot_be_written_to_is_refused_before_any_work(tmp_path, name, said):
    def unused(progress):
        raise AssertionError("it has begun")

    with pytest.raises(PathError, match=said):
        noisy().trace(checkpoint=tmp_path / name, callback=unused)
    assert not list(tmp_path.iterdir())


def test_names_and_seconds_are_checked(tmp_path):
    with pytest.raises(PathError, match="expected the name of a file, got 3"):
        noisy().trace(checkpoint=3)
    with pytest.raises(PathError, match="expected the name of a file, got None"):
        noisy().resume(None)
    for every in (-1.0, np.nan, "1"):
        with pytest.raises(ModelError, match="every: expected a number of seconds"):
            noisy().trace(checkpoint=tmp_path / "trace.npz", every=every)


def test_a_full_disk_stops_no_trace(tmp_path, monkeypatch, caplog):
    def full(file, packed):
        raise PathError(f"{file}: cannot be written (No space left on device)")

    monkeypatch.setattr(module, "replace_file", full)
    with caplog.at_level(logging.WARNING, "homotopy"):
        path = noisy().trace(checkpoint=tmp_path / "trace.npz", every=0.0)
    assert "no checkpoint: " in caplog.text
    assert "No space left on device" in caplog.text
    assert content(path) == content(noisy().trace())
