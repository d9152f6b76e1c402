"""The certificate must be able to fail: every corruption of a good path is noticed."""

from __future__ import annotations

import attrs
import numpy as np
import pytest
from problems import case
from toys import Step

from homotopy import Homotopy, PathError
from homotopy.model import Problem
from homotopy.path import Path
from homotopy.path.segments import Segments

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
    for name in ("polyline", "border", "continuity", "jumps", "corners"):
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
    assert failing(bad) == {"continuity"}


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
