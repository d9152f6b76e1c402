"""examples/demo.py: plain words, and details where they are asked for."""

from __future__ import annotations

import importlib.util
from pathlib import Path as File

import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("sklearn")

FILE = File(__file__).resolve().parents[2] / "examples" / "demo.py"


@pytest.fixture
def demo(tmp_path, monkeypatch):
    spec = importlib.util.spec_from_file_location("demo_example", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "OUT", tmp_path)
    return module


def test_it_speaks_in_plain_words(demo, capsys):
    tally = demo.Tally()
    demo.regression(tally)
    said = capsys.readouterr().out
    assert tally.failed == []
    assert "and proven correct.\nAt its end 16 of 150 samples are called outliers" in said
    assert "certified" not in said
    assert "O+" not in said
    demo.regression(demo.Tally(verbose=True))
    said = capsys.readouterr().out
    assert "certified" in said
    assert "O+" in said
