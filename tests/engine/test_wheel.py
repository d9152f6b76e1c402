"""What is shipped: a wheel of two packages, and a source distribution that builds it."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

import homotopy

ROOT = Path(__file__).resolve().parents[2]
# Traced and certified where nothing of the repository can be imported.
TRACE = """
import numpy as np, homotopy, homotopy_plugins
rng = np.random.default_rng(0)
X = rng.normal(size=(20, 2))
y = np.where(X[:, 0] + 0.5 * rng.normal(size=20) > 0.0, 1.0, -1.0)
path = homotopy.Homotopy(homotopy_plugins.HingeRamp(X, y, C=1.0, gamma=0.5)).trace()
assert path.certify().ok, path.certify()
assert homotopy.load_plugin("hinge-ramp") is homotopy_plugins.HingeRamp
print(homotopy.__version__, homotopy.__file__)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    builders = pytest.importorskip("hatchling.builders.wheel")
    folder = tmp_path_factory.mktemp("dist")
    builder = builders.WheelBuilder(str(ROOT))
    (built,) = builder.build(directory=str(folder), versions=["standard"])
    return Path(built)


@pytest.fixture(scope="module")
def sdist(tmp_path_factory) -> Path:
    builders = pytest.importorskip("hatchling.builders.sdist")
    folder = tmp_path_factory.mktemp("dist")
    (built,) = builders.SdistBuilder(str(ROOT)).build(directory=str(folder), versions=["standard"])
    return Path(built)


def metadata(wheel: Path) -> str:
    with zipfile.ZipFile(wheel) as archive:
        (file,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return archive.read(file).decode()


def environment(folder: Path) -> Path:
    """The interpreter of a fresh environment."""
    venv.create(folder, with_pip=True)
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def printed(*command: object, **variables: str) -> str:
    """What a command prints; an error with all it said if it fails."""
    done = subprocess.run(
        [str(word) for word in command],
        capture_output=True,
        text=True,
        env={k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | variables,
        cwd=Path(sys.prefix),
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def test_the_top_level_is_the_two_packages_and_the_command(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    top = {name.split("/")[0] for name in names}
    (info,) = (name for name in top if name.endswith(".dist-info"))
    assert top - {info} == {"homotopy", "homotopy_plugins", "homotopy_command.py"}
    assert info.startswith("homotopy_qp-")


def test_nothing_but_code_markers_and_metadata_is_inside(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        for package in ("homotopy", "homotopy_plugins"):
            assert f"{package}/__init__.py" in names
            assert f"{package}/py.typed" in names
        assert "homotopy/testing/__init__.py" in names
        odd = {n for n in names if not n.endswith((".py", "py.typed")) and ".dist-info/" not in n}
        # Pages, and what the audit has learnt, are all that is not Python.
        pages = ("homotopy/report", "homotopy_plugins/auditing")
        expected = {f"{where}/page.{kind}" for where in pages for kind in ("css", "html", "js")}
        assert odd == expected | {"homotopy_plugins/auditing/experience.json"}
        info = next(n for n in names if n.endswith("entry_points.txt"))
        entries = archive.read(info).decode()
    assert "[homotopy.plugins]" in entries
    assert "homotopy = homotopy_command:main" in entries
    assert "hinge-ramp = homotopy_plugins:HingeRamp" in entries
    assert "lad-ramp = homotopy_plugins:LADRamp" in entries
    assert "Name: homotopy-qp" in metadata(wheel)


def test_every_module_of_the_source_is_in_the_wheel(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    for folder, package in (("homotopy", "homotopy"), ("plugins/homotopy_plugins", None)):
        for file in (ROOT / folder).glob("*.py"):
            assert f"{package or 'homotopy_plugins'}/{file.name}" in names


def test_the_version_is_one():
    with open(ROOT / "pyproject.toml", "rb") as stream:
        project = tomllib.load(stream)["project"]
    citation = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.M)
    assert homotopy.__version__ == project["version"] == citation[1]
    assert re.fullmatch(r"\d+\.\d+\.\d+.*", homotopy.__version__)


def test_everything_public_is_there():
    for name in homotopy.__all__:
        assert getattr(homotopy, name) is not None
    assert list(homotopy.__all__) == sorted(homotopy.__all__)


def test_the_long_description_has_no_link_that_leads_nowhere(wheel):
    text = metadata(wheel).partition("\n\n")[2]
    assert "# homotopy-qp" in text
    outside_of_code = re.sub(r"^```.*?^```|`[^`\n]*`", "", text, flags=re.M | re.S)
    targets = re.findall(r"\]\(([^)]+)\)|src=\"([^\"]+)\"", outside_of_code)
    relative = [t for pair in targets for t in pair if t and not re.match(r"https?:|#", t)]
    assert relative == []


def test_links_of_the_readme_become_absolute_where_the_source_has_an_address():
    pytest.importorskip("hatchling")
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    hook = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hook)
    text = "![a picture](docs/a.png) [`x`](docs/x.md#y) [out](https://example.org) `[no](link.md)`"
    home = "https://example.org/homotopy"
    assert hook.long_description(text, home + "/") == (
        f"![a picture]({home}/raw/HEAD/docs/a.png) [`x`]({home}/blob/HEAD/docs/x.md#y)"
        " [out](https://example.org) `[no](link.md)`"
    )
    assert hook.long_description(text) == (
        "*a picture* `x` (`docs/x.md`) [out](https://example.org) `[no](link.md)`"
    )


def test_all_brings_every_feature_and_no_tool(wheel):
    wanted = re.findall(r"^Requires-Dist: ([\w-]+).*extra == 'all'$", metadata(wheel), re.M)
    assert {"scikit-learn", "matplotlib", "tqdm", "typer", "pyarrow", "openpyxl"} <= set(wanted)
    assert not {"pytest", "mypy", "ruff", "sphinx", "cleanlab"} & set(wanted)


def test_the_source_distribution_is_whole_and_small(sdist):
    assert sdist.stat().st_size < 2.5e6
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE", "CITATION.cff"):
        assert name in names
    assert "plugins/homotopy_plugins/__init__.py" in names
    tops = {name.split("/")[0] for name in names}
    assert not tops & {".venv", ".git", "out", "dist", ".mypy_cache"}
    odd = (".pyc", ".nbi", ".nbc", ".npz")
    assert [name for name in names if name.endswith(odd) or "_build/" in name] == []


def test_the_wheel_traces_in_a_fresh_environment(wheel, tmp_path):
    python = environment(tmp_path / "fresh")
    printed(python, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", wheel)
    # Dependencies are lent by this environment; .pth files of a lent folder are not followed, so
    # that the editable installation beside them is not seen.
    own = Path(
        printed(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
    )
    (own / "lent.pth").write_text(sysconfig.get_path("purelib") + "\n")
    answer = printed(python, "-c", TRACE, NUMBA_DISABLE_JIT="1")
    assert answer.split() == [homotopy.__version__, str(own / "homotopy" / "__init__.py")]


@pytest.mark.slow
def test_what_is_built_passes_the_check_of_registries_and_installs_with_its_dependencies(tmp_path):
    """Needs an index of packages: the build is isolated, and the dependencies are installed."""
    pytest.importorskip("build")
    pytest.importorskip("twine")
    printed(sys.executable, "-m", "build", "--outdir", tmp_path, ROOT)
    (wheel,), (sdist,) = tmp_path.glob("*.whl"), tmp_path.glob("*.tar.gz")
    printed(sys.executable, "-m", "twine", "check", "--strict", wheel, sdist)
    for built in (wheel, sdist):
        python = environment(tmp_path / built.suffix[1:])
        printed(python, "-m", "pip", "install", "--quiet", built)
        assert homotopy.__version__ in printed(python, "-c", TRACE)
