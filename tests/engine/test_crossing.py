"""Across a discontinuity, on jumps small enough to be drawn by hand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from problems import case
from toys import SemiSupervised, Step, Toy, certified

from homotopy import Affine, DenseGram, Jump, Knot, LinearGram, Slope

WAYS = ["homotopy", "osqp"]


def assert_recorded(path, rel=1e-12):
    """The objectives written down at each jump are those of the path on both sides of it.

    Where several jumps share one t only the first and the last have a side of the path.
    """
    for _t, shared in itertools.groupby(path.jumps, key=lambda jump: jump.t):
        jumps = list(shared)
        t = jumps[0].t
        before, after = path.objective(t, side="before"), path.objective(t, side="after")
        assert jumps[0].objective_before == pytest.approx(before, rel=rel, abs=1e-13)
        assert jumps[-1].objective_after == pytest.approx(after, rel=rel, abs=1e-13)
        for jump, following in itertools.pairwise(jumps):
            expected = following.objective_before
            assert jump.objective_after == pytest.approx(expected, rel=rel, abs=1e-13)
    for jump in path.jumps:
        assert jump.objective_after <= jump.objective_before + 1e-12 * abs(jump.objective_before)


# ------------------------------------------------------------------ one coordinate


@pytest.mark.parametrize("d_step", WAYS)
def test_one_coordinate_falls_onto_the_lower_slope(d_step):
    # Q = 2, slopes 1/4 and 1, jump at t, knot at 5: u = 2 until the jump is there, then u = 1/2.
    # Loss from the knot: before 1 + (5 - 2); after 1/16 + 3 + (2 - 1/2) / 4.
    def pieces(t):
        return Slope("O", 0.25), Jump(t), Slope("L", 1.0), Knot("E", 5.0), Slope("R", 0.0)

    path = certified(Toy([[2.0]], (1.0, 3.0), pieces), start=[1.0], d_step=d_step)
    (jump,) = path.jumps
    assert jump.t == pytest.approx(2.0, rel=1e-14)
    assert (jump.rounds, jump.moved, jump.solver) == (1, True, d_step)
    assert jump.objective_before == pytest.approx(4.0, rel=1e-13)
    assert jump.objective_after == pytest.approx(1 / 16 + 3 + 3 / 8, rel=1e-12)
    assert path.response(2.0, side="before")[0] == pytest.approx(2.0, rel=1e-14)
    assert path.response(2.0)[0] == pytest.approx(0.5, rel=1e-12)
    assert_recorded(path, 1e-10)


@pytest.mark.parametrize("d_step", WAYS)
def test_a_jump_may_throw_a_coordinate_over_the_knots_of_its_new_branch(d_step):
    # Q = 1: u = 3 on L (alpha = 3) until the jump comes; the branch left of it is 0 | knot 1 | -1:
    # at u = 0 alpha = 0.  On the way down it stands on the knot for a while.
    def pieces(t):
        return (
            Slope("a", 0.0),
            Knot("k", 1.0),
            Slope("b", -1.0),
            Jump(t),
            Slope("L", 3.0),
            Knot("E", 9.0),
            Slope("R", 0.0),
        )

    path = certified(Toy([[1.0]], (2.0, 4.0), pieces), start=[3.0], d_step=d_step)
    (jump,) = path.jumps
    assert jump.t == pytest.approx(3.0, rel=1e-14)
    assert path.partition(3.5)["a"].tolist() == [0]
    assert path.response(3.5)[0] == pytest.approx(0.0, abs=1e-12)
    if d_step == "homotopy":
        # Off slope b onto the knot and off it onto slope a.
        assert jump.steps == 3
    assert_recorded(path, 1e-10)


def test_a_jump_to_a_slanted_branch():
    # Left of the jump alpha = 1 - u (Q = 1: u = 1/2), right of it alpha = 4.
    def pieces(t):
        return (
            Slope("slant", 1.0, curvature=1.0),
            Jump(t),
            Slope("L", 4.0),
            Knot("E", 9.0),
            Slope("R", 0.0),
        )

    path = certified(Toy([[1.0]], (3.0, 5.0), pieces), start=[4.0])
    (jump,) = path.jumps
    assert jump.t == pytest.approx(4.0, rel=1e-14)
    assert path.response(4.5)[0] == pytest.approx(0.5, rel=1e-13)
    assert path.alpha(4.5)[0] == pytest.approx(0.5, rel=1e-13)
    assert_recorded(path)


def test_a_jump_from_the_left():
    # The mirror image: on O (alpha = 0, u = 0) until the jump falls below u; then u = alpha = 1.
    path = certified(Step([[1.0]], (0.5, -0.5)), start=[0.0])
    (jump,) = path.jumps
    assert jump.t == pytest.approx(0.0, abs=1e-15)
    assert path.response(-0.2)[0] == pytest.approx(1.0, rel=1e-14)
    assert_recorded(path)


# ------------------------------------------------------------------ rounds


@pytest.mark.parametrize("d_step", WAYS)
@pytest.mark.parametrize("features", [True, False])
def test_one_who_ends_pinned_is_flipped_in_a_second_round(d_step, features):
    # u = (1.9, 1.9); jumps at t and t - 1/2.  0 flips at t = 1.9: (0, 1) would have u_1 = 1, left
    # of its jump at 1.4, so 1 ends pinned there (alpha_1 = 1.4) and flips in turn: all is 0.
    phi = np.linalg.cholesky(np.array([[1.0, 0.9], [0.9, 1.0]]))
    gram = LinearGram(phi) if features else DenseGram(phi @ phi.T)
    model = Step(gram, (-np.inf, 3.0), offset=np.array([0.0, 0.5]), knot=5.0)
    path = certified(model, d_step=d_step)
    (jump,) = path.jumps
    assert (jump.rounds, jump.flipped.tolist()) == (2, [0, 1])
    assert jump.objective_after == pytest.approx((5 - 1.9) + (5 - 1.4), rel=1e-10)
    assert_recorded(path, 1e-10)


def test_one_who_is_only_touched_on_the_way_is_not_flipped():
    # The same with the jump of 1 at 1/2: at (0, 1) it stays right of it, and 0 alone is flipped.
    model = Step([[1.0, 0.9], [0.9, 1.0]], (-np.inf, 1.95), offset=np.array([0.0, 1.4]), knot=5.0)
    path = certified(model)
    (jump,) = path.jumps
    assert (jump.rounds, jump.flipped.tolist()) == (1, [0])
    np.testing.assert_allclose(path.response(1.9), [0.9, 1.0], rtol=1e-13)
    assert_recorded(path)


@pytest.mark.parametrize("n", [2, 5, 12])
def test_every_flip_drags_one_more_across(n):
    # Q = 0.9 + 0.1 I: with k flipped the others stand at 0.9 (n - k) + 0.1.  Jump k lies half a
    # unit above where flip k leaves its coordinate: pinned alone, one in each round.
    k = np.arange(n)
    first = 0.9 * n + 0.1
    place = np.where(k == 0, first, 0.9 * (n - k) + 0.6)
    model = Step(
        0.9 * np.ones((n, n)) + 0.1 * np.eye(n),
        (-np.inf, first + 0.2),
        offset=first - place,
        knot=2.0 * n,
    )
    path = certified(model)
    (jump,) = path.jumps
    assert jump.t == pytest.approx(first, rel=1e-13)
    assert jump.rounds == n
    assert jump.flipped.tolist() == k.tolist()
    np.testing.assert_allclose(path.response(first), 0.0, atol=1e-12)
    assert_recorded(path)


def test_a_pinned_coordinate_that_is_released_again():
    # Q couples 0 and 1 against each other: 0 flips and 1 goes up, over its knot: 1 is never pinned
    # and ends on the knot.  u = (2 - 1, -1 + 2) = (1, 1) at first; flipped: alpha_0 = 0, u_1 = 2
    # beyond the knot 1.5 of 1: alpha_1 = 3/4, u = (-3/4, 3/2).
    knot = np.array([9.0, 1.5])
    pieces = lambda t: (  # noqa: E731
        Slope("O", 0.0),
        Jump(t - np.array([0.0, 3.0])),
        Slope("L", 1.0),
        Knot("E", knot),
        Slope("R", 0.0),
    )
    path = certified(Toy([[2.0, -1.0], [-1.0, 2.0]], (0.0, 1.5), pieces), start=[1.0, 1.0])
    (jump,) = path.jumps
    assert (jump.t, jump.flipped.tolist()) == (pytest.approx(1.0, rel=1e-14), [0])
    np.testing.assert_allclose(path.response(1.2), [-0.75, 1.5], rtol=1e-13)
    np.testing.assert_allclose(path.alpha(1.2), [0.0, 0.75], atol=1e-14)
    assert_recorded(path)


# ------------------------------------------------------------------ with a border


def test_the_intercept_takes_up_what_a_jump_leaves():
    # Q = 0, B = 1: the intercept alone.  0 is held by a strong knot at 1 (-5 .. 5), 1 pulls with
    # alpha = 1 until its jump comes to 1: alpha_0 goes from -1 to 0, nothing moves.
    first = np.array([1.0, 0.0])
    pieces = lambda t: (  # noqa: E731
        Slope("O", 5.0 * first),
        Jump(t * (1 - first) - 9.0 * first),
        Slope("L", 5.0 * first + (1 - first)),
        Knot("E", first + 9.0 * (1 - first)),
        Slope("R", -5.0 * first),
    )
    model = Toy(np.zeros((2, 2)), (0.0, 2.0), pieces, border=np.ones((2, 1)))
    path = certified(model, start=[-1.0, 1.0])
    (jump,) = path.jumps
    assert (jump.t, jump.moved) == (pytest.approx(1.0, rel=1e-13), False)
    np.testing.assert_allclose(path.alpha(0.5), [-1.0, 1.0], atol=1e-13)
    np.testing.assert_allclose(path.alpha(1.5), [0.0, 0.0], atol=1e-13)
    assert path.intercept(1.5) == pytest.approx(1.0, rel=1e-13)
    assert_recorded(path)


def test_an_intercept_that_slides_into_a_jump():
    # sum alpha = t, u = alpha + b.  0 is filled until t = 1 (b = 5 - t).  Then b slides down from 4
    # and pushes 1 over its jump at 2 (alpha from 0 to -1/2); balance is found on the knot 1 of 1.
    low = np.array([0.0, -0.5])
    pieces = lambda t: (  # noqa: E731
        Slope("full", 1.0),
        Knot("at", np.array([5.0, 1.0])),
        Slope("between", low),
        Jump(np.array([30.0, 2.0])),
        Slope("empty", 0.0),
    )
    model = Toy(np.eye(2), (0.5, 1.5), pieces, border=np.ones((2, 1)), target=Affine.parameter())
    path = certified(model, start=[0.5, 0.0])
    assert path.counts["slides"] >= 1
    (jump,) = path.jumps
    assert (jump.t, jump.flipped.tolist()) == (pytest.approx(1.0, rel=1e-13), [1])
    np.testing.assert_allclose(path.alpha(0.75), [0.75, 0.0], atol=1e-13)
    np.testing.assert_allclose(path.alpha(1.25), [1.0, 0.25], atol=1e-13)
    assert path.intercept(0.75) == pytest.approx(4.25, rel=1e-13)
    assert path.intercept(1.25) == pytest.approx(0.75, rel=1e-13)
    assert_recorded(path)


# ------------------------------------------------------------------ relabelling


@pytest.mark.parametrize("d_step", WAYS)
@pytest.mark.parametrize("doubles", [1, 3])
def test_a_flip_that_moves_nothing_is_written_down_as_a_relabelling(d_step, doubles):
    # 0 stands on a strong knot at 1; its doubles carry a part of w each, until their jumps come,
    # one after the other: 0 takes over, w stays.
    n = doubles + 1
    first = np.zeros(n)
    first[0] = 1.0
    pieces = lambda t: (  # noqa: E731
        Slope("O", 5.0 * first),
        Jump((t - 0.1 * np.arange(n)) * (1 - first) - 9.0 * first),
        Slope("L", 5.0 * first + 0.5 * (1 - first)),
        Knot("E", first + 9.0 * (1 - first)),
        Slope("R", -5.0 * first),
    )
    path = certified(Toy(np.ones((n, n)), (0.5, 2.0), pieces), start=np.full(n, 0.5), d_step=d_step)
    assert [jump.flipped.tolist() for jump in path.jumps] == [[k] for k in range(1, n)]
    for k, jump in enumerate(path.jumps, start=1):
        assert jump.t == pytest.approx(1.0 + 0.1 * k, rel=1e-12)
        assert not jump.moved
        assert jump.objective_after == pytest.approx(jump.objective_before, rel=1e-12)
        assert path.alpha(jump.t)[0] == pytest.approx(1.0 - 0.5 * (doubles - k), abs=1e-12)
    for t in np.linspace(0.5, 2.0, 7):
        np.testing.assert_allclose(path.response(t), 1.0, rtol=1e-12)
    assert_recorded(path, 1e-10)


def test_a_jump_that_sweeps_back_and_forth_over_a_held_coordinate_is_crossed_once_each_time():
    # 0 holds u = 1 for its double 1, whose jump passes 1 on its way up; travelled backwards the
    # same place is crossed the other way.
    first = np.array([1.0, 0.0])
    pieces = lambda t: (  # noqa: E731
        Slope("O", 5.0 * first),
        Jump(t * (1 - first) - 9.0 * first),
        Slope("L", 5.0 * first + (1 - first)),
        Knot("E", first + 9.0 * (1 - first)),
        Slope("R", -5.0 * first),
    )
    for span, start in (((0.0, 2.0), [0.0, 1.0]), ((2.0, 0.0), [1.0, 0.0])):
        path = certified(Toy(np.ones((2, 2)), span, pieces), start=start)
        (jump,) = path.jumps
        assert (jump.t, jump.rounds) == (pytest.approx(1.0, rel=1e-12), 1)
        np.testing.assert_allclose(path.alpha(0.5), [0.0, 1.0], atol=1e-13)
        np.testing.assert_allclose(path.alpha(1.5), [1.0, 0.0], atol=1e-13)


# ------------------------------------------------------------------ a rule of one's own


class Choosy(Step):
    """Lets only one change side, the last, and writes down what it was asked."""

    def __init__(self, *args, choose=lambda standing: standing[-1:], **options):
        super().__init__(*args, **options)
        self.asked, self.choose = [], choose

    def flips(self, t, standing, response):
        self.asked.append((t, standing.tolist(), response.tolist()))
        return self.choose(standing)


PUSHING = np.array([[1.0, -0.5], [-0.5, 1.0]])


def test_both_flip_where_nobody_says_otherwise():
    # u = (1/2, 1/2); both meet the jump at t = 1/2.
    path = certified(Step(PUSHING, (0.2, 2.0)), start=[1.0, 1.0])
    (jump,) = path.jumps
    assert jump.flipped.tolist() == [0, 1]
    np.testing.assert_allclose(path.response(0.5), 0.0, atol=1e-14)
    assert_recorded(path)


@pytest.mark.parametrize("d_step", ["homotopy", "osqp", "auto"])
def test_a_model_is_asked_who_flips_and_its_answer_is_followed(d_step):
    # Only 1 flips at t = 1/2: u = (1, -1/2), so 0 goes on to t = 1.
    model = Choosy(PUSHING, (0.2, 2.0))
    path = certified(model, start=[1.0, 1.0], d_step=d_step)
    assert [jump.flipped.tolist() for jump in path.jumps] == [[1], [0]]
    np.testing.assert_allclose([jump.t for jump in path.jumps], [0.5, 1.0], rtol=1e-13)
    np.testing.assert_allclose(path.response(0.7), [1.0, -0.5], atol=1e-10)
    (t, standing, response), (later, alone, after) = model.asked
    assert (t, standing) == (pytest.approx(0.5, rel=1e-13), [0, 1])
    np.testing.assert_allclose(response, [0.5, 0.5], rtol=1e-13)
    assert (later, alone) == (pytest.approx(1.0, rel=1e-13), [0])
    np.testing.assert_allclose(after, [1.0, -0.5], atol=1e-10)
    assert_recorded(path, 1e-10)


def test_who_was_not_chosen_and_still_stands_there_is_asked_about_again():
    # Two that do not know of each other: the second flips later, but at the same t.
    model = Choosy(np.eye(2), (0.2, 2.0))
    path = certified(model, start=[1.0, 1.0])
    assert [standing for _, standing, _ in model.asked] == [[0, 1], [0]]
    assert [jump.t for jump in path.jumps] == pytest.approx([1.0, 1.0], rel=1e-14)
    np.testing.assert_allclose(path.alpha(1.5), 0.0, atol=1e-14)
    assert_recorded(path)


def test_an_empty_answer_counts_as_all():
    model = Choosy(PUSHING, (0.2, 2.0), choose=lambda standing: standing[:0])
    path = certified(model, start=[1.0, 1.0])
    assert path.jumps[0].flipped.tolist() == [0, 1]


# ------------------------------------------------------------------ lingering


def test_two_that_balance_each_other_on_a_jump_corner_do_not_stay():
    # Unlabelled points x and -x: with both on the same side w = 0 for ever, on both jump corners, a
    # maximum, not a minimum.  One of them flips and the pair moves apart: u = (2 t, -2 t) up to the
    # knots at 1.
    path = certified(SemiSupervised(np.array([[1.0, -1.0], [-1.0, 1.0]]), np.zeros(2), 1.0, 2.0))
    for t in (0.1, 0.3, 0.45):
        np.testing.assert_allclose(np.sort(path.response(t)), [-2 * t, 2 * t], atol=1e-12)
    for t in (0.6, 2.0):
        np.testing.assert_allclose(np.sort(path.response(t)), [-1.0, 1.0], atol=1e-12)


@pytest.mark.parametrize("pairs", [2, 5])
def test_symmetric_data_do_not_stay_on_their_corners(pairs):
    # Several pairs x, -x of unlabelled points: whatever the order, no local optimum has w = 0.
    X = np.random.default_rng(pairs).normal(size=(pairs, 2))
    X = np.vstack([X, -X])
    path = certified(SemiSupervised(X @ X.T, np.zeros(2 * pairs), 1.0, 1.0))
    assert np.abs(path.response(0.5)).max() > 1e-3
    # The two of a pair mirror each other all the way.
    for t in (0.1, 0.5, 1.0):
        u = path.response(t)
        np.testing.assert_allclose(u[:pairs], -u[pairs:], atol=1e-12)


def test_one_that_is_held_on_its_corner_may_stay():
    # Doubles: 0 holds u = 1 by a strong knot, the jump of 1 stands at 1 all the way; its slope on
    # the left sinks.  Whatever side 1 takes, it keeps it, and 0 makes up for it.
    first = np.array([1.0, 0.0])
    pieces = lambda t: (  # noqa: E731
        Slope("O", 5.0 * first + (1 - t) * (1 - first)),
        Jump((1 - first) - 9.0 * first),
        Slope("L", 5.0 * first + (1 - first)),
        Knot("E", first + 9.0 * (1 - first)),
        Slope("R", -5.0 * first),
    )
    path = certified(Toy(np.ones((2, 2)), (0.0, 1.0), pieces))
    for t in (0.1, 0.5, 1.0):
        np.testing.assert_allclose(path.response(t), 1.0, rtol=1e-13)
    sides = {name for t in (0.2, 0.5, 0.9) for name, i in path.partition(t).items() if 1 in i}
    assert len(sides) == 1


# ------------------------------------------------------------------ objectives


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("way", ["theta", "s"])
@pytest.mark.parametrize(("kind", "intercept"), [("hinge", True), ("lad", True), ("lad", False)])
def test_recorded_objectives_are_those_of_the_path(kind, intercept, way, kernel):
    # On integers many flips move nothing.
    options = {"kernel": kernel, "path": way, "intercept": intercept}
    jumps = 0
    for data in ("normal", "integer"):
        s = 0.0 if kind == "hinge" else 0.3
        path = certified(case(kind, 60, 6, data=data, s=s, C=5.0, **options).model())
        assert_recorded(path, 1e-9)
        jumps += len(path.jumps)
    assert jumps
