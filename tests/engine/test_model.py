"""What a model may declare, and what the hooks do."""

from __future__ import annotations

import numpy as np
import pytest
from toys import Step, Toy

from homotopy import (
    Affine,
    DenseGram,
    Homotopy,
    Jump,
    KernelGram,
    Knot,
    LossModel,
    ModelError,
    Slope,
)
from homotopy.model import Problem
from homotopy.model.polyline import JUMP, KNOT, SEAM


def hinge(t):
    return Slope("L", t), Knot("E", 1.0), Slope("R", 0.0)


def test_a_whole_plugin_is_its_polyline():
    class Tiny(LossModel):
        gram, span = DenseGram(np.eye(2)), (0.0, 2.0)

        def polyline(self, t):
            return hinge(t)

    path = Homotopy(Tiny()).trace()
    np.testing.assert_allclose(path.breakpoints, [0.0, 1.0, 2.0])
    assert path.model.parameter == "t"
    assert path.intercept(1.0) == 0.0
    assert path.border_multipliers(1.0).shape == (0,)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"gram": np.eye(2)},
            r"gram must be a Gram .* an array of shape \(2, 2\); wrap it, self.gram = DenseGram",
        ),
        ({"gram": [[1.0]]}, "got a list"),
        ({"gram": None}, "gram must be a Gram"),
        ({"gram": DenseGram(np.zeros((0, 0)))}, "no coordinates"),
        ({"gram": DenseGram(np.diag([1.0, -1.0]))}, "diagonal of gram"),
        ({"gram": KernelGram(lambda i: np.eye(2)[i], [1.0, np.nan])}, "diagonal of gram"),
        ({"span": (0.0,)}, r"span must be a pair \(start, stop\), got \(0.0,\)"),
        ({"span": 3.0}, r"span must be a pair .*got 3.0"),
        ({"span": ("a", "b")}, "span must be a pair"),
        ({"span": (0.0, np.inf)}, "to a finite number"),
        ({"span": (np.nan, 0.0)}, "span must run from a number"),
        ({"span": (np.inf, 1.0)}, "span starts at inf but slopes, knots or border_target move"),
        ({"border": np.ones((3, 1))}, r"border must have 2 rows, got shape \(3, 1\)"),
        ({"border": np.ones((2, 1, 1))}, "border must have 2 rows"),
        ({"border": np.array([[1.0], [np.inf]])}, "border holds values that are not finite"),
        ({"border": np.ones((2, 2))}, "2 border columns are linearly dependent"),
        ({"border": np.zeros((2, 1))}, "a border column is zero"),
        ({"border": np.ones(2), "border_target": np.ones(2)}, "border_target must be"),
        ({"border": np.ones(2), "border_target": np.nan}, "border_target must be"),
        ({"polyline": lambda t: (Slope("a", t * t),)}, "not affine"),
        ({"polyline": lambda t: (Slope("a", 1.0),)}, "1 piece given"),
    ],
)
def test_a_wrong_declaration_is_named(change, message):
    model = Toy(np.eye(2), (0.0, 2.0), hinge)
    for name, value in change.items():
        setattr(model, name, value)
    with pytest.raises(ModelError, match=message):
        Homotopy(model).trace()


def test_polylines_out_of_order_are_told_at_the_parameter_of_the_model():
    for polyline, message in (
        (lambda t: (Slope("a", 1.0), Knot("k", 0.0), Slope("b", t)), r"at lam=2 slope 'a'"),
        (
            lambda t: (
                Slope("a", 2.0),
                Knot("k", t),
                Slope("b", 1.0),
                Knot("l", 1.0),
                Slope("c", 0.0),
            ),
            r"at lam=2 corner 1 of coordinate 0",
        ),
    ):
        model = Toy(np.eye(2), (0.0, 2.0), polyline)
        model.parameter = "lam"
        with pytest.raises(ModelError, match=message):
            Homotopy(model).trace()


def test_a_missing_attribute_is_named():
    class Bare(LossModel):
        def polyline(self, t):
            return hinge(t)

    with pytest.raises(ModelError, match="Bare: gram must be a Gram"):
        Homotopy(Bare()).trace()
    Bare.gram = DenseGram(np.eye(2))
    with pytest.raises(ModelError, match=r"Bare: span must be a pair \(start, stop\), got None"):
        Homotopy(Bare()).trace()


def test_a_border_may_be_one_dimensional():
    flat = Toy(np.eye(2), (0.0, 2.0), hinge, border=np.array([1.0, -1.0]))
    column = Toy(np.eye(2), (0.0, 2.0), hinge, border=np.array([[1.0], [-1.0]]))
    np.testing.assert_array_equal(
        Homotopy(flat).trace().breakpoints, Homotopy(column).trace().breakpoints
    )


def test_the_objective_is_the_formula():
    """1/2 |w|^2 + sum L + e'b with L from the origin, plus the constant of the model."""

    class Priced(Toy):
        def objective_constant(self, t):
            return 100.0 * t

    def pieces(t):
        return Slope("up", 2.0), Knot("E", np.array([1.0, -1.0])), Slope("down", -3.0 + t)

    model = Priced(
        np.array([[2.0, 0.5], [0.5, 1.0]]), (0.0, 1.0), pieces, border=np.ones(2), target=0.25
    )
    problem = Problem.compile(model)
    rng = np.random.default_rng(0)
    for t in (0.0, 0.4, 1.0):
        alpha, b = rng.normal(size=2), rng.normal(size=1)
        u = problem.gram.matvec(alpha) + b
        rise = u - np.array([1.0, -1.0])
        loss = np.where(rise < 0, -2.0 * rise, (3.0 - t) * rise).sum()
        norm = alpha @ np.array([[2.0, 0.5], [0.5, 1.0]]) @ alpha
        expected = 0.5 * norm + loss + 0.25 * b[0] + 100.0 * t
        assert problem.objective(t, alpha, b, u) == pytest.approx(expected, rel=1e-13)


def test_the_path_of_an_optimum_has_the_lowest_objective_nearby():
    def pieces(t):
        return Slope("up", 2.0), Knot("E", np.array([1.0, -1.0])), Slope("down", -3.0 + t)

    model = Toy(
        np.array([[2.0, 0.5], [0.5, 1.0]]), (0.0, 1.0), pieces, border=np.ones(2), target=0.25
    )
    path = Homotopy(model).trace()
    rng = np.random.default_rng(1)
    for t in (0.0, 0.3, 1.0):
        best, alpha, b = path.objective(t), path.alpha(t), path.border_multipliers(t)
        for _ in range(50):
            da, db = 0.1 * rng.normal(size=2), 0.1 * rng.normal(size=1)
            u = path.problem.gram.matvec(alpha + da) + b + db
            assert path.problem.objective(t, alpha + da, b + db, u) >= best - 1e-12


def test_a_model_chooses_who_flips():
    """Three equal coordinates press on their jump at once; the model lets one go at a time."""
    asked: list[list[int]] = []

    class OneByOne(Step):
        def flips(self, t, standing, response):
            asked.append(standing.tolist())
            assert response.shape == (3,)
            return standing[-1:]

    Q = np.eye(3) + 0.2
    path = Homotopy(OneByOne(Q, (-np.inf, 3.0), knot=9.0)).trace()
    assert path.certify().ok
    assert asked[0] == [0, 1, 2]
    assert path.jumps[0].rounds == 3
    assert sorted(np.concatenate([j.flipped for j in path.jumps]).tolist()) == [0, 1, 2]
    together = Homotopy(Step(Q, (-np.inf, 3.0), knot=9.0)).trace()
    assert together.jumps[0].rounds == 1
    np.testing.assert_allclose(path.response(2.0), together.response(2.0), atol=1e-12)


def test_a_loss_origin_shifts_the_objective_only():
    class Shifted(Step):
        def loss_origin(self, t):
            return 0.0

    plain = Homotopy(Step([[1.0]], (-np.inf, 1.5), knot=2.0)).trace()
    shifted = Homotopy(Shifted([[1.0]], (-np.inf, 1.5), knot=2.0)).trace()
    np.testing.assert_array_equal(plain.breakpoints, shifted.breakpoints)
    # From the knot at 2: 1 beyond the jump at t = 1; from 0, left of the jump, nothing.
    assert plain.objective(1.0, "after") == pytest.approx(1.0)
    assert shifted.objective(1.0, "after") == pytest.approx(0.0, abs=1e-15)


def test_polyline_is_given_a_number_by_the_certificate_and_a_symbol_by_the_engine():
    seen: set[type] = set()

    def pieces(t):
        seen.add(type(t))
        return hinge(t)

    path = Homotopy(Toy(np.eye(1), (0.0, 2.0), pieces)).trace()
    seen.clear()
    path.certify()
    assert seen == {float}
    Problem.compile(path.model)
    assert Affine in seen


def test_jumps_only_may_move_with_an_infinite_start():
    def pieces(t):
        return Slope("O", 0.0), Jump(t), Slope("L", 1.0), Knot("E", t + 5.0), Slope("R", 0.0)

    with pytest.raises(ModelError, match="an infinite start needs a model where only jumps move"):
        Homotopy(Toy(np.eye(1), (-np.inf, 0.0), pieces)).trace()


def test_the_kinds_of_corners_do_not_depend_on_what_was_asked_before():
    # L falls to R by t: a knot where t > 0, a seam at 0, a rise where t < 0.
    asked = [((0.0, 2.0), KNOT), ((0.5, 1.0), KNOT), ((0.0, 0.0), SEAM), ((-2.0, -1.0), JUMP)]
    for order in (asked, asked[::-1], asked[2:] + asked[:2]):
        problem = Problem.compile(Toy(np.eye(1), (0.0, 2.0), hinge))
        for (start, stop), kind in order:
            assert problem.kinds_within(start, stop).tolist() == [[kind]]
            assert problem.kinds_at(1.0).tolist() == [[KNOT]]
            assert problem.kinds_at(0.0).tolist() == [[SEAM]]
