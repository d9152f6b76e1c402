"""Paths small enough to be drawn by hand."""

from __future__ import annotations

import numpy as np
import pytest
from toys import Frontier, Step, Toy

from homotopy import Affine, Homotopy, Jump, Knot, ModelError, Slope, Status, TraceError


def trace(model, start=None, **options):
    path = Homotopy(model, **options).trace(start=start)
    certificate = path.certify()
    assert certificate.ok, str(certificate)
    return path


def hinge(t):
    return Slope("L", t), Knot("E", 1.0), Slope("R", 0.0)


def test_one_coordinate_walks_up_its_slope_and_stops_at_the_knot():
    # Q = 2: u = 2 alpha = 2 t until u = 1 at t = 1/2; from then on alpha = 1/2.
    path = trace(Toy([[2.0]], (0.0, 3.0), hinge))
    np.testing.assert_allclose(path.breakpoints, [0.0, 0.5, 3.0], rtol=1e-14)
    for t, alpha in ((0.0, 0.0), (0.3, 0.3), (0.5, 0.5), (1.7, 0.5), (3.0, 0.5)):
        assert path.alpha(t)[0] == pytest.approx(alpha, abs=1e-15)
        assert path.response(t)[0] == pytest.approx(2 * alpha, abs=1e-15)
    assert path.partition(0.3)["L"].tolist() == [0]
    assert path.partition(1.0)["E"].tolist() == [0]
    assert path.jumps == ()


def test_two_coordinates_that_pull_against_each_other():
    # u0 = 2 a0 - a1, u1 = 2 a1 - a0 - with slopes t and 2 t:
    # a = (t, 2t), u = (0, 3t): 1 reaches its knot at t = 1/3; then a1 = (1 + t) / 2,
    # u0 = 2t - (1 + t)/2 = (3t - 1)/2 reaches 1 at t = 1: there a = (1, 1), and it stays.
    def pieces(t):
        return Slope("L", np.array([1.0, 2.0]) * t), Knot("E", 1.0), Slope("R", 0.0)

    path = trace(Toy([[2.0, -1.0], [-1.0, 2.0]], (0.0, 2.0), pieces))
    np.testing.assert_allclose(path.breakpoints, [0.0, 1 / 3, 1.0, 2.0], rtol=1e-14)
    np.testing.assert_allclose(path.alpha(0.5), [0.5, 0.75], rtol=1e-14)
    np.testing.assert_allclose(path.alpha(1.5), [1.0, 1.0], rtol=1e-14)


def test_travel_backwards_is_the_same_path():
    out = trace(Toy([[2.0, -1.0], [-1.0, 2.0]], (0.0, 2.0), hinge))
    back = trace(Toy([[2.0, -1.0], [-1.0, 2.0]], (2.0, 0.0), hinge))
    np.testing.assert_allclose(back.breakpoints[::-1], out.breakpoints, rtol=1e-13)
    for t in np.linspace(0, 2, 9):
        np.testing.assert_allclose(back.alpha(t), out.alpha(t), rtol=1e-13, atol=1e-15)


def test_a_moving_jump_throws_the_coordinate_off_its_slope():
    # alpha = 1, u = 1 on L until the jump arrives at t = 1; beyond it alpha = 0, u = 0.
    # Loss measured from the knot at 2: before 1/2 + 1, after 0 + 1.
    path = trace(Step([[1.0]], (0.5, 1.5), knot=2.0), start=[1.0], d_step="homotopy")
    assert path.status is Status.COMPLETE
    np.testing.assert_allclose(path.breakpoints, [0.5, 1.0, 1.5], rtol=1e-15)
    (jump,) = path.jumps
    assert (jump.t, jump.rounds, jump.moved, jump.solver) == (1.0, 1, True, "homotopy")
    assert jump.flipped.tolist() == [0]
    assert jump.objective_before == pytest.approx(1.5, rel=1e-14)
    assert jump.objective_after == pytest.approx(1.0, rel=1e-14)
    assert path.alpha(1.0, "before") == 1.0
    assert path.alpha(1.0, "after") == 0.0
    assert path.response(1.0, side="before") == 1.0
    assert path.response(1.0) == 0.0
    assert path.partition(1.0, "before")["L"].tolist() == [0]
    assert path.partition(1.0)["O"].tolist() == [0]


def test_a_model_that_is_not_convex_at_its_start_needs_a_start():
    model = Step([[1.0]], (0.5, 1.5), knot=2.0)
    with pytest.raises(ModelError, match=r"Step is not convex at t=0.5; give trace\(start="):
        Homotopy(model).trace()


def test_the_start_decides_which_local_optimum_is_followed():
    # With the jump at 0.5 both alpha = 1 (u = 1) and alpha = 0 (u = 0) are local optima.
    for guess, expected in (([0.9], [1.0, 1.0, 0.0]), ([0.1], [0.0, 0.0, 0.0])):
        path = trace(Step([[1.0]], (0.5, 1.5), knot=2.0), start=guess)
        found = [path.alpha(t)[0] for t in (0.5, 0.9, 1.2)]
        np.testing.assert_allclose(found, expected, atol=1e-14)


def test_an_infinite_start_is_where_the_jump_first_meets_a_response():
    model = Step(np.diag([1.0, 0.7]), (-np.inf, 1.5), knot=2.0)
    path = trace(model)
    assert path.span == (0.7, 1.5)
    np.testing.assert_allclose(path.breakpoints, [0.7, 1.0, 1.5], rtol=1e-14)
    assert [j.flipped.tolist() for j in path.jumps] == [[1], [0]]
    np.testing.assert_allclose(path.alpha(0.7, "before"), [1.0, 1.0])
    np.testing.assert_allclose(path.alpha(0.7, "after"), [1.0, 0.0])


def test_a_jump_that_meets_no_response_leaves_one_point():
    path = trace(Step([[1.0]], (-np.inf, 0.5), knot=2.0))
    assert path.breakpoints.tolist() == [0.5]
    assert path.span == (0.5, 0.5)
    assert path.complete
    assert path.alpha(0.5)[0] == 1.0
    assert path.jumps == ()


@pytest.mark.parametrize("d_step", ["homotopy", "osqp", "auto"])
def test_one_flip_drags_another_across(d_step):
    # Both at u = 1.9 on L; jumps at t and t - 0.5.  At t = 1.9 coordinate 0 flips: alpha = (0, 1)
    # would leave u_1 = 1 left of its jump at 1.4, so 1 flips as well and everything is 0.
    model = Step([[1.0, 0.9], [0.9, 1.0]], (-np.inf, 3.0), offset=np.array([0.0, 0.5]), knot=5.0)
    path = trace(model, d_step=d_step)
    (jump,) = path.jumps
    assert jump.t == pytest.approx(1.9, rel=1e-14)
    assert jump.flipped.tolist() == [0, 1]
    assert jump.rounds == 2
    assert jump.moved
    np.testing.assert_allclose(path.response(1.9), [0.0, 0.0], atol=1e-12)
    # 1/2 alpha'Q alpha + sum (5 - u), then two flat losses of 5 - jump position.
    assert jump.objective_before == pytest.approx(1.9 + 2 * 3.1, rel=1e-13)
    assert jump.objective_after == pytest.approx((5 - 1.9) + (5 - 1.4), rel=1e-12)


@pytest.mark.parametrize("d_step", ["homotopy", "osqp"])
def test_a_flip_that_moves_nothing_is_a_relabelling(d_step):
    # Coordinate 0 stands on a strong knot at 1 and holds w = 1; coordinate 1 is its double.
    # When the jump of 1 arrives, alpha goes from (0, 1) to (1, 0): w stays.
    def pieces(t):
        first = np.array([1.0, 0.0])
        second = 1.0 - first
        return (
            Slope("O", 5.0 * first),
            Jump(t * second - 9.0 * first),
            Slope("L", 5.0 * first + 1.0 * second),
            Knot("E", 1.0 * first + 9.0 * second),
            Slope("R", -5.0 * first),
        )

    path = trace(Toy(np.ones((2, 2)), (-np.inf, 2.0), pieces), d_step=d_step)
    (jump,) = path.jumps
    assert jump.t == pytest.approx(1.0, rel=1e-12)
    assert jump.flipped.tolist() == [1]
    assert not jump.moved
    assert jump.objective_after == pytest.approx(jump.objective_before, rel=1e-13)
    np.testing.assert_allclose(path.alpha(1.0, "before"), [0.0, 1.0], atol=1e-12)
    np.testing.assert_allclose(path.alpha(1.5), [1.0, 0.0], atol=1e-12)
    for t in (1.0, 1.5, 2.0):
        np.testing.assert_allclose(path.response(t), [1.0, 1.0], rtol=1e-12)


def test_identical_coordinates_share_the_work_and_the_response_is_unique():
    # Three times the same coordinate: 3 alpha = 1 in all, whoever carries it.
    path = trace(Toy(np.ones((3, 3)), (0.0, 2.0), hinge))
    np.testing.assert_allclose(path.breakpoints[:2], [0.0, 1 / 3], rtol=1e-14)
    for t in (1 / 3, 0.5, 1.3, 2.0):
        assert path.alpha(t).sum() == pytest.approx(1.0, rel=1e-13)
        assert np.all((path.alpha(t) >= -1e-14) & (path.alpha(t) <= t + 1e-14))
        np.testing.assert_allclose(path.response(t), 1.0, rtol=1e-13)


def test_a_coordinate_that_cannot_move_stays_put():
    # A zero row: u = 0 for ever, so alpha is its slope and nothing else happens.
    path = trace(Toy(np.diag([2.0, 0.0]), (0.0, 3.0), hinge))
    np.testing.assert_allclose(path.breakpoints, [0.0, 0.5, 3.0], rtol=1e-14)
    np.testing.assert_allclose(path.alpha(2.0), [0.5, 2.0], rtol=1e-14)


def test_a_zero_row_on_the_jump_corner_all_the_way():
    # theta-path at s = 0 without border: u = 0 stands on the jump corner from start to stop.
    def pieces(t):
        return (Slope("O", t), Jump(0.0), Slope("L", 1.0), Knot("E", 1.0), Slope("R", 0.0))

    path = trace(Toy(np.diag([0.0, 4.0]), (1.0, 0.0), pieces))
    assert path.alpha(0.5)[1] == pytest.approx(0.25, rel=1e-14)
    # One side for good, whichever: with alpha = 1 (L) or theta (O), never changing in between.
    side = {name for t in (0.9, 0.5, 0.1) for name, i in path.partition(t).items() if 0 in i}
    assert len(side) == 1


def test_a_tie_of_many_events_at_one_t():
    # Five independent coordinates that all reach their knot at t = 1/2.
    path = trace(Toy(2.0 * np.eye(5), (0.0, 2.0), hinge))
    np.testing.assert_allclose(path.breakpoints, [0.0, 0.5, 2.0], rtol=1e-14)
    np.testing.assert_allclose(path.alpha(1.0), 0.5, rtol=1e-14)


def test_the_border_slides_where_nothing_is_active():
    # Two assets, Q = 1, returns 0 and 1: at lam = 0 half and half; u_i = a_i + b = lam mu_i gives
    # a = (1 - lam, 1 + lam) / 2 until lam = 1 where asset 0 is sold out and asset 1 is full.
    path = trace(Frontier(np.eye(2), np.array([0.0, 1.0]), 1.0, (0.0, 3.0)))
    np.testing.assert_allclose(path.alpha(0.5), [0.25, 0.75], rtol=1e-13)
    np.testing.assert_allclose(path.alpha(2.0), [0.0, 1.0], atol=1e-14)
    assert 1.0 in path.breakpoints.round(12)


def test_a_border_that_cannot_be_balanced_ends_the_trace_with_what_was_found():
    # sum alpha = t with alpha <= 1 each: nothing beyond t = 2.
    model = Toy(
        np.eye(2),
        (0.0, 3.0),
        lambda t: (Slope("full", 1.0), Knot("held", 0.0), Slope("none", 0.0)),
        border=np.ones((2, 1)),
        target=Affine.parameter(),
    )
    with pytest.raises(TraceError, match="no optimum exists beyond") as caught:
        Homotopy(model).trace()
    path = caught.value.path
    assert path.status is Status.FAILED
    assert not path.complete
    assert path.traced == pytest.approx((0.0, 2.0))
    np.testing.assert_allclose(path.alpha(1.0), [0.5, 0.5], rtol=1e-13)
    assert path.certify().ok


def test_a_slanted_piece_is_followed_exactly():
    # Huber-like: alpha = t - u between the knots at t - 1 and t + 1; Q = 1: alpha = u = t / 2
    # until t - 1 = t / 2 at t = 2; then alpha = 1.
    def pieces(t):
        return (
            Slope("up", 1.0),
            Knot("low", t - 1.0),
            Slope("bend", t, curvature=1.0),
            Knot("high", t + 1.0),
            Slope("down", -1.0),
        )

    path = trace(Toy([[1.0]], (0.0, 4.0), pieces))
    np.testing.assert_allclose(path.breakpoints, [0.0, 2.0, 4.0], rtol=1e-14)
    for t, alpha in ((0.0, 0.0), (1.0, 0.5), (2.0, 1.0), (3.5, 1.0)):
        assert path.alpha(t)[0] == pytest.approx(alpha, abs=1e-14)
    assert path.partition(1.0)["bend"].tolist() == [0]
    assert path.partition(3.0)["up"].tolist() == [0]


def test_a_slanted_zero_row_passes_through_its_knot():
    # Q = 0: u = 0; the knot sweeps over it and alpha falls from its left to its right slope.
    def pieces(t):
        return Slope("a", 3.0, curvature=2.0), Knot("k", t), Slope("b", 1.0, curvature=2.0)

    path = trace(Toy([[0.0]], (1.0, -1.0), pieces))
    assert path.alpha(0.5) == pytest.approx(3.0)
    assert path.alpha(-0.5) == pytest.approx(1.0)


def test_two_slanted_doubles_against_a_wall():
    # The same coordinate twice, 2 - u/2 and 3 - u/2, and a wall at -t: u = min(2.5, -t).
    def pieces(t):
        return (
            Slope("slant", np.array([2.0, 3.0]), curvature=0.5),
            Knot("wall", -t),
            Slope("none", -np.inf),
        )

    path = trace(Toy(np.ones((2, 2)), (-4.0, 2.0), pieces))
    for t, u in ((-4.0, 2.5), (-3.0, 2.5), (-2.0, 2.0), (0.5, -0.5), (2.0, -2.0)):
        np.testing.assert_allclose(path.response(t), u, rtol=1e-12)


def test_an_empty_span_is_one_point():
    path = trace(Toy([[2.0]], (0.3, 0.3), hinge))
    assert path.breakpoints.tolist() == [0.3]
    assert path.alpha(0.3)[0] == pytest.approx(0.3)
    assert path.complete
