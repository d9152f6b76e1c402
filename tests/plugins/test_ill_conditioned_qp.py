"""Programs whose H has eigenvalues from 1e-8 to 1e8: x keeps the bounds that the user stated.

The check uses the program as drawn and `Path.solution` alone, in arithmetic of its own.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt
import pytest

from homotopy import DataError, Homotopy, LossModel, TraceError
from homotopy.path import Path
from homotopy_plugins import ParametricQP
from homotopy_plugins.programs import is_definite, places
from homotopy_plugins.programs.exact import FEW
from homotopy_plugins.programs.places import FAR

Array = npt.NDArray[np.float64]
PLACES = np.linspace(0.0, 1.0, 20)
# One that was passed while x was off its bounds by 2e-4 of them.
OFF = 164


@attrs.frozen
class Program:
    """Vectors at t = 0 and t = 1; bounds of x first, then of A x."""

    H: Array
    g: Array
    A: Array
    low: Array
    high: Array

    @classmethod
    def draw(cls, seed: int) -> Program:
        rng = np.random.default_rng(seed)
        n, m = int(rng.integers(2, 9)), int(rng.integers(0, 7))
        turn = np.linalg.qr(rng.normal(size=(n, n)))[0]
        H = (turn * 10.0 ** rng.uniform(-8, 8, size=n)) @ turn.T
        A = rng.normal(size=(m, n))
        if m and rng.random() < 0.3:
            A = np.round(A)
        inside = rng.normal(size=(2, n))
        value = inside @ np.vstack([np.eye(n), A]).T
        low = value - rng.uniform(0.05, 1.0, value.shape)
        high = value + rng.uniform(0.05, 1.0, value.shape)
        kind = int(rng.integers(0, 3))
        if kind == 1:
            low[1], high[1] = low[0], high[0]
        low[:, rng.random(n + m) < 0.3] = -np.inf
        high[:, rng.random(n + m) < 0.3] = np.inf
        if m and rng.random() < 0.4:
            k = n + int(rng.integers(m))
            low[:, k] = high[:, k] = value[0, k] if kind == 1 else value[:, k]
        g = 10.0 ** rng.uniform(-2, 3) * rng.normal(size=(2, n))
        if kind == 2:
            g = -(inside * rng.uniform(0.5, 3.0)) @ H
        return cls((H + H.T) / 2.0, g, A, low, high)

    def model(self) -> ParametricQP:
        n = len(self.H)
        (lb, lbA), (ub, ubA) = (np.split(v, [n], axis=1) for v in (self.low, self.high))
        return ParametricQP(
            self.H, tuple(self.g), A=self.A, lb=tuple(lb), ub=tuple(ub), lbA=tuple(lbA),
            ubA=tuple(ubA),
        )  # fmt: skip

    def wrong(self, path: Path, t: float) -> float:
        """The worst of feasibility, stationarity, complementarity, each in parts of its terms."""
        model: Any = path.model
        g = (1.0 - t) * self.g[0] + t * self.g[1]
        # (Bounds that are infinite do not move.)
        with np.errstate(invalid="ignore"):
            low, high = ((1.0 - t) * v[0] + t * v[1] for v in (self.low, self.high))
        low, high = (
            np.where(np.isnan(at), v[0], at) for at, v in ((low, self.low), (high, self.high))
        )
        x, y = path.solution(t), model.multipliers(path, t)
        rows = np.vstack([np.eye(len(x)), self.A])
        value = rows @ x
        size = np.abs(rows) @ np.abs(x)
        for bound in (low, high):
            size = np.maximum(size, np.where(np.isfinite(bound), np.abs(bound), 0.0))
        # (A row of zeros without a bound has no terms.)
        size = np.maximum(size, np.finfo(float).tiny)
        outside = np.maximum(np.maximum(low - value, value - high), 0.0) / size
        forces = np.abs(self.H) @ np.abs(x) + np.abs(g) + np.abs(rows.T) @ np.abs(y)
        left = np.abs(self.H @ x + g - rows.T @ y) / forces
        away = np.where(y > 0.0, value - low, np.where(y < 0.0, high - value, 0.0))
        idle = np.minimum(np.abs(away) / size, np.abs(y) / forces.max())
        return float(max(outside.max(), left.max(), idle.max()))


def outcome(seed: int) -> tuple[bool, float]:
    """Whether there is a certified path, and how wrong it is."""
    program = Program.draw(seed)
    try:
        path = Homotopy(program.model()).trace()
    except TraceError:
        return False, 0.0
    assert path.certify().ok
    return True, max(program.wrong(path, t) for t in PLACES.tolist())


@pytest.mark.parametrize(
    "seeds", [range(130, 190), pytest.param(range(400), marks=pytest.mark.slow)]
)
def test_no_wrong_path_is_certified(seeds: range) -> None:
    found = [outcome(seed) for seed in seeds]
    assert [(s, off) for s, (_, off) in zip(seeds, found, strict=True) if off > 3e-8] == []
    # Declining all of them would be no feat.
    assert sum(ok for ok, _ in found) >= 0.95 * len(seeds)


def test_without_far_directions_the_stated_program_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    """x read off the multipliers alone leaves its bounds, and only the stated program shows it."""
    monkeypatch.setattr(places, "FAR", np.inf)
    program = Program.draw(OFF)
    with pytest.raises(TraceError):
        Homotopy(program.model()).trace()
    monkeypatch.setattr(ParametricQP, "residuals", LossModel.residuals)
    path = Homotopy(program.model()).trace()
    assert path.certify().ok
    assert max(program.wrong(path, t) for t in PLACES.tolist()) > 1e-6
    monkeypatch.undo()
    certificate = path.certify()
    failed = {check.name for check in certificate.checks if not check.ok}
    assert failed == {"feasibility", "complementarity"}
    assert not path.certify(sample=4).ok
    assert not path.certify(at=0.5).ok


@pytest.mark.parametrize("size", [1e-6, 1e-3])
@pytest.mark.parametrize("seed", [OFF, 0, 3])
def test_a_spoiled_b_or_alpha_leaves_the_stated_program(seed: int, size: float) -> None:
    path = Homotopy(Program.draw(seed).model()).trace()
    s = path.segments
    checks = {"feasibility", "stationarity", "complementarity"}
    assert checks <= {check.name for check in path.certify().checks}
    for name in ("b_start", "alpha_start"):
        bad = attrs.evolve(
            path, segments=attrs.evolve(s, **{name: (1.0 + size) * getattr(s, name)})
        )
        failed = {check.name for check in bad.certify().checks if not check.ok}
        # (Some alphas are so small beside Hx that no force is missed.)
        assert failed & checks if name == "b_start" else failed


def test_far_directions_are_kept_along_a_sequence() -> None:
    program = Program.draw(OFF)
    n = len(program.H)
    stops = [
        {"g": program.g[k], "lb": program.low[k, :n], "ub": program.high[k, :n]} for k in (0, 1, 0)
    ]
    paths = list(ParametricQP.sequence(program.H, stops))
    first, last = paths[0].solution(0.0), paths[-1].solution(1.0)
    assert first == pytest.approx(last, rel=1e-9)
    assert max(program.wrong(paths[0], t) for t in PLACES.tolist()) <= 1e-9


@pytest.mark.parametrize("tiny", [1e-3, 1e-6, 1e-10])
def test_a_form_that_hardly_bends(tiny: float) -> None:
    """H alone would take x 1/tiny away: nearly a linear program.  Up to `FAR` x is a difference of
    numbers this much larger, and beyond it is right to the last digit."""
    rng = np.random.default_rng(1)
    A = rng.normal(size=(6, 4))
    start, stop = rng.normal(size=(2, 4))
    model = ParametricQP(tiny * np.eye(4), (start, stop), A=A, lb=0.0, ub=1.0, ubA=1.0)
    path = Homotopy(model).trace()
    assert path.certify().ok
    slack = 1e-14 if 1.0 / tiny > FAR else 8.0 * np.finfo(float).eps / tiny
    for t in PLACES.tolist():
        x = path.solution(t)
        assert x.min() >= -slack
        assert x.max() <= 1.0 + slack
        assert (A @ x).max() <= 1.0 + slack


# ---------------------------------------------------------------------- forces that dwarf Hx


def separable_error(curves: Array, g: Array, low: Array, high: Array) -> float:
    """How far the path of a box program with diagonal H is from clip(-g / H), in widths of the box,
    beyond what the rounding of g(t) explains."""
    path = Homotopy(ParametricQP(np.diag(curves), tuple(g), lb=low, ub=high)).trace()
    assert path.certify().ok
    worst = 0.0
    for t in [*PLACES.tolist(), *path.breakpoints.tolist()]:
        force, rounding = (1.0 - t) * g[0] + t * g[1], 1e-14 * np.abs(g).max(axis=0)
        ends = [np.clip(-(force + off) / curves, low, high) for off in (rounding, -rounding)]
        x = path.solution(t)
        off = np.maximum(np.maximum(ends[0] - x, x - ends[1]), 0.0)
        worst = max(worst, float((off / (high - low)).max()))
    return worst


@pytest.mark.parametrize("force", [2e6, 1e7, 1e9, 1e11, 1e13])
def test_forces_that_dwarf_the_curvatures(force: float) -> None:
    """Directions that only a hardly bent piece supports keep that support, however small it is
    beside that of a bound: x moves through its box within a tiny part of the span."""
    g = force * np.array([[-1.0, 0.0], [-2.0, 2.0]])
    low, high = np.array([0.0, -0.2]), np.array([3.0, 3.0])
    assert separable_error(np.array([1e-6, 1.0]), g, low, high) <= 1e-12


@pytest.mark.parametrize(
    ("curves", "force"), [((1.0, 1e-6), 1e6), ((1.0, 1e-6), 1e7), ((1.0, 1e-4), 1e7)]
)
def test_boxes_with_curvatures_small_beside_the_forces(
    curves: tuple[float, ...], force: float
) -> None:
    rng = np.random.default_rng(0)
    for _ in range(30):
        H, g = rng.choice(curves, 6), force * rng.normal(size=(2, 6))
        low, high = -rng.random(6), rng.random(6)
        assert separable_error(H, g, low, high) <= 1e-12


# ---------------------------------------------------------------------- curvature or none


def conditioned(seed: int, decades: float, n: int = 8) -> tuple[Array, Array]:
    """H with eigenvalues from 10^-decades to 10^decades, and g at both ends."""
    rng = np.random.default_rng([seed, 9])
    turn = np.linalg.qr(rng.normal(size=(n, n)))[0]
    H = (turn * 10.0 ** np.linspace(-decades, decades, n)) @ turn.T
    return 0.5 * (H + H.T), rng.normal(size=(2, n))


@pytest.mark.parametrize("seed", range(8))
def test_a_definite_form_of_condition_1e13_has_an_optimum(seed: int) -> None:
    H, g = conditioned(seed, 6.5)
    assert is_definite(H)
    path = Homotopy(ParametricQP(H, tuple(g))).trace()
    assert path.certify().ok
    for t in (0.0, 0.5, 1.0):
        x, force = path.solution(t), (1.0 - t) * g[0] + t * g[1]
        left = [
            abs(sum(Fraction(a) * Fraction(b) for a, b in zip(row, x, strict=True)) + Fraction(f))
            for row, f in zip(H.tolist(), force.tolist(), strict=True)
        ]
        terms = np.abs(H) @ np.abs(x) + np.abs(force)
        assert max(np.array([float(v) for v in left]) / terms) <= 1e-13


@pytest.mark.parametrize("seed", range(4))
def test_a_curvature_lost_in_rounding_is_not_called_none(seed: int) -> None:
    H, g = conditioned(seed, 7.5)
    assert is_definite(H)
    with pytest.raises(
        DataError, match=r"cannot be told from none in 16 digits \(x\[\d\] moves most"
    ):
        ParametricQP(H, tuple(g))
    path = Homotopy(ParametricQP(H, tuple(g), lb=-1.0, ub=1.0)).trace()
    assert path.certify().ok


@pytest.mark.parametrize("n", [2, 5, 12, 40])
def test_a_form_without_curvature_somewhere_is_still_flat_there(n: int) -> None:
    rng = np.random.default_rng(n)
    F = rng.integers(-3, 4, size=(n - 1, n)).astype(float)
    H = F.T @ F
    flat = np.linalg.svd(F)[2][-1]
    model = ParametricQP(H, (np.zeros(n), F.T @ rng.normal(size=n - 1)))
    assert np.sum(model._made.curves[0] == 0.0) >= 1
    assert Homotopy(model).trace().certify().ok
    words = "unbounded at t=0" if n <= FEW else "cannot be told from none"
    with pytest.raises(DataError, match=words):
        ParametricQP(H, flat)
    with pytest.raises(DataError, match="unbounded at t=0"):
        ParametricQP(np.zeros((n, n)), flat)


def test_what_is_definite_in_exact_arithmetic() -> None:
    assert is_definite(np.array([[1.0, 1.0], [1.0, 1.0 + 2.0**-52]]))
    assert not is_definite(np.ones((2, 2)))
    assert not is_definite(np.array([[1.0, 1.0], [1.0, 1.0 - 2.0**-52]]))
    assert not is_definite(np.eye(FEW + 1))
