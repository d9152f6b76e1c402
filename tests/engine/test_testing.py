"""The conformance check passes sound plugins and names what is wrong with the others."""

from __future__ import annotations

import numpy as np
import pytest
from problems import case
from toys import Frontier, Huber, Lasso, Step, Toy

from homotopy import Affine, DenseGram, KernelGram, Knot, Slope
from homotopy.testing import check_plugin


def hinge(t):
    return Slope("L", t), Knot("E", 1.0), Slope("R", 0.0)


def test_sound_plugins_pass_and_the_path_is_returned():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(15, 3)), rng.normal(size=15)
    S = np.cov(rng.normal(size=(30, 4)).T)
    models = [
        Toy(np.eye(3) + 1, (0.0, 2.0), hinge),
        Lasso(X, y, (20.0, 0.1)),
        Frontier(S, rng.normal(size=4), 0.6, (0.0, 5.0)),
        Huber(X, y, rng.normal(size=15), 1.0, True),
        Step(np.eye(2), (-np.inf, 3.0), offset=np.array([0.0, 0.5]), knot=5.0),
        case("hinge", 20, 0).model(),
    ]
    for model in models:
        path = check_plugin(model)
        assert path.complete
        assert path.model is model


def test_a_model_that_is_not_convex_at_its_start_passes_with_a_start():
    model = Step([[1.0]], (0.5, 1.5), knot=2.0)
    with pytest.raises(AssertionError, match=r"Step: the trace failed: .*not convex"):
        check_plugin(model)
    path = check_plugin(model, start=[1.0])
    assert len(path.jumps) == 1


def test_a_class_instead_of_an_instance():
    with pytest.raises(AssertionError, match="build the model first"):
        check_plugin(Toy)


def test_a_declaration_that_does_not_compile():
    model = Toy(np.eye(2), (0.0, 2.0), lambda t: (Slope("L", t * t),))
    with pytest.raises(AssertionError, match=r"Toy: the declaration does not compile.*not affine"):
        check_plugin(model)


def test_an_infeasible_problem():
    model = Toy(
        np.eye(2),
        (0.0, 9.0),
        lambda t: (Slope("a", 1.0), Knot("k", 0.0), Slope("b", 0.0)),
        border=np.ones(2),
        target=Affine.parameter(),
    )
    with pytest.raises(AssertionError, match="Toy: the trace failed: no optimum exists"):
        check_plugin(model)


def test_a_polyline_that_is_another_for_numbers():
    def pieces(t):
        return Slope("L", t if isinstance(t, Affine) else t**1.01), Knot("E", 1.0), Slope("R", 0.0)

    with pytest.raises(AssertionError, match=r"piece 0 of the polyline at t=2 is .* symbolic t"):
        check_plugin(Toy(np.eye(2), (0.0, 2.0), pieces))


def test_a_polyline_with_another_number_of_pieces_for_numbers():
    def pieces(t):
        return hinge(t) if isinstance(t, Affine) else (*hinge(t), Knot("X", 9.0), Slope("Y", -1.0))

    with pytest.raises(AssertionError, match=r"polyline has 5 pieces at .* and 3 when"):
        check_plugin(Toy(np.eye(2), (0.0, 2.0), pieces))


@pytest.mark.parametrize(
    ("method", "message"),
    [
        ("column", "gram.column disagrees"),
        ("combine", "gram.combine disagrees"),
        ("matvec", "gram.matvec disagrees"),
        ("matmat", "gram.matmat disagrees"),
        ("block", "gram.* disagrees"),
    ],
)
def test_a_gram_whose_methods_disagree(method, message):
    class Odd(DenseGram):
        pass

    def wrong(self, *args):
        return 1.001 * getattr(DenseGram, method)(self, *args)

    setattr(Odd, method, wrong)
    model = Toy(Odd(np.eye(4) + 1.0), (0.0, 2.0), hinge)
    with pytest.raises(AssertionError, match=message):
        check_plugin(model)


def test_a_gram_that_is_not_symmetric_or_not_definite():
    matrix = np.array([[1.0, 0.5], [0.0, 1.0]])
    lopsided = Toy(KernelGram(lambda index: matrix[index], [1.0, 1.0]), (0.0, 2.0), hinge)
    with pytest.raises(AssertionError, match="not symmetric"):
        check_plugin(lopsided)
    saddle = Toy(np.array([[1.0, 2.0], [2.0, 1.0]]), (0.0, 2.0), hinge)
    with pytest.raises(AssertionError, match=r"not positive semidefinite.*-1"):
        check_plugin(saddle)


def test_a_polyline_that_depends_on_earlier_calls():
    class Drifting(Toy):
        calls = 0

        def polyline(self, t):
            if isinstance(t, Affine):
                type(self).calls += 1
            return Slope("L", t), Knot("E", 1.0 + 0.01 * self.calls), Slope("R", 0.0)

    with pytest.raises(AssertionError, match="Drifting"):
        check_plugin(Drifting(np.eye(2), (0.0, 2.0), None))


def test_flips_that_answer_with_strangers():
    class Odd(Step):
        first = True

        def flips(self, t, standing, response):
            # Behaves while the trace runs, misbehaves when asked again.
            if len(standing) == 1 and not self.first:
                return np.array([7])
            self.first = False
            return standing

    with pytest.raises(AssertionError, match=r"flips\(\) must return some of the coordinates"):
        check_plugin(Odd([[1.0]], (-np.inf, 3.0), knot=5.0))


def test_the_tolerance_is_passed_on():
    model = case("hinge", 30, 1, C=10.0).model()
    with pytest.raises(AssertionError, match="not certified"):
        check_plugin(model, tol=1e-300)


def test_a_jump_declared_as_a_knot_is_named():
    def pieces(t):
        return Slope("O", 0.0), Knot("K", t), Slope("L", 1.0), Knot("E", 9.0), Slope("R", 0.0)

    with pytest.raises(AssertionError, match=r"alpha must fall.*Knot 'K'"):
        check_plugin(Toy(np.eye(1), (0.0, 1.0), pieces))
