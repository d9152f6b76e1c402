"""What the tests of the command line share: running it, inside this process and as another."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
from typer.testing import CliRunner

from homotopy_plugins.cli.app import app

ROOT = Path(__file__).resolve().parents[2]
# No command of the tests takes longer; one that hangs is a failure.
SECONDS = 120.0
COMMAND = [sys.executable, "-m", "homotopy_plugins.cli"]


def run(*arguments, stdin=None):
    """The command in this process; `.exit_code`, `.stdout`, `.stderr`."""
    try:
        runner = CliRunner(mix_stderr=False)
    except TypeError:
        # Newer versions never mix them.
        runner = CliRunner()
    return runner.invoke(app, [str(a) for a in arguments], input=stdin, prog_name="homotopy")


def environment():
    paths = [str(ROOT), str(ROOT / "plugins"), os.environ.get("PYTHONPATH", "")]
    return os.environ | {"PYTHONPATH": os.pathsep.join(p for p in paths if p)}


def spawn(*arguments, **options):
    """The command as a process of its own."""
    return subprocess.run(
        [*COMMAND, *map(str, arguments)],
        capture_output=True,
        env=environment(),
        check=False,
        timeout=SECONDS,
        **options,
    )


def refused(result, *words):
    """One line on stderr that holds the words, exit code 2, nothing on stdout."""
    assert result.exit_code == 2, (result.stdout, result.stderr)
    assert result.stdout == ""
    last = result.stderr.strip().splitlines()
    assert last, "nothing was said"
    assert "Traceback" not in result.stderr
    assert "please report it" not in result.stderr, result.stderr
    for word in words:
        assert word in last[-1], last[-1]
    assert len(last) == 1, result.stderr
    return last[-1]


def write(file, text):
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


def two_clouds(n=40, seed=0, wrong=4):
    """Two classes in the plane, some labels turned round."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = rng.normal(size=(n, 2)) + 2.5 * y[:, None]
    turned = rng.choice(n, wrong, replace=False)
    labels = y.copy()
    labels[turned] = 1 - labels[turned]
    return X, labels, turned


def csv_of(X, y, header="a,b,y", words=("no", "yes")):
    lines = [header]
    for row, label in zip(X.tolist(), y.tolist(), strict=True):
        target = words[int(label)] if words else repr(label)
        lines.append(",".join([*(repr(v) for v in row), target]))
    return "\n".join(lines) + "\n"
