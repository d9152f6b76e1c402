"""The displays of the estimators: what they draw, read back, and how they refuse."""

from __future__ import annotations

import pickle
import sys

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from problems import case
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from homotopy import DataError, MissingPackageError, ModelError, ValidationCurve
from homotopy_plugins import (
    OutlierPathDisplay,
    RobustBoundaryDisplay,
    RobustnessCurveDisplay,
    RobustSVC,
    RobustSVCCV,
    RobustSVR,
    RobustSVRCV,
)

matplotlib.use("Agg")
DISPLAYS = (OutlierPathDisplay, RobustnessCurveDisplay, RobustBoundaryDisplay)
WAYS = [("hinge", "theta"), ("hinge", "s"), ("lad", "theta"), ("lad", "s"), ("lad", "epsilon")]
MACHINE = {"hinge": RobustSVC, "lad": RobustSVR}


def problem(kind, n=80, seed=3):
    made = case(kind, n, seed)
    return made.X, made.y


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def texts(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def robustness(machine, t):
    """How far along its path, from 0 to 1; what lies before it counts as 0."""
    start, stop = machine.path_.traced
    return min(max((t - start) / (stop - start), 0.0), 1.0)


# ---------------------------------------------------------------------- outliers along the path


@pytest.mark.parametrize(("kind", "way"), WAYS)
def test_every_stay_of_every_outlier_is_a_strip(kind, way):
    X, y = problem(kind, 50)
    machine = MACHINE[kind](path=way, C=2.0).fit(X, y)
    shown = OutlierPathDisplay.from_estimator(machine)
    stays = machine.outlier_path_
    assert 0 < shown.rows.size <= 40
    assert sorted(shown.rows) == np.flatnonzero(np.isfinite(stays.first)).tolist()
    assert np.all(np.diff(stays.share[shown.rows]) <= 0.0)
    for place, row in enumerate(shown.rows):
        strips = [(a, b) for a, b in zip(shown.start, shown.stop, strict=True)]
        drawn = sorted(s for s, p in zip(strips, shown.place, strict=True) if p == place)
        stay = sorted((robustness(machine, a), robustness(machine, b)) for a, b in stays.of(row))
        np.testing.assert_allclose(drawn, stay, rtol=0, atol=1e-12)
    assert len(shown.strips_.get_paths()) == shown.place.size
    # Read back from the picture: a strip stands where its row is.
    corners = np.array([path.vertices[:4] for path in shown.strips_.get_paths()])
    np.testing.assert_allclose(corners[:, :, 1].mean(axis=1), shown.place)
    long = np.abs(shown.stop - shown.start) > 0.05
    np.testing.assert_allclose(corners[long, 0, 0], shown.start[long])
    np.testing.assert_allclose(corners[long, 1, 0], shown.stop[long])
    ax = shown.ax_
    assert shown.figure_ is ax.figure
    assert ax.get_xlim() == (0.0, 1.0)
    assert ax.get_xlabel().startswith(f"robustness ({way} from ")
    assert [label.get_text() for label in ax.get_yticklabels()] == [f"{r}" for r in shown.rows]
    assert f"chosen: robustness {machine.robustness_:.3g}" in texts(ax)
    # Along theta nothing is an outlier at robustness 0: what is drawn there is hidden.
    veils = [image.get_array()[0, [0, -1], 3].tolist() for image in ax.images]
    assert veils == ([[1.0, 0.0]] if way == "theta" else [])
    count = len(machine.path_.jumps)
    assert count == 0 or f"{count} jump" in " ".join(texts(ax))


def test_strips_are_coloured_by_label_and_by_side():
    X, y = problem("hinge")
    machine = RobustSVC(path="s", C=2.0).fit(X, np.where(y > 0, "yes", "no"))
    shown = OutlierPathDisplay.from_estimator(machine)
    assert list(shown.groups) == ["label no", "label yes"]
    np.testing.assert_array_equal(shown.group, (y > 0)[shown.rows[shown.place]])
    X, y = problem("lad")
    machine = RobustSVR(path="s", C=2.0).fit(X, y)
    shown = OutlierPathDisplay.from_estimator(machine)
    stop = machine.path_.traced[1]
    above = y > machine.path_.response(stop)
    last = shown.stop == 1.0
    np.testing.assert_array_equal(shown.group[last] == 0, above[shown.rows[shown.place[last]]])


def test_many_rows_have_no_names_and_stand_by_colour():
    X, y = problem("hinge", 300)
    machine = RobustSVC(path="s", kernel="linear", s=0.9).fit(X, y)
    shown = OutlierPathDisplay.from_estimator(machine)
    assert shown.rows.size > 40
    corners = np.array([path.vertices[:4] for path in shown.strips_.get_paths()])
    place = corners[:, :, 1].mean(axis=1)
    assert place[shown.group == 0].max() < place[shown.group == 1].min()
    for group in (0, 1):
        of = shown.group == group
        assert np.all(np.diff(place[of][np.argsort(shown.place[of], kind="stable")]) >= 0.0)
    assert "of 300 rows" in shown.ax_.get_ylabel()
    top = OutlierPathDisplay.from_estimator(machine, top=12)
    np.testing.assert_array_equal(top.rows, shown.rows[:12])
    assert len(top.ax_.get_yticks()) == 12


def test_no_outliers_at_all():
    X, y = problem("hinge", 30)
    y = np.where(X[:, 0] > 0.0, 1.0, -1.0)
    shown = OutlierPathDisplay.from_estimator(RobustSVC(kernel="linear", C=1e3).fit(X, y))
    assert shown.rows.size == 0
    assert shown.ax_.texts[0].get_text() == "no row is ever an outlier"


def test_a_display_of_data_alone_on_given_axes():
    _, (left, right) = plt.subplots(1, 2)
    shown = OutlierPathDisplay(
        parameter="t",
        traced=(0.0, 1.0),
        rows=np.array([7, 2]),
        place=np.array([0, 1, 0]),
        start=np.array([0.0, 0.5, 1.0]),
        stop=np.array([0.25, 1.0, 1.0]),
        group=np.array([0, 1, 0]),
        groups=["a", "b"],
        jumps=np.array([0.5]),
    ).plot(right, colors=["red", "green"], jumps=False)
    assert shown.ax_ is right
    assert shown.figure_ is left.figure
    assert texts(right) == ["a", "b"]
    assert not left.collections
    # A stay that begins at the very end is drawn with some width.
    last = shown.strips_.get_paths()[2].vertices[:, 0]
    assert last.min() < 1.0 == last.max()


# ---------------------------------------------------------------------- the curve behind a choice


@pytest.mark.parametrize(("kind", "way"), WAYS)
def test_the_curve_is_drawn_with_both_choices(kind, way):
    X, y = problem(kind)
    machine = MACHINE[kind](path=way, C=2.0).fit(X, y)
    shown = RobustnessCurveDisplay.from_estimator(machine)
    curve = machine.validation_curve_
    start, stop = machine.path_.traced
    t, value = shown.line_.get_data()
    drawn = np.isfinite(t)
    for at, v in zip(t[drawn], value[drawn], strict=True):
        # A step of the curve may stand a rounding error away.
        near = [start + at * (stop - start) + d for d in (-1e-12, 0.0, 1e-12)]
        inside = np.clip(near, *sorted(curve.traced))
        assert min(abs(curve(t, side) - v) for t in inside for side in ("before", "after")) < 1e-9
    limit = curve.minimum + machine.standard_error_
    simplest = curve.latest(limit) if way == "epsilon" else curve.earliest(limit)
    dots = [line.get_data() for line in shown.ax_.lines if line.get_marker() in ("o", "D")]
    expected = [(robustness(machine, at.t), at.value) for at in (curve.best, simplest)]
    np.testing.assert_allclose([(x[0], y[0]) for x, y in dots], expected, rtol=0, atol=1e-12)
    least, below = [text for text in texts(shown.ax_) if text.startswith(("least", "simplest"))]
    assert least.endswith("(chosen)")
    assert not below.endswith("(chosen)")
    assert shown.ax_.get_xlabel().startswith(f"robustness ({way} from ")
    plain = shown.plot(one_standard_error=False)
    assert not any("standard error" in text for text in texts(plain.ax_))


def test_the_curve_of_a_search_is_the_mean_of_its_folds():
    X, y = problem("hinge")
    search = RobustSVCCV(Cs=(0.1, 1.0), cv=3, rule="one-standard-error").fit(X, y)
    shown = RobustnessCurveDisplay.from_estimator(search, folds=True)
    assert len(shown.fold_lines_) == 3
    mean, curve = ValidationCurve.mean(search.fold_curves_), search.validation_curve_
    np.testing.assert_array_equal(mean.coefficients, curve.coefficients)
    assert "mean of the folds" in texts(shown.ax_)
    assert "each of 3 folds" in texts(shown.ax_)
    chosen = [text for text in texts(shown.ax_) if text.endswith("(chosen)")]
    assert [text.split(":")[0] for text in chosen] == ["simplest below"]
    assert RobustnessCurveDisplay.from_estimator(search).fold_lines_ == []


def test_a_given_point_has_no_curve():
    X, y = problem("hinge")
    machine = RobustSVC(robustness=0.5).fit(X, y)
    with pytest.raises(ModelError, match=r"fitted at a given point \(robustness=0.5\).*'auto'"):
        RobustnessCurveDisplay.from_estimator(machine)


# ---------------------------------------------------------------------- boundaries in the plane


@pytest.mark.parametrize("way", ["theta", "s"])
def test_boundaries_are_those_of_the_machines(way):
    X, y = problem("hinge")
    machine = RobustSVC(path=way, C=5.0).fit(X[:, :2], y)
    machine = machine.at(0.4)
    shown = RobustBoundaryDisplay.from_estimator(machine, grid_resolution=30)
    assert shown.robustness == [0.0, 0.4, 1.0]
    grid = np.stack([shown.xx0.ravel(), shown.xx1.ravel()], axis=1)
    for t, value in zip(shown.robustness, shown.values, strict=True):
        np.testing.assert_array_equal(value.ravel(), machine.at(t).decision_function(grid))
    assert len(shown.contours_) == 3
    np.testing.assert_array_equal(shown.points, X[:, :2])
    rings = shown.ax_.collections[2]
    np.testing.assert_array_equal(rings.get_offsets(), X[machine.outliers_, :2])
    assert "(plain)" in texts(shown.ax_)[3]
    assert "(chosen)" in texts(shown.ax_)[4]
    assert f"outlier ({machine.outliers_.size})" in texts(shown.ax_)
    plain = RobustBoundaryDisplay.from_estimator(machine.at(0.0), grid_resolution=9)
    assert plain.robustness == [0.0, 1.0]
    assert [text.split(" (")[1] for text in texts(plain.ax_)[2:]] == ["plain, chosen)", "end)"]
    other = RobustBoundaryDisplay.from_estimator(machine, robustness=[1.0], grid_resolution=9)
    assert len(other.contours_) == 1
    assert other.xx0.shape == (9, 9)


def test_a_boundary_behind_a_pipeline_is_drawn_in_the_plane_of_the_rows():
    X, y = problem("hinge")
    frame = pd.DataFrame(100.0 + 50.0 * X[:, :2], columns=["width", "height"])
    pipe = make_pipeline(StandardScaler(), RobustSVC(C=5.0)).fit(frame, y)
    shown = RobustBoundaryDisplay.from_estimator(pipe, frame, grid_resolution=20)
    assert (shown.ax_.get_xlabel(), shown.ax_.get_ylabel()) == ("width", "height")
    grid = pd.DataFrame(np.stack([shown.xx0.ravel(), shown.xx1.ravel()], axis=1))
    grid.columns = frame.columns
    k = shown.robustness.index(pipe[-1].robustness_)
    np.testing.assert_allclose(shown.values[k].ravel(), pipe.decision_function(grid), atol=1e-12)
    with pytest.raises(ModelError, match="a pipeline keeps no rows as they were given"):
        RobustBoundaryDisplay.from_estimator(pipe)
    search = GridSearchCV(pipe, {"robustsvc__C": [1.0]}, cv=2).fit(frame, y)
    for display in (OutlierPathDisplay, RobustnessCurveDisplay):
        assert display.from_estimator(search).ax_ is not None


def test_sparse_rows_have_a_plane_too():
    X, y = problem("hinge")
    machine = RobustSVC().fit(sp.csr_matrix(X[:, :2]), y)
    shown = RobustBoundaryDisplay.from_estimator(machine, grid_resolution=10)
    np.testing.assert_array_equal(shown.points, X[:, :2])


def test_a_boundary_that_does_not_cross_the_plane_is_said():
    X = problem("hinge", 40)[0][:, :2]
    labels = np.where(np.arange(40) < 2, -1.0, 1.0)
    machine = RobustSVC(C=1e-3, robustness=0.5).fit(X, labels)
    shown = RobustBoundaryDisplay.from_estimator(machine, grid_resolution=10)
    assert all(np.all(value > 0.0) for value in shown.values)
    assert shown.contours_ == []
    assert texts(shown.ax_)[-1] == "robustness 1 (end): none here"


def test_planes_are_refused():
    X, y = problem("hinge")
    with pytest.raises(DataError, match=r"draws two features, got 80x3; .*\(PCA\)"):
        RobustBoundaryDisplay.from_estimator(RobustSVC().fit(X, y))
    machine = RobustSVC().fit(X[:, :2], y)
    with pytest.raises(DataError, match="X has 5 rows, but the machine was fitted on 80"):
        RobustBoundaryDisplay.from_estimator(machine, X[:5, :2])
    given = RobustSVC(kernel="precomputed").fit(X @ X.T, y)
    with pytest.raises(ModelError, match="a precomputed kernel has no plane"):
        RobustBoundaryDisplay.from_estimator(given)
    with pytest.raises(ModelError, match="draws the boundary of a classifier, got RobustSVR"):
        RobustBoundaryDisplay.from_estimator(RobustSVR().fit(X[:, :2], problem("lad")[1]))


# ---------------------------------------------------------------------- all of them


@pytest.mark.parametrize("display", DISPLAYS)
def test_other_estimators_and_unfitted_ones(display):
    X, y = problem("hinge", 20)
    with pytest.raises(ModelError, match=rf"{display.__name__}: draws a RobustSVC, .*got SVC"):
        display.from_estimator(SVC().fit(X, y))
    with pytest.raises(NotFittedError):
        display.from_estimator(RobustSVC())


@pytest.mark.parametrize("top", [0, -1, 2.5, True, "all"])
def test_a_number_of_rows_that_is_none(top):
    X, y = problem("hinge", 20)
    with pytest.raises(ModelError, match="top must be a positive integer or None"):
        OutlierPathDisplay.from_estimator(RobustSVC().fit(X, y), top=top)


@pytest.mark.parametrize("display", DISPLAYS)
def test_without_matplotlib_it_is_said_what_to_install(display, monkeypatch):
    X, y = problem("hinge", 40)
    machine = RobustSVC().fit(X[:, :2], y)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    message = rf"{display.__name__} needs matplotlib; install homotopy-qp\[plot\]"
    with pytest.raises(MissingPackageError, match=message):
        display.from_estimator(machine)


def test_regression_searches_have_displays_and_their_data_can_be_kept():
    X, y = problem("lad")
    search = RobustSVRCV(Cs=(1.0,), cv=3, path="s").fit(X, y)
    again = pickle.loads(pickle.dumps(search))
    for display in (OutlierPathDisplay, RobustnessCurveDisplay):
        one, two = display.from_estimator(search), display.from_estimator(again)
        assert texts(one.ax_) == texts(two.ax_)
