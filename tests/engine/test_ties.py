"""Many coordinates on corners at once: the order among them must not matter, nor take long."""

from __future__ import annotations

import numpy as np
import pytest
from oracles import INF, solve_primal
from problems import case
from scipy.optimize import linprog
from toys import CPath, LinearProgram, Step, Toy, certified

from homotopy import DenseGram, Knot, LinearGram, Slope
from homotopy.tracker import Patience, Tolerances


def hinge(t):
    return Slope("L", t), Knot("E", 1.0), Slope("R", 0.0)


def table(n, seed, d=6, values=3):
    """Integer features and labels: every row occurs several times."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, values, size=(n, d)).astype(float)
    y = np.where(X[:, 0] + X[:, 1] - values + 1 + rng.integers(-1, 2, size=n) >= 0, 1.0, -1.0)
    return X, y


def response_breaks(path):
    """The t at which the response, not alpha alone, changes its direction."""
    ends = path.breakpoints
    u = np.array([path.response(t) for t in ends])
    slopes = np.diff(u, axis=0) / np.diff(ends)[:, None]
    bent = np.abs(np.diff(slopes, axis=0)).max(axis=1)
    length = np.minimum(*(np.abs(np.diff(ends))[part] for part in (slice(1, None), slice(-1))))
    return ends[1:-1][bent * length > 1e-10 * np.abs(u).max()]


# ------------------------------------------------------------------ drawn by hand


@pytest.mark.parametrize("k", [2, 5, 20])
def test_repeated_rows_enter_one_after_another(k):
    # k doubles: at t = 1/k all reach their knot at once.  One enters and its alpha, 1 - (k - 1) t,
    # makes up for the others; it is used up at t = 1/(k - 1), then the next one enters, and so on.
    path = certified(Toy(np.ones((k, k)), (0.0, 2.0), hinge))
    stairs = [0.0, *(1.0 / np.arange(k, 0, -1)), 2.0]
    np.testing.assert_allclose(path.breakpoints, stairs, rtol=1e-12)
    entered = []
    for t in path.breakpoints[1:-1]:
        on_knot = path.partition(t + 1e-6)["E"]
        assert on_knot.size == 1
        entered += on_knot.tolist()
    assert sorted(entered) == list(range(k))
    # In and out again, each but the last.
    assert path.counts["pivots"] == 2 * k - 1
    assert path.counts["exchanges"] == 0


def test_repeated_rows_of_both_classes_cancel():
    # x = 1 with both labels, twice each, and x = 2 with label 1: the first four pull against each
    # other for ever, the fifth goes its way: w = 2 t, u_4 = 4 t until t = 1/4.
    x = np.array([[1.0], [1.0], [-1.0], [-1.0], [2.0]])
    path = certified(Toy(LinearGram(x), (0.0, 0.9), hinge))
    assert response_breaks(path) == pytest.approx([0.25], rel=1e-12)
    np.testing.assert_allclose(path.response(0.2), 0.4 * x[:, 0], rtol=1e-12)
    np.testing.assert_allclose(path.response(0.9), 0.5 * x[:, 0], rtol=1e-12)


@pytest.mark.parametrize("n", [3, 30])
def test_all_on_a_corner_from_the_start(n):
    # w = 0 and every knot at 0; knots move to t, all alike and independent: alpha = t.
    pieces = lambda t: (Slope("l", 1.0), Knot("k", t), Slope("r", -1.0))  # noqa: E731
    path = certified(Toy(np.eye(n), (0.0, 2.0), pieces))
    np.testing.assert_allclose(path.breakpoints, [0.0, 1.0, 2.0], atol=1e-13)
    np.testing.assert_allclose(path.alpha(0.5), 0.5, rtol=1e-13)
    np.testing.assert_allclose(path.alpha(1.5), 1.0, rtol=1e-13)
    assert path.counts["pivots"] <= 3 * n


def test_a_knot_of_height_zero_holds_nobody():
    # All slopes are t at t = 0: nothing has a height there, and everybody stands on its corner.
    pieces = lambda t: (Slope("l", t), Knot("k", 0.0), Slope("r", -t))  # noqa: E731
    path = certified(Toy(np.ones((4, 4)), (0.0, 1.0), pieces))
    for t in (0.0, 0.5, 1.0):
        np.testing.assert_allclose(path.response(t), 0.0, atol=1e-14)


def test_many_that_jump_at_once_jump_together():
    # Twenty independent coordinates, one jump.
    path = certified(Step(np.eye(20), (0.5, 1.5)), start=np.ones(20))
    (jump,) = path.jumps
    assert jump.flipped.tolist() == list(range(20))
    assert jump.rounds == 1


# ------------------------------------------------------------------ against other solvers


def lad_planes(cost, y):
    return [[(-c, c * k), (c, -c * k)] for c, k in zip(cost, y, strict=True)]


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("seed", range(6))
def test_all_responses_on_a_corner_leave_it_for_the_optimum(seed, intercept):
    # Least absolute deviations with targets t c: at t = 0 w = 0 and all stand on their knots.
    rng = np.random.default_rng(seed)
    n = 30
    X, c = rng.integers(-1, 2, size=(n, 4)).astype(float), rng.integers(-2, 3, size=n).astype(float)
    pieces = lambda t: (Slope("l", 0.5), Knot("k", t * c), Slope("r", -0.5))  # noqa: E731
    border = np.ones((n, 1)) if intercept else None
    path = certified(Toy(LinearGram(X), (0.0, 3.0), pieces, border=border))
    B = np.ones((n, 1)) if intercept else np.zeros((n, 0))
    for t in (1e-3, 0.4, 1.3, 3.0):
        planes = lad_planes(np.full(n, 0.5), t * c)
        every = np.full(n, INF)
        best = solve_primal(X, B, np.zeros(B.shape[1]), planes, -every, every)
        assert path.objective(t) == pytest.approx(best.value, rel=1e-8, abs=1e-10)
        # w is unique, b need not be; DAQP knows it to six digits.
        np.testing.assert_allclose(X.T @ path.alpha(t), best.w, atol=1e-5)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("way", ["forth", "back"])
def test_a_regularisation_path_on_integers_has_the_optima_of_a_solver(seed, way):
    X, y = table(40, seed, d=3)
    K = X @ X.T + 1.0
    span = (1e-3, 1.0) if way == "forth" else (1.0, 1e-3)
    path = certified(CPath(K, y, span, intercept=False))
    phi = np.hstack([X, np.ones((40, 1))]) * y[:, None]
    every = np.full(40, INF)
    for C in (1e-3, 0.02, 0.3, 1.0):
        planes = [[(-C, C), (0.0, 0.0)]] * 40
        best = solve_primal(phi, np.zeros((40, 0)), np.zeros(0), planes, -every, every)
        np.testing.assert_allclose(path.response(C), best.u, atol=1e-7)


# ------------------------------------------------------------------ how long it takes


@pytest.mark.parametrize("gram", ["features", "columns"])
@pytest.mark.parametrize("seed", range(3))
def test_a_tie_of_all_takes_a_few_pivots_each(seed, gram):
    # At t = 0 all two hundred stand on their knots.
    n = 200
    X, _ = table(n, seed)
    c = np.random.default_rng(seed).integers(-2, 3, size=n).astype(float)
    pieces = lambda t: (Slope("l", 1.0), Knot("k", t * c), Slope("r", -1.0))  # noqa: E731
    form = LinearGram(X) if gram == "features" else DenseGram(X @ X.T)
    path = certified(Toy(form, (0.0, 1.0), pieces, border=np.ones((n, 1))))
    assert path.counts["pivots"] <= 6 * n
    assert path.counts["repairs"] == 0


@pytest.mark.parametrize("seed", range(3))
def test_an_integer_table_takes_hardly_more_pivots_than_break_points(seed):
    X, y = table(200, seed)
    path = certified(CPath(X @ X.T + 1.0, y, (1e-3, 1.0), intercept=False))
    assert path.counts["pivots"] <= 3 * len(path.breakpoints)
    assert path.counts["c_steps"] <= 2 * len(path.breakpoints)


@pytest.mark.parametrize("kind", ["hinge", "lad"])
@pytest.mark.parametrize("way", ["theta", "s"])
def test_jumps_on_an_integer_table_take_a_few_pivots_each(kind, way):
    problem = case(kind, 200, 3, d=4, data="integer", kernel="linear", path=way, intercept=True)
    path = certified(problem.model())
    events = path.counts["c_steps"] + path.counts["d_steps"] + sum(j.rounds for j in path.jumps)
    assert path.counts["pivots"] <= 5 * (events + 200)
    assert path.counts["late_jumps"] == 0


def test_patience_has_an_end():
    """With none at all a point with many ties is given up, with a message that says so."""
    X, _ = table(200, 0)
    c = np.random.default_rng(0).integers(-2, 3, size=200).astype(float)
    pieces = lambda t: (Slope("l", 1.0), Knot("k", t * c), Slope("r", -1.0))  # noqa: E731
    model = Toy(LinearGram(X), (0.0, 1.0), pieces, border=np.ones((200, 1)))
    with pytest.raises(RuntimeError, match=r"not be continued .* \(\d+ coordinates on corners"):
        certified(model, tolerances=Tolerances(patience=Patience(pivots_each=0)))


# ------------------------------------------------------------------ the order of the rows


@pytest.mark.parametrize("seed", range(4))
def test_the_order_of_repeated_rows_does_not_matter(seed):
    X, y = table(60, seed, d=3)
    spans = (1e-3, 1.0)
    plain = certified(CPath(X @ X.T + 1.0, y, spans, intercept=False))
    order = np.random.default_rng(seed).permutation(60)
    Xp, yp = X[order], y[order]
    mixed = certified(CPath(Xp @ Xp.T + 1.0, yp, spans, intercept=False))
    np.testing.assert_allclose(response_breaks(mixed), response_breaks(plain), rtol=1e-9)
    for t in np.geomspace(1e-3, 1.0, 15):
        np.testing.assert_allclose(mixed.response(t), plain.response(t)[order], atol=1e-10)
        assert mixed.objective(t) == pytest.approx(plain.objective(t), rel=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_the_order_of_tied_targets_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    X, c = rng.integers(-1, 2, size=(50, 3)).astype(float), rng.integers(-2, 3, size=50) * 1.0
    order = rng.permutation(50)

    def trace(X, c):
        pieces = lambda t: (Slope("l", 0.5), Knot("k", t * c), Slope("r", -0.5))  # noqa: E731
        return certified(Toy(LinearGram(X), (0.0, 3.0), pieces))

    plain, mixed = trace(X, c), trace(X[order], c[order])
    np.testing.assert_allclose(response_breaks(mixed), response_breaks(plain), rtol=1e-9)
    for t in np.linspace(0.0, 3.0, 13):
        np.testing.assert_allclose(mixed.response(t), plain.response(t)[order], atol=1e-10)


def test_the_order_of_the_rows_does_not_matter_across_jumps():
    # No ties here but those of repeated rows, which flip together.
    problem = case("hinge", 45, 4, d=2, kernel="rbf", data="stacked", path="s")
    order = np.random.default_rng(1).permutation(45)
    plain = certified(problem.model())
    model = type(problem)("hinge", problem.X[order], problem.y[order], path="s").model()
    mixed = certified(model)
    t = np.linspace(*plain.traced, 17)
    assert plain.jumps
    assert mixed.traced == pytest.approx(plain.traced, rel=1e-9)
    for one in t:
        assert mixed.objective(one) == pytest.approx(plain.objective(one), rel=1e-9)


# ------------------------------------------------------------------ classical examples of cycling

BEALE = (
    np.array([[0.25, -60.0, -1 / 25, 9.0], [0.5, -90.0, -1 / 50, 3.0], [0.0, 0.0, 1.0, 0.0]]),
    np.array([0.0, 0.0, 1.0]),
    np.array([-0.75, 150.0, -0.02, 6.0]),
    -0.05,
)
KUHN = (
    np.array([[-2.0, -9.0, 1.0, 9.0], [1 / 3, 1.0, -1 / 3, -2.0], [2.0, 3.0, -1.0, -12.0]]),
    np.array([0.0, 0.0, 2.0]),
    np.array([-2.0, -3.0, 1.0, 12.0]),
    -2.0,
)
MARSHALL = (
    np.array([[0.4, 0.2, -1.4, -0.2], [-7.8, -1.4, 7.8, 0.4], [1.0, 1.0, 1.0, 1.0]]),
    np.array([0.0, 0.0, 1.0]),
    np.array([-2.3, -2.15, 13.55, 0.4]),
    None,
)


def standing(example):
    """The constraints with x >= 0: at x = 0 six of seven are tight where four would do."""
    A, right, cost, _ = example
    return np.vstack([A, -np.eye(4)]), np.concatenate([right, np.zeros(4)]), cost


def assert_optimal(path, A, right, cost, times):
    for t in times:
        c, h = cost[0] + t * cost[1], right[0] + t * right[1]
        best = linprog(c, A, h, bounds=(None, None))
        assert best.status == 0
        x = path.border_multipliers(t)
        assert c @ x == pytest.approx(best.fun, rel=1e-9, abs=1e-9)
        assert np.all(A @ x <= h + 1e-9)


@pytest.mark.parametrize("back", [False, True])
@pytest.mark.parametrize("example", [BEALE, KUHN, MARSHALL])
def test_a_cost_that_turns_does_not_cycle(example, back):
    # From a cost for which 0 is best to the one on which the simplex method cycles.
    A, right, cost = standing(example)
    costs = (np.ones(4), cost - 1.0)
    still = np.zeros_like(right)
    path = certified(LinearProgram(A, (right, still), costs, (1.0, 0.0) if back else (0.0, 1.0)))
    assert_optimal(path, A, (right, still), costs, np.linspace(0.0, 1.0, 9)[1:-1] + 1e-3)
    if example[3] is not None:
        assert path.objective(1.0) == pytest.approx(example[3], rel=1e-9)


@pytest.mark.parametrize("example", [BEALE, KUHN, MARSHALL])
def test_a_right_hand_side_that_moves_does_not_cycle(example):
    A, right, cost = standing(example)
    rights = (right, np.concatenate([np.ones(3), np.zeros(4)]))
    costs = (cost, np.zeros(4))
    path = certified(LinearProgram(A, rights, costs, (0.0, 1.0)))
    assert_optimal(path, A, rights, costs, np.linspace(0.0, 1.0, 7))


def test_a_constraint_without_a_scale_is_not_crossed_to_and_fro():
    # max c'x, c'x <= 2 + t, 3 x <= y + z, x >= 0: a whole face is optimal; as t grows x meets a
    # constraint with which it has to move, at a multiplier that stays 0.
    A = np.vstack([[[3.0, 2, 2], [3, -1, -1]], -np.eye(3)])
    rights = (np.array([2.0, 0, 0, 0, 0]), np.array([1.0, 0, 0, 0, 0]))
    costs = (np.array([-3.0, -2, -2]), np.zeros(3))
    path = certified(LinearProgram(A, rights, costs, (0.0, 1.0)))
    assert_optimal(path, A, rights, costs, np.linspace(0.0, 1.0, 7))


def test_rounding_in_a_multiplier_without_a_scale_is_certified():
    # max x, x <= 1 + t, x + y <= 3/2, y >= 0; y is anything at first.
    A = np.array([[1.0, 0], [1, 1], [0, -1]])
    rights = (np.array([1.0, 1.5, 0]), np.array([1.0, 0, 0]))
    costs = (np.array([-1.0, 0]), np.zeros(2))
    path = certified(LinearProgram(A, rights, costs, (0.0, 1.0)))
    assert_optimal(path, A, rights, costs, np.linspace(0.0, 1.0, 7))


@pytest.mark.parametrize("rows", [[[0.0]], [[0.0], [1.0]], [[1.0], [1.0]]])
def test_the_end_of_a_knot_comes_up_to_who_is_idle_there(rows):
    """A row that says nothing, or nothing new, waits on its knot with the alpha it has, as long as
    that lies between the slopes beside it."""

    def pieces(t):
        return Slope("most", 2.0), Knot("k", 0.0), Slope("least", 3.0 * t - 1.0)

    path = certified(Toy(LinearGram(np.array(rows)), (0.0, 1.0), pieces))
    np.testing.assert_allclose(path.alpha(1.0), 2.0, atol=1e-12)
