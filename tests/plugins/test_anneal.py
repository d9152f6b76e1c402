"""Annealing: never worse than any of its routes, certified, and a local optimum to solvers that
share nothing with the engine; what fails on the way is recorded and survived."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from grids import thinned
from oracles import Infeasible, kernel_matrix
from problems import case
from ramps import against_osqp, regression

import homotopy_plugins.annealing as annealing
from homotopy import (
    DataError,
    DenseGram,
    Homotopy,
    Jump,
    Knot,
    LossModel,
    ModelError,
    Path,
    PathError,
    Slope,
    TraceError,
    TraceInterrupted,
)
from homotopy_plugins import (
    Annealed,
    AnnealInterrupted,
    EpsilonRamp,
    HingeRamp,
    HuberRamp,
    LADRamp,
    PinballRamp,
    Trial,
    TruncatedQuadratic,
    anneal,
    walk,
)


def not_above(value, bound):
    return value <= bound + 1e-8 * max(1.0, abs(bound))


def consistent(found: Annealed) -> None:
    """What holds of every result."""
    assert found.certificate.ok
    assert found.path.certify(at=1.0).ok
    assert found.walk.complete
    assert found.found_by.improved
    assert found.found_by.certified
    assert found.objective == found.found_by.objective
    assert found.path.objective(1.0) == pytest.approx(found.objective, rel=1e-10)
    # Where alpha is not unique (repeated rows, rows of zeros) the response is.
    problem, u = found.path.problem, found.path.response(1.0)
    b = u - problem.gram.matvec(found.alpha)
    size = max(1.0, float(np.abs(u).max()))
    if problem.border.shape[1]:
        b = b - problem.border[:, 0] * (problem.border[0, 0] * b[0])
    np.testing.assert_allclose(b, 0.0, atol=1e-8 * size)
    proven = [t.objective for t in found.tried if t.certified]
    assert found.objective == min(proven)
    # Only what could have been the best was looked at.
    unseen = [t.objective for t in found.tried if t.certified is None]
    assert all(not_above(found.objective, value) for value in unseen)
    assert all(np.isfinite(t.objective) or t.note for t in found.tried)
    for k, trial in enumerate(found.tried):
        assert (trial.origin is None) == ("back" not in trial.name)
        assert trial.origin is None or np.isfinite(found.tried[:k][trial.origin].objective)


@thinned(
    "kind, intercept, data, kernel",
    ["hinge", "lad"],
    [False, True],
    ["normal", "integer", "stacked"],
    ["rbf", "linear"],
)
def test_never_worse_than_either_path(kind, intercept, data, kernel):
    options = {"data": data, "intercept": intercept, "kernel": kernel, "C": 3.0}
    seed = ("rbf", "linear").index(kernel)
    problem = case(kind, 45, seed, s=None if kind == "hinge" else 0.4, **options)
    found = anneal(problem.model())
    consistent(found)
    assert found.walk.certify()
    s = problem.threshold
    assert found.parameters == {"theta": 0.0, "s": s}
    along_theta = problem.trace()
    assert not_above(found.objective, along_theta.objective(0.0))
    assert found.improvement == pytest.approx(
        along_theta.objective(0.0) - found.objective, abs=1e-8 * found.objective
    )
    stop = {"s_stop": s} if kind == "lad" else {}
    along_s = Homotopy(problem.model(path="s", **stop)).trace()
    assert not_above(found.objective, along_s.objective(along_s.traced[1]))


@pytest.mark.parametrize("kind", ["hinge", "lad"])
def test_routes_of_the_model_are_the_usual_paths(kind):
    problem = case(kind, 40, 3, intercept=True, s=-0.2 if kind == "hinge" else 0.5)
    s = problem.threshold
    found = anneal(problem.model(), heights=())
    assert [trial.name for trial in found.tried] == ["along theta", "along s", "across"]
    stop = {"s_stop": s} if kind == "lad" else {}
    along_s = Homotopy(problem.model(path="s", **stop)).trace()
    assert found.tried[0].objective == pytest.approx(problem.trace().objective(0.0), rel=1e-9)
    assert found.tried[1].objective == pytest.approx(along_s.objective(s), rel=1e-9)
    assert found.tried[1].jumps == len(along_s.jumps)
    for trial in found.tried:
        again = walk(problem.model(), trial.corners)
        assert again.at(-1).objective == pytest.approx(trial.objective, rel=1e-9)
        assert again.jumps == trial.jumps


# ---------------------------------------------------------------------- against others


def tiny(kind, seed):
    rng = np.random.default_rng(seed)
    return case(
        kind,
        int(rng.integers(6, 9)) if kind == "hinge" else 5,
        seed,
        d=int(rng.integers(1, 3)),
        data=("normal", "integer")[seed % 2],
        kernel=("rbf", "linear")[seed // 2 % 2],
        C=float(rng.choice([0.3, 1.0, 5.0])),
        intercept=bool(seed // 4 % 2),
        s=None if kind == "hinge" else 0.5,
    )


def conditional_value(reference, sides, s):
    try:
        return reference.conditional(sides, 0.0, s).value
    except Infeasible:
        return np.inf


@pytest.mark.parametrize("kind", ["hinge", "lad"])
def test_local_optima_by_brute_force_and_no_less_often_the_global_one(kind):
    globally = {"theta": 0, "annealed": 0}
    for seed in range(10):
        problem = tiny(kind, seed)
        reference, s = problem.reference(), problem.threshold
        found = anneal(problem.model())
        consistent(found)
        value, room = found.objective, 1e-8 * max(1.0, found.objective)
        assert reference.objective(found.alpha, found.intercept, 0.0, s) == pytest.approx(value)
        u = reference.response(found.alpha, found.intercept)
        for sides in reference.neighbours(u, s, near=1e-9):
            assert conditional_value(reference, sides, s) >= value - room
        lowest = min(conditional_value(reference, sides, s) for sides in reference.partitions())
        assert value >= lowest - room
        globally["annealed"] += value <= lowest + room
        globally["theta"] += problem.trace().objective(0.0) <= lowest + room
    # Nothing is claimed about how often that is.
    assert globally["annealed"] >= globally["theta"]


def family():
    X, y = regression(36, 2, 4)
    common = {"C": 3.0, "gamma": 0.5, "fit_intercept": True}
    return X, y, {
        "lad": LADRamp(X, y, s=0.5, **common),
        "epsilon": EpsilonRamp(X, y, epsilon=0.1, s=0.6, **common),
        "pinball": PinballRamp(X, y, tau=0.3, s=0.6, **common),
        "huber": HuberRamp(X, y, delta=0.2, s=0.6, **common),
        "truncated": TruncatedQuadratic(X, y, s=0.6, **common),
    }  # fmt: skip


@pytest.mark.parametrize("kind", ["lad", "epsilon", "pinball", "huber", "truncated"])
def test_every_ramp_loss(kind):
    X, y, models = family()
    model = models[kind]
    found = anneal(model)
    consistent(found)
    assert found.walk.certify()
    alone = Homotopy(model).trace()
    assert not_above(found.objective, alone.objective(0.0))
    K = kernel_matrix(X, X, "rbf", 0.5)
    at = found.parameters
    assert at == model.parameters | {"theta": 0.0}
    off, apart = against_osqp(found.path, kind, K, y, np.full(36, 3.0), lambda t: at, [1.0])
    assert off <= 1e-7
    assert apart <= 1e-4
    # Theta and s multiply each other in the truncated square: there is no straight way.
    assert ("across" in [trial.name for trial in found.tried]) == (kind != "truncated")


# ---------------------------------------------------------------------- reheating


@pytest.mark.parametrize("kind", ["hinge", "lad"])
def test_what_goes_back_without_a_jump_comes_back_to_itself(kind):
    returned = 0
    for seed in range(4):
        problem = case(kind, 50, seed, intercept=True, C=3.0, s=None if kind == "hinge" else 0.4)
        model, path, s = problem.model(), problem.trace(), problem.threshold
        for height in (0.01, 0.1, 0.4):
            up = walk(model, [(0.0, s), (height, s)], start=(path, 0.0))
            if up.jumps:
                continue
            down = walk(model, [(height, s), (0.0, s)], start=(up.paths[-1], 1.0))
            np.testing.assert_allclose(down.at(-1).alpha, path.alpha(0.0), atol=1e-8)
            returned += 1
    assert returned >= 4


def test_reheating_finds_better_optima_than_all_routes():
    better = 0
    for seed in range(2):
        problem = case("hinge", 80, seed, d=10, C=10.0, intercept=True, kernel="linear")
        routes = anneal(problem.model(), heights=())
        found = anneal(problem.model())
        consistent(found)
        assert found.objective <= routes.objective
        assert [t.objective for t in found.tried[:3]] == [t.objective for t in routes.tried]
        if found.objective < routes.objective:
            better += 1
            assert "back" in found.found_by.name
            assert found.walk.certify()
    assert better >= 2


def test_no_way_down_is_walked_twice(monkeypatch):
    begun = []

    class Noting(Homotopy):
        def trace(self, **options):
            start = options.get("start")
            ends = self.model.ends
            if isinstance(start, tuple) and ends[0] != ends[1] and ends[0][0] > 0.0:
                begun.append((ends, start[0].pieces(1.0).tobytes()))
            return super().trace(**options)

    monkeypatch.setattr(annealing, "Homotopy", Noting)
    for seed in range(2):
        begun.clear()
        problem = case("hinge", 50, seed, C=10.0, intercept=True, kernel="linear")
        found = anneal(problem.model(), heights=[0.1, 0.2, 0.4, 0.6, 0.8])
        down = [entry for entry in begun if entry[0][1] == (0.0, 0.0)]
        assert len(set(down)) == len(down)
        for trial in found.tried[3:]:
            assert trial.jumps or trial.note == "nothing new on the way back"


def test_the_same_twice():
    problem = case("hinge", 60, 1, C=10.0, intercept=True, kernel="linear")
    first, second = anneal(problem.model()), anneal(problem.model())
    assert first.objective == second.objective
    np.testing.assert_array_equal(first.alpha, second.alpha)
    assert [t.name for t in first.tried] == [t.name for t in second.tried]


# ---------------------------------------------------------------------- the target


def test_the_target_is_where_the_path_of_the_model_ends():
    problem = case("hinge", 40, 2, intercept=True, s=-0.3)
    assert anneal(problem.model()).parameters == {"theta": 0.0, "s": -0.3}
    along_s = problem.model(path="s", theta=0.2)
    assert anneal(along_s).parameters == {"theta": 0.2, "s": -0.3}
    line = problem.model().line((1.0, -2.0), (0.1, -0.5))
    assert anneal(line).parameters == {"theta": 0.1, "s": -0.5}
    lad = case("lad", 40, 2, path="s")
    stop = lad.trace().traced[1]
    assert anneal(lad.model()).parameters == pytest.approx({"theta": 0.0, "s": stop}, rel=1e-9)
    X, y = regression(30, 2, 1)
    truncated = TruncatedQuadratic(X, y, C=2.0, gamma=0.5, path="s")
    stop = Homotopy(truncated).trace().traced[1]
    assert anneal(truncated).parameters["s"] == pytest.approx(stop, rel=1e-9)


def test_a_target_of_ones_own():
    model = case("hinge", 40, 2, intercept=True).model()
    by_order, by_name = anneal(model, (0.1, -0.5)), anneal(model, {"theta": 0.1, "s": -0.5})
    assert by_order.parameters == by_name.parameters == {"theta": 0.1, "s": -0.5}
    assert by_order.objective == by_name.objective


def test_a_convex_target_has_one_optimum():
    model = case("hinge", 40, 2, intercept=True).model()
    found = anneal(model, (1.0, 0.0))
    assert len(found.tried) == 1
    assert found.objective == pytest.approx(Homotopy(model).trace().objective(1.0), rel=1e-10)
    X, y = regression(30, 2, 1)
    tube = EpsilonRamp(X, y, C=2.0, epsilon=0.2, gamma=0.5, path="eps")
    found = anneal(tube)
    consistent(found)
    assert found.parameters == {"theta": 0.0, "s": np.inf, "eps": 0.2}
    assert found.objective == pytest.approx(Homotopy(tube).trace().objective(0.2), rel=1e-9)


def test_routes_of_ones_own():
    model = case("hinge", 60, 1, C=10.0, intercept=True).model()
    ways = {"by a corner": [(1.0, -1.0), (0.3, -1.0), (0.0, 0.0)]}
    found = anneal(model, routes=ways)
    consistent(found)
    assert found.tried[0].name == "by a corner"
    assert {trial.name.split(",")[0] for trial in found.tried} == {"by a corner"}
    unnamed = anneal(model, (0.0, 0.0), routes=list(ways.values()), heights=())
    assert unnamed.tried[0].name == "route 1"
    assert unnamed.objective == found.tried[0].objective


# ---------------------------------------------------------------------- ugly data


def test_separable_data_has_no_outliers_and_one_way():
    X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    found = anneal(HingeRamp(X, [0, 0, 1, 1], C=10.0, kernel="linear", fit_intercept=True))
    consistent(found)
    assert found.tried[0].name == "along theta"
    assert "along s" not in [trial.name for trial in found.tried]
    assert found.improvement == 0.0


@pytest.mark.parametrize("intercept", [False, True])
def test_zero_rows_duplicates_and_constant_columns(intercept):
    for seed in range(2):
        problem = case("hinge", 30, seed, data="integer")
        X, y = problem.X.copy(), problem.y
        X[::4] = 0.0
        X[:, 1] = 3.0
        X[20:30] = X[:10]
        for s in (0.0, -0.5):
            model = HingeRamp(X, y, C=5.0, kernel="linear", s=s, fit_intercept=intercept)
            found = anneal(model)
            consistent(found)
            assert not_above(found.objective, Homotopy(model).trace().objective(0.0))
        level = LADRamp(X, np.round(2.0 * X[:, 0] + y), C=5.0, s=1.0, fit_intercept=intercept)
        consistent(anneal(level))


def test_all_the_same_row():
    X, y = np.ones((6, 2)), np.array([1, 1, 1, -1, -1, 1])
    consistent(anneal(HingeRamp(X, y, C=1.0, kernel="linear")))
    consistent(anneal(HingeRamp(X, y, C=1.0, kernel="linear", fit_intercept=True)))


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_one_and_two_rows(kernel):
    for intercept in (False, True):
        options = {"C": 1.0, "kernel": kernel, "fit_intercept": intercept}
        one = anneal(LADRamp([[1.0]], [3.0], s=0.5, **options))
        consistent(one)
        for plugin, own in ((HuberRamp, {"delta": 0.1}), (TruncatedQuadratic, {})):
            consistent(anneal(plugin([[1.0]], [3.0], s=0.5, **own, **options)))
        consistent(anneal(HingeRamp([[1.0], [-1.0]], [1, -1], **options)))
        consistent(anneal(HingeRamp([[1.0], [1.0]], [1, -1], **options)))


def test_one_class_is_refused_by_the_model():
    with pytest.raises(DataError, match="class"):
        anneal(HingeRamp([[1.0], [2.0]], [1, 1], C=1.0))


def test_weights_of_zero_and_over_decades():
    problem = case("lad", 40, 3, intercept=True)
    weights = 10.0 ** np.random.default_rng(0).uniform(-3, 3, size=40)
    weights[::5] = 0.0
    consistent(anneal(problem.model(sample_weight=weights)))


# ---------------------------------------------------------------------- budget, failure, Ctrl-C


def test_the_number_of_walks_is_kept():
    model = case("hinge", 60, 1, C=10.0, intercept=True, kernel="linear").model()
    for most in (1, 2, 3, 5):
        found = anneal(model, max_walks=most)
        assert len(found.tried) == most
        assert not found.exhausted
        consistent(found)
    assert anneal(model, max_walks=1).improvement == 0.0
    assert "the budget was over" in anneal(model, max_walks=1).summary()


def test_the_seconds_are_kept():
    model = case("hinge", 150, 1, C=10.0, intercept=True, kernel="linear").model()
    whole = anneal(model)
    with pytest.raises(TraceError, match="max_seconds"):
        anneal(model, max_seconds=1e-7)
    try:
        some = anneal(model, max_seconds=0.5 * whole.seconds)
    except TraceError:
        # A machine that has become that slow meanwhile.
        return
    consistent(some)
    assert len(some.tried) <= len(whole.tried)


def test_a_walk_that_fails_is_recorded_and_survived():
    model = case("hinge", 40, 2, intercept=True).model()
    ways = {"lost": [(0.0, -1.0), (0.0, 0.0)], "down": [(1.0, 0.0), (0.0, 0.0)]}
    found = anneal(model, routes=ways)
    consistent(found)
    lost = found.tried[0]
    assert lost.name == "lost"
    assert np.isnan(lost.objective)
    assert lost.certified is False
    assert "not convex" in lost.note
    assert found.found_by.name != "lost"
    assert np.isnan(found.improvement)
    assert "where lost does not lead" in found.summary()
    with pytest.raises(TraceError, match="no walk of HingeRamp ends in a certified optimum"):
        anneal(model, routes={"lost": ways["lost"]})


def test_walks_that_are_stopped_are_not_returned():
    model = case("hinge", 60, 2, C=10.0, intercept=True, kernel="linear").model()
    with pytest.raises(TraceError, match="along theta: stopped at max_breakpoints"):
        anneal(model, max_breakpoints=3)


class Failing(HingeRamp):
    """Numerical trouble wherever only s moves."""

    def polyline(self, t):
        start, stop = self.ends or ((1.0,), (0.0,))
        if start[0] == stop[0] == 0.0 and start != stop:
            raise TraceError("trouble")
        return super().polyline(t)


def test_numerical_trouble_on_one_route():
    problem = case("hinge", 40, 2, intercept=True)
    found = anneal(Failing(problem.X, problem.y, C=1.0, gamma=0.5, fit_intercept=True))
    consistent(found)
    assert found.tried[1].name == "along s"
    assert "trouble" in found.tried[1].note
    # A way back that fails is not tried higher up.
    back = {trial.name for trial in found.tried if trial.name.startswith("along s, back")}
    assert back == {"along s, back 0.01"}


def test_what_cannot_be_certified_is_not_returned(monkeypatch):
    problem = case("hinge", 60, 1, C=10.0, intercept=True, kernel="linear")
    with pytest.raises(TraceError, match=r"not certified: .* off by"):
        anneal(problem.model(), tol=1e-300)
    expected = anneal(problem.model())
    certify, asked = Path.certify, []

    def first_fails(path, *tol, **where):
        # (A trace may ask, too: without a tolerance.)
        asked.extend(tol)
        return certify(path, *((1e-300,) if tol and len(asked) == 1 else tol), **where)

    monkeypatch.setattr(Path, "certify", first_fails)
    found = anneal(problem.model())
    assert found.tried[0].certified is False
    assert "not certified" in found.tried[0].note
    assert found.objective <= expected.tried[1].objective
    assert found.found_by is not found.tried[0]


@pytest.mark.parametrize("at", [1, 2, 5, 9])
def test_an_interruption_leaves_the_best_so_far(monkeypatch, at):
    problem = case("hinge", 60, 1, C=10.0, intercept=True, kernel="linear")
    count = 0

    class Interrupted(Homotopy):
        def trace(self, **options):
            nonlocal count
            count += 1
            if count == at:
                raise KeyboardInterrupt
            return super().trace(**options)

    whole = anneal(problem.model())
    monkeypatch.setattr(annealing, "Homotopy", Interrupted)
    if at <= 2:
        # Nothing has been found yet.
        with pytest.raises(KeyboardInterrupt) as caught:
            anneal(problem.model())
        assert not isinstance(caught.value, AnnealInterrupted)
        return
    with pytest.raises(TraceInterrupted, match=r"\.annealed holds <Annealed HingeRamp") as caught:
        anneal(problem.model())
    found = caught.value.annealed
    consistent(found)
    assert caught.value.path is found.path
    assert not found.exhausted
    assert found.tried[0].objective == whole.tried[0].objective
    assert len(found.tried) < len(whole.tried)


# ---------------------------------------------------------------------- what one gets


def test_what_the_result_is():
    problem = case("hinge", 60, 1, C=10.0, intercept=True, kernel="linear")
    model = problem.model()
    found = anneal(model)
    assert isinstance(found.tried[0], Trial)
    assert repr(found).startswith("<Annealed HingeRamp at theta=0, s=0: objective ")
    text = found.summary()
    assert text.splitlines()[0].startswith("HingeRamp at theta=0, s=0: objective ")
    assert all(trial.name in text for trial in found.tried)
    assert len(text.splitlines()) == 3 + len(found.tried)
    assert found.seconds >= sum(trial.seconds for trial in found.tried) - 1e-6
    f = found.decision_function(problem.X)
    np.testing.assert_allclose(problem.y * f, found.path.response(1.0), atol=1e-9)
    with pytest.raises(AttributeError):
        found.best = None
    again = pickle.loads(pickle.dumps(found))
    assert again.objective == found.objective
    assert again.summary() == text


def test_the_optimum_is_a_start():
    problem = case("hinge", 60, 1, C=10.0, intercept=True, kernel="linear")
    model = problem.model()
    found = anneal(model)
    for start in ((found.path, 1.0), found.alpha):
        on = Homotopy(model.line((0.0, 0.0), (0.0, -1.0))).trace(start=start)
        assert on.certify().ok
        assert not_above(on.objective(0.0), found.objective)


def test_a_start_for_the_convex_problem():
    problem = case("hinge", 60, 1, C=10.0, intercept=True)
    near = Homotopy(problem.model(C=9.0)).trace()
    plain = anneal(problem.model())
    for start in (near, (near, 1.0), near.alpha(1.0)):
        if start is near:
            # A path in theta says nothing about t.
            with pytest.raises(PathError, match="say where on the path to begin"):
                anneal(problem.model(), start=start)
            continue
        assert anneal(problem.model(), start=start).objective == pytest.approx(plain.objective)


def test_a_bar_shows_how_much_is_used(capsys):
    anneal(case("hinge", 40, 1).model(), progress=True)
    assert "anneal 100%" in capsys.readouterr().err


# ---------------------------------------------------------------------- any model with lines


class Hill(LossModel):
    """Losses with a jump at s, outliers with the weight theta; its points are (theta, s)."""

    parameter = "t"

    def __init__(self, Q, ends=None):
        self.gram, self.Q, self.span, self.ends = DenseGram(Q), Q, (0.0, 1.0), ends

    def line(self, start, stop):
        return Hill(self.Q, (start, stop))

    def polyline(self, t):
        theta, s = (a + (z - a) * t for a, z in zip(*self.ends, strict=True))
        return Slope("O", theta), Jump(s), Slope("L", 1.0), Knot("E", 1.0), Slope("R", 0.0)


def test_any_model_with_lines():
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(40, 3)) + 0.4
    model = Hill(rows @ rows.T)
    with pytest.raises(ModelError, match="Hill does not say which ways lead to a target; give"):
        anneal(model)
    ways = {"down": [(1.0, 0.0), (0.0, 0.0)], "in": [(1.0, -9.0), (0.0, -9.0), (0.0, 0.0)]}
    found = anneal(model, routes=ways)
    consistent(found)
    for corners in ways.values():
        assert not_above(found.objective, walk(model, corners).at(-1).objective)
    assert found.parameters == {}
    assert repr(found).startswith("<Annealed Hill at the target: ")
    assert any("back" in trial.name for trial in found.tried)
    with pytest.raises(ModelError, match="no decision function"):
        found.decision_function(rows)
    as_arrays = [[np.array(point) for point in corners] for corners in ways.values()]
    assert anneal(model, routes=as_arrays).objective == found.objective


def test_bad_arguments():
    model = case("hinge", 20, 2).model()
    for arguments, message in (
        ({"heights": [0.5, 1.0]}, "heights must lie between 0 and 1 .*, got 1"),
        ({"heights": 0.5}, "heights must be a list of numbers, got 0.5"),
        ({"heights": ["high"]}, "a height must be a number, got 'high'"),
        ({"max_walks": 0}, "max_walks must be a positive integer, got 0"),
        ({"max_seconds": -1.0}, "max_seconds must be positive and finite, got -1.0"),
        ({"tol": 0.0}, "tol must be positive and finite, got 0.0"),
        ({"progress": "yes"}, "progress must be True or False, got 'yes'"),
        ({"max_breakpoint": 3}, "there is no option 'max_breakpoint'; those of Homotopy are"),
        ({"routes": 3}, "routes must be a dict of name -> corners or a list of corners, got 3"),
        ({"routes": []}, "routes is empty"),
        ({"routes": [1.0, 0.0]}, "route 1 must be a list of corners, got 1.0"),
        ({"routes": [[(1.0, 0.0)]]}, "a route needs two corners or more, route 1 has 1"),
        (
            {"routes": [[(1.0, 0.0), (0.0, 0.0)], [(1.0, 0.0), (0.0, 0.5)]]},
            "route 'route 2' ends at .*, not at the target",
        ),
        (
            {"target": (0.0, 0.1), "routes": [[(1.0, 0.0), (0.0, 0.0)]]},
            "route 'route 1' ends at .*, not at the target",
        ),
    ):
        with pytest.raises(ModelError, match=f"^anneal: {message}"):
            anneal(model, **arguments)
    with pytest.raises(ModelError, match="max_breakpoints must be a positive integer"):
        anneal(model, max_breakpoints=-1)
    with pytest.raises(ModelError, match="s must be at most 1"):
        anneal(model, (0.0, 2.0))
    with pytest.raises(ModelError, match=r"a point of a line is \(theta, s\), got"):
        anneal(model, (0.0, 0.0, 0.0))
    with pytest.raises(ModelError, match="model must be a LossModel with a method line"):
        anneal(object())
    truncated = family()[2]["truncated"]
    with pytest.raises(ModelError, match="theta and s multiply each other"):
        anneal(truncated, routes=[[(1.0, 3.0), (0.0, 0.6)]])
    rows = np.eye(3)
    with pytest.raises(ModelError, match="there is no point between"):
        anneal(Hill(rows), routes=[["here", "there"]])
