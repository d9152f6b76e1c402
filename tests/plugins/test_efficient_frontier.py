"""EfficientFrontier against cvxcla and DAQP."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import numpy.typing as npt
import pytest
import scipy.sparse as sp
from oracles import solve_qp

from homotopy import DataError, Homotopy, HomotopyError, ModelError
from homotopy.path import Path
from homotopy.testing import check_plugin
from homotopy_plugins import EfficientFrontier

Array = npt.NDArray[np.float64]
INF = np.inf


@attrs.frozen
class Market:
    mean: Array
    covariance: Array
    lower: float
    upper: float
    A: Array
    low: Array
    high: Array

    def model(self, **options: Any) -> EfficientFrontier:
        return EfficientFrontier(
            self.mean, self.covariance, lower=self.lower, upper=self.upper,
            A=self.A, lbA=self.low, ubA=self.high, **options,
        )  # fmt: skip

    def best(self, t: float) -> Array:
        """The weights at t by DAQP."""
        n = self.mean.size
        rows = np.vstack([np.eye(n), np.ones(n), self.A])
        low = np.concatenate([np.full(n, self.lower), [1.0], self.low])
        high = np.concatenate([np.full(n, self.upper), [1.0], self.high])
        return solve_qp(self.covariance, -t * self.mean, rows, low, high)

    def outside(self, weights: Array) -> float:
        """By how much weights break a bound."""
        sums = self.A @ weights
        off = [self.lower - weights, weights - self.upper, self.low - sums, sums - self.high]
        return max(abs(weights.sum() - 1.0), *(float(v.max(initial=0.0)) for v in off))


def random_market(seed: int, n: int, groups: int = 0, upper: float = 1.0) -> Market:
    rng = np.random.default_rng(seed)
    returns = rng.normal(size=(3 * n + 2, n)) @ (np.eye(n) + 0.1 * rng.normal(size=(n, n)))
    covariance = np.cov(returns.T).reshape(n, n)
    A = (rng.random((groups, n)) < 0.3).astype(float)
    low, high = np.full(groups, -INF), np.full(groups, 0.5)
    return Market(rng.uniform(0.0, 0.3, n), covariance, 0.0, upper, A, low, high)


def proven(model: EfficientFrontier) -> Path:
    path = Homotopy(model).trace()
    assert path.complete
    certificate = path.certify()
    assert certificate.ok, str(certificate)
    return path


def along(path: Path, count: int = 50) -> Array:
    """Values all over the path, most of them near 0."""
    return path.span[0] * np.linspace(0.0, 1.0, count) ** 4


# ---------------------------------------------------------------------- peers


@pytest.mark.parametrize(
    ("n", "groups", "upper"), [(10, 0, 1.0), (40, 0, 0.2), (40, 3, 0.5), (100, 5, 0.1)]
)
def test_turning_points_are_those_of_cvxcla(n: int, groups: int, upper: float) -> None:
    cvxcla = pytest.importorskip("cvxcla", reason="cvxcla is an extra of the benchmarks")
    market = random_market(n + groups, n, groups, upper)
    model = market.model()
    path = proven(model)
    ours, weights = model.turning_points(path)
    cla = cvxcla.CLA(
        mean=market.mean, covariance=market.covariance,
        lower_bounds=np.zeros(n), upper_bounds=np.full(n, upper),
        a=np.ones((1, n)), b=np.ones(1),
        **({"g": market.A, "h": market.high} if groups else {}),
    )  # fmt: skip
    theirs = np.array([point.lamb for point in cla.turning_points])
    portfolios = np.array([point.weights for point in cla.turning_points])
    # Theirs begin where nothing has moved yet.
    still = theirs > ours[0] * (1.0 + 1e-9)
    assert np.abs(portfolios[still] - weights[0]).max(initial=0.0) <= 1e-9
    apart = np.abs(ours[:, None] - theirs[~still]) / np.maximum(ours[:, None], 1.0)
    assert apart.min(axis=1).max() <= 1e-8
    assert apart.min(axis=0).max() <= 1e-8
    assert np.abs(path.solution(theirs[~still]) - portfolios[~still]).max() <= 1e-9


@pytest.mark.parametrize(("n", "groups"), [(1, 0), (2, 0), (15, 0), (25, 4)])
def test_agrees_with_daqp(n: int, groups: int) -> None:
    market = random_market(n, n, groups, upper=1.0 if n < 10 else 0.3)
    path = proven(market.model())
    for t in along(path):
        weights = path.solution(t)
        assert np.abs(weights - market.best(t)).max() <= 1e-8
        value = 0.5 * weights @ market.covariance @ weights - t * market.mean @ weights
        assert path.objective(t) == pytest.approx(value, rel=1e-10, abs=1e-12)


@pytest.mark.parametrize("groups", [0, 4])
def test_keeps_the_contract_of_a_plugin(groups: int) -> None:
    check_plugin(random_market(3, 12, groups, upper=0.4).model())


def test_two_assets_by_hand() -> None:
    """Variances 1 and 2, means 0 and 1: w_2 = (1 + t) / 3, up to 1 at t = 2."""
    model = EfficientFrontier([0.0, 1.0], np.diag([1.0, 2.0]))
    path = proven(model)
    t, weights = model.turning_points(path)
    assert t == pytest.approx([2.0, 0.0])
    assert weights == pytest.approx(np.array([[0.0, 1.0], [2.0 / 3.0, 1.0 / 3.0]]))
    risk, gain = model.risk_and_return(path, [2.0, 0.5])
    assert gain == pytest.approx([1.0, 0.5])
    assert risk == pytest.approx([np.sqrt(2.0), np.sqrt(0.75)])


def test_groups_are_rows() -> None:
    market = random_market(1, 12)
    groups = [([0, 1, 2, 3], 0.1, 0.3), (np.arange(12) % 2 == 0, 0.0, 0.6), ([5], 0.05, 0.05)]
    by_groups = EfficientFrontier(market.mean, market.covariance, groups=groups)
    rows = np.zeros((3, 12))
    rows[0, :4], rows[1, ::2], rows[2, 5] = 1.0, 1.0, 1.0
    low, high = [0.1, 0.0, 0.05], [0.3, 0.6, 0.05]
    table = sp.csr_matrix(rows)
    by_rows = EfficientFrontier(market.mean, market.covariance, A=table, lbA=low, ubA=high)
    one, two = proven(by_groups), proven(by_rows)
    assert np.array_equal(one.breakpoints, two.breakpoints)
    weights = one.solution(along(one))
    assert np.all(weights[:, :4].sum(axis=1) <= 0.3 + 1e-12)
    assert weights[:, 5] == pytest.approx(np.full(50, 0.05))


def test_several_equations_one_of_them_twice() -> None:
    market = random_market(6, 15)
    A = np.zeros((3, 15))
    A[0, :5], A[1, 5:10], A[2, :5] = 1.0, 1.0, 2.0
    fixed = np.array([0.3, 0.3, 0.6])
    market = attrs.evolve(market, A=A, low=fixed, high=fixed)
    path = proven(market.model())
    for t in along(path, 10):
        assert market.outside(path.solution(t)) <= 1e-12
        assert np.abs(path.solution(t) - market.best(t)).max() <= 1e-8


def test_tied_means_duplicate_assets_and_overlapping_caps_at_240() -> None:
    rng = np.random.default_rng(0)
    n = 240
    returns = 0.2 * rng.normal(size=(120, n))
    mean = np.round(rng.uniform(0.0, 0.3, n), 1)
    returns[:, 200:], mean[200:] = returns[:, :40], mean[:40]
    A = (rng.random((12, n)) < 0.4).astype(float)
    A[6:9] = A[:3]
    market = Market(
        mean, np.cov(returns.T), 0.0, 0.05, A, np.full(12, -INF), np.full(12, 0.45)
    )  # fmt: skip
    model = market.model()
    path = proven(model)
    for t in along(path, 8):
        weights = path.solution(t)
        assert market.outside(weights) <= 1e-10
        value = 0.5 * weights @ market.covariance @ weights - t * mean @ weights
        theirs = market.best(t)
        other = 0.5 * theirs @ market.covariance @ theirs - t * mean @ theirs
        assert value <= other + 1e-6 * (abs(other) + abs(t) * np.abs(mean).max())


def test_equal_means_are_a_single_portfolio() -> None:
    market = random_market(2, 9)
    model = EfficientFrontier(np.full(9, 0.1), market.covariance)
    path = proven(model)
    assert np.abs(path.solution(path.span[0]) - path.solution(0.0)).max() <= 1e-12
    assert model.turning_points(path)[0].tolist() == [0.0]


@pytest.mark.parametrize("diagonal", [[0, 1, 2, 1, 0], [0] * 10, [1] * 10, [0, 1, 2, 1] * 3])
def test_without_any_return_there_is_the_least_variance(diagonal: list[float]) -> None:
    n = len(diagonal)
    groups = [(range(n // 2), None, 0.6), (range(n // 3, n), 0.1, None)]
    model = EfficientFrontier(np.zeros(n), np.diag(diagonal), groups=groups)
    path = Homotopy(model).trace()
    assert path.certify().ok
    for t in np.linspace(0.0, model.span[0], 5):
        w = path.solution(t)
        assert w.sum() == pytest.approx(1.0, abs=1e-14)
        assert path.objective(t) == pytest.approx(0.5 * w @ np.diag(diagonal) @ w, abs=1e-14)
    # All is in assets without variance, or in all assets alike.
    if 0 in diagonal:
        assert path.objective(0.0) == pytest.approx(0.0, abs=1e-14)
    else:
        assert w == pytest.approx(np.full(n, 1.0 / n), abs=1e-12)


def test_a_limit_of_the_risk_tolerance_may_be_given() -> None:
    market = random_market(4, 8)
    whole, part = proven(market.model()), proven(market.model(most=0.5))
    assert part.span == (0.5, 0.0)
    t = np.linspace(0.0, 0.5, 9)
    assert np.abs(whole.solution(t) - part.solution(t)).max() <= 1e-10
    loose = EfficientFrontier(market.mean, market.covariance, lower=-INF, upper=INF, most=2.0)
    assert proven(loose).solution(1.0).sum() == pytest.approx(1.0)


def test_the_end_of_largest_return_is_that_of_a_linear_program_by_hand() -> None:
    """With weights up to a half it is half of each of the two best, whatever the unit."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        market = attrs.evolve(
            random_market(seed, 6, upper=0.5),
            covariance=np.cov(0.01 * rng.standard_normal((6, 60))),
            mean=rng.standard_normal(6),
        )
        for factor in 2.0 ** np.array([-40, -26, -20, 0, 40]):
            model = attrs.evolve(market, mean=factor * market.mean).model()
            weights = proven(model).solution(model.span[0])
            assert set(np.flatnonzero(weights > 1e-9)) == set(np.argsort(market.mean)[-2:])


@pytest.mark.parametrize(("n", "groups", "upper"), [(6, 0, 0.5), (20, 3, 0.3)])
def test_the_unit_of_the_returns_changes_nothing(n: int, groups: int, upper: float) -> None:
    for seed in range(4):
        market = random_market(seed, n, groups, upper)
        one = proven(market.model())
        for factor in 2.0 ** np.array([-40, -33, -27, -24, -20, -7, 7, 20, 40]):
            scaled = proven(attrs.evolve(market, mean=factor * market.mean).model())
            assert scaled.span[0] * factor == pytest.approx(one.span[0], rel=1e-12)
            assert scaled.breakpoints.size == one.breakpoints.size
            t = along(one)
            assert np.abs(scaled.solution(t / factor) - one.solution(t)).max() <= 1e-12


def test_the_unit_of_the_budget_changes_nothing() -> None:
    for seed in range(4):
        market = random_market(seed, 12, 2, 0.4)
        one = proven(market.model())
        t = along(one)
        for factor in 2.0 ** np.array([-30, -20, 20, 30]):
            model = EfficientFrontier(
                market.mean, market.covariance, upper=0.4 * factor,
                A=market.A, ubA=factor * market.high, budget=factor,
            )  # fmt: skip
            path = proven(model)
            # A risk tolerance is in units of the weights.
            assert path.span[0] == pytest.approx(factor * one.span[0], rel=1e-12)
            assert path.breakpoints.size == one.breakpoints.size
            assert np.abs(path.solution(t * factor) / factor - one.solution(t)).max() <= 1e-12


@pytest.mark.parametrize("budget", [0.0, 1e-17, -1e-12, 1e-3])
def test_a_budget_that_is_nothing_beside_what_is_sold_short(budget: float) -> None:
    """The best is bought and the worst is sold, as far as the bounds go."""
    market = random_market(2, 4)
    model = EfficientFrontier(market.mean, market.covariance, lower=-1.0, budget=budget)
    weights = proven(model).solution(model.span[0])
    order = np.argsort(market.mean)
    assert weights[order] == pytest.approx([-1.0, -1.0, 1.0, 1.0], abs=2e-3)
    least = EfficientFrontier([0.0, 1.0], np.eye(2), lower=-INF, upper=0.0, budget=-2.0, most=1.0)
    assert proven(least).solution(1.0) == pytest.approx([-1.5, -0.5])


def test_a_return_that_all_assets_have_changes_nothing() -> None:
    for seed in range(4):
        market = random_market(seed, 12, 2, 0.4)
        market = attrs.evolve(market, mean=np.round(market.mean * 2.0**20) / 2.0**20)
        one = market.model()
        same = attrs.evolve(market, mean=market.mean + 256.0).model()
        assert same.span == one.span


# ---------------------------------------------------------------------- bad input

S2 = np.eye(2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"mean": []}, r"mean must be one number per asset, got shape \(0,\)"),
        ({"mean": [0.1, np.nan]}, r"mean\[1\] is nan"),
        ({"mean": ["a", "b"]}, "mean must be numbers"),
        ({"covariance": np.eye(3)}, "covariance must be 2 x 2"),
        ({"covariance": [[1.0, 2.0], [0.0, 1.0]]}, "covariance is not symmetric"),
        ({"covariance": [[1.0, 0.0], [0.0, -1.0]]}, "not positive semidefinite"),
        ({"covariance": [[1.0, np.inf], [0.0, 1.0]]}, r"covariance\[0, 1\] is inf"),
        ({"covariance": [1.0, 1.0]}, "covariance must be two-dimensional"),
        ({"upper": [0.5, 0.5, 0.5]}, r"upper must be 2 numbers \(or one\), got shape \(3,\)"),
        ({"lower": np.nan}, r"lower\[0\] is nan"),
        ({"lower": 0.8, "upper": 0.2}, "asset 0 must be at least 0.8 and at most 0.2"),
        ({"upper": 0.3}, "no portfolio keeps all bounds"),
        ({"lower": -INF, "upper": INF}, "the return is unbounded; .* `most`"),
        ({"A": np.ones((1, 3))}, "A must have 2 columns"),
        ({"A": np.ones((1, 2)), "lbA": 2.0, "ubA": 1.0}, "row 0 must be at least 2"),
        ({"groups": [([0, 2], 0.0, 0.5)]}, "indices from 0 to 1"),
        ({"groups": [("all", 0.0, 0.5)]}, "indices from 0 to 1"),
        ({"budget": np.inf}, r"budget\[0\] is inf"),
        ({"most": -1.0}, "most must be positive and finite, got -1.0"),
        ({"most": "all"}, "most must be a number"),
    ],
)
def test_bad_input_is_refused_in_words(arguments: dict[str, Any], message: str) -> None:
    given = {"mean": [0.1, 0.2], "covariance": S2, **arguments}
    with pytest.raises(ModelError, match=message):
        EfficientFrontier(given.pop("mean"), given.pop("covariance"), **given)


def test_data_errors_are_data_errors() -> None:
    with pytest.raises(DataError):
        EfficientFrontier([0.1, 0.2], np.eye(3))


# ---------------------------------------------------------------------- hostile


def ugly(seed: int) -> Market:
    """Some portfolio keeps all bounds; means tied, assets repeated or without risk, few samples,
    covariances of any size, groups that overlap, bind and fix."""
    rng = np.random.default_rng(seed)

    def chance(p: float) -> bool:
        return bool(rng.random() < p)

    n = int(rng.integers(1, 41))
    samples = int(rng.choice([max(2, n // 2), 2 * n + 2, 500]))
    returns = 0.2 * rng.normal(size=(samples, n)) @ (np.eye(n) + 0.3 * rng.normal(size=(n, n)))
    mean = rng.uniform(0.0, 0.3, n)
    if chance(0.4):
        returns = np.round(returns, 1)
    if chance(0.4):
        mean = np.round(mean, 1)
    if chance(0.5):
        to, of = rng.integers(n, size=(2, n // 3))
        returns[:, to], mean[to] = returns[:, of], mean[of]
    if chance(0.2):
        returns[:, 0] = 0.0
    covariance = np.cov(returns.T).reshape(n, n)
    if chance(0.3):
        covariance = covariance * 10.0 ** rng.uniform(-6, 6)
    if chance(0.2):
        mean = mean * 10.0 ** rng.uniform(-6, 6)
    weights = rng.dirichlet(np.ones(n))
    rows = int(rng.choice([0, 0, 1, 3, 8]))
    A = (rng.random((rows, n)) < 0.4).astype(float)
    sums = A @ weights
    low = np.where(rng.random(rows) < 0.3, 0.8 * sums, -INF)
    high = np.where(rng.random(rows) < 0.7, sums + 0.5 * (1.0 - sums) * rng.random(rows), INF)
    fixed = rng.random(rows) < 0.15
    low[fixed] = high[fixed] = sums[fixed]
    upper = float(rng.choice([1.0, INF, max(weights.max(), 1.5 / n)]))
    return Market(mean, covariance, float(rng.choice([0.0, 0.0, -0.2])), upper, A, low, high)


def hostile(seeds: range) -> tuple[list[str], list[str]]:
    declined, wrong = [], []
    for seed in seeds:
        market = ugly(seed)
        try:
            path = Homotopy(market.model()).trace()
        except HomotopyError as error:
            declined.append(f"{seed}: {error}")
            continue
        off = max(gap(market, path, t) for t in along(path, 6))
        if not (path.complete and path.certify().ok and off <= 1e-7):
            wrong.append(f"{seed}: certified {path.certify().ok}, off by {off:.2g}")
    return declined, wrong


def gap(market: Market, path: Path, t: float) -> float:
    """How far the weights at t are from being optimal: broken bounds, and what the best direction
    to a portfolio (a linear program) would gain, in parts of the terms of the objective."""
    weights = path.solution(t)
    slope = market.covariance @ weights - t * market.mean
    # An asset without risk has a covariance of rounding: that of the largest entry.
    size = np.abs(market.covariance).max() * np.abs(weights).sum() + t * np.abs(market.mean).max()
    far = attrs.evolve(market, mean=-slope)
    best = far.model(most=1.0)._largest_return().x
    return max(market.outside(weights), float(slope @ (weights - best)) / (float(size) or 1.0))


def test_forty_ugly_markets() -> None:
    declined, wrong = hostile(range(1000, 1040))
    assert not wrong, wrong
    assert len(declined) <= 1, declined


@pytest.mark.slow
def test_three_hundred_ugly_markets() -> None:
    declined, wrong = hostile(range(300))
    assert not wrong, wrong
    assert len(declined) <= 6, declined


@pytest.mark.parametrize("budget", [1e-12, 1e-6, 1e6, 1e12])
def test_a_budget_is_no_part_of_what_counts_as_the_largest_return(budget):
    """Returns are compared in units of means and of weights: parts, or cents of a billion."""
    rng = np.random.default_rng(249)
    n = int(rng.integers(4, 9))
    A = rng.standard_normal((n, n))
    mean, rows = rng.random(n), rng.standard_normal((2, n))

    def turning_points(budget):
        bounds = {"upper": 0.5 * budget, "A": rows, "ubA": 0.4 * budget}
        model = EfficientFrontier(mean, A @ A.T, budget=budget, **bounds)
        t, weights = model.turning_points(Homotopy(model).trace())
        return t / budget, weights / budget

    for found, right in zip(turning_points(budget), turning_points(1.0), strict=True):
        np.testing.assert_allclose(found, right, rtol=1e-7, atol=1e-9)
