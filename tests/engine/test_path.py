"""What a path answers: exact at any t, both sides of a jump, small in memory, exact in a file."""

from __future__ import annotations

import io
import json
import pickle
import zipfile

import numpy as np
import pytest
from oracles import kernel_matrix
from problems import case, sample_points
from toys import Toy

from homotopy import DataError, Homotopy, Knot, ModelError, Path, PathError, Slope, Status

CASES = {
    f"{kind}-{path}": case(kind, 40, 2, kernel="linear", C=5.0, intercept=True, path=path, s=s)
    for kind, s in (("hinge", 0.0), ("lad", 0.3))
    for path in ("theta", "s")
}


@pytest.fixture(scope="module", params=list(CASES))
def traced(request):
    problem = CASES[request.param]
    path = problem.trace()
    assert path.jumps
    return problem, path


# ------------------------------------------------------------------ shape


def test_break_points_are_in_order_of_travel_and_include_both_ends(traced):
    problem, path = traced
    points = path.breakpoints
    assert (points[0], points[-1]) == path.span == path.traced
    sign = 1 if (problem.kind, problem.path) == ("hinge", "s") else -1
    assert np.all(sign * np.diff(points) > 0)
    assert {j.t for j in path.jumps} <= set(points)
    if problem.path == "theta":
        assert path.span == (1.0, 0.0)


def test_break_points_cannot_be_written_to(traced):
    _, path = traced
    with pytest.raises(ValueError, match="read-only"):
        path.breakpoints[0] = 0.5
    with pytest.raises(ValueError, match="read-only"):
        path.segments.alpha_start[0] = 0.5
    with pytest.raises(AttributeError):
        path.status = Status.FAILED


@pytest.mark.parametrize("name", ["hinge-s", "lad-s"])
def test_the_span_of_an_s_path_starts_at_the_extreme_response(name):
    problem = CASES[name]
    start, stop = problem.trace().span
    convex = problem.reference().convex()
    if problem.kind == "hinge":
        assert start == pytest.approx(convex.u.min(), rel=1e-8)
        assert stop == 0.0
    else:
        assert start == pytest.approx(np.abs(problem.y - convex.u).max(), rel=1e-8)
        assert stop == pytest.approx(0.2 * start, rel=1e-14)


def test_repr_and_summary_say_what_was_traced(traced):
    problem, path = traced
    text = repr(path)
    assert type(path.model).__name__ in text
    assert f"{len(path.jumps)} jumps" in text
    assert f"{path.breakpoints.size} break-points" in text
    assert path.status.value in text
    summary = path.summary()
    assert f"n = {len(problem.y)}" in summary
    assert f"{path.jumps[0].t:.6g}" in summary


# ------------------------------------------------------------------ values


def test_between_break_points_the_path_is_the_conditional_optimum(traced):
    """Interpolation is exact: at random t an independent solver finds the same solution."""
    problem, path = traced
    reference = problem.reference()
    for t in sample_points(path, 12, seed=1):
        theta, s = problem.at(t)
        u = path.response(t)
        best = reference.conditional(reference.sides(u, s), theta, s)
        assert path.objective(t) == pytest.approx(best.value, rel=1e-9)
        b = path.intercept(t)
        assert isinstance(b, float)
        np.testing.assert_allclose(
            u - reference.border[:, 0] * b, best.u - reference.border @ best.b, atol=1e-7
        )


def test_alpha_response_intercept_and_objective_agree_with_the_formulas(traced):
    problem, path = traced
    reference = problem.reference()
    points = np.concatenate([path.breakpoints, sample_points(path, 10)])
    for t in points:
        for side in ("before", "after"):
            alpha, b = path.alpha(t, side), path.intercept(t, side)
            theta, s = problem.at(t)
            u = reference.response(alpha, b)
            np.testing.assert_allclose(path.response(t, side), u, rtol=1e-10, atol=1e-10)
            value = reference.objective(alpha, b, theta, s)
            assert path.objective(t, side) == pytest.approx(value, rel=1e-11)
            assert reference.violation(alpha, b, theta, s) < 1e-9


def test_partition_covers_every_index_once_and_fits_the_response(traced):
    problem, path = traced
    n = len(problem.y)
    for t in np.concatenate([path.breakpoints, sample_points(path, 10)]):
        for side in ("before", "after"):
            parts = path.partition(t, side)
            everyone = np.concatenate(list(parts.values()))
            assert sorted(everyone.tolist()) == list(range(n))
            u, (_, s) = path.response(t, side), problem.at(t)
            slack = 1e-9
            if problem.kind == "hinge":
                assert list(parts) == ["O", "L", "E", "R"]
                assert np.all(u[parts["O"]] <= s + slack)
                assert np.all(u[parts["L"]] >= s - slack)
                assert np.all(u[parts["L"]] <= 1 + slack)
                assert np.all(np.abs(u[parts["E"]] - 1) <= slack)
                assert np.all(u[parts["R"]] >= 1 - slack)
            else:
                assert list(parts) == ["O+", "I+", "E", "I-", "O-"]
                r = problem.y - u
                assert np.all(r[parts["O+"]] >= s - slack)
                assert np.all(np.abs(r[parts["I+"]] - s / 2) <= s / 2 + slack)
                assert np.all(np.abs(r[parts["E"]]) <= slack * 10)
                assert np.all(np.abs(r[parts["I-"]] + s / 2) <= s / 2 + slack)
                assert np.all(r[parts["O-"]] <= -s + slack)


def test_sides_differ_at_jumps_and_agree_elsewhere(traced):
    _, path = traced
    times = {j.t for j in path.jumps}
    moved = {j.t for j in path.jumps if j.moved}
    for t in path.breakpoints:
        before, after = path.response(t, "before"), path.response(t, "after")
        gap = float(np.abs(after - before).max())
        if t in moved:
            assert gap > 1e-7
        elif t not in times:
            assert gap < 1e-8
    for t in sample_points(path, 10):
        np.testing.assert_array_equal(path.alpha(t, "before"), path.alpha(t, "after"))


def test_each_side_of_a_jump_is_the_limit_of_the_path(traced):
    _, path = traced
    start, stop = path.traced
    tiny = 1e-10 * (stop - start)
    for jump in path.jumps:
        if jump.t != start:
            before = path.response(jump.t - tiny, "after")
            np.testing.assert_allclose(before, path.response(jump.t, "before"), atol=1e-6)
        if jump.t != stop:
            after = path.response(jump.t + tiny, "before")
            np.testing.assert_allclose(after, path.response(jump.t, "after"), atol=1e-6)


@pytest.mark.parametrize("t", [1.5, -0.1, np.nan, np.inf])
@pytest.mark.parametrize(
    "method", ["alpha", "response", "intercept", "objective", "partition", "border_multipliers"]
)
def test_outside_the_span_is_an_error_that_names_the_interval(method, t):
    path = CASES["hinge-theta"].trace()
    with pytest.raises(PathError, match=r"theta=\S+ lies outside the traced interval \[0, 1\]"):
        getattr(path, method)(t)


def test_outside_a_partial_path_the_message_says_why():
    path = CASES["hinge-theta"].trace(max_breakpoints=4)
    with pytest.raises(PathError, match="stopped at max_breakpoints"):
        path.alpha(0.0)


def test_side_and_t_are_checked():
    path = CASES["hinge-theta"].trace()
    with pytest.raises(PathError, match="side must be 'after' or 'before', got 'left'"):
        path.alpha(0.5, "left")
    with pytest.raises(PathError, match="theta must be a number, got 'half'"):
        path.alpha("half")


def test_rounding_at_the_ends_is_forgiven():
    path = CASES["hinge-theta"].trace()
    np.testing.assert_array_equal(path.alpha(1.0 + 1e-15), path.alpha(1.0))
    np.testing.assert_array_equal(path.alpha(-1e-15), path.alpha(0.0))


# ------------------------------------------------------------------ new data


def test_the_decision_function_is_the_kernel_expansion(traced):
    problem, path = traced
    new = np.random.default_rng(9).normal(size=(7, 3))
    K = kernel_matrix(new, problem.X, problem.kernel, problem.gamma)
    sign = problem.reference().sign
    for t in (*sample_points(path, 5), path.jumps[0].t):
        for side in ("before", "after"):
            expected = K @ (sign * path.alpha(t, side)) + path.intercept(t, side)
            np.testing.assert_allclose(
                path.decision_function(new, t, side), expected, rtol=1e-9, atol=1e-10
            )
    # On the training data it is the response.
    t = float(sample_points(path, 1)[0])
    np.testing.assert_allclose(
        sign * path.decision_function(problem.X, t), path.response(t), rtol=1e-9, atol=1e-10
    )


def test_new_data_of_the_wrong_width_is_an_error():
    path = CASES["hinge-theta"].trace()
    with pytest.raises(DataError, match=r"X has 2 columns, the model has 3 features"):
        path.decision_function(np.ones((4, 2)), 0.5)
    with pytest.raises(DataError, match=r"X\[1, 0\] is nan"):
        path.decision_function(np.array([[0.0, 0, 0], [np.nan, 0, 0]]), 0.5)


def test_a_model_without_a_kernel_has_no_decision_function():
    model = Toy([[1.0]], (0.0, 1.0), lambda t: (Slope("L", t), Knot("E", 1.0), Slope("R", 0.0)))
    path = Homotopy(model).trace()
    with pytest.raises(ModelError, match="Toy has no decision function"):
        path.decision_function(np.ones((1, 1)), 0.5)


# ------------------------------------------------------------------ memory


def test_memory_is_the_active_sets_and_the_events_not_n_per_break_point():
    problem = case("hinge", 300, 0, d=2, kernel="linear", C=1.0, intercept=True)
    path = problem.trace()
    s = path.segments
    points, n = len(path.breakpoints), 300
    assert points > 100
    assert s.active.size == s.offset[-1] < 0.05 * n * points
    assert s.changed.size < 10 * points
    assert s.nbytes < 8 * n * points / 4
    # Nothing else of that size hides in the path.
    assert len(pickle.dumps(s)) < 8 * n * points / 4


# ------------------------------------------------------------------ files


def assert_same(old: Path, new: Path) -> None:
    np.testing.assert_array_equal(new.breakpoints, old.breakpoints)
    assert new.span == old.span
    assert new.status is old.status
    assert new.counts == old.counts
    for t in (*old.breakpoints, *sample_points(old, 5)):
        for side in ("before", "after"):
            np.testing.assert_array_equal(new.alpha(t, side), old.alpha(t, side))
            assert new.intercept(t, side) == old.intercept(t, side)
            assert new.objective(t, side) == old.objective(t, side)
    assert len(new.jumps) == len(old.jumps)
    for a, b in zip(old.jumps, new.jumps, strict=True):
        np.testing.assert_array_equal(a.flipped, b.flipped)
        for name in ("t", "objective_before", "objective_after", "rounds", "moved", "steps"):
            assert getattr(a, name) == getattr(b, name)
            assert type(getattr(a, name)) is type(getattr(b, name))
        assert a.solver == b.solver


def test_a_saved_path_comes_back_bit_for_bit(traced, tmp_path):
    problem, path = traced
    file = tmp_path / "a path.npz"
    path.save(file)
    back = Path.load(file, problem.model())
    assert_same(path, back)
    assert back.certify().ok
    back.save(tmp_path / "again.npz")
    assert_same(path, Path.load(str(tmp_path / "again.npz"), problem.model()))


def test_a_path_without_jumps_and_a_partial_one_survive_too(tmp_path):
    model = Toy([[2.0]], (0.0, 3.0), lambda t: (Slope("L", t), Knot("E", 1.0), Slope("R", 0.0)))
    path = Homotopy(model).trace()
    path.save(tmp_path / "toy.npz")
    assert_same(path, Path.load(tmp_path / "toy.npz", model))
    partial = CASES["hinge-theta"].trace(max_breakpoints=5)
    partial.save(tmp_path / "partial.npz")
    back = Path.load(tmp_path / "partial.npz", CASES["hinge-theta"].model())
    assert back.status is Status.LIMIT
    assert_same(partial, back)


def test_the_file_holds_no_pickle(traced, tmp_path):
    _, path = traced
    file = tmp_path / "path.npz"
    path.save(file)
    with np.load(file, allow_pickle=False) as stored:
        for name in stored.files:
            assert stored[name].dtype.kind in "biufU"
        header = json.loads(stored["header"].tobytes())
    assert header["model"] == type(path.model).__name__


def test_a_file_that_carries_a_pickle_is_refused(tmp_path):
    file = tmp_path / "evil.npz"
    np.savez(file, header=np.array([{"format": 1}], dtype=object))
    with pytest.raises(PathError, match=r"evil\.npz: not a saved path"):
        Path.load(file, CASES["hinge-theta"].model())


@pytest.mark.parametrize(
    "change",
    [{"C": 5.1}, {"kernel": "rbf"}, {"s": -0.1}, {"fit_intercept": False}, {"path": "s"}],
    ids=lambda change: next(iter(change)),
)
def test_another_model_is_refused(tmp_path, change):
    problem = CASES["hinge-theta"]
    file = tmp_path / "path.npz"
    problem.trace().save(file)
    with pytest.raises(PathError, match="traced with another model or other data"):
        Path.load(file, problem.model(**change))


def test_other_data_and_another_plugin_are_refused(tmp_path):
    problem = CASES["hinge-theta"]
    file = tmp_path / "path.npz"
    problem.trace().save(file)
    other = problem.X.copy()
    other[17, 1] += 1e-3
    with pytest.raises(PathError, match="traced with another model or other data"):
        Path.load(
            file,
            type(problem.model())(other, problem.y, C=5.0, kernel="linear", fit_intercept=True),
        )
    with pytest.raises(PathError, match=r"Path.load: .* the model that was traced is needed"):
        Path.load(file)
    with pytest.raises(PathError, match="traced with another model"):
        Path.load(file, CASES["lad-theta"].model())


def spoil(file, tmp_path, name, content):
    """A copy of `file` with one member replaced."""
    new = tmp_path / "spoiled.npz"
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(new, "w") as out:
        for entry in old.namelist():
            data = old.read(entry)
            out.writestr(entry, content if entry == name else data)
    return new


def test_broken_files_are_refused_with_their_name(tmp_path):
    problem = CASES["hinge-theta"]
    model = problem.model()
    with pytest.raises(PathError, match=r"nowhere\.npz: no such file"):
        Path.load(tmp_path / "nowhere.npz", model)
    text = tmp_path / "text.npz"
    text.write_text("not a path")
    with pytest.raises(PathError, match=r"text\.npz: not a saved path"):
        Path.load(text, model)
    empty = tmp_path / "empty.npz"
    empty.write_bytes(b"")
    with pytest.raises(PathError, match=r"empty\.npz: not a saved path"):
        Path.load(empty, model)
    other = tmp_path / "other.npz"
    np.savez(other, x=np.ones(3))
    with pytest.raises(PathError, match=r"other\.npz: not a saved path"):
        Path.load(other, model)
    array = tmp_path / "array.npy"
    np.save(array, np.ones(3))
    with pytest.raises(PathError, match=r"array\.npy: not a saved path"):
        Path.load(array, model)
    good = tmp_path / "good.npz"
    problem.trace().save(good)
    cut = tmp_path / "cut.npz"
    cut.write_bytes(good.read_bytes()[: good.stat().st_size // 2])
    with pytest.raises(PathError, match=r"cut\.npz: not a saved path"):
        Path.load(cut, model)


def test_a_file_of_another_format_or_with_parts_missing_is_refused(tmp_path):
    problem = CASES["hinge-theta"]
    good = tmp_path / "good.npz"
    problem.trace().save(good)
    with np.load(good) as stored:
        header = json.loads(stored["header"].tobytes())
        arrays = {name: stored[name] for name in stored.files}
    stream = io.BytesIO()
    text = json.dumps(header | {"format": 99}).encode()
    np.save(stream, np.frombuffer(text, dtype=np.uint8))
    newer = spoil(good, tmp_path, "header.npy", stream.getvalue())
    with pytest.raises(PathError, match="format 99; this version reads 2"):
        Path.load(newer, problem.model())
    for missing in ("alpha_start", "jump_t"):
        fewer = tmp_path / "fewer.npz"
        np.savez(fewer, **{k: v for k, v in arrays.items() if k != missing})
        with pytest.raises(PathError, match=r"fewer\.npz"):
            Path.load(fewer, problem.model())
