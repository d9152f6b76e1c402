"""Tiny problems, all partitions: what is reported is a local optimum, and the start is convex."""

from __future__ import annotations

import attrs
import numpy as np
import pytest
from oracles import Infeasible
from problems import Case, case

THETAS = np.linspace(1.0, 0.0, 20)


def tiny(kind: str, seed: int) -> Case:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 9)) if kind == "hinge" else int(rng.integers(3, 6))
    return case(
        kind,
        n,
        seed,
        d=int(rng.integers(1, 3)),
        data=("normal", "integer")[seed % 2],
        kernel=("rbf", "linear")[seed // 2 % 2],
        C=float(rng.choice([0.3, 1.0, 5.0])),
        intercept=bool(seed // 4 % 2),
        s=None if kind == "hinge" else 0.5,
    )


def conditional(reference, sides, theta, s):
    """The optimum of a partition, None where its polytope is empty."""
    try:
        return reference.conditional(sides, theta, s)
    except Infeasible:
        return None


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("kind", ["hinge", "lad"])
def test_no_neighbouring_partition_improves_a_reported_solution(kind, seed):
    problem = tiny(kind, seed)
    reference, path = problem.reference(), problem.trace()
    for t in THETAS:
        theta, s = problem.at(t)
        for side in ("before", "after"):
            u, value = path.response(t, side), path.objective(t, side)
            neighbours = list(reference.neighbours(u, s, near=1e-9))
            assert neighbours
            for sides in neighbours:
                best = conditional(reference, sides, theta, s)
                assert best is not None
                assert best.value >= value - 1e-9 * max(1.0, abs(value)), (t, side, sides)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", ["hinge", "lad"])
def test_every_reported_solution_is_among_the_local_optima_of_all_partitions(kind, seed):
    problem = tiny(kind, seed)
    reference, path = problem.reference(), problem.trace()
    for t in THETAS[::3]:
        theta, s = problem.at(t)
        optima, lowest = [], np.inf
        for sides in reference.partitions():
            best = conditional(reference, sides, theta, s)
            if best is None:
                continue
            # The formula of the loss, not the planes of the partition.
            value = 0.5 * best.w @ best.w + reference.losses(best.u, theta, s).sum()
            lowest = min(lowest, value)
            if not np.any(reference.on_wall(best.u, s, 1e-8)):
                optima.append(value)
        found = path.objective(t)
        assert found >= lowest - 1e-9 * max(1.0, lowest)
        on_wall = reference.on_wall(path.response(t), s, 1e-8)
        assert np.any(on_wall) or np.abs(np.array(optima) - found).min() <= 1e-8 * max(1, found)


@pytest.mark.parametrize("path", ["theta", "s"])
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("kind", ["hinge", "lad"])
def test_the_path_starts_at_the_convex_optimum(kind, seed, path):
    problem = attrs.evolve(tiny(kind, seed), path=path)
    reference, traced = problem.reference(), problem.trace()
    start = traced.traced[0]
    expected = reference.convex()
    # On the s-path the first jump stands on the start: before it the loss is still convex.
    assert traced.objective(start, "before") == pytest.approx(expected.value, rel=1e-9)
    np.testing.assert_allclose(
        reference.Q @ traced.alpha(start, "before"),
        expected.u - reference.border @ expected.b,
        atol=1e-7,
    )
