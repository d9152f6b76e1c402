"""Bars, lines and estimates: you never wait without knowing."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import threading
import time
import warnings

import pytest
from rich.console import Console
from shell import COMMAND, SECONDS, csv_of, environment, run, two_clouds, write

from homotopy import Homotopy
from homotopy.plot import plot_objective, plot_partition
from homotopy.progress import (
    TextBar,
    heard_by,
    in_words,
    progress_bar,
    shown_by,
    stage,
    told,
)
from homotopy_plugins import HingeRamp
from homotopy_plugins.cli import bars as module
from homotopy_plugins.cli.answers import Voice
from homotopy_plugins.cli.bars import Forecast, bars, expecting, working


@pytest.fixture
def clock(monkeypatch):
    """A clock that is set by hand."""
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])

    def go(seconds):
        now[0] += seconds

    return go


def on_screen(**options):
    voice, screen = Voice(**options), io.StringIO()
    voice.errors = Console(file=screen, force_terminal=True, width=120)
    voice.terminal = True
    return voice, screen


def test_a_forecast_goes_on_between_two_reports(clock):
    forecast = Forecast()
    assert forecast.left() is None
    clock(10.0)
    forecast.report(0.2)
    assert forecast.left() == pytest.approx(40.0)
    clock(5.0)
    assert forecast.now() == pytest.approx(0.3)
    assert forecast.left() == pytest.approx(35.0)
    clock(100.0)
    # Never as far as the next report, however long that takes, and never back.
    assert forecast.now() == pytest.approx(0.38)
    forecast.report(0.1)
    assert forecast.part == 0.2


def test_a_bar_begins_with_what_is_expected(clock):
    voice, _ = on_screen()
    with bars(voice), expecting(100.0):
        with progress_bar("search", 10) as bar:
            clock(4.0)
            bar.update(0.5)
            # The first steps are quicker than the rest.
            assert 60.0 < bar.forecast.left() < 100.0
        with progress_bar("path", 10) as bar:
            assert bar.forecast.left() is None
    forecast = Forecast(5.0)
    clock(6.0)
    # It took longer than was expected, and nothing is known.
    assert forecast.left() is None


def test_nothing_is_said_of_the_time_left_before_there_is_evidence(clock):
    forecast = Forecast()
    clock(1.0)
    forecast.report(0.0001)
    assert forecast.left() is None
    assert forecast.told() == ""
    clock(9.0)
    forecast.report(0.1)
    assert forecast.told() == "about 90 s left"
    # The start of a path says nothing about the path.
    forecast.restart()
    assert forecast.left() is None
    clock(2.0)
    forecast.report(0.1)
    assert forecast.told() == "about 18 s left"


def test_a_bar_of_text_says_nothing_of_the_time_left_at_once(clock):
    screen = io.StringIO()
    bar = TextBar("compiling", screen)
    clock(1.0)
    bar.update_to(0.0001)
    assert "left" not in screen.getvalue()


def test_work_tells_how_far_it_is():
    parts = []
    with heard_by(parts.append):
        told(1.0, 4.0)
        with stage(0.5, 1.0):
            told(1, 2)
    told(0.9)
    assert parts == [0.25, 0.75, 1.0]


def test_a_check_a_report_and_a_curve_tell_how_far_they_are():
    X, y, _ = two_clouds()
    path = Homotopy(HingeRamp(X, 2.0 * y - 1.0, C=10.0, fit_intercept=True)).trace()
    for work in (path.certify, path.report, lambda: path.validation_curve(X, 2.0 * y - 1.0)):
        parts = []
        with heard_by(parts.append):
            work()
        assert parts == sorted(parts)
        assert parts[-1] == 1.0


def test_work_without_a_bar_of_its_own_has_lines_too(clock, capsys):
    with working(Voice(), "checking the path"):
        clock(11.0)
        told(0.5)
    assert capsys.readouterr().err == "checking the path: 50%, about 11 s left\n"


def test_a_bar_of_tqdm_never_passes_its_end():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with progress_bar("audit", 0.3) as bar:
            for _ in range(3):
                bar.update(0.1)
                bar.update(1e-9)
            assert bar.n <= bar.total


def test_what_was_expected_counts_at_the_beginning_only(clock):
    forecast = Forecast(expected=30.0)
    assert forecast.left() == 30.0
    clock(10.0)
    forecast.report(0.01)
    assert 20.0 < forecast.left() < 100.0
    clock(10.0)
    forecast.report(0.5)
    assert forecast.left() == pytest.approx(20.0)


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.2, "1 s"), (8.4, "8 s"), (150.0, "2 min"), (9000.0, "2.5 h")]
)
def test_times_for_people(seconds, words):
    assert in_words(seconds) == words


def test_bars_of_the_toolkit_are_drawn_on_the_terminal():
    voice, screen = on_screen()
    with bars(voice), progress_bar("paths", 4) as bar:
        time.sleep(0.05)
        bar.update(2)
        bar.progress.refresh()
    drawn = screen.getvalue()
    assert "paths" in drawn
    assert "left" in drawn


def test_without_a_terminal_there_are_lines_at_intervals(clock, capsys):
    voice = Voice()
    with bars(voice), progress_bar("paths", 10) as bar:
        for _ in range(9):
            clock(4.0)
            bar.update(1)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "paths: 30%, about 28 s left"
    assert len(lines) == 3


def test_work_that_tells_nothing_has_lines_at_intervals_too(monkeypatch, capsys):
    monkeypatch.setattr(module, "LOOK", 0.01)
    with bars(Voice(), interval=0.05):
        time.sleep(0.2)
        with progress_bar("paths", 10):
            time.sleep(0.2)
        with progress_bar("folds", 10) as bar:
            bar.forecast.expected = 100.0
            time.sleep(0.2)
        capture = capsys.readouterr().err.splitlines()
    for said in ("still working: 1 s so far", "paths: 1 s so far", "folds: 1 s so far, about"):
        assert 1 <= sum(line.startswith(said) for line in capture) <= 4, said
    with bars(Voice(quiet=True), interval=0.0):
        time.sleep(0.05)
    assert capsys.readouterr().err == ""


def test_pictures_tell_how_far_they_are():
    X, y, _ = two_clouds()
    path = Homotopy(HingeRamp(X, 2.0 * y - 1.0, C=10.0, fit_intercept=True)).trace()
    for draw in (plot_objective, plot_partition):
        parts = []
        with heard_by(parts.append):
            draw(path)
        assert parts == sorted(parts)
        assert parts[-1] == 1.0


def test_quiet_says_nothing(clock, capsys):
    with bars(Voice(quiet=True)), progress_bar("paths", 10) as bar:
        clock(100.0)
        bar.update(5)
    assert capsys.readouterr().err == ""


def test_work_that_reports_nothing_says_how_long_it_takes():
    voice, screen = on_screen()
    with working(voice, "writing the report", 30.0):
        time.sleep(0.15)
    assert "writing the report (about 30 s)" in screen.getvalue()


def test_other_bars_end_with_the_command():
    made = []
    with shown_by(lambda name, total: made.append((name, total))):
        progress_bar("one", 2.0)
    assert made == [("one", 2.0)]
    bar = progress_bar("two", 2.0)
    bar.close()
    assert type(bar).__mro__[1].__name__.startswith("tqdm")


def test_a_bar_of_text_needs_no_package(clock):
    screen = io.StringIO()
    bar = TextBar("compiling", screen)
    clock(10.0)
    bar.update_to(0.5)
    assert " 50%|" in screen.getvalue()
    assert "10 s, about 10 s left" in screen.getvalue()
    bar.close()
    assert screen.getvalue().endswith("\r\x1b[K")


def test_audit_and_select_hand_their_bars_over(tmp_path, monkeypatch):
    names = []

    class Heard(module._Shown):
        def __init__(self, name, total, voice, interval):
            names.append(name)
            super().__init__(total)

    monkeypatch.setattr(module, "_InLines", Heard)
    X, y, _ = two_clouds()
    data = write(tmp_path / "d.csv", csv_of(X, y))
    out = tmp_path / "m.npz"
    assert run("select", data, "-t", "y", "--Cs", "1", "--cv", "2", "--out", out).exit_code == 0
    assert "RobustSVCCV: 1 machine, 2 folds" in names
    names.clear()
    assert run("trace", data, "-t", "y", "--C", "1").exit_code == 0
    assert names.count("theta") == 1


@pytest.mark.skipif(os.name == "nt", reason="signals are sent otherwise there")
def test_ctrl_c_ends_a_first_compilation_at_once(tmp_path):
    X, y, _ = two_clouds()
    data = write(tmp_path / "data.csv", csv_of(X, y))
    process = subprocess.Popen(
        [*COMMAND, "trace", str(data), "-t", "y", "--C", "1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment() | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")},
        text=True,
    )
    guard = threading.Timer(SECONDS, process.kill)
    guard.start()
    try:
        first = process.stderr.readline()
        assert "first use" in first
        assert "half a minute" in first
        # Something is being compiled by now.
        while not list((tmp_path / "cache").rglob("*.nbi")) and guard.is_alive():
            time.sleep(0.05)
        begun = time.monotonic()
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate()
        took = time.monotonic() - begun
    finally:
        guard.cancel()
        process.kill()
    assert process.returncode == 130, stderr
    assert stdout == ""
    assert "interrupted while compiling; nothing was kept" in stderr
    assert took < 10.0


@pytest.mark.skipif(os.name == "nt", reason="signals are sent otherwise there")
@pytest.mark.parametrize("module", ["numba", "sklearn", "pandas", "typer"])
def test_ctrl_c_while_the_program_starts_is_one_sentence(tmp_path, module):
    write(tmp_path / f"{module}.py", "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    paths = os.pathsep.join([str(tmp_path), environment()["PYTHONPATH"]])
    done = subprocess.run(
        [COMMAND[0], "-m", "homotopy_command", "--version"],
        capture_output=True,
        text=True,
        env=environment() | {"PYTHONPATH": paths},
        check=False,
        timeout=SECONDS,
    )
    assert done.returncode == 130
    assert done.stderr == "homotopy: interrupted; nothing was done\n"
    assert done.stdout == ""


def test_a_line_about_what_is_done_does_not_end_in_a_comma(capsys):
    with module.bars(Voice(), interval=0.0), progress_bar("compiling", 1.0) as bar:
        bar.update_to(0.5)
        bar.update_to(1.0)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("compiling: 50%, about ")
    assert lines[-1] == "compiling: 100%"


@pytest.mark.parametrize(
    ("patch", "said"),
    [
        (
            "from homotopy_plugins.cli import recipes\n"
            "keep, calls = recipes.Recipe.keep, []\n"
            "def interrupted(self, path, file):\n"
            "    calls.append(file)\n"
            "    if len(calls) == 1:\n"
            "        os.kill(os.getpid(), signal.SIGINT)\n"
            "    keep(self, path, file)\n"
            "recipes.Recipe.keep = interrupted\n",
            "homotopy trace: interrupted; the whole path is saved in ",
        ),
        (
            "import sys, homotopy_plugins.cli.app\n"
            "trace = sys.modules['homotopy_plugins.cli.commands.trace']\n"
            "def interrupted(*_):\n"
            "    os.kill(os.getpid(), signal.SIGINT)\n"
            "    return {}\n"
            "trace.path_data = interrupted\n",
            "path.npz was written, nothing else",
        ),
    ],
    ids=["while saving", "afterwards"],
)
def test_ctrl_c_never_ends_without_a_word(tmp_path, patch, said):
    X, y, _ = two_clouds()
    data, out = write(tmp_path / "data.csv", csv_of(X, y)), tmp_path / "path.npz"
    script = write(
        tmp_path / "run.py",
        f"import os, signal\nfrom homotopy_plugins.cli import main\n{patch}main()\n",
    )
    done = subprocess.run(
        [COMMAND[0], str(script), "trace", str(data), "-t", "y", "--C", "1", "--out", str(out)],
        capture_output=True,
        text=True,
        env=environment(),
        check=False,
        timeout=SECONDS,
    )
    assert done.returncode == 130, done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert run("certify", out).exit_code == 0
