"""Files as people have them, the ugliest first: each is read for what it says, and that is said."""

from __future__ import annotations

import bz2
import csv
import datetime
import gzip
import io
import json
import lzma
import sys
import zipfile

import numpy as np
import pytest
from shell import refused, run, write

from homotopy_plugins.cli.answers import CommandError
from homotopy_plugins.cli.encoding import Encoding, frame_of
from homotopy_plugins.cli.files import Reading, read_table
from homotopy_plugins.tables.kinds import Choice, kinds_of

# An export of a shop in Germany, as Excel there writes it: semicolons, decimal commas, thousands
# with a dot, a title, a customer number, dates, words for gaps, a separator at the end.
SHOP = """Bestellungen 2024;;;;;;
;;;;;;
Kundennr;Datum;Umsatz;Rabatt;Größe;Land;bezahlt;
{rows}
"""


def shop_rows(n=60):
    rng = np.random.default_rng(0)
    rows = []
    for k in range(n):
        amount = 900.0 + 40.0 * k
        written = f"{amount:,.2f}".replace(",", "#").replace(".", ",").replace("#", ".")
        discount = "-" if k == 7 else f"{rng.integers(0, 40)} %"
        size = ["unknown", "#N/A", "k. A."][k % 3] if k in (3, 4, 5) else f"{1 + k % 5},5"
        day = datetime.date(2024, 1, 20) + datetime.timedelta(days=k)
        land = ["Österreich", "Schweiz", ""][k % 3]
        paid = "ja" if k % 2 else "nein"
        rows.append(f"{10_000 + 7 * k};{day:%d.%m.%Y};{written} €;{discount};{size};{land};{paid};")
    return rows


@pytest.fixture
def shop(tmp_path):
    text = SHOP.format(rows="\n".join(shop_rows()))
    return write(tmp_path / "orders.csv", text.replace("\n", "\r\n").encode("cp1252"))


def test_a_german_export_is_read_as_it_was_meant(shop):
    table = read_table(str(shop))
    assert table.names == ["Kundennr", "Datum", "Umsatz", "Rabatt", "Größe", "Land", "bezahlt"]
    assert table.place[:2].tolist() == [4, 5]
    column = {name: table.column(name).cells for name in table.names}
    assert column["Umsatz"].values[[0, 59]].tolist() == [900.0, 900.0 + 40.0 * 59]
    assert np.isnan(column["Rabatt"].values[7])
    assert np.isnan(column["Größe"].values[[3, 4, 5]]).all()
    assert column["Größe"].values[:2].tolist() == [1.5, 2.5]
    first = (datetime.date(2024, 1, 20) - datetime.date(1970, 1, 1)).days
    assert column["Datum"].values.tolist() == [first + k for k in range(60)]
    assert all(
        not one.wrong.size for name, one in column.items() if name not in ("Land", "bezahlt")
    )


def test_what_was_done_to_a_german_export_is_said_in_a_few_lines(shop):
    result = run("trace", shop, "--target", "bezahlt", "--C", "1")
    assert result.exit_code == 0, result.stderr
    lines = result.stderr.strip().splitlines()
    assert len(lines) <= 7, result.stderr
    said = "\n".join(lines)
    assert (
        "values separated by ';', decimal commas, encoding cp1252, 2 lines above the header" in said
    )
    assert "Umsatz, Rabatt (amounts with signs or separators)" in said
    assert "Datum (dates, in days)" in said
    assert "Kundennr (identifies rows)" in said
    assert "--keep COLUMN keeps one" in said
    for gap in ("'-' (1)", "'unknown' (1)", "'k. A.' (1)"):
        assert gap in said


def test_new_rows_are_read_as_the_training_rows_were(tmp_path, shop):
    machine = tmp_path / "machine.npz"
    done = run("select", shop, "-t", "bezahlt", "--Cs", "1", "--cv", "2", "-q", "--out", machine)
    assert done.exit_code == 0, done.stderr
    same = run("predict", machine, shop, "--json", "-q")
    # The same rows as an American would write them, in another order of columns.
    table = read_table(str(shop))
    values = {name: table.column(name).cells.values for name in ("Umsatz", "Rabatt", "Größe")}
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["Land", "Größe", "Rabatt", "Umsatz", "Datum"])
    days = [datetime.date(2024, 1, 20) + datetime.timedelta(days=k) for k in range(60)]
    for k in range(60):
        number = [values[name][k] for name in ("Größe", "Rabatt", "Umsatz")]
        texts = ["NULL" if np.isnan(v) else f"{v:,.2f}" for v in number]
        texts[1] = "n/a" if np.isnan(number[1]) else f"{number[1]:.0f}%"
        texts[2] = f"${texts[2]}"
        writer.writerow([table.column("Land").raw[k], *texts, days[k].isoformat()])
    other = run("predict", machine, write(tmp_path / "new.csv", out.getvalue()), "--json", "-q")
    assert other.exit_code == 0, other.stderr
    decisions = [
        [row["decision"] for row in json.loads(one.stdout)["predictions"]] for one in (same, other)
    ]
    assert np.allclose(*decisions, rtol=1e-12, atol=1e-12)


def test_one_ambiguous_new_row_is_read_in_the_style_of_training(tmp_path):
    rows = "\n".join(f"{k % 28 + 1:02d}/03/2024;{k},{k % 10}5;{'ab'[k % 2]}" for k in range(40))
    file = write(tmp_path / "train.csv", f"day;size;y\n{rows}\n")
    table = read_table(str(file))
    encoding = Encoding.of(table.without(["y"]), Choice(), [])
    # 05/04 is in April as 28/03 was in March; 1,234 is little more than 1 as 12,25 was 12.
    new = read_table(str(write(tmp_path / "new.csv", 'day,size\n05/04/2024,"1,234"\n')))
    day, size = encoding.apply(new, [])[0]
    april = (datetime.date(2024, 4, 5) - datetime.date(1970, 1, 1)).days
    assert day * encoding.columns[0].spread + encoding.columns[0].centre == pytest.approx(april)
    assert size * encoding.columns[1].spread + encoding.columns[1].centre == pytest.approx(1.234)


# ---------------------------------------------------------------------- separators


PLAIN = "size,colour,y\n" + "\n".join(f"{k}.5,{'rgb'[k % 3]},{k % 2}" for k in range(12)) + "\n"


def same_as_plain(tmp_path, table):
    plain = read_table(str(write(tmp_path / "plain.csv", PLAIN)))
    assert table.names == plain.names
    for one, other in zip(table.columns, plain.columns, strict=True):
        assert one.words() == other.words() or np.array_equal(one.numbers()[0], other.numbers()[0])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (PLAIN.replace(",", ";").replace(".", ","), "separated by ';', decimal commas"),
        (PLAIN.replace(",", ";"), "separated by ';'"),
        (PLAIN.replace(",", "\t"), "separated by tabs"),
        (PLAIN.replace(",", "|"), "separated by '|'"),
        (PLAIN.replace(",", "   "), "separated by spaces"),
        ("sep=;\n" + PLAIN.replace(",", ";"), "1 line above the header skipped"),
        ("# made by hand\n#\n" + PLAIN, "2 lines above the header skipped"),
        ("Sales report\n\n" + PLAIN, "2 lines above the header skipped"),
        (PLAIN.replace("\n", ",\n"), ""),
        (PLAIN.replace("\n", ",,\n", 1), ""),
        (PLAIN.replace("5,r", "5,r").replace(",0\n", ",0,\n"), ""),
        (PLAIN.replace("\n", "\n\n"), ""),
        (PLAIN.replace("\n", "\r"), ""),
        ("\ufeff" + PLAIN, ""),
    ],
)
def test_the_separator_is_found_and_said(tmp_path, text, said):
    table = read_table(str(write(tmp_path / "data.csv", text)))
    same_as_plain(tmp_path, table)
    assert said in "".join(table.notes)
    assert bool(said) == bool(table.notes)


def decimals(columns, mark, words, n=60):
    """Rows of numbers with decimal commas in every cell, and a label."""
    values = np.random.default_rng(columns).normal(scale=3.0, size=(n, columns))
    label = (lambda k: ("no", "yes")[k % 2]) if words else (lambda k: str(k % 2))
    return [
        mark.join([*(f"{v:.3f}".replace(".", ",") for v in row), label(k)])
        for k, row in enumerate(values.tolist())
    ]


@pytest.mark.parametrize("columns", [1, 2, 6])
@pytest.mark.parametrize("mark", [";", "|", "\t"])
@pytest.mark.parametrize("words", [True, False])
@pytest.mark.parametrize("title", ["", "Messung 3, Halle 2\n\n", "Messung\n"])
def test_decimal_commas_in_every_cell_separate_nothing(tmp_path, columns, mark, words, title):
    rows = decimals(columns, mark, words)
    names = [f"x{k}" for k in range(columns)] + ["y"]
    text = title + "\n".join([mark.join(names), *rows]) + "\n"
    table = read_table(str(write(tmp_path / "data.csv", text)))
    assert table.names == names
    assert table.column("x0").cells.values[0] == float(rows[0].split(mark)[0].replace(",", "."))


@pytest.mark.parametrize("columns", [1, 2, 6])
@pytest.mark.parametrize("words", [True, False])
def test_decimal_commas_without_a_header(tmp_path, columns, words):
    text = "\n".join(decimals(columns, ";", words)) + "\n"
    table = read_table(str(write(tmp_path / "data.csv", text)), Reading(header=False))
    assert len(table.columns) == columns + 1


def test_many_texts_with_semicolons_inside_are_separated_by_commas(tmp_path):
    rows = "\n".join(f'{k},"a; b; c; d",{k % 2}' for k in range(90))
    table = read_table(str(write(tmp_path / "data.csv", f"n,text,y\n{rows}\n")))
    assert table.names == ["n", "text", "y"]


def test_texts_with_other_separators_inside_do_not_mislead(tmp_path):
    rows = "\n".join(f'{k},"a; b; c | d",{k % 2}' for k in range(20))
    table = read_table(str(write(tmp_path / "data.csv", f"n,text,y\n{rows}\n")))
    assert table.names == ["n", "text", "y"]
    rows = "\n".join(f"{k};Smith, John, Jr.;{k % 2}" for k in range(20))
    table = read_table(str(write(tmp_path / "data.csv", f"n;name;y\n{rows}\n")))
    assert table.column("name").raw[0] == "Smith, John, Jr."


def test_a_line_that_is_too_short_or_too_long_is_still_refused(tmp_path):
    for line, values in (("1.5,r", 2), ("1.5,r,1,7", 4)):
        file = write(tmp_path / "data.csv", PLAIN + line + "\n")
        with pytest.raises(CommandError, match=f"line 14 has {values} values and the header 3"):
            read_table(str(file))


# ---------------------------------------------------------------------- encodings and packing


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "cp1252", "utf-16"])
def test_encodings_are_found(tmp_path, encoding):
    text = PLAIN.replace("colour", "Größe")
    table = read_table(str(write(tmp_path / "data.csv", text.encode(encoding))))
    assert table.names == ["size", "Größe", "y"]


def zipped(*names):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name in names:
            archive.writestr(name, PLAIN)
    return out.getvalue()


@pytest.mark.parametrize(
    ("name", "pack"),
    [
        ("data.csv.gz", gzip.compress),
        ("data.csv.bz2", bz2.compress),
        ("data.csv.xz", lzma.compress),
        ("data.csv.zip", lambda _: zipped("data.csv", "__MACOSX/._data.csv")),
        ("data.zip", lambda _: zipped("folder/data.csv")),
        ("data.csv", gzip.compress),
    ],
)
def test_packed_files_are_read(tmp_path, name, pack):
    same_as_plain(tmp_path, read_table(str(write(tmp_path / name, pack(PLAIN.encode())))))


def test_packed_files_that_cannot_be_read_say_why(tmp_path):
    broken = write(tmp_path / "data.csv.gz", gzip.compress(PLAIN.encode())[:-20])
    refused(run("trace", broken, "-t", "y", "--C", "1"), "damaged", "fetch it again")
    two = write(tmp_path / "two.zip", zipped("a.csv", "b.csv"))
    refused(run("trace", two, "-t", "y", "--C", "1"), "2 files", "a.csv", "unpack it")
    book = write(tmp_path / "book.csv", zipped("xl/workbook.xml"))
    refused(run("trace", book, "-t", "y", "--C", "1"), "call it .xlsx or .zip")


# ---------------------------------------------------------------------- JSON and Excel


def objects():
    lines = [line.split(",") for line in PLAIN.splitlines()[1:]]
    return [{"size": float(size), "colour": colour, "y": int(y)} for size, colour, y in lines]


def test_json_lines(tmp_path):
    text = "\n".join(json.dumps(one) for one in objects())
    table = read_table(str(write(tmp_path / "data.jsonl", text + "\n\n")))
    same_as_plain(tmp_path, table)
    assert (table.counted, table.place[:2].tolist()) == ("line", [1, 2])
    packed = write(tmp_path / "data.ndjson.gz", gzip.compress(text.encode()))
    same_as_plain(tmp_path, read_table(str(packed)))


@pytest.mark.parametrize("wrap", [list, lambda rows: {"status": "ok", "data": rows}])
@pytest.mark.parametrize("indent", [None, 2])
def test_json_lists(tmp_path, wrap, indent):
    text = json.dumps(wrap(objects()), indent=indent)
    table = read_table(str(write(tmp_path / "data.json", text)))
    same_as_plain(tmp_path, table)
    assert table.counted == "row"


def test_json_with_gaps_and_objects_inside(tmp_path):
    rows = [{"a": 1, "who": {"age": 3, "vip": True}}, {"who": {"age": None}, "tags": [1]}]
    text = "\n".join(json.dumps(one) for one in rows)
    table = read_table(str(write(tmp_path / "data.jsonl", text)))
    assert table.names == ["a", "who.age", "who.vip", "tags"]
    assert table.column("who.vip").words() == ["True", None]
    assert np.isnan(table.column("a").numbers()[0][1])


def test_json_that_is_no_table_is_refused(tmp_path):
    for text, words in (
        ('{"a": 1}\n[2]\n', "line 2"),
        ("[1, 2]", "list of objects"),
        ("}", "JSON"),
        ('{"a": [1, 2], "y": ["u", "v"]}', "holds columns ('a', 'y')"),
        ('{"a": {"0": 1, "1": 2},\n"y": {"0": "u", "1": "v"}}', "orient='records'"),
    ):
        file = write(tmp_path / "data.jsonl", text)
        refused(run("trace", file, "-t", "y", "--C", "1"), words)


def test_excel_with_a_title_dates_and_two_sheets(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Orders"
    sheet.append(["Orders of 2024"])
    sheet.append([])
    sheet.append(["when", "price", "kind", "y", None])
    for k in range(12):
        day = datetime.datetime(2024, 3, 1) + datetime.timedelta(days=k)
        price = "n/a" if k == 4 else "1,234.50 €" if k == 5 else 10.0 + k
        sheet.append([day, price, "ab"[k % 2], bool(k % 2), None])
    book.create_sheet("Notes").append(["nothing here"])
    file = tmp_path / "orders.xlsx"
    book.save(file)
    table = read_table(str(file))
    assert table.names == ["when", "price", "kind", "y"]
    assert table.where(0) == "row 4"
    assert "2 of them" not in table.notes[0]
    assert "sheet 'Orders' of 2" in table.notes[0]
    first = (datetime.date(2024, 3, 1) - datetime.date(1970, 1, 1)).days
    assert table.column("when").cells.values[:2].tolist() == [first, first + 1]
    price = table.column("price").cells.values
    assert np.isnan(price[4])
    assert price[5] == 1234.5
    assert table.column("y").words()[:2] == ["False", "True"]
    result = run("trace", file, "--target", "y", "--C", "1", "--sheet", "Notes")
    refused(result, "header and no rows")
    refused(run("trace", file, "-t", "y", "--C", "1", "--sheet", "Sales"), "'Sales'", "Orders")


def test_excel_without_openpyxl_names_the_way_out(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    file = write(tmp_path / "data.xlsx", b"PK\x03\x04")
    refused(run("trace", file, "-t", "y", "--C", "1"), "openpyxl", "save the sheet as CSV")
    old = write(tmp_path / "data.xls", b"\xd0\xcf\x11\xe0")
    refused(run("trace", old, "-t", "y", "--C", "1"), ".xlsx or CSV")


# ---------------------------------------------------------------------- cells


def column(tmp_path, cells, reading=None):
    out = io.StringIO()
    csv.writer(out).writerows([["x", "y"], *([cell, k % 2] for k, cell in enumerate(cells))])
    return read_table(str(write(tmp_path / "cells.csv", out.getvalue())), reading).column("x")


def columns_of(tmp_path, text):
    table = read_table(str(write(tmp_path / "data.csv", text)))
    return {name: table.column(name).cells.values.tolist() for name in table.names}


def test_decimal_points_elsewhere_make_a_doubtful_comma_one_of_thousands(tmp_path):
    found = columns_of(tmp_path, "x;price\n0.13;2,113\n1.30;950\n2.75;1,881\n")
    assert found == {"x": [0.13, 1.3, 2.75], "price": [2113.0, 950.0, 1881.0]}


def test_whole_numbers_below_a_thousand_beside_doubtful_commas_tell(tmp_path):
    counts = "".join(f"{k};{1000 + 37 * k:,}\n" for k in range(9))
    assert columns_of(tmp_path, f"x;price\n{counts}9;950\n")["price"][8:] == [1296.0, 950.0]
    # Without them semicolons tell, as before; and decimal commas elsewhere do.
    assert columns_of(tmp_path, f"x;price\n{counts}")["price"][8:] == [1.296]
    others = "".join(f"{k},5;{1000 + 37 * k:,}\n" for k in range(9))
    assert columns_of(tmp_path, f"x;price\n{others}9,5;950\n")["price"][8:] == [1.296, 950.0]


@pytest.mark.parametrize("other", ["192.168.1.17", "20.01.2024", "1.2.3"])
def test_addresses_versions_and_dates_are_no_votes_for_a_decimal_comma(tmp_path, other):
    text = f'x,price\n{other},"2,113"\n{other},"1,881"\n'
    assert columns_of(tmp_path, text)["price"] == [2113.0, 1881.0]


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["$1,234.50", "$2", "-$3.25", "$-4"], [1234.5, 2.0, -3.25, -4.0]),
        (["1.234,50 €", "2 €", "-3,25€"], [1234.5, 2.0, -3.25]),
        (["(1,200.00)", "300.00", "17-"], [-1200.0, 300.0, -17.0]),
        (["12 %", "7.5%", "0%"], [12.0, 7.5, 0.0]),
        (["1 234 567", "12", "1\u202f234,5"], [1234567.0, 12.0, 1234.5]),
        (["1'234.50", "99"], [1234.5, 99.0]),
        (["CHF 12.50", "USD 1,000", "£7"], [12.5, 1000.0, 7.0]),
        (["1,234", "5,678,901"], [1234.0, 5678901.0]),
        (["1,23,456.00", "7"], [123456.0, 7.0]),
        (["0,5", "1,234"], [0.5, 1.234]),
        (["−3.5", "+2"], [-3.5, 2.0]),
        (["1e-3", "2E5"], [1e-3, 2e5]),
        (["08:30", "17:45:36"], [8.5, 17.76]),
    ],
)
def test_amounts_are_read_as_they_are_meant(tmp_path, cells, values):
    found = column(tmp_path, cells).cells
    assert not found.wrong.size
    assert np.allclose(found.values, values)


@pytest.mark.parametrize(
    "cells",
    [
        ["2024-03-01", "2024-12-31"],
        ["2024-03-01T00:00:00Z", "2024-12-31T00:00:00+00:00"],
        ["2024-03-01 00:00", "2024-12-31 00:00:00.000"],
        ["2024/3/1", "2024/12/31"],
        ["01.03.2024", "31.12.2024"],
        ["01.03.24", "31.12.24"],
        ["3/1/2024", "12/31/2024"],
        ["1/3/2024", "31/12/2024"],
        ["01-03-2024", "31-12-2024"],
        ["1 Mar 2024", "31 Dec 2024"],
        ["01-Mar-2024", "31-Dec-2024"],
        ["Mar 1, 2024", "Dec 31, 2024"],
        ["March 1, 2024", "December 31, 2024"],
        ["1 March 2024", "31 December 2024"],
        ["3/1/2024 12:00 AM", "12/31/2024 12:00 AM"],
        ["20240301", "20241231", "20240301", "20240301", "20240301"],
    ],
)
def test_dates_are_days(tmp_path, cells):
    found = column(tmp_path, cells).cells
    days = [
        (datetime.date(*d) - datetime.date(1970, 1, 1)).days for d in ((2024, 3, 1), (2024, 12, 31))
    ]
    assert not found.wrong.size
    assert found.values[:2].tolist() == days
    assert found.style.kind == "date"


def test_a_time_of_day_is_a_part_of_the_day(tmp_path):
    found = column(tmp_path, ["2024-03-01 12:00", "2024-03-02 06:00"]).cells.values
    assert found[1] - found[0] == 0.75
    found = column(tmp_path, ["3/1/2024 12:00 PM", "3/22/2024 6:00 PM"]).cells.values
    assert found[1] - found[0] == 21.25


def test_dates_that_do_not_tell_are_said_and_can_be_told(tmp_path):
    cells = [f"{1 + k % 12:02d}/{1 + k % 11:02d}/2024" for k in range(60)]
    doubtful = column(tmp_path, cells).cells
    assert not doubtful.style.sure
    said = column(tmp_path, cells, Reading(day_first=True)).cells
    assert said.style.form == "%d/%m/%Y"
    assert said.style.sure
    table = read_table(str(tmp_path / "cells.csv"))
    notes: list[str] = []
    kinds_of(table.without(["y"]), Choice(), notes)
    assert any("--day-first" in note for note in notes)


def test_impossible_dates_are_refused_with_the_place(tmp_path):
    file = write(tmp_path / "data.csv", "d,y\n2024-01-01,a\n2024-02-31,b\n2024-03-01,a\n")
    refused(run("trace", file, "-t", "y", "--C", "1"), "'2024-02-31'", "line 3", "among dates")


@pytest.mark.parametrize(
    "gap",
    ["", "-", "--", "#N/A", "unknown", "Unknown", "?", "n/a", "null", "NULL", "None", ".", "NaN"],
)
def test_gaps_among_numbers(tmp_path, gap):
    found = column(tmp_path, ["1.5", gap, "2.5", "$3"]).cells
    assert np.isnan(found.values[1])
    assert not found.wrong.size


def test_words_that_mean_nothing_among_numbers_mean_something_among_words(tmp_path):
    words = column(tmp_path, ["none", "attached", "-", "?", "", "N/A"]).words()
    assert words == ["none", "attached", "-", None, None, None]


def test_a_class_may_be_called_minus(tmp_path):
    rows = "\n".join(f"{k * k % 7},{'+-'[k % 2]}" for k in range(20))
    result = run(
        "trace", write(tmp_path / "d.csv", f"a,y\n{rows}\n"), "-t", "y", "--C", "1", "--json"
    )
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["n"] == 20


def test_a_target_of_amounts_with_gaps(tmp_path):
    rows = [f'{k * k % 17},"${k},{100 + k}.50"' for k in range(1, 31)]
    rows[4] = "3,unknown"
    file = write(tmp_path / "d.csv", "a,price\n" + "\n".join(rows) + "\n")
    arguments = ("-t", "price", "--loss", "lad-ramp", "--C", "1", "--set", "s=1", "--json")
    result = run("trace", file, *arguments)
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["n"] == 29
    assert "1 row without a target left out (line 6)" in result.stderr


def test_other_gaps_can_be_told_and_are_remembered(tmp_path):
    rows = "\n".join(f"{-999 if k == 3 else k * k % 11},{k % 2}" for k in range(20))
    file = write(tmp_path / "d.csv", f"a,y\n{rows}\n")
    table = read_table(str(file), Reading(missing=("-999",)))
    assert np.isnan(table.column("a").cells.values[3])
    encoding = Encoding.of(table.without(["y"]), Choice(), [])
    again = Encoding.from_json(json.loads(json.dumps(encoding.to_json())))
    notes: list[str] = []
    again.apply(read_table(str(file)), notes)
    assert any("a (1)" in note for note in notes)


def test_a_stray_word_among_numbers_is_refused_with_the_way_out(tmp_path):
    file = write(tmp_path / "d.csv", "a,y\n1,0\n2,1\nlots,0\n4,1\n")
    refused(run("trace", file, "-t", "y", "--C", "1"), "'lots'", "line 4", "--missing 'lots'")


# ---------------------------------------------------------------------- columns


def test_counters_and_identifiers_are_left_out_unless_they_are_kept(tmp_path):
    rng = np.random.default_rng(0)
    rows = [
        f"{k},{9000 + 13 * k},{rng.integers(1, 4)},{1980 + k},{rng.integers(10**6)},{rng.normal()},"
        f"{k % 2}"
        for k in range(40)
    ]
    head = "nr,CustomerID,store_id,year,paid,x,y"
    table = read_table(str(write(tmp_path / "d.csv", head + "\n" + "\n".join(rows) + "\n")))
    features = table.without(["y"])
    notes: list[str] = []
    kinds = kinds_of(features, Choice(), notes)
    assert kinds == {"store_id": "category", "year": "number", "paid": "number", "x": "number"}
    assert notes == [
        "left out: nr (only counts the rows), CustomerID (identifies rows); --keep COLUMN keeps one"
    ]
    kept = kinds_of(features, Choice(keep=("nr", "CustomerID")), [])
    assert kept["nr"] == kept["CustomerID"] == "number"
    both = run("trace", tmp_path / "d.csv", "-t", "y", "--C", "1", "--keep", "x", "--drop", "x")
    refused(both, "--keep and --drop both name 'x'")


def test_a_counter_is_kept_where_there_is_nothing_else(tmp_path):
    rows = "\n".join(f"{k},{k % 2}" for k in range(20))
    table = read_table(str(write(tmp_path / "d.csv", f"k,y\n{rows}\n")))
    assert kinds_of(table.without(["y"]), Choice(), []) == {"k": "number"}


def test_columns_of_one_name_are_numbered_and_said(tmp_path):
    table = read_table(str(write(tmp_path / "d.csv", "a,a,y,a\n1,2,3,4\n5,6,7,8\n")))
    assert table.names == ["a", "a (2)", "y", "a (3)"]
    assert "same name numbered (a (2), a (3))" in table.notes[0]


def test_the_audit_is_shown_dates_as_dates(shop):
    table = read_table(str(shop)).without(["bezahlt"])
    frame = frame_of(table, Choice(), [])
    assert str(frame["Datum"].iloc[0])[:10] == "2024-01-20"
    assert frame["Umsatz"].iloc[1] == 940.0


@pytest.mark.parametrize("word", ["-", ".", "unknown", "none", "missing"])
def test_words_for_gaps_are_gaps_among_cells_that_are_numbers(tmp_path, word):
    """In Excel and JSON the other cells are numbers already."""
    lines = [json.dumps({"age": 30 + i if i % 5 else word, "y": i % 2}) for i in range(20)]
    column = read_table(str(write(tmp_path / "data.jsonl", "\n".join(lines)))).column("age")
    values, wrong = column.numbers()
    assert not wrong.size
    assert np.isnan(values[::5]).all()
    assert np.isfinite(np.delete(values, np.arange(0, 20, 5))).all()
