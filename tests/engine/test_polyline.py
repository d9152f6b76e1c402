"""Declarations are checked, compiled and integrated as drawn."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad

from homotopy import Affine, Jump, Knot, ModelError, Slope
from homotopy.model.polyline import JUMP, KNOT, SEAM, Polylines

T = Affine.parameter()


def ramp(t, n=2):
    return (
        Slope("O", t * np.array([1.0, 2.0])[:n]),
        Jump(-1.0),
        Slope("L", np.array([1.0, 2.0])[:n]),
        Knot("E", 1.0 + t),
        Slope("R", 0.0),
    )


def test_tables_move_affinely():
    lines = Polylines.compile(ramp(T), 2)
    assert lines.names == ("O", None, "L", "E", "R")
    assert lines.jump.tolist() == [True, False]
    for t in (0.0, 0.25, 1.0):
        snap = lines.at(t)
        np.testing.assert_allclose(snap.slope, [[t, 1.0, 0.0], [2 * t, 2.0, 0.0]])
        np.testing.assert_allclose(snap.corner, [[-1.0, 1.0 + t]] * 2)


def test_a_jump_of_height_zero_is_a_seam_and_a_jump_just_beyond():
    lines = Polylines.compile(ramp(T), 2)
    assert lines.at(1.0).kind.tolist() == [[SEAM, KNOT]] * 2
    assert lines.at(0.5).kind.tolist() == [[JUMP, KNOT]] * 2
    assert lines.kinds_between(1.0, 0.0).tolist() == [[JUMP, KNOT]] * 2


def test_heights_have_the_rounding_of_the_corners_times_the_curvature():
    """Two lines meet at u = 0.3 t, but 0.1 * 3 t leaves a rounding of terms of 1e9."""
    bent = Slope("bent", 0.1 * 3e9 * T - 1.0, curvature=1e9)
    pieces = (Slope("O", -1.0), Knot("E", 0.3 * T), bent, Knot("F", 9.0), Slope("R", -1e11))
    snap = Polylines.compile(pieces, 1).at(1.0)
    assert snap.kind.tolist() == [[SEAM, KNOT]]
    assert 3e8 <= snap.terms[0, 0] <= 1e11


def test_a_slope_that_begins_at_0_begins_there_exactly():
    """Its terms are 5 and 5; what rounding leaves of them is no height."""
    pull = 0.7 * T - 3.5 * (1.0 + 1e-15)
    pieces = (Slope("O", -pull), Jump(0.0), Slope("I", pull), Knot("E", 1.0), Slope("R", -1.0))
    lines = Polylines.compile(pieces, 2)
    assert lines.at(5.0).slope[0, 0] != 0.0
    cleared = lines.cleared_at(5.0)
    assert cleared.at(5.0).slope.tolist() == [[0.0, 0.0, -1.0]] * 2
    np.testing.assert_allclose(cleared.slope0, lines.slope0, rtol=2e-15)
    assert cleared.cleared_at(5.0) is cleared
    assert lines.cleared_at(6.0) is lines


def test_a_minimum_that_misses_a_corner_by_rounding_is_that_corner():
    """The bottom of each slant is its end beside the flat slope."""
    for corner in np.random.default_rng(0).normal(size=200) ** 2:
        pieces = (
            Slope("up", -2.7 * corner, curvature=2.7),
            Knot("left", -corner),
            Slope("0", 0.0),
            Knot("right", corner),
            Slope("down", 2.7 * corner, curvature=2.7),
        )
        place, exists = Polylines.compile(pieces, 1).at(0.0).lowest()
        assert exists.all()
        assert place[0] == -corner


def test_an_infinite_t_leaves_what_stands_still_where_it_is():
    pieces = (Slope("O", 0.5), Jump(T), Slope("L", 1.0), Knot("E", 1.0), Slope("R", 0.0))
    snap = Polylines.compile(pieces, 1).at(-np.inf)
    assert snap.corner.tolist() == [[-np.inf, 1.0]]
    assert np.all(np.isfinite(snap.slope))


def height(snap, i, u):
    """alpha at u, read off the drawing."""
    j = int(np.sum(u > snap.corner[i]))
    return snap.slope[i, j] - snap.curvature[i, j] * u


@pytest.mark.parametrize("origin", [-2.0, 0.3, 1.5, 4.0])
@pytest.mark.parametrize("u", [-3.0, -1.0, 0.2, 1.5, 6.0])
def test_the_loss_is_minus_the_integral_of_the_polyline(u, origin):
    pieces = (
        Slope("a", 2.0),
        Knot("k", -1.5),
        Slope("b", 0.5, curvature=0.25),
        Jump(0.5),
        Slope("c", 3.0, curvature=1.0),
        Knot("l", 2.0),
        Slope("d", -4.0),
    )
    snap = Polylines.compile(pieces, 1).at(0.0)
    corners = [c for c in snap.corner[0] if min(u, origin) < c < max(u, origin)]
    expected, _ = quad(lambda x: -height(snap, 0, x), origin, u, points=corners or None)
    found = snap.loss(np.array([u]), origin)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_the_branch_of_a_response_lies_between_its_jumps():
    pieces = (Slope("a", 0.0), Jump(-1.0), Slope("b", 1.0), Knot("k", 0.0), Slope("c", -1.0))
    pieces += (Jump(1.0), Slope("d", 0.0))
    snap = Polylines.compile(pieces, 5).at(0.0)
    first, last = snap.branches(np.array([-2.0, -1.0, -0.5, 0.7, 1.5]))
    assert first.tolist() == [0, 0, 1, 1, 3]
    assert last.tolist() == [0, 0, 2, 2, 3]


@pytest.mark.parametrize(
    ("pieces", "message"),
    [
        ((), "0 pieces given"),
        ((Slope("a", 1.0),), "1 piece given"),
        ((Slope("a", 1.0), Knot("k", 0.0)), "2 pieces given"),
        ((Knot("k", 0.0), Slope("a", 1.0), Knot("l", 1.0)), "expected a Slope"),
        ((Slope("a", 1.0), Slope("b", 0.0), Slope("c", -1.0)), "expected a Knot or Jump"),
        ((Slope("a", 1.0), Knot("a", 0.0), Slope("b", 0.0)), "names must differ.*a, a, b"),
        ((Slope("a", [1.0, 2.0]), Knot("k", 0.0), Slope("b", 0.0)), r"'a' has shape \(2,\)"),
        ((Slope("a", 1.0), Knot("k", [[0.0]]), Slope("b", 0.0)), r"'k' has shape \(1, 1\)"),
        ((Slope("a", 1.0, -1.0), Knot("k", 0.0), Slope("b", 0.0)), "curvature of slope 'a'"),
        ((Slope("a", 1.0, T), Knot("k", 0.0), Slope("b", 0.0)), "curvature of slope 'a'"),
        ((Slope("a", np.nan), Knot("k", 0.0), Slope("b", 0.0)), "not a number"),
        ((Slope("a", 1.0), Knot("k", np.nan), Slope("b", 0.0)), "not a number"),
    ],
)
def test_a_malformed_declaration_is_refused(pieces, message):
    with pytest.raises(ModelError, match=message):
        Polylines.compile(pieces, 3)


@pytest.mark.parametrize(
    ("pieces", "message"),
    [
        (
            (Slope("a", 2.0), Knot("k", T), Slope("b", 1.0), Knot("l", 1.0), Slope("c", 0.0)),
            r"t=2 corner 1 of coordinate 0 \(u=1\) lies left of corner 0 \(u=2\)",
        ),
        (
            (Slope("a", 1.0 - T), Knot("k", 0.0), Slope("b", 0.0)),
            r"t=2 slope 'a' of coordinate 0 is -1 and slope 'b' is 0: alpha must fall.*Knot 'k'",
        ),
        (
            (Slope("a", 1.0), Jump(0.0), Slope("b", 3.0 - 2 * T)),
            r"t=2 slope 'a' of coordinate 0 is 1 and slope 'b' is -1: alpha must rise",
        ),
    ],
)
def test_polylines_out_of_order_inside_the_span_are_refused(pieces, message):
    lines = Polylines.compile(pieces, 2)
    lines.check(0.0, 0.5)
    with pytest.raises(ModelError, match=message):
        lines.check(0.0, 2.0)
