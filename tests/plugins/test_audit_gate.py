"""`audit` where it should refuse, where errors are not coin tosses, and where there is no time."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs, make_classification
from sklearn.linear_model import LogisticRegression

from homotopy import DataError, ModelError
from homotopy_plugins import audit
from homotopy_plugins.auditing.amounts import AGAINST
from homotopy_plugins.auditing.amounts import NAMES as AMOUNTS
from homotopy_plugins.auditing.evidence import FOR, NAMES, nearest
from homotopy_plugins.auditing.experience import Experience, named
from homotopy_plugins.auditing.gate import label_skill, target_skill
from homotopy_plugins.auditing.groups import FEW, Search
from homotopy_plugins.auditing.jobs import Jobs, job
from homotopy_plugins.auditing.scores import neighbourhoods, some
from homotopy_plugins.auditing.tables import Table


def closed(report, *words, share=0.0):
    """No number, no names but of a small share of rows, and why."""
    assert report.verdict.colour == "red"
    assert report.n_wrong is None
    assert report.interval is None
    assert len(report.issues()) == report.n_named <= share * len(report)
    said = " ".join(report.summary().split())
    assert "We cannot say how many" in said
    assert "no number" in repr(report)
    for word in words:
        assert word in said
    assert report.groups == ()
    assert np.all(report.columns["group"] == -1)
    # The order is there all the same.
    assert sorted(report.columns["row"]) == list(range(len(report)))


# ---------------------------------------------------------------------- the gate


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_coin_flips_have_no_number(seed):
    rng = np.random.default_rng(seed)
    report = audit(rng.standard_normal((300, 5)), rng.integers(0, 2, 300), cv=3)
    closed(report, "do not predict the target", share=0.02)


def test_random_dates_have_no_number():
    rng = np.random.default_rng(0)
    days = rng.integers(0, 20000, 300).astype(float)
    closed(audit(rng.standard_normal((300, 4)), days, cv=3), "do not predict", share=0.02)


def test_a_column_that_repeats_the_target_has_no_number():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((150, 3)), columns=list("abc"))
    y = np.where(X["a"] > 0, "yes", "no")
    X["copy"] = np.where(X["a"] > 0, 7, 3)
    closed(audit(X, y, model=False, cv=3), "'copy' is the target under another name")
    amount = 3.0 * X["a"].to_numpy() + 0.1 * rng.standard_normal(150)
    X["copy"] = 2.0 * amount - 5.0
    closed(audit(X, amount, model=False, cv=3), "'copy' is the target under another name")


def test_a_column_that_is_nearly_the_target_is_none_of_these():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.standard_normal(150)})
    y = (X["a"] > 0).to_numpy().astype(int)
    X["other"] = y.copy()
    X.loc[3, "other"] = 1 - y[3]
    assert audit(X, y, model=False, cv=3).verdict.colour != "red"


def test_a_number_of_the_row_is_nothing_to_learn_from():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"id": rng.permutation(100) + 1000})
    y = rng.integers(0, 2, 100)
    closed(audit(X, y, model=False, cv=3), "'id', which merely numbers the rows")
    X["useful"] = y + 0.1 * rng.standard_normal(100)
    report = audit(X, y, model=False, cv=3)
    assert report.verdict.colour == "amber"
    assert "'id' merely numbers the rows" in report.summary()


def test_amounts_as_people_write_them_are_read():
    rng = np.random.default_rng(0)
    y = np.arange(100) % 2
    price = 1000.0 + 900.0 * y + 50.0 * rng.standard_normal(100)
    X = pd.DataFrame({"id": np.arange(100), "price": [f"${p:,.2f}" for p in price]})
    report = audit(X, y, model=False, cv=3)
    assert report.n_wrong is not None
    assert "Read as numbers: 'price' (amounts with signs or separators)" in report.summary()


def test_more_columns_than_rows_are_told():
    X, y = make_blobs(60, centers=2, n_features=80, random_state=0)
    report = audit(X, y, model=False, cv=3)
    assert "60 rows for 80 columns" in " ".join(report.summary().split())


def test_the_name_of_a_column_is_no_column():
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "y": ["u", "v", "u"]})
    with pytest.raises(DataError, match=r"got 'y'; .* audit\(X.drop\(columns='y'\), X\['y'\]\)"):
        audit(frame, "y")


def test_skill_is_that_of_a_guess():
    rng = np.random.default_rng(0)
    codes = (rng.random(400) < 0.3).astype(int)
    base = np.log(0.3 / 0.7)
    flat = np.column_stack([np.full(400, -base), np.full(400, base)])
    assert abs(label_skill(flat, codes).saved) < 0.01
    assert not label_skill(flat, codes).there
    sure = np.where(codes[:, None] == np.arange(2), 5.0, -5.0)
    assert label_skill(sure, codes).saved > 0.95
    target = rng.standard_normal(400)
    assert target_skill(target - target.mean(), target).saved == pytest.approx(0.0, abs=0.01)
    # Where most targets are one and the same number, the others still tell.
    whole = np.round(0.6 * target)
    assert target_skill(0.5 * (whole - whole.mean()), whole).there
    assert not target_skill(rng.permutation(whole) - whole.mean(), whole).there
    assert target_skill(0.1 * target, target).there


# ---------------------------------------------------------------------- errors of other kinds


def test_ten_times_too_much_is_found_counted_and_named():
    rng = np.random.default_rng(0)
    for seed in range(2):
        X, wrong = rng.standard_normal((300, 5)), rng.choice(300, 9, replace=False)
        y = X @ [3.0, 6.0, 0.0, -3.0, 1.5] + 20.0 + rng.standard_normal(300)
        y[wrong] *= 10.0
        report = audit(X, y, cv=3, random_state=seed)
        low, high = report.interval
        assert low <= 9 <= high
        assert high - low < 30
        issues = set(report.issues()["row"])
        assert len(issues & set(wrong)) >= 8
        assert len(issues) <= 12


def test_a_rare_class_is_named():
    X, y = make_classification(
        600, 8, n_informative=5, n_redundant=0, weights=[0.95], class_sep=2.0, flip_y=0.0,
        random_state=0,
    )  # fmt: skip
    wrong = np.random.default_rng(0).choice(600, 30, replace=False)
    y[wrong] = 1 - y[wrong]
    report = audit(X, y, cv=3)
    found = np.isin(report.issues()["row"], wrong)
    assert found.sum() >= 22
    assert found.mean() > 0.7
    assert report.interval[0] <= 30 <= report.interval[1]


def batch(n=240, seed=0):
    """Two clouds, and a batch of one of them that was labelled wrongly as a whole."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = rng.standard_normal((n, 3)) + np.where(y[:, None] == 1, 2.5, -2.5)
    rows = np.argsort(((X - X[1]) ** 2).sum(axis=1))[:14]
    rows = rows[y[rows] == 1]
    return X, np.where(np.isin(np.arange(n), rows), 0, y), rows


def test_a_batch_is_reported_as_a_group():
    X, y, rows = batch()
    frame = pd.DataFrame(X, columns=["left", "middle", "right"])
    report = audit(frame, np.array(["no", "yes"])[y], cv=3)
    assert report.groups
    group = report.groups[0]
    assert group.label == "no"
    assert group.other == "yes"
    assert np.isin(group.rows, rows).mean() > 0.8
    assert np.isin(rows, group.rows).mean() > 0.6
    said = str(group)
    assert said.startswith(f"{group.rows.size} similar rows are labelled 'no', but ")
    assert any(name in said for name in frame.columns)
    assert "Group 0: " in report.summary()
    numbers = report.columns["group"]
    np.testing.assert_array_equal(np.sort(report.columns["row"][numbers == 0]), group.rows)


def crowded():
    """The data of the picture in README."""
    rng = np.random.default_rng(5)
    truth = np.repeat([-1.0, 1.0], 100)
    X = np.where(truth[:, None] < 0, (-1.6, -0.8), (1.6, 0.8)) + rng.normal(0, (0.8, 1.1), (200, 2))
    crowd = rng.choice(np.flatnonzero(truth < 0), 20, replace=False)
    X[crowd] = (-5.0, 0.5) + 0.5 * rng.standard_normal((20, 2))
    y = truth.copy()
    y[crowd] = 1.0
    return X, y, crowd


def test_a_crowd_that_stands_by_itself_is_a_pocket():
    X, y, crowd = crowded()
    report = audit(X, y, model=False, cv=3)
    (pocket,) = [group for group in report.groups if group.pocket]
    assert np.isin(pocket.rows, crowd).all()
    assert pocket.rows.size >= 18
    assert (pocket.label, pocket.other) == (1.0, -1.0)
    assert "right or wrong together" in str(pocket)


def test_classes_that_are_made_of_pockets_are_left_alone():
    rng = np.random.default_rng(0)
    X = 3.0 * rng.random((300, 2))
    y = np.floor(X).sum(axis=1).astype(int) % 2
    assert not [group for group in audit(X, y, model=False, cv=3).groups if group.pocket]


def worded(seed, n=800, noise=0.3, words=("DE", "AT", "CH")):
    """A clean table with a column of words that has nothing to do with the label."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, 4))
    line = 2.0 * x[:, 0] - 1.5 * x[:, 1] + 0.5 * x[:, 2] * x[:, 0]
    y = np.where(line + noise * rng.standard_normal(n) > 0.0, "good", "bad")
    table = pd.DataFrame(x[:, :3], columns=list("abc")).assign(land=rng.choice(words, n))
    return table, y


@pytest.mark.parametrize(("seed", "noise"), [(1, 0.3), (2, 0.3), (3, 0.3), (3, 0.0)])
def test_a_class_with_one_word_is_no_pocket(seed, noise):
    X, y = worded(seed, noise=noise, words=("DE", "AT", "CH", "FR", "IT"))
    assert not [group for group in audit(X, y, model=False, cv=3).groups if group.pocket]


@pytest.mark.parametrize("number", [False, True])
def test_a_class_that_a_word_turns_round_is_no_pocket(number):
    # Good rows of CH stand by themselves among bad ones; whoever has not seen them has seen CH with
    # the other label only.
    rng = np.random.default_rng(0)
    side = rng.choice([-1.0, 1.0], 600)
    land = np.where(rng.random(600) < 0.13, "CH", rng.choice(["DE", "AT"], 600))
    y = np.where((side > 0.0) != (land == "CH"), "good", "bad")
    X = pd.DataFrame(side[:, None] + 0.2 * rng.standard_normal((600, 2)), columns=["a", "b"])
    X["land"] = pd.factorize(land)[0] if number else land
    assert audit(X, y, model=False, cv=3).groups == ()


def test_a_crowd_with_a_common_word_is_found():
    X, y = worded(2, words=("DE", "AT"))
    crowd = np.flatnonzero((X["land"] == "AT") & (y == "bad"))[:20]
    rng = np.random.default_rng(0)
    X.loc[crowd, ["a", "b", "c"]] = (-5.0, 4.0, 0.0) + 0.3 * rng.standard_normal((20, 3))
    y[crowd] = "good"
    group = audit(X, y, model=False, cv=3).groups[0]
    np.testing.assert_array_equal(group.rows, crowd)


@pytest.mark.parametrize("classes", [2, 3])
def test_a_flagged_row_has_another_label_for_a_suggestion(classes):
    X, y = worded({2: 0, 3: 6}[classes], n=300)
    if classes == 3:
        line = 2.0 * X["a"] - 1.5 * X["b"]
        y = np.where(line > 1.0, "high", np.where(line < -1.0, "low", "middle"))
    issues = audit(X, y, model=False, cv=3).issues()
    assert len(issues) > 10
    assert not (issues["predicted_label"] == issues["given_label"]).any()
    # The reason quotes who speaks for the suggestion.
    pairs = zip(issues["predicted_label"], issues["reason"], strict=True)
    said = [f"predicts {label!r} " in why for label, why in pairs]
    assert np.mean(said) > 0.7


def test_many_rows_have_a_bar_after_the_models_too(capsys):
    for n, shown in ((100, False), (5000, True)):
        with Jobs(None, True, None).afterwards("comparing rows", n, 4) as step:
            for _ in range(4):
                step()
        assert ("comparing rows" in capsys.readouterr().err) == shown


def test_rows_around_a_group_of_any_size():
    rows = np.random.default_rng(0).standard_normal((400, 3))
    search = Search(rows, np.arange(400))
    for size in (5, FEW, FEW + 1, 395, 400):
        group = np.sort(np.random.default_rng(size).choice(400, size, replace=False))
        others = np.setdiff1d(np.arange(400), group)
        away = ((rows[group][:, None] - rows[others]) ** 2).sum(axis=2)
        near = np.unique(others[np.argsort(away, axis=1)[:, :10]]) if others.size else others
        np.testing.assert_array_equal(search.around(group), near)


def test_what_a_group_says_of_the_rows_around_it_can_be_counted():
    X, y, _ = batch()
    plane, sides, _ = crowded()
    for rows, labels in ((X, y), (plane, sides)):
        Z = (rows - rows.mean(axis=0)) / rows.std(axis=0)
        report = audit(rows, labels, model=False, cv=3)
        assert report.groups
        for group in report.groups:
            others = np.setdiff1d(np.arange(len(Z)), group.rows)
            away = ((Z[group.rows][:, None] - Z[others]) ** 2).sum(axis=2)
            around = np.unique(others[np.argsort(away, axis=1)[:, :10]])
            assert group.beside == around.size
            assert group.around == np.mean(labels[around] == group.other)
            said = f"{group.around:.0%} of the {around.size} other rows nearest to them are "
            assert said in str(group)


def test_clean_clouds_have_no_group():
    X, y = make_blobs(150, centers=[[-4, 0], [4, 0]], random_state=0)
    assert audit(X, y, model=False, cv=3).groups == ()


# ---------------------------------------------------------------------- the parts


def test_the_trees_know_the_columns_of_the_evidence():
    for task, names in (("classification", NAMES), ("regression", AMOUNTS)):
        known = Experience.of(task)
        assert known.names == names
        for feature, _, left, right, _ in known.trees:
            inner = feature >= 0
            # Children come after their parents, so that every row ends in a leaf.
            assert np.all(left[inner] > np.flatnonzero(inner))
            assert np.all(right[inner] > np.flatnonzero(inner))


@pytest.mark.parametrize(
    ("task", "names", "columns", "sign"),
    [("classification", NAMES, FOR, -1.0), ("regression", AMOUNTS, AGAINST, 1.0)],
)
def test_more_evidence_never_means_less(task, names, columns, sign):
    known = Experience.of(task)
    rng = np.random.default_rng(0)
    start = rng.normal(0.0, 2.0, (40, len(names)))
    for name in columns:
        steps = [start.copy() for _ in range(9)]
        for k, step in enumerate(steps):
            step[:, names.index(name)] = k - 4.0
        chance = np.array([known.wrong(step) for step in steps])
        assert np.all(sign * np.diff(chance, axis=0) >= -1e-12)
        assert np.all((chance > 0.0) & (chance < 1.0))


def test_the_interval_holds_the_number_and_grows_with_the_level():
    known = Experience.of("classification")
    rng = np.random.default_rng(0)
    facts = np.tile(rng.random(len(NAMES)), (200, 1))
    wrong = rng.random(200) ** 4
    widths = []
    for level in (0.5, 0.8, 0.9, 0.95):
        count = known.number(wrong, facts, level)
        assert 0 <= count.low <= count.number <= count.high <= 200
        widths.append(count.high - count.low)
    assert widths == sorted(widths)
    assert count.plus(3).low == count.low + 3


def test_the_rows_named_have_the_largest_expected_f1():
    rng = np.random.default_rng(0)
    for _ in range(20):
        wrong = rng.random(30) ** rng.uniform(0.5, 4.0)
        found = named(wrong)
        order = np.argsort(-wrong)
        scores = [
            2.0 * wrong[order[:k]].sum() / (k + wrong.sum())
            for k in range(1, 31)
            if wrong[order[k - 1]] >= 0.2
        ]
        if not scores:
            assert not found.any()
            continue
        assert found.sum() == 1 + int(np.argmax(scores))
        assert wrong[found].min() >= wrong[~found].max(initial=0.0)
    assert not named(np.full(50, 0.05)).any()


def test_neighbours_are_others():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.standard_normal((30, 2)), np.zeros((40, 2))])
    near = nearest(X)
    assert near.shape == (70, 30)
    assert np.all(near != np.arange(70)[:, None])
    apart = np.linalg.norm(X[:, None] - X, axis=2)
    np.fill_diagonal(apart, np.inf)
    for i in range(70):
        assert len(set(near[i])) == 30
        np.testing.assert_allclose(np.sort(apart[i])[:30], np.sort(apart[i, near[i]]))
    assert nearest(X[:3]).shape == (3, 2)


def test_whole_neighbourhoods_are_held_out_once():
    X, cloud = make_blobs(200, centers=6, cluster_std=0.1, random_state=0)
    folds = neighbourhoods(X, 6, 3, 0)
    held = np.concatenate([test for _, test in folds])
    np.testing.assert_array_equal(np.sort(held), np.arange(200))
    for train, test in folds:
        assert not set(cloud[train]) & set(cloud[test])
    # Rows that are all alike are one neighbourhood, which cannot be held out of itself.
    assert neighbourhoods(np.ones((20, 2)), 10, 5, 0) == []


def test_some_rows_keep_their_classes():
    y = np.r_[np.zeros(990), np.ones(10)]
    kept = some(np.arange(1000), 100, y)
    assert np.sum(y[kept] == 1) == 2
    assert kept.size == pytest.approx(100, abs=2)
    np.testing.assert_array_equal(some(np.arange(50), 100), np.arange(50))


# ---------------------------------------------------------------------- time


def test_when_time_is_up_the_first_machine_has_been_asked(monkeypatch):
    X, y = make_blobs(100, centers=[[-3, 0], [3, 0]], random_state=0)
    report = audit(X, y, cv=3, model=LogisticRegression(), max_seconds=1e-6)
    assert list(report.weights) == ["LogisticRegression"]
    assert "The limit of 1e-06 seconds was reached" in " ".join(report.notes)
    assert np.isnan(report.columns["share"]).all()
    alone = audit(X, y, cv=3, model=False, max_seconds=1e-6)
    assert set(alone.weights) == {"the path (standard features)"}
    with pytest.raises(ModelError, match="max_seconds must be positive"):
        audit(X, y, max_seconds=0)


def test_results_of_jobs_are_in_order(capsys):
    jobs = Jobs(None, True, None)
    assert jobs.run([job(pow, k, 2, cost=k + 1.0) for k in range(4)]) == [0, 1, 4, 9]
    assert "left" in capsys.readouterr().err
    late = Jobs(2, False, 0.0)
    done = late.run([job(pow, 2, k, needed=k % 2 == 0) for k in range(5)])
    assert done == [1, None, 4, None, 16]
    assert late.skipped == 2


def test_a_table_keeps_its_columns():
    table = Table.of(pd.DataFrame({"a": [1.0, 2.0, 3.0], "one": [1, 1, 1], "c": ["x", "y", "x"]}))
    assert [name for name, _ in table.sources] == ["a", "c"]
