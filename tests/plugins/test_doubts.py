"""A path is certified where the tracker's bound leaves a doubt, and nothing is missed there."""

from __future__ import annotations

import numpy as np
import pytest
from grids import thinned
from mutations import spoiled, with_segments
from problems import case

from homotopy import Homotopy, Path
from homotopy.path.certificate import held_at_end, holds
from homotopy.path.certificate.examination import Examination
from homotopy.path.certificate.points import Places
from homotopy.path.on_segments import OnSegments
from homotopy.tracing import verdict
from homotopy.tracker import Tracker
from homotopy.tracker.doubts import Doubts, Stretch
from homotopy_plugins import LADRamp

KINDS, PATHS, KERNELS = ("hinge", "lad"), ("theta", "s"), ("linear", "rbf")


def long_trace() -> Path:
    """A path that is too long to be certified for nothing, with checks on the way."""
    return case("hinge", 300, 7, kernel="linear", intercept=True, path="theta").trace()


# ---------------------------------------------------------------------- stretches of a path


def failures(path: Path) -> set[int]:
    """The segments at which the certificate of the whole path finds something."""
    examination = Examination(path, 1e-8)
    examination.span()
    examination.check_at(Places.ends(path), 0)
    failed = {t.failed for t in examination.tallies.values() if t.failed is not None}
    # A recorded jump where the path does not break.
    unbroken = examination.unbroken(np.arange(len(path.segments)))
    return failed | {OnSegments(path).locate(t, "after")[0] for t in unbroken}


@thinned("kind, path, kernel, intercept", KINDS, PATHS, KERNELS, (False, True), keep=2)
def test_a_stretch_is_judged_like_the_whole(kind, path, kernel, intercept):
    """Every stretch of a path passes; on a spoiled path, the one that is spoiled does not."""
    found = case(kind, 20, 3, kernel=kernel, intercept=intercept, path=path, s_stop=0.1).trace()
    assert all(holds(found, [(k, k)]) for k in range(len(found.segments)))
    tried = 0
    for bad in spoiled(found):
        for k in failures(bad.path):
            assert not holds(bad.path, [(k, k)]), (bad.what, bad.size, k)
            tried += 1
    assert tried >= 20


def test_a_spoiled_point_is_missed_only_outside_of_the_stretch():
    """What lies outside is covered by the bound of the tracker, and costs nothing."""
    found = long_trace()
    s, k = found.segments, 100
    alpha = s.alpha_stop.copy()
    alpha[s.offset[k]] += 1e-3
    bad = with_segments(found, alpha_stop=alpha)
    assert not holds(bad, [(k, k)])
    assert not holds(bad, [(2, 3), (k - 1, k)])
    # It ends where the next stretch begins, and that junction is looked at from both sides.
    assert not holds(bad, [(k + 1, k + 1)])
    assert holds(bad, [(0, k - 2), (k + 3, len(s) - 1)])


def test_places_around_a_stretch():
    found = case("lad", 60, 3, kernel="linear", path="s", s_stop=0.1).trace()
    s, last = found.segments, len(found.segments) - 1
    assert np.any(np.isin(s.start, [jump.t for jump in found.jumps]))
    places = Places.around(found, [(4, 5)])
    assert list(zip(places.segment.tolist(), places.t.tolist(), strict=True)) == [
        (3, s.stop[3]), (4, s.start[4]), (4, s.stop[4]), (5, s.start[5]), (5, s.stop[5]),
        (6, s.start[6]),
    ]  # fmt: skip
    # Not beyond the ends, even if a segment was expected that never began.
    assert Places.around(found, [(last + 1, last + 1)]).segment.tolist() == [last - 1, last, last]
    assert Places.around(long_trace(), [(0, 0)]).segment.tolist() == [0, 0, 1]
    # Overlapping stretches are looked at once.
    several = Places.around(found, [(4, 5), (5, 6)])
    assert several.segment.tolist() == [3, 4, 4, 5, 5, 6, 6, 7]


def test_segments_of_length_zero_beside_a_stretch_belong_to_it():
    """Jumps at one t have points between them: all of that t is looked at."""
    found = long_trace()
    start, stop = found.segments.start.copy(), found.segments.stop.copy()
    start[4] = stop[4] = start[5] = stop[5] = stop[3]
    start[6] = stop[3]
    flat = with_segments(found, start=start, stop=stop)
    assert Places.around(flat, [(6, 6)]).segment.tolist() == [3, 4, 5, 6, 6, 7]
    assert Places.around(flat, [(3, 3)]).segment.tolist() == [2, 3, 3, 4, 5, 6]


# ---------------------------------------------------------------------- what is in doubt


def test_only_what_a_check_covers_is_in_doubt():
    doubts = Doubts(limit=1.0)
    doubts.judge(0.5, None)
    doubts.judge(0.1, 10)
    doubts.judge(1.5, 25)
    doubts.judge(0.9, 40)
    doubts.judge(np.inf, 41)
    assert doubts.whole == 0.5
    assert doubts.stretches == [Stretch(10, 25, 1.5), Stretch(40, 41, np.inf)]
    again = Doubts(limit=1.0)
    again.load_state(doubts.state())
    assert again == doubts
    doubts.judge(np.nan, 50)
    assert doubts.stretches[-1][:2] == (41, 50)
    with pytest.raises(ValueError, match="shape"):
        again.load_state(doubts.state() | {"error": np.zeros(0)})


class Doubtful:
    """A trace that finds too much at its `at`-th check; what it does about it."""

    def __init__(self, monkeypatch, at: int, spoil: float = 0.0) -> None:
        self.checks: list[int] = []
        self.asked: list[list[tuple[int, int]] | None] = []
        self.attempts, judge, careful, own = 1, Tracker.judge, Homotopy._careful, verdict.holds

        def judging(tracker, error):
            judge(tracker, 2.0 if len(self.checks) == at else error)
            if len(self.checks) == at and spoil:
                k = int(tracker.cursor.segments) - 3
                tracker.record.alpha[1, int(tracker.record.segment[k].active) - 1] += spoil
            self.checks.append(int(tracker.cursor.segments))

        def holding(path, stretches=None):
            self.asked.append(stretches)
            return own(path, stretches)

        def again(options):
            self.attempts += 1
            return careful(options)

        monkeypatch.setattr(Tracker, "judge", judging)
        monkeypatch.setattr(Homotopy, "_careful", again)
        monkeypatch.setattr(verdict, "holds", holding)


def test_only_the_points_since_the_last_check_are_certified(monkeypatch):
    seen = Doubtful(monkeypatch, at=2)
    path = long_trace()
    assert seen.attempts == 1
    assert seen.asked == [[(seen.checks[1], seen.checks[2])]]
    assert 0 < seen.checks[1] < seen.checks[2] - 3 < len(path.segments) - 6
    assert path.certify().ok


def test_what_is_wrong_since_the_last_check_is_found(monkeypatch):
    seen = Doubtful(monkeypatch, at=2, spoil=1e-4)
    path = long_trace()
    assert seen.attempts == 2
    assert seen.asked[0] == [(seen.checks[1], seen.checks[2])]
    assert path.certify().ok


# ---------------------------------------------------------------------- at rest on a jump


def held_rows() -> LADRamp:
    """Rows of 0 and 1 and whole targets: many end on a jump corner, because equal rows are on
    their knots."""
    rng = np.random.default_rng(2)
    X = (rng.random((200, 6)) < 0.4).astype(float)
    y = np.round(4.0 * X[:, 0] + 3.0 * rng.standard_normal(200))
    return LADRamp(X, y, C=1.0, kernel="linear", s=4.0, fit_intercept=True)


def test_rows_that_others_hold_on_a_jump_are_no_reason_for_a_certificate(monkeypatch):
    resting: list[int] = []
    own = verdict.held_at_end

    def noted(path, some):
        resting.append(some.size)
        return own(path, some)

    monkeypatch.setattr(verdict, "held_at_end", noted)
    monkeypatch.setattr(verdict, "holds", lambda *given: pytest.fail("not needed"))
    path = Homotopy(held_rows()).trace()
    assert resting
    assert resting[0] > 0
    assert path.certify().ok


@pytest.mark.parametrize("why", ["nobody holds it", "its flip moved nothing"])
def test_another_row_at_rest_needs_the_whole_certificate(monkeypatch, why):
    asked = []
    own = verdict.holds
    if why == "nobody holds it":
        monkeypatch.setattr(verdict, "held_at_end", lambda path, some: False)
    else:
        monkeypatch.setattr(Tracker, "left_alone", lambda tracker, some: True)
    monkeypatch.setattr(verdict, "holds", lambda *given: asked.append(given[1:]) or own(*given))
    Homotopy(held_rows()).trace()
    assert asked == [()]


def test_who_holds_whom():
    path = Homotopy(held_rows()).trace()
    s, lines = path.segments, path.problem.polylines
    last = len(s) - 1
    knots = s.actives(last)[s.pieces(last)[s.actives(last)] % 2 == 1]
    X = np.column_stack([path.model.X, np.ones(200)])
    others = np.setdiff1d(np.arange(200), knots)
    rank = np.linalg.matrix_rank
    for i in others[:60].tolist():
        held = rank(np.vstack([X[knots], X[i]])) == rank(X[knots])
        assert held_at_end(path, np.array([i])) == held
    assert lines.jump.any()
    assert held_at_end(path, np.empty(0, np.int64))
