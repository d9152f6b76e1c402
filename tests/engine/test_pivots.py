"""How coordinates change places, on problems small enough to be drawn by hand."""

from __future__ import annotations

import numpy as np
import pytest
from toys import LinearProgram, Toy, certified

from homotopy import Affine, Homotopy, Knot, LinearGram, Slope, TraceError

T = Affine.parameter()


def knots(positions, left, right):
    """One knot a coordinate; positions are pairs (at t = 0, rate)."""
    at, rate = np.transpose(positions)
    left, right = np.asarray(left, float), np.asarray(right, float)
    return lambda t: (Slope("left", left), Knot("on", at + t * rate), Slope("right", right))


def assert_alpha(path, expected, **where):
    for t, alpha in expected.items():
        np.testing.assert_allclose(path.alpha(t, **where), alpha, rtol=0, atol=1e-13)


# ------------------------------------------------------------------ exchange


def test_a_dependent_coordinate_takes_the_place_of_another():
    # The same coordinate twice.  0 stands on its knot at 1 with alpha 1/2, 1 has alpha 1/2 below
    # its knot 2 - t, which arrives at t = 1 and presses.  alpha moves along (1, -1) until 0 is
    # full.  Then u = 2 - t = 1 + alpha_1, until alpha_1 = -1/2 at t = 3/2.
    model = Toy(np.ones((2, 2)), (0.0, 2.0), knots([(1, 0), (2, -1)], [1, 0.5], [0, -0.5]))
    path = certified(model)
    assert path.counts["exchanges"] == 1
    np.testing.assert_allclose(path.breakpoints, [0.0, 1.0, 1.5, 2.0], rtol=1e-14)
    assert_alpha(path, {0.5: [0.5, 0.5], 1.25: [1, -0.25], 1.75: [1, -0.5]})
    for t, u in ((0.5, 1.0), (1.0, 1.0), (1.25, 0.75), (1.75, 0.5)):
        np.testing.assert_allclose(path.response(t), u, rtol=1e-13)
    assert path.partition(0.5)["on"].tolist() == [0]
    assert path.partition(1.25)["on"].tolist() == [1]


def test_a_dependent_coordinate_may_pass_through_its_whole_knot():
    # As before, but 0 has room enough: 1 goes from 0.1 to -0.1, 0 from 0.9 to 1.1, u stays.
    model = Toy(np.ones((2, 2)), (0.0, 2.0), knots([(1, 0), (2, -1)], [5, 0.1], [0, -0.1]))
    path = certified(model)
    assert path.counts["exchanges"] == 1
    assert_alpha(path, {0.5: [0.9, 0.1], 1.5: [1.1, -0.1]})
    np.testing.assert_allclose(path.response(1.5), 1.0, rtol=1e-14)
    assert path.partition(1.5)["on"].tolist() == [0]
    assert path.partition(1.5)["right"].tolist() == [1]


@pytest.mark.parametrize("features", [True, False])
def test_the_null_direction_runs_through_all_that_are_active(features):
    # phi = e1, e2, e1 + e2; knots 1, 1 and 3 - t.  Until t = 1 alpha = (0.7, 0.7, 0.3) and
    # u = (1, 1, 2).  There alpha_2 falls by s, the others rise by s: at s = 0.2 coordinate 0 is
    # full (0.9).  Then u_2 = 3 - t and u_1 = 1: alpha_1 + alpha_2 = 1, 0.9 + alpha_2 = 2 - t.
    phi = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    pieces = knots([(1, 0), (1, 0), (3, -1)], [0.9, 5, 0.3], [-5, -5, -5])
    gram = LinearGram(phi) if features else phi @ phi.T
    path = certified(Toy(gram, (0.0, 2.0), pieces))
    assert path.counts["exchanges"] == 1
    np.testing.assert_allclose(path.breakpoints, [0.0, 1.0, 2.0], rtol=1e-13)
    assert_alpha(path, {0.5: [0.7, 0.7, 0.3], 1.0: [0.9, 0.9, 0.1], 1.5: [0.9, 1.4, -0.4]})
    np.testing.assert_allclose(path.response(1.5), [0.5, 1.0, 1.5], rtol=1e-13)


def line_through_three_points(rightmost, heights):
    """Least absolute deviations at x = -1, 0, 1: y = (0, 1 - t, `rightmost`)."""
    x = np.array([[-1.0], [0.0], [1.0]])
    left, right = heights
    pieces = knots([(0, 0), (1, -1), (rightmost, 0)], left, right)
    return Toy(LinearGram(x), (0.0, 2.0), pieces, border=np.ones((3, 1)))


def test_three_points_on_a_line_pass_each_other():
    # The line goes through the outer points: w = b = 1/2, alpha = (-3/4, 1, -1/4).  At t = 1/2
    # the middle one comes down onto it; alpha moves along (1, -2, 1) until alpha_1 = -1.
    path = certified(line_through_three_points(1.0, ([1, 1, 1], [-1, -1, -1])))
    assert path.counts["exchanges"] == 1
    np.testing.assert_allclose(path.breakpoints, [0.0, 0.5, 2.0], rtol=1e-13)
    assert_alpha(path, {0.2: [-0.75, 1.0, -0.25], 1.0: [0.25, -1.0, 0.75]})
    np.testing.assert_allclose(path.response(1.0), [0.0, 0.5, 1.0], atol=1e-14)
    assert path.intercept(1.0) == pytest.approx(0.5, rel=1e-13)


def test_three_points_on_a_line_where_an_outer_one_gives_way():
    # w = 1/10, alpha = (-0.55, 1, -0.45); along (1, -2, 1) coordinate 2 is full (0.65) first:
    # (0.55, -1.2, 0.65).  Then the line goes through 0 and 1: w = b = 1 - t, until alpha_0 = 0.65
    # as well at t = 1, where w = 0; from then on b = 1 - t alone.
    heights = ([0.65, 1, 0.65], [-0.65, -3, -0.65])
    path = certified(line_through_three_points(0.2, heights))
    assert path.counts["exchanges"] == 1
    np.testing.assert_allclose(path.breakpoints, [0.0, 0.9, 1.0, 2.0], rtol=1e-12)
    assert_alpha(
        path,
        {
            0.5: [-0.55, 1.0, -0.45],
            0.9: [0.55, -1.2, 0.65],
            0.95: [0.6, -1.25, 0.65],
            1.5: [0.65, -1.3, 0.65],
        },
    )
    np.testing.assert_allclose(path.response(0.95), [0.0, 0.05, 0.1], atol=1e-14)
    np.testing.assert_allclose(path.response(1.5), -0.5, rtol=1e-13)


def test_a_dependent_start_is_reduced_to_an_independent_one():
    # Five doubles on one knot: the guess has all of them inside; one is enough.
    model = Toy(np.ones((5, 5)), (1.0, 1.4), knots([(0, 1)] * 5, [9] * 5, [0] * 5))
    path = certified(model, start=np.full(5, 0.2))
    for t in (1.0, 1.2, 1.4):
        assert path.partition(t)["on"].size == 1
        np.testing.assert_allclose(path.response(t), t, rtol=1e-13)


# ------------------------------------------------------------------ slide


def fill(span, places=(5.0, 1.0)):
    """``sum alpha = t``, alpha between 0 and 1: two vessels, filled one after the other."""
    pieces = lambda t: (Slope("full", 1.0), Knot("at", np.array(places)), Slope("empty", 0.0))  # noqa: E731
    return Toy(np.eye(2), span, pieces, border=np.ones((2, 1)), target=T)


@pytest.mark.parametrize(("span", "first", "last"), [((0.2, 1.8), 4, 1), ((1.8, 0.2), 1, 4)])
def test_the_intercept_slides_when_nothing_is_active(span, first, last):
    # u = alpha + b.  0 is filled first (b = 5 - t); at t = 1 it is full and 1 still empty: b slides
    # from 4 to 1, where 1 meets its knot; then alpha_1 = t - 1, b = 2 - t.  Backwards likewise.
    path = certified(fill(span))
    assert path.counts["slides"] == 1
    np.testing.assert_allclose(path.breakpoints, [span[0], 1.0, span[1]], rtol=1e-13)
    assert_alpha(path, {0.3: [0.3, 0.0], 1.0: [1.0, 0.0], 1.6: [1.0, 0.6]})
    assert path.intercept(0.3) == pytest.approx(4.7, rel=1e-13)
    assert path.intercept(1.6) == pytest.approx(0.4, rel=1e-13)
    assert path.intercept(1.0, side="before") == pytest.approx(first, rel=1e-13)
    assert path.intercept(1.0, side="after") == pytest.approx(last, rel=1e-13)


def test_the_intercept_slides_past_coordinates_that_cannot_help():
    # Five vessels: each is filled in the order of its place, b slides from one to the next.
    places = np.array([3.0, 20.0, 8.0, 14.0, -6.0])
    pieces = lambda t: (Slope("full", 1.0), Knot("at", places), Slope("empty", 0.0))  # noqa: E731
    model = Toy(np.eye(5), (0.5, 4.5), pieces, border=np.ones((5, 1)), target=T)
    path = certified(model)
    assert path.counts["slides"] == 4
    np.testing.assert_allclose(path.breakpoints, [0.5, 1, 2, 3, 4, 4.5], rtol=1e-13)
    order = np.argsort(-places)
    for t in (0.7, 1.5, 2.25, 3.75, 4.5):
        expected = np.zeros(5)
        expected[order] = np.clip(t - np.arange(5), 0.0, 1.0)
        assert_alpha(path, {t: expected})
        full = int(t)
        assert path.intercept(t) == pytest.approx(places[order[full]] - (t - full), rel=1e-12)


def test_a_border_with_signs_slides_the_way_its_signs_say():
    # B = (1, -1), alpha_0 - alpha_1 = t, u = alpha + B b; knots 2 and 1, heights 0 .. 1 and -1 .. 0
    # for 1.  b = 2 - alpha_0 while 0 fills; at t = 1 b falls until u_1 = -b reaches its knot 1.
    pieces = knots([(2, 0), (1, 0)], [1, 0], [0, -1])
    model = Toy(np.eye(2), (0.5, 1.5), pieces, border=np.array([[1.0], [-1.0]]), target=T)
    path = certified(model)
    assert path.counts["slides"] == 1
    assert_alpha(path, {0.75: [0.75, 0.0], 1.25: [1.0, -0.25]})
    assert path.intercept(0.75) == pytest.approx(1.25, rel=1e-13)
    # u_1 = alpha_1 - b = 1.
    assert path.intercept(1.25) == pytest.approx(-1.25, rel=1e-13)


# ------------------------------------------------------------------ several border columns


def two_fills(mix):
    """Two pairs of vessels side by side, the second emptied while the first is filled; the border
    columns mixed by an invertible matrix, which moves b alone."""
    groups = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    places = np.array([5.0, 1.0, 7.0, 4.0])
    pieces = lambda t: (Slope("full", 1.0), Knot("at", places), Slope("empty", 0.0))  # noqa: E731
    target = np.array([0.0, 1.75]) @ mix + T * (np.array([1.0, -1.0]) @ mix)
    return Toy(np.eye(4), (0.25, 1.7), pieces, border=groups @ mix, target=target)


@pytest.mark.parametrize(
    "mix", [np.eye(2), np.array([[1.0, 1.0], [1.0, -1.0]]), np.array([[3.0, 0.1], [-2.0, 1.0]])]
)
def test_two_border_columns_slide_on_their_own(mix):
    # First pair: t in all; second: 1.75 - t.  0 is full at t = 1; 3 is empty at t = 0.75.
    path = certified(two_fills(mix))
    assert path.counts["slides"] == 2
    np.testing.assert_allclose(path.breakpoints, [0.25, 0.75, 1.0, 1.7], rtol=1e-12)
    for t in (0.25, 0.5, 0.9, 1.3, 1.7):
        rest = 1.75 - t
        assert_alpha(path, {t: [min(t, 1), max(t - 1, 0), min(rest, 1), max(rest - 1, 0)]})
        b = [5 - t if t < 1 else 2 - t, 5 - rest if rest > 1 else 7 - rest]
        np.testing.assert_allclose(mix @ path.border_multipliers(t), b, rtol=1e-12)


def test_three_border_columns_leave_a_plane_of_least_absolute_deviations():
    # Four points of a plane a + b x + c y with no penalty at all (Q = 0): the border is all there
    # is.  Three determine it, the fourth deviates: z = (0, 0, 0, t) at the corners of a square.
    # The one that deviates is 2, which has the least weight: the plane goes through the others.
    square = np.array([[0.0, 0], [1, 0], [0, 1], [1, 1]])
    border = np.hstack([np.ones((4, 1)), square])
    cost = np.array([1.0, 1.0, 0.5, 1.0])
    pieces = knots([(0, 0), (0, 0), (0, 0), (0, 1)], cost, -cost)
    path = certified(Toy(np.zeros((4, 4)), (1.0, 3.0), pieces, border=border))
    for t in (1.0, 2.0, 3.0):
        # z2 would have to be t for all four to lie in a plane.
        np.testing.assert_allclose(path.response(t), [0.0, 0.0, t, t], atol=1e-12)
        np.testing.assert_allclose(path.alpha(t), [0.5, -0.5, -0.5, 0.5], atol=1e-12)


# ------------------------------------------------------------------ slanted pieces


def test_two_slanted_coordinates_pull_on_each_other():
    # alpha = t - u (0) and alpha = -u (1), Q = [[2, 1], [1, 2]]: (I + Q) alpha = (t, 0), so
    # alpha = (3, -1) t / 8 all the way.
    def pieces(t):
        value = t * np.array([1.0, 0.0])
        return Slope("a", value, curvature=1.0), Knot("far", 50.0), Slope("b", value, curvature=1.0)

    path = certified(Toy([[2.0, 1.0], [1.0, 2.0]], (0.0, 4.0), pieces))
    np.testing.assert_allclose(path.breakpoints, [0.0, 4.0])
    for t in (0.0, 1.0, 4.0):
        np.testing.assert_allclose(path.alpha(t), [3 * t / 8, -t / 8], atol=1e-14)
        np.testing.assert_allclose(path.response(t), [5 * t / 8, t / 8], atol=1e-14)


def test_from_a_slanted_piece_over_a_knot_to_a_flat_one():
    # Q = 1, alpha = t - u / 2 left of a knot at 2, alpha = -1 right of it.  alpha = u = 2 t / 3
    # until u = 2 at t = 3; there alpha = 2 = t - 1, the top of the knot; the top rises with t
    # and alpha stays 2.
    def pieces(t):
        return Slope("slant", t, curvature=0.5), Knot("on", 2.0), Slope("flat", -1.0)

    path = certified(Toy([[1.0]], (0.0, 5.0), pieces))
    np.testing.assert_allclose(path.breakpoints, [0.0, 3.0, 5.0], rtol=1e-13)
    assert_alpha(path, {1.5: 1.0, 3.0: 2.0, 4.0: 2.0})
    back = certified(Toy([[1.0]], (5.0, 0.0), pieces))
    np.testing.assert_allclose(back.breakpoints, [5.0, 3.0, 0.0], rtol=1e-13)
    assert_alpha(back, {1.5: 1.0, 4.0: 2.0})


def test_slanted_doubles_with_an_intercept():
    # Squares: alpha_i = y_i - u_i, no penalty on b, w = 0 (Q = 0): b is the mean of y = (0, t).
    pieces = lambda t: (  # noqa: E731
        Slope("fit", t * np.array([0.0, 1.0]), curvature=1.0),
        Knot("far", 99.0),
        Slope("fit2", t * np.array([0.0, 1.0]), curvature=1.0),
    )
    path = certified(Toy(np.zeros((2, 2)), (0.0, 6.0), pieces, border=np.ones((2, 1))))
    for t in (0.0, 2.0, 6.0):
        assert path.intercept(t) == pytest.approx(t / 2, abs=1e-13)
        np.testing.assert_allclose(path.alpha(t), [-t / 2, t / 2], atol=1e-13)


def test_a_slanted_coordinate_enters_a_knot_on_which_its_double_stands():
    # Doubles: 0 holds u = 1 on a knot (0 .. 5); 1 is slanted, alpha = 2 - u below its knot 2 - t,
    # flat -1 above it.  alpha = (0, 1) until t = 1, where 1 meets its knot: it falls to -1 at once,
    # 0 rises to 2, u stays.
    def pieces(t):
        first = np.array([1.0, 0.0])
        return (
            Slope("left", 5.0 * first + 2.0 * (1 - first), curvature=1.0 - first),
            Knot("on", 1.0 * first + (2.0 - t) * (1 - first)),
            Slope("right", -1.0),
        )

    path = certified(Toy(np.ones((2, 2)), (0.0, 2.0), pieces))
    assert_alpha(path, {0.5: [0.0, 1.0], 1.5: [2.0, -1.0]})
    np.testing.assert_allclose(path.response(1.5), 1.0, rtol=1e-13)
    assert path.counts["exchanges"] == 1


# ------------------------------------------------------------------ walls


def test_a_wall_pushes_as_hard_as_it_must():
    # u >= t: alpha = t / Q.
    pieces = lambda t: (Slope("wall", np.inf), Knot("on", t), Slope("free", 0.0))  # noqa: E731
    path = certified(Toy([[4.0]], (-1.0, 100.0), pieces))
    np.testing.assert_allclose(path.breakpoints, [-1.0, 0.0, 100.0], atol=1e-14)
    assert_alpha(path, {-0.5: 0.0, 8.0: 2.0, 100.0: 25.0})


def test_two_walls_and_a_coordinate_between_them():
    # phi = 1, 1, -1: u_0 >= t and u_2 >= -2 (w <= 2): they meet at t = 2, nothing beyond.
    pieces = lambda t: (  # noqa: E731
        Slope("wall", np.inf),
        Knot("on", t * np.array([1.0, 0.0]) - np.array([0.0, 2.0])),
        Slope("free", 0.0),
    )
    model = Toy(np.array([[1.0, -1.0], [-1.0, 1.0]]), (0.0, 3.0), pieces)
    with pytest.raises(TraceError, match="no optimum exists beyond") as caught:
        Homotopy(model).trace()
    path = caught.value.path
    assert path.traced == pytest.approx((0.0, 2.0), abs=1e-12)
    assert path.certify().ok
    assert_alpha(path, {1.0: [1.0, 0.0], 1.9: [1.9, 0.0]})


def test_a_linear_program_walks_along_its_polygon():
    # max cost'x over the triangle x, y >= 0, x + y <= 1, the cost turning from (-1, 2) to (2, -1):
    # the corner (0, 1) until the cost is (1/2, 1/2) at t = 1/2, then (1, 0).
    A = np.array([[-1.0, 0], [0, -1], [1, 1]])
    model = LinearProgram(A, ([0.0, 0, 1], np.zeros(3)), ([1.0, -2], [-3.0, 3]), (0.0, 1.0))
    path = certified(model)
    np.testing.assert_allclose(path.breakpoints, [0.0, 0.5, 1.0], rtol=1e-13)
    np.testing.assert_allclose(path.border_multipliers(0.2), [0.0, 1.0], atol=1e-14)
    np.testing.assert_allclose(path.border_multipliers(0.8), [1.0, 0.0], atol=1e-14)
    assert path.counts["slides"] == 1


def test_a_linear_program_follows_its_right_hand_side():
    # max 2 x + y under x <= 1, y <= 2 - t, x + y <= 2: (1, 1) until t = 1, then (1, 2 - t).
    A = np.array([[1.0, 0], [0, 1], [1, 1]])
    model = LinearProgram(A, ([1.0, 2, 2], [0.0, -1, 0]), ([-2.0, -1], np.zeros(2)), (0.0, 2.0))
    path = certified(model)
    np.testing.assert_allclose(path.breakpoints, [0.0, 1.0, 2.0], rtol=1e-13)
    np.testing.assert_allclose(path.border_multipliers(0.5), [1.0, 1.0], rtol=1e-13)
    np.testing.assert_allclose(path.border_multipliers(1.5), [1.0, 0.5], rtol=1e-13)
    assert path.objective(1.5) == pytest.approx(-2.5, rel=1e-13)
    assert path.counts["exchanges"] == 1
