"""The symbolic parameter keeps what it can express and refuses the rest."""

from __future__ import annotations

import operator

import numpy as np
import pytest

from homotopy import Affine, ModelError

T = Affine.parameter()


def evaluate(value: Affine, t: float) -> np.ndarray:
    return value.const + value.rate * t


@pytest.mark.parametrize(
    "expression",
    [
        lambda t: t,
        lambda t: 3.0 - 2 * t,
        lambda t: (t - 1) / 4 + t * 0.5,
        lambda t: -(t + t) - 1.0,
        lambda t: np.array([1.0, -2.0]) * t + np.array([0.5, 3.0]),
        lambda t: np.array([1.0, -2.0]) - t,
        lambda t: t * np.array([1.0, -2.0]) / np.array([4.0, 5.0]),
        lambda t: np.float64(2.0) * t - np.int64(1),
        lambda t: Affine.of(2.0) * t,
    ],
)
def test_an_expression_means_the_same_symbolically_and_as_a_number(expression):
    symbolic = expression(T)
    assert isinstance(symbolic, Affine)
    for t in (-1.5, 0.0, 2.0):
        np.testing.assert_allclose(
            evaluate(symbolic, t), np.asarray(expression(Affine.of(t)).const), rtol=1e-15
        )
        number = expression(t)
        number = number.const if isinstance(number, Affine) else number
        np.testing.assert_allclose(evaluate(symbolic, t), number, rtol=1e-15)


def test_an_array_on_the_left_does_not_build_an_object_array():
    product = np.arange(3.0) * T
    assert isinstance(product, Affine)
    np.testing.assert_array_equal(product.rate, [0.0, 1.0, 2.0])


@pytest.mark.parametrize(
    "wall",
    [Affine.of(np.inf), T * 0.0 + np.inf, Affine.of(np.inf) * 2.0, 0.5 * (np.inf + 0.0 * T)],
)
def test_a_wall_at_infinity_does_not_move(wall):
    assert wall.const == np.inf
    assert wall.rate == 0.0


@pytest.mark.parametrize(
    ("left", "right", "operation"),
    [
        (T, T, operator.mul),
        (T, np.array([1.0, 2.0]) * T, operator.mul),
        (1.0, T, operator.truediv),
        (T, T, operator.truediv),
    ],
)
def test_what_is_not_affine_is_refused(left, right, operation):
    with pytest.raises(ModelError, match="not affine"):
        operation(left, right)


Y = np.array([1.0, -2.0, 0.5])
FIRST = np.array([True, False, True])


@pytest.mark.parametrize(
    "expression",
    [
        lambda t: np.where(FIRST, t, Y),
        lambda t: np.where(FIRST, Y, t * Y),
        lambda t: np.full(3, t),
        lambda t: np.full(3, 2.0 * t) * 0.5 + Y,
        lambda t: Y - np.full(3, t),
        lambda t: np.stack([t * Y, Y])[0],
        lambda t: np.concatenate([t * Y, Y, -Y + t]),
        lambda t: np.hstack([np.repeat(t, 2), Y]),
        lambda t: (t * Y)[FIRST],
        lambda t: (t * Y + 1)[1:],
        lambda t: np.array([t, 1.0, 2.0 * t + 1.0]),
        lambda t: np.outer(Y, Y) @ (t * Y),
        lambda t: (t * Y) @ np.outer(Y, Y),
        lambda t: np.dot(np.outer(Y, Y), t * Y),
        lambda t: np.sum(t * Y) + np.zeros(3),
        lambda t: np.broadcast_to(t, (3,)),
        lambda t: np.add(t, Y),
        lambda t: np.array(list(t * Y)),
        lambda t: np.append(Y[:2], t),
        lambda t: np.append(t * Y, [Y], axis=None),
    ],
)
def test_it_is_an_array_where_numbers_are_only_moved_about(expression):
    symbolic = Affine.of(expression(T))
    for t in (-1.5, 0.0, 2.0):
        np.testing.assert_allclose(symbolic.at(t), expression(t), rtol=1e-15)


@pytest.mark.parametrize(
    "expression",
    [
        lambda t: t**2,
        lambda t: 2**t,
        lambda t: max(t, 0.0),
        lambda t: t < 1.0,
        lambda t: t == 0.5,
        lambda t: bool(t),
        lambda t: abs(t),
        lambda t: np.maximum(t, Y),
        lambda t: np.clip(t, 0.0, 1.0),
        lambda t: np.exp(t),
        lambda t: np.linalg.norm(t * Y),
        lambda t: float(t),
        lambda t: (t * Y) @ (t * Y),
        lambda t: Y / t,
    ],
)
def test_what_is_not_affine_says_so(expression):
    with pytest.raises(ModelError, match=r"polyline: .*not affine"):
        expression(T)


def test_what_does_not_move_is_a_number():
    fixed = T - T + 2.0
    assert float(fixed) == 2.0
    assert fixed > 1.0
    assert fixed == 2.0
    assert abs(-fixed) == 2.0
    np.testing.assert_array_equal(np.asarray(fixed * Y), 2.0 * Y)


@pytest.mark.parametrize("expression", [lambda t: [1.0, 2.0] * t, lambda t: t - [1.0, 2.0]])
def test_a_list_is_not_an_array(expression):
    """With a plain number, as the certificate calls a model, these would not work."""
    with pytest.raises(ModelError, match=r"the list \[1\.0, 2\.0\] .* write np\.array"):
        expression(T)
