"""TrendFilter against OSQP and its own conditions in extended precision."""

from __future__ import annotations

import pickle
import time

import numpy as np
import pytest
from conic import penalised_least_squares
from toys import certified

from homotopy import DataError, Homotopy, HomotopyError, ModelError
from homotopy.testing import check_plugin
from homotopy_plugins import TrendFilter

ORDERS = pytest.mark.parametrize("order", [0, 1, 2])
Long = np.longdouble


def signal(n, seed=0, noise=0.2):
    z = np.linspace(0.0, 1.0, n)
    rng = np.random.default_rng(seed)
    return np.sin(9.0 * z**2) + (z > 0.4) + noise * rng.standard_normal(n)


def differences(x, order, z):
    """``D x``, in the precision of x."""
    x = np.diff(x)
    for j in range(1, order + 1):
        x = np.diff(x * j / (z[j:] - z[:-j]))
    return x


def offence(path, y, lam, *, order, positions=None, weights=None):
    """How far the conditions fail at `lam`, in extended precision and in parts of the largest lam:
    ``w (y - x) = D^T v``, ``|v| <= lam``, ``v = +-lam`` at a knot.

    What comes from the last bits of x is no fault.
    """
    n = y.size
    z = (np.arange(n) if positions is None else positions).astype(Long)
    w = (np.ones(n) if weights is None else weights).astype(Long)
    x = path.solution(lam).astype(Long)
    rest, bits = w * (y - x), 4 * np.finfo(float).eps * w * (np.abs(y) + np.abs(x))
    sums = np.stack([-rest, rest[::-1], bits, bits[::-1]])
    for j in range(order + 1):
        if j:
            d = (z[j:] - z[:-j]) / j
            sums = sums * np.stack([-d, d[::-1], d, d[::-1]])
        sums = np.cumsum(sums, axis=1)[:, :-1]
    half = np.arange(sums.shape[1]) < sums.shape[1] // 2
    v, other = np.where(half, sums[0], sums[1, ::-1]), np.where(half, sums[1, ::-1], sums[0])
    near, far = np.where(half, sums[2], sums[3, ::-1]), np.where(half, sums[3, ::-1], sums[2])
    bend, largest = path.alpha(lam) * path.model.unit, path.traced[0]
    knot = np.abs(bend) > 1e-9 * np.abs(bend).max()
    failing = [
        np.max(np.abs(v) - lam - near),
        np.max((np.abs(v - lam * np.sign(bend)) - near)[knot], initial=0.0),
        np.max(np.abs(v - other) - near - far),
    ]
    return float(max(failing) / largest)


def places(path, count=50):
    return np.geomspace(*path.traced, count)


# ---------------------------------------------------------------------- peers


@ORDERS
@pytest.mark.parametrize("uneven", [False, True])
def test_osqp_agrees_at_fifty_lam(order, uneven):
    n, rng = 40, np.random.default_rng(5)
    y = signal(n)
    z = np.cumsum(rng.uniform(0.5, 1.5, n)) if uneven else np.arange(float(n))
    w = rng.uniform(0.5, 2.0, n) if uneven else np.ones(n)
    path = certified(TrendFilter(y, order=order, positions=z, weights=w, fraction=1e-3))
    # The polynomial and the basis are the oracle's own: any right inverse of D.
    D = _matrix(n, order, z)
    basis = np.c_[np.linalg.pinv(D), np.vander(z, order + 1)] * np.sqrt(w)[:, None]
    for lam in places(path):
        price = np.r_[np.full(n - order - 1, lam), np.zeros(order + 1)]
        value, _ = penalised_least_squares(basis, y * np.sqrt(w), price)
        assert path.objective(lam) == pytest.approx(value, rel=1e-6)
        x = path.solution(lam)
        direct = 0.5 * w @ (y - x) ** 2 + lam * np.abs(D @ x).sum()
        assert path.objective(lam) == pytest.approx(direct, rel=1e-9)


def _matrix(n, order, z):
    return np.stack([differences(e, order, z) for e in np.eye(n)], axis=1)


def test_order_zero_is_the_fused_lasso_by_dynamic_programming():
    y = signal(200, noise=0.5)
    path = certified(TrendFilter(y, order=0, fraction=0.0))
    for lam in places(certified(TrendFilter(y, order=0)), 50):
        np.testing.assert_allclose(path.solution(lam), _johnson(y, lam), atol=1e-9)
    np.testing.assert_allclose(path.solution(0.0), y, atol=1e-12)


def _johnson(y, lam):
    """The fused lasso at one lam (Johnson, 2013): derivatives of the messages, clipped at +-lam.

    A message is the piecewise linear ``slope * x + offset`` between its knots."""
    n = y.size
    knots = [(-np.inf, 1.0, -y[0])]  # (from where, slope, offset) of the derivative
    bounds = []
    for i in range(1, n + 1):
        # Where the derivative is -lam and +lam; outside it is cut off there.
        level = 0.0 if i == n else lam
        low, high = _crossing(knots, -level), _crossing(knots, level)
        bounds.append((low, high))
        if i == n:
            break
        inner = [(max(a, low), s, o) for a, s, o in knots]
        ends = [a for a, _, _ in knots[1:]] + [np.inf]
        inner = [k for k, end in zip(inner, ends, strict=True) if end > low and k[0] < high]
        knots = [(-np.inf, 0.0, -lam), *inner, (high, 0.0, lam)]
        knots = [(a, s + 1.0, o - y[i]) for a, s, o in knots]
    x = np.empty(n)
    x[-1] = bounds[-1][0]
    for i in range(n - 2, -1, -1):
        x[i] = np.clip(x[i + 1], *bounds[i])
    return x


def _crossing(knots, level):
    ends = [a for a, _, _ in knots[1:]] + [np.inf]
    for (begin, slope, offset), end in zip(knots, ends, strict=True):
        at = (level - offset) / slope
        if at <= end:
            return max(at, begin)
    raise AssertionError("a derivative that grows for ever takes every value")


# ---------------------------------------------------------------------- long signals


def long_path(n, order):
    y = signal(n)
    path = certified(TrendFilter(y, order=order))
    for lam in places(path, 20):
        assert offence(path, y, lam, order=order) < 1e-11
        assert offence(path, y, lam, order=order) < 1e-5 * lam / path.traced[0]
    return np.count_nonzero(path.alpha(path.traced[1]))


@ORDERS
def test_five_hundred_values(order):
    assert long_path(500, order) > 60


@pytest.mark.slow
@ORDERS
def test_two_thousand_values(order):
    assert long_path(2000, order) > 60


@ORDERS
def test_a_trace_of_two_thousand_values_takes_seconds(order):
    Homotopy(TrendFilter(signal(50), order=order)).trace()
    begin = time.perf_counter()
    path = Homotopy(TrendFilter(signal(2000), order=order)).trace()
    assert path.certify(sample=20).ok
    assert time.perf_counter() - begin < 10.0


# ---------------------------------------------------------------------- what a path says


@ORDERS
def test_it_begins_at_a_polynomial_and_reproduces_pieces(order):
    y = signal(60)
    path = certified(TrendFilter(y, order=order))
    z = np.arange(60.0)
    np.testing.assert_allclose(
        path.solution(path.traced[0]), np.polyval(np.polyfit(z, y, order), z), atol=1e-9
    )
    np.testing.assert_allclose(
        path.alpha(path.traced[1]), _matrix(60, order, z) @ path.solution(path.traced[1]), atol=1e-9
    )


@ORDERS
def test_between_positions_pieces_are_polynomials(order):
    z = np.cumsum(np.random.default_rng(2).uniform(0.5, 1.5, 30))
    y = 3.0 + np.polyval([1.0, -2.0, 0.5][: order + 1], z)
    y[15:] += 1e3 * (z[15:] - z[15]) ** order
    path = certified(TrendFilter(y, order=order, positions=z))
    lam = path.traced[1]
    x = path.solution(lam)
    np.testing.assert_allclose(path.decision_function(z, lam), x, rtol=1e-12)
    np.testing.assert_allclose(path.decision_function(z[:, None], [lam])[0], x, rtol=1e-12)
    # Halfway between positions of one piece: the polynomial through its values.
    part = slice(20, 28)
    middle = 0.5 * (z[21:27] + z[22:28])
    fitted = np.polyval(np.polyfit(z[part] - 20, x[part], order), middle - 20)
    np.testing.assert_allclose(path.decision_function(middle, lam), fitted, rtol=1e-7)


def test_the_squared_error_along_the_path():
    y, w = signal(50), np.random.default_rng(0).uniform(0.0, 2.0, 50)
    path = certified(TrendFilter(y, order=1, weights=w))
    for lam in places(path, 9):
        knots, rest = np.flatnonzero(path.alpha(lam)), y - path.solution(lam)
        error = path.model.squared_error(lam, knots, path.alpha(lam)[knots])
        assert error == pytest.approx(w @ rest**2, abs=1e-10)


def test_a_missing_value_is_interpolated():
    y = signal(30, noise=0.0)
    weights = np.ones(30)
    weights[[4, 17]] = 0.0
    spoiled = y.copy()
    spoiled[[4, 17]] = 1e3
    one, other = (
        certified(TrendFilter(v, order=1, weights=weights, lam=1e-3)) for v in (y, spoiled)
    )
    np.testing.assert_allclose(one.solution(0.01), other.solution(0.01), atol=1e-8)


@ORDERS
@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_units_do_not_matter(order, factor):
    y, z = signal(60), np.cumsum(np.random.default_rng(1).uniform(0.5, 1.5, 60))
    path = certified(TrendFilter(y, order=order, positions=z))
    scaled = certified(TrendFilter(y, order=order, positions=z * factor))
    lam = places(path, 9)
    np.testing.assert_allclose(
        scaled.solution(np.clip(lam * factor**order, *sorted(scaled.traced))),
        path.solution(lam),
        atol=1e-7,
    )
    louder = certified(TrendFilter(y * factor, order=order, positions=z))
    np.testing.assert_allclose(
        louder.solution(np.clip(lam * factor, *sorted(louder.traced))) / factor,
        path.solution(lam),
        atol=1e-7,
    )


@ORDERS
def test_a_polynomial_has_no_knot(order):
    z = np.arange(20.0)
    path = certified(TrendFilter(1e3 + np.polyval([0.1] * (order + 1), z), order=order))
    assert path.breakpoints.size == 2
    smallest = certified(TrendFilter(np.arange(order + 2.0) ** 3, order=order))
    assert smallest.complete


@ORDERS
def test_conformance(order):
    y = np.round(3 * signal(40))
    weights = np.ones(40)
    weights[10:13] = 0.0
    for model in (TrendFilter(y, order=order), TrendFilter(y, order=order, weights=weights)):
        assert check_plugin(model).complete
    copy = pickle.loads(pickle.dumps(model))
    assert np.array_equal(certified(copy).breakpoints, certified(model).breakpoints)


# ---------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        ({"y": []}, DataError, r"y must be a list of numbers, got shape \(0,\)"),
        ({"y": [1.0]}, DataError, "y has 1 values; order 1 needs at least 3"),
        ({"y": [1.0, np.nan, 2.0]}, DataError, r"y\[1\] is nan"),
        ({"y": ["a", "b", "c"]}, DataError, r"y must be numeric, got 'a' at \[0\]"),
        ({"y": np.ones((4, 2))}, DataError, r"got shape \(4, 2\)"),
        ({"order": 3}, ModelError, "order must be 0, 1 or 2, got 3"),
        ({"order": True}, ModelError, "order must be 0, 1 or 2, got True"),
        ({"order": "linear"}, ModelError, "order must be 0, 1 or 2, got 'linear'"),
        ({"positions": [0.0, 1.0, 1.0, 2.0]}, DataError, "positions must grow, got 1 and then 1"),
        ({"positions": [0.0, 1.0]}, DataError, r"4 values but positions has shape \(2,\)"),
        ({"weights": [1.0, -1.0, 1.0, 1.0]}, DataError, r"weights\[1\] is -1"),
        ({"weights": [1.0, 1.0, 0.0, 0.0]}, DataError, "2 weights are positive; order 1 needs"),
        ({"weights": [1.0]}, DataError, r"4 values but weights has shape \(1,\)"),
        ({"fraction": -0.1}, ModelError, "fraction must be at least 0"),
        ({"lam": np.inf}, ModelError, "lam must be finite, got inf"),
    ],
)
def test_bad_input_is_refused(given, error, says):
    with pytest.raises(error, match=says):
        TrendFilter(**({"y": [1.0, 3.0, 2.0, 4.0]} | given))


# ---------------------------------------------------------------------- ugly problems


def ugly(seed):
    """A short signal with something wrong with it."""
    rng = np.random.default_rng(seed)
    order = int(rng.integers(3))
    n = int(rng.integers(order + 2, 41))
    y = np.cumsum(rng.standard_normal(n))
    what = set(rng.choice(["integer", "flat", "spike", "scale", "far", "uneven"], 3).tolist())
    options = {"order": order}
    if "integer" in what:
        y = np.round(y)
    if "flat" in what:
        y[n // 3 :] = y[n // 3]
    if "spike" in what:
        y[rng.integers(n)] += 1e3
    if "far" in what:
        y += 1e4
    if "uneven" in what:
        options["positions"] = np.cumsum(10.0 ** rng.uniform(-2, 1, n))
    if "scale" in what:
        y = y * 10.0 ** rng.uniform(-6, 6)
        z = options.get("positions", np.arange(float(n)))
        options["positions"] = z * 10.0 ** rng.uniform(-6, 6)
    if rng.integers(3) == 0:
        weights = 10.0 ** rng.uniform(-3, 3, n) * (rng.random(n) < 0.8)
        if np.count_nonzero(weights) >= order + 2:
            options["weights"] = weights
    return y, options


def hostile(seeds):
    """How many problems were declined; none may end without a proof, or with a wrong answer."""
    declined = []
    for seed in seeds:
        y, options = ugly(seed)
        try:
            path = certified(TrendFilter(y, **options))
        except HomotopyError as error:
            declined.append((seed, str(error)))
            continue
        for lam in places(path, 8):
            assert offence(path, y, lam, **options) < 1e-9, (seed, lam)
    return declined


def test_ugly_signals_are_solved_or_declined():
    assert len(hostile(range(60))) <= 1


def test_large_bends_that_cancel_leave_no_polynomial_behind():
    y, options = ugly(146)
    model = TrendFilter(y, **options)
    path = certified(model)
    for lam in places(path, 8):
        bends = path.alpha(lam)
        knots = np.flatnonzero(bends)
        # The last bits of the bends; a polynomial left in x is ten times as much.
        offended = offence(path, y, lam, **options)
        assert offended < 1e-10
        if knots.size:
            bits = np.finfo(float).eps * np.abs(bends[knots]) @ np.abs(model.basis.rows(knots))
            assert offended * path.traced[0] <= 4 * bits.max() / model.unit


@pytest.mark.slow
def test_many_ugly_signals_are_solved_or_declined():
    assert len(hostile(range(300))) <= 6
