"""ParametricQP against DAQP, OSQP, HiGHS and its own optimality conditions."""

from __future__ import annotations

import itertools
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt
import osqp
import pytest
import scipy.sparse as sp
from oracles import solve_qp
from scipy.optimize import linprog

from homotopy import Affine, DataError, Homotopy, HomotopyError, ModelError, PathError, TraceError
from homotopy.path import Path, Status
from homotopy.testing import check_plugin
from homotopy_plugins import ParametricQP

Array = npt.NDArray[np.float64]
INF = np.inf
MANY = np.linspace(0.0, 1.0, 50)


@attrs.frozen
class Program:
    """Vectors at t = 0 and t = 1, (2, n) each; bounds of x first, then of A x."""

    H: Array
    g: Array
    A: Array
    low: Array
    high: Array
    # How much larger than 1 each x, and how much larger each row is made.
    units: Array
    row_units: Array

    @property
    def rows(self) -> Array:
        return np.vstack([np.eye(self.H.shape[0]), self.A])

    def model(self) -> ParametricQP:
        n, S, T = self.H.shape[0], self.units, self.row_units
        size = np.concatenate([S, T])
        low, high = self.low * size, self.high * size
        return ParametricQP(
            self.H / np.outer(S, S),
            tuple(self.g / S),
            A=T[:, None] * self.A / S,
            lb=tuple(low[:, :n]),
            ub=tuple(high[:, :n]),
            lbA=tuple(low[:, n:]),
            ubA=tuple(high[:, n:]),
        )

    def at(self, t: float) -> tuple[Array, Array, Array]:
        """g, low and high at t."""
        return tuple(line(v, t) for v in (self.g, self.low, self.high))  # type: ignore[return-value]

    def violation(self, path: Path, t: float) -> float:
        """The worst of feasibility, stationarity, sign and complementarity, in the plain units in
        which the program was drawn."""
        model: Any = path.model
        g, low, high = self.at(t)
        x = path.solution(t) / self.units
        y = model.multipliers(path, t) * np.concatenate([self.units, self.row_units])
        value = self.rows @ x
        size, force = 1.0 + np.abs(x).max(), 1.0 + np.abs(y).max() + np.abs(g).max()
        outside = np.maximum(np.maximum(low - value, value - high), 0.0).max() / size
        gradient = np.abs(self.H @ x + g - self.rows.T @ y).max() / force
        distance = np.where(y > 0.0, value - low, np.where(y < 0.0, high - value, 0.0))
        idle = np.minimum(np.abs(distance) / size, np.abs(y) / force).max()
        return float(max(outside, gradient, idle))


def line(ends: Array, t: float) -> Array:
    """Affine in t; what is infinite stays."""
    moves = np.isfinite(ends[0])
    first, last = (np.where(moves, v, 0.0) for v in ends)
    return np.where(moves, first + t * (last - first), ends[0])


def proven(model: ParametricQP, start: Any = None) -> Path:
    path = Homotopy(model).trace(start=start)
    assert path.complete
    certificate = path.certify()
    assert certificate.ok, str(certificate)
    return path


def random_program(seed: int, n: int, m: int, *, rank: int | None = None) -> Program:
    """Strictly feasible at both ends, bounds and prices moving."""
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(n if rank is None else rank, n))
    A = rng.normal(size=(m, n))
    rows = np.vstack([np.eye(n), A])
    value = rng.normal(size=(2, n)) @ rows.T
    low = value - rng.uniform(0.05, 1.0, size=value.shape)
    high = value + rng.uniform(0.05, 1.0, size=value.shape)
    H = F.T @ F + (0.1 * np.eye(n) if rank is None else 0.0)
    g = 3.0 * rng.normal(size=(2, n))
    return Program(H, g, A, low, high, np.ones(n), np.ones(m))


# ---------------------------------------------------------------------- peers


@pytest.mark.parametrize(("n", "m"), [(1, 0), (3, 2), (10, 10), (30, 5), (15, 60)])
def test_agrees_with_daqp_and_osqp(n: int, m: int) -> None:
    program = random_program(n + m, n, m)
    path = proven(program.model())
    x = path.solution(MANY)
    for t, ours in zip(MANY, x, strict=True):
        g, low, high = program.at(t)
        theirs = solve_qp(program.H, g, program.rows, low, high)
        assert np.abs(ours - theirs).max() <= 1e-8 * (1.0 + np.abs(theirs).max())
        value = 0.5 * ours @ program.H @ ours + g @ ours
        assert path.objective(t) == pytest.approx(value, rel=1e-10, abs=1e-10)
        assert program.violation(path, t) <= 1e-10
    for t in MANY:
        g, low, high = program.at(t)
        assert (
            np.abs(path.solution(t) - by_osqp(program.H, g, program.rows, low, high)).max() < 1e-6
        )


def by_osqp(H: Array, g: Array, rows: Array, low: Array, high: Array) -> Array:
    solver = osqp.OSQP()
    options = {"eps_abs": 1e-10, "eps_rel": 1e-10, "max_iter": 200_000, "polishing": True}
    solver.setup(sp.csc_matrix(np.triu(H)), g, sp.csc_matrix(rows), low, high,
                 verbose=False, **options)  # fmt: skip
    return np.asarray(solver.solve(raise_error=False).x)


@pytest.mark.parametrize("seed", range(4))
def test_semidefinite_agrees_with_osqp(seed: int) -> None:
    program = random_program(seed, 8, 6, rank=3)
    path = proven(program.model())
    for t in MANY:
        g, low, high = program.at(t)
        theirs = by_osqp(program.H, g, program.rows, low, high)
        value = 0.5 * theirs @ program.H @ theirs + g @ theirs
        assert path.objective(t) == pytest.approx(value, rel=1e-6, abs=1e-6)
        assert program.violation(path, t) <= 1e-9


@pytest.mark.parametrize("seed", range(4))
def test_linear_program_agrees_with_highs(seed: int) -> None:
    program = attrs.evolve(random_program(seed, 7, 9), H=np.zeros((7, 7)))
    path = proven(program.model())
    for t in MANY:
        g, low, high = program.at(t)
        found = linprog(
            g,
            A_ub=np.vstack([program.A, -program.A]),
            b_ub=np.concatenate([high[7:], -low[7:]]),
            bounds=np.column_stack([low[:7], high[:7]]),
        )
        assert path.objective(t) == pytest.approx(found.fun, rel=1e-8, abs=1e-8)
        assert program.violation(path, t) <= 1e-9


# ---------------------------------------------------------------------- the contract


@pytest.mark.parametrize("rank", [None, 3, 0])
def test_keeps_the_contract_of_a_plugin(rank: int | None) -> None:
    check_plugin(random_program(5, 8, 6, rank=rank).model())


def test_a_path_by_hand() -> None:
    # min x^2 - 2 p x with p from -2 to 2 and -1 <= x <= 1: x = p, held at -1 and 1.
    model = ParametricQP([[2.0]], ([4.0], [-4.0]), lb=-1.0, ub=1.0)
    path = proven(model)
    assert path.breakpoints == pytest.approx([0.0, 0.25, 0.75, 1.0], abs=1e-14)
    assert path.solution([0.0, 0.25, 0.5, 1.0]).ravel() == pytest.approx([-1, -1, 0, 1], abs=1e-14)
    assert path.objective([0.0, 0.5]) == pytest.approx([-3.0, 0.0], abs=1e-14)
    y = model.multipliers(path, [0.0, 0.5, 1.0]).ravel()
    assert y == pytest.approx([2.0, 0.0, -2.0], abs=1e-14)
    assert [k.tolist() for k in model.active_rows(path, 0.1).values()] == [[0], [], []]
    assert [k.tolist() for k in model.active_rows(path, 0.9).values()] == [[], [0], []]


@pytest.mark.parametrize("first", [0.9, 1.8, 2.8])
@pytest.mark.parametrize("last", [0.8, 1.7, 2.3, 2.6])
def test_forces_that_cancel_leave_a_row_idle(first: float, last: float) -> None:
    # min 1/2 x^2 + g x, 0 <= x <= 1: where g(t) = 0 both x and its multiplier are rounding.
    path = proven(ParametricQP([[1.0]], ([first], [-last]), lb=0.0, ub=1.0))
    wanted = np.clip(-line(np.array([first, -last]), MANY), 0.0, 1.0)
    assert path.solution(MANY).ravel() == pytest.approx(wanted, abs=1e-14)


def test_a_multiplier_of_a_distant_bound_is_seen_among_small_forces() -> None:
    model = ParametricQP([[1.0]], ([1.0], [-1.0]), lb=0.0, ub=1.0)
    t = np.array([0.5 - 1e-6, 0.5])
    for wrong, seen in ((-1e-13, True), (-1e-16, False)):
        # x = 0 presses on its upper bound 1, with a part of the forces at t = 0.
        off = model.residuals(t, np.full((2, 1), wrong), np.zeros((2, 0)))["complementarity"].off
        assert (off[1, 0] == pytest.approx(1.0)) == seen


def test_vectors_may_be_fixed_pairs_or_affine() -> None:
    program = random_program(3, 5, 4)
    t = Affine.parameter()
    pair = program.model()
    affine = ParametricQP(
        sp.csr_matrix(program.H),
        program.g[0] + t * (program.g[1] - program.g[0]),
        A=sp.coo_matrix(program.A),
        lb=program.low[0, :5] + t * (program.low[1] - program.low[0])[:5],
        ub=program.high[0, :5] + t * (program.high[1] - program.high[0])[:5],
        lbA=program.low[0, 5:] + t * (program.low[1] - program.low[0])[5:],
        ubA=program.high[0, 5:] + t * (program.high[1] - program.high[0])[5:],
    )
    one, two = proven(pair), proven(affine)
    assert np.allclose(one.breakpoints, two.breakpoints, rtol=0.0, atol=1e-12)
    assert np.allclose(one.solution(MANY), two.solution(MANY), rtol=0.0, atol=1e-11)


def test_nothing_but_a_price_is_a_straight_line() -> None:
    path = proven(ParametricQP(np.diag([1.0, 2.0]), ([0.0, 0.0], [2.0, 2.0])))
    assert np.allclose(path.solution([0.5, 1.0]), [[-1.0, -0.5], [-2.0, -1.0]])


def test_equations_hold_and_have_multipliers() -> None:
    """Fixed and moving equations, one of them twice, and a variable that is fixed."""
    rng = np.random.default_rng(0)
    n = 8
    A = rng.normal(size=(4, n))
    A[3] = 2.0 * A[2]
    low, high = np.full((2, n + 4), -1.0), np.full((2, n + 4), 1.0)
    low[:, n:], high[:, n:] = -INF, INF
    low[:, 0] = high[:, 0] = (0.3, -0.3)
    value = np.array([[0.1, 0.2], [0.5, -0.4]])
    low[:, n + 1 : n + 3] = high[:, n + 1 : n + 3] = value
    low[:, n + 3] = high[:, n + 3] = 2.0 * value[:, 1]
    F = rng.normal(size=(3, n))
    g = rng.normal(size=(2, n))
    program = Program(F.T @ F, g, A, low, high, np.ones(n), np.ones(4))
    model = program.model()
    path = proven(model)
    assert model.active_rows(path, 0.5)["equal"].tolist() == [0, n + 1, n + 2, n + 3]
    assert max(program.violation(path, t) for t in MANY) <= 1e-10
    for t in MANY[::10]:
        theirs = by_osqp(program.H, *program.at(t)[:1], program.rows, *program.at(t)[1:])
        ours = path.objective(t)
        assert ours == pytest.approx(
            0.5 * theirs @ program.H @ theirs + program.at(t)[0] @ theirs, abs=1e-6
        )


@pytest.mark.parametrize("scale", [1.0, 2.0, 3.0])
@pytest.mark.parametrize("total", [(1.15, 1.4), (1.0, 1.5)])
def test_what_equations_fix_has_no_curvature_left(total: tuple[float, float], scale: float) -> None:
    # H bends x0 + x1 only, and the equation fixes that: of x0 - x1 it leaves rounding.
    model = ParametricQP(
        np.ones((2, 2)), ([-2.4, -2.0], [0.5, 0.0]), A=[[scale, scale]], lb=0.0, ub=1.0,
        lbA=([scale * total[0]], [scale * total[1]]), ubA=([scale * total[0]], [scale * total[1]]),
    )  # fmt: skip
    assert np.abs(model.gram.diag).max() == 0.0
    path = proven(model)
    wanted = [[1.0, total[0] - 1.0], [total[1] - 1.0, 1.0]]
    assert path.solution([0.0, 1.0]) == pytest.approx(np.array(wanted), abs=1e-12)


def test_equations_that_leave_nothing_free() -> None:
    x = np.array([[0.0, 1.0], [2.0, -1.0]])
    model = ParametricQP(np.eye(2), [1.0, 1.0], lb=tuple(x), ub=tuple(x), A=[[1.0, 1.0]], ubA=1.0)
    path = proven(model)
    assert np.allclose(path.solution(0.25), [0.5, 0.5])
    assert np.allclose(model.multipliers(path, 0.25), [1.5, 1.5, 0.0])


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_units_do_not_matter(scale: float) -> None:
    program = random_program(2, 6, 5)
    plain = proven(program.model())
    for units in (np.full(6, scale), scale ** np.linspace(0.0, 1.0, 6)):
        scaled = attrs.evolve(program, units=units, row_units=np.full(5, 1.0 / scale))
        path = proven(scaled.model())
        assert np.allclose(path.breakpoints, plain.breakpoints, rtol=0.0, atol=1e-9)
        assert np.allclose(path.solution(MANY) / units, plain.solution(MANY), rtol=0.0, atol=1e-8)


# ---------------------------------------------------------------------- where there is no optimum

I2 = np.eye(2)
ENDS = {
    "rows": (
        {"A": [[1, 1], [1, 1], [1, 0]], "lbA": ([-1.0, -9, -3], [3.0, -9, -3]), "ubA": [9, 1, 2]},
        0.5,
        "infeasible from t=0.5 on: row 0 of A and row 1 of A contradict each other",
    ),
    "one row": (
        {"lb": ([-1.0, -1], [2.0, -1]), "ub": 1.0},
        2.0 / 3.0,
        r"infeasible from t=0\.66666\d* on: the bounds of x\[0\] contradict each other",
    ),
    "three rows": (
        {"A": [[1, 1]], "lb": ([-1.0, -1], [2.0, 1]), "ubA": 1.0},
        0.6,
        r"infeasible from t=0.6 on: row 0 of A, x\[0\] and x\[1\] contradict each other",
    ),
    "equations": (
        {"lb": ([0.0, 0], [1.0, 1]), "ub": ([0.0, 0], [1.0, 1]), "A": [[1, 1]], "ubA": 1.0},
        0.5,
        "infeasible from t=0.5 on",
    ),
    "price": ({"H": 0.0 * I2, "g": ([1.0, 1], [-1.0, 1]), "lb": 0.0}, 0.5, "unbounded from t=0.5"),
}


@pytest.mark.parametrize("case", ENDS)
def test_the_end_of_the_path_has_a_name_and_a_place(case: str) -> None:
    given, end, message = ENDS[case]
    arguments = {"H": I2, "g": [0.0, 0.0], **given}
    model = ParametricQP(arguments.pop("H"), arguments.pop("g"), **arguments)
    with pytest.raises(TraceError, match=message) as caught:
        Homotopy(model).trace()
    path: Any = caught.value.path
    assert path.traced[1] == pytest.approx(end, abs=1e-12)
    assert path.status is Status.NO_OPTIMUM
    assert path.certify().ok
    assert np.all(np.isfinite(path.solution(0.5 * end)))


@pytest.mark.parametrize("seed", range(8))
def test_the_end_is_where_a_linear_program_puts_it(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, m = 6, 12
    program = random_program(seed, n, m)
    low = program.low.copy()
    low[1, n + rng.integers(m, size=3)] += 30.0
    program = attrs.evolve(program, low=low)
    table = np.vstack([program.rows, -program.rows])
    right = np.vstack([program.high.T, -program.low.T])
    found = linprog(
        np.append(np.zeros(n), -1.0),
        A_ub=np.column_stack([table, right[:, 0] - right[:, 1]]),
        b_ub=right[:, 0],
        bounds=[(None, None)] * n + [(0.0, 1.0)],
    )
    with pytest.raises(TraceError, match=r"infeasible from t=0\.\d+ on: .* contradict") as caught:
        Homotopy(program.model()).trace()
    path: Any = caught.value.path
    assert path.traced[1] == pytest.approx(found.x[-1], abs=1e-8)
    assert path.certify().ok
    assert max(program.violation(path, t) for t in found.x[-1] * MANY[:-1]) <= 1e-9


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"lb": 2.0, "ub": 1.0}, r"infeasible at t=0: x\[0\] must be at least 2 and at most 1"),
        ({"H": 0.0 * I2, "g": [-1.0, 1]}, r"unbounded at t=0: .* \(x\[0\] moves most"),
        ({"H": 0.0 * I2, "g": ([0.0, 0], [0.0, 1]), "lb": [0, -INF]}, "unbounded from t=0 on"),
        (
            {"A": [[1, 1], [2, 2]], "lbA": [1, 3], "ubA": [1, 3]},
            "infeasible at t=0: the equation of row . of A contradicts",
        ),
        ({"A": [[0.0, 0.0]], "lbA": 1.0, "ubA": 1.0}, "infeasible at t=0: the equation of row 0"),
    ],
)
def test_no_optimum_at_the_start_is_refused(arguments: dict[str, Any], message: str) -> None:
    given = {"H": I2, "g": [0.0, 0.0], **arguments}
    with pytest.raises(DataError, match=message):
        ParametricQP(given.pop("H"), given.pop("g"), **given)


def test_contradictions_at_the_start_are_named_by_the_trace() -> None:
    with pytest.raises(TraceError, match=r"infeasible at t=0: row 0 of A, x\[0\] and x\[1\]"):
        Homotopy(ParametricQP(I2, [1.0, 0.0], A=[[1, 1]], lb=1.0, ubA=1.0)).trace()
    with pytest.raises(TraceError, match="unbounded at t=0"):
        Homotopy(ParametricQP(0.0 * I2, [-1.0, 1.0], lb=0.0)).trace()


def feasibility(seed: int) -> dict[str, Any]:
    """Bounds that some x keeps at all t, and nothing that pulls x anywhere."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(2, 30)), int(rng.integers(1, 8))
    A = rng.normal(size=(m, n)) if seed % 2 else rng.integers(-2, 3, size=(m, n)).astype(float)
    value = rng.random((2, n)) @ A.T
    room = np.where(rng.random(m) < 0.2, 0.0, 0.5)
    return {"A": A, "lb": 0.0, "ub": 1.0, "lbA": tuple(value - room), "ubA": tuple(value + room)}


@pytest.mark.parametrize("seed", range(12))
def test_without_forces_any_x_within_the_bounds_will_do(seed: int) -> None:
    given = feasibility(seed)
    model = ParametricQP(np.zeros((given["A"].shape[1],) * 2), 0.0, **given)
    path = proven(model)
    for t in MANY:
        x = path.solution(t)
        low, high = (line(np.array(given[name]), t) for name in ("lbA", "ubA"))
        value = given["A"] @ x
        assert max(-x.min(), x.max() - 1.0) <= 1e-12
        assert np.maximum(low - value, value - high).max() <= 1e-12 * (1.0 + np.abs(value).max())
        assert not model.multipliers(path, t).any()
        assert abs(path.objective(t)) <= 1e-50


@pytest.mark.parametrize("known", [list, iter])
def test_forces_come_and_go_along_a_sequence(known: Any) -> None:
    given = feasibility(3)
    n = given["A"].shape[1]
    bounds = {name: np.array(given[name]) for name in ("lbA", "ubA")}
    price = np.random.default_rng(3).normal(size=n)
    programs = [
        {"g": g, "lb": 0.0, "ub": 1.0} | {name: ends[k % 2] for name, ends in bounds.items()}
        for k, g in enumerate((0.0, 0.0, 0.0, price, -price, 0.0, 0.0, 0.0, price))
    ]
    H = np.zeros((n, n))
    paths = list(ParametricQP.sequence(H, known(programs), A=given["A"]))
    assert all(path.certify().ok for path in paths)
    for path, goal in zip(paths, programs[1:], strict=True):
        alone = Homotopy(ParametricQP(H, A=given["A"], **goal)).trace()
        assert path.objective(1.0) == pytest.approx(alone.objective(0.0), abs=1e-12)


def test_equations_that_take_all_forces_leave_none() -> None:
    # x0 + x1 is fixed, and neither H nor g has a part along x0 - x1.
    model = ParametricQP(
        np.ones((2, 2)), ([-2.4, -2.4], [1.0, 1.0]), A=[[1.0, 1.0], [1.0, 0.0]],
        lb=0.0, ub=1.0, lbA=([1.2, 0.1], [1.4, 0.9]), ubA=([1.2, 0.2], [1.4, 1.0]),
    )  # fmt: skip
    path = proven(model)
    total = line(np.array([1.2, 1.4]), MANY)
    assert path.solution(MANY).sum(axis=1) == pytest.approx(total, abs=1e-14)
    force = total + line(np.array([-2.4, 1.0]), MANY)
    y = model.multipliers(path, MANY)
    assert y[:, 2] == pytest.approx(force, abs=1e-12)
    assert not y[:, [0, 1, 3]].any()
    assert path.objective(0.0) == pytest.approx(0.5 * 1.2**2 - 2.4 * 1.2, abs=1e-12)


@pytest.mark.parametrize("seed", [4, 8, 18, 39, 41, 52, 87])
def test_directions_without_curvature_and_force(seed: int) -> None:
    # H bends some variables, and g has a part along these only: multipliers of 0 come and go.
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(2, 30)), int(rng.integers(1, 8))
    A = rng.normal(size=(m, n)) if seed % 2 else rng.integers(-2, 3, size=(m, n)).astype(float)
    value, _ = rng.random(n) @ A.T, rng.normal(size=(2, n))
    H = np.diag(rng.integers(0, 3, size=n).astype(float))
    goal = rng.random(n)
    ends = np.array([value, goal @ A.T])
    model = ParametricQP(
        H, (np.zeros(n), -H @ goal), A=A, lb=0.0, ub=1.0,
        lbA=tuple(ends - 0.5), ubA=tuple(ends + 0.5),
    )  # fmt: skip
    assert model._made.lifted.any()
    path = proven(model)
    for t in MANY:
        x, g = path.solution(t), -t * H @ goal
        theirs = solve_qp(
            H + 1e-9 * np.eye(n), g, np.vstack([np.eye(n), A]),
            np.append(np.zeros(n), line(ends - 0.5, t)), np.append(np.ones(n), line(ends + 0.5, t)),
        )  # fmt: skip
        assert path.objective(t) == pytest.approx(0.5 * x @ H @ x + g @ x, abs=1e-12)
        assert path.objective(t) == pytest.approx(0.5 * theirs @ H @ theirs + g @ theirs, abs=1e-7)
        y = model.multipliers(path, t)
        assert H @ x + g - y[:n] - A.T @ y[n:] == pytest.approx(np.zeros(n), abs=1e-13)


@pytest.mark.parametrize("known", [list, iter])
def test_forces_along_directions_without_curvature_come_and_go(known: Any) -> None:
    H = np.diag([1.0, 0.0, 0.0])
    prices = [[-0.8, 0.0, 0.0], [1.7, 0.0, 0.0], [0.5, 0.0, 0.0], [0.5, 1.0, 0.0], [0.5, 0.0, 0.0],
              [-2.0, 0.0, 0.0], [90.0, 0.0, 0.0], [-0.1, 0.0, 0.0]]  # fmt: skip
    least = [2.6, 1.6, 1.5, 1.7, 1.6, 2.0, 2.5, 2.6]
    programs: list[dict[str, Any]] = [
        {"g": g, "lbA": low, "ubA": low + 0.3} for g, low in zip(prices, least, strict=True)
    ]
    programs[0] |= {"lb": 0.0, "ub": 1.0}
    rows = np.ones((1, 3))
    paths = list(ParametricQP.sequence(H, known(programs), A=rows))
    assert all(path.certify().ok for path in paths)
    for path, goal in zip(paths, programs[1:], strict=True):
        alone = Homotopy(ParametricQP(H, A=rows, lb=0.0, ub=1.0, **goal)).trace()
        assert path.objective(1.0) == pytest.approx(alone.objective(0.0), abs=1e-10)


# ---------------------------------------------------------------------- one after another


def vectors(program: Program, k: int) -> dict[str, Array]:
    n = program.H.shape[0]
    low, high = program.low[k], program.high[k]
    return {"g": program.g[k], "lb": low[:n], "ub": high[:n], "lbA": low[n:], "ubA": high[n:]}


def test_a_sequence_is_its_programs_one_after_another() -> None:
    parts = [random_program(7, 10, 6)]
    for seed in range(8, 11):
        drawn = random_program(seed, 10, 6)
        parts.append(attrs.evolve(drawn, H=parts[0].H, A=parts[0].A))
    parts = [attrs.evolve(p, low=p.low - 5.0, high=p.high + 5.0) for p in parts]
    programs = [vectors(p, k) for p in parts for k in (0, 1)]
    paths = list(ParametricQP.sequence(parts[0].H, programs, A=parts[0].A))
    assert len(paths) == len(programs) - 1
    assert len({id(path.model._made) for path in paths}) == 1  # type: ignore[attr-defined]
    for path, goal in zip(paths, programs[1:], strict=True):
        assert path.certify().ok
        alone = Homotopy(ParametricQP(parts[0].H, A=parts[0].A, **goal)).trace()
        assert np.abs(path.solution(1.0) - alone.solution(0.0)).max() <= 1e-9


def test_a_sequence_may_change_what_is_an_equation() -> None:
    free = {"g": [1.0, -2.0, 0.0], "lb": -1.0, "ub": 1.0, "lbA": -1.0, "ubA": 1.0}
    programs = [
        free,
        {"g": [-1.0, 1.0, 1.0]},
        {"lbA": 0.5, "ubA": 0.5},
        {"g": [0.0, 3.0, -3.0]},
        free,
    ]
    paths = list(ParametricQP.sequence(np.eye(3), programs, A=[[1.0, 1.0, 1.0]]))
    for path in paths:
        assert path.certify().ok
    for before, after in itertools.pairwise(paths):
        assert np.allclose(before.solution(1.0), after.solution(0.0), rtol=0.0, atol=1e-12)
    assert np.isclose(paths[2].solution(0.7).sum(), 0.5)
    assert paths[2].model.active_rows(paths[2], 0.5)["equal"].tolist() == [3]  # type: ignore[attr-defined]


def control(seed: int, count: int, n: int = 6, m: int = 4) -> tuple[Array, Array, list[Any]]:
    """Programs one after another, as a controller solves them: g, lbA and ubA move."""
    rng = np.random.default_rng(seed)
    F, A = rng.normal(size=(n, n)), rng.normal(size=(m, n))
    room = rng.uniform(0.2, 1.0, (count, m))
    programs: list[Any] = [{"g": rng.normal(size=n), "lbA": -r, "ubA": r} for r in room]
    programs[0] |= {"lb": -0.5, "ub": 0.5}
    return F.T @ F + 0.1 * np.eye(n), A, programs


@pytest.mark.parametrize("seed", range(3))
def test_programs_known_beforehand_and_one_by_one_give_the_same_paths(seed: int) -> None:
    H, A, programs = control(seed, 90)
    # What one does not mention stays; a bound may be one number for all.
    programs[40] = {"g": programs[40]["g"]}
    programs[41] = {"lb": -0.3, "ubA": 2.0}
    known = list(ParametricQP.sequence(H, programs, A=A))
    met = list(ParametricQP.sequence(H, iter(programs), A=A))
    assert len(known) == len(met) == 89
    for one, other in zip(known, met, strict=True):
        assert one.certify().ok
        assert other.certify().ok
        for t in (0.0, 0.5, 1.0):
            assert one.solution(t) == pytest.approx(other.solution(t), abs=1e-10)
    for before, after in itertools.pairwise(known):
        assert before.solution(1.0) == pytest.approx(after.solution(0.0), abs=1e-12)


def test_few_programs_of_a_sequence_are_traced_by_themselves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun: list[Any] = []
    own = Homotopy._run
    monkeypatch.setattr(
        Homotopy, "_run", lambda self, *given: begun.append(self.model) or own(self, *given)
    )
    H, A, programs = control(7, 150)
    for source in (programs, iter(programs)):
        assert all(path.complete for path in ParametricQP.sequence(H, source, A=A))
    assert len(begun) == 2


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"g": [0.0, np.nan, 0.0, 0.0, 0.0, 0.0]}, r"g\[1\] is nan"),
        ({"ubA": [1.0, 1.0]}, "ubA must be 4 numbers"),
        ({"price": 1.0}, "'price' is none of the vectors"),
        ({"lb": 1e200}, "lb holds numbers of size 1e\\+200"),
        ({"lb": -np.inf}, r"lb\[0\] moves from -0.5 to -inf"),
        ({"lbA": 3.0, "ubA": -3.0}, "infeasible"),
    ],
)
def test_a_wrong_program_is_named_after_the_paths_before_it(
    wrong: dict[str, Any], message: str
) -> None:
    H, A, programs = control(1, 12)
    programs[5] = wrong
    paths = ParametricQP.sequence(H, programs, A=A)
    before = list(itertools.islice(paths, 4))
    assert all(path.certify().ok for path in before)
    with pytest.raises((DataError, ModelError, TraceError), match=message):
        next(paths)


def test_sequences_of_programs_with_equations_and_rows_that_these_fix() -> None:
    rng = np.random.default_rng(5)
    A = np.vstack([[1.0, 1.0, 0.0, 0.0], [2.0, 2.0, 0.0, 0.0], rng.normal(size=(2, 4))])
    programs = []
    for total in rng.uniform(-0.5, 0.5, 9):
        side = rng.uniform(0.5, 1.0, 2)
        programs.append(
            {
                "g": rng.normal(size=4),
                "lbA": np.array([total, -3.0, *-side]),
                "ubA": np.array([total, 3.0, *side]),
            }
        )
    for path, goal in zip(
        ParametricQP.sequence(np.eye(4), programs, A=A), programs[1:], strict=True
    ):
        assert path.certify().ok
        assert path.solution(1.0)[:2].sum() == pytest.approx(goal["lbA"][0], abs=1e-12)
        alone = Homotopy(ParametricQP(np.eye(4), A=A, **goal)).trace()
        assert path.solution(1.0) == pytest.approx(alone.solution(0.0), abs=1e-10)


def test_sequences_with_directions_in_which_the_form_hardly_bends() -> None:
    rng = np.random.default_rng(6)
    turn = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    H = turn @ np.diag([1.0, 0.5, 1e-8, 1e-9]) @ turn.T
    programs: list[Any] = [{"g": g} for g in rng.normal(size=(8, 4))]
    programs[0] |= {"lb": -1.0, "ub": 1.0}
    for path, goal in zip(ParametricQP.sequence(H, programs), programs[1:], strict=True):
        assert path.certify().ok
        alone = Homotopy(ParametricQP(H, lb=-1.0, ub=1.0, **goal)).trace()
        assert path.solution(1.0) == pytest.approx(alone.solution(0.0), abs=1e-7)


@pytest.mark.parametrize("given", [list, iter])
def test_the_border_of_one_program_is_not_the_next_ones(given: Any) -> None:
    # H does not bend x[1], which is a column of the border until it is fixed.
    programs: list[dict[str, Any]] = [
        {"g": [1.0, 1.0], "lb": 0.0, "ub": 1.0},
        {"lb": [0.0, 0.5], "ub": [1.0, 0.5]},
        {"lb": [0.0, 0.6], "ub": [1.0, 0.6]},
        {"lb": 0.0, "ub": 1.0},
    ]
    paths = list(ParametricQP.sequence(np.diag([1.0, 0.0]), given(programs)))
    assert all(path.certify().ok for path in paths)
    ends = [path.solution(1.0) for path in paths]
    assert np.array(ends) == pytest.approx(np.array([[0, 0.5], [0, 0.6], [0, 0]]), abs=1e-12)


def test_sequences_refuse_what_they_do_not_know() -> None:
    with pytest.raises(ModelError, match="must have a vector 'g'"):
        next(ParametricQP.sequence(I2, [{"lb": 0.0}]))
    with pytest.raises(ModelError, match="'low' is none of the vectors"):
        ParametricQP(I2, [0.0, 0.0]).following(low=1.0)
    path = proven(ParametricQP(I2, [0.0, 0.0]))
    with pytest.raises(PathError, match="as many variables and rows"):
        ParametricQP(np.eye(3), [0.0, 0.0, 0.0]).start_at(path)
    with pytest.raises(PathError, match="of another model"):
        ParametricQP(I2, [0.0, 0.0]).multipliers(path, 0.0)


# ---------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"H": np.ones((2, 3))}, r"H must be square and not empty, got shape \(2, 3\)"),
        ({"H": np.zeros((0, 0)), "g": []}, "H must be square and not empty"),
        ({"H": np.ones(2)}, "H must be two-dimensional"),
        ({"H": [[1.0, 2.0], [0.0, 1.0]]}, "H is not symmetric"),
        ({"H": [[1.0, 0.0], [0.0, -1.0]]}, "H is not positive semidefinite"),
        ({"H": [[0.0, 1.0], [1.0, 0.0]]}, "H is not positive semidefinite"),
        ({"H": [[np.nan, 0.0], [0.0, 1.0]]}, r"H\[0, 0\] is nan"),
        ({"H": "matrix"}, "H must be a matrix of numbers"),
        ({"g": [1.0, 2.0, 3.0]}, r"g must be 2 numbers \(or one\), got shape \(3,\)"),
        ({"g": None}, "g must be 2 numbers|g.* is nan"),
        ({"g": [np.nan, 0.0]}, r"g\[0\] is nan"),
        ({"g": [0.0, np.inf]}, r"g\[1\] is inf"),
        ({"g": ([0.0, 0.0], [1.0, 1.0], [2.0, 2.0])}, "g is a tuple of 3"),
        ({"g": "price"}, "g must be 2 numbers"),
        ({"A": np.ones((1, 3))}, "A must have 2 columns"),
        ({"A": [[1.0, np.inf]]}, r"A\[0, 1\] is inf"),
        ({"A": np.ones((1, 2)), "lbA": [0.0, 1.0]}, "lbA must be 1 numbers"),
        ({"lb": np.inf}, r"lb\[0\] is inf"),
        ({"ub": [0.0, -np.inf]}, r"ub\[1\] is -inf"),
        ({"ub": (1.0, np.inf)}, r"ub\[0\] moves from 1 to inf"),
        ({"g": [1e150, 0.0]}, "g holds numbers of size 1e\\+150"),
    ],
)
def test_bad_input_is_refused_in_words(arguments: dict[str, Any], message: str) -> None:
    given = {"H": I2, "g": [0.0, 0.0], **arguments}
    with pytest.raises(ModelError, match=message):
        ParametricQP(given.pop("H"), given.pop("g"), **given)


# ---------------------------------------------------------------------- hostile


def ugly(seed: int) -> Program:
    """A program with an optimum for every t (a feasible x at both ends, multipliers at both ends),
    and all that makes programs ugly: no curvature, integers, repeated and zero rows, rows that are
    tight on both sides, equations, bounds at infinity, units over six decades."""
    rng = np.random.default_rng(seed)

    def chance(p: float) -> bool:
        return bool(rng.random() < p)

    n, m = int(rng.integers(1, 13 if chance(0.8) else 41)), int(rng.choice([0, 1, 3, 8, 20]))
    kind = rng.choice(
        ["full", "flat", "linear", "diagonal", "partly zero"], p=[0.4, 0.3, 0.1, 0.1, 0.1]
    )
    F = rng.normal(size=(max(n // 2, 1) if kind == "flat" else n, n))
    if chance(0.4):
        F = np.round(2.0 * F) / 2.0
    H = F.T @ F
    if kind == "linear":
        H = np.zeros((n, n))
    elif kind == "diagonal":
        H = np.diag(10.0 ** rng.uniform(-3, 3, size=n))
    elif kind == "partly zero":
        empty = rng.random(n) < 0.4
        H[empty], H[:, empty] = 0.0, 0.0
    A = rng.normal(size=(m, n))
    if chance(0.4):
        A = np.round(A)
    if m and chance(0.4):
        A = np.vstack([A, A[rng.integers(m, size=max(1, m // 3))]])
    if m and chance(0.2):
        A[rng.integers(len(A))] = 0.0
    units = 10.0 ** rng.uniform(-3, 3, size=n) if chance(0.3) else np.ones(n)
    row_units = 10.0 ** rng.uniform(-3, 3, size=len(A)) if chance(0.3) else np.ones(len(A))
    rows = np.vstack([np.eye(n), A])
    x = rng.normal(size=(2, n))
    if chance(0.4):
        x = np.round(x)
    value, size = x @ rows.T, (2, len(rows))
    length = np.linalg.norm(rows, axis=1)
    low, high = (
        value + side * length * np.where(rng.random(size) < 0.3, 0.0, rng.uniform(0.1, 2.0, size))
        for side in (-1.0, 1.0)
    )
    if chance(0.5):
        low[:], high[:] = low.min(axis=0), high.max(axis=0)
    low[:, rng.random(len(rows)) < 0.4] = -INF
    high[:, rng.random(len(rows)) < 0.4] = INF
    equal = (rng.random(len(rows)) < 0.1) & chance(0.5)
    low[:, equal] = high[:, equal] = value[:, equal]
    y = np.where(rng.random(size) < 0.5, 0.0, rng.normal(size=size))
    y = np.where((np.isinf(low) & (y > 0.0)) | (np.isinf(high) & (y < 0.0)), 0.0, y)
    g = y @ rows - (x + 0.5 * rng.normal(size=x.shape)) @ H
    return Program(H, g, A, low, high, units, row_units)


def hostile(seeds: range) -> tuple[list[str], list[str]]:
    declined, wrong = [], []
    for seed in seeds:
        program = ugly(seed)
        try:
            path = Homotopy(program.model()).trace()
        except HomotopyError as error:
            declined.append(f"{seed}: {error}")
            continue
        off = max(program.violation(path, t) for t in MANY[::6])
        if not (path.complete and path.certify().ok and off <= 1e-7):
            wrong.append(f"{seed}: certified {path.certify().ok}, off by {off:.2g}")
    return declined, wrong


def test_forty_ugly_programs() -> None:
    declined, wrong = hostile(range(1000, 1040))
    assert not wrong, wrong
    assert len(declined) <= 1, declined


@pytest.mark.slow
def test_three_hundred_ugly_programs() -> None:
    declined, wrong = hostile(range(300))
    assert not wrong, wrong
    assert len(declined) <= 6, declined
