"""`audit`: tables as ugly as they come, the answer, how many, and the pages."""

from __future__ import annotations

import json
import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from joblib import parallel_config
from sklearn.datasets import load_breast_cancer, load_iris, make_blobs, make_moons
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.metrics import average_precision_score
from sklearn.model_selection import KFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import homotopy_plugins
from homotopy import DataError, Homotopy, ModelError
from homotopy_plugins import AuditReport, HingeRamp, LADRamp, RobustSVC, RobustSVR, audit
from homotopy_plugins.auditing.blend import blended_residual, blended_score
from homotopy_plugins.auditing.tables import Table
from homotopy_plugins.auditing.wrong_labels import Plateaus
from homotopy_plugins.wording import shown

COLUMNS = [
    "row",
    "is_label_issue",
    "label_quality",
    "given_label",
    "predicted_label",
    "margin_start",
    "margin_end",
    "outlier_from",
    "share",
    "group",
    "reason",
]


def moons(n=120, flips=12, seed=0):
    """Two clear classes, some labels wrong; X, y and who is wrong."""
    X, y = make_moons(n, noise=0.1, random_state=seed)
    wrong = np.zeros(n, dtype=bool)
    wrong[np.random.default_rng(seed).choice(n, flips, replace=False)] = True
    return X, np.where(wrong, 1 - y, y), wrong


def precision(report, wrong):
    found = report.columns
    return average_precision_score(wrong[found["row"]], 1.0 - found["label_quality"])


def ugly(n=90, seed=0):
    """Numbers with gaps, words, categories, dates, a constant, names, a column to be escaped."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 3 == 0, "no", "yes")
    sign = np.where(y == "yes", 1.0, -1.0)
    height = sign + 0.3 * rng.standard_normal(n)
    height[5] = np.nan
    colour = np.where(sign > 0, "red", "blue").astype(object)
    colour[7], colour[8] = None, "green"
    return pd.DataFrame(
        {
            "height": height,
            "colour": colour,
            "size": pd.Categorical(rng.choice(["s", "m", "l"], n)),
            "when": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 99, n), "D"),
            "member": rng.random(n) < 0.5,
            "constant": np.ones(n),
            "empty": np.full(n, np.nan),
            "name": [f"person {k}" for k in range(n)],
            "<script>alert(1)</script>": rng.integers(0, 5, n),
        },
        index=[f"id-{k}" for k in range(n)],
    ), pd.Series(y, index=[f"id-{k}" for k in range(n)])


# ---------------------------------------------------------------------- tables as they come


def test_an_ugly_table():
    X, y = ugly()
    y = y.copy()
    y.iloc[[1, 3]] = ["no", "yes"]
    kept = X.copy(deep=True)
    report = audit(X, y)
    pd.testing.assert_frame_equal(X, kept)
    frame = report.to_frame()
    assert list(frame.columns) == COLUMNS
    assert sorted(frame.index) == sorted(X.index)
    assert list(frame.index) == [f"id-{k}" for k in frame["row"]]
    assert set(frame.index[:2]) == {"id-1", "id-3"}
    assert (frame["label_quality"].between(0, 1)).all()
    assert frame["label_quality"].is_monotonic_increasing
    notes = " ".join(report.notes)
    assert "'height' (1)" in notes
    assert "'colour' (1)" in notes
    assert "'empty' (empty), 'constant' (one value only)" in notes
    assert "'name'" in notes
    assert "'when'" in notes


@pytest.mark.parametrize(
    "labels",
    [
        np.array([False, True]),
        np.array([0, 1]),
        np.array([0.0, 1.0]),
        np.array([-1, 1]),
        np.array(["no", "yes"]),
        np.array(["no", "yes"], dtype=object),
        np.array([0, "yes"], dtype=object),
    ],
    ids=str,
)
def test_labels_of_any_kind(labels):
    X, y, wrong = moons()
    report = audit(X, labels[y], model=False, cv=3)
    assert report.task == "classification"
    assert precision(report, wrong) > 0.8
    frame = report.to_frame()
    assert (
        set(frame["given_label"])
        == set(frame["predicted_label"])
        == set(labels if labels.dtype != object or isinstance(labels[0], str) else ["0", "yes"])
    )


@pytest.mark.parametrize("kind", ["category", "string", "list", "frame", "Int64"])
def test_labels_of_pandas(kind):
    X, y, _ = moons(60, 4)
    words = np.array(["no", "yes"])[y]
    given = {
        "category": lambda: pd.Series(words, dtype="category"),
        "string": lambda: pd.Series(words, dtype="string"),
        "list": lambda: list(words),
        "frame": lambda: pd.DataFrame({"label": words}),
        "Int64": lambda: pd.Series(y, dtype="Int64"),
    }[kind]()
    linear = LogisticRegression()
    plain = audit(X, y if kind == "Int64" else words, model=linear, cv=3)
    np.testing.assert_array_equal(
        audit(X, given, model=linear, cv=3).columns["row"], plain.columns["row"]
    )


def test_the_same_rows_in_another_order_are_refused():
    X, y = ugly(30)
    with pytest.raises(DataError, match=r"same index in another order; give y\.loc\[X\.index\]"):
        audit(X, y.iloc[::-1])
    # An index that has nothing to do with that of X is no statement about the order.
    assert len(audit(X, y.reset_index(drop=True), model=False, cv=2)) == 30


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, pd.NaT], ids=str)
def test_labels_that_are_missing_are_refused(missing):
    X, y, _ = moons(30, 0)
    labels = np.array(["no", "yes"], dtype=object)[y]
    labels[[4, 9]] = missing
    with pytest.raises(DataError, match=r"y has no value in row 4, 9 .*leave rows without a label"):
        audit(X, labels)


@pytest.mark.parametrize(
    ("X", "y", "words"),
    [
        (np.ones((8, 2)), [0, 1] * 4, "no column that tells rows apart"),
        (np.zeros((8, 0)), [0, 1] * 4, "X has no columns"),
        (np.arange(8.0), [0, 1] * 4, r"must be a table.*X.reshape\(-1, 1\)"),
        ("f.csv", [0, 1] * 4, r"got 'f.csv'; if that is a file, read it first"),
        (np.eye(8), [1] * 8, "every row of y is .*two classes"),
        (np.eye(8), [0, 1] * 3, "X has 8 rows and y has 6"),
        (np.eye(8), np.ones((8, 2)), "y must be one column, got 2"),
        (
            np.eye(8),
            [0] * 7 + [1],
            "two classes of 3 rows or more, and of 0, 1 only one has that many",
        ),
        (np.diag([np.inf] + [1.0] * 7), [0, 1] * 4, "'column 0' of X is infinite in row 0"),
        (1j * np.eye(8), [0, 1] * 4, "complex"),
        (np.eye(30), [f"name {k}" for k in range(30)], "30 classes in 30 rows"),
    ],
)
def test_tables_that_are_refused(X, y, words):
    with pytest.raises(DataError, match=words):
        audit(X, y, model=False)


def test_targets_that_are_refused():
    with pytest.raises(DataError, match=r"y\[2\] is inf"):
        audit(np.eye(4), [0.5, 1.0, np.inf, 2.0])
    with pytest.raises(DataError, match=r"every row of y is 1\.5"):
        audit(np.eye(4), [1.5] * 4)
    with pytest.raises(DataError, match="no column of numbers"):
        audit(np.eye(4), ["a", "b", "c", "d"], task="regression")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"cv": 1}, "cv must be at least 2"),
        ({"cv": "five"}, "cv must be a whole number, a splitter"),
        ({"cv": [(np.arange(20), np.arange(20, 60))]}, "row 0 is held out 0 times"),
        ({"level": 1.0}, "level must lie between 0 and 1"),
        ({"C": -1.0}, "C must be positive"),
        ({"task": "ranking"}, "task must be 'auto'"),
        ({"model": RandomForestClassifier}, "must be a scikit-learn estimator"),
        ({"model": "forest"}, "must be a scikit-learn estimator"),
        ({"model": Ridge()}, "model=Ridge is not a classifier"),
        ({"model": LogisticRegression(), "task": "regression"}, "is not a regressor"),
    ],
)
def test_options_that_are_refused(options, words):
    X, y, _ = moons(60, 4)
    with pytest.raises(ModelError, match=words):
        audit(X, y, **options)


@pytest.mark.parametrize("n", [6, 8, 12])
def test_few_rows(n):
    X, y = make_blobs(n, centers=[[-3, 0], [3, 0]], random_state=0)
    report = audit(X, y)
    assert report.verdict.colour != "green"
    assert f"{n} rows are few" in " ".join(report.summary().split())
    low, high = report.interval or (0, 0)
    assert 0 <= low <= (report.n_wrong or 0) <= high <= n
    assert len(report.to_frame()) == n


def test_four_rows_are_too_few_for_folds():
    with pytest.raises(DataError, match="3 rows are too few to hold some out"):
        audit(np.eye(3), [0.5, 1.5, 2.5], model=False)


def test_repeated_rows():
    X, y, _ = moons(80, 6)
    report = audit(np.vstack([X, X]), np.r_[y, y], model=False, cv=3)
    # A wrong row that is there twice vouches for itself; the answer is still a number of rows.
    assert 0 <= report.n_wrong <= 160
    assert np.all(np.isfinite(report.columns["label_quality"]))


def test_sparse_is_dense():
    X, y, _ = moons(80, 6)
    X = np.where(np.abs(X) < 0.3, 0.0, X)
    dense = audit(X, y, model=False, cv=3)
    for kind in (sp.csr_matrix, sp.coo_matrix, sp.csc_array):
        sparse = audit(kind(X), y, model=False, cv=3)
        np.testing.assert_array_equal(sparse.columns["row"], dense.columns["row"])


def test_a_large_sparse_table_stays_sparse(monkeypatch):
    monkeypatch.setattr("homotopy_plugins.auditing.tables.DENSE", 10)
    X, y, wrong = moons(120, 8)
    report = audit(sp.csr_matrix(X), y, model=LogisticRegression(), cv=3)
    assert precision(report, wrong) > 0.5


def test_of_many_rows_some_are_traced_and_all_are_watched(monkeypatch):
    for module in ("scores", "labels", "run"):
        monkeypatch.setattr(f"homotopy_plugins.auditing.{module}.TRACED", 60)
    X, y, wrong = moons(150, 10)
    report = audit(X, y, model=False, cv=3)
    assert "Paths were traced on a random sample of 60 rows" in " ".join(report.notes)
    assert precision(report, wrong) > 0.8
    assert np.all(np.isfinite(report.columns["margin_end"]))


def test_a_label_that_occurs_once_is_a_suspect():
    X, y, _ = moons(60, 0)
    words = np.array(["no", "yes"], dtype=object)[y]
    words[10] = "yse"
    report = audit(X, words, model=False, cv=3)
    frame = report.to_frame()
    assert frame["row"].iloc[0] == 10
    assert frame["label_quality"].iloc[0] == 0.0
    assert frame["predicted_label"].iloc[0] == ["no", "yes"][y[10]]
    assert frame["reason"].iloc[0] == "no other row is labelled 'yse'"
    assert report.interval[0] >= 1


def test_words_and_numbers_in_one_column():
    table = Table.of(np.array([[1, "a"], [2, "b"], ["x", "a"], [None, "b"]], dtype=object))
    assert table.numbers.shape[1] == 5
    assert table.index is None
    assert "holds 'x' in row 2 among numbers" in table.notes[0]
    assert len(table.notes) == 2


def test_missing_values_are_marked():
    numbers = Table.of(np.array([[1.0], [np.nan], [3.0], [5.0]])).numbers
    np.testing.assert_array_equal(numbers, [[1, 0], [3, 1], [3, 0], [5, 0]])


# ---------------------------------------------------------------------- the answer


def test_planted_labels_are_found_and_counted():
    data = load_breast_cancer()
    y = data.target.copy()
    wrong = np.zeros(y.size, dtype=bool)
    wrong[np.random.default_rng(0).choice(y.size, 57, replace=False)] = True
    y[wrong] = 1 - y[wrong]
    linear = make_pipeline(StandardScaler(), LogisticRegression())
    report = audit(data.data, y, model=linear, cv=3)
    assert precision(report, wrong) > 0.9
    low, high = report.interval
    assert low <= report.n_wrong <= high
    assert 45 <= report.n_wrong <= 70
    assert report.verdict.colour == "green"
    frame = report.to_frame()
    # Rows are named from the top, and about as many as are wrong.
    assert frame["is_label_issue"].to_numpy()[: report.n_named].all()
    assert 45 <= report.n_named <= 75
    issues = report.issues()
    assert len(issues) == report.n_named
    # What is said first about a suspect speaks against its label.
    against = [
        f"predicts {row.predicted_label} " in row.reason for row in issues.itertuples(index=False)
    ]
    assert np.mean(against) > 0.9
    assert (issues["given_label"] != issues["predicted_label"]).mean() > 0.9
    assert repr(report).startswith(f"<AuditReport: about {report.n_wrong} of 569")


def test_clean_labels_are_left_alone():
    X, y = make_blobs(200, centers=[[-4, 0], [4, 0]], random_state=0)
    report = audit(X, y, model=False)
    assert report.n_wrong == 0
    assert report.interval[0] == 0
    assert len(report.issues()) == 0
    assert not report.to_frame()["is_label_issue"].any()


def test_three_classes_have_one_answer_a_row():
    X, truth = load_iris(return_X_y=True)
    rng = np.random.default_rng(0)
    wrong = np.zeros(150, dtype=bool)
    wrong[rng.choice(150, 15, replace=False)] = True
    y = np.where(wrong, (truth + rng.integers(1, 3, 150)) % 3, truth)
    report = audit(X, y, model=LogisticRegression(max_iter=1000), cv=3)
    frame = report.to_frame()
    assert sorted(frame["row"]) == list(range(150))
    assert precision(report, wrong) > 0.85
    assert report.interval[0] <= 15 <= report.interval[1]
    found = frame[frame["is_label_issue"]]
    assert (found["predicted_label"] == truth[found["row"]]).mean() > 0.7


def test_what_only_a_path_knows():
    X, y, _ = moons()
    report = audit(X, np.array(["no", "yes"])[y], model=RandomForestClassifier(20, random_state=0))
    scaled = StandardScaler().fit_transform(X)
    path = Homotopy(
        HingeRamp(scaled, y, C=1.0, gamma=0.5, fit_intercept=True, path="s", s=0.0)
    ).trace()
    rows = report.columns["row"]
    first, last = path.traced
    stays = path.occupancy("O")
    for name, values in {
        "margin_start": path.response(first, "before"),
        "margin_end": path.response(last),
        "outlier_from": stays.first,
        "share": stays.share,
    }.items():
        np.testing.assert_allclose(report.columns[name], values[rows], atol=1e-9)
    for reason, share in zip(report.columns["reason"], report.columns["share"], strict=True):
        # Who speaks most against the label comes first, and the path last.
        assert reason.split(" predicts '")[0] in report.weights
        assert "nearest rows" in reason
        assert reason.endswith("never an outlier along the path") == (share == 0.0)


def test_it_can_be_repeated_and_shared_out():
    X, y, _ = moons(60, 5)
    once = audit(X, y, cv=3, model=RandomForestClassifier(10, random_state=0))
    with parallel_config("threading"):
        again = audit(X, y, cv=3, model=RandomForestClassifier(10, random_state=0), n_jobs=2)
    assert once.n_wrong == again.n_wrong
    pd.testing.assert_frame_equal(once.to_frame(), again.to_frame())


def test_a_progress_bar(capsys):
    X, y, _ = moons(40, 3)
    audit(X, y, model=False, cv=2, verbose=True)
    assert "audit" in capsys.readouterr().err


def test_any_model_may_be_asked():
    X, y, wrong = moons()
    words = np.array(["no", "yes"])[y]
    for model in (
        RidgeClassifier(),
        make_pipeline(StandardScaler(), RobustSVC(robustness=1.0)),
        OneVsRestClassifier(RobustSVC(robustness=1.0)),
        [LogisticRegression(), LogisticRegression(C=0.1)],
    ):
        report = audit(X, words, model=model, cv=3)
        assert precision(report, wrong) > 0.8
    assert {"LogisticRegression", "LogisticRegression #2"} < set(report.weights)
    assert sum(report.weights.values()) == pytest.approx(1.0)


def test_a_pipeline_gets_the_table_as_it_is():
    X, y = ugly(60)
    pipe = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression())
    report = audit(X[["colour", "size"]].astype(object).fillna("?"), y, model=pipe, cv=3)
    assert "LogisticRegression" in report.weights


def test_folds_may_be_given():
    X, y, _ = moons(60, 5)
    folds = KFold(4, shuffle=True, random_state=3)
    one = audit(X, y, model=False, cv=folds)
    other = audit(X, y, model=False, cv=list(folds.split(X)))
    np.testing.assert_array_equal(one.columns["row"], other.columns["row"])


# ---------------------------------------------------------------------- targets


def test_planted_targets_are_found():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 3))
    y = X @ [1.0, -2.0, 0.5] + 0.2 * rng.standard_normal(150)
    wrong = np.zeros(150, dtype=bool)
    wrong[:10] = True
    y[wrong] += 6.0
    report = audit(pd.DataFrame(X, index=np.arange(1000, 1150)), y, model=Ridge(), cv=3)
    assert report.task == "regression"
    assert precision(report, wrong) > 0.95
    assert report.interval[0] <= 10 <= report.interval[1]
    frame = report.to_frame()
    assert set(frame.index[:10]) == set(range(1000, 1010))
    assert {"residual_start", "residual_end"} < set(frame.columns)
    assert "Ridge" in report.weights
    assert " predicts " in frame["reason"].iloc[0]
    assert " times the typical error" in frame["reason"].iloc[0]
    assert "targets look wrong" in report.summary()
    off = np.abs(frame["predicted_label"] - frame["given_label"]).to_numpy()
    assert off[:10].min() > 4.0


def test_whole_numbers_are_classes_or_amounts():
    X, y, _ = moons(90, 0)
    assert audit(X, y, model=False, cv=2).task == "classification"
    assert audit(X, np.arange(90), model=False, cv=2).task == "regression"
    assert audit(X, y, model=False, cv=2, task="regression").task == "regression"


# ---------------------------------------------------------------------- the parts


@pytest.mark.parametrize("share", [0.0, 0.05, 0.15, 0.3])
def test_plateaus_tell_how_many(share):
    rng = np.random.default_rng(5)
    f = 4.0 * rng.standard_normal(1500)
    truth = rng.random(f.size) < 1.0 / (1.0 + np.exp(-2.0 * f))
    wrong = rng.random(f.size) < share
    chance = Plateaus.of(f, truth ^ wrong).wrong(f, truth ^ wrong)
    assert abs(chance.sum() - wrong.sum()) < 0.03 * f.size
    if share:
        assert average_precision_score(wrong, chance) > 0.85


def test_plateaus_tell_classes_apart():
    rng = np.random.default_rng(6)
    f = 4.0 * rng.standard_normal(2000)
    truth = rng.random(f.size) < 1.0 / (1.0 + np.exp(-2.0 * f))
    wrong = truth & (rng.random(f.size) < 0.3)
    found = Plateaus.of(f, truth ^ wrong)
    leave, enter = found.weight @ found.rates
    assert 0.2 < leave < 0.4
    assert enter < 0.06


def test_plateaus_of_scores_that_say_nothing():
    found = Plateaus.of(np.zeros(10), np.arange(10) < 5)
    assert found.weight.sum() == pytest.approx(1.0)
    assert np.all(np.isfinite(found.wrong(np.zeros(10), np.arange(10) < 5)))


def test_a_blend_leaves_out_what_does_not_help():
    rng = np.random.default_rng(0)
    truth = rng.random(500) < 0.5
    good = np.where(truth, 1.0, -1.0) + rng.standard_normal(500)
    columns = np.column_stack([good, rng.standard_normal(500), -good, np.zeros(500)])
    score, weight = blended_score(columns, truth, np.ones(500, dtype=bool))
    assert weight[0] > 0.9
    assert np.all(weight >= 0.0)
    assert np.mean((score > 0.0) == truth) > 0.8


def test_a_blend_of_residuals_is_that_of_least_sum():
    rng = np.random.default_rng(0)
    common = rng.standard_normal(300)
    columns = np.column_stack([common, 3.0 * rng.standard_normal(300), 2.0 * common])
    blend, weight = blended_residual(columns)
    assert weight.sum() == pytest.approx(1.0)
    assert np.all(weight >= 0.0)
    # No other weights on a grid have a smaller sum.
    grid = np.array(
        [(a, b, 1 - a - b) for a in np.linspace(0, 1, 21) for b in np.linspace(0, 1 - a, 9)]
    )
    assert np.abs(blend).sum() <= np.abs(columns @ grid.T).sum(axis=0).min() + 1e-6


# ---------------------------------------------------------------------- pages


def content_of(page):
    """The data in a page, as its script reads them."""
    text = page.split('<script type="application/json" id="data">')[1].split("</script>")[0]
    return json.loads(text)


def test_nothing_of_the_table_is_read_as_html(tmp_path):
    X, y = ugly()
    X.index = [f"<b>{k}</b>" for k in range(len(X))]
    X["<script>alert(2)</script>"] = np.where(np.arange(len(X)) == 3, np.nan, 1.0)
    labels = y.map({"no": "<img src=x>", "yes": "</script><script>alert(3)"}).to_numpy()
    report = audit(X, labels, model=LogisticRegression(), cv=3)
    report.write_html(tmp_path / "audit.html")
    bar, notes = (tmp_path / "audit.html").read_text("utf-8").partition("<footer")[::2]
    assert '<p id="apply">' in bar
    assert "data.apply" in notes
    page = (tmp_path / "audit.html").read_text(encoding="utf-8")
    # One block of data and one script, ours, by its hash; nothing is asked of the network.
    assert page.count("<script") == page.count("</script>") == 2
    assert "<img" not in page
    assert "<b>" not in page
    assert "http:" not in page
    assert "https:" not in page
    assert "default-src 'none'" in page
    held = content_of(page)
    assert {row["given"] for row in held["rows"]} == set(labels)
    assert held["rows"][0]["name"].startswith("<b>")
    assert "<iframe srcdoc=" in report._repr_html_()
    assert "<script" not in report._repr_html_()


def test_the_page_shows_rows_as_they_are(tmp_path):
    X, y = ugly()
    y = y.copy()
    y.iloc[[1, 3]] = ["no", "yes"]
    report = audit(X, y, model=LogisticRegression(), cv=3)
    report.write_html(tmp_path / "audit.html", top=5)
    held = content_of((tmp_path / "audit.html").read_text(encoding="utf-8"))
    assert len(held["rows"]) == max(5, report.n_named)
    first = next(row for row in held["rows"] if row["name"] == "id-1")
    values = {value["name"]: value for value in first["values"]}
    assert values["height"]["value"] == f"{X['height'].iloc[1]:.5g}"
    assert values["colour"]["value"] == "red"
    assert values["when"]["value"] == str(X["when"].iloc[1].date())
    # The label is wrong: what tells it comes before what has nothing to do with it.
    order = [value["name"] for value in first["values"]]
    assert max(order.index("height"), order.index("colour")) < order.index("member")
    for k, beside in enumerate(first["beside"]):
        assert beside["label"] == y[beside["name"]] != y["id-1"]
        assert values["colour"]["beside"][k] == X["colour"][beside["name"]]


def test_a_summary_in_words():
    X, y, _ = moons()
    report = audit(X, y, model=False, cv=3)
    said = report.summary()
    assert f"About {report.n_wrong} of 120 labels look wrong" in said
    assert f"{report.n_named} rows are flagged for review" in " ".join(said.split())
    assert "Green: the columns predict the target" in said
    assert "Weight of each model: the path (standard features)" in said
    assert "\nTask: classification, 2 different labels.\n" in said
    assert said.count(" predicts ") == min(5, report.n_named)
    assert len(report) == 120


def test_the_first_rows_of_the_frame():
    X, y, _ = moons(60, 5)
    report = audit(X, y, model=False, cv=2)
    pd.testing.assert_frame_equal(report.to_frame(7), report.to_frame().head(7))
    for top in (0, -1, 2.5, True, "all"):
        with pytest.raises(ModelError, match="top must be a positive integer or None"):
            report.to_frame(top)


def test_without_pandas(monkeypatch):
    X, y, _ = moons(60, 5)
    report = audit(X, y, model=False, cv=2)
    expected = report.to_frame()
    monkeypatch.setitem(sys.modules, "pandas", None)
    plain = report.to_frame()
    assert isinstance(plain, np.ndarray)
    assert list(plain.dtype.names) == COLUMNS
    np.testing.assert_array_equal(plain["row"], expected["row"])
    assert len(report.issues()) == report.n_named
    assert "labels" in report.summary()


def test_it_is_found_where_it_is_looked_for():
    assert homotopy_plugins.audit is audit
    assert {"audit", "AuditReport"} < set(dir(homotopy_plugins))
    X, y, _ = moons(40, 2)
    assert isinstance(audit(X, y, model=False, cv=2), AuditReport)


# ---------------------------------------------------------------------- the method of the machines


@pytest.mark.parametrize(("machine", "model"), [(RobustSVC, HingeRamp), (RobustSVR, LADRamp)])
def test_machines_audit_along_s_whatever_was_fitted(machine, model):
    X, y, _ = moons(60, 5)
    target = y if machine is RobustSVC else X[:, 0] + 0.1 * y
    fitted = machine(gamma=0.5, robustness=0.5).fit(X, target)
    s = fitted.path_.model.s
    path = Homotopy(model(X, target, C=1.0, gamma=0.5, fit_intercept=True, path="s", s=s)).trace()
    stays = path.occupancy(*path.model.outlier_pieces)
    found = fitted.audit(top=None)
    np.testing.assert_allclose(found["first"], stays.first[found["row"]], atol=1e-9)
    np.testing.assert_allclose(found["share"], stays.share[found["row"]], atol=1e-9)
    assert fitted.path == "theta"
    assert fitted.path_.model.path == "theta"


@pytest.mark.parametrize("kernel", ["rbf", "linear", "precomputed"])
@pytest.mark.parametrize("way", ["theta", "s"])
def test_machines_audit_out_of_fold(kernel, way):
    X, y, _ = moons(60, 5)
    rows = X @ X.T if kernel == "precomputed" else X
    fitted = RobustSVC(kernel=kernel, path=way, robustness=1.0).fit(rows, y)
    splits = list(KFold(3, shuffle=True, random_state=0).split(X))
    found = fitted.audit(top=None, out_of_fold=True, cv=splits)
    assert sorted(found["row"]) == list(range(60))
    kept, held = splits[0]
    part = RobustSVC(
        kernel=kernel, path="s", robustness=1.0, gamma=fitted.path_.model.gamma or "scale"
    ).fit(rows[np.ix_(kept, kept)] if kernel == "precomputed" else X[kept], y[kept])
    seen = rows[np.ix_(held, kept)] if kernel == "precomputed" else X[held]
    margin = np.where(y[held] == 1, 1.0, -1.0) * part.decision_function(seen)
    by_row = found.set_index("row")["margin_end"]
    np.testing.assert_allclose(by_row.loc[held], margin, atol=1e-8)


def test_regression_out_of_fold():
    X, _, _ = moons(60, 0)
    target = X[:, 0].copy()
    target[7] += 5.0
    fitted = RobustSVR(robustness=1.0).fit(X, target)
    found = fitted.audit(top=1, out_of_fold=True)
    assert found["row"].tolist() == [7]
    assert found["share"].iloc[0] > 0.5
    with pytest.raises(ModelError, match="cv must be a whole number of at least 2"):
        fitted.audit(out_of_fold=True, cv=1)


def test_behind_a_pipeline():
    X, y, wrong = moons()
    pipe = make_pipeline(StandardScaler(), RobustSVC(robustness=1.0)).fit(X, y)
    assert wrong[pipe[-1].audit(top=5)["row"]].all()
    many = OneVsRestClassifier(RobustSVC(robustness=1.0)).fit(X, y)
    assert wrong[many.estimators_[0].audit(top=5)["row"]].all()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (45354.2, "45350"),
        (46.64, "46.64"),
        (-3.0, "-3"),
        (0.00012345, "0.0001234"),
        (1e-7, "1e-07"),
    ],
)
def test_numbers_are_written_as_people_write_them(value, text):
    assert shown(value) == text
