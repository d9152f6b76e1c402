"""Legs in one run of compiled code: each is the path that a trace of its own would find."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import pytest
from test_sequence import Box, legs, product, ramp, traces
from toys import Toy, certified

from homotopy import (
    Affine,
    DenseGram,
    Knot,
    Legs,
    ModelError,
    PathSequence,
    Slope,
    TraceError,
    TraceInterrupted,
)
from homotopy.tracing.tolerances import TraceTolerances
from homotopy.tracker import Tracker


def between(models: list[Box], targets: Any = None) -> Legs:
    """The legs of these models."""
    corners = np.array([*(m.first for m in models), models[-1].last])[:, :, None]
    border = models[0].border
    if targets is None:
        targets = np.full(len(corners), 0.0 if border is None else models[0].border_target)
    columns = 0 if border is None else 1
    return Legs(corners, np.reshape(targets, (-1, 1))[:, :columns], models.__getitem__)


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("border", [False, True])
@pytest.mark.parametrize("features", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_each_path_is_that_of_a_trace_of_its_own(
    seed: int, features: bool, border: bool, whole: bool
) -> None:
    models = legs(seed, 12, 10, features=features, border=border, whole=whole)
    paths = list(PathSequence().trace_legs(between(models)))
    assert len(paths) == len(models)
    for path, model in zip(paths, models, strict=True):
        certificate = path.certify()
        assert certificate.ok, str(certificate)
        assert path.complete
        assert path.model is model
        alone = certified(model)
        for t in (0.0, 0.3, 0.7, 1.0):
            assert product(path, t) == pytest.approx(product(alone, t), abs=1e-9)
            assert path.objective(t) == pytest.approx(alone.objective(t), rel=1e-9, abs=1e-9)
        if not (whole or features):
            # (With a singular Q alpha need not be unique, nor what changes when.)
            assert path.breakpoints == pytest.approx(alone.breakpoints, abs=1e-9)
            assert path.pieces(0.5).tolist() == alone.pieces(0.5).tolist()


def test_only_the_first_is_traced_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = traces(monkeypatch)
    models = legs(0, 30, 40, features=True, border=True, whole=False)
    sequence = PathSequence()
    paths = list(sequence.trace_legs(between(models[:25])))
    paths += sequence.trace_legs(between(models[25:]))
    assert begun == models[:1]
    assert len(paths) == 40
    # What came later has not changed what was returned before.
    assert all(path.certify().ok for path in paths)
    # Counts are those of each leg, and changes of piece those on its way.
    for path in paths[1:]:
        assert path.counts["start_steps"] == 0
        assert path.counts["c_steps"] >= path.breakpoints.size - 1
        assert path.segments.event[1] == 0


def test_targets_move(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = traces(monkeypatch)
    places = np.array([4.0, 5.0, 3.5, 3.5, 6.0])
    models = legs(1, 10, 4, features=False, border=True, whole=False)
    for model, first, last in zip(models, places[:-1], places[1:], strict=True):
        model.border_target = Affine(first, last - first)
    for path, model in zip(PathSequence().trace_legs(between(models, places)), models, strict=True):
        assert path.certify().ok
        for t in (0.0, 0.4, 1.0):
            assert path.alpha(t).sum() == pytest.approx(model.border_target.at(t))
    assert begun == models[:1]


def test_slanted_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = traces(monkeypatch)
    rng = np.random.default_rng(3)
    rows, bend = rng.normal(size=(9, 4)), rng.uniform(0.5, 2.0, 9)
    gram, places = DenseGram(rows @ rows.T), rng.normal(size=(7, 9))

    def model(k: int) -> Toy:
        first, last = places[k], places[k + 1]
        return Toy(
            gram,
            (0.0, 1.0),
            lambda t: (
                Slope("left", 1.0, curvature=bend),
                Knot("at", first + t * (last - first)),
                Slope("right", -1.0, curvature=bend),
            ),
        )

    paths = list(PathSequence().trace_legs(Legs(places[:, :, None], np.zeros((7, 0)), model)))
    assert len(begun) == 1
    for k, path in enumerate(paths):
        assert path.certify().ok
        assert path.response(0.6) == pytest.approx(certified(model(k)).response(0.6), abs=1e-9)


def test_models_with_jumps_are_traced_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    gram = DenseGram(np.diag([1.0, 2.0, 0.5]))
    models = [ramp(gram, 1.0, 0.5), ramp(gram, 0.5, 0.0)]
    corners = np.tile([0.0, 1.0], (3, 3, 1))
    monkeypatch.setattr(Tracker, "run_legs", None)
    for path in PathSequence().trace_legs(Legs(corners, np.zeros((3, 0)), models.__getitem__)):
        assert path.certify().ok


def stopping(monkeypatch: pytest.MonkeyPatch, where: int) -> None:
    """Let compiled code give up in the leg with this number, once."""
    own, calls = Tracker.run_legs, []

    def less(self: Any, corner: Any, target: Any, scale: Any) -> Any:
        calls.append(len(corner))
        if len(calls) == 1:
            noted, _ = own(self, corner[: where + 1], target[: where + 1], scale[:where])
            return noted, where
        return own(self, corner, target, scale)

    monkeypatch.setattr(Tracker, "run_legs", less)


def test_a_leg_given_up_is_traced_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    models = legs(2, 12, 9, features=False, border=True, whole=False)
    stopping(monkeypatch, 3)
    begun = traces(monkeypatch)
    for path, model in zip(PathSequence().trace_legs(between(models)), models, strict=True):
        assert path.certify().ok
        assert path.objective(0.5) == pytest.approx(certified(model).objective(0.5), rel=1e-9)
    # `certified` traces each once; so do the first, and the one that was given up.
    assert begun.count(models[0]) == 2
    assert begun.count(models[4]) == 2
    assert begun.count(models[5]) == 1


def test_a_leg_in_doubt_is_left_to_the_certificate(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[Any] = []
    monkeypatch.setattr(
        "homotopy.tracing.legs.holds", lambda path: looked.append(path) or len(looked) != 3
    )
    models = legs(2, 12, 6, features=False, border=False, whole=False)
    begun = traces(monkeypatch)
    # A strain of nothing leaves every leg in doubt; the third is refused and traced by itself.
    sequence = PathSequence(tracing=attrs.evolve(TraceTolerances(), strain=0.0))
    paths = list(sequence.trace_legs(between(models)))
    assert [path.model for path in paths] == models
    assert begun == [models[0], models[3]]
    assert all(path.certify().ok for path in paths)


def test_what_was_traced_before_a_failure_is_there() -> None:
    models = legs(6, 8, 4, features=False, border=True, whole=False)
    targets = np.array([4.0, 4.0, 4.0, 100.0, 100.0])
    models[2].border_target = Affine(4.0, 96.0)
    paths = PathSequence().trace_legs(between(models, targets))
    found = [next(paths), next(paths)]
    with pytest.raises(TraceError, match="no optimum"):
        next(paths)
    assert all(path.certify().ok for path in found)


@pytest.mark.parametrize("where", [1, 2, 4])
def test_a_leg_without_any_scale_is_traced_by_itself(
    where: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = legs(3, 8, 6, features=False, border=True, whole=False)
    places = np.array([*(m.first for m in models), models[-1].last])
    places[where] = places[where + 1] = 0.0
    models = [
        Box(m.gram, first, last, m.border, 4.0)
        for m, first, last in zip(models, places[:-1], places[1:], strict=True)
    ]
    begun = traces(monkeypatch)
    paths = list(PathSequence().trace_legs(between(models)))
    assert begun[:2] == [models[0], models[where]]
    for path, model in zip(paths, models, strict=True):
        assert path.certify().ok
        assert path.objective(0.5) == pytest.approx(certified(model).objective(0.5), abs=1e-9)


def test_limits_are_kept() -> None:
    models = legs(7, 30, 3, features=False, border=False, whole=False)
    paths = list(PathSequence(max_breakpoints=3).trace_legs(between(models)))
    assert not any(path.complete for path in paths)


def test_many_segments_and_a_large_factor_need_room() -> None:
    models = legs(8, 150, 12, features=False, border=True, whole=False)
    for path, model in zip(PathSequence().trace_legs(between(models)), models, strict=True):
        assert path.certify().ok
        assert path.breakpoints.size > 25
        assert path.objective(1.0) == pytest.approx(certified(model).objective(1.0), rel=1e-9)


@pytest.mark.parametrize("what", ["corners", "targets"])
def test_tables_of_another_shape_are_refused(what: str) -> None:
    models = legs(0, 5, 3, features=False, border=True, whole=False)
    given = between(models)
    spoiled = attrs.evolve(given, **{what: getattr(given, what)[:, :-1]})
    with pytest.raises(ModelError, match=rf"Legs: {what} must have shape \(legs \+ 1, "):
        list(PathSequence().trace_legs(spoiled))


def test_no_legs_are_no_paths() -> None:
    nothing = Legs(np.zeros((1, 3, 1)), np.zeros((1, 0)), lambda k: pytest.fail(str(k)))
    assert list(PathSequence().trace_legs(nothing)) == []


def test_ctrl_c_leaves_what_was_traced(monkeypatch: pytest.MonkeyPatch) -> None:
    models = legs(2, 12, 6, features=False, border=False, whole=False)
    own, calls = Tracker.run_legs, []

    def interrupted(self: Any, *given: Any) -> Any:
        calls.append(given)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return own(self, *given)

    monkeypatch.setattr(Tracker, "run_legs", interrupted)
    sequence = PathSequence()
    paths = list(sequence.trace_legs(between(models[:3])))
    with pytest.raises((KeyboardInterrupt, TraceInterrupted)):
        list(sequence.trace_legs(between(models[3:])))
    assert all(path.certify().ok for path in paths)
    # The sequence begins anew.
    assert sequence.trace(models[3]).certify().ok
