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

    def write_html(self, file, apply):
        with open(file, "w") as stream:
            stream.write(f"<html>{apply}</html>")


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
    command = f"homotopy audit {data} --target y --apply decisions.csv --out corrected.csv"
    assert page.read_text() == f"<html>To apply your decisions: {command}</html>"
    rows = list(csv.DictReader(io.StringIO(table.read_text())))
    assert len(rows) == 60
    flagged = [int(row["line"]) for row in rows if row["is_label_issue"] == "True"]
    shown = [int(line.split()[0]) for line in done.stdout.splitlines()[3:-1]]
    assert shown == flagged
    assert done.stdout.splitlines()[-1].startswith("label_quality is the probability that the lab")
    assert "row" not in rows[0]
    # The header is line 1, so that row 0 is line 2.
    assert set(TURNED + 2) <= set(flagged)
    lines = data.read_text().splitlines()
    for row in rows:
        assert lines[int(row["line"]) - 1].endswith(row["given_label"])


def test_the_page_shows_the_command_for_its_file(tmp_path, calls):
    file = write(tmp_path / "my data.txt", csv_of(X, Y).replace(",", ";"))
    page = tmp_path / "r.html"
    options = ("-t", "y", "--delimiter", ";", "--missing", "-9", "--task", "classification")
    assert run("audit", file, *options, "--html", page).exit_code == 0
    said = (
        f"homotopy audit '{file}' --target y --task classification --delimiter ';' --missing -9 "
        "--apply decisions.csv --out corrected.txt"
    )
    assert said in page.read_text()


def test_what_the_audit_is_handed(data, calls):
    run("audit", data, "-t", "y", "--cv", "4", "--seed", "7", "--jobs", "1", "--drop", "b")
    ((handed, y, options),) = calls
    assert list(handed.columns) == ["a"]
    assert handed.index.tolist() == list(range(2, 62))
    assert set(y) == {"no", "yes"}
    assert options == {"cv": 4, "random_state": 7, "task": "classification", "n_jobs": 1} | {
        "verbose": True
    }


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
    assert "10 rows without a target" in done.stderr


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
    page = tmp_path / "r.html"
    done = run("audit", file, "-t", "y", "--json", "--html", page)
    found = json.loads(done.stdout)
    cannot = "cannot be written into a .parquet file (--apply takes CSV, JSON and Excel)"
    assert cannot in done.stderr
    assert cannot in page.read_text()
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


class Grouped(StandIn):
    """With groups, and rows that are flagged though they are likely right."""

    class Group:
        def __init__(self, size):
            self.rows = range(size)

        def __str__(self):
            return f"{len(self.rows)} similar rows"

    def __init__(self, X, y, options):
        super().__init__(X, y, options)
        self.groups = tuple(self.Group(size) for size in range(3, 46))
        self.frame["is_label_issue"] = np.arange(len(y)) < 10
        self.frame["label_quality"] = 0.31 + 0.03 * np.arange(len(y))


def test_few_groups_are_printed_and_the_quality_is_explained(data, monkeypatch):
    monkeypatch.setattr(homotopy_plugins, "audit", lambda X, y, **options: Grouped(X, y, options))
    lines = run("audit", data, "-t", "y", "--top", "2").stdout.splitlines()
    assert lines[1:7] == [f"{size} similar rows" for size in range(45, 40, -1)] + [
        "and 38 more groups (--html shows them)"
    ]
    # An empty line, a header, two rows, and one about the quality.
    assert len(lines) == 12
    assert "7 of the 10 flagged rows are below 0.5; less certain ones are flagged" in lines[-1]


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
    assert "read as numbers: price (amounts with signs or separators)" in done.stderr
    assert calls[0][0]["price"].tolist() == [1000.5 + 900.0 * (k % 2) for k in range(40)]


def test_what_was_kept_is_not_read_again(tmp_path):
    """Neither a text nor numbers that are categories are judged twice."""
    rows = [f"said {k},{k % 30},{k % 2 + 0.1 * (k % 7)},{['no', 'yes'][k % 2]}" for k in range(60)]
    file = write(tmp_path / "d.csv", "comment,shop,x,y\n" + "\n".join(rows) + "\n")
    out = tmp_path / "page.html"
    done = run(
        *("audit", file, "-t", "y", "--html", out, "--cv", "2"),
        *("--keep", "comment", "--category", "shop"),
    )
    assert done.exit_code == 0, done.stderr
    assert "left out" not in done.stderr
    assert all(f'"name":"{name}"' in out.read_text() for name in ("comment", "shop", "x"))


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
    last = run("demo", "--folder", tmp_path).stdout.splitlines()[-2:]
    assert last[0].endswith("To audit a table of your own:")
    assert last[1] == "  homotopy audit YOUR.csv --target COLUMN --html review.html"
    file = write(tmp_path / "file", "x")
    refused(run("demo", "--folder", file / "no"), "--folder", "cannot be made")


def test_the_demo_has_what_it_says():
    planted, clean = planted_table(300, 0.1, 0), planted_table(300, 0.0, 0)
    assert planted.lines.size == 30
    rows = planted.text.splitlines()
    assert len(rows) == 301
    assert clean.lines.size == 0
    assert planted_table(300, 0.1, 0).text == planted.text


def test_gaps_among_numbers_are_listed(tmp_path, calls):
    rows = [f"{'-' if k % 9 == 0 else k},{['no', 'yes'][k % 2]}" for k in range(36)]
    file = write(tmp_path / "d.csv", "a,y\n" + "\n".join(rows) + "\n")
    assert "read as missing among numbers: '-' (4)" in run("audit", file, "-t", "y").stderr


def test_a_target_that_names_rows(tmp_path, calls):
    rows = [f"K-{k},{1000 + k},{k % 7}" for k in range(90)]
    file = write(tmp_path / "d.csv", "name,code,a\n" + "\n".join(rows) + "\n")
    said = refused(run("audit", file, "-t", "name", "-q"), "90 different values in 90 rows")
    assert said.endswith("too many to be classes; give another --target")
    options = ("-t", "code", "--task", "classification", "-q")
    refused(run("audit", file, *options), "or --task regression if they are amounts")
    assert calls == []


def test_the_target_is_asked_for_with_the_last_column(tmp_path, calls):
    file = write(tmp_path / "d.csv", "a,b,c,d,e,f,g,h,y\n" + "1,2,3,4,5,6,7,8,no\n" * 9)
    refused(run("audit", file, "-q"), "which column is the target?", "'h', 'y'")
    wide = ",".join(f"x{k}" for k in range(40))
    file = write(tmp_path / "d.csv", wide + "\n" + ",".join("1" * 40) + "\n")
    refused(run("audit", file, "-q"), "there is 'x0', 'x1'", "'x13', 24 more, 'x38', 'x39'")


@pytest.mark.skipif(not hasattr(homotopy_plugins, "audit"), reason="this branch has no audit")
@pytest.mark.parametrize("kinds", [2, 3, 15, 20, 21])
def test_python_and_the_command_agree_about_the_task(tmp_path, kinds):
    from homotopy_plugins.auditing.targets import column_of, task_of
    from homotopy_plugins.cli.files import read_table
    from homotopy_plugins.cli.targets import encoded_target
    from homotopy_plugins.tables.kinds import Choice

    for rows, unit in ((200, 1.0), (3 * kinds, 1.0), (3 * kinds - 1, 1.0), (200, 0.25)):
        y = unit * (np.arange(rows) % kinds)
        text = "a,y\n" + "".join(f"{k},{value}\n" for k, value in enumerate(y))
        table = read_table(str(write(tmp_path / "d.csv", text)))
        task = encoded_target(table, Choice("y"), []).task
        assert task == task_of(column_of(y, rows), "auto")
        few = kinds == 2 or (unit == 1.0 and kinds <= 20 and rows >= 3 * kinds)
        assert task == ("classification" if few else "regression")


@pytest.mark.skipif(not hasattr(homotopy_plugins, "audit"), reason="this branch has no audit")
def test_where_nothing_can_be_said_the_command_says_so(tmp_path):
    rng = np.random.default_rng(0)
    file = write(tmp_path / "d.csv", csv_of(rng.standard_normal((120, 2)), rng.integers(0, 2, 120)))
    done = run("audit", file, "-t", "y", "--cv", "3")
    assert done.exit_code == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "We cannot say how many of the 120 labels are wrong."
    assert lines[1].startswith("Red: no estimate is given: the columns do not predict the target")
    assert len(lines) == 2
    ranked = run("audit", file, "-t", "y", "--cv", "3", "--top", "1").stdout.splitlines()
    assert ranked[-1].startswith("label_quality only ranks the rows here")


@pytest.mark.skipif(not hasattr(homotopy_plugins, "audit"), reason="this branch has no audit")
def test_the_demo_finds_what_was_planted(tmp_path):
    found = json.loads(run("demo", "--folder", tmp_path, "--json", "-q").stdout)
    assert found["found"] >= 0.8 * len(found["planted"])
    assert len(found["suspected"]) <= 1.5 * len(found["planted"])
