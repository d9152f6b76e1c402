"""Many paths one after the other: each is the path that a trace of its own would find."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from toys import Toy, certified

from homotopy import (
    DenseGram,
    Gram,
    Homotopy,
    Jump,
    Knot,
    LinearGram,
    ModelError,
    Path,
    PathSequence,
    Slope,
    TraceError,
)
from homotopy.engine import Homotopy as Engine

Array = npt.NDArray[np.float64]


class Box(Toy):
    """min over alpha  1/2 alpha'Q alpha - c(t)'alpha,  0 <= alpha <= 1."""

    unknown = "alpha"

    def __init__(self, gram: Gram, first: Array, last: Array, border: Any, target: float) -> None:
        super().__init__(gram, (0.0, 1.0), self._pieces, border=border, target=target)
        self.first, self.last = first, last

    def _pieces(self, t: Any) -> Any:
        c = self.first + t * (self.last - self.first)
        return Slope("full", 1.0), Knot("between", c), Slope("none", 0.0)


def legs(seed: int, n: int, count: int, *, features: bool, border: bool, whole: bool) -> list[Box]:
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, max(n // 2, 1)))
    places = 3.0 * rng.normal(size=(count + 1, n))
    if whole:
        # Repeated rows and places on a grid: ties, and legs along which nothing happens.
        rows, places = np.round(rows[rng.integers(0, n, n)]), np.round(places)
        places[2] = places[1]
    gram = LinearGram(rows) if features else DenseGram(rows @ rows.T + (not whole) * np.eye(n))
    columns = np.ones(n) if border else None
    target = 0.5 * n if border else 0.0
    return [Box(gram, *pair, columns, target) for pair in itertools.pairwise(places)]


def product(path: Path, t: float) -> Array:
    """Q alpha, which is unique; b is not where every alpha is at an end of its range."""
    return np.asarray(path.response(t) - path.problem.border @ path.border_multipliers(t))


def traces(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The models that are traced from the beginning, as they come."""
    models: list[Any] = []
    own = Engine._run

    def noted(self: Engine, *given: Any) -> Any:
        models.append(self.model)
        return own(self, *given)

    monkeypatch.setattr(Engine, "_run", noted)
    return models


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("border", [False, True])
@pytest.mark.parametrize("features", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_each_path_is_that_of_a_trace_of_its_own(
    seed: int, features: bool, border: bool, whole: bool
) -> None:
    models = legs(seed, 12, 8, features=features, border=border, whole=whole)
    sequence = PathSequence()
    for model in models:
        path = sequence.trace(model)
        certificate = path.certify()
        assert certificate.ok, str(certificate)
        assert path.complete
        alone = certified(model)
        for t in (0.0, 0.3, 0.7, 1.0):
            assert product(path, t) == pytest.approx(product(alone, t), abs=1e-9)
            assert path.objective(t) == pytest.approx(alone.objective(t), rel=1e-9, abs=1e-9)


def test_only_the_first_of_many_legs_is_traced_from_the_beginning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun = traces(monkeypatch)
    models = legs(0, 30, 20, features=False, border=True, whole=False)
    sequence = PathSequence()
    paths = [sequence.trace(model) for model in models]
    assert begun == models[:1]
    # What came later has not changed what was returned before.
    assert all(path.certify().ok for path in paths)


def test_steps_are_counted_for_each_leg() -> None:
    models = legs(1, 20, 3, features=False, border=False, whole=False)
    sequence = PathSequence()
    paths = [sequence.trace(model) for model in models]
    for path in paths[1:]:
        assert path.counts["start_steps"] == 0
        assert path.counts["c_steps"] >= path.breakpoints.size - 1
        assert path.counts["c_steps"] <= 3 * path.breakpoints.size


def test_a_model_with_another_form_goes_on_from_the_end_of_the_path_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun = traces(monkeypatch)
    first, second = legs(2, 10, 2, features=False, border=False, whole=False)
    # The same numbers in another object are not known to be the same.
    other = Box(
        DenseGram(second.gram.block(*2 * [np.arange(10)])), second.first, second.last, None, 0
    )
    sequence = PathSequence()
    sequence.trace(first)
    path = sequence.trace(other)
    assert begun == [first, other]
    assert path.certify().ok
    assert path.counts["start_steps"] == 0


def test_a_model_that_begins_elsewhere_is_traced_as_well() -> None:
    first, _, third = legs(3, 10, 3, features=False, border=True, whole=False)
    sequence = PathSequence()
    sequence.trace(first)
    path = sequence.trace(third)
    assert path.certify().ok
    assert path.response(0.0) == pytest.approx(certified(third).response(0.0), abs=1e-9)


def test_a_model_of_another_size_begins_anew() -> None:
    sequence = PathSequence()
    sequence.trace(legs(4, 10, 1, features=False, border=False, whole=False)[0])
    path = sequence.trace(legs(4, 7, 1, features=False, border=False, whole=False)[0])
    assert path.certify().ok


def ramp(gram: Gram, start: float, stop: float) -> Toy:
    def pieces(theta: Any) -> Any:
        return Slope("O", 3.0 * theta), Jump(0.0), Slope("L", 3.0), Knot("E", 1.0), Slope("R", 0.0)

    return Toy(gram, (start, stop), pieces)


def test_jumps_are_crossed_on_a_later_leg() -> None:
    X = np.random.default_rng(8).normal(size=(10, 3))
    y = np.sign(X[:, 0]) * np.where(np.arange(10) < 3, -1.0, 1.0)
    gram = DenseGram(np.outer(y, y) * (X @ X.T))
    whole = certified(ramp(gram, 1.0, 0.0))
    assert len(whole.jumps) == 2
    sequence, found = PathSequence(), []
    for start, stop in ((1.0, 0.6), (0.6, 0.3), (0.3, 0.0)):
        path = sequence.trace(ramp(gram, start, stop))
        assert path.certify().ok
        found += [jump.t for jump in path.jumps]
        for t in np.linspace(start, stop, 5)[1:-1].tolist():
            assert path.response(t) == pytest.approx(whole.response(t), abs=1e-9)
    assert found == pytest.approx([jump.t for jump in whole.jumps], rel=1e-12)


def test_after_a_leg_that_cannot_be_traced_the_sequence_begins_anew() -> None:
    models = legs(6, 8, 2, features=False, border=True, whole=False)
    impossible = Box(models[0].gram, models[0].last, models[0].last + 1.0, models[0].border, 100.0)
    sequence = PathSequence()
    sequence.trace(models[0])
    with pytest.raises(TraceError, match="no optimum"):
        sequence.trace(impossible)
    assert sequence.trace(models[1]).certify().ok


def test_a_leg_that_was_stopped_is_not_gone_on_from() -> None:
    first, second = legs(7, 30, 2, features=False, border=False, whole=False)
    sequence = PathSequence(max_breakpoints=3)
    path = sequence.trace(first)
    assert not path.complete
    again = sequence.trace(second)
    assert again.traced[0] == 0.0
    assert again.response(0.0) == pytest.approx(certified(second).response(0.0), abs=1e-9)


def test_a_start_of_your_own_is_used() -> None:
    first, second = legs(8, 10, 2, features=False, border=False, whole=False)
    sequence = PathSequence()
    sequence.trace(first)
    path: Path = sequence.trace(second, start=np.zeros(10))
    assert path.certify().ok


def test_a_bad_model_is_refused_before_any_work() -> None:
    with pytest.raises(ModelError, match="must be a LossModel"):
        PathSequence().trace("model")  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="d_step"):
        PathSequence(d_step="magic").trace(
            legs(0, 4, 1, features=False, border=False, whole=False)[0]
        )


def test_a_leg_with_corners_out_of_order_is_refused() -> None:
    gram = DenseGram(np.eye(2))

    def pieces(high: float) -> Any:
        return lambda t: (
            Slope("a", 1.0),
            Knot("b", 0.0 * t),
            Slope("c", 0.0),
            Knot("d", high * t),
            Slope("e", -1.0),
        )

    sequence = PathSequence()
    sequence.trace(Toy(gram, (0.0, 1.0), pieces(1.0)))
    with pytest.raises(ModelError, match="corners must not cross"):
        sequence.trace(Toy(gram, (0.0, 1.0), pieces(-1.0)))


def test_a_slope_that_begins_to_bend_is_not_gone_on_from() -> None:
    """Its coordinate is not in the factor, and its equation does not hold."""
    gram, level = LinearGram([[1.0, 0.3], [0.2, 1.0], [0.5, 0.5]]), np.array([1.0, 2.0, 3.0])

    def leg(first: Array, bend: list[float]) -> Toy:
        bends = np.array(bend)
        return Toy(
            gram,
            (0.0, 1.0),
            lambda t: (
                Slope("in", first + t, curvature=bends),
                Knot("k", 50.0),
                Slope("out", -100.0),
            ),
        )

    bent = leg(level + 1.0, [1.0, 1.0, 0.5])
    sequence = PathSequence()
    sequence.trace(leg(level, [0.0, 1.0, 0.5]))
    path = sequence.trace(bent)
    assert path.certify().ok
    for t in (0.0, 1.0):
        assert path.alpha(t) == pytest.approx(certified(bent).alpha(t), abs=1e-12)


def test_options_are_those_of_a_trace() -> None:
    model = legs(9, 6, 1, features=False, border=False, whole=False)[0]
    with pytest.raises(TypeError):
        PathSequence(no_such_option=1).trace(model)
    assert PathSequence(d_step="homotopy").trace(model).certify().ok
    assert Homotopy(model, d_step="homotopy").trace().certify().ok
