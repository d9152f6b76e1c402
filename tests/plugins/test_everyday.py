"""The estimators as scikit-learn's users write them: a test for each thing they expect to work."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine, make_moons
from sklearn.inspection import permutation_importance
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import (
    GridSearchCV,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
    learning_curve,
    train_test_split,
)
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR

from homotopy import DataError, ModelError
from homotopy_plugins import (
    OutlierPathDisplay,
    RobustSVC,
    RobustSVCCV,
    RobustSVR,
    RobustSVRCV,
    UnscaledWarning,
)


@pytest.fixture(scope="module")
def moons():
    X, y = make_moons(160, noise=0.25, random_state=0)
    wrong = np.random.default_rng(0).choice(160, 16, replace=False)
    y[wrong] = 1 - y[wrong]
    return X, y


@pytest.fixture(scope="module")
def cancer():
    """Breast cancer, every third row, as a frame with its columns in their own units."""
    data = load_breast_cancer(as_frame=True)
    some = slice(None, None, 3)
    return data.data.iloc[some], data.target.iloc[some]


@pytest.fixture(scope="module")
def iris():
    data = load_iris(as_frame=True)
    return data.data, data.target_names[data.target]


# ---------------------------------------------------------------------- scales


@pytest.mark.parametrize("machine", [RobustSVC(robustness=1.0), RobustSVCCV(Cs=(1.0,), cv=3)])
def test_columns_in_their_own_units_are_warned_of_once(cancer, machine):
    X, y = cancer
    with pytest.warns(UnscaledWarning) as caught:
        machine.fit(X, y)
    assert len(caught) == 1
    text = str(caught[0].message)
    assert "'worst area'" in text
    assert f"make_pipeline(StandardScaler(), {type(machine).__name__}(...))" in text
    assert caught[0].filename == __file__


def test_a_regression_is_warned_of_too_and_the_warning_can_be_filtered():
    X, y = load_diabetes(return_X_y=True)
    X = X[:80] * np.geomspace(1.0, 1e4, 10)
    for machine in (RobustSVR(robustness=0.5, C=0.1), RobustSVRCV(Cs=(0.1,), cv=2)):
        with pytest.warns(UnscaledWarning, match="the scale of column 9"):
            machine.fit(X, y[:80])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", UnscaledWarning)
            machine.fit(X, y[:80])


def salaries():
    """Incomes, ages and prices: 20,000, 18 and 100,000 wide."""
    rng = np.random.default_rng(0)
    n = 300
    income, age = rng.normal(6e4, 2e4, n).round(-2), rng.integers(18, 80, n)
    X = np.column_stack([income, age, rng.normal(2.5e5, 1e5, n).round(-3)])
    return X, (income / 2e4 + age / 30 + rng.normal(size=n) > 4.6).astype(int)


def test_a_column_much_narrower_than_most_is_warned_of():
    X, y = salaries()
    with pytest.warns(UnscaledWarning, match="scale of column 1 is less than 1/30 of that of most"):
        RobustSVC(robustness=1.0).fit(X, y)


@pytest.mark.filterwarnings("ignore::homotopy_plugins.UnscaledWarning")
def test_raw_amounts_are_fitted_and_a_robustness_is_chosen():
    """Linear responses are sums of terms 1e13 as large: rounding is no reason to say that the
    decision function is not affine."""
    X, y = salaries()
    machine = RobustSVC(kernel="linear", C=100.0).fit(X, y)
    assert machine.certificate_.ok
    assert 0.0 <= machine.robustness_ <= 1.0
    assert machine.score(X, y) > 0.6


@pytest.mark.parametrize("what", ["standardised", "one-hot", "heavy tails", "iris", "kernel"])
def test_rows_that_need_no_scaler_are_taken_without_a_word(what, iris):
    rng = np.random.default_rng(0)
    n = 60
    y = np.arange(n) % 2
    numbers = rng.normal(size=(n, 3)) + y[:, None]
    flags = np.eye(12)[rng.integers(0, 12, n)]
    machine = RobustSVC(robustness=1.0)
    if what == "standardised":
        X = StandardScaler().fit_transform(numbers * [1.0, 1e3, 1e6])
    elif what == "one-hot":
        X = np.hstack([numbers, flags, np.zeros((n, 2))])
    elif what == "heavy tails":
        X = np.hstack([StandardScaler().fit_transform(np.exp(2.0 * numbers)), flags])
    elif what == "iris":
        X, y = iris[0].to_numpy()[:100], np.arange(100) // 50
    else:
        X = numbers * [1.0, 1.0, 1e3]
        X, machine = X @ X.T, RobustSVC(kernel="precomputed", robustness=1.0, C=1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        machine.fit(X, y)


def test_sparse_rows_are_taken_without_a_word(moons):
    X, y = moons
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RobustSVC(robustness=1.0).fit(sp.csr_matrix(X * [1.0, 100.0]), y)


# ---------------------------------------------------------------------- pipelines and searches


def test_a_pipeline_from_words_and_numbers_to_a_prediction():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "age": rng.integers(18, 80, 120),
            "income": rng.lognormal(10, 0.5, 120),
            "city": rng.choice(["Bonn", "Graz", "Bern"], 120),
        }
    )
    y = np.where((table["age"] > 50) ^ (table["city"] == "Bern"), "buys", "leaves")
    pipe = make_pipeline(
        make_column_transformer((StandardScaler(), ["age", "income"]), (OneHotEncoder(), ["city"])),
        RobustSVC(C=10.0),
    ).fit(table, y)
    assert pipe.score(table, y) > 0.9
    assert set(pipe.predict(table.head())) <= {"buys", "leaves"}


def test_a_grid_over_robustness(cancer):
    X, y = cancer
    pipe = make_pipeline(StandardScaler(), RobustSVC(kernel="linear", C=0.1))
    grid = {"robustsvc__robustness": [0.0, 0.5, 1.0, "auto", {"theta": 0.5}]}
    search = GridSearchCV(pipe, grid, cv=3).fit(X, y)
    scores = search.cv_results_["mean_test_score"]
    assert scores.min() > 0.9
    # Half of the way is theta = 0.5.
    assert scores[1] == scores[4]
    assert search.best_params_["robustsvc__robustness"] in grid["robustsvc__robustness"]
    same = cross_val_score(make_pipeline(StandardScaler(), SVC(kernel="linear", C=0.1)), X, y, cv=3)
    assert scores[0] == pytest.approx(same.mean(), abs=1e-9)


def test_robustness_1_is_what_helps_against_wrong_labels():
    X, y = load_breast_cancer(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, random_state=0)
    wrong = np.random.default_rng(0).choice(y.size, 120, replace=False)
    y[wrong] = 1 - y[wrong]
    plain, robust = (
        make_pipeline(StandardScaler(), RobustSVC(kernel="linear", C=0.1, robustness=r))
        .fit(X, y)
        .score(X_test, y_test)
        for r in (0, 1)
    )
    assert robust > plain + 0.02


def test_names_and_counts_of_features(cancer, moons):
    X, y = cancer
    machine = RobustSVC(robustness=1.0).fit(
        StandardScaler().set_output(transform="pandas").fit_transform(X), y
    )
    assert machine.n_features_in_ == 30
    assert machine.feature_names_in_.tolist() == X.columns.tolist()
    with pytest.raises(ValueError, match="feature names should match"):
        machine.predict(X.iloc[:, ::-1])
    rows = RobustSVR(robustness=1.0).fit(moons[0], moons[0][:, 0])
    assert rows.n_features_in_ == 2
    assert not hasattr(rows, "feature_names_in_")


def test_clone_and_parameters(moons):
    machine = RobustSVC(C=3.0, robustness={"theta": 0.25}, n_jobs=2)
    again = clone(machine)
    assert again.get_params() == machine.get_params()
    again.set_params(robustness=0.75).fit(*moons)
    assert again.t_ == 0.25
    np.testing.assert_array_equal(again.predict(moons[0]), machine.fit(*moons).predict(moons[0]))
    assert "robustness={'theta': 0.25}" in repr(machine)


def test_predictions_of_rows_held_out(moons):
    X, y = moons
    found = cross_val_predict(RobustSVC(C=3.0), X, y, cv=4)
    assert np.mean(found == y) > 0.75
    values = cross_val_predict(RobustSVC(C=3.0), X, y, cv=4, method="decision_function")
    np.testing.assert_array_equal(values > 0, found == 1)


def test_a_learning_curve(moons):
    sizes, train, test = learning_curve(
        RobustSVC(C=3.0, robustness=1.0), *moons, train_sizes=[0.3, 1.0], cv=3
    )
    assert sizes.tolist() == [31, 106]
    assert train.shape == test.shape == (2, 3)
    assert test[1].mean() > 0.75


def test_the_importance_of_a_column_by_permutation(moons):
    X, y = moons
    X = np.column_stack([X, np.random.default_rng(0).normal(size=len(X))])
    machine = RobustSVC(C=3.0, robustness=1.0).fit(X, y)
    found = permutation_importance(machine, X, y, n_repeats=5, random_state=0)
    assert found.importances_mean[:2].min() > 3.0 * abs(found.importances_mean[2])


# ---------------------------------------------------------------------- weights that are routed


@pytest.fixture
def routing():
    sklearn.set_config(enable_metadata_routing=True)
    yield
    sklearn.set_config(enable_metadata_routing=False)


@pytest.mark.usefixtures("routing")
def test_weights_are_routed_through_a_pipeline_and_a_search(moons):
    X, y = moons
    weight = np.random.default_rng(0).integers(0, 3, y.size).astype(float)
    machine = RobustSVC(C=3.0).set_fit_request(sample_weight=True)
    pipe = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), machine)
    scorer = make_scorer(accuracy_score).set_score_request(sample_weight=True)
    search = GridSearchCV(pipe, {"robustsvc__robustness": [0.0, 1.0]}, cv=3, scoring=scorer)
    search.fit(X, y, sample_weight=weight)
    Z = StandardScaler().fit_transform(X)
    by_hand = RobustSVC(C=3.0, robustness=search.best_params_["robustsvc__robustness"])
    by_hand.fit(Z, y, sample_weight=weight)
    np.testing.assert_allclose(search.decision_function(X), by_hand.decision_function(Z))
    unweighted = clone(by_hand).fit(Z, y)
    assert np.abs(unweighted.decision_function(Z) - by_hand.decision_function(Z)).max() > 1e-3


@pytest.mark.usefixtures("routing")
def test_a_search_of_paths_takes_weights_and_groups(moons):
    X, y = moons
    search = RobustSVCCV(Cs=(1.0,), cv=2).set_fit_request(sample_weight=True, groups=False)
    weight = np.where(X[:, 0] > 0.5, 2.0, 1.0)
    scaler = StandardScaler().set_fit_request(sample_weight=False)
    pipe = make_pipeline(scaler, search).fit(X, y, sample_weight=weight)
    by_hand = RobustSVCCV(Cs=(1.0,), cv=2)
    by_hand.fit(StandardScaler().fit_transform(X), y, sample_weight=weight)
    assert pipe[-1].best_params_ == by_hand.best_params_


# ---------------------------------------------------------------------- other containers


def test_polars_in_and_out(cancer):
    pl = pytest.importorskip("polars")
    X, y = pl.DataFrame(cancer[0].to_dict(orient="list")), pl.Series(cancer[1].tolist())
    scaler = StandardScaler().set_output(transform="polars")
    pipe = make_pipeline(scaler, RobustSVC(C=3.0)).fit(X, y)
    assert isinstance(pipe[:-1].transform(X), pl.DataFrame)
    machine = pipe[-1]
    # An old scikit-learn does not read the names of a new polars, not even for its scaler.
    if hasattr(StandardScaler().fit(X), "feature_names_in_"):
        assert machine.feature_names_in_.tolist() == X.columns
    expected = make_pipeline(StandardScaler(), RobustSVC(C=3.0)).fit(*cancer)
    np.testing.assert_array_equal(pipe.predict(X), expected.predict(cancer[0]))
    words = pl.Series(np.where(cancer[1] > 0, "benign", "malignant"))
    named = make_pipeline(scaler, RobustSVC(C=3.0)).fit(X, words)
    assert set(named.predict(X)) == {"benign", "malignant"}
    target = pl.Series(cancer[0]["mean radius"].tolist())
    regression = make_pipeline(scaler, RobustSVR(C=3.0)).fit(X, target)
    assert regression.score(X, target) > 0.8


def test_polars_gaps_and_words_are_refused_by_name():
    pl = pytest.importorskip("polars")
    X = pl.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "kind": ["u", "v", "u", "v"]})
    with pytest.raises(DataError, match=r"X\['kind'\] in row 0 is 'u', which is not a number"):
        RobustSVC().fit(X, [0, 1, 0, 1])
    with pytest.raises(DataError, match=r"y\[2\] is None: a row without a label"):
        RobustSVC().fit(X[["a"]], pl.Series(["x", "y", None, "y"]))


@pytest.mark.parametrize("machine", [RobustSVC(C=3.0), RobustSVR(C=3.0)])
def test_single_precision_in(moons, machine):
    X, y = moons
    found = clone(machine).fit(X.astype(np.float32), y.astype(np.float32))
    exact = clone(machine).fit(X.astype(np.float32).astype(float), y)
    np.testing.assert_allclose(found.predict(X.astype(np.float32)), exact.predict(X), atol=1e-4)
    assert found.dual_coef_.dtype == np.float64


# ---------------------------------------------------------------------- probabilities


def test_probabilities_by_calibration(moons):
    X, y = moons
    calibrated = CalibratedClassifierCV(RobustSVC(C=3.0), ensemble=False, cv=3).fit(X, y)
    p = calibrated.predict_proba(X)
    assert p.shape == (160, 2)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    # In four groups from unlikely to likely the share of class 1 rises with what is said.
    groups = np.array_split(np.argsort(p[:, 1]), 4)
    shares = [y[group].mean() for group in groups]
    assert shares[-1] > 0.8
    assert shares[0] < 0.2
    assert not hasattr(RobustSVC(), "predict_proba")


def test_probabilities_of_several_classes(iris):
    X, y = iris
    pipe = make_pipeline(StandardScaler(), RobustSVC(C=3.0))
    p = CalibratedClassifierCV(pipe, ensemble=False, cv=3).fit(X, y).predict_proba(X)
    assert p.shape == (150, 3)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)


# ---------------------------------------------------------------------- several classes


def test_several_classes_as_they_come(iris):
    X, y = iris
    pipe = make_pipeline(StandardScaler(), RobustSVC(C=3.0)).fit(X, y)
    machine = pipe[-1]
    assert machine.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    assert pipe.score(X, y) > 0.95
    Z = pipe[:-1].transform(X)
    f = machine.decision_function(Z)
    assert f.shape == (150, 3)
    by_sklearn = OneVsRestClassifier(RobustSVC(C=3.0)).fit(Z, y)
    np.testing.assert_allclose(f, by_sklearn.decision_function(Z), rtol=0, atol=1e-12)
    np.testing.assert_array_equal(machine.predict(Z), by_sklearn.predict(Z))
    assert [part.path_.certify().ok for part in machine.estimators_] == [True] * 3
    assert machine.robustness_.tolist() == [part.robustness_ for part in machine.estimators_]
    outliers = [part.outliers_ for part in machine.at(1.0).estimators_]
    np.testing.assert_array_equal(machine.at(1.0).outliers_, np.unique(np.concatenate(outliers)))
    again = pickle.loads(pickle.dumps(machine))
    np.testing.assert_array_equal(again.decision_function(Z), f)


def test_several_classes_with_weights_processes_and_a_matrix(iris):
    X, y = iris
    Z = StandardScaler().fit_transform(X)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, 150)
    options = {"kernel": "linear", "robustness": 0.5, "C": 3.0}
    by_class = {"setosa": 1.0, "versicolor": 4.0, "virginica": 1.0}
    machine = RobustSVC(class_weight=by_class, n_jobs=2, **options)
    machine.fit(Z, y, sample_weight=weight)
    total = weight * [by_class[label] for label in y]
    parts = [RobustSVC(**options).fit(Z, y == c, sample_weight=total) for c in machine.classes_]
    expected = np.column_stack([part.decision_function(Z) for part in parts])
    np.testing.assert_allclose(machine.decision_function(Z), expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(Z @ machine.coef_.T + machine.intercept_, expected, atol=1e-9)
    given = RobustSVC(class_weight=by_class, **options | {"kernel": "precomputed"})
    given.fit(Z @ Z.T, y, sample_weight=weight)
    np.testing.assert_allclose(given.decision_function(Z @ Z.T), expected, rtol=0, atol=1e-6)


def test_a_search_with_several_classes(iris):
    X, y = iris
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    search = RobustSVCCV(Cs=(0.3, 3.0), cv=folds).fit(StandardScaler().fit_transform(X), y)
    assert search.score(StandardScaler().fit_transform(X), y) > 0.93
    assert len(search.best_params_) == len(search.C_) == len(search.estimators_) == 3
    for part, params in zip(search.estimators_, search.best_params_, strict=True):
        assert part.best_params_ == params
        assert part.n_splits_ == 3


def test_what_belongs_to_one_path_is_asked_of_one_machine(iris):
    X, y = iris
    machine = RobustSVC(robustness=0).fit(StandardScaler().fit_transform(X), y)
    for name in ("path_", "support_", "outlier_path_", "certificate_"):
        assert not hasattr(machine, name)
        with pytest.raises(AttributeError, match=rf"3 classes .*estimators_\[k\].{name}"):
            getattr(machine, name)
    for use in (machine.audit, machine.report, machine.loo_score):
        with pytest.raises(ModelError, match=r"estimators_\[0\] tells 'setosa' from the rest"):
            use()
    with pytest.raises(ModelError, match="OutlierPathDisplay belongs to one path"):
        OutlierPathDisplay.from_estimator(machine)
    assert len(machine.estimators_[1].audit(5)) == 5
    assert machine.estimators_[1].loo_score() > 0.9


def test_pairs_of_classes_are_left_to_scikit_learn(iris):
    X, y = iris
    Z = StandardScaler().fit_transform(X)
    with pytest.raises(ModelError, match=r"'ovo' asks for a machine per pair .*OneVsOneClassifier"):
        RobustSVC(decision_function_shape="ovo").fit(Z, y)
    with pytest.raises(ModelError, match="decision_function_shape must be 'ovr' or 'ovo'"):
        RobustSVC(decision_function_shape="all").fit(Z, y)
    assert OneVsOneClassifier(RobustSVC(C=3.0)).fit(Z, y).score(Z, y) > 0.95
    # Of two classes there is one pair.
    two = RobustSVC(decision_function_shape="ovo", robustness=1.0).fit(Z[:100], y[:100])
    assert two.decision_function(Z[:5]).shape == (5,)
    with pytest.raises(DataError, match="every row of class 'virginica' has weight 0"):
        RobustSVC().fit(Z, y, sample_weight=(y != "virginica").astype(float))


# ---------------------------------------------------------------------- out of the house


def dot(A, B):
    return np.asarray(A @ B.T) * 0.1


def same_values(found, expected):
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", dot, "precomputed"])
@pytest.mark.parametrize("robustness", [0.0, 0.7, 1.0])
def test_a_classifier_becomes_an_svc(moons, kernel, robustness):
    X, y = moons
    new = make_moons(60, noise=0.3, random_state=1)[0]
    options = {"kernel": kernel, "C": 2.0, "coef0": 1.0}
    given, asked = (X @ X.T, new @ X.T) if kernel == "precomputed" else (X, new)
    names = np.array(["no", "yes"])[y]
    machine = RobustSVC(robustness=robustness, **options).fit(given, names)
    plain = machine.to_svc()
    assert isinstance(plain, SVC)
    same_values(plain.decision_function(asked), machine.decision_function(asked))
    np.testing.assert_array_equal(plain.predict(asked), machine.predict(asked))
    assert plain.classes_.tolist() == ["no", "yes"]
    assert sorted(plain.support_) == machine.support_.tolist()
    assert plain.n_support_.sum() == machine.support_.size
    if kernel == "linear":
        np.testing.assert_allclose(plain.coef_, machine.coef_, rtol=1e-12)
    again = pickle.loads(pickle.dumps(plain))
    np.testing.assert_array_equal(again.predict(asked), machine.predict(asked))


def test_at_robustness_0_it_is_the_svc_that_scikit_learn_fits(moons):
    X, y = moons
    ours = RobustSVC(C=2.0, robustness=0.0, gamma=1.0).fit(X, y).to_svc()
    theirs = SVC(C=2.0, gamma=1.0, tol=1e-10).fit(X, y)
    np.testing.assert_array_equal(np.sort(ours.support_), np.sort(theirs.support_))
    np.testing.assert_array_equal(ours.n_support_, theirs.n_support_)
    order, other = np.argsort(ours.support_), np.argsort(theirs.support_)
    np.testing.assert_allclose(ours.dual_coef_[:, order], theirs.dual_coef_[:, other], atol=1e-4)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-4)
    assert set(vars(ours)) == set(vars(theirs))


@pytest.mark.parametrize("path", ["theta", "s", "epsilon"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_regression_becomes_an_svr(path, kernel):
    X, y = load_diabetes(return_X_y=True)
    machine = RobustSVR(path=path, kernel=kernel, C=10.0, robustness=0.6).fit(X[:200], y[:200])
    plain = machine.to_svr()
    assert isinstance(plain, SVR)
    same_values(plain.predict(X), machine.predict(X))
    assert plain.epsilon == (machine.t_ if path == "epsilon" else 0.0)
    assert not hasattr(machine, "to_svc")


def test_rows_far_from_zero_and_in_their_own_units_keep_their_digits():
    X, y = load_wine(return_X_y=True)
    for rows in (X, X + 1e4):
        with pytest.warns(UnscaledWarning):
            machine = RobustSVC(kernel="linear", C=0.01, robustness=0.5).fit(rows, y == 1)
        plain = machine.to_svc()
        f = machine.decision_function(rows)
        # 1e4 times 13 columns is what the last digits of f are made of.
        np.testing.assert_allclose(plain.decision_function(rows), f, rtol=0, atol=1e-11)


def test_sparse_machines_frames_constants_and_several_classes_leave_too(moons, cancer, iris):
    X, y = moons
    flat = sp.csr_matrix(np.where(np.abs(X) < 0.3, 0.0, X))
    for kernel in ("linear", "rbf"):
        machine = RobustSVC(kernel=kernel, robustness=1.0).fit(flat, y)
        same_values(machine.to_svc().decision_function(flat), machine.decision_function(flat))
    frame = StandardScaler().set_output(transform="pandas").fit_transform(cancer[0])
    machine = RobustSVC(kernel="linear", robustness=1.0).fit(frame, cancer[1])
    plain = machine.to_svc()
    assert plain.feature_names_in_.tolist() == frame.columns.tolist()
    same_values(plain.decision_function(frame), machine.decision_function(frame))
    constant = RobustSVR(epsilon=100.0, robustness=0.0).fit(X, X[:, 0])
    assert constant.support_.size == 0
    same_values(constant.to_svr().predict(X), constant.predict(X))
    Z = StandardScaler().fit_transform(iris[0])
    many = RobustSVC(C=3.0).fit(Z, iris[1])
    ovr = many.to_svc()
    assert isinstance(ovr, OneVsRestClassifier)
    same_values(ovr.decision_function(Z), many.decision_function(Z))
    np.testing.assert_array_equal(ovr.predict(Z), many.predict(Z))


def test_an_indefinite_matrix_leaves_with_its_projection(moons):
    X, y = moons
    bad = X @ X.T + np.diag(np.linspace(-3.0, 3.0, 160))
    with pytest.warns(UserWarning, match="indefinite"):
        machine = RobustSVC(kernel="precomputed", robustness=1.0).fit(bad, y)
    same_values(machine.to_svc().decision_function(bad), machine.decision_function(bad))


def test_skops_stores_it_without_trust(moons):
    sio = pytest.importorskip("skops.io")
    X, y = moons
    machine = RobustSVC(C=3.0, robustness=1.0).fit(X, y)
    pipe = make_pipeline(StandardScaler().fit(X), machine.to_svc())
    stored = sio.dumps(pipe)
    assert sio.get_untrusted_types(data=stored) == []
    loaded = sio.loads(stored)
    np.testing.assert_array_equal(loaded.decision_function(X), pipe.decision_function(X))
    regression = RobustSVR(C=3.0, robustness=1.0).fit(X, X[:, 0])
    loaded = sio.loads(sio.dumps(regression.to_svr()))
    same_values(loaded.predict(X), regression.predict(X))


@pytest.mark.filterwarnings("ignore:Attribute `prob:FutureWarning")
def test_onnx_says_the_same_to_single_precision(moons):
    skl2onnx = pytest.importorskip("skl2onnx")
    runtime = pytest.importorskip("onnxruntime")

    def run(plain, X, **options):
        stored = skl2onnx.to_onnx(plain, X[:1].astype(np.float32), **options)
        session = runtime.InferenceSession(
            stored.SerializeToString(), providers=["CPUExecutionProvider"]
        )
        return session.run(None, {"X": X.astype(np.float32)})

    X, y = moons
    machine = RobustSVC(C=3.0, robustness=1.0).fit(X, y)
    plain = machine.to_svc()
    options = {"options": {id(plain): {"zipmap": False, "raw_scores": True}}}
    labels, values = run(plain, X, **options)
    clear = np.abs(machine.decision_function(X)) > 1e-4
    np.testing.assert_array_equal(labels[clear], machine.predict(X)[clear])
    np.testing.assert_allclose(values[:, -1], machine.decision_function(X), atol=1e-4)
    regression = RobustSVR(C=3.0, robustness=1.0).fit(X, X[:, 0])
    found = run(regression.to_svr(), X)[0].ravel()
    np.testing.assert_allclose(found, regression.predict(X), atol=1e-4)


# ---------------------------------------------------------------------- small things people ask for


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_missing_or_infinite_is_named_by_its_place(moons, value):
    X, y = moons
    X = X.copy()
    X[7, 1] = value
    what = "NaN" if np.isnan(value) else str(value)
    with pytest.raises(ValueError, match=rf"RobustSVC: X\[7, 1\] is {what}"):
        RobustSVC().fit(X, y)
    with pytest.raises(ValueError, match=rf"X\[7, 1\] is {what}"):
        RobustSVC().fit(sp.csr_matrix(X), y)
    frame = pd.DataFrame(X, columns=["height", "weight"])
    with pytest.raises(ValueError, match=rf"X\['weight'\] in row 7 is {what}"):
        RobustSVR().fit(frame, X[:, 0])
    machine = RobustSVC(robustness=0.0).fit(*moons)
    with pytest.raises(ValueError, match=rf"X\[7, 1\] is {what}"):
        machine.predict(X)


def test_a_missing_target_is_named_by_its_place(moons):
    X, target = moons[0], moons[0][:, 0].copy()
    target[5] = np.nan
    with pytest.raises(ValueError, match=r"RobustSVR: y\[5\] is NaN: a row without a target"):
        RobustSVR().fit(X, target)


def test_support_vectors_are_counted_as_in_svc(moons):
    X, y = moons
    ours, theirs = RobustSVC(robustness=0.0).fit(X, y), SVC(gamma="scale").fit(X, y)
    assert ours.n_support_.tolist() == theirs.n_support_.tolist()
    assert RobustSVR(robustness=0.0).fit(X, X[:, 0]).n_support_.size == 1


def test_who_asks_for_probabilities_is_told_where_they_are(moons):
    with pytest.raises(AttributeError, match="CalibratedClassifierCV"):
        RobustSVC().predict_proba(moons[0])
    assert not hasattr(RobustSVC(), "predict_proba")


def test_each_class_has_a_curve_of_its_own(iris):
    X, y = iris
    machine = RobustSVC(kernel="linear").fit(X, y)
    with pytest.raises(AttributeError, match=r"take estimators_\[k\].validation_curve_"):
        machine.validation_curve_  # noqa: B018
    assert machine.estimators_[0].validation_curve_ is not None


def test_a_file_name_is_no_title_of_a_report(moons):
    machine = RobustSVC(robustness=0.5).fit(*moons)
    with pytest.raises(ValueError, match=r"report\(\).write_html\('page.html'\)"):
        machine.report("page.html")
