"""No plugin has a unit: scaled features, targets and costs scale the path and change no partition.

With scales that are powers of two every number of the scaled problem is the number of the other
one with another exponent: where the paths differ, some absolute size decides.  With powers of ten
every number is rounded anew, as when people change units: then the certificate must pass, and a
path without ties must still be the same to rounding.  Paths that are spoiled must be refused at
every scale.
"""

from __future__ import annotations

import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path as FilePath

import attrs
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from mutations import b_at_one_place, one_alpha, slopes_of, spoils

from homotopy import Homotopy, installed_plugins
from homotopy.registry import GROUP
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

ROOT = FilePath(__file__).resolve().parents[2]
# Tables with these seeds are full of ties: few values, repeated rows.
TIED = 100
# What rounding may change of a path without ties, in parts of the largest number of its kind.
ROUNDED = 1e-9


@attrs.frozen
class Units:
    """The scales of a problem, and what else varies: its seed and the machine of kernel models.

    Features have the scale a, targets and corners b.  With Q of scale q (a^2, or 1 for "rbf", whose
    gamma goes with the features) and corners of scale b, slopes (costs) have b / q; the corners of
    a classifier are at 1, so that there b is 1.  c is what is left free of the costs: the ratio
    of C to the weights of rows (of lam to those of coefficients), or the scale of rows of A.
    """

    seed: int
    a: float = 1.0
    b: float = 1.0
    c: float = 1.0
    kernel: str = "linear"
    intercept: bool = True

    @property
    def q(self) -> float:
        return self.a**2 if self.kernel == "linear" else 1.0

    def machine(self, n: int) -> dict[str, object]:
        """The options of a kernel model of n rows."""
        options = {"kernel": self.kernel, "sample_weight": np.full(n, 1.0 / self.c)}
        if self.kernel == "rbf":
            options["gamma"] = 0.5 / self.a**2
        return options | {"fit_intercept": self.intercept}


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


# Each takes units, and returns the model and the scales of its parameter and of its solution.
def hinge(path):
    def build(o):
        X, _, y = table(o.seed)
        # Where every margin is at 1 there is no path along s.
        cost = (2.0 if path == "theta" else 0.3) / o.q * o.c
        model = HingeRamp(o.a * X, y, C=cost, path=path, **o.machine(y.size))
        return model, 1.0, 1.0 / o.q

    return build


def ramp(kind, path, quadratic=False, **own):
    def build(o):
        X, f, _ = table(o.seed)
        # The slopes of a quadratic loss are its cost times a response.
        cost = 0.5 / o.q if quadratic else 0.5 * o.b / o.q
        options = {name: o.b * value for name, value in own.items()}
        if path == "theta":
            options["s"] = o.b * spread(f)
        options |= o.machine(f.size)
        model = kind(o.a * X, o.b * f, C=cost * o.c, path=path, **options)
        return model, 1.0 if path == "theta" else o.b, o.b / o.q

    return build


def pinball(o):
    X, f, _ = table(o.seed)
    options = {"C": 0.5 * o.b / o.q * o.c, "tau": 0.25, "s": o.b * spread(f)}
    return PinballRamp(o.a * X, o.b * f, **options, **o.machine(f.size)), 1.0, o.b / o.q


def svc(o):
    X, _, y = table(o.seed)
    cost = o.c / o.q
    model = SVMPath(o.a * X, y, C=(0.01 * cost, 4.0 * cost), **o.machine(y.size))
    return model, cost, 1.0 / o.q


def svr(o):
    X, f, _ = table(o.seed)
    cost = o.b / o.q * o.c
    options = {"C": (0.01 * cost, 4.0 * cost), "epsilon": 0.1 * o.b, **o.machine(f.size)}
    return SVMPath(o.a * X, o.b * f, kind="svr", **options), cost, o.b / o.q


# These two take any weights: nu is a part of their sum.
def nu_svc(o):
    X, _, y = table(o.seed)
    if o.seed < TIED:
        # Where classes overlap, from some nu on all of f is 0, and alpha anything.
        y = np.where(X.sum(axis=1) > 0.0, 1.0, -1.0)
    return NuSVCPath(o.a * X, y, **o.machine(y.size)), 1.0, 1.0 / o.c


def one_class(o):
    # (With the origin among the rows w = 0, and alpha is anything.)
    X = table(o.seed)[0] + 4.0
    return OneClassPath(o.a * X, **o.machine(len(X))), 1.0, 1.0 / o.c


def roc(o):
    X, _, y = table(o.seed)
    return ROCPath(o.a * X, y, C=o.c / o.q, **o.machine(y.size)), 1.0, 1.0 / o.q


def semi_supervised(o):
    (X, _, y), (more, _, _) = table(o.seed), table(o.seed + 1, 8)
    cost = o.c / o.q
    options = {"C": cost, "C_unlabelled": 0.5 * cost} | o.machine(len(X) + len(more))
    # The span is that of the costs of unlabelled rows.
    return SemiSupervisedSVM(o.a * X, y, o.a * more, **options), cost, 1.0 / o.q


def lasso(o):
    X, f, _ = table(o.seed)
    weights = np.full(X.shape[1], 1.0 / o.c)
    model = Lasso(o.a * X, o.b * f, fraction=0.01, weights=weights)
    return model, o.a * o.b * o.c, o.b / o.a


def elastic_net(o):
    X, f, _ = table(o.seed)
    # The weights of coefficients apply to the ridge as well.
    weights, ridge = np.full(X.shape[1], 1.0 / o.c), 0.5 * o.a**2 * o.c
    model = ElasticNet(o.a * X, o.b * f, ridge=ridge, fraction=0.01, weights=weights)
    return model, o.a * o.b * o.c, o.b / o.a


def concave(kind):
    def build(o):
        X, f, _ = table(o.seed)
        weights = np.full(X.shape[1], 1.0 / o.c)
        model = kind(o.a * X, o.b * f, standardize=True, fraction=0.01, weights=weights)
        return model, o.b * o.c, o.b / o.a

    return build


def capped(o):
    X, f, _ = table(o.seed)
    unit, weights = o.b / o.a, np.full(X.shape[1], 1.0 / o.c)
    return CappedL1(o.a * X, o.b * f, cap=0.1 * unit, weights=weights), unit, unit


def trend(o):
    f = table(o.seed, 24)[1]
    options = {"positions": o.a * np.arange(f.size), "weights": np.full(f.size, o.c)}
    return TrendFilter(o.b * f, fraction=0.01, **options), o.a * o.b * o.c, o.b


def frontier(o):
    X, f, _ = table(o.seed, 20, 6)
    # A budget and its bounds scale the weights.
    mean, unit = o.b * np.abs(f[:6]), o.a**2 * o.c / o.b
    return EfficientFrontier(mean, o.a**2 * np.cov(X.T), budget=o.c, upper=0.6 * o.c), unit, o.c


def parametric_qp(o):
    rng = np.random.default_rng(o.seed)
    A = rng.standard_normal((5, 5))
    H, g = A @ A.T + np.eye(5), (rng.standard_normal(5), rng.standard_normal(5))
    # x has the scale b / a^2 of g over H.
    unit, rows = o.b / o.a**2, rng.standard_normal((1, 5))
    options = {"lb": -0.3 * unit, "ub": 0.3 * unit, "A": o.c * rows, "ubA": 0.06 * unit * o.c}
    return ParametricQP(o.a**2 * H, (o.b * g[0], o.b * g[1]), **options), 1.0, unit


# Kernel machines, and those among them that are about their intercept.
MACHINES = {
    "hinge, theta": hinge("theta"),
    "hinge, s": hinge("s"),
    "LAD, theta": ramp(LADRamp, "theta"),
    "LAD, s": ramp(LADRamp, "s"),
    "epsilon, theta": ramp(EpsilonRamp, "theta", epsilon=0.2),
    "epsilon, s": ramp(EpsilonRamp, "s", epsilon=0.2),
    "Huber, theta": ramp(HuberRamp, "theta", quadratic=True, delta=0.4),
    "Huber, s": ramp(HuberRamp, "s", quadratic=True, delta=0.4),
    "pinball": pinball,
    "truncated, theta": ramp(TruncatedQuadratic, "theta", quadratic=True),
    "truncated, s": ramp(TruncatedQuadratic, "s", quadratic=True),
    "SVC path": svc,
    "SVR path": svr,
    "nu-SVC": nu_svc,
    "one class": one_class,
    "ROC": roc,
    "semi-supervised": semi_supervised,
}
BORDERED = ("nu-SVC", "one class")
BUILDERS = MACHINES | {
    "lasso": lasso,
    "elastic net": elastic_net,
    "MCP": concave(MCP),
    "SCAD": concave(SCAD),
    "capped l1": capped,
    "trend filter": trend,
    "frontier": frontier,
    "parametric QP": parametric_qp,
}
# Every problem once, and each kernel machine with and without an intercept and with both kernels.
CASES = [
    pytest.param(name, kernel, b, id=f"{name}, {kernel}, {'b' if b else 'no b'}")
    for name in BUILDERS
    for kernel in (("linear", "rbf") if name in MACHINES else ("linear",))
    for b in ((True, False) if name in MACHINES and name not in BORDERED else (True,))
]
every_case = pytest.mark.parametrize(("name", "kernel", "intercept"), CASES)


# ---------------------------------------------------------------------- nothing escapes


def test_every_registered_plugin_is_here():
    """A plugin that is added to pyproject.toml is added to `BUILDERS`."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    registered = project["entry-points"][GROUP]
    plugins = {EntryPoint(name, value, GROUP).load() for name, value in registered.items()}
    assert {type(build(Units(0))[0]) for build in BUILDERS.values()} == plugins
    assert set(registered) <= set(installed_plugins())


# ---------------------------------------------------------------------- the same path


def exponents(largest):
    """Of the scales a, b and c; the first example that is drawn has the largest."""
    one = st.integers(0, 2 * largest).map(lambda k: largest - k)
    return st.tuples(one, one, one)


def traced(name, units):
    """A path that is certified, and its scales."""
    model, *scales = BUILDERS[name](units)
    path = Homotopy(model).trace()
    certificate = path.certify()
    assert certificate.ok, f"{units}: {certificate}"
    return path, *scales


def both(name, seed, machine, base, powers):
    """The path of a plain problem, that of the scaled one, and the scales of the latter."""
    plain = Units(seed, *(1.0, 1.0, 1.0), *machine)
    scaled = Units(seed, *(float(base) ** k for k in powers), *machine)
    return traced(name, plain)[0], *traced(name, scaled)


def assert_no_unit_decides(*problem):
    """Units that do not round: the same pieces in the same order, ties among them."""
    plain, path, unit, _ = both(*problem)
    assert len(path.segments) == len(plain.segments)
    assert np.array_equal(path.segments.first_piece, plain.segments.first_piece)
    assert np.array_equal(path.segments.changed, plain.segments.changed)
    assert np.array_equal(path.segments.changed_to, plain.segments.changed_to)
    np.testing.assert_allclose(path.breakpoints / unit, plain.breakpoints, rtol=1e-11)


def long_segments(path):
    """Those longer than rounding: at the start of a span there may be ties in any data."""
    s, ends = path.segments, path.breakpoints[np.isfinite(path.breakpoints)]
    return np.flatnonzero(np.abs(s.stop - s.start) > ROUNDED * np.abs(ends).max())


def middles(path, segments):
    """Those that are finite, with their segments."""
    s = path.segments
    found = [(int(k), 0.5 * float(s.start[k] + s.stop[k])) for k in segments]
    return [(k, t) for k, t in found if np.isfinite(t)]


def is_free(path):
    """Whether b is free on a segment: a coordinate on a knot is at the end of it all along.

    The last two coordinates on knots come to their ends together, as alphas add up to 0.  Which of
    them leaves first is for rounding to say, and b then follows the other one.
    """
    for k, t in middles(path, long_segments(path)):
        s, slope = path.segments, path.problem.polylines.at(t).slope
        active = s.active[s.offset[k] : s.offset[k + 1]]
        away = np.abs(slope[active] - path.alpha(t)[active, None]).min(axis=1)
        if path.problem.border.shape[1] and np.any(away <= ROUNDED * slopes_of(path, t)[active]):
            return True
    return False


def assert_equal_to_rounding(plain, path, unit, size):
    """The same solutions, and the same partition and break-points where no tie lets rounding
    decide."""
    ours, theirs = long_segments(plain), long_segments(path)
    for _, t in middles(plain, ours):
        x, y = plain.solution(t), path.solution(t * unit) / size
        largest = max(np.abs(x).max(), slopes_of(plain, t).max())
        np.testing.assert_allclose(y, x, rtol=0.0, atol=ROUNDED * largest)
    s, other = plain.segments, path.segments
    pieces = [s.pieces(k).tolist() for k in ours]
    if pieces != [other.pieces(k).tolist() for k in theirs]:
        assert is_free(plain)
        return
    t = np.stack([s.start[ours], s.stop[ours]])
    found = np.stack([other.start[theirs], other.stop[theirs]]) / unit
    largest = np.abs(t[np.isfinite(t)]).max(initial=0.0)
    np.testing.assert_allclose(found, t, rtol=0.0, atol=ROUNDED * largest)


APART, OPPOSITE = (12, -12, 12), (-12, 12, 12)


@every_case
@settings(max_examples=2)
@given(seed=st.integers(0, 9), powers=exponents(40))
def test_scales_change_no_partition(name, kernel, intercept, seed, powers):
    assert_no_unit_decides(name, seed, (kernel, intercept), 2, powers)


@every_case
@settings(max_examples=2)
@given(seed=st.integers(TIED, TIED + 9), powers=exponents(40))
def test_scales_do_not_decide_who_is_first_of_a_tie(name, kernel, intercept, seed, powers):
    assert_no_unit_decides(name, seed, (kernel, intercept), 2, powers)


@every_case
@settings(max_examples=2)
@given(seed=st.integers(0, 9), powers=exponents(12))
@example(seed=1, powers=APART)
@example(seed=2, powers=OPPOSITE)
def test_decimal_scales_change_no_more_than_rounding(name, kernel, intercept, seed, powers):
    assert_equal_to_rounding(*both(name, seed, (kernel, intercept), 10, powers))


@every_case
@settings(max_examples=2)
@given(seed=st.integers(TIED, TIED + 9), powers=exponents(12))
def test_ties_that_rounding_breaks_are_proven_at_decimal_scales(
    name, kernel, intercept, seed, powers
):
    both(name, seed, (kernel, intercept), 10, powers)


@pytest.mark.slow
@every_case
@settings(max_examples=150)
@given(
    seed=st.integers(0, 99), tied=st.booleans(), base=st.sampled_from((2, 10)), powers=exponents(12)
)
def test_many_scales(name, kernel, intercept, seed, tied, base, powers):
    problem = name, seed + TIED * tied, (kernel, intercept), base, powers
    if base == 2:
        assert_no_unit_decides(*problem)
    elif tied:
        both(*problem)
    else:
        assert_equal_to_rounding(*both(*problem))


# ---------------------------------------------------------------------- wrong paths stay wrong


def off_by_a_millionth(path):
    """One alpha or b moved by 1e-6 of its scale."""
    return [bad for spoil in (one_alpha, b_at_one_place) for bad in spoil(path, 1e-6)]


def assert_spoilt_paths_are_refused(name, seed, machine, *powers):
    """What is not a path as good is refused with numbers near 1 and at every other scale."""
    plain, *_ = traced(name, Units(seed, 1.0, 1.0, 1.0, *machine))
    tried = off_by_a_millionth(plain)
    wrong = [spoils(plain, bad) >= 1e-7 for bad in tried]
    assert not [
        bad for bad, counts in zip(tried, wrong, strict=True) if counts and bad.certify().ok
    ]
    for scale in powers:
        path, *_ = traced(name, Units(seed, *(10.0**k for k in scale), *machine))
        for bad, counts in zip(off_by_a_millionth(path), wrong, strict=True):
            assert not (counts and bad.certify().ok), scale
    return sum(wrong)


@every_case
def test_paths_spoilt_by_a_millionth_are_refused_at_every_scale(name, kernel, intercept):
    scales = (12, 12, 12), (-12, -12, -12), APART
    assert assert_spoilt_paths_are_refused(name, 1, (kernel, intercept), *scales)


@pytest.mark.slow
@every_case
@settings(max_examples=40)
@given(seed=st.integers(0, 99), powers=exponents(12))
def test_spoilt_paths_are_refused_at_many_scales(name, kernel, intercept, seed, powers):
    assert_spoilt_paths_are_refused(name, seed, (kernel, intercept), powers)
