"""The paper's experiment on small made-up sets: splits, candidates, what is kept, what resumes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import attrs
import numpy as np
import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
# Behind the tests themselves: some modules share a name.
sys.path.append(str(BENCHMARKS))

import _paper  # noqa: E402
import _paper_figures  # noqa: E402
import _paper_report  # noqa: E402
import paper  # noqa: E402
from sklearn.svm import SVC, SVR  # noqa: E402


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Small sets under the names of real ones."""
    place = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4)) * [1.0, 10.0, 0.1, 3.0] + 5.0
    score = X @ [1.0, 0.2, -5.0, 0.1]
    y = np.where(score > np.median(score), 1.0, -1.0)
    np.savez(place / "AustralianCredit.npz", X=X, y=y)
    np.savez(place / "mpg.npz", X=X, y=score + rng.normal(size=120))
    return place


@pytest.fixture
def command(monkeypatch, capsys):
    """The script in this process: what it ended with, printed and complained about."""

    def run(folder, out, *more):
        given = ["paper.py", "--data", str(folder), "--out", str(out), *more]
        monkeypatch.setattr(sys, "argv", given)
        try:
            code = paper.main()
        except SystemExit as end:
            code = end.code
        return (code, *capsys.readouterr())

    return run


@pytest.mark.parametrize("protocol", ["printed", "likely"])
@pytest.mark.parametrize("table", list(_paper.TABLES))
def test_every_path_of_a_split_is_certified(folder, table, protocol):
    name = "AustralianCredit" if table.endswith("svc") else "mpg"
    found = _paper.run_split(str(folder), name, 0, table, _paper.PROTOCOLS[protocol])
    assert all(one["certified"] and one["complete"] for one in found["paths"])
    assert len(found["paths"]) == 2 * len(_paper.COSTS)
    assert set(found["methods"]) == {*_paper.METHODS, *_paper.EXACT}
    methods = found["methods"]
    for path in ("theta", "s"):
        # The plain machine is a candidate of all, the break-points are points of the path.
        assert methods[f"OP-{path}"]["validation"] <= methods["C-SVM"]["validation"] + 1e-12
        assert methods[f"CCCP-{path}"]["validation"] <= methods["C-SVM"]["validation"] + 1e-3
        assert methods[f"exact-{path}"]["validation"] <= methods[f"OP-{path}"]["validation"] + 1e-12
    # Five candidates; one where nothing is on the wrong side and s has nowhere to go.
    assert {len(one["values"]) for one in found["paths"]} <= {1, 5}


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_the_plain_machine_is_that_of_libsvm(folder, kernel):
    # libsvm has an intercept; with every row mirrored (-x, -y) at half the cost it is zero.
    protocol = _paper.PROTOCOLS["likely"]
    data = _paper.split(str(folder), "AustralianCredit", 3, kernel, protocol)
    model = _paper.model_of(data, "AustralianCredit", kernel, "theta", protocol, 1.0)
    path = _paper.Homotopy(model).trace()
    K = data.X @ data.X.T
    if kernel == "rbf":
        square = np.diag(K)
        K = np.exp(-(square[:, None] + square - 2.0 * K) / data.X.shape[1])
    twice = np.block([[K, -K], [-K, K]])
    fit = SVC(C=0.5, kernel="precomputed", tol=1e-10).fit(twice, np.r_[data.y, -data.y])
    assert fit.intercept_[0] == pytest.approx(0.0, abs=1e-6)
    ours = path.decision_function(data.X, 1.0, "before")
    np.testing.assert_allclose(ours, fit.decision_function(twice)[: data.y.size], atol=1e-5)


def test_regression_is_scaled_and_contaminated_as_printed(folder):
    protocol = _paper.PROTOCOLS["printed"]
    data = _paper.split(str(folder), "mpg", 0, "rbf", protocol)
    assert (data.y.size, data.y_validation.size, data.y_test.size) == (48, 36, 36)
    assert np.abs(data.X_test).max() <= 1.0 + 1e-12
    clean = _paper.split(str(folder), "mpg", 0, "rbf", attrs.evolve(protocol, outliers=0.0))
    changed = np.flatnonzero(np.any(data.X != clean.X, axis=1))
    assert changed.size == round(0.05 * 48)
    np.testing.assert_array_equal(changed, np.flatnonzero(data.y != clean.y))
    np.testing.assert_array_equal(data.X_test, clean.X_test)
    whole = np.concatenate([clean.y, clean.y_validation, clean.y_test])
    assert whole.mean() == pytest.approx(0.0, abs=1e-12)
    assert whole.std() == pytest.approx(1.0)
    plain = SVR(C=1.0, epsilon=0.0).fit(data.X, data.y)
    assert np.isfinite(plain.predict(data.X_test)).all()


def test_labels_are_flipped_where_rows_are_trained_and_chosen_on(folder):
    raw = np.load(folder / "AustralianCredit.npz")
    label = {tuple(row): y for row, y in zip(raw["X"], raw["y"], strict=True)}
    data = _paper.split(str(folder), "AustralianCredit", 1, "rbf", _paper.PROTOCOLS["printed"])

    def wrong(X, y):
        return sum(label[tuple(row)] != one for row, one in zip(X, y, strict=True))

    assert wrong(data.X, data.y) == round(0.15 * 48)
    assert wrong(data.X_validation, data.y_validation) == round(0.15 * 36)
    assert wrong(data.X_test, data.y_test) == 0


def test_a_constant_column_is_for_the_linear_kernel_alone(folder):
    likely = _paper.PROTOCOLS["likely"]
    linear = _paper.split(str(folder), "mpg", 0, "linear", likely)
    assert np.all(linear.X[:, -1] == 1.0)
    assert np.all(linear.X_test[:, -1] == 1.0)
    assert _paper.split(str(folder), "mpg", 0, "rbf", likely).X.shape[1] == 4


def test_a_run_is_kept_and_resumes(command, folder, tmp_path):
    options = ("--table", "rbf-svc", "rbf-svr", "--splits", "2")
    code, out, err = command(folder, tmp_path, *options)
    assert code == 0, err
    assert "4 splits, 0 of them there already" in out
    assert "no file spambase.npz" in err
    stored = json.loads((tmp_path / "paper.json").read_text())["rows"]
    assert len(stored) == 4
    assert (tmp_path / "paper.md").read_text().count("| mpg | 2 |") == 1
    # One split is lost, one file was cut short before it was complete.
    lost = tmp_path / "splits" / "likely" / "rbf-svr" / "mpg-1.json"
    lost.rename(lost.with_suffix(".part"))
    code, out, err = command(folder, tmp_path, *options)
    assert code == 0, err
    assert "4 splits, 3 of them there already" in out
    rows = json.loads((tmp_path / "paper.json").read_text())["rows"]
    keep = ("data", "split", "methods")
    assert [{k: r[k] for k in keep} for r in rows] == [{k: r[k] for k in keep} for r in stored]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "nothing to do: give --table, --figure or --objective"),
        (("--table", "poly"), "invalid choice: 'poly'"),
        (("--table", "rbf-svc", "--sets", "iris"), "invalid choice: 'iris'"),
    ],
)
def test_bad_options_are_refused(command, folder, tmp_path, options, words):
    code, _, err = command(folder, tmp_path, *options)
    assert code == 2
    assert words in err


def test_a_folder_that_is_none_is_refused(tmp_path):
    script = [sys.executable, str(BENCHMARKS / "paper.py"), "--table", "rbf-svc"]
    options = ["--data", str(tmp_path / "nowhere"), "--out", str(tmp_path)]
    found = subprocess.run(
        [*script, *options], capture_output=True, text=True, check=False, timeout=240
    )
    assert found.returncode == 2
    assert "is no folder" in found.stderr
    assert "Traceback" not in found.stderr


def test_what_is_changed_is_in_the_name_of_the_run():
    likely = _paper.PROTOCOLS["likely"]
    assert paper.label("likely", likely) == "likely"
    changed = attrs.evolve(likely, outliers=0.25, threshold=0.5)
    assert paper.label("likely", changed) == "likely-outliers=0.25-threshold=0.5"


def test_every_printed_cell_is_there():
    for table, (_, sets) in _paper.TABLES.items():
        assert set(_paper.PRINTED[table]) == set(sets.values())
        assert all(len(row) == len(_paper.METHODS) for row in _paper.PRINTED[table].values())
    assert _paper_report.shown(0.056, 0.016) == ".056(.016)"


def test_the_losses_are_drawn_from_their_polylines():
    model = _paper.HingeRamp(np.ones((2, 1)), [1.0, -1.0], C=1.0, kernel="linear", s=0.0)
    u = np.linspace(-2.0, 2.0, 9)
    expected = np.where(u >= 0.0, np.maximum(0.0, 1.0 - u), 1.0 - 0.25 * u)
    np.testing.assert_allclose(_paper_figures.loss_values(model, 0.25, u), expected, atol=1e-12)


@pytest.mark.parametrize("which", ["path", "loss"])
def test_figures_are_drawn(which, tmp_path):
    file = _paper_figures.draw(which, tmp_path, tmp_path)
    assert file.read_bytes().startswith(b"\x89PNG")
