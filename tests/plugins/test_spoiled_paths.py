"""No spoiled path of a plugin passes: every mutation at every size, at every scale of the data."""

from __future__ import annotations

import attrs
import numpy as np
import pytest
from grids import thinned
from mutations import NUMBERS, SIZES, middle, one_alpha, spoiled, spoils
from problems import Case, case

from homotopy import Path

KINDS, PATHS, KERNELS, INTERCEPT = (
    ("hinge", "lad"),
    ("theta", "s"),
    ("linear", "rbf"),
    (False, True),
)


def survivors(found: Path) -> tuple[int, list[tuple[str, float, float]]]:
    """How many spoiled versions of a path were tried, and which of them pass."""
    certificate = found.certify()
    assert certificate.ok, str(certificate)
    tried = list(spoiled(found))
    return len(tried), [(o.what, o.size, o.spoilt) for o in tried if o.path.certify().ok]


COSTS = [(0.01, "normal"), (1.0, "integer"), (100.0, "normal")]


@thinned("kind, path, kernel, intercept, cost", KINDS, PATHS, KERNELS, INTERCEPT, COSTS, keep=3)
def test_no_spoiled_path_passes(kind, path, kernel, intercept, cost):
    C, data = cost
    found = case(kind, 20, 3, C=C, kernel=kernel, intercept=intercept, path=path, data=data).trace()
    tried, missed = survivors(found)
    assert not missed
    # Separable data have a path of one point: there is not much to spoil.
    assert tried >= (20 if len(found.segments) > 1 else 8)


@thinned("kind, path, intercept, factor", KINDS, PATHS, INTERCEPT, [1e-6, 1e6])
def test_no_spoiled_path_passes_at_any_scale_of_the_features(kind, path, intercept, factor):
    """The cost goes with the features, so that the path has as many break-points at any scale."""
    small = case(kind, 20, 5, kernel="linear", intercept=intercept, path=path)
    tried, missed = survivors(attrs.evolve(small, X=small.X * factor, C=factor**-2.0).trace())
    assert not missed
    assert tried >= 30


@thinned("path, kernel, intercept, huge", PATHS, KERNELS, INTERCEPT, [1e4, 1e9])
def test_no_spoiled_path_passes_beside_one_huge_target(path, kernel, intercept, huge):
    small = case("lad", 20, 6, kernel=kernel, intercept=intercept, path=path, s_stop=0.1)
    y = small.y.copy()
    y[7] = huge
    tried, missed = survivors(attrs.evolve(small, y=y).trace())
    assert not missed
    assert tried >= 30


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("C", [0.01, 1.0])
def test_one_coordinate_among_a_thousand(kind, C, size):
    found = thousand(kind, C)
    assert middle(found) >= 0
    k = middle(found)
    places = [found.segments.start[k], found.segments.stop[k]]
    assert found.certify(at=places).ok
    for bad in one_alpha(found, size):
        assert not bad.certify(at=places).ok


_thousand: dict[tuple[str, float], Path] = {}


def thousand(kind: str, C: float) -> Path:
    """The path of a thousand coordinates, traced once."""
    if (kind, C) not in _thousand:
        problem: Case = case(kind, 1000, 9, C=C, gamma=0.5, intercept=True)
        found = problem.trace(max_breakpoints=40)
        certificate = found.certify()
        assert certificate.ok, str(certificate)
        _thousand[kind, C] = found
    return _thousand[kind, C]


def test_a_mutation_that_spoils_nothing_is_told_apart():
    """b within its interval and alpha along a null direction leave a path as good as it was."""
    found = case("lad", 20, 6, kernel="linear", intercept=True).trace()
    assert spoils(found, found) == 0.0
    assert all(spoils(found, bad) < 1e-7 for number in NUMBERS for bad in number(found, 0.0))
    assert np.isfinite(spoils(found, next(one_alpha(found, 1.0))))
