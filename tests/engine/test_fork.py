"""Forks of optima: one row moved, against DAQP, against traces without it, and back."""

from __future__ import annotations

from contextlib import suppress

import attrs
import numpy as np
import numpy.typing as npt
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from oracles import Infeasible, solve_qp
from scipy.optimize import linprog
from toys import Toy, certified

from homotopy import (
    DenseGram,
    Homotopy,
    Knot,
    LinearGram,
    ModelError,
    NewRow,
    PathError,
    Slope,
    TraceError,
)
from homotopy.forking.tolerances import FORK_TOLERANCES

Array = npt.NDArray[np.float64]


@attrs.frozen
class Box:
    """``min 1/2 a'Qa + sum a^2 / (2 bend) - t k'a, low <= a <= high, B'a = e``."""

    phi: Array
    k: Array
    low: Array
    high: Array
    B: Array
    e: Array
    bend: float = 0.0
    features: bool = False
    sparse: bool = False

    def pieces(self, t, rows=slice(None)):
        k, low, high = self.k[rows], self.low[rows], self.high[rows]
        if not self.bend:
            return Slope("high", high), Knot("E", t * k), Slope("low", low)
        # alpha = bend (t k - u) between the bounds.
        return (
            Slope("high", high),
            Knot("up", t * k - high / self.bend),
            Slope("bent", self.bend * t * k, self.bend),
            Knot("down", t * k - low / self.bend),
            Slope("low", low),
        )

    @property
    def Q(self):
        return self.phi @ self.phi.T

    def model(self):
        phi = sp.csr_matrix(self.phi) if self.sparse else self.phi
        gram = LinearGram(phi) if self.features else DenseGram(self.Q)
        border = self.B if self.B.size else None
        return Toy(
            gram, (0.5, 1.0), self.pieces, border=border, target=self.e if self.B.size else 0
        )

    def solve(self, t: float, held: dict[int, float]) -> Array:
        """alpha, with the rows `held` where they are: HiGHS says whether there is one, DAQP which,
        in the variables that are free."""
        n = self.k.size
        low, high = self.low.copy(), self.high.copy()
        for row, value in held.items():
            low[row] = high[row] = value
        alpha, free = low.copy(), low < high
        left = self.e - self.B[~free].T @ alpha[~free]
        if self.B.size:
            sides = list(zip(low[free], high[free], strict=True)) or [(0.0, 0.0)]
            rows = self.B[free].T if free.any() else np.zeros((left.size, 1))
            found = linprog(np.zeros(len(sides)), A_eq=rows, b_eq=left, bounds=sides)
            if found.status == 2:
                raise Infeasible
        if not free.any():
            return alpha
        bent = [0.0 if i in held or not self.bend else 1.0 / self.bend for i in range(n)]
        H = self.Q + np.diag(bent) + 1e-9 * np.eye(n)
        f = H[np.ix_(free, ~free)] @ alpha[~free] - t * self.k[free]
        # Equations that say the same twice are one.
        values, vectors = np.linalg.eigh(self.B[free].T @ self.B[free])
        basis = vectors[:, values > 1e-9].T
        rows = np.vstack([np.eye(free.sum()), basis @ self.B[free].T])
        sides = [np.concatenate([side[free], basis @ left]) for side in (low, high)]
        try:
            alpha[free] = solve_qp(H[np.ix_(free, free)], f, rows, *sides)
        except RuntimeError:
            # DAQP cycles now and then.
            assume(False)
        return alpha

    def value(self, t: float, alpha: Array, held: dict[int, float]) -> float:
        free = np.array([i not in held for i in range(self.k.size)])
        bent = 0.5 * (alpha[free] ** 2).sum() / self.bend if self.bend else 0.0
        return float(0.5 * alpha @ self.Q @ alpha + bent - t * self.k @ alpha)


@st.composite
def boxes(draw):
    n, d = draw(st.integers(2, 12)), draw(st.integers(1, 4))
    whole = st.integers(-2, 2)
    phi = np.array(
        draw(st.lists(st.lists(whole, min_size=d, max_size=d), min_size=n, max_size=n)), float
    )
    if draw(st.booleans()):
        phi += 0.1 * np.random.default_rng(draw(st.integers(0, 99))).normal(size=phi.shape)
    if draw(st.booleans()):
        phi = phi[np.arange(n) // 2]
    k = np.array(draw(st.lists(st.integers(-3, 3), min_size=n, max_size=n)), float)
    low = -np.array(draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)), float)
    high = low + np.array(draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)), float)
    m = draw(st.integers(0, 2))
    B = np.zeros((n, 0))
    if m:
        B = np.ones((n, 1))
        if m == 2:
            B = np.column_stack([B, np.arange(n) - n // 2])
    e = B.T @ np.clip(np.zeros(n) + 0.5 * (low + high), low, high)
    features = draw(st.booleans())
    bend = draw(st.sampled_from([0.0, 0.0, 0.5]))
    return Box(phi, k, low, high, B, e, bend, features, features and draw(st.booleans()))


VALUES = st.integers(-20, 20).map(lambda k: k / 10)


def fork_of(box, t):
    """A fork; problems whose start the engine declines are not drawn."""
    try:
        path = Homotopy(box.model()).trace()
    except TraceError:
        assume(False)
    fork = path.fork(t)
    # Walk through the tableau from the first move on.
    fork._mover._moves = FORK_TOLERANCES.patience
    return fork


def assert_certified(optimum):
    # Where everything has gone to 0 there is nothing that rounding could be measured by.
    if np.abs(optimum.response).max() > 1e-12:
        certificate = optimum.certify()
        assert certificate.ok, str(certificate)


def assert_optimal(box, t, moved):
    assert_certified(moved)
    expected = box.value(t, box.solve(t, moved.held), moved.held)
    found = box.value(t, moved.alpha, moved.held)
    assert found == pytest.approx(expected, abs=1e-6 * (1.0 + abs(expected)))


def pushed(box, t, fork, row, value):
    """A push; None where there is nowhere to go, which HiGHS or DAQP must say too.  (They are
    wrong where one point is all that is allowed: then the certificate decides.)"""
    held = fork.held
    try:
        box.solve(t, held | {row: value})
    except Infeasible:
        with suppress(TraceError):
            moved = fork.push(row, value)
            assert_certified(moved)
            return moved
        assert not fork.held
        return None
    moved = fork.push(row, value)
    assert moved.held == held | {row: value}
    assert moved.alpha[row] == value
    assert_optimal(box, t, moved)
    return moved


@given(
    boxes(),
    st.floats(0.5, 1.0),
    st.lists(st.tuples(st.integers(0, 11), VALUES), min_size=1, max_size=4),
)
@settings(max_examples=150)
def test_pushes_lead_to_what_daqp_finds(box, t, moves):
    fork = fork_of(box, t)
    base = fork.optimum()
    for row, value in moves:
        pushed(box, t, fork, row % box.k.size, value)
    fork.restore()
    assert np.array_equal(fork.optimum().alpha, base.alpha)
    assert np.array_equal(fork.optimum().response, base.response)


@given(boxes(), st.floats(0.5, 1.0), st.integers(0, 11), VALUES)
@settings(max_examples=80)
def test_the_way_is_a_path_that_is_certified(box, t, row, value):
    fork = fork_of(box, t)
    row %= box.k.size
    start = fork.optimum().alpha[row]
    assume(pushed(box, t, fork, row, value) is not None)
    fork.restore()
    moved = fork.push(row, value, nodes=True)
    way = moved.nodes
    assert way.traced == pytest.approx((start, value), abs=1e-14)
    assert way.certify().ok or np.abs(way.response(way.breakpoints)).max() < 1e-12
    places, own = moved.trail()
    assert own[-1] == pytest.approx(moved.own_response, abs=1e-9)
    # np.interp wants places that grow.
    if places[-1] < places[0]:
        places, own = places[::-1], own[::-1]
    first, last = way.traced
    for a in first + (last - first) * np.array([0.137, 0.5281, 0.8713]):
        alpha = way.alpha(a)
        assert alpha[row] == pytest.approx(a, abs=1e-12)
        assert np.interp(a, places, own) == pytest.approx(way.response(a)[row], abs=1e-9)
        with suppress(Infeasible):
            expected = box.value(t, box.solve(t, {row: a}), {row: a})
            found = box.value(t, alpha, {row: a})
            assert found == pytest.approx(expected, abs=1e-6 * (1 + abs(expected)))
    # u_row can only grow with alpha_row.
    assert np.all(np.diff(own) >= -1e-9)


@given(boxes(), st.floats(0.5, 1.0), st.integers(0, 11), VALUES)
@settings(max_examples=80)
def test_a_row_let_go_finds_back(box, t, row, value):
    fork = fork_of(box, t)
    base, row = fork.optimum(), row % box.k.size
    assume(pushed(box, t, fork, row, value) is not None)
    moved = fork.release(row)
    assert moved.held == {}
    assert_certified(moved)
    assert box.value(t, moved.alpha, {}) == pytest.approx(box.value(t, base.alpha, {}), abs=1e-8)
    np.testing.assert_allclose(box.Q @ moved.alpha, box.Q @ base.alpha, atol=1e-7)


@given(boxes(), st.floats(0.5, 1.0), st.integers(1, 3))
@settings(max_examples=80)
def test_rows_added_one_after_the_other_make_the_problem_with_them(box, t, count):
    n = box.k.size
    assume(n > count)
    kept, new = slice(n - count), range(n - count, n)
    few = attrs.evolve(
        box, phi=box.phi[kept], k=box.k[kept], low=box.low[kept], high=box.high[kept], B=box.B[kept]
    )
    # What the old rows alone can balance, so that they have an optimum.
    few = attrs.evolve(few, e=few.B.T @ (0.5 * (few.low + few.high)))
    box = attrs.evolve(box, e=few.e)
    assume(few.B.size == 0 or np.linalg.matrix_rank(few.B) == few.B.shape[1])
    # A row whose alpha cannot be 0 need not have an optimum.
    assume(all(box.low[i] <= 0.0 <= box.high[i] for i in new))
    fork = fork_of(few, t)
    base = fork.optimum()
    for i in new:
        row = NewRow(
            polyline=box.pieces(t, slice(i, i + 1)),
            column=box.Q[i, :i],
            diagonal=box.Q[i, i],
            features=box.phi[i],
            border=box.B[i],
        )
        moved = fork.add_row(row)
    assert moved.row == n - 1
    assert_certified(moved)
    with suppress(Infeasible):
        # (DAQP may say so where one point is all that is allowed.)
        assert_optimal(box, t, moved)
    u = box.Q @ moved.alpha + box.B @ moved.border_multipliers
    np.testing.assert_allclose(moved.response, u, atol=1e-8)
    fork.restore()
    np.testing.assert_allclose(fork.optimum().alpha, base.alpha, atol=1e-12)
    assert fork.added == ()


@given(boxes(), st.floats(0.5, 1.0), st.data())
@settings(max_examples=60)
def test_rows_left_out_are_those_removed(box, t, data):
    """Also from an optimum from which another row has been taken."""
    fork = fork_of(box, t)
    if data.draw(st.booleans()):
        assume(pushed(box, t, fork, data.draw(st.integers(0, box.k.size - 1)), 0.0) is not None)
    here = fork.optimum()
    for row in range(box.k.size):
        if row in here.held:
            continue
        try:
            left = fork.leave_one_out([row])
        except TraceError:
            with pytest.raises(Infeasible):
                box.solve(t, here.held | {row: 0.0})
            continue
        assert np.array_equal(fork.optimum().alpha, here.alpha)
        assert np.array_equal(fork.optimum().response, here.response)
        b = left.border_multipliers[0]
        with suppress(Infeasible):
            alpha = box.solve(t, here.held | {row: 0.0})
            u = (box.Q @ alpha)[row] + box.B[row] @ b
            assert left.response[0] == pytest.approx(u, abs=1e-5 * (1.0 + abs(u)))


# ------------------------------------------------------------------ by hand


def two_rows():
    """u = alpha + b; knots at 0 and 1, |alpha| <= 1."""
    return Toy(
        np.eye(2),
        (0.0, 1.0),
        lambda t: (Slope("up", 1.0), Knot("E", np.array([0.0, 1.0])), Slope("down", -1.0)),
        border=np.ones(2),
    )


def test_two_rows_by_hand():
    fork = certified(two_rows()).fork(0.5)
    base = fork.optimum()
    np.testing.assert_allclose(base.alpha, [-0.5, 0.5])
    np.testing.assert_allclose(base.border_multipliers, [0.5])
    # With alpha_1 = 0.25 the other is -0.25 and on its knot 0: b = 0.25, u_1 = 0.5.
    moved = fork.push(1, 0.25, nodes=True)
    np.testing.assert_allclose(moved.alpha, [-0.25, 0.25])
    np.testing.assert_allclose(moved.response, [0.0, 0.5])
    assert moved.own_response == pytest.approx(0.5)
    np.testing.assert_allclose(moved.trail(), ([0.5, 0.25], [1.0, 0.5]))
    assert {k: v.tolist() for k, v in moved.partition().items()} == {"up": [], "E": [0], "down": []}
    removed = fork.remove(1)
    np.testing.assert_allclose(removed.alpha, [0.0, 0.0])
    back = fork.release(1)
    np.testing.assert_allclose(back.alpha, base.alpha)
    assert not fork.held
    assert "2 rows" in repr(fork)


def test_one_row():
    model = Toy(np.eye(1), (0.0, 1.0), lambda t: (Slope("a", 2.0), Knot("E", 1.0), Slope("b", 0.0)))
    fork = certified(model).fork(0.0)
    assert fork.optimum().alpha.tolist() == [1.0]
    assert fork.remove(0).response.tolist() == [0.0]
    assert fork.release(0).alpha.tolist() == [1.0]
    assert fork.leave_one_out().response.tolist() == [0.0]
    row = NewRow(model.polyline(0.0), column=np.array([1.0]), diagonal=1.0)
    both = fork.add_row(row)
    np.testing.assert_allclose(both.alpha.sum(), 1.0)
    assert both.certify().ok


def test_a_row_that_nothing_can_stand_in_for():
    """Two rows that must sum to 1, each at most 1/2: none can go."""
    model = Toy(
        np.eye(2),
        (0.0, 1.0),
        lambda t: (Slope("most", 0.5), Knot("E", t), Slope("least", 0.0)),
        border=np.ones(2),
        target=1.0,
    )
    fork = certified(model).fork(1.0)
    before = fork.optimum()
    with pytest.raises(TraceError, match=r"row 0 cannot be taken to alpha=0 at t=1 .*balanced"):
        fork.remove(0)
    np.testing.assert_array_equal(fork.optimum().alpha, before.alpha)
    with pytest.raises(TraceError, match="row 1 could not be left out"):
        fork.leave_one_out([1])
    np.testing.assert_array_equal(fork.optimum().alpha, before.alpha)
    assert fork.push(0, 0.5).certify().ok


def three(place):
    """Three rows that must sum to 0, each within -1 and 1 of its knot."""
    rows = np.array([[2.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 2.0]])
    pieces = Slope("most", 1.0), Knot("E", np.array(place)), Slope("least", -1.0)
    return Toy(rows, (0.0, 1.0), lambda t: pieces, border=np.ones(3), target=0.0)


@pytest.mark.parametrize("by", [1e-1, 1e-6, 1e-9, 1e-10, 1e-12])
@pytest.mark.parametrize("row", range(3))
def test_a_push_that_nobody_can_balance_is_refused_however_small(by, row):
    fork = certified(three([0.0, 1.0, 5.0])).fork(0.0)
    alpha = fork.optimum().alpha
    for other in {0, 1, 2} - {row}:
        fork.push(other, alpha[other])
    with pytest.raises(TraceError, match=r"cannot be taken to alpha=.*balanced"):
        fork.push(row, alpha[row] + by)


@pytest.mark.parametrize("by", [1e-6, 1e-9, 1e-10, 1e-12])
def test_a_small_push_is_balanced_by_a_row_that_b_slides_to(by):
    """All rows are at an end of their range, and b is free in an interval."""
    place = [-9.0, 0.5, 9.0, 9.5]
    model = Toy(
        1e-3 * np.eye(4),
        (0.0, 1.0),
        lambda t: (Slope("most", 1.0), Knot("E", np.array(place)), Slope("least", -1.0)),
        border=np.ones(4),
        target=0.0,
    )
    fork = certified(model).fork(0.0)
    alpha = fork.optimum().alpha
    np.testing.assert_array_equal(alpha, [-1.0, -1.0, 1.0, 1.0])
    moved = fork.push(0, -1.0 + by)
    assert moved.certify().ok
    assert abs(moved.alpha.sum()) <= 1e-15
    assert moved.alpha[2] == pytest.approx(1.0 - by, abs=1e-15)


def test_what_is_left_of_a_push_back_to_0_is_0():
    """Everything is 0 without the push: no rounding may be left to compare rounding with."""
    model = three([0.0, 0.0, 0.0])
    for row in range(3):
        fork = certified(model).fork(0.5)
        assert fork.push(row, 1e-9).certify().ok
        moved = fork.push(row, 0.0)
        assert moved.certify().ok
        assert not moved.alpha.any()
        assert not moved.response.any()


@pytest.mark.parametrize(
    ("row", "alpha", "message"),
    [
        (2, 0.0, "row 2 does not exist; there are 2 rows"),
        (-3, 0.0, "row -3 does not exist"),
        (0.5, 0.0, "row must be a row number, got 0.5"),
        (True, 0.0, "row must be a row number"),
        (0, np.nan, "alpha must be finite, got nan"),
        (0, np.inf, "alpha must be finite, got inf"),
        (0, "many", "alpha must be a number, got 'many'"),
    ],
)
def test_what_is_no_move_is_refused(row, alpha, message):
    fork = certified(two_rows()).fork(0.5)
    with pytest.raises(PathError, match=message):
        fork.push(row, alpha)


def test_other_questions_that_have_no_answer():
    path = certified(two_rows())
    fork = path.fork(0.5)
    with pytest.raises(PathError, match="lies outside"):
        path.fork(1.5)
    with pytest.raises(PathError, match="side must be"):
        path.fork(0.5, side="left")
    with pytest.raises(PathError, match="row 1 is not held"):
        fork.release(1)
    with pytest.raises(ModelError, match="is not a Predictor"):
        fork.insert([1.0])
    with pytest.raises(ModelError, match="has no decision function"):
        fork.decision_function([[1.0]])
    with pytest.raises(ModelError, match="nodes=True"):
        fork.push(0, 0.1).trail()
    with pytest.raises(PathError, match="list of row numbers"):
        fork.leave_one_out([0.5])
    pieces = Slope("up", 1.0), Knot("E", 0.0), Slope("down", -1.0)
    for row, message in (
        (NewRow(pieces, column=np.ones(3), border=[1.0]), "column must be 2 finite numbers"),
        (NewRow(pieces, border=[1.0]), "column must be 2 finite numbers"),
        (NewRow(pieces, column=np.ones(2), diagonal=-1.0, border=[1.0]), "diagonal"),
        (NewRow(pieces, column=np.ones(2), diagonal=1.0), "border must be 1 finite numbers"),
        (NewRow(pieces[:1], column=np.ones(2), border=[1.0]), "1 piece given"),
        (NewRow(pieces + pieces[1:], column=np.ones(2), border=[1.0]), "names must differ"),
    ):
        with pytest.raises(ModelError, match=message):
            fork.insert_row(row)
    assert fork.added == ()
    assert fork.push(0, 0.0).certify().ok


def test_an_indefinite_form_has_no_forks():
    class Saddle(Toy):
        unknown = "alpha"

        def initial_guess(self):
            return np.zeros(2)

    gram = DenseGram(np.diag([1.0, -1.0]), semidefinite=False)
    pieces = lambda t: (Slope("up", 1.0), Knot("E", t), Slope("down", -1.0))  # noqa: E731
    path = certified(Saddle(gram, (0.0, 0.1), pieces))
    with pytest.raises(ModelError, match="not positive semidefinite"):
        path.fork(0.0)
