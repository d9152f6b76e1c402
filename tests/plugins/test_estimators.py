"""RobustSVC and RobustSVR: scikit-learn's own checks, the machine behind them, and bad input."""

from __future__ import annotations

import pickle
import sys
import warnings
from datetime import datetime
from decimal import Decimal

import attrs
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from oracles import kernel_matrix
from problems import case
from sklearn.base import clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_iris, make_moons
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning, NotFittedError
from sklearn.metrics import brier_score_loss
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.utils.estimator_checks import parametrize_with_checks

import homotopy_plugins
from homotopy import (
    DataError,
    Homotopy,
    ModelError,
    PathError,
    Status,
    TraceError,
    TraceInterrupted,
)
from homotopy_plugins import EpsilonRamp, HingeRamp, LADRamp, RobustSVC, RobustSVCCV, RobustSVR
from homotopy_plugins.estimators import showing
from homotopy_plugins.estimators.machine import RobustMachine
from homotopy_plugins.estimators.robustness import Scale

BOTH = pytest.mark.parametrize("kind", ["hinge", "lad"])
PATHS = pytest.mark.parametrize("way", ["theta", "s"])
MACHINE = {"hinge": RobustSVC, "lad": RobustSVR}
MODEL = {"hinge": HingeRamp, "lad": LADRamp}
PIECES = {"hinge": ("O",), "lad": ("O+", "O-")}
CALLED = {"hinge": "margin", "lad": "residual"}


def problem(kind, n=60, seed=3, **options):
    made = case(kind, n, seed, **options)
    return made.X, made.y


# ---------------------------------------------------------------------- scikit-learn's checks

# With "auto" rows are held out, and gamma="scale" looks at X alone, so that two rows are not one
# row of weight 2; SVC and SVR are excused from the same two checks.
WEIGHTS = {
    f"check_sample_weight_equivalence_on_{kind}_data": "held-out rows and gamma ignore weights"
    for kind in ("dense", "sparse")
}
EXCUSED = [
    RobustSVC(),
    RobustSVC(path="s"),
    RobustSVR(),
    RobustSVR(path="s"),
    RobustSVR(path="epsilon"),
]
# A fixed point of the path and a fixed gamma: every check, nothing excused.
STRICT = [
    RobustSVC(robustness=0.5, gamma=0.1),
    RobustSVC(path="s", robustness={"s": -0.5}, gamma=0.1),
    RobustSVC(kernel="linear", robustness=1.0),
    RobustSVC(kernel="precomputed"),
    RobustSVR(robustness=0.5, gamma=0.1),
    RobustSVR(path="s", robustness=0.5, gamma=0.1),
    RobustSVR(kernel="linear", robustness=1.0),
    RobustSVR(kernel="precomputed"),
    RobustSVR(robustness=0.5, gamma=0.1, epsilon=0.1),
    RobustSVR(path="epsilon", robustness=0.1, gamma=0.1, theta=0.5),
]


# Before 1.7 scikit-learn gave a classifier of two classes other labels on either side of the check.
OLD = tuple(int(k) for k in sklearn.__version__.split(".")[:2]) < (1, 7)


def excused(estimator):
    old = OLD and is_classifier(estimator) and estimator.kernel != "precomputed"
    return WEIGHTS if old or repr(estimator) in [repr(e) for e in EXCUSED] else {}


# Both machines, all three paths, "auto" and a fixed point, a matrix; the other combinations, at
# more than a minute, are for `make test-all`.
QUICK = [
    RobustSVC(),
    RobustSVR(path="s"),
    RobustSVC(kernel="precomputed"),
    RobustSVR(path="epsilon", robustness=0.1, gamma=0.1, theta=0.5),
]
OTHERS = [e for e in (*EXCUSED, *STRICT) if repr(e) not in [repr(quick) for quick in QUICK]]


def test_all_machines_are_shown_to_scikit_learn():
    assert len(QUICK) + len(OTHERS) == len(EXCUSED) + len(STRICT)


@parametrize_with_checks(QUICK, expected_failed_checks=excused)
def test_scikit_learn_has_no_objection(estimator, check):
    passes(estimator, check)


@pytest.mark.slow
@parametrize_with_checks(OTHERS, expected_failed_checks=excused)
def test_scikit_learn_has_no_objection_to_the_others(estimator, check):
    passes(estimator, check)


def passes(estimator, check):
    with warnings.catch_warnings():
        # Their data are sometimes two rows, or a kernel that is none.
        warnings.simplefilter("ignore")
        check(estimator)


# ---------------------------------------------------------------------- the machine itself


@BOTH
@PATHS
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
def test_it_is_the_machine_of_its_path(kind, way, kernel):
    X, y = problem(kind)
    new = problem(kind, 30, 8)[0]
    value = {"theta": 0.3, "s": -0.4 if kind == "hinge" else 1.5}[way]
    options = {"kernel": kernel, "gamma": 0.5, "coef0": 1.0, "degree": 2, "C": 2.0}
    machine = MACHINE[kind](path=way, robustness={way: value}, **options).fit(X, y)
    path = machine.path_
    assert path.certify().ok
    assert machine.t_ == value
    start, stop = path.traced
    assert machine.robustness_ == pytest.approx((value - start) / (stop - start), rel=1e-14)
    f = path.decision_function(new, value)
    got = machine.decision_function(new) if kind == "hinge" else machine.predict(new)
    np.testing.assert_allclose(got, f, rtol=0, atol=1e-12)
    alpha = path.alpha(value)
    sign = y if kind == "hinge" else np.ones(y.size)
    np.testing.assert_array_equal(machine.support_, np.flatnonzero(alpha))
    np.testing.assert_array_equal(machine.dual_coef_, (alpha * sign)[None, machine.support_])
    np.testing.assert_array_equal(machine.support_vectors_, X[machine.support_])
    assert machine.intercept_.tolist() == [path.intercept(value)]
    parts = path.partition(value)
    outliers = np.sort(np.concatenate([parts[name] for name in PIECES[kind]]))
    np.testing.assert_array_equal(machine.outliers_, outliers)
    assert machine.certificate_.ok
    if kernel == "linear":
        by_hand = new @ machine.coef_[0] + machine.intercept_[0]
        np.testing.assert_allclose(got, by_hand, rtol=0, atol=1e-12)
        assert machine.coef_.shape == (1, X.shape[1])
    else:
        assert not hasattr(machine, "coef_")


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_at_theta_1_it_is_scikit_learns(kernel):
    X, y = problem("hinge", 80)
    new = problem("hinge", 40, 9)[0]
    plain = SVC(kernel=kernel, C=2.0, tol=1e-10).fit(X, y)
    machine = RobustSVC(kernel=kernel, C=2.0, robustness=0.0).fit(X, y)
    np.testing.assert_allclose(
        machine.decision_function(new), plain.decision_function(new), atol=1e-4
    )
    assert machine.outliers_.size == 0
    X, y = problem("lad", 80)
    plain = SVR(kernel=kernel, C=2.0, epsilon=0.0, tol=1e-10).fit(X, y)
    machine = RobustSVR(kernel=kernel, C=2.0, robustness=0.0).fit(X, y)
    np.testing.assert_allclose(machine.predict(new), plain.predict(new), atol=1e-3)
    assert machine.outliers_.size == 0


@pytest.mark.parametrize("gamma", ["scale", "auto", 0.3])
@pytest.mark.parametrize("sparse", [False, True])
def test_gamma_is_that_of_svc(gamma, sparse):
    X, y = problem("hinge")
    X = 3.0 * X
    given = sp.csr_matrix(X) if sparse else X
    theirs = SVC(gamma=gamma).fit(given, y)._gamma
    ours = RobustSVC(gamma=gamma, robustness=0.0).fit(given, y).path_.model.gamma
    assert ours == pytest.approx(theirs, rel=1e-12)


@BOTH
def test_sparse_and_dense_rows_are_the_same_rows(kind):
    X, y = problem(kind)
    X = np.where(np.abs(X) < 0.7, 0.0, X)
    dense = MACHINE[kind](kernel="linear").fit(X, y)
    sparse = MACHINE[kind](kernel="linear").fit(sp.csr_matrix(X), y)
    np.testing.assert_allclose(sparse.predict(sp.csr_array(X)), dense.predict(X), atol=1e-8)


@BOTH
def test_zero_weights_leave_rows_out_and_whole_ones_repeat_them(kind):
    X, y = problem(kind, 40)
    times = np.random.default_rng(0).integers(0, 4, 40)
    options = {"gamma": 0.5, "robustness": 0.6, "C": 2.0}
    weighted = MACHINE[kind](**options).fit(X, y, sample_weight=times)
    repeated = MACHINE[kind](**options).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    new = problem(kind, 30, 8)[0]
    name = "decision_function" if kind == "hinge" else "predict"
    np.testing.assert_allclose(
        getattr(weighted, name)(new), getattr(repeated, name)(new), rtol=0, atol=1e-8
    )


def test_class_weight():
    X, y = problem("hinge", 80)
    plain = RobustSVC(robustness=0.0).fit(X, y)
    heavy = RobustSVC(robustness=0.0, class_weight={1.0: 20.0}).fit(X, y)
    assert (heavy.predict(X) == 1.0).sum() > (plain.predict(X) == 1.0).sum()
    balanced = RobustSVC(robustness=0.0, class_weight="balanced").fit(X, y)
    counts = np.array([(y == c).sum() for c in (-1.0, 1.0)])
    by_hand = 80 / (2 * counts[(y > 0).astype(int)])
    same = RobustSVC(robustness=0.0).fit(X, y, sample_weight=by_hand)
    np.testing.assert_allclose(balanced.decision_function(X), same.decision_function(X), atol=1e-9)


@pytest.mark.parametrize("names", [("bad", "good"), (0, 1), (False, True), (3, 7)])
def test_labels_of_any_two_values(names):
    X, y = problem("hinge")
    named = np.array([names[int(v > 0)] for v in y])
    machine = RobustSVC(robustness=0.5).fit(X, named)
    assert machine.classes_.tolist() == list(names)
    assert set(machine.predict(X)) <= set(names)
    expected = RobustSVC(robustness=0.5).fit(X, y).predict(X) > 0
    np.testing.assert_array_equal(machine.predict(X) == names[1], expected)
    assert machine.audit(3)["label"].isin(names).all()


# ---------------------------------------------------------------------- robustness


@BOTH
@PATHS
def test_auto_takes_the_best_point_of_the_rows_held_out(kind, way):
    X, y = problem(kind, 120)
    machine = MACHINE[kind](path=way, C=3.0).fit(X, y)
    curve = machine.validation_curve_
    assert curve.best.t == pytest.approx(machine.t_) or curve.best.side == "before"
    again = MACHINE[kind](path=way, C=3.0).fit(X, y)
    assert again.robustness_ == machine.robustness_
    # The machine itself is fitted on all rows.
    assert machine.path_.problem.gram.size == 120
    other = MACHINE[kind](path=way, C=3.0, random_state=5).fit(X, y)
    assert not np.array_equal(other.validation_curve_.start, curve.start)


@PATHS
def test_the_curve_behind_auto_is_one_of_rows_never_trained_on(way, monkeypatch):
    """The held-out curve again, by hand, from the split that was made."""
    X, y = problem("hinge", 100)
    kept = {}
    original = RobustSVC._held_out

    def watched(self, rows):
        kept["held"] = original(self, rows)
        return kept["held"]

    monkeypatch.setattr(RobustSVC, "_held_out", watched)
    machine = RobustSVC(path=way, gamma=0.5, C=2.0).fit(X, y)
    held = kept["held"]
    assert held.size == pytest.approx(25, abs=1)
    for label in (-1.0, 1.0):
        assert (y[held] == label).sum() == round(0.25 * (y == label).sum())
    rest = np.setdiff1d(np.arange(100), held)
    model = HingeRamp(X[rest], y[rest], C=2.0, gamma=0.5, path=way, fit_intercept=True)
    curve = Homotopy(model).trace().validation_curve(X[held], y[held])
    found = machine.validation_curve_
    t = np.linspace(*curve.traced, 200)[1:-1]
    np.testing.assert_array_equal(found(t), curve(t))


@BOTH
@PATHS
def test_another_point_without_another_fit(kind, way):
    X, y = problem(kind)
    machine = MACHINE[kind](path=way).fit(X, y)
    start, stop = machine.path_.traced
    for r in np.linspace(0.0, 1.0, 7).tolist():
        t = start + r * (stop - start)
        moved = machine.at(r)
        assert moved.path_ is machine.path_
        assert moved.t_ == pytest.approx(t, rel=1e-14)
        by_parameter = machine.at({way: t})
        np.testing.assert_allclose(by_parameter.predict(X), moved.predict(X), rtol=0, atol=1e-9)
        s = stop if way == "s" else machine.path_.model.s
        refit = MACHINE[kind](path=way, robustness=r, s=s).fit(X, y)
        np.testing.assert_allclose(moved.predict(X), refit.predict(X), rtol=0, atol=1e-9)
        assert moved.get_params()["robustness"] == r
        assert moved.robustness_ == pytest.approx(r, abs=1e-14)
    beyond = stop + 1.5 * (stop - start)
    with pytest.raises((ModelError, PathError), match=r"lies outside the (traced interval|path)"):
        machine.at({way: beyond})


def test_robustness_0_is_plain_and_1_the_most_robust_on_every_path():
    X, y = problem("hinge", 80)
    plain = SVC(C=2.0, tol=1e-10).fit(X, y).decision_function(X)
    for way in ("theta", "s"):
        ends = [RobustSVC(C=2.0, path=way, robustness=r).fit(X, y) for r in (0, 1)]
        np.testing.assert_allclose(ends[0].decision_function(X), plain, atol=1e-4)
        assert [end.robustness_ for end in ends] == [0.0, 1.0]
        assert ends[0].outliers_.size == 0 < ends[1].outliers_.size
        # An outlier at the end has no pull: it is no support vector.
        assert not np.isin(ends[1].outliers_, ends[1].support_).any()
    X, y = problem("lad", 80)
    plain = SVR(C=2.0, epsilon=0.0, tol=1e-10).fit(X, y).predict(X)
    for way in ("theta", "s"):
        ends = [RobustSVR(C=2.0, path=way, robustness=r).fit(X, y) for r in (0, 1)]
        np.testing.assert_allclose(ends[0].predict(X), plain, atol=1e-3)
        assert [end.robustness_ for end in ends] == [0.0, 1.0]
        # Nor -0.0.
        assert not np.signbit(ends[0].robustness_)
        assert not np.isin(ends[1].outliers_, ends[1].support_).any()
        assert ends[1].outliers_.size > 0


@BOTH
@pytest.mark.parametrize("way", ["theta", "s", "epsilon"])
def test_what_a_machine_says_of_itself_leads_back_to_it(kind, way):
    """Also on a jump, where a rounding error would lead to its other side."""
    if (kind, way) == ("hinge", "epsilon"):
        return
    X, y = problem(kind, 60)
    machine = MACHINE[kind](path=way, C=3.0).fit(X, y)
    jumps = [jump.t for jump in machine.path_.jumps][:8]
    for t in [*jumps, machine.t_]:
        there = machine.at({way: t})
        again = machine.at(0.123).at(there.robustness_)
        np.testing.assert_array_equal(again.support_, there.support_)
        assert again.outliers_.tolist() == there.outliers_.tolist()
        options = {"s": machine.path_.span[1] if way == "s" else machine.path_.model.s}
        refit = MACHINE[kind](path=way, C=3.0, robustness=there.robustness_, **options).fit(X, y)
        np.testing.assert_allclose(refit.predict(X), there.predict(X), rtol=0, atol=1e-7)


@pytest.mark.parametrize(
    ("machine", "value", "way"),
    [(RobustSVC, -0.5, "s"), (RobustSVR, 1.5, "s"), (RobustSVR, 1.25, "epsilon")],
)
def test_a_threshold_in_the_old_spelling_is_read_with_a_warning(machine, value, way):
    X, y = problem("hinge" if machine is RobustSVC else "lad", 60)
    new = machine(path=way, robustness={way: value}).fit(X, y)
    spelling = rf"robustness={{'{way}': {value:g}}} for {way}={value:g}"
    with pytest.warns(FutureWarning, match=spelling) as caught:
        old = machine(path=way, robustness=value).fit(X, y)
    assert caught[0].filename == __file__
    assert old.t_ == new.t_ == value
    np.testing.assert_array_equal(old.predict(X), new.predict(X))
    with pytest.warns(FutureWarning, match=spelling) as caught:
        np.testing.assert_array_equal(new.at(value).predict(X), new.predict(X))
    assert caught[0].filename == __file__


def test_where_no_row_is_ever_an_outlier_every_robustness_is_the_plain_machine():
    X, y = np.arange(8.0)[:, None], np.arange(8) > 3
    for r in (0.0, 0.5, 1.0):
        machine = RobustSVC(kernel="linear", C=100.0, path="s", robustness=r).fit(X, y)
        assert machine.robustness_ == 0.0
        assert machine.outliers_.size == 0
        assert machine.at(1.0).predict(X).tolist() == y.tolist()


@BOTH
def test_before_the_first_jump_of_the_s_path_it_is_the_plain_machine(kind):
    X, y = problem(kind)
    far = -100.0 if kind == "hinge" else 1e6
    machine = MACHINE[kind](path="s", robustness={"s": far}).fit(X, y)
    plain = MACHINE[kind](path="theta", robustness=0.0).fit(X, y)
    np.testing.assert_allclose(machine.predict(X), plain.predict(X), rtol=0, atol=1e-8)
    assert machine.outliers_.size == 0
    assert (machine.t_, machine.robustness_) == (far, 0.0)


@BOTH
def test_the_s_path_goes_as_far_as_is_asked_for(kind):
    X, y = problem(kind, C=1.0)
    value = 0.5 if kind == "hinge" else 0.01
    machine = MACHINE[kind](path="s", robustness={"s": value}).fit(X, y)
    assert machine.path_.traced[1] == value
    assert machine.path_.certify().ok


def test_the_threshold_of_regression_comes_from_the_plain_fit():
    X, y = problem("lad", 100)
    machine = RobustSVR(C=1.0, robustness=0.0).fit(X, y)
    plain = machine.at(0.0)
    residual = np.abs(y - plain.predict(X))
    off = np.sort(residual[residual > 1e-6])
    assert off.size < 100
    spread = off[(off.size - 1) // 2] / 0.6744897501960817
    assert machine.path_.model.s == pytest.approx(min(3.0 * spread, 0.9 * off[-1]))
    scaled = RobustSVR(C=1000.0, robustness=0.0).fit(X, 1000.0 * y)
    assert scaled.path_.model.s == pytest.approx(1000.0 * machine.path_.model.s, rel=1e-6)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("C", [1.0, 10.0, 100.0])
@PATHS
def test_few_clean_rows_are_outliers_at_the_usual_threshold(way, C, kernel):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((250, 4))
    line = 100.0 + 20.0 * X[:, 0] - 10.0 * X[:, 1]
    for noise in (5.0, 10.0, 30.0):
        y = line + noise * rng.standard_normal(250)
        clean = RobustSVR(C=C, kernel=kernel, path=way, robustness=1.0).fit(X, y)
        assert clean.outliers_.size <= 0.06 * 250
        far = rng.choice(250, 25, replace=False)
        y[far] += 10.0 * noise
        found = RobustSVR(C=C, kernel=kernel, path=way, robustness=1.0).fit(X, y).outliers_
        assert np.isin(far, found).mean() >= 0.8
        assert np.isin(found, far, invert=True).sum() <= 0.06 * 225


def test_the_plain_machine_has_robustness_zero_without_a_sign():
    X, y = problem("lad", 40)
    for robustness in (0.0, "auto"):
        machine = RobustSVR(C=1.0, path="s", robustness=robustness).fit(X, y)
        assert not np.signbit(machine.robustness_)
    scale = Scale("s", 5.0, 1.0)
    assert not np.signbit(scale.robustness(5.0))


@pytest.mark.parametrize("C", [1e-6, 1e6])
@BOTH
@PATHS
def test_extreme_costs(kind, way, C):
    X, y = problem(kind, 40)
    machine = MACHINE[kind](path=way, C=C).fit(X, y)
    assert machine.path_.certify().ok
    assert np.isfinite(machine.predict(X).astype(float)).all()


@PATHS
def test_targets_that_are_met_exactly(way):
    """f passes through every target: there is no residual, no threshold and no outlier."""
    X = np.array([[0.0], [1.0], [2.0]])
    for y in (np.array([1.0, 2.0, 3.0]), np.zeros(3), np.full(3, 7.0)):
        machine = RobustSVR(C=1e6, gamma=10.0, path=way, robustness=0.0).fit(X, y)
        np.testing.assert_allclose(machine.predict(X), y, atol=1e-6)
        assert machine.outliers_.size == 0


@BOTH
def test_duplicates_zero_rows_and_large_features(kind):
    X, y = problem(kind, 30, data="integer")
    X = np.vstack([X, X, np.zeros((4, X.shape[1]))])
    y = np.concatenate([y, y, y[:4]])
    for factor in (1.0, 1e6):
        machine = MACHINE[kind](C=1.0).fit(factor * X, y)
        assert machine.path_.certify().ok


# ---------------------------------------------------------------------- epsilon


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("epsilon", [0.05, 0.3, 3.0])
def test_at_theta_1_epsilon_is_that_of_svr(kernel, epsilon):
    X, y = problem("lad", 80)
    new = problem("lad", 40, 9)[0]
    plain = SVR(kernel=kernel, C=2.0, epsilon=epsilon, tol=1e-10).fit(X, y)
    machine = RobustSVR(kernel=kernel, C=2.0, epsilon=epsilon, robustness=0.0).fit(X, y)
    np.testing.assert_allclose(machine.predict(new), plain.predict(new), atol=1e-4)
    np.testing.assert_array_equal(machine.support_, np.sort(plain.support_))
    assert machine.outliers_.size == 0


@pytest.mark.parametrize("way", ["theta", "s", "epsilon"])
@pytest.mark.parametrize("epsilon", [0.1, 0.5])
def test_paths_with_a_tube_are_those_of_the_model(way, epsilon):
    X, y = problem("lad", 70)
    machine = RobustSVR(path=way, C=2.0, gamma=0.5, epsilon=epsilon).fit(X, y)
    path = machine.path_
    assert isinstance(path.model, EpsilonRamp)
    assert path.certify().ok
    assert machine.certificate_.ok
    s = path.model.s_stop if way == "s" else path.model.s
    assert s > epsilon
    first, last = path.traced
    if way == "epsilon":
        assert first == epsilon
        assert last == pytest.approx(epsilon + 0.9 * (s - epsilon))
    new = problem("lad", 30, 8)[0]
    for t in np.linspace(first, last, 5)[1:]:
        f = machine.at({way: t}).predict(new)
        np.testing.assert_allclose(f, path.decision_function(new, t), rtol=0, atol=1e-12)
        residual = np.abs(y - machine.at({way: t}).predict(X))
        outliers = machine.at({way: t}).outliers_
        assert np.all(residual[outliers] >= (t if way == "s" else s) - 1e-9)


def test_without_a_tube_nothing_has_changed():
    X, y = problem("lad", 60)
    machine = RobustSVR(C=2.0, gamma=0.5, epsilon=0.0).fit(X, y)
    assert type(machine.path_.model) is LADRamp
    default = RobustSVR(C=2.0, gamma=0.5).fit(X, y)
    np.testing.assert_array_equal(default.dual_coef_, machine.dual_coef_)
    assert default.robustness_ == machine.robustness_


@pytest.mark.parametrize("theta", [0.0, 0.4])
def test_the_epsilon_path_begins_where_the_theta_path_leads(theta):
    X, y = problem("lad", 60)
    options = {"C": 2.0, "gamma": 0.5, "epsilon": 0.1}
    machine = RobustSVR(path="epsilon", theta=theta, **options).fit(X, y)
    robust = RobustSVR(robustness={"theta": theta}, **options).fit(X, y)
    np.testing.assert_allclose(machine.at(0.0).predict(X), robust.predict(X), rtol=0, atol=1e-8)
    np.testing.assert_array_equal(machine.at(0.0).outliers_, robust.outliers_)


def test_at_weight_1_the_epsilon_path_is_that_of_svr():
    X, y = problem("lad", 60)
    machine = RobustSVR(path="epsilon", theta=1.0, s=100.0, C=2.0, robustness={"epsilon": 0.2}).fit(
        X, y
    )
    assert machine.path_.traced[0] == 0.0
    for epsilon in (0.0, 0.2, 0.7, 2.0):
        plain = SVR(C=2.0, epsilon=epsilon, tol=1e-10).fit(X, y)
        np.testing.assert_allclose(
            machine.at({"epsilon": epsilon}).predict(X), plain.predict(X), atol=1e-3
        )
    assert machine.at({"epsilon": 0.2}).outliers_.size == 0


def test_the_epsilon_path_goes_as_far_as_is_asked_for():
    X, y = problem("lad", 60)
    auto = RobustSVR(path="epsilon", C=2.0).fit(X, y)
    far = 1.5 * auto.path_.model.s
    machine = RobustSVR(path="epsilon", C=2.0, robustness={"epsilon": far}).fit(X, y)
    assert machine.t_ == far
    assert machine.robustness_ < 1.0
    assert machine.path_.model.s == 2.0 * far
    assert machine.path_.certify().ok
    near = RobustSVR(path="epsilon", C=2.0, s=1.0, robustness={"epsilon": 0.95}).fit(X, y)
    assert near.path_.traced == (0.0, 0.95)
    assert near.robustness_ == 1.0
    half = RobustSVR(path="epsilon", C=2.0, s=1.0, robustness=0.5).fit(X, y)
    assert half.t_ == pytest.approx(0.45)


def test_a_tube_around_every_residual():
    X, y = problem("lad", 30)
    for way in ("theta", "s", "epsilon"):
        machine = RobustSVR(epsilon=100.0, path=way).fit(X, y)
        assert np.ptp(machine.predict(X)) < 1e-9
        assert machine.outliers_.size == machine.support_.size == 0


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"epsilon": -0.1}, "RobustSVR: epsilon must not be negative, got -0.1"),
        ({"epsilon": None}, "RobustSVR: epsilon must be a number, got None"),
        ({"epsilon": np.inf}, "RobustSVR: epsilon must be finite"),
        ({"epsilon": 1.0, "s": 0.5}, r"s must be larger than epsilon .*s=0.5 and epsilon=1"),
        (
            {"epsilon": 1.0, "path": "s", "robustness": {"s": 0.5}},
            r"robustness={'s': 0.5} lies outside .* must be larger than epsilon=1",
        ),
        (
            {"epsilon": 1.0, "path": "epsilon", "robustness": {"epsilon": 0.5}},
            r"robustness={'epsilon': 0.5} lies outside the epsilon-path, from epsilon=1 up to",
        ),
        (
            {"path": "epsilon", "s": 1.0, "robustness": {"epsilon": 2.0}},
            r"robustness={'epsilon': 2} lies outside the epsilon-path, .* threshold s=1",
        ),
        ({"path": "eps"}, "RobustSVR: path must be 'theta', 's' or 'epsilon', got 'eps'"),
    ],
)
def test_tubes_are_refused(options, match):
    with pytest.raises(ModelError, match=match):
        RobustSVR(**options).fit(X, R)


# ---------------------------------------------------------------------- one standard error


@pytest.mark.parametrize(
    ("kind", "way"),
    [("hinge", "theta"), ("hinge", "s"), ("lad", "theta"), ("lad", "s"), ("lad", "epsilon")],
)
def test_one_standard_error_takes_the_simplest_machine_that_is_as_good(kind, way):
    farther = 0
    for seed in range(4):
        X, y = problem(kind, 100, seed)
        best = MACHINE[kind](path=way, C=3.0).fit(X, y)
        other = MACHINE[kind](path=way, C=3.0, rule="one-standard-error").fit(X, y)
        curve, error = other.validation_curve_, other.standard_error_
        assert error == best.standard_error_ > 0.0
        np.testing.assert_array_equal(curve.coefficients, best.validation_curve_.coefficients)
        limit = curve.minimum + error
        chosen = curve.latest(limit) if way == "epsilon" else curve.earliest(limit)
        if (chosen.t, chosen.side) != (curve.traced[0], "before"):
            assert other.t_ == chosen.t
            farther += 1
        else:
            assert (other.t_, other.robustness_) == (other.path_.traced[0], 0.0)
        # No point of the curve nearer to the simple end is as good.
        simple = curve.traced[1 if way == "epsilon" else 0]
        between = np.linspace(simple, chosen.t, 200)[:-1]
        assert np.all(curve(between) > limit) or chosen.t == simple
    assert farther > 0 or (kind, way) in (("hinge", "theta"), ("lad", "theta"), ("lad", "s"))


def test_the_standard_error_is_that_of_the_rows_held_out(monkeypatch):
    X, y = problem("hinge", 100)
    kept = {}
    original = RobustSVC._held_out

    def watched(self, rows):
        kept["held"] = original(self, rows)
        return kept["held"]

    monkeypatch.setattr(RobustSVC, "_held_out", watched)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, 100)
    for sample_weight in (None, weight):
        machine = RobustSVC(gamma=0.5, C=2.0).fit(X, y, sample_weight=sample_weight)
        held = kept["held"]
        rest = np.setdiff1d(np.arange(100), held)
        w = np.ones(100) if sample_weight is None else weight
        model = HingeRamp(
            X[rest], y[rest], C=2.0, gamma=0.5, fit_intercept=True, sample_weight=w[rest]
        )
        best = machine.validation_curve_.best
        f = Homotopy(model).trace().decision_function(X[held], best.t, best.side)
        wrong = (np.where(f > 0.0, 1.0, -1.0) != y[held]).astype(float)
        mean = np.average(wrong, weights=w[held])
        assert best.value == pytest.approx(mean, abs=1e-12)
        size = held.size
        by_hand = np.sqrt((w[held] ** 2 @ (wrong - mean) ** 2) * size / (size - 1)) / w[held].sum()
        assert machine.standard_error_ == pytest.approx(by_hand, rel=1e-9)
    # Rows of one weight: the usual formula.
    assert RobustSVC(robustness=0.5).fit(X, y).standard_error_ is None


# ---------------------------------------------------------------------- which rows are wrong


@BOTH
@PATHS
def test_audit(kind, way):
    X, y = problem(kind, 80)
    machine = MACHINE[kind](path=way, C=2.0).fit(X, y)
    table = machine.audit(top=None)
    met = CALLED[kind]
    assert sorted(table["row"]) == list(range(80))
    # Along s, whatever path was fitted.
    path = machine.path_ if way == "s" else Homotopy(machine.path_.model.along("s")).trace()
    start, stop = path.traced
    responses = [path.response(start, "before"), path.response(stop)]
    if kind == "lad":
        responses = [np.abs(y - u) for u in responses]
    rows = table["row"].to_numpy()
    np.testing.assert_allclose(table[f"{met}_start"], responses[0][rows], atol=1e-12)
    np.testing.assert_allclose(table[f"{met}_end"], responses[1][rows], atol=1e-12)
    target = "label" if kind == "hinge" else "target"
    np.testing.assert_array_equal(table[target], y[rows])
    stays = path.occupancy(*PIECES[kind])
    np.testing.assert_array_equal(table["first"], stays.first[rows])
    np.testing.assert_array_equal(table["share"], stays.share[rows])
    order = table[f"{met}_mean"].to_numpy() * (1 if kind == "hinge" else -1)
    assert np.all(np.diff(order) >= 0)
    pd.testing.assert_frame_equal(machine.audit(top=7), table.head(7))


def test_audit_finds_planted_labels():
    data = load_breast_cancer()
    X, y = StandardScaler().fit_transform(data.data), data.target.copy()
    wrong = np.random.default_rng(0).choice(y.size, 57, replace=False)
    y[wrong] = 1 - y[wrong]
    machine = RobustSVC(kernel="linear", C=0.1, robustness=1.0).fit(X, y)
    top = machine.audit(top=40)["row"]
    assert np.isin(top, wrong).mean() > 0.9


def test_audit_without_pandas(monkeypatch):
    X, y = problem("hinge")
    machine = RobustSVC().fit(X, y)
    expected = machine.audit(5)
    monkeypatch.setitem(sys.modules, "pandas", None)
    plain = machine.audit(5)
    assert isinstance(plain, np.ndarray)
    assert plain.dtype.names == tuple(expected.columns)
    np.testing.assert_array_equal(plain["row"], expected["row"])


# ---------------------------------------------------------------------- among other tools


@BOTH
def test_clone_pickle_and_repr(kind):
    X, y = problem(kind)
    machine = MACHINE[kind](C=2.0, robustness=0.25)
    assert clone(machine).get_params() == machine.get_params()
    machine.fit(X, y)
    again = pickle.loads(pickle.dumps(machine))
    np.testing.assert_array_equal(again.predict(X), machine.predict(X))
    assert again.path_.certify().ok
    np.testing.assert_array_equal(again.at(0.75).predict(X), machine.at(0.75).predict(X))
    assert MACHINE[kind].__name__ in machine._repr_html_()
    assert not hasattr(clone(machine), "path_")


def scaled_dot(X, Z):
    return 0.1 * np.asarray(X @ Z.T)


def test_a_callable_kernel_and_one_that_is_given():
    X, y = problem("hinge")
    new = problem("hinge", 20, 8)[0]
    called = RobustSVC(kernel=scaled_dot, robustness=0.5).fit(X, y)
    given = RobustSVC(kernel="precomputed", robustness=0.5).fit(0.1 * X @ X.T, y)
    f = called.decision_function(new)
    np.testing.assert_allclose(given.decision_function(0.1 * new @ X.T), f, atol=1e-8)
    np.testing.assert_allclose(
        pickle.loads(pickle.dumps(called)).decision_function(new), f, atol=1e-12
    )


def test_pipeline_grid_search_and_frames():
    X, y = problem("hinge", 80)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    pipe = make_pipeline(StandardScaler().set_output(transform="pandas"), RobustSVC())
    grid = {"robustsvc__C": [0.1, 1.0], "robustsvc__robustness": [0.0, 0.7, "auto"]}
    search = GridSearchCV(pipe, grid, cv=3).fit(frame, y)
    best = search.best_estimator_[-1]
    assert best.feature_names_in_.tolist() == ["a", "b", "c"]
    assert search.score(frame, y) > 0.6


@pytest.mark.parametrize("ensemble", [True, False])
@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_scores_are_calibrated_by_scikit_learn(method, ensemble):
    X, y = make_moons(300, noise=0.25, random_state=0)
    wrong = np.random.default_rng(0).choice(300, 30, replace=False)
    y[wrong] = 1 - y[wrong]
    calibrated = CalibratedClassifierCV(RobustSVC(C=3.0), method=method, ensemble=ensemble, cv=3)
    new, truth = make_moons(300, noise=0.25, random_state=1)
    p = calibrated.fit(X, y).predict_proba(new)
    assert p.shape == (300, 2)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    # Better than saying the share of the classes to everybody.
    assert brier_score_loss(truth, p[:, 1]) < 0.5 * 0.25
    assert np.corrcoef(p[:, 1], truth)[0, 1] > 0.7


def test_more_than_two_classes_one_against_the_rest():
    X, y = load_iris(return_X_y=True)
    ovr = OneVsRestClassifier(RobustSVC(robustness=1.0)).fit(X, y)
    assert ovr.score(X, y) > 0.9
    assert len(ovr.estimators_) == 3
    assert all(isinstance(e.outliers_, np.ndarray) for e in ovr.estimators_)


def test_without_scikit_learn_the_names_say_what_to_install(monkeypatch):
    for name in [m for m in sys.modules if m.split(".")[0] == "sklearn"]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, "sklearn", None)
    for name in [m for m in sys.modules if m.startswith("homotopy_plugins.estimators")]:
        monkeypatch.delitem(sys.modules, name)
    for name in ("RobustSVC", "RobustSVRCV"):
        with pytest.raises(ImportError, match=rf"{name} needs scikit-learn .*homotopy-qp\[sklearn"):
            getattr(homotopy_plugins, name)
    with pytest.raises(AttributeError, match="has no attribute 'RobustSVD'"):
        _ = homotopy_plugins.RobustSVD
    assert "RobustSVC" in dir(homotopy_plugins)


# ---------------------------------------------------------------------- kernels that are none


@pytest.mark.parametrize("way", ["theta", "s"])
def test_an_indefinite_kernel_is_projected_with_a_warning(way):
    X, y = problem("hinge", 40)
    new = problem("hinge", 15, 8)[0]
    K = kernel_matrix(X, X, "linear", 1.0)
    values, vectors = np.linalg.eigh(K + np.diag(np.linspace(-3.0, 3.0, 40)))
    assert values[0] < -1.0
    bad = (vectors * values) @ vectors.T
    machine = RobustSVC(kernel="precomputed", path=way, robustness=1.0 if way == "s" else 0.7)
    with pytest.warns(UserWarning, match=r"indefinite \(eigenvalues from -"):
        machine.fit(bad, y)
    assert machine.path_.certify().ok
    # By hand: the same machine on explicit features of the part that is left.
    kept = values > 0.0
    features = vectors[:, kept] * np.sqrt(values[kept])
    by_hand = RobustSVC(kernel="linear", path=way, robustness=machine.robustness).fit(features, y)
    rows = new @ X.T
    mapped = rows @ vectors[:, kept] / np.sqrt(values[kept])
    np.testing.assert_allclose(
        machine.decision_function(rows), by_hand.decision_function(mapped), rtol=0, atol=1e-7
    )


def test_a_kernel_in_single_precision_is_taken_without_a_word():
    X, y = problem("hinge", 60)
    K = kernel_matrix(X, X, "linear", 1.0)
    machine = RobustSVC(kernel="precomputed", robustness=0.3).fit(K.astype(np.float32), y)
    expected = RobustSVC(kernel="precomputed", robustness=0.3).fit(K, y)
    np.testing.assert_allclose(
        machine.decision_function(K), expected.decision_function(K), atol=1e-4
    )


# ---------------------------------------------------------------------- bad input

X, Y = problem("hinge", 30)
R = problem("lad", 30)[1]


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"C": -1.0}, ModelError, "RobustSVC: C must be positive and finite, got -1.0"),
        ({"C": "big"}, ModelError, "RobustSVC: C must be a number"),
        ({"kernel": "cosine"}, ModelError, "RobustSVC: kernel must be one of"),
        ({"gamma": -1.0}, ModelError, "RobustSVC: gamma must be positive"),
        ({"gamma": "wide"}, ModelError, "gamma must be 'scale', 'auto' or a positive number"),
        ({"degree": 0, "kernel": "poly"}, ModelError, "RobustSVC: degree must be"),
        ({"path": "C"}, ModelError, "RobustSVC: path must be 'theta' or 's', got 'C'"),
        ({"theta": 2.0}, ModelError, r"RobustSVC: theta must lie in \[0, 1\]"),
        ({"tol": 0.0}, ModelError, "RobustSVC: tol must be positive"),
        ({"s": None}, ModelError, "RobustSVC: s must be a number, got None"),
        ({"s": 1.5}, ModelError, "RobustSVC: s must be at most 1"),
        ({"s": 1.5, "path": "s"}, ModelError, "RobustSVC: s must be at most 1"),
        ({"robustness": 1.5}, ModelError, r"must lie between 0 \(the plain machine\) and 1 .*1.5"),
        ({"robustness": -0.1}, ModelError, "robustness must lie between 0 .*got -0.1"),
        (
            {"robustness": {"theta": 1.5}},
            ModelError,
            r"robustness={'theta': 1.5} lies outside the path: theta goes from 1 \(plain\)",
        ),
        (
            {"robustness": {"s": 0.5}},
            ModelError,
            r"robustness={'s': 0.5} must hold the parameter of the path alone: .*'theta'",
        ),
        ({"robustness": {"theta": "x"}}, ModelError, r"robustness\['theta'\] must be a number"),
        (
            {"robustness": {"s": 1.2}, "path": "s"},
            ModelError,
            "robustness={'s': 1.2} lies outside the s-path: s must be at most 1",
        ),
        (
            {"robustness": "best"},
            ModelError,
            "robustness must be a number from 0 to 1, a dict .* 'best'",
        ),
        ({"robustness": None}, ModelError, "robustness must be a number, got None"),
        ({"robustness": np.nan}, ModelError, "robustness must be finite, got nan"),
        ({"loss": "squared"}, ModelError, "RobustSVC: loss must be one of zero-one, hinge, got"),
        ({"validation_fraction": 1.0}, ModelError, "validation_fraction must lie between 0 and 1"),
        ({"cache_size": 0.0}, ModelError, "RobustSVC: cache_size must be positive"),
        ({"class_weight": "fair"}, ValueError, "class_weight"),
    ],
)
def test_parameters_are_refused_before_any_work(options, error, match):
    with pytest.raises(error, match=match):
        RobustSVC(**options).fit(X, Y)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"s": -1.0}, "RobustSVR: s must be positive"),
        ({"robustness": {"s": 0.0}, "path": "s"}, "robustness={'s': 0} lies outside the s-path"),
        ({"robustness": 2.0}, "robustness must lie between 0 .*got 2"),
    ],
)
def test_parameters_of_regression(options, match):
    with pytest.raises(ModelError, match=match):
        RobustSVR(**options).fit(X, R)


@pytest.mark.parametrize(
    ("data", "match"),
    [
        ((X, np.ones(30)), r"RobustSVC: y has one class \(1.0\)"),
        ((X, np.linspace(0, 1, 30)), "Unknown label type"),
        ((np.where(X[0, 0] == X, np.nan, X), Y), "NaN"),
        ((X[:20], Y), "inconsistent numbers of samples"),
        ((np.empty((0, 3)), np.empty(0)), "0 sample"),
    ],
)
def test_data_are_refused(data, match):
    with pytest.raises(ValueError, match=match):
        RobustSVC().fit(*data)


def test_weights_are_refused():
    # Newer versions of scikit-learn see to it themselves.
    with pytest.raises(ValueError, match=r"at least one non-zero|every sample_weight is 0"):
        RobustSVC().fit(X, Y, sample_weight=np.zeros(30))
    with pytest.raises(DataError, match=r"only class 1.0 is left where rows of sample_weight"):
        RobustSVC().fit(X, Y, sample_weight=(Y > 0).astype(float))
    with pytest.raises(ValueError, match=r"Negative values .*sample_weight\[\d+\] is -1"):
        RobustSVC().fit(X, Y, sample_weight=Y)
    with pytest.raises(DataError, match=r"only class 1.0 is left .*class_weight 0"):
        RobustSVC(class_weight={-1.0: 0.0}).fit(X, Y)


def objects(values, **at):
    """An array of objects with some of them replaced."""
    array = np.array(values, dtype=object)
    for i, value in at.items():
        array[int(i[1:])] = value
    return array


NAMES = np.where(Y > 0, "yes", "no")
BOTH_KINDS = pytest.mark.parametrize("estimator", [RobustSVC, RobustSVR, RobustSVCCV])


@BOTH_KINDS
@pytest.mark.parametrize(
    ("y", "match"),
    [
        (objects(Y, _3=None), r"y\[3\] is None: a row without a (label|target); drop such"),
        ([None, *Y[1:].tolist()], r"y\[0\] is None: a row without"),
        (objects(NAMES, _2=None), r"y\[2\] is None: a row without"),
        (objects(NAMES, _2=np.nan), r"y\[2\] is NaN: a row without"),
        (objects(Y, _5=pd.NA), r"y\[5\] is <NA>: a row without"),
        (
            pd.Series(NAMES, dtype="string").where(np.arange(30) != 4),
            r"y\[4\] is (<NA>|nan): a row",
        ),
        (pd.DataFrame({"y": objects(NAMES, _7=None)}), r"y\[7\] is (None|NaN): a row"),
        (objects(Y, _3="yes"), r"y mixes types: y\[0\] is -?1.0 and y\[3\] is 'yes'; give every"),
        (objects(NAMES, _3=1.5), r"y mixes types: y\[0\] is '\w+' and y\[3\] is 1.5"),
    ],
)
def test_missing_and_mixed_targets_are_named(estimator, y, match):
    with pytest.raises(DataError, match=rf"{estimator.__name__}: {match}"):
        estimator().fit(X, y)


@pytest.mark.parametrize(
    "y",
    [
        objects(Y),
        objects(Y.astype(int)),
        objects(Y > 0),
        pd.Series(Y.astype(int), dtype="Int64"),
        pd.Series(NAMES, dtype="category"),
        pd.DataFrame({"y": NAMES})["y"],
        [Decimal(1) if v > 0 else Decimal(-1) for v in Y],
    ],
    ids=lambda y: type(y).__name__,
)
def test_labels_in_any_container(y):
    machine = RobustSVC(robustness=0.5).fit(X, y)
    expected = RobustSVC(robustness=0.5).fit(X, Y).predict(X) > 0
    np.testing.assert_array_equal(machine.predict(X) == machine.classes_[1], expected)


def test_one_column_of_a_frame_is_taken_with_scikit_learns_warning():
    for y, estimator in ((Y, RobustSVC), (R, RobustSVR)):
        with pytest.warns(DataConversionWarning, match="column-vector y was passed"):
            machine = estimator(robustness=0.5).fit(X, pd.DataFrame({"y": y}))
        np.testing.assert_array_equal(
            machine.predict(X), estimator(robustness=0.5).fit(X, y).predict(X)
        )


@pytest.mark.parametrize(
    ("y", "match"),
    [
        (NAMES, r"RobustSVR: y\[0\] is '\w+', which is not a number; a regression needs"),
        (np.full(30, np.datetime64("2020-01-01")), "RobustSVR: y holds dates or durations"),
        (pd.Series(pd.to_timedelta(np.arange(30), unit="D")), "RobustSVR: y holds dates or dur"),
        (
            objects([datetime(2020, 1, 1)] * 30),
            r"RobustSVR: y\[0\] is .*2020.*, which is not a number",
        ),
    ],
    ids=["text", "dates", "durations", "objects"],
)
def test_targets_that_are_no_numbers(y, match):
    with pytest.raises(DataError, match=match):
        RobustSVR().fit(X, y)


DATES = pd.DataFrame({"a": X[:, 0], "day": pd.date_range("2020-01-01", periods=30)})
WORDS = pd.DataFrame({"a": X[:, 0], "kind": np.where(Y > 0, "u", "v")})


@pytest.mark.parametrize(
    ("rows", "match"),
    [
        (WORDS, r"X\['kind'\] in row 0 is '\w', which is not a number; encode text and categories"),
        (
            WORDS.astype({"kind": "category"}),
            r"X\['kind'\] in row 0 is '\w', which is not a number",
        ),
        (DATES, r"X\['day'\] in row 0 is Timestamp.*, which is not a number; give numbers"),
        (
            objects(X.ravel(), _4="big").reshape(X.shape),
            r"X\[1, 1\] is 'big', which is not a number",
        ),
        (np.full((30, 2), "u"), r"X\[0, 0\] is '?.*u.*, which is not a number"),
        (np.full((30, 2), np.datetime64("2020-01-01")), "X holds dates or durations; give numbers"),
    ],
    ids=["frame", "category", "dates", "objects", "text", "datetime64"],
)
def test_rows_that_are_no_numbers_are_named(rows, match):
    for estimator, y in ((RobustSVC, Y), (RobustSVR, R)):
        with pytest.raises(DataError, match=rf"{estimator.__name__}: {match}"):
            estimator().fit(rows, y)
    fitted = RobustSVC(robustness=0.5).fit(X[:, :2], Y)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X has feature names")
        with pytest.raises(DataError, match=rf"RobustSVC: {match}"):
            fitted.predict(rows)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"class_weight": {-1.0: None, 1.0: 1.0}}, r"class_weight\[-1.0\] is None; weights are"),
        ({"class_weight": {-1.0: np.nan}}, r"class_weight\[-1.0\] is nan; weights are finite"),
        ({"class_weight": {-1.0: -2.0}}, r"class_weight\[-1.0\] is -2.0; weights are finite"),
        ({"loss": np.array(["hinge", "x"])}, "RobustSVC: loss must be one of zero-one, hinge, got"),
        ({"rule": "first"}, "RobustSVC: rule must be 'best' or 'one-standard-error', got 'first'"),
        ({"rule": np.array(["best", "x"])}, "RobustSVC: rule must be 'best' or"),
    ],
)
def test_weights_losses_and_rules_are_refused(options, match):
    with pytest.raises(ModelError, match=match):
        RobustSVC(**options).fit(X, Y)


def test_weights_that_are_no_numbers():
    with pytest.raises(
        DataError, match=r"RobustSVC: sample_weight\[2\] is 'x', which is not a number"
    ):
        RobustSVC().fit(X, Y, sample_weight=objects(np.ones(30), _2="x"))


def test_a_precomputed_kernel_must_be_square():
    with pytest.raises(DataError, match=r"must be square, got shape \(30, 3\)"):
        RobustSVC(kernel="precomputed").fit(X, Y)


@BOTH
def test_use_before_fit_and_wrong_feature_counts(kind):
    machine = MACHINE[kind]()
    for use in (machine.predict, machine.at, machine.audit):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            use(X if use is machine.predict else 1)
    machine.fit(X, Y if kind == "hinge" else R)
    with pytest.raises(ValueError, match=r"X has 2 features, but Robust.* is expecting 3"):
        machine.predict(X[:, :2])
    for top in (0, -1, 2.5, True, "all"):
        with pytest.raises(ModelError, match="top must be a positive integer or None"):
            machine.audit(top)
    with pytest.raises(ModelError, match="robustness must be a number"):
        machine.at("auto")


def test_too_few_rows_to_hold_some_out():
    with pytest.warns(UserWarning, match="too few rows to hold some out"):
        machine = RobustSVC().fit([[0.0], [1.0]], [0, 1])
    assert machine.robustness_ == 0.0
    assert machine.validation_curve_ is None
    with pytest.warns(UserWarning, match="too few rows"):
        RobustSVR().fit([[0.0]], [1.0])


def test_residuals_above_tol_are_told():
    with pytest.warns(ConvergenceWarning, match=r"hold to .* only \(tol=1e-30\)"):
        RobustSVC(tol=1e-30, robustness=0.5).fit(X, Y)


def test_a_trace_that_is_interrupted_leaves_what_it_has(monkeypatch):
    whole = RobustSVC(robustness=0.0).fit(X, Y).path_
    stopped = attrs.evolve(whole, status=Status.INTERRUPTED)

    def interrupted(self, **options):
        raise TraceInterrupted("interrupted", stopped)

    monkeypatch.setattr(Homotopy, "trace", interrupted)
    machine = RobustSVC(robustness=0.0)
    with pytest.raises(KeyboardInterrupt, match="interrupted") as caught:
        machine.fit(X, Y)
    assert "path_ holds" in caught.value.__notes__[0]
    assert machine.path_ is stopped


def test_a_fit_that_fails_leaves_no_machine_behind(monkeypatch):
    machine = RobustSVC(kernel="linear", robustness=0.0).fit(X, Y)

    def fails(self, **options):
        raise TraceError("numerical trouble")

    monkeypatch.setattr(Homotopy, "trace", fails)
    with pytest.raises(TraceError, match="numerical trouble") as caught:
        machine.fit(2.0 * X, Y)
    assert "StandardScaler" in caught.value.__notes__[0]
    with pytest.raises(NotFittedError):
        machine.predict(X)
    assert not hasattr(machine, "coef_")
    assert not hasattr(machine, "path_")


@PATHS
@BOTH
def test_the_first_value_of_a_path_is_the_plain_machine(kind, way):
    X, y = problem(kind)
    machine = MACHINE[kind](path=way).fit(X, y)
    start = machine.path_.traced[0]
    for t in (start, np.nextafter(start, np.inf), np.nextafter(start, -np.inf)):
        if way == "s" or t <= 1.0:
            moved = machine.at({way: t})
            assert moved.intercept_[0] == machine.path_.intercept(start, "before")
            np.testing.assert_array_equal(
                moved.support_, np.flatnonzero(machine.path_.alpha(start, "before"))
            )


@pytest.mark.parametrize("verbose", [True, 1])
def test_verbose_shows_a_bar(capsys, verbose):
    RobustSVC(verbose=verbose, robustness=0.5).fit(X, Y)
    assert capsys.readouterr().err.count("theta 100%") == 1
    # "auto" traces a second path, without the rows held out.
    RobustSVC(verbose=verbose).fit(X, Y)
    assert capsys.readouterr().err.count("theta 100%") == 2
    RobustSVC(verbose=0).fit(X, Y)
    assert capsys.readouterr().err == ""


def test_verbose_without_tqdm_is_a_line_before_and_after(capsys, monkeypatch):
    monkeypatch.setattr(showing, "find_spec", lambda name: None)
    RobustSVC(verbose=1).fit(X, Y)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "RobustSVC: the path of 30 rows ... (install tqdm for a bar)"
    assert lines[1].startswith("RobustSVC: the path of 30 rows: ")
    assert "robustness by 8 rows held out" in lines[2]
    assert len(lines) == 4
    RobustSVCCV(verbose=1, Cs=(0.1, 1.0), cv=3).fit(X, Y)
    assert "RobustSVCCV: 2 machines, 3 folds: " in capsys.readouterr().err


def test_the_base_is_abstract():
    with pytest.raises(TypeError, match="abstract"):
        RobustMachine()


@pytest.mark.parametrize("offset", [0.0, 1e6, 1e8])
def test_the_default_gamma_of_sparse_rows_is_that_of_dense_ones(offset):
    X, y = make_moons(40, noise=0.2, random_state=0)
    X = X + offset
    dense = RobustSVC(robustness=0.5).fit(X, y).path_.model.gamma
    sparse = RobustSVC(robustness=0.5).fit(sp.csr_matrix(X), y).path_.model.gamma
    np.testing.assert_allclose(sparse, dense, rtol=1e-6)


def test_a_list_is_no_class_weight():
    X, y = make_moons(40, noise=0.2, random_state=0)
    with pytest.raises(ModelError, match="class_weight must be 'balanced', a dict or None"):
        RobustSVC(class_weight=[1.0]).fit(X, y)
    with pytest.raises(ModelError, match=r"Cs must be a list of positive numbers, got array\(2.\)"):
        RobustSVCCV(Cs=np.array(2.0)).fit(X, y)
