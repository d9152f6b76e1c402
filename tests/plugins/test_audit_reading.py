"""`audit` reads the columns of a frame as the command line reads those of a file."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from homotopy import DataError, MissingPackageError
from homotopy_plugins import audit
from homotopy_plugins.auditing.tables import Table
from homotopy_plugins.cli.commands.audit import _as_read
from homotopy_plugins.cli.encoding import frame_of
from homotopy_plugins.cli.files import Reading, table_of
from homotopy_plugins.cli.outside import Audited
from homotopy_plugins.tables.frames import gaps_of
from homotopy_plugins.tables.kinds import Choice


def german(value):
    return f"{value:,.1f}".translate(str.maketrans(",.", ".,"))


def messy(n=120, seed=0):
    """What people have in a frame after they have read a file without a second look; labels."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.5, "stayed", "left")
    sign = np.where(y == "left", 1.0, -1.0)
    rows = np.arange(n)
    X = pd.DataFrame(
        {
            "nr": rows + 1,
            "customer_id": rng.permutation(9000)[:n],
            "store_id": rng.integers(1, 4, n),
            "umsatz": [german(v) for v in 2000.0 + 500.0 * sign + 300.0 * rng.random(n)],
            "price": [f"${v:,.2f}" for v in 1200.0 - 300.0 * sign + 99.0 * rng.random(n)],
            "doubtful": [f"{1 + i % 5},{100 + i}" for i in rows],
            "signed": [f"{1 + i % 28:02d}/{1 + i % 12:02d}/2024" for i in rows],
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 99, n), "D"),
            "stamp": 20240101 + rng.integers(0, 28, n),
            "at": [f"{i % 24}:{i % 60:02d}" for i in rows],
            "age": [str(v) for v in rng.integers(20, 80, n)],
            "plan": rng.choice(["basic", "family", "-"], n),
            "member": rng.random(n) < 0.5,
            "height": np.where(rng.random(n) < 0.1, np.nan, sign + rng.standard_normal(n)),
            "comment": [f"said {i}" for i in rows],
            "one": 1,
        }
    )
    gaps = {"age": "-", "price": "#N/A", "umsatz": "unknown", "plan": None}
    for name, gap in gaps.items():
        X.loc[rng.choice(n, 3, replace=False), name] = gap
    return X, y


def from_file(X, choice=None):
    """What the command line hands over, and what it says."""
    notes: list[str] = []
    table = table_of(X.to_csv(index=False).encode(), "data.csv", Reading())
    return _as_read(frame_of(table, choice or Choice(), notes)), notes


LEFT = ["nr", "customer_id", "comment", "one"]


@pytest.mark.parametrize("part", [None, ["doubtful", "price"], ["doubtful", "umsatz", "height"]])
def test_a_messy_frame_has_the_columns_of_its_file(part):
    X, _ = messy()
    X = X if part is None else X[part]
    frame, _ = from_file(X)
    mine, theirs = Table.of(X), Table.of(frame)
    names = [name for name, _ in mine.sources]
    assert names == list(frame.columns) == [name for name in X.columns if name not in LEFT]
    np.testing.assert_allclose(mine.numbers, theirs.numbers, rtol=1e-12)


def test_what_was_done_is_said_as_the_command_line_says_it():
    X, _ = messy()
    table, (_, notes) = Table.of(X), from_file(X)
    assert len(notes) == 3
    said = [note.replace("'", "").lower() for note in table.notes]
    for note in notes:
        head = note.replace("'", "").split("; --keep")[0].lower()
        assert any(head in one for one in said), note
    assert "Numbers with decimal commas." in Table.of(X[["umsatz", "nr"]]).notes
    left = next(note for note in table.notes if note.startswith("Left out"))
    assert left == (
        "Left out: 'one' (one value only), 'comment' (words that hardly repeat), 'nr' (only counts "
        "the rows), 'customer_id' (identifies rows); keep=[NAME] keeps one."
    )


def test_dates_are_not_said_twice_by_the_command_line():
    X, _ = messy()
    typed, notes = from_file(X)
    assert "signed, day, stamp (dates, in days)" in " ".join(notes)
    report = SimpleNamespace(notes=Table.of(typed).notes)
    assert any(note.startswith("Dates were read") for note in report.notes)
    said = Audited(report, None, None).notes
    assert len(said) == len(report.notes) - 1
    assert not any("Dates" in note for note in said)


def test_rare_categories_and_empty_columns_are_said():
    X = pd.DataFrame({"many": [f"w{i % 30}" for i in range(120)], "x": np.arange(120.0) ** 2})
    X["few"], X["none"] = X["many"].str[:2], np.nan
    notes = Table.of(X.astype({"many": "category", "few": "category"})).notes
    assert notes == (
        "The 19 most frequent categories have a column each, the others share one: 'many' (30).",
        "Empty columns were left out: 'none'.",
    )


def test_the_answer_is_that_of_the_file():
    X, y = messy()
    y[:8] = np.where(y[:8] == "left", "stayed", "left")
    mine = audit(X, y, model=False, cv=3)
    theirs = audit(from_file(X)[0], y, model=False, cv=3)
    np.testing.assert_array_equal(mine.columns["row"], theirs.columns["row"])
    np.testing.assert_allclose(mine.columns["label_quality"], theirs.columns["label_quality"])
    assert "'customer_id' (identifies rows)" in " ".join(mine.summary().split())


def test_numbers_are_taken_as_they_are():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "id": np.arange(50),
            "customer_id": rng.permutation(900)[:50],
            "stamp": 20240101 + rng.integers(0, 28, 50),
            "x": rng.standard_normal(50),
            "few": pd.array(rng.integers(0, 3, 50), dtype="Int64"),
        }
    )
    for given in (X, X.to_numpy(dtype=float), X.to_numpy(dtype=object)):
        table = Table.of(given)
        np.testing.assert_array_equal(table.numbers, X.to_numpy(dtype=float))
        assert table.notes == ()


def test_a_column_can_be_kept():
    X, _ = messy()
    kept = [name for name, _ in Table.of(X, ["nr", "comment"]).sources]
    assert kept == [name for name in X.columns if name not in ("customer_id", "one")]
    y = np.arange(120) % 2
    with pytest.raises(DataError, match="keep: X has no column 'nrr'; did you mean 'nr'"):
        audit(X, y, keep="nrr")
    numbers = np.random.default_rng(0).standard_normal((20, 2))
    with pytest.raises(DataError, match="keep: X has no column 'a'; there is 'column 0'"):
        Table.of(numbers, ["a"])


def test_categories_stay_categories():
    X, _ = messy()
    rng = np.random.default_rng(0)
    X["code"] = pd.Categorical(rng.choice(["1", "2", "10"], 120))
    table = Table.of(X[["code", "price"]])
    assert table.numbers.shape[1] == 5
    assert Table.of(X[["code", "price"]].astype({"code": str})).numbers.shape[1] == 3
    # A category is something to learn from beside a counter.
    assert [name for name, _ in Table.of(X[["nr", "code", "comment"]]).sources] == ["code"]


def test_a_stray_word_is_said():
    X = pd.DataFrame({"a": ["1", "2", "lots", "3", "2"], "b": [1.0, 2.0, 3.0, 5.0, 4.0]})
    table = Table.of(X)
    assert table.numbers.shape[1] == 5
    assert table.notes[0] == (
        "Column 'a' holds 'lots' in row 2 among numbers, so it was read as words; correct it, or "
        "give missing=['lots'] if it stands for a gap."
    )
    table = Table.of(X, missing=gaps_of("lots"))
    np.testing.assert_array_equal(table.numbers[:, 0], [1.0, 2.0, 2.0, 3.0, 2.0])


def with_words(n=80):
    """A column of amounts in which some say nothing in a word that we do not know; labels."""
    X, y = messy(n)
    X["height"] = [f"{v:.4f}" for v in np.random.default_rng(1).random(n)]
    X.loc[[3, 20, 41], "height"] = "verweigert"
    return X, y


def test_a_column_of_numbers_with_words_is_left_out_with_the_way_out():
    X, y = with_words()
    report = audit(X, y, model=False, cv=3)
    said = [note for note in report.notes if "height" in note]
    assert said == [
        "Column 'height' holds 'verweigert' in row 3 (and 2 more) among numbers, so it was left "
        "out, since its words hardly repeat; correct it, or give missing=['verweigert'] if it "
        "stands for a gap."
    ]
    again = audit(X, y, model=False, cv=3, missing=["verweigert"])
    assert any("'height' (3)" in note for note in again.notes)
    assert not any("verweigert" in note for note in again.notes)
    kept = Table.of(X, keep=["height"])
    assert any("(and 2 more) among numbers, so it was read as words" in n for n in kept.notes)
    assert "height" in [name for name, _ in kept.sources]


@pytest.mark.parametrize("kind", ["frame", "array", "objects", "category", "Int64"])
def test_numbers_can_stand_for_a_gap(kind):
    values = np.array([1, 2, -999, 4, 3])
    column = pd.DataFrame({"a": values, "b": [1, 0, 1, 0, 1]})
    given = {
        "frame": column,
        "array": column.to_numpy(),
        "objects": column.to_numpy(dtype=object),
        "category": column.astype({"a": "category"}),
        "Int64": column.astype("Int64"),
    }[kind]
    for missing in (-999, "-999", ["x", -999.0]):
        table = Table.of(given, missing=gaps_of(missing))
        assert any("(1)" in note and "filled in" in note for note in table.notes)
        if kind != "category":
            np.testing.assert_array_equal(table.numbers[:, 0], [1, 2, 2.5, 4, 3])
    assert values[2] == -999
    with pytest.raises(DataError, match="X is sparse"):
        Table.of(sp.csr_matrix(values[:, None]), missing=gaps_of(-999))


@pytest.mark.parametrize("word", ["unbekannt", "keine Angabe", "inconnu", "Desconocido"])
def test_words_for_gaps_in_other_languages(word):
    X = pd.DataFrame({"a": ["1", "2", word, "4", "3"], "b": ["u", "v", word, "v", "u"]})
    table = Table.of(X)
    np.testing.assert_array_equal(table.numbers[:, 0], [1.0, 2.0, 2.5, 4.0, 3.0])
    assert f"Read as missing among numbers: {word!r} (1)." in table.notes


@pytest.mark.parametrize(
    ("words", "numbers"),
    [
        (["$1,234.50", "€ 7", None], [1234.5, 7.0, np.nan]),
        (["12 %", "3.5%", ""], [12.0, 3.5, np.nan]),
        (["(3.00)", "-$4", "£5"], [-3.0, -4.0, 5.0]),
        (["1,000", "2,000,000"], [1000.0, 2000000.0]),
        (["1,00", "2"], [1.0, 2.0]),
        (["3", "4"], [3.0, 4.0]),
        ([3, "n/a", "4.5", True], [3.0, np.nan, 4.5, 1.0]),
        (["red", "$3", "blue"], None),
    ],
)
def test_amounts_as_people_write_them(words, numbers):
    ((_, found),) = Table.of(np.array(words, dtype=object)[:, None]).sources
    if numbers is None:
        assert list(found) == words
    else:
        np.testing.assert_array_equal(found, numbers)


def test_columns_without_names_are_no_ids():
    rng = np.random.default_rng(0)
    X = np.empty((40, 2), dtype=object)
    X[:, 0], X[:, 1] = rng.permutation(9000)[:40], rng.choice(["a", "b"], 40)
    assert [name for name, _ in Table.of(X).sources] == ["column 0", "column 1"]
    names = pd.DataFrame(X, columns=["customer_id", "kind"])
    assert [name for name, _ in Table.of(names).sources] == ["kind"]


def test_columns_of_one_name_are_numbered():
    X = pd.DataFrame([[1.5, "a", "$3"], [2.5, "b", "$4"], [1.0, "a", "$5"]], columns=list("xyx"))
    table = Table.of(X)
    assert [name for name, _ in table.sources] == ["x", "y", "x (2)"]
    assert table.notes[0] == "Columns of the same name numbered: 'x (2)'."


def test_dates_in_texts_need_pandas(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    X = np.array([["2024-01-01", "a"], ["2024-02-01", "b"]], dtype=object)
    with pytest.raises(MissingPackageError, match="reading dates needs pandas"):
        Table.of(X)
