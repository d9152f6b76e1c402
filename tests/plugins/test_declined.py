"""Paths that cannot be proven to their end: a fit makes do with what is proven, and says so."""

from __future__ import annotations

import json
import pickle
import warnings

import attrs
import numpy as np
import pytest

pytest.importorskip("sklearn")
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning, NotFittedError

import homotopy_plugins.estimators.proven as shared
from homotopy import Homotopy, Status, TraceError, ValidationCurve
from homotopy.path.part import beginning
from homotopy_plugins import (
    RobustSVC,
    RobustSVCCV,
    RobustSVR,
    RobustSVRCV,
    TrendFilterRegressor,
    UnscaledWarning,
    audit,
)

TROUBLE = "a pivot is lost"
TRACE = Homotopy.trace

both = pytest.mark.parametrize("kind", [RobustSVC, RobustSVR])
searches = pytest.mark.parametrize("kind", [RobustSVCCV, RobustSVRCV])
ways = pytest.mark.parametrize("way", ["theta", "s"])


def problem(kind, n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    if issubclass(kind, RobustSVC | RobustSVCCV):
        y = (X[:, 0] + 0.3 * rng.normal(size=n) > 0.0).astype(int)
        y[:8] = 1 - y[:8]
        return X, y
    y = X[:, 0] + 0.2 * rng.normal(size=n)
    y[:6] += 4.0
    return X, y


def declines(monkeypatch, *, keep=0.4, alone=True, when=lambda engine: True):
    """Every trace of a span raises and hands over its first part (None if `keep` is 0); points
    alone are solved if `alone`."""

    def trace(self, **options):
        first, last = self.model.span
        if not when(self):
            return TRACE(self, **options)
        if first == last:
            if alone:
                return TRACE(self, **options)
            raise TraceError(TROUBLE)
        if self.max_breakpoints is not None and keep:
            return TRACE(self, **options)
        error = TraceError(TROUBLE)
        if keep:
            path = TRACE(self, **options)
            error.path = beginning(path, max(1, int(keep * len(path.segments))))
        raise error

    monkeypatch.setattr(Homotopy, "trace", trace)


def ends(kind, way, **options):
    """The machine fitted as usual, and the first and last value of its path."""
    X, y = problem(kind)
    usual = kind(path=way, robustness={way: 0.5 if way == "theta" else 0.4}, **options).fit(X, y)
    return X, y, usual, usual.path_


def same(machine, usual, X):
    assert machine.t_ == usual.t_
    np.testing.assert_array_equal(machine.support_, usual.support_)
    np.testing.assert_allclose(machine.predict(X), usual.predict(X), rtol=1e-9, atol=1e-9)


# ---------------------------------------------------------------------- a value that is given


@both
@ways
def test_a_value_on_the_proven_part_is_fitted_as_usual(monkeypatch, kind, way):
    X, y, usual, path = ends(kind, way)
    part = beginning(path, int(0.4 * len(path.segments)))
    t = float(np.mean(part.traced))
    weight = np.linspace(0.5, 1.5, y.size)
    expected = [
        usual.at({way: t}),
        kind(path=way, s=path.model.s, robustness={way: t}).fit(X, y, sample_weight=weight),
    ]
    declines(monkeypatch)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        usually = (0.4 if way == "s" else None) if kind is RobustSVR else 0.0
        machine = kind(path=way, s=usually, robustness={way: t}).fit(X, y)
    same(machine, expected[0], X)
    assert machine.path_.status is Status.FAILED
    assert machine.certificate_.ok
    assert machine.path_.certify().ok
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        weighted = kind(path=way, s=path.model.s, robustness={way: t}).fit(
            X, y, sample_weight=weight
        )
    same(weighted, expected[1], X)


@both
@ways
def test_a_value_beyond_it_is_solved_and_certified_on_its_own(monkeypatch, kind, way):
    X, y, usual, path = ends(kind, way)
    t = path.traced[1]
    declines(monkeypatch)
    with pytest.warns(ConvergenceWarning) as caught:
        machine = kind(path=way, robustness={way: t}).fit(X, y)
    text = str(caught[0].message)
    assert len(caught) == 1
    for word in (kind.__name__, f"({way}={t:g}) was asked for", TROUBLE, "StandardScaler"):
        assert word in text, text
    assert f"{way}={t:g} was solved and certified on its own" in text
    assert machine.t_ == t
    assert machine.robustness_ == 1.0
    assert machine.certificate_.ok
    assert machine.path_.status is Status.FAILED
    assert not shared.holds(machine.path_, t)
    # A local optimum, if not that of the path, and a better answer there than the last proven one.
    last, point = machine.path_.traced[1], machine._point
    alpha, b = machine.path_.alpha(last), machine.path_.border_multipliers(last)
    carried = path.problem.objective(t, alpha, b, machine.path_.response(last))
    assert point.objective(t) <= carried * (1.0 + 1e-9)
    f = machine.predict(X) if kind is RobustSVR else machine.decision_function(X)
    assert np.all(np.isfinite(f))
    again = pickle.loads(pickle.dumps(machine))
    np.testing.assert_array_equal(again.predict(X), machine.predict(X))
    same(machine.at({way: t}), machine, X)
    first = machine.at(0.0)
    np.testing.assert_allclose(first.dual_coef_, usual.at(0.0).dual_coef_, atol=1e-9)
    assert machine.outliers_.size or way == "theta"


@both
@ways
def test_else_it_is_the_last_point_that_is_proven(monkeypatch, kind, way):
    X, y, _, path = ends(kind, way)
    t = path.traced[1]
    last = beginning(path, int(0.4 * len(path.segments))).traced[1]
    declines(monkeypatch, alone=False)
    with pytest.warns(ConvergenceWarning) as caught:
        machine = kind(path=way, robustness={way: t}).fit(X, y)
    text = str(caught[0].message)
    assert len(caught) == 1
    for word in (
        kind.__name__,
        f"({way}={t:g}) was asked for",
        f"the machine is that of {way}={last:g}",
        TROUBLE,
        "StandardScaler",
        "another C",
    ):
        assert word in text, text
    # A jump that ends the part is not crossed.
    np.testing.assert_array_equal(machine.support_, np.flatnonzero(path.alpha(last, "before")))
    assert machine.robustness == {way: t}
    assert machine.t_ == last == machine.path_.traced[1]
    assert 0.0 < machine.robustness_ < 1.0
    assert machine.certificate_.ok


@both
@ways
def test_where_nothing_is_handed_over_the_first_point_is_solved(monkeypatch, kind, way):
    X, y, usual, path = ends(kind, way)
    plain, (start, stop) = usual.at(0.0), path.traced
    declines(monkeypatch, keep=0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Well before any row is met on the s-path.
        early = start if way == "theta" else start + (start - stop)
        machine = kind(path=way, robustness={way: early}).fit(X, y)
    np.testing.assert_allclose(machine.dual_coef_, plain.dual_coef_, atol=1e-9)
    assert machine.outliers_.size == 0
    assert machine.certificate_.ok
    with pytest.warns(ConvergenceWarning, match="solved and certified on its own"):
        machine = kind(path=way, robustness={way: stop}).fit(X, y)
    assert machine.t_ == stop
    assert machine.certificate_.ok
    with pytest.warns(ConvergenceWarning, match="robustness='auto' was chosen on what is proven"):
        machine = kind(path=way).fit(X, y)
    np.testing.assert_allclose(machine.dual_coef_, plain.dual_coef_, atol=1e-9)
    assert machine.validation_curve_ is not None
    with pytest.warns(ConvergenceWarning, match="audit"):
        assert len(machine.audit(top=5, out_of_fold=True, cv=2)) == 5


@both
@ways
def test_where_nothing_at_all_is_proven_the_error_says_so(monkeypatch, kind, way):
    X, y = problem(kind)
    declines(monkeypatch, keep=0.0, alone=False)
    machine = kind(path=way, robustness=0.5)
    with pytest.raises(TraceError, match=TROUBLE):
        machine.fit(X, y)
    with pytest.raises(NotFittedError):
        machine.predict(X)


@both
def test_where_no_optimum_exists_the_error_stays(monkeypatch, kind):
    X, y, _, path = ends(kind, "theta")
    part = attrs.evolve(beginning(path, 2), status=Status.NO_OPTIMUM)

    def trace(self, **options):
        if self.max_breakpoints is not None:
            return TRACE(self, **options)
        error = TraceError("no optimum exists")
        error.path = part
        raise error

    monkeypatch.setattr(Homotopy, "trace", trace)
    with pytest.raises(TraceError, match="no optimum exists"):
        kind(robustness=0.0).fit(X, y)


def spoiled_wine():
    """Raw columns, a proline of a thousand beside a hue of one, and three labels in ten wrong."""
    rng = np.random.default_rng(71)
    X, y = load_wine(return_X_y=True)
    some = rng.permutation(y.size)
    y = np.where(y[some] % 2 == 0, 1.0, -1.0)
    y[rng.random(y.size) < 0.3] *= -1.0
    return X[some][:150], y[:150]


@ways
@pytest.mark.parametrize("robustness", [1.0, "auto"])
def test_a_table_that_was_once_declined(way, robustness):
    X, y = spoiled_wine()
    machine = RobustSVC(C=100.0, kernel="linear", path=way, robustness=robustness)
    with warnings.catch_warnings():
        # However far this path is proven; its columns are in their own units.
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", UnscaledWarning)
        machine.fit(X, y)
    assert machine.certificate_.ok
    assert machine.path_.certify().ok
    assert machine.score(X, y) > 0.6


# ---------------------------------------------------------------------- rows held out


@both
@ways
@pytest.mark.parametrize("rule", ["best", "one-standard-error"])
def test_auto_chooses_on_the_part_that_is_proven(monkeypatch, kind, way, rule):
    X, y = problem(kind)
    whole = kind(path=way, rule=rule).fit(X, y)
    declines(monkeypatch, keep=0.6)
    with pytest.warns(ConvergenceWarning) as caught:
        machine = kind(path=way, rule=rule).fit(X, y)
    assert len(caught) == 1
    text = str(caught[0].message)
    for word in (kind.__name__, "the path is proven from", "rows held out", TROUBLE, "chosen on"):
        assert word in text, text
    assert shared.holds(machine.path_, machine.t_)
    assert machine.certificate_.ok
    curve, every = machine.validation_curve_, whole.validation_curve_
    first, last = curve.traced
    assert abs(last - first) <= abs(machine.path_.traced[1] - first)
    at = np.linspace(first, last, 101)[1:-1]
    np.testing.assert_allclose(curve(at), every(at), rtol=1e-9, atol=1e-12)
    assert curve.minimum >= every.minimum - 1e-12


@both
def test_rows_held_out_without_any_path_leave_the_first_machine(monkeypatch, kind):
    X, y = problem(kind)
    usual = kind(robustness=0.0).fit(X, y)
    declines(monkeypatch, keep=0.0, alone=False, when=lambda e: e.model.gram.size < y.size)
    with pytest.warns(ConvergenceWarning, match="nothing to choose on") as caught:
        machine = kind().fit(X, y)
    assert "rows held out: C=1: a pivot is lost" in str(caught[0].message)
    assert machine.validation_curve_ is None
    assert machine.path_.complete
    same(machine, usual, X)


@searches
@ways
def test_a_search_chooses_on_the_part_that_is_proven(monkeypatch, kind, way):
    X, y = problem(kind)
    declines(monkeypatch, keep=0.6)
    with pytest.warns(ConvergenceWarning) as caught:
        search = kind(Cs=(0.1, 1.0), cv=3, path=way).fit(X, y)
    texts = [str(w.message) for w in caught]
    assert len(texts) == 3
    assert sum("is judged up to" in text for text in texts) == 2
    assert "was chosen on what is proven" in texts[-1]
    assert shared.holds(search.path_, search.t_)
    assert search.certificate_.ok
    assert np.all(np.isfinite(search.cv_results_["mean_test_score"]))
    assert search.best_params_["robustness"] == search.robustness_


@searches
def test_a_fold_with_its_first_point_alone_still_has_a_score(monkeypatch, kind):
    X, y = problem(kind)
    declines(monkeypatch, keep=0.0, when=lambda e: e.model.C == 1.0)
    with pytest.warns(ConvergenceWarning) as caught:
        search = kind(Cs=(0.1, 1.0), cv=3).fit(X, y)
    text = str(caught[0].message)
    assert "C=1 with gamma=scale is judged up to theta=1 only: fold 0 and others" in text
    assert np.all(np.isfinite(search.cv_results_["mean_test_score"]))
    assert search.cv_results_["robustness_to"][1] == 0.0


@searches
def test_a_cost_of_which_nothing_is_proven_is_left_out(monkeypatch, kind):
    X, y = problem(kind)
    declines(monkeypatch, keep=0.0, alone=False, when=lambda e: e.model.C == 1.0)
    with pytest.warns(FitFailedWarning, match="C=1 with gamma=scale is left out"):
        search = kind(Cs=(0.1, 1.0), cv=3).fit(X, y)
    assert search.C_ == 0.1


# ---------------------------------------------------------------------- the tube that widens


def test_the_tube_widens_as_far_as_is_proven(monkeypatch):
    X, y = problem(RobustSVR)
    options = {"path": "epsilon", "s": 1.0}
    usual = RobustSVR(robustness={"epsilon": 0.2}, **options).fit(X, y)
    far = usual.path_.traced[1]
    declines(monkeypatch, when=lambda e: e.model.parameter == "eps")
    with pytest.warns(ConvergenceWarning, match=r"epsilon=0\.9 was solved and certified"):
        machine = RobustSVR(robustness={"epsilon": far}, **options).fit(X, y)
    assert machine.t_ == far
    assert machine.certificate_.ok
    declines(monkeypatch, alone=False, when=lambda e: e.model.parameter == "eps")
    with pytest.warns(ConvergenceWarning, match="the machine is that of epsilon="):
        machine = RobustSVR(robustness={"epsilon": far}, **options).fit(X, y)
    assert machine.t_ == machine.path_.traced[1] < far
    assert machine.certificate_.ok


def test_the_tube_widens_from_the_weight_that_is_proven(monkeypatch):
    X, y = problem(RobustSVR)
    options = {"path": "epsilon", "s": 1.0, "robustness": {"epsilon": 0.2}}
    declines(monkeypatch, when=lambda e: e.model.parameter == "theta")
    with pytest.warns(ConvergenceWarning, match="at theta=0 its beginning was solved alone"):
        machine = RobustSVR(**options).fit(X, y)
    assert machine.t_ == 0.2
    assert machine.path_.model.theta == 0.0
    assert machine.certificate_.ok
    declines(monkeypatch, alone=False, when=lambda e: e.model.parameter == "theta")
    with pytest.warns(ConvergenceWarning, match=r"outliers weigh theta=0\.\d+ and not 0"):
        machine = RobustSVR(**options).fit(X, y)
    assert 0.0 < machine.path_.model.theta < 1.0
    assert machine.path_.complete
    assert machine.path_.certify().ok


# ---------------------------------------------------------------------- what uses a machine


def test_the_page_and_the_audit_of_a_machine_on_a_part(monkeypatch):
    X, y = problem(RobustSVC)
    declines(monkeypatch)
    with pytest.warns(ConvergenceWarning):
        machine = RobustSVC(robustness=1.0).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="audit: the path is proven"):
        assert len(machine.audit(top=7)) == 7
    with pytest.warns(ConvergenceWarning, match="audit: the path is proven"):
        page = machine.report().html
    assert "solved and certified on its own" in page


def test_audit_judges_rows_by_what_is_proven(monkeypatch):
    X, y = problem(RobustSVC)
    declines(monkeypatch, keep=0.0)
    found = audit(X, y, model=False, cv=3)
    assert len(found) == y.size
    assert np.all(np.isfinite(found.columns["label_quality"]))


@pytest.mark.parametrize("words", [("no", "yes"), None])
def test_the_command_shows_the_warning_and_goes_on(monkeypatch, tmp_path, words):
    pytest.importorskip("typer")
    from typer.testing import CliRunner

    from homotopy_plugins.cli.app import app

    kind = RobustSVR if words is None else RobustSVC
    X, y = problem(kind)
    lines = ["a,b,y"]
    for row, target in zip(X.tolist(), y.tolist(), strict=True):
        lines.append(f"{row[0]!r},{row[1]!r},{words[target] if words else repr(target)}")
    data, out = tmp_path / "data.csv", tmp_path / "machine.npz"
    data.write_text("\n".join(lines) + "\n")
    declines(monkeypatch)
    arguments = ["select", data, "-t", "y", "--Cs", "1", "--cv", "3", "--out", out, "--json"]
    try:
        runner = CliRunner(mix_stderr=False)
    except TypeError:
        runner = CliRunner()
    done = runner.invoke(app, [str(a) for a in arguments], prog_name="homotopy")
    assert done.exit_code == 0, done.stderr
    assert f"{kind.__name__}CV: the path is proven from" in done.stderr
    assert TROUBLE in done.stderr
    assert np.isfinite(json.loads(done.stdout)["chosen"]["robustness"])
    assert out.exists()


# ---------------------------------------------------------------------- trend filtering


def signal(n=80):
    z = np.linspace(0.0, 1.0, n)
    return z, np.abs(z - 0.4) + 0.05 * np.random.default_rng(0).standard_normal(n)


def test_a_trend_at_a_lam_that_is_given(monkeypatch):
    z, y = signal()
    whole = TrendFilterRegressor(lam=1e-3).fit(z, y)
    part = beginning(whole.path_, int(0.4 * len(whole.path_.segments)))
    declines(monkeypatch)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # It is convex: a point alone is that of the path.
        alone = TrendFilterRegressor(lam=1e-3).fit(z, y)
    np.testing.assert_allclose(alone.predict(z), whole.predict(z), atol=1e-9)
    np.testing.assert_allclose(alone.knots_, whole.knots_)
    assert alone.lam_ == 1e-3
    assert alone.certificate_.ok
    assert alone.path_.status is Status.FAILED
    declines(monkeypatch, alone=False)
    with pytest.warns(
        ConvergenceWarning, match=r"lam=0\.001 was asked for.*the fit is that of lam="
    ):
        near = TrendFilterRegressor(lam=1e-3).fit(z, y)
    assert near.lam_ == part.traced[1]
    assert near.certificate_.ok


@pytest.mark.parametrize("rule", ["gcv", "bic", "cv"])
def test_a_trend_whose_lam_is_chosen(monkeypatch, rule):
    z, y = signal()
    declines(monkeypatch, keep=0.6)
    with pytest.warns(ConvergenceWarning, match=f"lam='{rule}' was chosen on what is proven"):
        model = TrendFilterRegressor(lam=rule).fit(z, y)
    assert shared.holds(model.path_, model.lam_)
    assert model.certificate_.ok
    declines(monkeypatch, keep=0.0)
    with pytest.warns(ConvergenceWarning, match="chosen on what is proven"):
        model = TrendFilterRegressor(lam=rule).fit(z, y)
    assert model.lam_ == model.path_.traced[0]
    declines(monkeypatch, keep=0.0, alone=False)
    with pytest.raises(TraceError, match=TROUBLE):
        TrendFilterRegressor(lam=rule).fit(z, y)


# ---------------------------------------------------------------------- curves


def curve(start, stop, coefficients, **options):
    return ValidationCurve("t", "hinge", start, stop, np.array(coefficients), **options)


def test_a_shortened_curve_is_the_same_up_to_its_end():
    whole = curve([1.0, 0.6], [0.6, 0.0], [[1.0, 2.0, 3.0], [4.0, -1.0, 0.5]])
    for stop in (0.9, 0.6, 0.3):
        part = shared.shortened(whole, stop, -1.0)
        assert part.traced == (1.0, stop)
        at = np.linspace(1.0, stop, 17)[:-1]
        np.testing.assert_allclose(part(at), whole(at), rtol=1e-12)
    assert shared.shortened(whole, 0.0, -1.0) is whole
    point = shared.shortened(whole, 1.0, -1.0)
    assert point.traced == (1.0, 1.0)
    assert point(1.0) == 1.0
    parts = shared.common_part([whole, point, shared.shortened(whole, 0.3, -1.0)])
    assert [part.traced for part in parts] == [(1.0, 1.0)] * 3


def test_a_curve_that_begins_beyond_the_end_is_constant_there():
    late = curve([2.0], [3.0], [[1.0, 1.0, 0.0]], origin=-np.inf)
    part = shared.shortened(late, 0.5, 1.0)
    assert part.traced == (0.5, 0.5)
    assert part(-7.0) == 1.0
