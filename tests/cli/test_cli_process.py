"""As a process of its own: exit codes, pure JSON, stdin, signals, and what is not installed."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
from shell import COMMAND, SECONDS, csv_of, environment, refused, run, spawn, two_clouds, write

import homotopy
from homotopy_plugins.cli.answers import _plainly
from homotopy_plugins.cli.app import app

X, Y, _ = two_clouds()


@pytest.fixture
def data(tmp_path):
    return write(tmp_path / "data.csv", csv_of(X, Y))


def test_exit_codes_and_streams(tmp_path, data):
    done = spawn("trace", data, "-t", "y", "--C", "1", "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["complete"] is True
    assert b"standardised" in done.stderr
    done = spawn("trace", data, "-t", "z", "--C", "1")
    assert done.returncode == 2
    assert done.stdout == b""
    assert done.stderr.startswith(b"homotopy trace: ")
    assert done.stderr.count(b"\n") == 1


def test_stdin(tmp_path, data):
    out = tmp_path / "path.npz"
    arguments = ("trace", "-", "-t", "y", "--C", "1", "--out", out, "-q")
    done = spawn(*arguments, input=data.read_bytes())
    assert done.returncode == 0, done.stderr
    assert done.stderr == b""
    refused(run("certify", out), "a table on stdin; give --data")
    assert run("certify", out, "--data", data).exit_code == 0
    refused(run(*arguments, stdin=b""), "stdin is empty")


def test_a_reader_that_leaves_early_is_no_error(data):
    shell = " ".join([*COMMAND, "plugins", "|", "head", "-n", "1"])
    done = subprocess.run(
        shell, shell=True, capture_output=True, env=environment(), check=False, timeout=SECONDS
    )
    assert done.stdout.startswith(b"plugin")
    assert done.stderr == b""


def test_version_and_help():
    assert run("--version").stdout.strip() == f"homotopy-qp {homotopy.__version__}"
    nothing = run()
    assert nothing.exit_code == 0
    assert "certify" in nothing.stdout
    for command in app.registered_commands:
        shown = run(command.callback.__name__, "--help")
        assert shown.exit_code == 0
        assert "Usage: homotopy" in shown.stdout
        # Arguments and options by their names, not by their types.
        assert not re.search(r"<[a-z ]+>", shown.stdout)
    assert "--install-completion" in nothing.stdout


def test_help_and_the_list_of_plugins_fit_a_page():
    usage = run("audit", "--help").stdout.splitlines()[0]
    assert usage.split() == ["Usage:", "homotopy", "audit", "[OPTIONS]", "DATA"]
    # (Older versions of Typer write PLUGIN.)
    usage = run("plugins", "--help").stdout.splitlines()[0]
    assert usage.replace("[PLUGIN]", "PLUGIN").endswith("[OPTIONS] PLUGIN")
    assert "..." not in run("--help").stdout.split("Commands:")[1]
    lines = run("plugins").stdout.splitlines()
    assert max(map(len, lines)) <= 100
    assert "homotopy_plugins" not in lines[1]


def test_completion_knows_the_plugins():
    words = {"COMP_WORDS": "homotopy plugins hin", "COMP_CWORD": "2"}
    more = {"_HOMOTOPY_COMPLETE": "complete_bash", **words}
    done = subprocess.run(
        COMMAND,
        capture_output=True,
        env=environment() | more,
        check=False,
        text=True,
        timeout=SECONDS,
    )
    assert done.stdout.split() == ["hinge-ramp"]


def test_without_typer_one_line_names_the_extra():
    script = (
        "import sys; sys.modules['typer'] = None\nfrom homotopy_plugins.cli import main\nmain()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        env=environment(),
        check=False,
        timeout=SECONDS,
    )
    assert done.returncode == 2
    assert done.stderr.decode() == (
        "homotopy: the command line needs typer, which is not installed; install homotopy-qp[cli]\n"
    )


@pytest.mark.skipif(os.name == "nt", reason="signals are sent otherwise there")
@pytest.mark.parametrize("saved", [True, False])
def test_ctrl_c_saves_what_was_traced(tmp_path, saved):
    # A path long enough to be met on its way, whatever the machine: it waits at each break-point.
    script = tmp_path / "slow.py"
    script.write_text(
        "import sys, time\n"
        "import homotopy\n"
        "from homotopy_plugins.cli import main, tracing\n"
        "whole = homotopy.Homotopy.trace\n"
        "def slow(self, *, callback=None, **options):\n"
        "    def wait(now):\n"
        "        if now.breakpoints == 5:\n"
        "            sys.stderr.write('on its way\\n')\n"
        "            sys.stderr.flush()\n"
        "        time.sleep(0.0 if now.breakpoints < 5 else 30.0)\n"
        "    return whole(self, callback=wait, **options)\n"
        "homotopy.Homotopy.trace = slow\n"
        "main()\n"
    )
    points, labels, _ = two_clouds(80, wrong=8)
    data = write(tmp_path / "data.csv", csv_of(points, labels))
    out = tmp_path / "path.npz"
    arguments = ["trace", data, "-t", "y", "--C", "10", *(["--out", out] if saved else [])]
    process = subprocess.Popen(
        [sys.executable, str(script), *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
        text=True,
    )
    # With its end the pipes are closed, and nobody waits for a line.
    guard = threading.Timer(SECONDS, process.kill)
    guard.start()
    try:
        said = ""
        while "on its way" not in said:
            line = process.stderr.readline()
            assert line, said
            said += line
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate()
    finally:
        guard.cancel()
        process.kill()
    assert process.returncode == 130, stderr
    assert stdout == ""
    assert "Traceback" not in stderr
    if not saved:
        assert "interrupted; without --out nothing was saved" in stderr
        return
    assert "interrupted; theta from 1 to 0." in stderr
    assert f"is saved in {out}" in stderr
    again = run("certify", out, "--json")
    assert again.exit_code == 0, again.stderr
    assert json.loads(again.stdout)["ok"] is True


@pytest.mark.skipif(os.name == "nt", reason="signals are sent otherwise there")
def test_ctrl_c_before_the_path_has_begun(tmp_path, data):
    script = tmp_path / "early.py"
    script.write_text(
        "import os, signal\n"
        "import homotopy\n"
        "from homotopy_plugins.cli import main\n"
        "def early(self, **options):\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    raise AssertionError\n"
        "homotopy.Homotopy.trace = early\n"
        "main()\n"
    )
    out = tmp_path / "p.npz"
    done = subprocess.run(
        [sys.executable, script, "trace", data, "-q", "-t", "y", "--C", "1", "--out", out],
        capture_output=True,
        env=environment(),
        check=False,
        text=True,
        timeout=SECONDS,
    )
    assert done.returncode == 130
    assert done.stderr == ("homotopy trace: interrupted before the path began; nothing was saved\n")
    assert not out.exists()


def test_a_bar_is_drawn_on_a_terminal(tmp_path, monkeypatch):
    import io

    from rich.console import Console

    from homotopy import Homotopy
    from homotopy_plugins import HingeRamp
    from homotopy_plugins.cli.answers import Voice
    from homotopy_plugins.cli.tracing import traced

    voice = Voice()
    screen = io.StringIO()
    voice.errors = Console(file=screen, force_terminal=True, width=200)
    voice.terminal = True
    model = HingeRamp(X, Y, C=10.0, fit_intercept=True)
    path = traced(model, voice, None)
    assert np.array_equal(path.breakpoints, Homotopy(model).trace().breakpoints)
    drawn = screen.getvalue()
    for word in ("theta = ", "break-points", "jumps"):
        assert word in drawn


def test_what_a_callback_sees_of_the_objective():
    from homotopy import Homotopy
    from homotopy_plugins import HingeRamp

    points, labels, _ = two_clouds(80, wrong=12)
    seen = []
    model = HingeRamp(points, labels, C=10.0, path="s", fit_intercept=True)
    path = Homotopy(model).trace(callback=seen.append)
    assert len(path.jumps) > 0
    first = [now.objective for now in seen if not now.jumps]
    start = path.objective(path.traced[0], "before")
    np.testing.assert_allclose(first, start, rtol=1e-9)
    for now in seen:
        if now.jumps:
            after = path.jumps[now.jumps - 1].objective_after
            np.testing.assert_allclose(now.objective, after, rtol=1e-9)


@pytest.mark.parametrize(
    ("said", "plainly"),
    [
        ("Input should be greater than or equal to 10, got '5'", "must be at least 10, got '5'"),
        ("Input should be less than or equal to 20, got '5'", "must be at most 20, got '5'"),
        ("5 is not in the range x>=10, got '5'", "must be at least 10, got '5'"),
        ("5 is not in the range 50<=x<=90, got '5'", "must be from 50 to 90, got '5'"),
        ("Input should be a valid integer, unable to, got '5'", "must be a whole number, got '5'"),
        ("'5' is not a valid integer", "must be a whole number, got '5'"),
        ("Input should be a valid number, unable to, got '5'", "must be a number, got '5'"),
        ("'5' is not a valid float.", "must be a number, got '5'"),
        ("something new, got '5'", None),
    ],
)
def test_what_typer_says_of_a_value_is_said_plainly(said, plainly):
    text = f"Invalid value for '--rows': {said}"
    assert _plainly(text) == (text if plainly is None else f"--rows {plainly}")


def test_a_value_out_of_range_is_named(data):
    trace = ("trace", data, "-t", "y", "--C", "1")
    refused(run(*trace, "--rows", "5"), "--rows must be at least 10, got '5'; ")
    refused(run(*trace, "--rows=x"), "--rows must be a whole number, got 'x'; ")


def test_a_bug_is_one_line_too(data, monkeypatch):
    from homotopy import Path

    def broken(self):
        raise ZeroDivisionError("nobody thought\nof this")

    monkeypatch.setattr(Path, "summary", broken)
    result = run("trace", data, "-q", "-t", "y", "--C", "1")
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert "unexpected ZeroDivisionError: nobody thought of this" in result.stderr
