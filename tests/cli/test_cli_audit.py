"""audit and demo: how the command speaks with the audit, and what it makes of its answer."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest
from shell import csv_of, refused, run, two_clouds, write

import homotopy_plugins
from homotopy_plugins.cli.planted import planted_table

pd = pytest.importorskip("pandas")
pytest.importorskip("sklearn")

X, Y, TURNED = two_clouds(60, wrong=6)


class StandIn:
    """A report as the command sees it: rows ranked by the distance to the other class' mean."""

    notes = ("Something was filled in.",)

    def __init__(self, X, y, options):
        self.options = options
        numbers = X.toarray() if hasattr(X, "toarray") else X.select_dtypes("number").to_numpy()
        numbers = np.nan_to_num(np.asarray(numbers, dtype=float))
        y = np.asarray(y)
        classes = np.unique(y)
        centres = {c: np.median(numbers[y == c], axis=0) for c in classes}
        own = np.array([np.linalg.norm(r - centres[c]) for r, c in zip(numbers, y, strict=True)])
        rest = [
            min(np.linalg.norm(row - centres[c]) for c in classes if c != label)
            for row, label in zip(numbers, y, strict=True)
        ]
        quality = np.array(rest) - own
        order = np.argsort(quality)
        index = X.index.to_numpy()[order] if hasattr(X, "index") else order
        self.frame = pd.DataFrame(
            {
                "row": order,
                "is_label_issue": quality[order] < 0.0,
                "label_quality": quality[order],
                "given_label": y[order],
                "predicted_label": classes[0],
                "reason": "far from its own",
            },
            index=index,
        )

    def to_frame(self):
        return self.frame

    def summary(self):
        return f"About {int(self.frame['is_label_issue'].sum())} labels are wrong.\n  more lines"

    def write_html(self, file):
        with open(file, "w") as stream:
            stream.write("<html>audit</html>")


@pytest.fixture
def calls(monkeypatch):
    made = []

    def audit(X, y, **options):
        made.append((X, y, options))
        return StandIn(X, y, options)

    monkeypatch.setattr(homotopy_plugins, "audit", audit, raising=False)
    return made


@pytest.fixture
def data(tmp_path):
    return write(tmp_path / "data.csv", csv_of(X, Y))


def test_rows_are_named_by_their_line(tmp_path, data, calls):
    page, table = tmp_path / "r.html", tmp_path / "all.csv"
    done = run("audit", data, "--target", "y", "--html", page, "--csv", table)
    assert done.exit_code == 0, done.stderr
    assert done.stdout.startswith("About ")
    assert "Something was filled in." in done.stderr
    assert page.read_text() == "<html>audit</html>"
    rows = list(csv.DictReader(io.StringIO(table.read_text())))
    assert len(rows) == 60
    flagged = [int(row["line"]) for row in rows if row["is_label_issue"] == "True"]
    shown = [int(line.split()[0]) for line in done.stdout.splitlines()[3:]]
    assert shown == flagged
    assert "row" not in rows[0]
    # The header is line 1, so that row 0 is line 2.
    assert set(TURNED + 2) <= set(flagged)
    lines = data.read_text().splitlines()
    for row in rows:
        assert lines[int(row["line"]) - 1].endswith(row["given_label"])


def test_what_the_audit_is_handed(data, calls):
    run("audit", data, "-t", "y", "--cv", "4", "--seed", "7", "--jobs", "1", "--drop", "b")
    ((handed, y, options),) = calls
    assert list(handed.columns) == ["a"]
    assert handed.index.tolist() == list(range(2, 62))
    assert set(y) == {"no", "yes"}
    assert options == {"cv": 4, "random_state": 7, "task": "classification", "n_jobs": 1}


def test_gaps_words_and_missing_targets(tmp_path, calls):
    rows = [
        f"{k},{'' if k % 7 == 0 else 'uvw'[k % 3]},{['no', 'yes', ''][k % 3]}" for k in range(30)
    ]
    file = write(tmp_path / "d.csv", "\ufeffa,c,y\r\n\r\n" + "\r\n".join(rows) + "\r\n")
    done = run("audit", file, "-t", "y")
    assert done.exit_code == 0, done.stderr
    ((handed, _, _),) = calls
    assert handed.index.tolist() == [3 + k for k in range(30) if k % 3 != 2]
    assert handed["c"].isna().sum() == sum(k % 7 == 0 and k % 3 != 2 for k in range(30))
    assert "10 rows have no target" in done.stderr


def test_sparse_rows_are_named_by_line_too(tmp_path, calls):
    from sklearn.datasets import dump_svmlight_file

    file = tmp_path / "d.svm"
    dump_svmlight_file(X, Y, str(file))
    file.write_text("# a comment\n" + file.read_text())
    found = json.loads(run("audit", file, "--json", "-q").stdout)
    assert set(TURNED + 2) <= set(found["lines"])


def test_parquet_rows_are_counted_from_0(tmp_path, calls):
    pytest.importorskip("pyarrow")
    file = tmp_path / "d.parquet"
    pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": Y}).to_parquet(file)
    found = json.loads(run("audit", file, "-t", "y", "--json", "-q").stdout)
    assert set(TURNED) <= set(found["rows_suspected"])
    assert found["table"][0]["row"] in found["rows_suspected"]


def test_json_and_stdin(data, calls):
    done = run("audit", "-", "-t", "y", "--json", stdin=data.read_text())
    found = json.loads(done.stdout)
    assert found["rows"] == 60
    assert found["suspected"] == len(found["lines"])
    assert set(TURNED + 2) <= set(found["lines"])


def test_top_shows_so_many(data, calls):
    found = json.loads(run("audit", data, "-t", "y", "--top", "50", "--json").stdout)
    assert len(found["table"]) == 50
    assert found["suspected"] < 50


@pytest.mark.parametrize(
    ("text", "arguments", "words"),
    [
        (csv_of(X, Y), ["-t", "Y"], ["no column 'Y'", "did you mean 'y'?"]),
        (csv_of(X, Y * 0), ["-t", "y"], ["one value (no)"]),
        ("", ["-t", "y"], ["is empty"]),
        (csv_of(X, Y) + "1,x,no\n", ["-t", "y"], ["'x' in line 62"]),
        (csv_of(X, Y), ["-t", "y", "--html", "no/where.html"], ["there is no folder"]),
        (csv_of(X, Y), ["-t", "y", "--top", "0"], ["--top", "0"]),
    ],
)
def test_what_is_refused(tmp_path, calls, text, arguments, words):
    file = write(tmp_path / "data.csv", text)
    refused(run("audit", file, "-q", *arguments), *words)
    assert calls == []


def test_time_can_be_limited(data, calls):
    run("audit", data, "-t", "y", "--max-seconds", "20")
    assert calls[0][2]["max_seconds"] == 20.0
    refused(run("audit", data, "-t", "y", "--max-seconds", "0"), "--max-seconds")


def test_amounts_as_people_write_them_are_read(tmp_path, calls):
    rows = [f'"${1000 + 900 * (k % 2):,}.50",{["no", "yes"][k % 2]}' for k in range(40)]
    file = write(tmp_path / "d.csv", "price,y\n" + "\n".join(rows) + "\n")
    done = run("audit", file, "-t", "y")
    assert "amounts with signs and separators were read as numbers: price" in done.stderr
    assert calls[0][0]["price"].tolist() == [1000.5 + 900.0 * (k % 2) for k in range(40)]


# ---------------------------------------------------------------------- decisions


TABLE = 'name,y,note\r\nAda,no,"a, b"\r\n\r\nBob,yes,"two\nlines"\r\nCy,no,\r\nDan,yes,x'


def decided(tmp_path, text, table=TABLE, *more):
    file = write(tmp_path / "data.csv", table)
    decisions = write(tmp_path / "decisions.csv", "line,decision,given,corrected\n" + text)
    out = tmp_path / "corrected.csv"
    return run("audit", file, "-t", "y", "--apply", decisions, "--out", out, *more), out


def test_decisions_are_applied_and_nothing_else_changes(tmp_path, calls):
    done, out = decided(tmp_path, "4,wrong,yes,no\n2,right,no,\n6,unsure,no,\n7,wrong,yes,\n")
    assert done.exit_code == 0, done.stderr
    assert done.stdout == f"{out}: 1 labels corrected, 1 emptied; 2 decided about and kept\n"
    expected = TABLE.replace("Bob,yes", "Bob,no").replace("Dan,yes,x", "Dan,,x\n")
    assert out.read_bytes().decode() == expected
    assert calls == []


def test_decisions_about_numbers_and_other_separators(tmp_path):
    table = "x;y\n1;2,50\n3;4\n"
    done, out = decided(
        tmp_path, "2,wrong,2.5,25\n", table, "--delimiter", ";", "--decimal", ",", "--json"
    )
    assert json.loads(done.stdout) == {"out": str(out), "changed": 1, "emptied": 0, "kept": 0}
    assert out.read_text() == "x;y\n1;25\n3;4\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("4,wrong,no,yes\n", ["line 4 of", "'yes' as y", "made for 'no'"]),
        ("3,wrong,no,yes\n", ["has no row in line 3"]),
        ("99,wrong,no,yes\n", ["has no row in line 99"]),
        ("4,maybe,yes,no\n", ["says 'maybe'", "wrong, right, unsure"]),
        ("4,wrong,yes,no\n4,wrong,yes,no\n", ["names it twice"]),
        ("x,wrong,yes,no\n", ["names line 'x'"]),
    ],
)
def test_decisions_that_do_not_fit_are_refused(tmp_path, text, words):
    done, out = decided(tmp_path, text)
    refused(done, *words)
    assert not out.exists()


def test_apply_needs_a_place_to_write_to(tmp_path, data):
    refused(run("audit", data, "-t", "y", "--apply", data), "--out FILE belong together")
    refused(run("audit", data, "-t", "y", "--out", "x.csv"), "--out FILE belong together")
    refused(run("audit", data, "-t", "y", "--apply", data, "--out", data), "is what is read")
    out = tmp_path / "out.csv"
    refused(run("audit", data, "-t", "y", "--apply", data, "--out", out), "columns line, decision")


def test_errors_of_the_audit_are_one_line(data, monkeypatch):
    def audit(X, y, **options):
        raise ValueError("too few\nrows")

    monkeypatch.setattr(homotopy_plugins, "audit", audit, raising=False)
    refused(run("audit", data, "-t", "y", "-q"), "audit: too few rows")


def test_ctrl_c_ends_it_with_a_word(tmp_path, data, monkeypatch):
    def audit(X, y, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(homotopy_plugins, "audit", audit, raising=False)
    done = run("audit", data, "-t", "y", "--html", tmp_path / "r.html", "-q")
    assert done.exit_code == 130
    assert done.stderr == "homotopy audit: interrupted; nothing was written\n"
    assert not (tmp_path / "r.html").exists()


def test_without_the_audit_the_command_says_so(tmp_path, data, monkeypatch):
    def nothing(name):
        raise AttributeError(name)

    # In this order: what is made when asked for is there, but cannot be taken away.
    monkeypatch.setattr(homotopy_plugins, "__getattr__", nothing)
    monkeypatch.delattr(homotopy_plugins, "audit", raising=False)
    refused(run("audit", data, "-t", "y"), "has no homotopy_plugins.audit")
    refused(run("demo", "--folder", tmp_path), "has no homotopy_plugins.audit")
    assert not list(tmp_path.glob("homotopy-demo*"))


def test_the_demo_counts_honestly(tmp_path, calls):
    done = run("demo", "--folder", tmp_path, "--json", "--seed", "3")
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    planted = planted_table(300, 0.1, 3)
    assert found["planted"] == planted.lines.tolist()
    assert (tmp_path / "homotopy-demo.csv").read_text() == planted.text
    assert found["found"] == len(set(found["planted"]) & set(found["suspected"]))
    assert (tmp_path / "homotopy-demo.html").exists()
    refused(run("demo", "--folder", tmp_path / "no"), "no folder")


def test_the_demo_has_what_it_says():
    planted, clean = planted_table(300, 0.1, 0), planted_table(300, 0.0, 0)
    assert planted.lines.size == 30
    rows = planted.text.splitlines()
    assert len(rows) == 301
    assert clean.lines.size == 0
    assert planted_table(300, 0.1, 0).text == planted.text


@pytest.mark.skipif(not hasattr(homotopy_plugins, "audit"), reason="this branch has no audit")
def test_where_nothing_can_be_said_the_command_says_so(tmp_path):
    rng = np.random.default_rng(0)
    file = write(tmp_path / "d.csv", csv_of(rng.standard_normal((120, 2)), rng.integers(0, 2, 120)))
    done = run("audit", file, "-t", "y", "--cv", "3")
    assert done.exit_code == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "How many of the 120 labels are wrong cannot be said."
    assert lines[1].startswith("Red: no number is given: the columns do not predict the target")
    assert len(lines) == 2


@pytest.mark.skipif(not hasattr(homotopy_plugins, "audit"), reason="this branch has no audit")
def test_the_demo_finds_what_was_planted(tmp_path):
    found = json.loads(run("demo", "--folder", tmp_path, "--json", "-q").stdout)
    assert found["found"] >= 0.8 * len(found["planted"])
    assert len(found["suspected"]) <= 1.5 * len(found["planted"])
