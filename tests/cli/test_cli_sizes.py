"""Many rows: what to expect is said beforehand, samples are stated, memory is bounded."""

from __future__ import annotations

import functools
import json

import numpy as np
import pytest
from shell import csv_of, refused, run, two_clouds, write

from homotopy_plugins import HingeRamp
from homotopy_plugins.cli import sizes
from homotopy_plugins.cli.answers import CommandError
from homotopy_plugins.cli.commands import saved
from homotopy_plugins.cli.landmarks import Landmarks
from homotopy_plugins.cli.sizes import cache_of, estimate, megabytes

X, Y, _ = two_clouds(120, wrong=12)


@pytest.fixture
def data(tmp_path):
    return write(tmp_path / "data.csv", csv_of(X, Y))


def traced(data, *more):
    return run("trace", data, "-t", "y", "--C", "1", "--json", *more)


# ---------------------------------------------------------------------- what to expect


def test_an_estimate_grows_with_rows_and_tells_kernels_apart():
    small, large = estimate(500, 90, "rbf"), estimate(20_000, 90, "rbf")
    assert not small.large
    assert large.large
    assert large.seconds > 100.0 > estimate(20_000, 90, "linear").seconds > 20.0
    assert estimate(20_000, 300, "linear").seconds > estimate(20_000, 90, "linear").seconds


def test_what_takes_long_is_said_beforehand_with_the_ways_out(data, monkeypatch):
    assert "may take" not in traced(data).stderr
    monkeypatch.setattr(sizes, "SECONDS", 1e-9)
    said = traced(data, "--out", data.parent / "p.npz").stderr
    for word in ("120 rows", "rbf", "MB", "--rows", "--kernel linear", "--nystroem"):
        assert word in said


def test_a_search_is_estimated_beforehand_too(data, monkeypatch):
    small = sizes.SearchEstimate.of((300, 10), "rbf", 5, 5, 1)
    large = sizes.SearchEstimate.of((20_000, 12), "rbf", 5, 5, 1)
    assert not small.large
    assert large.large
    assert large.paths == 26
    assert large.seconds > sizes.SearchEstimate.of((20_000, 12), "rbf", 5, 5, 4).seconds
    search = (
        "select",
        data,
        "-t",
        "y",
        "--Cs",
        "1,10",
        "--cv",
        "3",
        "--out",
        data.parent / "m.npz",
    )
    assert "may take" not in run(*search).stderr
    monkeypatch.setattr(sizes, "SECONDS", 1e-9)
    said = run(*search).stderr
    for word in ("120 rows", "rbf", "7 paths", "--rows 100", "--kernel linear", "--Cs"):
        assert word in said


# ---------------------------------------------------------------------- fewer rows


def test_a_sample_is_stated_and_drawn_again_by_certify(tmp_path, data):
    out = tmp_path / "path.npz"
    done = traced(data, "--rows", "50", "--out", out)
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["n"] == 50
    assert "50 of 120 rows, drawn at random (--seed 0)" in done.stderr
    assert run("certify", out).exit_code == 0
    other = traced(data, "--rows", "50", "--seed", "1")
    assert other.stdout != done.stdout
    assert json.loads(traced(data, "--rows", "5000").stdout)["n"] == 120


def test_rows_of_a_sample_keep_their_lines(tmp_path, data):
    out, machine = tmp_path / "machine.npz", ("--Cs", "1", "--cv", "2", "--json", "--rows", "60")
    done = run("select", data, "-t", "y", *machine, "--out", out)
    assert done.exit_code == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["rows"] == 60
    assert all(2 <= line <= 121 for line in answer["outlier_lines"])


# ---------------------------------------------------------------------- Nystroem


def test_as_many_landmarks_as_rows_are_the_kernel_itself():
    landmarks = Landmarks.of(X, X.shape[0], 0.5, 0)
    features = landmarks.apply(X)
    squares = ((X[:, None, :] - X[None, :, :]) ** 2).sum(axis=2)
    assert np.allclose(features @ features.T, np.exp(-0.5 * squares), atol=1e-6)


def test_landmarks_return_from_json_to_the_same_features():
    landmarks = Landmarks.of(X, 20, None, 0)
    again = Landmarks.from_json(json.loads(json.dumps(landmarks.to_json())))
    assert np.array_equal(again.apply(X), landmarks.apply(X))
    assert landmarks.gamma == 1.0 / X.shape[1]
    for spoiled in ({}, {"shape": [1, 1], "points": "!", "gamma": "0x1p0"}, None):
        with pytest.raises(ValueError, match="not ours"):
            Landmarks.from_json(spoiled)


def test_features_of_nystroem_are_not_called_a_linear_kernel():
    for made in (sizes.Estimate(99.0, 1.0), sizes.SearchEstimate(99.0, 26)):
        said = made.told(20_000, "linear", True, 300)
        assert "20,000 rows with the rbf kernel approximated by 300 Nystroem features" in said
        assert "linear" not in said


def test_a_path_on_nystroem_features_is_nearly_that_of_the_kernel(tmp_path, data):
    out = tmp_path / "path.npz"
    near = traced(data, "--nystroem", "60", "--gamma", "0.3", "--out", out)
    assert near.exit_code == 0, near.stderr
    exact = traced(data, "--gamma", "0.3")
    ends = [json.loads(one.stdout)["start"]["objective"] for one in (near, exact)]
    assert ends[0] == pytest.approx(ends[1], rel=0.02)
    assert run("certify", out).exit_code == 0
    refused(traced(data, "--nystroem", "60", "--kernel", "linear"), "rbf", "--kernel linear")
    refused(traced(data, "--nystroem", "600", "-q"), "600", "give fewer")


def test_a_machine_of_nystroem_features_predicts(tmp_path, data):
    out = tmp_path / "machine.npz"
    given = ("-t", "y", "--Cs", "1", "--cv", "2", "--nystroem", "30", "--out", out)
    assert run("select", data, *given).exit_code == 0
    done = run("predict", out, data, "--json")
    assert done.exit_code == 0, done.stderr
    accuracy = float(done.stderr.split("with a target: ")[1].split()[0])
    assert accuracy > 0.8


# ---------------------------------------------------------------------- memory


@pytest.mark.parametrize(
    ("text", "value"), [("500", 500.0), ("500M", 500.0), ("2G", 2000.0), ("1.5 gb", 1500.0)]
)
def test_memory_as_people_write_it(text, value):
    assert megabytes(text) == value


def test_memory_that_is_too_small_or_no_number_is_refused(data):
    for text in ("lots", "0", "-5", "5X"):
        with pytest.raises(CommandError, match="500 or 2G"):
            megabytes(text)
    with pytest.raises(CommandError, match="20,000 rows of 90 columns; give at least 90"):
        cache_of("50", 20_000, 90)
    refused(traced(data, "--memory", "0.01", "-q"), "--memory 0.01", "120 rows")


def test_memory_bounds_the_rows_of_the_kernel(data, monkeypatch):
    made = []
    whole = HingeRamp.__init__

    @functools.wraps(whole)
    def watched(self, *given, **options):
        made.append(options.get("cache_size"))
        whole(self, *given, **options)

    monkeypatch.setattr(HingeRamp, "__init__", watched)
    assert traced(data, "--memory", "0.15").exit_code == 0
    assert traced(data).exit_code == 0
    # All of the kernel of 120 rows is a tenth of a megabyte.
    assert made[0] < 0.15
    assert made[1] == 1.0
    monkeypatch.setattr(sizes, "available", lambda: 1000.0)
    assert 400.0 < cache_of(None, 20_000, 90) < 500.0


# ---------------------------------------------------------------------- reports


def test_the_report_of_a_long_path_checks_a_sample_and_says_so(tmp_path, data, monkeypatch):
    out, page = tmp_path / "path.npz", tmp_path / "path.html"
    assert traced(data, "--out", out).exit_code == 0
    assert "places" not in run("report", out, "--out", page).stderr
    monkeypatch.setattr(saved, "CHECKED", 10)
    done = run("report", out, "--out", page)
    assert done.exit_code == 0, done.stderr
    assert "about 200 places" in done.stderr
    assert run("report", out, "--out", page, "--sample", "5").exit_code == 0
