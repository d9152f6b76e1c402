"""The certificate must be able to fail: every corruption of a good path is noticed."""

from __future__ import annotations

import attrs
import numpy as np
import pytest
from numba import njit
from problems import case, features, labels, targets
from toys import CPath, Huber, Lasso, Step, Toy

from homotopy import (
    Affine,
    Homotopy,
    Jump,
    Knot,
    LinearGram,
    ModelError,
    PathError,
    Residual,
    Slope,
    TraceError,
)
from homotopy.model import Problem
from homotopy.path import Path, Status
from homotopy.path.certificate import polylines as on
from homotopy.path.certificate import proven_part
from homotopy.path.certificate.examination import _beside_border
from homotopy.path.segments import Segments
from homotopy.testing import hostile_problem
from homotopy_plugins import HingeRamp, LADRamp

PROBLEM = case("hinge", 60, 2, C=10.0, kernel="linear", intercept=True)


@pytest.fixture(scope="module")
def path() -> Path:
    found = PROBLEM.trace()
    assert found.certify().ok
    assert sum(j.moved for j in found.jumps) >= 3
    assert len(found.segments) >= 20
    return found


def with_segments(path: Path, **changes) -> Path:
    return attrs.evolve(path, segments=attrs.evolve(path.segments, **changes))


def failing(path: Path, tol: float = 1e-8) -> set[str]:
    certificate = path.certify(tol)
    assert certificate.ok == (not any(not c.ok for c in certificate.checks))
    return {c.name for c in certificate.checks if not c.ok}


def test_a_good_path_says_so(path):
    certificate = path.certify()
    assert certificate.worst <= 1e-8
    assert certificate.tol == 1e-8
    text = str(certificate)
    assert "certified to 1e-08" in text
    for name in ("polyline", "border", "gap", "objective", "continuity", "jumps", "corners"):
        assert name in text
    points = 2 * len(path.segments)
    assert {c.name: c.count for c in certificate.checks}["polyline"] >= 60 * points


def test_an_alpha_off_its_polyline(path):
    alpha = path.segments.alpha_stop.copy()
    largest = int(np.argmax(np.abs(alpha)))
    alpha[largest] *= 1.0 + 1e-6
    bad = with_segments(path, alpha_stop=alpha)
    assert "polyline" in failing(bad)
    assert "NOT certified" in str(bad.certify())
    assert bad.certify().worst > 1e-8
    assert not failing(bad, tol=1e-3) & {"polyline", "border"}


@pytest.mark.parametrize("side", ["start", "stop"])
def test_a_wrong_intercept(path, side):
    b = getattr(path.segments, f"b_{side}").copy()
    b[len(b) // 2] += 1e-5
    assert "polyline" in failing(with_segments(path, **{f"b_{side}": b}))


def test_an_unbalanced_border(path):
    """All alpha of one segment too large by a factor: u is off, and so is y'alpha."""
    s = path.segments
    alpha = s.alpha_start.copy()
    k = int(np.argmax(np.diff(s.offset)))
    alpha[s.offset[k]] += 1e-3 * np.abs(alpha).max()
    assert "border" in failing(with_segments(path, alpha_start=alpha))


def test_a_coordinate_left_on_its_old_piece(path):
    """One event of the log is lost: the first that takes a coordinate to the slope L."""
    s = path.segments
    assert path.problem.polylines.names[2] == "L"
    lost = next(k for k in range(s.event[1], s.changed.size) if s.changed_to[k] == 2)
    event = s.event.copy()
    event[event > lost] -= 1
    keep = np.arange(s.changed.size) != lost
    bad = with_segments(path, event=event, changed=s.changed[keep], changed_to=s.changed_to[keep])
    assert failing(bad)


def test_a_jump_that_is_not_recorded(path):
    moved = next(j for j in path.jumps[1:] if j.moved)
    bad = attrs.evolve(path, jumps=tuple(j for j in path.jumps if j.t != moved.t))
    # Those on the jump change branch without one, and w moves.
    assert failing(bad) == {"continuity", "jumps"}


def test_a_jump_recorded_with_another_objective(path):
    jumps = list(path.jumps)
    jumps[1] = attrs.evolve(jumps[1], objective_after=jumps[1].objective_after * (1 - 1e-5))
    assert failing(attrs.evolve(path, jumps=tuple(jumps))) == {"jumps"}


def test_a_jump_recorded_where_the_path_does_not_break(path):
    jumps = list(path.jumps)
    t = 0.5 * (path.breakpoints[3] + path.breakpoints[4])
    jumps.append(attrs.evolve(jumps[0], t=float(t)))
    assert failing(attrs.evolve(path, jumps=tuple(jumps))) == {"jumps"}


def test_a_jump_that_does_not_fall(path):
    """A record that claims to have moved although nothing did, put at an ordinary break-point."""
    jump = next(j for j in path.jumps if j.moved)
    t = float(path.breakpoints[-1])
    value = path.objective(t)
    fake = attrs.evolve(jump, t=t, objective_before=value, objective_after=value)
    assert failing(attrs.evolve(path, jumps=(*path.jumps, fake))) == {"jumps"}


def test_a_jump_skipped_by_keeping_the_old_side(path):
    """The path is continued past a jump on the partition from before it: a stationary point on
    the wrong side of the corner, which the polyline notices."""
    s = path.segments
    times = {j.t for j in path.jumps}
    k = next(i for i in range(1, len(s)) if s.start[i] in times and s.stop[i] != s.start[i])
    stale = s.pieces(k - 1)
    now = s.pieces(k)
    differing = np.flatnonzero(stale != now)
    assert differing.size
    event = s.event.copy()
    event[k + 1 :] += differing.size
    at = int(s.event[k + 1])
    changed = np.insert(s.changed, at, differing)
    changed_to = np.insert(s.changed_to, at, stale[differing])
    bad = with_segments(path, event=event, changed=changed, changed_to=changed_to)
    assert failing(bad)


def test_a_segment_dropped_from_the_middle(path):
    """Segments k-1 and k+1 glued over the missing one."""
    s: Segments = path.segments
    times = {j.t for j in path.jumps}
    k = next(i for i in range(5, len(s)) if not {s.start[i], s.stop[i]} & times)
    stop = s.stop.copy()
    stop[k - 1] = s.stop[k]
    keep = np.arange(len(s)) != k
    part = np.ones(s.active.size, bool)
    part[s.offset[k] : s.offset[k + 1]] = False
    size = int(s.offset[k + 1] - s.offset[k])
    offset = np.delete(s.offset, k + 1)
    offset[k + 1 :] -= size
    bad = with_segments(
        path,
        start=s.start[keep],
        stop=stop[keep],
        offset=offset,
        active=s.active[part],
        alpha_start=s.alpha_start[part],
        alpha_stop=s.alpha_stop[part],
        b_start=s.b_start[keep],
        b_stop=s.b_stop[keep],
        event=np.delete(s.event, k + 1),
    )
    assert bad.breakpoints.size == path.breakpoints.size - 1
    assert failing(bad)


def test_a_break_point_moved_by_a_little(path):
    s = path.segments
    length = np.abs(s.stop - s.start)
    k = 1 + int(np.argmax(np.minimum(length[1:], length[:-1])))
    assert length[k] > 1e-3
    start, stop = s.start.copy(), s.stop.copy()
    start[k] += 1e-4
    stop[k - 1] += 1e-4
    assert failing(with_segments(path, start=start, stop=stop))


def test_the_path_of_another_problem(path):
    """The right path for the wrong data: C a thousandth larger."""
    other = PROBLEM.model(C=10.01)
    bad = attrs.evolve(path, model=other, problem=Problem.compile(other))
    assert "polyline" in failing(bad)


def test_standing_on_a_jump_corner_is_not_an_optimum():
    """The conditional optimum pinned to its wall satisfies every equation but is no optimum."""
    model = Step([[1.0]], (0.5, 1.5), knot=2.0)
    path = Homotopy(model).trace(start=[1.0])
    # From t = 1 on, pretend that u rides on the jump corner: u = alpha = t between the slopes.
    s = path.segments
    k = next(i for i in range(len(s)) if s.start[i] >= 1.0)
    start, stop = float(s.start[k]), float(s.stop[k])
    offset = s.offset.copy()
    offset[k + 1 :] += 1
    at = int(s.offset[k + 1])
    bad = with_segments(
        path,
        offset=offset,
        active=np.insert(s.active, at, 0),
        alpha_start=np.insert(s.alpha_start, at, start),
        alpha_stop=np.insert(s.alpha_stop, at, stop),
    )
    assert path.certify().ok
    assert failing(bad) & {"corners", "polyline"}


@pytest.mark.parametrize("tol", [0.0, -1.0, np.nan])
def test_the_tolerance_must_be_positive(path, tol):
    with pytest.raises(PathError, match="tol must be positive"):
        path.certify(tol)


def test_a_partial_path_is_certified_as_far_as_it_goes():
    partial = PROBLEM.trace(max_breakpoints=5)
    assert not partial.complete
    assert partial.certify().ok


# ---------------------------------------------------------------------- its own integral


def test_an_objective_that_is_wrong(path, monkeypatch):
    """The certificate integrates the losses itself: an error of the path's objective shows."""
    right = Problem.objective
    monkeypatch.setattr(Problem, "objective", lambda *args: right(*args) * (1.0 + 1e-6))
    assert failing(path) == {"objective"}
    assert failing(path, tol=1e-4) == set()


@pytest.mark.parametrize("t", [0.0, 0.4, 1.0])
def test_the_objective_of_one_point(path, monkeypatch, t):
    assert path.certify(at=t).ok
    right = Problem.objective
    monkeypatch.setattr(Problem, "objective", lambda *args: right(*args) + 1e-3)
    assert {c.name for c in path.certify(at=t).checks if not c.ok} == {"objective"}


def test_slanted_pieces_are_integrated():
    X = features(30, 3, 0)
    y = targets(X, 0)
    found = Homotopy(Huber(X, y, drift=np.cos(np.arange(30.0)), C=2.0, intercept=True)).trace()
    certificate = found.certify()
    assert certificate.ok
    assert certificate.worst < 1e-11
    assert "polyline" in failing(moved(found, 1e-6))
    # The gap is a square where all that is near is slanted.
    assert "gap" in failing(moved(found, 1e-2))


def test_an_alpha_that_a_slanted_piece_has_nowhere():
    """However little is known of u: no u has a negative alpha on a squared hinge."""
    slopes, corners = np.array([[10.0], [0.0]]), np.array([[1.0]])
    terms, bends = (np.ones((2, 2, 1)), np.ones((2, 1, 1))), np.array([[10.0], [0.0]])
    line = on.Line(slopes, corners, *terms, bends, np.zeros(1, bool), travel=0.0, flat=1e-12)

    @njit
    def far(line, u, alpha):
        return on.off(on.piece(line, 0, u, 0), u, alpha, 1e13, 10.0, line.flat)

    def off(u, alpha):
        return far(line, u, alpha)

    assert off(0.5, 5.0) == 0.0
    assert off(0.5, 2.0) < 1e-12
    assert off(18.0, 2.0) < 1e-11
    assert off(18.0, -11.0) == 1.0
    assert off(0.5, -1e-6) > 1e-8


def test_an_offset_of_all_rows_hides_nothing():
    """b makes up for it: of the size of the rows only the rounding counts."""
    X = features(12, 2, 3) + 1e4
    y = targets(features(12, 2, 3), 3)
    model = Toy(
        LinearGram(X), (0.5, 1.0),
        lambda t: (Slope("+", 10.0 * t), Knot("0", y), Slope("-", -10.0 * t)),
        border=np.ones((12, 1)),
    )  # fmt: skip
    found = Homotopy(model).trace()
    assert found.certify().ok
    b = found.segments.b_stop + 1e-3
    assert "polyline" in failing(with_segments(found, b_start=b, b_stop=b))


@pytest.mark.parametrize(
    ("seed", "reason"),
    [
        (245, "e(t) b is a difference of larger numbers where e passes through 0"),
        (1036, "the same with two coordinates"),
        (1443, "w moves by a multiple of the border, b by as much the other way"),
    ],
)
def test_rounding_is_no_break(seed, reason):
    certificate = Homotopy(hostile_problem(seed).model).trace().certify()
    assert certificate.ok, f"{reason}: {certificate}"


def test_a_move_beside_the_border_is_one():
    border = np.array([[1.0], [1.0], [-1.0]])
    assert _beside_border(3.0 * border[:, 0], border, 1e-12) < 1e-15
    assert _beside_border(np.array([1.0, 1.0, 2.0]), border, 1e-12) > 1.0
    assert _beside_border(np.array([1.0, -2.0]), np.zeros((2, 0)), 1e-12) == 2.0
    assert _beside_border(np.array([1.0, np.inf, 0.0]), border, 1e-12) == np.inf


# ---------------------------------------------------------------------- the duality gap


def test_a_gap_where_the_polyline_is_near():
    """At C = 1e7 margins that are short by 3e-9 cost a hundredth of the objective."""
    X = features(12, 2, 1)
    y = np.where(X[:, 0] > 0.0, 1.0, -1.0)
    K = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=-1))
    model = CPath(K, y, (1e-3, 1e4))
    found = Homotopy(model).trace()
    # Every alpha is below C at the end and stays where it is for good.
    assert found.segments.alpha_stop.max() < 1e3
    s = found.segments
    last = slice(s.offset[-2], None)
    stop, alpha, b = s.stop.copy(), s.alpha_stop.copy(), s.b_stop.copy()
    stop[-1], alpha[last], b[-1] = 1e7, s.alpha_start[last], s.b_start[-1]
    found = with_segments(found, stop=stop, alpha_stop=alpha, b_stop=b)
    longer = CPath(K, y, (1e-3, 1e7))
    found = attrs.evolve(found, model=longer, problem=Problem.compile(longer), span=(1e-3, 1e7))
    assert found.certify().ok
    b[-1] += 3e-9
    bad = with_segments(found, b_stop=b)
    assert failing(bad) == {"gap"}
    gap = next(c for c in bad.certify().checks if c.name == "gap")
    assert gap.t == 1e7
    assert gap.worst > 1e-6


def test_the_gap_of_a_problem_with_walls():
    """Lasso: all losses are 0 or infinite, the gap is that of complementary slackness."""
    X = features(40, 8, 3)
    y = targets(X, 3)
    found = Homotopy(Lasso(X, y, (60.0, 0.5))).trace()
    certificate = found.certify()
    assert certificate.ok
    assert certificate.worst < 1e-10
    alpha = found.segments.alpha_stop.copy()
    alpha[-1] *= 1.0 + 1e-5
    bad = with_segments(found, alpha_stop=alpha).certify()
    gap = next(c for c in bad.checks if c.name == "gap")
    assert not gap.ok
    alpha[-1] += 1.0
    bad = with_segments(found, alpha_stop=alpha).certify()
    assert next(c for c in bad.checks if c.name == "gap").worst == np.inf


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 1e200, 1e308])
def test_numbers_that_are_none_fail_without_a_warning(path, value):
    b = path.segments.b_stop.copy()
    b[3] = value
    bad = with_segments(path, b_stop=b).certify()
    assert not bad.ok
    assert not any(np.isnan(c.worst) for c in bad.checks)


# ---------------------------------------------------------------------- scales of its own


def box(upper, n=12, knots=None, seed=0):
    """0 <= alpha_i <= upper_i, knots that move with t."""
    X = features(n, n + 3, seed)
    level = np.linspace(0.5, 2.0, n) if knots is None else knots
    return Toy(
        X @ X.T / n, (0.0, 1.0),
        lambda t: (Slope("full", upper), Knot("held", level * (1.0 + t)), Slope("none", 0.0)),
    )  # fmt: skip


def spoiled(path, coordinate, amount):
    """alpha of one coordinate moved wherever it is active."""
    s = path.segments
    mine = (s.active == coordinate) * amount
    assert np.any(mine)
    return with_segments(path, alpha_start=s.alpha_start + mine, alpha_stop=s.alpha_stop + mine)


def moved(path, amount):
    s = path.segments
    return with_segments(path, b_start=s.b_start + amount, b_stop=s.b_stop + amount)


def test_a_bound_that_never_binds_says_nothing_about_the_others():
    upper = np.full(12, 3.0)
    upper[4] = 1e12
    found = Homotopy(box(upper)).trace()
    assert found.certify().ok
    for i in np.unique(found.segments.active):
        assert "polyline" in failing(spoiled(found, i, 1e-6))
        assert "gap" in failing(spoiled(found, i, 1e-4))


def test_an_alpha_below_the_bounds_of_a_coordinate_with_a_huge_one():
    """-1e-3 is as good as 0 to the polyline of a coordinate bounded by 1e12, not to the gap."""
    some = int(Homotopy(box(3.0)).trace().segments.active[-1])
    upper = np.full(12, 3.0)
    upper[some] = 1e12
    found = Homotopy(box(upper)).trace()
    assert found.certify().ok
    s = found.segments
    alpha = np.where(s.active == some, -1e-3, s.alpha_stop)
    assert np.any(s.active == some)
    assert "gap" in failing(with_segments(found, alpha_stop=alpha))


def test_one_huge_target_says_nothing_about_the_others():
    X = features(40, 3, 1)
    y = targets(X, 1)
    y[7] = 1e9
    found = Homotopy(LADRamp(X, y, C=1.0, kernel="linear", fit_intercept=True)).trace()
    assert found.certify().ok
    assert "polyline" in failing(moved(found, 1e-5))


def test_a_threshold_far_away_says_nothing_about_the_knots():
    X = features(40, 3, 2)
    model = HingeRamp(X, labels(X, 2), C=1.0, s=-1e9, gamma=0.5, fit_intercept=True)
    found = Homotopy(model).trace()
    assert found.certify().ok
    assert "polyline" in failing(moved(found, 1e-5))


@pytest.mark.parametrize("where", ["knot left", "knot right", "jump left", "jump right"])
def test_a_corner_at_infinity_neither_fails_nor_blinds(where):
    X = features(25, 3, 4)
    y = labels(X, 4)
    hinge = lambda t: (Slope("L", 1.0 + t), Knot("E", 1.0), Slope("R", 0.0))  # noqa: E731
    extra = {
        "knot left": lambda t: (Slope("far", 3.0), Knot("K", -np.inf), *hinge(t)),
        "knot right": lambda t: (*hinge(t), Knot("K", np.inf), Slope("far", -1.0)),
        "jump left": lambda t: (Slope("far", 0.5), Jump(-np.inf), *hinge(t)),
        "jump right": lambda t: (*hinge(t), Jump(np.inf), Slope("far", 0.5)),
    }[where]
    gram = LinearGram(X * y[:, None])
    model = Toy(gram, (0.0, 1.0), extra, border=y[:, None])
    # An integral cannot start at the first knot where that is at infinity.
    model.loss_origin = lambda t: 1.0
    found = Homotopy(model).trace()
    certificate = found.certify()
    assert certificate.ok, str(certificate)
    assert certificate.worst < 1e-10
    assert "polyline" in failing(moved(found, 0.1))


# ---------------------------------------------------------------------- rounding is no error


@pytest.mark.parametrize("C", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("kind", ["hinge", "lad"])
def test_large_features_are_certified_as_far_as_rounding_goes(kind, C):
    """Rows a million times longer, costs and alpha a billion billionth: the same responses."""
    small = case(kind, 40, 5, C=C, kernel="linear", intercept=True)
    found = small.trace()
    other = attrs.evolve(small, X=1e6 * small.X, C=1e-12 * C).model()
    s = found.segments
    large = attrs.evolve(
        found,
        model=other,
        problem=Problem.compile(other),
        segments=attrs.evolve(
            s, alpha_start=1e-12 * s.alpha_start, alpha_stop=1e-12 * s.alpha_stop
        ),
        jumps=tuple(
            attrs.evolve(
                jump,
                objective_before=1e-12 * jump.objective_before,
                objective_after=1e-12 * jump.objective_after,
            )
            for jump in found.jumps
        ),
    )
    assert found.certify().ok, str(found.certify())
    assert large.certify().ok, str(large.certify())
    assert failing(moved(large, 1e-3))


@pytest.mark.parametrize("C", [1e-6, 1.0, 1e3])
def test_targets_with_an_offset_are_certified_as_far_as_rounding_goes(C):
    small = case("lad", 40, 6, C=C, intercept=True)
    # Numbers that a sum with the offset keeps.
    small = attrs.evolve(small, y=np.round(1024.0 * small.y) / 1024.0)
    found = small.trace()
    other = attrs.evolve(small, y=small.y + 1e8).model()
    far = moved(attrs.evolve(found, model=other, problem=Problem.compile(other)), 1e8)
    assert found.certify().ok, str(found.certify())
    assert far.certify().ok, str(far.certify())
    assert failing(moved(far, 10.0))


def test_a_cost_from_small_to_large():
    X = features(30, 3, 7)
    K = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=-1))
    found = Homotopy(CPath(K, labels(X, 7), (1e-6, 1e3))).trace()
    assert found.certify().ok, str(found.certify())
    b = found.segments.b_start.copy()
    b[0] += 1e-5
    assert failing(with_segments(found, b_start=b))


# ---------------------------------------------------------------------- right paths do not fail


@pytest.mark.parametrize("path", ["theta", "s"])
@pytest.mark.parametrize("kind", ["hinge", "lad"])
@pytest.mark.parametrize("factor", [1e-8, 1e-6, 1e-3])
def test_tiny_features_stand_on_no_corner(kind, path, factor):
    """u is all but 0 everywhere, and so are many corners: nobody stands on them for that."""
    small = case(kind, 30, 4, kernel="linear", intercept=True, path=path)
    found = attrs.evolve(small, X=factor * small.X, C=factor**-2.0).trace()
    certificate = found.certify()
    assert certificate.ok, str(certificate)


def vanishing_cost():
    """A classifier whose cost goes to 0, and all alpha with it."""
    X = features(20, 3, 2)
    y = labels(X, 2)
    return Toy(
        LinearGram(X * y[:, None]), (1.0, 0.0),
        lambda t: (Slope("L", t), Knot("E", 1.0), Slope("R", 0.0)), border=y[:, None],
    )  # fmt: skip


def test_an_alpha_that_is_zero_where_the_path_ends():
    """All alpha go to 0 with the cost: their scale is what they were."""
    model = vanishing_cost()
    found = Homotopy(model).trace()
    assert np.abs(found.alpha(0.0)).max() < 1e-10
    assert found.certify().ok, str(found.certify())
    # On the scale of what it was, 1e-6 is seen there as well.
    s = found.segments
    last = slice(int(s.offset[-2]), None)
    alpha = s.alpha_stop.copy()
    assert alpha[last].size
    alpha[last][0] += 1e-6
    assert failing(with_segments(found, alpha_stop=alpha))


def test_weights_of_zero_and_an_exact_fit():
    """Most sample weights are 0 and b fits the rest exactly: alpha = -7e-26 is as good as 0."""
    X = features(12, 2, 3)
    y = np.full(12, 0.5)
    weights = np.zeros(12)
    weights[:3] = 1.0
    model = LADRamp(X, y, C=1.0, kernel="linear", fit_intercept=True, sample_weight=weights)
    found = Homotopy(model).trace()
    assert found.certify().ok, str(found.certify())
    assert np.abs(found.alpha(1.0)).max() < 1e-9
    assert failing(moved(found, 1e-6))


def test_two_jumps_that_meet_at_the_end_of_the_span():
    """u = 0 lies between two jumps that close in on it and meet there: the path is right, and the
    branch is that of the piece named."""
    model = Toy(
        [[0.0]], (5.0, 1.0),
        lambda t: (
            Slope("left", 0.25 - 0.25 * t),
            Jump(0.25 - 0.25 * t),
            Slope("between", 2.75 - 0.75 * t),
            Jump(-0.25 + 0.25 * t),
            Slope("right", 4.75 - 0.75 * t),
        ),
    )  # fmt: skip
    found = Homotopy(model).trace(start=[0.0])
    assert found.partition(3.0)["between"].tolist() == [0]
    assert found.certify().ok, str(found.certify())


# ---------------------------------------------------------------------- a part of a path


def test_a_sample_is_taken_at_a_few_places(path):
    sample, whole = path.certify(sample=8), path.certify()
    assert sample.ok
    counts = [{c.name: c.count for c in found.checks}["gap"] for found in (sample, whole)]
    assert counts[0] <= 24 < counts[1]
    assert str(path.certify(sample=8)) == str(sample)
    assert not moved(path, 1e-5).certify(sample=8).ok


@pytest.mark.parametrize("points", [0, -3])
def test_a_sample_has_points(path, points):
    with pytest.raises(PathError, match="positive number of points"):
        path.certify(sample=points)


def test_a_sample_or_some_values_but_not_both(path):
    with pytest.raises(PathError, match="either at or sample"):
        path.certify(at=0.5, sample=4)


def proven(path: Path) -> int:
    """The number of leading segments that are proven."""
    part = proven_part(path)
    return 0 if part is None else len(part.segments)


def test_what_is_proven_ends_where_the_path_is_wrong(path):
    assert proven(path) == len(path.segments)
    assert proven_part(path) is path
    k = len(path.segments) // 2
    b = path.segments.b_stop.copy()
    b[k] += 1e-5
    bad = with_segments(path, b_stop=b)
    assert proven(bad) == k
    part = proven_part(bad)
    assert part is not None
    assert not part.complete
    assert part.certify().ok
    assert part.traced == (path.traced[0], path.segments.stop[k - 1])
    assert np.array_equal(part.alpha(part.traced[1]), path.alpha(part.traced[1], "before"))
    assert all(jump.t > part.traced[1] for jump in part.jumps)


def test_numbers_that_are_none_have_no_say_in_what_comes_before_them(path):
    """An alpha of 1e300 near the end: its scale is not that of the start."""
    alpha = path.segments.alpha_stop.copy()
    alpha[-1] = 1e300
    bad = with_segments(path, alpha_stop=alpha)
    assert proven(bad) == len(path.segments) - 1


def test_nothing_is_proven_of_a_path_wrong_from_the_start(path):
    assert proven(moved(path, 1e-3)) == 0
    assert proven_part(moved(path, 1e-3)) is None


@pytest.mark.parametrize("seed", range(20))
def test_an_alpha_that_ought_to_be_0_may_be_the_rounding_of_another(seed):
    """b makes up for every response, so that the border equations alone say what alpha is: 0 of
    the first coordinate, which is solved for together with the second."""
    features = np.random.default_rng(seed).normal(size=(2, 2))
    target = Affine([0.0, 0.0], [0.0, 0.38])

    def pieces(t):
        low = np.array([-0.94, 0.88]) + t * np.array([0.45, -2.63])
        return (
            Slope("below", np.inf),
            Knot("lower", low),
            Slope("inside", 0.0),
            Knot("upper", low + 5.0),
            Slope("above", -np.inf),
        )

    toy = Toy(LinearGram(features), (0.0, 1.0), pieces, border=np.eye(2), target=target)
    path = Homotopy(toy).trace()
    assert path.certify().ok
    assert np.abs(path.alpha(1.0) - [0.0, 0.38]).max() <= 1e-14
    first = path.segments.alpha_stop.copy()
    first[path.segments.active == 0] += 1e-9
    if np.any(path.segments.active == 0):
        assert not with_segments(path, alpha_stop=first).certify().ok


# ---------------------------------------------------------------------- drawn by hand


def drawn(model, ts, pieces, active=(), alpha=(), b=0.0, status=Status.COMPLETE):
    """A path along `ts` with everybody on one piece all the way; `alpha` has one row per t."""
    problem, count = Problem.compile(model), len(ts) - 1
    active, values = np.array(active, np.int64), np.array(alpha, float).reshape(count + 1, -1)
    multipliers = np.full((count, problem.border.shape[1]), float(b))
    segments = Segments(
        start=ts[:-1], stop=ts[1:], offset=np.arange(count + 1) * active.size,
        active=np.tile(active, count), alpha_start=values[:-1].ravel(),
        alpha_stop=values[1:].ravel(), b_start=multipliers, b_stop=multipliers,
        event=np.zeros(count + 1, np.int64), changed=np.zeros(0, np.int64),
        changed_to=np.zeros(0, np.int64), first_piece=np.array(pieces, np.int64),
    )  # fmt: skip
    return Path(model, segments, (), status, tuple(model.span), {}, problem=problem)


def test_two_corners_of_a_coordinate_are_not_one_to_it():
    """Its own alpha alone makes a million of its response, in which a thousandth is between its
    corners: who is beside its corner by five times as much is not on it."""
    sides = np.array([1.0, -1.0])
    model = Toy(
        1e6 * np.outer(sides, sides), (0.0, 1.0),
        lambda t: (
            Slope("2", 2.0), Knot("first", sides), Slope("1", 1.0 + 0.0 * t),
            Knot("second", sides + 1e-3), Slope("0", 0.0),
        ),
    )  # fmt: skip
    path = drawn(model, [0.0, 1.0], [1, 1], [0, 1], [[1.5, 1.5 - 1e-6]] * 2)
    assert path.certify().ok, str(path.certify())
    bad = drawn(model, [0.0, 1.0], [1, 1], [0, 1], [[1.5, 1.5 - 1e-6 + 5e-9]] * 2)
    assert "polyline" in failing(bad)


def test_corners_that_are_one_number_to_rounding():
    """The corners are 1e-16 of themselves apart: the rounding of either is more than that."""
    model = Toy(
        np.eye(2), (0.0, 1.0),
        lambda t: (
            Slope("2", 2e3), Knot("first", 1e3), Slope("1", 1e3 + 0.0 * t),
            Knot("second", np.nextafter(1e3, 2e3)), Slope("0", 0.0),
        ),
    )  # fmt: skip
    alpha = np.nextafter(1e3, 0.0)
    path = drawn(model, [0.0, 1.0], [1, 1], [0, 1], [[alpha, alpha]] * 2)
    assert path.certify().ok, str(path.certify())


def test_a_path_that_ends_at_zero_but_for_rounding():
    """All slopes go to 0 with t, which is 1e-28, 1e-30 and 1e-33 before it is 0: alpha is what
    rounding has left of it."""
    model = vanishing_cost()
    path = Homotopy(model).trace()
    s = path.segments
    last = slice(int(s.offset[-2]), None)
    stay, size = s.alpha_stop[last] + 1e-18, s.alpha_stop[last].size
    assert size
    more = np.array([1e-28, 1e-30, 1e-33])
    rows = lambda part, new: np.concatenate([part[: last.start], new, np.tile(stay, 3)])  # noqa: E731
    long = with_segments(
        path, start=np.concatenate([s.start, more]),
        stop=np.concatenate([s.stop[:-1], more, [0.0]]),
        offset=np.concatenate([s.offset, s.offset[-1] + size * np.arange(1, 4)]),
        active=np.concatenate([s.active, np.tile(s.active[last], 3)]),
        alpha_start=rows(s.alpha_start, s.alpha_start[last]), alpha_stop=rows(s.alpha_stop, stay),
        b_start=np.concatenate([s.b_start, s.b_stop[[-1, -1, -1]]]),
        b_stop=np.concatenate([s.b_stop, s.b_stop[[-1, -1, -1]]]),
        event=np.concatenate([s.event, s.event[[-1, -1, -1]]]),
    )  # fmt: skip
    assert path.certify().ok
    assert long.certify().ok, str(long.certify())
    alpha = long.segments.alpha_start.copy()
    alpha[-1] += 1e-12
    assert failing(with_segments(long, alpha_start=alpha))


@pytest.mark.parametrize("sides", [1, 2])
def test_nobody_stands_on_corners_that_rounding_alone_has_moved(sides):
    """Four responses are 0, and so are the jumps beside them where the path ends; where it begins
    they are 1e-26 away, less than a fifth response that is 1 has of rounding."""
    fifth = np.arange(5) == 4

    def pieces(t):
        left = Slope("left", np.where(fifth, 1.0, 0.0) - t * ~fifth)
        middle, right = Slope("middle", 1.0 * fifth), Slope("right", 1.0 * fifth + t * ~fifth)
        inner = (Jump(-t + 0.0 * fifth), middle) if sides == 2 else ()
        return (left if sides == 2 else middle, *inner, Jump(t + 0.0 * fifth), right)

    model = Toy(np.eye(5), (1e-26, 0.0), pieces)
    model.loss_origin = lambda t: 0.0
    on = 2 * (sides - 1)
    path = drawn(model, [1e-26, 0.0], [on, on, on, on, on + 2])
    assert path.certify().ok, str(path.certify())


def test_standing_on_a_jump_that_does_not_move_is_no_matter_of_rounding():
    """The same, with jumps that stay at 0: who is on one all along is held there by somebody on a
    knot or is no optimum, whether or not there is a border."""
    model = Toy(
        9.0 * np.eye(2), (1.0, 0.5), lambda t: (Slope("left", -t), Jump(0.0 * t), Slope("right", t))
    )
    model.loss_origin = lambda t: 0.0
    path = drawn(model, [1.0, 0.5], [0, 0], [0, 1], [[0.0, 0.0]] * 2)
    assert {"corners", "polyline"} <= failing(path)


def test_a_border_equation_whose_terms_go_to_zero_with_t():
    """e and both slopes are 1e-30 where the part of the path ends; on the span they are 1, and
    3e-17 is rounding of that."""
    model = Toy(
        np.zeros((2, 2)), (0.0, 1.0),
        lambda t: (Slope("+", t), Knot("0", 0.0), Slope("-", -t)),
        border=np.ones((2, 1)), target=Affine([0.0], [1.0]),
    )  # fmt: skip

    def part(amount):
        alpha = [[0.0, 0.0], [0.5e-30 + amount, 0.5e-30]]
        return drawn(model, [0.0, 1e-30], [1, 1], [0, 1], alpha, status=Status.LIMIT)

    assert part(0.0).certify().ok
    assert part(3e-17).certify().ok, str(part(3e-17).certify())
    assert {"border", "polyline"} <= failing(part(1e-12))


# ---------------------------------------------------------------------- as its author states it


class Told(Lasso):
    """A lasso that tells how far it is off in words of its own."""

    off, terms, others = 0.0, 1.0, 0.0
    since = -np.inf

    def residuals(self, t, alpha, b):
        assert alpha.shape == (t.size, self.gram.size)
        full = np.ones((t.size, 2))
        # t falls along the path.
        off = np.where(t[:, None] < self.since, self.off, 0.0) * full
        return {"as told": Residual(off, self.terms * full, self.others * full)}


def told(**changes) -> Path:
    rng = np.random.default_rng(0)
    found = Homotopy(Told(rng.normal(size=(20, 4)), rng.normal(size=20), (8.0, 0.1))).trace()
    for name, value in changes.items():
        setattr(found.model, name, value)
    return found


def test_a_model_may_add_conditions():
    path = told()
    check = path.certify().checks[-1]
    assert (check.name, check.ok, check.worst) == ("as told", True, 0.0)
    assert check.count >= 2 * len(path.segments)
    assert "as told" in str(path.certify())
    assert "as told" not in str(PROBLEM.trace().certify())


@pytest.mark.parametrize(
    ("changes", "ok"),
    [
        ({"off": 0.9e-8}, True),
        ({"off": 1.1e-8}, False),
        ({"off": 1.1e-8, "terms": 2.0}, True),
        # Of what a condition is computed from no more than its rounding is allowed for.
        ({"off": 1e-14, "terms": 0.0}, False),
        ({"off": 1e-14, "terms": 0.0, "others": 2.0}, True),
        ({"off": 1e-13, "terms": 0.0, "others": 2.0}, False),
        ({"off": np.inf}, False),
        ({"off": np.nan}, False),
        ({"terms": np.nan, "off": 1e-12}, False),
    ],
)
def test_added_conditions_are_measured_by_their_own_terms(changes, ok):
    path = told(since=np.inf, **changes)
    assert (failing(path) == set()) == ok
    assert path.certify(sample=4).ok == ok
    assert path.certify(at=path.traced[1]).ok == ok


def test_what_is_proven_ends_where_an_added_condition_fails():
    path = told(off=1.0)
    middle = len(path.segments) // 2
    path.model.since = float(path.segments.start[middle])
    assert proven(path) == middle
    part = proven_part(path)
    assert part is not None
    assert part.certify().ok


def test_a_path_that_breaks_an_added_condition_is_declined():
    rng = np.random.default_rng(0)
    model = Told(rng.normal(size=(20, 4)), rng.normal(size=20), (8.0, 0.1))
    model.off, model.since = 1.0, np.inf
    with pytest.raises(TraceError, match="cannot be proven"):
        Homotopy(model).trace()


def test_added_conditions_of_the_wrong_shape_are_refused():
    path, flat = told(), Residual(np.zeros(3), np.zeros(3), np.zeros(3))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Told, "residuals", lambda self, t, alpha, b: {"x": flat})
        with pytest.raises(ModelError, match=r"Told: residuals\['x'\] must be arrays"):
            path.certify()
