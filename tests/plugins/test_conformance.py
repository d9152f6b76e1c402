"""Every installed plugin of ours passes the public conformance check."""

from __future__ import annotations

from grids import thinned
from problems import case

from homotopy import installed_plugins, load_plugin
from homotopy.testing import check_plugin

NAMES = {"hinge-ramp": "hinge", "lad-ramp": "lad"}


def test_every_plugin_of_ours_is_checked_here():
    assert {name for name in installed_plugins() if name in NAMES} == set(NAMES)


@thinned(
    "name, data, path, intercept, kernel",
    NAMES,
    ["normal", "integer", "stacked"],
    ["theta", "s"],
    [False, True],
    ["rbf", "linear", "poly"],
)
def test_conformance(name, data, path, intercept, kernel):
    problem = case(NAMES[name], 30, 1, data=data, C=2.0, intercept=intercept, path=path)
    model = load_plugin(name)(
        problem.X,
        problem.y,
        C=2.0,
        kernel=kernel,
        gamma=0.5,
        coef0=1.0,
        path=path,
        fit_intercept=intercept,
    )
    assert check_plugin(model).complete
