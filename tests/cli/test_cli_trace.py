"""trace, certify, plot, report and plugins."""

from __future__ import annotations

import json
import re
import shutil
from importlib import metadata

import numpy as np
import pytest
from shell import csv_of, refused, run, two_clouds, write

from homotopy import DenseGram, Homotopy, Jump, Knot, LossModel, Path, Slope, TraceError
from homotopy.path.methods import PathMethods
from homotopy.path.storage import read_recipe, save
from homotopy_plugins import HingeRamp, Lasso, RobustSVR
from homotopy_plugins.cli.options import options_of
from homotopy_plugins.cli.tracing import told

X, Y, _ = two_clouds()


@pytest.fixture
def data(tmp_path):
    return write(tmp_path / "data.csv", csv_of(X, Y))


@pytest.fixture
def saved(tmp_path, data):
    file = tmp_path / "path.npz"
    result = run("trace", data, "-t", "y", "--C", "10", "--out", file, "--quiet")
    assert result.exit_code == 0, result.stderr
    return file


def standardised(A):
    # Column by column, as NumPy sums rows of a matrix in another order.
    columns = [np.ascontiguousarray(column) for column in A.T]
    return np.column_stack([(column - column.mean()) / column.std() for column in columns])


# ---------------------------------------------------------------------- trace


def test_the_path_is_that_of_python(data, saved):
    labels = np.array(["no", "yes"])[Y]
    model = HingeRamp(standardised(X), labels, C=10.0, path="theta", fit_intercept=True)
    path = Path.load(saved, model)
    assert path.complete
    assert np.array_equal(path.breakpoints, Homotopy(model).trace().breakpoints)


def test_gamma_is_taken_as_select_takes_it(tmp_path, data):
    out = tmp_path / "scale.npz"
    done = run("trace", data, "-t", "y", "--C", "1", "--gamma", "scale", "--no-scale", "--out", out)
    assert done.exit_code == 0, done.stderr
    width = 1.0 / (X.shape[1] * X.var())
    assert float(read_recipe(out)["settings"]["gamma"]) == pytest.approx(width, rel=1e-12)
    assert run("certify", out).exit_code == 0
    linear = run("trace", data, "-t", "y", "--C", "1", "--kernel", "linear", "--gamma", "scale")
    assert linear.exit_code == 0, linear.stderr
    given = ("-t", "y", "--C", "1", "--gamma", "scale", "--nystroem", "5")
    assert run("trace", data, *given).exit_code == 0
    refused(
        run("trace", data, "-t", "y", "--C", "1", "--gamma", "wide"),
        "a number, scale (as select takes it) or none (1 / number of columns), got 'wide'",
    )


def test_without_scaling_the_numbers_are_those_of_the_file(tmp_path, data):
    out = tmp_path / "raw.npz"
    done = run(
        "trace", data, "-t", "y", "--C", "1", "--no-scale", "--kernel", "linear", "--out", out
    )
    assert done.exit_code == 0
    model = HingeRamp(X, np.array(["no", "yes"])[Y], C=1.0, kernel="linear", fit_intercept=True)
    assert Path.load(out, model).complete


def test_the_summary_is_that_of_the_path(data):
    result = run("trace", data, "-t", "y", "--C", "10", "--path", "s", "--certify")
    assert result.exit_code == 0
    assert result.stdout.startswith("HingeRamp: s from ")
    assert "certified to 1e-08" in result.stdout


def test_json_is_all_there_is_on_stdout(data):
    result = run("trace", data, "-t", "y", "--C", "10", "--json", "--certify")
    found = json.loads(result.stdout)
    assert found["complete"] is True
    assert found["certificate"]["ok"] is True
    assert found["parameter"] == "theta"
    assert found["n"] == 40
    assert result.stderr


def test_quiet_says_nothing(data):
    assert run("trace", data, "-t", "y", "--C", "10", "-q").stderr == ""
    assert run("-q", "trace", data, "-t", "y", "--C", "10").stderr == ""


@pytest.mark.parametrize("ending", [".npz", ".svm", ".libsvm", ".svmlight", ".parquet"])
def test_other_formats(tmp_path, ending):
    file = tmp_path / f"data{ending}"
    if ending == ".npz":
        np.savez(file, X=X, y=np.array(["no", "yes"])[Y])
    elif ending == ".parquet":
        pd, _ = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
        pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": np.array(["no", "yes"])[Y]}).to_parquet(file)
    else:
        datasets = pytest.importorskip("sklearn.datasets")
        datasets.dump_svmlight_file(X, Y, str(file), comment="made up")
    target = ["-t", "y"] if ending == ".parquet" else []
    out = tmp_path / "path.npz"
    result = run("trace", file, *target, "--C", "1", "--out", out, "--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["n"] == 40
    again = run("certify", out, "--json")
    assert json.loads(again.stdout)["ok"] is True


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.npz", b"PK nonsense", ["not an .npz file"]),
        ("a.npz", None, ["no array X"]),
        ("a.parquet", b"PAR1 nonsense", ["not a Parquet file"]),
        ("a.svm", b"1 2:x\n", ["not an svmlight file"]),
        ("a.svm", b"# nothing\n", ["no rows"]),
    ],
)
def test_spoiled_files_are_refused(tmp_path, name, content, words):
    file = tmp_path / name
    if content is None:
        np.savez(file, Z=np.ones(3))
    else:
        file.write_bytes(content)
    refused(run("trace", file, "--C", "1"), *words)


def test_a_pickle_in_an_npz_is_not_opened(tmp_path):
    file = tmp_path / "a.npz"
    np.savez(file, X=np.array([object()], dtype=object))
    refused(run("trace", file, "--C", "1"), "plain arrays (it holds Python objects)")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.npz", b"\x80\x04\x00\x9b", ["is no NumPy file", "numpy.savez"]),
        ("a.npz", b"\x93NUMPY\x01\x00", ["one NumPy array (.npy)", "X and y"]),
        ("a.csv.gz", b"\x00\x01\x02,y\n", ["is no gzip file", "rename it"]),
        ("a.csv.zip", b"\x00\x01\x02,y\n", ["is no zip file"]),
    ],
)
def test_bytes_that_are_not_what_the_name_says(tmp_path, name, content, words):
    file = tmp_path / name
    file.write_bytes(content)
    done = run("trace", file, "-t", "y", "--C", "1")
    refused(done, name, *words)
    assert "allow_pickle" not in done.stderr


def test_a_text_that_was_unpacked_may_keep_its_name(tmp_path):
    lines = "x,y\n" + "".join(f"{k % 7},{'ab'[k % 2]}\n" for k in range(20))
    for encoding in ("utf-8", "utf-16"):
        file = tmp_path / f"{encoding}.csv.gz"
        file.write_bytes(lines.encode(encoding))
        assert run("trace", file, "-t", "y", "--C", "1").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--C", "0"], ["C must be positive", "0"]),
        (["--C", "ten"], ["C must be a number", "'ten'"]),
        ([], ["hinge-ramp needs C", "give --C VALUE"]),
        (["--C", "1", "--set", "C=2"], ["--C and --set C"]),
        (["--C", "1", "--set", "thta=2"], ["no option 'thta'", "did you mean 'theta'?"]),
        (["--C", "1", "--set", "X=2"], ["X is taken from the table"]),
        (["--C", "1", "--set", "theta"], ["--set takes name=value", "'theta'"]),
        (["--C", "1", "--path", "x"], ["path must be 'theta' or 's'", "'x'"]),
        (["--C", "1", "--kernel", "rfb"], ["kernel must be one of", "'rfb'"]),
        (["--C", "1", "--loss", "hinge"], ["'hinge'", "did you mean 'hinge-ramp'?"]),
        (["--loss", "lasso", "--C", "1"], ["lasso has no option 'C'"]),
        (["--loss", "parametric-qp"], ["made from H, g", "in Python"]),
        (["--loss", "efficient-frontier"], ["made from mean, covariance", "in Python"]),
        (["--C", "1", "--drop", "z"], ["no column 'z'"]),
        (["--C", "1", "--drop", "y"], ["would leave out the target"]),
        (["--C", "1", "--max-breakpoints", "0"], ["max_breakpoints", "0"]),
        (["--wrong"], ["--wrong", "--help"]),
        (["--C", "1", "--max-breakpoints", "x"], ["max-breakpoints", "'x'"]),
    ],
)
def test_wrong_options_are_refused_in_one_line(data, arguments, words):
    refused(run("trace", data, "-q", "-t", "y", *arguments), *words)


def test_the_target_is_asked_for(data):
    refused(run("trace", data, "--C", "1"), "--target", "'a', 'b', 'y'")


@pytest.mark.parametrize(
    ("labels", "more", "words"),
    [
        ("uvw", [], ["data.csv: the target 'y' has 3 classes (u, v, w)", "--positive u"]),
        ("012", [], ["3 classes (0, 1, 2)", "--positive 0", "--loss lad-ramp if they are amounts"]),
        (None, [], ["'y' has 40 different numbers", "--loss lad-ramp for amounts"]),
        ("u", [], ["one class (u)", "another --target"]),
        (
            "uv",
            ["--loss", "lad-ramp"],
            ["words ('u' in line 2), and lad-ramp takes numbers", "'a', 'b'", "--loss hinge-ramp"],
        ),
        (None, ["--loss", "lad-ramp", "--positive", "0.5"], ["leave --positive out"]),
    ],
)
def test_a_target_of_another_kind_names_the_way_out(tmp_path, labels, more, words):
    if labels is None:
        text = csv_of(X, np.arange(40) + 0.5, words=None)
    else:
        text = csv_of(X, np.arange(40) % len(labels), words=labels)
    data = write(tmp_path / "data.csv", text)
    refused(run("trace", data, "-q", "-t", "y", "--C", "1", *more), *words)


def test_outputs_are_checked_before_the_work(tmp_path, data, monkeypatch):
    def never(*_, **__):
        raise AssertionError("the work began")

    monkeypatch.setattr(Homotopy, "trace", never)
    trace = ("trace", data, "-t", "y", "--C", "1")
    refused(run(*trace, "--out", tmp_path / "no" / "p.npz"), "there is no folder", "make it first")
    refused(run(*trace, "--out", tmp_path), "is a folder")
    refused(run(*trace, "--out", data), "is what is read")
    same = tmp_path / "x.npz"
    refused(run(*trace, "--out", same, "--report", same), "--report", "'.html'")
    (tmp_path / "x.html").symlink_to(same)
    given = ("--out", same, "--report", tmp_path / "x.html")
    refused(run(*trace, *given), "two outputs")
    assert not same.exists()


def test_a_limit_saves_what_there_is(tmp_path, data):
    out = tmp_path / "part.npz"
    result = run(
        "trace", data, "-t", "y", "--C", "10", "--max-breakpoints", "3", "--out", out, "--json"
    )
    assert result.exit_code == 0
    assert json.loads(result.stdout)["status"] == "limit"
    assert "stopped at --max-breakpoints 3" in result.stderr
    assert "max_seconds" not in result.stderr
    assert run("certify", out).exit_code == 0


def test_the_limit_that_stopped_a_trace_is_named(data):
    few = run(
        "trace", data, "-t", "y", "--C", "10", "--max-breakpoints", "3", "--max-seconds", "99"
    )
    assert "stopped at --max-breakpoints 3" in few.stdout
    short = run("trace", data, "-t", "y", "--C", "10", "--max-seconds", "1e-9", "-q")
    refused(short, "--max-seconds 1e-09 ran out before the path began; allow more time")
    model = HingeRamp(X, Y, C=10.0)
    part = Homotopy(model, max_breakpoints=3).trace()
    assert told(repr(part), part, 99, 0.5).endswith("stopped at --max-seconds 0.5>")
    assert told(repr(part), part, None, 0.5).endswith("stopped at --max-seconds 0.5>")
    whole = Homotopy(model).trace()
    assert told(repr(whole), whole, 99, 0.5) == repr(whole)


def test_numerical_trouble_saves_what_there_is(tmp_path, data, monkeypatch):
    whole = Homotopy.trace

    def troubled(self, **options):
        error = TraceError("a pivot is lost")
        error.path = whole(self, **options)
        raise error

    monkeypatch.setattr(Homotopy, "trace", troubled)
    out = tmp_path / "part.npz"
    result = run("trace", data, "-q", "-t", "y", "--C", "1", "--out", out)
    refused(result, "a pivot is lost", "theta from 1 to 0 is saved in")
    assert read_recipe(out)["plugin"] == "hinge-ramp"


# ---------------------------------------------------------------------- every plugin

NEEDS = {
    "capped-l1": ["--set", "cap=1", "--set", "lam=1"],
    "elastic-net": ["--set", "ridge=0.5"],
    "epsilon-ramp": ["--C", "1", "--set", "epsilon=0.1"],
    "hinge-ramp": ["--C", "1"],
    "huber-ramp": ["--C", "1", "--set", "delta=0.5"],
    "lad-ramp": ["--C", "1"],
    "lasso": ["--set", "fraction=0.1"],
    "mcp": ["--set", "fraction=0.2"],
    "nu-svc-path": ["--set", "nu=none,0.3"],
    "one-class-path": ["--set", "nu=0.9:0.3"],
    "pinball-ramp": ["--C", "1", "--set", "tau=0.3"],
    "roc-path": ["--C", "1", "--set", "share=0.3,0.7"],
    "scad": ["--set", "fraction=0.2"],
    "semi-supervised-svm": ["--C", "1", "--set", "C_unlabelled=0.1"],
    "svm-path": ["--C", "0.1,1"],
    "trend-filter": ["--set", "fraction=0.2"],
    "truncated-quadratic": ["--C", "1"],
}
LABELS = {"hinge-ramp", "nu-svc-path", "roc-path", "semi-supervised-svm", "svm-path"}


@pytest.mark.parametrize("plugin", sorted(NEEDS))
def test_every_plugin_made_from_a_table_is_traced_and_proven_again(tmp_path, plugin):
    text = csv_of(X, Y) if plugin in LABELS else csv_of(X, X[:, 0] + Y, words=None)
    if plugin == "semi-supervised-svm":
        text += "1.0,0.5,\n0.5,2.0,\n"
    file, out = write(tmp_path / "data.csv", text), tmp_path / "path.npz"
    target = [] if plugin == "one-class-path" else ["-t", "y"]
    result = run("trace", file, *target, "--loss", plugin, *NEEDS[plugin], "--out", out, "--json")
    assert result.exit_code == 0, result.stderr
    again = run("certify", out, "--json")
    assert again.exit_code == 0, again.stderr
    assert json.loads(again.stdout)["ok"] is True


def test_rows_without_labels_are_asked_for(data):
    result = run(
        "trace", data, "-t", "y", "--loss", "semi-supervised-svm", "--C", "1", "--set",
        "C_unlabelled=1",
    )  # fmt: skip
    refused(result, "all rows have one", "'y' empty")


def test_a_column_can_be_an_option(tmp_path):
    rng = np.random.default_rng(0)
    z, weight = np.sort(rng.random(30)), rng.integers(1, 4, 30)
    rows = "\n".join(f"{a},{b},{w}" for a, b, w in zip(z, np.sin(6 * z), weight, strict=True))
    file = write(tmp_path / "data.csv", f"z,y,w\n{rows}\n")
    arguments = ["--loss", "trend-filter", "--set", "positions=@z", "--set", "weights=@w"]
    out = tmp_path / "path.npz"
    result = run("trace", file, "-t", "y", *arguments, "--out", out)
    assert result.exit_code == 0, result.stderr
    assert run("certify", out).exit_code == 0
    refused(
        run("trace", file, "-t", "y", "--loss", "trend-filter", "--set", "positions=@zz"),
        "no column 'zz'",
    )


class Strange(LossModel):
    """A ramp of somebody else's.

    Not of ours.
    """

    parameter, span = "theta", (1.0, 0.0)

    def __init__(self, x, y, C=1.0, tau=0.7, s=0.5, fast=True):
        assert x.ndim == 1
        assert fast is False
        self.gram = DenseGram(np.exp(-((x[:, None] - x) ** 2)))
        self.y, self.C, self.tau, self.s = y, C, tau, s
        self.border = np.ones((y.size, 1))

    def polyline(self, t):
        up, down, y, s = self.tau * self.C, (self.tau - 1.0) * self.C, self.y, self.s
        return (
            Slope("O+", up * t),
            Jump(y - s),
            Slope("I+", up),
            Knot("E", y),
            Slope("I-", down),
            Jump(y + s),
            Slope("O-", down * t),
        )


def test_a_plugin_of_another_package(tmp_path, monkeypatch):
    entry = metadata.EntryPoint("strange", f"{__name__}:Strange", "homotopy.plugins")
    broken = metadata.EntryPoint("broken", "no_such_module:Nothing", "homotopy.plugins")
    monkeypatch.setattr("homotopy.registry.entry_points", lambda group: [entry, broken])
    file = write(tmp_path / "d.csv", csv_of(X[:, :1], X[:, 0] + Y, header="a,y", words=None))
    out = tmp_path / "p.npz"
    arguments = ["--loss", "strange", "--set", "tau=0.4", "--set", "fast=no", "--C", "2"]
    result = run("trace", file, "-t", "y", *arguments, "--out", out)
    assert result.exit_code == 0, result.stderr
    assert run("certify", out).exit_code == 0
    refused(
        run("trace", file, "-t", "y", "--loss", "strange", "--set", "s=x"), "s must be a number"
    )
    refused(run("trace", file, "-t", "y", "--loss", "broken"), "'broken' cannot be loaded")
    listing = run("plugins")
    assert "A ramp of somebody else's" in listing.stdout
    assert "cannot be loaded" in listing.stdout


def test_options_are_read_off_the_signature():
    hinge = options_of(HingeRamp)
    assert hinge["C"].required
    assert not hinge["gamma"].required
    assert {"X", "y", "path", "theta", "s", "kernel", "cache_size"} <= set(hinge)
    assert options_of(Lasso)["positive"].kinds == {"bool"}
    from homotopy_plugins import MCP, ElasticNet

    assert "concavity" not in options_of(MCP)
    assert {"gamma", "lam", "fraction"} <= set(options_of(MCP))
    assert options_of(ElasticNet)["ridge"].required


# ---------------------------------------------------------------------- a saved path


def test_certify_finds_the_data_again(tmp_path, data, saved, monkeypatch):
    result = run("certify", saved)
    assert result.exit_code == 0
    assert "certified to 1e-08" in result.stdout
    # From anywhere, and when both are moved together.
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert run("certify", saved).exit_code == 0
    shutil.move(data, elsewhere / "data.csv")
    shutil.move(saved, elsewhere / "path.npz")
    assert run("certify", "path.npz").exit_code == 0


def test_certify_asks_for_data_that_are_gone_or_changed(tmp_path, data, saved):
    moved = tmp_path / "moved.csv"
    data.rename(moved)
    refused(run("certify", saved), "not there any more", "--data")
    assert run("certify", saved, "--data", moved, "--target", "y").exit_code == 0
    data.write_text(moved.read_text() + "1,1,no\n")
    refused(run("certify", saved), "has changed since", "--data")
    refused(run("certify", saved, "--data", data), "another model or other data")


def test_the_same_rows_in_another_file_will_do(tmp_path, data, saved):
    other = write(tmp_path / "other.csv", data.read_text().replace("\n", "\r\n"))
    assert run("certify", saved, "--data", other).exit_code == 0


def test_a_path_that_does_not_hold_ends_with_1(saved):
    result = run("certify", saved, "--tol", "1e-300")
    assert result.exit_code == 1
    assert "NOT certified" in result.stdout
    refused(run("certify", saved, "--tol", "-1"), "--tol must be a positive number")


def test_files_that_are_no_paths(tmp_path, data):
    refused(run("certify", tmp_path / "none.npz"), "no such file")
    refused(run("certify", data), "not a saved path")
    other = tmp_path / "other.npz"
    path = Homotopy(HingeRamp(X, Y, C=1.0)).trace()
    path.save(other)
    refused(run("certify", other), "does not say how its model was made", "Path.load")
    save(path, other, {"format": "recipe 7"})
    refused(run("certify", other), "recipe 7")
    save(path, other, {"format": "recipe 1", "settings": 3})
    refused(run("certify", other), "other.npz")


def test_a_recipe_takes_no_part_in_the_path(tmp_path):
    model = HingeRamp(X, Y, C=1.0)
    path = Homotopy(model).trace()
    save(path, tmp_path / "p.npz", {"anything": ["é", 1]})
    assert read_recipe(tmp_path / "p.npz") == {"anything": ["é", 1]}
    again = Path.load(tmp_path / "p.npz", model)
    assert np.array_equal(again.breakpoints, path.breakpoints)
    path.save(tmp_path / "q.npz")
    assert read_recipe(tmp_path / "q.npz") is None


@pytest.mark.parametrize("what", ["alpha", "objective", "partition", "validation"])
def test_pictures(tmp_path, saved, what):
    pytest.importorskip("matplotlib")
    out = tmp_path / "x.png"
    new, labels, _ = two_clouds(seed=1)
    held = write(tmp_path / "held.csv", csv_of(new, labels))
    result = run("plot", saved, "--what", what, "--validate", held, "--out", out)
    assert result.exit_code == 0, result.stderr
    assert out.read_bytes()[:4] == b"\x89PNG"


def test_pictures_that_cannot_be_drawn(tmp_path, saved):
    pytest.importorskip("matplotlib")
    out = tmp_path / "x.png"
    refused(run("plot", saved, "--what", "beta", "--out", out), "--what", "alpha, objective")
    refused(run("plot", saved, "--what", "validation", "--out", out), "--validate")
    refused(run("plot", saved, "--out", tmp_path / "x.doc"), "'doc'", "png")
    refused(run("plot", saved), "--out")
    assert not out.exists()


class Page:
    """What a report looks like from outside."""

    def write_html(self, file):
        with open(file, "w") as stream:
            stream.write("<html>")


def test_reports(tmp_path, data, saved, monkeypatch):
    handed = []

    def report(self, **options):
        handed.append(options["names"])
        return Page()

    monkeypatch.setattr(Path, "report", report, raising=False)
    page = tmp_path / "r.html"
    result = run("report", saved, "--out", page)
    assert result.exit_code == 0, result.stderr
    assert page.read_text() == "<html>"
    assert handed[0][:2] == ["line 2", "line 3"]
    page.unlink()
    result = run("trace", data, "-t", "y", "--C", "1", "--report", page)
    assert result.exit_code == 0, result.stderr
    assert page.exists()


def test_without_reports_the_command_says_so(tmp_path, data, saved, monkeypatch):
    monkeypatch.delattr(PathMethods, "report")
    page = tmp_path / "r.html"
    refused(run("report", saved, "--out", page), "has no report of a path")
    refused(run("trace", data, "-t", "y", "--C", "1", "--report", page), "no report of a path")


# ---------------------------------------------------------------------- plugins


def test_plugins_are_listed():
    result = run("plugins")
    assert result.exit_code == 0
    assert "hinge-ramp" in result.stdout
    assert "Hinge-ramp support vector classification along theta or s" in result.stdout
    found = json.loads(run("plugins", "--json").stdout)["plugins"]
    assert {"lasso", "lad-ramp"} <= {one["name"] for one in found}


def test_one_plugin_in_full():
    result = run("plugins", "hinge-ramp")
    assert "from the table: X, y" in result.stdout
    assert "needed: C" in result.stdout
    assert "theta=0.0" in result.stdout
    found = json.loads(run("plugins", "trend-filter", "--json").stdout)
    assert found["from_table"] == ["y"]
    refused(run("plugins", "hnge-ramp"), "did you mean 'hinge-ramp'")


# ---------------------------------------------------------------------- thresholds


def amounts(tmp_path, n=120):
    """A target in thousands, five of its rows far off."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=n)
    y = 5000.0 + 1000.0 * x + 100.0 * rng.normal(size=n)
    y[:5] += 4000.0
    rows = "\n".join(f"{a:.4f},{b:.2f}" for a, b in zip(x, y, strict=True))
    return write(tmp_path / "amounts.csv", f"x,price\n{rows}\n")


@pytest.mark.parametrize(
    ("loss", "small"), [("lad-ramp", "s=1"), ("huber-ramp --set delta=20", "s=21")]
)
def test_a_threshold_that_was_not_given_follows_from_the_residuals(tmp_path, loss, small):
    file, out = amounts(tmp_path), tmp_path / "path.npz"
    given = ("-t", "price", "--loss", *loss.split(), "--C", "100", "--kernel", "linear")
    done = run("trace", file, *given, "--out", out, "--json")
    assert done.exit_code == 0, done.stderr
    end = json.loads(done.stdout)["end"]["partition"]
    assert 5 <= end["O+"] + end["O-"] <= 15
    assert "--set s=VALUE" in done.stderr
    assert run("certify", out).exit_code == 0
    named = run("trace", file, *given, "--set", small, "--json")
    assert "--set s=VALUE" not in named.stderr
    end = json.loads(named.stdout)["end"]["partition"]
    assert end["O+"] + end["O-"] > 60


@pytest.mark.parametrize(("path", "setting"), [("theta", "s"), ("s", "s_stop")])
def test_every_path_has_the_threshold_of_the_estimator(tmp_path, path, setting):
    file, out = amounts(tmp_path), tmp_path / "path.npz"
    given = ("-t", "price", "--loss", "lad-ramp", "--C", "10", "--kernel", "linear")
    done = run("trace", file, *given, "--path", path, "--out", out)
    said = " ".join(done.stderr.split())
    assert f"three times the spread of the plain fit's residuals (--set {setting}=" in said
    s = float(re.search(r"more than s = (\S+) off", said).group(1))
    x, y = np.loadtxt(file, delimiter=",", skiprows=1, unpack=True)
    machine = RobustSVR(C=10.0, kernel="linear", path=path, robustness=1.0)
    machine.fit(((x - x.mean()) / x.std())[:, None], y)
    model = machine.path_.model
    assert s == pytest.approx(model.s if path == "theta" else model.s_stop, rel=1e-2)
    assert float(read_recipe(out)["settings"][setting]) == s
