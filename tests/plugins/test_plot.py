"""What the pictures draw, read back from the axes."""

from __future__ import annotations

import sys

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from problems import case

from homotopy import MissingPackageError, ValidationCurve
from homotopy.plot import plot_alpha, plot_objective, plot_partition, plot_validation

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


@pytest.mark.parametrize(
    ("kind", "loss"), [("hinge", "zero-one"), ("lad", "absolute"), ("lad", "squared")]
)
@pytest.mark.parametrize("way", ["theta", "s"])
def test_the_curve_is_drawn_as_it_is(kind, loss, way):
    path = case(kind, 50, 3, path=way, intercept=True).trace()
    other = case(kind, 40, 8)
    curve = path.validation_curve(other.X, other.y, loss=loss)
    ax = plot_validation(curve)
    t, value = ax.lines[1].get_data()
    drawn = np.isfinite(t)
    for at, v in zip(t[drawn], value[drawn], strict=True):
        sides = [curve(at, side) for side in ("before", "after")]
        assert np.abs(np.array(sides) - v).min() < 1e-9
    assert ax.lines[2].get_data() == ([curve.best.t], [curve.best.value])
    assert ax.get_xlim() == curve.traced
    assert curve.parameter in ax.get_xlabel()


def test_a_curve_of_one_point_can_be_drawn():
    ax = plot_validation(ValidationCurve("s", "zero-one", [0.0], [0.0], [[0.25, 0, 0]]))
    assert "least 0.25 at s = 0" in ax.texts[0].get_text()


@pytest.mark.parametrize("plot", [plot_alpha, plot_objective, plot_partition])
def test_the_pictures_of_a_path_name_their_axes(plot):
    ax = plot(case("hinge", 30, 2, intercept=True).trace())
    assert "theta" in ax.get_xlabel()
    assert ax.get_ylabel()


def test_pieces_are_called_as_the_model_calls_them():
    ax = plot_partition(case("hinge", 30, 2, intercept=True).trace())
    assert ax.get_ylabel() == "rows on each piece"
    said = {text.get_text().removesuffix(" (none left)") for text in ax.texts}
    margin = {"inside the margin", "on the margin", "beyond the margin"}
    assert said == {"piece", "outlier for theta < 1", *margin}


def test_without_matplotlib_it_is_said_what_to_install(monkeypatch):
    curve = ValidationCurve("s", "zero-one", [0.0], [1.0], [[0.25, 0, 0]])
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(
        MissingPackageError, match=r"plot_validation needs matplotlib; install .*\[plot\]"
    ) as raised:
        plot_validation(curve)
    assert isinstance(raised.value, ImportError)
    assert not isinstance(raised.value, ValueError)
