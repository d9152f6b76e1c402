"""No spoiled path passes: every mutation at every size, on toys of every shape.

`mutations.py` says what a size means and which mutations truly spoil a path.
"""

from __future__ import annotations

import numpy as np
import pytest
from mutations import NUMBERS, SHAPES, SIZES, STATED, spoiled
from problems import features, labels, targets
from toys import CPath, Frontier, Huber, Lasso, SemiSupervised, SquaredHinge, Step, Toy

from homotopy import Affine, Homotopy, Jump, Knot, LinearGram, LossModel, Path, Slope


def walls() -> LossModel:
    X = features(30, 6, 3)
    return Lasso(X, targets(X, 3), (30.0, 0.5))


def slanted() -> LossModel:
    X = features(25, 3, 0)
    return Huber(X, targets(X, 0), drift=np.cos(np.arange(25.0)), C=2.0, intercept=True)


def slanted_margin() -> LossModel:
    X = features(20, 3, 1)
    return SquaredHinge(X, labels(X, 1), 1.0, (0.5, 2.0))


def cost() -> LossModel:
    X = features(24, 3, 7)
    K = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=-1))
    return CPath(K, labels(X, 7), (1e-3, 1e2))


def portfolio() -> LossModel:
    X = features(40, 10, 4)
    return Frontier(X.T @ X / 40.0, np.linspace(0.1, 1.0, 10), 0.4, (0.0, 2.0))


def box(upper: object, n: int = 12) -> LossModel:
    """0 <= alpha <= upper, knots that move with t."""
    X = features(n, n + 3, 0)
    level = np.linspace(0.5, 2.0, n)
    return Toy(
        X @ X.T / n, (0.0, 1.0),
        lambda t: (Slope("full", upper), Knot("held", level * (1.0 + t)), Slope("none", 0.0)),
    )  # fmt: skip


def never_binding() -> LossModel:
    upper = np.full(12, 3.0)
    upper[4] = 1e12
    return box(upper)


def two_scales() -> LossModel:
    """Two blocks that have nothing to do with each other, one a billion times the other."""
    scale = np.array([1e9, 1e9, 1.0, 1.0])
    return Toy(
        np.kron(np.eye(2), [[1.0, 0.5], [0.5, 1.0]]), (0.0, 1.0),
        lambda t: (
            Slope("full", scale),
            Knot("held", scale * (0.5 + t * np.array([1.0, -0.2, 1.0, -0.2]))),
            Slope("none", 0.0),
        ),
    )  # fmt: skip


def several_borders() -> LossModel:
    X, rng = features(16, 4, 5), np.random.default_rng(5)
    y = targets(X, 5)
    border = np.stack([np.ones(16), rng.normal(size=16)], axis=1)
    return Toy(
        LinearGram(X), (0.0, 1.0),
        lambda t: (Slope("+", 1.0 + t), Knot("0", y), Slope("-", -1.0 - t)),
        border=border, target=Affine([0.2, 0.0], [0.1, -0.3]),
    )  # fmt: skip


def corner_at_infinity(where: str) -> LossModel:
    X = features(25, 3, 4)
    y = labels(X, 4)
    hinge = lambda t: (Slope("L", 1.0 + t), Knot("E", 1.0), Slope("R", 0.0))  # noqa: E731
    pieces = {
        "knot left": lambda t: (Slope("far", 3.0), Knot("K", -np.inf), *hinge(t)),
        "knot right": lambda t: (*hinge(t), Knot("K", np.inf), Slope("far", -1.0)),
        "jump left": lambda t: (Slope("far", 0.5), Jump(-np.inf), *hinge(t)),
        "jump right": lambda t: (*hinge(t), Jump(np.inf), Slope("far", 0.5)),
    }[where]
    model = Toy(LinearGram(X * y[:, None]), (0.0, 1.0), pieces, border=y[:, None])
    # An integral cannot start at the first knot where that is at infinity.
    model.loss_origin = lambda t: 1.0  # type: ignore[method-assign]
    return model


def jumping() -> LossModel:
    K = np.exp(-0.5 * ((features(14, 2, 8)[:, None] - features(14, 2, 8)[None]) ** 2).sum(-1))
    y = np.zeros(14)
    y[:4] = 1.0, -1.0, 1.0, -1.0
    return SemiSupervised(K, y, 1.0, 2.0)


TOYS = {
    "walls": walls,
    "slanted": slanted,
    "slanted margin": slanted_margin,
    "cost": cost,
    "portfolio": portfolio,
    "a bound that never binds": never_binding,
    "two scales": two_scales,
    "several borders": several_borders,
    "knot at -inf": lambda: corner_at_infinity("knot left"),
    "knot at inf": lambda: corner_at_infinity("knot right"),
    "jump at -inf": lambda: corner_at_infinity("jump left"),
    "jump at inf": lambda: corner_at_infinity("jump right"),
    "semi-supervised": jumping,
    "one step": lambda: Step([[1.0]], (0.5, 1.5), knot=2.0),
}
# Where a model is not convex at its start it is told where to begin.
STARTS = {"one step": [1.0]}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", list(TOYS))
def test_no_spoiled_toy_passes(name):
    path = Homotopy(TOYS[name]()).trace(start=STARTS.get(name))
    certificate = path.certify()
    assert certificate.ok, str(certificate)
    found = list(spoiled(path))
    missed = [(o.what, o.size, o.spoilt) for o in found if o.path.certify().ok]
    assert not missed
    # At every size, and most of the ways there are.
    assert {o.size for o in found} == set(SIZES)
    assert len({o.what for o in found}) >= 8


def test_there_are_twenty_ways():
    assert len(NUMBERS) + len(STATED) + len(SHAPES) >= 20


def test_a_sample_sees_what_is_wrong_everywhere():
    """Ten ways that spoil a path all along: 16 places are enough to see them."""
    path: Path = Homotopy(several_borders()).trace()
    assert path.certify(sample=16).ok
    everywhere = ("b_all_along", "every_alpha_scaled", "one_alpha_all_along", "two_rows_exchanged")
    found = [o for o in spoiled(path) if o.what in everywhere]
    assert len(found) >= 8
    assert not [o.what for o in found if o.path.certify(sample=16).ok]
