"""Polylines on which an earlier version failed, as fuzzing found and shrank them.

A piece is (kind, value at t = 0, rate) with the curvature of a slope where it has one.
"""

from __future__ import annotations

import numpy as np
import pytest
from toys import Toy

from homotopy import Affine, Homotopy, Jump, Knot, LinearGram, Slope

inf = np.inf
FOUND = {
    "a zero row on slanted pieces": {
        "Q": [[0]],
        "span": (1.0, 0.0),
        "pieces": [
            ("Slope", [3], [-0], [2]),
            ("Knot", [-3], [3]),
            ("Slope", [1], [-1], [2]),
            ("Knot", [-3], [5]),
            ("Slope", [-2], [-1], [2]),
            ("Knot", [1], [1]),
            ("Slope", [-6], [-3]),
        ],
    },
    "two slanted doubles against a wall": {
        "Q": [[1, 1], [1, 1]],
        "span": (-1.0, 2.0),
        "pieces": [
            ("Slope", [2, 3], [0, 0], [0.5, 0.5]),
            ("Knot", [0, 0], [-1, -1]),
            ("Slope", [-inf, -inf], [0, 0]),
        ],
    },
    "a slanted pair of rank one": {
        "Q": [[0.0607774547840004, 0.34263795940837144], [0.34263795940837144, 1.9316500114190107]],
        "span": (5.0, 1.0),
        "pieces": [
            (
                "Slope",
                [0.01828105610120645, 2.8007051302621755],
                [0.05454236605653298, -0.2501277168195855],
                [0.5, 1],
            ),
            (
                "Knot",
                [-1.9021939025387826, -1.4472982738748303],
                [0.17959781542121506, 0.09469555418874831],
            ),
            (
                "Slope",
                [0.24362834336925, 3.1599337800413285],
                [-0.2199269457162515, -0.3513392724746852],
                [0, 0.5],
            ),
            (
                "Knot",
                [-1.8761562127080782, -0.8601186013887286],
                [0.2155493904614689, 0.055750779678273604],
            ),
            (
                "Slope",
                [-1.976650533085024, 2.241558397915522],
                [-0.022070319534154226, -0.3743544584743621],
                [1, 0.5],
            ),
            (
                "Knot",
                [0.38509774736298413, -0.5433573516815418],
                [-0.15180407504778953, 0.08329335749137462],
            ),
            (
                "Slope",
                [-3.1488182633224464, 1.071823430255378],
                [0.22324689299712208, -0.17974350670898787],
                [0, 1],
            ),
            (
                "Knot",
                [2.1253193699242425, -0.5119490324533325],
                [-0.2734826230969555, 0.1255226363220667],
            ),
            (
                "Slope",
                [0.5384514668820455, 0.4143532429955652],
                [-0.22102262906401635, -0.2863047681783688],
                [2, 0],
            ),
        ],
    },
    "a slanted pair of rank one, from a guess": {
        "Q": [[0.6198377714021773, 0.1525997499343405], [0.1525997499343405, 0.037568997493239005]],
        "span": (-1.0, 2.0),
        "start": True,
        "pieces": [
            (
                "Slope",
                [2.005668733577472, 1.4479827803145107],
                [-0.312136180988906, 0.07027347786405154],
                [0, 2],
            ),
            (
                "Knot",
                [0.02731329113456512, -0.2519914958347279],
                [-0.0384714921923598, 0.24479402975107636],
            ),
            (
                "Slope",
                [0.7995506604567529, 1.5150019643347519],
                [0.10934312541877593, -0.3951283478291479],
                [1, 0],
            ),
            (
                "Knot",
                [0.16392175637266393, 0.40056382848202854],
                [0.0858653686247118, -0.04118194513944118],
            ),
            (
                "Slope",
                [-0.5032445888268616, 0.5980943840999419],
                [0.20581942551682722, -0.12243841155372774],
                [2, 0],
            ),
            (
                "Knot",
                [0.8733919735529101, 1.1517486586346464],
                [0.3075341703809053, 0.16175219573235533],
            ),
            (
                "Slope",
                [-2.597549921747632, 2.5173324707037086],
                [-0.8135740127758799, 0.015811257410117612],
                [0.5, 2],
            ),
        ],
    },
    "two border columns, nothing active": {
        "Q": [[0, 0, 0], [0, 0.19442681917741084, 0], [0, 0, 0]],
        "span": (0.0, 10.0),
        "border": [[1, -0.6812694985552612], [1, 0.2661050282846497], [1, 0.0565501528406134]],
        "target": [
            [2.1446756529690227, -0.951459509103441],
            [-0.12192042223100578, -0.008719142322009455],
        ],
        "pieces": [
            ("Slope", [1.6369680406180924, 0.08798759325779994, 0.7066128361454983], [0, 0, 0]),
            (
                "Knot",
                [0.21498990394222925, -0.21066989465960903, 0.7889379436273386],
                [0.06480439562942422, -0.13073420736403543, -0.08139099525714141],
            ),
            (
                "Slope",
                [1.271685420157812, -1.6612465282862234, 0.5994405275283573],
                [0.0021207942846851457, 0.0648636209655881, -0.054395377383828415],
            ),
        ],
    },
    "a zero row under two jumps at one place": {
        "Q": [[0]],
        "span": (0.0, 10.0),
        "start": True,
        "pieces": [
            ("Slope", [3], [-0.2]),
            ("Jump", [-3], [0.5]),
            ("Slope", [6], [-0.3]),
            ("Jump", [-1], [0.3]),
            ("Slope", [8], [-0.3]),
            ("Jump", [-1], [0.3]),
            ("Slope", [8], [-0.2]),
            ("Jump", [1], [0.1]),
            ("Slope", [8], [0]),
        ],
    },
    "a knot that passes through zero": {
        "Q": [[9]],
        "span": (5.0, 1.0),
        "start": True,
        "pieces": [
            ("Slope", [1], [-0], [0.5]),
            ("Knot", [-4.5], [1.5]),
            ("Slope", [-1], [-0], [0.5]),
        ],
    },
    "knots that all meet at zero": {
        "Q": [[2, 2], [2, 2]],
        "span": (1.0, 0.0),
        "pieces": [
            ("Slope", [0, 0], [1, 3]),
            ("Knot", [2, -1], [-4, 2]),
            ("Slope", [-3, -1], [3, 3]),
        ],
    },
    "border, zero rows and seams on slanted pieces": {
        "Q": [
            [9, 0, -9, 9, 9, 0, 0],
            [0, 0, 0, 0, 0, 0, 0],
            [-9, 0, 9, -9, -9, 0, 0],
            [9, 0, -9, 9, 9, 0, 0],
            [9, 0, -9, 9, 9, 0, 0],
            [0, 0, 0, 0, 0, 0, 0],
            [0, 0, 0, 0, 0, 0, 0],
        ],
        "span": (0.0, 1.0),
        "border": [[1], [1], [1], [1], [1], [1], [1]],
        "target": [[14.0], [0.0]],
        "pieces": [
            ("Slope", [2, 2, 2, 2, 2, 2, 2], [0, 0, 0, 0, 0, 0, 0], [0, 0, 0.5, 0, 1, 0, 0]),
            ("Knot", [0, 0, 0, -2, 0, 0, 0], [0, 0, 0, 2, 0, 0, 0]),
            ("Slope", [2, 2, 2, 0, 2, 2, 2], [0, 0, 0, 2, 0, 0, 0], [0, 0, 0, 0.5, 0, 0, 0]),
            ("Knot", [0, 0, 0, -1, 1, 1, 1], [0, 0, 0, 1, -1, -1, -1]),
            ("Slope", [-1, 2, 2, -2.5, 2, 2, 2], [3, 0, 0, 4.5, 0, 0, 0]),
        ],
    },
    "the same with other slants": {
        "Q": [
            [9, 0, -3, 9, 6, 0, -6],
            [0, 0, 0, 0, 0, 0, 0],
            [-3, 0, 1, -3, -2, 0, 2],
            [9, 0, -3, 9, 6, 0, -6],
            [6, 0, -2, 6, 4, 0, -4],
            [0, 0, 0, 0, 0, 0, 0],
            [-6, 0, 2, -6, -4, 0, 4],
        ],
        "span": (0.0, 1.0),
        "border": [[1], [1], [1], [1], [1], [1], [1]],
        "target": [[14.0], [0.0]],
        "pieces": [
            ("Slope", [2, 2, 2, 2, 2, 2, 2], [0, 0, 0, 0, 0, 0, 0], [0, 0, 0.5, 0, 0.5, 0.5, 0]),
            ("Knot", [0, 0, 0, -2, 0, 0, -1], [0, 0, 0, 2, 0, 0, 1]),
            ("Slope", [2, 2, 2, 1, 2, 2, 2], [0, 0, 0, 1, 0, 0, 0], [0, 0, 0, 0.5, 0, 0, 0]),
            ("Knot", [0, 0, 0, -1, 1, 1, 0], [0, 0, 0, 1, -1, -1, 0]),
            ("Slope", [-1, 2, 2, -1.5, 2, 2, 2], [3, 0, 0, 3.5, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0.5]),
        ],
    },
}


def build(drawing):
    def pieces(t):
        out = []
        for k, (kind, const, rate, *bend) in enumerate(drawing["pieces"]):
            value = np.array(rate) * t + np.array(const)
            if kind == "Slope":
                out.append(Slope(f"slope {k}", value, np.array(bend[0]) if bend else 0.0))
            else:
                out.append(Knot(f"knot {k}", value) if kind == "Knot" else Jump(value))
        return out

    target = Affine(*drawing["target"]) if "target" in drawing else 0.0
    return Toy(drawing["Q"], drawing["span"], pieces, border=drawing.get("border"), target=target)


@pytest.mark.parametrize("name", list(FOUND))
def test_what_once_failed_is_certified(name):
    drawing = FOUND[name]
    start = np.zeros(len(drawing["Q"])) if drawing.get("start") else None
    path = Homotopy(build(drawing)).trace(start=start)
    certificate = path.certify()
    assert path.complete
    assert certificate.ok, str(certificate)


def test_a_slanted_coordinate_does_not_ride_on_a_jump_corner():
    """At t = 2/3 two coordinates change sides and nothing moves; from there on the balance would
    take the fourth along at 3/2, exactly as fast as its jump corner goes.  Flipped alone, it
    leaves."""
    phi = np.array([[0.0], [1.0], [0.0], [0.0]])
    y, drift = np.array([0.0, 3.0, 1.0, 0.0]), np.array([0.0, 0.5, 0.0, 1.5])

    def pieces(t):
        knot = y + drift * t
        return (
            Slope("far+", 2.0 * (1.0 - t)),
            Jump(knot - 0.5),
            Slope("near+", 2.0 + 2.0 * knot, curvature=2.0),
            Knot("E", knot),
            Slope("near-", 2.0 * knot - 0.5, curvature=2.0),
            Jump(knot + 0.5),
            Slope("far-", -0.5 * (1.0 - t)),
        )

    model = Toy(LinearGram(phi), (0.0, 1.0), pieces, border=np.ones((4, 1)))
    path = Homotopy(model).trace(start=np.zeros(4))
    assert path.certify().ok
    assert [jump.moved for jump in path.jumps] == [False, True]


# ------------------------------------------------------------------ found with the one tracker


def toy(start=None, features=False, *, phi, span, pieces):
    phi = np.array(phi)
    drawing = {"Q": phi @ phi.T, "span": span, "pieces": pieces}
    model = build(drawing)
    if features:
        model.gram = LinearGram(phi)
    return model, None if start is None else np.array(start, dtype=float)


LATER = {
    "a zero row swept by a jump beside a lone row": toy(
        [0, 0],
        phi=[[0.0], [3.0]],
        span=(0.0, 10.0),
        pieces=[
            ("Slope", [-1.0, 4.0], [0.0, 0.0]),
            ("Jump", [0.0, 2.0], [-0.2, 0.0]),
            ("Slope", [2.0, 6.0], [0.0, 0.0]),
        ],
    ),
    "two jumps of rank one meet at the start": toy(
        [0, 0, 0],
        True,
        phi=[[2.0], [-2.0], [1.0]],
        span=(5.0, 1.0),
        pieces=[
            ("Slope", [-1.0, -1.0, -1.0], [0.0, 0.0, 0.0]),
            ("Jump", [0.0, -1.25, 0.5], [0.0, 0.25, -0.5]),
            ("Slope", [1.0, 0.0, -1.0], [0.0, 0.0, 0.0]),
            ("Jump", [1.0, -0.25, 1.75], [0.0, 0.25, -0.75]),
            ("Slope", [3.0, 0.0, 2.0], [0.0, 0.0, 0.0]),
            ("Knot", [0.25, 0.25, 4.75], [0.75, 0.75, -0.75]),
            ("Slope", [2.0, -1.0, -1.0], [0.0, 0.0, 0.0]),
        ],
    ),
    "a zero row on slanted pieces swept by a jump": toy(
        [0, 0],
        phi=[[0.0] * 8, [-3.0, 2.0, 2.0, 0.0, 2.0, -2.0, -3.0, 0.0]],
        span=(1.0, 0.0),
        pieces=[
            ("Slope", [1.0, 1.0], [3.0, 4.0], [1.0, 2.0]),
            ("Jump", [-3.0, 0.0], [3.0, 1.0]),
            ("Slope", [0.0, 2.0], [4.0, 6.0], [2.0, 2.0]),
            ("Knot", [-1.0, 1.0], [2.0, 0.0]),
            ("Slope", [1.0, -2.0], [-1.0, 6.0], [0.0, 1.0]),
        ],
    ),
    "a corner at 0 where w comes to 0": toy(
        None,
        True,
        phi=[[-1.0, 2.0, -2.0], [-3.0, -1.0, -3.0]],
        span=(2.0, -2.0),
        pieces=[
            ("Slope", [2.0, 2.0], [1.0, 0.0]),
            ("Knot", [1.0, 0.0], [0.0, 0.0]),
            ("Slope", [0.0, -1.0], [0.0, 0.0]),
        ],
    ),
    "zero rows on slanted pieces below walls": toy(
        None,
        phi=[[0.0], [0.0]],
        span=(0.0, 1.0),
        pieces=[
            ("Slope", [inf, inf], [0.0, 0.0]),
            ("Knot", [-3.0, 0.0], [3.0, 0.0]),
            ("Slope", [-3.0, -1.0], [0.0, 1.0], [2.0, 2.0]),
        ],
    ),
    "a knot at minus infinity": toy(
        None,
        phi=[[1.0]],
        span=(0.0, 1.0),
        pieces=[
            ("Slope", [1.0], [0.0]),
            ("Knot", [-inf], [0.0]),
            ("Slope", [1.0], [0.0]),
            ("Knot", [1.0], [0.0]),
            ("Slope", [0.0], [0.0]),
        ],
    ),
    "slanted branches between jumps, by the QP solver": toy(
        [5.393922054386713],
        phi=[[1.0, -3.0]],
        span=(1.0, 0.0),
        pieces=[
            ("Slope", [-1.0], [0.0]),
            ("Knot", [1.0], [1.0]),
            ("Slope", [-2.0], [0.0]),
            ("Jump", [4.0], [1.0]),
            ("Slope", [0.0], [1.0]),
            ("Jump", [5.0], [3.0]),
            ("Slope", [13.0], [5.0], [2.0]),
            ("Jump", [6.0], [5.0]),
            ("Slope", [14.0], [7.0], [2.0]),
        ],
    ),
    "a zero row between coincident jumps": toy(
        [0, 0],
        True,
        phi=[[0.0, -3.0], [0.0, 0.0]],
        span=(0.0, 10.0),
        pieces=[
            ("Slope", [1.0, 3.0], [0.1, 0.1]),
            ("Knot", [0.0, -2.0], [-0.1, 0.5]),
            ("Slope", [1.0, 2.0], [-0.1, -0.1]),
            ("Jump", [0.0, -2.0], [-0.1, 0.8]),
            ("Slope", [2.0, 2.0], [0.1, 0.0]),
            ("Jump", [2.0, 0.0], [-0.3, 0.9]),
            ("Slope", [2.0, 2.0], [0.2, 0.2]),
            ("Jump", [4.0, 0.0], [-0.2, 0.9]),
            ("Slope", [3.0, 5.0], [0.3, -0.1]),
        ],
    ),
}


@pytest.mark.parametrize("d_step", ["auto", "osqp"])
@pytest.mark.parametrize("name", list(LATER))
def test_what_failed_later_is_certified(name, d_step):
    model, start = LATER[name]
    path = Homotopy(model, d_step=d_step).trace(start=start)
    certificate = path.certify()
    assert path.complete
    assert certificate.ok, str(certificate)
