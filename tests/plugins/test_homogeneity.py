"""No plugin has a unit: scaled features, targets and costs scale the path and change no partition.

Scales are powers of two, so that every number of the scaled problem is the number of the other one
with another exponent: where the paths differ, some absolute size decides.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from homotopy import Homotopy
from homotopy_plugins import (
    MCP,
    SCAD,
    CappedL1,
    EfficientFrontier,
    ElasticNet,
    EpsilonRamp,
    HingeRamp,
    HuberRamp,
    LADRamp,
    Lasso,
    NuSVCPath,
    OneClassPath,
    ParametricQP,
    PinballRamp,
    ROCPath,
    SemiSupervisedSVM,
    SVMPath,
    TrendFilter,
    TruncatedQuadratic,
)

LINEAR = {"kernel": "linear", "fit_intercept": True}


# Tables with these seeds are full of ties: few values, repeated rows.
TIED = 100


def table(seed, n=16, d=3):
    rng = np.random.default_rng(seed)
    if seed >= TIED:
        X = rng.integers(0, 2, (n, d)).astype(float)
        f = np.round(2.0 * (X @ rng.standard_normal(d) + 0.5 * rng.standard_normal(n))) / 2.0
        return X, f, np.where(np.arange(n) % 2 == 1, 1.0, -1.0)
    X = rng.standard_normal((n, d))
    f = X @ rng.standard_normal(d) + 0.5 * rng.standard_normal(n)
    f[:3] += 4.0
    labels = np.where(f + 0.5 * rng.standard_normal(n) > 0.0, 1.0, -1.0)
    labels[:2] = [1.0, -1.0]
    return X, f, labels


def spread(f):
    return float(np.quantile(np.abs(f - np.median(f)), 0.8))


# Each takes a seed and the scales a of features and b of targets, and returns the model and the
# scale of its parameter.  With Q of scale a^2 and corners of scale b, slopes (costs) have b / a^2;
# the corners of a classifier are at 1, so that there b is 1.
def hinge(path):
    def build(seed, a, b):
        X, _, y = table(seed)
        return HingeRamp(a * X, y, C=2.0 / a**2, path=path, **LINEAR), 1.0

    return build


def ramp(kind, path, quadratic=False, **own):
    def build(seed, a, b):
        X, f, _ = table(seed)
        # The slopes of a quadratic loss are its cost times a response.
        cost = 0.5 / a**2 if quadratic else 0.5 * b / a**2
        options = {name: b * value for name, value in own.items()}
        if path == "theta":
            options["s"] = b * spread(f)
        model = kind(a * X, b * f, C=cost, path=path, **options, **LINEAR)
        return model, 1.0 if path == "theta" else b

    return build


def pinball(seed, a, b):
    X, f, _ = table(seed)
    options = {"C": 0.5 * b / a**2, "tau": 0.25, "s": b * spread(f)}
    return PinballRamp(a * X, b * f, **options, **LINEAR), 1.0


def truncated(path):
    def build(seed, a, b):
        X, f, _ = table(seed)
        options = {"s": b * spread(f)} if path == "theta" else {}
        model = TruncatedQuadratic(a * X, b * f, C=0.5 / a**2, path=path, **options, **LINEAR)
        return model, 1.0 if path == "theta" else b

    return build


def svc(seed, a, b):
    X, _, y = table(seed)
    return SVMPath(a * X, y, C=(0.01 / a**2, 4.0 / a**2), **LINEAR), a**-2


def svr(seed, a, b):
    X, f, _ = table(seed)
    cost = b / a**2
    span = (0.01 * cost, 4.0 * cost)
    return SVMPath(a * X, b * f, kind="svr", C=span, epsilon=0.1 * b, **LINEAR), cost


def nu_svc(seed, a, b):
    X, _, y = table(seed)
    return NuSVCPath(a * X, y, **LINEAR), 1.0


def one_class(seed, a, b):
    # (With the origin among the rows w = 0, and alpha is anything.)
    return OneClassPath(a * (table(seed)[0] + 4.0), kernel="linear"), 1.0


def roc(seed, a, b):
    X, _, y = table(seed)
    return ROCPath(a * X, y, C=1.0 / a**2, **LINEAR), 1.0


def semi_supervised(seed, a, b):
    (X, _, y), (more, _, _) = table(seed), table(seed + 1, 8)
    options = {"C": 1.0 / a**2, "C_unlabelled": 0.5 / a**2}
    # The span is that of the costs of unlabelled rows.
    return SemiSupervisedSVM(a * X, y, a * more, **options, **LINEAR), a**-2


def lasso(seed, a, b):
    X, f, _ = table(seed)
    return Lasso(a * X, b * f, fraction=0.01), a * b


def elastic_net(seed, a, b):
    X, f, _ = table(seed)
    return ElasticNet(a * X, b * f, ridge=0.5 * a**2, fraction=0.01), a * b


def concave(kind):
    def build(seed, a, b):
        X, f, _ = table(seed)
        return kind(a * X, b * f, standardize=True, fraction=0.01), b

    return build


def capped(seed, a, b):
    X, f, _ = table(seed)
    return CappedL1(a * X, b * f, cap=0.1 * b / a), b / a


def trend(seed, a, b):
    return TrendFilter(b * table(seed, 24)[1], fraction=0.01), b


def frontier(seed, a, b):
    X, f, _ = table(seed, 20, 6)
    mean = b * np.abs(f[:6])
    return EfficientFrontier(mean, a**2 * np.cov(X.T)), None


def parametric_qp(seed, a, b):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((5, 5))
    H, g = A @ A.T + np.eye(5), (rng.standard_normal(5), rng.standard_normal(5))
    # x has the scale b / a^2 of g over H.
    bound = 0.3 * b / a**2
    return ParametricQP(a**2 * H, (b * g[0], b * g[1]), lb=-bound, ub=bound), 1.0


BUILDERS = {
    "hinge, theta": hinge("theta"),
    "hinge, s": hinge("s"),
    "LAD, theta": ramp(LADRamp, "theta"),
    "LAD, s": ramp(LADRamp, "s"),
    "epsilon, theta": ramp(EpsilonRamp, "theta", epsilon=0.2),
    "epsilon, s": ramp(EpsilonRamp, "s", epsilon=0.2),
    "Huber, theta": ramp(HuberRamp, "theta", quadratic=True, delta=0.4),
    "Huber, s": ramp(HuberRamp, "s", quadratic=True, delta=0.4),
    "pinball": pinball,
    "truncated, theta": truncated("theta"),
    "truncated, s": truncated("s"),
    "SVC path": svc,
    "SVR path": svr,
    "nu-SVC": nu_svc,
    "one class": one_class,
    "ROC": roc,
    "semi-supervised": semi_supervised,
    "lasso": lasso,
    "elastic net": elastic_net,
    "MCP": concave(MCP),
    "SCAD": concave(SCAD),
    "capped l1": capped,
    "trend filter": trend,
    "frontier": frontier,
    "parametric QP": parametric_qp,
}
WIDE = st.integers(-40, 40)


def assert_no_unit_decides(name, seed, features, targets):
    build = BUILDERS[name]
    plain = Homotopy(build(seed, 1.0, 1.0)[0]).trace()
    model, unit = build(seed, 2.0**features, 2.0**targets)
    path = Homotopy(model).trace()
    assert plain.certify().ok
    assert path.certify().ok
    assert len(path.segments) == len(plain.segments)
    assert np.array_equal(path.segments.first_piece, plain.segments.first_piece)
    assert np.array_equal(path.segments.changed, plain.segments.changed)
    assert np.array_equal(path.segments.changed_to, plain.segments.changed_to)
    if unit is not None:
        np.testing.assert_allclose(path.breakpoints / unit, plain.breakpoints, rtol=1e-11)


@pytest.mark.parametrize("name", BUILDERS)
@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 9), features=WIDE, targets=WIDE)
def test_scales_change_no_partition(name, seed, features, targets):
    assert_no_unit_decides(name, seed, features, targets)


@pytest.mark.parametrize("name", BUILDERS)
@settings(max_examples=4, deadline=None)
@given(seed=st.integers(TIED, TIED + 9), features=WIDE, targets=WIDE)
def test_scales_do_not_decide_who_is_first_of_a_tie(name, seed, features, targets):
    assert_no_unit_decides(name, seed, features, targets)
