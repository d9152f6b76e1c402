"""RobustSVCCV and RobustSVRCV: what they choose, by hand; joblib and Dask; bad input."""

from __future__ import annotations

import pickle
import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn
from problems import case
from sklearn.base import clone, is_classifier
from sklearn.exceptions import FitFailedWarning, NotFittedError
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold
from sklearn.utils import compute_sample_weight
from sklearn.utils.estimator_checks import parametrize_with_checks

from homotopy import DataError, Homotopy, ModelError, TraceError, TraceInterrupted
from homotopy_plugins import HingeRamp, LADRamp, RobustSVC, RobustSVCCV, RobustSVR, RobustSVRCV
from homotopy_plugins.estimators import showing

BOTH = pytest.mark.parametrize("kind", ["hinge", "lad"])
PATHS = pytest.mark.parametrize("way", ["theta", "s"])
SEARCH = {"hinge": RobustSVCCV, "lad": RobustSVRCV}
MACHINE = {"hinge": RobustSVC, "lad": RobustSVR}
COSTS = (0.1, 1.0, 10.0)


def problem(kind, n=90, seed=3, **options):
    made = case(kind, n, seed, **options)
    return made.X, made.y


def folds(kind, count=3):
    splitter = StratifiedKFold if kind == "hinge" else KFold
    return splitter(count, shuffle=True, random_state=0)


# Cheap ones: what is checked is how they behave, not what they choose.
QUICK = [
    RobustSVCCV(Cs=(1.0,), gammas=(0.1,), path="s", cv=2),
    RobustSVRCV(Cs=(1.0,), gammas=(0.1,), cv=2),
]
OTHERS = [
    RobustSVCCV(Cs=(0.1, 1.0), gammas=(0.1,), cv=3),
    RobustSVRCV(Cs=(0.1, 1.0), gammas=(0.1,), cv=3),
    RobustSVRCV(Cs=(1.0,), gammas=(0.1,), path="s", cv=2),
    RobustSVRCV(Cs=(1.0,), gammas=(0.1,), path="epsilon", theta=0.5, cv=2),
]


OLD = tuple(int(k) for k in sklearn.__version__.split(".")[:2]) < (1, 7)


@parametrize_with_checks(QUICK)
def test_scikit_learn_has_no_objection(estimator, check):
    passes(estimator, check)


@pytest.mark.slow
@parametrize_with_checks(OTHERS)
def test_scikit_learn_has_no_objection_to_the_others(estimator, check):
    passes(estimator, check)


def passes(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            check(estimator)
        except AssertionError as error:
            if OLD and is_classifier(estimator) and "`sample_weight` is not" in str(error):
                pytest.xfail("scikit-learn before 1.7: other labels on either side of the check")
            raise


# ---------------------------------------------------------------------- what is chosen


@BOTH
@PATHS
@pytest.mark.parametrize("count", [30, pytest.param(100, marks=pytest.mark.slow)])
def test_the_choice_is_the_best_of_all_values_of_the_grid_and_the_path(kind, way, count):
    """Every C, every fold and `count` values of the path, with models of their own."""
    X, y = problem(kind)
    cv = folds(kind)
    search = SEARCH[kind](Cs=COSTS, gammas=(0.2, 0.8), path=way, cv=cv).fit(X, y)
    results = search.cv_results_
    assert len(results["params"]) == 6
    # Half of the rows are at or below the 45th: no more than twice the spread of y is charged.
    distance = np.abs(y - np.sort(y)[44])
    cap = 2.0 * np.sort(distance)[44] / 0.6744897501960817

    def minus_loss(y, f):
        return -np.minimum(np.abs(y - f), cap).mean()

    score = accuracy_score if kind == "hinge" else minus_loss
    for row, params in enumerate(results["params"]):
        threshold = results["threshold"][row]
        options = {"C": params["C"], "gamma": params["gamma"], "path": way, "fit_intercept": True}
        options["s_stop" if (kind, way) == ("lad", "s") else "s"] = threshold
        t, side = results[way][row], search.validation_curves_[row].best.side
        values, found = [], []
        for k, (kept, held) in enumerate(cv.split(X, y)):
            model = (HingeRamp if kind == "hinge" else LADRamp)(X[kept], y[kept], **options)
            path = Homotopy(model).trace()
            start = path.traced[0]

            def at(t, side="after", path=path, start=start, held=held):
                # Two starts of one path agree to rounding.
                short = 1e-9 if side == "before" else 0.0
                # The jumps of two traces are at the same places but for rounding.
                t = next((jump.t for jump in path.jumps if abs(jump.t - t) < 1e-12), t)
                if way == "s" and np.sign(path.problem.start) * (t - start) > -short:
                    t, side = start, "before"
                f = path.decision_function(X[held], t, side)
                return score(y[held], np.where(f > 0, 1.0, -1.0) if kind == "hinge" else f)

            assert results[f"split{k}_test_score"][row] == pytest.approx(at(t, side), abs=1e-9)
            low, high = search.validation_curves_[row].traced
            found.append([at(value) for value in np.linspace(low, high, count)])
            values.append(at(t, side))
        assert results["mean_test_score"][row] == pytest.approx(np.mean(values), abs=1e-9)
        assert results["mean_test_score"][row] >= np.mean(found, axis=0).max() - 1e-9
        assert results["std_test_score"][row] == pytest.approx(np.std(values), abs=1e-9)
    best = search.best_index_
    assert search.best_score_ == results["mean_test_score"].max()
    assert results["rank_test_score"][best] == 1
    assert search.best_params_ == pytest.approx(results["params"][best], abs=1e-9)
    assert (search.C_, search.gamma_) == (search.best_params_["C"], search.best_params_["gamma"])
    assert search.n_splits_ == 3


@BOTH
@PATHS
def test_the_fitted_machine_is_the_one_of_the_best_parameters(kind, way):
    X, y = problem(kind)
    search = SEARCH[kind](Cs=COSTS, path=way, cv=folds(kind)).fit(X, y)
    assert search.path_.certify().ok
    alone = MACHINE[kind](path=way, **search.best_params_).fit(X, y)
    new = problem(kind, 40, 8)[0]
    name = "decision_function" if kind == "hinge" else "predict"
    np.testing.assert_allclose(
        getattr(search, name)(new), getattr(alone, name)(new), rtol=0, atol=1e-7
    )
    np.testing.assert_array_equal(search.outliers_, alone.outliers_)
    assert len(search.audit(5)) == 5
    assert search.at(0).t_ == search.path_.traced[0]


@PATHS
def test_the_best_parameters_say_where_the_machine_is(way):
    """Also where the plain machine is best, and where its intercept is free."""
    plain = 0
    for seed in range(12):
        X, y = problem("hinge", 30, seed)
        for C in (0.01, 1.0):
            search = RobustSVCCV(Cs=(C,), gammas=(0.3,), path=way, cv=3).fit(X, y)
            alone = RobustSVC(path=way, **search.best_params_).fit(X, y)
            f = search.decision_function(X)
            np.testing.assert_allclose(alone.decision_function(X), f, rtol=0, atol=1e-7)
            moved = search.at(search.robustness_).decision_function(X)
            np.testing.assert_allclose(moved, f, rtol=0, atol=1e-12)
            plain += search.outliers_.size == 0
    assert plain > 0


@pytest.mark.parametrize("way", ["theta", "s", "epsilon"])
def test_a_search_with_a_tube(way):
    X, y = problem("lad")
    options = {"path": way, "epsilon": 0.1}
    search = RobustSVRCV(Cs=COSTS, cv=folds("lad"), **options).fit(X, y)
    assert search.path_.certify().ok
    alone = RobustSVR(**options, **search.best_params_).fit(X, y)
    np.testing.assert_allclose(search.predict(X), alone.predict(X), rtol=0, atol=1e-7)
    # Every curve spans what the path on all rows spans.
    for row, curve in enumerate(search.validation_curves_):
        s = search.cv_results_["threshold"][row]
        last = {"theta": 0.0, "s": s, "epsilon": 0.1 + 0.9 * (s - 0.1)}[way]
        assert curve.traced[1] == pytest.approx(last)


@BOTH
@PATHS
def test_one_standard_error_of_the_folds(kind, way):
    X, y = problem(kind)
    options = {"Cs": COSTS, "path": way, "cv": folds(kind, 5)}
    best = SEARCH[kind](**options).fit(X, y)
    search = SEARCH[kind](rule="one-standard-error", **options).fit(X, y)
    assert (search.C_, search.best_score_) == (best.C_, best.best_score_)
    scores = [search.cv_results_[f"split{k}_test_score"][search.best_index_] for k in range(5)]
    assert search.standard_error_ == pytest.approx(np.std(scores, ddof=1) / np.sqrt(5))
    curve = search.validation_curve_
    chosen = curve.earliest(curve.minimum + search.standard_error_)
    at_start = chosen.t == curve.traced[0] and chosen.side == "before"
    assert search.t_ == (search.path_.traced[0] if at_start else chosen.t)
    assert search.robustness_ <= best.robustness_ + 1e-12
    alone = MACHINE[kind](path=way, **search.best_params_).fit(X, y)
    np.testing.assert_allclose(search.predict(X), alone.predict(X), rtol=0, atol=1e-7)
    means = np.mean([fold.coefficients[0, 0] for fold in search.fold_curves_])
    assert curve.coefficients[0, 0] == pytest.approx(means)


def test_ties_go_to_the_middle_of_the_best_interval():
    X, y = problem("hinge")
    search = RobustSVCCV(Cs=(1.0,), cv=folds("hinge")).fit(X, y)
    curve = search.validation_curve_
    first, last = search.cv_results_["robustness_from"][0], search.cv_results_["robustness_to"][0]
    assert search.robustness_ == pytest.approx(0.5 * (first + last))
    widest = max(curve.intervals, key=lambda i: abs(i[1] - i[0]))
    assert (first, last) == (1.0 - widest[0], 1.0 - widest[1])


def test_results_are_a_table_as_of_grid_search():
    X, y = problem("hinge")
    search = RobustSVCCV(Cs=[10.0, 0.1], gammas=["scale", 0.5], cv=folds("hinge")).fit(X, y)
    table = pd.DataFrame(search.cv_results_)
    assert table["param_C"].tolist() == [0.1, 10.0, 0.1, 10.0]
    assert table["param_gamma"].tolist() == ["scale", "scale", 0.5, 0.5]
    assert (table["mean_fit_time"] > 0).all()
    for column in ("std_fit_time", "mean_score_time", "std_score_time", "param_robustness"):
        assert column in table


@pytest.mark.parametrize("kernel", ["linear", "precomputed"])
def test_kernels_without_a_width_have_one_row_a_cost(kernel):
    X, y = problem("hinge")
    given = X @ X.T if kernel == "precomputed" else X
    search = RobustSVCCV(kernel=kernel, Cs=COSTS, gammas=(0.1, 1.0), cv=folds("hinge"))
    search.fit(given, y)
    assert len(search.cv_results_["params"]) == 3
    if kernel == "precomputed":
        plain = RobustSVCCV(kernel="linear", Cs=COSTS, cv=folds("hinge")).fit(X, y)
        assert search.best_params_["C"] == plain.best_params_["C"]
        assert search.robustness_ == pytest.approx(plain.robustness_, abs=1e-8)


@pytest.mark.parametrize(
    ("kind", "loss"), [("hinge", "hinge"), ("lad", "squared"), ("lad", "absolute")]
)
def test_another_loss(kind, loss):
    X, y = problem(kind)
    search = SEARCH[kind](Cs=COSTS, loss=loss, cv=folds(kind)).fit(X, y)
    assert all(curve.loss == loss for curve in search.validation_curves_)
    assert search.best_score_ == max(-curve.minimum for curve in search.validation_curves_)


def test_groups_stay_together():
    X, y = problem("hinge")
    groups = np.arange(90) // 10
    search = RobustSVCCV(Cs=(1.0,), cv=GroupKFold(3)).fit(X, y, groups=groups)
    pairs = RobustSVCCV(Cs=(1.0,), cv=list(GroupKFold(3).split(X, y, groups))).fit(X, y)
    assert search.robustness_ == pairs.robustness_


def test_weights_count_in_fits_and_scores():
    X, y = problem("hinge", 60)
    times = np.random.default_rng(0).integers(1, 4, 60)
    cv = list(folds("hinge").split(X, y))
    where = np.repeat(np.arange(60), times)
    repeated = [
        tuple(np.flatnonzero(np.isin(where, part)) for part in (kept, held)) for kept, held in cv
    ]
    options = {"Cs": (1.0,), "gammas": (0.5,)}
    one = RobustSVCCV(cv=cv, **options).fit(X, y, sample_weight=times)
    two = RobustSVCCV(cv=repeated, **options).fit(X[where], y[where])
    assert one.best_score_ == pytest.approx(two.best_score_, abs=1e-12)
    assert one.robustness_ == pytest.approx(two.robustness_, abs=1e-7)


def test_clone_and_pickle():
    X, y = problem("lad")
    search = RobustSVRCV(Cs=COSTS, cv=3).fit(X, y)
    again = pickle.loads(pickle.dumps(search))
    np.testing.assert_array_equal(again.predict(X), search.predict(X))
    assert again.best_params_ == search.best_params_
    assert clone(search).get_params() == search.get_params()


# ---------------------------------------------------------------------- many processes


def same_to_the_last_digit(one, two):
    for key, values in one.cv_results_.items():
        if "time" not in key and key != "params":
            np.testing.assert_array_equal(np.asarray(values), np.asarray(two.cv_results_[key]))
    assert one.best_params_ == two.best_params_
    np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)
    np.testing.assert_array_equal(one.intercept_, two.intercept_)
    for a, b in zip(one.validation_curves_, two.validation_curves_, strict=True):
        np.testing.assert_array_equal(a.start, b.start)
        np.testing.assert_array_equal(a.coefficients, b.coefficients)


@BOTH
def test_two_processes_do_what_one_does(kind):
    X, y = problem(kind)
    search = SEARCH[kind](Cs=COSTS, gammas=(0.2, 0.8), cv=folds(kind))
    serial = clone(search).fit(X, y)
    same_to_the_last_digit(serial, clone(search).set_params(n_jobs=2).fit(X, y))
    with joblib.parallel_config("threading", n_jobs=2):
        same_to_the_last_digit(serial, clone(search).fit(X, y))


@pytest.mark.filterwarnings("ignore")
def test_a_dask_cluster_does_what_one_process_does():
    """Two worker processes of a real cluster, through joblib's own backend."""
    distributed = pytest.importorskip("distributed")
    X, y = problem("hinge")
    search = RobustSVCCV(Cs=COSTS, gammas=(0.2, 0.8), cv=folds("hinge"))
    serial = clone(search).fit(X, y)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        with joblib.parallel_config("dask"):
            remote = clone(search).fit(X, y)
        # They were at work: every worker has run tasks of ours.
        story = client.run(lambda dask_worker: dask_worker.state.executed_count)
        assert len(story) == 2
        assert all(count > 0 for count in story.values())
    same_to_the_last_digit(serial, remote)


def test_verbose_shows_a_bar_over_the_grid(capsys):
    X, y = problem("hinge")
    RobustSVCCV(Cs=(1.0,), cv=folds("hinge"), verbose=True).fit(X, y)
    assert "RobustSVCCV: 1 machine, 3 folds 100%" in capsys.readouterr().err


@pytest.mark.parametrize("jobs", [None, 2])
def test_the_bar_moves_with_every_path(monkeypatch, jobs):
    moves = []

    class Bar:
        def __init__(self, name, total):
            self.total = total

        def __enter__(self):
            return self

        def __exit__(self, *error):
            moves.append(("of", self.total))

        def update(self, steps):
            moves.append(steps)

    def bar(name, total):
        # That of the last path is left to tqdm.
        return Bar(name, total) if "folds" in name else original(name, total)

    original = showing.progress.progress_bar
    monkeypatch.setattr(showing.progress, "progress_bar", bar)
    X, y = problem("hinge")
    RobustSVCCV(Cs=COSTS, cv=folds("hinge"), verbose=1, n_jobs=jobs).fit(X, y)
    *steps, of = moves
    assert of == ("of", 12)
    assert sum(steps) == 12
    if jobs is None:
        assert steps == [1] * 12


# ---------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"Cs": 1.0}, "Cs must be a list of positive numbers, got 1.0"),
        ({"Cs": "all"}, "Cs must be a list"),
        ({"Cs": ()}, "at least one value each"),
        ({"Cs": (1.0, -2.0)}, "each of Cs must be positive and finite, got -2.0"),
        ({"gammas": "scale"}, "gammas must be a list"),
        ({"gammas": ()}, "at least one value each"),
        ({"gammas": [[1.0]]}, "gamma must be a number"),
        ({"gammas": (0.0,)}, "RobustSVCCV: gamma must be positive"),
        ({"loss": "log"}, "loss must be one of"),
        ({"path": "C"}, "RobustSVCCV: path must be 'theta' or 's'"),
        ({"path": "s", "s": 1.5}, "RobustSVCCV: s must be at most 1"),
        ({"rule": "1se"}, "RobustSVCCV: rule must be 'best' or 'one-standard-error', got '1se'"),
        ({"cv": [1]}, r"RobustSVCCV: cv must be an integer, a splitter or a list of pairs .*\[1\]"),
    ],
)
def test_parameters_are_refused_before_any_work(options, match):
    X, y = problem("hinge", 30)
    with pytest.raises(ModelError, match=match):
        RobustSVCCV(**options).fit(X, y)


def test_one_class_in_a_fold():
    X, y = problem("hinge", 30)
    y = np.sort(y)
    half = [(np.flatnonzero(y < 0), np.flatnonzero(y > 0))]
    with pytest.raises(DataError, match=r"RobustSVCCV: fold 0 trains on one class \(-1.0\); use a"):
        RobustSVCCV(cv=half).fit(X, y)
    first = np.flatnonzero(y < 0)
    weight = np.ones(30)
    weight[first[1:]] = 0.0
    folds_ = [(np.arange(1, 30), np.array([0])), (np.r_[0, 10:30], np.arange(1, 10))]
    with pytest.raises(DataError, match=r"fold 0 trains on one class \(1.0\)"):
        RobustSVCCV(cv=folds_).fit(X, y, sample_weight=weight)
    folds_ = [(np.r_[0, 20:30], first[1:3])]
    with pytest.raises(DataError, match="every row held out by fold 0 has sample_weight 0"):
        RobustSVCCV(cv=folds_).fit(X, y, sample_weight=weight)


def test_losses_are_those_of_the_problem():
    X, y = problem("lad", 30)
    with pytest.raises(ModelError, match=r"loss must be one of truncated, .*got 'zero-one'"):
        RobustSVRCV(loss="zero-one", cv=2).fit(X, y)


def test_targets_that_are_mostly_equal_have_no_scale_to_cut_at():
    X, y = problem("lad", 30)
    search = RobustSVRCV(Cs=(1.0,), cv=3).fit(X, np.where(np.arange(30) < 20, 1.0, y))
    assert search.validation_curve_.loss == "absolute"
    assert "up to" in RobustSVRCV(Cs=(1.0,), cv=3).fit(X, y).validation_curve_.loss


def test_use_before_fit():
    with pytest.raises(NotFittedError):
        RobustSVCCV().predict([[1.0]])


@pytest.mark.parametrize("at", ["start", "fold"])
def test_an_interrupted_trace_ends_the_search(monkeypatch, at):
    """Nobody swallows a Ctrl-C."""
    X, y = problem("hinge")
    original = Homotopy.trace

    def interrupted(self, **options):
        path = original(self, **options)
        here = (self.max_breakpoints is None) == (at == "fold")
        if here:
            raise TraceInterrupted("interrupted", path)
        return path

    monkeypatch.setattr(Homotopy, "trace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        RobustSVCCV(Cs=COSTS, cv=folds("hinge")).fit(X, y)


def test_a_cost_that_cannot_be_started_is_left_out_and_told(monkeypatch):
    X, y = problem("hinge")
    original = Homotopy.trace

    def troubled(self, **options):
        if self.model.C == 1.0:
            raise TraceError("numerical trouble")
        return original(self, **options)

    monkeypatch.setattr(Homotopy, "trace", troubled)
    with pytest.warns(FitFailedWarning, match=r"C=1 with gamma=scale is left out: C=1: num"):
        search = RobustSVCCV(Cs=COSTS, cv=folds("hinge")).fit(X, y)
    assert np.isnan(search.cv_results_["mean_test_score"]).tolist() == [False, True, False]


def test_scores_are_weighted_by_class_too():
    X, y = problem("hinge", 80)
    y[:60] = 1.0
    y[-10:] = -1.0
    cv = list(folds("hinge").split(X, y))
    search = RobustSVCCV(Cs=(1.0,), gammas=(0.5,), class_weight="balanced", cv=cv).fit(X, y)
    curve, weight = search.validation_curve_, compute_sample_weight("balanced", y)
    expected = []
    for kept, held in cv:
        model = HingeRamp(
            X[kept], y[kept], C=1.0, gamma=0.5, fit_intercept=True, sample_weight=weight[kept]
        )
        f = Homotopy(model).trace().decision_function(X[held], curve.best.t, curve.best.side)
        wrong = np.where(f > 0, 1.0, -1.0) != y[held]
        expected.append(1.0 - np.average(wrong, weights=weight[held]))
    np.testing.assert_allclose(search.best_score_, np.mean(expected), atol=1e-9)


def test_a_fold_that_cannot_be_traced_is_left_out_and_told(monkeypatch):
    X, y = problem("hinge")
    original = Homotopy.trace

    def troubled(self, **options):
        if self.model.C == 10.0 and self.max_breakpoints is None:
            raise TraceError("numerical trouble")
        return original(self, **options)

    monkeypatch.setattr(Homotopy, "trace", troubled)
    with pytest.warns(FitFailedWarning, match=r"fold \d failed, C=10 with gamma=scale is left out"):
        search = RobustSVCCV(Cs=COSTS, cv=folds("hinge")).fit(X, y)
    results = search.cv_results_
    assert np.isnan(results["mean_test_score"]).tolist() == [False, False, True]
    assert results["rank_test_score"][2] == 3
    assert search.C_ in (0.1, 1.0)
    assert search.validation_curves_[2] is None
    with (
        pytest.warns(FitFailedWarning),
        pytest.raises(TraceError, match="no C could be traced on every fold"),
    ):
        RobustSVCCV(Cs=(10.0,), cv=folds("hinge")).fit(X, y)
