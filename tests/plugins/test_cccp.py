"""CCCP: a local optimum at every value, by rounds that never go up."""

from __future__ import annotations

import numpy as np
import pytest
from grids import thinned
from oracles import kernel_matrix, solve_qp
from problems import case
from sklearn.svm import SVC, SVR
from toys import Huber, SemiSupervised, Step, Toy

from homotopy import Jump, Knot, LossModel, ModelError, PathError, Slope
from homotopy.model import Problem
from homotopy_plugins import CCCPResult, HingeRamp, LADRamp, cccp

INF = np.inf
GRID = {"theta": [1.0, 0.6, 0.3, 0.0], "s": None}


def stationary(problem, result):
    """How far each answer is from the optimality conditions of the non-convex problem."""
    reference = problem.reference()
    off = []
    for t, alpha, b in zip(result.values, result.alphas, result.intercepts, strict=True):
        intercept = float(b[0]) if b.size else 0.0
        off.append(reference.violation(alpha, intercept, *problem.at(t)))
    return np.array(off)


def true_objectives(problem, result):
    reference = problem.reference()
    return [
        reference.objective(alpha, float(b[0]) if b.size else 0.0, *problem.at(t))
        for t, alpha, b in zip(result.values, result.alphas, result.intercepts, strict=True)
    ]


# ---------------------------------------------------------------------------- optimality


@thinned(
    "seed, kind, path, kernel, intercept, C",
    range(3),
    ["hinge", "lad"],
    ["theta", "s"],
    ["rbf", "linear"],
    [False, True],
    [0.1, 10.0],
    keep=3,
)
def test_every_answer_is_a_local_optimum(seed, kind, path, kernel, intercept, C):
    problem = case(kind, 80, seed, C=C, kernel=kernel, path=path, intercept=intercept)
    result = cccp(problem.model(), GRID[path], tol=1e-8)
    assert isinstance(result, CCCPResult)
    assert result.converged
    assert stationary(problem, result).max() <= 1e-6
    np.testing.assert_allclose(result.objectives, true_objectives(problem, result), rtol=1e-9)


@pytest.mark.parametrize("kind", ["hinge", "lad"])
@pytest.mark.parametrize("intercept", [False, True])
def test_the_default_tolerance_is_close_to_a_local_optimum(kind, intercept):
    problem = case(kind, 150, 1, C=1.0, intercept=intercept)
    result = cccp(problem.model())
    assert result.converged
    assert stationary(problem, result).max() <= 2e-3


@thinned(
    "seed, kind, kernel, intercept", range(4), ["hinge", "lad"], ["rbf", "linear"], [False, True]
)
def test_no_round_raises_the_objective(seed, kind, kernel, intercept):
    # From a far start at once to theta = 0, so that there are rounds to watch.
    problem = case(kind, 60, seed, C=3.0, kernel=kernel, intercept=intercept)
    model = problem.model()
    alpha = np.random.default_rng(seed).uniform(0.0, 3.0, size=60)
    needed = cccp(model, [0.0], tol=1e-9, max_rounds=30, start=alpha).rounds[0]
    # One more than it takes, which changes nothing.
    after = [
        cccp(model, [0.0], tol=1e-9, max_rounds=rounds, start=alpha)
        for rounds in range(1, needed + 2)
    ]
    objectives = np.array([result.objectives[0] for result in after])
    assert np.all(np.diff(objectives) <= 1e-7 * objectives[0])
    assert [r.rounds[0] for r in after] == [*range(1, needed + 1), needed]
    assert [r.converged for r in after[: needed - 1]] == [False] * (needed - 1)
    assert after[-1].converged


def test_rounds_bring_the_objective_down():
    falls = []
    for seed in range(4):
        problem = case("hinge", 80, seed, C=5.0, intercept=True)
        first, last = (cccp(problem.model(), [0.0], max_rounds=k, tol=1e-7) for k in (1, 100))
        falls.append(first.objectives[0] - last.objectives[0])
    assert min(falls) >= -1e-6
    assert max(falls) > 0.1


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
def test_at_theta_1_it_is_the_plain_problem_of_scikit_learn(kernel, C):
    problem = case("hinge", 100, 2, C=C, kernel=kernel, intercept=True)
    K = kernel_matrix(problem.X, problem.X, kernel, problem.gamma)
    svc = SVC(C=C, kernel="precomputed", tol=1e-10).fit(K, problem.y)
    signed = np.zeros(100)
    signed[svc.support_] = svc.dual_coef_[0]
    dual = np.abs(signed).sum() - 0.5 * signed @ K @ signed
    result = cccp(problem.model(), [1.0])
    assert result.rounds.tolist() == [1]
    assert dual * (1 - 1e-6) <= result.objectives[0] <= dual * (1 + 1e-3)
    problem = case("lad", 100, 2, C=C, kernel=kernel, intercept=True)
    K = kernel_matrix(problem.X, problem.X, kernel, problem.gamma)
    svr = SVR(C=C, kernel="precomputed", epsilon=0.0, tol=1e-10).fit(K, problem.y)
    beta = np.zeros(100)
    beta[svr.support_] = svr.dual_coef_[0]
    dual = problem.y @ beta - 0.5 * beta @ K @ beta
    value = cccp(problem.model(), [1.0]).objectives[0]
    assert dual * (1 - 1e-6) <= value <= dual * (1 + 1e-3)


def test_one_round_is_the_problem_of_collobert_et_al():
    # theta = 0: min 1/2 a'Qa - sum a over -beta <= a <= C - beta with beta = C on outliers.
    problem = case("hinge", 40, 3, C=2.0, intercept=False)
    model = problem.model()
    plain = cccp(model, [1.0], tol=1e-9)
    Q = problem.reference().Q
    outlier = Q @ plain.alphas[0] < 0.0
    assert 0 < outlier.sum() < 20
    low, high = np.where(outlier, -2.0, 0.0), np.where(outlier, 0.0, 2.0)
    expected = solve_qp(Q, -np.ones(40), np.eye(40), low, high)
    round_1 = cccp(model, [0.0], tol=1e-9, max_rounds=1)
    np.testing.assert_allclose(round_1.alphas[0], expected, atol=1e-6)


# ---------------------------------------------------------------------------- values


def test_five_values_by_default():
    problem = case("hinge", 50, 0)
    result = cccp(problem.model())
    np.testing.assert_allclose(result.values, [1.0, 0.75, 0.5, 0.25, 0.0])
    assert result.alphas.shape == (5, 50)
    assert result.intercepts.shape == (5, 0)
    assert result.objectives.shape == result.rounds.shape == (5,)
    assert cccp(problem.model(fit_intercept=True)).intercepts.shape == (5, 1)


def test_an_s_path_begins_at_the_smallest_margin_or_the_largest_residual():
    problem = case("hinge", 80, 1, C=2.0, path="s", intercept=True)
    svc = SVC(C=2.0, gamma=problem.gamma, tol=1e-10).fit(problem.X, problem.y)
    margin = (problem.y * svc.decision_function(problem.X)).min()
    values = cccp(problem.model(), tol=1e-7).values
    np.testing.assert_allclose(values, np.linspace(margin, 0.0, 5), atol=1e-3)
    problem = case("lad", 80, 1, C=2.0, path="s", intercept=True)
    svr = SVR(C=2.0, gamma=problem.gamma, epsilon=0.0, tol=1e-10).fit(problem.X, problem.y)
    residual = np.abs(problem.y - svr.predict(problem.X)).max()
    values = cccp(problem.model(), tol=1e-7).values
    np.testing.assert_allclose(values, np.linspace(residual, 0.2 * residual, 5), rtol=1e-3)


def test_nothing_to_travel_is_one_value():
    X = np.vstack([np.full((5, 1), -5.0), np.full((5, 1), 5.0)])
    y = np.repeat([-1.0, 1.0], 5)
    result = cccp(HingeRamp(X, y, C=10.0, kernel="linear", path="s"))
    assert result.values.tolist() == [0.0]
    assert result.converged


def test_values_are_taken_in_the_order_given():
    problem = case("hinge", 80, 4, C=5.0, intercept=True)
    result = cccp(problem.model(), [0.2, 0.9, 0.2], tol=1e-7)
    assert result.values.tolist() == [0.2, 0.9, 0.2]
    assert stationary(problem, result).max() <= 1e-5


def test_a_start_decides_which_optimum_is_found():
    # With the jump at 0.5 both alpha = 1 (u = 1) and alpha = 0 (u = 0) are local optima.
    model = Step([[1.0]], (0.5, 1.5), knot=2.0)
    with pytest.raises(ModelError, match=r"Step is not convex at t=0.5; give cccp\(start="):
        cccp(model)
    for guess, expected in (([0.9], 1.0), ([0.1], 0.0)):
        result = cccp(model, [0.5], start=guess)
        assert result.alphas[0, 0] == pytest.approx(expected, abs=1e-9)


def test_where_the_jump_has_passed_the_response_falls():
    # alpha = 1, u = 1 on the right slope until the jump stands beyond it.
    result = cccp(Step([[1.0]], (0.5, 1.5), knot=2.0), [0.5, 0.9, 1.2], start=[1.0])
    np.testing.assert_allclose(result.alphas[:, 0], [1.0, 1.0, 0.0], atol=1e-9)
    np.testing.assert_allclose(result.objectives, [1.5, 1.5, 0.8], atol=1e-9)


@pytest.mark.parametrize("kind", ["hinge", "lad"])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("C", [0.1, 10.0])
@pytest.mark.parametrize("tol", [1e-3, 1e-7])
def test_the_plain_machine_is_the_first_candidate_of_an_s_path(kind, kernel, C, tol):
    # At its first value the threshold meets the worst response: an inlier, as z >= s is.
    problem = case(kind, 90, 3, C=C, kernel=kernel, path="s", intercept=True)
    plain = case(kind, 90, 3, C=C, kernel=kernel, intercept=True).trace()
    result = cccp(problem.model(), tol=tol, start=plain.alpha(1.0, "before"))
    assert result.rounds[0] == 1
    at_plain = problem.reference().objective(
        plain.alpha(1.0, "before"), plain.intercept(1.0, "before"), *problem.at(result.values[0])
    )
    assert result.objectives[0] == pytest.approx(at_plain, rel=1e-3)


def test_a_response_at_a_jump_is_on_the_steeper_side():
    # The hinge ramp at theta = 0 with u = s exactly: right of the jump, where alpha = C.
    X, y = np.eye(2), np.array([1.0, -1.0])
    model = HingeRamp(X, y, C=0.25, kernel="linear", path="s", s=0.5)
    result = cccp(model, [0.25], start=[0.25, 0.25])
    assert result.alphas[0].tolist() == [0.25, 0.25]
    # The ramp of a residual: the right jump has its inliers on the left, and alpha = -C.
    upper = LADRamp(X, [-1.0, -1.0], C=0.25, kernel="linear", path="s", s_stop=0.1)
    result = cccp(upper, [0.75], start=[-0.25, -0.25])
    assert result.alphas[0].tolist() == [-0.25, -0.25]


# ---------------------------------------------------------------------------- new data


@pytest.mark.parametrize("kind", ["hinge", "lad"])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("intercept", [False, True])
def test_the_decision_function_is_the_kernel_expansion(kind, kernel, intercept):
    problem = case(kind, 50, 2, C=2.0, kernel=kernel, intercept=intercept)
    result = cccp(problem.model(), [1.0, 0.4, 0.0], tol=1e-6)
    new = np.random.default_rng(0).normal(size=(7, problem.X.shape[1]))
    K = kernel_matrix(new, problem.X, kernel, problem.gamma)
    sign = problem.y if kind == "hinge" else np.ones(50)
    shift = result.intercepts.sum(axis=1) if intercept else np.zeros(3)
    expected = (K @ (result.alphas * sign).T + shift).T
    np.testing.assert_allclose(result.decision_function(new), expected, atol=1e-9)
    np.testing.assert_allclose(result.decision_function(new, 0.4), expected[1], atol=1e-9)


def test_the_decision_function_is_known_at_the_values_alone():
    result = cccp(case("hinge", 30, 2).model(), [1.0, 0.5])
    with pytest.raises(PathError, match=r"theta=0.7 is none of the values .* for: 1, 0.5"):
        result.decision_function(np.zeros((1, 2)), 0.7)
    with pytest.raises(PathError, match="theta must be a number, got 'a'"):
        result.decision_function(np.zeros((1, 2)), "a")
    toy = cccp(Step([[1.0]], (0.5, 1.5), knot=2.0), [0.5], start=[1.0])
    with pytest.raises(ModelError, match="Step has no decision function"):
        toy.decision_function([[1.0]], 0.5)


# ---------------------------------------------------------------------------- other models


def test_a_model_without_jumps_takes_one_round():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = X[:, 0] + rng.normal(size=40)
    result = cccp(Huber(X, y, rng.normal(size=40), 1.0, True))
    assert result.rounds.tolist() == [1] * 5
    assert result.converged


def test_two_jumps_and_slanted_pieces():
    # A robust Huber loss: slanted in the middle, flat beyond, pressed to 0 far out.
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 3))
    y = X[:, 0] + 0.2 * rng.normal(size=60)
    y[::7] += 8.0

    def pieces(t):
        return (
            Slope("far-", 0.0),
            Jump(y - 3.0),
            Slope("below", 1.0 * t),
            Knot("low", y - t),
            Slope("near", y, curvature=1.0),
            Knot("high", y + t),
            Slope("above", -1.0 * t),
            Jump(y + 3.0),
            Slope("far+", 0.0),
        )

    model = Toy(X @ X.T + np.eye(60), (1.0, 0.5), pieces, border=np.ones((60, 1)))
    problem = Problem.compile(model)
    result = cccp(model, start=np.zeros(60), tol=1e-9)
    assert result.converged
    assert result.rounds[0] > 1
    for t, alpha, b in zip(result.values, result.alphas, result.intercepts, strict=True):
        r = y - problem.gram.matvec(alpha) - b[0]
        np.testing.assert_allclose(alpha, np.where(abs(r) < 3.0, np.clip(r, -t, t), 0.0), atol=1e-7)
        assert alpha.sum() == pytest.approx(0.0, abs=1e-9)


def test_knots_on_both_sides_of_a_jump():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(40, 2))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    y[8:] = 0.0
    model = SemiSupervised(kernel_matrix(X, X, "rbf", 0.5), y, 1.0, 2.0)
    result = cccp(model, tol=1e-9)
    assert result.converged
    Q = Problem.compile(model).gram.block(np.arange(40), np.arange(40))
    loose = y == 0
    for t, alpha in zip(result.values, result.alphas, strict=True):
        u = (Q @ alpha)[loose]
        pull = alpha[loose]
        beyond, inside = np.abs(u) > 1.0 + 1e-7, np.abs(u) < 1.0 - 1e-7
        np.testing.assert_allclose(pull[beyond], 0.0, atol=1e-7)
        np.testing.assert_allclose(pull[inside], t * np.sign(u[inside]), atol=1e-7)


@pytest.mark.parametrize("data", ["integer", "stacked"])
@pytest.mark.parametrize("kind", ["hinge", "lad"])
@pytest.mark.parametrize("path", ["theta", "s"])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_ties_come_to_an_end(data, kind, path, kernel):
    problem = case(kind, 90, 5, data=data, C=10.0, kernel=kernel, path=path, intercept=True)
    result = cccp(problem.model())
    assert result.rounds.max() < 100
    assert stationary(problem, result).max() <= 0.02


def test_columns_are_computed_once_for_all_rounds_and_values():
    problem = case("hinge", 120, 6, C=2.0, intercept=True)
    asked: list[int] = []

    def kernel(X, Z):
        if len(X) < 120:
            asked.append(len(X))
        return kernel_matrix(X, Z, "rbf", 0.5)

    model = LADRamp(problem.X, problem.X[:, 0], C=2.0, kernel=kernel, fit_intercept=True, s=0.2)
    asked.clear()
    result = cccp(model)
    assert result.rounds.sum() >= 5
    assert sum(asked) <= 120


def test_sample_weights_are_kept():
    weights = np.where(np.arange(60) % 4 == 0, 0.0, 1.5)
    problem = case("hinge", 60, 7, C=2.0, intercept=True, weights=weights)
    result = cccp(problem.model(), tol=1e-8)
    assert np.all(result.alphas[:, weights == 0.0] == 0.0)
    assert stationary(problem, result).max() <= 1e-6


# ---------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"values": [1.5]}, r"theta=1.5 lies outside the span of HingeRamp, from 1 to 0"),
        ({"values": [0.5, np.nan]}, r"theta=nan lies outside"),
        ({"values": []}, r"values must be a list of numbers, got shape \(0,\)"),
        ({"values": 0.5}, r"values must be a list of numbers, got shape \(\)"),
        ({"values": ["a"]}, r"values must be numbers"),
        ({"tol": 0.0}, r"tol must be positive and finite, got 0.0"),
        ({"tol": "1"}, r"tol must be positive and finite, got '1'"),
        ({"max_rounds": 0}, r"max_rounds must be a positive integer, got 0"),
        ({"max_rounds": 2.5}, r"max_rounds must be a positive integer, got 2.5"),
        ({"start": [1.0, 2.0]}, r"start must have shape \(20,\), got \(2,\)"),
        ({"start": "here"}, r"start must be an alpha of 20 numbers, got 'here'"),
        ({"start": np.full(20, INF)}, r"start holds values that are not finite"),
    ],
)
def test_bad_input_is_named(options, message):
    model = case("hinge", 20, 0).model()
    with pytest.raises(ModelError, match=message):
        cccp(model, **options)


def test_the_model_must_be_one():
    class Nothing:
        pass

    with pytest.raises(ModelError, match=r"cccp: model must be a LossModel"):
        cccp(Nothing())  # type: ignore[arg-type]
    assert issubclass(HingeRamp, LossModel)


def test_values_of_an_s_path_must_not_pass_its_end():
    model = case("hinge", 20, 0, path="s").model()
    with pytest.raises(ModelError, match=r"s=0.5 lies outside the span of HingeRamp, from -inf to"):
        cccp(model, [-1.0, 0.5])
