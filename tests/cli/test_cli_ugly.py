"""Ugly tables first: each is read for what it is, or refused in one line that says what to do."""

from __future__ import annotations

import json

import numpy as np
import pytest
from shell import csv_of, refused, run, two_clouds, write

from homotopy_plugins.cli.answers import CommandError
from homotopy_plugins.cli.encoding import Encoding
from homotopy_plugins.cli.files import Reading, read_table
from homotopy_plugins.cli.targets import encoded_target
from homotopy_plugins.tables.kinds import Choice

X, Y, _ = two_clouds()
GOOD = csv_of(X, Y)


@pytest.fixture
def table(tmp_path):
    def make(text, name="data.csv"):
        return write(tmp_path / name, text)

    return make


def traced(file, *more):
    return run("trace", file, "--target", "y", "--C", "1", "--json", *more)


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        "\ufeff" + GOOD,
        GOOD.replace("\n", "\r\n"),
        GOOD.replace("\n", "\n\n"),
        GOOD.replace("a,b,y", '"a","b","y"').replace("yes", '"yes"'),
        GOOD.rstrip("\n"),
        GOOD.replace("a,b,y", " a , b , y "),
    ],
    ids=["plain", "bom", "crlf", "empty lines", "quotes", "no last newline", "spaces"],
)
def test_all_spellings_of_one_table_are_one_table(table, text):
    reference = traced(table(GOOD, "reference.csv"))
    result = traced(table(text))
    assert result.exit_code == 0, result.stderr
    assert result.stdout == reference.stdout


def test_lines_are_those_of_the_file(table):
    file = table('a,b\n1,x\n\n2,"two\nlines"\n\n3,z\n')
    assert read_table(str(file)).place.tolist() == [2, 4, 7]


def test_unicode_names_of_columns(table):
    file = table(GOOD.replace("a,b,y", "Größe,长度,naïve 🙂"))
    result = run("trace", file, "--target", "naïve 🙂", "--C", "1", "--json")
    assert result.exit_code == 0, result.stderr
    refused(run("trace", file, "--target", "naive 🙂", "--C", "1"), "did you mean 'naïve 🙂'?")


def test_an_encoding_that_is_given_is_kept_to(table):
    file = table(GOOD.replace("yes", "jä").encode("latin-1"))
    refused(traced(file, "--encoding", "utf-8"), "byte 0xe4", "--encoding")
    assert traced(file, "--encoding", "latin-1").exit_code == 0
    refused(traced(file, "--encoding", "klingon"), "klingon", "utf-8")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["data.csv is empty"]),
        ("\n\n", ["data.csv is empty"]),
        ("a,b,y\n", ["a header and no rows"]),
        (GOOD.split("\n", 1)[1].replace("no", "0").replace("yes", "1"), ["no header", "line 1"]),
        (GOOD.replace("a,b,y", "a,y,y"), ["several columns", "'y'", "rename"]),
        (GOOD + "1,2\n", ["line 42 has 2 values and the header 3"]),
        (GOOD + '1,"2,no\n', ["line 42", "quote"]),
        (GOOD + "1,abc,no\n", ["column 'b'", "'abc'", "line 42", "--category"]),
        (GOOD + "1,1e300,no\n", ["column 'b'", "1e+300", "line 42"]),
        (GOOD + "1,inf,no\n", ["column 'b'", "inf", "line 42"]),
        (GOOD.replace("yes", "no"), ["one class", "no"]),
        ("a,b,y\n1,2,no\n", ["one row with a target, line 2"]),
        (GOOD + "1,1,maybe\n", ["3 classes", "maybe", "no", "yes"]),
        ("a,b,y\n1,2,\n2,3,\n", ["target 'y' is missing in every row"]),
        (b"\x00\x01\xff\xfe" * 40, ["data.csv", "--encoding"]),
    ],
    ids=[
        "empty",
        "blank",
        "header only",
        "no header",
        "two targets",
        "short line",
        "open quote",
        "text among numbers",
        "1e300",
        "inf",
        "one class",
        "one row",
        "three classes",
        "no targets",
        "binary",
    ],
)
def test_what_cannot_be_used_is_refused_in_one_line(table, text, words):
    result = run("trace", table(text), "-q", "--target", "y", "--C", "1")
    line = refused(result, *words)
    assert line.startswith("homotopy trace: ")


def test_no_header_is_read_if_that_is_said(table):
    file = table(GOOD.split("\n", 1)[1])
    result = run("trace", file, "--no-header", "--target", "c3", "--C", "1", "--json")
    assert result.exit_code == 0, result.stderr
    assert read_table(str(file), Reading(header=False)).place[0] == 1


def test_missing_files_and_folders_name_what_is_there(tmp_path, table):
    file = table(GOOD)
    refused(run("trace", tmp_path / "dta.csv", "-t", "y", "--C", "1"), "did you mean 'data.csv'?")
    refused(run("trace", tmp_path, "-t", "y", "--C", "1"), "is a folder")
    refused(run("trace", tmp_path / "no" / "x.csv", "-t", "y", "--C", "1"), "no folder")
    other = file.rename(tmp_path / "data.sav")
    refused(run("trace", other, "-t", "y", "--C", "1"), "'.sav'", "CSV")


def test_missing_targets_leave_rows_out_and_say_which(table):
    file = table(GOOD + "1,1,\n2,2,NaN\n")
    result = traced(file)
    assert result.exit_code == 0
    assert "2 rows without a target left out (line 42, 43)" in result.stderr
    assert '"n": 40' in result.stdout


def test_missing_values_and_categories_are_said(table):
    lines = GOOD.splitlines()
    lines[0] = "a,b,colour,y"
    for k in range(1, len(lines)):
        first, second, label = lines[k].split(",")
        colour = ["red", "green", ""][k % 3]
        lines[k] = f"{'' if k == 5 else first},{second},{colour},{label}"
    result = traced(table("\n".join(lines)))
    assert result.exit_code == 0, result.stderr
    assert "one column for each category: colour" in result.stderr
    assert "filled in with the median of their column: a (1)" in result.stderr
    assert "standardised" in result.stderr


def test_columns_of_no_use_are_left_out_and_named(table):
    lines = [f",name,same,{GOOD.splitlines()[0]}"]
    for k, line in enumerate(GOOD.splitlines()[1:]):
        lines.append(f"{k},person {k},7,{line}")
    result = traced(table("\n".join(lines)))
    assert result.exit_code == 0, result.stderr
    assert "same (one value only)" in result.stderr
    assert "name (words that hardly repeat)" in result.stderr
    assert "column 1 (only counts the rows)" in result.stderr
    assert result.stdout == traced(table(GOOD)).stdout


def test_empty_columns_are_not_said_to_have_a_value(table):
    text = "\n".join(f"{line},,NA" for line in GOOD.splitlines()[1:])
    result = traced(table(f"a,b,y,c,d\n{text}\n"))
    assert "left out: c, d (empty)" in result.stderr


def test_what_becomes_of_rare_categories_is_said(table):
    lines = [f"{line},w{k % 15}" for k, line in enumerate(GOOD.splitlines()[1:])]
    said = traced(table("a,b,y,c\n" + "\n".join(lines) + "\n")).stderr
    assert "one column for each category: c\n" in said
    lines = [f"{line},{k % 30}" for k, line in enumerate(GOOD.splitlines()[1:])]
    said = traced(table("a,b,y,c\n" + "\n".join(lines) + "\n"), "--category", "c").stderr
    assert "one column for each category: c (19 of 30, the rarest share one)\n" in said


def test_a_first_row_of_values_and_other_separators_name_the_way_out(table):
    refused(traced(table("2.041,-2.556,yes\n1.5,2.5,no\n")), "there is '2.041'", "--no-header")
    given = ("trace", table(GOOD), "-t", "Y", "--C", "1", "--delimiter", ";")
    refused(run(*given), "if ',' separates the values, give --delimiter ','")
    for text in (GOOD, '"a, c",b,Y\n1,2,no\n'):
        said = refused(run("trace", table(text), "-t", "z", "--C", "1"))
        assert "--no-header" not in said
        assert "--delimiter" not in said


def test_nothing_left_to_learn_from(table):
    refused(run("trace", table("a,y\n1,no\n1,yes\n"), "-t", "y", "--C", "1"), "no column is left")


def test_whole_numbers_as_labels(table):
    as_words = traced(table(GOOD))
    for low, high in ((0, 1), (-1, 1), (3, 17)):
        as_numbers = traced(table(csv_of(X, Y, words=(str(low), str(high)))))
        assert as_numbers.stdout == as_words.stdout


def test_one_class_against_the_others(table):
    file = table(GOOD + "1,1,maybe\n0,1,maybe\n")
    assert traced(file, "--positive", "maybe").exit_code == 0
    refused(traced(file, "--positive", "mybe"), "no class 'mybe'", "did you mean 'maybe'?")


def test_labels_hidden_in_quotes_and_markup_stay_text(table):
    result = traced(table(GOOD.replace("a,b,y", "[red]a[/red],<script>,y").replace("yes", "[b]")))
    assert result.exit_code == 0, result.stderr
    file = table("a,b\n1,[bold]\n2,x\n")
    refused(run("trace", file, "-t", "[link]", "--C", "1"), "[link]")


def test_control_characters_never_reach_the_terminal(table):
    file = table("a,b\n1,x\n2,y\n")
    result = run("trace", file, "--target", "\x1b[31mred", "--C", "1")
    assert "\x1b" not in refused(result)


# ---------------------------------------------------------------------- encodings


def encoded(file, **choice):
    whole = read_table(str(file))
    picked = Choice(target="y", **choice)
    target = encoded_target(whole, picked, [])
    features = whole.take(target.rows).without(["y"])
    encoding = Encoding.of(features, picked, [])
    return encoding, encoding.apply(features, []), features


def test_an_encoding_returns_from_json_to_the_same_numbers(table):
    rows = "\n".join(f"{k / 7},{'uvw'[k % 3]},{k % 2}" for k in range(30))
    encoding, matrix, features = encoded(table(f"a,c,y\n{rows}\n,,1\n"))
    again = Encoding.from_json(json.loads(json.dumps(encoding.to_json())))
    assert np.array_equal(again.apply(features, []), matrix)
    assert again.names == ["a", "c=u", "c=v", "c=w", "c=missing"]


def test_many_categories_share_the_last_column(table):
    rows = "\n".join(f"w{k % 30},{k % 2}" for k in range(120))
    encoding, matrix, _ = encoded(table(f"c,y\n{rows}\n"))
    assert matrix.shape == (120, 20)
    assert encoding.names[-1] == "c=other"
    assert np.all(matrix.sum(axis=1) == 1.0)


def test_numbers_can_be_categories(table):
    rows = "\n".join(f"{k % 3},{k % 2}" for k in range(12))
    encoding, _, _ = encoded(table(f"c,y\n{rows}\n"), category=("c",))
    assert encoding.names == ["c=0", "c=1", "c=2"]


@pytest.mark.parametrize(
    "data",
    [
        None,
        {},
        {"columns": [], "features": None},
        {"columns": [{"name": 3}], "features": None},
        {"columns": [{"name": "a", "kind": "number", "fill": 0, "centre": 0, "spread": 0}]},
        {"columns": [{"name": "a", "kind": "number", "fill": "x", "centre": 0, "spread": 1}]},
        {"columns": [{"name": "a", "kind": "category", "known": [3]}], "features": None},
        {"columns": [], "features": -1},
    ],
)
def test_a_spoiled_encoding_is_refused(data):
    with pytest.raises(ValueError, match="not one of ours"):
        Encoding.from_json(data)


@pytest.mark.parametrize(
    ("values", "task"),
    [
        (["a", "b", "c"] * 10, "classification"),
        (["0", "1"] * 15, "classification"),
        (["0.5", "1.5"] * 15, "classification"),
        ([str(k % 3) for k in range(30)], "classification"),
        ([str(k) for k in range(30)], "regression"),
        ([str(k / 4) for k in range(30)], "regression"),
    ],
)
def test_the_kind_of_target(table, values, task):
    rows = "\n".join(f"{k},{v}" for k, v in enumerate(values))
    notes: list[str] = []
    whole = read_table(str(table(f"a,y\n{rows}\n")))
    assert encoded_target(whole, Choice(target="y"), notes).task == task
    assert (len(notes) == 1) == values[0][0].isdigit()


def test_a_stray_word_among_numeric_targets_is_named(table):
    rows = "\n".join(f"{k},{k / 3}" for k in range(30))
    whole = read_table(str(table(f"a,y\n{rows}\n1,abc\n")))
    with pytest.raises(CommandError, match="'abc' in line 32 among numbers"):
        encoded_target(whole, Choice(target="y"), [])


# ---------------------------------------------------------------------- what is written


@pytest.mark.parametrize(
    ("arguments", "ending"),
    [
        (("trace", "DATA", "-t", "y", "--C", "1", "--out"), ".npz"),
        (("trace", "DATA", "-t", "y", "--C", "1", "--report"), ".html"),
        (("select", "DATA", "-t", "y", "--out"), ".npz"),
        (("select", "DATA", "-t", "y", "--out", "m.npz", "--report"), ".html"),
        (("audit", "DATA", "-t", "y", "--html"), ".html"),
        (("audit", "DATA", "-t", "y", "--csv"), ".csv"),
        (("audit", "DATA", "-t", "y", "--apply", "decisions.csv", "--out"), ".csv"),
        (("predict", "m.npz", "DATA", "--out"), ".csv"),
        (("report", "p.npz", "--out"), ".html"),
        (("plot", "p.npz", "--out"), "png"),
    ],
)
def test_an_output_never_replaces_a_file_of_another_kind(tmp_path, monkeypatch, arguments, ending):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "data.csv", "a,y\n1,no\n2,yes\n")
    arguments = ["data.csv" if one == "DATA" else one for one in arguments]
    precious = write(tmp_path / "precious.xlsx", "precious")
    refused(run(*arguments, precious), "precious.xlsx", ending)
    assert precious.read_bytes() == b"precious"
    refused(run(*arguments, "data.csv"), "data.csv")
    refused(run(*arguments, "-"), "-: ")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["data.csv", "precious.xlsx"]


def test_arrays_of_the_user_are_not_replaced_by_a_path(tmp_path, table):
    arrays = tmp_path / "arrays.npz"
    np.savez(arrays, X=np.ones((3, 2)), y=np.arange(3))
    data = table("a,y\n1,no\n2,yes\n")
    said = refused(run("trace", data, "-t", "y", "--C", "1", "--out", arrays), "arrays.npz")
    assert "exists and was not written by homotopy" in said
