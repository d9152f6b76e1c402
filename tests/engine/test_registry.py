"""Plugins by name: ours, and one a stranger installs from a wheel of their own."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

import homotopy
from homotopy import HomotopyError, ModelError, UnknownPluginError, installed_plugins, load_plugin
from homotopy_plugins import HingeRamp, LADRamp

PLUGIN = """\
import numpy as np
from homotopy import DenseGram, Jump, Knot, LossModel, Slope

class PinballRamp(LossModel):
    parameter, span = "theta", (1.0, 0.0)
    def __init__(self, x, y, C=1.0, tau=0.7, s=0.5):
        self.gram, self.y, self.C, self.tau, self.s = DenseGram(np.exp(-(x[:, None] - x) ** 2)), y, C, tau, s
        self.border = np.ones((y.size, 1))
    def polyline(self, t):
        up, down, y, s = self.tau * self.C, (self.tau - 1.0) * self.C, self.y, self.s
        return (Slope("O+", up * t), Jump(y - s), Slope("I+", up), Knot("E", y),
                Slope("I-", down), Jump(y + s), Slope("O-", down * t))
"""  # noqa: E501

SCRIPT = """\
import numpy as np
from homotopy import Homotopy, UnknownPluginError, installed_plugins, load_plugin
from homotopy.testing import check_plugin

assert {"broken", "hinge-ramp", "lad-ramp", "pinball-ramp"} <= set(installed_plugins())
Pinball = load_plugin("pinball-ramp")
assert Pinball.__module__ == "stranger_plugin"
rng = np.random.default_rng(0)
x = np.sort(rng.uniform(-3, 3, 30))
y = np.sin(x) + 0.1 * rng.normal(size=30) + 3.0 * (rng.random(30) < 0.15)
path = check_plugin(Pinball(x, y, C=2.0))
assert path.complete and len(path.breakpoints) > 3
try:
    load_plugin("broken")
except Exception as error:
    print(type(error).__name__, error)
print("traced", len(path.breakpoints))
"""


def test_ours_are_found_by_name():
    assert {"hinge-ramp", "lad-ramp"} <= set(installed_plugins())
    assert list(installed_plugins()) == sorted(installed_plugins())
    assert load_plugin("hinge-ramp") is HingeRamp
    assert load_plugin("lad-ramp") is LADRamp


def test_an_unknown_name_lists_what_is_installed():
    with pytest.raises(
        UnknownPluginError,
        match=r"no plugin is called 'hinge'; installed: .*hinge-ramp, .*lad-ramp",
    ):
        load_plugin("hinge")
    with pytest.raises(LookupError):
        load_plugin("hinge")
    assert issubclass(UnknownPluginError, HomotopyError)


def test_a_plugin_that_is_no_model_is_named(monkeypatch):
    entry = metadata.EntryPoint("odd", "collections:OrderedDict", "homotopy.plugins")
    monkeypatch.setattr("homotopy.registry.entry_points", lambda group: [entry])
    with pytest.raises(
        ModelError, match=r"plugin 'odd' \(collections:OrderedDict\) is not a subclass"
    ):
        load_plugin("odd")


def test_without_any_plugin_the_message_says_none(monkeypatch):
    monkeypatch.setattr("homotopy.registry.entry_points", lambda group: [])
    assert installed_plugins() == ()
    with pytest.raises(UnknownPluginError, match="installed: none"):
        load_plugin("hinge-ramp")


def test_the_engine_never_imports_a_plugin():
    script = "import sys, homotopy, homotopy.testing; print('homotopy_plugins' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout.strip() == "False"
    folder = Path(homotopy.__file__).parent
    for file in folder.rglob("*.py"):
        code = file.read_text(encoding="utf-8")
        assert "import homotopy_plugins" not in code, file
        assert "from homotopy_plugins" not in code, file


def stranger_wheel(folder: Path) -> Path:
    """A wheel with one module and its entry points, zipped by hand: no build tool, no network."""
    info = "stranger_homotopy_plugin-1.0.dist-info"
    members = {
        "stranger_plugin.py": PLUGIN,
        f"{info}/METADATA": (
            "Metadata-Version: 2.1\nName: stranger-homotopy-plugin\nVersion: 1.0\n"
            "Requires-Dist: homotopy-qp\n"
        ),
        f"{info}/WHEEL": (
            "Wheel-Version: 1.0\nGenerator: hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        ),
        f"{info}/entry_points.txt": (
            "[homotopy.plugins]\npinball-ramp = stranger_plugin:PinballRamp\n"
            "broken = stranger_plugin:np\n"
        ),
    }
    record = "".join(f"{name},,\n" for name in members) + f"{info}/RECORD,,\n"
    wheel = folder / "stranger_homotopy_plugin-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in {**members, f"{info}/RECORD": record}.items():
            archive.writestr(name, text)
    return wheel


def test_a_strangers_wheel_is_found_by_name_and_traced(tmp_path):
    # Twelve lines of a class and its imports, as the issue promises.
    assert len([line for line in PLUGIN.splitlines() if line.strip()]) <= 12
    site = tmp_path / "site"
    wheel = stranger_wheel(tmp_path)
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    install += ["--no-compile", "--disable-pip-version-check", "--target", str(site), str(wheel)]
    subprocess.run(install, check=True, capture_output=True, text=True, timeout=120)
    known = [str(site), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, known))}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", SCRIPT],
        capture_output=True,
        text=True,
        env=environment,
        cwd=tmp_path,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "traced" in done.stdout
    assert "ModelError plugin 'broken' (stranger_plugin:np) is not a subclass" in done.stdout
