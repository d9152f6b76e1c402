"""Every D-step lowers the objective to the optimum of its new partition."""

from __future__ import annotations

from collections import Counter

import attrs
import numpy as np
import pytest
from problems import Case, case, sample_points

from homotopy import Homotopy, Path
from homotopy.tracing.sides import Sides
from homotopy.tracker import Tolerances
from homotopy_plugins import EpsilonRamp, HingeRamp, HuberRamp, LADRamp, TruncatedQuadratic

PROBLEMS = [
    case(
        kind, 45, seed, d=2, data=data, kernel=kernel, C=C, intercept=seed % 2 == 1, path=path, s=s
    )
    for kind, s in (("hinge", 0.0), ("lad", 0.3))
    for path in ("theta", "s")
    for seed, odd, data, kernel, C in (
        (3, True, "normal", "rbf", 1.0),
        (2, False, "normal", "rbf", 5.0),
        (3, True, "normal", "linear", 1.0),
        (0, False, "normal", "linear", 5.0),
        (0, False, "integer", "rbf", 1.0),
        (2, False, "integer", "rbf", 1.0),
        (3, True, "integer", "linear", 5.0),
        (1, True, "stacked", "rbf", 1.0),
        (2, False, "stacked", "linear", 1.0),
        (1, True, "stacked", "linear", 5.0),
    )
]


def name(problem: Case) -> str:
    return f"{problem.kind}-{problem.path}-{problem.kernel}-C{problem.C:g}-{problem.intercept}"


@pytest.fixture(scope="module", params=PROBLEMS, ids=name)
def traced(request):
    return request.param, request.param.trace(d_step="homotopy")


def test_there_are_jumps_to_speak_of():
    """Guards the tests below against becoming empty."""
    moved, still = Counter(), Counter()
    for problem in PROBLEMS:
        path = problem.trace(d_step="homotopy")
        moved[problem.kind, problem.path] += sum(j.moved for j in path.jumps)
        still[problem.path] += sum(not j.moved for j in path.jumps)
    assert len(moved) == 4
    assert min(moved.values()) >= 6, moved
    assert still["s"] >= 6, still


def test_the_objective_falls_strictly_where_the_response_moves(traced):
    problem, path = traced
    reference = problem.reference()
    groups: dict[float, list] = {}
    for jump in path.jumps:
        groups.setdefault(jump.t, []).append(jump)
    for t, jumps in groups.items():
        value = {
            side: reference.objective(path.alpha(t, side), path.intercept(t, side), *problem.at(t))
            for side in ("before", "after")
        }
        scale = abs(value["before"])
        gap = np.abs(path.response(t, "after") - path.response(t, "before")).max()
        if any(j.moved for j in jumps):
            assert value["after"] < value["before"]
            assert value["before"] - value["after"] > 1e-13 * scale
        else:
            assert value["after"] == pytest.approx(value["before"], rel=1e-11)
            assert gap <= 1e-7 * max(1.0, np.abs(path.response(t, "before")).max())
        assert jumps[0].objective_before == pytest.approx(value["before"], rel=1e-10)
        assert jumps[-1].objective_after == pytest.approx(value["after"], rel=1e-10)
        assert all(j.rounds >= 1 for j in jumps)


def test_the_flipped_are_those_whose_side_changed(traced):
    problem, path = traced
    reference = problem.reference()
    outer = {"O", "O+", "O-"}
    for t in {j.t for j in path.jumps}:
        sides = {}
        for side in ("before", "after"):
            parts = path.partition(t, side)
            place = np.zeros(reference.n, int)
            for label, index in parts.items():
                place[index] = 1 if label not in outer else (0 if label != "O-" else 2)
            sides[side] = place
        changed = set(np.flatnonzero(sides["before"] != sides["after"]).tolist())
        flipped: set[int] = set()
        for jump in path.jumps:
            if jump.t == t:
                flipped ^= set(jump.flipped.tolist())
        if problem.kind == "hinge":
            assert changed == flipped
        else:  # from one outlier branch to the other counts once, in and out again twice
            assert changed <= {int(i) for j in path.jumps if j.t == t for i in j.flipped}


def test_the_result_is_the_optimum_of_the_new_partition(traced):
    problem, path = traced
    reference = problem.reference()
    for t in sorted({j.t for j in path.jumps}):
        theta, s = problem.at(t)
        alpha = path.alpha(t, "after")
        # Which side a coordinate is on: its piece (on the corner itself u does not tell).
        parts = path.partition(t, "after")
        sides = np.ones(reference.n, int)
        for label, index in parts.items():
            if label in ("O", "O+"):
                sides[index] = 0
            elif label == "O-":
                sides[index] = 2
        best = reference.conditional(sides, theta, s)
        value = reference.objective(alpha, path.intercept(t, "after"), theta, s)
        assert value == pytest.approx(best.value, rel=1e-6)
        found = reference.Q @ alpha
        expected = best.u - reference.border @ best.b
        np.testing.assert_allclose(
            found, expected, atol=1e-6 * max(1.0, float(np.abs(expected).max()))
        )


def test_the_point_left_behind_was_the_optimum_of_the_old_partition(traced):
    problem, path = traced
    reference = problem.reference()
    for t in sorted({j.t for j in path.jumps}):
        if t == path.traced[0]:
            continue
        theta, s = problem.at(t)
        parts = path.partition(t, "before")
        sides = np.ones(reference.n, int)
        for label, index in parts.items():
            if label in ("O", "O+"):
                sides[index] = 0
            elif label == "O-":
                sides[index] = 2
        best = reference.conditional(sides, theta, s)
        assert path.objective(t, "before") == pytest.approx(best.value, rel=1e-6)


def random_problem(seed: int) -> Case:
    rng = np.random.default_rng(seed)
    kind = ("hinge", "lad")[seed % 2]
    return case(
        kind,
        int(rng.integers(15, 35)),
        seed,
        d=int(rng.integers(1, 4)),
        kernel=("rbf", "linear")[seed // 2 % 2],
        C=float(rng.choice([0.1, 1.0, 10.0])),
        intercept=bool(seed // 4 % 2),
        path=("theta", "s")[seed // 8 % 2],
        s=None if kind == "hinge" else 0.4,
    )


def determined_until(problem: Case, *paths: Path) -> float:
    """The end of the stretch on which b is unique: some alpha lies strictly inside its knot.

    Where none does b has an interval to choose from, two solvers choose differently, and as
    later jumps depend on b the paths may part: both are paths of local optima.
    """
    if not problem.intercept:
        return paths[0].traced[1]
    cost = problem.reference().cost
    for t in paths[0].breakpoints:
        for path in paths:
            alpha, knot = path.alpha(t), path.partition(t)["E"]
            room = np.minimum(cost - alpha, alpha if problem.kind == "hinge" else cost + alpha)
            if not np.any(room[knot] > 1e-9 * cost[knot]):
                return float(t)
    return paths[0].traced[1]


@pytest.mark.parametrize(
    "seed", [*range(25), *(pytest.param(k, marks=pytest.mark.slow) for k in range(25, 50))]
)
def test_osqp_and_the_homotopy_give_the_same_path(seed):
    problem = random_problem(seed)
    ours = problem.trace(d_step="homotopy")
    theirs = problem.trace(d_step="osqp")
    assert {j.solver for j in ours.jumps} <= {"homotopy"}
    assert {j.solver for j in theirs.jumps} <= {"osqp"}
    assert theirs.certify().ok
    until = determined_until(problem, ours, theirs)
    start, stop = ours.traced
    # The same t differs by rounding between the two.
    margin = 1e-9 if until == stop else -1e-9

    def shared(t):
        return (until - t) * np.sign(stop - start) >= -margin

    points = [p.breakpoints[shared(p.breakpoints)] for p in (ours, theirs)]
    np.testing.assert_allclose(points[1], points[0], rtol=1e-8, atol=1e-10)
    flips = [[j.flipped.tolist() for j in p.jumps if shared(j.t)] for p in (ours, theirs)]
    assert flips[0] == flips[1]
    for t in filter(shared, sample_points(ours, 20, seed)):
        np.testing.assert_allclose(theirs.response(t), ours.response(t), rtol=1e-7, atol=1e-7)
        assert theirs.objective(t) == pytest.approx(ours.objective(t), rel=1e-9)


def test_nearly_all_of_these_paths_are_compared_to_their_end():
    """Guards the test above against becoming empty."""
    whole = jumps = 0
    for seed in range(50):
        problem = random_problem(seed)
        ours, theirs = problem.trace(d_step="homotopy"), problem.trace(d_step="osqp")
        whole += determined_until(problem, ours, theirs) == ours.traced[1]
        jumps += len(ours.jumps)
    assert whole >= 44
    assert jumps >= 50


def test_auto_is_the_homotopy_where_nothing_goes_wrong():
    for problem in PROBLEMS[10:13]:
        auto, plain = problem.trace(), problem.trace(d_step="homotopy")
        np.testing.assert_array_equal(auto.breakpoints, plain.breakpoints)
        assert {j.solver for j in auto.jumps} == {"homotopy"}


# ---------------------------------------------------------------------- a crowd crosses as a whole


def _at_once(most: int) -> Tolerances:
    """Tolerances with which more coordinates than `most` cross a jump as a whole."""
    patience = attrs.evolve(Tolerances().patience, most_flips=most)
    return attrs.evolve(Tolerances(), patience=patience)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (HingeRamp, {"path": "theta"}),
        (HingeRamp, {"path": "s"}),
        (LADRamp, {"path": "s", "s_stop": 0.3}),
        (LADRamp, {"path": "theta", "s": 1.0}),
        (EpsilonRamp, {"path": "s", "epsilon": 0.1, "s_stop": 0.5}),
        (HuberRamp, {"path": "s", "delta": 0.2, "s_stop": 0.8}),
        (TruncatedQuadratic, {"path": "s", "s_stop": 0.5}),
    ],
)
def test_every_jump_can_be_crossed_as_a_whole(kind, options, seed, kernel):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 3))
    X = X if seed else np.round(X)
    labels = np.where(X[:, 0] + 0.7 * rng.normal(size=60) > 0.0, 1, -1)
    y = labels if kind is HingeRamp else X[:, 0] + rng.standard_t(2, size=60)
    model = kind(X, y, C=1.0, kernel=kernel, fit_intercept=True, **options)
    path = Homotopy(model, tolerances=_at_once(0)).trace()
    assert path.complete
    assert path.certify().ok
    assert {jump.solver for jump in path.jumps} <= {"convex"}
    assert all(
        jump.objective_after <= jump.objective_before + 1e-9 * abs(jump.objective_before)
        for jump in path.jumps
    )
    assert bool(path.jumps) == bool(Homotopy(model).trace().jumps)


def test_rows_that_appear_with_both_labels_cross_together():
    """At s = -1 every row with the rarer label of its kind is on the jump corner."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.integers(0, 2, size=(40, 6)).astype(float), 30, axis=0)
    y = np.where(rng.random(len(X)) < 0.7, 1, -1)
    for C in (0.01, 0.1, 1.0):
        model = HingeRamp(X, y, C=C, kernel="linear", path="s", fit_intercept=True)
        path = Homotopy(model).trace()
        assert path.complete
        assert path.certify().ok
        assert [jump.solver for jump in path.jumps] == ["convex"]
        assert path.jumps[0].flipped.size > 256
        few = Homotopy(model, tolerances=_at_once(10**6)).trace()
        last = path.traced[1]
        assert path.objective(last) == pytest.approx(few.objective(last), rel=1e-9)


def test_sides_are_where_the_corner_leaves_a_response():
    corner = np.array([[-1.0, 1.0]] * 4)
    jump = np.array([[True, False]] * 4)
    sides = Sides.of(np.array([0, 1, 2, 1]), jump)
    assert sides.first.tolist() == [0, 1, 1, 1]
    assert sides.last.tolist() == [0, 2, 2, 2]
    u, near = np.array([-2.0, -1.0, 0.5, -1.0]), np.full(4, 1e-6)
    moving = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 0.0]])
    now = sides.at(u, near, corner, moving)
    assert now.first.tolist() == [0, 0, 1, 1]
    back = sides.at(u, near, corner, -moving)
    assert back.first.tolist() == [0, 1, 1, 1]
