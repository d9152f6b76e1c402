"""select and predict: the machine in the file predicts what the estimator in memory does."""

from __future__ import annotations

import csv
import io
import json
import re

import numpy as np
import pytest
from shell import csv_of, refused, run, two_clouds, write

from homotopy.path.files import Archive
from homotopy_plugins.cli.answers import Voice
from homotopy_plugins.cli.encoding import Encoding
from homotopy_plugins.cli.files import read_table
from homotopy_plugins.cli.machines import Machine
from homotopy_plugins.cli.targets import encoded_target
from homotopy_plugins.tables.kinds import Choice

pytest.importorskip("sklearn")
from sklearn.model_selection import KFold, StratifiedKFold

from homotopy_plugins import RobustSVCCV, RobustSVRCV

X, Y, _ = two_clouds(60, wrong=6)
COLOURS = ["red", "green", "blue"]


def mixed(labels, seed=0, n=60):
    """Numbers with gaps, a column of words, a target."""
    rng = np.random.default_rng(seed)
    rows = ["a,b,colour,y"]
    for k in range(n):
        first = "" if rng.random() < 0.1 else repr(float(X[k % 60, 0] + 0.1 * rng.normal()))
        rows.append(
            f"{first},{float(X[k % 60, 1])!r},{COLOURS[int(rng.integers(3))]},{labels[k % 60]}"
        )
    return "\n".join(rows) + "\n"


WORDS = np.array(["no", "yes"])[Y]
NUMBERS = X[:, 0] - 0.5 * X[:, 1] + 3.0 * (Y == 1)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_predictions_are_those_of_the_estimator(tmp_path, kernel, task):
    labels = WORDS if task == "classification" else NUMBERS
    train = write(tmp_path / "train.csv", mixed(labels))
    new = write(tmp_path / "new.csv", mixed(labels, seed=1, n=37))
    file, out = tmp_path / "machine.npz", tmp_path / "predictions.csv"
    result = run(
        "select", train, "-t", "y", "--kernel", kernel, "--Cs", "0.1,1", "--cv", "3", "--out", file
    )
    assert result.exit_code == 0, result.stderr
    assert ("RobustSVCCV" if task == "classification" else "RobustSVRCV") in result.stderr
    called = "accuracy" if task == "classification" else "loss"
    assert re.search(rf"; {called} \d[\d.]* on held-out rows", result.stdout), result.stdout
    done = run("predict", file, new, "--out", out)
    assert done.exit_code == 0, done.stderr
    # The same in memory.
    table, choice = read_table(str(train)), Choice(target="y")
    target = encoded_target(table, choice, [])
    encoding = Encoding.of(table.without(["y"]), choice, [])
    folds = StratifiedKFold if task == "classification" else KFold
    machine = (RobustSVCCV if task == "classification" else RobustSVRCV)(
        kernel=kernel, Cs=[0.1, 1.0], cv=folds(3, shuffle=True, random_state=0)
    )
    machine.fit(encoding.apply(table.without(["y"]), []), target.values)
    rows = encoding.apply(read_table(str(new)), [])
    expected = machine.predict(rows)
    found = list(csv.DictReader(io.StringIO(out.read_text())))
    assert [int(row["line"]) for row in found] == list(range(2, 39))
    if task == "classification":
        assert [row["prediction"] for row in found] == expected.tolist()
        values = np.array([float(row["decision"]) for row in found])
        np.testing.assert_allclose(values, machine.decision_function(rows), rtol=1e-12, atol=1e-12)
        assert f"accuracy on 37 rows with a target: {np.mean(expected == labels[:37]):.4g}" in (
            done.stderr
        )
    else:
        values = np.array([float(row["prediction"]) for row in found])
        np.testing.assert_allclose(values, expected, rtol=1e-12, atol=1e-12)
        assert "mean absolute error on 37 rows" in done.stderr


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    folder = tmp_path_factory.mktemp("machine")
    train = write(folder / "train.csv", mixed(WORDS))
    file = folder / "machine.npz"
    done = run("select", train, "-t", "y", "--Cs", "1", "--cv", "3", "--out", file, "--json")
    assert done.exit_code == 0, done.stderr
    return file, json.loads(done.stdout)


def test_all_missing_columns_are_named(machine, tmp_path):
    one = write(tmp_path / "one.csv", "a,colour\n1,red\n")
    refused(run("predict", machine[0], one), "has no column 'b', which is needed; there is 'a'")
    two = write(tmp_path / "two.csv", "b\n1\n")
    refused(run("predict", machine[0], two), "no columns 'a', 'colour', which are needed", "'b'")


def test_the_answer_for_scripts(machine):
    _, found = machine
    assert found["machine"] == "RobustSVCCV"
    assert found["classes"] == ["no", "yes"]
    assert found["columns"] == ["a", "b", "colour=blue", "colour=green", "colour=red"]
    assert set(found["chosen"]) == {"C", "gamma", "robustness", "path", "score"}
    assert all(line >= 2 for line in found["outlier_lines"])


def test_the_file_holds_plain_arrays_and_json(machine):
    with Archive(machine[0]) as archive:
        assert archive.names == {"header", "weights", "vectors"}
        assert archive.kind("vectors") == "<f8"


def test_predictions_on_stdout_and_as_json(machine, tmp_path):
    new = write(tmp_path / "new.csv", "b,a,colour\n1,2,red\n0,,blue\n")
    done = run("predict", machine[0], new)
    assert done.stdout.splitlines()[0] == "line,prediction,decision"
    assert len(done.stdout.splitlines()) == 3
    assert "filled in with the median of their column: a (1)" in done.stderr
    found = json.loads(run("predict", machine[0], new, "--json").stdout)
    assert [row["line"] for row in found["predictions"]] == [2, 3]
    piped = run("predict", machine[0], "-", stdin=new.read_text())
    assert piped.stdout == done.stdout


def test_unknown_categories_and_columns_are_said(machine, tmp_path):
    new = write(tmp_path / "new.csv", "a,b,colour,extra\n1,2,mauve,7\n1,2,red,7\n")
    done = run("predict", machine[0], new)
    assert done.exit_code == 0
    assert "'mauve' did not occur in training, so 1 row belongs to none" in done.stderr
    assert "not used by the model: extra" in done.stderr


def test_rows_that_a_score_cannot_count_are_said(machine, tmp_path):
    rows = ["1,2,red,yes", "1,2,red,Yes", "1,2,red,", "1,2,red,no", "0,2,red,Yes", "0,2,red,nay"]
    new = write(tmp_path / "new.csv", "a,b,colour,y\n" + "\n".join(rows) + "\n")
    done = run("predict", machine[0], new)
    assert (
        "3 rows have targets that did not occur in training: 'Yes', 'nay' (line 3, 6, 7); the "
        "accuracy leaves them out\naccuracy on 2 rows with a target: " in done.stderr
    )
    write(new, "a,b,colour,y\n1,2,red,Yes\n")
    done = run("predict", machine[0], new)
    assert done.stderr.splitlines() == [
        "1 row has a target that did not occur in training: 'Yes' (line 2); the accuracy leaves "
        "it out"
    ]


def test_ctrl_c_says_what_was_written(machine, tmp_path, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    new, out = write(tmp_path / "new.csv", "a,b,colour\n1,2,red\n"), tmp_path / "out.csv"
    with monkeypatch.context() as patch:
        patch.setattr(Machine, "values", interrupted)
        done = run("predict", machine[0], new, "--out", out)
    assert done.exit_code == 130
    assert done.stderr.endswith("homotopy predict: interrupted; nothing was written\n")
    monkeypatch.setattr(Voice, "answer", interrupted)
    done = run("predict", machine[0], new, "--out", out, "--json")
    said = f"homotopy predict: interrupted; {out} was written, nothing else\n"
    assert done.stderr.endswith(said)


def test_missing_columns_and_texts_are_refused(machine, tmp_path):
    new = write(tmp_path / "new.csv", "a,B,colour\n1,2,red\n")
    refused(run("predict", machine[0], new), "no column 'b'", "did you mean 'B'?")
    new = write(tmp_path / "new.csv", "a,b,colour\n1,2,red\n1,two,red\n")
    refused(run("predict", machine[0], new), "column 'b'", "line 3", "'two'")


def test_what_is_no_machine_is_refused(machine, tmp_path):
    new = write(tmp_path / "new.csv", "a,b,colour\n1,2,red\n")
    refused(run("predict", tmp_path / "none.npz", new), "no such file")
    refused(run("predict", new, new), "not a machine")
    np.savez(tmp_path / "other.npz", X=np.ones(3))
    said = refused(run("predict", tmp_path / "other.npz", new), "not a machine")
    assert said.count("not a machine") == 1
    path = tmp_path / "path.npz"
    data = write(tmp_path / "train.csv", csv_of(X, Y))
    assert run("trace", data, "-t", "y", "--C", "1", "--out", path).exit_code == 0
    said = refused(run("predict", path, new), "but a path", "'homotopy certify'")
    assert said.count("path.npz") == 1
    refused(run("certify", machine[0]), "a machine of 'homotopy select'", "'homotopy predict'")


def test_a_spoiled_machine_is_refused(machine, tmp_path):
    new = write(tmp_path / "new.csv", "a,b,colour\n1,2,red\n")
    whole = machine[0].read_bytes()
    rng = np.random.default_rng(0)
    spoiled = tmp_path / "spoiled.npz"
    for _ in range(30):
        content = bytearray(whole)
        content[int(rng.integers(len(content)))] ^= 1 << int(rng.integers(8))
        spoiled.write_bytes(bytes(content))
        result = run("predict", spoiled, new, "-q")
        assert result.exit_code in (0, 2), result.stderr
        assert "please report it" not in result.stderr
        if result.exit_code == 0:
            # What was flipped is not read (a date, say).
            assert result.stdout == run("predict", machine[0], new, "-q").stdout
    for cut in (0, 10, len(whole) // 2, len(whole) - 1):
        spoiled.write_bytes(whole[:cut])
        refused(run("predict", spoiled, new), "spoiled.npz")


def test_sparse_rows(tmp_path):
    from sklearn.datasets import dump_svmlight_file

    train, new = tmp_path / "train.svm", tmp_path / "new.svm"
    dump_svmlight_file(X, Y, str(train), zero_based=False)
    dump_svmlight_file(X[:9], Y[:9], str(new), zero_based=False)
    file = tmp_path / "machine.npz"
    done = run("select", train, "--Cs", "1", "--cv", "3", "--out", file)
    assert done.exit_code == 0, done.stderr
    done = run("predict", file, new)
    assert done.exit_code == 0, done.stderr
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [row["line"] for row in rows] == [str(k) for k in range(1, 10)]
    assert Machine.load(str(file)).classes == [0, 1]
    table = write(tmp_path / "new.csv", csv_of(X, Y))
    refused(run("predict", file, table), "not an svmlight file")


@pytest.mark.parametrize(
    ("text", "more", "words"),
    [
        (csv_of(X, Y * 0), [], ["one class (no)", "needs two"]),
        ("a,y\n" + "".join(f"{k},3\n" for k in range(30)), [], ["is constant, 3 in every row"]),
        (csv_of(X, np.arange(60) % 3, words="uvw"), [], ["3 classes (u, v, w)", "--positive u"]),
        (
            csv_of(X, np.arange(60) % 3, words=None),
            [],
            ["3 classes (0, 1, 2)", "--positive 0", "--task regression"],
        ),
        (csv_of(X, Y), ["--cv", "40"], ["class", "too few for 40 folds", "--cv"]),
        (csv_of(X, Y), ["--cv", "1"], ["--cv", "1"]),
        (csv_of(X, Y), ["--Cs", "a,b"], ["--Cs takes numbers", "'a,b'"]),
        (csv_of(X, Y), ["--Cs", ""], ["--Cs takes at least one number"]),
        (csv_of(X, Y), ["--Cs", "-1"], ["must be positive", "-1"]),
        (csv_of(X, Y), ["--kernel", "precomputed"], ["--kernel must be", "'precomputed'"]),
        (csv_of(X, Y), ["--path", "tau"], ["--path must be theta or s", "'tau'"]),
        (csv_of(X, Y), ["--task", "clustering"], ["--task must be", "'clustering'"]),
        (csv_of(X, Y), ["--task", "regression"], ["words ('no' in line 2) and no numbers"]),
        (
            csv_of(X, NUMBERS, words=None),
            ["--task", "classification"],
            ["60 different values in 60 rows, too many", "--task regression for amounts"],
        ),
        ("a,y\n1,no\n2,yes\n", ["--cv", "2"], ["class 'no' has 1 row, ", "at least 2 rows"]),
        ("a,y\n1,no\n2,yes\n", [], ["class 'no' has 1 row, ", "give at least 2 rows of it"]),
        (
            "a,y\n" + "1,no\n2,yes\n" * 3,
            [],
            ["class 'no' has 3 rows", "give --cv 3 or at least 5 rows of it"],
        ),
        (
            "a,y\n1,1.5\n2,2.5\n4,7.5\n",
            ["--task", "regression"],
            ["3 rows are too few for 5 folds; give --cv 3 or more rows"],
        ),
    ],
)
def test_what_cannot_be_selected(tmp_path, text, more, words):
    data = write(tmp_path / "data.csv", text)
    out = tmp_path / "m.npz"
    refused(run("select", data, "-t", "y", "-q", "--out", out, *more), *words)
    assert not out.exists()


def test_one_class_against_the_others_is_predicted(tmp_path):
    data = write(tmp_path / "data.csv", csv_of(X, np.arange(60) % 3, words="uvw"))
    out = tmp_path / "m.npz"
    arguments = ["--Cs", "1", "--cv", "3", "--positive", "v", "--out", out]
    assert run("select", data, "-t", "y", *arguments).exit_code == 0
    done = run("predict", out, data)
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert {row["prediction"] for row in rows} <= {"v", "not v"}
    truth = ["uvw"[k % 3] for k in range(60)]
    right = np.mean(
        [(r["prediction"] == "v") == (t == "v") for r, t in zip(rows, truth, strict=True)]
    )
    assert f"accuracy on 60 rows with a target: {right:.4g}" in done.stderr


def test_numeric_targets_are_said_to_be_what_they_are_taken_for(tmp_path):
    data = write(tmp_path / "data.csv", csv_of(X, NUMBERS, words=None))
    out = tmp_path / "m.npz"
    done = run("select", data, "-t", "y", "--Cs", "1", "--cv", "3", "--out", out)
    assert "60 different numbers: regression" in done.stderr
    data = write(tmp_path / "data.csv", csv_of(X, Y, words=("0", "1")))
    done = run("select", data, "-t", "y", "--Cs", "1", "--cv", "3", "--out", out)
    assert "2 different values: classification" in done.stderr


def test_the_report_is_handed_rows_as_they_are_in_the_file(tmp_path, monkeypatch):
    handed = {}

    class Page:
        def write_html(self, file):
            with open(file, "w") as stream:
                stream.write("<html>")

    def report(self, **options):
        handed.update(options)
        return Page()

    monkeypatch.setattr(RobustSVCCV, "report", report, raising=False)
    data, page = write(tmp_path / "data.csv", mixed(WORDS)), tmp_path / "r.html"
    out = tmp_path / "m.npz"
    arguments = ["--Cs", "1", "--cv", "3", "--out", out, "--report", page]
    result = run("select", data, "-t", "y", *arguments)
    assert result.exit_code == 0, result.stderr
    assert page.exists()
    assert list(handed["X"].columns) == ["a", "b", "colour"]
    assert handed["row_names"][:2] == ["line 2", "line 3"]


def test_without_reports_the_command_says_so(tmp_path, monkeypatch):
    for kind in RobustSVCCV.__mro__:
        if "report" in vars(kind):
            monkeypatch.delattr(kind, "report")
    data = write(tmp_path / "data.csv", mixed(WORDS))
    out, page = tmp_path / "m.npz", tmp_path / "r.html"
    result = run("select", data, "-t", "y", "--out", out, "--report", page)
    refused(result, "has no report of an estimator")
    assert not out.exists()
