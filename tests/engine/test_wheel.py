"""What is shipped: two packages, nothing else."""

from __future__ import annotations

import re
import tomllib
import zipfile
from pathlib import Path

import pytest

import homotopy

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    builders = pytest.importorskip("hatchling.builders.wheel")
    folder = tmp_path_factory.mktemp("dist")
    builder = builders.WheelBuilder(str(ROOT))
    (built,) = builder.build(directory=str(folder), versions=["standard"])
    return Path(built)


def test_the_top_level_is_exactly_the_two_packages(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    top = {name.split("/")[0] for name in names}
    (info,) = (name for name in top if name.endswith(".dist-info"))
    assert top - {info} == {"homotopy", "homotopy_plugins"}
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
        metadata = archive.read(info.replace("entry_points.txt", "METADATA")).decode()
    assert "[homotopy.plugins]" in entries
    assert "hinge-ramp = homotopy_plugins:HingeRamp" in entries
    assert "lad-ramp = homotopy_plugins:LADRamp" in entries
    assert "Name: homotopy-qp" in metadata


def test_every_module_of_the_source_is_in_the_wheel(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    for folder, package in (("homotopy", "homotopy"), ("plugins/homotopy_plugins", None)):
        for file in (ROOT / folder).glob("*.py"):
            assert f"{package or 'homotopy_plugins'}/{file.name}" in names


def test_the_version_is_one():
    with open(ROOT / "pyproject.toml", "rb") as stream:
        project = tomllib.load(stream)["project"]
    assert homotopy.__version__ == project["version"]
    assert re.fullmatch(r"\d+\.\d+\.\d+.*", homotopy.__version__)


def test_everything_public_is_there():
    for name in homotopy.__all__:
        assert getattr(homotopy, name) is not None
    assert list(homotopy.__all__) == sorted(homotopy.__all__)
