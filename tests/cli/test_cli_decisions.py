"""audit --apply: what was decided goes into the table, and nothing else changes."""

from __future__ import annotations

import gzip
import io
import json
import re
import zipfile

import pytest
from shell import csv_of, refused, run, two_clouds, write

pytest.importorskip("pandas")
pytest.importorskip("sklearn")

TABLE = 'name,y,note\r\nAda,no,"a, b"\r\n\r\nBob,yes,"two\nlines"\r\nCy,no,\r\nDan,yes,x'
HEAD = "line,decision,given,corrected\n"


def applied(tmp_path, table, decisions, *more, out=None):
    """`table` is a file, or the text of a CSV file; `more` are options."""
    file = write(tmp_path / "data.csv", table) if isinstance(table, str) else table
    decided = write(tmp_path / "decisions.csv", decisions)
    out = out or file.with_name(f"corrected{''.join(file.suffixes)}")
    return run("audit", file, "-t", "y", "--apply", decided, "--out", out, *more), out


# ---------------------------------------------------------------------- CSV


def test_decisions_are_applied_and_nothing_else_changes(tmp_path):
    done, out = applied(tmp_path, TABLE, HEAD + "4,wrong,yes,no\n2,right,no,\n6,unsure,no,\n")
    assert done.exit_code == 0, done.stderr
    assert done.stdout == f"{out}: 1 label corrected; 2 left as they are\n"
    assert out.read_bytes().decode() == TABLE.replace("Bob,yes", "Bob,no")


def test_a_correction_that_changes_nothing_is_told(tmp_path):
    done, out = applied(tmp_path, TABLE, HEAD + "4,wrong,yes,yes\n2,wrong,no,yes\n")
    assert done.stdout == f"{out}: 1 label corrected; 1 left as they are\n"
    assert done.stderr == "called wrong, but corrected to the label they have: line 4\n"
    assert out.read_bytes().decode() == TABLE.replace("Ada,no", "Ada,yes")


def test_the_last_line_keeps_its_end(tmp_path):
    done, out = applied(tmp_path, TABLE, HEAD + "7,wrong,yes,no\n")
    assert done.exit_code == 0, done.stderr
    assert out.read_bytes().decode() == TABLE.replace("Dan,yes", "Dan,no")


def test_decisions_about_numbers_and_other_separators(tmp_path):
    options = ("--delimiter", ";", "--decimal", ",", "--task", "regression", "--json")
    table = "x;y\n1;2,50\n3;4\n5;6,5\n"
    done, out = applied(tmp_path, table, HEAD + "2,wrong,2.5,25.75\n3,wrong,4,4,5\n", *options)
    refused(done, "5 values and the header 4")
    done, out = applied(tmp_path, table, HEAD + '2,wrong,2.5,25.75\n3,wrong,4,"4,5"\n', *options)
    assert json.loads(done.stdout) == {"out": str(out), "changed": 2, "emptied": 0, "kept": 0}
    assert out.read_text() == "x;y\n1;25,75\n3;4,5\n5;6,5\n"
    done, out = applied(tmp_path, table, HEAD + "2,wrong,2.5,much\n", *options)
    refused(done, "'much' is not a number")


def test_classes_that_are_numbers_are_written_as_the_column_does(tmp_path):
    done, out = applied(tmp_path, "x,y\n1,1.0\n2,0.0\n3,1.0\n", HEAD + "2,wrong,1,0\n")
    assert done.exit_code == 0, done.stderr
    assert out.read_text() == "x,y\n1,0.0\n2,0.0\n3,1.0\n"


def test_a_column_that_is_left_out_does_not_move_the_target(tmp_path):
    done, out = applied(tmp_path, "x,,y\n1,,no\n2,,yes\n3,,no\n", HEAD + "2,wrong,no,yes\n")
    assert done.exit_code == 0, done.stderr
    assert out.read_text() == "x,,y\n1,,yes\n2,,yes\n3,,no\n"


def test_a_compressed_table_stays_one(tmp_path):
    file = write(tmp_path / "data.csv.gz", gzip.compress(TABLE.encode()))
    done, out = applied(tmp_path, file, HEAD + "2,wrong,no,yes\n")
    assert done.exit_code == 0, done.stderr
    assert gzip.decompress(out.read_bytes()).decode() == TABLE.replace("Ada,no", "Ada,yes")


def test_stdin_can_be_corrected(tmp_path):
    decided = write(tmp_path / "decisions.csv", HEAD + "3,wrong,b,a\n")
    out = tmp_path / "out.csv"
    options = ("-t", "y", "--apply", decided, "--out", out)
    done = run("audit", "-", *options, stdin="x,y\n1,a\n2,b\n3,b\n")
    assert done.exit_code == 0, done.stderr
    assert out.read_text() == "x,y\n1,a\n2,a\n3,b\n"


# ---------------------------------------------------------------------- refused


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("4,wrong,no,yes\n", ["line 4 of", "'yes' as y", "made for 'no'"]),
        ("3,wrong,no,yes\n", ["has no row in line 3"]),
        ("1,wrong,y,no\n", ["has no row in line 1"]),
        ("99,wrong,no,yes\n", ["has no row in line 99"]),
        ("4,maybe,yes,no\n", ["line 2 has 'maybe' as decision", "'wrong', 'right' or 'unsure'"]),
        ("4,wrong,yes,no\n4,wrong,yes,no\n", ["line 3 decides about line 4 again", "keep one"]),
        ("x,wrong,yes,no\n", ["line 2 has 'x' as line", "a number"]),
        ("4,wrong,yes,\n7,wrong,yes,\n", ["line 2 (and 1 more)", "empty", "--allow-empty"]),
        ("4,wrong,yes,No\n", ["'No' does not occur in 'y'", "did you mean 'no'?", "--allow-new"]),
    ],
)
def test_decisions_that_do_not_fit_are_refused(tmp_path, text, words):
    done, out = applied(tmp_path, TABLE, HEAD + text)
    refused(done, *words)
    assert not out.exists()


def test_what_is_allowed_is_done(tmp_path):
    decisions = HEAD + "4,wrong,yes,perhaps\n7,wrong,yes,\n"
    done, out = applied(tmp_path, TABLE, decisions, "--allow-empty", "--allow-new")
    assert done.stdout == f"{out}: 1 label corrected, 1 emptied; 0 left as they are\n"
    expected = TABLE.replace("Bob,yes", "Bob,perhaps").replace("Dan,yes", "Dan,")
    assert out.read_bytes().decode() == expected


def test_a_label_the_encoding_does_not_have(tmp_path):
    file = write(tmp_path / "data.csv", "x,y\n1,ä\n2,b\n3,b\n".encode("cp1252"))
    done, _ = applied(tmp_path, file, HEAD + "3,wrong,b,Ω\n", "--allow-new")
    refused(done, "written in cp1252", "'Ω'", "save it as UTF-8")


def test_apply_needs_a_place_to_write_to(tmp_path):
    data = write(tmp_path / "data.csv", csv_of(*two_clouds()[:2]))
    refused(run("audit", data, "-t", "y", "--apply", data), "--out FILE belong together")
    refused(run("audit", data, "-t", "y", "--out", "x.csv"), "--out FILE belong together")
    refused(run("audit", data, "-t", "y", "--apply", data, "--out", data), "is what is read")
    out = tmp_path / "out.csv"
    refused(run("audit", data, "-t", "y", "--apply", data, "--out", out), "columns line, decision")
    other = tmp_path / "out.xlsx"
    refused(run("audit", data, "-t", "y", "--apply", data, "--out", other), "ends in '.csv'")
    parquet = tmp_path / "d.parquet"
    refused(
        run("audit", parquet, "-t", "y", "--apply", data, "--out", out),
        "CSV, JSON and Excel",
        "'.parquet'",
    )


# ---------------------------------------------------------------------- JSON


def test_json_lines_keep_their_looks(tmp_path):
    text = '{"a": 1.50,"y" : "no"}\n\n{ "y":"y\\u0065s", "a":2}\r\n{"a":3,"y":"no","b":{"y":"x"}}\n'
    file = write(tmp_path / "data.jsonl", text)
    done, out = applied(tmp_path, file, HEAD + "1,wrong,no,yes\n4,wrong,no,yes\n")
    assert done.exit_code == 0, done.stderr
    expected = text.replace('"y" : "no"', '"y" : "y\\u0065s"').replace(
        '"y":"no"', '"y":"y\\u0065s"'
    )
    assert out.read_bytes().decode() == expected


def test_lists_of_objects_numbers_and_truth(tmp_path):
    text = '{"rows": [\n  {"in": {"y": true}, "a": 1},\n  {"in": {"y": false}, "a": [2, "}"]},\n'
    text += '  {"a": 3, "in": {"y": true}}\n], "made": "today"}\n'
    file = write(tmp_path / "data.json", text)
    decided = write(
        tmp_path / "decisions.csv", "row,decision,given,corrected\n2,wrong,True,False\n"
    )
    out = tmp_path / "corrected.json"
    done = run("audit", file, "-t", "in.y", "--apply", decided, "--out", out)
    assert done.exit_code == 0, done.stderr
    assert out.read_text() == text.replace('3, "in": {"y": true}', '3, "in": {"y": false}')


def test_amounts_in_json_and_what_is_allowed(tmp_path):
    file = write(tmp_path / "d.jsonl", '{"y":1.5}\n{"y":22.5}\n{"y":3.25}\n{"y":"4.5"}\n')
    decisions = HEAD + "2,wrong,22.5,2.25\n3,wrong,3.25,\n4,wrong,4.5,45\n"
    done, out = applied(tmp_path, file, decisions, "--allow-empty", "--task", "regression")
    assert done.exit_code == 0, done.stderr
    assert out.read_text() == '{"y":1.5}\n{"y":2.25}\n{"y":null}\n{"y":"45"}\n'
    file = write(tmp_path / "d.jsonl", '{"y":"ä"}\n{"y":"b"}\n{"y":"b"}\n')
    done, out = applied(tmp_path, file, HEAD + '2,wrong,b,"ü "\n', "--allow-new")
    assert out.read_text(encoding="utf-8") == '{"y":"ä"}\n{"y":"ü"}\n{"y":"b"}\n'


# ---------------------------------------------------------------------- Excel


def workbook(tmp_path, rows, sheets=("data",)):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.remove(book.active)
    for title in sheets:
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
        sheet["B3"].number_format = "0.00"
    file = tmp_path / "data.xlsx"
    book.save(file)
    return file


ROWS = [["a", "y", "twice"], *([k, "no & yes"[: 2 + 6 * (k % 2)], f"=A{k}*2"] for k in range(2, 9))]
EXCEL_HEAD = "row,decision,given,corrected\n"


def parts(file):
    with zipfile.ZipFile(file) as book:
        return {name: book.read(name) for name in book.namelist()}


def test_a_workbook_keeps_all_but_the_decided_cells(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    file = workbook(tmp_path, ROWS, ("other", "data"))
    decisions = EXCEL_HEAD + "2,wrong,no,no & yes\n3,wrong,no & yes,maybe <1>\n4,wrong,no,\n"
    options = ("--sheet", "data", "--allow-new", "--allow-empty")
    done, out = applied(tmp_path, file, decisions, *options)
    assert done.exit_code == 0, done.stderr
    assert done.stdout.endswith("2 labels corrected, 1 emptied; 0 left as they are\n")
    before, after = parts(file), parts(out)
    assert [name for name in before if before[name] != after[name]] == ["xl/worksheets/sheet2.xml"]
    sheet = openpyxl.load_workbook(out)["data"]
    written = [cell.value for cell in sheet["B"]]
    assert written == ["y", "no & yes", "maybe <1>", None, *(row[1] for row in ROWS[4:])]
    assert [cell.value for cell in sheet["C"]] == [row[2] for row in ROWS]
    assert sheet["B3"].number_format == "0.00"


def altered(file, change):
    """The same workbook with its parts changed by hand."""
    with zipfile.ZipFile(file) as book:
        held = {info: book.read(info) for info in book.infolist()}
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as book:
        for info, text in held.items():
            book.writestr(info, change(info.filename, text))
    file.write_bytes(out.getvalue())
    return file


def test_formulas_are_computed_again_when_a_workbook_is_opened(tmp_path):
    file = workbook(tmp_path, ROWS)
    altered(file, lambda _, text: text.replace(b' fullCalcOnLoad="1"', b""))
    done, out = applied(tmp_path, file, EXCEL_HEAD + "2,wrong,no,no & yes\n")
    assert done.exit_code == 0, done.stderr
    assert b"fullCalcOnLoad" not in parts(file)["xl/workbook.xml"]
    assert b'<calcPr fullCalcOnLoad="1"' in parts(out)["xl/workbook.xml"]


def test_a_table_that_does_not_begin_in_the_corner(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active["A1"] = "Customers, all regions"
    for k, row in enumerate(ROWS):
        for j, value in enumerate(row):
            book.active.cell(k + 4, j + 3, value)
    file = tmp_path / "data.xlsx"
    book.save(file)
    # Some programs write the names of elements with a prefix.
    altered(file, lambda name, text: prefixed(text) if "sheet1" in name else text)
    done, out = applied(tmp_path, file, EXCEL_HEAD + "5,wrong,no,no & yes\n")
    assert done.exit_code == 0, done.stderr
    sheet = openpyxl.load_workbook(out).active
    assert [cell.value for cell in sheet["D"]][3:6] == ["y", "no & yes", "no & yes"]


def prefixed(text):
    text = re.sub(rb"<(/?)(\w)", rb"<\1x:\2", text)
    return text.replace(b"xmlns=", b"xmlns:x=")


def test_numbers_and_formulas_of_a_workbook(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    rows = [["a", "y"], *([k, 1.5 * k] for k in range(2, 9))]
    file = workbook(tmp_path, rows)
    decisions = EXCEL_HEAD + "3,wrong,4.5,45.5\n"
    done, out = applied(tmp_path, file, decisions, "--task", "regression")
    assert done.exit_code == 0, done.stderr
    assert openpyxl.load_workbook(out)["data"]["B3"].value == 45.5
    altered(file, lambda _, text: text.replace(b"<v>4.5</v>", b"<f>A3*1.5</f><v>4.5</v>"))
    done, _ = applied(tmp_path, file, decisions, "--task", "regression")
    refused(done, "B3 holds a formula")
