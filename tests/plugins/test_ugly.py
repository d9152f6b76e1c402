"""Ugly but legal: nothing of this may fail."""

from __future__ import annotations

import numpy as np
import pytest
from problems import Case, case, features, labels, sample_points, targets

from homotopy import Homotopy
from homotopy_plugins import HingeRamp, LADRamp

both_paths = pytest.mark.parametrize("path", ["theta", "s"])
both_intercepts = pytest.mark.parametrize("intercept", [False, True])
both_kernels = pytest.mark.parametrize("kernel", ["rbf", "linear"])


def certified(model):
    path = Homotopy(model).trace()
    certificate = path.certify()
    assert path.complete
    assert certificate.ok, str(certificate)
    return path


# ------------------------------------------------------------------ few samples


@both_paths
@both_intercepts
@both_kernels
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_one_sample_of_regression(path, intercept, kernel, C):
    model = LADRamp([[2.0]], [3.0], C=C, kernel=kernel, path=path, fit_intercept=intercept)
    found = certified(model)
    t = found.breakpoints[0]
    # alpha = min(C, 3 / K), or nothing at all where the intercept does the work.
    square = 4.0 if kernel == "linear" else 1.0
    expected = 0.0 if intercept else min(C, 3.0 / square)
    assert found.alpha(t, "before")[0] == pytest.approx(expected, abs=1e-12)


@both_paths
@both_intercepts
@both_kernels
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_two_samples_of_classification(path, intercept, kernel, C):
    """Both margins grow with C until they reach 1."""
    model = HingeRamp(
        [[1.0], [-1.0]], [1, -1], C=C, kernel=kernel, path=path, fit_intercept=intercept
    )
    found = certified(model)
    growth = 2.0 if kernel == "linear" else 1 - np.exp(-4.0)
    # The mean: b takes from one what it gives the other, and need not be unique.
    response = found.response(found.breakpoints[0], "before").mean()
    assert response == pytest.approx(min(1.0, growth * C), rel=1e-12)


@both_paths
@both_intercepts
@both_kernels
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_all_samples_identical(path, intercept, kernel, C):
    X = np.tile([[1.0, 2.0]], (12, 1))
    y = np.array([1.0] * 5 + [-1.0] * 7)
    certified(HingeRamp(X, y, C=C, kernel=kernel, path=path, fit_intercept=intercept))
    certified(LADRamp(X, y, C=C, kernel=kernel, path=path, fit_intercept=intercept))
    certified(LADRamp(X, np.arange(12.0), C=C, kernel=kernel, path=path, fit_intercept=intercept))


@both_paths
@both_intercepts
@both_kernels
@pytest.mark.parametrize("value", [0.0, 3.0])
def test_a_constant_target(path, intercept, kernel, value):
    """Fitted exactly where C or the intercept allows: then no residual is left to trace."""
    X = features(10, 2, 0)
    model = LADRamp(
        X, np.full(10, value), C=10.0, kernel=kernel, path=path, fit_intercept=intercept
    )
    found = certified(model)
    if intercept:
        np.testing.assert_allclose(found.response(found.traced[1]), value, atol=1e-9)


def test_a_target_that_the_model_fits_exactly():
    X = features(20, 3, 1)
    y = X @ np.array([1.0, -2.0, 0.5]) + 4.0
    for path in ("theta", "s"):
        found = certified(LADRamp(X, y, C=1e3, kernel="linear", path=path, fit_intercept=True))
        np.testing.assert_allclose(found.response(found.traced[1]), y, rtol=1e-6)


# ------------------------------------------------------------------ rows that cannot move


@both_intercepts
@pytest.mark.parametrize("path", ["theta", "s"])
@pytest.mark.parametrize("s", [0.0, -0.5])
def test_zero_rows_on_the_jump_corner(path, intercept, s):
    """Linear, no intercept, s = 0: a zero row has u = 0 for ever."""
    X = features(20, 2, 3)
    X[[1, 4, 9, 15]] = 0.0
    y = labels(X, 3)
    found = certified(
        HingeRamp(X, y, C=2.0, kernel="linear", path=path, s=s, fit_intercept=intercept)
    )
    if not intercept:
        for t in found.breakpoints:
            np.testing.assert_array_equal(found.response(t)[[1, 4, 9, 15]], 0.0)


def test_nothing_but_zero_rows():
    for intercept in (False, True):
        for path in ("theta", "s"):
            certified(
                HingeRamp(
                    np.zeros((6, 2)),
                    [1, 1, -1, 1, -1, 1],
                    C=1.0,
                    kernel="linear",
                    path=path,
                    fit_intercept=intercept,
                )
            )
            certified(
                LADRamp(
                    np.zeros((6, 2)),
                    [1, 2, -1, 0, 0, 5],
                    C=1.0,
                    kernel="linear",
                    path=path,
                    fit_intercept=intercept,
                )
            )


# ------------------------------------------------------------------ shapes


@both_paths
@both_intercepts
@both_kernels
def test_fewer_samples_than_features(path, intercept, kernel):
    certified(
        case(
            "hinge", 12, 0, d=40, C=1.0, gamma=0.02, kernel=kernel, path=path, intercept=intercept
        ).model()
    )
    certified(
        case(
            "lad", 12, 0, d=40, C=1.0, gamma=0.02, kernel=kernel, path=path, intercept=intercept
        ).model()
    )


@both_paths
@both_intercepts
@pytest.mark.parametrize("kind", ["hinge", "lad"])
def test_many_more_samples_than_features(path, intercept, kind):
    certified(
        case(kind, 200, 3, d=1, C=1.0, kernel="linear", path=path, intercept=intercept).model()
    )


# ------------------------------------------------------------------ scales


@both_paths
@both_kernels
@both_intercepts
@pytest.mark.parametrize("kind", ["hinge", "lad"])
@pytest.mark.parametrize("C", [1e-6, 1e-4, 1e4, 1e6])
def test_extreme_costs(kind, C, kernel, path, intercept):
    certified(case(kind, 40, 4, C=C, kernel=kernel, path=path, intercept=intercept).model())


@both_paths
@both_intercepts
@pytest.mark.parametrize("kind", ["hinge", "lad"])
@pytest.mark.parametrize("factor", [1e6, 1e-6])
def test_scaled_features_give_the_scaled_path(kind, path, intercept, factor):
    """X -> f X and C -> C / f^2 is the same problem: same u, alpha / f^2."""
    problem = case(kind, 30, 5, kernel="linear", C=1.0, path=path, intercept=intercept)
    plain = certified(problem.model())
    model = type(problem.model())
    scaled = certified(
        model(
            problem.X * factor,
            problem.y,
            C=1.0 / factor**2,
            kernel="linear",
            path=path,
            fit_intercept=intercept,
        )
    )
    np.testing.assert_allclose(scaled.breakpoints, plain.breakpoints, rtol=1e-7, atol=1e-10)
    for t in sample_points(plain, 10):
        np.testing.assert_allclose(scaled.response(t), plain.response(t), rtol=1e-6, atol=1e-7)


@both_paths
@both_intercepts
@both_kernels
@pytest.mark.parametrize("kind", ["hinge", "lad"])
def test_features_in_the_millions_as_they_are(kind, path, intercept, kernel):
    """With a linear kernel C = 1e-10 means what 100 means for features of size one."""
    problem = case(kind, 30, 6, path=path)
    model = type(problem.model())(
        problem.X * 1e6,
        problem.y,
        C=1e-10 if kernel == "linear" else 1.0,
        kernel=kernel,
        gamma=1e-12,
        path=path,
        fit_intercept=intercept,
    )
    certified(model)


@pytest.mark.parametrize("factor", [1e-6, 1e6])
@both_paths
def test_targets_in_the_millions(factor, path):
    problem = case("lad", 30, 7, path=path, intercept=True, C=1.0)
    plain = certified(problem.model())
    scaled = certified(
        LADRamp(
            problem.X,
            factor * problem.y,
            C=factor,
            gamma=0.5,
            path=path,
            s=factor,
            fit_intercept=True,
        )
    )
    points = plain.breakpoints * (factor if path == "s" else 1.0)
    np.testing.assert_allclose(scaled.breakpoints, points, rtol=1e-8, atol=1e-12)


# ------------------------------------------------------------------ labels


@pytest.mark.parametrize(
    "names",
    [(0, 1), ("bad", "good"), (False, True), (-1, 1), (3, 7), (-0.5, 2.5)],
    ids=str,
)
def test_labels_of_any_two_values(names):
    X = features(30, 2, 1)
    y = labels(X, 1)
    plain = Homotopy(HingeRamp(X, y, C=1.0, fit_intercept=True)).trace()
    named = np.array([names[int(v > 0)] for v in y])
    model = HingeRamp(X, named, C=1.0, fit_intercept=True)
    assert model.classes.tolist() == list(names)
    found = certified(model)
    np.testing.assert_array_equal(found.breakpoints, plain.breakpoints)
    new = features(5, 2, 2)
    np.testing.assert_array_equal(
        found.decision_function(new, 0.5), plain.decision_function(new, 0.5)
    )


def test_lists_and_integers_are_data_too():
    found = certified(HingeRamp([[0, 1], [1, 0], [2, 1], [0, 0]], [1, 0, 1, 0], C=1))
    assert found.alpha(0.5).shape == (4,)
    certified(LADRamp([[0, 1], [1, 0], [2, 1]], [1, 0, 3], C=1))


# ------------------------------------------------------------------ separable data


@both_kernels
@both_intercepts
def test_separable_data_leave_nothing_to_trace_on_the_s_path(kernel, intercept):
    X = np.array([[1.0, 0.2], [2.0, -0.1], [1.5, 0.0], [-1.0, 0.1], [-2.0, 0.3], [-1.2, -0.2]])
    y = np.sign(X[:, 0])
    found = certified(HingeRamp(X, y, C=1e3, kernel=kernel, path="s", fit_intercept=intercept))
    assert found.breakpoints.tolist() == [0.0]
    assert found.jumps == ()
    assert found.span == (0.0, 0.0)
    np.testing.assert_array_equal(found.alpha(0.0), found.alpha(0.0, "before"))
    assert np.all(found.response(0.0) >= 1 - 1e-9)
    assert found.partition(0.0)["O"].size == 0
    assert "0 jumps" in found.summary()


def test_the_s_path_of_separable_data_up_to_the_margin():
    X = np.array([[1.0], [2.0], [-1.0], [-3.0]])
    found = certified(HingeRamp(X, [1, 1, -1, -1], C=10.0, kernel="linear", path="s", s=1.0))
    assert found.traced[1] == 1.0


def test_an_s_stop_above_the_largest_residual_is_one_point():
    problem = case("lad", 20, 0)
    found = certified(LADRamp(problem.X, problem.y, C=1.0, path="s", s_stop=1e3))
    assert found.breakpoints.size == 1


# ------------------------------------------------------------------ theta = 1 and theta = 0


@pytest.mark.parametrize("kind", ["hinge", "lad"])
@both_intercepts
def test_the_s_path_at_theta_1_never_leaves_the_convex_optimum(kind, intercept):
    problem = case(kind, 30, 2, path="s", theta=1.0, intercept=intercept)
    found = certified(problem.model())
    value = problem.reference().convex().value
    for t in found.breakpoints:
        assert found.objective(t) == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize("kind", ["hinge", "lad"])
@both_intercepts
def test_both_paths_meet_where_their_parameters_do(kind, intercept):
    """Both end at (theta = 0, s = 0): local optima of one problem, each certified there."""
    s = 0.0 if kind == "hinge" else 0.5
    one = case(kind, 24, 3, path="theta", intercept=intercept, s=s)
    two = Case(
        kind,
        one.X,
        one.y,
        path="s",
        theta=0.0,
        intercept=intercept,
        s=s,
        s_stop=None if kind == "hinge" else s,
    )
    reference = one.reference()
    for problem in (one, two):
        found = certified(problem.model())
        t = found.traced[1]
        assert problem.at(t) == (0.0, s)
        alpha, b = found.alpha(t), found.intercept(t)
        assert reference.violation(alpha, b, 0.0, s) < 1e-9
        sides = reference.sides(found.response(t), s)
        best = reference.conditional(sides, 0.0, s)
        assert found.objective(t) == pytest.approx(best.value, rel=1e-8)


# ------------------------------------------------------------------ weights


@both_paths
@both_intercepts
@pytest.mark.parametrize("kind", ["hinge", "lad"])
def test_a_weight_of_zero_is_the_sample_left_out(kind, path, intercept):
    problem = case(kind, 30, 8, path=path, intercept=intercept, C=2.0)
    weights = np.ones(30)
    weights[[0, 5, 6, 20]] = 0.0
    kept = weights > 0
    found = certified(problem.model(sample_weight=weights))
    fewer = Case(kind, problem.X[kept], problem.y[kept], path=path, intercept=intercept, C=2.0)
    expected = certified(fewer.model())
    if path == "theta":  # on the s-path the idle samples may be met first
        np.testing.assert_allclose(found.traced, expected.traced)
    low, high = sorted(expected.traced)
    for t in sample_points(found, 15):
        np.testing.assert_array_equal(found.alpha(t)[~kept], 0.0)
        if low <= t <= high:
            np.testing.assert_allclose(
                found.alpha(t)[kept], expected.alpha(t), rtol=1e-7, atol=1e-8
            )


@both_paths
@pytest.mark.parametrize("kind", ["hinge", "lad"])
def test_uneven_weights_are_certified_and_optimal(kind, path):
    rng = np.random.default_rng(0)
    problem = case(
        kind, 30, 9, path=path, intercept=True, weights=rng.choice([0.1, 1.0, 1.0, 5.0], size=30)
    )
    found = certified(problem.model())
    reference = problem.reference()
    for t in found.breakpoints:
        assert reference.violation(found.alpha(t), found.intercept(t), *problem.at(t)) < 1e-9
    assert found.objective(found.traced[0], "before") == pytest.approx(
        reference.convex().value, rel=1e-9
    )


@both_paths
def test_zero_rows_zero_weights_and_duplicates_together(path):
    X = np.array([[0, 0], [0, 0], [1, 0], [1, 0], [1, 0], [0, 1], [0, 1], [0, 0], [-1, 1]], float)
    y = np.array([1, -1, 1, 1, -1, -1, 1, 1, -1], float)
    weights = np.array([1, 1, 1, 0, 2, 1, 0, 0, 1], float)
    for kernel in ("linear", "rbf"):
        for intercept in (False, True):
            certified(
                HingeRamp(
                    X,
                    y,
                    C=1.0,
                    kernel=kernel,
                    path=path,
                    sample_weight=weights,
                    fit_intercept=intercept,
                )
            )
            certified(
                LADRamp(
                    X,
                    2 * y,
                    C=1.0,
                    kernel=kernel,
                    path=path,
                    sample_weight=weights,
                    fit_intercept=intercept,
                )
            )


# ------------------------------------------------------------------ ties


@both_paths
@both_intercepts
def test_perfect_symmetry(path, intercept):
    """A cross of points with mirrored labels: every event is a tie."""
    X = np.array([[1, 0], [-1, 0], [0, 1], [0, -1], [1, 1], [-1, -1], [1, -1], [-1, 1]], float)
    for y in ([1, -1, 1, -1, 1, -1, 1, -1], [1, 1, -1, -1, 1, 1, -1, -1], [1, -1, -1, 1] * 2):
        for kernel in ("linear", "rbf"):
            for C in (0.1, 1.0, 10.0):
                certified(HingeRamp(X, y, C=C, kernel=kernel, path=path, fit_intercept=intercept))
                certified(LADRamp(X, y, C=C, kernel=kernel, path=path, fit_intercept=intercept))


def test_many_equal_targets():
    X = np.repeat(np.arange(5.0), 6)[:, None]
    y = np.tile([0.0, 0.0, 1.0, 1.0, 2.0, 9.0], 5)
    for path in ("theta", "s"):
        for intercept in (False, True):
            for kernel in ("linear", "rbf"):
                certified(LADRamp(X, y, C=1.0, kernel=kernel, path=path, fit_intercept=intercept))


def test_the_generators_used_here_have_outliers():
    assert np.abs(targets(features(30, 3, 6), 6)).max() > 2
